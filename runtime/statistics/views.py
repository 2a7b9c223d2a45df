"""What pictures, tables and datasets see of the results of a study: one class for each kind of result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..interface.arguments import Array
from .convergence import Trail, mean_trail
from .sketches import Moments

SHOWN = (0.05, 0.5, 0.95)
"""Quantiles marked where a study names none."""
FAN = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Quantiles of a fan of stored trajectories."""


@dataclass(frozen=True)
class Fan:
    """A quantity over times `at` (T,): a line (T,) if there is one, and bands between two rows, the widest first."""

    at: Array
    line: tuple[str, Array] | None
    bands: Sequence[tuple[str, Array, Array]]


@dataclass(frozen=True)
class Distribution:
    """Counts (c,) of numbers in cells from `low` to `high` (c,), ascending; a cell of a single number has equal ends.

    below, above: how many are outside all cells. marks: quantiles (q, value). edges: the bins to draw, if given. at:
    the time, None for the end.
    """

    low: Array
    high: Array
    counts: NDArray[np.int64]
    marks: Sequence[tuple[float, float]] = ()
    below: int = 0
    above: int = 0
    edges: Array | None = None
    at: float | None = None

    @property
    def total(self) -> int:
        return int(self.counts.sum()) + self.below + self.above

    def less(self, x: Array) -> Array:
        """How many numbers are less than each x; within a cell they are spread evenly."""
        if not len(self.counts):
            return np.full(len(x), float(self.below))
        until = np.concatenate([[0], np.cumsum(self.counts)]) + self.below
        place = np.searchsorted(self.high, x, side="left")
        inner = np.minimum(place, len(self.counts) - 1)
        low, width = self.low[inner], self.high[inner] - self.low[inner]
        share = np.where(width > 0, (x - low) / np.where(width > 0, width, 1.0), 0.0)
        return until[place] + np.where(
            place < len(self.counts), self.counts[inner] * np.clip(share, 0.0, 1.0), 0.0
        )

    def quantile(self, q: Iterable[float]) -> list[tuple[float, float]]:
        """The numbers of rank ceil(q n), within cells by linear interpolation; those outside all cells are left out."""
        until = np.cumsum(self.counts) + self.below
        found = []
        for each in q:
            rank = max(np.ceil(each * self.total), 1)
            place = int(np.searchsorted(until, rank, side="left"))
            if self.below < rank and place < len(until):
                share = 1 - (until[place] - rank) / self.counts[place]
                found.append(
                    (float(each), float(self.low[place] + share * (self.high[place] - self.low[place])))
                )
        return found

    @classmethod
    def of(cls, values: Array, at: float | None) -> Distribution:
        """Of the finite ones of values (n,)."""
        numbers, counts = np.unique(values[np.isfinite(values)], return_counts=True)
        bare = cls(numbers, numbers, counts.astype(np.int64))
        return cls(numbers, numbers, bare.counts, bare.quantile(SHOWN), at=at)


@dataclass(frozen=True)
class Variables:
    """Arrays for a dataset: (dimensions, array, attributes) by name, and coordinates (dimension, array) by name.

    The dimensions are those of one entry; `dimensions` names what belongs to it alone. `quantity` in the attributes is
    the name or expression of which the array is.
    """

    arrays: dict[str, tuple[tuple[str, ...], Any, dict[str, str]]]
    coordinates: dict[str, tuple[str, Any]] = field(default_factory=dict)


class View:
    """A result: what is left empty here, this kind does not have.

    names: the quantities. at: times (T,), None for the end. read: gives the result.
    """

    kind: ClassVar[str] = "result"
    growing: ClassVar[str | None] = None
    """The dimension along which the results of chunks are joined; None for those that are summed."""

    def __init__(self, names: tuple[str, ...], at: Array | None, read: Callable[[], Any]) -> None:
        self.names, self.at, self._read = names, at, read

    @cached_property
    def result(self) -> Any:
        return self._read()

    def fans(self) -> dict[str, Fan]:
        """The quantities over time by name; empty at the end."""
        return {}

    def distributions(self) -> dict[str, Distribution]:
        """The distributions by quantity, at the last of the times."""
        return {}

    def trails(self) -> dict[str, Trail]:
        """Estimates as trajectories were added, by what is estimated; at the last of the times."""
        return {}

    def columns(self) -> dict[str, Array]:
        """A number of every trajectory (n,), by quantity."""
        return {}

    def variables(self) -> Variables:
        """Everything as arrays."""
        return Variables({})

    def lines(self) -> list[tuple[str, str, str]]:
        """Rows of a table: quantity, how many trajectories count, figures; at the last of the times."""
        return [(", ".join(self.names), "", repr(self.result))]

    @property
    def last(self) -> float | None:
        """The last of the times; None for the end."""
        return None if self.at is None else float(self.at[-1])

    def _over(self, *dimensions: str) -> tuple[str, ...]:
        return dimensions if self.at is None else (*dimensions, "t")

    def _times(self) -> dict[str, tuple[str, Any]]:
        return {} if self.at is None else {"t": ("t", self.at)}


def key(i: int, name: str) -> str:
    """The name of the i-th quantity in a dataset: its own, or the number of an expression."""
    return name if name.isidentifier() else str(i)


class ColumnsView(View):
    """Numbers of every trajectory: a dict of arrays (n,) at the end, (T, n) at times; or of one quantity the array."""

    kind, growing = "values", "trajectory"

    @property
    def rows(self) -> dict[str, Array]:
        found = self.result if isinstance(self.result, dict) else {self.names[0]: self.result}
        return {name: found[name] for name in self.names}

    def fans(self) -> dict[str, Fan]:
        return {} if self.at is None else {name: self._fan(rows) for name, rows in self.rows.items()}

    def _fan(self, rows: Array) -> Fan:
        assert self.at is not None
        quantiles = np.full((len(FAN), len(rows)), np.nan)
        for m, row in enumerate(rows):
            finite = row[np.isfinite(row)]
            if len(finite):
                quantiles[:, m] = np.quantile(finite, FAN, method="inverted_cdf")
        return _nested(self.at, np.array(FAN), quantiles)

    def distributions(self) -> dict[str, Distribution]:
        return {name: Distribution.of(row, self.last) for name, row in self._final().items()}

    def trails(self) -> dict[str, Trail]:
        return {f"mean of {name}": mean_trail(row) for name, row in self._final().items()}

    def columns(self) -> dict[str, Array]:
        return self._final() if self.at is None else {}

    def _final(self) -> dict[str, Array]:
        return {name: row if self.at is None else row[-1] for name, row in self.rows.items()}

    def variables(self) -> Variables:
        axes = ("trajectory",) if self.at is None else ("t", "trajectory")
        found: dict[str, Any] = {
            key(i, name): (axes, row, {"quantity": name}) for i, (name, row) in enumerate(self.rows.items())
        }
        return Variables(found, self._times())

    def lines(self) -> list[tuple[str, str, str]]:
        return [(name, *_figures(row)) for name, row in self._final().items()]


class PassageView(ColumnsView):
    """Times of the first occurrence of an event."""

    kind = "first passage"


class AlongView(ColumnsView):
    """An integral along each trajectory, or an extreme with its time."""

    kind = "along"

    @property
    def rows(self) -> dict[str, Array]:
        (name,) = self.names
        times = getattr(self.result, "t", None)
        return {name: self.result} if times is None else {name: self.result.value, f"t of {name}": times}

    def variables(self) -> Variables:
        found = zip(("value", "t"), self.rows.items())
        return Variables({own: (("trajectory",), row, {"quantity": name}) for own, (name, row) in found})


class EventsView(View):
    """All times of an event."""

    kind, growing = "events", "occurrence"

    def distributions(self) -> dict[str, Distribution]:
        return {f"t of {self.names[0]}": Distribution.of(self.result.t, None)}

    def columns(self) -> dict[str, Array]:
        return {f"number of {self.names[0]}": self.result.counts.astype(np.float64)}

    def variables(self) -> Variables:
        about = {"quantity": self.names[0]}
        found = {"trajectory": self.result.trajectory, "t": self.result.t}
        return Variables({name: (("occurrence",), row, about) for name, row in found.items()})

    def lines(self) -> list[tuple[str, str, str]]:
        counts = self.result.counts
        text = f"{len(self.result.t)} times in {np.count_nonzero(counts)} of {len(counts)} trajectories"
        return [(self.names[0], str(len(counts)), text)]


class MomentsView(View):
    kind = "moments"

    def fans(self) -> dict[str, Fan]:
        if self.at is None:
            return {}
        mean, std = self.result.mean, self.result.std
        return {
            name: Fan(
                self.at,
                ("mean", mean[name]),
                [("mean ± standard deviation", mean[name] - std[name], mean[name] + std[name])],
            )
            for name in self.names
        }

    def trails(self) -> dict[str, Trail]:
        return {f"mean of {name}": trail for name, trail in self.result.trail.items()}

    def variables(self) -> Variables:
        found: dict[str, Any] = {"count": (self._over(), self.result.count, {})}
        for i, name in enumerate(self.names):
            for what in ("mean", "std", "error", "minimum", "maximum"):
                entry = getattr(self.result, what)[name]
                found[self._key(what, i)] = (self._over(), entry, {"quantity": name})
            for j in range(i):
                both = {"quantity": f"{self.names[j]}, {name}"}
                found[self._key("covariance", j, i)] = (
                    self._over(),
                    self.result.covariance[..., j, i],
                    both,
                )
        return Variables(found, self._times())

    def _key(self, what: str, *numbers: int) -> str:
        return ".".join([what, *(key(i, self.names[i]) for i in numbers)] if len(self.names) > 1 else [what])

    def lines(self) -> list[tuple[str, str, str]]:
        r = self.result
        count = int(np.ravel(r.count)[-1])

        def figures(name: str) -> str:
            mean, error, std, least, most = (
                float(np.ravel(row[name])[-1]) for row in (r.mean, r.error, r.std, r.minimum, r.maximum)
            )
            return (
                f"mean {mean:.6g} ± {error:.2g}, std {std:.4g}, min {least:.4g}, max {most:.4g}"
                if count
                else ""
            )

        return [(name, str(count), figures(name)) for name in self.names]


class QuantilesView(View):
    kind = "quantiles"

    def fans(self) -> dict[str, Fan]:
        if self.at is None:
            return {}
        return {self.names[0]: _nested(self.at, self.result.q, self.result.values)}

    def distributions(self) -> dict[str, Distribution]:
        cells = self.result.counts[-1]
        values = self.result.values if self.at is None else self.result.values[:, -1]
        marks = [(float(q), float(value)) for q, value in zip(self.result.q, values) if np.isfinite(value)]
        low, high = cells.edges()
        return {self.names[0]: Distribution(low, high, cells.counts, marks, at=self.last)}

    def variables(self) -> Variables:
        about = {"quantity": self.names[0]}
        low, high = self.result.interval()
        found = {"": self.result.values, "low": low, "high": high}
        arrays = {name: (self._over("q"), rows, about) for name, rows in found.items()}
        return Variables(arrays, {"q": ("q", self.result.q), **self._times()})

    def lines(self) -> list[tuple[str, str, str]]:
        values = self.result.values if self.at is None else self.result.values[:, -1]
        text = ", ".join(f"{percent(q)} {value:.6g}" for q, value in zip(self.result.q, values))
        return [(self.names[0], str(self.result.counts[-1].total), text)]


class HistogramView(View):
    kind = "histogram"

    def distributions(self) -> dict[str, Distribution]:
        edges = self.result.edges
        counts, below, above = (np.asarray(each) for each in self._last())
        if np.isnan(below):  # a failure counts as NaN
            return {}
        bare = Distribution(edges[:-1], edges[1:], counts, (), int(below), int(above))
        marks = bare.quantile(SHOWN)
        return {
            self.names[0]: Distribution(
                edges[:-1], edges[1:], counts, marks, int(below), int(above), edges, self.last
            )
        }

    def _last(self) -> Sequence[Any]:
        found = self.result.counts, self.result.below, self.result.above
        return found if self.at is None else [each[-1] for each in found]

    def variables(self) -> Variables:
        about = {"quantity": self.names[0]}
        counts, edges = self.result.counts, self.result.edges
        found = {
            "": (self._over("bin"), counts if self.at is None else counts.T, about),
            "below": (self._over(), self.result.below, about),
            "above": (self._over(), self.result.above, about),
        }
        bins = {"bin_low": ("bin", edges[:-1]), "bin_high": ("bin", edges[1:])}
        return Variables(found, {**bins, **self._times()})

    def lines(self) -> list[tuple[str, str, str]]:
        counts, below, above = self._last()
        if np.isnan(below):
            return [(self.names[0], "", "nan")]
        fullest = int(np.argmax(counts))
        edges = self.result.edges
        text = (
            f"{len(counts)} bins, most in {edges[fullest]:.4g} .. {edges[fullest + 1]:.4g} ({counts[fullest]}), "
            f"{below} below, {above} above"
        )
        return [(self.names[0], str(int(counts.sum() + below + above)), text)]


class ProbabilityView(View):
    kind = "probability"

    def fans(self) -> dict[str, Fan]:
        if self.at is None:
            return {}
        low, high = self.result.interval()
        return {self._label: Fan(self.at, ("estimate", self.result.p), [("95 % interval", low, high)])}

    def trails(self) -> dict[str, Trail]:
        trail = self.result.trail
        return {self._label: trail} if len(trail.n) else {}

    @property
    def _label(self) -> str:
        return f"P({self.names[0]})"

    def variables(self) -> Variables:
        about = {"quantity": self.names[0]}
        low, high = self.result.interval()
        found = {
            "": self.result.p,
            "low": low,
            "high": high,
            "count": self.result.count,
            "n": self.result.n,
        }
        return Variables({name: (self._over(), rows, about) for name, rows in found.items()}, self._times())

    def lines(self) -> list[tuple[str, str, str]]:
        count, n, p, low, high = (
            np.ravel(each)[-1]
            for each in (self.result.count, self.result.n, self.result.p, *self.result.interval())
        )
        text = f"{p:.6g}, 95 % interval {low:.6g} to {high:.6g} ({count} trajectories)" if n else ""
        return [(self.names[0], str(n), text)]


def _nested(at: Array, q: Array, values: Array) -> Fan:
    """Bands between the outermost quantiles (k, T), the next ones and so on; a line if one is left over."""
    order = np.argsort(q)
    pairs = list(zip(order, order[::-1]))[: len(q) // 2]
    bands = [(f"{percent(q[i])} to {percent(q[j])}", values[i], values[j]) for i, j in pairs]
    middle = order[len(q) // 2]
    return Fan(at, (percent(q[middle]), values[middle]) if len(q) % 2 else None, bands)


def percent(q: float) -> str:
    """A probability as the name of its quantile."""
    return "median" if q == 0.5 else f"{100 * q:.6g} %"


def _figures(row: Array) -> tuple[str, str]:
    """How many of the numbers are finite, and their moments."""
    use = np.isfinite(row)
    found = Moments.of(row[None, None], use[None])
    count = int(found.count[0])
    if not count:
        return "0", ""
    std = float(np.sqrt(found.products[0, 0, 0] / (count - 1))) if count > 1 else np.nan
    text = (
        f"mean {found.mean[0, 0]:.6g}, std {std:.4g}, min {found.minimum[0, 0]:.4g}, "
        f"max {found.maximum[0, 0]:.4g}"
    )
    return str(count), text
