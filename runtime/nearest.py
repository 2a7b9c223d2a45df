"""The start nearest to one that is off the constraints, and the derivative of that move.

Where equations keep holonomic constraints as rates only, the kernel `correction` is one step x <- x + c(t, x, p, u) of
Newton's method onto them: of all moves that make them hold to first order, the smallest in the metric of the kinetic
energy. Its derivative at a state that satisfies them is that of the nearest such state; the second step is for the
velocities, which the first one brings back at the coordinates before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .arguments import Array
from .consistent import Constraints
from .derivatives import derivatives
from .errors import UNCLOSED, KernelError

_STEPS = 50
_CLOSE = 1e-13
"""A step of this size relative to the state changes nothing any more."""
_NEAR = 1e-9
"""One that is smaller than this may be one of rounding errors, if steps do not become smaller."""


def constrained(model: Any) -> bool:
    """Whether the states of a model can be off constraints that it moves them back to."""
    return "correction" in model._entries


def nearest(model: Any, t: float, x: Array, p: Array, u: Array) -> tuple[Array, list[Array]]:
    """The state on the constraints that Newton's method finds from x (n,), and the states that it went through.

    Raises `KernelError` if it finds none.
    """
    points, last = [x], np.inf
    for _ in range(_STEPS):
        move = model._columns("correction", np.array([t]), *(a[:, None] for a in (x, p, u)), None)[:, 0]
        x = x + move
        size = float((np.abs(move) / (1.0 + np.abs(x))).max())
        if size <= _CLOSE or (size <= _NEAR and size >= last):
            return x, points
        points.append(x)
        last = size
    raise KernelError(
        f"initial: no start near the given one satisfies the constraints of {model.name} with these parameters",
        UNCLOSED,
    )


def on_constraints(x: Array) -> list[Array]:
    """The states to differentiate the move at, if x is on the constraints."""
    return [x, x]


def moved_tangents(
    model: Any, t: float, points: Sequence[Array], p: Array, u: Array, y: Array, seeds: Array
) -> Array:
    """The derivatives (n, k) of a start that was moved through `points`, for those before it and of p and u."""
    zero = np.zeros((1, y.shape[1]))
    for x in points:
        y = y + derivatives(model).along("correction", t, x, p, u, np.concatenate([zero, y, seeds]))
    return y


def moved_weights(
    model: Any, t: float, points: Sequence[Array], p: Array, u: Array, by_x: Array
) -> tuple[Array, Array, Array]:
    """The derivatives of a function of the moved start by the start before, and what to add to those by p and u."""
    by_p, by_u = np.zeros(len(p)), np.zeros(len(model.inputs))
    for x in reversed(points):
        found = derivatives(model).adjoint("correction", t, x, p, u, by_x)
        _, more, of_p, of_u = np.split(found, np.cumsum([1, len(x), len(p)]))
        by_x, by_p, by_u = by_x + more, by_p + of_p, by_u + of_u
    return by_x, by_p, by_u


class GivenVelocities:
    """Of equations in independent velocities, the derivative of a start for which every declared velocity is given.

    The velocities eta = Z theta + w that the constraints permit, w(x, p, u), are those nearest to the given ones in the
    metric of the kinetic energy: dtheta = G (d eta_given - dw), G = (Z^T M Z)^-1 Z^T M, as where all of eta are states.
    """

    def __init__(self, model: Any, t: float, x: Array, p: Array, u: Array) -> None:
        self._model, self._at = model, (t, x, p, u)
        self.first = model.n_coordinates
        self.names = [name for name in model.declared if model.variables[name].kind != "coordinate"]
        eta = model.evaluate(t, x, p, u)
        mass = Constraints(model, t, p, u).at(x[: self.first], np.array([eta[n] for n in self.names]))[-1]
        units = np.zeros((len(x) + len(p) + len(model.inputs), len(x) - self.first))
        units[self.first : len(x)] = np.eye(len(x) - self.first)
        across = self._along(units)
        self._from_given = np.linalg.solve(across.T @ mass @ across, across.T @ mass)

    @classmethod
    def of(cls, model: Any, given: Any, t: float, x: Array, p: Array, u: Array) -> GivenVelocities | None:
        """If `given`, values by name or None, are such a start."""
        if given is None or not constrained(model):
            return None
        velocities = [name for name in model.declared if model.variables[name].kind != "coordinate"]
        fewer = len(model.states) - model.n_coordinates < len(velocities)
        return cls(model, t, x, p, u) if fewer and given.keys() >= set(velocities) else None

    def _along(self, changes: Array) -> Array:
        """The changes (k, ...) of the declared velocities with those of the states, parameters and inputs."""
        model = self._model
        v = np.concatenate([np.zeros((1, changes.shape[1])), changes])
        rows = derivatives(model).along("outputs", *self._at, v)
        states, outputs = model.states, model.outputs
        return np.array(
            [changes[states.index(n)] if n in states else rows[outputs.index(n)] for n in self.names]
        )

    def along(self, y: Array, seeds: Array, given: Array) -> Array:
        """The derivatives (n, k) of the states, for those of the coordinates among y and of the given velocities."""
        y = y.copy()
        y[self.first :] = 0.0
        y[self.first :] = self._from_given @ (given - self._along(np.concatenate([y, seeds])))
        return y

    def back(self, by_x: Array) -> tuple[Array, Array, Array]:
        """The derivatives of a function of the start by coordinates and given velocities, and by p and u."""
        model, (_, x, p, _) = self._model, self._at
        weights = by_x[self.first :] @ self._from_given
        of_outputs = np.zeros(len(model.outputs))
        by_x = by_x.copy()
        by_x[self.first :] = 0.0
        for name, weight in zip(self.names, weights):
            if name in model.states:
                by_x[model.states.index(name)] = weight
            else:
                of_outputs[model.outputs.index(name)] = -weight
        found = derivatives(model).adjoint("outputs", *self._at, of_outputs)
        _, of_x, of_p, of_u = np.split(found, np.cumsum([1, len(x), len(p)]))
        by_x[: self.first] += of_x[: self.first]
        return by_x, of_p, of_u
