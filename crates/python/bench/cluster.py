"""Times sorts on a cluster against their peers, and prints a row for each: Markdown, or JSON with ``--json``.

    python bench/cluster.py [--quick] [--json] [--only NAME ...] [--rounds N] [--bytes N] [--nodes N] [--folder FOLDER]

The cluster has nodes of one processor, all on this machine, and is up before the clock starts. All contenders read the same files of
records of the sort benchmark, none of which is in the page cache, and write parts that are on the disk at the end. Every output is
checked: its order, and that it has the records of the input. ``--only kernels``, ``kill`` or the name of a contender.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import logging
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import ray

import eagre
import eagre.ray

GENSORT = eagre.Records("fixed", record_size=100, keys="0:10")
HERE = pathlib.Path(__file__).parent
MEMORY = 1 << 30


def keys_of(rows):
    """The first eight bytes of the keys, as numbers."""
    return np.ascontiguousarray(rows[:, :8]).view(">u8")[:, 0].astype("u8")


def read(path, offset, length):
    return np.fromfile(path, np.uint8, length, offset=offset).reshape(-1, 100)


def write(path, rows):
    with open(path, "wb") as file:
        file.write(np.ascontiguousarray(rows).data)
        os.fsync(file.fileno())


def pieces(folder, size):
    """Ranges of about one size of all files."""
    size = size // 100 * 100
    for path in sorted(pathlib.Path(folder).iterdir()):
        whole = path.stat().st_size
        for offset in range(0, whole, size):
            yield str(path), offset, min(size, whole - offset)


def summary(paths):
    """How many records there are, and a sum that does not depend on their order."""
    records = total = 0
    for path in paths:
        count, sum = eagre.checksum(np.fromfile(path, np.uint8), GENSORT)
        records, total = records + count, (total + sum) % 2**128
    return records, total


def is_sorted(folder, wanted):
    parts = sorted(path for path in pathlib.Path(folder).iterdir() if path.name.startswith("part-"))
    last = b""
    for part in parts:
        rows = np.memmap(part, np.uint8, "r").reshape(-1, 100) if part.stat().st_size else np.empty((0, 100), np.uint8)
        if len(rows):
            found = eagre.check_file(str(part), GENSORT)
            if not found.is_sorted or rows[0, :10].tobytes() < last:
                return False
            last = rows[-1, :10].tobytes()
    return summary(parts) == wanted


def by_eagre(given, out, asked):
    return eagre.ray.sort(given, out, format="gensort")


def by_numpy(given, out, asked):
    """The two stages of a shuffle, with NumPy's kernels."""
    size = min(MEMORY // 8, asked.bytes // (2 * asked.nodes))
    cut = list(pieces(given, size))
    parts = max(2 * asked.nodes, len(cut) // 2)
    bounds = np.array([(number << 64) // parts for number in range(1, parts)], "u8")

    @ray.remote(num_cpus=1, num_returns=parts)
    def sort_and_partition(path, offset, length):
        rows = read(path, offset, length)
        keys = keys_of(rows)
        order = np.argsort(keys)
        return tuple(np.split(rows[order], np.searchsorted(keys[order], bounds)))

    @ray.remote(num_cpus=1)
    def merge(path, *runs):
        rows = np.concatenate(runs)
        write(path, rows[np.argsort(keys_of(rows), kind="stable")])

    os.mkdir(out)
    runs = [sort_and_partition.remote(*piece) for piece in cut]
    names = [f"{out}/part-{number:05}" for number in range(parts)]
    ray.get([merge.remote(name, *[run[number] for run in runs]) for number, name in enumerate(names)])


def by_ray_data(given, out, asked):
    import pyarrow
    import ray.data

    def table(batch):
        rows = read(batch["path"][0], int(batch["offset"][0]), int(batch["length"][0]))
        whole = pyarrow.FixedSizeBinaryArray.from_buffers(pyarrow.binary(100), len(rows), [None, pyarrow.py_buffer(rows)])
        return pyarrow.table({"key": keys_of(rows), "row": whole})

    def put(part):
        if len(part):
            rows = part["row"].combine_chunks()
            data = np.frombuffer(rows.buffers()[1], np.uint8)[rows.offset * 100 :][: len(rows) * 100]
            write(f"{out}/part-{part['key'][0].as_py():020}", data)
        return {"rows": [len(part)]}

    os.mkdir(out)
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    ray.data.DataContext.get_current().enable_progress_bars = False
    items = [dict(zip(("path", "offset", "length"), piece)) for piece in pieces(given, 64 << 20)]
    dataset = ray.data.from_items(items, override_num_blocks=len(items)).map_batches(table, batch_size=1)
    dataset.sort("key").map_batches(put, batch_size=None, batch_format="pyarrow").materialize()


def by_dask(given, out, asked):
    import dask.dataframe
    import pandas
    import pyarrow

    def frame(piece):
        rows = read(*piece)
        whole = pyarrow.FixedSizeBinaryArray.from_buffers(pyarrow.binary(100), len(rows), [None, pyarrow.py_buffer(rows)])
        column = pandas.arrays.ArrowExtensionArray(whole.cast(pyarrow.binary()))
        return pandas.DataFrame({"key": keys_of(rows), "row": column})

    def put(part):
        if len(part):
            write(f"{out}/part-{part['key'].iloc[0]:020}", np.frombuffer(b"".join(part["row"]), np.uint8))
        return pandas.DataFrame({"rows": [len(part)]})

    os.mkdir(out)
    cut = list(pieces(given, 64 << 20))
    meta = frame((cut[0][0], 0, 100))
    whole = dask.dataframe.from_map(frame, cut, meta=meta)
    whole.sort_values("key").map_partitions(put, meta={"rows": "i8"}).compute()


def by_polars(given, out, asked):
    """One process, all in memory."""
    import polars
    import pyarrow

    os.mkdir(out)
    rows = np.concatenate([read(*piece) for piece in pieces(given, 1 << 40)])
    whole = pyarrow.FixedSizeBinaryArray.from_buffers(pyarrow.binary(100), len(rows), [None, pyarrow.py_buffer(rows)])
    frame = polars.DataFrame({"key": keys_of(rows), "row": polars.from_arrow(whole.cast(pyarrow.large_binary()))})
    ordered = frame.sort("key")["row"].to_arrow()
    write(f"{out}/part-0", np.frombuffer(ordered.buffers()[2], np.uint8))


def by_one_process(given, out, asked):
    """``eagre sort`` with the memory of all tasks."""
    os.mkdir(out)
    (source,) = pathlib.Path(given).iterdir()
    eagre.sort_file(source, f"{out}/part-0", GENSORT, memory=asked.nodes * MEMORY // 2, threads=asked.nodes)


CONTENDERS = {
    "eagre.ray": by_eagre,
    "eagre.sort_file": by_one_process,
    "NumPy in two stages": by_numpy,
    "ray.data": by_ray_data,
    "dask": by_dask,
    "polars": by_polars,
}


@contextlib.contextmanager
def cluster_of(nodes):
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": MEMORY, "memory": MEMORY}
    with tempfile.TemporaryDirectory(prefix="r", dir="/tmp", ignore_cleanup_errors=True) as folder:
        os.environ["RAY_TMPDIR"] = folder
        # The node of the caller does no work.
        head = {**node, "num_cpus": 0, "include_dashboard": False}
        cluster = Cluster(initialize_head=True, head_node_args=head)
        try:
            added = [cluster.add_node(**node) for _ in range(nodes)]
            ray.init(address=cluster.address, logging_level=logging.ERROR, log_to_driver=False)
            cluster.wait_for_nodes()
            yield cluster, added
        finally:
            ray.shutdown()
            cluster.shutdown()


def forget(folder):
    """Nothing of the files stays in the page cache."""
    for path in pathlib.Path(folder).iterdir():
        with open(path, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def once(sort, given, out, wanted, asked):
    forget(given)
    start = time.perf_counter()
    sort(given, out, asked)
    took = time.perf_counter() - start
    right = is_sorted(out, wanted)
    shutil.rmtree(out)
    assert right, "wrong result"
    return took


def ready(name, asked):
    """What has to be up before the clock starts."""
    if name != "dask":
        return contextlib.nullcontext()
    import distributed

    return distributed.Client(n_workers=asked.nodes, threads_per_worker=1, dashboard_address=None)


def sorts(given, room, wanted, names, asked):
    times = {name: [] for name in names}
    # The first round does not count: the memory that holds objects is new to the machine, and may cost more than the sort.
    for number in range(asked.rounds if asked.quick else asked.rounds + 1):
        order = list(names)
        random.shuffle(order)
        for name in order:
            with ready(name, asked):
                took = once(CONTENDERS[name], given, f"{room}/out", wanted, asked)
            if number or asked.quick:
                times[name].append(took)
    for name in names:
        ours = times.get("eagre.ray") or times[name]
        ratio = statistics.median(theirs / mine for theirs, mine in zip(times[name], ours))
        yield {"cell": f"{asked.bytes / 1e9:.2g} GB, {asked.nodes} nodes: {name}", "seconds": statistics.median(times[name]), "ratio": ratio}


def kills(given, room, wanted, asked):
    """Three nodes, one of which is killed when half of the parts are written."""
    times = {True: [], False: []}
    for number in range(asked.rounds):
        for killed in (False, True):
            with cluster_of(3) as (cluster, nodes):

                def look(phase, done, total, nodes=nodes, cluster=cluster):
                    if killed and len(nodes) == 3 and phase == "reduce" and 2 * done >= total:
                        cluster.remove_node(nodes.pop(), allow_graceful=False)

                def sort(given, out, asked, look=look):
                    eagre.ray.sort(given, out, format="gensort", progress=look)

                times[killed].append(once(sort, given, f"{room}/out", wanted, asked))
    ratio = statistics.median(with_kill / without for with_kill, without in zip(times[True], times[False]))
    yield {"cell": f"{asked.bytes / 1e9:.2g} GB, 3 nodes, one killed at half", "seconds": statistics.median(times[True]), "ratio": ratio}


def kernels(room, asked):
    """What a task computes: in memory, with one thread."""
    source = f"{room}/runs.so"
    subprocess.run(["g++", "-O3", "-march=native", "-shared", "-fPIC", "-o", source, HERE / "runs.cpp"], check=True)
    library = ctypes.CDLL(source)
    count, runs, cuts = (100_000 if asked.quick else 2_500_000), 16, 63
    rows = eagre.generate(None, count).reshape(-1, 100)
    cut = [((number << 64) // (cuts + 1)).to_bytes(8, "big") + b"\0\0" for number in range(1, cuts + 1)]
    bounds = np.frombuffer(b"".join(key + bytes(90) for key in cut), np.uint8)
    wanted = rows[np.lexsort((rows[:, 9], rows[:, 8], keys_of(rows)))]
    pointer = lambda array: ctypes.c_void_p(array.ctypes.data)

    def cpp(rows):
        starts = np.empty(cuts, "u8")
        library.sort_and_partition(pointer(rows), ctypes.c_size_t(count), pointer(bounds), ctypes.c_size_t(cuts), pointer(starts))
        return rows

    def numpy(rows):
        keys = keys_of(rows)
        order = np.argsort(keys)
        np.searchsorted(keys[order], [(number << 64) // (cuts + 1) for number in range(1, cuts + 1)])
        return rows[order]

    def ours(rows):
        return eagre.sort_and_partition(rows.reshape(-1), cut, GENSORT, threads=1)[0].reshape(-1, 100)

    ways = {"eagre": ours, "C++, std::sort": cpp, "NumPy": numpy}
    yield from kernel("sort_and_partition", ways, lambda: (rows.copy(),), wanted, asked)

    sorted_runs = [run[np.lexsort((run[:, 9], run[:, 8], keys_of(run)))] for run in np.array_split(rows, runs)]
    ends = np.cumsum([len(run) for run in sorted_runs]).astype("u8")
    together = np.concatenate(sorted_runs)

    def cpp_merge(rows):
        out = np.empty_like(rows)
        library.merge(pointer(rows), pointer(ends), ctypes.c_size_t(runs), pointer(out))
        return out

    def our_merge(rows):
        out = np.empty(rows.size, np.uint8)
        with eagre.merge([run.reshape(-1) for run in np.split(rows, ends[:-1].astype("i8"))], None, GENSORT) as reader:
            done = 0
            while done < out.nbytes and (now := reader.readinto(out.data[done:])):
                done += now
        return out.reshape(-1, 100)

    def numpy_merge(rows):
        return rows[np.argsort(keys_of(rows), kind="stable")]

    ways = {"eagre": our_merge, "C++, priority_queue": cpp_merge, "NumPy": numpy_merge}
    yield from kernel(f"merge of {runs}", ways, lambda: (together,), wanted, asked)


def kernel(what, ways, prepare, wanted, asked):
    times = {name: [] for name in ways}
    for _ in range(asked.rounds):
        for name, work in random.sample(list(ways.items()), len(ways)):
            given = prepare()
            start = time.perf_counter()
            result = work(*given)
            times[name].append(time.perf_counter() - start)
            assert np.array_equal(result[:, :10], wanted[:, :10]), f"{what}: {name}: wrong result"
    for name, took in times.items():
        ratio = statistics.median(theirs / ours for theirs, ours in zip(took, times["eagre"]))
        yield {"cell": f"{what}, {wanted.nbytes / 1e6:.0f} MB: {name}", "seconds": statistics.median(took), "ratio": ratio}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="small inputs, one round: only the answers")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", nargs="+", default=[], help="kernels, kill, or contenders: " + ", ".join(CONTENDERS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bytes", type=int, default=2_000_000_000)
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--folder", default="/var/tmp", help="where input and output are: on the disk that is measured")
    asked = parser.parse_args()
    if asked.quick:
        asked.rounds, asked.bytes = 1, 5_000_000
    names = [name for name in CONTENDERS if not asked.only or name in asked.only]

    def show(row):
        text = f"| {row['cell']} | {row['seconds']:.3f} | {row['ratio']:.2f} |"
        print(json.dumps(row) if asked.json else text)
        sys.stdout.flush()

    if not asked.json:
        print("| cell | s | time by ours |\n|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="eagre-", dir=asked.folder) as room:
        if not asked.only or "kernels" in asked.only:
            for row in kernels(room, asked):
                show(row)
        given = f"{room}/in"
        if names or "kill" in asked.only:
            with cluster_of(asked.nodes):
                eagre.ray.generate(given, asked.bytes // 100, files=1)
                wanted = summary(sorted(pathlib.Path(given).iterdir()))
                for row in sorts(given, room, wanted, names, asked) if names else ():
                    show(row)
        if not asked.only or "kill" in asked.only:
            for row in kills(given, room, wanted, asked):
                show(row)


if __name__ == "__main__":
    main()
