"""What collectors read: the trajectories of one chunk of a study."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import Array
from ..ensemble_result import Ensemble, EventTimes
from .observed import Condition, Observed


class Chunk:
    """Trajectories first <= i < first + count, which have run. ok (count,): whether each reached its end."""

    def __init__(self, ensemble: Ensemble, first: int) -> None:
        self.ensemble, self.first, self.count = ensemble, first, len(ensemble)
        self.ok: NDArray[np.bool_] = ensemble.ok
        self._known: dict[tuple[str, int], Array] = {}

    def values(self, what: Any, at: Array | None) -> Array:
        """A quantity at times, (T, count), or at the end, (1, count); NaN for failures and where not reached."""
        times = self.ensemble.t_eval
        if at is None or times is None:
            return self._row(what, -1)[None]
        places = np.searchsorted(times, at) if times[-1] >= times[0] else np.searchsorted(-times, -at)
        return np.array([self._row(what, int(m)) for m in places]).reshape(len(at), self.count)

    def _row(self, what: Any, m: int) -> Array:
        """A quantity at time m, or for m = -1 at the end."""
        key = str(what), m
        if key not in self._known:
            if isinstance(what, (Observed, Condition)):
                found = what.of(self.ensemble)
            else:
                found = self.ensemble.quantity(what, None if m < 0 else m)
            self._known[key] = np.where(self.ok, found, np.nan)
        return self._known[key]

    def events(self, name: str) -> EventTimes:
        """The times of an event of the model."""
        return self.ensemble.t_events[name]
