"""Inputs that are polynomials of the time, piece by piece: samples, splines, and numbers that move with their rates."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from chaplygin._lazy import later
from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array
from ..interface.assumptions import check_row
from ..interface.messages import short
from .random_inputs import Path

scipy = later("scipy")

_SMOOTH = 1e-8
"""Jumps as a part of an input's size that are rounding errors of splines."""
_ROUNDING = 16 * float(np.finfo(float).eps)
KINDS = {"zoh": 1, "linear": 2, "cubic": 4}
"""How samples are joined: the number of coefficients between two of them."""


@dataclass(frozen=True, eq=False)
class Polynomial:
    """An input that is a polynomial from each time on, a function of the time; `cg_signal_t` of cg_run.h.

    u(t) = sum_j rows[i, j] (t - times[i])^j until the next time, with `times` (k,) not decreasing and `rows` (k, m),
    m <= 4. The first one holds before its time too, the last one ever after; where two times are equal, the later
    counts. Those of many trajectories at the same times have `rows` (N, k, m).

    `given` : what the caller gave; None for a rate that follows from it.
    `ends` : the last time belongs to the piece before it: rates of samples jump there, and more runs end than begin so.
    `name`, `within` : the input whose second rate is needed, and the times between which its first one does not jump.
    """

    times: Array
    rows: Array
    given: Any = None
    ends: bool = False
    name: str = ""
    within: tuple[float, float] = (-math.inf, math.inf)

    def __call__(self, t: Any) -> Any:
        """The value at a time, or at an array of times."""
        found = self.at(np.asarray(t, dtype=np.float64))
        return float(found) if np.ndim(t) == 0 else found

    def at(self, t: Array, of: Array | None = None, side: Any = "right") -> Array:
        """Values at times t, by the pieces in which the times `of` are, by default the same.

        One of the `times` is in the piece that begins there, or with the side "left" in the one that ends.
        """
        here = t if of is None else of
        place = np.searchsorted(self.times, here, side=side) - 1
        if self.ends:
            place = np.where(here == self.times[-1], len(self.times) - 2, place)
        place = np.maximum(place, 0)
        return _values(self._taken(place), t - self.times[place])

    def _taken(self, place: Any) -> Array:
        """The coefficients of pieces, of those of many trajectories along the first axis of `place`."""
        rows: Any = self.rows
        if rows.ndim == 2:
            return np.asarray(rows[place])
        along = np.arange(len(rows)).reshape(-1, *(1,) * (np.ndim(place) - 1))
        return np.asarray(rows[along, place])

    @property
    def n_powers(self) -> int:
        """The coefficients of a piece."""
        return int(self.rows.shape[-1])

    def slopes(self, t: Array, direction: float) -> Array:
        """The derivatives by the time at times t; at one of the `times`, as a run in this direction arrives there."""
        return self.rate.at(t, side="left" if direction > 0 else "right")

    @property
    def rate(self) -> Polynomial:
        """The derivative by the time."""
        rows = self.rows[..., 1:] * np.arange(1.0, self.rows.shape[-1])
        return replace(self, rows=rows if rows.size else np.zeros((*rows.shape[:-1], 1)), given=None)

    def extremes(self, low: float, high: float) -> Array:
        """Values between two times, the least and the largest among them; inside of pieces, less by their rounding."""
        begin = np.append(low, np.maximum(low, self.times[1:]))
        end = np.append(np.minimum(high, self.times[1:]), high)
        _, b, c, d = np.pad(self.rows, ((0, 0), (0, 4 - self.rows.shape[1]))).T
        with np.errstate(all="ignore"):
            q = -c - np.copysign(np.sqrt(c * c - 3 * b * d), c)
            still = self.times + np.array([q / (3 * d), b / q])  # where b + 2 c s + 3 d s^2 = 0
        inside = np.clip(np.where(np.isfinite(still), still, begin), begin, end)
        t = np.array([begin, end, *inside])[:, begin <= end]
        found = _values(self.rows[begin <= end], t - self.times[begin <= end])
        slack = _ROUNDING * np.abs(found).max(axis=0)
        found[2:] += np.clip(found[:2].mean(axis=0) - found[2:], -slack, slack)
        return found.ravel()

    def part(self, *_: int) -> Polynomial:
        """Itself, which all trajectories have; and so as a `column`."""
        return self

    column = part

    def digest(self) -> str:
        """What it is, for a checksum."""
        return f"{zlib.crc32(self.rows.tobytes(), zlib.crc32(self.times.tobytes()))} {self.ends}"

    def check(self, name: str, flags: int, span: tuple[float, float] | None = None, where: str = "") -> None:
        """Raise ArgumentError if values are not as assumed: samples, or with `span` those between two times."""
        check_row("inputs", name, flags, self.rows[:, 0] if span is None else self.extremes(*span), where)

    def with_rates(self, names: Sequence[str]) -> list[Polynomial]:
        """An input and its rates, by their names. Raises ArgumentError if one jumps whose rate is needed."""
        sampled = isinstance(self.given, tuple)
        within = self._within() if sampled and len(names) > 2 else self.within
        found = [replace(self, name=names[0], within=within)]
        for _ in names[1:]:
            self._check_smooth(names, found, sampled)
            found.append(replace(found[-1].rate, ends=sampled))
        return found

    def _within(self) -> tuple[float, float]:
        first, last = self.times[0], self.times[-1]
        jumps = self.slopes(first, -1.0) != 0, self.slopes(last, 1.0) != 0
        return (float(first) if jumps[0].any() else -math.inf), (float(last) if jumps[1].any() else math.inf)

    def _check_smooth(self, names: Sequence[str], found: Sequence[Polynomial], sampled: bool) -> None:
        row, order, degree = found[-1], len(found) - 1, self.rows.shape[-1] - 1
        t = np.unique(self.times)
        if row.ends:  # rates of samples may jump at the first and the last: `within`
            t = t[1:-1]
        at = t if self.rows.ndim == 2 else t[None]
        before = row.at(at, side="left")
        size = np.abs(row.rows[..., 0]).max(axis=-1, keepdims=True)
        jumps = np.atleast_2d(np.abs(before - row.at(at)) > _SMOOTH * (np.abs(before) + size)).any(axis=0)
        if jumps.any():
            joined = (
                ("held", "linear")[degree > 0] + " between its samples"
                if sampled
                else f"a spline of degree {degree}"
            )
            kinds = "'cubic'" if len(names) > 2 else "'linear' or 'cubic'"
            how = (
                f"{names[0]} is {joined}, {f'so {names[1]}' if order else 'and'}"
                if degree <= order
                else names[order]
            )
            raise ArgumentError(
                f"inputs: {how} jumps at t = {t[jumps][0]:.17g}, where {names[order + 1]}, which the model needs, has "
                f"no value; give samples that are {kinds}, a spline or a function of the time"
            )


def _values(rows: Array, s: Array) -> Array:
    """The values of polynomials (..., m) at times s after they begin."""
    found = rows[..., -1] + 0 * s
    for j in range(rows.shape[-1] - 2, -1, -1):
        found = rows[..., j] + s * found
    return np.asarray(found)


# ---- what a caller gives ----


def polynomial(name: str, given: Any) -> Polynomial | None:
    """The input that is given as samples or a spline; None for other functions of the time."""
    if isinstance(given, Polynomial):
        return given
    if isinstance(given, (tuple, list)):
        *samples, kind = samples_of(name, given)
        found = joined(f"inputs: {name}", kind, *_samples(f"inputs: {name}", *samples))
        return replace(found, given=given) if isinstance(given, Path) else found
    return _of_spline(name, given) if callable(getattr(given, "derivative", None)) else None


def samples_of(name: str, given: Sequence[Any]) -> tuple[Any, Any, str]:
    """Times, values and kind of samples, of which only the kind is checked."""
    if len(given) not in (2, 3):
        raise ArgumentError(
            f"inputs: {name} has {len(given)} entries; give (times, values) or (times, values, 'linear')"
        )
    kind = given[2] if len(given) == 3 else "zoh"
    if not isinstance(kind, str) or kind not in KINDS:
        raise ArgumentError(
            f"inputs: {name} is sampled with {short(kind)}; give 'zoh', 'linear' or 'cubic', as in "
            "(times, values, 'linear'), or (times, values) alone"
        )
    return given[0], given[1], kind


def joined(what: str, kind: str, t: Array, v: Array) -> Polynomial:
    """Samples (..., k) that are held, or joined by lines or a cubic spline; errors begin with `what`."""
    _check_order(what, t)
    if kind == "zoh":
        return Polynomial(t, v[..., None], (t, v, kind))
    rows = np.zeros((*v.shape[:-1], len(t) + 1, KINDS[kind]))
    rows[..., 0, 0], rows[..., 1:, 0] = v[..., 0], v
    width = np.diff(t)
    if kind == "linear":
        np.divide(np.diff(v), width, out=rows[..., 1:-1, 1], where=width > 0)
    else:
        _check_increasing(what, t)
        slopes, m = spline_slopes(t, v), np.diff(v) / width
        twist = (slopes[..., :-1] + slopes[..., 1:] - 2 * m) / width
        bend = (m - slopes[..., :-1]) / width - twist
        rows[..., 1:-1, 1], rows[..., 1:-1, 2], rows[..., 1:-1, 3] = slopes[..., :-1], bend, twist / width
    return Polynomial(np.concatenate([t[:1], t]), rows, (t, v, kind))


def spline_slopes(t: Array, v: Array) -> Array:
    """The slopes (..., k) of cubic splines "not a knot" through v (..., k), in a fifth of the time of SciPy's."""
    h = np.diff(t)
    m = np.diff(v) / h
    if len(t) < 4:  # a parabola through three points, a line through two
        bend = (m[..., -1:] - m[..., :1]) / (t[-1] - t[0])
        return np.concatenate([m - h * bend, m[..., -1:] + h[-1] * bend], axis=-1)
    first, last = t[2] - t[0], t[-1] - t[-3]
    right = np.empty(v.shape)
    right[..., 0] = ((h[0] + 2 * first) * h[1] * m[..., 0] + h[0] ** 2 * m[..., 1]) / first
    right[..., 1:-1] = 3 * (h[1:] * m[..., :-1] + h[:-1] * m[..., 1:])
    right[..., -1] = (h[-1] ** 2 * m[..., -2] + (2 * last + h[-1]) * h[-2] * m[..., -1]) / last
    diagonal = np.concatenate([h[1:2], 2 * (h[:-1] + h[1:]), h[-2:-1]])
    below, above = np.append(h[1:], last), np.append(first, h[:-1])
    slopes: Array = scipy.linalg.lapack.dgtsv(below, diagonal, above, right.T)[3].T
    return slopes


def _check_increasing(what: str, t: Array) -> None:
    if len(t) < 2:
        raise ArgumentError(f"{what} has one sample; a cubic spline needs two or more")
    same = np.flatnonzero(np.diff(t) == 0)
    if same.size:
        raise ArgumentError(
            f"{what} has two samples at {t[same[0]]:.17g}; a cubic spline has no jumps: the times must increase"
        )


def _samples(what: str, times: Any, values: Any) -> tuple[Array, Array]:
    """Times (k,) that do not decrease, and values (k,); errors begin with `what`."""
    kind, _, name = what.rpartition(": ")
    prefix = f"{kind}: " if kind else ""
    moments = arguments.array(f"{prefix}times of {name}", times)
    samples = arguments.array(f"{prefix}values of {name}", values)
    if moments.ndim != 1 or moments.shape != samples.shape or not moments.size:
        raise ArgumentError(
            f"{what} has times of shape {moments.shape} and values of shape {samples.shape}; "
            "two 1-D arrays of the same length are needed"
        )
    if not (np.isfinite(moments).all() and np.isfinite(samples).all()):
        raise ArgumentError(f"{what} has a time or value that is not finite")
    return moments, samples


def _check_order(what: str, t: Array) -> None:
    kind, _, name = what.rpartition(": ")
    prefix = f"{kind}: " if kind else ""
    if not np.isfinite(t).all() or not t.size:
        raise ArgumentError(f"{what} has a time that is not finite" if t.size else f"{what} has no times")
    if (np.diff(t) < 0).any():
        i = int(np.flatnonzero(np.diff(t) < 0)[0])
        raise ArgumentError(f"{prefix}times of {name} must not decrease: {t[i]:.17g}, then {t[i + 1]:.17g}")


def _of_spline(name: str, spline: Any) -> Polynomial | None:
    """The pieces of a spline of SciPy's, of degree 3 at most, that goes on at its ends; None for others."""
    of = scipy.interpolate
    kind = next((each for each in (of.PPoly, of.BSpline) if isinstance(spline, each)), None)
    if kind is None or type(spline).__call__ is not kind.__call__ or spline.extrapolate is not True:
        return None
    if isinstance(spline, of.PPoly):
        x, c = spline.x, spline.c[::-1]
    elif spline.c.ndim == 1 and 1 <= spline.k <= 3:
        x = np.unique(spline.t[spline.k : len(spline.t) - spline.k])
        c = np.array([spline(x[:-1], j) / math.factorial(j) for j in range(spline.k + 1)])
    else:
        return None
    if c.ndim != 2 or len(c) > 4 or c.dtype != np.float64 or x[0] > x[-1]:
        return None
    if not np.isfinite(c).all():
        raise ArgumentError(f"inputs: {name} is a spline with a coefficient that is not finite")
    return Polynomial(np.array(x[:-1]), np.ascontiguousarray(c.T), spline)


def moved_from(t0: float, derivatives: Sequence[float]) -> list[Polynomial]:
    """An input and its rates that move from the time t0 on, by what they are then."""
    at = np.array([t0])
    return [
        Polynomial(at, np.array([powers(derivatives[i:])]), float(value))
        for i, value in enumerate(derivatives)
    ]


def powers(derivatives: Sequence[Any] | Array) -> list[Any]:
    """The coefficients of the powers 0 to 3 of the time, by a value and its derivatives, numbers or rows of them."""
    return [*(value / math.factorial(k) for k, value in enumerate(derivatives)), 0.0, 0.0, 0.0][:4]


def cubic(t: Any, v: Any) -> Polynomial:
    """A smooth input through samples: the cubic spline with s(t_i) = v_i, an input of a run or a function of the time.

    Its first two derivatives are continuous, and the third at the second and the last but one sample ("not a knot",
    SciPy's `CubicSpline`; with two samples the straight line, with three the parabola). Before the first sample and
    after the last, their values hold. ``(t, v, "cubic")`` among `inputs` is the same.

    t, v : (k,) with k >= 2, the times, which increase, and the values.

    A run takes it as other samples: its steps end at them, and lanes and Taylor's method take it too. Raises
    `ArgumentError` for other shapes, times that do not increase, and what is not finite.

    >>> import chaplygin as cg
    >>> push = cg.cubic([0, 1, 2, 3], [0, 1, 8, 27])
    >>> round(push(1.5), 12)
    3.375
    """
    return joined("cubic", "cubic", *_samples("cubic", t, v))
