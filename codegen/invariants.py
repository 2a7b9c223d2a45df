"""First integrals of derived equations: candidates from theorems, each checked along the flow.

A candidate is kept when its derivative along the equations of motion vanishes at random points to 30 digits. Where the
hypotheses of the theorem behind it hold in the declaration itself, it is "proved", else "checked".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp
from mpmath import mp

from .cyclic import cyclic_velocities
from .differentiate import forward, gradient
from .evaluate import evaluate
from .fields import pointwise_rank
from .graph import Node
from .integrals import casimirs, independent, momentum_maps, null_space
from .power import painleve_function
from .sympy_view import expressions

if TYPE_CHECKING:
    from .equations import Equations

_DIGITS = 30
_MOST_COORDINATES = 16
"""Quadratic invariants are sought among at most this many coordinates."""


@dataclass(frozen=True)
class Invariant:
    """A first integral: its name, node, how it was established ("proved" or "checked"), and what it is."""

    name: str
    node: Node
    status: str
    description: str


def find(eqs: Equations) -> tuple[Invariant, ...]:
    """The invariants of the equations: energy, momenta, functions of redundant coordinates, momentum maps, Casimirs."""
    energy, momenta, coordinates = _energy(eqs), _momenta(eqs), _coordinate_invariants(eqs)
    kept = _conserved(eqs, [energy, *momenta, *coordinates])
    if len(eqs.coordinates) > _MOST_COORDINATES or eqs.independent is not None:
        return tuple(kept)

    def derivatives(terms: list[Node], points: list[dict[str, Any]]) -> list[list[float]]:
        slopes, needed = _slopes(eqs, terms)
        return [[float(v) for v, _ in _along(eqs, slopes, needed, p, False)] for p in points]

    nodes = [m.node for m in momenta]
    maps = independent(eqs, [i.node for i in kept], momentum_maps(eqs, nodes, derivatives))
    kept += _conserved(eqs, _named("momentum", maps, "linear in the momenta"))
    squares = independent(eqs, [i.node for i in kept], casimirs(eqs, nodes, derivatives))
    kept += _conserved(eqs, _named("casimir", squares, "quadratic form in the momenta"))
    return tuple(kept)


def _named(name: str, nodes: Sequence[Node], description: str) -> list[Invariant]:
    return [Invariant(f"{name}_{i + 1}", node, "checked", description) for i, node in enumerate(nodes)]


def _energy(eqs: Equations) -> Invariant:
    """h = eta . dL/d eta - L on the permitted velocities: T + V, or the Painlevé-Jacobi integral T2 - T0 + V."""
    h, total, same = painleve_function(eqs)
    name, description = ("energy", "T + V") if same else ("painleve", "Painlevé-Jacobi integral T2 - T0 + V")
    return Invariant(name, total if same else h, _energy_status(eqs), description)


def _energy_status(eqs: Equations) -> str:
    """dh/dt = -X_0 L + c_0j^b eta_j p_b + Q_j eta_j: zero by its terms, or to be seen from numbers."""
    g, system = eqs.graph, eqs.system
    autonomous = not g.depends_on(
        [system.kinetic_node, system.potential_node, *eqs.rates, *eqs.permitted.values()],
        [system.fields.time],
    )
    steady = all(n == g.zero for n in system.fields.drift)
    free = all(n == g.zero for n in system.force_nodes)
    homogeneous = all(n == g.zero for n in system.constraint_offsets) and not system.parametrization
    return "proved" if autonomous and steady and free and homogeneous else "checked"


def _momenta(eqs: Equations) -> list[Invariant]:
    """p_a = dL/d eta_a of the free system on the permitted velocities."""
    g, system = eqs.graph, eqs.system
    nodes = eqs.momentum_nodes
    if nodes is None:
        lagrangian = g.sub(system.kinetic_node, system.potential_node)
        nodes = tuple(g.substitute(gradient(g, lagrangian, system.eta), eqs.permitted))
    free = not system.constraints and not system.parametrization
    cyclic = cyclic_velocities(g, system) if free else ()
    return [
        Invariant(f"p_{v.name}", node, "proved" if a in cyclic else "checked", f"momentum dL/d{v.name}")
        for a, (v, node) in enumerate(zip(system.velocities, nodes, strict=True))
        if g.depends_on([node], eqs.velocity_nodes)
    ]


def _coordinate_invariants(eqs: Equations) -> list[Invariant]:
    """Quadratic f(x) with X_a f = 0 and X_0 f = 0 for all a, where there are more coordinates than velocities."""
    g, system = eqs.graph, eqs.system
    fields, x = system.fields, system.fields.coordinates
    n, k = len(x), len(fields.along)
    if eqs.kept is not None or n > _MOST_COORDINATES or fields.are_rates():
        return []
    if pointwise_rank(g, fields, eqs.points([], 1)[0]) == n:
        return []
    monomials = [g.mul(x[i], x[j]) for i in range(n) for j in range(i, n)] + list(x)
    slopes = [row for a in range(-1, k) for row in [fields.apply(g, a, monomials)]]
    flat = [node for row in slopes for node in row]
    points = eqs.points(flat, 2 * len(monomials) // k + 4)
    rows = np.array([evaluate(g, flat, p) for p in points]).reshape(-1, len(monomials))
    found = []
    symbols = eqs.symbols
    at = {s.name: v for s, v in system.example.items()}
    for i, weights in enumerate(null_space(rows)):
        node = g.sum(g.mul(g.const(w), m) for w, m in zip(weights, monomials, strict=True) if w)
        if g.symbols([node]) <= at.keys():  # as a residual, |q|^2 - 1, where the example says on which level
            level = Fraction(evaluate(g, [node], at)[0])
            near = level.limit_denominator(1000)
            node = g.sub(node, g.const(near if abs(near - level) < 1e-9 else 0))
        slopes = expressions(g, [s for a in range(-1, k) for s in fields.apply(g, a, [node])], symbols)
        proved = all(sp.expand(s) == 0 for s in slopes)
        status = "proved" if proved else "checked"
        found.append(Invariant(f"coordinates_{i + 1}", node, status, "invariant of the kinematics alone"))
    return found


def _conserved(eqs: Equations, candidates: Sequence[Invariant]) -> list[Invariant]:
    """The candidates whose derivative along the flow vanishes: first with floats, then to 30 digits."""
    if not candidates:
        return []
    slopes, needed = _slopes(eqs, [c.node for c in candidates])
    points = eqs.points(needed, 3)

    def derivatives(point: dict[str, Any], precise: bool, wanted: list[Node]) -> list[tuple[Any, Any]]:
        return _along(eqs, wanted, needed, point, precise)

    alive = list(zip(candidates, slopes, strict=True))
    for point in points:
        results = derivatives(point, False, [s for _, s in alive])
        alive = [
            c for c, (value, size) in zip(alive, results, strict=True) if abs(value) <= 1e-7 * (1 + size)
        ]
    kept = []
    with mp.workdps(_DIGITS + 15):
        few = points[: 2 if len(eqs.force) <= 30 else 1]
        exact = [eqs.complete({name: mp.mpf(v) for name, v in p.items()}, precise=True) for p in few]
        for point in exact if alive else []:
            results = derivatives(point, True, [s for _, s in alive])
            limit = mp.mpf(10) ** -_DIGITS
            alive = [
                c for c, (value, size) in zip(alive, results, strict=True) if abs(value) <= limit * (1 + size)
            ]
        kept = [c for c, _ in alive]
    return kept


def _slopes(eqs: Equations, nodes: Sequence[Node]) -> tuple[list[Node], list[Node]]:
    """d/dt of nodes along the flow, with accelerations as symbols, and the nodes that give the accelerations."""
    g, v = eqs.graph, eqs.velocity_nodes
    moving = {**dict(zip(eqs.coordinate_nodes, eqs.rates, strict=True)), eqs.independent_node: g.one}
    # Accelerations stand as symbols: they are solved for numerically at each point.
    moving |= {node: g.symbol(f"cg_acceleration_{i}") for i, node in enumerate(v)}
    return forward(g, list(nodes), moving), [*(n for row in eqs.mass for n in row), *eqs.force]


def _along(
    eqs: Equations, wanted: list[Node], needed: list[Node], point: dict[str, Any], precise: bool
) -> list[tuple[Any, Any]]:
    """Values of d/dt of the candidates at a point, with the size of the accelerations they are made of."""
    g = eqs.graph
    k = len(eqs.force)
    values = evaluate(g, needed, point, precise)
    if not eqs.mass:
        at = {**point, **{f"cg_acceleration_{i}": a for i, a in enumerate(values)}}
        size = max((abs(a) for a in values), default=0)
        return [(value, size) for value in evaluate(g, wanted, at, precise)]
    lower, force = values[: len(values) - k], values[len(values) - k :]
    rows = [[lower[max(i, j) * (max(i, j) + 1) // 2 + min(i, j)] for j in range(k)] for i in range(k)]
    if precise:
        acceleration = list(mp.lu_solve(mp.matrix(rows), mp.matrix(force))) if k else []
    else:
        acceleration = list(map(float, np.linalg.solve(np.array(rows, float), np.array(force, float))))
    size = max((abs(a) for a in acceleration), default=0)
    at = {**point, **{f"cg_acceleration_{i}": a for i, a in enumerate(acceleration)}}
    return [(value, size) for value in evaluate(g, wanted, at, precise)]
