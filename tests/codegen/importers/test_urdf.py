"""Systems from URDF files of our own writing: against closed forms, and against Pinocchio reading the same files."""

from __future__ import annotations

import inspect
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from refusals import refused

import chaplygin as cg
from chaplygin.api.python_model import python_model
from chaplygin.codegen.symbols.symbols import DeclarationError

FILES = Path(__file__).parents[2] / "data" / "urdf"
ROBOT = """<robot name="r"> <link name="a"/> <link name="b"> <inertial> <mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/> </inertial> </link> {} </robot>"""
JOINT = (
    '<joint name="{name}" type="{kind}"> <parent link="{parent}"/> <child link="{child}"/> {more} </joint>'
)


def text(more: str = "", **parts: str) -> str:
    given = {"name": "j", "kind": "revolute", "parent": "a", "child": "b", "more": more} | parts
    return ROBOT.format(JOINT.format(**given))


def rates(system: cg.System, values: dict[str, float]) -> dict[str, float]:
    model = python_model(system.equations().program, quiet=True)
    found = model.rhs(
        0.0, *([values[n] for n in names] for names in (model.states, model.parameters, model.inputs))
    )
    return dict(zip(model.states, found, strict=True))


def test_a_motor_turns_a_damped_pendulum(tmp_path: Path) -> None:
    """(J + m c^2) d2q/dt2 = tau - d dq/dt - m g c sin q, with the mass centre at c below the pin."""
    more = '<axis xyz="0 2 0"/> <dynamics damping="0.3"/>'
    file = tmp_path / "pendulum.urdf"
    file.write_text(text(more).replace("<inertial>", '<inertial> <origin xyz="0 0 -0.5" rpy="0 0 0"/>'))
    system = cg.from_urdf(file)
    found = rates(system, {"j": 0.4, "j_dot": -1.5, "g": 9.81, "tau_j": 0.7})
    expected = (0.7 + 0.3 * 1.5 - 9.81 * 0.5 * np.sin(0.4)) / (1 + 0.25)
    assert found["j_dot"] == pytest.approx(expected, rel=1e-13)
    assert not cg.from_urdf(file, motors=False).inputs


@pytest.mark.integration("pinocchio")
@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("name", ["arm", "quadruped", "crane"])
def test_accelerations_are_those_of_pinocchio(name: str, base: str) -> None:
    pinocchio = import_module("pinocchio")
    path = FILES / f"{name}.urdf"
    free = (pinocchio.JointModelFreeFlyer(),) if base == "free" else ()
    theirs = pinocchio.buildModelFromUrdf(str(path), *free)
    theirs.gravity.linear = np.array([0, 0, -9.81])
    system, data, rng = cg.from_urdf(path, base=base), theirs.createData(), np.random.default_rng(3)
    model = python_model(system.equations().program, quiet=True)
    root = system.bodies[0].name
    for _ in range(5):
        q = pinocchio.randomConfiguration(theirs, -np.ones(theirs.nq), np.ones(theirs.nq))
        v, tau = rng.normal(size=theirs.nv), rng.normal(size=theirs.nv)
        values, names = {"g": 9.81}, [""] * theirs.nv
        for joint, label in zip(theirs.joints[1:], theirs.names[1:], strict=True):
            own = root if label == "root_joint" else label
            at, speed = q[joint.idx_q : joint.idx_q + joint.nq], slice(joint.idx_v, joint.idx_v + joint.nv)
            coordinates, velocities = meaning(joint.shortname(), own, at)
            values |= coordinates | dict(zip(velocities, v[speed], strict=True))
            names[speed] = velocities
            if f"tau_{own}" in model.inputs:
                values[f"tau_{own}"] = tau[joint.idx_v]
            else:
                tau[speed] = 0.0
        expected = pinocchio.aba(theirs, data, q, v, tau - theirs.damping * v)
        found = model.rhs(
            0.0, *([values[n] for n in needed] for needed in (model.states, model.parameters, model.inputs))
        )
        by_name = dict(zip(model.states, found, strict=True))
        np.testing.assert_allclose([by_name[n] for n in names], expected, rtol=1e-9, atol=1e-9)


def meaning(kind: str, name: str, q: np.ndarray) -> tuple[dict[str, float], list[str]]:
    """The coordinates and the names of the velocities of one of Pinocchio's joints."""
    if kind == "JointModelFreeFlyer":
        order = [*(f"{name}_{axis}" for axis in "xyz"), *(f"{name}_q{i}" for i in (1, 2, 3, 0))]
        return dict(zip(order, q, strict=True)), [f"{name}_{part}{axis}" for part in "vw" for axis in "xyz"]
    angle = float(np.arctan2(q[1], q[0])) if len(q) == 2 else float(q[0])
    return {name: angle}, [f"{name}_dot"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("no xml", "it is not XML"),
        ("<model/>", "its root element is <model>"),
        ('<!DOCTYPE robot [<!ENTITY m "1">]><robot/>', "document type"),
        ("<robot name='r'/>", "no link"),
        (text(parent="c"), "joint 'j': its parent 'c' is not a link"),
        (text(child="c"), "joint 'j': its child 'c' is not a link"),
        (text(kind="fixed"), 'nothing moves: it has no joint but fixed ones; pass base="free"'),
        (text(name="n" * 64), r"joint 'n+\.\.\.: a name has at most 63 characters"),
        (text(name="1" * 63), r"joint 'joint_1+\.\.\.: a name has at most 63 characters"),
        (text().replace('name="a"', 'name="&x;"', 1), "it is not XML: undefined entity"),
        (text(kind="screw"), "joint 'j' has the type 'screw'; give one of"),
        (text('<axis xyz="0 0 0"/>'), "joint 'j': its axis is zero"),
        (text('<axis xyz="0 0"/>'), "joint 'j': <axis xyz='0 0'>; give 3 finite numbers"),
        (text('<origin rpy="0 nan 0"/>'), "joint 'j': <origin rpy='0 nan 0'>; give 3 finite numbers"),
        (text('<dynamics friction="2"/>'), "joint 'j' has friction = 2"),
        (text().replace('<mass value="1"/>', ""), "link 'b': <mass value=...> is missing"),
        (text().replace('<mass value="1"/>', '<mass value="-1"/>'), "Body 'b': mass is -1"),
        (text(parent="b", child="a"), "nothing moves: .* fixed ones and the joint 'j', with no mass to move"),
        (text().replace("<link ", '<link name="c"/> <link ', 1), "no joint carries the links 'c', 'a'"),
        (text().replace('name="b"', 'name="a"', 1), "two links are named 'a'"),
        (
            text().replace(
                "</robot>", JOINT.format(name="k", kind="fixed", parent="b", child="a", more="") + "</robot>"
            ),
            "a cycle of links: a - b - a",
        ),
        (
            text().replace(
                "</robot>", JOINT.format(name="k", kind="fixed", parent="a", child="b", more="") + "</robot>"
            ),
            "link 'b' is carried by two joints, 'j' and 'k'",
        ),
    ],
)
def test_bad_files_are_refused_by_link_or_joint(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "r.urdf"
    file.write_text(content)
    refused(message, cg.from_urdf, file, error=DeclarationError)


@pytest.mark.parametrize("encoding", ["klingon", "utf-7", "shift_jis", "utf-32"])
def test_unknown_encodings_are_refused(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "r.urdf"
    file.write_text(f"<?xml version='1.0' encoding='{encoding}'?>{text()}")
    words = r"from_urdf\(r.urdf\): (its encoding cannot be read|it is not XML)"
    refused(words, cg.from_urdf, file, error=DeclarationError)


@pytest.mark.parametrize("path", [None, 3, b"r.urdf", ["r.urdf"]])
def test_what_is_no_path_is_named(path: Any) -> None:
    refused(r"from_urdf: path is .*; give the path of a file", cg.from_urdf, path, error=DeclarationError)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"base": "fee"}, "base is 'fee'; give 'fixed' or 'free'"),
        ({"friction": "no"}, "friction is 'no'; give 'refuse' or 'ignore'"),
        ({"motors": "no"}, "motors is 'no'; give True or False"),
        ({"parameters": "all"}, "parameters is 'all'; give 'numbers' or 'symbolic'"),
    ],
)
def test_wrong_options_are_named(option: dict[str, str], message: str) -> None:
    refused(message, cg.from_urdf, "robot.urdf", error=DeclarationError, **option)


def test_names_become_identifiers(tmp_path: Path) -> None:
    file = tmp_path / "r.urdf"
    file.write_text(text(name="left-hip/roll"))
    assert [s.name for s in cg.from_urdf(file).coordinates] == ["left_hip_roll"]


def test_a_missing_file_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        cg.from_urdf(tmp_path / "missing.urdf")


def chain(n: int, kind: str, first: str = "continuous", backward: bool = False) -> str:
    """Links of a chain, also with each child before the link that carries it."""
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    parts = [f'<link name="l{i}">{inertial}</link>' for i in range(n)]
    parts += [
        JOINT.format(
            name=f"j{i}", kind=first if i == 1 else kind, parent=f"l{i - 1}", child=f"l{i}",
            more='<origin xyz="0 0 0.1" rpy="0 0 0.01"/> <axis xyz="1 0 0"/>',
        )
        for i in range(1, n)
    ]  # fmt: skip
    return f"<robot name='r'>{''.join(reversed(parts) if backward else parts)}</robot>"


def test_links_that_are_fixed_to_one_another(tmp_path: Path) -> None:
    """Along a chain of fixed links the work grows with their number, as numbers stay short; so do their poses."""
    file = tmp_path / "r.urdf"
    file.write_text(chain(40, "fixed"))
    system = cg.from_urdf(file, base="fixed")
    last = system.bodies[-1]
    q, n = system.coordinates[0], 38
    spiral = sp.Matrix([0, 0, 0.1 * n])
    turned = sp.Matrix(
        [[sp.cos(0.01 * n), -sp.sin(0.01 * n), 0], [sp.sin(0.01 * n), sp.cos(0.01 * n), 0], [0, 0, 1]]
    )
    for value in (0.0, 0.7):
        hinge = sp.Matrix(cg.turn(3, 0.01) * cg.turn(1, value))
        where, attitude = _in_space(last, {q: value})
        assert float((attitude - hinge * turned).norm()) < 1e-13
        assert float((where - sp.Matrix([0, 0, 0.1]) - hinge * spiral).norm()) < 1e-13
    assert last.parent is system.bodies[1]


def _in_space(body: Any, values: Any) -> tuple[Any, Any]:
    """The mass centre and the attitude of a link, composed along the links that carry it."""
    where, attitude = body.center.subs(values), body.rotation.subs(values)
    while (body := body.parent) is not None:
        carried = body.rotation.subs(values)
        where, attitude = body.center.subs(values) + carried * where, carried * attitude
    return where.evalf(), attitude.evalf()


@pytest.mark.parametrize(("n", "kind"), [(120, "fixed"), (110, "prismatic")])
@pytest.mark.sample(1)
def test_long_chains_with_the_child_first(tmp_path: Path, n: int, kind: str) -> None:
    file = tmp_path / "r.urdf"
    file.write_text(chain(n, kind, backward=True))
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 350)
    try:
        system = cg.from_urdf(file, base="fixed")
    finally:
        sys.setrecursionlimit(limit)
    assert len(system.bodies) == n
