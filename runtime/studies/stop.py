"""Ctrl-C in a study: the first one ends what runs, and trajectories that have ended count; the second one raises."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

LEAVE = 1.0
"""Seconds that those who run chunks have to hand over what has ended, when a study is to end."""


class Stop:
    """Whether work is to end, and what ends it: calling it asks for that, from any thread or a signal handler.

    `end`: what is called then.
    """

    def __init__(self, end: Callable[[], Any] | None = None) -> None:
        self.wanted = False
        self._enders: dict[object, Callable[[], Any]] = {} if end is None else {None: end}

    def __call__(self) -> None:
        self.wanted = True
        for end in list(self._enders.values()):
            end()

    @contextmanager
    def ends(self, end: Callable[[], Any]) -> Iterator[None]:
        """Call `end` when the end is asked for while the block runs, or was before."""
        key = object()
        self._enders[key] = end
        if self.wanted:
            end()
        try:
            yield
        finally:
            del self._enders[key]


HERE = Stop()
"""Ends what a process runs that a study has started for its chunks."""


@contextmanager
def heard(stop: Stop) -> Iterator[None]:
    """Let Ctrl-C ask for `stop` in place of raising KeyboardInterrupt wherever the thread is; a second one raises.

    A handler of the caller stays.
    """
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def first(number: int, frame: Any) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        stop()

    signal.signal(signal.SIGINT, first)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def obey(door: Any) -> None:
    """Begin a process of chunks: it ends what it runs when its study says so, by the pipe `door`, or dies.

    Ctrl-C in a terminal reaches all processes; what it means is for the study to say.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_watch, args=(door,), name="chaplygin", daemon=True).start()


def _watch(door: Any) -> None:
    with suppress(OSError):
        door.poll(None)  # nobody reads, so that all who watch see it
    HERE()
    time.sleep(LEAVE)
    os._exit(1)  # nobody waits any longer
