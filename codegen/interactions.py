"""What acts on bodies, each given once for the pair that it joins: weights, wrenches, springs, dampers, motors.

An interaction contributes V(t, x) or generalised forces, the power coefficients Q_a = F . v_a(P) + C . omega_a of its
wrench, action and reaction together. Ends are a body (its mass centre), a pair (body, point in body axes from the mass
centre), or a point of space.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

import sympy as sp

from .evaluate import evaluate
from .graph import Graph
from .lowering import Lowering
from .screws import Body, Flow, Screw, scalar, vector
from .shorten import tidy
from .symbols import Coordinate, DeclarationError, Velocity

Expression = Any
Forces = dict[sp.Symbol, Any]
End = Union[Body, "tuple[Body, Sequence[Any]]", "Sequence[Any]"]

DOWN = (0, 0, -1)


class Interaction:
    """Base: `potential` and `forces` (by velocity) along a flow; `bodies` are those that it names."""

    bodies: tuple[Body, ...] = ()

    def potential(self, flow: Flow, every: Sequence[Body]) -> Expression:
        return sp.Integer(0)

    def forces(self, flow: Flow) -> Forces:
        return {}


class Weight(Interaction):
    """Gravity: V = -sum m g direction . r_G over all bodies, or those that are named.

    g : acceleration; direction : unit vector in space, downward by default.

    >>> from chaplygin.codegen.symbols import parameters
    >>> Weight(parameters("g", positive=True))
    Weight(g)
    """

    def __init__(
        self, g: Expression, direction: Sequence[Expression] = DOWN, bodies: Iterable[Body] | None = None
    ) -> None:
        self.g, self.direction = scalar("Weight", "g", g), vector("Weight", "direction", direction)
        self.only = None if bodies is None else tuple(_body("Weight", "bodies", b) for b in bodies)
        self.bodies = self.only or ()

    def potential(self, flow: Flow, every: Sequence[Body]) -> Expression:
        chosen = every if self.only is None else self.only
        return self.g * sum(b.mass * tidy(-self.direction.dot(b.position)) for b in chosen if b.mass != 0)

    def __repr__(self) -> str:
        return f"Weight({self.g})"


class Wrench(Interaction):
    """A force at a point of a body, and a couple: Q_a = F . v_a(P) + C . omega_a.

    force, couple : components in space, or in the axes of the body `axes`; functions of (t, x, eta, u).
    point : the point of attack in body axes from the mass centre (default: the mass centre).
    against : the body on which the opposite wrench acts, at the same place; None: the ground.
    """

    def __init__(
        self,
        body: Body,
        force: Sequence[Expression] | None = None,
        couple: Sequence[Expression] | None = None,
        point: Sequence[Expression] | None = None,
        *,
        axes: Body | None = None,
        against: Body | None = None,
    ) -> None:
        self.body = _body("Wrench", "body", body)
        if force is None and couple is None:
            raise DeclarationError("Wrench: neither force nor couple is given")
        self.force = _load("Wrench", "force", force)
        self.couple = _load("Wrench", "couple", couple)
        self.arm = vector("Wrench", "point", (0, 0, 0) if point is None else point)
        self.axes = None if axes is None else _body("Wrench", "axes", axes)
        self.against = None if against is None else _body("Wrench", "against", against)
        self.bodies = tuple(b for b in (self.body, self.axes, self.against) if b is not None)

    def forces(self, flow: Flow) -> Forces:
        force, couple = (flow.in_space(self.axes, v) for v in (self.force, self.couple))
        v, turning = flow.at(self.body, self.arm), _turning(flow, self.body)
        if self.against is not None:
            other = self.against
            place = (self.body.point(self.arm) - other.position).applyfunc(tidy)
            spin = _turning(flow, other)
            v = v - flow.in_space(*flow.velocity(other)) - spin.cross(place)
            turning = turning - spin
        return {
            eta: force.dot(sp.diff(v, eta)) + couple.dot(sp.diff(turning, eta)) for eta in flow.velocities
        }


class _Line(Interaction):
    """What acts along the line between two points."""

    def __init__(self, first: End, second: End) -> None:
        name = type(self).__name__
        self.ends = (_end(name, "first", first), _end(name, "second", second))
        self.bodies = tuple(body for body, _ in self.ends if body is not None)
        if self.ends[0][0] is self.ends[1][0]:
            what = "the ground" if not self.bodies else f"the body {self.bodies[0].name!r}"
            raise DeclarationError(
                f"{name}: both ends are on {what}; join two bodies, or a body and the ground"
            )

    def _apart(self) -> Any:
        """The vector from the first end to the second."""
        first, second = (arm if body is None else body.point(arm) for body, arm in self.ends)
        return (second - first).applyfunc(tidy)


class Spring(_Line):
    """A spring between two points: V = k (d - d_0)^2 / 2, d their distance.

    first, second : the ends, see the module's text; stiffness : k; rest_length : d_0.
    """

    def __init__(self, first: End, second: End, stiffness: Expression, rest_length: Expression = 0) -> None:
        super().__init__(first, second)
        self.stiffness = scalar("Spring", "stiffness", stiffness)
        self.rest_length = scalar("Spring", "rest_length", rest_length)

    def potential(self, flow: Flow, every: Sequence[Body]) -> Expression:
        apart = self._apart()
        square = tidy(apart.dot(apart))
        stretch = square if self.rest_length == 0 else (sp.sqrt(square) - self.rest_length) ** 2
        return self.stiffness * stretch / 2


class Damper(_Line):
    """A damper between two points: a force -c d' along their line, d their distance; Q_a = -c d' X_a d.

    first, second : the ends, see the module's text; coefficient : c. The ends must not meet.
    """

    def __init__(self, first: End, second: End, coefficient: Expression) -> None:
        super().__init__(first, second)
        self.coefficient = scalar("Damper", "coefficient", coefficient)

    def forces(self, flow: Flow) -> Forces:
        apart = self._apart()
        first, second = (flow.at(body, arm) for body, arm in self.ends)
        speed = apart.dot(second - first)  # d d'
        factor = -self.coefficient * speed / tidy(apart.dot(apart))
        return {eta: factor * sp.diff(speed, eta) for eta in flow.velocities}


class Motor(Interaction):
    """A couple about an axis: on the second body, and the opposite one on the first.

    Q_a = couple n . (omega_a of the second - omega_a of the first).

    first : the body that carries the motor, None for the ground; axis : n in the axes of the first, a unit vector;
    couple : a function of (t, x, eta, u), such as an input.
    """

    def __init__(
        self, first: Body | None, second: Body, axis: Sequence[Expression], couple: Expression
    ) -> None:
        self.first = None if first is None else _body("Motor", "first", first)
        self.second = _body("Motor", "second", second)
        if self.first is self.second:
            raise DeclarationError(f"Motor: first and second are the same body {second.name!r}")
        self.axis, self.couple = vector("Motor", "axis", axis), _free("Motor", "couple", couple)
        self.bodies = tuple(b for b in (self.first, self.second) if b is not None)

    def forces(self, flow: Flow) -> Forces:
        first, second = self.first, self.second
        if second.parent is first:
            turning = (second.rotation * flow.spin(second)).applyfunc(tidy)
        else:
            turning = _turning(flow, second)
            if first is not None:
                turning = first.attitude.T * turning - flow.omega(first)
        along = tidy(self.axis.dot(turning))
        return {eta: self.couple * tidy(sp.diff(along, eta)) for eta in flow.velocities}


@dataclass(frozen=True, eq=False)
class Mechanism:
    """What bodies and interactions contribute to a `System`: T, V, Q_a, and the screws by name."""

    kinetic: Expression
    potential: Expression
    forces: Forces
    screws: Mapping[str, Screw]


def mechanism(
    system: str,
    kinematics: Mapping[sp.Symbol, Expression],
    bodies: Sequence[Body],
    interactions: Sequence[Interaction],
) -> Mechanism:
    """T, V and Q of bodies along dx/dt = kinematics.

    Raises DeclarationError for bodies named twice, a parent or a body of an interaction that is not among `bodies`,
    and a pose with a coordinate that has no kinematics.
    """
    where, known = f"System {system!r}", {}
    for body in bodies:
        if not isinstance(body, Body):
            raise DeclarationError(f"{where}: bodies: {body!r} is no Body; make it with Body(...)")
        if body.name in known:
            raise DeclarationError(f"{where}: bodies: the name {body.name!r} is used twice")
        known[body.name] = body
    for body in bodies:
        if body.parent is not None and known.get(body.parent.name) is not body.parent:
            raise DeclarationError(
                f"{where}: Body {body.name!r}: its parent {body.parent.name!r} is not among bodies "
                f"({', '.join(known)}); add it, with mass 0 if it is only a frame"
            )
        for entry in ("mass", "inertia", "rotation", "center"):
            for s in sorted(getattr(body, entry).free_symbols, key=str):
                if isinstance(s, Coordinate) and s not in kinematics:
                    raise DeclarationError(
                        f"{where}: Body {body.name!r}: {entry}: the coordinate {s} has no kinematics in the system"
                    )
    for i, item in enumerate(interactions):
        if not isinstance(item, Interaction):
            raise DeclarationError(
                f"{where}: interactions[{i}] is {type(item).__name__}; give Weight, Wrench, Spring, Damper or Motor"
            )
        for body in item.bodies:
            if known.get(body.name) is not body:
                raise DeclarationError(
                    f"{where}: interactions[{i}] ({type(item).__name__}): the body {body.name!r} is not among bodies "
                    f"({', '.join(known) or 'none'})"
                )
    flow = Flow(kinematics)
    forces: Forces = {}
    for item in interactions:
        for eta, q in item.forces(flow).items():
            if q != 0:
                forces[eta] = forces.get(eta, 0) + q
    return Mechanism(
        sp.Add(*(flow.energy(b) for b in bodies)),
        sp.Add(*(item.potential(flow, bodies) for item in interactions)),
        forces,
        {b.name: flow.screw(b) for b in bodies},
    )


def check_bodies(system: str, bodies: Sequence[Body], point: Mapping[str, float], given: set[str]) -> None:
    """Rotations orthogonal, masses and inertias not negative, at the example point; `given` names what it gives."""
    import numpy as np

    def numbers(where: str, e: Any) -> Any:
        if not {s.name for s in e.free_symbols} <= point.keys():
            return None  # a parameter that drops out of T and V, and that the example is silent about
        g = Graph()
        nodes = Lowering(g, {s: g.symbol(s.name) for s in e.free_symbols}).lower(list(e))
        try:
            return np.array(evaluate(g, nodes, point), dtype=float).reshape(e.shape)
        except (ArithmeticError, ValueError) as error:
            raise DeclarationError(f"{where} fails at the example point: {error}") from None

    for body in bodies:
        where = f"System {system!r}: Body {body.name!r}"
        mass = numbers(f"{where}: mass", sp.Matrix([body.mass]))
        if mass is not None and mass[0, 0] < 0:
            raise DeclarationError(
                f"{where}: mass is {mass[0, 0]:.6g} at the example point; it must not be negative"
            )
        inertia = numbers(f"{where}: inertia", body.inertia)
        moments = np.zeros(3) if inertia is None else np.linalg.eigvalsh(inertia)
        if moments[0] < -1e-9 * (1 + abs(moments[-1])):
            raise DeclarationError(
                f"{where}: inertia has the central principal moments {', '.join(f'{v:.6g}' for v in moments)} at the "
                "example point; they must not be negative (is it given about another point? say so with about=)"
            )
        r = numbers(f"{where}: rotation", body.rotation)
        if r is None:
            continue
        product = r.T @ r
        size = float(np.trace(product)) / 3
        scaled = np.abs(product - size * np.eye(3)).max() <= 1e-8 * size and np.linalg.det(r) > 0
        # Off |q| = 1 a quaternion's matrix is a multiple of a rotation: only wrong where the example says so.
        meant = {s.name for s in body.rotation.free_symbols if isinstance(s, Coordinate)} <= given
        if not scaled or (meant and abs(size - 1) > 1e-8):
            lengths = ", ".join(f"{v:.6g}" for v in np.linalg.norm(r, axis=0))
            raise DeclarationError(
                f"{where}: rotation is not a rotation at the example point: its columns have the lengths {lengths}, "
                f"its determinant is {np.linalg.det(r):.6g}; columns are the body axes, orthonormal and right-handed"
                " (for a quaternion give unit values in example)"
            )


def _turning(flow: Flow, body: Body) -> Any:
    """The angular velocity in space."""
    return (body.attitude * flow.omega(body)).applyfunc(tidy)


def _body(where: str, entry: str, value: Any) -> Body:
    if not isinstance(value, Body):
        raise DeclarationError(f"{where}: {entry} is {type(value).__name__}; give a Body")
    return value


def _end(where: str, entry: str, value: Any) -> tuple[Body | None, Any]:
    if isinstance(value, Body):
        return value, sp.zeros(3, 1)
    if (
        isinstance(value, (tuple, list))
        and len(value) == 2
        and (value[0] is None or isinstance(value[0], Body))
    ):
        return value[0], vector(where, entry, value[1])
    if isinstance(value, (tuple, list, sp.MatrixBase)) and len(value) == 3:
        return None, vector(where, entry, value)
    raise DeclarationError(
        f"{where}: {entry} is no end: give a Body, (body, point in body axes), or a point of space (x, y, z)"
    )


def _free(where: str, entry: str, value: Any) -> Expression:
    """As `scalar`, and velocities are admitted."""
    e = sp.sympify(value) if not isinstance(value, (str, bytes)) else value
    if not isinstance(e, sp.Expr):
        return scalar(where, entry, value)
    rest = {s: sp.Integer(1) for s in e.free_symbols if isinstance(s, Velocity)}
    for s in e.free_symbols - set(rest):
        scalar(where, entry, s)
    return e


def _load(where: str, entry: str, value: Sequence[Expression] | None) -> Any:
    if value is None:
        return sp.zeros(3, 1)
    items = list(value)
    if len(items) != 3:
        raise DeclarationError(f"{where}: {entry} has {len(items)} entries; give 3 components")
    return sp.Matrix([_free(where, f"{entry}[{i}]", e) for i, e in enumerate(items)])
