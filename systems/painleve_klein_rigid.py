"""The Painlevé-Klein example with a rigid link: Painlevé's paradox.

Two sliders on rough parallel guides, as in painleve_klein, connected by a rigid link of length l: the constraint
    f = sqrt((x1 - x2)^2 + d^2) - l = 0
with the multiplier lambda, R = -lambda the tension of the link. The normal forces contain it,
    N1 = R sin(phi) - Y1,   N2 = -Y2 - R sin(phi),
and with both sliders moving in the direction sigma, R must satisfy (m1 = m2)
    2 R cos(phi) = X1 - X2 - sigma (mu1 |N1| - mu2 |N2|):
piecewise linear, with one, three, two or no solutions. With the published data there are two for sigma = 1,
R = 18.1/6.5 and R = 4.7/1.1, and two for sigma = -1: the equations do not determine the motion. With small enough
coefficients ``mu1`` and ``mu2`` there is one.

Source: P. Painlevé, Leçons sur le frottement (1895); F. Klein, Zeitschrift für Mathematik und Physik 58 (1909);
A. A. Zobova on the Painlevé-Klein example, (2.2)-(2.9).
"""

from __future__ import annotations

import math

import chaplygin as cg

from . import painleve_klein
from .entry import Example, by_symbol

PARAMETERS = painleve_klein.PARAMETERS
INITIAL = {
    "x1": 0.0,
    "x2": -math.sqrt(PARAMETERS["l"] ** 2 - PARAMETERS["d"] ** 2),
    "x1_dot": 10.0,
    "x2_dot": 10.0,
}


def system(mu1: float = 0.525, mu2: float = 2.85) -> cg.System:
    """The declaration; contacts ``guide1`` and ``guide2``, the link's multiplier is lambda_1 = -R."""
    import sympy as sp

    x1, x2 = cg.coordinates("x1 x2")
    v1, v2 = cg.rate(x1), cg.rate(x2)
    m1, m2, d, natural, friction1, friction2 = cg.parameters("m1 m2 d l mu1 mu2", positive=True)
    X1, Y1, X2, Y2 = cg.parameters("X1 Y1 X2 Y2")
    length = sp.sqrt((x1 - x2) ** 2 + d**2)
    sine, tension = d / length, -cg.multiplier(1)
    symbols = (x1, x2, v1, v2, m1, m2, d, natural, X1, Y1, friction1, X2, Y2, friction2)
    return cg.System(
        "painleve_klein_rigid",
        coordinates=[x1, x2],
        kinetic=(m1 * v1**2 + m2 * v2**2) / 2,
        potential=-X1 * x1 - X2 * x2,
        holonomic=[length - natural],
        contacts=[
            cg.Coulomb("guide1", slip=v1, normal=tension * sine - Y1, mu=friction1),
            cg.Coulomb("guide2", slip=v2, normal=-Y2 - tension * sine, mu=friction2),
        ],
        outputs={"R": tension},
        units={
            **dict.fromkeys((x1, x2, d, natural), "m"),
            **dict.fromkeys((X1, Y1, X2, Y2), "N"),
            **dict.fromkeys((m1, m2), "kg"),
        },
        descriptions={
            x1: "slider 1",
            x2: "slider 2",
            d: "distance between the guides",
            natural: "length of the link",
        },
        example=by_symbol(symbols, PARAMETERS | INITIAL | {"mu1": mu1, "mu2": mu2}),
    )


def example(mu1: float = 0.525, mu2: float = 2.85) -> Example:
    """The catalogue entry; with the published coefficients the run stops immediately, for lack of a unique solution."""
    return Example.of(
        __name__,
        description="Two sliders on rough guides joined by a rigid link: Painlevé's paradox",
        source="Painlevé (1895); Klein (1909); Zobova, the Painlevé-Klein example with dry friction, (2.9)",
        parameters={**PARAMETERS, "mu1": mu1, "mu2": mu2},
        t_span=(0.0, 1.0),
        forms=("multipliers",),
        build=lambda: system(mu1, mu2),
    )
