"""Steppers with states and parameters changed between steps: in every form, and with contacts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp
from refusals import refused
from runtime_models import BLOCK, hybrid, model
from scipy.integrate import solve_ivp
from test_runtime_stepper import TIGHT, swing

import chaplygin as cg
from chaplygin.runtime import ArgumentError, KernelError, Stepper


@pytest.fixture
def run() -> Any:
    """The oscillator of runtime_models.c in motion."""
    return model("oscillator").stepper([1.0, 0.0], [1.0, 4.0], [0.0], **TIGHT)


def test_parameters_change_at_once(run: Any) -> None:
    first = run.advance(0.5)
    run.set_parameters(k=9.0)
    assert run["energy"] == pytest.approx((first[1] ** 2 + 9 * first[0] ** 2) / 2, rel=1e-14)
    assert run.advance(1.0) == pytest.approx(swing(tuple(first), 0.0, 3.0, 0.5), abs=1e-9)
    run.set_parameters([2.0, 8.0])
    assert run.parameters == {"m": 2.0, "k": 8.0}
    run.set_parameters({"m": 3})
    assert run.parameters == {"m": 3.0, "k": 8.0}
    before = run.save()
    for wrong, says in (
        ({"K": 1.0}, "set_parameters: unknown K; known names are m, k"),
        ({"m": 4.0, "k": np.inf}, "set_parameters: k = inf is not finite"),
        ([1.0], r"^set_parameters has shape \(1,\)"),
    ):
        refused(says, run.set_parameters, wrong)
    refused("a vector or names, not both", run.set_parameters, [1.0, 1.0], k=2.0)
    refused("set_parameters: k is given twice", run.set_parameters, {"k": 1.0}, k=2.0)
    assert run.save().block == before.block


def test_states_change_at_once(run: Any) -> None:
    first = run.advance(0.5)
    run.set_state(v=3.0)
    assert run.y.tolist() == [first[0], 3.0]
    assert run.advance(1.0) == pytest.approx(swing((first[0], 3.0), 0.0, 2.0, 0.5), abs=1e-9)
    run.set_state([0.25, -1.0])
    run.set_state({sp.Symbol("q"): 0.5})
    assert run.y.tolist() == [0.5, -1.0]
    before = run.save()
    for wrong, says in (
        ({"Q": 1.0}, "set_state: unknown Q"),
        ({"q": 4.0, "v": np.nan}, "set_state: v = nan is not finite"),
        ({"w": 7.0}, "set_state: w = 7 contradicts the other entries, which give 0"),
        ([1.0], r"^set_state has shape \(1,\)"),
    ):
        refused(says, run.set_state, wrong)
    assert run.save().block == before.block


def test_plain_numbers_are_taken_in_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fast path gives the same bits as the general one."""
    fast, slow = (model("oscillator").stepper([1.0, 0.0], [1.0, 4.0], [0.0]) for _ in range(2))
    changes: list[tuple[str, Any]] = [
        ("set_state", {"v": 2}),
        ("set_state", np.array([0.5, -1.0])),
        ("set_parameters", {"k": 5.0}),
        ("set_parameters", [2.0, 3.0]),
        ("set_parameters", {"m": np.float64(0.25), "k": 1.0}),
    ]
    for name, given in changes:
        slow.advance_by(0.3)
        getattr(slow, f"_{name}")(given, {})
    for name in ("_set_state", "_set_parameters"):
        monkeypatch.setattr(Stepper, name, lambda *_: pytest.fail("the slow path was taken"))
    for name, given in changes:
        fast.advance_by(0.3)
        getattr(fast, name)(given)
    assert fast.save().block[-400:] == slow.save().block[-400:]
    assert np.array_equal(fast.advance_by(1.0), slow.advance_by(1.0))
    refused("the slow path", fast.set_state, w=0.0, error=pytest.fail.Exception)


def test_a_step_length_that_no_longer_fits_is_chosen_anew() -> None:
    """Changing from a slow motion with long steps to one a thousand times faster is like starting there."""
    slow, fast = {"m": 1.0, "k": 1e-6}, {"m": 1.0, "k": 1.0}
    run = model("oscillator").stepper([1.0, 0.0], slow, [0.0], **TIGHT)
    run.advance(1000.0)
    run.set_parameters(fast)
    run.set_state(q=1.0, v=0.0)
    fresh = model("oscillator").stepper([1.0, 0.0], fast, [0.0], t0=1000.0, **TIGHT)
    assert np.array_equal(run.advance(1003.0), fresh.advance(1003.0))


@pytest.fixture(scope="module")
def orbit() -> dict[str, Any]:
    """A particle in the plane on a central spring, in polar coordinates, and a flywheel, in several forms."""
    r, theta, psi = cg.coordinates("r theta psi")
    m, k, J = cg.parameters("m k J", positive=True)
    system = cg.System(
        "orbit",
        coordinates=[r, theta, psi],
        kinetic=m * (cg.rate(r) ** 2 + r**2 * cg.rate(theta) ** 2) / 2 + J * cg.rate(psi) ** 2 / 2,
        potential=k * r**2 / 2,
        example={
            r: 1,
            theta: 0,
            psi: 0,
            cg.rate(r): 0.1,
            cg.rate(theta): 1,
            cg.rate(psi): 2,
            m: 1,
            k: 1,
            J: 1,
        },
    )
    options: dict[str, Any] = {"lagrange": {}, "chetaev": {}, "routh": {}, "whittaker": {"along": theta}}
    return {form: system.equations(form, **given) for form, given in options.items()}


START = {"r": 1.0, "theta": 0.0, "psi": 0.0, "r_dot": 0.1, "theta_dot": 1.0, "psi_dot": 2.0}
NUMBERS = {"m": 1.0, "k": 1.0, "J": 0.5}
SPEEDS = ("r_dot", "theta_dot", "psi_dot")


def motion(values: dict[str, float], p: dict[str, float], span: float) -> Any:
    """r, theta and their rates a time `span` later: m (r'' - r theta'^2) = -k r, (r^2 theta')' = 0."""

    def rates(t: float, y: Any) -> list[float]:
        r, _, v, w = y
        return [v, w, r * w * w - p["k"] / p["m"] * r, -2 * v * w / r]

    start = [values[name] for name in ("r", "theta", "r_dot", "theta_dot")]
    return solve_ivp(rates, (0, span), start, "DOP853", rtol=1e-12, atol=1e-12).y[:, -1]


@pytest.mark.parametrize("form", ["lagrange", "chetaev", "routh"])
def test_declared_velocities_stay_in_every_form(orbit: dict[str, Any], form: str) -> None:
    """Momenta and cyclic momenta follow from them: p = M(q) qdot, written by hand."""
    m = cg.compile(orbit[form])
    m.stepper(START, NUMBERS, **TIGHT).set_parameters(m=3.0)  # p = m r^2 theta_dot: all ones, then 3 and ones
    run = m.stepper(START, NUMBERS, **TIGHT)
    run.advance(0.7)
    kept = {name: run[name] for name in (*SPEEDS, "r")}
    assert run["energy"] == pytest.approx(0.5 * (0.01 + 1 + 1) + 0.5 * 0.5 * 4, rel=1e-9)
    run.set_parameters(m=3.0)
    numbers = NUMBERS | {"m": 3.0}
    assert {name: run[name] for name in kept} == pytest.approx(kept, rel=1e-14)
    run.set_state(theta_dot=0.5)
    kept["theta_dot"] = 0.5
    assert {name: run[name] for name in kept} == pytest.approx(kept, rel=1e-14)
    momenta = {
        "r_dot": 3.0 * kept["r_dot"],
        "theta_dot": 3.0 * kept["r"] ** 2 * 0.5,
        "psi_dot": 0.5 * kept["psi_dot"],
    }
    for velocity, value in momenta.items():
        for found in (f"p_{velocity}", f"a_{velocity}"):
            if found in m.states:
                assert run[found] == pytest.approx(value, rel=1e-13)
            if found in m.parameters:
                assert run.parameters[found] == pytest.approx(value, rel=1e-13)
    kept["theta"] = 0.0
    end = motion(kept, numbers, 0.6)
    run.advance_by(0.6)
    assert [run[name] for name in ("r", "r_dot", "theta_dot")] == pytest.approx(end[[0, 2, 3]], abs=1e-8)


def test_states_of_the_canonical_form(orbit: dict[str, Any]) -> None:
    run = cg.compile(orbit["chetaev"]).stepper(START, NUMBERS)
    run.set_state(p_theta_dot=4.0)
    assert run["theta_dot"] == 4.0  # m r^2 = 1
    run.set_state(p_theta_dot=1.0, r=2.0)
    assert (run["theta_dot"], run["r_dot"]) == (0.25, 0.1)
    run.set_state(r=1.0)  # a declared variable: the declared velocity is kept, not the momentum
    assert (run["theta_dot"], run["p_theta_dot"]) == (0.25, 0.25)
    with pytest.raises(ArgumentError, match="p_theta_dot is a state of the form chetaev, r_dot a declared"):
        run.set_state(p_theta_dot=1.0, r_dot=2.0)


def test_parameters_that_stand_for_velocities(orbit: dict[str, Any]) -> None:
    """If they are given, the states are kept and the velocities follow."""
    run = cg.compile(orbit["routh"]).stepper(START, NUMBERS)
    assert run.parameters["a_psi_dot"] == 1.0  # J psi_dot
    run.set_parameters(a_psi_dot=3.0)
    assert (run["psi_dot"], run["theta_dot"], run["r_dot"]) == (6.0, 1.0, 0.1)
    run.set_parameters(a_psi_dot=2.0, J=1.0)
    assert (run["psi_dot"], run["theta_dot"]) == (2.0, 1.0)


def test_the_energy_in_the_reduced_form_of_whittaker(orbit: dict[str, Any]) -> None:
    """h = T + V follows from the declared velocities; theta is the independent variable, t a state."""
    run = cg.compile(orbit["whittaker"]).stepper({**START, "theta": 0.25}, NUMBERS, t0=0.25, **TIGHT)
    run.advance(0.75)
    assert (run["theta"], run.t) == (0.75, 0.75)
    passed, r, before = run["t"], run["r"], {name: run[name] for name in SPEEDS}
    assert passed > 0
    run.set_parameters(m=3.0)
    h = (
        1.5 * (before["r_dot"] ** 2 + r**2 * before["theta_dot"] ** 2)
        + 0.25 * before["psi_dot"] ** 2
        + r**2 / 2
    )
    assert run.parameters["h"] == pytest.approx(h, rel=1e-12)
    assert {name: run[name] for name in SPEEDS} == pytest.approx(before, rel=1e-12)
    run.set_state(psi_dot=3.0)
    assert run["psi_dot"] == pytest.approx(3.0, rel=1e-13)
    assert run["theta_dot"] == pytest.approx(before["theta_dot"], rel=1e-12)
    assert run.parameters["h"] == pytest.approx(h + 0.25 * (9 - before["psi_dot"] ** 2), rel=1e-12)
    assert run["t"] == passed
    run.set_state(t=0.0)
    assert (run["t"], run["r"]) == (0.0, r)


def test_velocities_that_follow_from_constraints() -> None:
    """Maggi's form of a skate: v_y = v_x tan(phi) at 45 degrees; given values must be consistent."""
    phi, x, y = cg.coordinates("phi x y")
    rates = [cg.rate(q) for q in (phi, x, y)]
    skate = cg.System(
        "raw_skate",
        coordinates=[phi, x, y],
        kinetic=sum(v**2 for v in rates) / 2,
        constraints=[rates[1] * sp.sin(phi) - rates[2] * sp.cos(phi)],
        example={phi: 0.3, x: 0, y: 0, rates[0]: 1, rates[1]: 1, rates[2]: sp.tan(0.3)},
    )
    m = cg.compile(skate.equations("maggi", independent=[rates[0], rates[1]]))
    run = m.stepper({"phi": np.pi / 4, "x": 0, "y": 0, "phi_dot": 0.0, "x_dot": 2.0})
    assert run["y_dot"] == pytest.approx(2.0, rel=1e-14)
    run.set_state(x_dot=3.0)
    assert run["y_dot"] == pytest.approx(3.0, rel=1e-14)
    run.set_state(phi=np.pi / 6, x_dot=np.sqrt(3.0), y_dot=1.0)
    refused("set_state: y_dot = 5 contradicts the other entries, which give", run.set_state, y_dot=5.0)


def test_changes_are_checked_as_starts_are() -> None:
    """A bead on a circle: the assumptions on its symbols, and its constraint."""
    x, y = cg.coordinates("x y")
    m, r = cg.parameters("m r", positive=True)
    push = cg.inputs("push", nonnegative=True)
    circle = cg.System(
        "bead",
        coordinates=[x, y],
        kinetic=m * (cg.rate(x) ** 2 + cg.rate(y) ** 2) / 2,
        forces={cg.rate(x): push},
        holonomic=[x**2 + y**2 - r**2],
        example={x: 0.6, y: 0.8, cg.rate(x): 0.8, cg.rate(y): -0.6, m: 1, r: 1, push: 0},
    )
    model = circle.compile("multipliers")
    run = model.stepper({"x": 0.6, "y": 0.8, "x_dot": 0.8, "y_dot": -0.6}, {"m": 1, "r": 1}, [0.0])
    run.advance(0.1)
    before = run.save()
    for change, says in (
        (lambda: run.set_inputs(push=-1.0), "inputs: push = -1, but push is declared nonnegative"),
        (lambda: run.set_inputs([-1.0]), "inputs: push = -1, but push is declared nonnegative"),
        (lambda: run.set_parameters(m=-1.0), "^set_parameters: m = -1, but m is declared positive"),
        (lambda: run.set_state(x=0.5), "^set_state: the residual .* at the start"),
        (lambda: run.set_state(x_dot=5.0), "^set_state: the residual .* at the start"),
        (lambda: run.set_parameters(r=2.0), "^set_parameters: the residual .* at the start"),
    ):
        refused(says, change)
    assert run.save().block == before.block
    run.set_inputs(push=2.0)
    run.set_state(x=0.0, y=1.0, x_dot=1.0, y_dot=0.0)
    run.set_parameters(m=4.0)
    run.advance_by(1e-3)
    assert run["push"] == 2.0


# ---- contacts ----


def test_modes_of_contacts_are_those_of_the_next_step() -> None:
    """A block of weight 10 N with mu = 0.3 sticks below 3 N; its belt does not move."""
    run = hybrid("block").stepper([0.0, 0.0], BLOCK | {"k": 0.0, "s": 0.0}, {"F": 4.0})
    assert run.modes == {"belt": "slip+"}
    run.set_inputs(F=-4.0)
    assert run.modes == {"belt": "slip-"}
    run.set_inputs(F=2.0)
    assert run.modes == {"belt": "stick"}
    run.set_state(v=0.5)
    assert run.modes == {"belt": "slip+"}
    assert run.advance_by(0.1) == pytest.approx([0.05 - 0.005, 0.4], abs=1e-9)  # (2 - 3) N on 1 kg
    run.set_parameters(mu=0.1)
    assert run.advance_by(0.1) == pytest.approx([0.045 + 0.04 + 0.005, 0.5], abs=1e-9)
    assert (run.modes, run.events) == ({"belt": "slip+"}, [])
    refused(r"contact belt: mu = -0\.1 is negative at the start", run.set_parameters, mu=-0.1)
    assert run.parameters["mu"] == 0.1


def test_asking_does_not_change_what_comes() -> None:
    given: Any = ([0.3, 0.0], BLOCK, {"F": 1.0})
    asked, silent = (hybrid("block").stepper(*given) for _ in range(2))
    for i in range(40):
        force = 4.0 * (-1) ** i
        for run in (asked, silent):
            run.set_inputs(F=force)
        assert asked.modes
        assert asked.evaluate()
        for run in (asked, silent):
            run.advance_by(0.1)
        assert asked.events == silent.events
    assert asked.save().block[-200:] == silent.save().block[-200:]
    assert np.array_equal(asked.y, silent.y)


def test_a_paradox_is_said_when_quantities_are_asked_for() -> None:
    rod = hybrid("rod")
    run = rod.stepper([0.0, 2.0], {"F": 0.0, "mu": 0.5, "a": 1.0, "b": -3.0, "rate": 0.0})
    with pytest.raises(KernelError, match="Painlevé's paradox"):
        run.modes  # noqa: B018
    assert run["x"] == 0.0
