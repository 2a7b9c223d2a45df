"""A rigid body with an ellipsoidal cavity filled with ideal fluid in homogeneous vortex motion.

The cavity has semi-axes a1, a2, a3 along the principal axes of the body, D = diag(a1, a2, a3); the fluid of
mass m moves as x = R D Q X, with X in the unit ball:
    R' = R hat(w),    Q' = hat(O) Q,
    2 T = sum_i (A_i w_i^2 + 2 C_i w_i O_i + B_i O_i^2),
    B_i = m (a_j^2 + a_k^2) / 5,    C_i = 2 m a_j a_k / 5,    A_i = I_i + B_i,
I_i the moments of the shell. R and Q are given by quaternions q and s. The rates w are left invariant, with
brackets c_ab^c = +epsilon, the rates O right invariant, with c_ab^c = -epsilon, and the two commute:
    M' = M x w,    G' = O x G,    M = dT/dw,    G = dT/dO.
The second law is Helmholtz's: G_i = (m a1 a2 a3 / 5) vorticity_i / a_i.

Conserved: energy, |q|^2 = |s|^2 = 1, the angular momentum R M in space, the circulation Q^T G of the fluid's
own circuits (three components); hence also the Casimir functions M^2 and G^2.

Source: N. Ye. Zhukovsky (1885); H. Poincare, Sur la precession des corps deformables (1910); H. Lamb,
Hydrodynamics, section 384.
"""

from __future__ import annotations

import chaplygin as cg
from chaplygin.codegen.mechanics.quaternions import product, quaternion_rates, rotation

from .entry import Example, by_symbol

PARAMETERS = {"I1": 1.0, "I2": 1.2, "I3": 1.5, "m": 5.0, "a1": 1.0, "a2": 0.8, "a3": 0.6}
INITIAL = {
    "q0": 1.0,
    "q1": 0.0,
    "q2": 0.0,
    "q3": 0.0,
    "s0": 1.0,
    "s1": 0.0,
    "s2": 0.0,
    "s3": 0.0,
    "w1": 0.3,
    "w2": 1.0,
    "w3": 0.2,
    "O1": -0.2,
    "O2": 0.1,
    "O3": 0.5,
}


def system() -> cg.System:
    """The declaration; moments of the shell in kg m^2, semi-axes in metres."""
    q, s = cg.coordinates("q0 q1 q2 q3"), cg.coordinates("s0 s1 s2 s3")
    w, o = cg.velocities("w1 w2 w3"), cg.velocities("O1 O2 O3")
    shell = cg.parameters("I1 I2 I3", positive=True)
    m = cg.parameters("m", positive=True)
    a = cg.parameters("a1 a2 a3", positive=True)
    others = ((1, 2), (2, 0), (0, 1))
    fluid = [m * (a[j] ** 2 + a[k] ** 2) / 5 for j, k in others]
    cross = [2 * m * a[j] * a[k] / 5 for j, k in others]
    body = [i + b for i, b in zip(shell, fluid, strict=True)]
    momentum = [body[i] * w[i] + cross[i] * o[i] for i in range(3)]
    vortex = [cross[i] * w[i] + fluid[i] * o[i] for i in range(3)]
    in_space = [sum(r * p for r, p in zip(row, momentum, strict=True)) for row in rotation(q)]
    frozen = [
        sum(r * p for r, p in zip(column, vortex, strict=True)) for column in zip(*rotation(s), strict=True)
    ]
    right_rates = tuple(rate / 2 for rate in product((0, *o), s))
    return cg.System(
        "fluid_cavity",
        kinematics={
            **dict(zip(q, quaternion_rates(q, w), strict=True)),
            **dict(zip(s, right_rates, strict=True)),
        },
        kinetic=sum(body[i] * w[i] ** 2 + 2 * cross[i] * w[i] * o[i] + fluid[i] * o[i] ** 2 for i in range(3))
        / 2,
        outputs={
            "momentum_squared": sum(p**2 for p in momentum),
            "vortex_squared": sum(p**2 for p in vortex),
            **{f"momentum_{axis}": component for axis, component in zip("xyz", in_space, strict=True)},
            **{f"circulation_{i}": component for i, component in enumerate(frozen, 1)},
        },
        units={
            **dict.fromkeys((*q, *s), "1"),
            **dict.fromkeys((*w, *o), "rad/s"),
            **dict.fromkeys(shell, "kg m^2"),
            m: "kg",
            **dict.fromkeys(a, "m"),
        },
        descriptions={
            **{symbol: f"quaternion of the body, component {i}" for i, symbol in enumerate(q)},
            **{symbol: f"quaternion of the fluid's circuits, component {i}" for i, symbol in enumerate(s)},
            **{symbol: f"angular velocity of the body about its axis {i}" for i, symbol in enumerate(w, 1)},
            **{symbol: f"rate of the fluid's circuits about axis {i}" for i, symbol in enumerate(o, 1)},
            **{symbol: f"principal moment {i} of the shell" for i, symbol in enumerate(shell, 1)},
            m: "mass of the fluid",
            **{symbol: f"semi-axis {i} of the cavity" for i, symbol in enumerate(a, 1)},
        },
        example=by_symbol((*q, *s, *w, *o, *shell, m, *a), PARAMETERS | INITIAL),
    )


def example() -> Example:
    """The catalogue entry."""
    momenta = tuple(f"momentum_{axis}" for axis in "xyz")
    return Example.of(
        __name__,
        description="Rigid body with an ellipsoidal cavity full of fluid in homogeneous vortex motion",
        source="Zhukovsky (1885); Poincare (1910); Lamb, Hydrodynamics, section 384",
        forms=("poincare", "chetaev", "nonholonomic"),
        conserved=(
            "momentum_squared",
            "vortex_squared",
            *momenta,
            *(f"circulation_{i}" for i in (1, 2, 3)),
        ),
    )
