"""The expressions of a declaration, as nodes by which their length is known before they are expressions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from ..graph.graph import Node
from ..system.checked_system import CheckedSystem


class Declared(NamedTuple):
    """An expression of a declaration; `kind` is T, V, force, constraint, holonomic or velocity."""

    kind: str
    name: str
    node: Node
    expression: Callable[[], Any]


def declared(system: CheckedSystem) -> list[Declared]:
    """Energies, forces, constraints, holonomic equations and the parametrization; forces of zero are omitted."""
    nodes, beta = system.nodes, system.parametrization or {}
    found = [
        Declared("T", "T", nodes.kinetic, lambda: system.kinetic),
        Declared("V", "V", nodes.potential, lambda: system.potential),
    ]
    for v, node in zip(system.velocities, nodes.forces, strict=True):
        if node != nodes.graph.zero:
            found.append(Declared("force", f"Q_{v}", node, partial(_force, system, v)))
    for kind, every, given in (
        ("constraint", nodes.constraints, {f"constraints[{i}]": e for i, e in enumerate(system.constraints)}),
        ("holonomic", nodes.holonomic, {f"holonomic[{i}]": e for i, e in enumerate(system.holonomic)}),
        ("velocity", nodes.beta, {f"{v}": e for v, e in beta.items()}),
    ):
        for node, (name, e) in zip(every, given.items(), strict=True):
            found.append(Declared(kind, name, node, given_as(e)))
    return found


def _force(system: CheckedSystem, velocity: Any) -> Any:
    return system.forces[velocity]


def given_as(expression: Any) -> Callable[[], Any]:
    """What gives an expression that exists."""
    return lambda: expression
