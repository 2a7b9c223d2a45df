"""What is imported on first use: the faces of rooms (PEP 562), and packages that take longer to load than a run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any


def face(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package whose names are imported from its modules on first use.

    `homes` has the defining module of each name, absolute or relative to the package. A name differs from those of the
    modules, since a module becomes an attribute of its package as soon as it is imported.
    """

    def __getattr__(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(home, package), name)
        setattr(sys.modules[package], name, value)
        return value

    return __getattr__


class _Later(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__version__":  # what inspection asks of any module
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(import_module(self.__name__), name)


def later(module: str) -> Any:
    """A module of another package, imported when one of its names is first used."""
    return _Later(module)
