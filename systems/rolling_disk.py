"""A disk that rolls without slipping on a horizontal plane.

The point of contact is at (x, y), the trace of the disk's plane has the direction psi, the plane leans by
alpha from the vertical, and the disk has turned by theta in its plane. In the frame of the trace, the normal
and the steepest radius of the disk, the angular velocity is
    w1 = alpha',    w2 = theta' + psi' sin(alpha),    w3 = psi' cos(alpha),
and the disk's material point at the contact has the slip s1 along the trace and s2 across it, s1 = s2 = 0:
    x' = (s1 + R theta') cos(psi) - s2 sin(psi),    y' = (s1 + R theta') sin(psi) + s2 cos(psi).
With the centre at the height R cos(alpha) and moments A about a diameter and B about the axis,
    T = m ((s1 + R w2)^2 + (s2 cos(alpha) - R w1)^2 + s2^2 sin(alpha)^2) / 2 + (A w1^2 + B w2^2 + A w3^2) / 2,
    V = m g R cos(alpha).
The structure functions of these velocities depend on alpha.

Conserved: energy. (Two more integrals, linear in the rates, are hypergeometric functions of alpha.) Upright
rolling, alpha = w1 = 0, is stable on a straight line if w2^2 > m g R A / (B (B + m R^2)).

Source: P. Appell (1900), D. J. Korteweg (1899); E. J. Routh, Advanced rigid dynamics, article 244.
"""

from __future__ import annotations

import chaplygin as cg

from .entry import Example, by_symbol

PARAMETERS = {"m": 2.0, "R": 0.5, "A": 0.125, "B": 0.25, "g": 9.81}
INITIAL = {
    "x": 0.0,
    "y": 0.0,
    "psi": 0.4,
    "alpha": 0.3,
    "theta": 0.0,
    "s1": 0.0,
    "s2": 0.0,
    "w1": 0.2,
    "w2": 5.0,
    "w3": -0.8,
}


def system() -> cg.System:
    """The declaration; m in kg, R in metres, A and B in kg m^2."""
    import sympy as sp

    x, y, psi, alpha, theta = coordinates = cg.coordinates("x y psi alpha theta")
    s1, s2, w1, w2, w3 = velocities = cg.velocities("s1 s2 w1 w2 w3")
    m, radius, a, b, g = parameters = cg.parameters("m R A B g", positive=True)
    turning = w3 / sp.cos(alpha)
    spinning = w2 - turning * sp.sin(alpha)
    along = s1 + radius * spinning
    return cg.System(
        "rolling_disk",
        kinematics={
            x: along * sp.cos(psi) - s2 * sp.sin(psi),
            y: along * sp.sin(psi) + s2 * sp.cos(psi),
            psi: turning,
            alpha: w1,
            theta: spinning,
        },
        kinetic=m
        * ((s1 + radius * w2) ** 2 + (s2 * sp.cos(alpha) - radius * w1) ** 2 + s2**2 * sp.sin(alpha) ** 2)
        / 2
        + (a * w1**2 + b * w2**2 + a * w3**2) / 2,
        potential=m * g * radius * sp.cos(alpha),
        constraints=[s1, s2],
        outputs={"height": radius * sp.cos(alpha)},
        units={
            **dict.fromkeys((x, y), "m"),
            **dict.fromkeys((psi, alpha, theta), "rad"),
            **dict.fromkeys((s1, s2), "m/s"),
            **dict.fromkeys((w1, w2, w3), "rad/s"),
            m: "kg",
            radius: "m",
            a: "kg m^2",
            b: "kg m^2",
            g: "m/s^2",
        },
        descriptions={
            x: "point of contact",
            y: "point of contact",
            psi: "direction of the trace",
            alpha: "lean of the disk's plane from the vertical",
            theta: "turn of the disk in its plane",
            s1: "slip along the trace",
            s2: "slip across the trace",
            w1: "angular velocity about the trace",
            w2: "angular velocity about the axis",
            w3: "angular velocity about the steepest radius",
            m: "mass",
            radius: "radius",
            a: "moment about a diameter",
            b: "moment about the axis",
            g: "gravity",
        },
        example=by_symbol((*coordinates, *velocities, *parameters), PARAMETERS | INITIAL),
    )


example = Example.maker(
    __name__,
    description="Disk that rolls on a plane, in quasi-velocities with structure functions",
    source="Korteweg (1899); Appell (1900); Routh, Advanced rigid dynamics",
    forms=("maggi", "multipliers", "hamel", "nonholonomic"),
)
