"""The torus with a sliding shell, rotating with a ripple: psi = Omega t + alpha sin(nu t).

The system of `torus_uniform`, but the prescribed rotation psi(t) is not uniform. The Lagrangian contains the
time through psi'(t), and Painleve's equation is a balance instead of an integral:
    d(T2 - T0 + V)/dt = -Iz psi' psi'',    and for the energy    d(T + V)/dt = couple psi',
    couple = Iz psi'' + 2 D theta' psi' sin(theta) cos(theta).

With ``held=True``, psi is a coordinate and the motor a time-dependent constraint on its rate.

Conserved: nothing; the two balances above.

Source: as `torus_uniform`, with a non-uniform drive.
"""

from __future__ import annotations

import chaplygin as cg

from .entry import Example
from .torus import declare
from .torus_uniform import PARAMETERS as UNIFORM

PARAMETERS = {**UNIFORM, "alpha": 0.3, "nu": 1.7}
INITIAL = {"theta": 0.3, "theta_dot": 0.4}
HELD = {"psi": 0.0, "psi_dot": 2.5 + 0.3 * 1.7}


def system(held: bool = False) -> cg.System:
    """The declaration; with ``held``, psi is a coordinate and its prescribed rate a constraint."""
    import sympy as sp

    omega, alpha, nu = cg.parameters("Omega alpha nu")
    turn = omega * cg.time + alpha * sp.sin(nu * cg.time)
    return declare("torus_nonuniform" + "_held" * held, turn, {**PARAMETERS, **INITIAL, **HELD}, held)


def example(held: bool = False) -> Example:
    """The catalogue entry."""
    return Example.of(
        __name__,
        description="Torus rotating with a ripple, with a sliding shell"
        + ", the rotation prescribed by a constraint" * held,
        source="Painleve (1895), T2 - T0; textbook example with a non-uniform drive",
        initial=INITIAL | HELD if held else INITIAL,
        forms=("maggi", "multipliers", "hamel", "nonholonomic")
        if held
        else ("lagrange", "poincare", "chetaev", "hamel", "nonholonomic"),
        build=lambda: system(held),
        options={"multipliers": {"release": "psi"}} if held else {},
    )
