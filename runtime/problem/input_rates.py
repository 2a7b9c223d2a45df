"""Inputs with a rate: what is given for an input u tells u' and u'' too, which are further inputs of the model.

docs/declare.md has the rules. Differences are central, of the eighth order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.assumptions import RATE
from .input_functions import InputFunction

FIRST = np.array([0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
SECOND = np.array([-205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560])
ROUGH = np.array([0, 3 / 4, -3 / 20, 1 / 60, 0]), np.array([-49 / 18, 3 / 2, -3 / 20, 1 / 90, 0])
"""Weights of values at 0, 1 ... 4 times a distance to each side: of order 8, and of order 6 for the error."""
WIDEST, NARROWER, LEVELS = 1 / 16, 0.2113, 13
"""The first distance, how it shrinks, how often at most."""
_ROUNDING = 4 * float(np.finfo(float).eps)


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


def of_function(names: Sequence[str], given: Callable[..., Any]) -> list[InputFunction]:
    """An input and its rates by a function of the time."""
    own = InputFunction(names[0], given)
    if len(names) == 1:
        return [own]
    if own.takes_state:
        raise ArgumentError(
            f"inputs: {names[0]} is a function of t and y, and the model needs {names[1]}, which would need the rates "
            "of the states; give f(t), samples or a spline"
        )
    derivative = getattr(given, "derivative", None)
    if callable(derivative):
        _check_degree(names, given)
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
