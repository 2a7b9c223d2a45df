"""Studies: trajectories run in chunks, of which only what `collect` names is kept; summary, pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaplygin.errors import ArgumentError

from ..draws.draws import Draws
from ..ensembles.ensemble_data import index_of
from ..interface import arguments
from ..interface.arguments import Array
from ..interface.tables import aligned, table
from ..problem.consistency import Accepted
from ..results.plotting import labelled, title
from ..results.solution import Solution
from ..statistics.part import HEAD, failures, kinds_of
from ..statistics.pictures import Pictures, Shown
from . import storage
from .job import _cut_first
from .study_data import StudyData


class Study(StudyData):
    """The result of `study`.

    ``results[name]``: the result of each entry. ``len(study)``: the number of trajectories, of which those at the
    indices `failed`, with the statuses `failed_status`, reached neither their end nor a terminal event, or have a
    quantity of `collect` that is not finite; ``rerun(i)`` runs one trajectory again. ``draws[name]`` makes the drawn
    numbers again, arrays (n,). `redrawn`: trajectories drawn again because they broke an assumption.
    ``interrupted``: whether Ctrl-C ended the study, so that only `done` trajectories count, those with the indices
    `finished`; results of each trajectory are NaN for the others. ``precise``: with `until`, whether that precision was
    reached; else None.
    """

    @property
    def draws(self) -> Draws | None:
        """What was drawn, arrays (n,) by name, made again; None if nothing was."""
        self._check_model("draws")
        return None if self.job.plan is None else self.job.arguments(0, len(self))[1]

    def rerun(self, i: int, **changed: Any) -> Solution:
        """Run trajectory i again and return the full `Solution`. Keywords change options of `integrate`."""
        self._check_model("rerun")
        j = index_of("rerun", i, len(self))
        given, _ = self.job.arguments(j, j + 1)
        single = {kind: _cut_first(value) for kind, value in given.items()}
        past = single.pop("past", None)
        if past is not None:
            single["initial"] = Accepted(single["initial"], tuple(past.tolist()))
        result: Solution = self.model.integrate(
            self.job.t_span, **single, **{**vars(self.job.options), **changed}
        )
        return result

    def _check_model(self, what: str) -> None:
        if self.opened:
            raise ArgumentError(
                f"{what}: a study opened from its folder has no model; the same call of cg.study with out= gives one "
                "that has, and runs only what is missing"
            )

    @property
    def plot(self) -> Pictures:
        """Pictures: ``plot()`` chooses, ``plot.fan()``, ``plot.histogram()``, ``plot.exceedance()``,
        ``plot.convergence()`` and ``plot.scatter()`` are of one kind. Needs the extra ``[plot]``.
        """
        return of_study(self)

    def to_xarray(self) -> Any:
        """The results as an `xarray.Dataset` over trajectories, times t, quantiles q and bins.

        An array has the name of its entry, with several ``entry.name``; dimensions that belong to one entry alone are
        ``entry.dimension``. Units are attributes; so are model, digest, seed and numbers of trajectories, of the whole.
        Needs the extra ``[xarray]``.
        """
        return storage.dataset(self)

    def to_zarr(self, path: Any) -> None:
        """Write `to_xarray` as Zarr v3 to a new `path`; ``xarray.open_zarr(path)`` reads it.

        Of a study in a folder (``cg.open_study``), numbers of every trajectory are written chunk by chunk, so they may
        be larger than the memory. Raises ArgumentError if the path exists, MissingExtraError without the extra
        ``[storage]``.
        """
        storage.to_zarr(self, path)

    def to_parquet(self, path: Any) -> None:
        """Write each entry as ``<entry>.parquet`` into a new folder `path`, chunk by chunk as `to_zarr` does.

        A row has the coordinates (trajectory, t, q, edges of a bin) and the values there. ``failures.parquet`` has the
        indices and statuses of failures. Raises ArgumentError if the path exists, MissingExtraError without the extra
        ``[storage]``.
        """
        storage.to_parquet(self, path)

    def summary(self) -> str:
        """A text: how the trajectories ended, the indices of the first failures, and a table of the results."""
        lines = [self._ends(), *failures(self.failed, self.failed_status)]
        if self.redrawn:
            lines.append(f"{self.redrawn} drawn again because they broke an assumption")
        if self.interrupted:
            lines.append(f"interrupted: {self.done} of {len(self)} trajectories are finished")
        if self.precise is not None:
            lines.append(f"{self.job.until}: {'reached' if self.precise else 'not reached'}")
        rows = _rows(self)
        return "\n".join([*lines, aligned([HEAD, *rows])] if rows else lines)

    def __repr__(self) -> str:
        return f"<Study of {self._ends()}; results {', '.join(self.results) or 'none'}>"

    def _repr_html_(self) -> str:
        return table(self._ends(), HEAD, _rows(self))

    def _ends(self) -> str:
        """The number of trajectories for each way of ending."""
        status = self.failed_status
        kinds = [f"{np.count_nonzero(status == code)} {name}" for code, name in kinds_of(status)]
        head = f"{self.done} trajectories of {self.model.name}"
        return f"{head}: {', '.join([f'{self.done - len(self.failed)} ok', *kinds])}"


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


def _rows(study: StudyData) -> list[tuple[str, ...]]:
    """A row for each quantity of an entry."""
    found: list[tuple[str, ...]] = []
    for name, view in study.views().items():
        when = "end" if view.last is None else f"t = {view.last:.6g}"
        for quantity, count, figures in view.lines():
            unit = study.model.units.get(quantity, "")
            found.append((name, view.kind, labelled(quantity, unit), when, count, figures))
    return found
