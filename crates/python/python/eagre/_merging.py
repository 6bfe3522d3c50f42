"""Merging records that are sorted already."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from typing import Any, overload

import numpy as np

from eagre import _eagre
from eagre._buffers import BUFFER, as_bytes
from eagre._pipes import PipeReader
from eagre._progress import Progress
from eagre._questions import Path
from eagre._records import Records, Sorted, how_to_sort


@overload
def merge(
    sources: Iterable[Any],
    output: None = None,
    records: Records = ...,
    *,
    descending: bool = ...,
    unique: bool = ...,
    memory: int | None = ...,
    threads: int | None = ...,
    temporary: Path | None = ...,
) -> PipeReader: ...


@overload
def merge(
    sources: Iterable[Any],
    output: Path,
    records: Records = ...,
    *,
    descending: bool = ...,
    unique: bool = ...,
    memory: int | None = ...,
    threads: int | None = ...,
    temporary: Path | None = ...,
    progress: Progress = ...,
) -> Sorted: ...


def merge(
    sources: Iterable[Any],
    output: Path | None = None,
    records: Records = Records(),
    *,
    descending: bool = False,
    unique: bool = False,
    memory: int | None = None,
    threads: int | None = None,
    temporary: Path | None = None,
    progress: Progress = None,
) -> Sorted | PipeReader:
    """Merges sources that are sorted already. Records with equal keys come in the order of the sources.

    Args:
        sources: paths (``str`` or ``os.PathLike``), contiguous buffers (``bytes``, arrays, ...), and binary file objects, in
            any mixture. Buffers must not change before the end.
        output: a path. The file appears when it is complete and on the disk.

    The other arguments are those of ``eagre.sort_file``; ``progress`` is for an output.

    Returns:
        With an output, what was done, without a number of records. Otherwise a reader of the merged records, with ``read``,
        lines and ``chunks``; a thread merges, and ends when the reader is closed.

    Raises:
        ValueError: arguments contradict each other, or a source does not consist of such records.
        OSError: a file cannot be read or written. A reader raises it for whatever ends the merge.
        TypeError: a source is none of these.
    """
    described = records.described("eagre.merge")
    how = how_to_sort(descending, unique, 0, memory, threads, temporary)
    given = [_source(source) for source in sources]
    if output is None:
        if progress is not None:
            raise ValueError("eagre.merge: progress is for an output; count what you read")
        return PipeReader(_eagre.merge_stream(given, described, how))
    return Sorted(*_eagre.merge_file(given, os.fsdecode(output), described, how, progress))


def _source(source: Any) -> Any:
    if isinstance(source, (str, os.PathLike)):
        return os.fsdecode(source)
    if hasattr(source, "readinto"):
        return _pumped(source)
    return as_bytes(source)


def _pumped(file: Any) -> _eagre.Stream:
    """A stream of what a file object has left to read. A thread reads it."""
    sink, stream = _eagre.pipe(1 << 16)

    def pump() -> None:
        buffer = np.empty(BUFFER, np.uint8)
        try:
            while count := file.readinto(buffer):
                sink.write(buffer[:count])
            sink.finish()
        except BaseException as error:
            # The merge tells of it; if it is the merge that ended, nobody needs to know.
            sink.fail(f"{type(error).__name__}: {error}")

    threading.Thread(target=pump, name="eagre-merge-source", daemon=True).start()
    return stream
