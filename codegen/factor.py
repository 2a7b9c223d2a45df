"""Sums of products in fewer operations: common factors, shared partial sums and shared products, found greedily.

The two kinds of divisor that logic synthesis extracts (J. Rajski, J. Vasudevamurthy, The testability-preserving
concurrent decomposition and factorization of Boolean expressions, IEEE Trans. CAD 11 (1992) 778-793): a product of two
literals that stands in several terms, and a sum of two terms that stands in several sums or times a common factor.
The one that saves most is taken, until none saves anything. Nothing is multiplied out.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

Literal = int
Literals = tuple[Literal, ...]
"""The factors of a term in ascending order; a square stands twice."""
Term = tuple[int, Literals]
"""A sign, 1 or -1, and the factors."""
Pair = tuple[Literal, Literal]
Divisor = tuple[Literals, Literals, int]
"""The sum u + sign * v."""
_NO_PAIR: Pair = (0, 0)
_NO_DIVISOR: Divisor = ((), (), 0)


def multiplications(count: int) -> int:
    return count - 1 if count > 1 else 0


def divided(a: Literals, b: Literals) -> tuple[Literals, Literals, Literals]:
    """The common factors of two terms, and what is left of each."""
    shared, left, right = [], [], []
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i] == b[j]:
            shared.append(a[i])
            i, j = i + 1, j + 1
        elif a[i] < b[j]:
            left.append(a[i])
            i += 1
        else:
            right.append(b[j])
            j += 1
    return tuple(shared), (*left, *a[i:]), (*right, *b[j:])


def _without(literals: Literals, gone: Pair) -> list[Literal]:
    rest = list(literals)
    for literal in gone:
        rest.remove(literal)
    return rest


class Factoring:
    """Numbered sums of terms; literals from `first` on are given to what is extracted.

    Afterwards `products` says which two literals a new literal is the product of, `sum_of` which sum it stands for.
    """

    def __init__(self, sums: Sequence[Sequence[Term]], first: Literal) -> None:
        self.sums: list[dict[int, None]] = []
        self.terms: dict[int, Term] = {}
        self.products: dict[Literal, Pair] = {}
        self.sum_of: dict[Literal, int] = {}
        self._home: dict[int, int] = {}
        self._next_term = 0
        self._next_literal = first
        self._pairs: dict[Pair, dict[int, None]] = {}
        self._divisors: dict[Divisor, dict[tuple[int, int], tuple[Literals, int]]] = {}
        self._mates: dict[int, dict[int, Divisor]] = {}
        self._queue: list[tuple[int, int, Pair, Divisor]] = []
        for terms in sums:
            self._new_sum(terms)
        self._run()

    def result(self, sum_number: int) -> list[Term]:
        return [self.terms[t] for t in self.sums[sum_number]]

    def cost(self) -> int:
        """Additions and multiplications."""
        total = len(self.products)
        for terms in self.sums:
            total += max(0, len(terms) - 1) + sum(multiplications(len(self.terms[t][1])) for t in terms)
        return total

    # -- the tables -----------------------------------------------------------------------------------------------
    def _new_sum(self, terms: Sequence[Term]) -> int:
        self.sums.append({})
        for sign, literals in terms:
            self._add(len(self.sums) - 1, sign, literals)
        return len(self.sums) - 1

    def _add(self, home: int, sign: int, literals: Literals) -> None:
        number = self._next_term
        self._next_term += 1
        self.terms[number] = (sign, literals)
        self._home[number] = home
        for pair in _pairs(literals):
            holders = self._pairs.setdefault(pair, {})
            holders[number] = None
            if len(holders) > 1:
                heapq.heappush(self._queue, (1 - len(holders), 0, pair, _NO_DIVISOR))
        self._mates[number] = mates = {}
        for other in self.sums[home]:
            other_sign, others = self.terms[other]
            base, u, v = divided(others, literals)
            base_sign = other_sign
            if v < u:
                u, v, base_sign = v, u, sign
            key = (u, v, sign * other_sign)
            found = self._divisors.setdefault(key, {})
            found[other, number] = (base, base_sign)
            mates[other] = self._mates[other][number] = key
            if base or len(found) > 1:
                saved = self._saved(key)
                if saved > 0:
                    heapq.heappush(self._queue, (-saved, 1, _NO_PAIR, key))
        self.sums[home][number] = None

    def _remove(self, number: int) -> None:
        _, literals = self.terms.pop(number)
        for pair in _pairs(literals):
            del self._pairs[pair][number]
        for other, key in self._mates.pop(number).items():
            del self._divisors[key][min(number, other), max(number, other)]
            del self._mates[other][number]
        del self.sums[self._home.pop(number)][number]

    def _places(self, key: Divisor) -> list[tuple[int, int, Literals, int]]:
        """Where a divisor can be extracted: no term twice, the largest common factors first."""
        found = sorted(self._divisors[key].items(), key=lambda item: (-len(item[1][0]), item[0]))
        used: set[int] = set()
        places = []
        for (a, b), (base, sign) in found:
            if a not in used and b not in used:
                used |= {a, b}
                places.append((a, b, base, sign))
        return places

    def _saved(self, key: Divisor) -> int:
        """Operations saved by extracting a divisor."""
        u, v, _ = key
        saved = -(multiplications(len(u)) + multiplications(len(v)) + 1)
        for _, _, base, _ in self._places(key):
            n = len(base)
            saved += multiplications(n + len(u)) + multiplications(n + len(v)) + 1 - n
        return saved

    # -- the choice -----------------------------------------------------------------------------------------------
    def _run(self) -> None:
        while self._queue:
            saved, kind, pair, key = heapq.heappop(self._queue)
            now = -self._saved(key) if kind else 1 - len(self._pairs[pair])
            if now != saved:  # the tables have changed since
                if now < 0:
                    heapq.heappush(self._queue, (now, kind, pair, key))
            elif kind:
                self._extract_sum(key)
            else:
                self._extract_product(pair)

    def _literal(self) -> Literal:
        self._next_literal += 1
        return self._next_literal - 1

    def _extract_product(self, pair: Pair) -> None:
        literal = self._literal()
        self.products[literal] = pair
        for number in list(self._pairs[pair]):
            sign, literals = self.terms[number]
            rest = list(literals)
            while all(rest.count(a) >= pair.count(a) for a in pair):
                rest = _without(tuple(rest), pair)
                rest.append(literal)
            home = self._home[number]
            self._remove(number)
            self._add(home, sign, tuple(sorted(rest)))

    def _extract_sum(self, key: Divisor) -> None:
        u, v, sign = key
        places = self._places(key)
        literal = self._literal()
        for a, b, base, base_sign in places:
            home = self._home[a]
            self._remove(a)
            self._remove(b)
            self._add(home, base_sign, tuple(sorted((*base, literal))))
        self.sum_of[literal] = self._new_sum([(1, u), (sign, v)])


def _pairs(literals: Literals) -> Iterator[Pair]:
    """The different pairs of factors of a term."""
    for i, a in enumerate(literals):
        if i and literals[i - 1] == a:
            continue
        rest = literals[i + 1 :]
        for j, b in enumerate(rest):
            if j == 0 or rest[j - 1] != b:
                yield a, b
