"""A driven mass that a moving wall throws back: an input that varies in force and in the place of an event."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import chaplygin as cg

TIMES = np.linspace(0, 5, 41)
VALUES = 0.6 * np.sin(1.7 * TIMES)
INPUTS: dict[str, Any] = {
    "function": lambda t: 0.6 * math.sin(1.7 * t),
    "cubic": (TIMES, VALUES, "cubic"),
    "linear": (TIMES, VALUES, "linear"),
    "held": (TIMES, VALUES),
}
"""One input in every way in which it can vary."""
START = {"x": 0.1, "x_dot": 0.0}
NUMBERS = {"m": 1.3, "c": 0.2, "k": 4.0, "b": 0.05}
NAMES = ["k", "b", "m", "x"]


def system() -> cg.System:
    """m x'' = u - c x' - k x, and x' -> -0.8 x' where x reaches u + b."""
    x, u = cg.coordinates("x"), cg.inputs("u")
    m, c, k, b = cg.parameters("m c k b", positive=True)
    v = cg.rate(x)
    return cg.System(
        "driven_to_a_wall",
        coordinates=[x],
        kinetic=m * v**2 / 2,
        potential=k * x**2 / 2,
        forces={v: u - c * v},
        events=[cg.Event(x - u - b, direction=1, reset={v: -0.8 * v}, name="wall")],
    )


def moved(name: str, off: float) -> tuple[dict[str, float], dict[str, float]]:
    """The start and the parameters with one of them changed."""
    start, numbers = (
        {**given, name: given[name] + off} if name in given else given for given in (START, NUMBERS)
    )
    return start, numbers


def differences(function: Any) -> list[float]:
    """The derivatives of a function of the start and the parameters by `NAMES`, to the fourth order."""
    h = 1e-4
    at = [[function(*moved(name, j * h)) for j in (-2, -1, 1, 2)] for name in NAMES]
    return [(8 * (c - b) - (d - a)) / (12 * h) for a, b, c, d in at]
