"""A steered sleigh on a turntable: Chaplygin's sleigh on rotating ground, with a blade that turns in the body.

The body, its axes and the velocities omega, v, w are those of the Chaplygin sleigh. The ground is a table that rotates
about the origin at the prescribed rate Om(t) = Om_0 + al sin(nu t), and the blade makes the angle delta(t) =
de sin(nu t) with the body's axis. The point of contact does not move across the blade relative to the table:
    w = v tan(delta) + Om (x (cos(phi) + tan(delta) sin(phi)) + y (sin(phi) - tan(delta) cos(phi))),
a constraint that is affine in the velocities and depends on time. No integral is known; the energy is not conserved,
since the table and the steering do work.

Source: the sleigh as in S. A. Chaplygin (1911) and Q. K. Ghori (1993); affine and time-dependent constraints as in the
extension of Ghori's equation (2.4) by the terms K_0i^p, all of which occur in this system.
"""

from __future__ import annotations

from math import cos, sin

import chaplygin as cg

from .entry import Example, by_symbol

PARAMETERS = {"a": 0.4, "b": 0.15, "k": 0.6, "Om_0": 0.7, "al": 0.3, "nu": 1.7, "de": 0.25}
INITIAL = {
    "phi": 0.2,
    "x": 0.1,
    "y": -0.3,
    "omega": 0.8,
    "v": 1.0,
    "w": 0.7 * (0.1 * cos(0.2) - 0.3 * sin(0.2)),  # delta = 0 and Om = Om_0 at the start
}


def system() -> cg.System:
    """The declaration; lengths in metres, rates in radians per second."""
    import sympy as sp

    phi, x, y = cg.coordinates("phi x y")
    omega, v, w = cg.velocities("omega v w")
    a, b, rate, swing, turning = cg.parameters("a b Om_0 al de")
    k, nu = cg.parameters("k nu", positive=True)
    phase = sp.sin(nu * cg.time)
    table, slope = rate + swing * phase, sp.tan(turning * phase)
    across = x * (sp.cos(phi) + slope * sp.sin(phi)) + y * (sp.sin(phi) - slope * sp.cos(phi))
    symbols = (phi, x, y, omega, v, w, a, b, k, rate, swing, nu, turning)
    return cg.System(
        "turntable_sleigh",
        kinematics={
            phi: omega,
            x: v * sp.cos(phi) - w * sp.sin(phi),
            y: v * sp.sin(phi) + w * sp.cos(phi),
        },
        kinetic=((v - b * omega) ** 2 + (w + a * omega) ** 2 + k**2 * omega**2) / 2,
        constraints=[w - v * slope - table * across],
        units={
            **dict.fromkeys((phi, turning), "rad"),
            **dict.fromkeys((omega, rate, swing, nu), "rad/s"),
            **dict.fromkeys((v, w), "m/s"),
            **dict.fromkeys((x, y, a, b, k), "m"),
        },
        descriptions={
            phi: "direction of the body's axis",
            rate: "rate of the table",
            swing: "amplitude of the variation of that rate",
            nu: "frequency of the drives",
            turning: "amplitude of the steering",
        },
        example=by_symbol(symbols, PARAMETERS | INITIAL),
    )


example = Example.maker(
    __name__,
    description="Steered sleigh on a turntable: an affine constraint that depends on time",
    source="The sleigh of S. A. Chaplygin (1911), with the time-dependent terms K_0",
    forms=("maggi", "hamel", "multipliers", "nonholonomic"),
)
