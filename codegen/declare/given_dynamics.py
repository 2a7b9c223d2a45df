"""Laws of motion for systems whose kinetic energy does not give their equations: M d eta/dt = f for all velocities.

A law stands in a `System` in the place of `kinetic`. The form `given` is the only one that fits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy as sp

from ..graph.differentiate import forward, gradient, partials
from ..graph.graph import Graph, Node
from ..graph.vectors import by_rows, cross, times
from ..symbols.place import Entry

Expression = Any
Values = Mapping[Entry, Node]
Nodes = Sequence[Node]
Flow = Mapping[Node, Node]
Rows = list[list[Node]]


@dataclass(frozen=True, eq=False)
class GivenLaw(ABC):
    """M d eta/dt = f for the velocities eta, which need not all occur in the kinematics.

    `rates` are those of the inputs in what the equations differentiate, such as f_dot of f.
    """

    velocities: tuple[sp.Symbol, ...]
    rates: tuple[sp.Symbol, ...] = field(default=(), kw_only=True)

    @abstractmethod
    def expressions(self) -> dict[str, Sequence[Expression]]:
        """Its expressions, in lists by name."""

    @abstractmethod
    def balance(
        self, g: Graph, values: Values, eta: Nodes, coordinates: Nodes, flow: Flow
    ) -> tuple[Rows, list[Node]]:
        """M, and f at the velocities eta.

        `values` are the nodes of a declaration by place, `flow` is the direction of a motion at fixed eta.
        """

    @property
    def symmetric(self) -> bool:
        """Whether M is symmetric and positive, whatever its expressions."""
        return True

    @property
    def title(self) -> str:
        """The name and the formula of the equations."""
        return "Given equations, M d eta/dt = f"

    @property
    def why(self) -> str:
        """Why no kinetic energy gives the equations."""
        return "they are given, by a law"

    def entries(self) -> list[tuple[Entry, Expression]]:
        """Every expression with its place, and the rates of inputs."""
        every = {**self.expressions(), "rates of inputs": self.rates}
        return [
            (Entry("law", name, "", i), sp.sympify(e))
            for name, listed in every.items()
            for i, e in enumerate(listed)
        ]

    def text(self) -> str:
        """What its expressions do not say: their number, and the rates of the inputs."""
        names = [len(listed) for listed in self.expressions().values()]
        return f"{type(self).__name__} {names} {[str(rate) for rate in self.rates]}"

    def nodes(self, values: Values, name: str) -> list[Node]:
        """The nodes of one list of expressions."""
        return [values[Entry("law", name, "", i)] for i in range(len(self.expressions()[name]))]


@dataclass(frozen=True, eq=False)
class KinematicsAlone(GivenLaw):
    """No law is needed: inputs, not velocities with inertia, move the coordinates, dx/dt = xi_0(t, x, u)."""

    velocities: tuple[sp.Symbol, ...] = ()

    @property
    def title(self) -> str:
        return "Kinematics, dx/dt = X_0(t, x, u)"

    @property
    def why(self) -> str:
        return "there is none: kinematics contains no velocity"

    def expressions(self) -> dict[str, Sequence[Expression]]:
        return {}

    def balance(
        self, g: Graph, values: Values, eta: Nodes, coordinates: Nodes, flow: Flow
    ) -> tuple[Rows, list[Node]]:
        """No equations."""
        return [], []


@dataclass(frozen=True, eq=False)
class Matrices(GivenLaw):
    """M and f as they were given; M by rows, not assumed to be symmetric."""

    mass: tuple[tuple[Expression, ...], ...]
    force: tuple[Expression, ...]

    @property
    def symmetric(self) -> bool:
        return False

    def expressions(self) -> dict[str, Sequence[Expression]]:
        return {"mass_matrix": [e for row in self.mass for e in row], "forcing": self.force}

    def balance(
        self, g: Graph, values: Values, eta: Nodes, coordinates: Nodes, flow: Flow
    ) -> tuple[Rows, list[Node]]:
        """M and f themselves."""
        entries, k = self.nodes(values, "mass_matrix"), len(self.force)
        return [entries[i * k : (i + 1) * k] for i in range(k)], self.nodes(values, "forcing")


@dataclass(frozen=True, eq=False)
class Lagrangian(GivenLaw):
    """d/dt dL/d eta - dL/dx = Q in coordinates and their rates, for L(t, x, eta, inputs).

    Coordinates that have no velocity, which come last, have first-order equations of their own.
    """

    lagrangian: Expression
    forces: tuple[Expression, ...]

    def expressions(self) -> dict[str, Sequence[Expression]]:
        return {"lagrangian": [self.lagrangian], "forces": self.forces}

    def balance(
        self, g: Graph, values: Values, eta: Nodes, coordinates: Nodes, flow: Flow
    ) -> tuple[Rows, list[Node]]:
        """The Hessian of L, and what remains of the equations at fixed rates."""
        (lagrangian,) = self.nodes(values, "lagrangian")
        k = len(eta)
        slopes = gradient(g, lagrangian, [*eta, *coordinates[:k]])
        momenta, by_x = slopes[:k], slopes[k:]
        given = self.nodes(values, "forces")
        rest = zip(by_x, given, forward(g, momenta, flow), strict=True)
        return partials(g, momenta, eta), [g.sub(g.add(x, q), b) for x, q, b in rest]


@dataclass(frozen=True)
class GivenMotion:
    """A vector of a motion, linear in the velocities, in axes that may turn: v, and the angular velocity of the axes.

    As the motion of a body it has a `tensor`: tensor @ v is the momentum, or the angular momentum about the mass
    centre in body axes. `spin`: whether v is an angular velocity; `name` says in messages what moves.
    """

    name: str
    vector: tuple[Expression, ...]
    turning: tuple[Expression, ...] = (0, 0, 0)
    tensor: tuple[tuple[Expression, ...], ...] = ()
    spin: bool = False


@dataclass(frozen=True)
class GivenLoad:
    """A force or a couple: the motion of the point or frame on which it acts, and its components in the same axes.

    `name` says in messages what it is.
    """

    name: str
    motion: GivenMotion
    components: tuple[Expression, ...]


@dataclass(frozen=True, eq=False)
class Kane(GivenLaw):
    """Kane's equations: the d/dt of every momentum is dotted with its partial velocity, and every load with its own.

    sum over bodies of dv/d eta_r . d(m v)/dt + dw/d eta_r . d(I w)/dt = sum over loads of dv/d eta_r . R.

    Unlike those from T, they hold for velocities into which constraints were substituted. `motions` are the velocities
    of mass centres and the angular velocities of the bodies.

    Source: T. R. Kane, D. A. Levinson, Dynamics (1985), section 6.1.
    """

    motions: tuple[GivenMotion, ...]
    loads: tuple[GivenLoad, ...] = ()

    def expressions(self) -> dict[str, Sequence[Expression]]:
        found: dict[str, Sequence[Expression]] = {}
        for m in self.motions:
            found[m.name] = m.vector
            found[f"axes, {m.name}"] = m.turning
            found[f"inertia, {m.name}"] = [e for row in m.tensor for e in row]
        for i, load in enumerate(self.loads):
            moved, given = self._keys(i)
            found[moved] = load.motion.vector
            found[given] = load.components
        return found

    def _keys(self, i: int) -> tuple[str, str]:
        """The names of two lists of expressions: the velocity where a load acts, and the load."""
        load = self.loads[i]
        number = f" ({i + 1})" if [other.name for other in self.loads].count(load.name) > 1 else ""
        return f"{load.motion.name}, where the {load.name}{number} acts", load.name + number

    def balance(
        self, g: Graph, values: Values, eta: Nodes, coordinates: Nodes, flow: Flow
    ) -> tuple[Rows, list[Node]]:
        """The generalised inertia, and the generalised forces without the inertia at fixed velocities."""
        k = len(eta)
        mass = [[g.zero] * k for _ in range(k)]
        force = [g.zero] * k
        for m in self.motions:
            v, turning = (tuple(self.nodes(values, name)) for name in (m.name, f"axes, {m.name}"))
            tensor = by_rows(self.nodes(values, f"inertia, {m.name}"))
            columns = partials(g, v, eta)
            weighted = [times(g, tensor, tuple(c)) for c in columns]
            momentum = times(g, tensor, v)
            # The rate at fixed eta, that of the axes included.
            turned = cross(g, turning, momentum)
            rate = [g.add(d, c) for d, c in zip(forward(g, momentum, flow), turned, strict=True)]
            for r, column in enumerate(columns):
                force[r] = g.sub(force[r], g.dot(column, rate))
                for s in range(r + 1):
                    mass[r][s] = g.add(mass[r][s], g.dot(column, weighted[s]))
        for i in range(len(self.loads)):
            moved, load = (self.nodes(values, key) for key in self._keys(i))
            for r, column in enumerate(partials(g, moved, eta)):
                force[r] = g.add(force[r], g.dot(column, load))
        return [[mass[max(r, s)][min(r, s)] for s in range(k)] for r in range(k)], force
