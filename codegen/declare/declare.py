"""From what is given to a `System` to a `Declaration`: read, completed and put in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import sympy as sp

from ..mechanics.bodies import Body
from ..mechanics.joint import Link
from ..symbols import values
from ..symbols.place import Entry
from ..symbols.symbols import (
    DeclarationError,
    Parameter,
    Rate,
    Symbols,
    Velocity,
    in_order,
    rate,
    rates_of_inputs,
    time,
)
from . import bodies as mechanism, checks, contacts, events
from .declaration import Declaration, Expression
from .given_dynamics import GivenLaw, KinematicsAlone


def declare(given: SimpleNamespace) -> Declaration:
    """The declaration made of the arguments of a `System`, by name.

    Raises DeclarationError, naming the entry.
    """
    bodies, interactions = mechanism.checked(given.bodies, given.interactions)
    rows = _kinematics(given.kinematics, given.coordinates, bodies)
    law: GivenLaw | None = given.law
    kinetic = given.kinetic
    if rows and law is None and not any(e.atoms(Velocity) for e in rows.values()):
        _check_alone(given)
        law, kinetic = KinematicsAlone(), None
    example = checks.example(given.example)
    if law is not None and kinetic is not None:
        raise DeclarationError("give kinetic or a law, not both")
    own_kinetic = values.scalar(Entry("kinetic"), 0 if kinetic is None else kinetic)
    own_potential = values.scalar(Entry("potential"), 0 if given.potential is None else given.potential)
    constraints = values.listed("constraints", given.constraints)
    holonomic = values.listed("holonomic", given.holonomic)
    # A rate df/dt is a constraint on the velocities.
    constraints += [_rate(f, rows) for f in holonomic]
    of_links = [v for body in bodies if isinstance(body, Link) for v in body.velocities]
    if bodies and not rows:
        names = ", ".join(body.name for body in bodies)
        raise DeclarationError(
            f"no body moves: the joints of {names} are fixed, and no coordinates are given"
        )
    velocities = law.velocities if law is not None else _velocities(rows, [*example, *of_links])
    if kinetic is None and not (bodies or law):
        raise DeclarationError("kinetic is missing; give T(t, x, eta), or bodies=[...]")
    forces = values.by_velocity("forces", given.forces, velocities)
    named = values.mapping("outputs", given.outputs).items()
    outputs = {str(key): values.scalar(Entry("outputs", key), e) for key, e in named}
    parametrization = given.parametrization
    if parametrization is not None:
        if constraints:
            raise DeclarationError("give constraints or a parametrization, not both")
        parametrization = values.by_velocity("parametrization", parametrization, velocities)
    declared = Declaration(
        name=given.name,
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
        contacts=contacts.checked(given.contacts),
        events=events.named(given.events),
        outputs=outputs,
        units=dict(values.mapping("units", given.units)),
        descriptions=dict(values.mapping("descriptions", given.descriptions)),
        example=example,
        kept=_kept(given.kept, velocities, parametrization),
        ordered=_ordered(given.parameters),
    )
    checks.check_declaration(declared)
    return declared


def with_events(declared: Declaration, more: Any) -> Declaration:
    """The same declaration with events added after its own. Raises DeclarationError, naming the event."""
    every = [*declared.events, *values.sequence("events", more)]
    longer = Declaration(**declared.parts() | {"events": events.named(every)})
    checks.check_declaration(longer)
    return longer


def without(declared: Declaration, empty: Sequence[int]) -> Declaration:
    """The same declaration without some of its holonomic equations."""
    first = len(declared.constraints) - len(declared.holonomic)
    parts = declared.parts()
    for name, before in (("constraints", first), ("holonomic", 0)):
        parts[name] = tuple(e for i, e in enumerate(parts[name], -before) if i not in empty)
    return Declaration(**parts)


def _kinematics(kinematics: Any, coordinates: Any, bodies: Iterable[Body]) -> dict[sp.Symbol, Expression]:
    """dx/dt by coordinate: those given, then those of the links' joints."""
    links = [body for body in bodies if isinstance(body, Link)]
    given = [rows for rows in (kinematics, coordinates) if rows is not None]
    if len(given) > 1 or not (given or links):
        raise DeclarationError("give either kinematics={...} or coordinates=[...]")
    if coordinates is not None:
        values.require_coordinates(coordinates, "coordinates")
        kinematics = {x: rate(x) for x in coordinates}
    if kinematics is not None:
        values.require_coordinates(kinematics, "kinematics")
    rows = {x: values.scalar(Entry("kinematics", x), e) for x, e in (kinematics or {}).items()}
    for link in links:
        for x, e in link.kinematics.items():
            if rows.setdefault(x, e) != e:
                raise DeclarationError(
                    f"kinematics[{x}] = {rows[x]}, but {x} is a coordinate of the joint of {link.name!r}, where "
                    f"{x}_dot = {e}; leave it to the joint, or give the coordinate another name"
                )
    return rows


def _rate(f: Expression, rows: Mapping[sp.Symbol, Expression]) -> Expression:
    """df/dt of an equation f(t, x, u), with the rates of the inputs."""
    moved = {**rows, **rates_of_inputs(f.free_symbols)}
    return sp.diff(f, time) + sum(sp.diff(f, s) * v for s, v in moved.items())


def _check_alone(given: SimpleNamespace) -> None:
    """Refuse what has no meaning where inputs move the coordinates, without velocities that have inertia."""
    dynamic = ("kinetic", "potential", "forces", "bodies", "interactions", "constraints", "holonomic")
    for entry in (*dynamic, "parametrization", "contacts", "kept"):
        value = getattr(given, entry)
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
        return tuple(
            e for e in kinematics.values() if isinstance(e, Rate)
        )  # others move by themselves, as a lag does
    return in_order(found, first)


def _kept(given: Any, velocities: Symbols, parametrization: Any) -> Symbols:
    """The velocities to be kept as states, as far as they are named."""
    named = [] if given is None else values.instances("kept", given, sp.Basic, "a velocity")
    if named and parametrization is not None:
        raise DeclarationError("kept: a parametrization keeps its own velocities; omit it")
    found = tuple(values.by_velocity("kept", dict.fromkeys(named, 0), velocities))
    values.distinct("kept", list(map(str, named)))
    return found


def _ordered(given: Any) -> Symbols:
    """The parameters whose order is given."""
    found = values.instances("parameters", given, Parameter, "a symbol created with parameters()")
    values.distinct("parameters", [s.name for s in found])
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
    return in_order(found, example)
