"""A run that its caller moves on: for simulators, controllers and other hosts that own the clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import arguments
from ._core import StepperCore
from .errors import ArgumentError, KernelError, message_of
from .inputs import Inputs, parse

if TYPE_CHECKING:
    from .model import Model

__all__ = ["Snapshot", "Stepper"]


@dataclass(frozen=True)
class Snapshot:
    """The whole state of a stepper at `t`: state, step control, counters, inputs. Made by `Stepper.save`."""

    t: float
    model: str
    digest: str
    method: str
    inputs: Inputs
    block: bytes


class Stepper(StepperCore):
    """One integration, moved on by `advance`.

    ``run.t``, ``run.y``, ``run.p`` are the time, a copy of the state (n,) and of the parameters; ``run.nfev`` and
    ``run.n_steps`` count. The step length carries over from one `advance` to the next.

    >>> run = model.stepper({"x": 1, "v": 0}, {"m": 1, "k": 4})    # doctest: +SKIP
    >>> run.advance(0.5)                                           # doctest: +SKIP
    """

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
        x0, p, controls = model._prepare(begin, initial, parameters, inputs)
        return cls(model, begin, x0, p, controls, arguments.text("method", method), options)

    def advance(self, t: float) -> Any:
        """Integrate to time t, forward or backward, and return the state there, shape (n,).

        Raises `KernelError` with the time where the run fails: `t` and `y` are then the last point reached.
        """
        status = self._advance(arguments.number("t", t))
        if status < 0:
            raise KernelError(f"{self.model.name} {message_of(status, self.t)}", status)
        return self.y

    def set_inputs(self, values: Any = None, /, **named: Any) -> None:
        """Change inputs from here on: by keyword, or a dict, or a vector of all of them.

        Inputs that are not named keep what they have. Each may be anything that `integrate` takes.
        """
        names = self.model.inputs
        if values is not None and not hasattr(values, "keys"):
            if named:
                raise ArgumentError("set_inputs takes a vector or names, not both")
            self._set(parse(values, names))
            return
        changed = arguments.by_name("inputs", {} if values is None else values) | named
        unknown = [name for name in changed if name not in names]
        if unknown:
            arguments.check_names("inputs", unknown, names)
        part = parse(changed, tuple(name for name in names if name in changed))
        before = self.inputs
        numbers = before.values.copy()
        signals, functions = dict(before.signals), dict(before.functions)
        for position, name in enumerate(part.names):
            index = names.index(name)
            signals.pop(index, None)
            functions.pop(index, None)
            numbers[index] = part.values[position]
            if position in part.signals:
                signals[index] = part.signals[position]
            if position in part.functions:
                functions[index] = part.functions[position]
        self._set(Inputs(names, numbers, signals, functions))

    def save(self) -> Snapshot:
        """Everything needed to go on from here, bit for bit."""
        return Snapshot(self.t, self.model.name, self.model.digest, self.method, self.inputs, self._save())

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a snapshot of this stepper, or of another one of the same model and method."""
        if not isinstance(snapshot, Snapshot):
            raise ArgumentError(f"restore needs what save returned, not {type(snapshot).__name__}")
        mine = (self.model.name, self.model.digest, self.method)
        if (snapshot.model, snapshot.digest, snapshot.method) != mine:
            raise ArgumentError("the snapshot is of another model or method")
        if self._restore(snapshot.block) < 0:
            raise ArgumentError("the snapshot does not fit this model")
        self._attach(snapshot.inputs)

    def __repr__(self) -> str:
        return f"<Stepper of {self.model.name} ({self.method}): t = {self.t:.6g}, {self.n_steps} steps>"
