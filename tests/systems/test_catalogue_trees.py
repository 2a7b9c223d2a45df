"""The catalogue's trees and loops of rigid bodies against Newton-Euler, published equations, and Pinocchio."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from body_trees import accelerations
from newton_euler import Link, State, Tree, pinocchio_accelerations
from published_bicycle import BY_SPEED, BY_WEIGHT, DAMPING, MASS
from scipy.spatial.transform import Rotation
from verification import says

import chaplygin as cg
from chaplygin.codegen.graph.differentiate import partials
from chaplygin.codegen.graph.evaluate import evaluate
from chaplygin.systems import hexapod, humanoid, robot_arm, spatial_chain, squeezer

slow = pytest.mark.slow
SPRUNG = ("humanoid", "hexapod")


# -- trees as tables --------------------------------------------------------------------------------------------------
def chain_links(n: int, joint: str) -> list[Link]:
    """A universal joint is two hinges with nothing between them."""
    p = spatial_chain.PARAMETERS
    body = {"mass": p["m"], "center": (0, 0, -p["l"] / 2), "inertia": (p["J1"], p["J2"], p["J3"])}
    links: list[Link] = []
    for i in range(1, n + 1):
        place, above = (0, 0, -p["l"] if links else 0), len(links) - 1
        if joint == "universal":
            links += [
                Link(f"a{i}_1", above, axis="x", place=place),
                Link(f"a{i}_2", above + 1, axis="y", **body),
            ]
        else:
            kind = {} if joint == "ball" else {"axis": "yx"[i % 2]}
            links.append(Link(f"a{i}", above, joint, place=place, **kind, **body))
    return links


def humanoid_links() -> list[Link]:
    rows = (humanoid.PELVIS, *humanoid.PARTS)
    names = [row.name for row in rows]

    def link(row: humanoid.Bone) -> Link:
        kind = ("revolute", row.axis) if row.parent else ("free", "z")
        above = names.index(row.parent) if row.parent else -1
        return Link(row.name, above, *kind, row.at, np.eye(3), row.mass, row.center, row.inertia)

    return [link(row) for row in rows]


def hexapod_links() -> list[Link]:
    def solid(part: str, center: float = 0.0) -> dict[str, Any]:
        return {"mass": hexapod.MASSES[part], "inertia": hexapod.moments(part), "center": (center, 0, 0)}

    links = [Link("platform", -1, "free", **solid("platform"))]
    for i in range(6):
        frame = Rotation.from_euler("z", np.pi * i / 3).as_matrix()
        hip, first = hexapod.RIM * frame[:, 0], len(links)
        links += [
            Link(f"coxa{i + 1}", 0, axis="z", place=hip, frame=frame, **solid("coxa", hexapod.COXA / 2)),
            Link(f"femur{i + 1}", first, axis="y", place=(hexapod.COXA, 0, 0), **solid("femur", 0.06)),
            Link(f"tibia{i + 1}", first + 1, axis="y", place=(hexapod.FEMUR, 0, 0), **solid("tibia", 0.1)),
        ]
    return links


def arm_links() -> list[Link]:
    """The file, read by a few lines that know this file's elements only."""
    root = ElementTree.parse(robot_arm.FILE).getroot()
    names = ["base"]
    links = []

    def numbers(element: Any, attribute: str) -> list[float]:
        return [float(word) for word in element.get(attribute).split()]

    for joint in root.findall("joint"):
        name = joint.find("child").get("link")
        (body,) = (link.find("inertial") for link in root.findall("link") if link.get("name") == name)
        origin, tensor = joint.find("origin"), body.find("inertia")
        moment = {key: float(value) for key, value in tensor.attrib.items()}
        inertia = np.array([[moment["i" + "".join(sorted(a + b))] for a in "xyz"] for b in "xyz"])
        links.append(
            Link(
                joint.get("name"),
                names.index(joint.find("parent").get("link")) - 1,
                axis=numbers(joint.find("axis"), "xyz"),
                place=numbers(origin, "xyz"),
                frame=Rotation.from_euler("xyz", numbers(origin, "rpy")).as_matrix(),
                mass=float(body.find("mass").get("value")),
                center=numbers(body.find("origin"), "xyz"),
                inertia=inertia,
            )
        )
        names.append(name)
    return links


def load(name: str, at: State) -> Callable[[str], float]:
    """The generalised forces of springs and dampers."""
    damping = {
        joint.get("name"): float(joint.find("dynamics").get("damping"))
        for joint in ElementTree.parse(robot_arm.FILE).getroot().findall("joint")
    }

    def force(velocity: str) -> float:
        angle = velocity.removesuffix("_dot")
        if name == "robot_arm":
            return -damping[angle] * at[velocity]
        if name not in SPRUNG or angle == velocity:
            return 0.0
        rest = hexapod.STANCE[angle[:-1]] if name == "hexapod" else 0.0
        return -at["k"] * (at[angle] - rest) - at["c"] * at[velocity]

    return force


CASES: dict[str, tuple[str, dict[str, Any], Callable[[], list[Link]]]] = {
    "hinges": ("spatial_chain", {}, lambda: chain_links(3, "revolute")),
    "universal": ("spatial_chain", {"n": 3, "joint": "universal"}, lambda: chain_links(3, "universal")),
    "ball": ("spatial_chain", {"n": 3, "joint": "ball"}, lambda: chain_links(3, "ball")),
    "robot_arm": ("robot_arm", {}, arm_links),
    "humanoid": ("humanoid", {}, humanoid_links),
    "hexapod": ("hexapod", {}, hexapod_links),
    "30 hinges": ("spatial_chain", {"n": 30}, lambda: chain_links(30, "revolute")),
    "30 balls": ("spatial_chain", {"n": 30, "joint": "ball"}, lambda: chain_links(30, "ball")),
    "100 hinges": ("spatial_chain", {"n": 100}, lambda: chain_links(100, "revolute")),
}
QUICK = ("hinges", "ball")
NAMES = [pytest.param(name, marks=[] if name in QUICK else [slow]) for name in CASES]


@cache
def entry_of(case: str) -> cg.Example:
    name, options, _ = CASES[case]
    return cg.example(name, **options)


def state(entry: cg.Example, seed: int) -> State:
    """A random state near the start, with unit quaternions; loops need not be closed."""
    rng = np.random.default_rng(seed)
    at = {name: value + rng.uniform(-0.7, 0.7) for name, value in entry.initial.items()}
    for first in [name for name in at if name.endswith("_q0")]:
        q = [f"{first[:-1]}{i}" for i in range(4)]
        size = np.sqrt(sum(at[name] ** 2 for name in q))
        at |= {name: at[name] / size for name in q}
    return at | dict(entry.parameters)


def in_form(entry: cg.Example, form: str, at: State) -> dict[str, float]:
    """The accelerations by name, from the graph."""
    found = accelerations(entry.system, form, at, **entry.options.get(form, {}))
    return dict(zip((v.name for v in entry.system.velocities), found, strict=False))


def close(found: dict[str, float], expected: dict[str, float], tolerance: float) -> None:
    size = max(map(abs, expected.values()))
    assert size > 0.05
    assert max(abs(found[name] - value) for name, value in expected.items() if name in found) <= tolerance * (
        1 + size
    )


@pytest.mark.parametrize("case", NAMES)
def test_forces_of_the_accelerations_are_those_of_newton_and_euler(case: str) -> None:
    """Inverse dynamics, which is well conditioned for long chains too; the forces on held feet do no work."""
    entry, links = entry_of(case), CASES[case][2]()
    feet = [i for i, link in enumerate(links) if "tibia" in link.joint]
    for seed in range(3 if "0" in case else 20):
        at = state(entry, seed)
        found, tree, force = in_form(entry, "recursive", at), Tree(links, at), load(entry.name, at)
        rates = np.array([found[name] for name in tree.velocities])
        needed = tree.forces(tree.speed, rates, 9.81) - [force(name) for name in tree.velocities]
        if feet:
            points = [tree.point(i, (hexapod.TIBIA, 0, 0)) for i in feet]
            rows, bias = np.vstack([p[0] for p in points]), np.concatenate([p[1] for p in points])
            np.testing.assert_allclose(rows @ rates, -bias, rtol=0, atol=1e-11 * np.abs(bias).max())
            needed -= rows.T @ np.linalg.lstsq(rows.T, needed)[0]
        size = np.abs(tree.forces(tree.speed, 0 * rates, 9.81)).max()
        assert size > 1
        assert np.abs(needed).max() <= 1e-12 * size


@pytest.mark.parametrize(
    ("case", "form"),
    [
        *(pytest.param("hinges", form) for form in ("lagrange", "poincare")),
        *(pytest.param("universal", form, marks=slow) for form in ("lagrange", "poincare")),
        pytest.param("ball", "poincare"),
        *(pytest.param("robot_arm", form, marks=slow) for form in ("lagrange", "poincare")),
    ],
)
def test_recursive_is_the_form_with_a_mass_matrix(case: str, form: str) -> None:
    entry = entry_of(case)
    for seed in range(20):
        at = state(entry, seed)
        close(in_form(entry, "recursive", at), in_form(entry, form, at), 1e-11)


@pytest.mark.integration("pinocchio")
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(name, marks=[] if name in QUICK else [slow])
        for name in CASES
        if name not in ("universal", "hexapod", "30 balls")
    ],
)
def test_recursive_is_the_recursion_of_pinocchio(case: str) -> None:
    """Not with 30 ball joints: there its results change by 1e-8 with the last bit of the quaternions, ours by 1e-14."""
    pinocchio = import_module("pinocchio")
    entry, links = entry_of(case), CASES[case][2]()
    for seed in range(3 if "0" in case else 20):
        at = state(entry, seed)
        expected = pinocchio_accelerations(pinocchio, links, at, load(entry.name, at))
        close(in_form(entry, "recursive", at), expected, 1e-11)


def test_one_ball_joint_is_the_heavy_top() -> None:
    chain, top = cg.example("spatial_chain", n=1, joint="ball"), cg.example("heavy_top")
    p, at = chain.parameters, state(chain, 4)
    steiner = p["m"] * p["l"] ** 2 / 4
    known = {"I1": p["J1"] + steiner, "I2": p["J2"] + steiner, "I3": p["J3"], "m": p["m"], "g": p["g"]}
    known |= {"r1": 0.0, "r2": 0.0, "r3": -p["l"] / 2}
    known |= {f"q{i}": at[f"a1_q{i}"] for i in range(4)}
    known |= {f"w{i}": at[f"a1_w{axis}"] for i, axis in enumerate("xyz", 1)}
    expected = accelerations(top.system, "poincare", known)
    np.testing.assert_allclose(
        accelerations(chain.system, "recursive", at), expected, rtol=0, atol=1e-13 * np.abs(expected).max()
    )


# -- the squeezer -----------------------------------------------------------------------------------------------------
def published_loops(p: Any, x: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The derivatives of the six equations that close the loops, and their second derivatives at constant rates."""
    rr, d, e, zt, u, zf, ss = (p(name) for name in ("rr", "d", "e", "zt", "u", "zf", "ss"))

    def moved(angles: Any, order: int) -> np.ndarray:
        """d^order/ds^order of (angle -> (cos, sin)) in each of the angles given, as (2,) vectors."""
        turned = np.asarray(angles) + order * np.pi / 2
        return np.array([np.cos(turned), np.sin(turned)])

    # g = sum of +-length * (cos, sin)(sum of angles): rows of (length, quarter turns, angles) by loop.
    common = [(rr, 0, [0]), (-d, 0, [0, 1])]
    loops = [
        [*common, (-ss, -1, [2])],
        [*common, (-e, -1, [3, 4]), (-zt, 0, [4])],
        [*common, (-zf, 0, [5, 6]), (-u, -1, [6])],
    ]
    rows, bias = np.zeros((6, 7)), np.zeros(6)
    for i, loop in enumerate(loops):
        for size, quarter, angles in loop:
            angle, rate = x[angles].sum() + quarter * np.pi / 2, v[angles].sum()
            rows[2 * i : 2 * i + 2, angles] += size * moved(angle, 1)[:, None]
            bias[2 * i : 2 * i + 2] += size * moved(angle, 2) * rate**2
    return rows, bias


def published_squeezer(at: State) -> np.ndarray:
    """The accelerations by Hairer and Wanner, section VII.7, equations (7.8) to (7.10)."""
    p: Any = at.__getitem__
    rr, da, e, zt, u, zf = (p(name) for name in ("rr", "da", "e", "zt", "u", "zf"))
    _, theta, gamma, phi, _, omega, _ = (p(name) for name in squeezer.ANGLES)
    v = np.array([p(f"{name}_dot") for name in squeezer.ANGLES])
    m, moment = ([0, *(p(f"{letter}{i}") for i in range(1, 8))] for letter in "mI")
    e4, f6 = e - p("ea"), zf - p("fa")
    sin, cos = np.sin, np.cos
    mass = np.zeros((7, 7))
    mass[0, 0] = (
        m[1] * p("ra") ** 2 + m[2] * (rr**2 - 2 * da * rr * cos(theta) + da**2) + moment[1] + moment[2]
    )
    mass[1, 0] = mass[0, 1] = m[2] * (da**2 - da * rr * cos(theta)) + moment[2]
    mass[1, 1] = m[2] * da**2 + moment[2]
    mass[2, 2] = m[3] * (p("sa") ** 2 + p("sb") ** 2) + moment[3]
    mass[3, 3] = m[4] * e4**2 + moment[4]
    mass[4, 3] = mass[3, 4] = m[4] * (e4**2 + zt * e4 * sin(phi)) + moment[4]
    mass[4, 4] = m[4] * (zt**2 + 2 * zt * e4 * sin(phi) + e4**2) + m[5] * (p("ta") ** 2 + p("tb") ** 2)
    mass[4, 4] += moment[4] + moment[5]
    mass[5, 5] = m[6] * f6**2 + moment[6]
    mass[6, 5] = mass[5, 6] = m[6] * (f6**2 - u * f6 * sin(omega)) + moment[6]
    mass[6, 6] = m[6] * (f6**2 - 2 * u * f6 * sin(omega) + u**2) + m[7] * (p("ua") ** 2 + p("ub") ** 2)
    mass[6, 6] += moment[6] + moment[7]
    corner = np.array(
        [
            p("sd") * cos(gamma) + p("sc") * sin(gamma) + p("xb"),
            p("sd") * sin(gamma) - p("sc") * cos(gamma) + p("yb"),
        ]
    )
    along = corner - [p("xc"), p("yc")]
    length = np.linalg.norm(along)
    pull = -p("c0") * (length - p("l0")) / length * along
    force = np.array(
        [
            p("mom") - m[2] * da * rr * v[1] * (v[1] + 2 * v[0]) * sin(theta),
            m[2] * da * rr * v[0] ** 2 * sin(theta),
            pull[0] * (p("sc") * cos(gamma) - p("sd") * sin(gamma)) + pull[1] * (corner[0] - p("xb")),
            m[4] * zt * e4 * v[4] ** 2 * cos(phi),
            -m[4] * zt * e4 * v[3] * (v[3] + 2 * v[4]) * cos(phi),
            -m[6] * u * f6 * v[6] ** 2 * cos(omega),
            m[6] * u * f6 * v[5] * (v[5] + 2 * v[6]) * cos(omega),
        ]
    )

    rows, bias = published_loops(p, np.array([p(name) for name in squeezer.ANGLES]), v)
    whole = np.block([[mass, rows.T], [rows, np.zeros((6, 6))]])
    return np.linalg.solve(whole, np.concatenate([force, -bias]))[:7]


END = """0.1581077119629904e+2 -0.1575637105984298e+2 0.4082224013073101e-1 -0.5347301163226948e+0
0.5244099658805304e+0 0.5347301163226948e+0 0.1048080741042263e+1 0.1139920302151208e+4 -0.1424379294994111e+4
0.1103291221937134e+2 0.1929337464421385e+2 0.5735699284790808e+0 -0.1929337464421385e+2 0.3231791658026955e+0"""
"""Angles and their rates at t = 0.03 by PSIDE at 1e-14, from the test set for initial value problems of Bari."""


@pytest.mark.parametrize("form", ["multipliers", pytest.param("recursive", marks=slow)])
def test_squeezer_has_the_published_equations(form: str) -> None:
    entry = cg.example("squeezer")
    for seed in range(20):
        at = dict(entry.parameters) | dict(entry.initial)
        rng = np.random.default_rng(seed)
        at |= {name: value + rng.uniform(-0.1, 0.1) for name, value in entry.initial.items()}
        found, expected = accelerations(entry.system, form, at), published_squeezer(at)
        assert np.abs(found - expected).max() <= 1e-10 * np.abs(expected).max()


def test_squeezer_starts_with_the_published_accelerations() -> None:
    entry = cg.example("squeezer")
    found = accelerations(entry.system, "multipliers", {**entry.parameters, **entry.initial})
    expected = [14222.4439199541138705911625887, -10666.8329399655854029433719415, 0, 0, 0, 0, 0]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    says("Andrews' squeezer, its accelerations", np.abs(found - expected).max())


@slow
@pytest.mark.parametrize("form", ["multipliers", "maggi", "recursive"])
def test_squeezer_ends_in_the_published_state(form: str) -> None:
    """The smaller rates of the source have 7 digits: all forms here agree with each other in 12."""
    entry = cg.example("squeezer")
    model = entry.system.compile(form)
    expected = np.array(END.split(), dtype=float)
    for project, tolerance, angles, rates in (
        ("constraints", 1e-9, 1e-7, 1e-6),
        ("constraints", 1e-12, 1e-9, 1e-7),  # corrections that rounding errors keep from becoming smaller
        (None, 1e-12, 1e-9, 1e-7),
    ):
        given = {"rtol": tolerance, "atol": tolerance, "project": project}
        sol = model.integrate(entry.t_span, entry.initial, entry.parameters, **given)
        assert sol.success
        end = np.array([sol[name][-1] for name in entry.initial])
        np.testing.assert_allclose(end[:7], expected[:7], rtol=angles)
        np.testing.assert_allclose(end[7:], expected[7:], rtol=rates)
        assert np.ptp(sol.evaluate("energy") - entry.parameters["mom"] * sol["beta"]) < 10 * tolerance
    says("Andrews' squeezer, its angles", np.abs(end[:7] / expected[:7] - 1).max())
    says("Andrews' squeezer, its rates", np.abs(end[7:] / expected[7:] - 1).max())


# -- the bicycle ------------------------------------------------------------------------------------------------------


def linearized_bicycle(speed: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """M, C and K about rolling straight upright, from the equations in the independent velocities."""
    entry = cg.example("bicycle")
    eqs = entry.system.equations("maggi", **entry.options["maggi"]).nodes
    g = eqs.graph
    at = {**entry.parameters, **dict.fromkeys(entry.initial, 0.0), "rear_dot": speed / entry.parameters["rR"]}
    known = {str(g.value[n]): n for n in (*eqs.coordinate_nodes, *eqs.velocity_nodes)}
    kept = [0, 2]  # lean and steer; the speed stays
    slopes = partials(
        g, [eqs.force[i] for i in kept], [known[n] for n in ("phi", "delta", "phi_dot", "delta_dot")]
    )
    by = np.array([evaluate(g, list(column), at) for column in slopes]).T
    mass = np.array([evaluate(g, [eqs.mass[max(i, j)][min(i, j)] for j in kept], at) for i in kept])
    return mass, -by[:, 2:], -by[:, :2]


@pytest.mark.slow
def test_bicycle_has_the_matrices_of_the_benchmark() -> None:
    for speed in (0.0, 1.0, 5.0):
        mass, damping, stiffness = linearized_bicycle(speed)
        np.testing.assert_allclose(mass, MASS, rtol=1e-12)
        np.testing.assert_allclose(damping, speed * np.array(DAMPING), rtol=0, atol=1e-11)
        expected = 9.81 * np.array(BY_WEIGHT) + speed**2 * np.array(BY_SPEED)
        np.testing.assert_allclose(stiffness, expected, rtol=0, atol=1e-10)
    says("matrices of a bicycle", np.abs(stiffness - expected).max())  # at 5 m/s the largest error of all


@slow
@pytest.mark.parametrize(("speed", "weaves"), [(4.29238253634111, True), (6.02426201538837, False)])
def test_bicycle_is_stable_between_the_published_speeds(speed: float, weaves: bool) -> None:
    mass, damping, stiffness = linearized_bicycle(speed)
    still, one = np.zeros((2, 2)), np.eye(2)
    first = np.block([[still, one], [-np.linalg.solve(mass, stiffness), -np.linalg.solve(mass, damping)]])
    roots = np.linalg.eigvals(first)
    leading = roots[np.argmax(roots.real)]
    assert abs(leading.real) < 1e-11
    assert (abs(leading.imag) > 1) == weaves


@slow
def test_bicycle_in_three_forms() -> None:
    """Rolling after a push in the stable range: forms agree, energy stays, it comes back upright and straight."""
    entry = cg.example("bicycle")
    ends = []
    for form in entry.forms:
        model = entry.system.compile(form, **entry.options.get(form, {}))
        sol = model.integrate((0, 20), entry.initial, entry.parameters, rtol=1e-10, atol=1e-11)
        assert sol.success
        assert np.ptp(sol.evaluate("energy")) < 1e-7
        assert max(np.abs(sol.evaluate(name)).max() for name in model.residuals) < 1e-10
        ends.append([sol[name][-1] for name in entry.initial])
        assert abs(sol["phi"]).max() > 0.05
        assert abs(sol["phi"][-1]) < 1e-3
    np.testing.assert_allclose(ends, [ends[0]] * 3, rtol=0, atol=1e-7)


# -- motions ----------------------------------------------------------------------------------------------------------
def centre(links: list[Link], at: State) -> np.ndarray:
    tree = Tree(links, at)
    places = [
        o + a @ np.asarray(x.center) for o, a, x in zip(tree.origins, tree.attitudes, links, strict=True)
    ]
    return np.average(places, axis=0, weights=[x.mass for x in links])


@slow
def test_mass_centre_of_the_humanoid_falls_freely() -> None:
    entry, links = cg.example("humanoid"), humanoid_links()
    model = entry.system.compile()
    assert model.form == "recursive"
    sol = model.integrate(
        entry.t_span, entry.initial, entry.parameters, rtol=1e-10, atol=1e-11, t_eval=[0, 0.5, 1]
    )
    r = [centre(links, {name: sol[name][i] for name in entry.initial}) for i in range(3)]
    np.testing.assert_allclose(r[0] - 2 * r[1] + r[2], [0, 0, -9.81 / 4], rtol=0, atol=1e-9)


@slow
def test_hexapod_by_multipliers() -> None:
    """The accelerations are those of the recursion; the feet carry the weight once it stands still."""
    entry = entry_of("hexapod")
    model = entry.system.compile("multipliers")
    for seed in range(20):
        at = state(entry, seed)
        rates = model.rhs(0.0, *([at[name] for name in names] for names in (model.states, model.parameters)))
        close(dict(zip(model.states, rates, strict=True)), in_form(entry, "recursive", at), 1e-11)
    sol = model.integrate((0, 5), entry.initial, entry.parameters, rtol=1e-8, atol=1e-9)
    assert sol.success
    assert max(abs(sol[f"platform_v{axis}"][-1]) for axis in "xyz") < 1e-9
    weight = 9.81 * sum(link.mass for link in hexapod_links())
    assert sum(sol.evaluate(f"lambda_{3 * i}")[-1] for i in range(1, 7)) == pytest.approx(weight, rel=1e-8)
    assert max(np.abs(sol.evaluate(name)).max() for name in model.residuals) < 1e-9


def test_sizes_and_joints_are_checked() -> None:
    assert len(cg.example("spatial_chain", n=4, joint="ball").initial) == 28
    with pytest.raises(ValueError, match="n must be at least 1"):
        cg.example("spatial_chain", n=0)
    with pytest.raises(ValueError, match="joint is 'weld'; give one of revolute, universal, ball"):
        cg.example("spatial_chain", joint="weld")
