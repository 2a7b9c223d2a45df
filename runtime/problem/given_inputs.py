"""What a caller gives for the inputs, checked, and made into `Inputs`.

The tables of docs/declare.md list what that can be. Inputs that are not given are 0.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.assumptions import RATE, check_row
from .input_functions import InputFunction, Together
from .input_rates import followed, of_function, with_rates
from .inputs import Inputs
from .polynomials import Polynomial, polynomial
from .random_inputs import Path, RandomInput, without_path
from .sample_rows import SampleRows


def parse(value: Any, names: Sequence[str], count: int | None = None, flags: tuple[int, ...] = ()) -> Inputs:
    """Inputs from a dict by name, or a sequence in the order of `names`.

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
    signals: dict[int, Polynomial | SampleRows] = {}
    functions: dict[int, InputFunction] = {}
    given = specs(value, names, count, flags)
    for rows in followed(flags, [i for i in range(len(names)) if given[i] is not None]):
        made = _made([names[i] for i in rows], given[rows[0]], count)
        for i, each in zip(rows, made):
            if isinstance(each, InputFunction):
                functions[i] = each
            elif isinstance(each, (Polynomial, SampleRows)):
                signals[i] = each
            else:
                numbers[i] = each
    if count is not None:
        values = arguments.matrix("inputs", dict(zip(names, numbers)), names, count)
        if any(isinstance(signal, SampleRows) for signal in signals.values()):
            values = np.broadcast_to(arguments.wide(values), (len(names), count))
    else:
        values = np.array(numbers, dtype=np.float64)
    for i, bits in enumerate(flags):
        if bits and i in signals:
            signals[i].check(names[i], bits)
        elif bits and i not in functions:
            check_row("inputs", names[i], bits, values[i])
    _check_rates(names, flags, given, count)
    for rows in with_rates(flags):
        if rows[0] in signals:  # rates are needed even where something is given for them
            signals[rows[0]].with_rates([names[i] for i in rows[:2]])
    return Inputs(names, values, signals, functions, flags if any(flags) else ())


def _made(names: list[str], spec: Any, count: int | None) -> list[Any]:
    """An input and its rates: numbers, polynomials and functions."""
    if isinstance(spec, RandomInput):
        raise without_path(names[0], spec)
    sampled = _is_sampled(spec, count)
    rows = SampleRows.given_as(names[0], spec, count) if sampled else None
    if rows is not None:
        return list(rows.with_rates(names))
    if sampled or callable(spec):
        found = polynomial(names[0], spec)
        return list(of_function(names, spec) if found is None else found.with_rates(names))
    return [spec if count is not None else _number(names[0], spec), *[0.0] * (len(names) - 1)]


def _number(name: str, spec: Any) -> float:
    try:
        return arguments.number(f"inputs: {name}", spec)
    except ArgumentError as error:
        raise ArgumentError(f"{error}; give a number, samples (times, values) or a function f(t)") from None


def _is_sampled(spec: Any, count: int | None) -> bool:
    """Whether an entry has samples; in an ensemble, of `count`, a list has a number for each trajectory."""
    return isinstance(spec, (tuple, SampleRows)) or (count is None and isinstance(spec, list))


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
    if callable(value) and names and not isinstance(value, Mapping):
        own = with_rates(flags or (0,) * len(names))
        parts = iter(Together(value, [tuple(names[i] for i in rows) for rows in own]).parts())
        return [None if default is None else next(parts) for default in missing]
    given = arguments.named("inputs", {} if value is None else value)
    if given is not None:
        arguments.check_known("inputs", given, names)
        return [given.get(name, default) for name, default in zip(names, missing)]
    if isinstance(value, (str, bytes, set, frozenset)) or not isinstance(value, Iterable):
        raise ArgumentError(f"inputs must be a dict by name, or a sequence in the order {_order(names)}")
    if isinstance(value, np.ndarray) and value.ndim != 1 and (value.ndim != 2 or count is None):
        raise ArgumentError(f"inputs has shape {value.shape}; shape ({len(names)},) is needed")
    specs = arguments.entries("inputs", value, f"a dict by name, or a sequence in the order {_order(names)}")
    listed = entries_named(names, flags, specs)
    if len(specs) != len(listed):
        raise ArgumentError(
            f"inputs has {len(specs)} entries; {len(listed)} are needed, in the order {_order(listed)}"
        )
    by_name = dict(zip(listed, specs))
    return [by_name.get(name, default) for name, default in zip(names, missing)]


def entries_named(names: tuple[str, ...], flags: Sequence[int], values: Any) -> tuple[str, ...]:
    """The inputs whose entries a sequence has: all, or all but the rates if it is that long."""
    own = tuple(name for name, bits in zip(names, flags) if not bits & RATE)
    return own if own and hasattr(values, "__len__") and len(values) == len(own) else names


def is_function(name: str, spec: Any) -> bool:
    """Whether the entry of an input is a function that only Python evaluates."""
    return callable(spec) and polynomial(name, spec) is None


def _order(names: tuple[str, ...]) -> str:
    return f"({', '.join(names)})"


def named_with_rates(names: Sequence[str], flags: Sequence[int], named: Container[str]) -> list[int]:
    """The places of the inputs that are `named`, each with all of its rates. Raises ArgumentError for a rate alone."""
    chosen = [i for rows in with_rates(flags) if names[rows[0]] in named for i in rows]
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


def beyond(inputs: Inputs, t: float) -> Inputs:
    """The inputs with paths of noise that go on to the time t. Raises ArgumentError if it is before their start."""
    longer = {}
    for i, signal in inputs.signals.items():
        name, t0, path = inputs.names[i], signal.times[0], signal.given
        if isinstance(path, Path) and not t0 <= t < signal.times[-1]:
            if t < t0:
                raise ArgumentError(
                    f"inputs: {name} is noise from t = {t0:.17g} on, and t = {t:.17g} is before"
                )
            longer[name] = Path.of(path.noise, t0, t, path.place)
    return changed_inputs(inputs, longer, {}) if longer else inputs
