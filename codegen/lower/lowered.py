"""`Lowered`: which values each named kernel of a model computes, as nodes of one graph."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from chaplygin.runtime.interface.description import KernelEntry, Variable

from ..graph.functions import FUNCTIONS
from ..graph.graph import Graph, Node

if TYPE_CHECKING:
    from typing_extensions import Self

    from ..methods.pair import Pair
    from ..methods.taylor import Taylor


@dataclass(frozen=True)
class Solve:
    """One solution of M a = b inside a kernel, for a matrix too large to be factored in straight-line code.

    `matrix` holds the upper triangle by rows, `rhs` the right-hand side, `results` the symbol nodes that represent the
    solution in later expressions, including later solves. A solve without `matrix` reuses the factors of the previous
    solve with the same name in `factors`. With `pivots` M is semidefinite of a lower rank: the solution is that of
    least norm, and these symbols represent the pivots, as many as the rank and the largest first, then the largest
    diagonal entry of what is left of M.
    """

    matrix: tuple[Node, ...]
    rhs: tuple[Node, ...]
    results: tuple[Node, ...]
    factors: str = "mass"
    pivots: tuple[Node, ...] = ()

    def map(self, f: Callable[[Node], Node]) -> Solve:
        """The solve with other nodes in its matrix and right-hand side."""
        return replace(self, matrix=tuple(map(f, self.matrix)), rhs=tuple(map(f, self.rhs)))


@dataclass(frozen=True)
class Kernel:
    """A function of (t, x, p, u) in the graph.

    `pivots` are pairs (pivot, limit): the kernel returns the status `singular` when |pivot| <= limit.
    `labels` are preferred names of intermediates; `comments` describe the outputs, one each. `takes` is that of its
    row, and `directions` the length of v, if it takes one. Whatever depends only on the variables `beforehand` (the
    parameters, or none) is computed once before many calls: see `codegen/plan/hoist.py`. `cells` are nodes that belong
    together, such as those of one body, in an order in which they can be computed: see `codegen/plan/cells.py`.
    `effort` is the share of the search for fewer operations, 0 for none.
    """

    name: str
    outputs: tuple[Node, ...]
    comments: tuple[str, ...]
    pivots: tuple[tuple[Node, Node], ...] = ()
    solves: tuple[Solve, ...] = ()
    labels: Mapping[Node, str] = field(default_factory=dict)
    takes: str = "state"
    directions: int = 0
    beforehand: tuple[Node, ...] = ()
    cells: tuple[tuple[Node, ...], ...] = ()
    effort: float = 0.0

    def map(self, f: Callable[[Node], Node]) -> Kernel:
        """The kernel with another node in the place of each: the one rewrite of all passes."""
        return replace(
            self,
            outputs=tuple(map(f, self.outputs)),
            pivots=tuple((f(pivot), f(limit)) for pivot, limit in self.pivots),
            solves=tuple(solve.map(f) for solve in self.solves),
            labels={f(node): label for node, label in self.labels.items()},
            cells=tuple(tuple(map(f, cell)) for cell in self.cells),
        )

    def roots(self) -> list[Node]:
        """Every node that has to be computed."""
        solves = [n for s in self.solves for n in (*s.matrix, *s.rhs)]
        return [*solves, *(n for pair in self.pivots for n in pair), *self.outputs]


@dataclass(frozen=True)
class KernelRow:
    """A kernel that a model can have: its name and one line on its result.

    `takes`, one of `TAKES`: "state" for (t, x, p, u); "direction" for a further vector v of the length of x; "declared"
    for the declared coordinates and velocities in the place of x; "event" for the index of an event before t: there are
    kernels `<name>_<index>` for some of the events. `slot` is its member in `cg_model_t`, empty for a kernel that is
    found by name alone. `effort` is that of its kernels. `late`: a run starts without it, so it is planned and compiled
    when it is first used.
    """

    name: str
    text: str
    takes: str = "state"
    slot: str = ""
    effort: float = 0.0
    late: bool = False


@dataclass(frozen=True)
class EventEntry:
    """An entry of a model's event table; its guard has the same index, and its reset is the kernel `reset_<index>`."""

    name: str
    direction: int
    terminal: bool
    has_reset: bool


@dataclass(frozen=True)
class ContactEntry:
    """An entry of a model's contact table; `sign` is the index of its sign mode, or -1."""

    name: str
    sign: int


@dataclass(frozen=True)
class Lowered:
    """A model as named kernels over one graph.

    `kernels` holds those that the model has of the kernels in `table`, by name; the modes of contacts follow the inputs
    in their u. A Jacobian too long to unroll is absent: the emitted one loops over `jvp`.
    `independent` names the argument `t` of the kernels: "t", or Whittaker's coordinate. `methods` are integration
    methods that the runtime does not have. `unarranged`: the kernels before the passes of `codegen/plan/passes.py`, if
    the model has kinks, since these may rewrite the functions whose zeros the kinks are.
    """

    name: str
    form: str
    digest: str
    graph: Graph
    states: tuple[Variable, ...]
    n_coordinates: int
    parameters: tuple[Variable, ...]
    inputs: tuple[Variable, ...]
    outputs: tuple[Variable, ...]
    invariants: tuple[Variable, ...]
    declared: tuple[Variable, ...]
    independent: str
    kernels: Mapping[str, Kernel]
    table: tuple[KernelRow, ...]
    guards: tuple[Variable, ...] = ()
    modes: tuple[Variable, ...] = ()
    events: tuple[EventEntry, ...] = ()
    contacts: tuple[ContactEntry, ...] = ()
    methods: tuple[Pair | Taylor, ...] = ()
    unarranged: Mapping[str, Kernel] = field(default_factory=dict, repr=False)

    def bringing(self, methods: tuple[Pair | Taylor, ...]) -> Self:
        """The same model with integration methods of its own."""
        digest = hashlib.sha256(f"{self.digest}\n{methods!r}".encode()).hexdigest()
        return replace(self, methods=methods, digest=digest) if methods else self

    @property
    def clock(self) -> str:
        """The name of the kernels' first argument in emitted code; "t" may be a state of Whittaker's equations."""
        return "t" if self.independent == "t" else "cg_t"

    def copy(self) -> Self:
        """The same program with a graph of its own, which can be extended."""
        return replace(self, graph=self.graph.copy())

    def of(self, row: KernelRow) -> list[Kernel]:
        """The kernels of one row: several for a kernel of events, none if the model does not have it."""
        if row.takes == "event":
            return [self.kernels[f"{row.name}_{i}"] for i in self.indices(row)]
        return [self.kernels[row.name]] if row.name in self.kernels else []

    def indices(self, row: KernelRow) -> list[int]:
        """The events for which there is a kernel in the row of a kernel of events."""
        return [i for i in range(len(self.events)) if f"{row.name}_{i}" in self.kernels]

    @property
    def rows(self) -> tuple[KernelRow, ...]:
        """The rows of the table that the model has."""
        looped = ("jacobian",) if "jvp" in self.kernels else ()
        return tuple(row for row in self.table if self.of(row) or row.name in looped)

    @property
    def entries(self) -> tuple[KernelEntry, ...]:
        """The kernels as callers see them."""
        found = []
        for row in self.rows:
            made = self.of(row)
            length = len(made[0].outputs) if made else len(self.states) ** 2
            found.append(KernelEntry(row.name, row.text, row.takes, length))
        return tuple(found)


def is_call(op: str) -> bool:
    """Whether an operation is a function that takes more than one of IEEE 754."""
    return op in FUNCTIONS and not FUNCTIONS[op].is_arithmetic


def has_functions(program: Lowered, kernels: Iterable[str]) -> bool:
    """Whether kernels use more than arithmetic, square roots, comparisons and selections."""
    g = program.graph
    roots: list[Node] = []
    for name in kernels:
        roots += program.kernels[name].roots()
    return any(is_call(g.op[n]) for n in g.reachable(roots))


def coded_from(program: Lowered, kernel: str) -> str:
    """The kernel from which the code of one is made: a Jacobian too long to unroll loops over `jvp`."""
    return kernel if kernel in program.kernels else "jvp"
