"""A compiled model: loading, derivatives, expressions, lanes and inlined methods on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaplygin._lazy import face

if TYPE_CHECKING:
    from .compiled_model import core_available as core_available, require_core as require_core
    from .projection import consistent as consistent

__getattr__ = face(
    __name__,
    {"consistent": ".projection", "core_available": ".compiled_model", "require_core": ".compiled_model"},
)
