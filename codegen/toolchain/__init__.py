"""From text to a loaded model: the compiler, the cache, the libraries of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaplygin._lazy import face

if TYPE_CHECKING:
    from .library import build as build
    from .model_program import program_of as program_of

__getattr__ = face(__name__, {"build": ".library", "program_of": ".model_program"})
