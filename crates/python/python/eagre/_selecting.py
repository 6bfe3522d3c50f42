"""A few elements of an array: the smallest, the largest, the distinct ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from eagre import _eagre
from eagre._layout import axis_of, checked, keys_of, put_back, rows_of, sortable, writable
from eagre._progress import Progress
from eagre._sorting import Array, argsort, sorted


def partition(a: Array, kth: int, axis: int = -1, threads: int | None = None, *, progress: Progress = None) -> None:
    """Partitions an array in place: the element ``kth`` is where a sort would put it, smaller ones are before it.

    More than ``numpy.partition`` promises, all elements up to ``kth`` are in order. So it is for a small ``kth``: it takes the
    time of sorting so many elements, and one pass over the others.

    Args:
        a: an array of any shape and any dtype of ``eagre.sort`` but structures.
        kth: an index along the axis, from the end if it is negative.

    Raises:
        ValueError: kth is outside of the axis, or the array is read-only.
        TypeError: the array has no order.
    """
    rows = rows_of(writable(checked(a, "eagre.partition"), "eagre.partition"), axis)
    length = rows.shape[-1]
    if not -length <= kth < length:
        raise ValueError(f"eagre.partition: kth is {kth}: outside of an axis of {length} elements")
    _select(rows, kth % length + 1, False, threads, progress, "eagre.partition")


def top_k(
    a: npt.ArrayLike,
    k: int,
    axis: int = -1,
    largest: bool = True,
    threads: int | None = None,
    *,
    progress: Progress = None,
) -> Array:
    """The ``k`` largest elements, the largest first; or the smallest, the smallest first. NaN and NaT come last of all.

    Args:
        a: an array of any shape and any dtype of ``eagre.sort`` but structures. It stays as it is.
        k: how many. Where there are fewer, all of them.

    Returns:
        An array of the same shape, but for the axis, which has ``k`` elements or fewer.

    Raises:
        ValueError: k is negative.
        TypeError: the array has no order.
    """
    if k < 0:
        raise ValueError(f"eagre.top_k: k is {k}; give 0 or more")
    array = checked(np.asanyarray(a), "eagre.top_k")
    axis = axis_of(axis, array.ndim)
    rows = np.array(rows_of(array, axis), order="C")
    _select(rows, k, largest, threads, progress, "eagre.top_k")
    return np.ascontiguousarray(np.moveaxis(rows[..., :k], -1, axis))


def _select(
    rows: Array, k: int, descending: bool, threads: int | None, progress: Progress, function: str
) -> None:
    if len(keys_of(rows, None, function)) != 1 or rows.dtype.names is not None:
        raise TypeError(f"{function}: dtype {rows.dtype}: structures are for eagre.sort")
    selected = sortable(rows)
    _eagre.select_rows(selected, k, descending, threads, progress, function)
    put_back(rows, selected)


def unique(
    a: npt.ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    threads: int | None = None,
    *,
    progress: Progress = None,
) -> Any:
    """The distinct elements in order: what ``numpy.unique`` returns. All NaN, and all NaT, are one element.

    Args:
        a: an array of any shape and any dtype of ``eagre.sort`` but structures.
        return_index: also return where each was first, in the flat array.
        return_inverse: also return which of them each element is.
        return_counts: also return how often each occurs.

    Raises:
        TypeError: the array has no order.
    """
    flat = checked(np.asanyarray(a), "eagre.unique").reshape(-1)
    if return_index or return_inverse:
        index = argsort(flat, threads=threads, progress=progress)
        ordered = flat[index]
    else:
        index, ordered = np.empty(0, np.intp), sorted(flat, threads=threads, progress=progress)
    first = np.ones(ordered.shape, bool)
    first[1:] = ordered[1:] != ordered[:-1]
    if ordered.dtype.kind in "fcmM" and ordered.size and np.isnan(ordered[-1]):
        # Missing values are last, and count as one.
        first[np.argmax(np.isnan(ordered)) + 1 :] = False
    results: list[Array] = [ordered[first]]
    if return_index:
        results.append(index[first])
    if return_inverse:
        inverse = np.empty(flat.shape, np.intp)
        inverse[index] = np.cumsum(first) - 1
        results.append(inverse.reshape(np.shape(a)))
    if return_counts:
        results.append(np.diff(np.append(np.flatnonzero(first), flat.size)))
    return tuple(results) if len(results) > 1 else results[0]
