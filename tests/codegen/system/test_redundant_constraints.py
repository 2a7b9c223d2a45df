"""Constraints that follow from others where loops are closed: Bricard's mechanism, and a particle held twice.

Then drives that leave no freedom, and holonomic equations that say nothing.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest
import sympy as sp
from refusals import refused
from scipy.integrate import quad, solve_ivp
from unit_masses import unit_masses
from verification import says

import chaplygin as cg
from chaplygin.api.equations import Equations
from chaplygin.api.model import load_model
from chaplygin.api.python_model import python_model
from chaplygin.codegen.emit.targets import COMPILED, emit
from chaplygin.codegen.lower.lower import lower
from chaplygin.codegen.lower.options import LoweringOptions
from chaplygin.codegen.plan.plan import plan
from chaplygin.codegen.toolchain.cache import model_key
from chaplygin.codegen.toolchain.library import build
from chaplygin.errors import DeclarationError, EmitError, FormError

BRICARD = cg.example("bricard")
RODS = np.array([(1, 0, 0), (0, -1, 0), (0, 0, 1), (-1, 0, 0), (0, 1, 0)], float)
AXES = np.eye(3)[["xyz".index(axis) for axis in "yzxyz"]]
HOW = {"rtol": 1e-9, "atol": 1e-9}


@cache
def bricard(form: str = "multipliers") -> Any:
    return BRICARD.system.compile(form)


def turned(axis: np.ndarray, angle: float) -> np.ndarray:
    """Rodrigues' formula."""
    cross = np.cross(np.eye(3), axis)
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def solved(q: np.ndarray, v: np.ndarray, g: float = 9.81) -> tuple[np.ndarray, np.ndarray]:
    """The accelerations and the multipliers of least norm, from Newton's and Euler's equations rod by rod.

    NumPy's pseudo-inverse of the constraints' matrix in the metric of M takes the place of any elimination.
    """
    attitude, origin, spin = np.eye(3), np.zeros(3), np.zeros(3)
    linear, angular = np.zeros(3), np.zeros(3)  # accelerations with all angles' second derivatives zero
    mass, force, hinges = np.zeros((5, 5)), np.zeros(5), []
    for i in range(5):
        axis = attitude @ AXES[i]
        hinges.append((axis, origin))
        angular = angular + np.cross(spin, axis * v[i])
        spin = spin + axis * v[i]
        attitude = attitude @ turned(AXES[i], q[i])
        arm = attitude @ RODS[i]
        inertia = attitude @ np.diag(np.where(RODS[i] != 0, 0.01 / 6, 1.01 / 12)) @ attitude.T
        nothing = [np.zeros(3)] * (4 - i)
        bent = np.cross(angular, arm) + np.cross(spin, np.cross(spin, arm))
        acceleration = linear + bent / 2
        moves = np.array([np.cross(a, origin + arm / 2 - o) for a, o in hinges] + nothing).T
        turns = np.array([a for a, _ in hinges] + nothing).T
        mass += moves.T @ moves + turns.T @ inertia @ turns
        force -= moves.T @ (acceleration + np.array([0, g, 0]))
        force -= turns.T @ (inertia @ angular + np.cross(spin, inertia @ spin))
        origin, linear = origin + arm, linear + bent
    moves = np.array([np.cross(a, origin - o) for a, o in hinges]).T
    x = attitude @ np.eye(3)[0]
    swing = np.cross(angular, x) + np.cross(spin, np.cross(spin, x))
    rows = np.vstack([moves, np.cross(turns.T, x).T[1:]])
    bias = np.concatenate([linear, swing[1:]])
    free = np.linalg.solve(mass, force)
    across = np.linalg.solve(mass, rows.T)
    multipliers = np.linalg.pinv(rows @ across, rcond=1e-8) @ -(rows @ free + bias)
    return free + across @ multipliers, multipliers


@pytest.mark.slow
@pytest.mark.parametrize("form", ["multipliers", "recursive", "maggi"])
def test_bricard_keeps_its_energy_and_stays_closed(form: str) -> None:
    sol = bricard(form).integrate(BRICARD.t_span, BRICARD.initial, BRICARD.parameters, **HOW)
    assert sol.success
    assert np.ptp(sol.evaluate("energy")) < 1e-8
    for s in range(1, 6):
        assert np.abs(sol.evaluate(f"holonomic_{s}")).max() < 1e-11


@pytest.mark.slow
@pytest.mark.parametrize("form", ["multipliers", "recursive"])
def test_bricards_accelerations_and_multipliers_are_those_of_a_pseudo_inverse(form: str) -> None:
    model = bricard(form)
    sol = model.integrate((0, 2), BRICARD.initial, BRICARD.parameters, rtol=1e-11, atol=1e-11)
    p = [BRICARD.parameters[n] for n in model.parameters]
    python = python_model(BRICARD.system.equations(form).program, quiet=True)
    for i in np.linspace(1, len(sol.t) - 1, 8).astype(int):
        y = sol.y[:, i]
        accelerations, multipliers = solved(y[:5], y[5:])
        scale = np.abs(accelerations).max()
        np.testing.assert_allclose(model.rhs(0.0, y, p)[5:], accelerations, rtol=0, atol=1e-9 * scale)
        np.testing.assert_allclose(python.rhs(0.0, y, p)[5:], accelerations, rtol=0, atol=1e-9 * scale)
        found = [model.evaluate(0.0, y, p)[f"lambda_{s}"] for s in range(1, 6)]
        np.testing.assert_allclose(found, multipliers, rtol=0, atol=1e-8 * np.abs(multipliers).max())


@pytest.mark.slow
def test_bricards_run_is_that_of_scipy() -> None:
    """SciPy integrates the accelerations of the pseudo-inverse, unprojected: its drift is the tolerance here."""
    sol = bricard().integrate((0, 2), BRICARD.initial, BRICARD.parameters, rtol=1e-11, atol=1e-11)
    other = solve_ivp(
        lambda t, y: np.concatenate([y[5:], solved(y[:5], y[5:])[0]]),
        (0, 2),
        np.zeros(10),
        method="DOP853",
        rtol=1e-10,
        atol=1e-10,
    )
    np.testing.assert_allclose(sol.y[:, -1], other.y[:, -1], rtol=0, atol=1e-7)
    says("Bricard's mechanism", np.abs(sol.y[:, -1] - other.y[:, -1]).max())


@pytest.mark.slow
def test_lanes_choose_their_own_pivots_with_the_bits_of_a_single_run() -> None:
    model, weights = bricard(), np.linspace(7, 11, 11)
    parameters = BRICARD.parameters | {"g": weights}
    how = {"rtol": 1e-7, "atol": 1e-7, "method": "dop853"}
    for lanes in (2, 4):
        ens = cg.ensemble(
            model, (0, 3), BRICARD.initial, parameters, n=11, lanes=lanes, progress=False, **how
        )
        for i in (0, 4, 10):
            one = model.integrate((0, 3), BRICARD.initial, BRICARD.parameters | {"g": weights[i]}, **how)
            np.testing.assert_array_equal(one.y[:, -1], ens.y[:, i])


def held_twice(after: Any = 0, **more: Any) -> cg.System:
    """A particle on the plane z = 0, and on the plane z = 0 or x = -1, unless `after` is not zero."""
    x, y, z = cg.coordinates("x y z")
    m, g = cg.parameters("m g", positive=True)
    return cg.System(
        "held_twice",
        coordinates=[x, y, z],
        kinetic=m * sum(cg.rate(q) ** 2 for q in (x, y, z)) / 2,
        potential=m * g * z,
        holonomic=[z, z * (1 + x) + after],
        **more,
    )


def test_independent_constraints_are_not_called_redundant() -> None:
    x, y = cg.coordinates("x y")
    circle = unit_masses("circle", [x, y], holonomic=[x**2 + y**2 - 1])
    sol = circle.compile("multipliers").integrate((0, 1), {"x": 1, "y": 0, "x_dot": 0, "y_dot": 1})
    assert sol.message == "reached the end of the interval, t = 1"


def test_multipliers_are_those_of_least_norm() -> None:
    """lambda_1 + (1 + x) lambda_2 = m g; of all solutions (1, 1 + x) m g / (1 + (1 + x)^2) is the shortest."""
    system = held_twice()
    assert (system.redundancy, system.independent_constraints, system.rank_of_loops) == (1, (0,), 1)
    model = system.compile("multipliers")
    assert "least norm" in model.variables["lambda_1"].description
    given = {"x": 0.7, "y": 0.2, "z": 0, "x_dot": 1, "y_dot": 2, "z_dot": 0}
    sol = model.integrate((0, 3), given, {"m": 2, "g": 10}, **HOW)
    assert sol.message.endswith("constraints are redundant: their multipliers are those of least norm")
    np.testing.assert_allclose(sol["x"], 0.7 + sol.t, rtol=1e-13)
    weight = 20 / (1 + (1 + sol["x"]) ** 2)
    np.testing.assert_allclose(sol.evaluate("lambda_1"), weight, rtol=1e-13)
    np.testing.assert_allclose(sol.evaluate("lambda_2"), weight * (1 + sol["x"]), rtol=1e-13)
    np.testing.assert_allclose(sol.evaluate("reaction_z_dot"), 20, rtol=1e-13)


def test_independent_constraints_are_solved_as_before() -> None:
    """Only the kernel that tells the rank has pivots chosen at run time if the constraints are independent."""
    from chaplygin.codegen.emit.targets import emit

    x, y = cg.coordinates("x y")
    system = unit_masses("circle", [x, y], holonomic=[x**2 + y**2 - 1], example={x: 0.6, y: 0.8})
    assert system.redundancy == 0
    files = emit(system.equations("multipliers").program).files
    assert "cg_rank" not in files["circle_lanes.c"]
    assert files["circle_core.c"].count("cg_rank_factor(") == 1
    assert any(
        "cg_rank_factor(2, 1, " in t
        for t in emit(held_twice().equations("multipliers").program).files.values()
    )


def test_a_part_of_a_long_kernel_that_factors_is_not_repeated_for_wide_angles() -> None:
    """It finds its matrix in the workspace and overwrites it; so each of its angles is examined on its own."""
    from chaplygin.codegen.emit.targets import emit

    w, x, z = cg.coordinates("w x z")
    system = unit_masses("held_twice", [w, x, z], potential=sp.cos(w) + z, holonomic=[z, z * (1 + x)])
    options = LoweringOptions(longest_function=0, piece=8)
    program = plan(lower(system.equations("multipliers").nodes, options=options), options)
    text = emit(program).files["held_twice_lanes.c"]
    functions = re.findall(r"^static .*?^}", text, re.S | re.M)
    (after,) = (f for f in functions if "cg_rank_solve(" in f and "(cg_widest" in f)
    assert "cg_widest = NULL" in after


def test_constraints_that_come_to_contradict_each_other_end_the_run() -> None:
    """z = 0 and c z + w = 0, with c = 1 + x and w = max(0, t - 1)^3, agree until t = 1.

    Least squares give z = -c w / (1 + c^2). The residuals as moves of z are c w / (1 + c^2)^2 each, and ten tolerances
    are allowed.
    """
    system = held_twice(after=sp.Max(0, cg.time - 1) ** 3)
    assert system.redundancy == 1
    given = {"x": 0.7, "y": 0.2, "z": 0, "x_dot": 1, "y_dot": 2, "z_dot": 0}, {"m": 2, "g": 10}
    how: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-9, "method": "dop853"}
    model = system.compile("multipliers")
    sol = model.integrate((0, 3), *given, **how)
    c = 1.7 + sol.t[-1]
    w = 1e-8 * (1 + c**2) ** 2 / (2 * c)
    assert (sol.status, sol.success) == (-14, False)
    assert sol.t[-1] < 1 + w ** (1 / 3)
    assert "contradict each other" in sol.message
    np.testing.assert_allclose(sol["z"], 0, atol=1.001 * c * w / (1 + c**2))
    assert sol.t[-1] == pytest.approx(1 + w ** (1 / 3), abs=1e-7)
    assert f"stopped at t = {float(sol.t[-1])!r}" in sol.message
    ens = cg.ensemble(model, (0, 3), *given, n=3, lanes=2, progress=False, **how)
    np.testing.assert_array_equal(ens.status, -14)
    np.testing.assert_array_equal(ens.t, sol.t[-1])
    np.testing.assert_array_equal(ens.y[:, 1], sol.y[:, -1])
    np.testing.assert_array_equal(ens.n_steps, sol.n_steps)
    assert model.integrate((0, 1), *given, **how).success


def test_what_redundant_constraints_exclude_is_said() -> None:
    with pytest.raises(FormError, match="independent velocities"):
        BRICARD.system.equations("recursive", independent=[BRICARD.system.velocities[0]])
    with pytest.raises(EmitError, match="the constraints are redundant"):
        held_twice().compile("multipliers", methods=["taylor"])


def test_as_many_independent_constraints_as_velocities_are_refused() -> None:
    """Three equations of rank two, where they hold, for two coordinates."""
    x, y = cg.coordinates("x y")
    with pytest.raises(DeclarationError, match="3 constraints leave none of the 2 velocities free"):
        unit_masses("locked", [x, y], holonomic=[x, y, x * y])


@cache
def crossing() -> Any:
    """A particle on two cylinders of radius 1, whose ellipses y = z and y = -z cross at x = 1."""
    x, y, z = cg.coordinates("x y z")
    return unit_masses(
        "crossing",
        [x, y, z],
        holonomic=[(x**2 + y**2 - 1) / 2, (x**2 + z**2 - 1) / 2],
        example={x: 0.6, y: 0.8, z: 0.8},
    )


def test_a_change_of_rank_is_located_and_named() -> None:
    """At unit speed from angle 1 to the crossing on x = cos s, y = z = sin s takes the arc's length."""
    model = crossing().compile("multipliers")
    arc = quad(lambda s: np.sqrt(1 + np.cos(s) ** 2), 0, 1, epsabs=1e-13)[0]
    rate = 1 / np.sqrt(1 + np.cos(1) ** 2)
    start = {"x": np.cos(1), "y": np.sin(1), "z": np.sin(1)}
    start |= {"x_dot": rate * np.sin(1), "y_dot": -rate * np.cos(1), "z_dot": -rate * np.cos(1)}
    how = {"rtol": 1e-11, "atol": 1e-11, "method": "dop853"}
    sol = model.integrate((0, arc), start, {}, **how)
    assert (sol.status, sol.success) == (-13, False)
    assert sol.t[-1] == pytest.approx(arc, abs=1e-5)
    assert f"stopped at t = {arc:.4f}" in sol.message
    assert "the rank of the constraints changed" in sol.message
    assert model.integrate((0, 0.99 * arc), start, {}, **how).success
    lanes = cg.ensemble(model, (0, arc), start, {}, n=3, lanes=2, progress=False, **how)
    np.testing.assert_array_equal(lanes.status, -13)
    np.testing.assert_array_equal(lanes.t, sol.t[-1])


def test_a_start_in_a_singular_position_is_named() -> None:
    crossed = {"x": 1.0, "y": 0.0, "z": 0.0, "x_dot": 0.0, "y_dot": 1.0, "z_dot": 1.0}
    there = crossing().compile("multipliers").integrate((0, 1), crossed, {}, method="dop853")
    assert (there.status, len(there.t)) == (-13, 1)


@pytest.mark.slow
def test_four_bars_pass_their_singular_position_as_one_pendulum() -> None:
    """Parallel cranks are a pendulum; all links lie in line where its angle is a right one.

    Where steps end nearer to that position, as with tighter tolerances, a run stops there for want of rank.
    """
    entry = cg.example("n_four_bars", n=2)
    model = entry.system.compile("multipliers")
    sol = model.integrate((0, 10), entry.initial, entry.parameters, rtol=3e-9, atol=3e-9)
    pendulum = solve_ivp(
        lambda t, y: [y[1], (1.5 + 2) / (1 + 2) * 9.81 * np.sin(y[0])],
        (0, 10),
        [0, 1],
        method="DOP853",
        rtol=1e-13,
        atol=1e-13,
        t_eval=sol.t,
    )
    assert sol.success
    assert np.count_nonzero(np.diff(np.sign(np.cos(pendulum.y[0])))) > 4  # passed as often
    for i in range(3):
        np.testing.assert_allclose(sol[f"x{i}"], i + np.sin(pendulum.y[0]), rtol=0, atol=1e-6)
        np.testing.assert_allclose(sol[f"y{i}"], np.cos(pendulum.y[0]), rtol=0, atol=1e-6)
    says("two four-bars", np.abs(sol["x0"] - np.sin(pendulum.y[0])).max())
    assert np.ptp(sol.evaluate("energy")) < 1e-6
    folded = {"x0": 1, "y0": 0, "x1": 2, "y1": 0, "x2": 3, "y2": 0}
    still = entry.initial | folded | {f"{name}_dot": 0.0 for name in folded}
    assert model.integrate((0, 1), still, entry.parameters).status == -13


@pytest.mark.slow
@pytest.mark.parametrize("method", ["tsit5", "dop853", "vern9", "rodas5p"])
def test_a_four_bar_passes_its_singular_positions_as_a_pendulum_or_stops_at_one(method: str) -> None:
    """The constraints are independent but for the links in line. Parallel cranks are a pendulum."""
    entry = cg.example("n_four_bars", n=1)
    assert entry.system.redundancy == 0
    model = entry.system.compile("multipliers")
    swing = solve_ivp(
        lambda t, y: [y[1], (1 + 1) / (2 / 3 + 1) * 9.81 * np.sin(y[0])],
        (0, 10),
        [0, 1],
        method="DOP853",
        rtol=1e-13,
        atol=1e-13,
        dense_output=True,
    ).sol
    statuses = []
    for tolerance in (1e-6, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12):
        how = {"rtol": tolerance, "atol": tolerance, "method": method}
        sol = model.integrate((0, 10), entry.initial, entry.parameters, **how)
        angle = swing(sol.t)[0]
        for i in range(2):
            np.testing.assert_allclose(sol[f"x{i}"], i + np.sin(angle), rtol=0, atol=1e3 * tolerance)
        if sol.status != 0:
            stopped = re.match(r"stopped at t = (\d+\.\d+)", sol.message)
            assert stopped
            assert abs(np.cos(swing(float(stopped[1]))[0])) < 2e-3
        statuses.append(sol.status)
    assert set(statuses) == {0, -13}


# ---- large matrices ----


def off_the_singular_position(equations: Equations, seed: int) -> np.ndarray:
    initial = cg.example("n_four_bars", n=(len(equations.states) // 2 - 2) // 2).initial
    y = np.array([initial[name] for name in equations.states])
    return y + np.random.default_rng(seed).uniform(-0.02, 0.02, len(y))


@pytest.mark.parametrize("n", [2, pytest.param(24, marks=pytest.mark.slow)])
def test_entries_of_matrices_in_loops_are_those_written_out(n: int) -> None:
    bars = cg.example("n_four_bars", n=n)
    equations = bars.system.equations("multipliers")
    if n == 2:  # a small model as a large one
        large = LoweringOptions(longest_of_matrices=0, factoring_share=0)
        vars(equations)["program"] = plan(lower(equations.nodes, options=large), large)
    program = equations.program
    looped = {name for name in program.kernels if program.schedule(name).rolled is not None}
    assert looped >= {"rhs", "outputs", "correction", "rank", "closure"}
    sources = emit(
        program, COMPILED
    )  # at once: a compiled model would plan its late kernels with other options
    model, plain = (
        load_model(build(sources, key=model_key(f"matrices in loops {n}"))),
        python_model(program, quiet=True),
    )
    p, y = [bars.parameters[name] for name in model.parameters], off_the_singular_position(equations, 3)
    expected = plain.rhs(0.0, y, p)
    assert model.rhs(0.0, y, p) == pytest.approx(expected, rel=1e-10, abs=1e-12 * np.abs(expected).max())
    values, others = model.evaluate(0.0, y, p), plain.evaluate(0.0, y, p)
    assert [values[name] for name in others] == pytest.approx(list(others.values()), rel=1e-9, abs=1e-9)


@pytest.mark.slow
def test_code_of_many_loops_does_not_grow_with_their_matrices() -> None:
    """40 four-bars have matrices of 81 rows: 16,849 entries at the start of a run, 3,321 in each of six others."""
    equations = cg.example("n_four_bars", n=40).system.equations("multipliers")
    program = equations.program
    for name, longest in {"rank": 200, "closure": 200, "outputs": 400}.items():
        found = program.schedule(name).rolled
        assert found is not None
        assert sum(len(t.schedule.statements) for t in found.templates) < longest


@pytest.mark.slow
def test_lanes_with_large_matrices_give_the_bits_of_single_runs() -> None:
    bars = cg.example("n_four_bars", n=24)
    model = bars.system.compile("multipliers", wait=True)
    start = {
        k: v * (1 + 0.1 * np.arange(4)) if k.endswith("_dot") else np.full(4, v)
        for k, v in bars.initial.items()
    }
    how = {"method": "dop853", "rtol": 1e-6, "atol": 1e-6}
    ensemble = cg.ensemble(model, (0, 0.3), start, bars.parameters, n=4, lanes=4, **how)
    for i in range(4):
        alone = model.integrate((0, 0.3), {k: float(v[i]) for k, v in start.items()}, bars.parameters, **how)
        assert (alone.y[:, -1] == ensemble.y[:, i]).all()


x, y = cg.coordinates("x y")
m, length = cg.parameters("m l", positive=True)
w, g = cg.parameters("w g")
GIVEN = {
    "coordinates": [x, y],
    "kinetic": m * (cg.rate(x) ** 2 + cg.rate(y) ** 2) / 2,
    "potential": m * g * y,
}
CIRCLE = [x - length * sp.cos(w * cg.time), y - length * sp.sin(w * cg.time)]


def test_the_forces_of_a_motion_that_is_known() -> None:
    """A mass led round a circle: the forces are m x'' and m (y'' + g), and d/dm of the first is x''."""
    system = cg.System("led", **GIVEN, holonomic=CIRCLE)
    model, p = system.compile(), {"m": 2.0, "l": 1.5, "w": 0.7, "g": 9.81}
    assert model.form == "multipliers"
    start = {"x": 1.5, "y": 0.0, "x_dot": 0.0, "y_dot": 1.05}
    sol = model.integrate((0, 5), start, p, rtol=1e-10, atol=1e-12, sensitivities=["m"])
    expected = -1.5 * 0.49 * np.cos(0.7 * sol.t)
    np.testing.assert_allclose(sol["x"], 1.5 * np.cos(0.7 * sol.t), atol=1e-12)
    np.testing.assert_allclose(sol["lambda_1"], 2 * expected, atol=1e-12)
    np.testing.assert_allclose(sol.sensitivity["lambda_1", "m"], expected, atol=1e-12)
    weight = 2 * (9.81 - 1.5 * 0.49 * np.sin(0.7 * sol.t))
    np.testing.assert_allclose(sol["reaction_y_dot"], weight, atol=1e-11)
    found = model.consistent(dict.fromkeys(start, 0.5), p)
    assert found == pytest.approx(start, abs=1e-12)
    for form in ("maggi", "hamel", "nonholonomic"):
        words = r"constraints leave a velocity free' fails .*; use 'multipliers'"
        refused(words, system.equations, form, error=FormError)
    with pytest.raises(DeclarationError, match="3 constraints leave none of the 2 velocities free"):
        cg.System("held", **GIVEN, holonomic=[*CIRCLE, x - y])


def test_a_driven_tree_by_the_recursion() -> None:
    """The couple that turns a pendulum by q = sin w t: m l^2 q'' + m g l sin q."""
    arm = cg.joint.revolute(None, "y", name="q", mass=m, center=(0, 0, -length))
    drive = [arm.coordinates[0] - sp.sin(w * cg.time)]
    model = cg.System("arm", bodies=[arm], interactions=[cg.Weight(g)], holonomic=drive).compile("recursive")
    sol = model.integrate((0, 2), {"q": 0, "q_dot": 0.7}, {"m": 2.0, "l": 1.5, "w": 0.7, "g": 9.81})
    q = np.sin(0.7 * sol.t)
    np.testing.assert_allclose(sol["lambda_1"], 4.5 * -0.49 * q + 3 * 9.81 * np.sin(q), atol=1e-11)


def test_equations_that_are_zero_everywhere_are_left_out() -> None:
    rope, plain = x**2 + y**2 - length**2, sp.sin(x) ** 2 + sp.cos(x) ** 2 - 1
    system = cg.System("rope", **GIVEN, holonomic=[0, rope, plain])
    assert system.holonomic == (rope,)
    assert system.digest == cg.System("rope", **GIVEN, holonomic=[rope]).digest
    assert not cg.System("loose", **GIVEN, holonomic=[0]).constraints
    with pytest.raises(DeclarationError, match=r"holonomic\[0\] contains no coordinate"):
        cg.System("wrong", **GIVEN, holonomic=[length, rope])
