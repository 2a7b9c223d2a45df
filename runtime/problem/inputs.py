"""Inputs of a run: polynomials, functions and numbers, prepared once; `given_inputs` makes them."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array
from ..interface.assumptions import RATE, check_row
from ..interface.messages import written
from .input_functions import InputFunction
from .input_rates import Derivative, rated, with_rates
from .polynomials import Polynomial, moved_from, powers
from .sample_rows import SampleRows

SLOPE_STEP, NARROWER, LEVELS = 8e-3, 1 / 8, 9
"""The distance of differences, as a part of a step, how it shrinks, how often at most; as in cg_evaluate.c."""
WEIGHTS = 25 / 12, -4.0, 3.0, -4 / 3, 1 / 4
"""Of values at equal distances, from the last one back, in its slope times that distance."""


@dataclass(frozen=True, eq=False)
class Inputs:
    """Inputs of one run: `values` (n,) or, in an ensemble, (n, N) contains the numbers, and 0 for inputs that vary."""

    names: tuple[str, ...]
    values: Array
    signals: Mapping[int, Polynomial | SampleRows]
    functions: Mapping[int, InputFunction]
    flags: tuple[int, ...] = ()
    """The assumptions about each input, see `assumptions`, and which are rates; () where no input has any."""
    start: float | None = None
    """The time from which the numbers of an ensemble move with their rates."""

    @property
    def specs(self) -> list[Any]:
        """The inputs in the order of their names, as a caller gives them: see `given_inputs`.

        None for a rate that follows from its input.
        """
        found: list[Any] = list(map(float, self.values) if self.values.ndim == 1 else self.values)
        for rows in with_rates(self.flags):
            if rows[0] in self.signals or rows[0] in self.functions:
                found[rows[0] : rows[-1] + 1] = [None] * len(rows)
        for i, signal in self.signals.items():
            found[i] = signal.given
        for i, function in self.functions.items():
            found[i] = function.given.given if isinstance(function.given, Derivative) else function.given
        return found

    @property
    def by_name(self) -> dict[str, Any]:
        """The inputs as a caller gives them, by name; rates that follow are left out."""
        return {name: spec for name, spec in zip(self.names, self.specs) if spec is not None}

    @property
    def constant(self) -> bool:
        """Whether no input ever changes."""
        return not self.signals and not self.functions

    def at(self, t: Any, y: Array, left: NDArray[np.bool_] | None = None) -> Array:
        """u at time t: shape (n,) for a number t and y of shape (states,); (n, N) for t (N,) and y (states, N).

        At times where `left` (N,) is true, samples count from the next time on, else from their own.
        """
        moments = np.atleast_1d(np.asarray(t, dtype=np.float64))
        u = np.empty((len(self.names), len(moments)))
        u[:] = self.values if self.values.ndim == 2 else self.values[:, None]
        for index, signal in self.signals.items():
            u[index] = signal.at(moments)
            if left is not None and left.any():
                u[index, left] = signal.at(moments, side="left")[left]
        if self.start is not None:
            for rows in self.moving:
                u[rows] = _moved(u[rows], moments - self.start)
        if self.functions:
            self.call_functions(moments, y.reshape(y.shape[0], -1), u)
        return np.ascontiguousarray(u[:, 0]) if np.ndim(t) == 0 else u

    @property
    def moving(self) -> list[range]:
        """The inputs that are numbers, with their rates, where one of these is a number other than 0."""
        if not self.flags:
            return []
        varying = {*self.signals, *self.functions}
        return [
            rows
            for rows in with_rates(self.flags)
            if len(rows) > 1 and not varying.intersection(rows) and np.any(self.values[rows[1:]])
        ]

    def since(self, t0: float) -> Inputs:
        """The inputs of a run, or of the rest of one, from t0 on, where numbers begin to move with their rates."""
        moving = self.moving
        if not moving:
            return self
        if self.values.ndim == 2:
            return replace(self, start=t0)
        signals, values = dict(self.signals), self.values.copy()
        for rows in moving:
            signals |= zip(rows, moved_from(t0, list(map(float, values[rows]))))
            values[rows] = 0.0
        return Inputs(self.names, values, signals, self.functions, self.flags)

    def ready(self, method: str, t0: float, t1: float) -> Inputs:
        """The inputs of a run from t0 to t1; raises ArgumentError if the method or that time does not suit them."""
        if self.constant and not self.moving:
            return self
        found = self.since(t0).suit(method)
        found.check_reach(t0, t1)
        return found

    def check_reach(self, t0: float, t1: float) -> None:
        """Raise ArgumentError if polynomials are not as assumed in a run from t0 to t1.

        Or if it leaves the samples of an input whose second rate it needs.
        """
        first, last = sorted((t0, t1))
        for i, signal in self.signals.items():
            if self.flags and self.flags[i] & ~RATE:
                signal.check(self.names[i], self.flags[i], (first, last))
            low, high = signal.within
            if first < low or last > high:
                raise ArgumentError(
                    f"inputs: {signal.name} has samples from t = {signal.times[0]:.17g} to {signal.times[-1]:.17g}, "
                    "and its value holds before and after them: its rate jumps there, but the model needs its second "
                    f"one; give samples from t = {first:.17g} to {last:.17g}"
                )

    def of_time(self, t0: float, states: Array) -> Array:
        """u at the start where the states are not all known: functions of these count as 0."""
        rates = rated(self.flags)
        functions = {i: f for i, f in self.functions.items() if isinstance(f.given, Derivative) or i in rates}
        return Inputs(self.names, self.values, self.signals, functions, self.flags).first(
            t0, np.zeros_like(states)
        )

    def first(self, t0: float, x0: Array) -> Array:
        """u at the start of a run (n,), or of an ensemble with its states x0 (states, N)."""
        count = self.values.shape[1:] or x0.shape[1:]
        if self.constant or not count:
            return self.values.copy() if self.constant else self.at(t0, x0)
        return self.at(np.full(count, t0), np.broadcast_to(x0.reshape(len(x0), -1), (len(x0), *count)))

    def slopes(self, t: Array, step: float, known: Any) -> Array:
        """The derivatives (n, N) by the times t (N,) of a run with steps about as long as `step` and in its direction.

        Those of functions of the time are differences into the past, since the time `known` (a number, or (N,)).
        """
        found = np.zeros((len(self.names), len(t)))
        for index, signal in self.signals.items():
            found[index] = signal.slopes(t, step)
        since = np.broadcast_to(known, t.shape).tolist()
        for index, function in self.functions.items():

            def value(t: float, i: int = index, of: InputFunction = function) -> float:
                return self.number(i, t, of(t, np.empty(0)))

            found[index] = [_slope(value, *at) for at in zip(t.tolist(), [SLOPE_STEP * step] * len(t), since)]
        return found

    def call_functions(self, t: Array, y: Array, u: Array) -> None:
        """Write the values of the input functions at times t (N,) and states y (n, N) to their rows of u.

        Where a state is not finite, as in failed trajectories, no function is called and the value is NaN.
        """
        known: list[bool] = np.atleast_1d(np.isfinite(y).all(axis=0)).tolist()
        for index, function in self.functions.items():
            for j, moment in enumerate(t.tolist()):
                u[index, j] = (
                    self.number(index, moment, function(moment, np.array(y[:, j]))) if known[j] else np.nan
                )

    def number(self, index: int, t: float, result: Any) -> float:
        """The checked result of an input function at time t."""
        value = arguments.number(f"inputs: {self.names[index]} at t = {t:.17g}", result)
        if self.flags and self.flags[index] & ~RATE:
            check_row("inputs", self.names[index], self.flags[index], value, f" at t = {t:.17g}")
        return value

    def checksum(self, first: int) -> int:
        """A checksum of the inputs that begins with `first`; of functions only what they are."""
        if not all(type(function) is InputFunction for function in self.functions.values()):
            raise TypeError("not a function")
        plain = self.names, self.values.shape, self.flags, *self.signals, *self.functions
        found = zlib.crc32(self.values.tobytes(), zlib.crc32(written(plain).encode(), first))
        for signal in self.signals.values():
            found = zlib.crc32(written((signal.digest(), signal.name, signal.within)).encode(), found)
        return found

    def suit(self, method: str) -> Inputs:
        """These inputs; raises ArgumentError if the method cannot take them."""
        if self.functions and method == arguments.SERIES:
            raise arguments.no_series([self.names[i] for i in self.functions])
        return self

    def part(self, first: int, last: int) -> Inputs:
        """The inputs of the trajectories first <= j < last of an ensemble."""
        values = self.values[:, first:last] if self.values.ndim == 2 else self.values
        return replace(self, values=values, signals={i: s.part(first, last) for i, s in self.signals.items()})

    def column(self, j: int) -> Inputs:
        """The inputs of trajectory j of an ensemble."""
        values = self.values[:, j].copy() if self.values.ndim == 2 else self.values
        return replace(
            self, values=values, signals={i: s.column(j) for i, s in self.signals.items()}, start=None
        )


def _moved(derivatives: Array, s: Array) -> Array:
    """Numbers and their rates (k, N), after times s (N,)."""
    parts = (powers(derivatives[i:]) for i in range(len(derivatives)))
    return np.array([a + s * (b + s * (c + s * d)) for a, b, c, d in parts])


def _slope(f: Callable[[float], float], t: float, apart: float, known: float) -> float:
    """The derivative of f at t by differences of the fourth order into the past, or the future if that is not known.

    They begin `apart`, with the sign of the direction, and come closer while that makes them more accurate: what f
    does may be faster than the steps of a run are on average.
    """
    found, least, before = math.nan, math.inf, math.nan
    for level in range(LEVELS):
        h = apart * NARROWER**level
        back = h if (t - 4 * h - known) * h >= 0 else -h
        back = t - (t - back)  # the distance of numbers that there are
        if back == 0:
            break
        values = [f(t - k * back) for k in range(5)]
        slope = sum(w * value for w, value in zip(WEIGHTS, values)) / back
        rounding = 4 * np.finfo(float).eps * max(map(abs, values)) / abs(h)
        error = max(rounding, abs(slope - before)) if level else math.inf
        if error < least or not level:
            found, least = slope, error
        if rounding >= least:
            break
        before = slope
    return found
