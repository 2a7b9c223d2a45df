"""A run as data: times, states, how it ended, and every declared quantity by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from chaplygin._lazy import later
from chaplygin.errors import ArgumentError

from .. import problem
from ..interface.arguments import Array
from ..interface.statuses import PIVOT, SINGULAR, message_of
from ..problem.continued import Continued, last
from ..problem.options import RunOptions

if TYPE_CHECKING:
    from ..interface.base_model import BaseModel
    from .event_record import ContactMode, EventRecord, Paradox
    from .named_derivatives import RunDerivatives
    from .series import Series

row_sides = later("chaplygin.runtime.results.row_sides")
series = later("chaplygin.runtime.results.series")


class Problem(NamedTuple):
    """The initial value problem of a run, except its parameters and inputs, and the options for solving it."""

    t_span: tuple[float, float]
    x0: Array
    t_eval: Array | None
    options: RunOptions
    events: Any
    past: tuple[float, ...] = ()


class RunData(Continued):
    """What a run leaves, for all that reads it; `Solution`, which users hold, adds the views of it."""

    __slots__ = (
        "_dense", "_end", "_event_record", "_inputs", "_named", "_p", "_posed", "model", "n_rejected", "n_steps",
        "nfev", "njev", "nlu", "sensitivity", "sol", "status", "t", "t_events", "t_reached", "y", "y_events",
    )  # fmt: skip

    def __init__(
        self, model: BaseModel, t: Array, y: Array, status: int, t_reached: float, p: Array,
        inputs: problem.Inputs | Array, nfev: int, n_steps: int, n_rejected: int, sol: Any, problem: tuple[Any, ...],
        njev: int = 0, nlu: int = 0, event_record: EventRecord | None = None, end: Array | None = None,
    ) -> None:  # fmt: skip
        # At most three in a statement: more would be packed into a tuple, which a short run notices.
        self.model, self.t, self.y = model, t, y
        self.status, self.t_reached, self.sol = status, t_reached, sol
        self._p, self._inputs = p, inputs
        self.nfev, self.njev, self.nlu = nfev, njev, nlu
        self.n_steps, self.n_rejected = n_steps, n_rejected
        self._posed: Any = problem
        self._event_record = event_record
        self._end = end  # the state at `t_reached`, if that is not the last point
        self.t_events: list[Array] | None = None
        self.y_events: list[Array] | None = None
        if event_record is not None and (event_record.events or event_record.functions):
            self.t_events, self.y_events = event_record.events_of_all()
        self._named: Series | None = None
        self.sensitivity: RunDerivatives | None = None

    @property
    def _problem(self) -> Problem:
        """Made when it is first read, of keywords in the place of the options: that takes longer than a short run."""
        if isinstance(self._posed[3], dict):
            t_span, x0, t_eval, keywords, events, past = self._posed
            self._posed = Problem(t_span, x0, t_eval, RunOptions(**keywords), events, past)
        made: Problem = self._posed
        return made

    @property
    def options(self) -> RunOptions:
        """How it was run: `method`, `rtol` and the other options, which cannot be changed."""
        return self._problem.options

    @property
    def success(self) -> bool:
        """Whether the end or a terminal event was reached."""
        return self.status >= 0

    @property
    def method(self) -> str:
        """The integration method of the run."""
        return str(self.options.method)

    @property
    def message(self) -> str:
        """How the run ended, and when.

        With redundant constraints also which multipliers were computed, where the velocities kept as states do not
        determine the others, and a constraint that the run has left by more than its tolerances explain.
        """
        end = message_of(self.status, self.t_reached, self.model, self._event_record)
        if self.model.has_redundant_constraints:
            end += "; constraints are redundant: their multipliers are those of least norm"
        if PIVOT in self.model._entries and self.status != SINGULAR:
            lost = problem.loss(self.model, self.t, self.y, self._p, self._u(), self.status)
            end = f"{end}; {lost}" if lost else end
        off = self._drift()
        return f"{end}; {off}" if off else end

    def _drift(self) -> str:
        """What to say of the constraints that the run has left at its end."""
        model = self.model
        if self.status < 0 or set(model.residuals).isdisjoint(model.checked_at_start):
            return ""
        t = np.array([self._problem.t_span[0], self.t_reached])
        y = np.column_stack([self._problem.x0, self.y[:, -1] if self._end is None else self._end])
        u = self._inputs.at(t, y) if not isinstance(self._inputs, np.ndarray) else self._inputs[:, None]
        return problem.drift(self.model, t, y, self._p, u, self.options)

    def _report_drift(self) -> None:
        """Warn of it; not where the constraints are left to themselves, by ``project=None``."""
        text = "" if self.options.project is None else self._drift()
        if text:
            problem.warn(f"{self.model.name}: {text}", RuntimeWarning)

    @property
    def modes(self) -> list[ContactMode]:
        """The history of the contact modes; empty without contacts."""
        return [] if self._event_record is None else self._event_record.history(self.t_reached)

    @property
    def paradox(self) -> Paradox | None:
        """Where a run ended with status -10, and the solutions found there; None for other runs."""
        return None if self._event_record is None else self._event_record.paradox

    @property
    def t_kinks(self) -> dict[str, Array]:
        """The times of the kinks of the model by name, with ``kinks=True``."""
        if self._event_record is None:
            return {}
        first = len(self._event_record.events)
        return {name: self._event_record.of(first + i)[0] for i, name in enumerate(self._event_record.kinks)}

    @property
    def names(self) -> tuple[str, ...]:
        """Everything that ``sol[name]`` knows."""
        return self.model.quantities

    def __getitem__(self, name: Any) -> Array:
        return self._series()[name]

    def interpolant(self) -> Any:
        """`sol`, or where the run was made without it, that of the same run repeated; it is kept.

        Raises `ArgumentError` for a run that gives other numbers when it is repeated.
        """
        if self.sol is not None:
            return self.sol
        if getattr(self, "_dense", None) is None:
            repeated = self._repeat()
            same = repeated.t_reached == self.t_reached and np.array_equal(repeated.y, self.y, equal_nan=True)
            if not same:
                raise ArgumentError(
                    f"the run of {self.model.name} gave different numbers when it was repeated (does an input function "
                    "depend on more than (t, y)?): integrate with dense_output=True, which keeps what is between its "
                    "points"
                )
            self._dense = repeated.sol
        return self._dense

    def _leaves(self) -> tuple[Array, Array, Any]:
        """Its last point. Raises ArgumentError if the run failed, or if its points end before it."""
        state = last(self.y)
        if self.status < 0:
            raise ArgumentError(
                f"initial is a run that {self.message}: its last state is that of t = {self.t[-1]:g}; "
                "give sol.y[:, -1] to begin with it"
            )
        if self.t[-1] != self.t_reached:
            raise ArgumentError(
                f"initial is a run to t = {self.t_reached:g}, of which t_eval keeps no point after t = {self.t[-1]:g}; "
                "add its end to t_eval, or give sol.y[:, -1] to begin with that point"
            )
        return state, self._p, self._inputs

    def _past(self) -> tuple[float, ...]:
        if self._event_record is None or self.status != 1:
            return ()
        return self._event_record.of_end(
            max(abs(self._problem.t_span[0]), abs(self.t_reached), np.finfo(float).tiny)
        )

    @property
    def _tolerances(self) -> tuple[float, Array]:
        """rtol and atol (n,) of the run; rtol is NaN for a fixed step."""
        if not self.model.methods[self.method].adaptive:
            return np.nan, np.zeros(len(self.model.states))
        return self.options.tolerances(self.model.states)

    def _repeat(self) -> RunData:
        """The same run repeated, with its interpolant."""
        posed = self._problem
        integrate: Any = self.model.integrate  # type: ignore[attr-defined]
        varied = {}
        if self.sensitivity is not None:
            varied = {
                "sensitivities": self.sensitivity.names,
                "sensitivity_control": self.sensitivity.control,
            }
        found: RunData = integrate(
            posed.t_span,
            problem.Accepted(posed.x0, posed.past),
            self._p,
            self._inputs,
            t_eval=posed.t_eval,
            dense_output=True,
            events=posed.events,
            **varied,
            **vars(posed.options),
        )
        return found

    def _u(self) -> Array:
        """The inputs at each point (nu, N), followed by the contact modes if the model has contacts."""
        return self._points()[2]

    def _points(self) -> tuple[Array, Array, Array]:
        """The times and states at which quantities are evaluated, see `row_sides`, and `_u`."""
        span = float(self._problem.t_span[0]), self.t_reached
        points: tuple[Array, Array, Array] = row_sides.Points(
            self.model, *span, self.t, self.y, self._p, self._inputs, self._event_record
        ).evaluated()
        return points

    def _series(self) -> Series:
        if self._named is None:
            self._named = series.Series(self.model, self.t, self.y, self._p, self._points)
        return self._named
