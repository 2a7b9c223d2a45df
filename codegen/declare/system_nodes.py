"""`SystemNodes`: a declaration as nodes of the expression graph, and how it gets there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sympy as sp

from ..graph.from_sympy import Lowering, UnsupportedExpression
from ..graph.graph import Graph, Node
from . import checks, contacts, events
from .fields import Fields
from .symbols import DeclarationError, Parameter, rate, time

if TYPE_CHECKING:
    from .contacts import ContactNodes
    from .events import EventNodes
    from .mechanism import Mechanism
    from .system import System

Entries = Sequence[tuple[str, Any]]
"""Names of places in a declaration, and the expressions there."""

_OF_BODIES = ("bodies[", "interactions[")


@dataclass(frozen=True, eq=False)
class SystemNodes:
    """A declared system in the expression graph.

    Attributes
    ----------
    graph : the expression graph; whoever adds to it works on a copy.
    fields : the vector fields X_0, X_a of the kinematics.
    eta, theta : the velocities and the independent parameters.
    kinetic, potential, forces : T, V and Q_a, those of bodies and interactions included.
    mechanism : what the bodies and interactions add; None without them.
    constraints, constraint_rows, constraint_offsets : each constraint, and A and A_0 in A eta + A_0 = 0.
    holonomic : f in f(t, x) = 0.
    beta : the parametrization of the velocities; empty without one.
    outputs, contacts, events : as declared.
    """

    graph: Graph
    fields: Fields
    eta: tuple[Node, ...]
    theta: tuple[Node, ...]
    kinetic: Node
    potential: Node
    forces: tuple[Node, ...]
    mechanism: Mechanism | None
    constraints: tuple[Node, ...]
    constraint_rows: tuple[tuple[Node, ...], ...]
    constraint_offsets: tuple[Node, ...]
    holonomic: tuple[Node, ...]
    beta: tuple[Node, ...]
    outputs: Mapping[str, Node]
    contacts: tuple[ContactNodes, ...]
    events: tuple[EventNodes, ...]

    def lagrangian(self, g: Graph) -> Node:
        """L = T - V, in a copy of the graph."""
        return g.sub(self.kinetic, self.potential)

    def affine_constraints(self, g: Graph) -> list[Node]:
        """A eta + A_0, in a copy of the graph."""
        return [
            g.add(g.dot(row, self.eta), offset)
            for row, offset in zip(self.constraint_rows, self.constraint_offsets, strict=True)
        ]


def lowered(system: System, entries: Entries) -> SystemNodes:
    """The nodes of a declaration; `entries` are all of its expressions, those of the kinematics first.

    Raises DeclarationError, naming the entry, for an expression that has no place in the graph, and for kinematics,
    constraints or slips that are not affine in the velocities.
    """
    g = Graph()
    symbols = {s: g.symbol(s.name) for s in system.all_symbols()}
    lowering = Lowering(g, symbols)
    n = len(system.coordinates)
    try:
        rows = lowering.lower([e for _, e in entries[:n]])
        for x, row in zip(system.coordinates, rows, strict=True):
            lowering.define(rate(x), row)
        rest = lowering.lower([e for _, e in entries[n:]])
    except (UnsupportedExpression, ArithmeticError) as error:
        place = _culprit(system, entries, symbols)
        raise DeclarationError(f"System {system.name!r}: {place}: {error}") from None
    value = dict(zip((name for name, _ in entries), rows + rest, strict=True))
    drift, matrix = checks.affine(system, g, [f"kinematics[{x}]" for x in system.coordinates], rows)
    along = tuple(tuple(matrix[i][a] for i in range(n)) for a in range(len(system.velocities)))
    forces = {v: value.get(f"forces[{v}]", g.zero) for v in system.velocities}
    kinetic, potential, mechanism = value["kinetic"], value["potential"], None
    if system.bodies or system.interactions:
        mechanism = _mechanism(system, lowering, rows)
        kinetic, potential = g.add(kinetic, mechanism.kinetic), g.add(potential, mechanism.potential)
        forces = {v: g.add(q, mechanism.forces.get(v, g.zero)) for v, q in forces.items()}
    names = [f"constraints[{i}]" for i in range(len(system.constraints))]
    offsets, matrix = checks.affine(system, g, names, [value[c] for c in names])
    return SystemNodes(
        graph=g,
        fields=Fields(tuple(symbols[x] for x in system.coordinates), symbols[time], tuple(drift), along),
        eta=tuple(symbols[v] for v in system.velocities),
        theta=tuple(symbols[s] for s in system.independent),
        kinetic=kinetic,
        potential=potential,
        forces=tuple(forces.values()),
        mechanism=mechanism,
        constraints=tuple(value[c] for c in names),
        constraint_rows=tuple(tuple(row) for row in matrix),
        constraint_offsets=tuple(offsets),
        holonomic=tuple(value[f"holonomic[{i}]"] for i in range(len(system.holonomic))),
        beta=tuple(value[f"parametrization[{v}]"] for v in system.velocities)
        if system.parametrization
        else (),
        outputs={name: value[f"outputs[{name!r}]"] for name in system.outputs},
        contacts=contacts.contact_nodes(system, g, value.__getitem__),
        events=events.event_nodes(system.events, value.__getitem__),
    )


def _mechanism(system: System, lowering: Lowering, rows: Sequence[Node]) -> Mechanism:
    """T, V and Q of bodies and interactions."""
    from .mechanism import mechanism
    from .screws import Flow

    speeds = dict(zip(system.velocities, lowering.lower(system.velocities), strict=True))
    flow = Flow(lowering, dict(zip(system.coordinates, rows, strict=True)), speeds)
    return mechanism(system.bodies, system.interactions, flow)


def remaining_parameters(system: System, entries: Entries) -> tuple[Parameter, ...]:
    """The parameters of a system without those of its bodies that drop out of T, V and Q."""
    nodes, mechanism = system.nodes, system.nodes.mechanism
    assert mechanism is not None
    declared = {s for name, e in entries if not name.startswith(_OF_BODIES) for s in e.free_symbols}
    used = nodes.graph.symbols([mechanism.kinetic, mechanism.potential, *mechanism.forces.values()])
    return tuple(p for p in system.parameters if p in declared or p in system.example or p.name in used)


def _culprit(system: System, entries: Entries, symbols: Mapping[sp.Symbol, Node]) -> str:
    """The first entry that cannot be lowered by itself."""
    for entry, expression in entries:
        lowering = Lowering(Graph(), dict.fromkeys([*symbols, *(rate(x) for x in system.coordinates)], 0))
        try:
            lowering.lower([expression])
        except (UnsupportedExpression, ArithmeticError):
            return entry
    return "declaration"
