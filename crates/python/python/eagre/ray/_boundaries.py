"""Boundaries between parts, from a sample: where a part begins, for equal keys too.

A boundary is a key, the number of a piece, and a share. Records with smaller keys come before it. Of those with its key,
the ones of earlier pieces come before it, and of its own piece that share. Records with equal keys stay in the order of the
input, so a part may begin anywhere among them: a key that has more records than a part does not make a part too large.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import eagre
from eagre.ray import _compressed
from eagre.ray._files import Bytes, Files
from eagre.ray._format import Format
from eagre.ray._ranges import Piece, read, record_at

# How many records are sampled for each part, and in all. The largest of many parts is some 10 % larger than the mean then.
PER_PART = 600
MOST = 300_000
# How many reads a sample of a piece may cost where a read is a request.
REQUESTS = 8


class Boundary(NamedTuple):
    """Where a part begins."""

    key: bytes
    piece: int
    share: float


def samples_of(pieces: Sequence[Piece], parts: int) -> list[int]:
    """How many records to sample of each piece: in proportion to their bytes, or to those assumed of a compressed one."""
    lengths = [_compressed.expected(piece.path, piece.length) for piece in pieces]
    wanted = min(PER_PART * parts, MOST)
    return [max(-(-wanted * length // max(sum(lengths), 1)), 1) for length in lengths]


def sample(files: Files, piece: Piece, count: int, format: Format) -> list[bytes]:
    """Keys of records of a piece, in their order there."""
    if not format.can_be_cut or piece.codec is not None or (not files.near and piece.length <= 1 << 20):
        data, offset = read(files, piece, format)
        format.check(data, piece.path, offset)
        # A compressed piece has more bytes than was assumed, or fewer.
        count = max(count * data.nbytes // _compressed.expected(piece.path, piece.length), 1)
        records = eagre.checksum(data, format.records)[0]
        return eagre.record_keys(data, format.records, step=max(records // count, 1))
    # One position in each of as many equal ranges: the same ones if the task is repeated.
    source = random.Random(piece.number)
    places = count if files.near else min(count, REQUESTS)
    positions = [piece.offset + int((place + source.random()) * piece.length / places) for place in range(places)]
    if files.near:
        found = [record_at(files, piece, position, format) for position in positions]
    else:
        found = [_several(files, piece, position, -(-count // places), format) for position in positions]
    return eagre.record_keys(np.concatenate(found), format.records) if found else []


def _several(files: Files, piece: Piece, position: int, count: int, format: Format) -> Bytes:
    """Some records in a row."""
    if format.size is not None:
        return files.read(piece.path, position // format.size * format.size, count * format.size)
    length = min(count * 256, piece.offset + piece.length - position)
    nearby = Piece(piece.number, piece.path, position, max(length, 1), piece.size)
    return read(files, nearby, format)[0]


def choose(samples: Sequence[Sequence[bytes]], parts: int, format: Format) -> list[Boundary]:
    """Boundaries of parts of like size, one fewer than parts. ``samples[n]`` are keys of piece ``n``, in their order there."""
    found: list[Boundary] = []
    for piece, keys in enumerate(samples):
        seen: dict[bytes, int] = {}
        counts: dict[bytes, int] = {}
        for key in keys:
            counts[key] = counts.get(key, 0) + 1
        for key in keys:
            before = seen.get(key, 0)
            found.append(Boundary(key, piece, before / counts[key]))
            seen[key] = before + 1
    ordered: list[Boundary] = format.order(found, key=lambda boundary: boundary.key)
    return [ordered[part * len(ordered) // parts] for part in range(1, parts)] if ordered else []


def uniform(parts: int, format: Format) -> list[Boundary]:
    """Boundaries for keys that are spread evenly over all that their first eight bytes can be."""
    keys = [(part << 64) // parts for part in range(1, parts)]
    made = [Boundary(key.to_bytes(8, "big"), 0, 0.0) for key in keys]
    return made[::-1] if format.descending else made


def given(keys: Sequence[bytes], format: Format) -> list[Boundary]:
    """Boundaries at keys of the caller, in the form of ``eagre.record_keys``."""
    made = [Boundary(bytes(key), 0, 0.0) for key in keys]
    if any(format.is_before(after.key, before.key) for before, after in zip(made, made[1:])):
        raise ValueError("eagre.ray: boundaries are not in the order of the sort; sort them")
    return made


def ends_of_parts(
    ordered: Bytes, starts: npt.NDArray[np.uint64], boundaries: Sequence[Boundary], piece: int, format: Format
) -> list[int]:
    """Where each part ends in the sorted records of a piece.

    Args:
        starts: where the first record is that does not come before the key of each boundary, and the end.
    """
    ends, tied = [], {}
    for boundary, start in zip(boundaries, starts.tolist()):
        key = boundary.key
        rest = ordered[start:]
        if boundary.piece < piece or (boundary.piece == piece and boundary.share == 0):
            count = 0
        else:
            if key not in tied:
                tied[key] = eagre.tied(rest, key, format.records)
            count = tied[key]
            if boundary.piece == piece:
                count = eagre.tied(rest, key, format.records, most=int(count * boundary.share))
        ends.append(start + count)
    return [*ends, ordered.nbytes]
