"""Indexes of files: sorted keys and where their records are, and the records in that order."""

from __future__ import annotations

import os

from eagre import _eagre
from eagre._progress import Progress
from eagre._questions import Path
from eagre._records import Records, Sorted, how_to_sort


def index_file(
    source: Path,
    target: Path,
    records: Records = Records(),
    *,
    descending: bool = False,
    unique: bool = False,
    memory: int | None = None,
    threads: int | None = None,
    temporary: Path | None = None,
    progress: Progress = None,
) -> Sorted:
    """Writes the sorted index of a file, not its records: the keys in order, and where their records are.

    The index is what ``eagre sort --index`` writes: a header of 64 bytes, then entries of one size. It is small if records are
    large, and ``eagre.gather`` makes records of it. The source must stay as it is as long as the index is used.

    Args:
        source: a regular file.
        target: the index, which appears when it is complete and on the disk. It cannot be the source.

    The other arguments are those of ``eagre.sort_file``.

    Returns:
        What was done. ``records`` and ``bytes`` are those of the source.

    Raises:
        ValueError: arguments contradict each other; the source does not consist of such records, or is no regular file, or is
            the target.
        MemoryError: the system refused memory.
        OSError: a file cannot be read or written.
    """
    how = how_to_sort(descending, unique, 0, memory, threads, temporary)
    described = records.described("eagre.index_file")
    return Sorted(*_eagre.index_file(os.fsdecode(source), os.fsdecode(target), described, how, progress))


def gather(
    index: Path,
    data: Path,
    target: Path,
    *,
    start: int = 0,
    stop: int | None = None,
    copied: bool = False,
    threads: int | None = None,
    progress: Progress = None,
) -> int:
    """Writes the records of a file in the order of its index: all of them, or those of a range of ranks.

    Args:
        index: a file that ``eagre.index_file`` or ``eagre sort --index`` wrote.
        data: the file that was indexed, as it was then: its size and the time of its last change are compared.
        target: the file, which appears when it is complete and on the disk. It may be one of the other two.
        start: the rank of the first record to write. The first of all has rank 0.
        stop: the rank before which to end; ``None`` for after the last one.
        copied: the data may be a copy of what was indexed, so the time of their last change does not count.
        threads: at most so many; ``None`` for as many as the process may use.
        progress: as for ``eagre.count``, but it counts records.

    Returns:
        How many records were written.

    Raises:
        ValueError: the index is none, or is damaged; it has no such ranks; or the data are not those that were indexed.
        MemoryError: the system refused memory.
        OSError: a file cannot be read or written.
    """
    if start < 0 or (stop is not None and stop < start):
        raise ValueError(f"eagre.gather: start is {start}, stop is {stop}; give 0 or more, and stop not before start")
    of, source, to = os.fsdecode(index), os.fsdecode(data), os.fsdecode(target)
    return _eagre.gather(of, source, to, start, stop, copied, threads or 0, progress)
