"""Mass matrices that are singular, but regular on the velocities that the constraints permit.

Oracles: closed forms, SymPy's own equations, and for the two-mass skate the linear equations of J. P. Meijaard et al.,
Proc. R. Soc. A 463 (2007), appendix A, with massless wheels.
"""

from __future__ import annotations

import functools
from typing import Any

import mpmath as mp
import numpy as np
import pytest
import sympy as sp
from sympy.physics import mechanics as me

import chaplygin as cg
from chaplygin import DeclarationError

FORMS = [
    "multipliers",
    "maggi",
    *(pytest.param(f, marks=pytest.mark.slow) for f in ("hamel", "nonholonomic")),
]
NUMBERS = {"m1": 1.0, "m2": 2.0, "l": 1.5, "g": 9.81}
TIGHT = {"rtol": 1e-10, "atol": 1e-12}


def dumbbell() -> cg.System:
    """Two masses on a rod without mass, whose angle is a coordinate of its own."""
    x1, y1, x2, y2, a = cg.coordinates("x1 y1 x2 y2 a")
    m1, m2, length, g = cg.parameters("m1 m2 l g", positive=True)
    rates = [cg.rate(s) for s in (x1, y1, x2, y2)]
    return cg.System(
        "dumbbell",
        coordinates=[x1, y1, x2, y2, a],
        kinetic=(m1 * (rates[0] ** 2 + rates[1] ** 2) + m2 * (rates[2] ** 2 + rates[3] ** 2)) / 2,
        potential=g * (m1 * y1 + m2 * y2),
        holonomic=[x2 - x1 - length * sp.cos(a), y2 - y1 - length * sp.sin(a)],
    )


@functools.cache
def compiled_dumbbell(form: str) -> Any:
    return dumbbell().compile(form)


@pytest.mark.parametrize("form", FORMS)
def test_rod_without_mass_between_two_masses(form: str) -> None:
    """It turns at a constant rate about its mass centre, which falls; its tension is m1 m2 / (m1 + m2) l a_dot^2.

    A start is made consistent by an impulse along the rod: the momentum stays, and the rate is that across the rod.
    """
    assert dumbbell().needs_constraints
    model, p = compiled_dumbbell(form), NUMBERS
    guess = dict.fromkeys(model.declared, 0.0) | {"x2": 1.6, "a": 0.1, "x1_dot": 1, "x2_dot": 1, "y2_dot": 3}
    start = model.consistent(guess, p, keep=["x1", "y1", "a"])
    turning = 3 * np.cos(0.1) / 1.5
    assert (start["x2"], start["y2"]) == pytest.approx((1.5 * np.cos(0.1), 1.5 * np.sin(0.1)), abs=1e-12)
    assert start["a_dot"] == pytest.approx(turning, abs=1e-12)
    for s, momentum in (("x", 3), ("y", 6)):
        assert start[f"{s}1_dot"] + 2 * start[f"{s}2_dot"] == pytest.approx(momentum, abs=1e-12)
    sol = model.integrate((0, 5), {k: v for k, v in start.items() if k in model.states}, p, **TIGHT)
    assert sol["a"][-1] == pytest.approx(0.1 + 5 * turning, abs=1e-8)
    x, y = ((sol[f"{s}1"] + 2 * sol[f"{s}2"]) / 3 for s in ("x", "y"))
    assert x[-1] - x[0] == pytest.approx(5, abs=1e-8)
    assert y[-1] - y[0] == pytest.approx(5 * 2 - 9.81 * 25 / 2, abs=1e-8)
    assert sol.audit().passed
    assert np.ptp(sol["energy"]) < 1e-10 * sol.audit().scale
    if form == "multipliers":
        pull = np.hypot(sol["lambda_1"], sol["lambda_2"])
        assert pull == pytest.approx(np.full(pull.shape, turning**2), rel=1e-7)


def crane() -> Any:
    """A load on a massless rod below a trolley; the load's coordinates have speeds of their own, without inertia."""
    xc, q, xl, yl = me.dynamicsymbols("xc q xl yl")
    uxc, uq, uxl, uyl = me.dynamicsymbols("uxc uq uxl uyl")
    m1, m2, length, g, force = *sp.symbols("m1 m2 l g"), me.dynamicsymbols("F")
    space, rod = me.ReferenceFrame("N"), me.ReferenceFrame("A")
    rod.orient_axis(space, q, space.z)
    rod.set_ang_vel(space, uq * space.z)
    origin, trolley = me.Point("O"), me.Point("P1")
    origin.set_vel(space, 0)
    trolley.set_pos(origin, xc * space.x)
    trolley.set_vel(space, uxc * space.x)
    load = trolley.locatenew("P2", -length * rod.y)
    load.v2pt_theory(trolley, space, rod)
    place = load.pos_from(origin)
    closed = sp.Matrix([xl - place.dot(space.x), yl - place.dot(space.y)])
    rates = {xc.diff(): uxc, q.diff(): uq, xl.diff(): uxl, yl.diff(): uyl}
    return me.KanesMethod(
        space,
        q_ind=[xc, q],
        q_dependent=[xl, yl],
        u_ind=[uxc, uq],
        u_dependent=[uxl, uyl],
        kd_eqs=[u - rate for rate, u in rates.items()],
        configuration_constraints=closed,
        velocity_constraints=closed.diff(me.dynamicsymbols._t).xreplace(rates),
        bodies=[me.Particle("trolley", trolley, m1), me.Particle("load", load, m2)],
        forcelist=[(trolley, force * space.x), (load, -m2 * g * space.y)],
    )


@pytest.mark.parametrize("form", ["maggi", "multipliers"])
@pytest.mark.sample(1)
def test_crane_of_sympy(form: str) -> None:
    """(m1 + m2 sin^2 q) xc'' = F + m2 sin q (g cos q + l q'^2), l q'' = -(g sin q + xc'' cos q)."""
    system = cg.from_sympy(crane(), "crane")
    assert system.needs_constraints
    model = system.compile(form)
    p, q, uq, force = {"m1": 2.0, "m2": 0.7, "l": 1.3, "g": 9.81}, 0.4, 0.9, 1.5
    at = {"xc": 0.2, "q": q, "xl": 0.2 + 1.3 * np.sin(q), "yl": -1.3 * np.cos(q), "uxc": 0.3, "uq": uq}
    at |= {"uxl": 0.3 + 1.3 * np.cos(q) * uq, "uyl": 1.3 * np.sin(q) * uq}
    rate = dict(
        zip(model.states, model.rhs(0, {s: at[s] for s in model.states}, p, {"F": force}), strict=True)
    )
    pull = force + 0.7 * np.sin(q) * (9.81 * np.cos(q) + 1.3 * uq**2)
    trolley = pull / (2 + 0.7 * np.sin(q) ** 2)
    assert rate["uxc"] == pytest.approx(trolley, rel=1e-12)
    assert rate["uq"] == pytest.approx(-(9.81 * np.sin(q) + trolley * np.cos(q)) / 1.3, rel=1e-12)
    lin = model.linearize(dict.fromkeys(model.states, 0.0) | {"yl": -1.3}, p, {"F": 0.0})
    swing = np.linalg.eigvals(lin.A).imag.max()
    assert swing == pytest.approx(np.sqrt(9.81 / 1.3 * (1 + 0.7 / 2)), rel=1e-10)


def block() -> cg.System:
    """A block that slides to rest, with a pointer without mass that shows twice its way."""
    x, s = cg.coordinates("x s")
    m, g, mu = cg.parameters("m g mu", positive=True)
    return cg.System(
        "block_with_pointer",
        coordinates=[x, s],
        kinetic=m * cg.rate(x) ** 2 / 2,
        holonomic=[s - 2 * x],
        contacts=[cg.Coulomb("floor", slip=cg.rate(x), normal=m * g, mu=mu)],
    )


@pytest.mark.parametrize("form", ["maggi", "multipliers"])
def test_friction(form: str) -> None:
    """It stops at v^2 / (2 mu g)."""
    model = block().compile(form)
    start = {"x": 0, "s": 0, "x_dot": 3, "s_dot": 6}
    start = {k: v for k, v in start.items() if k in model.states}
    sol = model.integrate((0, 2), start, {"m": 2, "g": 10, "mu": 0.5}, **TIGHT)
    assert (sol["x"][-1], sol["s"][-1]) == pytest.approx((0.9, 1.8), abs=1e-9)


def test_sensitivities() -> None:
    """d(angle)/d(rate) = t for the rod, whatever the masses."""
    model = compiled_dumbbell("maggi")
    start = dict.fromkeys(model.states, 0.0) | {"x2": 1.5, "a_dot": 2.0}
    sol = model.integrate((0, 2), start, NUMBERS, sensitivities=["a_dot", "m1"], **TIGHT)
    assert sol.sensitivity["a", "a_dot"][-1] == pytest.approx(2, abs=1e-8)
    assert sol.sensitivity["a", "m1"][-1] == pytest.approx(0, abs=1e-8)


def test_inertia_about_one_axis() -> None:
    """A wheel with inertia about its axle alone, whose axle is held; by constraints and by a parametrization."""
    a, b, c = cg.coordinates("a b c")
    w1, w2, w3, s = cg.velocities("w1 w2 w3 s")
    given: dict[str, Any] = {"kinematics": {a: w1, b: w2, c: w3}, "kinetic": w3**2, "forces": {w3: 3}}
    held = cg.System("held", constraints=[w1, w2 - w3 / 2], **given)
    parametrized = cg.System("held_by_s", parametrization={w1: 0, w2: s / 2, w3: s}, **given)
    assert held.needs_constraints
    assert not parametrized.needs_constraints  # no form takes its constraints as equations
    for form in ("maggi", "multipliers"):
        model = held.compile(form)
        assert model.rhs(0, np.zeros(len(model.states)), {})[-1] == pytest.approx(1.5, abs=1e-14)
    assert parametrized.compile().rhs(0, np.zeros(4), {})[-1] == 1.5


def test_what_stays_singular_is_refused() -> None:
    a, b, c = cg.coordinates("a b c")
    rates = [cg.rate(x) for x in (a, b, c)]
    with pytest.raises(DeclarationError, match=r"no inertia along c_dot"):
        cg.System("free", coordinates=[a, b, c], kinetic=rates[0] ** 2 + rates[1] ** 2)
    with pytest.raises(
        DeclarationError, match=r"that the constraints permit too: .* permitted motion in b_dot, c_dot"
    ):
        cg.System("loose", coordinates=[a, b, c], kinetic=rates[0] ** 2, constraints=[rates[1] - rates[2]])
    with pytest.raises(DeclarationError, match=r"that the constraints permit too"):
        cg.System(
            "indefinite",
            coordinates=[a, b, c],
            kinetic=rates[0] ** 2 - rates[1] ** 2,
            constraints=[rates[1] - rates[2]],
        )


# -- the two-mass skate ----------------------------------------------------------------------------------------------
SKATE = {"w": "1", "c": "-0.02", "tilt": "-5", "mB": "10", "xB": "1.2", "zB": "0.4", "mH": "1", "xH": "1.02"}
SKATE["zH"] = "0.2"


def two_mass_skate() -> cg.System:
    """A bicycle of two point masses, one on the frame and one on the fork, on blades: seven velocities, M of rank six.

    The model is that of J. D. G. Kooijman et al., Science 332 (2011) 339-342; the numbers are like theirs.
    """
    q = x, y, z, psi, phi, theta, delta = cg.coordinates("x y z psi phi theta delta")
    v1, v2, v3, *turning = cg.velocities("v1 v2 v3 yaw roll pitch steer")
    w, c, tilt, m_b, x_b, z_b, m_h, x_h, z_h, g = cg.parameters("w c tilt mB xB zB mH xH zH g")

    def about(axis: int, angle: Any) -> sp.Matrix:
        return sp.Matrix([sp.rot_axis1, sp.rot_axis2, sp.rot_axis3][axis](-angle))

    def velocity(r: sp.Matrix) -> sp.Matrix:
        return r.jacobian(q) * sp.Matrix([cg.rate(s) for s in q])

    frame = about(2, psi) * about(0, phi) * about(1, theta)
    fork = frame * about(1, -tilt) * about(2, delta) * about(1, tilt)
    rear = sp.Matrix([x, y, z])
    axis = rear + frame * sp.Matrix([w + c, 0, 0])
    front = axis + fork * sp.Matrix([-c, 0, 0])
    masses = [
        (rear + frame * sp.Matrix([x_b, 0, z_b]), m_b),
        (axis + fork * sp.Matrix([x_h - w - c, 0, z_h]), m_h),
    ]
    heading = {x: v1 * sp.cos(psi) - v2 * sp.sin(psi), y: v1 * sp.sin(psi) + v2 * sp.cos(psi), z: v3}
    return cg.System(
        "two_mass_skate",
        kinematics={**heading, **dict(zip(q[3:], turning))},
        kinetic=sum(m * velocity(r).dot(velocity(r)) / 2 for r, m in masses),
        potential=sum(g * m * r[2] for r, m in masses),
        constraints=[velocity(rear).dot(frame[:, 1]), velocity(front).dot(fork[:, 1])],
        holonomic=[z, front[2]],
        example={
            **dict.fromkeys((*q, v2, v3, *turning), 0),
            v1: 3,
            g: 9.81,
            **numbers(w, c, tilt, m_b, x_b, z_b, m_h, x_h, z_h),
        },
    )


def numbers(*parameters: sp.Symbol) -> dict[Any, float]:
    return {s: float(SKATE[s.name]) * (np.pi / 180 if s.name == "tilt" else 1) for s in parameters}


def hurwitz(v: Any) -> Any:
    """Hurwitz' determinant that vanishes at a Hopf point, of det(M s^2 + v C s + g K0 + v^2 K2)."""
    w, c, m_b, x_b, z_b, m_h, x_h, z_h = (
        mp.mpf(SKATE[n]) * (-1 if n[0] == "z" else 1) for n in ("w", "c", "mB", "xB", "zB", "mH", "xH", "zH")
    )  # z points down there
    tilt = mp.mpf(SKATE["tilt"]) * mp.pi / 180
    m_x, m_z = m_b * x_b + m_h * x_h, m_b * z_b + m_h * z_h
    i_xx, i_zz = m_b * z_b**2 + m_h * z_h**2, m_b * x_b**2 + m_h * x_h**2
    i_xz = -m_b * x_b * z_b - m_h * x_h * z_h
    u = (x_h - w - c) * mp.cos(tilt) - z_h * mp.sin(tilt)
    mu, along = c / w * mp.cos(tilt), mp.cos(tilt) / w
    s_a = m_h * u + mu * m_x
    mass = mp.matrix(
        [[i_xx, -m_h * u * z_h + mu * i_xz], [0, m_h * u**2 + 2 * mu * m_h * u * x_h + mu**2 * i_zz]]
    )
    mass[1, 0] = mass[0, 1]
    damping = v * mp.matrix(
        [[0, along * i_xz - mu * m_z], [0, along * m_h * u * x_h + mu * (s_a + along * i_zz)]]
    )
    weight = mp.mpf("9.81") * mp.matrix([[m_z, -s_a], [-s_a, -s_a * mp.sin(tilt)]])
    stiffness = weight + v**2 * along * mp.matrix([[0, -m_z], [0, s_a]])

    def det(a: Any, b: Any) -> Any:
        """The sum over both orders of the determinants with a row of each."""
        return a[0, 0] * b[1, 1] + b[0, 0] * a[1, 1] - a[0, 1] * b[1, 0] - b[0, 1] * a[1, 0]

    a4, a3, a0 = det(mass, mass) / 2, det(mass, damping), det(stiffness, stiffness) / 2
    a2, a1 = det(mass, stiffness) + det(damping, damping) / 2, det(damping, stiffness)
    return a1 * a2 * a3 - a0 * a3**2 - a4 * a1**2


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_hopf_point_of_the_two_mass_skate(form: str) -> None:
    system = two_mass_skate()
    assert system.needs_constraints
    model = system.compile(form)
    p = {s.name: value for s, value in system.example.items() if s.name in model.parameters}
    upright = model.steady_motion(dict.fromkeys(model.states, 0.0) | {"v1": 5.5}, p, keep=["v1"])
    (point,) = upright.continuation("v1", 6.5).special
    assert point.kind == "Hopf"
    assert abs(point.value - float(mp.findroot(hurwitz, (5.5, 6.5), solver="anderson"))) < 1e-10


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_the_two_mass_skate_runs_upright_at_every_speed(form: str) -> None:
    """From upright, where nothing but the speed has a size, and from near it."""
    model = two_mass_skate().compile(form)
    p = {s.name: value for s, value in two_mass_skate().example.items() if s.name in model.parameters}
    random = np.random.default_rng(1)
    for speed in np.linspace(0.5, 11.5, 23):
        for off in (0.0, 0.02, 0.04):
            guess = {s: off * random.uniform(-1, 1) for s in model.states} | {"v1": speed}
            upright = model.steady_motion(guess, p, keep=["v1"])
            assert max(abs(upright[s]) for s in ("phi", "theta", "delta", "roll", "steer")) < 1e-9


@pytest.mark.slow
def test_the_slip_of_a_skate_has_a_unit_although_only_its_place_moves_with_it() -> None:
    """From guesses of which only the speed moves: the slip is zero, and so is all that it could be compared with."""
    model = two_mass_skate().compile("multipliers")
    p = {s.name: value for s, value in two_mass_skate().example.items() if s.name in model.parameters}
    random = np.random.default_rng(3)
    for speed in np.linspace(1, 8, 23):
        for off in (0.0, 0.01, 0.05):
            guess = dict.fromkeys(model.states[:7], 0.0) | {"v1": speed}
            guess |= {s: off * random.normal() for s in ("phi", "delta", "theta", "z")}
            upright = model.steady_motion(guess, p, keep=["v1"])
            assert max(abs(upright[s]) for s in ("z", "phi", "theta", "delta", "v2", "yaw", "steer")) < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_a_pulley_whose_mass_is_zero_by_its_number(form: str) -> None:
    """x1'' = (m1 - m2) g / (m1 + m2 + J / R^2) at J = 0, its derivative by J, and a start moved onto the rope."""
    x1, x2, a = cg.coordinates("x1 x2 a")
    m1, m2, J, length, R, g = cg.parameters("m1 m2 J l R g")
    squares = m1 * cg.rate(x1) ** 2 + m2 * cg.rate(x2) ** 2 + J * cg.rate(a) ** 2
    given = {"potential": -g * (m1 * x1 + m2 * x2), "holonomic": [x1 + x2 - length, x1 - R * a]}
    system = cg.System("atwood", coordinates=[x1, x2, a], kinetic=squares / 2, **given)
    model, p = system.compile(form), {"m1": 1.0, "m2": 2.0, "J": 0.0, "l": 1.0, "R": 0.5, "g": 9.81}
    start = {"x1": 0.2, "x2": 0.8, "a": 0.4, **{f"{s}_dot": 0.0 for s in ("x1", "x2", "a")}}
    sol = model.integrate((0, 1), start, p, sensitivities=["J"], **TIGHT)
    assert sol.success, sol.message
    assert sol["x1"][-1] == pytest.approx(0.2 - 9.81 / 6, abs=1e-9)
    assert sol.sensitivity["x1", "J"][-1] == pytest.approx(9.81 / (2 * 9 * 0.25), abs=1e-8)
    many = cg.ensemble(model, (0, 1), start, p, n=8, lanes=8, progress=False, **TIGHT)
    assert many["x1"] == pytest.approx(np.full(8, sol["x1"][-1]), abs=1e-11)
    slope = model.gradient(cg.final("x1"), (0, 1), start, p, **TIGHT)
    assert slope["J"] == pytest.approx(9.81 / (2 * 9 * 0.25), abs=1e-7)
    near = model.consistent({**start, "x1": 0.5, "x1_dot": 3.0}, p)
    # The rope moves as 1 to 2: dx1 = 0.3 m1 / (m1 + m2) by momentum, dx2 = -dx1, and the pulley follows.
    assert [near[s] for s in ("x1", "x2", "a")] == pytest.approx([0.3, 0.7, 0.6], abs=1e-12)
    assert [near[f"{s}_dot"] for s in ("x1", "x2", "a")] == pytest.approx([1, -1, 2], abs=1e-12)
    heavy = squares.subs(dict(zip((m1, m2, J), cg.parameters("a1 a2 a3", positive=True), strict=True)))
    assert not cg.System("heavy", coordinates=[x1, x2, a], kinetic=heavy, **given).needs_constraints


@pytest.mark.slow
def test_masses_with_a_number_in_the_example_keep_the_smaller_matrix() -> None:
    """In M diag(m1, m1, m2, m2) nothing is coupled: M + A^T W A would have four times the operations."""
    x, y, u, w = q = cg.coordinates("x y u w")
    m2, l1, l2 = cg.parameters("m2 l1 l2")

    def system(m1: sp.Symbol) -> cg.System:
        point = {x: 0.6, y: -0.8, u: 1.6, w: -0.8}
        squares = [cg.rate(s) ** 2 for s in q]
        return cg.System(
            "twofold", coordinates=q,
            kinetic=(m1 * sum(squares[:2]) + m2 * sum(squares[2:])) / 2, potential=9.81 * (m1 * y + m2 * w),
            holonomic=[x**2 + y**2 - l1**2, (u - x) ** 2 + (w - y) ** 2 - l2**2],
            example={**point, m1: 1, m2: 1, l1: 1, l2: 1},
        )  # fmt: skip

    may_be_zero, plain = (
        system(m1).equations("multipliers").operations["rhs"]
        for m1 in (cg.parameters("m1", nonnegative=True), cg.parameters("m1"))
    )
    assert plain < 100 < may_be_zero
