"""Links made by `cg.joint`: poses against SciPy's rotations, accelerations against closed forms."""

from __future__ import annotations

import math
import pickle
import pydoc
from typing import Any

import numpy as np
import pytest
import sympy as sp
from refusals import refused
from scipy.spatial.transform import Rotation

import chaplygin as cg
from chaplygin.api.python_model import python_model
from chaplygin.codegen.symbols.symbols import DeclarationError

joint = cg.joint
G = cg.parameters("g", positive=True)
AT, CENTER = (0.3, -0.2, 0.5), (0.1, 0.2, -0.4)
TURNED = cg.turn(3, sp.Rational(1, 3)) * cg.turn(1, sp.Rational(-2, 5))
PLACE = Rotation.from_euler("ZX", (1 / 3, -2 / 5))
STANDING = {"at": AT, "turned": TURNED, "center": CENTER, "name": "link", "mass": 1}
SKEW = np.array([1.0, 2.0, -2.0]) / 3


def numbers(matrix: Any, values: dict[sp.Symbol, float]) -> np.ndarray:
    return np.array(matrix.subs(values).evalf(), dtype=float)


def accelerations(system: cg.System, values: dict[str, float], form: str | None = None) -> dict[str, float]:
    """The derivatives of the states, by name of the state."""
    model = python_model(system.equations(*([form] if form else [])).program, quiet=True)
    rates = model.rhs(
        0.0, *([values[n] for n in names] for names in (model.states, model.parameters, model.inputs))
    )
    return dict(zip(model.states, rates, strict=True))


@pytest.mark.parametrize(
    ("link", "turned", "shift"),
    [
        (joint.revolute(None, "y", **STANDING), Rotation.from_rotvec([0, 0.7, 0]), [0, 0, 0]),
        (joint.revolute(None, (1, 2, -2), **STANDING), Rotation.from_rotvec(0.7 * SKEW), [0, 0, 0]),
        (joint.prismatic(None, (1, 2, -2), **STANDING), Rotation.identity(), 0.7 * SKEW),
        (joint.helical(None, (1, 2, -2), pitch=3, **STANDING), Rotation.from_rotvec(0.7 * SKEW), 2.1 * SKEW),
        (joint.cylindrical(None, "x", **STANDING), Rotation.from_euler("X", -0.4), [0.7, 0, 0]),
        (joint.universal(None, "x", "y", **STANDING), Rotation.from_euler("XY", (0.7, -0.4)), [0, 0, 0]),
        (joint.ball(None, angles="zxz", **STANDING), Rotation.from_euler("ZXZ", (0.7, -0.4, 1.1)), [0, 0, 0]),
        (joint.planar(None, "y", **STANDING), Rotation.from_euler("Y", 1.1), [-0.4, 0, 0.7]),
        (
            joint.planar(None, (1, 2, -2), **STANDING),
            Rotation.from_rotvec(1.1 * SKEW),
            (0.7 * np.array([2, 4, 5]) - 0.4 * np.cross(SKEW, [2, 4, 5])) / np.sqrt(45),
        ),
        (joint.planar(None, (0, 0, -2), **STANDING), Rotation.from_euler("Z", -1.1), [0.7, 0.4, 0]),
        (joint.fixed(None, **STANDING), Rotation.identity(), [0, 0, 0]),
    ],
    ids=lambda v: f"{v.coordinates}" if isinstance(v, cg.joint.Link) else "",
)
def test_poses(link: Any, turned: Rotation, shift: Any) -> None:
    values = dict(zip(link.coordinates, (0.7, -0.4, 1.1), strict=False))
    assert link.velocities == tuple(cg.rate(q) for q in link.coordinates)
    np.testing.assert_allclose(numbers(link.rotation, values), (PLACE * turned).as_matrix(), atol=1e-14)
    expected = AT + PLACE.apply(shift + turned.apply(CENTER))
    np.testing.assert_allclose(numbers(link.center, values).ravel(), expected, atol=1e-14)


@pytest.mark.parametrize("make", [joint.ball, joint.free])
def test_poses_by_quaternion(make: Any) -> None:
    link = make(None, **STANDING)
    q = np.array([0.5, -0.1, 0.7, np.sqrt(0.25)])
    symbols = {s.name: s for s in link.coordinates}
    values = {symbols[f"link_q{i}"]: v for i, v in enumerate(q)}
    values |= {symbols[f"link_{axis}"]: 0.2 for axis in "xyz" if make is joint.free}
    turned = Rotation.from_quat(np.roll(q, -1))
    np.testing.assert_allclose(numbers(link.rotation, values), (PLACE * turned).as_matrix(), atol=1e-14)
    expected = AT + PLACE.apply(0.2 * np.ones(3) * (make is joint.free) + turned.apply(CENTER))
    np.testing.assert_allclose(numbers(link.center, values).ravel(), expected, atol=1e-14)
    assert sum(link.rest.values()) == 1


def test_positions_are_counted_from_the_frame_of_a_link_and_from_the_mass_centre_of_a_body() -> None:
    """Two hinges with the mass centres away from them."""
    upper = joint.revolute(None, "y", name="upper", mass=1, center=(0, 0, -0.3))
    lower = joint.revolute(upper, "y", at=(0, 0, -1), name="lower", mass=1, center=(0, 0, -0.4))
    np.testing.assert_allclose(
        numbers(lower.center, {lower.coordinates[0]: 0}).ravel(), [0, 0, 0.3 - 1 - 0.4]
    )
    body = cg.Body("body", mass=1, center=(0, 0, -0.3))
    carried = joint.revolute(body, "y", at=(0, 0, -1), name="carried", mass=1, center=(0, 0, -0.4))
    np.testing.assert_allclose(numbers(carried.center, {carried.coordinates[0]: 0}).ravel(), [0, 0, -1.4])


def test_double_pendulum() -> None:
    """Two thin rods: (J + m l^2) of the hinges and their coupling, from the textbook's mass matrix and forces."""
    m, length, g, q1, q2, w1, w2 = 1.5, 0.8, 9.81, 0.4, 0.9, -0.7, 1.2
    rod = {"mass": m, "inertia": (m * length**2 / 12, m * length**2 / 12, 0), "center": (0, 0, -length / 2)}
    upper = joint.revolute(None, "y", name="a", **rod)
    lower = joint.revolute(upper, "y", at=(0, 0, -length), name="b", **rod)
    system = cg.System("arm", bodies=[upper, lower], interactions=[cg.Weight(G)])
    found = accelerations(system, {"a": q1, "b": q2, "a_dot": w1, "b_dot": w2, "g": g})
    # In absolute angles: 4/3 m l^2, m l^2 / 3, coupling m l^2 cos(q2) / 2.
    u, v = w1, w1 + w2
    unit = m * length**2
    matrix = unit * np.array([[4 / 3, np.cos(q2) / 2], [np.cos(q2) / 2, 1 / 3]])
    force = unit / 2 * np.sin(q2) * np.array([v**2, -(u**2)])
    force -= m * g * length * np.array([1.5 * np.sin(q1), 0.5 * np.sin(q1 + q2)])
    absolute = np.linalg.solve(matrix, force)
    assert found["a_dot"] == pytest.approx(absolute[0], rel=1e-12)
    assert found["b_dot"] == pytest.approx(absolute[1] - absolute[0], rel=1e-12)


def test_a_nut_on_a_vertical_screw() -> None:
    """(J + m p^2) d2q/dt2 = -m g p."""
    m, J, p = cg.parameters("m J p", positive=True)
    nut = joint.helical(None, "z", pitch=p, name="nut", mass=m, inertia=(J / 2, J, J))
    system = cg.System("screw", bodies=[nut], interactions=[cg.Weight(G)])
    found = accelerations(system, {"nut": 0.3, "nut_dot": 2.0, "m": 2.0, "J": 0.5, "p": 0.1, "g": 9.81})
    assert found["nut_dot"] == pytest.approx(-2 * 9.81 * 0.1 / (0.5 + 2 * 0.1**2), rel=1e-13)


def test_a_free_body_falls_and_turns_as_euler_says() -> None:
    """Its mass centre falls with g, J dw/dt = J w x w; the velocity of the link's origin is v = v_G - w x c."""
    inertia = np.array([0.5, 0.7, 0.9])
    body = joint.free(name="b", mass=2, inertia=inertia, center=CENTER)
    system = cg.System("thrown", bodies=[body], interactions=[cg.Weight(G)])
    q, w, v = np.array([0.5, -0.1, 0.7, 0.5]), np.array([0.3, -1.0, 0.4]), np.array([1.0, 0.2, -0.6])
    values = (
        {f"b_q{i}": float(e) for i, e in enumerate(q)} | {f"b_{axis}": 0.4 for axis in "xyz"} | {"g": 9.81}
    )
    values |= {f"b_w{axis}": e for axis, e in zip("xyz", w, strict=True)}
    values |= {f"b_v{axis}": e for axis, e in zip("xyz", v, strict=True)}
    found = accelerations(system, values)
    turning = np.cross(inertia * w, w) / inertia
    np.testing.assert_allclose([found[f"b_w{axis}"] for axis in "xyz"], turning, rtol=1e-12)
    # In body axes a_G = dv/dt + w x v + dw/dt x c + w x (w x c) = R^T (0, 0, -g).
    rate = np.array([found[f"b_v{axis}"] for axis in "xyz"])
    c = np.array(CENTER)
    fall = rate + np.cross(w, v) + np.cross(turning, c) + np.cross(w, np.cross(w, c))
    attitude = Rotation.from_quat(np.roll(q, -1))
    np.testing.assert_allclose(attitude.apply(fall), [0, 0, -9.81], atol=1e-12)
    moved = [found[f"b_{axis}"] for axis in "xyz"]
    np.testing.assert_allclose(moved, attitude.apply(v), rtol=1e-13)


def test_links_bring_their_kinematics_beside_those_given() -> None:
    x = cg.coordinates("x")
    cart = cg.Body("cart", mass=2, center=(x, 0, 0))
    arm = joint.revolute(cart, "y", name="arm", joint="shoulder", mass=1, center=(0, 0, -1))
    system = cg.System("cart_pole", coordinates=[x], bodies=[cart, arm], interactions=[cg.Weight(G)])
    assert [s.name for s in system.coordinates] == ["x", "shoulder"]
    assert pickle.loads(pickle.dumps(system)).digest == system.digest
    again = cg.System("cart_pole", kinematics=dict(system.kinematics), bodies=[cart, arm])
    assert again.coordinates == system.coordinates
    shoulder, spin = arm.coordinates[0], cg.velocities("spin")
    with pytest.raises(DeclarationError, match=r"kinematics\[shoulder\] = spin.*joint of 'arm'"):
        cg.System("cart_pole", kinematics={x: cg.rate(x), shoulder: spin}, bodies=[cart, arm])


def test_velocities_are_ordered_as_the_links() -> None:
    first = joint.ball(None, name="z", mass=1, inertia=(1, 1, 1))
    second = joint.revolute(first, "x", name="a", mass=1, inertia=(1, 1, 1))
    system = cg.System("order", bodies=[first, second])
    assert [s.name for s in system.velocities] == ["z_wx", "z_wy", "z_wz", "a_dot"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: joint.revolute(None, (0, 0, 0), name="b"), r"Body 'b': axis is zero"),
        (lambda: joint.revolute(None, 3, name="b"), r"Body 'b': axis is 3; give"),
        (lambda: joint.revolute(None, "w", name="b"), r"Body 'b': axis is 'w'; give"),
        (lambda: joint.revolute("ground", "x", name="b"), r"Body 'b': parent is str"),
        (lambda: joint.revolute(None, "x", name="1b"), r"Body name '1b'"),
        (lambda: joint.revolute(None, "x", name="b", at=(1, 2)), r"Body 'b': at has 2 entries"),
        (lambda: joint.universal(None, "x", (2, 0, 0), name="b"), r"Body 'b': first and second are parallel"),
        (lambda: joint.ball(None, angles="xxz", name="b"), r"Body 'b': angles = 'xxz'"),
        (lambda: joint.planar(None, (0, 0, 0), name="b"), r"Body 'b': normal is zero"),
        (lambda: joint.planar(None, 3, name="b"), r"Body 'b': normal is 3; give"),
        (
            lambda: joint.planar(None, (0, 0, G), name="b"),
            r"Body 'b': normal is \(0, 0, g\); give .* numbers",
        ),
        (lambda: joint.ball(None, angles=3, name="b"), r"Body 'b': angles = 3"),
        (lambda: joint.revolute(None, "x", name="b", joint=3), r"Body 'b': joint is 3; give a name"),
        (
            lambda: joint.helical(None, "x", pitch=math.nan, name="b"),
            r"Body 'b': pitch is nan; give a finite",
        ),
        (lambda: joint.revolute(None, "x", name="b", at=(0, 0, math.inf)), r"Body 'b': at\[2\] is oo"),
        (lambda: joint.revolute(None, (math.nan, 0, 0), name="b"), r"Body 'b': axis\[0\] is nan"),
        (
            lambda: joint.revolute(None, "x", name="b", turned=sp.diag(1, 2, 1)),
            r"Body 'b': turned is not a rotation",
        ),
        (lambda: joint.revolute(None, "x", name="b", turned=3), r"Body 'b': turned = 3 is not a 3x3 matrix"),
        (lambda: joint.ball(None, name="b", mass=1, inertia=2), r"Body 'b': inertia = 2 is not a 3x3 matrix"),
        (lambda: joint.ball(None, name="b", mass=1, inertia=(1, 2)), r"Body 'b': inertia has 2 entries"),
        (
            lambda: joint.revolute([cg.Body("a"), cg.Body("c")], "x", name="b"),
            r"Body 'b': parent is list; give one body, .*; a loop is closed by System\(holonomic",
        ),
    ],
)
def test_bad_joints_are_named(make: Any, message: str) -> None:
    refused(message, make, error=DeclarationError)


def test_a_plate_that_moves_in_a_plane_needs_one_moment() -> None:
    """(0, 0, J) is no body's inertia, but in a plane the two other moments are of no consequence."""
    m, J, g = cg.parameters("m J g", positive=True)

    def arm(inertia: Any) -> Any:
        upper = joint.revolute(None, "z", name="a", mass=m, inertia=inertia, center=(0, -1, 0))
        lower = joint.revolute(
            upper, "z", name="b", at=(0, -2, 0), mass=m, inertia=inertia, center=(0, -1, 0)
        )
        weight = cg.Weight(g, direction=(0, -1, 0))
        numbers = {"m": 2, "J": 0.3, "g": 9.81, "a": 0.3, "b": -0.2}
        return cg.System(
            "arm",
            bodies=[upper, lower],
            interactions=[weight],
            example=symbols(numbers, m, J, g, upper, lower),
        )

    flat, whole = arm((0, 0, J)), arm((J, J, J))
    for form in ("lagrange", "recursive"):
        values = [
            python_model(s.equations(form).program, quiet=True).rhs(
                0, [0.4, -0.7, 1.1, 0.6], [0.3, 9.81, 2.0]
            )
            for s in (flat, whole)
        ]
        np.testing.assert_allclose(*values, rtol=1e-13)


def symbols(numbers: dict[str, float], *given: Any) -> dict[Any, float]:
    every = [s for item in given for s in (item.coordinates if isinstance(item, joint.Link) else [item])]
    return {s: numbers[s.name] for s in every}


@pytest.mark.parametrize("form", ["recursive", pytest.param("poincare", marks=pytest.mark.slow)])
def test_springs_dampers_and_motors_of_joints(form: str) -> None:
    """The same as V and Q in the joints' coordinates, in every form that fits."""
    k, c, m = cg.parameters("k c m", positive=True)
    couple, push = cg.inputs("couple push")
    body: Any = {"mass": m, "inertia": (1, 1, 1), "center": (0.1, 0.3, -0.4)}
    hinge = joint.revolute(None, (1, 2, 2), name="hinge", turned=cg.turn("x", 0.3), **body)
    slide = joint.prismatic(hinge, "y", name="slide", at=(0.2, 0, 1), turned=cg.turn("z", 0.7), **body)
    rod = joint.cylindrical(slide, "x", name="rod", **body)
    nut = joint.helical(rod, (0, 3, 4), pitch=0.2, name="nut", **body)
    q = [s for link in (hinge, slide, rod, nut) for s in link.coordinates]
    loads = [
        hinge.spring(k, 0.2), slide.spring(2 * k), rod.spring(k, of="rod_shift"), nut.spring(3 * k, 1),
        hinge.damper(c), slide.damper(2 * c), rod.damper(c, of=q[3]), nut.damper(c),
        hinge.motor(couple), slide.motor(push), rod.motor(couple * q[0], of="rod_angle"), nut.motor(push),
    ]  # fmt: skip
    bodies, rates = [hinge, slide, rod, nut], [cg.rate(x) for x in q]
    assert [x.name for x in q] == ["hinge", "slide", "rod_shift", "rod_angle", "nut"]
    potential = k * (
        (q[0] - sp.Rational(1, 5)) ** 2 / 2 + q[1] ** 2 + q[2] ** 2 / 2 + sp.Rational(3, 2) * (q[4] - 1) ** 2
    )
    forces = dict(zip(rates, [couple, push, 0, couple * q[0], push], strict=True))
    for v, factor in zip(rates, [1, 2, 0, 1, 1], strict=True):
        forces[v] -= factor * c * v
    ours = cg.System("ours", bodies=bodies, interactions=loads)
    theirs = cg.System("theirs", bodies=bodies, potential=potential, forces=forces)
    draw = np.random.default_rng(4)
    y, p, u = draw.uniform(-1, 1, 10), draw.uniform(0.5, 1.5, 3), draw.uniform(-1, 1, 2)
    expected = python_model(theirs.equations("poincare").program, quiet=True).rhs(0, y, p, u)
    found = python_model(ours.equations(form).program, quiet=True).rhs(0, y, p, u)
    assert found == pytest.approx(expected, rel=1e-11)
    assert ours.equations("chetaev").states


def test_joints_without_an_angle_of_their_own_are_refused() -> None:
    ball = joint.ball(None, name="hip", mass=1, inertia=(1, 1, 1))
    words = "Body 'hip': spring: its joint has no angle or travel of its own"
    refused(words, ball.spring, 1, error=DeclarationError)
    rod = joint.cylindrical(None, "x", name="rod", mass=1, inertia=(1, 1, 1))
    for of in (None, "rod", 3):
        words = r"Body 'rod': motor: of is .*; give rod_shift or rod_angle"
        refused(words, rod.motor, 1, of=of, error=DeclarationError)
    refused("Body 'rod': damper", rod.damper, "c", of="rod_shift", error=DeclarationError)


def test_the_axis_of_a_motor_by_its_letter() -> None:
    arm = joint.revolute(None, "y", name="arm", mass=1, inertia=(1, 2, 2))
    tau = cg.inputs("tau")
    by_letter, by_vector = (
        cg.System("s", bodies=[arm], interactions=[cg.Motor(None, arm, axis, tau)])
        for axis in ("y", (0, 1, 0))
    )
    assert by_letter.equations().forcing == by_vector.equations().forcing == sp.Matrix([tau])
    with pytest.raises(DeclarationError, match='Motor: axis is \'w\'; give "x", "y", "z" or a vector'):
        cg.Motor(None, arm, "w", tau)


def test_an_inertia_that_no_body_has_is_taken_with_a_warning() -> None:
    """Euler's equations hold with any positive moments, such as those published of link 3 of the Puma 560."""
    moments = (0.066, 0.086, 0.0125)
    puma = joint.ball(None, name="b", mass=4.8, inertia=moments)
    with pytest.warns(
        RuntimeWarning, match=r"Body 'b': inertia .* 0\.0125, 0\.066, 0\.086 .* sum of the two others"
    ):
        system = cg.System("puma", bodies=[puma])
    w = {"b_wx": 0.3, "b_wy": -0.5, "b_wz": 0.7}
    values = dict.fromkeys([s.name for s in (*system.coordinates, *system.velocities)], 0.0) | {"b_q0": 1.0}
    found = accelerations(system, values | w)
    (a, b, c), (x, y, z) = moments, w.values()
    expected = [(b - c) * y * z / a, (c - a) * z * x / b, (a - b) * x * y / c]
    np.testing.assert_allclose([found[name] for name in w], expected, rtol=1e-13)
    with pytest.raises(DeclarationError, match=r"Body 'b': inertia .* must not be negative"):
        cg.System("top", bodies=[joint.ball(None, name="b", mass=1, inertia=(1, 1, -0.1))])


def test_a_misspelt_argument_is_named_with_the_right_word() -> None:
    with pytest.raises(TypeError, match=r"joint\.revolute: unknown argument 'masss'; did you mean mass\?"):
        joint.revolute(None, "x", name="b", masss=1)
    with pytest.raises(TypeError, match=r"joint\.ball: unknown argument 'centre'; did you mean center\?"):
        joint.ball(None, name="b", centre=(0, 0, 1))
    words = r"joint\.fixed: unknown argument 'axle'.* it takes parent, name, joint, at"
    refused(words, joint.fixed, None, name="b", axle="x", error=TypeError)


SOLID: dict[str, Any] = {"mass": 1, "inertia": (1, 1, 1)}


def test_a_cycle_of_parents_is_named() -> None:
    base = joint.revolute(None, "x", name="base", **SOLID)
    first = joint.revolute(base, "x", name="first", **SOLID)
    last = joint.revolute(first, "x", name="last", **SOLID)
    first.parent = last
    with pytest.raises(DeclarationError, match="Body 'first': a cycle of parents: first - last - first"):
        cg.System("ring", bodies=[base, first, last])


def test_a_body_with_two_parents_is_named() -> None:
    left, right = (joint.revolute(None, "x", name=name, **SOLID) for name in ("left", "right"))
    held = [joint.revolute(parent, "y", name="hand", **SOLID) for parent in (left, right)]
    with pytest.raises(DeclarationError, match="'hand' is used twice, with the parents 'left' and 'right'"):
        cg.System("arms", bodies=[left, right, *held])


@pytest.mark.parametrize("mass", [None, 0, 1], ids=["no mass", "mass zero", "a point on the axis"])
def test_a_joint_that_moves_no_inertia_is_named_by_its_body(mass: int | None) -> None:
    arm = joint.revolute(None, "x", name="arm", **SOLID)
    hand = joint.revolute(arm, "y", name="hand", mass=mass)
    with pytest.raises(DeclarationError, match="no inertia along hand_dot, which moves 'hand'"):
        cg.System("arm", bodies=[arm, hand])


def test_a_joint_that_is_singular_at_the_example_is_named_by_its_body() -> None:
    """Three angles about z, x, z where the second is zero."""
    arm = joint.revolute(None, "x", name="arm", **SOLID)
    hand = joint.ball(arm, name="hand", angles="zxz", **SOLID)
    example = dict.fromkeys((*arm.coordinates, *hand.coordinates), 0)
    words = "hand_1_dot, hand_3_dot; the joint of the body 'hand' is singular"
    refused(words, cg.System, "arm", bodies=[arm, hand], example=example, error=DeclarationError)


def test_bodies_that_cannot_move_are_named() -> None:
    with pytest.raises(DeclarationError, match="no body moves: the joints of stand are fixed"):
        cg.System("statue", bodies=[joint.fixed(None, name="stand", **SOLID)])


# -- rolling of bodies that their joints keep on a plane ---------------------------------------------------------
def test_a_plane_disk_rolls_on_a_line_and_down_a_slope() -> None:
    """On y = 0 a couple C gives r C / (J + m r^2); down a slope the centre has g sin a / (1 + J / (m r^2))."""
    s, phi = cg.coordinates("s phi")
    m, r, J, a, C = cg.parameters("m r J a C", positive=True)
    values = {"m": 2.0, "r": 0.3, "J": 0.07, "a": 0.4, "C": 1.5, "g": 9.81, "s": 0.2, "phi": 0.5}
    values |= {"s_dot": 0.3 * 0.6, "phi_dot": 0.6}
    for angle, expected in (
        (0, 0.3 * 1.5 / (0.07 + 2 * 0.09)),
        (a, -9.81 * math.sin(0.4) / (1 + 0.07 / 0.18)),
    ):
        plane = cg.Body("plane", rotation=cg.turn(3, angle))
        disk = cg.Body(
            "disk", parent=plane, mass=m, inertia=(0, 0, J), rotation=cg.turn(3, -phi), center=(s, r, 0)
        )
        rows = cg.rolling(disk, plane.rotation * sp.Matrix([s, 0, 0]))
        assert len(rows) == 1
        system = cg.System(
            "disk",
            coordinates=[s, phi],
            bodies=[plane, disk],
            interactions=[cg.Weight(G, direction=(0, -1, 0))],
            forces={} if angle else {cg.rate(phi): C},
            constraints=rows,
        )
        assert accelerations(system, values, "multipliers")["s_dot"] == pytest.approx(expected, rel=1e-12)


def test_a_ball_that_its_joint_keeps_on_a_plane() -> None:
    """On a slope the centre of a solid ball has 5/7 of the acceleration it has without friction."""
    m, r = cg.parameters("m r", positive=True)
    tilt = cg.turn(1, sp.Rational(2, 5))
    carrier = joint.planar(None, name="p", turned=tilt)
    ball = joint.ball(carrier, at=(0, 0, r), name="b", mass=m, inertia=[2 * m * r**2 / 5] * 3)
    contact = tilt * sp.Matrix([*carrier.coordinates[:2], 0])
    rows = cg.rolling(ball, contact, kinematics={**carrier.kinematics, **ball.kinematics})
    assert len(rows) == 2  # of three components, all different from zero
    twist = [cg.rate(carrier.coordinates[2])]  # the carrier itself does not turn
    system = cg.System(
        "ball", bodies=[carrier, ball], interactions=[cg.Weight(G)], constraints=[*rows, *twist]
    )
    values = dict.fromkeys([s.name for s in (*system.coordinates, *system.velocities)], 0.0)
    values |= {"b_q0": 1.0, "m": 2.0, "r": 0.3, "g": 9.81}
    found = accelerations(system, values, "multipliers")
    assert found["p_1_dot"] == pytest.approx(0, abs=1e-12)
    assert found["p_2_dot"] == pytest.approx(-5 / 7 * 9.81 * math.sin(0.4), rel=1e-12)


def test_rolling_knows_the_kinematics_of_links() -> None:
    """Of the link, of those that carry it, and of the one on which it rolls; others are given, or the rates."""
    carrier = joint.planar(None, name="p")
    ball = joint.ball(carrier, at=(0, 0, 1), name="b", mass=1, inertia=(0.4, 0.4, 0.4))
    top = cg.Body("top", parent=joint.free(None, name="f", mass=1, inertia=(1, 1, 1)))
    place = (*carrier.coordinates[:2], 0)
    known = {**carrier.kinematics, **ball.kinematics}
    assert cg.rolling(ball, place) == cg.rolling(ball, place, kinematics=known)
    assert cg.rolling(ball, place) == cg.rolling(ball, place, kinematics=ball.kinematics)
    both = {**known, **top.parent.kinematics}
    along = {"directions": [(1, 0, 0)], "on": top}
    assert cg.rolling(ball, place, **along) == cg.rolling(ball, place, kinematics=both, **along)
    s = cg.coordinates("s")
    (row,) = cg.rolling(ball, (s, 0, 0), directions=[(0, 1, 0)])
    assert not any(str(each).startswith("b_q") and str(each).endswith("_dot") for each in row.free_symbols)


def test_places_in_space_of_a_chain() -> None:
    """Against SciPy's rotations: the mass centre, a point of the body, and the joint, two links out."""
    base = joint.planar(None, "z", name="base", mass=1, center=CENTER)
    arm = joint.revolute(base, "x", **STANDING)
    bead = cg.Body("bead", parent=arm, mass=1, rotation=cg.turn(2, sp.Rational(1, 5)), center=(0.1, 0.2, 0.3))
    values = dict(zip([*base.coordinates, *arm.coordinates], (0.7, -0.4, 1.1, 0.6), strict=True))
    turned = Rotation.from_euler("Z", 1.1)
    pivot = np.array([0.7, -0.4, 0]) + turned.apply(AT)
    further = turned * PLACE * Rotation.from_euler("X", 0.6)
    center = pivot + further.apply(CENTER)
    tip = center + further.apply([1, 2, 3])
    np.testing.assert_allclose(numbers(arm.point(), values).ravel(), center, atol=1e-14)
    np.testing.assert_allclose(numbers(arm.point((1, 2, 3)), values).ravel(), tip, atol=1e-14)
    np.testing.assert_allclose(numbers(arm.point(arm.origin), values).ravel(), pivot, atol=1e-14)
    np.testing.assert_allclose(numbers(arm.attitude, values), further.as_matrix(), atol=1e-14)
    onwards = further * Rotation.from_euler("Y", 0.2)
    np.testing.assert_allclose(numbers(bead.attitude, values), onwards.as_matrix(), atol=1e-14)
    place = center + further.apply([0.1, 0.2, 0.3]) + onwards.apply([0, 0, 1])
    np.testing.assert_allclose(numbers(bead.point([0, 0, 1]), values).ravel(), place, atol=1e-14)
    refused(r"Body 'link': arm has 2 entries; give 3", arm.point, (1, 2), error=DeclarationError)


def test_a_wheel_on_a_base_rolls_in_space() -> None:
    """Beside the middle by b, v + b omega = r wheel_dot; its `center`, in the axes of the base, is refused."""
    m, J, r, b = cg.parameters("m J r b", positive=True)
    base = joint.planar(None, name="base", mass=m, inertia=(J, J, J))
    wheel = joint.revolute(base, "y", name="wheel", mass=m, inertia=(J, J, J), at=(0, -b, 0))
    below = sp.Matrix([0, 0, -r])
    along = {"directions": [base.attitude[:, 0]]}
    rolls = cg.rolling(wheel, wheel.point() + below, **along)
    model = python_model(
        cg.System("unicycle", bodies=[base, wheel], constraints=rolls).equations().program, quiet=True
    )
    given = {"base_1_dot": 1.0, "base_2_dot": 0.0, "base_angle_dot": 0.5}
    start = dict.fromkeys(model.declared, 0.0) | given
    found = model.consistent(start, {"r": 0.2, "b": 0.3, "m": 1, "J": 0.1}, keep=list(given))
    assert found["wheel_dot"] == pytest.approx((1 + 0.3 * 0.5) / 0.2, rel=1e-14)
    words = r"rolling\(wheel\): contact .* along base_1, base_2, base_angle: .* axes of 'base', as wheel.center is"
    refused(words, cg.rolling, wheel, wheel.center + below, error=DeclarationError, **along)
    with pytest.raises(DeclarationError, match=r"axes of 'base'"):  # a skate at its own centre
        cg.rolling(wheel, wheel.center, directions=[base.attitude[:, 1]])


def test_contacts_in_the_axes_of_a_parent_that_does_not_move() -> None:
    """A disk on a ramp that is turned, and one whose parent stands where space does."""
    s, phi = cg.coordinates("s phi")
    m, J, r = cg.parameters("m J r", positive=True)
    disk = {"mass": m, "inertia": (0, 0, J), "rotation": cg.turn(3, -phi), "center": (s, r, 0)}
    ramp, level = cg.Body("ramp", rotation=cg.turn(3, sp.pi / 6)), cg.Body("level")
    turned, straight = (cg.Body("disk", parent=of, **disk) for of in (ramp, level))
    (rolls,) = cg.rolling(turned, turned.point() - ramp.rotation * sp.Matrix([0, r, 0]))
    assert sp.simplify(rolls / (cg.rate(s) - r * cg.rate(phi))).is_number
    with pytest.raises(DeclarationError, match=r"along s: .* axes of 'ramp'"):
        cg.rolling(turned, turned.center - sp.Matrix([0, r, 0]))
    assert cg.rolling(straight, straight.center - sp.Matrix([0, r, 0])) == [cg.rate(s) - r * cg.rate(phi)]


def test_help_on_joints_has_their_arguments_and_nothing_else() -> None:
    shown = pydoc.plain(pydoc.render_doc(joint))
    assert "at, turned : the joint's position and its axes" in shown
    assert "revolute(parent" in shown
    assert "Union" not in shown


@pytest.mark.parametrize("form", ["lagrange", "recursive"])
def test_rotors_turn_with_the_rates_of_their_joint(form: str) -> None:
    """A body whose centre is on both axes of a cardan: (A + I_1) a_1 = M_1 at rest, (A + I_2) a_2 = M_2."""
    A, I1, I2, M1, M2 = cg.parameters("A I1 I2 M1 M2", positive=True)
    cross = joint.universal(None, "x", "y", name="c", mass=1, inertia=(A, A, A), armature=sp.Matrix([I1, I2]))
    v1, v2 = cross.velocities
    system = pickle.loads(pickle.dumps(cg.System("cardan", bodies=[cross], forces={v1: M1, v2: M2})))
    model = python_model(system.equations(form).program, quiet=True)
    values = {"A": 2.0, "I1": 3.0, "I2": 0.5, "M1": 1.0, "M2": 5.0}
    found = model.rhs(0.0, [0.3, 0.4, 0, 0], [values[name] for name in model.parameters], [])
    np.testing.assert_allclose(found, [0, 0, 1 / 5, 2], rtol=1e-14)
    words = "for 1 velocity; its joint has the velocities c_1_dot, c_2_dot: give"
    refused(words, joint.universal, None, "x", "y", name="c", mass=1, armature=I1, error=DeclarationError)
    with pytest.raises(DeclarationError, match="armature is given for 1 velocity; its joint has none"):
        joint.fixed(None, name="c", armature=1)
