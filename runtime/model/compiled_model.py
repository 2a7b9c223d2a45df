"""The compiled part of a model: its core, and kernels that are compiled when they are first used."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from chaplygin._lazy import later, pathlib
from chaplygin.errors import CoreMissingError

from ..interface.description import Variable
from ..problem.options import shown
from ..problem.start import InitialStates
from .loading import ENTRY, Library

if TYPE_CHECKING:
    from ..core._core import ModelCore

    _core_error: ImportError | None = None
else:
    try:
        from ..core._core import ModelCore

        shown(ModelCore.integrate)
        _core_error = None
    except ImportError as error:  # installed without a compiler: the import works, models do not
        _core_error = error

        class ModelCore:
            """Placeholder for the compiled part; raises an error that says it is missing."""

            def __init__(self, *arguments: object, **options: object) -> None:
                require_core()


inlining = later("chaplygin.runtime.model.inlining")


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


class CompiledModel(ModelCore, InitialStates):
    """What the core of a model needs in Python; `Model` is the user interface."""

    def __init__(self, capsule: object, *, owner: object = None) -> None:
        super().__init__(capsule, owner=owner)
        self.variables = {entry[0]: Variable(*entry) for entry in reversed(self._variables)}
        self.variables = {name: self.variables[name] for name in dict.fromkeys(e[0] for e in self._variables)}
        self._library = self  # the model whose kernels this one calls
        self._later = owner.later(self.name) if isinstance(owner, Library) else {}
        self._companions: dict[Any, pathlib.Path] = {}
        self._derivatives: Any = None

    def _need(self, *kernels: str) -> None:
        """Give the model the code of kernels that have none yet."""
        if self._library._later:
            inlining.need(self._library, kernels)

    def _complete(self) -> None:
        """Give the model the code of all its kernels, for those who call them without asking."""
        self._need(*self._later)

    def _inlined(self, method: str, compiling: bool) -> bool:
        """Inline the right-hand side into a method: from the cache, or compiled. Returns whether this is settled."""
        file = getattr(self.owner, "__file__", "")
        cached = os.path.isfile(os.path.join(os.path.dirname(file), ENTRY))
        return not (cached or self._later) or inlining.inline(self, method, compiling)
