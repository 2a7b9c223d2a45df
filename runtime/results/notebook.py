"""Notebook display of models and solutions, with a plot of a run if Matplotlib is installed."""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Sequence

import numpy as np

from chaplygin.errors import optional

from ..interface.base_model import BaseModel
from ..interface.tables import SHOWN, table, with_unit
from .between_points import drawn
from .plotting import title
from .run_data import RunData

PANELS, POINTS = 4, 400
"""Most states in the plot of a run, and most points of each."""


def model_table(model: BaseModel) -> str:
    """The names of a model by kind, with units and descriptions, as an HTML table."""
    kinds = [
        ("states", model.states),
        ("parameters", model.parameters),
        ("inputs", model.inputs),
        ("outputs", model.outputs),
        ("invariants", model.invariants),
        ("residuals", model.residuals),
        ("events", model.events),
        ("contacts", model.contacts),
    ]
    rows: list[Sequence[str]] = []
    for kind, names in kinds:
        for i, name in enumerate(names[:SHOWN]):
            known = model.variables.get(name)
            unit, text = ("", "") if known is None or kind in ("events", "contacts") else known[2:4]
            rows.append((kind if i == 0 else "", name, unit, text))
        if len(names) > SHOWN:
            rows.append(("", f"and {len(names) - SHOWN} more", "", ""))
    return table(title(model), ("", "name", "unit", "description"), rows)


def solution_table(sol: RunData) -> str:
    """How a run ended, its states at both ends, and a plot of them, as HTML."""
    model, n = sol.model, len(sol.t)
    rows: list[Sequence[str]] = [("t", *(f"{t:.6g}" for t in sol.t[[0, -1]]))] if n else []
    for i, name in enumerate(model.states[:SHOWN]):
        rows.append((with_unit(model, name), *(f"{x:.6g}" for x in sol.y[i, [0, -1]])) if n else (name,))
    if len(model.states) > SHOWN:
        rows.append((f"and {len(model.states) - SHOWN} more",))
    caption = f"{title(model)}: {sol.message}; {n} points, {sol.n_steps} steps, {sol.nfev} evaluations"
    return table(caption, ("", "start", "end"), rows) + _picture(sol)


def _picture(sol: RunData) -> str:
    """The first states over time as an inline PNG; empty if Matplotlib is missing or fails."""
    names = sol.model.states[:PANELS]
    if len(sol.t) < 2:
        return ""
    try:
        series = drawn(sol, POINTS)
        shown = np.unique(np.linspace(0, len(series.t) - 1, max(POINTS, 2 * sol.n_steps)).round().astype(int))
        figure = optional("matplotlib.figure", "a picture", "plot").Figure(
            figsize=(4.5, 0.4 + 0.9 * len(names)), layout="constrained"
        )
        panels = figure.subplots(len(names), 1, sharex=True, squeeze=False)[:, 0]
        for panel, name, row in zip(panels, names, series.y):
            panel.plot(series.t[shown], row[shown], linewidth=1.0)
            panel.set_ylabel(name, fontsize=8, parse_math=False)
            panel.tick_params(labelsize=7)
        panels[-1].set_xlabel(sol.model.along or "t", fontsize=8, parse_math=False)
        file = io.BytesIO()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            figure.savefig(file, format="png", dpi=72)
    except Exception:  # the notebook still shows the table
        return ""
    data = base64.b64encode(file.getvalue()).decode("ascii")
    return f'<img alt="states over time" src="data:image/png;base64,{data}"/>'
