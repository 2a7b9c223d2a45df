"""Whether the velocities of a Kane law are rates of positions, so that T gives the equations of motion.

With D_a the derivative along X_a in space, and [X_a, X_b] = c_ab^i X_i, a velocity v = v_0 + v_a eta_a is the rate of a
position, and w = w_0 + w_a eta_a that of a rotation, iff

D_a v_b - D_b v_a = c_ab^i v_i,   D_a w_b - D_b w_a = c_ab^i w_i + w_a x w_b,   also for a = 0.

A velocity into which a rolling condition was substituted violates this (`MATHS`: T with a constraint substituted).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.differentiate import forward, partials
from ...graph.evaluate import evaluate
from ...graph.graph import Graph, Node
from ..law import Kane, Motion
from ..points import good_points

if TYPE_CHECKING:
    from ..system import System

_EXACT = 1e-9


def are_rates_of_positions(system: System, law: Kane) -> bool:
    """Whether all motions of a law are rates of positions and rotations, at generic points.

    They are not if a velocity has no coordinate, as the spin of a wheel whose angle was not introduced.
    """
    if any(all(n == 0 for n in field) for field in system.nodes.fields.along):
        return False
    g = system.nodes.graph.copy()
    roots = _Roots(g, system, law)
    points = good_points(system, roots.nodes, 2, g)
    return all(roots.hold(np.array(evaluate(g, roots.nodes, p), float)) for p in points)


class _Roots:
    """The nodes that the condition needs: fields, brackets, and every v_a and w_a with its derivatives."""

    def __init__(self, g: Graph, system: System, law: Kane) -> None:
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
        moved = values[rest + n * len(self.brackets) :].reshape(k + 2, count, 2, k + 1, 3)
        own, slopes = moved[0], moved[1:]
        return all(self._holds(m, own[i], slopes[:, i], structure) for i, m in enumerate(self.motions))

    def _holds(self, motion: Motion, own: Any, slopes: Any, structure: Any) -> bool:
        v, axes = own
        along = slopes[:, 0] + np.cross(axes[:, None, :], v[None, :, :])  # D_a v_b
        left = along - np.swapaxes(along, 0, 1) - structure @ v[:-1]
        if motion.spin:
            left = left - np.cross(v[:, None, :], v[None, :, :])
        size = 1 + np.abs(slopes).max() + np.abs(v).max() ** 2 + np.abs(axes).max() ** 2
        return bool(np.abs(left).max() <= _EXACT * size)
