"""Bodies and interactions as entries of a declaration, and checks of their numbers and names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy as sp

from ..mechanics.bodies import Body
from ..mechanics.interactions import Interaction
from ..symbols import values
from ..symbols.place import Entry
from ..symbols.symbols import DeclarationError


def entries(bodies: Sequence[Body], interactions: Sequence[Interaction]) -> list[tuple[Entry, Any]]:
    """Every expression of the bodies and interactions with its place."""
    found = [entry for body in bodies for entry in body.entries()]
    for i, item in enumerate(interactions):
        for name, e in item.entries():
            place = Entry("interactions", i, name, kind=type(item).__name__)
            found += [(place, part) for part in (e if isinstance(e, sp.MatrixBase) else [e])]
    return found


def checked(given_bodies: Any, given_interactions: Any) -> tuple[tuple[Body, ...], tuple[Interaction, ...]]:
    """The bodies, with their parents among them, and the interactions of these bodies."""
    bodies = values.instances("bodies", given_bodies, Body, "Body(name, ...)")
    _check_names(bodies)
    names = ", ".join(body.name for body in bodies)
    _check_lines(bodies)
    for body in bodies:
        if body.parent is not None and body.parent not in bodies:
            raise DeclarationError(
                f"Body {body.name!r}: its parent {body.parent.name!r} is not among bodies ({names}); add it, "
                "with mass 0 if it is only a frame"
            )
    advice = "Weight, Wrench, Spring, Damper or Motor"
    interactions = values.instances("interactions", given_interactions, Interaction, advice)
    for i, item in enumerate(interactions):
        for body in item.bodies:
            if body not in bodies:
                raise DeclarationError(
                    f"interactions[{i}] ({type(item).__name__}): the body {body.name!r} is not among bodies "
                    f"({names or 'none'})"
                )
    return bodies, interactions


def _check_names(bodies: Sequence[Body]) -> None:
    """Refuse two bodies of one name, which may be one body meant to have two parents."""
    seen: dict[str, Body] = {}
    for body in bodies:
        other = seen.setdefault(body.name, body)
        if other is not body and other.parent is not body.parent:
            parents = " and ".join(
                "space" if b.parent is None else repr(b.parent.name) for b in (other, body)
            )
            raise DeclarationError(
                f"bodies: the name {body.name!r} is used twice, with the parents {parents}; a body has one parent, "
                "and a loop is closed by holonomic=[...]"
            )
    values.distinct("bodies", [body.name for body in bodies])


def _check_lines(bodies: Sequence[Body]) -> None:
    """Refuse a body that carries itself through its children."""
    standing: set[Body] = set()
    for body in bodies:
        line: list[Body] = []
        above: Body | None = body
        while above is not None and above not in standing:
            line.append(above)
            above = above.parent
            if above in line:
                names = " - ".join(b.name for b in [*line[line.index(above) :], above])
                raise DeclarationError(
                    f"Body {above.name!r}: a cycle of parents: {names}; one of these bodies stands in space "
                    "(parent=None), and a loop is closed by holonomic=[...]"
                )
        standing.update(line)
