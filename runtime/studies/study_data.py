"""A study as data: the parts of its chunks, added in their order, and the results made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..interface.arguments import nearest
from ..statistics.part import Tallies
from ..statistics.results import Statistic
from ..statistics.views import View
from .chunk import Begun
from .folder import Chunks
from .job import StudyJob
from .packing import blank
from .precision import decisions

if TYPE_CHECKING:
    from typing_extensions import Self


class StudyData:
    """What the trajectories leave, for all that reads it; `Study`, which users hold, adds the views of it."""

    def __init__(self, job: StudyJob, folder: Path | None = None) -> None:
        """With `folder`, where the parts are, numbers of every trajectory are read from it when they are used."""
        self.job, self.model, self._folder = job, job.model, folder
        self.results: Mapping[str, Any] = StudyResults({}, tuple(job.collect))
        self.failed: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self.failed_status: NDArray[np.int32] = np.empty(0, dtype=np.int32)
        self.done = self.redrawn = 0
        self.interrupted = False
        self.precise: bool | None = None
        self._decisions = iter([job.count] if job.until is None else decisions(job.count))
        self._count = next(self._decisions)
        self.warnings: list[str] = []
        self.seed = None if job.plan is None else job.plan.seed
        self.sampling = None if job.plan is None else job.plan.sampling
        self._totals: dict[str, Any] = {
            name: None for name, entry in job.collect.items() if folder is None or not entry.view.growing
        }
        self._failures: list[Tallies] = []
        self._reach = 0  # the end of the last chunk
        # Of each chunk: its first trajectory, and how many of it have ended, or which.
        self._finished: list[tuple[int, Any]] = []

    def take(self, part: Tallies) -> None:
        """Add the part of the next chunk."""
        self._reach = part.first + part.count
        while self._reach > self._count:
            self._count = next(self._decisions)
        if part.done:
            for name in self._totals:
                self._add(self._totals, name, part)
        self._finished.append((part.first, part.finished if isinstance(part, Begun) else part.count))
        self.done += part.done
        self.redrawn += part.redrawn
        self.warnings += part.warnings
        if len(part.failed):
            self._failures.append(part)

    @property
    def finished(self) -> NDArray[np.int64]:
        """The indices of the trajectories that count: all, unless Ctrl-C ended the study."""
        rows = [
            first + (np.arange(some) if isinstance(some, int) else some) for first, some in self._finished
        ]
        return np.concatenate(rows) if rows else np.empty(0, dtype=np.int64)

    def _add(self, totals: dict[str, Any], name: str, part: Tallies) -> None:
        totals[name] = self.job.collect[name].add(totals[name], part.parts[name], part.first, self._count)

    def complete(self) -> bool:
        """Whether all trajectories were taken, or so many that the result is as precise as `until` asks."""
        if self.done < self._count:
            return False
        until = self.job.until
        if until is not None:
            entry = self.job.collect[until.entry]
            self.precise = until.reached(entry.result(self._totals[until.entry]), entry.estimate)
        if self.precise or self.done == self.job.count:
            return True
        self._count = next(self._decisions)
        return False

    def finish(self, exclude: bool = True) -> Self:
        """Make the results of everything taken; without `exclude`, statistics are NaN if a trajectory failed."""
        if self._failures:
            self.failed = np.concatenate([part.failed for part in self._failures])
            self.failed_status = np.concatenate([part.status for part in self._failures])
        if self.done:
            spoiled = bool(len(self.failed)) and not exclude
            names = tuple(self.job.collect)
            self.results = StudyResults({name: partial(self._result, name, spoiled) for name in names}, names)
        return self

    def _result(self, name: str, spoiled: bool) -> Any:
        """The result of an entry, of which the parts are summed or in the folder; NaN for statistics if `spoiled`."""
        totals = {name: self._totals.get(name)}
        if name not in self._totals:
            for part in self._parts():
                if part.done:
                    self._add(totals, name, part)
        found = self.job.collect[name].result(totals[name])
        return found.unknown() if spoiled and isinstance(found, Statistic) else found

    def _parts(self) -> Iterator[Tallies]:
        """The parts in the folder, in the order of the trajectories, up to the first that is missing."""
        assert self._folder is not None
        yield from Chunks(self._folder, self._reach, self.job.collect).parts()

    def __len__(self) -> int:
        return self._count

    @property
    def opened(self) -> bool:
        """Whether it was opened from its folder, without a model and without what was drawn."""
        return self._folder is not None

    def views(self) -> dict[str, View]:
        """What pictures, tables and datasets see of the results, which are made when they are used."""
        return {name: self.job.collect[name].viewed(partial(self.results.get, name)) for name in self.results}

    def pieces(self) -> Iterator[tuple[int, dict[str, View]]]:
        """The results that grow with the trajectories, of ranges of them: (first, views by name)."""
        grown = {name: entry for name, entry in self.job.collect.items() if entry.view.growing}
        if not grown:
            return
        if self._folder is None:
            yield 0, {name: view for name, view in self.views().items() if name in grown}
            return
        for part in self._parts():
            count = part.count
            parts = part.parts or {
                name: blank(entry.form(part.first, count)) for name, entry in grown.items()
            }
            found = {
                name: entry.result(entry.add(None, parts[name], 0, count)) for name, entry in grown.items()
            }
            yield (
                part.first,
                {name: entry.viewed(partial(found.get, name)) for name, entry in grown.items()},
            )

    def facts(self) -> dict[str, Any]:
        """What the study is, as attributes of a dataset."""
        known = {
            "model": self.model.name,
            "form": self.model.form,
            "digest": self.model.digest,
            "t_start": self.job.t_span[0],
            "t_end": self.job.t_span[1],
            "n": len(self),
            "done": self.done,
            "failures": len(self.failed),
            "redrawn": self.redrawn,
            "seed": self.seed,
            "sampling": self.sampling,
        }
        return {name: value for name, value in known.items() if value is not None}


class StudyResults(Mapping[str, Any]):
    """Results by name, each made when it is first used; none of those collected where no trajectory has ended."""

    def __init__(self, make: dict[str, Callable[[], Any]], collected: tuple[str, ...]) -> None:
        self._make, self._made, self._collected = make, dict[str, Any](), collected

    def __getitem__(self, name: str) -> Any:
        if name not in self._make:
            raise KeyError(self._missing(str(name)))
        if name not in self._made:
            self._made[name] = self._make[name]()
        return self._made[name]

    def _missing(self, name: str) -> str:
        if name in self._collected:
            return f"{name!r} has no result: no trajectory of the study has ended"
        hint = nearest(name, self._collected) or f"; its entries are {', '.join(self._collected)}"
        return f"{name!r} is not in collect{hint}"

    def __iter__(self) -> Iterator[str]:
        return iter(self._make)

    def __len__(self) -> int:
        return len(self._make)

    def __repr__(self) -> str:
        return f"<Results {', '.join(self)}>"
