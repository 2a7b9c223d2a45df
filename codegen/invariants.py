"""First integrals of derived equations: candidates from theorems, each checked along the flow.

A candidate is kept when its derivative along the equations of motion vanishes at random points to 30 digits. It is
"proved" where the hypotheses of the theorem behind it are shown for the declaration itself, else "checked": numbers at
points near the example and far from it.
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
from .evaluate import branches_taken, evaluate, evaluate_with_scale
from .fields import pointwise_rank
from .graph import Node
from .integrals import casimirs, independent, momentum_maps, null_space
from .points import wide_points
from .power import painleve_function
from .sympy_view import expressions

if TYPE_CHECKING:
    from .equations import Equations

_DIGITS = 30
_MOST_COORDINATES = 16
"""Quadratic invariants are sought among at most this many coordinates."""


@dataclass(frozen=True)
class Invariant:
    """A first integral: its name, node, how it was established ("proved" or "checked"), and what it is.

    `zero`: it is zero at the example point, |q|^2 - 1 for a quaternion, and expected to be zero in every run.
    """

    name: str
    node: Node
    status: str
    description: str
    zero: bool = False


def find(eqs: Equations) -> tuple[Invariant, ...]:
    """The invariants of the equations: energy, momenta, functions of redundant coordinates, momentum maps, Casimirs.

    What an event's reset changes is none; with friction only what holds by the kinematics is.
    """
    if eqs.friction is not None:  # what holds by the kinematics alone; friction takes the rest
        return tuple(c for c in _coordinate_invariants(eqs) if c.status == "proved")
    return tuple(i for i in _conserved_in_flight(eqs) if not _reset(eqs, i.node))


def _reset(eqs: Equations, node: Node) -> bool:
    """Whether an event changes a function of the states."""
    g = eqs.graph
    states = [*eqs.coordinate_nodes, *eqs.velocity_nodes]
    for after in eqs.resets:
        if after is None:
            continue
        (moved,) = g.substitute([node], dict(zip(states, after, strict=True)))
        if moved != node:
            for point in eqs.points([moved, node], 3):
                values = evaluate_with_scale(g, [moved, node], point)
                if abs(values[0][0] - values[1][0]) > 1e-9 * (values[0][1] + values[1][1]):
                    return True
    return False


def _conserved_in_flight(eqs: Equations) -> tuple[Invariant, ...]:
    """The invariants of the equations between events."""
    energy, momenta, coordinates = _energy(eqs), _momenta(eqs), _coordinate_invariants(eqs)
    kept = _conserved(eqs, [energy, *momenta, *coordinates])
    few = len(eqs.coordinates) <= _MOST_COORDINATES and eqs.implicit is None
    if not few or eqs.independent is not None:
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
    moving = [system.fields.time, *(g.symbol(u.name) for u in system.inputs)]
    nodes = [system.kinetic_node, system.potential_node, *eqs.rates, *eqs.permitted.values()]
    autonomous = not g.depends_on(nodes, moving)
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
        known = g.symbols([node]) <= at.keys()
        if known:  # as a residual, |q|^2 - 1, where the example says on which level
            level = Fraction(evaluate(g, [node], at)[0])
            near = level.limit_denominator(1000)
            node = g.sub(node, g.const(near if abs(near - level) < 1e-9 else 0))
        slopes = expressions(g, [s for a in range(-1, k) for s in fields.apply(g, a, [node])], symbols)
        proved = all(sp.expand(s) == 0 for s in slopes)
        status = "proved" if proved else "checked"
        text = "invariant of the kinematics alone"
        found.append(Invariant(f"coordinates_{i + 1}", node, status, text, known))
    return found


def _conserved(eqs: Equations, candidates: Sequence[Invariant]) -> list[Invariant]:
    """The candidates whose derivative along the flow vanishes: first with floats, then to 30 digits.

    Points lie near the example and far from it. "Vanishes" is meant relative to the terms of the derivative; every
    branch (Max, Abs, Piecewise ...) must have been taken both ways.
    """
    g = eqs.graph
    inputs = {s.name for s in eqs.system.inputs}
    alive = [c for c in candidates if not inputs & g.symbols([c.node])]  # an input that moves would move it
    if not alive:
        return []
    slopes, needed = _slopes(eqs, [c.node for c in alive])
    points = eqs.points(needed, 3)
    far = wide_points(eqs.system, needed, 12, g, eqs.complete)
    pairs = list(zip(alive, slopes, strict=True))
    if not branches_taken(g, [*slopes, *needed], [*points, *far]):
        return []
    inside = []  # the points at which everything is defined
    for point in [*points, *far]:
        try:
            results = _along(eqs, [s for _, s in pairs], needed, point, False)
        except (ArithmeticError, ValueError, np.linalg.LinAlgError):
            continue
        inside.append(point)
        pairs = [c for c, (value, size) in zip(pairs, results, strict=True) if not abs(value) > 1e-9 * size]
    with mp.workdps(_DIGITS + 15):
        if not inside:
            return []
        few = [*inside[:1], *(p for p in inside if p in far)][: 2 if len(eqs.force) <= 30 else 1]
        for p in few if pairs else []:
            point = eqs.complete({name: mp.mpf(v) for name, v in p.items()}, precise=True)
            results = _along(eqs, [s for _, s in pairs], needed, point, True)
            limit = mp.mpf(10) ** -_DIGITS
            pairs = [c for c, (value, size) in zip(pairs, results, strict=True) if abs(value) <= limit * size]
    return [c for c, _ in pairs]


def _slopes(eqs: Equations, nodes: Sequence[Node]) -> tuple[list[Node], list[Node]]:
    """d/dt of nodes along the flow, with accelerations as symbols, and the nodes that give the accelerations."""
    g, v = eqs.graph, eqs.velocity_nodes
    moving = {**dict(zip(eqs.coordinate_nodes, eqs.rates, strict=True)), eqs.independent_node: g.one}
    # Accelerations stand as symbols: they are solved for numerically at each point.
    if eqs.implicit is not None:
        mass, force = eqs.implicit.accelerations(g, eqs.force, moving)
        moving |= dict(zip(v, eqs.force, strict=True))
        v = eqs.implicit.unknown
    else:
        mass, force = [n for row in eqs.mass for n in row], list(eqs.force)
    moving |= {node: g.symbol(f"cg_acceleration_{i}") for i, node in enumerate(v)}
    return forward(g, list(nodes), moving), [*mass, *force]


def _along(
    eqs: Equations, wanted: list[Node], needed: list[Node], point: dict[str, Any], precise: bool
) -> list[tuple[Any, Any]]:
    """Values of d/dt of the candidates at a point, each with the size of its terms."""
    g, k = eqs.graph, len(eqs.force)
    found = evaluate_with_scale(g, needed, point, precise)
    values, sizes = [v for v, _ in found], [float(s) for _, s in found]
    acceleration, spread = values[len(values) - k :], sizes[len(sizes) - k :]
    if len(needed) > k:
        rows, row_sizes = _square(values, k), np.array(_square(sizes, k), float)
        inverse = np.abs(np.linalg.inv(np.array(rows, float)))
        if precise:
            acceleration = list(mp.lu_solve(mp.matrix(rows), mp.matrix(acceleration)))
        else:
            acceleration = list(
                map(float, np.linalg.solve(np.array(rows, float), np.array(acceleration, float)))
            )
        spread = list(inverse @ (np.array(spread) + row_sizes @ np.abs(np.array(acceleration, float))))
    names = [f"cg_acceleration_{i}" for i in range(k)]
    at = {**point, **dict(zip(names, acceleration, strict=True))}
    return evaluate_with_scale(g, wanted, at, precise, dict(zip(names, map(float, spread), strict=True)))


def _square(lower: Sequence[Any], k: int) -> list[list[Any]]:
    """The full symmetric matrix from its lower triangle by rows."""
    return [[lower[max(i, j) * (max(i, j) + 1) // 2 + min(i, j)] for j in range(k)] for i in range(k)]
