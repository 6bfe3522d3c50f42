"""What runs on workers. A task that is repeated returns the same, and writes the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import eagre
from eagre import _eagre
from eagre.ray import _boundaries, _ranges, _stopping
from eagre.ray._boundaries import Boundary
from eagre.ray._files import Bytes, Files, base
from eagre.ray._format import Format
from eagre.ray._parts import Part
from eagre.ray._ranges import Piece


class Summary(NamedTuple):
    """What is known of records, whatever their order."""

    records: int
    bytes: int
    sum: int


class Run(NamedTuple):
    """Sorted records for some parts, and where each part ends."""

    data: Bytes
    ends: list[int]

    def part(self, number: int) -> Bytes:
        return self.data[self.ends[number - 1] if number else 0 : self.ends[number]]


def sample(files: Files, pieces: Sequence[Piece], counts: Sequence[int], format: Format) -> list[list[bytes]]:
    """Keys of some pieces."""
    return [_boundaries.sample(files, piece, count, format) for piece, count in zip(pieces, counts)]


def summarise(files: Files, piece: Piece, format: Format) -> Summary:
    """Which records a piece has."""
    data, offset = _ranges.read(files, piece, format)
    format.check(data, piece.path, offset)
    return _summary(data, format)


def _summary(data: Bytes, format: Format) -> Summary:
    records, sum = eagre.checksum(data, format.records)
    return Summary(records, data.nbytes, sum)


def map_piece(
    files: Files, piece: Piece, boundaries: Sequence[Boundary], groups: Sequence[range], format: Format
) -> Iterator[Any]:
    """Reads, sorts and partitions a piece: gives a ``Summary``, and a ``Run`` for each group of parts."""
    data, offset = _ranges.read(files, piece, format)
    _stopping.look()
    keys = [boundary.key for boundary in boundaries]
    try:
        ordered, starts = eagre.sort_and_partition(data, keys, format.records, descending=format.descending, threads=1)
    except ValueError:
        format.check(data, piece.path, offset)
        raise
    yield _summary(data, format)
    del data
    ends = _boundaries.ends_of_parts(ordered, starts, boundaries, piece.number, format)
    for group in groups:
        first = ends[group.start - 1] if group.start else 0
        yield Run(ordered[first : ends[group.stop - 1]], [end - first for end in ends[group.start : group.stop]])


def merge_runs(format: Format, parts: int, *runs: Run) -> Iterator[Any]:
    """Merges what several pieces have for a group: gives ``True``, and a ``Run`` of each of its parts."""
    yield True
    for part in range(parts):
        sources = [run.part(part) for run in runs]
        out = np.empty(sum(source.nbytes for source in sources), np.uint8)
        with _merged(sources, format) as reader:
            done = 0
            while done < out.nbytes and (count := reader.readinto(out.data[done:])):
                done += count
        assert done == out.nbytes, "a merge has all bytes of its sources"
        yield Run(out, [done])


def reduce_part(files: Files, path: str, token: str, format: Format, *runs: Run) -> Part:
    """Merges what there is for a part, and writes it."""
    sources = [run.part(0) for run in runs]
    records = size = total = 0
    ends: list[bytes] = []
    for source in sources:
        count, sum, keys = _eagre.checksum(source, format.records.described("eagre.ray"))
        records, size, total = records + count, size + source.nbytes, (total + sum) % 2**128
        ends += keys or ()
    written = 0
    with files.write(path, token) as put:
        for chunk in _merged(sources, format).chunks():
            _stopping.look()
            put(chunk)
            written += chunk.nbytes
        if written != size:
            raise RuntimeError(f"eagre.ray: {path}: {written} bytes were merged of {size}; this is a mistake of eagre")
    ordered = format.order(ends, key=lambda key: key)
    first, last = (ordered[0], ordered[-1]) if ordered else (None, None)
    return Part(base(path), size, records, total, first, last)


def _merged(sources: Sequence[Bytes], format: Format) -> Any:
    given = [source for source in sources if source.nbytes]
    return eagre.merge(given, None, format.records, descending=format.descending)


def generate(files: Files, path: str, token: str, first: int, records: int, options: dict[str, bool]) -> int:
    """Writes records of the sort benchmark, some at a time, and returns how many bytes these are."""
    done = 0
    with files.write(path, token) as put:
        while done < records:
            _stopping.look()
            count = min(records - done, 40_000)
            put(eagre.generate(None, count, first=first + done, **options).reshape(-1))
            done += count
    return done * 100


def check_part(files: Files, path: str, size: int, format: Format) -> eagre.Checked:
    """Whether a file is in order, and which records it has."""
    if files.near:
        return eagre.check_file(path, format.records, descending=format.descending, threads=1)
    import tempfile

    with tempfile.NamedTemporaryFile(prefix="eagre-check-") as copy:
        for offset in range(0, size, 16 << 20):
            _stopping.look()
            copy.write(files.read(path, offset, min(16 << 20, size - offset)).data)
        copy.flush()
        return eagre.check_file(copy.name, format.records, descending=format.descending, threads=1)
