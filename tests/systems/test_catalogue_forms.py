"""The catalogue's systems in every form: derivatives, integrals, closed forms, and SymPy's mechanics where there is no
reference motion (Kovalevskaya, Suslov, rolling disk, roller racer)."""

from __future__ import annotations

from functools import cache
from math import sqrt
from typing import Any

import numpy as np
import oracles
import oracles_rolling
import pytest
from mpmath import mp
from verification import REFERENCE

import chaplygin as cg
from chaplygin.codegen.mechanics.quaternions import rotation
from chaplygin.systems import lagrange_top, rotating_particle

ENTRIES = (
    "torus_uniform", "torus_uniform held", "torus_nonuniform", "torus_nonuniform held", "rolling_ring",
    "rolling_ring tilt", "chaplygin_sleigh", "sleigh_cartesian", "euler_rigid_body", "heavy_top", "lagrange_top",
    "lagrange_top angles", "kovalevskaya_top", "gyrostat", "fluid_cavity", "rotating_particle", "heisenberg", "suslov",
    "rolling_disk", "roller_racer",
)  # fmt: skip
"""Systems, each with an option that is set."""


def entry_of(key: str) -> cg.Example:
    name, _, option = key.partition(" ")
    return cg.example(name, **({option: True} if option else {}))


PAIRS = [pytest.param(key, form, id=f"{key}-{form}") for key in ENTRIES for form in entry_of(key).forms]


@cache
def compiled(key: str, form: str) -> Any:
    entry = entry_of(key)
    return entry.system.compile(form, **entry.options.get(form, {}))


def run(key: str, form: str, span: tuple[float, float] | None = None, **settings: Any) -> Any:
    entry = entry_of(key)
    # As a function of phi, the sleigh's motion ends before phi_inf = 1.246.
    usual = (0.2, 0.9) if form == "whittaker" else entry.t_span
    given = {"rtol": 1e-12, "atol": 1e-12, "initial": entry.initial, "parameters": entry.parameters}
    sol = compiled(key, form).integrate(span or usual, **(given | settings))
    assert sol.success, sol.message
    return sol


def in_order(names: tuple[str, ...], values: dict[str, float]) -> list[float]:
    return [values[name] for name in names]


# Every form


@pytest.mark.parametrize(("key", "form"), PAIRS)
@pytest.mark.sample(6)
def test_jacobian_and_jvp_are_derivatives_of_the_rhs(key: str, form: str) -> None:
    model, sol = compiled(key, form), run(key, form)
    rng, h = np.random.default_rng(13), 2e-4
    p = in_order(model.parameters, sol.parameters)
    for i in (len(sol.t) // 3, 2 * len(sol.t) // 3):
        t, y = float(sol.t[i]), sol.y[:, i]
        rates = {j: model.rhs(t, y[:, None] + j * h * np.eye(len(y)), p) for j in (-2, -1, 1, 2)}
        numeric = (rates[-2] - 8 * rates[-1] + 8 * rates[1] - rates[2]) / (12 * h)
        jacobian = model.jacobian(t, y, p)
        size = np.max(np.abs(jacobian))
        np.testing.assert_allclose(jacobian, numeric, rtol=0, atol=1e-6 * size)
        direction = rng.normal(size=len(y))
        np.testing.assert_allclose(
            model.jvp(t, y, p, direction), jacobian @ direction, rtol=0, atol=1e-12 * size
        )


@pytest.mark.parametrize(("key", "form"), PAIRS)
@pytest.mark.sample(2)
def test_what_is_conserved_stays(key: str, form: str) -> None:
    entry, sol = entry_of(key), run(key, form)
    for name in (*sol.model.invariants, *sol.model.residuals, *entry.conserved):
        values = np.asarray(sol.evaluate(name))
        # The outer runs of the tops magnify an error by up to 1e4.
        assert np.ptp(values) <= 1e-8 * max(1.0, float(np.max(np.abs(values)))), name


@pytest.mark.parametrize(
    ("key", "form"), [p for p in PAIRS if p.values[1] != "whittaker" and entry_of(p.values[0]).closed_form]
)
@pytest.mark.sample(4)
def test_run_meets_the_closed_form(key: str, form: str) -> None:
    times = np.linspace(0, 10, 11)
    sol = run(key, form, t_eval=times, rtol=1e-13, atol=1e-13)
    exact = entry_of(key).closed_form
    assert exact is not None
    compared = 0
    for name, values in exact(times).items():
        if name in (*sol.model.states, *sol.model.outputs):
            np.testing.assert_allclose(sol[name], values, rtol=0, atol=1e-9, err_msg=name)
            compared += 1
    assert compared >= 4


@pytest.mark.slow
@pytest.mark.parametrize("key", ["kovalevskaya_top", "suslov", "rolling_disk", "roller_racer"])
def test_forms_agree_where_there_is_no_reference(key: str) -> None:
    entry = entry_of(key)
    runs = [run(key, form, t_eval=[0, 1], rtol=1e-13, atol=1e-13) for form in entry.forms]
    for sol in runs[1:]:
        for name in entry.initial:
            assert abs(float(sol[name][-1] - runs[0][name][-1])) <= 1e-10, name


@pytest.mark.parametrize("key", ENTRIES)
def test_start_satisfies_the_constraints(key: str) -> None:
    entry = entry_of(key)
    values = {**entry.initial, **entry.parameters, "t": entry.t_span[0]}
    for constraint in entry.system.constraints:
        residual = constraint.subs({s: values[s.name] for s in constraint.free_symbols})
        assert abs(float(residual)) < 1e-15


# Closed forms


def as_text(numbers: dict[str, float]) -> dict[str, str]:
    """Exact decimals, as in the initial values of the reference."""
    return {name: repr(value) for name, value in numbers.items()}


@pytest.mark.parametrize("time", ["1", "10"])
def test_lagrange_top_closed_form_meets_the_reference_to_18_digits(time: str) -> None:
    with mp.workdps(30):
        quarter = mp.mpf("0.25")
        initial: dict[str, Any] = as_text(lagrange_top.INITIAL)
        initial |= {"q0": mp.cos(quarter), "q1": mp.sin(quarter)}
        motion = lagrange_top.closed_form([time], as_text(lagrange_top.PARAMETERS), initial, digits=25)
        attitude = rotation([motion[f"q{i}"][0] for i in range(4)])
        values = [motion[f"w{i}"][0] for i in (1, 2, 3)] + [entry for row in attitude for entry in row]
        for value, expected in zip(values, REFERENCE["lagrange_top"]["end"][time]["state"], strict=True):
            assert abs(value - mp.mpf(expected)) < 1e-18


@pytest.mark.parametrize("time", ["1", "10"])
def test_particle_closed_form_meets_the_reference_to_18_digits(time: str) -> None:
    motion = rotating_particle.closed_form(
        [time], as_text(rotating_particle.PARAMETERS), as_text(rotating_particle.INITIAL), digits=25
    )
    with mp.workdps(30):
        expected = REFERENCE["rotating_particle"]["end"][time]["state"]
        for name, value in zip(("x", "y", "eta1", "eta2"), expected, strict=True):
            assert abs(motion[name][0] - mp.mpf(value)) < 1e-18


TOPS = {
    "nutation upward first": ((1.0, 0.5), (0.1, 0.2, 6.0)),
    "nutation downward first": ((1.0, 0.5), (-0.4, 0.2, 6.0)),
    "slow, looping": ((0.8, 1.1), (0.3, -1.4, -2.5)),
    "cusp": ((1.3, 0.4), (0.0, 0.0, 5.0)),
    "pendulum": ((1.0, 0.6), (0.3, 0.9, 0.0)),
}


@pytest.mark.parametrize("t", [-3.1, 4.7])
@pytest.mark.parametrize("case", TOPS)
@pytest.mark.sample(3)
def test_lagrange_top_closed_form_solves_the_equations(case: str, t: float) -> None:
    (i1, i3), w = TOPS[case]
    q = np.array([0.9, 0.3, -0.2, 0.4])
    names = ("q0", "q1", "q2", "q3", "w1", "w2", "w3")
    parameters = {"I1": i1, "I3": i3, "m": 1.5, "g": 9.81, "l": 0.4}
    initial = dict(zip(names, [*(q / np.linalg.norm(q)), *w], strict=True))
    with mp.workdps(40):
        h = mp.mpf("1e-12")
        times = [mp.mpf(t) - h, mp.mpf(t), mp.mpf(t) + h]
        motion = lagrange_top.closed_form(times, parameters, initial, 40)
        start = lagrange_top.closed_form([0], parameters, initial, 20)
        rate = [float((motion[name][2] - motion[name][0]) / (2 * h)) for name in names]
    assert all(abs(float(start[name][0]) - initial[name]) < 1e-15 for name in names)
    state = [float(motion[name][1]) for name in names]
    expected = oracles.rigid_body(True).rhs(state, [i1, i1, i3, 1.5, 9.81, 0, 0, 0.4])
    np.testing.assert_allclose(rate, expected, rtol=0, atol=1e-11)


def test_lagrange_top_closed_form_of_a_steady_precession() -> None:
    """theta' = theta'' = 0: the equation of steady precession, I1 p^2 cos - I3 n p + m g l = 0, solved for n."""
    precession, theta = 1.5, 0.7
    spin = (precession**2 * np.cos(theta) + 1.5 * 9.81 * 0.4) / (0.5 * precession)
    angles = dict.fromkeys(lagrange_top.ANGLES, 0.0)
    angles |= {"theta": theta, "psi_dot": precession, "phi_dot": spin - precession * np.cos(theta)}
    motion = lagrange_top.closed_form_in_angles([3.0], initial=angles)
    assert float(motion["theta"][0]) == pytest.approx(theta, abs=1e-13)
    assert float(motion["psi"][0]) == pytest.approx(3 * precession, abs=1e-12)


@pytest.mark.parametrize(
    ("change", "message"), [({"l": -0.4}, "m g l > 0"), ({"l": 0.0}, "m g l > 0"), ({}, "upright")]
)
def test_lagrange_top_closed_form_says_what_it_does_not_cover(change: dict[str, float], message: str) -> None:
    initial = lagrange_top.INITIAL if change else {**lagrange_top.INITIAL, "q0": 1.0, "q1": 0.0}
    with pytest.raises(ValueError, match=message):
        lagrange_top.closed_form([1.0], {**lagrange_top.PARAMETERS, **change}, initial)


# SymPy's mechanics


def states_of(key: str, count: int = 12) -> list[tuple[dict[str, float], dict[str, float]]]:
    """Random states without the dependent velocities, and parameters near the catalogue's."""
    rng, entry = np.random.default_rng(21), entry_of(key)
    cases = []
    for _ in range(count):
        state = {name: value + 0.4 * rng.normal() for name, value in entry.initial.items()}
        if "q0" in state:
            norm = sqrt(sum(state[f"q{i}"] ** 2 for i in range(4)))
            state |= {f"q{i}": state[f"q{i}"] / norm for i in range(4)}
        parameters = {name: value * rng.uniform(0.7, 1.3) for name, value in entry.parameters.items()}
        cases.append((state, parameters))
    return cases


def in_rates(key: str) -> list[str]:
    return [form for form in entry_of(key).forms if form != "chetaev"]


@pytest.mark.parametrize("form", in_rates("kovalevskaya_top"))
def test_kovalevskaya_top_is_sympys_top_with_her_moments(form: str) -> None:
    oracle, model = oracles.rigid_body(True), compiled("kovalevskaya_top", form)
    for state, p in states_of("kovalevskaya_top"):
        i3 = p["I3"]
        expected = oracle.rhs(
            in_order(oracle.states, state), [2 * i3, 2 * i3, i3, p["m"], p["g"], p["l"], 0, 0]
        )
        rates = model.rhs(0.0, in_order(model.states, state), in_order(model.parameters, p))
        np.testing.assert_allclose(rates, expected, rtol=0, atol=1e-11 * np.max(np.abs(expected)))


@pytest.mark.parametrize("form", in_rates("suslov"))
def test_suslov_is_kanes(form: str) -> None:
    oracle, model = oracles_rolling.suslov(), compiled("suslov", form)
    for state, p in states_of("suslov"):
        state["w3"] = 0.0
        names = oracle.states
        expected = dict(
            zip(names, oracle.rhs(in_order(names, state), in_order(oracle.parameters, p)), strict=True)
        )
        y, values = in_order(model.states, state), in_order(model.parameters, p)
        rates = model.rhs(0.0, y, values)
        wanted = np.array(in_order(model.states, expected))
        np.testing.assert_allclose(rates, wanted, rtol=0, atol=1e-11 * np.max(np.abs(wanted)))
        if form == "multipliers":
            # The moment law about the third axis, M3' = M1 w2 - M2 w1 + m g (r2 gamma1 - r1 gamma2) + couple.
            gamma = rotation([state[f"q{i}"] for i in range(4)])[2]
            turn = p["I13"] * expected["w1"] + p["I23"] * expected["w2"]
            turn -= (p["I1"] - p["I2"]) * state["w1"] * state["w2"]
            weight = p["m"] * p["g"] * (p["r2"] * gamma[0] - p["r1"] * gamma[1])
            reaction = model.evaluate(0.0, y, values)["reaction_w3"]
            assert reaction == pytest.approx(turn - weight, rel=1e-10, abs=1e-10)


def check_form(
    model: Any,
    t: float,
    state: dict[str, float],
    p: dict[str, float],
    expected: Any,
    force: Any,
    reactions: Any,
) -> None:
    """Compare the rates of a form, and of the form `multipliers` the reactions, with those of an oracle."""
    y, values = in_order(model.states, state), in_order(model.parameters, p)
    pairs = [(model.rhs(t, y, values), in_order(model.states, expected))]
    if model.form == "multipliers":
        found = model.evaluate(t, y, values)
        pairs.append(([found[name] for name in reactions], force))
    for numbers, wanted in pairs:
        np.testing.assert_allclose(numbers, wanted, rtol=0, atol=1e-10 * np.max(np.abs(wanted)))


@pytest.mark.parametrize("form", in_rates("rolling_disk"))
@pytest.mark.sample(1)
def test_disk_is_lagranges_with_multipliers(form: str) -> None:
    model = compiled("rolling_disk", form)
    names = ("x", "y", "psi", "alpha", "theta", "w1", "w2", "w3")
    for state, p in states_of("rolling_disk"):
        state |= {"s1": 0.0, "s2": 0.0}
        rates, force = oracles_rolling.disk_rates(
            in_order(names, state), in_order(("m", "R", "A", "B", "g"), p)
        )
        expected = dict(zip(names, rates, strict=True)) | {"s1": 0.0, "s2": 0.0}
        check_form(model, 0.0, state, p, expected, force, ("reaction_s1", "reaction_s2"))


@pytest.mark.parametrize("form", in_rates("roller_racer"))
@pytest.mark.sample(1)
def test_racer_is_lagranges_with_multipliers(form: str) -> None:
    model, t = compiled("roller_racer", form), 0.7
    names = ("x", "y", "phi", "theta", "v", "omega", "sigma")
    for state, p in states_of("roller_racer"):
        couple = p["C"] * np.cos(p["nu"] * t)
        rates, force = oracles_rolling.racer_rates(
            in_order(("x", "y", "phi", "theta", "v", "sigma"), state),
            in_order(("m1", "m2", "I1", "I2", "d1", "d2", "k"), p),
            couple,
        )
        expected = dict(zip(names, rates, strict=True)) | {"w": 0.0}
        state |= {"w": 0.0, "omega": expected["phi"]}
        check_form(model, t, state, p, expected, force, ("lambda_1", "lambda_2"))


# Known integrals and motions


def test_kharlamovas_integral_of_the_suslov_body() -> None:
    special = {**entry_of("suslov").parameters, "I13": 0.0, "I23": 0.0, "r3": 0.0}
    values = run("suslov", "maggi", parameters=special).evaluate("kharlamova")
    assert np.ptp(values) <= 1e-10 < np.max(np.abs(values))
    assert np.ptp(run("suslov", "maggi").evaluate("kharlamova")) > 1e-2


def test_suslov_body_without_gravity_ends_on_its_axis() -> None:
    """I13 w1 + I23 w2 grows to the maximum allowed by the energy: the other velocity along the ellipse dies out."""
    p = {**entry_of("suslov").parameters, "g": 0.0}
    sol = run("suslov", "nonholonomic", (0, 300), parameters=p)
    assert np.ptp(sol.evaluate("energy")) < 1e-9
    w1, w2 = float(sol["w1"][-1]), float(sol["w2"][-1])
    assert abs(p["I13"] * w1 + p["I23"] * w2) < 1e-8 < 0.1 < abs(w1)


def test_racer_without_its_couple_keeps_its_energy() -> None:
    sol = run("roller_racer", "hamel", parameters={**entry_of("roller_racer").parameters, "C": 0.0})
    assert np.ptp(sol.evaluate("energy")) <= 1e-11


@pytest.mark.parametrize(("factor", "stable"), [(0.98, False), (1.02, True)])
def test_upright_disk_is_stable_above_the_critical_speed(factor: float, stable: bool) -> None:
    """w2^2 > m g R A / (B (B + m R^2)) in a straight run (Routh)."""
    p = entry_of("rolling_disk").parameters
    critical = p["m"] * p["g"] * p["R"] * p["A"] / (p["B"] * (p["B"] + p["m"] * p["R"] ** 2))
    model = compiled("rolling_disk", "maggi")
    state = dict.fromkeys(model.states, 0.0) | {"w2": factor * sqrt(critical)}
    jacobian = model.jacobian(0.0, in_order(model.states, state), in_order(model.parameters, p))
    growth = float(np.max(np.linalg.eigvals(jacobian).real))
    assert (growth < 1e-5) is stable
    assert stable or growth > 0.5


@pytest.mark.parametrize("name", ["torus_uniform", "torus_nonuniform"])
def test_balance_of_the_torus(name: str) -> None:
    """d(T + V)/dt = couple psi' and d(T2 - T0 + V)/dt = -Iz psi' psi'', from derivatives of the run."""
    h = 1e-3
    t = np.concatenate([[c - 2 * h, c - h, c, c + h, c + 2 * h] for c in (1.0, 2.5, 7.0)])
    sol = run(name, "lagrange", t_eval=t, rtol=1e-13, atol=1e-13)

    def slope(values: np.ndarray) -> np.ndarray:
        a, b, _, c, d = np.asarray(values).reshape(3, 5).T
        return np.asarray((a - 8 * b + 8 * c - d) / (12 * h))

    power = np.asarray(sol.evaluate("drive_power")).reshape(3, 5)[:, 2]
    np.testing.assert_allclose(slope(sol.evaluate("energy")), power, rtol=0, atol=1e-7)
    explicit = np.zeros(3)
    if name == "torus_nonuniform":
        explicit = np.asarray(sol.evaluate("painleve_power")).reshape(3, 5)[:, 2]
        assert np.min(np.abs(explicit)) > 0.1
    np.testing.assert_allclose(slope(sol.evaluate("painleve_energy")), explicit, rtol=0, atol=1e-7)
