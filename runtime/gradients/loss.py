"""Losses: numbers made of the end of a run, of samples and of integrals along it.

A loss is an entry or a sequence of entries, which are added:

- ``cg.final(f)``: a quantity or a SymPy expression of quantities at the end of the run;
- ``cg.integral(f)``: its integral over the run, summed by the weights of the method, so to the method's order;
- ``cg.at_event(event, f)``: f at an occurrence of an event; ``cg.first_passage(event)``: the time of its first one;
- ``cg.squares(data)``: the sum of the squares of ((quantity at t - value) / sigma) over measured series;
- ``cg.loss(function, entry)``: a function of what ``cg.final(...)``, ``cg.at_event(...)`` or
  ``cg.series(..., times=...)`` gives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array
from ..studies.collect import FirstPassage, Recorded
from ..studies.observed import Observed
from .data import DataSeries, series_of
from .quantities import Quantity, quantity_of

if TYPE_CHECKING:
    from ..model.compiled_model import CompiledModel

Function = Callable[[Array], "tuple[float, Any]"]


@dataclass(frozen=True)
class Composed:
    """A function of an entry of samples; see `loss`."""

    function: Function
    entry: Any


@dataclass(frozen=True)
class Squares:
    """The squares of residuals against measured series; see `squares`."""

    data: Any


@dataclass(frozen=True)
class AtEvent:
    """Quantities at an occurrence of an event; see `at_event`."""

    event: Any
    what: tuple[Any, ...]
    which: Any


def at_event(event: Any, *what: Any, which: int = 0) -> AtEvent:
    """A loss: a quantity at an occurrence of an event of the model, before its reset.

    `event` is its name, `which` counts from 0, and -1 is the last one of the run. The time of an event, which is
    ``"t"``, changes with what the run is differentiated by, and with it what is read off there. Several quantities are
    for `loss`.

    >>> import chaplygin as cg
    >>> z, g = cg.coordinates("z"), cg.parameters("g", positive=True)
    >>> floor = cg.Event(z, direction=-1, terminal=True, name="floor")
    >>> stone = cg.System("stone", coordinates=[z], kinetic=cg.rate(z)**2/2, potential=g*z, events=[floor]).compile()
    >>> found = stone.gradient(cg.at_event("floor", "t"), (0, 9), {"z": 5, "z_dot": 0}, {"g": 10})
    >>> round(found.value, 9), round(found["z"], 9)    # t = sqrt(2 z / g), dt/dz = t / 2 z
    (1.0, 0.1)
    """
    return AtEvent(event, what, which)


def loss(function: Function, entry: Any) -> Composed:
    """A loss that is a Python function of samples of a run.

    `entry` is ``cg.final(a, b, ...)``, ``cg.at_event(event, a, b, ...)`` or
    ``cg.series(a, b, ..., times=...)``. `function` gets their values, (m,) or (m, T) for m quantities at T times, and
    returns the loss and its derivatives by the values, of the same shape.

    >>> import chaplygin as cg
    >>> from chaplygin.generated.harmonic_oscillator import model
    >>> def distance(values):
    ...     return float((values**2).sum()), 2 * values
    >>> start = {"x": 1, "x_dot": 0}, {"m": 1, "k": 4}
    >>> found = model.gradient(cg.loss(distance, cg.final("x", "x_dot")), (0, 1), *start)
    >>> round(found.value, 6)  # cos(2)^2 + 4 sin(2)^2
    3.480465
    """
    if not callable(function):
        raise ArgumentError(f"loss: {arguments.short(function)} is not a function")
    return Composed(function, entry)


def squares(data: Any) -> Squares:
    """The sum over measured series of the squares of ((quantity at t - value) / sigma).

    `data` is a dict of name -> (times, values) or (times, values, sigma), where sigma, a number or an array, is 1 if it
    is not given; or a table, such as a data frame, or a dict of columns, with the times in the column "t".
    """
    return Squares(data)


@dataclass(frozen=True)
class Samples:
    """Quantities of a model at T times, and the part of the loss that is a function of their values (m, T)."""

    what: tuple[Quantity, ...]
    times: Array
    function: Function
    label: str
    at_end: bool = False
    """They are at the end of the run, also if an event makes it."""
    event: tuple[str, int] | None = None
    """They are at this occurrence of this event."""


@dataclass(frozen=True)
class Terms:
    """A loss for a model: the parts that depend on samples, and what is integrated."""

    samples: tuple[Samples, ...]
    integrands: tuple[Quantity, ...]


def terms_of(given: Any, model: CompiledModel, t_span: tuple[float, float]) -> Terms:
    """The checked parts of a loss; raises `ArgumentError` that names the entry that is wrong."""
    entries = list(given) if isinstance(given, (list, tuple)) else [given]
    if not entries:
        raise ArgumentError("loss: at least one entry is needed")
    samples, integrands = [], []
    for i, entry in enumerate(entries):
        label = f"loss[{i}]" if isinstance(given, (list, tuple)) else "loss"
        if isinstance(entry, Observed):
            if entry.kind != "integral":
                raise ArgumentError(
                    f"{label}: {entry} is not differentiable: the time of an extreme jumps; give cg.integral of a "
                    "power of it, or cg.loss of a series"
                )
            integrands.append(quantity_of(label, model, entry.what))
        else:
            samples += _samples(label, entry, model, t_span)
    return Terms(tuple(samples), tuple(integrands))


def _samples(label: str, entry: Any, model: CompiledModel, t_span: tuple[float, float]) -> list[Samples]:
    if isinstance(entry, Squares):
        series = series_of(f"{label}: data", entry.data, model, t_span)
        return [Samples((quantity_of(label, model, s.what),), s.times, _squares(s), label) for s in series]
    function = None
    if isinstance(entry, Composed):
        function, entry = entry.function, entry.entry
        if type(entry) not in (Recorded, AtEvent):
            raise ArgumentError(
                f"{label}: cg.loss takes values of cg.final, cg.at_event or cg.series, not {arguments.short(entry)}"
            )
    elif type(entry) is FirstPassage:
        entry = AtEvent(entry.what[0], ("t",), 0)
    if type(entry) is AtEvent:
        return [_at_event(label, function, entry, model)]
    if type(entry) is not Recorded:
        raise ArgumentError(
            f"{label} = {arguments.short(entry)} is not a loss: give cg.final, cg.at_event, cg.integral, cg.squares or "
            "cg.loss, or a list of them"
        )
    what = tuple(quantity_of(label, model, each) for each in entry.what)
    ends = np.array([t_span[1]])
    times = ends if entry.at is None else arguments.times(f"{label}: times", np.atleast_1d(entry.at), *t_span)
    if function is None:
        if len(what) != 1 or entry.at is not None:
            raise ArgumentError(
                f"{label} is not one number; give one quantity, or a function of all by cg.loss"
            )
        return [Samples(what, times, _plain, label, at_end=True)]
    called = _called(label, function, single=entry.at is None)
    return [Samples(what, times, called, label, at_end=entry.at is None)]


def _at_event(label: str, function: Function | None, entry: AtEvent, model: CompiledModel) -> Samples:
    """The checked samples at an occurrence of an event."""
    name = arguments.plain_name(entry.event)
    if name not in model.events:
        raise ArgumentError(
            f"{label}: {model.name} has no event {arguments.short(name)}; "
            + (f"its events are {', '.join(model.events)}" if model.events else "it has no events")
        )
    which = arguments.number(f"{label}: which", entry.which)
    if which != int(which):
        raise ArgumentError(
            f"{label}: which = {which:g}; a whole number is needed, 0 for the first occurrence"
        )
    times = {"t", model.independent}
    what = tuple(
        quantity_of(label, model, model.independent if isinstance(each, str) and each in times else each)
        for each in entry.what
    )
    if not what or (function is None and len(what) != 1):
        raise ArgumentError(f"{label} is not one number; give one quantity, or a function of all by cg.loss")
    called = _plain if function is None else _called(label, function, single=True)
    return Samples(what, np.empty(0), called, label, event=(name, int(which)))


def _plain(values: Array) -> tuple[float, Array]:
    return float(values[0, 0]), np.ones((1, 1))


def _squares(series: DataSeries) -> Function:
    def of(values: Array) -> tuple[float, Array]:
        off = (values[0] - series.values) / series.sigma
        return float(off @ off), (2.0 * off / series.sigma)[None]

    return of


def _called(label: str, function: Function, single: bool) -> Function:
    """A user's function, with what it returns checked."""

    def of(values: Array) -> tuple[float, Array]:
        given = values[:, 0] if single else values
        answer = function(given.copy())
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise ArgumentError(
                f"{label}: the function returned {arguments.short(answer)}; a pair (loss, derivatives) is needed"
            )
        value = arguments.number(f"{label}: the loss", answer[0])
        slopes = arguments.array(f"{label}: the derivatives", answer[1])
        if slopes.shape != given.shape:
            raise ArgumentError(
                f"{label}: the derivatives have shape {slopes.shape}; {given.shape} is needed, that of the values"
            )
        if not np.isfinite(slopes).all():
            raise ArgumentError(f"{label} is not differentiable here: a derivative is not finite")
        return value, slopes.reshape(values.shape)

    return of
