"""What depends only on variables that are known beforehand is computed once, before many calls.

These are the variables `Kernel.beforehand`: the parameters of a right-hand side, for one. Conditions are not numbers,
so they stay where they are.
"""

from __future__ import annotations

from dataclasses import replace

from ..graph.graph import Graph
from ..lower.lowered import Kernel
from ..lower.options import LoweringOptions
from .part import Part, fixed_nodes


def hoist(g: Graph, part: Part, options: LoweringOptions) -> Part:
    """The part without what is computed beforehand, which becomes a part of its own with the checks that concern it."""
    kernel = part.kernel
    fixed = fixed_nodes(g, kernel)
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
        return part
    results = tuple(sorted(needed))
    first = Kernel(
        "hoist", results, ("",) * len(results), checks, labels=kernel.labels, directions=kernel.directions
    )
    places = tuple(("q", i) for i in range(len(results)))
    return replace(part, kernel=rest, hoist=Part(first, part.table, places), hoisted=results)


def hoist_of_cells(g: Graph, part: Part, options: LoweringOptions) -> Part:
    """The same for a kernel of cells; one that is too short for loops has no cells afterwards."""
    if not part.kernel.cells:
        return part
    found = hoist(g, part, options)
    long = g.count_operations(found.kernel.roots()) > options.fewest_looped
    return found if long and not found.kernel.solves else replace(part, kernel=replace(part.kernel, cells=()))
