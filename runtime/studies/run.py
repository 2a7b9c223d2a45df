"""Running a study: chunks in threads of this process, or by an executor, merged in the order of the trajectories."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from .. import arguments
from ..ensemble_job import positive
from ..errors import STATUS_NAMES, ArgumentError, ChaplyginError
from ..executors import cores
from ..lanes import await_build
from ..model import Model, require_core
from ..options import RunOptions
from ..progress import Progress
from .collect import described
from .folder import CHUNK, Folder, read_manifest, stored
from .study import Part, Study, StudyJob, chunks

ON_FAILURE = ("exclude", "raise")
AHEAD = 3
"""Chunks that are handed out for each worker, so that none waits for the next one."""


class FailedTrajectoryError(ChaplyginError):
    """A trajectory of a study with ``on_failure="raise"`` failed."""


def run(
    job: StudyJob, threads: Any, workers: Any, on_failure: Any, progress: Any, out: Any, seeded: bool
) -> Study:
    """Run a study; the arguments are those of `ensemble`. `seeded`: whether its seed was given."""
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
        with _workers(model, threads, workers) as (pool, size):
            _run(job, pool, size, result, on_failure == "raise", bar, folder)
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


@contextmanager
def _workers(model: Any, threads: Any, workers: Any) -> Iterator[tuple[Executor, int]]:
    """The executor of a study and how many chunks it runs at a time."""
    if workers is None:
        wanted = cores() if threads is None else positive("threads", threads)
        size = wanted if isinstance(model, Model) else 1  # pure Python holds the GIL
        with ThreadPoolExecutor(size, thread_name_prefix="chaplygin") as pool:
            yield pool, size
        return
    if threads is not None:
        raise ArgumentError("threads are those of this process; with workers leave them out")
    if isinstance(workers, (int, np.integer)) and not isinstance(workers, bool):
        size = positive("workers", workers)
        import multiprocessing

        with ProcessPoolExecutor(size, mp_context=multiprocessing.get_context("spawn")) as pool:
            yield pool, size
        return
    if not hasattr(workers, "submit"):
        raise ArgumentError(
            f"workers = {arguments.short(workers)} must be a number of processes, or an executor with submit()"
        )
    yield workers, max(int(getattr(workers, "_max_workers", 0) or cores()), 1)


def _run(
    job: StudyJob,
    pool: Executor,
    size: int,
    result: Study,
    strict: bool,
    bar: Progress,
    folder: Folder | None,
) -> None:
    """Have all chunks run that are not in the folder, and take their parts."""
    there = set()
    for found in folder.parts() if folder is not None else ():
        part = Part(**found)
        there.add(part.first)
        result.take(part)
        bar.show(result.done)
    places = chunks(job.count, size) if folder is None else chunks(job.count, chunk=CHUNK)
    missing = iter([place for place in places if place[0] not in there])
    running: set[Future[Part]] = set()
    try:
        while True:
            while len(running) < AHEAD * size and (place := next(missing, None)) is not None:
                running.add(pool.submit(job.run, *place))
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                part = future.result()
                if strict and len(part.failed):
                    raise FailedTrajectoryError(_failed(part))
                if folder is not None:
                    folder.keep(part)
                result.take(part)
            bar.show(result.done)
    finally:
        for future in running:
            future.cancel()


def _failed(part: Part) -> str:
    name = STATUS_NAMES.get(int(part.status[0]), str(part.status[0]))
    return f"trajectory {part.failed[0]} failed: {name}; on_failure='exclude' goes on without it"


def open_study(path: Any) -> Study:
    """The study in a folder: the results of the chunks that are there, up to the first that is missing.

    It has no model, so `rerun` and `draws` are not available. Raises StudyFolderError.
    """
    place = Path(os.fspath(path))
    found = read_manifest(place)
    result = Study(
        StudyJob(
            SimpleNamespace(name=found["model"]["name"]),
            tuple(found["t_span"]),
            None,
            found["n"],
            {},
            None,
            RunOptions(),
            None,
            {name: described(entry) for name, entry in found["collect"].items()},
        )
    )
    for part in stored(place, remove=False):
        result.take(Part(**part))
    result.interrupted = result.done < found["n"]
    return result.finish()
