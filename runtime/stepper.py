"""A run that its caller moves on: for simulators, controllers and other hosts that own the clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import arguments
from ._core import StepperCore
from .consistency import smallest
from .errors import ArgumentError, KernelError, message_of
from .happenings import MODES
from .snapshots import Snapshot, changed_inputs, check_snapshot

if TYPE_CHECKING:
    from .model import Model

__all__ = ["Stepper"]


class Stepper(StepperCore):
    """One integration, moved on by `advance`.

    ``run.t``, ``run.y``, ``run.p`` are the time, a copy of the state (n,) and of the parameters; ``run.nfev`` and
    ``run.n_steps`` count. The step length carries over from one `advance` to the next.

    `advance` applies the resets of the model's events and changes the modes of its contacts. It stops at a terminal
    event: ``run.status`` is 1 then and ``run.t`` the time of the event; the next `advance` goes on from there.
    ``run.events`` lists (time, name) of what happened in the last `advance`, ``run.modes`` the present modes.

    >>> from chaplygin.generated.harmonic_oscillator import model
    >>> run = model.stepper({"x": 1, "x_dot": 0}, {"m": 1, "k": 4})
    >>> snapshot = run.save()
    >>> run.advance(0.5).round(6)    # cos 1, -2 sin 1
    array([ 0.540302, -1.682942])
    >>> run.restore(snapshot)
    >>> run.t
    0.0
    """

    events: list[tuple[float, str]] = []  # noqa: RUF012 - replaced, never changed

    @classmethod
    def start(
        cls,
        model: Model,
        t0: Any,
        initial: Any,
        parameters: Any,
        inputs: Any,
        method: str,
        options: dict[str, Any],
    ) -> Stepper:
        """Make a stepper at `t0`; see `Model.stepper`."""
        begin = arguments.number("t0", t0)
        x0, p, controls = model._prepare(begin, initial, parameters, inputs, smallest(options["atol"]))
        return cls(model, begin, x0, p, controls, arguments.text("method", method), options)

    def advance(self, t: float) -> Any:
        """Integrate to time t, forward or without contacts backward too, and return the state there, shape (n,).

        Raises `KernelError` with the time where the run fails: `t` and `y` are then the last point reached;
        `ArgumentError` where t lies before `self.t` and the model has contacts.
        """
        end = arguments.number("t", t)
        if end < self.t and self.model.contacts:
            raise arguments.backward(f"t = {end:.17g}", f"t >= {self.t:.17g}")
        self.events = []
        status = self._advance(end)
        happened = self._happened()
        if happened is not None:
            causes = happened.causes.tolist()
            self.events = [
                (float(row[0]), happened.name(i)) for row, i in zip(happened.rows, causes) if i >= 0
            ]
        if status < 0:
            paradox = None if happened is None else happened.paradox
            raise KernelError(
                f"{self.model.name} {message_of(status, self.t, self.model.form, paradox)}", status
            )
        return self.y

    @property
    def modes(self) -> dict[str, str]:
        """The present mode of each contact by its name: "stick", "slip+" or "slip-"."""
        return {name: MODES[int(mode)] for name, mode in zip(self.model.contacts, self._modes)}

    def set_inputs(self, values: Any = None, /, **named: Any) -> None:
        """Change inputs from here on: by keyword, or a dict, or a vector of all of them.

        Inputs that are not named keep what they have. Each may be anything that `integrate` takes.
        """
        self._set(changed_inputs(self.inputs, values, named))

    def save(self) -> Snapshot:
        """Everything needed to go on from here, bit for bit."""
        return Snapshot(self.t, self.model.name, self.model.digest, self.method, self.inputs, self._save())

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a snapshot of this stepper, or of another one of the same model and method."""
        check_snapshot(snapshot, self.model, self.method)
        before = self.inputs
        self._attach(snapshot.inputs)
        if self._restore(snapshot.block) < 0:
            self._attach(before)
            raise ArgumentError("the snapshot does not fit this model, or is damaged")

    def __repr__(self) -> str:
        return f"<Stepper of {self.model.name} ({self.method}): t = {self.t:.6g}, {self.n_steps} steps>"
