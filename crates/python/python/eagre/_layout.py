"""Layouts of arrays: whatever is not contiguous, aligned and of a native type is copied into an array that is.

Functions named ``..._rows`` take plain arrays and work along their last axis; they are in Rust.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.exceptions import AxisError

Array = npt.NDArray[Any]


def checked(a: Any, function: str, ordered: bool = True) -> Array:
    """The array itself, as an ``ndarray`` without the manners of its subclass.

    Its elements must have an order, unless ``ordered`` is false.
    """
    if not isinstance(a, np.ndarray):
        raise TypeError(f"{function}: {type(a).__name__}: is no numpy.ndarray; make one: numpy.asarray(a)")
    if isinstance(a, np.ma.MaskedArray):
        raise TypeError(f"{function}: a masked array: masks do not move along; use numpy.ma.sort, or sort a.compressed()")
    if ordered and a.dtype.hasobject:
        raise TypeError(f"{function}: dtype {a.dtype}: Python objects have no order here; use numpy.sort")
    return a.view(np.ndarray)


def writable(array: Array, function: str) -> Array:
    """The array, which is to be changed."""
    if not array.flags.writeable:
        raise ValueError(f"{function}: the array is read-only; pass a copy: a.copy()")
    return array


def axis_of(axis: int, ndim: int) -> int:
    """The number of an axis, counted from the front."""
    if not -ndim <= axis < ndim:
        raise AxisError(axis, ndim)
    return axis % ndim


def rows_of(array: Array, axis: int | None) -> Array:
    """The array with one axis moved to the end, or flat if there is no axis."""
    return array.reshape(-1) if axis is None else np.moveaxis(array, axis_of(axis, array.ndim), -1)


def is_plain(rows: Array) -> bool:
    """Whether an array is contiguous, aligned and of this machine's byte order."""
    return rows.flags.c_contiguous and rows.flags.aligned and rows.dtype.isnative


def plain(rows: Array) -> Array:
    """The array itself if it is plain; a plain copy otherwise."""
    return rows if is_plain(rows) else np.array(rows, dtype=rows.dtype.newbyteorder("="), order="C", copy=True)


def sortable(rows: Array) -> Array:
    """As ``plain``, with bytes of up to 8 as numbers, whose first byte is the most significant one, and others as 16."""
    width = rows.dtype.itemsize
    if rows.dtype.kind != "S" or not 0 < width < 16:
        return plain(rows)
    wide = next(wide for wide in (1, 2, 4, 8, 16) if wide >= width)
    padded = np.ascontiguousarray(rows, dtype=f"S{wide}")
    return padded if wide == 16 else plain(padded.view(f">u{wide}"))


def put_back(rows: Array, sorted: Array) -> None:
    """Puts what ``sortable`` made of rows, now in another order, in their place."""
    if sorted is not rows:
        if rows.dtype.kind == "S" and sorted.dtype.kind == "u":
            sorted = sorted.astype(sorted.dtype.newbyteorder(">")).view(f"S{sorted.dtype.itemsize}")
        rows[...] = sorted


def keys_of(rows: Array, order: str | Sequence[str] | None, function: str) -> list[Array]:
    """Arrays of plain dtypes whose order, the first one first, is that of the elements: the fields of structures.

    As in NumPy, fields that ``order`` does not name come after those that it does.
    """
    if rows.dtype.names is None:
        if order is not None:
            raise ValueError(f"{function}: order: dtype {rows.dtype} has no fields; leave order out")
        return [rows]
    first = [] if order is None else [order] if isinstance(order, str) else list(order)
    unknown = [name for name in first if name not in rows.dtype.names]
    if unknown:
        raise ValueError(f"{function}: order: no field {unknown[0]!r}; there are {', '.join(rows.dtype.names)}")
    if len(set(first)) != len(first):
        raise ValueError(f"{function}: order: a field twice; name each once")
    if any(rows.dtype[name].subdtype is not None for name in rows.dtype.names):
        raise TypeError(f"{function}: dtype {rows.dtype}: arrays as fields have no order here; use numpy.sort")
    rest = [name for name in rows.dtype.names if name not in first]
    return [key for name in first + rest for key in keys_of(rows[name], None, function)]
