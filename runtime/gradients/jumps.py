"""Back over the events, changes of contact modes and kinks of a run: the transposed jumps of its sensitivities.

At g(t, y, theta) = 0 with a reset R, and rates F- and F+ before and after it, the sensitivities of a run jump by

    dt = -(g_y S- + g_theta) / r,  r = g_t + g_y F-,  S+ = R_y S- + R_theta + (R_y F- + R_t - F+) dt

(P. I. Barton and C. K. Lee, ACM Transactions on Modeling and Computer Simulation 12 (2002) 256-289). With lambda+ the
derivative of a loss by the state after it, and mu what the loss itself changes with the time of the event,

    c = lambda+ . (R_y F- + R_t - F+) + mu,
    lambda- = R_y^T lambda+ - g_y c / r,  gradient += R_theta^T lambda+ - g_theta c / r.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..arguments import Array
from ..derivatives import derivatives
from ..errors import KernelError, message_of
from ..event_record import HEAD, NORMAL, SLIP, WATCHED, EventRecord

if TYPE_CHECKING:
    from .start import Start

MOMENT, BESIDE, SAME = 1e-4, 1e-6, 1e-9
"""The part of a step over which the change of a rate is measured; the distance from a kink at which its sides are
computed; below this fraction two rates are the same. As in cg_variational_inline.h."""
LIMIT = 1.0 + 1e-12
"""CG_CONTACT_LIMIT of cg_events.h."""
TANGENTIAL = -12


class Side(NamedTuple):
    """One side of a jump: the time, the state (n,), inputs and modes, and the rates (n,)."""

    t: float
    y: Array
    u: Array
    rates: Array


class Part(NamedTuple):
    """What a part of the loss at an event adds: its derivatives by the time and the state (n,)."""

    by_t: float
    by_y: Array


class Jumps:
    """The jumps of a run with this `record`, gone back over one time after the other.

    `parts` has those of the loss by row of the record, `end` are its derivatives by the last state and its time if an
    event ended the run; `integrand` is the sum of what is integrated at (t, y, u). `step`: a step of mean length, with
    the sign of the direction, `tolerance`: of a state (n,).
    """

    def __init__(
        self,
        start: Start,
        record: EventRecord,
        parts: dict[int, list[Part]],
        end: tuple[Array, float] | None,
        integrand: Callable[[float, Array, Array], float],
        step: float,
        tolerance: Callable[[Array], Array],
    ) -> None:
        from .._core import differentials, differentiated

        self.start, self.record, self.model, self.parts, self.end = start, record, start.model, parts, end
        self.integrand, self.step, self.tolerance = integrand, step, tolerance
        self._differentiated, self._address = differentiated, derivatives(start.model).address("adjoint", 1)
        self._kernels = differentials(start.model, self._address)

    def __call__(self, first: int, last: int, by_state: Array, by_rest: Array) -> None:
        """Back over rows first <= i < last: changes the derivatives by the state (n,), and by parameters and inputs."""
        ending = np.flatnonzero(self.record.rows[first:last, 3])
        for i in range(last - 1, first - 1, -1):
            if self.record.rows[i, 1] < 0:
                self._start(self._side(i, 1), by_state, by_rest)
                continue
            mu = 0.0
            if len(ending) and i == first + ending[0] and self.end is not None:
                after = self._side(last - 1, 1)
                mu = (
                    float(self.end[0] @ after.rates) + self.end[1] + self.integrand(after.t, after.y, after.u)
                )
            sides = self._side(i, 0), self._side(i, 1 if i + 1 == last else 0, self._state(i, 1))
            self._event(int(self.record.rows[i, 1]), sides, mu, self.parts.get(i, []), by_state, by_rest)

    def _state(self, row: int, side: int) -> Array:
        n = self.record.n
        found: Array = self.record.rows[row, HEAD + side * n : HEAD + (side + 1) * n].copy()
        return found

    def _side(self, row: int, side: int, y: Array | None = None) -> Side:
        """A side of a row, with the modes there and its state, if no other one is given."""
        record, t = self.record, float(self.record.rows[row, 0])
        modes, first = len(record.contacts) + len(record.signs), HEAD + 2 * record.n
        u = np.concatenate(
            [self.start.u, record.rows[row, first + side * modes : first + (side + 1) * modes]]
        )
        state = self._state(row, side) if y is None else y
        return Side(t, state, u, self._rates(t, state, u))

    def _rates(self, t: float, y: Array, u: Array) -> Array:
        columns = np.array([t]), y[:, None], self.start.p[:, None], u[:, None]
        found: Array = self.model._columns("rhs", *columns, None)[:, 0]
        return found

    def _adjoint(self, kernel: str, at: Side, weights: Array) -> tuple[float, Array, Array]:
        """The derivatives of the weighted results of a kernel: by the time, the state, and parameters and inputs."""
        given = at.t, at.y, self.start.p, at.u, weights[:, None]
        found = self._differentiated(self.model, self._address, kernel, *given)[1][:, 0]
        n = len(at.y)
        return float(found[0]), found[1 : 1 + n], found[1 + n :]

    def _start(self, at: Side, by_state: Array, by_rest: Array) -> None:
        """Contacts that stick at the start take the slip velocity out of the sensitivities."""
        if "project" in self._kernels:
            _, by_y, more = self._adjoint("project", at, by_state.copy())
            by_state[:] = by_y
            by_rest += more

    def _event(
        self,
        cause: int,
        sides: tuple[Side, Side],
        mu: float,
        parts: list[Part],
        by_state: Array,
        by_rest: Array,
    ) -> None:
        record, (before, after) = self.record, sides
        kink = len(record.events) <= cause < len(record.events) + len(record.kinks)
        if kink:
            before = before._replace(rates=self._beside(before, -1.0))
            after = after._replace(y=before.y, rates=self._beside(before, 1.0))
            sizes = np.abs(before.rates) + np.abs(after.rates)
            if not (np.abs(before.rates - after.rates) > SAME * sizes).any():
                return
        along = by_state.copy()
        by_t, by_y, by_more = 0.0, along, np.zeros_like(by_rest)
        if (
            cause < len(record.events) and f"reset_{cause}" in self._kernels
        ):  # also one that changes nothing yet
            by_t, by_y, by_more = self._adjoint(f"reset_{cause}", before, along)
        c = float(by_y @ before.rates) + by_t - float(along @ after.rates) + mu
        c += self.integrand(before.t, before.y, before.u) - self.integrand(after.t, after.y, after.u)
        for part in parts:
            c += part.by_t + float(part.by_y @ before.rates)
        still = by_y is along and np.array_equal(before.rates, after.rates)
        if c != 0.0 and not (still and mu == 0.0 and not parts):
            g_t, g_y, g_rest = self._quantity(cause, before)
            rate = g_t + float(g_y @ before.rates)
            self._check_crosses(cause, before, rate, g_y)
            by_y = by_y - g_y * (c / rate)
            by_more = by_more - g_rest * (c / rate)
        by_state[:] = by_y + sum((part.by_y for part in parts), np.zeros_like(by_y))
        by_rest += by_more

    def _quantity(self, cause: int, at: Side) -> tuple[float, Array, Array]:
        """The derivatives of an observed quantity; a contact's is made of five results of its kernel."""
        record = self.record
        guards = len(record.events) + len(record.kinks)
        if cause < guards:
            return self._adjoint("guards", at, np.eye(guards)[cause])
        contact, what = divmod(cause - guards, WATCHED)
        modes, signs = at.u[len(self.start.u) :], self.model._signs
        weights = np.zeros(5 * len(record.contacts))
        own = weights[5 * contact : 5 * contact + 5]
        if what == NORMAL:
            own[4] = modes[len(record.contacts) + signs[contact]] if signs[contact] >= 0 else 1.0
        elif modes[contact] != 0:
            own[0] = modes[contact]
        else:
            own[1:3] = (-1.0 if what == SLIP else 1.0), LIMIT
        return self._adjoint("contacts", at, weights)

    def _check_crosses(self, cause: int, at: Side, rate: float, g_y: Array) -> None:
        """Raise KernelError if the motion only touches the zero of the quantity; see `cg_touches`."""
        moment = MOMENT * self.step
        t, y = at.t - moment, at.y - moment * at.rates
        earlier = Side(t, y, at.u, self._rates(t, y, at.u))
        e_t, e_y, _ = self._quantity(cause, earlier)
        curvature = (rate - (e_t + float(e_y @ earlier.rates))) / moment
        slack = float(np.abs(g_y) @ self.tolerance(at.y))
        if not rate * rate > 2.0 * abs(curvature) * slack:
            text = message_of(TANGENTIAL, at.t, self.model.independent)
            raise KernelError(f"gradient: the run of {self.model.name} {text}", TANGENTIAL)

    def _beside(self, at: Side, side: float) -> Array:
        """The rates at a kink on the side before (-1) or after (1) it, extrapolated from two points on that side."""
        direction = side if self.step > 0 else -side
        moment = direction * BESIDE * max(1.0, np.abs(at.y).max()) / max(np.abs(at.rates).max(), 1e-300)
        near, far = (self._rates(at.t + k * moment, at.y + k * moment * at.rates, at.u) for k in (1, 2))
        return np.asarray(2.0 * near - far)
