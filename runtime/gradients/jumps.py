"""Back over the events, changes of contact modes and kinks of a run: the transposed jumps of its sensitivities.

What happens at one instant is told by the record of the run, which bears tangents (``cg_jump_inline.h``):
groups of causes that are one, and the rates F- and F+ before and after each. At g(t, y, theta) = 0 with resets R, the
sensitivities of a run jump by

    dt = -(g_y S- + g_theta) / r,  r = g_t + g_y F-,  S+ = R_y S- + R_theta + (R_y F- + R_t - F+) dt

(P. I. Barton and C. K. Lee, ACM Transactions on Modeling and Computer Simulation 12 (2002) 256-289). With lambda+ the
derivative of a loss by the state after it, and mu what the loss itself changes with the time of the event,

    c = lambda+ . (R_y F- + R_t - F+) + mu,
    lambda- = R_y^T lambda+ - g_y c / r,  gradient += R_theta^T lambda+ - g_theta c / r.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from chaplygin.errors import KernelError

from .. import core
from ..interface.arguments import Array
from ..interface.statuses import message_of
from ..model.derivatives import derivatives
from ..results.event_record import HEAD, NORMAL, SLIP, WATCHED, EventRecord
from .start import GradientStart

MOMENT, BESIDE = 1e-4, 1e-6
"""The part of a step over which the change of a rate is measured; the distance from a kink at which what is integrated
is computed on its sides."""
LIMIT = 1.0 + 1e-12
"""CG_CONTACT_LIMIT of cg_events.h."""
TANGENTIAL = -12


class Side(NamedTuple):
    """One side of a jump: the time, the state (n,), inputs and modes, and the rates (n,)."""

    t: float
    y: Array
    u: Array
    rates: Array


class JumpPart(NamedTuple):
    """What a part of the loss at an event adds: its derivatives by the time and the state (n,)."""

    by_t: float
    by_y: Array


class Jumps:
    """The jumps of a run with this `record`, gone back over one instant after the other.

    `parts` has those of the loss by row of the record, `end` is its derivative by the last time if an event ended the
    run; `integrand` is the sum of what is integrated at (t, y, u). `step`: a step of mean length, with the sign of the
    direction, `tolerance`: of a state (n,).
    """

    def __init__(
        self,
        start: GradientStart,
        record: EventRecord,
        parts: dict[int, list[JumpPart]],
        end: float | None,
        integrand: Callable[[float, Array, Array], float],
        step: float,
        tolerance: Callable[[Array], Array],
    ) -> None:
        self.start, self.record, self.model, self.parts, self.end = start, record, start.model, parts, end
        self.integrand, self.step, self.tolerance = integrand, step, tolerance
        self._differentiated, self._address = (
            core.differentiated,
            derivatives(start.model).address("adjoint", 1),
        )
        self._kernels = core.differentials(start.model, self._address)
        times = record.rows[:, 0].copy()
        self._inputs = start.inputs.at(times, np.ascontiguousarray(record.rows[:, HEAD : HEAD + record.n].T))
        # The start is at a given time, before which a function of the time need not be known.
        occurred = record.rows[:, 1] >= 0
        self._input_slopes = np.zeros(self._inputs.shape)
        self._input_slopes[:, occurred] = start.inputs.slopes(
            times[occurred], step, record.before(start.t)[occurred]
        )

    def __call__(self, first: int, last: int, by_state: Array, by_rest: Array) -> None:
        """Back over rows first <= i < last: changes the derivatives by the state (n,), and by parameters and inputs."""
        self._rates_of_inputs = self._input_slopes[:, first]
        if self.record.rows[first, 1] < 0:
            self._start(self._side(first, 1), by_state, by_rest)
            return
        groups: dict[int, list[int]] = {}
        for i in range(first, last):
            groups.setdefault(math.floor(self.record.group(i)[0]), []).append(i)
        ends = self.end is not None and self.record.rows[first:last, 3].any()
        if min(groups) < -1 and (ends or by_state.any() or any(map(self.parts.get, range(first, last)))):
            raise self._missing(min(groups), first)
        taken = [groups[k] for k in sorted(groups) if k >= 0]
        states, y = [], self._state(first, 0)
        for rows in taken:
            for i in rows:
                states.append(y)
                y = self._after(i, y)
        after = Side(float(self.record.rows[first, 0]), self._state(last - 1, 1), *self._last(taken, last))
        for rows in reversed(taken):
            points, states = states[-len(rows) :], states[: len(states) - len(rows)]
            _, before, rates = self.record.group(rows[0])
            here = Side(after.t, points[0], self._modes(rows[0], 0), before)
            self._group(rows, points, here, after._replace(rates=rates), by_state, by_rest)
            after = here
        for i in groups.get(-1, []):
            self._group([i], [after.y], after, after, by_state, by_rest)

    def _last(self, taken: Sequence[Sequence[int]], last: int) -> tuple[Array, Array]:
        """The inputs and modes, and the rates, after everything."""
        u = self._modes(last - 1, 1)
        return u, self.record.group(taken[-1][0] if taken else last - 1)[2]

    def _state(self, row: int, side: int) -> Array:
        n = self.record.n
        found: Array = self.record.rows[row, HEAD + side * n : HEAD + (side + 1) * n].copy()
        return found

    def _modes(self, row: int, side: int) -> Array:
        """The inputs, and the modes on a side of a row."""
        record = self.record
        modes, first = len(record.contacts) + len(record.signs), HEAD + 2 * record.n
        return np.concatenate(
            [self._inputs[:, row], record.rows[row, first + side * modes : first + (side + 1) * modes]]
        )

    def _side(self, row: int, side: int) -> Side:
        """A side of a row, with the rates there."""
        t, y, u = float(self.record.rows[row, 0]), self._state(row, side), self._modes(row, side)
        return Side(t, y, u, self._rates(t, y, u))

    def _rates(self, t: float, y: Array, u: Array) -> Array:
        columns = np.array([t]), y[:, None], self.start.p[:, None], u[:, None]
        found: Array = self.model._columns("rhs", *columns, None)[:, 0]
        return found

    def _resets(self, row: int) -> str | None:
        """The kernel of the reset of a row; None: it has none."""
        name = f"reset_{int(self.record.rows[row, 1])}"
        return name if name in self._kernels else None

    def _after(self, row: int, y: Array) -> Array:
        """The state after the reset of a row."""
        kernel = self._resets(row)
        if kernel is None:
            return y
        given = float(self.record.rows[row, 0]), y, self.start.p, self._modes(row, 0), np.zeros((len(y), 1))
        found: Array = self._differentiated(self.model, self._address, kernel, *given)[0]
        return found

    def _adjoint(self, kernel: str, at: Side, weights: Array) -> tuple[float, Array, Array]:
        """The derivatives of the weighted results of a kernel: by the time, the state, and parameters and inputs."""
        given = at.t, at.y, self.start.p, at.u, weights[:, None]
        found = self._differentiated(self.model, self._address, kernel, *given)[1][:, 0]
        by_t, by_y, by_rest = np.split(found, np.cumsum([1, len(at.y)]))
        inputs = by_rest[len(self.start.p) :] @ self._rates_of_inputs  # which go on with the time
        return float(by_t[0] + inputs), by_y, by_rest

    def _start(self, at: Side, by_state: Array, by_rest: Array) -> None:
        """Contacts that stick at the start take the slip velocity out of the sensitivities."""
        if "project" in self._kernels:
            _, by_y, more = self._adjoint("project", at, by_state.copy())
            by_state[:] = by_y
            by_rest += more

    def _group(
        self,
        rows: Sequence[int],
        points: Sequence[Array],
        before: Side,
        after: Side,
        by_state: Array,
        by_rest: Array,
    ) -> None:
        """Back over causes that are one, in the order of their resets, with the states at `points` before each."""
        record, along = self.record, by_state.copy()
        ends = self.end is not None and record.rows[rows, 3].any()
        by_t, by_y, by_more = 0.0, along, np.zeros_like(by_rest)
        for i, y in zip(reversed(rows), reversed(points)):
            kernel = self._resets(i)
            if kernel is not None:
                of_t, by_y, of_rest = self._adjoint(kernel, before._replace(y=y), by_y)
                by_t, by_more = by_t + of_t, by_more + of_rest
            for part in self.parts.get(i, []):
                by_t, by_y = by_t + part.by_t, by_y + part.by_y
        c = by_t + float(by_y @ before.rates)
        if ends:
            assert self.end is not None
            c += self.end + self._integrated(rows, before, -1.0)
        elif before is not after:
            c -= float(along @ after.rates)
            c += self._integrated(rows, before, -1.0) - self._integrated(rows, after, 1.0)
        else:
            c -= float(along @ before.rates)
        reached = [int(record.rows[i, 1]) for i in rows if record.group(i)[0] % 1 == 0]
        if c != 0.0 and reached and not (before is after and by_y is along):
            cause = reached[0]
            g_t, g_y, g_rest = self._quantity(cause, before)
            rate = g_t + float(g_y @ before.rates)
            if before is after:
                self._check_crosses(cause, before, rate, g_y)
            by_y = by_y - g_y * (c / rate)
            by_more = by_more - g_rest * (c / rate)
        by_state[:] = by_y
        by_rest += by_more

    def _integrated(self, rows: Sequence[int], at: Side, side: float) -> float:
        """What is integrated, before (-1) or after (1) the causes; beside a kink it is extrapolated from two points."""
        first = len(self.record.events)
        causes = self.record.causes[list(rows)]
        if not ((causes >= first) & (causes < first + len(self.record.kinks))).any():
            return self.integrand(at.t, at.y, at.u)
        direction = side if self.step > 0 else -side
        moment = direction * BESIDE * max(1.0, np.abs(at.y).max()) / max(np.abs(at.rates).max(), 1e-300)
        near, far = (self.integrand(at.t + k * moment, at.y + k * moment * at.rates, at.u) for k in (1, 2))
        return 2.0 * near - far

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
        t, y, u = at.t - moment, at.y - moment * at.rates, at.u.copy()
        u[: len(self._rates_of_inputs)] -= moment * self._rates_of_inputs
        earlier = Side(t, y, u, self._rates(t, y, u))
        e_t, e_y, _ = self._quantity(cause, earlier)
        curvature = (rate - (e_t + float(e_y @ earlier.rates))) / moment
        slack = float(np.abs(g_y) @ self.tolerance(at.y))
        if not rate * rate > 2.0 * abs(curvature) * slack:
            raise self._missing(TANGENTIAL, None, at.t)

    def _missing(self, status: int, row: int | None, t: float = 0.0) -> KernelError:
        """What is raised where there is no derivative."""
        moment = t if row is None else float(self.record.rows[row, 0])
        text = message_of(status, moment, self.model)
        return KernelError(f"gradient: the run of {self.model.name} {text}", status)
