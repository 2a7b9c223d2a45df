"""Executors: who runs the trajectories of an ensemble."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import positive
from .job import EnsemblePart

MOST_THREADS = 1024
SMALLEST_CHUNK, LARGEST_CHUNK = 64, 4096
POLL = 0.05  # seconds between checks of the other threads
WORTH = 1e-3  # seconds of work left that are worth other threads: several times what it costs to start and wake them


class Executor(Protocol):
    """Anything that can run an ensemble: threads, processes, a cluster."""

    def run(self, part: EnsemblePart, report: Callable[[int], None]) -> bool:
        """Run every trajectory of a part that covers its whole job; return whether Ctrl-C ended the run.

        Either call ``part.core.run`` in this process, or send ``part.job`` elsewhere and call there ``run(first,
        last)`` for ranges that cover it, and here ``part.results.put(first, ...)`` with what they return. Call
        ``report`` with the number of finished trajectories from time to time.
        """


class Threads:
    """Runs an ensemble in the calling thread, and in others if it takes long enough.

    `threads`: the most threads, by default one for each core. `chunk`: the trajectories of a piece of work.
    """

    def __init__(self, threads: Any = None, chunk: Any = None) -> None:
        self.threads = None if threads is None else number_of_threads("threads", threads)
        self.chunk = None if chunk is None else positive("chunk", chunk)

    def run(self, part: EnsemblePart, report: Callable[[int], None]) -> bool:
        """Run the pieces of a part.

        The calling thread starts alone, since starting other threads takes longer than a short ensemble. When the
        trajectories that have ended tell that enough work is left, the others are started. Threads release the GIL
        while they integrate.
        """
        core = part.core
        # One piece, of which the rest is given to others if that is worth it: each piece ends with empty lanes.
        pieces = [(0, part.count)] if self.chunk is None else self.pieces(part.count, part.width)
        helpers: list[threading.Thread] = []
        failures: list[BaseException] = []
        begin = time.perf_counter()

        def help_out() -> None:
            try:
                core.run(pieces)
            except BaseException as error:
                failures.append(error)
                core.stop()

        def attend(first: int = 0, last: int = 0) -> int:
            """Start the others if it is worth it, with what this thread has not begun; returns where its share ends."""
            left = last - first or sum([b - a for a, b in pieces])
            if (
                not helpers
                and left > part.width
                and self._worth(time.perf_counter() - begin, core.done, left)
            ):
                if self.chunk is None:
                    pieces.extend((first + a, first + b) for a, b in self.pieces(last - first, part.width))
                    last = first
                helpers.extend(
                    threading.Thread(target=help_out, name="chaplygin")
                    for _ in range(min((self.threads or cores()) - 1, len(pieces)))
                )
                with suppress(RuntimeError):  # the system starts no more
                    for helper in helpers:
                        helper.start()
            report(core.done)
            return last

        interrupted = False
        try:
            core.run(pieces, attend)
            for helper in helpers:
                while helper.is_alive():
                    helper.join(POLL)
                    report(core.done)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            core.stop()
            for helper in helpers:
                if helper.ident is not None:  # the thread was started
                    helper.join()
        if failures:
            raise failures[0]
        return part.finish() or interrupted

    def _worth(self, spent: float, done: int, left: int) -> bool:
        """Whether other threads are worth it for the trajectories left, when `done` have taken `spent` seconds."""
        known = done > 0 or spent > WORTH
        return known and spent / (done + 1) * left > WORTH and (self.threads or cores()) > 1

    def pieces(self, count: int, width: int) -> list[tuple[int, int]]:
        """Trajectories 0 to count in pieces (first, last) of `chunk`, the first piece last in the list.

        Without `chunk`, a single thread gets one piece; several threads get smaller and smaller ones, so that they
        finish together, but each large enough to fill all `width` lanes at its start.
        """
        if self.chunk is None and (self.threads == 1 or count < 2 * width):
            return [(0, count)]
        workers = self.threads or cores()
        pieces, first = [], 0
        smallest = max(1, min(SMALLEST_CHUNK, count // (16 * workers)))
        while first < count:
            size = self.chunk or max(smallest, min(LARGEST_CHUNK, (count - first) // (4 * workers)))
            size = size if self.chunk else -(-size // width) * width
            pieces.append((first, min(first + size, count)))
            first += size
        return pieces[::-1]


def number_of_threads(what: str, value: Any) -> int:
    """A number of threads or processes, checked."""
    if not arguments.is_integer(value) or not 1 <= value <= MOST_THREADS:
        raise ArgumentError(
            f"{what} = {arguments.short(value)} must be a positive integer of at most {MOST_THREADS}"
        )
    return int(value)


def cores() -> int:
    """The number of cores available to this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
