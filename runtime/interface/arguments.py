"""Conversion of user arguments to float64 vectors: the slow path.

The compiled core handles plain float64 arrays and plain dicts of numbers itself and uses this module for everything
else: to convert what can be converted, and to report by name what is missing, unknown, of the wrong shape or not
finite.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from chaplygin._lazy import later
from chaplygin.errors import ArgumentError

from . import arguments
from .labels import by_name as by_name, name_of as name_of, named as named, refuse_names, tables_of
from .messages import ROOM, listed, short as short
from .scalars import (
    boolean as boolean,
    choice as choice,
    is_integer as is_integer,
    is_masked,
    number as number,
    path as path,
    positive_number as positive_number,
    text as text,
)

difflib = later("difflib")

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
else:
    Array = np.ndarray  # numpy.typing takes long to import


def sensitivity_control(value: Any, sensitivities: Any) -> bool:
    """The argument of this name, which can be False only with sensitivities."""
    found = boolean("sensitivity_control", value)
    if not found and sensitivities is None:
        raise ArgumentError(
            "sensitivity_control: the run has no sensitivities; name them by sensitivities=[...]"
        )
    return found


def array(what: str, value: Any, fits: Callable[[tuple[int, ...]], object] | None = None) -> Array:
    """`value` as a new C-ordered float64 array, not checked for finiteness.

    `fits` raises an error for a wrong shape, before anything is converted: the array can be larger than the memory.
    """
    if _is_bytes(value):
        raise ArgumentError(f"{what} = {short(value)} is not an array of real numbers")
    if is_masked(value):
        raise ArgumentError(f"{what} has masked entries")
    refuse_names(what, value)
    try:
        raw = np.asarray(value)
    except Exception as error:
        raise ArgumentError(f"{what} is not an array of real numbers: {error}") from error
    wrong = raw.dtype.kind not in "biufO" or _has_bytes(value, raw)
    if fits is not None and not wrong:
        fits(raw.shape)
    if raw.size > _MOST_REPEATED and 0 in raw.strides:
        raise ArgumentError(f"{what} has shape {raw.shape}, with the same values again and again")
    if wrong or (raw.dtype.kind == "O" and not _all_numbers(raw)):
        raise ArgumentError(f"{what} = {short(value)} is not an array of real numbers (dtype {raw.dtype})")
    try:
        return np.array(raw, dtype=np.float64, order="C")
    except Exception as error:
        raise ArgumentError(f"{what} is not an array of real numbers: {error}") from error


_MOST_REPEATED = 10**7
"""Entries of a broadcast array, which would be copied."""


def wide(values: Array) -> Array:
    """(n,) as one column (n, 1); (n, N) as it is."""
    return values[:, None] if values.ndim == 1 else values


def unchanged(what: str, value: Any) -> NDArray[Any]:
    """An array of plain numbers of any type unchanged; anything else converted by `array`."""
    plain = type(value) is np.ndarray and value.dtype.kind in "biuf"
    return value if plain else array(what, value)


def vector(kind: str, value: Any, names: Sequence[str], *, finite: bool = True) -> Array:
    """Convert `value`, by name or a sequence in the order of `names`, to a vector of shape ``(len(names),)``.

    Raises `ArgumentError` naming the entry that is missing, unknown, not a number, or not finite.

    >>> vector("parameters", {"m": 2, "J": 0.5}, ("m", "J"))
    array([2. , 0.5])
    """
    given = named(kind, {} if value is None else value)
    if given is not None:
        check_names(kind, given, names)
        return np.array(
            [number(f"{kind}: {name}", given[name], finite=finite) for name in names], dtype=np.float64
        )

    def fits(shape: tuple[int, ...]) -> None:
        if shape != (len(names),):
            turned = len(shape) == 2 and len(names) in shape
            hint = (
                "; for many runs at once use chaplygin.ensemble, with trajectories as columns"
                if turned
                else ""
            )
            raise ArgumentError(f"{kind} has shape {shape}; {_expected(names, f'({len(names)},)')}{hint}")

    result = array(kind, sequence(kind, value, names), fits)
    if finite:
        check_finite(kind, result, names)
    return result


def matrix(kind: str, value: Any, names: Sequence[str], count: int | None, *, finite: bool = True) -> Array:
    """Convert `value` to an array of shape ``(len(names), N)``, or ``(len(names),)`` if nothing varies.

    A dict can contain numbers and arrays of length N; an array has shape ``(len(names),)`` or ``(len(names), N)``.
    `count` is N if it is known, else None.
    """
    given = named(kind, {} if value is None else value)
    if given is not None:
        check_names(kind, given, names)
        rows = [unchanged(f"{kind}: {name}", given[name]) for name in names]
        for name, row in zip(names, rows):
            if row.ndim > 1:
                raise ArgumentError(
                    f"{kind}: {name} has shape {row.shape}; a number or a 1-D array is needed"
                )
            count = row.shape[0] if row.ndim == 1 and count is None else count
            if row.ndim == 1 and row.shape[0] != count:
                hint = "".join(f", a row of the table {table} for each run" for table in tables_of([name]))
                raise ArgumentError(f"{kind}: {name} has length {row.shape[0]}; {count} is needed{hint}")
        if all(row.ndim == 0 for row in rows):
            result = np.array([float(row) for row in rows], dtype=np.float64)
        else:
            result = np.empty((len(names), count or 0))
            for i, row in enumerate(rows):
                result[i] = row
    else:

        def fits(shape: tuple[int, ...]) -> None:
            wide = len(shape) == 2
            if shape[:1] != (len(names),) or len(shape) > 2 or (wide and count not in (None, shape[1])):
                wanted = f"({len(names)},) or ({len(names)}, {'N' if count is None else count})"
                turned = wide and shape[1] == len(names)
                hint = (
                    "; rows are variables and columns trajectories: give the transpose, array.T"
                    if turned
                    else ""
                )
                raise ArgumentError(f"{kind} has shape {shape}; {_expected(names, wanted)}{hint}")

        result = array(kind, sequence(kind, value, names), fits)
    if finite:
        check_finite(kind, result, names)
    return result


def span(value: Any) -> tuple[float, float]:
    """The two ends of the interval of integration."""
    if type(value) is tuple:
        ends: Sequence[Any] = value
    elif isinstance(value, (str, bytes, bytearray, Mapping, set, frozenset)) or not isinstance(
        value, Iterable
    ):
        raise ArgumentError(f"t_span = {short(value)} is not a pair (t0, t1)")
    else:
        refuse_names("t_span", value)
        ends = entries("t_span", value, "a pair (t0, t1)")
    if len(ends) != 2:
        raise ArgumentError(f"t_span has {len(ends)} entries; a pair (t0, t1) is needed")
    t0, t1 = number("t_span[0]", ends[0]), number("t_span[1]", ends[1])
    if not math.isfinite(t1 - t0):
        raise ArgumentError(
            f"t_span = ({t0:.17g}, {t1:.17g}) is too long: t1 - t0 exceeds the range of float64"
        )
    return t0, t1


def backward(what: str, right: str) -> ArgumentError:
    """The error for a backward run of a model with contacts: a body at rest does not tell when it stopped."""
    return ArgumentError(f"{what}: friction cannot be run backward; give {right}")


def no_duration(dt: float, t: float) -> ArgumentError:
    """The error for a stepper advanced from t by a duration dt that is too short or too long."""
    if math.isfinite(t + dt):
        return ArgumentError(f"dt = {dt:.17g} is too short: t = {t:.17g} does not change in float64")
    return ArgumentError(f"dt = {dt:.17g} is too long: t + dt exceeds the range of float64")


def times(what: str, value: Any, t0: float, t1: float) -> Array:
    """Times inside [t0, t1], strictly ordered from t0 to t1, as solve_ivp requires of `t_eval`."""

    def fits(shape: tuple[int, ...]) -> None:
        if len(shape) != 1:
            raise ArgumentError(f"{what} has shape {shape}; a 1-D array of times is needed")

    result = array(what, value, fits)
    bad = np.flatnonzero(~np.isfinite(result))
    if bad.size:
        raise ArgumentError(f"{what}[{bad[0]}] = {result[bad[0]]} is not finite")
    outside = np.flatnonzero((result < min(t0, t1)) | (result > max(t0, t1)))
    if outside.size:
        raise ArgumentError(
            f"{what}[{outside[0]}] = {result[outside[0]]:.17g} is outside t_span = ({t0:.17g}, {t1:.17g})"
        )
    unordered = np.flatnonzero(np.diff(result) * (1.0 if t1 >= t0 else -1.0) <= 0)
    if unordered.size:
        i = int(unordered[0])
        order = "increase" if t1 >= t0 else "decrease"
        raise ArgumentError(
            f"{what} must {order} strictly: entry {i} is {result[i]:.17g}, the next one {result[i + 1]:.17g}"
        )
    return result


_ELSEWHERE = {
    **dict.fromkeys(("rk45", "rk23", "dopri5", "dormandprince", "ode45", "rkf45", "ode23"), "tsit5"),
    **dict.fromkeys(
        ("radau", "bdf", "vode", "ode15s", "rosenbrock", "kvaerno5", "cvode", "cvodes"), "rodas5p"
    ),
    **dict.fromkeys(("lsoda", "ida"), "auto"),
    **dict.fromkeys(("dop", "dopri853", "ode78", "ode113"), "dop853"),
}
"""Methods of SciPy and others, and what to use instead."""


def unknown_method(method: Any, known: Mapping[str, Any]) -> ArgumentError:
    """The error for a method that is not one of `known`, suggesting the one that was probably meant."""
    if not isinstance(method, str):
        return ArgumentError(f"method = {short(method)} is not a string")
    if method == SERIES:
        return ArgumentError(
            f"method {method!r} is made from the equations of a model: compile it with methods=[{method!r}]"
        )
    close = difflib.get_close_matches(method.casefold(), known, 1, 0.9)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    instead = _ELSEWHERE.get(method.casefold(), "")
    if instead in known and not close:
        hint = f"; instead of {method} use {instead!r} ({known[instead].summary})"
    return ArgumentError(f"unknown method {short(method)}; known methods are {', '.join(known)}{hint}")


SERIES = "taylor"
"""The method that a model has only on request, and that needs the power series of its inputs."""


def no_series(names: Sequence[str]) -> ArgumentError:
    """The error for inputs that are functions, and Taylor's method."""
    return ArgumentError(
        f"method {SERIES!r} needs the power series of every input, and a function has none: {', '.join(names)}; give "
        "numbers or samples, or take another method"
    )


def no_jacobian(method: str, name: str) -> ArgumentError:
    """The error for an implicit method and a model without a Jacobian."""
    return ArgumentError(f"method {method!r} needs the Jacobian of the model, and {name} has none")


def unknown_quantity(given: Any, model: str, known: Sequence[str]) -> ArgumentError:
    """The error for ``sol[given]`` with an unknown name."""
    key = getattr(given, "name", given)
    if not isinstance(key, str):
        return ArgumentError(
            f"{short(given)} is not the name of a quantity of {model}; give one of {', '.join(known)}, or read "
            "the states in order from the array .y"
        )
    hint = nearest(key[:ROOM], known)
    return ArgumentError(f"{short(key)} is not a quantity of {model}; it has {', '.join(known)}{hint}")


def plain_name(key: Any) -> str:
    """The name of a key of ``sol[key]``: a string, or the name of a SymPy symbol."""
    return name_of(key) or short(key)


def plain_names(what: str, given: Any) -> tuple[str, ...]:
    """The names in `given`: a name, a symbol, or several of them."""
    if name_of(given) is not None:
        given = (given,)
    return tuple(map(plain_name, entries(what, given, "a list of names")))


_MOST_ENTRIES = 10**6
"""Of lists of names and the like; larger arrays, also broadcast ones, are mistakes, and slow to become lists."""


def entries(what: str, given: Any, right: str) -> list[Any]:
    """The entries of a list, a tuple, an array or another iterable, as a list; `right` says in errors what is needed.

    >>> entries("keep", ("x", "y"), "a list of names")
    ['x', 'y']
    """
    long = isinstance(given, np.ndarray) and given.ndim > 0 and len(given) > _MOST_ENTRIES
    if long or isinstance(given, (str, bytes, bytearray, Mapping)):
        raise ArgumentError(f"{what} = {short(given)}: give {right}")
    try:
        return list(given)
    except Exception as error:  # an array without axes is iterable by its type alone
        raise ArgumentError(f"{what} = {short(given)}: give {right}") from error


def unknown_entry(kind: str, unknown: Sequence[str], names: Sequence[str]) -> ArgumentError:
    """The error for entries of a dict that are not among `names`."""
    known = f"; known names are {', '.join(names)}" if names else "; the model has none"
    shown = listed(name[:ROOM] for name in unknown)
    kept = " (one that drops out of the equations is left out)" if kind.endswith("parameters") else ""
    return ArgumentError(f"{kind}: unknown {shown}{nearest(unknown[0][:ROOM], names) or known}{kept}")


def check_known(kind: str, given: Iterable[str], names: Collection[str]) -> None:
    """Reject unknown names."""
    unknown = [name for name in given if name not in names]
    if unknown:
        raise unknown_entry(kind, unknown, tuple(names))


def check_names(kind: str, given: Collection[str], names: Sequence[str]) -> None:
    """Reject missing and unknown names."""
    check_known(kind, given, names)
    missing = [name for name in names if name not in given]
    if missing:
        of_tables = ", ".join(f'"{table}": values' for table in tables_of(missing))
        hint = f"; interpolants={{{of_tables}}} gives values of tables" if of_tables else ""
        raise ArgumentError(f"{kind}: missing {', '.join(missing)}{hint}")


def check_finite(kind: str, value: Array, names: Sequence[str]) -> None:
    """Reject NaN and infinity in rows named `names`."""
    if np.isfinite(value).all():
        return
    where = np.argwhere(~np.isfinite(value))[0]
    column = f" at column {where[1]}" if len(where) > 1 else ""
    raise ArgumentError(f"{kind}: {names[where[0]]} = {value[tuple(where)]} is not finite{column}")


def refuse_dicts(kind: str, value: Any) -> None:
    """Reject a list of dicts: one dict of arrays is needed instead."""
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], Mapping):
        raise ArgumentError(
            f"{kind} is a {type(value).__name__} of dicts; give one dict: in a single run, a number for each name; in "
            "an ensemble, a number or an array with one number for each trajectory"
        )


def refuse_number(kind: str, value: Any, keyword: str, meaning: str) -> None:
    """Reject a number where values by name belong: it was probably meant for `keyword`."""
    if type(value) is not dict and isinstance(value, (numbers.Real, np.number)):
        given = short(value)
        raise ArgumentError(
            f"{kind} = {given} is a number; give a dict by name, or a vector. {meaning} is {keyword}={given}"
        )


def sequence(kind: str, value: Any, names: Sequence[str]) -> Any:
    """`value` if it can be an array; an iterable is converted to a list."""
    refuse_dicts(kind, value)
    if isinstance(value, (str, bytes, bytearray, set, frozenset)):
        raise ArgumentError(f"{kind} = {short(value)}; {_expected(names, f'({len(names)},)')}")
    if (
        isinstance(value, Iterable)
        and not isinstance(value, (np.ndarray, Sequence))
        and not hasattr(value, "__array__")
    ):
        return entries(kind, value, "a dict by name, or a vector")
    return value


def _expected(names: Sequence[str], shape: str) -> str:
    order = ", ".join(names) if len(names) <= 12 else ", ".join([*names[:10], "...", names[-1]])
    return f"shape {shape} is needed, in the order ({order}), or a dict by name"


def nearest(name: str, names: Sequence[str]) -> str:
    """`; did you mean ...?` for a name that is nearly one of `names`, else nothing."""
    close = difflib.get_close_matches(name, list(names), 1)
    return f"; did you mean {close[0]}?" if close else ""


def _is_bytes(value: Any) -> bool:
    return isinstance(value, (bytes, bytearray)) or (isinstance(value, memoryview) and value.format in "bBc")


def _has_bytes(value: Any, raw: NDArray[Any]) -> bool:
    """Whether a list contains bytes, of which NumPy makes a row of numbers."""
    return raw.ndim > 1 and isinstance(value, (list, tuple)) and any(map(_is_bytes, value))


def _all_numbers(raw: NDArray[Any]) -> bool:
    return all(
        entry.dtype.kind in "biuf"
        if isinstance(entry, np.generic)
        else hasattr(type(entry), "__float__") and not isinstance(entry, np.ndarray)
        for entry in raw.flat
    )


def positive(what: str, value: Any) -> int:
    """`value` if it is a positive integer; raise ArgumentError if not."""
    if not arguments.is_integer(value) or not 1 <= value < 2**48:
        raise ArgumentError(f"{what} = {arguments.short(value)} must be a positive integer below 2**48")
    return int(value)
