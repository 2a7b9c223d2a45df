"""Distributions of one number as quantile functions.

A draw is the quantile at a uniform number, x = F^-1(u). Uniform, normal, lognormal, exponential and Weibull
distributions are compiled. Of any other continuous one a table is made: the quantile as a function of the normal
quantile z(u), which is smooth, by polynomials in cells of z, compared with SciPy's values between its nodes. A discrete
distribution is a table of its distribution function. Where a table would be too large or not accurate enough, SciPy
computes the draws themselves. Draws that rounding carries out of the support are its ends.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from chaplygin._lazy import later
from chaplygin.errors import ArgumentError

from .. import core
from ..interface.arguments import Array

scipy = later("scipy")

UNIFORM, NORMAL, LOGNORMAL, EXPONENTIAL, WEIBULL, TABLE = range(6)
"""`enum cg_law` in cg_quantile.h."""

LOWEST, HIGHEST = 2.0**-53, 1 - 2.0**-53
"""Uniform numbers are multiples of 2^-53 in [0, 1), of which 0 is replaced by 2^-53."""

REACH = 8.5  # the normal quantiles of LOWEST and HIGHEST are -8.21 and 8.21
DEGREE = 11
FINENESS = (4, 8, 16, 32, 64)  # cells in a unit of z, tried in this order
ACCURACY = 1e-11
LARGEST_STEPS = 1 << 20


@dataclass(frozen=True, eq=False, kw_only=True)
class Law(ABC):
    """A distribution of one number, drawn from one uniform number.

    support: the least and the largest number, out of which rounding might carry draws.
    """

    support: tuple[float, float] = (-math.inf, math.inf)
    dimensions: ClassVar[int] = 1

    def quantile(self, u: Array) -> Array:
        """x (n,) with F(x) = u, for uniform numbers u (n,)."""
        found = self._quantile(u)
        return np.clip(found, *self.support) if np.isfinite(self.support).any() else found

    @abstractmethod
    def _quantile(self, u: Array) -> Array: ...

    def draw(self, u: Array) -> Array:
        """(1, n) from uniform numbers (1, n)."""
        return self.quantile(u[0])[None]


@dataclass(frozen=True, eq=False)
class Compiled(Law):
    """A quantile function in C: `kind` of `enum cg_law` and its numbers."""

    kind: int
    numbers: Array

    def _quantile(self, u: Array) -> Array:
        return core.quantile(self.kind, self.numbers, u)


@dataclass(frozen=True, eq=False)
class Steps(Law):
    """A discrete distribution: `values` in increasing order, and the probability `below` of each and all before it."""

    values: Array
    below: Array

    def _quantile(self, u: Array) -> Array:
        found = np.searchsorted(self.below, u, side="left")
        return self.values[np.minimum(found, len(self.values) - 1)]


@dataclass(frozen=True, eq=False)
class InSciPy(Law):
    """A distribution whose draws SciPy computes."""

    source: Any

    def _quantile(self, u: Array) -> Array:
        return np.asarray(_quantile(self.source, u, 1 - u), dtype=np.float64)


_CLOSED = {
    "uniform": (UNIFORM, ()),
    "norm": (NORMAL, ()),
    "lognorm": (LOGNORMAL, ("s",)),
    "expon": (EXPONENTIAL, ()),
    "weibull_min": (WEIBULL, ("c",)),
}
"""Compiled distributions of `scipy.stats` by name: kind and shape parameters."""


def is_distribution(value: Any) -> bool:
    """Whether a value is a distribution of `scipy.stats`, in either of its interfaces, for one number or several."""
    return any(hasattr(value, name) for name in ("ppf", "icdf")) or (
        hasattr(value, "rvs") and not isinstance(value, np.ndarray)
    )


def law(what: str, source: Any, compiled: bool) -> Law:
    """The law of a frozen distribution of `scipy.stats`; `compiled`: whether the C core is there.

    Raises ArgumentError naming `what` if the distribution is not frozen, or not of one number.
    """
    if not (hasattr(source, "dist") or hasattr(source, "iccdf")):
        if hasattr(source, "ppf"):
            name = getattr(source, "name", "norm")
            raise ArgumentError(
                f"{what}: the distribution has no parameters yet; write for example stats.{name}(...) with them"
            )
        raise ArgumentError(
            f"{what}: {type(source).__name__} is a distribution of several numbers; give their names with "
            "cg.jointly((name, ...), distribution)"
        )
    with np.errstate(all="ignore"):
        median = np.asarray(_quantile(source, np.array(0.5), np.array(0.5)))
    if median.ndim:
        raise ArgumentError(
            f"{what}: a distribution of one number is needed, not an array of shape {median.shape}"
        )
    if not np.isfinite(median):
        raise ArgumentError(f"{what}: the median of the distribution is {median}; are its parameters valid?")
    if _discrete(source):
        return _steps(source)
    found = (compiled and (_closed(source) or _table(source))) or InSciPy(source)
    lowest, highest = map(float, source.support())
    return replace(found, support=(lowest, highest))


def _discrete(source: Any) -> bool:
    """Whether a distribution is discrete; in SciPy's new interface it has a density too, of infinite peaks."""
    if hasattr(source, "dist"):
        return not hasattr(source.dist, "pdf")
    return any(base.__name__ == "DiscreteDistribution" for base in type(source).__mro__)


def _quantile(source: Any, u: NDArray[Any], v: NDArray[Any]) -> NDArray[Any]:
    """The quantile at u = 1 - v, from the smaller of the two, where SciPy is accurate."""
    lower, upper = ("icdf", "iccdf") if hasattr(source, "iccdf") else ("ppf", "isf")
    low = u <= 0.5
    found: NDArray[Any] = np.where(low, getattr(source, lower)(np.where(low, u, 0.5)), 0.0)
    return np.where(low, found, getattr(source, upper)(np.where(low, 0.5, v)))


def _closed(source: Any) -> Compiled | None:
    name = type(source).__name__
    if name == "Normal" and hasattr(source, "mu"):
        return Compiled(NORMAL, np.array([source.mu, source.sigma], dtype=np.float64))
    if name == "Uniform" and hasattr(source, "a"):
        return Compiled(UNIFORM, np.array([source.a, source.b - source.a], dtype=np.float64))
    known = _CLOSED.get(getattr(getattr(source, "dist", None), "name", ""))
    if known is None:
        return None
    kind, shapes = known
    given = dict(zip((*shapes, "loc", "scale"), source.args)) | source.kwds
    numbers = [given.get("loc", 0.0), given.get("scale", 1.0), *(given[name] for name in shapes)]
    if kind == WEIBULL:
        numbers[2] = 1 / numbers[2]
    return Compiled(kind, np.array(numbers, dtype=np.float64))


def _steps(source: Any) -> Law:
    with np.errstate(all="ignore"):
        first, last = (float(_quantile(source, np.array(u), np.array(1 - u))) for u in (LOWEST, HIGHEST))
    if not last - first < LARGEST_STEPS:
        return InSciPy(source)
    values = np.arange(first, last + 1)
    return Steps(values, np.asarray(source.cdf(values), dtype=np.float64))


def _table(source: Any) -> Compiled | None:
    """The quantile as polynomials of z; None if SciPy's values between the nodes are not met."""
    between = np.array([-0.99, -0.6, -0.11, 0.37, 0.83])
    nodes = np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))
    for fineness in FINENESS:
        cells = np.arange(-REACH, REACH, 1 / fineness)
        with np.errstate(all="ignore"):
            x = _at(source, cells, nodes, fineness)
            checked = _at(source, cells, between, fineness)
        if not (np.isfinite(x).all() and np.isfinite(checked).all()):
            return None
        powers = _powers(x)
        value = powers[0]
        for row in powers[1:]:
            value = value * between[:, None] + row
        span = np.max(x, axis=0) - np.min(x, axis=0)
        if (np.abs(value - checked) <= ACCURACY * (np.abs(checked) + 0.1 * span)).all():
            head = np.array([-REACH, fineness, DEGREE], dtype=np.float64)
            return Compiled(TABLE, np.concatenate([head, powers.T.ravel()]))
    return None


def _at(source: Any, cells: Array, s: Array, fineness: int) -> Array:
    """The quantile at the points s of [-1, 1] in each cell, (len(s), len(cells))."""
    z = cells + (s[:, None] + 1) / (2 * fineness)
    return np.asarray(_quantile(source, scipy.special.ndtr(z), scipy.special.ndtr(-z)), dtype=np.float64)


def _powers(x: Array) -> Array:
    """The coefficients, from the highest power, of the polynomials with values x at the Chebyshev nodes.

    Sums are written out, so that the bits depend on no linear algebra library.
    """
    n = len(x)
    angles = np.pi * (np.arange(n) + 0.5) / n
    powers = np.zeros_like(x)
    before, now = np.zeros(n), np.zeros(n)  # coefficients of T_(k-1) and T_k, from the constant
    now[0] = 1.0
    for k in range(n):
        weight = sum(row * factor for row, factor in zip(x, np.cos(k * angles))) * ((2 if k else 1) / n)
        for i in range(k + 1):
            powers[n - 1 - i] += now[i] * weight
        following = 2 * np.roll(now, 1) - before if k else np.roll(now, 1)
        before, now = now, following
    return powers
