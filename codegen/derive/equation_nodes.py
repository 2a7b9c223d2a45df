"""`EquationNodes`: what a form derives, M theta' = f and dx/dt in the graph; its digest, and the error of a misfit."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy as sp

from chaplygin._version import __version__
from chaplygin.errors import FormError

from ..graph.differentiate import forward
from ..graph.evaluate import evaluate
from ..graph.graph import Graph, Node
from ..graph.linear import entry
from ..graph.to_sympy import shown
from ..symbols.symbols import ModeSymbol, Multiplier, Velocity
from ..symbols.values import naming
from ..system.checked_system import CheckedSystem
from ..system.points import good_points


@dataclass(frozen=True, eq=False)
class EquationNodes:
    """Equations of motion of a system in one form, as nodes of a graph; see `Equations`.

    `mass` is M by rows: its lower triangle, or whole rows if M need not be symmetric; empty for the unit matrix.
    `resolved` are the pivots, with their limits, on which it depends whether the velocities kept as states determine
    the others; empty where they do wherever the system moves.
    """

    system: CheckedSystem
    form: str
    options: Mapping[str, Any]
    graph: Graph
    title: str
    velocities: tuple[sp.Symbol, ...]
    velocity_nodes: tuple[Node, ...]
    rates: tuple[Node, ...]
    mass: tuple[tuple[Node, ...], ...]
    force: tuple[Node, ...]
    declared: Mapping[sp.Symbol, Node]
    residuals_nodes: Mapping[str, Node] = field(default_factory=dict)
    pivots: tuple[tuple[Node, Node], ...] = ()
    resolved: tuple[tuple[Node, Node], ...] = ()
    kept: tuple[int, ...] | None = None
    parameters: tuple[sp.Symbol, ...] = ()
    initial_nodes: tuple[Node, ...] | None = None
    multiplier_nodes: tuple[Node, ...] = ()
    reaction_nodes: Mapping[str, Node] = field(default_factory=dict)
    body_nodes: Mapping[str, Node] = field(default_factory=dict)
    momentum_nodes: tuple[Node, ...] | None = None
    independent: sp.Symbol | None = None
    routhian: Node | None = None
    manifold: Mapping[Node, Node] = field(default_factory=dict)
    friction: Friction | None = None
    implicit: Implicit | None = None
    cells: tuple[tuple[Node, ...], ...] = ()

    @property
    def coordinates(self) -> tuple[sp.Symbol, ...]:
        """The coordinates among the states: all of them, unless the form eliminates some."""
        every = self.system.coordinates
        return every if self.kept is None else tuple(every[i] for i in self.kept)

    @property
    def coordinate_nodes(self) -> tuple[Node, ...]:
        every = self.system.nodes.fields.coordinates
        return every if self.kept is None else tuple(every[i] for i in self.kept)

    @property
    def state_nodes(self) -> tuple[Node, ...]:
        return (*self.coordinate_nodes, *self.velocity_nodes)

    @property
    def independent_node(self) -> Node:
        """The independent variable of the equations: the time, or Whittaker's x_1."""
        fields = self.system.nodes.fields
        if self.independent is None:
            return fields.time
        return fields.coordinates[self.system.coordinates.index(self.independent)]

    @property
    def flow(self) -> dict[Node, Node]:
        """The direction of a motion in the coordinates: their rates, and 1 along the independent variable.

        Where that is the time, the rates of inputs too.
        """
        rates = dict(zip(self.coordinate_nodes, self.rates, strict=True))
        if self.independent is not None:
            return {**rates, self.independent_node: self.graph.one}
        return {**rates, **self.system.nodes.fields.clock(self.graph)}

    @property
    def states(self) -> tuple[str, ...]:
        return tuple(s.name for s in (*self.coordinates, *self.velocities))

    @property
    def symbols(self) -> dict[str, sp.Symbol]:
        known = {s.name: s for s in (*self.system.all_symbols(), *self.velocities, *self.parameters)}
        if self.friction is None:
            return known
        return friction_symbols(self.system) | known

    def entry(self, i: int, j: int) -> Node:
        """M[i, j]."""
        return entry(self.mass, i, j)

    def points(self, roots: Sequence[Node], count: int) -> list[dict[str, float]]:
        """Random points near the example point, in all variables of the equations, at which the roots are finite."""
        with naming(self.system.name):
            return good_points(self.system.nodes, roots, count, self.graph, self.complete)

    @property
    def completing(self) -> tuple[Node, ...]:
        """The nodes that `complete` evaluates: those of the manifold, then the initial states."""
        return (*self.manifold.values(), *(self.initial_nodes or ()))

    def complete(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """A point in the declared variables, moved onto the constraints, with the form's own variables added."""
        return self.completed(self.graph, self.completing, point, False, 1.0)

    def completed(
        self, g: Graph, nodes: Sequence[Node], point: Mapping[str, Any], precise: bool, shrink: float
    ) -> dict[str, Any]:
        """The same by `nodes` of `g`: the completing nodes, or what they are on one branch."""
        result, held = dict(point), len(self.manifold)
        names = [str(self.graph.value[v]) for v in self.manifold]
        result |= dict(zip(names, evaluate(g, nodes[:held], result, precise, shrink), strict=True))
        if nodes[held:]:
            names = [*self.states, *(p.name for p in (*self.system.parameters, *self.parameters))]
            result |= dict(zip(names, evaluate(g, nodes[held:], result, precise, shrink), strict=True))
        return result

    @property
    def permitted(self) -> dict[Node, Node]:
        """The nodes of the declared velocities (and independent parameters), mapped to their values in the states."""
        system = self.system
        variables = (*system.velocities, *system.independent), (*system.nodes.eta, *system.nodes.theta)
        found = {e: self.declared[v] for v, e in zip(*variables, strict=True) if v in self.declared}
        if system.multipliers and self.friction is None:
            found |= {self.graph.symbol(s.name): self.reaction_nodes[s.name] for s in system.multipliers}
        return found

    @property
    def output_nodes(self) -> dict[str, Node]:
        """The user's outputs as functions of the states."""
        names = list(self.system.nodes.outputs)
        nodes = self.graph.substitute(list(self.system.nodes.outputs.values()), self.permitted)
        return dict(zip(names, nodes, strict=True))

    def view(self, nodes: Sequence[Node]) -> list[Any]:
        """Nodes as SymPy expressions."""
        return shown(self.graph, nodes, self.symbols)


@dataclass(frozen=True)
class Contact:
    """A contact in a form: `row` is W_i, `bias` b_i, `limit` mu_i |N_i|, `mode` sigma_i, `sign` tau_i or None.

    `jump` c_i is that of the other forces along W_i, which add c_i to the limit of what holds the slip at zero;
    `middle` m_i is half of the jump of the limit with the slip.
    """

    name: str
    slip: Node
    row: tuple[Node, ...]
    bias: Node
    normal: Node
    mu: Node
    limit: Node
    mode: Node
    sign: Node | None
    force: Node
    jump: Node
    middle: Node


@dataclass(frozen=True)
class Friction:
    """The contacts of a form, and the constraints with multipliers that are solved for along with the friction forces.

    `multipliers` are the symbols of lambda_s, `rows` and `biases` are A_s and b_s; all are empty in forms without
    multipliers. `rank` is the rank of the rows if some are redundant, otherwise 0; `across` are the columns of M^-1 A^T
    if the form has solved for them.
    """

    contacts: tuple[Contact, ...]
    multipliers: tuple[Node, ...] = ()
    rows: tuple[tuple[Node, ...], ...] = ()
    biases: tuple[Node, ...] = ()
    rank: int = 0
    across: tuple[tuple[Node, ...], ...] = ()

    @property
    def unknown(self) -> tuple[Node, ...]:
        """The symbols of the unknowns: lambda_s, then T_i."""
        return (*self.multipliers, *(c.force for c in self.contacts))

    @property
    def implicit(self) -> bool:
        """Whether a normal force contains multipliers."""
        return any(c.sign is not None for c in self.contacts)

    def columns(self) -> list[tuple[Node, ...]]:
        """The generalised force per unit of each unknown."""
        return [*self.rows, *(c.row for c in self.contacts)]


def mode_names(system: CheckedSystem) -> list[str]:
    """The modes of a system's contacts, in the order in which they come after the inputs."""
    signs = [f"{c.name}_sign" for c in system.nodes.contacts if c.implicit]
    return [c.name for c in system.nodes.contacts] + signs


def friction_symbols(system: CheckedSystem) -> dict[str, sp.Symbol]:
    """The symbols of modes, friction forces and multipliers, by name."""
    if not system.contacts:
        return {}
    found: dict[str, sp.Symbol] = {n: ModeSymbol(n, real=True) for n in mode_names(system)}
    found |= {n: Velocity(n, real=True) for n in (f"friction_{c.name}" for c in system.contacts)}
    count = range(1, len(system.constraints) + 1)
    return found | {n: Multiplier(n, real=True) for n in (f"lambda_{s}" for s in count)}


def multiplier_symbols(g: Graph, system: CheckedSystem) -> list[Node]:
    """The multipliers as unknowns of the equations."""
    return [g.symbol(f"lambda_{s + 1}") for s in range(len(system.constraints))]


@dataclass(frozen=True)
class Implicit:
    """Velocities eta that a loop computes from momenta y: M eta = y - p_0, with p = M eta + p_0 = dL/d eta.

    The rates and forces of the equations contain eta as the symbols `unknown`. `mass` is the lower triangle of M,
    `right` is y - p_0, `momenta` is p as a function of eta.
    """

    mass: tuple[tuple[Node, ...], ...]
    right: tuple[Node, ...]
    unknown: tuple[Node, ...]
    momenta: tuple[Node, ...]

    def accelerations(
        self, g: Graph, force: Sequence[Node], flow: Mapping[Node, Node]
    ) -> tuple[list[Node], list[Node]]:
        """M and f of M d eta/dt = f: the lower triangle by rows, and dy/dt minus the rate of p at fixed eta."""
        bias = forward(g, self.momenta, flow)
        return [n for row in self.mass for n in row], [g.sub(f, b) for f, b in zip(force, bias, strict=True)]


@dataclass(frozen=True)
class Invariant:
    """A first integral: name, node, status ("proved" or "checked"), and description.

    `zero`: it is zero at the example point, as |q|^2 - 1 for a quaternion, and must be zero in every run.
    """

    name: str
    node: Node
    status: str
    description: str
    zero: bool = False


def misfit(form: str, system: CheckedSystem, hypothesis: str, why: str = "") -> FormError:
    """The error for a hypothesis that fails."""
    return FormError(f"{form} does not fit {system.name!r}: hypothesis {hypothesis!r} fails{why}")


def program_digest(system_digest: str, form: str, options: object) -> str:
    """The digest that identifies the emitted code: declaration, form with its options, generator version."""
    return hashlib.sha256(f"{system_digest}\n{form}\n{options!r}\n{__version__}".encode()).hexdigest()
