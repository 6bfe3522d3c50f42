"""Compressed files: nobody can begin in the middle of one, so each is a piece, which one task expands in memory."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from eagre.ray._errors import BadRecord

Bytes = npt.NDArray[np.uint8]
# By the ends of names, as pyarrow calls them.
_CODECS = {".gz": "gzip", ".zst": "zstd", ".lz4": "lz4"}
# How many times as large a file is assumed to be that nobody has expanded yet.
USUAL = 4
# How much is expanded at once.
_STEP = 4 << 20


def codec_of(path: str) -> str | None:
    """How a file is compressed, by the end of its name."""
    return next((codec for end, codec in _CODECS.items() if path.endswith(end)), None)


def expected(path: str, size: int) -> int:
    """How many bytes a file is assumed to hold."""
    return size * USUAL if codec_of(path) else size


def expand(data: Bytes, codec: str, path: str, most: int) -> Bytes:
    """What a file holds.

    Args:
        data: the file.
        most: how many bytes may come of it.

    Raises:
        BadRecord: the file is damaged or cut short.
        ValueError: more bytes come of it.
    """
    try:
        import pyarrow
    except ImportError:
        raise ImportError(f"eagre.ray: {path}: compressed files need pyarrow; pip install 'eagre[ray]'") from None
    parts, size = [], 0
    try:
        with pyarrow.CompressedInputStream(pyarrow.BufferReader(pyarrow.py_buffer(data)), codec) as stream:
            while some := stream.read(_STEP):
                parts.append(np.frombuffer(some, np.uint8))
                size += len(some)
                if size > most:
                    break
    except OSError as error:
        raise BadRecord(path, 0, f"it cannot be expanded as {codec}: {error}") from None
    if size > most:
        raise ValueError(
            f"eagre.ray: {path}: it expands to more than {most} bytes, for which a task has no memory; use smaller files, or"
            " give more memory"
        )
    return np.concatenate(parts) if parts else np.empty(0, np.uint8)
