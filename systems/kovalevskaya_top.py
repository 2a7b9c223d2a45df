"""Kovalevskaya's top: I1 = I2 = 2 I3, the centre of mass in the plane of the equal moments.

The heavy top with moments (2 I3, 2 I3, I3) about the fixed point and the centre of mass at a distance l on
body axis 1; attitude by the quaternion of R(q), gamma = R^T e_3 the upward vertical in body axes:
    V = m g l gamma1,    2 w1' = w2 w3,    2 w2' = -w1 w3 + mu gamma3,    w3' = -mu gamma2,    mu = m g l / I3.
The third case, after Euler's and Lagrange's, in which the heavy top is integrable: besides energy, |q|^2 and
the vertical momentum there is an integral of fourth degree in the rates,
    K = (w1^2 - w2^2 - mu gamma1)^2 + (2 w1 w2 - mu gamma2)^2.

Conserved: energy, |q|^2 = 1, the vertical momentum, K.

Source: S. Kowalevski, Sur le probleme de la rotation d'un corps solide autour d'un point fixe, Acta
Mathematica 12 (1889).
"""

from __future__ import annotations

import chaplygin as cg
from chaplygin.codegen.mechanics.quaternions import body_units, quaternion_rates, vertical

from .entry import Example, by_symbol
from .heavy_top import TURNED

PARAMETERS = {"I3": 0.7, "m": 1.2, "g": 9.81, "l": 0.3}
INITIAL = {**TURNED, "w1": 0.6, "w2": -0.4, "w3": 1.5}


def system() -> cg.System:
    """The declaration; moments of inertia about the fixed point in kg m^2, l in metres."""
    q = cg.coordinates("q0 q1 q2 q3")
    w = cg.velocities("w1 w2 w3")
    i3, m, g, length = cg.parameters("I3 m g l", positive=True)
    gamma = vertical(q)
    mu = m * g * length / i3
    units, words = body_units(q, w)
    return cg.System(
        "kovalevskaya_top",
        kinematics=dict(zip(q, quaternion_rates(q, w), strict=True)),
        kinetic=i3 * (2 * w[0] ** 2 + 2 * w[1] ** 2 + w[2] ** 2) / 2,
        potential=m * g * length * gamma[0],
        outputs={
            "vertical_momentum": i3 * (2 * w[0] * gamma[0] + 2 * w[1] * gamma[1] + w[2] * gamma[2]),
            "kovalevskaya_integral": (w[0] ** 2 - w[1] ** 2 - mu * gamma[0]) ** 2
            + (2 * w[0] * w[1] - mu * gamma[1]) ** 2,
        },
        units={**units, i3: "kg m^2", m: "kg", g: "m/s^2", length: "m"},
        descriptions={
            **words,
            i3: "smallest moment of inertia about the fixed point; the others are twice as large",
            m: "mass",
            g: "gravity",
            length: "centre of mass along body axis 1",
        },
        example=by_symbol((*q, *w, i3, m, g, length), PARAMETERS | INITIAL),
    )


example = Example.maker(
    __name__,
    description="Heavy top with moments 2:2:1 and the centre of mass in the equator: an integral of degree four",
    source="Kowalevski (1889)",
    forms=("poincare", "chetaev", "nonholonomic"),
    conserved=("vertical_momentum", "kovalevskaya_integral"),
)
