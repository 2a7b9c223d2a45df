"""Compiled models from their files: `load_model`."""

from __future__ import annotations

import os
from importlib.machinery import EXTENSION_SUFFIXES

from chaplygin.errors import LoadError
from chaplygin.runtime.model.compiled_model import require_core
from chaplygin.runtime.model.loading import Library, _content, _file, _identity, _lock, _name, load_module

from .model import Model

_models: dict[tuple[int, int], Model] = {}
"""The models of libraries without a module."""


def load_model(path: str | os.PathLike[str]) -> Model:
    """Load the model of a compiled file, e.g. from the cache: neither SymPy nor a compiler is needed.

    The file is the library of a model in the cache, or an extension module as those of `chaplygin.generated`.

    Raises `LoadError` (an ImportError) if the file is missing, is not a compiled model, was built for another Python or
    another version of the binary interface, or does not end with the digest of its content, as each compiled file does
    from its build on. The digest detects truncation and damage; the file is code, so load only what you trust.

    >>> from chaplygin.generated import harmonic_oscillator
    >>> load_model(harmonic_oscillator.__file__).states
    ('x', 'x_dot')
    """
    require_core()
    file = _file(path)
    if not file.name.endswith((*EXTENSION_SUFFIXES, ".so", ".dll")):
        raise LoadError(
            f"{file.name} is not built for this Python: its name must end in .so, .dll or {EXTENSION_SUFFIXES[0]}"
        )
    if f"PyInit_{_name(file)}".encode() not in _content(file):
        key = _identity(file)
        with _lock:
            if key not in _models:
                _models[key] = load_library(file, _name(file))
            return _models[key]
    module = load_module(file)
    with _lock:
        # Not getattr, which would create a model without the module as its owner.
        model = vars(module).get("model")
        if isinstance(model, Model):
            return model
        capsule = getattr(module, "capsule", None)
        if capsule is None:
            raise LoadError(f"{os.fspath(path)} does not contain a model: it has no capsule")
        made: Model = vars(module).setdefault("model", Model(capsule, owner=module))
        return made


def load_library(path: str | os.PathLike[str], name: str) -> Model:
    """The model of a shared library that defines `<name>_model`. Raises `LoadError`."""
    require_core()
    library = Library(path, name)
    return Model(library.capsule, owner=library)
