"""The integration methods of the pure-Python backend: rk4 in plain Python, and SciPy's solvers."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from chaplygin._lazy import later
from chaplygin.errors import KernelError, optional
from chaplygin.runtime.interface.arguments import Array
from chaplygin.runtime.interface.description import Method
from chaplygin.runtime.interface.statuses import (
    NONFINITE,
    OK,
    RANK_CHANGED,
    SINGULAR,
    STEP_TOO_SMALL,
    TOO_MANY_STEPS,
    UNCLOSED,
)
from chaplygin.runtime.problem import inputs as signals
from chaplygin.runtime.results.dense import Dense, interpolated

if TYPE_CHECKING:
    from chaplygin.codegen.emit.python_backend import PythonKernels

scipy = later("scipy")

Function = Callable[..., Any]
Vector = list[float]

CORRECTIONS, MOST_UNMET, RANK_LOST, RANK_UNCLOSED = 8, 10.0, 1e-8, 1e-6
"""CG_MOST_CORRECTIONS and CG_MOST_UNMET of cg_step.h, CG_RANK_LOST and CG_RANK_UNCLOSED of cg_precision.h."""
EPSILON, TINY = sys.float_info.epsilon, sys.float_info.min


def close_enough(corrections: int) -> float:
    """cg_close_enough of cg_step.h."""
    return 1e-4 if corrections < 3 else 1.0


class _InputFailed(Exception):
    """Wraps an error of an input function, so that it is not handled as an error of a kernel."""

    def __init__(self, cause: Exception) -> None:
        super().__init__()
        self.cause = cause


class Record:
    """The recorded rows: every step, or the requested times."""

    def __init__(self, t0: float, x0: Array, t_eval: Array | None, direction: float) -> None:
        self.t_eval, self.direction, self.next = t_eval, direction, 0
        self.t: list[float] = []
        self.y: list[Array] = []
        self.at = t0
        self.last = x0
        if t_eval is None or (len(t_eval) and t_eval[0] == t0):
            self.t.append(t0)
            self.y.append(x0)
            self.next = 1

    def fail(self) -> None:
        """Add the point that a failed run has reached, if it is not the last row."""
        if not self.t or self.t[-1] != self.at or not np.array_equal(self.y[-1], self.last):
            self.t.append(self.at)
            self.y.append(self.last)

    def step(self, t: float, x: Array, interpolate: Callable[[float], Array]) -> None:
        self.at, self.last = t, x
        if self.t_eval is None:
            self.t.append(t)
            self.y.append(x)
            return
        while self.next < len(self.t_eval) and self.direction * (self.t_eval[self.next] - t) <= 0:
            moment = float(self.t_eval[self.next])
            self.t.append(moment)
            self.y.append(x if moment == t else np.asarray(interpolate(moment)))
            self.next += 1


class Settings(NamedTuple):
    """Tolerances and steps of a run. `first_step` is 0 if it is chosen automatically; rk4 takes it as its step."""

    rtol: float
    atol: Array
    max_step: float
    first_step: float
    keep_dense: bool
    correction: str | None
    """The kernel that moves each step's end back onto the constraints."""


class Integrator:
    """A run of one method: `run` steps from the record's last point to t1."""

    interpolated = staticmethod(interpolated)

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.nfev = self.njev = self.nlu = self.n_steps = self.n_rejected = 0
        self.spans: list[tuple[float, float]] = []
        self.coef: list[Array] = []
        self.t_end = 0.0
        self.jacobian: Function
        self.correction: Function
        self.unmet: Function | None
        self.unclosed: tuple[float, Vector]

    def run(
        self, kernels: PythonKernels, record: Record, p: Array, inputs: signals.Inputs, t1: float, limit: int
    ) -> int:
        """Integrate between the sample times of the inputs; returns a status."""
        rhs, parameters = kernels.python["rhs"], p.tolist()
        name = self.settings.correction
        move: Any = name and kernels.python[name]
        apart: Any = name and kernels.python.get("unmet")
        reference = [record.last.tolist()] if name == "correction_all" else []
        exact: Any = kernels.python.get("jacobian")  # only implicit methods need it
        self.has_jacobian = exact is not None
        self.t_end = t1
        knots = {t1, *(float(t) for signal in inputs.signals.values() for t in signal.times)}
        ends = sorted(
            t for t in knots if 0 < record.direction * (t - record.at) <= record.direction * (t1 - record.at)
        )
        for end in ends if record.direction > 0 else reversed(ends):
            u = inputs.values.tolist()
            middle = np.array([(record.at + end) / 2])

            def controls(t: float, x: Any, u: list[float] = u, inside: Array = middle) -> list[float]:
                for i, signal in inputs.signals.items():
                    u[i] = float(signal.at(np.array([t]), inside)[0])
                for i, function in inputs.functions.items():
                    try:
                        u[i] = inputs.number(i, t, function(t, np.array(x)))
                    except Exception as error:
                        raise _InputFailed(error) from error
                return u

            def derivative(t: float, x: Any, controls: Function = controls) -> Any:
                self.nfev += 1
                return rhs(t, x, parameters, controls(t, x))

            def jacobian(t: float, x: Any, controls: Function = controls) -> Any:
                return exact(t, x, parameters, controls(t, x))

            def correction(t: float, x: Any, controls: Function = controls) -> Any:
                return move(t, x, parameters, controls(t, x), *reference)

            def unmet(t: float, x: Any, controls: Function = controls) -> Any:
                return apart(t, x, parameters, controls(t, x))

            self.jacobian = jacobian
            self.correction = correction
            self.unmet = apart and unmet
            try:
                status = self.segment(derivative, record, end, limit)
            except _InputFailed as error:
                raise error.cause from None
            except (ArithmeticError, ValueError) as error:
                status = status_of(error)
            if status != OK:
                return self._failure(kernels, record, parameters, u, status)
        return OK

    def _failure(
        self, kernels: PythonKernels, record: Record, p: list[float], u: list[float], status: int
    ) -> int:
        """The status of a run that failed, as cg_correct_failure in cg_correct.c has it."""
        rank = kernels.python.get("rank")
        if rank is None or status not in (SINGULAR, NONFINITE, STEP_TOO_SMALL, UNCLOSED):
            return status
        t, x = self.unclosed if status == UNCLOSED else (record.at, record.last.tolist())
        try:
            (smallest,) = rank(t, x, p, u)
        except (ArithmeticError, ValueError):
            return status
        return status if smallest > (RANK_UNCLOSED if status == UNCLOSED else RANK_LOST) else RANK_CHANGED

    def segment(self, derivative: Function, record: Record, end: float, limit: int) -> int:
        raise NotImplementedError

    def corrected(self, t: float, x: Vector) -> Vector:
        """The end of a step moved back onto the constraints, as in cg_correct.c."""
        if self.settings.correction is None:
            return x
        for count in range(CORRECTIONS):
            try:
                move = self.correction(t, x)
            except (ArithmeticError, ValueError):
                break
            if self.size(move, x) <= close_enough(count):
                if self.unmet is not None and not self.size(self.unmet(t, x), x) <= MOST_UNMET:
                    break
                return x
            x = [a + d for a, d in zip(x, move, strict=True)]
        self.unclosed = t, x
        raise KernelError("the constraints cannot be satisfied", UNCLOSED)

    def size(self, move: Sequence[float], x: Vector) -> float:
        """The largest component of a change of x in units of the tolerance."""
        return float(np.max(np.abs(move) / (self.settings.atol + self.settings.rtol * np.abs(x))))

    def accept(
        self, record: Record, t: float, t_new: float, y: Vector, coefficients: Callable[[], Array]
    ) -> None:
        """Record a step, and keep its interpolant if the run returns one."""
        if self.settings.keep_dense:
            self.spans.append((t, t_new))
            self.coef.append(coefficients())

        def inside(moment: float) -> Array:
            return self.interpolated(coefficients()[None], [0], np.array([(moment - t) / (t_new - t)]))[:, 0]

        record.step(t_new, np.array(y), inside)
        self.n_steps += 1

    def dense(self, t0: float, x0: Array) -> Any:
        coef = np.array(self.coef) if self.coef else np.empty((0, 1, len(x0)))
        return Dense(np.array(self.spans).reshape(-1, 2), coef, t0, x0, self.interpolated)


class Rk4(Integrator):
    """The classical method of order 4 with a fixed step."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.h = min(settings.first_step or settings.max_step, settings.max_step)

    def segment(self, derivative: Function, record: Record, end: float, limit: int) -> int:
        start, x = record.at, record.last.tolist()
        sign = 1.0 if end >= start else -1.0
        count = max(1, math.ceil(abs(end - start) / self.h * (1 - 1e-12)))
        t = start
        f0 = derivative(t, x)
        for i in range(1, count + 1):
            if self.n_steps >= limit:
                return TOO_MANY_STEPS
            if self.h < min(smallest_step(t), abs(end - t)):
                return STEP_TOO_SMALL
            after = end if i == count else start + sign * i * self.h
            h = after - t
            k2 = derivative(t + h / 2, [a + h / 2 * b for a, b in zip(x, f0)])
            k3 = derivative(t + h / 2, [a + h / 2 * b for a, b in zip(x, k2)])
            k4 = derivative(after, [a + h * b for a, b in zip(x, k3)])
            y = [a + h / 6 * (b + 2 * c + 2 * d + e) for a, b, c, d, e in zip(x, f0, k2, k3, k4)]
            if not all(map(math.isfinite, y)):
                return NONFINITE
            y = self.corrected(after, y)
            f1 = derivative(after, y)
            self.accept(record, t, after, y, functools.partial(_cubic, x, f0, y, f1, h))
            t, x, f0 = after, y, f1
        return OK


class Solver(Integrator):
    """A solver of SciPy, step by step; the implicit ones take the model's Jacobian."""

    def __init__(self, method: Method, settings: Settings) -> None:
        super().__init__(settings)
        self.method = method
        self.first_step = settings.first_step
        self.pieces: list[Any] = []
        self.ts: list[float] = []

    def segment(self, derivative: Function, record: Record, end: float, limit: int) -> int:
        integrate = optional("scipy.integrate", f"a pure-Python run with {self.method.name}", "scipy")
        solver_class = getattr(integrate, SOLVERS[self.method.name])
        last = np.empty(0)

        def function(t: float, x: Array) -> Array:
            nonlocal last
            first, last = not last.size, np.asarray(derivative(float(t), x.tolist()), dtype=float)
            if first and not np.isfinite(last).all():
                raise FloatingPointError  # SciPy would search for a first step forever
            return last

        def jacobian(t: float, x: Array) -> Array:
            return np.reshape(self.jacobian(float(t), x.tolist()), (len(x), len(x)))

        options = {name: getattr(self.settings, name) for name in ("rtol", "atol", "max_step")}
        options["first_step"] = min(self.first_step, abs(end - record.at)) or None
        if self.method.implicit:
            options["jac"] = jacobian if self.has_jacobian else None
        with np.errstate(all="ignore"):
            solver = solver_class(function, record.at, record.last, end, **options)
            before = self.njev, self.nlu
            while solver.status == "running":
                if self.n_steps >= limit:
                    return TOO_MANY_STEPS
                solver.step()
                self.njev, self.nlu = before[0] + solver.njev, before[1] + solver.nlu
                if solver.status == "failed":
                    return STEP_TOO_SMALL if np.isfinite(last).all() else NONFINITE
                if not np.isfinite(solver.y).all():
                    return NONFINITE
                self.n_steps += 1
                self.first_step = float(abs(solver.h_abs))
                piece = solver.dense_output()
                self._correct(solver, function)
                self.pieces.append(piece)
                self.ts.append(float(solver.t))
                record.step(float(solver.t), solver.y.copy(), piece)
        return OK

    def _correct(self, solver: Any, function: Function) -> None:
        """Let the solver go on from the corrected state."""
        at = solver.y.tolist()
        moved = self.corrected(float(solver.t), at)
        if moved is at:
            return
        solver.y = np.array(moved)
        if self.method.name == "bdf":
            solver.D[0] = solver.y  # the backward differences of the states begin with the state
        else:
            solver.f = function(solver.t, solver.y)

    def dense(self, t0: float, x0: Array) -> Any:
        if not self.pieces:
            return super().dense(t0, x0)
        return scipy.integrate.OdeSolution(np.array([t0, *self.ts]), self.pieces)


SOLVERS = {"dop853": "DOP853", "rk45": "RK45", "rk23": "RK23", "radau": "Radau", "bdf": "BDF"}
METHODS = {
    method.name: method
    for method in (
        Method("rk4", "order 4, fixed step", 4, adaptive=False),
        Method("dop853", "SciPy's, order 8", 8),
        Method("rk45", "SciPy's, order 5", 5),
        Method("rk23", "SciPy's, order 3, for loose tolerances", 3),
        Method("radau", "SciPy's, order 5, implicit, for stiff systems", 5, implicit=True),
        Method("bdf", "SciPy's, orders 1 to 5, implicit, for stiff systems", 5, implicit=True),
    )
}
"""The methods of a pure-Python model."""


def _cubic(x: Vector, f: Vector, y: Vector, f_new: Vector, h: float) -> Array:
    """The coefficients of the cubic Hermite interpolant over a step."""
    start, change, r0, r1 = np.array(x), np.array(y) - np.array(x), h * np.array(f), h * np.array(f_new)
    return np.array([start, change, r0 - change, 2 * change - r0 - r1])


def smallest_step(t: float) -> float:
    """The smallest step, as in cg_step_smallest."""
    return 4.0 * max(abs(t) * EPSILON, TINY)


def status_of(error: Exception) -> int:
    """The status code for a Python exception of a kernel."""
    if isinstance(error, KernelError):
        return error.status
    return NONFINITE if isinstance(error, (ValueError, OverflowError, FloatingPointError)) else SINGULAR
