"""Kernels of repeated parts, cut into cells.

A cell is a list of nodes that belong together, such as what one sweep computes for one body. Its own nodes are those
that no cell before it has. Cells with the same operations on their inputs, which are elements of arrays, are of one
kind: see `loops.py`. Constants that differ between the cells of a kind are inputs too: elements of a table of numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence, Set
from dataclasses import replace
from itertools import chain

from ..graph.graph import Graph, Node
from ..lower.options import LoweringOptions
from .part import Cell, Cut, Part
from .statements import Place

_COMMUTING = ("add", "mul")
_ARITHMETIC = (*_COMMUTING, "sub", "div")
"""Operations whose constants may become inputs; others, such as powers, depend on their values."""


class ShapeTable:
    """Small numbers for equal structures."""

    def __init__(self) -> None:
        self.numbers: dict[object, int] = {}

    def of(self, key: object) -> int:
        return self.numbers.setdefault(key, len(self.numbers))


def cells(g: Graph, part: Part, options: LoweringOptions) -> Part:
    """The part with its `cut`, if its kernel becomes loops.

    It is written out if its cells hardly repeat, unless it is long and consists of short cells.
    """
    kernel, given = part.kernel, set(part.hoisted)
    if not kernel.cells:
        return part
    found, home = _cells(g, part)

    def array(n: Node) -> str:
        """The array that holds a node; "" for a constant whose value matters."""
        if n in given:
            return "q"
        if g.op[n] == "symbol":
            return part.table[str(g.value[n])][1]
        return "work" if n in home else ""

    shapes = ShapeTable()
    for cell in found:
        canonical(g, cell, array, shapes)
    kinds = groups(found)
    whole = sum(len(cell.nodes) for cell in found)
    long = max(len(cell.nodes) for cell in found) > options.longest_cell
    repeats = 4 * sum(len(alike[0].nodes) for alike in kinds.values()) <= 3 * whole
    if not repeats and (whole <= options.longest_written_out or long):
        return part
    several = sum(len(alike) > 1 for alike in kinds.values())
    # the right-hand side is worth the search
    share = options.budget // max(several, 1) if kernel.beforehand else 0
    return replace(part, cut=Cut((tuple(found),), share=share))


def groups(found: Iterable[Cell]) -> dict[object, list[Cell]]:
    """The cells of each kind."""
    kinds: dict[object, list[Cell]] = {}
    for cell in found:
        kinds.setdefault(cell.key, []).append(cell)
    return kinds


def _cells(g: Graph, part: Part) -> tuple[list[Cell], Set[Node]]:
    """The cells of a kernel that it needs, with the rest of it as a last cell, and their nodes."""
    kernel, given = part.kernel, set(part.hoisted)
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
    return [cell for cell in cells if cell.nodes or cell.stores or cell.pivots], place.keys()


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


def canonical(g: Graph, cell: Cell, array_of: Callable[[Node], str], shapes: ShapeTable) -> None:
    """Put the nodes of a cell in an order that depends on its structure alone, and describe that structure.

    `array_of` gives the array of an input; for a constant, nothing.
    """
    kept = {a for n in cell.nodes if g.op[n] not in _ARITHMETIC for a in g.args[n]}

    def array(n: Node) -> str:
        return "numbers" if g.op[n] == "const" and n not in kept else array_of(n)

    roots = [n for n, _ in cell.stores] + [n for pair in cell.pivots for n in pair]
    shape = _shapes(g, cell, array, shapes)
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
    cell.nodes, cell.inputs = list(number), list(inputs)


def _shapes(g: Graph, cell: Cell, array: Callable[[Node], str], shapes: ShapeTable) -> dict[Node, int]:
    """Numbers for the structures of a cell's nodes and inputs; the order of factors and summands does not matter."""
    shape: dict[Node, int] = {}
    for n in sorted(cell.nodes):
        for a in g.args[n]:
            if a not in shape:
                shape[a] = shapes.of(("input", array(a)) if array(a) else ("constant", a))
        parts = [shape[a] for a in g.args[n]]
        shape[n] = shapes.of((g.op[n], *(sorted(parts) if g.op[n] in _COMMUTING else parts)))
    return shape
