"""Whether the rates that a SymPy model states are those of its positions and velocities.

SymPy takes an acceleration that was set, by `set_acc` or `a2pt_theory`, in the place of the derivative of the velocity,
and its equations are wrong where the two differ: at the centre of a wheel, say, whose contact was taken as one point of
the wheel. It also takes an angular velocity that was set where it differentiates vectors of a frame, and the rotation
matrix where it converts them: an angular velocity that lacks a component makes the two contradict each other.

Both sides are compared as numbers, at random motions that satisfy the constraints. Rotations are multiplied and
vectors differentiated in the graph: SymPy's own derivatives of a bicycle take many times as long as all the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.physics.mechanics import RigidBody, dynamicsymbols

from ..graph.differentiate import forward, partials
from ..graph.evaluate import evaluate
from ..graph.from_sympy import Lowering, UnsupportedExpression
from ..graph.graph import Graph, Node
from ..graph.vectors import Matrix, Vector, axial, by_rows, plus, product, times, transpose, zero
from ..symbols.symbols import DeclarationError
from .sources import Source

Expression = Any
_EXACT = 1e-8
_POINTS = 2  # motions at which both sides are compared
_NEWTON = 6  # steps from a length of 0.6 to 1.8 to 1
_ZERO = 1e-13  # where a step would be made of rounding
_DRAWS = 20  # to find them, where some are outside the domain of a function


def check_stated_rates(given: Source) -> None:
    """Raise DeclarationError, naming the point or frame, for a rate that contradicts what it is the rate of."""
    space, motion = given.frame, _Motion(given)
    compared: set[frozenset[Any]] = set()
    for body in given.bodies:
        point, own = body.masscenter, body.frame if isinstance(body, RigidBody) else None
        velocity = point.vel(space)
        if space in point._acc_dict:
            where = f"acceleration of {point}"
            _check_acceleration(motion, where, point._acc_dict[space], velocity)
        if own is not None and space in own._ang_acc_dict:
            where = f"angular acceleration of {own}"
            _check_acceleration(motion, where, own._ang_acc_dict[space], own.ang_vel_in(space))
        frames = [frame for _, frame in velocity.args]
        for other in frames[1:]:
            path = frames[0]._dict_list(other, 0)
            compared |= {frozenset(pair) for pair in pairwise(path)}
    for pair in sorted(compared, key=lambda frames: sorted(map(str, frames))):
        _check_turning(motion, *sorted(pair, key=lambda frame: len(frame._dict_list(space, 0))))


def _check_acceleration(motion: _Motion, where: str, stated: Any, velocity: Any) -> None:
    space = motion.given.frame
    rate = motion.rates(motion.components(where, velocity, space))
    if not motion.equal(motion.components(where, stated, space), rate):
        raise DeclarationError(
            f"from_sympy: the {where} in {space} was set to another vector than the rate of its velocity, as "
            "by a2pt_theory for points that are not fixed in one frame; omit it: it follows from the velocity"
        )


def _check_turning(motion: _Motion, base: Any, frame: Any) -> None:
    """R' R^T = [w x] for the rotation of a frame in the one that it was oriented in."""
    rotation = motion.rotation(f"orientation of {frame} in {base}", base, frame)
    turned = tuple(motion.rates(row) for row in rotation)
    rate = axial(product(motion.graph, turned, transpose(rotation)))
    motion.keep_lengths(rotation)
    stated = motion.components(f"angular velocity of {frame} in {base}", frame.ang_vel_in(base), base)
    if not motion.equal(stated, rate):
        raise DeclarationError(
            f"from_sympy: the angular velocity of {frame} in {base} was set to another vector than the rate of its "
            "orientation, so vectors with components in both frames have no definite rate; give every component of "
            "it, in speeds with the kinematics of these angles"
        )


class _Motion:
    """The vectors of a model as nodes of one graph, and their rates along its motions."""

    def __init__(self, given: Source) -> None:
        self.given, self.graph = given, Graph()
        self._t, g = dynamicsymbols._t, self.graph
        still = dict.fromkeys((v for f in given.auxiliary for v in (f, f.diff(self._t))), g.zero)
        self._names: dict[str, Expression] = {"t": self._t}
        self._known: dict[Expression, Node] = {self._t: g.symbol("t"), **still}
        self._lowering = Lowering(g, self._known)
        self._direction: dict[Node, Node] = {g.symbol("t"): g.one}
        self._rotations: dict[tuple[Any, Any], Matrix] = {}
        self.speeds = tuple(self._symbol(v) for v in given.u)
        first = [self._lowered(f"the rate of {x}", [e])[0] for x, e in given.kinematics.items()]
        for x, rate in zip(given.kinematics, first, strict=True):
            self._direction[self._symbol(x)] = rate
            self._define(x.diff(self._t), rate)
        for x, rate in zip(given.kinematics, self.rates(first), strict=True):
            self._define(x.diff(self._t, self._t), rate)
        self.accelerations = tuple(self._symbol(v.diff(self._t)) for v in given.u)
        self.rows = self._lowered("a velocity constraint", given.velocity)
        self._lengths: list[tuple[Vector, Vector, Vector]] = []

    def components(self, where: str, vector: Any, frame: Any) -> Vector:
        """The components of a vector along the axes of a frame."""
        total = zero(self.graph)
        for part, own in vector.args if vector != 0 else ():
            entries = self._lowered(where, part)
            total = plus(self.graph, total, times(self.graph, self.rotation(where, frame, own), entries))
        return total

    def rotation(self, where: str, base: Any, frame: Any) -> Matrix:
        """The matrix that takes components in a frame to those in another, step by step on the way between them."""
        path = base._dict_list(frame, 0)
        total = by_rows(self._lowered(where, sp.eye(3)))
        for pair in pairwise(path):
            if pair not in self._rotations:
                self._rotations[pair] = by_rows(self._lowered(where, pair[0].dcm(pair[1])))
            total = product(self.graph, total, self._rotations[pair])
        return total

    def rates(self, nodes: Sequence[Node]) -> Vector:
        """The derivatives by time."""
        for name in sorted(self.graph.symbols(nodes)):
            f, node = self._names[name], self.graph.symbol(name)
            if not isinstance(f, sp.Symbol) and node not in self._direction:
                self._direction[node] = self._symbol(f.diff(self._t))
        return tuple(forward(self.graph, nodes, self._direction))

    def keep_lengths(self, rotation: Matrix) -> None:
        """From now on compare where a rotation is one: that of a quaternion is not unless its length is 1."""
        g, x = self.graph, tuple(self._symbol(f) for f in self.given.q)
        square = product(g, rotation, transpose(rotation))
        rows = tuple(g.sub(square[i][j], g.const(int(i == j))) for i in range(3) for j in range(i + 1))
        self._lengths = [(rows, tuple(n for column in partials(g, rows, x) for n in column), x)]

    def equal(self, a: Vector, b: Vector) -> bool:
        """Whether two vectors are equal at random motions. They are taken for equal if no motion is in their domain."""
        if a == b:
            return True
        found = 0
        for seed in range(_DRAWS):
            try:
                values = np.array(evaluate(self.graph, [*a, *b], self._point(seed)))
            except (ArithmeticError, ValueError):  # outside the domain of a function
                continue
            if np.abs(values[:3] - values[3:]).max() > _EXACT * (1 + np.abs(values).max()):
                return False
            found += 1
            if found == _POINTS:
                break
        return True

    def _point(self, seed: int) -> dict[str, float]:
        """Random values of all symbols that satisfy the constraints.

        The constraints are linear in speeds, their rates in accelerations: both are moved to the nearest solution, and
        coordinates by Newton's method to where rotations keep lengths.
        """
        constraints = self._constraints  # which may have names of their own
        draw = np.random.default_rng(seed)
        point = {name: draw.uniform(0.3, 0.9) for name in self._names}
        for rows, slopes, unknown in [*_NEWTON * self._lengths, *constraints]:
            values = np.array(evaluate(self.graph, [*rows, *slopes], point))
            if np.abs(values[: len(rows)]).max() < _ZERO:
                continue
            matrix = values[len(rows) :].reshape(len(unknown), len(rows)).T
            steps = np.linalg.lstsq(matrix, values[: len(rows)], rcond=_EXACT)[0]
            for v, step in zip(unknown, steps, strict=True):
                point[str(self.graph.value[v])] -= step
        return point

    @cached_property
    def _constraints(self) -> list[tuple[Vector, Vector, Vector]]:
        """Rows, their derivatives by unknowns in which they are linear, and these: speeds, then accelerations."""
        pairs = [(self.rows, self.speeds), (self.rates(self.rows), self.accelerations)] if self.rows else []
        return [
            (rows, tuple(n for column in partials(self.graph, rows, v) for n in column), v)
            for rows, v in pairs
        ]

    def _lowered(self, where: str, given: Iterable[Expression]) -> Vector:
        entries = [sp.sympify(e) for e in given]
        atoms = {a for e in entries for a in e.atoms(sp.Symbol, AppliedUndef, sp.Derivative)}
        for a in sorted(atoms - self._known.keys(), key=str):
            if isinstance(a, sp.Symbol) or self._varies(a):
                self._symbol(a)
        try:
            return tuple(self._lowering.lower(entries))
        except UnsupportedExpression as error:
            raise DeclarationError(f"from_sympy: the {where}: {error}") from None

    def _varies(self, a: Expression) -> bool:
        """Whether something is a dynamicsymbol or a derivative of one."""
        f = a.args[0] if isinstance(a, sp.Derivative) else a
        return isinstance(f, AppliedUndef) and f.args == (self._t,)

    def _symbol(self, s: Expression) -> Node:
        """The node of a symbol, of a dynamicsymbol or of a derivative of one."""
        if s not in self._known:
            name = str(len(self._names))
            self._names[name] = s
            self._define(s, self.graph.symbol(name))
        return self._known[s]

    def _define(self, s: Expression, node: Node) -> None:
        self._known[s] = node
        self._lowering.define(s, node)
