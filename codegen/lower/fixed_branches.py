"""Kernels whose relations are frozen: they follow given sides of the kinks, not the state.

An importer that integrates an FMU wants smooth equations between events, also beyond the zero of an event indicator
that it has not located yet, and the derivatives of a run need the rates on both sides of a kink, at the kink itself. So
`Abs`, `sign`, `Min`, `Max` and the conditions of `Piecewise` select by sides that change at events alone. Equalities,
which hold at single points, still follow the state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from chaplygin.runtime.interface.description import Variable

from ..graph.functions import FUNCTIONS
from ..graph.graph import RELATIONS, Graph, Node
from ..graph.sides import changing
from .lowered import Kernel, Lowered


def sides_of(program: Lowered) -> tuple[tuple[Variable, ...], dict[Node, Node]]:
    """The sides of the kinks, as parameters that follow those of the program in p, and their symbols by kink."""
    kinks = program.guards[len(program.events) :]
    sides = tuple(Variable(f"cg_side_{i}", "parameter", "", kink.description) for i, kink in enumerate(kinks))
    if not sides:
        return (), {}
    guards = program.unarranged["guards"].outputs[len(program.events) :]
    return sides, dict(zip(guards, (program.graph.symbol(s.name) for s in sides), strict=True))


def frozen(g: Graph, kernel: Kernel, sides: Mapping[Node, Node], unknown: bool = False) -> Kernel:
    """The kernel `frozen_<name>`; `sides` has a symbol, with the value -1, 0 or 1, for each kink.

    The kernel itself if it does not depend on a kink. `unknown`: the side 0 stands for whatever the state shows, not
    for a zero.
    """
    new: dict[Node, Node] = {}
    for node in g.reachable(kernel.roots()):
        op, args = g.op[node], [new[a] for a in g.args[node]]
        side = _side(g, node, sides)
        if side is not None and unknown:
            shown = args[0] if len(args) == 1 else g.sub(*args)
            side = g.select(g.relation("eq", side, g.zero), shown, side)
        if side is None:
            new[node] = node if tuple(args) == g.args[node] else g.rebuild(op, args)
        elif op in RELATIONS:
            new[node] = g.relation(op, side, g.zero)
        else:
            new[node] = _chosen(g, op, side, args)
    made = kernel.map(lambda n: new.get(n, n))
    return kernel if made == kernel else replace(made, name=f"frozen_{kernel.name}", labels={})


def _side(g: Graph, node: Node, sides: Mapping[Node, Node]) -> Node | None:
    """The sign of what decides on a node; None if nothing does, or if that is not a kink."""
    found = changing(g, node)
    if found is None or g.op[node] in ("eq", "ne"):
        return None
    guard, _ = found
    opposite = sides.get(g.neg(guard))
    return sides.get(guard) if opposite is None else g.neg(opposite)


def _chosen(g: Graph, op: str, side: Node, args: list[Node]) -> Node:
    """What a function with a switch selects."""
    switch = FUNCTIONS[op].switch
    assert switch is not None
    sign = g.neg(side) if switch.compares else side  # `changing` gives a - b, a switch has b - a
    at_zero, below = (switch.chosen(g, s, *args) for s in (0, -1))
    rest = g.select(g.relation("lt", sign, g.zero), below, at_zero)
    return g.select(g.relation("lt", g.zero, sign), switch.chosen(g, 1, *args), rest)
