"""Plots of a run: quantities over time, or the path in a plane, with events and mode changes marked."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from chaplygin._lazy import later
from chaplygin.errors import ArgumentError, optional, warn_caller

from ..interface import arguments
from ..interface.base_model import BaseModel
from .between_points import drawn
from .run_data import RunData

figures = later("chaplygin.runtime.results.figures")

PANELS = 24
"""Most panels in one figure."""
COLUMN = 8
"""Most panels one below the other."""
MARKS = 60
"""Most occurrences of one event, and most mode changes, that are marked."""
_PER_TIME = re.compile(r"/\s*(s|ms|min|h|d)\b")


def check_file(file: Any) -> None:
    """Check before a run that a plot can be written.

    Raises MissingExtraError without Matplotlib, ArgumentError for an unknown format or a folder that is missing or not
    writable.
    """
    figure_class = _figure_class("plot")
    if file is None or callable(getattr(file, "write", None)):
        return
    path = arguments.path("plot", file)
    known = figure_class().canvas.get_supported_filetypes()
    suffix = path.suffix.lower().lstrip(".")
    if suffix and suffix not in known:
        raise ArgumentError(
            f"plot: {os.fspath(file)!r}: Matplotlib writes {', '.join(sorted(known))}, not {suffix}"
        )
    if not path.parent.is_dir():
        raise ArgumentError(
            f"plot: {os.fspath(file)!r}: the folder {os.fspath(path.parent)!r} does not exist"
        )
    if (
        len(os.fsencode(path.name)) > 255
        or path.is_dir()
        or not os.access(path if path.exists() else path.parent, os.W_OK)
    ):
        raise ArgumentError(f"plot: {arguments.short(os.fspath(file))} cannot be written")


def first(states: Sequence[str]) -> Sequence[str]:
    """Those states that are drawn where nobody chose, with a warning if they are not all."""
    if len(states) > PANELS:
        warn_caller(
            f"plot: the first {PANELS} of {len(states)} states are drawn; choose others by name, as in "
            f"plot([{states[PANELS]!r}, {states[-1]!r}])"
        )
    return states[:PANELS]


def plane_of(model: BaseModel) -> tuple[str, str] | None:
    """The coordinates x and y of a planar system; None if the states do not have these names."""
    return ("x", "y") if {"x", "y"} <= set(model.states[: model.n_coordinates]) else None


def draw(sol: RunData, names: Sequence[str], file: Any, ax: Any = None) -> Any:
    """The figure of `Solution.plot`, one panel for each name; in the axes `ax` if given."""
    if ax is not None:
        axes = _axes(ax, len(names))
        _panels(axes, sol, names, axes[-1:])
        finish(axes[0].figure, None, file)
        return ax
    if len(names) > PANELS:
        raise ArgumentError(
            f"plot: {len(names)} names; a figure has at most {PANELS} panels: give the names to draw"
        )
    columns = -(-len(names) // COLUMN)
    rows = -(-len(names) // columns)
    figure = new_figure("Solution.plot", (7.0 if columns == 1 else 4.5 * columns, 1.0 + 1.4 * rows), file)
    places, axes = figure.add_gridspec(rows, columns), []
    for i in range(len(names)):
        panel = figure.add_subplot(places[i % rows, i // rows], sharex=axes[0] if axes else None)
        panel.tick_params(labelbottom=i % rows == rows - 1 or i == len(names) - 1)
        axes.append(panel)
    lowest = [axes[min((i + 1) * rows, len(axes)) - 1] for i in range(columns)]
    if (
        len(axes) < rows * columns
    ):  # where the row below goes on beside it, its numbers need no room of their own
        lowest[-1].xaxis.set_in_layout(False)
    _panels(axes, sol, names, lowest, figure)
    return finish(figure, title(sol.model), file)


def draw_path(sol: RunData, names: tuple[str, str], equal: bool | None, file: Any, ax: Any = None) -> Any:
    """The figure of ``Solution.plot(path=...)``, the second name over the first; in the axes `ax` if given."""
    if equal is None:
        equal = _alike(sol.model, *names)
    if ax is not None:
        (panel,) = _axes(ax, 1)
        _path(panel, sol, names, equal, None)
        finish(panel.figure, None, file)
        return ax
    figure = new_figure("Solution.plot", (5.5, 5.0), file)
    _path(figure.subplots(), sol, names, equal, figure)
    return finish(figure, title(sol.model), file)


def _alike(model: BaseModel, first: str, second: str) -> bool:
    """Whether two quantities have one scale: one unit, and where none is declared one kind, as two coordinates."""
    unit, other = (model.units.get(name, "") for name in (first, second))
    kind, others = (model.variables[name].kind if name in model.variables else "" for name in (first, second))
    return unit == other and (bool(unit) or kind == others)


def _axes(given: Any, count: int) -> list[Any]:
    """Axes of Matplotlib: one, or `count` of them."""
    several = isinstance(given, (list, tuple)) or (isinstance(given, np.ndarray) and given.size <= count)
    axes: list[Any] = np.array(given, dtype=object).ravel().tolist() if several else [given]
    if len(axes) not in (1, count) or not all(hasattr(a, "plot") and hasattr(a, "axvline") for a in axes):
        some = "Matplotlib axes" if count == 1 else f"one of Matplotlib's axes, or {count}"
        raise ArgumentError(f"plot: ax is {type(given).__name__}; give {some}, as from plt.subplots()")
    return axes


def new_figure(what: str, size: tuple[float, float], file: Any) -> Any:
    """An empty figure: one that pyplot shows, or one that is written to `file`, which is checked."""
    figure_class = _figure_class(what)
    if file is None:
        pyplot = optional("matplotlib.pyplot", what, "plot")
        return pyplot.figure(figsize=size, layout="constrained", FigureClass=figures.Figure)
    check_file(file)
    return figure_class(figsize=size, layout="constrained")


def finish(figure: Any, text: str | None, file: Any) -> Any:
    """The figure with its title if it has one, written to `file` if there is one."""
    if text is not None:
        figure.suptitle(text)
    if file is not None:
        figure.savefig(file, dpi=130)
    return figure


def title(model: Any) -> str:
    """The name of a model with its form."""
    return f"{model.name} ({model.form})" if model.form else str(model.name)


def _panels(
    panels: Sequence[Any], sol: RunData, names: Sequence[str], lowest: Sequence[Any], figure: Any = None
) -> None:
    """Quantities over time, each in its panel, or all in one; the legend beside the panels of a `figure` of its own."""
    series, marks, shared = drawn(sol), _marks(sol), len(panels) < len(names)
    for i, name in enumerate(names):
        panel, text = panels[0 if shared else i], labelled(name, sol.model.units.get(name, ""))
        panel.plot(series.t, series[name], linewidth=1.2, label=text if shared else None)
        if not shared:
            panel.set_ylabel(text)
    for panel in panels:
        panel.grid(visible=True, alpha=0.3)
        for _, times, style in marks:
            for t in times:
                panel.axvline(t, linewidth=0.8, **style)
    if marks or shared:
        line = optional("matplotlib.lines", "Solution.plot", "plot").Line2D
        curves = panels[0].get_legend_handles_labels()[0] if shared else []
        handles = [line([], [], linewidth=0.8, label=label, **style) for label, _, style in marks]
        _legend(panels[0], figure, [*curves, *handles])
    for panel in lowest:
        panel.set_xlabel(labelled(sol.model.along or "t", unit_of_time(sol.model)))


def _legend(panel: Any, figure: Any, handles: Sequence[Any]) -> None:
    """A legend below the panels of a figure, or in a panel of a caller's, where it fits best."""
    if figure is None:
        panel.legend(handles=handles, loc="best", fontsize=8)
    else:
        figure.legend(handles=handles, loc="outside lower center", fontsize=8, ncols=min(len(handles), 4))


def _path(panel: Any, sol: RunData, names: tuple[str, str], equal: bool, figure: Any) -> None:
    series = drawn(sol)
    x, y = (series[name] for name in names)
    known = set(panel.get_legend_handles_labels()[1])

    def once(label: str) -> str:
        """The label for the legend, if it is not there from another path."""
        return "_" + label if label in known else label

    curve = ", ".join(names)
    count = sum(label == curve or label.startswith(f"{curve} (") for label in known)
    curve = f"{curve} ({count + 1})" if count else curve
    panel.plot(x, y, linewidth=1.2, label=curve if figure is None else None)
    panel.plot(x[:1], y[:1], "o", color="black", markersize=4, label=once("start"))
    panel.plot(x[-1:], y[-1:], "s", color="black", markersize=4, label=once("end"))
    sign = 1.0 if len(series.t) == 0 or series.t[-1] >= series.t[0] else -1.0
    for label, times, style in _marks(sol):
        at = np.clip(np.searchsorted(sign * series.t, sign * np.asarray(times)), 0, len(series.t) - 1)
        panel.plot(x[at], y[at], "x", color=style["color"], markersize=5, label=once(label))
    if equal:
        panel.set_aspect("equal", adjustable="datalim")
    for name, axis in zip(names, (panel.xaxis, panel.yaxis)):
        text, before = labelled(name, sol.model.units.get(name, "")), axis.get_label_text()
        if text not in before.split(", "):
            axis.set_label_text(f"{before}, {text}" if before else text)
    panel.grid(visible=True, alpha=0.3)
    handles = panel.get_legend_handles_labels()[0]
    curves = [h for h in handles if getattr(h, "get_marker", str)() in ("None", "")]
    _legend(panel, figure, [*curves, *(h for h in handles if h not in curves)])


def _marks(sol: RunData) -> list[tuple[str, Any, dict[str, Any]]]:
    """(Label, times, style) of each event that occurred, and of the mode changes."""
    found: list[tuple[str, Any, dict[str, Any]]] = []
    events = sol.t_events or []
    names = [*sol.model.events, *(f"event {i + 1}" for i in range(len(events) - len(sol.model.events)))]
    for i, (name, times) in enumerate(zip(names, events)):
        if len(times):
            shown = "" if len(times) <= MARKS else f" (first {MARKS} of {len(times)})"
            found.append((name + shown, times[:MARKS], {"color": f"C{1 + i % 8}", "linestyle": "--"}))
    changes = [mode.t_start for mode in (sol.modes or [])[1:]]
    if changes:
        shown = "" if len(changes) <= MARKS else f" (first {MARKS} of {len(changes)})"
        found.append(("mode change" + shown, changes[:MARKS], {"color": "0.4", "linestyle": ":"}))
    return found


def labelled(name: str, unit: str) -> str:
    """The label of a quantity with its unit."""
    return f"{name} [{unit}]" if unit else name


def unit_of_time(model: Any) -> str:
    """The declared unit of t, or of x_1 in Whittaker's form; else the time unit of the rates: s in rad/s and m/s^2."""
    declared: str = model.units.get(model.along or "t", "")
    if declared or model.along:
        return declared
    per: set[str] = {match[1] for unit in model.units.values() if (match := _PER_TIME.search(unit))}
    return per.pop() if len(per) == 1 else ""


def _figure_class(what: str) -> Any:
    return optional("matplotlib.figure", what, "plot").Figure
