"""Plans: how many pieces, merges and parts, and how large they are, from the data and the cluster."""

from __future__ import annotations

from dataclasses import dataclass

from eagre.ray._cluster import Cluster
from eagre.ray._format import Format

MIB = 1 << 20
# A task's memory if nobody says: between these, and a half of what a node has for each processor.
LEAST_MEMORY, MOST_MEMORY = 64 * MIB, 4096 * MIB
# As many pieces, at most, are merged by the tasks that write parts, without merges before.
DIRECT = 64
# A task returns at most so many objects, and merges at most so many.
MOST_RETURNS = 512
MOST_MERGED = 512
# A piece is a part of the memory for objects of each processor: what tasks in flight return must fit.
SHARES = 4
LEAST_PIECE = 64 << 10


@dataclass(frozen=True)
class Plan:
    """How a sort is done.

    Args:
        bytes: of the input.
        pieces: map tasks: each reads, sorts and partitions a piece of so many bytes.
        groups: parts are in so many groups; a map task returns one object for each.
        fan: how many pieces a merge task joins; 0 if there are no merges before the last.
        parts: reduce tasks: each merges and writes one.
        memory: of each task, in bytes.
        in_flight: how many map tasks, and reduce tasks, are in flight at once.
    """

    bytes: int
    pieces: int
    piece: int
    groups: int
    fan: int
    parts: int
    memory: int
    in_flight: int
    cluster: Cluster

    @property
    def merges(self) -> int:
        """How many merge tasks there are before the last ones."""
        return self.groups * -(-self.pieces // self.fan) if self.fan else 0

    @property
    def merged(self) -> int:
        """How many objects each of the last merges takes."""
        return -(-self.pieces // self.fan) if self.fan else self.pieces

    @property
    def objects(self) -> int:
        """How many objects carry the data."""
        return self.pieces * self.groups + (self.merged * self.parts if self.fan else 0)

    def parts_of(self, group: int) -> range:
        """The parts of a group."""
        return range(group * self.parts // self.groups, (group + 1) * self.parts // self.groups)

    def explain(self) -> str:
        """The plan as lines of text."""
        cluster = self.cluster
        lines = [
            f"cluster: {cluster.nodes} nodes, {cluster.processors} processors, {_mib(cluster.store)} for objects",
            f"input: {_mib(self.bytes)}; memory of a task: {_mib(self.memory)}",
            f"map: {self.pieces} tasks, of {_mib(self.piece)} each, {self.in_flight} in flight;"
            f" {self.groups} objects from each",
        ]
        if self.fan:
            size = self.bytes / max(self.merges, 1)
            lines.append(f"merge: {self.merges} tasks, of {_mib(size)} from {self.fan} maps each")
        part = self.bytes / self.parts
        lines.append(f"reduce: {self.parts} tasks, of {_mib(part)} from {self.merged} objects each, {self.in_flight} in flight")
        return "\n".join(lines)


def _mib(bytes: float) -> str:
    return f"{bytes / MIB:,.1f} MiB"


def task_memory(cluster: Cluster, memory: int | None) -> int:
    """The memory of a task.

    Raises:
        ValueError: no node has so much.
    """
    if memory is None:
        fair = cluster.memory // (2 * cluster.processors)
        return min(max(fair, min(LEAST_MEMORY, cluster.node_memory)), MOST_MEMORY)
    if memory < MIB:
        raise ValueError(f"eagre.ray: memory is {memory}; give 1 MiB or more")
    if memory > cluster.node_memory:
        raise ValueError(f"eagre.ray: memory is {memory}, and no node has more than {cluster.node_memory} for tasks; give less")
    return memory


def piece_size(bytes: int, cluster: Cluster, format: Format, memory: int) -> int:
    """How many bytes a map task should have of so many."""
    # All processors have some pieces, one after the other, so that the last ones end together.
    fair = -(-bytes // (3 * cluster.processors))
    fits = min(int(memory / format.memory_per_byte), cluster.store // cluster.processors // SHARES)
    return max(min(fits, max(fair, MIB)), LEAST_PIECE)


def plan_of(bytes: int, pieces: int, size: int, cluster: Cluster, memory: int, parts: int | None = None) -> Plan:
    """The plan of a sort of so many bytes, in so many pieces of about one size. ``parts`` is what the caller wants."""
    store, pieces = cluster.store // cluster.processors, max(pieces, 1)
    if parts is None:
        # What a part is merged from is in the store of its node all at once.
        parts = max(-(-bytes // max(store // 2, MIB)), min(cluster.processors, pieces))
    in_flight = 2 * cluster.processors
    if pieces <= DIRECT and parts <= MOST_RETURNS:
        return Plan(bytes, pieces, size, parts, 0, parts, memory, in_flight, cluster)
    groups = min(max(2 * cluster.nodes, -(-parts // MOST_RETURNS)), parts)
    fan = min(max(store // (2 * max(size // groups, 1)), 8), MOST_MERGED)
    fan = -(-pieces // -(-pieces // fan))
    return Plan(bytes, pieces, size, groups, fan, parts, memory, in_flight, cluster)
