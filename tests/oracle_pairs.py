"""The embedded Runge-Kutta pairs tsit5, vern7 and vern9 in plain Python, operation for operation as in cg_pair.h."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from oracle_control import Controlled, header, larger, table

from chaplygin.runtime.python_methods import Function, Settings, Vector

Array = NDArray[np.float64]
Row = list[tuple[int, float]]

__all__ = ["ORDERS", "Pair"]

ORDERS = {"tsit5": 5, "vern7": 7, "vern9": 9}
"""The pairs and their orders."""

PAD = 4  # CG_PAD


@dataclass(frozen=True)
class Tableau:
    """The coefficients without zeros: row s of `stages` belongs to stage s, and so on."""

    nodes: Vector
    stages: list[Row]
    error: Row
    bends: list[Row]
    end: int
    """The stage at the end of the step; its row contains the weights."""


@cache
def tableau(method: str) -> Tableau:
    """Read the tableau from cg_<method>_tableau.h and cg_<method>.h."""

    def sparse(row: Vector) -> Row:
        return [(j, value) for j, value in enumerate(row) if value != 0.0]

    end = re.search(r"CG_STAGE_END\((\d+),", header(f"cg_{method}.h"))
    assert end is not None
    return Tableau(
        table(method, "c")[0],
        [sparse(row) for row in table(method, "a")],
        sparse(table(method, "e")[0]),
        [sparse(row) for row in table(method, "d")],
        int(end[1]),
    )


def weighted(row: Row, k: list[Vector], i: int) -> float:
    """sum_j row_j k_j of component i, summed from the left."""
    total = 0.0
    for count, (j, value) in enumerate(row):
        total = total + value * k[j][i] if count else value * k[j][i]
    return total


def stage_state(row: Row, x: Vector, h: float, k: list[Vector]) -> Vector:
    """x + h sum_j row_j k_j; the newest k_j is added last and separately."""
    *older, (last, value) = row
    return [(x[i] + h * weighted(older, k, i)) + h * value * k[last][i] for i in range(len(x))]


class Pair(Controlled):
    """One of the methods in `ORDERS`."""

    def __init__(self, method: str, settings: Settings) -> None:
        super().__init__(method, ORDERS[method], settings)
        self.tableau = tableau(method)

    def trial(self, field: Function, t: float, x: Vector, f: Vector, h: float) -> tuple[list[Vector], Vector]:
        """The stages of a step (except the one at its end) and the state at its end."""
        tab = self.tableau
        k = [f]
        for s in range(1, tab.end):
            k.append(field(t + tab.nodes[s] * h, stage_state(tab.stages[s], x, h, k)))
        return k, stage_state(tab.stages[tab.end], x, h, k)

    def square(self, x: Vector, y: Vector, h: float, k: list[Vector]) -> float:
        sums = [0.0] * PAD
        for i, a in enumerate(self.atol):
            e = weighted(self.tableau.error, k, i) / (a + self.rtol * larger(x[i], y[i]))
            sums[i % PAD] += e * e
        return (h * h) * ((sums[0] + sums[1]) + (sums[2] + sums[3])) / len(x)

    def interpolant(
        self, field: Function, t: float, t_new: float, x: Vector, y: Vector, k: list[Vector], slope: Vector
    ) -> Callable[[], Array]:
        """The coefficients over a step: the first request computes extra stages."""
        tab = self.tableau

        @cache
        def coefficients() -> Array:
            h = t_new - t
            stages = [*k, slope]
            for s in range(tab.end + 1, len(tab.stages)):
                stages.append(field(t + tab.nodes[s] * h, stage_state(tab.stages[s], x, h, stages)))
            change = [b - a for a, b in zip(x, y)]
            bend = [h * a - b for a, b in zip(k[0], change)]
            turn = [a - h * b - c for a, b, c in zip(change, slope, bend)]
            bends = [[h * weighted(row, stages, i) for i in range(len(x))] for row in tab.bends]
            return np.array([x, change, bend, turn, *bends])

        return coefficients
