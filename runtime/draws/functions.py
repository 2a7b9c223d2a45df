"""Draws by functions of the user, f(rng): each trajectory has a generator of its own.

Its key are two uniform numbers of the trajectory, so what is drawn depends on the seed and the index alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator, Philox

from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array

_BITS = 2.0**53
"""A uniform number is a multiple of 1 / that."""
_NEEDED = "it is called as f(rng) with a numpy.random.Generator, once for each trajectory"


def is_function(value: Any) -> bool:
    """Whether an entry is a function; SymPy's symbols and functions can be called too."""
    return callable(value) and not hasattr(value, "free_symbols")


@dataclass(frozen=True, eq=False)
class DrawRule:
    """What f(rng) returns: a number, or `count` of them together. `what`: the entry, for errors."""

    function: Callable[[Generator], Any]
    count: int
    what: str
    dimensions: ClassVar[int] = 2

    @classmethod
    def of(cls, what: str, function: Callable[[Generator], Any], count: int) -> DrawRule:
        """Raises ArgumentError naming `what` for a function of anything else, and for one that draws elsewhere."""
        _check_signature(what, function)
        made = cls(function, count, what)
        u = np.full((2, 1), 0.5)
        first, second = made.draw(u), made.draw(u)
        if first.tobytes() != second.tobytes():
            raise ArgumentError(
                f"{what}: the function returns {_shown(first)} and then {_shown(second)} for the same generator; it "
                "must draw from rng alone, or what is drawn would depend on the order of work"
            )
        return made

    def draw(self, u: Array) -> Array:
        """(count, n) from uniform numbers (2, n)."""
        bits = Philox(key=0)
        rng = Generator(bits)
        state: dict[str, Any] = dict(bits.state)
        found = np.empty((self.count, u.shape[1]))
        counter = np.zeros(4, dtype=np.uint64)
        for j, key in enumerate((u * _BITS).astype(np.uint64).T):
            state["state"] = {"counter": counter, "key": key}
            bits.state = state  # type: ignore[assignment]
            found[:, j] = self._numbers(self.function(rng))
        return found

    def _numbers(self, given: Any) -> Any:
        try:
            row = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            row = np.empty(0)
        if row.shape == (self.count,) or (row.ndim == 0 and self.count == 1):
            return row
        needed = "one number" if self.count == 1 else f"{self.count} numbers"
        raise ArgumentError(
            f"{self.what}: the function returned {arguments.short(given)}; {_NEEDED}, and must return {needed}"
        )


def _shown(found: Array) -> str:
    return str(found[0, 0] if len(found) == 1 else found[:, 0].tolist())


def _check_signature(what: str, function: Callable[..., Any]) -> None:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # written in C: the first call tells
        return
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [each.name for each in parameters if each.default is each.empty and each.kind in positional]
    if len(needed) != 1:
        has = f"needs {', '.join(needed)}" if needed else "needs no generator"
        raise ArgumentError(f"{what}: the function {has}; {_NEEDED}")
