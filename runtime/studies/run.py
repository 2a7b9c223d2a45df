"""Running a study: chunks in threads of this process, or by an executor, merged in the order of the trajectories."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaplygin.errors import ChaplyginError, warn_caller

from ..ensembles.progress import Progress
from ..interface import arguments
from ..problem.options import RunOptions
from ..statistics.part import CRASHED, ENDINGS, UNDEFINED, Tallies
from ..statistics.sketches import CHUNK
from .chunk import Begun
from .folder import Chunks, Folder
from .job import StudyJob, chunks
from .manifest import read_manifest
from .pickling import WorkerError
from .precision import pieces
from .stop import LEAVE
from .study import Study
from .workers import PATIENCE, Done, Place, Workers, workers_of

_SAID = {CRASHED: "crashed their process", UNDEFINED: "have a quantity of collect that is not finite"}
"""Failures of which a study warns, since single runs do not have them."""
AHEAD = 2
"""Tasks handed out for each worker, so that none waits for the next one."""
WAITING = 6
"""Tasks for each worker that run or wait for an earlier one, which bounds the memory if one is slow."""
POLL = 0.1
"""Seconds between looks whether the study is to end."""


class FailedTrajectoryError(ChaplyginError):
    """A trajectory of a study with ``on_failure="raise"`` failed."""


def run_study(
    job: StudyJob,
    threads: Any,
    workers: Any,
    on_failure: Any,
    progress: Any,
    out: Any,
    seeded: bool,
) -> Study:
    """Run a study; the arguments are those of `study`. `seeded`: whether its seed was given."""
    count = job.count
    if job.plan is not None:
        job.plan.check_likely(count)
    folder = None if out is None else Folder(out, job, seeded)
    result = Study(job)
    bar = Progress(count, None if progress is None else arguments.boolean("progress", progress))
    try:
        with workers_of(job, threads, workers) as found:
            _run(job, found, result, on_failure == "raise", bar, folder)
    finally:
        bar.close()
        if folder is not None:
            folder.close()
    if result.interrupted:
        rest = "without out= nothing is kept; with it, the same call runs the rest"
        if folder is not None:
            rest = f"the same call with out={str(folder.path)!r} runs the rest"
        finished = f"{result.done} of {count} trajectories are finished"
        warn_caller(f"study interrupted: {finished}; {rest}")
    if result.warnings:
        warn_caller(f"in {len(result.warnings)} of the chunks: {result.warnings[0]}")
    result.finish(exclude=on_failure != "nan")
    for status, what in _SAID.items():
        which = result.failed[result.failed_status == status]
        if len(which):
            warn_caller(f"{len(which)} of the trajectories {what} and count as failures: {_ranges(which)}")
    if result.precise is False and not result.interrupted:
        warn_caller(f"until: {job.until}: not reached with n = {count}")
    return result


def _run(
    job: StudyJob,
    workers: Workers,
    result: Study,
    strict: bool,
    bar: Progress,
    folder: Folder | None,
) -> None:
    """Have the chunks run that are not in the folder, and take their parts until the study is complete."""

    def show(part: Tallies, found: bool) -> None:
        bar.failed += len(part.failed)
        bar.found += part.done if found else 0
        bar.show(bar.done + part.done)

    if job.until is not None:
        places = pieces(job.count)
    else:
        places = chunks(job.count, workers.size, None if folder is None else CHUNK)
    with closing(StudySchedule(places, workers, folder, show).parts()) as parts:
        for part in parts:
            if strict and len(part.failed):
                raise FailedTrajectoryError(_failed(part))
            result.take(part)
            if result.complete():
                return
    result.interrupted = workers.stop.wanted


def _ranges(indices: NDArray[np.int64], most: int = 10) -> str:
    """Increasing integers as text, such as "3, 8 to 20", at most `most` entries."""
    runs = np.split(indices, np.flatnonzero(np.diff(indices) != 1) + 1)
    shown = [f"{run[0]}" if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs[:most]]
    return ", ".join(shown + ["..."] * (len(runs) > most))


def _failed(part: Tallies) -> str:
    name = ENDINGS.get(int(part.status[0]), str(part.status[0]))
    return f"trajectory {part.failed[0]} failed: {name}; on_failure='exclude' goes on without it"


def open_study(path: Any) -> Study:
    """The study in a folder: the results of the chunks that are there, whole or as Ctrl-C left them, up to a gap.

    Numbers of every trajectory are read when they are used. It has no model, so `rerun` and `draws` are not available.
    Raises StudyFolderError.
    """
    place = arguments.path("open_study: path", path)
    found = read_manifest(place)
    job = StudyJob(
        found.model, found.t_span, None, found.count, {}, None, RunOptions(), None, found.collect, found.until
    )
    result = Study(job, place)
    result.seed, result.sampling = found.seed, found.sampling
    result.interrupted = True
    for part in Chunks(place, found.count, found.collect).parts():
        result.take(part)
        if result.complete():
            result.interrupted = False
            break
    return result.finish()


@dataclass(eq=False)
class _Task:
    """Consecutive chunks that one worker runs, and their parts once they are there."""

    places: list[Place]
    parts: list[Tallies] | None = None
    deaths: int = 0


class StudySchedule:
    """The chunks of a study: run by workers, or taken from its folder.

    `parts` gives them in the order of the trajectories: what is decided there depends neither on the workers nor on
    their number. Ending the iteration cancels what still runs. `arrived` is called earlier, as soon as a part is there,
    with the part and whether the folder had it. When the workers are told to stop, the parts end with what has ended of
    the chunks that were handed out, some of them `Begun`.
    """

    def __init__(
        self,
        places: list[Place],
        workers: Workers,
        folder: Folder | None,
        arrived: Callable[[Tallies, bool], None],
    ) -> None:
        self.places = deque(places)
        self.workers, self.folder, self.arrived = workers, folder, arrived
        self.tasks: deque[_Task] = deque()
        self.running: dict[Future[Done], _Task] = {}
        self.seconds = math.inf  # that the last chunk took

    def parts(self) -> Generator[Tallies]:
        """The part of every chunk, in the order of the trajectories."""
        try:
            while self._hand_out():
                while self.tasks[0].parts is None and not self.workers.stop.wanted:
                    self._collect()
                    self._hand_out()
                if self.workers.stop.wanted:
                    yield from self._left()
                    return
                yield from self.tasks.popleft().parts or ()
        finally:
            for future in self.running:
                future.cancel()

    def _left(self) -> Iterator[Tallies]:
        """What has ended when the study is to end, with the chunks between of which nothing has."""
        for future in [each for each in self.running if each.cancel()]:
            del self.running[future]
        end = time.monotonic() + LEAVE
        while self.running and time.monotonic() < end:
            self._take(wait(self.running, timeout=end - time.monotonic(), return_when=FIRST_COMPLETED).done)
        found: list[Tallies] = []
        for task in self.tasks:
            parts = task.parts or []
            found += parts
            for first, last in task.places[len(parts) :]:
                found.append(self.workers.begun.get(first) or Begun.nothing(first, last))
        while found and not found[-1].done:
            found.pop()
        for part in found:
            if self.folder is not None and not part.done:
                self.folder.keep(part)  # those after it can be found
        yield from found

    def _hand_out(self) -> bool:
        """Keep every worker busy; returns whether any task is under way."""
        if self.workers.stop.wanted:
            return bool(self.tasks)
        size = self.workers.size
        while self.places and len(self.running) < AHEAD * size and len(self.tasks) < WAITING * size:
            task = self._stored() or self._next(len(self.places) // (2 * size))
            self.tasks.append(task)
            if task.parts is None:
                self.running[self.workers.submit(task.places)] = task
        return bool(self.tasks)

    def _stored(self) -> _Task | None:
        """The next chunk if the folder has it."""
        part = None if self.folder is None else self.folder.part(*self.places[0][:2])
        if part is None:
            return None
        self.arrived(part, True)
        return _Task([self.places.popleft()], [part])

    def _next(self, most: int) -> _Task:
        """The next chunks: as many as the workers want in a task, at most `most` so that all of them end together."""
        wanted = max(1, min(most, math.ceil(self.workers.grain / self.seconds)))
        task = _Task([self.places.popleft()])
        while len(task.places) < wanted and self.places:
            if self.folder is not None and self.folder.has(self.places[0][0]):
                break
            task.places.append(self.places.popleft())
        for first, last in task.places:
            begun = None if self.folder is None else self.folder.begun(first, last)
            if begun is not None:
                self.workers.begun[first] = begun
        return task

    def _collect(self) -> None:
        """Wait until a task has run, and take its parts."""
        end = time.monotonic() + PATIENCE
        while not self.workers.stop.wanted:
            done = wait(self.running, timeout=min(POLL, PATIENCE), return_when=FIRST_COMPLETED).done
            if done:
                self._take(done)
                return
            if time.monotonic() >= end:
                self.workers.check()
                return

    def _take(self, done: set[Future[Done]]) -> None:
        """Take the parts of tasks that have run. If its worker died, a task runs again."""
        for future in done:
            task = self.running.pop(future)
            try:
                task.parts, seconds = future.result()
            except CancelledError:
                raise WorkerError("workers: a task was cancelled, which this study did not do") from None
            except Exception as error:
                if not self.workers.died(error):
                    raise
                if not self.workers.stop.wanted:
                    task.deaths += 1
                    self.running[self.workers.submit(task.places, task.deaths)] = task
                continue
            self.seconds = seconds or self.seconds
            for part in task.parts:
                if self.folder is not None and part.done:
                    self.folder.keep(part)
                self.workers.begun.pop(part.first, None)
                self.arrived(part, False)
