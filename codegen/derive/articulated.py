"""The articulated-body recursion in nodes: accelerations of a tree of bodies in a number of operations linear in n.

With the classical accelerations alpha of a body and a of its origin, both in body axes, and X = (R, d) to the parent,
  forward    omega = R^T omega_p + omega_r,
             c = (omega x omega_r + omega_r',  R^T (omega_p x (omega_p x d) + 2 omega_p x d' + d'')) with eta' = 0,
             p = (omega x I omega, omega x (omega x m l)) - wrench;
  backward   I^A = I + sum X_j^T I^a_j X_j,  U = I^A S,  D = S^T U,  K = U D^-1,  nu = D^-1 (Q - S^T p^A),
             I^a = I^A - K U^T,  p^a = p^A + I^a c + K (Q - S^T p^A);
  forward    (alpha, a)' = X (alpha_p, a_p) + c,  eta' = nu - K^T (alpha, a)',  (alpha, a) = (alpha, a)' + S eta'.
Gravity is an upward acceleration of space. The accelerations of origins in place of spatial ones leave out the linear
velocities.

Source: R. Featherstone, Rigid Body Dynamics Algorithms (2008), chapter 7, in the velocities declared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..graph.graph import Graph, Node
from ..graph.linear import LDL
from ..graph.vectors import Matrix, Vector, cross, minus, plus, product, times, transpose, zero
from ..mechanics.bodies import Body
from .tree import Tree, TreeLink

Screw = tuple[Vector, Vector]
"""An angular and a linear vector: (alpha, a) of a body, or a (couple, force)."""


@dataclass(frozen=True)
class Inertia:
    """(couple, force) = (J alpha + H a, H^T alpha + M a), with symmetric J and M."""

    turning: Matrix
    mixed: Matrix
    linear: Matrix

    def times(self, g: Graph, a: Screw) -> Screw:
        couple = plus(g, times(g, self.turning, a[0]), times(g, self.mixed, a[1]))
        return couple, plus(g, times(g, transpose(self.mixed), a[0]), times(g, self.linear, a[1]))

    def plus(self, g: Graph, other: Inertia) -> Inertia:
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Inertia(*(tuple(plus(g, a, b) for a, b in zip(*pair, strict=True)) for pair in pairs))

    def without(self, g: Graph, columns: Sequence[tuple[Screw, Screw]]) -> Inertia:
        """I - sum K_a U_a^T."""

        def less(m: Matrix, left: int, right: int) -> list[list[Node]]:
            return [
                [
                    g.sub(e, g.sum(g.mul(k[left][i], u[right][j]) for k, u in columns))
                    for j, e in enumerate(row)
                ]
                for i, row in enumerate(m)
            ]

        mixed = tuple(map(tuple, less(self.mixed, 0, 1)))
        return Inertia(mirrored(less(self.turning, 0, 0)), mixed, mirrored(less(self.linear, 1, 1)))

    def to_parent(self, g: Graph, r: Matrix, d: Vector) -> Inertia:
        """X^T I X."""
        turning, mixed, linear = (turned(g, r, m, i != 1) for i, m in enumerate(vars(self).values()))
        columns = transpose(linear)  # d x M by columns, and below -H D by rows: a row h times D is h x d
        moved = transpose(tuple(cross(g, d, column) for column in columns))
        both = tuple(plus(g, a, b) for a, b in zip(mixed, moved, strict=True))
        first = tuple(cross(g, row, d) for row in both)  # rows of (H + D M) D
        second = transpose(tuple(cross(g, d, row) for row in mixed))  # D H^T
        whole = [plus(g, minus(g, a, b), c) for a, b, c in zip(turning, first, second, strict=True)]
        return Inertia(mirrored(whole), both, linear)


def mirrored(m: Sequence[Sequence[Node]]) -> Matrix:
    """The symmetric matrix with this lower triangle."""
    return tuple(tuple(m[max(i, j)][min(i, j)] for j in range(3)) for i in range(3))


def turned(g: Graph, r: Matrix, m: Matrix, symmetric: bool) -> Matrix:
    """R m R^T."""
    half = product(g, r, m)
    if symmetric:
        return mirrored([[g.dot(half[i], r[j]) if j <= i else g.zero for j in range(3)] for i in range(3)])
    return tuple(tuple(g.dot(row, other) for other in r) for row in half)


def dot(g: Graph, a: Screw, b: Screw) -> Node:
    return g.add(g.dot(a[0], b[0]), g.dot(a[1], b[1]))


def combination(g: Graph, screws: Sequence[Screw], weights: Sequence[Node]) -> Screw:
    """sum of weights_a screws_a."""
    total = zero(g), zero(g)
    for screw, w in zip(screws, weights, strict=True):
        total = added(g, total, (tuple(g.mul(w, e) for e in screw[0]), tuple(g.mul(w, e) for e in screw[1])))
    return total


def added(g: Graph, a: Screw, b: Screw) -> Screw:
    return plus(g, a[0], b[0]), plus(g, a[1], b[1])


@dataclass(frozen=True)
class Joint:
    """What the backward sweep finds of a joint: S, U, K by columns, D factored, and I^a."""

    subspace: tuple[Screw, ...]
    force: tuple[Screw, ...]
    ratio: tuple[Screw, ...]
    factors: LDL
    left: Inertia


class Articulated:
    """The recursion over a tree: inertias once, then `solve` for any generalised forces.

    Raises ZeroDivisionError, with the index of the link, if a joint moves nothing that has inertia.
    """

    def __init__(self, g: Graph, tree: Tree) -> None:
        self.graph, self.tree = g, tree
        self.cells: list[tuple[Node, ...]] = []
        """What the sweeps compute of one link, in order: cells of a kernel, see `lower.roll`."""
        self._order = _there_and_back(tree.links)
        self._outward: dict[int, tuple[Node, ...]] = {}
        self._of_joint: dict[int, tuple[Node, ...]] = {}
        self.omega: list[Vector] = []
        self.bias: list[Screw] = []
        self.load: list[Screw] = []
        for i, link in enumerate(tree.links):
            self._forward(i, link)
        self.inertia = [_of_body(g, link) for link in tree.links]
        self.joints: dict[int, Joint] = {}
        for i, done in self._order:
            if done:
                self._inward(i, tree.links[i])

    @property
    def checks(self) -> list[tuple[Node, Node]]:
        """The pivots of the joints' inertias, with their limits."""
        return [pair for joint in self.joints.values() for pair in joint.factors.checks()]

    def _forward(self, i: int, link: TreeLink) -> None:
        """omega, c and p of a link."""
        g = self.graph
        space = link.parent < 0
        above = zero(g) if space else self.omega[link.parent]
        back = transpose(link.rotation)
        omega = plus(g, times(g, back, above), link.spin)
        twice = tuple(g.mul(g.two, e) for e in cross(g, above, link.slide))
        carried = plus(g, cross(g, above, cross(g, above, link.arm)), plus(g, twice, link.slide_rate))
        turning = plus(g, cross(g, omega, link.spin), link.spin_rate)
        couple = cross(g, omega, times(g, link.inertia, omega))
        force = cross(g, omega, cross(g, omega, link.moment))
        if i in self.tree.wrenches:
            couple, force = (minus(g, a, b) for a, b in zip((couple, force), self.tree.wrenches[i]))
        self.omega.append(omega)
        self.bias.append((turning, times(g, back, carried)))
        self.load.append((couple, force))
        pose = (*(n for row in link.rotation for n in row), *link.arm)
        self._outward[i] = (*pose, *omega, *_flat(self.bias[i]), *_flat(self.load[i]))

    def _inward(self, i: int, link: TreeLink) -> None:
        """S, U, D, K and I^a of a joint, and I^A of the parent."""
        g, inertia = self.graph, self.inertia[i]
        back = transpose(link.rotation)
        subspace = tuple(
            (turn, times(g, back, slide)) for turn, slide in zip(link.turns, link.slides, strict=True)
        )
        force = tuple(inertia.times(g, s) for s in subspace)
        matrix = [[dot(g, s, u) for u in force[: a + 1]] for a, s in enumerate(subspace)]
        for a, v in enumerate(link.velocities):
            for b, w in enumerate(link.velocities[: a + 1]):
                own = self.tree.inertias.get((max(v, w), min(v, w)), g.zero)
                matrix[a][b] = g.add(matrix[a][b], own)
            if matrix[a][a] == g.zero:
                raise ZeroDivisionError(i)
        factors = LDL(g, matrix)
        ratio = _ratios(g, factors, matrix, force)
        left = inertia.without(g, list(zip(ratio, force, strict=True)))
        self.joints[i] = Joint(subspace, force, ratio, factors, left)
        found = [n for pair in factors.checks() for n in pair] + [n for k in ratio for n in _flat(k)]
        if link.parent >= 0:
            moved = left.to_parent(g, link.rotation, link.arm)
            self.inertia[link.parent] = self.inertia[link.parent].plus(g, moved)
            found += [n for m in vars(self.inertia[link.parent]).values() for row in m for n in row]
        self._of_joint[i] = tuple(found)

    def solve(
        self, forces: Sequence[Node], moving: bool = True
    ) -> tuple[list[Node], list[Screw], list[Screw]]:
        """eta' for generalised forces; then (alpha, a) and p^A of each link.

        Without `moving` the bodies are at rest and free of other forces: eta' is M^-1 Q.
        """
        g, links = self.graph, self.tree.links
        still = zero(g), zero(g)
        load = list(self.load) if moving else [still] * len(links)
        gain: dict[int, list[Node]] = {}
        for i, done in self._order:
            if not done:
                self.cells.append(self._outward.pop(i, ()))
                continue
            link, joint = links[i], self.joints[i]
            rest = [g.sub(forces[a], dot(g, s, load[i])) for a, s in zip(link.velocities, joint.subspace)]
            gain[i] = joint.factors.solve(rest)
            if link.parent >= 0:
                passed = added(g, load[i], combination(g, joint.ratio, rest))
                if moving:
                    passed = added(g, passed, joint.left.times(g, self.bias[i]))
                force = times(g, link.rotation, passed[1])
                couple = plus(g, times(g, link.rotation, passed[0]), cross(g, link.arm, force))
                load[link.parent] = added(g, load[link.parent], (couple, force))
            passed_on = _flat(load[link.parent]) if link.parent >= 0 else ()
            self.cells.append((*self._of_joint.pop(i, ()), *gain[i], *passed_on))
        upward = tuple(map(g.neg, self.tree.gravity)) if moving else zero(g)
        found: dict[int, Node] = {}
        motion: list[Screw] = []
        for i, link in enumerate(links):
            above = (zero(g), upward) if link.parent < 0 else motion[link.parent]
            back = transpose(link.rotation)
            linear = plus(g, above[1], cross(g, above[0], link.arm))
            own = times(g, back, above[0]), times(g, back, linear)
            own = added(g, own, self.bias[i]) if moving else own
            joint = self.joints[i]
            rates = [g.sub(v, dot(g, k, own)) for v, k in zip(gain[i], joint.ratio, strict=True)]
            found.update(zip(link.velocities, rates, strict=True))
            motion.append(added(g, own, combination(g, joint.subspace, rates)))
            self.cells.append((*rates, *_flat(motion[i])))
        return [found[a] for a in range(len(forces))], motion, load

    def transmitted(self, body: Body, motion: Sequence[Screw], load: Sequence[Screw]) -> Screw:
        """The couple and force of the parent on a body at its origin, I^A (alpha, a) + p^A, in body axes."""
        i = next(i for i, link in enumerate(self.tree.links) if link.body is body)
        return added(self.graph, self.inertia[i].times(self.graph, motion[i]), load[i])


def _there_and_back(links: Sequence[TreeLink]) -> list[tuple[int, bool]]:
    """The links branch by branch, each twice: before what it carries and, True, after that.

    So what a cell passes on is read soon, while it is in the first cache.
    """
    below: dict[int, list[tuple[int, bool]]] = {}
    for i, link in enumerate(links):
        below.setdefault(link.parent, []).append((i, False))
    order, left = [], below.get(-1, [])
    while left:
        i, done = left.pop()
        order.append((i, done))
        if not done:
            left += [(i, True), *below.get(i, ())]
    return order


def _flat(screw: Screw) -> tuple[Node, ...]:
    return *screw[0], *screw[1]


def _of_body(g: Graph, link: TreeLink) -> Inertia:
    """[[I, m l x], [-m l x, m]] about the origin."""
    x, y, z = link.moment
    mixed = (g.zero, g.neg(z), y), (z, g.zero, g.neg(x)), (g.neg(y), x, g.zero)
    linear = tuple(tuple(link.mass if i == j else g.zero for j in range(3)) for i in range(3))
    return Inertia(mirrored(link.inertia), mixed, linear)


def _ratios(
    g: Graph, factors: LDL, matrix: Sequence[Sequence[Node]], force: Sequence[Screw]
) -> tuple[Screw, ...]:
    """K = U D^-1 by columns. A row of U that is a row of D gives a row of the unit matrix, exactly."""
    k = len(force)
    rows = []
    for part in (0, 1):
        for i in range(3):
            row = [u[part][i] for u in force]
            same = next(
                (a for a in range(k) if row == [matrix[max(a, b)][min(a, b)] for b in range(k)]), None
            )
            unit = [g.one if a == same else g.zero for a in range(k)]
            rows.append(unit if same is not None else factors.solve(row))
    columns = [tuple(row[a] for row in rows) for a in range(k)]
    return tuple((c[:3], c[3:]) for c in columns)
