"""Counts, occurrences, statistics, copies and sorted files, against what Python finds."""

import collections
import decimal
import random
import re

import numpy as np
import pytest

import eagre


@pytest.fixture
def text(tmp_path):
    """A file of rows ``city;number``, and its rows."""
    source = random.Random(1)
    rows = [(source.choice(["Hamburg", "Bulawayo", "Zürich", "Å"]), f"{source.uniform(-99, 99):.1f}") for _ in range(50_000)]
    (tmp_path / "rows").write_text("".join(f"{city};{number}\n" for city, number in rows))
    return tmp_path / "rows", rows


def test_count(text):
    path, rows = text
    whole = path.read_bytes()
    counts = eagre.count(path, words=True, longest=True)
    assert (counts.lines, counts.words, counts.bytes) == (len(rows), len(whole.split()), len(whole))
    assert eagre.count(path, lines=False) == eagre.Counts(None, None, len(whole), None)
    with pytest.raises(FileNotFoundError):
        eagre.count(path.parent / "nothing")


def test_find(text):
    path, rows = text
    whole = path.read_bytes()
    assert eagre.find(path, "Hamburg") == whole.count(b"Hamburg")
    assert eagre.find(path, "HAMBURG", ignore_case=True, threads=2) == whole.count(b"Hamburg")
    found = eagre.find_all(path, "Zürich", b";-")
    wanted = [(match.start(), len(match[0]), int(match[0] == b";-")) for match in re.finditer("Zürich|;-".encode(), whole)]
    assert list(zip(found.offsets, found.lengths, found.patterns)) == wanted and len(found) == len(wanted)
    with pytest.raises(ValueError, match="eagre.find"):
        eagre.find(path, b"")


def test_stats(text):
    path, rows = text
    numbers = collections.defaultdict(list)
    for city, number in rows:
        numbers[city.encode()].append(decimal.Decimal(number))
    found = eagre.stats(path)
    assert [group.key for group in found] == sorted(numbers) and len(found) == 4 and found.skipped == 0
    for group in found:
        of_key = numbers[group.key]
        assert (group.count, group.min, group.max, group.sum) == (len(of_key), min(of_key), max(of_key), sum(of_key))
        assert abs(group.mean - sum(of_key) / len(of_key)) <= decimal.Decimal("0.005")
    (path.parent / "bad").write_text("name,value\na,1\nb,x\n")
    assert eagre.stats(path.parent / "bad", separator=",", header=True, skip_bad=True).skipped == 1
    with pytest.raises(ValueError, match="3"):
        eagre.stats(path.parent / "bad", separator=",", header=True)
    with pytest.raises(ValueError, match="one byte"):
        eagre.stats(path, separator="::")


def test_stats_are_tables_of_arrow(text, tmp_path):
    found = eagre.stats(text[0])
    rows = [(group.key, group.count, group.min, group.mean, group.max, group.sum) for group in found]
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(found)
    assert table.column_names == ["key", "count", "min", "mean", "max", "sum"] and table.schema.field("key").type == pyarrow.string()
    columns = [column.to_pylist() for column in table.columns]
    assert [(key.encode(), *rest) for key, *rest in zip(*columns)] == rows
    # More than once, and of nothing.
    assert pyarrow.table(found).equals(table)
    assert pyarrow.table(eagre.Stats([], 0)).num_rows == 0
    (tmp_path / "bytes").write_bytes(b"\xff;-0.001\na;12\n")
    table = pyarrow.table(eagre.stats(tmp_path / "bytes"))
    assert table.column("key").to_pylist() == [b"a", b"\xff"] and table.column("min").to_pylist()[1] == decimal.Decimal("-0.001")
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(found)
    assert frame["key"].to_list() == [row[0].decode() for row in rows] and frame["sum"].to_list() == [row[5] for row in rows]


def test_copy(text):
    path, _ = text
    copied = eagre.copy(path, path.parent / "copy", verify=True, preserve=True)
    assert (path.parent / "copy").read_bytes() == path.read_bytes() and copied.bytes == path.stat().st_size
    with pytest.raises(ValueError, match="same file"):
        eagre.copy(path, path)
    with pytest.raises(FileNotFoundError):
        eagre.copy(path.parent / "nothing", path)


def test_sort_lines_and_text(text):
    path, rows = text
    target = path.parent / "sorted"
    lines = path.read_bytes().splitlines(keepends=True)
    done = eagre.sort_file(path, target, memory=64 << 20)
    assert target.read_bytes() == b"".join(sorted(lines)) and done.records == len(lines)
    eagre.sort_file(path, target, descending=True, unique=True)
    assert target.read_bytes() == b"".join(sorted(set(lines), reverse=True))
    eagre.sort_file(path, target, eagre.Records("text", separator=";", keys="2,2g"), header=3)
    key = lambda line: (float(line.split(b";")[1]), line)
    assert target.read_bytes() == b"".join(lines[:3] + sorted(lines[3:], key=key))


def test_sort_numbers_and_records(tmp_path):
    numbers = np.random.default_rng(1).integers(-(2**62), 2**62, 300_000)
    numbers.tofile(tmp_path / "file")
    eagre.sort_file(tmp_path / "file", tmp_path / "sorted", eagre.Records("numbers", dtype="i8"))
    assert np.array_equal(np.fromfile(tmp_path / "sorted", "i8"), np.sort(numbers))
    pairs = eagre.Records("fixed", record_size=16, keys=["8:i64", "0:i64"])
    before = eagre.check_file(tmp_path / "file", pairs)
    eagre.sort_file(tmp_path / "file", tmp_path / "file", pairs)
    after = eagre.check_file(tmp_path / "file", pairs)
    assert not before.is_sorted and after.is_sorted and (after.sum, after.records) == (before.sum, 150_000)
    pairs = np.fromfile(tmp_path / "file", [("a", "i8"), ("b", "i8")])
    wanted = np.sort(numbers.view([("a", "i8"), ("b", "i8")]), order=["b", "a"])
    assert np.array_equal(pairs, wanted)


@pytest.mark.parametrize("descending", [False, True])
def test_nan_come_last_as_in_numpy(tmp_path, descending):
    numbers = np.random.default_rng(4).permutation(300_000).astype("f8")
    numbers[::7], numbers[3::7] = np.nan, np.copysign(np.nan, -1)
    numbers.tofile(tmp_path / "file")
    wanted = np.sort(numbers)
    if descending:
        count = np.count_nonzero(~np.isnan(numbers))
        wanted[:count] = wanted[:count][::-1]
    for records in (
        eagre.Records("numbers", dtype="f8", nan_last=True),
        eagre.Records("fixed", record_size=8, keys="0:f64", nan_last=True),
    ):
        eagre.sort_file(tmp_path / "file", tmp_path / "sorted", records, descending=descending)
        assert np.array_equal(np.fromfile(tmp_path / "sorted"), wanted, equal_nan=True)
        assert eagre.check_file(tmp_path / "sorted", records, descending=descending).is_sorted
    assert not eagre.check_file(tmp_path / "sorted", eagre.Records("numbers", dtype="f8"), descending=descending).is_sorted


def test_records_in_memory_are_sorted_and_cut():
    source = random.Random(2)
    words = [b"%d\n" % source.randrange(10_000) for _ in range(20_000)]
    boundaries = eagre.sample_boundaries(b"".join(words[:1000]), 4)
    assert len(boundaries) == 3 and boundaries == sorted(boundaries)
    out, ends = eagre.sort_and_partition(np.frombuffer(b"".join(words), np.uint8), boundaries, threads=2)
    parts = [out[start:end].tobytes().splitlines() for start, end in zip([0, *ends[:-1]], ends)]
    ordered = [word.rstrip() for word in sorted(words)]
    assert [word for part in parts for word in part] == ordered and len(parts) == 4
    assert [len(part) for part in parts] == [
        sum(low <= word < high for word in ordered)
        for low, high in zip([b"", *boundaries], [*boundaries, b"\xff"])
    ]
    numbers = np.random.default_rng(3).integers(0, 1 << 40, 10_000)
    out, ends = eagre.sort_and_partition(numbers, [], eagre.Records("numbers", dtype="i8"), descending=True)
    assert np.array_equal(out.view("i8"), np.sort(numbers)[::-1]) and ends.tolist() == [numbers.nbytes]
    with pytest.raises(ValueError, match="eagre.sort_and_partition"):
        eagre.sort_and_partition(b"no end", [])
    with pytest.raises(ValueError, match="parts is 0"):
        eagre.sample_boundaries(b"a\n", 0)
    with pytest.raises(BufferError, match="contiguous"):
        eagre.sort_and_partition(np.zeros(10, "u1")[::2], [])


def test_what_is_refused_says_why(tmp_path):
    (tmp_path / "file").write_bytes(b"abc")
    sort = lambda **records: eagre.sort_file(tmp_path / "file", tmp_path / "sorted", eagre.Records(**records))
    for options, why in [
        ({"format": "words"}, "format is 'words'"),
        ({"format": "numbers"}, "dtype is for the format numbers"),
        ({"record_size": 8}, "record_size for fixed"),
        ({"keys": "1"}, "use format='text'"),
        ({"format": "text", "keys": "x"}, "eagre.sort_file"),
        ({"format": "numbers", "dtype": "u8"}, "truncated|whole|byte"),
        ({"format": "numbers", "dtype": "u8", "nan_last": True}, "no key is a floating-point number"),
        ({"nan_last": True}, "nan_last is for the formats"),
    ]:
        with pytest.raises(ValueError, match=why):
            sort(**options)
    with pytest.raises(TypeError, match="give an integer"):
        sort(format="numbers", dtype="f2")
    with pytest.raises(FileNotFoundError):
        eagre.sort_file(tmp_path / "nothing", tmp_path / "sorted")
    assert not (tmp_path / "sorted").exists()


def test_doctor():
    diagnosis = eagre.doctor()
    assert {fact.verdict for fact in diagnosis.facts} and diagnosis.facts[0].name
    assert diagnosis[diagnosis.facts[0].name] == diagnosis.facts[0].value
    with pytest.raises(KeyError):
        diagnosis["nothing"]
