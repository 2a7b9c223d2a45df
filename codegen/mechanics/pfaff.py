"""Vector fields from Pfaffian forms: Chetaev's construction."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import sympy as sp

from ..graph.differentiate import forward
from ..graph.evaluate import numeric_matrix
from ..graph.from_sympy import Lowering, UnsupportedExpression
from ..graph.graph import Graph, Node
from ..graph.linear import choose_pivots
from ..graph.to_sympy import shorter
from ..identities.identities import FAILURES, Point, vanish_everywhere
from ..symbols.symbols import Coordinate, DeclarationError, Velocity, as_assumed, rate
from ..symbols.values import scalar, sequence

_LARGEST = 60
"""Largest number of operations that are simplified; sines of several angles can take SymPy a minute above it."""

_SPANS = ((0.3, 1.7), (-1.7, -0.3), (2.0, 8.0), (10.0, 60.0))
"""Where the forms are looked at to see which of them are independent."""


def fields_from_forms(
    forms: Sequence[Any], coordinates: Sequence[sp.Symbol], velocities: Sequence[sp.Symbol]
) -> dict[sp.Symbol, Any]:
    """Kinematics for a `System` from velocities given as Pfaffian forms, eta_a = A_as dx_s/dt + A_a0.

    The forms (expressions in the coordinates and their rates, affine in the rates) and dt are completed to a coframe;
    the columns of the inverse matrix are the fields: dx_s/dt = xi_0^s + xi_a^s eta_a. Constraint forms can come first
    or last; `constraints=[eta]` then states that they vanish.

    Parameters: `forms`, at most one per velocity; `coordinates` (n); `velocities` (n). With fewer forms than
    velocities, the remaining velocities are coordinate rates: the first ones that complete the coframe.

    Raises DeclarationError if a form is not affine in the rates, the forms are linearly dependent, or the numbers of
    forms, coordinates and velocities do not match.

    Source: Encyclopedia of Mathematics, "Poincaré equations" (N. G. Chetaev).

    >>> import sympy as sp
    >>> import chaplygin as cg
    >>> phi, x, y = cg.coordinates("phi x y")
    >>> omega, v, w = cg.velocities("omega v w")
    >>> forward = cg.rate(x)*sp.cos(phi) + cg.rate(y)*sp.sin(phi)
    >>> sideways = cg.rate(y)*sp.cos(phi) - cg.rate(x)*sp.sin(phi)
    >>> cg.fields_from_forms([cg.rate(phi), forward, sideways], [phi, x, y], [omega, v, w])
    {phi: omega, x: v*cos(phi) - w*sin(phi), y: v*sin(phi) + w*cos(phi)}
    """
    forms, coordinates, velocities = (
        sequence(f"fields_from_forms: {name}", given)
        for name, given in (("forms", forms), ("coordinates", coordinates), ("velocities", velocities))
    )
    forms = [scalar(f"fields_from_forms: forms[{i}]", form) for i, form in enumerate(forms)]
    _check_arguments(forms, coordinates, velocities)
    slopes, offsets, at = _affine(forms, [rate(x) for x in coordinates])
    free = _completion(at, len(coordinates))
    if free is None:
        raise DeclarationError("fields_from_forms: the forms are linearly dependent")
    # The rates in `free` are velocities themselves; Cramer's rule gives the others, with no denominator but det A.
    values = dict(zip(free, velocities[len(forms) :], strict=True))
    solved = [s for s in range(len(coordinates)) if s not in values]
    right = [
        v - offset - sum((row[s] * e for s, e in values.items()), sp.Integer(0))
        for v, offset, row in zip(velocities, offsets, slopes, strict=False)
    ]
    values |= dict(zip(solved, _by_cramer([[row[s] for s in solved] for row in slopes], right), strict=True))
    return {x: values[s] for s, x in enumerate(coordinates)}


def _check_arguments(
    forms: Sequence[Any], coordinates: Sequence[sp.Symbol], velocities: Sequence[sp.Symbol]
) -> None:
    """Check the numbers of forms and symbols, the kinds of symbols, and the velocities that the forms contain."""
    n = len(coordinates)
    if len(velocities) != n or not 0 < len(forms) <= n:
        raise DeclarationError(
            f"fields_from_forms: {len(forms)} forms, {n} coordinates, {len(velocities)} velocities; give one velocity "
            "per coordinate, and one form or more, at most as many"
        )
    kinds = ((coordinates, Coordinate, "coordinates"), (velocities, Velocity, "velocities"))
    for symbols, kind, _ in kinds:
        for s in symbols:
            if not isinstance(s, kind):
                raise DeclarationError(f"fields_from_forms: {s!s} is not a {kind.__name__.lower()}")
    for symbols, _, name in kinds:
        if len(set(symbols)) < n:
            raise DeclarationError(f"fields_from_forms: {name} contain a symbol twice")
    rates = [rate(x) for x in coordinates]
    for i, form in enumerate(forms):
        foreign = [s for s in form.free_symbols if isinstance(s, Velocity) and s not in rates]
        if foreign:
            raise DeclarationError(
                f"fields_from_forms: forms[{i}] contains {foreign[0]}; write forms in the rates of the coordinates"
            )


def _by_cramer(matrix: Sequence[Sequence[Any]], right: Sequence[Any]) -> list[Any]:
    """The solution of a system of linear equations by Cramer's rule, written out where it is short."""
    minor, every = _minors(matrix), tuple(range(len(right)))
    determinant = _short(minor(every, every))
    solution = []
    for place in every:
        columns = every[:place] + every[place + 1 :]
        cofactors = ((-1) ** (place + r) * minor(every[:r] + every[r + 1 :], columns) for r in every)
        above = _short(sum((c * e for c, e in zip(cofactors, right, strict=True)), sp.Integer(0)))
        found = _short(above / determinant)
        solution.append(sp.expand(found) if sp.count_ops(found) <= _LARGEST else found)
    return solution


def _short(e: Any) -> Any:
    size = sp.count_ops(e)
    return shorter(e, size) if size <= _LARGEST else e


def _affine(
    forms: Sequence[Any], rates: Sequence[sp.Symbol]
) -> tuple[list[list[Any]], list[Any], list[list[float]]]:
    """A and A_0 of the forms A dx/dt + A_0 as SymPy expressions, and A at a generic point.

    Raises DeclarationError for a form that is not affine in the rates, or that has no value at any of the points.
    """
    every = sorted({*rates, *(s for form in forms for s in form.free_symbols)}, key=str)
    symbols = {s.name: s for s in every}
    if len(symbols) < len(every):
        twice = next(s for s, other in pairwise(every) if s.name == other.name)
        raise DeclarationError(
            f"fields_from_forms: the forms contain different symbols with the name {twice}"
        )
    g = Graph()
    lowering = Lowering(g, {s: g.symbol(name) for name, s in symbols.items()})
    nodes = []
    for i, form in enumerate(forms):
        try:
            nodes += lowering.lower([form])
        except (UnsupportedExpression, ArithmeticError) as error:
            raise DeclarationError(f"fields_from_forms: forms[{i}]: {error}") from None
    moving = [g.symbol(r.name) for r in rates]
    columns = [forward(g, nodes, {r: g.one}) for r in moving]
    draw = random.Random(50_021)
    points = [
        {name: as_assumed(s, draw.uniform(*span)) for name, s in symbols.items()}
        for span in _SPANS
        for _ in range(4)
    ]
    still = dict.fromkeys(moving, g.zero)
    slopes = []
    for i, form in enumerate(nodes):
        row = [column[i] for column in columns]
        try:
            fixed = g.substitute([*row, form], still)
        except ZeroDivisionError:
            fixed = []
        if not fixed or not vanish_everywhere(
            g, [g.sub(a, b) for a, b in zip(row, fixed, strict=False)], points
        ):
            raise DeclarationError(f"fields_from_forms: forms[{i}] is not affine in the rates")
        slopes.append(fixed)
    found = [v for v in (_values(g, slopes, point) for point in points) if v is not None]
    if not found:
        raise DeclarationError("fields_from_forms: the forms have no common value at any of the points tried")
    values = max(found, key=lambda a: len(choose_pivots(a)))
    at_rest = dict.fromkeys(rates, 0)
    rows = [[_short(sp.diff(form, r).subs(at_rest)) for r in rates] for form in forms]
    return rows, [form.subs(at_rest) for form in forms], values


def _values(g: Graph, rows: Sequence[Sequence[Node]], point: Point) -> list[list[float]] | None:
    """The rows but for their last entries at a point, each scaled to 1; None if they have no values there."""
    try:
        values = numeric_matrix(g, [row[:-1] for row in rows], point)
    except FAILURES:
        return None
    if not all(math.isfinite(v) for row in values for v in row):
        return None
    return [[v / (max(map(abs, row)) or 1.0) for v in row] for row in values]


def _completion(matrix: Sequence[Sequence[float]], n: int) -> list[int] | None:
    """The first coordinates whose rates complete the rows to n independent ones; None if the rows are dependent."""
    rows, free = [list(row) for row in matrix], list[int]()
    if len(choose_pivots(rows)) < len(rows):
        return None
    for place in range(n):
        longer = [*rows, [float(j == place) for j in range(n)]]
        if len(rows) < n and len(choose_pivots(longer)) == len(longer):
            rows, free = longer, [*free, place]
    return free


def _minors(matrix: Sequence[Sequence[Any]]) -> Callable[[tuple[int, ...], tuple[int, ...]], Any]:
    """The minors of a matrix by rows and columns, each computed once, by Laplace's expansion."""

    @cache
    def minor(rows: tuple[int, ...], columns: tuple[int, ...]) -> Any:
        if not rows:
            return sp.Integer(1)
        total = sp.Integer(0)
        for place, c in enumerate(columns):
            if matrix[rows[0]][c] != 0:
                rest = minor(rows[1:], columns[:place] + columns[place + 1 :])
                total += (-1) ** place * matrix[rows[0]][c] * rest
        return total

    return minor
