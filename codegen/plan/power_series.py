"""The right-hand side as power series: the nodes whose coefficients Taylor's method computes, and how they depend.

With x(t) = sum of x_k t^k, the coefficients of every node follow from those of its arguments: sums term by term,
products by Cauchy's formula, quotients and roots by solving it, and a function f(a) from df/dt = D da/dt, where its
derivative D is a node as well: k f_k = sum of j a_j D_(k-j), which needs D only up to k - 1. So D may contain f itself,
and the table of functions needs no recurrences of its own. Branches are those at the start of the step.

The coefficients of one order are made in the graph, from symbols for what is known of the orders before, so that
multiply-adds are chosen as in any kernel. The terms of a product with an index 0 or 1 are part of that; a loop adds the
others beforehand, so that little waits for the newest coefficients.

Source: A. Griewank, A. Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, section 13.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

from chaplygin.errors import EmitError

from ..graph.functions import FUNCTIONS
from ..graph.graph import CONDITIONS, RELATIONS, Graph, Node
from ..graph.linear import LDL
from ..lower.lowered import Kernel, Lowered, Solve
from .fma import fused
from .plan import Program
from .rebuild import latency
from .write_statements import variable_names

Slopes = Mapping[Node, tuple[tuple[int, Node], ...]]
"""Functions, mapped to their derivatives by each argument; each as its sign and a node."""


@dataclass(frozen=True)
class SeriesProgram:
    """The series of a right-hand side.

    Attributes
    ----------
    graph : the graph of the program with more nodes.
    given : nodes that depend on parameters alone and are computed beforehand, mapped to their places.
    start : the values at the start of a step: the rates, then those that the recurrence needs.
    values : what `start` computes after the rates, before multiply-adds were chosen.
    recurrence : the coefficients of order k: those of the rates, then the stored ones.
    symbols : what the recurrence is given, mapped to its text.
    products : the two stored series of every product.
    n_stored : the number of stored series.
    moving : the nodes that change along a motion.
    """

    graph: Graph
    given: Mapping[Node, int]
    start: Kernel
    values: tuple[Node, ...]
    recurrence: Kernel
    symbols: Mapping[Node, str]
    products: tuple[tuple[int, int], ...]
    n_stored: int
    moving: Set[Node]


def series_program(program: Program) -> SeriesProgram:
    """The series of the right-hand side of a program. Raises EmitError for a function without a derivative."""
    g, kernel, hoisted = program.graph.copy(), program.kernels["rhs"], program.written_out("rhs").given
    rates = _without_loops(g, kernel.outputs, kernel.solves)
    rates = _with_branches(g, rates, hoisted)
    fixed = {*(g.symbol(v.name) for v in (*program.parameters, *program.modes)), *hoisted}
    slopes: dict[Node, tuple[tuple[int, Node], ...]] = {}
    while True:
        order = g.reachable([*rates, *(d for row in slopes.values() for _, d in row)], stop=hoisted)
        moving = _moving(g, order, fixed)
        fresh = [n for n in order if n in moving and n not in slopes and _differentiated(g, n)]
        if not fresh:
            break
        for node in fresh:
            slopes[node] = tuple(
                (-1, g.args[d][0]) if g.op[d] == "neg" else (1, d)
                for d in _with_branches(g, _slopes(g, node, moving), hoisted)
            )
    made = _Recurrence(g, program, moving, slopes)
    for node in order:
        made.add(node)
    stored = [made.weighted(n) if by_index else made.of(n) for by_index, n in made.stored]
    values = tuple(made.values)
    given = {node: i for i, node in enumerate(hoisted)}
    return SeriesProgram(
        graph=g,
        given=given,
        start=fused(g, _kernel((*rates, *values)), given),
        values=values,
        recurrence=fused(g, _kernel((*map(made.of, rates), *stored)), {*values, *order}),
        symbols=made.symbols,
        products=tuple(made.products),
        n_stored=len(stored),
        moving=moving,
    )


def _kernel(outputs: tuple[Node, ...]) -> Kernel:
    return Kernel("series", outputs, ("",) * len(outputs))


@dataclass
class _Recurrence:
    """Makes the coefficients of order k of the nodes that change, each from those of its arguments.

    The texts of symbols: x<i> is the coefficient k of state i, r<i> that of order k - 1 of its rate; of stored series
    i, p<i> is the coefficient k - 1, o<i> the first, l<i> the first too, but 0 for k = 2, where both pairs with an
    index 1 are one; c[<i>] has the other terms of product i.
    """

    graph: Graph
    program: Lowered
    moving: Set[Node]
    slopes: Slopes
    values: dict[Node, None] = field(default_factory=dict)
    """The values at the start of the step that are needed."""
    stored: dict[tuple[bool, Node], int] = field(default_factory=dict)
    """The nodes whose series are stored, each with whether times the index, mapped to their numbers."""
    products: dict[tuple[int, int], int] = field(default_factory=dict)
    symbols: dict[Node, str] = field(default_factory=dict)
    _made: dict[Node, Node] = field(default_factory=dict)
    _ready: dict[Node, int] = field(default_factory=dict)

    def of(self, node: Node) -> Node:
        """The coefficient of a node."""
        return self._made.get(node, self.graph.zero)

    def weighted(self, node: Node) -> Node:
        """The coefficient of a node times k: that of a state is its rate's."""
        op, array, index = self.graph.op[node], *self._place(node)
        if op == "symbol" and array == "x":
            return self._symbol(f"r{index}")
        return self._op("mul", self._symbol("index"), self.of(node))

    def add(self, node: Node) -> None:
        """Make the coefficient of a node, after those of its arguments."""
        g, op, args = self.graph, self.graph.op[node], self.graph.args[node]
        if op in RELATIONS:
            for a in args:
                self._value(a)
        if node not in self.moving or op in CONDITIONS:
            return
        if op == "symbol":
            array, index = self._place(node)
            made = self._symbol(f"{array}{index}" if array != "t" else "clock")
        elif op in ("add", "sub", "neg"):
            made = self._linear(op, args)
        elif op == "mul":
            made = self._product(*args)
        elif op == "div":
            made = self._quotient(node, *args)
        elif op == "sqrt":
            rest = self._op("sub", self.of(args[0]), self._inner((False, node), (False, node)))
            made = self._op("mul", rest, self._value(g.same("div", (g.const(0.5), self._value(node)))))
        elif op == "select":
            sides = [a for n in g.reachable(args[:1]) if g.op[n] in RELATIONS for a in g.args[n]]
            made = self._op("select", args[0], self.of(args[1]), self.of(args[2]), *map(self.of, sides))
        else:
            made = self._function(node, args)
        self._made[node] = made

    def _place(self, node: Node) -> tuple[str, int]:
        if self.graph.op[node] != "symbol":
            return "", 0
        _, array, index = variable_names(self.program, self.program.kernels["rhs"])[
            str(self.graph.value[node])
        ]
        return array, index

    def _symbol(self, text: str) -> Node:
        node = self.graph.symbol(f"cg_taylor {text}")
        self.symbols[node] = text
        return node

    def _value(self, node: Node) -> Node:
        if self.graph.op[node] not in ("const", "named"):
            self.values[node] = None
        return node

    def _op(self, op: str, *args: Node) -> Node:
        node = self.graph.same(op, args)
        self._ready[node] = self._when(*args) + latency(op)
        return node

    def _when(self, *nodes: Node) -> int:
        return max(self._ready.get(n, 0) for n in nodes)

    def _scaled(self, value: Node, coefficient: Node) -> Node:
        if value in (self.graph.one, self.graph.zero):
            return coefficient if value == self.graph.one else self.graph.zero
        return self._op("mul", self._value(value), coefficient)

    def _plus(self, a: Node, b: Node) -> Node:
        zero = self.graph.zero
        return b if a == zero else a if b == zero else self._op("add", a, b)

    def _linear(self, op: str, args: tuple[Node, ...]) -> Node:
        coefficients = [self.of(a) for a in args]
        if op == "neg" or (op == "sub" and coefficients[0] == self.graph.zero):
            return self._op("neg", coefficients[-1])
        if op == "sub" and coefficients[1] != self.graph.zero:
            return self._op("sub", *coefficients)
        return self._plus(*coefficients)

    def _inner(self, a: tuple[bool, Node], b: tuple[bool, Node]) -> Node:
        """The terms of the product of two stored series that contain no value."""
        i, j = sorted(self.stored.setdefault(s, len(self.stored)) for s in (a, b))
        rest = self._symbol(f"c[{self.products.setdefault((i, j), len(self.products))}]")
        first = self._plus(rest, self._op("mul", self._symbol(f"p{i}"), self._symbol(f"o{j}")))
        return self._plus(first, self._op("mul", self._symbol(f"p{j}"), self._symbol(f"l{i}")))

    def _product(self, a: Node, b: Node) -> Node:
        if a not in self.moving or b not in self.moving:
            return self._scaled(a, self.of(b)) if b in self.moving else self._scaled(b, self.of(a))
        first, last = sorted(((a, b), (b, a)), key=lambda pair: self._when(self.of(pair[1])))
        sum_ = self._plus(self._inner((False, a), (False, b)), self._scaled(first[0], self.of(first[1])))
        return self._plus(sum_, self._scaled(last[0], self.of(last[1])))

    def _quotient(self, node: Node, a: Node, b: Node) -> Node:
        inverse = self._value(self.graph.same("div", (self.graph.one, self._value(b))))
        if b not in self.moving:
            return self._op("mul", self.of(a), inverse)
        known = self._plus(self._inner((False, b), (False, node)), self._scaled(node, self.of(b)))
        rest = self._op("sub", self.of(a), known) if a in self.moving else self._op("neg", known)
        return self._op("mul", rest, inverse)

    def _function(self, node: Node, args: tuple[Node, ...]) -> Node:
        """From k f_k = sum of j a_j D_(k-j)."""
        total, by_index = self.graph.zero, self.graph.zero
        for a, (sign, d) in zip(args, self.slopes[node], strict=True):
            if a in self.moving and d in self.moving:
                term = self._plus(self._inner((True, a), (False, d)), self._scaled(d, self.weighted(a)))
                by_index = self._signed_sum(by_index, sign, term)
            elif a in self.moving:
                total = self._signed_sum(total, sign, self._scaled(d, self.of(a)))
        if by_index != self.graph.zero:
            by_index = self._op("mul", by_index, self._symbol("inverse"))
        return self._plus(total, by_index)

    def _signed_sum(self, total: Node, sign: int, term: Node) -> Node:
        if sign > 0 or term == self.graph.zero:
            return self._plus(total, term)
        return self._op("neg", term) if total == self.graph.zero else self._op("sub", total, term)


def _moving(g: Graph, order: Sequence[Node], fixed: Set[Node]) -> set[Node]:
    """The nodes that change along a motion."""
    found: set[Node] = set()
    for node in order:
        if node in fixed or g.op[node] == "sign":
            continue
        if g.op[node] == "symbol" or any(a in found for a in g.args[node]):
            found.add(node)
    return found


def _without_loops(g: Graph, nodes: Sequence[Node], solves: Sequence[Solve]) -> list[Node]:
    """The nodes with every linear system that a loop solves written out."""
    known: dict[Node, Node] = {}
    factors: dict[str, LDL] = {}
    for solve in solves:
        if solve.pivots:
            raise EmitError(
                "method 'taylor': the constraints are redundant; their solution has no power series"
            )
        n = len(solve.rhs)
        if solve.matrix:
            upper = iter(g.substitute(solve.matrix, known))
            full = [[g.zero] * n for _ in range(n)]
            for i in range(n):
                for j in range(i, n):
                    full[j][i] = next(upper)
            factors[solve.factors] = LDL(g, [row[: i + 1] for i, row in enumerate(full)])
        values = factors[solve.factors].solve(g.substitute(solve.rhs, known))
        known.update(zip(solve.results, values, strict=True))
    return g.substitute(nodes, known)


def _with_branches(g: Graph, nodes: Sequence[Node], stop: Sequence[Node]) -> list[Node]:
    """The nodes with |a|, min and max as selections, whose branches are series; sign(a) keeps its value in a step."""
    new: dict[Node, Node] = {n: n for n in stop}
    for node in g.reachable(nodes, stop=stop):
        if node in new:
            continue
        op, args = g.op[node], tuple(new[a] for a in g.args[node])
        if op == "abs":
            new[node] = g.select(g.relation("lt", args[0], g.zero), g.neg(args[0]), args[0])
        elif op in ("min", "max"):
            first = g.relation("le", *(args if op == "min" else args[::-1]))
            new[node] = g.select(first, *args)
        else:
            new[node] = node if args == g.args[node] else g.rebuild(op, args)
    return [new[n] for n in nodes]


def _differentiated(g: Graph, node: Node) -> bool:
    """Whether the series of a node follows from its derivative."""
    return g.op[node] in FUNCTIONS and g.op[node] not in ("sqrt", "sign")


def _slopes(g: Graph, node: Node, moving: Set[Node]) -> list[Node]:
    """The derivative by each argument; 0 by one that does not change."""
    function, args = FUNCTIONS[g.op[node]], g.args[node]
    if function.table is not None:
        raise EmitError(
            f"method 'taylor': its steps go on with one piece of the table {function.table.name}, whatever knots they "
            "pass; compile the model without it"
        )
    made = function.series or function.derivatives
    if not made:
        raise EmitError(f"method 'taylor': the table of functions has no derivative of {function.name}")
    return [d(g, node, *args) if a in moving else g.zero for d, a in zip(made, args, strict=True)]
