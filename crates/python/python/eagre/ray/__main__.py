"""``python -m eagre.ray``: generate, sort and check on a cluster.

Exit status: 0 on success; 1 if ``check`` finds something wrong; 2 in case of trouble; 130 if it was interrupted.
"""

from __future__ import annotations

import argparse
import json
import logging
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

import ray

from eagre.ray import _checking, _generating, _sorting
from eagre.ray._cluster import connect
from eagre.ray._format import Format
from eagre.ray._model import Machine, model_of
from eagre.ray._options import add_format, amount, format_of, size
from eagre.ray._plan import Plan


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m eagre.ray", description="Sort files on a cluster of Ray.", add_help=False)
    parser.add_argument("--help", action="help", help="show this")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, help: str) -> argparse.ArgumentParser:
        # -h is an order of lines.
        made = commands.add_parser(name, help=help, description=help, add_help=False)
        made.add_argument("--help", action="help", help="show this")
        made.add_argument("--address", help="the cluster: HOST:PORT; by default the one of RAY_ADDRESS or of this machine")
        made.add_argument("--json", action="store_true", help="print one object")
        made.add_argument("--no-progress", action="store_true", help="show no progress (it is shown on a terminal only)")
        return made

    gen = command("gen", "Write records of the sort benchmark as files of a folder.")
    gen.add_argument("records", metavar="RECORDS", type=amount("number", 0), help="how many")
    gen.add_argument("folder", metavar="DIR", help="a path or URL")
    gen.add_argument("-a", "--ascii", action="store_true", help="lines of printable characters")
    gen.add_argument("-s", "--skew", action="store_true", help="keys, many of which have a common prefix")
    gen.add_argument("-b", "--first", metavar="R", type=amount("number", 0), default=0, help="start with record number R")
    gen.add_argument("--files", metavar="N", type=amount("number"), help="write N files")

    sort = command("sort", "Sort files into a folder of parts.")
    sort.add_argument("inputs", metavar="IN", nargs="+", help="a file, or a folder of files: a path or URL")
    sort.add_argument("output", metavar="OUT", help="a folder: a path or URL")
    add_format(sort)
    sort.add_argument("-S", "--memory", metavar="SIZE", type=size, help="memory of a task")
    sort.add_argument("--parts", metavar="N", type=amount("number"), help="write N files")
    sort.add_argument("--piece", metavar="SIZE", type=size, help="how much a map task sorts")
    sort.add_argument("--boundaries", choices=("sample", "uniform"), default="sample", help="where parts begin")
    sort.add_argument("--overwrite", action="store_true", help="replace an output of before")
    sort.add_argument("--explain", action="store_true", help="print the plan")

    check = command("check", "Say whether an output is whole, in order, and has the records of the input.")
    check.add_argument("output", metavar="OUT", help="a folder that sort has written")
    add_format(check)
    check.add_argument("--against", metavar="IN", action="append", help="a file or folder with the same records")

    model = command("model", "Say what a sort takes at least, on a cluster that need not exist.")
    model.add_argument("bytes", metavar="SIZE", type=size, help="how much to sort, such as 100T")
    add_format(model)
    model.add_argument("--nodes", metavar="N", type=amount("number"), default=40, help="how many nodes [default: 40]")
    options: list[tuple[str, Callable[[str], Any], str]] = [
        ("processors", amount("number"), "of a node"),
        ("memory", size, "of a node"),
        ("network", float, "GB/s of a node, one way"),
        ("disk", float, "GB/s of a node's disks"),
        ("price", float, "$ per hour of a node"),
        ("reads", float, "$ per million requests that read"),
        ("writes", float, "$ per million requests that write"),
    ]
    for name, kind, help in options:
        default = getattr(Machine, name)
        model.add_argument(f"--{name}", type=kind, default=default, metavar="X", help=f"{help} [default: {default}]")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command, and returns its exit status."""
    given = _parser().parse_args(arguments)
    try:
        format = None if given.command == "gen" else format_of(given)
        if given.command == "model":
            return _model(given, format)
        connect(given.address, logging_level=logging.ERROR, log_to_driver=False)
        # Who stops it by a signal gets the same as by Ctrl-C. Ray has just set a handler of its own.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        return int(_COMMANDS[given.command](given, format))
    except KeyboardInterrupt:
        return _say(given.command, "it was interrupted", 130)
    except (ValueError, TypeError, OSError, MemoryError, RuntimeError, ImportError, ray.exceptions.RayError) as error:
        return _say(given.command, _text(error), 2)


def _text(error: BaseException) -> str:
    """What is wrong, in one line."""
    text = str(error)
    if isinstance(error, OSError) and error.strerror:
        text = error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"
    return text.replace("\n", " ") or type(error).__name__


def _say(command: str, what: str, status: int) -> int:
    what = what.removeprefix("eagre.ray: ")
    print(f"eagre.ray: {command}: {what}", file=sys.stderr)
    return status


def _progress(given: argparse.Namespace) -> Any:
    if given.no_progress or not sys.stderr.isatty():
        return None

    def show(phase: str, done: int, total: int) -> None:
        if total:
            end = "\n" if done == total else ""
            print(f"\r\x1b[K{given.command}: {phase}: {done} of {total} tasks", end=end, file=sys.stderr, flush=True)

    return show


def _gen(given: argparse.Namespace, format: Any) -> int:
    options = {"first": given.first, "ascii": given.ascii, "skew": given.skew, "files": given.files}
    written = _generating.generate(given.folder, given.records, progress=_progress(given), **options)
    if given.json:
        print(json.dumps({"records": given.records, "bytes": written}))
    return 0


def _sort(given: argparse.Namespace, format: Any) -> int:
    def explain(plan: Plan) -> None:
        for line in plan.explain().splitlines():
            print(f"eagre.ray: explain: {line}", file=sys.stderr)

    done = _sorting.sort(
        given.inputs,
        given.output,
        format=format,
        descending=given.reverse,
        boundaries=given.boundaries,
        memory=given.memory,
        parts=given.parts,
        piece=given.piece,
        overwrite=given.overwrite,
        progress=_progress(given),
        explain=explain if given.explain else None,
    )
    if given.explain:
        for phase, seconds in done.seconds.items():
            print(f"eagre.ray: explain: {phase}: {seconds:.3f} s", file=sys.stderr)
        print(f"eagre.ray: explain: largest part: {done.balance:.2f} times the mean", file=sys.stderr)
    if given.json:
        about = {"records": done.records, "bytes": done.bytes, "balance": done.balance, "seconds": done.seconds}
        plan = {name: getattr(done.plan, name) for name in ("pieces", "piece", "groups", "fan", "merges", "memory")}
        print(json.dumps({**about, "plan": plan, "parts": [part.to_json() for part in done.parts]}))
    return 0


def _check(given: argparse.Namespace, format: Any) -> int:
    found = _checking.check(
        given.output, format=format, descending=given.reverse, against=given.against, progress=_progress(given)
    )
    lines = {
        "records": found.records,
        "checksum": f"{found.sum:032x}",
        "duplicate keys": found.duplicates,
        "unordered records": found.unordered,
        "parts": found.parts,
    }
    if found.same is not None:
        lines["same records"] = found.same
    if given.json:
        print(json.dumps({**lines, "wrong": found.wrong}))
    else:
        for name, value in lines.items():
            shown = ("no", "yes")[value] if isinstance(value, bool) else value
            print(f"{name}: {shown}")
        for line in found.wrong:
            print(f"eagre.ray: check: {line}", file=sys.stderr)
    return 0 if found.is_right else 1


def _model(given: argparse.Namespace, format: Any) -> int:
    machine = Machine(**{field.name: getattr(given, field.name) for field in fields(Machine)})
    model = model_of(given.bytes, given.nodes, machine, Format.of(format, given.reverse))
    if given.json:
        seconds = {"seconds": model.seconds, "cost": model.cost(model.seconds)}
        print(json.dumps({"reads": model.reads, "writes": model.writes, "spilled": model.spilled, **seconds}))
    else:
        print(model.explain())
    return 0


_COMMANDS = {"gen": _gen, "sort": _sort, "check": _check}

if __name__ == "__main__":
    sys.exit(main())
