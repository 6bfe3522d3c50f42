"""``partition``, ``top_k``, ``unique``: what NumPy promises of them."""

import numpy as np
import pytest
from arrays import COMPLEX, FLOATS, INTEGERS, PLAIN, TIMES, arrays, bits, in_order, same, wider
from hypothesis import given, settings
from hypothesis import strategies as st

import eagre


@given(arrays(), st.data())
@settings(max_examples=300, deadline=None)
def test_partition_keeps_the_promise_of_numpy(array, data):
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    if array.shape[axis] == 0:
        with pytest.raises(ValueError, match="outside of an axis of 0 elements"):
            eagre.partition(array, 0, axis)
        return
    kth = data.draw(st.integers(-array.shape[axis], array.shape[axis] - 1))
    wanted, before = in_order(array, axis), bits(array)
    eagre.partition(array, kth, axis)
    rows, wanted = np.moveaxis(array, axis, -1), np.moveaxis(wanted, axis, -1)
    kth %= rows.shape[-1]
    assert same(rows[..., : kth + 1], wanted[..., : kth + 1]) and bits(array) == before
    assert same(eagre.sorted(rows), wanted)


@given(arrays(), st.data())
@settings(max_examples=300, deadline=None)
def test_top_k_is_the_front_of_a_sort(array, data):
    axis, k, largest = data.draw(st.integers(-array.ndim, array.ndim - 1)), data.draw(st.integers(0, 70)), data.draw(st.booleans())
    before = array.copy()
    wanted = np.moveaxis(np.moveaxis(eagre.sorted(array, axis, descending=largest), axis, -1)[..., :k], -1, axis)
    assert same(eagre.top_k(array, k, axis, largest), wanted)
    assert array.tobytes() == before.tobytes()


@pytest.mark.parametrize("dtype", ["u8", "f8", "f4", "i4", "M8[s]"])
@pytest.mark.parametrize("k", [1, 100, 150_000])
def test_top_k_of_many(dtype, k):
    array = np.frombuffer(np.random.default_rng(6).bytes(200_000 * np.dtype(dtype).itemsize), dtype)
    assert same(eagre.top_k(array, k, largest=False), np.sort(array)[:k])
    assert same(eagre.top_k(array, k), eagre.sorted(array, descending=True)[:k])


@given(arrays(dtypes=[dtype for dtype in PLAIN if dtype not in COMPLEX]), st.booleans(), st.booleans(), st.booleans())
@settings(max_examples=300, deadline=None)
def test_unique_is_that_of_numpy(array, index, inverse, counts):
    ours, theirs = eagre.unique(array, index, inverse, counts), np.unique(wider(array), index, inverse, counts)
    ours, theirs = (each if isinstance(each, tuple) else (each,) for each in (ours, theirs))
    assert len(ours) == len(theirs) and all(same(one, two) for one, two in zip(ours, theirs))


def test_what_is_refused_says_why():
    with pytest.raises(ValueError, match="0 or more"):
        eagre.top_k(np.arange(3), -1)
    with pytest.raises(ValueError, match="outside"):
        eagre.partition(np.arange(3), 3)
    with pytest.raises(TypeError, match="structures"):
        eagre.top_k(np.zeros(3, [("a", "i4")]), 1)
    with pytest.raises(TypeError, match="no order"):
        eagre.top_k(np.zeros(3, "U3"), 1)
    with pytest.raises(ValueError, match="read-only"):
        eagre.partition(np.broadcast_to(np.arange(3), (2, 3)), 1)


def test_few_of_every_dtype():
    for dtype in INTEGERS + FLOATS + TIMES:
        array = np.array([3, 1, 2, 1]).astype(dtype)
        assert same(eagre.unique(array), np.unique(wider(array)))
