"""The types passed between the last stages: `Program` (named kernels, ready to print) and `Sources` (emitted texts)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..graph.functions import FUNCTIONS
from ..graph.graph import Graph, Node

if TYPE_CHECKING:
    from .schedule import Schedule

KINDS = (
    "coordinate",
    "velocity",
    "parameter",
    "input",
    "declared",
    "output",
    "reaction",
    "invariant",
    "residual",
    "guard",
    "mode",
)
"""Kinds of named quantities, in the order of `enum cg_kind` in chaplygin.h."""


@dataclass(frozen=True)
class Variable:
    """A named quantity of a model: its kind (one of `KINDS`), unit, description, value at the example point.

    `flags`: its assumptions, bits of `enum cg_flag` (see `chaplygin.runtime.assumptions`).
    """

    name: str
    kind: str
    unit: str = ""
    description: str = ""
    example: float = float("nan")
    flags: int = 0


@dataclass(frozen=True)
class Solve:
    """One solution of M a = b inside a kernel, for a matrix too large to be factored in straight-line code.

    `matrix` holds the upper triangle by rows, `rhs` the right-hand side, `results` the symbol nodes that represent the
    solution in later expressions, including later solves. A solve without `matrix` reuses the factors of the previous
    solve with the same name in `factors`.
    """

    matrix: tuple[Node, ...]
    rhs: tuple[Node, ...]
    results: tuple[Node, ...]
    factors: str = "mass"


@dataclass(frozen=True)
class Kernel:
    """A function of (t, x, p, u) in the graph.

    `pivots` are pairs (pivot, limit): the kernel returns the status `singular` when |pivot| <= limit.
    `labels` are preferred names of intermediates; `comments` describe the outputs, one each. With `of_declared` the
    kernel's x are the declared coordinates and velocities, not the states. Whatever depends only on the variables
    `beforehand` (the parameters, or none) is computed once before many calls: see `Schedule.hoist`.
    """

    name: str
    outputs: tuple[Node, ...]
    comments: tuple[str, ...]
    pivots: tuple[tuple[Node, Node], ...] = ()
    solves: tuple[Solve, ...] = ()
    labels: Mapping[Node, str] = field(default_factory=dict)
    of_declared: bool = False
    beforehand: tuple[Node, ...] = ()

    def roots(self) -> list[Node]:
        """Every node that has to be computed."""
        solves = [n for s in self.solves for n in (*s.matrix, *s.rhs)]
        return [*solves, *(n for pair in self.pivots for n in pair), *self.outputs]


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

    `kernels` holds `rhs` and, where the model has them, `jacobian`, `jvp`, `outputs`, `invariants`, `guards`,
    `contacts`, `project`, `initial`, `consistency`, and `reset_<i>` for each event i with a reset. The modes of
    contacts follow the inputs in the kernels' u.
    `independent` names the argument `t` of the kernels: "t", or Whittaker's coordinate.
    A Jacobian too long to unroll is absent: the emitted one loops over `jvp`.
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
    guards: tuple[Variable, ...] = ()
    modes: tuple[Variable, ...] = ()
    events: tuple[EventEntry, ...] = ()
    contacts: tuple[ContactEntry, ...] = ()

    @property
    def clock(self) -> str:
        """The name of the kernels' first argument in emitted code; "t" may be a state of Whittaker's equations."""
        return "t" if self.independent == "t" else "cg_t"

    def schedule(self, kernel: str) -> Schedule:
        """The statements of one kernel, in the order in which they are printed."""
        from .schedule import schedule

        return schedule(self, self.kernels[kernel])

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


@dataclass(frozen=True)
class Sources:
    """Emitted texts by file name, with the digest of the declaration."""

    name: str
    digest: str
    files: Mapping[str, str]
