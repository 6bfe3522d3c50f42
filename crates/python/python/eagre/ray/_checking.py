"""Whether an output is whole, in order, and has the records of the input."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from eagre import Checked, Records
from eagre.ray import _compressed, _parts, _plan, _ranges, _tasks
from eagre.ray._cluster import Cluster
from eagre.ray._errors import cause_of
from eagre.ray._files import Files, base, files_of
from eagre.ray._flight import Flight, stop
from eagre.ray._format import Format
from eagre.ray._sorting import Location, Progress, sources_of


@dataclass(frozen=True)
class CheckedParts:
    """What a check found. ``wrong`` are lines about what is wrong; ``same`` is ``None`` without anything to compare with."""

    records: int
    bytes: int
    sum: int
    duplicates: int
    unordered: int
    parts: int
    same: bool | None
    wrong: list[str]

    @property
    def is_right(self) -> bool:
        """Whether nothing is wrong."""
        return not self.wrong


def check(
    output: Location,
    *,
    format: str | Records = "lines",
    descending: bool = False,
    against: Location | Iterable[Location] | None = None,
    filesystem: Any = None,
    progress: Progress = None,
) -> CheckedParts:
    """Whether the parts of an output are what its manifest says, in order, and have the same records as the input.

    All of it is read again. Every part is checked by a task as ``eagre.check_file`` does it, and its first key is compared
    with the last one before it.

    Args:
        against: files and folders whose records the output should have.

    The other arguments are those of ``eagre.ray.sort``.

    Raises:
        FileNotFoundError: there is no manifest, so the sort did not end.
        BadRecord: an input does not consist of such records.
        ValueError: a part does not consist of such records.
        OSError: a file cannot be read.
    """
    chosen = Format.of(format, descending)
    files, path = files_of(output, filesystem)
    manifest = _parts.read_manifest(files, path)
    if manifest is None:
        text = f"read: {os.fspath(output)}: there is no {_parts.MANIFEST}: it is not the output of a sort that has ended"
        raise FileNotFoundError(2, text)
    there = _parts.data_of(files, path) or []
    flights = _Flights(Cluster.now(), progress)
    try:
        checked = _check_parts(files, there, chosen, flights)
        expected = None if against is None else _summary_of(against, filesystem, chosen, flights)
    except BaseException as error:
        flights.stop()
        cause = cause_of(error)
        if cause is error:
            raise
        raise cause from None
    names = [base(entry) for entry, _ in there]
    return _judged(names, checked, manifest, expected, chosen)


def _judged(
    names: list[str],
    checked: list[Checked],
    manifest: list[_parts.Part],
    expected: tuple[int, int] | None,
    format: Format,
) -> CheckedParts:
    """What tasks found, together."""
    records, total = sum(one.records for one in checked), sum(one.sum for one in checked) % 2**128
    wrong = _against_manifest(manifest, dict(zip(names, checked)))
    for name, one in zip(names, checked):
        if not one.is_sorted:
            wrong.append(f"{name}: record {one.first_unordered} is out of order")
    between, duplicates = _between(names, checked, format)
    same = None if expected is None else expected == (records, total)
    if same is False and expected is not None:
        wrong.append(f"other records than the input: {records} with the sum {total:x}, not {expected[0]} with {expected[1]:x}")
    duplicates += sum(one.duplicates for one in checked)
    unordered = sum(one.unordered for one in checked) + len(between)
    size = sum(one.bytes for one in checked)
    return CheckedParts(records, size, total, duplicates, unordered, len(names), same, wrong + between)


class _Flights:
    """Tasks of a check, in phases."""

    def __init__(self, cluster: Cluster, progress: Progress) -> None:
        self.cluster, self._progress = cluster, progress or (lambda phase, done, total: None)
        self._flights: list[Flight] = []

    def begin(self, phase: str, tasks: int, done: Callable[[int, Any], object]) -> Flight:
        ended = [0]

        def one(number: int, result: Any) -> None:
            done(number, result)
            ended[0] += 1
            self._progress(phase, ended[0], tasks)

        self._flights.append(Flight(2 * self.cluster.processors, one))
        return self._flights[-1]

    def stop(self) -> None:
        stop(self._flights)


def _check_parts(files: Files, there: list[tuple[str, int]], format: Format, flights: _Flights) -> list[Checked]:
    found: dict[int, Checked] = {}
    flight = flights.begin("check", len(there), found.__setitem__)
    for number, (entry, size) in enumerate(there):
        memory = min(64 << 20, flights.cluster.node_memory)
        flight.start(number, _tasks.check_part, f"check {number}", memory, files, entry, size, format)
    flight.drain()
    return [found[number] for number in range(len(there))]


def _against_manifest(manifest: list[_parts.Part], checked: dict[str, Checked]) -> list[str]:
    """What is not as the manifest says."""
    wrong = [f"{name}: it is not in the manifest" for name in checked if name not in {part.name for part in manifest}]
    for part in manifest:
        found = checked.get(part.name)
        if found is None:
            wrong.append(f"{part.name}: it is missing")
        elif (found.records, found.bytes, found.sum) != (part.records, part.bytes, part.sum):
            there = f"{found.records} records, {found.bytes} bytes, sum {found.sum:x}"
            wrong.append(f"{part.name}: it is not what was written: {there}")
        elif (found.ends or (None, None)) != (part.first, part.last):
            wrong.append(f"{part.name}: its first or last key is not that of the manifest")
    return wrong


def _between(names: list[str], checked: list[Checked], format: Format) -> tuple[list[str], int]:
    """What is out of order between parts, and how many begin with the key that the one before ends with."""
    wrong, equal, last = [], 0, None
    for name, one in zip(names, checked):
        if one.ends is None:
            continue
        if last is not None and format.is_before(one.ends[0], last):
            wrong.append(f"{name}: it begins with a key that comes before the last one of the part before")
        equal += last == one.ends[0]
        last = one.ends[1]
    return wrong, equal


def _summary_of(
    against: Location | Iterable[Location], filesystem: Any, format: Format, flights: _Flights
) -> tuple[int, int]:
    """How many records files have, and their sum."""
    files, entries = sources_of(against, filesystem)
    cluster = flights.cluster
    memory = _plan.task_memory(cluster, None)
    size = _plan.piece_size(sum(_compressed.expected(*entry) for entry in entries), cluster, format, memory)
    pieces = _ranges.cut(entries, size, format, int(memory / format.memory_per_byte))
    total = [0, 0]

    def add(number: int, summary: _tasks.Summary) -> None:
        total[0], total[1] = total[0] + summary.records, (total[1] + summary.sum) % 2**128

    flight = flights.begin("sum", len(pieces), add)
    for piece in pieces:
        flight.start(piece.number, _tasks.summarise, f"sum {piece.number}", memory, files, piece, format)
    flight.drain()
    return total[0], total[1]
