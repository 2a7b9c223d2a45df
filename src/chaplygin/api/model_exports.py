"""A compiled model in other programs: FMUs, C bundles, and functions of numba, SciPy and JAX."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from chaplygin import api
from chaplygin._lazy import later, pathlib
from chaplygin.errors import ArgumentError
from chaplygin.runtime import hosts
from chaplygin.runtime.interface import arguments
from chaplygin.runtime.model.builder import builder
from chaplygin.runtime.model.compiled_model import CompiledModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chaplygin.runtime.ensembles.progress import Progress

progressing = later("chaplygin.runtime.ensembles.progress")


def _require_texts(what: str, *given: Any) -> None:
    """Raise ArgumentError for numbers of a run in the places of other arguments."""
    if any(isinstance(value, Mapping) for value in given):
        raise ArgumentError(
            f"{what} takes the numbers by name: initial={{...}}, parameters={{...}}, inputs={{...}}"
        )


class ModelExports(CompiledModel):
    """The methods of `Model` that hand it to other programs."""

    def export_fmu(
        self,
        path: str | os.PathLike[str],
        version: str = "3.0",
        kind: str = "both",
        *,
        platforms: Sequence[str] = (),
        progress: bool | None = None,
        initial: Any = None,
        parameters: Any = None,
        inputs: Any = None,
        stop_time: float | None = None,
        step_size: float | None = None,
        tolerance: float | None = 1e-9,
    ) -> pathlib.Path:
        """Write this model as an FMU, a component for other simulators, and return its path.

        `version` is "2.0" or "3.0" of the Functional Mock-up Interface, `kind` "model-exchange" (the simulator
        integrates), "co-simulation" (this package's methods do) or "both". The FMU contains a library for this platform
        and the C sources for any other; `platforms` adds compiled libraries for other ones, such as "x86_64-windows" or
        "aarch64-linux", by the extra `[zig]` and without a test that they run. `initial`, `parameters` and `inputs`, as
        for `integrate`, are its start values; each that is not given is the declared example, and inputs without one
        are 0. `stop_time`, `step_size` and `tolerance` are those of the default experiment, which a simulator runs when
        nothing else is asked of it. `progress`: as for `ensemble`, of the C files that are compiled. See docs/fmu.md
        for the variables and the behaviour.

        Raises `ArgumentError` for a start value that is missing or contradicts the constraints, for an unknown
        platform, and for a model whose independent variable is not the time; `EmitError` if `path` cannot be written
        or is another file; `BuildError` and `NoCompilerError`.

        >>> from chaplygin.generated.harmonic_oscillator import model
        >>> path = model.export_fmu("oscillator.fmu", initial={"x": 1, "x_dot": 0}, parameters={"m": 1, "k": 4})
        >>> path.name
        'oscillator.fmu'
        """
        if self.along is not None:
            raise ArgumentError(
                f"{self.name} has {self.along} as its independent variable; "
                "that of an FMU is the time: use another form"
            )
        _require_texts("export_fmu", version, kind)
        wanted = None if progress is None else arguments.boolean("progress", progress)
        start = self._exported_start("export_fmu", self.example, initial, parameters, inputs)
        experiment = {}
        given = {"stop_time": stop_time, "step_size": step_size, "tolerance": tolerance}
        for (name, value), attribute in zip(
            given.items(), ("stopTime", "stepSize", "tolerance"), strict=True
        ):
            if value is not None:
                experiment[attribute] = arguments.number(name, value)
                if experiment[attribute] <= 0:
                    raise ArgumentError(f"export_fmu: {name} = {value} is not positive")
        bars: list[Progress] = []

        def report(done: int, total: int) -> None:
            bars.extend([progressing.Progress(total, wanted, "file", "files")] * (not bars))
            bars[0].show(done)

        try:
            made: pathlib.Path = builder("fmu").export_fmu(
                self, path, version, kind, platforms, start, experiment, report
            )
        finally:
            for bar in bars:
                bar.close()
        return made

    def export_c(
        self,
        folder: str | os.PathLike[str],
        methods: Sequence[str] | None = None,
        scalar: str = "double",
        single_header: bool = False,
        *,
        prefix: str = "",
        initial: Any = None,
        parameters: Any = None,
        inputs: Any = None,
    ) -> pathlib.Path:
        """Write this model with integration methods as C99 that needs no library except libm; return the folder.

        The folder gets one public header, two C files (or with `single_header` everything in the header), an example
        that steps at 1 kHz, files for CMake, make and pkg-config, and a README with sizes, status codes and the names
        of variables. `methods` are some of `self.methods`, by default ``default_method()``, or "dop853" in single
        precision; the equations are inlined into them. Results have the bits
        of those of `stepper`. With scalar="float" all numbers are of single precision, and times are 64-bit ticks.
        With a `prefix`, such as "a_", all external names and that of the library begin with it, so that two bundles of
        different versions, or one in double and one in single precision, can be linked into one program.
        `initial`, `parameters` and `inputs`, as for `integrate`, are the start values of the example; parameters and
        inputs are also the values that a run in C begins with. Each that is not given is the declared one, or else 1
        for a parameter and 0 for a state or an input. See docs/c_bundle.md.

        Raises `ArgumentError` for an unknown method or scalar, a method without use in single precision, a name that
        is taken, and a start value that is missing or contradicts the constraints; `EmitError`
        if the folder cannot be written to, or has another content than what the same command made, or if single
        precision cannot hold a number of the model.

        >>> from chaplygin.generated.heavy_top import model
        >>> folder = model.export_c("heavy_top_c", methods=("dop853", "rk4"))
        >>> sorted(path.name for path in folder.glob("*.[ch]"))
        ['cg_runtime.c', 'example.c', 'heavy_top.c', 'heavy_top.h']
        """
        _require_texts("export_c", methods, scalar)
        known = {**dict.fromkeys(self.declared, 0.0), **dict.fromkeys(self.parameters, 1.0), **self.example}
        given = arguments.named("initial", initial)
        if given is not None:  # the example starts where the independent variable is 0
            initial = {name: value for name, value in given.items() if name != self.along}
        start = self._exported_start("export_c", known, initial, parameters, inputs)
        alone = arguments.boolean("single_header", single_header)
        return api.export_c(self, folder, methods, scalar, alone, start, prefix)

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
        return hosts.numba_function(self, kernel)

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
        return hosts.scipy_integrand(self, quantity, over, state, parameters, inputs, t)

    def to_jax(self, kernel: str = "rhs") -> Any:
        """A kernel as a function of JAX on the CPU, for `jax.jit`, `jax.vmap` and, for "rhs", differentiation.

        It takes ``(t, x, p, u=())``, "jvp" ``(t, x, p, v, u=())``: a number and vectors in the order of the model; u
        are the inputs, then the modes of contacts. It returns an array of `kernels[kernel]` float64 numbers, NaN where
        the kernel fails. "initial" takes the declared coordinates and velocities as x.

        "rhs" has derivatives, forward and in reverse, by t, x, p and u, but not by the modes in u.

        The first use compiles a small library for the installed JAX. Raises `ArgumentError` for an unknown kernel and
        for "reset", `MissingExtraError` without the extra ``[jax]``, `BuildError`. The function raises `ArgumentError`
        for a wrong shape, and in single precision (``jax_enable_x64``).

        >>> from chaplygin.generated.harmonic_oscillator import model
        >>> import jax  # doctest: +SKIP
        >>> jax.config.update("jax_enable_x64", True)  # doctest: +SKIP
        >>> jax.jit(model.to_jax("rhs"))(0.0, [1.0, 0.0], [1.0, 4.0])  # doctest: +SKIP
        Array([ 0., -4.], dtype=float64)
        """
        return hosts.jax_function(self, kernel)
