"""Running a study: chunks in threads of this process, or by an executor, merged in the order of the trajectories."""

from __future__ import annotations

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
from typing import Any

import numpy as np

from .. import arguments
from ..draws.draws import Plan
from ..ensemble_job import positive
from ..errors import STATUS_NAMES, ArgumentError, ChaplyginError
from ..executors import cores
from ..lanes import await_build
from ..model import Model, require_core
from ..options import RunOptions
from ..progress import Progress
from .study import Part, Study, StudyJob, chunks

ON_FAILURE = ("exclude", "raise")
AHEAD = 3
"""Chunks that are handed out for each worker, so that none waits for the next one."""


class FailedTrajectoryError(ChaplyginError):
    """A trajectory of a study with ``on_failure="raise"`` failed."""


def study(
    model: Any, t_span: Any, count: int, given: dict[str, Any], plan: Plan | None, options: RunOptions, lanes: Any,
    collect: Any, threads: Any, workers: Any, on_failure: Any, progress: Any,
) -> Study:  # fmt: skip
    """`ensemble` with `collect`; see there."""
    if on_failure not in ON_FAILURE:
        raise ArgumentError(f"on_failure = {arguments.short(on_failure)} must be 'exclude' or 'raise'")
    job = StudyJob.of(model, t_span, count, given, plan, options, lanes, collect)
    if plan is not None:
        plan.check_likely(count)
    if isinstance(model, Model):
        require_core()
        await_build(model, count)
    result = Study(job)
    bar = Progress(count, None if progress is None else arguments.boolean("progress", progress))
    try:
        with _workers(model, threads, workers) as (pool, size):
            _run(job, pool, size, result, on_failure == "raise", bar)
    except KeyboardInterrupt:
        result.interrupted = True
        warnings.warn(
            f"study interrupted: the first {result.done} of {count} trajectories count", RuntimeWarning, 3
        )
    finally:
        bar.close()
    if result.warnings:
        warnings.warn(
            f"in {len(result.warnings)} of the chunks: {result.warnings[0]}", RuntimeWarning, stacklevel=3
        )
    return result.finish()


@contextmanager
def _workers(model: Any, threads: Any, workers: Any) -> Iterator[tuple[Executor, int]]:
    """The executor of a study and how many chunks it runs at a time."""
    if workers is None:
        size = (
            1
            if not isinstance(model, Model)
            else cores()
            if threads is None
            else positive("threads", threads)
        )
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


def _run(job: StudyJob, pool: Executor, size: int, result: Study, strict: bool, bar: Progress) -> None:
    """Have all chunks run and take their parts."""
    waiting = iter(chunks(job.count, size))
    running: set[Future[Part]] = set()
    try:
        while True:
            while len(running) < AHEAD * size:
                place = next(waiting, None)
                if place is None:
                    break
                running.add(pool.submit(job.run, *place))
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                part = future.result()
                if strict and len(part.failed):
                    name = STATUS_NAMES.get(int(part.status[0]), str(part.status[0]))
                    raise FailedTrajectoryError(
                        f"trajectory {part.failed[0]} failed: {name}; see rerun({part.failed[0]})"
                    )
                result.take(part)
            bar.show(result.done)
    finally:
        for future in running:
            future.cancel()
