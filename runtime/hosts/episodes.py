"""Episodes of reinforcement learning in a batch: how they start, advance and end, and what is seen."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaplygin.errors import ArgumentError, KernelError

from .. import core
from ..draws.distributions import is_distribution, law
from ..draws.noise import Noise, drawn_on
from ..interface import arguments
from ..interface.arguments import Array, positive
from ..interface.assumptions import NOT_NEGATIVE, NOT_POSITIVE, NOT_ZERO, assumption
from ..model.derivatives import require_compiled
from ..model.expressions import companion, places_of_new
from ..model.lanes import one_at_a_time
from ..problem.given_inputs import parse
from ..problem.input_rates import rated
from ..problem.options import RunOptions, of_others

Flags = NDArray[np.bool_]


class Seen:
    """What can be said of all episodes after a step, in new arrays."""

    def __init__(self, values: Array, count: int, ending: bool, failed: Flags, late: Flags) -> None:
        self.observations = values[:count].T.astype(np.float32, order="C")
        self.rewards = values[count].copy()
        self.terminated: Flags = values[count + 1] != 0 if ending else np.zeros(len(failed), dtype=bool)
        self.failed = failed
        self.truncated: Flags = failed | late


class Episodes:
    """n episodes of a task; see `gym.VectorEnv` for the arguments."""

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
        observation: object,
        options: dict[str, Any],
        one: bool = False,
    ) -> None:
        require_compiled("an environment", model)
        self.model: Any = model
        self.n = n
        self.dt = arguments.number("dt", dt)
        if self.dt <= 0:
            raise ArgumentError(f"dt = {self.dt:.17g} is not positive")
        names, self.action_bounds = _bounded("actions", actions, model)
        self.actions = tuple(map(arguments.plain_name, names))
        arguments.check_known("actions", self.actions, model.inputs)
        places = rated(model._input_flags)
        for i, name in enumerate(model.inputs):
            if i in places and name in self.actions:
                raise ArgumentError(
                    f"actions: {name} would jump at every step, but the equations contain rates of it; let a force of "
                    "the system move what it stands for"
                )
        if len(set(self.actions)) < len(self.actions):
            raise ArgumentError(f"actions = ({', '.join(self.actions)}): an input is given twice")
        seen, self.observation_bounds = _bounded("observations", observations, model)
        self.wanted = [*seen, reward, *(() if terminated is None else (terminated,))]
        self.noise = None if observation is None else ObservationNoise(observation, seen, n, self.dt)
        self.initial, self.parameters = Rule("initial", initial), Rule("parameters", parameters)
        self.inputs = {} if inputs is None else arguments.by_name("inputs", inputs)
        for name in self.inputs.keys() & set(self.actions):
            raise ArgumentError(f"inputs: {name} is set by the actions")
        self.limit = (
            math.inf if max_episode_steps is None else positive("max_episode_steps", max_episode_steps)
        )
        self.apart = self._apart(options, one)
        self.options = options
        self.rest = np.clip(0.0, *self.action_bounds.T)
        self.steps = np.zeros(n, dtype=np.int64)
        self.broken: Flags = np.zeros(n, dtype=bool)
        """Episodes with an action that is not a number."""
        self.alone = core.Guard("environment")  # held by every method of an environment
        self.controls = np.repeat(self.rest[:, None], n, axis=1)
        self.started = False
        self.batch = self._made()
        self.values = np.empty((len(self.wanted), n))
        self.batch.evaluate(self.wanted, out=self.values)

    def _apart(self, options: dict[str, Any], one: bool) -> str | None:
        """Why no batch takes the model with these options, if one episode can go on without; None if a batch does."""
        how = _run_options(self.model, options)
        given = {**self.inputs, **dict.fromkeys(self.actions, 0.0)}
        apart = one_at_a_time(self.model, how, {}, starts=False)
        if apart is None:
            names = self.model.inputs
            found = parse(given, names, self.n, self.model._input_flags)
            varying = [*found.functions, *(rows[0] for rows in found.moving)]
            if varying:
                apart = f"{names[varying[0]]} varies with the time, which begins anew in each episode"
        if apart is not None and not one:
            raise ArgumentError(
                f"no batch of {self.model.name}: {apart}; chaplygin.gym.Env runs it, one episode at a time"
            )
        return apart

    def _made(self) -> Any:
        """All runs from one start, which shows what is wrong with it: each episode is started with its own."""
        for rule in (self.initial, self.parameters):
            rule.check(self.model)
        generator = [np.random.default_rng(0)]
        start = self.initial.draw(generator), self.parameters.draw(generator)
        initial, parameters = map(numbers, start)
        inputs = {**self.inputs, **dict(zip(self.actions, self.rest.tolist()))}
        if self.apart is None:
            return self.model.batch(initial, parameters, inputs, n=self.n, **self.options)
        own = {name: value for name, value in self.options.items() if name not in ("threads", "lanes")}
        return SingleRun(self.model, initial, parameters, inputs, **own)

    def __len__(self) -> int:
        return self.n

    def start(self, runs: NDArray[np.intp], generators: list[np.random.Generator]) -> None:
        """Start episodes again."""
        initial, parameters = self.initial.draw(generators), self.parameters.draw(generators)
        self.controls[:, runs] = self.rest[:, None]
        self.batch.set_inputs(dict(zip(self.actions, self.controls)))
        self.batch.reset(runs, initial, parameters)
        if self.noise is not None:
            self.noise.start(runs, generators)
        self.started = True
        self.steps[runs], self.broken[runs] = 0, False

    def advance(self, actions: Any) -> None:
        """Advance all episodes; `actions`: (n, number of actions). One that is NaN fails its episode alone."""
        given = arguments.unchanged("actions", actions)
        if given.shape != self.controls.T.shape:
            raise ArgumentError(f"actions have shape {given.shape}; {self.controls.T.shape} is needed")
        low, high = self.action_bounds.T[:, :, None]
        wrong = np.isnan(given)
        self.broken |= wrong.any(axis=1)
        np.clip(np.where(wrong, self.rest, given).T, low, high, out=self.controls)
        self.batch.advance_by(self.dt, inputs=dict(zip(self.actions, self.controls)))
        self.steps += 1

    def observe(self) -> Seen:
        """Observations, rewards and ends in the present state."""
        values = self.batch.evaluate(self.wanted, out=self.values)
        count = len(self.observation_bounds)
        ending = len(self.wanted) > count + 1
        if self.noise is not None:
            self.noise.add(values, self.dt * self.steps.astype(np.float64))
        seen = Seen(values, count, ending, (self.batch.status < 0) | self.broken, self.steps >= self.limit)
        if self.apart is not None:
            seen.terminated |= self.batch.ended
        return seen


class Rule:
    """How the numbers at the start of an episode are drawn: from a dict, or all by one function.

    An entry of the dict is a number, a range (low, high), a distribution of `scipy.stats`, or a function of a random
    generator that returns a number. Entries that are drawn take one uniform number each, in their order; functions come
    after them.
    """

    def __init__(self, kind: str, given: Any) -> None:
        self.kind = kind
        self.function: Callable[[np.random.Generator], Any] | None = given if callable(given) else None
        self.fixed: dict[str, float] = {}
        self.ranges: dict[str, tuple[float, float]] = {}
        self.drawn: dict[str, Callable[[Array], Array]] = {}
        """From uniform numbers to those of an entry."""
        self.called: dict[str, Callable[[np.random.Generator], Any]] = {}
        if self.function is None and given is not None:
            by_name = arguments.named(kind, given)
            if by_name is None:
                raise ArgumentError(
                    f"{kind} = {arguments.short(given)}; give a dict of numbers, ranges (low, high), distributions and "
                    "functions of a random generator, or a function of such a generator that returns a dict of numbers"
                )
            for name, value in by_name.items():
                if isinstance(value, (tuple, list)):
                    self.ranges[name] = _pair(f"{kind}: {name}", value)
                    self.drawn[name] = _between(*self.ranges[name])
                elif is_distribution(value):
                    self.drawn[name] = law(f"{kind}: {name}", value, compiled=False).quantile
                elif callable(value):
                    self.called[name] = value
                else:
                    self.fixed[name] = arguments.number(f"{kind}: {name}", value)

    def check(self, model: Any) -> None:
        """Refuse ranges beyond the declared assumptions; what else is wrong shows in a start."""
        for name, (low, high) in self.ranges.items():
            least, most = _declared(name, model)
            if (low < 0 <= least) or (high > 0 >= most):
                raise ArgumentError(
                    f"{self.kind}: {name} = ({low:.17g}, {high:.17g}), but {name} is declared "
                    f"{assumption(model.variables[name].flags)}"
                )

    def draw(self, generators: list[np.random.Generator]) -> dict[str, Any]:
        """An array of one number for each generator, by name."""
        if self.function is not None:
            return self._called(generators)
        found: dict[str, Any] = dict(self.fixed)
        if self.drawn:
            uniform = np.array([generator.random(len(self.drawn)) for generator in generators]).T
            found |= {name: of(row) for (name, of), row in zip(self.drawn.items(), uniform)}
        for name, function in self.called.items():
            what = f"{self.kind}: {name}"
            found[name] = np.array([arguments.number(what, function(generator)) for generator in generators])
        return found

    def _called(self, generators: list[np.random.Generator]) -> dict[str, Any]:
        assert self.function is not None
        rows: list[dict[str, Any]] = []
        for answer in map(self.function, generators):
            row = arguments.named(self.kind, answer)
            if row is None or (rows and row.keys() != rows[0].keys()):
                raise ArgumentError(
                    f"{self.kind}: the function returned {arguments.short(answer)}; a dict of numbers with the same "
                    "names in every call is needed"
                )
            rows.append(row)
        return {
            name: np.array([arguments.number(f"{self.kind}: {name}", row[name]) for row in rows])
            for name in rows[0]
        }


def _run_options(model: Any, options: dict[str, Any]) -> RunOptions:
    """The checked options of the batch."""
    return of_others(type(model).batch, options).checked(model)


def _bounded(kind: str, given: Any, model: Any) -> tuple[list[Any], Array]:
    """A list, or a dict with bounds, as a list and an array (k, 2) of bounds."""
    items = (
        list(given)
        if isinstance(given, Mapping)
        else arguments.entries(kind, given, "a list, or a dict {name: (low, high)}")
    )
    if not items:
        raise ArgumentError(f"{kind} is empty")
    bounds = [
        _pair(f"{kind}: {item}", given[item]) if isinstance(given, Mapping) else _declared(item, model)
        for item in items
    ]
    return items, np.array(bounds)


def _between(low: float, high: float) -> Callable[[Array], Array]:
    return lambda u: low + u * (high - low)


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


class SingleRun:
    """What `Episodes` ask of a `Batch`, by a stepper that is made anew at each reset.

    A run that fails keeps its last point and status, as a run of a batch does; one that comes to a terminal event has
    ended there.
    """

    def __init__(
        self,
        model: Any,
        initial: dict[str, Any],
        parameters: dict[str, Any],
        inputs: dict[str, Any],
        **options: Any,
    ) -> None:
        self.model, self.options, self.inputs = model, options, dict(inputs)
        self._initial, self._parameters = numbers(initial), numbers(parameters)
        self.status: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        self.ended: NDArray[np.bool_] = np.zeros(1, dtype=bool)
        self._start()

    def _start(self) -> None:
        self.run = self.model.stepper(self._initial, self._parameters, self.inputs, **self.options)
        self.status[:], self.ended[:] = 0, False

    def set_inputs(self, values: Mapping[str, Any]) -> None:
        """Change inputs from here on."""
        self.inputs |= numbers(values)
        self.run.set_inputs({name: self.inputs[name] for name in values})

    def reset(self, runs: Any, initial: dict[str, Any], parameters: dict[str, Any]) -> None:
        """Start again; what is not named is as before."""
        self._initial |= numbers(initial)
        self._parameters |= numbers(parameters)
        self._start()

    def advance_by(self, dt: float, inputs: Mapping[str, Any]) -> None:
        """Advance by dt, or to a terminal event, in which the run stays."""
        if self.status[0] < 0 or self.ended[0]:
            return
        self.set_inputs(inputs)
        try:
            self.run.advance_by(dt)
            self.ended[0] = self.run.status == 1
        except KernelError as error:
            self.status[0] = error.status

    def evaluate(self, wanted: Sequence[Any], out: Array) -> Array:
        """Quantities by name and expressions, (k, 1)."""
        new = places_of_new(wanted, self.run.names)
        for i, what in enumerate(wanted):
            if i not in new:
                out[i] = self.run[getattr(what, "name", what)]
        if new:
            out[new] = self._expressions([wanted[i] for i in new])
        return out

    def _expressions(self, expressions: list[Any]) -> Array:
        run, address = self.run, companion(self.model, expressions, 1)
        values = [run[name] for name in self.model.inputs] + [*run._modes()]
        controls = np.array(values, dtype=float).reshape(-1, 1)
        found: Array = core.companion_columns(
            self.model, address, np.array([run.t]), run.y[:, None], [np.array([v]) for v in run.p], controls
        )
        return found


def numbers(values: Mapping[str, Any]) -> dict[str, float]:
    """One number for each name, of a number or an array (1,)."""
    return {name: float(np.asarray(value).reshape(())) for name, value in values.items()}


class ObservationNoise:
    """What is added to some observations of n episodes: {observation: noise}, each path from the start of the episode.

    A path has seed 0, as trajectory a number that the generator of the episode draws, and as stream the place among
    `observations`.
    """

    def __init__(self, given: object, observations: list[object], n: int, dt: float) -> None:
        self.names = [arguments.plain_name(item) for item in observations]
        self.noises: dict[str, Noise] = arguments.by_name("observation", given)
        arguments.check_known("observation", self.noises, self.names)
        for name, noise in self.noises.items():
            if not isinstance(noise, Noise):
                raise ArgumentError(
                    f"observation: {name} = {arguments.short(noise)}; a noise is needed, such as cg.noise.white(dt)"
                )
        self.places = np.zeros((n, 2), dtype=np.int64)
        self._draw(dt)

    def _draw(self, t: float) -> None:
        self.paths, self.rows = drawn_on(self.noises, self.names, (0.0, t), 0, self.places)

    def start(self, runs: NDArray[np.intp], generators: list[np.random.Generator]) -> None:
        """Episodes begin anew."""
        self.places[runs, 0] = [generator.integers(1 << 63) for generator in generators]
        for name, rows in self.rows.items():
            rows.values[runs] = self.paths[name].of_runs(self.places[runs])

    def add(self, values: Array, t: Array) -> None:
        """Add what it is at the times t (n,) of the episodes to the observations (k, n)."""
        if any(t.max() >= rows.times[-1] for rows in self.rows.values()):
            self._draw(float(t.max()))
        for name, rows in self.rows.items():
            values[self.names.index(name)] += rows.at(t)
