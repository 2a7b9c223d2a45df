"""Quantities of a whole trajectory: integrals over time and extremes of expressions along it.

They are entries of `collect`, which keep them for every trajectory, and quantities of the other entries, which make
statistics of them. They are found while the trajectories run, on the interpolant of each step (``cg_observe.h``).
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array
from ..model.derivatives import require_compiled

if TYPE_CHECKING:
    from ..ensembles.ensemble_data import EnsembleData


@dataclass(frozen=True, eq=False)
class Observed:
    """A quantity of a whole trajectory: a kind of `observer.KINDS`, of a name or a SymPy expression.

    A comparison with a number is a condition for `cg.probability`.
    """

    kind: str
    what: Any

    def __post_init__(self) -> None:
        check_quantity(self.kind, self.what)

    def __str__(self) -> str:
        return f"{self.kind}({self.what})"

    __repr__ = __str__

    def __reduce__(self) -> tuple[Any, ...]:  # it is compiled before it travels, and SymPy stays at home
        return Observed, (self.kind, str(self.what))

    @property
    def key(self) -> tuple[str, str]:
        return self.kind, str(self.what)

    def bound(self, entry: str, model: Any) -> Observed:
        """With its argument checked for a model; an expression is checked when it is compiled."""
        entry = f"{entry}: {arguments.short(self)}"
        require_compiled(entry, model)
        name = arguments.name_of(self.what)
        if name is not None:
            if model._equations is None and name not in (*model.quantities, "t"):
                raise ArgumentError(
                    f"{entry}: {arguments.short(name)} is not a quantity of {model.name}, which was loaded without its "
                    f"declaration; it has {', '.join(model.quantities)}{arguments.nearest(name, model.quantities)}"
                )
            return Observed(self.kind, name)
        return self

    def of(self, ensemble: EnsembleData) -> Array:
        """(n,) for the trajectories of an ensemble that has observed it."""
        values: Array = ensemble.observed(*self.key)[0]
        return values

    def __gt__(self, level: Any) -> Comparison:
        return Comparison(self, ">", level)

    def __ge__(self, level: Any) -> Comparison:
        return Comparison(self, ">=", level)

    def __lt__(self, level: Any) -> Comparison:
        return Comparison(self, "<", level)

    def __le__(self, level: Any) -> Comparison:
        return Comparison(self, "<=", level)


def check_quantity(kind: str, what: Any) -> None:
    """Refuse what cannot be a quantity of any model, such as a number, a list or a path."""
    if arguments.name_of(what) == "" or not (isinstance(what, str) or hasattr(what, "free_symbols")):
        raise ArgumentError(
            f"{kind}: {arguments.short(what)} is not a quantity; give a name, a symbol or an expression of them"
        )


_COMPARISONS = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}


class Condition:
    """A comparison of an `Observed` with a number, or several joined by | and &."""

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        raise NotImplementedError

    def bound(self, entry: str, model: Any) -> Condition:
        """With its arguments checked for a model."""
        raise NotImplementedError

    def of(self, ensemble: EnsembleData) -> Array:
        """(n,) for the trajectories of an ensemble: 1 or 0, or NaN where a quantity is."""
        raise NotImplementedError

    def __or__(self, other: Any) -> Joined:
        return Joined("|", (self, _joinable(self, other)))

    def __and__(self, other: Any) -> Joined:
        return Joined("&", (self, _joinable(self, other)))

    def __ror__(self, other: Any) -> Joined:
        return Joined("|", (_joinable(self, other), self))

    def __rand__(self, other: Any) -> Joined:
        return Joined("&", (_joinable(self, other), self))


def _joinable(one: Condition, other: Any) -> Condition:
    if not isinstance(other, Condition):
        raise ArgumentError(
            f"{one} is of whole trajectories and can be joined with such conditions, e.g. cg.peak(y) > 2; "
            f"{arguments.short(other)} is not one"
        )
    return other


@dataclass(frozen=True, eq=False)
class Comparison(Condition):
    """A comparison of an `Observed` with a number."""

    observed: Observed
    comparison: str
    level: Any

    def __str__(self) -> str:
        return f"{self.observed} {self.comparison} {self.level}"

    __repr__ = __str__

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        return (self,)

    def bound(self, entry: str, model: Any) -> Comparison:
        level = arguments.number(f"{entry}: the bound of {self.observed}", self.level)
        return Comparison(self.observed.bound(entry, model), self.comparison, level)

    def of(self, ensemble: EnsembleData) -> Array:
        values = self.observed.of(ensemble)
        return np.where(np.isnan(values), np.nan, _COMPARISONS[self.comparison](values, self.level))


@dataclass(frozen=True, eq=False)
class Joined(Condition):
    """Conditions of which one holds ("|"), or all do ("&")."""

    how: str
    parts: tuple[Condition, ...]

    def __str__(self) -> str:
        return f" {self.how} ".join(f"({part})" for part in self.parts)

    __repr__ = __str__

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        return tuple(each for part in self.parts for each in part.comparisons)

    def bound(self, entry: str, model: Any) -> Joined:
        return Joined(self.how, tuple(part.bound(entry, model) for part in self.parts))

    def of(self, ensemble: EnsembleData) -> Array:
        rows = np.array([part.of(ensemble) for part in self.parts])
        return np.asarray(rows.max(axis=0) if self.how == "|" else rows.min(axis=0))


@dataclass(frozen=True, eq=False)
class Extreme:
    """The largest or smallest value along each trajectory, `value` (n,), and its time, `t` (n,); NaN for failures."""

    name: str
    value: Array
    t: Array

    def __len__(self) -> int:
        return len(self.value)

    def __repr__(self) -> str:
        known = self.value[~np.isnan(self.value)]
        between = f": from {known.min():.6g} to {known.max():.6g}" if len(known) else ""
        return f"<{self.name} of {len(self)} trajectories{between}>"


def integral(what: Any) -> Observed:
    """The integral over time of a quantity or a SymPy expression along each trajectory, (n,), to the method's order."""
    return Observed("integral", what)


def peak(what: Any) -> Observed:
    """The largest value of a quantity or a SymPy expression along each trajectory, and its time: an `Extreme`."""
    return Observed("peak", what)


def minimum(what: Any) -> Observed:
    """The smallest value of a quantity or a SymPy expression along each trajectory, and its time: an `Extreme`."""
    return Observed("minimum", what)
