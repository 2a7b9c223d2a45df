"""Chunks of a study: the trajectories that collectors read, and what Ctrl-C has left of a chunk."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..ensembles.ensemble_data import EnsembleData, EventTimes
from ..ensembles.job import EnsemblePart, Results
from ..interface.arguments import Array
from ..interface.statuses import INTERRUPTED
from ..statistics.part import UNDEFINED, Tallies
from .observed import Condition, Observed
from .stop import Stop


class Wanted(Protocol):
    """Of an entry of `collect`, what a chunk has to know: quantities and times, as in `Collector`."""

    @property
    def what(self) -> tuple[Any, ...]: ...
    @property
    def at(self) -> Any: ...
    @property
    def finite(self) -> bool: ...


class Chunk:
    """Trajectories first <= i < first + count, which have run, for some entries of `collect`.

    ok (count,): whether each reached its end, with all quantities of the entries finite where it was; status (count,);
    ended (count,): False for those that Ctrl-C stopped.
    """

    def __init__(self, ensemble: EnsembleData, first: int, entries: Iterable[Wanted]) -> None:
        self.ensemble, self.first, self.count = ensemble, first, len(ensemble)
        self._known: dict[tuple[str, int], Array] = {}
        undefined = np.zeros(self.count, dtype=bool)
        for entry in entries:
            for what in entry.what if entry.finite else ():
                for m in self._places(entry.at):
                    undefined |= self._reached(m) & ~np.isfinite(self._quantity(what, m))
        undefined &= ensemble.ok
        self.ok: NDArray[np.bool_] = ensemble.ok & ~undefined
        self.status = np.where(undefined, np.int32(UNDEFINED), ensemble.status)
        self.ended: NDArray[np.bool_] = ensemble.status != INTERRUPTED

    def values(self, what: Any, at: Array | None) -> Array:
        """A quantity at times, (T, count), or at the end, (1, count); NaN for failures and where not reached."""
        rows = [np.where(self.ok, self._quantity(what, m), np.nan) for m in self._places(at)]
        return np.array(rows).reshape(len(rows), self.count)

    def _places(self, at: Array | None) -> list[int]:
        """The indices of times, of which -1 is the end."""
        times = self.ensemble.t_eval
        if at is None or times is None:
            return [-1]
        found = np.searchsorted(times, at) if times[-1] >= times[0] else np.searchsorted(-times, -at)
        return [int(m) for m in found]

    def _reached(self, m: int) -> Any:
        """Which trajectories were there at time m: states are NaN after a terminal event."""
        return True if m < 0 else np.isfinite(self.ensemble.y[:, m]).all(axis=0)

    def _quantity(self, what: Any, m: int) -> Array:
        """A quantity of all trajectories, at time m or for m = -1 at the end."""
        key = str(what), m
        if key not in self._known:
            if isinstance(what, (Observed, Condition)):
                self._known[key] = what.of(self.ensemble)
            else:
                self._known[key] = self.ensemble.quantity(what, None if m < 0 else m)
        return self._known[key]

    def events(self, name: str) -> EventTimes:
        """The times of an event of the model."""
        return self.ensemble.t_events[name]


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
