"""What a cluster has, and how tasks are sent to it."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import ray

# How long a cluster may take to answer, in seconds.
PATIENCE = 10
# How often a task is repeated whose worker or node is lost. What a task raises is not repeated.
RETRIES = 8
# Functions that Ray knows already: it sends each to workers once.
_tasks: dict[Callable[..., Any], Any] = {}


@dataclass(frozen=True)
class Cluster:
    """Processors, memory for tasks and memory for objects, all nodes together and of the smallest one."""

    nodes: int
    processors: int
    memory: int
    store: int
    node_memory: int

    @staticmethod
    def now() -> Cluster:
        """The cluster that this process is connected to. It connects, or begins one on this machine, if it is to none."""
        if not ray.is_initialized():
            ray.init()
        alive = [node["Resources"] for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) >= 1]
        if not alive:
            raise RuntimeError("eagre.ray: no node of the cluster has a processor; add one with ray start --num-cpus")
        total = {name: int(sum(node.get(name, 0) for node in alive)) for name in ("CPU", "memory", "object_store_memory")}
        least = int(max(node.get("memory", 0) for node in alive))
        return Cluster(len(alive), total["CPU"], total["memory"], total["object_store_memory"], least)


def connect(address: str | None, **options: Any) -> None:
    """Connects to a cluster, unless this process is connected.

    Raises:
        ConnectionError: nobody answers there. Ray would try for minutes.
    """
    if ray.is_initialized():
        return
    host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
    if colon and port.isdigit():
        try:
            socket.create_connection((host, int(port)), PATIENCE).close()
        except OSError as error:
            raise ConnectionError(f"eagre.ray: {address}: no cluster answers there: {error.strerror or error}") from None
    ray.init(address=address, **options)


def remote(function: Callable[..., Any], name: str, memory: int, returns: int = 1) -> Any:
    """A function as a task that is called with ``.remote(...)``. The name is what Ray's dashboard shows."""
    options = {"num_cpus": 1, "memory": memory, "num_returns": returns, "max_retries": RETRIES, "retry_exceptions": False}
    if function not in _tasks:
        _tasks[function] = ray.remote(function)
    return _tasks[function].options(name=f"eagre {name}", **options)


class Flight:
    """Tasks in flight, no more than a limit: who adds one waits until there is room."""

    def __init__(self, limit: int, done: Callable[[int, Any], object]) -> None:
        self._limit, self._done = max(limit, 1), done
        self._tasks: dict[Any, tuple[int, list[Any]]] = {}

    def add(self, number: int, result: Any, others: Sequence[Any] = ()) -> None:
        """Adds a task with a small result, which ``done(number, result)`` gets when it is there, and with other results."""
        self._tasks[result] = number, list(others)
        if len(self._tasks) >= self._limit:
            self._take()

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

    def stop(self) -> None:
        """Ends the tasks that are in flight, and waits for that."""
        stop(self._tasks)
        for result, (_, others) in self._tasks.items():
            for each in (result, *others):
                _look(each)
        self._tasks.clear()


def _look(result: Any) -> None:
    """Looks at the error of a task, if it has one: Ray prints those that nobody has looked at."""
    try:
        ray.get(result, timeout=0)
    except Exception:  # noqa: BLE001 - one error is enough
        pass


def stop(results: Iterable[Any]) -> None:
    """Ends tasks, and waits until none of them runs any more."""
    running = list(results)
    for force in (False, True):
        for result in running:
            try:
                ray.cancel(result, force=force)
            except Exception:  # noqa: BLE001 - it has ended, or its worker has
                pass
        if running:
            _, running = ray.wait(running, num_returns=len(running), timeout=20, fetch_local=False)
