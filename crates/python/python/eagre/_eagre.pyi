from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt

__all__ = [
    "__version__",
    "Chunk",
    "Connector",
    "Hidden",
    "Listener",
    "Mapped",
    "Sink",
    "Stream",
    "argsort_rows",
    "check_file",
    "checksum",
    "copy",
    "count",
    "doctor",
    "find_all",
    "find_count",
    "first_malformed",
    "generate",
    "generate_into",
    "is_descending",
    "merge_file",
    "merge_stream",
    "pipe",
    "record_keys",
    "sample_boundaries",
    "select_rows",
    "sort",
    "sort_and_partition",
    "sort_file",
    "sort_rows",
    "stats",
    "tied",
]

__version__: str

_Progress = Callable[[int, int], object] | None
_Array = npt.NDArray[Any]

def sort(
    a: _Array,
    axis: int = -1,
    descending: bool = False,
    threads: int | None = None,
    *,
    order: str | Sequence[str] | None = None,
    progress: _Progress = None,
) -> None: ...
def sort_rows(rows: _Array, descending: bool, threads: int | None, progress: _Progress = None) -> None: ...
def argsort_rows(
    rows: _Array, indices: _Array, descending: bool, threads: int | None, progress: _Progress, function: str
) -> None: ...
def select_rows(
    rows: _Array, k: int, descending: bool, threads: int | None, progress: _Progress, function: str
) -> None: ...
def count(
    path: str, what: tuple[bool, bool, bool], threads: int | None, progress: _Progress
) -> tuple[int | None, int | None, int, int | None]: ...
def find_count(
    path: str, patterns: Sequence[bytes], ignore_case: bool, threads: int | None, progress: _Progress
) -> int: ...
def find_all(
    path: str, patterns: Sequence[bytes], ignore_case: bool, threads: int | None, progress: _Progress
) -> list[npt.NDArray[np.uint64]]: ...
def stats(
    path: str,
    delimiter: int,
    columns: tuple[int, int],
    options: tuple[bool, bool, bool],
    threads: int | None,
    progress: _Progress,
) -> tuple[list[tuple[bytes, int, str, str, str, str]], int]: ...
def copy(
    source: str, to: str, verify: bool, preserve: bool, progress: _Progress
) -> tuple[int, int, str]: ...
def sort_file(
    source: str, to: str, records: dict[str, Any], options: dict[str, Any], progress: _Progress
) -> tuple[str, int, int, int, int]: ...
def check_file(
    path: str, records: dict[str, Any], descending: bool, threads: int, progress: _Progress
) -> tuple[int, int, int, int, int, int | None, tuple[bytes, bytes] | None]: ...
def generate(
    path: str, records: int, first: int, ascii: bool, skew: bool, threads: int, progress: _Progress
) -> None: ...
def generate_into(out: _Array, first: int, ascii: bool, skew: bool) -> None: ...
def merge_file(
    given: Sequence[str | _Array | Stream],
    to: str,
    records: dict[str, Any],
    options: dict[str, Any],
    progress: _Progress,
) -> tuple[str, int, int, int, int]: ...
def merge_stream(
    given: Sequence[str | _Array | Stream], records: dict[str, Any], options: dict[str, Any]
) -> Stream: ...
def record_keys(data: _Array, step: int, records: dict[str, Any]) -> list[bytes]: ...
def checksum(data: _Array, records: dict[str, Any]) -> tuple[int, int, tuple[bytes, bytes] | None]: ...
def first_malformed(data: _Array, records: dict[str, Any]) -> tuple[int, str] | None: ...
def is_descending(records: dict[str, Any], descending: bool) -> bool: ...
def tied(data: _Array, key: bytes, most: int, records: dict[str, Any]) -> int: ...
def sample_boundaries(sample: _Array, parts: int, records: dict[str, Any], descending: bool) -> list[bytes]: ...
def sort_and_partition(
    given: _Array,
    boundaries: Sequence[bytes],
    out: _Array,
    records: dict[str, Any],
    descending: bool,
    threads: int,
    progress: _Progress,
) -> npt.NDArray[np.uint64]: ...
def doctor() -> tuple[list[tuple[str, str, str, Any, str, str | None, str | None]], tuple[str, str] | None]: ...
def pipe(block: int) -> tuple[Sink, Stream]: ...

@final
class Chunk:
    @property
    def __array_interface__(self) -> dict[str, Any]: ...

@final
class Connector:
    def __new__(cls, address: str, settings: dict[str, Any]) -> Connector: ...
    def writer(self, name: str, length: int | None) -> Sink: ...
    def reader(self, name: str) -> Stream: ...

@final
class Listener:
    def __new__(cls, address: str, settings: dict[str, Any]) -> Listener: ...
    @property
    def address(self) -> str: ...
    def writer(self, name: str, timeout: float | None) -> Sink: ...
    def reader(self, name: str, timeout: float | None) -> Stream: ...
    def close(self) -> None: ...

@final
class Mapped:
    def __new__(cls, path: str) -> Mapped: ...
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    def check(self) -> None: ...

@final
class Stream:
    @staticmethod
    def open(path: str, offset: int) -> Stream: ...
    def read_into(self, buffer: _Array) -> int: ...
    def chunk(self) -> Chunk | None: ...
    def close(self) -> None: ...

@final
class Sink:
    @staticmethod
    def create(path: str) -> Sink: ...
    def write(self, bytes: _Array) -> None: ...
    def finish(self) -> None: ...
    def fail(self, message: str) -> None: ...

@final
class Hidden:
    def __new__(cls, path: str, bytes: int) -> Hidden: ...
    def fileno(self) -> int | None: ...
    def commit(self) -> None: ...
    def discard(self) -> None: ...
