"""The torus with a sliding shell, rotating uniformly: psi = Omega t.

A torus rotates about the vertical through its centre; inside its tube a shell slides without friction, at the
angle theta above the horizontal. A motor keeps the rotation uniform, which requires the couple
    couple = 2 Omega D theta' sin(theta) cos(theta),    D = A2 - C2 - m2 R^2.
For T, V and the equation of motion see `torus`. The energy is not conserved, since the motor does work; but the
Lagrangian does not contain the time, so Painleve's equation d(T2 - T0 + V)/dt = -dL/dt gives an integral.

With ``held=True``, psi is a coordinate and the motor a constraint on its rate; its couple is then the reaction
``reaction_psi`` of the form `multipliers`.

Conserved: T2 - T0 + V = J theta'^2 / 2 - Iz Omega^2 / 2 + m2 g R sin(theta); the energy minus the work of the
motor.

Source: P. Painleve, Lecons sur l'integration des equations de la mecanique (1895), the equation for T2 - T0;
its textbook example of a torus with a sliding shell.
"""

from __future__ import annotations

import chaplygin as cg

from .entry import Example
from .torus import declare

PARAMETERS = {
    "I1": 3.0,
    "A2": 0.4,
    "B2": 0.7,
    "C2": 0.5,
    "m2": 1.3,
    "R": 0.8,
    "g": 9.81,
    "Omega": 2.5,
}
INITIAL = {"theta": 0.3, "theta_dot": 0.4}
HELD = {"psi": 0.0, "psi_dot": 2.5}


def system(held: bool = False) -> cg.System:
    """The declaration; with ``held``, psi is a coordinate and its prescribed rate a constraint."""
    omega = cg.parameters("Omega")
    name = "torus_uniform" + "_held" * held
    return declare(name, omega * cg.time, {**PARAMETERS, **INITIAL, **HELD}, held)


def example(held: bool = False) -> Example:
    """The catalogue entry."""
    return Example.of(
        __name__,
        description="Torus in uniform rotation with a sliding shell"
        + ", the rotation prescribed by a constraint" * held,
        source="Painleve (1895), T2 - T0; textbook example",
        initial=INITIAL | HELD if held else INITIAL,
        forms=("maggi", "multipliers", "hamel", "nonholonomic")
        if held
        else ("lagrange", "poincare", "chetaev", "hamel", "nonholonomic"),
        build=lambda: system(held),
        conserved=("painleve_energy",),
        options={"multipliers": {"release": "psi"}} if held else {},
    )
