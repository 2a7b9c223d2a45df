"""Permitted velocities of a constrained system: eta = beta(t, x, theta), from constraints or a parametrization."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy as sp

from chaplygin.errors import FormError

from ..derive.equation_nodes import EquationNodes
from ..graph.differentiate import partials
from ..graph.evaluate import evaluate
from ..graph.graph import Graph, Node
from ..graph.linear import solve, solve_whole
from ..system.checked_system import CheckedSystem
from ..system.fields import are_constant
from ..system.points import example_point
from .reduction import Motion


@dataclass(frozen=True)
class Permitted:
    """The independent velocities (or parameters) theta, and the declared velocities as functions of them.

    `permitted` maps eta to beta(t, x, theta), None for a free system; `pivots` come from resolving the constraints,
    `resolved` are those that may vanish somewhere; `residuals` are the constraints at the resolved velocities, zero up
    to rounding.
    """

    velocities: tuple[sp.Symbol, ...]
    theta: tuple[Node, ...]
    permitted: Mapping[Node, Node] | None
    declared: Mapping[sp.Symbol, Node]
    pivots: tuple[tuple[Node, Node], ...] = ()
    residuals: Mapping[str, Node] = field(default_factory=dict)
    options: Mapping[str, object] = field(default_factory=dict)
    resolved: tuple[tuple[Node, Node], ...] = ()

    def affine(self, g: Graph) -> bool:
        """Whether the permitted velocities are affine in theta."""
        beta = list((self.permitted or {}).values())
        slopes = [n for column in partials(g, beta, self.theta) for n in column]
        return are_constant(g, slopes, self.theta, {})

    def axiom(self, g: Graph) -> str:
        """The note in the title for a nonlinear parametrization."""
        return "" if self.affine(g) else "; with Chetaev's rule, an axiom"


def equations_of(
    system: CheckedSystem, form: str, g: Graph, title: str, choice: Permitted, motion: Motion, **more: Any
) -> EquationNodes:
    """The `EquationNodes` of a motion in all coordinates and the independent velocities; `more` are further fields."""
    return EquationNodes(
        system=system,
        form=form,
        options=choice.options,
        graph=g,
        title=title + choice.axiom(g),
        velocities=choice.velocities,
        velocity_nodes=choice.theta,
        rates=tuple(motion.rates),
        mass=tuple(map(tuple, motion.mass)),
        force=tuple(motion.force),
        declared=choice.declared,
        residuals_nodes=choice.residuals,
        pivots=choice.pivots,
        resolved=choice.resolved,
        **more,
    )


def impose(g: Graph, system: CheckedSystem, form: str, wanted: Sequence[sp.Symbol] | None) -> Permitted:
    """Resolve the constraints of a system, if it has any.

    `wanted` names the independent velocities; without it they are those that the system keeps, or the best choice of
    `codegen.declare.independence`. Raises FormError if they do not determine the others.
    """
    nodes = system.nodes
    if system.parametrization:
        if wanted is not None and tuple(wanted) != system.independent:
            raise FormError(
                f"{form}: {system.name!r} is parametrized by {', '.join(s.name for s in system.independent)}; "
                "omit the option independent"
            )
        permitted = dict(zip(nodes.eta, nodes.beta, strict=True))
        declared = dict(zip(system.velocities, nodes.beta, strict=True))
        return Permitted(system.independent, nodes.theta, permitted, declared)
    if not system.constraints:
        if wanted is not None:
            raise FormError(f"{form}: {system.name!r} has no constraints; omit the option independent")
        declared = dict(zip(system.velocities, nodes.eta, strict=True))
        return Permitted(system.velocities, nodes.eta, None, declared)
    kept = _independent(system, form, wanted)
    sound = system.independence.is_sound([system.velocities.index(v) for v in kept])
    resolved, pivots = _resolve(g, system, form, kept, sound)
    return Permitted(
        kept,
        tuple(nodes.eta[system.velocities.index(v)] for v in kept),
        resolved,
        {v: resolved[e] for v, e in zip(system.velocities, nodes.eta, strict=True)},
        tuple(pivots),
        residuals(g, system, resolved),
        {"independent": tuple(s.name for s in kept)},
        () if sound else tuple(pivots),
    )


def _independent(
    system: CheckedSystem, form: str, wanted: Sequence[sp.Symbol] | None
) -> tuple[sp.Symbol, ...]:
    """The independent velocities: those wanted or kept, or else the best choice."""
    count = len(system.velocities) - len(system.independent_constraints)
    wanted = system.kept or None if wanted is None else wanted
    if wanted is None:
        return tuple(system.velocities[a] for a in system.independence.velocities)
    names = {v.name: v for v in system.velocities}
    kept = tuple(names.get(getattr(s, "name", s), s) for s in wanted)
    for s in kept:
        if s not in system.velocities:
            raise FormError(f"{form}: independent: {s!s} is not a velocity ({', '.join(names)})")
    if len(set(kept)) != count or len(kept) != count:
        raise FormError(f"{form}: independent names {len(set(kept))} velocities; {count} are independent")
    return kept


def _resolve(
    g: Graph, system: CheckedSystem, form: str, kept: Sequence[sp.Symbol], sound: bool
) -> tuple[dict[Node, Node], list[tuple[Node, Node]]]:
    """eta as functions of the independent velocities, from A eta + A_0 = 0, and the pivots of the elimination.

    A minor that stays away from zero does not mean that the pivots do: a rotation matrix has a zero in any place at
    some attitude. Then the rows are solved without pivots that depend on the state.
    """
    nodes = system.nodes
    free = [system.velocities.index(v) for v in kept]
    bound = [a for a in range(len(system.velocities)) if a not in free]
    point = example_point(system.nodes)
    kept_rows = [nodes.constraint_rows[s] for s in system.independent_constraints]
    offsets = [nodes.constraint_offsets[s] for s in system.independent_constraints]
    matrix = [[row[a] for a in bound] for row in kept_rows]
    right = [
        [g.neg(row[a]) for a in free] + [g.neg(offset)]
        for row, offset in zip(kept_rows, offsets, strict=True)
    ]
    try:
        solution, pivots = solve(g, matrix, right, lambda n: evaluate(g, [n], point)[0])
    except ZeroDivisionError:
        raise FormError(
            f"{form}: independent: {', '.join(v.name for v in kept)} do not determine the other velocities of "
            f"{system.name!r} at the example point; choose others"
        ) from None
    if sound and not system.independence.are_even(g, pivots):
        solution, pivots = solve_whole(g, matrix, right)
    permitted = {nodes.eta[a]: nodes.eta[a] for a in free}
    for a, row in zip(bound, solution, strict=True):
        permitted[nodes.eta[a]] = g.add(g.dot(row[:-1], [nodes.eta[i] for i in free]), row[-1])
    return permitted, pivots


def residuals(g: Graph, system: CheckedSystem, permitted: Mapping[Node, Node]) -> dict[str, Node]:
    """The declared constraints at the resolved velocities, zero up to rounding, and the holonomic equations."""
    velocities = g.substitute(system.nodes.constraints, permitted)
    found = {f"constraint_{i + 1}": node for i, node in enumerate(velocities)}
    return found | {f"holonomic_{i + 1}": node for i, node in enumerate(system.nodes.holonomic)}
