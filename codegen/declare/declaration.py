"""`Declaration`: everything that the user says of a system, checked and in order, and what follows from it alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from types import MappingProxyType
from typing import Any

import sympy as sp

from ..mechanics.bodies import Body
from ..mechanics.interactions import Interaction
from ..mechanics.joint import Link
from ..symbols.place import Entry
from ..symbols.symbols import (
    DeclarationError,
    Input,
    InputRate,
    Multiplier,
    Parameter,
    Symbols,
    in_order,
    rate_of,
    time,
)
from . import bodies as mechanism, contacts, events
from .contacts import Coulomb
from .events import Event
from .given_dynamics import GivenLaw

Expression = Any


@dataclass(frozen=True, eq=False, repr=False)
class Declaration:
    """The declaration of a system; see `System` for its parts.

    `own_kinetic`, `own_potential` and `own_forces` are as given, without the contributions of bodies and interactions.
    `constraints` ends with the rates of the holonomic equations; `ordered` are the parameters whose order is given.
    """

    name: str
    kinematics: Mapping[sp.Symbol, Expression]
    velocities: Symbols
    own_kinetic: Expression
    own_potential: Expression
    own_forces: Mapping[sp.Symbol, Expression]
    law: GivenLaw | None
    bodies: tuple[Body, ...]
    interactions: tuple[Interaction, ...]
    constraints: tuple[Expression, ...]
    holonomic: tuple[Expression, ...]
    parametrization: Mapping[sp.Symbol, Expression] | None
    independent: Symbols
    contacts: tuple[Coulomb, ...]
    events: tuple[Event, ...]
    outputs: Mapping[str, Expression]
    units: Mapping[sp.Symbol, str]
    descriptions: Mapping[sp.Symbol, str]
    example: Mapping[sp.Symbol, float]
    kept: Symbols
    ordered: Symbols

    def __post_init__(self) -> None:
        for name, value in self.parts().items():
            if type(value) is dict:
                object.__setattr__(self, name, MappingProxyType(value))

    def parts(self) -> dict[str, Any]:
        """The fields by name."""
        return {f.name: getattr(self, f.name) for f in fields(Declaration)}

    @cached_property
    def coordinates(self) -> Symbols:
        return tuple(self.kinematics)

    @cached_property
    def quaternions(self) -> tuple[Symbols, ...]:
        """Those of the joints, each of four coordinates."""
        return tuple(link.quaternion for link in self.bodies if isinstance(link, Link) and link.quaternion)

    @cached_property
    def entries(self) -> tuple[tuple[Entry, Expression], ...]:
        """Every expression with its place, those of the kinematics first."""
        found = [(Entry("kinematics", x), e) for x, e in self.kinematics.items()]
        found += [(Entry("kinetic"), self.own_kinetic), (Entry("potential"), self.own_potential)]
        found += [(Entry("forces", v), e) for v, e in self.own_forces.items()]
        found += zip(self.constraint_entries, self.constraints, strict=True)
        found += [(Entry("holonomic", i), e) for i, e in enumerate(self.holonomic)]
        found += [(Entry("parametrization", v), e) for v, e in (self.parametrization or {}).items()]
        found += [(Entry("outputs", name), e) for name, e in self.outputs.items()]
        found += mechanism.entries(self.bodies, self.interactions)
        found += [] if self.law is None else self.law.entries()
        return (*found, *contacts.entries(self.contacts), *events.entries(self.events))

    @property
    def constraint_entries(self) -> tuple[Entry, ...]:
        """The place from which each constraint comes."""
        closed = len(self.holonomic)
        found = [Entry("constraints", i) for i in range(len(self.constraints) - closed)]
        return (*found, *(Entry("holonomic", i, "rate") for i in range(closed)))

    @cached_property
    def occurring(self) -> tuple[tuple[Entry, frozenset[sp.Symbol]], ...]:
        """The symbols of every expression."""
        return tuple((entry, frozenset(e.free_symbols)) for entry, e in self.entries)

    @cached_property
    def parameters(self) -> Symbols:
        """The parameters whose order is given, then those that occur in the expressions or in the example."""
        return self.of_kind(Parameter)

    @cached_property
    def inputs(self) -> Symbols:
        """The inputs that occur in the expressions or in the example, each followed by the rates that are needed."""
        found = self.of_kind(Input)
        if not self._rated:
            return found
        own = {u for u in found if u.order == 0}.union(self._rated)
        followed = (
            (u, *(rate_of(u, i + 1) for i in range(self._rated.get(u, 0))))
            for u in in_order(own, self.example)
        )
        return tuple(s for each in followed for s in each)

    @cached_property
    def _rated(self) -> Mapping[sp.Symbol, int]:
        """How many rates are needed of each input that has any: by where it stands, and by its rates that occur."""
        found: dict[sp.Symbol, int] = {}
        own = {u.name: u for u in self.of_kind(Input) if u.order == 0}
        for entry, symbols in self.occurring:
            for s in (s for s in symbols if isinstance(s, Input)):
                order = s.order + self._differentiated(entry)
                if order > 2 and entry.attribute != "rate":  # the equation itself is named
                    raise DeclarationError(
                        f"{entry} contains {s}: the equations would need the third derivative of the input; inputs "
                        "have a first and a second one; give its motion as an expression in t"
                    )
                u = own.get(s.of) or Input(s.of, real=True) if isinstance(s, InputRate) else s
                if order:
                    found[u] = max(found.get(u, 0), order)
        return found

    def _differentiated(self, entry: Entry) -> int:
        """How often the equations differentiate an expression by the time; beside a law, kinematics not at all."""
        return 0 if self.law is not None and entry.argument == "kinematics" else entry.contents.order

    @cached_property
    def rates(self) -> Mapping[sp.Symbol, sp.Symbol]:
        """The inputs that move what the equations differentiate, and the inputs that are their rates."""
        rated = self._rated.items()
        return MappingProxyType({rate_of(u, i): rate_of(u, i + 1) for u, n in rated for i in range(n)})

    @cached_property
    def multipliers(self) -> Symbols:
        """The multipliers that occur in outputs, events and contacts."""
        return self.of_kind(Multiplier)

    def of_kind(self, kind: type[sp.Symbol]) -> Symbols:
        """The symbols of one kind in the expressions or in the example, in order."""
        first = (*self.ordered, *self.example)
        every = {s for _, symbols in self.occurring for s in symbols}.union(first)
        return in_order({s for s in every if isinstance(s, kind)}, first)

    def all_symbols(self) -> Symbols:
        """Time, coordinates, velocities, independent parameters, parameters, inputs, multipliers that occur."""
        known = (time, *self.coordinates, *self.velocities, *self.independent)
        return (*known, *self.parameters, *self.inputs, *self.multipliers)

    @cached_property
    def symbols(self) -> Mapping[str, sp.Symbol]:
        """The same by name."""
        return MappingProxyType({s.name: s for s in self.all_symbols()})
