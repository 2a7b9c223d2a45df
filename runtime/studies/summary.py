"""The summary of a study: how its trajectories ended, and a table of its results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..interface.tables import aligned, table
from ..results.plotting import labelled
from ..statistics.summary import HEAD, failures, kinds_of

if TYPE_CHECKING:
    from .study_data import StudyData


def text(study: StudyData) -> str:
    """`Study.summary`."""
    lines = [ends(study), *failures(study.failed, study.failed_status)]
    if study.redrawn:
        lines.append(f"{study.redrawn} drawn again because they broke an assumption")
    if study.interrupted:
        lines.append(f"interrupted: {study.done} of {len(study)} trajectories are finished")
    if study.precise is not None:
        lines.append(f"{study.job.until}: {'reached' if study.precise else 'not reached'}")
    rows = _rows(study)
    return "\n".join([*lines, aligned([HEAD, *rows])] if rows else lines)


def html(study: StudyData) -> str:
    """The same table for a notebook."""
    return table(ends(study), HEAD, _rows(study))


def ends(study: StudyData) -> str:
    """The number of trajectories for each way of ending."""
    status = study.failed_status
    kinds = [f"{np.count_nonzero(status == code)} {name}" for code, name in kinds_of(status)]
    head = f"{study.done} trajectories of {study.model.name}"
    return f"{head}: {', '.join([f'{study.done - len(study.failed)} ok', *kinds])}"


def _rows(study: StudyData) -> list[tuple[str, ...]]:
    """A row for each quantity of an entry."""
    found: list[tuple[str, ...]] = []
    for name, view in study.views().items():
        when = "end" if view.last is None else f"t = {view.last:.6g}"
        for quantity, count, figures in view.lines():
            unit = study.model.units.get(quantity, "")
            found.append((name, view.kind, labelled(quantity, unit), when, count, figures))
    return found
