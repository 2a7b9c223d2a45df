"""Shared by the forms: momenta and forces of the free system, and their projection on permitted velocities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import sympy as sp

from chaplygin.errors import FormError

from ..derive.equation_nodes import misfit
from ..graph.differentiate import forward, partials
from ..graph.graph import Graph, Node
from ..system.checked_system import CheckedSystem


def new_symbols(
    system: CheckedSystem, kind: type[sp.Symbol], names: Iterable[str], what: str
) -> tuple[sp.Symbol, ...]:
    """The symbols that a form needs for `what`. Raises FormError if the system uses one of the names."""
    names, taken = tuple(names), {s.name for s in system.all_symbols()}
    for name in names:
        if name in taken:
            raise FormError(
                f"{system.name!r} uses the name {name!r}, which the form needs for {what}; rename it"
            )
    return tuple(kind(name, real=True) for name in names)


def hessian(
    g: Graph,
    system: CheckedSystem,
    form: str,
    momenta: Sequence[Node],
    eta: Sequence[Node],
    what: str = "the velocities",
) -> list[list[Node]]:
    """d p_i/d eta_j by columns. Raises FormError unless L is of second degree in these velocities."""
    columns = partials(g, momenta, eta)
    if g.depends_on([n for column in columns for n in column], eta):
        raise misfit(form, system, f"L is of second degree in {what}")
    return columns


@dataclass(frozen=True)
class Motion:
    """M theta' = f with dx/dt = rates: equations in the coordinates x and the parameters theta."""

    rates: list[Node]
    mass: list[list[Node]]
    force: list[Node]


def momentum_equations(
    g: Graph,
    momenta: Sequence[Node],
    forces: Sequence[Node],
    theta: Sequence[Node],
    flow: Mapping[Node, Node],
    beta: Sequence[Node] | None = None,
) -> tuple[list[list[Node]], list[Node]]:
    """d p_i/dt = force_i as M theta' = f: the lower triangle of M, and f.

    M_ij = dp_i/d theta_j; f is the force minus the derivative of p along the flow at fixed theta, in one sweep. With
    eta = `beta`(t, x, theta) both are projected on the b_i = d beta / d theta_i.
    """
    bias = forward(g, momenta, flow)
    columns = partials(g, momenta, theta)
    rest = [g.sub(f, d) for f, d in zip(forces, bias, strict=True)]
    if beta is None:
        return [[columns[j][i] for j in range(i + 1)] for i in range(len(theta))], rest
    permits = partials(g, beta, theta)
    mass = [[g.dot(b, columns[j]) for j in range(i + 1)] for i, b in enumerate(permits)]
    return mass, [g.dot(b, rest) for b in permits]


def project(
    g: Graph,
    system: CheckedSystem,
    law: tuple[Sequence[Node], Sequence[Node]],
    theta: Sequence[Node],
    permitted: Mapping[Node, Node] | None = None,
) -> Motion:
    """Project the balance of momenta on the velocities eta = beta(t, x, theta).

    b_pi (d p_p/dt - force_p) = 0 with b_pi = d beta_p / d theta_i; p is taken before the constraints are imposed and
    evaluated on them. `permitted` maps eta to beta; without it eta = theta.
    """
    nodes, fields = system.nodes, system.nodes.fields
    rates = fields.velocity(g, nodes.eta)
    momenta, forces = law
    beta = None
    if permitted:
        n, k = len(rates), len(momenta)
        moved = g.substitute([*rates, *momenta, *forces], permitted)
        rates, momenta, forces = moved[:n], moved[n : n + k], moved[n + k :]
        beta = [permitted[e] for e in nodes.eta]
    return Motion(rates, *momentum_equations(g, momenta, forces, theta, fields.flow(g, rates), beta))
