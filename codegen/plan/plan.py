"""How a kernel is written: as statements one by one, as loops over bodies, or as loops over matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..graph.graph import CONDITIONS, Graph, Node
from ..lower.program import Kernel, Program
from .loops import rolled
from .matrix_loops import by_entries, of_matrices
from .statements import Schedule
from .write_statements import _of_solves, _placed, _scheduled, variable_names

FEWEST_ROLLED = 500
"""Operations from which on a kernel of repeated cells is emitted as loops."""


def schedule(program: Program, kernel: Kernel, loops: bool = True) -> Schedule:
    """Order the statements of a kernel; see the module docstring.

    With `loops` a long kernel of repeated cells has no statements, but the runs of `rolled`.
    """
    g = program.graph
    if loops and _of_matrices(g, kernel):
        return _whole(program, kernel, (), loops)
    # Conditions are not numbers, so they are not hoisted.
    fixed = {n for n in g.from_only(kernel.roots(), kernel.beforehand) if g.op[n] not in CONDITIONS}
    known = fixed | set(kernel.beforehand)
    checks = tuple(
        pair for pair in kernel.pivots if all(n in known or g.constant_value(n) is not None for n in pair)
    )
    rest = replace(kernel, pivots=tuple(pair for pair in kernel.pivots if pair not in checks))
    needed = {n for n in rest.roots() if n in fixed}
    for node in g.reachable(rest.roots(), stop=fixed):
        if node not in fixed:
            needed |= {a for a in g.args[node] if a in fixed}
    if not needed:
        return _whole(program, kernel, (), loops)
    order = tuple(sorted(needed))
    first = Kernel(
        "hoist", order, ("",) * len(order), checks, labels=kernel.labels, directions=kernel.directions
    )
    table = variable_names(program, first)
    hoist = _scheduled(program, first, (), table, [("q", i) for i in range(len(order))])
    return replace(_whole(program, rest, order, loops), hoist=hoist)


def _whole(program: Program, kernel: Kernel, given: Sequence[Node], loops: bool) -> Schedule:
    """The schedule of a kernel without what is hoisted."""
    table = variable_names(program, kernel)
    found = None
    if loops and kernel.cells and not kernel.solves and is_long(program.graph, kernel):
        places = {name: (array, index) for name, (_, array, index) in table.items()}
        found = rolled(program, kernel, {n: i for i, n in enumerate(given)}, places)
    elif loops and _of_matrices(program.graph, kernel):
        solves = _placed(program.graph, kernel)
        places = {name: (array, index) for name, (_, array, index) in (table | solves.results).items()}
        found = by_entries(program, kernel, places, solves.statements, solves.work)
    if found is not None:
        operations, divisions = _of_solves(kernel)
        counts = found.operations + operations, found.divisions + divisions, found.functions
        return Schedule(kernel, (), {}, found.work, *counts, rolled=found)
    return _scheduled(program, kernel, given, table, [("out", i) for i in range(len(kernel.outputs))])


def may_roll(g: Graph, kernel: Kernel) -> bool:
    """Whether a kernel may be emitted as loops."""
    return bool(kernel.cells) or _of_matrices(g, kernel)


def _of_matrices(g: Graph, kernel: Kernel) -> bool:
    return of_matrices(g, kernel, _of_solves(kernel)[0])


def is_long(g: Graph, kernel: Kernel) -> bool:
    """Whether a kernel is too long to be written out, if its cells repeat each other."""
    return g.count_operations(kernel.roots()) > FEWEST_ROLLED
