"""Tables as functions of the graph: piecewise polynomials on a grid, with their derivatives.

A table is a row of `FUNCTIONS` for every order of derivative that is not zero everywhere, under a name made of its
content, so that equal tables are one function in every process. In SymPy it is a `TableCall`.
"""

from __future__ import annotations

import hashlib
import json
import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from itertools import product
from typing import Any

import numpy as np
import sympy as sp
from mpmath import mp
from sympy.core.expr import AtomicExpr

from chaplygin.runtime.interface.statuses import LEAVES

from .functions import FUNCTIONS, Function
from .graph import Graph
from .node import Arithmetic, Node

Orders = tuple[int, ...]
Rows = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, eq=False)
class Table:
    """A piecewise polynomial of one to three arguments.

    An axis with n knots has n + 1 cells: before its first knot, between knots, and after the last. In a cell with the
    origins s the value is the sum of c_klm (x - s_0)^k (y - s_1)^l (z - s_2)^m.

    If its values are given at run time, they are further arguments, the last axis first: the value is a sum over them,
    each times a polynomial of x, one of y and one of z.
    """

    name: str
    arguments: tuple[str, ...]
    knots: Rows
    """Those of each axis."""
    origins: Rows
    """Those of the cells of each axis."""
    terms: tuple[int, ...]
    """The number of powers along each axis."""
    numbers: tuple[float, ...]
    """c, cell by cell, the last axis first; in a cell likewise. For values at run time axis by axis, cell by cell: the
    place of the first value that counts there, and the polynomials of as many as `widths` says."""
    outside: str
    """What it is outside of its knots, for people."""
    located: bool | None = None
    """Whether its knots are kinks of equations; None: where its first derivative jumps."""
    widths: tuple[int, ...] = ()
    """For values at run time: how many of them, next to one another, count in a cell of each axis."""

    @cached_property
    def text(self) -> str:
        """All of it, without spaces; `read_table` reads it."""
        parts = [getattr(self, f.name) for f in fields(self)]
        return json.dumps(parts if self.widths else parts[:-1], separators=(",", ":"))

    @cached_property
    def stem(self) -> str:
        """The name of what is emitted for it."""
        return f"cg_table_{self.name}_{hashlib.sha256(self.text.encode()).hexdigest()[:8]}"

    @property
    def about(self) -> str:
        """Its arguments, for people."""
        ranges = (f"{a} from {k[0]!r} to {k[-1]!r}" for a, k in zip(self.arguments, self.knots, strict=True))
        return f"{', '.join(ranges)}; outside: {self.outside}"

    @cached_property
    def points(self) -> list[tuple[int, ...]]:
        """The indices of the values that are given at run time, in the order in which they are arguments."""
        return list(product(*(range(len(knots)) for knots in self.knots))) if self.widths else []

    @cached_property
    def rows(self) -> list[Any]:
        """For values at run time, (cells, values, terms) of each axis: what each value counts."""
        found, start = [], 0
        for knots, origins, terms, width in zip(
            self.knots, self.origins, self.terms, self.widths, strict=True
        ):
            end = start + len(origins) * (1 + width * terms)
            cells = np.reshape(self.numbers[start:end], (len(origins), -1))
            found.append(np.zeros((len(origins), len(knots), terms)))
            for row, (first, *polynomials) in zip(found[-1], cells, strict=True):
                row[int(first) : int(first) + width] = np.reshape(polynomials, (width, terms))
            start = end
        return found

    def function(self, orders: Orders, basis: bool = False) -> str:
        """The name of the function that is its derivative of these orders, or what a value counts in it."""
        return f"{self.stem}_{'basis_' * basis}{''.join(map(str, orders))}"

    def value(self, orders: Orders, *point: Any) -> Any:
        """The derivative of these orders at a point, as the emitted C finds it; NaN where it has no value."""
        cell, local, size = 0, [], math.prod(self.terms)
        cells = []
        for knots, origins, x in zip(self.knots, self.origins, point, strict=False):
            inside = min(bisect_right(knots, x), len(knots) - 1)
            i = 0 if x < knots[0] else len(knots) if x > knots[-1] else inside
            cell = cell * len(origins) + i
            cells.append(i)
            local.append(x - origins[i])
        if self.widths:
            weights = [
                [_polynomial(polynomial, order, u) for polynomial in rows[i].tolist()]
                for rows, i, order, u in zip(self.rows, cells, orders, local, strict=True)
            ]
            return sum(v * math.prod(w) for v, w in zip(point[len(cells) :], product(*weights), strict=True))
        found: Sequence[Any] = self.numbers[cell * size : (cell + 1) * size]
        for terms, order, u in zip(reversed(self.terms), reversed(orders), reversed(local), strict=True):
            found = [_polynomial(found[i : i + terms], order, u) for i in range(0, len(found), terms)]
        return found[0]

    def basis(self, orders: Orders, number: Any, *point: Any) -> Any:
        """What the value of this number counts in the derivative of these orders at a point."""
        return self.value(orders, *point, *(float(i == number) for i in range(len(self.points))))

    def kinks(self, axis: int, order: int) -> list[float]:
        """The knots along an axis that are kinks of a derivative of this order."""
        knots, terms = self.knots[axis], self.terms[axis]
        if self.located is not None:
            return list(knots) if self.located else []
        n = len(self.terms)
        shape = (*map(len, self.origins), *self.terms)
        c = (
            self.rows[axis]
            if self.widths
            else np.moveaxis(np.reshape(self.numbers, shape), (axis, n + axis), (0, -1))
        )
        jumps = np.zeros(len(knots), bool)
        for k in range(order, min(order + 2, terms)):
            left, right = (
                [
                    [math.perm(j, k) * u ** max(j - k, 0) for j in range(terms)]
                    for u in np.subtract(knots, origins)
                ]
                for origins in (self.origins[axis][:-1], self.origins[axis][1:])
            )
            change = np.einsum("i...j,ij->i...", c[1:], right) - np.einsum("i...j,ij->i...", c[:-1], left)
            size = np.nanmax(np.einsum("i...j,ij->i...", np.abs(c[:-1]), np.abs(left)))
            jumps |= ~(np.abs(change) <= 1e-9 * size).reshape(len(knots), -1).all(axis=1)
        return [k for k, jump in zip(knots, jumps, strict=True) if jump]


def _polynomial(c: Sequence[Any], order: int, u: Any) -> Any:
    total = 0.0
    for k in reversed(range(order, len(c))):
        total = total * u + math.perm(k, order) * c[k]
    return total


def _generic(stem: str, orders: Orders, *point: Any) -> Any:
    """What stands for a table where an expression is asked to be zero everywhere, which is decided at single points.

    The table itself could be zero there alone, as its derivative is where it is held. It is a function of its own.
    """
    seed = int(stem[-8:], 16) + sum((k + 1) * 7 ** (i + 1) for i, k in enumerate(orders))
    return (
        mp.sin(sum(((i + 2) * x for i, x in enumerate(point)), mp.mpf(seed % 10_007) / 1000)) + mp.mpf(5) / 3
    )


def _zero(g: Arithmetic, *_: Node) -> Node:
    return g.zero


def _derivative(table: Table, orders: Orders, axis: int, basis: bool) -> Callable[..., Node]:
    higher = tuple(k + (i == axis) for i, k in enumerate(orders))
    if higher[axis] == table.terms[axis]:
        return _zero
    name = table.function(higher, basis)

    def slope(g: Arithmetic, _: Node, *args: Node) -> Node:
        return g.call(name, *args)

    return slope


def _by_value(table: Table, orders: Orders, number: int) -> Callable[..., Node]:
    name = table.function(orders, basis=True)

    def slope(g: Arithmetic, _: Node, *args: Node) -> Node:
        return g.call(name, g.const(number), *args[: len(table.terms)])

    return slope


def intern(table: Table) -> None:
    """Make the table and its derivatives functions of the graph."""
    if table.function((0,) * len(table.terms)) in FUNCTIONS:
        return
    for orders, basis in product(product(*map(range, table.terms)), (False, True)[: 1 + bool(table.widths)]):
        name = table.function(orders, basis)
        slopes = [_derivative(table, orders, axis, basis) for axis in range(len(table.terms))]
        of_values = [_by_value(table, orders, i) for i in range(len(table.points))]
        slopes = [_zero, *slopes] if basis else [*slopes, *of_values]
        # fmt: off
        FUNCTIONS[name] = Function(
            name, partial(TableCall, TableData(table, orders, basis)),
            partial(table.basis if basis else table.value, orders), None,
            partial(_generic, table.stem, orders + (1,) * basis), tuple(slopes), c=name, lanes=name,
            weight=8 + 2 * math.prod(table.terms) * max(math.prod(table.widths), 1), table=table, orders=orders,
            linear_from=len(orders) + basis if table.widths else Function.linear_from,
        )
        # fmt: on


def read_table(text: str) -> Table:
    """The table of a text, as functions of the graph."""
    table = Table(*(_frozen(part) for part in json.loads(text)))
    intern(table)
    return table


def _frozen(part: Any) -> Any:
    return tuple(map(_frozen, part)) if isinstance(part, list) else part


def tables_in(g: Graph, nodes: Iterable[Node]) -> dict[Table, list[Function]]:
    """The tables among the operations of nodes, by name, with the functions of each."""
    found: dict[Table, list[Function]] = {}
    for op in sorted({g.op[n] for n in nodes}):
        function = FUNCTIONS.get(op)
        if function is not None and function.table is not None:
            found.setdefault(function.table, []).append(function)
    return found


def knot_guards(g: Graph, node: Node) -> Iterator[tuple[Node, str]]:
    """What changes sign where a node passes kinks of its table, for each of its arguments, and its description.

    In every cell it is the product of the distances from both knots, divided by the distance between these.
    """
    function = FUNCTIONS.get(g.op[node])
    table = None if function is None else function.table
    if function is None or table is None:
        return
    arguments = g.args[node][: len(table.terms)]
    for axis, (order, a) in enumerate(zip(function.orders, arguments, strict=True)):
        knots = table.kinks(axis, order)
        if not knots:
            continue
        name, first, last = table.arguments[axis], table.knots[axis][0], table.knots[axis][-1]
        text = f"a knot of {name} in the table {table.name}"
        if table.outside == "error":
            text = f"{name} {LEAVES} {table.name}, {first!r} to {last!r}"
        if len(knots) == 1:
            yield g.sub(a, g.const(knots[0])), text
            continue
        numbers = [0.0, 1.0, 0.0]
        for i, length in enumerate(np.diff(knots)):
            numbers += [0.0, (-1.0) ** i, -((-1.0) ** i) / float(length)]
        numbers += [0.0, (-1.0) ** (len(knots) - 1), 0.0]
        full = f"{table.name}_{name}_knots"
        origins = (knots[0], *knots)
        guard = Table(full, (name,), (tuple(knots),), (origins,), (3,), tuple(numbers), "linear", False)
        intern(guard)
        yield g.call(guard.function((0,)), a), text


class TableData(AtomicExpr):  # type: ignore[misc]
    """A table and orders of derivatives, or what values count in them, as SymPy has them in a `TableCall`."""

    __slots__ = ("basis", "orders", "table")

    def __new__(cls, table: Table, orders: Orders, basis: bool = False) -> TableData:
        made: TableData = super().__new__(cls)
        made.table, made.orders, made.basis = table, orders, basis
        return made

    def __getnewargs__(self) -> tuple[Table, Orders, bool]:
        return self.table, self.orders, self.basis

    def _hashable_content(self) -> tuple[str, Orders, bool]:
        return self.table.text, self.orders, self.basis

    @property
    def function(self) -> Function:
        """The function of the graph."""
        intern(self.table)
        return FUNCTIONS[self.table.function(self.orders, self.basis)]

    def _sympystr(self, printer: Any) -> str:
        return self.function.name


class TableCall(sp.Function):  # type: ignore[misc]
    """A derivative of a table at its arguments, which the values follow that are given at run time.

    What a value counts in it is one too: the number of the value comes before the arguments.
    """

    @classmethod
    def eval(cls, data: Any, *args: Any) -> Any:
        if all(a.is_Float or a.is_Rational for a in args):
            return sp.Float(data.function.value(*map(float, args)))
        return None

    def _eval_is_extended_real(self) -> bool:
        return True

    def _eval_is_finite(self) -> bool:
        return True

    def fdiff(self, argindex: int = 1) -> Any:
        data, args = self.args[0], self.args[1:]
        axis, n = argindex - 2 - data.basis, len(data.orders)
        if axis >= n:
            return TableCall(TableData(data.table, data.orders, True), sp.Integer(axis - n), *args[:n])
        orders = tuple(k + (i == axis) for i, k in enumerate(data.orders))
        if axis < 0 or orders[axis] == data.table.terms[axis]:
            return sp.Integer(0)
        return TableCall(TableData(data.table, orders, data.basis), *args)

    def _shown(self, printer: Any, derivative: str) -> str:
        data = self.args[0]
        args = ", ".join(map(printer.doprint, self.args[1 : 1 + data.basis + len(data.orders)]))
        shown = derivative.format(", ".join(map(str, data.orders))) if any(data.orders) else ""
        return f"{data.table.name}{shown}({args})"

    def _sympystr(self, printer: Any) -> str:
        return self._shown(printer, "[{0}]")

    def _latex(self, printer: Any, exp: Any = None) -> str:
        shown = rf"\operatorname{{{self.args[0].table.name.replace('_', chr(92) + '_')}}}"
        text = self._shown(printer, "^{{({0})}}").replace(self.args[0].table.name, shown, 1)
        return text if exp is None else rf"\left({text}\right)^{{{exp}}}"

    def _ccode(self, printer: Any) -> str:
        return in_c(self.args[0].function, list(map(printer.doprint, self.args[1:])))


def in_c(function: Function, arguments: Sequence[str], name: str = "") -> str:
    """The call of a function in C; values that are given at run time stay in their array, or are put into one."""
    n = len(function.orders)
    if function.table is not None and function.table.widths and len(arguments) > n + 1:
        values = list(arguments[n:])
        array, _, rest = values[0].partition("[")
        start = rest.rstrip("])")
        place = f"CG_OF_LANES((const cg_real_t[]){{{', '.join(values)}}})"
        after = range(len(values) * start.isdigit())
        if values == [f"{array}[{int(start) + i}{rest[len(start) :]}" for i in after]:
            place = f"CG_OF_LANES({array} + {start})"
            if array.startswith("cg_splat("):
                place = f"{array[9:]} + {start}, 1"
        arguments = [*arguments[:n], place]
    return f"{name or function.c}({', '.join(arguments)})"
