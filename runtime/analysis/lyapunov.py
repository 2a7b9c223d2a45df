"""Lyapunov exponents: mean rates at which the tangents of a run grow.

The tangents are made orthogonal again and again, S = Q R, and the exponents are the means of log |R_ii| over the time:
G. Benettin, L. Galgani, A. Giorgilli, J.-M. Strelcyn, Meccanica 15 (1980) 9-30.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array
from ..model.compiled_model import CompiledModel
from ..problem.options import RunOptions
from .field import named, refuse
from .tangents import Tangents, null_space, said_of

_BLOCKS = 20
_BESIDE = 0.3819660112501051
_PARTS = (20, 10, 5, 4, 2)
"""Numbers of equal parts of a run whose means are compared for the statistical errors. Short parts are not independent
of each other if the run is short beside the times in which the motion forgets, and show too small an error."""
_WIDE, _NARROW = np.log(1e6), np.log(1e2)
"""Ratios of the growth of tangents between two factorizations: above the first one they are no longer independent."""


@dataclass(frozen=True, eq=False)
class LyapunovExponents:
    """The Lyapunov exponents of a run; see `Model.lyapunov`.

    Attributes
    ----------
    values (k,) : the exponents, the largest first, in 1 / unit of time.
    errors (k,) : the standard errors of their means, the largest of those from 20, 10, 5, 4 and 2 equal parts, and at
        least 1 / the time: one factor of e in the length of a tangent depends on the units of the states.
    t (N,), running (k, N) : the times of the factorizations and the means up to each.
    final : the state at the end, by name.
    differences : the inputs that are functions of the state, whose derivatives by it are differences.
    """

    values: Array
    errors: Array
    t: Array
    running: Array
    final: dict[str, float]
    differences: tuple[str, ...] = ()

    def __repr__(self) -> str:
        shown = ", ".join(f"{v:.4g} +- {e:.2g}" for v, e in zip(self.values, self.errors, strict=True))
        return f"<Lyapunov exponents {shown}{said_of(self.differences)}>"

    @property
    def dimension(self) -> float:
        """The Kaplan-Yorke dimension j + (l_1 + ... + l_j) / |l_(j+1)|, j the largest with a sum that is not negative.

        It needs exponents down to one with which the sum is negative; else it is the number of exponents.
        """
        sums = np.cumsum(self.values)
        below = np.flatnonzero(sums < 0)
        if not len(below):
            return float(len(sums))
        j = int(below[0])
        return j + float(sums[j - 1] if j else 0.0) / abs(float(self.values[j]))


def lyapunov_exponents(
    model: CompiledModel,
    t_span: Any,
    initial: Any,
    parameters: Any,
    inputs: Any,
    n: int | None,
    transient: float,
    interval: float | None,
    how: RunOptions,
) -> LyapunovExponents:
    """See `Model.lyapunov`."""
    refuse(model)
    t0, t1 = arguments.span(t_span)
    transient = arguments.number("transient", transient)
    if not t0 < t1:
        raise ArgumentError(f"t_span = ({t0:g}, {t1:g}): the end must come after the start")
    if transient < 0:
        raise ArgumentError(f"transient = {transient:g} must not be negative")
    start = Tangents(model, t0, initial, parameters, inputs, how)
    tangents = null_space(start.held(t0, start.y)[1])
    count = tangents.shape[1] if n is None else n
    if not arguments.is_integer(count) or not 1 <= count <= tangents.shape[1]:
        raise ArgumentError(
            f"n = {arguments.short(n)}: give a number of exponents from 1 to {tangents.shape[1]}"
        )
    bundle = _Bundle(start, t0, start.y, generic(tangents)[:, :count], t1 - t0, interval)
    if transient:
        bundle.advance(t0 + transient + bundle.beside * bundle.interval)
    begin = bundle.t
    times, sums = bundle.advance(begin + (t1 - t0))
    spans = times - begin
    errors = np.max([_error(spans, sums, count) for count in _PARTS], axis=0)
    errors = np.fmax(errors, 1.0 / spans[-1])
    running = sums[:, 1:] / spans[1:]
    order = np.argsort(-running[:, -1], kind="stable")
    return LyapunovExponents(
        running[order, -1],
        errors[order],
        times[1:],
        running[order],
        named(model.states, bundle.y),
        start.differences,
    )


def generic(tangents: Array) -> Array:
    """Another orthonormal basis of the same space, always the same one and in no special direction.

    A tangent along a symmetry stays there until rounding has grown to its size, which takes 36 times as long as e-fold
    growth; all that time its exponent is that of the symmetry, and another one's is what it should have been.
    """
    size = tangents.shape[1]
    turn, _ = np.linalg.qr(np.random.default_rng(size).normal(size=(size, size)))
    return np.asarray(tangents @ turn)


def _error(spans: Array, sums: Array, count: int) -> Array:
    """The standard errors (k,) of the means over all spans, from as many equal parts."""
    ends = np.linspace(0.0, spans[-1], count + 1)
    means = np.array([np.diff(np.interp(ends, spans, row)) for row in sums]) * count / spans[-1]
    return np.asarray(means.std(axis=1, ddof=1) / np.sqrt(count))


class _Bundle:
    """A state with orthonormal tangents, and the time between two factorizations."""

    def __init__(
        self, start: Tangents, t: float, y: Array, tangents: Array, span: float, interval: float | None
    ) -> None:
        self.t, self.y, self.tangents = t, y, tangents
        self.longest = span / (2 * _BLOCKS)
        self.fixed = interval is not None
        if interval is None:
            rate = float(np.linalg.norm(start.rates(t, y)[1][:, 1:], 2))
            self.interval = min(self.longest, 3.0 / rate if rate > 0 else span)
        else:
            self.interval = arguments.number("interval", interval)
            if not 0 < self.interval <= self.longest:
                raise ArgumentError(
                    f"interval = {self.interval:g}: it must be positive and at most "
                    f"{self.longest:g}, a {2 * _BLOCKS}th of "
                    "the span"
                )
        self.flow = start.flow(tangents.shape[1], control=True)
        self.beside = _BESIDE if start.model.events else 0.0
        """Parts of the run do not end at events that repeat themselves."""

    def advance(self, end: float) -> tuple[Array, Array]:
        """Run to the end: the times (N + 1,) of the factorizations, and the sums of log |R_ii| (k, N + 1)."""
        times, sums = [self.t], [np.zeros(self.tangents.shape[1])]
        while self.t < end:
            rest = end - self.t
            length = self.interval * (1.0 - self.beside * (len(times) * _BESIDE % 1.0))
            stop = end if rest <= 1.5 * self.interval else self.t + length
            y, moved = self.flow(self.t, stop, self.y, self.tangents)
            tangents, upper = np.linalg.qr(moved)
            growth = np.log(np.abs(np.diag(upper)))
            spread, most = float(growth.max() - growth.min()), np.log(1e14)
            # Tangents can be lost at an event, however short the part.
            if not np.isfinite(growth).all() or (self.beside and spread > most):
                kept = int((growth > growth.max() - most).sum())
                how = (
                    f"give n={kept} or fewer"
                    if self.beside and kept
                    else "give a smaller n or a shorter interval"
                )
                raise ArgumentError(f"only {kept} of the tangents are independent at t = {stop:g}: {how}")
            if not self.fixed and spread > _WIDE:
                self.interval = (stop - self.t) / 2
                continue
            if not self.fixed and spread < _NARROW:
                self.interval = min(1.25 * self.interval, self.longest)
            self.t, self.y, self.tangents = stop, y, tangents
            times.append(stop)
            sums.append(sums[-1] + growth)
        return np.array(times), np.array(sums).T
