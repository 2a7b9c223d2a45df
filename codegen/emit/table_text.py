"""The numbers of tables in C, once, and a function for each of their derivatives that a file calls."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

from ..graph.functions import Function
from ..graph.graph import Graph, Node
from ..graph.tables import Table, tables_in

_DOUBLINGS = 3
"""How often the number of parts of an axis, in which a cell is found, may be doubled to leave one halving."""


def table_texts(g: Graph, roots: Iterable[Node]) -> str:
    """What cg_table.h needs to read the tables that the roots contain; empty without tables."""
    found = tables_in(g, g.reachable(roots))
    texts = [_once(f"{t.stem}_axes", _data(t)) for t in found]
    texts += [_once(f.name, _function(f)) for functions in found.values() for f in functions]
    return "\n".join(['#include "cg_table.h"\n', *texts, ""]) if found else ""


def _once(name: str, text: str) -> str:
    """A text that may be in several files of which one is made."""
    guard = f"{name.upper()}_IS_HERE"
    return f"#ifndef {guard}\n#define {guard}\n{text}#endif\n"


def _data(table: Table) -> str:
    lines, axes = [f"/* {table.name}: {table.about} */"], []
    for i, (knots, origins, terms) in enumerate(zip(table.knots, table.origins, table.terms, strict=True)):
        lines += _array(f"{table.stem}_origins_{i}", origins)
        parts, firsts, halvings = divided(knots)
        if halvings:
            begins = [*origins[:-1], *[math.nan] * (1 + 2**halvings)]
            lines += _array(f"{table.stem}_firsts_{i}", firsts, "int") + _array(
                f"{table.stem}_begins_{i}", begins
            )
        numbers = [repr(v) for v in (knots[0], knots[-1], *_measure(knots, parts), float(parts - 1))]
        sizes = [str(n) for n in (len(knots), terms, halvings)]
        search = [f"{table.stem}_{array}_{i}" if halvings else "NULL" for array in ("firsts", "begins")]
        axes += [
            f"    {{{', '.join(numbers)},",
            f"     {', '.join([*sizes, *search, f'{table.stem}_origins_{i}'])}}},",
        ]
    lines += _array(f"{table.stem}_numbers", table.numbers)
    lines += [f"static const cg_axis_t {table.stem}_axes[] = {{", *axes, "};", ""]
    if table.widths:
        start, lines[-1] = 0, f"static const cg_basis_t {table.stem}_bases[] = {{"
        for knots, terms, width in zip(table.knots, table.terms, table.widths, strict=True):
            lines.append(f"    {{{len(knots)}, {width}, {table.stem}_numbers + {start}}},")
            start += (len(knots) + 1) * (1 + width * terms)
        lines += ["};", ""]
    return "\n".join(lines)


def _function(function: Function) -> str:
    table, orders = function.table, function.orders
    n, names = len(orders), list("xyz"[: len(orders)])
    basis = function.name == table.function(orders, basis=True)
    taken = [f"const cg_real_t {name}" for name in ["number"] * basis + names]
    given = f"{table.stem}_axes, {table.stem}_{'bases' if table.widths else 'numbers'}, orders"
    lines = [f"const int orders[] = {{{', '.join(map(str, orders))}}};"]
    lines += [f"const cg_real_t at[] = {{{', '.join(names)}}};"]
    call = f"cg_table_value({n}, {given}, at)"
    if basis:
        call = f"cg_table_basis({n}, {given}, number, at)"
    elif table.widths:
        taken += ["const double *values", "int apart"]
        lines.append(f"cg_real_t weights[{sum(table.widths)}];")
        call = f"cg_table_sum({n}, {given}, at, weights, values, apart)"
    body = "".join(f"    {line}\n" for line in [*lines, f"return {call};"])
    long = basis or math.prod(table.widths) > 4  # compilers would take long to inline every call
    head = f"static {'CG_TABLE_APART' if long else 'CG_INLINE'} cg_real_t {function.name}({', '.join(taken)})"
    return f"{head}\n{{\n{body}}}\n"


def _array(name: str, values: Sequence[float], kind: str = "double") -> list[str]:
    texts = ["NAN" if v != v else repr(v) for v in values]
    rows = [f"    {', '.join(texts[i : i + 4])}," for i in range(0, len(texts), 4)]
    return [f"static const {kind} {name}[] = {{", *rows, "};"]


def _measure(knots: Sequence[float], parts: int) -> tuple[float, float]:
    """Where parts start and how many are in a unit; a little before the first knot, as knots may be rounded."""
    return knots[0] - max(map(abs, knots)) * 2.0**-50, parts / (knots[-1] - knots[0])


def divided(knots: Sequence[float]) -> tuple[int, list[int], int]:
    """The number of parts between the knots, the first cell of each part, and the halvings left to do.

    The parts are the cells where knots have equal spacing. Otherwise they are as many as leave one halving, or two for
    each cell where that takes too many. The first and the last of the list are what is outside.
    """
    n = len(knots)
    places = [(k - knots[0]) / (knots[-1] - knots[0]) * (n - 1) for k in knots]
    even = all(abs(place - i) < 1e-14 * n for i, place in enumerate(places))
    if even and _part_of(knots, n - 1) == [*range(n - 1), n - 2]:
        return n - 1, [], 0
    for parts in [*((n - 1) * 2**k for k in range(1, _DOUBLINGS + 1)), 2 * (n - 1)]:
        part = _part_of(knots, parts)
        # What is in a part is right of all knots in parts before it, and left of those in parts after it.
        cells = [(max(bisect_left(part, p), 1), min(bisect_right(part, p), n - 1)) for p in range(parts)]
        halvings = max(last - first for first, last in cells).bit_length()
        if halvings <= 1:
            break
    return parts, [0, *(first for first, _ in cells), n], max(halvings, 1)


def _part_of(knots: Sequence[float], parts: int) -> list[int]:
    start, per_unit = _measure(knots, parts)
    return [min(int((k - start) * per_unit), parts - 1) for k in knots]
