"""Pictures of an ensemble, of its own points or as it was observed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..interface.arguments import Array
from ..results.plotting import title
from ..statistics.pictures import Pictures, Shown
from ..statistics.views import ColumnsView, View
from .ensemble_data import EnsembleData


def of_ensemble(ensemble: EnsembleData) -> Pictures:
    """The pictures of an ensemble: its states, and whatever else is asked for by name."""
    model = ensemble.model

    def given(which: NDArray[Any]) -> dict[str, Array]:
        rows = {name: row for name, row in ensemble.parameters.items() if isinstance(row, np.ndarray)}
        for name, row in (ensemble.draws or {}).items():
            rows.setdefault(f"{name} at start" if name in model.states else name, row)
        return {name: row[which] for name, row in rows.items()}

    random = ensemble.draws is None or ensemble.draws.sampling == "random"
    count = len(ensemble)
    return Pictures(
        Shown(title(model), model, _Quantities(ensemble), count, ensemble.failed, given, random, False)
    )


class _Quantities(Mapping[str, View]):
    """A view of each quantity of an ensemble, of which the states are listed. Failures have no values."""

    def __init__(self, ensemble: EnsembleData) -> None:
        self._ensemble = ensemble

    def __getitem__(self, name: str) -> View:
        if name not in self:
            raise KeyError(name)

        def read() -> dict[str, Array]:
            return {name: np.where(self._ensemble.ok, self._ensemble[name], np.nan)}

        return ColumnsView((name,), self._ensemble.t_eval, read)

    def __contains__(self, name: object) -> bool:
        return name in self._ensemble.names

    def __iter__(self) -> Iterator[str]:
        return iter(self._ensemble.model.states)

    def __len__(self) -> int:
        return len(self._ensemble.model.states)
