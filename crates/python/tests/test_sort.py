"""``sort``, ``sorted``: the results of ``np.sort``, and the same elements, bit by bit."""

import numpy as np
import pytest
from arrays import BYTES, COMPLEX, FLOATS, INTEGERS, PLAIN, STRUCTURES, TIMES, arrays, bits, filled, in_order, same
from hypothesis import given, settings
from hypothesis import strategies as st

import eagre


def descended(array, axis):
    """What descending order is: values from the last to the first, then those that are missing."""
    rows = np.moveaxis(in_order(array, axis), axis, -1)
    out = rows.copy()
    for at in np.ndindex(rows.shape[:-1]):
        row = rows[at]
        missing = np.isnan(row) if row.dtype.kind in "fc" else np.isnat(row) if row.dtype.kind in "mM" else np.zeros(row.shape, bool)
        out[at] = np.concatenate([row[~missing][::-1], row[missing]])
    return np.moveaxis(out, -1, axis)


@given(arrays(), st.data())
@settings(max_examples=600, deadline=None)
def test_sort_is_that_of_numpy(array, data):
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    threads = data.draw(st.sampled_from([None, 1, 3]))
    wanted, before = in_order(array, axis), bits(array)
    copy = eagre.sorted(array, axis=axis, threads=threads)
    assert copy.dtype == array.dtype and same(copy, wanted)
    assert bits(array) == before and bits(copy) == before
    assert eagre.sort(array, axis=axis, threads=threads) is None
    assert same(array, wanted) and bits(array) == before


@given(arrays(), st.data())
@settings(max_examples=300, deadline=None)
def test_descending_order_has_missing_values_last(array, data):
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    wanted, before = descended(array, axis), bits(array)
    eagre.sort(array, axis=axis, descending=True)
    assert same(array, wanted) and bits(array) == before


@given(arrays(dtypes=STRUCTURES, max_dims=2, max_side=50), st.data())
@settings(max_examples=150, deadline=None)
def test_structures_are_sorted_by_fields(array, data):
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    names = data.draw(st.permutations(array.dtype.names))
    order = data.draw(st.sampled_from([None, names[0], names[:2]]))
    wanted, before = np.sort(array, axis=axis, order=order), bits(array)
    eagre.sort(array, axis=axis, order=order)
    assert same(array, wanted) and bits(array) == before


@pytest.mark.parametrize("dtype", PLAIN)
@pytest.mark.parametrize("pattern", ["random", "few", "small", "sorted", "reversed"])
@pytest.mark.parametrize("length", [0, 1, 2, 63, 64, 1000, 70_000])
def test_lengths(dtype, pattern, length):
    array = filled(dtype, (length,), pattern, np.random.default_rng(length))
    wanted, before = in_order(array), bits(array)
    eagre.sort(array)
    assert same(array, wanted) and bits(array) == before


@pytest.mark.parametrize("dtype", ["u8", "f8", "f4", "i2", "M8[us]"])
def test_more_than_is_sorted_unwatched(dtype):
    array = filled(dtype, ((20 << 20) // np.dtype(dtype).itemsize,), "random", np.random.default_rng(1))
    wanted = np.sort(array)
    reports = []
    copy = eagre.sorted(array, progress=lambda done, total: reports.append((done, total)))
    assert same(copy, wanted) and reports[-1][0] == reports[-1][1] > 0
    eagre.sort(array)
    assert same(array, wanted)


@pytest.mark.parametrize("shape, axis", [((3, 300_000), 1), ((300_000, 3), 0), ((200_000, 4), 1), ((2, 3, 50_000), -1), ((5, 0, 7), 2)])
def test_rows_by_several_threads(shape, axis):
    array = filled("f8", shape, "random", np.random.default_rng(2))
    wanted = in_order(array, axis)
    eagre.sort(array, axis=axis, threads=3)
    assert same(array, wanted)


def test_sorted_without_an_axis_is_flat():
    array = np.arange(12)[::-1].reshape(3, 4)
    assert eagre.sorted(array, axis=None).tolist() == list(range(12))
    assert eagre.sorted([3, 1, 2]).tolist() == [1, 2, 3]


def test_what_is_refused_says_why():
    read_only = np.arange(3)
    read_only.flags.writeable = False
    with pytest.raises(ValueError, match="read-only; pass a copy"):
        eagre.sort(read_only)
    with pytest.raises(ValueError, match="read-only"):
        eagre.sort(np.broadcast_to(np.arange(3), (2, 3)))
    with pytest.raises(TypeError, match="list: is no numpy.ndarray"):
        eagre.sort([3, 1, 2])
    with pytest.raises(TypeError, match="masked"):
        eagre.sort(np.ma.masked_array([3, 1, 2], [0, 1, 0]))
    with pytest.raises(TypeError, match="objects"):
        eagre.sort(np.array([3, None]))
    with pytest.raises(TypeError, match="objects"):
        eagre.sort(np.zeros(3, [("a", "O")]))
    for dtype in ["U3", "S17", "g", "V4", "G"]:
        with pytest.raises(TypeError, match="has no order here"):
            eagre.sort(np.zeros(3, dtype))
    with pytest.raises(TypeError, match="arrays as fields"):
        eagre.sort(np.zeros(3, [("a", "i4", 2)]))
    with pytest.raises(np.exceptions.AxisError):
        eagre.sort(np.arange(3), axis=1)
    with pytest.raises(np.exceptions.AxisError):
        eagre.sort(np.array(5))
    with pytest.raises(ValueError, match="no fields"):
        eagre.sort(np.arange(3), order="key")
    with pytest.raises(ValueError, match="no field 'x'"):
        eagre.sort(np.zeros(3, [("a", "i4")]), order="x")
    with pytest.raises(OverflowError):
        eagre.sort(np.arange(3), threads=-1)


def test_subclasses_and_mapped_files(tmp_path):
    mapped = np.memmap(tmp_path / "mapped", np.int64, "w+", shape=1000)
    mapped[:] = np.arange(1000)[::-1]
    eagre.sort(mapped)
    assert mapped.tolist() == list(range(1000))
    matrix = np.array([[3, 1], [2, 4]]).view(np.matrix)
    eagre.sort(matrix)
    assert matrix.tolist() == [[1, 3], [2, 4]]
    record = np.rec.array([(2, b"b"), (1, b"c"), (1, b"a")], dtype=[("x", "i4"), ("y", "S1")])
    eagre.sort(record, order="x")
    assert record.tolist() == [(1, b"a"), (1, b"c"), (2, b"b")]


# In structures, NumPy has NaN of float16 first.
@pytest.mark.parametrize("dtype", INTEGERS + ["f4", "f8"] + TIMES + COMPLEX + BYTES)
def test_structures_wider_than_a_cache_line(dtype):
    array = filled([("key", dtype), ("rest", "V200")], (100,), "random", np.random.default_rng(5))[["key"]]
    wanted, before = np.sort(array), bits(array["key"])
    eagre.sort(array)
    assert same(array, wanted) and bits(array["key"]) == before
