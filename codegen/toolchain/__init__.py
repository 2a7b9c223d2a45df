"""From text to a loaded model: the compiler, the cache, the libraries of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaplygin._lazy import face

if TYPE_CHECKING:
    from .cache import ENTRY as ENTRY, cache_folder as cache_folder
    from .compiler import cpu_features as cpu_features, find_compiler as find_compiler
    from .library import build as build
    from .model_program import program_of as program_of

__getattr__ = face(
    __name__,
    {
        "ENTRY": ".cache",
        "build": ".library",
        "cache_folder": ".cache",
        "cpu_features": ".compiler",
        "find_compiler": ".compiler",
        "program_of": ".model_program",
    },
)
