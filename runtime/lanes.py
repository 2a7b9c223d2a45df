"""Which lanes an ensemble runs in: the sets linked into a model, or a library made for it when first asked for."""

from __future__ import annotations

import ctypes
import warnings
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from .errors import ArgumentError, ChaplyginError, NoCompilerError

__all__ = ["BUILDER", "METHODS", "WIDTHS", "lane_set", "one_at_a_time"]

BUILDER = "chaplygin.codegen.build.extension"
"""The module that finds lane sets in the cache and compiles them: imported when needed, so that the runtime stands
without it."""
METHODS = frozenset(("rk4", "dop853", "tsit5", "vern7", "vern9"))
"""The methods of `cg_lanes_inline.h`; any other runs one trajectory at a time."""
WIDTHS = (1, 2, 4, 8)
WORTH = 512
"""Trajectories from which on lanes are compiled when the caller does not say: that takes 1 to 4 s."""

_libraries: dict[tuple[str, int], tuple[ctypes.CDLL, int]] = {}
"""(Path of the model, lanes) -> library, never unloaded, and address of its set."""
_absent: set[tuple[str, int]] = set()
"""Those that were looked for in the cache and are not there."""


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


def lane_set(model: Any, wanted: int | None, count: int, apart: str | None = None) -> tuple[int, int]:
    """The lane set for `count` trajectories: its address and its lanes, or (0, 1) for one at a time.

    `wanted` lanes, or (None) the most that `count` trajectories fill: of the sets that are loaded, linked into the
    model or in the cache, and from `WORTH` trajectories on one that is compiled now. `apart` is what `one_at_a_time`
    says. Where lanes cannot be had, a chosen number raises ArgumentError, and None runs one at a time: without a word
    where there is no compiler or nothing to compile, with a RuntimeWarning where that failed.
    """
    if wanted is not None and (type(wanted) is not int or wanted not in WIDTHS):
        raise ArgumentError(f"lanes = {wanted!r} must be one of {', '.join(map(str, WIDTHS))}, or None")
    if wanted not in (None, 1) and apart is not None:
        raise ArgumentError(f"lanes = {wanted}: {apart}, and trajectories run one at a time; leave lanes out")
    if wanted == 1 or apart is not None or (wanted is None and count < 2):
        return 0, 1
    from ._core import widest_lanes

    for lanes, address in model.lane_sets:
        if lanes == wanted or (wanted is None and lanes <= count):
            return int(address), int(lanes)
    lanes = wanted or widest_lanes()
    if lanes == 1 or (wanted is None and count < lanes):
        return 0, 1
    try:
        address = _library(model, lanes, wanted is not None or count >= WORTH)
        return (address, lanes) if address else (0, 1)
    except (OSError, ImportError, KeyError, ValueError, ChaplyginError) as error:
        if wanted is not None:
            raise ArgumentError(f"lanes = {wanted}: {model.name} has no such lanes, and {error}") from error
        if not isinstance(error, (FileNotFoundError, NoCompilerError)):
            warnings.warn(f"one trajectory at a time, for there are no lanes: {error}", RuntimeWarning, 4)
        return 0, 1


def _library(model: Any, lanes: int, compiling: bool) -> int:
    """The address of the lane set in the library of a model; 0: there is none, and it is not to be compiled."""
    if model._rest is not None and not compiling:
        return 0  # the model itself is still being built
    file = getattr(model.owner, "__file__", None)
    key = (str(file or model.digest), lanes)
    if key not in _libraries:
        if not compiling and key in _absent:
            return 0
        if file is None or not (Path(file).parent / f"{model.name}_lanes.c").is_file():
            if not compiling:
                _absent.add(key)
                return 0
            raise FileNotFoundError("its lane file is not beside it")
        path = (
            import_module(BUILDER).build_lanes(Path(file), lanes) if compiling else _found(Path(file), lanes)
        )
        if path is None:
            return 0
        library = ctypes.CDLL(str(path))
        symbol = ctypes.c_char.in_dll(library, f"{model.name}_lanes_{lanes}")
        _libraries[key] = library, ctypes.addressof(symbol)
    address = _libraries[key][1]
    if not model.runs_lanes(address):
        raise ValueError(f"{file} and its lanes do not fit together, or not this CPU")
    return address


def _found(file: Path, lanes: int) -> Path | None:
    """The library in the cache; None where it is not there, which is remembered, whatever the reason."""
    path: Path | None = None
    with suppress(OSError, ImportError, KeyError, ValueError, ChaplyginError):
        path = import_module(BUILDER).find_lanes(file, lanes)
    if path is None:
        _absent.add((str(file), lanes))
    return path
