"""Steppers: durations and times, quantities by name, changing inputs, parameters, states, copies, sensitivities."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import sympy as sp
from refusals import refused
from runtime_models import BLOCK, hybrid, model

import chaplygin as cg
from chaplygin.errors import BusyError
from chaplygin.runtime import ArgumentError, KernelError, Model
from chaplygin.runtime.problem import given_inputs

TIGHT = {"rtol": 1e-11, "atol": 1e-11}


@pytest.fixture
def oscillator() -> Any:
    """The oscillator of runtime_models.c, m q'' = F - k q."""
    return model("oscillator")


@pytest.fixture
def run(oscillator: Any) -> Any:
    return oscillator.stepper([1.0, 0.0], [1.0, 4.0], [0.0], **TIGHT)


def swing(start: tuple[float, float], rest: float, frequency: float, t: float) -> list[float]:
    """Closed form of the oscillator: the state a time t after `start`, around the equilibrium `rest`."""
    q, v = start[0] - rest, start[1]
    c, s = np.cos(frequency * t), np.sin(frequency * t)
    return [rest + q * c + v / frequency * s, -q * frequency * s + v * c]


# ---- times and durations ----


def test_advance_takes_a_time_and_advance_by_a_duration(run: Any) -> None:
    for _ in range(5):
        y = run.advance(0.1)
    assert run.t == 0.1
    assert y == pytest.approx(swing((1.0, 0.0), 0.0, 2.0, 0.1), abs=1e-9)
    for _ in range(5):
        y = run.advance_by(0.1)
    assert run.t == 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1
    assert y == pytest.approx(swing((1.0, 0.0), 0.0, 2.0, 0.6), abs=1e-9)
    assert run.advance_by(-0.6) == pytest.approx([1.0, 0.0], abs=1e-9)
    assert np.array_equal(run.advance_by(0), run.y)


def test_durations_that_lead_nowhere(run: Any) -> None:
    run.advance(1.0)
    before = run.y
    for dt, says in (
        (np.nan, "dt = nan is not finite"),
        ("0.1", "dt = '0.1' is not a real number"),
        (1e-17, r"dt = 1.*e-17 is too short: t = 1 does not change in float64"),
        (-1e-17, "is too short"),
    ):
        refused(says, run.advance_by, dt)
    assert run.t == 1.0
    assert np.array_equal(run.y, before)
    late = run.model.stepper([1.0, 0.0], [1.0, 4.0], [0.0], t0=1.7e308)
    refused(r"dt = 1e\+308 is too long: t \+ dt exceeds the range of float64", late.advance_by, 1e308)


def test_friction_is_not_run_backward_by_durations() -> None:
    run = hybrid("block").stepper([0.0, 0.0], BLOCK, [0.0], t0=1.0)
    refused(r"dt = -0\.5: friction cannot be run backward; give dt >= 0", run.advance_by, -0.5)
    run.advance_by(0.5)
    assert run.t == 1.5


# ---- quantities by name ----


def test_quantities_by_name(run: Any) -> None:
    run.advance(0.5)
    q, v = swing((1.0, 0.0), 0.0, 2.0, 0.5)
    expected = {"q": q, "v": v, "w": 0.0, "pull": -4 * q, "energy": 2.0, "F": 0.0, "t": 0.5}
    for name, value in expected.items():
        assert type(run[name]) is float
        assert run[name] == run.evaluate(name) == run[sp.Symbol(name, real=True)]
        assert run[name] == pytest.approx(value, abs=1e-9)
    assert run.evaluate() == {name: run[name] for name in ("q", "v", "w", "pull", "energy")}
    assert run.evaluate() == run.model.evaluate(run.t, run.y, run.p, [0.0])
    assert run.outputs == {"w": run["w"], "pull": run["pull"]}
    assert run.parameters == {"m": 1.0, "k": 4.0}
    assert set(run.names) == {*expected} - {"t"}
    assert set(run._ipython_key_completions_()) == {*expected}
    with pytest.raises(
        ArgumentError, match=r"'pul' is not a quantity of oscillator; it has .*; did you mean pull"
    ):
        run["pul"]
    for wrong in (["q"], 0, None, slice(1)):
        with pytest.raises(
            ArgumentError, match=r"not the name of a quantity of oscillator; give one of q, .* \.y$"
        ):
            run[wrong]


def test_inputs_by_name_are_those_at_this_time(run: Any) -> None:
    run.set_inputs(F=lambda t, y: 10 * t + y[0])
    run.advance(0.25)
    assert run["F"] == 2.5 + run["q"]
    assert run["pull"] == run["F"] - 4 * run["q"]
    run.set_inputs(F=([0, 1, 2], [0.0, 5.0, 7.0], "linear"))
    run.advance(1.5)
    assert run["F"] == 6.0
    run.set_inputs(F=([0, 2], [1.0, 3.0]))
    run.advance(2.0)
    assert run["F"] == 3.0  # a held value applies from its time on, as in sol["F"]
    assert run.outputs["pull"] == 3.0 - 4 * run["q"]


def test_quantities_are_computed_between_calls_and_not_inside() -> None:
    box: list[Any] = []

    def nosy(t: float, y: Any) -> float:
        if box and not seen:
            seen.append((box[0]["q"], box[0].t))
            for ask in (lambda: box[0]["pull"], lambda: box[0].evaluate(), lambda: box[0].set_state(q=2)):
                refused("this stepper is in use", ask, error=BusyError)
        return 0.0

    seen: list[Any] = []
    box.append(model("oscillator").stepper([1.0, 0.0], [1.0, 4.0], {"F": nosy}))
    box[0].advance(0.1)
    assert seen == [(1.0, 0.0)]
    seen[:] = [None]  # reading the input calls the function too
    assert box[0]["F"] == 0.0


def test_a_model_that_fails_at_the_state_says_so(oscillator: Any) -> None:
    run = oscillator.stepper([1.0, 0.0], [0.0, 4.0], [0.0])
    assert run["energy"] == 2.0  # needs no mass matrix
    refused("singular", run.advance, 1.0, error=KernelError)
    run.set_parameters(m=1.0)
    assert run.advance(0.5) == pytest.approx(swing((1.0, 0.0), 0.0, 2.0, 0.5), abs=1e-7)


# ---- one state of a model by name ----


class Counting(Model):
    """Counts calls on the slow path."""

    slow = 0

    def _evaluate(self, *given: Any) -> Any:
        Counting.slow += 1
        return super()._evaluate(*given)


def test_evaluate_of_one_state_goes_through_the_compiled_core() -> None:
    m = Counting(model("oscillator").capsule)
    y, p, u = [0.3, -1.2], [2.0, 5.0], [0.7]
    expected = {"q": 0.3, "v": -1.2, "w": 0.0, "pull": 0.7 - 1.5, "energy": 1.44 + 2.5 * 0.09}
    given = [
        (y, p, u),
        tuple(map(np.array, (y, p, u))),
        ({"q": 0.3, "v": -1.2}, {"k": 5, "m": 2}, {"F": 0.7}),
    ]
    Counting.slow = 0
    for one in given:
        values = m.evaluate(0, *one)
        assert list(values) == list(expected)
        assert all(type(value) is float for value in values.values())
        assert values == pytest.approx(expected, rel=1e-15)
    assert Counting.slow == 0
    columns = m.evaluate(0, np.array([y, y]).T, p, u)
    assert Counting.slow == 1
    assert {name: row.tolist() for name, row in columns.items()} == {
        name: [v, v] for name, v in values.items()
    }
    refused("p: unknown K; known names are m, k", m.evaluate, 0, y, {"m": 1, "K": 2}, u)


def test_evaluate_takes_modes_of_contacts() -> None:
    block, p = hybrid("block"), [1.0, 4.0, 0.3, 10.0, 0.5]
    sticks, slips = (block.evaluate(0.0, [0.1, 0.5], p, u) for u in ([1.0], [1.0, 1.0]))
    assert sticks.keys() == slips.keys()
    assert block.evaluate(0.0, [0.1, 0.5], p, [1.0]) == sticks  # no mode is kept between calls


# ---- inputs ----


@pytest.mark.parametrize(
    "given", [{"F": 4.0}, [4.0], np.array([4.0]), np.array([4]), {sp.Symbol("F"): 4}], ids=repr
)
def test_inputs_change_at_once(run: Any, given: Any) -> None:
    first = run.advance(0.5)
    run.set_inputs(given)
    assert (run["F"], run.inputs.values.tolist(), run["pull"]) == (4.0, [4.0], 4.0 - 4 * first[0])
    assert run.advance(1.5) == pytest.approx(swing(tuple(first), 1.0, 2.0, 1.0), abs=1e-9)
    saved = run.save()
    run.set_inputs(F=-1.0)
    run.advance(2.0)
    run.restore(saved)
    assert (run["F"], run.inputs.values.tolist()) == (4.0, [4.0])


def test_numbers_do_not_go_through_the_slow_path(monkeypatch: pytest.MonkeyPatch) -> None:
    run = model("oscillator").stepper([1.0, 0.0], [1.0, 4.0], [0.0])
    slow: list[Any] = []
    monkeypatch.setattr(given_inputs, "changed_inputs", lambda *given: slow.append(given) or given[0])
    for given in ([1.0], np.array([2.0]), {"F": 3}, {"F": np.float64(4.0)}):
        run.set_inputs(given)
        assert not slow
    run.set_inputs(F=5.0)
    assert (run["F"], slow) == (5.0, [])
    run.set_inputs(F=([0.0], [1.0]))
    assert len(slow) == 1


def test_inputs_that_vary_beside_numbers_that_change() -> None:
    """The number takes the fast path and the function stays; then the function is replaced."""
    a, b = cg.inputs("a b")
    x = cg.coordinates("x")
    plant = cg.System("plant", coordinates=[x], kinetic=cg.rate(x) ** 2 / 2, forces={cg.rate(x): a + b})
    run = cg.compile(plant.equations("lagrange")).stepper([0.0, 0.0], {}, {"a": 0.0, "b": lambda t, y: 2.0})
    run.advance(1.0)
    assert run.y == pytest.approx([1.0, 2.0], abs=1e-9)
    run.set_inputs(a=-2.0)
    assert (run.inputs.values.tolist(), list(run.inputs.functions)) == ([-2.0, 0.0], [1])
    assert run.advance(2.0) == pytest.approx([3.0, 2.0], abs=1e-9)
    run.set_inputs(b=4.0)
    assert run.inputs.constant
    assert run.advance(3.0) == pytest.approx([6.0, 4.0], abs=1e-9)
    before = run.save()
    for wrong in ({"a": 1.0, "b": np.nan}, {"a": 1.0, "c": 2.0}, {"a": 1.0, "b": "x"}):
        refused("inputs", run.set_inputs, wrong)
    assert run.save().block == before.block


# ---- copies ----


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, lambda run: pickle.loads(pickle.dumps(run))])
def test_copies_and_pickles_go_on_bit_for_bit(make: Any) -> None:
    from chaplygin.generated.chaplygin_sleigh import model as sleigh

    entry = cg.example("chaplygin_sleigh")
    tolerances = {"rtol": 1e-7, "atol": {"phi": 1e-6, "x": 1e-8, "y": 1e-8, "omega": 1e-7, "v": 1e-9}}
    run = sleigh.stepper(entry.initial, entry.parameters, method="vern7", **tolerances)
    run.advance(1.5)
    run.set_parameters({name: 1.1 * value for name, value in run.parameters.items()})
    again = make(run)
    assert (again.t, again.method, again.status, again.parameters) == (1.5, "vern7", 0, run.parameters)
    ends = run.advance(3.0)
    assert again.t == 1.5  # independent
    assert np.array_equal(again.advance(3.0), ends)
    assert (again.n_steps, again.nfev) == (run.n_steps, run.nfev)


def test_copies_keep_inputs_modes_and_a_terminal_event(run: Any) -> None:
    run.set_inputs(F=([0, 1], [0.0, 4.0], "linear"))
    run.advance(0.5)
    again = copy.copy(run)
    assert np.array_equal(again.advance(2.0), run.advance(2.0))
    if isinstance(run.model, Model):
        block = hybrid("block").stepper([0.3, 0.0], BLOCK, {"F": 1.0})
        block.advance(0.7)
        assert copy.copy(block).modes == block.modes
        fall = hybrid("spring").stepper([1.0, 0.0], {"w": 1.0, "level": 0.5, "stop": 1.0})
        fall.advance(10.0)
        assert (fall.status, copy.copy(fall).status) == (1, 1)
        assert np.array_equal(copy.copy(fall).advance(10.0), fall.advance(10.0))


def test_a_contact_that_sticks_after_a_restore_breaks_at_either_limit() -> None:
    """The block on a belt that runs backward sticks and breaks at the lower limit, also if it slipped before."""
    block = cg.example("block_on_belt")
    model, parameters = block.system.compile(), {**block.parameters, "V": -block.parameters["V"]}
    modes = model.integrate((0, 8), block.initial, parameters).modes
    assert [m.contacts["belt"] for m in modes[:3]] == ["slip+", "stick", "slip+"]
    run, alone = (model.stepper(block.initial, parameters) for _ in range(2))
    run.advance(0.5 * (modes[0].t_end + modes[1].t_end))
    saved = run.save()
    run.advance(modes[1].t_end + 0.01)
    assert model.modes == ("belt",)
    run.restore(saved)
    alone.advance(run.t)
    np.testing.assert_array_equal(run.advance(8), alone.advance(8))


FINE: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-11, "method": "vern9"}


def test_an_oscillator() -> None:
    from chaplygin.generated.harmonic_oscillator import model

    start = {"x": 1, "x_dot": 0}, {"m": 1, "k": 4}
    run = model.stepper(*start, sensitivities=["k", "x"], **FINE)
    sol = model.integrate((0, 3), *start, sensitivities=["k", "x"], **FINE)
    np.testing.assert_array_equal(run.advance(3.0), sol.y[:, -1])
    found = run.sensitivity
    np.testing.assert_array_equal(found.y, sol.sensitivity.y[:, :, -1])
    assert found["x", "k"] == pytest.approx(-3 * np.sin(6) / 4, abs=1e-9)
    assert found["energy", "k"] == pytest.approx(0.5, abs=1e-9)
    run.advance_by(1.0)
    assert run.sensitivity["x", "x"] == pytest.approx(np.cos(8), abs=1e-9)
    assert found["x", "x"] == pytest.approx(np.cos(6), abs=1e-9)  # it is that of its time
    assert (run.y.shape, run.parameters, run.model is model) == ((2,), {"m": 1, "k": 4}, True)
    assert run.evaluate() == pytest.approx({"x": run["x"], "x_dot": run["x_dot"], "energy": 2.0})
    with pytest.raises(cg.ArgumentError, match="'d_3' is not a quantity"):
        run["d_3"]
    assert model.stepper(*start, **FINE).sensitivity is None


def test_save_copy_and_pickle() -> None:
    from chaplygin.generated.harmonic_oscillator import model

    start = {"x": 1, "x_dot": 0}, {"m": 1, "k": 4}
    run = model.stepper(*start, sensitivities=["k"], **FINE)
    run.advance(1.0)
    snapshot, others = run.save(), [copy.copy(run), pickle.loads(pickle.dumps(run))]
    run.advance(2.0)
    for other in others:
        assert other.t == 1.0
        other.advance(2.0)
        np.testing.assert_array_equal(other.sensitivity.y, run.sensitivity.y)
    run.restore(snapshot)
    run.advance(2.0)
    np.testing.assert_array_equal(others[0].sensitivity.y, run.sensitivity.y)
    with pytest.raises(cg.ArgumentError, match="has sensitivities by k, and this run by m"):
        model.stepper(*start, sensitivities=["m"], **FINE).restore(snapshot)
    with pytest.raises(cg.ArgumentError, match="has sensitivities by k, and this run by nothing"):
        model.stepper(*start, **FINE).restore(snapshot)


def test_an_input_that_changes_on_the_way_and_one_that_is_varied() -> None:
    """m x'' = f + g: dx/df = t^2 / 2m, and dx/dm = -x/m."""
    x = cg.coordinates("x")
    m = cg.parameters("m", positive=True)
    f, g = cg.inputs("f g")
    system = cg.System("pushed", coordinates=[x], kinetic=m * cg.rate(x) ** 2 / 2, forces={cg.rate(x): f + g})
    model = system.compile("lagrange")
    run = model.stepper({"x": 0, "x_dot": 0}, {"m": 2}, {"f": 1, "g": 0}, sensitivities=["f", "m"])
    run.advance(1.0)
    run.set_inputs(g=3.0)
    run.advance(2.0)
    assert run["x"] == pytest.approx((4 + 3) / 4)  # f 2^2 / 2m, and g (2 - 1)^2 / 2m
    assert run.sensitivity["x", "f"] == pytest.approx(1.0)
    assert run.sensitivity["x", "m"] == pytest.approx(-7 / 8)
    refused("set_inputs: the derivatives are by f", run.set_inputs, f=2.0)
    refused("set_inputs: the derivatives are by f", run.set_inputs, [2.0, 3.0])
    refused(r"f\(t, y\) by y is not known: g", run.set_inputs, g=lambda t, y: t)
    refused("set_state: the derivatives are those of one run", run.set_state, x=0.0)
    refused("set_parameters: the derivatives are those of one run", run.set_parameters, m=1.0)


def test_a_block_that_stops_by_friction() -> None:
    x = cg.coordinates("x")
    mu, g = cg.parameters("mu g", positive=True)
    floor = cg.Coulomb("floor", slip=cg.rate(x), normal=g, mu=mu)
    block = cg.System(
        "block", coordinates=[x], kinetic=cg.rate(x) ** 2 / 2, contacts=[floor], outputs={"twice": 2 * x}
    )
    model = block.compile("lagrange")
    run = model.stepper({"x": 0, "x_dot": 2}, {"mu": 0.25, "g": 10}, sensitivities=["mu", "x_dot"], **FINE)
    run.advance(0.5)
    run.advance(2.0)
    assert run.modes == {"floor": "stick"}
    assert run.sensitivity["x", "x_dot"] == pytest.approx(0.8, abs=1e-9)  # u / (mu g)
    assert run.sensitivity["twice", "mu"] == pytest.approx(-6.4, abs=1e-8)  # -u^2 / (mu^2 g)
