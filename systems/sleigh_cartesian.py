"""The Chaplygin sleigh in the Cartesian velocities of its blade point: Ghori's example.

The system of `chaplygin_sleigh`, with the coordinate rates as velocities, eta = (phi', x', y'), and the
constraint y' cos(phi) = x' sin(phi) solved by the independent parameters theta1 = phi' and theta2 = u, the speed
along the blade:
    phi' = theta1,    x' = theta2 cos(phi),    y' = theta2 sin(phi),
    2 T0 = (x' - phi' (a sin(phi) + b cos(phi)))^2 + (y' + phi' (a cos(phi) - b sin(phi)))^2 + k^2 phi'^2.
The coefficients of Ghori's equations are K_12 = (0, sin(phi), -cos(phi)), and
    phi'' = (-a phi' u + a b phi'^2) / (a^2 + k^2),    u' = a phi'^2 + b phi''.
With phi as the independent variable, theta' = u / phi' satisfies d(theta')/d(phi) = a (theta'^2 - 2 b theta' +
a^2 + b^2 + k^2) / (a^2 + k^2), as long as phi' is not zero.

Conserved: the energy h, 2h = u^2 - 2 b phi' u + (a^2 + b^2 + k^2) phi'^2.

Closed form: that of `chaplygin_sleigh`.

Source: Q. K. Ghori, Whittaker's reduction method for Poincare's dynamical equations (1993), section 5, with
signs and constants corrected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import chaplygin as cg

from . import chaplygin_sleigh
from .chaplygin_sleigh import PARAMETERS
from .entry import Example, by_symbol

INITIAL = {
    "phi": 0.2,
    "x": 0.1,
    "y": -0.3,
    "theta1": 0.8,
    "theta2": 1.0,
}


def system() -> cg.System:
    """The declaration; parameters a, b, k in metres."""
    import sympy as sp

    phi, x, y = cg.coordinates("phi x y")
    rates = tuple(cg.rate(q) for q in (phi, x, y))
    theta1, theta2 = cg.velocities("theta1 theta2")
    a, b = cg.parameters("a b")
    k = cg.parameters("k", positive=True)
    s, c = sp.sin(phi), sp.cos(phi)
    return cg.System(
        "sleigh_cartesian",
        coordinates=[phi, x, y],
        kinetic=(
            (rates[1] - rates[0] * (a * s + b * c)) ** 2
            + (rates[2] + rates[0] * (a * c - b * s)) ** 2
            + k**2 * rates[0] ** 2
        )
        / 2,
        parametrization={rates[0]: theta1, rates[1]: theta2 * c, rates[2]: theta2 * s},
        outputs={
            "lateral_reaction": k**2
            * rates[0]
            * (rates[1] * c + rates[2] * s - b * rates[0])
            / (a**2 + k**2),
            "side_slip": rates[2] * c - rates[1] * s,
        },
        units={phi: "rad", x: "m", y: "m", theta1: "rad/s", theta2: "m/s", a: "m", b: "m", k: "m"},
        descriptions={
            phi: "direction of the blade",
            x: "blade point",
            y: "blade point",
            theta1: "rate of turn",
            theta2: "speed along the blade",
            a: "centre of mass ahead of the blade point",
            b: "centre of mass to the left of the blade",
            k: "radius of gyration about the centre of mass",
        },
        example=by_symbol((phi, x, y, theta1, theta2, a, b, k), PARAMETERS | INITIAL),
    )


def closed_form(
    times: Sequence[Any],
    parameters: Mapping[str, Any] = PARAMETERS,
    initial: Mapping[str, Any] = INITIAL,
    digits: int = 20,
) -> dict[str, list[Any]]:
    """The motion at the sorted ``times``, as mpmath numbers correct to about ``digits`` digits.

    ``initial`` has the coordinates and theta1, theta2. The equations are those of `chaplygin_sleigh.closed_form`.

    >>> motion = closed_form([1.0])
    >>> round(float(motion["theta2"][0]), 12)
    1.072879546048
    """
    start = {name: initial[name] for name in ("phi", "x", "y")}
    start |= {"omega": initial["theta1"], "v": initial["theta2"], "w": 0}
    motion = chaplygin_sleigh.closed_form(times, parameters, start, digits)
    names = {"theta1": "omega", "theta2": "v"}
    return {name: motion[names.get(name, name)] for name in INITIAL}


example = Example.maker(
    __name__,
    description="Chaplygin sleigh in Cartesian velocities with independent parameters",
    source="Ghori (1993), section 5",
    forms=("nonholonomic", "maggi", "hamel", "whittaker"),
    options={"whittaker": {"along": "phi"}},
)
