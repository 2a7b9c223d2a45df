"""Values of tables that are given at run time: they are parameters, with a name for each point of the grid."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chaplygin.errors import ArgumentError

from . import arguments
from .labels import tables_of, value_name
from .messages import short


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
