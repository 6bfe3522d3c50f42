"""Sorts on a cluster of three nodes, on this machine, against what Python finds; workers and nodes are killed meanwhile."""

import contextlib
import csv
import gzip
import io
import logging
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

import numpy as np
import pytest

import eagre

ray = pytest.importorskip("ray", reason="Ray is not installed: no sorts on a cluster")
import eagre.ray  # noqa: E402
from eagre.ray import _flight, _stopping  # noqa: E402
from eagre.ray._cluster import Cluster as Seen  # noqa: E402
from eagre.ray._files import Local  # noqa: E402

NODE = {"num_cpus": 1, "object_store_memory": 80 << 20, "memory": 1 << 30}
GENSORT = eagre.Records("fixed", record_size=100, keys="0:10")
PAIRS = eagre.Records("fixed", record_size=16, keys="0:8")


@pytest.fixture(scope="module")
def cluster():
    from ray.cluster_utils import Cluster

    # Names of sockets are long, and may not be longer than 107 bytes.
    with tempfile.TemporaryDirectory(prefix="r", dir="/tmp", ignore_cleanup_errors=True) as folder:
        os.environ["RAY_TMPDIR"] = folder
        cluster = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
        try:
            for _ in range(2):
                cluster.add_node(**NODE)
            ray.init(address=cluster.address, logging_level=logging.ERROR, log_to_driver=False)
            cluster.wait_for_nodes()
            yield cluster
        finally:
            ray.shutdown()
            cluster.shutdown()
            del os.environ["RAY_TMPDIR"]


def cut(data, size):
    return [data[at : at + size] for at in range(0, len(data), size)]


def whole(folder):
    """All bytes of an output, after a look at its manifest."""
    names = sorted(os.listdir(folder))
    assert names.pop(0) == eagre.ray.MANIFEST and all(name.startswith("part-") for name in names), names
    return b"".join((folder / name).read_bytes() for name in names)


def written(folder, files):
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return b"".join(files.values())


def zipf(count, seed=1):
    """Pairs of a key, the k-th most frequent of which comes in proportion to 1/k, and the number of the pair."""
    source = np.random.default_rng(seed)
    weights = np.cumsum(1 / np.arange(1, count + 1))
    ranks = np.searchsorted(weights, source.random(count) * weights[-1])
    # Frequent keys are anywhere among the others.
    keys = source.permutation(count)[ranks]
    pairs = np.zeros(count, [("key", ">u8"), ("number", ">u8")])
    pairs["key"], pairs["number"] = keys, np.arange(count)
    return pairs.tobytes()


def workers(task):
    """The processes of this cluster that run a task of this name."""
    parents, found = {}, []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as stat, open(f"/proc/{pid}/cmdline") as line:
                parents[int(pid)] = int(stat.read().rpartition(")")[2].split()[1])
                if line.read().startswith(f"ray::eagre {task}"):
                    found.append(int(pid))
        except (FileNotFoundError, ProcessLookupError):
            pass

    def is_ours(pid):
        while pid in parents:
            pid = parents[pid]
            if pid == os.getpid():
                return True
        return False

    return [pid for pid in found if is_ours(pid)]


def memory_of(pid):
    """Memory of a process that it does not share."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    found = re.search(r"RssAnon:\s+(\d+) kB", status)
    return int(found[1]) << 10 if found else 0


@dataclass(frozen=True)
class Deadly(Local):
    """Local files. Some reads and writes kill the worker that does them, each once: before it reads, or when it has written some."""

    graves: str = ""
    seed: int = 0

    def die(self, what):
        if random.Random(f"{self.seed} {what}").random() < 0.3:
            try:
                os.close(os.open(f"{self.graves}/{what}", os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return
            os.kill(os.getpid(), signal.SIGKILL)

    def read(self, path, offset, length):
        self.die(f"read {os.path.basename(path)} {offset}")
        return super().read(path, offset, length)

    @contextlib.contextmanager
    def write(self, path, token):
        with super().write(path, token) as put:

            def put_or_die(data):
                put(data)
                if "part-" in path:
                    self.die(f"write {os.path.basename(path)}")

            yield put_or_die


def test_records_of_the_benchmark(cluster, tmp_path):
    phases = []
    assert eagre.ray.generate(tmp_path / "in", 50_000, files=5) == 5_000_000
    data = b"".join(path.read_bytes() for path in sorted((tmp_path / "in").iterdir()))
    assert data == eagre.generate(None, 50_000).tobytes()
    done = eagre.ray.sort(
        tmp_path / "in", tmp_path / "out", format="gensort", parts=7, progress=lambda *now: phases.append(now)
    )
    assert whole(tmp_path / "out") == b"".join(sorted(cut(data, 100), key=lambda record: record[:10]))
    assert (done.records, done.bytes, len(done.parts)) == (50_000, 5_000_000, 7) and done.balance < 1.3
    assert {phase for phase, *_ in phases} >= {"sample", "map", "reduce"} and phases[-1] == ("reduce", 7, 7)
    found = eagre.ray.check(tmp_path / "out", format="gensort", against=tmp_path / "in")
    assert found.is_right and found.same and (found.records, found.unordered) == (50_000, 0)
    uniform = eagre.ray.sort(
        tmp_path / "in", tmp_path / "uniform", format="gensort", descending=True, boundaries="uniform", parts=4
    )
    assert whole(tmp_path / "uniform") == b"".join(sorted(cut(data, 100), key=lambda record: record[:10], reverse=True))
    assert uniform.balance < 1.1


@pytest.mark.parametrize("descending", [False, True])
def test_frequent_keys_make_no_part_too_large_and_keep_their_order(cluster, tmp_path, descending):
    data = written(tmp_path / "in", {"a": zipf(60_000), "b": zipf(60_000, seed=2)})
    done = eagre.ray.sort(tmp_path / "in", tmp_path / "out", format=PAIRS, descending=descending, parts=9)
    wanted = sorted(cut(data, 16), key=lambda pair: pair[:8], reverse=descending)
    assert whole(tmp_path / "out") == b"".join(wanted) and done.balance <= 1.3


def test_one_key_is_cut_into_parts(cluster, tmp_path):
    pairs = np.zeros(100_000, [("key", ">u8"), ("number", ">u8")])
    pairs["number"] = np.random.default_rng(1).integers(0, 1 << 60, 100_000)
    written(tmp_path / "in", {"a": pairs.tobytes()})
    done = eagre.ray.sort(tmp_path / "in", tmp_path / "out", format=PAIRS, parts=5)
    assert whole(tmp_path / "out") == pairs.tobytes() and done.balance <= 1.3
    assert eagre.ray.check(tmp_path / "out", format=PAIRS, against=[tmp_path / "in" / "a"]).is_right


def test_many_pieces_are_merged_first(cluster, tmp_path):
    data = written(tmp_path / "in", {"a": zipf(300_000)})
    plans = []
    done = eagre.ray.sort(
        tmp_path / "in", tmp_path / "out", format=PAIRS, piece=64 << 10, parts=8, explain=lambda plan: plans.append(plan)
    )
    assert whole(tmp_path / "out") == b"".join(sorted(cut(data, 16), key=lambda pair: pair[:8]))
    assert done.plan.merges >= 4 and done.balance <= 1.3
    assert plans == [done.plan] and "merge: " in done.plan.explain() and f"reduce: {len(done.parts)}" in done.plan.explain()


def test_lines(cluster, tmp_path):
    source = random.Random(4)
    words = [b"%d" % source.randrange(1000) for _ in range(20_000)] + [b"", b"", b"x" * 300_000, b"y" * 70_000]
    source.shuffle(words)
    files = {"a": b"\n".join(words[:9000]) + b"\n", "b": b"", "c": b"\n", "d": b"\n".join(words[9000:]), "_e": b"no\n"}
    written(tmp_path / "in", files)
    # Lines begin in a piece, end in the next, or are longer than one.
    eagre.ray.sort(tmp_path / "in", tmp_path / "out", piece=10_000, parts=3)
    assert whole(tmp_path / "out").split(b"\n")[:-1] == sorted([*words, b""])
    numeric = eagre.Records("text", keys="1,1", options="nr")
    eagre.ray.sort([tmp_path / "in" / "a", tmp_path / "in" / "d"], tmp_path / "numeric", format=numeric, parts=4)
    value = lambda word: (int(word) if word.isdigit() else 0, word)
    assert whole(tmp_path / "numeric").split(b"\n")[:-1] == sorted(words, key=value, reverse=True)
    assert eagre.ray.check(tmp_path / "numeric", format=numeric).is_right
    assert not eagre.ray.check(tmp_path / "numeric").is_right


def test_csv_and_keys_with_values(cluster, tmp_path):
    source = random.Random(5)
    rows = [[f"row {number}", f"{source.randrange(100)}", "a\nb, \"c\""[: source.randrange(8)]] for number in range(3000)]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    written(tmp_path / "in", {"a": text.getvalue().encode(), "b": b"last,7,\n"})
    records = eagre.Records("csv", keys=["2,2n", "1,1"], separator=",")
    eagre.ray.sort(tmp_path / "in", tmp_path / "out", format=records, parts=4)
    found = list(csv.reader(io.StringIO(whole(tmp_path / "out").decode(), newline="")))
    assert found == sorted([*rows, ["last", "7", ""]], key=lambda row: (int(row[1]), row[0]))
    # A key with options of its own is not reversed, as in GNU sort.
    eagre.ray.sort(tmp_path / "in", tmp_path / "down", format=records, descending=True, parts=3)
    found = list(csv.reader(io.StringIO(whole(tmp_path / "down").decode(), newline="")))
    by_name = sorted([*rows, ["last", "7", ""]], key=lambda row: row[0], reverse=True)
    assert found == sorted(by_name, key=lambda row: int(row[1]))
    assert eagre.ray.check(tmp_path / "down", format=records, descending=True, against=tmp_path / "in").is_right
    values = [source.randbytes(2) + bytes([size]) + bytes(size) for size in [source.randrange(90) for _ in range(2000)]]
    written(tmp_path / "klv", {"a": b"".join(values[:1500]), "b": b"".join(values[1500:])})
    eagre.ray.sort(tmp_path / "klv", tmp_path / "sorted", format=eagre.Records("klv", klv="2:1"), parts=3)
    assert whole(tmp_path / "sorted") == b"".join(sorted(values, key=lambda value: value[:2]))


def packed(codec, data):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed: no compressed files")
    out = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(out, codec) as stream:
        stream.write(data)
        stream.flush()
    return out.getvalue().to_pybytes()


def test_compressed_files(cluster, tmp_path):
    pairs = zipf(90_000)
    parts = [pairs[:500_000], pairs[500_000:800_000], pairs[800_000:]]
    # Two members in a row are one file.
    files = {"a.gz": gzip.compress(parts[0][:1000]) + gzip.compress(parts[0][1000:]), "b": parts[1]}
    files |= {"c.zst": packed("zstd", parts[2]), "d.lz4": packed("lz4", parts[1]), "e.gz": gzip.compress(b""), "f.gz": b""}
    written(tmp_path / "in", files)
    done = eagre.ray.sort(tmp_path / "in", tmp_path / "out", format=PAIRS, parts=5)
    wanted = sorted(cut(pairs + parts[1], 16), key=lambda pair: pair[:8])
    assert whole(tmp_path / "out") == b"".join(wanted) and done.balance <= 1.3 and done.bytes == len(pairs + parts[1])
    assert eagre.ray.check(tmp_path / "out", format=PAIRS, against=tmp_path / "in").is_right
    written(tmp_path / "lines", {"a.gz": gzip.compress(b"b\nc"), "b": b"a\n"})
    eagre.ray.sort(tmp_path / "lines", tmp_path / "sorted", parts=1)
    assert whole(tmp_path / "sorted") == b"a\nb\nc\n"


def test_compressed_files_are_as_many_records_as_they_hold(cluster, tmp_path):
    small, large = (np.zeros(60_000, [("key", ">u8"), ("number", ">u8")]) for _ in range(2))
    small["key"], large["key"] = np.arange(60_000) // 4, np.random.default_rng(1).integers(1 << 60, 1 << 61, 60_000)
    packed = gzip.compress(small.tobytes())
    assert len(packed) * 10 < small.nbytes
    written(tmp_path / "in", {"a.gz": packed, "b": large.tobytes()})
    done = eagre.ray.sort(tmp_path / "in", tmp_path / "out", format=PAIRS, parts=6)
    assert whole(tmp_path / "out") == small.tobytes() + b"".join(sorted(cut(large.tobytes(), 16))) and done.balance <= 1.3


def test_compressed_files_that_are_damaged_or_too_large(cluster, tmp_path):
    good = gzip.compress(random.Random(1).randbytes(5000))
    for name, data in [("cut", good[:-9]), ("other", b"no gzip at all"), ("flipped", good[:2000] + b"\0\1\2" + good[2003:])]:
        written(tmp_path / name, {"a.gz": data})
        with pytest.raises(eagre.ray.BadRecord, match=f"read: {tmp_path}/{name}/a.gz: at byte 0: it cannot be expanded as gzip: "):
            eagre.ray.sort(tmp_path / name, tmp_path / "out")
    written(tmp_path / "large", {"a.gz": gzip.compress(bytes(40 << 20))})
    with pytest.raises(ValueError, match="large/a.gz: it expands to more than .* use smaller files, or give more memory"):
        eagre.ray.sort(tmp_path / "large", tmp_path / "out", format="gensort", memory=64 << 20)
    written(tmp_path / "ragged", {"a.gz": gzip.compress(bytes(250))})
    with pytest.raises(eagre.ray.BadRecord, match="ragged/a.gz: at byte 200: "):
        eagre.ray.sort(tmp_path / "ragged", tmp_path / "out", format="gensort")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("dtype", ["u8", "i4", "f4"])
def test_numbers(cluster, tmp_path, dtype):
    source = np.random.default_rng(6)
    numbers = (source.standard_normal(200_000) * 2e8).astype("i8").astype(dtype)
    written(tmp_path / "in", {"a": numbers.tobytes()})
    records = eagre.Records("numbers", dtype=dtype)
    done = eagre.ray.sort(tmp_path / "in", tmp_path / "out", format=records, descending=True, parts=4)
    assert np.array_equal(np.frombuffer(whole(tmp_path / "out"), dtype), np.sort(numbers)[::-1]) and done.balance <= 1.3


def test_little_or_nothing(cluster, tmp_path):
    for number, data in enumerate([b"", b"b\na\n", b"x"]):
        written(tmp_path / f"in{number}", {"a": data})
        done = eagre.ray.sort(tmp_path / f"in{number}", tmp_path / f"out{number}", parts=5)
        assert whole(tmp_path / f"out{number}").split() == sorted(data.split())
        assert eagre.ray.check(tmp_path / f"out{number}", against=tmp_path / f"in{number}").is_right and done.balance >= 1
    given = eagre.ray.sort(tmp_path / "in1", tmp_path / "given", boundaries=[b"aa"])
    assert [part.records for part in given.parts] == [1, 1] and given.parts[0].first == b"a"


# EAGRE_LONG=1 for as many times as take minutes.
TIMES = range(20) if os.environ.get("EAGRE_LONG") else range(2)


@pytest.mark.parametrize("seed", TIMES)
def test_killed_workers_change_nothing(cluster, tmp_path, monkeypatch, seed):
    eagre.ray.generate(tmp_path / "in", 50_000, files=3)
    data = b"".join(path.read_bytes() for path in sorted((tmp_path / "in").iterdir()))
    (tmp_path / "graves").mkdir()
    # Workers cannot import this file.
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    monkeypatch.setattr(
        eagre.ray._sorting, "files_of", lambda path, _: (Deadly(graves=str(tmp_path / "graves"), seed=seed), str(path))
    )
    eagre.ray.sort(tmp_path / "in", tmp_path / "out", format="gensort", piece=400_000, parts=6, boundaries="uniform")
    assert whole(tmp_path / "out") == b"".join(sorted(cut(data, 100), key=lambda record: record[:10]))
    died = os.listdir(tmp_path / "graves")
    assert died and not [name for name in os.listdir(tmp_path / "out") if name.startswith(".")]


@pytest.mark.parametrize("turn", TIMES)
def test_a_killed_node_changes_nothing(cluster, tmp_path, turn):
    eagre.ray.generate(tmp_path / "in", 300_000)
    data = b"".join(path.read_bytes() for path in sorted((tmp_path / "in").iterdir()))
    victims = [cluster.add_node(**NODE), cluster.add_node(**NODE)]
    cluster.wait_for_nodes()
    seen = []

    def kill(phase, done, total):
        for number, (at, share) in enumerate([("map", 0.5), ("reduce", 0.3)]):
            if phase == at and done >= share * total and number not in seen:
                seen.append(number)
                cluster.remove_node(victims[number], allow_graceful=False)

    eagre.ray.sort(tmp_path / "in", tmp_path / "out", format="gensort", piece=1 << 20, parts=10, progress=kill)
    assert seen == [0, 1]
    # What follows counts on three nodes.
    deadline = time.monotonic() + 60
    while Seen.now().nodes > 3:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert whole(tmp_path / "out") == b"".join(sorted(cut(data, 100), key=lambda record: record[:10]))


def test_more_than_the_memory_for_objects(cluster, tmp_path):
    eagre.ray.generate(tmp_path / "in", 3_000_000)
    spilled, own = set(), set()

    def look(phase, done, total):
        # Objects are in shared memory; the rest is the task's, and that of a Python with Ray.
        own.update(memory_of(pid) for pid in workers(""))
        spilled.update(pathlib.Path(os.environ["RAY_TMPDIR"]).glob("*/ray_spilled_objects*/*"))
        spilled.update(pathlib.Path(os.environ["RAY_TMPDIR"]).glob("*/*/ray_spilled_objects*/*"))

    done = eagre.ray.sort(tmp_path / "in", tmp_path / "out", format="gensort", progress=look)
    assert done.bytes > done.plan.cluster.store and spilled and max(own, default=0) < 300 << 20
    assert eagre.ray.check(tmp_path / "out", format="gensort", against=tmp_path / "in").is_right


@pytest.mark.parametrize("phase", ["sample", "map", "reduce"])
def test_an_interrupted_sort_leaves_nothing(cluster, tmp_path, phase):
    written(tmp_path / "in", {"a": zipf(200_000)})

    def interrupt(now, done, total):
        if now == phase and done > 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        eagre.ray.sort(tmp_path / "in", tmp_path / "out", format=PAIRS, piece=256 << 10, parts=8, progress=interrupt)
    assert os.listdir(tmp_path) == ["in"]


def until_told():
    while True:
        _stopping.look()
        time.sleep(0.01)


def test_tasks_are_told_to_end(cluster):
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    flight = _flight.Flight(4, lambda number, result: None)
    flight.start(0, until_told, "waits", 1 << 20)
    (task,) = flight._tasks
    _flight.stop([flight])
    with pytest.raises(_stopping.Stopped):
        ray.get(task)


def test_a_bad_record_is_told_once(cluster, tmp_path):
    written(tmp_path / "in", {"a": b"x,1\n", "b": b'y,2\nz,"3\nw,4\n'})
    with pytest.raises(eagre.ray.BadRecord, match=f"read: {tmp_path}/in/b: at byte 4: .*quotes are not closed") as told:
        eagre.ray.sort(tmp_path / "in", tmp_path / "out", format=eagre.Records("csv", keys="1,1", separator=","), parts=1)
    assert (told.value.offset, told.value.file) == (4, str(tmp_path / "in" / "b"))
    written(tmp_path / "short", {"a": bytes(100), "b": bytes(250)})
    with pytest.raises(eagre.ray.BadRecord, match="short/b: at byte 200: .*50 bytes of 100"):
        eagre.ray.sort(tmp_path / "short", tmp_path / "out", format="gensort")
    with pytest.raises(ValueError, match="a file of the format csv is sorted by one task"):
        (tmp_path / "in" / "a").write_bytes(b"x,1\n" * 600_000)
        eagre.ray.sort(tmp_path / "in", tmp_path / "out", format=eagre.Records("csv"), memory=2 << 20)
    assert not (tmp_path / "out").exists()


def test_what_is_there_stays(cluster, tmp_path):
    written(tmp_path / "in", {"a": b"b\na\n"})
    sort = lambda **options: eagre.ray.sort(tmp_path / "in", tmp_path / "out", **options)
    sort()
    before = whole(tmp_path / "out")
    with pytest.raises(FileExistsError, match="use overwrite"):
        sort()
    # It fails before it writes: the old output stays.
    with pytest.raises(KeyError):
        sort(overwrite=True, progress=lambda phase, done, total: {}[phase])
    assert whole(tmp_path / "out") == before
    (tmp_path / "in" / "a").write_bytes(b"d\nc\n")
    sort(overwrite=True, parts=3)
    assert whole(tmp_path / "out") == b"c\nd\n"
    (tmp_path / "out" / "mine").write_bytes(b"")
    with pytest.raises(FileExistsError, match="mine is no part"):
        sort(overwrite=True)
    (tmp_path / "out" / "mine").unlink()
    with pytest.raises(FileNotFoundError, match="no such file"):
        eagre.ray.sort(tmp_path / "nothing", tmp_path / "other")
    with pytest.raises(ValueError, match="among the inputs"):
        eagre.ray.sort([tmp_path / "in", tmp_path / "out" / "part-00000"], tmp_path / "out", overwrite=True)
    with pytest.raises(ValueError, match="no node has more"):
        eagre.ray.sort(tmp_path / "in", tmp_path / "other", memory=1 << 50)


def test_a_check_finds_what_is_wrong(cluster, tmp_path):
    data = written(tmp_path / "in", {"a": zipf(20_000)})
    check = lambda **options: eagre.ray.check(tmp_path / "out", format=PAIRS, **options)
    eagre.ray.sort(tmp_path / "in", tmp_path / "out", format=PAIRS, parts=4)
    assert check(against=tmp_path / "in").is_right
    (tmp_path / "in" / "a").write_bytes(data[:-16] + bytes(16))
    found = check(against=tmp_path / "in")
    assert found.same is False and "other records than the input" in found.wrong[0]
    one, two = tmp_path / "out" / "part-00001", tmp_path / "out" / "part-00002"
    one.rename(tmp_path / "held"), two.rename(one), (tmp_path / "held").rename(two)
    found = check()
    assert found.unordered >= 1 and any("part-00001: it is not what was written" in line for line in found.wrong)
    two.unlink()
    assert any("part-00002: it is missing" in line for line in check().wrong)
    (tmp_path / "out" / eagre.ray.MANIFEST).unlink()
    with pytest.raises(FileNotFoundError, match="no manifest.json"):
        check()


def command(cluster, *arguments, **options):
    line = [sys.executable, "-m", "eagre.ray", arguments[0], "--address", cluster.address, *map(str, arguments[1:])]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def test_the_command(cluster, tmp_path):
    running = [command(cluster, "gen", 20_000, tmp_path / "in", "--files", 2, "--json")]
    assert '"bytes": 2000000' in running[0].communicate(timeout=120)[0]
    sort = command(cluster, "sort", "--gensort", "--explain", "--parts", 3, tmp_path / "in", tmp_path / "out")
    said = sort.communicate(timeout=120)[1]
    assert sort.returncode == 0 and "explain: reduce: 3 tasks" in said and "times the mean" in said
    check = command(cluster, "check", "--gensort", tmp_path / "out", "--against", tmp_path / "in")
    assert "same records: yes" in check.communicate(timeout=120)[0] and check.returncode == 0
    written(tmp_path / "rows", {"a": b"x,1\n" * 1000, "b": b'y,2\nz,"3\nw,4\n', "c": b"x,1\n"})
    bad = command(cluster, "sort", "--csv", "-t,", "-k2,2n", "--parts", 2, tmp_path / "rows", tmp_path / "bad")
    said = bad.communicate(timeout=120)[1]
    assert bad.returncode == 2 and said.startswith("eagre.ray: sort: read: ") and said.count("\n") == 1
    assert "rows/b: at byte 4: " in said and not (tmp_path / "bad").exists()


def test_a_signal_ends_the_command(cluster, tmp_path):
    written(tmp_path / "in", {"a": zipf(800_000)})
    sort = command(
        cluster, "sort", "--record", 16, "-k", "0:8", "--piece", "64K", "--explain", tmp_path / "in", tmp_path / "out"
    )
    while "reduce: " not in (line := sort.stderr.readline()):
        assert line, sort.wait(timeout=60)
    sort.send_signal(signal.SIGTERM)
    assert sort.communicate(timeout=120)[1] == "eagre.ray: sort: it was interrupted\n" and sort.returncode == 130
    assert os.listdir(tmp_path) == ["in"]


def test_files_of_a_server(cluster):
    server = pytest.importorskip("moto.server", reason="moto is not installed: no S3 server")
    fs = pytest.importorskip("pyarrow.fs", reason="pyarrow is not installed: no S3")
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    try:
        address = "127.0.0.1:{}".format(running.get_host_and_port()[1])
        keys = {"access_key": "test", "secret_key": "test", "region": "us-east-1"}
        store = fs.S3FileSystem(endpoint_override=address, scheme="http", allow_bucket_creation=True, **keys)
        store.create_dir("bucket")
        options = {"filesystem": store, "format": "gensort"}
        eagre.ray.generate("bucket/in", 20_000, files=3, filesystem=store)
        done = eagre.ray.sort("bucket/in", "bucket/out", parts=4, **options)
        names = [entry.base_name for entry in store.get_file_info(fs.FileSelector("bucket/out"))]
        assert sorted(names) == [eagre.ray.MANIFEST, *(f"part-{number:05d}" for number in range(4))]
        data = b"".join(store.open_input_file(f"bucket/out/part-{number:05d}").read() for number in range(4))
        records = sorted(cut(eagre.generate(None, 20_000).tobytes(), 100), key=lambda record: record[:10])
        assert data == b"".join(records) and done.balance < 1.3
        assert eagre.ray.check("bucket/out", against="bucket/in", **options).is_right
        with pytest.raises(FileExistsError):
            eagre.ray.sort("bucket/in", "bucket/out", **options)
        # An URL says the same.
        query = f"endpoint_override={address}&scheme=http&region=us-east-1"
        url = lambda path: f"s3://test:test@bucket/{path}?{query}"
        with store.open_output_stream("bucket/lines") as file:
            file.write(b"b\nc\na")
        eagre.ray.sort(url("lines"), url("sorted"), parts=1)
        assert store.open_input_file("bucket/sorted/part-00000").read() == b"a\nb\nc\n"

        def interrupt(phase, done, total):
            if phase == "reduce" and done:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            eagre.ray.sort("bucket/in", "bucket/none", parts=4, progress=interrupt, **options)
        assert [entry for entry in store.get_file_info(fs.FileSelector("bucket/none", allow_not_found=True)) if entry.is_file] == []
    finally:
        running.stop()


def test_files_of_fsspec(cluster, tmp_path):
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: no fsspec")
    data = written(tmp_path / "in", {"a": zipf(5000), "b": zipf(10)})
    local = fsspec.filesystem("file")
    eagre.ray.sort(str(tmp_path / "in"), str(tmp_path / "out"), format=PAIRS, parts=2, filesystem=local)
    assert whole(tmp_path / "out") == b"".join(sorted(cut(data, 16), key=lambda pair: pair[:8]))


@pytest.mark.parametrize("descending", [False, True])
def test_a_dataset(cluster, descending):
    data = pytest.importorskip("ray.data", reason="pandas or pyarrow is not installed: no Ray Data")
    source = random.Random(8)
    items = [
        {"number": source.choice([7, source.randrange(10**6)]), "name": f"n{source.randrange(50)}", "at": at, "real": source.random()}
        for at in range(20_000)
    ]
    dataset = data.from_items(items, override_num_blocks=6)
    for key in ["number", "name", "real", ["name", "number"], ["number", "at"]]:
        names = [key] if isinstance(key, str) else key
        done = eagre.ray.sort_dataset(dataset, key, descending=descending, parts=5).materialize()
        assert done.take_all() == sorted(items, key=lambda item: [item[name] for name in names], reverse=descending)
        sizes = [ray.get(block).num_rows for block in done.to_arrow_refs()]
        assert len(sizes) == 5 and max(sizes) <= 1.3 * 20_000 / 5
    with pytest.raises(ValueError, match="no column 'x'; there are"):
        eagre.ray.sort_dataset(dataset, "x")
    with pytest.raises(ValueError, match="null or NaN"):
        eagre.ray.sort_dataset(data.from_items([{"a": 1.0}, {"a": float("nan")}]), "a")


def test_the_examples_of_the_page(cluster, tmp_path, monkeypatch):
    here = pathlib.Path(__file__).resolve().parent
    pages = [here.parent / "ray.md", here.parent.parent.parent / "docs" / "ray.md"]
    page = next(page for page in pages if page.exists()).read_text()
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert len(examples) == 2
    pytest.importorskip("ray.data", reason="pandas or pyarrow is not installed: no Ray Data")
    scope = {"__name__": "page"}
    for example in examples:
        exec(compile(example, "ray.md", "exec"), scope)
