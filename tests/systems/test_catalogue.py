"""Compiled models of the catalogue against SymPy's mechanics, the closed forms and the reference states."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import oracles
import pytest
import sympy as sp
from dense_chain import dense_chain
from verification import REFERENCE

import chaplygin as cg

# name of the case: catalogue name, options, the oracle
CASES: dict[str, tuple[str, dict[str, Any], Callable[[], oracles.Oracle]]] = {
    "chaplygin_sleigh": ("chaplygin_sleigh", {}, oracles.sleigh_by_kane),
    "euler_rigid_body": ("euler_rigid_body", {}, lambda: oracles.rigid_body(False)),
    "heavy_top": ("heavy_top", {}, lambda: oracles.rigid_body(True)),
    "double_pendulum": ("double_pendulum", {}, lambda: oracles.chain_by_kane(("m1", "m2"), ("l1", "l2"))),
    "n_link_pendulum_1": ("n_link_pendulum", {"n": 1}, lambda: oracles.chain_by_kane(("m",), ("l",))),
    "n_link_pendulum_5": ("n_link_pendulum", {"n": 5}, lambda: oracles.chain_by_kane(("m",) * 5, ("l",) * 5)),
    "n_link_pendulum_8": ("n_link_pendulum", {"n": 8}, lambda: oracles.chain_by_kane(("m",) * 8, ("l",) * 8)),
    "harmonic_oscillator": ("harmonic_oscillator", {}, oracles.oscillator),
    "harmonic_oscillator_damped_driven": (
        "harmonic_oscillator",
        {"damped": True, "driven": True},
        oracles.oscillator,
    ),
}
IN_OWN_STATES = ("chetaev", "routh", "whittaker")
"""Forms with states other than the declared velocities: test_reference_states compares their motions."""
CASES_AND_FORMS = [
    pytest.param(case, form, id=f"{case}-{form}")
    for case, (name, options, _) in CASES.items()
    for form in cg.example(name, **options).forms[: 2 if case == "n_link_pendulum_8" else None]
    if form not in IN_OWN_STATES
]


def entry_of(case: str) -> cg.Example:
    name, options, _ = CASES[case]
    return cg.example(name, **options)


@cache
def compiled(case: str, form: str | None = None) -> Any:
    entry = entry_of(case)
    return entry.system.compile(form or entry.forms[0])


def random_motion(
    case: str, rng: np.random.Generator
) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
    """A random admissible state, parameters and inputs by name."""
    entry = entry_of(case)
    state = {name: float(rng.normal()) for name in entry.initial}
    if "q0" in state:
        norm = np.sqrt(sum(state[f"q{i}"] ** 2 for i in range(4)))
        state |= {f"q{i}": state[f"q{i}"] / norm for i in range(4)}
    if case == "chaplygin_sleigh":
        state["w"] = 0.0
    parameters = {name: float(rng.uniform(0.5, 2.0)) for name in entry.parameters}
    inputs = {name: float(rng.normal()) for name in compiled(case).inputs}
    return state, parameters, inputs


def run(case: str, span: tuple[float, float], tolerance: float, **more: Any) -> Any:
    entry, model = entry_of(case), compiled(case)
    still = dict.fromkeys(model.inputs, 0.0)
    return model.integrate(
        span, entry.initial, entry.parameters, still, rtol=tolerance, atol=tolerance, **more
    )


def in_order(names: tuple[str, ...], values: dict[str, float]) -> list[float]:
    return [values[name] for name in names]


@pytest.mark.parametrize(("case", "form"), CASES_AND_FORMS)
@pytest.mark.sample(6)
def test_accelerations_are_those_of_sympy(case: str, form: str) -> None:
    model, oracle = compiled(case, form), CASES[case][2]()
    rng = np.random.default_rng(11)
    for _ in range(20):
        state, parameters, inputs = random_motion(case, rng)
        known = {"c": 0.0, **parameters}
        force = [inputs.get("F", 0.0)] if case.startswith("harmonic") else []
        found = oracle.rhs(in_order(oracle.states, state), in_order(oracle.parameters, known), force)
        expected = dict(zip(oracle.states, found, strict=True))
        p, u = in_order(model.parameters, parameters), in_order(model.inputs, inputs)
        rates = model.rhs(0.0, in_order(model.states, state), p, u)
        wanted = np.array(in_order(model.states, expected))
        assert np.max(np.abs(rates - wanted)) <= 1e-10 * np.max(np.abs(wanted))


@pytest.mark.parametrize(("case", "form"), CASES_AND_FORMS)
@pytest.mark.sample(3)
def test_jacobian_and_jvp_are_derivatives_of_the_rhs(case: str, form: str) -> None:
    model = compiled(case, form)
    rng = np.random.default_rng(13)
    for _ in range(5):
        state, parameters, inputs = random_motion(case, rng)
        y, p = np.array(in_order(model.states, state)), in_order(model.parameters, parameters)
        u, h = in_order(model.inputs, inputs), 2e-4
        shifts = h * np.eye(len(y))
        rates = {j: model.rhs(0.0, (y[:, None] + j * shifts), p, u) for j in (-2, -1, 1, 2)}
        numeric = (rates[-2] - 8 * rates[-1] + 8 * rates[1] - rates[2]) / (12 * h)
        jacobian = model.jacobian(0.0, y, p, u)
        direction, size = rng.normal(size=len(y)), np.max(np.abs(jacobian))
        np.testing.assert_allclose(jacobian, numeric, rtol=0, atol=1e-7 * size)
        expected = jacobian @ direction
        np.testing.assert_allclose(model.jvp(0.0, y, p, direction, u), expected, rtol=0, atol=1e-12 * size)


@pytest.mark.parametrize("case", ["double_pendulum", "n_link_pendulum_5"])
def test_run_of_a_chain_meets_the_reference_states(case: str) -> None:
    sol = run(case, (0, 10), 1e-13, method="dop853", t_eval=[0, 1, 10])
    assert sol.success
    # The double pendulum turns over and magnifies a deviation by more than 1e3 up to t = 10.
    limit = 1e-9 if case == "double_pendulum" else 1e-10
    for column, time in ((1, "1"), (2, "10")):
        expected = [float(value) for value in REFERENCE[case]["end"][time]["state"]]
        found = [float(sol[name][column]) for name in REFERENCE[case]["state"]]
        np.testing.assert_allclose(found, expected, rtol=0, atol=limit, err_msg=f"t = {time}")


@pytest.mark.parametrize("case", CASES)
def test_what_is_conserved_stays(case: str) -> None:
    entry, model = entry_of(case), compiled(case)
    sol = run(case, entry.t_span, 1e-12)
    dissipative = "damped" in case
    assert ("energy" in model.invariants) is not dissipative
    for name in (*model.invariants, *model.residuals, *entry.conserved):
        values = np.asarray(sol.evaluate(name))
        assert np.ptp(values) <= 1e-9 * max(1.0, float(np.max(np.abs(values)))), name


@pytest.mark.parametrize("case", [case for case in CASES if cg.example(CASES[case][0]).closed_form])
def test_run_meets_the_closed_form(case: str) -> None:
    entry, times = entry_of(case), np.linspace(0, 10, 21)
    sol = run(case, (0, 10), 1e-13, t_eval=times)
    assert entry.closed_form is not None
    for name, exact in entry.closed_form(times).items():
        np.testing.assert_allclose(sol[name], exact, rtol=0, atol=1e-10, err_msg=name)


@pytest.mark.parametrize("case", CASES)
def test_declared_example_point_is_the_catalogues(case: str) -> None:
    entry, model = entry_of(case), compiled(case)
    assert set(model.parameters) == set(entry.parameters)
    assert set(model.states) <= set(entry.initial)
    out = model.evaluate(
        0.0, in_order(model.states, dict(entry.initial)), entry.parameters, [0.0] * len(model.inputs)
    )
    assert all(np.isfinite(value) for value in out.values())
    for name in set(out) & set(entry.initial):
        assert out[name] == pytest.approx(entry.initial[name], abs=1e-15)


def test_sleigh_reaction_is_the_multiplier_of_the_constraint() -> None:
    model = compiled("chaplygin_sleigh")
    rng = np.random.default_rng(12)
    for _ in range(20):
        state, parameters, _ = random_motion("chaplygin_sleigh", rng)
        y, p = in_order(model.states, state), in_order(model.parameters, parameters)
        _, multiplier = oracles.sleigh_rates_from_coordinates(
            in_order(("phi", "x", "y", "omega", "v"), state), in_order(("a", "b", "k"), parameters)
        )
        assert model.evaluate(0.0, y, p)["lateral_reaction"] == pytest.approx(multiplier, rel=1e-10)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.sample(1)
def test_long_chain_as_in_textbooks(dense: bool) -> None:
    """20 links: the Jacobian is filled by a loop; a dense mass matrix is factored by loops, a tree needs none."""
    entry = dense_chain(20) if dense else cg.example("n_link_pendulum", n=20)
    eqs = entry.system.equations("lagrange")
    assert bool(eqs.program.kernels["rhs"].solves) == dense
    model = eqs.compile()
    rng = np.random.default_rng(14)
    for _ in range(20):
        y = rng.normal(size=40)
        values = {"m": rng.uniform(0.5, 2), "l": rng.uniform(0.5, 2), "g": 9.81}
        expected = oracles.chain_by_hand(y, values["m"], values["l"], values["g"])
        rates = model.rhs(0.0, y, in_order(model.parameters, values))
        assert np.max(np.abs(rates - expected)) <= 1e-10 * np.max(np.abs(expected))


@pytest.mark.parametrize("n", [1, 5, 20])
@pytest.mark.sample(1)
def test_small_oscillations_of_the_chain_are_zeros_of_laguerre(n: int) -> None:
    model = cg.example("n_link_pendulum", n=n).system.compile("lagrange")
    values = {"m": 1.3, "l": 0.7, "g": 9.81}
    jacobian = model.jacobian(0.0, np.zeros(2 * n), in_order(model.parameters, values))
    frequencies = np.sort(np.abs(np.linalg.eigvals(jacobian).imag))[::2]
    zeros, _ = np.polynomial.laguerre.laggauss(n)
    np.testing.assert_allclose(frequencies**2, values["g"] / values["l"] * np.sort(zeros), rtol=1e-9)


def test_brackets_of_the_sleigh_are_those_of_the_plane_group() -> None:
    c = cg.example("chaplygin_sleigh").system.structure_constants()
    expected = np.zeros((3, 3, 3))
    expected[0, 1, 2], expected[1, 0, 2], expected[0, 2, 1], expected[2, 0, 1] = 1, -1, -1, 1
    assert [[[int(sp.simplify(e)) for e in row] for row in block] for block in c] == expected.tolist()


@pytest.mark.parametrize("name", ["heavy_top", "euler_rigid_body"])
def test_brackets_of_a_rigid_body_are_those_of_so3(name: str) -> None:
    c = cg.example(name).system.structure_constants()
    for a, b, i in np.ndindex(3, 3, 3):
        assert sp.simplify(c[a][b][i] - sp.LeviCivita(a, b, i)) == 0
