"""The output: a folder of parts, and the manifest that says that it is whole."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from eagre.ray._files import Files, base, hidden, joined

MANIFEST = "manifest.json"
VERSION = 1
# The name of a field is bytes, too.
Key = bytes


@dataclass(frozen=True)
class Part:
    """A file of the output.

    ``sum`` is that of ``eagre.check_file``. ``first`` and ``last`` are keys in the form of ``eagre.record_keys``, ``None`` of a
    part without records.
    """

    name: str
    bytes: int
    records: int
    sum: int
    first: Key | None
    last: Key | None

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "bytes": self.bytes,
            "records": self.records,
            "checksum": f"{self.sum:032x}",
            "first": None if self.first is None else self.first.hex(),
            "last": None if self.last is None else self.last.hex(),
        }

    @staticmethod
    def from_json(part: dict[str, Any]) -> Part:
        first, last = (None if part[end] is None else Key.fromhex(part[end]) for end in ("first", "last"))
        return Part(part["name"], part["bytes"], part["records"], int(part["checksum"], 16), first, last)


def name_of(number: int) -> str:
    return f"part-{number:05d}"


class Folder:
    """The folder of an output that is being written: in the end it is whole, or as it was.

    Its old output is removed by ``begin``, before the first part is written.
    """

    def __init__(self, files: Files, path: str, token: str, overwrite: bool) -> None:
        self._files, self._path, self._token = files, path, token
        self._made = False
        there = files.list(path) or []
        if [entry for entry, _ in there if entry == path]:
            raise FileExistsError(17, f"write: {path}: it is a file; name a folder")
        foreign = [base(entry) for entry, _ in there if not self._is_ours(base(entry))]
        if there and not overwrite:
            raise FileExistsError(17, f"write: {path}: the folder is not empty; use overwrite, or another one")
        if foreign:
            text = f"write: {path}: {foreign[0]} is no part of an output; remove it, or use another folder"
            raise FileExistsError(17, text)

    def _is_ours(self, name: str) -> bool:
        # The last is a file that a killed worker wrote where files cannot be nameless (NFS).
        pattern = rf"part-\d{{5,}}|\.(part-\d{{5,}}|{MANIFEST})\.[\w.]+|\.eagre-[\w-]+"
        return name == MANIFEST or re.fullmatch(pattern, name) is not None

    def part(self, number: int) -> str:
        """The path of a part."""
        return joined(self._path, name_of(number))

    def begin(self) -> None:
        """Makes the folder, or removes the old output: its manifest first."""
        self._made = self._files.make_folder(self._path)
        if not self._made:
            self._files.remove(joined(self._path, MANIFEST))
            self._remove()

    def finish(self, parts: Sequence[Part], about: dict[str, Any]) -> None:
        """Writes the manifest: the output is whole."""
        wanted = {part.name: part.bytes for part in parts}
        there = {base(entry): size for entry, size in self._files.list(self._path) or []}
        for name, size in wanted.items():
            if there.get(name) != size:
                raise OSError(5, f"write: {self._path}: {name} is not there as it was written; do all nodes have the same folder?")
        # What workers left behind that were killed.
        self._remove(but=set(wanted))
        text = json.dumps({"eagre.ray": VERSION, **about, "parts": [part.to_json() for part in parts]}, indent=1)
        with self._files.write(joined(self._path, MANIFEST), self._token) as put:
            put(text.encode() + b"\n")

    def discard(self) -> None:
        """Removes what was written."""
        self._remove()
        if self._made:
            self._files.remove_folder(self._path)

    def _remove(self, but: set[str] = set()) -> None:
        for path, _ in self._files.list(self._path) or []:
            if self._is_ours(base(path)) and base(path) not in but:
                self._files.remove(path)


def data_of(files: Files, path: str) -> list[tuple[str, int]] | None:
    """The files of data of a folder, or a file itself."""
    found = files.list(path)
    if found is None:
        return None
    return [(entry, size) for entry, size in found if entry == path or not (hidden(base(entry)) or base(entry) == MANIFEST)]


def read_manifest(files: Files, path: str) -> list[Part] | None:
    """The parts that a manifest names; ``None`` if there is none."""
    at = joined(path, MANIFEST)
    found = files.list(at)
    if found is None:
        return None
    try:
        text = json.loads(files.read(at, 0, found[0][1]).tobytes())
        if text["eagre.ray"] != VERSION:
            raise ValueError(f"version {text['eagre.ray']}")
        return [Part.from_json(part) for part in text["parts"]]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"read: {at}: it is no manifest of eagre.ray: {error}") from None
