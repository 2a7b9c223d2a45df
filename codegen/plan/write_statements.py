"""A kernel as a list of statements: which intermediates get a name, what is stored where, in which order.

The C text, the SymPy view and the pure-Python backend are all printed from the same schedule, so they perform the same
operations in the same order.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count as count_from

from ..graph.functions import FUNCTIONS
from ..graph.graph import CONDITIONS, LEAVES, RELATIONS, Graph, Node
from ..lower.lowered import Kernel, Lowered
from ..lower.options import LoweringOptions
from .fma import FUSED
from .part import Part, counted
from .statements import Assign, Check, FactorSolve, Load, Schedule, SineCosine, Statement, Store

_MATH_NAMES = (
    "sqrt exp log sin cos tan asin acos atan sinh cosh tanh fabs pow fmin fmax atan2 copysign abs nan NAN INFINITY "
    "isfinite"
).split()
# Names that headers may define. Macros are in capitals by convention; the others are those of C and POSIX, such as
# PRIdMAX and si_addr, global variables, and what Windows or a compiler defines.
_TAKEN = re.compile(
    r"(?=.*[A-Z].*[A-Z])[A-Z0-9_]+\Z|I\Z|M_|(PRI|SCN)[a-z]|[LP]_[a-z]|(s[ai]|sigev|sched)_"
    r"|(errno|std(in|out|err)|math_errhandling|environ|signgam|tzname|timezone|daylight|opt(arg|err|ind|opt))\Z"
    r"|(linux|unix|i386|arm|mips|sparc|sun|near|far|small|hyper|interface|major|minor)\Z"
)


def emitted_name(name: str) -> str:
    """The name of a variable in emitted code: its own, unless that can clash with a C header."""
    return f"cg_name_{name}" if name in _library_names() or _TAKEN.match(name) else name


def _library_names() -> set[str]:
    """C library names that variables must not take in emitted code."""
    return {*_MATH_NAMES, *(f.c for f in FUNCTIONS.values())}


def variable_names(program: Lowered, kernel: Kernel) -> dict[str, tuple[str, str, int]]:
    """Symbol name to (name in emitted code, array, index)."""
    table: dict[str, tuple[str, str, int]] = {program.independent: (program.independent, "t", 0)}
    x = program.declared if kernel.takes == "declared" else program.states
    controls = (*program.inputs, *program.modes)
    for array, variables in (("x", x), ("p", program.parameters), ("u", controls)):
        for i, v in enumerate(variables):
            table[v.name] = (emitted_name(v.name), array, i)
    for i in range(kernel.directions):
        table[f"cg_v_{i}"] = (f"cg_v_{i}", "v", i)
    return table


def number(g: Graph, part: Part, options: LoweringOptions) -> Schedule:
    """The statements of a part in order, with a name for each intermediate that needs one."""
    kernel = part.kernel
    first = None if part.hoist is None else number(g, part.hoist, options)
    writer = _Writer(g, part, options.longest_statement)
    found = solves_of(g, kernel)
    writer.reserve(found.work)
    writer.table.update(found.results)
    for solve, statement in zip(kernel.solves, found.statements, strict=True):
        for i, node in enumerate(solve.matrix):
            writer.store("work", statement.matrix + i, node)
        for i, node in enumerate(solve.rhs):
            writer.store("work", statement.right + i, node)
        writer.statements.append(statement)
    # One branch, after everything is computed: nothing traps, and the compiler can reorder what comes before it.
    for node in (*kernel.outputs, *(n for pair in kernel.pivots for n in pair)):
        writer.need(node)
    if kernel.pivots:
        writer.statements.append(Check(kernel.pivots))
    for (array, i), node, comment in zip(part.places, kernel.outputs, kernel.comments, strict=True):
        writer.store(array, i, node, comment)
    return Schedule(
        kernel,
        tuple(writer.statements),
        writer.names,
        writer.work,
        counted(g, part),
        part.hoisted,
        first,
    )


@dataclass(frozen=True)
class Solves:
    """The solves of a kernel at their places in the workspace, the places of their results, and the length of all."""

    statements: tuple[FactorSolve, ...]
    results: dict[str, tuple[str, str, int]]
    work: int


def solves_of(g: Graph, kernel: Kernel) -> Solves:
    """The solves of a kernel, one after the other in the workspace."""
    factored: dict[str, tuple[int, int]] = {}
    found: list[FactorSolve] = []
    results: dict[str, tuple[str, str, int]] = {}
    work = 0

    def put(nodes: Sequence[Node], place: int) -> None:
        for i, node in enumerate(nodes):
            name = str(g.value[node])
            results[name] = (emitted_name(name), "work", place + i)

    for solve in kernel.solves:
        size = len(solve.rhs)
        if solve.matrix:
            rank = max(len(solve.pivots) - 1, 0)
            factored[solve.factors] = work, rank
            put(solve.pivots, work + len(solve.matrix))
            # and the diagonal before factoring, or what cg_rank.h says
            work += len(solve.matrix) + (rank * (size + rank + 2) + 1 if rank else size)
        place, rank = factored[solve.factors]
        found.append(FactorSolve(size, place, work, bool(solve.matrix), rank))
        put(solve.results, work)
        work += size
    return Solves(tuple(found), results, work)


class _Writer:
    """Writes statements; what is hoisted is read from the array "q"."""

    def __init__(self, g: Graph, part: Part, longest: int) -> None:
        self.graph, self.longest, kernel = g, longest, part.kernel
        self.given = {node: i for i, node in enumerate(part.hoisted)}
        self.table = dict(part.table)
        self.statements: list[Statement] = []
        self.names: dict[Node, str] = {}
        self.work = 0
        taken = {entry[0] for entry in self.table.values()} | _library_names()
        self.prefix, self.letter = (
            f"cg_{letter}" if any(re.fullmatch(rf"{letter}\d+", name) for name in taken) else letter
            for letter in "zk"
        )
        self.labels = {n: s for n, s in kernel.labels.items() if s not in taken}
        self.numbers = count_from(1)
        self.angles: dict[Node, tuple[Node, Node]] = {}  # a sine or cosine -> (sine, cosine)
        self._leave_values(kernel.roots())
        self.cut = self._shared(kernel.roots())

    def _leave_values(self, roots: Sequence[Node]) -> None:
        """Values of tables that are next to one another are read where they are."""
        g = self.graph
        for node in g.reachable(roots, stop=self.given):
            function = FUNCTIONS.get(g.op[node])
            values = g.args[node][function.linear_from :] if function is not None else ()
            places = [self.table[str(g.value[v])][1:] for v in values if g.op[v] == "symbol"]
            if places and places == [(places[0][0], places[0][1] + i) for i in range(len(values))]:
                self.names |= {v: f"cg_{a}[{i}]" for v, (a, i) in zip(values, places, strict=True)}

    def reserve(self, count: int) -> int:
        self.work += count
        return self.work - count

    def store(self, array: str, index: int, node: Node, comment: str = "") -> None:
        self.need(node)
        self.statements.append(Store(array, index, node, comment))

    def need(self, root: Node) -> None:
        """Emit the operands of a node, and the node itself if it has a name."""
        g = self.graph
        for node in self._pending(root):
            kind = g.op[node]
            if node in self.given:
                at = self.given[node]
                self.names[node] = self.labels.get(node, f"{self.letter}{at + 1}")
                self.statements.append(Load(self.names[node], "q", at))
            elif kind == "symbol":
                name, array, index = self.table[str(g.value[node])]
                self.names[node] = name
                if (name, array) != ("t", "t"):  # the time argument already has this name
                    self.statements.append(Load(name, array, index))
            elif node in self.angles:
                both = [Assign(self._fresh(n), n) for n in self.angles[node] if n not in self.names]
                if both:
                    self.names.update({s.node: s.name for s in both})
                    self.statements.append(SineCosine(*both))
            elif node in self.cut:
                self.names[node] = self._fresh(node)
                self.statements.append(Assign(self.names[node], node))

    def _pending(self, root: Node) -> list[Node]:
        """Nodes below the root that have no name yet, arguments first, in the order a reader would write them."""
        g, done, order = self.graph, set(self.names), []
        stack: list[tuple[Node, bool]] = [(root, False)]
        while stack:
            node, ready = stack.pop()
            if node in done:
                continue
            if ready:
                done.add(node)
                order.append(node)
                continue
            stack.append((node, True))
            if node not in self.given:
                stack.extend((a, False) for a in reversed(g.args[node]) if a not in done)
        return order

    def _fresh(self, node: Node) -> str:
        return self.labels.get(node) or f"{self.prefix}{next(self.numbers)}"

    def _shared(self, roots: Sequence[Node]) -> set[Node]:
        """The nodes that get a name: used more than once, labelled, or impossible to nest where they are used."""
        g = self.graph
        order = [n for n in g.reachable(roots, stop=self.given) if n not in self.given]
        uses = Counter(a for node in order for a in g.args[node])
        uses.update(roots)
        sines, cosines = ({g.args[n]: n for n in order if g.op[n] == op} for op in ("sin", "cos"))
        for angle, sine in sines.items():
            if angle in cosines:
                self.angles[sine] = self.angles[cosines[angle]] = sine, cosines[angle]
        named: set[Node] = set(self.angles)
        length: dict[Node, int] = {}
        for node in order:
            if g.op[node] in LEAVES:
                length[node] = 0
                continue
            length[node] = 1
            for i, a in enumerate(g.args[node]):
                if a in named or a in self.given or g.op[a] in (*LEAVES, *CONDITIONS):
                    continue
                if not _nests(g, node, i, a) or length[node] + length[a] > self.longest:
                    named.add(a)
                else:
                    length[node] += length[a]
            # Conditions are written inline, since all variables are doubles.
            if (uses[node] > 1 and g.op[node] not in CONDITIONS) or node in self.labels:
                named.add(node)
        return named


def _nests(g: Graph, node: Node, position: int, inner: Node) -> bool:
    """Whether `inner` can be written inside the text of `node`, unambiguous and with the same order of operations."""
    outer, op = g.op[node], g.op[inner]
    if op == "select" or outer == "select" or outer in RELATIONS:
        return False
    function = FUNCTIONS.get(outer)
    if function is not None:
        return function.switch is None or not function.switch.compares
    if outer in FUSED:
        return True
    product = op in ("mul", "div")
    if outer in ("add", "sub"):
        return product or op not in ("add", "sub", "neg") or position == 0
    if outer == "mul" and position == 1 and g.op[g.args[node][0]] == "const":
        return op != "neg"  # 0.5*(a + b)
    if outer in ("mul", "div"):
        return (position == 0 and op == "mul") or op not in ("add", "sub", "neg", "mul", "div")
    if outer == "neg":
        return op not in ("add", "sub", "neg", "div")
    return True
