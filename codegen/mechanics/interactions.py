"""Forces on bodies, each declared once for the pair of bodies it connects: weights, wrenches, springs, dampers, motors.

An interaction contributes V(t, x) or generalised forces Q_a = F . v_a(P) + C . omega_a, the power coefficients of its
wrench, action and reaction together. An end is a body (meaning its mass centre), a pair (body, point in body axes
relative to the mass centre), or a point in space.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Union

import sympy as sp

from chaplygin.runtime.interface.messages import short

from ..graph.vectors import Vector, minus, times, transpose
from ..identities.unused_variables import dropped
from ..symbols.symbols import AXES, Coordinate, DeclarationError
from ..symbols.values import sequence
from .bodies import Body, scalar, vector

if TYPE_CHECKING:
    from ..graph.graph import Node
    from .screws import Flow

Expression = Any
Loads = list["tuple[Node, Node]"]
"""Pairs of a force component and the velocity along it, or a couple and the angular velocity about its axis."""
End = Union[Body, "tuple[Body, Sequence[Any]]", "Sequence[Any]"]

DOWN = (0, 0, -1)


class Interaction:
    """Base class: `potential` (None if there is none) and `loads` along a flow; `bodies` are the bodies it acts on."""

    bodies: tuple[Body, ...] = ()
    declared: tuple[str, ...] = ()
    """The names of the attributes that are declared scalars and matrices."""

    def entries(self) -> list[tuple[str, Any]]:
        """The declared scalars and matrices, each with its name."""
        return [(name, getattr(self, name)) for name in self.declared]

    def potential(self, flow: Flow, every: Sequence[Body]) -> Node | None:
        return None

    def loads(self, flow: Flow) -> Loads:
        return []

    def actions(self, flow: Flow, every: Sequence[Body]) -> Loads:
        """All its forces as loads, those that follow from its potential too."""
        return self.loads(flow)


class Weight(Interaction):
    """Gravity: V = -sum m g direction . r_G over all bodies, or over `bodies`.

    g : the acceleration of gravity; direction : a unit vector in space, downward by default.

    >>> import chaplygin as cg
    >>> cg.Weight(cg.parameters("g", positive=True))
    Weight(g)
    """

    declared = ("g", "direction")

    def __init__(
        self, g: Expression, direction: Sequence[Expression] = DOWN, bodies: Iterable[Body] | None = None
    ) -> None:
        self.g, self.direction = scalar("Weight", "g", g), vector("Weight", "direction", direction)
        listed = None if bodies is None else sequence("Weight: bodies", bodies)
        self.only = None if listed is None else tuple(_body("Weight", "bodies", b) for b in listed)
        self.bodies = self.only or ()

    def potential(self, flow: Flow, every: Sequence[Body]) -> Node:
        g = flow.graph
        (weight,), down = flow.lowering.lower([self.g]), flow.nodes(self.direction)
        heights = [g.mul(flow.pose(b).mass, g.dot(down, flow.position(b))) for b in self._heavy(every)]
        return g.neg(g.mul(weight, g.sum(heights)))

    def _heavy(self, every: Sequence[Body]) -> list[Body]:
        return [b for b in (every if self.only is None else self.only) if b.mass != 0]

    def field(self, flow: Flow, every: Sequence[Body]) -> Vector | None:
        """The acceleration of gravity in space, if it is the same for every heavy body and at every place."""
        g = flow.graph
        (weight,) = flow.lowering.lower([self.g])
        found = tuple(g.mul(weight, n) for n in flow.nodes(self.direction))
        everywhere = {b for b in every if b.mass != 0} == set(self._heavy(every))
        uniform = not any(
            isinstance(s, Coordinate) for e in (self.g, *self.direction) for s in e.free_symbols
        )
        return found if everywhere and uniform else None

    def actions(self, flow: Flow, every: Sequence[Body]) -> Loads:
        g = flow.graph
        (weight,), down = flow.lowering.lower([self.g]), flow.nodes(self.direction)
        found: Loads = []
        for body in self._heavy(every):
            force = g.mul(flow.pose(body).mass, weight)
            found += [(g.mul(force, n), v) for n, v in zip(down, flow.speed(body), strict=True)]
        return found

    def __repr__(self) -> str:
        return f"Weight({self.g})"


class Wrench(Interaction):
    """A force at a point of a body and a couple: Q_a = F . v_a(P) + C . omega_a.

    force, couple : components in space axes, or in the axes of the body `axes`; functions of (t, x, eta, u).
    point : the point of application in body axes, relative to the mass centre (default: the mass centre); for a point p
        of a link's frame, ``link.origin + p`` with SymPy's matrices.
    against : the body on which the opposite wrench acts, at the same point; None: the ground.
    """

    declared = ("force", "couple", "point")

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
        self.force = vector("Wrench", "force", (0, 0, 0) if force is None else force, moving=True)
        self.couple = vector("Wrench", "couple", (0, 0, 0) if couple is None else couple, moving=True)
        self.point = vector("Wrench", "point", (0, 0, 0) if point is None else point)
        self.axes = None if axes is None else _body("Wrench", "axes", axes)
        self.against = None if against is None else _body("Wrench", "against", against)
        self.bodies = tuple(b for b in (self.body, self.axes, self.against) if b is not None)

    def loads(self, flow: Flow) -> Loads:
        g, body, other = flow.graph, self.body, self.against
        force, couple = flow.nodes(self.force), flow.nodes(self.couple)
        if self.axes is not None:
            force, couple = (times(g, flow.attitude(self.axes), v) for v in (force, couple))
        arm = flow.nodes(self.point)
        v, turning = flow.at(body, arm), flow.turning(body)
        if other is not None:
            v = minus(g, v, flow.at_place(other, flow.point(body, arm)))
            turning = minus(g, turning, flow.turning(other))
        return [*zip(force, v, strict=True), *zip(couple, turning, strict=True)]


class _Line(Interaction):
    """An interaction along the line between two points."""

    def __init__(self, first: End, second: End) -> None:
        name = type(self).__name__
        self.ends = (_end(name, "first", first), _end(name, "second", second))
        self.bodies = tuple(body for body, _ in self.ends if body is not None)
        if self.ends[0][0] is self.ends[1][0]:
            what = "the ground" if not self.bodies else f"the body {self.bodies[0].name!r}"
            raise DeclarationError(
                f"{name}: both ends are on {what}; connect two bodies, or a body and the ground"
            )

    def entries(self) -> list[tuple[str, Any]]:
        return [("first", self.ends[0][1]), ("second", self.ends[1][1]), *super().entries()]

    def _apart(self, flow: Flow) -> tuple[Vector, Node]:
        """The vector from the first end to the second, and the square of its length."""
        first, second = (
            flow.nodes(arm) if body is None else flow.point(body, flow.nodes(arm)) for body, arm in self.ends
        )
        apart = minus(flow.graph, second, first)
        (square,) = dropped(flow.graph, [flow.graph.dot(apart, apart)], set(flow.along))
        return apart, square

    def _parting(self, flow: Flow) -> Vector:
        """The velocity of the second end relative to the first, in space."""
        still = (flow.graph.zero,) * 3
        first, second = (still if body is None else flow.at(body, flow.nodes(arm)) for body, arm in self.ends)
        return minus(flow.graph, second, first)


class Spring(_Line):
    """A spring between two points: V = k (d - d_0)^2 / 2, where d is their distance.

    first, second : the ends, each a body, (body, point), or a point in space; stiffness : k; rest_length : d_0. A point
    of a body is in body axes, relative to its mass centre: ``(link, link.origin)`` is the joint of a link.

    >>> import chaplygin as cg
    >>> k, l = cg.parameters("k l", positive=True)
    >>> rod = cg.joint.revolute(None, "y", name="rod", mass=1, center=(0, 0, -l / 2))
    >>> tip = (rod, (0, 0, -l / 2))  # half a length below the mass centre
    >>> cg.System("held", bodies=[rod], interactions=[cg.Spring(tip, (0, 0, -l), k)]).equations().forcing
    Matrix([[-k*l**2*sin(rod)]])
    """

    declared = ("stiffness", "rest_length")

    def __init__(self, first: End, second: End, stiffness: Expression, rest_length: Expression = 0) -> None:
        super().__init__(first, second)
        self.stiffness = scalar("Spring", "stiffness", stiffness)
        self.rest_length = scalar("Spring", "rest_length", rest_length)

    def potential(self, flow: Flow, every: Sequence[Body]) -> Node:
        g = flow.graph
        stiffness, rest = flow.lowering.lower([self.stiffness, self.rest_length])
        _, square = self._apart(flow)
        if rest != g.zero:
            stretch = g.sub(g.call("sqrt", square), rest)
            square = g.mul(stretch, stretch)
        return g.mul(g.div(stiffness, g.two), square)

    def actions(self, flow: Flow, every: Sequence[Body]) -> Loads:
        """-k (d - d_0) / d along d d'."""
        g = flow.graph
        stiffness, rest = flow.lowering.lower([self.stiffness, self.rest_length])
        apart, square = self._apart(flow)
        share = g.one if rest == g.zero else g.sub(g.one, g.div(rest, g.call("sqrt", square)))
        return [(g.neg(g.mul(stiffness, share)), g.dot(apart, self._parting(flow)))]


class Damper(_Line):
    """A damper between two points: a force -c d' along their line, where d is their distance; Q_a = -c d' X_a d.

    first, second : the ends, as of `Spring`: a point of a body is relative to its mass centre; coefficient : c. The
    ends must not coincide.
    """

    declared = ("coefficient",)

    def __init__(self, first: End, second: End, coefficient: Expression) -> None:
        super().__init__(first, second)
        self.coefficient = scalar("Damper", "coefficient", coefficient)

    def loads(self, flow: Flow) -> Loads:
        g = flow.graph
        (coefficient,) = flow.lowering.lower([self.coefficient])
        apart, square = self._apart(flow)
        speed = g.dot(apart, self._parting(flow))  # d d'
        return [(g.neg(g.div(g.mul(coefficient, speed), square)), speed)]


class Motor(Interaction):
    """A couple about an axis on the second body, with the opposite couple on the first.

    Q_a = couple n . (omega_a of the second - omega_a of the first).

    first : the body that carries the motor, None for the ground; axis : n, a unit vector in the axes of the first, or
    "x", "y", "z"; couple : a function of (t, x, eta, u), such as an input. For the hinge of a link use
    `link.motor(couple)`, which needs no axis.
    """

    declared = ("axis", "couple")

    def __init__(
        self, first: Body | None, second: Body, axis: str | Sequence[Expression], couple: Expression
    ) -> None:
        self.first = None if first is None else _body("Motor", "first", first)
        self.second = _body("Motor", "second", second)
        if self.first is self.second:
            raise DeclarationError(f"Motor: first and second are the same body {second.name!r}")
        if isinstance(axis, str):
            if axis not in AXES:
                raise DeclarationError(f'Motor: axis is {short(axis)}; give "x", "y", "z" or a vector')
            axis = AXES[axis]
        self.axis, self.couple = vector("Motor", "axis", axis), scalar("Motor", "couple", couple, moving=True)
        self.bodies = tuple(b for b in (self.first, self.second) if b is not None)

    def loads(self, flow: Flow) -> Loads:
        (couple,) = flow.lowering.lower([self.couple])
        spin = _relative_spin(flow, self.first, self.second)
        return [(couple, flow.graph.dot(flow.nodes(self.axis), spin))]


def _relative_spin(flow: Flow, first: Body | None, second: Body) -> Vector:
    """The angular velocity of the second body relative to the first, in axes of the first."""
    g = flow.graph
    if second.parent is first:
        pose = flow.pose(second)
        relative = times(g, pose.rotation, flow.spin(second))
        return tuple(dropped(g, relative, pose.turned_by))
    relative = flow.turning(second)
    if first is not None:
        relative = times(g, transpose(flow.attitude(first)), relative)
        relative = minus(g, relative, flow.omega(first))
    return relative


class JointLoad(Interaction):
    """A load on the angle or travel q of a joint: `link.spring`, `link.damper` and `link.motor` make them.

    Q_a = F X_a q with the force or couple F, since the joint alone moves q. `axis` is that of the joint, in the axes of
    the body that carries it.
    """

    def __init__(self, link: Any, coordinate: Coordinate, axis: Any, turns: bool) -> None:
        self.link, self.coordinate, self.axis, self.turns = link, coordinate, axis, turns
        self.bodies = (link,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.coordinate})"

    def _place_and_rate(self, flow: Flow) -> tuple[Node, Node]:
        (place,) = flow.lowering.lower([self.coordinate])
        return place, flow.rate([place])[0]

    def _force(self, flow: Flow) -> Node:
        """F, if it is not the derivative of a potential."""
        return flow.graph.zero

    def loads(self, flow: Flow) -> Loads:
        return [(self._force(flow), self._place_and_rate(flow)[1])]

    def actions(self, flow: Flow, every: Sequence[Body]) -> Loads:
        """The same by what the joint does to the bodies, whose velocities may be virtual."""
        g, link, axis = flow.graph, self.link, flow.nodes(self.axis)
        if self.turns:
            return [(self._force(flow), g.dot(axis, _relative_spin(flow, link.parent, link)))]
        arm = flow.nodes(link.origin)
        moved, carrier = flow.at(link, arm), link.parent
        if carrier is not None:
            moved = minus(g, moved, flow.at_place(carrier, flow.point(link, arm)))
            moved = times(g, transpose(flow.attitude(carrier)), moved)
        return [(self._force(flow), g.dot(axis, moved))]


class JointSpring(JointLoad):
    """V = k (q - q_0)^2 / 2."""

    declared = ("coordinate", "stiffness", "rest")

    def __init__(self, stiffness: Expression, rest: Expression, *joint: Any) -> None:
        super().__init__(*joint)
        where = f"Body {self.link.name!r}: spring"
        self.stiffness, self.rest = scalar(where, "stiffness", stiffness), scalar(where, "rest", rest)

    def _stretch(self, flow: Flow) -> tuple[Node, Node]:
        stiffness, rest = flow.lowering.lower([self.stiffness, self.rest])
        return stiffness, flow.graph.sub(self._place_and_rate(flow)[0], rest)

    def potential(self, flow: Flow, every: Sequence[Body]) -> Node:
        g, (stiffness, stretch) = flow.graph, self._stretch(flow)
        return g.mul(g.div(stiffness, g.two), g.mul(stretch, stretch))

    def loads(self, flow: Flow) -> Loads:
        return []

    def _force(self, flow: Flow) -> Node:
        return flow.graph.neg(flow.graph.mul(*self._stretch(flow)))


class JointDamper(JointLoad):
    """F = -c dq/dt."""

    declared = ("coordinate", "coefficient")

    def __init__(self, coefficient: Expression, *joint: Any) -> None:
        super().__init__(*joint)
        self.coefficient = scalar(f"Body {self.link.name!r}: damper", "coefficient", coefficient)

    def _force(self, flow: Flow) -> Node:
        (coefficient,) = flow.lowering.lower([self.coefficient])
        return flow.graph.neg(flow.graph.mul(coefficient, self._place_and_rate(flow)[1]))


class JointMotor(JointLoad):
    """F = a couple about a hinge, or a force along a slide."""

    declared = ("coordinate", "effort")

    def __init__(self, effort: Expression, *joint: Any) -> None:
        super().__init__(*joint)
        self.effort = scalar(f"Body {self.link.name!r}: motor", "effort", effort, moving=True)

    def _force(self, flow: Flow) -> Node:
        (effort,) = flow.lowering.lower([self.effort])
        return effort


def _body(where: str, entry: str, value: Any) -> Body:
    if not isinstance(value, Body):
        raise DeclarationError(f"{where}: {entry} is {type(value).__name__}; give a Body")
    return value


def _end(where: str, entry: str, value: Any) -> tuple[Body | None, Any]:
    if isinstance(value, Body):
        return value, sp.zeros(3, 1)
    if isinstance(value, (tuple, list)) and len(value) == 2 and isinstance(value[0], (Body, type(None))):
        return value[0], vector(where, entry, value[1])
    if isinstance(value, (tuple, list, sp.MatrixBase)) and len(value) == 3:
        return None, vector(where, entry, value)
    raise DeclarationError(
        f"{where}: {entry} is not an end: give a Body, (body, point in body axes), or a point in space (x, y, z)"
    )
