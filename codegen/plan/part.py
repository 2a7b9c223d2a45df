"""`Part`, what goes through the passes: a kernel, or the template of one kind of its cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..graph.graph import CONDITIONS, LEAVES, Graph, Node
from ..lower.lowered import Kernel, is_call
from .statements import FactorSolve, Place, Tally

Table = Mapping[str, tuple[str, str, int]]
"""The name of a symbol -> (its name in emitted code, array, index)."""


@dataclass
class Cell:
    """A cell: its nodes in a canonical order, its inputs in order of appearance, what it must give.

    `key` describes its structure: cells of one kind have the same. The rest is settled by `loops.py`: `table` has the
    places of the constants among its inputs, `reads` those of the inputs, `results` all nodes that it gives, and
    `writes` their places.
    """

    nodes: list[Node]
    inputs: list[Node]
    stores: list[tuple[Node, Place]]
    pivots: list[tuple[Node, Node]]
    key: object = None
    table: dict[Node, int] = field(default_factory=dict)
    reads: list[Place] = field(default_factory=list)
    results: list[Node] = field(default_factory=list)
    writes: list[Place] = field(default_factory=list)


@dataclass(frozen=True)
class Cut:
    """A kernel as cells in the order of their calls.

    phases : the cells before each solve, and those after the last.
    solves : the linear systems that are solved between the phases.
    work : the length of the workspace for these.
    share : the budget for arranging the cells of one kind, if there are several.
    """

    phases: tuple[tuple[Cell, ...], ...]
    solves: tuple[FactorSolve, ...] = ()
    work: int = 0
    share: int = 0


@dataclass(frozen=True)
class Part:
    """A kernel between two passes.

    Attributes
    ----------
    kernel : what is computed at every call.
    table : where its variables are.
    places : where its outputs go.
    budget : the number of nodes to be visited in the search for fewer operations; 0 for no search.
    times : how often it is called in one call of the kernel that it is a template of.
    hoist : what is computed once before many calls; None as long as nothing is, or for a part that is a `hoist`.
    hoisted : its results, which the kernel reads from the array "q", in this order.
    counts : the operations, once products and sums have been fused: a multiply-add counts as the two that it was.
    cut : the cells of the kernel, if it becomes loops.
    """

    kernel: Kernel
    table: Table
    places: tuple[Place, ...]
    budget: int = 0
    times: int = 1
    hoist: Part | None = None
    hoisted: tuple[Node, ...] = ()
    counts: Tally | None = None
    cut: Cut | None = None


def counted(g: Graph, part: Part) -> Tally:
    """The operations of a part, without those of its `hoist`."""
    if part.counts is not None:
        return part.counts
    given = set(part.hoisted)
    ops = [g.op[n] for n in g.reachable(part.kernel.roots(), stop=given) if n not in given]
    return _of_operations(ops) + of_solves(part.kernel)


def _of_operations(ops: Sequence[str]) -> Tally:
    return Tally(sum(op not in LEAVES for op in ops), ops.count("div"), sum(map(is_call, ops)))


def of_solves(kernel: Kernel) -> Tally:
    """The operations of the loops that factor and solve."""
    operations = divisions = 0
    for solve in kernel.solves:
        size = len(solve.rhs)
        operations += (size**3 // 3 + size**2 if solve.matrix else 0) + 2 * size**2
        divisions += (size * (size - 1) // 2 if solve.matrix else 0) + 2 * size
    return Tally(operations, divisions, 0)


def fixed_nodes(g: Graph, kernel: Kernel) -> set[Node]:
    """What depends only on variables that are known beforehand. Conditions are not numbers, so they are not kept."""
    return {n for n in g.from_only(kernel.roots(), kernel.beforehand) if g.op[n] not in CONDITIONS}


def count(g: Graph, kernel: Kernel) -> Tally:
    """The operations of a kernel, and those that are done beforehand, without a schedule."""
    fixed = fixed_nodes(g, kernel)
    ops = [g.op[n] for n in g.reachable(kernel.roots()) if n not in fixed]
    return _of_operations(ops) + of_solves(kernel) + Tally(0, 0, 0, len(fixed))
