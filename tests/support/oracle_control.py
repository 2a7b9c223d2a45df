"""The integrators of the compiled runtime once more, in plain Python: an oracle for every bit of a run.

Every operation is that of cg_adaptive.h, cg_control.h, cg_start.h and cg_step.h, in the same order, so a run has the
same bits if the right-hand side has. The coefficients are those of codegen/methods.
"""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from fused import fma
from numpy.typing import NDArray
from oracle_runs import Function, Integrator, Record, Settings, Vector

from chaplygin.api.python_model import status_of
from chaplygin.codegen.methods.pair import Control
from chaplygin.runtime.interface.statuses import NONFINITE, OK, SINGULAR, STEP_TOO_SMALL, TOO_MANY_STEPS

Array = NDArray[np.float64]

__all__ = ["Controlled", "finite", "larger", "reciprocal"]

EPSILON, TINY = sys.float_info.epsilon, sys.float_info.min
LEAST_LOG, SHRINK_FAILED, ATOL_FLOOR = math.log2(1e-8), 0.2, 1e-150
SHORTENED = (SINGULAR, NONFINITE, STEP_TOO_SMALL)  # failures that a shorter step may avoid


class Controlled(Integrator):
    """A method with error control; derived classes define `trial`, `square` and `interpolant`."""

    @staticmethod
    def interpolated(coef: Array, step: Any, theta: Any) -> Array:
        states = []
        for s, part in zip(step, theta):
            total = coef[s][-1].tolist()
            for j in range(coef.shape[1] - 2, -1, -1):
                weight = float(part if j % 2 == 0 else 1.0 - part)
                total = [fma(weight, value, float(c)) for value, c in zip(total, coef[s][j])]
            states.append(total)
        return np.array(states).T

    end_first = False
    """Whether the error estimate uses the derivative at the end of the step."""

    def __init__(self, order: int, control: Control, settings: Settings) -> None:
        super().__init__(settings)
        self.control, self.order = control, order
        self.rtol, self.max_step, self.h = settings.rtol, settings.max_step, settings.first_step
        self.atol = [max(float(a), ATOL_FLOOR) for a in settings.atol]
        self.log_old, self.rejected = LEAST_LOG, False

    def begin(self, t: float, x: Vector) -> None:
        """Called before the trials of a step."""

    def trial(self, field: Function, t: float, x: Vector, f: Vector, h: float) -> tuple[list[Vector], Vector]:
        """The stages of a step and the state at its end."""
        raise NotImplementedError

    def square(self, x: Vector, y: Vector, h: float, k: list[Vector]) -> float:
        """Square of the error estimate's root mean square, in units of the tolerance."""
        raise NotImplementedError

    def interpolant(
        self, field: Function, t: float, t_new: float, x: Vector, y: Vector, k: list[Vector], slope: Vector
    ) -> Callable[[], Array]:
        """The coefficients of the interpolant over a step; `slope` is the derivative at its end."""
        raise NotImplementedError

    def segment(self, derivative: Function, record: Record, end: float, limit: int) -> int:
        """Step to `end`, as cg_drive does with cg_driver_prepare."""

        def field(t: float, x: Vector) -> Vector:
            return list(derivative(t, x))

        t, x = record.at, record.last.tolist()
        f = field(t, x)
        if not finite(f):
            return NONFINITE
        if self.h == 0.0:
            self.h = self.first(t, x, f)
        while t != end:
            if self.n_steps + self.n_rejected >= limit:
                return TOO_MANY_STEPS
            self.begin(t, x)
            status, t_new, k, y, slope = self.step(field, t, x, f, end, record.direction)
            if status != OK:
                return status
            self.accept(record, t, t_new, y, self.interpolant(field, t, t_new, x, y, k, slope))
            t, x, f = t_new, y, slope
        return OK

    def mean_square(self, v: Vector, x: Vector) -> float:
        total = 0.0
        for value, a, state in zip(v, self.atol, x):
            scaled = value * reciprocal(fma(self.rtol, abs(state), a))
            total = fma(scaled, scaled, total)
        return total * (1.0 / len(v))

    def first(self, t: float, x: Vector, f: Vector) -> float:
        """The first step, as in cg_start.h."""
        longest = min(abs(self.t_end - t), self.max_step)
        size, slope = self.mean_square(x, x), self.mean_square(f, x)
        h0 = 1e-6 if size < 1e-10 or slope < 1e-10 else 0.01 * math.sqrt(size / slope)
        power = 1.0 / self.order
        tenth = exp2(fma(-0.5 * power, log2(slope), -3.321928094887362 * power))
        h1 = max(1e-6, h0 * 1e-3) if slope <= 1e-30 else tenth
        return min(min(100.0 * h0, h1), longest)

    def step(
        self, field: Function, t: float, x: Vector, f: Vector, stop: float, direction: float
    ) -> tuple[int, float, list[Vector], Vector, Vector]:
        """One accepted step, as in cg_adaptive.h: status, end time, stages, and state and derivative at the end."""
        alpha, beta, safety, shrink, grow = self.control
        least = smallest_step(t)
        self.h = min(max(self.h, least), self.max_step)
        while True:
            length, t_new, close, cut = plan(t, stop, self.h, direction, self.max_step)
            if not cut and not length >= least:
                return STEP_TOO_SMALL, t, [], x, f
            factor = SHRINK_FAILED
            try:
                k, y = self.trial(field, t, x, f, t_new - t)
                slope = field(t_new, y) if self.end_first else None
                square = self.square(x, y, t_new - t, k if slope is None else [*k, slope])
                if square <= 1.0:
                    slope = field(t_new, y) if slope is None else slope
                    if finite(y) and finite(slope):
                        log_new = log2(square)
                        factor = safety * exp2(fma(-0.5 * alpha, log_new, 0.5 * beta * self.log_old))
                        factor = max(shrink, min(grow, factor))
                        if self.rejected:
                            factor = min(factor, 1.0)
                        self.h = max(self.h, length * factor) if close else length * factor
                        if not close:
                            self.log_old = max(log_new, LEAST_LOG)
                        self.rejected = False
                        return OK, t_new, k, y, slope
                    status = NONFINITE
                elif square < math.inf:
                    factor = max(shrink, safety * exp2(-0.5 * alpha * log2(square)))
                    status = STEP_TOO_SMALL
                else:
                    status = STEP_TOO_SMALL if finite(y) and (slope is None or finite(slope)) else NONFINITE
            except (ArithmeticError, ValueError) as error:
                status = status_of(error)
                if status not in SHORTENED:
                    raise
            self.h = max(length * factor, least)
            self.n_rejected += 1
            self.rejected = True
            if length <= least:
                return status, t, [], x, f


def smallest_step(t: float) -> float:
    """The smallest step, as in cg_step_smallest."""
    return 4.0 * max(abs(t) * EPSILON, TINY)


def plan(
    t: float, stop: float, wanted: float, direction: float, max_step: float
) -> tuple[float, float, bool, bool]:
    """Length and end of a step, whether `stop` is near, and whether the step ends there, as in cg_plan."""
    remaining = abs(stop - t)
    close = remaining <= 1.01 * wanted
    cut = close and remaining <= max_step
    length = remaining if cut else 0.5 * remaining if close else wanted
    t_new = stop if cut else t + direction * length
    if max_step < abs(t_new - t):
        t_new = fma(-direction * EPSILON, abs(t_new), t_new)
    return length, t_new, close, cut


def log2(a: float) -> float:
    """The binary logarithm to 4 digits, as in cg_step_log2."""
    m, e = math.frexp(min(max(1e-100, a), 1e100))
    f = 2.0 * m - 1.0
    f2 = f * f
    terms = fma(f2, fma(-0.04514904, f, 0.14842664), fma(-0.2671794, f, 0.44191704))
    return (e - 1.0) + fma(f - f2, terms, f)


def exp2(a: float) -> float:
    """The power of 2 to 4 digits, as in cg_step_exp2."""
    shift = 2.0**52 + 1023.0  # adding it rounds to an integer
    whole = (a + shift) - shift
    z = a - whole
    terms = fma(z * z, fma(0.0095828536, z, 0.055906425), fma(0.24024099, z, 0.69312419))
    return math.ldexp(fma(z, terms, 1.0), int(whole))


def reciprocal(a: float) -> float:
    """1/a to 0.3 %, as in cg_step_reciprocal; like that, not finite if `a` is not."""
    if not math.isfinite(a):
        return math.nan
    (bits,) = struct.unpack("<q", struct.pack("<d", a))
    (guess,) = struct.unpack("<d", struct.pack("<q", 0x7FDE623822FC16E6 - bits))
    return fma(guess, fma(-a, guess, 1.0), guess)


def larger(x: float, y: float) -> float:
    """The larger magnitude, that of y if x is NaN, as in cg_larger_size."""
    return abs(x) if abs(y) < abs(x) else abs(y)


def finite(v: Vector) -> bool:
    return all(map(math.isfinite, v))
