"""Copies of files, and what this machine can do."""

from __future__ import annotations

import os
from dataclasses import dataclass

from eagre import _eagre
from eagre._progress import Progress
from eagre._questions import Path


@dataclass(frozen=True)
class Copied:
    """A copy: its bytes, how many of them were copied as data (the rest is holes, or shared), and how."""

    bytes: int
    data: int
    method: str


def copy(
    source: Path, target: Path, *, verify: bool = False, preserve: bool = False, progress: Progress = None
) -> Copied:
    """Copies a file: the copy is complete and on the disk when this returns, or not there. Holes are kept.

    A signal is delivered when the copy has ended: it cannot be stopped.

    Args:
        target: the path of the copy, or a directory for it.
        verify: whether to read the copy back and compare it before it appears.
        preserve: whether to keep times, owner, access control list and extended attributes.
        progress: as for ``eagre.count``.

    Raises:
        ValueError: both are one file, or the target cannot be one.
        OSError: the file cannot be read, or the copy not be written.
    """
    return Copied(*_eagre.copy(os.fsdecode(source), os.fsdecode(target), verify, preserve, progress))


@dataclass(frozen=True)
class Fact:
    """A fact about this machine, and the cure if it is not as it should be."""

    group: str
    name: str
    label: str
    value: object
    verdict: str
    why: str | None
    cure: str | None


@dataclass(frozen=True)
class Diagnosis:
    """What this machine can do."""

    facts: list[Fact]
    trap: str | None
    mover: str | None

    def __getitem__(self, name: str) -> object:
        """The value of the fact of this name."""
        for fact in self.facts:
            if fact.name == name:
                return fact.value
        raise KeyError(name)


def doctor() -> Diagnosis:
    """What this machine can do: facts, each with its cure if it is not as it should be, and how streams notice touches."""
    facts, pair = _eagre.doctor()
    trap, mover = pair or (None, None)
    return Diagnosis([Fact(*fact) for fact in facts], trap, mover)
