"""Noise of the sensors of environments: its law, its paths, and what it leaves alone."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from unit_masses import unit_masses

import chaplygin as cg
from chaplygin.runtime import ArgumentError, Model

gymnasium = pytest.importorskip("gymnasium")

import chaplygin.gym  # noqa: E402

x, F = cg.coordinates("x"), cg.inputs("F")
v = cg.rate(x)
OU = cg.noise.ou(tau=0.7, sigma=2, dt=0.08)
TASK: dict[str, Any] = {
    "dt": 0.1, "actions": {"F": (-1, 1)}, "observations": [x, v], "reward": x, "terminated": x > 5,
    "initial": {"x": 1, "x_dot": 0}, "max_episode_steps": 6,
}  # fmt: skip


@cache
def cart() -> Model:
    return unit_masses("seen_cart", [x], forces={v: F}).compile()


def test_its_law_is_that_of_the_process_and_rewards_have_none() -> None:
    n = 20_000
    envs = chaplygin.gym.VectorEnv(cart(), n, observation={v: OU}, **TASK)
    seen = [envs.reset(seed=3)[0]]
    for _ in range(4):
        found, rewards, *_ = envs.step(np.zeros((n, 1)))
        seen.append(found)
        assert (rewards == 1).all()
    shown = np.array(seen, dtype=float)
    assert (shown[:, :, 0] == 1).all()  # no noise was asked for x
    # 0 and 0.4 are times of the grid: sigma^2 exp(-|s|/tau), and the sums of n products have these standard deviations
    covariance = np.cov(shown[[0, 4], :, 1])
    rho = np.exp(-0.4 / 0.7)
    right = 4 * np.array([[1, rho], [rho, 1]])
    off = 4 * np.sqrt(np.array([[2, 1 + rho**2], [1 + rho**2, 2]]) / n)
    assert (abs(covariance - right) < 4 * off).all()


def test_an_episode_has_the_path_of_the_number_that_its_generator_draws() -> None:
    envs = chaplygin.gym.VectorEnv(cart(), 2, observation={"x_dot": OU, x: cg.noise.white(0.1)}, **TASK)
    one = chaplygin.gym.Env(cart(), observation={"x_dot": OU, x: cg.noise.white(0.1)}, **TASK)
    generator, _ = gymnasium.utils.seeding.np_random(12)
    both, alone = envs.reset(seed=11)[0], one.reset(seed=12)[0]
    for episode in range(2):
        number = int(generator.integers(1 << 63))
        times, values, _ = OU.path((0, 1), seed=0, trajectory=number, stream=1)
        for step in range(7):
            assert both[1, 1] == pytest.approx(np.interp(0.1 * step, times, values), rel=1e-6), episode
            assert (both[1] == alone).all()
            if step < 6:
                both = envs.step(np.zeros((2, 1)))[0]
                alone = one.step([0.0])[0]
        both, alone = envs.step(np.zeros((2, 1)))[0], one.reset()[0]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"q": OU}, "unknown q; known names are x, x_dot"),
        ({"x": 0.3}, "x = 0.3; a noise is needed, such as"),
        ({"x": cg.noise.white(1e-10)}, "dt = .* is too short"),
        (3, "give a dict by name"),
    ],
)
def test_what_is_no_noise_of_an_observation_is_refused(given: Any, said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        chaplygin.gym.VectorEnv(cart(), 2, observation=given, **TASK)
