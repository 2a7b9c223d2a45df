"""Environments for reinforcement learning: Gymnasium's interface to batches."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import arguments
from .arguments import Array
from .assumptions import NOT_NEGATIVE, NOT_POSITIVE, NOT_ZERO
from .base_model import BaseModel
from .ensemble_job import positive
from .errors import ArgumentError, MissingExtraError

try:
    import gymnasium
    from gymnasium.utils.seeding import np_random
    from gymnasium.vector.utils import batch_space
except ImportError as error:
    raise MissingExtraError("chaplygin.gym", "gymnasium", "gym") from error

AUTORESET = {mode.name.lower(): mode for mode in gymnasium.vector.AutoresetMode}
"""What happens to an episode that has ended: "next_step", "same_step" or "disabled"."""

Flags = NDArray[np.bool_]


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
    initial, parameters : what an episode starts from: {name: a number, or (low, high) to draw from uniformly}, or a
        function of a `numpy.random.Generator` that returns a dict of numbers.
    inputs : the other inputs, {name: number}.
    max_episode_steps : an episode is truncated after this number of steps; None: never.
    seed : the seed for a first ``reset()`` without one. Episode i has a generator of its own, seeded with seed + i.
    autoreset : "next_step", "same_step" or "disabled", as in Gymnasium.
    **options : as for ``model.batch``: `method`, `step`, `rtol`, `atol`, `threads`, `lanes` ...

    An episode whose integration fails is truncated, and ``info["failed"]`` is true for it. Raises `ArgumentError`,
    naming the entry; names and expressions are checked by the first ``reset``.

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
        seed: int | None = None,
        autoreset: str = "next_step",
        **options: Any,
    ) -> None:
        if autoreset not in AUTORESET:
            raise ArgumentError(f"autoreset = {arguments.short(autoreset)}; it can be {', '.join(AUTORESET)}")
        self._episodes = Episodes(
            model, positive("n", n), dt, actions, observations, reward, terminated, initial, parameters, inputs,
            max_episode_steps, options,
        )  # fmt: skip
        self.num_envs = len(self._episodes)
        self._seeds, self._mode = _seeds(seed, self.num_envs), AUTORESET[autoreset]
        self.metadata = {"render_modes": [], "autoreset_mode": self._mode}
        self.single_action_space, self.single_observation_space = self._episodes.spaces()
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
        mask = (options or {}).get("reset_mask", np.ones(self.num_envs, dtype=bool))
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
        seed: int | None = None,
        **options: Any,
    ) -> None:
        self._episodes = Episodes(
            model, 1, dt, actions, observations, reward, terminated, initial, parameters, inputs, max_episode_steps,
            options,
        )  # fmt: skip
        self._seed = seed
        self.metadata = {"render_modes": []}
        self.action_space, self.observation_space = self._episodes.spaces()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start again; a `seed` makes the random numbers reproducible."""
        if seed is None and self._np_random is None:
            seed = self._seed
        super().reset(seed=seed)
        self._episodes.start(np.arange(1), [self.np_random])
        return self._episodes.observe().observations[0], {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Advance by dt: observation, reward, terminated, truncated, info."""
        given = arguments.unchanged("action", action)
        if given.shape != self.action_space.shape:
            raise ArgumentError(f"action has shape {given.shape}; {self.action_space.shape} is needed")
        self._episodes.advance(given[None])
        found = self._episodes.observe()
        about = {"failed": True} if found.failed[0] else {}
        end = bool(found.terminated[0]), bool(found.truncated[0])
        return found.observations[0], float(found.rewards[0]), *end, about


class Seen:
    """What can be said of all episodes after a step, in new arrays."""

    def __init__(self, values: Array, count: int, ending: bool, failed: Flags, late: Flags) -> None:
        self.observations = values[:count].T.astype(np.float32, order="C")
        self.rewards = values[count].copy()
        self.terminated: Flags = values[count + 1] != 0 if ending else np.zeros(len(failed), dtype=bool)
        self.failed = failed
        self.truncated: Flags = failed | late


class Episodes:
    """n episodes of a task; see `VectorEnv` for the arguments."""

    def __init__(
        self,
        model: Any,
        n: int,
        dt: float,
        actions: Any,
        observations: Any,
        reward: Any,
        terminated: Any,
        initial: Any,
        parameters: Any,
        inputs: Any,
        max_episode_steps: int | None,
        options: dict[str, Any],
    ) -> None:
        if not isinstance(model, BaseModel):
            raise ArgumentError(
                f"an environment needs a model, not {type(model).__name__}: compile the system first"
            )
        self.model, self.n = model, n
        self.dt = arguments.number("dt", dt)
        if self.dt <= 0:
            raise ArgumentError(f"dt = {self.dt:.17g} is not positive")
        names, self.action_bounds = _bounded("actions", actions, model)
        self.actions = tuple(map(arguments.plain_name, names))
        unknown = [name for name in self.actions if name not in model.inputs]
        if unknown:
            raise arguments.unknown_entry("actions", unknown, model.inputs)
        if len(set(self.actions)) < len(self.actions):
            raise ArgumentError(f"actions = ({', '.join(self.actions)}): an input is given twice")
        seen, self.observation_bounds = _bounded("observations", observations, model)
        self.wanted = [*seen, reward, *(() if terminated is None else (terminated,))]
        self.initial, self.parameters = Rule("initial", initial), Rule("parameters", parameters)
        self.inputs = {} if inputs is None else arguments.by_name("inputs", inputs)
        for name in self.inputs.keys() & set(self.actions):
            raise ArgumentError(f"inputs: {name} is set by the actions")
        self.limit = (
            math.inf if max_episode_steps is None else positive("max_episode_steps", max_episode_steps)
        )
        self.options = options
        self.rest = np.clip(0.0, *self.action_bounds.T)
        self.steps = np.zeros(n, dtype=np.int64)
        self.batch: Any = None
        self.controls = np.empty((len(self.actions), n))

    def __len__(self) -> int:
        return self.n

    def spaces(self) -> tuple[gymnasium.spaces.Box, gymnasium.spaces.Box]:
        """The spaces of a single action and of a single observation."""
        boxes = (bounds.T.astype(np.float32) for bounds in (self.action_bounds, self.observation_bounds))
        action, observation = (gymnasium.spaces.Box(low, high, dtype=np.float32) for low, high in boxes)
        return action, observation

    def start(self, runs: NDArray[np.intp], generators: list[np.random.Generator]) -> None:
        """Start episodes again; the first call starts all of them."""
        initial, parameters = self.initial.draw(generators), self.parameters.draw(generators)
        self.controls[:, runs] = self.rest[:, None]
        given = dict(zip(self.actions, self.controls))
        if self.batch is None:
            inputs = {**self.inputs, **given}
            self.batch = self.model.batch(self.n, initial, parameters, inputs, **self.options)
            self.values = np.empty((len(self.wanted), self.n))
        else:
            self.batch.set_inputs(given)
            self.batch.reset(runs, initial, parameters)
        self.steps[runs] = 0

    def advance(self, actions: Any) -> None:
        """Advance all episodes; `actions`: (n, number of actions)."""
        if self.batch is None:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        given = arguments.unchanged("actions", actions)
        if given.shape != self.controls.T.shape:
            raise ArgumentError(f"actions have shape {given.shape}; {self.controls.T.shape} is needed")
        low, high = self.action_bounds.T[:, :, None]
        np.clip(given.T, low, high, out=self.controls)
        self.batch.advance_by(self.dt, inputs=dict(zip(self.actions, self.controls)))
        self.steps += 1

    def observe(self) -> Seen:
        """Observations, rewards and ends in the present state."""
        values = self.batch.evaluate(self.wanted, out=self.values)
        count = len(self.observation_bounds)
        ending = len(self.wanted) > count + 1
        return Seen(values, count, ending, self.batch.status < 0, self.steps >= self.limit)


class Rule:
    """How the numbers at the start of an episode are drawn, from a dict of numbers and ranges or by a function."""

    def __init__(self, kind: str, given: Any) -> None:
        self.kind = kind
        self.function: Callable[[np.random.Generator], Any] | None = given if callable(given) else None
        self.fixed: dict[str, float] = {}
        self.ranges: dict[str, tuple[float, float]] = {}
        if self.function is None and given is not None:
            if not isinstance(given, Mapping):
                raise ArgumentError(
                    f"{kind} = {arguments.short(given)}; give a dict of numbers and ranges (low, high), or a function "
                    "of a random generator that returns a dict of numbers"
                )
            for name, value in arguments.by_name(kind, given).items():
                if isinstance(value, (tuple, list)):
                    self.ranges[name] = _pair(f"{kind}: {name}", value)
                else:
                    self.fixed[name] = arguments.number(f"{kind}: {name}", value)

    def draw(self, generators: list[np.random.Generator]) -> dict[str, Any]:
        """An array of one number for each generator, by name."""
        if self.function is not None:
            return self._called(generators)
        found: dict[str, Any] = dict(self.fixed)
        if self.ranges:
            uniform = np.array([generator.random(len(self.ranges)) for generator in generators]).T
            for (name, (low, high)), row in zip(self.ranges.items(), uniform):
                found[name] = low + row * (high - low)
        return found

    def _called(self, generators: list[np.random.Generator]) -> dict[str, Any]:
        assert self.function is not None
        rows = [self.function(generator) for generator in generators]
        for row in rows:
            if not isinstance(row, Mapping) or row.keys() != rows[0].keys():
                raise ArgumentError(
                    f"{self.kind}: the function returned {arguments.short(row)}; a dict of numbers with the same names "
                    "in every call is needed"
                )
        keys = {arguments.plain_name(key): key for key in rows[0]}
        return {
            name: np.array([arguments.number(f"{self.kind}: {name}", row[key]) for row in rows])
            for name, key in keys.items()
        }


def _bounded(kind: str, given: Any, model: Any) -> tuple[list[Any], Array]:
    """A list, or a dict with bounds, as a list and an array (k, 2) of bounds."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise ArgumentError(
            f"{kind} = {arguments.short(given)}; give a list, or a dict {{name: (low, high)}}"
        )
    items = list(given)
    if not items:
        raise ArgumentError(f"{kind} is empty")
    bounds = [
        _pair(f"{kind}: {item}", given[item]) if isinstance(given, Mapping) else _declared(item, model)
        for item in items
    ]
    return items, np.array(bounds)


def _seeds(seed: Any, n: int) -> list[int | None]:
    """One seed, or None, for each of n episodes."""
    if isinstance(seed, (list, tuple, np.ndarray)):
        seeds = list(seed)
    else:
        seeds = [seed + i if isinstance(seed, (int, np.integer)) else seed for i in range(n)]
    if len(seeds) != n:
        raise ArgumentError(f"seed has {len(seeds)} entries; {n} are needed")
    for entry in seeds:
        if entry is not None and not (isinstance(entry, (int, np.integer)) and entry >= 0):
            raise ArgumentError(f"seed: {arguments.short(entry)} is neither an integer from 0 nor None")
    return [None if entry is None else int(entry) for entry in seeds]


def _pair(what: str, value: Any) -> tuple[float, float]:
    if not isinstance(value, (tuple, list, np.ndarray)) or len(value) != 2:
        raise ArgumentError(f"{what} = {arguments.short(value)}; a pair (low, high) is needed")
    low, high = (arguments.number(what, end, finite=False) for end in value)
    if not low <= high:
        raise ArgumentError(f"{what} = ({low:.17g}, {high:.17g}): low must not exceed high")
    return low, high


def _declared(item: Any, model: Any) -> tuple[float, float]:
    """The bounds that follow from the declared assumptions of a variable."""
    variable = model.variables.get(arguments.plain_name(item))
    flags = 0 if variable is None else variable.flags
    least = float(np.finfo(np.float32).tiny) if flags & NOT_ZERO else 0.0
    low = least if flags & NOT_NEGATIVE else -math.inf
    return low, -least if flags & NOT_POSITIVE else math.inf
