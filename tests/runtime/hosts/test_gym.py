"""Gymnasium environments over batches: the same episodes as in Gymnasium's own vector, and the errors."""

from __future__ import annotations

import pickle
import shutil
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from lane_models import torque_sleigh
from processes import python
from refusals import refused
from unit_masses import unit_masses

import chaplygin as cg
from chaplygin.runtime import ArgumentError, Model, load_model

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402

import chaplygin.gym  # noqa: E402

phi, x, y = cg.coordinates("phi x y")
omega, v, w = cg.velocities("omega v w")
tau = cg.inputs("tau")

SLEIGH: dict[str, Any] = {
    "dt": 0.02,
    "actions": {"tau": (-1, 1)},
    "observations": {sp.sin(phi): (-1, 1), "v": (0, 3), omega: (-5, 5), x: (-20, 20), "w": (-1, 1)},
    "reward": x - tau**2,
    "terminated": sp.Abs(omega) > 0.4,
    "initial": {"phi": (-1, 1), "x": 0, "y": 0, "omega": (-0.3, 0.3), "v": (0.5, 1)},
    "parameters": {"m": 1, "a": 0.2, "J": (0.4, 0.6)},
    "max_episode_steps": 60,
    "method": "rk4",
    "step": 0.02,
}


@cache
def cart() -> Model:
    """x'' = F: moved by a constant force, x = x0 + v0 t + F t^2/2."""
    position, force = cg.coordinates("x"), cg.inputs("F")
    rate = cg.rate(position)
    return unit_masses("cart", [position], forces={rate: force}).compile()


CART: dict[str, Any] = {
    "dt": 0.5,
    "actions": {"F": (-2, 2)},
    "observations": ["x", "x_dot"],
    "reward": -sp.Symbol("x"),
    "initial": {"x": 0, "x_dot": 0},
}


def test_a_single_environment_passes_gymnasium_s_checks() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(chaplygin.gym.Env(torque_sleigh(), **SLEIGH), skip_render_check=True)


@pytest.mark.parametrize(
    ("mode", "name"), [("next_step", "NextStep"), ("same_step", "SameStep"), ("disabled", "Disabled")]
)
def test_episodes_are_those_of_single_environments(mode: str, name: str) -> None:
    """1000 steps, beside Gymnasium's vector of single environments."""
    n = 5
    ours = chaplygin.gym.VectorEnv(torque_sleigh(), n, autoreset=mode, **SLEIGH)
    singles = [lambda: chaplygin.gym.Env(torque_sleigh(), **SLEIGH)] * n
    theirs = gymnasium.vector.SyncVectorEnv(singles, autoreset_mode=name)
    assert ours.metadata["autoreset_mode"] == theirs.metadata["autoreset_mode"]
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space

    def same(mine: Any, right: Any) -> None:
        assert mine.dtype == right.dtype
        assert (mine == right).all()

    random = np.random.default_rng(3)
    ends = np.zeros(2)
    same(ours.reset(seed=11)[0], theirs.reset(seed=11)[0])
    for _ in range(1000):
        actions = random.uniform(-1.5, 1.5, (n, 1)).astype(np.float32)
        mine, right = ours.step(actions), theirs.step(actions)
        for a, b in zip(mine[:4], right[:4], strict=True):
            same(a, b)
        assert mine[4].keys() == right[4].keys()
        done = mine[2] | mine[3]
        ends += mine[2].sum(), mine[3].sum()
        if done.any() and mode == "same_step":
            same(mine[4]["_final_obs"], done)
            same(np.stack(mine[4]["final_obs"][done]), np.stack(right[4]["final_obs"][done]))
        if done.any() and mode == "disabled":
            masks = [{"reset_mask": done.copy()} for _ in range(2)]
            same(ours.reset(options=masks[0])[0], theirs.reset(options=masks[1])[0])
    assert (ends > 10).all()  # episodes ended in both ways


def test_motions_rewards_and_ends() -> None:
    """F = 5 is clipped to 2, so x = t^2 and x' = 2 t: beyond 4.1 at t = 2.5, the fifth step."""
    envs = chaplygin.gym.VectorEnv(
        cart(), 2, **CART, terminated=sp.Symbol("x") > 4.1, max_episode_steps=6, autoreset="same_step"
    )
    observations, _ = envs.reset(seed=0)
    assert observations.tolist() == [[0, 0], [0, 0]]
    for k in range(1, 7):
        observations, rewards, terminated, truncated, infos = envs.step([[5.0], [1.0]])
        t = k / 2
        np.testing.assert_allclose(rewards[1], -(t**2) / 2, rtol=1e-6)
        assert terminated.tolist() == [k == 5, t**2 / 2 > 4.1]
        assert truncated.tolist() == [False, k == 6]
        if k == 5:
            np.testing.assert_allclose(infos["final_obs"][0], [t**2, 2 * t], rtol=1e-6)
            assert observations[0].tolist() == [0, 0]
        elif k < 5:
            np.testing.assert_allclose(observations[0], [t**2, 2 * t], rtol=1e-6)


def test_next_step_starts_again_without_a_reward() -> None:
    envs = chaplygin.gym.VectorEnv(cart(), 2, **CART, max_episode_steps=2)
    envs.reset(seed=0)
    flags = [envs.step([[1.0], [2.0]])[1:4] for _ in range(4)]
    assert [truncated.tolist() for _, _, truncated in flags] == [
        [False] * 2,
        [True] * 2,
        [False] * 2,
        [False] * 2,
    ]
    assert flags[2][0].tolist() == [0, 0]
    np.testing.assert_allclose(flags[3][0], [-0.125, -0.25])


def test_starts_are_drawn_from_ranges_by_seed() -> None:
    envs = chaplygin.gym.VectorEnv(torque_sleigh(), 500, **SLEIGH)
    first = envs.reset(seed=5)[0]
    speeds = first[:, 1]
    assert 0.5 <= speeds.min() < 0.51 < 0.99 < speeds.max() <= 1.0
    assert abs(speeds.mean() - 0.75) < 4 * 0.5 / np.sqrt(12 * 500)
    again = envs.reset()[0]
    assert (again[:, 1] != speeds).all()
    assert (envs.reset(seed=5)[0] == first).all()
    assert (envs.reset(seed=6)[0][:-1] == first[1:]).all()  # run i has the seed 6 + i
    given = chaplygin.gym.VectorEnv(torque_sleigh(), 500, **SLEIGH, seed=5)
    assert (given.reset()[0] == first).all()
    assert (envs.reset(seed=list(range(505, 5, -1)))[0][::-1][:400] == envs.reset(seed=6)[0][:400]).all()


def test_starts_by_a_function() -> None:
    def start(random: np.random.Generator) -> dict[Any, float]:
        angle = random.uniform(0, 2 * np.pi)
        return {x: np.cos(angle), y: np.sin(angle), phi: 0, omega: 0, v: 1}

    task = {**SLEIGH, "initial": start, "observations": [x**2 + y**2, "y"]}
    observations = chaplygin.gym.VectorEnv(torque_sleigh(), 50, **task).reset(seed=1)[0]
    np.testing.assert_allclose(observations[:, 0], 1, rtol=1e-6)
    assert observations[:, 1].min() < -0.9
    assert observations[:, 1].max() > 0.9


def test_a_failed_integration_truncates() -> None:
    """x'' = x^3 grows beyond all bounds in a time of about 2/x0."""
    position, force = cg.coordinates("x"), cg.inputs("F")
    rate = cg.rate(position)
    system = unit_masses("bursting", [position], potential=-(position**4) / 4, forces={rate: force})
    task = {**CART, "initial": {"x": (0.1, 8), "x_dot": 0}, "dt": 1.0}
    envs = chaplygin.gym.VectorEnv(system.compile(), 20, **task)
    starts = envs.reset(seed=2)[0][:, 0]
    _, _, terminated, truncated, infos = envs.step(np.zeros((20, 1)))
    assert truncated[starts > 3].all()
    assert not truncated[starts < 1].any()
    assert not terminated.any()
    assert (infos["failed"] == truncated).all()
    observations, rewards, _, truncated, infos = envs.step(np.zeros((20, 1)))
    assert np.isfinite(observations).all()
    assert np.isfinite(rewards).all()
    env = chaplygin.gym.Env(system.compile(), **{**task, "initial": {"x": 8, "x_dot": 0}})
    env.reset(seed=0)
    assert env.step([0.0])[2:] == (False, True, {"failed": True})


def test_spaces_have_declared_bounds() -> None:
    position, (push, pull) = cg.coordinates("r", nonnegative=True), cg.inputs("push pull", nonnegative=True)
    rate = cg.rate(position)
    system = unit_masses("slider", [position], forces={rate: push - pull})
    env = chaplygin.gym.Env(
        system.compile(),
        dt=0.1,
        actions=["push", "pull"],
        observations=["r", rate],
        reward=1,
        initial={"r": 1, "r_dot": 0},
    )
    assert env.action_space == gymnasium.spaces.Box(0, np.inf, (2,))
    assert env.observation_space.low.tolist() == [0, -np.inf]
    assert env.reset(seed=0)[0].tolist() == [1, 0]
    assert env.step(np.array([-3.0, 2.0]))[0][1] == np.float32(-0.2)  # a push below 0 is clipped


def test_a_model_from_a_file_takes_names(tmp_path: Path) -> None:
    file = Path(cart().owner.__file__)  # type: ignore[attr-defined]
    shutil.copytree(file.parent, tmp_path / "copy")
    loaded = load_model(tmp_path / "copy" / file.name)
    envs = chaplygin.gym.VectorEnv(loaded, 3, **{**CART, "reward": "energy"})
    envs.reset(seed=0)
    np.testing.assert_allclose(envs.step(np.ones((3, 1)))[1], 0.125, rtol=1e-14)
    with pytest.raises(ArgumentError, match="without its declaration"):
        chaplygin.gym.VectorEnv(loaded, 3, **CART).reset(seed=0)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"actions": ["f"]}, "actions: unknown f"),
    ({"actions": []}, "actions is empty"),
    ({"actions": "F"}, "actions = 'F': give a list"),
    ({"actions": ["F", "F"]}, r"actions = \(F, F\): an input is given twice"),
    ({"inputs": {"F": 1}}, "inputs: F is set by the actions"),
    ({"actions": {"F": 1}}, r"actions: F = 1; a pair \(low, high\)"),
    ({"actions": {"F": (1, -1)}}, "low must not exceed high"),
    ({"observations": []}, "observations is empty"),
    ({"observations": ["y"]}, "'y' is not a quantity of cart"),
    ({"reward": "y"}, "'y' is not a quantity of cart"),
    ({"reward": sp.Symbol("y") ** 2}, "'y' is not a quantity of the model"),
    ({"initial": {"x": "1"}}, "initial: x = '1'"),
    ({"initial": {"x": 0}}, "missing"),
    ({"initial": {"x": (0, 1, 2), "x_dot": 0}}, r"initial: x = \(0, 1, 2\); a pair"),
    ({"initial": [0, 0]}, "give a dict of numbers, ranges"),
    ({"initial": lambda random: [0, 0]}, "the function returned .* a dict of numbers"),
    ({"dt": 0}, "dt = 0 is not positive"),
    ({"max_episode_steps": 0}, "max_episode_steps"),
    ({"seed": -1}, "seed: -1 is neither an integer from 0 nor None"),
    ({"seed": "7"}, "seed: '7' is neither"),
    ({"autoreset": "never"}, "autoreset = 'never': give one of 'next_step', 'same_step', 'disabled'"),
    ({"speed": 3}, "speed"),
]


@pytest.mark.parametrize(("change", "text"), WRONG, ids=[str(list(c)) + t[:12] for c, t in WRONG])
def test_wrong_arguments_are_named(change: dict[str, Any], text: str) -> None:
    with pytest.raises((ArgumentError, TypeError), match=text):
        chaplygin.gym.VectorEnv(cart(), 2, **{**CART, **change}).reset(seed=0)


def test_wrong_calls_are_refused() -> None:
    envs = chaplygin.gym.VectorEnv(cart(), 2, **CART, max_episode_steps=1, autoreset="disabled")
    refused("before step", envs.step, [[0], [0]], error=gymnasium.error.ResetNeeded)
    refused("the first reset starts all", envs.reset, options={"reset_mask": np.array([True, False])})
    envs.reset(seed=0)
    for mask in (np.array([True]), np.array([False, False]), [True, False]):
        refused("an array of 2 bools is needed", envs.reset, options={"reset_mask": mask})
    refused("seed has 3 entries; 2 are needed", envs.reset, seed=[1, 2, 3])
    refused(r"seed: 0\.5 is neither", envs.reset, seed=[1, 0.5])
    refused(r"actions have shape \(2,\); \(2, 1\) is needed", envs.step, [0, 0])
    envs.step([[0], [0]])
    refused("episode 0 has ended", envs.step, [[0], [0]], error=gymnasium.error.ResetNeeded)


def test_wrong_calls_of_a_single_environment_are_refused() -> None:
    env = chaplygin.gym.Env(cart(), **CART)
    env.reset(seed=0)
    for action in (0.0, [[0.0]], [0.0, 1.0]):
        refused(r"action has shape .*; \(1,\) is needed", env.step, action)
    with pytest.raises(ArgumentError, match="needs a model, not System: compile the system first"):
        chaplygin.gym.Env(cg.example("chaplygin_sleigh").system, **CART)


def test_seeds_of_numpy_are_those_of_python() -> None:
    envs = chaplygin.gym.VectorEnv(cart(), 2, **CART)
    first = envs.reset(seed=7)[0]
    assert (envs.reset(seed=np.int64(7))[0] == first).all()
    assert (envs.reset(seed=np.array([7, 8]))[0] == first).all()


def test_gymnasium_is_imported_on_demand_and_named_where_it_is_missing() -> None:
    program = """
import sys
import chaplygin as cg
cg.example("harmonic_oscillator")
assert not any(name.startswith("gymnasium") for name in sys.modules)
sys.modules["gymnasium"] = None
try:
    import chaplygin.gym
except ImportError as error:
    print(error)
"""
    assert "pip install 'chaplygin[gym]'" in python(program)


def test_what_no_batch_takes_is_refused_when_the_environment_is_made() -> None:
    ball = cg.example("bouncing_ball")
    task = {"dt": 0.1, "actions": ["F"], "observations": ["x"], "reward": "x", "initial": ball.initial}
    position, force = cg.coordinates("x"), cg.inputs("F")
    rate = cg.rate(position)
    floor = cg.Event(position, direction=-1, reset={rate: -rate}, name="floor")
    system = unit_masses("pushed", [position], forces={rate: force}, events=[floor])
    refused("no batch of pushed: pushed has events", chaplygin.gym.VectorEnv, system.compile(), 2, **task)
    for wrong, words in (
        ({"method": "rodas5p"}, "does not support lanes"),
        ({"rtol": -1}, "negative"),
        ({"inputs": {"G": 1}}, "G"),
    ):
        refused(words, chaplygin.gym.VectorEnv, cart(), 2, **{**CART, **wrong})
    with pytest.raises(TypeError, match="unexpected keyword argument 'metod'"):
        chaplygin.gym.Env(cart(), **CART, metod="rk4")


def test_every_keyword_of_a_batch_is_taken() -> None:
    given = {"threads": 1, "t0": 1.0, "sensitivities": ["x"], "sensitivity_control": False}
    envs = chaplygin.gym.VectorEnv(cart(), 2, **CART, **given)
    assert envs.reset(seed=1)[0].shape[0] == 2


def test_an_action_that_is_nan_ends_its_episode_alone() -> None:
    envs = chaplygin.gym.VectorEnv(cart(), 3, **{**CART, "initial": {"x": 1, "x_dot": 0}})
    envs.reset(seed=1)
    seen, _, _, truncated, info = envs.step(np.array([[1.0], [np.nan], [-1.0]]))
    assert truncated.tolist() == info["failed"].tolist() == [False, True, False]
    assert seen[:, 0].tolist() == [1.125, 1.0, 0.875]  # x = 1 + F t^2/2 at t = 1/2
    seen, _, _, truncated, info = envs.step(np.zeros((3, 1)))
    assert not truncated.any()
    assert "failed" not in info
    assert seen[1].tolist() == [1.0, 0.0]  # started again


def test_numbers_are_drawn_from_distributions_and_by_functions() -> None:
    from scipy import stats

    drawn = {"x": stats.norm(3, 0.5), "x_dot": lambda generator: generator.integers(5)}
    envs = chaplygin.gym.VectorEnv(cart(), 4, **{**CART, "initial": drawn})
    seen, _ = envs.reset(seed=10)
    for i, row in enumerate(seen):
        generator = np.random.default_rng(10 + i)  # Gymnasium's generators are NumPy's
        assert row[0] == np.float32(stats.norm(3, 0.5).ppf(generator.random()))
        assert row[1] == generator.integers(5)


def test_an_environment_is_copied_by_pickle() -> None:
    envs = chaplygin.gym.VectorEnv(cart(), 2, **CART)
    envs.reset(seed=3)
    first, again = envs.step([[1.0], [0.5]])[0], pickle.loads(pickle.dumps(envs)).step([[0.0], [0.0]])[0]
    assert (envs.step([[0.0], [0.0]])[0] == again).all()
    assert (first != again).any()


def test_what_is_wrong_is_refused_when_the_environment_is_made() -> None:
    """By name, before the first reset."""
    position, force = cg.coordinates("x"), cg.inputs("F")
    m = cg.parameters("m", positive=True)
    rate = cg.rate(position)
    heavy = cg.System(
        "heavy", coordinates=[position], kinetic=m * rate**2 / 2, forces={rate: force}
    ).compile()
    for model, change, words in (
        (cart(), {"observations": ["height"]}, "'height' is not a quantity of cart"),
        (cart(), {"reward": sp.Symbol("height")}, "'height' is not a quantity of the model"),
        (cart(), {"initial": {"x": 0}}, "initial: missing x_dot"),
        (cart(), {"method": "rk4"}, "this is a fixed-step method: give step="),
        (heavy, {}, "parameters: missing m"),
        (heavy, {"parameters": {"m": -1}}, "m = -1, but m is declared positive"),
        (heavy, {"parameters": {"m": (-1, 2)}}, r"m = \(-1, 2\), but m is declared positive"),
    ):
        for kind in (chaplygin.gym.Env, lambda *a, **k: chaplygin.gym.VectorEnv(*a, 2, **k)):
            refused(words, kind, model, **{**CART, **change})


def test_a_single_environment_runs_events_and_contacts() -> None:
    """A block on a rough floor, pushed by F: x'' = F - sgn v; at x = 2 it meets a wall and its episode ends."""
    position, force = cg.coordinates("x"), cg.inputs("F")
    rate = cg.rate(position)
    block = unit_masses(
        "pushed_block",
        [position],
        forces={rate: force},
        contacts=[cg.Coulomb("sole", slip=rate, normal=10, mu=sp.Rational(1, 10))],
        events=[cg.Event(position - 2, name="wall", terminal=True)],
    )
    env = chaplygin.gym.Env(
        block.compile(),
        dt=1.0,
        actions={"F": (-3, 3)},
        observations={position: (-9, 2), rate: (-9, 9), "friction_sole": (-1, 1)},
        reward=-(position**2) + force,
        initial={"x": (0, 0), "x_dot": 0},
    )
    for _ in range(2):  # the second episode is the first one again
        env.reset(seed=1)
        seen, reward, terminated, truncated, about = env.step([0.5])  # it sticks
        np.testing.assert_allclose(seen, [0, 0, -0.5], atol=1e-7)
        assert (reward, terminated, truncated, about) == (0.5, False, False, {})
        seen, *_ = env.step([3.0])  # slides with acceleration 2
        np.testing.assert_allclose(seen, [1, 2, -1], rtol=1e-6)
        seen, reward, terminated, truncated, _ = env.step([3.0])  # meets the wall with v^2 = 2 * 2 * 2
        np.testing.assert_allclose(seen, [2, np.sqrt(8), -1], rtol=1e-6)
        assert (terminated, truncated) == (True, False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about spaces that are not from -1 to 1
        check_env(env, skip_render_check=True)


def test_a_single_environment_takes_methods_that_no_batch_takes() -> None:
    env = chaplygin.gym.Env(cart(), **CART, method="rodas5p")
    env.reset(seed=0)
    np.testing.assert_allclose(env.step([1.0])[0], [0.125, 0.5], rtol=1e-7)
