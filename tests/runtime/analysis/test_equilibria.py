"""Equilibria, steady motions and their branches against closed forms."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import pytest
import sympy as sp
from plane_systems import pendulum_in_x_and_y
from refusals import refused
from scipy import optimize
from steady_models import HOOP, hoop, on_rails, two_oscillators
from unit_masses import unit_masses

import chaplygin as cg
from chaplygin.generated.double_pendulum import model as pendulum
from chaplygin.generated.rolling_disk import model as disk

DISK = {"m": 2.0, "R": 0.5, "A": 0.125, "B": 0.25, "g": 9.81}
PENDULUM = {"m1": 1.0, "m2": 0.7, "l1": 1.0, "l2": 0.6, "g": 9.81}


@pytest.fixture(scope="module")
def bead() -> Any:
    return hoop(damped=True).compile()


@pytest.mark.parametrize("upper", [0.0, np.pi])
@pytest.mark.parametrize("lower", [0.0, np.pi])
def test_the_four_equilibria_of_a_double_pendulum(upper: float, lower: float) -> None:
    found = pendulum.equilibrium({"theta1": upper + 0.3, "theta2": lower - 0.2}, PENDULUM)
    assert abs(found["theta1"] - upper) < 1e-14
    assert abs(found["theta2"] - lower) < 1e-14
    assert found.unknowns == ("theta1", "theta2", "theta1_dot", "theta2_dot")
    unstable = int(upper > 0) + int(lower > 0)
    assert sum(found.eigenvalues.real > 1e-6) == unstable
    assert found.stability == ("unstable" if unstable else "neutral")
    assert f"{found.stability}>" in repr(found)
    # Small oscillations: l^2 from det(K + l^2 M) = 0 with cos = +-1 at the ends.
    s, c = np.cos(upper), np.cos(lower)
    mass = np.array([[1.7, 0.7 * 0.6 * s * c], [0.7 * 0.6 * s * c, 0.7 * 0.36]])
    stiff = np.diag([1.7 * 9.81 * s, 0.7 * 0.6 * 9.81 * c])
    squares = np.sort(np.linalg.eigvals(-np.linalg.solve(mass, stiff)).real)
    np.testing.assert_allclose(np.sort((found.eigenvalues**2).real)[::2], squares, rtol=1e-12)


def test_a_bead_on_a_turning_hoop(bead: Any) -> None:
    """cos(theta) = g/(R Omega^2) above the critical rate; below it only the bottom is stable."""
    numbers = HOOP | {"c": 0.2}
    found = bead.equilibrium({"theta": 1}, numbers, {"tau": 0})
    assert found["theta"] == pytest.approx(np.arccos(9.81 / (0.5 * 36)), rel=1e-14)
    assert found.stability == "asymptotically stable"
    assert found["height"] == pytest.approx(-9.81 / 36, rel=1e-13)
    assert bead.equilibrium({"theta": 0.1}, numbers, {"tau": 0}).stability == "unstable"
    slow = bead.equilibrium({"theta": 0.1}, numbers | {"Omega": 4}, {"tau": 0})
    assert slow.stability == "asymptotically stable"
    assert abs(slow["theta"]) < 1e-14


def test_held_states_and_free_parameters_and_inputs(bead: Any) -> None:
    numbers = HOOP | {"c": 0.2}
    found = bead.equilibrium({"theta": 1}, numbers, {"tau": 0}, keep=["theta"], free=["Omega"])
    assert found.unknowns == ("theta_dot", "Omega")
    assert found["theta"] == 1
    assert found.parameters["Omega"] == pytest.approx(np.sqrt(9.81 / (0.5 * np.cos(1))), rel=1e-14)
    pushed = bead.equilibrium({"theta": 1}, numbers, keep=["theta"], free=["tau"])
    torque = 1.3 * 0.5 * np.sin(1) * (9.81 - 0.5 * 36 * np.cos(1))
    assert pushed.inputs["tau"] == pytest.approx(torque, rel=1e-13)


def test_a_guess_off_the_constraints() -> None:
    """The holonomic equation is solved with the rest: k (1 + s^2) x = f."""
    found = on_rails().compile().equilibrium({"x": 3, "y": -4}, {"m": 2, "k": 8, "s": 0.5}, {"f": 5})
    assert found["x"] == pytest.approx(0.5, rel=1e-14)
    assert found["y"] == pytest.approx(0.25, rel=1e-14)


def circling(lean: float, turn: float) -> float:
    """w2 of a disk that circles steadily, from the moments about its centre: exact for any lean."""
    m, radius, a, b, g = (DISK[n] for n in ("m", "R", "A", "B", "g"))
    return (a * turn**2 * np.tan(lean) - m * g * radius * np.sin(lean)) / ((b + m * radius**2) * turn)


@pytest.mark.parametrize(("lean", "turn"), [(0.3, 2.0), (-0.5, 1.2), (1.2, 4.0)])
def test_a_steadily_circling_disk(lean: float, turn: float) -> None:
    guess = {"x": 1.0, "y": 2.0, "psi": 0.4, "theta": 0.1, "alpha": lean, "w2": 3.0, "w3": turn}
    found = disk.steady_motion(guess, DISK, keep=["alpha", "w3"])
    assert found.unknowns == ("w1", "w2")
    assert found["w2"] == pytest.approx(circling(lean, turn), rel=1e-14)
    assert abs(found["w1"]) < 1e-15
    assert [found[n] for n in ("x", "y", "psi", "theta", "alpha", "w3")] == [1, 2, 0.4, 0.1, lean, turn]
    # The run keeps lean and rates, and the contact goes round a circle of radius R |theta'| / |psi'|.
    sol = disk.integrate((0, 2), found.state, DISK, rtol=1e-11, atol=1e-11)
    if found.stability != "unstable":
        np.testing.assert_allclose(sol["alpha"], lean, atol=1e-7)
        np.testing.assert_allclose(sol["w2"], found["w2"], atol=1e-7)


def test_directions_of_a_family_are_named() -> None:
    guess = {"x": 0, "y": 0, "psi": 0, "theta": 0, "alpha": 0.3, "w2": 3, "w3": 2}
    words = r"free along w([23]) \(with w[23] by .* for 1\): .*keep=\[..., 'w\1'\]"
    refused(words, disk.steady_motion, guess, DISK, keep=["alpha"])
    with pytest.raises(cg.ArgumentError, match=r"is free along x; y; psi; alpha|is free along") as info:
        disk.equilibrium(guess | {"alpha": 1.5707}, DISK, keep=["alpha"], free=["g"])
    assert "equilibrium: " in str(info.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"keep": ["theta"]},
            r"did not converge: .* the residual is .*d\(theta_dot\)/dt = -.*, with theta held",
        ),
        ({"guess": {}}, "guess: missing theta"),
        ({"guess": {"theta": 1, "phi": 0}}, "unknown phi"),
        ({"keep": ["tehta"]}, "keep: unknown tehta; did you mean theta"),
        ({"keep": "theta"}, "keep = 'theta': give a list of names"),
        ({"free": None}, "free = None: give a list of names"),
        ({"free": ["Omga"]}, "free: unknown Omga; did you mean Omega"),
        ({"free": ["tau", "tau"]}, "free: tau is given twice"),
        ({"keep": ["theta"], "free": ["g"], "guess": {"theta": 2}}, "equilibrium: g = -.*declared positive"),
        ({"free": ["Omega"]}, "solution is not isolated; to first order it is free along"),
        ({"parameters": {"m": 1}}, "missing"),
        ({"inputs": {"tau": lambda t, y: 0.0}}, "tau is a function of time"),
    ],
)
def test_wrong_arguments_are_named(bead: Any, change: dict[str, Any], message: str) -> None:
    arguments = {"guess": {"theta": 1}, "parameters": HOOP | {"c": 0.2}, "inputs": {"tau": 0}} | change
    refused(message, bead.equilibrium, **arguments)


def test_equations_with_the_time_are_refused() -> None:
    x = cg.coordinates("x")
    driven = unit_masses("driven", [x], potential=x**2 / 2, forces={cg.rate(x): 1 + cg.time})
    refused(r"d\(x_dot\)/dt depends on the time", driven.compile().equilibrium, {"x": 1})


@pytest.fixture(scope="module")
def shaken() -> Any:
    """A pendulum on a pivot that is shaken, phi from the top: phi'' = (g - a cos(30 t)) sin(phi) - c phi'."""
    phi, (g, a, c) = cg.coordinates("phi"), cg.parameters("g a c")
    rate = cg.rate(phi)
    push = (g - a * sp.cos(30 * cg.time)) * sp.sin(phi) - c * rate
    return unit_masses("shaken", [phi], forces={rate: push}).compile()


@pytest.mark.parametrize("t", [0.0, 0.05, 1.3])
def test_a_rest_whose_neighbourhood_depends_on_the_time_is_no_question_of_eigenvalues(
    shaken: Any, t: float
) -> None:
    """At t = 0 the eigenvalues are those of a stable rest, whether or not the shaking suffices to hold it."""
    numbers = {"g": 1.0, "a": 9.0, "c": 0.1}
    words = r"near it d\(phi_dot\)/dt depends on the time.*model\.periodic\(state, T"
    refused(words, shaken.equilibrium, {"phi": 0.0}, numbers, t=t)
    linear = shaken.linearize({"phi": 0.0, "phi_dot": 0.0}, numbers, t=t)
    assert linear.A[1, 0] == pytest.approx(1 - 9 * np.cos(30 * t))  # that of the moment
    assert "at t = " in repr(linear)
    with pytest.raises(
        cg.ArgumentError, match=r"equation of phi_dot depends on the time.*do not decide on stability"
    ):
        linear.stability  # noqa: B018
    orbit = shaken.periodic({"phi": 0, "phi_dot": 0}, 2 * np.pi / 30, numbers)
    assert not orbit.stable  # 9 / 30 < sqrt(2)
    held = shaken.equilibrium({"phi": 0.1}, numbers | {"a": 0.0}, t=t)  # nothing is shaken
    assert held.stability == "unstable"


def test_a_rest_of_a_moment_is_refused() -> None:
    """x'' = 1 - cos(t) - x: at t = 0 neither the rate nor its derivative by the time shows it."""
    x = cg.coordinates("x")
    push = 1 - sp.cos(cg.time) - x
    model = unit_masses("pushed_later", [x], forces={cg.rate(x): push})
    words = r"d\(x_dot\)/dt depends on the time, so the state rests for a moment"
    refused(words, model.compile().equilibrium, {"x": 0})


def test_values_against_their_assumptions_are_named() -> None:
    """Masses of the double pendulum are declared positive: a negative one is refused, as in runs."""
    guess = {"theta1": 0.1, "theta2": 0.1}
    with pytest.raises(cg.ArgumentError, match="parameters: m1 = -1, but m1 is declared positive"):
        pendulum.equilibrium(guess, dict.fromkeys(pendulum.parameters, 1.0) | {"m1": -1})


def test_a_fold_of_a_pushed_bead(bead: Any) -> None:
    """tau = m R sin(theta) (g - R Omega^2 cos(theta)) is greatest where g cos(theta) = R Omega^2 cos(2 theta)."""
    numbers = HOOP | {"c": 0.2, "Omega": 4.0}
    start = bead.equilibrium({"theta": 0.1}, numbers, {"tau": 0})
    branch = start.continuation("tau", 10.0)
    g, rw = 9.81, 0.5 * 16
    cosine = (g - np.sqrt(g**2 + 8 * rw**2)) / (4 * rw)
    top = 1.3 * 0.5 * np.sqrt(1 - cosine**2) * (g - rw * cosine)
    (fold,) = branch.special
    assert fold.kind == "fold"
    assert abs(fold.value - top) < 1e-10
    assert abs(fold.point["theta"] - np.arccos(cosine)) < 1e-7
    # Beyond the fold it goes back to tau = 0 at the top of the hoop, and is unstable on the way.
    assert branch["theta"][-1] == pytest.approx(np.pi, rel=1e-12)
    assert abs(branch["tau"][-1]) < 1e-12
    assert branch.points[-1].stability == "unstable"
    theta = branch["theta"]
    np.testing.assert_allclose(branch["tau"], 0.65 * np.sin(theta) * (g - rw * np.cos(theta)), atol=1e-12)


def test_the_pitchfork_of_a_bead_on_a_hoop(bead: Any) -> None:
    """The bottom loses its stability at Omega^2 = g/R."""
    start = bead.equilibrium({"theta": 0.1}, HOOP | {"c": 0.2, "Omega": 3.0}, {"tau": 0})
    branch = start.continuation(sp.Symbol("Omega"), 6.0)
    (point,) = branch.special
    assert point.kind == "branch point"
    assert abs(point.value - np.sqrt(9.81 / 0.5)) < 1e-10
    stable = [p.stability == "asymptotically stable" for p in branch.points]
    assert stable == list(branch["Omega"] < point.value)
    assert branch["Omega"][-1] == pytest.approx(6.0, rel=1e-14)


def test_a_hopf_point(bead: Any) -> None:
    """Damping that becomes negative: the pair -c/(2 m R^2) +- i w crosses the axis at c = 0."""
    start = bead.equilibrium({"theta": 1}, HOOP | {"c": 0.2}, {"tau": 0})
    (point,) = start.continuation("c", -0.13).special
    assert point.kind == "Hopf"
    assert abs(point.value) < 1e-10
    frequency = 6 * np.sqrt(1 - (9.81 / 18) ** 2)
    np.testing.assert_allclose(np.abs(point.point.eigenvalues.imag), frequency, rtol=1e-12)


@pytest.fixture(scope="module")
def oscillators() -> Any:
    """At rest; the damping of the first one changes its sign at a = 1/2."""
    numbers = {"a": 0.0, "d": 0.2, "e": 0.04, "second": 1.3, "shift": 0.0, "coupling": 0.0}
    return two_oscillators().compile().equilibrium({"x": 0, "y": 0}, numbers)


@pytest.mark.parametrize(
    ("changed", "step"),
    [
        ({}, 0.5),  # a point of the branch is the Hopf point
        ({"shift": 0.238, "second": 1.059, "e": -0.005, "d": 0.186}, 1.0),  # frequencies cross
        ({"shift": 0.122, "second": 1.24, "e": 0.1, "d": 0.26}, 1.0),
        ({"shift": 0.41, "second": 1.232, "e": -0.021, "d": 0.172}, 0.37),
        ({"shift": 0.422, "second": 1.347, "e": -0.032, "d": 0.126}, 0.11),
    ],
)
@pytest.mark.sample(2)
def test_a_hopf_point_beside_another_pair(oscillators: Any, changed: dict[str, float], step: float) -> None:
    start = oscillators.model.equilibrium({"x": 0, "y": 0}, oscillators.parameters | changed)
    (point,) = start.continuation("a", 1.0, step=step).special
    assert point.kind == "Hopf"
    assert abs(point.value - 0.5) < 1e-10


def test_flutter_without_damping(oscillators: Any) -> None:
    """With stiffnesses 1 and 2 and the force -+ a k, s^4 + 3 s^2 + 2 + a^2 k^2 = 0: pairs meet at 2 a k = 1."""
    numbers = oscillators.parameters | {"d": 0, "e": 0, "second": np.sqrt(2), "coupling": 0.7}
    start = oscillators.model.equilibrium({"x": 0, "y": 0}, numbers)
    branch = start.continuation("a", 1.0)
    (point,) = branch.special
    assert point.kind == "Hamiltonian Hopf"
    assert abs(point.value - 1 / 1.4) < 1e-10
    assert [p.stability for p in branch.points] == [
        "neutral" if a < point.value else "unstable" for a in branch["a"]
    ]
    (back,) = branch.points[-1].continuation("a", 0.0).special
    assert back.kind == "Hamiltonian Hopf"


@pytest.mark.parametrize("step", [0.5, 0.25, 0.02])
def test_a_branch_point_at_a_point_of_the_branch(step: float) -> None:
    """The upright position of x'' = a x - x^3 - x' loses its stability at a = 0."""
    x, a = cg.coordinates("x"), cg.parameters("a")
    rate = cg.rate(x)
    fork = unit_masses("fork", [x], forces={rate: a * x - x**3 - rate})
    (point,) = fork.compile().equilibrium({"x": 0}, {"a": -1}).continuation("a", 1.0, step=step).special
    assert point.kind == "branch point"
    assert abs(point.value) < 1e-14


@pytest.mark.parametrize(("a", "b"), [(0.25, 0.5), (0.5, 1.0)], ids=["disk", "hoop"])
@pytest.mark.sample(1)
def test_where_upright_rolling_loses_its_stability(a: float, b: float) -> None:
    """At omega^2 = m g R A / (B (B + m R^2)), along a state that is held."""
    numbers = DISK | {"A": a * 0.5, "B": b * 0.5}
    guess = dict.fromkeys(disk.states, 0.0) | {"w2": 4.0}
    start = disk.steady_motion(guess, numbers, keep=["w2", "w3"])
    branch = start.continuation("w2", 1.0)
    (point,) = branch.special
    assert point.kind == "branch point"
    assert abs(point.value - np.sqrt(9.81 / 0.5 * a / (b * (b + 1)))) < 1e-10
    assert branch.linearizations.eigenvalues.shape == (len(branch), 4)


def test_circles_of_a_disk_up_to_any_lean() -> None:
    """A branch of steady motions in closed form."""
    guess = {"x": 0, "y": 0, "psi": 0, "theta": 0, "alpha": 0.3, "w2": -2, "w3": 2}
    branch = disk.steady_motion(guess, DISK, keep=["alpha", "w3"]).continuation("alpha", 1.2)
    np.testing.assert_allclose(branch["w2"], [circling(lean, 2.0) for lean in branch["alpha"]], rtol=1e-12)


@pytest.mark.parametrize(
    ("along", "to", "message"),
    [
        ("theta", 1.0, "continuation: along: unknown theta"),
        ("Omga", 1.0, "unknown Omga; did you mean Omega"),
        ("Omega", 6.0, "Omega is 6 already"),
    ],
)
def test_wrong_continuations_are_named(bead: Any, along: str, to: float, message: str) -> None:
    start = bead.equilibrium({"theta": 1}, HOOP | {"c": 0.2}, {"tau": 0})
    refused(message, start.continuation, along, to)


@pytest.mark.parametrize("points", [0, 1, True, 2.5, "many"])
def test_a_wrong_number_of_points_is_named(bead: Any, points: Any) -> None:
    start = bead.equilibrium({"theta": 1}, HOOP | {"c": 0.2}, {"tau": 0})
    with pytest.raises(cg.ArgumentError, match=r"max_points = .* must be an integer of 2 or more"):
        start.continuation("Omega", 8.0, max_points=points)


def test_a_branch_through_a_singular_point_says_where_it_ends() -> None:
    """m x'' = -x has no equations of motion at m = 0."""
    x, m = cg.coordinates("x"), cg.parameters("m")
    system = cg.System("spring", coordinates=[x], kinetic=m * cg.rate(x) ** 2 / 2, potential=x**2 / 2)
    still = system.compile().equilibrium({"x": 1}, {"m": 1})
    refused(r"continuation: the branch cannot be followed .*singular", still.continuation, "m", -5.0)


def test_a_branch_to_a_value_against_its_assumption_is_refused() -> None:
    hanging = pendulum.equilibrium({"theta1": 0.1, "theta2": 0.1}, dict.fromkeys(pendulum.parameters, 1.0))
    refused("continuation: to: m1 = -5, but m1 is declared positive", hanging.continuation, "m1", -5.0)


def test_a_pendulum_in_x_and_y() -> None:
    """At the angle atan(u / m g) it swings with w^2 = sqrt(g^2 + (u / m)^2) / l, and answers to u as l cos(angle).

    Where it hangs straight down, d(y_dot)/dt = 0 is an identity, of terms that cancel.
    """
    x, y = cg.coordinates("x y")
    acts = {"forces": {cg.rate(x): cg.inputs("u")}, "outputs": {"angle": sp.atan2(x, -y)}}
    system = pendulum_in_x_and_y("pendulum_in_x_and_y", **acts)
    model, numbers = system.compile("multipliers"), {"m": 2.0, "l": 1.5, "g": 9.81}
    for push in (0.0, 5.0):
        found = model.equilibrium({"x": 0.2 * push, "y": -1.4}, numbers, {"u": push})
        angle, pull = np.arctan(push / (2 * 9.81)), np.hypot(9.81, push / 2)
        assert abs(found["angle"] - angle) < 1e-14
        (lin,) = model.linearize(found.state, numbers, {"u": np.array([push])})
        response = lin.C @ np.linalg.solve(1.3j * np.eye(2) - lin.A, lin.B) + lin.D
        exact = np.cos(angle) / (2 * 1.5) / (pull / 1.5 - 1.3**2)
        assert abs(response[lin.outputs.index("angle"), 0] - exact) < 1e-14


UNITS = [(1.0, 1.0), (1e-6, 1e-6), (1e-3, 1e3), (1e3, 1e-3), (1e6, 1.0)]
"""Metres and seconds."""


@pytest.mark.slow
@pytest.mark.parametrize(("metres", "seconds"), UNITS)
def test_hanging_chains_in_x_and_y(metres: float, seconds: float) -> None:
    """Of one to three masses, from 25 guesses each: on the rods and off them, and where the chain hangs already.

    Where it hangs, the accelerations along y are identities, and none of their derivatives is left.
    """
    random, masses = np.random.default_rng(1), [1, 1, 1, 2, 2, 3]
    for i in range(25):
        count = masses[i % 6]
        lean = random.uniform(-0.5, 0.5, count) * (i > 0)
        place = (
            np.cumsum(np.stack([np.sin(lean), -np.cos(lean)]), axis=1) * random.uniform(0.9, 1.1, 2)[:, None]
        )
        names = [f"{s}{j}" for s in "xy" for j in range(count)]
        guess = dict(zip(names, place.ravel() * metres, strict=True))
        found = chain_in_x_and_y(count).equilibrium(
            guess, {"m": 2.0, "l": metres, "g": 9.81 * metres / seconds**2}
        )
        hanging = [*np.zeros(count), *(-1.0 - np.arange(count))]
        assert [found[n] / metres for n in names] == pytest.approx(hanging, abs=1e-9)


@functools.cache
def chain_in_x_and_y(count: int) -> Any:
    x, y = (cg.coordinates(f"{s}0:{count}") for s in "xy")
    m, l, g = cg.parameters("m l g", positive=True)  # noqa: E741
    return cg.System(
        f"chain_of_{count}_in_x_and_y",
        coordinates=[*x, *y],
        kinetic=m * sum(cg.rate(s) ** 2 for s in (*x, *y)) / 2,
        potential=m * g * sum(y),
        holonomic=[
            (x[j] - (x[j - 1] if j else 0)) ** 2 + (y[j] - (y[j - 1] if j else 0)) ** 2 - l**2
            for j in range(count)
        ],
    ).compile("multipliers")


BARS = np.array([1.0, 2.2, 1.4])


@pytest.mark.slow
@pytest.mark.parametrize(("metres", "seconds"), UNITS)
def test_a_hanging_four_bar_of_three_rods(metres: float, seconds: float) -> None:
    """Rods with coordinates x, y, angle each; from 25 guesses it hangs where its weight's potential is least."""
    from scipy.optimize import minimize_scalar

    def rods(first: float) -> tuple[Any, Any]:
        """Centres (2, 3) and angles (3,) with two joints below the ground, 2 apart; the cosine rule."""
        joint = BARS[0] * np.array([np.cos(first), np.sin(first)])
        to = np.array([2.0, 0.0]) - joint
        span = np.hypot(*to)
        along = (span**2 + BARS[1] ** 2 - BARS[2] ** 2) / (2 * span)
        across = np.sqrt(BARS[1] ** 2 - along**2)
        other = joint + (along * to + across * np.array([to[1], -to[0]])) / span
        ends = np.array([[[0, 0], joint], [joint, other], [[2, 0], other]], dtype=float)
        way = ends[:, 1] - ends[:, 0]
        return ends.mean(axis=1).T, np.arctan2(way[:, 1], way[:, 0])

    least = minimize_scalar(
        lambda a: BARS @ rods(a)[0][1], bounds=(-1.75, -1.25), method="bounded", options={"xatol": 1e-13}
    ).x
    expected, random = rods(least), np.random.default_rng(1)
    sizes = dict(zip("abcd", (*BARS * metres, 2 * metres), strict=True))
    for i in range(25):
        off = 0.05 * (i % 2)
        (x, y), angle = rods(random.uniform(-1.75, -1.25))
        columns = zip((x, y, angle), "xyp", (metres, metres, 1.0), strict=True)
        guess = {
            f"{s}{j}": unit * (column[j] + off * random.normal())
            for column, s, unit in columns
            for j in range(3)
        }
        found = four_bar_of_rods().equilibrium(guess, sizes | {"g": 9.81 * metres / seconds**2})
        assert [found[f"p{j}"] for j in range(3)] == pytest.approx(expected[1], abs=1e-6)
        assert [found[f"y{j}"] / metres for j in range(3)] == pytest.approx(expected[0][1], abs=1e-6)


@functools.cache
def four_bar_of_rods() -> Any:
    x, y, p = (cg.coordinates(f"{s}0:3") for s in "xyp")
    g, *lengths, d = cg.parameters("g a b c d", positive=True)
    rods = list(zip(x, y, p, lengths, strict=True))
    begins, ends = (
        [(x + s * r * sp.cos(p) / 2, y + s * r * sp.sin(p) / 2) for x, y, p, r in rods] for s in (-1, 1)
    )
    joints = [(begins[0], (0, 0)), (ends[0], begins[1]), (ends[1], ends[2]), (begins[2], (d, 0))]
    return cg.System(
        "four_bar_of_rods",
        coordinates=[*x, *y, *p],
        kinetic=sum(
            r * (cg.rate(x) ** 2 + cg.rate(y) ** 2) / 2 + r**3 * cg.rate(p) ** 2 / 24 for x, y, p, r in rods
        ),
        potential=g * sum(r * y for _, y, _, r in rods),
        holonomic=[one - other for joint in joints for one, other in zip(*joint, strict=True)],
    ).compile("multipliers")


@functools.cache
def four_bar_by_angles() -> Any:
    """The only velocity left is the rate of the coupler, which does not turn where crank and rocker are parallel."""
    a, b, c, d, g = cg.parameters("a b c d g", positive=True)
    first, coupler, last = angles = cg.coordinates("p1 p2 p3")
    joint = a * sp.Matrix([sp.cos(first), sp.sin(first)])
    other = joint + b * sp.Matrix([sp.cos(coupler), sp.sin(coupler)])
    loop = other - sp.Matrix([d + c * sp.cos(last), c * sp.sin(last)])
    return cg.System(
        "four_bar_by_angles",
        coordinates=angles,
        kinetic=sum(cg.rate(s) ** 2 for s in angles) / 2,
        potential=g * (joint[1] + other[1]),
        holonomic=list(loop),
    ).compile("maggi", independent=[cg.rate(coupler)])


FOUR_BAR = {"a": 0.5, "b": 0.9, "c": 0.7, "d": 1.0, "g": 9.81}


def test_a_loop_that_cannot_close_is_refused_with_the_residual() -> None:
    with pytest.raises(
        cg.ArgumentError, match=r"did not converge: .* the residual is .*holonomic_1.*; start nearer"
    ):
        four_bar_by_angles().equilibrium({"p1": 1.3917, "p2": 0.1593, "p3": -1.1923}, FOUR_BAR | {"d": 5.0})


@functools.cache
def four_bar_by_joints() -> Any:
    a, b, c, d, g = cg.parameters("a b c d g", positive=True)
    x1, y1, x2, y2 = joints = cg.coordinates("x1 y1 x2 y2")
    bars = [(x1, y1, a), (x2 - x1, y2 - y1, b), (x2 - d, y2, c)]
    return cg.System(
        "four_bar_by_joints",
        coordinates=joints,
        kinetic=sum(cg.rate(s) ** 2 for s in joints) / 2,
        potential=g * (y1 + y2),
        holonomic=[(x**2 + y**2 - length**2) / 2 for x, y, length in bars],
    ).compile("multipliers")


@pytest.mark.parametrize("n", [8, pytest.param(25, marks=pytest.mark.slow)])
def test_rests_beyond_states_in_which_the_velocity_left_does_not_tell_the_others(n: int) -> None:
    """From n random guesses, most of which are not closed, where the height of the joints is stationary."""
    a, b, c, d, _ = FOUR_BAR.values()

    def slope(first: float, side: float) -> float:
        """The height's derivative by the crank's angle, by the complex step; the cosine rule gives the rocker's end."""
        angle = first + 1e-30j
        joint = a * np.array([np.cos(angle), np.sin(angle)])
        to = np.array([d, 0.0]) - joint
        span = np.sqrt(to @ to)
        along = (span**2 + b**2 - c**2) / (2 * span)
        across = side * np.sqrt(b**2 - along**2)
        return float(((joint[1] + (along * to[1] - across * to[0]) / span) + joint[1]).imag * 1e30)

    grid = np.linspace(0, 2 * np.pi, 400)
    rests = [
        optimize.brentq(slope, *ends, args=(side,), xtol=1e-14)
        for side in (-1.0, 1.0)
        for ends in itertools.pairwise(grid)
        if slope(ends[0], side) * slope(ends[1], side) < 0
    ]
    random = np.random.default_rng(0)
    guesses = [dict(zip(("p1", "p2", "p3"), random.uniform(-np.pi, np.pi, 3), strict=True)) for _ in range(n)]
    found = [four_bar_by_angles().equilibrium(guess, FOUR_BAR)["p1"] % (2 * np.pi) for guess in guesses]
    for _ in range(n):
        guess = dict(zip(("x1", "y1", "x2", "y2"), random.uniform(-1, 1, 4), strict=True))
        rest = four_bar_by_joints().equilibrium(guess, FOUR_BAR)
        found.append(np.arctan2(rest["y1"], rest["x1"]) % (2 * np.pi))
    assert np.abs(np.subtract.outer(found, rests)).min(axis=1) == pytest.approx(np.zeros(2 * n), abs=1e-9)


def test_a_sleeping_top_in_a_quaternion_is_told_to_use_angles() -> None:
    from chaplygin.generated.heavy_top import model

    spinning = dict.fromkeys(model.states, 0.0) | {"q0": 1.0, "w3": 20.0}
    numbers = dict.fromkeys(model.parameters, 1.0) | {"r1": 0.0, "r2": 0.0}
    words = r"d\(q3\)/dt = .* A quaternion turns with the motion: use angles"
    refused(words, model.steady_motion, spinning, numbers, keep=["w3"])


@pytest.mark.parametrize(
    "ask",
    [
        lambda model: model.equilibrium({}, keep=["nothing"]),
        lambda model: model.steady_motion({}, keep=["nothing"]),
        lambda model: model.periodic({}, -1.0),
        lambda model: model.lyapunov((1, 0), {}),
    ],
    ids=["equilibrium", "steady_motion", "periodic", "lyapunov"],
)
def test_a_form_without_the_time_is_refused_before_its_arguments(ask: Any) -> None:
    example = cg.example("double_pendulum")
    model = example.system.compile("whittaker", along=example.system.coordinates[0])
    refused(r"theta1 as its independent variable; .* need the time", ask, model)


@pytest.mark.parametrize("seconds", [1e-6, 1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("metres", [1e-6, 1e-3, 1.0, 1e3, 1e6])
@pytest.mark.sample(4)
def test_units_decide_neither_on_isolation_nor_on_stability(metres: float, seconds: float) -> None:
    """A pendulum on a sprung cart that is pushed, with and without damping, down and up, in other units."""
    model = sprung_cart()
    for kilograms in (1e-3, 1e3):
        force = kilograms * metres / seconds**2
        numbers = {
            "m": kilograms,
            "k": 2 * force / metres,
            "g": 9.81 * metres / seconds**2,
            "l": metres,
            "F": force,
        }
        for damping, start, expected in (
            (0.0, 0.1, "neutral"), (0.2, 0.1, "asymptotically stable"), (0.0, 3.0, "unstable"), (0.2, 3.0, "unstable"),
        ):  # fmt: skip
            given = numbers | {"c": damping * kilograms / seconds}
            found = model.equilibrium({"x": 0.3 * metres, "phi": start}, given)
            assert found["x"] == pytest.approx(0.5 * metres, rel=1e-9)  # F / k
            assert found.stability == expected, (metres, seconds, kilograms, damping)


@functools.cache
def sprung_cart() -> Any:
    x, phi = cg.coordinates("x phi")
    m, k, c, g, l, force = cg.parameters("m k c g l F")  # noqa: E741
    u, w = cg.rate(x), cg.rate(phi)
    bob = (u + l * sp.cos(phi) * w) ** 2 + (l * sp.sin(phi) * w) ** 2
    return cg.System(
        "sprung_cart", coordinates=[x, phi], kinetic=m * (u**2 + bob) / 2,
        potential=k * x**2 / 2 - m * g * l * sp.cos(phi) - force * x, forces={u: -c * u},
    ).compile()  # fmt: skip
