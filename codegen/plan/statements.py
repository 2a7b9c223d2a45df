"""The statements of a kernel as data, which each language prints in its own way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass

from ..graph.graph import Node
from ..lower.lowered import Kernel

Place = tuple[str, int]
"""An element of an array."""


@dataclass(frozen=True)
class Template:
    """What the cells of one kind compute: `frames` are the arrays that hold its inputs and its results, by name."""

    schedule: Schedule
    frames: Mapping[str, str]


@dataclass(frozen=True)
class Call:
    """A template at the places of its frames, one of each in every repetition."""

    template: int
    places: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Run:
    """Calls that are repeated together, one after the other."""

    count: int
    calls: tuple[Call, ...]


@dataclass(frozen=True)
class Rolled:
    """A kernel as runs of templates, between which systems are solved.

    `work` is the length of the records and of what is solved, `numbers` are the constants in the table.
    """

    templates: tuple[Template, ...]
    runs: tuple[Run | FactorSolve, ...]
    work: int
    numbers: tuple[Node, ...]


@dataclass(frozen=True)
class Assign:
    """name = expression of `node` in the names known before."""

    name: str
    node: Node


@dataclass(frozen=True)
class SineCosine:
    """The sine and the cosine of one angle, computed together."""

    sine: Assign
    cosine: Assign


@dataclass(frozen=True)
class Load:
    """name = array[index]: a variable read where it is first used."""

    name: str
    array: str
    index: int


@dataclass(frozen=True)
class Store:
    """array[index] = value of `node`; `array` is "out", "work" or "q"."""

    array: str
    index: int
    node: Node
    comment: str = ""


@dataclass(frozen=True)
class Check:
    """Return the status `singular` when |pivot| <= limit for one of the pairs (pivot, limit)."""

    pairs: tuple[tuple[Node, Node], ...]


@dataclass(frozen=True)
class FactorSolve:
    """Factor (if `factor`) the matrix at work[matrix] and solve for the right-hand side at work[right] in place.

    With a `rank` the matrix is semidefinite, of that rank, and the solution is that of least norm.
    """

    size: int
    matrix: int
    right: int
    factor: bool
    rank: int = 0


Statement = Assign | SineCosine | Load | Store | Check | FactorSolve


def assigned(s: Statement) -> tuple[Assign, ...]:
    """The assignments of names to nodes in a statement."""
    if isinstance(s, SineCosine):
        return s.sine, s.cosine
    return (s,) if isinstance(s, Assign) else ()


@dataclass(frozen=True)
class Tally:
    """Operations of a kernel, the divisions and functions among them, and further operations done beforehand."""

    operations: int
    divisions: int
    functions: int
    hoisted: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def __mul__(self, times: int) -> Tally:
        return Tally(*(times * n for n in astuple(self)))


@dataclass(frozen=True)
class Schedule:
    """The statements of a kernel, the names of its nodes, its workspace and its counts.

    `hoist` computes what depends on parameters alone: a separate schedule that runs once before `statements`, which
    read its results, the nodes `given`, from the array "q". `counts` has the operations of one call, without those
    of `hoist`. A long kernel of repeated cells has no statements but is `rolled`.
    """

    kernel: Kernel
    statements: tuple[Statement, ...]
    names: dict[Node, str]
    work: int
    counts: Tally
    given: tuple[Node, ...] = ()
    hoist: Schedule | None = None
    rolled: Rolled | None = None

    @property
    def operations(self) -> int:
        """Arithmetic and function calls."""
        return self.counts.operations

    @property
    def divisions(self) -> int:
        return self.counts.divisions

    @property
    def hoisted(self) -> int:
        """The length of the array "q"."""
        return 0 if self.hoist is None else len(self.hoist.kernel.outputs)

    @property
    def size(self) -> int:
        """The length of the code: a function of `cg_math.h` counts as 25 operations."""
        return self.operations + 24 * self.counts.functions

    @property
    def passes(self) -> tuple[Schedule, ...]:
        """The schedules to run in order: `hoist`, if there is one, and this one."""
        return (self,) if self.hoist is None else (self.hoist, self)
