"""The catalogue's closed forms and the oracles against each other and against the reference states.

No compiler is involved: these tests show that the references for the compiled models are themselves correct.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import oracles
import pytest
from mpmath import mp
from processes import python
from refusals import refused
from scipy.integrate import solve_ivp
from verification import REFERENCE

from chaplygin.codegen.mechanics.quaternions import product, rotation
from chaplygin.errors import UnknownSystemError
from chaplygin.systems import chaplygin_sleigh, euler_rigid_body, example, examples, harmonic_oscillator


def _as_text(numbers: dict[str, float]) -> dict[str, str]:
    """Exact decimals, as in the initial values of the reference."""
    return {name: repr(value) for name, value in numbers.items()}


@pytest.mark.parametrize("time", ["1", "10"])
def test_sleigh_closed_form_meets_the_reference_to_19_digits(time: str) -> None:
    entry = REFERENCE["chaplygin_sleigh"]
    motion = chaplygin_sleigh.closed_form(
        [time], _as_text(chaplygin_sleigh.PARAMETERS), _as_text(chaplygin_sleigh.INITIAL), digits=30
    )
    with mp.workdps(30):
        for name, expected in zip(("phi", "x", "y", "omega", "v"), entry["end"][time]["state"], strict=True):
            assert abs(motion[name][0] - mp.mpf(expected)) < 1e-18, name


@pytest.mark.parametrize("time", ["1", "10"])
def test_euler_closed_form_meets_the_reference_to_18_digits(time: str) -> None:
    motion = euler_rigid_body.closed_form(
        [time], _as_text(euler_rigid_body.PARAMETERS), _as_text(euler_rigid_body.INITIAL), digits=30
    )
    with mp.workdps(30):
        attitude = rotation([motion[f"q{i}"][0] for i in range(4)])
        values = [motion[f"w{i}"][0] for i in (1, 2, 3)] + [entry for row in attitude for entry in row]
        for value, expected in zip(values, REFERENCE["euler_rigid_body"]["end"][time]["state"], strict=True):
            assert abs(value - mp.mpf(expected)) < 1e-18


def _rate_of_motion(
    solve: Any, parameters: Any, initial: Any, names: tuple[str, ...], t: float
) -> np.ndarray:
    """The time derivative of a closed form by central differences with 40 digits."""
    with mp.workdps(40):
        h = mp.mpf("1e-12")
        motion = solve([mp.mpf(t) - h, mp.mpf(t) + h], parameters, initial, 40)
        return np.array([float((motion[name][1] - motion[name][0]) / (2 * h)) for name in names])


EULER_CASES = {
    "about the largest axis": ((1.0, 2.0, 3.0), (0.3, 0.4, -1.2)),
    "about the smallest axis": ((1.0, 2.0, 3.0), (1.5, 0.4, 0.2)),
    "moments in another order": ((2.2, 1.1, 1.7), (0.3, -0.9, 0.5)),
    "backwards about the smallest axis": ((2.2, 1.1, 1.7), (0.3, -2.0, 0.1)),
    "steady about an axis": ((1.0, 2.0, 3.0), (0.0, 0.0, 2.0)),
    "separatrix": ((1.0, 2.0, 3.0), (math.sqrt(3.0), 1.0, 1.0)),
}


@pytest.mark.parametrize("t", [-3.1, 4.7])
@pytest.mark.parametrize("case", EULER_CASES)
@pytest.mark.sample(3)
def test_euler_closed_form_solves_the_equations(case: str, t: float) -> None:
    moments, w = EULER_CASES[case]
    q = np.array([0.4, -0.2, 0.8, 0.1])
    names = ("q0", "q1", "q2", "q3", "w1", "w2", "w3")
    parameters = dict(zip(("I1", "I2", "I3"), moments, strict=True))
    initial = dict(zip(names, [*(q / np.linalg.norm(q)), *w], strict=True))
    state = euler_rigid_body.closed_form([t], parameters, initial)
    expected = oracles.rigid_body(gravity=False).rhs([float(state[name][0]) for name in names], moments)
    rate = _rate_of_motion(euler_rigid_body.closed_form, parameters, initial, names, t)
    np.testing.assert_allclose(rate, expected, rtol=0, atol=1e-12)


SLEIGH_CASES = {
    "ahead": ((0.4, 0.15, 0.6), (0.8, 1.0)),
    "turning right, centre behind": ((-0.7, -0.3, 0.5), (-1.1, 0.6)),
    "starting backwards": ((0.3, 0.2, 0.4), (0.9, -1.4)),
    "centre beside the blade": ((0.0, 0.2, 0.4), (0.9, -1.4)),
    "straight": ((0.3, 0.2, 0.4), (0.0, -1.4)),
}


@pytest.mark.parametrize("t", [-1.3, 2.9])
@pytest.mark.parametrize("case", SLEIGH_CASES)
def test_sleigh_closed_form_solves_the_equations(case: str, t: float) -> None:
    values, (omega, v) = SLEIGH_CASES[case]
    names = ("phi", "x", "y", "omega", "v")
    parameters = dict(zip("abk", values, strict=True))
    initial = {"phi": 0.3, "x": -1.0, "y": 2.0, "omega": omega, "v": v, "w": 0.0}
    state = chaplygin_sleigh.closed_form([t], parameters, initial)
    expected, _ = oracles.sleigh_rates_from_coordinates([float(state[name][0]) for name in names], values)
    rate = _rate_of_motion(chaplygin_sleigh.closed_form, parameters, initial, names, t)
    np.testing.assert_allclose(rate, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("damping", [0.0, 0.3, 8.0, 11.0], ids=["none", "under", "critical", "over"])
def test_oscillator_closed_form_solves_the_equations(damping: float) -> None:
    parameters, initial = {"m": 2.0, "k": 8.0, "c": damping}, {"x": 1.0, "x_dot": 0.5}

    def solve(*args: Any) -> Any:
        return harmonic_oscillator.closed_form(*args, force=1.5)

    state = solve([0.9], parameters, initial, 20)
    expected = oracles.oscillator().rhs(
        [float(state["x"][0]), float(state["x_dot"][0])], [2.0, 8.0, damping], [1.5]
    )
    np.testing.assert_allclose(
        _rate_of_motion(solve, parameters, initial, ("x", "x_dot"), 0.9), expected, rtol=0, atol=1e-12
    )
    start = solve([0], parameters, initial, 20)
    assert (float(start["x"][0]), float(start["x_dot"][0])) == (1.0, 0.5)


def test_closed_form_takes_times_in_any_order() -> None:
    exact = example("chaplygin_sleigh").closed_form
    assert exact is not None
    together = exact([3.0, -1.0, 0.0, 1.0])
    for i, t in enumerate((3.0, -1.0, 0.0, 1.0)):
        alone = exact(t)
        assert all(abs(together[name][i] - alone[name]) < 1e-14 for name in together)
    assert together["x"][2] == example("chaplygin_sleigh").initial["x"]
    refused("finite", exact, [0.0, float("nan")], error=ValueError)


def test_closed_form_refuses_a_sleigh_that_slips() -> None:
    with pytest.raises(ValueError, match="w = 0"):
        chaplygin_sleigh.closed_form([1.0], initial={**chaplygin_sleigh.INITIAL, "w": 0.1})


# Oracles against each other


def test_sleigh_by_kane_is_sleigh_by_multipliers() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        y, p = rng.normal(size=5), np.append(rng.normal(size=2), rng.uniform(0.2, 2))
        rates, multiplier = oracles.sleigh_rates_from_coordinates(y, p)
        np.testing.assert_allclose(
            oracles.sleigh_by_kane().rhs([*y, 0.0], p)[:5], rates, rtol=1e-11, atol=1e-12
        )
        (a, b, k), (omega, v) = p, y[3:]
        # The output that the catalogue declares: the reaction as a function of state.
        assert multiplier == pytest.approx(k**2 * omega * (v - b * omega) / (a**2 + k**2), rel=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("masses", "lengths"),
    [(("m",) * 4, ("l",) * 4), (("m1", "m2"), ("l1", "l2"))],
    ids=["chain of 4", "double"],
)
def test_chain_by_kane_is_chain_by_lagrange(masses: tuple[str, ...], lengths: tuple[str, ...]) -> None:
    kane, lagrange = oracles.chain_by_kane(masses, lengths), oracles.chain_by_lagrange(masses, lengths)
    assert (kane.states, kane.parameters) == (lagrange.states, lagrange.parameters)
    rng = np.random.default_rng(2)
    for _ in range(20):
        y, p = rng.normal(size=len(kane.states)), rng.uniform(0.5, 2, len(kane.parameters))
        np.testing.assert_allclose(kane.rhs(y, p), lagrange.rhs(y, p), rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("n", [1, 5])
def test_chain_by_kane_is_chain_by_hand(n: int) -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        y, p = rng.normal(size=2 * n), rng.uniform(0.5, 2, 3)
        expected = oracles.chain_by_kane(("m",) * n, ("l",) * n).rhs(y, p)
        np.testing.assert_allclose(oracles.chain_by_hand(y, *p), expected, rtol=1e-10, atol=1e-11)


def _start(name: str, options: dict[str, Any], oracle: oracles.Oracle) -> tuple[list[float], list[float]]:
    entry = example(name, **options)
    return [entry.initial[s] for s in oracle.states], [entry.parameters[s] for s in oracle.parameters]


def _with_rotation(y: np.ndarray) -> np.ndarray:
    """(q, w) in the order of the reference: w, then R(q) by rows."""
    return np.array([*y[4:], *np.ravel(rotation(y[:4]))])


def _same(y: np.ndarray) -> np.ndarray:
    return y


TRAJECTORIES: dict[str, tuple[str, dict[str, Any], Any, Any]] = {
    "chaplygin_sleigh": ("chaplygin_sleigh", {}, oracles.sleigh_by_kane, lambda y: y[:5]),
    "euler_rigid_body": ("euler_rigid_body", {}, lambda: oracles.rigid_body(False), _with_rotation),
    "heavy_top": ("heavy_top", {}, lambda: oracles.rigid_body(True), _with_rotation),
    "double_pendulum": (
        "double_pendulum",
        {},
        lambda: oracles.chain_by_lagrange(("m1", "m2"), ("l1", "l2")),
        _same,
    ),
    "n_link_pendulum_5": (
        "n_link_pendulum",
        {"n": 5},
        lambda: oracles.chain_by_lagrange(("m",) * 5, ("l",) * 5),
        _same,
    ),
}


@pytest.mark.parametrize("key", TRAJECTORIES)
@pytest.mark.sample(3)
def test_oracle_runs_into_the_reference_states(key: str) -> None:
    name, options, make, order = TRAJECTORIES[key]
    oracle = make()
    y, p = _start(name, options, oracle)
    # The heavy top magnifies an error by 1e4 up to t = 10: a tolerance of 1e-13 would leave 1.7e-10.
    run = solve_ivp(
        lambda t, y: oracle.rhs(y, p), (0, 10), y, method="DOP853", rtol=3e-14, atol=1e-14, t_eval=[0, 1, 10]
    )
    given = [float(value) for value in REFERENCE[key]["initial"]]
    np.testing.assert_allclose(order(run.y[:, 0]), given, rtol=0, atol=1e-15)
    for column, time in ((1, "1"), (2, "10")):
        expected = [float(value) for value in REFERENCE[key]["end"][time]["state"]]
        np.testing.assert_allclose(order(run.y[:, column]), expected, rtol=0, atol=1e-10)


# The catalogue as data


@pytest.mark.parametrize("name", examples())
def test_entry_is_complete(name: str) -> None:
    entry = example(name)
    assert entry.name == name
    assert entry.source
    assert entry.description
    assert entry.forms
    assert entry.t_span[0] < entry.t_span[1]
    assert all(math.isfinite(value) for value in [*entry.parameters.values(), *entry.initial.values()])
    if entry.closed_form is not None:
        start = entry.closed_form(entry.t_span[0])
        assert set(start) == set(entry.initial)
        assert all(abs(start[key] - entry.initial[key]) < 1e-15 for key in start)


def test_quaternion_product_composes_rotations() -> None:
    p, q = np.random.default_rng(3).normal(size=(2, 4))
    np.testing.assert_allclose(
        np.array(rotation(product(p, q))),
        np.array(rotation(p)) @ np.array(rotation(q)),
        rtol=1e-13,
        atol=1e-13,
    )


def test_n_link_takes_its_size() -> None:
    assert [len(example("n_link_pendulum", n=n).initial) for n in (1, 2, 20)] == [2, 4, 40]
    refused("at least 1", example, "n_link_pendulum", n=0, error=ValueError)


def test_errors_name_what_there_is() -> None:
    words = r"^the catalogue has no system 'heavy_tpo'; did you mean heavy_top\? it has "
    refused(words, example, "heavy_tpo", error=KeyError)
    words = r"^the catalogue has no system 'juggler'; it has bicycle, block_on_belt, "
    refused(words, example, "juggler", error=UnknownSystemError)
    refused("no system 3; it has ", example, 3, error=UnknownSystemError)
    refused("it takes n", example, "n_link_pendulum", links=3, error=TypeError)
    refused("it has no options", example, "heavy_top", n=3, error=TypeError)


def test_parameters_and_initial_states_need_no_sympy() -> None:
    code = (
        "import sys; import chaplygin.systems as s; "
        "entries = [s.example(n) for n in s.examples()]; "
        "assert all(e.initial and e.parameters for e in entries); "
        "next(e.closed_form for e in entries if e.closed_form)(1.0); "
        "assert 'sympy' not in sys.modules"
    )
    python(code)


def test_changing_an_entry_leaves_the_catalogue_as_it_is() -> None:
    entry = example("heavy_top")
    assert isinstance(entry.parameters, dict)
    entry.parameters["m"] = -1.0
    assert example("heavy_top").parameters["m"] == 2.0
