"""Streams between processes: bytes and arrays arrive, a process that ends is an error at once, and no wait holds the GIL."""

import io
import multiprocessing
import os
import pickle
import signal
import socket
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import eagre
from eagre.process import Connection, Listener

# No test waits so long, but on a machine that hangs.
LONG = 300


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder for names."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


class Child:
    """Code in a process of its own, which gets its side of a connection as `connection`."""

    def __init__(self, code, *arguments, way="stdin"):
        ours, theirs = Connection.pair()
        begin = "Connection.from_stdin()" if way == "stdin" else "Connection(int(sys.argv.pop(1)))"
        code = f"import sys\nimport numpy as np\nimport eagre\nfrom eagre.process import Connection\nconnection = {begin}\n" + textwrap.dedent(code)
        number = [] if way == "stdin" else [str(theirs.fileno())]
        how = {"stdin": theirs} if way == "stdin" else {"pass_fds": [theirs.fileno()]}
        self.connection = ours
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, *number, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how
        )
        theirs.close()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is not None:
            self.process.kill()
        self.process.communicate()

    def says(self, line):
        said = self.process.stdout.readline()
        assert said == line + "\n", self.process.stderr.read()

    def succeeds(self):
        out, err = self.process.communicate(timeout=LONG)
        assert self.process.returncode == 0, err
        return out

    def kill(self):
        self.process.kill()
        self.process.communicate(timeout=LONG)


@pytest.mark.parametrize("way", ["stdin", "number"])
@pytest.mark.parametrize("piece", [1000, 3_000_001])
def test_bytes_arrive(way, piece):
    whole = np.random.default_rng(1).bytes(min(9_000_001, piece * 2000 + 3))
    with Child("reader = connection.join_reader(); import hashlib; print(hashlib.sha256(reader.read()).hexdigest())", way=way) as child:
        writer = child.connection.writer(block=1 << 16)
        with writer:
            for start in range(0, len(whole), piece):
                writer.write(whole[start : start + piece])
        import hashlib

        assert child.succeeds() == hashlib.sha256(whole).hexdigest() + "\n"
    assert isinstance(writer, io.BufferedIOBase)


@pytest.mark.parametrize("dtype", ["u8", "S24"])
@pytest.mark.parametrize("lookback", [0, 1, 3])
def test_arrays_arrive(dtype, lookback):
    """Arrays much larger than the window, whoever makes the stream and however little its reader may look back."""
    code = """
        count, lookback = map(int, sys.argv[1:])
        with connection.join_writer() as writer:
            writer.write(np.random.default_rng(2).integers(0, 2**62, count, dtype="u8"))
    """
    numbers = np.random.default_rng(2).integers(0, 2**62, 600_000, dtype="u8").view(dtype)
    with Child(code, 600_000, lookback) as child:
        reader = child.connection.reader(block=1 << 16, read_ahead=1, lookback=lookback)
        parts = []
        for chunk in reader.chunks(dtype):
            assert not chunk.flags.writeable
            parts.append(chunk.copy())
        assert len(parts) > 1 and np.array_equal(np.concatenate(parts), numbers)
        child.succeeds()


def test_both_ways_and_lines():
    code = """
        import pickle
        with connection.join_reader() as reader:
            numbers, lines = pickle.load(reader), list(reader)
        print(sum(numbers), lines)
    """
    with Child(code) as child:
        with child.connection.writer() as writer:
            pickle.dump(list(range(1000)), writer)
            writer.write(b"one\ntwo\n")
        assert child.succeeds() == f"{sum(range(1000))} [b'one\\n', b'two\\n']\n"


def test_the_reader_may_outlive_the_writer():
    with Child("with connection.writer(block=1 << 16) as writer: writer.write(bytes(100_000))") as child:
        reader = child.connection.join_reader()
        child.succeeds()
        assert reader.read() == bytes(100_000)


def test_nothing_arrives():
    with Child("with connection.writer(): pass") as child:
        assert child.connection.join_reader().read() == b""
        child.succeeds()


def test_a_chunk_may_be_kept_for_as_long_as_the_stream_says():
    with Child("import signal; writer = connection.join_writer(); writer.write(bytes(1 << 20)); signal.pause()") as child:
        chunks = child.connection.reader(block=1 << 16, lookback=2).chunks()
        kept = [next(chunks) for _ in range(3)]
        with pytest.raises(BufferError, match="3 steps later"):
            next(chunks)
        assert all((chunk == 0).all() for chunk in kept)
        child.kill()


def consume(connection, results):
    with connection.join_reader() as reader:
        results.send(sum(int(chunk.sum()) for chunk in reader.chunks("u4")))


@pytest.mark.parametrize("way", ["spawn", "fork", "forkserver"])
def test_multiprocessing(way):
    context = multiprocessing.get_context(way)
    ours, theirs = Connection.pair()
    results, result = context.Pipe(duplex=False)
    child = context.Process(target=consume, args=(theirs, result))
    child.start()
    theirs.close()
    result.close()
    with ours.writer(block=1 << 16) as writer:
        for number in range(100):
            writer.write(np.full(10_000, number, "u4"))
    assert results.recv() == 10_000 * sum(range(100))
    child.join(LONG)
    assert child.exitcode == 0


def test_a_side_is_passed_over_a_socket():
    one, other = socket.socketpair()
    ours, theirs = Connection.pair()
    socket.send_fds(one, [b"c"], [theirs.fileno()])
    theirs.close()
    _, [number], _, _ = socket.recv_fds(other, 1, 1)
    with ours.writer(block=1 << 16) as writer:
        writer.write(b"passed on")
    passed = Connection(number)
    assert not os.get_inheritable(number)
    assert passed.join_reader().read() == b"passed on"


def test_names(folder):
    code = """
        import sys
        from eagre.process import Connection
        with Connection.connect("prices").join_writer() as writer:
            writer.write(sys.argv[1].encode() * 100_000)
    """
    with Listener("prices") as listener:
        with pytest.raises(OSError, match="somebody listens as"):
            Listener("prices")
        for word in ["one", "two"]:
            child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code), word], stderr=subprocess.PIPE, text=True)
            assert listener.accept(LONG).reader(name="prices").read() == word.encode() * 100_000
            _, err = child.communicate(timeout=LONG)
            assert child.returncode == 0, err
        with pytest.raises(TimeoutError, match="no other process has connected"):
            listener.accept(0)
    assert os.listdir(folder / "eagre") == []
    with pytest.raises(ConnectionError, match="nobody listens as"):
        Connection.connect("prices")
    with pytest.raises(ValueError, match="closed"):
        listener.accept()


def test_a_listener_that_is_closed_ends_its_waits(folder):
    listener = Listener("prices")
    raised = []

    def wait():
        try:
            listener.accept()
        except ValueError as error:
            raised.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    listener.close()
    thread.join()
    assert "closed" in str(raised[0])


def test_settings(folder):
    for settings, match in [
        ({"block": 1000}, "block is 1000"),
        ({"timeout": -1}, "timeout is -1"),
        ({"lookback": 61}, "lookback is 61 blocks"),
        ({"read_ahead": 0}, "read_ahead is 0 blocks"),
        ({"capacity": (1 << 46) + 1}, "more than 64 TiB of addresses"),
    ]:
        for end in ["writer", "reader"]:
            ours, _ = Connection.pair()
            with pytest.raises(ValueError, match=match):
                getattr(ours, end)(**settings)
    for name in ["", ".", "a/b", "n" * 200]:
        with pytest.raises(ValueError, match="is no name"):
            Listener(name)
        with pytest.raises(ValueError, match="is no name"):
            Connection.connect(name)
    with pytest.raises(ValueError, match="no open descriptor"):
        Connection(-1)
    with pytest.raises(ValueError, match="from_stdin"):
        Connection(0)
    ours, theirs = Connection.pair()
    theirs.close()
    for call in [theirs.fileno, theirs.detach, theirs.join_reader, theirs.writer]:
        with pytest.raises(ValueError, match="it is closed"):
            call()
    with pytest.raises(ConnectionError, match="has ended, or closed its connection"):
        ours.join_reader()
    with open(os.devnull) as file, pytest.raises(ConnectionError, match="pass a Connection"):
        Connection(os.dup(file.fileno())).join_writer()
    ours, theirs = Connection.pair()
    writer = ours.writer(capacity=1 << 20)
    with pytest.raises(ValueError, match="is a writer as well"):
        theirs.join_writer()
    writer.fail("none needed")


def test_a_missing_folder_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "missing"))
    with pytest.raises(OSError, match="set XDG_RUNTIME_DIR"):
        Listener("prices")


# The child ends while this process waits for it, or before.
@pytest.mark.parametrize("when", ["before", "while"])
def test_a_killed_reader_is_a_broken_pipe(when):
    with Child("reader = connection.join_reader(); print(len(reader.read(10)), flush=True); sys.stdin.close(); import signal; signal.pause()") as child:
        writer = child.connection.writer(block=1 << 16)
        writer.write(bytes(1 << 16))
        writer.flush()
        child.says("10")
        killer = threading.Thread(target=child.kill)
        killer.start()
        if when == "before":
            killer.join()
        with pytest.raises(BrokenPipeError, match="its process has ended, or runs another program"):
            writer.write(bytes(10 << 20))
        with pytest.raises(BrokenPipeError):
            writer.close()
        killer.join()


@pytest.mark.parametrize("when", ["before", "while"])
def test_a_killed_writer_is_a_connection_that_is_reset(when):
    code = """
        import signal
        writer = connection.writer(block=1 << 16)
        writer.write(b"x" * (2 << 16))
        writer.flush()
        print("written", flush=True)
        signal.pause()
    """
    with Child(code) as child:
        reader = child.connection.join_reader()
        child.says("written")
        killer = threading.Thread(target=child.kill)
        killer.start()
        if when == "before":
            killer.join()
        # What it had published is read first.
        assert reader.read(2 << 16) == b"x" * (2 << 16)
        with pytest.raises(ConnectionResetError, match="its process has ended, or runs another program"):
            reader.read(1)
        killer.join()


def test_what_the_writer_raises_reaches_the_reader():
    code = """
        with connection.writer(block=1 << 16) as writer:
            writer.write(bytes(100_000))
            raise KeyError("the key")
    """
    with Child(code) as child:
        with pytest.raises(OSError, match="KeyError: 'the key'"):
            child.connection.join_reader().read()
        child.process.communicate(timeout=LONG)
        assert child.process.returncode == 1


def test_a_reader_that_leaves_is_a_broken_pipe():
    with Child("connection.join_reader().read(10)") as child:
        writer = child.connection.writer(block=1 << 16)
        with pytest.raises(BrokenPipeError):
            while True:
                writer.write(bytes(1 << 20))
        child.succeeds()


def test_a_stopped_process_is_waited_for_as_long_as_the_stream_says():
    code = "reader = connection.join_reader(); print('joined', flush=True); import signal; signal.pause()"
    with Child(code) as child:
        writer = child.connection.writer(block=1 << 16, timeout=0.05)
        child.says("joined")
        with pytest.raises(TimeoutError, match="waited too long"):
            writer.write(bytes(10 << 20))
        child.kill()


@pytest.mark.parametrize(
    "wait", ["reader.read()", "next(reader.chunks())", "writer.write(bytes(100 << 20))", "finish()", "theirs.join_reader()", "listener.accept()"]
)
def test_a_signal_ends_a_wait(wait, folder):
    code = f"""
        import signal
        from eagre.process import Connection, Listener
        signal.signal(signal.SIGINT, signal.default_int_handler)
        ours, theirs = Connection.pair()
        listener = Listener("prices")
        if "join" not in "{wait}":
            writer, reader = ours.writer(block=1 << 16), theirs.join_reader()
        def finish():
            # The last block waits for room.
            writer.write(bytes(7 << 16))
            writer.close()
        print("waits", flush=True)
        {wait}
    """
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    # It may get the signal before it waits, or while it does: it ends in either case.
    assert child.stdout.readline() == "waits\n", child.stderr.read()
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=LONG)
    assert child.returncode in (1, -signal.SIGINT) and "KeyboardInterrupt" in err, (out, err)


def test_a_wait_leaves_the_gil_to_others():
    ours, theirs = Connection.pair()
    counted = []

    def count():
        counted.append(sum(1 for _ in range(300_000)))
        with ours.writer() as writer:
            writer.write(b"done")

    thread = threading.Thread(target=count)
    thread.start()
    with theirs.join_reader() as reader:
        assert reader.read() == b"done" and counted == [300_000]
    thread.join()


def test_a_forked_child_has_no_part_in_a_stream():
    ours, theirs = Connection.pair()
    writer, reader = ours.writer(block=1 << 16), theirs.join_reader()
    child = os.fork()
    if child == 0:
        try:
            reader.read(1)
            os._exit(1)
        except OSError as error:
            os._exit(0 if "forked child" in str(error) else 2)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    writer.write(b"still here")
    writer.close()
    assert reader.read() == b"still here"
