"""Formats: what a record is, and where files can be cut."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from eagre import Records, _eagre
from eagre.ray._errors import BadRecord

GENSORT = Records("fixed", record_size=100, keys="0:10")
# How many bytes a record is assumed to have that has no fixed size.
USUAL = 40

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Format:
    """What a record is, and the order of records.

    Args:
        records: what a record is, and its keys.
        descending: the largest first.
    """

    records: Records
    descending: bool

    @staticmethod
    def of(format: str | Records, descending: bool = False) -> Format:
        """The format of a name, ``gensort`` or ``lines``, or of what ``eagre.sort_file`` takes."""
        if isinstance(format, str):
            if format not in ("gensort", "lines"):
                raise ValueError(f"eagre.ray: format is {format!r}; give 'gensort', 'lines', or eagre.Records")
            format = GENSORT if format == "gensort" else Records()
        if descending and format.format in ("text", "csv"):
            # Keys with options of their own do not inherit r: their bytes depend on it.
            format = replace(format, options=format.options + "r")
        return Format(format, _eagre.is_descending(format.described("eagre.ray"), descending))

    @property
    def size(self) -> int | None:
        """The size of all records, if they have one."""
        if self.records.dtype is not None:
            return np.dtype(self.records.dtype).itemsize
        return self.records.record_size

    @property
    def is_line(self) -> bool:
        """Whether each newline ends a record."""
        return self.records.format in ("lines", "text")

    @property
    def ends_with_newline(self) -> bool:
        """Whether a record ends with a newline, which may be missing after the last one of a file."""
        return self.is_line or self.records.format == "csv"

    @property
    def can_be_cut(self) -> bool:
        """Whether records can be found from anywhere in a file."""
        return self.is_line or self.size is not None

    @property
    def memory_per_byte(self) -> float:
        """How many bytes of memory a task takes for each byte that it sorts: itself, the result, the index and its sort."""
        return 2 + 32 / (self.size or USUAL)

    def order(self, keys: list[Any], key: Any) -> list[Any]:
        """A list sorted by a key of each, equal ones in the order they have."""
        return sorted(keys, key=key, reverse=self.descending)

    def is_before(self, a: bytes, b: bytes) -> bool:
        """Whether key ``a`` comes before key ``b``."""
        return a > b if self.descending else a < b

    def check(self, data: Bytes, file: str, offset: int) -> None:
        """Raises ``BadRecord`` if the data, which are at an offset of a file, do not consist of records."""
        wrong = _eagre.first_malformed(data, self.records.described("eagre.ray"))
        if wrong is not None:
            raise BadRecord(file, offset + wrong[0], wrong[1])
