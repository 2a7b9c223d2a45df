"""What URDF files of real robots have: each quirk in a small file, against equations written by hand.

Rotors against closed forms, and against Pinocchio's mass matrix plus N^2 I for two arms.
"""

from __future__ import annotations

import csv
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import newton_euler
import numpy as np
import pytest
import sympy as sp
from refusals import refused
from scipy.spatial.transform import Rotation
from test_urdf import FILES, JOINT, rates, text

import chaplygin as cg
from chaplygin.api.python_model import python_model
from chaplygin.codegen.symbols.symbols import DeclarationError


def link(
    joint: str, parent: int, axis: Any, mass: float, center: Any, inertia: Any, **more: Any
) -> newton_euler.Link:
    return newton_euler.Link(joint, parent, axis=axis, mass=mass, center=center, inertia=inertia, **more)


def accelerations(links: list[newton_euler.Link], at: dict[str, float], load: Any, follow: Any) -> np.ndarray:
    """Those of the independent hinges, G^T (M G a + h - load) = 0, where all hinges have the velocities G v."""
    tree = newton_euler.Tree(links, at)
    still = np.zeros(len(links))
    bias = tree.forces(tree.speed, still, 9.81)
    mass = np.array([tree.forces(still, unit, 0.0) for unit in np.eye(len(links))]).T
    return np.linalg.solve(follow.T @ mass @ follow, follow.T @ (load - bias))


FINGERS = [
    link("arm", -1, "y", 1.2, (0.01, 0, -0.3), [[0.04, 0, 0.001], [0, 0.05, 0], [0.001, 0, 0.02]]),
    link("joint_1st", 0, "x", 0.3, (0, 0.02, -0.1), (0.002, 0.003, 0.0015), place=(0, 0.05, -0.6)),
    link(
        "second", 0, (1, 0, 1), 0.2, (0.03, 0, -0.12), (0.001, 0.002, 0.0018),
        place=(0, -0.05, -0.6), frame=Rotation.from_euler("z", 0.3).as_matrix(),
    ),
    link("third", 2, "x", 0.1, (0, 0.01, -0.05), (0.0006, 0.0005, 0.0004), place=(0, 0, -0.2)),
]  # fmt: skip


@pytest.mark.slow
def test_a_joint_that_mimics_another_has_no_coordinate() -> None:
    """q_2 = 0.2 - q_1 / 2, and q_3 = 2 q_2; the damping of followers acts by their own speeds."""
    system = cg.from_urdf(FILES / "fingers.urdf")
    assert {q.name for q in system.coordinates} == {"arm", "joint_1st"}
    assert {u.name for u in system.inputs} == {"tau_arm", "tau_joint_1st"}
    follow = np.array([[1, 0], [0, 1], [0, -0.5], [0, -1]])
    q, v, tau = np.array([0.7, -1.1]), np.array([1.3, -0.6]), np.array([0.4, -0.2])
    hinges = ("arm", "joint_1st", "second", "third")
    at = dict(zip(hinges, follow @ q + (0, 0, 0.2, 0.4), strict=True))
    at |= dict(zip((f"{hinge}_dot" for hinge in hinges), follow @ v, strict=True))
    load = np.array([*tau, 0, 0]) - np.array([0.1, 0.05, 0.04, 0.03]) * (follow @ v)
    found = rates(system, at | {"tau_arm": tau[0], "tau_joint_1st": tau[1], "g": 9.81})
    expected = accelerations(FINGERS, at, load, follow)
    np.testing.assert_allclose([found["arm_dot"], found["joint_1st_dot"]], expected, rtol=1e-12)


def test_a_slide_that_mimics_another() -> None:
    """Jaws at x and -(2 x + 0.1) on a bar that turns by phi about y: polar coordinates of two particles."""
    values = {"turn": 0.4, "turn_dot": 1.3, "jaw": 0.2, "jaw_dot": -0.7, "tau_turn": 0.5, "tau_jaw": 0.8}
    found = rates(cg.from_urdf(FILES / "slides.urdf"), values | {"g": 9.81})
    x, v, w, g = 0.2, -0.7, 1.3, 9.81
    y, u = -(2 * x + 0.1), -2 * v
    outward = [r * w**2 + g * np.sin(0.4) for r in (x, y)]  # the height of a jaw is -r sin phi
    slide = (0.8 + 0.3 * outward[0] - 2 * 0.2 * outward[1]) / (0.3 + 0.2 * 4)
    couple = 0.5 + g * np.cos(0.4) * (0.3 * x + 0.2 * y) - 2 * w * (0.3 * x * v + 0.2 * y * u)
    assert found["jaw_dot"] == pytest.approx(slide, rel=1e-12)
    assert found["turn_dot"] == pytest.approx(couple / (0.01 + 0.3 * x**2 + 0.2 * y**2), rel=1e-12)


def test_what_mimics_a_fixed_joint_is_fixed_at_its_offset(tmp_path: Path) -> None:
    more = '<link name="c"/>' + JOINT.format(name="k", kind="fixed", parent="a", child="c", more="")
    more += '<link name="d"><inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>'
    relation = '<mimic joint="k" multiplier="3" offset="0.4"/>'
    more += JOINT.format(name="l", kind="prismatic", parent="b", child="d", more=relation)
    file = tmp_path / "r.urdf"
    file.write_text(text('<axis xyz="0 1 0"/>').replace("</robot>", f"{more}</robot>"))
    found = rates(cg.from_urdf(file), {"j": 0.3, "j_dot": 0.0, "tau_j": 0.0, "g": 9.81})
    expected = 2 * 9.81 * 0.4 * np.cos(0.3) / (1 + 1 + 2 * 0.4**2)
    assert found["j_dot"] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("mimic", "kind", "message"),
    [
        ('<mimic joint="k"/>', "revolute", "joint 'j' mimics 'k', which is not a joint of the file"),
        ('<mimic joint="j"/>', "revolute", "joints mimic one another: j - j"),
        ("<mimic/>", "revolute", "joint 'j': <mimic joint=...> is missing"),
        ('<mimic joint="j"/>', "planar", "joint 'j' is planar; joints that mimic .* have one coordinate"),
    ],
)
def test_bad_relations_are_named(tmp_path: Path, mimic: str, kind: str, message: str) -> None:
    file = tmp_path / "r.urdf"
    file.write_text(text(mimic, kind=kind))
    refused(message, cg.from_urdf, file, error=DeclarationError)


def test_a_joint_that_moves_no_mass_is_fixed_with_a_word() -> None:
    """And what mimics it, at its offset; a massless link that carries a mass stays."""
    with pytest.warns(RuntimeWarning, match="nothing with a mass is moved by the joint 'bend': fixed where"):
        system = cg.from_urdf(FILES / "massless.urdf")
    assert [q.name for q in system.coordinates] == ["pan", "tilt"]
    inertia = [[0.05, 0.001, 0], [0.001, 0.06, 0.002], [0, 0.002, 0.03]]
    links = [
        link("pan", -1, "z", 0, (0, 0, 0), (0, 0, 0)),
        link("tilt", 0, "y", 1.5, (0.02, 0.01, -0.3), inertia),
    ]
    values = {"pan": 0.3, "tilt": 1.1, "pan_dot": -0.8, "tilt_dot": 1.7}
    expected = accelerations(links, values, np.array([0.2, -0.4]), np.eye(2))
    found = rates(system, values | {"tau_pan": 0.2, "tau_tilt": -0.4, "g": 9.81})
    np.testing.assert_allclose([found["pan_dot"], found["tilt_dot"]], expected, rtol=1e-12)
    tip = system.bodies[-1]  # in the frame of the arm, relative to its mass centre
    expected = np.array([0.3, 0, -0.6]) - (0.02, 0.01, -0.3)
    np.testing.assert_allclose(np.array(tip.center, float).ravel(), expected, atol=1e-15)


def test_inertias_that_no_body_has_are_taken_with_a_word() -> None:
    with pytest.warns(
        RuntimeWarning, match="inertias that no body has.* those of the links 'upper', 'lower'$"
    ):
        system = cg.from_urdf(FILES / "impossible.urdf")
    links = [
        link("shoulder", -1, "y", 2, (0, 0.1, -0.3), (0.1, 0.02, 0.01)),
        link("elbow", 0, "x", 1, (0.1, 0, -0.2), (-0.001, 0.004, 0.003), place=(0, 0, -0.7)),
    ]
    values = {"shoulder": 0.3, "elbow": 1.1, "shoulder_dot": -0.8, "elbow_dot": 1.7}
    expected = accelerations(links, values, np.array([0.2, -0.4]), np.eye(2))
    found = rates(system, values | {"tau_shoulder": 0.2, "tau_elbow": -0.4, "g": 9.81})
    np.testing.assert_allclose([found["shoulder_dot"], found["elbow_dot"]], expected, rtol=1e-12)


def test_inertias_that_make_the_mass_matrix_indefinite_are_refused(tmp_path: Path) -> None:
    """The moment of the lower link about the elbow is -0.2 + 0.04."""
    file = tmp_path / "r.urdf"
    file.write_text((FILES / "impossible.urdf").read_text().replace('ixx="-0.001"', 'ixx="-0.2"'))
    with pytest.raises(DeclarationError, match=r"mass matrix is not positive.* the links 'upper', 'lower'$"):
        cg.from_urdf(file)


def test_inertias_of_what_stands_are_of_no_consequence(tmp_path: Path) -> None:
    standing = (
        '<link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="9"/></inertial></link>'
    )
    file = tmp_path / "r.urdf"
    file.write_text(text().replace('<link name="a"/>', standing))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cg.from_urdf(file, base="fixed")
    with pytest.warns(RuntimeWarning, match="inertias that no body has.* those of the link 'a'$"):
        cg.from_urdf(file, base="free")


@pytest.mark.slow
def test_a_planar_joint_with_any_axis() -> None:
    """By Lagrange's equations in SymPy, with the translations along u = (2, 4, 5) / sqrt 45 and n x u."""
    t = sp.Symbol("t")
    q = sp.Matrix([sp.Function(f"q{i}")(t) for i in range(3)])
    n, u, c = sp.Matrix([1, 2, -2]) / 3, sp.Matrix([2, 4, 5]) / sp.sqrt(45), sp.Matrix([0.1, 0.05, 0.2])
    joint = sp.Matrix(Rotation.from_euler("xyz", [0.4, -0.3, 0.2]).as_matrix())
    axis = Rotation.from_euler("xyz", [0.2, -0.1, 0.3]).inv().apply(np.array(n, float).ravel())
    moment = axis @ [[0.02, 0.001, 0.002], [0.001, 0.03, 0], [0.002, 0, 0.025]] @ axis
    turned = c * sp.cos(q[2]) + n.cross(c) * sp.sin(q[2]) + n * n.dot(c) * (1 - sp.cos(q[2]))
    place = joint * (q[0] * u + q[1] * n.cross(u) + turned)
    speed = place.diff(t)
    lagrangian = 0.8 * speed.dot(speed) / 2 + moment * q[2].diff(t) ** 2 / 2 - 0.8 * 9.81 * place[2]
    equations = [lagrangian.diff(s.diff(t)).diff(t) - lagrangian.diff(s) + s.diff(t) / 4 for s in q]
    at, speeds, unknown = (0.2, 0.1, -0.6), (0.7, -0.2, 1.3), sp.symbols("a0:3")
    for old, new in ((q.diff(t, 2), unknown), (q.diff(t), speeds), (q, at)):
        equations = [e.subs(dict(zip(old, new, strict=True))) for e in equations]
    matrix, right = sp.linear_eq_to_matrix(equations, *unknown)
    expected = np.linalg.solve(np.array(matrix, float), np.array(right, float).ravel())
    system = cg.from_urdf(FILES / "puck.urdf")
    names = [s.name for s in (*system.coordinates, *system.velocities)]
    assert names == ["ice_1", "ice_2", "ice_angle", "ice_1_dot", "ice_2_dot", "ice_angle_dot"]
    found = rates(system, dict(zip(names, (*at, *speeds), strict=True)) | {"g": 9.81})
    np.testing.assert_allclose([found[name] for name in names[3:]], expected, rtol=1e-12)


def test_names_that_cannot_stand_in_code_are_put_behind_what_they_name(tmp_path: Path) -> None:
    system = cg.from_urdf(FILES / "fingers.urdf")
    assert system.name == "robot_3_fingers"
    assert [body.name for body in system.bodies[:3]] == ["stand", "arm_link", "link_1st_link"]
    file = tmp_path / "r.urdf"
    file.write_text(text(name="switch"))
    assert [q.name for q in cg.from_urdf(file).coordinates] == ["joint_switch"]
    file.write_text(text(name="g"))
    assert [q.name for q in cg.from_urdf(file).coordinates] == ["joint_g"]


def test_a_root_with_a_mass_stands_with_a_word(tmp_path: Path) -> None:
    """Not where the choice is said, nor on a link that is called the world."""
    file = tmp_path / "r.urdf"
    inertial = '<inertial> <mass value="2"/> <inertia ixx="1" iyy="1" izz="1"/> </inertial>'
    file.write_text(text().replace('<link name="a"/>', f'<link name="a"> {inertial} </link>'))
    with pytest.warns(RuntimeWarning, match=r"root link 'a' has a mass.*base=\"fixed\".*base=\"free\""):
        assert len(cg.from_urdf(file).velocities) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(cg.from_urdf(file, base="fixed").velocities) == 1
        assert len(cg.from_urdf(file, base="free").velocities) == 7
        file.write_text(file.read_text().replace('"a"', '"world"'))
        assert len(cg.from_urdf(file).velocities) == 1


def test_masses_and_inertias_as_parameters(tmp_path: Path) -> None:
    """With the figures of the file as the example; others give the accelerations of a file that has these."""
    system = cg.from_urdf(FILES / "fingers.urdf", parameters="symbolic")
    example = {p.name: float(v) for p, v in system.example.items()}
    assert {name: v for name, v in example.items() if name.endswith("_arm_link")} == {
        "m_arm_link": 1.2, "Ixx_arm_link": 0.04, "Iyy_arm_link": 0.05, "Izz_arm_link": 0.02, "Ixz_arm_link": 0.001,
    }  # fmt: skip
    file = tmp_path / "r.urdf"
    file.write_text(
        text('<axis xyz="0 1 0"/>').replace("<inertial>", '<inertial> <origin xyz="0 0 -0.5" rpy="0.3 0 0"/>')
    )
    system = cg.from_urdf(file, parameters="symbolic")
    values = {"m_b": 2.5, "Ixx_b": 1.0, "Iyy_b": 1.2, "Izz_b": 0.9}
    found = rates(system, values | {"j": 0.4, "j_dot": -1.5, "g": 9.81, "tau_j": 0.7})
    moment = 1.2 * np.cos(0.3) ** 2 + 0.9 * np.sin(0.3) ** 2 + 2.5 * 0.25
    assert found["j_dot"] == pytest.approx((0.7 - 9.81 * 2.5 * 0.5 * np.sin(0.4)) / moment, rel=1e-12)


def test_what_stands_or_has_no_mass_has_no_parameters() -> None:
    names = {p.name for p in cg.from_urdf(FILES / "arm.urdf", base="fixed", parameters="symbolic").parameters}
    assert "m_waist_link" in names
    assert "m_base" not in names
    with pytest.warns(RuntimeWarning, match="nothing with a mass"):
        system = cg.from_urdf(FILES / "massless.urdf", parameters="symbolic")
    assert {p.name for p in system.parameters if p.name.startswith("m_")} == {"m_arm"}


ARMS: dict[str, list[dict[str, str]]] = {}
for row in csv.DictReader((FILES / "arms.csv").read_text().splitlines()[2:]):
    ARMS.setdefault(row["arm"], []).append(row)
HINGE = """<link name="l{i}"> <inertial> <origin xyz="{cx} {cy} {cz}"/> <mass value="{mass}"/>
<inertia ixx="{ixx}" iyy="{iyy}" izz="{izz}" ixy="{ixy}" ixz="{ixz}" iyz="{iyz}"/> </inertial> </link>
<joint name="j{i}" type="revolute"> <parent link="{carrier}"/> <child link="l{i}"/> <axis xyz="0 0 1"/>
<origin xyz="{x} {y} {z}" rpy="{roll} {pitch} {yaw}"/> <limit lower="-3" upper="3" effort="9" velocity="9"/> </joint>
<transmission name="t{i}"> <joint name="j{i}"/> <actuator name="m{i}"> <mechanicalReduction>1</mechanicalReduction>
<drake:gear_ratio value="{ratio}"/> <drake:rotor_inertia value="{rotor}"/> </actuator> </transmission>"""


def arm(rows: list[dict[str, str]]) -> str:
    """A file of hinges about z in a row, on a world that it does not declare, with Drake's elements for rotors."""
    hinges = [
        HINGE.format(i=i, carrier=f"l{i - 1}" if i > 1 else "world", **row) for i, row in enumerate(rows, 1)
    ]
    return f'<robot name="arm" xmlns:drake="http://drake.mit.edu"> {" ".join(hinges)} </robot>'


@pytest.mark.integration("pinocchio")
@pytest.mark.parametrize("form", ["lagrange", "recursive", "multipliers", "maggi", "hamel"])
@pytest.mark.parametrize("name", ARMS)
def test_accelerations_are_those_of_pinocchio(tmp_path: Path, name: str, form: str) -> None:
    """(M + N^2 I) a = tau - h, and with the constraint v_1 = 2 v_2 for the forms that have one."""
    pinocchio = import_module("pinocchio")
    path = tmp_path / "arm.urdf"
    path.write_text(arm(ARMS[name]))
    ours = cg.from_urdf(path)
    path.write_text(path.read_text().replace("<link ", '<link name="world"/> <link ', 1))
    theirs = pinocchio.buildModelFromUrdf(str(path))
    theirs.gravity.linear = np.array([0, 0, -9.81])
    rotors = np.diag([float(row["ratio"]) ** 2 * float(row["rotor"]) for row in ARMS[name]])
    v1, v2 = ours.velocities[:2]
    rows = np.eye(7)[:0]
    if form not in ("lagrange", "recursive"):
        given = {"bodies": ours.bodies, "interactions": ours.interactions, "forces": ours.own_forces}
        ours, rows = (
            cg.System("held", constraints=[v1 - 2 * v2], kept=[*ours.velocities[1:]], **given),
            np.eye(1, 7),
        )
        rows[0, 1] = -2.0
    model = python_model(ours.equations(form).program, quiet=True)
    data, rng = theirs.createData(), np.random.default_rng(5)
    for _ in range(3):
        q, v, tau = rng.uniform(-2, 2, 7), rng.normal(size=7), rng.normal(size=7)
        if len(rows):
            v[0] = 2 * v[1]
        mass = pinocchio.crba(theirs, data, q)
        mass = np.triu(mass) + np.triu(mass, 1).T + rotors
        whole = np.block([[mass, -rows.T], [rows, np.zeros((len(rows), len(rows)))]])
        right = np.concatenate([tau - pinocchio.nle(theirs, data, q, v), np.zeros(len(rows))])
        expected = dict(zip([f"j{i + 1}_dot" for i in range(7)], np.linalg.solve(whole, right), strict=False))
        known = (
            {"g": 9.81} | {f"j{i + 1}": q[i] for i in range(7)} | {f"j{i + 1}_dot": v[i] for i in range(7)}
        )
        known |= {f"tau_j{i + 1}": tau[i] for i in range(7)}
        found = model.rhs(
            0.0, *([known[s] for s in names] for names in (model.states, model.parameters, model.inputs))
        )
        states = [s for s in model.states if s in expected]
        accelerations = [found[model.states.index(s)] for s in states]
        size = max(map(abs, expected.values()))
        np.testing.assert_allclose(accelerations, [expected[s] for s in states], rtol=0, atol=1e-12 * size)


ACTUATOR = (
    '<transmission name="t"> <joint name="j"/> <actuator name="m"> {} </actuator> </transmission> </robot>'
)


@pytest.mark.parametrize(
    "rotor",
    [
        '<drake:rotor_inertia value="0.02"/> <drake:gear_ratio value="-5"/>',
        "<mechanicalReduction> 5 </mechanicalReduction> <motorInertia>0.02</motorInertia>",
        '<rotorInertia value="0.5"/>',
    ],
)
def test_a_rotor_adds_to_the_inertia_on_its_joint(tmp_path: Path, rotor: str) -> None:
    """(J + N^2 I) d2q/dt2 = tau with J = 1 and N^2 I = 0.5; prefixes need not be declared, as in many files."""
    file = tmp_path / "rotor.urdf"
    file.write_text(text().replace("</robot>", ACTUATOR.format(rotor)))
    values = {"j": 0.4, "j_dot": -1.5, "g": 9.81, "tau_j": 0.75}
    assert rates(cg.from_urdf(file), values)["j_dot"] == pytest.approx(0.5, rel=1e-15)
    symbolic = cg.from_urdf(file, parameters="symbolic")
    assert {p.name: float(v) for p, v in symbolic.example.items()}["armature_j"] == 0.5


def test_rotors_of_dynamics_and_of_joints_that_mimic(tmp_path: Path) -> None:
    """A joint that turns 3 times as fast has its rotor's inertia 9-fold on the rate that it follows."""
    file = tmp_path / "mimic.urdf"
    second = text(
        '<mimic joint="j" multiplier="3"/> <dynamics rotor_inertia="0.01"/>', name="k", parent="b", child="c"
    )
    joint = second[second.index("<joint") : second.index("</joint>")] + "</joint>"
    file.write_text(text().replace("</robot>", f'<link name="c"/> {joint} </robot>'))
    values = {"j": 0.4, "j_dot": -1.5, "g": 9.81, "tau_j": 1.09}
    assert rates(cg.from_urdf(file), values)["j_dot"] == pytest.approx(1.0, rel=1e-14)


def test_what_is_left_out_of_rotors_is_said(tmp_path: Path) -> None:
    file = tmp_path / "left.urdf"
    given = text().replace("</robot>", ACTUATOR.format('<rotorInertia value="0.5"/>'))
    file.write_text(given.replace('<joint name="j"/>', '<joint name="j"/> <joint name="k"/>'))
    with pytest.warns(RuntimeWarning, match="rotors is left out of the transmission 't'"):
        cg.from_urdf(file)
    file.write_text(given.replace('"revolute"', '"planar"'))
    with pytest.warns(RuntimeWarning, match="rotors is left out of the joint 'j'"):
        cg.from_urdf(file)
    file.write_text(given.replace("0.5", "half"))
    words = "transmission 't': <rotorInertia> is 'half'; give 1 finite number"
    refused(words, cg.from_urdf, file, error=DeclarationError)
    file.write_text(given.replace("0.5", "-0.5"))
    refused(r"armature is -0\.5 at the example point", cg.from_urdf, file, error=DeclarationError)
