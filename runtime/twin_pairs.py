"""The embedded Runge-Kutta pairs of the pure-Python twin: tsit5, vern7 and vern9, step for step as in C.

The coefficients and the constants of the step control are read from the C headers beside this file. Every operation is
that of cg_pair.h, cg_adaptive.h, cg_control.h and cg_start.h, in the same order: where a model's right-hand side gives
the same bits in Python as in C, so does a run.
"""

from __future__ import annotations

import math
import re
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import KernelError
from .solution import Dense
from .twin_methods import (
    NONFINITE,
    OK,
    SINGULAR,
    STEP_TOO_SMALL,
    TOO_MANY_STEPS,
    Function,
    Record,
    Walk,
    status_of,
)

Array = NDArray[np.float64]
Vector = list[float]
Row = list[tuple[int, float]]

__all__ = ["ORDERS", "Pair"]

ORDERS = {"tsit5": 5, "vern7": 7, "vern9": 9}
"""The pairs and their orders."""

EPSILON, TINY = sys.float_info.epsilon, sys.float_info.min
PAD = 4  # CG_PAD
LEAST_SQUARE, SHRINK_FAILED, ATOL_FLOOR = 1e-8, 0.2, 1e-150


@dataclass(frozen=True)
class Tableau:
    """Coefficients without their zeros: of stage s, row s of `stages`, and so on."""

    nodes: Vector
    stages: list[Row]
    error: Row
    bends: list[Row]
    end: int
    """The stage at the end of the step, whose row holds the weights."""
    control: Vector
    """alpha, beta, safety, shrink, grow, and whether the error estimate uses the derivative at the end."""


@cache
def tableau(method: str) -> Tableau:
    """Read from cg_<method>_tableau.h and cg_<method>.h."""
    folder = Path(__file__).resolve().parent
    text = (folder / f"cg_{method}_tableau.h").read_text(encoding="utf-8")
    steps = (folder / f"cg_{method}.h").read_text(encoding="utf-8")

    def rows(name: str) -> list[Vector]:
        found = re.search(rf"cg_{method}_{name}(\[[^\]]+\])+ = (\{{.*?\}});", text, re.DOTALL)
        assert found is not None, (method, name)
        return [[float(v) for v in row.split(",")] for row in re.findall(r"\{([^{}]*)\}", found[2])]

    def sparse(row: Vector) -> Row:
        return [(j, value) for j, value in enumerate(row) if value != 0.0]

    control = re.search(r"control = \{([^}]*)\};", steps)
    end = re.search(r"CG_STAGE_STATE\((\d+),", steps)
    assert control is not None
    assert end is not None
    return Tableau(
        rows("c")[0],
        [sparse(row) for row in rows("a")],
        sparse(rows("e")[0]),
        [sparse(row) for row in rows("d")],
        int(end[1]),
        [float(value) for value in control[1].split(",")],
    )


def power(base: float, exponent: float) -> float:
    """base**exponent as cg_step_power has it."""
    shift = 4503599627370496.0
    clamped = base if base > 1e-100 else 1e-100
    clamped = clamped if clamped < 1e100 else 1e100
    bits: int = struct.unpack("<Q", struct.pack("<d", clamped))[0]
    e = float(bits >> 52) - 1023.0
    m: float = struct.unpack("<d", struct.pack("<Q", (bits & 0x000FFFFFFFFFFFFF) | 0x3FF0000000000000))[0]
    a = m - 1.0
    a2 = a * a
    log2_m = a + (a - a2) * ((0.44191704 - 0.2671794 * a) + a2 * (0.14842664 - 0.04514904 * a))
    y = exponent * (e + log2_m) + 1024.0
    nearest = (y + shift) - shift
    whole = nearest - 1.0 if y < nearest else nearest
    z = y - whole
    value = (1.0 + z) - (z - z * z) * (0.30699608 + z * (0.06544626 + z * 0.013702))
    return value * math.ldexp(1.0, int(whole) - 1024)


def smallest_step(t: float) -> float:
    return 4.0 * max(abs(t) * EPSILON, TINY)


def finite(v: Vector) -> bool:
    return all(map(math.isfinite, v))


def weighted(row: Row, k: list[Vector], i: int) -> float:
    """sum_j row_j k_j of component i, from the left."""
    total = 0.0
    for count, (j, value) in enumerate(row):
        total = total + value * k[j][i] if count else value * k[j][i]
    return total


def stage_state(row: Row, x: Vector, h: float, k: list[Vector]) -> Vector:
    """x + h sum_j row_j k_j, the newest k_j added last and apart."""
    *older, (last, value) = row
    return [(x[i] + h * weighted(older, k, i)) + h * value * k[last][i] for i in range(len(x))]


class Pair(Walk):
    """A pair with its step control; `keep_dense`: the interpolant of every step is kept."""

    def __init__(
        self, method: str, rtol: float, atol: Array, max_step: float, first_step: float, keep_dense: bool
    ) -> None:
        super().__init__()
        self.tableau, self.order = tableau(method), ORDERS[method]
        self.rtol, self.atol = rtol, [max(float(a), ATOL_FLOOR) for a in atol]
        self.max_step, self.h = max_step, first_step
        self.keep_dense = keep_dense
        self.err_old, self.rejected, self.n_rejected = LEAST_SQUARE, False, 0
        self.spans: list[tuple[float, float]] = []
        self.coef: list[Array] = []

    def segment(self, derivative: Function, record: Record, end: float, limit: int) -> int:
        """Step to `end`; as cg_drive with cg_prepare."""

        def field(t: float, x: Vector) -> Vector:
            return list(derivative(t, x))

        t, x = record.at, record.last.tolist()
        f = field(t, x)
        if not finite(f):
            return NONFINITE
        if self.h == 0.0:
            self.h = self.first(field, t, x, f, record.direction)
        while t != end:
            if self.n_steps + self.n_rejected >= limit:
                return TOO_MANY_STEPS
            status, t_new, k, y = self.step(field, t, x, f, end, record.direction, limit)
            if status != OK:
                return status
            dense = self.interpolant(field, t, t_new, x, y, k)
            if self.keep_dense:
                self.spans.append((t, t_new))
                self.coef.append(dense())
            begin, width = t, t_new - t
            record.step(
                t_new, np.array(y), lambda s, d=dense, b=begin, w=width: _evaluate(d(), (s - b) / w)  # type: ignore[misc]
            )  # fmt: skip
            t, x, f = t_new, y, k[self.tableau.end]
            self.n_steps += 1
        return OK

    def norm(self, v: Vector, x: Vector) -> float:
        total = 0.0
        for value, a, state in zip(v, self.atol, x):
            scaled = value / (a + self.rtol * abs(state))
            total += scaled * scaled
        return math.sqrt(total / len(v))

    def first(self, field: Function, t: float, x: Vector, f: Vector, direction: float) -> float:
        """The first step, as in cg_start.h."""
        longest = min(abs(self.t_end - t), self.max_step)
        size, slope = self.norm(x, x), self.norm(f, x)
        h = 1e-6 if size < 1e-5 or slope < 1e-5 else 0.01 * size / slope
        h = min(h, longest)
        try:
            k = field(t + direction * h, [a + direction * h * b for a, b in zip(x, f)])
        except (ArithmeticError, ValueError) as error:
            if status_of(error) not in (SINGULAR, NONFINITE):
                raise
            return h
        if not finite(k):
            return h
        largest = max(slope, self.norm([a - b for a, b in zip(k, f)], x) / h)
        h1 = max(1e-6, h * 1e-3) if largest <= 1e-15 else power(0.01 / largest, 1.0 / self.order)
        return min(min(100.0 * h, h1), longest)

    def step(
        self, field: Function, t: float, x: Vector, f: Vector, stop: float, direction: float, limit: int
    ) -> tuple[int, float, list[Vector], Vector]:
        """One accepted step: status, its end, the stages, the state there. As cg_plan and the loop of cg_adaptive.h."""
        alpha, beta, safety, shrink, grow, end_first = self.tableau.control
        least = smallest_step(t)
        self.h = min(max(self.h, least), self.max_step)
        while True:
            remaining = abs(stop - t)
            close = remaining <= 1.01 * self.h
            cut = close and remaining <= self.max_step
            length = remaining if cut else 0.5 * remaining if close else self.h
            t_new = stop if cut else t + direction * length
            if self.max_step < abs(t_new - t):
                t_new = t_new - direction * EPSILON * abs(t_new)
            h = t_new - t
            if not cut and not length >= least:
                return STEP_TOO_SMALL, t, [], x
            factor = SHRINK_FAILED
            k: list[Vector] = []
            try:
                k, y = self.trial(field, t, x, f, h)
                k_end = field(t_new, y) if end_first else None
                square = self.error(x, y, h, k if k_end is None else [*k, k_end])
                if square <= 1.0:
                    k_end = field(t_new, y) if k_end is None else k_end
                    if finite(y) and finite(k_end):
                        factor = safety * power(self.err_old, 0.5 * beta) * power(square, -0.5 * alpha)
                        factor = max(shrink, min(grow, factor))
                        if self.rejected:
                            factor = min(factor, 1.0)
                        self.h = max(self.h, length * factor) if close else length * factor
                        if not close:
                            self.err_old = max(square, LEAST_SQUARE)
                        self.rejected = False
                        k = [*k[: self.tableau.end], k_end]
                        return OK, t_new, k, y
                    status = NONFINITE
                elif square < math.inf:
                    factor = max(shrink, safety * power(square, -0.5 * alpha))
                    status = STEP_TOO_SMALL
                else:
                    status = STEP_TOO_SMALL if finite(y) and (k_end is None or finite(k_end)) else NONFINITE
            except (ArithmeticError, ValueError) as error:
                status = status_of(error)
                if isinstance(error, KernelError) and status not in (SINGULAR, NONFINITE):
                    raise
            self.h = max(length * factor, least)
            self.n_rejected += 1
            self.rejected = True
            if length <= least:
                return status, t, [], x
            if self.n_steps + self.n_rejected >= limit:
                return TOO_MANY_STEPS, t, [], x

    def trial(self, field: Function, t: float, x: Vector, f: Vector, h: float) -> tuple[list[Vector], Vector]:
        """The stages of a step (but the one at its end) and the state at its end."""
        table = self.tableau
        k = [f]
        for s in range(1, table.end):
            k.append(field(t + table.nodes[s] * h, stage_state(table.stages[s], x, h, k)))
        return k, stage_state(table.stages[table.end], x, h, k)

    def error(self, x: Vector, y: Vector, h: float, k: list[Vector]) -> float:
        """Square of the error estimate's root mean square, in units of the tolerance."""
        sums = [0.0] * PAD
        for i, a in enumerate(self.atol):
            larger = abs(x[i]) if abs(y[i]) < abs(x[i]) else abs(y[i])
            e = weighted(self.tableau.error, k, i) / (a + self.rtol * larger)
            sums[i % PAD] += e * e
        return (h * h) * ((sums[0] + sums[1]) + (sums[2] + sums[3])) / len(x)

    def interpolant(
        self, field: Function, t: float, t_new: float, x: Vector, y: Vector, k: list[Vector]
    ) -> Callable[[], Array]:
        """The coefficients over a step, when asked for the first time."""
        table = self.tableau
        made: list[Array] = []

        def coefficients() -> Array:
            if not made:
                h = t_new - t
                stages = list(k)
                for s in range(table.end + 1, len(table.stages)):
                    stages.append(field(t + table.nodes[s] * h, stage_state(table.stages[s], x, h, stages)))
                change = [b - a for a, b in zip(x, y)]
                bend = [h * a - b for a, b in zip(k[0], change)]
                turn = [a - h * b - c for a, b, c in zip(change, k[table.end], bend)]
                bends = [[h * weighted(row, stages, i) for i in range(len(x))] for row in table.bends]
                made.append(np.array([x, change, bend, turn, *bends]))
            return made[0]

        return coefficients

    def dense(self, record: Record, t0: float, x0: Array) -> Any:
        rows = 4 + len(self.tableau.bends)
        coef = np.array(self.coef).reshape(-1, rows, len(x0))
        return Dense(np.array(self.spans).reshape(-1, 2), coef, t0, x0)


def _evaluate(coef: Array, theta: float) -> Array:
    total = coef[-1]
    for j in range(len(coef) - 2, -1, -1):
        total = coef[j] + (theta if j % 2 == 0 else 1.0 - theta) * total
    return np.asarray(total)
