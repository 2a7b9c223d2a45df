"""The work of an ensemble: a job that can be sent anywhere, parts that are ready to run here, and observers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chaplygin._lazy import later
from chaplygin.errors import ArgumentError

from .. import core, sensitivities as tangents
from ..draws.draws import Draws
from ..interface import arguments
from ..interface.arguments import Array, positive
from ..interface.statuses import INPUT_FAILED, INTERRUPTED
from ..model.expressions import address_of, library_of
from ..model.lanes import lane_set, one_at_a_time
from ..problem.consistency import Accuracy, check_start
from ..problem.given_inputs import parse
from ..problem.inputs import Inputs
from ..problem.options import RunOptions
from ..problem.random_inputs import RandomInput
from ..problem.sample_rows import KEPT, SampleRows, are_rows, by_rows
from .start import Columns, Start

if TYPE_CHECKING:
    from .sensitivities import EnsembleSensitivity

derivatives = later("chaplygin.runtime.ensembles.sensitivities")

COLUMNS = ("y", "t", "status", "nfev", "n_steps", "end", "observed")
"""What `Results` have of each trajectory, along the last axis of each."""
INT32, INT64 = np.dtype(np.int32), np.dtype(np.int64)
FEW = 512
"""Numbers of states that stay in the cache wherever they begin."""
Room = tuple[Array, Array | None, NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]
"""y, end, nfev, n_steps and status of `Results`."""
KINDS = ("integral", "peak", "minimum")
"""In the order of enum cg_observed_kind."""


@dataclass(eq=False)
class Results:
    """What trajectories leave behind: y (n_states, n_times, N), and t, status, nfev and n_steps (N,).

    end (n_states, N): the final states, if they are kept beside those at given times. events (k, 3): trajectory, index
    of the event and time of each event, by trajectory and then by time, if the model has events. observed (2, k, N):
    what an `Observer` found, values and times. lanes: how many trajectories ran side by side.
    """

    y: Array
    t: Array
    status: NDArray[np.int32]
    nfev: NDArray[np.int64]
    n_steps: NDArray[np.int64]
    end: Array | None = None
    events: Array | None = None
    observed: Array | None = None
    lanes: int = 1

    @classmethod
    def room(cls, states: int, times: int, count: int, end: bool = False, observed: int = 0) -> Results:
        """Arrays for `count` trajectories that have not ended: only their status is set."""
        make = _apart if states * times * count < FEW else _together
        try:
            y, ends, nfev, n_steps, status = make(states, times, count, end)
            t = np.empty(count)
            along = np.full((2, observed, count), np.nan) if observed else None
        except (MemoryError, ValueError) as error:  # ValueError: the number of bytes overflows
            raise ArgumentError(
                f"n = {count} trajectories of {states} states at {times} times do not fit into memory: {error}"
            ) from error
        status.fill(INTERRUPTED)
        return cls(y, t, status, nfev, n_steps, ends, observed=along)

    def complete(self, t0: float) -> int:
        """Set what an interrupted run left of the trajectories that have not ended; returns how many have."""
        left = self.status == INTERRUPTED
        if left.any():
            for states in (self.y, self.end):
                if states is not None:
                    states[..., left] = np.nan
            self.t[left] = t0
            self.nfev[left] = self.n_steps[left] = 0
        return int((~left).sum())

    def put(self, place: int | NDArray[np.int64], part: Results) -> None:
        """Take over the results of trajectories that ran elsewhere: of those from `place` on, or of these numbers."""
        numbers = place if isinstance(place, np.ndarray) else place + np.arange(len(part.t))
        where = numbers if isinstance(place, np.ndarray) else slice(place, place + len(part.t))
        for name in COLUMNS:
            if getattr(self, name) is not None:
                getattr(self, name)[..., where] = getattr(part, name)
        self.lanes = max(self.lanes, part.lanes)
        if part.events is not None:
            found = part.events.copy()
            found[:, 0] = numbers[found[:, 0].astype(np.int64)]
            found = found if self.events is None else np.concatenate([self.events, found])
            self.events = found[np.argsort(found[:, 0], kind="stable")]

    def of(self, numbers: NDArray[np.int64]) -> Results:
        """A copy of the results of these trajectories, in increasing order, which are numbered from 0 in it."""
        columns = {name: getattr(self, name) for name in COLUMNS}
        taken: dict[str, Any] = {
            name: None if rows is None else rows[..., numbers] for name, rows in columns.items()
        }
        events = self.events
        if events is not None:
            places = np.full(len(self.t), -1)
            places[numbers] = np.arange(len(numbers))
            trajectory = places[events[:, 0].astype(np.int64)]
            events = np.column_stack([trajectory, events[:, 1:]])[trajectory >= 0]
        return Results(**taken, events=events, lanes=self.lanes)


@dataclass(eq=False)
class EnsembleJob:
    """`count` independent trajectories of one model over `t_span`; with `t_eval` None their final states are kept.

    `initial` and `parameters` are as given to `ensemble`, the other arguments checked. A job can be pickled if its
    model was loaded from a file and its input functions can be pickled: the model is then pickled as that file's path.
    """

    model: Any
    t_span: tuple[float, float]
    t_eval: Array | None
    count: int
    initial: Any
    parameters: Any
    inputs: Inputs
    options: RunOptions
    lanes: int | None = None
    draws: Draws | None = None
    keep_end: bool = False
    """Whether the final states are kept beside those at `t_eval`."""
    observer: Observer | None = None
    sensitivities: tuple[str, ...] | None = None
    """What the states are differentiated by; `Results.y` then has the tangents after the states (`Variation`)."""
    sensitivity_control: bool = True
    past: Array | None = None
    """See `past_of`; (n_events,) or (n_events, N)."""

    @classmethod
    def of(
        cls, model: Any, t_span: Any, count: int, initial: Any, parameters: Any, inputs: Any, t_eval: Any, lanes: Any,
        options: RunOptions, draws: Draws | None = None, keep_end: bool = False, observer: Observer | None = None,
        sensitivities: Any = None, sensitivity_control: Any = True, past: Array | None = None,
    ) -> EnsembleJob:  # fmt: skip
        """The job of a call of `ensemble`, with its arguments checked, except the starts."""
        t0, t1 = arguments.span(t_span)
        moments = None if t_eval is None else arguments.times("t_eval", t_eval, t0, t1)
        if t1 < t0 and model.contacts:
            raise arguments.backward("t_span", "t1 >= t0")
        checked = options.checked(model)
        controls = parse(inputs, model.inputs, count, model._input_flags).ready(checked.method, t0, t1)
        by = None
        if sensitivities is not None:
            by = tangents.varied(model, sensitivities, checked, controls)
        return cls(
            model,
            (t0, t1),
            moments,
            count,
            initial,
            parameters,
            controls,
            checked,
            lanes,
            draws,
            keep_end,
            observer,
            by,
            arguments.sensitivity_control(sensitivity_control, sensitivities),
            past,
        )

    def part(self, first: int = 0, last: int | None = None) -> EnsemblePart:
        """Trajectories first <= j < last, ready to run. Raises `ArgumentError` for a start that no run could take."""
        return EnsemblePart(self, first, self.count if last is None else last)

    @property
    def rows(self) -> int:
        """The number of states, with those of their tangents."""
        return len(self.model.states) if self.sensitivities is None else self.variation.size

    @property
    def variation(self) -> tangents.Variation:
        """The larger model of a job with sensitivities."""
        assert self.sensitivities is not None
        return tangents.Variation.of(self.model, len(self.sensitivities), self.sensitivity_control)

    def run(self, first: int = 0, last: int | None = None) -> Results:
        """The results of trajectories first <= j < last: the same bits in any range, process or thread."""
        part = self.part(first, last)
        part.core.run([(0, part.count)])
        part.finish()
        return part.results

    def cut(self, first: int, last: int) -> tuple[Any, Any, Inputs, Array | None]:
        """`initial`, `parameters`, inputs and `past` of trajectories first <= j < last."""
        if first == 0 and last == self.count:
            return self.initial, self.parameters, self.inputs, self.past
        past = self.past if self.past is None or self.past.ndim == 1 else self.past[:, first:last]
        initial = Columns("initial", self.initial, self.model.states, self.count)
        parameters = Columns("parameters", self.parameters, self.model.parameters, self.count)
        return initial.part(first, last), parameters.part(first, last), self.inputs.part(first, last), past


class EnsemblePart:
    """Trajectories first <= j < last of a job, prepared in this process; they are numbered from 0 here.

    `core` runs them: ``core.run(pieces, attend)`` may be called from several threads, ``core.stop()`` ends it,
    ``core.done`` counts; the arrays of `results` are filled in place. `width` is the number of lanes.
    """

    def __init__(self, job: EnsembleJob, first: int, last: int) -> None:
        model, options, times = job.model, job.options, job.t_eval
        self.job, self.count = job, last - first
        initial, parameters, self.inputs, past = job.cut(first, last)
        apart = one_at_a_time(
            model, options, self.inputs.functions, job.observer is None, bool(job.sensitivities)
        )
        self.lane_set, self.width = lane_set(model, options.method, job.lanes, job.count, apart)
        observed = 0
        if job.observer is not None:
            observed = len(job.observer.quantities)
            if not job.observer.runs_in(self.width):
                self.lane_set, self.width = 0, 1
        n = job.rows
        kept = 1 if times is None else len(times)
        end = job.keep_end and times is not None
        self.results = Results.room(n, kept, self.count, end, observed)
        y = self.results.y
        # Many states are written where the first results will be, to avoid another array of that size.
        own = n * self.count * y.itemsize <= KEPT or not y.shape[1]
        whole = np.empty((n, self.count)) if own else y[:, 0]
        self.x0 = whole[: len(model.states)]
        self.start = Start(
            model, job.t_span[0], initial, parameters, self.inputs, self.count, self.x0, own, past
        )
        self.tangents: EnsembleTangents | None = None
        if job.sensitivities is None:
            self.core = core.EnsembleCore(model, self)
        else:
            self.tangents = EnsembleTangents(self, whole)
            self.core = self.tangents.core

    def check(self) -> None:
        """Raise an error or warn if any start is off the constraints."""
        model, start = self.job.model, self.start
        if start.plain and not (model._quaternions or model.checked_at_start):
            return
        accuracy = Accuracy.of(model, self.job.options)
        check_start(
            model, start.t0, self.x0, start.parameters, self.inputs, accuracy, self.count, start.plain
        )

    def finish(self) -> bool:
        """Complete the results after the run; raise the error of an input function. Returns whether that was Ctrl-C."""
        error, results = self.core.error, self.results
        interrupted = isinstance(
            error, KeyboardInterrupt
        )  # it came while an input function ran in this thread
        if interrupted:
            results.status[results.status == INPUT_FAILED] = INTERRUPTED
        elif error is not None:
            raise error
        results.lanes = self.core.lanes
        if self.job.model.events:
            results.events = self.core.events()
        return interrupted


class EnsembleTangents:
    """The tangents of the trajectories of a part, and the part of the larger model that contains them (`Variation`).

    Each trajectory runs as it does alone. `core` runs them.
    """

    lane_set = 0

    def __init__(self, part: EnsemblePart, x0: Array) -> None:
        """`x0` has room for the start of the larger model, and contains that of the states."""
        job = part.job
        variation = job.variation
        starts = derivatives.Starts(part.start, part.x0, part.inputs, job.sensitivities or (), part.count)
        self._starts = starts
        variation.fill(x0, starts.y * starts.sizes)
        self.job = replace(job, options=variation.options(job.options))
        self.x0, self.inputs, self.results = x0, part.inputs, part.results
        self.start = SimpleNamespace(
            parameters=[*part.start.parameters, *variation.rows(starts.seeds, starts.sizes)],
            past=part.start.past,
        )
        self.core = core.EnsembleCore(variation.model, self)

    def sensitivity(self, t: Array, y: Array) -> EnsembleSensitivity:
        """The derivatives of the ensemble of these trajectories, of which these are the results."""
        job, results = self.job, self.results
        ended = (results.status == 1) & (job.t_eval is None)
        starts, at = self._starts, 0 if job.t_eval is None else slice(None)
        tangents, delays = job.variation.total(results.y, starts.sizes[:, None], ended)
        times = t if job.t_eval is None else np.repeat(job.t_eval[:, None], len(t), axis=1)
        parameters, (t0, t1) = self.start.parameters[: len(job.model.parameters)], job.t_span
        step = (t1 - t0) / 100 or 1.0
        runs = derivatives.Runs(job.model, times, y, parameters, self.inputs, t0, step)
        found: EnsembleSensitivity = derivatives.EnsembleSensitivity(
            runs,
            job.sensitivities or (),
            tangents[:, :, at],
            starts.seeds,
            job.sensitivity_control,
            delays[:, at],
        )
        return found


def _apart(states: int, times: int, count: int, end: bool) -> Room:
    """Arrays of their own, which are quickly made."""
    y, ends = np.empty((states, times, count)), np.empty((states, count)) if end else None
    return y, ends, np.empty(count, INT64), np.empty(count, INT64), np.empty(count, INT32)


def _together(states: int, times: int, count: int, end: bool) -> Room:
    """Arrays in one piece of memory: large ones come in large pages, and are kept from one call to the next."""
    numbers, last = states * times * count, states * count if end else 0
    room = _lines(numbers + last + 2 * count + -(-count // 2))
    counts = room[numbers + last :]
    integers, status = counts.view(np.int64), counts.view(np.int32)[4 * count : 5 * count]
    y = room[:numbers].reshape(states, times, count)
    ends = room[numbers : numbers + last].reshape(states, count) if end else None
    return y, ends, integers[:count], integers[count : 2 * count], status


def _lines(size: int) -> Array:
    """A vector that begins at a cache line: whole lines are written past the cache."""
    spare = 8
    room = np.empty(size + spare)
    first = -room.__array_interface__["data"][0] // room.itemsize % spare
    return room[first : first + size]


def number_of_trajectories(n: Any, given: Mapping[str, Any]) -> int:
    """The number of trajectories: as given, or the length of the first array found."""
    arguments.refuse_number("initial", given["initial"], "n", "The number of trajectories")
    if n is not None:
        return positive("n", n)
    found = _first_length(given.values())
    if found:
        return found
    for what, array in arrays(given):
        if array.ndim > 1 or array.shape == (0,):
            raise ArgumentError(f"{what} has shape {array.shape}; one number for each trajectory is needed")
        return len(array)
    raise ArgumentError("n, the number of trajectories, is missing, and no array determines it")


def _first_length(given: Iterable[Any]) -> int:
    """The length of the first entry of dicts that is not a number, if it is a vector; else 0."""
    for value in given:
        if type(value) is dict:
            for row in value.values():
                kind = type(row)
                if kind is np.ndarray and row.ndim == 1:
                    return len(row)
                if kind is not float and kind is not int:
                    return 0
        elif value is not None:
            return 0
    return 0


def arrays(given: Mapping[str, Any]) -> Iterator[tuple[str, NDArray[Any]]]:
    """Those arguments that are not one number for all trajectories, with names for error messages."""
    for kind, value in given.items():
        arguments.refuse_dicts(kind, value)
        for what, row in _rows(kind, value):
            if kind == "inputs" and isinstance(row, tuple) and len(row) > 1 and are_rows(row[1]):
                yield what, np.empty(len(by_rows(row[0], row[1])))
            if kind == "inputs" and (callable(row) or isinstance(row, (tuple, SampleRows, RandomInput))):
                continue  # a function or samples, shared by all
            found = arguments.unchanged(what, row)
            if found.ndim:
                yield what, found


def _rows(kind: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The entries of a dict by name, or the rows of an array, with names for error messages; not plain numbers."""
    given = arguments.named(kind, value)
    if given is not None:
        for name, row in given.items():
            if type(row) is not float and type(row) is not int:
                yield f"{kind}: {name}", row
    elif isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim):
        if type(value) is np.ndarray and value.ndim == 1 and value.dtype.kind in "biuf":
            return
        for i, row in enumerate(value):
            yield f"{kind}[{i}]", row


@dataclass(frozen=True)
class Observer:
    """Quantities to observe, (kind, text); compiled for some numbers of lanes, and pickled as the paths of that.

    Without `paths` they are quantities that the model has by name, and trajectories run one at a time.
    """

    model: str
    quantities: tuple[tuple[str, str], ...]
    paths: Mapping[int, Path]

    @classmethod
    def of(cls, model: Any, wanted: Sequence[tuple[str, Any]], lanes: int) -> Observer:
        """From kinds, and names or SymPy expressions; raises the errors of `companion`."""
        texts = tuple((kind, str(what)) for kind, what in wanted)
        if model._equations is None and all(isinstance(what, str) for _, what in wanted):
            return cls(model.name, texts, {})
        expressions = [what for _, what in wanted]
        return cls(
            model.name, texts, {n: library_of(model, expressions, n, "observed") for n in sorted({1, lanes})}
        )

    @property
    def kinds(self) -> tuple[int, ...]:
        return tuple(KINDS.index(kind) for kind, _ in self.quantities)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(text for _, text in self.quantities)

    @property
    def named(self) -> bool:
        """Whether the model computes them itself."""
        return not self.paths

    def runs_in(self, lanes: int) -> bool:
        """Whether trajectories can be observed side by side in so many lanes."""
        return lanes in self.paths

    def address(self, lanes: int) -> int:
        """The `cg_companion_t` for a number of lanes."""
        if lanes not in self.paths:
            raise ArgumentError(f"what is observed in {self.model} is not compiled for {lanes} lanes")
        return address_of(self.paths[lanes], self.model, lanes)
