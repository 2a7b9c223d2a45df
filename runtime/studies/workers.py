"""Workers: who runs the chunks of a study, in this process or in others.

When a worker dies, nobody knows which trajectory was to blame, if any was. So its chunk runs again in a process beside
another worker. If that one crashes too, the next one runs the trajectories one by one and says which is next; the last
one named is to blame. The chunk then runs without those that were found.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from multiprocessing import spawn
from typing import Any

import numpy as np

from chaplygin._lazy import later
from chaplygin.errors import ArgumentError, warn_caller

from ..ensembles.executors import cores, number_of_threads
from ..ensembles.job import EnsemblePart
from ..interface import arguments
from ..statistics.part import CRASHED, Tallies
from .chunk import Begun, gaps
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
MOST = 64
"""Trajectories of one chunk that may crash: after that many the rest of it is lost."""
_RAISED = 93
"""The exit status of a process that answers with an exception."""
_WIDTH = 8
"""Bytes of an index."""
_COMMAND = "from chaplygin.runtime.studies.workers import serve; serve()"


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


class StoppedError(Exception):
    """The process that should answer was ended, as all work is."""


class Without:
    """Runs all trajectories of a part but some, whose status is then `CRASHED`."""

    def __init__(self, lost: Sequence[int]) -> None:
        self.lost = np.array(sorted(lost), dtype=np.int64)

    def run(self, part: EnsemblePart, report: Any) -> bool:
        part.core.run(gaps(self.lost, part.count))
        interrupted = part.finish()
        results = part.results
        results.status[self.lost] = CRASHED
        results.y[:, :, self.lost] = np.nan
        if results.end is not None:
            results.end[:, self.lost] = np.nan
        return interrupted


class _OneByOne:
    """Runs the trajectories from `first` on one by one; writes the index of each before, at the end their number."""

    def __init__(self, first: int, answers: int) -> None:
        self.first, self.answers = first, answers

    def run(self, part: EnsemblePart, report: Any) -> bool:
        for j in range(self.first, part.count):
            self._say(j)
            part.core.run([(j, j + 1)])
        self._say(part.count)
        return part.finish()

    def _say(self, j: int) -> None:
        os.write(self.answers, j.to_bytes(_WIDTH, "little"))


def guarded(content: bytes, first: int, last: int, given: dict[str, Any]) -> Tallies:
    """The part of trajectories first <= i < last of the packed job `content`, without those that crash.

    Raises WorkerError if not even their starts can be computed, and what the job raises.
    """
    count = last - first
    place = first, last, given

    def part(lost: Sequence[int]) -> Tallies | None:
        answer = _ask(content, place, "run", lost)
        return pickle.loads(answer) if answer else None

    found = part(())
    if found is None:
        lost = _search(content, place, count)
        found = part(lost) or part(range(count))
    if found is None:
        raise WorkerError(
            f"trajectories {first} to {last - 1} crash every process before they run, while their starts are computed"
        )
    return found


def _search(content: bytes, place: tuple[int, int, dict[str, Any]], count: int) -> Sequence[int]:
    """The trajectories that crash a process by themselves, numbered from 0 in their chunk."""
    lost: list[int] = []
    begin = 0
    while begin < count:
        answer = _ask(content, place, "search", begin)
        if not answer or len(lost) == MOST:
            return [*lost, *range(begin, count)]
        reached = int.from_bytes(answer[-_WIDTH:], "little")
        lost += [reached] if reached < count else []
        begin = reached + 1
    return lost


def _ask(content: bytes, place: tuple[int, int, dict[str, Any]], what: str, how: Any) -> bytes:
    """What a new process answered until it ended or crashed. Raises the exception of its job."""
    preparation = {k: v for k, v in spawn.get_preparation_data("chaplygin").items() if k != "authkey"}
    order = pickle.dumps((preparation, content, pack(place), what, how))
    command = [sys.executable, "-c", _COMMAND]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as process, HERE.ends(process.kill):
        answer, _ = process.communicate(order)
    if HERE.wanted:
        raise StoppedError
    if process.returncode == _RAISED:
        raise pickle.loads(answer)
    return answer


def serve() -> None:
    """Do what the process that started this one asks for on stdin."""
    answers = os.dup(1)
    os.dup2(2, 1)  # what the job prints must not mix with the answers
    preparation, content, place, what, how = pickle.load(sys.stdin.buffer)
    spawn.prepare(
        preparation
    )  # as processes of multiprocessing: the path of modules, the script as __mp_main__
    try:
        job, (first, last, given) = unpack(content), unpack(place)
        executor = Without(how) if what == "run" else _OneByOne(how, answers)
        found = job.run(first, last, executor, given)
        if what == "run":
            _write(answers, pickle.dumps(found))
    except Exception as error:
        _write(answers, pickle.dumps(error))
        os._exit(_RAISED)


def _write(answers: int, content: bytes) -> None:
    with os.fdopen(answers, "wb") as target:
        target.write(content)
