"""Noise of the sensors of an environment: a path of its own in every episode."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chaplygin.errors import ArgumentError

from ..draws.noise import Noise, drawn_on
from ..interface import arguments
from ..interface.arguments import Array


class ObservationNoise:
    """What is added to some observations of n episodes: {observation: noise}, each path from the start of the episode.

    A path has seed 0, as trajectory a number that the generator of the episode draws, and as stream the place among
    `observations`.
    """

    def __init__(self, given: object, observations: list[object], n: int, dt: float) -> None:
        self.names = [arguments.plain_name(item) for item in observations]
        self.noises: dict[str, Noise] = arguments.by_name("observation", given)
        arguments.check_known("observation", self.noises, self.names)
        for name, noise in self.noises.items():
            if not isinstance(noise, Noise):
                raise ArgumentError(
                    f"observation: {name} = {arguments.short(noise)}; a noise is needed, such as cg.noise.white(dt)"
                )
        self.places = np.zeros((n, 2), dtype=np.int64)
        self._draw(dt)

    def _draw(self, t: float) -> None:
        self.paths, self.rows = drawn_on(self.noises, self.names, (0.0, t), 0, self.places)

    def start(self, runs: NDArray[np.intp], generators: list[np.random.Generator]) -> None:
        """Episodes begin anew."""
        self.places[runs, 0] = [generator.integers(1 << 63) for generator in generators]
        for name, rows in self.rows.items():
            rows.values[runs] = self.paths[name].of_runs(self.places[runs])

    def add(self, values: Array, t: Array) -> None:
        """Add what it is at the times t (n,) of the episodes to the observations (k, n)."""
        if any(t.max() >= rows.times[-1] for rows in self.rows.values()):
            self._draw(float(t.max()))
        for name, rows in self.rows.items():
            values[self.names.index(name)] += rows.at(t)
