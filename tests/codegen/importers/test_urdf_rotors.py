"""Rotors in URDF files: against closed forms, and against Pinocchio's mass matrix plus N^2 I for two arms."""

from __future__ import annotations

import csv
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from test_urdf import FILES, rates, text

import chaplygin as cg
from chaplygin.api.python_model import python_model
from chaplygin.codegen.symbols.symbols import DeclarationError

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
    with pytest.raises(
        DeclarationError, match="transmission 't': <rotorInertia> is 'half'; give 1 finite number"
    ):
        cg.from_urdf(file)
    file.write_text(given.replace("0.5", "-0.5"))
    with pytest.raises(DeclarationError, match=r"armature is -0\.5 at the example point"):
        cg.from_urdf(file)
