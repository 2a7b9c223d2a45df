"""What callers give to batches: starts, new inputs, choices of runs, arrays to write to, inputs in time."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaplygin.errors import ArgumentError

from ..draws.noise import drawn_on
from ..interface import arguments
from ..interface.arguments import Array
from ..interface.messages import written
from ..problem.given_inputs import parse
from ..problem.inputs import Inputs
from ..problem.random_inputs import parted, seed_of
from ..problem.sample_rows import SampleRows

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


class BatchInputs:
    """The inputs of all runs: `now`, with paths up to the time `until`.

    `places` (n, 2): the trajectory of each run, its row of samples and its path, and how often it was reset.
    """

    def __init__(self, model: Any, t0: float, given: object, seed: int | None, count: int) -> None:
        rest, self.noises = parted(given, model.inputs)
        self.model, self.t0, self.seed = model, t0, seed_of(seed)
        self.places = np.stack([np.arange(count), np.zeros(count, dtype=np.int64)], axis=1)
        self._draw(t0 + min((noise.dt for noise in self.noises.values()), default=0.0))
        self.now = parse(
            {**rest, **self._rows} if self.noises else rest, model.inputs, count, model._input_flags
        )
        self.given = {i: each for i, each in self.now.signals.items() if each.name not in self.noises}

    def _draw(self, t: float) -> None:
        """The paths to the time t, and as long again if their laws are known so far."""
        self._paths, self._rows = drawn_on(
            self.noises, self.model.inputs, (self.t0, t), self.seed, self.places
        )
        self.until = min((float(rows.times[-1]) for rows in self._rows.values()), default=math.inf)

    def _update(self) -> None:
        """The rows of all places."""
        drawn = parse(self._rows, self.model.inputs, len(self.places), self.model._input_flags)
        which = self.places[:, 0]
        own = {
            i: replace(each, which=which) if isinstance(each, SampleRows) else each
            for i, each in self.given.items()
        }
        self.now = replace(self.now, signals={**own, **drawn.signals})

    def copy(self) -> BatchInputs:
        """The same for other runs, whose paths are to be drawn again."""
        other = copy(self)
        other.places, other.until = self.places.copy(), self.t0
        return other

    def reach(self, t: float) -> bool:
        """Draw the paths on beyond the time t; whether they were too short."""
        short = t >= self.until
        if short:
            self._draw(t)
            self._update()
        return short

    def put(self, runs: NDArray[np.int64], places: NDArray[np.int64]) -> bool:
        """Give some runs the rows and paths of these places; whether rows of samples have moved."""
        moved = bool((self.places[runs, 0] != places[:, 0]).any())
        self.places[runs] = places
        for name, paths in self._paths.items():
            self._rows[name].values[runs] = paths.of_runs(places)
        if moved:
            self._update()
        return moved

    def first(self, runs: NDArray[np.int64], values: Array) -> Inputs:
        """What some runs have at their start, with their numbers `values` (n_inputs, runs)."""
        t, found = np.full(len(runs), self.t0), values.copy()
        for i, each in self.now.signals.items():
            if isinstance(each, SampleRows):
                each = replace(each, which=runs if each.which is None else each.which[runs])
            found[i] = each.at(t)
        return Inputs(self.model.inputs, found, {}, {}, self.model._input_flags)

    def checksum(self) -> int:
        """Equal for batches whose runs at equal places go on in the same way."""
        plain = self.t0, self.seed if self.noises else 0, tuple(self.noises.items())
        found = zlib.crc32(written(plain).encode())
        return replace(self.now, values=np.zeros(0), signals=self.given).checksum(found)
