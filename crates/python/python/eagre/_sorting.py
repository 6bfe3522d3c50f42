"""Sorting arrays of any layout: all but the fast path of ``eagre.sort``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from eagre import _eagre
from eagre._layout import checked, keys_of, put_back, rows_of, sortable, writable
from eagre._progress import Progress, steps

Array = npt.NDArray[Any]
Order = str | Sequence[str] | None


def sort_in_place(
    a: Any, axis: int, descending: bool, threads: int | None, order: Order, progress: Progress
) -> None:
    """``eagre.sort`` for arrays that are not of one axis and plain."""
    rows = rows_of(writable(checked(a, "eagre.sort"), "eagre.sort"), axis)
    if rows.dtype.names is not None or order is not None:
        index = _order(keys_of(rows, order, "eagre.sort"), descending, threads, progress, "eagre.sort")
        rows[...] = np.take_along_axis(rows, index, -1)
    else:
        sorted = sortable(rows)
        _eagre.sort_rows(sorted, descending, threads, progress)
        put_back(rows, sorted)


def sorted(
    a: npt.ArrayLike,
    axis: int | None = -1,
    descending: bool = False,
    threads: int | None = None,
    *,
    order: Order = None,
    progress: Progress = None,
) -> Array:
    """A sorted copy of an array.

    Args:
        a: an array of any shape, or what ``numpy.asarray`` takes.
        axis: along which to sort; ``None`` for the array as a flat one.

    The other arguments, the dtypes and the exceptions are those of ``eagre.sort``.
    """
    if axis is None:
        a, axis = np.ravel(a), -1
    copy = np.array(checked(np.asanyarray(a), "eagre.sorted"), order="K")
    _eagre.sort(copy, axis, descending, threads, order=order, progress=progress)
    return copy


def argsort(
    a: npt.ArrayLike,
    axis: int | None = -1,
    descending: bool = False,
    threads: int | None = None,
    *,
    order: Order = None,
    progress: Progress = None,
) -> npt.NDArray[np.intp]:
    """The indices that sort an array: those of ``numpy.argsort(a, kind="stable")``.

    Equal elements stay in the order they are in, in a descending order too. It takes 8 to 32 bytes per element of a row beside
    the result.

    Args:
        a: an array of any shape, or what ``numpy.asarray`` takes, with fewer than 2**32 elements along the axis.
        axis: along which to sort; ``None`` for the array as a flat one.

    The other arguments, the dtypes and the exceptions are those of ``eagre.sort``.

    Returns:
        An array of the same shape, of dtype ``intp``.
    """
    rows = rows_of(checked(np.asanyarray(a), "eagre.argsort"), axis)
    index = _order(keys_of(rows, order, "eagre.argsort"), descending, threads, progress, "eagre.argsort")
    return index if axis is None else np.moveaxis(index, -1, axis)


def lexsort(
    keys: Sequence[npt.ArrayLike], axis: int = -1, threads: int | None = None, *, progress: Progress = None
) -> npt.NDArray[np.intp]:
    """The indices that sort by several keys: those of ``numpy.lexsort``, the last key being the most important one.

    Args:
        keys: arrays of one shape, of dtypes that ``eagre.sort`` takes, but no structures.

    Raises:
        TypeError: there is no key, or one of another dtype.
        ValueError: keys have different shapes.
    """
    arrays = [rows_of(checked(np.asanyarray(key), "eagre.lexsort"), axis) for key in keys]
    if not arrays:
        raise TypeError("eagre.lexsort: no keys; give at least one")
    if any(key.shape != arrays[0].shape for key in arrays):
        raise ValueError("eagre.lexsort: keys of different shapes; give all of them one shape")
    return np.moveaxis(_order(arrays[::-1], False, threads, progress, "eagre.lexsort"), -1, axis)


def _order(
    keys: Sequence[Array], descending: bool, threads: int | None, progress: Progress, function: str
) -> npt.NDArray[np.intp]:
    """The stable order of rows by several keys, the most important one first."""
    index = None
    for key, told in zip(reversed(keys), steps(progress, len(keys))):
        now = key if index is None else np.take_along_axis(key, index, -1)
        step = np.empty(now.shape, np.intp)
        _eagre.argsort_rows(sortable(now), step, descending, threads, told, function)
        index = step if index is None else np.take_along_axis(index, step, -1)
    assert index is not None, "there is a key"
    return index


def sort_pairs(
    keys: Array, values: Array, descending: bool = False, threads: int | None = None, *, progress: Progress = None
) -> None:
    """Sorts keys in place, and moves values along. Equal keys, and so their values, stay in the order they are in.

    Args:
        keys: an array of one axis, of a dtype that ``eagre.sort`` takes.
        values: an array of any dtype, whose first axis is as long.

    Raises:
        TypeError: one of them is no array, or masked, or keys have no order.
        ValueError: the lengths differ, or an array is read-only.
    """
    keys = writable(checked(keys, "eagre.sort_pairs"), "eagre.sort_pairs")
    values = writable(checked(values, "eagre.sort_pairs", ordered=False), "eagre.sort_pairs")
    if keys.ndim != 1 or values.shape[:1] != keys.shape:
        raise ValueError(f"eagre.sort_pairs: keys of shape {keys.shape}, values of {values.shape}; give one value for each key")
    index = argsort(keys, 0, descending, threads, progress=progress)
    keys[...], values[...] = keys[index], values[index]
