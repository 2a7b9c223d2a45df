"""Graph nodes as sums of terms: a term is a rational coefficient times powers of atoms.

Atoms are variables, function values, and sums that are kept whole. Like terms are collected, equal factors of
numerator and denominator cancel, and sin^2 + cos^2 with equal coefficients is 1. The caller chooses which sums are
multiplied out (`spread`), within a rule that keeps rounding errors from growing: see `may_spread`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from random import Random
from typing import NamedTuple, NewType

from ..graph.graph import Graph, Node
from ..lower.options import DEFAULT

Atom = NewType("Atom", int)
"""The number of an atom among those of a graph."""
Monomial = tuple[tuple[Atom, int], ...]
"""Atoms in ascending order with their nonzero exponents."""
Number = int | Fraction
"""An exact coefficient; an integer is much faster than a fraction of the same value."""
Terms = dict[Monomial, Number]

SUMS = ("add", "sub", "neg")
_ONE: Monomial = ()


class Frozen(tuple[tuple[Monomial, Number], ...]):
    """Terms in order, which remember their hash: that of fractions takes long."""

    @cached_property
    def _hash(self) -> int:
        return super().__hash__()

    def __hash__(self) -> int:
        return self._hash


def quotient(a: Number, b: Number) -> Number:
    """a / b, exactly."""
    if b in (1, -1):
        return a if b == 1 else -a
    value = Fraction(a) / b
    return value.numerator if value.denominator == 1 else value


class Leaf(NamedTuple):
    """A variable or a named constant."""

    node: Node


class TermCall(NamedTuple):
    """A function, a comparison or a selection."""

    op: str
    arguments: tuple[Frozen, ...]


class Whole(NamedTuple):
    """A sum that is kept whole."""

    terms: Frozen


Content = Leaf | TermCall | Whole
Group = tuple[int, Frozen, Monomial]
"""A sign, a coefficient in parameters alone, and the factors that depend on the state."""


def freeze(terms: Terms) -> Frozen:
    return Frozen(sorted(terms.items()))


def times(a: Number, b: Number) -> Number:
    """a b, where one of them is nearly always 1."""
    return b if a == 1 else a if b == 1 else a * b


def accumulate(terms: Terms, m: Monomial, c: Number) -> None:
    """Add a term, which may cancel another."""
    known = terms.get(m)
    if known is None:
        terms[m] = c
    elif value := known + c:
        terms[m] = value
    else:
        del terms[m]


def product(a: Monomial, b: Monomial) -> Monomial:
    if not a or not b:
        return a or b
    if a[-1][0] < b[0][0]:
        return a + b
    if b[-1][0] < a[0][0]:
        return b + a
    powers = dict(a)
    for atom, n in b:
        powers[atom] = powers.get(atom, 0) + n
    return tuple(sorted((atom, n) for atom, n in powers.items() if n))


def inverse(a: Monomial) -> Monomial:
    return tuple((atom, -n) for atom, n in a)


def common(monomials: Iterable[Monomial]) -> Monomial:
    """The largest common factor of the monomials, in the numerator and in the denominator."""
    shared: dict[Atom, int] | None = None
    for m in monomials:
        powers = dict(m)
        if shared is None:
            shared = powers
            continue
        kept = {}
        for atom, n in shared.items():
            other = powers.get(atom, 0)
            if n > 0 and other > 0:
                kept[atom] = min(n, other)
            elif n < 0 and other < 0:
                kept[atom] = max(n, other)
        shared = kept
    return tuple(sorted((shared or {}).items()))


class Atoms:
    """The atoms of a graph: each a leaf, a function of terms, or a sum of terms, stored once."""

    def __init__(self, g: Graph, parameters: Collection[Node], most_common: int = DEFAULT.common) -> None:
        self.graph = g
        self.parameters = frozenset(parameters)
        self.contents: list[Content] = []
        self.fixed: list[bool] = []
        """Whether an atom depends on parameters alone."""
        self.most_common = most_common
        self._grouped: dict[Frozen, list[Group]] = {}
        self._split: dict[Monomial, tuple[Monomial, Monomial]] = {}
        self._squares: dict[Monomial, list[tuple[Atom, Monomial]]] = {}
        self._index: dict[Content, Atom] = {}
        self._marks: list[int] = []
        self._draw = Random(0)
        self._marks_within: dict[Atom, list[int]] = {}

    def make(self, content: Content, fixed: bool) -> Atom:
        atom = self._index.get(content)
        if atom is None:
            atom = self._index[content] = Atom(len(self.contents))
            self.contents.append(content)
            self._marks.append(self._draw.getrandbits(60))
            self.fixed.append(fixed)
        return atom

    def leaf(self, node: Node) -> Atom:
        constant = self.graph.op[node] in ("named", "bool")
        return self.make(Leaf(node), constant or node in self.parameters)

    def call(self, op: str, arguments: Sequence[Frozen]) -> Atom:
        return self.make(TermCall(op, tuple(arguments)), all(self.all_fixed(a) for a in arguments))

    def sum(self, terms: Frozen) -> Atom:
        return self.make(Whole(terms), self.all_fixed(terms))

    def op(self, atom: Atom) -> str:
        """The function of which an atom is a value, "" for other atoms."""
        content = self.contents[atom]
        return content.op if isinstance(content, TermCall) else ""

    def arguments(self, atom: Atom) -> tuple[Frozen, ...]:
        """The operands of an atom: the arguments of a function, the terms of a sum, or none."""
        content = self.contents[atom]
        if isinstance(content, TermCall):
            return content.arguments
        return (content.terms,) if isinstance(content, Whole) else ()

    def all_fixed(self, terms: Frozen) -> bool:
        return all(self.fixed[atom] for m, _ in terms for atom, _ in m)

    def split(self, m: Monomial) -> tuple[Monomial, Monomial]:
        """The part that depends on parameters alone, and the rest."""
        found = self._split.get(m)
        if found is None:
            fixed = tuple(f for f in m if self.fixed[f[0]])
            found = self._split[m] = fixed, tuple(f for f in m if not self.fixed[f[0]]) if fixed else m
        return found

    def squares(self, m: Monomial) -> list[tuple[Atom, Monomial]]:
        """The sines of the state that a monomial has squared, each with the monomial that has the cosine squared."""
        found = self._squares.get(m)
        if found is None:
            found = self._squares[m] = []
            for sine in [a for a, n in m if n == 2 and self.op(a) == "sin" and not self.fixed[a]]:
                cosine = self.call("cos", self.arguments(sine))
                found.append((sine, product(product(m, ((sine, -2),)), ((cosine, 2),))))
        return found

    def grouped(self, value: Frozen) -> list[Group]:
        """A value's terms, grouped by the factors that depend on the state."""
        found = self._grouped.get(value)
        if found is None:
            groups: dict[Monomial, list[tuple[Monomial, Number]]] = {}
            for m, c in freeze(self.settled(dict(value))):
                fixed, state = self.split(m)
                groups.setdefault(state, []).append((fixed, c))
            found = self._grouped[value] = []
            for state, parts in groups.items():
                sign = 1 if parts[0][1] > 0 else -1
                found.append((sign, Frozen((m, c if sign > 0 else -c) for m, c in parts), state))
        return found

    def exact(self, m: Monomial) -> bool:
        """Whether a term m is free of rounding errors: a constant or a variable, whatever its coefficient."""
        return not m or (len(m) == 1 and m[0][1] == 1 and isinstance(self.contents[m[0][0]], Leaf))

    def may_spread(self, terms: Terms) -> bool:
        """Whether multiplying out the sum does not increase rounding errors.

        The difference of two exact numbers is accurate to the last digit; multiplied out, it has the errors of two
        products. If all terms but one are already rounded, the sum itself has errors of that size.
        """
        return sum(self.exact(m) for m in terms) <= 1

    def settled(self, terms: Terms) -> Terms:
        """The terms with sums multiplied out where that leaves fewer terms: a + b - (a + c) = b - c."""
        while True:
            marks = {self._mark(m) for m in terms}
            for m, c in terms.items():
                found = self._opened(terms, marks, m, c)
                if found is not None:
                    terms = found
                    break
            else:
                return terms

    def _mark(self, m: Monomial) -> int:
        """A random number of a monomial: that of a product is the sum, so it is looked up without being formed."""
        return sum(n * self._marks[atom] for atom, n in m)

    def _may_cancel(self, atom: Atom, content: Whole, m: Monomial, marks: Collection[int]) -> bool:
        """Whether at least half of a sum's terms, in the place of the sum in m, are among the marked ones."""
        within = self._marks_within.get(atom)
        if within is None:
            within = self._marks_within[atom] = [self._mark(inner) for inner, _ in content.terms]
        rest = self._mark(m) - self._marks[atom]
        return sum(rest + mark in marks for mark in within) * 2 >= len(within)

    def _opened(self, terms: Terms, marks: Collection[int], m: Monomial, c: Number) -> Terms | None:
        for atom, n in m:
            content = self.contents[atom]
            if not isinstance(content, Whole) or n != 1 or not self._may_cancel(atom, content, m, marks):
                continue
            rest = product(m, ((atom, -1),))
            parts = [(product(rest, inner), times(c, d)) for inner, d in content.terms]
            if sum(terms.get(inner) == -d for inner, d in parts) * 2 < len(parts):
                continue
            opened = {k: v for k, v in terms.items() if k != m}
            for inner, d in parts:
                accumulate(opened, inner, d)
            if len(opened) < len(terms):
                return opened
        return None

    def factored(self, terms: Terms) -> tuple[Number, Monomial]:
        """The terms as a single one: common factors times an atom for the remaining sum."""
        if len(terms) == 1:
            ((m, c),) = terms.items()
            return c, m
        outside = common(terms)
        below = inverse(outside)
        inner = {product(m, below): c for m, c in terms.items()}
        items = freeze(inner)
        scale = items[0][1]
        opposite = -scale
        if any(c != scale and c != opposite for _, c in items):
            scale = 1 if scale > 0 else -1
        rest = Frozen((m, quotient(c, scale)) for m, c in items)
        return scale, product(outside, ((self.sum(rest), 1),))


class TooManyTerms(Exception):
    """The expansion has too many terms."""


class Expansion:
    """The nodes below some roots as terms, with the sums in `spread` and those in `joined`, which are used once,
    multiplied out.

    `like` is an expansion of the same nodes with another `spread`: nodes that the difference does not affect are taken
    from it. Raises TooManyTerms beyond `limit` terms.
    """

    def __init__(
        self,
        atoms: Atoms,
        order: Sequence[Node],
        joined: Collection[Node] = (),
        spread: Collection[Node] = (),
        limit: float = math.inf,
        like: Expansion | None = None,
    ) -> None:
        self.atoms = atoms
        self.graph = atoms.graph
        self.opened = {*joined, *spread}
        self.terms: dict[Node, Terms] = like.terms.copy() if like else {}
        self._factors: dict[Node, Terms] = like._factors.copy() if like else {}
        self._frozen: dict[Node, Frozen] = like._frozen.copy() if like else {}
        g = self.graph
        # tan a becomes a division where sin a or cos a is needed anyway.
        self.angles = {g.args[n][0] for n in order if g.op[n] in ("sin", "cos")}
        moved = self.opened ^ like.opened if like else set()
        left = limit
        for node in order:
            if like is None or not moved.isdisjoint(g.args[node]):
                terms = self._terms(node)
                if like is None or terms != like.terms[node]:
                    self.terms[node] = terms
                    self._frozen.pop(node, None)
                    moved.add(node)
                    left -= 0 if node in joined else len(terms)
                    if left < 0 or len(terms) > limit:
                        raise TooManyTerms
            if node in moved:
                self._factors.pop(node, None)
        if sum(len(terms) for node, terms in self.terms.items() if node not in joined) > limit:
            raise TooManyTerms

    def frozen(self, node: Node) -> Frozen:
        """A node's terms in order."""
        found = self._frozen.get(node)
        if found is None:
            found = self._frozen[node] = freeze(self.terms[node])
        return found

    def factor(self, node: Node) -> Terms:
        """A node for use in a product or a sum: one term, or several if it is multiplied out."""
        found = self._factors.get(node)
        if found is None:
            found = self.terms[node] if node in self.opened else self._one(self.terms[node])
            self._factors[node] = found
        return found

    def _terms(self, node: Node) -> Terms:
        g = self.graph
        op, args = g.op[node], g.args[node]
        if op == "const":
            constant = g.constant_value(node)
            if not constant:
                return {}
            return {_ONE: constant.numerator if constant.denominator == 1 else constant}
        if not args:
            return {((self.atoms.leaf(node), 1),): 1}
        if op in SUMS:
            parts = [self.factor(a) for a in args]
            total = dict(parts[0]) if op != "neg" else {}
            for m, c in parts[-1].items():
                accumulate(total, m, c if op == "add" else -c)
            known = max((p for a, p in zip(args, parts, strict=True) if g.op[a] in SUMS), key=len, default=())
            return self.without_squares(total, (m for p in parts if p is not known for m in p))
        if op in ("mul", "div"):
            a, b = self.factor(args[0]), self.factor(args[1])
            if op == "div":
                ((m, c),) = self._one(b).items()
                b = {inverse(m): quotient(1, c)}
            elif len(a) > 1 and len(b) > 1:
                b, a = self._one(b), self._one(a)
            return {product(m, n): times(c, d) for m, c in a.items() for n, d in b.items()}
        if op == "tan" and args[0] in self.angles:
            angle = self.frozen(args[0])
            sine, cosine = self.atoms.call("sin", [angle]), self.atoms.call("cos", [angle])
            return {product(((sine, 1),), ((cosine, -1),)): 1}
        return {((self.atoms.call(op, [self.frozen(a) for a in args]), 1),): 1}

    def _one(self, terms: Terms) -> Terms:
        if len(terms) <= 1:
            return terms
        c, m = self.atoms.factored(terms)
        return {m: c}

    def without_squares(self, terms: Terms, new: Iterable[Monomial]) -> Terms:
        """k sin^2 a + k cos^2 a = k, where the coefficients of both squares are equal, as `new` terms can make them."""
        if not any(n == 2 and self.atoms.op(a) in ("sin", "cos") for m in new for a, n in m):
            return terms
        while (found := self._pair_of_squares(terms)) is not None:
            gone, made = found
            terms = {m: c for m, c in terms.items() if m not in gone}
            for m, c in made.items():
                value = terms.pop(m, 0) + c
                if value:
                    terms[m] = value
        return terms

    def _pair_of_squares(self, terms: Terms) -> tuple[set[Monomial], Terms] | None:
        """Terms that have equal coefficients with the square of a sine and with that of its cosine, and their sum."""
        atoms = self.atoms
        coefficients: dict[Monomial, list[tuple[Monomial, Number]]] = {}  # in parameters alone, by the rest
        for one, value in terms.items():
            for sine, other in atoms.squares(one):
                if terms.get(other) != value:
                    continue
                if not coefficients:
                    for (fixed, state), c in ((atoms.split(m), c) for m, c in terms.items()):
                        coefficients.setdefault(state, []).append((fixed, c))
                squares = atoms.split(one)[1], atoms.split(other)[1]
                factors, others = (sorted(coefficients[square]) for square in squares)
                if factors == others:
                    bare = product(squares[0], ((sine, -2),))
                    gone = {product(fixed, square) for fixed, _ in factors for square in squares}
                    return gone, {product(fixed, bare): c for fixed, c in factors}
        return None


def checked_pairs(atoms: Atoms, pivot: Terms, limit: Terms) -> list[tuple[Frozen, Frozen]]:
    """Pairs (pivot, limit) that together are equivalent to |pivot| <= limit, with common factors removed.

    A product is zero where one of its factors is, so the factors are checked one by one (those in parameters alone can
    be hoisted). A pair of constants that never holds is omitted.
    """
    if len(pivot) == 0:
        return [(Frozen(), freeze(limit))]
    c, m = atoms.factored(pivot)
    if not limit:
        return [(Frozen([(((atom, 1),), 1)]), Frozen()) for atom, n in m if n > 0]
    scale = _scale(atoms, limit)
    if scale is None:
        return [(freeze(pivot), freeze(limit))]
    share, (d, n) = scale
    shared = common([m, n])
    kept, other = product(m, inverse(shared)), product(n, inverse(shared))
    pairs = [(Frozen([(((a, 1),), 1)]), Frozen()) for a, power in shared if power > 0]
    ratio = quotient(d, c)
    bound = share * (ratio if ratio > 0 else -ratio)
    if not kept and not other and bound < 1:
        return pairs
    size = ((atoms.call("abs", [Frozen([(other, 1)])]), 1),) if other else _ONE
    return [*pairs, (Frozen([(kept, 1)]), Frozen([(size, bound)]))]


def _scale(atoms: Atoms, limit: Terms) -> tuple[Number, tuple[Number, Monomial]] | None:
    """share and (coefficient, monomial) of a limit = share * |coefficient * monomial|."""
    if len(limit) != 1:
        return None
    ((m, c),) = limit.items()
    if not m:
        return c, (1, ())
    if len(m) > 1 or m[0][1] != 1 or atoms.op(m[0][0]) != "abs":
        return None
    inside = dict(atoms.arguments(m[0][0])[0])
    return (c, atoms.factored(inside)) if inside else None
