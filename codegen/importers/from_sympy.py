"""A model of `sympy.physics.mechanics` as a system, by its energies or by a law of motion where T does not give it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

from chaplygin.errors import warn_caller

from ..declare.events import Event
from ..declare.given_dynamics import GivenLaw, Kane, Lagrangian, Matrices
from ..graph.differentiate import partials
from ..graph.evaluate import evaluate
from ..graph.from_sympy import Lowering, UnsupportedExpression
from ..graph.graph import Graph
from ..symbols.symbols import DeclarationError, Input, Rate, check_name, rate
from ..symbols.values import mapping, naming, sequence
from ..system.checked_system import CheckedSystem
from .names import Names
from .positions import are_rates_of_positions
from .sources import Source, source
from .stated_rates import check_stated_rates
from .vectors import Motions, generalised_forces, kinetic_energy

Expression = Any
_DEPENDENT = 1e-9  # rows of constraints, relative to their size


def declared(
    model: Any, name: str, options: Mapping[str, Mapping[Any, Any] | None], events: Sequence[Any]
) -> tuple[CheckedSystem, str | None]:
    """The system of a model, and the only form that fits if T does not give its equations.

    See `chaplygin.from_sympy`.
    """
    check_name(name, "System name")
    with naming(name):
        by = {key: mapping(f"from_sympy: {key}", given) for key, given in options.items()}
        given = _Model(source(model, by["states"]), by["prescribed"], by["names"])
        given.add(by["outputs"], sequence("from_sympy: events", events))
        given.names.check_use()
        point = given.names.example({**by["parameters"], **by["example"]})
    return given.system(name, point)


class _Model:
    """A source in declared symbols."""

    def __init__(
        self, given: Source, prescribed: Mapping[Expression, Expression], renamed: Mapping[Any, str]
    ) -> None:
        self.given = given
        self.names = names = Names(given.q, given.u, given.auxiliary, prescribed, renamed)
        speeds = tuple(names.velocities)
        rates = [names(f"d{x}/dt", given.kinematics[x]) for x in given.q]
        self.kinematics = dict(zip(names.coordinates, rates, strict=True))
        self.holonomic = [names("a holonomic constraint", e) for e in given.holonomic]
        self.velocity = [names("a velocity constraint", e) for e in given.velocity]
        self.outputs: dict[str, Expression] = {}
        self.events: list[Event] = []
        self.motions = Motions(names, given.frame)
        self.loads = [self.motions.of_load(load) for load in given.loads]
        if given.given is not None:
            mass, force = given.given
            rows = [names.listed("M", mass[i, :]) for i in range(mass.rows)]
            self.law: GivenLaw = Matrices(speeds, tuple(rows), names.listed("f", force))
        elif given.lagrangian is not None:
            self.lagrangian = names("the Lagrangian", given.lagrangian)
            self._check_lagrangian()
            q = generalised_forces(self.loads, names.velocities, {})
            forces = tuple(q.get(v, sp.Integer(0)) for v in names.velocities)
            self.kinetic, self.potential = self._energies()
            self.law = Lagrangian(speeds, self.lagrangian, forces, rates=self._rates([self.kinetic]))
        else:
            moving = tuple(self.motions.of_bodies(given.bodies))
            check_stated_rates(given)
            inertia = [
                e for m in moving for e in (*m.vector, *m.turning, *(t for row in m.tensor for t in row))
            ]
            self.law = Kane(speeds, moving, tuple(self.loads), rates=self._rates(inertia))

    def add(self, outputs: Mapping[str, Expression], events: Sequence[Any]) -> None:
        """Outputs and events in the names of the model."""
        self.outputs = {name: self.names(f"outputs[{name!r}]", e) for name, e in outputs.items()}
        self.events = [self.names.event(i, event) for i, event in enumerate(events)]

    def _rates(self, expressions: Sequence[Expression]) -> tuple[sp.Symbol, ...]:
        """The rates of the inputs in expressions that the equations differentiate."""
        resolved = [sp.sympify(e).xreplace(self._substituted()) for e in expressions]
        found = {s for e in resolved for s in e.free_symbols if isinstance(s, Input)}
        return tuple(rate(s) for s in sorted(found, key=str))

    def system(self, name: str, example: Mapping[sp.Symbol, float]) -> tuple[CheckedSystem, str | None]:
        """The system by its energies if they give its equations, otherwise by its law, and the form for that."""
        with naming(name):
            self._settle(example)
        by_energies = not self.given.states
        if isinstance(self.law, Lagrangian) and by_energies:
            return self._by_lagrangian(name, example), None
        lawful = self._declared(name, example, law=self.law)
        if isinstance(self.law, Kane) and by_energies and are_rates_of_positions(lawful, self.law):
            forces = generalised_forces(self.loads, self.names.velocities, self._substituted())
            kinetic = kinetic_energy(self.law.motions)
            return self._declared(name, example, kinetic=kinetic, forces=forces), None
        return lawful, "given"

    def _check_lagrangian(self) -> None:
        """Refuse rates of states: L is differentiated by coordinates, on which these rates may depend."""
        for f in self.given.states:
            if self.given.lagrangian.has(f.diff(dynamicsymbols._t)):
                raise DeclarationError(f"from_sympy: the Lagrangian contains the rate of the state {f}")

    def _energies(self) -> tuple[Expression, Expression]:
        """T and V: the terms of L with and without velocities."""
        moving: list[Expression] = []
        still: list[Expression] = []
        for term in sp.Add.make_args(self.lagrangian):
            (moving if term.has(*self.names.velocities) else still).append(term)
        return sp.Add(*moving), -sp.Add(*still)

    def _by_lagrangian(self, name: str, example: Mapping[sp.Symbol, float]) -> CheckedSystem:
        forces = generalised_forces(self.loads, self.names.velocities, {})
        return self._declared(name, example, kinetic=self.kinetic, potential=self.potential, forces=forces)

    def _declared(self, name: str, example: Mapping[sp.Symbol, float], **law: Any) -> CheckedSystem:
        given: dict[str, Any] = {"constraints": self.velocity, "holonomic": self.holonomic}
        if all(isinstance(v, Rate) for v in self.names.velocities) and not self.given.states:
            given["coordinates"] = self.names.coordinates
        else:
            given["kinematics"] = self.kinematics
        if len(self.given.u) - len(self.given.independent) == len(self.velocity) + len(self.holonomic) > 0:
            given["kept"] = [self.names.velocities[self.given.u.index(v)] for v in self.given.independent]
        return CheckedSystem(name, example=example, outputs=self.outputs, events=self.events, **given, **law)

    def _substituted(self) -> dict[sp.Symbol, Expression]:
        """The rates of the coordinates in velocities, where these are not the rates themselves."""
        found = {rate(x): e for x, e in self.kinematics.items()}
        return {r: e for r, e in found.items() if r != e}

    def _settle(self, example: Mapping[sp.Symbol, float]) -> None:
        """Drop the velocity constraints that are rates of holonomic ones.

        Holonomic constraints become outputs where their rates are not among the velocity constraints, and where the
        kinematics keep them by themselves, as they do the norm of a quaternion.
        """
        if not self.holonomic or not self.given.rates_given:
            return
        count = len(self.holonomic)
        slopes, moved, rows = self._slopes(example)
        parts = slopes[:, :, None] * moved  # df/dx dx/d eta, by constraint, coordinate and velocity
        rates, sizes = parts.sum(axis=1), np.linalg.norm(parts, axis=2).sum(axis=1)
        constant = np.linalg.norm(rates, axis=1) <= _DEPENDENT * sizes
        rows = np.concatenate([np.where(constant[:, None], 0, rates), rows])
        size = np.linalg.norm(rows, axis=1, keepdims=True)
        rows = rows / np.where(size == 0, 1, size)
        if np.linalg.matrix_rank(rows, tol=_DEPENDENT) > len(self.velocity):
            constant[:] = True
            warn_caller(
                "from_sympy: the velocity constraints do not hold the configuration constraints: their rates are not "
                "among them. Only the velocity constraints are kept; the outputs holonomic_1, ... show how far the "
                "others are off. Give velocity_constraints= the rates of all of them"
            )
        kept = [i for i in range(count) if not constant[i]]
        for i in range(count, len(rows)):
            if np.linalg.matrix_rank(rows[[*kept, i]], tol=_DEPENDENT) == len(kept) + 1:
                kept.append(i)
        named = {f"holonomic_{i + 1}": f for i, f in enumerate(self.holonomic)}
        self.outputs |= {name: f for (name, f), c in zip(named.items(), constant, strict=True) if c}
        self.holonomic = [f for f, c in zip(self.holonomic, constant, strict=True) if not c]
        self.velocity = [self.velocity[i - count] for i in kept if i >= count]

    def _slopes(self, example: Mapping[sp.Symbol, float]) -> tuple[Any, Any, Any]:
        """Derivatives at the example or a generic point: of holonomic constraints by coordinates, of the rates of the
        coordinates and of velocity constraints by velocities."""
        g, draw = Graph(), np.random.default_rng(1)
        by_x, by_eta = list(self.kinematics), self.names.velocities
        given = [self.holonomic, list(self.kinematics.values()), self.velocity]
        resolved = [[e.xreplace(self._substituted()) for e in group] for group in given]
        symbols = {s for group in resolved for e in group for s in e.free_symbols} | {*by_x, *by_eta}
        known = {s: g.symbol(s.name) for s in sorted(symbols, key=str)}
        point = {s.name: example.get(s, draw.uniform(0.3, 0.9)) for s in known}
        lowering, found = Lowering(g, known), []
        for group, by in zip(resolved, (by_x, by_eta, by_eta), strict=True):
            try:
                nodes = lowering.lower(group)
            except UnsupportedExpression as error:
                raise DeclarationError(f"from_sympy: a constraint: {error}") from None
            columns = partials(g, nodes, [known[s] for s in by])
            found.append(np.array([evaluate(g, column, point) for column in columns], float).T)
        slopes, moved, rows = found
        return slopes, moved, rows.reshape(-1, len(by_eta))
