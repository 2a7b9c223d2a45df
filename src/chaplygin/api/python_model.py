"""The pure-Python backend of a compiled model: its kernels as plain Python functions, integrated by SciPy.

`backend="python"` asks for it where there is no compiler; the tests compare the compiled kernels with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from chaplygin._lazy import later
from chaplygin.codegen.emit.python_backend import (
    Function,
    Kernels,
    PythonKernels,
    _looped_jacobian,
    _of_events,
    python_kernel,
)
from chaplygin.codegen.plan.plan import Program
from chaplygin.errors import ArgumentError, KernelError, PurePythonWarning, optional, warn_caller
from chaplygin.runtime.interface import arguments
from chaplygin.runtime.interface.arguments import Array
from chaplygin.runtime.interface.assumptions import ZERO_AT_START
from chaplygin.runtime.interface.description import Method
from chaplygin.runtime.interface.statuses import (
    NONFINITE,
    OK,
    SINGULAR,
    STEP_TOO_SMALL,
    TOO_MANY_STEPS,
    UNSUPPORTED,
    kernel_failed,
)
from chaplygin.runtime.interface.table_values import with_values
from chaplygin.runtime.model.derivatives import require_compiled
from chaplygin.runtime.problem import pivots
from chaplygin.runtime.problem.consistency import Accuracy
from chaplygin.runtime.problem.inputs import Inputs
from chaplygin.runtime.problem.options import DEFAULTS, corrects, of_call, shown
from chaplygin.runtime.results.dense import Dense
from chaplygin.runtime.results.run_data import Problem
from chaplygin.runtime.results.solution import Solution

from .model_runs import ModelRuns

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from chaplygin.runtime.problem.option_table import RunKeywords

scipy = later("scipy")

SOLVERS = {"dop853": "DOP853", "rk45": "RK45", "rk23": "RK23", "radau": "Radau", "bdf": "BDF"}
METHODS = {
    method.name: method
    for method in (
        Method("dop853", "SciPy's, order 8", 8),
        Method("rk45", "SciPy's, order 5", 5),
        Method("rk23", "SciPy's, order 3, for loose tolerances", 3),
        Method("radau", "SciPy's, order 5, implicit, for stiff systems", 5, implicit=True),
        Method("bdf", "SciPy's, orders 1 to 5, implicit, for stiff systems", 5, implicit=True),
    )
}
"""The methods of a pure-Python model, which are classes of `scipy.integrate`."""


def _compiled(name: str) -> Callable[..., NoReturn]:
    """A method that only compiled models have: it raises `ArgumentError`, which says how to get one."""

    def method(self: PythonModel, *arguments: Any, **options: Any) -> NoReturn:
        require_compiled(name, self)
        raise AssertionError(name)

    method.__name__ = name
    method.__doc__ = "Raises ArgumentError: only a compiled model has this."
    return method


class PythonModel(ModelRuns):
    """The kernels of a model in pure Python, and `integrate`. Issues a PurePythonWarning unless ``quiet=True``.

    Its methods are SciPy's solvers "dop853" (the default), "rk45", "rk23", and "radau" and "bdf" for stiff systems. The
    rest of `Model` (events, corrections of constraints, steppers, ensembles, ...) needs a C compiler, and says so.
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
    stepper = _compiled("stepper")
    batch = _compiled("batch")
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
        interpolants: Any = None,
        **options: Unpack[RunKeywords],
    ) -> Solution:
        """Integrate over t_span; arguments and result are as for `Model.integrate`.

        Raises `ArgumentError` for what only compiled models have: `events`, `kinks`, `sensitivities`, and a `project`
        that moves the steps of this model back onto its constraints.
        """
        how = of_call(PythonModel.integrate, options).checked(self)
        for name, asked in (
            ("sensitivities", sensitivities is not None),
            ("events", events is not None),
            ("kinks", how.kinks),
            (f"project={how.project!r} (project=None runs without)", corrects(self, how.project)),
        ):
            if asked:
                require_compiled(name, self)
        dense = arguments.boolean("dense_output", dense_output)
        t0, t1 = arguments.span(t_span)
        moments = None if t_eval is None else arguments.times("t_eval", t_eval, t0, t1)
        parameters = with_values(self, parameters, interpolants)
        x0, p, controls = self._prepare(t0, initial, parameters, inputs, Accuracy.of(self, how))
        problem = Problem((t0, t1), x0, moments, how, None)
        solution = self._run(problem, p, controls.ready(how.method, t0, t1), dense)
        pivots.report(self, solution.t, solution.y, solution._p, solution._u(), solution.status)
        solution._report_drift()
        return solution

    def _run(self, problem: Problem, p: Array, inputs: Inputs, dense: bool) -> Solution:
        """Take the steps of a run, and its states at the times that it returns."""
        (t0, t1), x0, moments, how = problem[:4]
        limit, status = how.steps(adaptive=True).limit, OK
        times, states, pieces = [t0], [x0], []
        solvers: list[Any] = []
        try:
            with np.errstate(all="ignore"):
                for solver in _steps(self, problem, p, inputs):
                    if solver not in solvers[-1:]:
                        solvers.append(solver)
                    if solver.t_old is None:
                        continue
                    times.append(float(solver.t))
                    states.append(solver.y.copy())
                    pieces.append(solver.dense_output())
                    if len(pieces) == limit and solver.t != t1:
                        raise _Stopped(TOO_MANY_STEPS)
        except _Stopped as stopped:
            status = stopped.status
        sol: Any = Dense(np.empty((0, 2)), np.empty((0, 1, len(x0))), t0, x0)
        if pieces:
            sol = scipy.integrate.OdeSolution(np.array(times), pieces)
        t, y, last = np.array(times), np.array(states).T, times[-1]
        if moments is not None:
            t = moments[(t1 - t0) * (last - moments) >= 0]
            y = np.array([states[-1] if at == last else sol(at) for at in t]).reshape(-1, len(x0)).T
            if status != OK and last not in t:
                t, y = np.append(t, last), np.column_stack([y, states[-1]])
        nfev, njev, nlu = (sum(getattr(s, name) for s in solvers) for name in ("nfev", "njev", "nlu"))
        return Solution(
            self, t, y, status, last, p, inputs, nfev, len(pieces), 0, sol if dense else None, problem, njev, nlu,
            end=states[-1],
        )  # fmt: skip


class _Stopped(Exception):
    """A run has failed with a status; errors of input functions are not of this class, and are passed on."""

    def __init__(self, status: int) -> None:
        self.status = status


def _steps(model: PythonModel, problem: Problem, p: Array, inputs: Inputs) -> Iterator[Any]:
    """SciPy's solvers of a run at its start and after every step, one from each time of an input's samples to the next.

    Raises `_Stopped` where a step fails.
    """
    (at, t1), x, _, how = problem[:4]
    solver_class = getattr(
        optional("scipy.integrate", f"a pure-Python run with {how.method}", "scipy"), SOLVERS[how.method]
    )
    steps, (rtol, atol) = how.steps(adaptive=True), how.tolerances(model.states)
    options = {"rtol": rtol, "atol": atol, "max_step": steps.largest}
    first, parameters, last, later = steps.first, p.tolist(), x, at

    def called(kernel: str, t: float, x: Array) -> Array:
        u = inputs.at(np.array([t]), x.copy(), np.array([t == later]))[:, 0]
        try:
            return np.array(
                model.functions.python[kernel](float(t), x.tolist(), parameters, u.tolist()), float
            )
        except (ArithmeticError, ValueError) as error:
            raise _Stopped(status_of(error)) from error

    def derivative(t: float, x: Array) -> Array:
        nonlocal last
        last = called("rhs", t, x)
        return last

    if METHODS[how.method].implicit:
        options["jac"] = lambda t, x: called("jacobian", t, x).reshape(len(x), len(x))
    sign = 1.0 if t1 >= at else -1.0
    knots = {t1, *(float(t) for signal in inputs.signals.values() for t in signal.times)}
    ends = (t for t in knots if 0 < sign * (t - at) <= sign * (t1 - at))
    for end in sorted(ends, key=lambda t: sign * t):
        later = max(at, end)  # there the samples before it count
        if not np.isfinite(derivative(at, x)).all():
            raise _Stopped(NONFINITE)  # SciPy would search for a first step forever
        options["first_step"] = min(first, abs(end - at)) or None
        solver = solver_class(derivative, at, x, end, **options)
        yield solver
        while solver.status == "running":
            solver.step()
            if solver.status == "failed" or not np.isfinite(solver.y).all():
                raise _Stopped(STEP_TOO_SMALL if np.isfinite(last).all() else NONFINITE)
            yield solver
        at, x, first = float(solver.t), solver.y, float(abs(solver.h_abs))


def status_of(error: Exception) -> int:
    """The status code for a Python exception of a kernel."""
    if isinstance(error, KernelError):
        return error.status
    return NONFINITE if isinstance(error, (ValueError, OverflowError, FloatingPointError)) else SINGULAR


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
