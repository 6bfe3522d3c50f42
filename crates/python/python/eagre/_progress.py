"""What shows how far a long call is: a function, or a bar."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class Bar(Protocol):
    """A bar of tqdm, or an object of its kind."""

    total: Any

    def update(self, n: int, /) -> object:
        """Moves the bar on by ``n``, or back if it is negative."""


# Called with what is done and what there is to do, which is 0 if nobody knows.
Report = Callable[[int, int], object]
Progress = Report | Bar | None


def function_of(progress: Report | Bar) -> Report:
    """What is called with what is done and what there is to do: for a bar, a function that moves it.

    A bar goes from where it is. It is not closed.

    Raises:
        TypeError: it is neither a function nor a bar.
    """
    # Whether a bar is true depends on its total, and may be an error.
    if hasattr(progress, "update") and hasattr(progress, "total"):
        return _moving(progress)
    if callable(progress):
        return progress
    kind = type(progress).__name__
    raise TypeError(f"progress: a {kind}; give a function of two numbers, or a bar with update(n) and total, as tqdm has")


def _moving(bar: Bar) -> Report:
    shown = 0

    def move(done: int, total: int) -> None:
        nonlocal shown
        # Phases of a call may have totals of their own.
        if total and bar.total != total:
            bar.total = total
        if done != shown:
            bar.update(done - shown)
            shown = done

    return move


def steps(progress: Progress, count: int) -> list[Progress]:
    """For each of several steps of like length its progress, which together are the progress of the call."""
    if progress is None or count == 1:
        return [progress] * count
    report = function_of(progress)

    def step(number: int) -> Report:
        def tell(done: int, total: int) -> None:
            if total:
                report(number * total + done, count * total)

        return tell

    return [step(number) for number in range(count)]
