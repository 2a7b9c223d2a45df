"""Values of graph nodes at a point: with floats (quick checks) or with mpmath (60 digits and more).

Exponentials can be shrunk, exp(u) -> exp(c u) with the same number c for all of them. An equation between rational
expressions in exponentials is an identity if and only if the shrunk one is (exponentials of independent functions are
independent), but exp(-10^8) becomes large enough not to be lost next to other terms.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from mpmath import mp, mpc, mpf

from .functions import FUNCTIONS, NAMED, real
from .graph import RELATIONS, Graph, Node

Function = Callable[..., Any]


def _both(a: Any, b: Any) -> Any:
    """Kleene's "and" of the truth values True, False and NaN; see `Graph.connective`."""
    if a is False or b is False:
        return False
    return True if a is b is True else math.nan


def _either(a: Any, b: Any) -> Any:
    if a is True or b is True:
        return True
    return False if a is b is False else math.nan


def _relation(compare: Function) -> Function:
    return lambda a, b: math.nan if a != a or b != b else bool(compare(a, b))


def _select(condition: Any, a: Any, b: Any) -> Any:
    return a if condition is True else b if condition is False else math.nan


_SHARED: dict[str, Function] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    **{name: _relation(getattr(operator, name)) for name in RELATIONS},
    "and": _both,
    "or": _either,
    "select": _select,
}

_ARRAYS: dict[str, Function] = {
    **{name: getattr(operator, name) for name in RELATIONS},
    "and": np.logical_and,
    "or": np.logical_or,
}

_MODERATE = 20
"""Exponentials of arguments up to this size are not shrunk."""


def _functions(precise: bool) -> dict[str, Function]:
    if precise:
        order = {name: real(_SHARED[name]) for name in ("lt", "le")}
        return {**_SHARED, **order, **{name: f.precise for name, f in FUNCTIONS.items()}}
    return {**_SHARED, **{name: f.value for name, f in FUNCTIONS.items()}}


def _is_exponential(op: str) -> bool:
    return op in FUNCTIONS and FUNCTIONS[op].by_exp is not None


def _leaf(g: Graph, node: Node, values: Mapping[str, Any], precise: bool) -> Any:
    payload = g.value[node]
    kind = g.op[node]
    if isinstance(payload, Fraction):
        return (mpf(payload.numerator) if precise else payload.numerator) / payload.denominator
    if kind == "named":
        constant = NAMED[str(payload)]
        return +constant.precise if precise else constant.value
    if kind == "bool":
        return payload == "true"
    return values[str(payload)]


def evaluate(
    g: Graph,
    roots: Sequence[Node],
    values: Mapping[str, Any],
    precise: bool = False,
    shrink: float | None = None,
) -> list[Any]:
    """The values of the roots, with the variables given by name.

    With `precise` the arithmetic is mpmath's at its current working precision, otherwise that of Python floats. A
    function outside its domain, or one that overflows, has the value NaN, which does not matter in a branch that is
    not taken. `shrink`, if given, is the factor for the arguments of exponentials (see the module docstring); mpmath's
    values are then those of analytic functions, so roots and logarithms can be complex.

    Raises ArithmeticError or ValueError if the value of a root is NaN.
    """
    found = _values(g, roots, values, precise, shrink)
    return [found[r] for r in roots]


def evaluate_many(
    g: Graph, roots: Sequence[Node], values: Mapping[str, Any], sizes: Any = None, shrink: Any = 1.0
) -> Any:
    """The values (R, N) of the roots at N points, with variables given as arrays (N,) or numbers; NaN where undefined.

    With `sizes`, which may be empty, also their scales: see `evaluate_with_scale`.
    """
    found: dict[Node, Any] = {}
    shape = np.broadcast_shapes(*(np.shape(v) for v in values.values()))
    with np.errstate(all="ignore"):
        for node in g.order(roots):
            op, args = g.op[node], [found[a] for a in g.args[node]]
            if not args:
                found[node] = np.asarray(_leaf(g, node, values, False))
            elif op in FUNCTIONS:
                function = FUNCTIONS[op]
                if function.by_exp is not None:
                    args = [shrink * args[0]]
                found[node] = _each(function.value, args) if function.array is None else function.array(*args)
            elif op == "select":
                found[node] = np.where(*args)
            else:
                found[node] = _ARRAYS.get(op, _SHARED[op])(*args)
        both = [found] if sizes is None else [found, _scales(g, found, sizes)]
    rows = ([np.broadcast_to(np.asarray(of[r], float), shape) for r in roots] for of in both)
    made = [np.array(each).reshape(len(roots), *shape) for each in rows]
    return made[0] if sizes is None else made


def _each(function: Callable[..., float], args: Sequence[Any]) -> Any:
    """The values of a function of numbers for arrays; NumPy's `vectorize` takes at most 63 of these."""
    columns = np.broadcast_arrays(*args)
    found = [function(*each) for each in zip(*(c.flat for c in columns), strict=True)]
    return np.reshape(np.array(found, float), columns[0].shape)


def exponentials(g: Graph, roots: Sequence[Node]) -> list[Node]:
    """The exponentials in the roots, which might have to be shrunk."""
    return [n for n in g.order(roots) if _is_exponential(g.op[n])]


def shrinking(g: Graph, roots: Sequence[Node], values: Mapping[str, Any]) -> float:
    """The factor that makes every exponential in the roots representable at a point; 1 if no shrinking is needed.

    Raises ArithmeticError or ValueError as `evaluate` does.
    """
    inside = exponentials(g, roots)
    with suppress(ArithmeticError, ValueError, TypeError):  # floats show that none has to be shrunk
        found = _values(g, inside, values, False)
        if all(abs(found[a]) <= _MODERATE for n in inside for a in g.args[n]):
            return 1.0
    factor, largest = 1.0, 0.0

    def held(u: Any) -> Any:
        """exp(factor u), clipped to a range that can be handled; records the size of its argument."""
        nonlocal largest
        u = factor * u
        size = float(abs(u))
        largest = max(largest, size)
        return mp.exp(u if size <= 50 else 50 * u / abs(u))

    bounded = {name: partial(f.by_exp, held) for name, f in FUNCTIONS.items() if f.by_exp is not None}
    functions = _functions(True) | bounded
    for _ in range(8):
        largest = 0.0
        _computed(g, inside, values, True, functions, True)
        if largest <= _MODERATE:
            return factor
        factor *= 8.37 / largest  # not a round number: log(exp(u) x) - u - log(x) must not vanish by chance
    raise ArithmeticError("exponentials of exponentials")


def digits_to_see(g: Graph, roots: Sequence[Node], values: Mapping[str, Any], shrink: float) -> float:
    """The number of digits between the largest and the smallest term of the roots at a point.

    With that many extra digits no term is lost next to another. Call it at a working precision of at least 60 digits.
    A value below 10^-30 of its scale is zero. Where floats hold all values, one that they do not tell from zero counts
    as one of that size.
    """
    try:
        found = _values(g, roots, {name: float(v) for name, v in values.items()}, False, shrink)
        if not all(1e-60 < abs(v) < 1e60 if v else g.op[n] not in FUNCTIONS for n, v in found.items()):
            raise OverflowError
        scale = _scales(g, found, None)
        sizes = [abs(v) if abs(v) > 1e-10 * scale[n] else 1e-30 * scale[n] for n, v in found.items()]
    except (ArithmeticError, ValueError, TypeError):
        scale = _rough_scales(g, found := _values(g, roots, values, True, shrink), None)
        sizes = [abs(v) for n, v in found.items() if not isinstance(v, bool) and abs(v) > 1e-30 * scale[n]]
    if not any(sizes):
        return 0.0
    largest = max([*sizes, *(scale[r] for r in roots)])
    return float(mp.log10(largest) - mp.log10(min(filter(None, sizes))))


def evaluate_with_scale(
    g: Graph,
    roots: Sequence[Node],
    values: Mapping[str, Any],
    precise: bool = False,
    sizes: Mapping[str, Any] | None = None,
    shrink: float | None = None,
) -> list[tuple[Any, Any]]:
    """The value of each root and its scale, the size of the terms that contribute to it.

    A sum that cancels has a small value and a large scale: it could be zero if |value| <= eps * scale.
    `sizes` are the scales of variables that were themselves computed.
    """
    found = _values(g, roots, values, precise, shrink)
    scale = (_rough_scales if precise else _scales)(g, found, sizes)
    return [(found[r], scale[r]) for r in roots]


def _rough_scales(g: Graph, found: Mapping[Node, Any], sizes: Mapping[str, Any] | None) -> dict[Node, Any]:
    """The scales of values of mpmath, in floats where these hold all values: that is quicker."""
    with suppress(ArithmeticError, ValueError):
        floats = {
            n: v if isinstance(v, bool) else complex(v) if isinstance(v, mpc) else float(v)
            for n, v in found.items()
        }
        if all(v != v or 1e-60 < abs(v) < 1e60 for n, v in floats.items() if found[n]):
            return _scales(g, floats, sizes)
    return _scales(g, found, sizes)


def _scales(g: Graph, found: Mapping[Node, Any], sizes: Mapping[str, Any] | None) -> dict[Node, Any]:
    """The scale of each value: the size of the terms that contribute to it."""
    scale: dict[Node, Any] = {}
    for node in sorted(found):
        args = g.args[node]
        v, a = found[node], [found[x] for x in args]
        s = [scale[x] for x in args]
        op = g.op[node]
        many = isinstance(v, np.ndarray)
        if not many and (v != v or (isinstance(v, (mpf, mpc)) and mp.isinf(v))):
            scale[node] = math.nan
        elif op == "symbol":
            scale[node] = (np.maximum if many else max)(abs(v), (sizes or {}).get(str(g.value[node]), 0))
        elif op in ("add", "sub"):
            scale[node] = s[0] + s[1]
        elif op == "mul":
            scale[node] = abs(a[0]) * s[1] + abs(a[1]) * s[0]
        elif op == "div":
            scale[node] = (s[0] + abs(v) * s[1]) / abs(a[1])
        elif op == "select":
            scale[node] = np.where(a[0], s[1], s[2]) if many else s[1] if a[0] else s[2]
        elif len(s) == 1:
            scale[node] = abs(v) + (FUNCTIONS[op].slope(v, a[0]) if op in FUNCTIONS else 1) * s[0]
        else:
            scale[node] = 0 if isinstance(v, bool) else abs(v)
    return scale


def _values(
    g: Graph, roots: Sequence[Node], values: Mapping[str, Any], precise: bool, shrink: float | None = None
) -> dict[Node, Any]:
    functions = _functions(precise)
    if shrink is not None and shrink != 1.0:
        functions |= {n: lambda u, f=f: f(shrink * u) for n, f in functions.items() if _is_exponential(n)}
    return _computed(g, roots, values, precise, functions, shrink is not None)


def _computed(
    g: Graph,
    roots: Sequence[Node],
    values: Mapping[str, Any],
    precise: bool,
    functions: Mapping[str, Function],
    analytic: bool,
) -> dict[Node, Any]:
    nan = mpf("nan") if precise else math.nan
    result: dict[Node, Any] = {}
    reason: Exception = ArithmeticError("a value is not a number")
    for node in g.order(roots):
        args = g.args[node]
        if not args:
            result[node] = _leaf(g, node, values, precise)
            continue
        try:
            value = functions[g.op[node]](*[result[a] for a in args])
        except (ArithmeticError, ValueError) as error:
            value, reason = nan, error
        result[node] = value if analytic or not isinstance(value, (complex, mpc)) else nan
    # Where a variable is an array, checking for NaN is left to the caller.
    if any((result[root] != result[root]) is True for root in roots):
        raise reason
    return result


def numeric_matrix(g: Graph, matrix: Sequence[Sequence[Node]], point: Mapping[str, Any]) -> list[list[float]]:
    """The values of a matrix of nodes as floats."""
    return folded(evaluate(g, [n for row in matrix for n in row], point), len(matrix))


def folded(entries: Sequence[Any], rows: int) -> list[list[Any]]:
    """A flat list as a matrix with this number of rows."""
    columns = len(entries) // max(rows, 1)
    return [list(entries[i * columns : (i + 1) * columns]) for i in range(rows)]


Point = dict[str, float]
