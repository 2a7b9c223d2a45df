"""`Model`, the user interface of a compiled model; `load_model` makes one of a file; `Uncompiled` is taken for one."""

from __future__ import annotations

import os
from importlib.machinery import EXTENSION_SUFFIXES
from typing import Any

from chaplygin._lazy import pathlib
from chaplygin.errors import LoadError
from chaplygin.runtime import steppers
from chaplygin.runtime.interface.messages import Hinted
from chaplygin.runtime.model.compiled_model import require_core
from chaplygin.runtime.model.loading import (
    Library,
    content_of,
    file_of,
    identity_of,
    load_module,
    lock,
    name_of,
)

from .model_analysis import ModelAnalysis
from .model_exports import ModelExports
from .model_runs import ModelRuns


class Model(ModelAnalysis, ModelExports, ModelRuns):
    """A compiled model: dy/dt = f(t, y, p, u) with named states y, parameters p and inputs u.

    Created by `System.compile`, `load_model` or a module of `chaplygin.generated`. docs/runs.md says what it does, what
    a start is and what the options of a run mean.

    Parameters
    ----------
    capsule : named "chaplygin.model", with the address of its table in C
    owner : an object to keep alive with it

    Attributes
    ----------
    states, parameters, inputs, outputs, invariants, events, contacts : names, in the order of vectors
    variables : dict of `Variable` by name; `methods` of `Method`; `kernels`, the lengths of their results
    capsule, address, addresses : for Cython; for ctypes, numba and C code

    ``rhs(t, y, p, u=())`` is dy/dt, shape (n,) for y of shape (n,), and (n, N) for (n, N), as for `solve_ivp` with
    ``vectorized=True``; p has shape (np,) or (np, N), u (nu,) or (nu, N), and vectors can be dicts by name.
    ``jacobian(t, y, p, u=())`` is its derivative by y, (n, n); `jvp` that along dy; `call` the result of any kernel;
    `evaluate` a dict of everything. `integrate` gives a `Solution`, `stepper` a `Stepper`, `batch` a `Batch` and
    `ensemble` an `Ensemble`. A model can be used from several threads.

    Raises `ArgumentError` (a ValueError) that names the entry that is wrong, and `KernelError` where the equations are
    singular.

    >>> from chaplygin.generated.harmonic_oscillator import model
    >>> model.rhs(0, {"x": 1, "x_dot": 0}, {"m": 1, "k": 4})
    array([ 0., -4.])
    >>> sol = model.integrate((0, 10), {"x": 1, "x_dot": 0}, {"m": 1, "k": 4}, rtol=1e-9)
    >>> round(float(sol["x"][-1]), 6)    # cos 20
    0.408082
    """

    def _stepper(self, *given: Any) -> steppers.Stepper:
        return steppers.Stepper(self, *given)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a model as the path of its module: the file must exist when it is unpickled."""
        path = getattr(self.owner, "__file__", None)
        if path is None:
            raise TypeError(f"{self.name} cannot be pickled: it was not loaded from a file")
        self._complete()
        return load_model, (pathlib.Path(path),)


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
    file = file_of(path)
    if not file.name.endswith((*EXTENSION_SUFFIXES, ".so", ".dll")):
        raise LoadError(
            f"{file.name} is not built for this Python: its name must end in .so, .dll or {EXTENSION_SUFFIXES[0]}"
        )
    if f"PyInit_{name_of(file)}".encode() not in content_of(file):
        key = identity_of(file)
        with lock:
            if key not in _models:
                _models[key] = load_library(file, name_of(file))
            return _models[key]
    module = load_module(file)
    with lock:
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


class Uncompiled(Hinted):
    """A system or its equations, in whose place a compiled model is often meant."""

    def _elsewhere(self, name: str) -> str | None:
        return f"its model has it: compile().{name}" if hasattr(Model, name) else None
