"""Sums of products in fewer operations: common factors, shared partial sums and shared products, found greedily.

Two kinds of divisor are extracted, as in logic synthesis (J. Rajski, J. Vasudevamurthy, The testability-preserving
concurrent decomposition and factorization of Boolean expressions, IEEE Trans. CAD 11 (1992) 778-793): a product of two
literals that occurs in several terms, and a sum of two terms that occurs in several sums or times a common factor.
The divisor that saves most is extracted, until none saves anything. Nothing is expanded.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import combinations, count
from typing import NewType

from ..lower.options import DEFAULT

Literal = NewType("Literal", int)
"""The number of a factor."""
Literals = tuple[Literal, ...]
"""The factors of a term in ascending order; a square is listed twice."""
Term = tuple[int, Literals]
"""A sign, 1 or -1, and the factors."""
Pair = tuple[Literal, Literal]
Key = tuple[Literals, Literals, int]
"""The sum u + sign * v."""
Split = tuple[Literals, Literals, Literals, bool, int, int]


def multiplications(count: int) -> int:
    return count - 1 if count > 1 else 0


def split(a: Literals, b: Literals) -> Split:
    """Two terms as base*u and base*v in a definite order: (base, u, v, turned, gain, cost).

    `turned` tells whether the order is (b, a); `gain` is what base*(u + v) saves, not counting the cost of u + v;
    `cost` is the cost of u + v.
    """
    shared, left, right = [], [], [*b]
    for factor in a:
        if factor in right:
            right.remove(factor)
            shared.append(factor)
        else:
            left.append(factor)
    base, u, v = tuple(shared), tuple(left), tuple(right)
    turned = v < u
    if turned:
        u, v = v, u
    factors = len(u) + len(v) - 1
    gain = len(base) + factors + (not a) + (not b)
    return base, u, v, turned, gain, factors + (not u) + (not v)


class _Sum:
    """The numbers of the terms of a sum, and of those that have a factor, in the order in which they were added."""

    __slots__ = ("having", "terms")

    def __init__(self) -> None:
        self.terms: dict[int, None] = {}
        self.having: dict[Literal, dict[int, None]] = {}

    def enter(self, number: int, literals: Literals, most: int) -> dict[int, None]:
        """Enter a term; the others with one of its factors, unless more than so many have it."""
        self.terms[number] = None
        near: dict[int, None] = {}
        for a in dict.fromkeys(literals):
            holders = self.having.setdefault(a, {})
            if len(holders) <= most:
                near.update(holders)
            holders[number] = None
        return near


class _Kind(dict["_Sum", dict[int, None]]):
    """The numbers of the terms with the same factors, by their sums; `twice`: whether there have been two at once.

    `products` are those of two of the factors, `divisors` the sums of all of them and others.
    """

    __slots__ = ("divisors", "literals", "products", "twice")

    def __init__(self, literals: Literals) -> None:
        self.literals = literals
        self.twice = False
        self.products: list[_Product] = []
        self.divisors: dict[_Divisor, None] = {}


class _Term:
    """A term of a sum; `mates` are the other terms with which it is a place of a divisor."""

    __slots__ = ("home", "kind", "mates", "sign")

    def __init__(self, home: _Sum, sign: int, kind: _Kind) -> None:
        self.home, self.sign, self.kind = home, sign, kind
        self.mates: dict[int, _Divisor] = {}

    def leave(self, number: int) -> None:
        """Take it out of its sum and its kind."""
        del self.home.terms[number]
        for a in dict.fromkeys(self.kind.literals):
            del self.home.having[a][number]
        alike = self.kind[self.home]
        del alike[number]
        if not alike:
            del self.kind[self.home]


class _Divisor:
    """A sum of two terms, and the pairs of terms where it occurs: common factor, its sign, and saving there.

    `kinds` are those of its two terms. `bound` is the saving if no two pairs shared a term; `queued` is its saving as
    currently entered in the queue.
    """

    __slots__ = ("bound", "key", "kinds", "once", "places", "queued")

    def __init__(self, key: Key, kinds: tuple[_Kind, _Kind], once: int) -> None:
        self.key = key
        self.kinds = kinds
        self.once = once
        self.bound = -once
        self.queued = 0
        self.places: dict[tuple[int, int], tuple[Literals, int, int]] = {}

    def chosen(self) -> list[tuple[int, int, Literals, int, int]]:
        """The pairs where it is extracted: no term twice, the largest common factors first."""
        found = sorted(self.places.items(), key=lambda item: (-len(item[1][0]), item[0]))
        used: set[int] = set()
        chosen = []
        for (a, b), (base, sign, gain) in found:
            if a not in used and b not in used:
                used |= {a, b}
                chosen.append((a, b, base, sign, gain))
        return chosen

    def saved(self) -> int:
        """The number of operations saved by extracting it."""
        if len(self.places) < 2:
            return self.bound
        return sum(gain for *_, gain in self.chosen()) - self.once


class _Product:
    """A product of two literals, and the terms that contain it."""

    __slots__ = ("bound", "holders", "key", "queued")

    def __init__(self, key: Pair) -> None:
        self.key = key
        self.bound = -1  # len(self.holders) - 1, kept since it is read far more often than it changes
        self.queued = 0
        self.holders: dict[int, None] = {}

    def saved(self) -> int:
        return self.bound


class Factoring:
    """Numbered sums of terms; what is extracted gets the literals from `first` on.

    `products` maps a new literal to the two literals that it is the product of, `sum_of` to the number of its sum.

    Two terms without a common factor save something only if their sum occurs again. So such pairs are entered only if
    both terms occur twice, or if their sum is a divisor already: long sums of terms that have nothing in common take
    linear time. `common`: see `LoweringOptions.common`.
    """

    def __init__(self, sums: Sequence[Sequence[Term]], first: Literal, common: int = DEFAULT.common) -> None:
        self.sums: list[_Sum] = []
        self.terms: dict[int, _Term] = {}
        self.products: dict[Literal, Pair] = {}
        self.sum_of: dict[Literal, int] = {}
        self._common = common
        self._numbers, self._literals = count(), count(first)
        self._kinds: dict[Literals, _Kind] = {}
        self._pairs: dict[Pair, _Product] = {}
        self._divisors: dict[Key, _Divisor] = {}
        self._queue: list[tuple[int, int, Pair | Key, _Product | _Divisor]] = []
        self._grown: dict[_Product | _Divisor, None] = {}
        """Products and divisors that may save more than their entry in the queue states."""
        for terms in sums:
            self._new_sum(terms)
        self._run()
        for kind in self._kinds.values():  # no cycles are left
            kind.divisors.clear()

    def result(self, sum_number: int) -> list[Term]:
        found = (self.terms[n] for n in self.sums[sum_number].terms)
        return [(term.sign, term.kind.literals) for term in found]

    def cost(self) -> int:
        """Additions and multiplications."""
        total = len(self.products)
        for i in range(len(self.sums)):
            terms = self.result(i)
            total += max(0, len(terms) - 1) + sum(multiplications(len(literals)) for _, literals in terms)
        return total

    # -- the tables -----------------------------------------------------------------------------------------------
    def _new_sum(self, terms: Sequence[Term]) -> int:
        self.sums.append(_Sum())
        for sign, literals in terms:
            self._add(self.sums[-1], sign, literals)
        return len(self.sums) - 1

    def _add(self, home: _Sum, sign: int, literals: Literals) -> None:
        """Add a term to a sum, to the products in it, and to the divisors that it is a place of with others."""
        number = next(self._numbers)
        kind = self._kind(literals)
        term = self.terms[number] = _Term(home, sign, kind)
        if not kind.products and len(literals) > 1:
            kind.products = [self._product(pair) for pair in dict.fromkeys(combinations(literals, 2))]
        for product in kind.products:
            product.holders[number] = None
            product.bound += 1
            if product.bound > product.queued:
                self._grown[product] = None
        alike = kind.setdefault(home, {})
        alike[number] = None
        for other in home.enter(number, literals, self._common):
            if other not in term.mates:
                self._enter(other, number)
        if kind.twice:
            self._enter_apart(number)
        elif len(kind) > 1 or len(alike) > 1:
            kind.twice = True
            for known in [n for numbers in kind.values() for n in numbers]:
                self._enter_apart(known)
        for other in self._known_partners(term) if kind.divisors else ():
            self._enter(other, number)

    def _kind(self, literals: Literals) -> _Kind:
        kind = self._kinds.get(literals)
        if kind is None:
            kind = self._kinds[literals] = _Kind(literals)
        return kind

    def _product(self, pair: Pair) -> _Product:
        return self._pairs.get(pair) or self._pairs.setdefault(pair, _Product(pair))

    def _enter(self, other: int, number: int) -> None:
        """Enter two terms of a sum, in the order of their numbers, among the places of their divisor."""
        first, second = self.terms[other], self.terms[number]
        if other in second.mates:
            return
        base, u, v, turned, gain, once = split(first.kind.literals, second.kind.literals)
        key = (u, v, first.sign * second.sign)
        divisor = self._divisors.get(key) or self._new_divisor(key, once)
        divisor.places[other, number] = (base, second.sign if turned else first.sign, gain)
        divisor.bound += gain
        if divisor.bound > divisor.queued:
            self._grown[divisor] = None
        second.mates[other] = first.mates[number] = divisor
        if base and len(divisor.places) == 1:
            self._enter_whole(divisor)

    def _new_divisor(self, key: Key, once: int) -> _Divisor:
        kinds = self._kind(key[0]), self._kind(key[1])
        divisor = self._divisors[key] = _Divisor(key, kinds, once)
        for kind in kinds:
            kind.divisors[divisor] = None
        return divisor

    def _enter_apart(self, number: int) -> None:
        """Enter a term with those of its sum that have no factor of it and have occurred twice, as it has."""
        term = self.terms[number]
        own = set(term.kind.literals)
        for other in term.home.terms:
            kind = self.terms[other].kind
            if other != number and kind.twice and own.isdisjoint(kind.literals):
                self._enter(min(other, number), max(other, number))

    def _enter_whole(self, divisor: _Divisor) -> None:
        """Enter the pairs of terms that are the divisor themselves."""
        of_u, of_v = divisor.kinds
        for home in of_u if len(of_u) <= len(of_v) else of_v:
            for one in of_u.get(home, ()):
                for other in of_v.get(home, ()):
                    if one != other and self.terms[one].sign * self.terms[other].sign == divisor.key[2]:
                        self._enter(min(one, other), max(one, other))

    def _known_partners(self, term: _Term) -> list[int]:
        """The terms without a factor of this one whose sum with it is a divisor."""
        kind, home, sign = term.kind, term.home, term.sign
        return [
            other
            for divisor in kind.divisors
            for other in divisor.kinds[divisor.kinds[0] is kind].get(home, ())
            if self.terms[other] is not term and self.terms[other].sign * sign == divisor.key[2]
        ]

    def _remove(self, number: int) -> _Term:
        """Take a term out of everything."""
        term = self.terms.pop(number)
        for product in term.kind.products:
            del product.holders[number]
            product.bound -= 1
        for other, divisor in term.mates.items():
            place = (number, other) if number < other else (other, number)
            divisor.bound -= divisor.places.pop(place)[2]
            del self.terms[other].mates[number]
        term.leave(number)
        return term

    # -- the choice -----------------------------------------------------------------------------------------------
    def _promise(self, subject: _Product | _Divisor, saved: int) -> None:
        """Queue a product or divisor by its saving or an upper bound, which is computed again when its turn comes."""
        subject.queued = saved
        heapq.heappush(self._queue, (-saved, isinstance(subject, _Divisor), subject.key, subject))

    def _run(self) -> None:
        while True:
            for subject in self._grown:
                if subject.bound > subject.queued:
                    self._promise(subject, subject.bound)
            self._grown.clear()
            if not self._queue:
                return
            promised, _, _, subject = heapq.heappop(self._queue)
            if subject.queued != -promised:
                continue
            subject.queued = 0
            saved = subject.saved()
            if saved != -promised:  # the tables have changed, or it was an upper bound
                if saved > 0:
                    self._promise(subject, saved)
            elif isinstance(subject, _Divisor):
                self._extract_sum(subject)
            else:
                self._extract_product(subject.key)

    def _extract_product(self, pair: Pair) -> None:
        literal = Literal(next(self._literals))
        self.products[literal] = pair
        for number in list(self._pairs[pair].holders):
            term = self._remove(number)
            rest = list(term.kind.literals)
            while all(rest.count(a) >= pair.count(a) for a in pair):
                for a in pair:
                    rest.remove(a)
                rest.append(literal)
            self._add(term.home, term.sign, tuple(sorted(rest)))

    def _extract_sum(self, divisor: _Divisor) -> None:
        u, v, sign = divisor.key
        literal = Literal(next(self._literals))
        for a, b, base, base_sign, _ in divisor.chosen():
            home = self._remove(a).home
            self._remove(b)
            self._add(home, base_sign, tuple(sorted((*base, literal))))
        self.sum_of[literal] = self._new_sum([(1, u), (sign, v)])
