"""Pipes: bytes arrive once and in order, failures reach the other end, and no wait holds the GIL."""

import io
import pickle
import signal
import threading

import numpy as np
import pytest

import eagre


def in_thread(work):
    """Starts a thread; what it raised is raised by the function that waits for it."""
    raised = []

    def run():
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()

    def wait():
        thread.join()
        if raised:
            raise raised[0]

    return wait


@pytest.mark.parametrize("block", [1 << 16, 1 << 20])
@pytest.mark.parametrize("piece", [1, 1000, 65_536, 5_000_000])
def test_bytes_arrive(block, piece):
    whole = np.random.default_rng(1).bytes(min(12_000_003, piece * 5000 + 3))
    writer, reader = eagre.Pipe(block)

    def produce():
        with writer:
            for start in range(0, len(whole), piece):
                writer.write(whole[start : start + piece])

    wait = in_thread(produce)
    with reader:
        assert reader.read() == whole
    wait()


def test_chunks_and_lines_arrive():
    numbers = np.arange(3_000_001, dtype="u4")
    writer, reader = eagre.Pipe(1 << 16)
    wait = in_thread(lambda: (writer.write(numbers), writer.close()))
    assert np.array_equal(np.concatenate([chunk.copy() for chunk in reader.chunks("u4")]), numbers)
    wait()
    writer, reader = eagre.Pipe()
    wait = in_thread(lambda: (pickle.dump(list(range(1000)), writer), writer.write(b"one\ntwo\n"), writer.close()))
    assert pickle.load(reader) == list(range(1000)) and list(reader) == [b"one\n", b"two\n"]
    wait()
    assert isinstance(reader, io.BufferedIOBase) and isinstance(writer, io.BufferedIOBase)


def test_both_ends_in_one_thread():
    pipe = eagre.Pipe()
    pipe.writer.write(b"few bytes")
    pipe.writer.close()
    assert pipe.reader.read() == b"few bytes" and pipe.reader.read() == b""


def test_what_the_writer_raises_reaches_the_reader():
    writer, reader = eagre.Pipe(1 << 16)

    def produce():
        with writer:
            writer.write(bytes(200_000))
            raise KeyError("the key")

    wait = in_thread(produce)
    with pytest.raises(OSError, match="KeyError: 'the key'"):
        reader.read()
    with pytest.raises(KeyError):
        wait()
    writer, reader = eagre.Pipe()
    del writer
    with pytest.raises(OSError, match="given up before it was closed"):
        reader.read()


def test_a_reader_that_leaves_is_a_broken_pipe():
    writer, reader = eagre.Pipe(1 << 16)

    def produce():
        with writer:
            while True:
                writer.write(bytes(100_000))

    wait = in_thread(produce)
    assert reader.read(10) == bytes(10)
    reader.close()
    with pytest.raises(BrokenPipeError):
        wait()


@pytest.mark.parametrize("wait", ["read", "chunk", "write"])
def test_a_signal_ends_a_wait(wait):
    def interrupted(number, frame):
        raise KeyboardInterrupt

    writer, reader = eagre.Pipe(1 << 16)
    before = signal.signal(signal.SIGALRM, interrupted)
    try:
        with pytest.raises(KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            if wait == "read":
                reader.read()
            elif wait == "chunk":
                next(reader.chunks())
            else:
                writer.write(bytes(10 << 20))
    finally:
        signal.signal(signal.SIGALRM, before)
    # The iterator over chunks has closed the stream.
    with pytest.raises((OSError, ValueError), match="closed" if wait == "chunk" else "cancelled"):
        reader.read()


@pytest.mark.parametrize("use", ["write", "close"])
def test_a_signal_handler_may_use_the_ends_of_a_stream_that_waits(use):
    """It runs while the thread waits. What it writes ends the wait, and so does closing the end that waits."""
    writer, reader = eagre.Pipe(1 << 16)

    def handle(number, frame):
        if use == "write":
            writer.write(b"x" * (1 << 16))
            writer.flush()
        else:
            reader.raw.close()

    before = signal.signal(signal.SIGALRM, handle)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        if use == "write":
            assert reader.read(1 << 16) == b"x" * (1 << 16)
        else:
            with pytest.raises(ValueError, match="closed file"):
                next(reader.chunks())
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_wait_leaves_the_gil_to_others():
    writer, reader = eagre.Pipe(1 << 16)
    counted = 0

    def count():
        nonlocal counted
        for _ in range(100_000):
            counted += 1
        writer.write(b"done")
        writer.close()

    wait = in_thread(count)
    assert reader.read() == b"done" and counted == 100_000
    wait()


def test_a_block_is_a_power_of_two():
    with pytest.raises(ValueError, match="block is 1000; give a power of two"):
        eagre.Pipe(1000)
