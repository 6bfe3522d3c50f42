"""Indexes of files and what is gathered with them, against Python's sort and the table of docs/sorting-files.md."""

import os

import numpy as np
import pytest

import eagre

GENSORT = eagre.Records("fixed", record_size=100, keys="0:10")


def entries_of(path):
    """The entries of an index by the table of its format: keys, offsets and lengths; and its flags."""
    raw = path.read_bytes()
    header = np.frombuffer(
        raw,
        [("magic", "S8"), ("version", "<u2"), ("key", "<u2"), ("offset", "u1"), ("length", "u1"), ("flags", "u1"),
         ("end", "u1"), ("entries", "<u8"), ("size", "<u8"), ("data", "<u8"), ("seconds", "<i8"), ("nanos", "<u4"), ("zeros", "V12")],
        1,
    )[0]  # fmt: skip
    assert (header["magic"], header["version"]) == (b"EAGREIDX", 1)
    parts = [("key", "u1", int(header["key"])), ("offset", "u1", int(header["offset"])), ("length", "u1", int(header["length"]))]
    entries = np.frombuffer(raw, parts, offset=64)
    assert len(entries) == header["entries"]

    def number(bytes_):
        wide = np.zeros((len(bytes_), 8), "u1")
        wide[:, : bytes_.shape[1]] = bytes_
        return wide.view("<u8")[:, 0].tolist()

    keys = [key.tobytes() for key in entries["key"]]
    lengths = number(entries["length"]) if header["length"] else [int(header["size"])] * len(entries)
    return keys, number(entries["offset"]), lengths, int(header["flags"])


@pytest.fixture
def indexed(tmp_path):
    """A file of records with few keys, so that many are equal; its rows in order; and the index."""
    rows = eagre.generate(None, 3000)
    rows[:, 1:10] = 7
    rows.tofile(tmp_path / "data")
    order = sorted(range(len(rows)), key=lambda row: rows[row, :10].tobytes())
    done = eagre.index_file(tmp_path / "data", tmp_path / "index", GENSORT, threads=2)
    assert (done.records, done.bytes) == (3000, 300_000)
    return tmp_path, rows, order


def test_an_index_has_sorted_keys_and_where_their_records_are(indexed):
    folder, rows, order = indexed
    keys, offsets, lengths, flags = entries_of(folder / "index")
    assert keys == [rows[row, :10].tobytes() for row in order] and flags == 2
    assert offsets == [100 * row for row in order] and set(lengths) == {100}
    eagre.index_file(folder / "data", folder / "index", GENSORT, descending=True, unique=True, temporary=folder)
    keys, offsets, _, flags = entries_of(folder / "index")
    firsts = {rows[row, :10].tobytes(): 100 * row for row in reversed(range(len(rows)))}
    assert (keys, flags) == (sorted(firsts, reverse=True), 3) and offsets == [firsts[key] for key in keys]


def test_records_are_gathered_in_the_order_of_the_index(indexed):
    folder, rows, order = indexed
    for given, chosen in [
        ({}, order),
        ({"start": 2990}, order[2990:]),
        ({"stop": 7, "threads": 1}, order[:7]),
        ({"start": 1000, "stop": 1100}, order[1000:1100]),
        ({"start": 3000}, []),
        ({"start": 5, "stop": 5}, []),
    ]:
        assert eagre.gather(folder / "index", folder / "data", folder / "out", **given) == len(chosen)
        assert (folder / "out").read_bytes() == rows[chosen].tobytes(), given
    # The data become what is gathered, and are no longer those that were indexed.
    assert eagre.gather(os.fsencode(folder / "index"), folder / "data", folder / "data") == 3000
    assert (folder / "data").read_bytes() == rows[order].tobytes()
    with pytest.raises(ValueError, match="changed since it was indexed"):
        eagre.gather(folder / "index", folder / "data", folder / "out")


def test_numbers_are_indexed_as_numpy_orders_them(tmp_path):
    numbers = np.random.default_rng(1).integers(-50, 50, 20_000, dtype="i4")
    numbers.tofile(tmp_path / "data")
    eagre.index_file(tmp_path / "data", tmp_path / "index", eagre.Records("numbers", dtype="i4"))
    _, offsets, lengths, _ = entries_of(tmp_path / "index")
    assert np.array_equal(offsets, 4 * np.argsort(numbers, kind="stable")) and set(lengths) == {4}
    eagre.gather(tmp_path / "index", tmp_path / "data", tmp_path / "out")
    assert np.array_equal(np.fromfile(tmp_path / "out", "i4"), np.sort(numbers))


def test_lines_of_any_length(tmp_path):
    lines = [b"%d %s" % (number * 7919 % 1009, b"x" * (number % 40)) for number in range(2000)]
    (tmp_path / "data").write_bytes(b"\n".join(lines))
    rows = eagre.Records("text", keys="1,1n")
    eagre.index_file(tmp_path / "data", tmp_path / "index", rows)
    eagre.gather(tmp_path / "index", tmp_path / "data", tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == b"".join(
        line + b"\n" for line in sorted(lines, key=lambda line: (int(line.split()[0]), line))
    )
    eagre.index_file(tmp_path / "data", tmp_path / "index")
    keys, offsets, lengths, flags = entries_of(tmp_path / "index")
    starts = np.cumsum([0, *(len(line) + 1 for line in lines)]).tolist()
    order = sorted(range(len(lines)), key=lambda line: lines[line])
    assert keys == [lines[line][:16].ljust(16, b"\0") for line in order] and flags == 4
    assert offsets == [starts[line] for line in order]
    # The last line has no end.
    whole = len(b"\n".join(lines))
    assert lengths == [min(starts[line] + len(lines[line]) + 1, whole) - starts[line] for line in order]


def test_what_is_wrong_is_one_line_and_makes_nothing(indexed):
    folder, _, _ = indexed
    index, data, out = folder / "index", folder / "data", folder / "out"
    (folder / "short").write_bytes(index.read_bytes()[:-5])
    (folder / "hostile").write_bytes(index.read_bytes()[:74] + b"\xff" * 5 + index.read_bytes()[79:])
    (folder / "other").write_bytes(data.read_bytes()[:100])
    (folder / "copy").write_bytes(data.read_bytes())
    os.utime(folder / "copy", (1, 1))
    before = {name: (folder / name).read_bytes() for name in os.listdir(folder)}
    for call, kind, why in [
        (lambda: eagre.gather(data, data, out), ValueError, "it is not an index"),
        (lambda: eagre.gather(folder / "short", data, out), ValueError, "the index is cut short"),
        (lambda: eagre.gather(folder / "hostile", data, out), ValueError, "entry 0 points outside the data"),
        (lambda: eagre.gather(index, folder / "other", out), ValueError, "the index is of another file"),
        (lambda: eagre.gather(index, folder / "copy", out), ValueError, "changed since it was indexed"),
        (lambda: eagre.gather(index, data, out, stop=3001), ValueError, "it has 3000 entries, and 0..3001 is no range"),
        (lambda: eagre.gather(index, data, out, start=3001), ValueError, "it has 3000 entries"),
        (lambda: eagre.gather(index, data, out, start=-1), ValueError, "eagre.gather: start is -1"),
        (lambda: eagre.gather(index, data, out, start=3, stop=2), ValueError, "stop not before start"),
        (lambda: eagre.gather(folder / "nothing", data, out), FileNotFoundError, "gather: .*nothing"),
        (lambda: eagre.gather(index, data, folder / "no" / "out"), FileNotFoundError, "out"),
        (lambda: eagre.index_file(folder / "nothing", out), FileNotFoundError, "nothing"),
        (lambda: eagre.index_file(data, data, GENSORT), ValueError, "would replace the records that it points to"),
        (lambda: eagre.index_file("/dev/null", out), ValueError, "an index points into a regular file"),
        (lambda: eagre.index_file(data, out, eagre.Records("fixed", record_size=7)), ValueError, "truncated|whole|byte"),
        (lambda: eagre.index_file(data, out, eagre.Records("words")), ValueError, "eagre.index_file: format is 'words'"),
    ]:
        with pytest.raises(kind, match=why) as raised:
            call()
        assert "\n" not in str(raised.value)
        assert {name: (folder / name).read_bytes() for name in os.listdir(folder)} == before, why
    assert eagre.gather(index, folder / "copy", out, copied=True) == 3000


def test_progress_counts_records_and_ends_the_call(indexed):
    folder, _, _ = indexed
    seen = []
    eagre.gather(folder / "index", folder / "data", folder / "out", start=1000, progress=lambda *now: seen.append(now))
    assert seen[-1] == (2000, 2000)
    os.unlink(folder / "out")

    def stop(done, total):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        eagre.gather(folder / "index", folder / "data", folder / "out", progress=stop)
    with pytest.raises(KeyError, match="enough"):
        eagre.index_file(folder / "data", folder / "out", GENSORT, progress=stop)
