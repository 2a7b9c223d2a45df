"""Measured series: quantities of a model at given times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array
from ..model.compiled_model import CompiledModel

TIMES = "t"
"""The column of a table with the times."""


@dataclass(frozen=True)
class DataSeries:
    """Values (T,) of a quantity at times (T,), with standard deviations (T,), 1 where none are known."""

    what: Any
    times: Array
    values: Array
    sigma: Array
    known: bool
    """Whether the standard deviations were given."""


def series_of(label: str, data: Any, model: CompiledModel, t_span: tuple[float, float]) -> list[DataSeries]:
    """The series in `data`, checked: see `squares`. Raises `ArgumentError` that names the entry."""
    columns = _columns(label, data)
    if not columns:
        raise ArgumentError(f"{label} is empty; give name: (times, values)")
    names = list(map(arguments.plain_name, columns))
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ArgumentError(f"{label} has {twice} twice, by name and as a symbol; give one series of it")
    found = []
    for what, entry in columns.items():
        name = f"{label}: {arguments.plain_name(what)}"
        _check_name(name, arguments.plain_name(what), what, model)
        found.append(_series(name, what, entry, t_span))
    return found


def _columns(label: str, data: Any) -> dict[Any, Any]:
    """Each series by its name: a table has its times in the column "t"."""
    if hasattr(data, "columns") and hasattr(data, "__getitem__"):  # a data frame
        data = {str(name): np.asarray(data[name]) for name in data.columns}
        if TIMES not in data:
            raise ArgumentError(f"{label} has no column t with the times; it has {', '.join(data)}")
    if not isinstance(data, Mapping):
        raise ArgumentError(
            f"{label} = {arguments.short(data)}; a dict of name: (times, values) or (times, values, sigma), or a "
            "table with a column t is needed"
        )
    if TIMES not in data:
        return dict(data)
    return {name: (data[TIMES], values) for name, values in data.items() if name != TIMES}


def _check_name(label: str, name: str, what: Any, model: CompiledModel) -> None:
    if getattr(what, "free_symbols", None) and arguments.name_of(what) is None:
        return  # an expression: its names are checked when it is compiled
    if name not in model.quantities:
        raise ArgumentError(
            f"{label} is not a quantity of {model.name}; it has {', '.join(model.quantities)}"
            f"{arguments.nearest(name, model.quantities)}"
        )


def _series(label: str, what: Any, entry: Any, t_span: tuple[float, float]) -> DataSeries:
    if not isinstance(entry, (tuple, list)) or len(entry) not in (2, 3):
        raise ArgumentError(
            f"{label} = {arguments.short(entry)}; (times, values) or (times, values, sigma) is needed"
        )
    times = arguments.times(f"{label}: times", entry[0], *t_span)
    values = arguments.array(f"{label}: values", entry[1])
    if values.shape != times.shape or not times.size:
        raise ArgumentError(f"{label}: values has shape {values.shape} for times of shape {times.shape}")
    gaps = np.flatnonzero(~np.isfinite(values))
    if gaps.size:
        more = f", and {gaps.size - 1} more" if gaps.size > 1 else ""
        raise ArgumentError(
            f"{label}: values[{gaps[0]}] = {values[gaps[0]]} at t = {times[gaps[0]]:.6g}{more}; leave these "
            "samples out, with their times"
        )
    if len(entry) == 2:
        return DataSeries(what, times, values, np.ones_like(values), False)
    sigma = arguments.array(f"{label}: sigma", entry[2])
    if sigma.shape not in ((), values.shape):
        raise ArgumentError(f"{label}: sigma has shape {sigma.shape} for values of shape {values.shape}")
    sigma = np.broadcast_to(sigma, values.shape)
    if not (np.isfinite(sigma).all() and (sigma > 0).all()):
        raise ArgumentError(f"{label}: sigma must be positive and finite")
    return DataSeries(what, times, values, np.array(sigma), True)
