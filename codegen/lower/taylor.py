"""The right-hand side as power series: the nodes whose coefficients Taylor's method computes, and how they depend.

With x(t) = sum of x_k t^k, the coefficients of every node follow from those of its arguments: sums term by term,
products by Cauchy's formula, quotients and roots by solving it, and a function f(a) from df/dt = D da/dt, where its
derivative D is a node as well: k f_k = sum of j a_j D_(k-j), which needs D only up to k - 1. So D may contain f itself,
and the table of functions needs no recurrences of its own. Branches are those at the start of the step.

Source: A. Griewank, A. Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, section 13.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from chaplygin.runtime.errors import EmitError

from ..graph.functions import FUNCTIONS
from ..graph.graph import Graph, Node
from ..graph.linear import LDL
from .program import Program, Solve


@dataclass(frozen=True)
class SeriesProgram:
    """The series of a right-hand side.

    Attributes
    ----------
    graph : the graph of the program with more nodes.
    rates : the nodes of dx/dt.
    given : nodes that depend on parameters alone and are computed beforehand, mapped to their places.
    nodes : every node that is needed, in evaluation order.
    moving : the nodes that change along a motion; of the others only the value is needed.
    slopes : functions, mapped to their derivatives by each argument; each as its sign and a node.
    """

    graph: Graph
    rates: tuple[Node, ...]
    given: Mapping[Node, int]
    nodes: tuple[Node, ...]
    moving: frozenset[Node]
    slopes: Mapping[Node, tuple[tuple[int, Node], ...]]


def series_program(program: Program) -> SeriesProgram:
    """The series of the right-hand side of a program. Raises EmitError for a function without a derivative."""
    g, kernel, plan = program.graph.copy(), program.kernels["rhs"], program.written_out("rhs")
    hoisted = plan.hoist.kernel.outputs if plan.hoist is not None else ()
    rates = _without_loops(g, kernel.outputs, kernel.solves)
    rates = _with_branches(g, rates, hoisted)
    fixed = {*(g.symbol(v.name) for v in (*program.parameters, *program.modes)), *hoisted}
    slopes: dict[Node, tuple[tuple[int, Node], ...]] = {}
    while True:
        order = g.reachable([*rates, *(d for row in slopes.values() for _, d in row)], stop=hoisted)
        moving = _moving(g, order, fixed)
        fresh = [n for n in order if n in moving and n not in slopes and _differentiated(g, n)]
        if not fresh:
            places = {node: i for i, node in enumerate(hoisted)}
            return SeriesProgram(g, tuple(rates), places, tuple(order), frozenset(moving), slopes)
        for node in fresh:
            slopes[node] = tuple(
                (-1, g.args[d][0]) if g.op[d] == "neg" else (1, d)
                for d in _with_branches(g, _slopes(g, node, moving), hoisted)
            )


def _moving(g: Graph, order: Sequence[Node], fixed: Set[Node]) -> set[Node]:
    """The nodes that change along a motion."""
    found: set[Node] = set()
    for node in order:
        if node not in fixed and (g.op[node] == "symbol" or any(a in found for a in g.args[node])):
            found.add(node)
    return found


def _without_loops(g: Graph, nodes: Sequence[Node], solves: Sequence[Solve]) -> list[Node]:
    """The nodes with every linear system that a loop solves written out."""
    known: dict[Node, Node] = {}
    factors: dict[str, LDL] = {}
    for solve in solves:
        n = len(solve.rhs)
        if solve.matrix:
            upper = iter(g.substitute(solve.matrix, known))
            full = [[g.zero] * n for _ in range(n)]
            for i in range(n):
                for j in range(i, n):
                    full[j][i] = next(upper)
            factors[solve.factors] = LDL(g, [row[: i + 1] for i, row in enumerate(full)])
        values = factors[solve.factors].solve(g.substitute(solve.rhs, known))
        known.update(zip(solve.results, values, strict=True))
    return g.substitute(nodes, known)


def _with_branches(g: Graph, nodes: Sequence[Node], stop: Sequence[Node]) -> list[Node]:
    """The nodes with |a|, min and max as selections, whose branches are series; sign(a) keeps its value in a step."""
    new: dict[Node, Node] = {n: n for n in stop}
    for node in g.reachable(nodes, stop=stop):
        if node in new:
            continue
        op, args = g.op[node], tuple(new[a] for a in g.args[node])
        if op == "abs":
            new[node] = g.select(g.relation("lt", args[0], g.zero), g.neg(args[0]), args[0])
        elif op in ("min", "max"):
            first = g.relation("le", *(args if op == "min" else args[::-1]))
            new[node] = g.select(first, *args)
        else:
            new[node] = node if args == g.args[node] else g.rebuild(op, args)
    return [new[n] for n in nodes]


def _differentiated(g: Graph, node: Node) -> bool:
    """Whether the series of a node follows from its derivative."""
    return g.op[node] in FUNCTIONS and g.op[node] not in ("sqrt", "sign")


def _slopes(g: Graph, node: Node, moving: Set[Node]) -> list[Node]:
    """The derivative by each argument; 0 by one that does not change."""
    function, args = FUNCTIONS[g.op[node]], g.args[node]
    made = function.series or function.derivatives
    if not made:
        raise EmitError(f"method 'taylor': the table of functions has no derivative of {function.name}")
    return [d(g, node, *args) if a in moving else g.zero for d, a in zip(made, args, strict=True)]
