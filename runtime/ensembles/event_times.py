"""The times of an event in the trajectories of an ensemble."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array


class EventTimes(Sequence[Array]):
    """The times of one event in each trajectory of an ensemble: item i is the array of times in trajectory i.

    Flat arrays, sorted by trajectory and then by time: ``t`` (k,) and ``trajectory`` (k,); the times of trajectory i
    are ``t[offsets[i]:offsets[i + 1]]``, with ``offsets`` (n + 1,). ``counts`` (n,): the number in each trajectory.
    ``first`` (n,): the time of the first one, NaN where the event did not occur.
    """

    __slots__ = ("offsets", "t", "trajectory")

    def __init__(self, n: int, trajectory: NDArray[np.int64], t: Array) -> None:
        self.trajectory, self.t = trajectory, t
        self.offsets: NDArray[np.intp] = np.searchsorted(trajectory, np.arange(n + 1))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        j = index_of("t_events", i, len(self))
        return self.t[self.offsets[j] : self.offsets[j + 1]]

    def __iter__(self) -> Iterator[Array]:
        # Iterate by length: an index out of range raises ArgumentError here, not the IndexError that ends a plain loop.
        return (self[i] for i in range(len(self)))

    @property
    def counts(self) -> NDArray[np.intp]:
        """How many times the event occurred in each trajectory, (n,)."""
        return np.diff(self.offsets)

    @property
    def first(self) -> Array:
        """The time of the first occurrence in each trajectory, (n,); NaN where it did not occur."""
        found = np.full(len(self), np.nan)
        some = self.counts > 0
        found[some] = self.t[self.offsets[:-1][some]]
        return found

    def __repr__(self) -> str:
        return f"<EventTimes: {len(self.t)} in {int((self.counts > 0).sum())} of {len(self)} trajectories>"


def index_of(what: str, i: Any, n: int) -> int:
    """The number of a trajectory; negative numbers count from the end."""
    if not arguments.is_integer(i):
        raise ArgumentError(
            f"{what}: i = {arguments.short(i)} must be an integer, the number of a trajectory"
        )
    if not -n <= i < n:
        raise ArgumentError(f"trajectory {i} is not in an ensemble of {n}")
    return int(i) % n
