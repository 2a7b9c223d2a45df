"""Terms back into graph nodes, after factoring: what depends on parameters alone first, the ready operands first."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from fractions import Fraction

from .factor import Factoring, Literal, Term
from .graph import Graph, Node
from .terms import Atom, Atoms, Frozen, Monomial, common, freeze, inverse, product

_LATENCY = {"add": 4, "sub": 4, "mul": 4, "div": 13, "sqrt": 19, "neg": 1, "abs": 1, "min": 4, "max": 4}
_LATENCY |= {"select": 2, "lt": 1, "le": 1, "eq": 1, "ne": 1, "sign": 2}
_FUNCTION = 40
"""Cycles from operand to result on present processors: only their order of size matters."""

_Item = tuple[str, object]


class Arrangement:
    """The values that some roots need, as sums of products of literals, factored. `cost` is their size."""

    def __init__(self, atoms: Atoms, values: Iterable[Frozen]) -> None:
        self.atoms = atoms
        self.number: dict[Frozen, int] = {}
        """Which sum a value is, for those that do not depend on parameters alone."""
        self.literals: list[tuple[str, object]] = []
        self._index: dict[tuple[str, object], Literal] = {}
        sums: list[list[Term]] = []
        self.calls: set[Atom] = set()
        queue = list(values)
        at = 0
        while at < len(queue):
            value = queue[at]
            at += 1
            if value in self.number or self.atoms.all_fixed(value):
                continue
            self.number[value] = len(sums)
            sums.append(self._grouped(value, queue))
        self.factoring = Factoring(sums, len(self.literals))

    def _literal(self, kind: str, what: object) -> Literal:
        key = (kind, what)
        literal = self._index.get(key)
        if literal is None:
            literal = self._index[key] = len(self.literals)
            self.literals.append(key)
        return literal

    def _grouped(self, value: Frozen, queue: list[Frozen]) -> list[Term]:
        """A value's terms with equal factors that depend on the state taken together."""
        groups: dict[Monomial, list[tuple[Monomial, Fraction]]] = {}
        for m, c in freeze(self.atoms.settled(dict(value))):
            fixed, state = self.atoms.split(m)
            groups.setdefault(state, []).append((fixed, c))
        terms = []
        for state, parts in groups.items():
            sign = 1 if parts[0][1] > 0 else -1
            literals = []
            coefficient = tuple((m, sign * c) for m, c in parts)
            if coefficient != (((), 1),):
                literals.append(self._literal("coefficient", coefficient))
            for atom, n in state:
                literals += [self._literal("atom" if n > 0 else "inverse", atom)] * abs(n)
                if n < 0:
                    self._literal("atom", atom)
                key = self.atoms.keys[atom]
                if key[0] == "sum":
                    queue.append(key[1])  # type: ignore[arg-type]
                elif key[0] == "call" and atom not in self.calls:
                    self.calls.add(atom)
                    queue += key[2:]  # type: ignore[arg-type]
            terms.append((sign, tuple(sorted(literals))))
        return terms

    def cost(self) -> int:
        """Operations, with functions and divisions by their weight."""
        heavy = 0
        for kind, _ in self.literals:
            heavy += weight("div") * (kind == "inverse")
        for atom in self.calls:
            heavy += weight(str(self.atoms.keys[atom][1]))
        return self.factoring.cost() + heavy


def weight(op: str) -> int:
    """What an operation costs, in additions."""
    return 4 if op in ("div", "sqrt") else 1 if op in _LATENCY else 12


class Builder:
    """Nodes for an arrangement, in a graph that is extended."""

    def __init__(self, g: Graph, arrangement: Arrangement) -> None:
        self.graph = g
        self.arrangement = arrangement
        self.atoms = arrangement.atoms
        self.made: dict[_Item, Node] = {}
        self.ready: dict[Node, int] = {}
        factoring = arrangement.factoring
        self.sums = [factoring.result(i) for i in range(len(factoring.sums))]
        self.products = factoring.products
        self.sum_of = factoring.sum_of
        self.negative: set[Literal] = set()
        """Products that are computed with the opposite sign: their coefficient bears it."""
        self.uses: dict[Literal, int] = {}
        for terms in self.sums:
            for _, literals in terms:
                for literal in literals:
                    self.uses[literal] = self.uses.get(literal, 0) + 1
        for pair in self.products.values():
            for literal in pair:
                self.uses[literal] = self.uses.get(literal, 0) + 1
        self._choose_signs()

    # -- signs ----------------------------------------------------------------------------------------------------
    def _coefficient(self, literals: Iterable[Literal]) -> Literal | None:
        known = self.arrangement.literals
        return next((a for a in literals if a < len(known) and known[a][0] == "coefficient"), None)

    def _unsigned(self, number: int) -> bool:
        """Whether a sum has no term that can stand first without a sign of its own."""
        return all(s < 0 and self._coefficient(literals) is None for s, literals in self.sums[number])

    def _choose_signs(self) -> None:
        """Turn products with a coefficient, and differences, round where that saves a negation."""
        holders: dict[Literal, list[int]] = {}
        for i, terms in enumerate(self.sums):
            for literal in dict.fromkeys(a for _, literals in terms for a in literals):
                holders.setdefault(literal, []).append(i)
        in_products = {a for pair in self.products.values() for a in pair}
        for i in range(len(self.sums)):
            if not self._unsigned(i):
                continue
            for literal in dict.fromkeys(a for _, literals in self.sums[i] for a in literals):
                turns = (
                    literal in self.sum_of or self._coefficient(self.products.get(literal, ())) is not None
                )
                if not turns or literal in in_products:
                    continue
                touched = list(holders[literal])
                if literal in self.sum_of:
                    touched.append(self.sum_of[literal])
                before = sum(map(self._unsigned, touched))
                self._turn(literal, holders[literal])
                if sum(map(self._unsigned, touched)) < before:
                    break
                self._turn(literal, holders[literal])

    def _turn(self, literal: Literal, holders: Sequence[int]) -> None:
        for i in holders:
            self.sums[i] = [(-s if a.count(literal) % 2 else s, a) for s, a in self.sums[i]]
        if literal in self.sum_of:
            own = self.sum_of[literal]
            self.sums[own] = [(-s, a) for s, a in self.sums[own]]
        else:
            self.negative ^= {literal}

    # -- nodes ----------------------------------------------------------------------------------------------------
    def value(self, terms: Frozen) -> Node:
        """The node of a value, with all that it needs."""
        first = self._item(terms)
        stack = [first]
        while stack:
            item = stack[-1]
            if item in self.made:
                stack.pop()
                continue
            missing = [need for need in self._needs(item) if need not in self.made]
            if missing:
                stack += missing
            else:
                self.made[item] = self._make(item)
                stack.pop()
        return self.made[first]

    def found(self, terms: Frozen) -> Node | None:
        """The node of a value, if it has been made."""
        return self.made.get(self._item(terms))

    def _item(self, terms: Frozen) -> _Item:
        number = self.arrangement.number.get(terms)
        return ("fixed", terms) if number is None else ("sum", number)

    def _needs(self, item: _Item) -> list[_Item]:
        kind, what = item
        if kind == "sum":
            parts = self._parts(what)  # type: ignore[arg-type]
            return [("literal", a) for _, literals in parts for a in self._flat(literals)]
        if kind == "fixed":
            return [("atom", atom) for m, _ in what for atom, _ in m]  # type: ignore[attr-defined]
        if kind == "atom":
            key = self.atoms.keys[what]  # type: ignore[index]
            return [] if key[0] == "leaf" else [self._item(k) for k in key[1 + (key[0] == "call") :]]  # type: ignore[arg-type]
        if what in self.products:
            return [("literal", a) for a in self.products[what]]  # type: ignore[index]
        if what in self.sum_of:
            return [("sum", self.sum_of[what])]  # type: ignore[index]
        kind, content = self.arrangement.literals[what]  # type: ignore[index]
        return [("fixed", content)] if kind == "coefficient" else [("atom", content)]

    def _make(self, item: _Item) -> Node:
        kind, what = item
        g = self.graph
        if kind == "sum":
            return self._sum([self._term(s, a) for s, a in self._signed(self._parts(what))])  # type: ignore[arg-type]
        if kind == "fixed":
            return self._fixed(what)  # type: ignore[arg-type]
        if kind == "atom":
            key = self.atoms.keys[what]  # type: ignore[index]
            if key[0] == "leaf":
                return key[1]  # type: ignore[return-value]
            if key[0] == "sum":
                return self.made[self._item(key[1])]  # type: ignore[arg-type]
            return g.rebuild(str(key[1]), [self.made[self._item(k)] for k in key[2:]])  # type: ignore[arg-type]
        if what in self.products:
            sign = 0 if what in self.negative else 1
            return self._term(sign, self._flat(self.products[what]))[1]  # type: ignore[index]
        if what in self.sum_of:
            return self.made["sum", self.sum_of[what]]  # type: ignore[index]
        kind, content = self.arrangement.literals[what]  # type: ignore[index]
        if kind == "coefficient":
            return self.made["fixed", content]
        if kind == "atom":
            return self.made["atom", content]
        return g.same("div", (g.one, self.made["atom", content]))

    def _parts(self, number: int) -> list[Term]:
        """The terms of a sum, with those of sums that are used nowhere else."""
        found: list[Term] = []
        stack = [(1, term) for term in reversed(self.sums[number])]
        while stack:
            outer, (sign, literals) = stack.pop()
            if len(literals) == 1 and literals[0] in self.sum_of and self.uses[literals[0]] == 1:
                stack += [(outer * sign, t) for t in reversed(self.sums[self.sum_of[literals[0]]])]
            else:
                found.append((outer * sign, literals))
        return found

    def _flat(self, literals: Iterable[Literal]) -> list[Literal]:
        """Factors, with those of products that are used nowhere else."""
        found: list[Literal] = []
        stack = list(literals)[::-1]
        while stack:
            literal = stack.pop()
            if literal in self.products and self.uses[literal] == 1 and literal not in self.negative:
                stack += self.products[literal][::-1]
            else:
                found.append(literal)
        return found

    def _signed(self, terms: list[Term]) -> list[Term]:
        """A sum of negative terms only, with the sign of one given to its coefficient."""
        if any(sign > 0 for sign, _ in terms):
            return terms
        for i, (_, literals) in enumerate(terms):
            if self._coefficient(literals) is not None:
                return [*terms[:i], (0, literals), *terms[i + 1 :]]
        return terms

    def _term(self, sign: int, literals: Iterable[Literal]) -> tuple[int, Node]:
        """A term's sign and node; the sign 0 asks for the opposite coefficient."""
        g, known = self.graph, self.arrangement.literals
        above: list[Node] = []
        below: list[Node] = []
        flat = self._flat(literals)
        turned = self._coefficient(flat) if sign == 0 else None
        for literal in flat:
            if literal == turned:
                content = known[literal][1]
                above.append(self._fixed(tuple((m, -c) for m, c in content)))  # type: ignore[attr-defined]
                turned = None
            elif literal < len(known) and known[literal][0] == "inverse" and self.uses[literal] == 1:
                below.append(self.made["atom", known[literal][1]])
            else:
                above.append(self.made["literal", literal])
        top = self._product(above)
        node = top if not below else self._note(g.same("div", (top, self._product(below))))
        return (1 if sign == 0 else sign), node

    # -- trees ----------------------------------------------------------------------------------------------------
    def _note(self, node: Node) -> Node:
        """Record when a node has its value, counted from the state; parameters are there before."""
        g = self.graph
        stack = [node]
        while stack:
            n = stack[-1]
            if n in self.ready:
                stack.pop()
                continue
            missing = [a for a in g.args[n] if a not in self.ready]
            if missing:
                stack += missing
                continue
            if g.op[n] in ("const", "named") or n in self.atoms.parameters:
                self.ready[n] = -1
            elif not g.args[n]:
                self.ready[n] = 0
            else:
                start = max(self.ready[a] for a in g.args[n])
                self.ready[n] = -1 if start < 0 else start + _LATENCY.get(g.op[n], _FUNCTION)
            stack.pop()
        return node

    def _when(self, node: Node) -> int:
        return self.ready[self._note(node)]

    def _product(self, nodes: Sequence[Node]) -> Node:
        g = self.graph
        heap = [(self._when(n), i, n) for i, n in enumerate(nodes)]
        heapq.heapify(heap)
        if not heap:
            return g.one
        while len(heap) > 1:
            (_, i, a), (_, j, b) = heapq.heappop(heap), heapq.heappop(heap)
            made = g.plain_product(a, b)
            heapq.heappush(heap, (self._when(made), min(i, j), made))
        return heap[0][2]

    def _sum(self, terms: Sequence[tuple[int, Node]]) -> Node:
        g = self.graph
        heap = [(self._when(n), i, s, n) for i, (s, n) in enumerate(terms)]
        heapq.heapify(heap)
        if not heap:
            return g.zero
        while len(heap) > 1:
            (_, i, s, a), (_, j, r, b) = heapq.heappop(heap), heapq.heappop(heap)
            if j < i:
                s, a, r, b = r, b, s, a
            if s == r:
                made = g.same("add", (a, b))
            else:
                made = g.same("sub", (a, b) if s > 0 else (b, a))
                s = 1
            heapq.heappush(heap, (self._when(made), min(i, j), s, made))
        _, _, sign, node = heap[0]
        return node if sign > 0 else g.neg(node)

    def _fixed(self, terms: Frozen) -> Node:
        """What depends on parameters alone: common factors outside, one division."""
        g = self.graph
        outside = common(m for m, _ in terms) if len(terms) > 1 else ()
        below = inverse(outside)
        parts = [self._fixed_term(product(m, below), c) for m, c in freeze(dict(terms))]
        total = self._sum([part for part in parts if part[0] > 0] + [part for part in parts if part[0] < 0])
        if not outside:
            return total
        over, under = self._powers(outside)
        top = self._product([*over, total])
        return top if not under else g.same("div", (top, self._product(under)))

    def _fixed_term(self, m: Monomial, c: Fraction) -> tuple[int, Node]:
        g = self.graph
        over, under = self._powers(m)
        sign = 1 if c > 0 or not m else -1
        number = c * sign
        node = self._product(over)
        if number != 1:
            node = g.plain_product(g.const(number), node) if over else g.const(number)
        if under:
            node = g.same("div", (node, self._product(under)))
        return sign, node

    def _powers(self, m: Monomial) -> tuple[list[Node], list[Node]]:
        over: list[Node] = []
        under: list[Node] = []
        for atom, n in m:
            (over if n > 0 else under).extend([self.made["atom", atom]] * abs(n))
        return over, under
