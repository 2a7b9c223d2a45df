"""Chunks that Ctrl-C has left: which of their trajectories have ended, and the rest of them later."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..ensembles.job import EnsemblePart, Results
from ..statistics.part import Tallies
from .stop import Stop


@dataclass(eq=False)
class Begun(Tallies):
    """The part of a chunk of which only the trajectories `finished`, numbered from 0 in it, have ended, and count.

    `results`: all that they leave, from which the whole part is made when the others have run too. Where none has
    ended, there are neither `parts` nor `results`.
    """

    finished: NDArray[np.int64]
    results: Results | None

    @property
    def done(self) -> int:
        return len(self.finished)

    @classmethod
    def nothing(cls, first: int, last: int) -> Begun:
        """A chunk of which no trajectory has ended."""
        none = np.empty(0, dtype=np.int64)
        return cls(first, last - first, {}, none, none.astype(np.int32), 0, (), none, None)

    def valid(self) -> bool:
        """Whether these are trajectories of the chunk, in order, with their results; for what is read from files."""
        where, results = self.finished, self.results
        if not len(where):
            return results is None
        inside = where[0] >= 0 and where[-1] < self.count and (np.diff(where) > 0).all()
        return bool(inside) and results is not None and len(results.t) == len(where)


class Stoppable:
    """Runs the trajectories of a part until it is stopped, but those that an earlier call has finished.

    `results` are then those of the part; trajectories that have not ended have the status `INTERRUPTED`.
    """

    def __init__(self, stop: Stop, begun: Begun | None) -> None:
        self.stop, self.begun = stop, begun
        self.results: Results | None = None

    def run(self, part: EnsemblePart, report: Any) -> bool:
        begun = self.begun
        with self.stop.ends(part.core.stop):
            part.core.run(
                gaps(() if begun is None else begun.finished, part.count)[::-1]
            )  # the last one is first
        part.finish()
        self.results = part.results
        if begun is not None and begun.results is not None:
            self.results.put(begun.finished, begun.results)
        self.results.complete(part.job.t_span[0])
        return False


def gaps(known: Any, count: int) -> list[tuple[int, int]]:
    """Ranges (first, last) of the numbers from 0 to `count` that are not `known`, ascending."""
    edges = [-1, *np.asarray(known, dtype=np.int64).tolist(), count]
    return [(a + 1, b) for a, b in pairwise(edges) if a + 1 < b]
