"""The torus with a sliding shell, for any prescribed rotation psi(t) of the torus about the vertical.

The centre of mass of the shell (mass m2) moves on a vertical circle of radius R that a motor turns:
    T = (J theta'^2 + Iz(theta) psi'^2) / 2,    V = m2 g R sin(theta),    J = B2 + m2 R^2,
    Iz(theta) = I1 + A2 sin(theta)^2 + (C2 + m2 R^2) cos(theta)^2.
With D = A2 - C2 - m2 R^2 the equation of motion is
    J theta'' = psi'^2 D sin(theta) cos(theta) - m2 g R cos(theta),
and the motor must apply the couple d(Iz psi')/dt = Iz psi'' + 2 D theta' psi' sin(theta) cos(theta).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import chaplygin as cg

from .entry import by_symbol

_UNITS = {
    "theta": "rad",
    "psi": "rad",
    "I1": "kg m^2",
    "A2": "kg m^2",
    "B2": "kg m^2",
    "C2": "kg m^2",
    "m2": "kg",
    "R": "m",
    "g": "m/s^2",
    "Omega": "rad/s",
    "alpha": "rad",
    "nu": "rad/s",
    "couple": "N m",
    "drive_power": "W",
    "painleve_energy": "J",
    "painleve_power": "W",
}
_DESCRIPTIONS = {
    "theta": "angle of the shell's centre above the horizontal",
    "psi": "angle of the torus about the vertical",
    "I1": "moment of inertia of the torus about the vertical",
    "A2": "moment of inertia of the shell about its axis along the radius",
    "B2": "moment of inertia of the shell about the normal of the torus's circle",
    "C2": "moment of inertia of the shell about its axis along the circle",
    "m2": "mass of the shell",
    "R": "radius of the circle of the shell's centre",
    "g": "gravity",
    "Omega": "mean angular rate",
    "alpha": "amplitude of the ripple",
    "nu": "frequency of the ripple",
    "couple": "couple of the motor",
    "drive_power": "power of the motor",
    "painleve_energy": "T2 - T0 + V",
    "painleve_power": "d(T2 - T0 + V)/dt = -dT/dt at fixed theta and theta'",
}


def declare(name: str, turn: Any, point: Mapping[str, float], held: bool) -> cg.System:
    """The declaration for psi = ``turn``, an expression in `chaplygin.time` and parameters.

    With ``held``, psi is a coordinate and the motor a constraint on its rate; otherwise psi(t) is substituted into T.
    """
    import sympy as sp

    theta = cg.coordinates("theta")
    i1, a2, b2, c2, m2, radius, g = cg.parameters("I1 A2 B2 C2 m2 R g", positive=True)
    rate = cg.rate(theta)
    psi = cg.coordinates("psi") if held else None
    turning = turn.diff(cg.time)
    spin = cg.rate(psi) if held else turning
    axial = i1 + a2 * sp.sin(theta) ** 2 + (c2 + m2 * radius**2) * sp.cos(theta) ** 2
    difference = a2 - c2 - m2 * radius**2
    along = (b2 + m2 * radius**2) * rate**2 / 2
    potential = m2 * g * radius * sp.sin(theta)
    couple = axial * turning.diff(cg.time) + 2 * difference * rate * turning * sp.sin(theta) * sp.cos(theta)
    outputs = {
        "couple": couple,
        "drive_power": couple * turning,
        "painleve_energy": along - axial * turning**2 / 2 + potential,
    }
    if turning.has(cg.time):
        outputs["painleve_power"] = -axial * turning * turning.diff(cg.time)
    coordinates = [theta, psi] if held else [theta]
    symbols = [*coordinates, *(cg.rate(x) for x in coordinates), i1, a2, b2, c2, m2, radius, g]
    symbols += sorted(turn.free_symbols - {cg.time}, key=lambda s: list(point).index(s.name))
    return cg.System(
        name,
        coordinates=coordinates,
        kinetic=along + axial * spin**2 / 2,
        potential=potential,
        constraints=[spin - turning] if held else [],
        outputs=outputs,
        units={s: _UNITS[str(s)] for s in (*symbols, *outputs) if str(s) in _UNITS},
        descriptions={s: _DESCRIPTIONS[str(s)] for s in (*symbols, *outputs) if str(s) in _DESCRIPTIONS},
        example=by_symbol(symbols, point),
    )
