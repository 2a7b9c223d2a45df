"""`Model`, the user interface of a compiled model, and `load_model`, which makes one of a file."""

from __future__ import annotations

import os
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chaplygin.errors import LoadError
from chaplygin.runtime import core, steppers
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

if TYPE_CHECKING:
    from chaplygin.runtime.ensembles.job import EnsemblePart


class Model(ModelAnalysis, ModelExports, ModelRuns):
    """A compiled model: dy/dt = f(t, y, p, u) with named states y, parameters p and inputs u.

    Created by `System.compile`, `load_model` or a module of `chaplygin.generated`; the constructor takes a capsule
    named "chaplygin.model" and an object to keep alive with it.

    ``rhs(t, y, p, u=())``
        dy/dt, shape (n,) for y of shape (n,), and (n, N) for (n, N), as for `solve_ivp` with ``vectorized=True``.
        p has shape (np,) or (np, N), u (nu,) or (nu, N); vectors can also be dicts by name.
    ``jacobian(t, y, p, u=())``, ``jvp(t, y, p, dy, u=())``
        The derivative of `rhs` with respect to y, shape (n, n), and its product with dy, shape (n,).
    ``call(kernel, t, y, p, u=(), *, dy=None, event=None)``
        The result of any kernel of the model; `kernels` has their names and the lengths of their results.
    ``evaluate(t, y, p, u=())``
        A dict of every state, declared variable, output, reaction, invariant and residual.
    ``integrate(t_span, initial, parameters, inputs, *, method, rtol, atol, t_eval, dense_output, max_step,
    first_step, step, max_steps, events, kinks, paradox, project, sensitivities, sensitivity_control)``
        Integrates over ``t_span = (t0, t1)`` and returns a `Solution`; t1 can be before t0 in models without contacts.
        `initial` is a dict of the declared coordinates and velocities, or a vector in the order of `states`. Dependent
        velocities can be left out; if given, they must agree, or they can replace independent ones, which then follow
        by least squares (see `chaplygin.runtime.problem.missing_velocities`). A start off the constraints is rejected,
        or gives a `ConsistencyWarning` if the violation is slight (`chaplygin.runtime.problem.consistency` has the
        limits); a value that violates an assumption of its symbol, such as ``positive=True``, is rejected.

        Inputs: see `chaplygin.runtime.problem.inputs`; those that are not given are 0.
        `method` is one of `methods`, a dict of `Method` by name; without it
        ``default_method(rtol, atol)`` is taken, and ``sol.method`` says which. They control their steps by `rtol` and
        `atol` (a number, a vector or a dict by state), except "rk4", which takes a fixed `step`. Models compiled with
        ``methods=["taylor"]`` have Taylor's method too.
        An `rtol` below 100 times the spacing of float64 at 1 is raised to that, with a RuntimeWarning. No step is
        longer than `max_step`. No step is shorter than a few spacings of float64 at t, except the last one before `t1`
        or before a sample of an input: a run that needs shorter steps ends with status -3. `t_eval` gives the times to
        record; by default every step is recorded. A run that fails returns what it has, with `status` and `message`;
        Ctrl-C raises KeyboardInterrupt.

        The events of the model are always detected. `events` adds Python events, as in `solve_ivp`: one or several
        callables of (t, y) with the attributes `terminal` (True, or the number of occurrences after which the run ends)
        and `direction`. Where an event function changes sign, the step is repeated up to its zero, so that the time is
        as accurate as the method; a zero at the start is not an event, nor is touching zero. ``kinks=True`` also ends a
        step at each kink of the equations (Abs, sign, Min, Max, Piecewise), but not where the motion slides along one:
        those are passed as without `kinks`. Dips of an event function that are narrower than 1/500 of a step and lie
        between all samples can be missed; reduce `max_step` then. Events that accumulate end the run with status -9.
        `paradox` says what to do if contacts allow several modes: "stop", "keep" as many
        modes as possible, or "stick_first". If they allow none, the run always ends, with status -10.

        The end of each accepted step is moved back onto the constraints, in the metric of the kinetic energy, where the
        system has holonomic ones: ``project="constraints"``, the default. "all" also returns invariants of redundant
        coordinates, as the square of a quaternion's length, to their values at the start; None moves nothing. The error
        estimate is that of the step before. Where Newton's method does not converge the run ends with status -1.

        `sensitivities` names parameters, initial values or constant inputs: ``sol.sensitivity["x", "m"]`` is then dx/dm
        along the run, shape (N,), from the variational equations, integrated in the same steps. With
        ``sensitivity_control=False`` their errors do not control the steps. See docs/sensitivities.md.

    ``default_method(rtol=1e-9, atol=1e-9)``
        The method that every kind of run takes by default, by the larger of `rtol` and the smallest `atol`: "vern9" up
        to 1e-5 (in models with events or contacts up to 1e-13), "dop853" above. Those were the fastest at equal error;
        bench/RESULTS.md has the measurement. A stiff motion needs "auto" or "rodas5p".

    Wrong arguments raise `ArgumentError` (a ValueError) that names the entry; `rhs` and the other kernels raise
    `KernelError` if the equations are singular. `address` and `addresses` are for ctypes, numba and C code, `capsule`
    for Cython. A model can be used from several threads.

    >>> from chaplygin.generated.harmonic_oscillator import model
    >>> for method in model.methods.values():
    ...     print(f"{method.name}: {method.summary}")
    rk4: order 4, fixed step
    dop853: order 8
    tsit5: order 5, for loose tolerances
    vern7: order 7, for tight tolerances
    vern9: order 9, for tight tolerances
    rodas5p: order 5, implicit, for stiff systems
    auto: dop853, or rodas5p where the motion is stiff
    >>> model.rhs(0, {"x": 1, "x_dot": 0}, {"m": 1, "k": 4})
    array([ 0., -4.])
    >>> sol = model.integrate((0, 10), {"x": 1, "x_dot": 0}, {"m": 1, "k": 4}, rtol=1e-9)
    >>> round(float(sol["x"][-1]), 6)    # cos 20
    0.408082
    >>> round(float(sol.evaluate("energy")[-1]), 6)
    2.0
    """

    def _stepper(self, *given: Any) -> steppers.Stepper:
        return steppers.Stepper(self, *given)

    def _ensemble_core(self, part: EnsemblePart) -> core.EnsembleCore:
        return core.EnsembleCore(self, part)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a model as the path of its module: the file must exist when it is unpickled."""
        path = getattr(self.owner, "__file__", None)
        if path is None:
            raise TypeError(f"{self.name} cannot be pickled: it was not loaded from a file")
        return load_model, (Path(path),)


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
