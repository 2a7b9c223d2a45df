"""Chunks that run in a process of their own, which may crash: the trajectories that crash it are found and left out.

When a worker dies, nobody knows which trajectory was to blame, if any was. So its chunk runs again in a process beside
another worker. If that one crashes too, the next one runs the trajectories one by one and says which is next; the last
one named is to blame. The chunk then runs without those that were found.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from multiprocessing import spawn
from typing import Any

import numpy as np

from ..ensembles.job import EnsemblePart
from ..statistics.part import CRASHED, Tallies
from .begun import gaps
from .pickling import WorkerError, pack, unpack
from .stop import HERE

MOST = 64
"""Trajectories of one chunk that may crash: after that many the rest of it is lost."""

_RAISED = 93
"""The exit status of a process that answers with an exception."""
_WIDTH = 8
"""Bytes of an index."""
_COMMAND = "from chaplygin.runtime.studies.crashes import serve; serve()"


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
