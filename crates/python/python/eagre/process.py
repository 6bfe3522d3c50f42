"""Streams between processes of one machine: what one writes the other reads, in memory that both have."""

from __future__ import annotations

import os
from typing import Any

from eagre import _eagre
from eagre._buffers import BUFFER
from eagre._closing import Closing
from eagre._pipes import PipeReader
from eagre._writing import RawWriter, Writer

__all__ = ["Connection", "Listener"]


class Connection(Closing):
    """One side of a connection between two processes, on which one stream is opened.

    One process makes the stream, with ``writer`` or ``reader``; the other one joins it, with ``join_reader`` or ``join_writer``.
    Both sides come from ``Connection.pair()``, or from ``Connection.connect`` and ``Listener.accept``.

    The other side is passed on as the standard input of a child (``subprocess.Popen(..., stdin=theirs)``), by its number
    (``pass_fds=[theirs.fileno()]``), over a Unix socket (``socket.send_fds``), or as an argument of a
    ``multiprocessing.Process``. Close it here then: as long as it is open here, the end of the other process may be noticed later.

    Args:
        fd: the number of a descriptor that was a connection in another process. It belongs to the connection from here on, and is
            not inherited by programs that this process starts.

    Raises:
        ValueError: there is no such descriptor.
    """

    def __init__(self, fd: int) -> None:
        self._connection = _eagre.Connection(fd)
        os.set_inheritable(fd, False)

    @classmethod
    def _of(cls, connection: _eagre.Connection) -> Connection:
        self = cls.__new__(cls)
        self._connection = connection
        return self

    @classmethod
    def pair(cls) -> tuple[Connection, Connection]:
        """Both sides of a new connection: one to keep, and one for another process.

        Raises:
            MemoryError: there are no descriptors left.
        """
        ours, theirs = _eagre.Connection.pair()
        return cls._of(ours), cls._of(theirs)

    @classmethod
    def connect(cls, name: str) -> Connection:
        """Connects to the process of the same user that listens as ``name``: see ``Listener``.

        Raises:
            ConnectionError: nobody listens there, or another user does.
            ValueError: it is no name.
        """
        return cls._of(_eagre.Connection.connect(name))

    @classmethod
    def from_stdin(cls) -> Connection:
        """The side that the parent has passed as this process's standard input. That reads as empty from here on.

        Raises:
            ConnectionError: there is no standard input.
        """
        return cls._of(_eagre.Connection.from_stdin())

    def writer(
        self,
        *,
        name: str | None = None,
        block: int = 1 << 20,
        read_ahead: int = 2,
        rewrite: int = 1,
        lookback: int = 3,
        capacity: int | None = None,
        timeout: float | None = None,
    ) -> Writer:
        """Makes a stream that is written here. The other process joins it with ``join_reader``, now or later.

        The reader gets bytes when a block of them is full, or the writer is closed. Then this process may end: the reader has
        the memory.

        Args:
            name: for messages, in both processes.
            block: the bytes of a block, a power of two from 64 KiB to 64 MiB. ``read_ahead + rewrite + lookback + 1`` of them
                are in memory.
            read_ahead: how many finished blocks may wait between the ends.
            rewrite: how many blocks behind its last one a writer on a pointer may still touch. A writer in Python does not.
            lookback: for how many steps the reader may keep a chunk.
            capacity: how many bytes a pointer reaches, if the other end is in another language and uses one: its process needs addresses
                for so many. ``None`` is 1 TiB, or less where addresses are short here. An end in Python has no pointer.
            timeout: for how many seconds either end may wait for the other. ``None`` is for ever.

        Raises:
            ConnectionError: the other process is gone, or the descriptor is no connection.
            MemoryError: memory is refused.
            ValueError: a setting is out of range, or a stream was opened already.
        """
        made = self._connection.make_writer(_settings(name, block, read_ahead, rewrite, lookback, capacity, timeout))
        return Writer(RawWriter(made), BUFFER)

    def reader(
        self,
        *,
        name: str | None = None,
        block: int = 1 << 20,
        read_ahead: int = 2,
        rewrite: int = 1,
        lookback: int = 3,
        capacity: int | None = None,
        timeout: float | None = None,
    ) -> PipeReader:
        """Makes a stream that is read here. The other process joins it with ``join_writer``. Arguments and exceptions are those of
        ``writer``."""
        made = self._connection.make_reader(_settings(name, block, read_ahead, rewrite, lookback, capacity, timeout))
        return PipeReader(made, _shown(name))

    def join_writer(self) -> Writer:
        """Joins the stream that the other process makes with ``reader``: it is written here. Waits until it is made.

        Raises:
            ConnectionError: the other process has ended before it made a stream, or the descriptor is no connection.
            MemoryError: memory is refused.
            ValueError: the other process writes as well, or a stream was opened already.
        """
        return Writer(RawWriter(self._connection.join_writer()), BUFFER)

    def join_reader(self) -> PipeReader:
        """Joins the stream that the other process makes with ``writer``: it is read here. Waits and raises as ``join_writer`` does."""
        return PipeReader(self._connection.join_reader(), _shown(None))

    def fileno(self) -> int:
        """The number of the descriptor."""
        return self._connection.fileno()

    def detach(self) -> int:
        """The number of the descriptor, which belongs to the caller from here on."""
        return self._connection.detach()

    def close(self) -> None:
        """Lets go of this side, unless a stream was opened on it. The other process then finds that this one is gone."""
        self._connection.close()

    # For multiprocessing: the other process gets a copy of the descriptor.
    def __reduce__(self) -> tuple[Any, ...]:
        from multiprocessing import reduction

        return _passed, (reduction.DupFd(self.fileno()),)


def _passed(duplicate: Any) -> Connection:
    return Connection(duplicate.detach())


class Listener(Closing):
    """A name at which other processes of the same user connect, with ``Connection.connect``. Use it in a ``with``.

    The name is that of a socket in ``$XDG_RUNTIME_DIR/eagre``, or in ``/run/user/UID/eagre``, where only this user can enter. What a
    process that was killed has left there is replaced. When the listener is closed, streams that are open go on.

    Args:
        name: letters and digits; not with a slash, or a dot at its beginning.

    Raises:
        OSError: somebody listens there, or this user has no such directory.
        ValueError: it is no name.
    """

    def __init__(self, name: str) -> None:
        self._listener = _eagre.ProcessListener(name)

    def accept(self, timeout: float | None = None) -> Connection:
        """Waits for the next process that connects. Other users are turned away.

        Args:
            timeout: for how many seconds; ``None`` is for ever.

        Raises:
            TimeoutError: nobody has connected by then.
            ValueError: the listener is closed, also by another thread meanwhile.
        """
        return Connection._of(self._listener.accept(timeout))

    def close(self) -> None:
        """Listens no more."""
        self._listener.close()


def _shown(name: str | None) -> str:
    return "eagre.process" if name is None else f"eagre.process: {name}"


def _settings(
    name: str | None, block: int, read_ahead: int, rewrite: int, lookback: int, capacity: int | None, timeout: float | None
) -> dict[str, Any]:
    return {
        "name": name,
        "block": block,
        "read_ahead": read_ahead,
        "rewrite": rewrite,
        "lookback": lookback,
        "capacity": capacity,
        "timeout": timeout,
    }
