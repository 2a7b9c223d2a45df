"""Rodas5P in plain Python, operation for operation as in cg_rodas5p.h, and a model with the oracle's methods."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from fused import fma
from numpy.typing import NDArray
from oracle_control import Controlled, finite, larger, reciprocal
from oracle_pairs import PairIntegrator
from oracle_runs import Function, Integrator, Settings, SteppedModel, Vector

from chaplygin.codegen.methods import PAIRS
from chaplygin.codegen.methods.rodas5p import RODAS5P
from chaplygin.errors import KernelError
from chaplygin.runtime import Method
from chaplygin.runtime.interface.statuses import STEP_TOO_SMALL

Array = NDArray[np.float64]
Matrix = list[Vector]

__all__ = ["OracleModel", "Rodas5p"]

STAGES = 8
DISTANCE = 0.03125


class Rodas5p(Controlled):
    """The method of order 5 for stiff systems, with error control."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(RODAS5P.order, RODAS5P.control, settings)
        self.rows: Matrix = []

    def begin(self, t: float, x: Vector) -> None:
        """The Jacobian at the start of a step."""
        n = len(x)
        flat = list(self.jacobian(t, x))
        if not finite(flat):
            raise FloatingPointError("the Jacobian is not finite")
        self.njev += 1
        self.rows = [flat[i * n : i * n + n] for i in range(n)]

    def square(self, x: Vector, y: Vector, h: float, k: Matrix) -> float:
        """The last stage is the difference between the method and the embedded one."""
        total = 0.0
        for value, a, before, after in zip(k[-1], self.atol, x, y):
            scaled = value * reciprocal(fma(self.rtol, larger(after, before), a))
            total = fma(scaled, scaled, total)
        return total / len(x)

    def _slope(self, field: Function, t: float, x: Vector, f: Vector, h: float) -> Vector:
        """df/dt by differences inside the step."""
        distance = DISTANCE * h
        k = [field(t + distance, x)]
        if all(a == b for a, b in zip(k[0], f)):
            return [0.0] * len(x)
        k += [field(t + (m + 1.0) * distance, x) for m in (1, 2, 3)]
        weighted = zip(f, *k)
        return [
            (48.0 * (a - f0) - 36.0 * (b - f0) + 16.0 * (c - f0) - 3.0 * (d - f0)) / (12.0 * distance)
            for f0, a, b, c, d in weighted
        ]

    def trial(self, field: Function, t: float, x: Vector, f: Vector, h: float) -> tuple[Matrix, Vector]:
        a, c, d = RODAS5P.rows, RODAS5P.c, RODAS5P.padded(RODAS5P.d)
        cc, gamma = RODAS5P.coupling, RODAS5P.gamma
        n = len(x)
        columns = [[-(gamma * h) * self.rows[i][j] for i in range(n)] for j in range(n)]
        for j in range(n):
            columns[j][j] += 1.0
        self.nlu += 1
        pivots = _factor(columns)
        slope = self._slope(field, t, x, f, h)
        y = list(x)
        k: Matrix = []
        for s in range(STAGES):
            if s < 6:
                y = list(x)
                for j in range(s):
                    _add(a[s][j], k[j], y)
            else:
                _add(1.0, k[s - 1], y)
            rate = field(t + c[s] * h, y) if s > 0 else f
            ks = [gamma * h * fma(h * d[s], e, b) for b, e in zip(rate, slope)]
            for j in range(s):
                _add(gamma * cc[s][j], k[j], ks)
            _solve(columns, pivots, ks)
            k.append(ks)
        _add(1.0, k[-1], y)
        return k, y

    def interpolant(
        self, field: Function, t: float, t_new: float, x: Vector, y: Vector, k: Matrix, slope: Vector
    ) -> Callable[[], Array]:
        return functools.partial(_interpolant, x, y, k)


def _add(factor: float, x: Vector, y: Vector, first: int = 0, last: int | None = None) -> None:
    """Add factor times x to y, in place."""
    if factor != 0.0:
        for i in range(first, len(y) if last is None else last):
            y[i] = fma(factor, x[i], y[i])


def _factor(a: Matrix) -> list[int]:
    """Factor a matrix by columns, in place; see `cg_linear.h`."""
    n = len(a)
    pivots = []
    for k in range(n):
        column = a[k]
        pivot = k
        for i in range(k + 1, n):
            pivot = i if abs(column[i]) > abs(column[pivot]) else pivot
        pivots.append(pivot)
        if not 0.0 < abs(column[pivot]) < math.inf:
            raise KernelError("I - gamma h J is singular", STEP_TOO_SMALL)  # regular with a shorter step
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
    h = RODAS5P.dense
    rows = [list(x), [b - a for a, b in zip(x, y)], *([0.0] * len(x) for _ in range(3))]
    for s in range(STAGES):
        _add(h[0][s], k[s], rows[2])
        _add(h[1][s] + h[2][s], k[s], rows[3])
        _add(-h[2][s], k[s], rows[4])
    return np.array(rows)


class OracleModel(SteppedModel):
    """A pure-Python model that runs with the methods of the compiled runtime, to the same bits."""

    methods: ClassVar = {
        **{name: Method(name, pair.summary, pair.order) for name, pair in PAIRS.items()},
        "rodas5p": Method("rodas5p", "implicit", RODAS5P.order, implicit=True),
    }

    @staticmethod
    def _integrator(method: str, settings: Settings) -> Integrator:
        if method in PAIRS:
            return PairIntegrator(PAIRS[method], settings)
        return Rodas5p(settings)
