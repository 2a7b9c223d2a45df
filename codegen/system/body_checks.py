"""Checks of bodies that need the whole system: their rotations, and what moves them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import sympy as sp

from chaplygin.errors import warn_caller

from ..graph.differentiate import partials
from ..graph.evaluate import Point, evaluate
from ..graph.from_sympy import Lowering
from ..graph.graph import Graph, Node
from ..mechanics.bodies import Body
from ..symbols.symbols import Coordinate, DeclarationError
from .nodes import SystemNodes
from .points import example_point, moved_points, sample

_EXACT, _FOLLOWED = 1e-8, 1e-6
"""Relative errors of a rotation: where its variables are exact, and where they come from a motion followed."""
_RANDOM, _MOTIONS = 4, 3
"""Points near the example and motions from it at which rotations are checked."""


def moved_by(system: SystemNodes, velocity: sp.Symbol) -> list[Body]:
    """The bodies that a velocity moves relative to their parents."""
    flow = system.mechanism.flow
    g = flow.graph

    def relative(body: Body) -> list[Node]:
        return [*flow.spin(body), *flow.rate(flow.pose(body).anchor)]

    return [body for body in system.declaration.bodies if velocity.name in g.symbols(relative(body))]


def check_bodies(system: SystemNodes) -> None:
    """Check masses, inertias and rotations at the example point, and rotations elsewhere too."""

    point = example_point(system)
    given = {s.name for s in system.declaration.example}
    motions = functools.cache(lambda: moved_points(system, point, _MOTIONS))
    near = [sample(system, seed) for seed in range(1, 1 + _RANDOM)]

    def numbers(where: str, matrix: _Matrix) -> Any:
        if not matrix.names <= point.keys():
            return None  # a parameter that drops out of T and V and has no example value
        try:
            return matrix.at(point)
        except (ArithmeticError, ValueError) as error:
            raise DeclarationError(f"{where} fails at the example point: {error}") from None

    for body in system.declaration.bodies:
        where = f"Body {body.name!r}"
        rotors = getattr(body, "armature", {}).values()
        for what, given_value in [("mass", body.mass), *(("armature", e) for e in rotors)]:
            value = numbers(f"{where}: {what}", _Matrix(sp.Matrix([given_value])))
            if value is not None and value[0, 0] < 0:
                raise DeclarationError(
                    f"{where}: {what} is {value[0, 0]:.6g} at the example point; it must not be negative"
                )
        inertia = numbers(f"{where}: inertia", _Matrix(body.inertia))
        if inertia is not None and not body.as_measured and (found := impossible_moments(inertia)):
            meant = {s.name for s in body.inertia.free_symbols} <= given
            _judge_moments(where, found, meant and not _turns_in_a_plane(system, body, inertia, near))
        rotation = _Matrix(body.rotation)
        r = numbers(f"{where}: rotation", rotation)
        if r is None:
            continue
        # If |q| != 1, a quaternion's matrix is a multiple of a rotation: an error only if the example sets q.
        meant = {s.name for s in body.rotation.free_symbols if isinstance(s, Coordinate)} <= given
        stretch = _stretch(r, _EXACT)
        if stretch is None or (meant and abs(stretch - 1) > _EXACT):
            raise DeclarationError(f"{where}: {_not_a_rotation(r, 'at the example point')}")
        _check_elsewhere(system, rotation, where, 1.0 if meant else None, near, motions)


def impossible_moments(inertia: Any) -> list[float]:
    """The principal moments, in increasing order, of an inertia that no distribution of mass has; else [].

    Of such an inertia one is negative beyond rounding, or larger than the sum of the two others.
    """
    moments: list[float] = np.linalg.eigvalsh(inertia).tolist()
    possible = moments[0] + moments[1] >= (1 - 1e-9) * moments[2] and not _is_negative(moments)
    return [] if possible else moments


def _is_negative(moments: Sequence[float]) -> bool:
    return moments[0] < -1e-9 * (1 + abs(moments[-1]))


def _judge_moments(where: str, moments: Sequence[float], meant: bool) -> None:
    """Refuse negative moments, and warn of others that no distribution of mass has if the example sets them.

    With those T is positive all the same, and measured ones are published: motions follow from them.
    """
    listed = ", ".join(f"{v:.6g}" for v in moments)
    found = f"{where}: inertia has the central principal moments {listed} at the example point"
    if _is_negative(moments):
        raise DeclarationError(
            f"{found}; they must not be negative (if it is taken about another point, pass about=)"
        )
    if meant:
        warn_caller(
            f"{found}; they are taken as they are, but in a body none is larger than the sum of the two others"
        )


def _turns_in_a_plane(
    system: SystemNodes, body: Body, inertia: Any, near: Sequence[Mapping[str, float]]
) -> bool:
    """Whether a body only turns about the axis of its largest moment: the two others are of no consequence then."""
    flow, eta = system.mechanism.flow, list(system.eta)
    g = flow.graph.copy()
    omega = flow.on(g).omega(body)
    rows = [n for column in [*partials(g, omega, eta), omega] for n in column]
    try:
        turning = np.array([evaluate(g, rows, point) for point in near], float).reshape(-1, 3)
    except (ArithmeticError, ValueError):
        return False
    _, sizes, axes = np.linalg.svd(turning)
    if sizes[0] == 0 or sizes[1] > 1e-9 * sizes[0]:
        return False
    largest = np.linalg.eigvalsh(inertia)[-1]
    return bool(np.abs(inertia @ axes[0] - largest * axes[0]).max() <= 1e-9 * largest)


class _Matrix:
    """A matrix of SymPy expressions, to be evaluated at several points."""

    def __init__(self, matrix: Any) -> None:
        self.graph, self.shape = Graph(), matrix.shape
        self.names = {s.name for s in matrix.free_symbols}
        symbols = {s: self.graph.symbol(s.name) for s in matrix.free_symbols}
        self.nodes = Lowering(self.graph, symbols).lower(list(matrix))

    def at(self, point: Mapping[str, float]) -> Any:
        """Its values, as an array. Raises ArithmeticError or ValueError outside the domain of an entry."""
        return np.array(evaluate(self.graph, self.nodes, point), dtype=float).reshape(self.shape)


def _check_elsewhere(
    system: SystemNodes,
    matrix: _Matrix,
    where: str,
    stretch: float | None,
    near: Sequence[Point],
    motions: Callable[[], list[Point]],
) -> None:
    """Refuse a matrix that is a rotation at the example point, but not where motions lead from there.

    A matrix that is a rotation for any values of its variables needs no motions. Any other may be one only where they
    satisfy an equation that motions keep: |q|^2 = 1, or a holonomic constraint. `stretch` is the factor c^2 that a
    matrix c R must have; None for any. `near` are random points near the example.
    """

    def values(point: Point) -> Any:
        try:
            return matrix.at(point)
        except (ArithmeticError, ValueError):  # outside the domain of an entry
            return None

    def is_rotation(r: Any, tolerance: float) -> bool:
        found = _stretch(r, tolerance)
        return found is not None and (stretch is None or abs(found - stretch) <= tolerance * stretch)

    random = [values(point) for point in near]
    if all(r is None or is_rotation(r, _EXACT) for r in random) or system.declaration.parametrization:
        return
    for point in motions():
        r = values(point)
        if r is not None and not is_rotation(r, _FOLLOWED):
            place = ", ".join(f"{name} = {point[name]:.6g}" for name in sorted(matrix.names & point.keys()))
            raise DeclarationError(f"{where}: {_not_a_rotation(r, f'at {place}, where a motion can come')}")


def _stretch(r: Any, tolerance: float) -> float | None:
    """The factor c^2 > 0 of a matrix r = c R with a rotation R; None where there is none."""
    product = r.T @ r
    size = float(np.trace(product)) / 3
    scaled = np.abs(product - size * np.eye(3)).max() <= tolerance * size and np.linalg.det(r) > 0
    return size if scaled else None


def _not_a_rotation(r: Any, where: str) -> str:
    lengths = ", ".join(f"{v:.6g}" for v in np.linalg.norm(r, axis=0))
    return (
        f"rotation is not a rotation {where}: its columns have the lengths {lengths}, its determinant is "
        f"{np.linalg.det(r):.6g}; columns are the body axes, orthonormal and right-handed (for a quaternion give unit "
        "values in example)"
    )
