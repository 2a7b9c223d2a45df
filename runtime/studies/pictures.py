"""Pictures of a study."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..interface import arguments
from ..interface.arguments import Array
from ..results.plotting import title
from ..statistics.pictures import Pictures, Shown

if TYPE_CHECKING:
    from .study_data import StudyData


def of_study(study: StudyData) -> Pictures:
    """The pictures of a study."""

    def given(which: NDArray[Any]) -> dict[str, Array]:
        found: dict[str, list[Array]] = {}
        if study.opened:  # what was drawn is not known
            return {}
        for run in np.split(which, np.flatnonzero(np.diff(which) != 1) + 1) if len(which) else ():
            there = study.job.arguments(int(run[0]), int(run[-1]) + 1)[0]
            for kind, label in (("initial", "{} at start"), ("parameters", "{}")):
                table = there.get(kind)
                for name, row in table.items() if isinstance(table, Mapping) else ():
                    if isinstance(row, np.ndarray) and row.shape == run.shape:
                        found.setdefault(label.format(arguments.plain_name(name)), []).append(row)
        return {name: np.concatenate(rows) for name, rows in found.items()}

    random = study.sampling in (None, "random")
    model = study.model
    return Pictures(Shown(title(model), model, study.views(), study.done, study.failed, given, random))
