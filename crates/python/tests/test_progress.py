"""What shows how far a call is: functions and bars."""

import io

import numpy as np
import pytest

import eagre


class Bar:
    """A bar that notes what it is told; it is neither true nor false."""

    def __init__(self, n=0):
        self.n, self.total = n, None

    def update(self, n):
        self.n += n

    def __bool__(self):
        raise TypeError("a bar without a total is neither true nor false")


NUMBERS = np.random.default_rng(1).integers(0, 1 << 40, 200_000)


@pytest.mark.parametrize(
    "call",
    [
        lambda bar: eagre.sort(NUMBERS.copy(), progress=bar),
        lambda bar: eagre.sorted(NUMBERS.reshape(-1, 100), threads=1, progress=bar),
        lambda bar: eagre.argsort(NUMBERS, progress=bar),
        lambda bar: eagre.lexsort([NUMBERS, NUMBERS % 100], progress=bar),
        lambda bar: eagre.sort_pairs(NUMBERS.copy(), NUMBERS.copy(), progress=bar),
        lambda bar: eagre.top_k(NUMBERS, 10, progress=bar),
        lambda bar: eagre.unique(NUMBERS, return_index=True, progress=bar),
        lambda bar: eagre.sort_and_partition(NUMBERS, [], eagre.Records("numbers", dtype="i8"), progress=bar),
        lambda bar: eagre.count("file", progress=bar),
        lambda bar: eagre.find("file", b"\xff", progress=bar),
        lambda bar: eagre.find_all("file", b"\xff\xff", progress=bar),
        lambda bar: eagre.stats("rows", progress=bar),
        lambda bar: eagre.check_file("file", eagre.Records("numbers", dtype="i8"), progress=bar),
        lambda bar: eagre.copy("file", "copy", progress=bar),
        lambda bar: eagre.generate("records", 20_000, progress=bar),
        lambda bar: eagre.gather("index", "file", "gathered", progress=bar),
    ],
)
def test_a_bar_is_moved_to_what_a_function_is_told_last(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    NUMBERS.tofile("file")
    eagre.index_file("file", "index", eagre.Records("numbers", dtype="i8"))
    with open("rows", "w") as rows:
        rows.writelines(f"{number % 100};{number % 97}.5\n" for number in range(20_000))
    told, bar = [], Bar()
    call(lambda *now: told.append(now))
    call(bar)
    assert (bar.n, bar.total) == told[-1] and bar.n > 0
    # It goes on from where it is.
    bar = Bar(1000)
    call(bar)
    assert bar.n == 1000 + told[-1][0]


def test_a_bar_follows_the_phases_of_sorts_of_files(tmp_path):
    NUMBERS.tofile(tmp_path / "file")
    numbers = eagre.Records("numbers", dtype="i8")
    for call in [
        lambda bar: eagre.sort_file(tmp_path / "file", tmp_path / "sorted", numbers, progress=bar),
        lambda bar: eagre.index_file(tmp_path / "file", tmp_path / "index", numbers, progress=bar),
        lambda bar: eagre.merge([tmp_path / "sorted"] * 2, tmp_path / "merged", numbers, progress=bar),
    ]:
        bar = Bar()
        call(bar)
        assert 0 <= bar.n and (bar.total is None or bar.n <= bar.total)


def test_several_keys_are_one_progress():
    told = []
    eagre.lexsort([NUMBERS, NUMBERS % 100, NUMBERS % 7], progress=lambda *now: told.append(now))
    done, totals = [now[0] for now in told], {now[1] for now in told}
    assert done == sorted(done) and len(totals) == 1 and done[-1] == told[-1][1]


def test_what_a_bar_raises_ends_the_call(tmp_path):
    class Torn(Bar):
        def update(self, n):
            raise KeyError("torn")

    with pytest.raises(KeyError, match="torn"):
        eagre.generate(tmp_path / "file", 20_000, progress=Torn())


def test_what_is_neither_is_refused_before_the_work(tmp_path):
    (tmp_path / "file").write_bytes(b"b\na\n")
    for wrong in [1, "bar", {}, object()]:
        for call in [
            lambda: eagre.sort(NUMBERS.copy(), progress=wrong),
            lambda: eagre.lexsort([NUMBERS, NUMBERS], progress=wrong),
            lambda: eagre.sort_file(tmp_path / "file", tmp_path / "sorted", progress=wrong),
        ]:
            with pytest.raises(TypeError, match=rf"progress: a {type(wrong).__name__}; give a function"):
                call()
    assert not (tmp_path / "sorted").exists()


def test_bars_of_tqdm():
    tqdm = pytest.importorskip("tqdm").tqdm
    shown = io.StringIO()
    with tqdm(file=shown, unit="key") as bar:
        eagre.sort(NUMBERS.copy(), progress=bar)
        assert bar.n == bar.total > 0
    assert "100%" in shown.getvalue()
    with tqdm(disable=True) as bar:
        eagre.sort(NUMBERS.copy(), progress=bar)
