"""The equations of a model near a point: dy/dt = F(t, y, p, u), h(t, y, p) = 0, with their exact derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from chaplygin.errors import ArgumentError, KernelError

from ..interface.arguments import Array
from ..model.compiled_model import CompiledModel
from ..model.derivatives import derivatives
from ..problem import inputs as signals
from ..problem.consistency import share
from ..problem.quaternions import normalised
from .scaling import NOTHING, Mask, units_of_states

_PROBES = 4
"""Number of points near a state at which it is seen which derivatives vanish."""
_ZERO = 1e-12
"""A derivative of this size, relative to the largest of its row, is one of cancelled terms."""
_AT_KINK = 1e-9
"""A kink is where its argument is below this share of its terms."""
_OTHER_TIMES = 17
"""Number of times, before and after a point, at which it is seen what depends on the time."""
_CHANGES, _ROUNDING = 1e-9, 1e-13
"""A derivative changes if it does so by this share of itself, and of the largest of its row."""
_REPEATS, _DIGITS, _NOISE = 4, 1e-14, 10.0
"""Number and size of changes of the last digits that show which derivatives are rounding errors: those which change by
more than a tenth of themselves."""
_BETWEEN = 0.0, 0.11, 0.23, 0.36, 0.52, 0.67, 0.81, 0.94
"""Parts of a state at which it is seen what its size does."""
_GONE = 1e-3
"""A state of which a step to the rest leaves less than this share is off by itself; at the rest it is zero."""
_ASIDE, _JUMP = 1e-6, 1e-3
"""How far from a kink, in units of the states, its two sides are compared, and the relative difference of derivatives
that makes it one."""
_NEAR, _BESIDE, _STAYS, _SEEN = 1e-10, 1e-13, 0.1, 1e-10
"""At an output's kink the difference of its sides is there as near as this, in units of the states, and this close,
with more than this share of what it was further off, and of the values themselves."""

TURNING = (
    "A quaternion turns with the motion: use angles, of which those that go round are ignorable. Velocities that are "
    "rates of coordinates in space turn too: declare them in the body's frame, or compile the form 'maggi'"
)
"""Why a motion may be steady, but not in the variables of a model."""


class Field:
    """F, h and the outputs of a model as functions of v = (t, y, p, u), whose entries are `names`.

    h are the residuals that a state can violate, and the invariants of the coordinates, as |q|^2 of a quaternion.

    Attributes
    ----------
    names : the entries of v.
    dropped : in steady motions, the coordinates that can be left out, because no remaining row of F or h depends on
        them: those of which nothing depends, with their rows, then those that only these rows held, and so on.
    kept : the other states.
    held : the rows of the kernel `invariants` that are h.
    timed : whether F depends on the time, at some state.
    """

    def __init__(self, model: CompiledModel, v: Array, about: str) -> None:
        refuse(model)
        self.model = model
        self._found = derivatives(model)
        self.names = self._found.variables("rhs")
        self._n = len(model.states)
        self.held: list[int] = []
        probes = self._probes(v)
        moving = self._pattern("rhs", probes)
        constant = self._pattern("invariants", probes)
        self.timed = bool(moving[:, 0].any())
        self.held = [i for i, row in enumerate(constant) if self._is_held(i, row)]
        self.levels = self._levels(v)
        rests = about == "equilibrium"
        self.dropped = [] if rests else self._ignorable(moving, constant[self.held])
        self.kept = [i for i in range(self._n) if i not in self.dropped]
        self._shown = [i for i, row in enumerate(self._pattern("outputs", probes)) if self._is_steady(row)]
        self._rates = [i for i in self.dropped if self._is_steady(moving[i])]
        self.outputs = (
            *(f"der({model.states[i]})" for i in self._rates),
            *(model.outputs[i] for i in self._shown),
        )

    def motion(self, v: Array) -> tuple[Array, Array]:
        """F (k,) of the kept states and its derivatives (k, len(v))."""
        value, slopes = self._kernel("rhs", v)
        return value[self.kept], slopes[self.kept]

    def slopes(self, v: Array) -> Array:
        """The derivatives by v of the rates of all states, and of h."""
        return np.concatenate([self._kernel("rhs", v)[1], self.closure(v)[1]])

    def closure(self, v: Array) -> tuple[Array, Array]:
        """h and its derivatives by v."""
        value, slopes = self._kernel("invariants", v)
        return value[self.held] - self.levels, slopes[self.held]

    def equations(self, v: Array) -> tuple[Array, Array]:
        """F of the kept states, then h, and their derivatives by v."""
        motion, closure = self.motion(v), self.closure(v)
        return np.concatenate([motion[0], closure[0]]), np.concatenate([motion[1], closure[1]])

    def units(self, v: Array, sizes: Array) -> tuple[Array, Array]:
        """The units of all of v and of the equations near v, made of these and of `sizes` of v."""
        n = len(self.model.states)
        slopes = exact(self.slopes, v)
        kept = np.isin(np.arange(n), self.kept)
        units = np.abs(sizes)
        units[1 : 1 + n][~kept] = 0.0  # a motion is the same anywhere along them
        terms = np.abs(slopes[:n, 1:]) @ units[1:]
        coordinates = np.arange(n) < self.model.n_coordinates
        units[1 : 1 + n], rates, levels = units_of_states(
            slopes[:n, 1 : 1 + n], units[1 : 1 + n], terms, slopes[n:, 1 : 1 + n], kept, coordinates
        )
        rows = np.concatenate([rates[kept], levels])
        others = [0, *range(1 + n, len(v))]
        slopes = np.concatenate([slopes[:n][kept], slopes[n:]])
        moved = np.abs(slopes[:, others] / rows[:, None]).max(axis=0, initial=0.0)
        units[others] = 1.0 / np.where(moved > NOTHING, moved, 1.0)
        return units, rows

    def sizes(self, v: Array) -> tuple[Array, Array]:
        """How large v is, as far as that moves its equations, and the sums (k,) of the terms of the kept rates.

        A coordinate can have any value without a meaning for the motion, as an angle after many turns. So a state
        counts by what the equations change if it is anything between zero and its value, at most by its value times
        the derivative, and not at all if nothing depends on it.
        """
        here, slopes = self.equations(v)
        terms = np.abs(slopes * v)
        linear = terms.copy()
        for place in (1 + i for i in self.kept):
            if v[place] != 0:
                linear[:, place] = np.fmin(linear[:, place], self._reached(v, place, here))
        with np.errstate(all="ignore"):
            parts = np.where(slopes != 0, linear / terms, 0.0).max(axis=0, initial=0.0)
        sizes = np.abs(v)
        inside = slice(1, 1 + self._n)
        sizes[inside] *= np.fmin(parts[inside], 1.0)
        return sizes, linear[: len(self.kept), inside].sum(axis=1)

    def _reached(self, v: Array, place: int, here: Array) -> Array:
        """The largest changes of F and h from `here` if the state at a place of v is between zero and itself."""
        found = np.zeros(len(here))
        for part in _BETWEEN:
            near = v.copy()
            near[place] *= part
            try:
                there = self.equations(near)[0]
            except KernelError:
                continue
            found = np.fmax(found, np.where(np.isfinite(there), np.abs(there - here), np.inf))
        return found if found.any() else np.full(len(found), np.inf)

    def units_of_rest(self, v: Array, sizes: Array) -> tuple[Array, Array]:
        """Those at the rest that is next to v, by a step of Newton's method: v may be off by all that a state has.

        `sizes` are those of v. A coordinate to which nothing gives a unit has the largest one of the others, and so
        have velocities. States that the step makes larger keep their values: far from any rest, it can lead anywhere.
        """
        columns = [1 + i for i in self.kept]
        units, rows = self.units(v, sizes)
        values, slopes = self.equations(v)
        inverse = np.linalg.pinv(slopes[:, columns] * units[columns] / rows[:, None], rcond=_AT_KINK)
        rest = v.copy()
        rest[columns] -= units[columns] * (inverse @ (values / rows))
        left = np.fmax(_GONE * np.abs(v[columns]), _ZERO * units[columns])
        rest[columns] = np.where(np.abs(rest[columns]) > left, rest[columns], 0.0)
        rest = np.where(np.abs(rest) > np.abs(v), v, rest)
        try:
            units, rows = self.units(rest, self.sizes(rest)[0])
        except (KernelError, np.linalg.LinAlgError):
            return units, rows
        kept = np.array(self.kept, dtype=np.int64)
        coordinates = kept < self.model.n_coordinates
        for kind in map(np.flatnonzero, (coordinates, ~coordinates)):
            places = 1 + kept[kind]
            known = units[places] != 1.0
            change = np.where(known, 1.0, units[places][known].max(initial=0.0) or 1.0)
            units[places] *= change
            rows[kind] *= change
        return units, rows

    def at_other_times(self, v: Array) -> Iterator[Array]:
        """v at times whose distances from its own are spread over the scales of the equations, far to both sides."""
        rates = np.abs(self.motion(v)[1][:, [1 + i for i in self.kept]])
        fastest = float(
            np.sqrt(np.abs(rates @ rates).max(initial=0.0))
        )  # in 1 / time, whatever the units of states
        scale = 1.0 / fastest if fastest > 0 else 1.0 + abs(float(v[0]))
        for i in range(_OTHER_TIMES):
            for way in (1.0, -1.0):
                yield np.concatenate([[v[0] + way * 0.037 * scale * 2.3**i], v[1:]])

    def changing(self, v: Array) -> str | None:
        """The name of a kept state whose rate has derivatives by the states that depend on the time; None: nothing."""
        columns = [1 + i for i in self.kept]
        here = self.motion(v)[1][:, columns]
        for other in self.at_other_times(v):
            try:
                there = self.motion(other)[1][:, columns]
            except KernelError:
                continue
            sizes = np.abs(here) + np.abs(there)
            limit = np.fmax(_CHANGES * sizes, _ROUNDING * sizes.max(axis=1, keepdims=True, initial=0.0))
            rows = np.flatnonzero((np.abs(there - here) > limit).any(axis=1))
            if len(rows):
                return self.model.states[self.kept[int(rows[0])]]
        return None

    def kink(self, v: Array, units: Array, rows: Array) -> str | None:
        """The name of a kink at v where F or its derivatives differ on the two sides; None without such a kink.

        `units` are those of v, `rows` those of the rates.
        """
        model, rows = self.model, rows[: len(self.kept)]
        values, slopes = self._kernel("guards", v)
        used = np.r_[1 : 1 + self._n, len(v) - len(model.inputs) : len(v)]
        for i, name in enumerate(model.kinks, len(model.events)):
            sizes = np.abs(slopes[i])
            across = np.where(np.arange(len(v)) <= self._n, slopes[i], 0.0)
            across[0] = 0.0
            if share(values[i], sizes @ np.abs(v), sizes @ units) > _AT_KINK or not across.any():
                continue
            across = across * units
            aside = _ASIDE * units * across / np.linalg.norm(across)
            (f, one), (g, other) = self.motion(v + aside), self.motion(v - aside)
            jump = np.abs((f - g - (one + other) @ aside) / rows).max()
            one, other = (part[:, used] * units[used] / rows[:, None] for part in (one, other))
            size = np.abs(one).max() + np.abs(other).max()
            if np.abs(one - other).max() > _JUMP * size or jump > _JUMP * (size + 1.0) * _ASIDE:
                return str(name)
        return None

    def kink_of_output(self, v: Array, units: Array) -> str | None:
        """The name of an output that differs on two sides of v, or whose derivatives do, however close they are."""
        movable = np.r_[1 : 1 + self._n, len(v) - len(self.model.inputs) : len(v)]
        way = np.zeros(len(v))
        way[movable] = np.random.default_rng(0).uniform(0.5, 1.0, len(movable)) * units[movable]
        found = []
        for distance in (_NEAR, _BESIDE):
            (f, one), (g, other) = (
                self._kernel("outputs", near) for near in (v + distance * way, v - distance * way)
            )
            one, other = one[:, movable] * units[movable], other[:, movable] * units[movable]
            turns = np.abs(one - other).max(axis=1, initial=0.0)
            found.append(
                (
                    np.abs(f - g),
                    turns,
                    np.abs(f) + np.abs(g),
                    (np.abs(one) + np.abs(other)).max(axis=1, initial=0.0),
                )
            )
        (far, wide, _, _), (near, turns, values, slopes) = found
        jumps = (near > _STAYS * far) & (near > _SEEN * values)
        kinks = (turns > _STAYS * wide) & (turns > _SEEN * slopes + _ROUNDING * slopes.max(initial=0.0))
        for name, row in zip(self.outputs[len(self._rates) :], self._shown):
            if jumps[row] or kinks[row]:
                return str(name)
        return None

    def conserved(self, v: Array) -> tuple[Array, Array]:
        """The invariants and h, and their derivatives by v."""
        value, slopes = self._kernel("invariants", v)
        rows = [
            i
            for i, name in enumerate(self.model._conserved)
            if name in self.model.invariants or i in self.held
        ]
        return value[rows], slopes[rows]

    def observed(self, v: Array) -> Array:
        """The derivatives of the rates of dropped coordinates, and of the outputs, by v."""
        rates, shown = self._kernel("rhs", v)[1], self._kernel("outputs", v)[1]
        return np.concatenate([rates[self._rates], shown[self._shown]])

    def _kernel(self, name: str, v: Array) -> tuple[Array, Array]:
        if name not in self.model.kernels:
            return np.empty(0), np.empty((0, len(v)))
        return self._found.value_and_jacobian(name, v)

    def _probes(self, v: Array) -> list[Array]:
        """Points near v in general position, at which the equations are regular."""
        random, found = np.random.default_rng(0), list[Array]()
        movable = np.arange(len(v)) <= self._n
        movable[len(v) - len(self.model.inputs) :] = True
        for _ in range(10 * _PROBES):
            near = np.where(movable, v + random.uniform(-0.2, 0.2, len(v)) * (1.0 + np.abs(v)), v)
            try:
                if np.isfinite(self._kernel("rhs", near)[1]).all():
                    found.append(near)
            except KernelError:
                continue
            if len(found) == _PROBES:
                break
        return found or [v]

    def _pattern(self, kernel: str, probes: Sequence[Array]) -> Mask:
        """Which results of a kernel depend on which entries of v.

        Those are small derivatives, too, whose units make them so: what is more than a rounding error at every probe.
        """

        def slopes(v: Array) -> Array:
            return self._kernel(kernel, v)[1]

        sizes = [np.abs(slopes(near)) for near in probes]
        large = np.any([s > _ZERO * s.max(axis=1, keepdims=True, initial=0.0) for s in sizes], axis=0)
        return np.asarray(large | np.all([exact(slopes, near) != 0.0 for near in probes], axis=0))

    def _is_held(self, i: int, row: Mask) -> bool:
        model = self.model
        name = model._conserved[i]
        if name in model.residuals:
            return name in model.checked_at_start
        n = model.n_coordinates
        return bool(row[1 : 1 + n].any()) and not row[0] and not row[1 + n : 1 + self._n].any()

    def _levels(self, v: Array) -> Array:
        """Zero, or the value of an invariant that can have any: at v, with quaternions of length 1."""
        model, near = self.model, v.copy()
        if model._quaternions:
            names = model.states
            unit = normalised(model, dict(zip(names, v[1 : 1 + self._n].tolist())))
            near[1 : 1 + self._n] = [unit[name] for name in names]
        value, _ = self._kernel("invariants", near)
        free = [name not in model.checked_at_start for name in model._conserved]
        return np.where(free, value, 0.0)[self.held]

    def _is_steady(self, row: Mask) -> bool:
        """Whether something depends neither on a dropped coordinate nor on the time."""
        return not row[0] and not row[[1 + i for i in self.dropped]].any()

    def _ignorable(self, moving: Mask, constant: Mask) -> list[int]:
        dropped: list[int] = []
        while True:
            rows = [i for i in range(self._n) if i not in dropped]
            needed: Mask = np.asarray(np.any(np.concatenate([moving[rows], constant]), axis=0))
            more = [i for i in range(self.model.n_coordinates) if i not in dropped and not needed[1 + i]]
            if not more:
                return sorted(dropped)
            dropped += more


def exact(derivatives: Callable[[Array], Array], v: Array) -> Array:
    """Derivatives at v without those that are only rounding errors: the last digits of v change them altogether.

    What is left can be compared in any units, however small it is.
    """
    found, random = derivatives(v), np.random.default_rng(0)
    noise = np.zeros(found.shape)
    for _ in range(_REPEATS):
        near = v * (1.0 + random.uniform(-_DIGITS, _DIGITS, len(v)))
        noise = np.fmax(noise, np.abs(derivatives(near) - found))
    return np.where(np.abs(found) > _NOISE * noise, found, 0.0)


def refuse(model: Any) -> None:
    """Reject models without equilibria in this sense: with dry friction, or without the time."""
    if model.along is not None:
        raise ArgumentError(
            f"{model.name} has {model.along} as its independent variable; equilibria and steady motions need the time: "
            "use another form"
        )
    if model.modes:
        raise ArgumentError(
            f"{model.name} has contacts with dry friction ({', '.join(model.contacts)}): its equations have no "
            "derivative where they stick; linearize a System without them"
        )


def point(model: Any, t: float, y: Array, p: Array, controls: signals.Inputs) -> Array:
    """v = (t, y, p, u) with constant inputs."""
    for i in (*controls.signals, *controls.functions):
        raise ArgumentError(f"inputs: {controls.names[i]} is a function of time; a number is needed")
    return np.concatenate([[t], y, p, controls.values])


def named(names: Sequence[str], values: Any) -> dict[str, float]:
    """Numbers by name."""
    return dict(zip(names, map(float, values), strict=True))
