"""Datasets of Ray Data in order: the same sample, map and reduce, on blocks that are tables of Arrow."""

from __future__ import annotations

import bisect
import collections
import random
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import ray

import eagre
from eagre.ray import _plan
from eagre.ray._cluster import Cluster
from eagre.ray._errors import cause_of
from eagre.ray._flight import Flight, start, stop

# How many rows are sampled for each part.
PER_PART = 600


class _Cut(NamedTuple):
    """Where a part begins: at a key, and among rows with this key at a share of those of a block."""

    key: tuple[Any, ...]
    block: int
    share: float


def sort_dataset(
    dataset: Any, key: str | Sequence[str], *, descending: bool = False, parts: int | None = None, memory: int | None = None
) -> Any:
    """A dataset of Ray Data in order of columns, as ``dataset.sort(key)`` has it. Rows with equal keys keep their order.

    Numbers and times are sorted by ``eagre.lexsort``, other columns by Arrow. The dataset is materialised.

    Args:
        key: the name of a column, or of several, the most important one first.
        descending: the largest first.
        parts: how many blocks the result has; by default as many as the dataset, or four for each processor if these are fewer.
        memory: bytes of memory of a task; by default as for ``eagre.ray.sort``. A block should have at most a quarter of it.

    Raises:
        ValueError: there is no such column, or a key is null or NaN, which have no place in the order.
    """
    import ray.data as data

    names = [key] if isinstance(key, str) else list(key)
    cluster = Cluster.now()
    memory = _plan.task_memory(cluster, memory)
    blocks = dataset.to_arrow_refs()
    count = parts or max(min(len(blocks), 4 * cluster.processors), 1)
    flight = Flight(2 * cluster.processors, lambda number, done: None)
    try:
        cuts = _cuts(blocks, names, descending, count, memory) if count > 1 else []
        runs: list[list[Any]] = [[] for _ in range(len(cuts) + 1)]
        for number, block in enumerate(blocks):
            given, returns = (block, names, descending, number, cuts), 2 + len(cuts)
            rest = flight.start(number, _map, f"dataset map {number}", memory, *given, returns=returns)
            for run, one in zip(runs, rest):
                run.append(one)
        flight.drain()
        # Ray Data takes the references of results: nobody needs to wait for them here.
        names_of = [f"dataset reduce {number}" for number in range(len(runs))]
        reduced = [start(_reduce, name, memory, names, descending, *run) for name, run in zip(names_of, runs)]
        return data.from_arrow_refs(reduced)
    except BaseException as error:
        stop([flight])
        cause = cause_of(error)
        if cause is error:
            raise
        raise cause from None


def _cuts(blocks: Sequence[Any], names: list[str], descending: bool, parts: int, memory: int) -> list[_Cut]:
    each = -(-PER_PART * parts // max(len(blocks), 1))
    sampled = [
        start(_sample, f"dataset sample {number}", memory, block, names, each, number) for number, block in enumerate(blocks)
    ]
    found: list[_Cut] = []
    weights: list[float] = []
    for number, (rows, keys) in enumerate(ray.get(sampled)):
        before: dict[tuple[Any, ...], int] = {}
        counts = collections.Counter(keys)
        for one in keys:
            at = before.get(one, 0)
            before[one] = at + 1
            found.append(_Cut(one, number, at / counts[one]))
            # A row of a sample stands for so many.
            weights.append(rows / len(keys))
    order = sorted(range(len(found)), key=lambda at: found[at].key, reverse=descending)
    cuts: list[_Cut] = []
    total, done = sum(weights), 0.0
    for at in order:
        while len(cuts) < parts - 1 and done >= (len(cuts) + 1) * total / parts:
            cuts.append(found[at])
        done += weights[at]
    return cuts


def _sample(table: Any, names: list[str], count: int, number: int) -> tuple[int, list[tuple[Any, ...]]]:
    _check(table, names)
    rows = sorted(random.Random(number).sample(range(table.num_rows), min(count, table.num_rows)))
    some = table.select(names).take(rows)
    return table.num_rows, list(zip(*(some.column(name).to_pylist() for name in names)))


def _map(table: Any, names: list[str], descending: bool, number: int, cuts: Sequence[_Cut]) -> Iterator[Any]:
    _check(table, names)
    ordered = _ordered(table, names, descending)
    columns = [ordered.column(name) for name in names]
    rows = range(ordered.num_rows)
    yield True
    start = 0
    for cut in cuts:
        wanted = _Turned(cut.key, descending)
        at = lambda row: _Turned(tuple(column[row].as_py() for column in columns), descending)
        low = bisect.bisect_left(rows, wanted, key=at)
        share = 0.0 if cut.block < number else 1.0 if cut.block > number else cut.share
        tied = bisect.bisect_right(rows, wanted, key=at) - low if share else 0
        end = max(low + int(share * tied), start)
        yield ordered.slice(start, end - start)
        start = end
    yield ordered.slice(start)


class _Turned:
    """A key that compares the other way if the order descends."""

    def __init__(self, key: tuple[Any, ...], descending: bool) -> None:
        self._key, self._descending = key, descending

    def __lt__(self, other: _Turned) -> bool:
        return other._key < self._key if self._descending else self._key < other._key


def _reduce(names: list[str], descending: bool, *tables: Any) -> Any:
    import pyarrow

    return _ordered(pyarrow.concat_tables(tables), names, descending)


def _ordered(table: Any, names: list[str], descending: bool) -> Any:
    """The rows in order, equal ones as they are."""
    import pyarrow.compute

    plain = [_plain(table.column(name)) for name in names]
    if all(column is not None for column in plain):
        first, *rest = [column for column in plain if column is not None]
        if not rest:
            return table.take(pyarrow.array(eagre.argsort(first, descending=descending, threads=1)))
        if not descending:
            return table.take(pyarrow.array(eagre.lexsort([*reversed(rest), first], threads=1)))
    way = "descending" if descending else "ascending"
    return table.take(pyarrow.compute.sort_indices(table, sort_keys=[(name, way) for name in names]))


def _plain(column: Any) -> Any:
    """A column as an array that Eagre sorts, or ``None``."""
    array = column.to_numpy()
    return array if array.dtype.kind in "biufmM" else None


def _check(table: Any, names: list[str]) -> None:
    for name in names:
        if name not in table.column_names:
            raise ValueError(f"eagre.ray.sort_dataset: no column {name!r}; there are {', '.join(table.column_names)}")
        column = table.column(name)
        array = column.to_numpy() if column.null_count == 0 else None
        if array is None or (array.dtype.kind == "f" and np.isnan(array).any()):
            raise ValueError(f"eagre.ray.sort_dataset: {name}: some are null or NaN; drop or fill them")
