"""Independent equations of the catalogue's systems on wheels, disks and Suslov's body, by SymPy's own mechanics.

As `oracles`: built from bodies, points and frames; the nonholonomic constraints are velocities of material points.
Oracles in coordinate rates come with functions for the catalogue's quasi-velocities.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import sympy as sp
from oracles import Oracle, from_kane, numeric_oracle, rates_of
from sympy.physics.mechanics import (
    KanesMethod,
    LagrangesMethod,
    Lagrangian as lagrangian,
    Point,
    ReferenceFrame,
    RigidBody,
    dynamicsymbols,
    inertia,
)


@cache
def suslov() -> Oracle:
    """A heavy body about a fixed point with the body rate w3 constrained to zero; states q0..q3, w1, w2, w3."""
    q = dynamicsymbols("q0 q1 q2 q3")
    u = dynamicsymbols("w1 w2 w3")
    i1, i2, i3, i13, i23, m, g, r1, r2, r3 = p = sp.symbols("I1 I2 I3 I13 I23 m g r1 r2 r3")
    t = dynamicsymbols._t
    space, body = ReferenceFrame("N"), ReferenceFrame("B")
    body.orient_quaternion(space, q)
    body.set_ang_vel(space, u[0] * body.x + u[1] * body.y + u[2] * body.z)
    pivot = Point("O")
    pivot.set_vel(space, 0)
    centre = pivot.locatenew("C", r1 * body.x + r2 * body.y + r3 * body.z)
    centre.v2pt_theory(pivot, space, body)
    kane = KanesMethod(
        space,
        q,
        u[:2],
        kd_eqs=[
            q[0].diff(t) + (q[1] * u[0] + q[2] * u[1] + q[3] * u[2]) / 2,
            q[1].diff(t) - (q[0] * u[0] - q[3] * u[1] + q[2] * u[2]) / 2,
            q[2].diff(t) - (q[3] * u[0] + q[0] * u[1] - q[1] * u[2]) / 2,
            q[3].diff(t) - (-q[2] * u[0] + q[1] * u[1] + q[0] * u[2]) / 2,
        ],
        u_dependent=[u[2]],
        velocity_constraints=[u[2]],
        acceleration_constraints=[u[2].diff(t)],
    )
    about_pivot = (inertia(body, i1, i2, i3, 0, i23, i13), pivot)
    kane.kanes_equations([RigidBody("body", centre, body, m, about_pivot)], [(centre, -m * g * space.z)])
    return from_kane(kane, q, u, p)


@cache
def disk_by_multipliers() -> Oracle:
    """Lagrange with multipliers in the contact point, heading, lean and turn; the particle in contact is at rest."""
    q = x, y, psi, alpha, theta = dynamicsymbols("x y psi alpha theta")
    m, radius, a, b, g = p = sp.symbols("m R A B g")
    space = ReferenceFrame("N")
    trace = space.orientnew("Y", "Axis", (psi, space.z))
    lean = trace.orientnew("L", "Axis", (alpha, trace.x))
    disk = lean.orientnew("D", "Axis", (theta, lean.y))
    origin = Point("O")
    origin.set_vel(space, 0)
    centre = origin.locatenew("C", x * space.x + y * space.y + radius * lean.z)
    centre.set_vel(space, centre.pos_from(origin).dt(space))
    # The inertia of a disk is the same in any frame that leans with it.
    body = RigidBody("disk", centre, disk, m, (inertia(lean, a, b, a), centre))
    body.potential_energy = m * g * centre.pos_from(origin).dot(space.z)
    particle = centre.vel(space) + disk.ang_vel_in(space).cross(-radius * lean.z)
    method = LagrangesMethod(
        lagrangian(space, body),
        list(q),
        nonhol_coneqs=[particle.dot(space.x), particle.dot(space.y)],
        frame=space,
    )
    method.form_lagranges_equations()
    rates, names = rates_of(q)
    return numeric_oracle(q, rates, p, method.mass_matrix_full, method.forcing_full, names=names)


def disk_rates(y: Sequence[float], p: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """d(x, y, psi, alpha, theta, w1, w2, w3)/dt and the force along and across the trace, for rolling without slip."""
    x, y_, psi, alpha, theta, w1, w2, w3 = y
    turning = w3 / np.cos(alpha)
    spinning = w2 - turning * np.sin(alpha)
    speed = p[1] * spinning
    rates = [speed * np.cos(psi), speed * np.sin(psi), turning, w1, spinning]
    solution = disk_by_multipliers().solve([x, y_, psi, alpha, theta, *rates], p)
    psi_2, alpha_2, theta_2 = solution[7:10]
    force = solution[10:12]
    c, s = np.cos(alpha), np.sin(alpha)
    heading = np.array([[np.cos(psi), np.sin(psi)], [-np.sin(psi), np.cos(psi)]])
    quasi = [alpha_2, theta_2 + psi_2 * s + turning * w1 * c, psi_2 * c - turning * w1 * s]
    return np.array([*rates, *quasi]), heading @ force


@cache
def racer_by_multipliers() -> Oracle:
    """Lagrange with multipliers in x, y, phi, theta; both centres move along their bodies. Input: the couple."""
    q = x, y, phi, theta = dynamicsymbols("x y phi theta")
    m1, m2, i1, i2, d1, d2, k = p = sp.symbols("m1 m2 I1 I2 d1 d2 k")
    couple = sp.Symbol("tau")
    ground = ReferenceFrame("N")
    first = ground.orientnew("A", "Axis", (phi, ground.z))
    second = first.orientnew("B", "Axis", (theta, first.z))
    origin = Point("O")
    origin.set_vel(ground, 0)
    axle = origin.locatenew("P", x * ground.x + y * ground.y)
    other = axle.locatenew("Q", d1 * first.x + d2 * second.x)
    for point in (axle, other):
        point.set_vel(ground, point.pos_from(origin).dt(ground))
    bodies = [
        RigidBody("first", axle, first, m1, (inertia(first, 0, 0, i1), axle)),
        RigidBody("second", other, second, m2, (inertia(second, 0, 0, i2), other)),
    ]
    bodies[0].potential_energy = k * theta**2 / 2
    method = LagrangesMethod(
        lagrangian(ground, *bodies),
        list(q),
        nonhol_coneqs=[axle.vel(ground).dot(first.y), other.vel(ground).dot(second.y)],
        forcelist=[(second, couple * ground.z), (first, -couple * ground.z)],
        frame=ground,
    )
    method.form_lagranges_equations()
    rates, names = rates_of(q)
    return numeric_oracle(
        q, rates, p, method.mass_matrix_full, method.forcing_full, names=names, inputs=(couple,)
    )


def racer_rates(y: Sequence[float], p: Sequence[float], couple: float) -> tuple[np.ndarray, np.ndarray]:
    """d(x, y, phi, theta, v, omega, sigma)/dt and both multipliers at (x, y, phi, theta, v, sigma)."""
    x, y_, phi, theta, v, sigma = y
    d1, d2 = p[4:6]
    omega = (v * np.sin(theta) - d2 * sigma) / (d1 * np.cos(theta) + d2)
    forward = np.array([np.cos(phi), np.sin(phi)])
    solution = racer_by_multipliers().solve([x, y_, phi, theta, *(v * forward), omega, sigma], p, [couple])
    quasi = [forward @ solution[4:6], *solution[6:8]]
    return np.array([*solution[:4], *quasi]), solution[8:10]
