"""Two blocks on a rough floor, connected to a wall and to each other by springs.

    m1 x1'' = -k1 x1 + k2 (x2 - x1) + T1,   N1 = m1 g,
    m2 x2'' = -k2 (x2 - x1) + T2,           N2 = m2 g
with Coulomb friction T_i with the coefficients mu_i under both: four combinations of sliding and sticking, and rest
wherever the spring forces are below the limits. Every motion ends there.

Source: a standard test of stick-slip with several contacts; B. Feeny, A. Guran, N. Hinrichs and K. Popp, A historical
review on dry friction and stick-slip phenomena, Applied Mechanics Reviews 51 (1998).
"""

from __future__ import annotations

import chaplygin as cg

from .entry import Example, by_symbol

PARAMETERS = {"m1": 1.0, "m2": 0.6, "k1": 30.0, "k2": 45.0, "mu1": 0.25, "mu2": 0.35, "g": 9.81}
INITIAL = {"x1": 0.1, "x2": 0.55, "x1_dot": 0.0, "x2_dot": 0.0}


def system() -> cg.System:
    """The declaration; contacts ``block1`` and ``block2``."""
    x1, x2 = cg.coordinates("x1 x2")
    v1, v2 = cg.rate(x1), cg.rate(x2)
    m1, m2, k1, k2, mu1, mu2, g = cg.parameters("m1 m2 k1 k2 mu1 mu2 g", positive=True)
    return cg.System(
        "two_mass_chain",
        coordinates=[x1, x2],
        kinetic=(m1 * v1**2 + m2 * v2**2) / 2,
        potential=k1 * x1**2 / 2 + k2 * (x2 - x1) ** 2 / 2,
        contacts=[
            cg.Coulomb("block1", slip=v1, normal=m1 * g, mu=mu1),
            cg.Coulomb("block2", slip=v2, normal=m2 * g, mu=mu2),
        ],
        units={
            **dict.fromkeys((x1, x2), "m"),
            **dict.fromkeys((m1, m2), "kg"),
            **dict.fromkeys((k1, k2), "N/m"),
            g: "m/s^2",
        },
        descriptions={
            x1: "displacement of the block next to the wall",
            x2: "displacement of the outer block",
            k1: "stiffness of the spring to the wall",
            k2: "stiffness of the spring between the blocks",
            mu1: "friction under block 1",
            mu2: "friction under block 2",
        },
        example=by_symbol((x1, x2, v1, v2, m1, m2, k1, k2, mu1, mu2, g), PARAMETERS | INITIAL),
    )


example = Example.maker(
    __name__,
    description="Two blocks on a rough floor connected by springs: stick-slip until both rest",
    source="Feeny, Guran, Hinrichs and Popp (1998), a review of stick-slip",
    t_span=(0.0, 5.0),
    forms=("lagrange", "poincare", "hamel", "nonholonomic"),
)
