"""Steppers, batches and environments belong to one thread at a time: any other call is refused, and harms nothing.

All methods are called at once from four threads and from a signal handler that comes every millisecond. The motion has
an invariant that every result must keep; what would be read or written by two at once is also seen by
`make test-sanitized`, which runs this file.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from refusals import refused
from runtime_models import model

import chaplygin as cg

Action = Callable[[], Any]
SECONDS = 0.5
N = 9000  # runs of a batch, in two threads

START, NUMBERS = {"q": 1.0, "v": 0.0}, {"m": 1.0, "k": 4.0}


def hammer(actions: dict[str, Action]) -> dict[str, list[int]]:
    """Call the actions from four threads and a signal handler; the number of results and of refusals of each."""
    counts = {name: [0, 0] for name in actions}
    wrong: list[BaseException] = []
    end = time.monotonic() + SECONDS

    def once(name: str) -> bool:
        try:
            actions[name]()
            counts[name][0] += 1
            return True
        except cg.BusyError:
            counts[name][1] += 1
        except BaseException as error:
            wrong.append(error)
        return False

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        names = list(actions)
        while time.monotonic() < end and not wrong:
            if not once(names[rng.integers(len(names))]):
                time.sleep(rng.uniform(0, 1e-3))  # let the others have their turn

    turn, inside = itertools.cycle(actions), False

    def handle(*_: Any) -> None:
        nonlocal inside
        if not inside:  # on a slow machine the next signal comes before this one is handled
            inside = True
            once(next(turn))
            inside = False

    before = signal.signal(signal.SIGALRM, handle)
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    try:
        signal.setitimer(signal.ITIMER_REAL, 1e-3, 1e-3)
        for thread in threads:
            thread.start()
        work(3)  # signal handlers run in the main thread
        for thread in threads:
            thread.join()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    if wrong:
        raise wrong[0]
    return counts


def check(counts: dict[str, list[int]]) -> None:
    """Calls of all kinds came, some had results, and some were refused."""
    assert all(map(sum, counts.values())), counts
    assert all(map(sum, zip(*counts.values()))), counts


def energy(q: Any, v: Any) -> Any:
    return v**2 / 2 + 2 * q**2


def near(found: Any, right: Any) -> None:
    np.testing.assert_allclose(found, right, rtol=1e-6)


def actions_of(run: Any) -> dict[str, Action]:
    """Those of a stepper of an oscillator, whose energy is 2 whatever is called."""
    begin = run.save()

    def state() -> None:
        near(energy(*run.y), 2.0)

    def everything() -> None:
        values = run.evaluate()
        near(energy(values["q"], values["v"]), 2.0)
        near(values["energy"], 2.0)

    def turned() -> None:
        """A slow path: the state given by a number that needs conversion."""
        run.set_state({"q": np.float32(1.0), "v": 0.0})

    return {
        "advance_by": lambda: near(energy(*run.advance_by(1.0)), 2.0),
        "advance": lambda: run.advance(run.t + 0.1),
        "y": state,
        "p": lambda: near(run.p, [1.0, 4.0]),
        "parameters": lambda: near(run.parameters["k"], 4.0),
        "evaluate": everything,
        "energy": lambda: near(run["energy"], 2.0),
        "outputs": lambda: run.outputs,
        "inputs": lambda: run.inputs,
        "set_inputs": lambda: run.set_inputs(F=0.0),
        "set_inputs: samples": lambda: run.set_inputs(F=([0.0, 1e9], [0.0, 0.0])),
        "set_inputs: function": lambda: run.set_inputs(F=lambda t, y: 0.0),
        "set_state": lambda: run.set_state([0.0, 2.0]),
        "set_state: slow": turned,
        "set_parameters": lambda: run.set_parameters(k=4.0),
        "save": lambda: near(energy(*copy.copy(run).y), 2.0),
        "restore": lambda: run.restore(begin),
        "numbers": lambda: (
            run.t,
            run.n_steps,
            run.nfev,
            run["q"],
            run["t"],
            run.status,
            repr(run),
            run.modes,
        ),
    }


def test_a_stepper_hammered_from_all_sides() -> None:
    run = model("oscillator").stepper(START, NUMBERS, {"F": 0.0}, rtol=1e-10, atol=1e-10)
    check(hammer(actions_of(run)))
    run.set_inputs(F=0.0)
    near(energy(*run.advance_by(1.0)), 2.0)


def test_a_batch_hammered_from_all_sides() -> None:
    oscillator = model("oscillator")
    phases = np.linspace(0, 3, N)
    start = {"q": np.cos(phases), "v": -2 * np.sin(phases)}
    batch = oscillator.batch(start, NUMBERS, {"F": 0.0}, threads=2, rtol=1e-9, atol=1e-9)
    begin, some = batch.save(), np.arange(0, N, 7)
    zeros, out = np.zeros(N), np.empty((3, N))

    def to_time() -> None:
        with contextlib.suppress(cg.ArgumentError):  # another thread is ahead
            batch.advance(float(batch.t.max()) + 0.2)

    def several() -> None:
        mine = np.empty((3, N))
        near(energy(*batch.evaluate(["q", "v", "energy"], out=mine)[:2]), 2.0)
        near(mine[2], 2.0)

    actions: dict[str, Action] = {
        "advance_by": lambda: batch.advance_by(0.05),
        "advance_by: inputs": lambda: batch.advance_by(0.05, inputs={"F": zeros}),
        "advance": to_time,
        "evaluate": several,
        "evaluate: shared": lambda: batch.evaluate(["energy", "q", "v"], out=out),
        "item": lambda: near(batch["energy"], 2.0),
        "set_inputs": lambda: batch.set_inputs(F=zeros),
        "reset": lambda: batch.reset(some),
        "save": batch.save,
        "restore": lambda: batch.restore(begin),
        "copy": lambda: near(copy.copy(batch)["energy"], 2.0),
        "numbers": lambda: (len(batch), repr(batch), batch.failed, batch.method, batch.sensitivity),
    }
    check(hammer(actions))
    assert (batch.status == 0).all()
    batch.restore(begin)
    batch.advance_by(0.5)
    near(batch["q"], np.cos(phases + 1.0))


def test_a_stepper_with_sensitivities_hammered_from_all_sides() -> None:
    oscillator = cg.example("harmonic_oscillator").system.compile()
    run = oscillator.stepper({"x": 1, "x_dot": 0}, {"m": 1, "k": 4}, sensitivities=["x"], rtol=1e-10)
    begin = run.save()

    def tangent() -> None:
        """x by its start is x itself."""
        found = run.sensitivity
        near(found["x", "x"] ** 2 + found["x_dot", "x"] ** 2 / 4, 1.0)

    actions: dict[str, Action] = {
        "advance_by": lambda: near(energy(*run.advance_by(0.3)), 2.0),
        "sensitivity": tangent,
        "evaluate": lambda: near(run.evaluate()["energy"], 2.0),
        "y": lambda: near(energy(*run.y), 2.0),
        "copy": lambda: near(copy.copy(run)["energy"], 2.0),
        "restore": lambda: run.restore(begin),
    }
    check(hammer(actions))


def test_environments_hammered_from_all_sides() -> None:
    gym = pytest.importorskip("chaplygin.gym")
    x, F = cg.coordinates("x"), cg.inputs("F")
    v = cg.rate(x)
    cart = cg.System("cart", coordinates=[x], kinetic=v**2 / 2, forces={v: F}).compile()
    task = {"dt": 0.1, "actions": ["F"], "observations": [x, v], "reward": x, "max_episode_steps": 5}
    start = {"initial": {"x": (-1, 1), "x_dot": 0}, "seed": 1}
    envs, env = gym.VectorEnv(cart, 9, **task, **start), gym.Env(cart, **task, **start)
    envs.reset(), env.reset()
    check(
        hammer(
            {
                "steps": lambda: envs.step(np.zeros((9, 1))),
                "resets": envs.reset,
                "step": lambda: env.step([0.0]),
                "reset": env.reset,
            }
        )
    )


def test_a_guard_is_left_whatever_ends_a_call() -> None:
    """Errors of input functions, and an exception of a signal handler in the middle of a call."""

    def broken(t: float, y: Any) -> float:
        raise KeyError("mine")

    oscillator = model("oscillator")
    run = oscillator.stepper(START, NUMBERS, {"F": broken})
    batch = oscillator.batch(START, NUMBERS, {"F": 0.0}, n=20_000, method="rk4", step=1e-3)

    def stop(*_: Any) -> None:
        raise InterruptedError("enough")

    before = signal.signal(signal.SIGALRM, stop)
    try:
        for call in (
            lambda: [batch.advance_by(2e-3) for _ in range(1_000_000)],
            lambda: (run.set_inputs(F=0.0), run.advance_by(1e9)),
        ):
            run.set_inputs(F=broken)
            refused("mine", run.advance, 1.0, error=KeyError)
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            refused("enough", call, error=InterruptedError)
    finally:
        signal.signal(signal.SIGALRM, before)
    t = run.t
    run.advance_by(0.5)
    assert run.t == t + 0.5
    near(batch.evaluate("energy"), 2.0)
