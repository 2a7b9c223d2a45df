"""A system's bodies as a tree of links: relative screws, inertias about the joints, and the wrenches on every body.

The origin of a body is the point that its joint fixes in body axes (at -l from the mass centre, see `screws`). Relative
to its parent a body has the rotation R(t, x), the place d(t, x) of its origin in the parent's axes, and the screw
    omega_r = S_omega eta + omega_0 in body axes,   d' = S_d eta + d'_0 in the parent's axes:
the columns of S are the derivatives by the velocities, each of which may enter the screw of one body only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..graph.differentiate import forward, gradient, partials
from ..graph.graph import Graph, Node
from ..graph.vectors import Matrix, Vector, cross, is_zero, plus, zero
from ..mechanics.bodies import Body
from ..mechanics.interactions import Loads, Weight
from ..mechanics.screws import Flow, Twists
from ..symbols.place import Entry
from ..system.checked_system import CheckedSystem
from .equation_nodes import misfit
from .structure import add_brackets, structure_functions


@dataclass(frozen=True)
class TreeLink:
    """A body and its joint, in nodes; R and d place it relative to its parent, or to space.

    Attributes
    ----------
    parent : the index of the parent among the links; -1 for a body placed in space.
    rotation, arm : R (3, 3) and d (3).
    velocities : the indices of the velocities eta_a of the joint.
    turns, slides : omega_a in body axes and d'_a in the parent's axes, one of each a velocity.
    spin, spin_rate : omega_r in body axes and the rates of its components with eta' = 0.
    slide, slide_rate : d' and d'' with eta' = 0, in the parent's axes.
    mass, moment, inertia : m, m l, and the inertia operator about the origin, in body axes.
    """

    body: Body
    parent: int
    rotation: Matrix
    arm: Vector
    velocities: tuple[int, ...]
    turns: tuple[Vector, ...]
    slides: tuple[Vector, ...]
    spin: Vector
    spin_rate: Vector
    slide: Vector
    slide_rate: Vector
    mass: Node
    moment: Vector
    inertia: Matrix


@dataclass(frozen=True)
class Tree:
    """The links, parents first, and what acts on them.

    Attributes
    ----------
    links : as above.
    gravity : the acceleration of gravity in space, where it is the same for every body; other weights are wrenches.
    wrenches : (couple about the origin, force) by link, in body axes; links without any are omitted.
    forces : generalised forces by velocity: those declared, -X_a V and X_a T of the system's own V and T.
    inertias : the lower triangle of the matrix of T's own part and of the rotors by pairs of velocities of one joint.
    """

    links: tuple[TreeLink, ...]
    gravity: Vector
    wrenches: Mapping[int, tuple[Vector, Vector]]
    forces: tuple[Node, ...]
    inertias: Mapping[tuple[int, int], Node]


def tree(g: Graph, flow: Flow, system: CheckedSystem) -> Tree:
    """The tree of a system's bodies, on a copy of its graph.

    Raises FormError if a velocity moves no body or several bodies relative to their parents.
    """
    order = _parents_first(system.bodies)
    place = {body: i for i, body in enumerate(order)}
    links = tuple(_link(g, flow, system, body, place) for body in order)
    _check(system, links)
    gravity, wrenches = _loads(g, flow, system, links)
    forces, inertias = _generalised(g, flow, system, links)
    return Tree(links, gravity, wrenches, forces, inertias)


def _parents_first(bodies: Sequence[Body]) -> list[Body]:
    found: dict[Body, None] = {}
    for body in bodies:
        line = [body]
        while (above := line[-1].parent) is not None and above not in found:
            line.append(above)
        found.update(dict.fromkeys(reversed(line)))
    return list(found)


def _link(g: Graph, flow: Flow, system: CheckedSystem, body: Body, place: Mapping[Body, int]) -> TreeLink:
    pose, above = flow.pose(body), body.parent
    spin, slide = flow.spin(body), flow.rate(pose.anchor)
    eta = system.nodes.eta
    moving = g.symbols([*spin, *slide])
    own = [a for a, v in enumerate(system.velocities) if v.name in moving]
    columns = partials(g, [*spin, *slide], [eta[a] for a in own])
    kept = [(a, tuple(c)) for a, c in zip(own, columns, strict=True) if not is_zero(g, tuple(c))]
    arm = pose.anchor if above is None else plus(g, pose.anchor, flow.pose(above).lever)
    moment = tuple(g.mul(pose.mass, e) for e in pose.lever)
    square = g.dot(moment, pose.lever)
    inertia = tuple(
        tuple(
            g.add(e, g.sub(square if i == j else g.zero, g.mul(moment[i], pose.lever[j])))
            for j, e in enumerate(row)
        )
        for i, row in enumerate(pose.inertia)
    )
    return TreeLink(
        body,
        -1 if above is None else place[above],
        pose.rotation,
        arm,
        tuple(a for a, _ in kept),
        tuple(c[:3] for _, c in kept),
        tuple(c[3:] for _, c in kept),
        spin,
        flow.rate(spin),
        slide,
        flow.rate(slide),
        pose.mass,
        moment,
        inertia,
    )


def _check(system: CheckedSystem, links: Sequence[TreeLink]) -> None:
    moved: dict[int, list[str]] = {a: [] for a in range(len(system.velocities))}
    for link in links:
        for a in link.velocities:
            moved[a].append(link.body.name)
    for a, names in moved.items():
        if len(names) != 1:
            what = f"moves {' and '.join(names)}" if names else "moves none"
            raise misfit(
                "recursive",
                system,
                "every velocity moves one body relative to its parent",
                f" ({system.velocities[a]} {what})",
            )


def _loads(
    g: Graph, flow: Flow, system: CheckedSystem, links: Sequence[TreeLink]
) -> tuple[Vector, dict[int, tuple[Vector, Vector]]]:
    """The uniform gravity, and all other interactions as wrenches about the origins."""
    virtual, bodies = Twists(flow), system.bodies
    gravity = zero(g)
    loads: Loads = []
    for item in system.interactions:
        field = item.field(flow, bodies) if isinstance(item, Weight) else None
        if field is not None:
            gravity = plus(g, gravity, field)
            continue
        pairs = zip(item.actions(flow, bodies), item.actions(virtual, bodies), strict=True)
        loads += [(force, speed) for (force, _), (_, speed) in pairs]
    found = {}
    for body, wrench in (virtual.wrenches(loads, bodies) if loads else {}).items():
        couple, force = wrench[:3], wrench[3:]
        index = next(i for i, link in enumerate(links) if link.body is body)
        found[index] = plus(g, couple, cross(g, flow.pose(body).lever, force)), force
    return gravity, found


def _generalised(
    g: Graph, flow: Flow, system: CheckedSystem, links: Sequence[TreeLink]
) -> tuple[tuple[Node, ...], dict[tuple[int, int], Node]]:
    """The generalised forces of the system's own V, Q and T, and the inertias of T by pairs of velocities.

    d/dt p_j = (c_0j^b + c_aj^b eta_a) p_b + X_j (T - V) + Q_j with p = dT/d eta: M eta' = f for this part alone.
    """
    nodes, fields = system.nodes, system.nodes.fields
    own, eta = nodes.entries, nodes.eta
    kinetic = g.sum([own[Entry("kinetic")], *map(flow.rotor_energy, system.bodies)])
    potential = own[Entry("potential")]
    declared = [own.get(Entry("forces", v), g.zero) for v in system.velocities]
    if kinetic == potential == g.zero:
        return tuple(declared), {}
    lagrangian = g.sub(kinetic, potential)
    slopes = gradient(g, lagrangian, [*eta, *fields.coordinates])
    momenta, by_x = slopes[: len(eta)], slopes[len(eta) :]
    along = [(i, n) for i, n in enumerate(by_x) if n != g.zero]
    forces = [
        g.add(q, g.sum(g.mul(field[i], n) for i, n in along))
        for q, field in zip(declared, fields.along, strict=True)
    ]
    if all(p == g.zero for p in momenta):
        return tuple(forces), {}
    add_brackets(g, forces, structure_functions(g, system), momenta, eta)
    bias = forward(g, momenta, fields.flow(g, fields.velocity(g, eta)))
    columns = partials(g, momenta, eta)
    joint = {a: i for i, link in enumerate(links) for a in link.velocities}
    inertias = {
        (i, j): columns[j][i] for i in range(len(eta)) for j in range(i + 1) if columns[j][i] != g.zero
    }
    for i, j in inertias:
        if joint[i] != joint[j]:
            names = f"{system.velocities[j]} and {system.velocities[i]}"
            raise misfit(
                "recursive",
                system,
                "kinetic, beside that of the bodies, couples no two joints",
                f" (it couples {names})",
            )
    if g.depends_on(inertias.values(), eta):
        raise misfit("recursive", system, "L is of second degree in the velocities")
    return tuple(g.sub(f, b) for f, b in zip(forces, bias, strict=True)), inertias
