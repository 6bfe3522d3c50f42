"""Streams between hosts: one side listens, the other one calls; each may write or read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from eagre import _eagre
from eagre._buffers import BUFFER
from eagre._closing import Closing
from eagre._pipes import PipeReader
from eagre._reading import File, RawReader
from eagre._writing import RawWriter, Writer

_Path = str | bytes | os.PathLike[Any]


class Connector:
    """Opens streams to a ``Listener`` on another host, or in another process or thread of this one.

    With a token, or keys, the connection is TLS 1.3, and both sides prove who they are. Without them it is plain TCP, and only
    addresses of loopback can be reached. Nothing is sent before a stream is opened.

    Args:
        address: ``"host"``, ``"host:port"`` or ``"[ipv6]:port"``; the port is 7373 where none is named.
        token: a secret that both sides have, of at least 16 random bytes.
        token_file: a file with one, which only its owner may read.
        identity: the file of this side's key, as ``eagre id`` makes it; needs ``peers``.
        peers: the fingerprints of the keys that are trusted, as ``eagre id`` shows them.
        insecure_plain: plain TCP to and from everybody.
        retry: for how many seconds a connection that cannot be made, or has broken, is tried again.
        silence: for how many seconds the other side may be silent before the connection counts as broken.
        window: the bytes that may be on their way; the writer's side keeps them until they have arrived. 2 to 56 blocks.
            Default: 16 MiB, and 4 MiB where the other side is on this machine.
        block: the bytes of a block, a power of two from 64 KiB to 64 MiB.
        limit: the most bytes a second that this side sends, over all streams of this object.
        rdma: blocks travel by RDMA, beside the connection, and are not encrypted: a provider of libfabric's (``"tcp"``, ``"verbs"``
            or ``"shm"``), then, behind commas, an algorithm (``pool``, the default, ``each-block``, ``pipelined-copy`` or
            ``copy``), ``unchecked`` and ``busy``. Both sides must say the same provider and algorithm.

    Raises:
        ValueError: the address cannot be read, or a setting, token or key cannot be used.
    """

    def __init__(
        self,
        address: str,
        *,
        token: bytes | None = None,
        token_file: _Path | None = None,
        identity: _Path | None = None,
        peers: Sequence[str] = (),
        insecure_plain: bool = False,
        retry: float = 30.0,
        silence: float = 15.0,
        window: int | None = None,
        block: int = 1 << 20,
        limit: int | None = None,
        rdma: str | None = None,
    ) -> None:
        settings = _secrets("eagre.Connector", token, token_file, identity, peers, insecure_plain)
        settings |= {"retry": retry, "silence": silence, "window": window, "block": block, "limit": limit, "rdma": rdma}
        self._connector, self._address = _eagre.Connector(address, settings), address

    def writer(self, name: str, *, length: int | None = None) -> Writer:
        """Opens a stream that is written here, and read where somebody asks a listener for a reader of this name.

        Waits for that as long as ``retry`` says. Closing the writer waits until the other side has everything.

        Args:
            name: that of the stream: a line of 1 to 255 bytes.
            length: the bytes of the stream, if they are known.

        Raises:
            ConnectionError: nobody answers, nobody asks for the stream, or the other side refuses it.
            PermissionError: the two sides do not trust each other.
            ValueError: the address needs a token or keys, or the settings do not fit each other.
            OSError: the host is unknown, or the system refuses memory, a thread or a socket.
        """
        return Writer(RawWriter(self._connector.writer(name, length)), BUFFER)

    def reader(self, name: str) -> PipeReader:
        """Opens a stream that is read here, and written where somebody asks a listener for a writer of this name.

        Waits and raises as ``writer`` does. Read it to its end: closed before, the writer there gets an error.
        """
        return PipeReader(self._connector.reader(name), f"{name} at {self._address}")

    def send_from(self, name: str, reader: File | PipeReader) -> Transfer:
        """Sends a file, or what a pipe carries: a thread of the library reads it, and Python sees none of the bytes.

        Args:
            name: that of the stream, which a listener is asked for a reader of.
            reader: of ``eagre.open`` or a ``Pipe``; nothing may have been read. It cannot be used afterwards.

        Raises:
            ValueError: something was read, or the reader is closed.
            The others of ``writer``.
        """
        return Transfer(self._connector.send_from(name, _unread(reader)))

    def receive_into(self, name: str, writer: Writer) -> Transfer:
        """Receives what a pipe shall carry: a thread of the library writes it.

        Args:
            name: that of the stream, which a listener is asked for a writer of.
            writer: of a ``Pipe``; nothing may have been written. It cannot be used afterwards.

        Raises:
            ValueError: something was written, or the writer is closed or none of a pipe.
            The others of ``reader``.
        """
        return Transfer(self._connector.receive_into(name, _unwritten(writer)))


class Listener(Closing):
    """Waits for streams that a ``Connector`` opens, any number of them, by name. Use it in a ``with``.

    When it is closed, no new streams can be opened; those that are open go on.

    Args:
        address: ``"address:port"`` of this machine; port 0 is one that is free.

    The others are those of ``Connector``; the secrets of both sides must agree.

    Raises:
        ValueError: a setting, token or key cannot be used, or the address needs one.
        OSError: the address cannot be read or had, or the system refuses a thread.
    """

    def __init__(
        self,
        address: str,
        *,
        token: bytes | None = None,
        token_file: _Path | None = None,
        identity: _Path | None = None,
        peers: Sequence[str] = (),
        insecure_plain: bool = False,
        retry: float = 30.0,
        silence: float = 15.0,
        window: int | None = None,
        block: int = 1 << 20,
        limit: int | None = None,
        rdma: str | None = None,
    ) -> None:
        settings = _secrets("eagre.Listener", token, token_file, identity, peers, insecure_plain)
        settings |= {"retry": retry, "silence": silence, "window": window, "block": block, "limit": limit, "rdma": rdma}
        self._listener = _eagre.Listener(address, settings)

    @property
    def address(self) -> str:
        """Where it listens, with the real port: ``"127.0.0.1:40123"``."""
        return self._listener.address

    def writer(self, name: str, timeout: float | None = None) -> Writer:
        """Waits for a caller that reads a stream of this name, and opens it to be written here.

        Args:
            name: that of the stream.
            timeout: for how many seconds; ``None`` is for ever.

        Raises:
            TimeoutError: nobody has called by then.
            ValueError: the listener is closed, also by another thread meanwhile.
            OSError: the stream cannot be opened.
        """
        return Writer(RawWriter(self._listener.writer(name, timeout)), BUFFER)

    def reader(self, name: str, timeout: float | None = None) -> PipeReader:
        """Waits for a caller that writes a stream of this name, and opens it to be read here. Raises as ``writer`` does."""
        return PipeReader(self._listener.reader(name, timeout), f"{name} at {self.address}")

    def accept(self, timeout: float | None = None) -> Offer:
        """Waits for a caller of a stream that nobody here waits for by name. Raises as ``writer`` does."""
        return Offer(self._listener.accept(timeout))

    def send_from(self, name: str, reader: File | PipeReader, timeout: float | None = None) -> Transfer:
        """Waits as ``writer`` does, and sends a file or what a pipe carries: see ``Connector.send_from``."""
        stream = _unread(reader)
        return Transfer(self._listener.offer(name, False, timeout).send_from(stream))

    def receive_into(self, name: str, writer: Writer, timeout: float | None = None) -> Transfer:
        """Waits as ``reader`` does, and receives what a pipe shall carry: see ``Connector.receive_into``."""
        sink = _unwritten(writer)
        return Transfer(self._listener.offer(name, True, timeout).receive_into(sink))

    def close(self) -> None:
        """Listens no more."""
        self._listener.close()


class Offer:
    """A stream that a caller wants. It is opened, attached or refused once; forgotten, it is refused."""

    def __init__(self, offer: _eagre.Offer) -> None:
        self._offer = offer

    @property
    def name(self) -> str:
        """That of the stream."""
        return self._offer.name

    @property
    def peer(self) -> str:
        """Where the caller is: ``"192.0.2.1:40123"``."""
        return self._offer.peer

    @property
    def peer_writes(self) -> bool:
        """Whether the caller writes, so that this side reads."""
        return self._offer.peer_writes

    def writer(self) -> Writer:
        """Opens the stream to be written here.

        Raises:
            ConnectionError: the caller wants to write too, or has gone.
            ValueError: the offer was used already.
        """
        return Writer(RawWriter(self._offer.writer()), BUFFER)

    def reader(self) -> PipeReader:
        """Opens the stream to be read here. Raises as ``writer`` does."""
        return PipeReader(self._offer.reader(), f"{self.name} at {self.peer}")

    def send_from(self, reader: File | PipeReader) -> Transfer:
        """Sends the caller a file or what a pipe carries: see ``Connector.send_from``."""
        return Transfer(self._offer.send_from(_unread(reader)))

    def receive_into(self, writer: Writer) -> Transfer:
        """Receives from the caller what a pipe shall carry: see ``Connector.receive_into``."""
        return Transfer(self._offer.receive_into(_unwritten(writer)))

    def refuse(self, why: str) -> None:
        """Tells the caller why the stream is not opened; it does not try again."""
        self._offer.refuse(why)


# Within the class, bytes is a number.
Digest = bytes


@dataclass(frozen=True)
class Carried:
    """A stream that has arrived: its bytes, the BLAKE3 digest of all of them, and how often another connection took over."""

    bytes: int
    digest: Digest
    reconnections: int


class Transfer:
    """The thread that carries a stream to another host, or from one. Forgotten, it goes on."""

    def __init__(self, transfer: _eagre.Transfer) -> None:
        self._transfer = transfer

    def join(self) -> Carried:
        """Waits until both sides have everything. A signal that raises gives the stream up.

        Raises:
            ConnectionError: the stream has not arrived.
            OSError: its end in this process failed.
            ValueError: somebody has joined it already.
        """
        count, digest, reconnections = self._transfer.join()
        return Carried(count, bytes(digest), reconnections)


def _unread(reader: File | PipeReader) -> _eagre.Stream:
    """The stream of a reader, which is handed over."""
    raw = reader.raw
    # What its buffer holds was read, too.
    if reader.closed or not isinstance(raw, RawReader) or raw.tell() > 0:
        raise ValueError("send_from: the reader is closed, or something was read; give one of eagre.open or a Pipe as it was opened")
    return raw.stream


def _unwritten(writer: Writer) -> _eagre.Sink:
    """The stream of a writer, which is handed over."""
    raw = writer.raw
    if writer.closed or not isinstance(raw, RawWriter) or writer.tell() > 0:
        raise ValueError("receive_into: the writer is closed, or something was written; give one of a Pipe as it was opened")
    return raw.sink


def _secrets(
    function: str,
    token: bytes | None,
    token_file: _Path | None,
    identity: _Path | None,
    peers: Sequence[str],
    insecure_plain: bool,
) -> dict[str, Any]:
    """How the two sides know each other: at most one way of the four."""
    peers = [peers] if isinstance(peers, str) else list(peers)
    if sum([token is not None, token_file is not None, identity is not None or bool(peers), insecure_plain]) > 1:
        raise ValueError(f"{function}: give one of token, token_file, identity with peers, and insecure_plain")
    if peers and identity is None:
        raise ValueError(f"{function}: peers without an identity; name the file of this side's key too")
    return {
        "token": token,
        "token_file": None if token_file is None else os.fsdecode(token_file),
        "identity": None if identity is None else os.fsdecode(identity),
        "peers": peers,
        "insecure_plain": insecure_plain,
    }
