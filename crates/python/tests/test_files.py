"""Files: what they hold arrives, by every way there is, and what is written is complete or not there."""

import csv
import gc
import io
import json
import os
import pickle

import numpy as np
import pytest

import eagre


@pytest.fixture
def numbers(tmp_path):
    """A file of more than a few blocks, and what it holds."""
    array = np.random.default_rng(1).integers(0, 2**63, (9 << 20) // 8 + 5, np.uint64)
    array.tofile(tmp_path / "numbers")
    return tmp_path / "numbers", array


def test_reading_is_that_of_open(numbers):
    path, array = numbers
    whole = array.tobytes()
    with eagre.open(path) as file, open(path, "rb") as theirs:
        assert isinstance(file, io.BufferedIOBase) and file.readable() and file.seekable() and not file.writable()
        for size in [0, 1, 7, 100_000, 3 << 20]:
            assert file.read(size) == theirs.read(size) and file.tell() == theirs.tell()
        room = bytearray(5 << 20)
        assert file.readinto(room) == len(room) and room == theirs.read(len(room))
        assert file.read() == theirs.read() and file.read(1) == b""
        for offset, whence in [(0, 0), (4_000_001, 0), (-100, 1), (-9, 2), (5 << 20, 0), (1, 0)]:
            assert file.seek(offset, whence) == theirs.seek(offset, whence)
            assert file.read(100) == theirs.read(100)
        assert file.name == str(path)
    assert file.closed
    with pytest.raises(ValueError, match="closed"):
        file.read(1)
    assert eagre.open(path).read() == whole


def test_lines_of_text(tmp_path):
    lines = [f"{number},{'x' * (number % 300)}\n" for number in range(20_000)]
    (tmp_path / "text").write_text("".join(lines))
    with eagre.open(tmp_path / "text") as file:
        assert [line.decode() for line in file] == lines
        file.seek(0)
        assert file.readline() == lines[0].encode()
    with io.TextIOWrapper(eagre.open(tmp_path / "text"), newline="") as text:
        assert [int(row[0]) for row in csv.reader(text)] == list(range(20_000))


def test_json_and_pickle(tmp_path):
    data = {"numbers": list(range(100_000)), "name": "Übermut"}
    with eagre.create(tmp_path / "json") as file, io.TextIOWrapper(file, write_through=True) as text:
        json.dump(data, text)
    with eagre.open(tmp_path / "json") as file:
        assert json.load(file) == data
    with eagre.create(tmp_path / "pickle") as file:
        pickle.dump(data, file)
    with eagre.open(tmp_path / "pickle") as file:
        assert pickle.load(file) == data


def test_other_libraries_read_it(tmp_path):
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    pyarrow_csv, pyarrow_ipc = pytest.importorskip("pyarrow.csv"), pytest.importorskip("pyarrow.ipc")
    numbers = list(range(50_000))
    with eagre.create(tmp_path / "table.csv") as file:
        file.write(b"number,square\n" + b"".join(b"%d,%d\n" % (number, number**2) for number in numbers))
    squares = [number**2 for number in numbers]
    with eagre.open(tmp_path / "table.csv") as file:
        assert pandas.read_csv(file)["square"].tolist() == squares
    with eagre.open(tmp_path / "table.csv") as file:
        assert polars.read_csv(file)["square"].to_list() == squares
    with eagre.open(tmp_path / "table.csv") as file:
        table = pyarrow_csv.read_csv(pyarrow.input_stream(file))
        assert table["square"].to_pylist() == squares
    with eagre.create(tmp_path / "table.arrow") as file, pyarrow_ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    with eagre.open(tmp_path / "table.arrow") as file:
        assert pyarrow_ipc.open_file(file).read_all().equals(table)
    pandas.DataFrame({"a": numbers}).to_parquet(tmp_path / "table.parquet")
    with eagre.open(tmp_path / "table.parquet") as file:
        assert pandas.read_parquet(file)["a"].tolist() == numbers


def test_an_array_over_a_file_is_read_anywhere(numbers):
    path, array = numbers
    with eagre.open(path) as file:
        mapped = file.array("u8")
    assert type(mapped) is np.ndarray and not mapped.flags.writeable and mapped.dtype == np.uint64
    for _ in range(2):
        assert mapped.sum(dtype="u8") == array.sum(dtype="u8") and mapped[-1] == array[-1] and mapped[0] == array[0]
    assert repr(mapped) == repr(array) and np.array_equal(mapped[::-3], array[::-3])
    assert np.array_equal(np.histogram(mapped)[0], np.histogram(array)[0])
    with pytest.raises(ValueError, match="read-only"):
        mapped[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        eagre.sort(mapped)
    assert np.array_equal(eagre.sorted(mapped), np.sort(array))


def test_a_file_that_is_cut_is_an_error_and_no_signal(numbers):
    path, array = numbers
    file = eagre.open(path)
    mapped = file.array("u8")
    os.truncate(path, 4096)
    assert mapped[0] == array[0] and mapped[-1] == 0
    with pytest.raises(OSError, match="no bytes any more at offset"):
        file.check()
    with pytest.raises(OSError, match="no bytes any more at offset"):
        file.close()


@pytest.mark.parametrize("dtype", ["u8", "u1", "f4", "c16", "S3", [("a", "f8"), ("b", "u4")], "V96"])
def test_chunks_are_the_file(tmp_path, dtype):
    dtype = np.dtype(dtype)
    whole = np.random.default_rng(2).bytes((7 << 20) // dtype.itemsize * dtype.itemsize)
    (tmp_path / "file").write_bytes(whole)
    with eagre.open(tmp_path / "file") as file:
        chunks = 0
        pieces = []
        for chunk in file.chunks(dtype):
            assert chunk.dtype == dtype and not chunk.flags.writeable and chunk.ndim == 1
            pieces.append(chunk.tobytes())
            chunks += 1
        assert b"".join(pieces) == whole and chunks >= 4
        assert file.read() == whole


def test_chunks_stay_as_they_are_while_they_are_referred_to(tmp_path):
    array = np.arange((40 << 20) // 8, dtype=np.uint64)
    array.tofile(tmp_path / "file")
    chunks = eagre.open(tmp_path / "file").chunks("u8")
    kept = [next(chunks) for _ in range(4)]
    with pytest.raises(BufferError, match="still referenced 4 steps later; copy what is to be kept"):
        next(chunks)
    start = 0
    for chunk in kept:
        assert np.array_equal(chunk, array[start : start + len(chunk)])
        start += len(chunk)
    # Views keep a block, too, and outlive the iterator.
    chunks = eagre.open(tmp_path / "file").chunks("u8")
    last = None
    for number, chunk in enumerate(chunks):
        if number == 5:
            last = chunk[10:20]
        if number == 8:
            break
    del chunk, chunks
    gc.collect()
    begin = 5 * (2 << 20) // 8 + 10
    assert np.array_equal(last, array[begin : begin + 10])


def test_what_is_left_behind_is_an_error(tmp_path):
    (tmp_path / "file").write_bytes(bytes(100_003))
    with eagre.open(tmp_path / "file") as file:
        with pytest.raises(ValueError, match="the last 3 are no whole uint64"):
            file.array("u8")
        chunks = file.chunks("u8")
        with pytest.raises(ValueError, match="the last 3 are no whole uint64"):
            assert sum(len(chunk) for chunk in chunks) == 100_000 // 8
        with pytest.raises(TypeError, match="a file holds no such elements"):
            file.array(object)
    (tmp_path / "file").write_bytes(b"")
    with eagre.open(tmp_path / "file") as file:
        assert file.array("u8").shape == (0,) and list(file.chunks("u8")) == [] and file.read() == b""


def test_a_file_appears_when_it_is_closed(tmp_path):
    path = tmp_path / "file"
    whole = np.random.default_rng(3).bytes(9_000_001)
    with eagre.create(path) as file:
        assert isinstance(file, io.BufferedIOBase) and file.writable() and file.name == str(path)
        for start in range(0, len(whole), 700_000):
            piece = whole[start : start + 700_000]
            assert file.write(piece) == len(piece)
        assert file.tell() == len(whole) and not path.exists()
    assert path.read_bytes() == whole
    with eagre.create(path) as file:
        file.write(np.arange(10, dtype="u2"))
        file.write(memoryview(b"abc"))
    assert path.read_bytes() == np.arange(10, dtype="u2").tobytes() + b"abc"
    eagre.create(path).close()
    assert path.read_bytes() == b""


def test_a_file_does_not_appear_if_writing_fails(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"before")
    with pytest.raises(KeyError), eagre.create(path) as file:
        file.write(bytes(5 << 20))
        raise KeyError("oops")
    assert file.closed
    file = eagre.create(path)
    file.write(b"forgotten")
    del file
    gc.collect()
    eagre.create(path).fail("no wish")
    file = eagre.create(path)
    file.array("u8", 1000)[:] = 1
    file.fail("no wish")
    with pytest.raises(KeyError), eagre.create(path) as file:
        file.array("u8", 1000)[:] = 1
        raise KeyError("oops")
    file = eagre.create(path)
    file.array("u8", 1000)[:] = 1
    del file
    gc.collect()
    assert path.read_bytes() == b"before" and os.listdir(tmp_path) == ["file"]


def test_an_array_over_a_new_file(tmp_path):
    path = tmp_path / "file"
    with eagre.create(path) as file:
        array = file.array("f8", 1_000_000)
        assert array.shape == (1_000_000,) and not array.any()
        np.multiply(np.arange(1_000_000), 0.5, out=array)
        array[::-1] = array.copy()
        assert not path.exists()
        with pytest.raises(ValueError, match="written as an array"):
            file.write(b"x")
        with pytest.raises(ValueError, match="one array"):
            file.array("f8", 1)
    assert np.array_equal(np.fromfile(path), np.arange(1_000_000)[::-1] * 0.5)
    with eagre.create(path) as file:
        assert file.array("f8", 0).shape == (0,)
    assert path.read_bytes() == b""
    with eagre.create(path) as file:
        with pytest.raises(ValueError, match="0 or more"):
            file.array("f8", -1)
        with pytest.raises(OSError):
            file.array("f8", 1 << 50)
        file.write(b"still")
        with pytest.raises(ValueError, match="written already"):
            file.array("f8", 1)
    assert path.read_bytes() == b"still"


def test_errors_are_those_of_open(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing"):
        eagre.open(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError):
        eagre.create(tmp_path / "nothing" / "file")
    with pytest.raises(IsADirectoryError):
        eagre.create(tmp_path)
    with pytest.raises(IsADirectoryError):
        eagre.open(tmp_path)
    odd = tmp_path / os.fsdecode(b"\xff")
    odd.write_bytes(b"bytes")
    assert eagre.open(os.fsencode(odd)).read() == b"bytes"
    with pytest.raises(ValueError, match="NUL"):
        eagre.open("a\0b")


def test_a_pipe_is_read_as_a_stream(tmp_path):
    reader, writer = os.pipe()
    os.write(writer, b"some bytes")
    os.close(writer)
    with eagre.open(f"/proc/self/fd/{reader}") as file:
        assert not file.seekable() and file.read() == b"some bytes"
        with pytest.raises(io.UnsupportedOperation):
            file.seek(0)
    os.close(reader)
