"""Statistics that are merged: the same bits whatever the number of workers, the chunks, or their order of arrival.

Moments are computed in blocks of `BLOCK` trajectories, counted by index, and merged in the order of the index. Counts
are integers, so their order does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..interface.arguments import Array

BLOCK = 4096
"""Trajectories in a block."""
CHUNK = 16 * BLOCK
"""Trajectories of a chunk that does not depend on the number of workers."""

_MANTISSA = 52
_DENSE = 1 << 20


@dataclass(eq=False)
class Moments:
    """Count, mean, sums of products of deviations, and extremes of k quantities at T times.

    count (T,), mean (T, k), products (T, k, k), minimum and maximum (T, k).
    """

    count: NDArray[np.int64]
    mean: Array
    products: Array
    minimum: Array
    maximum: Array

    @classmethod
    def of(cls, values: Array, use: NDArray[np.bool_]) -> Moments:
        """Of values (k, T, n), of which the columns `use` (T, n) count."""
        count = use.sum(axis=1)
        share = np.maximum(count, 1)[:, None]
        kept = np.where(use, values, 0.0)
        mean = np.ascontiguousarray(kept.sum(axis=2).T) / share
        off = np.where(use, values - mean.T[:, :, None], 0.0)
        k = len(values)
        products = np.empty((len(count), k, k))
        for i in range(k):
            for j in range(i, k):
                products[:, i, j] = products[:, j, i] = (off[i] * off[j]).sum(axis=1)
        lowest = np.where(use, values, np.inf).min(axis=2, initial=np.inf).T
        highest = np.where(use, values, -np.inf).max(axis=2, initial=-np.inf).T
        return cls(count, mean, products, lowest, highest)

    def add(self, other: Moments) -> Moments:
        """Both together, by the formula of T. F. Chan, G. H. Golub and R. J. LeVeque (1979)."""
        count = self.count + other.count
        share = np.maximum(count, 1)
        step = other.mean - self.mean
        mean = self.mean + step * (other.count / share)[:, None]
        factor = (self.count * (other.count / share))[:, None, None]
        products = self.products + other.products + step[:, :, None] * step[:, None, :] * factor
        return Moments(
            count,
            mean,
            products,
            np.minimum(self.minimum, other.minimum),
            np.maximum(self.maximum, other.maximum),
        )

    def valid(self) -> bool:
        """Whether the counts, of which the rest is divided, can be some; for what is read from files."""
        return bool((self.count >= 0).all())

    def last(self) -> Moments:
        """Those at the last of the times."""
        return Moments(*(getattr(self, field.name)[-1:] for field in fields(self)))


@dataclass(eq=False)
class Counts:
    """How many numbers lie in each cell; a cell has the same sign, exponent and leading `bits` bits of the mantissa.

    So a cell is narrower than 2^-bits of its numbers. Zero has a cell of its own; other numbers below 2^(1 - bits) of
    the smallest normal one are in the first. `keys`, in increasing order of the numbers, and `counts` (m,).
    """

    bits: int
    keys: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, values: Array, bits: int) -> Counts:
        """Of finite numbers (n,)."""
        found = np.ascontiguousarray(values + 0.0).view(np.int64)  # + 0.0: -0 is in the cell of 0
        size = found & np.int64(0x7FFFFFFFFFFFFFFF)
        size = np.maximum(size >> np.int64(_MANTISSA - bits), size > 0)
        keys = np.where(found < 0, -size - 1, size)
        if not len(keys):
            return cls(bits, keys, keys.copy())
        first = int(keys.min())
        if int(keys.max()) - first >= _DENSE:
            unique, counts = np.unique(keys, return_counts=True)
            return cls(bits, unique, counts.astype(np.int64))
        dense = np.bincount(keys - first)
        places = np.flatnonzero(dense)
        return cls(bits, places + first, dense[places].astype(np.int64))

    def add(self, other: Counts) -> Counts:
        keys, places = np.unique(np.concatenate([self.keys, other.keys]), return_inverse=True)
        counts = np.zeros(len(keys), dtype=np.int64)
        np.add.at(counts, places, np.concatenate([self.counts, other.counts]))
        return Counts(self.bits, keys, counts)

    def valid(self) -> bool:
        """Whether these are cells of finite numbers in order, none empty; for what is read from files."""
        bound = 0x7FF << self.bits
        inside = ((self.keys >= -bound - 1) & (self.keys <= bound)).all()
        ordered = len(self.keys) == len(self.counts) and (np.diff(self.keys) > 0).all()
        return bool(inside and ordered and (self.counts > 0).all())

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    def edges(self) -> tuple[Array, Array]:
        """The lower and the upper end of each cell."""
        negative = self.keys < 0
        size = np.where(negative, -self.keys - 1, self.keys)
        shift = np.int64(_MANTISSA - self.bits)
        near = np.where(size > 1, size << shift, size).view(np.float64)
        far = (np.where(size > 0, size + 1, 0) << shift).view(np.float64)
        far = np.where(np.isinf(near), near, np.minimum(far, np.finfo(np.float64).max))
        return np.where(negative, -far, near), np.where(negative, -near, far)

    def ranked(self, ranks: Any) -> Array:
        """The numbers of the given ranks, 1 the smallest, interpolated in their cells."""
        below = np.cumsum(self.counts)
        wanted = np.clip(np.asarray(ranks, dtype=np.float64), 1, max(int(below[-1]), 1))
        place = np.searchsorted(below, wanted, side="left")
        low, high = (edge[place] for edge in self.edges())
        inside = (wanted - (below[place] - self.counts[place]) - 0.5) / self.counts[place]
        return np.where(low == high, low, low + np.where(low == high, 0.0, high - low) * inside)
