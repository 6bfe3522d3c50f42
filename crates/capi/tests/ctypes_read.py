"""System calls on stream pointers, from Python with nothing but ctypes: read, recv and fread fill the writer's pointer,
write, send and fwrite empty the reader's. Argument: the shared library. Exit status 77: no pager here.

ctypes lets other Python threads run while a foreign function is called, so a call may wait for the other end.
"""

import ctypes
import hashlib
import os
import socket
import sys
import tempfile
import threading

eagre = ctypes.CDLL(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)

MIB = 1 << 20
# Lengths of single calls: within a page, within a block, over a border, over many blocks.
LENGTHS = [1, 4095, 4097, 65536, 3 * MIB + 1, 2 * MIB, 33 * MIB + 7, 64 * MIB, 5]
TOTAL = sum(LENGTHS)
PAGER, UNAVAILABLE = 1, 66


class Options(ctypes.Structure):
    """EagreOptions, version 1."""

    _fields_ = [
        ("size", ctypes.c_uint32),
        ("version", ctypes.c_uint32),
        ("name", ctypes.c_char_p),
        ("block_size", ctypes.c_uint64),
        ("rewrite", ctypes.c_uint32),
        ("lookback", ctypes.c_uint32),
        ("read_ahead", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("capacity", ctypes.c_uint64),
        ("length", ctypes.c_uint64),
        ("timeout_ns", ctypes.c_uint64),
        ("trap", ctypes.c_int32),
        ("mover", ctypes.c_int32),
        ("pool", ctypes.c_void_p),
    ]


def declare(library, name, result, *arguments):
    function = getattr(library, name)
    function.restype, function.argtypes = result, arguments


SIZE, PTR, INT, U64 = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64
declare(eagre, "eagre_options_default", INT, PTR, SIZE)
declare(eagre, "eagre_open", INT, PTR, PTR, PTR)
declare(eagre, "eagre_writer_pointer", PTR, PTR)
declare(eagre, "eagre_reader_pointer", PTR, PTR)
declare(eagre, "eagre_writer_finish_at", INT, PTR, U64)
declare(eagre, "eagre_reader_check", INT, PTR)
declare(eagre, "eagre_writer_close", None, PTR)
declare(eagre, "eagre_reader_close", None, PTR)
declare(eagre, "eagre_last_error", ctypes.c_char_p)
for name in ("read", "write"):
    declare(libc, name, ctypes.c_ssize_t, INT, PTR, SIZE)
for name in ("recv", "send"):
    declare(libc, name, ctypes.c_ssize_t, INT, PTR, SIZE, INT)
for name in ("fread", "fwrite"):
    declare(libc, name, SIZE, PTR, SIZE, SIZE, PTR)
declare(libc, "fopen", PTR, ctypes.c_char_p, ctypes.c_char_p)
declare(libc, "fclose", INT, PTR)


def ok(status):
    if status != 0:
        raise SystemExit("eagre: " + eagre.eagre_last_error().decode())


def open_stream():
    options, writer, reader = Options(), PTR(), PTR()
    ok(eagre.eagre_options_default(ctypes.byref(options), ctypes.sizeof(options)))
    options.trap, options.timeout_ns = PAGER, 20 * 10**9
    status = eagre.eagre_open(ctypes.byref(options), ctypes.byref(writer), ctypes.byref(reader))
    if status == UNAVAILABLE:
        print("skipped:", eagre.eagre_last_error().decode())
        sys.exit(77)
    ok(status)
    return writer, reader


def all_of(call, what):
    """Makes calls of the lengths above at rising offsets, each repeated until its length is done."""
    at = 0
    for length in LENGTHS:
        end = at + length
        while at < end:
            done = call(at, end - at)
            if done <= 0:
                raise SystemExit(f"{what}: {done} at {at}: {os.strerror(ctypes.get_errno())}")
            at += done


def fill(kind, base, source):
    if kind == "read":
        with open(source, "rb", buffering=0) as file:
            all_of(lambda at, n: libc.read(file.fileno(), base + at, n), kind)
    elif kind == "fread":
        file = libc.fopen(source.encode(), b"rb")
        all_of(lambda at, n: libc.fread(base + at, 1, n, file), kind)
        libc.fclose(file)
    else:
        near, far = socket.socketpair()
        with near, far, open(source, "rb") as file:
            sender = threading.Thread(target=lambda: far.sendall(file.read()))
            sender.start()
            waitall = socket.MSG_WAITALL
            all_of(lambda at, n: libc.recv(near.fileno(), base + at, n, waitall), kind)
            sender.join()


def empty(kind, base, target):
    if kind == "write":
        with open(target, "wb", buffering=0) as file:
            all_of(lambda at, n: libc.write(file.fileno(), base + at, n), kind)
    elif kind == "fwrite":
        file = libc.fopen(target.encode(), b"wb")
        all_of(lambda at, n: libc.fwrite(base + at, 1, n, file), kind)
        libc.fclose(file)
    else:
        near, far = socket.socketpair()
        with near, far, open(target, "wb") as file:

            def receive():
                while piece := far.recv(1 << 20):
                    file.write(piece)

            receiver = threading.Thread(target=receive)
            receiver.start()
            all_of(lambda at, n: libc.send(near.fileno(), base + at, n, 0), kind)
            near.shutdown(socket.SHUT_WR)
            receiver.join()


def copy(filling, emptying, source, target):
    writer, reader = open_stream()
    failed = []

    def consume():
        try:
            empty(emptying, eagre.eagre_reader_pointer(reader), target)
        except SystemExit as error:
            failed.append(error)
        finally:
            status = eagre.eagre_reader_check(reader)
            eagre.eagre_reader_close(reader)
            if status != 0:
                failed.append(f"the reader's stream failed: {status}")

    consumer = threading.Thread(target=consume)
    consumer.start()
    fill(filling, eagre.eagre_writer_pointer(writer), source)
    ok(eagre.eagre_writer_finish_at(writer, TOTAL))
    consumer.join()
    eagre.eagre_writer_close(writer)
    if failed:
        raise SystemExit(f"{filling} to {emptying}: {failed[0]}")


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha1(file.read()).hexdigest()


def main():
    with tempfile.TemporaryDirectory() as folder:
        source, target = os.path.join(folder, "source"), os.path.join(folder, "target")
        with open(source, "wb") as file:
            piece = os.urandom(MIB + 1)
            for _ in range(TOTAL // len(piece) + 1):
                file.write(piece)
            file.truncate(TOTAL)
        expected = digest(source)
        for filling, emptying in (("read", "write"), ("recv", "send"), ("fread", "fwrite")):
            copy(filling, emptying, source, target)
            if digest(target) != expected:
                raise SystemExit(f"{filling} to {emptying}: other bytes came out")
            print(f"{filling} to {emptying}: {TOTAL} bytes")


main()
