"""Systems declared by bodies and interactions against the same systems declared by hand-written T, V, Q."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp
from refusals import refused

import chaplygin as cg
from chaplygin.api.python_model import python_model
from chaplygin.codegen.graph import evaluate
from chaplygin.codegen.graph.from_sympy import Lowering
from chaplygin.codegen.graph.graph import Graph
from chaplygin.codegen.graph.to_sympy import expressions
from chaplygin.codegen.identities.unused_variables import dropped
from chaplygin.codegen.mechanics.bodies import hat
from chaplygin.codegen.mechanics.quaternions import quaternion_rates, rotation
from chaplygin.codegen.mechanics.screws import Flow
from chaplygin.codegen.symbols.symbols import DeclarationError

T = cg.time
M1, M2, R, G = cg.parameters("m1 m2 R g", positive=True)
I1, J1, I2, J2 = cg.parameters("I1 J1 I2 J2", positive=True)
A2, B2, C2 = cg.parameters("A2 B2 C2", positive=True)
X, Y, PSI, THETA, PHI = cg.coordinates("x y psi theta phi")
COUPLE = cg.inputs("C")
WEIGHT = cg.Weight(G)


def rhs(system: cg.System, form: str, values: dict[str, float], t: float, **options: Any) -> np.ndarray:
    model = python_model(system.equations(form, **options).program, quiet=True)
    return model.rhs(
        t,
        [values[n] for n in model.states],
        [values[n] for n in model.parameters],
        [values[n] for n in model.inputs],
    )


def same(first: cg.System, second: cg.System, form: str, unit: tuple[str, ...] = (), **options: Any) -> None:
    """Compare accelerations at random states; `unit` are coordinates on the unit sphere."""
    rng = np.random.default_rng(5)
    names = {s.name for system in (first, second) for s in system.all_symbols()}
    for _ in range(4):
        values = {n: float(rng.uniform(0.3, 1.4)) for n in sorted(names)}
        length = np.sqrt(sum(values[n] ** 2 for n in unit))
        values |= {n: values[n] / length for n in unit}
        found, expected = (rhs(s, form, values, values["t"], **options) for s in (first, second))
        assert found == pytest.approx(expected, rel=1e-10, abs=1e-10)
        assert np.abs(expected).max() > 0.05


# -- the sources' systems -------------------------------------------------------------------------------------------
def ring_bodies() -> tuple[cg.Body, cg.Body]:
    """An upright rolling ring, its plane turned by psi; an axisymmetric body rotates by phi about its radius."""
    ring = cg.Body(
        "ring", mass=M1, inertia=(I1, J1, I1), rotation=cg.turn(3, PSI) * cg.turn(2, THETA), center=(X, Y, R)
    )
    return ring, cg.Body("body", mass=M2, inertia=(I2, I2, J2), rotation=cg.turn(3, PHI), parent=ring)


def ring_by_hand() -> cg.System:
    dx, dy, dpsi, dtheta, dphi = (cg.rate(s) for s in (X, Y, PSI, THETA, PHI))
    kinetic = (M1 + M2) * (dx**2 + dy**2) + I1 * dpsi**2 + J1 * dtheta**2
    kinetic += I2 * (dtheta**2 + dpsi**2 * sp.sin(THETA) ** 2) + J2 * (dphi + dpsi * sp.cos(THETA)) ** 2
    return cg.System(
        "ring",
        coordinates=[X, Y, PSI, THETA, PHI],
        kinetic=kinetic / 2,
        potential=(M1 + M2) * G * R,
        forces={dphi: COUPLE},
        constraints=[dx - R * dtheta * sp.cos(PSI), dy - R * dtheta * sp.sin(PSI)],
    )


@pytest.mark.parametrize("form", ["maggi", pytest.param("multipliers", marks=pytest.mark.slow)])
def test_the_ring_with_an_axisymmetric_body(form: str) -> None:
    ring, body = ring_bodies()
    system = cg.System(
        "ring",
        coordinates=[X, Y, PSI, THETA, PHI],
        bodies=[ring, body],
        interactions=[WEIGHT, cg.Motor(ring, body, (0, 0, 1), COUPLE)],
        constraints=cg.rolling(ring, (X, Y, 0)),
    )
    assert len(system.constraints) == 2  # the vertical component vanishes identically
    assert PHI not in system.kinetic.free_symbols  # the spin of the axisymmetric body drops out
    same(system, ring_by_hand(), form)


@pytest.mark.parametrize("drive", ["uniform", "prescribed"])
def test_the_torus_with_a_shell(drive: str) -> None:
    spin = cg.parameters("Om")
    angle = spin * T + (sp.sin(2 * T) / 3 if drive == "prescribed" else 0)
    torus = cg.Body("torus", mass=M1, inertia=(J1, J1, I1), rotation=cg.turn(3, angle))
    shell = cg.Body(
        "shell",
        mass=M2,
        inertia=(A2, B2, C2),
        rotation=cg.turn(2, -THETA),
        center=(R * sp.cos(THETA), 0, R * sp.sin(THETA)),
        parent=torus,
    )
    system = cg.System("torus", coordinates=[THETA], bodies=[torus, shell], interactions=[WEIGHT])
    about_vertical = I1 + A2 * sp.sin(THETA) ** 2 + (C2 + M2 * R**2) * sp.cos(THETA) ** 2
    kinetic = (B2 + M2 * R**2) * cg.rate(THETA) ** 2 + about_vertical * sp.diff(angle, T) ** 2
    by_hand = cg.System(
        "torus", coordinates=[THETA], kinetic=kinetic / 2, potential=M2 * G * R * sp.sin(THETA)
    )
    same(system, by_hand, "lagrange")
    # T itself, not only the motion: the drive's power is in its parts of degree 0 and 1.
    point = {s: 0.3 + 0.1 * i for i, s in enumerate(sorted(kinetic.free_symbols, key=str))}
    assert float((system.kinetic - kinetic / 2).subs(point)) == pytest.approx(0, abs=1e-14)


QUATERNION = cg.coordinates("q0 q1 q2 q3")
BODY_RATES = cg.velocities("w1 w2 w3")
ATTITUDE = sp.Matrix(rotation(QUATERNION))
KINEMATICS = dict(zip(QUATERNION, quaternion_rates(QUATERNION, BODY_RATES), strict=True))


@pytest.mark.slow
def test_the_ellipsoidal_cavity() -> None:
    """The shell is a body, the liquid is given by its T: together they give the T of the whole."""
    p = cg.coordinates("p0 p1 p2 p3")
    vortex = cg.velocities("v1 v2 v3")
    moments = cg.parameters("I1 I2 I3", positive=True)
    m, *axes = cg.parameters("m a1 a2 a3", positive=True)
    # Left-invariant rates of the liquid's own attitude, dp/dt = (0, v) o p / 2.
    p0, p1, p2, p3 = p
    v1, v2, v3 = vortex
    liquid_rates = (
        (-p1 * v1 - p2 * v2 - p3 * v3) / 2,
        (p0 * v1 - p2 * v3 + p3 * v2) / 2,
        (p0 * v2 - p3 * v1 + p1 * v3) / 2,
        (p0 * v3 - p1 * v2 + p2 * v1) / 2,
    )
    kinematics = {**KINEMATICS, **dict(zip(p, liquid_rates, strict=True))}
    liquid = whole = sp.Integer(0)
    for i, (w, v, moment) in enumerate(zip(BODY_RATES, vortex, moments, strict=True)):
        aj, ak = (a for j, a in enumerate(axes) if j != i)
        b, c = m / 5 * (aj**2 + ak**2), 2 * m / 5 * aj * ak
        liquid += (b * w**2 + 2 * c * w * v + b * v**2) / 2
        whole += ((moment + b) * w**2 + 2 * c * w * v + b * v**2) / 2
    example = dict.fromkeys((*QUATERNION, *p), 0.0) | {QUATERNION[0]: 1.0, p[0]: 1.0}
    shell = cg.Body("shell", mass=M1, inertia=moments, rotation=ATTITUDE)
    bodies = cg.System("cavity", kinematics=kinematics, bodies=[shell], kinetic=liquid, example=example)
    by_hand = cg.System("cavity", kinematics=kinematics, kinetic=whole, example=example)
    same(bodies, by_hand, "poincare")


@pytest.mark.parametrize(
    "way",
    [
        "on a frame",
        *(pytest.param(way, marks=pytest.mark.slow) for way in ("about the fixed point", "central")),
    ],
)
def test_the_heavy_top_equals_that_of_the_catalogue(way: str) -> None:
    catalogue = cg.example("heavy_top").system
    named = {s.name: s for s in catalogue.parameters}
    r = sp.Matrix([named[f"r{i}"] for i in (1, 2, 3)])
    moments = [named[f"I{i}"] for i in (1, 2, 3)]
    m, weight = named["m"], cg.Weight(named["g"])
    about = [-e for e in r]
    if way == "on a frame":
        frame = cg.Body("frame", rotation=ATTITUDE)
        bodies = [frame, cg.Body("top", mass=m, inertia=moments, about=about, center=r, parent=frame)]
    else:
        central = sp.diag(*moments) + m * hat(r) * hat(r)
        inertia = {"inertia": moments, "about": about} if way != "central" else {"inertia": central}
        bodies = [cg.Body("top", mass=m, rotation=ATTITUDE, center=ATTITUDE * r, **inertia)]
    system = cg.System(
        "heavy_top",
        kinematics=KINEMATICS,
        bodies=bodies,
        interactions=[weight],
        example=dict(catalogue.example),
    )
    same(system, catalogue, "poincare", unit=("q0", "q1", "q2", "q3"))
    assert system.screws["top"].omega == sp.Matrix(BODY_RATES)


# -- screws ---------------------------------------------------------------------------------------------------------
def test_partial_screws_of_a_moving_joint() -> None:
    """omega_a, v_a and the drift of a body on a driven turntable, against velocities from SymPy's own vectors."""
    from sympy.physics.mechanics import Point, ReferenceFrame, dynamicsymbols

    spin = cg.parameters("Om")
    table = cg.Body("table", mass=M1, inertia=(J1, J1, I1), rotation=cg.turn(3, spin * T))
    arm = cg.Body(
        "arm",
        mass=M2,
        inertia=(A2, B2, C2),
        rotation=cg.turn(1, PHI) * cg.turn(2, THETA),
        center=(X, R, Y),
        parent=table,
    )
    system = cg.System("arm", coordinates=[X, Y, THETA, PHI], bodies=[table, arm])
    screw = system.screws["arm"]
    x, y, theta, phi = dynamicsymbols("x y theta phi")
    t = dynamicsymbols._t
    space = ReferenceFrame("N")
    turning = space.orientnew("A", "Axis", (spin * t, space.z))
    middle = turning.orientnew("B", "Axis", (phi, turning.x))
    body = middle.orientnew("C", "Axis", (theta, middle.y))
    origin = Point("O")
    place = origin.locatenew("P", x * turning.x + R * turning.y + y * turning.z)
    omega = body.ang_vel_in(space).to_matrix(body)
    velocity = place.pos_from(origin).dt(space).to_matrix(space)
    names = {
        s: cg.rate(c)
        for s, c in zip([q.diff(t) for q in (x, y, theta, phi)], (X, Y, THETA, PHI), strict=True)
    }
    plain = {x: X, y: Y, theta: THETA, phi: PHI, t: T}

    def numbers(e: Any, at: dict[Any, float]) -> np.ndarray:
        return np.array(e.subs(names).subs(plain).subs(at).evalf().tolist(), dtype=float).ravel()

    at = {X: 0.3, Y: -0.2, THETA: 0.7, PHI: 1.1, T: 0.4, spin: 1.3, R: 0.8}
    rates = {cg.rate(X): 0.5, cg.rate(Y): -0.4, cg.rate(THETA): 0.9, cg.rate(PHI): 0.2}
    assert numbers(screw.omega, at | rates) == pytest.approx(numbers(omega, at | rates))
    assert numbers(screw.velocity, at | rates) == pytest.approx(numbers(velocity, at | rates))
    rest = dict.fromkeys(rates, 0.0)
    assert numbers(screw.drift[0], at) == pytest.approx(numbers(omega, at | rest))
    assert numbers(screw.drift[1], at) == pytest.approx(numbers(velocity, at | rest))
    for eta, (turned, moved) in screw.partial.items():
        one = rest | {eta: 1.0}
        assert numbers(turned, at) == pytest.approx(numbers(omega, at | one) - numbers(omega, at | rest))
        assert numbers(moved, at) == pytest.approx(numbers(velocity, at | one) - numbers(velocity, at | rest))
    turning_energy = omega.dot(sp.diag(A2, B2, C2) * omega) + M2 * velocity.dot(velocity) + I1 * spin**2
    values = at | rates | {A2: 0.6, B2: 0.9, C2: 1.2, M2: 0.7, M1: 1.1, I1: 0.4, J1: 0.3}
    assert float(system.kinetic.subs(values)) == pytest.approx(
        float((turning_energy / 2).subs(names).subs(plain).subs(values)), rel=1e-12
    )


def nodes(*expressions: Any) -> tuple[Graph, Lowering, list[int]]:
    g = Graph()
    symbols = {s for e in expressions for s in e.free_symbols}
    lowering = Lowering(g, {s: g.symbol(s.name) for s in sorted(symbols, key=str)})
    return g, lowering, lowering.lower(expressions)


def test_variables_that_drop_out_are_taken_out() -> None:
    a, b = PSI, THETA
    cases = {
        sp.sin(a) ** 2 * R + R * sp.cos(a) ** 2: R,
        (sp.cos(a) * R + sp.sin(a) * G) ** 2 + (sp.cos(a) * G - sp.sin(a) * R) ** 2: R**2 + G**2,
        sp.cos(a) * sp.cos(b) * sp.cos(a) + sp.sin(a) ** 2 * sp.cos(b): sp.cos(b),
        (X * Y + X * R) / X: Y + R,
    }
    for given, short in cases.items():
        g, lowering, (node,) = nodes(given)
        assert dropped(g, [node], lowering.lower(sorted(given.free_symbols & {a, b, X}, key=str))) == (
            lowering.lower([short])
        )


def test_variables_that_matter_stay() -> None:
    """Even if numerical samples alone would not show it."""
    narrow = sp.exp(-(10**8) * (X - 3) ** 2) + 1
    for e in (sp.sin(PSI) ** 2 - sp.cos(PSI) ** 2, sp.sqrt(1 + X**2), narrow, sp.Max(1, X - 5)):
        g, lowering, (node,) = nodes(e)
        assert dropped(g, [node], lowering.lower(sorted(e.free_symbols, key=str))) == [node]


def test_variables_are_moved_at_all_points_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """None at a single point; where an expression has no value, nothing drops out."""
    monkeypatch.setattr(evaluate, "_computed", None)
    g, lowering, (node, nowhere) = nodes(sp.sin(PSI) ** 2 * R + R * sp.cos(PSI) ** 2, sp.log(-1 - X**2))
    assert dropped(g, [node, nowhere], lowering.lower([PSI, X])) == [*lowering.lower([R]), nowhere]


# -- interactions ---------------------------------------------------------------------------------------------------
K, C, LENGTH = cg.parameters("k c L", positive=True)
Q1, Q2, Q3 = cg.coordinates("s1 s2 s3")
V1, V2, V3 = (cg.rate(q) for q in (Q1, Q2, Q3))


def pair() -> tuple[cg.Body, cg.Body]:
    """A slider along x with a bar hinged at its centre, and a disk hinged at the origin."""
    bar = cg.Body("bar", mass=M1, inertia=(0, 0, J1), rotation=cg.turn(3, Q2), center=(Q1, 2, 0))
    return bar, cg.Body("disk", mass=M2, inertia=(0, 0, J2), rotation=cg.turn(3, Q3))


KINETIC = (M1 * V1**2 + J1 * V2**2 + J2 * V3**2) / 2
# End points by hand: a point of the bar, a point of the disk, and their velocities.
ON_BAR = sp.Matrix([Q1 + LENGTH * sp.cos(Q2), 2 + LENGTH * sp.sin(Q2), 0])
ON_DISK = sp.Matrix([-R * sp.sin(Q3), R * sp.cos(Q3), 0])


def virtual(place: Any) -> dict[Any, Any]:
    return {v: sp.diff(place, q) for q, v in ((Q1, V1), (Q2, V2), (Q3, V3))}


def by_pairs(*interactions: Any) -> cg.System:
    return cg.System("pairs", coordinates=[Q1, Q2, Q3], bodies=pair_used, interactions=interactions)


pair_used = pair()
BAR, DISK = pair_used


def by_hand(potential: Any = 0, forces: dict[Any, Any] | None = None) -> cg.System:
    return cg.System("pairs", coordinates=[Q1, Q2, Q3], kinetic=KINETIC, potential=potential, forces=forces)


def test_a_spring_between_two_bodies() -> None:
    apart = ON_BAR - ON_DISK
    distance = sp.sqrt(apart.dot(apart))
    spring = cg.Spring((BAR, (LENGTH, 0, 0)), (DISK, (0, R, 0)), K, G)
    same(by_pairs(spring), by_hand(K * (distance - G) ** 2 / 2), "lagrange")
    ideal = cg.Spring((1, 0, 0), (BAR, (LENGTH, 0, 0)), K)
    to_ground = ON_BAR - sp.Matrix([1, 0, 0])
    same(by_pairs(ideal), by_hand(K * to_ground.dot(to_ground) / 2), "lagrange")


def test_a_damper_between_two_bodies() -> None:
    apart = ON_BAR - ON_DISK
    distance = sp.sqrt(apart.dot(apart))
    partial = virtual(distance)
    speed = sum(slope * v for v, slope in partial.items())
    damper = cg.Damper((BAR, (LENGTH, 0, 0)), (DISK, (0, R, 0)), C)
    expected = {v: -C * speed * slope for v, slope in partial.items()}
    same(by_pairs(damper), by_hand(forces=expected), "lagrange")
    assert by_pairs(damper).forces.keys() == {V1, V2, V3}  # action and reaction


def test_a_motor_between_two_bodies_and_on_the_ground() -> None:
    between = cg.Motor(BAR, DISK, (0, 0, 1), COUPLE * V3)
    same(by_pairs(between), by_hand(forces={V2: -COUPLE * V3, V3: COUPLE * V3}), "lagrange")
    grounded = cg.Motor(None, BAR, (0, 0, 1), COUPLE)
    same(by_pairs(grounded), by_hand(forces={V2: COUPLE}), "lagrange")


def test_wrenches_in_space_in_body_axes_and_between_bodies() -> None:
    push = sp.Matrix([K * V1, C, 0])
    partial = virtual(ON_BAR)
    force = cg.Wrench(BAR, force=push, point=(LENGTH, 0, 0))
    expected = {v: push.dot(slope) for v, slope in partial.items()}
    same(by_pairs(force), by_hand(forces=expected), "lagrange")
    turned = cg.turn(3, Q2) * push
    follower = cg.Wrench(BAR, force=push, couple=(0, 0, COUPLE), point=(LENGTH, 0, 0), axes=BAR)
    expected = {v: turned.dot(slope) + (COUPLE if v == V2 else 0) for v, slope in partial.items()}
    same(by_pairs(follower), by_hand(forces=expected), "lagrange")
    # Against the disk: its material point at the same place moves by s3' e_z x place.
    pairwise = cg.Wrench(BAR, force=push, couple=(0, 0, COUPLE), point=(LENGTH, 0, 0), against=DISK)
    expected = {v: push.dot(slope) + (COUPLE if v == V2 else 0) for v, slope in partial.items()}
    expected[V3] = -push.dot(sp.Matrix([-ON_BAR[1], ON_BAR[0], 0])) - COUPLE
    same(by_pairs(pairwise), by_hand(forces=expected), "lagrange")


def test_internal_interactions_leave_the_momentum_alone() -> None:
    """Two free bodies in the plane: forces between them change neither linear nor angular momentum."""
    x1, y1, f1, x2, y2, f2 = cg.coordinates("x1 y1 f1 x2 y2 f2")
    first = cg.Body("first", mass=M1, inertia=(0, 0, J1), rotation=cg.turn(3, f1), center=(x1, y1, 0))
    second = cg.Body("second", mass=M2, inertia=(0, 0, J2), rotation=cg.turn(3, f2), center=(x2, y2, 0))
    system = cg.System(
        "free_pair",
        coordinates=[x1, y1, f1, x2, y2, f2],
        bodies=[first, second],
        interactions=[
            cg.Spring((first, (1, 0, 0)), (second, (0, LENGTH, 0)), K, R),
            cg.Damper((first, (0, 1, 0)), second, C),
            cg.Motor(first, second, (0, 0, 1), COUPLE),
            cg.Wrench(first, force=(K, C * cg.rate(x2), 0), point=(0, 2, 0), axes=second, against=second),
        ],
    )
    rng = np.random.default_rng(2)
    values = {s.name: float(rng.uniform(0.3, 1.4)) for s in system.all_symbols()}
    rates = rhs(system, "lagrange", values, values["t"])
    ax1, ay1, af1, ax2, ay2, af2 = rates[6:]
    m1, m2, j1, j2 = (values[n] for n in ("m1", "m2", "J1", "J2"))
    assert np.abs(rates[6:]).max() > 0.1
    assert [m1 * ax1 + m2 * ax2, m1 * ay1 + m2 * ay2] == pytest.approx([0, 0], abs=1e-12)
    turning = m1 * (values["x1"] * ay1 - values["y1"] * ax1) + m2 * (values["x2"] * ay2 - values["y2"] * ax2)
    assert turning + j1 * af1 + j2 * af2 == pytest.approx(0, abs=1e-12)


def test_weights_of_some_bodies_in_a_direction() -> None:
    weight = cg.Weight(G, direction=(sp.Rational(3, 5), sp.Rational(-4, 5), 0), bodies=[BAR])
    potential = by_pairs(weight).potential
    assert sp.simplify(potential + M1 * G * (sp.Rational(3, 5) * Q1 - sp.Rational(8, 5))) == 0


# -- rolling --------------------------------------------------------------------------------------------------------
def test_rolling_constraints() -> None:
    ring, _ = ring_bodies()
    dx, dy, dtheta = cg.rate(X), cg.rate(Y), cg.rate(THETA)
    full = [dx - R * dtheta * sp.cos(PSI), dy - R * dtheta * sp.sin(PSI)]
    assert [sp.expand(a - b) for a, b in zip(cg.rolling(ring, (X, Y, 0)), full, strict=True)] == [0, 0]
    lateral = cg.rolling(ring, (X, Y, 0), directions=[(-sp.sin(PSI), sp.cos(PSI), 0)])
    assert sp.simplify(lateral[0] - (dy * sp.cos(PSI) - dx * sp.sin(PSI))) == 0
    # The same point by its components in body axes: R below the centre, in axes rotated by theta.
    below = cg.rolling(ring, (R * sp.sin(THETA), 0, -R * sp.cos(THETA)), axes=ring)
    assert [sp.simplify(a - b) for a, b in zip(below, full, strict=True)] == [0, 0]


def test_a_ball_on_a_turntable() -> None:
    """On a rotating body, in the system's velocities: v + w x (-R e_z) = Om e_z x r."""
    spin = cg.parameters("Om")
    w = cg.velocities("w1 w2 w3")
    u = cg.velocities("u1 u2")
    kinematics = {X: u[0], Y: u[1], **dict(zip(QUATERNION, quaternion_rates(QUATERNION, w), strict=True))}
    table = cg.Body("table", rotation=cg.turn(3, spin * T))
    ball = cg.Body("ball", mass=M1, inertia=(J1, J1, J1), rotation=ATTITUDE, center=(X, Y, R))
    first, second = cg.rolling(ball, (X, Y, 0), on=table, kinematics=kinematics)
    half = sp.Rational(1, 2)
    unit = dict(zip(QUATERNION, (half, half, -half, half), strict=True))
    space = ATTITUDE.subs(unit) * sp.Matrix(w)
    assert sp.expand(first.subs(unit) - (u[0] - R * space[1] + spin * Y)) == 0
    assert sp.expand(second.subs(unit) - (u[1] + R * space[0] - spin * X)) == 0


@pytest.mark.slow
def test_a_ball_on_a_plane_that_its_coordinates_can_leave() -> None:
    """The pair of the page: on the plane it rolls with v = w r, and a start above it is refused.

    All three components of rolling alone keep whatever height there is.
    """
    m, r = cg.parameters("m r", positive=True)
    ball = cg.joint.free(None, name="ball", mass=m, inertia=[2 * m * r**2 / 5] * 3)
    x, y, z = ball.center
    along = cg.rolling(ball, (x, y, 0), directions=[(1, 0, 0), (0, 1, 0)], kinematics=ball.kinematics)
    given: dict[str, Any] = {"bodies": [ball], "interactions": [cg.Weight(G)]}
    model = cg.System("rolling_ball", **given, constraints=along, holonomic=[z - r]).compile("multipliers")
    numbers = {"m": 2.0, "r": 0.5, "g": 9.81}
    start = dict.fromkeys(model.declared, 0.0) | {
        "ball_z": 0.5,
        "ball_q0": 1.0,
        "ball_vx": 0.6,
        "ball_wy": 1.2,
    }
    sol = model.integrate((0, 2), start, numbers, rtol=1e-10, atol=1e-12)
    assert sol["ball_x"][-1] == pytest.approx(1.2, abs=1e-8)
    assert sol["ball_z"][-1] == pytest.approx(0.5, abs=1e-9)
    above = start | {"ball_z": 3.0, "ball_vx": 0.0, "ball_wy": 0.0}
    refused("holonomic_1", model.integrate, (0, 2), above, numbers)
    assert model.consistent(above, numbers)["ball_z"] == pytest.approx(0.5, abs=1e-12)
    whole = cg.rolling(ball, (x, y, z - r), kinematics=ball.kinematics)
    floating = cg.System("floating_ball", **given, constraints=whole).compile("multipliers")
    assert floating.integrate((0, 2), above, numbers)["ball_z"][-1] == pytest.approx(3.0, abs=1e-9)


# -- refusals ------------------------------------------------------------------------------------------------
def test_wrong_bodies() -> None:
    speed = cg.rate(THETA)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"name": "2nd"}, "Body name '2nd'"),
        (
            {"inertia": sp.Matrix([[1, 2, 0], [0, 1, 0], [0, 0, 1]])},
            r"'b': inertia is not symmetric: entry \[0, 1\]",
        ),
        ({"inertia": sp.eye(2)}, r"'b': inertia has shape \(2, 2\); give shape \(3, 3\)"),
        ({"inertia": (1, 2)}, "'b': inertia"),
        ({"rotation": sp.eye(4)}, "'b': rotation has shape"),
        ({"rotation": cg.turn(3, speed)}, "'b': rotation contains the velocity theta_dot"),
        ({"center": (X, Y)}, "'b': center has 2 entries; give 3"),
        ({"center": 3}, "'b': center is int; give 3 components"),
        ({"center": (X, Y, sp.Symbol("z"))}, r"'b': center\[2\]: unknown symbol z"),
        ({"mass": "m"}, "'b': mass is a string"),
        ({"mass": None}, "'b': inertia is given without mass"),
        ({"parent": "torus"}, "'b': parent is str; give one body"),
        ({"inertia": None, "about": (0, 0, 1)}, "about is given without inertia"),
    ]
    for changes, words in cases:
        given = {"name": "b", "mass": M1, "inertia": (1, 1, 1), **changes}
        refused(words, cg.Body, given.pop("name"), error=DeclarationError, **given)


def test_wrong_systems_of_bodies() -> None:
    point = {M1: 1, THETA: 0.4}

    def system(*bodies: Any, example: dict[Any, float] | None = None, **more: Any) -> cg.System:
        return cg.System("s", coordinates=[THETA], bodies=bodies, example=example or point, **more)

    def body(**changes: Any) -> cg.Body:
        given = {"mass": M1, "inertia": (1, 1, 1), "rotation": cg.turn(1, THETA), **changes}
        return cg.Body(given.pop("name", "b"), **given)

    stretched = 1.1 * cg.turn(1, THETA)
    mirrored = cg.turn(1, THETA) * sp.diag(1, 1, -1)
    skewed = cg.turn(1, THETA) + sp.Matrix([[0, 0.1, 0], [0, 0, 0], [0, 0, 0]])
    mistyped = sp.Matrix([[1, 0, 0], [0, sp.cos(THETA), -sp.sin(THETA)], [0, -sp.sin(THETA), sp.cos(THETA)]])
    swelling = (1 + THETA**2) * cg.turn(1, THETA)
    frame, other = cg.Body("frame"), cg.Body("other")
    straight = {M1: 1, THETA: 0}  # where both are the unit matrix
    cases: list[tuple[Any, str]] = [
        (lambda: system(body(rotation=stretched)), "'b': rotation is not a rotation.*lengths 1.1, 1.1, 1.1"),
        (lambda: system(body(rotation=mirrored)), "determinant is -1"),
        (lambda: system(body(rotation=skewed)), "'b': rotation is not a rotation"),
        (
            lambda: system(body(), body(name="c", rotation=mistyped), example=straight),
            "'c': rotation is not a rotation at theta = -?0",
        ),
        (
            lambda: system(body(rotation=swelling), example=straight),
            "'b': rotation is not a rotation at theta",
        ),
        (lambda: system(body(inertia=(1, -0.2, 1))), "'b': inertia has the central principal moments -0.2"),
        (lambda: system(body(about=(0, 0, 2))), "must not be negative.*about="),
        (lambda: system(body(mass=-M1)), "'b': mass is -1"),
        (lambda: system(body(parent=frame)), "'b': its parent 'frame' is not among bodies"),
        (lambda: system(body(), body()), "the name 'b' is used twice"),
        (
            lambda: system(body(center=(X, 0, 0))),
            r"bodies\['b'\].center\[0\].*'x'.*a coordinate without kinematics",
        ),
        (lambda: system(3), r"bodies\[0\] is int; give Body"),
        (lambda: system(body(), interactions=[M1]), r"interactions\[0\] is Parameter; give Weight"),
        (
            lambda: system(body(), interactions=[WEIGHT, cg.Spring(frame, other, 1)]),
            r"interactions\[1\] \(Spring\): the body 'frame' is not among",
        ),
        (lambda: cg.Spring(frame, (frame, (1, 0, 0)), 1), "both ends are on the body 'frame'"),
        (lambda: cg.Damper((0, 0, 0), (1, 0, 0), 1), "both ends are on the ground"),
        (lambda: cg.Damper(frame, 3, 1), "Damper: second is not an end"),
        (lambda: cg.Motor(frame, frame, (0, 0, 1), 1), "Motor: first and second are the same"),
        (lambda: cg.Motor(None, 3, (0, 0, 1), 1), "Motor: second is int; give a Body"),
        (lambda: cg.Motor(None, frame, (0, 0, 1), sp.Symbol("u")), "Motor: couple: unknown symbol u"),
        (lambda: cg.Wrench(frame), "neither force nor couple"),
        (lambda: cg.Wrench(frame, force=(1, 2)), "Wrench: force has 2 entries"),
        (lambda: cg.Wrench(frame, force=5), "Wrench: force is int; give 3 components"),
        (lambda: cg.Wrench(frame, couple="xyz"), "Wrench: couple is str; give 3 components"),
        (lambda: cg.rolling(frame, (0, 0, 0), axes=other), r"rolling\(frame\): axes"),
        (lambda: cg.turn(4, THETA), "turn: axis is 4"),
    ]
    for make, words in cases:
        refused(words, make, error=DeclarationError)


def test_a_rotation_only_where_its_coordinates_satisfy_an_equation() -> None:
    """Direction cosines and unit quaternions, kept by the kinematics or by a holonomic constraint."""
    q0, q1, q2, q3 = QUATERNION
    unit = dict(zip(QUATERNION, (0.6, 0.0, 0.8, 0.0), strict=True))
    plain = sp.Matrix(rotation(QUATERNION)).subs(q0**2, 1 - q1**2 - q2**2 - q3**2)
    assert sp.simplify(plain[0, 0] - (1 - 2 * q2**2 - 2 * q3**2)) == 0
    body = cg.Body("b", mass=M1, inertia=(1, 1, 1), rotation=plain)
    cg.System("s", kinematics=KINEMATICS, bodies=[body], example=unit)
    cg.System("s", kinematics={q: 1000 * e for q, e in KINEMATICS.items()}, bodies=[body], example=unit)
    more = sum(cg.rate(q) ** 2 for q in QUATERNION)
    with pytest.raises(DeclarationError, match="'b': rotation is not a rotation at q"):
        cg.System("s", coordinates=list(QUATERNION), kinetic=more, bodies=[body], example=unit)
    c, s = cg.coordinates("c s")
    turned = cg.Body("b", mass=M1, inertia=(1, 1, 1), rotation=sp.Matrix([[c, -s, 0], [s, c, 0], [0, 0, 1]]))
    more = cg.rate(c) ** 2 + cg.rate(s) ** 2
    given: Any = {"coordinates": [c, s], "kinetic": more, "bodies": [turned], "example": {c: 0.6, s: 0.8}}
    cg.System("s", holonomic=[c**2 + s**2 - 1], **given)
    refused("'b': rotation is not a rotation at c = ", cg.System, "s", error=DeclarationError, **given)


def test_the_matrix_of_a_quaternion_of_any_length_that_motions_change() -> None:
    """q' = q w / 2 + k (1 - |q|^2) q takes |q| to 1; where the example gives no q, it starts elsewhere."""
    error = 1 - sum(q**2 for q in QUATERNION)
    kinematics = {q: e + 10 * error * q for q, e in KINEMATICS.items()}
    body = cg.Body("b", mass=M1, inertia=(1, 2, 3), rotation=sp.Matrix(rotation(QUATERNION)))
    cg.System("s", kinematics=kinematics, bodies=[body])


def test_a_quaternion_off_the_unit_sphere_in_the_example_is_refused() -> None:
    body = cg.Body("b", mass=M1, inertia=(1, 1, 1), rotation=ATTITUDE)
    example = dict(zip(QUATERNION, (0.9, 0.1, 0.0, 0.0), strict=True))
    with pytest.raises(DeclarationError, match="unit values in example"):
        cg.System("s", kinematics=KINEMATICS, bodies=[body], example=example)
    cg.System("s", kinematics=KINEMATICS, bodies=[body])  # without an example there is nothing to check


def test_rates_of_expressions_along_the_flow() -> None:
    u = cg.velocities("u")
    flow, symbols = Flow.apart([X, Y], {X: u * sp.cos(T), Y: X})
    e = X**2 * Y + sp.sin(T)
    moved = flow.rate(flow.lowering.lower([e]))
    by_u, drift = flow.partial(moved, flow.velocities[u]), flow.partial(moved, None)
    found, slope, rest = expressions(flow.graph, [*moved, *by_u, *drift], symbols)
    assert sp.expand(found - (2 * X * Y * u * sp.cos(T) + X**3 + sp.cos(T))) == 0
    assert sp.expand(slope - 2 * X * Y * sp.cos(T)) == 0
    assert sp.expand(rest - X**3 - sp.cos(T)) == 0
