"""Measuring by turns: A B C A B C ..., so that other load on the machine meets all alike; medians of what is seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter
from typing import Any


@dataclass(eq=False)
class Contender:
    """One row: a function, how many trajectories it runs, and the error of what it returns.

    ``flops`` are the arithmetic operations of one call, where they are known: the row then says its rate. A row
    ``apart`` is no trajectory's time and is not divided by the first row's.
    """

    row: str
    run: Callable[[], Any]
    runs: int = 1
    error: float | None = None
    flops: float = 0.0
    note: str = ""
    apart: bool = False
    times: list[float] = field(default_factory=list)

    @property
    def time(self) -> float:
        """The median time of one trajectory."""
        return median(self.times) / self.runs

    def shown(self) -> dict[str, Any]:
        """What the report needs."""
        rate = f"{self.flops / median(self.times) / 1e9:.3g} GFLOP/s" if self.flops else ""
        note = ", ".join(text for text in (rate, self.note) if text)
        return {"row": self.row, "time": self.time, "error": self.error, "note": note, "apart": self.apart}


@dataclass(frozen=True)
class Ratio:
    """How many times as long ``theirs`` takes a trajectory as ``ours``; with ``rates`` the operations per second of
    ``ours`` over those of ``theirs``; with ``inverse`` our time over theirs. ``goal`` is the least wanted (with
    ``inverse`` the most)."""

    what: str
    ours: Contender
    theirs: Contender
    goal: float | None = None
    inverse: bool = False
    rates: bool = False

    def value(self) -> float:
        """The median over the rounds."""
        if self.rates:
            weight = self.ours.flops / self.theirs.flops
        else:
            weight = self.ours.runs / self.theirs.runs
        pairs = zip(self.ours.times, self.theirs.times, strict=True)
        seen = median(b / a * weight for a, b in pairs)
        return 1 / seen if self.inverse else seen

    def shown(self) -> dict[str, Any]:
        """What the report needs."""
        value = self.value()
        met = None if self.goal is None else bool(value <= self.goal if self.inverse else value >= self.goal)
        return {"what": self.what, "value": value, "goal": self.goal, "most": self.inverse, "met": met}


AWAKE = 0.25
"""A run shorter than this many seconds is done once more, and that one counts: a core that slept through the rows
before takes some milliseconds to be as fast as it can."""


def one_turn(contenders: Sequence[Contender]) -> None:
    """Every contender, its time noted."""
    for contender in contenders:
        seconds = 0.0
        for _ in range(2):
            begin = perf_counter()
            contender.run()
            seconds = perf_counter() - begin
            if seconds > AWAKE:
                break
        contender.times.append(seconds)


def quick_time(run: Callable[[], Any], rounds: int = 3) -> float:
    """The shortest of a few runs, the first of them not counted: to choose by, and for the points of diagrams."""
    run()
    times = []
    for _ in range(rounds):
        begin = perf_counter()
        run()
        times.append(perf_counter() - begin)
    return min(times)
