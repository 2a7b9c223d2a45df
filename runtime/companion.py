"""Companions: expressions of a model that are compiled when they are first evaluated."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from .errors import ArgumentError

BUILDER = "chaplygin.codegen.build.companion"
"""The module that finds companions in the cache and compiles them, imported on demand."""

_libraries: dict[Path, tuple[ctypes.CDLL, int]] = {}
"""Path -> library, which is never unloaded, and the address of its table."""


def companion(model: Any, expressions: Sequence[Any], lanes: int) -> int:
    """The address of the `cg_companion_t` of SymPy expressions and conditions, for a number of lanes.

    Its kernel takes (t, x, p, u) of `lanes` trajectories of the model and gives the expressions of each; a condition is
    1.0 or 0.0. In a reproducible model the bits of an expression depend neither on `lanes` nor on the others. The
    kernel is taken from the cache, or compiled with the model's flags, which takes about half a second.

    Raises ArgumentError for a wrong expression, and for a model that does not know its declaration; BuildError.
    """
    key = tuple(expressions), lanes
    known: dict[Any, int] = model._companions
    try:
        if key in known:
            return known[key]
    except TypeError:  # it cannot be hashed, so it is no expression; the builder says so
        pass
    if model._equations is None:
        raise ArgumentError(
            f"{model.name} was loaded without its declaration, so new expressions cannot be compiled; give the names "
            f"of declared quantities ({', '.join(model.quantities)}), or compile the System in this process"
        )
    path = import_module(BUILDER).build_companion(
        Path(model.owner.__file__), model.digest, model._equations, expressions, lanes
    )
    if path not in _libraries:
        library = ctypes.CDLL(str(path))
        symbol = ctypes.c_char.in_dll(library, f"{model.name}_companion_{lanes}")
        _libraries[path] = library, ctypes.addressof(symbol)
    known[key] = _libraries[path][1]
    return known[key]
