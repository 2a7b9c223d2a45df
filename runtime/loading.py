"""Loading of compiled models, without SymPy and without compiling anything."""

from __future__ import annotations

import os
import sys
import threading
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from .errors import LoadError
from .model import Model, require_core

__all__ = ["load_model", "load_module"]

# A Cython module cannot be initialised twice in a process, so each file is loaded once and remembered.
_loaded: dict[tuple[int, int], ModuleType] = {}
_lock = threading.RLock()


def load_model(path: str | os.PathLike[str]) -> Model:
    """The model of a built extension module, e.g. from the cache: neither SymPy nor a compiler is needed.

    Raises `LoadError` (an ImportError) where the file is missing, is not a compiled model, was built for another
    Python or another version of the binary interface. The file is code: load only what you trust.

    >>> from chaplygin.generated import harmonic_oscillator
    >>> load_model(harmonic_oscillator.__file__).states
    ('x', 'x_dot')
    """
    require_core()
    module = load_module(path)
    with _lock:
        # Not getattr, which would make a model without the module as its owner.
        model = vars(module).get("model")
        if isinstance(model, Model):
            return model
        capsule = getattr(module, "capsule", None)
        if capsule is None:
            raise LoadError(f"{os.fspath(path)} holds no model: it has no capsule")
        made = Model(capsule, owner=module)
        vars(module)["model"] = made
        return made


def load_module(path: str | os.PathLike[str]) -> ModuleType:
    """The extension module in a file, initialised once however often it is asked for."""
    try:
        file = Path(os.fspath(path)).resolve()
        found = file.stat()
    except (OSError, TypeError, ValueError) as error:
        raise LoadError(f"no compiled model at {path!r}: {error}") from error
    if not file.is_file():
        raise LoadError(f"no compiled model at {file}: it is not a file")
    suffix = next((suffix for suffix in EXTENSION_SUFFIXES if file.name.endswith(suffix)), None)
    if suffix is None:
        raise LoadError(
            f"{file.name} is not built for this Python: its name must end in {EXTENSION_SUFFIXES[0]}"
        )
    name = file.name.split(".")[0]
    key = (found.st_dev, found.st_ino)
    with _lock:
        module = _loaded.get(key) or _imported(file)
        if module is None:
            module = _initialise(name, file)
        _loaded[key] = module
        return module


def _imported(file: Path) -> ModuleType | None:
    """The module of this file where the import system has loaded it already, e.g. one of `chaplygin.generated`."""
    for module in list(sys.modules.values()):
        origin = getattr(module, "__dict__", {}).get("__file__")
        if (
            isinstance(origin, str)
            and os.path.basename(origin) == file.name
            and Path(origin).resolve() == file
        ):
            return module
    return None


def _initialise(name: str, file: Path) -> ModuleType:
    loader = ExtensionFileLoader(name, str(file))
    spec = spec_from_file_location(name, str(file), loader=loader)
    if spec is None:
        raise LoadError(f"{file.name} cannot be loaded as a module")
    try:
        module = module_from_spec(spec)
        loader.exec_module(module)
    except LoadError:
        raise
    except Exception as error:
        raise LoadError(f"{file.name} cannot be loaded: {error}") from error
    return module
