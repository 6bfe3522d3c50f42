"""``argsort``, ``lexsort``, ``sort_pairs``: the stable results of NumPy."""

import numpy as np
import pytest
from arrays import PLAIN, STRUCTURES, arrays, bits, filled, in_order, same
from hypothesis import given, settings
from hypothesis import strategies as st

import eagre


@given(arrays(dtypes=PLAIN + STRUCTURES[:1]), st.data())
@settings(max_examples=400, deadline=None)
def test_argsort_is_the_stable_one_of_numpy(array, data):
    axis = data.draw(st.sampled_from([None, *range(-array.ndim, array.ndim)]))
    index = eagre.argsort(array, axis=axis)
    assert index.dtype == np.intp
    # NumPy itself is not stable where real parts are equal and one of the imaginary ones is missing.
    if array.dtype.kind != "c":
        assert np.array_equal(index, np.argsort(array, axis=axis, kind="stable"))
    flat = array.reshape(-1) if axis is None else array
    assert same(np.take_along_axis(flat, index, axis or 0 if axis is None else axis), in_order(flat, -1 if axis is None else axis))


@pytest.mark.parametrize("dtype", ["i4", "u8", "f8", "f2", "M8[s]", "S3"])
def test_descending_argsort_is_stable(dtype):
    array = filled(dtype, (500,), "few", np.random.default_rng(3))
    index = eagre.argsort(array, descending=True)
    assert same(array[index], eagre.sorted(array, descending=True))
    same_as_next = array[index][1:] == array[index][:-1]
    assert (np.diff(index)[same_as_next] > 0).all() and sorted(index) == list(range(500))


@given(st.integers(1, 3), st.integers(0, 60), st.integers(0, 1000))
@settings(max_examples=100, deadline=None)
def test_lexsort_is_that_of_numpy(count, length, seed):
    random = np.random.default_rng(seed)
    keys = [random.integers(0, 3, length).astype(dtype) for dtype in ["i2", "f8", "u4"][:count]]
    assert np.array_equal(eagre.lexsort(keys), np.lexsort(keys))
    tables = [random.integers(0, 3, (length, 4)) for _ in range(count)]
    assert np.array_equal(eagre.lexsort(tables, axis=0), np.lexsort(tables, axis=0))


@pytest.mark.parametrize("key", ["i4", "u8", "f8", "S5"])
@pytest.mark.parametrize("value", ["u1", "i8", "S3", [("a", "f8"), ("b", "i1")], "O"])
def test_values_move_with_their_keys(key, value):
    random = np.random.default_rng(4)
    keys, values = filled(key, (300,), "few", random), np.arange(300).astype("i8").astype("S3" if value == "S3" else "i8")
    values = np.zeros(300, value) if isinstance(value, list) else values.astype(value)
    order, before = np.argsort(keys, kind="stable"), (keys.copy(), values.copy())
    eagre.sort_pairs(keys, values)
    assert same(keys, before[0][order]) and (values == before[1][order]).all()
    assert bits(keys) == bits(before[0])


def test_what_is_refused_says_why():
    with pytest.raises(ValueError, match="one value for each key"):
        eagre.sort_pairs(np.arange(3), np.arange(4))
    with pytest.raises(TypeError, match="at least one"):
        eagre.lexsort([])
    with pytest.raises(ValueError, match="different shapes"):
        eagre.lexsort([np.arange(3), np.arange(4)])
    with pytest.raises(TypeError, match="objects"):
        eagre.argsort(np.array([1, None]))
