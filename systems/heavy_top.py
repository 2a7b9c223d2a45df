"""The heavy top: a rigid body with a fixed point under gravity.

The attitude is the unit quaternion q = (q0, q1, q2, q3) of the rotation R(q) from body to space; the
velocities are the body components w1, w2, w3 of the angular velocity, dq/dt = q o (0, w) / 2. Four
coordinates and three velocities: the vector fields are intransitive, their brackets are those of so(3), and
|q| is conserved. With gamma = R^T e_3 (the upward vertical in body axes) and r from the fixed point to the
centre of mass, also in body axes,
    V = m g r . gamma,    d(I w)/dt = (I w) x w - m g r x gamma.
No third integral in general (Euler, Lagrange and Kovalevskaya are the exceptions): the motion is chaotic.

Conserved: energy, |q|^2 = 1, and the vertical component of the angular momentum I w . gamma.

Source: L. Euler (1765), J.-L. Lagrange (1788); H. Poincare, Sur une forme nouvelle des equations de la
mecanique (1901).
"""

from __future__ import annotations

from math import cos, sin

import chaplygin as cg
from chaplygin.codegen.mechanics.quaternions import body_units, quaternion_rates, vertical

from .entry import Example, by_symbol

PARAMETERS = {"I1": 1.5, "I2": 1.1, "I3": 0.9, "m": 2.0, "g": 9.81, "r1": 0.2, "r2": -0.1, "r3": 0.5}
TURNED = {"q0": cos(0.25), "q1": sin(0.25), "q2": 0.0, "q3": 0.0}
"""By 0.5 rad about the first axis."""
INITIAL = {**TURNED, "w1": 0.3, "w2": -0.2, "w3": 4.0}


def system() -> cg.System:
    """The declaration; moments of inertia about the fixed point in kg m^2, r in metres."""
    q = cg.coordinates("q0 q1 q2 q3")
    w = cg.velocities("w1 w2 w3")
    inertia = cg.parameters("I1 I2 I3", positive=True)
    m, g = cg.parameters("m g", positive=True)
    r = cg.parameters("r1 r2 r3")
    gamma = vertical(q)
    units, words = body_units(q, w)
    return cg.System(
        "heavy_top",
        kinematics=dict(zip(q, quaternion_rates(q, w), strict=True)),
        kinetic=sum(moment * rate**2 for moment, rate in zip(inertia, w, strict=True)) / 2,
        potential=m * g * sum(lever * up for lever, up in zip(r, gamma, strict=True)),
        outputs={
            "vertical_momentum": sum(i * rate * up for i, rate, up in zip(inertia, w, gamma, strict=True)),
            "height": sum(lever * up for lever, up in zip(r, gamma, strict=True)),
        },
        units={
            **units,
            **dict.fromkeys(inertia, "kg m^2"),
            m: "kg",
            g: "m/s^2",
            **dict.fromkeys(r, "m"),
        },
        descriptions={
            **words,
            **{symbol: f"principal moment {i} about the fixed point" for i, symbol in enumerate(inertia, 1)},
            m: "mass",
            g: "gravity",
            **{symbol: f"centre of mass along body axis {i}" for i, symbol in enumerate(r, 1)},
        },
        example=by_symbol((*q, *w, *inertia, m, g, *r), PARAMETERS | INITIAL),
    )


example = Example.maker(
    __name__,
    description="Rigid body with a fixed point under gravity, in quaternions and body rates",
    source="Euler (1765); Lagrange (1788); Poincare (1901)",
    forms=("poincare", "chetaev", "nonholonomic"),
    conserved=("vertical_momentum",),
)
