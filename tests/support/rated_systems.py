"""Systems with inputs whose rates enter the equations, beside equations written by hand for SciPy."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import sympy as sp
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

import chaplygin as cg

SPAN = (0.0, 4.0)
TIMES = np.linspace(*SPAN, 41)
TOLERANCES = {"rtol": 1e-11, "atol": 1e-12}
NUMBERS = {"m": 1.3, "l": 0.7, "g": 9.81, "J": 0.4, "a": 0.25, "F": 0.6}
Q, X, Y, PHI = cg.coordinates("q x y phi")
OMEGA, V, W = cg.velocities("omega v w")
M, L, G, J, A, F = cg.parameters("m l g J a F")
U = cg.inputs("u")


@dataclass(frozen=True)
class Rated:
    """A system with the input u, where it starts, what u is at the samples, and its equations by hand:
    dy/dt = `by_hand`(y, u, u', u'')."""

    system: Callable[[], Any]
    start: dict[str, float]
    motion: Callable[[Any], Any]
    by_hand: Callable[..., Any]

    @functools.cached_property
    def model(self) -> Any:
        return self.system().compile()

    @property
    def numbers(self) -> dict[str, float]:
        return {name: NUMBERS[name] for name in self.model.parameters}

    @property
    def samples(self) -> Any:
        return self.motion(TIMES)

    @functools.cached_property
    def spline(self) -> Any:
        """SciPy's own."""
        return CubicSpline(TIMES, self.samples)

    def solved(self, u: Callable[[float], tuple[float, float, float]], end: float = SPAN[1]) -> Any:
        """The states at the end by SciPy, in pieces between the samples, where third derivatives jump."""
        y = np.array(list(self.start.values()))
        for first, last in pairwise(TIMES):
            if first < end:
                last = min(last, end)
                found = solve_ivp(
                    lambda t, y: self.by_hand(y, *u(t)),
                    (first, last),
                    y,
                    method="DOP853",
                    rtol=1e-12,
                    atol=1e-13,
                )
                y = found.y[:, -1]
        return y

    @functools.cached_property
    def end(self) -> Any:
        """The states at the end, with u by the cubic spline through the samples."""
        s = self.spline
        return self.solved(lambda t: (s(t), s(t, 1), s(t, 2)))


def _car() -> Any:
    planar = {PHI: OMEGA, X: V * sp.cos(PHI) - W * sp.sin(PHI), Y: V * sp.sin(PHI) + W * sp.cos(PHI)}
    return cg.System(
        "steered_car",
        kinematics=planar,
        kinetic=M * (V**2 + (W + A * OMEGA) ** 2) / 2 + J * OMEGA**2 / 2,
        forces={V: F},
        constraints=[W, (W + L * OMEGA) * sp.cos(U) - V * sp.sin(U)],
        example={PHI: 0, M: 1.3, L: 0.7, J: 0.4, A: 0.25, U: 0.1, V: 1},
        kept=[V],
    )


def _car_by_hand(y: Any, u: float, du: float, ddu: float) -> Any:
    """omega = v tan(u)/l, so T = A(u) v^2/2, and steering does no work: dT/dt = F v."""
    phi, _, _, v = y
    n = NUMBERS
    c = (n["m"] * n["a"] ** 2 + n["J"]) / n["l"] ** 2
    inertia, slope = n["m"] + c * np.tan(u) ** 2, 2 * c * np.tan(u) / np.cos(u) ** 2
    return [v * np.tan(u) / n["l"], v * np.cos(phi), v * np.sin(phi), (n["F"] - slope * du * v / 2) / inertia]


def _pivot() -> Any:
    qd = cg.rate(Q)
    kinetic = M * ((L * qd * sp.cos(Q)) ** 2 + (cg.rate(U) + L * qd * sp.sin(Q)) ** 2) / 2
    return cg.System("driven_pivot", coordinates=[Q], kinetic=kinetic, potential=M * G * (U - L * sp.cos(Q)))


def _pivot_by_hand(y: Any, u: float, du: float, ddu: float) -> Any:
    return [y[1], -(NUMBERS["g"] + ddu) * np.sin(y[0]) / NUMBERS["l"]]


def _crank() -> Any:
    turn = sp.Matrix([[sp.cos(Q), 0, sp.sin(Q)], [0, 1, 0], [-sp.sin(Q), 0, sp.cos(Q)]])
    centre = (L * sp.cos(U) + A * sp.sin(Q), 0, L * sp.sin(U) - A * sp.cos(Q))
    body = cg.Body("bob", mass=M, inertia=sp.diag(J, J, J), center=centre, rotation=turn)
    return cg.System("driven_crank", coordinates=[Q], bodies=[body], interactions=[cg.Weight(G)])


def _crank_by_hand(y: Any, u: float, du: float, ddu: float) -> Any:
    n, (q, rate) = NUMBERS, y
    ax = n["l"] * (-np.sin(u) * ddu - np.cos(u) * du**2)
    az = n["l"] * (np.cos(u) * ddu - np.sin(u) * du**2)
    moment = -n["m"] * n["a"] * ((n["g"] + az) * np.sin(q) + ax * np.cos(q))
    return [rate, moment / (n["J"] + n["m"] * n["a"] ** 2)]


SYSTEMS = {
    "car": Rated(
        _car, {"phi": 0.1, "x": 0.0, "y": 0.0, "v": 1.0}, lambda t: 0.5 * np.sin(1.5 * t), _car_by_hand
    ),
    "pivot": Rated(_pivot, {"q": 0.5, "q_dot": 0.2}, lambda t: 0.1 * np.sin(5 * t), _pivot_by_hand),
    "crank": Rated(_crank, {"q": 0.5, "q_dot": 0.2}, lambda t: 2 * t + 0.3 * np.sin(t), _crank_by_hand),
}


def sine(t: float) -> float:
    return 0.1 * math.sin(5 * t)


def told(t: float) -> tuple[float, float, float]:
    return sine(t), 0.5 * math.cos(5 * t), -2.5 * math.sin(5 * t)


@functools.cache
def of_sine() -> Any:
    """The end of the pivot by `told`."""
    return SYSTEMS["pivot"].solved(told)
