"""The order of a study: workers run chunks ahead, and their parts come in the order of the trajectories."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass

from .folder import Folder
from .study import Part
from .workers import Done, Place, Workers

AHEAD = 2
"""Tasks handed out for each worker, so that none waits for the next one."""
WAITING = 6
"""Tasks for each worker that run or wait for an earlier one, which bounds the memory if one is slow."""


@dataclass(eq=False)
class _Task:
    """Consecutive chunks that one worker runs, and their parts once they are there."""

    places: list[Place]
    parts: list[Part] | None = None


class Schedule:
    """The chunks of a study: run by workers, or taken from its folder.

    `arrived` is called with each part as soon as it is there, `parts` gives them in the order of the trajectories: what
    is decided there depends neither on the workers nor on their number. Ending the iteration cancels what still runs.
    """

    def __init__(
        self, places: list[Place], workers: Workers, folder: Folder | None, arrived: Callable[[Part], None]
    ) -> None:
        self.places = deque(places)
        self.workers, self.folder, self.arrived = workers, folder, arrived
        self.tasks: deque[_Task] = deque()
        self.running: dict[Future[Done], _Task] = {}
        self.seconds = math.inf  # that the last chunk took

    def parts(self) -> Generator[Part]:
        """The part of every chunk, in the order of the trajectories."""
        try:
            while self._hand_out():
                while self.tasks[0].parts is None:
                    self._collect()
                    self._hand_out()
                yield from self.tasks.popleft().parts or ()
        finally:
            for future in self.running:
                future.cancel()

    def _hand_out(self) -> bool:
        """Keep every worker busy; returns whether any task is under way."""
        size = self.workers.size
        while self.places and len(self.running) < AHEAD * size and len(self.tasks) < WAITING * size:
            task = self._stored() or self._next(len(self.places) // (2 * size))
            self.tasks.append(task)
            if task.parts is None:
                self.running[self.workers.submit(task.places)] = task
        return bool(self.tasks)

    def _stored(self) -> _Task | None:
        """The next chunk if the folder has it."""
        found = None if self.folder is None else self.folder.part(self.places[0][0])
        if found is None:
            return None
        return _Task([self.places.popleft()], [Part(**found)])

    def _next(self, most: int) -> _Task:
        """The next chunks: as many as the workers want in a task, at most `most` so that all of them end together."""
        wanted = max(1, min(most, math.ceil(self.workers.grain / self.seconds)))
        task = _Task([self.places.popleft()])
        while len(task.places) < wanted and self.places:
            if self.folder is not None and self.folder.has(self.places[0][0]):
                break
            task.places.append(self.places.popleft())
        return task

    def _collect(self) -> None:
        """Wait until a task has run, and take its parts."""
        for future in wait(self.running, return_when=FIRST_COMPLETED).done:
            task = self.running.pop(future)
            task.parts, self.seconds = future.result()
            for part in task.parts:
                if self.folder is not None:
                    self.folder.keep(part)
                self.arrived(part)
