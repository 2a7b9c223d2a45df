"""Maggi's equations of nonholonomic systems.

b_pi (d/dt dL0/d eta_p - (c_0p^r + c_qp^r eta_q) dL0/d eta_r - X_p L0 - Q_p) = 0,  eta_p = beta_p(t, x, theta),
b_pi = d beta_p / d theta_i; L0 is taken before the constraints are imposed
(Q. K. Ghori, "Whittaker's reduction method for Poincaré's dynamical equations", 1993, (2.3)).
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from ..checks import example_point
from ..equations import Equations
from ..evaluate import evaluate
from ..fields import numeric_matrix
from ..graph import Graph, Node
from ..linear import choose_pivots, solve
from ..system import System
from . import FormError
from .reduction import balance, project


def derive(system: System, independent: Sequence[sp.Symbol] | None = None) -> Equations:
    """Maggi's equations in all coordinates and the independent velocities (or parameters).

    Option `independent`: the velocities kept as states; chosen at the example point when not given. With a
    parametrization the independent parameters are given already. A nonlinear parametrization follows Chetaev's rule
    (an axiom, not a theorem).

    Hypotheses: there are constraints or a parametrization; the independent velocities determine the others.
    """
    g = system.graph.copy()
    if system.parametrization:
        if independent is not None and tuple(independent) != system.independent:
            raise FormError(
                f"maggi: {system.name!r} is parametrized by {', '.join(s.name for s in system.independent)}; "
                "leave the option independent out"
            )
        kept, theta, permitted = (
            system.independent,
            system.theta,
            dict(zip(system.eta, system.beta, strict=True)),
        )
        pivots: list[tuple[Node, Node]] = []
        residuals: dict[str, Node] = {}
    else:
        if not system.constraints:
            raise FormError(
                f"maggi does not fit {system.name!r}: hypothesis 'the velocities are constrained' fails; "
                "use 'poincare' or 'lagrange'"
            )
        kept = _independent(system, independent)
        theta = tuple(system.eta[system.velocities.index(v)] for v in kept)
        permitted, pivots = _resolve(g, system, kept)
        residuals = _residuals(g, system, permitted)
    motion = project(g, system, balance(g, system), theta, permitted)
    return Equations(
        system=system,
        form="maggi",
        options={"independent": tuple(s.name for s in kept)},
        graph=g,
        title="Maggi's equations, b_pi (d/dt dL0/d eta_p - c_qp^r eta_q dL0/d eta_r - X_p L0 - Q_p) = 0",
        velocities=kept,
        velocity_nodes=theta,
        rates=tuple(motion.rates),
        mass=tuple(map(tuple, motion.mass)),
        force=tuple(motion.force),
        declared={v: permitted[e] for v, e in zip(system.velocities, system.eta, strict=True)},
        residuals_nodes=residuals,
        pivots=tuple(pivots),
    )


def _independent(system: System, wanted: Sequence[sp.Symbol] | None) -> tuple[sp.Symbol, ...]:
    """The independent velocities: those wanted, else the ones that leave the best pivots at the example point."""
    count = len(system.velocities) - len(system.constraints)
    if wanted is None:
        values = numeric_matrix(system.graph, system.constraint_rows, example_point(system))
        dependent = {c for _, c in choose_pivots(values)}
        return tuple(v for a, v in enumerate(system.velocities) if a not in dependent)
    names = {v.name: v for v in system.velocities}
    kept = tuple(names.get(getattr(s, "name", s), s) for s in wanted)
    for s in kept:
        if s not in system.velocities:
            raise FormError(f"maggi: independent: {s!s} is not a velocity ({', '.join(names)})")
    if len(set(kept)) != count:
        raise FormError(f"maggi: independent names {len(set(kept))} velocities; {count} are independent")
    return kept


def _resolve(
    g: Graph, system: System, kept: Sequence[sp.Symbol]
) -> tuple[dict[Node, Node], list[tuple[Node, Node]]]:
    """eta as functions of the independent ones, from A eta + A_0 = 0, and the pivots met on the way."""
    free = [system.velocities.index(v) for v in kept]
    bound = [a for a in range(len(system.velocities)) if a not in free]
    point = example_point(system)
    matrix = [[row[a] for a in bound] for row in system.constraint_rows]
    right = [
        [g.neg(row[a]) for a in free] + [g.neg(offset)]
        for row, offset in zip(system.constraint_rows, system.constraint_offsets, strict=True)
    ]
    try:
        solution, pivots = solve(g, matrix, right, lambda n: evaluate(g, [n], point)[0])
    except ZeroDivisionError:
        raise FormError(
            f"maggi: independent: {', '.join(v.name for v in kept)} do not determine the other velocities of "
            f"{system.name!r} at the example point; choose others"
        ) from None
    permitted = {system.eta[a]: system.eta[a] for a in free}
    for a, row in zip(bound, solution, strict=True):
        permitted[system.eta[a]] = g.add(g.dot(row[:-1], [system.eta[i] for i in free]), row[-1])
    return permitted, pivots


def _residuals(g: Graph, system: System, permitted: dict[Node, Node]) -> dict[str, Node]:
    """A eta + A_0 on the resolved velocities: zero but for rounding."""
    eta = [permitted[e] for e in system.eta]
    return {
        f"constraint_{i + 1}": g.add(g.dot(row, eta), offset)
        for i, (row, offset) in enumerate(zip(system.constraint_rows, system.constraint_offsets, strict=True))
    }
