"""Whether the velocities of a Kane law are rates of positions, so that T gives the equations of motion.

With D_a the derivative along X_a in space, and [X_a, X_b] = c_ab^i X_i, a velocity v = v_0 + v_a eta_a is the rate of a
position, and w = w_0 + w_a eta_a that of a rotation, iff

D_a v_b - D_b v_a = c_ab^i v_i,   D_a w_b - D_b w_a = c_ab^i w_i + w_a x w_b,   also for a = 0.

A velocity into which a rolling condition was substituted violates this.
Besides, a mass must be constant and an inertia fixed in its body, D_a J = w_a x J - J x w_a: otherwise Newton's and
Euler's equations for the momenta m v and J w differ from Lagrange's by terms in the derivatives of m and J.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..declare.given_dynamics import GivenMotion, Kane
from ..graph.differentiate import forward, partials
from ..graph.evaluate import evaluate
from ..graph.graph import Graph, Node
from ..system.checked_system import CheckedSystem
from ..system.points import good_points

_EXACT = 1e-9


def are_rates_of_positions(system: CheckedSystem, law: Kane) -> bool:
    """Whether all motions of a law are rates of positions and rotations of bodies that do not change.

    It is examined at generic points.

    They are not if a velocity has no coordinate, as the spin of a wheel whose angle was not introduced.
    """
    if any(all(n == 0 for n in field) for field in system.nodes.fields.along):
        return False
    g = system.nodes.graph.copy()
    roots = _Roots(g, system, law)
    points = good_points(system.nodes, roots.nodes, 2, g)
    return all(roots.hold(np.array(evaluate(g, roots.nodes, p), float)) for p in points)


class _Roots:
    """The nodes that the conditions need: fields, brackets, every v_a and w_a and inertia, and their derivatives."""

    def __init__(self, g: Graph, system: CheckedSystem, law: Kane) -> None:
        fields, eta = system.nodes.fields, system.nodes.eta
        self.k, self.n, self.motions = len(eta), len(fields.coordinates), law.motions
        self.brackets = fields.brackets(g)
        at_rest = dict.fromkeys(eta, g.zero)
        self.nodes: list[Node] = [*fields.components, *(n for b in self.brackets.values() for n in b)]
        every: list[Node] = []  # v_a of all motions and their axes, a = 0 last
        for m in law.motions:
            vectors = [law.nodes(system.nodes.entries, name) for name in (m.name, f"axes, {m.name}")]
            for vector in vectors:
                for column in [*partials(g, vector, eta), vector]:
                    every += g.substitute(column, at_rest)
        self.velocities = len(every)
        every += [n for m in law.motions for n in law.nodes(system.nodes.entries, f"inertia, {m.name}")]
        self.nodes += every
        for a in [*range(self.k), -1]:
            self.nodes += forward(g, every, fields.direction(a, g))

    def hold(self, values: Any) -> bool:
        """Whether the condition holds, for the values of the nodes."""
        k, n, count = self.k, self.n, len(self.motions)
        rest = (k + 1) * n
        xi = values[n:rest].reshape(k, n).T
        found = values[rest : rest + n * len(self.brackets)].reshape(-1, n)
        structure = np.zeros((k + 1, k + 1, k))
        for (a, b), bracket in zip(self.brackets, found, strict=True):
            structure[a, b] = np.linalg.lstsq(xi, bracket, rcond=None)[0]
            structure[b, a] = -structure[a, b]
            if np.abs(xi @ structure[a, b] - bracket).max() > _EXACT * (1 + np.abs(bracket).max()):
                return False  # it leaves the span: T has no equations in these velocities
        moved = values[rest + n * len(self.brackets) :].reshape(k + 2, -1)
        vectors = moved[:, : self.velocities].reshape(k + 2, count, 2, k + 1, 3)
        tensors = moved[:, self.velocities :].reshape(k + 2, count, 3, 3)
        return all(
            _integrable(m, vectors[0, i], vectors[1:, i], structure)
            and _unchanging(m, vectors[0, i], tensors[0, i], tensors[1:, i])
            for i, m in enumerate(self.motions)
        )


def _integrable(motion: GivenMotion, own: Any, slopes: Any, structure: Any) -> bool:
    """The condition on v or w; `own` has v_b and the angular velocities of the axes, `slopes` their derivatives."""
    v, axes = own
    along = slopes[:, 0] + np.cross(axes[:, None, :], v[None, :, :])  # D_a v_b
    left = along - np.swapaxes(along, 0, 1) - structure @ v[:-1]
    if motion.spin:
        left = left - np.cross(v[:, None, :], v[None, :, :])
    size = 1 + np.abs(slopes).max() + np.abs(v).max() ** 2 + np.abs(axes).max() ** 2
    return bool(np.abs(left).max() <= _EXACT * size)


def _unchanging(motion: GivenMotion, own: Any, tensor: Any, slopes: Any) -> bool:
    """The condition on a mass or an inertia in axes that turn with respect to the body."""
    v, axes = own
    relative = axes - v if motion.spin else np.zeros_like(v)
    turned = np.cross(relative[:, None, :], tensor.T[None, :, :])  # columns of J
    turned = np.swapaxes(turned, 1, 2) + turned  # w x J - J x w, for J = J^T
    size = np.abs(tensor).max() * (1 + np.abs(relative).max()) + np.abs(slopes).max()
    return bool(np.abs(slopes + turned).max() <= _EXACT * size)
