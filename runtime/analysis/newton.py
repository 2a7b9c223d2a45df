"""Newton's method for equilibria and steady motions: the equations, where it starts, and its result as data."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from chaplygin._lazy import later
from chaplygin.errors import ArgumentError, KernelError

from ..interface import arguments, assumptions
from ..interface.arguments import Array
from ..model.compiled_model import CompiledModel
from ..problem.consistency import share
from ..problem.continued import Continued, continued
from ..problem.given_inputs import parse
from .field import TURNING, Field, exact, point
from .linearization import FLOQUET, Linearization, linearized
from .scaling import WEAK

scipy = later("scipy")

_STEPS = 100
_DIFFERENCE = 1e-6
"""Of units of coordinates: how far differences go."""
_HALVINGS = 12
_CLOSE = 1e-11
"""Size of the last step but one, in units of the problem: the last one doubles the number of digits."""
_OFF = 1e-9
"""Relative size of a residual that is not zero."""
_ROUNDING = 1e-13
"""Share of its unit at the guess below which a state is a rounding error."""
_LONGEST = 0.3
"""The longest step on the constraints, in units of the problem,"""
_SHORTEST = 1e-3
"""and the one at which the way down has ended."""
_SINGULAR = 1e-9
"""Singular values below this share of the largest belong to directions that the equations leave open."""


class NotConverged(ArgumentError):
    """Newton's method has ended where no step helps."""


class NewtonProblem:
    """The equations F = 0, h = 0 of a model, and their unknowns.

    Attributes
    ----------
    unknowns, places : the names of the unknowns and their places in v.
    """

    def __init__(
        self, field: Field, what: str, keep: Sequence[str], free: Sequence[str], guess: Array
    ) -> None:
        model = field.model
        self.field, self.what, self.guess = field, what, guess
        self.unknowns = (*(n for n in (model.states[i] for i in field.kept) if n not in keep), *free)
        self.places = [field.names.index(name) for name in self.unknowns]
        rows = [f"d({model.states[i]})/dt" for i in field.kept]
        self.rows = (*rows, *(model._conserved[i] for i in field.held))

    def at(self, v: Array) -> tuple[Array, Array]:
        """The residuals, and their derivatives by all of v.

        Where velocities that are states stop determining the others, these become infinitely fast and heavy, and the
        rates of the first ones zero although nothing is at rest. So rates count by how fast coordinates become.
        """
        values, slopes = self.field.equations(v)
        coordinates, velocities = self.field.model.n_coordinates, len(self.field.kept)
        if self.field.dropped or not 0 < velocities - coordinates < coordinates:
            return values, slopes
        rows, speeds = slice(coordinates, velocities), self._speeds(v)
        by_state = np.zeros((velocities - coordinates, len(v)))
        for j in range(1, 1 + coordinates):
            h = _DIFFERENCE * max(abs(v[j]), self._units[j])
            ahead, behind = v.copy(), v.copy()
            ahead[j] += h
            behind[j] -= h
            by_state[:, j] = (self._speeds(ahead) - self._speeds(behind)) / (2.0 * h)
        slopes[rows] = slopes[rows] * speeds[:, None] + values[rows, None] * by_state
        values[rows] *= speeds
        return values, slopes

    def _speeds(self, v: Array) -> Array:
        """How fast coordinates become with each velocity, all of which are kept."""
        n = self.field.model.n_coordinates
        units = self._units[1 : 1 + len(self.field.kept)]
        moved = self.field.motion(v)[1][:n, 1 + n : 1 + len(units)] * units[n:] / units[:n, None]
        return np.asarray(np.linalg.norm(moved, axis=0) / np.linalg.norm(units[n:, None] / units[:n], axis=1))

    @cached_property
    def _units(self) -> Array:
        """Those of all of v at the guess."""
        return self.field.units(self.guess, self.guess)[0]

    def scales(self, v: Array) -> tuple[Array, Array]:
        """The units of all of v and of the equations near v.

        They are made of the equations, of v and of the guess, so that they follow the units of length, mass and time.
        """
        large = self.cleared(v)
        return self.field.units(large, np.fmax(np.abs(large), np.abs(self.guess)))

    def cleared(self, v: Array) -> Array:
        """v without what is left of states that should be zero, whose units it would decide."""
        return np.where(np.abs(v) > self._rounding, v, 0.0)

    @cached_property
    def _rounding(self) -> Array:
        """Sizes of v below which states are rounding errors."""
        states = np.isin(np.arange(len(self.guess)), [1 + i for i in self.field.kept])
        return np.where(states, _ROUNDING * self._units, 0.0)

    def inverse(self, slopes: Array, v: Array) -> tuple[Array, Array]:
        """The pseudo-inverse of the equations' matrix, in units of the problem, and the units of the unknowns."""
        units, rows = self.scales(v)
        units = units[self.places]
        matrix = slopes[:, self.places] * units / rows[:, None]
        sizes = np.linalg.norm(matrix, axis=1)
        sizes = np.fmax(sizes, WEAK * sizes.max(initial=0.0))  # identities are only rounding errors
        sizes = np.where(sizes > 0, sizes, 1.0)
        found = np.linalg.pinv(matrix / sizes[:, None], rcond=_SINGULAR)
        return units[:, None] * found / (rows * sizes), units

    def solve(self, v: Array) -> Array:
        """Newton's method from v. If that fails, on the constraints, from where they hold near v, and from below there.

        Raises `ArgumentError` with the residual at which the first way ended if none converges.
        """
        try:
            return self._newton(v, on_constraints=False)
        except NotConverged:
            if len(self.rows) > len(self.field.kept):
                for moved in (self._closed, self._below):
                    with suppress(NotConverged, KernelError):
                        v = moved(v)
                        return self._newton(v, on_constraints=True)
            raise

    def _below(self, v: Array) -> Array:
        """v moved along its accelerations from rest until they turn back: towards less potential energy.

        Newton's method does not leave places on the constraints where the accelerations are least, but not zero. With
        states held, it does not search this way.
        """
        n, kept = self.field.model.n_coordinates, len(self.field.kept)
        if not {*range(1, 1 + len(self.field.model.states))} <= {*self.places}:  # some are held or left out
            return v
        v, units, length = v.copy(), self._units[1 : 1 + n], _LONGEST
        v[1 + n : 1 + kept] = 0.0

        def downward(near: Array) -> Array:
            values, slopes = self.field.motion(near)
            return np.asarray(slopes[:n, 1 + n : 1 + kept] @ values[n:kept] / units)

        way = downward(v)
        for _ in range(_STEPS):
            size = np.abs(way).max(initial=0.0)
            if length < _SHORTEST or not size > 0.0:
                return v
            near = v.copy()
            near[1 : 1 + n] += length * units * way / size
            try:
                near = self._closed(near)
                ahead = downward(near)
            except (NotConverged, KernelError):
                ahead = -way
            if ahead @ way > 0.0:
                v, way = near, ahead
            else:
                length /= 2.0
        return v

    def _newton(self, v: Array, on_constraints: bool) -> Array:
        places = self.places
        for _ in range(_STEPS):
            values, slopes = self._checked(v)
            inverse, units = self.inverse(slopes, v)
            step = -inverse @ values
            size = np.abs(step / units).max(initial=0.0)
            if size <= _CLOSE:
                v = v.copy()
                v[places] += step
                self._check_residual(v)
                return self.cleared(v)
            if on_constraints and size > _LONGEST:
                step *= _LONGEST / size
            v = self._moved(v, step, inverse, units)
            v = self._closed(v) if on_constraints else v
        raise self._failed(v, f"after {_STEPS} steps")

    def _closed(self, v: Array) -> Array:
        """v moved to where h = 0 by the shortest steps, each halved until h is smaller."""
        first = len(self.field.kept)

        def left(values: Array) -> float:
            return float(np.linalg.norm(values[first:] / rows))

        units, rows = self.scales(v)
        units, rows = units[self.places], rows[first:]
        values, slopes = self.at(v)
        for _ in range(_STEPS):
            matrix = slopes[first:, self.places] * units / rows[:, None]
            step = -units * (np.linalg.pinv(matrix, rcond=_SINGULAR) @ (values[first:] / rows))
            if np.abs(step / units).max(initial=0.0) <= _CLOSE:
                return v
            for halvings in range(_HALVINGS):
                near: Array = v.copy()
                near[self.places] += step / 2**halvings
                try:
                    after, found = self.at(near)
                except KernelError:
                    continue
                if left(after) < left(values):
                    break
            else:
                break
            v, values, slopes = near, after, found
        raise self._failed(v, "where the constraints do not hold")

    def _moved(self, v: Array, step: Array, inverse: Array, units: Array) -> Array:
        """v after a step that is halved until the next one of the same matrix would be shorter."""
        size, part, last = float(np.linalg.norm(step / units)), 1.0, v
        for _ in range(_HALVINGS):
            near: Array = v.copy()
            near[self.places] += part * step
            try:
                after, last = float(np.linalg.norm(inverse @ self.at(near)[0] / units)), near
            except KernelError:  # singular equations have no residual to tell of
                after = np.inf
            if after <= (1.0 - part / 4.0) * size:
                return near
            part /= 2.0
        self._check_residual(last)
        raise self._failed(last, "where no shorter step helps")

    def _checked(self, v: Array) -> tuple[Array, Array]:
        values, slopes = self.at(v)
        if not (np.isfinite(values).all() and np.isfinite(slopes).all()):
            raise ArgumentError(f"{self.what}: the equations are not finite at the guess")
        return values, slopes

    def ratios(self, v: Array, rows: Array) -> tuple[Array, Array]:
        """The residuals, and their ratios to the terms of the equations, whose units are `rows`."""
        values, slopes = self.at(v)
        return values, share(values, np.abs(slopes[:, 1:]) @ np.abs(v[1:]), rows)

    def _check_residual(self, v: Array) -> None:
        _, off = self.ratios(v, self.scales(v)[1])
        if off.max(initial=0.0) > _OFF:
            raise self._failed(v, "where no step makes them smaller")

    def _failed(self, v: Array, where: str) -> NotConverged:
        values, off = self.ratios(v, self.scales(v)[1])
        largest, *others = np.argsort(-off)[:3]
        worst = [largest, *(i for i in others if off[i] > _OFF)]
        left = ", ".join(f"{self.rows[i]} = {values[i]:.6g}" for i in worst)
        states = self.field.model.states
        kept = [states[i] for i in self.field.kept if states[i] not in self.unknowns]
        held = f", with {', '.join(kept)} held" if kept else ""
        advice = ", hold less in keep, or solve for more in free" if kept else ""
        if self.what == "steady_motion":
            advice += f". {TURNING}"
        return NotConverged(
            f"{self.what}: Newton's method did not converge: {where} the residual is {left}{held}; "
            f"start nearer{advice}"
        )

    def refuse_family(self, v: Array) -> None:
        """Reject solutions that are not isolated: name the directions that the equations leave open."""
        open_, units = self.open_directions(v)
        if not len(open_):
            return

        _, upper, order = scipy.linalg.qr(open_, pivoting=True)
        count = len(open_)
        # One direction for each pivot, in which the other pivots do not change.
        directions = np.linalg.solve(upper[:, :count], upper)[:, np.argsort(order)] * units
        told = []
        for direction, pivot in zip(directions, order[:count], strict=True):
            direction = direction / direction[pivot]
            others = [
                f"{name} by {d:.6g}"
                for i, (name, d) in enumerate(zip(self.unknowns, direction, strict=True))
                if i != pivot and abs(d) > 1e-7
            ]
            told.append(self.unknowns[pivot] + (f" (with {', '.join(others)} for 1)" if others else ""))
        names = ", ".join(repr(self.unknowns[i]) for i in order[:count])
        raise ArgumentError(
            f"{self.what}: the solution is not isolated; to first order it is free along {'; '.join(told)}: "
            f"hold what belongs to the motion you want, keep=[..., {names}], or give free ones a condition. (At a "
            "bifurcation a single point is singular: go there by continuation)"
        )

    def open_directions(self, v: Array) -> tuple[Array, Array]:
        """Directions (k, unknowns) along which the equations do not change, and the units of the unknowns in them.

        Entries that are only rounding errors are zero before rows are given size 1, which would magnify them.
        """
        units, rows = self.scales(v)
        units = units[self.places]
        matrix = exact(lambda near: self.at(near)[1][:, self.places], v) * units / rows[:, None]
        if not matrix.size:
            return np.eye(len(units)), units
        sizes = np.linalg.norm(matrix, axis=1, keepdims=True)
        _, sizes, found = np.linalg.svd(matrix / np.where(sizes > 0, sizes, 1.0))
        rank = int((sizes > _SINGULAR * sizes.max(initial=0.0)).sum())
        return np.asarray(found[rank:]), units


def _start(model: CompiledModel, t: float, guess: Any, parameters: Any, inputs: Any) -> Array:
    """v = (t, y, p, u) of a guess, in which velocities and inputs that are not given count as zero."""
    guess, parameters, inputs = continued(model, guess, parameters, inputs)
    given = arguments.named("guess", {} if guess is None else guess)
    if given is not None:
        names = model.declared if model.has_initial and set(given) != set(model.states) else model.states
        guess = {**{n: 0.0 for n in names if model.variables[n].kind != "coordinate"}, **given}
        missing = [n for n in names if n not in guess]
        if missing:
            raise ArgumentError(f"guess: missing {', '.join(missing)}")
    controls = parse(inputs, model.inputs, flags=model._input_flags)
    return point(model, t, *model._states(t, guess, parameters, controls, None), controls)


def _names(kind: str, given: Any, known: Sequence[str]) -> tuple[str, ...]:
    """The names in a list, checked."""
    if isinstance(given, str):
        raise ArgumentError(f"{kind} = {arguments.short(given)}: give a list of names")
    names = arguments.plain_names(kind, given)
    for i, name in enumerate(names):
        if name not in known:
            raise arguments.unknown_entry(kind, [name], known)
        if name in names[:i]:
            raise ArgumentError(f"{kind}: {name} is given twice")
    return names


def _check_autonomous(problem: NewtonProblem, v: Array) -> None:
    """Reject equations that change with the time: in the state itself, or in their derivatives by the state."""
    rows = problem.scales(v)[1]
    for other in problem.field.at_other_times(v):
        try:
            _, off = problem.ratios(other, rows)
        except KernelError:
            continue
        moved = np.flatnonzero(off > _OFF)
        if len(moved):
            raise ArgumentError(
                f"{problem.what}: {', '.join(problem.rows[i] for i in moved)} depends on the time, so the state rests "
                "for a moment only; take the time out of the equations, by coordinates in which the drive is steady "
                "or an input in its place"
            )
    changing = problem.field.changing(v)
    if changing is not None:
        raise ArgumentError(
            f"{problem.what}: the state rests, but near it d({changing})/dt depends on the time, so the eigenvalues of "
            f"a moment do not decide on its stability. {FLOQUET}"
        )


def _check_assumed(model: CompiledModel, kind: str, v: Array, names: Sequence[str]) -> None:
    """Reject values that violate the assumptions of their symbols."""
    known = (*model.states, *model.parameters, *model.inputs)
    rows = [v[1 + known.index(n)] for n in names]
    assumptions.check_rows(kind, names, [model.variables[n].flags for n in names], rows)


@dataclass(frozen=True, eq=False)
class Rest(Continued):
    """v = (t, y, p, u), at which a model rests or moves steadily, and how it was found; see `SteadyState`."""

    model: CompiledModel
    about: str
    t: float
    v: Array
    unknowns: tuple[str, ...]
    keep: tuple[str, ...]
    free: tuple[str, ...]
    residual: float

    def _leaves(self) -> tuple[Array, Array, Any]:
        n, k = len(self.model.states), len(self.model.parameters)
        y, p, u = np.split(self.v[1:], [n, n + k])
        return y, p, u

    @cached_property
    def linearization(self) -> Linearization:
        """The linear equations near it."""
        return linearized(self.model, self.v, self.about)
