"""The passes by which a kernel gets its operations and their order, in the order in which they run.

A kernel of cells that repeat is cut (`CUTTING`) into templates, one for each kind of cells, and loops that call them:
see `loops.py`. Every template, and every other kernel as a whole, is rewritten (`REWRITING`) and put in order
(`ORDERING`). What then remains is to number its intermediates: `write_statements.number`.

Each pass is a function of the graph, a part and the options. It gives a part with other nodes, by `Kernel.map` where it
rewrites them, and leaves one that it does not concern as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..graph.graph import Graph
from ..lower.options import LoweringOptions
from .arrange import arrange
from .cells import cells
from .fma import fuse
from .hoist import hoist, hoist_of_cells
from .matrix_loops import entries
from .part import Part
from .signed_constants import signs


@dataclass(frozen=True)
class Pass:
    """A pass: its name, what it does, and what holds after it and after all later ones."""

    name: str
    change: Callable[[Graph, Part, LoweringOptions], Part]
    invariant: str


CUTTING = (
    Pass("entries", entries, "each entry of a large matrix is in one cell, after the solves that it needs"),
    Pass("hoist", hoist_of_cells, "what is read from q depends on variables that are known beforehand alone"),
    Pass("signs", signs, "no cell subtracts a multiple of a constant that may be the number of a body"),
    Pass("cells", cells, "each node is in one cell, which reads variables, q, constants and cells before it"),
)
"""Of a kernel whose cells repeat; the others come out as they were."""

REWRITING = (
    Pass("arrange", arrange, "the values are the same, in no more operations"),
)  # fmt: skip
"""Of every template, and of every kernel that is not cut: to the same values.

To add one, write such a function and a row here; those before it are done. The graph may be extended, and nodes are
replaced by `Kernel.map`.
"""

ORDERING = (
    Pass(
        "hoist", hoist, "nothing that depends on variables known beforehand alone is computed at every call"
    ),
    Pass("fuse", fuse, "no product is rounded that only a sum uses, unless that has another one"),
)
"""Of the same, to the operations that are emitted."""
