"""Points at which a declaration is examined: the example point, and random points near it and far from it.

Every numerical check uses these points. They are the same in every process and do not depend on the system's name.
Expressions that branch (`Piecewise`, `Max`, `Abs` ...) are split first, see `branches`.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..graph.evaluate import Point, evaluate, shrinking
from ..graph.graph import Graph, Node
from ..symbols.symbols import DeclarationError, Parameter, as_assumed, time
from .nodes import SystemNodes


def sample(system: SystemNodes, seed: int, spread: float = 0.2) -> Point:
    """A random point near the example point (generic where that has no value); `spread` 0: the example itself."""
    draw = random.Random(1_000_003 * seed)
    point: Point = {}
    for s in system.all_symbols():
        generic = draw.uniform(0.5, 1.5) if isinstance(s, Parameter) else draw.uniform(0.2, 0.9)
        scale, shift = draw.uniform(-1, 1), draw.uniform(-1, 1)
        base = system.declaration.example.get(s)
        if base is None:
            point[s.name] = generic
        elif isinstance(s, Parameter) and base != 0:
            # The sign of a parameter may matter and zero may be inadmissible: scale it.
            point[s.name] = base * (1 + spread * scale)
        elif isinstance(s, Parameter):
            # Scaling would leave it at zero, which hides every term that contains it.
            point[s.name] = spread * abs(shift)
        else:
            point[s.name] = base * (1 + spread * scale) + spread * shift
        point[s.name] = as_assumed(s, point[s.name])
    return point


def _finite(
    points: Iterable[Point],
    graph: Graph,
    roots: Sequence[Node],
    count: int,
    complete: Callable[[Point], Point],
    shrunk: bool = False,
) -> list[Point]:
    """The first `count` of the points, completed, at which every root is finite; `shrunk` damps exponentials."""
    found: list[Point] = []
    for point in points:
        try:
            point = complete(point)
            shrink = shrinking(graph, roots, point) if shrunk else 1.0
            values = evaluate(graph, roots, point, shrink=shrink)
        except (ArithmeticError, ValueError):
            continue
        if all(math.isfinite(v) for v in values):
            found.append(point)
        if len(found) == count:
            break
    return found


def _wide(system: SystemNodes, seed: int) -> Point:
    """A random point of a magnitude set by the seed; parameters keep the signs of the example."""
    draw = random.Random(7_919 * seed)
    size = (0.5, 2.0, 8.0, 40.0)[seed % 4]
    point: Point = {}
    for s in system.all_symbols():
        if isinstance(s, Parameter):
            base = system.declaration.example.get(s, 1.0) or 0.5
            point[s.name] = base * math.exp(draw.uniform(-1, 1))
        else:
            point[s.name] = draw.uniform(-size, size)
        point[s.name] = as_assumed(s, point[s.name])
    return point


def wide_points(
    system: SystemNodes,
    roots: Sequence[Node],
    count: int,
    graph: Graph,
    complete: Callable[[Point], Point] = lambda point: point,
) -> list[Point]:
    """Random points of all magnitudes and signs, also far from the example; fewer if too few give finite roots."""
    tried = (_wide(system, seed) for seed in range(1, 10 * count))
    return _finite(tried, graph, roots, count, complete, shrunk=True)


def good_points(
    system: SystemNodes,
    roots: Sequence[Node],
    count: int,
    graph: Graph | None = None,
    complete: Callable[[Point], Point] = lambda point: point,
) -> list[Point]:
    """Random points at which every root has a finite value; `complete` adds the variables that a form introduces."""
    tried = (sample(system, seed, 0.2 if seed < 20 * count else 0.02) for seed in range(1, 40 * count))
    points = _finite(tried, graph or system.graph, roots, count, complete)
    if len(points) < count:
        text = "its expressions have no finite value near the example point"
        raise DeclarationError(f"{text}; give an example point inside their domain")
    return points


def declared_roots(system: SystemNodes) -> list[Node]:
    """The nodes that must be finite at a point: kinematics, energies, constraints."""
    rows = [n for row in system.constraint_rows for n in row]
    return [*system.fields.components, system.kinetic, system.potential, *system.constraint_offsets, *rows]


def example_point(system: SystemNodes) -> Point:
    """The example point, completed with generic values; its time is 0 unless the example gives one."""
    roots = declared_roots(system)
    generic = good_points(system, roots, 1)[0]
    if not system.declaration.example:
        return generic
    point = {**generic, time.name: 0.0, **{s.name: v for s, v in system.declaration.example.items()}}
    try:
        values = evaluate(system.graph, roots, point)
    except (ArithmeticError, ValueError) as error:
        raise DeclarationError(f"an expression fails at the example point: {error}") from None
    if not all(math.isfinite(v) for v in values):
        raise DeclarationError("an expression is not finite at the example point")
    return point


def moved_points(system: SystemNodes, start: Point, count: int) -> list[Point]:
    """Points on motions from `start`: what kinematics and constraints keep, such as |q|^2 = 1, they keep too.

    The coordinates follow the kinematics, with random velocities that satisfy the constraints. A motion that leaves the
    domain of an expression, or is too fast to be followed, is left out. Not for parametrized constraints.
    """
    g, fields = system.graph, system.fields
    n, k, m = len(fields.coordinates), len(fields.along), len(system.constraint_offsets)
    names = [*(s.name for s in system.declaration.coordinates), time.name]
    places = [(a, i) for a in range(k) for i in range(n) if fields.along[a][i] != g.zero]
    rows = [node for row in system.constraint_rows for node in row]
    nodes = [*fields.drift, *system.constraint_offsets, *(fields.along[a][i] for a, i in places), *rows]

    def rates(x: Any, w: Any) -> Any:
        """d(x, t)/dt with the velocities nearest to w that satisfy the constraints."""
        found = evaluate(g, nodes, {**start, **dict(zip(names, x.tolist(), strict=True))})
        drift, offsets, along, rest = np.split(np.array(found, float), [n, n + m, n + m + len(places)])
        matrix = np.zeros((k, n))
        matrix[tuple(zip(*places, strict=True))] = along
        a = rest.reshape(m, k)
        v = w - np.linalg.pinv(a) @ (a @ w + offsets)
        return np.append(drift + v @ matrix, 1.0)

    def motion(x: Any, w: Any, steps: int) -> list[Any]:
        """States on the motion from x, by Runge and Kutta's method."""
        speed = np.abs(rates(x, w) / (1 + np.abs(x))).max()
        h, found = 0.5 / (steps * max(speed, 1.0)), []
        for _ in range(steps):
            a = rates(x, w)
            b = rates(x + h / 2 * a, w)
            c = rates(x + h / 2 * b, w)
            x = x + h / 6 * (a + 2 * b + 2 * c + rates(x + h * c, w))
            found.append(x)
        return found

    draw, points, first = random.Random(1), [], np.array([start[name] for name in names])
    for _ in range(count):
        w = np.array([draw.uniform(-1, 1) for _ in range(k)])
        try:
            coarse, fine = motion(first, w, 10), motion(first, w, 20)
        except (ArithmeticError, ValueError):
            continue
        if (np.abs(coarse[-1] - fine[-1]) <= 1e-7 * (1 + np.abs(fine[-1]))).all():
            points += [{**start, **dict(zip(names, x.tolist(), strict=True))} for x in fine[::4]]
    return points
