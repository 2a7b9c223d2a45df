"""The Painlevé-Klein example: two sliders on rough parallel guides, connected by an elastic link with damping.

Slider 1 moves along one guide, slider 2 along a parallel one at the distance d. The link between them has the natural
length l and the current length l + delta; phi is its angle with the guides:
    (l + delta)^2 = (x1 - x2)^2 + d^2,   cos(phi) = (x1 - x2) / (l + delta),   sin(phi) = d / (l + delta),
    R = K delta + C delta'   (tension, the compliance of the link),
    m1 x1'' = X1 - R cos(phi) + T1,   N1 = R sin(phi) - Y1,
    m2 x2'' = X2 + R cos(phi) + T2,   N2 = -Y2 - R sin(phi),
with applied forces (X_i, Y_i) and Coulomb friction T_i with the coefficients mu_i on both guides. K = k / eps^2 and
C = nu / eps: as eps goes to zero the link becomes rigid, and the equations of the rigid link (painleve_klein_rigid)
have two solutions or none where those of the elastic one have a saddle next to a node.

The motion depends only on x1 - x2 and on the velocities, and its kind depends on the initial length of the link, given
by ``delta0``: x2 = x1 - sqrt((l + delta0)^2 - d^2). With 0.12 sliders stop and reverse, with 0.03 both keep moving to
the right.

Source: A. A. Zobova on the Painlevé-Klein example with dry friction, equations (2.2)-(2.9), (3.1), (3.8), (4.1); after
P. Painlevé, Leçons sur le frottement (1895), and F. Klein, Zu Painlevés Kritik der Coulombschen Reibungsgesetze,
Zeitschrift für Mathematik und Physik 58 (1909).
"""

from __future__ import annotations

import math

import chaplygin as cg

from .entry import Example, by_symbol

PARAMETERS = {
    "m1": 1.0,
    "m2": 1.0,
    "d": 0.8,
    "l": 1.0,
    "X1": 3.6,
    "Y1": 0.8,
    "mu1": 0.525,
    "X2": 0.0,
    "Y2": -2.4,
    "mu2": 2.85,
}


def parameters(k: float = 1.0, nu: float = 1.0, eps: float = 0.1) -> dict[str, float]:
    """The parameters with K = k / eps^2 and C = nu / eps."""
    return {**PARAMETERS, "K": k / eps**2, "C": nu / eps}


def initial_state(delta0: float = 0.12, speed: float = 10.0) -> dict[str, float]:
    """Both sliders at the same speed, slider 1 at 0, the link longer than its natural length by delta0.

    Raises ValueError if the link is too short to reach from guide to guide.
    """
    d, length = PARAMETERS["d"], PARAMETERS["l"] + delta0
    if not length >= d:
        raise ValueError(f"delta0 = {delta0}: the link of length {length} does not span the distance d = {d}")
    return {"x1": 0.0, "x2": -math.sqrt(length**2 - d**2), "x1_dot": speed, "x2_dot": speed}


def system(k: float = 1.0, nu: float = 1.0, eps: float = 0.1, delta0: float = 0.12) -> cg.System:
    """The declaration; contacts ``guide1`` and ``guide2``. Masses in kilograms, forces in newtons."""
    import sympy as sp

    x1, x2 = cg.coordinates("x1 x2")
    v1, v2 = cg.rate(x1), cg.rate(x2)
    m1, m2, d, natural, K, C, mu1, mu2 = cg.parameters("m1 m2 d l K C mu1 mu2", positive=True)
    X1, Y1, X2, Y2 = cg.parameters("X1 Y1 X2 Y2")
    length = sp.sqrt((x1 - x2) ** 2 + d**2)
    delta = length - natural
    cosine, sine = (x1 - x2) / length, d / length
    stretching = cosine * (v1 - v2)
    tension = K * delta + C * stretching
    symbols = (x1, x2, v1, v2, m1, m2, d, natural, X1, Y1, mu1, X2, Y2, mu2, K, C)
    return cg.System(
        "painleve_klein",
        coordinates=[x1, x2],
        kinetic=(m1 * v1**2 + m2 * v2**2) / 2,
        potential=K * delta**2 / 2 - X1 * x1 - X2 * x2,
        forces={v1: -C * stretching * cosine, v2: C * stretching * cosine},
        contacts=[
            cg.Coulomb("guide1", slip=v1, normal=tension * sine - Y1, mu=mu1),
            cg.Coulomb("guide2", slip=v2, normal=-Y2 - tension * sine, mu=mu2),
        ],
        outputs={"delta": delta, "R": tension},
        units={
            **dict.fromkeys((x1, x2, d, natural), "m"),
            **dict.fromkeys((X1, Y1, X2, Y2), "N"),
            **dict.fromkeys((m1, m2), "kg"),
            K: "N/m",
            C: "N s/m",
        },
        descriptions={
            x1: "slider 1",
            x2: "slider 2",
            m1: "mass of slider 1",
            m2: "mass of slider 2",
            d: "distance between the guides",
            natural: "natural length of the link",
            X1: "force on slider 1 along its guide",
            Y1: "force on slider 1 across it, away from the guide",
            X2: "force on slider 2 along its guide",
            Y2: "force on slider 2 across it, towards slider 1",
            mu1: "friction of slider 1",
            mu2: "friction of slider 2",
            K: "stiffness of the link",
            C: "damping of the link",
        },
        example=by_symbol(symbols, parameters(k, nu, eps) | initial_state(delta0)),
    )


def example(k: float = 1.0, nu: float = 1.0, eps: float = 0.1, delta0: float = 0.12) -> Example:
    """The catalogue entry; the options are those of the source, ``delta0`` is the initial elongation of the link."""
    return Example.of(
        __name__,
        description="Two sliders on rough guides joined by an elastic link: stops, reversals, sticking",
        source="Zobova, the Painlevé-Klein example with dry friction, (2.9), (3.1), (4.1)",
        parameters=parameters(k, nu, eps),
        initial=initial_state(delta0),
        t_span=(0.0, 2.5),
        forms=("lagrange", "poincare", "hamel", "nonholonomic"),
        build=lambda: system(k, nu, eps, delta0),
    )
