"""The gradient of a loss along a run, by the adjoint of the steps of the method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import arguments
from ..arguments import Array
from ..derivatives import derivatives, require_compiled
from ..errors import ArgumentError, KernelError, message_of
from ..options import RunOptions, corrects
from .loss import Terms, terms_of
from .quantities import integrand_of, sampled
from .start import Start

if TYPE_CHECKING:
    from ..compiled_model import CompiledModel


@dataclass(frozen=True)
class Gradient:
    """A loss and its derivatives by `names`, in their order in `vector` (n,); ``gradient[name]`` is one of them.

    `n_steps` is the number of steps of the run, `n_repeated` how many steps were taken again for the derivatives.
    """

    value: float
    names: tuple[str, ...]
    vector: Array
    n_steps: int
    n_repeated: int

    def __getitem__(self, name: Any) -> float:
        key = arguments.plain_name(name)
        if key not in self.names:
            raise arguments.unknown_entry("gradient", [key], self.names)
        return float(self.vector[self.names.index(key)])

    def __repr__(self) -> str:
        parts = ", ".join(f"{name} {slope:.6g}" for name, slope in zip(self.names, self.vector))
        return f"<Gradient of {self.value:.8g}: {parts}>"


def check_smooth(what: str, model: CompiledModel, options: RunOptions) -> RunOptions:
    """The checked options of a run whose steps have a derivative; raises `ArgumentError` that names what has none."""
    from .._core import explicit_method

    require_compiled(what, model)
    for kind, names in (("event", model.events), ("contact", model.contacts)):
        if names:
            raise ArgumentError(
                f"{what}: {model.name} has the {kind} {names[0]}; the adjoint goes through smooth runs only: leave it "
                "out of the system"
            )
    if model.kinks:
        raise ArgumentError(
            f"{what}: the right-hand side of {model.name} has kinks, where it is not differentiable; write it with "
            "smooth functions in place of Abs, sign, Min, Max and Piecewise"
        )
    checked = options.checked(model)
    if not explicit_method(checked.chosen):
        raise ArgumentError(
            f"{what}: method {checked.chosen!r} has no adjoint here; take "
            f"{', '.join(name for name in model.methods if explicit_method(name))}"
        )
    if corrects(model, checked.project) == "correction_all":
        raise ArgumentError(
            f"{what}: project='all' has no derivative by the start of a run; use 'constraints'"
        )
    return checked


def check_memory(memory: Any) -> float:
    """A number of bytes; raises `ArgumentError`."""
    size = arguments.number("memory", memory)
    if not size > 0:
        raise ArgumentError(f"memory = {size:g}; a positive number of bytes is needed")
    return min(size, 2.0**62)


def gradient(
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
    start = Start.of("gradient", model, t0, initial, parameters, inputs, checked.smallest_atol)
    names = start.chosen("by", by)
    terms = terms_of(loss, model, (t0, t1))
    value, slopes, trail = backward(start, terms, t1, checked, size)
    vector = np.array([slopes[name] for name in names])
    if not np.isfinite(vector).all():
        wrong = names[int(np.flatnonzero(~np.isfinite(vector))[0])]
        raise ArgumentError(
            f"gradient: the derivative by {wrong} is not finite: the loss is not differentiable here"
        )
    return Gradient(value, names, vector, trail.n_steps, trail.n_repeated)


def backward(
    start: Start, terms: Terms, t1: float, options: RunOptions, memory: float
) -> tuple[float, dict[str, float], Any]:
    """The loss, its derivatives by every name of the start, and the trail of the run. Raises KernelError."""
    from .._core import Trail

    model, t0 = start.model, start.t
    n, np_ = len(start.x), len(start.p)
    times = np.concatenate([*(part.times for part in terms.samples), [t1]])
    sign = 1.0 if t1 >= t0 else -1.0
    stops = sign * np.unique(sign * times)
    trail = Trail(model, vars(options), t0, start.x, start.p, start.u, stops, memory)
    if trail.status != 0:
        text = message_of(trail.status, trail.t, model.independent)
        raise KernelError(f"gradient: the run of {model.name} {text}", trail.status)
    jumps = np.zeros((len(stops), n))
    rest = np.zeros(np_ + len(start.u))
    value = 0.0
    for part in terms.samples:
        at = np.searchsorted(sign * stops, sign * part.times)
        rows = [sampled(what, model, part.times, trail.states[at].T, start.p, start.u) for what in part.what]
        term, weights = part.function(np.array([row for row, _ in rows]))
        value += term
        for weight, (_, slopes) in zip(weights, rows):
            np.add.at(jumps, at, (slopes[:n] * weight).T)
            rest += slopes[n:] @ weight
    integrands = [integrand_of(what, model) for what in terms.integrands]
    by_x, by_rest, integral = trail.back(derivatives(model).backward(), integrands, jumps)
    by_rest = by_rest + rest
    return value + integral, start.back(by_x, by_rest[:np_], by_rest[np_:]), trail
