"""Which velocities determine the others under the constraints, wherever the system moves.

A eta + A_0 = 0 gives the dependent velocities D from the others where det A_D is not zero. A choice is sound if this
minor is a constant, or if it keeps its sign and stays away from zero, relative to all minors together,
|det A_D| / sqrt(det A A^T), at many points near and far: random ones, and where coordinates depend on each other
(closed loops, quaternions) points on motions that the constraints permit.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from ..graph.evaluate import Point, evaluate_many, numeric_matrix
from ..graph.graph import Graph, Node
from ..graph.linear import choose_pivots
from ..symbols.symbols import as_assumed
from .nodes import SystemNodes
from .points import example_point
from .redundancy import satisfying

Array = Any

SMALLEST = 0.05
"""A minor that falls below this fraction of its largest value does not stay away from zero."""
_CONSTANT = 1e-8
_MOST_CHOICES = 400
_SIZES = (0.5, 2.0, 8.0, 40.0)
_POINTS, _WALKERS, _SEGMENTS, _STEPS, _STEP = 512, 24, 6, 8, 0.25


class Independence:
    """The velocities that are independent under the constraints of a system, and where they are.

    `constraints` are those that determine the others.
    """

    def __init__(self, system: SystemNodes, constraints: Sequence[int]) -> None:
        self._system = system
        self._rows = [system.constraint_rows[s] for s in constraints]
        self._found = list[Array]()
        self._path = _places(system, constraints)

    @cached_property
    def _example(self) -> Array:
        return np.array(numeric_matrix(self._system.graph, self._rows, example_point(self._system)))

    @cached_property
    def _choice(self) -> tuple[tuple[int, ...], bool]:
        """The dependent velocities, and whether the choice is sound."""
        nearest = tuple(sorted(c for _, c in choose_pivots(self._example.tolist())))
        n, m = len(self._system.eta), len(self._rows)
        first = _Minors.of(next(self._matrices(), np.empty((0, m, n))))
        if not len(first.size):
            return nearest, False
        if math.comb(n, m) <= _MOST_CHOICES:
            every = [*combinations(range(n), m)]
        else:
            every = [nearest, *dict.fromkeys(first.evenest(m, power) for power in (1, 4))]
        judged = {d: _Judgement() for d in dict.fromkeys((nearest, *every))}
        for matrices in self._matrices():
            minors = _Minors.of(matrices)
            for d in list(judged):
                if not judged[d].add(*minors.at(d)):
                    del judged[d]
            if not judged:
                return nearest, False
        constant = [d for d, judgement in judged.items() if judgement.is_constant]
        if nearest in constant or (nearest in judged and not constant):
            return nearest, True

        def worth(d: tuple[int, ...]) -> tuple[float, tuple[int, ...]]:
            size = abs(float(np.linalg.det(self._example[:, d]))) if constant else judged[d].least
            return float(f"{size:.8g}"), d

        return max(constant or judged, key=worth), True

    @property
    def sound(self) -> bool:
        """Whether there is a sound choice."""
        return self._choice[1]

    @property
    def velocities(self) -> tuple[int, ...]:
        """The independent velocities of the best choice, by number."""
        dependent = self._choice[0]
        return tuple(a for a in range(len(self._system.eta)) if a not in dependent)

    def is_sound(self, independent: Sequence[int]) -> bool:
        """Whether these velocities determine the others wherever the system moves."""
        if tuple(independent) == self.velocities:
            return self.sound
        judgement = _Judgement()
        dependent = tuple(a for a in range(len(self._system.eta)) if a not in independent)
        added = [judgement.add(*_Minors.of(matrices).at(dependent)) for matrices in self._matrices()]
        return bool(added) and all(added)

    def are_even(self, g: Graph, pivots: Sequence[tuple[Node, Node]]) -> bool:
        """Whether pivots keep their signs and stay away from zero, relative to their limits."""
        judged = [_Judgement() for _ in pivots]
        for place in self._places():
            values = evaluate_many(g, [n for pair in pivots for n in pair], place)
            for judgement, pivot, limit in zip(judged, values[::2], values[1::2], strict=True):
                if not judgement.add(pivot, np.abs(pivot) / limit):
                    return False
        return True

    def _places(self) -> Iterator[dict[str, Array]]:
        """The points, in groups, as arrays by the names of the variables."""
        yield from self._found
        for place in self._path:
            self._found.append(place)
            yield place

    def _matrices(self) -> Iterator[Array]:
        g, m = self._system.graph, len(self._rows)
        entries = [n for row in self._rows for n in row]
        for place in self._places():
            found = np.stack(evaluate_many(g, entries, place), axis=-1)
            found = found[np.isfinite(found).all(axis=-1)].reshape(-1, m, len(self._system.eta))
            if len(found):
                yield found


@dataclass
class _Judgement:
    """What is known of a minor: its range, and that of its share of all minors."""

    values: tuple[float, float] = (math.inf, -math.inf)
    shares: tuple[float, float] = (math.inf, 0.0)

    def add(self, values: Array, shares: Array) -> bool:
        """Take note of values (N,) and shares (N,); whether the minor still stays away from zero."""
        good = np.isfinite(values) & np.isfinite(shares)
        if good.any():
            values, shares = values[good], shares[good]
            self.values = min(self.values[0], float(values.min())), max(self.values[1], float(values.max()))
            self.shares = min(self.shares[0], float(shares.min())), max(self.shares[1], float(shares.max()))
        low, high = self.values
        return low * high > 0 and self.least > (0.0 if self.is_constant else SMALLEST)

    @property
    def is_constant(self) -> bool:
        low, high = self.values
        return high - low <= _CONSTANT * max(abs(low), abs(high))

    @property
    def least(self) -> float:
        """The smallest share, as a fraction of the largest."""
        return self.shares[0] / self.shares[1] if self.shares[1] > 0 else 0.0


@dataclass(frozen=True)
class _Minors:
    """The minors of matrices (N, m, n): A^T = Q R, with orthonormal columns of Q and det R = `size`."""

    basis: Array
    size: Array
    matrices: Array = field(repr=False)

    @classmethod
    def of(cls, matrices: Array) -> _Minors:
        basis, triangle = np.linalg.qr(matrices.transpose(0, 2, 1))
        diagonal = np.diagonal(triangle, axis1=1, axis2=2)
        scale = np.linalg.norm(matrices, axis=2)
        full = (np.abs(diagonal) > 1e-6 * scale).all(axis=1)  # elsewhere no choice has a minor
        return cls(basis[full], diagonal.prod(axis=1)[full], matrices[full])

    def at(self, dependent: Sequence[int]) -> tuple[Array, Array]:
        """det A_D (N,) and |det A_D| / sqrt(det A A^T) (N,)."""
        share = np.linalg.det(self.basis[:, list(dependent), :])
        return np.linalg.det(self.matrices[:, :, list(dependent)]), np.abs(share)

    def evenest(self, count: int, power: int) -> tuple[int, ...]:
        """Columns with large minors that change little, one by one; the higher the power, the less they may change."""
        rest, taken = self.basis.copy(), list[int]()
        for _ in range(count):
            lengths = np.linalg.norm(rest, axis=2)
            largest = lengths.max(axis=0)
            worth = largest * (lengths.min(axis=0) / np.where(largest > 0, largest, 1)) ** power
            worth[taken] = -1.0
            column = int(np.flatnonzero(worth >= (1 - 1e-9) * worth.max())[-1])
            taken.append(column)
            unit = rest[:, column] / np.maximum(lengths[:, column], 1e-300)[:, None]
            rest = rest - (rest @ unit[:, :, None]) * unit[:, None, :]
        return tuple(sorted(taken))


def _places(system: SystemNodes, constraints: Sequence[int]) -> Iterator[dict[str, Array]]:
    point = example_point(system)
    fields = system.fields
    if not system.holonomic and len(fields.along) == len(fields.coordinates):
        yield _anywhere(system, point)
    else:
        yield from _along_motions(system, constraints, point)


def _anywhere(system: SystemNodes, point: Point) -> dict[str, Array]:
    """The example point and random values of all sizes of the coordinates and the time."""
    draw = random.Random(20_011)
    place: dict[str, Array] = dict(point)
    for s in (*system.declaration.coordinates, None):
        name = "t" if s is None else s.name
        values = [point[name]]
        for i in range(_POINTS):
            value = draw.uniform(-1, 1) * _SIZES[i % len(_SIZES)]
            values.append(abs(value) if s is None else as_assumed(s, value))
        place[name] = np.array(values)
    return place


def _along_motions(
    system: SystemNodes, constraints: Sequence[int], point: Point
) -> Iterator[dict[str, Array]]:
    """Points on permitted motions from the example, in both directions of each, a part of the motions at a time."""
    g = system.graph.copy()  # that of the system stays as it is: every form begins with it
    fields = system.fields
    closed = satisfying(system, g, system.holonomic, point)
    if closed is None:
        return
    names = [*(s.name for s in system.declaration.coordinates), "t"]
    n, k = len(fields.coordinates), len(fields.along)
    m = len(constraints)
    rows = [e for s in constraints for e in system.constraint_rows[s]]
    wanted = [*fields.drift, *(system.constraint_offsets[s] for s in constraints)]
    wanted += [*(e for field in fields.along for e in field), *rows]

    def velocities(x: Array, w: Array) -> tuple[Array, Array]:
        """d(x, t)/dt, and the velocities nearest to w that satisfy the constraints."""
        at = {**closed, **dict(zip(names, x.T, strict=True))}
        found = np.nan_to_num(np.stack(evaluate_many(g, wanted, at), axis=-1), posinf=0.0, neginf=0.0)
        drift, offsets, along, rest = np.split(found, [n, n + m, n + m + k * n], axis=1)
        a = rest.reshape(-1, m, k)
        excess = (a @ w[:, :, None])[:, :, 0] + offsets
        v = w - (np.linalg.pinv(a, rcond=1e-9) @ excess[:, :, None])[:, :, 0]
        rates = drift + (v[:, None, :] @ along.reshape(-1, k, n))[:, 0]
        return np.concatenate([rates, np.ones((len(x), 1))], axis=1), v

    draw = random.Random(30_011)
    x = np.tile([closed[name] for name in names], (_WALKERS, 1))
    w = np.array([[draw.uniform(-1, 1) for _ in range(k)] for _ in range(_WALKERS // 2)])
    w = np.concatenate([w, -w])
    for _ in range(_SEGMENTS):
        path = [x]
        for _ in range(_STEPS):
            a, v = velocities(x, w)
            speed = np.abs(a / (1 + np.abs(x))).max(axis=1, keepdims=True)
            h = _STEP / np.maximum(speed, 1.0)
            b, _ = velocities(x + h / 2 * a, w)
            c, _ = velocities(x + h / 2 * b, w)
            d, _ = velocities(x + h * c, w)
            x = x + h / 6 * (a + 2 * b + 2 * c + d)
            path.append(x)
            size = np.linalg.norm(v, axis=1, keepdims=True)
            turned = [[draw.uniform(-1, 1) for _ in range(k)] for _ in range(_WALKERS)]
            w = v / np.where(size > 0, size, 1.0) * max(1.0, k**0.5) + 0.3 * np.array(turned)
        yield {**closed, **dict(zip(names, np.concatenate(path).T, strict=True))}
