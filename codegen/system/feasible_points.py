"""Is there a point on a branch? A bounded search for values of the variables that satisfy its conditions.

Switches are driven to the wanted signs by Newton's method (least change of the variables, all violated conditions at
once) and by searching along lines, near and far: sign changes along a line are located by bisection, so even a short
interval between them is found. A point that is not found may still exist: a `BranchWarning` reports this.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import sympy as sp

from chaplygin.errors import BranchWarning, warn_caller

from ..graph.differentiate import partials
from ..graph.evaluate import Point, evaluate
from ..graph.graph import Graph
from ..graph.to_sympy import expressions
from ..identities.branches import MOST_BRANCHES, Condition, branches, is_branched
from .nodes import SystemNodes
from .points import sample

FARTHEST = 1e6
"""Largest distance searched along a line."""
_STARTS = 12
_ROUNDS = 12
_SIZES = (1.0, 0.0, 3.0, 30.0, 1e3, 1e5)

Vector = Any


class _PointSearch:
    """The conditions as functions of the variables that occur in them."""

    def __init__(self, g: Graph, conditions: Sequence[Condition], base: Mapping[str, float]) -> None:
        self.g, self.signs = g, np.array([sign for _, sign in conditions], float)
        self.nodes = [node for node, _ in conditions]
        self.names = sorted(g.symbols(self.nodes))
        self.base = np.array([base.get(n, 0.5) for n in self.names])
        variables = [g.symbol(n) for n in self.names]
        self.slopes = partials(g, self.nodes, variables)
        self.tried = 0

    def values(self, x: Vector) -> Vector:
        """The switches times their wanted signs: positive where a condition holds, nan where one is undefined."""
        self.tried += 1
        at = dict(zip(self.names, map(float, x), strict=True))
        try:
            return self.signs * evaluate(self.g, self.nodes, at)
        except (ArithmeticError, ValueError):
            return np.full(len(self.nodes), np.nan)

    def jacobian(self, x: Vector) -> Vector | None:
        at = dict(zip(self.names, map(float, x), strict=True))
        try:
            found = [evaluate(self.g, column, at) for column in self.slopes]
        except (ArithmeticError, ValueError):
            return None
        return self.signs[:, None] * np.array(found, float).T

    def newton(self, x: Vector) -> Vector:
        """A few least-norm steps of the variables towards the wanted signs."""
        v = self.values(x)
        for _ in range(40):
            wrong = ~(v > 0)
            if not wrong.any() or not np.isfinite(v).all():
                break
            jacobian = self.jacobian(x)
            if jacobian is None or not np.isfinite(jacobian).all():
                break
            step = np.linalg.lstsq(jacobian[wrong], 1e-3 - 1.01 * v[wrong], rcond=1e-12)[0]
            for part in (1.0, 0.5, 0.25, 0.05, 1e-3):
                trial = x + part * step
                new = self.values(trial)
                if np.isfinite(new).all() and np.minimum(new, 0).sum() > np.minimum(v, 0).sum():
                    x, v = trial, new
                    break
            else:
                break
        return x

    def along(self, x: Vector, direction: Vector) -> Vector:
        """The nearest point on a line at which the most conditions hold."""
        steps = np.concatenate(([0.0], np.geomspace(1e-4, FARTHEST, 64)))
        ts = np.concatenate((-steps[:0:-1], steps))
        rows = np.array([self.values(x + t * direction) for t in ts])
        marks = set(ts.tolist())
        for i in range(len(self.nodes)):
            for j in np.flatnonzero(rows[:-1, i] * rows[1:, i] < 0):
                marks.add(self._root(x, direction, i, ts[j], ts[j + 1]))
        ordered = sorted(marks)
        middles = [(a + b) / 2 for a, b in pairwise(ordered)]
        best, most = x, (-1, -math.inf)
        for t in [*ts, *middles]:
            point = x + t * direction
            v = self.values(point)
            rating = (int((v > 0).sum()), -abs(t))
            if rating > most:
                best, most = point, rating
        return best

    def _root(self, x: Vector, direction: Vector, i: int, low: float, high: float) -> float:
        start = self.values(x + low * direction)[i]
        for _ in range(60):
            middle = (low + high) / 2
            if self.values(x + middle * direction)[i] * start > 0:
                low = middle
            else:
                high = middle
        return (low + high) / 2


def reach(g: Graph, conditions: Sequence[Condition], system: SystemNodes) -> tuple[Point | None, int]:
    """Values of the variables that satisfy all conditions (None if none were found), and the number of points tried.

    The search starts from the example point; parameters keep their declared signs.
    """
    names = g.symbols([node for node, _ in conditions])
    declared = [(n, sign) for n, sign in g.signs.items() if str(g.value[n]) in names]
    base = {**sample(system, 1), **{s.name: v for s, v in system.declaration.example.items()}}
    search = _PointSearch(g, [*conditions, *declared], base)
    draw = random.Random(90_001)
    size = len(search.names)
    for start in range(_STARTS):
        spread = _SIZES[start % len(_SIZES)] if start else 0.0
        x = search.base + spread * np.array([draw.gauss(0, 1) for _ in range(size)])
        for attempt in range(_ROUNDS):
            x = search.newton(x)
            if (search.values(x) > 0).all():
                return dict(zip(search.names, map(float, x), strict=True)), search.tried
            if attempt < size:
                direction = np.eye(size)[attempt]
            elif attempt < size + 3:
                direction = np.array([draw.gauss(0, 1) for _ in range(size)])
            else:
                break
            x = search.along(x, direction)
            if (search.values(x) > 0).all():
                return dict(zip(search.names, map(float, x), strict=True)), search.tried
    return None, search.tried


def condition_text(g: Graph, conditions: Sequence[Condition], symbols: Mapping[str, sp.Symbol]) -> str:
    """The conditions as text: x - 2 > 0 and y < 0."""
    return " and ".join(_texts(g, conditions, symbols))


def _texts(g: Graph, conditions: Sequence[Condition], symbols: Mapping[str, sp.Symbol]) -> list[str]:
    shown = expressions(g, [node for node, _ in conditions], symbols)
    return [f"{e} {'>' if sign > 0 else '<'} 0" for e, (_, sign) in zip(shown, conditions, strict=True)]


def warn_unreached(
    system: SystemNodes,
    g: Graph,
    conditions: Sequence[Condition],
    symbols: Mapping[str, sp.Symbol],
    tried: int,
    outcome: str,
) -> None:
    """Warn that no point was found on a branch, and what follows from that."""
    warn_caller(
        f"System {system.declaration.name!r}: {_entries(system, g, conditions, symbols)}: no point was found where "
        f"{condition_text(g, conditions, symbols)} ({tried} points were tried, up to {FARTHEST:.0e} away); {outcome}",
        BranchWarning,
    )


def warn_too_many(system: SystemNodes, outcome: str) -> None:
    """Warn that there are too many branches to examine them all."""
    warn_caller(
        f"System {system.declaration.name!r}: its expressions have more than {MOST_BRANCHES} combinations of "
        f"branches; {outcome}",
        BranchWarning,
    )


def _entries(
    system: SystemNodes, g: Graph, conditions: Sequence[Condition], symbols: Mapping[str, sp.Symbol]
) -> str:
    """The entries of the declaration that contain one of the conditions; if none does literally, all that branch."""
    own = system.graph.copy()
    wanted = {text[:-3] for text in _texts(g, conditions, symbols)}
    branched, found = [], []
    for entry, node in system.entries.items():
        if is_branched(own, [node]):
            branched.append(str(entry))
            switches = [c for b in branches(own, [node]) or () for c in b.conditions]
            if wanted & {text[:-3] for text in _texts(own, switches, symbols)}:
                found.append(str(entry))
    return ", ".join(found or branched) or "declaration"
