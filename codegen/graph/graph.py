"""The hash-consed expression graph between SymPy and the emitted code.

A node is an integer; equal expressions are the same node, so sharing is never lost and equality is `==`. The arguments
of a node have smaller numbers than the node itself, so increasing order is an evaluation order. The constructors fold
constants exactly (rational arithmetic) and maintain a light normal form: constant factors in front, signs outside,
commutative arguments in order. Nothing is expanded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from chaplygin.errors import RangeError

from .functions import FUNCTIONS
from .node import Node as Node

Number = int | Fraction

RELATIONS = ("lt", "le", "eq", "ne")
CONDITIONS = (*RELATIONS, "and", "or")
"""Nodes with a truth value: true, false, or undefined where a relation compares a NaN (see `Graph.connective`)."""
LEAVES = ("const", "named", "symbol", "bool")
_LARGEST_ORDERS = 100_000
"""Nodes in all remembered evaluation orders of a graph."""


def _plain(value: Fraction) -> Number:
    """A constant for arithmetic: an int if it is integral, which is much faster."""
    return value.numerator if value.denominator == 1 else value


def _shown(value: Number | float) -> str:
    """The text of a number that may be too large for a float."""
    if isinstance(value, float):
        return str(value)
    exact = Fraction(value)
    bits = exact.numerator.bit_length() - exact.denominator.bit_length()
    return f"{'-' if value < 0 else ''}1e{round(bits * 0.30103)} (about)"


class Graph:
    """Expression nodes, each created once. `op[n]` and `args[n]` describe node n; `value[n]` is a leaf's payload."""

    def __init__(self) -> None:
        self.op: list[str] = []
        self.args: list[tuple[Node, ...]] = []
        self.value: dict[Node, Fraction | str] = {}
        self._index: dict[tuple[object, ...], Node] = {}
        self._constants: dict[tuple[int, int] | float, Node] = {}
        self.has_roots = False
        self.signs: dict[Node, int] = {}
        """Variables that are declared as not negative, 1, or not positive, -1."""
        self._orders: dict[tuple[Node, ...], list[Node]] = {}
        self.found: dict[object, Any] = {}
        """What takes long to find, in nodes of this graph; copies know it too."""
        self.zero: Node = self.const(0)
        self.one = self.const(1)
        self.minus_one = self.const(-1)
        self.two = self.const(2)

    def __len__(self) -> int:
        return len(self.op)

    def copy(self) -> Graph:
        """A graph with the same nodes and numbers, which can be extended independently."""
        other = Graph.__new__(Graph)
        other.op, other.args = self.op.copy(), self.args.copy()
        other.value, other._index = self.value.copy(), self._index.copy()
        other._constants, other._orders = self._constants.copy(), {}
        other.signs, other.found, other.has_roots = self.signs.copy(), self.found.copy(), self.has_roots
        other.zero, other.one, other.minus_one, other.two = self.zero, self.one, self.minus_one, self.two
        return other

    # -- leaves ---------------------------------------------------------------------------------------------------
    def same(self, op: str, args: tuple[Node, ...]) -> Node:
        """The node `op(args)` without simplification, for a deliberate order of operations."""
        key = (op, *args)
        node = self._index.get(key)
        return self._new(key, op, args) if node is None else node

    def _leaf(self, op: str, payload: Fraction | str) -> Node:
        node = self._index.get((op, payload))
        if node is None:
            node = self._new((op, payload), op, ())
            self.value[node] = payload
        return node

    def _new(self, key: tuple[object, ...], op: str, args: tuple[Node, ...]) -> Node:
        node = self._index[key] = Node(len(self.op))
        self.op.append(op)
        self.args.append(args)
        self.has_roots |= op == "sqrt"
        return node

    def const(self, value: int | Fraction | float) -> Node:
        """An exact constant; a float is taken as the binary fraction that it is.

        Raises RangeError if it exceeds the range of double precision.
        """
        # Fractions take long to hash.
        key = value if isinstance(value, float) else (value.numerator, value.denominator)
        node = self._constants.get(key)
        if node is None:
            try:
                exact = Fraction(value)
                float(exact)
            except (OverflowError, ValueError):
                raise RangeError(f"the constant {_shown(value)} is beyond double precision") from None
            node = self._constants[key] = self._leaf("const", exact)
        return node

    def named(self, name: str) -> Node:
        """An irrational constant of the table `NAMED`: "pi" or "e"."""
        return self._leaf("named", name)

    def symbol(self, name: str) -> Node:
        """A variable; equal names give the same node."""
        return self._leaf("symbol", name)

    def boolean(self, value: bool) -> Node:
        return self._leaf("bool", "true" if value else "false")

    def constant_value(self, node: Node) -> Fraction | None:
        """The exact value of a constant node; None for any other node."""
        value = self.value[node] if self.op[node] == "const" else None
        return value if isinstance(value, Fraction) else None

    # -- arithmetic -----------------------------------------------------------------------------------------------
    def split(self, node: Node) -> tuple[Number, Node]:
        """(coefficient, rest) with node = coefficient * rest, where rest has no constant factor and no sign."""
        op = self.op[node]
        if op == "neg":
            coefficient, rest = self.split(self.args[node][0])
            return -coefficient, rest
        if op not in ("mul", "const"):
            return 1, node
        factor, rest = self.args[node] if op == "mul" else (node, self.one)
        value = self.constant_value(factor)
        return (1, node) if value is None else (_plain(value), rest)

    def _scaled(self, coefficient: Number, node: Node) -> Node:
        """coefficient * node, for a node without a constant factor."""
        if node == self.one:
            return self.const(coefficient)
        if coefficient.denominator != 1:
            return self.same("mul", (self.const(coefficient), node))
        if coefficient == 0:
            return self.zero
        if coefficient == 1:
            return node
        if coefficient == -1:
            if self.op[node] == "sub":
                a, b = self.args[node]
                return self.same("sub", (b, a))
            return self.same("neg", (node,))
        return self.same("mul", (self.const(coefficient), node))

    def neg(self, a: Node) -> Node:
        coefficient, rest = self.split(a)
        return self._scaled(-coefficient, rest)

    def add(self, a: Node, b: Node) -> Node:
        if a == self.zero:
            return b
        if b == self.zero:
            return a
        ca, ra = self.split(a)
        cb, rb = self.split(b)
        if ra == rb:
            return self._scaled(ca + cb, ra)
        if self.op[a] == self.op[b] == "sub" and self.args[a] == self.args[b][::-1]:
            return self.zero
        if ca < 0 and cb < 0 and self.op[a] == self.op[b] == "neg":
            return self.neg(self.add(ra, rb))
        if ca not in (1, -1) and abs(ca) == abs(cb) and self.one not in (ra, rb):
            # A common factor: c a + c b = c (a + b).
            inner = self.add(ra, rb) if ca == cb else self.sub(ra, rb)
            return self.mul(self.const(ca), inner)
        if cb < 0 and self.op[b] != "const":
            return self.same("sub", (a, self._scaled(-cb, rb)))
        if ca < 0 and self.op[a] != "const":
            return self.same("sub", (b, self._scaled(-ca, ra)))
        return self.same("add", (a, b) if a < b else (b, a))

    def sub(self, a: Node, b: Node) -> Node:
        return self.add(a, self.neg(b))

    def mul(self, a: Node, b: Node) -> Node:
        if a == self.zero or b == self.zero:
            return self.zero
        ca, ra = self.split(a)
        cb, rb = self.split(b)
        coefficient = ca * cb
        if ra == self.one:
            return self._scaled(coefficient, rb)
        if rb == self.one:
            return self._scaled(coefficient, ra)
        if self.op[ra] == "div" and self.args[ra][0] == self.one:  # (1/d) * b = b / d
            return self._scaled(coefficient, self.div(rb, self.args[ra][1]))
        if self.op[rb] == "div" and self.args[rb][0] == self.one:
            return self._scaled(coefficient, self.div(ra, self.args[rb][1]))
        if self.op[ra] == "sqrt" and ra == rb:
            return self.mul(self.const(coefficient), self.args[ra][0])
        return self._scaled(coefficient, self.same("mul", (ra, rb) if ra < rb else (rb, ra)))

    def div(self, a: Node, b: Node) -> Node:
        if b == self.zero:
            raise ZeroDivisionError("division by the constant 0")
        if a == self.zero:
            return self.zero
        ca, ra = self.split(a)
        cb, rb = self.split(b)
        coefficient = ca if cb == 1 else Fraction(ca) / cb
        if rb == self.one:
            return self._scaled(coefficient, ra)
        if ra == rb:
            return self.const(coefficient)
        if self.op[ra] == "div":
            above, below = self.args[ra]
            return self.mul(self.const(coefficient), self.div(above, self.mul(below, rb)))
        if self.op[rb] == "div":
            above, below = self.args[rb]
            return self.mul(self.const(coefficient), self.div(self.mul(ra, below), above))
        return self._scaled(coefficient, self.same("div", (ra, rb)))

    def sum(self, nodes: Iterable[Node]) -> Node:
        total = self.zero
        for node in nodes:
            total = self.add(total, node)
        return total

    def dot(self, a: Sequence[Node], b: Sequence[Node]) -> Node:
        return self.sum(self.mul(x, y) for x, y in zip(a, b, strict=True))

    def integer_power(self, a: Node, n: int) -> Node:
        """a**n by repeated squaring."""
        if n < 0:
            return self.div(self.one, self.integer_power(a, -n))
        result = self.one
        while n:
            if n & 1:
                result = self.mul(result, a)
            n >>= 1
            if n:
                a = self.mul(a, a)
        return result

    def pow(self, a: Node, b: Node) -> Node:
        exponent = self.constant_value(b)
        if exponent is not None:
            if exponent.denominator == 1 and abs(exponent) <= 64:
                return self.integer_power(a, int(exponent))
            if exponent.denominator == 2 and abs(exponent) <= 16:
                root, whole = self.call("sqrt", a), self.integer_power(a, int(exponent))
                return self.mul(whole, root) if exponent > 0 else self.div(whole, root)
        if self.op[a] == "named" and self.value[a] == "e":
            return self.call("exp", b)
        if a == self.one:
            return self.one
        return self.same("pow", (a, b))

    # -- functions ------------------------------------------------------------------------------------------------
    def call(self, name: str, *args: Node) -> Node:
        """A function of the table `FUNCTIONS` at its arguments; powers have the constructor `pow`."""
        if name == "pow":
            return self.pow(*args)
        function = FUNCTIONS[name]
        values = [self.constant_value(a) for a in args]
        exact = None if None in values else function.exact(*values)
        if exact is not None:
            return self.const(exact)
        if function.switch is not None and function.switch.compares and args[0] == args[1]:
            return args[0]
        return self.same(name, args)

    def relation(self, name: str, a: Node, b: Node) -> Node:
        va, vb = self.constant_value(a), self.constant_value(b)
        if va is not None and vb is not None:
            return self.boolean({"lt": va < vb, "le": va <= vb, "eq": va == vb, "ne": va != vb}[name])
        return self.same(name, (a, b))

    def connective(self, name: str, a: Node, b: Node) -> Node:
        """a "and" b or a "or" b in Kleene's logic: a false operand decides an "and", a true one an "or"; otherwise an
        undefined operand makes the result undefined. The order of a and b does not matter.
        """
        decisive = self.boolean(name == "or")
        if decisive in (a, b):
            return decisive
        neutral = self.boolean(name == "and")
        if a in (neutral, b):
            return b
        if b == neutral:
            return a
        return self.same(name, (a, b) if a < b else (b, a))

    def negation(self, condition: Node) -> Node:
        """The condition that is true where this one is false, and vice versa; undefined where this one is."""
        op, args = self.op[condition], self.args[condition]
        if op == "bool":
            return self.boolean(self.value[condition] == "false")
        if op in ("lt", "le"):
            return self.relation("le" if op == "lt" else "lt", args[1], args[0])
        if op in ("eq", "ne"):
            return self.relation("ne" if op == "eq" else "eq", *args)
        return self.connective("or" if op == "and" else "and", *map(self.negation, args))

    def select(self, condition: Node, a: Node, b: Node) -> Node:
        """a where the condition is true, b where it is false, NaN where it is undefined."""
        if a == b or condition == self.boolean(True):
            return a
        if condition == self.boolean(False):
            return b
        return self.same("select", (condition, a, b))

    def plain_product(self, a: Node, b: Node) -> Node:
        """a * b without simplification, with a constant or a product first, where it needs no parentheses."""
        if a == self.one or b == self.one:
            return b if a == self.one else a
        va, vb = self.constant_value(a), self.constant_value(b)
        if va is not None and vb is not None:
            return self.const(va * vb)
        if vb is not None or (va is None and self.op[b] == "mul" and self.op[a] != "mul"):
            a, b = b, a
        return self.same("mul", (a, b))

    def rebuild(self, op: str, args: Sequence[Node]) -> Node:
        """The node `op(args)`, through the simplifying constructors."""
        if op in FUNCTIONS:
            return self.call(op, *args)
        if op in RELATIONS:
            return self.relation(op, *args)
        if op in CONDITIONS:
            return self.connective(op, *args)
        made: Node = getattr(self, op)(*args)  # arithmetic and `select`
        return made

    # -- walks ----------------------------------------------------------------------------------------------------
    def reachable(self, roots: Iterable[Node], stop: Iterable[Node] = ()) -> list[Node]:
        """Every node that the roots need, in evaluation order; the walk does not descend below the nodes in `stop`."""
        stopped = stop if isinstance(stop, (dict, set, frozenset)) else set(stop)
        seen: set[Node] = set()
        stack = list(roots)
        args = self.args
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            if node not in stopped:
                stack.extend(args[node])
        return sorted(seen)

    def order(self, roots: Sequence[Node]) -> Sequence[Node]:
        """The same for roots that are evaluated at many points: remembered, not to be changed."""
        key = tuple(roots)
        found = self._orders.get(key)
        if found is None:
            found = self.reachable(key)
            if sum(map(len, self._orders.values())) + len(found) > _LARGEST_ORDERS:
                self._orders.clear()
            self._orders[key] = found
        return found

    def symbols(self, roots: Iterable[Node]) -> set[str]:
        """The names of the variables that the roots depend on."""
        return {str(self.value[n]) for n in self.reachable(roots) if self.op[n] == "symbol"}

    def depends_on(self, roots: Iterable[Node], variables: Iterable[Node]) -> bool:
        wanted = set(variables)
        return any(n in wanted for n in self.reachable(roots))

    def dependent(self, roots: Iterable[Node], variables: Iterable[Node]) -> set[Node]:
        """The nodes below the roots that depend on any of these variables, and the variables."""
        found = set(variables)
        for node in self.reachable(roots):
            if not found.isdisjoint(self.args[node]):
                found.add(node)
        return found

    def from_only(self, roots: Iterable[Node], variables: Collection[Node]) -> set[Node]:
        """The nodes below the roots that are computed from these variables and constants alone."""
        found = set(variables)
        constant: set[Node] = set()
        for node in self.reachable(roots):
            args = self.args[node]
            if not args:
                if self.op[node] != "symbol":
                    constant.add(node)
            elif all(a in constant for a in args):
                constant.add(node)
            elif all(a in found or a in constant for a in args):
                found.add(node)
        return found - set(variables)

    def substitute(self, roots: Sequence[Node], replacement: Mapping[Node, Node]) -> list[Node]:
        """The roots with nodes replaced; replacements are not substituted into again."""
        new: dict[Node, Node] = dict(replacement)
        for node in self.reachable(roots, stop=replacement):
            if node in new:
                continue
            args = self.args[node]
            changed = tuple(new[a] for a in args)
            new[node] = node if changed == args else self.rebuild(self.op[node], changed)
        return [new[r] for r in roots]

    def tree_size(self, root: Node, known: dict[Node, int] | None = None) -> int:
        """The number of operations of a root written out without sharing, which SymPy would have to traverse.

        `known` keeps the sizes of the nodes below it for further roots.
        """
        size = {} if known is None else known
        if root not in size:
            for n in self.reachable([root], stop=size):
                if n not in size:
                    args = self.args[n]
                    size[n] = 1 + sum(size[a] for a in args) if args else 0
        return size[root]

    def count_operations(self, roots: Iterable[Node]) -> int:
        """The number of arithmetic operations and function calls that the roots need."""
        return sum(self.op[n] not in LEAVES for n in self.reachable(roots))
