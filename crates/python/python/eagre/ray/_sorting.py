"""The sort: sample, map, merge, reduce.

    pieces of files ──map──> runs ──merge──> runs ──reduce──> part-00000, part-00001, ...

A map task sorts a piece and cuts it into runs, one for each group of parts. Merge tasks, if there are many pieces, join the
runs that some neighbours have for a group. A reduce task joins all runs of its part. Runs are joined in the order of the input,
so records with equal keys keep it. Runs are objects of Ray, which moves them, spills them to disks, and makes lost ones again.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import ray

from eagre import Records
from eagre.ray import _boundaries, _compressed, _parts, _plan, _ranges, _tasks
from eagre.ray._boundaries import Boundary
from eagre.ray._cluster import Cluster
from eagre.ray._errors import cause_of
from eagre.ray._files import Files, files_of
from eagre.ray._flight import Flight, stop
from eagre.ray._format import Format
from eagre.ray._parts import Folder, Part
from eagre.ray._plan import Plan
from eagre.ray._ranges import Piece

Location = str | os.PathLike[Any]
# Called with the name of the phase, and how many of its tasks have ended of how many.
Progress = Callable[[str, int, int], object] | None


@dataclass(frozen=True)
class SortedParts:
    """What a sort did: how many records and bytes, the parts, the plan, and the seconds of each phase."""

    records: int
    bytes: int
    parts: list[Part]
    plan: Plan
    seconds: dict[str, float]

    @property
    def balance(self) -> float:
        """How large the largest part is, compared with the mean."""
        return max(part.bytes for part in self.parts) * len(self.parts) / self.bytes if self.bytes else 1.0


def sources_of(inputs: Location | Iterable[Location], filesystem: Any) -> tuple[Files, list[tuple[str, int]]]:
    """The file system of inputs, and all their files."""
    given = [inputs] if isinstance(inputs, (str, os.PathLike)) else list(inputs)
    if not given:
        raise ValueError("eagre.ray: no input; name a file or a folder")
    found = [files_of(location, filesystem) for location in given]
    files = found[0][0]
    if any(type(other) is not type(files) for other, _ in found):
        raise ValueError("eagre.ray: inputs of several file systems; sort them one by one, or copy some")
    entries: list[tuple[str, int]] = []
    for location, (_, path) in zip(given, found):
        data = _parts.data_of(files, path)
        if data is None:
            raise FileNotFoundError(2, f"read: {os.fspath(location)}: no such file or folder")
        entries += data
    return files, entries


def plan(
    inputs: Location | Iterable[Location],
    *,
    format: str | Records = "lines",
    descending: bool = False,
    memory: int | None = None,
    parts: int | None = None,
    piece: int | None = None,
    filesystem: Any = None,
) -> Plan:
    """The plan of a sort, which is not done. The arguments are those of ``eagre.ray.sort``."""
    _, entries = sources_of(inputs, filesystem)
    return _prepare(entries, Format.of(format, descending), memory, parts, piece)[0]


def _prepare(
    entries: list[tuple[str, int]], format: Format, memory: int | None, parts: int | None, piece: int | None
) -> tuple[Plan, list[Piece]]:
    if (parts is not None and parts < 1) or (piece is not None and piece < 1):
        raise ValueError("eagre.ray: parts and piece are 1 or more")
    cluster, total = Cluster.now(), sum(_compressed.expected(path, size) for path, size in entries)
    memory = _plan.task_memory(cluster, memory)
    size = piece or _plan.piece_size(total, cluster, format, memory)
    pieces = _ranges.cut(entries, size, format, int(memory / format.memory_per_byte))
    for each in pieces:
        if each.length * format.memory_per_byte > memory and not format.can_be_cut and each.codec is None:
            kind, needed = format.records.format, int(each.length * format.memory_per_byte)
            raise ValueError(
                f"eagre.ray: {each.path}: a file of the format {kind} is sorted by one task, and takes {needed} bytes of"
                f" memory; a task has {memory}; use several files, or give more memory"
            )
    return _plan.plan_of(total, len(pieces), size, cluster, memory, parts), pieces


def sort(
    inputs: Location | Iterable[Location],
    output: Location,
    *,
    format: str | Records = "lines",
    descending: bool = False,
    boundaries: str | Sequence[bytes] = "sample",
    memory: int | None = None,
    parts: int | None = None,
    piece: int | None = None,
    overwrite: bool = False,
    filesystem: Any = None,
    progress: Progress = None,
    explain: Callable[[Plan], object] | None = None,
) -> SortedParts:
    """Sorts files on a cluster of Ray into a folder of parts, in order, with a manifest. Equal keys keep the order of the input.

    The folder is whole when its manifest is there, which is written last. If the sort fails or is interrupted, its parts are
    removed.

    Args:
        inputs: files and folders of files, which all nodes can read: paths, or URLs such as ``s3://bucket/folder``. Files
            of a folder whose names begin with a dot or an underscore are left out.
        output: a folder, which all nodes can write. It must not exist, or be empty.
        format: ``"lines"``, ``"gensort"``, or what ``eagre.sort_file`` takes.
        descending: the largest first.
        boundaries: ``"sample"``; ``"uniform"`` for keys that are spread evenly; or keys in the form of
            ``eagre.record_keys``, one fewer than parts.
        memory: bytes of memory of a task; by default half of what a node has for each processor, 4 GiB at most.
        parts: how many files are written; by default as suits the cluster.
        piece: how many bytes a map task sorts; by default as suits memory and cluster.
        overwrite: whether an output of before is replaced. It is removed when all input has been sorted, before parts are
            written.
        filesystem: of pyarrow or fsspec, in which inputs and output are paths.
        progress: called with the name of a phase, and how many of its tasks have ended of how many.
        explain: called with the plan, before anything is done.

    Raises:
        BadRecord: a file does not consist of such records.
        FileExistsError: there is something in the output folder.
        ValueError: arguments contradict each other, or do not fit the cluster.
        OSError: a file cannot be read or written.
    """
    chosen = Format.of(format, descending)
    files, entries = sources_of(inputs, filesystem)
    target, path = files_of(output, filesystem)
    token = secrets.token_hex(6)
    folder = Folder(target, path, token, overwrite)
    name = os.fspath(output)
    within = path.rstrip("/") + "/"
    if type(target) is type(files) and any(entry == path or entry.startswith(within) for entry, _ in entries):
        raise ValueError(f"eagre.ray: {name}: the output is among the inputs; use another folder")
    if not isinstance(boundaries, str):
        if parts not in (None, len(boundaries) + 1):
            raise ValueError(f"eagre.ray: {len(boundaries)} boundaries and {parts} parts; give one boundary fewer than parts")
        parts = len(boundaries) + 1
    planned, pieces = _prepare(entries, chosen, memory, parts, piece)
    if explain is not None:
        explain(planned)
    work = _Work(planned, pieces, chosen, files, progress)
    begun = False
    try:
        bounds = work.boundaries(boundaries)
        runs = work.map(bounds)
        begun = True
        folder.begin()
        written = work.reduce(runs, target, folder, token)
        work.check(written)
        folder.finish(written, {"format": _described(chosen), "records": work.total[0], "bytes": work.total[1]})
    except BaseException as error:
        work.stop()
        if begun:
            folder.discard()
        cause = cause_of(error)
        if cause is error:
            raise
        raise cause from None
    return SortedParts(work.total[0], work.total[1], written, planned, work.seconds)


def _described(format: Format) -> dict[str, Any]:
    described = format.records.described("eagre.ray")
    return {"descending": format.descending, **{name: value for name, value in described.items() if value}}


class _Work:
    """A sort that is being done."""

    def __init__(self, plan: Plan, pieces: list[Piece], format: Format, files: Files, progress: Progress) -> None:
        self._plan, self._pieces, self._format, self._files = plan, pieces, format, files
        self._progress = progress or (lambda phase, done, total: None)
        self._flights: list[Flight] = []
        self.seconds: dict[str, float] = {}
        # Records, bytes, and the sum of what was read.
        self.total = [0, 0, 0]

    def _flight(self, phase: str, tasks: int, limit: int, done: Callable[[int, Any], object]) -> Flight:
        ended = [0]

        def one(number: int, result: Any) -> None:
            done(number, result)
            ended[0] += 1
            self._progress(phase, ended[0], tasks)

        flight = Flight(limit, one)
        self._flights.append(flight)
        self._progress(phase, 0, tasks)
        return flight

    def stop(self) -> None:
        """Ends all tasks."""
        stop(self._flights)

    def boundaries(self, wanted: str | Sequence[bytes]) -> list[Boundary]:
        """Where parts begin."""
        plan, format = self._plan, self._format
        if not isinstance(wanted, str):
            return _boundaries.given(wanted, format)
        if wanted not in ("sample", "uniform"):
            raise ValueError(f"eagre.ray: boundaries is {wanted!r}; give 'sample', 'uniform', or a list of keys")
        if plan.parts == 1:
            return []
        if wanted == "uniform":
            return _boundaries.uniform(plan.parts, format)
        started = time.monotonic()
        counts = _boundaries.samples_of(self._pieces, plan.parts)
        samples: list[list[bytes]] = [[] for _ in self._pieces]
        batch = max(-(-len(self._pieces) // (4 * plan.cluster.processors)), 1)
        firsts = range(0, len(self._pieces), batch)

        def keep(first: int, found: list[list[bytes]]) -> None:
            samples[first : first + len(found)] = found

        flight = self._flight("sample", len(firsts), plan.in_flight, keep)
        for first in firsts:
            some = slice(first, first + batch)
            given = (self._files, self._pieces[some], counts[some], format)
            flight.start(first, _tasks.sample, f"sample {first}", plan.memory, *given)
        flight.drain()
        self.seconds["sample"] = time.monotonic() - started
        return _boundaries.choose(samples, plan.parts, format)

    def map(self, boundaries: Sequence[Boundary]) -> list[list[Any]]:
        """The runs of each part, in the order of the input."""
        started, plan = time.monotonic(), self._plan
        # An input without records has no boundaries, and one part.
        parts = len(boundaries) + 1
        groups = [plan.parts_of(group) for group in range(plan.groups)] if parts == plan.parts else [range(parts)]
        runs: list[list[Any]] = [[] for _ in range(parts)]
        # All tasks share one copy.
        bounds = ray.put(list(boundaries))
        flight = self._flight("map", len(self._pieces), plan.in_flight, self._add)
        fan = plan.fan or len(self._pieces)
        merging = self._flight("merge", plan.merges, max(plan.in_flight, 2 * len(groups)), lambda number, done: None)
        for first in range(0, len(self._pieces), fan or 1):
            outputs: list[list[Any]] = [[] for _ in groups]
            for piece in self._pieces[first : first + fan]:
                given = (self._files, piece, bounds, groups, self._format)
                name, returns = f"map {piece.number}", 1 + len(groups)
                rest = flight.start(piece.number, _tasks.map_piece, name, plan.memory, *given, returns=returns)
                for output, run in zip(outputs, rest):
                    output.append(run)
            for number, (group, output) in enumerate(zip(groups, outputs)):
                if not plan.fan:
                    runs[number] += output
                    continue
                name, returns = f"merge {first // fan}.{number}", 1 + len(group)
                order, merge, size = first // fan * len(groups) + number, _tasks.merge_runs, len(group)
                merged = merging.start(order, merge, name, plan.memory, self._format, size, *output, returns=returns)
                for part, run in zip(group, merged):
                    runs[part].append(run)
        flight.drain()
        merging.drain()
        self.seconds["map"] = time.monotonic() - started
        return runs

    def _add(self, number: int, summary: _tasks.Summary) -> None:
        records, size, sum = summary
        self.total = [self.total[0] + records, self.total[1] + size, (self.total[2] + sum) % 2**128]

    def reduce(self, runs: list[list[Any]], target: Files, folder: Folder, token: str) -> list[Part]:
        """Writes the parts."""
        started, plan = time.monotonic(), self._plan
        parts: dict[int, Part] = {}
        flight = self._flight("reduce", len(runs), plan.in_flight, parts.__setitem__)
        for number, of_part in enumerate(runs):
            name, path = f"reduce {number}", folder.part(number)
            flight.start(number, _tasks.reduce_part, name, plan.memory, target, path, token, self._format, *of_part)
            # Ray may forget what this task has done with.
            of_part.clear()
        flight.drain()
        self.seconds["reduce"] = time.monotonic() - started
        return [parts[number] for number in range(len(runs))]

    def check(self, parts: Sequence[Part]) -> None:
        """Raises if the parts have not the records of the input."""
        columns = zip(*((part.records, part.bytes, part.sum) for part in parts))
        records, size, total = (sum(column) for column in columns)
        if [records, size, total % 2**128] != self.total:
            read, _, _ = self.total
            raise RuntimeError(f"eagre.ray: {read} records were read and {records} written, or other ones; eagre is mistaken")
