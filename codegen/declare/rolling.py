"""Rolling constraints: the material points of two bodies at their contact have the same velocity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy as sp

from chaplygin.runtime.shortened import short

from ..graph.dropping import dropped
from ..graph.rational import vanishes
from ..graph.to_sympy import expressions
from ..graph.vectors import Vector, minus, zero
from .bodies import Body, vector
from .screws import Flow
from .symbols import Coordinate, DeclarationError, rate

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

    contact : the position of the contact in space, a function of (t, x); with ``axes=body``, its position relative to
        the mass centre in body axes (an expression in x if the contact moves over the body).
    on : the body on which it rolls; None: the ground.
    directions : vectors in space along which the velocities are equal (skates, wheels that can slip along their
        axis); None: all three components, except those that vanish identically.
    kinematics : those of the `System`; the result then contains its velocities instead of the rates `rate(x)`.

    Returns expressions for `System(constraints=[...])`.
    """
    where = f"rolling({body.name})"
    if axes is not None and axes is not body:
        raise DeclarationError(
            f"{where}: axes is {short(axes)}; give the rolling body itself, or None for space"
        )
    place = vector(where, "contact", contact)
    along = [vector(where, f"directions[{i}]", d) for i, d in enumerate(directions or ())]
    used = _symbols([body, on], place, *along)
    names = sorted((s for s in used if isinstance(s, Coordinate)), key=lambda s: s.name)
    flow, symbols = Flow.apart(used, {x: rate(x) for x in names} if kinematics is None else kinematics)
    g, spot = flow.graph, flow.nodes(place)

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
        slip = [n for n in slip if not vanishes(g, n)]
    return [sp.expand(e) if e.count_ops() < 60 else e for e in expressions(g, slip, symbols)]


def _symbols(bodies: Sequence[Body | None], *more: Any) -> set[sp.Symbol]:
    """Every symbol that the bodies and their parents contain."""
    found: set[sp.Symbol] = set().union(*(m.free_symbols for m in more))
    for item in bodies:
        body = item
        while body is not None:
            found |= {s for _, e in body.entries() for s in e.free_symbols}
            body = body.parent
    return found
