"""Rotors in URDF files: against closed forms, and against Pinocchio's mass matrix plus N^2 I for two arms."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_urdf import rates, text

import chaplygin as cg
from chaplygin.api.python_model import python_model
from chaplygin.codegen.symbols.symbols import DeclarationError

H, P = 1.57079632679, 3.14159265359
# Place and attitude of each joint; mass, mass centre and moments (xx, yy, zz, xy, xz, yz) of its link: as published by
# KUKA's and Franka's descriptions for ROS and Drake. Then ratio and inertia of the rotor: those of Drake's for the
# Panda, own figures for the iiwa.
ARMS = {
    "iiwa": (
        ((0, 0, 0.1575), (0, 0, 0), 5.76, (0, -0.03, 0.12), (0.033, 0.0333, 0.0123, 0, 0, 0), 160, 1.3e-4),
        ((0, 0, 0.2025), (H, 0, P), 6.35, (0.0003, 0.059, 0.042), (0.0305, 0.0304, 0.011, 0, 0, 0), 160, 1.3e-4),
        ((0, 0.2045, 0), (H, 0, P), 3.5, (0, 0.03, 0.13), (0.025, 0.0238, 0.0076, 0, 0, 0), 160, 9e-5),
        ((0, 0, 0.2155), (H, 0, 0), 3.5, (0, 0.067, 0.034), (0.017, 0.0164, 0.006, 0, 0, 0), 160, 9e-5),
        ((0, 0.1845, 0), (-H, P, 0), 3.5, (0.0001, 0.021, 0.076), (0.01, 0.0087, 0.00449, 0, 0, 0), 100, 5e-5),
        ((0, 0, 0.2155), (H, 0, 0), 1.8, (0, 0.0006, 0.0004), (0.0049, 0.0047, 0.0036, 0, 0, 0), 160, 4e-5),
        ((0, 0.081, 0), (-H, P, 0), 1.2, (0, 0, 0.02), (0.001, 0.001, 0.001, 0, 0, 0), 160, 4e-5),
    ),
    "panda": (
        ((0, 0, 0.333), (0, 0, 0), 2.74, (0, -0.0324958, -0.0675818),
         (0.0180416958283, 0.0159136071891, 0.00620690827127, 0, 0, 0.0046758424612), 100, 6.05721456e-5),
        ((0, 0, 0), (-H, 0, 0), 2.74, (0, -0.06861, 0.0322285),
         (0.0182856182281, 0.00621358421175, 0.0161514346309, 0, 0, -0.00472844221905), 100, 6.05721456e-5),
        ((0, -0.316, 0), (H, 0, 0), 2.38, (0.0469893, 0.0316374, -0.031704),
         (0.00771376630908, 0.00989108008727, 0.00811723558464, -0.00248490625138, -0.00332147581033,
          -0.00217796151484), 100, 4.62474144e-5),
        ((0.0825, 0, 0), (H, 0, 0), 2.38, (-0.0360446, 0.0336853, 0.031882),
         (0.00799663881132, 0.00825390705278, 0.0102515004345, 0.00347095570217, -0.00241222942995,
          0.00235774044121), 100, 4.62474144e-5),
        ((-0.0825, 0.384, 0), (-H, 0, 0), 2.74, (0, 0.0610427, -0.104176),
         (0.030371374513, 0.0288752887402, 0.00444134056164, 6.50283587108e-07, -1.05129179916e-05,
          -0.00775653445787), 100, 2.05544064e-5),
        ((0, 0, 0), (H, 0, 0), 1.55, (0.0510509, 0.009108, 0.0106343),
         (0.00303336450376, 0.00404479911567, 0.00558234286039, -0.000437276865508, 0.000629257294877,
          0.000130472021025), 100, 2.05544064e-5),
        ((0.088, 0, 0), (H, 0, 0), 0.54, (0.0109695, 0.0107965, 0.0650411),
         (0.000888868887021, 0.000888001373233, 0.0007176834609, -0.00012239074652, 3.98699829666e-05,
          -9.33825115206e-05), 100, 2.05544064e-5),
    ),
}  # fmt: skip
SPACE = 'xmlns:drake="http://drake.mit.edu"'


def words(numbers: Any) -> str:
    return " ".join(map(repr, numbers))


def arm(rows: Any) -> str:
    """A file of hinges about z in a row, on a world that it does not declare, with Drake's elements for rotors."""
    parts = []
    for i, (xyz, rpy, mass, center, moments, ratio, rotor) in enumerate(rows, 1):
        keys = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
        named = " ".join(f'{key}="{value}"' for key, value in zip(keys, moments, strict=True))
        carrier = f"l{i - 1}" if i > 1 else "world"
        parts.append(
            f'<link name="l{i}"> <inertial> <origin xyz="{words(center)}"/> <mass value="{mass}"/> '
            f"<inertia {named}/> </inertial> </link> "
            f'<joint name="j{i}" type="revolute"> <parent link="{carrier}"/> '
            f'<child link="l{i}"/> <origin xyz="{words(xyz)}" rpy="{words(rpy)}"/> <axis xyz="0 0 1"/> '
            '<limit lower="-3" upper="3" effort="9" velocity="9"/> </joint> '
            f'<transmission name="t{i}"> <joint name="j{i}"/> <actuator name="m{i}"> '
            f'<mechanicalReduction>1</mechanicalReduction> <drake:gear_ratio value="{ratio}"/> '
            f'<drake:rotor_inertia value="{rotor}"/> </actuator> </transmission>'
        )
    return f'<robot name="arm" {SPACE}> {" ".join(parts)} </robot>'


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
    rotors = np.diag([ratio**2 * rotor for *_, ratio, rotor in ARMS[name]])
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
