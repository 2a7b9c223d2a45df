"""Branches of equilibria and steady motions along a parameter, by pseudo-arclength continuation.

The unknowns z of the equations r = 0 and the parameter make one vector, of which a step goes along the tangent of the
branch; Newton's method returns to the branch across it (H. B. Keller 1977). On the way three functions are watched:
the parameter's part of the tangent (zero at a fold), the lowest coefficient of the characteristic polynomial that is
not zero on the whole branch (an eigenvalue passes through zero), and the real part of each complex pair (Hopf). Where
one changes its sign, its zero is found along the arc.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .. import arguments
from ..arguments import Array
from ..errors import ArgumentError, KernelError
from .field import Field
from .linearization import Complex, Family, Linearization, linearized, size
from .steady import Problem, SteadyState

_NEWTON_STEPS = 8
_CLOSE = 1e-12
_SHORTEST = 1e-6
_BEND = 0.95
"""Cosine of the largest angle between neighbouring tangents."""
_ZERO = 1e-6
"""Eigenvalues below this share of the size of A are zero on the whole branch, if they are so at both ends of a step."""


class SpecialPoint(NamedTuple):
    """A point of a branch, its parameter's value, and its kind: "fold", "Hopf", or "branch point" (an eigenvalue 0)."""

    kind: str
    value: float
    point: SteadyState


@dataclass(frozen=True, eq=False)
class Branch:
    """Equilibria or steady motions along a parameter; see `SteadyState.continuation`.

    Attributes
    ----------
    along : the parameter, input or held state that varies.
    points : the solutions, in their order along the branch; `branch[name]` is any quantity at all of them.
    special : the folds, Hopf points and branch points, in the same order.
    """

    along: str
    points: tuple[SteadyState, ...]
    special: tuple[SpecialPoint, ...]

    @cached_property
    def linearizations(self) -> Family:
        """The linear equations along the branch, whose `plot` is the root locus."""
        model = self.points[0].model
        return Family(
            tuple(p.linearization for p in self.points), {self.along: self[self.along]}, model.units
        )

    def __getitem__(self, name: Any) -> Array:
        return np.array([p[name] for p in self.points])

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        found = ", ".join(f"{s.kind} at {s.value:.10g}" for s in self.special) or "no special points"
        values = self[self.along]
        return (
            f"<branch of {len(self)} points, {self.along} from {values[0]:.6g} to {values[-1]:.6g}: {found}>"
        )


class _Place(NamedTuple):
    """A point of the branch: v, the unit tangent in scaled unknowns, and the linear equations there."""

    v: Array
    tangent: Array
    linear: Linearization


class _Arc:
    """The extended equations, with the parameter as the last unknown."""

    def __init__(self, start: SteadyState, along: str, to: float) -> None:
        self.start, self.model, self.along = start, start.model, along
        keep = [n for n in start.keep if n != along]
        field = Field(start.model, start.v, start.about)
        self.problem = Problem(field, "continuation", keep, start.free)
        names = [n for n in self.problem.unknowns if n != along]
        self.places = [field.names.index(n) for n in (*names, along)]
        self.begin, self.end = float(start.v[self.places[-1]]), to
        self.scales = 1.0 + np.abs(start.v[self.places])
        self.scales[-1] = abs(to - self.begin)

    def matrix(self, v: Array) -> tuple[Array, Array]:
        """The residuals and their derivatives by the scaled unknowns, with rows of size 1."""
        values, slopes = self.problem.at(v)
        matrix = slopes[:, self.places] * self.scales
        sizes = np.linalg.norm(matrix, axis=1)
        sizes = np.fmax(sizes, 1e-4 * sizes.max(initial=1e-300))
        return values / sizes, matrix / sizes[:, None]

    def tangent(self, v: Array, before: Array) -> Array:
        """The direction of the branch that is nearest to the one before."""
        _, matrix = self.matrix(v)
        _, sizes, rows = np.linalg.svd(matrix)
        known = np.concatenate([sizes, np.zeros(len(self.places) - len(sizes))])
        open_ = rows[(known <= 1e-9 * known.max(initial=0.0)) | (np.arange(len(rows)) == len(rows) - 1)]
        found = open_.T @ (open_ @ before)
        return np.asarray(found / max(np.linalg.norm(found), 1e-300))

    def place(self, v: Array, before: Array) -> _Place:
        linear = linearized(self.model, v, self.start.about, self.start.linearization.states)
        return _Place(v, self.tangent(v, before), linear)

    def at(self, base: _Place, s: float) -> _Place | None:
        """The point at the distance s along the tangent of `base`; None if Newton's method does not reach it."""
        v, aim = base.v.copy(), base.v[self.places] / self.scales + s * base.tangent
        v[self.places] = aim * self.scales
        for _ in range(_NEWTON_STEPS):
            try:
                values, matrix = self.matrix(v)
            except KernelError:
                return None
            off = base.tangent @ (v[self.places] / self.scales - aim)
            step, *_ = np.linalg.lstsq(
                np.vstack([matrix, base.tangent]), -np.append(values, off), rcond=1e-12
            )
            v[self.places] += step * self.scales
            size = np.abs(step).max()
            if not np.isfinite(size):
                return None
            if size <= _CLOSE:
                return self.place(v, base.tangent)
        return None

    def state(self, v: Array) -> SteadyState:
        start = self.start
        values, _ = self.problem.at(v)
        return replace(start, v=v, residual=float(np.abs(values).max(initial=0.0)))


def follow(start: SteadyState, along: Any, to: Any, step: Any, max_points: Any) -> Branch:
    """See `SteadyState.continuation`."""
    model, end, along = start.model, arguments.number("to", to), arguments.plain_name(along)
    known = (*start.keep, *(n for n in (*model.parameters, *model.inputs) if n not in start.free))
    if along not in known:
        raise arguments.unknown_entry("continuation: along", [along], known)
    arc = _Arc(start, along, end)
    if end == arc.begin:
        raise ArgumentError(f"continuation: {along} is {end:.6g} already; give another value of to")
    longest = arguments.number("step", step)
    if not 0 < longest <= 1:
        raise ArgumentError(f"continuation: step = {longest:.6g} must be positive and at most 1")
    if isinstance(max_points, bool) or not isinstance(max_points, (int, np.integer)) or max_points < 2:
        raise ArgumentError(
            f"continuation: max_points = {arguments.short(max_points)} must be an integer of 2 or more"
        )
    forward = np.zeros(len(arc.places))
    forward[-1] = np.sign(end - arc.begin)
    place = arc.place(start.v, forward)
    points, special = [start], list[SpecialPoint]()
    length = longest
    while len(points) < max_points:
        length, following = _step(arc, place, length, longest, along)
        last = _last(arc, place, following, length)
        if last is not None:
            length, following = last
        special += _special(arc, place, following, length)
        points.append(arc.state(following.v))
        place = following
        if last is not None:
            break
        length = min(1.5 * length, longest)
    return Branch(along, tuple(points), tuple(special))


def _step(arc: _Arc, place: _Place, length: float, longest: float, along: str) -> tuple[float, _Place]:
    """The next point, at the given length or a shorter one where the branch bends."""
    while length > _SHORTEST * longest:
        found = arc.at(place, length)
        if found is not None and found.tangent @ place.tangent > _BEND:
            return length, found
        length /= 2.0
    value = place.v[arc.places[-1]]
    raise ArgumentError(
        f"continuation: the branch cannot be followed beyond {along} = {value:.10g}: Newton's method does not converge "
        "even for the shortest steps; the equations may be singular there"
    )


def _last(arc: _Arc, place: _Place, following: _Place, length: float) -> tuple[float, _Place] | None:
    """The end of the branch, if the step passes the last value of the parameter, or its first one again."""
    for limit in (arc.end, arc.begin):
        before, after = (p.v[arc.places[-1]] - limit for p in (place, following))
        if before and after * np.sign(before) <= 0:

            def excess(p: _Place, limit: float = limit) -> float:
                return float(p.v[arc.places[-1]] - limit)

            return _zero(arc, place, length, excess)
    return None


def _special(arc: _Arc, place: _Place, following: _Place, length: float) -> list[SpecialPoint]:
    """The special points between two points of the branch."""
    found: list[tuple[str, Callable[[_Place], float]]] = []
    zeros = min(_count_zeros(p.linear) for p in (place, following))
    n = len(place.linear.states) - zeros

    def lowest(p: _Place) -> float:
        return float(np.poly(p.linear.A)[n].real) if n else 1.0

    if _changes(lambda p: p.tangent[-1], place, following):
        found.append(("fold", lambda p: float(p.tangent[-1])))
    elif _changes(lowest, place, following):
        found.append(("branch point", lowest))
    found += [("Hopf", pair) for pair in _pairs(place.linear, following.linear)]
    special = []
    for kind, function in found:
        s, there = _zero(arc, place, length, function)
        special.append((s, SpecialPoint(kind, float(there.v[arc.places[-1]]), arc.state(there.v))))
    return [point for _, point in sorted(special, key=lambda pair: pair[0])]


def _changes(function: Callable[[_Place], float], first: _Place, second: _Place) -> bool:
    return function(first) * function(second) < 0


def _count_zeros(linear: Linearization) -> int:
    return int((np.abs(linear.eigenvalues) <= _ZERO * size(linear.A)).sum())


def _pairs(first: Linearization, second: Linearization) -> list[Callable[[_Place], float]]:
    """The real parts of complex pairs that change their sign, as functions of a point between."""
    before = first.eigenvalues
    order = Family((first, second), {}, {}).eigenvalues[1]
    least = _ZERO * max(size(m.A) for m in (first, second))
    found: list[Callable[[_Place], float]] = []
    for a, b in zip(before, order, strict=True):
        oscillates = min(a.imag, b.imag) > least
        if oscillates and min(abs(a.real), abs(b.real)) > 1e-3 * least and a.real * b.real < 0:

            def real(p: _Place, middle: complex = (a + b) / 2) -> float:
                values: Complex = p.linear.eigenvalues
                oscillating = values[values.imag > 0]
                return float(oscillating[np.argmin(np.abs(oscillating - middle))].real)

            found.append(real)
    return found


def _zero(
    arc: _Arc, place: _Place, length: float, function: Callable[[_Place], float]
) -> tuple[float, _Place]:
    """Where a function changes its sign between `place` and the point at `length`: the distance, the point."""
    from scipy.optimize import brentq

    def point(s: float) -> _Place:
        found = arc.at(place, s) if s else place
        if found is None:
            value = place.v[arc.places[-1]]
            raise ArgumentError(
                f"continuation: the branch cannot be followed from {arc.along} = {value:.10g} to the next point: the "
                "equations are singular between them, or step is too long"
            )
        return found

    s = float(brentq(lambda s: function(point(s)), 0.0, length, xtol=1e-15, rtol=1e-14))
    return s, point(s)
