"""Integration methods as data: each file of `pairs/` is one embedded Runge-Kutta pair.

This room knows nothing of mechanics and of C, and imports nothing of this package.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from pkgutil import iter_modules

from . import pairs
from .pair import Control, Pair

__all__ = ["PAIRS", "Control", "Pair", "check_own"]

PAIRS: dict[str, Pair] = {
    name: import_module(f"{pairs.__name__}.{name}").PAIR
    for name in sorted(module.name for module in iter_modules(pairs.__path__))
}
"""The pairs of the runtime by name."""


def check_own(methods: Sequence[Pair], taken: Iterable[str]) -> None:
    """Check the methods that a model brings: pairs with names of their own. Raises TypeError and ValueError."""
    names = set(taken)
    for i, method in enumerate(methods):
        if not isinstance(method, Pair):
            raise TypeError(f"methods[{i}] is a {type(method).__name__}; a Pair is needed")
        if method.name in names:
            raise ValueError(
                f"methods: there is already a method {method.name!r}; give this one another name"
            )
        names.add(method.name)
