"""Modules that have moved, under the names that pickles made before have of them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any


class _Moved(ModuleType):
    def __init__(self, name: str, home: str) -> None:
        super().__init__(name)
        self._home = home

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(import_module(self._home), name)


def keep(package: str, homes: Mapping[str, str]) -> None:
    """Let modules of a package be found under old names, each with what its new home holds."""
    for old, home in homes.items():
        sys.modules[f"{package}.{old}"] = _Moved(f"{package}.{old}", home)
