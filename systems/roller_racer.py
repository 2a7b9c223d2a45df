"""The roller racer: two bodies connected by a pivot, each on an axle with wheels, propelled by steering.

The first body (mass m1, moment I1 about its centre) has its axle at its centre (x, y), across its direction
phi; the pivot is at a distance d1 ahead of it. The second body (mass m2, moment I2) is at the angle theta from
the first and has its axle at its centre, at a distance d2 beyond the pivot. Neither axle slips sideways:
    w = 0,    (w + d1 omega) cos(theta) - v sin(theta) + d2 (omega + sigma) = 0,
with v and w the velocity of the first centre along and across phi, omega = phi', sigma = theta'. The couple
C cos(nu t) and a spring k that centres the steering act at the pivot. omega follows from v and sigma unless
d1 cos(theta) + d2 = 0. A steering couple that changes sign moves the racer forward, although no force acts
along its path.

Conserved: nothing; with C = 0, the energy.

Source: P. S. Krishnaprasad and D. P. Tsakiris, Oscillations, SE(2)-snakes and motion control: a study of the
roller racer (1995, 2001); here the mass of the second body is not neglected, and there is a spring.
"""

from __future__ import annotations

from math import cos, sin

import chaplygin as cg

from .entry import Example, by_symbol

PARAMETERS = {
    "m1": 1.0,
    "m2": 0.3,
    "I1": 0.08,
    "I2": 0.01,
    "d1": 0.4,
    "d2": 0.15,
    "k": 0.6,
    "C": 0.1,
    "nu": 3.0,
}
INITIAL = {
    "x": 0.0,
    "y": 0.0,
    "phi": 0.2,
    "theta": 0.3,
    "v": 0.6,
    "w": 0.0,
    # omega (d1 cos(theta) + d2) = v sin(theta) - d2 sigma
    "omega": (0.6 * sin(0.3) - 0.15 * 0.5) / (0.4 * cos(0.3) + 0.15),
    "sigma": 0.5,
}


def system() -> cg.System:
    """The declaration; the couple's amplitude C in N m."""
    import sympy as sp

    x, y, phi, theta = coordinates = cg.coordinates("x y phi theta")
    v, w, omega, sigma = velocities = cg.velocities("v w omega sigma")
    m1, m2, i1, i2, d1 = cg.parameters("m1 m2 I1 I2 d1", positive=True)
    d2, spring, couple, nu = cg.parameters("d2 k C nu")
    # The velocity of the second centre along and across the second body.
    along = v * sp.cos(theta) + (w + d1 * omega) * sp.sin(theta)
    across = (w + d1 * omega) * sp.cos(theta) - v * sp.sin(theta) + d2 * (omega + sigma)
    parameters = (m1, m2, i1, i2, d1, d2, spring, couple, nu)
    return cg.System(
        "roller_racer",
        kinematics={
            x: v * sp.cos(phi) - w * sp.sin(phi),
            y: v * sp.sin(phi) + w * sp.cos(phi),
            phi: omega,
            theta: sigma,
        },
        kinetic=(m1 * (v**2 + w**2) + i1 * omega**2 + m2 * (along**2 + across**2) + i2 * (omega + sigma) ** 2)
        / 2,
        potential=spring * theta**2 / 2,
        forces={sigma: couple * sp.cos(nu * cg.time)},
        constraints=[w, across],
        outputs={"second_speed": along, "drive_power": couple * sp.cos(nu * cg.time) * sigma},
        units={
            **dict.fromkeys((x, y, d1, d2), "m"),
            **dict.fromkeys((phi, theta), "rad"),
            **dict.fromkeys((v, w), "m/s"),
            **dict.fromkeys((omega, sigma, nu), "rad/s"),
            **dict.fromkeys((m1, m2), "kg"),
            **dict.fromkeys((i1, i2), "kg m^2"),
            spring: "N m/rad",
            couple: "N m",
        },
        descriptions={
            x: "centre of the first body",
            y: "centre of the first body",
            phi: "direction of the first body",
            theta: "angle of the second body from the first",
            v: "longitudinal velocity of the first body",
            w: "lateral velocity of the first body",
            omega: "rate of turn of the first body",
            sigma: "rate of the pivot",
            m1: "mass of the first body",
            m2: "mass of the second body",
            i1: "moment of inertia of the first body about its centre",
            i2: "moment of inertia of the second body about its centre",
            d1: "distance of the pivot ahead of the first centre",
            d2: "distance of the second centre beyond the pivot",
            spring: "stiffness of the spring at the pivot",
            couple: "amplitude of the couple at the pivot",
            nu: "frequency of the couple",
        },
        example=by_symbol((*coordinates, *velocities, *parameters), PARAMETERS | INITIAL),
    )


def example(driven: bool = True) -> Example:
    """The catalogue entry; ``driven=False`` sets the couple at the pivot to zero."""
    return Example.of(
        __name__,
        description="Two bodies on wheels connected by a pivot" + ", propelled by steering" * driven,
        source="Krishnaprasad and Tsakiris (2001)",
        parameters=PARAMETERS if driven else {**PARAMETERS, "C": 0.0},
        forms=("maggi", "multipliers", "hamel", "nonholonomic"),
    )
