"""Suslov's problem: a rigid body about a fixed point that cannot turn about one axis fixed in it.

The constraint is w3 = 0 (enforced by sharp wheels on a sphere in Wagner's version); the inertia tensor need not
be diagonal. In body axes, with gamma = R^T e_3 and the centre of mass at r,
    T = (I1 w1^2 + I2 w2^2 + I3 w3^2) / 2 + (I13 w1 + I23 w2) w3,    V = m g r . gamma,
    I1 w1' = -(I13 w1 + I23 w2) w2 - m g (r2 gamma3 - r3 gamma2),
    I2 w2' = (I13 w1 + I23 w2) w1 - m g (r3 gamma1 - r1 gamma3).
Without gravity every motion tends to a steady rotation about the axis I13 w1 + I23 w2 = 0, while the energy is
conserved: there is no invariant measure. With I13 = I23 = 0 and r3 = 0 the system is integrable: Kharlamova's
integral I1 r1 w1 + I2 r2 w2 is constant.

Conserved: energy, |q|^2 = 1.

Source: G. K. Suslov, Theoretical mechanics (1902); E. I. Kharlamova-Zabelina (1957) for the integrable case.
"""

from __future__ import annotations

import chaplygin as cg
from chaplygin.codegen.mechanics.quaternions import body_units, quaternion_rates, vertical

from .entry import Example, by_symbol
from .heavy_top import TURNED

PARAMETERS = {
    "I1": 1.1,
    "I2": 1.6,
    "I3": 1.3,
    "I13": 0.2,
    "I23": -0.15,
    "m": 0.8,
    "g": 9.81,
    "r1": 0.1,
    "r2": -0.05,
    "r3": 0.2,
}
INITIAL = {**TURNED, "w1": 0.7, "w2": 1.2, "w3": 0.0}


def system() -> cg.System:
    """The declaration; moments of inertia about the fixed point in kg m^2, r in metres."""
    q = cg.coordinates("q0 q1 q2 q3")
    w = cg.velocities("w1 w2 w3")
    moments = cg.parameters("I1 I2 I3", positive=True)
    products = cg.parameters("I13 I23")
    m = cg.parameters("m", positive=True)
    g = cg.parameters("g", nonnegative=True)
    r = cg.parameters("r1 r2 r3")
    gamma = vertical(q)
    tilt = products[0] * w[0] + products[1] * w[1]
    parameters = (*moments, *products, m, g, *r)
    units, words = body_units(q, w)
    return cg.System(
        "suslov",
        kinematics=dict(zip(q, quaternion_rates(q, w), strict=True)),
        kinetic=sum(i * rate**2 for i, rate in zip(moments, w, strict=True)) / 2 + tilt * w[2],
        potential=m * g * sum(lever * up for lever, up in zip(r, gamma, strict=True)),
        constraints=[w[2]],
        outputs={"kharlamova": moments[0] * r[0] * w[0] + moments[1] * r[1] * w[1]},
        units={
            **units,
            **dict.fromkeys((*moments, *products), "kg m^2"),
            m: "kg",
            g: "m/s^2",
            **dict.fromkeys(r, "m"),
        },
        descriptions={
            **words,
            **{s: f"moment of inertia {i} about the fixed point" for i, s in enumerate(moments, 1)},
            products[0]: "element 13 of the inertia tensor",
            products[1]: "element 23 of the inertia tensor",
            m: "mass",
            g: "gravity",
            **{s: f"centre of mass along body axis {i}" for i, s in enumerate(r, 1)},
        },
        example=by_symbol((*q, *w, *parameters), PARAMETERS | INITIAL),
    )


example = Example.maker(
    __name__,
    description="Heavy rigid body about a fixed point that cannot turn about one of its own axes",
    source="Suslov (1902); Kharlamova-Zabelina (1957)",
    forms=("maggi", "multipliers", "nonholonomic"),
)
