"""Accelerations of a tree of point masses in a plane by the tensions of its arms.

The force that arm j exerts on its mass is lambda_j; with arms a_j, weights w_j = 1/m_j and accelerations of the masses

    dv_j/dt = w_j (lambda_j - sum over the masses c that hang on j of lambda_c),
    dv_j/dt - dv_parent/dt = a_j deta_j/dt + (da_j/dt) eta_j,    a_j . lambda_j = Q_j.

So lambda_j is known but for its part along the normal n_j of a_j, the tension tau_j n_j. The second equation times n_j
is free of accelerations and couples only neighbouring tensions: a chain gives a tridiagonal system, which is eliminated
from both ends. The accelerations follow from the second equation times a_j.

Products of arms are sines and cosines, of the angles between arms or of the angles of both. The angles between them are
as many as the angles in a chain whose forces cancel, and shorter to compute with.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from ..derive.point_mass_tree import PointMassLink, Vector
from ..graph.differentiate import forward
from ..graph.graph import Graph, Node
from ..graph.linear import LDL
from ..identities.rational import vanishes


class Tensions:
    """A tree of point masses, its tensions' matrix factored; with `between`, in the angles between arms.

    Attributes
    ----------
    order : the arms in the order of elimination.
    factors : the matrix in that order, factored.
    """

    def __init__(self, g: Graph, links: Sequence[PointMassLink], between: bool = False) -> None:
        self.graph, self.links, self.between = g, links, between
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
        return g.mul(self.couplings[i][j], self._along(i, j))

    def _along(self, i: int, j: int) -> Node:
        """a_i . a_j, which is n_i . n_j."""
        g, links = self.graph, self.links
        if i == j:
            return links[i].size
        one, other = links[i].polar, links[j].polar
        if self.between and one and other and one.sine_first == other.sine_first:
            first, second = (g.mul(one.lengths[k], other.lengths[k]) for k in (0, 1))
            if first == second:
                return g.mul(first, g.call("cos", self._angle(i, j)))
        return g.dot(links[i].arm, links[j].arm)

    def _across(self, i: int, j: int) -> Node:
        """n_i . a_j, which is -a_i . n_j."""
        g, links = self.graph, self.links
        if i == j:
            return g.zero
        one, other = links[i].polar, links[j].polar
        if self.between and one and other and one.sine_first == other.sine_first:
            product, opposite = (g.mul(one.lengths[k], other.lengths[1 - k]) for k in (0, 1))
            if product == opposite:
                sine = g.mul(product, g.call("sin", self._angle(i, j)))
                return sine if (i < j) != one.sine_first else g.neg(sine)
        return g.dot(self.normals[i], links[j].arm)

    def _angle(self, i: int, j: int) -> Node:
        """From the angle of the earlier of two arms to that of the later."""
        before, after = (self.links[k].polar for k in sorted((i, j)))
        assert before is not None
        assert after is not None
        return self.graph.sub(after.angle, before.angle)

    def checks(self) -> list[tuple[Node, Node]]:
        """Masses, squared lengths and pivots, with their limits.

        Where arms have constant lengths and each is coupled to fewer of those left than two when it is eliminated, a
        pivot is the smaller the straighter the arms are: those of straight arms are checked, once per parameter set.
        """
        g = self.graph
        fixed = [(n, g.zero) for link in self.links for n in (link.mass, link.size)]
        return [*fixed, *(self._straight() or self.factors).checks()]

    def _straight(self) -> LDL | None:
        """The matrix for arms in a line, factored."""
        g, n = self.graph, len(self.links)
        polars = [self.links[i].polar for i in self.order]
        chained = all(sum(row[j] != g.zero for row in self.factors.scaled[j + 1 :]) <= 1 for j in range(n))
        if not chained or any(polar is None for polar in polars):
            return None
        lengths = [polar.lengths[0] for polar in polars if polar is not None]
        matrix = [
            [
                g.mul(self.couplings[i].get(j, g.zero), g.mul(lengths[a], lengths[b]))
                for b, j in enumerate(self.order[: a + 1])
            ]
            for a, i in enumerate(self.order)
        ]
        return LDL(g, matrix)

    def accelerations(self, flow: dict[Node, Node], eta: Sequence[Node]) -> list[Node]:
        """deta/dt along a motion, under the generalized forces of the links."""
        g, links = self.graph, self.links
        known = [self._known(j, flow, rate) for j, rate in enumerate(eta)]
        tension = dict(zip(self.order, self._solved([g.neg(known[j][1]) for j in self.order]), strict=True))
        found = []
        for j, (link, own) in enumerate(zip(links, self.couplings, strict=True)):
            pulls = (g.neg(g.mul(g.mul(c, tension[k]), self._across(j, k))) for k, c in own.items() if k != j)
            found.append(g.div(g.add(known[j][0], g.sum(pulls)), link.size))
        return found

    def _known(self, j: int, flow: dict[Node, Node], rate: Node) -> tuple[Node, Node]:
        """What is known of dv_j/dt - dv_parent/dt - (da_j/dt) eta_j, along a_j and along n_j."""
        g, own, link, normal = self.graph, self.couplings[j], self.links[j], self.normals[j]
        constant = [g.sum(g.mul(c, self.links[k].constant[axis]) for k, c in own.items()) for axis in (0, 1)]
        constant = [g.zero if vanishes(g, node) else node for node in constant]
        pushes = {k: g.mul(c, g.div(self.links[k].rest, self.links[k].size)) for k, c in own.items()}
        if link.polar is None:
            turning = [g.mul(d, rate) for d in forward(g, link.arm, flow)]
            outward, sideways = g.dot(link.arm, turning), g.dot(normal, turning)
        else:
            (turn,) = forward(g, [link.polar.angle], flow)
            size = g.mul(g.mul(*link.polar.lengths), g.mul(turn, rate))
            outward, sideways = g.zero, g.neg(size) if link.polar.sine_first else size
        along = g.sum(g.mul(push, self._along(j, k)) for k, push in pushes.items())
        across = g.sum(g.mul(push, self._across(j, k)) for k, push in pushes.items())
        return (
            g.sub(g.add(g.dot(link.arm, constant), along), outward),
            g.sub(g.add(g.dot(normal, constant), across), sideways),
        )

    def _solved(self, right: Sequence[Node]) -> list[Node]:
        """The tensions in the order of elimination.

        The last pivot and what is divided by it are multiplied by the pivots that they contain quotients by, if there
        are one or two that move, so that one quotient need not wait for the others.
        """
        g, factors = self.graph, self.factors
        n, y, scaled = len(right), factors.forward(right[:-1]), factors.scaled[-1]
        moving = [k for k in range(n - 1) if scaled[k] != g.zero and factors.pivots[k] != factors.diagonal[k]]
        if not 0 < len(moving) <= 2:
            return factors.solve(right)
        still = [k for k in range(n - 1) if k not in moving]
        row = factors.lower[-1]
        all_pivots = reduce(g.mul, (factors.pivots[k] for k in moving))
        pivot = g.sub(factors.diagonal[-1], g.sum(g.mul(row[k], scaled[k]) for k in still))
        value = g.sub(right[-1], g.sum(g.mul(row[k], y[k]) for k in still))
        pivot, value = g.mul(pivot, all_pivots), g.mul(value, all_pivots)
        for k in moving:
            others = g.mul(scaled[k], reduce(g.mul, (factors.pivots[j] for j in moving if j != k), g.one))
            pivot, value = g.sub(pivot, g.mul(others, scaled[k])), g.sub(value, g.mul(others, y[k]))
        quotients = [g.div(v, d) for v, d in zip(y, factors.pivots[:-1], strict=True)]
        return factors.backward([*quotients, g.div(value, pivot)])


def shortest(
    g: Graph, links: Sequence[PointMassLink], flow: dict[Node, Node], eta: Sequence[Node]
) -> tuple[Tensions, list[Node]]:
    """The tensions with the fewer angles of which sines are needed, and the accelerations."""
    both = [
        (tensions, tensions.accelerations(flow, eta))
        for tensions in (Tensions(g, links, True), Tensions(g, links))
    ]
    return min(
        both, key=lambda found: len({g.args[n] for n in g.reachable(found[1]) if g.op[n] in ("sin", "cos")})
    )


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
