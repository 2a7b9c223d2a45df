"""Whittaker's reduction of Poincaré's equations: a coordinate x_1 as the independent variable, energy eliminated.

With dx_1/dt = eta_1 = theta_1, eta'_p = eta_p/eta_1, tau = T2(x; eta') and U = T0 - V,
eta_1 = s ((h + U)/tau)^(1/2),  L0' = 2 s ((h + U) tau)^(1/2) + T1(x; eta'),  s = +1 or -1 (the branch),
d/dx_1 dL'/d theta'_m - Y_m L' + K_im^b theta'_i dL0'/d eta'_b = 0,   m = 2..k, b = 2..n, i = 1..k, theta'_1 = 1,
dx_s/dx_1 = xi_p^s eta'_p,   dt/dx_1 = 1/eta_1.

Source: Q. K. Ghori, "Whittaker's reduction method for Poincaré's dynamical equations" (1993), (4.11); the sum over i
includes i = 1, and L can depend on x_1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import sympy as sp

from chaplygin.errors import FormError
from chaplygin.runtime.interface.messages import short

from ..derive.equation_nodes import EquationNodes, misfit
from ..graph.differentiate import gradient
from ..graph.graph import Graph, Node
from ..graph.linear import MASS_THRESHOLD, limit
from ..identities.zero import is_zero
from ..symbols.symbols import Parameter, Velocity, time
from ..system.checked_system import CheckedSystem
from .constraints import Permitted, impose
from .form import Form
from .nonholonomic import Permission, bracket_coefficients
from .reduction import hessian, momentum_equations, new_symbols

BRANCH_END = Fraction(1, 10**10)
"""eta_1^2 below this fraction of what the energy allows counts as zero: x_1 no longer parametrizes the motion."""


def derive(
    system: CheckedSystem,
    along: sp.Symbol | str | None = None,
    branch: int = 1,
    independent: Sequence[sp.Symbol] | None = None,
) -> EquationNodes:
    """Whittaker's equations; states: the other coordinates, `<velocity>_prime`, `t`; the energy `h` is a parameter.

    Options: `along`, the coordinate x_1 (default: the first that fits); `branch`, the sign of eta_1;
    `independent`, the velocities kept as independent ones, as for `maggi`. The time argument of the model is x_1.

    Hypotheses: (i) dx_1/dt is an independent velocity of the system; (ii) nothing depends on time,
    constraints are linear and homogeneous, no forces besides the potential; (iii) eta_1 keeps its sign (the run ends
    with the status `singular` where it vanishes); (iv) L is of second degree in the velocities.
    """
    if branch not in (1, -1):
        raise FormError(f"whittaker: branch is {short(branch)}; it must be the sign of eta_1, 1 or -1")
    nodes, g, fields = system.nodes, system.nodes.graph.copy(), system.nodes.fields
    _steady(g, system)
    constants = new_symbols(system, Parameter, ["h"], "the energy")
    place, first = _leading(g, system, along)
    choice = _permitted(g, system, first, independent)
    permission = Permission.of(g, system, choice)
    _homogeneous(g, system, choice, permission)
    names = [f"{v.name}_prime" for v in choice.velocities[1:]]
    primes = new_symbols(system, Velocity, names, "a state of the form")
    reduced = _reduced(g, system, first, branch, permission, [g.symbol(s.name) for s in primes])
    rates, mass, force = _equations(g, system, permission, reduced)
    theta = reduced.theta
    speed = g.mul(g.const(branch), g.call("sqrt", g.div(reduced.total, reduced.tau)))
    (still,) = g.substitute([reduced.tau], dict.fromkeys(theta[1:], g.zero))
    kept = tuple(i for i in range(len(rates)) if i != place)
    declared = {v: g.mul(speed, t) for v, t in zip(choice.velocities, theta, strict=True)}
    declared |= {v: g.mul(speed, n) for v, n in zip(system.velocities, reduced.permitted, strict=True)}
    (energy,) = g.substitute([nodes.energy(g)], choice.permitted or {})
    passage = g.div(g.one, speed)  # dt/dx_1
    largest = g.add(g.call("abs", reduced.energy), g.call("abs", reduced.level))
    one, *others = choice.theta
    return EquationNodes(
        system=system,
        form="whittaker",
        options={"along": system.coordinates[place].name, "branch": branch, **choice.options},
        graph=g,
        title="Whittaker's equations, d/dx_1 dL'/d theta'_m - Y_m L' + K_im^b theta'_i dL0'/d eta'_b = 0",
        velocities=(*primes, time),
        velocity_nodes=(*theta[1:], fields.time),
        rates=tuple(rates[i] for i in kept),
        mass=(*map(tuple, mass), (*[g.zero] * len(primes), g.one)),
        force=(*force, passage),
        declared=declared,
        # The constraints on the velocities hold identically; the holonomic equations drift with the coordinates.
        residuals_nodes={f"holonomic_{i + 1}": node for i, node in enumerate(nodes.holonomic)},
        pivots=(
            *choice.pivots,
            (reduced.total, limit(g, largest, MASS_THRESHOLD)),
            (still, limit(g, reduced.tau, BRANCH_END)),
        ),
        resolved=choice.resolved,
        kept=kept,
        parameters=constants,
        independent=system.coordinates[place],
        initial_nodes=(
            *(fields.coordinates[i] for i in kept),
            *(g.div(t, one) for t in others),
            g.zero,
            *(g.symbol(p.name) for p in system.parameters),
            energy,
        ),
    )


FORM = Form("whittaker", derive)


@dataclass(frozen=True)
class _EnergyLevel:
    """The reduced Lagrangian along x_1, as a function of theta' = (1, ...)."""

    theta: tuple[Node, ...]
    permitted: list[Node]  # eta'_p on the permitted velocities
    energy: Node  # h
    level: Node  # U
    total: Node  # h + U
    tau: Node
    lagrangian: Node  # L'
    momenta: list[Node]  # dL0'/d eta'_p, zero for eta'_1


def _reduced(
    g: Graph, system: CheckedSystem, first: int, branch: int, permission: Permission, primes: Sequence[Node]
) -> _EnergyLevel:
    """L0' with the ratios eta'_p as free variables, then L' on the permitted velocities."""
    theta, h, sign = (g.one, *primes), g.symbol("h"), g.const(branch)
    count = range(len(system.nodes.eta))
    free = [g.one if p == first else g.symbol(f"cg_ratio_{p}") for p in count]
    permitted = [g.dot([row[p] for row in permission.slopes], theta) for p in count]
    tau, linear, level = _parts(g, system, free)
    total = g.add(h, level)
    root = g.call("sqrt", g.mul(total, tau))
    reduced = g.add(g.mul(g.mul(g.two, sign), root), linear)
    on = {free[p]: permitted[p] for p in count if p != first}
    momenta = g.substitute(gradient(g, reduced, list(on)), on)
    momenta.insert(first, g.zero)
    lagrangian, tau = g.substitute([reduced, tau], on)
    return _EnergyLevel(theta, permitted, h, level, total, tau, lagrangian, momenta)


def _equations(
    g: Graph, system: CheckedSystem, permission: Permission, reduced: _EnergyLevel
) -> tuple[list[Node], list[list[Node]], list[Node]]:
    """dx/dx_1, and M and f of the equations for theta'."""
    theta, x = reduced.theta, system.nodes.fields.coordinates
    rates = [g.dot(row, reduced.permitted) for row in system.nodes.fields.matrix()]
    k = len(theta)
    slopes = gradient(g, reduced.lagrangian, [*theta[1:], *x])
    by_theta, by_x = slopes[: k - 1], slopes[k - 1 :]
    forces = [g.dot(permission.fields.along[m], by_x) for m in range(1, k)]
    for (j, m), entry in bracket_coefficients(g, system, permission).items():
        if m > 0 and j >= 0:
            forces[m - 1] = g.sub(forces[m - 1], g.mul(g.dot(entry, reduced.momenta), theta[j]))
    flow = dict(zip(x, rates, strict=True))
    return rates, *momentum_equations(g, by_theta, forces, theta[1:], flow)


def _steady(g: Graph, system: CheckedSystem) -> None:
    """Check hypothesis (ii), except for the constraints."""
    nodes = system.nodes
    fields = nodes.fields
    names = [
        v.name
        for v, n in zip(system.velocities, nodes.forces, strict=True)
        if not is_zero(g, n, system.symbols)
    ]
    if names:
        why = f" (forces on {', '.join(names)})"
        raise misfit("whittaker", system, "no forces besides the potential", why)
    roots = [nodes.kinetic, nodes.potential, *nodes.beta]
    roots += [n for row in nodes.constraint_rows for n in row]
    if not fields.autonomous(g) or g.depends_on(roots, [fields.time]):
        raise misfit("whittaker", system, "nothing depends on time", "; the energy is not an integral")
    driven = [u.name for u in system.inputs if g.depends_on(roots, [g.symbol(u.name)])]
    if driven:
        why = f" (the potential contains the input {driven[0]})"
        raise misfit("whittaker", system, "nothing depends on time", why)


def _leading(g: Graph, system: CheckedSystem, along: sp.Symbol | str | None) -> tuple[int, int]:
    """The indices of x_1 and of eta_1 = dx_1/dt."""
    found = {}
    for i, x in enumerate(system.coordinates):
        row = [field[i] for field in system.nodes.fields.along]
        if sum(n != g.zero for n in row) == 1 and g.one in row:
            found[x.name] = (i, row.index(g.one))
    hypothesis = "dx_1/dt is a velocity of the system"
    if along is None:
        if not found:
            why = " for every coordinate; choose a basis in which it holds"
            raise misfit("whittaker", system, hypothesis, why)
        return next(iter(found.values()))
    name = str(getattr(along, "name", along))
    if name not in [x.name for x in system.coordinates]:
        raise FormError(f"whittaker: along: {name} is not a coordinate of {system.name!r}")
    if name not in found:
        why = f" for {name}" + (f"; it holds for {', '.join(found)}" if found else "")
        raise misfit("whittaker", system, hypothesis, why)
    return found[name]


def _permitted(
    g: Graph, system: CheckedSystem, first: int, independent: Sequence[sp.Symbol] | None
) -> Permitted:
    """The permitted velocities with eta_1 leading the independent ones."""
    choice = impose(g, system, "whittaker", independent)
    eta = system.nodes.eta[first]
    value = (choice.permitted or {}).get(eta, eta)
    if value not in choice.theta and independent is None and system.constraints:
        # Chosen without eta_1: try it in place of each of the others.
        leader = system.velocities[first]
        for out in choice.velocities:
            try:
                choice = impose(g, system, "whittaker", [leader, *(v for v in choice.velocities if v != out)])
            except FormError:
                continue
            value = eta
            break
    if value not in choice.theta:
        why = f": {system.velocities[first]} is bound by the constraints"
        raise misfit("whittaker", system, "eta_1 is an independent velocity", why)
    at = choice.theta.index(value)

    def leading(items: Sequence[Any]) -> tuple[Any, ...]:
        return (items[at], *items[:at], *items[at + 1 :])

    return replace(choice, velocities=leading(choice.velocities), theta=leading(choice.theta))


def _homogeneous(g: Graph, system: CheckedSystem, choice: Permitted, permission: Permission) -> None:
    if any(n != g.zero for n in permission.offsets) or not choice.affine(g):
        raise misfit("whittaker", system, "constraints are linear and homogeneous")
    if len(choice.theta) < 2:
        why = "; only a quadrature for t remains"
        raise misfit("whittaker", system, "more than one degree of freedom", why)


def _parts(g: Graph, system: CheckedSystem, ratios: Sequence[Node]) -> tuple[Node, Node, Node]:
    """T2 and T1 at the ratios, and T0 - V."""
    nodes = system.nodes
    lagrangian = nodes.lagrangian(g)
    zeros = dict.fromkeys(nodes.eta, g.zero)
    slopes = nodes.momenta(g)
    second = hessian(g, system, "whittaker", slopes, nodes.eta)
    (level,) = g.substitute([lagrangian], zeros)
    linear = g.dot(g.substitute(slopes, zeros), ratios)
    (value,) = g.substitute([lagrangian], dict(zip(nodes.eta, ratios, strict=True)))
    plain = linear == g.zero and level == g.zero
    if not plain:
        value = g.div(g.dot(ratios, [g.dot(row, ratios) for row in second]), g.two)
    return value, linear, level
