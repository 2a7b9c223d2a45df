"""What is compiled for a model while it is used, and cached: kernels, and methods with its right-hand side inlined.

Any model runs through the methods of the runtime, which call its right-hand side. With the right-hand side inlined a
method is 1.3 to 2.3 times as fast for short equations, and gives the same bits, but takes 0.2 to 0.5 s to compile: it
is compiled after a million calls of the right-hand side, also while a run is under way, and found in the cache from
then on.
"""

from __future__ import annotations

import ctypes
import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from chaplygin._lazy import later
from chaplygin.errors import BuildError, LoadError, NoCompilerError, warn_caller

from ..interface.checksum import open_library
from ..interface.files import library_name, method_key
from .builder import builder
from .loading import ENTRY, Library

DEFAULTS = ("dop853", "vern9", "rk4")
"""What runs take without a tolerance that asks for another one (cg_default.h), and the method of fixed steps."""

_lock = threading.Lock()
futures = later("concurrent.futures")

EXPLICIT = {"auto": "dop853"}
"""The explicit part of a method that chooses between two."""


def inline(model: Any, method: str, compiling: bool) -> bool:
    """Give `model` the library of a method, if it is in the cache or `compiling`; returns whether this is settled.

    It is settled without one for implicit methods, for models whose right-hand side is too long or that were not
    compiled here, and where the compiler is missing or fails, which is a warning.
    """
    if model.methods[method].implicit or method in EXPLICIT:
        model._need("jacobian")
    name = EXPLICIT.get(method, method)
    file = getattr(model.owner, "__file__", None)
    if name in model.inlined or model.methods[name].implicit or file is None:
        return True
    try:
        folder = Path(file).parent
        path = folder.parent / method_key(folder.name, name) / library_name(model.name, name)
        library = _loaded(path, model.name)
        if library is None:
            facts = json.loads((folder / ENTRY).read_bytes())
            if not facts["inline"]:
                return True
            if not (compiling or not facts["reproducible"]):
                return False
            library = Library(builder("library").build_method(Path(file), name), model.name)
        with _lock:
            model._take_method(name, library.address)
    except (NoCompilerError, ImportError, OSError, KeyError, ValueError):
        return True  # nothing was compiled here, or nothing can be
    except BuildError as error:
        warn_caller(
            f"{method} takes longer than it could, since it cannot be compiled for {model.name}: {error}"
        )
    return True


def _loaded(path: Path, name: str) -> Library | None:
    """The library at `path`; None if it is not there, or damaged."""
    try:
        return Library(path, name) if path.is_file() else None
    except LoadError:
        return None


def need(model: Any, kernels: Sequence[str]) -> None:
    """Give a model the code of kernels, those that have none yet: from the cache, or compiled side by side.

    Raises BuildError, NoCompilerError, CacheError, and LoadError where the code generator is not installed; the model
    stays as it is, and the next call tries again.
    """
    wanted = [kernel for kernel in kernels if kernel in model._later]
    if len(wanted) > 1:
        with futures.ThreadPoolExecutor() as pool:
            found = list(pool.map(lambda kernel: _code(model, kernel), wanted))
    else:
        found = [_code(model, kernel) for kernel in wanted]
    for kernel, address in zip(wanted, found, strict=True):
        place = model._later.get(kernel)
        if place is not None:  # another thread may have been quicker
            place.value = address
        model._later.pop(kernel, None)  # last: whoever does not find it there calls it


def _code(model: Any, kernel: str) -> int:
    """The address of a kernel; its library stays loaded."""
    file = Path(model.owner.__file__)
    path = file.parent.parent / method_key(file.parent.name, kernel) / library_name(model.name, kernel)
    try:
        library = open_library(path) if path.is_file() else None
    except LoadError:  # damaged: it is compiled again
        library = None
    try:
        library = library or open_library(builder("model_sources").build_kernel(file, kernel))
    except FileNotFoundError:
        raise BuildError(
            f"{kernel} of {model.name} cannot be compiled: its folder in the cache is gone; compile the model again"
        ) from None
    found = ctypes.cast(getattr(library, f"{model.name}_{kernel}_alone"), ctypes.c_void_p).value
    assert found is not None
    return found
