"""Uniform numbers for trajectories first <= i < last, each computed from its index alone.

With ``sampling="random"`` the numbers of trajectory i are row i of

    numpy.random.Generator(numpy.random.Philox(key=seed)).random((n, 4 * ceil(k / 4)))[:, :k]

with 0 replaced by 2^-53. So they do not depend on chunks, threads or the number of trajectories.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator, Philox, SeedSequence
from numpy.typing import NDArray

from chaplygin._lazy import later
from chaplygin.errors import ArgumentError

from ..interface.arguments import Array, nearest, short
from .distributions import HIGHEST, LOWEST

scipy = later("scipy")

_WIDTH = 4  # numbers of one Philox counter
_ROUNDS = 6
_SOBOL_BITS = 32  # SciPy can skip points only up to that


class Uniforms:
    """`dimensions` numbers in (0, 1) for each of `count` trajectories."""

    def __init__(self, seed: int, sampling: str, count: int, dimensions: int) -> None:
        if not isinstance(sampling, str) or sampling not in SAMPLING:
            hint = nearest(short(sampling), tuple(SAMPLING)) or f"; known are {', '.join(SAMPLING)}"
            raise ArgumentError(f"sampling = {short(sampling)} is unknown{hint}")
        self.seed, self.count, self.dimensions = seed, count, dimensions
        self._make: Callable[[Uniforms, int, int], Array] = SAMPLING[sampling]
        self._engine: Any = None
        self._reached = -1

    def block(self, first: int, last: int) -> Array:
        """Numbers of trajectories first <= i < last, (dimensions, last - first)."""
        made = self._make(self, first, last)
        np.maximum(made, LOWEST, out=made)
        return np.minimum(made, HIGHEST, out=made)

    def _random(self, first: int, last: int) -> Array:
        width = -(-self.dimensions // _WIDTH) * _WIDTH
        bits = Philox(key=self.seed)
        bits.advance(first * (width // _WIDTH))
        rows = Generator(bits).random((last - first, width))
        return np.ascontiguousarray(rows[:, : self.dimensions].T)

    def _antithetic(self, first: int, last: int) -> Array:
        """Trajectories 2j and 2j + 1 have u and 1 - u."""
        pairs = self._random(first // 2, (last + 1) // 2)
        both = np.stack([pairs, 1 - pairs], axis=2).reshape(self.dimensions, -1)
        return both[:, first % 2 : first % 2 + last - first]

    def _latin(self, first: int, last: int) -> Array:
        """One trajectory in each of n equal strata of every dimension: a keyed bijection of the index."""
        made = self._random(first, last)
        index = np.arange(first, last, dtype=np.uint64)
        for k in range(self.dimensions):
            made[k] = (_bijection(index, self.count, (self.seed, k)) + made[k]) / self.count
        return made

    def _sobol(self, first: int, last: int) -> Array:
        """Scrambled Sobol points; their number should be a power of 2."""
        return self._quasi("Sobol", first, last)

    def _halton(self, first: int, last: int) -> Array:
        """Scrambled Halton points."""
        return self._quasi("Halton", first, last)

    def _quasi(self, kind: str, first: int, last: int) -> Array:
        if self._reached != first:
            maker = getattr(scipy.stats.qmc, kind)
            word = "rng" if "rng" in inspect.signature(maker).parameters else "seed"
            options: dict[str, Any] = {word: Generator(Philox(SeedSequence(self.seed)))}
            if kind == "Sobol":
                options["bits"] = _SOBOL_BITS
            self._engine = maker(self.dimensions, scramble=True, **options)
            if first:
                self._engine.fast_forward(first)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a block need not have a power of 2
            points = self._engine.random(last - first)
        self._reached = last
        if kind == "Sobol":
            points += 0.5 ** (_SOBOL_BITS + 1)  # the middle of the cell: 0 is a point of the sequence
        return np.ascontiguousarray(points.T)


SAMPLING: dict[str, Callable[[Uniforms, int, int], Array]] = {
    "random": Uniforms._random,
    "sobol": Uniforms._sobol,
    "halton": Uniforms._halton,
    "latin": Uniforms._latin,
    "antithetic": Uniforms._antithetic,
}
"""How uniform numbers are made, by the value of `sampling`."""


def _bijection(index: NDArray[np.uint64], count: int, key: tuple[int, int]) -> Any:
    """A permutation of 0 ... count - 1 at the given indices: a Feistel network on pairs of words of half the width,
    repeated where its value is not below `count`."""
    half = max(1, -(-(count - 1).bit_length() // 2))
    mask, shift = np.uint64((1 << half) - 1), np.uint64(half)
    keys = SeedSequence([*_words(key[0]), key[1]]).generate_state(_ROUNDS, np.uint64)
    result = index.copy()
    outside = np.arange(len(index))
    while len(outside):
        value = result[outside]
        left, right = value >> shift, value & mask
        for word in keys:
            left, right = right, left ^ (_mixed(right ^ word) & mask)
        result[outside] = left << shift | right
        outside = outside[result[outside] >= np.uint64(count)]
    return result


def _words(seed: int) -> tuple[int, int]:
    return seed & 0xFFFFFFFFFFFFFFFF, seed >> 64


def _mixed(x: Any) -> Any:
    """A bijection of 64-bit words that changes half of the bits if one bit changes: the finalizer of SplitMix64
    (G. L. Steele, D. Lea, C. H. Flood, OOPSLA 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
