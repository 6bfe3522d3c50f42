"""Python's faulthandler is enabled when a stream is open already. Argument: the shared library. Pointers go on working,
and a real crash is still faulthandler's to tell. Exit status 77: no signal trap here."""

import ctypes
import faulthandler
import subprocess
import sys

SIGNAL, UNAVAILABLE = 2, 66
BLOCK = 64 << 10
LENGTH = 40 * BLOCK


class Options(ctypes.Structure):
    """The beginning of EagreOptions, version 1."""

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


def main(library, crash):
    eagre = ctypes.CDLL(library)
    for name in ("eagre_writer_pointer", "eagre_reader_pointer"):
        getattr(eagre, name).restype = ctypes.c_void_p
    eagre.eagre_last_error.restype = ctypes.c_char_p
    options, writer, reader = Options(), ctypes.c_void_p(), ctypes.c_void_p()
    assert eagre.eagre_options_default(ctypes.byref(options), ctypes.c_size_t(ctypes.sizeof(options))) == 0
    options.trap, options.block_size, options.read_ahead = SIGNAL, BLOCK, 60
    status = eagre.eagre_open(ctypes.byref(options), ctypes.byref(writer), ctypes.byref(reader))
    if status == UNAVAILABLE:
        print("skipped:", eagre.eagre_last_error().decode())
        sys.exit(77)
    assert status == 0, eagre.eagre_last_error()

    faulthandler.enable()
    to = eagre.eagre_writer_pointer(writer)
    for at in range(0, LENGTH, BLOCK):
        ctypes.memset(to + at, 7, BLOCK)
    faulthandler.disable()
    faulthandler.enable()
    assert eagre.eagre_writer_finish_at(writer, ctypes.c_uint64(LENGTH)) == 0, eagre.eagre_last_error()
    read = eagre.eagre_reader_pointer(reader)
    assert len(ctypes.string_at(read)) == LENGTH
    eagre.eagre_writer_close(writer)
    eagre.eagre_reader_close(reader)
    if crash:
        ctypes.string_at(8)


if len(sys.argv) > 2:
    main(sys.argv[1], True)
main(sys.argv[1], False)
told = subprocess.run([sys.executable, *sys.argv, "crash"], stderr=subprocess.PIPE, check=False)
assert told.returncode < 0 and b"Fatal Python error: Segmentation fault" in told.stderr, told
print("ok")
