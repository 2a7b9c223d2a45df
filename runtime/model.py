"""`Model`: the user interface of a compiled model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .base_model import BaseModel, Variable
from .errors import ArgumentError, CoreMissingError
from .lanes import await_build
from .options import GRADIENT_MEMORY, PERIODIC, of_call, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from typing_extensions import Unpack

    from ._core import EnsembleCore, ModelCore
    from .analysis.lyapunov import LyapunovExponents
    from .analysis.periodic import PeriodicOrbit
    from .analysis.steady import SteadyState
    from .ensemble_job import EnsemblePart
    from .gradients.gradient import Gradient
    from .gradients.objective import Objective
    from .options import RunKeywords
    from .stepper import Stepper

    _core_error: ImportError | None = None
else:
    try:
        from ._core import EnsembleCore, ModelCore

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
            "chaplygin.runtime._core, the compiled part of the runtime, cannot be loaded "
            f"({_core_error}). Install a C compiler, then: pip install --force-reinstall --no-deps chaplygin. "
            "Pure-Python models run without it."
        )


def prepare(model: Any, count: int) -> None:
    """Complete the build of a compiled model for `count` trajectories; raise `CoreMissingError` if it cannot run."""
    if isinstance(model, Model):
        require_core()
        await_build(model, count)


class Model(ModelCore, BaseModel):
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
        by least squares (see `chaplygin.runtime.declared`). A start off the constraints is rejected, or gives a
        `ConsistencyWarning` if the violation is slight (`chaplygin.runtime.consistency` has the limits); a value that
        violates an assumption of its symbol, such as ``positive=True``, is rejected.

        Inputs: see `chaplygin.runtime.inputs`. `method` is one of `methods`, a dict of `Method` by name; without it
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
        step at each kink of the equations (Abs, sign, Min, Max, Piecewise). Dips of an event function that are narrower
        than 1/500 of a step and lie between all samples can be missed; reduce `max_step` then. Events that accumulate
        end the run with status -9. `paradox` says what to do if contacts allow several modes: "stop", "keep" as many
        modes as possible, or "stick_first". If they allow none, the run always ends, with status -10.

        The end of each accepted step is moved back onto the constraints, in the metric of the kinetic energy, where the
        system has holonomic ones: ``project="constraints"``, the default. "all" also returns invariants of redundant
        coordinates, as the square of a quaternion's length, to their values at the start; None moves nothing. The error
        estimate is that of the step before. Where Newton's method does not converge the run ends with status -1.

        `sensitivities` names parameters, initial values or constant inputs: ``sol.sensitivity["x", "m"]`` is then dx/dm
        along the run, shape (N,), from the variational equations, integrated in the same steps. With
        ``sensitivity_control=True`` their errors control the steps too. See docs/sensitivities.md.

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

    _rest: Callable[[], None] | None = None  # completes the build of this model, or waits for it

    def __init__(self, capsule: object, *, owner: object = None) -> None:
        super().__init__(capsule, owner=owner)
        self.variables = {entry[0]: Variable(*entry) for entry in reversed(self._variables)}
        self.variables = {name: self.variables[name] for name in dict.fromkeys(e[0] for e in self._variables)}
        self._ensembles: dict[int, Any] = {}
        self._companions: dict[Any, Path] = {}
        self._derivatives: Any = None

    @property
    def owner(self) -> object:
        """The object that keeps the model's code loaded: for a compiled model its module, with ``owner.__file__``.

        If the module is still being built in the background, this waits for it. Raises BuildError if the build fails.
        """
        self._complete()
        return super().owner

    def _complete(self) -> None:
        """Complete the build of this model, or wait until it is complete. Raises BuildError if it failed."""
        rest = self._rest
        if rest is not None:
            rest()

    def _stepper(self, *given: Any) -> Stepper:
        from .stepper import Stepper

        return Stepper(self, *given)

    def _ensemble_core(self, part: EnsemblePart) -> EnsembleCore:
        return EnsembleCore(self, part)

    @shown()
    def gradient(
        self,
        loss: Any,
        t_span: tuple[float, float],
        initial: Any = None,
        parameters: Any = None,
        inputs: Any = None,
        *,
        by: Any = None,
        memory: int = GRADIENT_MEMORY,
        **options: Unpack[RunKeywords],
    ) -> Gradient:
        """The derivatives of a loss along a run by parameters, initial values and constant inputs.

        The loss is an entry or a list of entries, which are added: ``cg.final(f)`` for a quantity or a SymPy expression
        at the end, ``cg.integral(f)`` for its integral over the run, ``cg.squares(data)`` for the squares of residuals
        against measured series, and ``cg.loss(function, entry)`` for a Python function of samples that returns its
        value and its derivatives. `by` names what to differentiate by; without it, all parameters, then all initial
        values. The rest is as for `integrate`; steps end at the times of samples. The result is a `Gradient`.

        It is that of the steps as they were taken, to rounding errors, for all explicit Runge-Kutta methods: one run
        forward, and one backward with the adjoint right-hand side, whatever the number of names. `memory` is a bound
        in bytes on what is kept of the steps; those that do not fit are taken again, as in Griewank and Walther's
        Algorithm 799. docs/fitting.md has the equations.

        Raises `ArgumentError` for a model with events, contacts or kinks, a loss that is not differentiable, inputs
        that vary, and a method or a projection without an adjoint; `KernelError` if the run fails.

        >>> import chaplygin as cg
        >>> from chaplygin.generated.harmonic_oscillator import model
        >>> found = model.gradient(cg.final("x"), (0, 1), {"x": 1, "x_dot": 0}, {"m": 1, "k": 4})
        >>> round(found.value, 8), round(found["k"], 8)  # cos 2, -sin(2)/4
        (-0.41614684, -0.22732436)
        """
        from .gradients.gradient import gradient

        how = of_call(Model.gradient, options)
        return gradient(self, loss, t_span, initial, parameters, inputs, by, memory, how)

    @shown()
    def objective(
        self,
        loss: Any,
        t_span: tuple[float, float],
        initial: Any = None,
        parameters: Any = None,
        inputs: Any = None,
        *,
        free: Any = None,
        memory: int = GRADIENT_MEMORY,
        **options: Unpack[RunKeywords],
    ) -> Objective:
        """A loss as a function of the vector of the values of `free`, which returns the loss and its gradient.

        The arguments are as for `gradient`, `free` is its `by`; the values given are the `start` of the function, and
        assumptions such as ``positive=True`` its `bounds`. It is what ``scipy.optimize.minimize(..., jac=True)`` takes;
        ``to_jax()`` and ``to_torch()`` make functions of JAX and PyTorch of it. Raises `ArgumentError` as `gradient`.

        >>> import chaplygin as cg
        >>> from chaplygin.generated.harmonic_oscillator import model
        >>> start = {"x": 1, "x_dot": 0}, {"m": 1, "k": 4}
        >>> loss = model.objective(cg.final("x"), (0, 1), *start, free=["k"])
        >>> value, slope = loss([4.0])
        >>> round(value, 8), slope.round(8)  # cos 2, -sin(2)/4
        (-0.41614684, array([-0.22732436]))
        """
        from .gradients.objective import Objective

        how = of_call(Model.objective, options)
        return Objective(self, loss, t_span, initial, parameters, inputs, free, memory, how)

    def export_fmu(
        self,
        path: str | os.PathLike[str],
        version: str = "3.0",
        kind: str = "both",
        *,
        platforms: Sequence[str] = (),
        initial: Any = None,
        parameters: Any = None,
        inputs: Any = None,
    ) -> Path:
        """Write this model as an FMU, a component for other simulators, and return its path.

        `version` is "2.0" or "3.0" of the Functional Mock-up Interface, `kind` "model-exchange" (the simulator
        integrates), "co-simulation" (this package's methods do) or "both". The FMU contains a library for this platform
        and the C sources for any other; `platforms` adds compiled libraries for other ones, such as "x86_64-windows" or
        "aarch64-linux", by the extra `[zig]` and without a test that they run. `initial`, `parameters` and `inputs`, as
        for `integrate`, are its start values; each that is not given is the declared example, and inputs without one
        are 0. See docs/fmu.md for its variables and behaviour.

        Raises `ArgumentError` for a start value that is missing or contradicts the constraints, for an unknown
        platform, and for a model whose independent variable is not the time; `EmitError` if `path` cannot be written
        or is another file; `BuildError` and `NoCompilerError`.

        >>> from chaplygin.generated.harmonic_oscillator import model
        >>> path = model.export_fmu("oscillator.fmu", initial={"x": 1, "x_dot": 0}, parameters={"m": 1, "k": 4})
        >>> path.name
        'oscillator.fmu'
        """
        from chaplygin.codegen.build.fmu import export_fmu

        if self.along is not None:
            raise ArgumentError(
                f"{self.name} has {self.along} as its independent variable; "
                "that of an FMU is the time: use another form"
            )
        start = self._exported_start("export_fmu", self.example, initial, parameters, inputs)
        return export_fmu(self, path, version, kind, platforms, start)

    def export_c(
        self,
        folder: str | os.PathLike[str],
        methods: Sequence[str] | None = None,
        scalar: str = "double",
        single_header: bool = False,
        *,
        initial: Any = None,
        parameters: Any = None,
        inputs: Any = None,
    ) -> Path:
        """Write this model with integration methods as C99 that needs no library except libm; return the folder.

        The folder gets one public header, two C files (or with `single_header` everything in the header), an example
        that steps at 1 kHz, files for CMake, make and pkg-config, and a README with sizes, status codes and the names
        of variables. `methods` are some of `self.methods`, by default ``default_method()``, or "dop853" in single
        precision; the equations are inlined into them. Results have the bits
        of those of `stepper`. With scalar="float" all numbers are of single precision, and times are 64-bit ticks.
        `initial`, `parameters` and `inputs`, as for `integrate`, are the start values of the example; each that is not
        given is the declared one, or else 1 for a parameter and 0 for a state or an input. See docs/c_bundle.md.

        Raises `ArgumentError` for an unknown method or scalar, a method without use in single precision, a name that
        is taken, and a start value that is missing or contradicts the constraints; `EmitError`
        if the folder cannot be written to, or has another content than what the same command made, or if single
        precision cannot hold a number of the model.

        >>> from chaplygin.generated.heavy_top import model
        >>> folder = model.export_c("heavy_top_c", methods=("dop853", "rk4"))
        >>> sorted(path.name for path in folder.glob("*.[ch]"))
        ['cg_runtime.c', 'example.c', 'heavy_top.c', 'heavy_top.h']
        """
        from chaplygin.codegen.build.bundle import export_c

        known = {**dict.fromkeys(self.declared, 0.0), **dict.fromkeys(self.parameters, 1.0), **self.example}
        if isinstance(initial, Mapping):  # the example starts where the independent variable is 0
            initial = {name: value for name, value in initial.items() if name != self.along}
        start = self._exported_start("export_c", known, initial, parameters, inputs)
        return export_c(self, folder, methods, scalar, single_header, start)

    def _exported_start(
        self, what: str, known: Mapping[str, float], initial: Any, parameters: Any, inputs: Any
    ) -> dict[str, float]:
        """The start values of states, parameters and inputs by name, as given or else as `known`."""
        first = [n for n in (self.declared if self.has_initial else self.states) if n != self.along]
        x0, p, controls = self._prepare(
            0.0,
            {n: known[n] for n in first if n in known} if initial is None else initial,
            {n: known[n] for n in self.parameters if n in known} if parameters is None else parameters,
            {n: known.get(n, 0.0) for n in self.inputs} if inputs is None else inputs,
        )
        for i in (*controls.signals, *controls.functions):
            raise ArgumentError(
                f"{what}: the input {controls.names[i]} is a function of time; the program that steps the model sets "
                "it: give a number to start with"
            )
        names = (*self.states, *self.parameters, *self.inputs)
        return dict(zip(names, (*x0.tolist(), *p.tolist(), *controls.values.tolist())))

    def to_numba(self, kernel: str = "rhs") -> Any:
        """A kernel as a function that numba compiles into other functions: no Python is called.

        It takes the arguments of the kernel's type in ``chaplygin.h`` without the scratch memory, for "rhs"
        ``(t, x, p, u, out)``, as a number and contiguous float64 arrays, fills `out` and returns the status, negative
        if the kernel failed. u are the inputs, then the modes of contacts; without any it is an empty array.

        Raises `ArgumentError` for an unknown kernel, `MissingExtraError` without the extra ``[numba]``. The function
        raises TypeError for arguments of other types and ValueError for arrays of other lengths.

        >>> from chaplygin.generated.harmonic_oscillator import model
        >>> import numpy as np
        >>> rhs, out = model.to_numba("rhs"), np.empty(2)  # doctest: +SKIP
        >>> rhs(0.0, np.array([1.0, 0.0]), np.array([1.0, 4.0]), np.empty(0), out), out  # doctest: +SKIP
        (0, array([ 0., -4.]))
        """
        from .hosts.numba_functions import numba_function

        return numba_function(self, kernel)

    def to_scipy(
        self,
        quantity: Any,
        over: Any,
        state: Any = None,
        parameters: Any = None,
        inputs: Any = None,
        *,
        t: float = 0.0,
    ) -> Any:
        """A quantity as a `scipy.LowLevelCallable` that `scipy.integrate.quad` and `nquad` evaluate without Python.

        `quantity` is an output, an invariant or a residual, or ``"der(x)"`` for the derivative of the state x. `over`
        names the variables of integration in their order, one or several: states, parameters, inputs or the time.
        The other entries of `state`, `parameters` and `inputs` (dicts, or vectors in the order of the model) and `t`
        have the values given here. With ``args=`` of `quad` the last names of `over` get values for one integral.

        The integrand is NaN where the model cannot be evaluated. It holds scratch memory: one thread at a time.
        Raises `ArgumentError` for an unknown, missing or wrong entry.

        >>> from scipy.integrate import quad
        >>> from chaplygin.generated.harmonic_oscillator import model
        >>> push = model.to_scipy("der(x_dot)", "x", {"x_dot": 0}, {"m": 1, "k": 4})
        >>> round(quad(push, 0, 3)[0], 12)  # -k/m 3^2 / 2
        -18.0
        """
        from .hosts.scipy_functions import scipy_integrand

        return scipy_integrand(self, quantity, over, state, parameters, inputs, t)

    def to_jax(self, kernel: str = "rhs") -> Any:
        """A kernel as a function of JAX on the CPU, for `jax.jit`, `jax.vmap` and, for "rhs", differentiation by x.

        It takes ``(t, x, p, u=())``, "jvp" ``(t, x, p, v, u=())``: a number and vectors in the order of the model; u
        are the inputs, then the modes of contacts. It returns an array of `kernels[kernel]` float64 numbers, NaN where
        the kernel fails. "initial" takes the declared coordinates and velocities as x.

        The first use compiles a small library for the installed JAX. Raises `ArgumentError` for an unknown kernel and
        for "reset", `MissingExtraError` without the extra ``[jax]``, `BuildError`. The function raises `ArgumentError`
        for a wrong shape, for a derivative by t, p or u, and in single precision (``jax_enable_x64``).

        >>> from chaplygin.generated.harmonic_oscillator import model
        >>> import jax  # doctest: +SKIP
        >>> jax.config.update("jax_enable_x64", True)  # doctest: +SKIP
        >>> jax.jit(model.to_jax("rhs"))(0.0, [1.0, 0.0], [1.0, 4.0])  # doctest: +SKIP
        Array([ 0., -4.], dtype=float64)
        """
        from .hosts.jax_functions import jax_function

        return jax_function(self, kernel)

    def linearize(
        self,
        t: float,
        state: Any,
        parameters: Any = None,
        inputs: Any = None,
        about: Literal["equilibrium", "steady"] = "equilibrium",
    ) -> Any:
        """The linear equations near an equilibrium or a steady motion, a `Linearization`.

        d(xi)/dt = A xi + B du, dz = C xi + D du for small deviations xi of the independent states and du of the inputs;
        z are the dependent states and the outputs. Constraints and invariants of coordinates are eliminated,
        dy = N xi, A = N+ (dF/dy) N. The derivatives are exact. See docs/linearization.md.

        `state` and the others are as for `integrate`, at a single time. With about="steady", ignorable coordinates
        are dropped with their rows: those that no remaining equation depends on, again and again; their constant rates
        are outputs ``der(x)``. Where an entry is an array of N values, the result is a `Family` of N linearizations.

        Raises `ArgumentError` if the state is not at rest (or the motion not steady), and for a model with dry
        friction; a state slightly off gives a `ConsistencyWarning`. The first use compiles the derivatives.

        >>> from chaplygin.generated.harmonic_oscillator import model
        >>> lin = model.linearize(0, {"x": 0, "x_dot": 0}, {"m": 1, "k": 4})
        >>> lin.A
        array([[ 0.,  1.],
               [-4.,  0.]])
        >>> lin.eigenvalues
        array([0.-2.j, 0.+2.j])
        """
        from .analysis.linearization import linearize

        return linearize(self, t, state, parameters, inputs, about)

    def equilibrium(
        self,
        guess: Any,
        parameters: Any = None,
        inputs: Any = None,
        *,
        keep: Sequence[str] = (),
        free: Sequence[str] = (),
        t: float = 0.0,
    ) -> SteadyState:
        """The state near `guess` in which nothing changes, dy/dt = F = 0 with h = 0, as a `SteadyState`.

        Newton's method on exact derivatives, in all states but those in `keep`, which have their values in `guess`,
        and in the parameters and inputs in `free`, for which `parameters` and `inputs` have the first guess (of an
        input, zero if it is left out). Velocities left out of `guess` are zero. h are the constraints and the
        invariants of redundant coordinates. Its `stability` is that of the linear equations.

        Raises `ArgumentError` with the residual if Newton's method does not converge, and with the directions if the
        solution is not isolated; for unknown and missing names; for equations that depend on the time or have dry
        friction; and if a free parameter violates the assumptions of its symbol.

        >>> from chaplygin.generated.double_pendulum import model
        >>> numbers = {"m1": 1, "m2": 0.7, "l1": 1, "l2": 0.6, "g": 9.81}
        >>> model.equilibrium({"theta1": 3, "theta2": 0.1}, numbers)
        <equilibrium of double_pendulum: theta1 = 3.14159, theta2 = 0, theta1_dot = 0, theta2_dot = 0; unstable>
        """
        from .analysis.steady import equilibrium

        return equilibrium(self, guess, parameters, inputs, keep, free, t)

    def steady_motion(
        self,
        guess: Any,
        parameters: Any = None,
        inputs: Any = None,
        *,
        keep: Sequence[str] = (),
        free: Sequence[str] = (),
        t: float = 0.0,
    ) -> SteadyState:
        """The steady motion near `guess` (relative equilibrium), such as rolling straight or in a circle.

        As `equilibrium`, but ignorable coordinates, which no remaining equation depends on, are left out with their
        rows and keep their values in `guess`. Steady motions mostly form families: `keep` says which one is meant,
        by a speed or an angle, and an error names the directions that are still free.

        >>> from chaplygin.generated.rolling_disk import model
        >>> numbers = {"m": 2, "R": 0.5, "A": 0.125, "B": 0.25, "g": 9.81}
        >>> guess = {"x": 0, "y": 0, "psi": 0, "alpha": 0.3, "theta": 0, "w2": 3, "w3": 2}
        >>> circle = model.steady_motion(guess, numbers, keep=["alpha", "w3"])
        >>> circle.unknowns
        ('w1', 'w2')
        """
        from .analysis.steady import steady_motion

        return steady_motion(self, guess, parameters, inputs, keep, free, t)

    @shown()
    def lyapunov(
        self,
        t_span: Any,
        initial: Any,
        parameters: Any = None,
        inputs: Any = None,
        *,
        n: int | None = None,
        transient: float = 0.0,
        interval: float | None = None,
        **options: Unpack[RunKeywords],
    ) -> LyapunovExponents:
        """The n largest Lyapunov exponents of a run, as `LyapunovExponents` with `values` and `errors`.

        The mean rates at which tangents of the state grow, dS/dt = (dF/dy) S, S = Q R again and again; all of them if n
        is left out: as many as the state has directions on the constraints and the invariants of its coordinates. The
        mean is over t_span, after `transient` in which the tangents find their directions. `interval` is the time
        between two factorizations; without it, it follows the growth. The other arguments are as for `integrate`.

        Raises `ArgumentError` for a model with events or dry friction and for a run that ends early.

        Source: G. Benettin, L. Galgani, A. Giorgilli, J.-M. Strelcyn, Meccanica 15 (1980) 9-30.

        >>> from chaplygin.generated.harmonic_oscillator import model
        >>> found = model.lyapunov((0, 1000), {"x": 1, "x_dot": 0}, {"m": 1, "k": 4})
        >>> bool(abs(found.values).max() < 1e-2)
        True
        """
        from .analysis.lyapunov import lyapunov

        how = of_call(Model.lyapunov, options)
        return lyapunov(self, t_span, initial, parameters, inputs, n, transient, interval, how)

    @shown(PERIODIC)
    def periodic(
        self,
        initial: Any,
        period: float,
        parameters: Any = None,
        inputs: Any = None,
        *,
        t: float = 0.0,
        keep: Sequence[Any] | None = None,
        turns: Mapping[Any, float] | None = None,
        drift: Sequence[Any] = (),
        **options: Unpack[RunKeywords],
    ) -> PeriodicOrbit:
        """The periodic motion near a guess of its start and period, y(T) = y(0), with its Floquet multipliers.

        Newton's method on exact derivatives. If the equations, or sampled inputs, depend on the time, the period is the
        given one, else it is solved for. Integrals make periodic motions families: `keep` names states and invariants
        that have their values in the guess, by default the energy if it is constant; of those that are left, the
        nearest one is returned. `turns` is by how much an angle that goes round changes in a period,
        ``{"phi": 2 * pi}``; `drift` names coordinates that need not come back, and on which nothing depends. The other
        arguments are as for `integrate`, but rtol and atol are 1e-12 if left out.

        `multipliers` are the eigenvalues of dy(T)/dy(0) that integrals, constraints, symmetries and the direction of
        the flow leave open; `n_ones` counts the others, which are 1. In Hamiltonian systems, each integral in
        involution beyond the energy, unless it belongs to an ignorable coordinate, leaves a further 1 in `multipliers`.

        Raises `ArgumentError` with the residual if Newton's method does not converge, and for a model with events or
        dry friction.

        >>> from chaplygin.generated.harmonic_oscillator import model
        >>> orbit = model.periodic({"x": 1, "x_dot": 0}, 3, {"m": 1, "k": 4})
        >>> round(orbit.period, 9), orbit.n_ones  # pi; the flow and the energy
        (3.141592654, 2)
        """
        from .analysis.periodic import periodic

        how = of_call(Model.periodic, options, PERIODIC)
        return periodic(self, initial, period, parameters, inputs, t, keep, turns or {}, drift, how)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a model as the path of its module: the file must exist when it is unpickled."""
        from .loading import load_model

        path = getattr(self.owner, "__file__", None)
        if path is None:
            raise TypeError(f"{self.name} cannot be pickled: it was not loaded from a file")
        return load_model, (Path(path),)
