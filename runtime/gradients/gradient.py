"""The gradient of a loss along a run, by the adjoint of the steps of the method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chaplygin.errors import ArgumentError, KernelError

from .. import core
from ..interface import arguments
from ..interface.arguments import Array
from ..interface.statuses import PIVOT, message_of
from ..model.compiled_model import CompiledModel
from ..model.derivatives import derivatives, require_compiled
from ..problem import pivots
from ..problem.consistency import Accuracy
from ..problem.options import RunOptions, corrects
from ..results.event_record import HEAD
from ..sensitivities.variation import Variation
from .jumps import JumpPart, Jumps
from .loss import Samples, Terms, integrand_of, sampled, slope_in_time, terms_of
from .start import GradientStart


@dataclass(frozen=True)
class Gradient:
    """A loss and its derivatives by `names`, in their order in `vector` (n,); ``gradient[name]`` is one of them.

    `n_steps` is the number of steps of the run, `n_repeated` how many steps were taken again for the derivatives.
    `start` has the declared coordinates and velocities at the start of the run by name: the nearest one on the
    constraints, of which it is the derivative.
    """

    value: float
    names: tuple[str, ...]
    vector: Array
    n_steps: int
    n_repeated: int
    start: dict[str, float]

    def __getitem__(self, name: Any) -> float:
        key = arguments.plain_name(name)
        arguments.check_known("gradient", [key], self.names)
        return float(self.vector[self.names.index(key)])

    def __repr__(self) -> str:
        parts = ", ".join(f"{name} {slope:.6g}" for name, slope in zip(self.names, self.vector))
        return f"<Gradient of {self.value:.8g}: {parts}>"


def check_smooth(what: str, model: CompiledModel, options: RunOptions) -> RunOptions:
    """The checked options of a run whose steps have a derivative; raises `ArgumentError` that names what has none."""
    require_compiled(what, model)
    checked = options.checked(model)
    if not core.explicit_method(checked.method):
        raise ArgumentError(
            f"{what}: method {checked.method!r} has no adjoint here; take "
            f"{', '.join(name for name in model.methods if core.explicit_method(name))}"
        )
    if corrects(model, checked.project) == "correction_all":
        raise ArgumentError(
            f"{what}: project='all' has no derivative by the start of a run; use 'constraints'"
        )
    return checked.changed(kinks=checked.kinks or bool(model.kinks))


def check_memory(memory: Any) -> float:
    """A number of bytes; raises `ArgumentError`."""
    size = arguments.number("memory", memory)
    if not size > 0:
        raise ArgumentError(f"memory = {size:g}; a positive number of bytes is needed")
    return min(size, 2.0**62)


def loss_gradient(
    model: CompiledModel,
    loss: Any,
    t_span: tuple[float, float],
    initial: Any,
    parameters: Any,
    inputs: Any,
    by: Any,
    memory: Any,
    options: RunOptions,
) -> Gradient:
    """See `Model.gradient`."""
    size = check_memory(memory)
    checked = check_smooth("gradient", model, options)
    t0, t1 = arguments.span(t_span)
    start = GradientStart.of("gradient", model, t0, initial, parameters, inputs, Accuracy.of(model, checked))
    names = start.chosen("by", by)
    terms = terms_of(loss, model, (t0, t1))
    value, slopes, trail = backward(start, names, terms, t1, checked, size)
    vector = np.array([slopes[name] for name in names])
    if not np.isfinite(vector).all():
        wrong = names[int(np.flatnonzero(~np.isfinite(vector))[0])]
        raise ArgumentError(
            f"gradient: the derivative by {wrong} is not finite: the loss is not differentiable here"
        )
    begins = model._named_start(t0, start.x, start.p, start.u)
    return Gradient(value, names, vector, trail.n_steps, trail.n_repeated, begins)


_MOST_DIRECTIONS = 4
"""How many tangents bound the steps of a run: as many as fill a vector register cost as much as one."""


def steps(
    start: GradientStart, names: Sequence[str], options: RunOptions, stops: Array, memory: float
) -> core.Trail:
    """The run of a start, in steps that also bear the derivatives by `names`.

    Where the motion rests, its own errors bound no step. Four tangents do: the derivatives by up to four names, or sums
    of them, with signs and weights that no symmetry of a system has.
    """
    model = start.model
    jumps = model.events or model.contacts or model.kinks  # whose tangents tell what is one
    if not jumps and not core.methods()[options.method].adaptive:
        return core.Trail(
            model, options, start.t, start.x, start.p, start.inputs, stops, memory, None, start.past
        )
    order = np.arange(len(names))
    weights = np.cos(1.0 + order**2) if len(names) > _MOST_DIRECTIONS else np.ones(len(names))
    tangents = start.along(names, order % _MOST_DIRECTIONS, weights)
    variation = Variation.of(model, len(tangents.sizes), True)
    return core.Trail(
        variation.model,
        variation.options(options),
        start.t,
        variation.state(start.x, tangents.y, tangents.sizes),
        variation.vector(start.p, tangents.seeds, tangents.sizes),
        start.inputs,
        stops,
        memory,
        model,
        start.past,
    )


def backward(
    start: GradientStart, names: Sequence[str], terms: Terms, t1: float, options: RunOptions, memory: float
) -> tuple[float, dict[str, float], Any]:
    """The loss, its derivatives by every name of the start, and the trail of the run. Raises KernelError.

    The steps are those for the derivatives by `names`.
    """
    model, t0 = start.model, start.t
    start.inputs.check_reach(t0, t1)
    np_ = len(start.p)
    timed = [part for part in terms.samples if part.event is None]
    times = np.concatenate([*(part.times for part in timed), [t1]])
    sign = 1.0 if t1 >= t0 else -1.0
    stops = sign * np.unique(sign * times)
    trail = steps(start, names, options, stops, memory)
    if trail.status < 0:
        text = message_of(trail.status, trail.t, model, trail.record)
        raise KernelError(f"gradient: the run of {model.name} {text}", trail.status)
    if PIVOT in model.kernels:
        pivots.report(model, *trail.points, start.p, np.zeros((len(model.inputs), 1)), 0)
    stops = stops[: trail.n_stops]
    if trail.status > 0:  # an event ended it
        stops[-1] = trail.t
    sums = _Sums(start, trail, stops)
    for part in terms.samples:
        sums.add(part)
    integrands = [integrand_of(what, model) for what in terms.integrands]
    across = None
    if trail.record is not None:
        rtol, atol = options.tolerances(model.states)

        def integrand(t: float, y: Array, u: Array) -> float:
            at = np.array([t]), y[:, None], start.p, u[:, None]
            return sum(float(sampled(what, model, *at)[0][0]) for what in terms.integrands)

        end = sums.end_by_t if trail.status > 0 else None
        across = Jumps(
            start, trail.record, sums.parts, end, integrand, sums.step, lambda y: atol + rtol * np.abs(y)
        )
    by_x, by_rest, integral = trail.back(derivatives(model).backward(), integrands, sums.jumps, across)
    by_rest = by_rest + sums.rest
    return sums.value + integral, start.back(by_x, by_rest[:np_], by_rest[np_:]), trail


class _Sums:
    """The samples of a loss, added up.

    Its `value`, its derivatives `jumps` (stops, n) by the states at the stops, `rest` by parameters and inputs,
    `end_by_t` by the time of an end that an event made, and `parts` at events, by row of their record. `step`: a step
    of mean length, with the sign of the direction.
    """

    def __init__(self, start: GradientStart, trail: Any, stops: Array) -> None:
        self.start, self.trail, self.stops = start, trail, stops
        self.sign = 1.0 if len(stops) and stops[-1] >= start.t else -1.0
        self.step = (trail.t - start.t) / max(trail.n_steps, 1) or 1.0
        self.value, self.end_by_t = 0.0, 0.0
        self.jumps = np.zeros((len(stops), len(start.x)))
        self.rest = np.zeros(len(start.p) + len(start.u))
        self.parts: dict[int, list[JumpPart]] = {}

    def add(self, part: Samples) -> None:
        """Add the samples of a part: at an event, at the end, or at times."""
        start, trail = self.start, self.trail
        n = len(start.x)
        if part.event is not None:
            row = _row_of(part, start, trail)
            t, y = trail.record.rows[row, :1].copy(), trail.record.rows[row, HEAD : HEAD + n, None].copy()
            u = np.concatenate([start.inputs.at(t, y)[:, 0], trail.record.modes_before(row)])[:, None]
            weights, slopes = self._sampled(part, t, y, u)
            total = sum((w[0] * s[:, 0] for w, s in zip(weights, slopes)), np.zeros(n + len(self.rest)))
            by_t = self._by_t(part, weights, slopes, t, y, u)
            self.parts.setdefault(row, []).append(JumpPart(by_t, total[:n]))
            self.rest += total[n:]
            return
        ended = trail.status > 0
        times = self.stops[-1:] if part.at_end else part.times
        late = self.sign * times > self.sign * self.stops[-1]
        if late.any():
            raise ArgumentError(
                f"{part.label}: the run ended at an event at t = {trail.t:.6g}, before the sample at t = "
                f"{times[late][0]:.6g}"
            )
        at = np.searchsorted(self.sign * self.stops, self.sign * times)
        y = trail.states[at].T
        u = np.concatenate([start.inputs.at(times, y), trail.modes[at].T])
        weights, slopes = self._sampled(part, times, y, u)
        for weight, rows in zip(weights, slopes):
            np.add.at(self.jumps, at, (rows[:n] * weight).T)
            self.rest += rows[n:] @ weight
        if ended and part.at_end:
            self.end_by_t += self._by_t(part, weights, slopes, times, y, u)

    def _sampled(self, part: Samples, t: Array, y: Array, u: Array) -> tuple[Array, list[Array]]:
        """Add the part at states y (n, T): the derivatives by its values, and those of these by x, p and the inputs."""
        found = [sampled(what, self.start.model, t, y, self.start.p, u) for what in part.what]
        term, weights = part.function(np.array([row for row, _ in found]))
        self.value += term
        return weights, [rows for _, rows in found]

    def _by_t(
        self, part: Samples, weights: Array, slopes: Sequence[Array], t: Array, y: Array, u: Array
    ) -> float:
        """The derivative of a part at one time by that, with the state as it is and inputs that go on."""
        at, start = (self.start.model, t, y, self.start.p, u), self.start
        rates, of_inputs = start.inputs.slopes(t, self.step, start.t)[:, 0], len(start.x) + len(start.p)
        by_t = [
            slope_in_time(what, *at) + rows[of_inputs:, 0] @ rates for what, rows in zip(part.what, slopes)
        ]
        return float(sum(w[0] * each for w, each in zip(weights, by_t)))


def _row_of(part: Samples, start: GradientStart, trail: Any) -> int:
    """The row of the record with the occurrence of an event that a part is at."""
    assert part.event is not None
    name, which = part.event
    rows = np.flatnonzero(trail.record.causes == start.model.events.index(name))
    if not -len(rows) <= which < len(rows):
        run = f"in the run, which ends at t = {trail.t:.6g}"
        if len(rows) == 0:
            raise ArgumentError(
                f"{part.label}: occurrence {which} of the event {name}, which does not occur {run}"
            )
        raise ArgumentError(
            f"{part.label}: occurrence {which} of the event {name} does not exist {run}; "
            f"give an index from {-len(rows)} to {len(rows) - 1}"
        )
    return int(rows[which])
