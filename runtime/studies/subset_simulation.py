"""Small probabilities by subset simulation: a sequence of conditions, each a few times less likely than the last.

S.-K. Au and J. L. Beck, Probabilistic Engineering Mechanics 16 (2001) 263-277, with the adaptive conditional sampling
of I. Papaioannou, W. Betz, K. Zwirglmaier and D. Straub, Probabilistic Engineering Mechanics 41 (2015) 89-103. The
variation follows from which runs of the first level the later ones descend from: H. P. Chan and T. L. Lai, Annals of
Statistics 41 (2013) 2877-2904; A. Lee and N. Whiteley, Biometrika 105 (2018) 609-625.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

from chaplygin.errors import ArgumentError, warn_caller

from ..draws.distributions import HIGHEST, LOWEST
from ..draws.joint import standard_normal
from ..draws.uniforms import Uniforms
from ..interface import arguments
from ..interface.arguments import Array, positive
from ..model.compiled_model import core_available
from ..problem.options import of_call, shown
from ..statistics.part import ENDINGS
from ..statistics.results import interval_level
from .failures import Way, ways
from .response import Response, of_model

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..problem.option_table import RunKeywords

SMALLEST = 1e-13
"""The simulation ends below this probability: uniform numbers near 1 are 2^-53 apart."""
FEWEST_CHAINS = 10
FEWEST_FREEDOM = 3.0
"""Degrees of freedom of the variation, below which the result comes with a warning."""
FIRST_STEP = 1.4
"""Of the chains, in units of the spread of the states that they start from."""
WANTED_ACCEPTANCE = 0.15, 0.6
"""The step is left alone while the share taken lies in between. A step that followed this share closely would be small
while chains are near the boundary, so that they stay there, and p would be too small: by a fifth for x > 4, y > 4.
"""
STEP_CHANGE = 1.5


@dataclass(frozen=True)
class Level:
    """One condition: that the margin is at least `margin`, or in the last level that the event occurs.

    probability: of the condition, given that of the level before. variation: its coefficient of variation if the chains
    were independent, sqrt((1 - p) (1 + correlation) / (n p)). correlation: gamma of Au and Beck, by which the variance
    grows because states of a chain depend on each other. acceptance: the share of steps of the chains that were taken,
    NaN in the first level, which has no chains. failed: how many of its runs failed.
    """

    margin: float
    probability: float
    variation: float
    correlation: float
    acceptance: float
    failed: int


@dataclass(frozen=True)
class Failure:
    """One of the failures of which an event is the union, with the levels that led to it.

    p: its probability, whether or not others happen too. share: the mean of 1 / (number of failures that happen) where
    it happens, so that the event has the probability sum p share. reached: whether it occurred often enough in the last
    level; if not, p is 0, and the probability is below `bound`.
    """

    condition: str
    p: float
    share: float
    levels: tuple[Level, ...]
    reached: bool

    @property
    def bound(self) -> float:
        """The probability of the last level before chains met runs that fail, beyond which they do not see."""
        sound = [k for k, level in enumerate(self.levels[1:], 1) if level.failed]
        return math.prod(level.probability for level in self.levels[: sound[0] if sound else None])


@dataclass(frozen=True, eq=False)
class RareEvent:
    """The result of `rare_event`.

    p: the probability, sum_i P_i S_i over the `failures` i of which the event is the union. variation: its coefficient
    of variation: the square root of the sum, over the runs r of the first level, of (sum_i P_i S_i / p times the sum of
    (I - p_j) / (n_j p_j) over the runs of all levels j that led to i and descend from r)^2. I is 1 where the condition
    of the next level holds and 0 elsewhere, and in the last level 1 / (number of failures that happen); p_j is its
    mean. This contains the dependence within chains, between levels and between failures, which the variations of the
    `levels` do not. freedom: of how many independent terms this sum of squares is worth, its degrees of freedom. runs:
    how many trajectories ran, of which `failed` neither reached their end nor a terminal event; `endings` says how many
    of these failed in which way.
    reached: whether a failure was reached; if not, p is 0. draws: what was drawn in trajectories with the event, arrays
    by name: a sample of the conditional distribution. seed: makes the result again.
    """

    p: float
    variation: float
    freedom: float
    failures: tuple[Failure, ...]
    runs: int
    endings: dict[str, int]
    draws: dict[str, Array]
    seed: int

    @property
    def failed(self) -> int:
        """The number of runs that failed."""
        return sum(self.endings.values())

    @property
    def reached(self) -> bool:
        """Whether any failure was reached."""
        return any(failure.reached for failure in self.failures)

    @property
    def levels(self) -> tuple[Level, ...]:
        """Those of all failures, one after the other; the first one of each is the same runs."""
        return tuple(level for failure in self.failures for level in failure.levels)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The confidence interval, from p exp(s^2 / 2 - t s) to p exp(s^2 + t s), s^2 = log(1 + variation^2).

        s^2 / 2 is how far the median of a lognormal p lies below its mean, the probability; as much again is added to
        the upper end for the bias of conditions that hold together, whose mean is too small by up to s^2. t is
        Student's quantile with `freedom` degrees of freedom, since the variation is itself estimated. The lower end is
        0 if the event was not reached. To the upper end the `bound` of each failure that was not reached is added.
        """
        inside = interval_level(level)
        missed = sum(failure.bound for failure in self.failures if not failure.reached)
        if not self.reached:
            return 0.0, min(missed, 1.0)
        square = math.log1p(self.variation**2)
        half = float(stdtrit(self.freedom, 0.5 + inside / 2)) * math.sqrt(square)
        low, high = self.p * math.exp(square / 2 - half), self.p * math.exp(square + half)
        return min(low, 1.0), min(high + missed, 1.0)

    def __repr__(self) -> str:
        low, high = self.interval()
        several = f" of {len(self.failures)} failures" if len(self.failures) > 1 else ""
        ran = f"{self.runs} runs in {len(self.levels)} levels{several}"
        if not self.reached:
            return f"<RareEvent not reached, probability below {high:.3g}, {ran}>"
        return f"<RareEvent {self.p:.3g}, variation {self.variation:.2g}, 95 % interval {low:.3g} to {high:.3g}, {ran}>"


@shown
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
    **options: Unpack[RunKeywords],
) -> RareEvent:
    """The probability of a rare event, by subset simulation with `n` runs for each level.

    `event`: a condition at the end of each run, such as ``x > 20`` with a symbol x, also with &, | and ~, or along it,
    such as ``cg.peak(x) > 20``; or a quantity, or an entry of `collect` with one number for each run, with the number
    that it is to be `above` or `below`. The margin of a condition is the difference of its two sides, the smallest of
    several with &, each in units of its spread in the first level. An event with |, Max, Min or Abs is written as the
    union of failures, at most 32, and each is looked for by itself after a first level that they share; where several
    happen, each counts for its part. What a condition does not show, such as a margin with several peaks of which the
    higher ones are rare, is missed if none of the runs of a level lies on the way there; other seeds and a larger `n`
    show it.

    The first level is a study with random draws. Each level then takes as its condition the margin that a share `p0` of
    its runs exceed, and these runs start Markov chains, which stay within the condition, for the next level. A step of
    a chain takes the standard normal numbers z behind the draws to ``sqrt(1 - s^2) z + s w``, w standard normal, if the
    run with these has the margin; s is a multiple of the spread of z along each principal axis of the states at the
    start of the level. All chains of a level make each step as one ensemble. The estimate has a bias of the order of
    1/n. Its variation is itself an estimate, which the interval takes into account; a RuntimeWarning says if it rests
    on too few runs, as when those of the last level descend from a few of the first.

    The sum over failures of p_i times the mean of 1 / (number of failures that happen) is the probability of the union.
    `n` is rounded up to a multiple of 1 / p0. `initial`, `parameters` and `inputs` are as in `ensemble`, without
    arrays: any distributions, `jointly` and expressions included. Draws that break a declared assumption are an error:
    truncate their distribution. A run that fails does not count: in the first level it is left out, later its step is
    not taken, so that the probability is conditional on runs that do not fail. A RuntimeWarning says how many
    failed in which way, as does `endings`. Chains do not pass through such runs: an event beyond them may not be
    reached, and its `bound` is then the probability of the last level before chains met them. `seed`: as in `ensemble`;
    the first level has its draws, and step k of all chains the uniform numbers of key seed + k 2^64. The other keywords
    are as in `ensemble`; the result is the same for any number of threads.

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
    score, failures = ways(event, above, below)
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
    return _Simulation(response, failures, chains, length).result()


@dataclass(eq=False)
class _Samples:
    """Runs within a condition: normal numbers z (d, n), drawn numbers table (k, n), margins (failures, n).

    root (n,): the run of the first level that each descends from.
    """

    z: Array
    table: Array
    margins: Array
    root: NDArray[np.int64]

    def of(self, places: Any) -> _Samples:
        """Some of them."""
        return _Samples(self.z[:, places], self.table[:, places], self.margins[:, places], self.root[places])

    def where(self, better: NDArray[np.bool_], other: _Samples) -> _Samples:
        """Those of `other` where it is better, which descend from these."""
        return _Samples(
            np.where(better, other.z, self.z),
            np.where(better, other.table, self.table),
            np.where(better, other.margins, self.margins),
            self.root,
        )

    @classmethod
    def joined(cls, parts: list[_Samples]) -> _Samples:
        """All parts, one after the other."""
        return cls(
            np.concatenate([part.z for part in parts], axis=1),
            np.concatenate([part.table for part in parts], axis=1),
            np.concatenate([part.margins for part in parts], axis=1),
            np.concatenate([part.root for part in parts]),
        )


@dataclass(eq=False)
class _Found:
    """A failure with what its part of the union is: probability q, deviation (n,) of q by the runs of the first level,
    and the drawn numbers table (k, m) of the runs with the event, with their weights (m,).
    """

    failure: Failure
    q: float
    deviation: Array
    table: Array
    weights: Array


class _Simulation:
    """Chains of `length` states each, the first of which is given by the level before."""

    def __init__(self, response: Response, failures: tuple[Way, ...], chains: int, length: int) -> None:
        self.response, self.plan, self.failures = response, response.plan, failures
        self.chains, self.length = chains, length
        self.normal = standard_normal(core_available())
        self.runs = self.stream = 0
        self.failed: Counter[str] = Counter()

    def result(self) -> RareEvent:
        """The levels of each failure, and their sum."""
        z = self._normals(self.chains * self.length)
        table, rows, ok = self._run(z)
        if not ok.any():
            raise ArgumentError(f"all {self.runs} runs of the first level fail; run one with model.integrate")
        self.failures = tuple(failure.measured(rows[:, ok]) for failure in self.failures)
        samples = self._samples(z, table, rows).of(ok)
        found = [self._search(i, samples) for i in range(len(self.failures))]
        p = float(sum(each.q for each in found))
        variation, freedom, draws = math.inf, 0.0, {}
        if p:
            square = np.asarray(sum((each.q / p) * each.deviation for each in found)) ** 2
            variation, freedom = math.sqrt(float(square.sum())), _freedom(square)
            draws = dict(zip(self.plan.names, _resampled(found)))
        failures = tuple(each.failure for each in found)
        for said in self._doubts(failures, freedom if p else math.inf):
            warn_caller(said)
        return RareEvent(p, variation, freedom, failures, self.runs, dict(self.failed), draws, self.plan.seed)

    def _doubts(self, failures: tuple[Failure, ...], freedom: float) -> Iterator[str]:
        """What is to be known before the result is trusted."""
        for failure in failures:
            if not failure.reached:
                called = "the event" if len(failures) == 1 else failure.condition
                many, last = len(failure.levels), failure.levels[-1].margin
                yield f"{called} was not reached in {many} levels; the last one has the margin {last:.6g}"
        if self.failed:
            how = ", ".join(f"{count} {name}" for name, count in self.failed.most_common())
            yield (
                f"{self.failed.total()} of {self.runs} runs failed ({how}) and do not count: the probability is "
                "that of runs that do not fail, and an event beyond them is not seen; if they should not fail, run one "
                "with model.integrate, or let a terminal event end them before"
            )
        if freedom < FEWEST_FREEDOM:
            n = self.chains * self.length
            yield (
                f"the interval rests on the equivalent of {freedom:.2g} independent runs, too few to be trusted; take "
                f"a larger n, such as {4 * n}"
            )

    def _search(self, i: int, samples: _Samples) -> _Found:
        """Add levels until enough runs of the last one have failure i."""
        levels: list[Level] = []
        acceptance, probability, scale = math.nan, 1.0, FIRST_STEP
        deviation = np.zeros(self.chains * self.length)
        failed = self.chains * self.length - samples.z.shape[1]
        while True:
            margin = samples.margins[i]
            some = np.sort(margin)[-self.chains :]
            limit = float(some[0]) if len(some) == self.chains else -math.inf
            final = limit > 0
            inside = margin > 0 if final else margin >= limit
            levels.append(self._level(inside, 0.0 if final else limit, acceptance, failed))
            weights = inside / np.maximum((samples.margins > 0).sum(axis=0), 1) if final else inside * 1.0
            share = float(weights.mean())
            if share:
                deviation += np.bincount(
                    samples.root, (weights - share) / (len(weights) * share), len(deviation)
                )
            if final:
                q, p = probability * share, probability * levels[-1].probability
                failure = Failure(self.failures[i].text, p, q / p, tuple(levels), True)
                return _Found(failure, q, deviation, samples.table[:, inside], weights[inside])
            probability *= share
            if inside.all() or probability < SMALLEST:
                return self._not_found(i, levels, deviation, samples.table[:, :0])
            places = np.flatnonzero(inside)  # more than there are chains if some have the same margin
            starts = places[np.arange(self.chains) * len(places) // self.chains]
            before = self.failed.total()
            samples, acceptance, scale = self._chains(samples.of(starts), i, limit, scale)
            failed = self.failed.total() - before

    def _run(self, z: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
        """What the runs of normal numbers z (d, n) draw and give, (d, n) and (k, n), and which did not fail."""
        table = self.plan.quantiles(np.clip(ndtr(z), LOWEST, HIGHEST))
        rows, ok, status = self.response.run(table)
        self.runs += len(ok)
        self.failed.update(ENDINGS.get(int(each), str(each)) for each in status[~ok])
        return table, rows, ok

    def _samples(self, z: Array, table: Array, rows: Array) -> _Samples:
        """Those without a margin have -inf."""
        margins = np.array([failure.margin(rows) for failure in self.failures])
        return _Samples(z, table, np.where(np.isnan(margins), -np.inf, margins), np.arange(z.shape[1]))

    def _normals(self, count: int) -> Array:
        """The next standard normal numbers, (d, count)."""
        dimensions = self.plan.dimensions
        u = Uniforms(self.plan.seed + (self.stream << 64), "random", count, dimensions).block(0, count)
        self.stream += 1
        return np.array([self.normal.quantile(row) for row in u])

    def _chains(self, now: _Samples, i: int, limit: float, scale: float) -> tuple[_Samples, float, float]:
        """The states of the chains that start at `now`, one step of all after the other; acceptance and scale."""
        axes, spread = _principal(now.z)
        low, high = WANTED_ACCEPTANCE
        states, taken = [now], 0
        for _ in range(1, self.length):
            step = np.minimum(scale * spread, 1.0)
            along, drawn = axes.T @ now.z, axes.T @ self._normals(self.chains)
            z = axes @ (np.sqrt(1 - step**2) * along + step * drawn)
            table, rows, _ = self._run(z)
            tried = self._samples(z, table, rows)
            better = tried.margins[i] >= limit
            now = now.where(better, tried)
            states.append(now)
            taken += int(better.sum())
            scale *= STEP_CHANGE ** (int(better.mean() > high) - int(better.mean() < low))
        return _Samples.joined(states), taken / (self.chains * (self.length - 1)), scale

    def _level(self, inside: NDArray[np.bool_], limit: float, acceptance: float, failed: int) -> Level:
        """The conditional probability and its variation (Au and Beck 2001, equations 28 and 29)."""
        n, p = len(inside), float(inside.mean())
        gamma = 0.0 if math.isnan(acceptance) else _correlation(inside.reshape(self.length, self.chains), p)
        variation = math.sqrt((1 - p) / (p * n) * (1 + gamma)) if p else math.inf
        return Level(limit, p, variation, gamma, acceptance, failed)

    def _not_found(self, i: int, levels: list[Level], deviation: Array, nothing: Array) -> _Found:
        failure = Failure(self.failures[i].text, 0.0, 1.0, tuple(levels), False)
        return _Found(failure, 0.0, deviation, nothing, np.empty(0))


def _freedom(square: Array) -> float:
    """The degrees of freedom of a sum of squares: n if they are of n normal numbers, fewer if of longer tails."""
    total = float(square.sum())
    spread = float((square**2).sum()) - total**2 / len(square)
    return 2 * total**2 / spread if spread > 0 else math.inf


def _principal(z: Array) -> tuple[Array, Array]:
    """The axes (d, d) of normal numbers z (d, n) along which they are uncorrelated, and their spreads (d, 1).

    Correlations of few states in many dimensions are chance: they count by n^2 / (n^2 + d^2).
    """
    d, n = z.shape
    covariance = np.cov(z).reshape(d, d)
    own = np.diag(np.diag(covariance))
    squares, axes = np.linalg.eigh((n**2 * covariance + d**2 * own) / (n**2 + d**2))
    return axes, np.sqrt(np.maximum(squares, 0.0))[:, None]


def _resampled(found: list[_Found]) -> Array:
    """The drawn numbers (k, m) of the runs with the event, so many times each as its weight says."""
    table = np.concatenate([each.table for each in found], axis=1)
    weights = np.concatenate([each.weights * (each.q / max(each.weights.sum(), 1e-300)) for each in found])
    count = table.shape[1]
    until = np.cumsum(weights)
    wanted = (np.arange(count) + 0.5) * (until[-1] / count)
    return np.asarray(table[:, np.minimum(np.searchsorted(until, wanted), count - 1)])


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
