"""Branches of equilibria and steady motions along a parameter, by pseudo-arclength continuation.

The unknowns z of the equations r = 0 and the parameter make one vector, of which a step goes along the tangent of the
branch; Newton's method returns to the branch across it (H. B. Keller 1977). On the way three functions are watched:
the parameter's part of the tangent (zero at a fold), the lowest coefficient of the characteristic polynomial that is
not zero on the whole branch (an eigenvalue passes through zero), and the real part of each complex pair (Hopf). Where
one changes its sign, its zero is found along the arc. Two pairs that meet on the imaginary axis leave it together
(Hamiltonian Hopf): there the number of pairs on its right changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from chaplygin._lazy import later
from chaplygin.errors import ArgumentError, KernelError

from ..interface import arguments, assumptions
from ..interface.arguments import Array
from .field import Field
from .linearization import NEUTRAL, Family, Linearization, linearized, matched, size
from .newton import NewtonProblem, Rest

scipy = later("scipy")

_NEWTON_STEPS = 8
_CLOSE = 1e-12
_SHORTEST = 1e-6
_BEND = 0.95
"""Cosine of the largest angle between neighbouring tangents."""
_ZERO = 1e-6
"""Eigenvalues below this share of the size of A are zero on the whole branch, if they are so at both ends of a step."""
_NEUTRAL = 1e-9
"""The same of real parts."""
_MEET = 1e-5
"""Eigenvalues closer than this share of the size of A have met: the square root of rounding errors parts them."""
_BESIDE = 0.9
"""Share of a step that would end where an eigenvalue crosses the imaginary axis, and hide from which side."""


class _Place(NamedTuple):
    """A point of the branch: v, the unit tangent in scaled unknowns, and the linear equations there."""

    v: Array
    tangent: Array
    linear: Linearization


Found = TypeVar("Found", bound=Rest)
_Distant = tuple[float, _Place]
"""A point with its distance along the tangent of another one."""


class _Arc:
    """The extended equations, with the parameter as the last unknown."""

    def __init__(self, start: Rest, along: str, to: float) -> None:
        self.start, self.model, self.along = start, start.model, along
        keep = [n for n in start.keep if n != along]
        field = Field(start.model, start.v, start.about)
        self.problem = NewtonProblem(field, "continuation", keep, start.free, start.v)
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
                return self.place(self.problem.cleared(v), base.tangent)
        return None

    def distance(self, base: _Place, p: _Place) -> float:
        """The distance of a point along the tangent of `base`."""
        return float(base.tangent @ ((p.v - base.v)[self.places] / self.scales))

    def residual(self, v: Array) -> float:
        values, _ = self.problem.at(v)
        return float(np.abs(values).max(initial=0.0))


def follow(
    start: Found, along: Any, to: Any, step: Any, max_points: Any
) -> tuple[str, list[Found], list[tuple[str, float, Found]]]:
    """The name of what varies, the points of the branch from `start` on, and (kind, value, point) of special ones.

    See `SteadyState.continuation`.
    """
    model, end, along = start.model, arguments.number("to", to), arguments.plain_name(along)
    known = (*start.keep, *(n for n in (*model.parameters, *model.inputs) if n not in start.free))
    arguments.check_known("continuation: along", [along], known)
    assumptions.check_row("continuation: to", along, model.variables[along].flags, end)
    arc = _Arc(start, along, end)
    if end == arc.begin:
        raise ArgumentError(f"continuation: {along} is {end:.6g} already; give another value of to")
    longest = arguments.number("step", step)
    if not 0 < longest <= 1:
        raise ArgumentError(f"continuation: step = {longest:.6g} must be positive and at most 1")
    if not arguments.is_integer(max_points) or max_points < 2:
        raise ArgumentError(
            f"continuation: max_points = {arguments.short(max_points)} must be an integer of 2 or more"
        )
    forward = np.zeros(len(arc.places))
    forward[-1] = np.sign(end - arc.begin)
    place = arc.place(start.v, forward)
    points, special = [start], list[tuple[str, float, Found]]()

    def found(v: Array) -> Found:
        return replace(start, v=v, residual=arc.residual(v))

    length = longest
    while len(points) < max_points:
        length, following = _beside(arc, place, *_step(arc, place, length, longest, along))
        last = _last(arc, place, following, length)
        if last is not None:
            length, following = last
        for kind, there in _special(arc, place, following, length):
            special.append((kind, float(there.v[arc.places[-1]]), found(there.v)))
        points.append(found(following.v))
        place = following
        if last is not None:
            break
        length = min(1.5 * length, longest)
    return along, points, special


def _step(arc: _Arc, place: _Place, length: float, longest: float, along: str) -> _Distant:
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


def _beside(arc: _Arc, place: _Place, length: float, following: _Place) -> _Distant:
    """A shorter step instead of one that ends exactly where an eigenvalue crosses the imaginary axis."""
    if _count_neutral(following.linear) > _count_neutral(place.linear):
        shorter = arc.at(place, _BESIDE * length)
        if shorter is not None and _count_neutral(shorter.linear) <= _count_neutral(place.linear):
            return _BESIDE * length, shorter
    return length, following


def _last(arc: _Arc, place: _Place, following: _Place, length: float) -> _Distant | None:
    """The end of the branch, if the step passes the last value of the parameter, or its first one again."""
    for limit in (arc.end, arc.begin):
        before, after = (p.v[arc.places[-1]] - limit for p in (place, following))
        if before and after * np.sign(before) <= 0:

            def excess(p: _Place, limit: float = limit) -> float:
                return float(p.v[arc.places[-1]] - limit)

            return _zero(arc, place, (0.0, length), excess)
    return None


def _special(arc: _Arc, place: _Place, following: _Place, length: float) -> list[tuple[str, _Place]]:
    """The special points between two points of the branch, each with its kind."""
    zeros = min(_count_zeros(p.linear) for p in (place, following))
    n = len(place.linear.states) - zeros

    def lowest(p: _Place) -> float:
        return float(np.poly(p.linear.A)[n].real) if n else 1.0

    def advance(p: _Place) -> float:
        return float(p.tangent[-1])

    found: list[tuple[str, _Distant]] = []
    if _changes(advance, place, following):
        found.append(("fold", _zero(arc, place, (0.0, length), advance)))
    elif _changes(lowest, place, following):
        there = _zero(arc, place, (0.0, length), lowest)
        if abs(lowest(there[1])) > max(abs(lowest(place)), abs(lowest(following))):
            raise _singular(arc, place)  # a pole: an eigenvalue passes through infinity
        found.append(("branch point", there))
    found += [("Hopf", there) for there in _crossings(arc, place, (0.0, place), (length, following))]
    found += [("Hamiltonian Hopf", there) for there in _partings(arc, place, following, length)]
    return [(kind, p) for kind, (_, p) in sorted(found, key=lambda pair: pair[1][0])]


def _changes(function: Callable[[_Place], float], first: _Place, second: _Place) -> bool:
    """Whether the sign changes; a zero counts as positive, so that one at a point of the branch is found once."""
    return (function(first) >= 0) != (function(second) >= 0)


def _count_zeros(linear: Linearization) -> int:
    return int((np.abs(linear.eigenvalues) <= _ZERO * size(linear.A)).sum())


def _count_neutral(linear: Linearization) -> int:
    return int((np.abs(linear.eigenvalues.real) <= _NEUTRAL * size(linear.A)).sum())


def _crossings(arc: _Arc, base: _Place, first: _Distant, last: _Distant) -> list[_Distant]:
    """Where complex pairs cross the imaginary axis, between two points at known distances from `base`.

    Pairs are told apart by the straight lines between their values at both ends. Where the search nevertheless comes
    to a jump from one pair to another, it goes on at either side of the jump, along shorter lines.
    """
    (begin, one), (end, other) = first, last
    before = one.linear.eigenvalues
    after = Family((one.linear, other.linear), {}, {}).eigenvalues[1]
    least = _ZERO * max(size(p.linear.A) for p in (one, other))
    found: list[_Distant] = []
    for i, (a, b) in enumerate(zip(before, after, strict=True)):
        is_neutral = min(abs(a.real), abs(b.real)) <= _NEUTRAL / _ZERO * least
        if is_neutral or min(a.imag, b.imag) <= least or a.real * b.real > 0:
            continue

        def followed(p: _Place, i: int = i) -> complex:
            share = (arc.distance(base, p) - begin) / (end - begin)
            return complex(matched(before + share * (after - before), p.linear.eigenvalues)[i])

        s, there = _zero(arc, base, (begin, end), lambda p: followed(p).real)
        value = followed(there)
        if abs(value.real) <= least and value.imag > least:
            found.append((s, there))
        elif end - begin > _SHORTEST and begin < s < end:
            return _crossings(arc, base, first, (s, there)) + _crossings(arc, base, (s, there), last)
    return found


def _partings(arc: _Arc, place: _Place, following: _Place, length: float) -> list[_Distant]:
    """Where two pairs on the imaginary axis meet and leave it to both sides."""
    pairs = [_count_pairs(p.linear) for p in (place, following)]
    (neutral, unstable), (later, after) = pairs
    if (neutral - later) * (after - unstable) < 2 or abs(neutral - later) < 2:
        return []
    between = (unstable + after) / 2.0
    s, there = _zero(arc, place, (0.0, length), lambda p: _count_pairs(p.linear)[1] - between)
    values = there.linear.eigenvalues[there.linear.eigenvalues.imag > 0]
    apart = np.abs(values[:, None] - values[None]) + np.diag(np.full(len(values), np.inf))
    return [(s, there)] if apart.min(initial=np.inf) <= _MEET * size(there.linear.A) else []


def _count_pairs(linear: Linearization) -> tuple[int, int]:
    """The numbers of complex pairs on the imaginary axis and on its right."""
    scale = size(linear.A)
    pairs = linear.eigenvalues[linear.eigenvalues.imag > _ZERO * scale].real
    return int((np.abs(pairs) <= NEUTRAL * scale).sum()), int((pairs > NEUTRAL * scale).sum())


def _zero(
    arc: _Arc, place: _Place, between: tuple[float, float], function: Callable[[_Place], float]
) -> _Distant:
    """Where a function changes its sign between two distances from `place`."""

    def point(s: float) -> _Place:
        found = arc.at(place, s) if s else place
        if found is None:
            raise _singular(arc, place)
        return found

    s = float(scipy.optimize.brentq(lambda s: function(point(s)), *between, xtol=1e-15, rtol=1e-14))
    return s, point(s)


def _singular(arc: _Arc, place: _Place) -> ArgumentError:
    """The error for a step across a singular point."""
    value = place.v[arc.places[-1]]
    return ArgumentError(
        f"continuation: the branch cannot be followed from {arc.along} = {value:.10g} to the next point: the "
        "equations are singular between them, or step is too long"
    )
