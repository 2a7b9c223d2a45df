"""A particle on the Heisenberg group: the smallest system in which Routh's equations need their extra term.

    x' = eta1,    y' = eta2,    z' = eta3 + (x eta2 - y eta1) / 2,
    T = (eta1^2 + eta2^2 + eta3^2) / 2,    V = (k1 x^2 + k2 y^2) / 2 (unit mass).
The fields X_1 = d/dx - (y/2) d/dz, X_2 = d/dy + (x/2) d/dz, X_3 = d/dz have one nonzero bracket, [X_1, X_2] = X_3.
X_3 is cyclic and commutes with all fields, but the others do not close: their bracket is X_3. So Routh's
equations contain c_12^3 eta a_3, which acts like a magnetic field of strength a_3 on (x, y):
    x'' = -k1 x - a_3 y',    y'' = -k2 y + a_3 x'.

Conserved: energy, a_3 = eta3.

Source: for the Routh form of Poincare's equations, N. G. Chetaev (1941), Encyclopedia of Mathematics, "Poincare
equations", (2).
"""

from __future__ import annotations

import chaplygin as cg

from .entry import Example, by_symbol

PARAMETERS = {"k1": 1.0, "k2": 2.0}
INITIAL = {"x": 1.0, "y": 0.5, "z": 0.0, "eta1": 0.2, "eta2": -0.3, "eta3": 1.5}


def system() -> cg.System:
    """The declaration; the mass is one."""
    x, y, z = cg.coordinates("x y z")
    eta = cg.velocities("eta1 eta2 eta3")
    k1, k2 = cg.parameters("k1 k2", positive=True)
    return cg.System(
        "heisenberg",
        kinematics={x: eta[0], y: eta[1], z: eta[2] + (x * eta[1] - y * eta[0]) / 2},
        kinetic=(eta[0] ** 2 + eta[1] ** 2 + eta[2] ** 2) / 2,
        potential=(k1 * x**2 + k2 * y**2) / 2,
        outputs={"cyclic_momentum": eta[2]},
        units={x: "m", y: "m", z: "m^2", eta[0]: "m/s", eta[1]: "m/s", k1: "1/s^2", k2: "1/s^2"},
        descriptions={
            x: "position",
            y: "position",
            z: "height: area swept in the plane, and its own motion",
            eta[0]: "velocity along x",
            eta[1]: "velocity along y",
            eta[2]: "cyclic velocity",
            k1: "stiffness along x for the unit mass",
            k2: "stiffness along y for the unit mass",
        },
        example=by_symbol((x, y, z, *eta, k1, k2), PARAMETERS | INITIAL),
    )


example = Example.maker(
    __name__,
    description="Particle on the Heisenberg group: a cyclic field in the bracket of the others",
    source="Chetaev (1941), Routh's form of the Poincare equations",
    forms=("poincare", "chetaev", "hamel", "nonholonomic", "routh"),
    conserved=("cyclic_momentum",),
)
