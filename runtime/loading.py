"""Loading compiled models, without SymPy and without compiling anything."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from .compiled_model import require_core
from .errors import LoadError
from .model import Model
from .sealing import check_seal, open_library
from .shortened import short

# A Cython module cannot be initialised twice in a process, so each file is loaded only once.
_loaded: dict[tuple[int, int], ModuleType] = {}
_lock = threading.RLock()
if hasattr(os, "register_at_fork"):  # a child must not inherit a lock held by a thread that it does not have
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


def load_model(path: str | os.PathLike[str]) -> Model:
    """Load the model of a built extension module, e.g. from the cache: neither SymPy nor a compiler is needed.

    Raises `LoadError` (an ImportError) if the file is missing, is not a compiled model, was built for another Python or
    another version of the binary interface, or does not end with the digest of its content, as each compiled file does
    from its build on. The digest detects truncation and damage; the file is code, so load only what you trust.

    >>> from chaplygin.generated import harmonic_oscillator
    >>> load_model(harmonic_oscillator.__file__).states
    ('x', 'x_dot')
    """
    require_core()
    module = load_module(path)
    with _lock:
        # Not getattr, which would create a model without the module as its owner.
        model = vars(module).get("model")
        if isinstance(model, Model):
            return model
        capsule = getattr(module, "capsule", None)
        if capsule is None:
            raise LoadError(f"{os.fspath(path)} does not contain a model: it has no capsule")
        made = Model(capsule, owner=module)
        vars(module)["model"] = made
        return made


def load_library(path: str | os.PathLike[str], name: str) -> Model:
    """Load the model of a shared library without a Python module; it must define `<name>_model`.

    The library stays loaded until the process ends, and its file can be removed. Raises `LoadError`.
    """
    require_core()
    library = open_library(path)
    try:
        table = ctypes.c_char.in_dll(library, f"{name}_model")
    except ValueError as error:
        raise LoadError(f"{os.path.basename(path)} cannot be loaded: {error}") from error
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return Model(new(ctypes.addressof(table), _CAPSULE, None), owner=library)


_CAPSULE = b"chaplygin.model"  # must stay alive: a capsule keeps a pointer to its name


def take_over(model: Model, path: str | os.PathLike[str]) -> None:
    """Switch `model` to the code of an extension module of the same model; `load_model` then returns it."""
    module = load_module(path)
    with _lock:
        model._take_over(module.capsule, module)
        vars(module).setdefault("model", model)


def load_module(path: str | os.PathLike[str]) -> ModuleType:
    """Load the extension module in a file; it is initialised only once."""
    try:
        file = Path(os.fspath(path)).resolve()
        found = file.stat()
    except (OSError, TypeError, ValueError) as error:
        raise LoadError(f"no compiled model at {short(path)}: {error}") from error
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
            check_seal(file)
            module = _initialise(name, file)
        _loaded[key] = module
        return module


def _imported(file: Path) -> ModuleType | None:
    """The module of this file if the import system has already loaded it, e.g. one of `chaplygin.generated`."""
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
