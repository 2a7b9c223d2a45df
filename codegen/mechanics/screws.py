"""Kinematic screws, partial screws and kinetic energies of rigid bodies, composed in the graph.

The kinematic screw of a body is its angular velocity and the velocity of its mass centre; along
dx/dt = X_0 + eta_a X_a both are affine in the velocities,
omega = omega_0 + eta_a omega_a,  v_G = v_0 + eta_a v_a,
with R^T X_a R = hat(omega_a) in body axes and v_a = X_a r_G: (omega_a, v_a) is the partial screw of eta_a.
T = sum m v_G^2 / 2 + omega . I omega / 2  (König); a wrench (F, C) at P has Q_a = F . v_a(P) + C . omega_a.

From parent to child, with R the rotation relative to the parent, c the mass centre in the parent's axes, c = a + R l:
omega = R^T omega_parent + spin,   v = R^T (v_parent + omega_parent x a + a') + omega x l,
each in body axes, so the cost of a chain is linear in the number of bodies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar, cast

import sympy as sp

from ..graph.differentiate import forward, gradient
from ..graph.from_sympy import Lowering
from ..graph.graph import Graph, Node
from ..graph.vectors import (
    Matrix,
    Vector,
    axial,
    by_rows,
    cross,
    is_zero,
    minus,
    plus,
    product,
    times,
    transpose,
    zero,
)
from ..identities.unused_variables import dropped
from ..symbols.symbols import Velocity, rates_of_inputs, time
from .bodies import Body, moves


@dataclass(frozen=True, eq=False)
class Screw:
    """The kinematic screw of a body: `omega` in body axes and `velocity` of the mass centre in space, (3, 1) each.

    `partial[eta]` is the pair (omega_a, v_a) of the velocity eta, `drift` is (omega_0, v_0), with all eta = 0.
    """

    body: Body
    omega: Any
    velocity: Any
    partial: Mapping[sp.Symbol, tuple[Any, Any]]
    drift: tuple[Any, Any]


@dataclass(frozen=True)
class _Pose:
    """A body's declaration in the graph. Its mass centre is at `center` = `anchor` + R `lever` in the parent's axes,
    with a lever that is fixed in body axes; if there is none, `anchor` is `center` and `lever` is zero."""

    mass: Node
    inertia: Matrix
    rotation: Matrix
    scale: Node
    """The square of the factor by which `rotation` scales a true rotation: 1, or |q|^4 for a quaternion."""
    center: Vector
    anchor: Vector
    lever: Vector
    turned_by: frozenset[Node]
    """The coordinates, and the time, that the rotation contains."""


Method = TypeVar("Method", bound=Callable[..., Any])

_FAR = 20
"""A body that is carried by more others waits for their values."""


def _inner(flow: Flow, key: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """The same of the bodies that carry the one in `key`, inwards, as far as they are not known."""
    found: list[tuple[Any, ...]] = []
    name, *rest = key
    while rest and (parent := getattr(rest[0], "parent", None)) is not None:
        rest = [parent, *rest[1:]]
        if (name, *rest) in flow._known:
            break
        found.append((name, *rest))
    return found


def _once(method: Method) -> Method:
    """A method of `Flow` that is computed once for the same arguments."""

    @wraps(method)
    def known(self: Flow, *args: Any) -> Any:
        key = (method.__name__, *args)
        if key not in self._known:
            inner = _inner(self, key)
            if (
                len(inner) > _FAR
            ):  # a method asks for its parent's value, and so on: not deeper than Python can
                for each in reversed(inner):
                    self._known[each] = method(self, *each[1:])
            self._known[key] = method(self, *args)
        return self._known[key]

    return cast(Method, known)


class Flow:
    """Poses along dx/dt = X_0 + eta_a X_a: angular velocities, velocities of points, energies, generalised forces.

    `lowering` maps symbols to nodes; `rows` are the nodes of dx/dt by coordinate, `velocities` those of eta, `driven`
    those of inputs with their rates.
    """

    def __init__(
        self,
        lowering: Lowering,
        rows: Mapping[sp.Symbol, Node],
        velocities: Mapping[sp.Symbol, Node],
        driven: Mapping[Node, Node],
    ) -> None:
        self.graph: Graph = lowering.graph
        self.lowering = lowering
        self.velocities = dict(velocities)
        (clock,) = lowering.lower([time])
        places = lowering.lower(list(rows))
        self.along = {**dict(zip(places, rows.values(), strict=True)), clock: self.graph.one, **driven}
        self._known: dict[tuple[Any, ...], Any] = {}

    @classmethod
    def apart(
        cls, symbols: Iterable[sp.Symbol], kinematics: Mapping[sp.Symbol, Any]
    ) -> tuple[Flow, dict[str, sp.Symbol]]:
        """A flow in a new graph, and its symbols by name."""
        g = Graph()
        rows = {x: sp.sympify(e) for x, e in kinematics.items()}
        used = {*symbols, *rows, *(s for e in rows.values() for s in e.free_symbols)} | {time}
        moving = rates_of_inputs(used)
        used.update(moving.values())
        known = {s: g.symbol(s.name) for s in sorted(used, key=str)}
        lowering = Lowering(g, known)
        speeds = sorted((s for s in used if isinstance(s, Velocity)), key=str)
        nodes = dict(zip(rows, lowering.lower(list(rows.values())), strict=True))
        driven = {known[u]: known[each] for u, each in moving.items()}
        flow = cls(lowering, nodes, dict(zip(speeds, lowering.lower(speeds), strict=True)), driven)
        return flow, {s.name: s for s in used}

    def on(self, g: Graph) -> Flow:
        """The same flow on a copy of its graph."""
        other = copy(self)
        other.graph, other.lowering, other._known = g, self.lowering.on(g), dict(self._known)
        return other

    # -- poses ------------------------------------------------------------------------------------------------------
    def nodes(self, matrix: Any) -> Vector:
        """The entries of a SymPy matrix."""
        return tuple(self.lowering.lower(list(matrix)))

    def rate(self, v: Sequence[Node]) -> Vector:
        """d v / dt of functions of (t, x)."""
        return tuple(forward(self.graph, list(v), self.along))

    @_once
    def pose(self, body: Body) -> _Pose:
        g = self.graph
        rotation = by_rows(self.nodes(body.rotation))
        turning = moves(body.rotation)
        turned_by = frozenset(self.lowering.lower(sorted(turning, key=str)))
        first = transpose(rotation)[0]
        (scale,) = dropped(g, [g.dot(first, first)], turned_by)
        (mass,) = self.lowering.lower([body.mass])
        center = anchor = self.nodes(body.center)
        lever = zero(g)
        carried = body.center.applyfunc(lambda e: _of_rotation(e, turning))
        if turning and not carried.is_zero_matrix:
            arm = times(g, transpose(rotation), self.nodes(carried))
            arm = tuple(dropped(g, [g.div(e, scale) for e in arm], turned_by))
            if not g.depends_on(arm, turned_by):
                anchor, lever = self.nodes(body.center - carried), arm
        return _Pose(
            mass, by_rows(self.nodes(body.inertia)), rotation, scale, center, anchor, lever, turned_by
        )

    @_once
    def attitude(self, body: Body) -> Matrix:
        """R (3, 3): from body axes to space axes."""
        own, above = self.pose(body).rotation, body.parent
        return own if above is None else product(self.graph, self.attitude(above), own)

    @_once
    def position(self, body: Body) -> Vector:
        """r_G: the mass centre in space."""
        center, above = self.pose(body).center, body.parent
        return center if above is None else self.point(above, center)

    def point(self, body: Body, arm: Vector) -> Vector:
        """The position in space of the point at `arm` (in body axes) from the mass centre."""
        return plus(self.graph, self.position(body), times(self.graph, self.attitude(body), arm))

    # -- velocities -------------------------------------------------------------------------------------------------
    @_once
    def spin(self, body: Body) -> Vector:
        """The angular velocity relative to the parent, in body axes."""
        g, pose = self.graph, self.pose(body)
        flat = [n for row in pose.rotation for n in row]
        moved = by_rows(self.rate(flat))
        if all(is_zero(g, row) for row in moved):
            return zero(g)
        whole = axial(product(g, transpose(pose.rotation), moved))
        names = g.symbols(whole)
        speeds = [n for s, n in self.velocities.items() if s.name in names]
        parts = [self._rest(whole), *(forward(g, whole, {n: g.one}) for n in speeds)]
        total = zero(g)
        for weight, part in zip([g.one, *speeds], parts, strict=True):
            shown = dropped(g, [g.div(e, pose.scale) for e in part], pose.turned_by)
            total = plus(g, total, tuple(g.mul(weight, e) for e in shown))
        return total

    def _rest(self, v: Sequence[Node]) -> list[Node]:
        """v with all eta = 0."""
        return self.graph.substitute(v, dict.fromkeys(self.velocities.values(), self.graph.zero))

    @_once
    def omega(self, body: Body) -> Vector:
        """The angular velocity in body axes."""
        above, own = body.parent, self.spin(body)
        if above is None:
            return own
        back = transpose(self.pose(body).rotation)
        return plus(self.graph, times(self.graph, back, self.omega(above)), own)

    @_once
    def turning(self, body: Body) -> Vector:
        """The angular velocity in space axes."""
        g, above, pose = self.graph, body.parent, self.pose(body)
        own: Vector = tuple(dropped(g, times(g, pose.rotation, self.spin(body)), pose.turned_by))
        return own if above is None else plus(g, self.turning(above), times(g, self.attitude(above), own))

    @_once
    def velocity(self, body: Body, inside: bool) -> Vector:
        """The velocity of the mass centre, in body axes (`inside`) or in those of the parent."""
        g, pose, above = self.graph, self.pose(body), body.parent
        v = self.rate(pose.anchor)
        if above is not None:
            carried = cross(g, self.omega(above), pose.anchor)
            v = plus(g, v, plus(g, self.velocity(above, True), carried))
        beside = cross(g, self.omega(body), pose.lever)
        if inside:
            return plus(g, times(g, transpose(pose.rotation), v), beside)
        return v if is_zero(g, pose.lever) else plus(g, v, times(g, pose.rotation, beside))

    def speed(self, body: Body) -> Vector:
        """The velocity of the mass centre in space."""
        above, v = body.parent, self.velocity(body, False)
        return v if above is None else times(self.graph, self.attitude(above), v)

    def at(self, body: Body, arm: Vector) -> Vector:
        """The velocity in space of the material point at `arm` (in body axes) from the mass centre."""
        turned = times(self.graph, self.attitude(body), cross(self.graph, self.omega(body), arm))
        return plus(self.graph, self.speed(body), turned)

    def at_place(self, body: Body, place: Vector) -> Vector:
        """The velocity in space of the body's material point at the position `place` in space."""
        g = self.graph
        return plus(g, self.speed(body), cross(g, self.turning(body), minus(g, place, self.position(body))))

    # -- energy and forces ------------------------------------------------------------------------------------------
    @_once
    def energy(self, body: Body) -> Node:
        """m v_G^2 / 2 + omega . I omega / 2."""
        g, pose = self.graph, self.pose(body)
        half = g.div(g.one, g.two)
        inside = not is_zero(g, pose.lever)
        square = self._square([(g.one, self.velocity(body, inside))])
        moving = g.mul(half, g.mul(pose.mass, square))
        if all(is_zero(g, row) for row in pose.inertia):
            return moving
        return g.add(moving, g.mul(half, self._turning_energy(body, pose)))

    def rotor_energy(self, body: Body) -> Node:
        """I eta^2 / 2 of rotors on the velocities of the joint."""
        g, rotors = self.graph, getattr(body, "armature", {})
        squares = [g.mul(v, v) for v in map(self.velocities.__getitem__, rotors)]
        return g.mul(g.div(g.one, g.two), g.dot(self.lowering.lower(list(rotors.values())), squares))

    def _turning_energy(self, body: Body, pose: _Pose) -> Node:
        """omega . I omega, in the parent's axes if I is constant in them, so that the spin angle drops out."""
        g = self.graph
        inner = self._quadratic(pose.inertia, self.omega(body))
        if pose.scale != g.one or not pose.turned_by:
            return inner
        turned = product(g, product(g, pose.rotation, pose.inertia), transpose(pose.rotation))
        fixed = by_rows(dropped(g, [n for row in turned for n in row], pose.turned_by))
        if any(g.depends_on(row, pose.turned_by) for row in fixed):
            return inner
        outer = tuple(dropped(g, times(g, pose.rotation, self.spin(body)), pose.turned_by))
        if body.parent is not None:
            outer = plus(g, self.omega(body.parent), outer)
        return self._quadratic(fixed, outer)

    def _quadratic(self, inertia: Matrix, omega: Vector) -> Node:
        """omega . I omega; components with equal moments are grouped so that angles can drop out."""
        g = self.graph
        if any(inertia[i][j] != g.zero for i in range(3) for j in range(3) if i != j):
            return g.dot(omega, times(g, inertia, omega))
        moments: dict[Node, list[Node]] = {}
        for i in range(3):
            if inertia[i][i] != g.zero:
                moments.setdefault(inertia[i][i], []).append(omega[i])
        return self._square([(moment, tuple(parts)) for moment, parts in moments.items()])

    def _square(self, groups: Sequence[tuple[Node, Vector]]) -> Node:
        """sum of moment * |v|^2, without coordinates that drop out of |v|^2."""
        g = self.graph
        shown = dropped(g, [g.dot(v, v) for _, v in groups], set(self.along))
        return g.dot([moment for moment, _ in groups], shown)

    def generalised_forces(self, loads: Sequence[tuple[Node, Node]]) -> dict[sp.Symbol, Node]:
        """Q_a = sum of F v_a over pairs of a force (or couple) and the velocity along it."""
        slopes = self._slopes(loads, list(self.velocities.values()))
        return {s: q for s, q in zip(self.velocities, slopes, strict=True) if q != self.graph.zero}

    def _slopes(self, loads: Sequence[tuple[Node, Node]], velocities: Sequence[Node]) -> list[Node]:
        """The derivatives of the power of the loads by the velocities, at fixed loads."""
        g = self.graph
        frozen = [g.symbol(f"cg_load_{i}") for i in range(len(loads))]
        power = g.dot(frozen, [v for _, v in loads])
        slopes = gradient(g, power, velocities)
        return g.substitute(slopes, dict(zip(frozen, (f for f, _ in loads), strict=True)))

    def partial(self, v: Vector, eta: Node | None) -> Vector:
        """v_a; eta None is the drift v_0."""
        g = self.graph
        return tuple(self._rest(v) if eta is None else forward(g, v, {eta: g.one}))


class Twists(Flow):
    """A flow in which every body has a velocity of its own: six symbols, those of omega and v_G in body axes.

    The power of a wrench by these symbols is the wrench itself. Poses are those of the flow it is made from.
    """

    def __init__(self, flow: Flow) -> None:
        vars(self).update(vars(flow))
        self._known = {k: v for k, v in flow._known.items() if k[0] in ("pose", "attitude", "position")}

    def twist(self, body: Body) -> Vector:
        """The symbols of omega, then of v_G."""
        return tuple(self.graph.symbol(f"cg_twist_{body.name}_{i}") for i in range(6))

    def omega(self, body: Body) -> Vector:
        return self.twist(body)[:3]

    def spin(self, body: Body) -> Vector:
        g, own, above = self.graph, self.omega(body), body.parent
        if above is None:
            return own
        return minus(g, own, times(g, transpose(self.pose(body).rotation), self.omega(above)))

    def turning(self, body: Body) -> Vector:
        return times(self.graph, self.attitude(body), self.omega(body))

    def speed(self, body: Body) -> Vector:
        return times(self.graph, self.attitude(body), self.twist(body)[3:])

    def wrenches(self, loads: Sequence[tuple[Node, Node]], bodies: Sequence[Body]) -> dict[Body, Vector]:
        """The couple about the mass centre and the force by body, in body axes; bodies without loads are omitted."""
        g = self.graph
        every = [n for body in bodies for n in self.twist(body)]
        slopes = self._slopes(loads, every)
        found = {b: tuple(slopes[6 * i : 6 * i + 6]) for i, b in enumerate(bodies)}
        return {b: w for b, w in found.items() if not is_zero(g, w)}


def _of_rotation(e: Any, turning: set[sp.Symbol]) -> Any:
    """The terms of a sum that move with the rotation only."""
    return sp.Add(*(term for term in sp.Add.make_args(e) if moves(term) and moves(term) <= turning))
