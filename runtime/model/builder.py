"""The one door from the runtime to the toolchain: what a run compiles of its model when it first needs it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from chaplygin.errors import LoadError

TOOLCHAIN = "chaplygin.codegen.toolchain"


def builder(part: str) -> Any:
    """A module of the toolchain, imported when something is compiled for the first time.

    Raises `LoadError`, an ImportError, where the code generator or a package that it needs is not installed: models
    that are compiled already run without them.
    """
    try:
        return import_module(f"{TOOLCHAIN}.{part}")
    except ModuleNotFoundError as error:
        missing = "chaplygin.codegen" if (error.name or "").startswith("chaplygin") else error.name
        raise LoadError(
            f"compiling needs {missing}, which is not installed; install the whole package, pip install chaplygin"
        ) from None
