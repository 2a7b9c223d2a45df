"""The n-link planar pendulum: n equal point masses on weightless rods, hanging from a fixed point.

Coordinates theta1 ... thetan: the angle of each rod from the downward vertical; the velocities are their
rates. Positions x_i = l sum_{j<=i} sin(theta_j), y_i = -l sum_{j<=i} cos(theta_j), T = m sum |v_i|^2 / 2, V =
m g sum y_i. T is declared as one would write it by hand, each velocity being the previous one plus a term;
nothing is expanded.

Conserved: energy. Small oscillations about the hanging equilibrium have the frequencies sqrt(g z / l), with z
the zeros of the Laguerre polynomial L_n; large ones are chaotic for n >= 2.

Source: D. Bernoulli (1733) for the hanging chain and its Laguerre polynomials; L. Euler (1736).
"""

from __future__ import annotations

from operator import index

import chaplygin as cg

from .entry import Example, by_symbol

PARAMETERS = {"m": 1.0, "l": 1.0, "g": 9.81}


def initial(n: int) -> dict[str, float]:
    """A straight chain at 0.5 rad, at rest."""
    angles = {f"theta{i}": 0.5 for i in range(1, n + 1)}
    return angles | {f"theta{i}_dot": 0.0 for i in range(1, n + 1)}


def system(n: int = 5) -> cg.System:
    """The declaration for ``n`` >= 1 links."""
    import sympy as sp

    theta = [cg.coordinates(f"theta{i}") for i in range(1, n + 1)]
    m, length, g = cg.parameters("m l g", positive=True)
    kinetic, potential = sp.Integer(0), sp.Integer(0)
    vx = vy = y = sp.Integer(0)
    for angle in theta:
        vx += length * sp.cos(angle) * cg.rate(angle)
        vy += length * sp.sin(angle) * cg.rate(angle)
        y -= length * sp.cos(angle)
        kinetic += m * (vx**2 + vy**2) / 2
        potential += m * g * y
    return cg.System(
        f"n_link_pendulum_{n}",
        coordinates=theta,
        kinetic=kinetic,
        potential=potential,
        outputs={"tip_x": length * sum(sp.sin(angle) for angle in theta), "tip_y": y},
        units={m: "kg", length: "m", g: "m/s^2"} | dict.fromkeys(theta, "rad"),
        descriptions={m: "mass of each point", length: "length of each rod", g: "gravity"}
        | {angle: f"angle of rod {i} from the downward vertical" for i, angle in enumerate(theta, 1)},
        example=by_symbol((*theta, *map(cg.rate, theta), m, length, g), PARAMETERS | initial(n)),
    )


def example(n: int = 5) -> Example:
    """The catalogue entry for ``n`` links. Raises ValueError unless n >= 1."""
    n = index(n)
    if n < 1:
        raise ValueError(f"example('n_link_pendulum'): n must be at least 1, not {n}")
    return Example.of(
        __name__,
        description=f"Planar chain of {n} equal point masses on equal weightless rods",
        source="Bernoulli (1733); Euler (1736)",
        initial=initial(n),
        forms=("lagrange", "poincare", "chetaev", "hamel", "nonholonomic"),
        build=lambda: system(n),
    )
