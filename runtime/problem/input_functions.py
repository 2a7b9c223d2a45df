"""Inputs that are functions f(t) or f(t, y), one for each or one for all."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from chaplygin._lazy import later
from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array

scipy = later("scipy")

NEEDED = "give f(t) or f(t, y), where y is the state vector"


class InputFunction:
    """A function of the caller, called as f(t) or f(t, y): which one is decided once, by its signature.

    The arguments that have no default count: one is f(t), two are f(t, y). So the interpolants of SciPy, whose calls
    have further options, are functions of the time, and in ``lambda t, k=k: ...`` k keeps its value. ``*args`` takes
    both. Where there is no signature, as of some functions written in C, f(t) is tried first, and f(t, y) if that
    raises a TypeError. What a function raises comes through, with a note that names the input and the time.
    """

    def __init__(self, name: str, given: Callable[..., Any]) -> None:
        self.name, self.given = name, given
        self.takes_state = _takes_state(name, given)

    def __call__(self, t: float, y: Array) -> Any:
        try:
            if self.takes_state is None:
                return self._tried(t, y)
            return self.given(t, y) if self.takes_state else self.given(t)
        except Exception as error:
            if hasattr(error, "add_note"):  # from Python 3.11 on
                error.add_note(f"inputs: {self.name} raised this at t = {t:.17g}")
            raise

    def _tried(self, t: float, y: Array) -> Any:
        """The first call of a function without a signature."""
        try:
            value, takes_state = self.given(t), False
        except TypeError as error:
            try:
                value, takes_state = self.given(t, y), True
            except TypeError:
                raise error from None
        self.takes_state = takes_state
        return value


def _takes_state(name: str, given: Callable[..., Any]) -> bool | None:
    """Whether a function is f(t, y), and not f(t); None if it does not tell."""
    if isinstance(given, np.ufunc):
        needed = given.nin
    else:
        try:
            parameters = inspect.signature(given).parameters.values()
        except (TypeError, ValueError):
            return None
        by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        positional = [each for each in parameters if each.kind in by_position]
        needed = sum(each.default is each.empty for each in positional)
        unnamed = any(each.kind == each.VAR_POSITIONAL for each in parameters)
        for each in parameters:
            if each.kind == each.KEYWORD_ONLY and each.default is each.empty:
                raise ArgumentError(f"inputs: {name} is a function that needs {each.name}=; {NEEDED}")
        if not positional and not unnamed:
            raise ArgumentError(f"inputs: {name} is a function without arguments; {NEEDED}")
        if unnamed and needed <= 2:
            return True
    if needed > 2:
        raise ArgumentError(f"inputs: {name} is a function of {needed} arguments; {NEEDED}")
    return needed == 2


class Together:
    """One function of the caller for all inputs, which returns a vector in their order, or a dict by name.

    `own` are the inputs in their order, each with the names of its rates, which the function may leave out.
    """

    def __init__(self, given: Callable[..., Any], own: Sequence[tuple[str, ...]]) -> None:
        self.given, self.own = InputFunction("inputs", given), tuple(own)
        self._last: tuple[float, bytes, dict[str, Any]] | None = None

    def parts(self) -> list[Callable[..., Any]]:
        """The function of each input: of a spline of vectors its entry, which tells its rates."""
        if callable(getattr(self.given.given, "derivative", None)):
            entries = entries_of(self.given.given, [names[0] for names in self.own])
            if entries is not None:
                return entries
        entry = self.at if self.given.takes_state is False else self.entry
        return [partial(entry, names) for names in self.own]

    def entry(self, names: Sequence[str], t: float, y: Array) -> Any:
        """An input at t and y, with those of its rates that are told."""
        found = self(t, y)
        value = found.get(names[0], 0.0)
        told = [found[name] for name in names[1:] if name in found]
        return (value, *told) if told else value

    def at(self, names: Sequence[str], t: float) -> Any:
        """The same of a function of the time."""
        return self.entry(names, t, np.empty(0))

    def __call__(self, t: float, y: Array) -> dict[str, Any]:
        """What the function returns at t and y, by name."""
        last, key = self._last, y.tobytes()
        if last is None or last[0] != t or last[1] != key:
            self._last = last = t, key, self._by_name(t, self.given(t, y))
        return last[2]

    def _by_name(self, t: float, found: Any) -> dict[str, Any]:
        where = f"inputs at t = {t:.17g}"
        known = tuple(name for names in self.own for name in names)
        given = arguments.named(where, found)
        if given is not None:
            arguments.check_known(where, given, known)
            return given
        first = tuple(names[0] for names in self.own)
        entries = [found] if np.ndim(found) == 0 else list(found)
        names = first if len(entries) == len(first) else known
        if len(entries) != len(names):
            raise _miscounted(t, len(entries), first)
        return dict(zip(names, entries))


def _miscounted(t: float, count: int, names: Sequence[str]) -> ArgumentError:
    return ArgumentError(
        f"inputs at t = {t:.17g}: the function returns {count} entries; {len(names)} are needed, in the order "
        f"({', '.join(names)}), or a dict by name"
    )


def entries_of(spline: Any, names: Sequence[str]) -> list[Callable[..., Any]] | None:
    """The entries of a spline of vectors with one for each name, each a spline; None if it has another number.

    Of what has a method `derivative` and is no spline of SciPy's, the number is only known when it is called.
    """
    ppoly, bspline = scipy.interpolate.PPoly, scipy.interpolate.BSpline
    if not isinstance(spline, (ppoly, bspline)):
        return [InputEntry(spline, names, i) for i in range(len(names))]
    axes = 2 if isinstance(spline, ppoly) else 1  # of the coefficients of one number
    shape = spline.c.shape
    if shape[axes:] != (len(names),) and (shape[axes:] or len(names) > 1):
        return None
    found: list[Callable[..., Any]] = []
    for column in np.moveaxis(spline.c.reshape(*shape[:axes], len(names)), -1, 0):
        c = np.ascontiguousarray(column)
        if axes == 2:
            found.append(ppoly.construct_fast(c, spline.x, spline.extrapolate))
        else:
            found.append(bspline.construct_fast(spline.t, c, spline.k, spline.extrapolate))
    return found


class InputEntry:
    """An entry f(t) of a function that returns vectors and tells its derivatives."""

    def __init__(self, of: Any, names: Sequence[str], index: int) -> None:
        self._of, self._names, self._index = of, tuple(names), index

    def __call__(self, t: float) -> Any:
        found = np.atleast_1d(self._of(t))
        if len(found) != len(self._names):
            raise _miscounted(t, len(found), self._names)
        return found[self._index]

    def derivative(self, order: int) -> InputEntry:
        """That of the entry."""
        return InputEntry(self._of.derivative(order), self._names, self._index)
