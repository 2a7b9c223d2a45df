"""Velocities that are computed from momenta by a loop, for forms whose states are momenta."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..graph.differentiate import forward
from ..graph.graph import Graph, Node


@dataclass(frozen=True)
class Implicit:
    """Velocities eta that a loop computes from momenta y: M eta = y - p_0, with p = M eta + p_0 = dL/d eta.

    The rates and forces of the equations contain eta as the symbols `unknown`. `mass` is the lower triangle of M,
    `right` is y - p_0, `momenta` is p as a function of eta.
    """

    mass: tuple[tuple[Node, ...], ...]
    right: tuple[Node, ...]
    unknown: tuple[Node, ...]
    momenta: tuple[Node, ...]

    def accelerations(
        self, g: Graph, force: Sequence[Node], flow: Mapping[Node, Node]
    ) -> tuple[list[Node], list[Node]]:
        """M and f of M d eta/dt = f: the lower triangle by rows, and dy/dt minus the rate of p at fixed eta."""
        bias = forward(g, self.momenta, flow)
        return [n for row in self.mass for n in row], [g.sub(f, b) for f, b in zip(force, bias, strict=True)]
