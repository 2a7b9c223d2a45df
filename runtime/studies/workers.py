"""Workers: who runs the chunks of a study."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np

from .. import arguments
from ..ensemble_job import positive
from ..errors import ArgumentError
from ..executors import cores
from ..model import Model
from .study import Part, StudyJob

Place = tuple[int, int]
"""The trajectories first <= i < last of a chunk."""
Done = tuple[list[Part], float]
"""The parts of a task, and the seconds that its last chunk took."""

GRAIN = 0.5
"""Seconds that a task in another process takes at least, if there are enough trajectories."""


class Workers:
    """`size` workers that run tasks, lists of chunks, by an executor."""

    def __init__(self, job: StudyJob, pool: Executor, size: int, grain: float = GRAIN) -> None:
        self.job, self.pool, self.size, self.grain = job, pool, size, grain

    def submit(self, places: list[Place]) -> Future[Done]:
        return self.pool.submit(_run, self.job, places)


def _run(job: StudyJob, places: list[Place]) -> Done:
    """Run some chunks, in any process."""
    parts = []
    for place in places:
        begin = time.perf_counter()
        parts.append(job.run(*place))
    return parts, time.perf_counter() - begin


@contextmanager
def workers_of(job: StudyJob, threads: Any, workers: Any) -> Iterator[Workers]:
    """The workers that the arguments `threads` and `workers` of `ensemble` ask for."""
    if workers is None:
        wanted = cores() if threads is None else positive("threads", threads)
        size = wanted if isinstance(job.model, Model) else 1  # pure Python holds the GIL
        with ThreadPoolExecutor(size, thread_name_prefix="chaplygin") as pool:
            yield Workers(job, pool, size, grain=0.0)
        return
    if threads is not None:
        raise ArgumentError("threads are those of this process; with workers leave them out")
    if isinstance(workers, (int, np.integer)) and not isinstance(workers, bool):
        size = positive("workers", workers)
        import multiprocessing

        with ProcessPoolExecutor(size, mp_context=multiprocessing.get_context("spawn")) as processes:
            yield Workers(job, processes, size)
        return
    if not hasattr(workers, "submit"):
        raise ArgumentError(
            f"workers = {arguments.short(workers)} must be a number of processes, or an executor with submit()"
        )
    yield Workers(job, workers, max(int(getattr(workers, "_max_workers", 0) or cores()), 1))
