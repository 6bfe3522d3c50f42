"""Records in files and in memory: what they are, sorted, checked, cut into parts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from eagre import _eagre
from eagre._buffers import as_bytes
from eagre._progress import Progress
from eagre._questions import Path, byte_of


@dataclass(frozen=True)
class Records:
    """What a record is, and its keys.

    Args:
        format: ``lines`` by all their bytes, ``text`` as GNU sort orders it, ``csv``, ``fixed`` for records of ``record_size``
            bytes, ``klv`` for keys with values, ``numbers`` of ``dtype``.
        keys: of text, as ``-k`` of GNU sort has them: ``"2,2n"``; of fixed records, as ``"0:8"`` or ``"8:u64"``.
        options: of text, the letters of GNU sort for all keys: ``"n"``, ``"f"``.
        separator: of text, the byte between fields.
        dtype: of numbers: an integer, float32 or float64. NaN with a sign come first, others last, unless ``nan_last``.
        klv: of keys with values, the bytes of a key and of the length of a value: ``"10:4"``, or ``"10:4be"``.
        nan_last: of numbers and fixed records, NaN come behind all numbers as in ``np.sort``, in a descending order too.
    """

    format: str = "lines"
    keys: str | Sequence[str] = ()
    options: str = ""
    separator: str | bytes | None = None
    record_size: int | None = None
    dtype: npt.DTypeLike | None = None
    klv: str | None = None
    nan_last: bool = False

    def described(self, function: str) -> dict[str, Any]:
        """What the library is told."""
        if self.format not in ("lines", "text", "csv", "fixed", "klv", "numbers"):
            raise ValueError(f"{function}: format is {self.format!r}; give lines, text, csv, fixed, klv or numbers")
        if (self.dtype is None) != (self.format != "numbers") or (self.record_size is None) != (self.format != "fixed"):
            raise ValueError(f"{function}: dtype is for the format numbers, record_size for fixed, and they need it")
        if (self.klv is None) != (self.format != "klv") or (self.format == "klv" and (self.keys or self.options)):
            raise ValueError(f"{function}: klv is for the format klv, which needs it and has no other keys; give klv='10:4'")
        if self.format == "lines" and (self.keys or self.options or self.separator):
            raise ValueError(f"{function}: keys, options and separator are for other formats; use format='text'")
        if self.nan_last and self.format not in ("numbers", "fixed"):
            raise ValueError(f"{function}: nan_last is for the formats numbers and fixed; leave it out")
        return {
            "kind": self.format,
            "keys": [self.keys] if isinstance(self.keys, str) else list(self.keys),
            "options": self.klv or self._order(function),
            "separator": None if self.separator is None else byte_of(self.separator, function),
            "size": self.record_size or 0,
            "nan_last": self.nan_last,
        }

    def _order(self, function: str) -> str:
        return self.options if self.dtype is None else _number(np.dtype(self.dtype), function)


def _number(dtype: np.dtype[Any], function: str) -> str:
    """The library's name of a number."""
    if dtype.kind not in "iuf" or dtype.itemsize not in (1, 2, 4, 8) or dtype == np.float16 or not dtype.isnative:
        raise TypeError(f"{function}: dtype {dtype}: give an integer, float32 or float64 of this machine's byte order")
    return f"{dtype.kind}{8 * dtype.itemsize}"


@dataclass(frozen=True)
class Sorted:
    """What a sort did: its plan, the records and bytes of the input, the runs in temporary files and their bytes."""

    plan: str
    records: int
    bytes: int
    runs: int
    temporary: int


def sort_file(
    source: Path,
    target: Path,
    records: Records = Records(),
    *,
    descending: bool = False,
    unique: bool = False,
    header: int = 0,
    memory: int | None = None,
    threads: int | None = None,
    temporary: Path | None = None,
    progress: Progress = None,
) -> Sorted:
    """Sorts a file of any size into another one, or into itself. The output appears when it is complete and on the disk.

    Args:
        records: what a record is; by default a line.
        descending: the largest first.
        unique: one of the records with equal keys only.
        header: how many records stay at the front.
        memory: at most so many bytes; by default as much as suits the machine.
        temporary: the directory of temporary files; by default that of the target.

    The other arguments are those of ``eagre.count``.

    Raises:
        ValueError: arguments contradict each other, or the file does not consist of such records.
        OSError: a file cannot be read or written.
    """
    how = how_to_sort(descending, unique, header, memory, threads, temporary)
    described = records.described("eagre.sort_file")
    return Sorted(*_eagre.sort_file(os.fsdecode(source), os.fsdecode(target), described, how, progress))


def how_to_sort(
    descending: bool, unique: bool, header: int, memory: int | None, threads: int | None, temporary: Path | None
) -> dict[str, Any]:
    """What the library is told of a sort."""
    return {
        "memory": memory,
        "threads": threads or 0,
        "temporary": None if temporary is None else os.fsdecode(temporary),
        "descending": descending,
        "unique": unique,
        "header": header,
    }


# The keys of the first record and of the last one.
Ends = tuple[bytes, bytes]


@dataclass(frozen=True)
class Checked:
    """What a check found. Two files with the same records, in whatever order, have the same ``sum`` and ``records``.

    ``ends`` are the keys of the first and the last record, in the form of ``eagre.record_keys``.
    """

    records: int
    bytes: int
    sum: int
    duplicates: int
    unordered: int
    first_unordered: int | None
    ends: Ends | None

    @property
    def is_sorted(self) -> bool:
        """Whether no record is smaller than the one before."""
        return self.unordered == 0


def check_file(
    path: Path,
    records: Records = Records(),
    *,
    descending: bool = False,
    threads: int | None = None,
    progress: Progress = None,
) -> Checked:
    """Whether the records of a file are in order, and a checksum of them.

    The arguments are those of ``eagre.sort_file``.

    Raises:
        ValueError: arguments contradict each other, or the file does not consist of such records.
        OSError: the file cannot be read.
    """
    described = records.described("eagre.check_file")
    return Checked(*_eagre.check_file(os.fsdecode(path), described, descending, threads or 0, progress))


def sample_boundaries(
    sample: Any, parts: int, records: Records = Records(), *, descending: bool = False
) -> list[bytes]:
    """Keys that cut records like those of a sample into parts of like size: one fewer than parts.

    Args:
        sample: contiguous bytes of whole records: ``bytes``, an array, or another buffer.

    Raises:
        ValueError: the sample does not consist of such records.
    """
    if parts < 1:
        raise ValueError(f"eagre.sample_boundaries: parts is {parts}; give 1 or more")
    described = records.described("eagre.sample_boundaries")
    return _eagre.sample_boundaries(as_bytes(sample), parts, described, descending)


def sort_and_partition(
    data: Any,
    boundaries: Sequence[bytes],
    records: Records = Records(),
    *,
    descending: bool = False,
    threads: int | None = None,
    progress: Progress = None,
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint64]]:
    """Sorts records in memory, and cuts them at boundaries. Records with equal keys stay in order.

    Args:
        data: contiguous bytes of whole records: ``bytes``, an array, or another buffer. It is not copied.
        boundaries: keys in order, such as those of ``sample_boundaries``.

    Returns:
        The records in order, as bytes, and where each part ends there; there is one part more than boundaries.

    Raises:
        ValueError: the data do not consist of such records.
        MemoryError: the system refused memory.
    """
    described = records.described("eagre.sort_and_partition")
    given = as_bytes(data)
    out = np.empty_like(given)
    keys = [bytes(key) for key in boundaries]
    return out, _eagre.sort_and_partition(given, keys, out, described, descending, threads or 0, progress)


def record_keys(data: Any, records: Records = Records(), *, step: int = 1) -> list[bytes]:
    """The key of each record, in the form in which keys are compared: byte by byte, whatever their type.

    Keys of text depend on ``r`` among its options, which says the same as ``descending`` of other functions.

    Args:
        data: contiguous bytes of whole records: ``bytes``, an array, or another buffer.
        step: only of every so many, from the first one on.

    Raises:
        ValueError: the data do not consist of such records.
    """
    if step < 1:
        raise ValueError(f"eagre.record_keys: step is {step}; give 1 or more")
    return _eagre.record_keys(as_bytes(data), step, records.described("eagre.record_keys"))


def checksum(data: Any, records: Records = Records()) -> tuple[int, int]:
    """How many records there are, and a sum over them that does not depend on their order: those of ``eagre.check_file``.

    The arguments and exceptions are those of ``eagre.record_keys``. Counts and sums of several buffers add up, sums modulo
    2**128.
    """
    return _eagre.checksum(as_bytes(data), records.described("eagre.checksum"))[:2]


def tied(data: Any, key: bytes, records: Records = Records(), *, most: int | None = None) -> int:
    """How many bytes the records at the front of the data have whose key is this one.

    Args:
        data: contiguous bytes of whole records: ``bytes``, an array, or another buffer.
        key: in the form of ``eagre.record_keys``.
        most: no record is counted that ends behind so many bytes.

    Raises:
        ValueError: the data do not consist of such records.
    """
    given = as_bytes(data)
    return _eagre.tied(given, key, given.nbytes if most is None else most, records.described("eagre.tied"))
