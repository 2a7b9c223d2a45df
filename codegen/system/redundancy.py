"""Linearly dependent constraints: redundant ones, and ones that contradict the rest.

A row A_s of A_sa eta_a + A_s0 = 0 that is a linear combination of earlier rows is redundant if the same combination
gives A_s0, and contradicts them otherwise. A holonomic equation f whose rate depends on the rates of others is
redundant if f vanishes where they vanish. Rows that are dependent everywhere are refused. Those of an overconstrained
mechanism, such as Bricard's, are dependent only where the loops are closed: they are kept, and the rank is that there.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import numpy as np

from ..graph.differentiate import gradient
from ..graph.evaluate import Point, evaluate, evaluate_with_scale, numeric_matrix
from ..graph.graph import Graph, Node
from ..graph.linear import choose_pivots
from ..symbols.symbols import DeclarationError
from .nodes import SystemNodes
from .points import example_point

_DEPENDENT = 1e-10
"""A row depends on others if its relative distance from their span is below this."""
_RANK = 1e-6
"""A pivot of the rows, each of length 1, below this counts as zero where the loops are closed."""
_STEPS = 60


def check_redundancy(system: SystemNodes, g: Graph, point: Point) -> None:
    """Reject a constraint that depends on earlier ones at a generic point; the error says if it contradicts them."""
    if len(system.constraints) < 2:
        return
    names = [f"{entry.argument}[{entry.key}]" for entry in system.declaration.constraint_entries]
    rows = np.array(numeric_matrix(g, system.constraint_rows, point))
    for s in range(1, min(rows.shape)):
        weights = _combination(rows[:s], rows[s])
        if weights is None:
            continue
        others = " and ".join(names[i] for i in np.flatnonzero(weights)) or "the others"
        if _contradicts(system, g, s, weights, point):
            raise DeclarationError(
                f"{names[s]} contradicts {others}: they cannot hold together; correct one of them"
            )
        raise DeclarationError(
            f"{names[s]} is redundant: its velocity coefficients are a linear combination of those of "
            f"{others}; remove one of them"
        )


def _combination(rows: np.ndarray, row: np.ndarray) -> np.ndarray | None:
    """Weights with which `rows` combine to `row`, small ones as zero; None if `row` is independent of them."""
    size = np.linalg.norm(row)
    if size == 0:
        return None
    scales = np.linalg.norm(rows, axis=1)
    scales[scales == 0] = 1.0
    weights = np.linalg.lstsq((rows / scales[:, None]).T, row / size, rcond=1e-12)[0]
    if np.linalg.norm(weights @ (rows / scales[:, None]) - row / size) > _DEPENDENT:
        return None
    result: np.ndarray = np.where(np.abs(weights) > 1e-8, weights * size / scales, 0.0)
    return result


def independent_constraints(system: SystemNodes, first: int = 0) -> tuple[int, ...]:
    """The constraints, from the number `first` on, that determine the others where the holonomic equations hold.

    These are all of them, unless the mechanism is overconstrained. The rank there is the largest at the example point
    and at points near it, all moved onto the holonomic equations: a singular position of the loops has a lower one.
    """
    g, rows = system.graph.copy(), system.constraint_rows[first:]
    everything = tuple(range(first, len(system.constraint_rows)))
    best: list[int] = []
    for point in _near(system) if system.holonomic else ():
        at = satisfying(system, g, system.holonomic, point)
        if at is None:
            continue
        values = np.array(numeric_matrix(g, rows, at))
        sizes = np.linalg.norm(values, axis=1, keepdims=True)
        found = choose_pivots((values / np.where(sizes > 0, sizes, 1.0)).tolist(), _RANK)
        best = max(best, sorted(first + row for row, _ in found), key=len)
        if len(best) == min(values.shape):
            break
    return tuple(best) or everything


def _near(system: SystemNodes) -> Iterator[Point]:
    """The example point, then points with other coordinates near it."""
    start, draw = example_point(system), random.Random(11)
    yield start
    for _ in range(3):
        yield start | {
            x.name: start[x.name] + draw.uniform(-0.1, 0.1) for x in system.declaration.coordinates
        }


def _contradicts(system: SystemNodes, g: Graph, s: int, weights: np.ndarray, point: Point) -> bool:
    """Whether row s contradicts the rows before it and their holonomic equations."""
    declared = len(system.constraints) - len(system.holonomic)
    kept = [system.holonomic[i] for i in range(max(0, s - declared))]
    at = satisfying(system, g, kept, point)
    if at is None:
        return False
    if s >= declared and not weights[:declared].any():
        ((value, scale),) = evaluate_with_scale(g, [system.holonomic[s - declared]], at)
        if abs(value) > 1e-6 * scale:
            return True
    rows = np.array(numeric_matrix(g, system.constraint_rows, at))
    offsets = np.array(evaluate(g, list(system.constraint_offsets), at))
    there = _combination(rows[:s], rows[s])
    if there is None:
        return False
    rest = offsets[s] - there @ offsets[:s]
    return bool(abs(rest) > 1e-8 * (abs(offsets[s]) + np.abs(there) @ np.abs(offsets[:s])))


def satisfying(system: SystemNodes, g: Graph, equations: Sequence[Node], point: Point) -> Point | None:
    """A point near `point` where the equations hold, by Gauss-Newton in the coordinates; None if none is found."""
    if not equations:
        return point
    x = system.fields.coordinates
    names = [str(g.value[n]) for n in x]
    slopes = [n for f in equations for n in gradient(g, f, x)]
    at = dict(point)
    try:
        for _ in range(_STEPS):
            found = evaluate_with_scale(g, equations, at)
            if all(abs(value) <= 1e-12 * max(scale, 1e-300) for value, scale in found):
                return at
            matrix = np.array(evaluate(g, slopes, at)).reshape(len(equations), len(x))
            step = np.linalg.lstsq(matrix, np.array([value for value, _ in found]), rcond=1e-8)[0]
            at.update({n: at[n] - float(d) for n, d in zip(names, step, strict=True)})
    except (ArithmeticError, ValueError):
        return None
    return None
