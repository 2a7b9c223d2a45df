"""The ways in which a rare event can happen: its condition as a union of failures, each with a margin.

A failure is one condition, or several that hold together; its margin is the difference of two sides, or the smallest
of several, each in units of its spread: otherwise the condition in the largest unit would hide the others until it
holds. A union has the largest margin of its failures, but chains that follow that one see only the failure that comes
closest at first, so `rare_event` looks for each failure by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from chaplygin._lazy import later
from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array
from .collector import Collector
from .observed import Comparison, Condition, Joined, Observed

sympy = later("sympy")

MOST = 32
"""Failures of one event: each has its own levels."""


@dataclass(frozen=True)
class Bound:
    """sign (quantity - level) > 0, or >= 0 if `closed`, for the quantity in one `row`, measured in `unit`."""

    row: int
    sign: int = 1
    level: float = 0.0
    closed: bool = False
    unit: float = 1.0

    def margin(self, rows: Array) -> Array:
        """(n,) of quantities (k, n): positive where it holds."""
        found: Array = self.sign * (rows[self.row] - self.level) / self.unit
        return np.where(found == 0, np.finfo(np.float64).tiny, found) if self.closed else found


@dataclass(frozen=True)
class Way:
    """A failure: its condition as a text, and the bounds that hold together."""

    text: str
    bounds: tuple[Bound, ...]

    def margin(self, rows: Array) -> Array:
        """(n,) of quantities (k, n): positive where it happens."""
        return np.asarray(np.minimum.reduce([bound.margin(rows) for bound in self.bounds]))

    def measured(self, rows: Array) -> Way:
        """With each of several bounds in units of the spread of its quantity in `rows` (k, n)."""
        if len(self.bounds) == 1:
            return self
        return replace(
            self, bounds=tuple(replace(each, unit=_spread(rows[each.row])) for each in self.bounds)
        )


def _spread(values: Array) -> float:
    """The half of what two thirds lie within, or the mean deviation where that is 0; 1 for a constant."""
    low, middle, high = np.quantile(values, [1 / 6, 1 / 2, 5 / 6])
    spread = float((high - low) / 2) or float(np.abs(values - middle).mean())
    return spread if 0 < spread < np.inf else 1.0


def ways(event: Any, above: Any, below: Any) -> tuple[Any, tuple[Way, ...]]:
    """The quantities of an event, as an entry of `collect` or a list, and its failures. Raises ArgumentError."""
    symbolic = getattr(event, "is_Relational", False) or getattr(event, "is_Boolean", False)
    if above is None and below is None:
        return _along(event) if isinstance(event, Condition) else _at_the_end(event)
    if symbolic or isinstance(event, Condition):
        raise ArgumentError("above and below are for a quantity; a condition says itself where it holds")
    if above is not None and below is not None:
        raise ArgumentError("above and below are both given; an event has one of them")
    if isinstance(event, Collector) and len(event.names) != 1:
        raise ArgumentError(f"event: {', '.join(event.names)} must be one quantity")
    side, sign, level = ("above", 1, above) if below is None else ("below", -1, below)
    bound = Bound(0, sign, arguments.number(side, level))
    return event, (Way(f"{side} {level}", (bound,)),)


def _along(event: Condition) -> tuple[list[Observed], tuple[Way, ...]]:
    """Of comparisons of extremes or integrals with numbers, joined by | and &."""
    rows: dict[tuple[str, str], int] = {}
    observed: list[Observed] = []
    failures = []
    for failure in _compared(event):
        bounds = []
        for each in failure:
            row = rows.setdefault(each.observed.key, len(rows))
            if row == len(observed):
                observed.append(each.observed)
            up = each.comparison[0] == ">"
            bounds.append(Bound(row, 1 if up else -1, float(each.level), "=" in each.comparison))
        failures.append(Way(" & ".join(map(str, failure)), tuple(bounds)))
    return observed, tuple(failures)


def _compared(event: Condition) -> list[tuple[Comparison, ...]]:
    """A union of comparisons that hold together; the peak of a maximum is the largest of several peaks."""
    if isinstance(event, Joined):
        parts = [_compared(part) for part in event.parts]
        if event.how == "|":
            found = [failure for part in parts for failure in part]
        else:
            found = [tuple(each for one in failures for each in one) for failures in product(*parts)]
        _check_number(len(found))
        return found
    (one,) = event.comparisons
    arguments.number("event: the bound", one.level)
    up = one.comparison[0] == ">"
    whats = [one.observed.what]
    if one.observed.kind == ("peak" if up else "minimum") and hasattr(whats[0], "free_symbols"):
        whats = _all_branches(whats[0], largest=up)
    _check_number(len(whats))
    return [(Comparison(Observed(one.observed.kind, what), one.comparison, one.level),) for what in whats]


def _at_the_end(event: Any) -> tuple[list[Any], tuple[Way, ...]]:
    """Of a relation between two expressions, or several with &, | and ~."""
    rows: dict[Any, int] = {}
    failures = [
        Way(
            " & ".join(f"{side} {'>=' if closed else '>'} 0" for side, closed in failure),
            tuple(Bound(rows.setdefault(side, len(rows)), closed=closed) for side, closed in failure),
        )
        for failure in _failures(event)
    ]
    return list(rows), tuple(failures)


_Failure = tuple[tuple[Any, bool], ...]
"""Differences of two sides, all of them positive, or not negative where True stands beside."""


def _failures(condition: Any) -> list[_Failure]:
    """A condition as a union of failures (its disjunctive normal form)."""
    kind = type(condition).__name__
    if kind == "Or":
        return _union([_failures(each) for each in condition.args])
    if kind == "And":
        return _together([_failures(each) for each in condition.args])
    if kind in ("Not", "Xor", "ITE", "Implies", "Equivalent", "Nand", "Nor"):
        plain = sympy.to_nnf(condition, simplify=False)
        if plain != condition:
            return _failures(plain)
    if not hasattr(condition, "gts"):
        raise ArgumentError(
            f"event: {arguments.short(condition)} has no margin; give a condition such as x > 20 with a symbol x, "
            "or a quantity with above= or below="
        )
    return _positive(condition.gts - condition.lts, "=" in condition.rel_op)


def _positive(side: Any, closed: bool) -> list[_Failure]:
    """Where a side is positive: the largest of several is where one is, the smallest where all are."""
    for largest, join in ((True, _union), (False, _together)):
        parts = _branches(side, largest)
        if len(parts) > 1:
            return join([_positive(part, closed) for part in parts])
    return [((side, closed),)]


def _union(parts: Sequence[list[_Failure]]) -> list[_Failure]:
    return _checked(failure for part in parts for failure in part)


def _together(parts: Sequence[list[_Failure]]) -> list[_Failure]:
    found = parts[0]
    for part in parts[1:]:
        _check_number(len(found) * len(part), 64)
        found = _checked(tuple(dict.fromkeys((*a, *b))) for a, b in product(found, part))
    return found


def _checked(failures: Any) -> list[_Failure]:
    """Without repetitions."""
    found = {frozenset(failure): failure for failure in failures}
    _check_number(len(found))
    return list(found.values())


def _check_number(count: int, times: int = 1) -> None:
    if count > MOST * times:
        raise ArgumentError(
            f"event: the condition is a union of {count} failures, each of which needs its own levels; give one of at "
            f"most {MOST}"
        )


def _all_branches(what: Any, largest: bool) -> list[Any]:
    parts = _branches(what, largest)
    return parts if len(parts) == 1 else [each for part in parts for each in _all_branches(part, largest)]


def _branches(side: Any, largest: bool) -> list[Any]:
    """Expressions of which `side` is the largest (or the smallest) one, by one of its Max, Min or Abs."""
    for term in sympy.Add.make_args(side):
        chosen = [
            factor
            for factor in sympy.Mul.make_args(term)
            if isinstance(factor, (sympy.Abs, sympy.Max, sympy.Min))
        ]
        if len(chosen) != 1:
            continue
        rest = sympy.Mul(*(factor for factor in sympy.Mul.make_args(term) if factor is not chosen[0]))
        if not (rest.is_positive or rest.is_negative):
            continue
        if (bool(rest.is_positive) != isinstance(chosen[0], sympy.Min)) == largest:
            inner = chosen[0].args
            each = (inner[0], -inner[0]) if isinstance(chosen[0], sympy.Abs) else inner
            return [side - term + rest * one for one in each]
    return [side]
