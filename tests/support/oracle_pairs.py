"""The embedded Runge-Kutta pairs in plain Python, operation for operation as in cg_pair.h."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from fused import fma
from numpy.typing import NDArray
from oracle_control import Controlled, larger, reciprocal
from oracle_runs import Function, Settings, Vector

from chaplygin.codegen.methods.pair import Pair

Array = NDArray[np.float64]
Row = list[tuple[int, float]]

__all__ = ["PairIntegrator"]

PAD = 4  # CG_PAD
SHORT = 4  # CG_SHORT_n


def sparse(row: Vector) -> Row:
    """The entries that are not zero."""
    return [(j, value) for j, value in enumerate(row) if value != 0.0]


def weighted(row: Row, k: list[Vector], i: int) -> float:
    """sum_j row_j k_j of component i, summed from the left."""
    total = 0.0
    for count, (j, value) in enumerate(row):
        total = fma(value, k[j][i], total) if count else value * k[j][i]
    return total


def stage_state(row: Row, x: Vector, h: float, k: list[Vector]) -> Vector:
    """x + h sum_j row_j k_j; the newest k_j is added last and separately."""
    *older, (last, value) = row
    return [fma(h * value, k[last][i], fma(h, weighted(older, k, i), x[i])) for i in range(len(x))]


def short_state(row: Row, x: Vector, h: float, k: list[Vector]) -> Vector:
    """The same for up to SHORT terms, whose weights are multiplied by h."""
    y = list(x)
    for j, value in row:
        y = [fma(h * value, k[j][i], y[i]) for i in range(len(x))]
    return y


def inner_state(row: Row, x: Vector, h: float, k: list[Vector]) -> Vector:
    """The state of a stage that is not the end of the step."""
    return (short_state if len(row) <= SHORT else stage_state)(row, x, h, k)


class PairIntegrator(Controlled):
    """A run with one pair."""

    def __init__(self, pair: Pair, settings: Settings) -> None:
        super().__init__(pair.order, pair.step_control, settings)
        self.end, self.nodes = len(pair.c), pair.nodes
        self.stages = [sparse(row) for row in pair.rows]
        self.errors = [sparse(pair.padded(pair.error[order])) for order in sorted(pair.error, reverse=True)]
        self.bends = [sparse(pair.padded(row)) for row in pair.dense]
        self.end_first = any(j == self.end for row in self.errors for j, _ in row)

    def trial(self, field: Function, t: float, x: Vector, f: Vector, h: float) -> tuple[list[Vector], Vector]:
        """The stages of a step (except the one at its end) and the state at its end."""
        k = [f]
        for s in range(1, self.end):
            k.append(field(fma(self.nodes[s], h, t), inner_state(self.stages[s], x, h, k)))
        return k, stage_state(self.stages[self.end], x, h, k)

    def square(self, x: Vector, y: Vector, h: float, k: list[Vector]) -> float:
        sums = [[0.0] * PAD for _ in self.errors]
        for i, a in enumerate(self.atol):
            scale = fma(self.rtol, larger(y[i], x[i]), a)
            for row, total in zip(self.errors, sums):
                e = reciprocal(scale) * weighted(row, k, i)
                total[i % PAD] = fma(e, e, total[i % PAD])
        squares = [(a + b) + (c + d) for a, b, c, d in sums]
        if len(squares) == 2:
            high, low = squares
            mixed = fma(0.01, low, high)
            return mixed if mixed == 0.0 else (h * h) * (high * high) / (len(x) * mixed)
        return (h * h) * squares[0] * (1.0 / len(x))

    def interpolant(
        self, field: Function, t: float, t_new: float, x: Vector, y: Vector, k: list[Vector], slope: Vector
    ) -> Callable[[], Array]:
        """The coefficients over a step: the first request computes extra stages."""

        @cache
        def coefficients() -> Array:
            h = t_new - t
            stages = [*k, slope]
            for s in range(self.end + 1, len(self.stages)):
                stages.append(field(fma(self.nodes[s], h, t), inner_state(self.stages[s], x, h, stages)))
            change = [b - a for a, b in zip(x, y)]
            bend = [fma(h, a, -b) for a, b in zip(k[0], change)]
            turn = [fma(-h, b, a) - c for a, b, c in zip(change, slope, bend)]
            bends = [[h * weighted(row, stages, i) for i in range(len(x))] for row in self.bends]
            return np.array([x, change, bend, turn, *bends])

        return coefficients
