"""Environments for reinforcement learning: Gymnasium's interface to batches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaplygin.errors import ArgumentError, MissingExtraError

from ..interface import arguments
from ..interface.arguments import Array, positive
from .episodes import Episodes, Flags

try:
    import gymnasium
    from gymnasium.utils.seeding import np_random
    from gymnasium.vector.utils import batch_space
except ImportError as error:
    raise MissingExtraError("chaplygin.gym", "gymnasium", "gym") from error

AUTORESET = {mode.name.lower(): mode for mode in gymnasium.vector.AutoresetMode}
"""What happens to an episode that has ended: "next_step", "same_step" or "disabled"."""


class VectorEnv(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """n episodes of one model, advanced together in a `Batch`: Gymnasium's `VectorEnv`.

    In each step the inputs in `actions` take new values, which are held for the duration `dt`; then the observations,
    the reward and the end of the episode are computed from the new state.

    Parameters
    ----------
    model : a compiled model.
    n : the number of episodes.
    dt : the duration of a step.
    actions : the inputs that an action sets, in order, as a list of names or a dict {name: (low, high)}. An action
        outside the bounds is clipped to them. Without bounds, they are those of the declared assumptions: 0 and
        infinity for ``positive=True``, none for most. At the start of an episode these inputs are 0, or the bound that
        is nearest to it.
    observations : names of declared quantities and SymPy expressions, as for ``batch.evaluate``, in a list or a dict
        {name or expression: (low, high)}; the bounds are those of the space alone.
    reward, terminated : a name or an expression; terminated where `terminated` is true or not 0. None: never.
    initial, parameters : what an episode starts from: {name: a number, (low, high) to draw from uniformly, a
        distribution of `scipy.stats`, or a function of a `numpy.random.Generator` that returns a number}, or one
        function of a generator that returns a dict of numbers.
    inputs : the other inputs, {name: number}; 0 where not given.
    max_episode_steps : an episode is truncated after this number of steps; None: never.
    observation : {one of the observations: noise of `cg.noise`}, which is added to what is seen of it, not to reward or
        end. Every episode has a path of its own, from its start on, with a number that its generator draws.
    seed : the seed for a first ``reset()`` without one. Episode i has a generator of its own, seeded with seed + i.
    autoreset : "next_step", "same_step" or "disabled", as in Gymnasium.
    **options : as for ``model.batch``: `method`, `step`, `rtol`, `atol`, `threads`, `lanes` ...

    An episode whose integration fails, or whose action is NaN, is truncated, and ``info["failed"]`` is true for it.
    Raises `ArgumentError`, naming the entry: everything is checked here, by a start that is drawn and thrown away.
    Models with events or contacts are refused; `Env` takes them.

    Each episode is that of an `Env` with the same seed: bit for bit if the model was compiled with
    ``reproducible=True``.

    >>> import chaplygin as cg, chaplygin.gym
    >>> x, F = cg.coordinates("x"), cg.inputs("F")
    >>> v = cg.rate(x)
    >>> model = cg.System("cart", coordinates=[x], kinetic=v**2 / 2, forces={v: F}).compile()
    >>> envs = chaplygin.gym.VectorEnv(model, 3, dt=0.1, actions={"F": (-1, 1)}, observations=[x, v], reward=-(x**2),
    ...                                terminated=abs(x) > 2, initial={"x": (-1, 1), "x_dot": 0})
    >>> observations, info = envs.reset(seed=7)
    >>> observations, rewards, terminated, truncated, info = envs.step([[1], [0], [-5]])
    >>> observations[:, 1]    # v = F dt, and F is at least -1
    array([ 0.1,  0. , -0.1], dtype=float32)
    """

    def __init__(
        self,
        model: Any,
        n: int,
        *,
        dt: float,
        actions: Any,
        observations: Any,
        reward: Any,
        terminated: Any = None,
        initial: Any = None,
        parameters: Any = None,
        inputs: Any = None,
        max_episode_steps: int | None = None,
        observation: Any = None,
        seed: int | None = None,
        autoreset: str = "next_step",
        **options: Any,
    ) -> None:
        arguments.choice("autoreset", autoreset, AUTORESET)
        self._episodes = Episodes(
            model, positive("n", n), dt, actions, observations, reward, terminated, initial, parameters, inputs,
            max_episode_steps, observation, options,
        )  # fmt: skip
        self.num_envs = len(self._episodes)
        self._seeds, self._mode = _seeds(seed, self.num_envs), AUTORESET[autoreset]
        self.metadata = {"render_modes": [], "autoreset_mode": self._mode}
        self.single_action_space = _space(self._episodes.action_bounds)
        self.single_observation_space = _space(self._episodes.observation_bounds)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self._ended: Flags = np.zeros(self.num_envs, dtype=bool)
        self._generators: list[np.random.Generator] = []

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start all episodes again, or those of ``options["reset_mask"]``; the others go on.

        `seed`: one for each episode, or the first of consecutive ones; None continues the random numbers.
        """
        mask = ({} if options is None else arguments.by_name("options", options)).get(
            "reset_mask", np.ones(self.num_envs, dtype=bool)
        )
        with self._episodes.alone:
            runs = self._chosen(mask)
            self._reseed(seed, runs)
            self._ended[runs] = False
            self._episodes.start(runs, [self._generators[i] for i in runs])
            return self._episodes.observe().observations, {}

    def _chosen(self, mask: Any) -> NDArray[np.intp]:
        given = isinstance(mask, np.ndarray) and mask.dtype == bool and mask.shape == (self.num_envs,)
        if not (given and mask.any()):
            raise ArgumentError(
                f"options: reset_mask = {arguments.short(mask)}; an array of {self.num_envs} bools is needed, some true"
            )
        if not mask.all() and not self._generators:
            raise ArgumentError("options: reset_mask: the first reset starts all episodes")
        return np.flatnonzero(mask)

    def _reseed(self, seed: Any, runs: Iterable[int]) -> None:
        """Seed the generators of episodes that have a seed."""
        first = not self._generators
        seeds = self._seeds if seed is None and first else _seeds(seed, self.num_envs)
        if first:
            self._generators = [np_random()[0] for _ in range(self.num_envs)]
        for i in runs:
            if seeds[i] is not None:
                self._generators[i] = np_random(seeds[i])[0]

    def step(self, actions: Any) -> tuple[Any, Array, Flags, Flags, dict[str, Any]]:
        """Advance every episode by dt; `actions` is (n, number of actions).

        Returns observations (n, number of observations), rewards, terminated, truncated, each (n,), and infos. In the
        mode "next_step" an episode that has ended is started again instead; "same_step" starts it at the end of the
        step and gives its last observation as ``infos["final_obs"]``.
        """
        with self._episodes.alone:
            return self._step(actions)

    def _step(self, actions: Any) -> tuple[Any, Array, Flags, Flags, dict[str, Any]]:
        if not self._generators:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        if self._mode == AUTORESET["disabled"] and self._ended.any():
            raise gymnasium.error.ResetNeeded(
                f"episode {np.flatnonzero(self._ended)[0]} has ended: reset it by options={{'reset_mask': mask}}"
            )
        again = np.flatnonzero(self._ended)  # empty in the other modes
        episodes = self._episodes
        episodes.advance(actions)
        if again.size:
            episodes.start(again, [self._generators[i] for i in again])
        found = episodes.observe()
        found.rewards[again] = 0.0
        infos = self._about(found.failed)
        done = found.terminated | found.truncated
        done[again] = found.terminated[again] = found.truncated[again] = False
        observations = found.observations
        if self._mode == AUTORESET["same_step"]:
            ended = np.flatnonzero(done)
            if ended.size:
                infos |= self._last(observations, done, infos)
                episodes.start(ended, [self._generators[i] for i in ended])
                observations = episodes.observe().observations
        else:
            self._ended = done
        return observations, found.rewards, found.terminated, found.truncated, infos

    @staticmethod
    def _about(failed: Flags) -> dict[str, Any]:
        return {"failed": failed.copy(), "_failed": failed.copy()} if failed.any() else {}

    @staticmethod
    def _last(observations: Any, done: Flags, infos: dict[str, Any]) -> dict[str, Any]:
        """The end of the episodes that are started again in the same step."""
        final = np.full(len(done), None, dtype=object)
        for i in np.flatnonzero(done):
            final[i] = observations[i]
        last = {"final_obs": final, "_final_obs": done.copy()}
        return {**last, "final_info": dict(infos), "_final_info": done.copy()}


class Env(gymnasium.Env[Any, Any]):
    """A single episode: Gymnasium's `Env`, with the arguments of `VectorEnv` but `n` and `autoreset`.

    Models with events and contacts run too, and methods and other inputs that no batch takes: by a stepper. A terminal
    event ends the episode where it happens: `terminated` is true then.

    >>> import chaplygin as cg, chaplygin.gym
    >>> x, F = cg.coordinates("x"), cg.inputs("F")
    >>> v = cg.rate(x)
    >>> model = cg.System("cart", coordinates=[x], kinetic=v**2 / 2, forces={v: F}).compile()
    >>> env = chaplygin.gym.Env(model, dt=0.1, actions=["F"], observations=[x, v], reward=-(x**2),
    ...                         initial={"x": 2, "x_dot": 0})
    >>> env.reset(seed=7)[0]
    array([2., 0.], dtype=float32)
    >>> env.step([10.0])[0]
    array([2.05, 1.  ], dtype=float32)
    """

    def __init__(
        self,
        model: Any,
        *,
        dt: float,
        actions: Any,
        observations: Any,
        reward: Any,
        terminated: Any = None,
        initial: Any = None,
        parameters: Any = None,
        inputs: Any = None,
        max_episode_steps: int | None = None,
        observation: Any = None,
        seed: int | None = None,
        **options: Any,
    ) -> None:
        self._episodes = Episodes(
            model, 1, dt, actions, observations, reward, terminated, initial, parameters, inputs, max_episode_steps,
            observation, options, one=True,
        )  # fmt: skip
        self._seed = _seeds(seed, 1)[0]
        self.metadata = {"render_modes": []}
        self.action_space = _space(self._episodes.action_bounds)
        self.observation_space = _space(self._episodes.observation_bounds)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start again; a `seed` makes the random numbers reproducible."""
        (seed,) = _seeds(seed, 1)
        if seed is None and self._np_random is None:
            seed = self._seed
        with self._episodes.alone:
            super().reset(seed=seed)
            self._episodes.start(np.arange(1), [self.np_random])
            return self._episodes.observe().observations[0], {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Advance by dt: observation, reward, terminated, truncated, info."""
        if not self._episodes.started:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        given = arguments.unchanged("action", action)
        if given.shape != self.action_space.shape:
            raise ArgumentError(f"action has shape {given.shape}; {self.action_space.shape} is needed")
        with self._episodes.alone:
            self._episodes.advance(given[None])
            found = self._episodes.observe()
        about = {"failed": True} if found.failed[0] else {}
        end = bool(found.terminated[0]), bool(found.truncated[0])
        return found.observations[0], float(found.rewards[0]), *end, about


def _space(bounds: Array) -> gymnasium.spaces.Box:
    """The space of k numbers with bounds (k, 2)."""
    low, high = bounds.T.astype(np.float32)
    return gymnasium.spaces.Box(low, high, dtype=np.float32)


def _seeds(seed: Any, n: int) -> list[int | None]:
    """One seed, or None, for each of n episodes."""
    if isinstance(seed, (list, tuple)) or (isinstance(seed, np.ndarray) and seed.ndim):
        seeds = arguments.entries("seed", seed, "an integer, or one for each episode")
    else:
        seeds = [seed + i if arguments.is_integer(seed) else seed for i in range(n)]
    if len(seeds) != n:
        raise ArgumentError(f"seed has {len(seeds)} entries; {n} are needed")
    for entry in seeds:
        if entry is not None and not (arguments.is_integer(entry) and entry >= 0):
            raise ArgumentError(f"seed: {arguments.short(entry)} is neither an integer from 0 nor None")
    return [None if entry is None else int(entry) for entry in seeds]
