"""The pure-Python backend of a program: the same statements as Python source."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from chaplygin.runtime.interface.description import KernelEntry, Variable

from ..graph.functions import FUNCTIONS, careful
from ..graph.graph import Graph, Node
from ..plan.language import expression
from ..plan.plan import Program
from ..plan.statements import Assign, Check, FactorSolve, Load, Schedule, SineCosine, Store, assigned
from .function_bodies import array_name, place
from .node_text import PYTHON, C, Dialect

Function = Callable[..., Any]


@dataclass(frozen=True)
class Kernels(Program):
    """A program with its kernels as Python functions: a `chaplygin.codegen.emit.python_backend.PythonKernels`."""

    python: Mapping[str, Function] = field(default_factory=dict)


def python_source(program: Program, kernel: str, dialect: Dialect = PYTHON) -> str:
    """One kernel as the source of a Python function of (t, x, p, u), or (t, x, p, u, v) along a direction v."""
    g, plan = program.graph, program.written_out(kernel)
    along = ", cg_v" if program.kernels[kernel].takes == "direction" else ""
    lines = [f"def {kernel}({program.clock}, cg_x, cg_p, cg_u{along}):"]
    lines.append(f"    cg_out = [0.0] * {len(plan.kernel.outputs)}")
    if plan.work:
        lines.append(f"    cg_work = [0.0] * {plan.work}")
    if plan.hoist is not None:
        lines += [f"    cg_q = [0.0] * {plan.hoisted}", *_lines(g, plan.hoist, dialect)]
    return "\n".join([*lines, *_lines(g, plan, dialect), "    return cg_out", ""])


def _lines(g: Graph, plan: Schedule, dialect: Dialect) -> list[str]:
    """The statements of a schedule as indented lines."""
    lines: list[str] = []

    def text(node: Node, top: bool = False) -> str:
        return expression(g, node, plan.names, top, dialect)

    for s in plan.statements:
        if isinstance(s, Load):
            lines.append(f"    {s.name} = {place(s)}")
        elif isinstance(s, (Assign, SineCosine)):
            lines += [f"    {part.name} = {text(part.node, True)}" for part in assigned(s)]
        elif isinstance(s, Store):
            lines.append(f"    {array_name(s.array)}[{s.index}] = {text(s.node)}")
        elif isinstance(s, Check):
            zero = " or ".join(f"fabs({text(p)}) <= {text(limit)}" for p, limit in s.pairs)
            lines.append(f"    if {zero}: raise Singular('singular mass matrix')")
        elif isinstance(s, FactorSolve):
            prefix, sizes = ("cg_rank_", f"{s.size}, {s.rank}") if s.rank else ("cg_", f"{s.size}")
            if s.factor:
                lines.append(f"    {prefix}factor({sizes}, cg_work, {s.matrix})")
            lines.append(f"    {prefix}solve({sizes}, cg_work, {s.matrix}, {s.right})")
    return lines


class Singular(ArithmeticError):
    """A pivot of the mass matrix or of the constraints is too small."""


def python_kernel(program: Program, kernel: str, fma: Function | None = None) -> Function:
    """One kernel as a Python function over sequences of floats, with the operations of the emitted C.

    Its multiply-adds round the product before the sum, unless they are calls of `fma`, a function of (a, b, c) that
    rounds once: then arithmetic gives the bits of the emitted C.

    If Python raises an error (1/0, sqrt(-1)), the kernel is re-evaluated with infinities and NaN, so only results that
    depend on these are lost. Raises Singular.
    """
    plain = replace(PYTHON, fused=PYTHON.fused if fma is None else C.fused)
    once = fma or _rounded_twice
    names = {
        "cg_fma": once,
        "cg_fms": lambda a, b, c: once(a, b, -c),
        "cg_fnma": lambda a, b, c: once(-a, b, c),
        "cg_fnms": lambda a, b, c: once(-a, b, -c),
        "cg_factor": functools.partial(_factor, once),
        "cg_solve": functools.partial(_solve, once),
        "cg_rank_factor": functools.partial(_rank_factor, once),
        "cg_rank_solve": functools.partial(_rank_solve, once),
    }
    fast = _compiled(program, kernel, plain, names | {f.c: f.value for f in FUNCTIONS.values()})

    @functools.cache
    def with_special_values() -> Function:
        functions = {f.c: f.careful for f in FUNCTIONS.values()}
        dialect = replace(plain, quotient="cg_div({0}, {1})")  # division by zero is not an error
        return _compiled(program, kernel, dialect, names | functions | {"cg_div": careful(np.divide)})

    def function(*arguments: Any) -> Any:
        try:
            return fast(*arguments)
        except (ValueError, OverflowError, ZeroDivisionError):
            return with_special_values()(*arguments)

    return function


def _compiled(program: Program, kernel: str, dialect: Dialect, functions: Mapping[str, Function]) -> Function:
    namespace: dict[str, Any] = {**functions, "cg_nan": math.nan}
    namespace["Singular"] = Singular
    exec(compile(python_source(program, kernel, dialect), f"<{program.name} {kernel}>", "exec"), namespace)
    function: Function = namespace[kernel]
    return function


def _rounded_twice(a: float, b: float, c: float) -> float:
    return a * b + c


def _factor(fma: Function, n: int, m: list[float], at: int) -> None:
    """The factorization of templates/solver.c.in."""
    starts = [at + k * n - k * (k - 1) // 2 for k in range(n)]
    diagonal = [m[s] for s in starts]
    for k, row in enumerate(starts):
        pivot = m[row]
        if abs(pivot) <= 1e-13 * abs(diagonal[k]):
            raise Singular("singular mass matrix")
        for i in range(1, n - k):
            factor = m[row + i] / pivot
            below = starts[k + i]
            for j in range(i, n - k):
                m[below + j - i] = fma(-factor, m[row + j], m[below + j - i])


def _solve(fma: Function, n: int, m: list[float], at: int, b: int) -> None:
    starts = [at + k * n - k * (k - 1) // 2 for k in range(n)]
    for k, row in enumerate(starts):
        m[b + k] /= m[row]
        for i in range(1, n - k):
            m[b + k + i] = fma(-m[row + i], m[b + k], m[b + k + i])
    for k in reversed(range(n)):
        total = 0.0
        for i in range(1, n - k):
            total = fma(m[starts[k] + i], m[b + k + i], total)
        m[b + k] -= total / m[starts[k]]


_quotient = careful(np.divide)  # where the rank is lost, a pivot is zero


def _rank_factor(fma: Function, n: int, r: int, m: list[float], at: int) -> None:
    """The functions of runtime/c/cg_rank.h."""
    starts = [
        at + k * n - k * (k - 1) // 2 - k for k in range(n)
    ]  # entry (i, j) is at starts[i] + j for i <= j
    d = at + n * (n + 1) // 2
    columns, gram = d + r + 1, d + r + 1 + r * n
    left = list(range(n))
    for k in range(r):
        p = max(left, key=lambda i: m[starts[i] + i])
        left.remove(p)
        pivot = m[d + k] = m[starts[p] + p]
        column = columns + k * n
        for i in range(n):
            m[column + i] = _quotient(m[starts[min(i, p)] + max(i, p)], pivot) if i in left else float(i == p)
        for a, i in enumerate(left):
            for j in left[a:]:
                m[starts[i] + j] = fma(-m[column + i], m[starts[min(j, p)] + max(j, p)], m[starts[i] + j])
    m[d + r] = max((m[starts[i] + i] for i in left), default=0.0)
    for k in range(r):
        for j in range(k + 1):
            total = 0.0
            for i in range(n):
                total = fma(m[columns + k * n + i], m[columns + j * n + i], total)
            for i in range(j):
                total = fma(-m[gram + k * r + i], m[gram + j * r + i] * m[gram + i * r + i], total)
            m[gram + k * r + j] = total if j == k else _quotient(total, m[gram + j * r + j])


def _rank_solve(fma: Function, n: int, r: int, m: list[float], at: int, b: int) -> None:
    d = at + n * (n + 1) // 2
    columns, gram = d + r + 1, d + r + 1 + r * n
    y = [0.0] * r

    def gram_solve() -> None:
        for k in range(r):
            for j in range(k):
                y[k] = fma(-m[gram + k * r + j], y[j], y[k])
        for k in reversed(range(r)):
            y[k] = _quotient(y[k], m[gram + k * r + k])
            for j in range(k + 1, r):
                y[k] = fma(-m[gram + j * r + k], y[j], y[k])

    for k in range(r):
        for i in range(n):
            y[k] = fma(m[columns + k * n + i], m[b + i], y[k])
    gram_solve()
    for k in range(r):
        y[k] = _quotient(y[k], m[d + k])
    gram_solve()
    for i in range(n):
        m[b + i] = 0.0
        for k in range(r):
            m[b + i] = fma(m[columns + k * n + i], y[k], m[b + i])


def _looped_jacobian(jvp: Function, n: int) -> Function:
    def jacobian(t: float, x: Any, p: Any, u: Any) -> list[float]:
        columns = [jvp(t, x, p, u, [1.0 if i == j else 0.0 for i in range(n)]) for j in range(n)]
        return [columns[j][i] for i in range(n) for j in range(n)]

    return jacobian


def _of_events(kernels: Mapping[int, Function]) -> Function:
    """One function for all events; where an event has none, the state is unchanged."""

    def function(event: int, t: float, x: Any, p: Any, u: Any) -> list[float]:
        return list(kernels[event](t, x, p, u)) if event in kernels else list(x)

    return function


class PythonKernels(Protocol):
    """The contents of a pure-Python model: a Program's names, and its kernels as Python functions.

    ``python[kernel]`` is a function of what the kernel takes, for most (t, x, p, u): sequences of floats. It returns
    one of the length that its entry says. A singular mass matrix raises `ArithmeticError`.
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
    def independent(self) -> str: ...
    @property
    def entries(self) -> Sequence[KernelEntry]: ...
    @property
    def states(self) -> Sequence[Variable]: ...
    @property
    def parameters(self) -> Sequence[Variable]: ...
    @property
    def inputs(self) -> Sequence[Variable]: ...
    @property
    def outputs(self) -> Sequence[Variable]: ...
    @property
    def invariants(self) -> Sequence[Variable]: ...
    @property
    def declared(self) -> Sequence[Variable]: ...
    @property
    def python(self) -> Mapping[str, Function]: ...
