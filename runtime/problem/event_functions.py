"""Python functions as events of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from chaplygin.errors import ArgumentError

from ..interface import arguments
from ..interface.arguments import Array
from ..interface.messages import short


class EventFunction(NamedTuple):
    """A Python event of `integrate`: ends the run at its `limit`-th occurrence (0: never)."""

    call: Callable[[float, Array], Any]
    direction: float
    limit: float


def functions(events: Any) -> tuple[EventFunction, ...]:
    """The events, as in `solve_ivp`: one or several callables (t, y) with attributes `terminal`, `direction`."""
    if events is None:
        return ()
    if not callable(events) and (isinstance(events, (str, bytes)) or not isinstance(events, Iterable)):
        raise ArgumentError(
            f"events = {arguments.short(events)}: callables of (t, y) are needed; pass expressions to System or "
            "compile instead"
        )
    found = []
    for event in (
        (events,) if callable(events) else arguments.entries("events", events, "callables of (t, y)")
    ):
        if not callable(event):
            raise ArgumentError(
                f"events: {short(event)} cannot be called with (t, y); pass expressions to System or compile instead"
            )
        terminal = getattr(event, "terminal", None)
        limit = arguments.number(
            "events: terminal", int(terminal) if isinstance(terminal, bool) else terminal or 0
        )
        if limit < 0 or limit != int(limit):
            raise ArgumentError(
                f"events: terminal = {short(terminal)} must be a boolean or a positive integer"
            )
        direction = arguments.number("events: direction", getattr(event, "direction", 0) or 0)
        found.append(EventFunction(event, direction, limit))
    return tuple(found)


def value_of(result: Any, index: int, t: float) -> float:
    """The value of Python event `index` at time t: a finite number, or an array of one."""
    try:
        value = arguments.array("events", result)
    except ArgumentError:
        value = np.empty(0)
    if value.size != 1 or not np.isfinite(value).all():
        raise ArgumentError(
            f"events[{index}] returned {arguments.short(result)} at t = {t:.17g}; a finite number is needed"
        )
    return float(value.reshape(-1)[0])
