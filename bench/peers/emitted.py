"""numbalsoda (dop853, lsoda) with the emitted C kernel as its right-hand side; many runs use numba's prange."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from cases import TOLERANCE, Case

from . import Array, Many, Single

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
_LIMIT = 10_000_000


@cache
def right_hand_side(case: Case, reproducible: bool = True) -> int:
    """The address of a function with numbalsoda's signature into which the emitted kernel is inlined.

    It is compiled with the flags of the project's own builds.
    """
    import chaplygin.runtime
    from chaplygin.codegen.toolchain.compiler import find_compiler

    folder = Path(tempfile.mkdtemp(prefix="chaplygin-bench-"))
    case.entry.system.emit(case.form, folder)
    name = case.entry.system.name
    (folder / "adapter.c").write_text(_ADAPTER.format(name=name, work=max(1, case.model.n_work)))
    compiler = find_compiler()
    library = folder / "adapter.so"
    headers = Path(chaplygin.runtime.__file__).resolve().parent
    command = [
        *compiler.command,
        *compiler.core_flags(tuned=True, reproducible=reproducible),
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


def single(
    case: Case, tolerance: float = TOLERANCE, method: str = "dop853", reproducible: bool = True
) -> Single:
    """One run, final state only."""
    return solved(right_hand_side(case, reproducible), case.parameters, tolerance, method)


def solved(address: int, parameters: Array, tolerance: float, method: str = "dop853") -> Single:
    """One run of the right-hand side at an address."""
    import numbalsoda

    solver = getattr(numbalsoda, method)

    def run(y0: Array, t_end: float) -> Array:
        times = np.array([0.0, t_end])
        states, success = solver(  # y0 must be contiguous: the solver ignores strides
            address,
            np.ascontiguousarray(y0),
            times,
            data=parameters,
            rtol=tolerance,
            atol=tolerance,
            mxstep=_LIMIT,
        )
        assert success
        end: Array = np.asarray(states)[-1]
        return end

    return run


@cache
def _parallel(method: str) -> Any:
    import numba
    import numbalsoda

    solver, limit = getattr(numbalsoda, method), _LIMIT

    @numba.njit(parallel=True)  # type: ignore[untyped-decorator, unused-ignore]
    def run(address: Any, y: Any, times: Any, parameters: Any, tolerance: Any, out: Any) -> None:
        for i in numba.prange(y.shape[0]):
            states, _ = solver(
                address, y[i], times, data=parameters, rtol=tolerance, atol=tolerance, mxstep=limit
            )
            out[i] = states[-1]

    return run


def many(
    case: Case,
    y: Array,
    t_end: float,
    tolerance: float = TOLERANCE,
    method: str = "dop853",
    threads: int = 1,
    reproducible: bool = True,
) -> Many:
    """A prange loop over the trajectories, one row each."""
    import numba

    parallel = _parallel(method)
    address, rows, times = (
        right_hand_side(case, reproducible),
        np.ascontiguousarray(y.T),
        np.array([0.0, t_end]),
    )
    out = np.full_like(rows, np.nan)

    def run() -> Array:
        numba.set_num_threads(threads)
        parallel(address, rows, times, case.parameters, tolerance, out)
        columns: Array = out.T
        return columns

    return run
