"""The stepper of a pure-Python model: the interface of `Stepper`, implemented with runs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from chaplygin.errors import ArgumentError, KernelError
from chaplygin.runtime.core.single_thread import Guard
from chaplygin.runtime.interface import arguments
from chaplygin.runtime.interface.arguments import Array
from chaplygin.runtime.interface.statuses import message_of
from chaplygin.runtime.problem.consistency import Accepted
from chaplygin.runtime.problem.given_inputs import changed_inputs
from chaplygin.runtime.problem.inputs import Inputs
from chaplygin.runtime.steppers.base import BaseStepper
from chaplygin.runtime.steppers.snapshots import Snapshot, check_snapshot

if TYPE_CHECKING:
    from chaplygin.runtime.problem.options import RunOptions


class PythonStepper(BaseStepper):
    """One integration of a pure-Python model, advanced by `advance` and `advance_by`; see `Stepper`.

    Each call is a run of its own from `t` to the requested time, and chooses its first step anew: unlike with a
    `Stepper`, results depend, within the tolerances, on the times that are asked for. A restored stepper continues bit
    for bit. Events and contacts are not supported: `events` and `modes` are empty.
    """

    t: float
    n_steps: int
    events: list[tuple[float, str]] = []  # noqa: RUF012 - never changed

    def __init__(
        self, model: Any, t0: float, x0: Array, p: Array, inputs: Inputs, options: RunOptions, *_: Any
    ) -> None:
        self.model, self.t, self._inputs, self._alone = model, t0, inputs.since(t0), Guard("stepper")
        self.nfev = self.n_steps = self.status = 0
        self._y, self._p, self._options = x0, p, options
        # Reject wrong options now, not at the first step.
        model.integrate((t0, t0), Accepted(x0), p, inputs, **vars(options))

    @property
    def y(self) -> Array:
        """The state at `t`, shape (n,): a copy."""
        with self._alone:
            return self._now()[1]

    @property
    def p(self) -> Array:
        """The parameters, shape (np,): a copy."""
        with self._alone:
            return self._now()[2]

    @property
    def inputs(self) -> Inputs:
        """The current inputs, as `Inputs`."""
        with self._alone:
            return self._inputs

    def _now(self) -> tuple[float, Array, Array, Inputs]:
        """Time, copies of the state and the parameters, and the inputs."""
        return self.t, self._y.copy(), self._p.copy(), self._inputs

    def _everything(self) -> dict[str, float]:
        """All quantities at `t` by name."""
        t, y, p, inputs = self._now()
        values: dict[str, float] = self.model.evaluate(t, y, p, inputs.at(t, y))
        return values

    def evaluate(self, name: Any = None) -> Any:
        """One quantity at `t` by name, as a float, or without a name a dict of everything in ``model.evaluate``."""
        if name is not None:
            return self[name]
        with self._alone:
            return self._everything()

    @property
    def outputs(self) -> dict[str, float]:
        """The outputs at `t`: a dict of declared variables, named outputs and reactions."""
        values = self.evaluate()
        return {name: values[name] for name in self.model.outputs}

    def __getitem__(self, name: Any) -> float:
        model = self.model
        key = arguments.plain_name(name)
        if key in model.states:
            return float(self._y[model.states.index(key)])
        if key in ("t", model.along):
            return self.t
        with self._alone:
            if key in model.inputs:
                return float(self._inputs.at(self.t, self._y.copy())[model.inputs.index(key)])
            if key not in model.quantities:
                raise arguments.unknown_quantity(name, model.name, model.quantities)
            return float(self._everything()[key])

    @property
    def modes(self) -> dict[str, str]:
        """Empty: a pure-Python model has no contacts."""
        return {}

    def advance(self, t: float) -> Array:
        """Integrate to time t and return the state there; see `Stepper.advance`."""
        end = arguments.number("t", t)
        with self._alone:
            return self._reach(end)

    def _reach(self, end: float) -> Array:
        sol = self.model.integrate(
            (self.t, end), Accepted(self._y), self._p, self._inputs, **vars(self._options)
        )
        self.nfev += sol.nfev
        self.n_steps += sol.n_steps
        self.t, self._y, self.status = float(sol.t_reached), sol.y[:, -1].copy(), sol.status
        if sol.status < 0:
            raise KernelError(f"{self.model.name} {message_of(sol.status, self.t, self.model)}", sol.status)
        return self._now()[1]

    def advance_by(self, dt: float) -> Array:
        """Integrate over the duration dt and return the state at its end; see `Stepper.advance_by`."""
        duration = arguments.number("dt", dt)
        with self._alone:
            end = self.t + duration
            if not math.isfinite(end) or (end == self.t and duration != 0.0):
                raise arguments.no_duration(duration, self.t)
            return self._reach(end)

    def set_inputs(self, values: Any = None, /, **named: Any) -> None:
        """Change inputs from here on; see `Stepper.set_inputs`."""
        with self._alone:
            self._inputs = changed_inputs(self._inputs, values, named).since(self.t)

    def _put(self, x: Array, p: Array) -> None:
        self._y, self._p = x, p

    def save(self) -> Snapshot:
        """Everything needed to continue from here."""
        model = self.model
        with self._alone:
            block = np.concatenate([self._y, self._p]).tobytes()
            return Snapshot(self.t, model.name, model.digest, self.method, self._inputs, block)

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a snapshot of this stepper, or of another one of the same model and method."""
        check_snapshot(snapshot, self.model, self.method)
        if len(snapshot.block) != self._y.nbytes + self._p.nbytes:
            raise ArgumentError("the snapshot does not match this model")
        numbers = np.frombuffer(snapshot.block, dtype=np.float64)
        with self._alone:
            self.t, self._inputs = snapshot.t, snapshot.inputs
            self._y, self._p = numbers[: len(self._y)].copy(), numbers[len(self._y) :].copy()
