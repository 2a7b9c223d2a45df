"""What collectors read: the trajectories of one chunk of a study."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..ensembles.ensemble_data import EnsembleData
from ..ensembles.event_times import EventTimes
from ..interface.arguments import Array
from ..interface.statuses import INTERRUPTED
from ..statistics.part import UNDEFINED
from .observed import Condition, Observed


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
