"""The order of a study: workers run chunks ahead, and their parts come in the order of the trajectories."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass

from ..statistics.part import Tallies
from .begun import Begun
from .folder import Folder
from .pickling import WorkerError
from .stop import LEAVE
from .workers import PATIENCE, Done, Place, Workers

AHEAD = 2
"""Tasks handed out for each worker, so that none waits for the next one."""
WAITING = 6
"""Tasks for each worker that run or wait for an earlier one, which bounds the memory if one is slow."""
POLL = 0.1
"""Seconds between looks whether the study is to end."""


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
