"""Questions about files: counts, occurrences, statistics."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from eagre import _eagre
from eagre._progress import Progress

Path = str | bytes | os.PathLike[Any]


@dataclass(frozen=True)
class Counts:
    """What was counted; ``None`` if it was not asked for."""

    lines: int | None
    words: int | None
    bytes: int
    longest: int | None


def count(
    path: Path,
    *,
    lines: bool = True,
    words: bool = False,
    longest: bool = False,
    threads: int | None = None,
    progress: Progress = None,
) -> Counts:
    """Counts lines, words and bytes of a file, and measures its longest line, as ``wc`` does.

    Args:
        threads: at most so many; ``None`` for as many as the process may use.
        progress: called with the bytes done and in all, some times a second; what it raises ends the call. Or a bar of tqdm, or
            another object with ``update(n)`` and ``total``, which is moved by bytes and not closed.

    Raises:
        OSError: the file cannot be read to its end.
    """
    return Counts(*_eagre.count(os.fsdecode(path), (lines, words, longest), threads, progress))


@dataclass(frozen=True)
class Found:
    """Occurrences in the order of the file: arrays of one length."""

    offsets: npt.NDArray[np.uint64]
    lengths: npt.NDArray[np.uint64]
    patterns: npt.NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.offsets)


def find(
    path: Path,
    *patterns: str | bytes,
    ignore_case: bool = False,
    threads: int | None = None,
    progress: Progress = None,
) -> int:
    """How often byte strings occur in a file, as ``grep -F -o`` finds them: from left to right, the longest one first.

    Args:
        patterns: what to find, any bytes; text is UTF-8.
        ignore_case: whether capital and small letters of ASCII are the same.

    The other arguments are those of ``eagre.count``.

    Raises:
        ValueError: there is no pattern, or an empty one.
        OSError: the file cannot be read to its end.
    """
    return _eagre.find_count(os.fsdecode(path), _patterns(patterns), ignore_case, threads, progress)


def find_all(
    path: Path,
    *patterns: str | bytes,
    ignore_case: bool = False,
    threads: int | None = None,
    progress: Progress = None,
) -> Found:
    """Where byte strings occur in a file. See ``eagre.find``; it takes 24 bytes per occurrence."""
    return Found(*_eagre.find_all(os.fsdecode(path), _patterns(patterns), ignore_case, threads, progress))


def _patterns(patterns: tuple[str | bytes, ...]) -> list[bytes]:
    return [pattern.encode() if isinstance(pattern, str) else bytes(pattern) for pattern in patterns]


@dataclass(frozen=True)
class Group:
    """A key and what is known of its numbers. All are exact; the mean is rounded to one decimal more than they have."""

    key: bytes
    count: int
    min: Decimal
    mean: Decimal
    max: Decimal
    sum: Decimal


@dataclass(frozen=True)
class Stats:
    """Groups in the order of their keys, and how many lines were no row."""

    groups: list[Group]
    skipped: int

    def __len__(self) -> int:
        return len(self.groups)

    def __iter__(self) -> Iterator[Group]:
        return iter(self.groups)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A table of Arrow: ``pyarrow.table(stats)``, ``polars.DataFrame(stats)``.

        Its columns are key (string, or binary if a key is no UTF-8), count (uint64), and min, mean, max and sum (decimal128).
        It has this schema whatever is requested.
        """
        names = ("min", "mean", "max", "sum")
        return _eagre.arrow_groups(
            [group.key for group in self.groups],
            [group.count for group in self.groups],
            [(name, *_integers([getattr(group, name) for group in self.groups])) for name in names],
        )


def stats(
    path: Path,
    *,
    separator: str | bytes = ";",
    columns: tuple[int, int] = (1, 2),
    csv: bool = False,
    header: bool = False,
    skip_bad: bool = False,
    threads: int | None = None,
    progress: Progress = None,
) -> Stats:
    """Count, minimum, mean, maximum and sum of the numbers of each key, exactly, in lines such as ``Hamburg;12.3``.

    Args:
        separator: the byte between columns.
        columns: those of the key and of the number, from 1.
        csv: whether quotes have the meaning that they have in CSV.
        header: whether the first line is none of the data.
        skip_bad: whether lines without a key and a number are left out, and counted, instead of an error.

    The other arguments are those of ``eagre.count``.

    Raises:
        ValueError: a line has no key and number.
        MemoryError: there are more keys than memory.
        OSError: the file cannot be read to its end.
    """
    groups, skipped = _eagre.stats(
        os.fsdecode(path), byte_of(separator, "eagre.stats"), columns, (csv, header, skip_bad), threads, progress
    )
    return Stats([Group(key, count, *map(Decimal, numbers)) for key, count, *numbers in groups], skipped)


def _integers(numbers: list[Decimal]) -> tuple[int, list[int]]:
    """How many digits numbers have behind the point, and what they are without a point. All have as many."""
    scale = len(f"{numbers[0]:f}".partition(".")[2]) if numbers else 0
    return scale, [int(f"{number:f}".replace(".", "")) for number in numbers]


def byte_of(separator: str | bytes, function: str) -> int:
    """A separator as the byte that it is."""
    raw = separator.encode() if isinstance(separator, str) else bytes(separator)
    if len(raw) != 1:
        raise ValueError(f"{function}: separator is {separator!r}; give one byte")
    return raw[0]
