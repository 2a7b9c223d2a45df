"""A run advanced by its caller: for simulators, controllers and other hosts that own the clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from chaplygin.errors import ArgumentError

from ..core._core import LAYOUT, StepperCore
from ..interface.arguments import wide
from ..results.event_record import MODES, OPEN
from ..results.open_contacts import are_open
from .base import BaseStepper
from .snapshots import Snapshot, check_snapshot

if TYPE_CHECKING:
    from ..results.named_derivatives import NamedDerivatives


class Stepper(StepperCore, BaseStepper):
    """One integration, advanced to a time by `advance` and by a duration by `advance_by`.

    ``run.t``, ``run.y``, ``run.p`` are the time, a copy of the state (n,) and a copy of the parameters;
    ``run.parameters`` has the latter by name; ``run.nfev`` and ``run.n_steps`` count evaluations and steps. The step
    size carries over from one call to the next.

    ``run["omega"]`` is any state, declared variable, output, reaction, invariant, residual or input at ``run.t``, as
    ``sol["omega"]`` is for a whole run; ``run.evaluate()`` is a dict of all, ``run.outputs`` one of the outputs.

    `set_inputs`, `set_parameters` and `set_state` change the named quantities from here on. `save` and `restore`
    return to an earlier point, bit for bit; a stepper can be copied and pickled (with its model's path, as models are).

    `advance` applies the resets of the model's events and changes the modes of its contacts. It stops at a terminal
    event: then ``run.status`` is 1 and ``run.t`` the time of the event; the next `advance` continues from there.
    ``run.events`` lists (time, name) of the events in the last `advance`, ``run.modes`` the current modes.

    A stepper belongs to one thread at a time: a call that comes while another one is under way, from another thread, a
    signal handler or an input function, raises `BusyError`. ``run.t``, ``run["x"]`` of a state x, and counters can be
    read at any time.

    >>> from chaplygin.generated.harmonic_oscillator import model
    >>> run = model.stepper({"x": 1, "x_dot": 0}, {"m": 1, "k": 4})
    >>> snapshot = run.save()
    >>> run.advance(0.5).round(6)    # cos 1, -2 sin 1
    array([ 0.540302, -1.682942])
    >>> run.advance_by(0.5).round(6)    # cos 2, -2 sin 2
    array([-0.416147, -1.818595])
    >>> round(run["energy"], 6)
    2.0
    >>> run.restore(snapshot)
    >>> run.t
    0.0
    """

    _varied: tuple[str, ...] = ()

    __reduce__ = BaseStepper.__reduce__  # not that of the compiled base

    @property
    def sensitivity(self) -> NamedDerivatives | None:
        """None without ``sensitivities=``."""
        return None

    def set_state(self, values: Any = None, /, **named: Any) -> None:
        with self._alone:
            if not self._change(True, values, named):
                self._set_state(values, named)

    def set_parameters(self, values: Any = None, /, **named: Any) -> None:
        with self._alone:
            if not self._change(False, values, named):
                self._set_parameters(values, named)

    @property
    def modes(self) -> dict[str, str]:
        """The current mode of each contact by name: "stick", "slip+" or "slip-", or "open" without a normal force."""
        with self._alone:
            modes = self._modes()
            t, y, p, u = self._point()
        model = self.model
        if not model.contacts:
            return {}
        state, numbers = wide(y[: len(model.states)]), p[: len(model.parameters)]
        opens = are_open(model, np.array([t]), state, numbers, wide(u))[:, 0]
        named = zip(model.contacts, modes, opens)
        return {name: OPEN if none else MODES[int(mode)] for name, mode, none in named}

    def save(self) -> Snapshot:
        """Everything needed to continue from here, bit for bit."""
        model = self.model
        with self._alone:
            return Snapshot(
                self.t,
                model.name,
                model.digest,
                self.method,
                self._inputs(),
                self._save(),
                self._varied,
                LAYOUT,
            )

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a snapshot of this stepper, or of another one of the same model and method."""
        check_snapshot(Snapshot, snapshot, self, LAYOUT)
        if snapshot.inputs.names != self.model.inputs:
            raise ArgumentError("the inputs of the snapshot do not belong to this model")
        with self._alone:
            before = self._inputs()
            self._attach(snapshot.inputs)
            if self._restore(snapshot.block) < 0:
                self._attach(before)
                raise ArgumentError("the snapshot does not match this model, or is damaged")
