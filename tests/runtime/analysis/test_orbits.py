"""Lyapunov exponents and periodic motions, against closed forms and an integration by SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import rattleback
import sympy as sp
from refusals import refused
from scipy.integrate import solve_ivp
from scipy.special import ellipk
from unit_masses import unit_masses

import chaplygin as cg
from chaplygin.runtime.analysis.lyapunov import generic
from chaplygin.runtime.analysis.tangents import Tangents
from chaplygin.runtime.problem.options import RunOptions

# ---- periodic motions ----


@pytest.fixture(scope="module")
def hill() -> Any:
    """x'' = ((mu + a cos t)^2 - a sin t) x, solved by exp(mu t + a sin t)."""
    x, (mu, a) = cg.coordinates("x"), cg.parameters("mu a")
    stiffness = (mu + a * sp.cos(cg.time)) ** 2 - a * sp.sin(cg.time)
    system = unit_masses("hill", [x], potential=-stiffness * x**2 / 2)
    return system.compile()


@pytest.mark.parametrize(("mu", "a"), [(0.1, 0.7), (0.03, 0.2)])
def test_multipliers_of_hills_equation(hill: Any, mu: float, a: float) -> None:
    """The Wronskian is constant, so the other multiplier is exp(-2 pi mu)."""
    orbit = hill.periodic({"x": 0.1, "x_dot": 0.2}, 2 * np.pi, {"mu": mu, "a": a})
    np.testing.assert_allclose(orbit.multipliers, np.exp([2 * np.pi * mu, -2 * np.pi * mu]), rtol=1e-9)
    np.testing.assert_allclose(orbit.exponents, [mu, -mu], atol=1e-9)
    assert orbit.n_ones == 0
    assert not orbit.stable
    assert orbit.period == 2 * np.pi
    assert max(map(abs, orbit.state.values())) < 1e-9  # the only periodic solution rests


def test_multipliers_of_a_linear_orbit() -> None:
    """Two springs of frequencies 1 and sqrt(2); along x the multipliers across are exp(+-2 pi i sqrt(2))."""
    x, y = cg.coordinates("x y")
    k = cg.parameters("k")
    system = unit_masses("springs", [x, y], potential=(x**2 + k * y**2) / 2)
    model = system.compile()
    orbit = model.periodic({"x": 1.2, "y": 0.0, "x_dot": 0.3, "y_dot": 0.0}, 6.0, {"k": 2})
    assert abs(orbit.period - 2 * np.pi) < 1e-10
    assert orbit.n_ones == 2  # the flow and the energy
    angle = 2 * np.pi * np.sqrt(2) - 2 * np.pi
    np.testing.assert_allclose(orbit.multipliers, np.exp([1j * angle, -1j * angle]), atol=1e-9)
    assert orbit.stable
    assert "stable" in repr(orbit)
    np.testing.assert_allclose(orbit.solution(10).y[:, -1], orbit.y, atol=1e-9)


def test_the_period_of_a_pendulum() -> None:
    """T = 4 K(sin(a/2)) / omega; the only multipliers are those of the flow and of the energy."""
    q, (g, r) = cg.coordinates("q"), cg.parameters("g r")
    system = cg.System(
        "pendulum", coordinates=[q],
        kinetic=r**2 * cg.rate(q) ** 2 / 2, potential=-g * r * sp.cos(q),
    )  # fmt: skip
    model = system.compile()
    orbit = model.periodic({"q": 2.0, "q_dot": 0.0}, 2.5, {"g": 9.81, "r": 1})
    amplitude = np.arccos(np.cos(orbit.state["q"]) - orbit.state["q_dot"] ** 2 / (2 * 9.81))
    expected = 4 * ellipk(np.sin(amplitude / 2) ** 2) / np.sqrt(9.81)
    assert abs(orbit.period - expected) < 1e-9
    assert orbit.n_ones == 2
    assert len(orbit.multipliers) == 0
    going_round = model.periodic({"q": 0.0, "q_dot": 8.0}, 0.85, {"g": 9.81, "r": 1}, turns={"q": 2 * np.pi})
    assert abs(going_round.period - 4 * ellipk(4 * 9.81 / 8**2) / 8) < 1e-9  # q'^2 = 64 - 4 g sin^2(q/2)


def test_directions_off_a_constraint_have_no_multipliers() -> None:
    """A spherical pendulum in x, y, z: small swings in a plane, with a neighbour that swings across it."""
    x, y, z = cg.coordinates("x y z")
    g, r = cg.parameters("g r", positive=True)
    system = unit_masses("spherical", [x, y, z], potential=g * z, holonomic=[x**2 + y**2 + z**2 - r**2])
    model = system.compile("multipliers")
    angle = 0.8
    start = {"x": np.sin(angle), "y": 0.0, "z": -np.cos(angle), "x_dot": 0.0, "y_dot": 0.0, "z_dot": 0.0}
    orbit = model.periodic(start, 2.0, {"g": 9.81, "r": 1})
    assert abs(orbit.period - 4 * ellipk(np.sin(angle / 2) ** 2) / np.sqrt(9.81)) < 1e-9
    # Across the plane a rotation about the vertical, an exact symmetry, is the only periodic neighbour: the pair of
    # multipliers there is 1, defective, so that each of the two has the square root of the error of the integration.
    assert orbit.n_ones + len(orbit.multipliers) == 4
    np.testing.assert_allclose(orbit.multipliers.prod(), 1, atol=1e-8)
    np.testing.assert_allclose(orbit.multipliers, 1, atol=1e-4)


def test_tangents_may_control_the_steps_of_a_projected_motion() -> None:
    """A free point on the unit sphere moves on a great circle, x = a cos t + b sin t with unit vectors a and b."""
    point = cg.coordinates("x y z")
    speed = sum(cg.rate(q) ** 2 for q in point)
    system = cg.System(
        "free_on_a_sphere", coordinates=point, kinetic=speed / 2, holonomic=[sum(q**2 for q in point) - 1]
    )
    a, b = np.array([0.6, 0.0, -0.8]), np.array([0.0, 1.0, 0.0])
    across, t = np.cross(a, b), 1.18
    names = ("x", "y", "z", "x_dot", "y_dot", "z_dot")
    how = RunOptions(rtol=1e-12, atol=1e-12)
    start = dict(zip(names, (*a, *b), strict=True))
    of = Tangents(system.compile("multipliers"), 0.0, start, None, None, how)
    flow, state, tangents = of.flow(6, control=True), of.y, np.eye(6)  # most directions leave the sphere
    for t0, t1 in ((0.0, 0.26), (0.26, 0.74), (0.74, t)):
        state, tangents = flow(t0, t1, state, tangents)
    np.testing.assert_allclose(state[:3], a * np.cos(t) + b * np.sin(t), rtol=0, atol=1e-10)
    turned, faster = tangents @ np.r_[0 * a, across], tangents @ np.r_[0 * a, b]
    np.testing.assert_allclose(turned, np.r_[across * np.sin(t), across * np.cos(t)], rtol=0, atol=1e-9)
    along = b * np.cos(t) - a * np.sin(t)
    np.testing.assert_allclose(faster[:3], along * t, rtol=0, atol=1e-9)


def test_what_is_wrong_with_a_periodic_motion_is_named(hill: Any) -> None:
    from chaplygin.generated.harmonic_oscillator import model

    with pytest.raises(cg.ArgumentError, match="is an equilibrium of harmonic_oscillator"):
        model.periodic({"x": 0, "x_dot": 0}, 3, {"m": 1, "k": 4})
    numbers = {"mu": 0.1, "a": 0.7}
    refused("period = -1 must be positive", hill.periodic, {"x": 0, "x_dot": 0}, -1, numbers)
    refused("turns: unknown phi", hill.periodic, {"x": 0, "x_dot": 0}, 1, numbers, turns={"phi": 1})
    with pytest.raises(cg.ArgumentError, match=r"turns = \['x'\]: give a dict of coordinate: angle"):
        hill.periodic({"x": 0, "x_dot": 0}, 1, numbers, turns=["x"])
    refused("drift: x must come back", hill.periodic, {"x": 0, "x_dot": 0}, 1, numbers, drift="x")


# ---- Lyapunov exponents ----

PENDULUM = {"m1": 1.0, "m2": 1.0, "l1": 1.0, "l2": 1.0, "g": 9.81}
START = {"theta1": 2.0, "theta2": 2.5, "theta1_dot": 0.0, "theta2_dot": 0.0}


def by_scipy(t1: float, steps: int) -> Any:
    """The same exponents from SymPy's Lagrange equations, differentiated by SymPy, with SciPy's DOP853."""
    a, b, da, db = y = sp.symbols("a b da db")
    first = sp.Matrix([sp.sin(a), -sp.cos(a)])
    second = first + sp.Matrix([sp.sin(b), -sp.cos(b)])
    v1 = first.jacobian([a, b]) * sp.Matrix([da, db])
    v2 = second.jacobian([a, b]) * sp.Matrix([da, db])
    lagrangian = (v1.dot(v1) + v2.dot(v2)) / 2 - 9.81 * (first[1] + second[1])
    by_rates = sp.Matrix([lagrangian.diff(da), lagrangian.diff(db)])
    mass = by_rates.jacobian([da, db])
    force = sp.Matrix([lagrangian.diff(a), lagrangian.diff(b)]) - by_rates.jacobian([a, b]) * sp.Matrix(
        [da, db]
    )
    field = sp.Matrix([da, db, *mass.LUsolve(force)])
    f, df = sp.lambdify([y], list(field), cse=True), sp.lambdify([y], field.jacobian(y), cse=True)

    def both(_: float, z: Any) -> Any:
        return np.concatenate([f(z[:4]), (df(z[:4]) @ z[4:].reshape(4, 4)).ravel()])

    state, q, sums = np.array(list(START.values())), generic(np.eye(4)), np.zeros(4)
    for _ in range(steps):
        z0 = np.concatenate([state, q.ravel()])
        z = solve_ivp(both, (0, t1 / steps), z0, method="DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
        state, (q, r) = z[:4], np.linalg.qr(z[4:].reshape(4, 4))
        sums += np.log(np.abs(np.diag(r)))
    return np.sort(sums / t1)[::-1]


def test_exponents_of_a_double_pendulum_are_those_of_an_integration_by_scipy() -> None:
    from chaplygin.generated.double_pendulum import model

    found = model.lyapunov((0, 5), START, PENDULUM, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.values, by_scipy(5, 10), atol=1e-6)
    fixed = model.lyapunov((0, 5), START, PENDULUM, interval=0.0625, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(fixed.values, found.values, atol=1e-6)
    assert len(fixed.t) == 80


@pytest.mark.slow
def test_the_spectrum_of_a_double_pendulum_is_symmetric() -> None:
    from chaplygin.generated.double_pendulum import model

    found = model.lyapunov((0, 2000), START, PENDULUM, transient=20)
    for i, j in ((0, 3), (1, 2)):
        assert abs(found.values[i] + found.values[j]) < 2 * np.hypot(found.errors[i], found.errors[j])
    assert found.values[0] > 20 * found.errors[0] > 0  # chaotic
    assert abs(found.values[1]) < 5 * found.errors[1]


@pytest.fixture(scope="module")
def celt() -> Any:
    return rattleback.system().compile("maggi")


@pytest.mark.slow
def test_exponents_of_a_rattleback_are_those_of_the_laws_of_momentum(celt: Any) -> None:
    """Integrated by SciPy with a derivative by complex steps; their sum is the mean divergence along the run."""
    start = rattleback.START | rattleback.SPIN
    first = np.array([start[name] for name in celt.states])
    np.testing.assert_allclose(
        celt.rhs(0, first, rattleback.NUMBERS), rattleback.field(first, rattleback.NUMBERS), rtol=1e-12
    )

    def both(_: float, z: Any) -> Any:
        slopes = rattleback.jacobian(z[:8], rattleback.NUMBERS)
        tangents = slopes @ z[9:].reshape(8, 8)
        return np.concatenate(
            [rattleback.field(z[:8], rattleback.NUMBERS), [np.trace(slopes)], tangents.ravel()]
        )

    state, q, sums, volume = first, generic(np.eye(8)), np.zeros(8), 0.0
    for _ in range(4):
        z0 = np.concatenate([state, [0.0], q.ravel()])
        z = solve_ivp(both, (0, 0.5), z0, method="DOP853", rtol=1e-10, atol=1e-10).y[:, -1]
        state, volume = z[:8], volume + z[8]
        q, r = np.linalg.qr(z[9:].reshape(8, 8))
        sums += np.log(np.abs(np.diag(r)))
    found = celt.lyapunov((0, 2), start, rattleback.NUMBERS, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.values, np.sort(sums / 2)[::-1], atol=1e-6)
    assert abs(found.values.sum() - volume / 2) < 1e-8


@pytest.mark.slow
def test_a_rattleback_is_chaotic_and_loses_volume(celt: Any) -> None:
    """Translations, the turn about the vertical, the flow and the energy: five exponents are zero.

    Runs of more than 2700 come so near to alpha = pi/2, where the angles are singular, that they end there.
    """
    start = rattleback.START | rattleback.SPIN
    found = celt.lyapunov((0, 2500), start, rattleback.NUMBERS, rtol=1e-9, atol=1e-9)
    off = np.abs(found.values) > 4 * found.errors + 20 / 2500
    assert off.tolist() == [True, *[False] * 5, True, True]
    sol = celt.integrate(
        (0, 2500), start, rattleback.NUMBERS, rtol=1e-9, atol=1e-9, t_eval=np.arange(0, 2500, 0.2)
    )
    losses = [np.trace(rattleback.jacobian(y, rattleback.NUMBERS)) for y in sol.y.T]
    blocks = np.reshape(losses, (20, -1)).mean(axis=1)
    spread = np.hypot(blocks.std() / np.sqrt(20), np.sqrt((found.errors**2).sum()))
    assert abs(found.values.sum() - np.mean(losses)) < 4 * spread


@pytest.mark.slow
def test_kovalevskayas_top_is_integrable() -> None:
    """Two tangents along the constants of the motion and the flow, the others grow at most linearly."""
    top = cg.example("kovalevskaya_top")
    found = top.system.compile().lyapunov((0, 1e4), top.initial, top.parameters)
    assert len(found.values) == 6  # seven states, less |q|
    assert np.abs(found.values).max() < 20 / 1e4


def test_a_saddle_has_the_exponents_of_its_linear_equations() -> None:
    x, k, c = cg.coordinates("x"), *cg.parameters("k c")
    system = unit_masses("saddle", [x], potential=-k * x**2 / 2, forces={cg.rate(x): -c * cg.rate(x)})
    found = system.compile().lyapunov((0, 400), {"x": 0, "x_dot": 0}, {"k": 2, "c": 1}, transient=20)
    np.testing.assert_allclose(found.values, [1, -2], atol=1e-8)
    assert found.dimension == pytest.approx(1.5)
    assert "1 +- " in repr(found)


def test_the_largest_exponent_is_found_where_an_axis_shrinks() -> None:
    """x' = -x, y' = y: a tangent along x would stay there."""
    x, y = cg.coordinates("x y")
    system = cg.System("saddle", kinematics={x: -x, y: y})
    found = system.compile().lyapunov((0, 40), {"x": 0, "y": 0}, n=1, transient=20)
    np.testing.assert_allclose(found.values, [1], atol=1e-8)


@pytest.mark.parametrize("span", [1.5, 2.0, 3.0, 8.0, 40.0])
def test_errors_of_exponents_over_short_intervals(hill: Any, span: float) -> None:
    """Along exp(mu t + a sin t) the growth has the mean mu + a sin(T) / T; the parts of a short run all share it."""
    found = hill.lyapunov((0, span), {"x": 0, "x_dot": 0}, {"mu": 0.1, "a": 0.7}, n=1, transient=6 * np.pi)
    assert abs(found.values[0] - 0.1) <= 2 * found.errors[0]


def test_what_is_wrong_with_exponents_is_named() -> None:
    from chaplygin.generated.double_pendulum import model

    for keywords, text in (
        ({"n": 5}, "n = 5: give a number of exponents from 1 to 4"),
        ({"interval": 3}, "at most 0.25"),
        ({"transient": -1}, "transient = -1 must not be negative"),
    ):
        refused(text, model.lyapunov, (0, 10), START, PENDULUM, **keywords)
    refused("the end must come after the start", model.lyapunov, (1, 0), START, PENDULUM)


def test_keywords_of_exponents_and_periodic_motions() -> None:
    """Those of a run that its options do not have are refused in their own name."""
    from chaplygin.generated.harmonic_oscillator import model

    start = {"x": 1, "x_dot": 0}, {"m": 1, "k": 4}
    with pytest.raises(TypeError, match=r"lyapunov\(\) got an unexpected keyword argument 't_evl'"):
        model.lyapunov((0, 1), *start, t_evl=[1])
    words = r"periodic\(\) got an unexpected keyword argument 'rtl'; did you mean rtol"
    refused(words, model.periodic, start[0], 3, start[1], rtl=1e-9, error=TypeError)


def test_periods_that_are_none_are_refused() -> None:
    """y(T) = y(0) is not enough: T must be a period of the drive, and must not shrink to zero."""
    angle, drive = cg.coordinates("angle"), cg.parameters("drive")
    rate = cg.rate(angle)
    push = drive * sp.cos(3 * cg.time) - rate / 10
    system = unit_masses("driven", [angle], forces={rate: push - sp.sin(angle)})
    words = r"do not repeat themselves after it.*give the period of what drives"
    refused(words, system.compile().periodic, {"angle": 0, "angle_dot": 0}, 2.0, {"drive": 0.1})
    free = unit_masses("pendulum", [angle], potential=-sp.cos(angle)).compile()
    refused(r"the period shrank from 1\.5 to .*by turns=", free.periodic, {"angle": 0, "angle_dot": 5.0}, 1.5)


@pytest.mark.parametrize("span", [0.02, 0.3, 1.0, 4.0])
@pytest.mark.parametrize("stiffness", [4.0, 0.25])
def test_a_span_that_is_too_short_has_large_errors(span: float, stiffness: float) -> None:
    """The exponents of an oscillator are 0; over a short time lengths change by up to its axes' ratio, here 2."""
    from chaplygin.generated.harmonic_oscillator import model

    found = model.lyapunov((0, span), {"x": 1, "x_dot": 0}, {"m": 1, "k": stiffness})
    assert (np.abs(found.values) <= 2 * found.errors).all()
