"""Kernels of cells as loops: the cells of one kind become one function, a template, called with places in arrays.

What later cells read of a cell is its record in the workspace. The inputs of a template whose places differ by the same
numbers in every cell form a frame, so that a cell is known by one place for each frame.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain

from ..graph.graph import Graph, Node
from ..lower.lowered import Kernel
from ..lower.options import LoweringOptions
from .cells import groups
from .part import Cell, Part, of_solves
from .statements import Call, FactorSolve, Place, Rolled, Run, Schedule, Template

Kinds = Mapping[object, Sequence[Cell]]
"""The cells of each kind."""


def looped(g: Graph, part: Part, options: LoweringOptions, finish: Callable[[Part], Schedule]) -> Schedule:
    """The schedule of a kernel that is cut into cells: runs of templates, with a solve after each phase but the last.

    `finish` takes a template through the other passes.
    """
    cut = part.cut
    assert cut is not None
    first = None if part.hoist is None else finish(part.hoist)
    kinds = groups(chain.from_iterable(cut.phases))
    numbers, work = _lay_out(g, part, kinds, cut.work)
    counts = of_solves(part.kernel)
    templates: list[Template] = []
    frames: list[Iterator[tuple[int, ...]]] = []
    for alike in kinds.values():
        # 1: the first arrangement, without a search
        budget = cut.share if len(alike) > 1 else min(cut.share, 1)
        template, names, places = _template(g, part, alike, budget)
        plan = finish(template)
        templates.append(Template(plan, names))
        frames.append(iter(places))
        counts += plan.counts * len(alike)
    index = {key: i for i, key in enumerate(kinds)}
    runs: list[Run | FactorSolve] = []
    for number, phase in enumerate(cut.phases):
        sequence = [index[cell.key] for cell in phase]
        calls = [(kind, next(frames[kind])) for kind in sequence]
        runs += [*_runs(calls, options.longest_period), *cut.solves[number : number + 1]]
    loops = Rolled(tuple(templates), tuple(runs), work, numbers)
    return Schedule(part.kernel, (), {}, work, counts, given=part.hoisted, hoist=first, rolled=loops)


def _lay_out(g: Graph, part: Part, kinds: Kinds, work: int) -> tuple[tuple[Node, ...], int]:
    """Tell the cells where they read and write; the table of numbers, and the length of the workspace.

    The first `work` places are those of what is solved.
    """
    numbers = _numbers(g, kinds)
    stored, where, work = _records(kinds, [*chain.from_iterable(part.cut.phases if part.cut else ())], work)
    where |= {n: ("q", i) for i, n in enumerate(part.hoisted)}

    def place(n: Node) -> Place:
        return part.table[str(g.value[n])][1:] if g.op[n] == "symbol" and n not in where else where[n]

    for key, alike in kinds.items():
        for cell in alike:
            kept = [cell.nodes[i] for i in stored[key]]
            cell.reads = [("numbers", cell.table[n]) if n in cell.table else place(n) for n in cell.inputs]
            cell.results = [*(n for n, _ in cell.stores), *kept]
            cell.writes = [*(to for _, to in cell.stores), *map(place, kept)]
    return numbers, work


def _records(
    kinds: Kinds, cells: Sequence[Cell], work: int
) -> tuple[dict[object, list[int]], dict[Node, Place], int]:
    """The numbers of the nodes that the cells of each kind store, where these are, and the end of all records.

    The records begin at `work`, and their places are used again once their last reader is done.
    """
    readers: dict[Node, int] = {}
    for at, cell in enumerate(cells):
        readers.update(dict.fromkeys(cell.inputs, at))
    exports = {
        key: sorted({i for cell in found for i, n in enumerate(cell.nodes) if n in readers})
        for key, found in kinds.items()
    }
    chunks = {key: _chunks(exports[key], found, readers) for key, found in kinds.items()}
    where: dict[Node, Place] = {}
    free: dict[int, list[int]] = {}
    read: dict[int, list[tuple[int, int]]] = {}
    for at, cell in enumerate(cells):
        for chunk in chunks[cell.key]:
            size = len(chunk)
            if free.get(size):
                start = free[size].pop()
            else:
                start, work = work, work + size
            where |= {cell.nodes[i]: ("work", start + k) for k, i in enumerate(chunk)}
            last = max(readers.get(cell.nodes[i], at) for i in chunk)
            read.setdefault(last, []).append((size, start))
        for size, start in read.pop(at, ()):  # not before: a cell's inputs and results do not overlap
            free.setdefault(size, []).append(start)
    return exports, where, work


def _chunks(stored: Sequence[int], found: Sequence[Cell], readers: Mapping[Node, int]) -> list[list[int]]:
    """The results that cells of one kind store, those together that are read last by the same cell."""
    chunks: dict[object, list[int]] = {}
    for i in stored:
        chunks.setdefault(tuple(readers.get(cell.nodes[i]) for cell in found), []).append(i)
    return list(chunks.values())


def _numbers(g: Graph, kinds: Kinds) -> tuple[Node, ...]:
    """The table of the constants that differ between cells of one kind; the others are no longer inputs."""
    table: list[Node] = []
    for found in kinds.values():
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
    g: Graph, part: Part, alike: Sequence[Cell], budget: int
) -> tuple[Part, dict[str, str], list[tuple[int, ...]]]:
    """The template of cells of one kind, the arrays of its frames, and their places in each of the cells."""
    first = alike[0]
    inputs, where, places = _frames([cell.reads for cell in alike], "a")
    results, to, more = _frames([cell.writes for cell in alike], "b")
    table = {f"cg_slot_{i}": (f"{a}_{k}", a, k) for i, (a, k) in enumerate(where) if a != "t"}
    table |= {name: entry for name, entry in part.table.items() if entry[1] == "t"}
    slots = {n: g.symbol(f"cg_slot_{i}") for i, n in enumerate(first.inputs)}
    slots |= {n: n for n, (array, _) in zip(first.inputs, where, strict=True) if array == "t"}
    own = Kernel(part.kernel.name, tuple(first.results), _comments(part.kernel, alike), tuple(first.pivots))
    roots = own.roots()
    new = dict(zip(roots, g.substitute(roots, slots), strict=True))
    template = Part(own.map(new.__getitem__), table, tuple(to), budget, len(alike))
    return template, inputs | results, [(*a, *b) for a, b in zip(places, more, strict=True)]


def _comments(kernel: Kernel, alike: Sequence[Cell]) -> tuple[str, ...]:
    """The comments of the results of a template: those of the kernel's outputs, if it is called once."""
    return tuple(
        kernel.comments[i] if array == "out" and len(alike) == 1 else "" for array, i in alike[0].writes
    )


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


def _runs(sequence: Sequence[tuple[int, tuple[int, ...]]], longest: int) -> list[Run]:
    """The calls in order, with repeated sequences of templates as loops."""
    kinds = [kind for kind, _ in sequence]
    found = []
    at = 0
    while at < len(kinds):
        best, count = 1, 1
        for period in range(1, min(longest, (len(kinds) - at) // 2) + 1):
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
