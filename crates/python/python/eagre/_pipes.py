"""Pipes: streams between threads."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from eagre import _eagre
from eagre._buffers import BUFFER, plain_dtype
from eagre._reading import RawReader, chunks_of
from eagre._writing import RawWriter, Writer


class PipeReader(io.BufferedReader):
    """The reading end of a pipe, or of a stream from another process or host: ``read``, ``readinto``, lines, chunks.

    An error of the writer is an ``OSError`` here.
    """

    def __init__(self, stream: _eagre.Stream, shown: str = "eagre.Pipe") -> None:
        self._stream, self._shown = stream, shown
        super().__init__(RawReader(stream), BUFFER)

    def chunks(self, dtype: npt.DTypeLike = "u1") -> Iterator[npt.NDArray[Any]]:
        """The rest of a pipe of which nothing was read, as arrays: see ``File.chunks``."""
        if self.raw.tell():
            raise ValueError(f"{self._shown}: chunks: some of it was read already; take chunks from the beginning")
        return self._chunks(plain_dtype(dtype, self._shown))

    def _chunks(self, dtype: np.dtype[Any]) -> Iterator[npt.NDArray[Any]]:
        # The reader lives as long as its chunks are taken.
        yield from chunks_of(self._stream, self._shown, dtype)


class Pipe:
    """A stream between two threads: ``writer, reader = eagre.Pipe()``.

    Each end may wait for the other one, without the GIL. The reader gets bytes when a block of them is full, or the writer
    is closed. The writer is to be closed, or used in a ``with``; an exception there reaches the reader. A writer whose reader
    is closed gets a ``BrokenPipeError``.

    Args:
        block: the bytes of a block, a power of two from 64 KiB to 64 MiB. Six blocks are in memory.

    Raises:
        ValueError: block is not such a number.
        OSError: memory is refused.
    """

    def __init__(self, block: int = 1 << 20) -> None:
        sink, stream = _eagre.pipe(block)
        self.writer = Writer(RawWriter(sink), BUFFER)
        self.reader = PipeReader(stream)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.writer, self.reader))
