"""Fans over time, distributions, estimates as they converge, scatter matrices: pictures of samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array
from ..results.plotting import PANELS, finish, labelled, new_figure, unit_of_time
from .convergence import Trail
from .results import Probability
from .views import Distribution, Fan, View, percent

POINTS = 2000
"""Most points of a curve, and most trajectories in a scatter matrix."""
FAILURES = 200
"""Most failures marked in a scatter matrix."""
VARIABLES = 7
"""Most rows of a scatter matrix."""
BINS = 10, 100

_COLOUR, _DARK, _FAILED = "tab:blue", "0.15", "tab:red"
_STYLES: tuple[Any, ...] = ("--", "-.", ":", (0, (8, 2)), (0, (4, 1, 1, 1, 1, 1)), (0, (1, 4)))


@dataclass(frozen=True)
class Shown:
    """What is drawn: views by name, and what is known of the trajectories.

    given: which indices -> the initial values and parameters that vary among trajectories, by name. random: whether
    the draws are random, so that intervals hold. collected: whether entries of `collect` can be asked for.
    """

    title: str
    model: Any
    views: Mapping[str, View]
    count: int
    failed: NDArray[Any]
    given: Callable[[NDArray[Any]], dict[str, Array]]
    random: bool = True
    collected: bool = True


class Pictures:
    """``plot()`` draws every result in the way that suits it; each kind of picture is a method.

    `what` chooses an entry, or the quantity of one, by name; without it everything that fits is drawn. With `ax` the
    picture goes there, and `ax` is returned; else the Matplotlib figure, which is written to `file` if one is given.
    Raises ArgumentError if nothing fits, or more than one thing with `ax`; MissingExtraError without the extra
    ``[plot]``.
    """

    def __init__(self, subject: Shown) -> None:
        self._subject = subject

    def __call__(self, what: Any = None, *, file: Any = None) -> Any:
        """One panel for each quantity: a fan if it has times, else its distribution, else how its estimate went."""
        found: list[_Panel] = []
        for name in self._entries(what):
            for draw, kind in (
                (self._fan, "fans"),
                (self._histogram, "distributions"),
                (self._trail, "trails"),
            ):
                panels = self._panels(draw, kind, name, what)
                found += panels
                if panels:
                    break
        if not found:
            raise self._nothing(
                "plot", what, "can be drawn", "cg.quantiles(..., at=times) or cg.histogram(...)"
            )
        return self._draw("plot", found, None, file)

    def fan(self, what: Any = None, *, ax: Any = None, file: Any = None) -> Any:
        """Bands over time: between quantiles, mean ± standard deviation, or the 95 % interval of a probability."""
        return self._all(
            "plot.fan", self._fan, "fans", what, "has times", "cg.quantiles(..., at=times)", ax, file
        )

    def histogram(self, what: Any = None, *, ax: Any = None, file: Any = None) -> Any:
        """The density of each quantity at the end, or at the last time, with quantiles marked."""
        more = "cg.histogram, cg.quantiles or cg.final"
        return self._all(
            "plot.histogram", self._histogram, "distributions", what, "has a distribution", more, ax, file
        )

    def exceedance(self, what: Any = None, *, ax: Any = None, file: Any = None) -> Any:
        """The probability that a quantity is larger, on a logarithmic scale, with the 95 % interval at each value."""
        more = "cg.quantiles, cg.histogram or cg.final"
        return self._all(
            "plot.exceedance", self._exceedance, "distributions", what, "has a distribution", more, ax, file
        )

    def convergence(self, what: Any = None, *, ax: Any = None, file: Any = None) -> Any:
        """Means and probabilities after 4, 5, 6, 7, 8, 10, ... trajectories, with 95 % intervals.

        Intervals are left out unless ``sampling="random"``: those of other points are not known.
        """
        more = "cg.probability, cg.moments or cg.final"
        return self._all("plot.convergence", self._trail, "trails", what, "is an estimate", more, ax, file)

    def scatter(self, names: Any = None, *, file: Any = None) -> Any:
        """A matrix of initial values and parameters that vary, and quantities at the end, against each other.

        `names`: those to draw; one alone is drawn against the initial values and parameters that vary, or, where none
        does, against the quantities. The first `POINTS` trajectories are shown. Those that failed are crosses, where
        both numbers are known.
        """
        subject = self._subject
        if not subject.count:
            raise self._nothing("plot.scatter", None, "", "")
        shown = np.setdiff1d(np.arange(min(subject.count, POINTS)), subject.failed)
        failed = np.asarray(subject.failed[:FAILURES], dtype=np.int64)
        given = subject.given(shown)
        ok, bad = self._columns(given, shown), self._columns(subject.given(failed), failed)
        chosen = self._variables(ok, names, given)
        size = 1.2 + 1.7 * len(chosen)
        figure = new_figure("plot.scatter", (size, size), file)
        _matrix(figure, [(self._labelled(name), ok[name], bad.get(name)) for name in chosen])
        some = f"first {len(shown)} of " if subject.count > POINTS else ""
        more = f", {len(failed)} of {len(subject.failed)} failures" if len(subject.failed) else ""
        return finish(figure, f"{subject.title}: {some}{subject.count} trajectories{more}", file)

    def _columns(self, given: Mapping[str, Array], which: NDArray[Any]) -> dict[str, Array]:
        """What was `given`, and what was collected for every trajectory, of some trajectories."""
        found = dict(given)
        for view in self._subject.views.values():
            for name, row in view.columns().items():
                found.setdefault(name, row[which])
        return found

    def _variables(self, known: Mapping[str, Array], names: Any, given: Container[str]) -> list[str]:
        """The names to draw of what is `known`, of which those `given` are not computed."""
        varied = [name for name, row in known.items() if len(np.unique(row[np.isfinite(row)])) > 1]
        if names is None:
            chosen = varied
        else:
            chosen = list(arguments.plain_names("plot.scatter", names))
            for name in chosen:
                if name not in known:
                    raise ArgumentError(
                        f"plot.scatter: {name!r} is not known for every trajectory; there are {', '.join(known)}"
                        f"{arguments.nearest(name, tuple(known))}"
                    )
            if len(chosen) == 1:
                causes = [name for name in varied if name in given] or varied
                chosen = [*(name for name in causes if name != chosen[0]), *chosen]
        if not 2 <= len(chosen) <= VARIABLES:
            hint = "; collect cg.table(...)" if self._subject.collected and len(chosen) < 2 else ""
            raise ArgumentError(
                f"plot.scatter: {len(chosen)} quantities vary and are known for every trajectory"
                f"{f' ({chr(44).join(chosen)})' if chosen else ''}; name 2 to {VARIABLES} of them{hint}"
            )
        return chosen

    def _entries(self, what: Any) -> list[str]:
        name = None if what is None else arguments.plain_name(what)
        return [name] if name is not None and name in self._subject.views else list(self._subject.views)

    def _all(
        self, where: str, draw: Any, kind: str, what: Any, wanted: str, more: str, ax: Any, file: Any
    ) -> Any:
        """Every panel of one kind that fits `what`."""
        found = [panel for name in self._entries(what) for panel in self._panels(draw, kind, name, what)]
        if not found:
            raise self._nothing(where, what, wanted, more)
        return self._draw(where, found, ax, file)

    def _panels(self, draw: Any, kind: str, entry: str, what: Any) -> list[_Panel]:
        chosen = None if what is None else arguments.plain_name(what)
        found = getattr(self._subject.views[entry], kind)()
        return [
            _Panel(draw, entry, label, data)
            for label, data in found.items()
            if chosen in (None, entry, label, label.removeprefix("mean of "))
        ]

    def _nothing(self, where: str, what: Any, wanted: str, more: str) -> ArgumentError:
        if not self._subject.count:
            return ArgumentError(f"{where}: there is nothing to draw, since no trajectory has ended")
        there = ", ".join(self._subject.views) or "none"
        if not self._subject.collected:
            shown = (
                "nothing"
                if what is None
                else f"{arguments.short(arguments.plain_name(what))} is nothing that"
            )
            return ArgumentError(f"{where}: {shown} {wanted}; there are {there}")
        which = (
            "no entry"
            if what is None
            else f"no entry or quantity {arguments.short(arguments.plain_name(what))}"
        )
        return ArgumentError(f"{where}: {which} {wanted}; collect {more}. The entries are {there}")

    def _draw(self, where: str, panels: Sequence[_Panel], ax: Any, file: Any) -> Any:
        names = ", ".join(panel.label for panel in panels[:PANELS])
        if ax is not None:
            if len(panels) > 1:
                raise ArgumentError(
                    f"{where}: ax takes one panel, and there are {len(panels)}: {names}; name one"
                )
            panels[0].draw(ax, panels[0].label, panels[0].data)
            return ax
        if len(panels) > PANELS:
            raise ArgumentError(
                f"{where}: {len(panels)} panels; a figure has at most {PANELS}: name one entry"
            )
        columns = 1 if len(panels) < 4 else 2
        rows = -(-len(panels) // columns)
        figure = new_figure(where, (6.5 if columns == 1 else 11.0, 0.8 + 2.6 * rows), file)
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        for panel, place in zip(panels, axes):
            panel.draw(place, panel.label, panel.data)
            if panel.entry != panel.label:
                place.set_title(panel.entry, loc="left", fontsize=9, parse_math=False)
        for place in axes[len(panels) :]:
            place.remove()
        return finish(figure, self._subject.title, file)

    def _labelled(self, name: str) -> str:
        units = self._subject.model.units
        base = name.removesuffix(" at start").removeprefix("mean of ")
        if base in units:
            return labelled(name, units[base])
        return labelled(
            name, unit_of_time(self._subject.model) if name == "t" or name.startswith("t of ") else ""
        )

    def _fan(self, panel: Any, label: str, fan: Fan) -> None:
        for i, (name, low, high) in enumerate(fan.bands):
            panel.fill_between(
                fan.at, low, high, color=_COLOUR, alpha=0.25 + 0.2 * i, linewidth=0, label=name
            )
        if fan.line is not None:
            panel.plot(fan.at, fan.line[1], color=_DARK, linewidth=1.3, label=fan.line[0])
        panel.set_xlabel(labelled(self._subject.model.along or "t", unit_of_time(self._subject.model)))
        panel.set_ylabel(self._labelled(label), parse_math=False)
        panel.margins(x=0)
        _dress(panel)

    def _histogram(self, panel: Any, label: str, found: Distribution) -> None:
        edges, density = bars(found)
        panel.stairs(density, edges, fill=True, color=_COLOUR, alpha=0.35)
        panel.stairs(density, edges, color=_DARK, linewidth=0.7)
        styles = cycle(_STYLES)
        for q, value in found.marks:
            style = "-" if q == 0.5 else next(styles)
            panel.axvline(
                value, color=_DARK, linewidth=1.2, linestyle=style, label=f"{percent(q)}: {value:.4g}"
            )
        outside = found.below + found.above
        if outside:
            panel.plot([], [], " ", label=f"{outside / found.total:.2g} outside")
        panel.set_xlabel(self._at(self._labelled(label), found), parse_math=False)
        panel.set_ylabel("density")
        panel.set_ylim(bottom=0)
        _dress(panel)

    def _exceedance(self, panel: Any, label: str, found: Distribution) -> None:
        x, more = exceedance(found)
        low, high = Probability(more, np.full(len(more), found.total)).interval()
        step: dict[str, Any] = {"drawstyle": "steps-post"} if (found.low == found.high).all() else {}
        panel.plot(x, more / max(found.total, 1), color=_DARK, linewidth=1.3, label="estimate", **step)
        panel.fill_between(
            x, np.maximum(low, 1e-300), high, color=_COLOUR, alpha=0.3, linewidth=0, label="95 % interval",
            step="post" if step else None,
        )  # fmt: skip
        panel.set_yscale("log")
        panel.set_ylim(0.3 / max(found.total, 1), 1.5)
        if len(x) and x[0] > 0 and x[-1] > 100 * x[0]:
            panel.set_xscale("log")
        panel.set_xlabel(self._at(self._labelled(label), found), parse_math=False)
        panel.set_ylabel("exceedance probability")
        _dress(panel)

    def _at(self, label: str, found: Distribution) -> str:
        """The label of a quantity with the time, if it is not the end."""
        if found.at is None:
            return label
        unit = unit_of_time(self._subject.model)
        return f"{label} at {self._subject.model.along or 't'} = {found.at:.4g}{' ' + unit if unit else ''}"

    def _trail(self, panel: Any, label: str, trail: Trail) -> None:
        if self._subject.random:
            panel.fill_between(
                trail.n, trail.low, trail.high, color=_COLOUR, alpha=0.3, linewidth=0, label="95 % interval"
            )
        panel.plot(
            trail.n, trail.value, color=_DARK, linewidth=1.3, marker=".", markersize=4, label="estimate"
        )
        if len(trail.n):
            panel.axhline(trail.value[-1], color="0.5", linewidth=0.9, linestyle="--", zorder=0)
        panel.set_xscale("log")
        panel.set_xlabel("trajectories that count")
        panel.set_ylabel(self._labelled(label), parse_math=False)
        panel.margins(x=0)
        _dress(panel)


@dataclass(frozen=True)
class _Panel:
    """What one pair of axes shows: draw(axes, label, data)."""

    draw: Callable[[Any, str, Any], None]
    entry: str
    label: str
    data: Any


def bars(found: Distribution) -> tuple[Array, Array]:
    """Edges (k + 1,) and densities (k,): those given, or bins of the width of D. Freedman and P. Diaconis (1981)."""
    edges = found.edges
    if edges is None:
        low, high = _span(np.array([*found.low[:1], *found.high[-1:]]))
        quarter = [value for _, value in found.quantile((0.25, 0.75))]
        width = 2 * (quarter[-1] - quarter[0]) / max(found.total, 1) ** (1 / 3) if quarter else 0.0
        if width * BINS[1] < high - low:
            bins = BINS[1] if width > 0 else BINS[0]
        else:
            bins = max(BINS[0], math.ceil((high - low) / width))
        edges = np.histogram_bin_edges([], bins, (low, high))
    until = found.less(edges)
    until[-1] = found.total - found.above
    return edges, np.diff(until) / (max(found.total, 1) * np.diff(edges))


def _span(values: Array) -> tuple[float, float]:
    """The range of a histogram: around the extremes if they are equal up to rounding."""
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    pad = 1e-9 * (max(abs(low), abs(high)) or 1.0)
    return (low, high) if high - low > pad else (low - pad, high + pad)


def exceedance(found: Distribution) -> tuple[Array, NDArray[np.int64]]:
    """Numbers x, ascending, and how many are larger than each: the ends of cells, about `POINTS` of them at most.

    If there are more, those whose counts are spread evenly on a logarithmic or a linear scale are kept.
    """
    x, more = found.high, found.total - found.below - np.cumsum(found.counts)
    if len(x) and found.low[0] < x[0]:
        x, more = np.concatenate([found.low[:1], x]), np.concatenate([[found.total - found.below], more])
    if len(x) > POINTS:
        wanted = np.concatenate(
            [
                np.geomspace(max(int(more[-1]), 1), more[0], POINTS // 2),
                np.linspace(more[-1], more[0], POINTS // 2),
            ]
        )
        keep = np.unique(np.searchsorted(-more, -wanted[::-1]).clip(0, len(x) - 1))
        keep = np.unique([0, *keep, len(x) - 1])
        x, more = x[keep], more[keep]
    return x, more


def _dress(panel: Any) -> None:
    panel.grid(visible=True, alpha=0.3)
    if panel.get_legend_handles_labels()[1]:
        panel.legend(loc="best", fontsize=8)


def _matrix(figure: Any, rows: Sequence[tuple[str, Array, Array | None]]) -> None:
    """Each quantity against those before it, and its histogram on the diagonal; (label, numbers, those of failures)."""
    size = len(rows)
    axes = figure.subplots(size, size, squeeze=False, sharex="col")
    for i, (label, y, bad_y) in enumerate(rows):
        for j, (_, x, bad_x) in enumerate(rows):
            panel = axes[i, j]
            if j > i:
                panel.remove()
                continue
            if i == j:
                finite = x[np.isfinite(x)]
                panel.stairs(*np.histogram(finite, 30, _span(finite)), fill=True, color=_COLOUR, alpha=0.35)
                panel.set_yticks([])
            else:
                panel.plot(x, y, ".", color=_COLOUR, markersize=2.5, alpha=0.5, markeredgewidth=0)
                if bad_x is not None and bad_y is not None:
                    panel.plot(
                        bad_x, bad_y, "x", color=_FAILED, markersize=4, markeredgewidth=0.9, label="failed"
                    )
            panel.tick_params(labelsize=7)
            panel.locator_params(nbins=4, prune="both", axis="x")
            if i != j:
                panel.locator_params(nbins=4, prune="both", axis="y")
            if j == 0 and i > 0:
                panel.set_ylabel(label, fontsize=8, parse_math=False)
            elif j < i:
                panel.tick_params(labelleft=False)
            if i == size - 1:
                panel.set_xlabel(rows[j][0], fontsize=8, parse_math=False)
    figure.align_labels()
