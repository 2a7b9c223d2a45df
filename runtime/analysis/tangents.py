"""Runs of a model with tangents of its state: y(t) and S(t), dS/dt = (dF/dy) S."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from chaplygin._lazy import later
from chaplygin.errors import ArgumentError

from ..interface.arguments import Array
from ..model.compiled_model import CompiledModel
from ..model.derivatives import derivatives
from ..problem.consistency import Accepted, Accuracy
from ..problem.input_functions import InputFunction
from ..problem.inputs import Inputs
from ..problem.options import RunOptions
from ..sensitivities.differences import gradient
from ..sensitivities.variation import Variation, checked
from .field import Field, refuse

scipy = later("scipy")

_RTOL = 1e-12
"""The least relative tolerance that says what size of a state its absolute tolerance stands for."""
_OTHER_TIMES = (0.0, 0.137, -0.291, 0.618, 2.719, -7.853, 31.7)
"""Times, in spans from a time, at which it is seen whether an input depends on it."""
_RANK = 1e-9
"""Gradients with singular values below this share of the largest depend on the others."""


class Tangents:
    """A model with the parameters and inputs of a run, and k tangents of its state.

    Attributes
    ----------
    y : the state at the start.
    field : the equations near the start, with their derivatives.
    fed : the inputs that are functions of the state, by index; their derivatives are differences.
    """

    def __init__(
        self, model: CompiledModel, t: float, initial: Any, parameters: Any, inputs: Any, how: RunOptions
    ) -> None:
        refuse(model)
        self.model = model
        self.how = checked(model, how.checked(model))
        self.y, self.p, self.inputs = model._prepare(
            t, initial, parameters, inputs, Accuracy.of(model, self.how)
        )
        self.inputs = self.inputs.since(t)
        self.field = Field(model, self.point(t, self.y), "equilibrium")
        self.fed = {i: f for i, f in self.inputs.functions.items() if f.takes_state}
        if self.fed and model.events:
            raise ArgumentError(
                f"{model.name} has events ({', '.join(model.events)}), and the input {self.differences[0]} is a "
                "function of the state: write its law in `forces`"
            )
        rtol, atol = self.how.tolerances(model.states)
        self._sizes = atol / max(rtol, _RTOL) if rtol > 0 else np.ones(len(self.y))

    @property
    def differences(self) -> tuple[str, ...]:
        """The names of the inputs whose derivatives by the state are differences."""
        return tuple(self.model.inputs[i] for i in self.fed)

    def driven(self, times: Array, y: Array) -> bool:
        """Whether an input depends on the time, as far as can be seen at times (m,) in states (n, m)."""
        functions = self.inputs.functions
        if self.inputs.signals or len(self.fed) < len(functions):
            return True
        spread = times[:, None] + (times[-1] - times[0]) * np.array(_OTHER_TIMES)
        return any(
            self.inputs.number(i, t, f(t, state.copy()))
            != self.inputs.number(i, other, f(other, state.copy()))
            for i, f in self.fed.items()
            for t, others, state in zip(times.tolist(), spread.tolist(), y.T, strict=True)
            for other in others
        )

    def gradients(self, t: float, y: Array) -> Array:
        """The derivatives (inputs, n) of the inputs by the state."""
        found = np.zeros((len(self.model.inputs), len(y)))
        for i, f in self.fed.items():

            def value(near: Array, i: int = i, f: InputFunction = f) -> float:
                return self.inputs.number(i, t, f(t, near))

            found[i], jumps = gradient(value, y, self._sizes)
            if jumps is not None:
                raise ArgumentError(
                    f"the input {self.model.inputs[i]} jumps along {self.model.states[jumps]} at t = {t:g}, where a "
                    "function of the state has no derivative: write its law in `forces`, where the run finds jumps"
                )
        return found

    def point(self, t: float, y: Array, sampled: float | None = None) -> Array:
        """v = (t, y, p, u), at which `field` can be evaluated; samples are those at `sampled`, by default at t."""
        u = self.inputs.first(t, y)
        if sampled is not None:
            for i, signal in self.inputs.signals.items():
                u[i] = signal.at(np.array([sampled]))[0]
        return np.concatenate([[t], y, self.p, u])

    def rates(self, t: float, y: Array, sampled: float | None = None) -> tuple[Array, Array]:
        """F (n,) and dF/d(t, y) (n, 1 + n), with what inputs add that are functions of the state."""
        value, slopes = self.field.motion(self.point(t, y, sampled))
        found = slopes[:, : 1 + len(y)].copy()
        if self.fed:
            found[:, 1:] += slopes[:, -len(self.model.inputs) :] @ self.gradients(t, y)
        return value, found

    def at_events(self, t: float, y: Array) -> tuple[Array, Array]:
        """The guards of the events, whether their conditions hold, and by what resets change the state.

        With derivatives by (t, y).
        """
        model, n, v = self.model, 1 + len(y), self.point(t, y)
        if not model.events:
            return np.empty(0), np.empty((0, n))
        of = derivatives(model).value_and_jacobian
        value, slopes = (part[: len(model.events)] for part in of("guards", v))
        still = np.eye(n)[1:]
        after = [of(f"reset_{i}", v) for i in model._resets]
        u = v[len(v) - len(model.inputs) :]
        allowed = model.call("when", t, y, self.p, u) if "when" in model.kernels else np.empty(0)
        moves = [moved[:, :n] - still for _, moved in after]
        return (
            np.concatenate([value, *(there - y for there, _ in after), allowed]),
            np.concatenate([slopes[:, :n], *moves, np.zeros((len(allowed), n))]),
        )

    def held(self, t: float, y: Array) -> tuple[Array, Array]:
        """The constraints and the invariants of coordinates, less their values at the start, and their gradients."""
        value, slopes = self.field.closure(self.point(t, y))
        return value, slopes[:, 1 : 1 + len(y)]

    def invariants(self, t: float, y: Array) -> tuple[Array, Array]:
        """The invariants and their gradients, then the constraints that are held."""
        value, slopes = self.field.conserved(self.point(t, y))
        return value, slopes[:, 1 : 1 + len(y)]

    def flow(self, k: int, control: bool) -> TangentFlow:
        """The flow of k tangents; with `control` their errors count in the choice of steps."""
        return TangentFlow(self, k, control)


class TangentFlow:
    """What a state and its tangents become from one time to another."""

    def __init__(self, of: Tangents, k: int, control: bool) -> None:
        self._of, self._sizes = of, np.ones(k)
        self._variation = Variation(of.model, k, control, bool(of.fed))
        seeds = np.zeros((len(of.p) + len(of.model.inputs), k))
        self._p = self._variation.vector(of.p, seeds, self._sizes)
        self._how = vars(self._variation.options(of.how))
        self._inputs = self._varied_inputs() if of.inputs.functions else of.inputs
        self._last: tuple[float, bytes, Array] | None = None

    def _varied_inputs(self) -> Inputs:
        """The inputs of the larger model: functions of the model's own states, and what they change along tangents."""
        of, variation, n = self._of, self._variation, len(self._of.y)
        names = variation.model.inputs
        functions = {}
        for i, f in of.inputs.functions.items():

            def value(t: float, y: Array, f: InputFunction = f) -> Any:
                return f(t, y[:n])

            functions[i] = InputFunction(names[i], value)
        for i in of.fed:
            for j in range(variation.count):

                def along(t: float, y: Array, i: int = i, j: int = j) -> float:
                    return float(
                        self._gradients(t, y[:n])[i]
                        @ variation.tangents(y[:, None], self._sizes[:, None])[:, j, 0]
                    )

                place = variation.place_of_input(i, j)
                functions[place] = InputFunction(names[place], along)
        values = np.zeros(len(names))
        values[: len(of.inputs.values)] = of.inputs.values
        flags = (*of.inputs.flags, *(0 for _ in names[len(of.inputs.flags) :])) if of.inputs.flags else ()
        return Inputs(names, values, of.inputs.signals, functions, flags)

    def _gradients(self, t: float, y: Array) -> Array:
        """Those of the inputs by the state, the same for every tangent."""
        last, key = self._last, y.tobytes()
        if last is None or last[:2] != (t, key):
            self._last = last = t, key, self._of.gradients(t, y)
        return last[2]

    def __call__(self, t0: float, t1: float, y: Array, tangents: Array) -> tuple[Array, Array]:
        """y(t1) (n,) and the tangents at t1 (n, k). Raises `ArgumentError` if the run ends early."""
        state = Accepted(self._variation.state(y, tangents, self._sizes))
        run = self._variation.model.integrate(
            (t0, t1), state, self._p, self._inputs, t_eval=[t1], **self._how
        )
        if run.status != 0:
            raise ArgumentError(f"the run that starts at t = {t0:g} ended early: {run.message}")
        return run.y[: len(y), -1], self._variation.tangents(run.y[:, -1], self._sizes)


def null_space(rows: Array) -> Array:
    """An orthonormal basis (n, n - rank) of the vectors that are orthogonal to rows (m, n)."""
    if not len(rows):
        return np.eye(rows.shape[1])

    sizes = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.ascontiguousarray(scipy.linalg.null_space(rows / np.where(sizes > 0, sizes, 1.0), rcond=_RANK))


def said_of(differences: Sequence[str]) -> str:
    """What a result says of the inputs whose derivatives are differences."""
    return f"; {', '.join(differences)} differentiated by differences" if differences else ""
