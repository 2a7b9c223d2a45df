"""The double pendulum: two point masses m1, m2 on weightless rods l1, l2 in a vertical plane.

Coordinates theta1, theta2: the angles of the rods from the downward vertical; the velocities are their rates.
    T = m1 l1^2 theta1'^2 / 2
        + m2 (l1^2 theta1'^2 + l2^2 theta2'^2 + 2 l1 l2 cos(theta1 - theta2) theta1' theta2') / 2,
    V = -(m1 + m2) g l1 cos(theta1) - m2 g l2 cos(theta2).

Conserved: energy. The motion at large amplitude is chaotic.

Source: D. Bernoulli (1738); L. D. Landau and E. M. Lifshitz, Mechanics, section 5, problem 1.
"""

from __future__ import annotations

import chaplygin as cg

from .entry import Example, by_symbol

PARAMETERS = {"m1": 1.0, "m2": 0.7, "l1": 1.0, "l2": 0.6, "g": 9.81}
INITIAL = {"theta1": 1.2, "theta2": -0.4, "theta1_dot": 0.0, "theta2_dot": 0.5}


def system() -> cg.System:
    """The declaration; masses in kilograms, lengths in metres."""
    import sympy as sp

    theta1, theta2 = cg.coordinates("theta1 theta2")
    rate1, rate2 = cg.rate(theta1), cg.rate(theta2)
    m1, m2, l1, l2, g = cg.parameters("m1 m2 l1 l2 g", positive=True)
    square2 = l1**2 * rate1**2 + l2**2 * rate2**2 + 2 * l1 * l2 * sp.cos(theta1 - theta2) * rate1 * rate2
    return cg.System(
        "double_pendulum",
        coordinates=[theta1, theta2],
        kinetic=m1 * l1**2 * rate1**2 / 2 + m2 * square2 / 2,
        potential=-(m1 + m2) * g * l1 * sp.cos(theta1) - m2 * g * l2 * sp.cos(theta2),
        outputs={
            "tip_x": l1 * sp.sin(theta1) + l2 * sp.sin(theta2),
            "tip_y": -l1 * sp.cos(theta1) - l2 * sp.cos(theta2),
        },
        units={theta1: "rad", theta2: "rad", m1: "kg", m2: "kg", l1: "m", l2: "m", g: "m/s^2"},
        descriptions={
            theta1: "angle of the upper rod from the downward vertical",
            theta2: "angle of the lower rod from the downward vertical",
            m1: "upper mass",
            m2: "lower mass",
            l1: "upper rod",
            l2: "lower rod",
            g: "gravity",
        },
        example=by_symbol((theta1, theta2, rate1, rate2, m1, m2, l1, l2, g), PARAMETERS | INITIAL),
    )


example = Example.maker(
    __name__,
    description="Two point masses on weightless rods in a vertical plane",
    source="Bernoulli (1738); Landau and Lifshitz, Mechanics, section 5",
    forms=("lagrange", "poincare", "chetaev", "hamel", "nonholonomic"),
)
