"""Sensitivities of a run: its variational equations integrated with it, and the derivatives of everything it computes.

S = dy/dtheta follows dS/dt = F_y S + F_theta along the run. It starts with the derivative of the map from the declared
initial values and the parameters to the states and parameters of the equations, and jumps with events and contact modes
as in ``runtime/c/cg_variational.h``: P. I. Barton and C. K. Lee, ACM Transactions on Modeling and Computer Simulation
12 (2002) 256-289.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from . import arguments, options
from .arguments import Array
from .assumptions import FLAGS
from .consistency import Accepted
from .derivatives import derivatives
from .errors import ArgumentError
from .event_record import HEAD, EventRecord, functions
from .inputs import Inputs
from .solution import Dense, Solution

if TYPE_CHECKING:
    from .base_model import BaseModel

UNMEASURED = 1e300
"""An absolute tolerance so large that errors of a component count for nothing."""


class Sensitivity:
    """The derivatives of a run by parameters and initial values: ``sol.sensitivity["x", "m"]`` is dx/dm, shape (N,).

    The first name is a state, declared variable, output, reaction, invariant or residual, the second one of `names`.
    `y` (n, k, N) has the states' by all of them; at a reset or a mode change it has both sides, as `Solution.t`.
    """

    def __init__(
        self, solution: Solution, y: Array, start: Start, control: bool, dense: Callable[[Any], Array] | None
    ) -> None:
        self.names, self.y, self.control = start.names, y, control
        self._solution, self._start, self._dense = solution, start, dense

    def __getitem__(self, key: Any) -> Array:
        if not isinstance(key, tuple) or len(key) != 2:
            raise ArgumentError(
                f"sensitivity[{arguments.short(key)}]: give two names, a quantity and one of {', '.join(self.names)}"
            )
        quantity, by = map(arguments.plain_name, key)
        if by not in self.names:
            raise ArgumentError(
                f"sensitivity: the run has none by {by!r}, but by {', '.join(self.names)}"
                f"{arguments.nearest(by, self.names)}"
            )
        model, column = self._solution.model, self.names.index(by)
        if quantity in model.states:
            found: Array = self.y[model.states.index(quantity), column]
            return found
        for kernel, names in (("outputs", model.outputs), ("invariants", model._conserved)):
            if quantity in names:
                rows: Array = self._of_kernel[kernel][names.index(quantity), column]
                return rows
        raise arguments.unknown_quantity(
            quantity, model.name, (*model.states, *model.outputs, *model._conserved)
        )

    def at(self, t: Any) -> Array:
        """dy/dtheta at times t inside a run with ``dense_output=True``: (n, k) for a number, (n, k, N) for (N,)."""
        if self._dense is None:
            raise ArgumentError("sensitivity.at: the run was made without dense_output=True")
        return self._dense(t)

    @cached_property
    def _of_kernel(self) -> dict[str, Array]:
        """The derivatives of outputs, and of invariants and residuals, at the recorded times: (rows, k, N)."""
        solution, model = self._solution, self._solution.model
        found, u, start = derivatives(model), solution._u(), self._start
        result = {}
        for kernel, names in (("outputs", model.outputs), ("invariants", model._conserved)):
            result[kernel] = np.empty((len(names), len(self.names), len(solution.t)))
            for i, t in enumerate(solution.t if names else ()):
                v = np.concatenate([np.zeros((1, len(self.names))), self.y[:, :, i], start.p, start.u])
                result[kernel][:, :, i] = found.along(kernel, t, solution.y[:, i], solution._p, u[:, i], v)
        return result


@dataclass(frozen=True)
class Start:
    """The start of the tangents: dy0/dtheta (n, k), dp/dtheta (np, k) and du/dtheta (nu, k)."""

    names: tuple[str, ...]
    y: Array
    p: Array
    u: Array


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
    how = checked(model, options.of_call(type(model).integrate, dict(keywords)).checked(model))
    control = arguments.boolean("sensitivity_control", control)
    t0, _ = arguments.span(t_span)
    x0, p, controls = model._prepare(t0, initial, parameters, inputs, how.smallest_atol)
    if controls.functions:
        called = ", ".join(controls.names[i] for i in controls.functions)
        raise ArgumentError(
            f"sensitivities: the derivative of an input that is a function is not known: {called}; give numbers or "
            "samples"
        )
    start = _start(model, t0, initial, parameters, (x0, p, controls), names)
    variation = Variation(model, len(start.names), control)
    state = variation.state(x0, start.y)
    atol = np.full(len(state), UNMEASURED)
    atol[: len(x0)] = how.tolerances(model.states)[1]
    if control:
        values = _values(model, t0, x0, p, controls)
        atol[len(x0) :] = variation.blocks(_tolerances(atol[: len(x0)], start, values), fill=UNMEASURED)
    run = variation.model.integrate(
        t_span,
        Accepted(state),
        variation.vector(p, np.concatenate([start.p, start.u])),
        controls,
        t_eval=t_eval,
        dense_output=dense_output,
        events=_of_states(events, len(x0)),
        **{**vars(how), "atol": atol, "kinks": how.kinks or bool(model.kinks)},
    )
    problem = (t_span, x0, t_eval, {**vars(how)}, events)
    return _split(model, run, p, start, variation, control, problem)


def checked(model: Any, how: options.RunOptions) -> options.RunOptions:
    """The options, if there are sensitivities with them."""
    from ._core import methods

    known = [name for name, method in methods().items() if not method.implicit]
    if how.chosen not in known:
        raise ArgumentError(
            f"sensitivities: method {how.chosen!r} does not integrate them; take one of {', '.join(known)}"
        )
    if options.corrects(model, how.project) == "correction_all":
        raise ArgumentError(
            "sensitivities: project='all' has no derivative by the start of a run; use 'constraints'"
        )
    return how


class Variation:
    """The equations of a model with `count` tangents: one larger `model`, which every driver runs.

    With `control` the errors of the tangents count in the choice of steps.
    """

    def __init__(self, model: Any, count: int, control: bool) -> None:
        from ._core import VariationalTable, widest_lanes
        from .model import Model

        self.n, self.count = len(model.states), count
        lanes = min(widest_lanes(), 4 if count <= 4 else 8)
        found = derivatives(model)
        self.table = VariationalTable(model, found.variational(lanes), count)
        self.model = Model(self.table.capsule, owner=self.table)
        self.model._carry(found.variational(lanes), self.n, control)

    def state(self, y: Array, tangents: Array) -> Array:
        """The state of the larger model for y (n,) and tangents (n, count)."""
        return np.concatenate([y, self.blocks(tangents)])

    def vector(self, p: Array, seeds: Array) -> Array:
        """Its parameters for p and the derivatives of p and u by what is varied, (np + nu, count)."""
        return np.concatenate([p, [self.table.blocks], self.blocks(seeds)])

    def blocks(self, columns: Array, fill: float = 0.0) -> Array:
        """Columns (rows, count) in blocks (rows, lanes), one after the other, filled up."""
        table = self.table
        filled = np.full((len(columns), table.width), fill)
        filled[:, : self.count] = columns
        return np.ascontiguousarray(
            filled.reshape(len(columns), table.blocks, table.lanes).swapaxes(0, 1)
        ).ravel()

    def tangents(self, rows: Array) -> Array:
        """The tangents (n, count, N) in N of its states."""
        blocks = rows[self.n :].reshape(-1, self.n, self.table.lanes, rows.shape[-1]).swapaxes(0, 1)
        return np.ascontiguousarray(blocks.reshape(self.n, -1, rows.shape[-1])[:, : self.count])


def _tolerances(atol: Array, start: Start, values: Mapping[str, float]) -> Array:
    """The absolute tolerance of each tangent (n, k): that of the state over the size of what is varied, or 1."""
    sizes = np.array([abs(values.get(name, 1.0)) or 1.0 for name in start.names])
    return np.asarray(atol[:, None] / sizes)


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
    p: Array,
    start: Start,
    variation: Variation,
    control: bool,
    problem: tuple[Any, ...],
) -> Solution:
    """The solution of the model and the sensitivities from that of the larger model."""
    n = len(model.states)
    record, dense = run._event_record, run.sol
    if record is not None:
        record = _states_alone(record, n)
    interpolant = None
    if dense is not None:
        interpolant = Dense.of_states(dense, n)
    solution = Solution(
        model, run.t, np.ascontiguousarray(run.y[:n]), run.status, run.t_reached, p, run._inputs, run.nfev, run.n_steps,
        run.n_rejected, interpolant, problem, run.njev, run.nlu, record,
    )  # fmt: skip

    def at(t: Any) -> Array:
        found = variation.tangents(arguments.wide(dense(t)))
        return found[:, :, 0] if np.ndim(t) == 0 else found

    tangents = variation.tangents(run.y)
    solution.sensitivity = Sensitivity(solution, tangents, start, control, at if dense is not None else None)
    return solution


def _states_alone(record: EventRecord, n: int) -> EventRecord:
    """The log of events without tangents."""
    rows, every = record.rows, record.n
    kept = [rows[:, : HEAD + n], rows[:, HEAD + every : HEAD + every + n], rows[:, HEAD + 2 * every :]]
    paradox = record.paradox and record.paradox._replace(y=record.paradox.y[:n])
    return replace(record, n=n, rows=np.concatenate(kept, axis=1), paradox=paradox)


# ---- the start ----


def _values(model: Any, t0: float, x0: Array, p: Array, controls: Inputs) -> dict[str, float]:
    """Every quantity and parameter at the start, by name."""
    u = model._start(t0, x0, controls)
    values: dict[str, float] = model.evaluate(t0, x0, p, u)
    values |= dict(zip(model.parameters, p.tolist()))
    return values | dict(zip(model.inputs, u.tolist())) | ({} if model.along is None else {model.along: t0})


def _start(
    model: Any, t0: float, initial: Any, parameters: Any, found: tuple[Array, Array, Inputs], names: Any
) -> Start:
    """The derivatives of the start of a run by `names`."""
    x0, p, controls = found
    wanted = _names(model, names)
    given = arguments.by_name("initial", initial) if isinstance(initial, Mapping) else None
    through = given is not None and model.has_initial and not model._direct(given, parameters)
    entries = model.declared if through else model.states
    # of coordinates that the equations have dropped only the given values are known
    values = {**(given or {}), **_values(model, t0, x0, p, controls)}
    follow = (
        model._following(t0, {n: values[n] for n in entries if n in values}, p, controls) if through else ()
    )
    point = _Map(model, t0, x0, p, model._start(t0, x0, controls), through, values)
    missing = [name for name in entries if given is not None and name not in given and name in values]
    dependent = [] if given is None else [n for n in given if n not in entries and model._dependent(n)]
    if not dependent:
        missing = []
    result = Start(
        wanted,
        np.zeros((len(x0), len(wanted))),
        np.zeros((len(p), len(wanted))),
        np.zeros((len(model.inputs), len(wanted))),
    )
    for j, name in enumerate(wanted):
        if name in model.inputs:
            _check_constant(controls, name)
            result.u[model.inputs.index(name), j] = 1.0
        if name in model.parameters and name in follow:
            result.p[model.parameters.index(name), j] = 1.0
        elif name in model.parameters or name in entries or name in dependent or name in model.inputs:
            if given is not None and name in entries and name not in given:
                raise _follows(name, given)
            result.y[:, j], result.p[:, j] = point.along(name, entries, missing, dependent, result.u[:, j])
        elif name in model.states:
            result.y[model.states.index(name), j] = 1.0
        else:
            raise _follows(name, given or dict.fromkeys(model.states))
    return result


class _Map:
    """The map from entries (declared variables, or the states themselves) and parameters to states and parameters."""

    def __init__(
        self, model: Any, t0: float, x0: Array, p: Array, u: Array, through: bool, values: Mapping[str, float]
    ) -> None:
        self.model, self.t0, self.x0, self.p, self.u = model, t0, x0, p, u
        self.through, self.values = through, values

    def moved(self, entries: Array, p: Array, u: Array) -> tuple[Array, Array]:
        """The changes of states and parameters with those of entries, parameters and inputs."""
        if not self.through:
            return entries, p
        model = self.model
        declared = np.array([self.values.get(name, np.nan) for name in model.declared])
        v = np.concatenate([[0.0], entries, p, u])
        rows = derivatives(model).along("initial", self.t0, declared, self.p, self.u, v)
        return rows[: len(self.x0)], rows[len(self.x0) :]

    def along(
        self, name: str, entries: Sequence[str], missing: Sequence[str], dependent: Sequence[str], u: Array
    ) -> tuple[Array, Array]:
        """The derivatives of states and parameters by an entry, a parameter or a dependent variable.

        The `missing` entries are such that the `dependent` variables keep the values that were given for them.
        """
        model = self.model
        e, p = np.zeros(len(entries)), np.zeros(len(self.p))
        if name in entries:
            e[entries.index(name)] = 1.0
        elif name in model.parameters:
            p[model.parameters.index(name)] = 1.0
        if missing:
            places = [entries.index(n) for n in missing]
            goal = np.array([float(name == n) for n in dependent]) - self.outputs(dependent, e, p, u)
            zero = np.zeros(len(entries))
            columns = [self.outputs(dependent, _unit(zero, i), 0.0 * p, 0.0 * u) for i in places]
            e[places] = np.linalg.lstsq(np.array(columns).T, goal, rcond=None)[0]
        return self.moved(e, p, u)

    def outputs(self, names: Sequence[str], entries: Array, p: Array, u: Array) -> Array:
        """The changes of dependent variables."""
        x, parameters = self.moved(entries, p, u)
        v = np.concatenate([[0.0], x, parameters, u])
        rows = derivatives(self.model).along("outputs", self.t0, self.x0, self.p, self.u, v)
        return np.array([rows[self.model.outputs.index(n)] for n in names])


def _unit(zero: Array, index: int) -> Array:
    result: Array = zero.copy()
    result[index] = 1.0
    return result


def _names(model: Any, names: Any) -> tuple[str, ...]:
    """The names of what is varied, checked."""
    if isinstance(names, str) or hasattr(names, "name"):
        names = (names,)
    if not isinstance(names, Sequence) or not len(names):
        raise ArgumentError(
            f"sensitivities = {arguments.short(names)}; give names of parameters and initial values"
        )
    wanted = tuple(arguments.plain_name(name) for name in names)
    known = (*model.parameters, *dict.fromkeys((*model.declared, *model.states)), *model.inputs)
    for i, name in enumerate(wanted):
        if name not in known and not model._dependent(name):
            raise arguments.unknown_entry("sensitivities", [name], known)
        if name in wanted[:i]:
            raise ArgumentError(f"sensitivities: {name} is given twice")
        if name in model.variables and model.variables[name].flags & FLAGS["INTEGER"]:
            raise ArgumentError(f"sensitivities: {name} is declared an integer; there is no derivative by it")
        if name == model.along:
            raise ArgumentError(f"sensitivities: {name} is the independent variable of the form {model.form}")
    return wanted


def _check_constant(controls: Inputs, name: str) -> None:
    if controls.names.index(name) in controls.signals:
        raise ArgumentError(
            f"sensitivities: {name} is an input that varies in time; declare a factor of it as a parameter"
        )


def _follows(name: str, given: Mapping[str, Any]) -> ArgumentError:
    return ArgumentError(
        f"sensitivities: the initial value of {name} follows from others; vary one of {', '.join(given)}"
    )
