"""Which lanes an ensemble runs in: the sets linked into a model, or a library made for it when first asked for."""

from __future__ import annotations

import ctypes
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

from .errors import ArgumentError, ChaplyginError, NoCompilerError

__all__ = ["BUILDER", "METHODS", "WIDTHS", "lane_set", "one_at_a_time"]

BUILDER = "chaplygin.codegen.build:build_lanes"
"""Where the function is that compiles a lane set: imported when needed, so that the runtime stands without it."""
METHODS = frozenset(("rk4", "dop853", "tsit5", "vern7", "vern9"))
"""The methods of `cg_lanes_inline.h`; any other runs one trajectory at a time."""
WIDTHS = (1, 2, 4, 8)
WORTH = 512
"""Trajectories from which on lanes are used when the caller does not say: compiling them takes 1 to 4 s."""

_libraries: dict[tuple[str, int], tuple[ctypes.CDLL, int]] = {}
"""(Path of the model, lanes) -> library, never unloaded, and address of its set."""


def one_at_a_time(model: Any, method: str, functions: Any, kinks: bool) -> str | None:
    """Why trajectories cannot run side by side whatever the lanes; None where they can."""
    if not hasattr(model, "lane_sets"):
        return f"{model.name} is in pure Python"
    if model.hybrid:
        return f"{model.name} has events or contacts"
    if functions:
        return "there are input functions"
    if kinks and model.kinks:
        return "kinks are to be found"
    return None if method in METHODS else f"method {method!r} is made for one"


def lane_set(model: Any, wanted: int | None, count: int, apart: str | None = None) -> int:
    """The address of the lane set for `count` trajectories, or 0 for one at a time.

    `wanted` lanes, or (None) as many as a register of this CPU holds where there are enough trajectories; `apart` is
    what `one_at_a_time` says. Where lanes cannot be had, a chosen number raises ArgumentError, and None runs one at a
    time: without a word where there is no compiler or nothing to compile, with a RuntimeWarning where that failed.
    """
    if wanted is not None and (type(wanted) is not int or wanted not in WIDTHS):
        raise ArgumentError(f"lanes = {wanted!r} must be one of {', '.join(map(str, WIDTHS))}, or None")
    if wanted not in (None, 1) and apart is not None:
        raise ArgumentError(f"lanes = {wanted}: {apart}, and trajectories run one at a time; leave lanes out")
    if wanted == 1 or apart is not None or (wanted is None and count < WORTH):
        return 0
    from ._core import widest_lanes

    for lanes, address in model.lane_sets:
        if wanted in (None, lanes):
            return int(address)
    lanes = wanted or widest_lanes()
    if lanes == 1:
        return 0
    try:
        return _library(model, lanes)
    except (OSError, ImportError, KeyError, ValueError, ChaplyginError) as error:
        if wanted is not None:
            raise ArgumentError(f"lanes = {wanted}: {model.name} has no such lanes, and {error}") from error
        if not isinstance(error, (FileNotFoundError, NoCompilerError)):
            warnings.warn(f"one trajectory at a time, for there are no lanes: {error}", RuntimeWarning, 4)
        return 0


def _library(model: Any, lanes: int) -> int:
    file = getattr(model.owner, "__file__", None)
    if file is None or not (Path(file).parent / f"{model.name}_lanes.c").is_file():
        raise FileNotFoundError("its lane file is not beside it")
    key = (file, lanes)
    if key not in _libraries:
        module, _, function = BUILDER.partition(":")
        path = getattr(import_module(module), function)(Path(file), lanes)
        library = ctypes.CDLL(str(path))
        symbol = ctypes.c_char.in_dll(library, f"{model.name}_lanes_{lanes}")
        _libraries[key] = library, ctypes.addressof(symbol)
    address = _libraries[key][1]
    if not model.runs_lanes(address):
        raise ValueError(f"{file} and its lanes do not fit together, or not this CPU")
    return address
