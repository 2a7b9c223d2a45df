"""The inputs of a batch that vary with the time: samples, and paths of noise that go on as long as the runs do."""

from __future__ import annotations

import math
import zlib
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..draws.noise import drawn_on
from ..interface.arguments import Array
from ..interface.messages import written
from ..problem.given_inputs import parse
from ..problem.inputs import Inputs
from ..problem.random_inputs import parted, seed_of
from ..problem.sample_rows import SampleRows


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
