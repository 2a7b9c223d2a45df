"""Inputs of a run: numbers, sampled signals and functions, prepared once and evaluated anywhere.

An input is one of

- a number, constant over the whole run;
- ``(times, values)`` or ``(times, values, "zoh")``: each value is held until the next sample;
- ``(times, values, "linear")``: linear interpolation between the samples;
- ``(times, values, "cubic")``, or `cubic` of the two: a cubic spline, a function of the time;
- a function ``f(t)`` or ``f(t, y)`` that returns a number; y is the state vector. The arguments without a default
  decide which, see `InputFunction`: splines of SciPy are f(t).

The first value holds before the first sample, the last one after the last sample. Two samples at the same time are a
jump. The integrator ends a step at each sample that is held or linear, so that jumps and kinks do not reduce the
accuracy.

One function f(t) or f(t, y) can give all inputs: it returns a vector in their order, or a dict by name. Inputs that are
not given are 0.

Where the equations of a model contain the rate of an input, that is an input too, and follows from what is given for
the input: see `input_rates`.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array
from ..interface.assumptions import RATE, check_row
from ..interface.messages import short, written
from .input_functions import Cubic, InputFunction, Together, samples_of, spline
from .input_rates import (
    Derivative,
    Polynomials,
    check_held,
    moved_from,
    of_cubic,
    of_function,
    powers,
    slope_of_lines,
)

SLOPE_STEP, NARROWER, LEVELS = 8e-3, 1 / 8, 9
"""The distance of differences, as a part of a step, how it shrinks, how often at most; as in cg_evaluate.c."""
WEIGHTS = 25 / 12, -4.0, 3.0, -4 / 3, 1 / 4
"""Of values at equal distances, from the last one back, in its slope times that distance."""
CONSTANT, HOLD, LINEAR, CALL, CUBIC, MOVING = range(6)
"""Kinds of `enum cg_signal_kind` in cg_run.h."""


@dataclass(frozen=True, eq=False)
class Signal:
    """A sampled input: `kind` HOLD or LINEAR, times (k,) not decreasing, values (k,)."""

    kind: int
    times: Array
    values: Array

    @property
    def given(self) -> Any:
        """The samples as a caller gives them."""
        return self.times, self.values, "linear" if self.kind == LINEAR else "zoh"

    def at(self, t: Array, side: Any = "right") -> Array:
        """Values at times t (N,); at a sample that of later times, or with the side "left" of earlier ones."""
        index = np.searchsorted(self.times, t, side=side) - 1
        left = np.maximum(index, 0)
        held = self.values[left]
        if self.kind == HOLD:
            return held
        right = np.minimum(left + 1, len(self.times) - 1)
        width = self.times[right] - self.times[left]
        inside = (index >= 0) & (width > 0)
        fraction = np.where(inside, (t - self.times[left]) / np.where(width > 0, width, 1.0), 0.0)
        return np.asarray(held + fraction * (self.values[right] - held))

    def before(self, t: Array) -> Array:
        """Values at times t (N,); at a sample those of the times before it."""
        return self.at(t, "left")

    def slopes(self, t: Array, direction: float) -> Array:
        """The derivatives by the time at times t (N,); at a sample, those from which a run in this direction comes."""
        if self.kind != LINEAR:
            return np.zeros(t.shape)
        right = np.searchsorted(self.times, t, side="left" if direction > 0 else "right")
        inside = (right > 0) & (right < len(self.times))
        right = np.where(inside, right, 0)
        width = self.times[right] - self.times[right - 1]
        return np.where(
            inside, (self.values[right] - self.values[right - 1]) / np.where(inside, width, 1.0), 0.0
        )


@dataclass(frozen=True, eq=False)
class Inputs:
    """Inputs of one run: `values` (n,) or, in an ensemble, (n, N) contains the numbers, and 0 for inputs that vary."""

    names: tuple[str, ...]
    values: Array
    signals: Mapping[int, Signal | Polynomials]
    functions: Mapping[int, InputFunction]
    flags: tuple[int, ...] = ()
    """The assumptions about each input, see `assumptions`, and which are rates; () where no input has any."""
    start: float | None = None
    """The time from which the numbers of an ensemble move with their rates."""

    @property
    def specs(self) -> list[Any]:
        """The inputs of one run in the order of their names, as a caller gives them: see the module's docstring.

        None for a rate that follows from its input.
        """
        found: list[Any] = list(map(float, self.values))
        for rows in _with_rates(self.flags):
            if rows[0] in self.signals or rows[0] in self.functions:
                found[rows[0] : rows[-1] + 1] = [None] * len(rows)
        for i, signal in self.signals.items():
            found[i] = signal.given
        for i, function in self.functions.items():
            found[i] = function.given.given if isinstance(function.given, Derivative) else function.given
        return found

    @property
    def constant(self) -> bool:
        """Whether no input ever changes."""
        return not self.signals and not self.functions

    def at(self, t: Any, y: Array, left: NDArray[np.bool_] | None = None) -> Array:
        """u at time t: shape (n,) for a number t and y of shape (states,); (n, N) for t (N,) and y (states, N).

        At times where `left` (N,) is true, samples count from the next time on, else from their own.
        """
        moments = np.atleast_1d(np.asarray(t, dtype=np.float64))
        u = np.empty((len(self.names), len(moments)))
        u[:] = self.values if self.values.ndim == 2 else self.values[:, None]
        for index, signal in self.signals.items():
            u[index] = signal.at(moments)
            if left is not None and left.any():
                u[index, left] = signal.before(moments[left])
        if self.start is not None:
            for rows in self.moving:
                u[rows] = _moved(u[rows], moments - self.start)
        if self.functions:
            self.call_functions(moments, y.reshape(y.shape[0], -1), u)
        return np.ascontiguousarray(u[:, 0]) if np.ndim(t) == 0 else u

    @property
    def moving(self) -> list[range]:
        """The inputs that are numbers, with their rates, where one of these is a number other than 0."""
        if not self.flags:
            return []
        varying = {*self.signals, *self.functions}
        return [
            rows
            for rows in _with_rates(self.flags)
            if len(rows) > 1 and not varying.intersection(rows) and np.any(self.values[rows[1:]])
        ]

    def since(self, t0: float) -> Inputs:
        """The inputs of a run, or of the rest of one, from t0 on, where numbers begin to move with their rates."""
        moving = self.moving
        if not moving:
            return self
        if self.values.ndim == 2:
            return replace(self, start=t0)
        signals, values = dict(self.signals), self.values.copy()
        for rows in moving:
            signals |= zip(rows, moved_from(t0, list(map(float, values[rows]))))
            values[rows] = 0.0
        return Inputs(self.names, values, signals, self.functions, self.flags)

    def still(self) -> Inputs:
        """These inputs; raises ArgumentError if numbers move with their rates, as in runs that begin anew."""
        for rows in self.moving:
            u, rate = (self.names[rows[k]] for k in (0, 1))
            raise ArgumentError(
                f"inputs: {u} is a number, whose rate is 0, and {rate} is one too; give {u} as samples or as a function"
            )
        return self

    def ready(self, method: str, t0: float, t1: float) -> Inputs:
        """The inputs of a run from t0 to t1; raises ArgumentError if the method or that time does not suit them."""
        if self.constant and not self.moving:
            return self
        found = self.since(t0).suit(method)
        found.check_reach(t0, t1)
        return found

    def check_reach(self, t0: float, t1: float) -> None:
        """Raise ArgumentError if a run from t0 to t1 leaves the samples of an input whose second rate it needs."""
        for signal in self.signals.values():
            if isinstance(signal, Polynomials):
                low, high = signal.within
                if min(t0, t1) < low or max(t0, t1) > high:
                    raise ArgumentError(
                        f"inputs: {signal.name} has samples from t = {low:.17g} to {high:.17g}, and its value holds "
                        f"before and after them: its rate jumps there, but the model needs its second one; give "
                        f"samples from t = {min(t0, t1):.17g} to {max(t0, t1):.17g}"
                    )

    def of_time(self, t0: float, states: Array) -> Array:
        """u at the start where the states are not all known: functions of these count as 0."""
        rates = rated(self.flags)
        functions = {i: f for i, f in self.functions.items() if isinstance(f.given, Derivative) or i in rates}
        return Inputs(self.names, self.values, self.signals, functions, self.flags).first(
            t0, np.zeros_like(states)
        )

    def first(self, t0: float, x0: Array) -> Array:
        """u at the start of a run (n,), or of an ensemble with its states x0 (states, N)."""
        if self.constant or not self.functions:
            u: Array = self.values.copy()
            for index, signal in self.signals.items():
                u[index] = signal.at(np.array([t0]))[0]
            return u
        if x0.ndim == 1 and self.values.ndim == 2:
            x0 = np.repeat(x0[:, None], self.values.shape[1], axis=1)
        return self.at(t0 if x0.ndim == 1 else np.full(x0.shape[1], t0), x0)

    def slopes(self, t: Array, step: float, known: Any) -> Array:
        """The derivatives (n, N) by the times t (N,) of a run with steps about as long as `step` and in its direction.

        Those of functions of the time are differences into the past, since the time `known` (a number, or (N,)).
        """
        found = np.zeros((len(self.names), len(t)))
        for index, signal in self.signals.items():
            found[index] = signal.slopes(t, step)
        since = np.broadcast_to(known, t.shape).tolist()
        for index, function in self.functions.items():
            value = partial(self._value, index, function)
            found[index] = [_slope(value, *at) for at in zip(t.tolist(), [SLOPE_STEP * step] * len(t), since)]
        return found

    def _value(self, index: int, function: InputFunction, t: float) -> float:
        return self.number(index, t, function(t, np.empty(0)))

    def call_functions(self, t: Array, y: Array, u: Array) -> None:
        """Write the values of the input functions at times t (N,) and states y (n, N) to their rows of u.

        Where a state is not finite, as in failed trajectories, no function is called and the value is NaN.
        """
        known: list[bool] = np.atleast_1d(np.isfinite(y).all(axis=0)).tolist()
        for index, function in self.functions.items():
            for j, moment in enumerate(t.tolist()):
                u[index, j] = (
                    self.number(index, moment, function(moment, np.array(y[:, j]))) if known[j] else np.nan
                )

    def number(self, index: int, t: float, result: Any) -> float:
        """The checked result of an input function at time t."""
        value = arguments.number(f"inputs: {self.names[index]} at t = {t:.17g}", result)
        if self.flags and self.flags[index] & ~RATE:
            check_row("inputs", self.names[index], self.flags[index], value, f" at t = {t:.17g}")
        return value

    def checksum(self, first: int) -> int:
        """A checksum of the inputs that begins with `first`; of functions only what they are."""
        if not all(type(function) is InputFunction for function in self.functions.values()):
            raise TypeError("not a function")
        plain = self.names, self.values.shape, self.flags, *self.signals, *self.functions
        found = zlib.crc32(self.values.tobytes(), zlib.crc32(written(plain).encode(), first))
        for signal in self.signals.values():
            found = zlib.crc32(signal.times.tobytes(), zlib.crc32(repr(signal.kind).encode(), found))
            found = zlib.crc32(signal.values.tobytes(), found)
        return found

    def suit(self, method: str) -> Inputs:
        """These inputs; raises ArgumentError if the method cannot take them."""
        if self.functions and method == arguments.SERIES:
            raise arguments.no_series([self.names[i] for i in self.functions])
        curves = [self.names[i] for i, signal in self.signals.items() if isinstance(signal, Polynomials)]
        curves += [self.names[rows[0]] for rows in self.moving]
        if curves and method == arguments.SERIES:
            raise ArgumentError(
                f"method {method!r} takes inputs that are constant or linear in time, and {', '.join(curves)} are "
                "curves; take another method"
            )
        return self

    def part(self, first: int, last: int) -> Inputs:
        """The inputs of the trajectories first <= j < last of an ensemble."""
        values = self.values[:, first:last] if self.values.ndim == 2 else self.values
        return replace(self, values=values)

    def column(self, j: int) -> Inputs:
        """The inputs of trajectory j of an ensemble."""
        values = self.values[:, j].copy() if self.values.ndim == 2 else self.values
        return Inputs(self.names, values, self.signals, self.functions, self.flags)


def parse(value: Any, names: Sequence[str], count: int | None = None, flags: tuple[int, ...] = ()) -> Inputs:
    """Inputs from a dict by name, or a sequence in the order of `names`; see the module docstring for the formats.

    Inputs that are not in the dict are 0, and so are all of them if `value` is None. Unknown names are rejected.

    With `count`, the size of an ensemble, an input can also be an array with one number for each trajectory. `flags`
    are the assumptions about each input: values that violate them are rejected.

    >>> parse({"tau": ([0, 1], [2, 3])}, ("tau",)).at(0.5, np.zeros(1))
    array([2.])
    """
    names = tuple(names)
    if value is None and not names:
        return _NONE
    if isinstance(value, Inputs) and value.names == names:
        return value
    numbers: list[Any] = [0.0] * len(names)
    signals: dict[int, Signal | Polynomials] = {}
    functions: dict[int, InputFunction] = {}
    given = specs(value, names, count, flags)
    for rows in followed(flags, [i for i in range(len(names)) if given[i] is not None]):
        assumed = bool(flags) and bool(flags[rows[0]] & ~RATE)
        made = _made([names[i] for i in rows], given[rows[0]], count, assumed)
        for i, each in zip(rows, made):
            if isinstance(each, InputFunction):
                functions[i] = each
            elif isinstance(each, (Signal, Polynomials)):
                signals[i] = each
            else:
                numbers[i] = each
    if count is not None:
        values = arguments.matrix("inputs", dict(zip(names, numbers)), names, count)
    else:
        values = np.array(numbers, dtype=np.float64)
    for i, bits in enumerate(flags):
        if bits and i in signals:
            check_row("inputs", names[i], bits, signals[i].values)
        elif bits and i not in functions:
            check_row("inputs", names[i], bits, values[i])
    _check_rates(names, flags, given, count)
    for rows in _with_rates(flags):
        signal = signals.get(rows[0])
        if len(rows) > 1 and isinstance(signal, Signal) and signal.kind == HOLD:
            check_held([names[i] for i in rows], signal.times, signal.values)
    return Inputs(names, values, signals, functions, flags if any(flags) else ())


def _with_rates(flags: Sequence[int]) -> list[range]:
    """Each input with all of its rates."""
    return followed(flags, [i for i, bits in enumerate(flags) if not bits & RATE])


def rated(flags: Sequence[int]) -> set[int]:
    """The inputs that have rates, or are rates."""
    return {i for rows in _with_rates(flags) if len(rows) > 1 for i in rows}


def _moved(derivatives: Array, s: Array) -> Array:
    """Numbers and their rates (k, N), after times s (N,)."""
    found: Array = derivatives.copy()
    for i in range(len(found)):
        a, b, c, d = powers(derivatives[i:])
        found[i] = a + s * (b + s * (c + s * d))
    return found


def followed(flags: Sequence[int], given: Sequence[int]) -> list[range]:
    """The inputs that are given, each with the rates after it that are not: they follow from it."""
    ends = [*given[1:], len(flags)] if flags else [i + 1 for i in given]
    return [range(i, end) for i, end in zip(given, ends)]


def _made(names: list[str], spec: Any, count: int | None, assumed: bool) -> list[Any]:
    """An input and its rates: numbers, signals and functions. `assumed`: each value of it is to be checked."""
    rates: list[Any] = [0.0] * (len(names) - 1)
    if _is_sampled(spec, count):
        spec = _sampled(names[0], spec)
    if isinstance(spec, Signal):
        if rates and spec.kind != HOLD:
            rates[0] = slope_of_lines(names, spec.times, spec.values)
        return [spec, *rates]
    if callable(spec):
        if not rates:
            return [InputFunction(names[0], spec)]
        found = list(of_cubic(names, spec) if isinstance(spec, Cubic) else of_function(names, spec))
        if assumed and isinstance(found[0], Polynomials):
            found[0] = InputFunction(names[0], spec)
        return found
    return [spec if count is not None else arguments.number(f"inputs: {names[0]}", spec), *rates]


def _is_sampled(spec: Any, count: int | None) -> bool:
    """Whether an entry has samples; in an ensemble, of `count`, a list has a number for each trajectory."""
    return isinstance(spec, tuple) or (count is None and isinstance(spec, list))


_KIND = {True: "is a number", False: "varies"}


def _check_rates(
    names: tuple[str, ...], flags: Sequence[int], given: Sequence[Any], count: int | None
) -> None:
    """Refuse a rate that is a number where its input varies, which it follows from, or the other way round."""
    varies = False
    for i, bits in enumerate(flags):
        number = not (callable(given[i]) or _is_sampled(given[i], count))
        if not bits & RATE:
            varies, own = not number, names[i]
        elif given[i] is not None and varies is number:
            raise ArgumentError(
                f"inputs: {names[i]} {_KIND[number]}, but {own} {_KIND[not varies]}; "
                + (
                    f"leave {names[i]} out: it follows from {own}"
                    if varies
                    else f"give {own} as samples or a function, and leave {names[i]} out: it follows"
                )
            )


def _slope(f: Callable[[float], float], t: float, apart: float, known: float) -> float:
    """The derivative of f at t by differences of the fourth order into the past, or the future if that is not known.

    They begin `apart`, with the sign of the direction, and come closer while that makes them more accurate: what f
    does may be faster than the steps of a run are on average.
    """
    found, least, before = math.nan, math.inf, math.nan
    for level in range(LEVELS):
        h = apart * NARROWER**level
        back = h if (t - 4 * h - known) * h >= 0 else -h
        back = t - (t - back)  # the distance of numbers that there are
        if back == 0:
            break
        values = [f(t - k * back) for k in range(5)]
        slope = sum(w * value for w, value in zip(WEIGHTS, values)) / back
        rounding = 4 * np.finfo(float).eps * max(map(abs, values)) / abs(h)
        error = max(rounding, abs(slope - before)) if level else math.inf
        if error < least or not level:
            found, least = slope, error
        if rounding >= least:
            break
        before = slope
    return found


_NONE = Inputs((), np.zeros(0), {}, {})
"""The inputs of a model without inputs."""


def specs(value: Any, names: tuple[str, ...], count: int | None, flags: Sequence[int] = ()) -> list[Any]:
    """The entry of each input, in the order of `names`; those of an ensemble of `count` can be an array (n, count).

    Those that are not given are 0, or None for rates, as told by `flags`: they follow from their inputs. A sequence can
    leave all rates out.
    """
    found = _specs(value, names, count, flags)
    for name, spec, bits in zip(names, found, flags or (0,) * len(names)):
        if spec is None and not bits & RATE:
            arguments.number(f"inputs: {name}", spec)
    return found


def _specs(value: Any, names: tuple[str, ...], count: int | None, flags: Sequence[int]) -> list[Any]:
    missing = [None if bits & RATE else 0.0 for bits in flags] or [0.0] * len(names)
    if callable(value) and not isinstance(value, Mapping):
        own = _with_rates(flags or (0,) * len(names))
        parts = iter(Together(value, [tuple(names[i] for i in rows) for rows in own]).parts())
        return [None if default is None else next(parts) for default in missing]
    given = arguments.named("inputs", {} if value is None else value)
    if given is not None:
        unknown = [name for name in given if name not in names]
        if unknown:
            raise arguments.unknown_entry("inputs", unknown, names)
        return [given.get(name, default) for name, default in zip(names, missing)]
    if isinstance(value, (str, bytes, set, frozenset)) or not isinstance(value, Iterable):
        raise ArgumentError(f"inputs must be a dict by name, or a sequence in the order {_order(names)}")
    if isinstance(value, np.ndarray) and value.ndim != 1 and (value.ndim != 2 or count is None):
        raise ArgumentError(f"inputs has shape {value.shape}; shape ({len(names)},) is needed")
    specs = arguments.entries("inputs", value, f"a dict by name, or a sequence in the order {_order(names)}")
    if len(specs) == missing.count(0.0) < len(names):
        each = iter(specs)
        return [None if default is None else next(each) for default in missing]
    if len(specs) != len(names):
        raise ArgumentError(
            f"inputs has {len(specs)} entries; {len(names)} are needed, in the order {_order(names)}"
        )
    return specs


def is_function(spec: Any) -> bool:
    """Whether the entry of an input is a function or a cubic spline, which only Python evaluates."""
    return callable(spec) or (
        isinstance(spec, tuple) and len(spec) == 3 and isinstance(spec[2], str) and spec[2] == "cubic"
    )


def _sampled(name: str, spec: Sequence[Any]) -> Signal | Cubic:
    if len(spec) not in (2, 3):
        raise ArgumentError(
            f"inputs: {name} has {len(spec)} entries; give (times, values) or (times, values, 'linear')"
        )
    kind = spec[2] if len(spec) == 3 else "zoh"
    if not isinstance(kind, str) or kind not in ("zoh", "linear", "cubic"):
        raise ArgumentError(f"inputs: {name} is sampled with {short(kind)}; give 'zoh', 'linear' or 'cubic'")
    if kind == "cubic":
        return spline(f"inputs: {name}", spec[0], spec[1])
    moments, samples = samples_of(f"inputs: {name}", spec[0], spec[1])
    return Signal(LINEAR if kind == "linear" else HOLD, moments, samples)


def _order(names: tuple[str, ...]) -> str:
    return f"({', '.join(names)})"


def named_with_rates(names: Sequence[str], flags: Sequence[int], named: Container[str]) -> list[int]:
    """The places of the inputs that are `named`, each with all of its rates. Raises ArgumentError for a rate alone."""
    chosen = [i for rows in _with_rates(flags) if names[rows[0]] in named for i in rows]
    for i, name in enumerate(names):
        if name in named and i not in chosen:
            raise ArgumentError(
                f"set_inputs: {name} is the rate of another input, which is not named; name both"
            )
    return chosen


def changed_inputs(before: Inputs, values: Any, named: Mapping[str, Any]) -> Inputs:
    """The inputs after `set_inputs`: a vector replaces all of them, a dict or keywords only the named ones."""
    names = before.names
    given = arguments.named("inputs", {} if values is None else values)
    if given is None:
        if named:
            raise ArgumentError("set_inputs takes a vector or names, not both")
        return parse(values, names, flags=before.flags)
    changed = given | dict(named)
    unknown = [name for name in changed if name not in names]
    if unknown:
        arguments.check_names("inputs", unknown, names)
    flags = before.flags or (0,) * len(names)
    chosen = named_with_rates(names, flags, changed)
    part = parse(changed, tuple(names[i] for i in chosen), flags=tuple(flags[i] for i in chosen))
    numbers, signals, functions = before.values.copy(), dict(before.signals), dict(before.functions)
    for position, index in enumerate(chosen):
        signals.pop(index, None)
        functions.pop(index, None)
        numbers[index] = part.values[position]
        if position in part.signals:
            signals[index] = part.signals[position]
        if position in part.functions:
            functions[index] = part.functions[position]
    return Inputs(names, numbers, signals, functions, before.flags)
