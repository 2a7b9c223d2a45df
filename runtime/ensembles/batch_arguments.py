"""What callers give to batches: starts, new inputs, choices of runs, and arrays to write to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array

Runs = NDArray[np.int64]


def start_by_name(kind: str, value: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """`initial` or `parameters` as a dict; the rows of an array are in the order of `names`."""
    if value is None:
        return {}
    given = arguments.named(kind, value)
    if given is not None:
        return given
    rows = arguments.array(kind, arguments.sequence(kind, value, names))
    if rows.ndim not in (1, 2) or len(rows) != len(names):
        raise ArgumentError(
            f"{kind} has shape {rows.shape}; ({len(names)},) or ({len(names)}, n) is needed, in the order "
            f"({', '.join(names)}), or a dict by name"
        )
    return dict(zip(names, rows))


def plain_rows(values: Any, names: tuple[str, ...], n: int) -> Any:
    """Rows that need no conversion: those of an array (len(names), n), or of a dict of arrays (n,); else None."""
    rows = [values[name] for name in names] if isinstance(values, Mapping) else values
    if type(rows) is np.ndarray:
        return list(rows) if rows.dtype == np.float64 and rows.shape == (len(names), n) else None
    plain = isinstance(rows, list) and all(
        type(row) is np.ndarray and row.dtype == np.float64 and row.shape == (n,) for row in rows
    )
    return rows if plain else None


def target(out: Any, shape: tuple[int, ...]) -> Array:
    """The array to write to: `out`, or a new one."""
    if out is None:
        return np.empty(shape)
    if not (isinstance(out, np.ndarray) and out.dtype == np.float64 and out.shape == shape):
        raise ArgumentError(f"out must be a float64 array of shape {shape}")
    if not out.flags.writeable:
        raise ArgumentError("out is read-only")
    return out


def spread(value: Any, count: int) -> Array:
    """A number or an array (n,) as a new array (n,)."""
    return np.array(np.broadcast_to(np.asarray(value, dtype=np.float64), (count,)))


def chosen(what: str, where: Any, n: int) -> Runs:
    """Indices of runs, from a mask (n,) or indices; None: all of them."""
    if where is None:
        return np.arange(n)
    try:
        given = np.atleast_1d(np.asarray(where))
    except Exception as error:  # entries of different lengths
        raise ArgumentError(
            f"{what} = {arguments.short(where)} is neither a mask nor a list of indices"
        ) from error
    if given.dtype == bool:
        if given.shape != (n,):
            raise ArgumentError(f"{what}: the mask has shape {given.shape}; ({n},) is needed")
        return np.flatnonzero(given).astype(np.int64)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise ArgumentError(f"{what} = {arguments.short(where)} is neither a mask nor a list of indices")
    wrong = given[(given < 0) | (given >= n)]
    if wrong.size:
        raise ArgumentError(f"{what}: there is no run {wrong[0]} in a batch of {n}")
    if np.unique(given).size < given.size:
        raise ArgumentError(f"{what}: an index is given twice")
    return given.astype(np.int64)
