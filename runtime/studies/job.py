"""The work of a study: a job that can be sent anywhere, its arguments and chunks, and what is observed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaplygin.errors import ArgumentError

from ..draws.draws import Draws, Plan
from ..ensembles.ensemble import Ensemble
from ..ensembles.executors import Executor, Threads
from ..ensembles.job import COLUMNS, EnsembleJob, Observer, Results
from ..ensembles.start import Columns
from ..interface import arguments
from ..interface.arguments import Array
from ..model.lanes import lane_set, one_at_a_time
from ..problem.consistency import held
from ..problem.given_inputs import is_function, specs
from ..problem.options import RunOptions
from ..problem.sample_rows import SampleRows
from ..statistics.part import Tallies
from ..statistics.sketches import BLOCK
from .chunk import Begun, Chunk, Stoppable
from .collect import entry_of
from .collector import Collector
from .observed import Condition, Observed
from .packing import Slot, fits
from .precision import Precision
from .stop import Stop

ALONE = Threads(threads=1)
"""Runs trajectories in the calling thread."""


def observer_of(job: StudyJob) -> Observer | None:
    """What the trajectories of a study have to observe, compiled for them; None for nothing.

    Raises ArgumentError naming the entry with a wrong expression.
    """
    wanted = {found.key: (entry, found) for entry, found in _all(job.collect)}
    if not wanted:
        return None
    model = job.model
    how = job.options.checked(model)
    controls = specs(job.given["inputs"], model.inputs, job.count, model._input_flags)
    apart = one_at_a_time(model, how, any(map(is_function, model.inputs, controls)))
    width = lane_set(model, how.method, job.lanes, job.count, apart)[1]
    try:
        return Observer.of(model, [(found.kind, found.what) for _, found in wanted.values()], width)
    except ArgumentError:
        for entry, found in wanted.values():
            try:
                Observer.of(model, [(found.kind, found.what)], 1)
            except ArgumentError as error:
                raise ArgumentError(f"collect: {entry}: {found.kind}: {error}") from None
        raise


def _all(collect: Mapping[str, Collector]) -> list[tuple[str, Observed]]:
    """Everything observed, with the name of its entry."""
    quantities = [(name, what) for name, entry in collect.items() for what in entry.what]
    found = []
    for name, what in quantities:
        whats = [each.observed for each in what.comparisons] if isinstance(what, Condition) else [what]
        found += [(name, each) for each in whats if isinstance(each, Observed)]
    return found


@dataclass(frozen=True, eq=False)
class StudyJob:
    """`count` trajectories of one model and what to keep of them; `run(first, last)` runs some, in any process.

    `given`: initial, parameters and inputs by kind, without what `plan` draws.
    """

    model: Any
    t_span: tuple[float, float]
    t_eval: Array | None
    count: int
    given: dict[str, Any]
    plan: Plan | None
    options: RunOptions
    lanes: int | None
    collect: Mapping[str, Collector]
    until: Precision | None = None
    observer: Observer | None = None

    @classmethod
    def of(
        cls, model: Any, t_span: Any, count: int, given: dict[str, Any], plan: Plan | None, options: RunOptions,
        lanes: int | None, collect: Any, until: Precision | None = None,
    ) -> StudyJob:  # fmt: skip
        """The job of a call of `study`, with the entries of `collect` checked."""
        t0, t1 = arguments.span(t_span)
        if until is not None:
            if not isinstance(until, Precision):
                raise ArgumentError(f"until = {arguments.short(until)} must be cg.precision(...)")
            collect, until = until.bound(collect, "random" if plan is None else plan.sampling)
        entries = arguments.named("collect", collect)
        if not entries:
            raise ArgumentError(
                "collect must be a dict of entries such as cg.moments('x'), by names of your choice"
            )
        bound = {}
        for name, given_entry in entries.items():
            entry = entry_of(given_entry)
            if not isinstance(entry, Collector):
                raise ArgumentError(
                    f"collect: {name} = {arguments.short(entry)} is not an entry; give cg.final, cg.series, "
                    "cg.moments, cg.quantiles, cg.histogram, cg.probability, cg.first_passage, cg.events, cg.integral, "
                    "cg.peak, cg.minimum or cg.table"
                )
            bound[name] = entry.bound(name, model, (t0, t1))
        times = [entry.at for entry in bound.values() if entry.at is not None]
        direction = 1 if t1 >= t0 else -1
        t_eval = direction * np.unique(direction * np.concatenate(times)) if times else None
        how = options.with_method(model)
        job = cls(model, (t0, t1), t_eval, count, given, plan, how, lanes, bound, until)
        job.cut(0, 0)  # a wrong length is an error before anything runs
        return replace(job, observer=observer_of(job))

    def run(
        self,
        first: int = 0,
        last: int | None = None,
        executor: Executor = ALONE,
        given: dict[str, Any] | None = None,
    ) -> Tallies:
        """Run trajectories first <= i < last by `executor`; `first` is a multiple of `BLOCK`.

        `given`: the arguments of these trajectories, as `cut` makes them, for a job that is sent without its own.
        """
        return self._run(first, self.count if last is None else last, executor, given)[0]

    def run_until(
        self,
        stop: Stop,
        first: int,
        last: int,
        given: dict[str, Any] | None = None,
        begun: Begun | None = None,
    ) -> Tallies:
        """As `run`, in this thread; a `Begun` if it is stopped before all have ended. `begun`: that of a run before."""
        executor = Stoppable(stop, begun)
        part, ended = self._run(first, last, executor, given)
        if ended.all() or executor.results is None:
            return part
        finished = np.flatnonzero(ended)
        if not len(finished):
            return Begun.nothing(first, last)
        return Begun(**vars(part), finished=finished, results=executor.results.of(finished))

    def suits(self, begun: Begun) -> bool:
        """Whether the results in `begun` have what those of this job have; for what is read from files."""
        results, times = begun.results, self.t_eval
        if results is None:
            return True
        states, observed = (
            len(self.model.states),
            0 if self.observer is None else len(self.observer.quantities),
        )
        own = Results.room(
            states, 1 if times is None else len(times), begun.done, times is not None, observed=observed
        )
        arrays = {name: getattr(own, name) for name in COLUMNS}
        form = {
            name: None if each is None else Slot(each.dtype, *each.shape) for name, each in arrays.items()
        }
        form["events"] = Slot(np.float64, None, 3) if self.model.events else None
        return fits(form, {name: getattr(results, name) for name in form})

    def _run(
        self, first: int, last: int, executor: Executor, given: dict[str, Any] | None
    ) -> tuple[Tallies, NDArray[np.bool_]]:
        """The part of trajectories first <= i < last, and which of them have ended."""
        if first % BLOCK:
            raise ArgumentError(f"first = {first} must be a multiple of {BLOCK}")
        with held() as warnings:
            ensemble, draws = self.ensemble(first, last, executor, given)
        chunk = Chunk(ensemble, first, self.collect.values())
        failed = np.flatnonzero(chunk.ended & ~chunk.ok)
        part = Tallies(
            first,
            last - first,
            {name: entry.part(chunk) for name, entry in self.collect.items()},
            failed + first,
            chunk.status[failed],
            draws.redrawn if draws is not None else 0,
            tuple(warnings[:1]),
        )
        return part, chunk.ended

    def ensemble(
        self, first: int, last: int, executor: Executor = ALONE, given: dict[str, Any] | None = None
    ) -> tuple[Ensemble, Draws | None]:
        """Trajectories first <= i < last, all of them kept, run in this thread or by `executor`."""
        given, draws = self.arguments(first, last, given)
        job = EnsembleJob.of(
            self.model,
            self.t_span,
            last - first,
            **given,
            t_eval=self.t_eval,
            lanes=self.lanes,
            options=self.options,
            draws=draws,
            keep_end=True,
            observer=self.observer,
        )
        part = job.part()
        part.check()
        if executor.run(part, lambda done: None):
            raise KeyboardInterrupt
        return Ensemble(part, False), draws

    def arguments(
        self, first: int, last: int, given: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], Draws | None]:
        """initial, parameters and inputs of trajectories first <= i < last, by kind."""
        given = self.cut(first, last) if given is None else given
        if self.plan is None:
            return given, None
        return self.plan.fill(given, first, last, self.count)

    def cut(self, first: int, last: int) -> dict[str, Any]:
        """What is given for trajectories first <= i < last, by kind."""
        return self._given.part(first, last)

    @cached_property
    def _given(self) -> Given:
        return Given(self.model, self.given, self.count)


def _cut_first(value: Any) -> Any:
    """An argument of one trajectory without the axis of trajectories."""
    if isinstance(value, Mapping):
        return {name: _first(entry) for name, entry in value.items()}
    return value[:, 0] if isinstance(value, np.ndarray) and value.ndim == 2 else value


def _first(entry: Any) -> Any:
    if isinstance(entry, SampleRows):
        return entry.column(0).given
    return entry.ravel()[0] if isinstance(entry, np.ndarray) else entry


def chunks(count: int, workers: int = 1, chunk: int | None = None) -> list[tuple[int, int]]:
    """Ranges of `chunk` trajectories, a multiple of `BLOCK`; by default a few for each worker, of at most 16 blocks."""
    blocks = -(-count // BLOCK)
    size = chunk or BLOCK * max(1, min(16, blocks // (4 * workers)))
    return [(first, min(first + size, count)) for first in range(0, count, size)]


class Given:
    """initial, parameters and inputs for `count` trajectories, without what is drawn.

    Raises ArgumentError for an array that has another number of entries.
    """

    def __init__(self, model: Any, given: Mapping[str, Any], count: int) -> None:
        inputs = given["inputs"]
        if not isinstance(inputs, Mapping):
            found = specs(inputs, model.inputs, count, model._input_flags)
            inputs = {name: each for name, each in zip(model.inputs, found) if each is not None}
        self.signals = {
            name: SampleRows.given_as(name, each, count) or each
            for name, each in inputs.items()
            if callable(each) or isinstance(each, tuple)
        }
        numbers = {name: each for name, each in inputs.items() if name not in self.signals}
        self.columns = {
            kind: None if value is None else Columns(kind, value, names, count)
            for kind, value, names in (
                ("initial", given["initial"], model.states),
                ("parameters", given["parameters"], model.parameters),
                ("inputs", numbers, model.inputs),
                ("past", given.get("past"), model.events),
            )
        }
        for kind, columns in self.columns.items():
            if columns is not None and not columns.fits:
                raise ArgumentError(_misfit(kind, columns, count))

    def part(self, first: int, last: int) -> dict[str, Any]:
        """The arguments of trajectories first <= i < last, by kind."""
        found: dict[str, Any] = {
            kind: columns and columns.part(first, last) for kind, columns in self.columns.items()
        }
        signals = {
            name: each.part(first, last) if isinstance(each, SampleRows) else each
            for name, each in self.signals.items()
        }
        return {**found, "inputs": {**found["inputs"], **signals}}


def _misfit(kind: str, columns: Columns, count: int) -> str:
    for name, row in (columns.by_name or {}).items():
        if row.ndim and row.shape != (count,):
            return f"{kind}: {name} has shape {row.shape}; a number or shape ({count},) is needed"
    size = len(columns.names)
    return f"{kind} has shape {columns.table.shape}; shape ({size},) or ({size}, {count}) is needed"
