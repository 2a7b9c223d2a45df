"""Integration methods as data: each file of `pairs/` is one embedded Runge-Kutta pair.

This room knows nothing of mechanics and of C, and imports nothing of this package.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from . import pairs
from .pair import Control, Pair

__all__ = ["PAIRS", "Control", "Pair"]

PAIRS: dict[str, Pair] = {
    name: import_module(f"{pairs.__name__}.{name}").PAIR
    for name in sorted(module.name for module in iter_modules(pairs.__path__))
}
"""The pairs of the runtime by name."""
