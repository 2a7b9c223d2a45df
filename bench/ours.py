"""`chaplygin` as one of the integrators: its methods, and calls with the same signature as those of the peers."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from cases import Array, Case
from peers import MISSING, Many, Single

import chaplygin as cg
from chaplygin.runtime.core._core import methods

ADAPTIVE = tuple(name for name in ("vern9", "vern7", "dop853", "tsit5") if name in methods())
"""Explicit methods with step-size control, highest order first."""


@cache
def model(case: Case, reproducible: bool, methods: tuple[str, ...] = ()) -> Any:
    """The compiled model, with further methods; the first call compiles."""
    return case.entry.system.compile(case.form, reproducible=reproducible, methods=methods, wait=True)


@cache
def widest(case: Case) -> int:
    """The number of lanes in a register of this CPU; 1 if the case cannot run in lanes."""
    from chaplygin.runtime.core._core import widest_lanes

    lanes = int(widest_lanes())
    try:
        for reproducible in (True, False):
            many(case, case.initial[:, None], 1e-3, lanes=lanes, reproducible=reproducible)()
    except Exception as error:
        MISSING[f"lanes of {case.key}"] = str(error).splitlines()[0][:200]
        return 1
    return lanes


def many(
    case: Case,
    y: Array,
    t_end: float,
    tolerance: float = 1e-9,
    method: str | None = "dop853",
    *,
    threads: int = 1,
    lanes: int | None = 1,
    reproducible: bool = False,
    **more: Any,
) -> Many:
    """``cg.ensemble`` with one array of initial values for each state; None stands for the package's default."""
    compiled = model(case, reproducible)
    initial = dict(zip(compiled.states, y, strict=True))
    parameters = dict(zip(compiled.parameters, case.parameters.tolist(), strict=True))
    chosen = {name: value for name, value in (("method", method), ("lanes", lanes)) if value is not None}

    def run() -> Array:
        result = cg.ensemble(
            compiled,
            (0.0, t_end),
            initial=initial,
            parameters=parameters,
            rtol=tolerance,
            atol=tolerance,
            threads=threads,
            progress=False,
            **chosen,
            **more,
        )
        end: Array = result.y
        return end

    return run


def single(
    case: Case, tolerance: float = 1e-9, method: str = "dop853", reproducible: bool = False, **more: Any
) -> Single:
    """``model.integrate``, returning the final state only."""
    brought = ("taylor",) if method == "taylor" else ()
    integrate, parameters = model(case, reproducible, brought).integrate, case.parameters

    def run(y0: Array, t_end: float) -> Array:
        result = integrate(
            (0.0, t_end),
            np.ascontiguousarray(y0),
            parameters,
            method=method,
            rtol=tolerance,
            atol=tolerance,
            t_eval=[t_end],
            **more,
        )
        end: Array = result.y[:, -1]
        return end

    return run
