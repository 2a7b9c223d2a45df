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
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import arguments
from ..arguments import Array
from ..errors import ArgumentError
from .field import named
from .tangents import Tangents, null_space

if TYPE_CHECKING:
    from ..compiled_model import CompiledModel
    from ..options import RunOptions
    from ..solution import Solution

Complex = NDArray[np.complex128]

_STEPS = 50
_HALVINGS = 10
_SINGULAR = 1e-7
"""Singular values below this share of the largest belong to repeated equations."""
_CLOSE = 1e-12
_ENOUGH = 1e-7
"""Relative sizes of the last step: at the first one Newton's method has converged; below the second one a step that
does not become shorter is as short as the errors of the integration allow."""
_STILL = 1e-8
"""A state that would change by less than this in a period, relative to its size, is at rest."""
_COLLAPSED = 0.01
"""A period below this share of the guess has shrunk towards zero, where y(T) = y(0) holds for any state."""
_REPEATS = 1e-6
"""Equations repeat themselves if they differ by less than this, relative to the largest rate, a period later."""
_PHASES = (0.0, 0.13, 0.37, 0.59, 0.83)
"""Parts of a period at which the equations are examined."""
_VANISHES = 1e-12
"""A derivative of this share of the largest is zero."""
_SPANS = 1e-6
"""A direction whose part along the gradients of the integrals is larger than this leaves their levels."""


@dataclass(frozen=True, eq=False)
class PeriodicOrbit:
    """A periodic motion; see `Model.periodic`.

    Attributes
    ----------
    state, period : the start by name, and T.
    multipliers : the Floquet multipliers that say whether it is stable, the largest first: eigenvalues of dy(T)/dy0 on
        the levels of the integrals and constraints, without the directions along the flow and of symmetries.
    n_ones : how many further multipliers are exactly 1, one for each integral, symmetry and the direction of the flow.
    monodromy (n, n) : dy(T)/dy0 of the states named in `states`.
    residual : the largest |y(T) - y0| that is left.
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
        return f"<periodic motion of {self.model.name}: T = {self.period:.6g}; {kind}{largest}>"


def periodic(
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
    t, period = arguments.number("t", t), arguments.number("period", period)
    if not period > 0:
        raise ArgumentError(f"period = {period:g} must be positive")
    tangents = Tangents(model, t, initial, parameters, inputs, how)
    search = _Search(tangents, t, period, keep, turns, drift)
    y, found, moved = search.solve(tangents.y, period)
    if found < _COLLAPSED * period:
        raise ArgumentError(
            f"no periodic motion of {model.name} was found near the guess: the period shrank from {period:g} to "
            f"{found:.3g}; give a closer state and period, and by turns={{...}} angles that go round"
        )
    period = found
    search.check_drive(y, period)
    rates = np.abs(tangents.rates(t, y)[0])
    if not search.driven and rates.max() * period <= _STILL * (1.0 + np.abs(y).max()):
        raise ArgumentError(
            f"what was found near the guess is an equilibrium of {model.name}, not a periodic motion: give a state "
            "farther from it; model.equilibrium and model.linearize are for equilibria"
        )
    closed = [i for i in range(len(y)) if i not in search.drifting]
    monodromy = moved[1][np.ix_(closed, closed)]
    multipliers, ones = search.multipliers(y, monodromy, closed)
    return PeriodicOrbit(
        model, t, y, period, tuple(model.states[i] for i in closed), monodromy, multipliers, ones,
        float(np.abs(search.gap(y, moved[0])).max()), tangents.p, inputs, {**vars(tangents.how)},
    )  # fmt: skip


class _Search:
    """The equations of a periodic motion."""

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
        slopes = self._slopes(period)
        self.driven = tangents.driven or bool(slopes[:, 0].any())
        ignorable = [i for i in range(model.n_coordinates) if not slopes[:, 1 + i].any()]
        self.drifting = [self._place("drift", name) for name in arguments.plain_names("drift", drift)]
        for i in self.drifting:
            if i not in ignorable:
                raise ArgumentError(
                    f"drift: {self.states[i]} must come back, since the equations depend on it; for an angle that "
                    "goes round give turns={...}"
                )
        self.symmetric = [i for i in ignorable if i not in self.drifting]
        self.shift = np.zeros(len(tangents.y))
        if not isinstance(turns, Mapping):
            raise ArgumentError(f"turns = {arguments.short(turns)}: give a dict of coordinate: angle")
        for name, amount in turns.items():
            self.shift[self._place("turns", name)] = arguments.number(f"turns of {name}", amount)

        if keep is None:
            keep = [n for n in ("energy",) if n in model.invariants and not self.driven]
        self.keep = arguments.plain_names("keep", keep)
        for name in self.keep:
            if name not in (known := (*self.states, *model.invariants)):
                raise arguments.unknown_entry("keep", [name], known)
        self.levels = self._kept(tangents.y)[0]

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
        """Which rates depend on the time and on which states, at points along the first guess."""
        y, found = self.tangents.y, np.zeros((len(self.tangents.y), 1 + len(self.tangents.y)), bool)
        times = self.t + period * np.array(_PHASES)
        for begin, end in itertools.pairwise(times):
            slopes = np.abs(self.tangents.rates(begin, y)[1])
            found |= slopes > _VANISHES * max(1.0, slopes.max())
            y = self.flow(begin, end, y, np.eye(len(y)))[0]
        return found

    def check_drive(self, y: Array, period: float) -> None:
        """Reject a period after which the time in the equations does not give the same rates."""
        tangents = self.tangents
        points = [tangents.point(self.t + part * period, y) for part in _PHASES]
        later = np.eye(len(points[0]))[0] * period
        rates = np.array([tangents.field.motion(v)[0] for v in points])
        after = np.array([tangents.field.motion(v + later)[0] for v in points])
        off = np.abs(after - rates)
        if off.max() > _REPEATS * np.abs(rates).max():
            i, j = np.unravel_index(np.argmax(off), off.shape)
            raise ArgumentError(
                f"period = {period:g}: the equations of {tangents.model.name} depend on the time and do not repeat "
                f"themselves after it: in one state d({self.states[j]})/dt is {rates[i, j]:.6g}, and a period later "
                f"{after[i, j]:.6g}; give the period of what drives them, or a multiple of it"
            )

    def gap(self, y: Array, end: Array) -> Array:
        """y(T) - y0, less the turns; zero for coordinates that drift."""
        found = end - y - self.shift
        found[self.drifting] = 0.0
        return found

    def _moved(self, y: Array, period: float) -> tuple[Array, Array]:
        return self.flow(self.t, self.t + period, y, np.eye(len(y)))

    def solve(self, y: Array, period: float) -> tuple[Array, float, tuple[Array, Array]]:
        """The start, the period, and y(T) with its derivatives. Raises `ArgumentError` if there is no convergence."""
        moved, last = self._moved(y, period), np.inf
        for _ in range(_STEPS):
            step = self._step(y, period, moved)
            scale = 1.0 + np.append(np.abs(y), period)
            size = float(np.abs(step / scale).max())
            if size <= _CLOSE or (size <= _ENOUGH and size >= 0.5 * last):
                return y, float(period), moved
            y, period, moved = self._shorter(y, period, moved, step)
            last = size
        residual = np.abs(self.gap(y, moved[0])).max()
        raise ArgumentError(
            f"no periodic motion of {self.tangents.model.name} was found near the guess: y(T) - y0 is still "
            f"{residual:.3g} with T = {period:g}; give a closer state and period"
        )

    def _shorter(
        self, y: Array, period: float, moved: tuple[Array, Array], step: Array
    ) -> tuple[Array, float, tuple[Array, Array]]:
        """The step, halved until it makes the gap smaller."""
        before = self._size(y, moved)
        for _ in range(_HALVINGS):
            there, time = y + step[:-1], period + step[-1]
            if time > 0.1 * period:
                found = self._moved(there, time)
                if self._size(there, found) < max(before, 1e-12):
                    return there, time, found
            step = step / 2
        return there, time, self._moved(there, max(time, 0.1 * period))

    def _size(self, y: Array, moved: tuple[Array, Array]) -> float:
        gap, held = self.gap(y, moved[0]), self.tangents.held(self.t, y)[0]
        kept = self._kept(y)[0] - self.levels
        return float(np.linalg.norm(np.concatenate([gap / (1.0 + np.abs(y)), held, kept])))

    def _step(self, y: Array, period: float, moved: tuple[Array, Array]) -> Array:
        """Newton's step of (y0, T)."""
        end, slopes = moved
        n = len(y)
        close = np.column_stack([slopes - np.eye(n), self.tangents.rates(self.t + period, end)[0]])
        close[self.drifting] = 0.0
        values, gradients = self.tangents.held(self.t, y)
        kept, normals = self._kept(y)
        rows = [close, *(np.column_stack([g, np.zeros(len(g))]) for g in (gradients, normals))]
        aims = [-self.gap(y, end), -values, self.levels - kept]
        fixed = np.zeros((len(self.drifting) + 1, n + 1))
        for row, i in zip(fixed, self.drifting, strict=False):
            row[i] = 1.0
        if self.driven:
            fixed[-1, n] = 1.0
        else:
            flow = self.tangents.rates(self.t, y)[0]
            fixed[-1, :n] = flow / max(float(np.linalg.norm(flow)), 1e-300)
        matrix, aim = np.concatenate([*rows, fixed]), np.concatenate([*aims, np.zeros(len(fixed))])
        scale = 1.0 + np.append(np.abs(y), period)
        found = np.linalg.lstsq(matrix * scale, aim, rcond=_SINGULAR)[0]
        return np.asarray(scale * found)

    def multipliers(self, y: Array, monodromy: Array, closed: list[int]) -> tuple[Complex, int]:
        """The eigenvalues that integrals, symmetries and the flow leave open, and the number of those that are 1."""
        gradients = self.tangents.invariants(self.t, y)[1]
        inside = [g for g in gradients if not np.abs(g[self.drifting]).max(initial=0.0) > _VANISHES]
        rows = np.array(inside).reshape(-1, len(y))[:, closed]
        level = null_space(rows)
        held = self.tangents.held(self.t, y)[1][:, closed]
        n_integrals = null_space(held).shape[1] - level.shape[1]
        directions = [np.eye(len(y))[i][closed] for i in self.symmetric]
        if not self.driven:
            directions.append(self.tangents.rates(self.t, y)[0][closed])
        along = np.array([d / np.linalg.norm(d) for d in directions]).reshape(-1, len(closed))
        outside = np.linalg.norm(along - along @ level @ level.T, axis=1)
        along = (along @ level)[outside < _SPANS]
        across = null_space(along) if len(along) else np.eye(level.shape[1])
        reduced = across.T @ level.T @ monodromy @ level @ across
        found = np.linalg.eigvals(reduced).astype(complex)
        order = np.lexsort((-found.imag, -np.abs(found).round(12)))
        return found[order], n_integrals + level.shape[1] - across.shape[1]
