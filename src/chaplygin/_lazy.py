"""What is imported on first use: the faces of rooms (PEP 562), and packages that take longer to load than a run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any


def face(package: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package whose names, those of its stub, are imported from their modules on first use.

    A name differs from those of the package's modules, since a module becomes an attribute of it when it is imported.
    """
    homes: dict[str, str] = {}

    def __getattr__(name: str) -> Any:
        if name.startswith("__") and name != "__all__":
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if not homes:
            import ast

            with open(f"{sys.modules[package].__file__}i", encoding="utf-8") as stub:
                imports = [node for node in ast.parse(stub.read()).body if isinstance(node, ast.ImportFrom)]
            homes.update({each.name: "." * i.level + str(i.module) for i in imports for each in i.names})
        if name == "__all__":
            return [*homes]
        home = homes.get(name) or homes.get("*")
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = f"{package}{home}" if home.startswith(".") else home
        if home == package:  # a module of it
            return import_module(f"{home}.{name}")
        value = getattr(__import__(home, fromlist=[name]), name)
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


if TYPE_CHECKING:
    import pathlib as pathlib
else:
    pathlib = later("pathlib")
