"""The stepper of a pure-Python model: the interface of `Stepper`, implemented with runs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from . import arguments
from .arguments import Array
from .base_stepper import BaseStepper
from .consistency import Accepted
from .errors import ArgumentError, KernelError, message_of
from .inputs import Inputs
from .snapshots import Snapshot, changed_inputs, check_snapshot

if TYPE_CHECKING:
    from .options import RunOptions
    from .python_model import PythonModel


class PythonStepper(BaseStepper):
    """One integration of a pure-Python model, advanced by `advance` and `advance_by`; see `Stepper`.

    Each call is a run of its own from `t` to the requested time, and chooses its first step anew: unlike with a
    `Stepper`, results depend, within the tolerances, on the times that are asked for. A restored stepper continues bit
    for bit. Events and contacts are not supported: `events` and `modes` are empty.
    """

    t: float
    n_steps: int
    inputs: Inputs
    events: list[tuple[float, str]] = []  # noqa: RUF012 - never changed

    def __init__(
        self, model: PythonModel, t0: float, x0: Array, p: Array, inputs: Inputs, options: RunOptions
    ) -> None:
        self.model, self.t, self.inputs = model, t0, inputs
        self.nfev = self.n_steps = self.status = 0
        self._y, self._p, self._options = x0, p, options
        # Reject wrong options now, not at the first step.
        model.integrate((t0, t0), Accepted(x0), p, inputs, **vars(options))

    @property
    def y(self) -> Array:
        """The state at `t`, shape (n,): a copy."""
        y: Array = self._y.copy()
        return y

    @property
    def p(self) -> Array:
        """The parameters, shape (np,): a copy."""
        p: Array = self._p.copy()
        return p

    @property
    def modes(self) -> dict[str, str]:
        """Empty: a pure-Python model has no contacts."""
        return {}

    def advance(self, t: float) -> Array:
        """Integrate to time t and return the state there; see `Stepper.advance`."""
        end = arguments.number("t", t)
        sol = self.model.integrate(
            (self.t, end), Accepted(self._y), self._p, self.inputs, **vars(self._options)
        )
        self.nfev += sol.nfev
        self.n_steps += sol.n_steps
        self.t, self._y, self.status = float(sol.t_reached), sol.y[:, -1].copy(), sol.status
        if sol.status < 0:
            raise KernelError(
                f"{self.model.name} {message_of(sol.status, self.t, self.model.independent)}", sol.status
            )
        return self.y

    def advance_by(self, dt: float) -> Array:
        """Integrate over the duration dt and return the state at its end; see `Stepper.advance_by`."""
        duration = arguments.number("dt", dt)
        end = self.t + duration
        if not math.isfinite(end) or (end == self.t and duration != 0.0):
            raise arguments.no_duration(duration, self.t)
        return self.advance(end)

    def set_inputs(self, values: Any = None, /, **named: Any) -> None:
        """Change inputs from here on; see `Stepper.set_inputs`."""
        self.inputs = changed_inputs(self.inputs, values, named)

    def _put(self, x: Array, p: Array) -> None:
        self._y, self._p = x, p

    def save(self) -> Snapshot:
        """Everything needed to continue from here."""
        model = self.model
        block = np.concatenate([self._y, self._p]).tobytes()
        return Snapshot(self.t, model.name, model.digest, self.method, self.inputs, block)

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a snapshot of this stepper, or of another one of the same model and method."""
        check_snapshot(snapshot, self.model, self.method)
        if len(snapshot.block) != self._y.nbytes + self._p.nbytes:
            raise ArgumentError("the snapshot does not match this model")
        self.t, self.inputs = snapshot.t, snapshot.inputs
        numbers = np.frombuffer(snapshot.block, dtype=np.float64)
        self._y, self._p = numbers[: len(self._y)].copy(), numbers[len(self._y) :].copy()
