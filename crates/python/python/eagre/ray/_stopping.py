"""How tasks are ended early.

``ray.cancel`` is not for this: a task that ends in the moment in which it is cancelled ends this process, too ("Tried to complete
task that was not pending", Ray 2.60). So there is a note in the cluster's own store, which tasks look for: when they begin, and now
and then while they write.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import Any

# How often a task looks for the note, in seconds.
PERIOD = 1.0
_NAMESPACE = b"eagre"
# The note of the task that runs in this process, and when it was looked for.
_current: list[Any] = [None, 0.0]


class Stopped(Exception):
    """Somebody has ended the work of which this task is a part."""


class Note:
    """The note that ends some tasks, once it is written."""

    def __init__(self) -> None:
        self.name = b"stop-" + secrets.token_hex(12).encode()

    def write(self) -> None:
        """Writes it. Where there is no cluster any more, there are no tasks either."""
        from ray.experimental.internal_kv import _internal_kv_put

        _try(_internal_kv_put, self.name, b"1", namespace=_NAMESPACE)

    def remove(self) -> None:
        """Removes it, when no task is left."""
        from ray.experimental.internal_kv import _internal_kv_del

        _try(_internal_kv_del, self.name, namespace=_NAMESPACE)


def _try(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    try:
        return call(*arguments, **options)
    except Exception:  # noqa: BLE001 - whatever it is, the work goes on without
        return None


def look() -> None:
    """Ends the task that runs in this process if its note is written. It looks once a second.

    Raises:
        Stopped: it is.
    """
    from ray.experimental.internal_kv import _internal_kv_get

    note, last = _current
    if note is None or time.monotonic() - last < PERIOD:
        return
    _current[1] = time.monotonic()
    if _try(_internal_kv_get, note, namespace=_NAMESPACE) is not None:
        raise Stopped


def begin(note: bytes | None) -> None:
    """A task begins, which this note ends.

    Raises:
        Stopped: it is written already.
    """
    _current[:] = note, -PERIOD
    look()


def stoppable(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, which takes the name of a note first, and looks for it before it does anything."""

    def task(note: bytes | None, *arguments: Any) -> Any:
        # Ray sends this function itself to workers, with copies of what it uses of this module; functions stay the module's own.
        begin(note)
        return function(*arguments)

    return task
