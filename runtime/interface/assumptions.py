"""Run-time checks of what a declaration assumes about a parameter, an input or a coordinate (positive, an integer ...).

SymPy uses assumptions to simplify, e.g. sqrt(m**2) = m for a positive m, so equations derived with them are wrong if
they do not hold. They are therefore stored in the model, as bits of `enum cg_flag` in chaplygin.h, and the initial
values of a run are checked against them. Later values of a coordinate are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from chaplygin.errors import ArgumentError

_NAMES = "NOT_NEGATIVE NOT_POSITIVE NOT_ZERO INTEGER EVEN ODD ZERO_AT_START RATE QUATERNION"
FLAGS = {name: 1 << i for i, name in enumerate(_NAMES.split())}
"""`enum cg_flag` of chaplygin.h: name without "CG_" to bit."""
NOT_NEGATIVE, NOT_POSITIVE, NOT_ZERO, INTEGER, EVEN, ODD, ZERO_AT_START, RATE, QUATERNION = FLAGS.values()

_SIGNS = {
    NOT_NEGATIVE: "nonnegative",
    NOT_POSITIVE: "nonpositive",
    NOT_ZERO: "nonzero",
    NOT_NEGATIVE | NOT_ZERO: "positive",
    NOT_POSITIVE | NOT_ZERO: "negative",
    NOT_NEGATIVE | NOT_POSITIVE: "zero",
}


def assumption(flags: int) -> str:
    """The assumptions encoded in flags, in SymPy's terms; "" for none.

    >>> assumption(NOT_NEGATIVE | NOT_ZERO | INTEGER)
    'a positive integer'
    """
    sign = _SIGNS.get(flags & (NOT_NEGATIVE | NOT_POSITIVE | NOT_ZERO), "")
    kind = "an even number" if flags & EVEN else "an odd number" if flags & ODD else "an integer"
    if not flags & (INTEGER | EVEN | ODD):
        return sign
    article, noun = kind.split(" ", 1)
    return f"a {sign} {noun}" if sign else f"{article} {noun}"


def holds(flags: int, values: Any) -> Any:
    """Whether numbers satisfy the assumptions: an array of bools in the shape of `values`."""
    x = np.asarray(values)
    right = np.ones(x.shape, dtype=bool)
    if flags & NOT_NEGATIVE:
        right &= x >= 0
    if flags & NOT_POSITIVE:
        right &= x <= 0
    if flags & NOT_ZERO:
        right &= x != 0
    if flags & (INTEGER | EVEN | ODD):
        right &= x == np.floor(x)
    if flags & (EVEN | ODD):
        right &= np.fmod(np.abs(x), 2.0) == (1.0 if flags & ODD else 0.0)
    return right


def check_row(kind: str, name: str, flags: int, values: Any, where: str = "") -> None:
    """Reject a number, or an array of them (one for each trajectory), that violates the declared assumptions."""
    right = holds(flags, values)
    if right.all():
        return
    wrong = np.flatnonzero(~np.atleast_1d(right))
    first = float(np.atleast_1d(values)[wrong[0]])
    count = f" ({wrong.size} of {right.size} values; the first is number {wrong[0]})" if right.ndim else ""
    raise ArgumentError(
        f"{kind}: {name} = {first:.17g}{where}, but {name} is declared {assumption(flags)}{count}"
    )


def check_rows(kind: str, names: Sequence[str], flags: Sequence[int], rows: Any) -> None:
    """`check_row` for each name with assumptions."""
    if isinstance(rows, np.ndarray):  # names with the same assumptions at once: most calls find nothing wrong
        declared = np.asarray(flags)
        if all(holds(int(each), rows[declared == each]).all() for each in np.unique(declared)):
            return
    for name, bits, row in zip(names, flags, rows):
        if bits:
            check_row(kind, name, bits, row)


def not_of_unit_length(names: Sequence[str], square: float) -> str:
    """What to say of a quaternion of this squared length."""
    listed = ", ".join(names)
    if square == 0:
        return f"{listed} are all zero: they must be a quaternion of length 1, and 1, 0, 0, 0 is not turned"
    return (
        f"{listed} must be a quaternion of length 1, and its length is {square**0.5:.12g}: divide them by it"
    )
