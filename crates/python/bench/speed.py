"""Times the package against its peers, in pairs, and prints a row a cell: Markdown, or JSON with ``--json``.

    python bench/speed.py [--quick] [--json] [--only NAME] [--rounds N] [--dtypes D ...] [--sizes N ...] [--library FILE]

In each round all contenders run one after the other, in another order each time, on fresh copies of the same input. A ratio is the
median over the rounds of a peer's time by ours: more than 1 is faster. Every result is compared with NumPy's.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import random
import statistics
import sys
import tempfile
import time

import numpy as np

import eagre

try:
    import polars
    import pyarrow
    import pyarrow.compute
except ImportError:
    polars = pyarrow = None


def timed(work, *arguments):
    """The seconds that a call takes, and its result."""
    start = time.perf_counter()
    result = work(*arguments)
    return time.perf_counter() - start, result


def cell(name, contenders, rounds, check):
    """Times contenders, each a function that prepares its input and returns the work on it."""
    times = {contender: [] for contender in contenders}
    order = list(contenders)
    for _ in range(rounds):
        random.shuffle(order)
        for contender in order:
            took, result = timed(contenders[contender]())
            times[contender].append(took)
            assert check(result), f"{name}: {contender}: wrong result"
    ratios = {
        peer: statistics.median(theirs / ours for theirs, ours in zip(times[peer], times["eagre"]))
        for peer in contenders
        if peer != "eagre"
    }
    return {"cell": name, "seconds": statistics.median(times["eagre"]), "ratios": ratios, "rounds": rounds}


def values(dtype, count):
    """Numbers that are uniform over their dtype; a hundredth of the floating-point ones is NaN."""
    source = np.random.default_rng(count)
    if np.dtype(dtype).kind == "f":
        numbers = source.standard_normal(count).astype(dtype)
        numbers[source.random(count) < 0.01] = np.nan
        return numbers
    if np.dtype(dtype).kind == "M":
        return source.integers(0, 2**60, count).view(dtype)
    kind = np.iinfo(dtype)
    return source.integers(kind.min, kind.max, count, dtype, endpoint=True)


# Keys of the C interface (``EagreKeyType``), for the calls of the library without Python around them.
KEYS = {"u4": 1, "i4": 2, "f4": 3, "u8": 4, "i8": 5, "f8": 6}


class Options(ctypes.Structure):
    """``EagreSortOptions``."""

    _fields_ = [(name, kind) for kind, names in [
        (ctypes.c_uint32, "size version threads flags"), (ctypes.c_uint64, "slack"), (ctypes.c_void_p, "progress context"),
    ] for name in names.split()]


def direct(library, dtype, threads):
    """What sorts an array as ``eagre.sort`` does, by a call of the library."""
    options = Options()
    library.eagre_sort_options_default(ctypes.byref(options), ctypes.c_size_t(ctypes.sizeof(options)))
    options.threads, options.flags = threads, 4  # EAGRE_NAN_LAST

    def sort(array):
        code = library.eagre_sort(ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(len(array)), KEYS[dtype], ctypes.byref(options))
        assert code == 0, code

    return sort


def sorts(dtypes, sizes, rounds, library):
    for dtype in dtypes:
        for size in sizes:
            for threads in [1, os.cpu_count()]:
                source = values(dtype, 1 << size)
                wanted = np.sort(source)
                # Small inputs many times: one call is below the clock's grain.
                times = max(1, (1 << 16) >> size)

                def in_place(sort):
                    copies = [source.copy() for _ in range(times)]

                    def work():
                        for copy in copies:
                            sort(copy)
                        return copies[0]

                    return work

                def copying(prepare, sort, back):
                    column = prepare(source)
                    return lambda: [back(sort(column)) for _ in range(times)][0]

                contenders = {
                    "eagre": lambda: in_place(lambda copy: eagre.sort(copy, threads=threads)),
                    "numpy": lambda: in_place(lambda copy: copy.sort()),
                }
                if library is not None and dtype in KEYS and size >= 14:
                    contenders["library"] = lambda: in_place(direct(library, dtype, threads))
                if polars is not None and size >= 14:
                    contenders["polars"] = lambda: copying(
                        lambda array: polars.Series(array, nan_to_null=False),
                        lambda series: series.sort(multithreaded=threads > 1),
                        lambda series: series.to_numpy(),
                    )
                if pyarrow is not None and 14 <= size < 27:  # it takes half a minute beyond, and is 30 to 50 times slower before
                    contenders["pyarrow"] = lambda: copying(
                        pyarrow.array,
                        lambda column: column.take(pyarrow.compute.sort_indices(column)),
                        lambda column: column.to_numpy(zero_copy_only=False),
                    )
                equal = lambda result: np.array_equal(result.astype(dtype), wanted, equal_nan=np.dtype(dtype).kind in "fM")
                yield cell(f"sort {dtype} 2^{size}, {threads} threads", contenders, rounds, equal)


def orders(size, rounds):
    source = values("u8", 1 << size)
    wanted = np.argsort(source, kind="stable")
    contenders = {
        "eagre": lambda: lambda: eagre.argsort(source, threads=1),
        "numpy": lambda: lambda: np.argsort(source),
        "numpy, stable": lambda: lambda: np.argsort(source, kind="stable"),
    }
    yield cell(f"argsort u8 2^{size}, 1 thread", contenders, rounds, lambda result: np.array_equal(source[result], source[wanted]))


def calls(rounds):
    source = values("u8", 64)
    wanted, times = np.sort(source), 10_000

    def repeated(sort):
        copies = list(np.tile(source, (times, 1)))

        def work():
            for copy in copies:
                sort(copy)
            return copies[0]

        return work

    contenders = {
        "eagre": lambda: repeated(eagre.sort),
        "a.sort()": lambda: repeated(lambda copy: copy.sort()),
        "np.sort": lambda: repeated(np.sort),
    }
    yield cell(f"64 elements, {times} calls", contenders, rounds, lambda result: len(result) == len(wanted))


def sums(path, size, rounds):
    """Sums of a file: each contender with the file in the page cache, and with none of it."""
    np.arange(size // 8, dtype="u8").tofile(path)
    wanted = (size // 8) * (size // 8 - 1) // 2

    def fromfile():
        total = 0
        with open(path, "rb") as file:
            while len(chunk := np.fromfile(file, "u8", 1 << 18)):
                total += int(chunk.sum())
        return total

    contenders = {
        "eagre": lambda: sum(int(chunk.sum()) for chunk in eagre.open(path).chunks("u8")),
        "eagre array": lambda: int(eagre.open(path).array("u8").sum()),
        "np.memmap": lambda: int(np.memmap(path, "u8", "r").sum()),
        "np.fromfile": fromfile,
    }

    def from_state(work, cached):
        def prepare():
            with open(path, "rb") as file:
                if cached:
                    while file.read(1 << 20):
                        pass
                else:
                    os.fsync(file.fileno())
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            return work

        return prepare

    for state in ["cached", "cold"]:
        ways = {name: from_state(work, state == "cached") for name, work in contenders.items()}
        yield cell(f"sum of {size >> 20} MiB, {state}", ways, rounds, lambda total: total == wanted)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="small inputs, one round: only the answers")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", default="", help="sort, argsort, call or sum")
    parser.add_argument("--dtypes", nargs="+", default=["u8", "i8", "u4", "f8", "f4", "i2", "M8[us]"])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 14, 20, 24, 27], help="powers of two")
    parser.add_argument("--bytes", type=int, default=8 << 30, help="of the file that is summed")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", default=None, help="where the file of the sums is made")
    parser.add_argument("--library", type=ctypes.CDLL, help="libeagre.so, whose calls are timed beside the package's")
    asked = parser.parse_args()
    rounds = 1 if asked.quick else asked.rounds
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        groups = {
            "call": lambda: calls(rounds),
            "sort": lambda: sorts(asked.dtypes, [10, 14] if asked.quick else asked.sizes, rounds, asked.library),
            "argsort": lambda: orders(14 if asked.quick else 24, rounds),
            "sum": lambda: sums(os.path.join(folder, "numbers"), 16 << 20 if asked.quick else asked.bytes, rounds),
        }
        if not asked.json:
            print("| cell | eagre, ms | peer: ratio |\n|---|---|---|")
        for name, group in groups.items():
            for row in group() if asked.only in ("", name) else ():
                shown = ", ".join(f"{peer}: {ratio:.2f}" for peer, ratio in row["ratios"].items())
                print(json.dumps(row) if asked.json else f"| {row['cell']} | {row['seconds'] * 1e3:.3f} | {shown} |")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
