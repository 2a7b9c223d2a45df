"""Workers: who runs the chunks of a study, in this process or in others."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from chaplygin._lazy import later
from chaplygin.errors import ArgumentError, warn_caller

from ..ensembles.executors import cores, number_of_threads
from ..interface import arguments
from ..statistics.part import Tallies
from .begun import Begun
from .crashes import StoppedError, Without, guarded
from .job import StudyJob
from .pickling import WorkerError, opened, pack, unpack
from .stop import HERE, Stop, heard, obey

asyncio = later("asyncio")

Place = tuple[int, int]
"""The trajectories first <= i < last of a chunk."""
Done = tuple[list[Tallies], float]
"""The parts of a task, and the seconds that its last chunk took; 0 if that is not typical."""

GRAIN = 0.5
"""Seconds that a task in another process takes at least, if there are enough trajectories."""
PATIENCE = 60.0
"""Seconds until it is an error, or later a warning, that there are no workers."""
MOST_DEATHS = 3
"""Workers that may die with a task, after which it counts as lost."""

_CONTEXT = multiprocessing.get_context("spawn")


class Workers:
    """Threads of this process: `size` of them run tasks, lists of chunks, which take at least `grain` seconds."""

    grain = 0.0

    def __init__(self, job: StudyJob, pool: Executor, size: int) -> None:
        self.job, self.pool, self._size = job, pool, size
        self.stop = Stop(self._tell)
        self.begun: dict[int, Begun] = {}  # by their first trajectories: chunks that an earlier call has left

    @property
    def size(self) -> int:
        """How many tasks run at a time."""
        return self._size

    def submit(self, places: list[Place], deaths: int = 0) -> Future[Done]:
        """Have chunks run; `deaths`: the workers that died with them."""
        pieces = [(*place, None) for place in places]
        return self.pool.submit(_run, self.job, pieces, self._begun(places), self.stop)

    def _begun(self, places: list[Place]) -> list[Begun | None]:
        return [self.begun.get(place[0]) for place in places]

    def _tell(self) -> None:
        """Let other processes know that the study is to end."""

    def died(self, error: BaseException) -> bool:
        """Whether a task failed with this error because its worker died."""
        return False

    def check(self) -> None:
        """Called when no task was done for `PATIENCE` seconds."""

    def close(self) -> None:
        """End what this object has started. After Ctrl-C what does not end by itself is not waited for."""
        self.pool.shutdown(wait=not self.stop.wanted, cancel_futures=True)


class Processes(Workers):
    """Processes of any executor, to which the study travels as bytes.

    If the executor breaks, as one of processes does when one of them dies, new processes of this machine go on. Those
    are told by a pipe when the study is to end; nothing is told to processes of others.
    """

    grain = GRAIN

    def __init__(self, job: StudyJob, pool: Executor | None, size: int) -> None:
        self.own = pool is None
        self.door, self.bell = _CONTEXT.Pipe(duplex=False)
        super().__init__(job, pool or _processes(size, self.door), size)
        self.content = pack(replace(job, given={}))
        self.fruitless = 0  # how often the executor broke without a task done since the last time

    def submit(self, places: list[Place], deaths: int = 0) -> Future[Done]:
        pieces = [(*place, self.job.cut(*place)) for place in places]
        if deaths > MOST_DEATHS:
            found: Future[Done] = Future()
            lost = [(piece, Without(range(piece[1] - piece[0]))) for piece in pieces]
            found.set_result(([self.job.run(a, b, how, given) for (a, b, given), how in lost], 0.0))
            return found
        order = self.content, pack(pieces), deaths > 0, self._begun(places)
        try:
            future = self.pool.submit(_far, *order)
        except BrokenExecutor:
            self._renew()
            future = self.pool.submit(_far, *order)
        future.add_done_callback(self._note)
        return future

    def died(self, error: BaseException) -> bool:
        return isinstance(error, BrokenExecutor)

    def close(self) -> None:
        if self.own:
            super().close()
        self.bell.close()
        self.door.close()

    def _tell(self) -> None:
        with suppress(OSError):  # it is closed
            self.bell.send_bytes(b"end")

    def _note(self, future: Future[Done]) -> None:
        if not future.cancelled() and future.exception() is None:
            self.fruitless = 0

    def _renew(self) -> None:
        self.fruitless += 1
        if self.fruitless > MOST_DEATHS:
            raise WorkerError(
                "workers: processes end again and again before a task is done. In a script, ensemble with workers must "
                "be called under if __name__ == '__main__':"
            )
        if not self.own:
            warn_caller(
                f"workers: the executor broke, as one of its workers died; {self.size} processes of this machine go on"
            )
        else:
            self.pool.shutdown(wait=False)
        self.own, self.pool = True, _processes(self.size, self.door)


class Dask(Processes):
    """The workers of a `dask.distributed.Client`, which may come and go; Dask repeats tasks of those that die."""

    def __init__(self, job: StudyJob, client: Any) -> None:
        self.client, self.seen = client, -PATIENCE
        if client.asynchronous or client.status != "running":
            state = "asynchronous" if client.asynchronous else client.status
            raise ArgumentError(
                f"workers: the client is {state}; give a running one, such as Client({'address'!r})"
            )
        self.address = client.scheduler.address
        self._await_workers()
        super().__init__(job, client.get_executor(pure=False), self.size)

    @property
    def size(self) -> int:
        if time.monotonic() - self.seen > 1:
            self._size, self.seen = sum(self.client.nthreads().values()), time.monotonic()
        return max(self._size, 1)

    def died(self, error: BaseException) -> bool:
        return type(error).__name__ == "KilledWorker" or super().died(error)

    def check(self) -> None:
        if self.client.status != "running":
            raise WorkerError(f"workers: the connection to the scheduler at {self.address} is lost")
        if not self.client.nthreads():
            warn_caller(f"workers: the scheduler at {self.address} has no workers; waiting for some")

    def _await_workers(self) -> None:
        try:
            self.client.wait_for_workers(1, timeout=PATIENCE)
        except (TimeoutError, asyncio.TimeoutError):
            raise WorkerError(
                f"workers: the scheduler at {self.address} has no workers after {PATIENCE:g} s. Start some with "
                f"dask worker {self.address}; if they come later, call client.wait_for_workers(1) first"
            ) from None


def _processes(size: int, door: Any) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(size, mp_context=_CONTEXT, initializer=obey, initargs=(door,))


def _run(job: StudyJob, pieces: list[tuple[int, int, Any]], begun: list[Begun | None], stop: Stop) -> Done:
    """Run some chunks, in any process; fewer, and the last one in part, if they are stopped."""
    parts: list[Tallies] = []
    begin = time.perf_counter()
    for (first, last, given), known in zip(pieces, begun):
        if stop.wanted:
            break
        begin = time.perf_counter()
        parts.append(job.run_until(stop, first, last, given, known))
    return parts, time.perf_counter() - begin


def _far(content: bytes, pieces: bytes, suspect: bool, begun: list[Begun | None]) -> Done:
    """Run some chunks of the packed job `content` here; those that are `suspect` in processes of their own."""
    if not suspect:
        return _run(opened(content), unpack(pieces), begun, HERE)
    parts: list[Tallies] = []
    with suppress(StoppedError):
        for piece in unpack(pieces):
            parts.append(guarded(content, *piece))  # noqa: PERF401 -- those before the end count
    return parts, 0.0


@contextmanager
def workers_of(job: StudyJob, threads: Any, workers: Any) -> Iterator[Workers]:
    """The workers that the arguments `threads` and `workers` of `ensemble` ask for."""
    found = _chosen(job, threads, workers)
    with heard(found.stop):
        try:
            yield found
        except BaseException:
            found.stop()
            raise
        finally:
            found.close()


def _chosen(job: StudyJob, threads: Any, workers: Any) -> Workers:
    if workers is None:
        size = cores() if threads is None else number_of_threads("threads", threads)
        return Workers(job, ThreadPoolExecutor(size, thread_name_prefix="chaplygin"), size)
    if threads is not None:
        raise ArgumentError("threads are those of this process; with workers leave them out")
    if arguments.is_integer(workers):
        return Processes(job, None, number_of_threads("workers", workers))
    if _of_dask(workers):
        return Dask(job, workers)
    if not isinstance(workers, type) and callable(getattr(workers, "submit", None)):
        known = (getattr(workers, name, None) for name in ("_max_workers", "num_workers"))
        size = next((size for size in known if isinstance(size, int) and size > 0), cores())
        return Processes(job, workers, size)
    raise ArgumentError(
        f"workers = {arguments.short(workers)} must be a number of processes, a dask.distributed.Client, or an "
        "executor with the submit() of concurrent.futures"
    )


def _of_dask(workers: Any) -> bool:
    """Whether this is a client of Dask, without importing it."""
    return any(
        str(each.__module__).partition(".")[0] == "distributed" and each.__name__ == "Client"
        for each in type(workers).__mro__
    )
