"""Values of tables that are given at run time: they are parameters, with a name for each point of the grid."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from chaplygin.errors import ArgumentError

from . import arguments
from .messages import short

_VALUE = re.compile(r"(.+)_at_(\d+(?:_\d+){0,2})")


def value_name(table: str, point: Sequence[int]) -> str:
    """The name of the value at a point of the grid, by the numbers of its knots."""
    return f"{table}_at_{'_'.join(map(str, point))}"


def tables_of(names: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """The tables whose values are among the names of parameters, with the shapes of their grids."""
    found: dict[str, tuple[int, ...]] = {}
    for match in filter(None, map(_VALUE.fullmatch, names)):
        sizes = tuple(int(i) + 1 for i in match[2].split("_"))
        found[match[1]] = tuple(map(max, sizes, found.get(match[1], sizes)))
    return found


def with_values(
    model: Any,
    parameters: Any,
    interpolants: Any,
    many: bool = False,
    together: Callable[[Any, Any], Any] | None = None,
) -> Any:
    """The parameters of a run with the values of its tables; None for `interpolants` changes nothing.

    Of many runs a table can have a row for each of them, or what `together` takes draws its values.
    Raises ArgumentError naming the table.
    """
    if interpolants is None:
        return parameters
    given, tables = arguments.by_name("interpolants", interpolants), tables_of(model.parameters)
    numbers: dict[str, Any] = {}
    drawn = []
    for name, values in given.items():
        if name not in tables:
            known = (
                f"; it has {', '.join(tables)}" if tables else ", which cg.Interpolant(name, grid) declares"
            )
            raise ArgumentError(
                f"interpolants: {model.name} has no table {short(name)} with values at run time{known}"
            )
        grid, what = tables[name], f"interpolants: {name}"
        names = [value_name(name, point) for point in np.ndindex(*grid)]
        if together is not None and not isinstance(values, (np.ndarray, list, tuple)):
            drawn.append(together(names, values))
            continue
        found = arguments.array(what, values)
        if found.shape[-len(grid) :] != grid or found.ndim > len(grid) + many:
            rows = f", or one more axis in front with {grid} for each run" if many else ""
            raise ArgumentError(f"{what} has shape {found.shape}; its grid has {grid}{rows}")
        if not np.isfinite(found).all():
            raise ArgumentError(f"{what} is not finite at {np.argwhere(~np.isfinite(found))[0].tolist()}")
        columns = found.reshape(-1, len(names)).T
        numbers |= zip(names, columns if found.ndim > len(grid) else columns[:, 0].tolist())
    if isinstance(parameters, list):
        return [*parameters, numbers, *drawn]
    plain = arguments.by_name("parameters", {} if parameters is None else parameters)
    for name in numbers.keys() & plain.keys():
        raise ArgumentError(f"{name} is given in parameters and in interpolants; leave it out of one of them")
    plain |= numbers
    return [plain, *drawn] if drawn else plain
