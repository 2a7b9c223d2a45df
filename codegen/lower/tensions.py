"""Accelerations of a tree of point masses in a plane by the tensions of its arms.

The force that arm j exerts on its mass is lambda_j; with arms a_j, weights w_j = 1/m_j and accelerations of the masses

    dv_j/dt = w_j (lambda_j - sum over the masses c that hang on j of lambda_c),
    dv_j/dt - dv_parent/dt = a_j deta_j/dt + (da_j/dt) eta_j,    a_j . lambda_j = Q_j.

So lambda_j is known but for its part along the normal n_j of a_j, the tension tau_j n_j. The second equation times n_j
is free of accelerations and couples only neighbouring tensions: a chain gives a tridiagonal system, which is eliminated
from both ends. The accelerations follow from the second equation times a_j.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..derive.point_tree import Link, Vector
from ..graph.differentiate import forward
from ..graph.graph import Graph, Node
from ..graph.linear import LDL


class Tensions:
    """A tree of point masses, its tensions' matrix factored."""

    def __init__(self, g: Graph, links: Sequence[Link]) -> None:
        self.graph, self.links = g, links
        self.normals: list[Vector] = [(g.neg(link.arm[1]), link.arm[0]) for link in links]
        self.couplings = self._couplings()
        self.order = _order(self.couplings)
        matrix = [[self._entry(i, j) for j in self.order[: k + 1]] for k, i in enumerate(self.order)]
        self.factors = LDL(g, matrix)

    def _couplings(self) -> list[dict[int, Node]]:
        """For each arm j the numbers c_k, by k, in dv_j/dt - dv_parent/dt = sum over k of c_k lambda_k."""
        g, links = self.graph, self.links
        weights = [g.div(g.one, link.mass) for link in links]
        found: list[dict[int, Node]] = []
        for j, link in enumerate(links):
            own = {k: g.neg(weights[j]) for k, other in enumerate(links) if other.parent == j}
            own[j] = weights[j]
            if link.parent >= 0:
                weight = weights[link.parent]
                own[link.parent] = g.neg(weight)
                for k, other in enumerate(links):
                    if other.parent == link.parent:
                        own[k] = g.add(own.get(k, g.zero), weight)
            found.append(own)
        return found

    def _entry(self, i: int, j: int) -> Node:
        """The coefficient of tension j in the equation along normal i."""
        g = self.graph
        if i == j:
            return g.mul(self.couplings[i][i], self.links[i].size)
        if j not in self.couplings[i]:
            return g.zero
        return g.mul(self.couplings[i][j], g.dot(self.normals[i], self.normals[j]))

    def checks(self) -> list[tuple[Node, Node]]:
        """Masses, squared lengths and pivots, with their limits."""
        g = self.graph
        fixed = [(n, g.zero) for link in self.links for n in (link.mass, link.size)]
        return [*fixed, *self.factors.checks()]

    def accelerations(self, flow: dict[Node, Node], eta: Sequence[Node]) -> list[Node]:
        """deta/dt along a motion, under the generalized forces of the links."""
        g, links = self.graph, self.links
        along = [g.div(link.rest, link.size) for link in links]
        forces = [
            [g.add(c, g.mul(f, a)) for c, a in zip(link.constant, link.arm, strict=True)]
            for link, f in zip(links, along, strict=True)
        ]
        apart = []  # what is known of dv_j/dt - dv_parent/dt - (da_j/dt) eta_j
        for link, own, rate in zip(links, self.couplings, eta, strict=True):
            turning = [g.mul(d, rate) for d in forward(g, link.arm, flow)]
            sums = [g.sum(g.mul(c, forces[k][axis]) for k, c in own.items()) for axis in (0, 1)]
            apart.append([g.sub(s, d) for s, d in zip(sums, turning, strict=True)])
        right = [g.neg(g.dot(self.normals[j], apart[j])) for j in self.order]
        tension = dict(zip(self.order, self.factors.solve(right), strict=True))
        found = []
        for j, link in enumerate(links):
            pulls = (
                g.mul(g.mul(c, tension[k]), g.dot(link.arm, self.normals[k]))
                for k, c in self.couplings[j].items()
                if k != j
            )
            found.append(g.div(g.add(g.dot(link.arm, apart[j]), g.sum(pulls)), link.size))
        return found


def _order(couplings: Sequence[dict[int, Node]]) -> list[int]:
    """An order of elimination with little fill-in and a short chain: leaves first, a chain from both ends."""
    left = {j: {k for k in own if k != j} for j, own in enumerate(couplings)}
    depth = dict.fromkeys(left, 0)
    order = []
    while left:
        j = min(left, key=lambda i: (len(left[i]), depth[i], i))
        order.append(j)
        neighbours = left.pop(j)
        for k in neighbours:
            left[k] = (left[k] | neighbours) - {j, k}
            depth[k] = max(depth[k], depth[j] + 1)
    return order
