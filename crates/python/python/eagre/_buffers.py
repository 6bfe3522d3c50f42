"""Buffers as arrays, and dtypes that files can hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

# What small reads and writes are collected in.
BUFFER = 256 << 10
# Blocks of streams have as many bytes, or a multiple.
SMALLEST_BLOCK = 64 << 10


def as_bytes(buffer: Any, writable: bool = False) -> npt.NDArray[np.uint8]:
    """Any buffer as an array of bytes that shares its memory."""
    view = memoryview(buffer)
    if not view.c_contiguous:
        raise BufferError("the buffer is not contiguous; copy it: bytes(buffer)")
    if writable and view.readonly:
        raise TypeError("the buffer is read-only; pass a bytearray or a writable memoryview")
    return np.frombuffer(view.cast("B"), np.uint8) if view.nbytes else np.empty(0, np.uint8)


def plain_dtype(dtype: npt.DTypeLike, function: str) -> np.dtype[Any]:
    """A dtype, if a file can hold its elements."""
    dtype = np.dtype(dtype)
    if dtype.hasobject or dtype.itemsize == 0:
        raise TypeError(f"{function}: dtype {dtype}: a file holds no such elements; use one of fixed size, without objects")
    return dtype
