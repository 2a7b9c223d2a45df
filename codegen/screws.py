"""Rigid bodies by their poses: kinematic screws, partial screws, kinetic energy, rolling constraints.

The kinematic screw of a body is its angular velocity and the velocity of its mass centre; along
dx/dt = X_0 + eta_a X_a both are affine in the velocities,
omega = omega_0 + eta_a omega_a,  v_G = v_0 + eta_a v_a,
with R^T X_a R = hat(omega_a) in body axes and v_a = X_a r_G: (omega_a, v_a) is the partial screw of eta_a.
T = sum m v_G^2 / 2 + omega . I omega / 2  (König); a wrench (F, C) at P has Q_a = F . v_a(P) + C . omega_a.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sympy as sp

from .shorten import tidy
from .symbols import Coordinate, DeclarationError, Input, Parameter, Time, Velocity, check_name, rate, time

Expression = Any
Vector = Any


class Body:
    """A rigid body: mass, inertia operator, pose as a function of (t, x).

    Parameters
    ----------
    name : a plain identifier.
    mass : left out for a frame that carries other bodies.
    inertia : 3x3 inertia operator in body axes, about the mass centre unless `about` says otherwise; or the three
        principal moments. None: a particle, or a frame.
    rotation : 3x3 matrix from body axes to those of the parent (or of space); columns are the body axes. It may be a
        rotation times a factor, as that of a quaternion q is off |q| = 1. None: the axes of the parent.
    center : position of the mass centre, 3 components in the parent's axes from the parent's mass centre; without a
        parent in space. None: (0, 0, 0).
    parent : the body that the pose is relative to.
    about : the point about which `inertia` is given, from the mass centre in body axes.

    Raises
    ------
    DeclarationError : for wrong shapes, an inertia that is not symmetric, poses that contain velocities. That the
        rotation is orthogonal and the inertia not negative is checked at the example point of the `System`.

    >>> from chaplygin.codegen.symbols import coordinates, parameters
    >>> x, phi = coordinates("x phi")
    >>> m, r = parameters("m r", positive=True)
    >>> wheel = Body("wheel", mass=m, inertia=(m*r**2/4, m*r**2/2, m*r**2/4), rotation=turn(2, phi), center=(x, 0, r))
    >>> rolling(wheel, (x, 0, 0))
    [-phi_dot*r + x_dot]
    """

    def __init__(
        self,
        name: str,
        *,
        mass: Expression | None = None,
        inertia: Any = None,
        rotation: Any = None,
        center: Sequence[Expression] | None = None,
        parent: Body | None = None,
        about: Sequence[Expression] | None = None,
    ) -> None:
        check_name(name, "Body name")
        if parent is not None and not isinstance(parent, Body):
            raise DeclarationError(f"Body {name!r}: parent is {type(parent).__name__}; give a Body")
        self.name, self.parent = name, parent
        where = f"Body {name!r}"
        if mass is None and inertia is not None:
            raise DeclarationError(f"{where}: it has inertia and no mass; give the mass")
        self.mass = scalar(where, "mass", 0 if mass is None else mass)
        self.rotation = sp.eye(3) if rotation is None else _matrix(where, "rotation", rotation)
        self.center = vector(where, "center", (0, 0, 0) if center is None else center)
        self.inertia = self._central(inertia, about)

    def _central(self, inertia: Any, about: Sequence[Expression] | None) -> Any:
        where = f"Body {self.name!r}"
        if inertia is None:
            if about is not None:
                raise DeclarationError(f"{where}: about is given and no inertia")
            return sp.zeros(3)
        rows = list(inertia) if not isinstance(inertia, sp.MatrixBase) else inertia
        if isinstance(rows, list) and len(rows) == 3 and not any(isinstance(r, (list, tuple)) for r in rows):
            rows = sp.diag(*[scalar(where, "inertia", e) for e in rows])
        given = _matrix(where, "inertia", rows)
        for i, j in ((0, 1), (0, 2), (1, 2)):
            if sp.expand(given[i, j] - given[j, i]) != 0:
                raise DeclarationError(
                    f"{where}: inertia is not symmetric: entry [{i}, {j}] is {given[i, j]}, [{j}, {i}] {given[j, i]}"
                )
        if about is None:
            return given
        d = vector(where, "about", about)
        return given - self.mass * (d.dot(d) * sp.eye(3) - d * d.T)

    @cached_property
    def attitude(self) -> Any:
        """R (3, 3): from body axes to space axes."""
        if self.parent is None:
            return self.rotation
        return (self.parent.attitude * self.rotation).applyfunc(tidy)

    @cached_property
    def position(self) -> Vector:
        """r_G (3, 1): the mass centre in space."""
        return self.center if self.parent is None else self.parent.point(self.center).applyfunc(tidy)

    @cached_property
    def scale(self) -> Expression:
        """The square of the factor by which `rotation` is longer than a rotation: 1, or |q|^4 of a quaternion."""
        return tidy(self.rotation[:, 0].dot(self.rotation[:, 0]))

    @cached_property
    def lever(self) -> Vector | None:
        """The mass centre in body axes from a point that stays where it is in the parent; None where there is none."""
        if self.center.is_zero_matrix or not _moves(self.center) <= _moves(self.rotation):
            return None
        arm = (self.rotation.T * self.center).applyfunc(tidy)
        if self.scale != 1:
            arm = arm.applyfunc(lambda e: sp.cancel(e / self.scale))
        return None if _moves(arm) else arm

    def point(self, arm: Sequence[Expression]) -> Vector:
        """The place in space of a point that is `arm` from the mass centre, in body axes."""
        return self.position + self.attitude * vector(f"Body {self.name!r}", "point", arm)

    def __repr__(self) -> str:
        of = f", parent={self.parent.name!r}" if self.parent else ""
        return f"Body({self.name!r}, mass={self.mass}{of})"


@dataclass(frozen=True, eq=False)
class Screw:
    """The kinematic screw of a body: `omega` in body axes and `velocity` of the mass centre in space, (3, 1) each.

    `partial[eta]` is the pair (omega_a, v_a) of the velocity eta, `drift` that of a motion with all eta = 0.
    """

    body: Body
    omega: Vector
    velocity: Vector
    partial: Mapping[sp.Symbol, tuple[Vector, Vector]]
    drift: tuple[Vector, Vector]


class Flow:
    """Poses along dx/dt = X_0 + eta_a X_a: rates of expressions, angular velocities, velocities of points."""

    def __init__(self, kinematics: Mapping[sp.Symbol, Expression]) -> None:
        self.kinematics = {x: sp.sympify(e) for x, e in kinematics.items()}
        found = {s for e in self.kinematics.values() for s in e.free_symbols if isinstance(s, Velocity)}
        self.velocities = tuple(sorted(found, key=lambda s: s.name))
        self._spin: dict[Body, Vector] = {}
        self._omega: dict[Body, Vector] = {}

    def rate(self, e: Expression) -> Expression:
        """d e / dt of a scalar or a matrix in (t, x)."""
        total = sp.diff(e, time)
        for x, speed in self.kinematics.items():
            if e.has(x):
                total += sp.diff(e, x) * speed
        return total

    def slope(self, e: Expression, eta: sp.Symbol | None) -> Expression:
        """X_a e of a scalar or a matrix in (t, x); eta None is X_0."""
        total = sp.diff(e, time) if eta is None else sp.diff(e, time) * 0
        for x, speed in self.kinematics.items():
            weight = speed.subs(dict.fromkeys(self.velocities, 0)) if eta is None else sp.diff(speed, eta)
            if weight != 0 and e.has(x):
                total += weight * sp.diff(e, x)
        return total

    def spin(self, body: Body) -> Vector:
        """The angular velocity relative to the parent, in body axes."""
        if body not in self._spin:
            turned, total = body.rotation, sp.zeros(3, 1)
            if turned.free_symbols & {time, *self.kinematics}:
                size = body.scale
                for eta in (None, *self.velocities):
                    skew = turned.T * self.slope(turned, eta)
                    parts = [skew[2, 1], skew[0, 2], skew[1, 0]]
                    weight = sp.Integer(1) if eta is None else eta
                    total += weight * sp.Matrix(
                        [tidy(e) if size == 1 else sp.cancel(e / size) for e in parts]
                    )
            self._spin[body] = total
        return self._spin[body]

    def omega(self, body: Body) -> Vector:
        """The angular velocity in body axes."""
        if body not in self._omega:
            own = self.spin(body)
            carried = sp.zeros(3, 1) if body.parent is None else body.rotation.T * self.omega(body.parent)
            self._omega[body] = (own + carried).applyfunc(tidy)
        return self._omega[body]

    def velocity(self, body: Body) -> tuple[Body | None, Vector]:
        """The velocity of the mass centre, in the axes of the body that is named (None: space)."""
        parent = body.parent
        if parent is None:
            if body.lever is not None:
                return body, self.omega(body).cross(body.lever).applyfunc(tidy)
            return None, self.rate(body.center)
        here = self.omega(parent).cross(body.center) + self.rate(body.center)
        axes, carried = self.velocity(parent)
        if carried.is_zero_matrix:
            return parent, here.applyfunc(tidy)
        while parent is not axes:
            assert parent is not None
            here, parent = parent.rotation * here, parent.parent
        return axes, carried + here.applyfunc(tidy)

    def in_space(self, axes: Body | None, v: Vector) -> Vector:
        return v if axes is None else axes.attitude * v

    def at(self, body: Body | None, arm: Vector) -> Vector:
        """The velocity in space of the material point that is `arm` (in body axes) from the mass centre."""
        if body is None:
            return sp.zeros(3, 1)
        turned = body.attitude * self.omega(body).cross(arm)
        return (self.in_space(*self.velocity(body)) + turned).applyfunc(tidy)

    def energy(self, body: Body) -> Expression:
        """m v_G^2 / 2 + omega . I omega / 2."""
        _, v = self.velocity(body)
        moving = body.mass * tidy(v.dot(v)) / 2 if body.mass != 0 else sp.Integer(0)
        if body.inertia.is_zero_matrix:
            return moving
        omega = self.omega(body)
        turning = _quadratic(body.inertia, omega)
        if body.scale == 1:  # in the parent's axes the spin of an axisymmetric body drops out
            inertia = (body.rotation * body.inertia * body.rotation.T).applyfunc(tidy)
            outer = (body.rotation * self.spin(body)).applyfunc(tidy)
            if body.parent is not None:
                outer += self.omega(body.parent)
            turning = min(turning, _quadratic(inertia, outer), key=sp.count_ops)
        return moving + turning

    def screw(self, body: Body) -> Screw:
        """Kinematic and partial screws."""
        omega, velocity = self.omega(body), self.in_space(*self.velocity(body))
        rest = dict.fromkeys(self.velocities, 0)
        partial = {eta: (sp.diff(omega, eta), sp.diff(velocity, eta)) for eta in self.velocities}
        return Screw(body, omega, velocity, partial, (omega.subs(rest), velocity.subs(rest)))


def rolling(
    body: Body,
    contact: Sequence[Expression],
    *,
    on: Body | None = None,
    axes: Body | None = None,
    directions: Sequence[Sequence[Expression]] | None = None,
    kinematics: Mapping[sp.Symbol, Expression] | None = None,
) -> list[Expression]:
    """Constraints: the material point of the body at the contact has the velocity of what it rolls on.

    contact : the place of the contact in space, a function of (t, x); with ``axes=body`` its components in body axes
        from the mass centre instead (an expression in x where the contact wanders over the body).
    on : another body that is rolled on; None: the ground.
    directions : vectors in space along which the velocities are equal (skates, wheels that may slip along their
        axis); None: all three components, those that vanish identically left out.
    kinematics : those of the `System`; the result is then in its velocities instead of the rates `rate(x)`.

    Returns expressions for `System(constraints=[...])`.
    """
    where = f"rolling({body.name})"
    if axes is not None and axes is not body:
        raise DeclarationError(f"{where}: axes is {axes!r}; give the rolling body itself, or None for space")
    place = vector(where, "contact", contact)
    names = _coordinates_of([body, on], place)
    flow = Flow({x: rate(x) for x in names} if kinematics is None else kinematics)

    def speed(of: Body | None) -> Vector:
        if of is None:
            return sp.zeros(3, 1)
        spot = place if axes is None else body.point(place)
        if of is body and axes is body:
            return flow.at(of, place)
        turn = (of.attitude * flow.omega(of)).applyfunc(tidy)
        return flow.in_space(*flow.velocity(of)) + turn.cross((spot - of.position).applyfunc(tidy))

    slip = (speed(body) - speed(on)).applyfunc(tidy)
    if directions is not None:
        return [tidy(slip.dot(vector(where, f"directions[{i}]", d))) for i, d in enumerate(directions)]
    return [e for e in slip if e != 0]


def turn(axis: int | Sequence[Expression], angle: Expression) -> Any:
    """The rotation matrix about an axis, 1, 2, 3 or a unit vector, by an angle: columns are the turned axes.

    >>> turn(3, sp.pi / 2) * sp.Matrix([1, 0, 0])
    Matrix([
    [0],
    [1],
    [0]])
    """
    if isinstance(axis, int) and axis not in (1, 2, 3):
        raise DeclarationError(f"turn: axis is {axis}; give 1, 2, 3 or a unit vector")
    n = (
        sp.Matrix([int(i == axis) for i in (1, 2, 3)])
        if isinstance(axis, int)
        else vector("turn", "axis", axis)
    )
    c, s = sp.cos(angle), sp.sin(angle)
    return c * sp.eye(3) + s * hat(n) + (1 - c) * n * n.T


def hat(w: Vector) -> Any:
    """The skew matrix of a vector: hat(w) r = w x r."""
    return sp.Matrix([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def scalar(where: str, entry: str, value: Any) -> Expression:
    """A function of (t, x, parameters, inputs)."""
    if isinstance(value, (str, bytes)):
        raise DeclarationError(f"{where}: {entry} is text; give a SymPy expression")
    try:
        e = sp.sympify(value)
    except (sp.SympifyError, TypeError, AttributeError) as error:
        raise DeclarationError(f"{where}: {entry} is no SymPy expression: {error}") from None
    if not isinstance(e, sp.Expr):
        raise DeclarationError(f"{where}: {entry} is {type(e).__name__}; give a scalar SymPy expression")
    for s in sorted(e.free_symbols, key=str):
        if isinstance(s, Velocity):
            raise DeclarationError(f"{where}: {entry} contains the velocity {s}; it is a function of (t, x)")
        if not isinstance(s, (Coordinate, Parameter, Input, Time)):
            raise DeclarationError(
                f"{where}: {entry}: unknown symbol {s}; declare it with parameters() or coordinates()"
            )
    return e


def vector(where: str, entry: str, value: Any) -> Vector:
    """Three components as a column."""
    sequence = isinstance(value, (sp.MatrixBase, sp.Tuple)) or (
        hasattr(value, "__iter__") and not isinstance(value, str)
    )
    items = list(value) if sequence else None
    if items is None or len(items) != 3:
        count = "no sequence" if items is None else f"{len(items)} entries"
        raise DeclarationError(f"{where}: {entry} has {count}; give 3 components")
    return sp.Matrix([scalar(where, f"{entry}[{i}]", e) for i, e in enumerate(items)])


def _moves(e: Any) -> set[sp.Symbol]:
    """The coordinates, and the time, that an expression contains."""
    return {s for s in e.free_symbols if isinstance(s, (Coordinate, Time))}


def _quadratic(inertia: Any, omega: Vector) -> Expression:
    """omega . I omega / 2; the components of equal moments together, so that their angles may drop out."""
    if not inertia.is_diagonal():
        return omega.dot(inertia * omega) / 2
    squares: dict[Expression, Expression] = {}
    for i in range(3):
        squares[inertia[i, i]] = squares.get(inertia[i, i], 0) + omega[i] ** 2
    return sp.Add(*(moment * tidy(square) / 2 for moment, square in squares.items() if moment != 0))


def _matrix(where: str, entry: str, value: Any) -> Any:
    try:
        given = sp.Matrix(value)
    except (TypeError, ValueError) as error:
        raise DeclarationError(f"{where}: {entry} is no 3x3 matrix: {error}") from None
    if given.shape != (3, 3):
        raise DeclarationError(f"{where}: {entry} has shape {given.shape}; (3, 3) is needed")
    return given.applyfunc(lambda e: scalar(where, entry, e))


def _coordinates_of(bodies: Sequence[Body | None], *more: Any) -> list[sp.Symbol]:
    """Every coordinate that the poses contain."""
    found: set[sp.Symbol] = set().union(*(m.free_symbols for m in more))
    for item in bodies:
        body = item
        while body is not None:
            found |= body.rotation.free_symbols | body.center.free_symbols
            body = body.parent
    return sorted((s for s in found if isinstance(s, Coordinate)), key=lambda s: s.name)
