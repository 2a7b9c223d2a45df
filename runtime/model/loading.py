"""Loading compiled models, without SymPy and without compiling anything."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

from chaplygin._lazy import pathlib
from chaplygin.errors import LoadError

from .. import interface
from ..interface.messages import short

ENTRY = "entry.json"
"""What the cache tells of a model, beside its library."""

# A Cython module cannot be initialised twice in a process, so each file is loaded only once.
_loaded: dict[tuple[int, int], ModuleType] = {}
lock = threading.RLock()
if hasattr(os, "register_at_fork"):  # a child must not inherit a lock held by a thread that it does not have
    os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)


class Library:
    """A shared library that defines the table of a model; it stays loaded until the process ends."""

    def __init__(self, path: str | os.PathLike[str], name: str) -> None:
        """Raises `LoadError` if it is damaged, or does not define `<name>_model`."""
        self.__file__ = os.fspath(path)
        self._loaded = interface.open_library(path)
        try:
            self._table = ctypes.c_char.in_dll(self._loaded, f"{name}_model")
        except ValueError as error:
            raise LoadError(f"{os.path.basename(path)} does not contain a model: {error}") from error

    def later(self, name: str) -> dict[str, ctypes.c_void_p]:
        """Where the code of each kernel is to be put that the library of the model `name` does not have yet."""
        try:
            names = ctypes.c_char.in_dll(self._loaded, f"{name}_later")
        except ValueError:
            return {}
        kernels = ctypes.string_at(ctypes.addressof(names)).decode().split()
        places = {kernel: ctypes.c_void_p.in_dll(self._loaded, f"{name}_{kernel}_code") for kernel in kernels}
        return {kernel: place for kernel, place in places.items() if not place.value}

    @property
    def address(self) -> int:
        """That of the table."""
        return ctypes.addressof(self._table)

    @property
    def capsule(self) -> object:
        """The table, for `Model`."""
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(self.address, _CAPSULE, None)


_CAPSULE = b"chaplygin.model"  # must stay alive: a capsule keeps a pointer to its name


def load_module(path: str | os.PathLike[str]) -> ModuleType:
    """Load the extension module in a file; it is initialised only once."""
    file = file_of(path)
    suffix = next((suffix for suffix in EXTENSION_SUFFIXES if file.name.endswith(suffix)), None)
    if suffix is None:
        raise LoadError(
            f"{file.name} is not built for this Python: its name must end in {EXTENSION_SUFFIXES[0]}"
        )
    key = identity_of(file)
    with lock:
        module = _loaded.get(key) or _imported(file)
        if module is None:
            interface.check_seal(file)
            module = _initialise(name_of(file), file)
        _loaded[key] = module
        return module


def file_of(path: str | os.PathLike[str]) -> pathlib.Path:
    try:
        file: pathlib.Path = pathlib.Path(os.fspath(path)).resolve()
        file.stat()
    except (OSError, TypeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        plain = isinstance(path, (str, os.PathLike)) and len(str(path)) <= 1000
        raise LoadError(f"no compiled model at {path if plain else short(path)}: {reason}") from error
    if not file.is_file():
        raise LoadError(f"no compiled model at {file}: it is not a file")
    return file


def name_of(file: pathlib.Path) -> str:
    return file.name.split(".")[0]


def identity_of(file: pathlib.Path) -> tuple[int, int]:
    found = file.stat()
    return found.st_dev, found.st_ino


def content_of(file: pathlib.Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise LoadError(f"{file} cannot be read: {error.strerror or error}") from error


def _imported(file: pathlib.Path) -> ModuleType | None:
    """The module of this file if the import system has already loaded it, e.g. one of `chaplygin.generated`.

    One that another thread is importing is waited for.
    """
    for name, module in list(sys.modules.items()):
        origin = getattr(module, "__dict__", {}).get("__file__")
        if (
            isinstance(origin, str)
            and os.path.basename(origin) == file.name
            and os.path.realpath(origin) == os.fspath(file)
        ):
            return import_module(name)
    return None


def _initialise(name: str, file: pathlib.Path) -> ModuleType:
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
