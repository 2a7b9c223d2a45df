"""What a study keeps of its trajectories: the entries of `collect` in `ensemble`; `collector` says what each can do.

Only trajectories that reached the end or a terminal event count, with all collected quantities finite; after a terminal
event a trajectory has no values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from chaplygin.errors import ArgumentError

from ..ensembles.ensemble_data import EventTimes
from ..interface import arguments
from ..interface.arguments import Array
from ..statistics.convergence import Running, early, marked
from ..statistics.results import Histogram, MomentsResult, Probability, Quantiles
from ..statistics.sketches import BLOCK, Counts, Moments
from ..statistics.views import (
    AlongView,
    ColumnsView,
    EventsView,
    HistogramView,
    MomentsView,
    PassageView,
    ProbabilityView,
    QuantilesView,
)
from .chunk import Chunk
from .collector import Collector
from .observed import Condition, Extreme, Observed, check_quantity
from .packing import Slot

BITS = 10
"""Leading bits of the mantissa that tell the cells of quantiles apart: a relative error below 2^-10."""

_ENDS = ("t", "status", "nfev", "n_steps")
"""Columns of a table beside quantities."""


class Kept(dict[str, Array]):
    """Numbers of every trajectory by name."""

    def __missing__(self, key: Any) -> Array:
        name = arguments.plain_name(key)
        if name not in self:
            hint = arguments.nearest(name, tuple(self)) or f"; it has {', '.join(self)}"
            raise KeyError(f"{name!r} is not a quantity of this entry{hint}")
        return self[name]


@dataclass(frozen=True, eq=False)
class Recorded(Collector):
    """What `final` and `series` give: numbers of every trajectory, (T, n) by name, or (n,) at the end."""

    view = ColumnsView

    def part(self, chunk: Chunk) -> dict[str, Array]:
        return {name: self._column(chunk, each) for name, each in zip(self.names, self.what)}

    def form(self, first: int, count: int) -> Any:
        return {name: Slot(np.float64, self.times, count) for name in self.names}

    @property
    def single(self) -> bool:
        return self.at is None

    def _column(self, chunk: Chunk, what: Any) -> Array:
        return chunk.values(what, self.at)

    def add(self, total: Any, part: dict[str, Array], first: int, count: int) -> dict[str, Array]:
        total = {} if total is None else total
        for name, rows in part.items():
            total[name] = _wide(total.get(name), len(rows), count)
            total[name][:, first : first + rows.shape[1]] = rows
        return total  # type: ignore[no-any-return]

    def result(self, total: dict[str, Array]) -> Any:
        return Kept({name: self._shaped(rows) for name, rows in total.items()})


class _Table(Recorded):
    """Also parameters, and how the trajectories ended, failures included."""

    timed = finite = False

    def part(self, chunk: Chunk) -> dict[str, Array]:
        return {name: np.where(chunk.ended, rows, np.nan) for name, rows in super().part(chunk).items()}

    def _check(self, entry: str, model: Any, name: str) -> None:
        if name not in _ENDS:
            super()._check(entry, model, name)

    def _column(self, chunk: Chunk, what: Any) -> Array:
        ensemble, name = chunk.ensemble, str(what)
        if name == "status":
            return chunk.status.astype(np.float64)[None]
        if name in _ENDS:
            return np.asarray(getattr(ensemble, name), dtype=np.float64)[None]
        if name in ensemble.model.parameters:
            return ensemble.quantity(name)[None]
        return super()._column(chunk, what)


class _Along(Recorded):
    """One integral or extreme of every trajectory."""

    view = AlongView
    alone, timed = True, False

    def part(self, chunk: Chunk) -> dict[str, Array]:
        rows = np.where(chunk.ok, chunk.ensemble.observed(*self.what[0].key), np.nan)
        return {name: row[None] for name, row in zip(self._rows, rows)}

    @property
    def _rows(self) -> tuple[str, ...]:
        """An integral has no time."""
        return ("value",) if self.names[0].startswith("integral(") else ("value", "t")

    def form(self, first: int, count: int) -> Any:
        return {name: Slot(np.float64, 1, count) for name in self._rows}

    def result(self, total: dict[str, Array]) -> Any:
        value = total["value"][0]
        return Extreme(self.names[0], value, total["t"][0]) if "t" in total else value


@dataclass(frozen=True, eq=False)
class _Moments(Collector):
    view = MomentsView
    estimate = "mean"

    def part(self, chunk: Chunk) -> dict[str, Any]:
        """The moments of each block; in the first chunk those at the last time of the first trajectories too."""
        values = np.array([chunk.values(each, self.at) for each in self.what])
        use = np.isfinite(values).all(axis=0)
        places = range(0, chunk.count, BLOCK)
        blocks = [Moments.of(values[:, :, i : i + BLOCK], use[:, i : i + BLOCK]) for i in places]
        if chunk.first:
            return {"blocks": blocks, "early": None}
        few = early(chunk.count)[:, None]
        shape = len(self.what), len(few), min(chunk.count, BLOCK)
        among = use[-1, :BLOCK] & (np.arange(shape[2]) < few)
        return {"blocks": blocks, "early": Moments.of(np.broadcast_to(values[:, -1:, :BLOCK], shape), among)}

    def form(self, first: int, count: int) -> Any:
        def moments(times: int) -> Moments:
            number = Slot(np.float64, times, len(self.what))
            products = Slot(np.float64, times, len(self.what), len(self.what))
            return Moments(Slot(np.int64, times), number, products, number, number)  # type: ignore[arg-type]

        blocks = [moments(self.times)] * len(range(0, count, BLOCK))
        return {"blocks": blocks, "early": None if first else moments(len(early(count)))}

    def add(self, total: Running | None, part: dict[str, Any], first: int, count: int) -> Running:
        total = Running(None, []) if total is None else total
        if part["early"] is not None:
            total.trail.append(part["early"])
        for i, block in enumerate(part["blocks"], 1):
            total.total = block if total.total is None else total.total.add(block)
            if marked(first + i * BLOCK):
                total.trail.append(total.total.last())
        return total

    def result(self, total: Running) -> MomentsResult:
        return MomentsResult.of(self.names, self.at, total.total, total.trail)


@dataclass(frozen=True, eq=False)
class _Quantiles(Collector):
    view = QuantilesView
    q: Any = ()
    estimate = "values"
    alone = True

    def checked(self, entry: str, t_span: tuple[float, float]) -> _Quantiles:
        found = super().checked(entry, t_span)
        q = np.atleast_1d(arguments.array(f"collect: {entry}: q", self.q))
        if q.ndim != 1 or not len(q) or not ((q > 0) & (q < 1)).all():
            raise ArgumentError(
                f"collect: {entry}: q = {arguments.short(self.q)} must be numbers between 0 and 1"
            )
        return replace(found, q=q)

    def part(self, chunk: Chunk) -> list[Counts]:
        rows = chunk.values(self.what[0], self.at)
        return [Counts.of(row[np.isfinite(row)], BITS) for row in rows]

    def form(self, first: int, count: int) -> Any:
        return [Counts(BITS, Slot(np.int64, None), Slot(np.int64, None))] * self.times  # type: ignore[arg-type]

    def add(self, total: list[Counts] | None, part: list[Counts], first: int, count: int) -> list[Counts]:
        return part if total is None else [one.add(other) for one, other in zip(total, part)]

    def result(self, total: list[Counts]) -> Quantiles:
        return Quantiles(self.names[0], self.q, self.at, tuple(total))


@dataclass(frozen=True, eq=False)
class _Histogram(Collector):
    view = HistogramView
    edges: Any = ()
    alone = True

    def checked(self, entry: str, t_span: tuple[float, float]) -> _Histogram:
        found = super().checked(entry, t_span)
        edges = arguments.array(f"collect: {entry}: edges", self.edges)
        if edges.ndim != 1 or len(edges) < 2 or not (np.diff(edges) > 0).all():
            raise ArgumentError(f"collect: {entry}: edges must be at least two increasing numbers")
        return replace(found, edges=edges)

    def part(self, chunk: Chunk) -> Any:
        """Counts below the first edge, in the bins, and from the last edge on, (T, bins + 2)."""
        rows = chunk.values(self.what[0], self.at)
        size = len(self.edges) + 1
        places = [np.searchsorted(self.edges, row[np.isfinite(row)], side="right") for row in rows]
        return np.array([np.bincount(place, minlength=size) for place in places], dtype=np.int64)

    def form(self, first: int, count: int) -> Any:
        return Slot(np.int64, self.times, len(self.edges) + 1)

    def add(self, total: Any, part: Any, first: int, count: int) -> Any:
        return part if total is None else total + part

    def result(self, total: Any) -> Histogram:
        shaped = self._shaped(total)
        return Histogram(self.names[0], self.edges, shaped[..., 1:-1], shaped[..., 0], shaped[..., -1])


@dataclass(frozen=True, eq=False)
class _Occurrences(Collector):
    """Entries about an event of the model."""

    alone, timed, finite = True, False, False

    def _quantity(self, entry: str, model: Any, what: Any) -> str:
        name = arguments.plain_name(what)
        self._check(entry, model, name)
        return name

    def _check(self, entry: str, model: Any, name: str) -> None:
        if name not in model.events:
            known = f"it has {', '.join(model.events)}" if model.events else "it has none"
            raise ArgumentError(
                f"{entry}: {arguments.short(name)} is not an event of {model.name}; {known}"
                f"{arguments.nearest(name, model.events)}"
            )


class FirstPassage(_Occurrences):
    view = PassageView
    single = True

    def part(self, chunk: Chunk) -> Array:
        return np.where(chunk.ok, chunk.events(self.names[0]).first, np.nan)

    def form(self, first: int, count: int) -> Any:
        return Slot(np.float64, count)

    def add(self, total: Any, part: Array, first: int, count: int) -> Array:
        total = _wide(total, 1, count)
        total[0, first : first + len(part)] = part
        return total  # type: ignore[no-any-return]

    def result(self, total: Array) -> Array:
        (row,) = total
        return np.asarray(row)


class _Events(_Occurrences):
    view = EventsView

    def part(self, chunk: Chunk) -> tuple[Any, Array]:
        found = chunk.events(self.names[0])
        use = chunk.ok[found.trajectory]
        return found.trajectory[use] + chunk.first, found.t[use]

    def form(self, first: int, count: int) -> Any:
        return Slot(np.int64, None), Slot(np.float64, None)

    def add(self, total: Any, part: tuple[Any, Array], first: int, count: int) -> Any:
        _, trajectories, times = (0, [], []) if total is None else total
        trajectories.append(part[0])
        times.append(part[1])
        return count, trajectories, times

    def result(self, total: Any) -> EventTimes:
        count, trajectories, times = total
        return EventTimes(count, np.concatenate(trajectories), np.concatenate(times))


@dataclass(frozen=True, eq=False)
class _Probability(Collector):
    """Of a condition, whose values are 1 and 0."""

    view = ProbabilityView
    estimate = "p"
    alone = True

    def bound(self, entry: str, model: Any, t_span: tuple[float, float]) -> _Probability:
        condition = self.what[0]
        symbolic = getattr(condition, "is_Relational", False) or getattr(condition, "is_Boolean", False)
        if not symbolic and not isinstance(condition, Condition):
            raise ArgumentError(
                f"collect: {entry}: {arguments.short(condition)} is not a condition; give one such as x > 20 with the "
                "symbol x"
            )
        return super().bound(entry, model, t_span)

    def part(self, chunk: Chunk) -> dict[str, Any]:
        """How many satisfy the condition, and how many there are: in each block (2, T, blocks).

        In the first chunk also at the last time among the first trajectories, (2, M).
        """
        rows = chunk.values(self.what[0], self.at)
        found = np.array([rows == 1, np.isfinite(rows)])
        places = np.arange(0, chunk.count, BLOCK)
        few = early(chunk.count) if chunk.first == 0 else np.empty(0, dtype=np.int64)
        return {
            "blocks": np.stack([found[..., i : i + BLOCK].sum(axis=2) for i in places], axis=2),
            "early": found[:, -1, :BLOCK].cumsum(axis=1)[:, few - 1],
        }

    def form(self, first: int, count: int) -> Any:
        marks = 0 if first else len(early(count))
        blocks = len(range(0, count, BLOCK))
        return {"blocks": Slot(np.int64, 2, self.times, blocks), "early": Slot(np.int64, 2, marks)}

    def add(self, total: Running | None, part: dict[str, Any], first: int, count: int) -> Running:
        total = Running(0, list(part["early"].T)) if total is None else total
        for i in range(part["blocks"].shape[2]):
            total.total = total.total + part["blocks"][:, :, i]
            if marked(first + (i + 1) * BLOCK):
                total.trail.append(total.total[:, -1])
        return total

    def result(self, total: Running) -> Probability:
        trail = np.array([*total.trail, total.total[:, -1]]).T
        return Probability(*(self._shaped(row) for row in total.total), *trail)


def _wide(total: Array | None, rows: int, count: int) -> Array:
    """The array (rows, count) that begins with `total`, NaN elsewhere."""
    if total is not None and total.shape[1] == count:
        return total
    try:
        wide = np.full((rows, count), np.nan)
    except (MemoryError, ValueError):
        raise ArgumentError(
            f"{rows} numbers of each of {count} trajectories do not fit into the memory; collect statistics, or give "
            "out= and convert the study by to_zarr or to_parquet"
        ) from None
    if total is not None:
        wide[:, : total.shape[1]] = total
    return wide


def final(*what: Any) -> Collector:
    """Quantities at the end of every trajectory: a dict of arrays (n,), NaN for failures."""
    return Recorded(_some("final", what))


def series(*what: Any, times: Any) -> Collector:
    """Quantities at given times of every trajectory: a dict of arrays (T, n)."""
    if times is None:
        raise ArgumentError("series: times are missing; cg.final gives the end")
    return Recorded(_some("series", what), times)


def table(*what: Any) -> Collector:
    """Columns (n,) for every trajectory: quantities at the end, parameters, "t", "status", "nfev", "n_steps"."""
    return _Table(_some("table", what))


def moments(*what: Any, at: Any = None) -> Collector:
    """Mean, covariance and extremes of quantities together, at the end or at given times."""
    return _Moments(_some("moments", what), at)


def quantiles(what: Any, q: Any, at: Any = None) -> Collector:
    """Quantiles of one quantity, at the end or at given times, with a relative error below 2^-10."""
    return _Quantiles(_some("quantiles", (what,)), at, q)


def histogram(what: Any, edges: Any, at: Any = None) -> Collector:
    """Counts of one quantity between edges, a bin with its lower edge."""
    return _Histogram(_some("histogram", (what,)), at, edges)


def probability(condition: Any, at: Any = None) -> Collector:
    """The probability of a condition, such as ``x > 20`` with a symbol x, at the end or at given times."""
    return _Probability(_some("probability", (condition,)), at)


def first_passage(event: str) -> Collector:
    """The time of the first occurrence of an event of the model, (n,); NaN where there is none."""
    return FirstPassage(_some("first_passage", (event,)))


def events(event: str) -> Collector:
    """All times of an event of the model, as an `EventTimes`."""
    return _Events(_some("events", (event,)))


def entry_of(given: Any) -> Any:
    """An entry of `collect`: an integral or extreme is kept for every trajectory."""
    return _Along((given,)) if isinstance(given, Observed) else given


def _some(kind: str, what: Sequence[Any]) -> tuple[Any, ...]:
    if not what:
        raise ArgumentError(f"{kind}: name at least one quantity")
    for each in what:
        if not isinstance(each, (Observed, Condition)):
            check_quantity(kind, each)
    return tuple(what)


TAGS: dict[str, type[Collector]] = {
    "columns": Recorded,
    "table": _Table,
    "along": _Along,
    "moments": _Moments,
    "quantiles": _Quantiles,
    "histogram": _Histogram,
    "probability": _Probability,
    "first passage": FirstPassage,
    "events": _Events,
}
"""The kinds of entries, by what the manifests of studies call them."""
