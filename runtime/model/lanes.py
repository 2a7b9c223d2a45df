"""Choice of the lanes of an ensemble: sets linked into the model, or a library compiled on first use."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from chaplygin.errors import ArgumentError, ChaplyginError, NoCompilerError, warn_caller

from .. import core
from ..interface import arguments
from ..interface.checksum import address_in
from ..interface.cpu_variants import sources_of
from ..interface.limits import WORTH
from ..problem.options import RunOptions, corrects
from .builder import builder

"""The module that finds lane sets in the cache and compiles them: imported on demand, so that the runtime works without
it."""
WIDTHS = (1, 2, 4, 8)

_addresses: dict[tuple[str, int, str], int] = {}
"""(Path of the model, lanes, method) -> the address of its lane set."""
_absent: set[tuple[str, int, str]] = set()
"""Keys that were looked up in the cache and not found."""


def one_at_a_time(
    model: Any,
    options: RunOptions,
    functions: Any,
    events: bool = False,
    sensitivities: bool = False,
    starts: bool = True,
) -> str | None:
    """Why trajectories cannot run side by side in lanes; None if they can.

    `events`: events do not keep them apart. `starts`: the lanes have their states at the start.
    """
    if model.hybrid and not events:
        return f"{model.name} has events or contacts"
    if functions:
        return "there are input functions"
    if sensitivities:
        return "the lanes hold the directions of one trajectory's sensitivities"
    if options.kinks and model.kinks:
        return "kinks=True"
    if not starts and corrects(model, options.project) == "correction_all":
        return f"project='all' moves the coordinates of {model.name} back to those at the start"
    method = options.method
    if method not in model.methods or model.methods[method].implicit:
        return f"method {method!r} does not support lanes"
    return None


def lane_set(
    model: Any, method: str, wanted: int | None, count: int, apart: str | None = None
) -> tuple[int, int]:
    """The lane set of a method for `count` trajectories: its address and number of lanes, or (0, 1) for one at a time.

    `wanted` is the number of lanes; None chooses the most that `count` trajectories fill, among the sets that are
    loaded, linked into the model or in the cache; from `WORTH` trajectories on, a set is compiled. `apart` is the
    result of `one_at_a_time`. If lanes are not available, an explicit number raises ArgumentError and None runs one
    trajectory at a time: silently if there is no compiler or nothing to compile, with a RuntimeWarning if compilation
    failed.
    """
    if wanted is not None and (type(wanted) is not int or wanted not in WIDTHS):
        raise ArgumentError(
            f"lanes = {arguments.short(wanted)} must be one of {', '.join(map(str, WIDTHS))}, or None"
        )
    if wanted not in (None, 1) and apart is not None:
        raise ArgumentError(f"lanes = {wanted}: {apart}, so trajectories run one at a time; leave lanes out")
    if wanted == 1 or apart is not None or (wanted is None and count < 2):
        return 0, 1
    for lanes, address in model.lane_sets:
        if lanes == wanted or (wanted is None and lanes <= count):
            return int(address), int(lanes)
    lanes = wanted or core.widest_lanes()
    if lanes == 1 or (wanted is None and count < lanes):
        return 0, 1
    try:
        address = _library(model, lanes, method, wanted is not None or count >= WORTH)
        return (address, lanes) if address else (0, 1)
    except (OSError, ImportError, KeyError, ValueError, ChaplyginError) as error:
        if wanted is not None:
            raise ArgumentError(
                f"lanes = {wanted}: the lanes of {model.name} are not available: {error}"
            ) from error
        if not isinstance(error, (FileNotFoundError, NoCompilerError)):
            warn_caller(f"running one trajectory at a time, without lanes: {error}")
        return 0, 1


def _library(model: Any, lanes: int, method: str, compiling: bool) -> int:
    """The address of the lane set in the library of a model; 0 if there is none and it is not to be compiled."""
    file = getattr(model.owner, "__file__", None)
    key = (str(file or model.digest), lanes, method)
    if key not in _addresses:
        if not compiling and key in _absent:
            return 0
        if file is None or not (sources_of(Path(file)) / f"{model.name}_lanes.c").is_file():
            if not compiling:
                _absent.add(key)
                return 0
            raise FileNotFoundError("there is no lane file next to the model")
        path = (
            builder("library").build_lanes(Path(file), lanes, method)
            if compiling
            else _found(Path(file), lanes, method)
        )
        if path is None:
            return 0
        _addresses[key] = address_in(path, f"{model.name}_lanes_{lanes}")
    address = _addresses[key]
    if not model.runs_lanes(address):
        raise ValueError(f"the lanes of {file} do not match the model or this CPU")
    return address


def _found(file: Path, lanes: int, method: str) -> Path | None:
    """The library in the cache; None if it is not found, for whatever reason, and this is remembered."""
    path: Path | None = None
    with suppress(OSError, ImportError, KeyError, ValueError, ChaplyginError):
        path = builder("library").find_lanes(file, lanes, method)
    if path is None:
        _absent.add((str(file), lanes, method))
    return path
