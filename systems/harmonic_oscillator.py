"""The harmonic oscillator: a mass on a spring, optionally with a damper and an external force.

    m x'' + c x' + k x = F(t),
with the damping c a parameter if ``damped`` and the force F an input if ``driven``.

Conserved: energy, unless damped or driven.

Closed form, with F = 0, d = c / (2 m), z^2 = d^2 - k / m and the initial values x_0, v_0:
    x = exp(-d t) (x_0 cosh(z t) + (v_0 + d x_0) sinh(z t) / z),
real for real and for imaginary z; at z = 0 the quotient is t. For a constant force, x is measured from F / k.

Source: any mechanics textbook; L. D. Landau and E. M. Lifshitz, Mechanics, sections 21 and 25.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import chaplygin as cg

from .entry import Example

PARAMETERS = {"m": 2.0, "k": 8.0, "c": 0.3}
INITIAL = {"x": 1.0, "x_dot": 0.5}


def system(damped: bool = False, driven: bool = False) -> cg.System:
    """The declaration, with the parameter c only if ``damped`` and the input F only if ``driven``."""
    x = cg.coordinates("x")
    rate = cg.rate(x)
    m, k = cg.parameters("m k", positive=True)
    force: Any = 0
    units = {x: "m", m: "kg", k: "N/m"}
    descriptions = {x: "displacement", m: "mass", k: "stiffness of the spring"}
    example = {x: INITIAL["x"], rate: INITIAL["x_dot"], m: PARAMETERS["m"], k: PARAMETERS["k"]}
    if damped:
        c = cg.parameters("c", positive=True)
        force -= c * rate
        units[c], descriptions[c], example[c] = "N s/m", "damping", PARAMETERS["c"]
    if driven:
        drive = cg.inputs("F")
        force += drive
        units[drive], descriptions[drive], example[drive] = "N", "external force", 0.0
    return cg.System(
        "harmonic_oscillator" + "_damped" * damped + "_driven" * driven,
        coordinates=[x],
        kinetic=m * rate**2 / 2,
        potential=k * x**2 / 2,
        forces={rate: force} if damped or driven else {},
        units=units,
        descriptions=descriptions,
        example=example,
    )


def closed_form(
    times: Sequence[Any],
    parameters: Mapping[str, Any] = PARAMETERS,
    initial: Mapping[str, Any] = INITIAL,
    digits: int = 20,
    force: Any = 0,
) -> dict[str, list[Any]]:
    """The motion at ``times`` under a constant ``force``, as mpmath numbers correct to about ``digits`` digits.

    Without an entry c in ``parameters`` the damping is zero. Numbers can be given as strings, which are read as
    exact decimals. See the module docstring for the equation.

    >>> motion = closed_form([0.0], {"m": 1, "k": 4}, {"x": 1, "x_dot": 0})
    >>> float(motion["x"][0]), float(motion["x_dot"][0])
    (1.0, 0.0)
    """
    from mpmath import mp

    with mp.workdps(digits + 5):
        m, k, c = mp.mpf(parameters["m"]), mp.mpf(parameters["k"]), mp.mpf(parameters.get("c", 0))
        rest = mp.mpf(force) / k
        x_0, v_0 = mp.mpf(initial["x"]) - rest, mp.mpf(initial["x_dot"])
        d = c / (2 * m)
        z = mp.sqrt(d**2 - k / m)
        motion: dict[str, list[Any]] = {"x": [], "x_dot": []}
        for t in (mp.mpf(t) for t in times):
            even = mp.re(mp.cosh(z * t))
            odd = t if z == 0 else mp.re(mp.sinh(z * t) / z)
            decay = mp.exp(-d * t)
            motion["x"].append(rest + decay * (x_0 * even + (v_0 + d * x_0) * odd))
            motion["x_dot"].append(decay * (v_0 * even - (d * v_0 + k / m * x_0) * odd))
        return motion


def example(damped: bool = False, driven: bool = False) -> Example:
    """The catalogue entry; the closed form is for zero external force."""
    parameters = {name: value for name, value in PARAMETERS.items() if damped or name != "c"}
    return Example.of(
        __name__,
        description="Mass on a spring" + ", with a damper" * damped + ", with an external force" * driven,
        source="Landau and Lifshitz, Mechanics, sections 21 and 25",
        parameters=parameters,
        forms=("lagrange", "poincare", "chetaev", "hamel", "nonholonomic"),
        build=lambda: system(damped, driven),
    )
