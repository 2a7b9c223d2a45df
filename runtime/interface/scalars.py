"""One value of a user's argument: a number, an integer, a word, a path."""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from chaplygin._lazy import pathlib
from chaplygin.errors import ArgumentError

from .messages import short

_LONG = 2**63
_LONGEST = 2**15
"""Characters of a path: Windows has at most one less, other systems fewer."""


def number(what: str, value: Any, *, finite: bool = True) -> float:
    """`value` as a float. Strings, complex numbers, arrays and NaN are rejected with an error that names `what`.

    >>> number("rtol", 1)
    1.0
    """
    # float() would accept a string, which is a mistake here.
    if type(value) is float and math.isfinite(value):
        return value
    if type(value) is int and -_LONG < value < _LONG:
        return float(value)
    if isinstance(getattr(value, "ndim", None), int) and value.ndim != 0:  # of NumPy, pandas, xarray ...
        raise ArgumentError(f"{what} has shape {value.shape}; one number is needed")
    numeric = hasattr(type(value), "__float__") or isinstance(value, numbers.Integral)
    if isinstance(value, (str, bytes, bytearray, memoryview)) or not numeric:
        raise ArgumentError(f"{what} = {short(value)} is not a real number")
    if is_masked(value):
        raise ArgumentError(f"{what} is masked")
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind not in "biufO":
        raise ArgumentError(f"{what} = {short(value)} is not a real number (dtype {value.dtype})")
    try:
        result = float(value)
    except Exception as error:
        raise ArgumentError(f"{what} = {short(value)} is not a real number") from error
    if finite and not math.isfinite(result):
        raise ArgumentError(f"{what} = {result} is not finite")
    return result


def positive_number(what: str, value: Any, *, finite: bool = True) -> float:
    """As `number`, above zero."""
    result = number(what, value, finite=finite)
    if not result > 0:
        raise ArgumentError(f"{what} = {short(value)} must be positive")
    return result


def is_integer(value: Any) -> bool:
    """Whether a value is an integer. True is none, nor is a duration of NumPy, whose type is derived from integers."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.timedelta64))


def text(what: str, value: Any) -> str:
    """Return `value` if it is a string; raise ArgumentError if not."""
    if not isinstance(value, str):
        raise ArgumentError(f"{what} = {short(value)} is not a string")
    return value


def boolean(what: str, value: Any) -> bool:
    """Return `value` if it is True or False; raise ArgumentError if not: a string such as "no" would be truthy."""
    if not isinstance(value, (bool, np.bool_)):
        raise ArgumentError(f"{what} = {short(value)} must be True or False")
    return bool(value)


def choice(what: str, given: Any, known: Iterable[str]) -> str:
    """Return `given` if it is one of the known words; raise ArgumentError if not."""
    known = tuple(known)
    if not isinstance(given, str) or given not in known:
        raise ArgumentError(f"{what} = {short(given)}: give one of {', '.join(map(repr, known))}")
    return given


def path(what: str, value: Any) -> pathlib.Path:
    """`value` as a path. Raises ArgumentError if it is no string or path, or no system could have it."""
    try:
        given = os.fspath(value)
        if isinstance(given, str) and len(given) < _LONGEST and b"\0" not in os.fsencode(given):
            return pathlib.Path(given)
    except Exception:  # not a path, or characters that cannot be encoded
        pass
    raise ArgumentError(
        f"{what} = {short(value)} must be a path, without NUL characters and shorter than {_LONGEST}"
    )


def is_masked(value: Any) -> bool:
    """Whether a value is masked, or an array has masked entries."""
    if type(value) is np.ndarray or not isinstance(value, np.ndarray):
        return False
    # Imported by whoever made a masked array. A module in `sys.modules` may still be importing in another thread; the
    # statement waits for it.

    return bool(np.ma.is_masked(value))
