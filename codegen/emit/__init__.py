"""From a `Program` to text: C, Cython, Python, C bundles, FMUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaplygin._lazy import face

if TYPE_CHECKING:
    from .c_derivatives import derivatives_file as derivatives_file
    from .targets import COMPILED as COMPILED, DEFAULT as DEFAULT, emit as emit, emit_to as emit_to

__getattr__ = face(
    __name__,
    {
        "COMPILED": ".targets",
        "DEFAULT": ".targets",
        "derivatives_file": ".c_derivatives",
        "emit": ".targets",
        "emit_to": ".targets",
    },
)
