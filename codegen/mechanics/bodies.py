"""Declaration of rigid bodies: mass, inertia operator, pose relative to a parent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import sympy as sp

from chaplygin.runtime.interface.messages import short

from ..symbols import values
from ..symbols.place import Entry
from ..symbols.symbols import AXES, Coordinate, DeclarationError, Input, Parameter, Time, Velocity, check_name

Expression = Any
Vector = Any

ONE_PARENT = "give one body, or None for space; a loop is closed by System(holonomic=[...])"
"""The message for a parent that is not a body."""


class Body:
    """A rigid body: mass, inertia operator, and pose as a function of (t, x).

    Parameters
    ----------
    name : a plain identifier.
    mass : omit it for a massless frame that carries other bodies.
    inertia : 3x3 inertia operator in body axes, about the mass centre unless `about` is given; or the three
        principal moments. None: a particle or a frame.
    rotation : 3x3 matrix from body axes to the axes of the parent (or of space); its columns are the body axes. A
        rotation times a scalar factor is accepted, as given by a quaternion q with |q| != 1. None: the parent's axes.
    center : position of the mass centre, 3 components in the parent's axes, relative to the parent's mass centre;
        without a parent, in space. None: (0, 0, 0). `body.point()` is the place in space in both cases.
    parent : the body relative to which the pose is given.
    about : the reference point of `inertia`, in body axes, relative to the mass centre.

    Raises
    ------
    DeclarationError : for wrong shapes, an asymmetric inertia, a pose that contains velocities. `System` checks at its
        example point that mass and inertia are not negative, and there and along motions that the matrix is a rotation.
        Moments of which one is larger than the sum of the two others are taken with a RuntimeWarning.

    >>> import chaplygin as cg
    >>> x, phi = cg.coordinates("x phi")
    >>> m, r = cg.parameters("m r", positive=True)
    >>> inertia = (m*r**2/4, m*r**2/2, m*r**2/4)
    >>> wheel = cg.Body("wheel", mass=m, inertia=inertia, rotation=cg.turn(2, phi), center=(x, 0, r))
    >>> cg.rolling(wheel, (x, 0, 0))
    [-phi_dot*r + x_dot]
    """

    as_measured: bool = False
    """Whether the inertia is taken as given even where no distribution of mass has it; its reader says so."""

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
            raise DeclarationError(f"Body {name!r}: parent is {type(parent).__name__}; {ONE_PARENT}")
        self.name, self.parent = name, parent
        where = f"Body {name!r}"
        if mass is None and inertia is not None:
            raise DeclarationError(f"{where}: inertia is given without mass; give the mass")
        self.mass = scalar(where, "mass", 0 if mass is None else mass)
        self.rotation = sp.eye(3) if rotation is None else matrix(where, "rotation", rotation)
        self.center = vector(where, "center", (0, 0, 0) if center is None else center)
        self.inertia = self._central(inertia, about)

    def _central(self, inertia: Any, about: Sequence[Expression] | None) -> Any:
        where = f"Body {self.name!r}"
        if inertia is None:
            if about is not None:
                raise DeclarationError(f"{where}: about is given without inertia")
            return sp.zeros(3)
        # of an array: without axes it is a number, although its type can be iterated over
        axes = getattr(inertia, "ndim", None)
        if axes == 1 and len(inertia) != 3:
            raise DeclarationError(f"{where}: inertia has {len(inertia)} entries; give 3 components")
        moments = (
            isinstance(inertia, Iterable) and not isinstance(inertia, sp.MatrixBase) and axes in (None, 1)
        )
        rows = list(inertia) if moments else inertia
        if moments and not any(isinstance(r, Iterable) and not isinstance(r, str) for r in rows):
            rows = sp.diag(*vector(where, "inertia", rows))
        given = matrix(where, "inertia", rows, ", nor has it three principal moments")
        for i, j in ((0, 1), (0, 2), (1, 2)):
            if sp.expand(given[i, j] - given[j, i]) != 0:
                raise DeclarationError(
                    f"{where}: inertia is not symmetric: entry [{i}, {j}] is {given[i, j]}, [{j}, {i}] {given[j, i]}"
                )
        if about is None:
            return given
        d = vector(where, "about", about)
        return given - self.mass * (d.dot(d) * sp.eye(3) - d * d.T)

    def point(self, arm: Sequence[Expression] = (0, 0, 0)) -> Any:
        """The place in space of a point of the body, a column of expressions in (t, x).

        arm : the point in body axes, relative to the mass centre, as `point` of `Wrench`. Default: the mass centre. A
            point p of a link's frame, in which `at` and `center` are given, is ``link.origin + p``.

        >>> import chaplygin as cg
        >>> l = cg.parameters("l", positive=True)
        >>> cart = cg.joint.prismatic(None, "x", name="cart", mass=1)
        >>> rod = cg.joint.revolute(cart, "y", name="rod", mass=1, center=(0, 0, -l))
        >>> rod.point().T, rod.point(rod.origin).T
        (Matrix([[cart - l*sin(rod), 0, -l*cos(rod)]]), Matrix([[cart, 0, 0]]))
        """
        place = vector(f"Body {self.name!r}", "arm", arm)
        body: Body | None = self
        while body is not None:
            place, body = body.center + body.rotation * place, body.parent
        return place

    @property
    def attitude(self) -> Any:
        """The 3x3 rotation matrix from body axes to space, in (t, x); its columns are the body axes.

        >>> import chaplygin as cg
        >>> frame = cg.Body("frame", rotation=cg.turn("x", cg.coordinates("a")))
        >>> cg.Body("blade", parent=frame, rotation=cg.turn("z", cg.coordinates("b"))).attitude[:, 0].T
        Matrix([[cos(b), sin(b)*cos(a), sin(a)*sin(b)]])
        """
        turned, body = self.rotation, self.parent
        while body is not None:
            turned, body = body.rotation * turned, body.parent
        return turned

    def entries(self) -> list[tuple[Entry, Expression]]:
        """The declared expressions, each with its place."""

        def entry(attribute: str, index: str | None = None) -> Entry:
            return Entry("bodies", self.name, attribute, index)

        found = [(entry("mass"), self.mass)]
        for name in ("inertia", "rotation"):
            matrix, places = getattr(self, name), [(i, j) for i in range(3) for j in range(3)]
            found += [(entry(name, f"{i}, {j}"), matrix[i, j]) for i, j in places]
        return [*found, *((entry("center", str(i)), self.center[i]) for i in range(3))]

    def __repr__(self) -> str:
        of = f", parent={self.parent.name!r}" if self.parent else ""
        return f"Body({self.name!r}, mass={self.mass}{of})"


def turn(axis: int | str | Sequence[Expression], angle: Expression) -> Any:
    """The rotation matrix about an axis by an angle; its columns are the rotated axes.

    axis : 1, 2, 3, the same as "x", "y", "z", or a unit vector.

    >>> import sympy as sp
    >>> import chaplygin as cg
    >>> cg.turn(3, sp.pi / 2) * sp.Matrix([1, 0, 0])
    Matrix([
    [0],
    [1],
    [0]])
    """
    if isinstance(axis, int):
        if axis not in (1, 2, 3):
            raise DeclarationError(f"turn: axis is {axis}; give 1, 2, 3 or a unit vector")
        axis = [int(i == axis) for i in (1, 2, 3)]
    if isinstance(axis, str):
        if axis not in AXES:
            raise DeclarationError(f'turn: axis is {short(axis)}; give "x", "y", "z" or a unit vector')
        axis = AXES[axis]
    n, angle = vector("turn", "axis", axis), values.scalar("turn: angle", angle)
    c, s = sp.cos(angle), sp.sin(angle)
    return c * sp.eye(3) + s * hat(n) + (1 - c) * n * n.T


def hat(w: Vector) -> Any:
    """The skew-symmetric matrix of a vector: hat(w) r = w x r."""
    return sp.Matrix([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def moves(e: Any) -> set[sp.Symbol]:
    """The coordinates and inputs in an expression, and the time if it occurs."""
    return {s for s in e.free_symbols if isinstance(s, (Coordinate, Input, Time))}


def scalar(where: str, entry: str, value: Any, moving: bool = False) -> Expression:
    """`value` as a scalar expression in (t, x, parameters, inputs), if `moving` also in the velocities."""
    e = values.scalar(f"{where}: {entry}", value)
    if e.has(sp.nan, sp.oo, -sp.oo, sp.zoo):
        raise DeclarationError(f"{where}: {entry} is {e}; give a finite value")
    for s in sorted(e.free_symbols, key=str):
        if isinstance(s, Velocity) and not moving:
            raise DeclarationError(
                f"{where}: {entry} contains the velocity {s}; it must be a function of (t, x)"
            )
        if not isinstance(s, (Coordinate, Velocity, Parameter, Input, Time)):
            raise DeclarationError(
                f"{where}: {entry}: unknown symbol {s}; declare it with parameters() or coordinates()"
            )
    return e


def vector(where: str, entry: str, value: Any, moving: bool = False) -> Vector:
    """`value` as a column of three scalars, which may contain the velocities if `moving`."""
    sequence = isinstance(value, (sp.MatrixBase, sp.Tuple)) or (
        hasattr(value, "__iter__") and not isinstance(value, str)
    )
    try:
        size = len(value) if hasattr(value, "__len__") else 0
        items = list(value) if sequence and size <= 3 else []
    except Exception:  # an array without axes is iterable by its type alone
        sequence, size, items = False, 0, []
    if len(items) != 3:
        found = f"has {size or len(items)} entries" if sequence else f"is {type(value).__name__}"
        raise DeclarationError(f"{where}: {entry} {found}; give 3 components")
    return sp.Matrix([scalar(where, f"{entry}[{i}]", e, moving) for i, e in enumerate(items)])


def matrix(where: str, entry: str, value: Any, nor: str = "") -> Any:
    shape = getattr(value, "shape", (3, 3))
    if shape != (3, 3):  # before SymPy converts an array, which may be large
        raise DeclarationError(f"{where}: {entry} has shape {shape}; give shape (3, 3)")
    try:
        given = sp.Matrix(value)
    except Exception:
        raise DeclarationError(f"{where}: {entry} = {short(value)} is not a 3x3 matrix{nor}") from None
    if given.shape != (3, 3):
        raise DeclarationError(f"{where}: {entry} has shape {given.shape}; give shape (3, 3)")
    return given.applyfunc(lambda e: scalar(where, entry, e))
