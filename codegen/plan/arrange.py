"""Compute a kernel's values in fewer operations.

Which sums are expanded determines what cancels and what can be shared. Several choices are tried in a fixed order, and
a choice is kept if the operations left after factoring cost less. Expressions in the parameters alone are free in a
kernel that computes them once per trajectory.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from ..graph.graph import Graph, Node
from ..lower.lowered import Kernel
from ..lower.options import DEFAULT, LoweringOptions
from .factor import Term
from .part import Part
from .rebuild import Arrangement, Builder, weight
from .terms import SUMS, Atoms, Expansion, Frozen, TooManyTerms, checked_pairs


def arrange(g: Graph, part: Part, options: LoweringOptions) -> Part:
    """The part with the same values in fewer operations."""
    if not part.budget:
        return part
    return replace(part, kernel=arranged(g, part.kernel, part.budget, options))


def arranged(
    g: Graph, kernel: Kernel, budget: int = DEFAULT.budget, options: LoweringOptions = DEFAULT
) -> Kernel:
    """The kernel with the same values in fewer operations; the kernel itself if no arrangement has fewer."""
    try:
        expansion, arrangement, values = _ArrangementSearch(g, kernel, budget, options).best()
    except TooManyTerms:
        return kernel
    builder = Builder(g, arrangement, kernel.name == "rhs")
    outputs = tuple(builder.value(v) for v in values.outputs)
    pairs = tuple((builder.value(p), builder.value(limit)) for p, limit in values.pairs)
    solves = tuple(
        replace(solve, matrix=tuple(map(builder.value, m)), rhs=tuple(map(builder.value, r)))
        for solve, (m, r) in zip(kernel.solves, values.solves, strict=True)
    )
    labels: dict[Node, str] = {}
    for node, label in kernel.labels.items():
        made = builder.found(expansion.frozen(node)) if node in expansion.terms else None
        if made is not None:
            labels.setdefault(made, label)
    found = replace(kernel, outputs=outputs, pivots=pairs, solves=solves, labels=labels)
    return found if _cost(g, found) < _cost(g, kernel) else kernel


class _Values:
    """The values that a kernel computes, as terms."""

    def __init__(self, kernel: Kernel, expansion: Expansion) -> None:
        terms = expansion.terms

        def frozen(nodes: Iterable[Node]) -> list[Frozen]:
            return [expansion.frozen(n) for n in nodes]

        self.outputs = frozen(kernel.outputs)
        self.solves = [(frozen(s.matrix), frozen(s.rhs)) for s in kernel.solves]
        found: dict[tuple[Frozen, Frozen], None] = {}
        for pivot, limit in kernel.pivots:
            found.update(dict.fromkeys(checked_pairs(expansion.atoms, terms[pivot], terms[limit])))
        self.pairs = list(found)

    def all(self) -> list[Frozen]:
        solves = [v for m, r in self.solves for v in (*m, *r)]
        return [*solves, *(v for pair in self.pairs for v in pair), *self.outputs]


_Choice = tuple[Expansion, Arrangement, _Values]


class _ArrangementSearch:
    """The search for the sums to expand."""

    def __init__(self, g: Graph, kernel: Kernel, budget: int, options: LoweringOptions = DEFAULT) -> None:
        self.graph, self.options = g, options
        self.kernel = kernel
        self.atoms = Atoms(g, kernel.beforehand, options.common)
        roots = kernel.roots()
        self.order = g.reachable(roots)
        self.left, self.limit = budget, options.growth * len(self.order) + 100
        self.tried: dict[frozenset[Node], float] = {}
        self.factored: dict[tuple[tuple[Term, ...], ...], float] = {}
        self.arranged: dict[frozenset[Node], _Choice] = {}
        """The simple choices until they are factored."""
        self.least, self.size = math.inf, math.inf
        self.found: _Choice | None = None
        """That of the least cost."""
        uses: dict[Node, list[Node]] = {n: [] for n in self.order}
        for n in self.order:
            for a in g.args[n]:
                uses[a].append(n)
        fixed = g.from_only(roots, kernel.beforehand)
        rooted = set(roots)
        self.last = Expansion(self.atoms, self.order)
        """With every sum whole, then of the last choice."""
        joined: set[Node] = set()
        self.candidates: list[Node] = []
        self.single: list[Node] = []
        for n in self.order:
            once = len(uses[n]) == 1 and n not in rooted
            if g.op[n] in ("mul", "div"):
                if once:  # a product with a sum that is expanded
                    joined.add(n)
            elif g.op[n] in SUMS and self.atoms.may_spread(self.last.terms[n]):
                if once and g.op[uses[n][0]] in SUMS:
                    joined.add(n)
                elif n not in fixed:
                    self.candidates.append(n)
                    if once:
                        self.single.append(n)
        self.joined = frozenset(joined)

    def best(self) -> _Choice:
        spread = frozenset(self.single)
        if self.left < 3 * len(self.order):
            return self.arrangement(spread)
        simple = (spread, frozenset(self.candidates), frozenset[Node]())
        sizes = [self.length(s) for s in simple]
        short = [
            s for s, size in zip(simple, sizes, strict=True) if size <= self.options.hopeless * min(sizes)
        ]
        spread = min(short, key=lambda s: self.cost(s, math.inf))
        groups = dict.fromkeys(frozenset([n]) for n in self.candidates)
        groups |= dict.fromkeys(frozenset(found) for n in self.order if len(found := self.group(n)) > 1)
        improved = True
        while improved:
            improved = False
            for group in groups:
                for other in (spread | group, spread - group):
                    if self.left > 0 and other != spread and self.cost(other) < self.cost(spread):
                        spread, improved = other, True
        return self.found or self.arrangement(spread)

    def length(self, spread: frozenset[Node]) -> float:
        """The operations of a choice before factoring; infinite if it may have twice as many terms as are allowed."""
        if self.most_terms(spread) > 2 * self.limit:
            return math.inf
        with suppress(TooManyTerms):
            self.arranged[spread] = self.arrangement(spread)
            return self.arranged[spread][1].size()
        return math.inf

    def most_terms(self, spread: frozenset[Node]) -> int:
        """The terms of a choice if nothing cancels."""
        opened, op, args = spread | self.joined, self.graph.op, self.graph.args
        most: dict[Node, int] = {}
        for n in self.order:
            parts = [most[a] if a in opened else 1 for a in args[n]]
            most[n] = sum(parts) if op[n] in SUMS else max(parts, default=1) if op[n] in ("mul", "div") else 1
        return sum(k for n, k in most.items() if n not in self.joined)

    def cost(self, spread: frozenset[Node], longest: float | None = None) -> float:
        """The cost of a choice; infinite if it is too long before factoring to be worth factoring."""
        found = self.tried.get(spread)
        if found is None:
            self.left -= len(self.order)
            found = math.inf
            with suppress(TooManyTerms):
                choice = self.arranged.pop(spread, None) or self.arrangement(spread)
                size, key = choice[1].size(), tuple(choice[1].sums)
                if size <= (self.options.worth if longest is None else longest) * self.size:
                    found = self.factored[key] = self.factored.get(key) or choice[1].cost()
                    if found < self.least:
                        self.least, self.size, self.found = found, size, choice
            self.tried[spread] = found
        return found

    def arrangement(self, spread: frozenset[Node]) -> _Choice:
        expansion = Expansion(self.atoms, self.order, self.joined, spread, self.limit, self.last)
        self.last = expansion
        values = _Values(self.kernel, expansion)
        return expansion, Arrangement(self.atoms, values.all()), values

    def group(self, node: Node) -> list[Node]:
        """The candidates in a sum's terms: whatever can cancel in the sum does so when all of them are expanded."""
        g = self.graph
        if g.op[node] not in ("add", "sub") or node in self.joined:
            return []
        found: dict[Node, None] = {}
        candidates = set(self.candidates)
        stack = list(g.args[node])
        while stack:
            n = stack.pop()
            if n in candidates:
                found[n] = None
            elif g.op[n] in (*SUMS, "mul", "div"):
                stack.extend(g.args[n])
        return list(found)


def _cost(g: Graph, kernel: Kernel) -> int:
    """The weighted operations of a kernel, without those done once in advance."""
    roots = kernel.roots()
    fixed = g.from_only(roots, kernel.beforehand)
    return sum(weight(g.op[n]) for n in g.reachable(roots) if g.args[n] and n not in fixed)
