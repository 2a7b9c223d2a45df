"""Studies that run until a result is precise enough."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array
from ..statistics.results import interval_level
from ..statistics.sketches import BLOCK, CHUNK
from .collect import entry_of
from .collector import Collector

OWN_NAME = "until"
"""Under this name a study keeps an entry that only its precision names."""

_NO_INTERVAL = {
    "latin": "its strata need the number of trajectories before the first one runs",
    "sobol": "quasi-random points have no confidence interval; compare studies with different seeds",
    "halton": "quasi-random points have no confidence interval; compare studies with different seeds",
    "antithetic": "its trajectories depend on each other in pairs, which confidence intervals do not know",
}


@dataclass(frozen=True)
class Precision:
    """When a study has run long enough; made by `precision`.

    `entry` of `collect` has a confidence interval of probability `level`, which is to be narrow for each of its
    numbers: half of its width at most `relative` times the estimate, or at most `absolute`.
    """

    entry: Any
    relative: float
    absolute: float
    level: float

    def bound(self, collect: Mapping[str, Any] | None, sampling: str) -> tuple[dict[str, Any], Precision]:
        """The entries of a study, and the precision with the name of its entry, which is added if it is missing."""
        entries = arguments.named("collect", collect) or {}
        name = self.entry
        if isinstance(name, Collector):
            name = next((key for key, each in entries.items() if each is self.entry), OWN_NAME)
            if entries.setdefault(name, self.entry) is not self.entry:
                raise ArgumentError(f"until: collect has another entry with the name {OWN_NAME!r}")
        if name not in entries:
            hint = arguments.nearest(str(name), tuple(map(str, entries)))
            raise ArgumentError(f"until: {arguments.short(name)} is not an entry of collect{hint}")
        if isinstance(entries[name], Collector) and not entries[name].estimate:
            shown = name if name == self.entry else ", ".join(map(str, self.entry.what))
            raise ArgumentError(
                f"until: {shown} has no confidence interval; cg.probability, cg.moments and cg.quantiles have one"
            )
        if sampling in _NO_INTERVAL:
            raise ArgumentError(f"until and sampling={sampling!r}: {_NO_INTERVAL[sampling]}")
        return entries, replace(self, entry=name)

    def reached(self, result: Any, estimate: str) -> bool:
        """Whether a result, with its numbers in the attribute `estimate`, is precise enough."""
        low, high = map(_numbers, result.interval(self.level))
        wanted = np.maximum(self.relative * np.abs(_numbers(getattr(result, estimate))), self.absolute)
        return bool(((high - low) / 2 <= wanted).all())

    def __str__(self) -> str:
        wanted = [f"{self.relative:g} of it"] if self.relative else []
        wanted += [f"{self.absolute:g}"] if self.absolute else []
        return f"{self.entry} within {' or '.join(wanted)} with probability {self.level:g}"


def precision(
    entry: Any, *, relative: float | None = None, absolute: float | None = None, level: float = 0.95
) -> Precision:
    """The argument `until` of `ensemble`: trajectories run until a confidence interval is narrow enough.

    `entry`: the name of an entry of `collect`, or the entry: `probability` (with Wilson's interval), `moments` (the
    intervals of its means, by Student's t) or `quantiles` (between order statistics). `level`: the probability of the
    interval. The study ends when half of its width is at most `relative` times the estimate, or at most `absolute`, for
    each number of the entry, and at the latest after the `n` trajectories of the call.

    That is decided after 4096 trajectories and then each time their number has grown by a quarter, so as many run for
    any number of threads or workers. An interval at a number of trajectories that the study itself has chosen covers a
    little less often than `level`.

    >>> from chaplygin.generated.harmonic_oscillator import model
    >>> from scipy import stats
    >>> import chaplygin as cg
    >>> start = {"x": stats.norm(1, 0.1), "x_dot": 0}
    >>> until = precision(cg.moments("x"), relative=0.001)
    >>> study = cg.study(model, (0, 10), start, {"m": 1, "k": 4}, n=1_000_000, seed=1, until=until)
    >>> len(study), study.precise
    (40960, True)
    """
    entry = entry_of(entry)
    if not isinstance(entry, (str, Collector)) or entry == "":
        raise ArgumentError(
            f"precision: {arguments.short(entry)} is neither an entry of collect nor its name"
        )
    if relative is None and absolute is None:
        raise ArgumentError("precision: give relative= or absolute=")
    wanted = {"relative": relative, "absolute": absolute}
    values = {
        name: 0.0 if value is None else arguments.positive_number(f"precision: {name}", value)
        for name, value in wanted.items()
    }
    return Precision(entry, values["relative"], values["absolute"], interval_level(level))


def decisions(count: int) -> list[int]:
    """The numbers of trajectories after which it is decided whether they are enough, `count` the last."""
    found, blocks = [], 1
    while blocks * BLOCK < count:
        found.append(blocks * BLOCK)
        blocks += max(1, blocks // 4)
    return [*found, count]


def pieces(count: int) -> list[tuple[int, int]]:
    """Chunks (first, last) of at most `CHUNK` trajectories, which end at all `decisions`."""
    ends = decisions(count)
    return [
        (first, min(first + CHUNK, last))
        for begin, last in zip([0, *ends], ends)
        for first in range(begin, last, CHUNK)
    ]


def _numbers(value: Any) -> Array:
    """An array of a number, an array, or a dict of them."""
    return np.array(list(value.values()) if isinstance(value, dict) else value, dtype=np.float64)
