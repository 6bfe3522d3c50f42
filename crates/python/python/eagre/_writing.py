"""Writing files: an object of ``io`` over a stream, and an array over the file to be."""

from __future__ import annotations

import io
import mmap
import os
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from eagre import _eagre
from eagre._buffers import BUFFER, as_bytes, plain_dtype


class RawWriter(io.RawIOBase):
    """A stream into a file, or to the other end of a pipe, without a buffer."""

    def __init__(self, sink: _eagre.Sink) -> None:
        self._sink, self._position, self._failed = sink, 0, False

    @property
    def sink(self) -> _eagre.Sink:
        """The stream itself."""
        return self._sink

    def writable(self) -> bool:
        return True

    def write(self, buffer: Any) -> int:
        array = as_bytes(buffer)
        # What a buffer still holds after a failure goes nowhere.
        if not self._failed:
            self._sink.write(array)
            self._position += array.nbytes
        return array.nbytes

    def tell(self) -> int:
        return self._position

    def fail(self, message: str) -> None:
        self._failed = True
        self._sink.fail(message)

    def close(self) -> None:
        if not self.closed:
            try:
                self._sink.finish()
            finally:
                super().close()


class Writer(io.BufferedWriter):
    """The writing end of a stream, which is complete when it is closed: an ``io.BufferedIOBase``.

    Left by an exception, the stream fails; so it does if the object is forgotten before it was closed.
    """

    def __init__(self, raw: RawWriter, buffer: int) -> None:
        super().__init__(raw, buffer)
        self._raw = raw

    def close(self) -> None:
        if self.closed:
            return
        try:
            # Who forgets to close has not said that all is written.
            if getattr(self, "_finalizing", False):
                self._raw.fail("given up before it was closed")
            self.flush()
        except BaseException as error:
            self._raw.fail(str(error))
            raise
        finally:
            super().close()

    def fail(self, message: str) -> None:
        """Gives up: the file does not appear, the reader of a pipe gets an ``OSError`` with this message."""
        if not self.closed:
            self._raw.fail(message)
            super().close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.fail(f"{kind.__name__}: {error}")


class FileWriter(Writer):
    """A file that is written as a stream, and appears, complete and on the disk, when it is closed.

    Left by an exception, or forgotten, it does not appear; a file of before stays as it is.
    """

    def __init__(self, path: str | bytes | os.PathLike[Any]) -> None:
        self._path = os.fsdecode(path)
        self._hidden: _eagre.Hidden | None = None
        super().__init__(RawWriter(_eagre.Sink.create(self._path)), BUFFER)

    def array(self, dtype: npt.DTypeLike, n: int) -> npt.NDArray[Any]:
        """The file as an array of ``n`` elements, all zero, to be filled in any order; then it cannot be written otherwise.

        It is a mapping of the file, which gets all its room now. Close the file when the array is filled: what is stored
        afterwards may or may not reach the disk.

        Args:
            dtype: that of the elements, of fixed size and without objects.
            n: how many there are.

        Raises:
            ValueError: something was written already, n is negative, or the file is none that can be replaced.
            TypeError: a file cannot hold such elements.
            OSError: the disk has no room, or the file cannot be made.
        """
        dtype = plain_dtype(dtype, "eagre.create")
        if self._hidden is not None or self.tell() > 0:
            raise ValueError(f"eagre.create: {self._path}: is being written already; ask for one array, before anything else")
        if n < 0:
            raise ValueError(f"eagre.create: n is {n}; give 0 or more")
        size = n * dtype.itemsize
        hidden = _eagre.Hidden(self._path, size)
        if size:
            # All room now: a full disk is an error here, and not a signal at some touch.
            os.posix_fallocate(_descriptor(hidden), 0, size)
        # The stream has nothing to write; the file of the array appears in its place.
        self._raw.fail("written as an array")
        self._hidden = hidden
        return np.frombuffer(mmap.mmap(_descriptor(hidden), size), dtype) if size else np.empty(0, dtype)

    def write(self, buffer: Any) -> int:
        if self._hidden is not None:
            raise ValueError(f"eagre.create: {self._path}: is written as an array; fill that")
        return super().write(buffer)

    def fail(self, message: str) -> None:
        if self._hidden is not None:
            self._hidden.discard()
        super().fail(message)

    def close(self) -> None:
        if not self.closed:
            super().close()
            if self._hidden is not None and getattr(self, "_finalizing", False):
                self._hidden.discard()
            elif self._hidden is not None:
                self._hidden.commit()

    # BufferedWriter has the name of its raw file.
    @property
    def name(self) -> str:
        return self._path


def _descriptor(hidden: _eagre.Hidden) -> int:
    number = hidden.fileno()
    assert number is not None, "not committed"
    return number


def create(path: str | bytes | os.PathLike[Any]) -> FileWriter:
    """Begins to write a file, which appears when it is closed. Use it in a ``with``.

    Raises:
        OSError: the directory does not exist or may not be written, or the path is a directory.
    """
    return FileWriter(path)
