"""Forward and reverse differentiation on the expression graph.

Derivatives of expressions with branches (`select`, `min`, `max`, `abs`) select as well: a mask times an infinite
partial derivative would be NaN. At a kink the derivative is that of the branch the function itself takes; for |x| at 0
it is 0, as is sign(0). Half-integer powers are products with a root, whose own derivative is infinite at 0: the
derivative of x sqrt(x) is sqrt(x) 3/2, not sqrt(x) + x / (2 sqrt(x)).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from .functions import FUNCTIONS
from .graph import CONDITIONS, Graph, Node


def _factors(g: Graph, node: Node) -> list[Node]:
    """Nodes of which the product is this one."""
    if g.op[node] != "mul":
        return [node]
    return [factor for a in g.args[node] for factor in _factors(g, a)]


def _without(nodes: Sequence[Node], one: Node) -> list[Node]:
    """The nodes without the first that is `one`."""
    i = list(nodes).index(one)
    return [*nodes[:i], *nodes[i + 1 :]]


def _multiplied(g: Graph, nodes: Sequence[Node]) -> Node:
    total = g.one
    for node in nodes:
        total = g.mul(total, node)
    return total


def _times(g: Graph, a: Node, b: Node) -> Node:
    """a * b, where a root in a denominator cancels with its argument in a numerator, up to a constant."""
    for one, other in ((a, b), (b, a)) if g.has_roots else ():
        for quotient in _factors(g, one):
            if g.op[quotient] != "div":
                continue
            above, below = g.args[quotient]
            for root in (node for node in _factors(g, below) if g.op[node] == "sqrt"):
                part, inner = g.split(g.args[root][0])
                for factor in _factors(g, other):
                    coefficient, rest = g.split(factor)
                    if rest != inner:
                        continue
                    kept = [*_without(_factors(g, one), quotient), *_without(_factors(g, other), factor)]
                    below = _multiplied(g, _without(_factors(g, below), root))
                    return _multiplied(
                        g, [*kept, g.const(Fraction(coefficient) / Fraction(part)), g.div(above, below), root]
                    )
    return g.mul(a, b)


def _scale(g: Graph, adjoint: Node, factor: Node) -> Node:
    """adjoint * factor; in an adjoint that selects, the factor is applied within the branches."""
    if g.op[adjoint] == "select":
        condition, a, b = g.args[adjoint]
        if g.zero in (a, b):
            return g.select(condition, _scale(g, a, factor), _scale(g, b, factor))
    return _times(g, adjoint, factor)


def _product(g: Graph, node: Node, i: int, weight: Node) -> Node:
    """weight * d node / d args[i]."""
    op, args = g.op[node], g.args[node]
    if op == "add":
        return weight
    if op == "sub":
        return weight if i == 0 else g.neg(weight)
    if op == "neg":
        return g.neg(weight)
    if op == "mul":
        return _scale(g, weight, g.mul(g.two, args[0]) if args[0] == args[1] else args[1 - i])
    if op == "div":
        if i == 0:
            return _scale(g, weight, g.div(g.one, args[1]))
        return g.neg(_scale(g, weight, g.div(node, args[1])))
    if op == "select":
        return g.zero if i == 0 else g.select(args[0], *((weight, g.zero) if i == 1 else (g.zero, weight)))
    if op in CONDITIONS:
        return g.zero
    function = FUNCTIONS[op]
    if function.switch is not None:
        return function.switch.derivative(g, i, weight, args)
    return _scale(g, weight, function.derivatives[i](g, node, *args))


def _positions(g: Graph, node: Node) -> range:
    """The argument positions to differentiate by; a square has one, which covers both factors (see `_product`)."""
    args = g.args[node]
    return range(1) if g.op[node] == "mul" and args[0] == args[1] else range(len(args))


def forward(g: Graph, roots: Sequence[Node], direction: Mapping[Node, Node]) -> list[Node]:
    """Directional derivatives of the roots: sum over v of (d root / d v) * direction[v]."""
    return _swept(g, g.reachable(roots), roots, direction)


def partials(g: Graph, roots: Sequence[Node], variables: Sequence[Node]) -> list[list[Node]]:
    """d root / d v: for every variable v, the list of the derivatives of the roots.

    For each variable, only the nodes that depend on it are visited.
    """
    above: dict[Node, list[Node]] = {}
    for node in g.reachable(roots):
        for a in dict.fromkeys(g.args[node]):
            above.setdefault(a, []).append(node)
    columns = []
    for v in variables:
        found: set[Node] = set()
        stack = [v]
        while stack:
            for node in above.get(stack.pop(), ()):
                if node not in found:
                    found.add(node)
                    stack.append(node)
        columns.append(_swept(g, sorted(found), roots, {v: g.one}))
    return columns


def _swept(
    g: Graph, order: Sequence[Node], roots: Sequence[Node], direction: Mapping[Node, Node]
) -> list[Node]:
    """The directional derivatives of the roots, by a sweep over the nodes in evaluation order."""
    tangent: dict[Node, Node] = {v: d for v, d in direction.items() if d != g.zero}
    args, moving = g.args, tangent.keys()
    for node in order:
        own = args[node]
        if node in moving or moving.isdisjoint(own):
            continue
        total = g.zero
        function = FUNCTIONS.get(g.op[node])
        first = len(own) if function is None else function.linear_from
        if not moving.isdisjoint(own[first:]):
            total = g.call(g.op[node], *own[:first], *(tangent.get(a, g.zero) for a in own[first:]))
        for i in _positions(g, node)[:first]:
            weight = tangent.get(own[i])
            if weight is not None:
                total = g.add(total, _product(g, node, i, weight))
        if total != g.zero:
            tangent[node] = total
    return [tangent.get(r, g.zero) for r in roots]


def gradient(g: Graph, root: Node, variables: Sequence[Node]) -> list[Node]:
    """d root / d v for every variable, by a single reverse sweep."""
    return reverse(g, {root: g.one}, variables)


def reverse(g: Graph, weights: Mapping[Node, Node], variables: Sequence[Node]) -> list[Node]:
    """The sum over the roots of weights[root] * d root / d v, for every variable v, by a single reverse sweep."""
    needed = set(variables)
    order = g.reachable(weights)
    active: set[Node] = set()
    for node in order:
        if node in needed or any(a in active for a in g.args[node]):
            active.add(node)
    adjoint = dict(weights)
    for node in reversed(order):
        weight = adjoint.get(node)
        if weight is None or node not in active or node in needed or weight == g.zero:
            continue
        for i in _positions(g, node):
            a = g.args[node][i]
            if a in active:
                adjoint[a] = g.add(adjoint.get(a, g.zero), _product(g, node, i, weight))
    return [adjoint.get(v, g.zero) for v in variables]
