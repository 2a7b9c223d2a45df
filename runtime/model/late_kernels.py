"""Kernels for which a model has no code at first: each is compiled when it is first used, and kept in the cache."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from chaplygin._lazy import later
from chaplygin.errors import BuildError, LoadError

from ..interface.checksum import open_library
from ..interface.files import library_name, method_key
from .builder import builder

futures = later("concurrent.futures")


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
        library = library or open_library(builder("late_kernels").build_kernel(file, kernel))
    except FileNotFoundError:
        raise BuildError(
            f"{kernel} of {model.name} cannot be compiled: its folder in the cache is gone; compile the model again"
        ) from None
    found = ctypes.cast(getattr(library, f"{model.name}_{kernel}_alone"), ctypes.c_void_p).value
    assert found is not None
    return found
