"""The quaternions of joints must have length 1 at every start: what is said otherwise, and how a start is mended."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
import sympy as sp
from refusals import refused
from scipy.integrate import solve_ivp

import chaplygin as cg
from chaplygin.api.python_model import PythonModel, python_kernels
from chaplygin.errors import ConsistencyWarning

ANGLE = 0.6
NUMBERS = {"m": 1.0, "l": 1.0, "g": 9.81}
OFF = r"bob_q0, bob_q1, bob_q2, bob_q3 must be a quaternion of length 1, and its length is {}: divide"


@cache
def bob() -> Any:
    """A pendulum at a ball joint, which swings about the x axis as one at a hinge: 1.1 a'' = -9.81 sin(a)."""
    m, length, g = cg.parameters("m l g", positive=True)
    body = cg.joint.ball(None, name="bob", mass=m, inertia=[0.1, 0.1, 0.1], center=(0, 0, -length))
    return cg.System("bob", bodies=[body], interactions=[cg.Weight(g)]).compile()


def start(length: float = 1.0) -> dict[str, float]:
    turned = {"bob_q0": length * np.cos(ANGLE / 2), "bob_q1": length * np.sin(ANGLE / 2)}
    return dict.fromkeys(bob().states, 0.0) | turned


def angle(y: Any) -> float:
    return 2.0 * float(np.arctan2(y["bob_q1"], y["bob_q0"]))


@cache
def swung() -> float:
    """The angle after 3 s, by SciPy, from the equation of a pendulum."""
    found = solve_ivp(
        lambda t, y: [y[1], -9.81 * np.sin(y[0]) / 1.1], (0, 3), [ANGLE, 0], rtol=1e-11, atol=1e-11
    )
    return float(found.y[0, -1])


def _ensemble(model: Any, y: Any) -> Any:
    return cg.ensemble(model, (0, 1), y | {"bob_wx": np.zeros(3)}, NUMBERS)


def _set(model: Any, y: Any) -> Any:
    return model.stepper(start(), NUMBERS).set_state(y)


def _reset(model: Any, y: Any) -> Any:
    return model.batch(start(), NUMBERS, n=2).reset(initial={name: np.full(2, v) for name, v in y.items()})


RUNS = {
    "integrate": lambda model, y: model.integrate((0, 1), y, NUMBERS),
    "a vector": lambda model, y: model.integrate((0, 1), list(y.values()), NUMBERS),
    "project": lambda model, y: model.integrate((0, 1), y, NUMBERS, project="all"),
    "fixed steps": lambda model, y: model.integrate((0, 1), y, NUMBERS, method="rk4", step=0.01),
    "stepper": lambda model, y: model.stepper(y, NUMBERS),
    "set_state": _set,
    "batch": lambda model, y: model.batch(y, NUMBERS, n=2),
    "reset": _reset,
    "ensemble": _ensemble,
    "study": lambda model, y: model.study((0, 1), y, NUMBERS, n=4, collect={"end": cg.moments("bob_q1")}),
    "sensitivities": lambda model, y: model.integrate((0, 1), y, NUMBERS, sensitivities=["l"]),
    "gradient": lambda model, y: model.gradient(cg.final("bob_q1"), (0, 1), y, NUMBERS),
    "lyapunov": lambda model, y: model.lyapunov((0, 1), y, NUMBERS),
    "linearize": lambda model, y: model.linearize(y | {"bob_q1": 0.0}, NUMBERS),
}


@pytest.mark.parametrize("kind", RUNS)
def test_every_kind_of_run_judges_the_length(kind: str) -> None:
    factor = 1.0 / np.cos(ANGLE / 2) if kind == "linearize" else 1.0  # at rest, bob_q1 is 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RUNS[kind](bob(), start(factor))
    category = RuntimeWarning if kind == "study" else ConsistencyWarning  # that of what its chunks have said
    with pytest.warns(category, match=OFF.format(r"1\.02")):
        RUNS[kind](bob(), start(1.02 * factor))
    refused(OFF.format(r"2\b"), RUNS[kind], bob(), start(2.0 * factor))
    refused(
        r"bob_q0, bob_q1, bob_q2, bob_q3 are all zero: .* 1, 0, 0, 0 is not", RUNS[kind], bob(), start(0.0)
    )


def test_trajectories_that_are_off_are_counted() -> None:
    lengths = np.array([1.0, 1.02, 1.05, 1.0])
    turned = {name: lengths * start()[name] for name in ("bob_q0", "bob_q1")}
    with pytest.warns(
        ConsistencyWarning, match=r"length is 1\.05: .* \(2 of 4 trajectories; the worst is number 2\)"
    ):
        cg.ensemble(bob(), (0, 1), start() | turned, NUMBERS)
    turned = {name: value * np.array([1.0, 0.5, 1.0, 1.0]) for name, value in turned.items()}
    words = r"length is 0\.51: .* \(1 of 4 trajectories; the first is number 1\)"
    refused(words, cg.ensemble, bob(), (0, 1), start() | turned, NUMBERS)


def test_two_quaternions_of_a_trajectory_count_once() -> None:
    y = dict.fromkeys(many().states, 0.0) | {f"b{i}_q0": 1.0 for i in range(5)}
    y |= {"b0_q2": 0.5, "b1_q2": 0.5, "b3_q0": np.array([1.5, 1.0])}
    refused(
        r"b3_q0, .* length is 1\.5: .* \(2 of 2 trajectories; the first", cg.ensemble, many(), (0, 1), y, {}
    )


@pytest.mark.parametrize(
    ("q", "said"), [((1.1, 0, 0, 0), r"its length is 1\.1: divide"), ((0, 0, 0, 0), "are all zero")]
)
def test_examples(q: Any, said: str) -> None:
    body = cg.joint.free(name="bob", mass=1, inertia=[1, 2, 3])
    with pytest.raises(cg.DeclarationError, match=rf"example: bob_q0, bob_q1, bob_q2, bob_q3 .*{said}"):
        cg.System("free", bodies=[body], example=dict(zip(body.quaternion, q, strict=True)))


@pytest.mark.parametrize("how", [{}, {"method": "rk4", "step": 0.01}])
def test_two_digits_are_too_few(how: dict[str, Any]) -> None:
    rounded = {name: round(value, 2) for name, value in start().items()}
    with pytest.warns(ConsistencyWarning, match=OFF.format(r"1\.0057\d*")):
        bob().integrate((0, 1), rounded, NUMBERS, **how)


@pytest.mark.parametrize(
    "how", [{}, {"rtol": 1e-6, "atol": 1e-6}, {"rtol": 1e-3, "atol": 1e-3}, {"method": "rk4", "step": 0.01}]
)
def test_the_end_of_a_run_starts_the_next_one(how: dict[str, Any]) -> None:
    """Lengths drift, by 4e-11 to 1e-3 in 100 s."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = bob().integrate((0, 100), start() | {"bob_wz": 2.0}, NUMBERS, **how)
        assert abs(first["coordinates_1"][-1] - 1.0) > 1e-12
        assert bob().integrate((0, 1), first.y[:, -1], NUMBERS, **how).success
        stepper = bob().stepper(first.y[:, -1], NUMBERS, **how)
        stepper.advance(1.0)
        stepper.set_parameters({"g": 1.0})
        stepper.restore(stepper.save())


def test_a_quaternion_with_an_example_is_told_of_once() -> None:
    body = cg.joint.ball(None, name="bob", mass=1, inertia=[1, 2, 3])
    example = dict(zip(body.coordinates, (1, 0, 0, 0), strict=True))
    model = cg.System("spun", bodies=[body], example=example).compile()
    y = dict.fromkeys(model.states, 0.0) | {"bob_q0": 1.01}
    assert model.checked_at_start == ("coordinates_1",)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.integrate((0, 1), y)
    assert ["must be a quaternion of length 1" in str(each.message) for each in told] == [True]


def test_in_pure_python() -> None:
    body = cg.joint.free(name="bob", mass=1, inertia=[1, 2, 3])
    model = PythonModel(python_kernels(cg.System("free", bodies=[body]).equations().program), quiet=True)
    y = dict.fromkeys(model.states, 0.0)
    with pytest.warns(ConsistencyWarning, match=OFF.format(r"1\.02")):
        model.integrate((0, 1), y | {"bob_q2": 1.02})
    refused("all zero", model.integrate, (0, 1), y)


def test_episodes_are_judged() -> None:
    gym = pytest.importorskip("chaplygin.gym")
    torque = cg.inputs("torque")
    body = cg.joint.ball(None, name="bob", mass=1, inertia=[1, 2, 3])
    model = cg.System("spun", bodies=[body], forces={body.velocities[0]: torque}).compile()
    task = {"dt": 0.1, "actions": {"torque": (-1, 1)}, "observations": ["bob_q0"], "reward": sp.Integer(0)}
    y = dict.fromkeys(model.states, 0.0) | {"bob_q0": 1.0, "bob_q1": (-0.9, -0.8)}
    with pytest.raises(cg.ArgumentError, match="must be a quaternion of length 1"):
        gym.VectorEnv(model, 3, **task, initial=y).reset(seed=0)


@pytest.mark.parametrize("length", [1.0, 1.1, 2.0, 1e-9, -0.5])
def test_a_consistent_start_does_not_depend_on_the_length(length: float) -> None:
    found = bob().consistent(start(length), NUMBERS)
    assert found == pytest.approx({**start(np.sign(length)), "bob_wx": 0.0}, abs=1e-15)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        end = bob().integrate((0, 3), found, NUMBERS, rtol=1e-11, atol=1e-11)
    assert np.tan(angle({name: end[name][-1] for name in bob().states}) / 2) == pytest.approx(
        np.tan(swung() / 2), abs=1e-9
    )


def test_components_that_are_kept() -> None:
    found = bob().consistent(start() | {"bob_q0": 3.0, "bob_q1": 0.6}, NUMBERS, keep=["bob_q1"])
    assert [found[name] for name in ("bob_q0", "bob_q1")] == pytest.approx([0.8, 0.6], abs=1e-15)
    with pytest.raises(cg.ArgumentError, match=r"cannot be given the length 1 with bob_q1 held"):
        bob().consistent(start() | {"bob_q1": 1.5}, NUMBERS, keep=["bob_q1"])
    refused(
        r"= 0, 0, 0, 0 cannot be given the length 1; 1, 0, 0, 0 is not", bob().consistent, start(0.0), NUMBERS
    )


def test_an_equilibrium_has_length_1() -> None:
    """The pendulum at rest, from a guess of length 1.02: its frequency is that of 1.1 a'' = -9.81 a."""
    guess = {"bob_q0": 1.0, "bob_q1": 0.2, "bob_q2": 0.0, "bob_q3": 0.0}
    found = bob().equilibrium(guess, NUMBERS, keep=["bob_q3"])
    assert found["bob_q0"] == pytest.approx(1.0, abs=1e-12)
    assert max(abs(found.eigenvalues.imag)) == pytest.approx(np.sqrt(9.81 / 1.1), rel=1e-10)


@cache
def many() -> Any:
    """Five pendulums at ball joints, two of them held apart: 20 coordinates."""
    links = [
        cg.joint.ball(None, name=f"b{i}", mass=1, inertia=[0.1, 0.1, 0.1], center=(0, 0, -1))
        for i in range(5)
    ]
    apart = links[0].center[0] - links[1].center[0] - sp.Rational(3, 10)
    return cg.System("many", bodies=links, interactions=[cg.Weight(9.81)], holonomic=[apart]).compile()


def test_large_systems_keep_and_find_the_lengths() -> None:
    model = many()
    assert model.invariants[-5:] == tuple(f"coordinates_{i}" for i in range(1, 6))
    given = dict.fromkeys(model.declared, 0.0) | {f"b{i}_q0": 2.0 for i in range(5)} | {"b0_q2": 0.5}
    found = model.consistent(given, {})
    lengths = [sum(found[f"b{i}_q{j}"] ** 2 for j in range(4)) for i in range(5)]
    assert lengths == pytest.approx([1.0] * 5, abs=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drifts, kept = (
            model.integrate((0, 2), found, {}, rtol=1e-4, atol=1e-4, project=project)
            for project in ("constraints", "all")
        )
    for i in range(1, 6):
        assert kept[f"coordinates_{i}"] == pytest.approx(np.ones(len(kept.t)), abs=1e-8)
    assert max(abs(drifts[f"coordinates_{i}"][-1] - 1.0) for i in range(1, 6)) > 1e-7


def test_an_objective_does_not_depend_on_the_length() -> None:
    """It begins at q/|q|: the derivative along q is zero, and across it that by the angle over 2 |q|."""
    free = ["bob_q0", "bob_q1"]
    objective = bob().objective(
        cg.final("bob_q1"), (0, 1), start(), NUMBERS, free=free, rtol=1e-11, atol=1e-11
    )
    half = np.array([np.cos(ANGLE / 2), np.sin(ANGLE / 2)])
    across, h = np.array([-half[1], half[0]]), 1e-5
    value, slopes = objective(half)
    ahead, behind = (objective(half * np.cos(e) + across * np.sin(e))[0] for e in (h, -h))
    assert slopes @ across == pytest.approx((ahead - behind) / (2 * h), rel=1e-8)
    for length in (0.5, 1.0, 3.0):
        again, scaled = objective(length * half)
        assert again == pytest.approx(value, rel=1e-10)
        assert scaled @ half == pytest.approx(0.0, abs=1e-10)
        assert scaled @ across == pytest.approx(slopes @ across / length, rel=1e-9)


def test_a_fit_of_an_attitude() -> None:
    times = np.linspace(0.0, 1.0, 11)
    series = {"bob_q1": (times, bob().integrate((0, 1), start(), NUMBERS, t_eval=times)["bob_q1"])}
    guess = start() | {"bob_q0": 1.5, "bob_q1": 0.1}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = cg.fit(bob(), series, free=["bob_q1"], initial=guess, parameters=NUMBERS)
    assert found["bob_q1"] == pytest.approx(1.5 * np.tan(ANGLE / 2), rel=1e-8)
