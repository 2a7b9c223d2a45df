"""Values by name: dicts, and whatever else has names: labelled series and tables, records, named tuples.

What has names is read by them and never by position, which an index, a column or a field does not follow.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from chaplygin.errors import ArgumentError

from .messages import ROOM, listed, short

_PLAIN = frozenset((np.ndarray, list, tuple, float, int, np.float64, type(None)))
_STRING = frozenset((str,))
_SHOWN = 3
_VALUE = re.compile(r"(.+)_at_(\d+(?:_\d+){0,2})")
"""The value of a table at a point of its grid, among parameters."""


def by_name(kind: str, value: Any) -> dict[str, Any]:
    """The entries of `value` by name, see `named`. Raises `ArgumentError` if it has no names."""
    found = named(kind, value)
    if found is None:
        raise ArgumentError(f"{kind} = {short(value)}: give a dict by name")
    return found


def named(kind: str, value: Any) -> dict[str, Any] | None:
    """The entries of `value` by name; None if it has no names, as an array, a list, or a series that is numbered.

    Names are the keys of a dict, the index of a pandas Series, the columns of a DataFrame, the variables of an xarray
    Dataset, a coordinate of names of a DataArray, the fields of a record or a named tuple. SymPy symbols
    are replaced by their names. Raises `ArgumentError` for other labels, and for a name that occurs twice.

    >>> named("initial", {"x": 1.0, "x_dot": 0.0})
    {'x': 1.0, 'x_dot': 0.0}
    """
    if type(value) is dict and _STRING.issuperset(map(type, value)):
        return value.copy()
    pairs = _pairs(value)
    if pairs is None:
        return None
    result: dict[str, Any] = {}
    for key, entry in pairs:
        name = name_of(key)
        if name is None:
            raise ArgumentError(not_a_name(kind, key))
        if name in result:
            raise ArgumentError(f"{kind}: {name} is given twice")
        result[name] = entry
    return result


def name_of(key: Any) -> str | None:
    """A string as it is, the name of a symbol; None for anything else, also for paths and models, which have names."""
    name = key if isinstance(key, str) or not hasattr(key, "free_symbols") else getattr(key, "name", None)
    return name if isinstance(name, str) else None


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


def not_a_name(kind: str, key: Any) -> str:
    """The message for a key that is not a name: several of them belong to `jointly`."""
    names = [name_of(each) for each in key] if isinstance(key, (tuple, frozenset)) else []
    if names and None not in names:
        shown = ", ".join(map(repr, names))
        return (
            f"{kind}: the key ({shown}) has several names: quantities that are drawn together are "
            f"cg.jointly(({shown}), ...), in a list with a dict of the others"
        )
    return f"{kind}: the key {short(key)} is not a name; names are strings, as 'x' and 'x_dot'"


def refuse_names(what: str, value: Any) -> None:
    """Reject a labelled series or table with names along an axis, where nothing could be read by them."""
    if type(value) in _PLAIN:
        return
    for labels in _axes(value):
        if getattr(getattr(labels, "dtype", None), "kind", "O") in "iufbMm":
            continue
        names = [label for label in labels if isinstance(label, str)]
        if names:
            shown = listed((name[:ROOM] for name in names), _SHOWN)
            raise ArgumentError(
                f"{what} has entries by name, {shown}, and is read in their order: give an array, as .to_numpy()"
            )


def _pairs(value: Any) -> Iterable[tuple[Any, Any]] | None:
    """The names of a value with their entries; None if it has none."""
    if isinstance(value, Mapping):
        return value.items()
    fields = value.dtype.names if isinstance(value, (np.ndarray, np.void)) else None
    if fields:
        return [(name, value[name]) for name in fields]
    if type(value) in _PLAIN:
        return None
    if isinstance(value, tuple):
        fields = getattr(value, "_fields", None)
        return None if fields is None else zip(fields, value)
    if hasattr(type(value), "isel") and hasattr(type(value), "indexes"):
        return _coordinate(value)
    if callable(getattr(type(value), "keys", None)) and hasattr(type(value), "__getitem__"):
        return _keys(value)
    return None


def _keys(value: Any) -> Iterable[tuple[Any, Any]] | None:
    """Those of a series or a table; None if it is numbered."""
    keys = list(value.keys())
    if keys == list(range(len(keys))):
        return None
    if len({*keys}) < len(keys):  # value[key] is then several entries
        return [(key, None) for key in keys]
    return ((key, value[key]) for key in keys)


def _coordinate(value: Any) -> Iterable[tuple[Any, Any]] | None:
    """Those of a DataArray along its coordinate of names."""
    for axis, labels in value.indexes.items():
        if axis in value.dims and any(isinstance(label, str) for label in labels):
            return [(label, value.isel({axis: i})) for i, label in enumerate(labels)]
    return None


def _axes(value: Any) -> Iterator[Iterable[Any]]:
    """The labels of each axis of a pandas object or a DataArray."""
    if hasattr(type(value), "isel") and hasattr(type(value), "indexes"):
        yield from value.indexes.values()
        return
    for attribute in ("index", "columns"):
        labels = getattr(value, attribute, None)
        if isinstance(labels, Iterable) and not callable(labels):
            yield labels
