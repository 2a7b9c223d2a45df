"""The limit that the package is held against: the three systems with `vern9` and `rk4` in C written by hand for the
registers of this CPU, everything inlined.

Times of the package are given relative to the reference's. Each `.c` file contains the equations of one system, in the
fewest operations: derivatives come multiplied by the step, five links are eliminated from both ends with one division,
sine and cosine take a table of 16 angles. `vern9.h` and `rk4.h` are the methods; a constant that multiplies the
derivatives of all states is kept in a register.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from cases import Array, Case
from peers import Many, Single
from shared_library import shared_library

_HERE = Path(__file__).resolve().parent
_SOURCES = {
    "heavy_top": "heavy_top",
    "chaplygin_sleigh": "chaplygin_sleigh",
    "n_link_pendulum_5": "five_links",
}
_LIMIT = 32
"""More constants than any system has."""


@cache
def library(name: str, lanes: int | None = None) -> ctypes.CDLL:
    """The compiled source of a system; ``lanes`` is by default what a register holds."""
    loaded = shared_library(_HERE / f"{name}.c", *(() if lanes is None else (f"-DLANES={lanes}",)))
    number, size, array = ctypes.c_double, ctypes.c_long, ctypes.c_void_p
    loaded.reference_vern9.restype = loaded.reference_rk4.restype = size
    loaded.reference_vern9.argtypes = [size, number, number, array, array, array, array]
    loaded.reference_rk4.argtypes = [size, size, number, array, array, array]
    return loaded


def vern9(
    name: str, parameters: Array, y: Array, t_end: float, tolerance: float, lanes: int | None = None
) -> tuple[Array, int, int]:
    """The states at ``t_end`` of trajectories from the columns of ``y``, and how many steps were accepted and rejected.

    The system is named as its source. The tolerance is relative to 1 + the norm of the state.
    """
    start, end, rejected = np.ascontiguousarray(y), np.empty(y.shape), ctypes.c_long()
    function = library(name, lanes).reference_vern9
    arrays = (array.ctypes.data for array in (parameters, start, end))
    accepted = function(start.shape[1], t_end, tolerance, *arrays, ctypes.addressof(rejected))
    return end, accepted, rejected.value


def rk4(name: str, parameters: Array, y: Array, t_end: float, steps: int) -> tuple[Array, int]:
    """The states at ``t_end`` after ``steps`` equal steps, and the number of operations that all took."""
    start, end = np.ascontiguousarray(y), np.empty(y.shape)
    arrays = (array.ctypes.data for array in (parameters, start, end))
    return end, library(name).reference_rk4(start.shape[1], steps, t_end, *arrays)


def many(case: Case, y: Array, t_end: float, tolerance: float) -> Many:
    """An ensemble by vern9 in lanes, on one core."""
    name, parameters = _SOURCES[case.key], case.parameters
    return lambda: vern9(name, parameters, y, t_end, tolerance)[0]


def many_fixed(case: Case, y: Array, t_end: float, step: float) -> tuple[Many, int]:
    """An ensemble by rk4 in lanes, on one core, and its number of operations."""
    name, parameters, steps = _SOURCES[case.key], case.parameters, round(t_end / step)
    return lambda: rk4(name, parameters, y, t_end, steps)[0], rk4(name, parameters, y, t_end, steps)[1]


def single(case: Case, tolerance: float) -> Single:
    """One run by vern9."""
    name, parameters = _SOURCES[case.key], case.parameters

    def run(y0: Array, t_end: float) -> Array:
        end: Array = vern9(name, parameters, y0[:, None], t_end, tolerance, lanes=1)[0][:, 0]
        return end

    return run


def right_hand_side(case: Case) -> tuple[int, Array]:
    """The address of the right-hand side for one trajectory, with numbalsoda's signature, and its parameters."""
    loaded, constants = library(_SOURCES[case.key], 1), np.zeros(_LIMIT)
    loaded.reference_constants.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    count = loaded.reference_constants(case.parameters.ctypes.data, constants.ctypes.data)
    address: Any = ctypes.cast(loaded.reference_rhs, ctypes.c_void_p).value
    return address, constants[:count].copy()


def five_links(case: Case, y: Any, functions: Any) -> list[Any]:
    """The equations of five_links.c on the numbers or expressions of another package."""
    _, length, gravity = case.parameters.tolist()
    weight, rates = gravity / length, y[5:]
    turn = [y[i + 1] - y[i] for i in range(4)]
    s, c = ([functions[name](angle) for angle in turn] for name in ("sin", "cos"))
    r = [rate * rate for rate in rates]
    r[0] = r[0] + weight * functions["cos"](y[0])
    from_top, from_bottom = c[1] / (2.0 - c[0] * c[0]), c[2] / (2.0 - 0.5 * (c[3] * c[3]))
    top, bottom = r[1] + c[0] * r[0], r[3] + 0.5 * (c[3] * r[4])
    t3 = (r[2] + from_top * top + from_bottom * bottom) / (2.0 - c[1] * from_top - c[2] * from_bottom)
    t2 = (top + c[1] * t3) / (2.0 - c[0] * c[0])
    t4 = (bottom + c[2] * t3) / (2.0 - 0.5 * (c[3] * c[3]))
    t1, t5 = r[0] + c[0] * t2, 0.5 * (r[4] + c[3] * t4)
    return [
        *rates,
        s[0] * t2 - weight * functions["sin"](y[0]),
        s[1] * t3 - s[0] * t1,
        s[2] * t4 - s[1] * t2,
        s[3] * t5 - s[2] * t3,
        -1.0 * (s[3] * t4),
    ]
