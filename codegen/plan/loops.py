"""Kernels of repeated parts as loops: the parts of one kind become one function, called with places in arrays.

A cell is a list of nodes that belong together, such as what one sweep computes for one body. Its own nodes are those
that no cell before it has; what later cells read of them is its record in the workspace. Cells with the same operations
on their inputs, which are elements of arrays, are instances of one template. The inputs of a template whose places
differ by the same numbers in every instance form a frame, so that an instance is known by one place for each frame.
Constants that differ between the instances are inputs too: elements of a table of numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from ..graph.graph import Graph, Node
from ..lower.program import Kernel
from .arrange import BUDGET, arranged
from .signed_constants import with_signs
from .statements import Call, Place, Rolled, Run, Template
from .write_statements import scheduled

if TYPE_CHECKING:
    from ..lower.program import Program
    from .statements import FactorSolve

LONGEST_WRITTEN_OUT = 10_000
"""Operations up to which a kernel is written out if templates would be longer than three quarters of it.

Over lanes the records of 30 different joints cost a third of the time."""
LONGEST_CELL = 1000
"""Operations of the longest cell up to which that depends on the length of the kernel."""
LONGEST_PERIOD = 12
"""Maximum number of cells that a loop repeats together."""
_COMMUTING = ("add", "mul")
_ARITHMETIC = (*_COMMUTING, "sub", "div")
"""Operations whose constants may become inputs; others, such as powers, depend on their values."""


@dataclass
class Cell:
    """A cell: its nodes in a canonical order, its inputs in order of appearance, what it must give.

    `places` are those of its nodes in the workspace, `number` the nodes' positions, and `table` has the places of the
    constants among its inputs.
    """

    nodes: list[Node]
    inputs: list[Node]
    stores: list[tuple[Node, Place]]
    pivots: list[tuple[Node, Node]]
    key: object = None
    places: dict[int, int] = field(default_factory=dict)
    number: dict[Node, int] = field(default_factory=dict)
    table: dict[Node, int] = field(default_factory=dict)


class Kinds:
    """Small numbers for equal structures."""

    def __init__(self) -> None:
        self.numbers: dict[object, int] = {}

    def of(self, key: object) -> int:
        return self.numbers.setdefault(key, len(self.numbers))


def rolled(
    program: Program, kernel: Kernel, given: Mapping[Node, int], table: Mapping[str, Place]
) -> Rolled | None:
    """The kernel as runs of templates; None if it is written out.

    It is written out if its cells hardly repeat, unless it is long and consists of short cells.
    `given` are the places of hoisted nodes in the array "q", `table` those of the variables.
    """
    g = program.graph
    kernel = with_signs(g, kernel, given)
    cells, home = _cells(g, kernel, given)
    kinds = Kinds()

    def array(n: Node) -> str:
        """The array that holds a node; "" for a constant whose value matters."""
        if n in given:
            return "q"
        if g.op[n] == "symbol":
            return table[str(g.value[n])][0]
        return "work" if n in home else ""

    for cell in cells:
        canonical(g, cell, array, kinds)
    kept = _groups(cells)
    whole = sum(len(cell.nodes) for cell in cells)
    short = whole <= LONGEST_WRITTEN_OUT or max(len(cell.nodes) for cell in cells) > LONGEST_CELL
    if short and 4 * sum(len(found[0].nodes) for found in kept.values()) > 3 * whole:
        return None
    several = sum(len(found) > 1 for found in kept.values())
    share = BUDGET // max(several, 1) if kernel.beforehand else 0  # the right-hand side is worth the search
    return assembled(program, kernel, [cells], home, given, table, share)


def _groups(cells: Iterable[Cell]) -> dict[object, list[Cell]]:
    """The cells of each kind."""
    groups: dict[object, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.key, []).append(cell)
    return groups


def assembled(
    program: Program,
    kernel: Kernel,
    phases: Sequence[Sequence[Cell]],
    home: Mapping[Node, Cell],
    given: Mapping[Node, int],
    table: Mapping[str, Place],
    share: int = 0,
    solves: Sequence[FactorSolve] = (),
    work: int = 0,
) -> Rolled:
    """The runs of the cells of each phase, with a solve after each but the last.

    `share` is the budget for arranging a template, `work` the length of what is solved, before the records.
    """
    cells = [*chain.from_iterable(phases)]
    groups = _groups(cells)
    numbers = _numbers(program.graph, groups)
    exports, work = _records(cells, groups, work)
    templates, frames = [], []
    counts = [0, 0, 0]
    for found in groups.values():
        budget = share if len(found) > 1 else min(share, 1)  # 1: the first arrangement, without a search
        template, places = _template(program, kernel, found, exports, home, given, table, budget)
        templates.append(template)
        frames.append(iter(places))
        plan = template.schedule
        for i, n in enumerate((plan.operations, plan.divisions, plan.functions)):
            counts[i] += n * len(found)
    index = {key: i for i, key in enumerate(groups)}
    runs: list[Run | FactorSolve] = []
    for number, phase in enumerate(phases):
        kinds = [index[cell.key] for cell in phase]
        runs += [*_runs([(kind, next(frames[kind])) for kind in kinds]), *solves[number : number + 1]]
    return Rolled(tuple(templates), tuple(runs), work, numbers, *counts)


def _cells(g: Graph, kernel: Kernel, given: Mapping[Node, int]) -> tuple[list[Cell], dict[Node, Cell]]:
    """The cells of a kernel that it needs, the rest of it as a last cell, and the cell of each node."""
    wanted: dict[Node, list[int]] = {}
    for i, node in enumerate(kernel.outputs):
        wanted.setdefault(node, []).append(i)
    needed = set(g.reachable(kernel.roots(), stop=given))
    place: dict[Node, int] = {}
    stores: list[list[tuple[Node, Place]]] = []
    for roots in (*kernel.cells, tuple(kernel.roots())):
        kept = [n for n in dict.fromkeys(roots) if n in needed]
        place.update(dict.fromkeys(_below(g, kept, place, given), len(stores)))
        stores.append([(n, ("out", i)) for n in kept for i in wanted.pop(n, ())])
    _put_off(g, place, {n for n, _ in chain.from_iterable(stores)})
    members: list[list[Node]] = [[] for _ in stores]
    for n in sorted(place):
        members[place[n]].append(n)
    cells = [Cell(own, [], given_to, []) for own, given_to in zip(members, stores, strict=True)]
    for pair in kernel.pivots:
        at = max((place[n] for n in pair if n in place), default=0)
        cells[at].pivots.append(pair)
    home = {n: cells[i] for n, i in place.items()}
    return [cell for cell in cells if cell.nodes or cell.stores or cell.pivots], home


def _put_off(g: Graph, place: dict[Node, int], stored: Set[Node]) -> None:
    """Move what only later cells read to the first of them where this does not lengthen the records.

    A node stays if it is the last in its cell to read a record: sums along the sweeps would all move to their ends.
    """
    users: dict[Node, list[Node]] = {n: [] for n in place}
    for n in place:
        for a in set(g.args[n]) & place.keys():
            users[a].append(n)
    for n in sorted(place, reverse=True):
        here, first = place[n], min((place[u] for u in users[n]), default=0)
        if n in stored or first <= here:
            continue
        args = {a for a in g.args[n] if a in place}
        others = {a: [place[u] for u in users[a] if u != n] for a in args}
        added = [a for a in args if all(at == place[a] for at in others[a])]
        if len(added) <= 1 and all(place[a] == here or min(others[a], default=first) <= here for a in args):
            place[n] = first


def _below(g: Graph, roots: Sequence[Node], known: Container[Node], given: Container[Node]) -> list[Node]:
    """The nodes that the roots need and no cell before has, in evaluation order."""
    seen: set[Node] = set()
    stack = list(roots)
    while stack:
        n = stack.pop()
        if n not in seen and n not in known and n not in given and g.args[n]:
            seen.add(n)
            stack.extend(g.args[n])
    return sorted(seen)


def canonical(g: Graph, cell: Cell, array_of: Callable[[Node], str], kinds: Kinds) -> None:
    """Put the nodes of a cell in an order that depends on its structure alone, and describe that structure.

    `array_of` gives the array of an input; for a constant, nothing.
    """
    kept = {a for n in cell.nodes if g.op[n] not in _ARITHMETIC for a in g.args[n]}

    def array(n: Node) -> str:
        return "numbers" if g.op[n] == "const" and n not in kept else array_of(n)

    roots = [n for n, _ in cell.stores] + [n for pair in cell.pivots for n in pair]
    shape = _shapes(g, cell, array, kinds)
    own = set(cell.nodes)
    number: dict[Node, int] = {}
    inputs: dict[Node, int] = {}
    text: list[object] = []

    def name(n: Node) -> object:
        return (0, number[n]) if n in number else (1, inputs[n]) if n in inputs else (2, n)

    stack = [(n, False) for n in reversed((*roots, *reversed(cell.nodes)))]
    while stack:
        n, ready = stack.pop()
        if n in number or n in inputs:
            continue
        if n not in own:
            if array(n):
                inputs[n] = len(inputs)
            continue
        args = list(g.args[n])
        if g.op[n] in _COMMUTING:
            args.sort(key=shape.__getitem__)
        if ready:
            text.append((g.op[n], *map(name, args)))
            number[n] = len(number)
        else:
            stack.append((n, True))
            stack.extend((a, False) for a in reversed(args))
    stores = tuple((name(n), to) for n, (to, _) in cell.stores)
    pivots = tuple((name(a), name(b)) for a, b in cell.pivots)
    cell.key = tuple(text), stores, pivots, tuple(map(array, inputs))
    cell.nodes, cell.inputs, cell.number = list(number), list(inputs), number


def _shapes(g: Graph, cell: Cell, array: Callable[[Node], str], kinds: Kinds) -> dict[Node, int]:
    """Numbers for the structures of a cell's nodes and inputs; the order of factors and summands does not matter."""
    shape: dict[Node, int] = {}
    for n in sorted(cell.nodes):
        for a in g.args[n]:
            if a not in shape:
                shape[a] = kinds.of(("input", array(a)) if array(a) else ("constant", a))
        parts = [shape[a] for a in g.args[n]]
        shape[n] = kinds.of((g.op[n], *(sorted(parts) if g.op[n] in _COMMUTING else parts)))
    return shape


def _records(
    cells: Sequence[Cell], groups: Mapping[object, list[Cell]], work: int
) -> tuple[dict[object, list[int]], int]:
    """The numbers of the nodes that the cells of each kind store, and the length of all records after `work` places.

    Places are used again once their last reader is done.
    """
    readers: dict[Node, int] = {}
    for at, cell in enumerate(cells):
        readers.update(dict.fromkeys(cell.inputs, at))
    exports = {
        key: sorted({i for cell in found for i, n in enumerate(cell.nodes) if n in readers})
        for key, found in groups.items()
    }
    chunks = {key: _chunks(exports[key], found, readers) for key, found in groups.items()}
    free: dict[int, list[int]] = {}
    read: dict[int, list[tuple[int, int]]] = {}
    for at, cell in enumerate(cells):
        for chunk in chunks[cell.key]:
            size = len(chunk)
            if free.get(size):
                start = free[size].pop()
            else:
                start, work = work, work + size
            cell.places.update({i: start + k for k, i in enumerate(chunk)})
            last = max(readers.get(cell.nodes[i], at) for i in chunk)
            read.setdefault(last, []).append((size, start))
        for size, start in read.pop(at, ()):  # not before: a cell's inputs and results do not overlap
            free.setdefault(size, []).append(start)
    return exports, work


def _chunks(stored: Sequence[int], found: Sequence[Cell], readers: Mapping[Node, int]) -> list[list[int]]:
    """The results that cells of one kind store, those together that are read last by the same cell."""
    chunks: dict[object, list[int]] = {}
    for i in stored:
        chunks.setdefault(tuple(readers.get(cell.nodes[i]) for cell in found), []).append(i)
    return list(chunks.values())


def _numbers(g: Graph, groups: Mapping[object, list[Cell]]) -> tuple[Node, ...]:
    """The table of the constants that differ between cells of one kind; the others are no longer inputs."""
    table: list[Node] = []
    for found in groups.values():
        known: dict[tuple[Node, ...], int] = {}
        columns = zip(*(cell.inputs for cell in found), strict=True)
        differ = [len(set(column)) > 1 for column in columns]
        for cell in found:
            pairs = zip(cell.inputs, differ, strict=True)
            cell.inputs = [n for n, other in pairs if other or g.op[n] != "const"]
            own = tuple(n for n in cell.inputs if g.op[n] == "const")
            start = known.setdefault(own, len(table))
            table += own if start == len(table) else ()
            cell.table = {n: start + i for i, n in enumerate(own)}
    return tuple(table)


def _template(
    program: Program,
    kernel: Kernel,
    cells: Sequence[Cell],
    exports: Mapping[object, list[int]],
    home: Mapping[Node, Cell],
    given: Mapping[Node, int],
    table: Mapping[str, Place],
    budget: int,
) -> tuple[Template, list[tuple[int, ...]]]:
    """The template of cells of one kind, and the places of its frames in each of them."""
    g, first = program.graph, cells[0]
    stored = exports[first.key]

    def place(n: Node, reader: Cell) -> Place:
        if n in reader.table:
            return "numbers", reader.table[n]
        if n in given:
            return "q", given[n]
        if g.op[n] == "symbol":
            return table[str(g.value[n])]
        cell = home[n]
        return "work", cell.places[cell.number[n]]

    frames, where, places = _frames([[place(n, cell) for n in cell.inputs] for cell in cells], "a")
    of_results = [
        [to for _, to in cell.stores] + [("work", cell.places[j]) for j in stored] for cell in cells
    ]
    results, to, more = _frames(of_results, "b")
    slots = {n: g.symbol(f"cg_slot_{i}") for i, n in enumerate(first.inputs)}
    clock = {n: n for n in first.inputs if where[first.inputs.index(n)] == ("t", 0)}
    names = {f"cg_slot_{i}": (f"{a}_{k}", a, k) for i, (a, k) in enumerate(where) if a != "t"}
    names[program.independent] = (program.independent, "t", 0)
    roots = [n for n, _ in first.stores] + [first.nodes[i] for i in stored]
    flat = g.substitute([*roots, *(n for pair in first.pivots for n in pair)], slots | clock)
    tail = iter(flat[len(roots) :])
    part = Kernel(
        kernel.name,
        tuple(flat[: len(roots)]),
        tuple(kernel.comments[i] if a == "out" and len(cells) == 1 else "" for _, (a, i) in first.stores)
        + ("",) * len(stored),
        tuple(zip(tail, tail, strict=True)),
    )
    plan = scheduled(program, arranged(g, part, budget) if budget else part, names, to)
    return Template(plan, frames | results), [(*a, *b) for a, b in zip(places, more, strict=True)]


def _frames(
    instances: Sequence[Sequence[Place]], letter: str
) -> tuple[dict[str, str], list[Place], list[tuple[int, ...]]]:
    """Frames by name, each value's place in its frame, and the places of the frames in every instance."""
    shifts: dict[object, list[int]] = {}
    first = instances[0]
    for k, (array, index) in enumerate(first):
        if array != "t":
            shifts.setdefault((array, tuple(other[k][1] - index for other in instances)), []).append(k)
    frames: dict[str, str] = {}
    where: list[Place] = [("t", 0)] * len(first)
    places: list[list[int]] = [[] for _ in instances]
    for number, members in enumerate(shifts.values()):
        array = first[members[0]][0]
        name = array if array == "numbers" else f"{letter}{number + 1}"  # one frame: they lie side by side
        frames[name] = array
        least = min(first[k][1] for k in members)
        for k in members:
            where[k] = name, first[k][1] - least
        start = min(members, key=lambda k: first[k][1])
        for found, other in zip(places, instances, strict=True):
            found.append(other[start][1])
    return frames, where, [tuple(found) for found in places]


def _runs(sequence: Sequence[tuple[int, tuple[int, ...]]]) -> list[Run]:
    """The calls in order, with repeated sequences of templates as loops."""
    kinds = [kind for kind, _ in sequence]
    found = []
    at = 0
    while at < len(kinds):
        best, count = 1, 1
        for period in range(1, min(LONGEST_PERIOD, (len(kinds) - at) // 2) + 1):
            times = 1
            while kinds[at + times * period : at + (times + 1) * period] == kinds[at : at + period]:
                times += 1
            if times > 1 and times * period > best * count * (count > 1):
                best, count = period, times
        calls = []
        for k in range(best):
            places = [sequence[at + i * best + k][1] for i in range(count)]
            calls.append(Call(kinds[at + k], tuple(zip(*places, strict=True))))
        found.append(Run(count, tuple(calls)))
        at += best * count
    return found
