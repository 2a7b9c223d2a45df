"""Running compiled models: calls, integration, ensembles. Never imports SymPy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaplygin._lazy import face
from chaplygin.errors import (
    ArgumentError,
    ChaplyginError,
    ConsistencyWarning,
    CoreMissingError,
    KernelError,
    LoadError,
    MissingExtraError,
    PurePythonWarning,
)

if TYPE_CHECKING:
    from chaplygin.api.model import Model, load_model
    from chaplygin.api.python_model import PythonModel
    from chaplygin.codegen.emit.python_backend import PythonKernels

    from .ensembles.ensemble import Ensemble
    from .interface.description import Method, Variable
    from .model.compiled_model import core_available
    from .results.solution import Solution
    from .steppers.snapshots import Snapshot
    from .steppers.stepper import Stepper

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
    "Batch": "chaplygin.runtime.ensembles.batch",
    "BatchSnapshot": "chaplygin.runtime.ensembles.batch",
    "Ensemble": "chaplygin.runtime.ensembles.ensemble",
    "Method": "chaplygin.runtime.interface.description",
    "Model": "chaplygin.api.model",
    "PythonKernels": "chaplygin.codegen.emit.python_backend",
    "PythonModel": "chaplygin.api.python_model",
    "Snapshot": "chaplygin.runtime.steppers.snapshots",
    "Solution": "chaplygin.runtime.results.solution",
    "Stepper": "chaplygin.runtime.steppers.stepper",
    "Variable": "chaplygin.runtime.interface.description",
    "core_available": "chaplygin.runtime.model.compiled_model",
    "load_model": "chaplygin.api.model",
}

# Imported on first use: a process that only compiles needs no NumPy, a short run no ensembles.
__getattr__ = face(__name__, _LATER)
