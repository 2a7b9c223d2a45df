"""Functions of Python floats with the special values of C: infinities and NaN instead of exceptions.

`FAST` raises ValueError or OverflowError, as `math` does, outside the domain of a function or on overflow; `CAREFUL`
returns the values of C99 there, and also has the quotient, for which Python raises if the divisor is zero. Both
propagate NaN arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Function = Callable[..., Any]

SAME = "sqrt exp log sin cos tan sinh cosh tanh".split()
RENAMED = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "pow": "power"}


def sign(a: Any) -> Any:
    """-1, 0 or 1; NaN for NaN."""
    return a if a != a else type(a)((a > 0) - (a < 0))


def smaller(a: Any, b: Any) -> Any:
    """The smaller of two numbers, NaN if either is NaN; -0 is below +0."""
    if a == b:
        return a if math.copysign(1.0, a) < 0 else b
    return a if a < b or a != a else b


def larger(a: Any, b: Any) -> Any:
    """The larger of two numbers, NaN if either is NaN; +0 is above -0."""
    if a == b:
        return b if math.copysign(1.0, a) < 0 else a
    return a if b < a or a != a else b


def _careful(function: Function) -> Function:
    def careful(*arguments: float) -> float:
        with np.errstate(all="ignore"):
            return float(function(*arguments))

    return careful


_OWN: dict[str, Function] = {"abs": abs, "min": smaller, "max": larger, "sign": sign}
FAST: dict[str, Function] = {name: getattr(math, name) for name in (*SAME, *RENAMED)} | _OWN
CAREFUL: dict[str, Function] = (
    {name: _careful(getattr(np, RENAMED.get(name, name))) for name in (*SAME, *RENAMED)}
    | _OWN
    | {"div": _careful(np.divide)}
)
