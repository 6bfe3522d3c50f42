"""What a process may rely on: imports, signals, forks, fault handlers, thread pools."""

import concurrent.futures
import multiprocessing
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import eagre


def run(code, *arguments):
    """Runs Python code in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done


def test_import_starts_no_thread_and_installs_no_handler():
    run(
        """
        import os, numpy
        def caught(): return next(line for line in open("/proc/self/status") if line.startswith("SigCgt"))
        threads, before = len(os.listdir("/proc/self/task")), caught()
        import eagre
        assert caught() == before and len(os.listdir("/proc/self/task")) == threads
        array = numpy.arange(1000)[::-1].copy()
        eagre.sort(array)
        assert caught() == before and len(os.listdir("/proc/self/task")) == threads
        """
    )


@pytest.mark.parametrize("call", ["sort", "argsort", "top_k", "sort_rows", "strided"])
def test_an_exception_of_progress_ends_a_sort(call):
    array = np.random.default_rng(1).integers(0, 2**62, 4_000_000)
    before = np.sort(array)

    def stop(done, total):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        if call == "sort":
            eagre.sort(array, progress=stop)
        elif call == "argsort":
            eagre.argsort(array, progress=stop)
        elif call == "top_k":
            eagre.top_k(array, 10, progress=stop)
        elif call == "sort_rows":
            eagre.sort(array.reshape(2000, 2000), progress=stop)
        else:
            eagre.sort(array[::2], progress=stop)
    assert np.array_equal(np.sort(array), before)


def test_a_signal_ends_a_sort_and_loses_nothing(tmp_path):
    run(
        """
        import os, signal, numpy, eagre
        # A job in the background of a script begins with SIGINT ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        array = numpy.random.default_rng(1).integers(0, 2**62, 30_000_000)
        total = array.sum()
        sent = []
        def send(done, total):
            sent.append(done)
            os.kill(os.getpid(), signal.SIGINT)
        try:
            eagre.sort(array, threads=1, progress=send)
            raise SystemExit(f"not interrupted, at {sent}")
        except KeyboardInterrupt:
            assert array.sum() == total
            eagre.sort(array)
            assert (array[1:] >= array[:-1]).all()
        """
    )


def test_an_exception_of_progress_ends_questions(tmp_path):
    (tmp_path / "file").write_bytes(b"key;1\n" * 1_000_000)

    def stop(done, total):
        raise KeyError("enough")

    for call in [
        lambda: eagre.count(tmp_path / "file", progress=stop),
        lambda: eagre.find(tmp_path / "file", "key", progress=stop),
        lambda: eagre.find_all(tmp_path / "file", "key", progress=stop),
        lambda: eagre.stats(tmp_path / "file", progress=stop),
        lambda: eagre.sort_file(tmp_path / "file", tmp_path / "sorted", progress=stop),
    ]:
        with pytest.raises(KeyError, match="enough"):
            call()


def sort_in_child(path):
    """What a child does: sort, and read a file by each way."""
    array = np.arange(100_000)[::-1].copy()
    eagre.sort(array)
    with eagre.open(path) as file:
        whole = file.array("u8")
        return bool((np.diff(array) >= 0).all()), int(whole.sum()), sum(int(chunk.sum()) for chunk in file.chunks("u8"))


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_children(tmp_path, way):
    np.arange(1_000_000, dtype="u8").tofile(tmp_path / "file")
    total = sum(range(1_000_000))
    # The parent has a stream, an array and a handler already.
    with eagre.open(tmp_path / "file") as file:
        assert int(file.array("u8").sum()) == total and file.read(8) == bytes(8)
        with multiprocessing.get_context(way).Pool(2) as pool:
            assert pool.map(sort_in_child, [tmp_path / "file"] * 3) == [(True, total, total)] * 3
        assert file.read(8) == (1).to_bytes(8, "little")


@pytest.mark.parametrize("when", ["before", "after", "never"])
def test_fault_handlers(tmp_path, when):
    np.ones(1_000_000).tofile(tmp_path / "file")
    run(
        """
        import faulthandler, os, sys, numpy, eagre
        path, when = sys.argv[1:]
        if when == "before": faulthandler.enable()
        array = eagre.open(path).array("f8")
        if when == "after": faulthandler.enable()
        assert array.sum() == 1_000_000
        if when != "after":
            os.truncate(path, 4096)
            assert array.sum() == 512
        """,
        tmp_path / "file",
        when,
    )


def test_thread_pools():
    random = np.random.default_rng(2)
    arrays = [random.integers(0, 1000, size) for size in (10, 1000, 100_000, 1_000_000) * 4]
    wanted = [np.sort(array) for array in arrays]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for done, want in zip(pool.map(eagre.sorted, arrays), wanted):
            assert np.array_equal(done, want)


def test_settings_of_the_environment(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", "import eagre, numpy; eagre.sort(numpy.arange(1000)[::-1].copy())"],
        capture_output=True,
        text=True,
        env={**os.environ, "EAGRE_SIMD": "nonsense"},
    )
    assert done.returncode == 1 and "ValueError: eagre.sort: EAGRE_SIMD" in done.stderr
