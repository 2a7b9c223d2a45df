"""Small probabilities by subset simulation: a sequence of conditions, each a few times less likely than the last.

S.-K. Au and J. L. Beck, Probabilistic Engineering Mechanics 16 (2001) 263-277, with the adaptive conditional sampling
of I. Papaioannou, W. Betz, K. Zwirglmaier and D. Straub, Probabilistic Engineering Mechanics 41 (2015) 89-103. The
variation follows from which runs of the first level the later ones descend from: H. P. Chan and T. L. Lai, Annals of
Statistics 41 (2013) 2877-2904; A. Lee and N. Whiteley, Biometrika 105 (2018) 609-625.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from .. import arguments
from ..arguments import Array
from ..compiled_model import core_available
from ..draws.joint import standard_normal
from ..draws.laws import HIGHEST, LOWEST
from ..draws.uniforms import Uniforms
from ..ensemble_job import positive
from ..errors import ArgumentError
from ..options import of_call, shown
from .collector import Collector
from .observed import Condition
from .response import Response, of_model
from .results import normal_half

SMALLEST = 1e-13
"""The simulation ends below this probability: uniform numbers near 1 are 2^-53 apart."""
FEWEST_CHAINS = 10
WANTED_ACCEPTANCE = 0.44
FIRST_STEP = 0.6


@dataclass(frozen=True)
class Level:
    """One condition: that the margin is at least `margin`, or in the last level that the event occurs.

    probability: of the condition, given that of the level before. variation: its coefficient of variation if the chains
    were independent, sqrt((1 - p) (1 + correlation) / (n p)). correlation: gamma of Au and Beck, by which the variance
    grows because states of a chain depend on each other. acceptance: the share of steps of the chains that were taken,
    NaN in the first level, which has no chains.
    """

    margin: float
    probability: float
    variation: float
    correlation: float
    acceptance: float


@dataclass(frozen=True, eq=False)
class RareEvent:
    """The result of `rare_event`.

    p: the probability. variation: its coefficient of variation: the square root of the sum, over the runs r of the
    first level, of (sum of (I - p_j) / (n_j p_j) over the runs of all levels j that descend from r)^2, I being 1 where
    the condition of the next level holds and 0 elsewhere. It contains the dependence within chains and between levels,
    which those of the `levels` do not. runs: how many trajectories ran, of which `failed` neither reached their end nor
    a terminal event. reached: whether the event occurred often enough in the last level; if not, p is 0. draws: what
    was drawn in the trajectories of the last level with the event, arrays by name: a sample of the conditional
    distribution. seed: makes the result again.
    """

    p: float
    variation: float
    levels: tuple[Level, ...]
    runs: int
    failed: int
    reached: bool
    draws: dict[str, Array]
    seed: int

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The confidence interval p exp(+- z s), s^2 = log(1 + variation^2), as if p were lognormal.

        Its lower end is 0 if the event was not reached; its upper end is then the probability of the last level.
        """
        half = normal_half(level)
        if not self.reached:
            return 0.0, math.prod(each.probability for each in self.levels)
        factor = math.exp(half * math.sqrt(math.log1p(self.variation**2)))
        return self.p / factor, min(self.p * factor, 1.0)

    def __repr__(self) -> str:
        low, high = self.interval()
        ran = f"{self.runs} runs in {len(self.levels)} levels"
        if not self.reached:
            return f"<RareEvent not reached, probability below {high:.3g}, {ran}>"
        return f"<RareEvent {self.p:.3g}, variation {self.variation:.2g}, 95 % interval {low:.3g} to {high:.3g}, {ran}>"


@shown()
def rare_event(
    model: Any,
    t_span: tuple[float, float],
    event: Any,
    n: int = 2000,
    initial: Any = None,
    parameters: Any = None,
    inputs: Any = None,
    *,
    above: float | None = None,
    below: float | None = None,
    p0: float = 0.1,
    seed: int | None = None,
    threads: int | None = None,
    lanes: int | None = None,
    **options: Any,
) -> RareEvent:
    """The probability of a rare event, by subset simulation with `n` runs for each level.

    `event`: a condition at the end of each run, such as ``x > 20`` with a symbol x, also with & and |, or along it,
    such as ``cg.peak(x) > 20``; or a quantity, or an entry of `collect` with one number for each run, with the number
    that it is to be `above` or `below`. The margin of a condition is the difference of its two sides, the smallest of
    several with &, the largest with |.

    The first level is a study with random draws. Each level then takes as its condition the margin that a share `p0` of
    its runs exceed, and these runs start Markov chains, which stay within the condition, for the next level. A step of
    a chain takes the standard normal numbers z behind the draws to ``sqrt(1 - s^2) z + s w``, w standard normal, if the
    run with these has the margin; s adapts to the spread of each number and to the share of steps taken. All chains of
    a level make each step as one ensemble. The estimate has a bias of the order of 1/n. Its stated variation is itself
    an estimate, and too small if n is so small that the runs of the last level descend from a few of the first.

    `n` is rounded up to a multiple of 1 / p0. `initial`, `parameters` and `inputs` are as in `ensemble`, without
    arrays: any distributions, `jointly` and expressions included. Draws that break a declared assumption are an error:
    truncate their distribution. A run that fails does not count: in the first level it is left out, later its step is
    not taken, so that the probability is conditional on runs that do not fail; `failed` counts them. `seed`: as in
    `ensemble`; the first level has its draws, and step k of all chains the uniform numbers of key seed + k 2^64. The
    other keywords are as in `ensemble`; the result is the same for any number of threads.

    Below a probability of 1e-13 the simulation ends with a RuntimeWarning and ``reached`` False; the same if a level
    gets no closer to the event. Raises `ArgumentError` naming the wrong entry.

    >>> from chaplygin.generated.harmonic_oscillator import model
    >>> from scipy import stats
    >>> start = {"x": stats.norm(0, 1), "x_dot": stats.norm(0, 1)}
    >>> found = rare_event(model, (0, 1), "x", 2000, start, {"m": 1, "k": 1}, above=5, seed=1)
    >>> low, high = found.interval()
    >>> bool(low < stats.norm.sf(5) < high)    # x cos 1 + x_dot sin 1 is standard normal
    True
    """
    score, margin = _event(event, above, below)
    share = arguments.number("p0", p0)
    if not 0.01 <= share <= 0.5:
        raise ArgumentError(f"p0 = {share} must lie between 0.01 and 0.5")
    length = round(1 / share)
    chains = -(-positive("n", n) // length)
    if chains < FEWEST_CHAINS:
        raise ArgumentError(f"n = {n} must be at least {FEWEST_CHAINS * length}: {FEWEST_CHAINS} / p0")
    given = {"initial": initial, "parameters": parameters, "inputs": inputs}
    response = of_model(
        model, t_span, "event", score, given, lanes, threads, of_call(rare_event, options), seed
    )
    return _Simulation(response, margin, chains, length).result()


def _event(event: Any, above: Any, below: Any) -> tuple[Any, Callable[[Array], Array]]:
    """The quantities of an event, and its margin (n,) as a function of these (k, n): positive where it occurs."""
    symbolic = getattr(event, "is_Relational", False) or getattr(event, "is_Boolean", False)
    if above is None and below is None:
        if isinstance(event, Condition):
            sign = 1 if event.comparison[0] == ">" else -1
            return event.observed, _margin(
                0, sign, arguments.number("event: the bound", event.level), "=" in event.comparison
            )
        return _condition(event)
    if symbolic or isinstance(event, Condition):
        raise ArgumentError("above and below are for a quantity; a condition says itself where it holds")
    if above is not None and below is not None:
        raise ArgumentError("above and below are both given; an event has one of them")
    if isinstance(event, Collector) and len(event.names) != 1:
        raise ArgumentError(f"event: {', '.join(event.names)} must be one quantity")
    if below is None:
        return event, _margin(0, 1, arguments.number("above", above))
    return event, _margin(0, -1, arguments.number("below", below))


def _margin(row: int, sign: int, bound: float = 0.0, closed: bool = False) -> Callable[[Array], Array]:
    """sign * (quantity - bound), as a function of quantities (k, n) of which it is one `row`.

    `closed`: whether the event includes the bound; the margin is then positive there.
    """

    def margin(rows: Array) -> Array:
        found: Array = sign * (rows[row] - bound)
        return np.where(found == 0, np.finfo(np.float64).tiny, found) if closed else found

    return margin


def _condition(event: Any) -> tuple[list[Any], Callable[[Array], Array]]:
    """Of a relation between two expressions, or several with & and |."""
    sides: dict[str, Any] = {}

    def margin(condition: Any) -> Callable[[Array], Array]:
        kind = type(condition).__name__
        if kind in ("And", "Or"):
            parts = [margin(each) for each in condition.args]
            reduce = np.minimum.reduce if kind == "And" else np.maximum.reduce
            return lambda rows: np.asarray(reduce([part(rows) for part in parts]))
        if not hasattr(condition, "gts"):
            raise ArgumentError(
                f"event: {arguments.short(condition)} has no margin; give a condition such as x > 20 with a symbol x, "
                "or a quantity with above= or below="
            )
        side = condition.gts - condition.lts
        sides.setdefault(str(side), side)
        return _margin(list(sides).index(str(side)), 1, closed="=" in condition.rel_op)

    found = margin(event)
    return list(sides.values()), found


@dataclass(eq=False)
class _Samples:
    """Runs within a condition: normal numbers z (d, n), drawn numbers table (k, n), margin (n,).

    root (n,): the run of the first level that each descends from.
    """

    z: Array
    table: Array
    margin: Array
    root: NDArray[np.int64]

    def of(self, places: Any) -> _Samples:
        """Some of them."""
        return _Samples(self.z[:, places], self.table[:, places], self.margin[places], self.root[places])

    def where(self, better: NDArray[np.bool_], other: _Samples) -> _Samples:
        """Those of `other` where it is better, which descend from these."""
        return _Samples(
            np.where(better, other.z, self.z),
            np.where(better, other.table, self.table),
            np.where(better, other.margin, self.margin),
            self.root,
        )

    @classmethod
    def joined(cls, parts: list[_Samples]) -> _Samples:
        """All parts, one after the other."""
        return cls(
            np.concatenate([part.z for part in parts], axis=1),
            np.concatenate([part.table for part in parts], axis=1),
            np.concatenate([part.margin for part in parts]),
            np.concatenate([part.root for part in parts]),
        )


class _Simulation:
    """Chains of `length` states each, the first of which is given by the level before."""

    def __init__(
        self, response: Response, margin: Callable[[Array], Array], chains: int, length: int
    ) -> None:
        self.response, self.plan, self.margin = response, response.plan, margin
        self.chains, self.length = chains, length
        self.normal = standard_normal(core_available())
        self.runs = self.failed = self.stream = 0
        self.scale = FIRST_STEP
        self.deviation = np.zeros(chains * length)
        """Of the runs that descend from each run of the first level: the sum of (I - p_j) / (n_j p_j)."""

    def result(self) -> RareEvent:
        """Add levels until enough runs of the last one have the event."""
        samples, ok = self._run(self._normals(self.chains * self.length))
        samples = samples.of(ok)
        if not ok.any():
            raise ArgumentError(f"all {self.runs} runs of the first level fail; run one with model.integrate")
        levels: list[Level] = []
        acceptance, probability = math.nan, 1.0
        while True:
            some = np.sort(samples.margin)[-self.chains :]
            limit = float(some[0]) if len(some) == self.chains else -math.inf
            final = limit > 0
            inside = samples.margin > 0 if final else samples.margin >= limit
            levels.append(self._level(samples.root, inside, 0.0 if final else limit, acceptance))
            probability *= levels[-1].probability
            if final:
                return self._found(probability, levels, samples.of(inside))
            if inside.all() or probability < SMALLEST:
                return self._not_found(levels)
            places = np.flatnonzero(inside)  # more than there are chains if some have the same margin
            starts = places[np.arange(self.chains) * len(places) // self.chains]
            samples, acceptance = self._chains(samples.of(starts), limit)

    def _run(self, z: Array) -> tuple[_Samples, NDArray[np.bool_]]:
        """The runs of normal numbers z (d, n), and which did not fail; those without a margin have -inf."""
        table = self.plan.quantiles(np.clip(ndtr(z), LOWEST, HIGHEST))
        rows, ok = self.response.run(table)
        self.runs += len(ok)
        self.failed += int(np.sum(~ok))
        margin = self.margin(rows)
        return _Samples(z, table, np.where(np.isnan(margin), -np.inf, margin), np.arange(len(ok))), ok

    def _normals(self, count: int) -> Array:
        """The next standard normal numbers, (d, count)."""
        dimensions = self.plan.dimensions
        u = Uniforms(self.plan.seed + (self.stream << 64), "random", count, dimensions).block(0, count)
        self.stream += 1
        return np.array([self.normal.quantile(row) for row in u])

    def _chains(self, now: _Samples, limit: float) -> tuple[_Samples, float]:
        """The states of the chains that start at `now`, one step of all after the other, and the acceptance."""
        spread = now.z.std(axis=1)[:, None]
        states, taken = [now], 0
        for k in range(1, self.length):
            step = np.minimum(self.scale * spread, 1.0)
            tried, _ = self._run(np.sqrt(1 - step**2) * now.z + step * self._normals(self.chains))
            better = tried.margin >= limit
            now = now.where(better, tried)
            states.append(now)
            taken += int(better.sum())
            self.scale *= math.exp((better.mean() - WANTED_ACCEPTANCE) / math.sqrt(k))
        return _Samples.joined(states), taken / (self.chains * (self.length - 1))

    def _level(self, root: Any, inside: NDArray[np.bool_], limit: float, acceptance: float) -> Level:
        """The conditional probability and its variation (Au and Beck 2001, equations 28 and 29)."""
        n, p = len(inside), float(inside.mean())
        gamma = 0.0 if math.isnan(acceptance) else _correlation(inside.reshape(self.length, self.chains), p)
        variation = math.sqrt((1 - p) / (p * n) * (1 + gamma)) if p else math.inf
        if p:
            self.deviation += np.bincount(root, (inside - p) / (n * p), len(self.deviation))
        return Level(limit, p, variation, gamma, acceptance)

    def _found(self, p: float, levels: list[Level], event: _Samples) -> RareEvent:
        variation = math.sqrt(float((self.deviation**2).sum()))
        draws = dict(zip(self.plan.names, event.table))
        return RareEvent(p, variation, tuple(levels), self.runs, self.failed, True, draws, self.plan.seed)

    def _not_found(self, levels: list[Level]) -> RareEvent:
        warnings.warn(
            f"the event was not reached in {len(levels)} levels; the last one has the margin {levels[-1].margin:.6g}",
            RuntimeWarning,
            stacklevel=4,
        )
        return RareEvent(0.0, math.inf, tuple(levels), self.runs, self.failed, False, {}, self.plan.seed)


def _correlation(inside: NDArray[np.bool_], p: float) -> float:
    """gamma = 2 sum_k (1 - k / L) rho(k) of chains (L, chains), rho being the correlation k steps apart."""
    length = len(inside)
    deviation = inside - p
    variance = float((deviation**2).mean())
    if not variance:
        return 0.0
    lags = range(1, length)
    rho = [float((deviation[k:] * deviation[:-k]).mean()) / variance for k in lags]
    return max(2 * sum((1 - k / length) * each for k, each in zip(lags, rho)), 0.0)
