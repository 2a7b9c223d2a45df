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
from fractions import Fraction

import sympy as sp

from ...declare.symbols import Parameter, Velocity, time
from ...declare.system import System
from ...graph.differentiate import forward, gradient
from ...graph.graph import Graph, Node
from ...graph.linear import MASS_THRESHOLD, limit
from ...graph.zero import is_zero
from ..equation_nodes import EquationNodes
from . import FormError
from .constraints import Permitted, impose
from .nonholonomic import Permission, bracket_coefficients
from .reduction import momentum_equations, refuse_names

BRANCH_END = Fraction(1, 10**10)
"""eta_1^2 below this fraction of what the energy allows counts as zero: x_1 no longer parametrizes the motion."""


def derive(
    system: System,
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
        raise FormError(f"whittaker: branch is {branch!r}; it must be the sign of eta_1, 1 or -1")
    g = system.nodes.graph.copy()
    _steady(g, system)
    place, first = _leading(g, system, along)
    choice = _permitted(g, system, first, independent)
    one = choice.theta[0]
    permission = Permission.of(g, system, choice)
    _homogeneous(g, system, choice, permission)
    primes = _prime_symbols(system, choice)
    theta = (g.one, *(g.symbol(s.name) for s in primes))
    h = g.symbol("h")
    # Ratios eta'_p as free variables first (L0'), then on the permitted velocities (L').
    free = [g.one if a == first else g.symbol(f"cg_ratio_{a}") for a in range(len(system.nodes.eta))]
    permitted = [g.dot([row[p] for row in permission.slopes], theta) for p in range(len(system.nodes.eta))]
    tau, linear, level = _parts(g, system, free)
    total = g.add(h, level)
    sign = g.const(branch)
    root = g.call("sqrt", g.mul(total, tau))
    reduced = g.add(g.mul(g.mul(g.two, sign), root), linear)
    ratios = [n for a, n in enumerate(free) if a != first]
    on = dict(zip(ratios, [n for a, n in enumerate(permitted) if a != first], strict=True))
    weights = g.substitute(gradient(g, reduced, ratios), on)
    momenta = [*weights[:first], g.zero, *weights[first:]]
    lagrangian, tau = g.substitute([reduced, tau], on)
    x = system.nodes.fields.coordinates
    matrix = system.nodes.fields.matrix()
    rates = [g.dot(row, permitted) for row in matrix]
    k = len(theta)
    slopes = gradient(g, lagrangian, [*theta[1:], *x])
    by_theta, by_x = slopes[: k - 1], slopes[k - 1 :]
    forces = [g.dot(permission.fields[m], by_x) for m in range(1, k)]
    for (j, m), entry in bracket_coefficients(g, system, permission).items():
        if m > 0 and j >= 0:
            forces[m - 1] = g.sub(forces[m - 1], g.mul(g.dot(entry, momenta), theta[j]))
    flow = dict(zip(x, rates, strict=True))
    mass, force = momentum_equations(g, by_theta, forces, theta[1:], flow)
    speed = g.mul(sign, g.call("sqrt", g.div(total, tau)))  # eta_1
    rest = dict.fromkeys(theta[1:], g.zero)
    (still,) = g.substitute([tau], rest)
    kept = tuple(i for i in range(len(x)) if i != place)
    declared_theta = {choice.velocities[0]: speed} | {
        v: g.mul(speed, t) for v, t in zip(choice.velocities[1:], theta[1:], strict=True)
    }
    eta = [g.mul(speed, n) for n in permitted]
    energy = _energy(g, system, choice)
    return EquationNodes(
        system=system,
        form="whittaker",
        options={"along": system.coordinates[place].name, "branch": branch, **choice.options},
        graph=g,
        title="Whittaker's equations, d/dx_1 dL'/d theta'_m - Y_m L' + K_im^b theta'_i dL0'/d eta'_b = 0",
        velocities=(*primes, time),
        velocity_nodes=(*theta[1:], system.nodes.fields.time),
        rates=tuple(rates[i] for i in kept),
        mass=(*map(tuple, mass), (*[g.zero] * (k - 1), g.one)),
        force=(*force, g.div(g.one, speed)),
        declared=declared_theta | dict(zip(system.velocities, eta, strict=True)),
        # The constraints on the velocities hold identically; the holonomic equations drift with the coordinates.
        residuals_nodes={f"holonomic_{i + 1}": node for i, node in enumerate(system.nodes.holonomic)},
        pivots=(
            *choice.pivots,
            (total, limit(g, g.add(g.call("abs", h), g.call("abs", level)), MASS_THRESHOLD)),
            (still, limit(g, tau, BRANCH_END)),
        ),
        kept=kept,
        parameters=(Parameter("h", real=True),),
        independent=system.coordinates[place],
        initial_nodes=(
            *(x[i] for i in kept),
            *(g.div(t, one) for t in choice.theta[1:]),
            g.zero,
            *(g.symbol(p.name) for p in system.parameters),
            energy,
        ),
    )


def _steady(g: Graph, system: System) -> None:
    """Check hypothesis (ii), except for the constraints."""
    where = f"whittaker does not fit {system.name!r}: hypothesis"
    fields = system.nodes.fields
    symbols = {s.name: s for s in system.all_symbols()}
    names = [
        v.name
        for v, n in zip(system.velocities, system.nodes.forces, strict=True)
        if not is_zero(g, n, symbols)
    ]
    if names:
        raise FormError(f"{where} 'no forces besides the potential' fails (forces on {', '.join(names)})")
    roots = [
        system.nodes.kinetic,
        system.nodes.potential,
        *(n for f in fields.along for n in f),
        *system.nodes.beta,
    ]
    roots += [n for row in system.nodes.constraint_rows for n in row]
    if any(n != g.zero for n in fields.drift) or g.depends_on(roots, [fields.time]):
        raise FormError(f"{where} 'nothing depends on time' fails; the energy is not an integral")
    driven = [u.name for u in system.inputs if g.depends_on(roots, [g.symbol(u.name)])]
    if driven:
        raise FormError(
            f"{where} 'nothing depends on time' fails (the potential contains the input {driven[0]})"
        )
    refuse_names(system, ["h"], "the energy")


def _leading(g: Graph, system: System, along: sp.Symbol | str | None) -> tuple[int, int]:
    """The indices of x_1 and of eta_1 = dx_1/dt."""
    found = {}
    for i, x in enumerate(system.coordinates):
        row = [field[i] for field in system.nodes.fields.along]
        if sum(n != g.zero for n in row) == 1 and g.one in row:
            found[x.name] = (i, row.index(g.one))
    where = f"whittaker does not fit {system.name!r}: hypothesis 'dx_1/dt is a velocity of the system' fails"
    if along is None:
        if not found:
            raise FormError(f"{where} for every coordinate; choose a basis in which it holds")
        return next(iter(found.values()))
    name = str(getattr(along, "name", along))
    if name not in [x.name for x in system.coordinates]:
        raise FormError(f"whittaker: along: {name} is not a coordinate of {system.name!r}")
    if name not in found:
        raise FormError(f"{where} for {name}" + (f"; it holds for {', '.join(found)}" if found else ""))
    return found[name]


def _permitted(g: Graph, system: System, first: int, independent: Sequence[sp.Symbol] | None) -> Permitted:
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
        raise FormError(
            f"whittaker does not fit {system.name!r}: hypothesis 'eta_1 is an independent velocity' fails: "
            f"{system.velocities[first]} is bound by the constraints"
        )
    at = choice.theta.index(value)

    def leading(items: Sequence[sp.Symbol | Node]) -> tuple[sp.Symbol | Node, ...]:
        return (items[at], *items[:at], *items[at + 1 :])

    return Permitted(
        leading(choice.velocities),
        leading(choice.theta),
        choice.permitted,
        choice.declared,
        choice.pivots,
        choice.residuals,
        choice.options,
    )


def _homogeneous(g: Graph, system: System, choice: Permitted, permission: Permission) -> None:
    if any(n != g.zero for n in permission.offsets) or not choice.affine(g):
        raise FormError(
            f"whittaker does not fit {system.name!r}: hypothesis 'constraints are linear and homogeneous' fails"
        )
    if len(choice.theta) < 2:
        raise FormError(
            f"whittaker does not fit {system.name!r}: hypothesis 'more than one degree of freedom' fails; only "
            "a quadrature for t remains"
        )


def _prime_symbols(system: System, choice: Permitted) -> tuple[sp.Symbol, ...]:
    names = [f"{v.name}_prime" for v in choice.velocities[1:]]
    refuse_names(system, names, "a state of the form")
    return tuple(Velocity(name, real=True) for name in names)


def _parts(g: Graph, system: System, ratios: Sequence[Node]) -> tuple[Node, Node, Node]:
    """T2 and T1 at the ratios, and T0 - V."""
    lagrangian = system.nodes.lagrangian(g)
    zeros = dict.fromkeys(system.nodes.eta, g.zero)
    slopes = gradient(g, lagrangian, system.nodes.eta)
    second = [forward(g, slopes, {v: g.one}) for v in system.nodes.eta]
    if g.depends_on([n for row in second for n in row], system.nodes.eta):
        raise FormError(
            f"whittaker does not fit {system.name!r}: hypothesis 'L is of second degree in the velocities' fails"
        )
    (level,) = g.substitute([lagrangian], zeros)
    linear = g.dot(g.substitute(slopes, zeros), ratios)
    (value,) = g.substitute([lagrangian], dict(zip(system.nodes.eta, ratios, strict=True)))
    plain = linear == g.zero and level == g.zero
    return (value if plain else _quadratic(g, second, ratios)), linear, level


def _quadratic(g: Graph, matrix: Sequence[Sequence[Node]], v: Sequence[Node]) -> Node:
    return g.div(g.dot(v, [g.dot(row, v) for row in matrix]), g.two)


def _energy(g: Graph, system: System, choice: Permitted) -> Node:
    """h = T2 - T0 + V in the declared variables, on the permitted velocities."""
    lagrangian = system.nodes.lagrangian(g)
    h = g.sub(g.dot(system.nodes.eta, gradient(g, lagrangian, system.nodes.eta)), lagrangian)
    return g.substitute([h], choice.permitted or {})[0]
