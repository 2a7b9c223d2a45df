"""Independent equations of motion of the catalogue, by SymPy's own mechanics.

Each oracle is built from bodies, points and reference frames (Kane) or from positions and constraints in the
coordinates alone (Lagrange with multipliers), never from the project's declarations, and knows nothing of its
code. Oracles use the catalogue's names and order of coordinates, velocities and parameters, which is all they
share with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import sympy as sp
from sympy.physics.mechanics import (
    KanesMethod,
    LagrangesMethod,
    Lagrangian as lagrangian,
    Particle,
    Point,
    ReferenceFrame,
    RigidBody,
    dynamicsymbols,
    inertia,
)


@dataclass(frozen=True)
class Oracle:
    """Numeric equations M(z) z' = f(z) with z = (x, eta), optionally with multipliers after eta'.

    ``linear_system(modules)(*x, *eta, *p, *u)`` gives M and f; ``modules`` is "numpy" or "mpmath".
    """

    coordinates: tuple[str, ...]
    velocities: tuple[str, ...]
    parameters: tuple[str, ...]
    linear_system: Callable[[str], Callable[..., tuple[Any, Any]]]
    n_multipliers: int = 0

    @property
    def states(self) -> tuple[str, ...]:
        return self.coordinates + self.velocities

    def rhs(self, y: Sequence[float], p: Sequence[float], u: Sequence[float] = ()) -> np.ndarray:
        """d(x, eta)/dt, shape (n,)."""
        return self.solve(y, p, u)[: len(self.states)]

    def solve(self, y: Sequence[float], p: Sequence[float], u: Sequence[float] = ()) -> np.ndarray:
        """d(x, eta)/dt followed by the multipliers, shape (n + n_multipliers,)."""
        matrix, forcing = self.linear_system("numpy")(*y, *p, *u)
        return np.linalg.solve(np.asarray(matrix, dtype=float), np.asarray(forcing, dtype=float)[:, 0])


def numeric_oracle(
    coordinates: Sequence[Any],
    velocities: Sequence[Any],
    parameters: Sequence[sp.Symbol],
    matrix: sp.Matrix,
    forcing: sp.Matrix,
    *,
    replaced: dict[Any, Any] | None = None,
    inputs: Sequence[sp.Symbol] = (),
    names: Sequence[str] | None = None,
) -> Oracle:
    """Lambdify M and f after replacing every function of time by a plain symbol."""
    functions = [*coordinates, *velocities]
    plain = [sp.Dummy(f"z{i}") for i in range(len(functions))]
    # Velocities first: replacing q(t) first would turn Derivative(q(t), t) into zero.
    backward = dict(zip(reversed(functions), reversed(plain)))
    matrix = matrix.subs(replaced or {}).subs(backward)
    forcing = forcing.subs(replaced or {}).subs(backward)
    arguments = [*plain, *parameters, *inputs]

    @cache
    def linear_system(modules: str) -> Callable[..., tuple[Any, Any]]:
        return sp.lambdify(arguments, [matrix, forcing], modules=modules, cse=True)

    velocity_names = tuple(names) if names else tuple(v.func.__name__ for v in velocities)
    return Oracle(
        tuple(q.func.__name__ for q in coordinates),
        velocity_names,
        tuple(p.name for p in parameters),
        linear_system,
        matrix.shape[0] - len(functions),
    )


def from_kane(kane: KanesMethod, q: Sequence[Any], u: Sequence[Any], p: Sequence[sp.Symbol]) -> Oracle:
    return numeric_oracle(q, u, p, kane.mass_matrix_full, kane.forcing_full)


def rates_of(q: Sequence[Any]) -> tuple[list[Any], tuple[str, ...]]:
    t = dynamicsymbols._t
    return [x.diff(t) for x in q], tuple(f"{x.func.__name__}_dot" for x in q)


@cache
def sleigh_by_multipliers() -> Oracle:
    """Coordinates and their rates only: Lagrange with a multiplier; states phi, x, y and their rates."""
    q = phi, x, y = dynamicsymbols("phi x y")
    a, b, k = sp.symbols("a b k")
    ground = ReferenceFrame("N")
    body = ground.orientnew("B", "Axis", (phi, ground.z))
    origin = Point("O")
    origin.set_vel(ground, 0)
    blade = origin.locatenew("A", x * ground.x + y * ground.y)
    centre = blade.locatenew("C", a * body.x + b * body.y)
    blade.set_vel(ground, blade.pos_from(origin).dt(ground))
    centre.set_vel(ground, centre.pos_from(origin).dt(ground))
    shell = RigidBody("sleigh", centre, body, sp.Integer(1), (inertia(body, 0, 0, k**2), centre))
    method = LagrangesMethod(
        lagrangian(ground, shell), list(q), nonhol_coneqs=[blade.vel(ground).dot(body.y)], frame=ground
    )
    method.form_lagranges_equations()
    rates, names = rates_of(q)
    return numeric_oracle(q, rates, (a, b, k), method.mass_matrix_full, method.forcing_full, names=names)


@cache
def sleigh_by_kane() -> Oracle:
    """Body velocities omega, v, with w dependent: states phi, x, y, omega, v, w."""
    q = phi, x, y = dynamicsymbols("phi x y")
    u = omega, v, w = dynamicsymbols("omega v w")
    a, b, k = sp.symbols("a b k")
    t = dynamicsymbols._t
    ground = ReferenceFrame("N")
    body = ground.orientnew("B", "Axis", (phi, ground.z))
    body.set_ang_vel(ground, omega * ground.z)
    blade, centre = Point("A"), Point("C")
    blade.set_vel(ground, v * body.x + w * body.y)
    centre.set_pos(blade, a * body.x + b * body.y)
    centre.v2pt_theory(blade, ground, body)
    velocity = blade.vel(ground)
    kane = KanesMethod(
        ground,
        list(q),
        [omega, v],
        kd_eqs=[
            phi.diff(t) - omega,
            x.diff(t) - velocity.dot(ground.x),
            y.diff(t) - velocity.dot(ground.y),
        ],
        u_dependent=[w],
        velocity_constraints=[w],
        acceleration_constraints=[w.diff(t)],
    )
    kane.kanes_equations(
        [RigidBody("sleigh", centre, body, sp.Integer(1), (inertia(body, 0, 0, k**2), centre))]
    )
    return from_kane(kane, q, u, (a, b, k))


@cache
def rigid_body(gravity: bool) -> Oracle:
    """A body about a fixed point, in quaternions and body rates; with ``gravity`` the heavy top."""
    q = dynamicsymbols("q0 q1 q2 q3")
    u = dynamicsymbols("w1 w2 w3")
    moments = sp.symbols("I1 I2 I3")
    m, g, *r = sp.symbols("m g r1 r2 r3")
    t = dynamicsymbols._t
    space = ReferenceFrame("N")
    body = ReferenceFrame("B")
    body.orient_quaternion(space, q)
    from_attitude = body.ang_vel_in(space)
    del from_attitude  # the definition of u by the quaternion's rates is given by hand below
    body.set_ang_vel(space, u[0] * body.x + u[1] * body.y + u[2] * body.z)
    pivot = Point("O")
    pivot.set_vel(space, 0)
    about_pivot = (inertia(body, *moments), pivot)
    kinematics = [
        q[0].diff(t) + (q[1] * u[0] + q[2] * u[1] + q[3] * u[2]) / 2,
        q[1].diff(t) - (q[0] * u[0] - q[3] * u[1] + q[2] * u[2]) / 2,
        q[2].diff(t) - (q[3] * u[0] + q[0] * u[1] - q[1] * u[2]) / 2,
        q[3].diff(t) - (-q[2] * u[0] + q[1] * u[1] + q[0] * u[2]) / 2,
    ]
    kane = KanesMethod(space, q, u, kd_eqs=kinematics)
    if not gravity:
        kane.kanes_equations([RigidBody("body", pivot, body, m, about_pivot)])
        return from_kane(kane, q, u, moments)
    centre = pivot.locatenew("C", r[0] * body.x + r[1] * body.y + r[2] * body.z)
    centre.v2pt_theory(pivot, space, body)
    top = RigidBody("top", centre, body, m, about_pivot)
    kane.kanes_equations([top], [(centre, -m * g * space.z)])
    return from_kane(kane, q, u, (*moments, m, g, *r))


@cache
def chain_by_kane(masses: tuple[str, ...], lengths: tuple[str, ...]) -> Oracle:
    """A planar chain of particles hanging from a fixed point, angles from the downward vertical, by Kane.

    ``masses`` and ``lengths`` name the parameters from the top; a name may be repeated.
    """
    n = len(masses)
    q = dynamicsymbols(f"theta1:{n + 1}")
    u = dynamicsymbols(f"u1:{n + 1}")
    g = sp.Symbol("g")
    ground = ReferenceFrame("N")
    point = Point("O")
    point.set_vel(ground, 0)
    particles, loads = [], []
    for i in range(n):
        rod = ground.orientnew(f"R{i}", "Axis", (q[i], ground.z))
        rod.set_ang_vel(ground, u[i] * ground.z)
        end = point.locatenew(f"P{i}", -sp.Symbol(lengths[i]) * rod.y)
        end.v2pt_theory(point, ground, rod)
        particles.append(Particle(f"m{i}", end, sp.Symbol(masses[i])))
        loads.append((end, -sp.Symbol(masses[i]) * g * ground.y))
        point = end
    t = dynamicsymbols._t
    kane = KanesMethod(ground, q, u, kd_eqs=[x.diff(t) - s for x, s in zip(q, u)])
    kane.kanes_equations(particles, loads)
    parameters = tuple(sp.Symbol(name) for name in dict.fromkeys([*masses, *lengths, "g"]))
    return numeric_oracle(
        q,
        u,
        parameters,
        kane.mass_matrix_full,
        kane.forcing_full,
        names=[f"{x.func.__name__}_dot" for x in q],
    )


@cache
def chain_by_lagrange(masses: tuple[str, ...], lengths: tuple[str, ...]) -> Oracle:
    """The same chain from its positions in the plane, by Lagrange's equations."""
    q = dynamicsymbols(f"theta1:{len(masses) + 1}")
    t = dynamicsymbols._t
    g = sp.Symbol("g")
    x = y = function = sp.Integer(0)
    for angle, mass, length in zip(q, masses, lengths):
        x += sp.Symbol(length) * sp.sin(angle)
        y -= sp.Symbol(length) * sp.cos(angle)
        function += sp.Symbol(mass) * ((x.diff(t) ** 2 + y.diff(t) ** 2) / 2 - g * y)
    method = LagrangesMethod(function, q)
    method.form_lagranges_equations()
    rates, names = rates_of(q)
    parameters = tuple(sp.Symbol(name) for name in dict.fromkeys([*masses, *lengths, "g"]))
    return numeric_oracle(q, rates, parameters, method.mass_matrix_full, method.forcing_full, names=names)


@cache
def oscillator() -> Oracle:
    """Mass, spring and damper with an external force: parameters m, k, c and input F, by Lagrange."""
    x = dynamicsymbols("x")
    t = dynamicsymbols._t
    m, k, c, force = sp.symbols("m k c F")
    axis = ReferenceFrame("N")
    point = Point("P")
    point.set_vel(axis, x.diff(t) * axis.x)
    method = LagrangesMethod(
        m * x.diff(t) ** 2 / 2 - k * x**2 / 2,
        [x],
        forcelist=[(point, (force - c * x.diff(t)) * axis.x)],
        frame=axis,
    )
    method.form_lagranges_equations()
    rates, names = rates_of([x])
    return numeric_oracle(
        [x], rates, (m, k, c), method.mass_matrix_full, method.forcing_full, names=names, inputs=(force,)
    )


def sleigh_rates_from_coordinates(y: Sequence[float], p: Sequence[float]) -> tuple[np.ndarray, float]:
    """d(phi, x, y, omega, v)/dt and multiplier at y = (phi, x, y, omega, v), by the equations in coordinates."""
    phi, _, _, omega, v = y
    forward = np.array([np.cos(phi), np.sin(phi)])
    solution = sleigh_by_multipliers().solve([*y[:3], omega, *(v * forward)], p)
    # v = xdot . forward, and w = 0 removes the term from turning.
    return np.array([*solution[:4], forward @ solution[4:6]]), float(solution[6])


def chain_by_hand(y: np.ndarray, m: float, length: float, g: float) -> np.ndarray:
    """d(theta, theta')/dt of n equal links from the equations as textbooks print them, for any n.

    sum_j (n + 1 - max(i, j)) (cos(theta_i - theta_j) theta_j'' + sin(theta_i - theta_j) theta_j'^2)
    = -(n + 1 - i) (g / l) sin(theta_i); the mass cancels.
    """
    theta, rate = np.split(np.asarray(y, dtype=float), 2)
    n = len(theta)
    below = n - np.maximum.outer(np.arange(n), np.arange(n))
    difference = np.subtract.outer(theta, theta)
    pull = -np.diag(below) * g / length * np.sin(theta)
    matrix = below * np.cos(difference)
    return np.concatenate([rate, np.linalg.solve(matrix, pull - (below * np.sin(difference)) @ rate**2)])
