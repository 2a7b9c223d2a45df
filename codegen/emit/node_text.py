"""Text of graph nodes in C, for one trajectory and for lanes, and in Python.

`sympy_ast` gives the same statements as SymPy's nodes; printed by SymPy's C printer they are the same text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..graph.functions import FUNCTIONS, NAMED, Function as ElementaryFunction
from ..graph.graph import CONDITIONS, RELATIONS, Graph, Node
from ..plan.fma import FUSED


def constant_text(value: Any) -> str:
    """A double in the shortest form that determines it (up to 17 digits), always with a point or an exponent."""
    return repr(float(value))


def _call(function: ElementaryFunction, arguments: Sequence[str]) -> str:
    """A call in C; the pure-Python backend uses the same names."""
    return f"{function.c}({', '.join(arguments)})"


def _call_for_lanes(function: ElementaryFunction, arguments: Sequence[str]) -> str:
    """A call of a function from `cg_real.h` or `cg_math.h`; one of the C library is called for each lane."""
    name = function.lanes or function.c
    if name.startswith("cg_"):
        return f"{name}({', '.join(arguments)})"
    return f"cg_each_{len(arguments)}({name}, {', '.join(arguments)})"


def _call_in_kernel(function: ElementaryFunction, arguments: Sequence[str]) -> str:
    """A call in a kernel over lanes, which asks for the ranges of all angles together."""
    if function.name in ("sin", "cos"):
        return f"{function.c}_of(cg_widest, {arguments[0]})"
    return _call_for_lanes(function, arguments)


@dataclass(frozen=True, eq=False)
class Dialect:
    """How a language spells everything but arithmetic; the defaults are those of C.

    `select` is filled with condition, value, opposite condition and other value: if neither condition holds, a NaN was
    compared and the result is NaN. All `relations`, "ne" included, are false for NaN; `both` and `either` join them.

    `splat` broadcasts a plain number to all lanes. `singular` is the statement that reports a singularity under a
    condition (several are joined by `either`); `factored` does the same around a factorization. Arrays in `shared`
    have plain numbers, the same for all lanes.
    """

    select: str
    call: Callable[[ElementaryFunction, Sequence[str]], str] = _call
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
    sine_cosine: str = "cg_sincos({0}, {1}, {2});"
    fused: Mapping[str, str] = field(
        default_factory=lambda: {op: f"cg_{op}({{0}}, {{1}}, {{2}})" for op in FUSED}
    )
    splat: str = "{0}"
    both: str = " && "
    either: str = " || "
    singular: str = "if ({0}) return CG_SINGULAR;"
    factored: str = "if ({0} != CG_OK) return CG_SINGULAR;"
    shared: frozenset[str] = frozenset()


C = Dialect("({0} ? {1} : {2} ? {3} : NAN)")
PYTHON = Dialect(
    "({1} if {0} else {3} if {2} else cg_nan)",
    relations={**C.relations, "ne": "({0} < {1} or {1} < {0})"},
    fused={
        "fma": "(({0})*({1}) + ({2}))",
        "fms": "(({0})*({1}) - ({2}))",
        "fnma": "(({2}) - ({0})*({1}))",
        "fnms": "(-(({0})*({1})) - ({2}))",
    },
    both=" and ",
    either=" or ",
)
LANES = Dialect(
    "cg_where({0}, {1}, cg_where({2}, {3}, cg_splat(NAN)))",
    _call_for_lanes,
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

LANE_KERNEL = replace(LANES, call=_call_in_kernel, sine_cosine="cg_sincos_of(cg_widest, {0}, {1}, {2});")
"""Kernels over lanes, which have a variable `cg_widest`; see cg_math_trig.h."""

_OPPOSITE = {"lt": "le", "le": "lt", "eq": "ne", "ne": "eq"}


def condition(g: Graph, node: Node, names: Mapping[Node, str], dialect: Dialect, wanted: bool = True) -> str:
    """The text of a condition or, with `wanted` False, of its opposite.

    Neither holds where the condition compares a NaN.
    """
    op, args = g.op[node], g.args[node]
    if op in RELATIONS:
        parts = [value_text(g, a, names, False, dialect) for a in args]
        relation = op if wanted else _OPPOSITE[op]
        if relation == "ne":  # a < b or b < a, sorted as below
            parts.sort()
        elif not wanted and op in ("lt", "le"):
            parts.reverse()
        return dialect.relations[relation].format(*parts)
    connective = dialect.both if (op == "and") == wanted else dialect.either
    parts = sorted(condition(g, a, names, dialect, wanted) for a in args)  # whatever SymPy's order is
    return f"({connective.join(parts)})"


def expression(
    g: Graph, node: Node, names: Mapping[Node, str], top: bool = True, dialect: Dialect = C
) -> str:
    """The text of a node; nodes in `names` appear by name, except the node itself with `top`."""
    if not top and node in names:
        return names[node]
    op, args = g.op[node], g.args[node]
    if op == "const":
        return constant_text(g.constant_value(node))
    if op == "named":
        return constant_text(NAMED[str(g.value[node])].value)
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
    # Only arithmetic with two operands accepts both plain and multi-lane numbers.
    parts = [dialect.splat.format(p) if is_plain(g, a, names) else p for a, p in zip(args, parts)]
    if op in FUSED:
        return dialect.fused[op].format(*parts)
    function = FUNCTIONS[op]
    in_any_order = function.switch is not None and function.switch.compares
    return dialect.call(function, sorted(parts) if in_any_order else parts)


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
    small = []
    for pair in pairs:
        pivot, limit = (value_text(g, n, names, False, dialect) for n in pair)
        small.append(dialect.relations["le"].format(dialect.call(FUNCTIONS["abs"], [pivot]), limit))
    return dialect.singular.format(dialect.either.join(small))
