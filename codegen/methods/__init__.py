"""Integration methods as data: each file of `pairs/` is one embedded Runge-Kutta pair.

This room knows nothing of mechanics and of C, and imports nothing of this package.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pkgutil import iter_modules

from . import pairs
from .pair import Pair
from .taylor import TAYLOR, Taylor

__all__ = ["PAIRS", "TAYLOR", "Control", "Pair", "Taylor", "own"]

PAIRS: dict[str, Pair] = {
    name: import_module(f"{pairs.__name__}.{name}").PAIR
    for name in sorted(module.name for module in iter_modules(pairs.__path__))
}
"""The pairs of the runtime by name."""


def own(methods: Iterable[Pair | str], taken: Iterable[str]) -> tuple[Pair | Taylor, ...]:
    """The methods that a model brings: pairs with names of their own, and "taylor". Raises TypeError and ValueError."""
    names, found = set(taken), []
    for i, given in enumerate(methods):
        method = TAYLOR if isinstance(given, str) and given == TAYLOR.name else given
        if not isinstance(method, (Pair, Taylor)):
            what = repr(given[:60]) if isinstance(given, str) else f"a {type(given).__name__}"
            raise TypeError(f"methods[{i}] is {what}; a Pair or {TAYLOR.name!r} is needed")
        if method.name in names:
            raise ValueError(
                f"methods: there is already a method {method.name!r}; give this one another name"
            )
        names.add(method.name)
        found.append(method)
    return tuple(found)
