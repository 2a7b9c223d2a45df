"""The compiled part of a model: its core, the methods that are compiled for it, pickling."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from chaplygin.errors import CoreMissingError

from ..interface.base_model import BaseModel
from ..interface.description import Variable
from ..problem.options import shown

if TYPE_CHECKING:
    from ..core._core import EnsembleCore, ModelCore
    from ..ensembles.job import EnsemblePart
    from ..steppers.stepper import Stepper

    _core_error: ImportError | None = None
else:
    try:
        from ..core._core import EnsembleCore, ModelCore

        shown()(ModelCore.integrate)
        _core_error = None
    except ImportError as error:  # installed without a compiler: the import works, models do not
        _core_error = error

        class ModelCore:
            """Placeholder for the compiled part; raises an error that says it is missing."""

            def __init__(self, *arguments: object, **options: object) -> None:
                require_core()


def core_available() -> bool:
    """Whether the compiled part of the runtime is available."""
    return _core_error is None


def require_core() -> None:
    """Raise `CoreMissingError` if the compiled part of the runtime is missing."""
    if _core_error is not None:
        raise CoreMissingError(
            "chaplygin.runtime.core._core, the compiled part of the runtime, cannot be loaded "
            f"({_core_error}). Install a C compiler, then: pip install --force-reinstall --no-deps chaplygin. "
            "Pure-Python models run without it."
        )


class CompiledModel(ModelCore, BaseModel):
    """What the core of a model needs in Python; `Model` is the user interface."""

    def __init__(self, capsule: object, *, owner: object = None) -> None:
        super().__init__(capsule, owner=owner)
        self.variables = {entry[0]: Variable(*entry) for entry in reversed(self._variables)}
        self.variables = {name: self.variables[name] for name in dict.fromkeys(e[0] for e in self._variables)}
        self._ensembles: dict[int, Any] = {}
        self._companions: dict[Any, Path] = {}
        self._derivatives: Any = None

    def _inlined(self, method: str, compiling: bool) -> bool:
        """Inline the right-hand side into a method: from the cache, or compiled. Returns whether this is settled."""
        from .inlining import inline

        return inline(self, method, compiling)

    def _stepper(self, *given: Any) -> Stepper:
        from ..steppers.stepper import Stepper

        return Stepper(self, *given)

    def _ensemble_core(self, part: EnsemblePart) -> EnsembleCore:
        return EnsembleCore(self, part)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a model as the path of its module: the file must exist when it is unpickled."""
        from chaplygin.api.load_model import load_model

        path = getattr(self.owner, "__file__", None)
        if path is None:
            raise TypeError(f"{self.name} cannot be pickled: it was not loaded from a file")
        return load_model, (Path(path),)
