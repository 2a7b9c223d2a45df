"""Graph nodes as fractions of polynomials: a normal form that decides whether an expression is zero, exactly.

The variables of the polynomials are the symbols and the values of functions. sin^2 a is 1 - cos^2 a; the values of
other functions are treated as independent. So a vanishing numerator proves that the expression is zero everywhere,
while a nonzero one proves nothing: f(a) and g(a) may be equal.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from typing import Any

from sympy import QQ
from sympy.polys.rings import ring

from ..graph.graph import Graph, Node

LARGEST = 20_000
"""Largest number of terms in one product; beyond that the answer takes longer than it is worth."""

PRIME = 2**61 - 1
"""The modulus of the residues that show that an expression is not zero."""

Polynomial = Any

LARGEST_SHORTENED = 200
"""Largest number of terms at which a common divisor is sought, which takes far longer than the product."""


class TooLarge(Exception):
    """The normal form has too many terms."""


def vanishes(g: Graph, node: Node) -> bool:
    """Whether a node is proved to be zero wherever it is defined; False if there is no proof."""
    if _differs(g, node):
        return False
    try:
        return not Fractions(g, node).numerator
    except (TooLarge, ZeroDivisionError):
        return False


def _differs(g: Graph, root: Node) -> bool:
    """Whether a node is not zero at one point, computed with residues: most answers come without polynomials.

    Every atom is given a residue, a sine and a cosine of one angle those of a point on the circle.
    """
    draw = random.Random(41)
    value: dict[Node, int] = {}
    circle: dict[Node, tuple[int, int]] = {}
    try:
        for n in g.reachable([root]):
            op, args, constant = g.op[n], g.args[n], g.constant_value(n)
            if constant is not None:
                value[n] = constant.numerator * pow(constant.denominator, -1, PRIME) % PRIME
            elif op in ("sin", "cos"):
                if args[0] not in circle:
                    slope = draw.randrange(PRIME)
                    inverse = pow(1 + slope**2, -1, PRIME)
                    circle[args[0]] = 2 * slope * inverse, (1 - slope**2) * inverse
                value[n] = circle[args[0]][op == "cos"] % PRIME
            elif is_arithmetic(g, n):
                value[n] = _residue(op, [value[a] for a in args], g.constant_value(args[-1]))
            else:
                value[n] = draw.randrange(PRIME)
    except ValueError:  # no inverse
        return False
    return value[root] != 0


def _residue(op: str, values: Sequence[int], exponent: Fraction | None) -> int:
    a, b = values[0], values[-1]
    if op == "pow":
        assert exponent is not None
        return pow(a, int(exponent), PRIME)
    if op == "neg":
        return -a % PRIME
    if op in ("mul", "div"):
        return a * (b if op == "mul" else pow(b, -1, PRIME)) % PRIME
    return (a + b if op == "add" else a - b) % PRIME


def is_arithmetic(g: Graph, n: Node) -> bool:
    """Whether a node is a fraction of polynomials in its arguments."""
    if g.op[n] == "pow":
        exponent = g.constant_value(g.args[n][1])
        return exponent is not None and exponent.denominator == 1 and abs(exponent) <= 12
    return g.op[n] in ("add", "sub", "neg", "mul", "div")


def shortened(g: Graph, node: Node) -> Node:
    """A node as a fraction in lowest terms if that has fewer operations, otherwise the node itself."""
    try:
        found = Fractions(g, node, LARGEST_SHORTENED)
    except (TooLarge, ZeroDivisionError):
        return node
    if max(len(found.numerator), len(found.denominator)) > LARGEST_SHORTENED:
        return node
    top, bottom = map(found.node, found.numerator.cancel(found.denominator))
    short = g.div(top, bottom)
    return short if g.count_operations([short]) < g.count_operations([node]) else node


class Fractions:
    """The numerator and denominator of a node as polynomials over the rationals.

    Raises TooLarge if a product could have more terms than `largest`.
    """

    def __init__(self, g: Graph, root: Node, largest: int = LARGEST) -> None:
        self.graph = g
        self.largest = largest
        order = g.reachable([root])
        inside = [n for n in order if not is_arithmetic(g, n) and g.op[n] != "const"]
        self.atoms: dict[Node, int] = {n: i for i, n in enumerate(inside)}
        domain, *generators = ring([f"a{i}" for i in range(len(inside))] or ["a0"], QQ)
        self.ring, self.generators = domain, generators
        self._cosine = self._pairs()
        found: dict[Node, tuple[Polynomial, Polynomial]] = {}
        for n in order:
            found[n] = self._fraction(n, found)
        self.numerator, self.denominator = found[root]

    def _pairs(self) -> list[tuple[int, Polynomial]]:
        """For every sine atom whose cosine is also an atom: its index and 1 - cos^2."""
        g = self.graph
        cosines = {g.args[n][0]: i for n, i in self.atoms.items() if g.op[n] == "cos"}
        return [
            (i, 1 - self.generators[cosines[g.args[n][0]]] ** 2)
            for n, i in self.atoms.items()
            if g.op[n] == "sin" and g.args[n][0] in cosines
        ]

    def _fraction(
        self, n: Node, found: dict[Node, tuple[Polynomial, Polynomial]]
    ) -> tuple[Polynomial, Polynomial]:
        g, one = self.graph, self.ring.one
        constant = g.constant_value(n)
        if constant is not None:
            return one * QQ(constant.numerator, constant.denominator), one
        if n in self.atoms:
            return self.generators[self.atoms[n]], one
        op, args = g.op[n], g.args[n]
        a, b = found[args[0]]
        if op == "neg":
            return -a, b
        if op == "pow":
            exponent = g.constant_value(args[1])
            assert isinstance(exponent, Fraction)
            power = int(exponent)
            if power < 0:
                a, b, power = b, a, -power
            top, bottom = one, one
            for _ in range(power):
                top, bottom = self._times(top, a), self._times(bottom, b)
            return top, bottom
        c, d = found[args[1]]
        if op == "mul":
            return self._times(a, c), self._times(b, d)
        if op == "div":
            if not c:
                raise ZeroDivisionError
            return self._times(a, d), self._times(b, c)
        if b == d:
            return (a + c if op == "add" else a - c), b
        left, right = self._times(a, d), self._times(c, b)
        return (left + right if op == "add" else left - right), self._times(b, d)

    def _times(self, a: Polynomial, b: Polynomial) -> Polynomial:
        if a == 1 or b == 1:
            return b if a == 1 else a
        if len(a) * len(b) > self.largest:
            raise TooLarge
        return self._reduced(a * b)

    def node(self, p: Polynomial) -> Node:
        """A polynomial in the graph, its terms in descending order."""
        g, atoms = self.graph, list(self.atoms)
        terms = []
        for exponents, c in p.terms():
            factors = [g.integer_power(a, e) for a, e in zip(atoms, exponents, strict=False) if e]
            number = g.const(Fraction(int(c.numerator), int(c.denominator)))
            terms.append(g.mul(number, reduce(g.mul, factors, g.one)))
        return g.sum(terms)

    def _reduced(self, p: Polynomial) -> Polynomial:
        """Even powers of sines replaced by those of cosines."""
        for i, square in self._cosine:
            while any(m[i] > 1 for m in p):
                rest, raised = self.ring.zero, self.ring.zero
                for m, c in p.terms():
                    if m[i] > 1:
                        lowered = (*m[:i], m[i] - 2, *m[i + 1 :])
                        raised[lowered] = raised.get(lowered, 0) + c
                    else:
                        rest[m] = c
                p = rest + raised * square
        return p
