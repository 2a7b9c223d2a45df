"""Steps of many runs that persist: batches, beside a loop over steppers and Gymnasium's vector of Python environments.

Sleighs with a couple on omega take rk4 steps of 20 ms, and every run gets a new couple in every step. A row's time is
that of one step of one run: 50 ns are 20 million env-steps a second. `python bench/bench_batch.py` prints these rates
alone, from the shortest of some runs each.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from bench_small_calls import sleigh
from sizes import CORES, ROUNDS, scaled
from turns import Contender, Ratio, quick_time

import chaplygin as cg

DT = 0.02
M, A, J = 1.0, 0.2, 0.5
NUMBERS = {"m": M, "a": A, "J": J}
FEW, MANY = scaled((4096, 65_536), (64, 256))
PYTHON = scaled(64, 8)
"""Episodes of slow contenders: their time per step does not depend on the number."""
GROUP = "a step of 20 ms of one sleigh among many, rk4, with a new input"


def starts(n: int) -> dict[str, Any]:
    return {"phi": np.linspace(0, 6, n), "x": 0.0, "y": 0.0, "omega": np.linspace(-1, 1, n), "v": 1.0}


@cache
def couples(n: int) -> Any:
    return np.random.default_rng(1).uniform(-0.1, 0.1, (8, n))


def batch(n: int, threads: int, steps: int) -> Callable[[], Any]:
    """Steps of a batch."""
    runs = sleigh().batch(starts(n), NUMBERS, {"tau": 0}, n=n, method="rk4", step=DT, threads=threads)
    inputs = couples(n)

    def run() -> Any:
        for i in range(steps):
            runs.advance_by(DT, inputs=inputs[i % 8 : i % 8 + 1])
        return runs.y

    return run


def steppers(n: int, steps: int) -> Callable[[], Any]:
    """The same with a stepper for each run."""
    given = starts(n)
    columns = [{k: float(np.broadcast_to(v, (n,))[j]) for k, v in given.items()} for j in range(n)]
    runs = [sleigh().stepper(c, NUMBERS, {"tau": 0.0}, method="rk4", step=DT) for c in columns]
    inputs = couples(n).tolist()

    def run() -> Any:
        for i in range(steps):
            for stepper, tau in zip(runs, inputs[i % 8]):
                stepper.set_inputs(tau=tau)
                stepper.advance_by(DT)
        return np.array([stepper.y for stepper in runs]).T

    return run


def rates(state: list[float], tau: float) -> list[float]:
    phi, _, _, omega, v = state
    return [
        omega,
        v * math.cos(phi),
        v * math.sin(phi),
        (tau - M * A * v * omega) / (J + M * A**2),
        A * omega**2,
    ]


def kutta(x: list[float], tau: float, h: float) -> list[float]:
    k1 = rates(x, tau)
    k2 = rates([a + h / 2 * k for a, k in zip(x, k1)], tau)
    k3 = rates([a + h / 2 * k for a, k in zip(x, k2)], tau)
    k4 = rates([a + h * k for a, k in zip(x, k3)], tau)
    return [a + h / 6 * (p + 2 * q + 2 * r + s) for a, p, q, r, s in zip(x, k1, k2, k3, k4)]


def environments(gymnasium: Any, n: int, steps: int) -> Callable[[], Any]:
    """The same with Gymnasium's vector of environments written in Python."""
    given = starts(n)

    class Sleigh(gymnasium.Env):  # type: ignore[misc]
        action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float64)
        observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (5,), np.float64)

        def __init__(self, j: int) -> None:
            self.start = [float(np.broadcast_to(given[k], (n,))[j]) for k in ("phi", "x", "y", "omega", "v")]

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            self.state = list(self.start)
            return np.array(self.state), {}

        def step(self, action: Any) -> Any:
            self.state = kutta(self.state, float(action[0]), DT)
            return np.array(self.state), -abs(self.state[1]), False, False, {}

    vector = gymnasium.vector.SyncVectorEnv([lambda j=j: Sleigh(j) for j in range(n)])
    vector.reset()
    inputs = couples(n)

    def run() -> Any:
        for i in range(steps):
            found = vector.step(inputs[i % 8][:, None])
        return found[0].T

    return run


def vector_env(n: int, threads: int, steps: int) -> Callable[[], Any]:
    """The batch as an environment: with observations, rewards and ends."""
    import chaplygin.gym

    x, v = cg.coordinates("x"), cg.velocities("v")
    envs = chaplygin.gym.VectorEnv(
        sleigh(),
        n,
        dt=DT,
        actions={"tau": (-1, 1)},
        observations=["phi", "x", "y", "omega", "v"],
        reward=-abs(x),
        terminated=v < 0,
        initial={"phi": (0, 6), "x": 0, "y": 0, "omega": (-1, 1), "v": 1},
        parameters=NUMBERS,
        method="rk4",
        step=DT,
        threads=threads,
    )
    envs.reset(seed=1)
    actions = couples(n)[:, :, None]

    def run() -> Any:
        for i in range(steps):
            found = envs.step(actions[i % 8])
        return found[0].T

    return run


def contenders() -> dict[str, Contender]:
    """The rows by a short name; those with Gymnasium only if it is installed."""
    few, many, slow = scaled(2000, 4), scaled(150, 2), scaled(20, 2)
    found = {
        "few": Contender(f"batch of {FEW}, one thread", batch(FEW, 1, few), FEW * few),
        "few, threads": Contender(f"batch of {FEW}, {CORES} threads", batch(FEW, CORES, few), FEW * few),
        "many": Contender(f"batch of {MANY}, one thread", batch(MANY, 1, many), MANY * many),
        "many, threads": Contender(
            f"batch of {MANY}, {CORES} threads", batch(MANY, CORES, many), MANY * many
        ),
        "steppers": Contender(f"{PYTHON} steppers in a loop", steppers(PYTHON, slow), PYTHON * slow),
    }
    try:
        import gymnasium
    except ImportError:
        return found
    name = f"VectorEnv of {FEW}, one thread, observations and rewards included"
    return found | {
        "envs": Contender(name, vector_env(FEW, 1, few // 4), FEW * (few // 4)),
        "gymnasium": Contender(
            f"SyncVectorEnv of {PYTHON} environments in Python",
            environments(gymnasium, PYTHON, slow),
            PYTHON * slow,
        ),
    }


def test_the_contenders_agree() -> None:
    """After the same steps from the same starts."""
    right = batch(PYTHON, 1, 20)()
    assert (steppers(PYTHON, 20)() == right).all()
    try:
        import gymnasium
    except ImportError:
        return
    np.testing.assert_allclose(environments(gymnasium, PYTHON, 20)(), right, rtol=0, atol=1e-12)


def test_batches(turns: Any) -> None:
    rows = contenders()
    ratios = [
        Ratio(
            f"{CORES} threads, speedup over one thread, {MANY} runs",
            rows["many, threads"],
            rows["many"],
            1.85,
        ),
        Ratio(f"{CORES} threads, speedup over one thread, {FEW} runs", rows["few, threads"], rows["few"]),
        Ratio(f"batch of {FEW}, one thread, speedup over steppers", rows["few"], rows["steppers"]),
    ]
    if "gymnasium" in rows:
        ratios += [
            Ratio(f"batch of {FEW}, one thread, speedup over SyncVectorEnv", rows["few"], rows["gymnasium"]),
            Ratio(
                f"VectorEnv of {FEW}, one thread, speedup over SyncVectorEnv", rows["envs"], rows["gymnasium"]
            ),
        ]
    turns(GROUP, list(rows.values()), ratios, ROUNDS)


if __name__ == "__main__":
    for row in contenders().values():
        print(f"{row.runs / quick_time(row.run, 5) / 1e6:9.3g} million env-steps/s: {row.row}")
