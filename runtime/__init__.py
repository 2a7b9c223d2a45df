"""Running compiled models: calls, integration, ensembles. Never imports SymPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import (
    ArgumentError,
    ChaplyginError,
    ConsistencyWarning,
    CoreMissingError,
    KernelError,
    LoadError,
    MissingExtraError,
    PurePythonWarning,
)
from .variants import search_path

if TYPE_CHECKING:
    from .base_model import Method, Variable
    from .compiled_model import core_available
    from .ensemble_result import Ensemble
    from .loading import load_model
    from .model import Model
    from .python_model import PythonKernels, PythonModel
    from .snapshots import Snapshot
    from .solution import Solution
    from .stepper import Stepper

__all__ = [
    "ArgumentError",
    "Batch",
    "BatchSnapshot",
    "ChaplyginError",
    "ConsistencyWarning",
    "CoreMissingError",
    "Ensemble",
    "KernelError",
    "LoadError",
    "Method",
    "MissingExtraError",
    "Model",
    "Snapshot",
    "Solution",
    "Stepper",
    "PythonKernels",
    "PythonModel",
    "PurePythonWarning",
    "Variable",
    "core_available",
    "load_model",
]

_LATER = {
    "Batch": "batch",
    "BatchSnapshot": "batch",
    "Ensemble": "ensemble_result",
    "Method": "base_model",
    "Model": "model",
    "Snapshot": "snapshots",
    "Solution": "solution",
    "Stepper": "stepper",
    "PythonKernels": "python_model",
    "PythonModel": "python_model",
    "Variable": "base_model",
    "core_available": "compiled_model",
    "load_model": "loading",
}


__path__ = search_path(__path__)


def __getattr__(name: str) -> Any:
    # Imported on first use: a process that only compiles needs no NumPy, a short run no ensembles.
    from importlib import import_module

    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: Any = getattr(import_module(f".{_LATER[name]}", __name__), name)
    globals()[name] = found
    return found
