"""Text of graph nodes in C, for one trajectory and for lanes, and in Python.

A `Dialect` spells a node from its parts, for the walk of `codegen/plan/language.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..graph.functions import FUNCTIONS, Function as ElementaryFunction
from ..graph.graph import Graph, Node
from ..graph.tables import in_c
from ..plan.fma import FUSED
from ..plan.language import expression

_SUM, _PRODUCT, _ATOM = range(3)


class Text(str):
    """The text of a value, with its precedence; one without any name is `plain`, a number of type double."""

    def __new__(cls, text: str, level: int = _ATOM, plain: bool = False) -> Text:
        made = super().__new__(cls, text)
        made.level, made.plain = level, plain
        return made

    level: int
    plain: bool

    def within(self, level: int) -> str:
        """The text as an operand of an operation that binds as tightly as `level`."""
        return self if self.level >= level else f"({self})"


def _call_in_python(function: ElementaryFunction, arguments: Sequence[str]) -> str:
    """A call in Python, which uses the same names as in C."""
    return f"{function.c}({', '.join(arguments)})"


def _call_for_lanes(function: ElementaryFunction, arguments: Sequence[str]) -> str:
    """A call of a function from `cg_real.h` or `cg_math.h`; one of the C library is called for each lane."""
    name = function.lanes or function.c
    if name.startswith("cg_"):
        return in_c(function, arguments, name)
    return f"cg_each_{len(arguments)}({name}, {', '.join(arguments)})"


def _call_in_kernel(function: ElementaryFunction, arguments: Sequence[str]) -> str:
    """A call in a kernel over lanes, which asks for the ranges of all angles together."""
    if function.name in ("sin", "cos"):
        return f"{function.c}_of(cg_widest, {arguments[0]})"
    return _call_for_lanes(function, arguments)


@dataclass(frozen=True, eq=False)
class Dialect:
    """A language of texts; the defaults are those of C.

    `select` is filled with condition, value, opposite condition and other value. All `relations`, "ne" included, are
    false for NaN; `both` and `either` join them.

    `splat` broadcasts a plain number to all lanes. `singular` is the statement that reports a singularity under a
    condition (several are joined by `either`); `factored` does the same around a factorization. Arrays in `shared`
    have plain numbers, the same for all lanes.
    """

    select: str
    call: Callable[[ElementaryFunction, Sequence[str]], str] = in_c
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

    def full(self, text: Text) -> Text:
        """A value as a number of the dialect's own type: only arithmetic with two operands accepts both."""
        return Text(self.splat.format(text)) if text.plain else text

    def number(self, value: float) -> Text:
        """A double in the shortest form that determines it (up to 17 digits), always with a point or an exponent."""
        return Text(repr(value), plain=True)

    def name(self, name: str) -> Text:
        return Text(name, plain="[" in name and name[3] in self.shared)

    def operation(self, op: str, parts: Sequence[Text]) -> Text:
        plain = all(part.plain for part in parts)
        if op == "neg":
            (part,) = parts
            return Text(f"-({part})" if part[0] == "-" else f"-{part.within(_PRODUCT)}", _PRODUCT, plain)
        if op in ("add", "sub"):
            sign, last = "+" if op == "add" else "-", parts[1].within(_PRODUCT)
            if op == "add" and last[0] == "-" and parts[1].level == _ATOM:
                sign, last = "-", last[1:]
            return Text(f"{parts[0]} {sign} {last}", _SUM, plain)
        if op in ("mul", "div"):
            spelled = self.quotient if op == "div" else "{0}*{1}"
            return Text(spelled.format(parts[0].within(_PRODUCT), parts[1].within(_ATOM)), _PRODUCT, plain)
        texts = list(map(self.full, parts))
        if op in FUSED:
            return Text(self.fused[op].format(*texts))
        function = FUNCTIONS[op]
        in_any_order = function.switch is not None and function.switch.compares
        return Text(self.call(function, sorted(texts) if in_any_order else texts))

    def relation(self, op: str, a: Text, b: Text) -> Text:
        sides = [self.full(a), self.full(b)]
        return Text(self.relations[op].format(*(sorted(sides) if op == "ne" else sides)))  # a < b or b < a

    def joined(self, op: str, parts: Sequence[Text]) -> Text:
        joint = self.both if op == "and" else self.either
        return Text(f"({joint.join(sorted(parts))})")  # whatever SymPy's order is

    def choice(self, truth: Text, value: Text, opposite: Text, other: Text) -> Text:
        return Text(self.select.format(truth, self.full(value), opposite, self.full(other)))


C = Dialect("({0} ? {1} : {2} ? {3} : NAN)")
PYTHON = Dialect(
    "({1} if {0} else {3} if {2} else cg_nan)",
    _call_in_python,
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


def value_text(g: Graph, node: Node, names: Mapping[Node, str], top: bool, dialect: Dialect) -> str:
    """The text of a node as a number of the dialect's own type."""
    return dialect.full(expression(g, node, names, top, dialect))


def singular_text(
    g: Graph, pairs: Iterable[tuple[Node, Node]], names: Mapping[Node, str], dialect: Dialect
) -> str:
    """The statement that reports a singularity where |pivot| <= limit for one of the pairs (pivot, limit)."""
    small = []
    for pair in pairs:
        pivot, limit = (value_text(g, n, names, False, dialect) for n in pair)
        small.append(dialect.relations["le"].format(dialect.call(FUNCTIONS["abs"], [pivot]), limit))
    return dialect.singular.format(dialect.either.join(small))
