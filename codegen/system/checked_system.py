"""`CheckedSystem`: a declaration in the expression graph, checked on creation and immutable afterwards; its digest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import sympy as sp

from chaplygin.runtime.interface.messages import short

from ..declare.declaration import Declaration
from ..declare.declare import declare, without
from ..graph.graph import Graph, Node
from ..graph.to_sympy import expressions
from ..symbols.symbols import assumed, check_name
from ..symbols.values import naming
from .independence import Independence
from .nodes import Screws, SystemNodes, empty_equations, lowered
from .redundancy import independent_constraints
from .regularity import check, needs_constraints

if TYPE_CHECKING:
    from typing_extensions import Self

    from ..declare.contacts import Coulomb
    from ..declare.events import Event
    from ..declare.given_dynamics import GivenLaw
    from ..mechanics.bodies import Body
    from ..mechanics.interactions import Interaction

Expression = Any


class CheckedSystem(Declaration):
    """A declaration that was checked, its nodes, and what was found out about them; `System` has what users call.

    Raises DeclarationError, naming the entry.
    """

    nodes: SystemNodes
    """The declaration in the expression graph."""

    def __init__(
        self,
        name: str,
        *,
        kinematics: Mapping[sp.Symbol, Expression] | None = None,
        coordinates: Sequence[sp.Symbol] | None = None,
        kinetic: Expression | None = None,
        bodies: Sequence[Body] = (),
        potential: Expression = 0,
        forces: Mapping[sp.Symbol, Expression] | None = None,
        law: GivenLaw | None = None,
        interactions: Sequence[Interaction] = (),
        constraints: Iterable[Expression] = (),
        holonomic: Iterable[Expression] = (),
        parametrization: Mapping[sp.Symbol, Expression] | None = None,
        contacts: Sequence[Coulomb] = (),
        events: Sequence[Event] = (),
        outputs: Mapping[str, Expression] | None = None,
        units: Mapping[sp.Symbol, str] | None = None,
        descriptions: Mapping[sp.Symbol, str] | None = None,
        example: Mapping[sp.Symbol, float] | None = None,
        kept: Sequence[sp.Symbol] | None = None,
        parameters: Sequence[sp.Symbol] = (),
    ) -> None:
        given = SimpleNamespace(
            name=name, kinematics=kinematics, coordinates=coordinates, kinetic=kinetic, bodies=bodies,
            potential=potential, forces=forces, law=law, interactions=interactions, constraints=constraints,
            holonomic=holonomic, parametrization=parametrization, contacts=contacts, events=events, outputs=outputs,
            units=units, descriptions=descriptions, example=example, kept=kept, parameters=parameters,
        )  # fmt: skip
        check_name(name, "System name")
        with naming(name):
            self._become(declare(given))
            check(self.nodes, lambda: self.independent_constraints)

    __init__.__qualname__ = "System.__init__"  # as errors of unknown arguments call it

    def _become(self, declared: Declaration) -> None:
        nodes = lowered(declared)
        if empty := empty_equations(nodes):
            declared = without(declared, empty)
            nodes = lowered(declared)
        vars(self).update(declared.parts(), occurring=declared.occurring, nodes=nodes)

    @classmethod
    def _of(cls, system: CheckedSystem) -> Self:
        """A system as an object of this class, with what is known of it."""
        made = cls.__new__(cls)
        vars(made).update(vars(system))
        return made

    def __copy__(self) -> CheckedSystem:
        return self  # it is frozen

    def __deepcopy__(self, memo: Any) -> CheckedSystem:
        return self

    def __setattr__(self, key: str, value: Any) -> None:
        raise AttributeError(f"a System is immutable: create a new one instead of setting {short(key)}")

    def __repr__(self) -> str:
        def names(symbols: Iterable[sp.Symbol]) -> str:
            return "(" + ", ".join(s.name for s in symbols) + ")"

        return (
            f"System({self.name!r}, coordinates={names(self.coordinates)}, velocities={names(self.velocities)}, "
            f"parameters={names(self.parameters)})"
        )

    @cached_property
    def parameters(self) -> tuple[sp.Symbol, ...]:
        """The parameters, without those of bodies that drop out of T, V and Q."""
        return self.nodes.parameters

    @cached_property
    def digest(self) -> str:
        """The hash of the declaration: equal declarations have equal digests."""
        return digest(self.nodes)

    # -- constraints ----------------------------------------------------------------------------------------------
    @cached_property
    def independent_constraints(self) -> tuple[int, ...]:
        """The indices of constraints that determine all others where the holonomic equations hold."""
        return independent_constraints(self.nodes)

    @cached_property
    def redundancy(self) -> int:
        """How many constraints follow from the others where the loops are closed: 1 for Bricard's mechanism.

        Their multipliers are not unique: those of least norm are computed.
        """
        return len(self.constraints) - len(self.independent_constraints)

    @property
    def is_driven(self) -> bool:
        """Whether the constraints leave no velocity free, so that the motion is known and only its forces are not."""
        return bool(self.constraints) and len(self.independent_constraints) == len(self.velocities)

    @cached_property
    def rank_of_loops(self) -> int:
        """The rank of the rates of the holonomic equations, without other constraints, where they hold."""
        return len(independent_constraints(self.nodes, len(self.constraints) - len(self.holonomic)))

    @cached_property
    def independence(self) -> Independence:
        """Which velocities determine the others under the constraints."""
        return Independence(self.nodes, self.independent_constraints)

    @cached_property
    def needs_constraints(self) -> bool:
        """Whether the mass matrix of all velocities is or can be singular, and regular on permitted ones."""
        return needs_constraints(self.nodes, lambda: self.independent_constraints)

    @cached_property
    def accelerates_by_constraints(self) -> bool:
        """The same, without zeros that only the plain symbol of a parameter with a number in the example permits: for
        the right-hand side, which a larger matrix makes several times as long."""
        return self.needs_constraints and needs_constraints(
            self.nodes, lambda: self.independent_constraints, all_zeros=False
        )

    # -- energies and forces, including those of the bodies -----------------------------------------------------
    @cached_property
    def kinetic(self) -> Expression:
        """T(t, x, eta) as a SymPy expression."""
        return self.own_kinetic + self._text([self.nodes.mechanism.kinetic])[0]

    @cached_property
    def potential(self) -> Expression:
        """V(t, x) as a SymPy expression."""
        return self.own_potential + self._text([self.nodes.mechanism.potential])[0]

    @cached_property
    def forces(self) -> Mapping[sp.Symbol, Expression]:
        """Generalised forces by velocity, as SymPy expressions; zero ones are omitted."""
        own, total = self.nodes.mechanism.forces, dict(self.own_forces)
        for v, e in zip(own, self._text(list(own.values())), strict=True):
            total[v] = total.get(v, 0) + e
        return MappingProxyType(total)

    @cached_property
    def screws(self) -> Screws:
        """The kinematic screws of the bodies by name, as SymPy expressions built on first access."""
        return Screws(self.bodies, self.symbols, self.nodes.mechanism.flow)

    def _text(self, nodes: Sequence[Node]) -> list[Expression]:
        """Nodes of the mechanism as SymPy expressions."""
        return expressions(self.nodes.graph, nodes, self.symbols)


def digest(system: SystemNodes) -> str:
    """The hash of the canonical text; equal declarations have equal digests."""
    return hashlib.sha256(canonical(system).encode()).hexdigest()


def canonical(system: SystemNodes) -> str:
    """The declaration as a single text, the same in every process."""
    g, declared = system.graph, system.declaration
    roots = [*system.fields.components, system.kinetic, system.potential]
    roots += [*system.forces, *system.constraint_offsets, *(n for row in system.constraint_rows for n in row)]
    roots += [*system.beta, *system.outputs.values(), *system.holonomic]
    roots += [n for c in system.contacts for n in (c.offset, *c.row, c.normal, c.mu)]
    roots += [n for e in system.events for n in e.expressions]
    roots += [] if declared.law is None else [system.entries[place] for place, _ in declared.law.entries()]
    number, described = numbered(g, roots)
    lines = [declared.name]
    lines += [
        f"{type(s).__name__} {s.name} {assumed(s)} {declared.example.get(s)!r} {declared.units.get(s, '')!r} "
        f"{declared.descriptions.get(s, '')!r}"
        for s in system.all_symbols()
    ]
    lines += [f"{n} {number[system.outputs[n]]}" for n in declared.outputs]
    lines += sorted(
        f"{k} {v!r}" for texts in (declared.units, declared.descriptions) for k, v in texts.items()
    )
    lines += described
    lines += [f"contact {c.name}" for c in system.contacts]
    lines += [f"event {e.name} {e.direction} {e.terminal} {[str(k) for k in e.reset]}" for e in system.events]
    lines += [f"condition of {e.name}" for e in system.events if e.when is not None]
    lines += [] if declared.law is None else [declared.law.text()]
    lines += [f"kept {v}" for v in declared.kept]
    lines += [f"quaternion {q}" for q in declared.quaternions]
    lines.append(f"{len(system.constraints)} {[number[r] for r in roots]}")
    return "\n".join(lines)


def numbered(g: Graph, roots: Sequence[Node]) -> tuple[dict[Node, int], list[str]]:
    """The nodes of expressions, numbered as they are met, and a line for each: the same for equal expressions."""
    number = {n: i for i, n in enumerate(g.reachable(roots))}
    return number, [f"{g.op[n]} {g.value.get(n, '')} {[number[a] for a in g.args[n]]}" for n in number]
