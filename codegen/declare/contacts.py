"""`Coulomb`: a contact with dry friction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..graph.graph import Node
from ..symbols import values
from ..symbols.place import Entry
from ..symbols.symbols import DeclarationError, check_name


@dataclass(frozen=True, eq=False)
class Coulomb:
    """A contact with Coulomb friction: T = -mu |N| sgn v while it slips, |T| <= mu |N| while it sticks.

    The friction force T acts along the slip velocity v = s_0(t, x) + s_a(t, x) eta_a, so that its generalised forces
    are T s_a and its power is T v (with a moving support, the drive of the support supplies T s_0).

    Other forces that jump with the sign of v along it, -c s_a sign(v), add c to the friction that holds the slip at
    zero: it sticks while |T| <= mu |N| + c, where T then is the sum of both, but for the mean of the two sides of the
    jump. N and mu may jump with the sign of v too, if N has no multipliers: friction that differs by direction.

    Parameters
    ----------
    name : a plain identifier. The model has outputs `slip_<name>`, `friction_<name>`, `normal_<name>`, and the mode
        `<name>`: -1, +1 (direction of slip) or 0 (stick).
    slip : v, affine in the velocities.
    normal : N, an expression in (t, x, eta, p, u), or, in the form `multipliers`, one affine in the multipliers of
        constraints (`chaplygin.multiplier`). N then depends on friction, and the mode `<name>_sign` is the assumed
        sign of N; the equations may have no solution or several (Painlevé).
    mu : the coefficient of friction, static and kinetic, never negative: a parameter or an expression without
        multipliers. A run that starts where mu is negative and N is not zero, or mu |N| + c is negative, is refused.

    Source: C.-A. Coulomb (1785); P. Painlevé, Leçons sur le frottement (1895); A. A. Zobova on the Painlevé-Klein
    example for the modes of several contacts and the rule that a contact with |T| = mu |N| sticks.

    >>> import chaplygin as cg
    >>> x = cg.coordinates("x")
    >>> m, g, mu = cg.parameters("m g mu")
    >>> cg.Coulomb("floor", slip=cg.rate(x), normal=m * g, mu=mu)
    Coulomb('floor', slip=x_dot, normal=g*m, mu=mu)
    """

    name: str
    slip: Any = field(kw_only=True)
    normal: Any = field(kw_only=True)
    mu: Any = field(kw_only=True)

    def __post_init__(self) -> None:
        check_name(self.name, "contact")
        for key in ("slip", "normal", "mu"):
            value = values.scalar(f"Coulomb {self.name!r}: {key}", getattr(self, key))
            object.__setattr__(self, key, value)
        if self.mu.is_negative:
            raise DeclarationError(
                f"Coulomb {self.name!r}: mu = {self.mu} is negative, so friction would drive the slip; give a "
                "coefficient of friction that is positive or zero"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The names that a contact uses in a model."""
        return self.name, f"{self.name}_sign", *(f"{k}_{self.name}" for k in ("slip", "friction", "normal"))

    def __repr__(self) -> str:
        return f"Coulomb({self.name!r}, slip={self.slip}, normal={self.normal}, mu={self.mu})"


@dataclass(frozen=True)
class ContactNodes:
    """A contact in a graph: v = offset + row . eta, N, mu; `implicit` if N contains multipliers."""

    name: str
    slip: Node
    offset: Node
    row: tuple[Node, ...]
    normal: Node
    mu: Node
    implicit: bool


MOST_CONTACTS = 64
"""CG_MOST_CONTACTS of cg_events.h."""


def checked(given: Any) -> tuple[Coulomb, ...]:
    """The contacts of a system, at most `MOST_CONTACTS` and with distinct names."""
    found = values.instances("contacts", given, Coulomb, "chaplygin.Coulomb(name, slip=, normal=, mu=)")
    if len(found) > MOST_CONTACTS:
        raise DeclarationError(
            f"contacts has {len(found)} entries; a model can have at most {MOST_CONTACTS} contacts"
        )
    values.distinct("contacts", [c.name for c in found])
    return found


def entries(contacts: Sequence[Coulomb]) -> list[tuple[Entry, Any]]:
    """Every expression of the contacts with its place."""
    return [(Entry("contacts", c.name, k), getattr(c, k)) for c in contacts for k in ("slip", "normal", "mu")]
