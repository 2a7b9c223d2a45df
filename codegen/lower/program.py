"""`Program`, what is passed on to printing: named kernels, ready to print."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from chaplygin.runtime.interface.description import KernelEntry, Variable

from ..graph.functions import FUNCTIONS
from ..graph.graph import Graph, Node

if TYPE_CHECKING:
    from ..methods.pair import Pair
    from ..methods.taylor import Taylor
    from ..plan.statements import Schedule


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


@dataclass(frozen=True)
class Kernel:
    """A function of (t, x, p, u) in the graph.

    `pivots` are pairs (pivot, limit): the kernel returns the status `singular` when |pivot| <= limit.
    `labels` are preferred names of intermediates; `comments` describe the outputs, one each. `takes` is that of its
    row, and `directions` the length of v, if it takes one. Whatever depends only on the variables `beforehand` (the
    parameters, or none) is computed once before many calls: see `Schedule.hoist`. `cells` are nodes that belong
    together, such as those of one body, in an order in which they can be computed: see `codegen/plan/loops.py`.
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
    found by name alone. `effort` is that of its kernels.
    """

    name: str
    text: str
    takes: str = "state"
    slot: str = ""
    effort: float = 0.0


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
class Program:
    """A model as named kernels over one graph, ready to print in C or Python.

    `kernels` holds those that the model has of the kernels in `table`, by name; the modes of contacts follow the inputs
    in their u. A Jacobian too long to unroll is absent: the emitted one loops over `jvp`.
    `independent` names the argument `t` of the kernels: "t", or Whittaker's coordinate. `methods` are integration
    methods that the runtime does not have. `unarranged`: the kernels before the search for fewer operations, if the
    model has kinks, since the search may rewrite the functions whose zeros they are.
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
    _schedules: dict[str, Schedule] = field(default_factory=dict, init=False, repr=False, compare=False)

    def bringing(self, methods: tuple[Pair | Taylor, ...]) -> Program:
        """The same model with integration methods of its own."""
        digest = hashlib.sha256(f"{self.digest}\n{methods!r}".encode()).hexdigest()
        return replace(self, methods=methods, digest=digest) if methods else self

    def having(self, kernels: Mapping[str, Kernel]) -> Program:
        """The same model with other kernels; the schedules of those that stay are kept."""
        found = replace(self, kernels=kernels)
        found._schedules.update({k: s for k, s in self._schedules.items() if kernels[k] is self.kernels[k]})
        return found

    @property
    def clock(self) -> str:
        """The name of the kernels' first argument in emitted code; "t" may be a state of Whittaker's equations."""
        return "t" if self.independent == "t" else "cg_t"

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

    def schedule(self, kernel: str) -> Schedule:
        """The statements of one kernel, in the order in which they are printed, or its loops."""
        from ..plan.plan import schedule

        if kernel not in self._schedules:
            self._schedules[kernel] = schedule(self, self.kernels[kernel])
        return self._schedules[kernel]

    def written_out(self, kernel: str) -> Schedule:
        """The statements of one kernel, without loops over repeated cells."""
        from ..plan.plan import schedule

        plan = self.schedule(kernel)
        return plan if plan.rolled is None else schedule(self, self.kernels[kernel], loops=False)

    def operations(self, kernel: str = "rhs") -> int:
        """The number of arithmetic operations and function calls of one kernel, excluding hoisted ones."""
        return self.schedule(kernel).operations

    def to_sympy(self, kernel: str = "rhs") -> Any:
        """One kernel as a `sympy.codegen.ast.CodeBlock` of assignments, as it is emitted."""
        from ..emit.sympy_ast import assignments

        return assignments(self, kernel)


def is_call(op: str) -> bool:
    """Whether an operation is a function that takes more than one of IEEE 754."""
    return op in FUNCTIONS and not FUNCTIONS[op].is_arithmetic


def has_functions(program: Program, kernels: Iterable[str]) -> bool:
    """Whether kernels use more than arithmetic, square roots, comparisons and selections."""
    g = program.graph
    roots: list[Node] = []
    for name in kernels:
        roots += program.kernels[name].roots()
    return any(is_call(g.op[n]) for n in g.reachable(roots))
