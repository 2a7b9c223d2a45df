"""Is a function of the states conserved? It is if its derivative along the flow vanishes on every branch and it does
not jump between branches.

On a branch (`branches`) the derivative is analytic, so one generic point, inside the branch or not, decides, provided
that all terms are resolved there (`identities`). Motions cross the borders between branches, so an integral must have
the same value on both sides, which the derivative does not show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np
from mpmath import mp

from ..graph.differentiate import forward
from ..graph.evaluate import evaluate_many, evaluate_with_scale, exponentials, shrinking
from ..graph.graph import Graph, Node
from ..graph.linear import solve_definite
from ..identities.branches import CaseBranch, Condition, branches
from ..identities.identities import FAILURES, anywhere
from ..identities.roots import reversed_roots, touches_zero
from ..system.continuity import jump
from ..system.feasible_points import condition_text, reach, warn_too_many, warn_unreached
from ..system.points import wide_points
from .equation_nodes import EquationNodes

_ACCELERATION = "cg_acceleration_"
_ROUNDING = 1e-9
"""A float is zero if it is not larger than this times the size of its terms."""
_MANY_VELOCITIES = 30
"""Velocities from which on fewer points are looked at."""


def conserved(
    eqs: EquationNodes, nodes: Sequence[Node], proved: Sequence[bool], said: set[str]
) -> list[bool]:
    """Whether each of the nodes is conserved by the equations.

    `proved` marks the nodes whose derivative vanishes, wherever it exists, by a theorem; they are checked numerically
    as well, unless there are too many branches. If a node fails on a branch in which no point is found, a
    BranchWarning is issued; `said` contains the conditions already reported and is extended.
    """
    g = eqs.graph
    # A function that contains an input changes with it.
    driven = _dependent(g, nodes, {s.name for s in eqs.system.inputs}.__contains__)
    alive = [i for i, n in enumerate(nodes) if n not in driven]
    slopes, needed = slopes_along(eqs, [nodes[i] for i in alive])
    found = dict(zip(alive, slopes, strict=True))
    solved = _dependent(g, slopes, lambda name: name.startswith(_ACCELERATION))
    dynamic = {i for i in alive if found[i] in solved}
    kept: set[int] = set()
    for some, given in ((dynamic, needed), (found.keys() - dynamic, [])):
        near = eqs.points(given, 3) if some else []
        moving = _not_small(*along(g, [found[i] for i in sorted(some)], given, _unknowns(eqs, given), near))
        left = [i for i, moves in zip(sorted(some), moving, strict=True) if proved[i] or not moves]
        if left:
            examination = Examination(eqs, [found[i] for i in left], given, said, near)
            still = examination.vanishing([proved[i] for i in left])
            good = [i for i, holds in zip(left, still, strict=True) if holds]
            kept |= {i for i in good if examination.is_continuous(nodes[i])}
    return [i in kept for i in range(len(nodes))]


def _not_small(values: Any, sizes: Any) -> list[bool]:
    """Which of the values (n, N) are not zero at one of the points; one that is not finite proves nothing."""
    return list(map(bool, (np.isfinite(values) & (np.abs(values) > _ROUNDING * sizes)).any(axis=1)))


def _unknowns(eqs: EquationNodes, needed: Sequence[Node]) -> int:
    """The number of accelerations, and of multipliers found with them."""
    return len(eqs.force) + len(bordering(eqs)) if needed else 0


def _dependent(g: Graph, roots: Sequence[Node], wanted: Callable[[str], bool]) -> set[Node]:
    """The nodes below the roots that depend on symbols with wanted names."""
    symbols = [n for n in g.reachable(roots) if g.op[n] == "symbol" and wanted(str(g.value[n]))]
    return g.dependent(roots, symbols)


def slopes_along(eqs: EquationNodes, nodes: Sequence[Node]) -> tuple[list[Node], list[Node]]:
    """d/dt of nodes along the flow with accelerations as symbols, and the nodes that determine the accelerations."""
    g, v = eqs.graph, eqs.velocity_nodes
    moving = eqs.flow
    # Accelerations are symbols here: they are solved for numerically at each point.
    if eqs.implicit is not None:
        mass, force = eqs.implicit.accelerations(g, eqs.force, moving)
        moving |= dict(zip(v, eqs.force, strict=True))
        v = eqs.implicit.unknown
    else:
        mass, force = [n for row in eqs.mass for n in row], list(eqs.force)
    moving |= {node: g.symbol(f"{_ACCELERATION}{i}") for i, node in enumerate(v)}
    if eqs.friction is not None:
        # [[M, A^T], [A, 0]] [theta', -lambda] = [f, -b] gives the multipliers as well.
        free = g.substitute(force, dict.fromkeys(eqs.friction.unknown, g.zero))
        force = _solved(eqs, free) if eqs.friction.across else list(free)
        for s, row in enumerate(bordering(eqs)):
            force.append(g.neg(eqs.friction.biases[row]))
            mass += [*eqs.friction.rows[row], *[g.zero] * (s + 1)]
    return forward(g, list(nodes), moving), [*mass, *force]


def bordering(eqs: EquationNodes) -> tuple[int, ...]:
    """The constraints whose multipliers are found with the accelerations: without redundant ones.

    The points of an examination are off closed loops, where redundant constraints do not follow from the others.
    """
    if eqs.friction is None or eqs.friction.across:
        return ()
    return eqs.system.independent_constraints if eqs.friction.rows else ()


def _solved(eqs: EquationNodes, free: Sequence[Node]) -> list[Node]:
    """The accelerations of a form that has M^-1 A^T, from those without constraints."""
    g, friction = eqs.graph, eqs.friction
    assert friction is not None
    kept = eqs.system.independent_constraints
    rows, across = [friction.rows[s] for s in kept], [friction.across[s] for s in kept]
    right = [g.neg(g.add(g.dot(row, free), friction.biases[s])) for s, row in zip(kept, rows, strict=True)]
    found, _ = solve_definite(g, rows, across, right)
    return [g.add(a, g.dot(column, found)) for a, column in zip(free, zip(*across, strict=True), strict=True)]


class Examination:
    """Numerical check of derivatives along the flow, on every branch; `near` are the first points of `vanishing`."""

    def __init__(
        self,
        eqs: EquationNodes,
        slopes: Sequence[Node],
        needed: Sequence[Node],
        said: set[str] | None = None,
        near: Sequence[dict[str, float]] = (),
    ) -> None:
        self.eqs, self.slopes, self.needed, self.near = eqs, slopes, needed, near
        self.unknown = _unknowns(eqs, needed)
        self.roots = (*slopes, *needed, *eqs.completing)
        self.said = set() if said is None else said
        self.graph = eqs.graph.copy()  # keeps the nodes of branches and borders out of the original

    @cached_property
    def points(self) -> list[dict[str, float]]:
        """Points near the example, then far ones."""
        eqs = self.eqs
        return [*self.near, *wide_points(eqs.system.nodes, self.needed, 12, eqs.graph, eqs.complete)]

    def vanishing(self, proved: Sequence[bool]) -> list[bool]:
        """Which of the derivatives vanish on every branch."""
        system, count = self.eqs.system, len(self.slopes)
        found = branches(self.graph, self.roots)
        if found is None:
            if not all(proved) and "" not in self.said:
                self.said.add("")
                warn_too_many(system.nodes, "functions not proved by a theorem are not reported as integrals")
            return list(proved)
        good = [True] * count
        for branch in found:
            slopes, needed, completing = self._parts(branch.nodes)
            left = [i for i in range(count) if good[i]]
            if not left:
                break
            sure = [proved[i] for i in left]
            moving = self._moving([slopes[i] for i in left], needed, completing, sure)
            for square, nodes in reversed_roots(self.graph, branch.nodes):
                if all(moving):
                    break
                slopes, needed, completing = self._parts(nodes)
                other = self._moving([slopes[i] for i in left], needed, completing)
                if any(b and not a for a, b in zip(moving, other, strict=True)) and touches_zero(
                    self.graph, square
                ):
                    moving = [a or b for a, b in zip(moving, other, strict=True)]
            if any(moving):
                self._say(branch.conditions)
            for i, bad in zip(left, moving, strict=True):
                good[i] = not bad
        return good

    def _parts(self, nodes: Sequence[Node]) -> tuple[Sequence[Node], Sequence[Node], Sequence[Node]]:
        """The slopes, the nodes needed and the completing nodes on a branch."""
        end = len(self.slopes) + len(self.needed)
        return nodes[: len(self.slopes)], nodes[len(self.slopes) : end], nodes[end:]

    def _moving(
        self,
        slopes: Sequence[Node],
        needed: Sequence[Node],
        completing: Sequence[Node],
        sure: Sequence[bool] = (),
    ) -> list[bool]:
        """Which of the derivatives, free of switches, do not vanish: by floats, then with all terms resolved.

        Where all that are left are `sure` by a theorem, the second is left out for a large system.
        """
        g, k = self.graph, self.unknown
        moving: list[bool]

        def look(point: dict[str, Any], shrink: float, limit: Any) -> bool:
            left = [i for i, bad in enumerate(moving) if not bad]
            at = self.eqs.completed(g, completing, point, True, shrink)
            found = along_precisely(g, [slopes[i] for i in left], needed, k, at, shrink)
            for i, (value, size) in zip(left, found, strict=True):
                moving[i] = not abs(value) <= limit * size
            return True

        roots = [*slopes, *needed, *completing]
        # Accelerations are solved for at each point; a number in their place shows the sizes of their factors.
        points = [{**p, **{f"{_ACCELERATION}{i}": 0.7 for i in range(k)}} for p in self.points]
        large = k >= _MANY_VELOCITIES
        found = self._along(slopes, needed, completing, points[:1] if large else points)
        if large:  # the sizes of terms grow with every body of a chain, beyond all values
            sizes = np.abs(found[0])
            plainly = (sizes > 1e-6 * sizes.max(initial=0.0)).any(axis=1)
            moving = [bool(p) and not s for p, s in zip(plainly, sure or [False] * len(slopes), strict=True)]
        else:
            moving = _not_small(*found)
        if large and sure and all(a or b for a, b in zip(moving, sure, strict=True)):
            return moving
        # One near point, then a far one; with many velocities the second costs more than it is worth.
        few = [*points[:1], *points[3:], *points[1:3]]
        if not all(moving) and not anywhere(g, roots, few, look, 1 if large else 2):
            return [True] * len(slopes)
        return moving

    def _along(
        self,
        slopes: Sequence[Node],
        needed: Sequence[Node],
        completing: Sequence[Node],
        points: Sequence[Mapping[str, float]],
    ) -> Any:
        """Derivatives (n, N) at those of the points that can be completed, and the sizes of their terms, by floats."""
        g = self.graph
        inside = exponentials(g, [*slopes, *needed, *completing])
        places, shrinks = [], []
        for point in points:
            with suppress(*FAILURES):
                shrink = shrinking(g, inside, point)
                at = self.eqs.completed(g, completing, point, False, shrink)
                places.append({name: float(v) for name, v in at.items()})
                shrinks.append(shrink)
        return along(g, slopes, needed, self.unknown, places, shrinks)

    def rows(self, points: Sequence[Mapping[str, float]]) -> Iterator[list[list[float]]]:
        """A row of derivatives at every point at which they are defined: as they are, then on each branch."""
        g = self.graph
        yield _finite(along(g, self.slopes, self.needed, self.unknown, points)[0])
        for branch in branches(g, self.roots) or [CaseBranch((), self.roots)]:
            yield _finite(self._along(*self._parts(branch.nodes), points)[0])

    def is_continuous(self, node: Node) -> bool:
        """Whether a node has equal values on both sides of every border between branches."""
        found = jump(self.graph, node, self.eqs.system.nodes)
        if found is not None:
            self._say(found)
        return found is None

    def _say(self, conditions: Sequence[Condition]) -> None:
        """Warn of a branch or border on which an integral fails and in which no point is found."""
        text = condition_text(self.graph, conditions, self.eqs.symbols)
        if not conditions or text in self.said:
            return
        self.said.add(text)
        point, tried = reach(self.graph, conditions, self.eqs.system.nodes)
        if point is None:
            outcome = "an integral that depends on it is not reported"
            warn_unreached(self.eqs.system.nodes, self.graph, conditions, self.eqs.symbols, tried, outcome)


@np.errstate(all="ignore")
def along(
    g: Graph,
    wanted: Sequence[Node],
    needed: Sequence[Node],
    k: int,
    points: Sequence[Mapping[str, float]],
    shrinks: Sequence[float] = (1.0,),
) -> Any:
    """Values (n, N) at N points of derivatives that contain accelerations as symbols, and the sizes of their terms.

    By floats; NaN where they are undefined. `needed` contains the lower triangle by rows of a symmetric matrix (M, or M
    bordered by constraints), unless it is the unit matrix, and then the k entries of the right-hand side.
    """
    if not points:
        return np.empty((len(wanted), 0)), np.empty((len(wanted), 0))
    at = {name: np.array([p[name] for p in points]) for name in points[0]}
    values, sizes = evaluate_many(g, needed, at, {}, np.array(shrinks))
    acceleration, spread = values[len(values) - k :].T[..., None], sizes[len(sizes) - k :].T[..., None]
    if len(needed) > k:
        rows, row_sizes = (np.moveaxis(np.array(_square(list(of), k)), 2, 0) for of in (values, sizes))
        rows[~np.isfinite(rows).all(axis=(1, 2))] = np.nan
        try:
            acceleration, inverse = np.linalg.solve(rows, acceleration), np.linalg.inv(rows)
        except np.linalg.LinAlgError:
            inverse, acceleration = np.full_like(rows, np.nan), np.full_like(acceleration, np.nan)
        spread = np.abs(inverse) @ (spread + row_sizes @ np.abs(acceleration))
    names = [f"{_ACCELERATION}{i}" for i in range(k)]
    at |= dict(zip(names, acceleration[..., 0].T, strict=True))
    return evaluate_many(g, wanted, at, dict(zip(names, spread[..., 0].T, strict=True)), np.array(shrinks))


def along_precisely(
    g: Graph, wanted: Sequence[Node], needed: Sequence[Node], k: int, point: dict[str, Any], shrink: float
) -> list[tuple[Any, Any]]:
    """The same with mpmath at one point: each value with the size of its terms."""
    found = evaluate_with_scale(g, needed, point, True, shrink=shrink)
    values, sizes = [v for v, _ in found], [s for _, s in found]
    acceleration, spread = values[len(values) - k :], sizes[len(sizes) - k :]
    if len(needed) > k:
        rows, row_sizes = _square(values, k), np.array(_square(sizes, k))
        kind = complex if any(isinstance(v, mp.mpc) for v in values) else float
        inverse = np.abs(np.linalg.inv(np.array([[kind(v) for v in row] for row in rows])))
        acceleration = list(mp.lu_solve(mp.matrix(rows), mp.matrix(acceleration)))
        if not np.isfinite(inverse).all():
            raise ArithmeticError("the mass matrix is too large or too small for floats")
        spread = list(inverse @ (np.array(spread) + row_sizes @ np.array([abs(a) for a in acceleration])))
    names = [f"{_ACCELERATION}{i}" for i in range(k)]
    at = {**point, **dict(zip(names, acceleration, strict=True))}
    return evaluate_with_scale(g, wanted, at, True, dict(zip(names, spread, strict=True)), shrink)


def _finite(values: Any) -> list[list[float]]:
    """Rows of values, one for each point at which all of them are finite."""
    return [list(map(float, row)) for row in values.T if np.isfinite(row).all()]


def _square(lower: Sequence[Any], k: int) -> list[list[Any]]:
    """The full symmetric matrix from its lower triangle by rows."""
    return [[lower[max(i, j) * (max(i, j) + 1) // 2 + min(i, j)] for j in range(k)] for i in range(k)]
