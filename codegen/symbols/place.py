"""`Entry`: a place of a declaration where an expression stands, and what the expression may contain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import sympy as sp

from chaplygin.runtime.interface.messages import short

from .symbols import Input, Multiplier, Velocity

_OTHERWISE: Mapping[type[sp.Symbol], str] = {
    Velocity: " contains the velocity {0}; it must be a function of (t, x)",
    Input: (
        " contains the input {0.name!r}; use inputs only in potential, forces, interactions, contacts, events and "
        "outputs: elsewhere their rates would enter the equations"
    ),
    Multiplier: (
        ": unknown symbol {0.name!r}: multipliers can appear only in outputs, event guards and normal forces of "
        "contacts"
    ),
}
_OF_PLACES = (
    " contains {0}; f must be a function of (t, x): put relations between velocities into constraints"
)
_IN_KINEMATICS = (
    " contains the input {0.name!r}: its rate would enter the equations of the velocities; inputs can stand here only "
    "if they take the place of all velocities"
)
_NO_MULTIPLIERS = " contains {0}; it must not contain multipliers"


@dataclass(frozen=True)
class Contents:
    """The kinds of symbols that an expression may contain besides the time, coordinates and parameters, and what the
    error says about any other."""

    kinds: tuple[type[sp.Symbol], ...] = ()
    otherwise: Mapping[type[sp.Symbol], str] = field(default_factory=dict)


CONTENTS = {
    "kinematics": Contents((Velocity,), {Input: _IN_KINEMATICS}),
    "kinetic": Contents((Velocity,)),
    "potential": Contents(
        (Input,), {Velocity: " depends on velocities; V is a function of (t, x): move it to kinetic"}
    ),
    "forces": Contents((Velocity, Input)),
    "law": Contents((Velocity, Input)),
    "bodies": Contents(),
    "interactions": Contents((Velocity, Input)),
    "constraints": Contents((Velocity,)),
    "holonomic": Contents((), {Velocity: _OF_PLACES, Input: _OF_PLACES}),
    "holonomic.rate": Contents((Velocity, Input)),  # refused in the equation itself
    "parametrization": Contents((Velocity,)),
    "outputs": Contents((Velocity, Input, Multiplier)),
    "contacts.slip": Contents(
        (Velocity,),
        {
            Input: " contains {0}; it must not contain inputs, since their rates would enter the equations",
            Multiplier: _NO_MULTIPLIERS,
        },
    ),
    "contacts.normal": Contents((Velocity, Input, Multiplier)),
    "contacts.mu": Contents((Velocity, Input), {Multiplier: _NO_MULTIPLIERS}),
    "events": Contents((Velocity, Input, Multiplier)),
    "events.reset": Contents((Velocity, Input)),
}
"""What the arguments of a `System`, or attributes of their items, may contain."""


@dataclass(frozen=True)
class Entry:
    """A place of a declaration; as text, its name in messages.

    >>> print(Entry("kinetic"), Entry("constraints", 0), Entry("events", "floor", "reset", sp.Symbol("v")))
    kinetic constraints[0] events['floor'].reset[v]
    """

    argument: str
    key: Any = None
    attribute: str = ""
    index: Any = None
    kind: str = ""
    """The kind of an item that has no name."""

    @property
    def contents(self) -> Contents:
        own = f"{self.argument}.{self.attribute}"
        return CONTENTS[own if own in CONTENTS else self.argument]

    @property
    def of_mechanism(self) -> bool:
        """Whether it belongs to a body or to an interaction."""
        return self.argument in ("bodies", "interactions")

    def refusal(self, s: sp.Symbol) -> str | None:
        """What is wrong with a symbol here, to be read after the entry; None if it may stand here."""
        contents = self.contents
        kind = next((kind for kind in (Velocity, Input, Multiplier) if isinstance(s, kind)), None)
        if kind is None or kind in contents.kinds:
            return None
        return (contents.otherwise.get(kind) or _OTHERWISE[kind]).format(s)

    def __str__(self) -> str:
        text = self.argument if self.key is None else f"{self.argument}[{short(self.key)}]"
        if self.attribute:
            text += f" ({self.kind}): {self.attribute}" if self.kind else f".{self.attribute}"
        return text if self.index is None else f"{text}[{self.index}]"
