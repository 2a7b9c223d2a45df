"""Periodic motions, by Newton's method on y(T; y0) - y0, and their Floquet multipliers.

The equations for the start y0 and the period T are: y(T) = y0, up to the turns of angles; a step at right angles to the
flow (no step in time of itself); the constraints. Integrals and symmetries make some of them repeat others, so each
step is the shortest that solves them.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array
from ..model.compiled_model import CompiledModel
from ..model.derivatives import derivatives
from ..problem.consistency import Accepted
from ..problem.continued import Continued
from ..problem.options import RunOptions
from ..results.solution import Solution
from .field import named, refuse
from .tangents import Tangents, null_space, said_of

Complex = NDArray[np.complex128]

_STEPS = 50
_HALVINGS = 10
_SINGULAR = 1e-7
"""Singular values below this share of the largest belong to repeated equations."""
_CLOSE = 1e-13
_CLOSED = 1e-9
"""Gaps, in parts of how far each state moves along the motion: below the first one there is nothing left to gain, and
what does not come below the second one does not close."""
_LONGEST, _STRETCH = 1.0, 0.3
"""The longest step of a state, in the same units, and of the period, in parts of it."""
_SAMPLES = 400
"""Times in a period at which a motion is examined."""
_WINDOW = 0.4
"""A return to the start is looked for at times that differ from the guess of the period by up to this share."""
_STILL = 1e-6
"""A motion of this size, in parts of that of the guess, is a rest."""
_MOVES = 1e-9
"""A state that changes by less than this share of its value, or of what the values of the others could make of it in a
period, does not move, but for rounding errors."""
_ROUNDING = 1e-15
"""A gap of this share of them is a rounding error, however little the states move."""
_SHRUNK = 0.1
"""Below this size another motion is looked for, of the size of the guess: linear equations have motions of any size."""
_COLLAPSED = 0.01
"""A period below this share of the guess has shrunk towards zero, where y(T) = y(0) holds for any state."""
_REPEATS = 1e-6
"""Equations repeat themselves if they differ by less than this, relative to the largest rate, a period later."""
_PHASES = (0.0, 0.13, 0.37, 0.59, 0.83)
"""Parts of a period at which it is seen what the equations depend on."""
_CHECKS, _BESIDE = 100, 0.3819660112501051
"""Number of times in a period at which it is seen whether the equations repeat themselves after it; they are beside
simple parts of it, at which a square wave jumps."""
_BESIDE_EVENT = 0.02
"""A start is at an event if one is closer than this share of the period."""
_VANISHES = 1e-12
"""A derivative of this share of the largest is zero."""
_SPANS = 1e-6
"""A direction whose part along the gradients of the integrals is larger than this leaves their levels."""


@dataclass(frozen=True, eq=False)
class PeriodicOrbit(Continued):
    """A periodic motion; see `Model.periodic`.

    Attributes
    ----------
    state, period : the start by name, and T.
    multipliers : the Floquet multipliers that say whether it is stable, the largest first: eigenvalues of dy(T)/dy0 on
        the levels of the integrals and constraints, without the directions along the flow and of symmetries.
    n_ones : how many further multipliers are exactly 1, one for each integral, symmetry and the direction of the flow.
    monodromy (n, n) : dy(T)/dy0 of the states named in `states`.
    residual : the largest |y(T) - y0| that is left.
    differences : the inputs that are functions of the state, whose derivatives by it are differences.
    """

    model: CompiledModel
    t: float
    y: Array
    period: float
    states: tuple[str, ...]
    monodromy: Array
    multipliers: Complex
    n_ones: int
    residual: float
    parameters: Array
    inputs: Any
    keywords: dict[str, Any]
    differences: tuple[str, ...] = ()

    def _leaves(self) -> tuple[Array, Array, Any]:
        return self.y, self.parameters, self.inputs

    @cached_property
    def state(self) -> dict[str, float]:
        """The start, by name."""
        return named(self.model.states, self.y)

    @property
    def stable(self) -> bool:
        """Whether no multiplier is outside the unit circle, up to 1e-6."""
        return bool((np.abs(self.multipliers) <= 1 + 1e-6).all())

    @property
    def exponents(self) -> Complex:
        """log(multiplier) / T: the characteristic exponents."""
        with np.errstate(divide="ignore"):  # an event may take directions away
            return np.asarray(np.log(self.multipliers) / self.period)

    def solution(self, n: int = 200) -> Solution:
        """One period of the motion at n + 1 times."""
        times = self.t + np.linspace(0, self.period, n + 1)
        return self.model.integrate(
            (times[0], times[-1]), self.y, self.parameters, self.inputs, t_eval=times, **self.keywords
        )

    def __repr__(self) -> str:
        kind = "stable" if self.stable else "unstable"
        largest = f"; largest |multiplier| {abs(self.multipliers[0]):.6g}" if len(self.multipliers) else ""
        by = said_of(self.differences)
        return f"<periodic motion of {self.model.name}: T = {self.period:.6g}; {kind}{largest}{by}>"


def periodic_orbit(
    model: CompiledModel,
    initial: Any,
    period: float,
    parameters: Any,
    inputs: Any,
    t: float,
    keep: Sequence[Any] | None,
    turns: Mapping[Any, float],
    drift: Sequence[Any],
    how: RunOptions,
) -> PeriodicOrbit:
    """See `Model.periodic`."""
    refuse(model)
    t, period = arguments.number("t", t), arguments.positive_number("period", period)
    tangents = Tangents(model, t, initial, parameters, inputs, how)
    search = _Search(tangents, t, period, keep, turns, drift)
    later = search.into_flight(period)
    if later:
        t, tangents.y = t + later, search.path(tangents.y, later)[1][:, -1]
        search = _Search(tangents, t, period, keep, turns, drift)
    begin = search.nearest_return(period)
    y, found, moved = search.solve(tangents.y, begin)
    if search.rests(y, found, _SHRUNK) and not search.rests(tangents.y, period):
        search.hold_size()
        held = search.solve(tangents.y, begin)
        if search.closes(held[0], held[2]):
            y, found, moved = held
    if found < _COLLAPSED * period:
        raise ArgumentError(
            f"no periodic motion of {model.name} was found near the guess: the period shrank from {period:g} to "
            f"{found:.3g}; give a closer state and period, and by turns={{...}} angles that go round"
        )
    period = found
    search.check_drive(y, period)
    if search.rests(y, period):
        raise ArgumentError(
            f"what was found near the guess is an equilibrium of {model.name}, not a periodic motion: give a state "
            "farther from it; model.equilibrium and model.linearize are for equilibria"
        )
    search.check_closed(y, period, moved)
    closed = [i for i in range(len(y)) if i not in search.drifting]
    monodromy = moved[1][np.ix_(closed, closed)]
    multipliers, ones = search.multipliers(y, monodromy, closed)
    return PeriodicOrbit(
        model, t, y, period, tuple(model.states[i] for i in closed), monodromy, multipliers, ones,
        float(np.abs(search.gap(y, moved[0])).max()), tangents.p, tangents.inputs, {**vars(tangents.how)},
        tangents.differences,
    )  # fmt: skip


class _Search:
    """The equations of a periodic motion, in units of how far each state moves along the guess, `sizes`."""

    def __init__(
        self,
        tangents: Tangents,
        t: float,
        period: float,
        keep: Sequence[Any] | None,
        turns: Mapping[Any, float],
        drift: Sequence[Any],
    ) -> None:
        model = tangents.model
        self.tangents, self.t, self.states = tangents, t, model.states
        self.flow = tangents.flow(len(tangents.y), control=True)
        self.guess = self.path(tangents.y, 1.5 * period)
        self.sizes, self.moving = self._sizes(period)
        slopes = self._slopes(period)
        self.driven = self._is_driven(period)
        self.held_states: list[int] = []
        ignorable = [i for i in range(model.n_coordinates) if not slopes[1 + i]]
        self.drifting = [self._place("drift", name) for name in arguments.plain_names("drift", drift)]
        for i in self.drifting:
            if i not in ignorable:
                raise ArgumentError(
                    f"drift: {self.states[i]} must come back, since the equations depend on it; for an angle that "
                    "goes round give turns={...}"
                )
        self.symmetric = [i for i in ignorable if i not in self.drifting]
        self.shift = np.zeros(len(tangents.y))
        given = arguments.named("turns", turns)
        if given is None:
            raise ArgumentError(f"turns = {arguments.short(turns)}: give a dict of coordinate: angle")
        for name, amount in given.items():
            self.shift[self._place("turns", name)] = arguments.number(f"turns of {name}", amount)

        if keep is None:
            keep = [n for n in ("energy",) if n in model.invariants and not self.driven]
        self.keep = arguments.plain_names("keep", keep)
        arguments.check_known("keep", self.keep, (*self.states, *model.invariants))
        self.levels = self._kept(tangents.y)[0]
        rows = np.concatenate([tangents.held(t, tangents.y)[1], self._kept(tangents.y)[1]])
        weights = np.linalg.norm(rows * self.sizes, axis=1)
        self.weights = np.where(weights > 0, weights, 1.0)

    def _is_driven(self, period: float) -> bool:
        """Whether the time is in the equations, or in an input."""
        of, (times, states) = self.tangents, self.guess
        if derivatives(of.model).timed(of.p):
            return True
        few = np.linspace(0, len(times) - 1, len(_PHASES)).astype(int)
        return of.driven(self.t + times[few], states[:, few])

    def into_flight(self, period: float) -> float:
        """How much later the search has to begin: 0, or to the middle of a flight if the guess begins at an event.

        What comes back to an event has not yet come back a moment before.
        """
        of = self.tangents
        if not of.model._resets:
            return 0.0
        back = self.nearest_return(period)
        span = (self.t, self.t + 1.5 * period)
        run = of.model.integrate(span, Accepted(of.y), of.p, of.inputs, **vars(of.how))
        found = run.t_events or []
        times = np.sort(np.concatenate([found[i] for i in of.model._resets])) - self.t
        close = np.abs(times[:, None] - [0.0, back, period]) < _BESIDE_EVENT * period
        if not close.any():
            return 0.0
        ends = np.concatenate([[0.0], times[times < (1 + _BESIDE_EVENT) * max(back, period)]])
        longest = int(np.argmax(np.diff(ends)))
        return float(ends[longest : longest + 2].mean())

    def path(self, y: Array, span: float) -> tuple[Array, Array]:
        """Times (N,) and states (n, N) from y on, as far as the run goes."""
        of, times = self.tangents, np.linspace(0.0, span, _SAMPLES)
        run = of.model.integrate(
            (self.t, self.t + span), Accepted(y), of.p, of.inputs, t_eval=self.t + times, **vars(of.how)
        )
        count = run.y.shape[1]
        return times[:count], run.y

    def _sizes(self, period: float) -> tuple[Array, NDArray[np.bool_]]:
        """How far each state moves in a period of the guess, and whether it does.

        A state that does not gets the size to which the others could move it, in any units; at rest all have size 1.
        """
        y = self.tangents.y
        inside = self.guess[1][:, self.guess[0] <= period]
        found = np.ptp(inside, axis=1)
        slopes = np.abs(self.tangents.rates(self.t, y)[1][:, 1:]) * period
        values = np.abs(inside).max(axis=1)
        self.values = np.fmax(values, np.max(slopes * values, axis=1, initial=0.0))
        moving = found > _MOVES * self.values
        found = np.where(moving, found, 0.0)
        if not moving.all() and moving.any():
            for _ in range(len(y)):
                reached = np.max(slopes * found, axis=1)
                found = np.where(found > 0, found, reached)
        return np.where(found > 0, found, 1.0), moving

    def nearest_return(self, period: float) -> float:
        """The time near the guess of the period at which the guess of the motion comes nearest to its start."""
        times, states = self.guess
        off = np.abs(states - states[:, :1] - self.shift[:, None]) / self.sizes[:, None]
        off[self.drifting] = 0.0
        distance = off.max(axis=0)
        near = np.abs(times - period) <= _WINDOW * period
        if self.driven or not self.moving.any() or not near.any():
            return period
        places = np.flatnonzero(near)
        best = int(places[np.argmin(distance[places])])
        inside = 0 < best < len(times) - 1 and distance[best] < min(distance[best - 1], distance[best + 1])
        return float(times[best]) if inside else period

    def rests(self, y: Array, period: float, share: float = _STILL) -> bool:
        """Whether the motion from y is a rest: below a share of the guess."""
        if self.driven:
            return False
        extent = np.ptp(self.path(y, period)[1], axis=1)
        moves = (extent > share * self.sizes) & (extent > _MOVES * np.abs(y))
        return not (moves & self.moving).any()

    def hold_size(self) -> None:
        """Keep the state that is farthest from its mean in the guess, in place of the condition on the phase."""
        inside = self.guess[1]
        off = np.abs(inside[:, 0] - inside.mean(axis=1)) / self.sizes
        off[self.drifting] = 0.0
        self.held_states = [int(np.argmax(np.where(self.moving, off, 0.0)))]

    def _kept(self, y: Array) -> tuple[Array, Array]:
        """The values of what is kept, and their gradients."""
        names = [*self.states, *self.tangents.model.invariants]
        values, slopes = self.tangents.invariants(self.t, y)
        rows = [names.index(name) for name in self.keep]
        return np.concatenate([y, values])[rows], np.concatenate([np.eye(len(y)), slopes])[rows]

    def _place(self, what: str, name: Any) -> int:
        known = self.states[: self.tangents.model.n_coordinates]
        if (given := arguments.plain_name(name)) not in known:
            raise arguments.unknown_entry(what, [given], known)
        return known.index(given)

    def _slopes(self, period: float) -> NDArray[np.bool_]:
        """Which rates, guards and resets depend on the time and on which states, at points along the first guess."""
        y, found = self.tangents.y, np.zeros(1 + len(self.tangents.y), bool)
        times = self.t + period * np.array(_PHASES)
        units = np.append(period, self.sizes)
        for begin, end in itertools.pairwise(times):
            slopes = np.abs(self.tangents.rates(begin, y)[1]) * units * period / self.sizes[:, None]
            found |= (slopes > _VANISHES * max(1.0, slopes.max())).any(axis=0)
            felt = np.abs(self.tangents.at_events(begin, y)[1]) * units
            found |= (felt > _VANISHES * felt.max(axis=1, keepdims=True)).any(axis=0)
            y = self.flow(begin, end, y, np.eye(len(y)))[0]
        return found

    def check_drive(self, y: Array, period: float) -> None:
        """Reject a period after which the time in the equations does not give the same rates and derivatives."""
        tangents, sizes = self.tangents, self.sizes
        times = self.t + period * (np.arange(_CHECKS) + _BESIDE) / _CHECKS
        units = np.append(period, sizes)

        def both(time: float, later: float) -> Array:
            value, slopes = tangents.rates(time + later, y, time)
            rates = np.column_stack([value, slopes[:, 1:] * sizes]) * (period / sizes)[:, None]
            value, slopes = tangents.at_events(time + later, y)
            felt = np.column_stack([value, slopes[:, 1:] * sizes])
            scale = np.abs(slopes * units).max(axis=1, keepdims=True, initial=0.0)
            scale[~(scale > 0)] = 1.0  # conditions have no slopes
            return np.concatenate([rates, felt / scale])

        before, after = (np.array([both(time, later) for time in times]) for later in (0.0, period))
        off = np.abs(after - before)
        if off.max() > _REPEATS * np.abs(before).max():
            i, j, k = np.unravel_index(np.argmax(off), off.shape)
            if j >= len(y):
                raise ArgumentError(
                    f"period = {period:g}: the events of {tangents.model.name} depend on the time and do not repeat "
                    "themselves after it; give the period of what drives them, or a multiple of it"
                )
            what = f"d({self.states[j]})/dt" + (f", by {self.states[k - 1]}," if k else "")
            unit = period / sizes[j] * (sizes[k - 1] if k else 1.0)
            raise ArgumentError(
                f"period = {period:g}: the equations of {tangents.model.name} depend on the time and do not repeat "
                f"themselves after it: in one state {what} is {before[i, j, k] / unit:.6g}, and a period later "
                f"{after[i, j, k] / unit:.6g}; give the period of what drives them, or a multiple of it"
            )

    def closes(self, y: Array, moved: tuple[Array, Array]) -> bool:
        """Whether a motion comes back to its start."""
        limit = max(_CLOSED, 10.0 * self.tangents.how.tolerances(self.states)[0])
        return bool((np.abs(self.gap(y, moved[0])) <= limit * self.sizes + _ROUNDING * self.values).all())

    def check_closed(self, y: Array, period: float, moved: tuple[Array, Array]) -> None:
        """Reject a motion that does not come back to its start."""
        if not self.closes(y, moved):
            off = np.abs(self.gap(y, moved[0]))
            worst = int(np.argmax(off / self.sizes))
            raise ArgumentError(
                f"no periodic motion of {self.tangents.model.name} was found near the guess: with T = {period:g}, "
                f"{self.states[worst]} comes back to within {off[worst]:.3g} only; give a closer state and period"
            )

    def gap(self, y: Array, end: Array) -> Array:
        """y(T) - y0, less the turns; zero for coordinates that drift."""
        found = end - y - self.shift
        found[self.drifting] = 0.0
        return found

    def _moved(self, y: Array, period: float) -> tuple[Array, Array]:
        return self.flow(self.t, self.t + period, y, np.eye(len(y)))

    def solve(self, y: Array, period: float) -> tuple[Array, float, tuple[Array, Array]]:
        """The start, the period, and y(T) with its derivatives, when Newton's method gets no closer."""
        moved = self._moved(y, period)
        for _ in range(_STEPS):
            size = self._size(y, moved)
            if size <= _CLOSE:
                break
            nearer = self._nearer(y, period, size, self._step(y, period, moved))
            if nearer is None:
                break
            y, period, moved = nearer[0], period if self.driven else nearer[1], nearer[2]
        return y, float(period), moved

    def _nearer(
        self, y: Array, period: float, before: float, step: Array
    ) -> tuple[Array, float, tuple[Array, Array]] | None:
        """The step, halved until it makes what is left smaller; None if it does not."""
        far = max(
            np.abs(step[:-1] / self.sizes).max(initial=0.0) / _LONGEST,
            abs(step[-1]) / (_STRETCH * period),
            1.0,
        )
        part = 1.0 / float(far)
        for _ in range(1 if before <= _CLOSED else _HALVINGS):
            there, time = y + part * step[:-1], period + part * step[-1]
            try:
                found = self._moved(there, time)
            except ArgumentError:  # the run from there ends early
                part /= 2.0
                continue
            if self._size(there, found) < (1.0 - 1e-3 * part) * before:
                return there, time, found
            part /= 2.0
        return None

    def _residual(self, y: Array, end: Array) -> Array:
        held, kept = self.tangents.held(self.t, y)[0], self._kept(y)[0] - self.levels
        return np.concatenate([self.gap(y, end) / self.sizes, np.concatenate([held, kept]) / self.weights])

    def _size(self, y: Array, moved: tuple[Array, Array]) -> float:
        found = float(np.linalg.norm(self._residual(y, moved[0])))
        return found if np.isfinite(found) else np.inf

    def _step(self, y: Array, period: float, moved: tuple[Array, Array]) -> Array:
        """Newton's step of (y0, T), the shortest one in units of `sizes` and T."""
        end, slopes = moved
        n = len(y)
        units = np.append(self.sizes, period)
        close = np.column_stack([slopes - np.eye(n), self.tangents.rates(self.t + period, end)[0]])
        close[self.drifting] = 0.0
        gradients = np.concatenate([self.tangents.held(self.t, y)[1], self._kept(y)[1]])
        rows = [
            close * units / self.sizes[:, None],
            np.column_stack([gradients, np.zeros(len(gradients))]) * units / self.weights[:, None],
            np.eye(n + 1)[[*self.drifting, *([n] if self.driven else [])]],
        ]
        if not self.driven and not self.held_states:
            flow = self.tangents.rates(self.t, y)[0] / self.sizes
            rows.append(np.append(flow / max(float(np.linalg.norm(flow)), 1e-300), 0.0)[None])
        matrix = np.concatenate(rows)
        matrix[:, self.held_states] = 0.0  # then the shortest step leaves them as they are
        aim = np.zeros(len(matrix))
        aim[: n + len(gradients)] = -self._residual(y, end)
        return np.asarray(units * np.linalg.lstsq(matrix, aim, rcond=_SINGULAR)[0])

    def multipliers(self, y: Array, monodromy: Array, closed: list[int]) -> tuple[Complex, int]:
        """The eigenvalues that integrals, symmetries and the flow leave open, and the number of those that are 1."""
        sizes = self.sizes[closed]
        monodromy = monodromy * sizes / sizes[:, None]
        gradients = self.tangents.invariants(self.t, y)[1] * self.sizes
        lengths = np.linalg.norm(gradients, axis=1)
        inside = [
            g
            for g, length in zip(gradients, lengths, strict=True)
            if not np.abs(g[self.drifting]).max(initial=0.0) > _VANISHES * length
        ]
        rows = np.array(inside).reshape(-1, len(y))[:, closed]
        level = null_space(rows)
        held = (self.tangents.held(self.t, y)[1] * self.sizes)[:, closed]
        n_integrals = null_space(held).shape[1] - level.shape[1]
        directions = [np.eye(len(y))[i][closed] for i in self.symmetric]
        if not self.driven:
            directions.append((self.tangents.rates(self.t, y)[0] / self.sizes)[closed])
        along = np.array([d / np.linalg.norm(d) for d in directions]).reshape(-1, len(closed))
        outside = np.linalg.norm(along - along @ level @ level.T, axis=1)
        along = (along @ level)[outside < _SPANS]
        across = null_space(along) if len(along) else np.eye(level.shape[1])
        reduced = across.T @ level.T @ monodromy @ level @ across
        found = np.linalg.eigvals(reduced).astype(complex)
        order = np.lexsort((-found.imag, -np.abs(found).round(12)))
        return found[order], n_integrals + level.shape[1] - across.shape[1]
