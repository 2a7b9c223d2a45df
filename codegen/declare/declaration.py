"""`Declaration`: everything that the user says of a system, checked and in order, and what follows from it alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from types import MappingProxyType
from typing import Any

import sympy as sp

from . import checks, contacts, events, mechanism
from .bodies import Body
from .contacts import Coulomb
from .entry import Entry
from .events import Event
from .interactions import Interaction
from .joint import Link
from .law import KinematicsAlone, Law
from .symbols import DeclarationError, Input, Multiplier, Parameter, Rate, Velocity, natural, rate, time

Expression = Any
Symbols = tuple[sp.Symbol, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Declaration:
    """The declaration of a system; see `System` for its parts.

    `own_kinetic`, `own_potential` and `own_forces` are as given, without the contributions of bodies and interactions.
    `constraints` ends with the rates of the holonomic equations.
    """

    name: str
    kinematics: Mapping[sp.Symbol, Expression]
    velocities: Symbols
    own_kinetic: Expression
    own_potential: Expression
    own_forces: Mapping[sp.Symbol, Expression]
    law: Law | None
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
        """The parameters that occur in the expressions or in the example."""
        return self.of_kind(Parameter)

    @cached_property
    def inputs(self) -> Symbols:
        """The inputs that occur in the expressions or in the example."""
        return self.of_kind(Input)

    @cached_property
    def multipliers(self) -> Symbols:
        """The multipliers that occur in outputs, events and contacts."""
        return self.of_kind(Multiplier)

    def of_kind(self, kind: type[sp.Symbol]) -> Symbols:
        """The symbols of one kind in the expressions or in the example, in order."""
        every = {s for _, symbols in self.occurring for s in symbols}.union(self.example)
        return _in_order({s for s in every if isinstance(s, kind)}, self.example)

    def all_symbols(self) -> Symbols:
        """Time, coordinates, velocities, independent parameters, parameters, inputs, multipliers that occur."""
        known = (time, *self.coordinates, *self.velocities, *self.independent)
        return (*known, *self.parameters, *self.inputs, *self.multipliers)

    @cached_property
    def symbols(self) -> Mapping[str, sp.Symbol]:
        """The same by name."""
        return MappingProxyType({s.name: s for s in self.all_symbols()})


def declare(name: str, **given: Any) -> Declaration:
    """The declaration made of the arguments of a `System`.

    Raises DeclarationError, naming the entry.
    """
    bodies, interactions = mechanism.checked(given["bodies"], given["interactions"])
    rows = _kinematics(given["kinematics"], given["coordinates"], bodies)
    if rows and given["law"] is None and not any(e.atoms(Velocity) for e in rows.values()):
        _check_alone(given)
        given = {**given, "law": KinematicsAlone(), "kinetic": None}
    example = checks.example(given["example"] or {})
    law = given["law"]
    if law is not None and given["kinetic"] is not None:
        raise DeclarationError("give kinetic or a law, not both")
    kinetic = 0 if given["kinetic"] is None else given["kinetic"]
    own_kinetic = checks.scalar(Entry("kinetic"), kinetic)
    own_potential = checks.scalar(Entry("potential"), given["potential"])
    constraints = checks.listed("constraints", given["constraints"])
    holonomic = checks.listed("holonomic", given["holonomic"])
    # A rate df/dt is a constraint on the velocities.
    constraints += [sp.diff(f, time) + sum(sp.diff(f, x) * v for x, v in rows.items()) for f in holonomic]
    of_links = [v for body in bodies if isinstance(body, Link) for v in body.velocities]
    if bodies and not rows:
        names = ", ".join(body.name for body in bodies)
        raise DeclarationError(
            f"no body moves: the joints of {names} are fixed, and no coordinates are given"
        )
    velocities = law.velocities if law is not None else _velocities(rows, [*example, *of_links])
    if given["kinetic"] is None and not (bodies or law):
        raise DeclarationError("kinetic is missing; give T(t, x, eta), or bodies=[...]")
    forces = checks.by_velocity("forces", given["forces"] or {}, velocities)
    named = checks.mapping("outputs", given["outputs"] or {}).items()
    outputs = {str(key): checks.scalar(Entry("outputs", key), e) for key, e in named}
    parametrization = given["parametrization"]
    if parametrization is not None:
        if constraints:
            raise DeclarationError("give constraints or a parametrization, not both")
        parametrization = checks.by_velocity("parametrization", parametrization, velocities)
    declared = Declaration(
        name=name,
        kinematics=rows,
        velocities=velocities,
        own_kinetic=own_kinetic,
        own_potential=own_potential,
        own_forces=forces,
        law=law,
        bodies=bodies,
        interactions=interactions,
        constraints=tuple(constraints),
        holonomic=tuple(holonomic),
        parametrization=parametrization,
        independent=_independent(parametrization, velocities, example),
        contacts=contacts.checked(given["contacts"]),
        events=events.named(given["events"]),
        outputs=outputs,
        units=dict(checks.mapping("units", given["units"] or {})),
        descriptions=dict(checks.mapping("descriptions", given["descriptions"] or {})),
        example=example,
        kept=_kept(given["kept"], velocities, parametrization),
    )
    checks.check_declaration(declared)
    return declared


def with_events(declared: Declaration, more: Any) -> Declaration:
    """The same declaration with events added after its own. Raises DeclarationError, naming the event."""
    every = [*declared.events, *checks.sequence("events", more)]
    longer = Declaration(**declared.parts() | {"events": events.named(every)})
    checks.check_declaration(longer)
    return longer


def _in_order(found: Iterable[sp.Symbol], first: Iterable[sp.Symbol]) -> Symbols:
    """The symbols in the order of `first`, then the others by name."""
    rank = {s: i for i, s in enumerate(dict.fromkeys(first))}
    return tuple(sorted(found, key=lambda s: (rank.get(s, len(rank)), natural(s.name))))


def _kinematics(kinematics: Any, coordinates: Any, bodies: Iterable[Body]) -> dict[sp.Symbol, Expression]:
    """dx/dt by coordinate: those given, then those of the links' joints."""
    links = [body for body in bodies if isinstance(body, Link)]
    given = [rows for rows in (kinematics, coordinates) if rows is not None]
    if len(given) > 1 or not (given or links):
        raise DeclarationError("give either kinematics={...} or coordinates=[...]")
    if coordinates is not None:
        checks.require_coordinates(coordinates, "coordinates")
        kinematics = {x: rate(x) for x in coordinates}
    if kinematics is not None:
        checks.require_coordinates(kinematics, "kinematics")
    rows = {x: checks.scalar(Entry("kinematics", x), e) for x, e in (kinematics or {}).items()}
    for link in links:
        for x, e in link.kinematics.items():
            if rows.setdefault(x, e) != e:
                raise DeclarationError(
                    f"kinematics[{x}] = {rows[x]}, but {x} is a coordinate of the joint of {link.name!r}, where "
                    f"{x}_dot = {e}; leave it to the joint, or give the coordinate another name"
                )
    return rows


def _check_alone(given: Mapping[str, Any]) -> None:
    """Refuse what has no meaning where inputs move the coordinates, without velocities that have inertia."""
    dynamic = ("kinetic", "potential", "forces", "bodies", "interactions", "constraints", "holonomic")
    for entry in (*dynamic, "parametrization", "contacts", "kept"):
        value = given[entry]
        try:
            nothing = value is None or len(value) == 0
        except TypeError:  # a number or an expression
            nothing = value == 0
        if not nothing:
            raise DeclarationError(
                f"kinematics contains no velocity, so {entry} cannot be given: write right-hand sides in terms of "
                f"velocities created with velocities(), or, if inputs alone move the coordinates, omit {entry}"
            )


def _velocities(kinematics: Mapping[sp.Symbol, Any], first: Iterable[sp.Symbol]) -> Symbols:
    """The velocities in the kinematics: the coordinate rates, or symbols created with `velocities()`, in order."""
    found: set[sp.Symbol] = set()
    for x, expression in kinematics.items():
        here = {s for s in expression.free_symbols if isinstance(s, Velocity)}
        for s in here:
            if isinstance(s, Rate) and expression != s:
                raise DeclarationError(
                    f"kinematics[{x}] contains the rate {s}; write right-hand sides in terms of "
                    "velocities created with velocities()"
                )
        found |= here
    if all(isinstance(s, Rate) for s in found):
        return tuple(kinematics.values())
    return _in_order(found, first)


def _kept(given: Any, velocities: Symbols, parametrization: Any) -> Symbols:
    """The velocities to be kept as states, as far as they are named."""
    if not given:
        return ()
    if parametrization is not None:
        raise DeclarationError("kept: a parametrization keeps its own velocities; omit it")
    named = checks.sequence("kept", given)
    found = tuple(checks.by_velocity("kept", dict.fromkeys(named, 0), velocities))
    checks.distinct("kept", list(map(str, named)))
    return found


def _independent(
    parametrization: Mapping[sp.Symbol, Any] | None, velocities: Symbols, example: Iterable[sp.Symbol]
) -> Symbols:
    """The independent parameters theta of eta_a = beta_a(t, x, theta), given for every velocity."""
    if parametrization is None:
        return ()
    found = {s for e in parametrization.values() for s in e.free_symbols if isinstance(s, Velocity)}
    for v in velocities:
        if v not in parametrization:
            raise DeclarationError(
                f"parametrization has no entry for {v}; every velocity needs one (0 is fine)"
            )
        if v in found:
            raise DeclarationError(
                f"parametrization contains the velocity {v}; right-hand sides must be "
                "expressions in (t, x, theta), with theta created by velocities()"
            )
    return _in_order(found, example)
