"""Text of graph nodes in C and in Python.

SymPy's printers spell the functions (once each); + - * / are written directly, byte for byte as the C printer writes
them (`print_sympy` gives it the same statements; tests compare the two).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from typing import Any

import sympy as sp
from sympy.printing.c import C99CodePrinter
from sympy.printing.precedence import PRECEDENCE
from sympy.printing.pycode import PythonCodePrinter

from ..graph.graph import CONDITIONS, RELATIONS, Graph, Node
from ..graph.to_sympy import BUILD

NAMED = {"pi": 3.141592653589793, "e": 2.718281828459045}


def constant_text(value: Any) -> str:
    """A double in the shortest form that determines it (up to 17 digits), always with a point or an exponent."""
    return repr(float(value))


OWN_FUNCTIONS = "sin cos tan asin acos atan atan2 sinh cosh tanh exp log".split()
"""Functions from `cg_math.h`: the last bits of the C library's depend on the CPU."""


class CPrinter(C99CodePrinter):
    """SymPy's C99 printer, with round-trip constants, terms in the given order and compact conditions."""

    def __init__(self) -> None:
        own = {name: f"cg_{name}" for name in OWN_FUNCTIONS}
        super().__init__({"order": "none", "precision": 17, "user_functions": own})

    def _print_Pow(self, expr: Any) -> str:
        if expr.exp == sp.Rational(1, 2):
            return f"sqrt({self._print(expr.base)})"
        return f"cg_pow({self._print(expr.base)}, {self._print(expr.exp)})"

    def _print_Min(self, expr: Any) -> str:
        return f"cg_min({', '.join(sorted(map(self._print, expr.args)))})"

    def _print_Max(self, expr: Any) -> str:
        return f"cg_max({', '.join(sorted(map(self._print, expr.args)))})"

    def _print_number(self, expr: Any) -> str:
        return constant_text(expr)

    _print_Float = _print_Rational = _print_Integer = _print_number
    _print_One = _print_Zero = _print_NegativeOne = _print_Half = _print_number

    def _print_Mul(self, expr: Any) -> str:
        # SymPy's own method combines constants, which changes the order of operations.
        sign, factors = ("-", expr.args[1:]) if expr.args[0] is sp.S.NegativeOne else ("", expr.args)
        below = [f for f in factors if f.is_Pow and f.exp is sp.S.NegativeOne]
        above = [f for f in factors if f not in below]
        text = "*".join(self.parenthesize(f, PRECEDENCE["Mul"]) for f in above) or constant_text(1)
        return sign + text + "".join(f"/{self.parenthesize(f.base, PRECEDENCE['Mul'])}" for f in below)

    def _print_Element(self, elem: Any) -> str:
        return f"{self._print(elem.symbol)}[{int(elem.indices[0])}]"

    def _print_sign(self, func: Any) -> str:
        return f"cg_sign({self._print(func.args[0])})"

    def _print_Piecewise(self, expr: Any) -> str:
        *choices, (last, _) = expr.args
        texts = [f"{self._print(condition)} ? {self._print(value)} : " for value, condition in choices]
        return f"({''.join(texts)}{self._print(last)})"

    def _print_And(self, expr: Any) -> str:
        return joined(C.both, map(self._print, expr.args))

    def _print_Or(self, expr: Any) -> str:
        return joined(C.either, map(self._print, expr.args))


class PythonPrinter(PythonCodePrinter):
    """SymPy's Python printer with bare function names, which are looked up in the kernel's namespace."""

    def __init__(self) -> None:
        super().__init__({"fully_qualified_modules": False})

    def _print_Pow(self, expr: Any, rational: bool = False, sqrt: str = "sqrt") -> str:
        if expr.exp == sp.Rational(1, 2):
            return f"sqrt({self._print(expr.base)})"
        return f"pow({self._print(expr.base)}, {self._print(expr.exp)})"

    def _print_sign(self, func: Any) -> str:
        return f"cg_sign({self._print(func.args[0])})"


class LanePrinter(CPrinter):
    """`CPrinter` for multi-lane numbers: everything but + - * / is a function from `cg_real.h` or `cg_math.h`."""

    def _print_Pow(self, expr: Any) -> str:
        if expr.exp == sp.Rational(1, 2):
            return f"cg_sqrt({self._print(expr.base)})"
        return super()._print_Pow(expr)

    def _print_Abs(self, expr: Any) -> str:
        return f"cg_abs({self._print(expr.args[0])})"


@dataclass(frozen=True, eq=False)
class Dialect:
    """How a language spells everything but arithmetic; the defaults are those of C.

    `select` is filled with condition, value, opposite condition and other value: if neither condition holds, a NaN was
    compared and the result is NaN. All `relations`, "ne" included, are false for NaN; `both` and `either` join them.

    `splat` broadcasts a plain number to all lanes. `singular` is the statement that reports a singularity under a
    condition (several are joined by `either`); `factored` does the same around a factorization.
    """

    printer: Callable[[], Any]
    select: str
    real: str = "double"
    relations: Mapping[str, str] = field(
        default_factory=lambda: {
            "lt": "{0} < {1}",
            "le": "{0} <= {1}",
            "eq": "{0} == {1}",
            "ne": "({0} < {1} || {1} < {0})",
        }
    )
    quotient: str = "{0}/{1}"
    splat: str = "{0}"
    both: str = " && "
    either: str = " || "
    singular: str = "if ({0}) return CG_SINGULAR;"
    factored: str = "if ({0} != CG_OK) return CG_SINGULAR;"


C = Dialect(CPrinter, "({0} ? {1} : {2} ? {3} : NAN)")
PYTHON = Dialect(
    PythonPrinter,
    "({1} if {0} else {3} if {2} else cg_nan)",
    relations={**C.relations, "ne": "({0} < {1} or {1} < {0})"},
    both=" and ",
    either=" or ",
)
CAREFUL_PYTHON = replace(PYTHON, quotient="cg_div({0}, {1})")
"""Division by zero is not an error: see `floats`."""
LANES = Dialect(
    LanePrinter,
    "cg_where({0}, {1}, cg_where({2}, {3}, cg_splat(NAN)))",
    real="cg_real_t",
    relations={
        "lt": "cg_lt({0}, {1})",
        "le": "cg_le({0}, {1})",
        "eq": "cg_eq({0}, {1})",
        "ne": "(cg_lt({0}, {1}) | cg_lt({1}, {0}))",
    },
    splat="cg_splat({0})",
    both=" & ",
    either=" | ",
    singular="cg_ok &= cg_not({0});",
    factored="cg_ok &= {0};",
)


@cache
def _spelling(dialect: Dialect, op: str) -> str:
    """The text of one function with {0}, {1} for its arguments."""
    places = [sp.Symbol(f"ARG{i}", real=True) for i in range(2 if op in ("pow", "atan2") else 1)]
    text = str(dialect.printer().doprint(BUILD[op](*places)))
    for i in range(len(places)):
        text = text.replace(f"ARG{i}", f"{{{i}}}")
    return text


def joined(connective: str, parts: Iterable[str]) -> str:
    """Conditions joined in sorted order, independent of SymPy's order."""
    return f"({connective.join(sorted(parts))})"


_OPPOSITE = {"lt": "le", "le": "lt", "eq": "ne", "ne": "eq"}


def condition(g: Graph, node: Node, names: Mapping[Node, str], dialect: Dialect, wanted: bool = True) -> str:
    """The text of a condition or, with `wanted` False, of its opposite.

    Neither holds where the condition compares a NaN.
    """
    op, args = g.op[node], g.args[node]
    if op in RELATIONS:
        parts = [value_text(g, a, names, False, dialect) for a in args]
        relation = op if wanted else _OPPOSITE[op]
        if relation == "ne":  # a < b or b < a, in the order of `joined`
            parts.sort()
        elif not wanted and op in ("lt", "le"):
            parts.reverse()
        return dialect.relations[relation].format(*parts)
    connective = dialect.both if (op == "and") == wanted else dialect.either
    return joined(connective, (condition(g, a, names, dialect, wanted) for a in args))


def expression(
    g: Graph, node: Node, names: Mapping[Node, str], top: bool = True, dialect: Dialect = C
) -> str:
    """The text of a node; nodes in `names` appear by name, except the node itself with `top`."""
    if not top and node in names:
        return names[node]
    op, args = g.op[node], g.args[node]
    if op == "const":
        value = g.value[node]
        assert isinstance(value, Fraction)
        return constant_text(value)
    if op == "named":
        return constant_text(NAMED[str(g.value[node])])
    if op == "symbol":
        return names[node]
    if op in CONDITIONS:
        return condition(g, node, names, dialect)
    if op == "select":
        yes, no = (value_text(g, a, names, False, dialect) for a in args[1:])
        return dialect.select.format(
            condition(g, args[0], names, dialect), yes, condition(g, args[0], names, dialect, False), no
        )
    parts = [expression(g, a, names, False, dialect) for a in args]
    if op == "add" and parts[1][0] == "-" and g.op[args[1]] == "const":
        return f"{parts[0]} - {parts[1][1:]}"
    if op == "add" or op == "sub":
        return f"{parts[0]} {'+' if op == 'add' else '-'} {parts[1]}"
    if op == "neg":
        return f"-{parts[0]}"
    if op in ("mul", "div"):
        if args[1] not in names and g.op[args[1]] in ("add", "sub", "mul", "div"):
            parts[1] = f"({parts[1]})"
        return f"{parts[0]}*{parts[1]}" if op == "mul" else dialect.quotient.format(*parts)
    # Only arithmetic accepts both plain and multi-lane numbers.
    parts = [dialect.splat.format(p) if is_plain(g, a, names) else p for a, p in zip(args, parts)]
    if op in ("min", "max"):
        return f"cg_{op}({', '.join(sorted(parts))})"
    return _spelling(dialect, op).format(*parts)


def is_plain(g: Graph, node: Node, names: Mapping[Node, str]) -> bool:
    """Whether a node's text is a plain number: it contains no name."""
    if node in names:
        return False
    return g.op[node] in ("const", "named") or (
        g.op[node] in ("add", "sub", "mul", "div", "neg") and all(is_plain(g, a, names) for a in g.args[node])
    )


def value_text(g: Graph, node: Node, names: Mapping[Node, str], top: bool, dialect: Dialect) -> str:
    """The text of a node as a number of the dialect's own type."""
    text = expression(g, node, names, top, dialect)
    plain = g.op[node] != "symbol" and is_plain(g, node, {} if top else names)
    return dialect.splat.format(text) if plain else text


def singular_text(
    g: Graph, pairs: Iterable[tuple[Node, Node]], names: Mapping[Node, str], dialect: Dialect
) -> str:
    """The statement that reports a singularity where |pivot| <= limit for one of the pairs (pivot, limit)."""
    size, below = _spelling(dialect, "abs"), dialect.relations["le"]
    texts = [[value_text(g, n, names, False, dialect) for n in pair] for pair in pairs]
    return dialect.singular.format(
        dialect.either.join(below.format(size.format(pivot), limit) for pivot, limit in texts)
    )
