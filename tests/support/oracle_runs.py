"""One run of an oracle in plain Python: its steps from one input's sample to the next, and the rows that it records."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chaplygin.api.python_model import status_of
from chaplygin.runtime import PythonModel
from chaplygin.runtime.interface.statuses import OK
from chaplygin.runtime.problem.inputs import Inputs
from chaplygin.runtime.problem.options import RunOptions
from chaplygin.runtime.results.dense import Dense, interpolated
from chaplygin.runtime.results.run_data import Problem
from chaplygin.runtime.results.solution import Solution

Array = NDArray[np.float64]
Function = Callable[..., Any]
Vector = list[float]

__all__ = ["Function", "Integrator", "Record", "Settings", "SteppedModel", "Vector"]


class Settings(NamedTuple):
    """Tolerances and steps of a run; `first_step` is 0 if it is chosen automatically."""

    rtol: float
    atol: Array
    max_step: float
    first_step: float
    keep_dense: bool

    @classmethod
    def of(cls, how: RunOptions, model: PythonModel, keep_dense: bool) -> Settings:
        steps = how.steps(adaptive=True)
        return cls(*how.tolerances(model.states), steps.largest, steps.first, keep_dense)


class Record:
    """The recorded rows: every step, or the requested times."""

    def __init__(self, t0: float, x0: Array, t_eval: Array | None, direction: float) -> None:
        self.t_eval, self.direction, self.next = t_eval, direction, 0
        self.t: list[float] = []
        self.y: list[Array] = []
        self.at, self.last = t0, x0
        if t_eval is None or (len(t_eval) and t_eval[0] == t0):
            self.t.append(t0)
            self.y.append(x0)
            self.next = 1

    def step(self, t: float, x: Array, interpolate: Callable[[float], Array]) -> None:
        self.at, self.last = t, x
        if self.t_eval is None:
            self.t.append(t)
            self.y.append(x)
            return
        while self.next < len(self.t_eval) and self.direction * (self.t_eval[self.next] - t) <= 0:
            moment = float(self.t_eval[self.next])
            self.t.append(moment)
            self.y.append(x if moment == t else interpolate(moment))
            self.next += 1


class Integrator:
    """A run of one method; derived classes define `segment`, which steps from the record's last point to `end`."""

    interpolated = staticmethod(interpolated)

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.nfev = self.njev = self.nlu = self.n_steps = self.n_rejected = 0
        self.spans: list[tuple[float, float]] = []
        self.coef: list[Array] = []
        self.t_end = math.nan
        self.jacobian: Function

    def run(
        self, kernels: dict[str, Function], record: Record, p: Vector, inputs: Inputs, t1: float, limit: int
    ) -> int:
        """Integrate to t1; returns a status."""
        self.t_end, sign = t1, record.direction
        knots = {t1, *(float(t) for signal in inputs.signals.values() for t in signal.times)}
        ends = [t for t in knots if 0 < sign * (t - record.at) <= sign * (t1 - record.at)]
        for end in sorted(ends, key=lambda t: sign * t):
            later = max(record.at, end)

            def called(kernel: str, t: float, x: Vector, later: float = later) -> Vector:
                u = inputs.at(np.array([t]), np.array(x), np.array([t == later]))[:, 0]
                return list(kernels[kernel](t, x, p, u.tolist()))

            def derivative(t: float, x: Vector, called: Function = called) -> Any:
                self.nfev += 1
                return called("rhs", t, x)

            self.jacobian = lambda t, x, called=called: called("jacobian", t, x)
            try:
                status = self.segment(derivative, record, end, limit)
            except (ArithmeticError, ValueError) as error:
                status = status_of(error)
            if status != OK:
                return status
        return OK

    def segment(self, derivative: Function, record: Record, end: float, limit: int) -> int:
        raise NotImplementedError

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


class SteppedModel(PythonModel):
    """A pure-Python model that runs with an integrator of the tests; derived classes define `_integrator`."""

    @staticmethod
    def _integrator(method: str, settings: Settings) -> Integrator:
        raise NotImplementedError

    def _run(self, problem: Problem, p: Array, inputs: Inputs, dense: bool) -> Solution:
        (t0, t1), x0, moments, how = problem[:4]
        run = self._integrator(how.method, Settings.of(how, self, dense))
        record = Record(t0, x0, moments, 1.0 if t1 >= t0 else -1.0)
        limit = how.steps(adaptive=True).limit
        status = run.run(self.functions.python, record, p.tolist(), inputs, t1, limit)
        if status != OK and (not record.t or record.t[-1] != record.at):
            record.t.append(record.at)
            record.y.append(record.last)
        coef = np.array(run.coef) if run.coef else np.empty((0, 1, len(x0)))
        sol = Dense(np.array(run.spans).reshape(-1, 2), coef, t0, x0, run.interpolated)
        return Solution(
            self, np.array(record.t), np.array(record.y).reshape(-1, len(x0)).T, status, record.at, p, inputs, run.nfev,
            run.n_steps, run.n_rejected, sol if dense else None, problem, run.njev, run.nlu, end=record.last,
        )  # fmt: skip
