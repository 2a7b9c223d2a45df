"""Kernels that are long because their matrices are large: a loop for the entries of one shape.

With many closed loops A M^-1 A^T, and M for the start of a run, have thousands of entries of few shapes. Each entry,
and each part that several of them share, becomes a cell of `loops`. A call takes as long as before, since its time goes
into factoring the matrices, and a compiler takes a few seconds instead of a minute.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from ..graph.graph import CONDITIONS, Graph, Node
from ..lower.program import Kernel
from .loops import Cell, Kinds, assembled, canonical
from .statements import Place, Rolled

if TYPE_CHECKING:
    from ..lower.program import Program
    from .statements import FactorSolve

LONGEST = 5000
"""Operations and results up to which such a kernel is written out."""
SHARE = 4
"""What factoring takes, in parts of the other operations, from where on their time hardly matters."""


def of_matrices(g: Graph, kernel: Kernel, factoring: int) -> bool:
    """Whether large matrices make a kernel long; `factoring` counts the operations of its solves."""
    results = len(kernel.roots())
    if kernel.cells or results + factoring <= LONGEST:
        return False
    nodes = [n for n in g.reachable(kernel.roots()) if g.args[n]]
    rare = factoring > SHARE * len(nodes) or results > SHARE * len(nodes)
    return rare and len(nodes) + results > LONGEST and not any(g.op[n] in CONDITIONS for n in nodes)


def by_entries(
    program: Program, kernel: Kernel, table: Mapping[str, Place], solves: Sequence[FactorSolve], work: int
) -> Rolled:
    """The kernel as runs of templates and solves; `table` has the places of the variables and of the solutions."""
    g = program.graph
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
    home = {cell.nodes[-1]: cell for _, cell in cells}
    leaves = [(n, to) for n in stores if not g.args[n] for to in stores[n]]
    cells += [((known.get(n, 0), 0), Cell([], [], [(n, to)], [])) for n, to in leaves]
    if kernel.pivots:
        cells.append(((len(solves), len(named)), Cell([], [], [], list(kernel.pivots))))

    def array(n: Node) -> str:
        if g.op[n] == "symbol":
            return table[str(g.value[n])][0]
        return "work" if n in home else ""

    kinds = Kinds()
    for _, cell in cells:
        canonical(g, cell, array, kinds)
    first = {key: i for i, key in enumerate(dict.fromkeys(cell.key for _, cell in cells))}
    cells.sort(key=lambda c: (c[0], first[c[1].key]))
    phases = [[cell for (phase, _), cell in cells if phase == i] for i in range(len(solves) + 1)]
    return assembled(program, kernel, phases, home, {}, table, solves=solves, work=work)


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
