"""The elementary functions and the named constants of the graph: one row each.

Everything that depends on the function is in its row: SymPy's class, values with floats, arrays and mpmath, exact
values, derivatives, and the names in C. Conversion, differentiation, evaluation and every printer read this table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import sympy as sp
from mpmath import mp, mpc

from .node import Arithmetic, Node

Call = Callable[..., Any]


def _nowhere(*_: Fraction) -> None:
    return None


def _one(*_: Any) -> int:
    return 1


class IntegerPart(sp.Function):  # type: ignore[misc]
    """The largest integer that is not larger, for arguments that are not integers.

    `sympy.floor` is made of it in such a way that its jumps are found, see `from_sympy`.
    """

    @classmethod
    def eval(cls, a: Any) -> Any:
        return sp.floor(a) if a.is_number else None

    def fdiff(self, argindex: int = 1) -> Any:
        return sp.Integer(0)

    def _latex(self, printer: Any) -> str:
        return rf"\lfloor {printer.doprint(self.args[0])} \rfloor"


@dataclass(frozen=True)
class Switch:
    """What a function does on both sides of a sign change: of its argument or, with `compares`, of b - a.

    A function that `compares` has two arguments, in any order, and f(a, a) = a.
    """

    chosen: Callable[..., Node]
    """(g, sign, *arguments): the value where the argument, or b - a, has this sign."""
    derivative: Callable[[Arithmetic, int, Node, Sequence[Node]], Node]
    """(g, i, w, arguments): w times the derivative by argument i; it selects, since a mask times infinity is NaN."""
    compares: bool = False


@dataclass(frozen=True)
class Function:
    """An elementary function f(a) or f(a, b) of real numbers."""

    name: str
    symbolic: Call
    """SymPy's class."""
    value: Call
    """The value with floats; outside the domain and on overflow it may raise the errors of `math`."""
    array: Call | None
    """NumPy's function, which has the special values of C99; None: `value` is called for each element."""
    precise: Call
    """The value with mpmath, at its current precision."""
    derivatives: tuple[Callable[..., Node], ...] = ()
    """The derivative by each argument, from (g, the node f(a, ...) itself, a, ...); empty if `switch` has it."""
    exact: Callable[..., Fraction | int | None] = _nowhere
    """The rational value at rational arguments; None where it is not known."""
    c: str = ""
    """Its name in C: a function of `cg_math.h`, which is the default (`cg_<name>`), or one of C99."""
    lanes: str = ""
    """Its name for lanes, if not that in C; a function of C99 without one is called for each lane."""
    is_arithmetic: bool = False
    """An operation of IEEE 754, which needs no `cg_math.h`."""
    latency: int = 40
    """In cycles on current processors: only the order of magnitude matters."""
    weight: int = 12
    """The cost in additions."""
    sign: Literal["any", "argument", "positive", "not negative"] = "any"
    """What is known of the sign of every value; "argument": it is that of the argument."""
    inverse: Callable[[Arithmetic, Fraction], Node] | None = None
    """For an increasing function without negative values: where it has a given positive value."""
    by_exp: Call | None = None
    """The value from (exp, a), for exponentials: `evaluate` shrinks their arguments."""
    slope: Call = _one
    """About |f'|, from (f(a), a), for estimates of rounding errors."""
    switch: Switch | None = None
    series: tuple[Callable[..., Node], ...] = ()
    """`derivatives` for power series, where those lead to ever new functions; see `codegen/plan/power_series.py`."""
    table: Any = None
    """The table of which it is a derivative, of these orders; see `tables.py`."""
    orders: tuple[int, ...] = ()
    linear_from: int = 1_000_000
    """Its arguments from this one on are in every term once, as the values of a table that are given at run time."""

    def __post_init__(self) -> None:
        if not self.c:
            object.__setattr__(self, "c", f"cg_{self.name}")

    @property
    def careful(self) -> Call:
        """The value with floats, with infinities and NaN as in C99 instead of errors."""
        return self.value if self.array is None or self.switch is not None else careful(self.array)


def careful(function: Call) -> Call:
    """A function of NumPy for floats, with infinities and NaN as in C99 instead of warnings."""

    def quiet(*arguments: float) -> float:
        with np.errstate(all="ignore"):
            return float(function(*arguments))

    return quiet


def real(function: Call) -> Call:
    """A function of real numbers only: complex arguments, which are outside its domain, become NaN."""
    return lambda *args: function(*(mp.nan if isinstance(a, mpc) else a for a in args))


def _unsigned(function: Call) -> Call:
    """A function for which -0, which an exact zero may be as a product, is 0, as the real numbers of SymPy."""
    return lambda *args: function(*(a + 0.0 for a in args))


def _signum(a: Any) -> Any:
    """-1, 0 or 1; NaN for NaN."""
    return a if a != a else type(a)((a > 0) - (a < 0))


def _smaller(a: Any, b: Any) -> Any:
    """The smaller of two numbers, NaN if either is NaN; -0 is below +0."""
    if a == b:
        return a if math.copysign(1.0, a) < 0 else b
    return a if a < b or a != a else b


def _larger(a: Any, b: Any) -> Any:
    """The larger of two numbers, NaN if either is NaN; +0 is above -0."""
    if a == b:
        return b if math.copysign(1.0, a) < 0 else a
    return a if b < a or a != a else b


def _arc_slope(g: Arithmetic, a: Node) -> Node:
    return g.div(g.one, g.call("sqrt", g.sub(g.one, g.mul(a, a))))


def _angle_slope(g: Arithmetic, y: Node, x: Node, i: int) -> Node:
    square = g.add(g.mul(x, x), g.mul(y, y))
    return g.div(x if i == 0 else g.neg(y), square)


def _slope_of_abs(g: Arithmetic, _i: int, weight: Node, args: Sequence[Node]) -> Node:
    """0 at 0, as is sign(0)."""
    positive = g.select(g.relation("lt", g.zero, args[0]), weight, g.zero)
    return g.select(g.relation("lt", args[0], g.zero), g.neg(weight), positive)


def _extremum(sign: int) -> Switch:
    """The switch of min (1) and max (-1); of equal arguments the first is taken."""

    def derivative(g: Arithmetic, i: int, weight: Node, args: Sequence[Node]) -> Node:
        first = g.relation("le", *args[::sign])
        return g.select(first, *((weight, g.zero) if i == 0 else (g.zero, weight)))

    return Switch(lambda g, s, a, b: a if (s > 0) == (sign > 0) else b, derivative, compares=True)


# fmt: off
def _slope_by_exponent(g: Arithmetic, n: Node, a: Node, b: Node) -> Node:
    """Of n = a^b; where that is 0 it stays 0, and the logarithm is not finite."""
    return g.select(g.relation("eq", n, g.zero), g.zero, g.mul(n, g.call("log", a)))


ELEMENTARY = (
    Function("sqrt", sp.sqrt, math.sqrt, np.sqrt, mp.sqrt, (lambda g, n, a: g.div(g.one, g.mul(g.two, n)),),
             {0: 0, 1: 1}.get, c="sqrt", lanes="cg_sqrt", is_arithmetic=True, latency=19, weight=4,
             sign="not negative", inverse=lambda g, level: g.const(level * level),
             slope=lambda v, a: 1 / (2 * abs(v) + (v == 0))),
    Function("exp", sp.exp, math.exp, np.exp, mp.exp, (lambda g, n, a: n,), {0: 1}.get,
             sign="positive", inverse=lambda g, level: g.call("log", g.const(level)),
             by_exp=lambda exp, a: exp(a), slope=lambda v, a: abs(v)),
    Function("log", sp.log, math.log, np.log, mp.log, (lambda g, n, a: g.div(g.one, a),), {1: 0}.get,
             slope=lambda v, a: 1 / abs(a)),
    Function("sin", sp.sin, math.sin, np.sin, mp.sin, (lambda g, n, a: g.call("cos", a),), {0: 0}.get),
    Function("cos", sp.cos, math.cos, np.cos, mp.cos, (lambda g, n, a: g.neg(g.call("sin", a)),), {0: 1}.get),
    Function("tan", sp.tan, math.tan, np.tan, mp.tan, (lambda g, n, a: g.add(g.one, g.mul(n, n)),), {0: 0}.get,
             slope=lambda v, a: 1 + abs(v) * abs(v)),
    Function("asin", sp.asin, math.asin, np.arcsin, mp.asin, (lambda g, n, a: _arc_slope(g, a),), {0: 0}.get,
             sign="argument"),
    Function("acos", sp.acos, math.acos, np.arccos, mp.acos, (lambda g, n, a: g.neg(_arc_slope(g, a)),)),
    Function("atan", sp.atan, math.atan, np.arctan, mp.atan,
             (lambda g, n, a: g.div(g.one, g.add(g.one, g.mul(a, a))),), {0: 0}.get, sign="argument"),
    Function("atan2", sp.atan2, _unsigned(math.atan2), _unsigned(np.arctan2), real(mp.atan2),
             (lambda g, n, y, x: _angle_slope(g, y, x, 0), lambda g, n, y, x: _angle_slope(g, y, x, 1))),
    Function("sinh", sp.sinh, math.sinh, np.sinh, mp.sinh, (lambda g, n, a: g.call("cosh", a),), {0: 0}.get,
             sign="argument", by_exp=lambda exp, a: (exp(a) - exp(-a)) / 2,
             slope=lambda v, a: 1 + abs(v) * abs(v)),
    Function("cosh", sp.cosh, math.cosh, np.cosh, mp.cosh, (lambda g, n, a: g.call("sinh", a),), {0: 1}.get,
             sign="positive", by_exp=lambda exp, a: (exp(a) + exp(-a)) / 2,
             slope=lambda v, a: 1 + abs(v) * abs(v)),
    Function("tanh", sp.tanh, math.tanh, np.tanh, mp.tanh, (lambda g, n, a: g.sub(g.one, g.mul(n, n)),),
             {0: 0}.get, sign="argument", by_exp=lambda exp, a: 1 - 2 / (1 + exp(2 * a))),
    Function("abs", sp.Abs, abs, np.abs, abs, exact=abs, c="fabs", lanes="cg_abs", is_arithmetic=True,
             latency=1, weight=1, sign="not negative",
             switch=Switch(lambda g, sign, a: g.mul(g.const(sign), a), _slope_of_abs)),
    Function("sign", sp.sign, _signum, np.sign, real(_signum), exact=lambda a: (a > 0) - (a < 0),
             latency=2, weight=1, sign="argument", slope=lambda v, a: 0,
             switch=Switch(lambda g, sign, a: g.const(sign), lambda g, i, weight, args: g.zero)),
    Function("min", sp.Min, _smaller, np.minimum, real(_smaller), exact=min, latency=4, weight=1,
             switch=_extremum(1)),
    Function("max", sp.Max, _larger, np.maximum, real(_larger), exact=max, latency=4, weight=1,
             switch=_extremum(-1)),
    Function("floor", IntegerPart, lambda a: float(math.floor(a)), np.floor, mp.floor, (lambda g, n, a: g.zero,),
             math.floor, c="floor", latency=8, weight=2, slope=lambda v, a: 0),
    Function("erf", sp.erf, math.erf, None, mp.erf,
             (lambda g, n, a: g.div(g.mul(g.two, g.call("exp", g.neg(g.mul(a, a)))), g.call("sqrt", g.named("pi"))),),
             {0: 0}.get, c="erf", sign="argument"),
    Function("asinh", sp.asinh, math.asinh, np.arcsinh, mp.asinh,
             (lambda g, n, a: g.div(g.one, g.call("sqrt", g.add(g.one, g.mul(a, a)))),), {0: 0}.get, c="asinh",
             sign="argument"),
    Function("acosh", sp.acosh, math.acosh, np.arccosh, mp.acosh,
             (lambda g, n, a: g.div(g.one, g.call("sqrt", g.mul(g.sub(a, g.one), g.add(a, g.one)))),), {1: 0}.get,
             c="acosh", sign="not negative"),
    Function("atanh", sp.atanh, math.atanh, np.arctanh, mp.atanh,
             (lambda g, n, a: g.div(g.one, g.sub(g.one, g.mul(a, a))),), {0: 0}.get, c="atanh", sign="argument"),
    Function("pow", sp.Pow, math.pow, np.power, mp.power,
             (lambda g, n, a, b: g.mul(b, g.pow(a, g.sub(b, g.one))), _slope_by_exponent),
             series=(lambda g, n, a, b: g.div(g.mul(b, n), a), lambda g, n, a, b: g.mul(n, g.call("log", a)))),
)
# fmt: on
FUNCTIONS: dict[str, Function] = {row.name: row for row in ELEMENTARY}


@dataclass(frozen=True)
class NamedFunction:
    """An irrational constant."""

    symbolic: sp.Basic
    value: float
    precise: Any
    """mpmath's constant: +precise is its value at the current precision."""


NAMED = {"pi": NamedFunction(sp.pi, math.pi, mp.pi), "e": NamedFunction(sp.E, math.e, mp.e)}
