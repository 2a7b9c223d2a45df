"""Joints: a body, its coordinates and its velocities in one line.

A link's frame has its origin at the joint that carries it; its axes are the body's axes. A joint stands at `at` in the
frame of its parent, turned by `turned`; where all its coordinates are zero, the link's frame and the joint's agree.

Every joint takes, besides axes of its own:

parent : the link or body that carries the joint; None: space.
name, joint : the name of the link, and that after which coordinates and velocities are named (default: the same).
at, turned : the joint's position and its axes, as a rotation matrix, in the frame of the parent.
center : the mass centre in the frame of the link.
mass, inertia, about : as of `chaplygin.Body`; inertia in body axes about the mass centre.
armature : the inertia I of a rotor that turns with the joint, T += I v^2 / 2 for its velocity v: N^2 times the rotor's
    own behind gears of ratio N. One for each velocity, as a sequence, where the joint has several. Default: 0.

Places in the link's frame, as `at` and `center`, begin at the joint; points of `Wrench`, `Spring`, `Damper` and
`link.point` at the mass centre, and `link.origin` leads from there to the joint.

>>> import chaplygin as cg
>>> m, l, J, g = cg.parameters("m l J g", positive=True)
>>> upper = revolute(None, "y", name="upper", mass=m, inertia=(J, J, 0), center=(0, 0, -l))
>>> lower = revolute(upper, "y", at=(0, 0, -2*l), name="lower", mass=m, inertia=(J, J, 0), center=(0, 0, -l))
>>> cg.System("arm", bodies=[upper, lower], interactions=[cg.Weight(g)]).velocities
(upper_dot, lower_dot)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import signature
from itertools import pairwise
from typing import Any, TypeVar, Union, cast

import sympy as sp

from chaplygin.runtime.interface.arguments import name_of, nearest
from chaplygin.runtime.interface.messages import short

from ..symbols.place import Entry
from ..symbols.symbols import AXES, DeclarationError, check_name, coordinates, rate, velocities
from .bodies import ONE_PARENT, Body, matrix, scalar, turn, vector
from .interactions import JointDamper, JointLoad, JointMotor, JointSpring
from .quaternions import quaternion_rates, rotation

Expression = Any
Axis = Union[str, int, "Sequence[Expression]"]

__all__ = [
    "Link",
    "ball",
    "cylindrical",
    "fixed",
    "free",
    "helical",
    "planar",
    "prismatic",
    "revolute",
    "universal",
]

_ANGLE, _LENGTH = ("rad", "rad/s"), ("m", "m/s")


class Link(Body):
    """A rigid body with the joint that carries it, made by the functions of `chaplygin.joint`.

    `System(bodies=[...])` takes the kinematics from it. `coordinates` and `velocities` are the joint's symbols,
    `kinematics` is {coordinate: dx/dt}, `rest` {name of a coordinate: its value where the link's frame agrees with the
    joint's}; `quaternion` has the four coordinates that must have length 1, if there are such; `origin` is the origin
    of the link's frame relative to the mass centre, in body axes.
    """

    kinematics: Mapping[sp.Symbol, Expression]
    velocities: tuple[sp.Symbol, ...]
    quaternion: tuple[sp.Symbol, ...]
    rest: Mapping[str, float]
    units: Mapping[sp.Symbol, str]
    origin: Any

    armature: Mapping[sp.Symbol, Expression]
    """{velocity of the joint: the inertia of its rotor}, where it has one."""

    axes: Mapping[sp.Symbol, tuple[Any, bool]]
    """{angle or travel of a hinge or slide: its axis in the axes of the parent, whether it turns}."""

    @property
    def coordinates(self) -> tuple[sp.Symbol, ...]:
        return tuple(self.kinematics)

    def entries(self) -> list[tuple[Entry, Expression]]:
        rotors = [(Entry("bodies", self.name, "armature", v.name), e) for v, e in self.armature.items()]
        return [*super().entries(), *rotors]

    def spring(self, stiffness: Expression, rest: Expression = 0, *, of: Any = None) -> JointLoad:
        """A spring on the joint's own angle or travel q: V = k (q - q_0)^2 / 2, an item of `interactions`.

        stiffness : k, rest : q_0, functions of (t, x); of : the coordinate, for a joint of two, by name or symbol.

        Raises DeclarationError for a joint without an angle or travel of its own, as a ball joint.

        >>> import chaplygin as cg
        >>> k, m, l = cg.parameters("k m l", positive=True)
        >>> arm = cg.joint.revolute(None, "y", name="arm", mass=m, center=(0, 0, -l))
        >>> cg.System("swing", bodies=[arm], interactions=[arm.spring(k)]).equations().forcing
        Matrix([[-arm*k]])
        """
        return JointSpring(stiffness, rest, *self._axis("spring", of))

    def damper(self, coefficient: Expression, *, of: Any = None) -> JointLoad:
        """A damper on the joint's own angle or travel q: a couple or force -c dq/dt, an item of `interactions`.

        coefficient : c; of : as of `spring`, with the same errors.

        >>> import chaplygin as cg
        >>> lift = cg.joint.prismatic(None, "z", name="lift", mass=1)
        >>> cg.System("lift", bodies=[lift], interactions=[lift.damper(3)]).equations().forcing
        Matrix([[-3*lift_dot]])
        """
        return JointDamper(coefficient, *self._axis("damper", of))

    def motor(self, effort: Expression, *, of: Any = None) -> JointLoad:
        """A motor at the joint: a couple about its hinge, or a force along its slide, an item of `interactions`.

        effort : a function of (t, x, eta, u), such as an input; of : as of `spring`, with the same errors.

        >>> import chaplygin as cg
        >>> lift, F = cg.joint.prismatic(None, "z", name="lift", mass=1), cg.inputs("F")
        >>> cg.System("lift", bodies=[lift], interactions=[lift.motor(F)]).equations().forcing
        Matrix([[F]])
        """
        return JointMotor(effort, *self._axis("motor", of))

    def _axis(self, what: str, of: Any) -> tuple[Link, sp.Symbol, Any, bool]:
        names = [q.name for q in self.axes]
        if not names:
            raise DeclarationError(
                f"{_where(self.name)}: {what}: its joint has no angle or travel of its own; joints that have are "
                "revolute, prismatic, helical and cylindrical: for others, use potential= and forces= of the System"
            )
        chosen = names[0] if of is None and len(names) == 1 else name_of(of)
        if chosen not in names:
            raise DeclarationError(
                f"{_where(self.name)}: {what}: of is {short(of)}; give {' or '.join(names)}"
            )
        q = next(q for q in self.axes if q.name == chosen)
        return self, q, *self.axes[q]


Joint = TypeVar("Joint", bound=Callable[..., Link])


def _spelled(joint: Joint) -> Joint:
    """A function of this module that refuses keywords which neither it nor a link has, and says what was meant."""
    own = [word for word in signature(joint).parameters if word != "link"]

    @wraps(joint)
    def checked(*given: Any, **named: Any) -> Link:
        known = (*own, *(word for word, p in signature(_link).parameters.items() if p.kind is p.KEYWORD_ONLY))
        for word in named:
            if word not in known:
                raise TypeError(
                    f"joint.{joint.__name__}: unknown argument {short(word)}{nearest(word, known) or ';'} it takes "
                    f"{', '.join(known)}"
                )
        return joint(*given, **named)

    return cast(Joint, checked)


class _JointMotion:
    """How a joint moves: the link's attitude and origin in the joint's frame, and the kinematics of its coordinates."""

    def __init__(self, name: Any, joint: str | None) -> None:
        check_name(name, "Body name")
        if joint is not None and not isinstance(joint, str):
            raise DeclarationError(f"{_where(name)}: joint is {short(joint)}; give a name")
        self.name = name if joint is None else joint
        self.rotation, self.shift = sp.eye(3), sp.zeros(3, 1)
        self.kinematics: dict[sp.Symbol, Expression] = {}
        self.velocities: list[sp.Symbol] = []
        self.quaternion: tuple[sp.Symbol, ...] = ()
        self.rest: dict[str, float] = {}
        self.units: dict[sp.Symbol, str] = {}
        self.axes: dict[sp.Symbol, tuple[Any, bool]] = {}

    def turn(self, suffix: str, axis: Any) -> sp.Symbol:
        """A rotation about an axis, by its angle."""
        q = self.rate(suffix, _ANGLE)
        self.rotation, self.axes[q] = turn(axis, q), (axis, True)
        return q

    def slide(self, suffix: str, axis: Any) -> None:
        """A translation along an axis, by its length."""
        q = self.rate(suffix, _LENGTH)
        self.shift, self.axes[q] = q * axis, (axis, False)

    def rate(self, suffix: str, units: tuple[str, str]) -> sp.Symbol:
        """A coordinate whose velocity is its rate."""
        q = coordinates(self.name + suffix)
        self.add({q: rate(q)}, (rate(q),), units)
        return q

    def add(
        self, kinematics: Mapping[sp.Symbol, Expression], moved: Sequence[sp.Symbol], units: tuple[str, str]
    ) -> None:
        self.kinematics |= kinematics
        self.velocities += moved
        self.rest |= dict.fromkeys([q.name for q in kinematics], 0.0)
        self.units |= dict.fromkeys(kinematics, units[0]) | dict.fromkeys(moved, units[1])

    def named(self, suffixes: Sequence[str]) -> list[str]:
        return [f"{self.name}_{suffix}" for suffix in suffixes]

    def attitude(self) -> None:
        """Turn freely: a quaternion and the angular velocity in body axes."""
        q, w = coordinates(self.named(("q0", "q1", "q2", "q3"))), velocities(self.named(("wx", "wy", "wz")))
        self.quaternion, self.rotation = q, sp.Matrix(rotation(q))
        self.add(dict(zip(q, quaternion_rates(q, w), strict=True)), w, ("1", "rad/s"))
        self.rest[q[0].name] = 1.0


@_spelled
def revolute(parent: Body | None, axis: Axis, *, name: str, joint: str | None = None, **link: Any) -> Link:
    """A hinge: rotation about an axis by the angle named `joint`, whose velocity is its rate.

    Parameters
    ----------
    parent : the link or body that carries the joint; None: space.
    axis : "x", "y", "z", or a vector, in the axes of the joint. Numbers need not form a unit vector.
    name : the name of the link.
    joint : the name after which coordinates and velocities are named. Default: that of the link.
    at : the joint's position, 3 components, in the frame of the parent: from the origin of a link, or from the mass
        centre of any other body. Default: (0, 0, 0).
    turned : 3x3 rotation matrix from the joint's axes to the parent's, as of `chaplygin.turn`. Default: the same axes.
    center : the mass centre in the frame of the link. Default: (0, 0, 0), the joint.
    mass, inertia, about : as of `chaplygin.Body`; inertia in body axes about the mass centre.
    armature : the inertia of a rotor on the joint's rate, N^2 I behind gears. Default: 0.

    Raises DeclarationError, naming the link, for an axis without direction, a bad name, and as `Body` does.

    >>> revolute(None, "z", name="arm", mass=1).kinematics
    {arm: arm_dot}
    """
    motion = _JointMotion(name, joint)
    motion.turn("", _direction(name, "axis", axis))
    return _link(parent, name, motion, **link)


@_spelled
def prismatic(parent: Body | None, axis: Axis, *, name: str, joint: str | None = None, **link: Any) -> Link:
    """A slide: translation by the length `name` along an axis. Arguments as of `revolute`.

    >>> prismatic(None, (0, 0, 2), name="lift", mass=1).center.T
    Matrix([[0, 0, lift]])
    """
    motion = _JointMotion(name, joint)
    motion.slide("", _direction(name, "axis", axis))
    return _link(parent, name, motion, **link)


@_spelled
def helical(
    parent: Body | None, axis: Axis, *, pitch: Expression, name: str, joint: str | None = None, **link: Any
) -> Link:
    """A screw: rotation by the angle `name` about an axis with an advance of `pitch` metres per radian along it.

    Further arguments as of `revolute`.

    >>> helical(None, "x", pitch=2, name="nut", mass=1).center.T
    Matrix([[2*nut, 0, 0]])
    """
    motion, along = _JointMotion(name, joint), _direction(name, "axis", axis)
    motion.shift = scalar(_where(name), "pitch", pitch) * motion.turn("", along) * along
    return _link(parent, name, motion, **link)


@_spelled
def cylindrical(parent: Body | None, axis: Axis, *, name: str, joint: str | None = None, **link: Any) -> Link:
    """Translation by `name`_shift along an axis and rotation by `name`_angle about it. Arguments as of `revolute`.

    >>> cylindrical(None, "x", name="rod", mass=1).coordinates
    (rod_shift, rod_angle)
    """
    motion, along = _JointMotion(name, joint), _direction(name, "axis", axis)
    motion.slide("_shift", along)
    motion.turn("_angle", along)
    return _link(parent, name, motion, **link)


@_spelled
def universal(
    parent: Body | None, first: Axis, second: Axis, *, name: str, joint: str | None = None, **link: Any
) -> Link:
    """A universal joint: rotation by `name`_1 about `first`, then by `name`_2 about `second` in the turned axes.

    Further arguments as of `revolute`. Raises DeclarationError for parallel axes.

    >>> universal(None, "x", "y", name="cardan", mass=1).velocities
    (cardan_1_dot, cardan_2_dot)
    """
    motion = _JointMotion(name, joint)
    one, two = _direction(name, "first", first), _direction(name, "second", second)
    if one.cross(two).applyfunc(sp.simplify).is_zero_matrix:
        raise DeclarationError(f"{_where(name)}: first and second are parallel; give two different axes")
    motion.rotation = turn(one, motion.rate("_1", _ANGLE)) * turn(two, motion.rate("_2", _ANGLE))
    return _link(parent, name, motion, **link)


@_spelled
def ball(
    parent: Body | None,
    *,
    name: str,
    joint: str | None = None,
    angles: Sequence[Axis] | None = None,
    **link: Any,
) -> Link:
    """A ball joint. Arguments as of `revolute`, and `angles`.

    By default its attitude is the quaternion `name`_q0 ... `name`_q3 with the angular velocity relative to the parent
    in body axes, `name`_wx, `name`_wy, `name`_wz. With `angles`, three axes such as "zxz", it is the product of
    rotations by `name`_1, `name`_2, `name`_3 about these axes, each in the axes turned before; the velocities are their
    rates, and the joint is singular where the first and the third axis coincide.

    >>> ball(None, name="hip", mass=1).velocities
    (hip_wx, hip_wy, hip_wz)
    """
    motion = _JointMotion(name, joint)
    if angles is None:
        motion.attitude()
        return _link(parent, name, motion, **link)
    listed = angles if isinstance(angles, Sequence) and len(angles) == 3 else ()
    axes = [_direction(name, f"angles[{i}]", axis) for i, axis in enumerate(listed)]
    if len(axes) != 3 or any(a.cross(b).is_zero_matrix for a, b in pairwise(axes)):
        raise DeclarationError(
            f"{_where(name)}: angles = {short(angles)}; give three axes, neighbours different, such as 'zxz'"
        )
    for i, axis in enumerate(axes, 1):
        motion.rotation = motion.rotation * turn(axis, motion.rate(f"_{i}", _ANGLE))
    return _link(parent, name, motion, **link)


@_spelled
def planar(
    parent: Body | None, normal: Axis = "z", *, name: str, joint: str | None = None, **link: Any
) -> Link:
    """Motion in a plane of the parent: translations `name`_1, `name`_2 along the plane, rotation `name`_angle.

    `normal` is "x", "y", "z", or a vector of numbers, in the joint's axes. The translations are along the next two
    axes in cyclic order: u and normal x u, where u is the part in the plane of the axis that follows the normal's
    largest component. Further arguments as of `revolute`.

    >>> planar(None, name="sledge", mass=1).center.T
    Matrix([[sledge_1, sledge_2, 0]])
    """
    upright = _direction(name, "normal", normal)
    if upright.free_symbols:
        raise DeclarationError(f'{_where(name)}: normal is {short(normal)}; give "x", "y", "z" or numbers')
    motion = _JointMotion(name, joint)
    following = (max(range(3), key=lambda i: abs(upright[i])) + 1) % 3
    along = sp.Matrix([int(i == following) for i in range(3)]) - upright[following] * upright
    along /= along.norm()
    for suffix, axis in (("_1", along), ("_2", upright.cross(along))):
        motion.shift += motion.rate(suffix, _LENGTH) * axis
    motion.rotation = turn(upright, motion.rate("_angle", _ANGLE))
    return _link(parent, name, motion, **link)


@_spelled
def free(parent: Body | None = None, *, name: str, joint: str | None = None, **link: Any) -> Link:
    """A body that moves freely. Arguments as of `revolute`.

    Position `name`_x, `name`_y, `name`_z of the link's origin in the joint's frame, attitude by the quaternion
    `name`_q0 ... `name`_q3; velocities are those of the link's origin, `name`_vx, `name`_vy, `name`_vz, and the angular
    velocity, `name`_wx, `name`_wy, `name`_wz, relative to the parent, all in body axes.

    >>> free(name="satellite", mass=1).velocities[:3]
    (satellite_vx, satellite_vy, satellite_vz)
    """
    motion = _JointMotion(name, joint)
    x = coordinates(motion.named("xyz"))
    v = velocities(motion.named(("vx", "vy", "vz")))
    motion.add(dict.fromkeys(x, 0), v, _LENGTH)
    motion.attitude()
    motion.kinematics |= dict(zip(x, motion.rotation * sp.Matrix(v), strict=True))
    motion.shift = sp.Matrix(x)
    return _link(parent, name, motion, **link)


@_spelled
def fixed(parent: Body | None, *, name: str, joint: str | None = None, **link: Any) -> Link:
    """A link that is fixed to its parent. Arguments as of `revolute`.

    >>> fixed(None, name="stand", at=(0, 0, 1)).coordinates
    ()
    """
    return _link(parent, name, _JointMotion(name, joint), **link)


def _link(
    parent: Body | None,
    name: str,
    motion: _JointMotion,
    *,
    at: Sequence[Expression] = (0, 0, 0),
    turned: Any = None,
    center: Sequence[Expression] = (0, 0, 0),
    mass: Expression | None = None,
    inertia: Any = None,
    about: Sequence[Expression] | None = None,
    armature: Expression | Sequence[Expression] = 0,
) -> Link:
    where = _where(name)
    if parent is not None and not isinstance(parent, Body):
        raise DeclarationError(f"{where}: parent is {type(parent).__name__}; {ONE_PARENT}")
    frame = sp.eye(3) if turned is None else _turned(where, turned)
    arm = vector(where, "center", center)
    place = vector(where, "at", at) + frame * motion.shift
    if isinstance(parent, Link):
        place += parent.origin
    attitude = frame * motion.rotation
    link = Link(
        name,
        mass=mass,
        inertia=inertia,
        rotation=attitude,
        center=place + attitude * arm,
        parent=parent,
        about=about,
    )
    link.kinematics, link.rest, link.units = motion.kinematics, motion.rest, motion.units
    link.velocities, link.quaternion = tuple(motion.velocities), motion.quaternion
    link.origin = -arm
    link.armature = _rotors(where, link.velocities, armature)
    link.axes = {q: (frame * along, turns) for q, (along, turns) in motion.axes.items()}
    return link


def _rotors(where: str, moved: Sequence[sp.Symbol], given: Any) -> dict[sp.Symbol, Expression]:
    """The inertias of rotors by velocity, without those that are zero."""
    several = isinstance(given, sp.MatrixBase) or (hasattr(given, "__iter__") and not isinstance(given, str))
    listed = list(given) if several else [given]
    found = [scalar(where, "armature", e) for e in listed]
    if any(found) and len(found) != len(moved):
        names = (
            f"the velocities {', '.join(v.name for v in moved)}: give one inertia for each"
            if moved
            else "none"
        )
        count = "1 velocity" if len(found) == 1 else f"{len(found)} velocities"
        raise DeclarationError(f"{where}: armature is given for {count}; its joint has {names}")
    return {v: e for v, e in zip(moved, found) if e != 0}


def _turned(where: str, turned: Any) -> Any:
    """The rotation from the axes of a joint to those of the parent."""
    frame = matrix(where, "turned", turned)
    if not frame.free_symbols:
        numbers = frame.evalf()
        if not ((numbers.T * numbers - sp.eye(3)).norm() < 1e-8 and numbers.det() > 0):
            raise DeclarationError(
                f"{where}: turned is not a rotation: its columns are the axes of the joint in those of the parent, "
                "orthonormal and right-handed, as of chaplygin.turn"
            )
    return frame


def _where(name: Any) -> str:
    return f"Body {short(name)}"


def _direction(name: str, entry: str, axis: Axis) -> Any:
    """The unit vector along an axis."""
    if isinstance(axis, str):
        if axis not in AXES:
            raise DeclarationError(
                f'{_where(name)}: {entry} is {short(axis)}; give "x", "y", "z" or a vector'
            )
        axis = AXES[axis]
    elif isinstance(axis, int):
        raise DeclarationError(f'{_where(name)}: {entry} is {axis}; give "x", "y", "z" or a vector')
    v = vector(_where(name), entry, axis)
    if v.is_zero_matrix:
        raise DeclarationError(f"{_where(name)}: {entry} is zero; give a vector with a direction")
    if v.free_symbols:
        return v
    return v / sp.sqrt(v.dot(v))
