"""Inputs with a rate: what is given for an input u tells u' and u'' too, which are further inputs of the model.

- A number has the rates 0. Numbers can be given for the rates too: u then moves as the polynomial of these derivatives,
  from the start of a run, or in steppers and batches from where they are set.
- Samples that are linear in between have a rate that is held between them, and no second one; a cubic spline has both.
  Held samples jump, so they have none.
- A function f(t) returns u, or tells its derivatives: (u, u') or (u, u', u''). What it does not tell are central
  differences of the eighth order, over 1/4 of a unit of time to each side at most.
- What has a method `derivative`, as the splines of SciPy, is asked for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from chaplygin._lazy import later
from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array
from ..interface.assumptions import RATE
from .input_functions import Cubic, InputFunction

scipy = later("scipy")

FIRST = np.array([0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
SECOND = np.array([-205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560])
ROUGH = np.array([0, 3 / 4, -3 / 20, 1 / 60, 0]), np.array([-49 / 18, 3 / 2, -3 / 20, 1 / 90, 0])
"""Weights of values at 0, 1 ... 4 times a distance to each side: of order 8, and of order 6 for the error."""
WIDEST, NARROWER, LEVELS = 1 / 16, 0.2113, 13
"""The first distance, how it shrinks, how often at most."""
_SMOOTH = 1e-8
"""Jumps of a spline as a part of its size that are rounding errors."""
_ROUNDING = 4 * float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Polynomials:
    """A sampled input, a cubic polynomial from each time on: times (k,) not decreasing, `values` (k, 4) the
    coefficients of the powers of the time since then. The first one holds before its time too.

    `name`, `within`: the input whose second rate is needed, and the times between which its first one does not jump.
    """

    times: Array
    values: Array
    name: str = ""
    within: tuple[float, float] = (-math.inf, math.inf)
    given: Any = None
    """What the caller gave; None for a rate that follows from it."""
    ends: bool = False
    """Whether the last time is the end of the samples, after which the value holds."""

    kind: ClassVar[int] = 4
    """That of `enum cg_signal_kind` in cg_run.h."""

    def at(self, t: Array, of: Array | None = None) -> Array:
        """Values at times t (N,), by the polynomials that hold at times `of`, by default the same."""
        place, s = self._place(t, of)
        a, b, c, d = self.values[place].T
        return np.asarray(a + s * (b + s * (c + s * d)))

    def before(self, t: Array) -> Array:
        """Values at times t (N,), by the polynomials that end at a time if one begins there."""
        return self.at(t, np.nextafter(t, -np.inf))

    def slopes(self, t: Array, direction: float) -> Array:
        """The derivatives by the time at times t (N,); at a sample, those from which a run in this direction comes."""
        place, s = self._place(t, t, "left" if direction > 0 else "right")
        _, b, c, d = self.values[place].T
        return np.asarray(b + s * (2 * c + s * (3 * d)))

    def _place(self, t: Array, of: Array | None, side: Any = "right") -> tuple[Any, Array]:
        here = t if of is None else of
        place = np.searchsorted(self.times, here, side=side) - 1
        if self.ends:  # where a run comes to an end more often than it begins
            place = np.where(here == self.times[-1], len(self.times) - 2, place)
        place = np.maximum(place, 0)
        return place, t - self.times[place]


def with_rates(flags: Sequence[int]) -> list[range]:
    """Each input with all of its rates."""
    return followed(flags, [i for i, bits in enumerate(flags) if not bits & RATE])


def rated(flags: Sequence[int]) -> set[int]:
    """The inputs that have rates, or are rates."""
    return {i for rows in with_rates(flags) if len(rows) > 1 for i in rows}


def followed(flags: Sequence[int], given: Sequence[int]) -> list[range]:
    """The inputs that are given, each with the rates after it that are not: they follow from it."""
    ends = [*given[1:], len(flags)] if flags else [i + 1 for i in given]
    return [range(i, end) for i, end in zip(given, ends)]


def moved_from(t0: float, derivatives: Sequence[float]) -> list[Polynomials]:
    """An input and its rates that move from the time t0 on, by what they are then."""
    found = []
    for i, value in enumerate(derivatives):
        row = np.array([powers(derivatives[i:])])
        found.append(Polynomials(np.array([t0]), row, given=float(value)))
    return found


def powers(derivatives: Sequence[Any] | Array) -> list[Any]:
    """The coefficients of the powers 0 to 3 of the time, by a value and its derivatives, numbers or rows of them."""
    return [*(value / math.factorial(k) for k, value in enumerate(derivatives)), 0.0, 0.0, 0.0][:4]


def of_cubic(names: Sequence[str], spline: Cubic) -> list[Polynomials]:
    """An input and its rates by a cubic spline, whose ends hold before and after its samples."""
    times = np.concatenate([spline.times[:1], spline.times])
    rows = np.zeros((len(times), 4))
    rows[1:-1] = spline.coefficients
    rows[0, 0], rows[-1, 0] = spline.values[0], spline.values[-1]
    within = (float(times[0]), float(times[-1])) if len(names) > 2 else (-math.inf, math.inf)
    return _derived(names, Polynomials(times, rows, names[0], within, spline, ends=True))


def _derived(names: Sequence[str], own: Polynomials) -> list[Polynomials]:
    """An input and its rates."""
    found, rows = [own], own.values
    for _ in names[1:]:
        rows = np.column_stack([rows[:, 1], 2 * rows[:, 2], 3 * rows[:, 3], np.zeros(len(rows))])
        found.append(Polynomials(own.times, rows, own.name, own.within, ends=own.ends))
    return found


def slope_of_lines(names: Sequence[str], times: Array, values: Array) -> Polynomials:
    """The rate of an input that is linear between samples. Raises ArgumentError if it jumps, or has to have a rate."""
    name = names[0]
    jumps = np.flatnonzero((np.diff(times) == 0) & (np.diff(values) != 0))
    if jumps.size:
        raise _jumps(names, f"{name} jumps at t = {times[jumps[0]]:.17g}")
    if len(names) > 2 and np.ptp(values) > 0:
        raise ArgumentError(
            f"inputs: {name} is linear between its samples, so {names[1]} jumps at them, and the model needs "
            f"{names[2]}; give (times, values, 'cubic'), a spline, or a function that returns ({', '.join(names)})"
        )
    kept = np.concatenate([[True], np.diff(times) > 0])
    times, values = times[kept], values[kept]
    rows = np.zeros((len(times) + 1, 4))
    rows[1:-1, 0] = np.diff(values) / np.diff(times)
    return Polynomials(np.concatenate([times[:1], times]), rows, ends=True)


def check_held(names: Sequence[str], times: Array, values: Array) -> None:
    """Raise ArgumentError if held samples jump."""
    jumps = np.flatnonzero(np.diff(values))
    if jumps.size:
        raise _jumps(
            names, f"{names[0]} is held between its samples, and jumps at t = {times[jumps[0] + 1]:.17g}"
        )


def _jumps(names: Sequence[str], how: str) -> ArgumentError:
    kinds = "'cubic'" if len(names) > 2 else "'linear' or 'cubic'"
    return ArgumentError(
        f"inputs: {how}, where {names[1]}, which the model needs, has no value; give samples that are {kinds}, a "
        "spline or a function of the time"
    )


def of_function(names: Sequence[str], given: Callable[..., Any]) -> Sequence[Polynomials | InputFunction]:
    """An input and its rates by a function of the time."""
    own = InputFunction(names[0], given)
    if own.takes_state:
        raise ArgumentError(
            f"inputs: {names[0]} is a function of t and y, and the model needs {names[1]}, which would need the rates "
            "of the states; give f(t), samples or a spline"
        )
    derivative = getattr(given, "derivative", None)
    if callable(derivative):
        _check_degree(names, given)
        pieces = _cubic_pieces(given)
        if pieces is not None:
            found = _derived(names, pieces)
            _check_smooth(names, found)
            return found
        return [own, *(InputFunction(n, derivative(i + 1)) for i, n in enumerate(names[1:]))]
    told = Told(names, given)
    return [InputFunction(n, Derivative(told, i)) for i, n in enumerate(names)]


def _check_degree(names: Sequence[str], spline: Any) -> None:
    """Refuse splines whose last rate would jump at every knot, and the one before it too."""
    degree = getattr(spline, "k", None)
    if degree is None and hasattr(spline, "c") and hasattr(spline, "x"):
        degree = len(spline.c) - 1
    if isinstance(degree, int) and degree < len(names) - 1:
        raise ArgumentError(
            f"inputs: {names[0]} is a spline of degree {degree}, and the model needs {names[-1]}; give one of degree "
            f"{len(names) - 1} or higher"
        )


def _cubic_pieces(spline: Any) -> Polynomials | None:
    """The pieces of a cubic one, as SciPy's `CubicSpline`; None if it has none, or is periodic."""
    if not isinstance(spline, scipy.interpolate.PPoly) or spline.extrapolate is not True:
        return None
    c = spline.c
    if c.ndim != 2 or len(c) > 4:
        return None
    rows = np.zeros((c.shape[1], 4))
    rows[:, : len(c)] = c[::-1].T
    return Polynomials(np.array(spline.x[:-1], dtype=np.float64), rows, given=spline)


def _check_smooth(names: Sequence[str], rows: Sequence[Polynomials]) -> None:
    """Refuse piecewise polynomials that jump, or whose rate does where the second one is needed."""
    times = rows[0].times
    for name, row in zip(names, rows[: len(names) - 1]):
        before = row.at(times[1:], times[:-1])
        jumps = np.abs(before - row.at(times[1:])) > _SMOOTH * (
            np.abs(before) + np.abs(row.values[:, 0]).max()
        )
        if jumps.any():
            raise _jumps(names, f"{name} jumps at t = {times[1:][jumps][0]:.17g}")


class Told:
    """A function of the time, with the derivatives that it tells or that differences give."""

    def __init__(self, names: Sequence[str], given: Callable[[float], Any]) -> None:
        self.names, self.given = tuple(names), given
        self._last: tuple[float, list[float]] | None = None

    def __call__(self, t: float) -> list[float]:
        """The value and its derivatives at t."""
        last = self._last
        if last is None or last[0] != t:
            self._last = last = t, self._found(t)
        return last[1]

    def _found(self, t: float) -> list[float]:
        result = self.given(t)
        told = list(result) if np.ndim(result) == 1 else [result]
        if not 0 < len(told) <= 3:
            raise ArgumentError(
                f"inputs: {self.names[0]} at t = {t:.17g} has {len(told)} entries; a function returns the value, or "
                "the value and its derivatives"
            )
        found = [self._number(n, t, value) for n, value in zip(self.names, told)]
        if len(found) < len(self.names):
            found += self._differences(t, found[0])[len(found) - 1 : len(self.names) - 1]
        return found

    def _differences(self, t: float, here: float) -> list[float]:
        try:
            return differences(self._value, t, here)
        except Exception as error:
            if hasattr(error, "add_note"):
                error.add_note(
                    f"inputs: {self.names[1]} follows from values up to {4 * WIDEST:g} before and after t = {t:.17g}; "
                    f"let the function return ({', '.join(self.names)}), or give samples or a spline"
                )
            raise

    def _value(self, t: float) -> float:
        result = self.given(t)
        return self._number(self.names[0], t, result[0] if np.ndim(result) == 1 else result)

    def _number(self, name: str, t: float, value: Any) -> float:
        return arguments.number(f"inputs: {name} at t = {t:.17g}", value)


class Derivative:
    """One of the derivatives that are told, f(t); `given` is the function of the caller, None for a rate."""

    def __init__(self, told: Told, order: int) -> None:
        self._told, self._order = told, order
        self.given = None if order else told.given

    def __call__(self, t: float) -> float:
        return self._told(t)[self._order]


def differences(f: Callable[[float], float], t: float, here: float) -> list[float]:
    """The first and the second derivative of f at t, where its value is `here`.

    The distance shrinks while that makes them more accurate: f may change slowly or fast. The result at a
    distance counts only as far as it agrees with the one before: where its period divides a distance, f looks slow. The
    ratio of two distances is far from simple fractions, so that no period divides both.
    """
    found, least, wider = [math.nan, math.nan], [math.inf, math.inf], [math.nan, math.nan]
    for level in range(LEVELS):
        h = WIDEST * NARROWER**level
        h = (t + h) - t  # the distance of numbers that there are
        if h == 0:
            break
        after, before = (
            np.array([here, *(f(t + side * k * h) for k in range(1, 5))]) for side in (1.0, -1.0)
        )
        size = _ROUNDING * float(max(np.abs(after).max(), np.abs(before).max()))
        parts = after - before, after + before
        parts[1][0] = here
        limits = size / h, 2 * size / h**2
        for i, (values, weights, rough) in enumerate(zip(parts, (FIRST, SECOND), ROUGH)):
            slope, other = (float(w @ values) / h ** (i + 1) for w in (weights, rough))
            error = max(limits[i], abs(slope - other), abs(slope - wider[i])) if level else math.inf
            wider[i] = slope
            if error < least[i] or not level:
                found[i], least[i] = slope, error
        if limits[0] >= least[0] and limits[1] >= least[1]:
            break
    return found
