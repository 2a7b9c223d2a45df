"""Sensitivities of a run: its variational equations integrated with it, and the derivatives of everything it computes.

S = dy/dtheta follows dS/dt = F_y S + F_theta along the run. It starts with the derivative of the map from the declared
initial values and the parameters to the states and parameters of the equations, and jumps with events and contact modes
as in ``runtime/c/cg_variational.h``: P. I. Barton and C. K. Lee, ACM Transactions on Modeling and Computer Simulation
12 (2002) 256-289.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array
from ..interface.base_model import BaseModel
from ..problem import options, pivots
from ..problem.consistency import Accepted
from ..problem.event_functions import functions
from ..results.dense import Dense
from ..results.event_record import EventRecord
from ..results.named_derivatives import RunDerivatives
from ..results.run_data import Problem
from ..results.solution import Solution
from .events import EventSensitivity, at_end, at_events
from .variation import VariedRun, along, moved, varied_run


class Sensitivity(RunDerivatives):
    """The derivatives of a run by parameters and initial values: ``sol.sensitivity["x", "m"]`` is dx/dm, shape (N,).

    The first name is a state, declared variable, output, reaction, invariant or residual, or "t", the second one of
    `names`. `y` (n, k, N) has the states' by all of them; at a reset or a mode change it has both sides, as
    `Solution.t`. The derivatives are those at a fixed time, except in the last column of a run that an event ended
    (without `t_eval`): there they are total derivatives, with the change of the time of the event. `events` has those
    at each event.
    """

    def __init__(
        self,
        solution: Solution,
        given: VariedRun,
        tangents: Array,
        dense: Callable[[Any], Array] | None,
        record: EventRecord | None,
    ) -> None:
        y = np.ascontiguousarray(tangents)
        super().__init__(solution.model, given.start.names, y, given.variation.control)
        self._solution, self._given, self._dense, self._record = solution, given, dense, record
        self._events: dict[str, EventSensitivity] | None = None
        problem = solution._problem
        if record is not None and solution.status == 1 and problem.t_eval is None:
            self.y[:, :, -1], self.delays[:, -1] = at_end(given, record, problem.events, self._step)

    @property
    def _step(self) -> float:
        """A step of mean length."""
        solution = self._solution
        return (solution.t_reached - self._given.t0) / max(solution.n_steps, 1) or 1.0

    @property
    def events(self) -> dict[str, EventSensitivity]:
        """By name of each event of the model, and of Python events as "events[0]": an `EventSensitivity`."""
        if self._events is None:
            called = self._solution._problem.events
            self._events = (
                {} if self._record is None else at_events(self._given, self._record, called, self._step)
            )
        return self._events

    def at(self, t: Any) -> Array:
        """dy/dtheta at times t inside a run with ``dense_output=True``: (n, k) for a number, (n, k, N) for (N,).

        At the end too the time is fixed: where an event ended the run, `y` has the total derivatives.
        """
        if self._dense is None:
            raise ArgumentError("sensitivity.at: the run was made without dense_output=True")
        return self._dense(t)

    def _of_kernel(self, kernel: str, rows: int) -> Array:
        solution = self._solution
        p, later = solution._p[:, None], self.delays.any(axis=0)
        slopes = np.zeros((len(self._model.inputs), len(solution.t)))
        slopes[:, later] = self._given.inputs.slopes(solution.t[later], self._step, self._given.t0)
        seeds = moved(self._given.start.seeds[:, :, None], slopes, self.delays)
        t, y, u = solution._points()
        return along(self._model, kernel, t, y, p, u, self.y, seeds, self.delays)


def integrate(
    model: Any,
    t_span: Any,
    initial: Any,
    parameters: Any,
    inputs: Any,
    names: Any,
    control: bool,
    t_eval: Any,
    dense_output: bool,
    events: Any,
    keywords: Mapping[str, Any],
) -> Solution:
    """The run of `Model.integrate` with its `Sensitivity`; the arguments are those of `Model.integrate`."""
    how = options.of_call(type(model).integrate, dict(keywords)).checked(model)
    t0, _ = arguments.span(t_span)
    given = varied_run(model, t0, initial, parameters, inputs, names, control, how)
    run = given.variation.model.integrate(
        t_span,
        Accepted(given.state, given.past),
        given.vector,
        given.inputs,
        t_eval=t_eval,
        dense_output=dense_output,
        events=_of_states(events, len(given.x0)),
        **vars(given.options),
    )
    return _split(model, run, given, Problem(t_span, given.x0, t_eval, how, events, given.past))


def _of_states(events: Any, n: int) -> Any:
    """Python events of the first n states."""

    def of(function: Any) -> Callable[[float, Array], Any]:
        def event(t: float, y: Array) -> Any:
            return function.call(t, y[:n])

        event.terminal, event.direction = function.limit, function.direction  # type: ignore[attr-defined]
        return event

    return None if events is None else [of(function) for function in functions(events)]


def _split(
    model: BaseModel,
    run: Solution,
    given: VariedRun,
    problem: Problem,
) -> Solution:
    """The solution of the model and the sensitivities from that of the larger model."""
    n, variation, sizes = len(model.states), given.variation, given.start.sizes[:, None]
    record, dense = run._event_record, run.sol
    if record is not None:
        record = record.of_states(n)
    interpolant = None
    if dense is not None:
        interpolant = Dense.of_states(dense, n)
    solution = Solution(
        model, run.t, np.ascontiguousarray(run.y[:n]), run.status, run.t_reached, given.p, run._inputs, run.nfev,
        run.n_steps, run.n_rejected, interpolant, problem, run.njev, run.nlu, record,
        None if run._end is None else run._end[:n].copy(),
    )  # fmt: skip

    def at(t: Any) -> Array:
        found = variation.tangents(arguments.wide(dense(t)), sizes)
        return found[:, :, 0] if np.ndim(t) == 0 else found

    solution.sensitivity = Sensitivity(
        solution,
        given,
        variation.tangents(run.y, sizes),
        at if dense is not None else None,
        run._event_record,
    )
    pivots.report(model, solution.t, solution.y, solution._p, solution._u(), solution.status)
    solution._report_drift()
    return solution
