"""The arguments of a study as given: read once, and cut into those of its chunks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaplygin.errors import ArgumentError

from ..ensembles.start import Columns
from ..problem.given_inputs import specs
from ..problem.sample_rows import SampleRows


class Given:
    """initial, parameters and inputs for `count` trajectories, without what is drawn.

    Raises ArgumentError for an array that has another number of entries.
    """

    def __init__(self, model: Any, given: Mapping[str, Any], count: int) -> None:
        inputs = given["inputs"]
        if not isinstance(inputs, Mapping):
            found = specs(inputs, model.inputs, count, model._input_flags)
            inputs = {name: each for name, each in zip(model.inputs, found) if each is not None}
        self.signals = {
            name: SampleRows.given_as(name, each, count) or each
            for name, each in inputs.items()
            if callable(each) or isinstance(each, tuple)
        }
        numbers = {name: each for name, each in inputs.items() if name not in self.signals}
        self.columns = {
            kind: None if value is None else Columns(kind, value, names, count)
            for kind, value, names in (
                ("initial", given["initial"], model.states),
                ("parameters", given["parameters"], model.parameters),
                ("inputs", numbers, model.inputs),
                ("past", given.get("past"), model.events),
            )
        }
        for kind, columns in self.columns.items():
            if columns is not None and not columns.fits:
                raise ArgumentError(_misfit(kind, columns, count))

    def part(self, first: int, last: int) -> dict[str, Any]:
        """The arguments of trajectories first <= i < last, by kind."""
        found: dict[str, Any] = {
            kind: columns and columns.part(first, last) for kind, columns in self.columns.items()
        }
        signals = {
            name: each.part(first, last) if isinstance(each, SampleRows) else each
            for name, each in self.signals.items()
        }
        return {**found, "inputs": {**found["inputs"], **signals}}


def _misfit(kind: str, columns: Columns, count: int) -> str:
    for name, row in (columns.by_name or {}).items():
        if row.ndim and row.shape != (count,):
            return f"{kind}: {name} has shape {row.shape}; a number or shape ({count},) is needed"
    size = len(columns.names)
    return f"{kind} has shape {columns.table.shape}; shape ({size},) or ({size}, {count}) is needed"
