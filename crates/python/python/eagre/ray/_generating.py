"""Test data on a cluster: records of the sort benchmark."""

from __future__ import annotations

import os
import secrets
from typing import Any

from eagre.ray import _tasks
from eagre.ray._cluster import Cluster
from eagre.ray._errors import cause_of
from eagre.ray._files import files_of, joined
from eagre.ray._flight import Flight, stop
from eagre.ray._sorting import Progress

# At most so many records in a file, if nobody says: 256 MiB.
MOST_RECORDS = 2_684_354


def generate(
    folder: str | os.PathLike[Any],
    records: int,
    *,
    first: int = 0,
    ascii: bool = False,
    skew: bool = False,
    files: int | None = None,
    filesystem: Any = None,
    progress: Progress = None,
) -> int:
    """Writes records of the sort benchmark as files of a folder, and returns how many bytes these are.

    The files, one after the other, are what ``eagre.generate`` writes. If it fails or is interrupted, they are removed.

    Args:
        folder: a path or URL, which all nodes can write. It must not exist, or be empty.
        files: how many files; by default of 256 MiB at most, and one at least for each processor.

    The other arguments are those of ``eagre.generate`` and ``eagre.ray.sort``.

    Raises:
        FileExistsError: there is something in the folder.
        ValueError: an argument is out of range.
        OSError: a file cannot be written.
    """
    if records < 0 or not 0 <= first < 1 << 128 or (files is not None and files < 1):
        raise ValueError("eagre.ray.generate: records and first are 0 or more, files 1 or more")
    target, path = files_of(folder, filesystem)
    if target.list(path):
        raise FileExistsError(17, f"write: {os.fspath(folder)}: the folder is not empty; use another one")
    cluster = Cluster.now()
    count = files or max(min(cluster.processors, records), -(-records // MOST_RECORDS), 1)
    made, token, sizes = target.make_folder(path), secrets.token_hex(6), [0] * count
    names = [joined(path, f"records-{number:05d}") for number in range(count)]

    def keep(number: int, size: int) -> None:
        sizes[number] = size
        if progress is not None:
            progress("generate", sum(size > 0 for size in sizes), count)

    flight = Flight(2 * cluster.processors, keep)
    options = {"ascii": ascii, "skew": skew}
    try:
        for number, name in enumerate(names):
            start, end = number * records // count, (number + 1) * records // count
            given = (target, name, token, first + start, end - start, options)
            flight.start(number, _tasks.generate, f"generate {number}", min(16 << 20, cluster.node_memory), *given)
        flight.drain()
    except BaseException as error:
        stop([flight])
        for entry, _ in target.list(path) or []:
            target.remove(entry)
        if made:
            target.remove_folder(path)
        raise cause_of(error) from None
    return sum(sizes)
