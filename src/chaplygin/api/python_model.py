"""The pure-Python backend of a compiled model: the same interface over plain Python functions.

It is the test oracle for the compiled kernels, the baseline of the benchmarks, and the fallback, with a loud warning,
when there is no compiler.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from chaplygin.codegen.emit.python_backend import (
    Function,
    Kernels,
    PythonKernels,
    _looped_jacobian,
    _of_events,
    python_kernel,
)
from chaplygin.codegen.plan.plan import Program
from chaplygin.errors import ArgumentError, PurePythonWarning, warn_caller
from chaplygin.runtime.interface import arguments
from chaplygin.runtime.interface.arguments import Array
from chaplygin.runtime.interface.assumptions import ZERO_AT_START
from chaplygin.runtime.interface.statuses import UNSUPPORTED, kernel_failed
from chaplygin.runtime.model.derivatives import require_compiled
from chaplygin.runtime.problem import pivots
from chaplygin.runtime.problem.consistency import Accepted, Accuracy, held
from chaplygin.runtime.problem.options import DEFAULTS, corrects, of_call, shown
from chaplygin.runtime.results.run_data import Problem
from chaplygin.runtime.results.solution import Solution

from .model_runs import ModelRuns
from .python_methods import METHODS, Integrator, Record, Rk4, Settings, Solver, status_of
from .python_stepper import PythonStepper

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from chaplygin.runtime.ensembles.job import EnsemblePart
    from chaplygin.runtime.problem.option_table import RunKeywords


def _compiled(name: str) -> Callable[..., NoReturn]:
    """A method that only compiled models have: it raises `ArgumentError`, which says how to get one."""

    def method(self: PythonModel, *arguments: Any, **options: Any) -> NoReturn:
        require_compiled(name, self)
        raise AssertionError(name)

    method.__name__ = name
    method.__doc__ = "Raises ArgumentError: only a compiled model has this."
    return method


class PythonModel(ModelRuns):
    """A pure-Python model with the interface of `Model`. Issues a PurePythonWarning unless ``quiet=True``.

    Its methods are "rk4", in plain Python, and SciPy's solvers "dop853" (the default), "rk45", "rk23", and "radau" and
    "bdf" for stiff systems.
    """

    methods = METHODS
    events = contacts = modes = ()

    def __init__(self, kernels: PythonKernels, *, quiet: bool = False) -> None:
        if not quiet:
            warn_caller(
                f"{kernels.name} runs in PURE PYTHON, about a hundred times slower than compiled: no C compiler, or "
                "no compiled runtime. Install a C compiler (gcc, clang) or: pip install 'chaplygin[zig]'",
                PurePythonWarning,
            )
        self.functions = kernels
        self.name, self.form, self.digest = kernels.name, kernels.form, kernels.digest
        self.n_coordinates, self.independent = kernels.n_coordinates, kernels.independent
        self._entries = {entry.name: entry for entry in kernels.entries}
        self.variables = {}
        for kind in ("states", "parameters", "inputs", "outputs", "invariants", "declared"):
            table = getattr(kernels, kind)
            setattr(self, kind, tuple(variable.name for variable in table))
            for variable in table:
                self.variables.setdefault(variable.name, variable)
        self._conserved = self.invariants
        self.residuals = tuple(v.name for v in kernels.invariants if v.kind == "residual")
        self.invariants = tuple(v.name for v in kernels.invariants if v.kind != "residual")
        self.checked_at_start = tuple(v.name for v in kernels.invariants if v.flags & ZERO_AT_START)
        self.has_initial = "initial" in self._entries

    def default_method(self, rtol: float = DEFAULTS.rtol, atol: Any = DEFAULTS.atol) -> str:
        """The method of a run that names none: "dop853" at all tolerances."""
        return "dop853"

    def export_c(self, *arguments: Any, **options: Any) -> NoReturn:
        """Raises ArgumentError: only a compiled model has C sources."""
        raise ArgumentError(
            f"{self.name} runs in pure Python and has no C sources to export; install a C compiler, or use system.emit"
        )

    export_fmu = export_c
    gradient = _compiled("gradient")
    objective = _compiled("objective")
    linearize = _compiled("linearize")
    equilibrium = _compiled("equilibrium")
    steady_motion = _compiled("steady_motion")
    lyapunov = _compiled("lyapunov")
    periodic = _compiled("periodic")

    def rhs(self, t: Any, y: Any, p: Any, u: Any = ()) -> Array:
        """dy/dt at time t: (n,) for y of shape (n,), (n, N) for (n, N)."""
        return self._call("rhs", t, y, p, u)

    def jacobian(self, t: Any, y: Any, p: Any, u: Any = ()) -> Array:
        """d(dy/dt)/dy at time t: (n, n), or (n, n, N)."""
        result = self._call("jacobian", t, y, p, u)
        n = len(self.states)
        return result.reshape((n, n, *result.shape[1:]))

    def _columns(
        self, kernel: str, t: Array, y: Array, p: Array, u: Array, extra: Any, strict: bool = True
    ) -> Array:
        if kernel not in self._entries:
            raise kernel_failed(self, kernel, UNSUPPORTED, float(t[0]) if len(t) else 0.0, -1)
        python = self.functions.python[kernel]
        event = isinstance(extra, int)
        tables = [y, p, u] if event or extra is None else [y, p, u, extra]
        widths = [len(t), *(rows.shape[1] for rows in tables)]
        count = max(widths) if min(widths) else 0
        first = (extra,) if event else ()
        result = np.full((self._entries[kernel].length, count), math.nan)
        for j in range(count):
            given = [rows[:, min(j, rows.shape[1] - 1)].tolist() for rows in tables]
            moment = float(t[min(j, len(t) - 1)])
            try:
                result[:, j] = python(*first, moment, *given)
            except (ArithmeticError, ValueError) as error:
                if strict:
                    column = j if count > 1 else -1
                    raise kernel_failed(self, kernel, status_of(error), moment, column) from error
        return result

    @shown
    def integrate(
        self,
        t_span: Any,
        initial: Any = None,
        parameters: Any = None,
        inputs: Any = None,
        *,
        t_eval: Any = None,
        dense_output: bool = False,
        events: Any = None,
        sensitivities: Any = None,
        **options: Unpack[RunKeywords],
    ) -> Solution:
        """Integrate over t_span; arguments and result are as for `Model.integrate`, but there are no sensitivities."""
        if sensitivities is not None:
            require_compiled("sensitivities", self)
        how = of_call(PythonModel.integrate, options).checked(self)
        if events is not None or how.kinks:
            raise ArgumentError(
                f"{self.name} runs in pure Python, which does not support events or kinks: compile it, or search sol.y"
            )
        dense = arguments.boolean("dense_output", dense_output)
        t0, t1 = arguments.span(t_span)
        moments = None if t_eval is None else arguments.times("t_eval", t_eval, t0, t1)
        steps = how.steps(self.methods[how.method].adaptive)
        relative, absolute = how.tolerances(self.states)
        x0, p, controls = self._prepare(t0, initial, parameters, inputs, Accuracy.of(self, how))
        controls = controls.ready(how.method, t0, t1)
        settings = Settings(
            relative, absolute, steps.largest, steps.first, dense, corrects(self, how.project)
        )
        run = self._integrator(how.method, settings)
        record = Record(t0, x0, moments, 1.0 if t1 >= t0 else -1.0)
        status = run.run(self.functions, record, p, controls, t1, steps.limit)
        if status < 0:
            record.fail()
        y = np.array(record.y).reshape(-1, len(x0)).T
        sol = run.dense(t0, x0) if dense else None
        problem = Problem((t0, t1), x0, moments, how, None)
        solution = Solution(
            self, np.array(record.t), y, status, record.at, p, controls, run.nfev, run.n_steps, run.n_rejected, sol,
            problem, run.njev, run.nlu, end=record.last,
        )  # fmt: skip
        pivots.report(self, solution.t, solution.y, solution._p, solution._u(), solution.status)
        solution._report_drift()
        return solution

    @staticmethod
    def _integrator(method: str, settings: Settings) -> Integrator:
        return Solver(METHODS[method], settings) if METHODS[method].adaptive else Rk4(settings)

    def _stepper(self, *given: Any) -> Any:
        return PythonStepper(self, *given)

    def _ensemble_core(self, part: EnsemblePart) -> PythonEnsemble:
        return PythonEnsemble(part)


class PythonEnsemble:
    """Runs the trajectories of a part of an ensemble, one after another; see `EnsemblePart`."""

    lanes, error = 1, None

    def __init__(self, part: EnsemblePart) -> None:
        self.part, self.done, self._stopped = part, 0, threading.Event()

    def stop(self) -> None:
        self._stopped.set()

    def run(self, pieces: list[tuple[int, int]], attend: Callable[..., int] | None = None) -> None:
        """Integrate the pieces (first, last), starting with the last one of the list."""
        while pieces:
            for j in range(*pieces.pop()):
                if self._stopped.is_set():
                    return
                self._integrate(j)
                if attend is not None:
                    attend()

    def _integrate(self, j: int) -> None:
        part, result, job = self.part, self.part.results, self.part.job
        x0, p = part.start.of(j)
        times = job.t_eval
        if times is not None and result.end is not None and (not len(times) or times[-1] != job.t_span[1]):
            times = np.append(times, job.t_span[1])
        with held():  # what is said of all trajectories, the ensemble says
            sol = job.model.integrate(
                job.t_span, Accepted(x0), p, part.inputs.column(j), t_eval=times, **vars(job.options)
            )
        result.y[:, :, j] = np.nan
        if job.t_eval is None:
            result.y[:, 0, j] = sol.y[:, -1]
        else:
            within = min(len(sol.t), len(job.t_eval))
            reached = int((sol.t[:within] == job.t_eval[:within]).sum())  # and where it failed
            result.y[:, :reached, j] = sol.y[:, :reached]
        if result.end is not None:
            result.end[:, j] = sol.y[:, -1] if sol.success else np.nan
        result.t[j], result.nfev[j], result.n_steps[j] = sol.t_reached, sol.nfev, sol.n_steps
        result.status[j] = sol.status  # written last: a status marks a trajectory as finished
        self.done += 1


def python_kernels(program: Program, fma: Function | None = None) -> Kernels:
    """The kernels of a program in plain Python; `fma` as in `python_kernel`.

    A kernel of events is a function of (event, t, x, p, u).
    """
    python = {k: python_kernel(program, k, fma) for k in program.kernels}
    for row in program.rows:
        if row.takes == "event":
            python[row.name] = _of_events({i: python[f"{row.name}_{i}"] for i in program.indices(row)})
        elif row.name not in python:
            python[row.name] = _looped_jacobian(python["jvp"], len(program.states))
    return Kernels(**vars(program), python=python)


def python_model(program: Program, *, quiet: bool = False, fma: Function | None = None) -> Any:
    """A `PythonModel` of a program; unless `quiet`, it warns that it is not compiled. `fma` as in `python_kernel`."""
    return PythonModel(python_kernels(program, fma), quiet=quiet)
