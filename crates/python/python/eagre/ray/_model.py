"""A sort on paper: requests, bytes and cost of a plan on a cluster that need not exist.

It knows what has to move, and how fast the network and the disks of a node are. It is a bound from below: processors are
left out, and phases do not wait for one another.
"""

from __future__ import annotations

from dataclasses import dataclass

from eagre.ray import _boundaries, _plan
from eagre.ray._cluster import Cluster
from eagre.ray._files import REQUEST
from eagre.ray._format import Format
from eagre.ray._plan import Plan

GB, TB = 10**9, 10**12
# Ray's share of a node's memory for objects.
STORE = 0.3


@dataclass(frozen=True)
class Machine:
    """A node: its processors and memory, what its network and its disks do in GB/s, one way, and its price per hour.

    Prices of requests are for a million.
    """

    processors: int = 16
    memory: int = 128 << 30
    network: float = 3.125
    disk: float = 2.0
    price: float = 1.373
    reads: float = 0.4
    writes: float = 5.0


@dataclass(frozen=True)
class Model:
    """What a sort takes at least."""

    plan: Plan
    machine: Machine
    # Requests that read, and those that write.
    reads: int
    writes: int
    # Bytes that a node receives, sends, and spills to its disks.
    received: float
    sent: float
    spilled: float

    @property
    def seconds(self) -> float:
        """The time for the slowest of what moves."""
        network = max(self.received, self.sent) / (self.machine.network * GB)
        return max(network, 2 * self.spilled / (self.machine.disk * GB))

    def cost(self, seconds: float) -> float:
        """What nodes cost in so many seconds, and all requests."""
        nodes = self.plan.cluster.nodes * self.machine.price * seconds / 3600
        return nodes + (self.reads * self.machine.reads + self.writes * self.machine.writes) / 1e6

    def explain(self) -> str:
        """The model as lines of text."""
        requests, size = self.cost(0), self.plan.bytes / TB
        return "\n".join(
            [
                self.plan.explain(),
                f"objects: {self.plan.objects:,}",
                f"requests: {self.reads:,} to read, {self.writes:,} to write: {requests:.2f} $",
                f"each node: receives {gb(self.received)}, sends {gb(self.sent)}, spills {gb(self.spilled)}",
                f"at least: {self.seconds:,.0f} s, {self.cost(self.seconds) / size:.2f} $ per TB",
            ]
        )


def gb(bytes: float) -> str:
    return f"{bytes / GB:,.0f} GB"


def model_of(bytes: int, nodes: int, machine: Machine, format: Format) -> Model:
    """The model of a sort of so many bytes, from an object store and to it."""
    memory, store = int(machine.memory * (1 - STORE)), int(machine.memory * STORE)
    cluster = Cluster(nodes, nodes * machine.processors, nodes * memory, nodes * store, memory)
    task = _plan.task_memory(cluster, None)
    size = _plan.piece_size(bytes, cluster, format, task)
    plan = _plan.plan_of(bytes, -(-bytes // size), size, cluster, task)
    samples = min(_boundaries.REQUESTS, -(-min(_boundaries.PER_PART * plan.parts, _boundaries.MOST) // plan.pieces))
    # A read asks for the size of the file first; an upload begins and ends.
    reads = 2 * plan.pieces * (1 + samples)
    writes = plan.parts * (2 + -(-bytes // (plan.parts * REQUEST)))
    share, moved = bytes / nodes, bytes / nodes * (nodes - 1) / nodes
    # With merges, runs are objects twice, and move twice; what does not fit into the store is spilled.
    times = 2 if plan.fan else 1
    spilled = times * max(share - store, 0)
    return Model(plan, machine, reads, writes, share + times * moved, share + times * moved, spilled)
