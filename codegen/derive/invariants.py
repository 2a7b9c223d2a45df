"""First integrals of derived equations: candidates from theorems, each checked along the flow.

A candidate is kept if its derivative along the equations of motion vanishes on every branch and it does not jump
between branches (`conservation`). Its status is "proved" if the hypotheses of its theorem are also shown to hold for
the declaration, else "checked": numerically, to 60 digits of the smallest term.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ..graph.evaluate import evaluate
from ..graph.graph import Node
from ..identities.identities import vanish_everywhere
from ..identities.rational import vanishes
from ..system.fields import pointwise_rank
from .conservation import Examination, conserved, slopes_along
from .cyclic import cyclic_velocities, jumps_along
from .equation_nodes import EquationNodes, Invariant
from .polynomial_integrals import casimirs, independent, momentum_maps, null_space
from .power import painleve_function
from .resets import resets

_MOST_COORDINATES = 16
"""Quadratic invariants are searched for in systems with at most this many coordinates. Larger ones have the lengths of
their joints' quaternions."""


def find(eqs: EquationNodes) -> tuple[Invariant, ...]:
    """The invariants of the equations: energy, momenta, functions of redundant coordinates, momentum maps, Casimirs.

    Functions that a reset changes are excluded; with friction only invariants of the kinematics remain.
    """
    if eqs.system.contacts or eqs.system.law:  # friction, or a law, leaves only invariants of the kinematics
        found = tuple(c for c in _coordinate_invariants(eqs) if c.status == "proved")
    else:
        found = _conserved_in_flight(eqs)
    moved = resets(eqs)
    return tuple(i for i in found if not _reset(eqs, moved, i.node))


def levels(eqs: EquationNodes, found: Iterable[Invariant]) -> tuple[Node, ...]:
    """Of what was found the invariants of the coordinates alone, as |q|^2.

    Implicit equations keep velocities that are not states.
    """
    nodes = eqs.system.nodes
    changing = [*eqs.velocity_nodes, *nodes.eta, *nodes.theta, eqs.independent_node]
    return tuple(i.node for i in found if not eqs.graph.depends_on([i.node], changing))


def _reset(eqs: EquationNodes, moved: Sequence[Sequence[Node] | None], node: Node) -> bool:
    """Whether an event changes a function of the states, and of the velocities that implicit equations keep."""
    g, nodes = eqs.graph, eqs.system.nodes
    for event, after in zip(nodes.events, moved, strict=True):
        if after is None:
            continue
        new = dict(zip(eqs.state_nodes, after, strict=True))
        if eqs.implicit is not None:
            new |= {e: event.reset.get(v, e) for v, e in zip(eqs.system.velocities, nodes.eta, strict=True)}
        (there,) = g.substitute([node], new)
        if there != node and not vanish_everywhere(g, [g.sub(there, node)], eqs.points([there, node], 3)):
            return True
    return False


def _conserved_in_flight(eqs: EquationNodes) -> tuple[Invariant, ...]:
    """The invariants of the equations between events."""
    said: set[str] = set()
    energy, momenta, coordinates = _energy(eqs), _momenta(eqs), _coordinate_invariants(eqs)
    kept = _conserved(eqs, [energy, *momenta, *coordinates], said)
    few = len(eqs.coordinates) <= _MOST_COORDINATES and eqs.implicit is None
    if not few or eqs.independent is not None:
        return tuple(kept)

    def derivatives(terms: list[Node], points: list[dict[str, Any]]) -> Iterator[list[list[float]]]:
        slopes, needed = slopes_along(eqs, terms)
        return Examination(eqs, slopes, needed).rows(points)

    if any(jumps_along(eqs.graph, eqs.system, a) for a in range(len(eqs.system.velocities))):
        return tuple(kept)  # where L jumps, so do the momenta: do not search for combinations of them
    nodes = [m.node for m in momenta]
    maps = independent(eqs, [i.node for i in kept], momentum_maps(eqs, nodes, derivatives))
    kept += _conserved(eqs, _named("momentum", maps, "linear in the momenta"), said)
    squares = independent(eqs, [i.node for i in kept], casimirs(eqs, nodes, derivatives))
    kept += _conserved(eqs, _named("casimir", squares, "quadratic form in the momenta"), said)
    return tuple(kept)


def _named(name: str, nodes: Sequence[Node], description: str) -> list[Invariant]:
    return [Invariant(f"{name}_{i + 1}", node, "checked", description) for i, node in enumerate(nodes)]


def _energy(eqs: EquationNodes) -> Invariant:
    """h = eta . dL/d eta - L at the permitted velocities: T + V, or the Painlevé-Jacobi integral T2 - T0 + V."""
    h, total, same = painleve_function(eqs)
    name, description = ("energy", "T + V") if same else ("painleve", "Painlevé-Jacobi integral T2 - T0 + V")
    return Invariant(name, total if same else h, _energy_status(eqs), description)


def _energy_status(eqs: EquationNodes) -> str:
    """The status of the energy: "proved" if each term of dh/dt = -X_0 L + c_0j^b eta_j p_b + Q_j eta_j is zero."""
    g, system = eqs.graph, eqs.system
    moving = [system.nodes.fields.time, *(g.symbol(u.name) for u in system.inputs)]
    nodes = [system.nodes.kinetic, system.nodes.potential, *eqs.rates, *eqs.permitted.values()]
    autonomous = not g.depends_on(nodes, moving)
    steady = all(n == g.zero for n in system.nodes.fields.drift)
    free = all(n == g.zero for n in system.nodes.forces)
    homogeneous = all(n == g.zero for n in system.nodes.constraint_offsets) and not system.parametrization
    return "proved" if autonomous and steady and free and homogeneous else "checked"


def _momenta(eqs: EquationNodes) -> list[Invariant]:
    """p_a = dL/d eta_a of the unconstrained system at the permitted velocities."""
    g, system = eqs.graph, eqs.system
    nodes = eqs.momentum_nodes
    if nodes is None:
        nodes = tuple(g.substitute(system.nodes.momenta(g), eqs.permitted))
    free = not system.constraints and not system.parametrization
    cyclic = cyclic_velocities(g, system) if free else ()
    moving = g.dependent(nodes, eqs.velocity_nodes)
    return [
        Invariant(f"p_{v.name}", node, "proved" if a in cyclic else "checked", f"momentum dL/d{v.name}")
        for a, (v, node) in enumerate(zip(system.velocities, nodes, strict=True))
        if node in moving and not jumps_along(g, system, a)
    ]


def _coordinate_invariants(eqs: EquationNodes) -> list[Invariant]:
    """Quadratic f(x) with X_a f = 0 for all a and X_0 f = 0, if there are more coordinates than velocities."""
    g, system = eqs.graph, eqs.system
    fields, x = system.nodes.fields, system.nodes.fields.coordinates
    n, k = len(x), len(fields.along)
    if eqs.kept is not None or fields.are_rates():
        return []
    text = "invariant of the kinematics alone"
    if n > _MOST_COORDINATES:  # no search, but the lengths of the quaternions of joints are known
        symbol = dict(zip(system.coordinates, x, strict=True))
        squares = [
            g.sum(g.mul(symbol[s], symbol[s]) for s in q) for q in system.nodes.declaration.quaternions
        ]
        return [Invariant(f"coordinates_{i}", node, "proved", text) for i, node in enumerate(squares, 1)]
    if pointwise_rank(g, fields, eqs.points([], 1)[0]) == n:
        return []
    monomials = [g.mul(x[i], x[j]) for i in range(n) for j in range(i, n)] + list(x)
    flat = [node for a in range(-1, k) for node in fields.apply(g, a, monomials)]
    points = eqs.points(flat, 2 * len(monomials) // max(k, 1) + 4)
    rows = np.array([evaluate(g, flat, p) for p in points]).reshape(-1, len(monomials))
    found = []
    at = {s.name: v for s, v in system.example.items()}
    for i, weights in enumerate(null_space(rows)):
        node = g.sum(g.mul(g.const(w), m) for w, m in zip(weights, monomials, strict=True) if w)
        known = g.symbols([node]) <= at.keys()
        if known:  # the example gives the level, so it becomes a residual such as |q|^2 - 1
            level = Fraction(evaluate(g, [node], at)[0])
            near = level.limit_denominator(1000)
            node = g.sub(node, g.const(near if abs(near - level) < 1e-9 else 0))
        slopes = [s for a in range(-1, k) for s in fields.apply(g, a, [node])]
        status = "proved" if all(vanishes(g, s) for s in slopes) else "checked"
        found.append(Invariant(f"coordinates_{i + 1}", node, status, text, known))
    return found


def _conserved(eqs: EquationNodes, candidates: Sequence[Invariant], said: set[str]) -> list[Invariant]:
    """The candidates that are conserved along the flow, on every branch and across their borders."""
    good = conserved(eqs, [c.node for c in candidates], [c.status == "proved" for c in candidates], said)
    return [c for c, kept in zip(candidates, good, strict=True) if kept]
