"""Reading files: an object of ``io`` over a stream, and arrays over the whole file or its blocks."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from eagre import _eagre
from eagre._buffers import BUFFER, SMALLEST_BLOCK, as_bytes, plain_dtype


class RawReader(io.RawIOBase):
    """A stream from a file, or from the other end of a pipe, without a buffer."""

    def __init__(self, stream: _eagre.Stream, path: str | None = None) -> None:
        self._stream, self._path, self._position = stream, path, 0

    @property
    def stream(self) -> _eagre.Stream:
        """The stream itself."""
        return self._stream

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._path is not None and os.path.isfile(self._path)

    def readinto(self, buffer: Any) -> int:
        count = self._stream.read_into(as_bytes(buffer, writable=True))
        self._position += count
        return count

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if self._path is None or not self.seekable():
            raise io.UnsupportedOperation("seek: no regular file; read it from its beginning to its end")
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: os.path.getsize(self._path)}[whence]
        if start + offset < 0:
            raise ValueError(f"seek: {start + offset}: before the beginning of the file")
        if start + offset != self._position:
            self._stream.close()
            self._stream = _eagre.Stream.open(self._path, start + offset)
            self._position = start + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def close(self) -> None:
        self._stream.close()
        super().close()


class File(io.BufferedReader):
    """A file that is read as a stream: an ``io.BufferedIOBase`` for whatever reads binary files.

    ``read``, ``readinto``, ``readline``, iteration over lines, ``seek`` and ``tell`` are those of ``open(path, "rb")``.
    """

    def __init__(self, path: str | bytes | os.PathLike[Any]) -> None:
        self._path = os.fsdecode(path)
        self._mapped: list[_eagre.Mapped] = []
        super().__init__(RawReader(_eagre.Stream.open(self._path, 0), self._path), BUFFER)

    def array(self, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """The whole file as a read-only array of one axis.

        It is mapped, and takes addresses, but no memory of its own. It may be read anywhere, any number of times, and outlives
        the file object. If another process cuts the file, what is missing reads as zeros, and ``check`` and ``close`` raise.

        Args:
            dtype: that of the elements, of fixed size and without objects.

        Raises:
            ValueError: the file does not consist of whole elements.
            TypeError: a file cannot hold such elements.
            OSError: the file cannot be mapped.
        """
        dtype = plain_dtype(dtype, "eagre.open")
        size = os.path.getsize(self._path)
        _check_whole(self._path, size, dtype)
        if size == 0:
            array: npt.NDArray[Any] = np.empty(0, dtype)
            array.flags.writeable = False
            return array
        mapped = _eagre.Mapped(self._path)
        self._mapped.append(mapped)
        return np.asarray(mapped).view(dtype)

    def check(self) -> None:
        """Raises ``OSError`` if an array of this file lost bytes while it was read."""
        for mapped in self._mapped:
            mapped.check()

    def chunks(self, dtype: npt.DTypeLike = "u1") -> Iterator[npt.NDArray[Any]]:
        """The file from its beginning, as read-only arrays of one axis, of up to 2 MiB each.

        Elements whose size is a power of two are not copied: an array is a block of the stream, and stays as it is for as long
        as anything refers to it. It may be kept for three steps; copy what is to be kept longer. ``read`` and the other methods
        go on where they were.

        Args:
            dtype: that of the elements, of fixed size and without objects.

        Raises:
            BufferError: at the fourth step, if an array is still referred to.
            ValueError: at the end, if the file does not consist of whole elements.
            TypeError: a file cannot hold such elements.
            OSError: the file cannot be read.
        """
        dtype = plain_dtype(dtype, "eagre.open")
        return chunks_of(_eagre.Stream.open(self._path, 0), self._path, dtype)

    def close(self) -> None:
        super().close()
        mapped, self._mapped = self._mapped, []
        for each in mapped:
            each.check()

    # BufferedReader has the name of its raw file.
    @property
    def name(self) -> str:
        return self._path


def open(path: str | bytes | os.PathLike[Any]) -> File:
    """Opens a file for reading, as a stream past the page cache if it is large and not cached.

    Raises:
        OSError: as for the builtin ``open``.
    """
    return File(path)


def chunks_of(stream: _eagre.Stream, name: str, dtype: np.dtype[Any]) -> Iterator[npt.NDArray[Any]]:
    """Arrays over the blocks of a stream; copies if elements do not fit into blocks."""
    taken = 0
    try:
        # Where the reader may not look back, a chunk could not even be kept for one step.
        if stream.kept > 0 and dtype.itemsize & (dtype.itemsize - 1) == 0 and dtype.itemsize <= SMALLEST_BLOCK:
            while (chunk := stream.chunk()) is not None:
                block = np.asarray(chunk)
                taken += block.nbytes
                if whole := block.nbytes // dtype.itemsize * dtype.itemsize:
                    yield block[:whole].view(dtype)
                del chunk, block
        else:
            count = max((2 << 20) // dtype.itemsize, 1)
            while got := _fill(stream, array := np.empty(count, dtype)):
                taken += got
                array.flags.writeable = False
                if whole := got // dtype.itemsize:
                    yield array[:whole]
        _check_whole(name, taken, dtype)
    finally:
        stream.close()


def _fill(stream: _eagre.Stream, array: npt.NDArray[Any]) -> int:
    """Fills an array from its front, and returns how many bytes there were."""
    room, done = array.view(np.uint8), 0
    while done < room.nbytes and (got := stream.read_into(room[done:])):
        done += got
    return done


def _check_whole(name: str, size: int, dtype: np.dtype[Any]) -> None:
    if rest := size % dtype.itemsize:
        raise ValueError(f"read: {name}: {size} bytes: the last {rest} are no whole {dtype}; use another dtype, or read()")
