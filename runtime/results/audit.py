"""The energy audit of a run: Painlevé's equation, step by step.

The change of T2 - T0 + V over each step is compared with the Gauss-Legendre quadrature of the power on the
interpolant. The right-hand side that was integrated is not used: a motion that does not follow from the declared
energies, forces and constraints does not balance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array
from ..interface.assumptions import RATE
from ..interface.base_model import BaseModel
from .between_points import Inside
from .run_data import RunData

NODES = 8
"""Gauss-Legendre points per step: exact for a power that is a polynomial of degree 15."""
MARGIN = 20.0
"""Allowed imbalance of a step, in units of the change of T2 - T0 + V that its tolerances alone would cause."""
FIXED = 1e-6
"""Tolerance for a fixed-step run, relative to the energy scale."""
_ROUNDING = 256 * float(np.finfo(np.float64).eps)
_CHUNK = 2048


@dataclass(frozen=True, eq=False)
class Audit:
    """The result of `Solution.audit`; truthy if every step balances.

    t : (N + 1,) the ends of the steps.
    value : (N + 1,) T2 - T0 + V at these times.
    change, work : (N,) its change over each step, and the quadrature of the power.
    imbalance : (N,) change - work.
    allowed : (N,) the allowed imbalance.
    largest : the largest |imbalance|; `where` : the two ends (t0, t1) of that step.
    total : the sum of all imbalances, i.e. energy gained or lost without work.
    scale : the energy scale of the run: largest T2, range of T2 - T0 + V, and positive and negative work.
    passed : whether every imbalance is within what is allowed; `failures` counts the steps where it is not.
    quantity : the name of T2 - T0 + V in the model.
    """

    model: str
    quantity: str
    t: Array
    value: Array
    change: Array
    work: Array
    imbalance: Array
    allowed: Array
    scale: float

    @property
    def worst(self) -> int:
        """The index of the step with the largest imbalance; -1 without steps."""
        sizes = np.abs(self.imbalance)
        return int(np.argmax(np.where(np.isnan(sizes), np.inf, sizes))) if len(sizes) else -1

    @property
    def largest(self) -> float:
        return abs(float(self.imbalance[self.worst])) if len(self.imbalance) else 0.0

    @property
    def where(self) -> tuple[float, float]:
        i = self.worst
        return (float(self.t[0]), float(self.t[0])) if i < 0 else (float(self.t[i]), float(self.t[i + 1]))

    @property
    def total(self) -> float:
        return float(self.imbalance.sum())

    @property
    def failures(self) -> int:
        return int((~(np.abs(self.imbalance) <= self.allowed)).sum())

    @property
    def passed(self) -> bool:
        return self.failures == 0

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        if not len(self.imbalance):
            return f"<Audit of {self.model}: passed, no steps>"
        verdict = "passed" if self.passed else f"FAILED in {self.failures} of {len(self.imbalance)} steps"
        begin, end = self.where
        share = f" ({self.largest / self.scale:.1e} of the scale {self.scale:.4g})" if self.scale > 0 else ""
        return (
            f"<Audit of {self.model}: {verdict}; {self.quantity} against power over {len(self.imbalance)} steps: "
            f"largest imbalance {self.largest:.2e}{share} in t = {begin:.6g} .. {end:.6g}, "
            f"allowed there {self.allowed[self.worst]:.1e}, total {self.total:.2e}>"
        )


@dataclass(frozen=True)
class _Audited:
    """Where a model keeps T2 - T0 + V and the power; without a power it is conserved."""

    name: str
    kernel: str
    row: int
    power: int | None

    @classmethod
    def of(cls, model: BaseModel) -> _Audited:
        for name in ("painleve", "energy"):
            if name in model.invariants:
                return cls(name, "invariants", model._conserved.index(name), None)
        power = next((n for n in ("cg_power", "power") if n in model.outputs), None)
        name = next((n for n in ("cg_painleve", "painleve", "energy") if n in model.outputs), "")
        if model.form == "given":
            raise ArgumentError(
                f"{model.name} has no power balance to audit: its equations are given without kinetic energy"
            )
        if power is None or not name:
            raise ArgumentError(
                f"{model.name} has no power balance to audit: it was made by another version of the generator; "
                "recompile it"
            )
        return cls(name, "outputs", model.outputs.index(name), model.outputs.index(power))


class _Run(Inside):
    """The motion inside the steps, with its power balance."""

    def __init__(self, sol: RunData, dense: Any) -> None:
        super().__init__(sol, dense)
        self.p = sol._p[:, None]
        self.quantities = _Audited.of(sol.model)

    def evaluate(self, t: Array, y: Array, u: Array) -> tuple[Array, Array]:
        """T2 - T0 + V and the power, each (N,); NaN where the model cannot be evaluated."""
        q = self.quantities
        rows = self.model._columns(q.kernel, t, np.ascontiguousarray(y), self.p, u, None, False)
        return rows[q.row], np.zeros(len(t)) if q.power is None else rows[q.power]

    def value(self, t: Array, y: Array, u: Array) -> Array:
        return self.evaluate(t, y, u)[0]

    def without_rates(self, u: Array) -> Array:
        """1 for inputs whose changes the power leaves out, else 0, (nu, 1): the equations contain the others' rates."""
        found = np.ones((len(u), 1))
        for i, flags in enumerate(self.model._input_flags):
            if flags & RATE:
                found[i - 1] = 0.0
        return found


def audit(sol: RunData, tolerance: float | None = None) -> Audit:
    """See `Solution.audit`."""
    if sol.model.along is not None:
        raise ArgumentError(
            f"{sol.model.name}: the form {sol.model.form} carries the energy as the parameter h, so there is nothing "
            "to balance; compare the run with another form"
        )
    if tolerance is not None:
        tolerance = arguments.positive_number("tolerance", tolerance)
    dense = sol.interpolant()
    run = _Run(sol, dense)
    ends = np.asarray(dense.ts, dtype=np.float64)
    count = len(ends) - 1
    points, weights = np.polynomial.legendre.leggauss(NODES)
    change, work, size, kinetic, error = (np.zeros(count) for _ in range(5))
    value = np.zeros(count + 1)
    rtol, atol = sol._tolerances
    for first in range(0, count, _CHUNK):
        part = slice(first, min(first + _CHUNK, count))
        begin, end = ends[part], ends[first + 1 : part.stop + 1]
        h = end - begin
        moments = begin[:, None] + h[:, None] * (1 + points) / 2
        powers = _powers(run, moments, begin, end)
        work[part] = (powers @ weights) * h / 2
        size[part] = (np.abs(powers) @ weights) * np.abs(h) / 2
        here, there = dense(begin), dense(end)
        if sol._event_record is not None:
            here = dense.starts(first, part.stop)  # after a reset, not where the previous step ended
        u_here, u_there = run.u(begin, here, begin, end), run.u(end, there, begin, end)
        at_begin, at_end = run.value(begin, here, u_here), run.value(end, there, u_there)
        change[part] = at_end - at_begin
        value[part], value[part.stop] = at_begin, at_end[-1]
        still = here.copy()
        still[run.model.n_coordinates :] = 0.0
        kinetic[part] = np.abs(at_begin - run.value(begin, still, u_here))
        if tolerance is None and np.isfinite(rtol):
            error[part] = np.maximum(
                _effect(run, begin, here, u_here, rtol, atol), _effect(run, end, there, u_there, rtol, atol)
            )
    scale = _scale(value, kinetic, size)
    rounding = _ROUNDING * (scale + (np.abs(value[:-1]) if count else 0.0))
    if tolerance is None and np.isfinite(rtol):
        allowed = MARGIN * (error + rtol * size) + rounding
    else:
        allowed = np.full(count, (FIXED if tolerance is None else tolerance) * scale) + rounding
    return Audit(
        sol.model.name, run.quantities.name, ends, value, change, work, change - work, allowed, scale
    )


def _powers(run: _Run, moments: Array, begin: Array, end: Array) -> Array:
    """The power at the quadrature points (steps, NODES), including that of inputs in the potential."""
    n = len(begin)
    t = moments.ravel()
    low, high = np.repeat(begin, NODES), np.repeat(end, NODES)
    y = run.dense(t)
    u = run.u(t, y, low, high)
    h, power = run.evaluate(t, y, u)
    if run.inputs is not None and not run.inputs.constant:
        apart = run.without_rates(u)
        moved = run.value(t, y, u + apart * 1e-3 * (1 + np.abs(u)))
        if not np.array_equal(h, moved):  # dh/du du/dt, with du/dt from five points inside the step
            d = (high - low) / 128  # the first node is 2% inside the step
            at = [run.u(t + k * d, run.dense(t + k * d), low, high) for k in (-2, -1, 1, 2)]
            slope = apart * (at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * d)
            power = power + (run.value(t, y, u + slope * d) - run.value(t, y, u - slope * d)) / (2 * d)
    return power.reshape(n, NODES)


def _effect(run: _Run, t: Array, y: Array, u: Array, rtol: float, atol: Array) -> Array:
    """sum_i |dh/dy_i| (atol_i + rtol |y_i|), by differences: the effect on h of an error as large as the tolerance."""
    total = np.zeros(len(t))
    for i in range(len(y)):
        d = 1e-5 * (np.abs(y[i]) + 1e-3)
        ahead, back = y.copy(), y.copy()
        ahead[i] += d
        back[i] -= d
        slope = (run.value(t, ahead, u) - run.value(t, back, u)) / (2 * d)
        total += np.abs(np.nan_to_num(slope)) * (atol[i] + rtol * np.abs(y[i]))
    return total


def _scale(value: Array, kinetic: Array, size: Array) -> float:
    finite = value[np.isfinite(value)]
    if not len(finite) or not len(size):
        return 0.0
    parts = [np.nanmax(kinetic, initial=0.0), np.ptp(finite), np.nansum(size)]
    return float(sum(parts)) or float(np.abs(finite).max())
