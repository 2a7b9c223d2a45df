"""A ring that rolls upright on a plane, with an axisymmetric body on its diameter, turned by a motor.

The ring (mass m1, radius R, moments J1 about its axis and I1 about a diameter) rolls without slipping in a
vertical plane of direction u = (cos psi, sin psi, 0); theta is the angle it has rolled. A body (mass m2) with
the same centre turns relative to the ring by phi about one of its diameters, with moments J2 about that diameter
and I2 across it; theta is also the angle of the diameter from the vertical. A motor between the two exerts the
couple C about the diameter. With m = m1 + m2 the equations of motion can be written
    p_phi = J2 (phi' + psi' cos(theta)),                     p_phi' = C,
    p_psi = (I1 + I2 sin(theta)^2) psi' + p_phi cos(theta),  p_psi' = 0,
    (J1 + I2 + m R^2) theta'' = I2 psi'^2 sin(theta) cos(theta) - p_phi psi' sin(theta),
    x' = R theta' cos(psi),    y' = R theta' sin(psi),
with the reactions of the plane X = m x'', Y = m y'' and the couple about u that keeps the ring upright
    M = -(J1 + I2 + m R^2) theta' psi' + d/dt (J2 phi' sin(theta) + (J2 - I2) psi' sin(theta) cos(theta)).

X, Y and M are outputs, computed from the equations above. The form `multipliers` gives X and Y as
``reaction_x_dot`` and ``reaction_y_dot``. With ``tilt=True`` the declaration has one more coordinate, the tilt of
the ring's plane about u through the point of contact, held at zero by a constraint: with release="tilt" the form
`multipliers` then also gives M, as ``reaction_tilt``.

Conserved: p_psi; p_phi - C t; the energy minus the work of the motor, T - C phi.

Source: textbook problem on Lagrange's equations of rigid-body systems; the tilt and M by the angular momentum law.
"""

from __future__ import annotations

from math import cos, sin
from typing import Any

import chaplygin as cg

from .entry import Example, by_symbol

PARAMETERS = {"m1": 1.2, "m2": 0.8, "R": 0.5, "I1": 0.15, "J1": 0.3, "I2": 0.05, "J2": 0.03, "C": 0.05}
INITIAL = {
    "x": 0.1,
    "y": -0.2,
    "psi": 0.3,
    "theta": 0.4,
    "phi": 0.1,
    # x' = R theta' cos(psi), y' = R theta' sin(psi)
    "x_dot": 0.5 * 0.9 * cos(0.3),
    "y_dot": 0.5 * 0.9 * sin(0.3),
    "psi_dot": 1.1,
    "theta_dot": 0.9,
    "phi_dot": 2.0,
}
_UPRIGHT = {"tilt": 0.0, "tilt_dot": 0.0}


def _upright(x: Any, rates: Any, parameters: Any) -> Any:
    """T of the upright ring: Koenig's theorem for both bodies, about their common centre."""
    import sympy as sp

    theta = x[3]
    x_dot, y_dot, psi_dot, theta_dot, phi_dot = rates
    m1, m2, _, i1, j1, i2, j2 = parameters
    ring = i1 * psi_dot**2 + j1 * theta_dot**2
    body = (
        i2 * (theta_dot**2 + psi_dot**2 * sp.sin(theta) ** 2) + j2 * (phi_dot + psi_dot * sp.cos(theta)) ** 2
    )
    return ((m1 + m2) * (x_dot**2 + y_dot**2) + ring + body) / 2


def _tilting(x: Any, rates: Any, parameters: Any) -> Any:
    """T for any tilt, by Koenig's theorem.

    All vectors have components along the heading u, the ring's axis, and the radius to its highest point.
    """
    import sympy as sp

    psi, theta, tilt = x[2], x[3], x[5]
    x_dot, y_dot, psi_dot, theta_dot, phi_dot, tilt_dot = rates
    m1, m2, radius, i1, j1, i2, j2 = parameters
    plane = (tilt_dot, psi_dot * sp.sin(tilt), psi_dot * sp.cos(tilt))  # angular velocity of the ring's plane
    ring = (plane[0], plane[1] + theta_dot, plane[2])
    body = (ring[0] + phi_dot * sp.sin(theta), ring[1], ring[2] + phi_dot * sp.cos(theta))
    ahead = x_dot * sp.cos(psi) + y_dot * sp.sin(psi)  # velocity of the point of contact
    aside = y_dot * sp.cos(psi) - x_dot * sp.sin(psi)
    centre = (ahead + radius * plane[1], aside * sp.cos(tilt) - radius * plane[0], -aside * sp.sin(tilt))
    about_axis = body[0] * sp.sin(theta) + body[2] * sp.cos(theta)
    across = body[0] * sp.cos(theta) - body[2] * sp.sin(theta)
    return (
        (m1 + m2) * sum(v**2 for v in centre)
        + i1 * (ring[0] ** 2 + ring[2] ** 2)
        + j1 * ring[1] ** 2
        + i2 * (across**2 + body[1] ** 2)
        + j2 * about_axis**2
    ) / 2


def _outputs(x: Any, rates: Any, parameters: Any, couple: Any) -> dict[str, Any]:
    """The reactions of the upright ring, and functions that are constant along its motion."""
    import sympy as sp

    psi, theta, phi = x[2:5]
    psi_dot, theta_dot, phi_dot = rates[2:5]
    m1, m2, radius, i1, j1, i2, j2 = parameters
    m = m1 + m2
    s, c = sp.sin(theta), sp.cos(theta)
    p_phi = j2 * (phi_dot + psi_dot * c)
    p_psi = (i1 + i2 * s**2) * psi_dot + p_phi * c
    inertia = j1 + i2 + m * radius**2
    # Accelerations as functions of the state, for the reactions.
    theta_2 = (i2 * psi_dot**2 * c - p_phi * psi_dot) * s / inertia
    turned_over = couple * c - p_phi * s * theta_dot  # d(p_phi cos(theta))/dt
    psi_2 = -(2 * i2 * s * c * theta_dot * psi_dot + turned_over) / (i1 + i2 * s**2)
    phi_2 = couple / j2 - psi_2 * c + psi_dot * theta_dot * s
    energy = (inertia * theta_dot**2 + (i1 + i2 * s**2) * psi_dot**2 + p_phi**2 / j2) / 2
    return {
        "X": m * radius * (theta_2 * sp.cos(psi) - theta_dot * psi_dot * sp.sin(psi)),
        "Y": m * radius * (theta_2 * sp.sin(psi) + theta_dot * psi_dot * sp.cos(psi)),
        "M": -inertia * theta_dot * psi_dot
        + j2 * (phi_2 * s + phi_dot * theta_dot * c)
        + (j2 - i2) * (psi_2 * s * c + psi_dot * theta_dot * (c**2 - s**2)),
        "turning_momentum": p_psi,
        "spin_momentum_less_impulse": p_phi - couple * cg.time,
        "energy_less_work": energy - couple * phi,
    }


def system(tilt: bool = False) -> cg.System:
    """The declaration; masses in kg, moments in kg m^2, the motor's couple C in N m."""
    import sympy as sp

    coordinates = cg.coordinates("x y psi theta phi" + " tilt" * tilt)
    x, y, psi, theta, phi = coordinates[:5]
    rates = [cg.rate(q) for q in coordinates]
    x_dot, y_dot, _, theta_dot, phi_dot = rates[:5]
    parameters = cg.parameters("m1 m2 R I1 J1 I2 J2", positive=True)
    m1, m2, radius, i1, j1, i2, j2 = parameters
    couple = cg.parameters("C")
    return cg.System(
        "rolling_ring_tilt" if tilt else "rolling_ring",
        coordinates=coordinates,
        kinetic=(_tilting if tilt else _upright)(coordinates, rates, parameters),
        forces={phi_dot: couple},
        constraints=[
            x_dot - radius * theta_dot * sp.cos(psi),
            y_dot - radius * theta_dot * sp.sin(psi),
            *rates[5:],
        ],
        outputs=_outputs(coordinates, rates, parameters, couple),
        units={
            x: "m",
            y: "m",
            **dict.fromkeys((psi, theta, phi, *coordinates[5:]), "rad"),
            m1: "kg",
            m2: "kg",
            radius: "m",
            **dict.fromkeys((i1, j1, i2, j2), "kg m^2"),
            couple: "N m",
        },
        descriptions={
            x: "point of contact",
            y: "point of contact",
            psi: "heading",
            theta: "angle rolled",
            phi: "angle of the body relative to the ring",
            **dict.fromkeys(coordinates[5:], "tilt of the ring's plane about its trace, held at zero"),
            m1: "mass of the ring",
            m2: "mass of the body",
            radius: "radius of the ring",
            i1: "moment of inertia of the ring about a diameter",
            j1: "moment of inertia of the ring about its axis",
            i2: "moment of inertia of the body across its axis",
            j2: "moment of inertia of the body about its axis",
            couple: "couple of the motor",
        },
        example=by_symbol((*coordinates, *rates, *parameters, couple), PARAMETERS | INITIAL | _UPRIGHT),
    )


def example(motor: bool = True, tilt: bool = False) -> Example:
    """The catalogue entry; ``motor=False`` sets the motor's couple to zero, ``tilt=True`` adds the constrained tilt."""
    return Example.of(
        __name__,
        name="rolling_ring_tilt" if tilt else "rolling_ring",
        description="Ring rolling upright with an axisymmetric body on its diameter"
        + ", driven by a motor" * motor,
        source="Textbook problem on Lagrange's equations of rigid-body systems",
        parameters=PARAMETERS if motor else {**PARAMETERS, "C": 0.0},
        initial={**INITIAL, **_UPRIGHT} if tilt else INITIAL,
        forms=("maggi", "multipliers", "hamel", "nonholonomic"),
        build=lambda: system(tilt),
        conserved=("turning_momentum", "spin_momentum_less_impulse", "energy_less_work"),
        options={"multipliers": {"release": "tilt"}} if tilt else {},
    )
