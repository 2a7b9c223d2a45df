"""Interleaved runs, A B C A B C ..., so that other load on the machine affects all rows alike; medians are reported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter
from typing import Any

from sizes import scaled


@dataclass(eq=False)
class Contender:
    """One row: a function, how many trajectories it runs, and the error of its result.

    ``flops`` is the number of arithmetic operations of one call, if known: the row then shows its rate. The time of a
    row with ``apart`` is not that of a trajectory and is not divided by the first row's. ``free`` are seconds of a
    call that do not count.
    """

    row: str
    run: Callable[[], Any]
    runs: int = 1
    error: float | None = None
    flops: float = 0.0
    note: str = ""
    apart: bool = False
    free: float = 0.0
    times: list[float] = field(default_factory=list)

    @property
    def time(self) -> float:
        """The median time of one trajectory."""
        return median(self.times) / self.runs

    def shown(self) -> dict[str, Any]:
        """The data for the report."""
        rate = f"{self.flops / median(self.times) / 1e9:.3g} GFLOP/s" if self.flops else ""
        note = ", ".join(text for text in (rate, self.note) if text)
        return {"row": self.row, "time": self.time, "error": self.error, "note": note, "apart": self.apart}


@dataclass(frozen=True)
class Ratio:
    """Time per trajectory of ``theirs`` divided by that of ``ours``; with ``rates`` the operations per second of
    ``ours`` divided by those of ``theirs``; with ``inverse`` our time divided by theirs. ``goal`` is the minimum (with
    ``inverse`` the maximum) aimed for."""

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
        """The data for the report."""
        value = self.value()
        met = None if self.goal is None else bool(value <= self.goal if self.inverse else value >= self.goal)
        return {"what": self.what, "value": value, "goal": self.goal, "most": self.inverse, "met": met}


@dataclass(frozen=True)
class Difference:
    """Nanoseconds of all of ``more`` less those of all of ``less``, for each of ``count`` units; ``goal`` is the
    maximum."""

    what: str
    more: Sequence[Contender]
    less: Sequence[Contender]
    count: float
    goal: float | None = None

    def shown(self) -> dict[str, Any]:
        """The data for the report."""
        rounds = zip(*(row.times for row in (*self.more, *self.less)), strict=True)
        first = len(self.more)
        value = 1e9 * median(sum(times[:first]) - sum(times[first:]) for times in rounds) / self.count
        met = None if self.goal is None else bool(value <= self.goal)
        return {"what": f"{self.what}, ns", "value": value, "goal": self.goal, "most": True, "met": met}


AWAKE = 0.25
"""A run shorter than this many seconds is repeated and only the second counts: a core that was idle takes some
milliseconds to reach full speed."""


def one_turn(contenders: Sequence[Contender]) -> None:
    """Run every contender once and record its time."""
    for contender in contenders:
        seconds = 0.0
        for _ in range(scaled(2, 1)):
            begin = perf_counter()
            contender.run()
            seconds = perf_counter() - begin
            if seconds > AWAKE:
                break
        contender.times.append(seconds - contender.free)


def quick_time(run: Callable[[], Any], rounds: int = 3) -> float:
    """The shortest time of a few runs after a warm-up: for choosing settings and for the points of the diagrams."""
    for _ in range(scaled(1, 0)):
        run()
    times = []
    for _ in range(scaled(rounds, 1)):
        begin = perf_counter()
        run()
        times.append(perf_counter() - begin)
    return min(times)
