"""The pure-Python twin of a compiled model: the same face over plain Python functions.

It is the oracle of the compiled kernels, the other side of the benchmarks, and what runs, with a loud warning, where
there is no compiler.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from . import arguments
from . import inputs as signals
from .errors import ArgumentError, KernelError, MissingExtraError, TwinWarning, kernel_failed
from .face import Face, Variable
from .solution import Dense, Solution

Array = NDArray[np.float64]
Function = Callable[..., Any]

__all__ = ["TwinKernels", "TwinModel", "run_ensemble"]

OK, SINGULAR, NONFINITE, STEP_TOO_SMALL, TOO_MANY_STEPS, UNSUPPORTED = 0, -1, -2, -3, -4, -8


class Named(Protocol):
    """What a twin reads of a variable."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def example(self) -> float: ...


class TwinKernels(Protocol):
    """What a twin is made of: a Program's names and its kernels as Python functions.

    ``python[kernel]`` is a function of (t, x, p, u), for "jvp" of (t, x, p, u, v), over sequences of floats, that
    returns a sequence of floats: "rhs" n, "jacobian" n*n by rows, "jvp" n, "outputs", "invariants", "initial" (x being
    the declared variables) n + np. ``numpy[kernel]`` takes arrays (n, N), (np, N) or (np, 1), ... and returns one
    array or number a row; kernels missing there are looped over. A singular mass matrix raises `ArithmeticError`.
    """

    @property
    def name(self) -> str: ...
    @property
    def form(self) -> str: ...
    @property
    def digest(self) -> str: ...
    @property
    def n_coordinates(self) -> int: ...
    @property
    def states(self) -> Sequence[Named]: ...
    @property
    def parameters(self) -> Sequence[Named]: ...
    @property
    def inputs(self) -> Sequence[Named]: ...
    @property
    def outputs(self) -> Sequence[Named]: ...
    @property
    def invariants(self) -> Sequence[Named]: ...
    @property
    def declared(self) -> Sequence[Named]: ...
    @property
    def python(self) -> Mapping[str, Function]: ...
    @property
    def numpy(self) -> Mapping[str, Function]: ...


class TwinModel(Face):
    """A model in pure Python, with the methods of `Model`. With ``quiet=True`` it does not warn that it is one.

    "dop853" is SciPy's, "rk4" is plain Python.
    """

    methods = ("rk4", "dop853")

    def __init__(self, kernels: TwinKernels, *, quiet: bool = False) -> None:
        if not quiet:
            warnings.warn(
                f"{kernels.name} runs in PURE PYTHON, some hundred times slower than compiled: no C compiler, or the "
                "compiled runtime is missing. Install a C compiler (gcc, clang) or: pip install 'chaplygin[zig]'",
                TwinWarning,
                stacklevel=2,
            )
        self.kernels = kernels
        self.name, self.form, self.digest = kernels.name, kernels.form, kernels.digest
        self.n_coordinates = kernels.n_coordinates
        self.variables = {}
        for kind in ("states", "parameters", "inputs", "outputs", "invariants", "declared"):
            table = [
                Variable(v.name, v.kind, v.unit, v.description, v.example) for v in getattr(kernels, kind)
            ]
            setattr(self, kind, tuple(variable.name for variable in table))
            for variable in table:
                self.variables.setdefault(variable.name, variable)
        self.has_initial = "initial" in kernels.python

    def rhs(self, t: Any, y: Any, p: Any, u: Any = ()) -> Array:
        """dy/dt at time t: (n,) for y of shape (n,), (n, N) for (n, N)."""
        return self._call("rhs", t, y, p, u)

    def jacobian(self, t: Any, y: Any, p: Any, u: Any = ()) -> Array:
        """d(dy/dt)/dy at time t: (n, n), or (n, n, N)."""
        result = self._call("jacobian", t, y, p, u)
        n = len(self.states)
        return result.reshape((n, n, *result.shape[1:]))

    def jvp(self, t: Any, y: Any, p: Any, dy: Any, u: Any = ()) -> Array:
        """(d(dy/dt)/dy) . dy at time t."""
        return self._call("jvp", t, y, p, u, dy)

    def _columns(
        self, kernel: str, t: Array, y: Array, p: Array, u: Array, v: Array | None, strict: bool = True
    ) -> Array:
        count = max(len(t), y.shape[1], p.shape[1], u.shape[1], 1 if v is None else v.shape[1])
        widths = (len(t), y.shape[1], p.shape[1], u.shape[1], 1 if v is None else v.shape[1])
        if 0 in widths:
            count = 0
        if not {*widths} <= {1, count}:
            raise ArgumentError(f"{self.name}.{kernel}: arguments of {sorted({*widths})} columns do not fit")
        python, vectorized = self.kernels.python.get(kernel), self.kernels.numpy.get(kernel)
        if python is None:
            raise kernel_failed(self.name, kernel, UNSUPPORTED, float(t[0]) if len(t) else 0.0, -1)
        tables = [y, p, u] if v is None else [y, p, u, v]
        n = len(self.states)
        height = {
            "rhs": n,
            "jacobian": n * n,
            "jvp": n,
            "outputs": len(self.outputs),
            "invariants": len(self.invariants),
            "initial": n + len(self.parameters),
        }[kernel]
        result = np.full((height, count), math.nan)
        if count > 1 and vectorized is not None and strict:
            with np.errstate(all="ignore"):
                for i, row in enumerate(vectorized(t, *tables)):
                    result[i] = row
            return result
        for j in range(count):
            given = [rows[:, min(j, rows.shape[1] - 1)].tolist() for rows in tables]
            moment = float(t[min(j, len(t) - 1)])
            try:
                result[:, j] = python(moment, *given)
            except (ArithmeticError, ValueError) as error:
                if strict:
                    column = j if count > 1 else -1
                    raise kernel_failed(self.name, kernel, _status(error), moment, column) from error
        return result

    def integrate(
        self,
        t_span: Any,
        initial: Any = None,
        parameters: Any = None,
        inputs: Any = None,
        *,
        method: str = "dop853",
        rtol: float = 1e-9,
        atol: Any = 1e-9,
        t_eval: Any = None,
        dense_output: bool = False,
        max_step: float = math.inf,
        first_step: float | None = None,
        step: float | None = None,
        max_steps: int = 10_000_000,
    ) -> Solution:
        """Integrate over t_span; arguments and result as for `Model.integrate`."""
        t0, t1 = arguments.span(t_span)
        moments = None if t_eval is None else arguments.times("t_eval", t_eval, t0, t1)
        if method not in self.methods:
            raise ArgumentError(f"method {method!r} is unknown; known are {', '.join(self.methods)}")
        given = {"step": step, "first_step": first_step, "max_step": max_step, "max_steps": max_steps}
        first, largest, limit = arguments.step_options(given, method != "rk4")
        relative, absolute = arguments.tolerances(rtol, atol, self.states)
        x0, p, controls = self._prepare(t0, initial, parameters, inputs)
        if method == "rk4":
            walk: _Walk = _Rk4(min(first or largest, largest))
        else:
            walk = _Dop853(relative, absolute, largest, first)
        record = _Record(t0, x0, moments, 1.0 if t1 >= t0 else -1.0)
        status = walk.run(self, record, p, controls, t1, limit)
        y = np.array(record.y).reshape(-1, len(x0)).T
        sol = walk.dense(record, t0, x0) if dense_output else None
        return Solution(
            self, np.array(record.t), y, status, record.at, p, controls, walk.nfev, walk.n_steps, 0, sol
        )  # fmt: skip


class _InputFailed(Exception):
    """Carries an error of an input function past the handling of a kernel's own errors."""

    def __init__(self, cause: Exception) -> None:
        super().__init__()
        self.cause = cause


class _Record:
    """Rows to keep: every step, or the times asked for."""

    def __init__(self, t0: float, x0: Array, t_eval: Array | None, direction: float) -> None:
        self.t_eval, self.direction, self.next = t_eval, direction, 0
        self.t: list[float] = []
        self.y: list[Array] = []
        self.at = t0
        self.last = x0
        if t_eval is None or (len(t_eval) and t_eval[0] == t0):
            self.t.append(t0)
            self.y.append(x0)
            self.next = 1

    def step(self, t: float, x: Array, interpolate: Callable[[float], Array]) -> None:
        self.at, self.last = t, x
        if self.t_eval is None:
            self.t.append(t)
            self.y.append(x)
            return
        while self.next < len(self.t_eval) and self.direction * (self.t_eval[self.next] - t) <= 0:
            moment = float(self.t_eval[self.next])
            self.t.append(moment)
            self.y.append(x if moment == t else np.asarray(interpolate(moment)))
            self.next += 1


class _Walk:
    """A method in pure Python: `run` steps from the record's last point to t1."""

    def __init__(self) -> None:
        self.nfev = self.n_steps = 0

    def run(
        self, model: TwinModel, record: _Record, p: Array, inputs: signals.Inputs, t1: float, limit: int
    ) -> int:
        """Integrate between the knots of the inputs; returns a status."""
        rhs, parameters = model.kernels.python["rhs"], p.tolist()
        knots = {t1, *(float(t) for signal in inputs.signals.values() for t in signal.times)}
        ends = sorted(
            t for t in knots if 0 < record.direction * (t - record.at) <= record.direction * (t1 - record.at)
        )
        for end in ends if record.direction > 0 else reversed(ends):
            u = inputs.values.tolist()
            middle = np.array([(record.at + end) / 2])
            held = {i: float(s.at(middle)[0]) for i, s in inputs.signals.items() if s.kind == signals.HOLD}
            begin = record.at

            def derivative(
                t: float, x: Any, u: list[float] = u, held: Any = held, ends: Any = (begin, end)
            ) -> Any:
                self.nfev += 1
                for i, signal in inputs.signals.items():
                    u[i] = held[i] if i in held else float(_inside(signal, t, ends))
                for i, function in inputs.functions.items():
                    try:
                        u[i] = inputs.call(i, function, t, np.array(x))
                    except Exception as error:
                        raise _InputFailed(error) from error
                return rhs(t, x, parameters, u)

            try:
                status = self.segment(derivative, record, end, limit)
            except _InputFailed as error:
                raise error.cause from None
            except (ArithmeticError, ValueError) as error:
                status = _status(error)
            if status != OK:
                return status
        return OK

    def segment(self, derivative: Function, record: _Record, end: float, limit: int) -> int:
        raise NotImplementedError

    def dense(self, record: _Record, t0: float, x0: Array) -> Any:
        raise NotImplementedError


class _Rk4(_Walk):
    """The classical method of order 4 with a fixed step."""

    def __init__(self, step: float) -> None:
        super().__init__()
        self.h = step
        self.spans: list[tuple[float, float]] = []
        self.coef: list[Any] = []

    def segment(self, derivative: Function, record: _Record, end: float, limit: int) -> int:
        start, x = record.at, record.last.tolist()
        sign = 1.0 if end >= start else -1.0
        count = max(1, math.ceil(abs(end - start) / self.h * (1 - 1e-12)))
        t = start
        f0 = derivative(t, x)
        for i in range(1, count + 1):
            if self.n_steps >= limit:
                return TOO_MANY_STEPS
            after = end if i == count else start + sign * i * self.h
            h = after - t
            k2 = derivative(t + h / 2, [a + h / 2 * b for a, b in zip(x, f0)])
            k3 = derivative(t + h / 2, [a + h / 2 * b for a, b in zip(x, k2)])
            k4 = derivative(after, [a + h * b for a, b in zip(x, k3)])
            y = [a + h / 6 * (b + 2 * c + 2 * d + e) for a, b, c, d, e in zip(x, f0, k2, k3, k4)]
            if not all(map(math.isfinite, y)):
                return NONFINITE
            f1 = derivative(after, y)
            x0, x1, r0, r1 = np.array(x), np.array(y), h * np.array(f0), h * np.array(f1)
            coef = np.array([x0, x1 - x0, r0 - (x1 - x0), 2 * (x1 - x0) - r0 - r1])
            self.spans.append((t, after))
            self.coef.append(coef)
            begin, width = t, h
            record.step(after, x1, lambda s, c=coef, b=begin, w=width: _hermite(c, (s - b) / w))  # type: ignore[misc]
            t, x, f0 = after, y, f1
            self.n_steps += 1
        return OK

    def dense(self, record: _Record, t0: float, x0: Array) -> Dense:
        n = len(x0)
        return Dense(np.array(self.spans).reshape(-1, 2), np.array(self.coef).reshape(-1, 4, n), t0, x0)


class _Dop853(_Walk):
    """SciPy's DOP853, step by step."""

    def __init__(self, rtol: float, atol: Array, max_step: float, first_step: float) -> None:
        super().__init__()
        self.options = {"rtol": rtol, "atol": atol, "max_step": max_step}
        self.first = first_step or None
        self.pieces: list[Any] = []
        self.ts: list[float] = []

    def segment(self, derivative: Function, record: _Record, end: float, limit: int) -> int:
        try:
            from scipy.integrate import DOP853
        except ImportError as error:
            raise MissingExtraError("a pure-Python run with dop853", "scipy", "scipy") from error
        first = None if self.first is None else min(self.first, abs(end - record.at))

        def function(t: float, x: Array) -> Any:
            return derivative(float(t), x.tolist())

        with np.errstate(all="ignore"):
            solver = DOP853(function, record.at, record.last, end, first_step=first, **self.options)
            while solver.status == "running":
                if self.n_steps >= limit:
                    return TOO_MANY_STEPS
                solver.step()
                if solver.status == "failed":
                    return STEP_TOO_SMALL
                if not np.isfinite(solver.y).all():
                    return NONFINITE
                self.n_steps += 1
                self.first = float(abs(solver.h_abs))
                piece = solver.dense_output()
                self.pieces.append(piece)
                self.ts.append(float(solver.t))
                record.step(float(solver.t), solver.y.copy(), piece)
        return OK

    def dense(self, record: _Record, t0: float, x0: Array) -> Any:
        from scipy.integrate import OdeSolution

        if not self.pieces:
            return Dense(np.empty((0, 2)), np.empty((0, 4, len(x0))), t0, x0)
        return OdeSolution(np.array([t0, *self.ts]), self.pieces)


def _hermite(coef: Array, theta: float) -> Array:
    return np.asarray(coef[0] + theta * (coef[1] + (1 - theta) * (coef[2] + theta * coef[3])))


def _inside(signal: signals.Signal, t: float, ends: tuple[float, float]) -> float:
    """A linear signal over one stretch: at its ends the value from inside, also where the signal jumps."""
    low, high = min(ends), max(ends)
    inner = np.array([low + 0.25 * (high - low), low + 0.75 * (high - low)])
    a, b = signal.at(inner)
    return float(a + (b - a) * (t - inner[0]) / (inner[1] - inner[0]))


def _status(error: Exception) -> int:
    """The status code that a Python exception of a kernel stands for."""
    if isinstance(error, KernelError):
        return error.status
    return NONFINITE if isinstance(error, (ValueError, OverflowError, FloatingPointError)) else SINGULAR


def run_ensemble(
    model: Any, span: tuple[float, float], x0: Array, p: Array, inputs: signals.Inputs, t_eval: Array | None,
    result: tuple[Any, ...], options: dict[str, Any],
) -> None:  # fmt: skip
    """Fill the arrays of an ensemble, one trajectory after another."""
    y, t, status, nfev, n_steps = result
    for j in range(y.shape[2]):
        start, values = (rows[:, min(j, rows.shape[1] - 1)].copy() for rows in (x0, p))
        sol = model.integrate(span, start, values, inputs.column(j), t_eval=t_eval, **options)
        if t_eval is None:
            y[:, 0, j] = sol.y[:, -1]
        else:
            y[:, : len(sol.t), j] = sol.y
        t[j], status[j], nfev[j], n_steps[j] = sol.t_reached, sol.status, sol.nfev, sol.n_steps
