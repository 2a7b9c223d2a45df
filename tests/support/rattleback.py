"""A rattleback: an ellipsoid that rolls on a plane, its principal axes of inertia turned against those of its surface.

In body axes along the ellipsoid's, from the mass centre G, with the vertical e (|e| = 1), the spin w and the contact
r(e) = h - (a^2 e_1, b^2 e_2, c^2 e_3) / sqrt(a^2 e_1^2 + b^2 e_2^2 + c^2 e_3^2), h the ellipsoid's centre, rolling is
v = r x w, and the laws of momentum and angular momentum at G, without the reaction, are
    I w' + w x I w = m r x (v' + w x v + g e),    e' = e x w.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

import chaplygin as cg

NUMBERS = {
    "m": 1.0,
    "a": 2.0,
    "b": 1.2,
    "c": 1.0,
    "h": 0.3,
    "I1": 0.4,
    "I2": 1.1,
    "I3": 1.3,
    "D": 0.2,
    "g": 10.0,
}
START = {"x": 0.0, "y": 0.0, "psi": 0.0, "alpha": 0.05, "beta": 0.1}
SPIN = {"psi_dot": -3.0, "alpha_dot": 0.6, "beta_dot": 1.2}


def system() -> cg.System:
    """With three angles, the mass centre above the contact by the ellipsoid's support function."""
    x, y, psi, alpha, beta = coordinates = cg.coordinates("x y psi alpha beta")
    m, a, b, c, h, i1, i2, i3, d, g = numbers = cg.parameters("m a b c h I1 I2 I3 D g")
    rotation = cg.turn(3, psi) * cg.turn(1, alpha) * cg.turn(2, beta)
    up = rotation.T * sp.Matrix([0, 0, 1])
    squares = sp.diag(a**2, b**2, c**2)
    reach = sp.sqrt((up.T * squares * up)[0])
    body = cg.Body(
        "rattleback",
        mass=m,
        inertia=sp.Matrix([[i1, d, 0], [d, i2, 0], [0, 0, i3]]),
        rotation=rotation,
        center=(x, y, reach - h * up[2]),
    )
    contact = sp.Matrix([0, 0, h]) - squares * up / reach
    return cg.System(
        "rattleback",
        coordinates=coordinates,
        bodies=[body],
        interactions=[cg.Weight(g)],
        constraints=cg.rolling(body, contact, axes=body),
        example={symbol: (NUMBERS | START)[symbol.name] for symbol in (*coordinates, *numbers)},
    )


def field(y: Any, numbers: dict[str, float]) -> Any:
    """d(x, y, psi, alpha, beta and the rates of the angles)/dt, by the laws above; y may be complex."""
    m, a, b, c, h, i1, i2, i3, d, g = numbers.values()
    inertia = np.array([[i1, d, 0], [d, i2, 0], [0, 0, i3]])
    squares = np.array([a * a, b * b, c * c])
    psi, alpha, beta, *rates = y[2:]
    sa, ca, sb, cb = np.sin(alpha), np.cos(alpha), np.sin(beta), np.cos(beta)
    # R = R_z(psi) R_x(alpha) R_y(beta); w = W (psi', alpha', beta') in body axes
    turning = np.array([[-ca * sb, cb, 0], [sa, 0, 1], [ca * cb, sb, 0]])
    w = turning @ rates
    e = np.array([-ca * sb, sa, ca * cb])
    de = np.cross(e, w)
    reach = np.sqrt((squares * e * e).sum())
    r = np.array([0, 0, h]) - squares * e / reach
    dr = -squares * de / reach + squares * e * (squares * e * de).sum() / reach**3
    v = np.cross(r, w)
    known = m * np.cross(r, np.cross(dr, w) + np.cross(w, v) + g * e) - np.cross(w, inertia @ w)
    across = np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])
    dw = np.linalg.solve(inertia - m * across @ across, known)
    _, da, db = rates
    changing = np.array(
        [
            [sa * sb * da - ca * cb * db, -sb * db, 0],
            [ca * da, 0, 0],
            [-sa * cb * da - ca * sb * db, cb * db, 0],
        ]
    )
    sp_, cp = np.sin(psi), np.cos(psi)
    plane = np.array([[cp, -sp_, 0], [sp_, cp, 0]]) @ np.array([[1, 0, 0], [0, ca, -sa], [0, sa, ca]])
    tilted = plane @ np.array([[cb, 0, sb], [0, 1, 0], [-sb, 0, cb]])
    return np.concatenate([tilted @ v, rates, np.linalg.solve(turning, dw - changing @ rates)])


def jacobian(y: Any, numbers: dict[str, float]) -> Any:
    """By complex steps."""
    columns = [field(y + 1e-30j * unit, numbers).imag / 1e-30 for unit in np.eye(len(y))]
    return np.array(columns).T
