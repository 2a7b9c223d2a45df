"""Misprints in formulas of the sources: the printed formula fails and the corrected one holds.

Each test derives a quantity independently (positions and their derivatives, SymPy's mechanics, or a motion integrated
from equations without quasi-velocities) and compares it with the formula as printed and as corrected. Sources:
[P] Painlevé's equation and the torus with a sliding shell; [E] "Poincaré equations", Encyclopedia of Mathematics;
[L] Lagrange equations for systems of rigid bodies, the ring with a body; [G] Q. K. Ghori, "Whittaker's reduction
method for Poincaré's dynamical equations" (1993). Misprints that affect only the wording are not covered.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import oracles
import sympy as sp
from scipy.integrate import quad, solve_ivp
from sympy.physics.mechanics import Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia

T = dynamicsymbols._t


def judge(printed: Any, right: Any, derived: Any) -> None:
    """Arrays or numbers: the printed formula is wrong by more than 1e-3, the correct one by less than 1e-10."""
    printed, right, derived = (np.atleast_1d(np.asarray(v, dtype=float)) for v in (printed, right, derived))
    assert np.max(np.abs(printed - derived)) > 1e-3
    assert np.max(np.abs(right - derived)) < 1e-10


def at(expression: Any, motion: Mapping[Any, Any], values: Mapping[Any, float], time: float) -> float:
    """The value of an expression in functions of time along a prescribed motion."""
    moved = sp.sympify(expression).subs(motion).doit()
    return float(moved.subs(values).subs(T, time).evalf(30))


# [E] ----------------------------------------------------------------------------------------------------------------

SLEIGH_FIELDS = np.array([[1, 0, 0], [0, np.cos(0.7), np.sin(0.7)], [0, -np.sin(0.7), np.cos(0.7)]])


def test_e_virtual_displacement_sums_over_the_fields() -> None:
    """[E], introduction. Printed: delta f = sum over alpha of omega_i X_i f. Right: omega_alpha X_alpha f.

    Taken literally the printed term does not depend on alpha: the sum is k times one term, or k times the sum over i.
    """
    slope = np.array([0.3, -1.1, 0.8])  # f = slope . x; X_alpha = SLEIGH_FIELDS[alpha] at phi = 0.7
    omega = np.array([0.4, 0.9, -0.5])
    along = SLEIGH_FIELDS @ slope
    c, s = np.cos(0.7), np.sin(0.7)
    moved = np.array([omega[0], omega[1] * c - omega[2] * s, omega[1] * s + omega[2] * c])
    derived = float(slope @ moved)
    for i in range(3):
        judge(3 * omega[i] * along[i], omega @ along, derived)
    judge(3 * (omega @ along), omega @ along, derived)


@cache
def heisenberg_by_lagrange() -> Any:
    """x'', y'' and a_3 of the Heisenberg particle from the equations in coordinates; V = (x^2 + 2 y^2) / 2."""
    x, y, z = dynamicsymbols("x y z")
    eta3 = z.diff(T) - (x * y.diff(T) - y * x.diff(T)) / 2
    function = (x.diff(T) ** 2 + y.diff(T) ** 2 + eta3**2) / 2 - (x**2 + 2 * y**2) / 2
    method = oracles.LagrangesMethod(function, [x, y, z])
    method.form_lagranges_equations()
    return (x, y, z), method.rhs()


def test_e_routh_without_the_bracket_term_needs_fields_that_close_among_themselves() -> None:
    """[E], end. Printed: the non-cyclic X_beta, beta = 1..k, form a subalgebra. Right: beta = 1..s.

    All k fields always close, so the printed condition would drop c_alpha j^gamma eta_alpha a_gamma of (2) in
    every system; on the Heisenberg group, where [X_1, X_2] = X_3 and s = 2, this is wrong.
    """
    (x, y, z), rates = heisenberg_by_lagrange()
    point = {x.diff(T): 0.2, y.diff(T): -0.3, z.diff(T): 1.1, x: 1.0, y: 0.5, z: 0.1}
    derived = [float(rates[i].subs(point)) for i in (3, 4)]
    a_3 = 1.1 - (1.0 * -0.3 - 0.5 * 0.2) / 2
    without = [-1.0, -2 * 0.5]  # X_j R with R = (eta_1^2 + eta_2^2 - a_3^2)/2 - V
    # j = 1: c_21^3 eta_2 a_3 = -eta_2 a_3;  j = 2: c_12^3 eta_1 a_3.
    full = [without[0] + 0.3 * a_3, without[1] + 0.2 * a_3]
    judge(without, full, derived)


# [P] ----------------------------------------------------------------------------------------------------------------

Q1, Q2 = dynamicsymbols("q1 q2")
MOTION = {Q1: 0.4 + sp.sin(sp.Rational(6, 5) * T), Q2: 0.3 * T**2 - sp.cos(T)}
DRIVEN = sp.Matrix(
    [sp.cos(Q1 + T) * (2 + sp.sin(Q2)), sp.sin(Q1 + T) * (2 + sp.sin(Q2)) + T**2, Q1 * Q2 + sp.sin(2 * T)]
)
"""A position r(t, q) with explicit time in every component."""


def parts() -> tuple[sp.Matrix, sp.Matrix]:
    """Sum of q_i' dr/dq_i, and dr/dt at fixed q."""
    a, b = sp.symbols("a b")
    fixed = DRIVEN.subs({Q1: a, Q2: b})
    back = {a: Q1, b: Q2}
    along = fixed.diff(a).subs(back) * Q1.diff(T) + fixed.diff(b).subs(back) * Q2.diff(T)
    return along, fixed.diff(T).subs(back)


def test_p_square_of_the_velocity_has_a_factor_two() -> None:
    """[P], v^2. Printed: the mixed term q_i' dr/dq_i . dr/dt. Right: twice that."""
    along, explicit = parts()
    derived = at(DRIVEN.diff(T).dot(DRIVEN.diff(T)), MOTION, {}, 0.8)
    printed = along.dot(along) + along.dot(explicit) + explicit.dot(explicit)
    right = printed + along.dot(explicit)
    judge(at(printed, MOTION, {}, 0.8), at(right, MOTION, {}, 0.8), derived)


def test_p_virtual_velocity_has_no_explicit_part() -> None:
    """[P], v*. Printed: v* = sum q_i' dr/dq_i + dr/dt. Right: v* = sum q_i' dr/dq_i.

    d(T2 - T0)/dt + dT/dt = F . v* for any motion of a unit mass with F = r''; the power of the drive does not appear.
    """
    along, explicit = parts()
    t_2, t_0 = along.dot(along) / 2, explicit.dot(explicit) / 2
    kinetic = (along + explicit).dot(along + explicit) / 2
    a, b, c, d = sp.symbols("a b c d")
    rates_fixed = kinetic.subs({Q1.diff(T): c, Q2.diff(T): d}).subs({Q1: a, Q2: b})
    partial = rates_fixed.diff(T).subs({a: Q1, b: Q2, c: Q1.diff(T), d: Q2.diff(T)})
    derived = at((t_2 - t_0).diff(T) + partial, MOTION, {}, 0.8)
    force = DRIVEN.diff(T).diff(T)
    judge(at(force.dot(along + explicit), MOTION, {}, 0.8), at(force.dot(along), MOTION, {}, 0.8), derived)


def test_p_only_the_shells_mass_moves() -> None:
    """[P], example. Printed: the mass m in T, U, (2) and (4). Right: m2, the mass of the shell, everywhere.

    Here m = m1 + m2, the only other mass in the problem. T, U, theta'' and the couple follow from frames and positions.
    """
    theta, psi = dynamicsymbols("theta psi")
    i1, a2, b2, c2, m1, m2, radius, g, mass = sp.symbols("I1 A2 B2 C2 m1 m2 R g m")
    space = ReferenceFrame("N")
    torus = space.orientnew("T", "Axis", (psi, space.z))
    # S.x points along the radius, at the angle theta above the horizontal.
    shell = torus.orientnew("S", "Axis", (-theta, torus.y))
    centre = Point("O")
    centre.set_vel(space, 0)
    middle = centre.locatenew("G", radius * shell.x)
    middle.set_vel(space, middle.pos_from(centre).dt(space))
    bodies = [
        RigidBody("torus", centre, torus, m1, (inertia(torus, 0, 0, i1), centre)),
        RigidBody("shell", middle, shell, m2, (inertia(shell, a2, b2, c2), middle)),
    ]
    kinetic = sum(body.kinetic_energy(space) for body in bodies)
    potential = m2 * g * middle.pos_from(centre).dot(space.z)
    numbers = {i1: 3.0, a2: 0.4, b2: 0.7, c2: 0.5, m1: 2.1, m2: 1.3, radius: 0.8, g: 9.81}
    omega = 2.5
    state = [(theta.diff(T), 0.4), (psi.diff(T), omega), (theta, 0.3)]

    def value(expression: Any) -> float:
        return float(sp.sympify(expression).subs(state).subs({mass: chosen}).subs(numbers))

    turning, sliding = psi.diff(T), theta.diff(T)
    momentum = kinetic.diff(sliding)
    force = (kinetic - potential).diff(theta)
    steady = {psi.diff(T).diff(T): 0}
    acceleration = sp.Symbol("theta_2")
    balance = (momentum.diff(T) - force).subs(steady).subs(sliding.diff(T), acceleration)
    theta_2 = sp.solve(balance, acceleration)[0]
    couple = kinetic.diff(turning).diff(T).subs(steady).subs(sliding.diff(T), theta_2)
    axial = i1 + a2 * sp.sin(theta) ** 2 + (c2 + mass * radius**2) * sp.cos(theta) ** 2
    inertia_2, difference = b2 + mass * radius**2, a2 - c2 - mass * radius**2
    formulas = [
        (inertia_2 * sliding**2 + axial * turning**2) / 2,
        -mass * g * radius * sp.sin(theta),
        (turning**2 * difference * sp.sin(theta) - mass * g * radius) * sp.cos(theta) / inertia_2,
        2 * omega * sliding * difference * sp.sin(theta) * sp.cos(theta),
    ]
    for formula, derived in zip(formulas, [kinetic, -potential, theta_2, couple], strict=True):
        chosen: Any = m1 + m2
        printed = value(formula)
        chosen = m2
        judge(printed, value(formula), value(derived))


# [L] ----------------------------------------------------------------------------------------------------------------

PSI, THETA, PHI, X, Y = dynamicsymbols("psi theta phi x y")
M1, M2, RADIUS, I1, J1, I2, J2 = sp.symbols("m1 m2 R I1 J1 I2 J2")
RING_NUMBERS = {M1: 1.2, M2: 0.8, RADIUS: 0.5, I1: 0.15, J1: 0.3, I2: 0.05, J2: 0.03}
RING_MOTION = {
    PSI: sp.Rational(3, 10) + sp.sin(T),
    THETA: sp.Rational(2, 5) + T - T**3 / 7,
    PHI: 2 * T + sp.cos(2 * T),
}
"""Any motion of the angles: the formulas are kinematic."""


@cache
def ring() -> dict[str, Any]:
    """Acceleration of the centre, and D . u of ring and body: d(angular momentum)/dt about the contact, along u."""
    space = ReferenceFrame("N")
    plane = space.orientnew("P", "Axis", (PSI, space.z))  # P.x is u, P.y is y1
    wheel = plane.orientnew("W", "Axis", (THETA, plane.y))
    body = wheel.orientnew("B", "Axis", (PHI, wheel.z))
    velocity = RADIUS * THETA.diff(T) * plane.x  # rolling
    acceleration = velocity.dt(space)
    lever = RADIUS * space.z  # from the point of contact to the common centre
    moments = {
        "1": (inertia(wheel, I1, J1, I1), wheel, M1),
        "2": (inertia(body, I2, I2, J2), body, M2),
    }
    found = {"u": acceleration.dot(plane.x), "y1": acceleration.dot(plane.y), "z": acceleration.dot(space.z)}
    for name, (tensor, frame, mass) in moments.items():
        about_centre = tensor.dot(frame.ang_vel_in(space))
        change = about_centre.dt(space) + lever.cross(mass * acceleration)
        found[name] = change.dot(plane.x)
    return found


def ring_value(expression: Any) -> float:
    return at(expression, RING_MOTION, RING_NUMBERS, 0.6)


TH, PS, PH = THETA.diff(T), PSI.diff(T), PHI.diff(T)
S, C = sp.sin(THETA), sp.cos(THETA)


def test_l_acceleration_of_the_centre() -> None:
    """[L], a_G. Printed: R (theta'' u + R theta'^2 y1). Right: R (theta'' u + theta' psi' y1)."""
    derived = [ring_value(ring()[axis]) for axis in ("u", "y1")]
    along = ring_value(RADIUS * TH.diff(T))
    judge([along, ring_value(RADIUS**2 * TH**2)], [along, ring_value(RADIUS * TH * PS)], derived)


def test_l_moment_of_the_ring() -> None:
    """[L], D1 . u. Printed: -(J1 + m1 R^2) theta'^2. Right: -(J1 + m1 R^2) theta' psi'.

    The corrected formula omits d(I1-term)/dt only because the ring is upright: its angular momentum along u is zero.
    """
    inertia_1 = J1 + M1 * RADIUS**2
    judge(ring_value(-inertia_1 * TH**2), ring_value(-inertia_1 * TH * PS), ring_value(ring()["1"]))


def test_l_moment_of_the_body() -> None:
    """[L], D2 . u. Printed: -(I2 + m2 R^2) theta'^2 + d/dt [J2 phi' + (J2 - I2) cos sin].
    Right: -(I2 + m2 R^2) theta' psi' + d/dt [J2 phi' sin + (J2 - I2) psi' sin cos]."""
    inertia_2 = I2 + M2 * RADIUS**2
    printed = -inertia_2 * TH**2 + (J2 * PH + (J2 - I2) * C * S).diff(T)
    right = -inertia_2 * TH * PS + (J2 * PH * S + (J2 - I2) * PS * S * C).diff(T)
    judge(ring_value(printed), ring_value(right), ring_value(ring()["2"]))


def test_l_couple_that_keeps_the_ring_upright() -> None:
    """[L], M. Printed: the sum of the two printed moments. Right: with m = m1 + m2
    M = -(J1 + I2 + m R^2) theta' psi' + d/dt [J2 phi' sin + (J2 - I2) psi' sin cos]."""
    inertia_ = J1 + I2 + (M1 + M2) * RADIUS**2
    printed = -inertia_ * TH**2 + (J2 * PH + (J2 - I2) * C * S).diff(T)
    right = -inertia_ * TH * PS + (J2 * PH * S + (J2 - I2) * PS * S * C).diff(T)
    judge(ring_value(printed), ring_value(right), ring_value(ring()["1"] + ring()["2"]))


def test_l_weights_are_those_of_each_body() -> None:
    """[L], Q. Printed: the weight -m g on either body, m = m1 + m2. Right: -m1 g and -m2 g.

    Newton's law upward: Z + weights = (m1 + m2) z'', with the reaction of the plane Z = m g of [L] (7).
    """
    g = 9.81
    m1, m2 = RING_NUMBERS[M1], RING_NUMBERS[M2]
    upward = (m1 + m2) * ring_value(ring()["z"])
    reaction = (m1 + m2) * g
    judge(reaction - 2 * (m1 + m2) * g, reaction - m1 * g - m2 * g, upward)


# [G] ----------------------------------------------------------------------------------------------------------------

SLEIGH = (0.4, 0.15, 0.6)  # a, b, k
START = (0.2, 0.1, -0.3, 0.8, 1.0)  # phi, x, y, phi', u


@cache
def sleigh_run(turn: float = 1.0) -> Any:
    """The sleigh's motion (phi, x, y, phi', u) as a function of time, from the equations in coordinates."""
    start = [*START[:3], turn * START[3], START[4]]
    return solve_ivp(
        lambda t, y: oracles.sleigh_rates_from_coordinates(y, SLEIGH)[0],
        (0, 1.2),
        start,
        method="DOP853",
        rtol=1e-13,
        atol=1e-13,
        dense_output=True,
        max_step=0.02,
    ).sol


def sleigh_state(t: float) -> tuple[np.ndarray, np.ndarray]:
    """State and its derivative in time."""
    y = sleigh_run()(t)
    return y, oracles.sleigh_rates_from_coordinates(y, SLEIGH)[0]


def test_g_fields_act_on_the_coordinates() -> None:
    """[G], (1.2), (1.3). Printed: X_p = xi_p^s d/dx_s together with x_p' = xi_p^s eta_s. Right: X_s = xi_p^s d/dx_p.

    With eta = (phi', v, w) of the sleigh, xi_p^s = d(x_p')/d(eta_s), and f = slope . x: f' = eta_s X_s f.
    """
    phi = 0.7
    xi = np.array([[1, 0, 0], [0, np.cos(phi), -np.sin(phi)], [0, np.sin(phi), np.cos(phi)]])  # [p, s]
    eta, slope = np.array([0.8, 1.0, -0.4]), np.array([0.3, -1.1, 0.8])
    derived = slope @ np.array(
        [0.8, 1.0 * np.cos(phi) + 0.4 * np.sin(phi), 1.0 * np.sin(phi) - 0.4 * np.cos(phi)]
    )
    judge(eta @ (xi @ slope), eta @ (xi.T @ slope), derived)


def test_g_first_velocity_is_the_rate_of_the_first_coordinate() -> None:
    """[G], section 4. Printed: x_1 = eta_1 = theta_1. Right: x_1' = eta_1 = theta_1; here x_1 = phi, theta_1 = phi'."""
    y, rate = sleigh_state(0.5)
    judge(y[0], rate[0], y[3])


def test_g_constraint_contains_phi() -> None:
    """[G], section 5. Printed: y' - x' tan(theta) = 0, eta_2' = theta_2' cos(theta). Right: phi for theta.

    theta is not an angle of the problem; it is read as theta_1. The eta' are dx/dphi, theta_2' = u/phi'.
    """
    y, rate = sleigh_state(0.5)
    theta = y[3]
    judge(rate[2] - rate[1] * np.tan(theta), rate[2] - rate[1] * np.tan(y[0]), 0.0)
    prime = y[4] / y[3]
    judge(prime * np.cos(theta), prime * np.cos(y[0]), rate[1] / rate[0])


def test_g_parameters_are_velocities() -> None:
    """[G], (5.1). Printed: eta_1 = theta_1', eta_2 = theta_2' cos(phi), eta_3 = theta_2' sin(phi), with dots.
    Right: theta_1, theta_2 without dots: the independent parameters are velocities themselves."""
    y, rate = sleigh_state(0.5)

    def velocities(first: float, second: float) -> list[float]:
        return [first, second * np.cos(y[0]), second * np.sin(y[0])]

    judge(velocities(*rate[3:5]), velocities(*y[3:5]), rate[:3])


def test_g_kinetic_energy() -> None:
    """[G], 2 T0. Printed: [eta_2^2 - phi' (a sin + b cos)]^2 + [eta_3^2 - phi' (a cos - b sin)]^2 + k^2 phi'^2.
    Right: [eta_2 - phi' (a sin + b cos)]^2 + [eta_3 + phi' (a cos - b sin)]^2 + k^2 phi'^2."""
    phi, x, y = dynamicsymbols("phi x y")
    a, b, k = SLEIGH
    centre = sp.Matrix([x + a * sp.cos(phi) - b * sp.sin(phi), y + a * sp.sin(phi) + b * sp.cos(phi)])
    velocity = centre.diff(T)
    state = [(phi.diff(T), 0.8), (x.diff(T), 1.3), (y.diff(T), -0.4), (phi, 0.7)]
    derived = float((velocity.dot(velocity) + k**2 * phi.diff(T) ** 2).subs(state))
    sin, cos = np.sin(0.7), np.cos(0.7)
    e1, e2, e3 = 0.8, 1.3, -0.4
    judge(
        (e2**2 - e1 * (a * sin + b * cos)) ** 2 + (e3**2 - e1 * (a * cos - b * sin)) ** 2 + k**2 * e1**2,
        (e2 - e1 * (a * sin + b * cos)) ** 2 + (e3 + e1 * (a * cos - b * sin)) ** 2 + k**2 * e1**2,
        derived,
    )


def test_g_primes_are_quotients_by_the_rate() -> None:
    """[G], (5.3). Printed: eta_p' = eta_p / phi. Right: eta_p / phi', the derivative along phi.

    dx/dphi and dy/dphi from differences of the motion at equal time intervals.
    """
    h, t = 1e-3, 0.5
    run = sleigh_run()
    weights = np.array([1, -8, 8, -1]) / 12
    steps = np.array([run(t + j * h)[:3] for j in (-2, -1, 1, 2)])
    dphi, dx, dy = weights @ steps
    y, rate = sleigh_state(t)
    judge(rate[1:3] / y[0], rate[1:3] / y[3], [dx / dphi, dy / dphi])


def test_g_path_needs_its_constants() -> None:
    """[G], x and y. Printed: x = b sin(phi) + s int cos(phi) tan(nu) dphi, y alike, without constants of integration.
    Right: x = x_0 + b (sin(phi) - sin(phi_0)) + ..., y = y_0 - b (cos(phi) - cos(phi_0)) + ...;
    s^2 = a^2 + k^2, nu = (a phi + c)/s, theta' = b + s tan(nu)."""
    a, b, k = SLEIGH
    s = np.hypot(a, k)
    phi_0, x_0, y_0, turn, speed = START
    c = s * np.arctan((speed / turn - b) / s) - a * phi_0
    derived = sleigh_run()(1.0)
    phi = derived[0]

    def integral(function: Any) -> float:
        return float(quad(lambda p: function(p) * np.tan((a * p + c) / s), phi_0, phi, epsabs=1e-13)[0])

    path = np.array([s * integral(np.cos), s * integral(np.sin)])
    printed = path + np.array([b * np.sin(phi), -b * np.cos(phi)])
    right = printed + np.array([x_0 - b * np.sin(phi_0), y_0 + b * np.cos(phi_0)])
    judge(printed, right, derived[1:3])


def test_g_time_has_the_sign_of_the_turn() -> None:
    """[G], t. Printed: t = d + s^2/(a sqrt(2h)) ln tan(pi/4 + nu/2). Right: the same times sgn(phi'), a not 0.

    Checked for a sleigh turning to the right, between two of its positions.
    """
    a, b, k = SLEIGH
    s, run = np.hypot(a, k), sleigh_run(-1.0)

    def logarithm(y: np.ndarray) -> float:
        return float(np.log(np.tan(np.pi / 4 + np.arctan((y[4] / y[3] - b) / s) / 2)))

    start = run(0.0)
    h2 = start[4] ** 2 - 2 * b * start[3] * start[4] + (s**2 + b**2) * start[3] ** 2
    elapsed = s**2 / (a * np.sqrt(h2)) * (logarithm(run(1.0)) - logarithm(start))
    judge(elapsed, -elapsed, 1.0)


@cache
def free_plate() -> tuple[Any, ...]:
    """A free plate in the plane, k = n = 3, in a potential: symbols, L0' and rates of (v, w, omega) by Newton's law."""
    phi, x, y, v, w, omega, h = sp.symbols("phi x y v w omega h")
    a, b, k = SLEIGH
    tau = ((v - b) ** 2 + (w + a) ** 2 + k**2) / 2  # T at omega = 1, with v and w for v/omega and w/omega
    potential = x**2 / 2 + y**2 + sp.cos(phi) / 3
    reduced = 2 * sp.sqrt((h - potential) * tau)
    # Newton's law for the centre of mass (unit mass), Euler's for the rotation; the force is that on the coordinates.
    rates = sp.symbols("v_1 w_1 omega_1")
    force = [-potential.diff(s) for s in (phi, x, y)]
    forward, left = [sp.Matrix(e) for e in ((sp.cos(phi), sp.sin(phi)), (-sp.sin(phi), sp.cos(phi)))]
    ahead, aside = rates[0] - omega * w, rates[1] + omega * v  # acceleration of the blade point
    centre = (ahead - a * omega**2 - b * rates[2]) * forward + (aside + a * rates[2] - b * omega**2) * left
    lever = a * forward + b * left
    moment = lever[0] * centre[1] - lever[1] * centre[0] + k**2 * rates[2]  # about the blade point
    solution = sp.solve([centre[0] - force[1], centre[1] - force[2], moment - force[0]], rates, dict=True)[0]
    return (phi, x, y, v, w, omega, h), reduced, potential, [solution[r] for r in rates]


def test_g_coefficients_of_the_reduced_equations() -> None:
    """[G], before (4.11). Printed: K_beta mu^i theta_i' dL0'/d eta_beta'. Right: K_i mu^beta theta_i' dL0'/d eta_beta',
    i = 1..k with theta_1' = 1, beta = 2..n.

    d/dx_1 dL'/d theta_mu' - Y_mu L' + (the term) = 0 on a free plate, where K = -c, with x_1 = phi: the first two terms
    along the motion by Newton's law must balance the last.
    """
    (phi, x, y, v, w, omega, h), reduced, potential, accelerations = free_plate()
    a, b, k = SLEIGH
    v_p, w_p = sp.symbols("v_p w_p")
    state = {phi: 0.7, x: 0.4, y: -0.2, v: 1.1, w: -0.6, omega: 0.9}
    kinetic = ((v - b * omega) ** 2 + (w + a * omega) ** 2 + k**2 * omega**2) / 2
    state[h] = float((kinetic + potential).subs(state))
    lagrangian = reduced.subs({v: v_p, w: w_p})
    rates = [float(r.subs(state)) for r in accelerations]
    now = {name: state[s] for name, s in (("v", v), ("w", w), ("omega", omega))}
    primes = {v_p: now["v"] / now["omega"], w_p: now["w"] / now["omega"]}
    # d/dphi of everything, from the time derivatives.
    slopes = {
        phi: 1.0,
        x: primes[v_p] * np.cos(0.7) - primes[w_p] * np.sin(0.7),
        y: primes[v_p] * np.sin(0.7) + primes[w_p] * np.cos(0.7),
        v_p: (rates[0] - primes[v_p] * rates[2]) / now["omega"] ** 2,
        w_p: (rates[1] - primes[w_p] * rates[2]) / now["omega"] ** 2,
    }
    point = {phi: 0.7, x: 0.4, y: -0.2, h: state[h], **primes}
    momenta = [lagrangian.diff(v_p), lagrangian.diff(w_p)]
    fields = [{x: np.cos(0.7), y: np.sin(0.7)}, {x: -np.sin(0.7), y: np.cos(0.7)}]
    derived = [
        -float(
            sum(momentum.diff(s).subs(point) * rate for s, rate in slopes.items())
            - sum(lagrangian.diff(s).subs(point) * rate for s, rate in field.items())
        )
        for momentum, field in zip(momenta, fields, strict=True)
    ]
    coefficient = np.zeros((3, 3, 3))  # K[i, mu, beta] = -c: [X_1, X_2] = X_3, [X_1, X_3] = -X_2
    coefficient[0, 1, 2], coefficient[1, 0, 2], coefficient[0, 2, 1], coefficient[2, 0, 1] = -1, 1, 1, -1
    theta = np.array([1.0, primes[v_p], primes[w_p]])
    p = np.array([0.0, *(float(m.subs(point)) for m in momenta)])  # beta = 2..n
    judge(
        [np.einsum("bi,i,b->", coefficient[:, mu, :], theta, p) for mu in (1, 2)],
        [np.einsum("ib,i,b->", coefficient[:, mu, :], theta, p) for mu in (1, 2)],
        derived,
    )
