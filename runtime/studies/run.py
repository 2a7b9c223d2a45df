"""Running a study: chunks in threads of this process, or by an executor, merged in the order of the trajectories."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaplygin.errors import ChaplyginError, warn_caller

from ..ensembles.progress import Progress
from ..interface import arguments
from ..problem.options import RunOptions
from ..statistics.part import CRASHED, ENDINGS, UNDEFINED, Tallies
from ..statistics.sketches import CHUNK
from .folder import Chunks, Folder
from .job import StudyJob, chunks
from .manifest import read_manifest
from .precision import pieces
from .schedule import StudySchedule
from .study import Study
from .workers import Workers, workers_of

_SAID = {CRASHED: "crashed their process", UNDEFINED: "have a quantity of collect that is not finite"}
"""Failures of which a study warns, since single runs do not have them."""


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
