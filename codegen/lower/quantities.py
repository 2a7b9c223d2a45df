"""The named quantities of a model: its variables, and the nodes of those that kernels compute."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import sympy as sp

from chaplygin.runtime.interface.assumptions import QUATERNION, RATE, ZERO_AT_START
from chaplygin.runtime.interface.description import OF_LEAST_NORM, Variable

from ..derive.equation_nodes import EquationNodes, Invariant
from ..derive.friction import by_modes, friction_outputs, friction_rows
from ..derive.power import POWER, painleve_function, power
from ..graph.graph import Node
from ..graph.sides import changing, simple_zero
from ..graph.tables import knot_guards
from ..symbols.symbols import InputRate, assumed
from .lowered import ContactEntry, EventEntry


def kinks(eqs: EquationNodes, guards: Iterable[Node] = ()) -> list[tuple[Node, str]]:
    """The functions that change sign where the right-hand side or guards have a kink or jump, in evaluation order.

    These are the arguments of Abs and sign, the differences of the arguments of Min, Max and relations, and functions
    that are zero at knots of tables, provided that they can change during a run; each is listed once.
    """
    g = eqs.graph
    roots = [*eqs.rates, *eqs.force, *(n for row in eqs.mass for n in row)]
    if eqs.friction is not None:
        rows = friction_rows(g, eqs.friction)
        roots += [*rows.right, *(n for row in (*rows.left, *rows.own) for n in row)]
    if eqs.implicit is not None:
        roots += [*eqs.implicit.right, *(n for row in eqs.implicit.mass for n in row)]
    roots += guards
    inputs = [g.symbol(u.name) for u in eqs.system.inputs]
    moving = [*eqs.coordinate_nodes, *eqs.velocity_nodes, eqs.independent_node, *inputs]
    moving += () if eqs.implicit is None else eqs.implicit.unknown
    found: dict[Node, str] = {}
    for node in g.reachable(roots):
        decisive = changing(g, node)
        for guard, description in knot_guards(g, node) if decisive is None else (decisive,):
            if guard not in found and g.neg(guard) not in found and g.depends_on([guard], moving):
                found[guard] = description
    return list(found.items())


def variable(eqs: EquationNodes, s: sp.Symbol, kind: str) -> Variable:
    system = eqs.system
    return Variable(
        s.name,
        kind,
        system.units.get(s, ""),
        system.descriptions.get(s, _rate_of(s) if isinstance(s, InputRate) else ""),
        system.example.get(s, float("nan")),
        RATE if isinstance(s, InputRate) else assumed(s),
    )


def coordinates(eqs: EquationNodes, x: Sequence[sp.Symbol]) -> Iterator[Variable]:
    """The variables of coordinates; the first one of a quaternion is marked if the rest follow it."""
    quaternions = eqs.system.nodes.declaration.quaternions
    for i, s in enumerate(x):
        found = variable(eqs, s, "coordinate")
        yield found._replace(flags=found.flags | QUATERNION) if tuple(x[i : i + 4]) in quaternions else found


def _rate_of(s: InputRate) -> str:
    return f"the {'second ' if s.order > 1 else ''}time derivative of {s.of}"


def conserved(eqs: EquationNodes, invariants: Sequence[Invariant]) -> list[tuple[Variable, Node]]:
    """The first integrals, then the residuals."""
    found = [
        (Variable(i.name, "invariant", "", i.description, flags=ZERO_AT_START if i.zero else 0), i.node)
        for i in invariants
    ]
    open_ = open_residuals(eqs)
    return found + [
        (Variable(n, "residual", "", "constraint residual", flags=ZERO_AT_START if n in open_ else 0), node)
        for n, node in eqs.residuals_nodes.items()
    ]


def open_residuals(eqs: EquationNodes) -> set[str]:
    """The residuals that a state can violate.

    These are the holonomic equations, and the velocity constraints if every velocity is a state; otherwise the
    dependent velocities are computed from the constraints.
    """
    free = all(v.name in eqs.states for v in eqs.system.velocities)
    possible = (n for n, node in eqs.residuals_nodes.items() if node != eqs.graph.zero)
    return {name for name in possible if free or name.startswith("holonomic_")}


def guards(eqs: EquationNodes) -> list[tuple[Variable, Node]]:
    """The guards of the events, then the kinks, each made simple where it is zero; see `simple_zero`."""
    events = eqs.system.nodes.events
    nodes = eqs.graph.substitute([e.guard for e in events], eqs.permitted)
    found = [
        (Variable(e.name, "guard", "", "guard of the event"), simple_zero(eqs.graph, node))
        for e, node in zip(events, nodes, strict=True)
    ]
    inside = kinks(eqs, [node for _, node in found])
    return found + [
        (Variable(f"kink_{i + 1}", "guard", "", text), node) for i, (node, text) in enumerate(inside)
    ]


def outputs(
    eqs: EquationNodes, invariants: Sequence[Invariant], accelerations: Sequence[Node]
) -> list[tuple[Variable, Node]]:
    """Declared velocities that are not states, reactions, friction, the user's outputs, and those of `_balance`.

    The sign of a slip is the mode of its contact there too: what a contact holds is zero only to rounding, and what has
    stopped does so a moment after the last point of its slip.
    """
    system, known = eqs.system, {i.name for i in invariants}
    found = [
        (variable(eqs, v, "declared"), node) for v, node in eqs.declared.items() if v.name not in eqs.states
    ]
    of_rank = system.redundancy and eqs.friction is not None
    least = f"{OF_LEAST_NORM}, since {system.redundancy} of the constraints are redundant"
    found += [
        (
            Variable(
                n,
                "reaction",
                "",
                least if of_rank and node in eqs.multiplier_nodes else "constraint reaction",
            ),
            node,
        )
        for n, node in eqs.reaction_nodes.items()
    ]
    found += [(Variable(n, "output", "", "of a body"), node) for n, node in eqs.body_nodes.items()]
    friction = friction_outputs(eqs)
    found += [(Variable(n, "output", "", text), node) for n, text, node in friction if n != "friction_power"]
    units, about = ({str(k): v for k, v in texts.items()} for texts in (system.units, system.descriptions))
    found += [
        (Variable(n, "output", units.get(n, ""), about.get(n, "")), node)
        for n, node in eqs.output_nodes.items()
    ]
    taken = {v.name for v, _ in found} | set(eqs.symbols) | known
    for name, text, node in friction[-1:]:
        found.append((Variable(_free(name, taken), "output", "", text), node))
    found += _balance(eqs, known, taken, accelerations)
    nodes = by_modes(eqs, [node for _, node in found])
    return [(v, node) for (v, _), node in zip(found, nodes, strict=True)]


def _free(name: str, taken: set[str]) -> str:
    """The name, with the prefix `cg_` if the user has taken it."""
    return f"cg_{name}" if name in taken else name


def _balance(
    eqs: EquationNodes, invariants: set[str], taken: set[str], accelerations: Sequence[Node]
) -> list[tuple[Variable, Node]]:
    """If the energy is not conserved: T + V, Painlevé's T2 - T0 + V if it differs, and the power that changes it.

    A name that the user has taken gets the prefix `cg_`, except `energy`, which is left to the user.
    """
    if "energy" in invariants or eqs.system.law is not None:
        return []
    h, total, same = painleve_function(eqs)
    found = []
    named = "energy" not in taken
    if named:
        found.append((Variable("energy", "output", "", "T + V"), total))
    if "painleve" in invariants:
        return found
    if not (same and named):
        found.append((Variable(_free("painleve", taken), "output", "", "T2 - T0 + V"), h))
    found.append((Variable(_free("power", taken), "output", "", POWER), power(eqs, accelerations)))
    return found


def modes(eqs: EquationNodes) -> tuple[Variable, ...]:
    """The modes of the contacts, then the assumed signs of normal forces that contain multipliers."""
    contacts = eqs.system.nodes.contacts
    slip = [Variable(c.name, "mode", "", f"slip of {c.name}: -1, 1, or 0 where it sticks") for c in contacts]
    signs = [
        Variable(f"{c.name}_sign", "mode", "", f"assumed sign of the normal force of {c.name}")
        for c in contacts
        if c.implicit
    ]
    return (*slip, *signs)


def event_entries(eqs: EquationNodes) -> tuple[EventEntry, ...]:
    return tuple(EventEntry(e.name, e.direction, e.terminal, bool(e.reset)) for e in eqs.system.nodes.events)


def contact_entries(eqs: EquationNodes) -> tuple[ContactEntry, ...]:
    found: list[ContactEntry] = []
    signs = 0
    for c in eqs.system.nodes.contacts:
        found.append(ContactEntry(c.name, signs if c.implicit else -1))
        signs += c.implicit
    return tuple(found)


def given(eqs: EquationNodes) -> dict[str, Any]:
    """The fields of a program that say what its kernels take."""
    system = eqs.system
    return {
        "name": system.name,
        "form": eqs.form,
        "graph": eqs.graph,
        "states": (
            *coordinates(eqs, eqs.coordinates),
            *(variable(eqs, v, "velocity") for v in eqs.velocities),
        ),
        "n_coordinates": len(eqs.coordinates),
        "parameters": tuple(variable(eqs, p, "parameter") for p in (*system.parameters, *eqs.parameters)),
        "inputs": tuple(variable(eqs, u, "input") for u in system.inputs),
        "modes": modes(eqs),
        "independent": str(eqs.graph.value[eqs.independent_node]),
    }
