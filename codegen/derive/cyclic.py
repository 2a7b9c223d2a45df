"""Cyclic displacements: X_r L = 0, [X_r, X_b] = 0 for all b, [X_0, X_r] = 0, Q_r = 0; then dL/d eta_r is constant.

The Encyclopedia of Mathematics, "Poincaré equations", omits the last two conditions; both are necessary.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from ..graph.differentiate import gradient
from ..graph.evaluate import evaluate
from ..graph.graph import Graph
from ..identities.branches import SWITCHES
from ..identities.zero import are_zero
from ..system.checked_system import CheckedSystem
from ..system.continuity import ANGLES, jump
from ..system.points import good_points

_continuous: WeakKeyDictionary[CheckedSystem, bool] = WeakKeyDictionary()
"""Whether the Lagrangian of a system is continuous: the same question for every velocity."""


def failing_condition(g: Graph, system: CheckedSystem, r: int) -> str | None:
    """The first condition that could not be shown for the displacement of velocity r, and what that means.

    None if it is cyclic.
    """
    nodes = system.nodes
    fields, name = nodes.fields, system.velocities[r].name
    lagrangian = nodes.lagrangian(g)
    if not are_zero(g, fields.apply(g, r, [lagrangian]), system.symbols) or jumps_along(g, system, r):
        return f"'X_{name} L = 0' fails: T or V changes along it"
    if not are_zero(g, [nodes.forces[r]], system.symbols):
        return f"'Q_{name} = 0' fails: a force acts along it"
    if fields.are_rates():  # all brackets are zero
        return None
    for b in range(-1, len(system.velocities)):
        if b == r:
            continue
        if not are_zero(g, fields.bracket(g, b, r), system.symbols):
            other = "X_0" if b < 0 else f"X_{system.velocities[b].name}"
            return f"'[{other}, X_{name}] = 0' fails: it does not commute with {other}"
    return None


def jumps_along(g: Graph, system: CheckedSystem, r: int) -> bool:
    """Whether L might jump along the displacement of velocity r: a potential step acts there although X_r L = 0."""
    if _continuous.get(system):
        return False
    lagrangian = system.nodes.lagrangian(g)
    switches = SWITCHES - {"select", "and", "or"} | ANGLES
    switched = [a for n in g.reachable([lagrangian]) if g.op[n] in switches for a in g.args[n]]
    if not switched:
        _continuous[system] = True
        return False
    moving = any(n != g.zero for n in system.nodes.fields.apply(g, r, switched))
    if moving and system not in _continuous:
        _continuous[system] = jump(g.copy(), lagrangian, system.nodes) is None
    return moving and not _continuous[system]


def cyclic_velocities(g: Graph, system: CheckedSystem) -> tuple[int, ...]:
    """The velocities whose displacements are cyclic."""
    return tuple(r for r in _still(g.copy(), system) if failing_condition(g, system, r) is None)


def _still(g: Graph, system: CheckedSystem) -> list[int]:
    """The velocities along which L may not change: X_r L is small at a generic point, or undefined."""
    fields, count = system.nodes.fields, len(system.velocities)
    slopes = gradient(g, system.nodes.lagrangian(g), fields.coordinates)
    roots = [*slopes, *(n for field in fields.along for n in field)]
    try:
        found = evaluate(g, roots, good_points(system.nodes, roots, 1, g)[0])
    except (ArithmeticError, ValueError):
        return list(range(count))
    value, n = dict(zip(roots, found, strict=True)), len(slopes)
    along = [
        sum(value[s] * value[f] for s, f in zip(slopes, field, strict=True) if f != g.zero)
        for field in fields.along
    ]
    largest = max(map(abs, found[:n]), default=0)
    return [r for r, v in enumerate(along) if not abs(v) > 1e-6 * largest]
