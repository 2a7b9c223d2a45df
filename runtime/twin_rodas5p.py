"""Rodas5P in plain Python, operation for operation what `cg_rodas5p.h` does: for kernels that give the same bits in C
and in Python a run does too.

Source of the method: see `cg_rodas5p_tableau.h`, which the coefficients are read from.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .solution import Dense
from .twin_methods import (
    EPSILON,
    NONFINITE,
    OK,
    STEP_TOO_SMALL,
    TINY,
    TOO_MANY_STEPS,
    Record,
    Walk,
    status_of,
)

Array = NDArray[np.float64]
Function = Callable[..., Any]
Vector = list[float]
Matrix = list[Vector]

__all__ = ["Rodas5p"]

STAGES, ORDER = 8, 5
DISTANCE = 0.03125
SAFETY, SHRINK, GROW, SHRINK_FAILED = 0.9, 0.2, 6.0, 0.2
ATOL_FLOOR = 1e-150


@functools.cache
def _table(name: str) -> Matrix:
    """An array of the tableau's header; one row for a vector."""
    text = (Path(__file__).with_name("cg_rodas5p_tableau.h")).read_text(encoding="utf-8")
    found = re.search(rf"cg_rodas5p_{name}(?:\[\w+\])* = ([^;]*);", text)
    assert found is not None
    rows = re.findall(r"[^{}]*\d[^{}]*", found[1])
    return [[float(entry) for entry in row.split(",") if entry.strip()] for row in rows]


class Rodas5p(Walk):
    """The method of order 5 for stiff systems, with error control."""

    def __init__(self, rtol: float, atol: Array, max_step: float, first_step: float) -> None:
        super().__init__()
        self.rtol, self.max_step, self.h = rtol, max_step, first_step
        self.atol = [max(float(entry), ATOL_FLOOR) for entry in atol]
        self.spans: list[tuple[float, float]] = []
        self.coef: list[Array] = []

    def segment(self, derivative: Function, record: Record, end: float, limit: int) -> int:
        t, x, sign = record.at, record.last.tolist(), record.direction
        f = _finite(derivative(t, x))
        if self.h == 0.0:
            self.h = self._first(derivative, t, x, f, sign, abs(self.t_end - t))
        while t != end:
            if self.n_steps + self.n_rejected >= limit:
                return TOO_MANY_STEPS
            jacobian = self._jacobian(t, x)
            rejected = False
            smallest = 4.0 * max(abs(t) * EPSILON, TINY)
            self.h = min(max(self.h, smallest), self.max_step)
            while True:
                length, after, close, cut = _plan(t, end, self.h, sign, self.max_step)
                if not cut and not length >= smallest:
                    return STEP_TOO_SMALL
                h = after - t
                factor, status = SHRINK_FAILED, OK
                try:
                    y, k = self._trial(derivative, jacobian, t, x, f, h)
                    square = self._square(k[-1], x, y)
                    if square <= 1.0:
                        slope = _finite(derivative(after, y))
                        _finite(y)
                        break
                    if square < math.inf:
                        factor, status = max(SHRINK, SAFETY * _power(square, -0.5 / ORDER)), STEP_TOO_SMALL
                    else:
                        status = STEP_TOO_SMALL if all(map(math.isfinite, y)) else NONFINITE
                except (ArithmeticError, ValueError) as error:
                    status = STEP_TOO_SMALL if isinstance(error, _NoPivot) else status_of(error)
                self.n_rejected += 1
                rejected = True
                self.h = max(length * factor, smallest)
                if length <= smallest:
                    return status
            factor = max(SHRINK, min(GROW, SAFETY * _power(square, -0.5 / ORDER)))
            factor = min(factor, 1.0) if rejected else factor
            self.h = max(self.h, length * factor) if close else length * factor
            coef = _interpolant(x, y, k)
            self.spans.append((t, after))
            self.coef.append(coef)
            self.n_steps += 1
            record.step(after, np.array(y), functools.partial(_evaluate, coef, t, after))
            t, x, f = after, y, slope
        return OK

    def dense(self, record: Record, t0: float, x0: Array) -> Dense:
        n = len(x0)
        return Dense(np.array(self.spans).reshape(-1, 2), np.array(self.coef).reshape(-1, 5, n), t0, x0)

    def _jacobian(self, t: float, x: Vector) -> Matrix:
        n = len(x)
        flat = _finite(self.jacobian(t, x))
        self.njev += 1
        return [flat[i * n : i * n + n] for i in range(n)]

    def _scale(self, x: Vector, y: Vector) -> Vector:
        return [a + self.rtol * max(abs(b), abs(c)) for a, b, c in zip(self.atol, x, y)]

    def _square(self, v: Vector, x: Vector, y: Vector) -> float:
        total = 0.0
        for entry, scale in zip(v, self._scale(x, y)):
            total += (entry / scale) * (entry / scale)
        return total / len(v)

    def _first(
        self, derivative: Function, t: float, x: Vector, f: Vector, sign: float, longest: float
    ) -> float:
        """The first step; see `cg_start.h`."""
        longest = min(longest, self.max_step)
        size, slope = math.sqrt(self._square(x, x, x)), math.sqrt(self._square(f, x, x))
        h = min(1e-6 if size < 1e-5 or slope < 1e-5 else 0.01 * size / slope, longest)
        try:
            ahead = _finite(derivative(t + sign * h, [a + sign * h * b for a, b in zip(x, f)]))
        except (ArithmeticError, ValueError):
            return h
        bend = math.sqrt(self._square([a - b for a, b in zip(ahead, f)], x, x)) / h
        largest = max(slope, bend)
        h1 = max(1e-6, h * 1e-3) if largest <= 1e-15 else _power(0.01 / largest, 1.0 / ORDER)
        return min(100.0 * h, h1, longest)

    def _slope(self, derivative: Function, t: float, x: Vector, f: Vector, h: float) -> Vector:
        """df/dt by differences inside the step."""
        distance = DISTANCE * h
        k = [derivative(t + distance, x)]
        if all(a == b for a, b in zip(k[0], f)):
            return [0.0] * len(x)
        k += [derivative(t + (m + 1.0) * distance, x) for m in (1, 2, 3)]
        weighted = zip(f, *k)
        return [
            (48.0 * (a - f0) - 36.0 * (b - f0) + 16.0 * (c - f0) - 3.0 * (d - f0)) / (12.0 * distance)
            for f0, a, b, c, d in weighted
        ]

    def _trial(
        self, derivative: Function, jacobian: Matrix, t: float, x: Vector, f: Vector, h: float
    ) -> tuple[Vector, Matrix]:
        """The state at t + h, and the stages; their last one is the estimate of the error."""
        a, c, d = _table("a"), _table("c")[0], _table("d")[0]
        cc, gamma = _table("C"), _table("gamma")[0][0]
        n = len(x)
        columns = [[-(gamma * h) * jacobian[i][j] for i in range(n)] for j in range(n)]
        for j in range(n):
            columns[j][j] += 1.0
        self.nlu += 1
        pivots = _factor(columns)
        slope = self._slope(derivative, t, x, f, h)
        y = list(x)
        k: Matrix = []
        for s in range(STAGES):
            if s < 6:
                y = list(x)
                for j in range(s):
                    _add(a[s][j], k[j], y)
            else:
                _add(1.0, k[s - 1], y)
            rate = derivative(t + c[s] * h, y) if s > 0 else f
            ks = [gamma * h * (b + h * d[s] * e) for b, e in zip(rate, slope)]
            for j in range(s):
                _add(gamma * cc[s][j], k[j], ks)
            _solve(columns, pivots, ks)
            k.append(ks)
        _add(1.0, k[-1], y)
        return y, k


class _NoPivot(ArithmeticError):
    """I - gamma h J is singular."""


def _add(factor: float, x: Vector, y: Vector, first: int = 0, last: int | None = None) -> None:
    """Adds factor times x to y, in place."""
    if factor != 0.0:
        for i in range(first, len(y) if last is None else last):
            y[i] += factor * x[i]


def _factor(a: Matrix) -> list[int]:
    """Factors a matrix by columns in place; see `cg_linear.h`."""
    n = len(a)
    pivots = []
    for k in range(n):
        column = a[k]
        pivot = k
        for i in range(k + 1, n):
            pivot = i if abs(column[i]) > abs(column[pivot]) else pivot
        pivots.append(pivot)
        if not 0.0 < abs(column[pivot]) < math.inf:
            raise _NoPivot
        for other in a:
            other[k], other[pivot] = other[pivot], other[k]
        column[k] = 1.0 / column[k]
        for i in range(k + 1, n):
            column[i] *= -column[k]
        for other in a[k + 1 :]:
            _add(other[k], column, other, k + 1)
    return pivots


def _solve(a: Matrix, pivots: list[int], b: Vector) -> None:
    n = len(a)
    for k, pivot in enumerate(pivots):
        b[k], b[pivot] = b[pivot], b[k]
    for k in range(n):
        _add(b[k], a[k], b, k + 1)
    for k in range(n - 1, -1, -1):
        b[k] *= a[k][k]
        _add(-b[k], a[k], b, 0, k)


def _interpolant(x: Vector, y: Vector, k: Matrix) -> Array:
    h = _table("h")
    rows = [list(x), [b - a for a, b in zip(x, y)], *([0.0] * len(x) for _ in range(3))]
    for s in range(STAGES):
        _add(h[0][s], k[s], rows[2])
        _add(h[1][s] + h[2][s], k[s], rows[3])
        _add(-h[2][s], k[s], rows[4])
    return np.array(rows)


def _evaluate(coef: Array, begin: float, end: float, t: float) -> Array:
    theta = (t - begin) / (end - begin)
    total = coef[-1]
    for j in range(len(coef) - 2, -1, -1):
        total = coef[j] + (theta if j % 2 == 0 else 1.0 - theta) * total
    return np.asarray(total)


def _plan(
    t: float, end: float, wanted: float, sign: float, max_step: float
) -> tuple[float, float, bool, bool]:
    """Length and end of a step, whether the end is near, and whether the step ends there; see `cg_control.h`."""
    remaining = abs(end - t)
    close = remaining <= 1.01 * wanted
    cut = close and remaining <= max_step
    length = remaining if cut else 0.5 * remaining if close else wanted
    after = end if cut else t + sign * length
    if abs(after - t) > max_step:
        after -= sign * EPSILON * abs(after)
    return length, after, close, cut


def _power(base: float, exponent: float) -> float:
    """base^exponent to 4 digits, as in `cg_step.h`."""
    m, e = math.frexp(min(max(base, 1e-100), 1e100))
    a = 2.0 * m - 1.0
    a2 = a * a
    log2_m = a + (a - a2) * ((0.44191704 - 0.2671794 * a) + a2 * (0.14842664 - 0.04514904 * a))
    y = exponent * ((e - 1.0) + log2_m) + 1024.0
    whole = math.floor(y)
    z = y - whole
    return math.ldexp((1.0 + z) - (z - z * z) * (0.30699608 + z * (0.06544626 + z * 0.013702)), whole - 1024)


def _finite(values: Any) -> Vector:
    found = list(values)
    if not all(map(math.isfinite, found)):
        raise FloatingPointError("not finite")
    return found
