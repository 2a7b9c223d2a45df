"""Equations of motion of nonholonomic systems: declared, derived, compiled, integrated.

>>> import chaplygin as cg
>>> cg.__version__
'0.1.0'

Public names are loaded on first use, so that importing chaplygin and running an already compiled model never import
SymPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

# Defining module -> public names. Add a new name here, to __all__, and to the block below for type checkers.
_HOMES = {
    "chaplygin.codegen.build.compile": ("compile",),
    "chaplygin.codegen.declare.contacts": ("Coulomb",),
    "chaplygin.codegen.derive.equations": ("Equations",),
    "chaplygin.codegen.declare.events": ("Event",),
    "chaplygin.codegen.declare.pfaff": ("fields_from_forms",),
    "chaplygin.codegen.declare.interactions": ("Damper", "Motor", "Spring", "Weight", "Wrench"),
    "chaplygin.codegen.lower.program": ("Program", "Sources"),
    "chaplygin.codegen.methods": ("Pair",),
    "chaplygin.codegen.declare.bodies": ("Body", "turn"),
    "chaplygin.codegen.declare.rolling": ("rolling",),
    "chaplygin.codegen.declare.symbols": (
        "coordinates",
        "inputs",
        "multiplier",
        "parameters",
        "rate",
        "time",
        "velocities",
    ),
    "chaplygin.codegen.declare.system": ("System",),
    "chaplygin.runtime": ("errors",),
    "chaplygin.runtime.ensemble": ("Ensemble", "ensemble"),
    "chaplygin.runtime.errors": (
        "ArgumentError",
        "BranchWarning",
        "BuildError",
        "CacheError",
        "ChaplyginError",
        "ConsistencyWarning",
        "CoreMissingError",
        "DeclarationError",
        "EmitError",
        "FormError",
        "KernelError",
        "LoadError",
        "MissingExtraError",
        "NoCompilerError",
        "RangeError",
        "PurePythonWarning",
        "UnknownSystemError",
    ),
    "chaplygin.runtime.loading": ("load_model",),
    "chaplygin.runtime.model": ("Model",),
    "chaplygin.runtime.solution": ("Solution",),
    "chaplygin.runtime.stepper": ("Stepper",),
    "chaplygin.systems": ("Example", "example", "examples"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "__version__",
    "ArgumentError",
    "Body",
    "BranchWarning",
    "BuildError",
    "CacheError",
    "ChaplyginError",
    "ConsistencyWarning",
    "CoreMissingError",
    "Coulomb",
    "Damper",
    "DeclarationError",
    "EmitError",
    "Ensemble",
    "Equations",
    "Event",
    "Example",
    "FormError",
    "KernelError",
    "LoadError",
    "MissingExtraError",
    "Model",
    "Motor",
    "NoCompilerError",
    "Pair",
    "RangeError",
    "Program",
    "Solution",
    "Sources",
    "Spring",
    "Stepper",
    "System",
    "PurePythonWarning",
    "UnknownSystemError",
    "Weight",
    "Wrench",
    "compile",
    "coordinates",
    "ensemble",
    "errors",
    "example",
    "examples",
    "fields_from_forms",
    "inputs",
    "load_model",
    "multiplier",
    "parameters",
    "rate",
    "rolling",
    "time",
    "turn",
    "velocities",
]

if TYPE_CHECKING:
    from chaplygin.codegen.build.compile import compile
    from chaplygin.codegen.declare.bodies import Body, turn
    from chaplygin.codegen.declare.contacts import Coulomb
    from chaplygin.codegen.declare.events import Event
    from chaplygin.codegen.declare.interactions import Damper, Motor, Spring, Weight, Wrench
    from chaplygin.codegen.declare.pfaff import fields_from_forms
    from chaplygin.codegen.declare.rolling import rolling
    from chaplygin.codegen.declare.symbols import (
        coordinates,
        inputs,
        multiplier,
        parameters,
        rate,
        time,
        velocities,
    )
    from chaplygin.codegen.declare.system import System
    from chaplygin.codegen.derive.equations import Equations
    from chaplygin.codegen.lower.program import Program, Sources
    from chaplygin.codegen.methods import Pair
    from chaplygin.runtime import errors
    from chaplygin.runtime.ensemble import Ensemble, ensemble
    from chaplygin.runtime.errors import (
        ArgumentError,
        BranchWarning,
        BuildError,
        CacheError,
        ChaplyginError,
        ConsistencyWarning,
        CoreMissingError,
        DeclarationError,
        EmitError,
        FormError,
        KernelError,
        LoadError,
        MissingExtraError,
        NoCompilerError,
        PurePythonWarning,
        RangeError,
        UnknownSystemError,
    )
    from chaplygin.runtime.loading import load_model
    from chaplygin.runtime.model import Model
    from chaplygin.runtime.solution import Solution
    from chaplygin.runtime.stepper import Stepper
    from chaplygin.systems import Example, example, examples
else:

    def __getattr__(name: str) -> object:
        home = _HOME_OF.get(name)
        if home is None:
            raise AttributeError(f"module 'chaplygin' has no attribute {name!r}")
        value = getattr(import_module(home), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
