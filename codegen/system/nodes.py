"""`SystemNodes`: a declaration as nodes of the expression graph, with what bodies and interactions contribute."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from ..declare.contacts import ContactNodes
from ..declare.declaration import Declaration
from ..declare.events import EventNodes, event_nodes
from ..graph.differentiate import forward, gradient, partials
from ..graph.from_sympy import Lowering, UnsupportedExpression
from ..graph.graph import Graph, Node
from ..graph.to_sympy import expressions
from ..identities.zero import is_zero
from ..mechanics.bodies import Body
from ..mechanics.interactions import Interaction
from ..mechanics.screws import Flow, Screw
from ..symbols.place import Entry
from ..symbols.symbols import DeclarationError, Parameter, Symbols, rate, time
from .fields import Fields, affine, are_constant


def contact_nodes(declared: Declaration, g: Graph, value: Mapping[Entry, Node]) -> tuple[ContactNodes, ...]:
    """The contacts with the nodes of their expressions, which `value` has by entry.

    Raises DeclarationError for a slip velocity that is not affine in the velocities or contains none of them, and for
    a normal force that is not affine in the multipliers.
    """
    places = [Entry("contacts", c.name, "slip") for c in declared.contacts]
    slips = [value[place] for place in places]
    offsets, rows = affine(declared, g, places, slips)
    unknown = [g.symbol(s.name) for s in declared.multipliers]
    found = []
    for c, slip, offset, row in zip(declared.contacts, slips, offsets, rows, strict=True):
        place = f"contacts[{c.name!r}]"
        if all(n == g.zero for n in row):
            raise DeclarationError(
                f"{place}.slip contains no velocity; it is a relative velocity, such as rate(x)"
            )
        normal, mu = (value[Entry("contacts", c.name, key)] for key in ("normal", "mu"))
        slopes = [n for s in unknown for n in forward(g, [normal], {s: g.one})]
        if not are_constant(g, slopes, unknown, declared.symbols):
            raise DeclarationError(f"{place}.normal is not affine in the multipliers")
        implicit = g.depends_on([normal], unknown)
        found.append(ContactNodes(c.name, slip, offset, tuple(row), normal, mu, implicit))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class SystemNodes:
    """A declared system in the expression graph.

    Attributes
    ----------
    declaration : what was declared.
    parameters : its parameters, without those of bodies that drop out of T, V and Q.
    graph : the expression graph; whoever adds to it works on a copy.
    entries : every expression of the declaration by its place.
    fields : the vector fields X_0, X_a of the kinematics.
    eta, theta : the velocities and the independent parameters.
    kinetic, potential, forces : T, V and Q_a, those of bodies and interactions included.
    mechanism : what the bodies and interactions add.
    constraints, constraint_rows, constraint_offsets : each constraint, and A and A_0 in A eta + A_0 = 0.
    holonomic : f in f(t, x) = 0.
    beta : the parametrization of the velocities; empty without one.
    outputs, contacts, events : as declared.
    """

    declaration: Declaration
    parameters: Symbols
    graph: Graph
    entries: Mapping[Entry, Node]
    fields: Fields
    eta: tuple[Node, ...]
    theta: tuple[Node, ...]
    kinetic: Node
    potential: Node
    forces: tuple[Node, ...]
    mechanism: Mechanism
    constraints: tuple[Node, ...]
    constraint_rows: tuple[tuple[Node, ...], ...]
    constraint_offsets: tuple[Node, ...]
    holonomic: tuple[Node, ...]
    beta: tuple[Node, ...]
    outputs: Mapping[str, Node]
    contacts: tuple[ContactNodes, ...]
    events: tuple[EventNodes, ...]

    def all_symbols(self) -> Symbols:
        """Those of the declaration, without the parameters that drop out."""
        left = {*self.parameters}
        return tuple(s for s in self.declaration.all_symbols() if s in left or not isinstance(s, Parameter))

    @property
    def symbols(self) -> dict[str, sp.Symbol]:
        """The same by name."""
        return {s.name: s for s in self.all_symbols()}

    def lagrangian(self, g: Graph) -> Node:
        """L = T - V, in a copy of the graph."""
        return g.sub(self.kinetic, self.potential)

    def momenta(self, g: Graph) -> list[Node]:
        """p_a = dL/d eta_a."""
        return gradient(g, self.lagrangian(g), self.eta)

    def mass(self, g: Graph) -> list[list[Node]]:
        """d2T/(d eta_a d eta_b) of all declared velocities: the rows of its lower triangle.

        The unit matrix for equations given by a law, whose kinetic energy is not known.
        """
        if self.kinetic == g.zero:
            return [[g.one if a == b else g.zero for b in range(a + 1)] for a in range(len(self.eta))]
        columns = partials(g, self.momenta(g), self.eta)
        return [[columns[b][a] for b in range(a + 1)] for a in range(len(self.eta))]

    def energy(self, g: Graph) -> Node:
        """h = eta_a p_a - L, which is T2 - T0 + V for L of second degree."""
        return g.sub(g.dot(self.eta, self.momenta(g)), self.lagrangian(g))

    def affine_constraints(self, g: Graph) -> list[Node]:
        """A eta + A_0, in a copy of the graph."""
        pairs = zip(self.constraint_rows, self.constraint_offsets, strict=True)
        return [g.add(g.dot(row, self.eta), offset) for row, offset in pairs]


def lowered(declared: Declaration) -> SystemNodes:
    """The nodes of a declaration.

    Raises DeclarationError, naming the entry, for an expression that has no place in the graph, and for kinematics,
    constraints or slips that are not affine in the velocities.
    """
    g = Graph()
    symbols = {s: g.symbol(s.name) for s in declared.all_symbols()}
    lowering = Lowering(g, symbols)
    value = _values(declared, lowering)
    x, places = declared.coordinates, [Entry("kinematics", x) for x in declared.coordinates]
    rows = [value[place] for place in places]
    drift, matrix = affine(declared, g, places, rows)
    forces = {v: value.get(Entry("forces", v), g.zero) for v in declared.velocities}
    driven = {symbols[u]: symbols[rate] for u, rate in declared.rates.items()}
    flow = Flow(
        lowering, dict(zip(x, rows, strict=True)), {v: symbols[v] for v in declared.velocities}, driven
    )
    mechanism = contributions(declared.bodies, declared.interactions, flow)
    constraints = tuple(value[place] for place in declared.constraint_entries)
    offsets, constraint_rows = affine(declared, g, declared.constraint_entries, constraints)
    parameters = _parameters(declared, mechanism)
    g.signs = {
        symbols[s]: 1 if s.is_nonnegative else -1 for s in parameters if s.is_nonnegative or s.is_nonpositive
    }
    return SystemNodes(
        declaration=declared,
        parameters=parameters,
        graph=g,
        entries=value,
        fields=Fields(
            tuple(symbols[s] for s in x),
            symbols[time],
            tuple(drift),
            tuple(zip(*matrix, strict=True)),
            driven,
        ),
        eta=tuple(symbols[v] for v in declared.velocities),
        theta=tuple(symbols[s] for s in declared.independent),
        kinetic=g.add(value[Entry("kinetic")], mechanism.kinetic),
        potential=g.add(value[Entry("potential")], mechanism.potential),
        forces=tuple(g.add(q, mechanism.forces.get(v, g.zero)) for v, q in forces.items()),
        mechanism=mechanism,
        constraints=constraints,
        constraint_rows=tuple(map(tuple, constraint_rows)),
        constraint_offsets=tuple(offsets),
        holonomic=tuple(value[Entry("holonomic", i)] for i in range(len(declared.holonomic))),
        beta=tuple(
            value[Entry("parametrization", v)] for v in declared.velocities if declared.parametrization
        ),
        outputs={name: value[Entry("outputs", name)] for name in declared.outputs},
        contacts=contact_nodes(declared, g, value),
        events=event_nodes(declared.events, value),
    )


def empty_equations(nodes: SystemNodes) -> list[int]:
    """The holonomic equations that are zero everywhere, which generators of joints write: they say nothing."""
    rows = nodes.constraint_rows[len(nodes.constraints) - len(nodes.holonomic) :]
    g, pairs = nodes.graph, enumerate(zip(nodes.holonomic, rows, strict=True))
    still = [(i, f) for i, (f, row) in pairs if all(n == g.zero for n in row)]
    return [i for i, f in still if is_zero(g.copy(), f, nodes.symbols)]


def _parameters(declared: Declaration, mechanism: Mechanism) -> Symbols:
    """The parameters, without those of bodies that drop out of T, V and Q."""
    kept = {s for entry, symbols in declared.occurring if not entry.of_mechanism for s in symbols}
    kept.update(declared.example, declared.ordered)
    used = mechanism.flow.graph.symbols([mechanism.kinetic, mechanism.potential, *mechanism.forces.values()])
    return tuple(p for p in declared.parameters if p in kept or p.name in used)


def _values(declared: Declaration, lowering: Lowering) -> dict[Entry, Node]:
    """The node of every expression; the rates of the coordinates mean their kinematics."""
    entries, n = declared.entries, len(declared.coordinates)
    try:
        rows = lowering.lower([e for _, e in entries[:n]])
        for x, row in zip(declared.coordinates, rows, strict=True):
            lowering.define(rate(x), row)
        rest = lowering.lower([e for _, e in entries[n:]])
    except (UnsupportedExpression, ArithmeticError) as error:
        raise DeclarationError(f"{_culprit(declared)}: {error}") from None
    return dict(zip((entry for entry, _ in entries), rows + rest, strict=True))


def _culprit(declared: Declaration) -> Entry | str:
    """The first entry that cannot be lowered by itself."""
    known = [*declared.all_symbols(), *(rate(x) for x in declared.coordinates)]
    for entry, expression in declared.entries:
        g = Graph()
        try:
            Lowering(g, dict.fromkeys(known, g.zero)).lower([expression])
        except (UnsupportedExpression, ArithmeticError):
            return entry
    return "declaration"


@dataclass(frozen=True, eq=False)
class Mechanism:
    """What bodies and interactions contribute to a `System`: nodes of T, V and Q_a, and the flow that built them."""

    kinetic: Node
    potential: Node
    forces: Mapping[sp.Symbol, Node]
    flow: Flow


def contributions(bodies: Sequence[Body], interactions: Sequence[Interaction], flow: Flow) -> Mechanism:
    """T, V and Q of bodies and interactions along the flow."""
    g = flow.graph
    potentials = [item.potential(flow, bodies) for item in interactions]
    return Mechanism(
        g.sum(energy(b) for energy in (flow.energy, flow.rotor_energy) for b in bodies),
        g.sum(v for v in potentials if v is not None),
        flow.generalised_forces([pair for item in interactions for pair in item.loads(flow)]),
        flow,
    )


class Screws(Mapping[str, Screw]):
    """The screws of a system's bodies by name, as SymPy expressions built on first access."""

    def __init__(self, bodies: Sequence[Body], symbols: Mapping[str, sp.Symbol], flow: Flow) -> None:
        self._bodies, self._symbols, self._flow = bodies, symbols, flow
        self._made: dict[str, Screw] = {}

    def __getitem__(self, name: str) -> Screw:
        if name not in self._made:
            body = next((b for b in self._bodies if b.name == name), None)
            if body is None:
                raise KeyError(name)
            self._made[name] = self._screw(body)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return (b.name for b in self._bodies)

    def __len__(self) -> int:
        return len(self._bodies)

    def _screw(self, body: Body) -> Screw:
        flow, symbols = self._flow, self._symbols
        omega, speed = flow.omega(body), flow.speed(body)

        def column(v: Sequence[Node]) -> Any:
            return sp.Matrix(expressions(flow.graph, v, symbols))

        def pair(eta: Node | None) -> tuple[Any, Any]:
            return column(flow.partial(omega, eta)), column(flow.partial(speed, eta))

        partial = {s: pair(eta) for s, eta in flow.velocities.items()}
        return Screw(body, column(omega), column(speed), partial, pair(None))
