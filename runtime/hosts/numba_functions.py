"""Kernels as functions of numba: a wrapper with checked types and lengths around the kernel's address."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from chaplygin.errors import optional

from ..interface.description import arguments_of
from ..model.compiled_model import CompiledModel
from .lengths import lengths

_TYPES: dict[str, Any] = {"event": ctypes.c_int32, "t": ctypes.c_double}
"""Arguments that are numbers; the others are pointers."""


def numba_function(model: CompiledModel, kernel: str) -> Any:
    """See `Model.to_numba`."""
    entry = model._entry(kernel)
    numba = optional("numba", "Model.to_numba", "numba")
    names, sizes = arguments_of(entry.takes), lengths(model, entry)
    types = [_TYPES.get(name, ctypes.c_void_p) for name in names]
    function = ctypes.CFUNCTYPE(ctypes.c_int, *types)(model.addresses[kernel])
    arrays = [name for name in names if name not in (*_TYPES, "work")]
    wrong = " or ".join(f"len({name}) != {sizes[name]}" for name in arrays)
    needed = ", ".join(f"{name}: {sizes[name]}" for name in arrays)
    scratch = (
        f"np.empty({sizes['work']})" if sizes["work"] else "out"
    )  # not touched then; empty(0) takes 0.1 us
    passed = ", ".join(name if name in _TYPES else f"{name}.ctypes" for name in names)
    text = f"""
def {kernel}({", ".join(name for name in names if name != "work")}):
    if {wrong}:
        raise ValueError("{kernel} of {model.name} takes arrays of the lengths {needed}")
    work = {scratch}
    return function({passed})
"""
    scope = {"np": np, "function": function}
    exec(text, scope)  # of names and numbers alone: the shape of the call differs from kernel to kernel
    vector = numba.float64[::1]
    numbers = {"event": numba.int32, "t": numba.float64}
    signature = numba.int32(*(numbers.get(name, vector) for name in names if name != "work"))
    return numba.njit(signature, nogil=True)(scope[kernel])
