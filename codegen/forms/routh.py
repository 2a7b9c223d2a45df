"""Routh's equations of a system with cyclic displacements.

a_r = dL/d eta_r (r cyclic),  R(t, x, eta_j, a) = L - a_r eta_r with eta_r eliminated,  eta_r = -dR/da_r,
d/dt dR/d eta_j = (c_0j^b + c_ij^b eta_i) dR/d eta_b + (c_0j^r + c_ij^r eta_i) a_r + X_j R + Q_j,
with i, j, b over the remaining velocities and r over the cyclic ones.

Source: Encyclopedia of Mathematics, "Poincaré equations", (2); c_0 and Q extend it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from chaplygin.errors import FormError

from ..derive.cyclic import cyclic_velocities, failing_condition
from ..derive.equation_nodes import EquationNodes, misfit
from ..derive.structure import add_brackets, structure_functions
from ..graph.differentiate import gradient
from ..graph.graph import Graph, Node
from ..graph.linear import LDL
from ..graph.to_sympy import expressions
from ..identities.zero import are_zero
from ..symbols.symbols import Parameter
from ..system.checked_system import CheckedSystem
from .form import Form, constrained
from .reduction import hessian, momentum_equations, new_symbols


def derive(system: CheckedSystem, ignore: Sequence[sp.Symbol] | None = None) -> EquationNodes:
    """Routh's equations in the remaining velocities; the momenta `a_<velocity>` of the others are parameters.

    Option `ignore`: the cyclic velocities to eliminate, by default all of them. Coordinates that appear in
    no remaining equation and in no output drop out of the states.

    Hypotheses: no constraints on the velocities; each ignored displacement is cyclic (X_r L = 0, X_r commutes with
    every field and with X_0, Q_r = 0); L of second degree in the ignored velocities; a velocity remains.
    """
    nodes = system.nodes
    g, fields = nodes.graph.copy(), nodes.fields
    gone = _ignored(g, system, ignore)
    names = [f"a_{system.velocities[r].name}" for r in gone]
    constants = new_symbols(system, Parameter, names, "a cyclic momentum")
    reduced = _reduced(g, system, gone, [g.symbol(s.name) for s in constants])
    rates, mass, force = _equations(g, system, reduced)
    # The user's outputs and events keep the coordinates that they need.
    events = [n for e in nodes.events for n in e.expressions]
    wanted = g.substitute([*nodes.outputs.values(), *events], reduced.eliminated)
    kept = _closed(g, fields.coordinates, rates, [*force, *(m for row in mass for m in row), *wanted])
    declared = {system.velocities[r]: g.neg(s) for r, s in zip(gone, reduced.by_a, strict=True)}
    declared |= {system.velocities[j]: nodes.eta[j] for j in reduced.stay}
    return EquationNodes(
        system=system,
        form="routh",
        options={"ignore": tuple(system.velocities[r].name for r in gone)},
        graph=g,
        title="Routh's equations, d/dt dR/d eta_j = c_ij^b eta_i dR/d eta_b + c_ij^r eta_i a_r + X_j R + Q_j",
        velocities=tuple(system.velocities[j] for j in reduced.stay),
        velocity_nodes=reduced.eta,
        rates=tuple(rates[i] for i in kept),
        mass=tuple(map(tuple, mass)),
        force=tuple(force),
        declared={v: declared[v] for v in system.velocities},
        pivots=reduced.pivots,
        kept=kept,
        parameters=constants,
        initial_nodes=(
            *(fields.coordinates[i] for i in kept),
            *reduced.eta,
            *(g.symbol(p.name) for p in system.parameters),
            *reduced.cyclic_momenta,
        ),
        routhian=reduced.routhian,
    )


FORM = Form("routh", derive, constrained)


@dataclass(frozen=True)
class _Reduced:
    """Routh's function R, and what follows from eliminating the cyclic velocities."""

    stay: list[int]  # the remaining velocities
    eta: tuple[Node, ...]
    eliminated: dict[Node, Node]  # the cyclic velocities, by the others and a
    pivots: tuple[tuple[Node, Node], ...]
    routhian: Node
    cyclic_momenta: list[Node]  # dL/d eta_r
    momenta: list[Node]  # dR/d eta_j and a_r: the momenta of all velocities
    by_x: list[Node]  # dR/dx
    by_a: list[Node]  # dR/da_r


def _reduced(g: Graph, system: CheckedSystem, gone: Sequence[int], constants: Sequence[Node]) -> _Reduced:
    """R(t, x, eta_j, a) = L - a_r eta_r and its derivatives."""
    nodes = system.nodes
    eta, x = nodes.eta, nodes.fields.coordinates
    stay = [a for a in range(len(eta)) if a not in gone]
    lagrangian, momenta = nodes.lagrangian(g), nodes.momenta(g)
    cyclic = [momenta[r] for r in gone]
    eliminated, pivots = _eliminate(g, system, cyclic, gone, constants)
    (routhian,) = g.substitute([g.sub(lagrangian, g.dot(constants, [eta[r] for r in gone]))], eliminated)
    left = tuple(eta[j] for j in stay)
    slopes = gradient(g, routhian, [*left, *x, *constants])
    k, n = len(stay), len(x)
    by_eta, by_x, by_a = slopes[:k], slopes[k : k + n], slopes[k + n :]
    every = dict(zip([*stay, *gone], [*by_eta, *constants], strict=True))
    own = [every[a] for a in range(len(eta))]
    return _Reduced(stay, left, eliminated, pivots, routhian, cyclic, own, by_x, by_a)


def _equations(
    g: Graph, system: CheckedSystem, reduced: _Reduced
) -> tuple[list[Node], list[list[Node]], list[Node]]:
    """dx/dt, and M and f of the equations in the remaining velocities."""
    nodes = system.nodes
    fields = nodes.fields
    forces = [g.add(g.dot(f, reduced.by_x), q) for f, q in zip(fields.along, nodes.forces, strict=True)]
    add_brackets(g, forces, structure_functions(g, system), reduced.momenta, nodes.eta)
    rates = g.substitute(fields.velocity(g, nodes.eta), reduced.eliminated)
    right = g.substitute([forces[j] for j in reduced.stay], reduced.eliminated)
    momenta = [reduced.momenta[j] for j in reduced.stay]
    return rates, *momentum_equations(g, momenta, right, reduced.eta, fields.flow(g, rates))


def reduced_system(eqs: EquationNodes) -> CheckedSystem:
    """The reduced system, with L = R.

    Raises FormError if the remaining displacements do not close (some c_ij^r of a cyclic r is nonzero), or if a
    cyclic velocity moves a remaining coordinate.
    """
    system, g = eqs.system, eqs.graph
    if eqs.routhian is None:
        raise FormError(f"only the form routh has a reduced system, not {eqs.form!r}")
    gone = [a for a, v in enumerate(system.velocities) if v not in eqs.velocities]
    for (a, b), entries in structure_functions(g, system).items():
        for i, _ in entries:
            if i in gone:
                first = "X_0" if a < 0 else f"X_{system.velocities[a]}"
                raise FormError(
                    f"{system.name!r}: hypothesis 'the remaining displacements close' fails: [{first}, "
                    f"X_{system.velocities[b]}] has a component along X_{system.velocities[i]}"
                )
    symbols = eqs.symbols
    for i in eqs.kept or ():
        if not are_zero(g, [system.nodes.fields.along[r][i] for r in gone], symbols):
            raise FormError(
                f"{system.name!r}: the coordinate {system.coordinates[i]} is moved by a cyclic velocity"
            )
    (routhian,) = expressions(g, [eqs.routhian], symbols)
    free = routhian.subs(dict.fromkeys(eqs.velocities, 0))
    expressed = dict(zip(eqs.declared, expressions(g, list(eqs.declared.values()), symbols), strict=True))

    def own(e: Any) -> Any:
        """An expression of the full system with the cyclic velocities eliminated."""
        return e.subs({v: n for v, n in expressed.items() if v not in eqs.velocities})

    outputs = {n: own(e) for n, e in system.outputs.items()}
    remaining = {*eqs.coordinates, *eqs.velocities, *system.parameters, *system.inputs, *outputs}
    dropped = {*system.coordinates, *system.velocities} - {*eqs.coordinates, *eqs.velocities}
    return CheckedSystem(
        f"{system.name}_reduced",
        kinematics={x: system.kinematics[x] for x in eqs.coordinates},
        kinetic=sp.expand(routhian - free),
        potential=-free,
        forces={v: own(f) for v, f in system.forces.items() if v in eqs.velocities},
        outputs=outputs,
        units={s: text for s, text in system.units.items() if s in remaining},
        descriptions={s: text for s, text in system.descriptions.items() if s in remaining},
        example={s: v for s, v in system.example.items() if s not in dropped},
    )


def _ignored(g: Graph, system: CheckedSystem, wanted: Sequence[sp.Symbol] | None) -> list[int]:
    names = [v.name for v in system.velocities]
    if wanted is None:
        found = list(cyclic_velocities(g, system))
        if not found:
            reasons = "; ".join(f"{n}: {failing_condition(g, system, r)}" for r, n in enumerate(names))
            raise misfit("routh", system, "a displacement is cyclic", f" for every velocity. {reasons}")
    else:
        found = []
        single = isinstance(wanted, (str, sp.Symbol))
        listed = [wanted] if single else list(wanted)
        if not listed:
            raise FormError("routh: ignore is empty; name cyclic velocities, or omit it for all of them")
        for s in listed:
            name = getattr(s, "name", s)
            if name not in names:
                raise FormError(
                    f"routh: ignore: {name} is not a velocity of {system.name!r} ({', '.join(names)})"
                )
            found.append(names.index(name))
            condition = failing_condition(g, system, found[-1])
            if condition is not None:
                raise FormError(
                    f"routh does not fit {system.name!r}: {name} is not cyclic: hypothesis {condition}"
                )
    if len(found) == len(names):
        advice = ": every velocity is cyclic; name those to eliminate with ignore=[...]"
        raise misfit("routh", system, "a velocity remains", advice)
    return sorted(set(found))


def _eliminate(
    g: Graph, system: CheckedSystem, own: Sequence[Node], gone: Sequence[int], a_nodes: Sequence[Node]
) -> tuple[dict[Node, Node], tuple[tuple[Node, Node], ...]]:
    """eta_r as functions of the others and of a, from a_r = dL/d eta_r."""
    cyclic = [system.nodes.eta[r] for r in gone]
    columns = hessian(g, system, "routh", own, cyclic, "the ignored velocities")
    factors = LDL(g, [[columns[j][i] for j in range(i + 1)] for i in range(len(own))])
    offsets = g.substitute(own, dict.fromkeys(cyclic, g.zero))
    solution = factors.solve([g.sub(a, o) for a, o in zip(a_nodes, offsets, strict=True)])
    return dict(zip(cyclic, solution, strict=True)), tuple(factors.checks())


def _closed(
    g: Graph, coordinates: Sequence[Node], rates: Sequence[Node], needed: Sequence[Node]
) -> tuple[int, ...]:
    """The coordinates on which the nodes depend and, in turn, those on which the rates of these depend."""
    names = [str(g.value[x]) for x in coordinates]
    found: set[int] = set()
    while True:
        used = g.symbols([*needed, *(rates[i] for i in found)])
        more = {i for i, name in enumerate(names) if name in used} - found
        if not more:
            return tuple(sorted(found))
        found |= more
