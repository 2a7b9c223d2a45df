"""Rolling constraints: the material points of two bodies at their contact have the same velocity."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sympy as sp

from chaplygin.runtime.interface.messages import short

from ..graph.differentiate import partials
from ..graph.graph import Node
from ..graph.to_sympy import expressions
from ..graph.vectors import Vector, minus, zero
from ..identities.branches import is_branched
from ..identities.rational import vanishes
from ..identities.unused_variables import dropped
from ..identities.zero import generic_rank
from ..symbols.symbols import Coordinate, DeclarationError, as_assumed, rate
from ..symbols.values import mapping, require_coordinates, scalar, sequence
from .bodies import Body, moves, vector
from .joint import Link
from .screws import Flow

Expression = Any


def rolling(
    body: Body,
    contact: Sequence[Expression],
    *,
    on: Body | None = None,
    axes: Body | None = None,
    directions: Sequence[Sequence[Expression]] | None = None,
    kinematics: Mapping[sp.Symbol, Expression] | None = None,
) -> list[Expression]:
    """Constraints of rolling: at the contact, body and support have the same velocity.

    contact : the position of the contact in space, a function of (t, x), such as ``body.point() - (0, 0, r)`` with
        SymPy's matrices; `body.center` is in the axes of the parent. With ``axes=body``, its position relative to the
        mass centre in body axes (an expression in x if the contact moves over the body, as that of a ball does).
    on : the body on which it rolls; None: the ground.
    directions : vectors in space along which the velocities are equal (skates, wheels that can slip along their
        axis); None: all three components, except those that vanish or follow from the ones before them identically, as
        for a wheel in a plane. Where the components that are left vanish, as on a curve, give the tangents.
    kinematics : those of the `System`; the result then contains its velocities instead of the rates `rate(x)`. Those of
        links, made by `chaplygin.joint`, and of what carries them are known, and only others are given.

    Returns expressions for `System(constraints=[...])`.

    Raises DeclarationError, naming the body, for wrong shapes, for `axes` of another body, and for a contact that
    follows the body only if it is read in the axes of the parent.

    A disk that its pose keeps on a slope, where both components of the velocity say the same:

    >>> import chaplygin as cg, sympy as sp
    >>> s, phi = cg.coordinates("s phi")
    >>> m, J, r = cg.parameters("m J r", positive=True)
    >>> slope = cg.Body("slope", rotation=cg.turn(3, sp.pi / 6))
    >>> disk = cg.Body("disk", parent=slope, mass=m, inertia=(0, 0, J), rotation=cg.turn(3, -phi), center=(s, r, 0))
    >>> cg.rolling(disk, slope.rotation * sp.Matrix([s, 0, 0]))
    [-sqrt(3)*phi_dot*r/2 + sqrt(3)*s_dot/2]

    A constraint on velocities holds no position: a body whose contact is a point of its own, such as one r below its
    centre, rolls in the air as well, at the height at which it starts. Where coordinates can leave the plane, that is a
    holonomic equation, and rolling holds along it:

    >>> ball = cg.joint.free(None, name="ball", mass=m, inertia=[2 * m * r**2 / 5] * 3)
    >>> x, y, z = ball.point()
    >>> along = cg.rolling(ball, (x, y, 0), directions=[(1, 0, 0), (0, 1, 0)])
    >>> on_a_plane = cg.System("ball", bodies=[ball], constraints=along, holonomic=[z - r])
    >>> len(on_a_plane.constraints)  # two of rolling, and dz/dt = 0
    3
    """
    for entry, each in (("body", body), ("on", on)):
        if not isinstance(each, Body) and (each is not None or entry == "body"):
            raise DeclarationError(f"rolling: {entry} is {type(each).__name__}; give a Body")
    where = f"rolling({body.name})"
    if axes is not None and axes is not body:
        raise DeclarationError(
            f"{where}: axes is {short(axes)}; give the rolling body itself, or None for space"
        )
    place = vector(where, "contact", contact)
    given = [] if directions is None else sequence(f"{where}: directions", directions)
    if given and not any(hasattr(d, "__len__") and not isinstance(d, str) for d in given):
        raise DeclarationError(f"{where}: directions is one vector; give a list of vectors, as [(1, 0, 0)]")
    along = [vector(where, f"directions[{i}]", d) for i, d in enumerate(given)]
    used = _symbols([body, on], place, *along)
    names = sorted((s for s in used if isinstance(s, Coordinate)), key=lambda s: s.name)
    joints = {
        x: e for link in _carriers([body, on]) if isinstance(link, Link) for x, e in link.kinematics.items()
    }
    rows = mapping(f"{where}: kinematics", kinematics)
    if rows:
        require_coordinates(rows, f"{where}: kinematics")
    stated = {x: scalar(f"{where}: kinematics[{x}]", e) for x, e in rows.items()}
    own = {x: rate(x) for x in names} if kinematics is None else stated
    flow, symbols = Flow.apart(used, {**own, **joints, **stated})
    g, spot = flow.graph, flow.nodes(place)
    if axes is None:
        _check_in_space(where, flow, body, place)

    def speed(of: Body | None) -> Vector:
        if of is None:
            return zero(g)
        if axes is not None:
            return flow.at(of, spot) if of is body else flow.at_place(of, flow.point(body, spot))
        return flow.at_place(of, spot)

    slip = list(minus(g, speed(body), speed(on)))
    if directions is not None:
        slip = [g.dot(slip, flow.nodes(d)) for d in along]
    slip = dropped(g, slip, set(flow.along))
    if directions is None:
        slip = _independent(flow, [n for n in slip if not vanishes(g, n)], used)
    return [sp.expand(e) if e.count_ops() < 60 else e for e in expressions(g, slip, symbols)]


def _check_in_space(where: str, flow: Flow, body: Body, place: Any) -> None:
    """Refuse a contact in the axes of the parent.

    It has the coordinates of the body's own pose alone, and relative to the mass centre it depends on fewer of them all
    where both are in the parent's axes than where both are in space.
    """
    parent = body.parent
    if parent is None or not moves(place) <= moves(body.rotation) | moves(body.center):
        return

    def moving(center: Vector) -> set[Node]:
        apart = dropped(flow.graph, minus(flow.graph, flow.nodes(place), center), set(flow.along))
        return set(flow.along).intersection(flow.graph.reachable(apart))

    within, in_space = moving(flow.nodes(body.center)), moving(flow.position(body))
    if within < in_space:
        names = ", ".join(sorted(str(flow.graph.value[n]) for n in in_space - within))
        raise DeclarationError(
            f"{where}: contact is a position in space, but this one does not follow the body along {names}: it seems "
            f"to be in the axes of {parent.name!r}, as {body.name}.center is; {body.name}.point() is the mass centre "
            "in space, and axes=body takes a position relative to it in body axes"
        )


def _independent(flow: Flow, slip: Sequence[Node], used: set[sp.Symbol]) -> list[Node]:
    """The components, affine in the velocities, without those that are combinations of the ones before them.

    Components with switches are left as they are: `System` examines each of their branches.
    """
    g, eta = flow.graph, list(flow.velocities.values())
    if len(slip) < 2 or is_branched(g, slip):
        return list(slip)
    offsets = g.substitute(slip, dict.fromkeys(eta, g.zero))
    rows = [list(row) for row in zip(*partials(g, slip, eta), offsets, strict=True)]
    draw, assumed = random.Random(17), {s.name: s for s in used}
    points = [
        {
            n: as_assumed(assumed[n], value) if n in assumed else value
            for n in sorted(g.symbols(slip))
            for value in [draw.uniform(0.2, 0.9)]
        }
        for _ in range(4)
    ]
    kept: list[int] = []
    for i in range(len(slip)):
        if not kept or generic_rank(g, [rows[k] for k in (*kept, i)], points) != len(kept):
            kept.append(i)
    return [slip[i] for i in kept]


def _symbols(bodies: Sequence[Body | None], *more: Any) -> set[sp.Symbol]:
    """Every symbol that the bodies and their parents contain."""
    found: set[sp.Symbol] = set().union(*(m.free_symbols for m in more))
    for body in _carriers(bodies):
        found |= {s for _, e in body.entries() for s in e.free_symbols}
    return found


def _carriers(bodies: Sequence[Body | None]) -> Iterator[Body]:
    """The bodies and those that carry them."""
    for item in bodies:
        body = item
        while body is not None:
            yield body
            body = body.parent
