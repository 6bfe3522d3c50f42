"""Streams between hosts, over loopback: bytes and arrays arrive, strangers do not, and no wait is for ever or holds the GIL."""

import ctypes.util
import io
import signal
import socket
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import eagre

TOKEN = b"not a secret, but long enough"
# A busy machine is not mistaken for a dead one.
PATIENT = {"retry": 120, "silence": 120}


def in_thread(work):
    """Starts a thread; what it raised is raised by the function that waits for it, which returns what it returned."""
    ended = []

    def run():
        try:
            ended.append((work(), None))
        except BaseException as error:
            ended.append((None, error))

    thread = threading.Thread(target=run)
    thread.start()

    def wait():
        thread.join()
        result, error = ended[0]
        if error is not None:
            raise error
        return result

    return wait


def opened(calls, **settings):
    """A stream whose writer is the side that calls, or the other one."""
    with eagre.Listener("127.0.0.1:0", **PATIENT, **settings) as listener:
        connector = eagre.Connector(listener.address, **PATIENT, **settings)
        wait = in_thread(lambda: (connector.writer if calls else connector.reader)("stream"))
        here = (listener.reader if calls else listener.writer)("stream")
        there = wait()
    return (there, here) if calls else (here, there)


@pytest.mark.skipif(ctypes.util.find_library("fabric") is None, reason="no libfabric")
@pytest.mark.parametrize("calls", [True, False])
@pytest.mark.parametrize("rdma", ["tcp", "tcp,copy,unchecked", "shm", "shm,each-block"])
def test_bytes_arrive_by_rdma(calls, rdma):
    whole = np.random.default_rng(1).bytes(9_000_001)
    writer, reader = opened(calls, rdma=rdma)

    def write():
        with writer:
            for at in range(0, len(whole), 1_000_000):
                writer.write(whole[at : at + 1_000_000])

    wait = in_thread(write)
    with reader:
        assert reader.read() == whole
    wait()


def test_sides_must_agree_on_rdma():
    with pytest.raises(ValueError, match="use tcp, verbs or shm"):
        eagre.Connector("127.0.0.1", rdma="carrier pigeons")
    with eagre.Listener("127.0.0.1:0", **PATIENT, rdma="tcp") as listener:
        wait = in_thread(lambda: eagre.Connector(listener.address, **PATIENT).writer("stream"))
        with pytest.raises(ValueError, match="say the same on both sides"):
            listener.reader("stream")
        with pytest.raises(ConnectionError, match="say the same on both sides"):
            wait()


@pytest.mark.parametrize("calls", [True, False])
@pytest.mark.parametrize("settings", [{}, {"token": TOKEN}, {"block": 1 << 16, "window": 1 << 18}])
@pytest.mark.parametrize("piece", [1000, 3_000_001])
def test_bytes_arrive(calls, settings, piece):
    whole = np.random.default_rng(1).bytes(min(9_000_001, piece * 2000 + 3))
    writer, reader = opened(calls, **settings)

    def produce():
        with writer:
            for start in range(0, len(whole), piece):
                writer.write(whole[start : start + piece])

    wait = in_thread(produce)
    with reader:
        assert reader.read() == whole
    wait()
    assert isinstance(reader, io.BufferedIOBase) and isinstance(writer, io.BufferedIOBase)


@pytest.mark.parametrize("calls", [True, False])
@pytest.mark.parametrize("dtype", ["u8", "S24"])
def test_arrays_arrive(calls, dtype):
    numbers = np.random.default_rng(2).integers(0, 2**62, 600_000, dtype="u8").view(dtype)
    writer, reader = opened(calls, token=TOKEN, block=1 << 16, window=1 << 19)
    wait = in_thread(lambda: (writer.write(numbers), writer.close()))
    assert np.array_equal(np.concatenate([chunk.copy() for chunk in reader.chunks(dtype)]), numbers)
    wait()


@pytest.mark.parametrize("calls", [True, False])
def test_nothing_arrives(calls):
    writer, reader = opened(calls)
    wait = in_thread(writer.close)
    assert reader.read() == b""
    reader.close()
    wait()


def test_many_streams_over_one_listener():
    with eagre.Listener("127.0.0.1:0", **PATIENT) as listener:
        connector = eagre.Connector(listener.address, **PATIENT)

        def produce(number):
            with connector.writer(f"stream {number}", length=1000 * number) as writer:
                writer.write(bytes([number]) * 1000 * number)

        def consume(number):
            with listener.reader(f"stream {number}") as reader:
                return reader.read()

        waits = [(in_thread(lambda n=n: produce(n)), in_thread(lambda n=n: consume(n))) for n in range(6)]
        for number, (produced, consumed) in enumerate(waits):
            produced()
            assert consumed() == bytes([number]) * 1000 * number


@pytest.mark.parametrize("calls", [True, False])
@pytest.mark.parametrize("accepts", [True, False])
@pytest.mark.parametrize("source", ["file", "pipe"])
def test_attached_streams_arrive(tmp_path, calls, accepts, source):
    """What is sent comes from a file or a pipe, and goes into a pipe; Python only starts it."""
    whole = np.random.default_rng(3).bytes(7_000_001)
    (tmp_path / "file").write_bytes(whole)
    into = eagre.Pipe(1 << 16)
    produced = lambda: None
    if source == "file":
        reader = eagre.open(tmp_path / "file")
    else:
        pipe = eagre.Pipe(1 << 16)
        reader, produced = pipe.reader, in_thread(lambda: (pipe.writer.write(whole), pipe.writer.close()))
    with eagre.Listener("127.0.0.1:0", token=TOKEN, **PATIENT) as listener:
        connector = eagre.Connector(listener.address, token=TOKEN, **PATIENT)
        send, receive = lambda side, *name: side.send_from(*name, reader), lambda side, *name: side.receive_into(*name, into.writer)
        there, here = (send, receive) if calls else (receive, send)
        wait = in_thread(lambda: there(connector, "stream").join())
        if accepts:
            offer = listener.accept(timeout=60)
            assert offer.name == "stream" and offer.peer_writes == calls and offer.peer.startswith("127.0.0.1:")
            transfer = here(offer)
            with pytest.raises(ValueError, match="used once"):
                offer.writer()
        else:
            transfer = here(listener, "stream")
        assert into.reader.read() == whole
        carried = transfer.join()
        assert carried == wait() and carried.bytes == len(whole) and len(carried.digest) == 32
        produced()
        with pytest.raises(ValueError, match="joined it already"):
            transfer.join()
        with pytest.raises(ValueError, match="closed"):
            reader.read()


def test_offers():
    with eagre.Listener("127.0.0.1:0", **PATIENT) as listener:
        connector = eagre.Connector(listener.address, **PATIENT)
        with pytest.raises(TimeoutError, match="nobody called"):
            listener.accept(timeout=0.01)
        wait = in_thread(lambda: connector.writer("there"))
        reader = listener.accept().reader()
        with wait() as writer:
            writer.write(b"text")
        assert reader.read() == b"text"
        wait = in_thread(lambda: connector.reader("back"))
        with listener.accept().writer() as writer:
            reader = wait()
        assert reader.read() == b""
        wait = in_thread(lambda: connector.reader("refused"))
        offer = listener.accept()
        offer.refuse("not today")
        with pytest.raises(ConnectionError, match="not today"):
            wait()
        with pytest.raises(ValueError, match="used once"):
            offer.refuse("again")
        wait = in_thread(lambda: connector.reader("stays"))
        offer, closed = listener.accept(), eagre.Pipe()
        closed.reader.close()
        with pytest.raises(ValueError, match="the reader is closed"):
            offer.send_from(closed.reader)
        with offer.writer() as writer:
            reader = wait()
        assert reader.read() == b""
        wait = in_thread(lambda: connector.reader("both"))
        with pytest.raises(OSError, match="both sides want to do the same"):
            listener.accept().reader()
        with pytest.raises(ConnectionError):
            wait()


def test_only_whole_streams_are_attached(tmp_path):
    (tmp_path / "file").write_bytes(b"some text")
    connector = eagre.Connector("127.0.0.1:1", retry=0)
    file = eagre.open(tmp_path / "file")
    file.read(1)
    pipe = eagre.Pipe()
    pipe.writer.write(b"x")
    with eagre.create(tmp_path / "new") as new:
        for attach in [
            lambda: connector.send_from("x", file),
            lambda: connector.receive_into("x", pipe.writer),
            lambda: connector.receive_into("x", new),
        ]:
            with pytest.raises(ValueError, match="was read|was written|is closed"):
                attach()
        new.write(b"still here")
    assert (tmp_path / "new").read_bytes() == b"still here" and file.read() == b"ome text"
    # Where nobody answers, the stream is given up.
    with pytest.raises(ConnectionError):
        connector.send_from("x", eagre.open(tmp_path / "file"))


def test_strangers_are_refused():
    with eagre.Listener("127.0.0.1:0", token=TOKEN, **PATIENT) as listener:
        for settings in [{"token": b"another one of many bytes"}, {}]:
            connector = eagre.Connector(listener.address, **PATIENT, **settings)
            with pytest.raises(PermissionError, match="same token"):
                connector.writer("x")
            with pytest.raises(PermissionError, match="same token"):
                connector.reader("x")
    # Nobody listens at a port that is only taken.
    with socket.socket() as quiet:
        quiet.bind(("127.0.0.1", 0))
        with pytest.raises(ConnectionError, match="check that the other side runs"):
            eagre.Connector(f"127.0.0.1:{quiet.getsockname()[1]}", token=TOKEN, retry=0).writer("x")


def test_token_files(tmp_path):
    file = tmp_path / "token"
    file.write_bytes(TOKEN + b"\n")
    file.chmod(0o600)
    with eagre.Listener("127.0.0.1:0", token_file=file, **PATIENT) as listener:
        wait = in_thread(lambda: listener.reader("x").read())
        with eagre.Connector(listener.address, token=TOKEN, **PATIENT).writer("x") as writer:
            writer.write(b"text")
        assert wait() == b"text"
    file.chmod(0o644)
    with pytest.raises(ValueError, match="token"):
        eagre.Connector("127.0.0.1", token_file=file)


def test_settings():
    for settings, match in [
        ({"token": b"short"}, "a token of 5 bytes"),
        ({"token": TOKEN, "insecure_plain": True}, "give one of"),
        ({"peers": ["sha256:00"]}, "without an identity"),
        ({"identity": "/nowhere", "peers": ["sha256:00"]}, "no fingerprint"),
        ({"token_file": "/nowhere/token"}, "/nowhere/token"),
        ({"block": 1000}, "block is 1000"),
        ({"retry": -1}, "retry is -1"),
        ({"silence": float("nan")}, "silence is NaN"),
    ]:
        with pytest.raises(ValueError, match=match):
            eagre.Connector("127.0.0.1", **settings)
        with pytest.raises(ValueError, match=match):
            eagre.Listener("127.0.0.1:0", **settings)
    with pytest.raises(ValueError, match="a port is a number"):
        eagre.Connector("host:port")
    with pytest.raises(ValueError, match="needs a token or keys"):
        eagre.Connector("192.0.2.1").writer("x")
    with pytest.raises(ValueError, match="needs a token or keys"):
        eagre.Listener("0.0.0.0:0")
    with eagre.Listener("127.0.0.1:0") as listener:
        with pytest.raises(OSError, match="name another port"):
            eagre.Listener(listener.address)
        with pytest.raises(TimeoutError, match="nobody called"):
            listener.reader("x", timeout=0)
        with pytest.raises(ValueError, match="timeout is -1"):
            listener.writer("x", timeout=-1)


@pytest.mark.parametrize("calls", [True, False])
def test_what_the_writer_raises_reaches_the_reader(calls):
    writer, reader = opened(calls, block=1 << 16, window=1 << 18)

    def produce():
        with writer:
            writer.write(bytes(100_000))
            raise KeyError("the key")

    wait = in_thread(produce)
    with pytest.raises(OSError, match="the other side gave up.*KeyError: 'the key'"):
        reader.read()
    with pytest.raises(KeyError):
        wait()
    writer, reader = opened(calls)
    writer.write(b"half")
    del writer
    with pytest.raises(OSError, match="given up before it was closed"):
        reader.read()


@pytest.mark.parametrize("calls", [True, False])
def test_a_reader_that_leaves_is_an_error_of_the_writer(calls):
    writer, reader = opened(calls, block=1 << 16, window=1 << 18)
    writer.write(bytes(1 << 17))
    writer.flush()
    assert reader.read(10) == bytes(10)
    reader.close()
    with pytest.raises(OSError, match="the other side gave up"):
        while True:
            writer.write(bytes(1 << 17))
    with pytest.raises(OSError, match="the other side gave up"):
        writer.close()


def test_a_listener_that_is_closed_ends_its_waits():
    listener = eagre.Listener("127.0.0.1:0")
    wait = in_thread(lambda: listener.reader("x"))
    listener.close()
    with pytest.raises(ValueError, match="closed"):
        wait()
    with pytest.raises(ValueError, match="closed"):
        listener.writer("x")
    listener.close()


def interrupted(code):
    """Runs code in a process, which gets a SIGINT once it says so; it must end by that."""
    code = "import signal, sys, eagre\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n" + textwrap.dedent(code)
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    # It may get the signal before it waits, or while it does: it ends in either case.
    assert child.stdout.readline() == "waits\n", child.stderr.read()
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=300)
    # The time that the wait would take is an hour.
    assert child.returncode in (1, -signal.SIGINT) and "KeyboardInterrupt" in err, (out, err)


@pytest.mark.parametrize("end", ["writer", "reader"])
def test_a_signal_ends_a_wait_for_a_caller(end):
    interrupted(
        f"""
        listener = eagre.Listener("127.0.0.1:0")
        print("waits", flush=True)
        listener.{end}("x")
        """
    )


@pytest.mark.parametrize("end", ["writer", "reader"])
@pytest.mark.parametrize("settings", ["", "token=b'0123456789abcdef', "])
def test_a_signal_ends_a_call(end, settings):
    interrupted(
        f"""
        listener = eagre.Listener("127.0.0.1:0", {settings}silence=3600)
        connector = eagre.Connector(listener.address, {settings}retry=3600, silence=3600)
        print("waits", flush=True)
        connector.{end}("x")
        """
    )
    # Nobody listens at the discard port, or at all.
    interrupted(
        f"""
        connector = eagre.Connector("127.0.0.1:9", {settings}retry=3600)
        print("waits", flush=True)
        connector.{end}("x")
        """
    )


@pytest.mark.parametrize("wait", ["reader.read()", "next(reader.chunks())", "writer.write(bytes(100 << 20))", "finish()"])
def test_a_signal_ends_a_wait_for_the_other_end(wait):
    interrupted(
        f"""
        import threading
        settings = dict(block=1 << 16, window=1 << 18, silence=3600)
        listener = eagre.Listener("127.0.0.1:0", **settings)
        ends = []
        calling = threading.Thread(target=lambda: ends.append(eagre.Connector(listener.address, **settings).writer("x")))
        calling.start()
        reader = listener.reader("x")
        calling.join()
        writer = ends.pop()
        def finish():
            # The reader's side has room for 5 of these blocks; the others fit on this side, and closing waits for them.
            writer.write(bytes(9 << 16))
            writer.close()
        print("waits", flush=True)
        {wait}
        """
    )


def test_a_call_that_was_ended_takes_no_stream():
    def raised(number, frame):
        raise KeyboardInterrupt

    with eagre.Listener("127.0.0.1:0", **PATIENT) as listener:
        connector = eagre.Connector(listener.address, **PATIENT)
        before = signal.signal(signal.SIGALRM, raised)
        try:
            with pytest.raises(KeyboardInterrupt):
                signal.setitimer(signal.ITIMER_REAL, 0.2)
                connector.writer("x")
        finally:
            signal.signal(signal.SIGALRM, before)
        wait = in_thread(lambda: listener.reader("x").read())
        with connector.writer("x") as writer:
            writer.write(b"text")
        assert wait() == b"text"


def test_a_wait_leaves_the_gil_to_others():
    with eagre.Listener("127.0.0.1:0", **PATIENT) as listener:
        counted = []

        def count():
            counted.append(sum(1 for _ in range(300_000)))
            with eagre.Connector(listener.address, **PATIENT).writer("x") as writer:
                counted.append(sum(1 for _ in range(300_000)))
                writer.write(b"done")

        wait = in_thread(count)
        with listener.reader("x") as reader:
            assert reader.read() == b"done" and counted == [300_000] * 2
        wait()


def test_a_program_that_ends_early_says_so():
    """A reader that leaves at once, in a program that ends at once, is no connection that is lost."""
    code = """
        import sys, eagre
        with eagre.Connector(sys.argv[1], retry=120, silence=120).reader("x") as reader:
            assert reader.read(10) == bytes(10)
    """
    with eagre.Listener("127.0.0.1:0", **PATIENT) as listener:
        child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code), listener.address], stderr=subprocess.PIPE, text=True)
        writer = listener.writer("x")
        with pytest.raises(OSError, match="the other side gave up"):
            while True:
                writer.write(bytes(1 << 20))
        _, err = child.communicate(timeout=300)
        assert child.returncode == 0, err


def test_between_processes():
    """An exception in a program that ends by it reaches the other one."""
    code = """
        import sys, eagre
        with eagre.Connector(sys.argv[1], retry=120, silence=120).writer("x") as writer:
            writer.write(bytes(3 << 20))
            if sys.argv[2] == "fails":
                raise KeyError("the key")
    """
    for way in ["succeeds", "fails"]:
        with eagre.Listener("127.0.0.1:0", **PATIENT) as listener:
            arguments = [sys.executable, "-c", textwrap.dedent(code), listener.address, way]
            child = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)
            reader = listener.reader("x")
            if way == "succeeds":
                assert reader.read() == bytes(3 << 20)
            else:
                with pytest.raises(OSError, match="KeyError: 'the key'"):
                    reader.read()
            reader.close()
            _, err = child.communicate(timeout=300)
            assert child.returncode == (way == "fails"), err
