"""Factored terms back into graph nodes: parameters-only parts first, operands that are ready earliest first."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ..graph.functions import FUNCTIONS
from ..graph.graph import CONDITIONS, Graph, Node
from .factor import Factoring, Literal, Term, multiplications
from .terms import Atom, Atoms, Frozen, Leaf, Monomial, Number, TermCall, common, freeze, inverse, product

_LATENCY = {"add": 4, "sub": 4, "mul": 4, "div": 13, "neg": 1, "select": 2, **dict.fromkeys(CONDITIONS, 1)}
"""In cycles on current processors, as in `Function.latency`."""
_UNIT = Frozen([((), 1)])


class Coefficient(NamedTuple):
    """The coefficient of a term: a number, or an expression in parameters alone."""

    terms: Frozen


@dataclass(frozen=True)
class Factor:
    """An atom or its reciprocal."""

    atom: Atom
    inverse: bool = False


class Arrangement:
    """The values that some roots need, as sums of products of literals; `factoring` finds their common parts.

    `size` is the cost before factoring, `cost` the cost after it.
    """

    def __init__(self, atoms: Atoms, values: Iterable[Frozen]) -> None:
        self.atoms = atoms
        self.number: dict[Frozen, int] = {}
        """The number of its sum for each value that depends on more than parameters."""
        self.literals: list[Coefficient | Factor] = []
        self._coefficients: dict[Frozen, Literal] = {}
        self._factors: dict[tuple[Atom, int], Literal] = {}
        self.sums: list[tuple[Term, ...]] = []
        self.calls: dict[Atom, None] = {}
        queue = list(values)
        at = 0
        while at < len(queue):
            value = queue[at]
            at += 1
            if value in self.number or self.atoms.all_fixed(value):
                continue
            self.number[value] = len(self.sums)
            self.sums.append(self._terms(value, queue))

    @cached_property
    def factoring(self) -> Factoring:
        return Factoring(self.sums, Literal(len(self.literals)), self.atoms.most_common)

    def _terms(self, value: Frozen, queue: list[Frozen]) -> tuple[Term, ...]:
        """A value's terms in literals; the arguments of their atoms join the queue."""
        terms: list[Term] = []
        for sign, coefficient, state in self.atoms.grouped(value):
            literals = [] if coefficient == _UNIT else [self._coefficient(coefficient)]
            for atom, n in state:
                literals += [self._factor(atom, n, queue)] * abs(n)
            terms.append((sign, tuple(sorted(literals))))
        return tuple(terms)

    def _coefficient(self, terms: Frozen) -> Literal:
        literal = self._coefficients.get(terms)
        if literal is None:
            literal = self._coefficients[terms] = Literal(len(self.literals))
            self.literals.append(Coefficient(terms))
        return literal

    def _factor(self, atom: Atom, power: int, queue: list[Frozen]) -> Literal:
        key = (atom, power < 0)
        literal = self._factors.get(key)
        if literal is None:
            literal = self._factors[key] = Literal(len(self.literals))
            self.literals.append(Factor(atom, power < 0))
            if self.atoms.op(atom):
                self.calls[atom] = None
            queue += self.atoms.arguments(atom)
        return literal

    @cached_property
    def _elsewhere(self) -> int:
        """The weight of functions and divisions."""
        divisions = sum(isinstance(a, Factor) and a.inverse for a in self.literals)
        return weight("div") * divisions + sum(weight(self.atoms.op(atom)) for atom in self.calls)

    def size(self) -> int:
        """Operations before factoring, with functions and divisions weighted."""
        counts = ((len(terms), sum(multiplications(len(a)) for _, a in terms)) for terms in self.sums)
        return self._elsewhere + sum(max(0, n - 1) + products for n, products in counts)

    def cost(self) -> int:
        """Operations after factoring, with functions and divisions weighted."""
        return self._elsewhere + self.factoring.cost()


def latency(op: str) -> int:
    """The cycles from the operands of an operation to its result."""
    return FUNCTIONS[op].latency if op in FUNCTIONS else _LATENCY[op]


def weight(op: str) -> int:
    """The cost of an operation, in additions."""
    return FUNCTIONS[op].weight if op in FUNCTIONS else 4 if op == "div" else 1


@dataclass(frozen=True)
class _RebuiltSum:
    number: int


@dataclass(frozen=True)
class _Atom:
    atom: Atom


@dataclass(frozen=True)
class _Literal:
    literal: Literal


_Item = _RebuiltSum | Coefficient | _Atom | _Literal
"""The items from which a builder makes nodes."""


class Builder:
    """Builds the nodes of an arrangement, extending the graph.

    In a kernel that is called in a `chain`, its operands made from its last results, a short time counts for more than
    an operation.
    """

    def __init__(self, g: Graph, arrangement: Arrangement, chain: bool) -> None:
        self.graph = g
        self.chain = chain
        self.arrangement = arrangement
        self.atoms = arrangement.atoms
        self.made: dict[_Item, Node] = {}
        self.ready: dict[Node, int] = {}
        factoring = arrangement.factoring
        self.sums = [factoring.result(i) for i in range(len(factoring.sums))]
        self.products = factoring.products
        self.sum_of = factoring.sum_of
        self.negative: set[Literal] = set()
        """Products computed with the opposite sign, which their coefficient absorbs."""
        self.uses = Counter(a for terms in self.sums for _, literals in terms for a in literals)
        self.uses.update(a for pair in self.products.values() for a in pair)
        self._choose_signs()

    # -- signs ----------------------------------------------------------------------------------------------------
    def _coefficient(self, literals: Iterable[Literal]) -> Literal | None:
        return next((a for a in literals if isinstance(self._content(a), Coefficient)), None)

    def _content(self, literal: Literal) -> Coefficient | Factor | None:
        """The content of a literal, None if factoring extracted it."""
        known = self.arrangement.literals
        return known[literal] if literal < len(known) else None

    def _unsigned(self, number: int) -> bool:
        """Whether a sum has no term that can come first without a minus sign."""
        return all(s < 0 and self._coefficient(literals) is None for s, literals in self.sums[number])

    def _choose_signs(self) -> None:
        """Flip the signs of products with a coefficient, and of differences, where that saves a negation."""
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
        """The node of a value, built with everything it needs."""
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
        """The node of a value, if it has been built."""
        return self.made.get(self._item(terms))

    def _item(self, terms: Frozen) -> _Item:
        number = self.arrangement.number.get(terms)
        return Coefficient(terms) if number is None else _RebuiltSum(number)

    def _needs(self, item: _Item) -> list[_Item]:
        if isinstance(item, _RebuiltSum):
            return [_Literal(a) for _, literals in self._parts(item.number) for a in self._flat(literals)]
        if isinstance(item, Coefficient):
            return [_Atom(atom) for m, _ in item.terms for atom, _ in m]
        if isinstance(item, _Atom):
            return [self._item(terms) for terms in self.atoms.arguments(item.atom)]
        if item.literal in self.products:
            return [_Literal(a) for a in self._flat(self.products[item.literal])]
        return [self._behind(item.literal)]

    def _behind(self, literal: Literal) -> _Item:
        """The item of a literal that is not a product."""
        content = self._content(literal)
        if content is None:
            return _RebuiltSum(self.sum_of[literal])
        return content if isinstance(content, Coefficient) else _Atom(content.atom)

    def _make(self, item: _Item) -> Node:
        g = self.graph
        if isinstance(item, _RebuiltSum):
            return self._sum([self._term(s, a) for s, a in self._signed(self._parts(item.number))])
        if isinstance(item, Coefficient):
            return self._fixed(item.terms)
        if isinstance(item, _Atom):
            content = self.atoms.contents[item.atom]
            if isinstance(content, Leaf):
                return content.node
            parts = [self.made[need] for need in self._needs(item)]
            return g.rebuild(content.op, parts) if isinstance(content, TermCall) else parts[0]
        if item.literal in self.products:
            sign = 0 if item.literal in self.negative else 1
            return self._term(sign, self.products[item.literal])[1]
        node = self.made[self._behind(item.literal)]
        factor = self._content(item.literal)
        return g.same("div", (g.one, node)) if isinstance(factor, Factor) and factor.inverse else node

    def _parts(self, number: int) -> list[Term]:
        """The terms of a sum, with inner sums that are used only here expanded."""
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
        """Factors, with inner products that are used only here expanded."""
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
        """The terms of a sum; if all are negative, a coefficient absorbs the sign of one."""
        if any(sign > 0 for sign, _ in terms):
            return terms
        for i, (_, literals) in enumerate(terms):
            if self._coefficient(literals) is not None:
                return [*terms[:i], (0, literals), *terms[i + 1 :]]
        return terms

    def _term(self, sign: int, literals: Iterable[Literal]) -> tuple[int, Node]:
        """A term's sign and node; the sign 0 requests the opposite coefficient."""
        above: list[Node] = []
        below: list[Node] = []
        turned = sign == 0
        for literal in self._flat(literals):
            content = self._content(literal)
            if turned and isinstance(content, Coefficient):
                above.append(self._fixed(Frozen((m, -c) for m, c in content.terms)))
                turned = False
            elif isinstance(content, Factor) and content.inverse and self.uses[literal] == 1:
                below.append(self.made[_Atom(content.atom)])
            else:
                above.append(self.made[_Literal(literal)])
        top = self._product(above)
        node = top if not below else self._quotient(top, self._product(below))
        return (1 if sign == 0 else sign), node

    def _quotient(self, top: Node, bottom: Node) -> Node:
        """A quotient; in a chain, a product if the inverse is known no later than the top."""
        g = self.graph
        inverse = g.same("div", (g.one, bottom))
        early = self.chain and 0 <= self._when(inverse) <= self._when(top)
        return self._product([top, inverse]) if early else self._note(g.same("div", (top, bottom)))

    # -- trees ----------------------------------------------------------------------------------------------------
    def _note(self, node: Node) -> Node:
        """Record when a node's value is ready, in cycles after the state; parameters are ready before it."""
        g = self.graph
        for n in g.reachable([node], stop=self.ready) if node not in self.ready else ():
            if n in self.ready:
                continue
            if g.op[n] in ("const", "named") or n in self.atoms.parameters:
                self.ready[n] = -1
            elif not g.args[n]:
                self.ready[n] = 0
            else:
                op, start = g.op[n], max(self.ready[a] for a in g.args[n])
                self.ready[n] = -1 if start < 0 else start + latency(op)
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
        """An expression in parameters alone: common factors extracted, one division."""
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

    def _fixed_term(self, m: Monomial, c: Number) -> tuple[int, Node]:
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
            (over if n > 0 else under).extend([self.made[_Atom(atom)]] * abs(n))
        return over, under
