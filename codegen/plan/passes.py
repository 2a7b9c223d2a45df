"""The passes by which a kernel gets its operations and their order, in the order in which they run.

A kernel of cells that repeat is cut (`CUTTING`) into templates, one for each kind of cells, and loops that call them:
see `loops.py`. Every template, and every other kernel as a whole, is rewritten (`REWRITING`) and put in order
(`ORDERING`). What then remains is to number its intermediates: `write_statements.number`.

Each pass is a function of the graph, a part and the options. It gives a part with other nodes, by `Kernel.map` where it
rewrites them, and leaves one that it does not concern as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..graph.graph import Graph
from ..lower.options import LoweringOptions
from .arrange import arrange
from .cells import cells
from .fma import fuse
from .hoist import hoist, hoist_of_cells
from .invariants import (
    all_hoisted,
    known_beforehand,
    no_more_operations,
    one_cell_for_each_node,
    products_in_sums,
    signs_in_constants,
    the_same,
)
from .matrix_loops import entries
from .part import Part
from .signed_constants import signs

Wrong = Callable[[Graph, Part, Part], Iterable[str]]
"""Says what is wrong with a part after a pass, given the part before it; the docstring says what should hold."""


@dataclass(frozen=True)
class Pass:
    """A pass: its name, what it does, and what does not hold after it, if something is wrong."""

    name: str
    change: Callable[[Graph, Part, LoweringOptions], Part]
    wrong: Wrong = the_same


CUTTING = (
    Pass("entries", entries, one_cell_for_each_node),
    Pass("hoist", hoist_of_cells, known_beforehand),
    Pass("signs", signs, signs_in_constants),
    Pass("cells", cells, one_cell_for_each_node),
)
"""Of a kernel whose cells repeat; the others come out as they were."""

REWRITING = (
    Pass("arrange", arrange, no_more_operations),
)  # fmt: skip
"""Of every template, and of every kernel that is not cut: to the same values.

To add one, write such a function and a row here; those before it are done. The graph may be extended, and nodes are
replaced by `Kernel.map`.
"""

ORDERING = (
    Pass("hoist", hoist, all_hoisted),
    Pass("fuse", fuse, products_in_sums),
)
"""Of the same, to the operations that are emitted."""


def verify(g: Graph, each: Pass, before: Part, after: Part) -> None:
    """Check a pass of one part: tests give this to `plan`. Raises AssertionError, which says what is wrong."""
    wrong = dict.fromkeys([*the_same(g, before, after), *each.wrong(g, before, after)])
    if wrong:
        raise AssertionError(f"{after.kernel.name}, after the pass {each.name}: {'; '.join(wrong)}")
