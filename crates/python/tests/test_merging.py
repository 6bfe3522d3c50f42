"""Merges, test data and what is known of records in memory, against what Python finds."""

import io
import random

import numpy as np
import pytest

import eagre


def key_of(record):
    return record[:10]


def cut(data, size):
    return [bytes(data[at : at + size]) for at in range(0, len(data), size)]


def sorted_lines(seed, count):
    source = random.Random(seed)
    return sorted(b"%d %s\n" % (source.randrange(1000), b"x" * source.randrange(60)) for _ in range(count))


@pytest.fixture
def rows(tmp_path):
    """Sorted lines, in as many lists as there are kinds of sources, and a function that makes these."""
    lists = [sorted_lines(seed, count) for seed, count in enumerate([5000, 1, 0, 20_000, 3000])]
    path = tmp_path / "lines"
    path.write_bytes(b"".join(lists[0]))
    wholes = [b"".join(one) for one in lists]

    def sources():
        yield path
        yield wholes[1]
        yield str(path.parent / "empty")
        yield np.frombuffer(wholes[3], np.uint8)
        yield io.BytesIO(wholes[4])

    (tmp_path / "empty").write_bytes(b"")
    return lists, sources


def test_sources_of_all_kinds(rows, tmp_path):
    lists, sources = rows
    wanted = sorted(line for one in lists for line in one)
    done = eagre.merge(sources(), tmp_path / "merged", memory=64 << 20)
    assert (tmp_path / "merged").read_bytes() == b"".join(wanted) and done.plan == "classic"
    with eagre.merge(sources()) as reader:
        assert list(reader) == wanted
    chunks = eagre.merge([memoryview(b"".join(one)) for one in lists]).chunks()
    assert b"".join(chunk.tobytes() for chunk in chunks) == b"".join(wanted)


def test_equal_keys_come_in_the_order_of_the_sources():
    records = eagre.Records("fixed", record_size=12, keys="0:4")
    source = np.random.default_rng(5)
    parts = []
    for number in range(40):
        keys = np.sort(source.integers(0, 300, 500).astype(">u4"))
        part = np.zeros(500, [("key", ">u4"), ("source", "u4"), ("at", "u4")])
        part["key"], part["source"], part["at"] = keys, number, np.arange(500)
        parts.append(part)
    for descending in (False, True):
        given = [part[::-1].copy() if descending else part for part in parts]
        wanted = sorted((tuple(record) for part in given for record in part), key=lambda record: record[0], reverse=descending)
        merged = np.frombuffer(eagre.merge(given, None, records, descending=descending).read(), parts[0].dtype)
        assert [tuple(record) for record in merged] == wanted
    keys = np.frombuffer(eagre.merge(parts, None, records, unique=True).read(), parts[0].dtype)["key"]
    assert keys.tolist() == sorted({key for part in parts for key in part["key"].tolist()})


def test_descending_text_and_a_last_line_without_an_end(tmp_path):
    text = eagre.Records("text", keys="1,1", options="n")
    first, second = b"10 a\n9 b\n1 c", b"11 d\n2 e\n1 f"
    wanted = b"11 d\n10 a\n9 b\n2 e\n1 f\n1 c\n"
    assert eagre.merge([first, second], None, text, descending=True).read() == wanted
    eagre.merge([first, io.BytesIO(second)], tmp_path / "merged", text, descending=True)
    assert (tmp_path / "merged").read_bytes() == wanted


def test_a_merge_that_fails_says_why(rows, tmp_path):
    lists, sources = rows
    numbers = eagre.Records("numbers", dtype="u8")
    with pytest.raises(OSError, match="cut short"):
        eagre.merge([b"12345678", b"1234"], None, numbers).read()
    with pytest.raises(ValueError, match="cut short"):
        eagre.merge([b"12345678", b"1234"], tmp_path / "merged", numbers)

    class Broken(io.RawIOBase):
        def readinto(self, buffer):
            raise KeyError("gone")

    with pytest.raises(OSError, match="KeyError: 'gone'"):
        eagre.merge([b"a\n", Broken()], tmp_path / "merged")
    with pytest.raises(FileNotFoundError):
        eagre.merge([tmp_path / "nothing"])
    with pytest.raises(TypeError):
        eagre.merge([3])
    with pytest.raises(ValueError, match="progress is for an output"):
        eagre.merge([], progress=print)
    assert not (tmp_path / "merged").exists()
    # A reader that is closed early ends the merge.
    reader = eagre.merge(sources())
    assert reader.readline() == min(lists[0][0], lists[1][0], lists[3][0], lists[4][0])
    reader.close()


def test_generated_records_are_those_of_gensort(tmp_path):
    whole = eagre.generate(None, 1000)
    assert whole.shape == (1000, 100) and whole.dtype == np.uint8
    for options in [{}, {"ascii": True}, {"skew": True}]:
        whole = eagre.generate(None, 1000, **options)
        assert eagre.generate(tmp_path / "file", 700, first=300, threads=2, **options) is None
        assert (tmp_path / "file").read_bytes() == whole[300:].tobytes()
        assert np.array_equal(eagre.generate(None, 5, first=995, **options), whole[995:])
    # The line that the manual of gensort shows.
    assert eagre.generate(None, 1, ascii=True).tobytes().startswith(b"AsfAGHM5om  0000000000")
    for wrong in [{"records": -1}, {"records": 1, "first": -1}, {"records": 1, "first": 1 << 128}]:
        with pytest.raises(ValueError, match="eagre.generate"):
            eagre.generate(None, **wrong)
    with pytest.raises(FileNotFoundError):
        eagre.generate(tmp_path / "nothing" / "file", 1)


def test_keys_sums_and_ties(tmp_path):
    gensort = eagre.Records("fixed", record_size=100, keys="0:10")
    whole = eagre.generate(None, 500)
    assert eagre.record_keys(whole, gensort) == [key_of(record) for record in cut(whole.tobytes(), 100)]
    assert eagre.record_keys(whole, gensort, step=7) == eagre.record_keys(whole, gensort)[::7]
    numbers = np.array([5, -3, 0, 7], "i8")
    signed = eagre.Records("numbers", dtype="i8")
    assert np.argsort(numbers).tolist() == sorted(range(4), key=eagre.record_keys(numbers, signed).__getitem__)
    # Sums do not depend on the order, and add up.
    (tmp_path / "file").write_bytes(whole.tobytes())
    checked = eagre.check_file(tmp_path / "file", gensort)
    assert eagre.checksum(whole[::-1].copy(), gensort) == (checked.records, checked.sum)
    halves = [eagre.checksum(half, gensort) for half in (whole[:200], whole[200:])]
    assert (sum(count for count, _ in halves), sum(part for _, part in halves) % 2**128) == (500, checked.sum)
    assert checked.ends == (key_of(whole[0].tobytes()), key_of(whole[-1].tobytes()))
    pairs = b"1 a\n1 b\n1 c\n2 d\n"
    by_first = eagre.Records("fixed", record_size=4, keys="0:1")
    assert (eagre.tied(pairs, b"1", by_first), eagre.tied(pairs, b"2", by_first)) == (12, 0)
    assert eagre.tied(pairs, b"1", by_first, most=11) == 8
    with pytest.raises(ValueError, match="at byte 100"):
        eagre.record_keys(whole.tobytes()[:150], gensort)


def test_keys_with_values(tmp_path):
    klv = eagre.Records("klv", klv="3:1")
    source = random.Random(3)
    records = []
    for _ in range(2000):
        value = source.randbytes(source.randrange(200))
        records.append(source.randbytes(3) + bytes([len(value)]) + value)
    (tmp_path / "file").write_bytes(b"".join(records))
    eagre.sort_file(tmp_path / "file", tmp_path / "sorted", klv)
    wanted = sorted(records, key=lambda record: record[:3])
    assert (tmp_path / "sorted").read_bytes() == b"".join(wanted)
    assert eagre.record_keys(b"".join(wanted), klv) == [record[:3] for record in wanted]
    with pytest.raises(ValueError, match="give klv="):
        eagre.check_file(tmp_path / "file", eagre.Records("klv"))
