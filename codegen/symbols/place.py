"""`Entry`: a place of a declaration where an expression stands, and what the expression may contain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import sympy as sp

from chaplygin.runtime.interface.messages import short

from .symbols import Multiplier, Velocity

_OTHERWISE: Mapping[type[sp.Symbol], str] = {
    Velocity: " contains the velocity {0}; it must be a function of (t, x)",
    Multiplier: (
        ": unknown symbol {0.name!r}: multipliers can appear only in outputs, event guards and normal forces of "
        "contacts"
    ),
}
_OF_PLACES = (
    " contains {0}; f must be a function of (t, x): put relations between velocities into constraints"
)
_NO_MULTIPLIERS = " contains {0}; it must not contain multipliers"


@dataclass(frozen=True)
class Contents:
    """The kinds of symbols that an expression may contain besides the time, coordinates, parameters and inputs, and
    what the error says about any other. `order` is how often the equations differentiate it with respect to time."""

    kinds: tuple[type[sp.Symbol], ...] = ()
    otherwise: Mapping[type[sp.Symbol], str] = field(default_factory=dict)
    order: int = 0


CONTENTS = {
    "kinematics": Contents((Velocity,), order=1),
    "kinetic": Contents((Velocity,), order=1),
    "potential": Contents(
        (), {Velocity: " depends on velocities; V is a function of (t, x): move it to kinetic"}
    ),
    "forces": Contents((Velocity,)),
    "law": Contents((Velocity,)),
    "bodies": Contents(order=2),
    "interactions": Contents((Velocity,)),
    "constraints": Contents((Velocity,), order=1),
    "holonomic": Contents((), {Velocity: _OF_PLACES}, order=2),
    "holonomic.rate": Contents((Velocity,), order=1),
    "parametrization": Contents((Velocity,), order=1),
    "outputs": Contents((Velocity, Multiplier)),
    "contacts.slip": Contents((Velocity,), {Multiplier: _NO_MULTIPLIERS}, order=1),
    "contacts.normal": Contents((Velocity, Multiplier)),
    "contacts.mu": Contents((Velocity,), {Multiplier: _NO_MULTIPLIERS}),
    "events": Contents((Velocity, Multiplier)),
    "events.reset": Contents((Velocity,)),
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
        kind = next((kind for kind in (Velocity, Multiplier) if isinstance(s, kind)), None)
        if kind is None or kind in contents.kinds:
            return None
        return (contents.otherwise.get(kind) or _OTHERWISE[kind]).format(s)

    def __str__(self) -> str:
        text = self.argument if self.key is None else f"{self.argument}[{short(self.key)}]"
        if self.attribute:
            text += f" ({self.kind}): {self.attribute}" if self.kind else f".{self.attribute}"
        return text if self.index is None else f"{text}[{self.index}]"
