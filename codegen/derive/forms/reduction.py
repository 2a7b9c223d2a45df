"""Shared by the forms: momenta and forces of the free system, and their projection on permitted velocities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from chaplygin.runtime.errors import FormError

from ...declare.system import System
from ...graph.differentiate import forward, gradient, partials
from ...graph.graph import Graph, Node
from ..structure import structure_functions
from .form import misfit

Structure = Mapping[tuple[int, int], Sequence[tuple[int, Node]]]
"""c_ab^i for a < b (a = -1: X_0) as {(a, b): [(i, node), ...]}."""


def refuse_names(system: System, names: Iterable[str], what: str) -> None:
    """Raise FormError if the system uses a name that the form needs for `what`."""
    taken = {s.name for s in system.all_symbols()}
    for name in names:
        if name in taken:
            raise FormError(
                f"{system.name!r} uses the name {name!r}, which the form needs for {what}; rename it"
            )


@dataclass(frozen=True)
class Balance:
    """d p_j / dt = force_j, for every velocity of the system.

    p_j = dL/d eta_j;  force_j = (c_0j^b + c_aj^b eta_a) p_b + X_j L + Q_j.
    """

    momenta: list[Node]
    forces: list[Node]


def balance(g: Graph, system: System, brackets: bool = True) -> Balance:
    """The Poincaré-Chetaev balance of momenta; `brackets=False` omits the structure functions (c = 0)."""
    nodes = system.nodes
    fields, eta = nodes.fields, nodes.eta
    lagrangian = nodes.lagrangian(g)
    slopes = gradient(g, lagrangian, [*eta, *fields.coordinates])
    momenta, by_x = slopes[: len(eta)], slopes[len(eta) :]
    forces = [g.add(g.dot(field, by_x), q) for field, q in zip(fields.along, nodes.forces, strict=True)]
    if brackets:
        add_brackets(g, forces, structure_functions(g, system), momenta, eta)
    return Balance(momenta, forces)


def add_brackets(
    g: Graph, forces: list[Node], structure: Structure, momenta: Sequence[Node], velocities: Sequence[Node]
) -> None:
    """Add (c_0j^b + c_aj^b eta_a) p_b to force_j, for every j."""
    for (a, b), entries in structure.items():
        for i, c in entries:
            term = g.mul(c, momenta[i])
            if a < 0:
                forces[b] = g.add(forces[b], term)
            else:  # c_ab^i = -c_ba^i
                forces[b] = g.add(forces[b], g.mul(term, velocities[a]))
                forces[a] = g.sub(forces[a], g.mul(term, velocities[b]))


def hessian(
    g: Graph,
    system: System,
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
) -> tuple[list[list[Node]], list[Node]]:
    """d p_i/dt = force_i as M theta' = f: the lower triangle of M, and f.

    M_ij = dp_i/d theta_j; f is the force minus the derivative of p along the flow at fixed theta, in one sweep.
    """
    bias = forward(g, momenta, flow)
    columns = partials(g, momenta, theta)
    mass = [[columns[j][i] for j in range(i + 1)] for i in range(len(theta))]
    return mass, [g.sub(f, d) for f, d in zip(forces, bias, strict=True)]


def project(
    g: Graph,
    system: System,
    law: Balance,
    theta: Sequence[Node],
    permitted: Mapping[Node, Node] | None = None,
) -> Motion:
    """Project the balance of momenta on the velocities eta = beta(t, x, theta).

    b_pi (d p_p/dt - force_p) = 0 with b_pi = d beta_p / d theta_i; p is taken before the constraints are imposed and
    evaluated on them. `permitted` maps eta to beta; without it eta = theta.
    """
    nodes = system.nodes
    fields = nodes.fields
    rates = fields.velocity(g, nodes.eta)
    momenta, forces = law.momenta, law.forces
    if permitted:
        n, k = len(rates), len(momenta)
        moved = g.substitute([*rates, *momenta, *forces], permitted)
        rates, momenta, forces = moved[:n], moved[n : n + k], moved[n + k :]
    flow = fields.flow(g, rates)
    if not permitted:
        return Motion(rates, *momentum_equations(g, momenta, forces, theta, flow))
    bias = forward(g, momenta, flow)
    columns = partials(g, momenta, theta)
    rest = [g.sub(f, d) for f, d in zip(forces, bias, strict=True)]
    beta = [permitted[e] for e in nodes.eta]
    permits = partials(g, beta, theta)  # permits[i][p] = b_pi
    mass = [[g.dot(permits[i], columns[j]) for j in range(i + 1)] for i in range(len(theta))]
    return Motion(rates, mass, [g.dot(b, rest) for b in permits])
