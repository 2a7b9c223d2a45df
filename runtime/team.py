"""Threads that wait between calls, for work that is too short to start threads for."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any


class Team:
    """`size` threads that each do a part of a piece of work; the caller is the first of them.

    The others start with the first piece and wait in between; handing a piece over takes some 10 µs. They end with the
    team.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._orders: list[SimpleQueue[Any]] = []
        self._failures: SimpleQueue[BaseException | None] = SimpleQueue()
        self._busy = self._pid = 0

    def run(self, work: Callable[[int], None], stop: Callable[[], None]) -> None:
        """Call ``work(i)`` in thread i, for 0 <= i < size, and return when all calls have.

        `stop` is called to let them end early, after an exception here, such as Ctrl-C. Raises the first exception.
        """
        if (
            self._pid != os.getpid()
        ):  # the first piece, or the first after a fork, which copies no other thread
            self._start()
        self._wait()
        for i, orders in enumerate(self._orders, 1):
            orders.put((work, i))
        self._busy = len(self._orders)
        try:
            work(0)
            self._wait()
        except BaseException:
            stop()
            raise
        finally:
            while self._busy:  # they use the caller's memory
                self._failures.get()
                self._busy -= 1

    def _start(self) -> None:
        self._pid, self._busy = os.getpid(), 0
        self._orders = [SimpleQueue() for _ in range(self.size - 1)]
        self._failures = SimpleQueue()
        weakref.finalize(self, _dismiss, self._orders)
        for orders in self._orders:
            threading.Thread(
                target=_serve, args=(orders, self._failures), name="chaplygin", daemon=True
            ).start()

    def _wait(self) -> None:
        """Wait for the others; raise what one of them has raised."""
        while self._busy:
            failure = self._failures.get()
            self._busy -= 1
            if failure is not None:
                raise failure


def _serve(orders: SimpleQueue[Any], failures: SimpleQueue[BaseException | None]) -> None:
    """What a thread of the team does. It keeps neither the team nor a finished piece of work alive."""
    while (order := orders.get()) is not None:
        failure = None
        try:
            work, i = order
            work(i)
        except BaseException as error:
            failure = error
        del order, work
        failures.put(failure)
        del failure


def _dismiss(threads: list[SimpleQueue[Any]]) -> None:
    for orders in threads:
        orders.put(None)
