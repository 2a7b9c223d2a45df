"""A particle in a plane, with velocities along uniformly rotating axes.

A unit mass on two springs, V = (k1 x^2 + k2 y^2) / 2, with its velocity resolved along axes turned by Omega t:
    x' = eta1 cos(Omega t) - eta2 sin(Omega t),    y' = eta1 sin(Omega t) + eta2 cos(Omega t),
    T = (eta1^2 + eta2^2) / 2.
The axes of the fields X_1, X_2 depend on time, so they do not commute with X_0 = d/dt:
    [X_0, X_1] = Omega X_2,    [X_0, X_2] = -Omega X_1,
and without these terms, c_01^2 = Omega and c_02^1 = -Omega, Poincare's equations would be wrong.

Conserved: the energies along x and y separately, (x'^2 + k1 x^2) / 2 and (y'^2 + k2 y^2) / 2.

Closed form: x and y oscillate with the frequencies sqrt(k1) and sqrt(k2).

Source: N. G. Chetaev, Sur les equations de Poincare (1927, 1941), for fields that depend on time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import chaplygin as cg

from .entry import Example, by_symbol

PARAMETERS = {"Omega": 0.7, "k1": 1.0, "k2": 4.0}
INITIAL = {"x": 1.0, "y": 0.5, "eta1": 0.2, "eta2": -0.3}


def system() -> cg.System:
    """The declaration; the mass is one, Omega in rad/s."""
    import sympy as sp

    x, y = cg.coordinates("x y")
    eta1, eta2 = cg.velocities("eta1 eta2")
    omega = cg.parameters("Omega")
    k1, k2 = cg.parameters("k1 k2", positive=True)
    cos, sin = sp.cos(omega * cg.time), sp.sin(omega * cg.time)
    rates = (eta1 * cos - eta2 * sin, eta1 * sin + eta2 * cos)
    return cg.System(
        "rotating_particle",
        kinematics={x: rates[0], y: rates[1]},
        kinetic=(eta1**2 + eta2**2) / 2,
        potential=(k1 * x**2 + k2 * y**2) / 2,
        outputs={
            "energy_x": (rates[0] ** 2 + k1 * x**2) / 2,
            "energy_y": (rates[1] ** 2 + k2 * y**2) / 2,
        },
        units={x: "m", y: "m", eta1: "m/s", eta2: "m/s", omega: "rad/s", k1: "1/s^2", k2: "1/s^2"},
        descriptions={
            x: "position",
            y: "position",
            eta1: "velocity along the first rotating axis",
            eta2: "velocity along the second rotating axis",
            omega: "angular rate of the axes",
            k1: "stiffness along x for the unit mass",
            k2: "stiffness along y for the unit mass",
        },
        example=by_symbol((x, y, eta1, eta2, omega, k1, k2), PARAMETERS | INITIAL),
    )


def closed_form(
    times: Sequence[Any],
    parameters: Mapping[str, Any] = PARAMETERS,
    initial: Mapping[str, Any] = INITIAL,
    digits: int = 20,
) -> dict[str, list[Any]]:
    """The motion at ``times``, as mpmath numbers correct to about ``digits`` digits.

    >>> motion = closed_form([1.0])
    >>> round(float(motion["x"][0]), 12)
    0.70859650283
    """
    from mpmath import mp

    with mp.workdps(digits + 5):
        omega, k1, k2 = (mp.mpf(parameters[name]) for name in PARAMETERS)
        x, y, x_dot, y_dot = (mp.mpf(initial[name]) for name in INITIAL)
        motion: dict[str, list[Any]] = {name: [] for name in INITIAL}
        for t in (mp.mpf(t) for t in times):
            now, rate = zip(
                *(
                    (
                        start * mp.cos(f * t) + speed * mp.sin(f * t) / f,
                        speed * mp.cos(f * t) - f * start * mp.sin(f * t),
                    )
                    for start, speed, f in ((x, x_dot, mp.sqrt(k1)), (y, y_dot, mp.sqrt(k2)))
                ),
                strict=True,
            )
            turned = mp.mpc(*rate) * mp.expj(-omega * t)
            for name, value in zip(motion, (*now, turned.real, turned.imag), strict=True):
                motion[name].append(value)
        return motion


example = Example.maker(
    __name__,
    description="Particle on springs with velocities along rotating axes: fields that depend on time",
    source="Chetaev (1941), fields that depend on time",
    forms=("poincare", "chetaev", "hamel", "nonholonomic"),
    conserved=("energy_x", "energy_y"),
)
