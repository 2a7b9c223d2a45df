"""The free gyrostat: a rigid body that carries a balanced rotor on its first principal axis.

Attitude by the quaternion of R(q) from body to space, body rates w1, w2, w3; the rotor turns freely relative
to the body, by the angle alpha at the rate eta4:
    T = (I1 w1^2 + I2 w2^2 + I3 w3^2) / 2 + J (w1 + eta4)^2 / 2,
where I1 excludes the rotor's moment about its axis, while I2 and I3 include the rotor. alpha is cyclic and its
displacement commutes with all others: a4 = J (w1 + eta4) is constant, and Routh's function gives the equations
of the carrier alone,
    I1 w1' = (I2 - I3) w2 w3,    I2 w2' = (I3 - I1) w3 w1 - a4 w3,    I3 w3' = (I1 - I2) w1 w2 + a4 w2.

Conserved: energy, |q|^2 = 1, the rotor's momentum a4, the angular momentum in space.

Source: V. Volterra, Sur la theorie des variations des latitudes, Acta Mathematica 22 (1899); N. Ye. Zhukovsky
(1885).
"""

from __future__ import annotations

import chaplygin as cg
from chaplygin.codegen.mechanics.quaternions import body_units, quaternion_rates, rotation

from .entry import Example, by_symbol

PARAMETERS = {"I1": 1.0, "I2": 2.0, "I3": 3.0, "J": 0.3}
INITIAL = {
    "q0": 1.0,
    "q1": 0.0,
    "q2": 0.0,
    "q3": 0.0,
    "alpha": 0.0,
    "w1": 0.4,
    "w2": 1.0,
    "w3": 0.2,
    "eta4": 5.0,
}


def system() -> cg.System:
    """The declaration; moments of inertia in kg m^2."""
    q = cg.coordinates("q0 q1 q2 q3")
    alpha = cg.coordinates("alpha")
    w = cg.velocities("w1 w2 w3")
    eta4 = cg.velocities("eta4")
    i1, i2, i3, rotor = cg.parameters("I1 I2 I3 J", positive=True)
    own = rotor * (w[0] + eta4)
    momentum = (i1 * w[0] + own, i2 * w[1], i3 * w[2])
    in_space = [sum(r * p for r, p in zip(row, momentum, strict=True)) for row in rotation(q)]
    units, words = body_units(q, w)
    return cg.System(
        "gyrostat",
        kinematics={**dict(zip(q, quaternion_rates(q, w), strict=True)), alpha: eta4},
        kinetic=(i1 * w[0] ** 2 + i2 * w[1] ** 2 + i3 * w[2] ** 2 + rotor * (w[0] + eta4) ** 2) / 2,
        outputs={
            "rotor_momentum": own,
            "momentum_squared": sum(p**2 for p in momentum),
            **{f"momentum_{axis}": component for axis, component in zip("xyz", in_space, strict=True)},
        },
        units={**units, alpha: "rad", eta4: "rad/s", **dict.fromkeys((i1, i2, i3, rotor), "kg m^2")},
        descriptions={
            **words,
            alpha: "angle of the rotor relative to the body",
            eta4: "rate of the rotor relative to the body",
            i1: "principal moment 1, without the rotor about its axis",
            i2: "principal moment 2",
            i3: "principal moment 3",
            rotor: "moment of inertia of the rotor about its axis",
        },
        example=by_symbol((*q, alpha, *w, eta4, i1, i2, i3, rotor), PARAMETERS | INITIAL),
    )


example = Example.maker(
    __name__,
    description="Free rigid body with a balanced free rotor: a cyclic displacement in addition to so(3)",
    source="Zhukovsky (1885); Volterra (1899)",
    forms=("poincare", "chetaev", "nonholonomic", "routh"),
    conserved=("rotor_momentum", "momentum_squared", "momentum_x", "momentum_y", "momentum_z"),
)
