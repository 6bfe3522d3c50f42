"""Pieces of files: ranges that begin and end where records do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from eagre.ray import _compressed
from eagre.ray._errors import BadRecord
from eagre.ray._files import Bytes, Files
from eagre.ray._format import Format

# How much is read at once to find the end of a line.
STEP = 64 << 10


@dataclass(frozen=True)
class Piece:
    """A range of a file. Of lines it has those that begin in it, so that nobody needs to read before it is known."""

    number: int
    path: str
    offset: int
    length: int
    # The size of the file.
    size: int
    # How the file is compressed, and how many bytes may come of it.
    codec: str | None = None
    most: int = 0


def cut(files: list[tuple[str, int]], size: int, format: Format, most: int = 0) -> list[Piece]:
    """Files as pieces of about one size, in the order of the files. A compressed one, which may hold ``most`` bytes, is a piece.

    Raises:
        BadRecord: a file does not consist of records of their size.
    """
    pieces: list[Piece] = []
    for path, length in files:
        codec = _compressed.codec_of(path)
        if codec is not None:
            if length:
                pieces.append(Piece(len(pieces), path, 0, length, length, codec, most))
            continue
        if format.size is not None and length % format.size:
            rest = length % format.size
            raise BadRecord(path, length - rest, f"the last record is cut short: it has {rest} bytes of {format.size}")
        for offset, bytes in _ranges(length, size, format):
            pieces.append(Piece(len(pieces), path, offset, bytes, length))
    return pieces


def _ranges(length: int, size: int, format: Format) -> Iterator[tuple[int, int]]:
    if not format.can_be_cut:
        if length:
            yield 0, length
        return
    count = max(-(-length // size), 1)
    unit = format.size or 1
    step = max(-(-length // count) // unit, 1) * unit
    for offset in range(0, length, step):
        yield offset, min(step, length - offset)


def read(files: Files, piece: Piece, format: Format) -> tuple[Bytes, int]:
    """The records of a piece, and the offset where they begin. A last line gets its end.

    Raises:
        BadRecord: the file has become shorter, or is compressed and damaged.
        ValueError: a compressed file holds too much.
    """
    if not format.is_line or piece.codec is not None:
        data = files.read(piece.path, piece.offset, piece.length)
        if data.nbytes < piece.length:
            raise BadRecord(piece.path, piece.offset + data.nbytes, "the file was cut while it was sorted")
        if piece.codec is not None:
            data = _compressed.expand(data, piece.codec, piece.path, piece.most)
        return _ended(data, format), piece.offset
    # The byte before says whether a line begins here.
    start = max(piece.offset - 1, 0)
    end = piece.offset + piece.length
    data = files.read(piece.path, start, end - start)
    if data.nbytes < end - start:
        raise BadRecord(piece.path, start + data.nbytes, "the file was cut while it was sorted")
    begin = 0 if piece.offset == 0 else _behind_newline(data)
    if begin is None or start + begin >= end:
        return data[:0], end
    more = [data[begin:]]
    while end < piece.size and more[-1][-1] != ord("\n"):
        next = files.read(piece.path, end, STEP)
        if not next.nbytes:
            raise BadRecord(piece.path, end, "the file was cut while it was sorted")
        upto = _behind_newline(next)
        more.append(next if upto is None else next[:upto])
        end += more[-1].nbytes
    whole = more[0] if len(more) == 1 else np.concatenate(more)
    return _ended(whole, format), start + begin


def _behind_newline(data: Bytes) -> int | None:
    found = bytes(data[:STEP]).find(b"\n")
    if found < 0 and data.nbytes > STEP:
        found = data.tobytes().find(b"\n")
    return None if found < 0 else found + 1


def _ended(data: Bytes, format: Format) -> Bytes:
    if format.ends_with_newline and data.nbytes and data[-1] != ord("\n"):
        return np.append(data, np.uint8(ord("\n")))
    return data


def record_at(files: Files, piece: Piece, position: int, format: Format) -> Bytes:
    """A record near a position of a piece that can be cut, or nothing if no record begins behind it."""
    if format.size is not None:
        return files.read(piece.path, position // format.size * format.size, format.size)
    length = 4 << 10
    while True:
        data = files.read(piece.path, position, length)
        text = data.tobytes()
        begin = 0 if position == 0 else text.find(b"\n") + 1
        end = text.find(b"\n", begin) + 1 if begin or position == 0 else 0
        if end:
            return data[begin:end]
        if data.nbytes < length:
            # The end of the file.
            return _ended(data[begin:], format) if begin or position == 0 else data[:0]
        length *= 4
