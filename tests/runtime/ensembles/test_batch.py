"""Batches: every run is bit for bit that of a stepper, and bad input is refused by name."""

from __future__ import annotations

import functools
import math
import os
import pickle
import re
import time
from typing import Any

import numpy as np
import pytest
import sympy as sp
from lane_models import bits, torque_sleigh
from processes import python
from refusals import refused
from runtime_models import WIDEST, ctrl_c_after

import chaplygin as cg
from chaplygin.runtime import ArgumentError, Batch, Model

WIDTHS = [lanes for lanes in (1, 2, 4, 8) if lanes <= WIDEST] if os.name != "nt" else [1]
N = 37  # two blocks and a part of one
NUMBERS = {"m": 1.0, "a": 0.2, "J": 0.5}


@functools.cache
def oscillator() -> Model:
    return cg.example("harmonic_oscillator").system.compile("lagrange")


@functools.cache
def explosive() -> Model:
    """x'' = x^3: grows beyond all bounds in a time of about 2/x0, for x0 > 0 and no velocity."""
    x = cg.coordinates("x")
    system = cg.System("explosive", coordinates=[x], kinetic=cg.rate(x) ** 2 / 2, potential=-(x**4) / 4)
    return system.compile("lagrange")


def starts(n: int = N) -> dict[str, Any]:
    rng = np.random.default_rng(7)
    return {
        "phi": rng.uniform(-3, 3, n),
        "x": 0,
        "y": rng.normal(size=n),
        "omega": rng.normal(size=n),
        "v": 1,
    }


def column(values: dict[str, Any], j: int) -> dict[str, float]:
    return {name: float(np.broadcast_to(value, (N,))[j]) for name, value in values.items()}


def sleighs(**options: Any) -> Batch:
    return torque_sleigh().batch(starts(), NUMBERS, {"tau": 0.1}, n=N, **options)


def how(method: str) -> dict[str, Any]:
    return {"method": method, **({"step": 0.03} if method == "rk4" else {"rtol": 1e-7, "atol": 1e-7})}


@pytest.mark.parametrize("lanes", WIDTHS)
@pytest.mark.parametrize("method", ["rk4", "dop853", "tsit5", "vern9"])
@pytest.mark.sample(2)
def test_runs_are_those_of_steppers(method: str, lanes: int) -> None:
    """With inputs that change before some steps, durations that differ, and a step of no duration."""
    batch = sleighs(lanes=lanes, **how(method))
    assert batch.lanes == lanes
    runs = [
        torque_sleigh().stepper(column(starts(), j), NUMBERS, {"tau": 0.1}, **how(method)) for j in range(N)
    ]
    couples = np.random.default_rng(8).normal(size=(4, N))
    for i, dt in enumerate((0.1, 0.02, 0.3, 0.0, 0.1, 0.05)):
        inputs = {"tau": couples[i]} if i < 4 else None
        batch.advance_by(dt, inputs=inputs)
        for j, run in enumerate(runs):
            if inputs:
                run.set_inputs(tau=couples[i, j])
            run.advance_by(dt)
        assert (batch.y == np.array([run.y for run in runs]).T).all()
        assert (batch.t == [run.t for run in runs]).all()
        assert (batch["w"] == [run["w"] for run in runs]).all()
    assert not batch.status.any()


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_do_not_matter(threads: int) -> None:
    batches = [sleighs(threads=count, method="tsit5") for count in (1, threads)]
    assert batches[1].threads == threads
    for _ in range(3):
        for batch in batches:
            batch.advance_by(0.2, inputs=np.linspace(-1, 1, N)[None])
    assert (batches[0].y == batches[1].y).all()


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_leaves_whole_runs(threads: int) -> None:
    """Every run is where it was or where it was to go, and the batch can go on."""
    n = 100_000
    batch = oscillator().batch({"x": 1, "x_dot": 0}, {"m": 1, "k": 4}, n=n, threads=threads)
    with pytest.raises(KeyboardInterrupt), ctrl_c_after(0.03):
        batch.advance(60.0)
    assert set(batch.t) == {0.0, 60.0}
    assert not batch.status.any()
    batch.advance(60.0)
    assert (batch.t == 60.0).all()
    assert (batch.y == batch.y[:, :1]).all()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("lanes", sorted({1, WIDTHS[-1]}))
def test_ctrl_c_in_a_long_advance_of_few_runs(threads: int, lanes: int) -> None:
    """It is heard within the steps of a run; those that had not arrived have the bits of other batches afterwards."""
    given = {"x": np.linspace(1, 2, N), "x_dot": 0}, {"m": 1, "k": 4}
    batch, other = (oscillator().batch(*given, threads=threads, lanes=lanes) for _ in range(2))
    begun = time.process_time()
    with pytest.raises(KeyboardInterrupt), ctrl_c_after(0.05):
        batch.advance(1e9)  # hours
    assert time.process_time() - begun < 10
    assert set(batch.t) == {0.0}
    assert not batch.status.any()
    for one in (batch, other):
        one.advance(500.0)
    assert bits(batch.y) == bits(other.y)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_threads_after_a_fork() -> None:
    """A child has its own threads."""
    program = """
import os
from chaplygin.generated.harmonic_oscillator import model
batch = model.batch({"x": 1, "x_dot": 0}, {"m": 1, "k": 4}, n=64, threads=2)
batch.advance(1.0)
child = os.fork()
batch.advance(2.0)
assert (batch["x"] == batch["x"][0]).all() and abs(batch["x"][0] + 0.653643620863612) < 1e-8, batch["x"]  # cos 4
assert child == 0 or os.waitpid(child, 0)[1] == 0
"""
    python(program, env={"PYTHONWARNINGS": "ignore"}, timeout=60)


@pytest.mark.parametrize("lanes", WIDTHS)
def test_rk4_multiplies_by_its_polynomial(lanes: int) -> None:
    """A step of size h of y' = A y is y -> (1 + hA + ... + (hA)^4/24) y."""
    h, k = 0.05, 4.0
    amplitudes = np.linspace(-2, 2, N)
    batch = oscillator().batch(
        {"x": amplitudes, "x_dot": 1}, {"m": 1, "k": k}, n=N, method="rk4", step=h, lanes=lanes
    )
    for _ in range(10):
        batch.advance_by(2 * h)
    A = h * np.array([[0, 1], [-k, 0]])
    step = sum(np.linalg.matrix_power(A, i) / math.factorial(i) for i in range(5))
    right = np.linalg.matrix_power(step, 20) @ np.array([amplitudes, np.ones(N)])
    np.testing.assert_allclose(batch.y, right, rtol=0, atol=1e-13)
    np.testing.assert_allclose(batch.t, 20 * h, rtol=1e-14)


def test_times_of_runs_differ_after_a_reset() -> None:
    batch = oscillator().batch({"x": 1, "x_dot": 0}, {"m": 1, "k": 4}, n=5, rtol=1e-11, atol=1e-12)
    batch.advance(1.0)
    batch.reset([1, 3], initial={"x": [2, 3]})
    assert batch.t.tolist() == [1, 0, 1, 0, 1]
    batch.advance_by(0.5)
    size = np.array([1, 2, 1, 3, 1])
    np.testing.assert_allclose(batch["x"], size * np.cos(2 * batch.t), rtol=0, atol=1e-9)
    batch.advance(1.5)
    np.testing.assert_allclose(batch["x"], size * math.cos(3.0), rtol=0, atol=1e-9)


def test_reset_keeps_what_is_not_named() -> None:
    batch = oscillator().batch({"x": [1, 2, 3], "x_dot": 0}, {"m": 1, "k": [1, 4, 9]}, n=3)
    batch.reset(np.array([False, True, True]), parameters={"k": [16, 25]})
    batch.reset(batch["x"] > 2, initial={"x_dot": 6})
    assert batch.y.tolist() == [[1, 2, 3], [0, 0, 6]]
    np.testing.assert_allclose(batch["energy"], [1 / 2, 16 * 4 / 2, 25 * 9 / 2 + 36 / 2], rtol=1e-15)
    batch.reset([], parameters={"mass": 1})  # of no run: nothing
    batch.reset()
    np.testing.assert_allclose(batch["energy"], [1 / 2, 16 * 4 / 2, 25 * 9 / 2], rtol=1e-15)


def test_reset_chooses_the_step_again() -> None:
    """A reset run is that of a new batch, whatever came before."""
    first, second = sleighs(method="dop853"), sleighs(method="dop853")
    first.advance_by(5.0)
    first.reset()
    for batch in (first, second):
        batch.advance_by(0.7)
    assert (first.y == second.y).all()


def test_momenta_follow_a_reset() -> None:
    """The canonical form has the momentum m v; the declared velocity is given."""
    x = cg.coordinates("x")
    m = cg.parameters("m", positive=True)
    system = cg.System("free", coordinates=[x], kinetic=m * cg.rate(x) ** 2 / 2)
    batch = system.compile("chetaev").batch({"x": 0, "x_dot": [1, 2]}, {"m": 3}, n=2)
    batch.reset([1], initial={"x_dot": 5}, parameters={"m": 4})
    assert batch["p_x_dot"].tolist() == [3, 20]


@pytest.mark.parametrize("lanes", WIDTHS)
def test_a_run_that_fails_waits_for_its_reset(lanes: int) -> None:
    sizes = np.full(N, 0.1)
    sizes[5] = 4.0
    batch = explosive().batch({"x": sizes, "x_dot": 0}, n=N, lanes=lanes)
    batch.advance_by(2.0)
    assert batch.failed.tolist() == [5]
    assert batch.status[5] < 0
    assert batch.t[5] < 1
    single = explosive().stepper({"x": 0.1, "x_dot": 0})
    single.advance(2.0)
    others = np.delete(np.arange(N), 5)
    assert (batch.y[:, others] == single.y[:, None]).all()
    before = batch.y[:, 5].copy()
    batch.advance_by(1.0)
    assert (batch.y[:, 5] == before).all()
    assert batch.t[5] < 1
    assert batch.t[4] == 3.0
    batch.reset([5], initial={"x": 0.1})
    batch.advance_by(2.0)
    assert batch.failed.size == 0
    assert (batch.y[:, 5] == single.y).all()


def test_too_many_steps_end_a_run() -> None:
    batch = oscillator().batch(
        {"x": 1, "x_dot": 0}, {"m": 1, "k": 4}, n=20, method="rk4", step=0.1, max_steps=5
    )
    batch.advance_by(0.5)  # in each call
    batch.advance_by(0.5)
    assert not batch.status.any()
    batch.advance_by(1.0)
    assert (batch.status == -4).all()
    np.testing.assert_allclose(batch.t, 1.5, rtol=1e-14)


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_restored_runs_continue_bit_for_bit(method: str) -> None:
    batch = sleighs(**how(method))
    batch.advance_by(0.4)
    chosen = np.arange(N) % 3 == 0
    snapshot = pickle.loads(pickle.dumps(batch.save(chosen)))
    batch.advance_by(0.7)
    after = batch.y.copy()
    batch.restore(snapshot)
    assert (batch.t == np.where(chosen, 0.4, 0.4 + 0.7)).all()
    batch.advance(batch.t.max())
    assert (batch.y == after).all()
    other = sleighs(**how(method))
    moved = np.flatnonzero(~chosen)[: chosen.sum()]
    other.restore(snapshot, moved)
    other.advance(0.4 + 0.7)
    assert (other.y[:, moved] == after[:, chosen]).all()
    other.reset()  # to what it was made with, not to the snapshot
    assert (other.y == sleighs(**how(method)).y).all()


def test_views_show_the_memory_of_the_batch() -> None:
    batch = sleighs(method="tsit5")
    y, omega, t, tau = batch.y, batch["omega"], batch.t, batch["tau"]
    before = omega.copy()
    batch.advance_by(0.1, inputs={"tau": 2.0})
    assert np.shares_memory(y, omega)
    assert (omega != before).all()
    assert (tau == 2.0).all()
    assert (t == 0.1).all()
    for view in (y, omega, t, tau, batch.status):
        with pytest.raises(ValueError, match="read-only"):
            view[...] = 0
    out = np.empty(N)
    assert batch.evaluate("omega", out=out) is out
    assert (out == omega).all()
    assert (batch.evaluate("w", out=out) == 0).all()  # the runner does not slip


def test_inputs_that_are_not_named_stay() -> None:
    x, y = cg.coordinates("x y")
    F, G = cg.inputs("F G")
    force = {cg.rate(x): F, cg.rate(y): G}
    kinetic = (cg.rate(x) ** 2 + cg.rate(y) ** 2) / 2
    model = cg.System("pushed", coordinates=[x, y], kinetic=kinetic, forces=force).compile("lagrange")
    batch = model.batch([0, 0, 0, 0], n=4, inputs={"F": 1, "G": [1, 2, 3, 4]})
    batch.set_inputs(F=[2, 0, 0, 0])
    batch.advance_by(1.0)
    np.testing.assert_allclose(batch["x_dot"], [2, 0, 0, 0], rtol=1e-12)
    np.testing.assert_allclose(batch["y"], [0.5, 1, 1.5, 2], rtol=1e-12)


WRONG: list[tuple[Any, str]] = [
    (lambda b: b.advance_by(0.1, inputs={"tau": np.nan}), "inputs.*tau.*nan"),
    (
        lambda b: b.advance_by(0.1, inputs={"tau": np.where(np.arange(N) == 30, np.inf, 1.0)}),
        "tau = inf.* at column 30",
    ),
    (lambda b: b.set_inputs(tau=np.full(N, np.nan)), "tau = nan is not finite at column 0"),
    (lambda b: b.advance_by(0.1, inputs={"tau": np.ones(3)}), "inputs: tau has length 3; 37 is needed"),
    (lambda b: b.advance_by(0.1, inputs={"tua": 1}), "inputs.*tua.*did you mean tau"),
    (lambda b: b.advance_by(0.1, inputs=np.ones((2, N))), "inputs has shape"),
    (lambda b: b.advance_by(-0.1), "does not go backward"),
    (lambda b: b.advance_by(math.nan), "dt"),
    (lambda b: b.advance_by(1e-300), "dt"),
    (lambda b: b.advance(0.5), "t >= 1"),
    (lambda b: b.advance(math.inf), "t "),
    (lambda b: b["omgea"], "omgea"),
    (lambda b: b.evaluate("omega", out=np.empty(3)), r"out must be a float64 array of shape \(37,\)"),
    (lambda b: b.evaluate("omega", out=b.t), "out is read-only"),
    (lambda b: b.reset(np.ones(3, dtype=bool)), "mask has shape"),
    (lambda b: b.reset([N]), "no run 37"),
    (lambda b: b.reset([-1]), "no run -1"),
    (lambda b: b.reset([1, 1]), "twice"),
    (lambda b: b.reset([1], parameters={"mass": 1}), "parameters: unknown mass"),
    (lambda b: b.reset([0.5]), "neither a mask nor"),
    (lambda b: b.reset([1, 2], initial={"omega": [1, math.inf]}), "initial.*omega"),
    (lambda b: b.reset([1, 2], initial={"omega": [1, 2, 3]}), "initial: omega has length 3; 2 is needed"),
    (lambda b: b.reset([1, 2], parameters={"m": [1, -2]}), "parameters: m = -2.*positive"),
    (lambda b: b.restore(None), "restore needs a snapshot"),
    (lambda b: b.restore(b.save([1, 2]), [3]), "the snapshot has 2 runs, to be restored to 1"),
    (lambda b: b.restore(oscillator().batch([1, 0], [1, 4], n=1).save()), "another model"),
    (lambda b: b.set_inputs([1], tau=1), "not several"),
]


@pytest.mark.parametrize(("act", "text"), WRONG, ids=[text for _, text in WRONG])
def test_wrong_arguments_are_named(act: Any, text: str) -> None:
    batch = sleighs(method="rk4", step=0.1)
    batch.advance_by(1.0)
    before = batch.save().columns.copy()
    refused(re.compile(text, re.DOTALL), act, batch)
    assert batch.save().columns.tobytes() == before.tobytes()


def test_what_a_batch_cannot_run_is_refused() -> None:
    ball = cg.example("bouncing_ball")
    with pytest.raises(ArgumentError, match=r"no batch of bouncing_ball: .*events"):
        ball.system.compile().batch(ball.initial, ball.parameters, n=2)
    given = ([1, 0], [1, 4])
    refused("rodas5p", oscillator().batch, *given, n=2, method="rodas5p")
    refused("fixed-step method: give step=", oscillator().batch, *given, n=2, method="rk4")
    for n in (0, 1.5, True):
        refused("n = ", oscillator().batch, *given, n=n)
    with pytest.raises(ArgumentError, match="inputs: tau is a function of time"):
        torque_sleigh().batch(starts(2), NUMBERS, {"tau": lambda t: t}, n=2)
    refused("missing", oscillator().batch, {"x": 1}, {"m": 1, "k": 4}, n=2)


def test_ten_thousand_pendulums_keep_their_energy() -> None:
    theta = cg.coordinates("theta")
    system = cg.System(
        "many_pendulums", coordinates=[theta], kinetic=cg.rate(theta) ** 2 / 2, potential=-sp.cos(theta)
    )
    angles = np.linspace(-3, 3, 10_000)
    batch = system.compile("lagrange").batch(
        {"theta": angles, "theta_dot": 0}, n=10_000, rtol=1e-10, atol=1e-10
    )
    for _ in range(5):
        batch.advance_by(1.0)
    np.testing.assert_allclose(batch["energy"], -np.cos(angles), rtol=0, atol=1e-7)
