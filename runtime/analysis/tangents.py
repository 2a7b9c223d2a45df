"""Runs of a model with tangents of its state: y(t) and S(t), dS/dt = (dF/dy) S."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import Array
from ..consistency import Accepted
from ..errors import ArgumentError
from ..sensitivities import Variation, checked
from .field import Field, refuse

if TYPE_CHECKING:
    from ..compiled_model import CompiledModel
    from ..options import RunOptions

_RANK = 1e-9
"""Gradients with singular values below this share of the largest depend on the others."""


class Tangents:
    """A model with the parameters and inputs of a run, and k tangents of its state.

    Attributes
    ----------
    y : the state at the start.
    field : the equations near the start, with their derivatives.
    """

    def __init__(
        self, model: CompiledModel, t: float, initial: Any, parameters: Any, inputs: Any, how: RunOptions
    ) -> None:
        refuse(model)
        if model.events:
            raise ArgumentError(
                f"{model.name} has events ({', '.join(model.events)}); exponents and orbits need a smooth motion"
            )
        self.model = model
        self.how = checked(model, how.checked(model))
        self.y, self.p, self.inputs = model._prepare(t, initial, parameters, inputs, self.how.smallest_atol)
        self.field = Field(model, self.point(t, self.y), "equilibrium")

    @property
    def driven(self) -> bool:
        """Whether an input is a function of the time."""
        return bool(self.inputs.signals or self.inputs.functions)

    def point(self, t: float, y: Array) -> Array:
        """v = (t, y, p, u), at which `field` can be evaluated."""
        return np.concatenate([[t], y, self.p, self.model._start(t, y, self.inputs)])

    def rates(self, t: float, y: Array) -> tuple[Array, Array]:
        """F (n,) and dF/d(t, y) (n, 1 + n)."""
        value, slopes = self.field.motion(self.point(t, y))
        return value, slopes[:, : 1 + len(y)]

    def held(self, t: float, y: Array) -> tuple[Array, Array]:
        """The constraints and the invariants of coordinates, less their values at the start, and their gradients."""
        value, slopes = self.field.closure(self.point(t, y))
        return value, slopes[:, 1 : 1 + len(y)]

    def invariants(self, t: float, y: Array) -> tuple[Array, Array]:
        """The invariants and their gradients, then the constraints that are held."""
        value, slopes = self.field.conserved(self.point(t, y))
        return value, slopes[:, 1 : 1 + len(y)]

    def flow(self, k: int, control: bool) -> Flow:
        """The flow of k tangents; with `control` their errors count in the choice of steps."""
        return Flow(self, k, control)


class Flow:
    """What a state and its tangents become from one time to another."""

    def __init__(self, of: Tangents, k: int, control: bool) -> None:
        self._inputs, self._sizes = of.inputs, np.ones(k)
        self._variation = Variation(of.model, k, control)
        seeds = np.zeros((len(of.p) + len(of.model.inputs), k))
        self._p = self._variation.vector(of.p, seeds, self._sizes)
        self._how = vars(self._variation.options(of.how))

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
    from scipy import linalg

    sizes = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.ascontiguousarray(linalg.null_space(rows / np.where(sizes > 0, sizes, 1.0), rcond=_RANK))
