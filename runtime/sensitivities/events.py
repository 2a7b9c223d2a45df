"""Derivatives at the events of a run: of their times, and of the states and quantities before and after them.

At an event g(t, y, theta) = 0 of a motion with the rates F and the sensitivities S,

    dt*/dtheta = -(g_y S + g_theta) / (g_t + g_u du/dt + g_y F),

and the state of the event, as a function of theta, has the total derivative S + F dt*/dtheta: P. I. Barton and C. K.
Lee, ACM Transactions on Modeling and Computer Simulation 12 (2002) 256-289.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .. import core
from ..interface.arguments import Array
from ..model.derivatives import derivatives, lanes_for
from ..problem.event_functions import functions, value_of
from ..results.event_record import HEAD, EventRecord
from ..results.named_derivatives import NamedDerivatives
from .differences import SHARE, central
from .variation import VariedRun, along, moved

MOMENT = 1e-4
"""The part of a mean step over which the change of a rate is measured."""


class EventSensitivity:
    """The derivatives at the m occurrences of one event, in the order of ``sol.t_events``.

    `t` (m, k): those of the times, by each of `names`. ``found["x", "m"]`` (m,) is the total derivative of a quantity
    at the event, before a reset, as ``sol.y_events`` has its states: of what is read off when the event occurs, at a
    time that changes too. `before` and `after` the reset have the same for both sides, with those of the states by all
    names in `y` (n, k, m). NaN where the motion touches the surface of the event tangentially: there is no derivative.

    >>> import chaplygin as cg
    >>> z, g = cg.coordinates("z"), cg.parameters("g", positive=True)
    >>> floor = cg.Event(z, direction=-1, terminal=True, name="floor")
    >>> stone = cg.System("stone", coordinates=[z], kinetic=cg.rate(z)**2/2, potential=g*z, events=[floor]).compile()
    >>> sol = stone.integrate((0, 9), {"z": 5, "z_dot": 0}, {"g": 10}, sensitivities=["g", "z"])
    >>> found = sol.sensitivity.events["floor"]
    >>> found.t.round(9)    # t = sqrt(2 z / g) = 1: dt/dg = -t / 2g, dt/dz = t / 2z
    array([[-0.05,  0.1 ]])
    >>> found["z_dot", "g"].round(9)    # z_dot = -sqrt(2 g z)
    array([-0.5])
    """

    def __init__(self, before: EventSide, after: EventSide) -> None:
        self.names, self.before, self.after = before.names, before, after
        self.t: Array = before.delays.T.copy()

    def __getitem__(self, key: Any) -> Array:
        found: Array = self.before[key]
        return found

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        return f"<EventSensitivity: {len(self)} occurrences, by {', '.join(self.names)}>"


class EventSide(NamedDerivatives):
    """The total derivatives on one side of the occurrences of an event."""

    def __init__(
        self, given: VariedRun, t: Array, y: Array, u: Array, slopes: Array, tangents: Array, delays: Array
    ) -> None:
        super().__init__(given.variation.base, given.start.names, tangents, given.variation.control, delays)
        self._point = t, y, given.p[:, None], u
        self._seeds = moved(given.start.seeds[:, :, None], slopes, delays)

    def _of_kernel(self, kernel: str, rows: int) -> Array:
        return along(self._model, kernel, *self._point, self.y, self._seeds, self.delays)


def at_events(given: VariedRun, record: EventRecord, called: Any, step: float) -> dict[str, EventSensitivity]:
    """Those of every event of a run by name, from its log with tangents.

    `called`: the Python events; `step`: a step of mean length, with the sign of the direction.
    """
    first = len(record.events) + len(record.kinks)
    calls = dict(enumerate((each.call for each in functions(called)), first))
    return {
        record.name(cause): _Rows(given, record, record.causes == cause, step).found(cause, calls)
        for cause in (*range(len(record.events)), *calls)
    }


def at_end(given: VariedRun, record: EventRecord, called: Any, step: float) -> tuple[Array, Array]:
    """The total derivatives (n, k) of the last state of a run that an event ended, and those (k,) of its time."""
    ending = int(np.flatnonzero(record.rows[:, 3])[0])
    cause = int(record.causes[ending])
    if cause < len(record.events):
        last = record.rows[-1, HEAD + record.n : HEAD + 2 * record.n]
        found, delays = given.variation.total(last, given.start.sizes, True)
        return found, delays
    first = len(record.events) + len(record.kinks)
    calls = dict(enumerate((each.call for each in functions(called)), first))
    rows = _Rows(given, record, [ending], step)
    delays = rows.delays(cause, calls)
    return rows.totals(delays)[1][:, :, 0], delays[:, 0]


Slope = Callable[["_Rows", Array, Array, Array, Array, Array], Array]
"""The derivatives (k, m) of an event's quantity at t (m,), y (n, m) along tangents (n, k, m), seeds, delays (k, m)."""

Calls = Mapping[int, Callable[[float, Array], Any]]
"""Python events by cause."""


def _slope_of(cause: int, calls: Calls) -> Slope:
    """That of an event of the model from its kernel, of a Python event by differences of the fourth order."""

    def compiled(rows: _Rows, t: Array, y: Array, tangents: Array, seeds: Array, delays: Array) -> Array:
        seeds = moved(seeds, rows.slopes, delays)
        found = along(rows.model, "guards", t, y, rows.p, rows.before(t), tangents, seeds, delays)
        return np.asarray(found[cause])

    def differences(rows: _Rows, t: Array, y: Array, tangents: Array, seeds: Array, delays: Array) -> Array:
        size = np.abs(y).max(axis=0, initial=0.0) + (y == 0).all(axis=0)
        fastest = np.abs(tangents).max(axis=0, initial=0.0)  # (k, m)
        h = SHARE * size / np.where(fastest > 0, fastest, 1.0)

        def at(moved: int) -> Array:
            moments, states = t + moved * h * delays, y[:, None] + moved * h * tangents
            found = [
                value_of(calls[cause](moments[i, j], states[:, i, j].copy()), cause, moments[i, j])
                for i, j in np.ndindex(h.shape)
            ]
            values: Array = np.array(found).reshape(h.shape)
            return values

        return np.asarray(central(at, h))

    return differences if cause in calls else compiled


class _Rows:
    """Some rows of the log of a run, of one cause: times t (m,), y, u before and after, tangents and rates before."""

    def __init__(self, given: VariedRun, record: EventRecord, which: Any, step: float) -> None:
        variation, log = given.variation, record.rows[which].T
        n, modes = variation.n, len(record.contacts) + len(record.signs)
        sides = [log[HEAD + i * record.n : HEAD + (i + 1) * record.n] for i in (0, 1)]
        self.given, self.model, self.step, self.p = given, variation.base, step, given.p[:, None]
        self.record, self.which = record, np.arange(len(record.rows))[which]
        self.t = log[0].copy()
        self.y = [np.ascontiguousarray(side[:n]) for side in sides]
        first = np.array([record.instant_of(i) for i in self.which], dtype=np.int64)
        begins = record.rows[first].T
        self.tangents = variation.tangents(begins[HEAD : HEAD + record.n], given.start.sizes[:, None])
        self.tangents = np.ascontiguousarray(self.tangents)
        inputs = given.inputs.at(self.t, self.y[0])
        at = HEAD + 2 * record.n
        self.u = [np.concatenate([inputs, log[at + i * modes : at + (i + 1) * modes]]) for i in (0, 1)]
        last = np.array(
            [i + 1 == len(record.rows) or record.instant_of(i + 1) > i for i in self.which], dtype=bool
        )
        self.u[1][:, ~last] = self.u[0][:, ~last]  # modes change after the last of several resets
        self.first, self.slopes = (
            first,
            given.inputs.slopes(self.t, step, record.before(given.t0)[self.which]),
        )
        lanes = lanes_for(variation.count)
        self._kernels = core.differentials(self.model, derivatives(self.model).address("along", lanes))
        self.rates = self._rates(self.t, self.y[0], self.u[0])
        for column, row in enumerate(first):
            if record.causes[row] < record.first_function:  # the side of a kink is known there
                self.rates[:, column] = record.group(row)[1][:n]

    def _rates(self, t: Array, y: Array, u: Array) -> Array:
        return np.asarray(self.model._columns("rhs", t, y, self.p, u, None, False))

    def before(self, t: Array) -> Array:
        """The inputs and modes before the events, continued to times t (m,)."""
        u: Array = self.u[0].copy()
        u[: len(self.slopes)] += self.slopes * (t - self.t)
        return u

    def delays(self, cause: int, calls: Calls) -> Array:
        """The derivatives (k, m) of the times at which a quantity is zero there.

        NaN at tangential events, as `cg_touches` (cg_causes_inline.h).
        """
        slope = _slope_of(cause, calls)
        t, y, rates, n = self.t, self.y[0], self.rates, len(self.y[0])
        seeds, none = self.given.start.seeds[:, :, None], np.zeros((len(self.given.start.seeds), 1, 1))
        still, moving = np.zeros((len(self.given.start.names), len(t))), np.ones((1, len(t)))
        rate = slope(self, t, y, rates[:, None], none, moving)[0]
        tolerance = self.given.options.rtol * np.abs(y) + self.given.options.atol[:n, None]
        errors = np.eye(n)[:, :, None] * tolerance[:, None]
        slack = np.abs(slope(self, t, y, errors, np.repeat(none, n, axis=1), np.zeros((n, len(t))))).sum(
            axis=0
        )
        moment = MOMENT * self.step
        earlier = t - moment, y - moment * rates
        rates_earlier = self._rates(*earlier, self.before(earlier[0]))
        rate_earlier = slope(self, *earlier, rates_earlier[:, None], none, moving)[0]
        curvature = (rate - rate_earlier) / moment
        crosses = rate**2 > 2.0 * np.abs(curvature) * slack
        by_start = slope(self, t, y, self.tangents, seeds, still)
        found = np.where(crosses, -by_start / np.where(crosses, rate, 1.0), np.nan)
        least = np.abs(moment) * (np.abs(rate) + np.abs(rate_earlier)) + slack
        for column in self._jumped(cause, moment, least):
            found[:, column] = self._with_kinks(column, cause)
        found[:, [self._with_input(row) for row in self.which]] = 0.0
        return found

    def _jumped(self, cause: int, moment: float, least: Array) -> list[int]:
        """The columns with kinks whose guard was further from zero than `least` a moment before."""
        record, n = self.record, len(self.y[0])
        if cause >= record.first_function:
            return []
        t, y = self.t - moment, record.rows[self.first, HEAD : HEAD + n].T - moment * self.rates
        guard = self.model._columns("guards", t, y, self.p, self.before(t), None, False)[cause]
        return [
            column
            for column in np.flatnonzero(np.abs(guard) > least).tolist()
            if record.at_kink(*self._instant(self.which[column]))
        ]

    def _with_kinks(self, column: int, cause: int) -> Array:
        """The derivatives (k,) of the time of kinks that carry a guard over zero; NaN if they differ, or for a kink."""
        record, (first, last) = self.record, self._instant(self.which[column])
        one = _Rows(self.given, record, [first], self.step)
        kinks = {
            i for i in record.causes[first:last].tolist() if len(record.events) <= i < record.first_function
        }
        found = [one.delays(kink, {})[:, 0] for kink in sorted(kinks) if cause < len(record.events)]
        known = [delays for delays in found if not np.isnan(delays).any()]
        same = known and all(np.allclose(delays, known[0], 1e-6, 1e-9) for delays in known)
        return known[0] if same else np.full(len(self.given.start.names), np.nan)

    def _instant(self, row: int) -> tuple[int, int]:
        """The first row of the instant of one, and the first row after it."""
        after, begin = row + 1, int(self.record.instant_of(row))
        while after < len(self.record.rows) and self.record.instant_of(after) == begin:
            after += 1
        return begin, after

    def _with_input(self, row: int) -> bool:
        """Whether an input that jumps carries the quantity of a row over zero, at a time that is given."""
        own = self.record.group(row)[0]
        reached = {self.record.group(i)[0] for i in range(*self._instant(row))}
        return own % 1 == 0.5 and math.floor(own) not in reached

    def totals(self, delays: Array) -> tuple[Array, Array]:
        """The total derivatives (n, k, m) of the states before and after: through the resets of the same instant."""
        before = np.asarray(self.tangents + self.rates[:, None] * delays)
        for column, (begin, row) in enumerate(zip(self.first, self.which)):
            for earlier in range(begin, row):
                before[:, :, column] = self._reset(earlier, column, before, delays)
        after = before.copy()
        for column, row in enumerate(self.which):
            after[:, :, column] = self._reset(row, column, after, delays)
        return before, after

    def _reset(self, row: int, column: int, totals: Array, delays: Array) -> Array:
        """Those (n, k) after the reset of a row, from totals (n, k, m) before it."""
        record, n, here = self.record, self.given.variation.n, slice(column, column + 1)
        kernel = f"reset_{record.causes[row]}"
        if kernel not in self._kernels:
            return totals[:, :, column]
        y = record.rows[row, HEAD : HEAD + n, None].copy()
        seeds = moved(self.given.start.seeds[:, :, None], self.slopes[:, here], delays[:, here])
        at = self.model, kernel, self.t[here], y, self.p, self.u[0][:, here]
        return along(*at, totals[:, :, here], seeds, delays[:, here])[:, :, 0]

    def found(self, cause: int, calls: Calls) -> EventSensitivity:
        delays = self.delays(cause, calls)
        before, after = (
            EventSide(self.given, self.t, self.y[i], self.u[i], self.slopes, total, delays)
            for i, total in enumerate(self.totals(delays))
        )
        return EventSensitivity(before, after)
