"""Equations with multipliers: constraint reactions as outputs.

d/dt dL/d eta_a - (c_0a^b + c_ca^b eta_c) dL/d eta_b - X_a L - Q_a = A_sa lambda_s,   A_sa eta_a + A_s0 = 0.

With M eta' = f + A^T lambda and d/dt of the constraints, (A M^-1 A^T) lambda = -(A M^-1 f + g), where g is the
derivative of A eta + A_0 along the flow at fixed eta. M and the Schur complement are factored as L D L^T. A singular M
is made regular by the constraints (`codegen.declare.inertia`). With Coulomb contacts, or if a loop solves for the
accelerations, the lambda remain symbols here: they are computed together with the friction forces
(`codegen.derive.friction`) and the accelerations (`codegen.lower.dynamics`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import sympy as sp

from chaplygin.errors import FormError

from ..derive.equation_nodes import EquationNodes, Friction, misfit, multiplier_symbols
from ..derive.friction import together
from ..derive.structure import balance
from ..graph.differentiate import forward
from ..graph.graph import Graph, Node
from ..graph.linear import LDL, UNROLLED_VELOCITIES, solve_definite
from ..symbols.symbols import Coordinate, rate
from ..system.checked_system import CheckedSystem
from ..system.inertia import augmented, weights
from .constraints import Permitted, equations_of, impose, residuals
from .form import Form
from .reduction import Motion, project


def derive(system: CheckedSystem, release: Sequence[sp.Symbol] | sp.Symbol | None = None) -> EquationNodes:
    """Equations in all coordinates and all velocities, with multipliers `lambda_<s>` (s = 1, 2 ...) as outputs.

    Also outputs: the reaction `reaction_<velocity>` = A_sa lambda_s, conjugate to each velocity that a constraint
    contains. Option `release`: coordinates held by constraints; `reaction_<coordinate>` is the reaction that holds
    each, conjugate to its rate (a force for a length, a couple for an angle).

    Hypothesis: constraints are given as equations, not as a parametrization.
    """
    nodes = system.nodes
    g = nodes.graph.copy()
    motion = project(g, system, balance(g, system), nodes.eta)
    if system.accelerates_by_constraints:
        motion = _with_constraints(g, system, motion)
    unknown: Friction | None = None
    pivots: tuple[tuple[Node, Node], ...] = ()
    if system.redundancy and system.contacts:
        raise misfit("multipliers", system, "with contacts, the constraints are independent")
    if not system.contacts and not system.redundancy and len(nodes.eta) <= UNROLLED_VELOCITIES:
        factors = LDL(g, motion.mass)
        rows = nodes.constraint_rows
        across = [factors.solve(row) for row in rows]  # M^-1 A^T by columns
        bias = biases(g, system, motion.rates)
        multipliers, pivots = solved(g, rows, across, factors.solve(motion.force), bias)
    else:
        multipliers = multiplier_symbols(g, system)
        if not system.contacts:
            unknown = together(g, system, biases(g, system, motion.rates))
    reactions = reactions_of(g, system, multipliers)
    named = named_reactions(g, system, multipliers, reactions)
    released = _released(system, release)
    for x in released:
        named[f"reaction_{x.name}"] = _holding(g, system, x, multipliers)
    declared = dict(zip(system.velocities, nodes.eta, strict=True))
    options = {"release": tuple(x.name for x in released)}
    force = [g.add(f, r) for f, r in zip(motion.force, reactions, strict=True)]
    return equations_of(
        system,
        "multipliers",
        g,
        "Equations with multipliers, d/dt dL/d eta_a - ... - X_a L - Q_a = A_sa lambda_s",
        Permitted(system.velocities, nodes.eta, None, declared, pivots, residuals(g, system, {}), options),
        replace(motion, force=force),
        multiplier_nodes=tuple(multipliers),
        reaction_nodes=named,
        # Integrals hold on the constraints only.
        friction=unknown,
        manifold=impose(g, system, "multipliers", None).permitted or {},
    )


def _refusal(system: CheckedSystem) -> str | None:
    if system.constraints:
        return None
    given = "a parametrization is given" if system.parametrization else "none is given"
    return f"'constraints as equations' fails ({given})"


def _with_constraints(g: Graph, system: CheckedSystem, motion: Motion) -> Motion:
    """The same accelerations and multipliers by a regular matrix (`codegen.declare.inertia`)."""
    rows, bias = system.nodes.constraint_rows, biases(g, system, motion.rates)
    pushes = [g.mul(w, b) for w, b in zip(weights(g, system, motion.mass), bias, strict=True)]
    force = [g.sub(f, g.dot([row[a] for row in rows], pushes)) for a, f in enumerate(motion.force)]
    return Motion(motion.rates, augmented(g, system, motion.mass), force)


def _safest(system: CheckedSystem) -> bool:
    """Whether no choice of independent velocities, which the other forms need, determines the others everywhere."""
    return system.is_driven or not (
        system.kept or (system.contacts and system.redundancy) or system.independence.sound
    )


FORM = Form("multipliers", derive, _refusal, contacts=True, multipliers=True, preferred=_safest)


def solved(
    g: Graph,
    rows: Sequence[Sequence[Node]],
    across: Sequence[Sequence[Node]],
    free: Sequence[Node],
    bias: Sequence[Node],
) -> tuple[list[Node], tuple[tuple[Node, Node], ...]]:
    """lambda, and the pivots of the Schur complement A M^-1 A^T that are not constant, with their limits.

    `rows` is A, `across` M^-1 A^T by columns, `free` M^-1 f, and `bias` b.
    """
    right = [g.neg(g.add(g.dot(row, free), b)) for row, b in zip(rows, bias, strict=True)]
    multipliers, pivots = solve_definite(g, rows, across, right)
    return multipliers, tuple(pivots)


def biases(g: Graph, system: CheckedSystem, rates: Sequence[Node]) -> list[Node]:
    """The derivatives of A eta + A_0 along the flow at fixed eta."""
    return forward(g, system.nodes.affine_constraints(g), system.nodes.fields.flow(g, rates))


def reactions_of(g: Graph, system: CheckedSystem, multipliers: Sequence[Node]) -> list[Node]:
    """A_sa lambda_s, for every velocity."""
    rows = system.nodes.constraint_rows
    return [g.dot([row[a] for row in rows], multipliers) for a in range(len(system.velocities))]


def named_reactions(
    g: Graph, system: CheckedSystem, multipliers: Sequence[Node], reactions: Sequence[Node]
) -> dict[str, Node]:
    """The multipliers by name, and the reactions conjugate to the velocities that constraints contain."""
    named = {f"lambda_{s + 1}": node for s, node in enumerate(multipliers)}
    for a, v in enumerate(system.velocities):
        if any(row[a] != g.zero for row in system.nodes.constraint_rows):
            named[f"reaction_{v.name}"] = reactions[a]
    return named


def _released(
    system: CheckedSystem, release: Sequence[sp.Symbol] | sp.Symbol | None
) -> tuple[sp.Symbol, ...]:
    if release is None:
        return ()
    names = {x.name: x for x in system.coordinates}
    wanted = [release] if isinstance(release, (str, sp.Symbol)) else list(release)
    found = []
    for x in wanted:
        symbol = names.get(getattr(x, "name", x))
        if not isinstance(symbol, Coordinate):
            raise FormError(
                f"multipliers: release: {x!s} is not a coordinate of {system.name!r} ({', '.join(names)})"
            )
        found.append(symbol)
    return tuple(found)


def _holding(g: Graph, system: CheckedSystem, x: sp.Symbol, multipliers: Sequence[Node]) -> Node:
    """The reaction conjugate to dx/dt: the constraint forces' power per unit of that rate.

    The reactions R_a conjugate to eta_a are the components X_a . F of a covector F; F_x is its component along x,
    unique where the rates of all coordinates are velocities of the system.
    """
    nodes, place = system.nodes, system.coordinates.index(x)
    for a, (v, field) in enumerate(zip(system.velocities, nodes.fields.along, strict=True)):
        alone = all(f == (g.one if i == place else g.zero) for i, f in enumerate(field))
        others = all(other[place] == g.zero for b, other in enumerate(nodes.fields.along) if b != a)
        if v == rate(x) or (alone and others):
            node = g.dot([row[a] for row in nodes.constraint_rows], multipliers)
            if node == g.zero:
                raise FormError(f"multipliers: release: no constraint of {system.name!r} holds {x}")
            return node
    raise FormError(
        f"multipliers: release: hypothesis 'the rate of {x} is one of the velocities' fails for {system.name!r}; "
        f"declare a velocity equal to rate({x})"
    )
