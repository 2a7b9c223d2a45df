"""The results of a study's statistics."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chaplygin._lazy import later
from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array
from .convergence import Trail, trail_of_moments
from .sketches import Counts, Moments

if TYPE_CHECKING:
    from typing_extensions import Self

scipy = later("scipy")


class Statistic(ABC):
    """A result to which every trajectory that counts contributes."""

    @abstractmethod
    def unknown(self) -> Self:
        """The same with NaN for every number but those of trajectories: what NumPy gives where a number is NaN."""


def _unknown(value: Any) -> Any:
    """Arrays and numbers, also in a dict, as NaN."""
    if isinstance(value, dict):
        return {name: _unknown(each) for name, each in value.items()}
    return np.full(np.shape(value), np.nan) if np.ndim(value) else math.nan


@dataclass(frozen=True, eq=False)
class MomentsResult(Statistic):
    """Statistics by name: a number at the end, or an array (T,) at the times `at`.

    count: the trajectories that count, an integer or (T,). mean, std (with n - 1), error (of the mean, std / sqrt n),
    minimum, maximum: dicts by name. covariance: (k, k) or (T, k, k), in the order of `names`. trail: how the mean went,
    at the last time, as a `Trail` by name.
    """

    names: tuple[str, ...]
    at: Array | None
    count: Any
    mean: dict[str, Any]
    std: dict[str, Any]
    error: dict[str, Any]
    minimum: dict[str, Any]
    maximum: dict[str, Any]
    covariance: Array
    trail: dict[str, Trail]

    @classmethod
    def of(
        cls, names: tuple[str, ...], at: Array | None, total: Moments, before: Sequence[Moments] = ()
    ) -> MomentsResult:
        """`before`: the moments at the last time after fewer trajectories."""

        def by_name(rows: Array) -> dict[str, Any]:
            """(T, k) by name; NaN where nothing counts."""
            rows = np.where(total.count[:, None] > 0, rows, np.nan)
            return {
                name: float(rows[0, i]) if at is None else rows[:, i].copy() for i, name in enumerate(names)
            }

        with np.errstate(divide="ignore", invalid="ignore"):
            covariance = total.products / (total.count - 1.0)[:, None, None]
            std = np.sqrt(np.einsum("tii->ti", covariance))
            error = std / np.sqrt(total.count)[:, None]
        return cls(
            names,
            at,
            int(total.count[0]) if at is None else total.count,
            by_name(total.mean),
            by_name(std),
            by_name(error),
            by_name(total.minimum),
            by_name(total.maximum),
            covariance[0] if at is None else covariance,
            dict(zip(names, trail_of_moments([*before, total.last()]))),
        )

    def interval(self, level: float = 0.95) -> tuple[dict[str, Any], dict[str, Any]]:
        """The confidence interval of each mean, by Student's t: lower and upper ends, dicts as `mean`.

        It assumes that the mean of so many numbers is about normal, which takes many of them if their distribution has
        heavy tails.
        """
        half = scipy.special.stdtrit(np.maximum(self.count - 1.0, 0), 0.5 + interval_level(level) / 2)
        widths = {name: half * error for name, error in self.error.items()}
        return (
            {name: mean - widths[name] for name, mean in self.mean.items()},
            {name: mean + widths[name] for name, mean in self.mean.items()},
        )

    def unknown(self) -> Self:
        names = "mean", "std", "error", "minimum", "maximum", "covariance"
        return replace(self, trail={}, **{name: _unknown(getattr(self, name)) for name in names})

    def __repr__(self) -> str:
        if self.at is not None:
            return f"<Moments of {', '.join(self.names)} at {len(self.at)} times>"
        rows = (f"{name} = {self.mean[name]:.6g} +- {self.error[name]:.2g}" for name in self.names)
        return f"<Moments of {self.count} trajectories: {', '.join(rows)}>"


@dataclass(frozen=True, eq=False)
class Quantiles(Statistic):
    """Quantiles `q` (k,) of a quantity; `values` (k,) at the end, (k, T) at the times `at`. NaN where nothing counts.

    The quantile q of n numbers is the one of rank ceil(q n), found to a relative error below 2^-10, below 2^-1022 to an
    absolute one of 2^-1031; 0 is exact.
    """

    name: str
    q: Array
    at: Array | None
    counts: tuple[Counts, ...]

    @property
    def values(self) -> Array:
        return self._ranked(lambda total: np.ceil(self.q * total))

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """The confidence interval of each quantile between two order statistics: lower and upper ends, as `values`.

        The number of trajectories below a quantile is binomial, which gives their ranks. An end is infinite where there
        are too few trajectories: even the smallest or largest number would not bound the quantile with this
        probability.
        """
        outside = (1 - interval_level(level)) / 2
        return (
            self._ranked(lambda total: scipy.stats.binom.ppf(outside, total, self.q)),
            self._ranked(lambda total: scipy.stats.binom.isf(outside, total, self.q) + 1),
        )

    def _ranked(self, ranks: Any) -> Array:
        columns = [self._column(each, np.asarray(ranks(each.total))) for each in self.counts]
        return np.array(columns).T if self.at is not None else columns[0]

    def _column(self, counts: Counts, ranks: Array) -> Array:
        """The numbers of some ranks, infinite for ranks that there are not."""
        if not counts.total:
            return np.full(len(ranks), np.nan)
        beyond = np.where(ranks < 1, -np.inf, np.where(ranks > counts.total, np.inf, 0.0))
        return np.where(beyond == 0, counts.ranked(ranks), beyond)

    def unknown(self) -> Self:
        return replace(self, counts=tuple(Counts.of(np.empty(0), each.bits) for each in self.counts))

    def __repr__(self) -> str:
        if self.at is not None:
            return f"<Quantiles of {self.name} at {len(self.at)} times>"
        pairs = (f"{q:g}: {value:.6g}" for q, value in zip(self.q, self.values))
        return f"<Quantiles of {self.name}: {', '.join(pairs)}>"


@dataclass(frozen=True, eq=False)
class Histogram(Statistic):
    """counts (bins,), or (T, bins) at given times, between `edges` (bins + 1,); `below` and `above` are outside."""

    name: str
    edges: Array
    counts: NDArray[Any]
    below: Any
    above: Any

    @property
    def density(self) -> Array:
        """The share of each bin divided by its width."""
        total = self.counts.sum(axis=-1) + self.below + self.above
        return np.asarray(self.counts / (np.asarray(total)[..., None] * np.diff(self.edges)))

    def unknown(self) -> Self:
        return replace(self, **{name: _unknown(getattr(self, name)) for name in ("counts", "below", "above")})

    def __repr__(self) -> str:
        times = f" at {len(self.counts)} times" if np.ndim(self.counts) > 1 else ""
        return f"<Histogram of {self.name} in {len(self.edges) - 1} bins{times}>"


@dataclass(frozen=True, eq=False)
class Probability(Statistic):
    """`count` of `n` trajectories satisfy a condition; integers, or (T,) at given times.

    trail_count, trail_n: the same after fewer trajectories, at the last time, (M,).
    """

    count: Any
    n: Any
    trail_count: Any = ()
    trail_n: Any = ()

    @property
    def p(self) -> Any:
        """count / n."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.true_divide(self.count, self.n)

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """The confidence interval of E. B. Wilson (1927), for trajectories that are independent of each other."""
        z = normal_half(level)
        p, n = self.p, self.n
        with np.errstate(divide="ignore", invalid="ignore"):
            middle = (p + z * z / (2 * n)) / (1 + z * z / n)
            half = z / (1 + z * z / n) * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)

    @property
    def trail(self) -> Trail:
        """How the probability went as trajectories were added."""
        n = np.asarray(self.trail_n, dtype=np.int64)
        keep = np.flatnonzero((n > 0) & (np.diff(n, append=-1) != 0))
        then = Probability(np.asarray(self.trail_count)[keep], n[keep])
        return Trail(then.n, then.p, *then.interval())

    def unknown(self) -> Self:
        return replace(self, count=_unknown(self.count), trail_count=(), trail_n=())

    def __repr__(self) -> str:
        if np.ndim(self.n):
            return f"<Probability at {len(self.n)} times>"
        low, high = self.interval()
        return f"<Probability {self.p:.6g}, 95 % interval {low:.6g} to {high:.6g}, {self.count} of {self.n}>"


def interval_level(level: Any) -> float:
    """The probability of a confidence interval, checked."""
    value = arguments.number("level", level)
    if not 0 < value < 1:
        raise ArgumentError(f"level = {value} must lie between 0 and 1")
    return value


def normal_half(level: Any) -> float:
    """The normal quantile of (1 + level) / 2."""
    return float(scipy.special.ndtri(0.5 + interval_level(level) / 2))
