"""Options of the command: those of ``eagre sort`` that a cluster has, by the same names."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable

from eagre import Records
from eagre.ray._format import GENSORT

# Orders of text, as GNU sort and eagre sort name them.
LETTERS = {
    "b": "ignore leading blanks",
    "d": "compare blanks, letters and digits only",
    "f": "compare small letters as capital ones",
    "g": "compare floating-point numbers",
    "h": "compare numbers with suffixes, such as 2K and 1G",
    "i": "compare printable characters only",
    "M": "compare months",
    "n": "compare numbers",
    "V": "compare versions",
}


def size(text: str) -> int:
    """A size such as 64M: K, M, G and T are powers of 1024."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)(?:i?B)?", text, re.IGNORECASE)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no size, such as 256M or 4G")
    return int(float(found[1]) * 1024 ** " KMGT".index(found[2].upper() or " "))


def amount(what: str, least: int = 1) -> Callable[[str], int]:
    """A whole number from the least on."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"\d+", text) or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is no {what}; give {least} or more")
        return int(text)

    return parse


def add_format(parser: argparse.ArgumentParser) -> None:
    """Adds the options that say what a record is, and the order."""
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--lines", action="store_true", help="lines, which is the default")
    kind.add_argument("--gensort", action="store_true", help="records of the sort benchmark: 100 bytes, a key of 10")
    kind.add_argument("--record", metavar="LEN", type=amount("length"), help="records of LEN bytes")
    kind.add_argument("--klv", metavar="KEYLEN:LENBYTES", help="keys of KEYLEN bytes, the length of a value, the value")
    kind.add_argument("--keys", metavar="TYPE", help="numbers of TYPE: u8 to u64, i8 to i64, f32, f64")
    kind.add_argument("--csv", action="store_true", help="lines with fields in quotes, which may hold separators and newlines")
    parser.add_argument(
        "-k", "--key", metavar="KEY", action="append", default=[], help="a key: 2,2n of lines; 0:8 or 8:i64be of records"
    )
    parser.add_argument("-t", "--field-separator", metavar="SEP", help="the byte between fields")
    parser.add_argument("-r", "--reverse", action="store_true", help="the largest first")
    for letter, what in LETTERS.items():
        parser.add_argument(f"-{letter}", dest=f"order_{letter}", action="store_true", help=what)


def format_of(given: argparse.Namespace) -> Records:
    """What the options say of records."""
    letters = "".join(letter for letter in LETTERS if getattr(given, f"order_{letter}"))
    text = bool(letters or given.field_separator)
    named = next((name for name in ("gensort", "record", "klv", "keys") if getattr(given, name)), None)
    if named is not None:
        if text or (given.key and named != "record"):
            raise ValueError(f"--{named}: orders of text do not apply to it; leave -k, -t and letters out")
        if named == "record":
            return Records("fixed", record_size=given.record, keys=given.key)
        if named == "klv":
            return Records("klv", klv=given.klv)
        return GENSORT if named == "gensort" else Records("numbers", dtype=_dtype(given.keys))
    if not (text or given.key or given.csv):
        return Records()
    return Records("csv" if given.csv else "text", keys=given.key, options=letters, separator=given.field_separator)


def _dtype(name: str) -> str:
    found = re.fullmatch(r"([uif])(8|16|32|64)", name)
    if found is None or (found[1] == "f" and int(found[2]) < 32):
        raise ValueError(f"--keys: {name!r} is no type; give u8 to u64, i8 to i64, f32 or f64")
    return f"{found[1]}{int(found[2]) // 8}"
