"""`Event`: a condition to locate during a run, and what happens to the state there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import sympy as sp

from chaplygin.runtime.interface.messages import short

from ..graph.from_sympy import function_of_time, is_function_of_time
from ..graph.graph import Node
from ..symbols import values as checks
from ..symbols.place import Entry
from ..symbols.symbols import Coordinate, DeclarationError, Input, Parameter, Velocity, check_name


@dataclass(frozen=True, eq=False)
class Event:
    """A zero of a guard g(t, x, eta, p, u), located to the accuracy of the method, and what happens there.

    Parameters
    ----------
    expr : the guard, a SymPy expression in declared coordinates, velocities, parameters, inputs and the time. In the
        form `multipliers` it can contain the multipliers of constraints (`chaplygin.multiplier`).
    direction : 1 if the guard must rise through zero, -1 if it must fall, 0 for both.
    terminal : whether the run ends there.
    reset : {coordinate or velocity: expression}, the state after the event in terms of the state before it; variables
        not named keep their values. The reset must satisfy the constraints: the new state is not projected, and
        off them the run ends with status -14.
    when : a condition, as ``x < 0`` or ``sympy.And(x < 0, v > 0)``, in what the guard may contain: the event occurs
        only where it holds on the side from which the motion comes, before the reset. A crossing where it does not hold
        does not count, and the event does not occur if the condition becomes true while the guard is beyond zero.
    name : a plain identifier; by default `event_1`, `event_2` ... by position.

    Simultaneous events happen in the order in which they are declared.

    A guard that is zero to rounding is on the side to which the motion takes it first. If its event has a reset and a
    direction, leaving zero in that direction is an event, at the start and after other events as well: a ball that
    starts on the ground with a downward velocity bounces. A guard that stays at zero keeps its side, so that the event
    occurs when a later load or input pushes it through. A guard that is zero because a contact sticks has no side: an
    event on its slip velocity occurs where the slip ends, and not again where the next slip begins.

    Events accumulate where the motion goes straight back after the event's own reset, or where the times between
    events shrink until they are not resolved. The run then ends with status -9, at their limit:
    ``Event(x - 1, direction=1, reset={v: 0})`` with a force that pushes on does so when x reaches 1. Let such an event
    end the run (``terminal=True``), and go on with a model of the rest. A reset to a small positive speed says "stopped
    once, then driven on".

    Raises
    ------
    DeclarationError : naming the entry.

    >>> import chaplygin as cg
    >>> y = cg.coordinates("y")
    >>> e = cg.parameters("e")
    >>> cg.Event(y, direction=-1, reset={cg.rate(y): -e * cg.rate(y)}, name="bounce")
    Event(y, direction=-1, terminal=False, reset={y_dot: -e*y_dot}, name='bounce')
    """

    expr: Any
    direction: int = 0
    terminal: bool = False
    reset: Mapping[sp.Symbol, Any] | None = None
    name: str | None = None
    when: Any = None

    def __post_init__(self) -> None:
        where = f"Event {short(self.name)}" if self.name is not None else f"Event({short(self.expr)})"
        if self.name is not None:
            check_name(self.name, "event")
        if type(self.direction) is not int or self.direction not in (-1, 0, 1):
            raise DeclarationError(f"{where}: direction = {short(self.direction)}; give -1, 0 or 1")
        if not isinstance(self.terminal, (bool, int)) or self.terminal not in (False, True):
            raise DeclarationError(f"{where}: terminal = {short(self.terminal)}; give True or False")
        object.__setattr__(self, "direction", int(self.direction))
        object.__setattr__(self, "terminal", bool(self.terminal))
        object.__setattr__(self, "expr", checks.scalar(f"{where}: expr", self.expr))
        if all(isinstance(s, Parameter) for s in self.expr.free_symbols):
            raise DeclarationError(
                f"{where}: expr = {self.expr} does not change during a run, so it never passes through zero; give an "
                "expression in coordinates, velocities, inputs or the time"
            )
        if self.when is not None:
            object.__setattr__(self, "when", checks.condition(f"{where}: when", self.when))
        if self.reset is not None:
            if not isinstance(self.reset, Mapping):
                raise DeclarationError(
                    f"{where}: reset is {type(self.reset).__name__}; give a dict {{variable: expression}}"
                )
            if not self.reset:
                raise DeclarationError(f"{where}: reset is empty; name what changes, or leave reset out")
            for key in self.reset:
                if isinstance(key, str):
                    raise DeclarationError(f"{where}: reset: use the symbol {key} as a key, not its name")
                if not isinstance(key, (Coordinate, Velocity)) and not is_function_of_time(key):
                    constant = ""
                    if isinstance(key, (Parameter, Input)):
                        constant = (
                            f" but {'a parameter' if isinstance(key, Parameter) else 'an input'}, which no event sets; "
                            f"declare a coordinate of rate 0 in its place, kinematics={{..., {key}: 0}} with "
                            f"{key} = coordinates({str(key)!r}), whose initial value is set for each run"
                        )
                    raise DeclarationError(
                        f"{where}: reset: {key!s} is not the symbol of a coordinate or velocity{constant}"
                    )
            made = {k: checks.scalar(f"{where}: reset[{k}]", v) for k, v in self.reset.items()}
            object.__setattr__(self, "reset", MappingProxyType(made))

    def __reduce__(self) -> tuple[Any, ...]:
        reset = None if self.reset is None else dict(self.reset)
        return Event, (self.expr, self.direction, self.terminal, reset, self.name, self.when)

    def __repr__(self) -> str:
        reset = dict(self.reset) if self.reset is not None else None
        return (
            f"Event({self.expr}, direction={self.direction}, terminal={self.terminal}, reset={reset}, "
            f"name={self.name!r}" + (")" if self.when is None else f", when={self.when})")
        )


@dataclass(frozen=True)
class EventNodes:
    """An event in a graph: its guard, and the new values of the variables that its reset names."""

    name: str
    direction: int
    terminal: bool
    guard: Node
    reset: Mapping[sp.Symbol, Node]
    when: Node | None
    """1 where its condition holds, 0 elsewhere; None without one."""

    @property
    def expressions(self) -> tuple[Node, ...]:
        """All of its nodes."""
        return (self.guard, *self.reset.values(), *(() if self.when is None else (self.when,)))


def named(given: Any) -> tuple[Event, ...]:
    """The events of a system, each with a name."""
    advice = "chaplygin.Event(expression, ...); Python functions of (t, y) go to integrate(events=...)"
    found = [
        replace(event, name=event.name or f"event_{i}")
        for i, event in enumerate(checks.instances("events", given, Event, advice), start=1)
    ]
    checks.distinct("events", [event.name for event in found])
    for event in found:
        for key in event.reset or {}:
            if is_function_of_time(key):  # which from_sympy alone takes
                raise DeclarationError(
                    f"{Entry('events', event.name, 'reset', key)}: {function_of_time(key)}"
                )
    return tuple(found)


def entries(events: Sequence[Event]) -> list[tuple[Entry, Any]]:
    """Every expression of the events with its place."""
    found: list[tuple[Entry, Any]] = []
    for event in events:
        found.append((Entry("events", event.name), event.expr))
        found += [(Entry("events", event.name, "reset", k), v) for k, v in (event.reset or {}).items()]
        if event.when is not None:
            holds = sp.Piecewise((1, event.when), (0, True), evaluate=False)
            found.append((Entry("events", event.name, "when"), holds))
    return found


def event_nodes(events: Sequence[Event], value: Mapping[Entry, Node]) -> tuple[EventNodes, ...]:
    """The events with the nodes of their expressions, which `value` has by entry."""
    return tuple(
        EventNodes(
            str(e.name),
            e.direction,
            e.terminal,
            value[Entry("events", e.name)],
            {k: value[Entry("events", e.name, "reset", k)] for k in e.reset or {}},
            None if e.when is None else value[Entry("events", e.name, "when")],
        )
        for e in events
    )
