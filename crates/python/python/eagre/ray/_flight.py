"""Tasks on a cluster, a limited number of them at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import ray

from eagre.ray._stopping import Note, stoppable

# How often a task is repeated whose worker or node is lost. What a task raises is not repeated.
RETRIES = 8
# How long tasks have to end when they are told to, in seconds; then they are killed.
PATIENCE = 60
# Functions that Ray knows already: it sends each to workers once.
_tasks: dict[Callable[..., Any], Any] = {}


def start(function: Callable[..., Any], name: str, memory: int, *arguments: Any, returns: int = 1, note: Note | None = None) -> Any:
    """Starts a task, and returns what ``.remote(...)`` does. The name is what Ray's dashboard shows."""
    options = {"num_cpus": 1, "memory": memory, "num_returns": returns, "max_retries": RETRIES, "retry_exceptions": False}
    if function not in _tasks:
        _tasks[function] = ray.remote(stoppable(function))
    task = _tasks[function].options(name=f"eagre {name}", **options)
    return task.remote(note.name if note else None, *arguments)


class Flight:
    """Tasks in flight, no more than a limit: who starts one waits until there is room."""

    def __init__(self, limit: int, done: Callable[[int, Any], object]) -> None:
        self._limit, self._done = max(limit, 1), done
        self._tasks: dict[Any, tuple[int, list[Any]]] = {}
        self._note = Note()

    def start(
        self, number: int, function: Callable[..., Any], name: str, memory: int, *arguments: Any, returns: int = 1
    ) -> list[Any]:
        """Starts a task with a small result, which ``done(number, result)`` gets when it is there, and returns its other results."""
        started = start(function, name, memory, *arguments, returns=returns, note=self._note)
        result, *others = started if returns > 1 else [started]
        self._tasks[result] = number, others
        if len(self._tasks) >= self._limit:
            self._take()
        return others

    def drain(self) -> None:
        """Waits for all tasks."""
        while self._tasks:
            self._take()

    def _take(self) -> None:
        ready, _ = ray.wait(list(self._tasks), num_returns=1)
        for result in ready:
            # A task that has failed stays, so that its other results are looked at by `stop`.
            value = ray.get(result)
            number, _ = self._tasks.pop(result)
            self._done(number, value)


def stop(flights: Iterable[Flight]) -> None:
    """Ends the tasks that are in flight, and waits until none of them runs any more."""
    stopped = [flight for flight in flights if flight._tasks]
    for flight in stopped:
        flight._note.write()
    running = [result for flight in stopped for result in flight._tasks]
    running = _wait(running, PATIENCE)
    for result in running:
        try:
            ray.cancel(result, force=True)
        except Exception:  # noqa: BLE001 - it has ended, or its worker has
            pass
    _wait(running, PATIENCE)
    for flight in stopped:
        for result, (_, others) in flight._tasks.items():
            for each in (result, *others):
                _look(each)
        flight._tasks.clear()
        flight._note.remove()


def _wait(running: list[Any], seconds: float) -> list[Any]:
    """Those that still run after this time."""
    if not running:
        return []
    _, left = ray.wait(running, num_returns=len(running), timeout=seconds, fetch_local=False)
    return list(left)


def _look(result: Any) -> None:
    """Looks at the error of a task, if it has one: Ray prints those that nobody has looked at."""
    try:
        ray.get(result, timeout=0)
    except Exception:  # noqa: BLE001 - one error is enough
        pass
