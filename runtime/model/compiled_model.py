"""The compiled part of a model: its core, and kernels that are compiled when they are first used."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chaplygin._lazy import later
from chaplygin.errors import BuildError, CoreMissingError, LoadError

from ..interface.checksum import open_library
from ..interface.description import Variable
from ..interface.files import library_name, method_key
from ..problem.options import shown
from ..problem.start import InitialStates
from .builder import builder
from .inlining import inline
from .loading import Library

futures = later("concurrent.futures")

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
        self._companions: dict[Any, Path] = {}
        self._derivatives: Any = None

    def _need(self, *kernels: str) -> None:
        """Give the model the code of kernels that have none yet."""
        need(self._library, kernels)

    def _complete(self) -> None:
        """Give the model the code of all its kernels, for those who call them without asking."""
        need(self._library, tuple(self._later))

    def _inlined(self, method: str, compiling: bool) -> bool:
        """Inline the right-hand side into a method: from the cache, or compiled. Returns whether this is settled."""
        return inline(self, method, compiling)


def need(model: Any, kernels: Sequence[str]) -> None:
    """Give a model the code of kernels, those that have none yet: from the cache, or compiled side by side.

    Raises BuildError, NoCompilerError, CacheError, and LoadError where the code generator is not installed; the model
    stays as it is, and the next call tries again.
    """
    wanted = [kernel for kernel in kernels if kernel in model._later]
    if len(wanted) > 1:
        with futures.ThreadPoolExecutor() as pool:
            found = list(pool.map(lambda kernel: _code(model, kernel), wanted))
    else:
        found = [_code(model, kernel) for kernel in wanted]
    for kernel, address in zip(wanted, found, strict=True):
        place = model._later.get(kernel)
        if place is not None:  # another thread may have been quicker
            place.value = address
        model._later.pop(kernel, None)  # last: whoever does not find it there calls it


def _code(model: Any, kernel: str) -> int:
    """The address of a kernel; its library stays loaded."""
    file = Path(model.owner.__file__)
    path = file.parent.parent / method_key(file.parent.name, kernel) / library_name(model.name, kernel)
    try:
        library = open_library(path) if path.is_file() else None
    except LoadError:  # damaged: it is compiled again
        library = None
    try:
        library = library or open_library(builder("model_sources").build_kernel(file, kernel))
    except FileNotFoundError:
        raise BuildError(
            f"{kernel} of {model.name} cannot be compiled: its folder in the cache is gone; compile the model again"
        ) from None
    found = ctypes.cast(getattr(library, f"{model.name}_{kernel}_alone"), ctypes.c_void_p).value
    assert found is not None
    return found
