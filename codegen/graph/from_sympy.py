"""Conversion of SymPy expressions to the graph.

SymPy flattens and sorts sums, so velocities that were built up link by link arrive as separate long sums. If one sum
contains another, their common part is shared again here, independently of the names of the terms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial, reduce
from typing import Any

import sympy as sp
from sympy.concrete.expr_with_limits import ExprWithLimits
from sympy.core.function import AppliedUndef

from chaplygin.errors import RangeError

from .functions import FUNCTIONS, NAMED, IntegerPart
from .graph import Graph, Node
from .tables import TableCall


class UnsupportedExpression(ValueError):
    """An expression contains something that cannot be turned into code."""


_RELATIONS: dict[type[sp.Basic], tuple[str, bool]] = {
    sp.StrictLessThan: ("lt", False),
    sp.LessThan: ("le", False),
    sp.StrictGreaterThan: ("lt", True),
    sp.GreaterThan: ("le", True),
    sp.Equality: ("eq", False),
    sp.Unequality: ("ne", False),
}


def _jump(a: sp.Basic, at_zero: sp.Basic) -> sp.Basic:
    return sp.Piecewise((0, sp.StrictLessThan(a, 0)), (1, sp.StrictGreaterThan(a, 0)), (at_zero, True))


def _floor(a: sp.Basic) -> sp.Basic:
    """The integer part, as one number for even and one for odd results, of which each is smooth where it is taken.

    The guard is zero at integers alone, and passes through them smoothly, so that the jumps are found as those of any
    condition are.
    """
    half = sp.Rational(1, 2)
    beside = a - 2 * IntegerPart(a * half + half)  # from -1 to 1, zero at even numbers
    guard = beside - beside**3
    even, odd = 2 * IntegerPart((2 * a + 1) / 4), 2 * IntegerPart((2 * a - 1) / 4) + 1
    return sp.Piecewise((IntegerPart(a), sp.Eq(guard, 0)), (even, guard > 0), (odd, True))


def _sinc(a: sp.Basic) -> sp.Basic:
    """sin(a)/a; by its series near 0, where the quotient and its derivatives have no digits."""
    series = sum((-1) ** k * a ** (2 * k) / sp.factorial(2 * k + 1) for k in range(6))
    return sp.Piecewise((series, a**2 < sp.Rational(1, 100)), (sp.sin(a) / a, True))


_MEANT: dict[type[sp.Basic], Callable[..., sp.Basic]] = {
    sp.sec: lambda a: 1 / sp.cos(a),
    sp.csc: lambda a: 1 / sp.sin(a),
    sp.cot: lambda a: sp.cos(a) / sp.sin(a),
    sp.asec: lambda a: sp.acos(1 / a),
    sp.acsc: lambda a: sp.asin(1 / a),
    sp.acot: lambda a: sp.atan(1 / a),
    sp.sech: lambda a: 1 / sp.cosh(a),
    sp.csch: lambda a: 1 / sp.sinh(a),
    sp.coth: lambda a: sp.cosh(a) / sp.sinh(a),
    sp.Heaviside: _jump,
    sp.floor: _floor,
    sp.ceiling: lambda a: -_floor(-a),
    sp.frac: lambda a: a - _floor(a),
    sp.Mod: lambda a, b: a - b * _floor(a / b),
    sp.sinc: _sinc,
}
"""What functions mean that the graph has no row for."""


def function_of_time(s: Any) -> str:
    """The message for a function of time, such as SymPy's `dynamicsymbols` returns, or its derivative."""
    name = str((s.expr if isinstance(s, sp.Derivative) else s).func)
    return (
        f"{s!s} is a function of time, as dynamicsymbols returns; chaplygin takes plain symbols: {name} = "
        f"coordinates({name!r}), and rate({name}) for its derivative (for a velocity, velocities({name!r}); for what "
        f"is set during a run, inputs({name!r})). A known function is written in chaplygin.time, or given to "
        f"from_sympy by prescribed={{{name}: an expression in t}}"
    )


def is_function_of_time(e: Any) -> bool:
    """Whether something is what `dynamicsymbols` returns, or a derivative of it."""
    of = e.expr if isinstance(e, sp.Derivative) else e
    return isinstance(of, AppliedUndef) and [str(a) for a in of.args] == ["t"]


def _known_names() -> str:
    """The functions of both tables, for messages."""
    known: list[Any] = [
        *(
            f.symbolic
            for f in FUNCTIONS.values()
            if f.table is None and f.symbolic not in (sp.Pow, IntegerPart)
        ),
        *_MEANT,
    ]
    return ", ".join(f.__name__ for f in known)


class Lowering:
    """Converts SymPy expressions to nodes of one graph; `symbols` maps each known symbol to its node."""

    def __init__(self, graph: Graph, symbols: Mapping[sp.Symbol, Node]) -> None:
        self.graph = graph
        self._memo: dict[sp.Basic, Node] = dict(symbols)
        self._functions = {f.symbolic: name for name, f in FUNCTIONS.items()}
        self._sums: dict[Node, list[tuple[frozenset[Node], Node]]] = {}
        self._stand_ins: dict[sp.Basic, sp.Basic] = {}
        self._behind: dict[sp.Basic, sp.Basic] = {}

    def on(self, graph: Graph) -> Lowering:
        """The same lowering into a copy of its graph."""
        other = Lowering(graph, {})
        other._memo, other._sums = dict(self._memo), {n: list(known) for n, known in self._sums.items()}
        return other

    def define(self, symbol: sp.Symbol, node: Node) -> None:
        """Map a symbol to a node from now on."""
        self._memo[symbol] = node

    def lower(self, expressions: Iterable[sp.Basic]) -> list[Node]:
        """The nodes of the expressions.

        Raises UnsupportedExpression for a function or object that the emitted code cannot represent.
        """
        expressions = list(expressions)
        # Short sums first, so that a long one finds the parts that it contains; then in order of appearance.
        for addition in sorted(self._additions(expressions), key=lambda a: len(a.args)):
            self._node(addition)
        return [self._node(e) for e in expressions]

    @staticmethod
    def _additions(expressions: list[sp.Basic]) -> list[sp.Basic]:
        seen: set[sp.Basic] = set()
        found: list[sp.Basic] = []
        stack = expressions[::-1]
        while stack:
            part = stack.pop()
            if part not in seen:
                seen.add(part)
                stack.extend(reversed(part.args))
                if isinstance(part, sp.Add):
                    found.append(part)
        return found

    def _node(self, expression: sp.Basic) -> Node:
        known = self._memo.get(expression)
        if known is not None:
            return known
        stack = [expression]
        while stack:  # depth first without recursion: the sums of a long chain are deeply nested
            current = stack[-1]
            if current in self._memo:
                stack.pop()
                continue
            missing = [a for a in self._parts(current) if a not in self._memo]
            if missing:
                stack.extend(reversed(missing))
                continue
            self._memo[current] = self._make(current)
            stack.pop()
        return self._memo[expression]

    def _parts(self, e: sp.Basic) -> list[sp.Basic]:
        if isinstance(e, sp.Piecewise):
            return [part for pair in e.args for part in pair.args]
        if isinstance(e, sp.Pow) and isinstance(e.exp, sp.Number):
            return [e.base]
        if isinstance(e, TableCall):
            return list(e.args[1:])
        meant = self._behind.get(e) or self._meaning(e)
        if meant is not None:
            return [meant]
        if is_function_of_time(e) or isinstance(
            e, (ExprWithLimits, sp.Derivative)
        ):  # an integral or a sum: its own variable is not a symbol of the system
            return []
        return list(e.args)

    def _meaning(self, e: sp.Basic) -> sp.Basic | None:
        """What a function means in others: by the table, or by its own `doit`, as the curves of SymPy's muscles."""
        if type(e) in _MEANT:
            return _MEANT[type(e)](*map(self._opaque, e.args))
        if isinstance(e, sp.logic.boolalg.BooleanFunction) and not isinstance(e, (sp.And, sp.Or, sp.Not)):
            return e.to_nnf(simplify=False)  # ITE, Xor, Implies, Equivalent
        if not isinstance(e, sp.Function) or type(e) in self._functions:
            return None
        meant = e.doit(deep=False)
        return None if meant == e else meant

    def _opaque(self, e: sp.Basic) -> sp.Basic:
        """A symbol in place of an argument with a Piecewise: SymPy rewrites conditions on one, and cannot with Xor."""
        if not e.has(sp.Piecewise):
            return e
        stand_in = self._stand_ins.setdefault(e, sp.Dummy(real=True))
        self._behind[stand_in] = e
        return stand_in

    def _make(self, e: sp.Basic) -> Node:
        g = self.graph
        args = [self._memo[a] for a in self._parts(e)]
        if isinstance(e, sp.Number):
            return self._number(e)
        if isinstance(e, sp.NumberSymbol):
            return self._named(e)
        if isinstance(e, sp.Add):
            return self._sum(self._ordered(e.args, args))
        if isinstance(e, sp.Mul):
            return self._product(e)
        if isinstance(e, sp.Pow):
            exponent = self._number(e.exp) if isinstance(e.exp, sp.Number) else args[1]
            return g.pow(args[0], exponent)
        if e in self._behind or self._meaning(e) is not None:
            return args[0]
        if isinstance(e, TableCall):
            return g.call(e.args[0].function.name, *args)
        name = self._functions.get(type(e))
        if name is not None:  # Min and Max may have more than two arguments
            return g.call(name, *args) if len(args) < 3 else reduce(partial(g.call, name), args)
        if isinstance(e, sp.Piecewise):
            return self._piecewise(e)
        if type(e) in _RELATIONS:
            op, swapped = _RELATIONS[type(e)]
            return g.relation(op, *(reversed(args) if swapped else args))
        if e in (sp.true, sp.false):
            return g.boolean(bool(e))
        if isinstance(e, (sp.And, sp.Or)):
            return reduce(partial(g.connective, "and" if isinstance(e, sp.And) else "or"), args)
        if isinstance(e, sp.Not):
            return g.negation(args[0])
        if isinstance(e, sp.Symbol):
            raise UnsupportedExpression(f"unknown symbol {e.name!r}")
        if is_function_of_time(e):
            raise UnsupportedExpression(function_of_time(e))
        if isinstance(e, sp.Derivative):
            raise UnsupportedExpression(f"{e} is a derivative of the symbol {e.expr}: write rate({e.expr})")
        raise UnsupportedExpression(
            f"{type(e).__name__} in {str(e)[:60]!r} is not supported; supported: + - * / powers, {_known_names()}, "
            "Piecewise with relations"
        )

    def _number(self, e: sp.Basic) -> Node:
        if isinstance(e, sp.Rational):
            return self.graph.const(Fraction(int(e.p), int(e.q)))
        if isinstance(e, sp.Float) and e.is_finite:
            value = float(e)
            if math.isinf(value):
                raise RangeError(f"the constant {sp.N(e, 3)} is beyond double precision")
            return self.graph.const(value)
        raise UnsupportedExpression(f"{e} is not a finite real number")

    def _named(self, e: sp.Basic) -> Node:
        name = next((name for name, row in NAMED.items() if row.symbolic is e), None)
        return self.graph.const(float(e.evalf(20))) if name is None else self.graph.named(name)

    def _product(self, e: sp.Mul) -> Node:
        g = self.graph
        top, bottom = g.one, g.one
        for factor in e.args:
            if isinstance(factor, sp.Pow) and isinstance(factor.exp, sp.Number) and factor.exp.is_negative:
                bottom = g.mul(bottom, g.pow(self._memo[factor.base], self._number(-factor.exp)))
            else:
                top = g.mul(top, self._memo[factor])
        return g.div(top, bottom)

    def _piecewise(self, e: sp.Piecewise) -> Node:
        if e.args[-1].args[1] != sp.true:
            raise UnsupportedExpression(
                "a Piecewise does not cover all other cases, as interpolating_spline returns it for its knots alone: "
                f"end it with (expression, True); it is {str(e)[:60]}"
            )
        result = self._memo[e.args[-1].args[0]]
        for pair in reversed(e.args[:-1]):
            result = self.graph.select(self._memo[pair.args[1]], self._memo[pair.args[0]], result)
        return result

    def _ordered(self, terms: Sequence[sp.Basic], nodes: list[Node]) -> list[Node]:
        """The nodes of a sum's terms, in an order that rounded coefficients do not decide.

        SymPy sorts by them, so that equal bodies with different numbers would have different sums.
        """
        if not any(t.is_Float or (t.is_Mul and t.args[0].is_Float) for t in terms):
            return nodes
        return sorted(nodes, key=lambda n: self.graph.split(n)[1])

    def _sum(self, terms: list[Node]) -> Node:
        """The sum of the terms, built on the largest known sums that it contains."""
        g = self.graph
        rest = frozenset(terms)
        if len(rest) != len(terms):
            return g.sum(terms)
        parts: list[Node] = []
        while len(rest) > 1:
            contained = [s for t in rest for s in self._sums.get(t, ()) if s[0] <= rest]
            if not contained:
                break
            largest = max(contained, key=lambda s: (len(s[0]), -s[1]))
            parts.append(largest[1])
            rest -= largest[0]
        total = g.sum([*parts, *(t for t in terms if t in rest)])
        # Indexed by one term only: any sum that contains the whole sum contains this term.
        self._sums.setdefault(min(terms), []).append((frozenset(terms), total))
        return total
