"""What can be wrong with the data, and how errors come back from workers."""

from __future__ import annotations

from typing import Any


class BadRecord(ValueError):
    """Bytes that are no record: in which file, at which offset, and why."""

    def __init__(self, file: str, offset: int, why: str) -> None:
        super().__init__(f"read: {file}: at byte {offset}: {why}")
        self.file, self.offset, self.why = file, offset, why

    # Exceptions travel between processes.
    def __reduce__(self) -> tuple[Any, ...]:
        return (BadRecord, (self.file, self.offset, self.why))


def cause_of(error: BaseException) -> BaseException:
    """What a task raised, without what Ray puts around it."""
    cause = getattr(error, "cause", None)
    return cause if isinstance(cause, BaseException) else error
