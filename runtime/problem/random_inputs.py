"""Random processes among the inputs of a run: samples of a path in the place of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaplygin.errors import ArgumentError

from ..interface import arguments


class RandomInput:
    """An input of which every run has a path of its own; `law`: equal in those that are drawn together."""

    law: Any
    dt: float
    path: Callable[..., Any]
    """The path of one run as samples ``(times, values, kind)``, by t_span, seed, trajectory, episode and stream."""

    def __array__(self, dtype: object = None, copy: object = None) -> NDArray[np.object_]:
        """One thing, also where it is several processes: no numbers."""
        return np.fromiter([self], dtype=object).reshape(())

    def ahead(self, t0: float, t: float) -> tuple[float, float]:
        """The times of a path of a run from t0 that may go on after t: twice as many, if its law is known there."""
        raise NotImplementedError


class Path(tuple[object, ...]):
    """The samples of a run whose end is not known: they become longer as it goes on."""

    noise: RandomInput
    place: dict[str, int]

    @classmethod
    def of(cls, noise: RandomInput, t0: float, t: float, place: dict[str, int]) -> Path:
        """The path from t0 on to a time after t, or to t."""
        found = cls(noise.path(noise.ahead(t0, t), **place))
        found.noise, found.place = noise, place
        return found


def without_path(name: str, noise: RandomInput) -> ArgumentError:
    """The error for a random process where no path of it is drawn."""
    return ArgumentError(
        f"inputs: {name} is {noise!r}, of which this call draws no path; give that of one run, "
        "noise.path((t0, t1), seed=7)"
    )


def seed_of(seed: Any) -> int:
    """A seed as given, or a new one for None."""
    if seed is None:
        return int(np.random.SeedSequence().generate_state(1, "u8")[0])
    if not arguments.is_integer(seed) or not 0 <= seed < 1 << 64:
        raise ArgumentError(f"seed = {arguments.short(seed)} must be an integer from 0 to 2**64 - 1")
    return int(seed)


def streams(inputs: Mapping[str, RandomInput], names: Sequence[str]) -> dict[str, int]:
    """The stream of each input: its place among `names`, or that of the first with which it is drawn together."""
    first: dict[int, int] = {}
    for name in sorted(inputs, key=list(names).index):
        first.setdefault(id(inputs[name].law), names.index(name))
    return {name: first[id(each.law)] for name, each in inputs.items()}


def parted(inputs: object, names: Sequence[str]) -> tuple[Any, dict[str, Any]]:
    """The inputs without the random processes among them, and these, by name."""
    if not isinstance(inputs, Mapping) or not any(isinstance(e, RandomInput) for e in inputs.values()):
        return inputs, {}
    found = {arguments.plain_name(name): each for name, each in inputs.items()}
    random = {name: each for name, each in found.items() if isinstance(each, RandomInput) and name in names}
    return {name: each for name, each in found.items() if name not in random}, random


def drawn(inputs: Any, names: Sequence[str], t_span: tuple[float, float], seed: Any, **episode: int) -> Any:
    """The inputs of a single run with a path, that of trajectory 0, in the place of each random process.

    With an `episode` they are those of a stepper from t_span[0] on: each is a `Path`.
    """
    found, random = parted(inputs, names)
    seed = seed_of(seed) if random or seed is not None else None
    for name, stream in streams(random, names).items():
        noise, place = random[name], {"seed": seed, "stream": stream, **episode}
        begin = t_span[0], t_span[0] + noise.dt
        found[name] = Path.of(noise, *begin, place) if episode else noise.path(t_span, **place)
    return found
