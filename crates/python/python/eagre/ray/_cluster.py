"""What a cluster has."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Any

import ray

# How long a cluster may take to answer, in seconds.
PATIENCE = 10


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
