"""Running a study: chunks in threads of this process, or by an executor, merged in the order of the trajectories."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from .. import arguments
from ..errors import STATUS_NAMES, ArgumentError, ChaplyginError
from ..lanes import await_build
from ..model import Model, require_core
from ..options import RunOptions
from ..progress import Progress
from .collect import described
from .folder import CHUNK, Folder, read_manifest, stored
from .schedule import Schedule
from .study import Part, Study, StudyJob, chunks
from .workers import Workers, workers_of

ON_FAILURE = ("exclude", "raise")


class FailedTrajectoryError(ChaplyginError):
    """A trajectory of a study with ``on_failure="raise"`` failed."""


def run(
    job: StudyJob,
    threads: Any,
    workers: Any,
    on_failure: Any,
    progress: Any,
    out: Any,
    seeded: bool,
    enough: Callable[[Study], bool] | None = None,
) -> Study:
    """Run a study; the arguments are those of `ensemble`. `seeded`: whether its seed was given.

    `enough`, called with the study so far after every chunk, ends it early.
    """
    if on_failure not in ON_FAILURE:
        raise ArgumentError(f"on_failure = {arguments.short(on_failure)} must be 'exclude' or 'raise'")
    model, count = job.model, job.count
    if job.plan is not None:
        job.plan.check_likely(count)
    if isinstance(model, Model):
        require_core()
        await_build(model, count)
    result = Study(job)
    folder = None if out is None else Folder(out, job, seeded)
    bar = Progress(count, None if progress is None else arguments.boolean("progress", progress))
    try:
        with workers_of(job, threads, workers) as found:
            _run(job, found, result, on_failure == "raise", bar, folder, enough)
    except KeyboardInterrupt:
        result.interrupted = True
        warnings.warn(
            f"study interrupted: the first {result.done} of {count} trajectories count", RuntimeWarning, 3
        )
    finally:
        bar.close()
        if folder is not None:
            folder.close()
    if result.warnings:
        warnings.warn(
            f"in {len(result.warnings)} of the chunks: {result.warnings[0]}", RuntimeWarning, stacklevel=3
        )
    return result.finish()


def _run(
    job: StudyJob,
    workers: Workers,
    result: Study,
    strict: bool,
    bar: Progress,
    folder: Folder | None,
    enough: Callable[[Study], bool] | None,
) -> None:
    """Have the chunks run that are not in the folder, and take all parts until they are `enough`.

    `enough` is asked after every chunk, in the order of the trajectories. Chunks then have a fixed length, so that the
    answer does not depend on the workers.
    """
    fixed = folder is not None or enough is not None
    arrived = 0

    def show(part: Part) -> None:
        nonlocal arrived
        arrived += part.count
        bar.show(arrived)

    places = chunks(job.count, workers.size, CHUNK if fixed else None)
    with closing(Schedule(places, workers, folder, show).parts()) as parts:
        for part in parts:
            if strict and len(part.failed):
                raise FailedTrajectoryError(_failed(part))
            result.take(part)
            if enough is not None and enough(result):
                return


def _failed(part: Part) -> str:
    name = STATUS_NAMES.get(int(part.status[0]), str(part.status[0]))
    return f"trajectory {part.failed[0]} failed: {name}; on_failure='exclude' goes on without it"


def open_study(path: Any) -> Study:
    """The study in a folder: the results of the chunks that are there, up to the first that is missing.

    Numbers of every trajectory are read when they are used. It has no model, so `rerun` and `draws` are not available.
    Raises StudyFolderError.
    """
    place = Path(os.fspath(path))
    found = read_manifest(place)
    result = Study(
        StudyJob(
            SimpleNamespace(**found["model"]),
            tuple(found["t_span"]),
            None,
            found["n"],
            {},
            None,
            RunOptions(),
            None,
            {name: described(entry) for name, entry in found["collect"].items()},
        ),
        place,
    )
    drawn = found["draws"] or {}
    result.seed, result.sampling = drawn.get("seed"), drawn.get("sampling")
    for part in stored(place):
        if part["first"] != result.done:
            break
        result.take(Part(**part))
    result.interrupted = result.done < found["n"]
    return result.finish()
