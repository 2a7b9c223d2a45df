"""Kernels that are long because their matrices are large: a loop for the entries of one shape.

With many closed loops A M^-1 A^T, and M for the start of a run, have thousands of entries of few shapes. Each entry,
and each part that several of them share, becomes a cell of `loops`. A call takes as long as before, since its time goes
into factoring the matrices, and a compiler takes a few seconds instead of a minute.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from ..graph.graph import CONDITIONS, Graph, Node
from ..lower.lowered import Kernel
from ..lower.options import LoweringOptions
from .cells import ShapeTable, canonical
from .part import Cell, Cut, Part, of_solves
from .statements import FactorSolve, Place
from .write_statements import solves_of


def of_matrices(g: Graph, kernel: Kernel, options: LoweringOptions) -> bool:
    """Whether large matrices make a kernel long."""
    results, factoring = len(kernel.roots()), of_solves(kernel).operations
    if kernel.cells or results + factoring <= options.longest_of_matrices:
        return False
    nodes = [n for n in g.reachable(kernel.roots()) if g.args[n]]
    few = options.factoring_share * len(nodes)
    rare = factoring > few or results > few
    long = len(nodes) + results > options.longest_of_matrices
    return rare and long and not any(g.op[n] in CONDITIONS for n in nodes)


def entries(g: Graph, part: Part, options: LoweringOptions) -> Part:
    """The part cut into the entries of its matrices, if these make it long."""
    kernel = part.kernel
    if not of_matrices(g, kernel, options):
        return part
    placed = solves_of(g, kernel)
    solves, table = placed.statements, {**part.table, **placed.results}
    stores = _stores(kernel, solves)
    order = [n for n in g.reachable(kernel.roots()) if g.args[n]]
    uses = Counter(a for n in order for a in g.args[n])
    named = {n for n in order if uses[n] > 1 or n in stores}
    known = {n: i for i, s in enumerate(kernel.solves, 1) for n in (*s.results, *s.pivots)}
    when: dict[Node, tuple[int, int]] = {}
    """The number of solves that have to be done before, and the cells one after another."""
    for n in order:
        before = [when.get(a, (known.get(a, 0), 0)) for a in g.args[n]]
        depth = max(d + (a in named) for (_, d), a in zip(before, g.args[n], strict=True))
        when[n] = max(phase for phase, _ in before), depth
    cells = [
        (when[n], Cell(_below(g, n, named), [], [(n, to) for to in stores.get(n, ())], []))
        for n in sorted(named)
    ]
    homes = {cell.nodes[-1] for _, cell in cells}
    leaves = [(n, to) for n in stores if not g.args[n] for to in stores[n]]
    cells += [((known.get(n, 0), 0), Cell([], [], [(n, to)], [])) for n, to in leaves]
    if kernel.pivots:
        cells.append(((len(solves), len(named)), Cell([], [], [], list(kernel.pivots))))

    def array(n: Node) -> str:
        if g.op[n] == "symbol":
            return table[str(g.value[n])][1]
        return "work" if n in homes else ""

    shapes = ShapeTable()
    for _, cell in cells:
        canonical(g, cell, array, shapes)
    first = {key: i for i, key in enumerate(dict.fromkeys(cell.key for _, cell in cells))}
    cells.sort(key=lambda c: (c[0], first[c[1].key]))
    phases = tuple(tuple(cell for (phase, _), cell in cells if phase == i) for i in range(len(solves) + 1))
    return replace(part, table=table, cut=Cut(phases, solves, placed.work))


def _stores(kernel: Kernel, solves: Sequence[FactorSolve]) -> dict[Node, list[Place]]:
    """Where each result, entry of a matrix and right-hand side goes."""
    places: list[tuple[Node, Place]] = [(n, ("out", i)) for i, n in enumerate(kernel.outputs)]
    for solve, at in zip(kernel.solves, solves, strict=True):
        places += [(n, ("work", at.matrix + i)) for i, n in enumerate(solve.matrix)]
        places += [(n, ("work", at.right + i)) for i, n in enumerate(solve.rhs)]
    found: dict[Node, list[Place]] = {n: [] for pair in kernel.pivots for n in pair}
    for n, place in places:
        found.setdefault(n, []).append(place)
    return found


def _below(g: Graph, root: Node, named: Collection[Node]) -> list[Node]:
    """A named node and what it needs down to other named ones, in evaluation order."""
    found, stack = {root}, list(g.args[root])
    while stack:
        n = stack.pop()
        if g.args[n] and n not in named:
            found.add(n)
            stack.extend(g.args[n])
    return sorted(found)
