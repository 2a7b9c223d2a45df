"""Two systems in a plane that many tests of runs share: a pendulum in x and y, and a sleigh."""

from __future__ import annotations

from typing import Any

import sympy as sp

import chaplygin as cg


def pendulum_in_x_and_y(name: str, **more: Any) -> cg.System:
    """A mass m at the distance l from the origin, with weight along -y, and what else is declared."""
    x, y = cg.coordinates("x y")
    m, length, g = cg.parameters("m l g", positive=True)
    return cg.System(
        name,
        coordinates=[x, y],
        kinetic=m * (cg.rate(x) ** 2 + cg.rate(y) ** 2) / 2,
        potential=m * g * y,
        holonomic=[x**2 + y**2 - length**2],
        **more,
    )


def sleigh(name: str, **more: Any) -> cg.System:
    """A blade at (x, y) along phi with the mass centre a ahead of it; w, the speed across it, is 0."""
    phi, x, y = cg.coordinates("phi x y")
    omega, v, w = cg.velocities("omega v w")
    m, a, inertia = cg.parameters("m a J", positive=True)
    declared = {
        "constraints": [w],
        "example": {m: 1, a: 0.2, inertia: 0.5, phi: 0, x: 0, y: 0, omega: 1, v: 1, w: 0},
    }
    return cg.System(
        name,
        kinematics={
            phi: omega,
            x: v * sp.cos(phi) - w * sp.sin(phi),
            y: v * sp.sin(phi) + w * sp.cos(phi),
        },
        kinetic=m * (v**2 + (w + a * omega) ** 2) / 2 + inertia * omega**2 / 2,
        **{**declared, **more},
    )
