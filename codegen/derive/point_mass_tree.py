"""Point masses in a plane whose velocities follow one from another: found in the kinetic energy, as the user wrote it.

T = sum_j m_j |v_j|^2 / 2 with v_j = v_parent + arm_j eta_j: one velocity eta_j and one vector arm_j(t, x) for each
mass. A chain of rods in absolute angles is of this kind, and so is a mobile.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ..graph.differentiate import forward, gradient, partials
from ..graph.graph import Graph, Node
from .equation_nodes import EquationNodes

Vector = tuple[Node, Node]


@dataclass(frozen=True)
class Polar:
    """An arm of constant length: `lengths`, equal but for their signs, times the sine and the cosine of an angle or,
    unless `sine_first`, times its cosine and its sine."""

    angle: Node
    lengths: Vector
    sine_first: bool


@dataclass(frozen=True)
class PointMassLink:
    """One mass: the index of the mass that its own hangs on (-1 for the fixed point), m, and the arm between them.

    `size` is the square of the arm's length, and `polar` the arm by its angle, if it turns by one. The link's
    generalized force is arm . constant + rest: a weight, say, is the same vector wherever the arm points.
    """

    parent: int
    mass: Node
    arm: Vector
    size: Node
    polar: Polar | None
    constant: Vector
    rest: Node


def point_tree(eqs: EquationNodes) -> tuple[PointMassLink, ...]:
    """The mass that each velocity moves first, in the order of the velocities; empty if T is not of this kind.

    The velocities have to be the coordinate rates, without constraints, and the masses positive by declaration.
    """
    system, g = eqs.system, eqs.graph
    nodes, eta = system.nodes, system.nodes.eta
    if (
        system.constraints
        or system.contacts
        or eqs.implicit is not None
        or eqs.rates != eta
        or eqs.velocity_nodes != eta
        or g.depends_on([nodes.potential], eta)
    ):
        return ()
    varying = {*eqs.state_nodes, eqs.independent_node, *(g.symbol(u.name) for u in system.inputs)}
    found = _arms(g, _squares(g, nodes.kinetic, varying), eta)
    if found is None or not all(view.is_positive for view in eqs.view([mass for _, mass, _ in found])):
        return ()
    slopes = gradient(g, nodes.potential, eqs.coordinate_nodes)
    links = []
    for (parent, mass, arm), slope, force in zip(found, slopes, nodes.forces, strict=True):
        constant, rest = _along(g, g.sub(force, slope), arm, varying)
        polar = _polar(g, arm, varying)
        size = g.dot(arm, arm) if polar is None else g.mul(polar.lengths[0], polar.lengths[0])
        links.append(PointMassLink(parent, mass, arm, size, polar, constant, rest))
    return tuple(links)


def _squares(g: Graph, total: Node, varying: set[Node]) -> list[tuple[Node, Node]] | None:
    """(c, w) for each term c w^2 of a sum, with c constant along a motion; None if there are other terms."""
    found: list[tuple[Node, Node]] = []
    left = [(g.one, total)]
    while left:
        factor, node = left.pop()
        args = g.args[node]
        if g.op[node] == "add":
            left += [(factor, a) for a in args]
        elif g.op[node] == "div" and not g.depends_on([args[1]], varying):
            left.append((g.div(factor, args[1]), args[0]))
        else:
            factor, root, rest = _square(g, node, factor, varying)
            if not rest:
                found.append((factor, root))
            elif root == g.one and rest != [node] and len(rest) == 1:
                left.append((factor, rest[0]))
            else:
                return None
    return found


def _square(g: Graph, node: Node, factor: Node, varying: set[Node]) -> tuple[Node, Node, list[Node]]:
    """A product times `factor` as (c, w, rest): c constant, times w^2, times the factors in the rest."""
    count: Counter[Node] = Counter()
    stack = [node]
    while stack:
        n = stack.pop()
        if g.op[n] == "mul":
            stack += g.args[n]
        else:
            count[n] += 1
    root, rest = g.one, []
    for n, times in sorted(count.items()):
        root = g.mul(root, g.integer_power(n, times // 2))
        if times % 2 and g.depends_on([n], varying):
            rest.append(n)
        elif times % 2:
            factor = g.mul(factor, n)
    return factor, root, rest


def _arms(
    g: Graph, squares: Sequence[tuple[Node, Node]] | None, eta: Sequence[Node]
) -> list[tuple[int, Node, Vector]] | None:
    """Parent, mass and arm by velocity: the squares in pairs, each pair with one velocity more than its parent's."""
    if squares is None or len(squares) != 2 * len(eta):
        return None
    columns = partials(g, [w for _, w in squares], eta)
    rest = g.substitute([w for _, w in squares], dict.fromkeys(eta, g.zero))
    if any(node != g.zero for node in rest) or g.depends_on([n for c in columns for n in c], eta):
        return None
    of_mass: dict[frozenset[int], list[int]] = {}
    for i in range(len(squares)):
        moved_by = frozenset(j for j, column in enumerate(columns) if column[i] != g.zero)
        of_mass.setdefault(moved_by, []).append(i)
    found: dict[int, tuple[int, Node, Vector]] = {}
    last: dict[frozenset[int], int] = {frozenset(): -1}
    for moved_by in sorted(of_mass, key=lambda s: (len(s), sorted(s))):
        pair = of_mass[moved_by]
        own = [j for j in sorted(moved_by) if moved_by - {j} in last]
        if len(pair) != 2 or len(own) != 1 or own[0] in found or squares[pair[0]][0] != squares[pair[1]][0]:
            return None
        parent = moved_by - {own[0]}
        across = [[columns[j][k] for j in parent] for k in of_mass.get(parent, ())]
        if parent and [[columns[j][i] for j in parent] for i in pair] != across:
            pair.reverse()
            if [[columns[j][i] for j in parent] for i in pair] != across:
                return None
        arm = columns[own[0]]
        found[own[0]] = last[parent], g.mul(g.two, squares[pair[0]][0]), (arm[pair[0]], arm[pair[1]])
        last[moved_by] = own[0]
    return [found[j] for j in range(len(eta))]


def _polar(g: Graph, arm: Vector, varying: set[Node]) -> Polar | None:
    """The angle of an arm that is l (cos, sin) of one."""
    factors = [_moving_factor(g, component, varying) for component in arm]
    functions = [g.op[f] for f in factors]
    if sorted(functions) != ["cos", "sin"] or g.args[factors[0]] != g.args[factors[1]]:
        return None
    first, second = (forward(g, [c], {f: g.one})[0] for c, f in zip(arm, factors, strict=True))
    if g.mul(first, first) != g.mul(second, second):
        return None
    return Polar(g.args[factors[0]][0], (first, second), functions[0] == "sin")


def _along(g: Graph, force: Node, arm: Vector, varying: set[Node]) -> tuple[Vector, Node]:
    """A constant vector c and a rest with force = arm . c + rest."""
    constant = []
    for component in arm:
        angle_function = _moving_factor(g, component, varying)
        slope, own = forward(g, [force, component], {angle_function: g.one})
        if not g.depends_on([angle_function], varying) or g.depends_on([slope], varying):
            constant.append(g.zero)
            continue
        constant.append(g.div(slope, own))
        (force,) = g.substitute([force], {angle_function: g.zero})
    return (constant[0], constant[1]), force


def _moving_factor(g: Graph, node: Node, varying: set[Node]) -> Node:
    """What is left of a product without its constant factors."""
    while g.op[node] in ("mul", "div", "neg"):
        moving = [a for a in g.args[node] if g.depends_on([a], varying)]
        if len(moving) != 1 or (g.op[node] == "div" and moving[0] == g.args[node][1]):
            break
        node = moving[0]
    return node
