"""Shorter equal SymPy expressions, by polynomial identities alone: SymPy's own simplification takes seconds."""

from __future__ import annotations

from typing import Any

import sympy as sp
from sympy.functions.elementary.trigonometric import TrigonometricFunction

Expression = Any

LARGEST = 160
"""Operations of an expression that is still worked on; larger ones are left as they are."""


def tidy(e: Expression) -> Expression:
    """A shorter equal expression, where that is quick to find: sin^2 + cos^2 = 1 in polynomials, common factors."""
    e = sp.sympify(e)
    before = sp.count_ops(e)
    if before < 2 or before > LARGEST:
        return e
    spread = sp.expand(e)
    found = [
        e,
        spread,
        *(_trigonometric(spread) if spread.has(TrigonometricFunction) else [sp.cancel(spread)]),
    ]
    return min(found, key=sp.count_ops)


def _trigonometric(spread: Expression) -> list[Expression]:
    """Equal expressions, reduced by sin^2 = 1 - cos^2 and by cos^2 = 1 - sin^2 of every angle."""
    spread = sp.expand(sp.expand_trig(spread))
    angles = sorted({f.args[0] for f in spread.atoms(sp.sin, sp.cos)}, key=sp.default_sort_key)
    found = []
    for keep, drop in ((sp.cos, sp.sin), (sp.sin, sp.cos)):
        reduced = spread
        for angle in angles:
            kept, dropped = sp.Dummy("k"), sp.Dummy("d")
            swapped = reduced.xreplace({keep(angle): kept, drop(angle): dropped})
            if not swapped.is_polynomial(kept, dropped):
                continue
            terms = sp.Poly(swapped, dropped).terms()
            reduced = sum(c * (1 - kept**2) ** (k // 2) * dropped ** (k % 2) for (k,), c in terms)
            reduced = sp.expand(reduced).xreplace({kept: keep(angle), dropped: drop(angle)})
        found.append(reduced)
    return found
