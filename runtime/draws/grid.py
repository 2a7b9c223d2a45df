"""Every combination of given values, as arguments of an ensemble."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array


class Grid(Mapping[str, Array]):
    """Every combination of the values of `axes`; made by `grid`.

    ``grid[name]`` (n,): the value in each of the n combinations, of which the last axis changes fastest. axes: the
    values by name. shape: the number of values on each axis.
    """

    def __init__(self, axes: dict[str, Array]) -> None:
        self.axes = axes
        self.shape = tuple(map(len, axes.values()))
        columns = np.meshgrid(*axes.values(), indexing="ij")
        self._columns = {name: column.ravel() for name, column in zip(axes, columns)}

    def shaped(self, values: Any) -> Any:
        """An array (..., n) of an ensemble of these combinations as (..., *shape)."""
        found = arguments.unchanged("values", values)
        count = int(np.prod(self.shape))
        if found.shape[-1:] != (count,):
            raise ArgumentError(
                f"values have shape {found.shape}; the last axis of a grid of {count} has length {count}"
            )
        return found.reshape(*found.shape[:-1], *self.shape)

    def __getitem__(self, key: Any) -> Array:
        name = arguments.plain_name(key)
        if name not in self._columns:
            raise KeyError(f"{name!r} is not in the grid{arguments.nearest(name, tuple(self.axes))}")
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.axes)

    def __len__(self) -> int:
        return len(self.axes)

    def __repr__(self) -> str:
        return f"<Grid of {' x '.join(f'{len(values)} {name}' for name, values in self.axes.items())}>"


def grid(axes: Mapping[Any, Any]) -> Grid:
    """Every combination of the values of several quantities, for `initial`, `parameters` and `inputs` of `ensemble`.

    `axes`: arrays of values by name. The result is a mapping of arrays (n,), one number for each of the n combinations,
    that stands for a dict or is unpacked into one. Results of the ensemble get the axes of the grid by ``shaped``.

    Raises ArgumentError for values that are not a list of finite numbers.

    >>> from chaplygin.generated.harmonic_oscillator import model
    >>> import chaplygin as cg
    >>> springs = grid({"m": [1, 2], "k": [1, 2, 4]})
    >>> ens = cg.ensemble(model, (0, 1), initial={"x": 1, "x_dot": 0}, parameters=springs)
    >>> springs.shaped(ens["x"]).round(4)    # cos sqrt(k / m)
    array([[ 0.5403,  0.1559, -0.4161],
           [ 0.7602,  0.5403,  0.1559]])
    """
    if not isinstance(axes, Mapping) or not axes:
        raise ArgumentError(f"grid: {arguments.short(axes)} must be a dict of values by name")
    found: dict[str, Array] = {}
    for key, given in axes.items():
        name = arguments.plain_name(key)
        values = arguments.array(f"grid: {name}", given)
        if values.ndim != 1 or not len(values):
            raise ArgumentError(f"grid: {name} has shape {values.shape}; a list of values is needed")
        if not np.isfinite(values).all():
            raise ArgumentError(f"grid: {name} = {arguments.short(given)} must be finite")
        if name in found:
            raise ArgumentError(f"grid: {name} is given twice")
        found[name] = values
    return Grid(found)
