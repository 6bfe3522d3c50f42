"""Arrays of every dtype, layout and pattern, and what two arrays have in common."""

import numpy as np
from hypothesis import strategies as st

INTEGERS = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
FLOATS = ["f2", "f4", "f8"]
TIMES = ["M8[s]", "m8[ns]"]
COMPLEX = ["c8", "c16"]
BYTES = [f"S{width}" for width in range(1, 17)]
STRUCTURES = [
    [("key", "f4"), ("value", "i2")],
    [("name", "S5"), ("at", "<M8[s]"), ("inner", [("re", "f8"), ("id", ">u2")])],
]
PLAIN = INTEGERS + FLOATS + TIMES + COMPLEX + BYTES


def filled(dtype, shape, pattern, random):
    """An array of random bytes, made into a pattern; every dtype takes all bytes, so NaN of all kinds are among them."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape))
    flat = np.frombuffer(random.bytes(count * dtype.itemsize), np.uint8).copy()
    if dtype == bool:
        flat &= 1
    array = flat.view(dtype)
    if pattern == "few" and count:
        array = array[random.integers(0, min(count, 5), count)]
    elif pattern == "small" and dtype.kind in "iufcmM":
        values = random.integers(-2, 3, (2, count))
        array = values[0].astype("i8").astype(dtype) if dtype.kind != "c" else (values[0] + 1j * values[1]).astype(dtype)
        if dtype.kind in "fc":
            array[random.random(count) < 0.2] *= -1  # zeros of both signs
            array[random.random(count) < 0.2] = np.nan
            array[random.random(count) < 0.1] = -np.nan
            array[random.random(count) < 0.1] = np.inf
        if dtype.kind == "c":
            array.real[random.random(count) < 0.1] = np.nan
            array.imag[random.random(count) < 0.1] = np.nan
        if dtype.kind in "mM":
            array[random.random(count) < 0.2] = "NaT"
    elif pattern == "sorted" and dtype.names is None:
        array = in_order(array)
    elif pattern == "reversed" and dtype.names is None:
        array = in_order(array)[::-1]
    return np.ascontiguousarray(array).reshape(shape)


def in_order(array, axis=-1):
    """What ``np.sort`` should return: by comparisons, for the vectors of NumPy 2.4 lose elements of float16 on some processors."""
    return np.sort(array, axis=axis, kind="stable")


def wider(array):
    """Half-precision numbers as single-precision ones, for what NumPy sorts by vectors without being asked."""
    return array.astype("f4") if array.dtype.kind == "f" and array.dtype.itemsize == 2 else array


def laid_out(array, layout, swap):
    """The same elements, in another layout of memory."""
    if swap:
        array = array.astype(array.dtype.newbyteorder("S"))
    if layout == "fortran":
        return np.asfortranarray(array)
    if layout == "strided":
        room = np.zeros((*array.shape[:-1], 3 * array.shape[-1] + 1), array.dtype)
        view = room[..., 1::3][..., : array.shape[-1]]
        view[...] = array
        return view
    if layout == "negative":
        return array[..., ::-1]
    if layout == "unaligned":
        room = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
        room[...] = array
        return room
    return array


@st.composite
def arrays(draw, dtypes=PLAIN, max_dims=3, max_side=200):
    dims = draw(st.integers(1, max_dims))
    shape = tuple(draw(st.integers(0, max_side if dims == 1 else 12)) for _ in range(dims))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    array = filled(draw(st.sampled_from(dtypes)), shape, draw(st.sampled_from(["random", "few", "small", "sorted", "reversed"])), random)
    return laid_out(array, draw(st.sampled_from(["plain", "fortran", "strided", "negative", "unaligned"])), draw(st.booleans()))


def bits(array):
    """The elements as byte strings in order: what must be the same before and after."""
    whole = np.ascontiguousarray(array).reshape(-1)
    return sorted(whole.view(f"V{whole.dtype.itemsize}").tolist())


def same(one, two):
    """Whether two arrays are equal, NaN and NaT where the other has them."""
    if one.dtype.names is not None:
        return one.shape == two.shape and all(same(one[name], two[name]) for name in one.dtype.names)
    return np.array_equal(one, two, equal_nan=one.dtype.kind in "fcmM")
