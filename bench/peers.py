"""Right-hand sides for other integrators: the emitted C for numbalsoda, the same equations for heyoka."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from cases import Case

_ADAPTER = """
#include "chaplygin.h"
#include "{name}_core.c"
__attribute__((visibility("default"))) void {name}_lsoda_rhs(double t, double *y, double *dy, double *p);
void {name}_lsoda_rhs(double t, double *y, double *dy, double *p) {{
    double work[{work}];
    (void){name}_rhs(t, y, p, 0, dy, work);
}}
"""
_KEPT: list[Any] = []


def emitted_for_numbalsoda(case: Case) -> int:
    """The address of a function with numbalsoda's signature around the emitted kernel, inlined into it.

    It is compiled with the flags of the project's own builds.
    """
    import chaplygin.runtime
    from chaplygin.codegen.compilers import find_compiler

    folder = Path(tempfile.mkdtemp(prefix="chaplygin-bench-"))
    case.entry.system.emit(case.form, folder)
    name = case.entry.system.name
    work = max(1, 4 * len(case.model.states) ** 2)
    (folder / "adapter.c").write_text(_ADAPTER.format(name=name, work=work))
    compiler = find_compiler()
    library = folder / "adapter.so"
    flags = compiler.core_flags(tuned=True, reproducible=True)
    headers = Path(chaplygin.runtime.__file__).resolve().parent
    command = [
        *compiler.command,
        *flags,
        "-shared",
        f"-I{headers}",
        f"-I{folder}",
        str(folder / "adapter.c"),
        "-o",
        str(library),
        "-lm",
    ]
    subprocess.run(command, check=True, capture_output=True, text=True)
    loaded = ctypes.CDLL(str(library))
    _KEPT.append(loaded)
    address = ctypes.cast(getattr(loaded, f"{name}_lsoda_rhs"), ctypes.c_void_p).value
    assert address is not None
    return address


def heyoka_system(case: Case) -> list[tuple[Any, Any]]:
    """The equations as heyoka expressions: parameters as numbers, M factored symbolically without pivoting."""
    import heyoka as hy
    import sympy as sp

    symbols, (rates, mass, forcing) = case._symbols, case._expressions()
    k = mass.shape[0]
    functions = {name: getattr(hy, name) for name in ("sin", "cos", "sqrt", "exp", "log")}
    build = sp.lambdify(
        symbols, [list(rates), mass.tolist(), list(forcing)], modules=[functions, "math"], cse=True
    )
    variables = [hy.expression(name) for name in case.model.states]
    x_dot, m, f = build(0.0, *variables, *case.parameters.tolist())
    for i in range(k):
        for row in range(i + 1, k):
            factor = m[row][i] / m[i][i]
            m[row] = [m[row][j] - factor * m[i][j] if j > i else m[row][j] for j in range(k)]
            f[row] = f[row] - factor * f[i]
    solution: list[Any] = [None] * k
    for i in reversed(range(k)):
        total = f[i]
        for j in range(i + 1, k):
            total = total - m[i][j] * solution[j]
        solution[i] = total / m[i][i]
    zero = variables[0] * 0.0
    return [(variable, expression + zero) for variable, expression in zip(variables, [*x_dot, *solution])]


def final(states: Any) -> np.ndarray:
    """The last row of numbalsoda's output."""
    return np.asarray(states)[-1]
