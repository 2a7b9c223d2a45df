"""Losses: numbers made of the end of a run, of samples and of integrals along it, and quantities with derivatives.

A loss is an entry or a sequence of entries, which are added:

- ``cg.final(f)``: a quantity or a SymPy expression of quantities at the end of the run;
- ``cg.integral(f)``: its integral over the run, summed by the weights of the method, so to the method's order;
- ``cg.at_event(event, f)``: f at an occurrence of an event; ``cg.first_passage(event)``: the time of its first one;
- ``cg.squares(data)``: the sum of the squares of ((quantity at t - value) / sigma) over measured series;
- ``cg.loss(function, entry)``: a function of what ``cg.final(...)``, ``cg.at_event(...)`` or
  ``cg.series(..., times=...)`` gives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from chaplygin.errors import ArgumentError

from .. import core
from ..interface import arguments
from ..interface.arguments import Array
from ..model.compiled_model import CompiledModel
from ..model.derivatives import derivatives
from ..model.expressions import Expression
from ..sensitivities.differences import central
from ..studies.collect import FirstPassage, Recorded
from ..studies.observed import Observed

Function = Callable[[Array], "tuple[float, Any]"]
TIMES = "t"
"""The column of a table with the times."""


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


@dataclass(frozen=True)
class NamedQuantity:
    """The result `index` of a kernel, or of t, the states, the parameters and the inputs if `kernel` is None."""

    name: str
    kernel: str | None
    index: int

    def __str__(self) -> str:
        return self.name


Quantity = NamedQuantity | Expression


def quantity_of(label: str, model: CompiledModel, what: Any) -> Quantity:
    """A quantity, parameter or the time by name, or the compiled expression of them with its derivatives."""
    if arguments.name_of(what) is None:
        try:
            return Expression.with_slopes(model, what)
        except ArgumentError as error:
            raise ArgumentError(f"{label}: {error}") from None
    name = arguments.plain_name(what)
    variables = (model.independent, *model.states, *model.parameters, *model.inputs)
    for kernel, names in ((None, variables), ("outputs", model.outputs), ("invariants", model._conserved)):
        if name in names:
            found = NamedQuantity(name, kernel, names.index(name))
            _check_smooth(label, model, found)
            return found
    raise ArgumentError(f"{label}: {arguments.unknown_quantity(name, model.name, model.quantities)}")


def _check_smooth(label: str, model: CompiledModel, what: NamedQuantity) -> None:
    if what.kernel is None:
        return
    kink = core.kink_of(model, derivatives(model).backward(), what.kernel, what.index)
    if kink is not None:
        raise ArgumentError(
            f"{label}: {what} is not differentiable where {kink} switches; write it with smooth functions, such as a "
            "square instead of an absolute value"
        )


def integrand_of(what: Quantity, model: CompiledModel) -> tuple[str | None, Array | None, int]:
    """A quantity as `Trail.back` takes it."""
    if isinstance(what, Expression):
        return None, None, what.address
    lengths = {"outputs": len(model.outputs), "invariants": len(model._conserved)}
    variables = 1 + len(model.states) + len(model.parameters) + len(model.inputs)
    weights = np.zeros(variables if what.kernel is None else lengths[what.kernel])
    weights[what.index] = 1.0
    return what.kernel, weights, 0


def slope_in_time(what: Quantity, model: CompiledModel, t: Array, y: Array, p: Array, u: Array) -> float:
    """The derivative of a quantity by the time at t (1,), y (n, 1), with the state as it is."""
    if isinstance(
        what, Expression
    ):  # whose compiled derivatives leave the time out: differences of the fourth order
        h = 1e-3 * (1.0 + abs(float(t[0])))
        return float(central(lambda k: float(sampled(what, model, t + k * h, y, p, u)[0][0]), h))
    if what.kernel is None:
        return float(what.index == 0)
    weights = np.zeros(len(model.outputs if what.kernel == "outputs" else model._conserved))
    weights[what.index] = 1.0
    return float(derivatives(model).adjoint(what.kernel, float(t[0]), y[:, 0], p, u[:, 0], weights)[0])


def sampled(
    what: Quantity, model: CompiledModel, t: Array, y: Array, p: Array, u: Array
) -> tuple[Array, Array]:
    """A quantity at states y (n, T): values (T,), and the derivatives by x, p and the inputs (n + np + nu, T).

    u (nu and modes, T or 1) are the inputs and the modes of contacts.
    """
    inputs = u[: len(model.inputs)]
    if isinstance(what, Expression):
        columns = np.ascontiguousarray(y)
        rows = what.rows(model, t, columns, [p[i : i + 1] for i in range(len(p))], np.ascontiguousarray(u))
        found = rows[0], rows[1:]
    elif what.kernel is None:
        slopes = np.zeros((1 + len(y) + len(p) + len(inputs), len(t)))
        slopes[what.index] = 1.0
        rest = [np.broadcast_to(each, (len(each), len(t))) for each in (p[:, None], inputs)]
        return np.concatenate([t[None], y, *rest])[what.index], slopes[1:]
    else:
        found = core.slope_columns(model, derivatives(model).backward(), what.kernel, what.index, t, y, p, u)
    finite = np.isfinite(found[0]) & np.isfinite(found[1]).all(axis=0)
    if not finite.all():
        raise ArgumentError(
            f"{what} or one of its derivatives is not finite at t = {t[~finite][0]:.6g}: there it is not differentiable"
        )
    return found


@dataclass(frozen=True)
class DataSeries:
    """Values (T,) of a quantity at times (T,), with standard deviations (T,), 1 where none are known."""

    what: Any
    times: Array
    values: Array
    sigma: Array
    known: bool
    """Whether the standard deviations were given."""


def series_of(label: str, data: Any, model: CompiledModel, t_span: tuple[float, float]) -> list[DataSeries]:
    """The series in `data`, checked: see `squares`. Raises `ArgumentError` that names the entry."""
    columns = _columns(label, data)
    if not columns:
        raise ArgumentError(f"{label} is empty; give name: (times, values)")
    names = list(map(arguments.plain_name, columns))
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ArgumentError(f"{label} has {twice} twice, by name and as a symbol; give one series of it")
    found = []
    for what, entry in columns.items():
        name = f"{label}: {arguments.plain_name(what)}"
        _check_name(name, arguments.plain_name(what), what, model)
        found.append(_series(name, what, entry, t_span))
    return found


def _columns(label: str, data: Any) -> dict[Any, Any]:
    """Each series by its name: a table has its times in the column "t"."""
    if hasattr(data, "columns") and hasattr(data, "__getitem__"):  # a data frame
        data = {str(name): np.asarray(data[name]) for name in data.columns}
        if TIMES not in data:
            raise ArgumentError(f"{label} has no column t with the times; it has {', '.join(data)}")
    if not isinstance(data, Mapping):
        raise ArgumentError(
            f"{label} = {arguments.short(data)}; a dict of name: (times, values) or (times, values, sigma), or a "
            "table with a column t is needed"
        )
    if TIMES not in data:
        return dict(data)
    return {name: (data[TIMES], values) for name, values in data.items() if name != TIMES}


def _check_name(label: str, name: str, what: Any, model: CompiledModel) -> None:
    if getattr(what, "free_symbols", None) and arguments.name_of(what) is None:
        return  # an expression: its names are checked when it is compiled
    if name not in model.quantities:
        raise ArgumentError(
            f"{label} is not a quantity of {model.name}; it has {', '.join(model.quantities)}"
            f"{arguments.nearest(name, model.quantities)}"
        )


def _series(label: str, what: Any, entry: Any, t_span: tuple[float, float]) -> DataSeries:
    if not isinstance(entry, (tuple, list)) or len(entry) not in (2, 3):
        raise ArgumentError(
            f"{label} = {arguments.short(entry)}; (times, values) or (times, values, sigma) is needed"
        )
    times = arguments.times(f"{label}: times", entry[0], *t_span)
    values = arguments.array(f"{label}: values", entry[1])
    if values.shape != times.shape or not times.size:
        raise ArgumentError(f"{label}: values has shape {values.shape} for times of shape {times.shape}")
    gaps = np.flatnonzero(~np.isfinite(values))
    if gaps.size:
        more = f", and {gaps.size - 1} more" if gaps.size > 1 else ""
        raise ArgumentError(
            f"{label}: values[{gaps[0]}] = {values[gaps[0]]} at t = {times[gaps[0]]:.6g}{more}; leave these "
            "samples out, with their times"
        )
    if len(entry) == 2:
        return DataSeries(what, times, values, np.ones_like(values), False)
    sigma = arguments.array(f"{label}: sigma", entry[2])
    if sigma.shape not in ((), values.shape):
        raise ArgumentError(f"{label}: sigma has shape {sigma.shape} for values of shape {values.shape}")
    sigma = np.broadcast_to(sigma, values.shape)
    if not (np.isfinite(sigma).all() and (sigma > 0).all()):
        raise ArgumentError(f"{label}: sigma must be positive and finite")
    return DataSeries(what, times, values, np.array(sigma), True)
