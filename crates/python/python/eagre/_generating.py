"""Test data: the records of the sort benchmark (sortbenchmark.org)."""

from __future__ import annotations

import os
from typing import overload

import numpy as np
import numpy.typing as npt

from eagre import _eagre
from eagre._progress import Progress
from eagre._questions import Path

# The bytes of a record; the first ten are its key.
RECORD = 100


@overload
def generate(path: None, records: int, *, first: int = ..., ascii: bool = ..., skew: bool = ...) -> npt.NDArray[np.uint8]: ...


@overload
def generate(
    path: Path,
    records: int,
    *,
    first: int = ...,
    ascii: bool = ...,
    skew: bool = ...,
    threads: int | None = ...,
    progress: Progress = ...,
) -> None: ...


def generate(
    path: Path | None,
    records: int,
    *,
    first: int = 0,
    ascii: bool = False,
    skew: bool = False,
    threads: int | None = None,
    progress: Progress = None,
) -> npt.NDArray[np.uint8] | None:
    """Makes records of the sort benchmark, byte for byte those of ``gensort`` 1.5.

    Record number R is the same whoever makes it, so that several machines can make parts of a file.

    Args:
        path: the file, which appears when it is complete and on the disk. ``None`` for an array.
        records: how many.
        first: the number of the first one.
        ascii: lines of printable characters, instead of binary records.
        skew: keys, many of which share a prefix.
        threads: at most so many; ``None`` for as many as the process may use. For a file only, as ``progress``.
        progress: as for ``eagre.count``.

    Returns:
        Without a path, an array of shape ``(records, 100)`` and dtype ``uint8``; the key of a record is its first ten bytes.

    Raises:
        ValueError: records or first is negative, or first is 2**128 or more.
        OSError: the file cannot be written.
    """
    if records < 0 or not 0 <= first < 1 << 128:
        raise ValueError(f"eagre.generate: records is {records}, first is {first}; give 0 or more, and first below 2**128")
    if path is None:
        out = np.empty((records, RECORD), np.uint8)
        _eagre.generate_into(out.reshape(-1), first, ascii, skew)
        return out
    _eagre.generate(os.fsdecode(path), records, first, ascii, skew, threads or 0, progress)
    return None
