"""The branches of expressions: what remains once every `Piecewise`, `Min`, `Max`, `Abs` and `sign` is decided.

Between its switches a declaration is analytic. So an identity is not tested at points that happen to be in a branch:
each branch is selected symbolically, which leaves an analytic expression, and that vanishes everywhere if it vanishes
near one generic point, inside the branch or not. Only a failure on a branch needs a point in it (`feasible_points`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ..graph.evaluate import evaluate
from ..graph.functions import FUNCTIONS
from ..graph.graph import CONDITIONS, Graph, Node

SWITCHES = frozenset({"select", *CONDITIONS, *(name for name, f in FUNCTIONS.items() if f.switch)})
MOST_BRANCHES = 64
"""Maximum number of combinations of decisions; an expression with more is not examined."""

_MOST_PAIRS = 400
"""Pairs of inequalities combined in one elimination step; with more, a contradiction is not found."""

Sums = dict[Node, Fraction]

Condition = tuple[Node, int]
"""A switch and its sign on a branch, 1 or -1."""


@dataclass(frozen=True)
class CaseBranch:
    """Expressions on one branch: free of switches, and equal to the declared ones under `conditions`."""

    conditions: tuple[Condition, ...]
    nodes: tuple[Node, ...]


class _Undecided(Exception):
    """The value depends on the sign of this switch, which is not decided yet."""

    def __init__(self, switch: Node) -> None:
        self.switch = switch


def is_branched(g: Graph, roots: Sequence[Node]) -> bool:
    """Whether the roots contain a switch."""
    return any(g.op[n] in SWITCHES for n in g.reachable(roots))


def branches(g: Graph, roots: Sequence[Node], most: int = MOST_BRANCHES) -> list[CaseBranch] | None:
    """Every combination of decisions on which the roots depend; None if there are more than `most`.

    Only necessary decisions are made, as in an evaluation: conditions within an arm that is not selected do not
    matter. Contradictory combinations (x > 3 and y > x and y < 2) are left out if that follows from linear
    inequalities and the declared signs of parameters. The nodes of the branches are added to the graph.
    """
    branched = _branched(g, roots)
    if not branched:
        return [CaseBranch((), tuple(roots))]
    found: list[CaseBranch] = []
    open_ones: list[tuple[dict[Node, int], dict[Node, Node]]] = [({}, {})]
    while open_ones:
        decided, new = open_ones.pop()
        try:
            nodes = _decide(g, roots, decided, branched, new)
        except _Undecided as question:
            if len(found) + len(open_ones) + 2 > most:
                return None
            open_ones += [({**decided, question.switch: sign}, new.copy()) for sign in (-1, 1)]
            continue
        except ZeroDivisionError:  # the expression is undefined everywhere on this branch
            continue
        found.append(CaseBranch(tuple(decided.items()), tuple(nodes)))
    return found


def branch_at(g: Graph, roots: Sequence[Node], point: Mapping[str, float]) -> CaseBranch:
    """The branch that contains a point; raises the errors of `evaluate`."""
    branched = _branched(g, roots)
    decided: dict[Node, int] = {}
    new: dict[Node, Node] = {}
    while True:
        try:
            return CaseBranch(tuple(decided.items()), tuple(_decide(g, roots, decided, branched, new)))
        except _Undecided as question:
            decided[question.switch] = 1 if evaluate(g, [question.switch], point)[0] > 0 else -1


def _branched(g: Graph, roots: Sequence[Node]) -> set[Node]:
    """The switches below the roots, and every node that contains one."""
    found: set[Node] = set()
    for n in g.reachable(roots):
        if g.op[n] in SWITCHES or any(a in found for a in g.args[n]):
            found.add(n)
    return found


def _decide(
    g: Graph, roots: Sequence[Node], decided: dict[Node, int], branched: set[Node], new: dict[Node, Node]
) -> list[Node]:
    """The roots with their switches replaced by what they select; raises _Undecided for the first undecided one.

    `new` keeps the nodes replaced so far: further decisions do not change them.
    """
    stack = list(roots)
    while stack:
        node = stack[-1]
        if node in new:
            stack.pop()
            continue
        if node not in branched:
            new[node] = node
            continue
        args = g.args[node]
        if g.op[node] == "select":  # an arm that is not selected does not matter
            condition = args[0]
            if condition not in new:
                stack.append(condition)
                continue
            taken = args[1] if new[condition] == g.boolean(True) else args[2]
            if taken in new:
                new[node] = new[taken]
            else:
                stack.append(taken)
            continue
        missing = [a for a in args if a not in new]
        if g.op[node] in ("and", "or"):  # one operand may settle it
            settled = g.boolean(g.op[node] == "or")
            if settled in (new.get(a) for a in args):
                new[node] = settled
            elif missing:
                stack.append(missing[0])
            else:
                new[node] = new[args[0]]
            continue
        if missing:
            stack.extend(reversed(missing))
            continue
        new[node] = _selected(g, g.op[node], [new[a] for a in args], decided)
    return [new[r] for r in roots]


def _selected(g: Graph, op: str, args: list[Node], decided: dict[Node, int]) -> Node:
    if op not in SWITCHES:
        return g.rebuild(op, args)
    switch = FUNCTIONS[op].switch if op in FUNCTIONS else None
    if switch is not None:
        changing = g.sub(args[1], args[0]) if switch.compares else args[0]
        return switch.chosen(g, _sign(g, changing, decided), *args)
    a, b = args
    difference = g.sub(b, a)
    if op in ("eq", "ne"):  # equality holds on a surface only, unless the two sides are the same
        return g.boolean((difference == g.zero) == (op == "eq"))
    sign = _sign(g, difference, decided)
    return g.boolean(sign > 0 or (sign == 0 and op == "le"))


def _sign(g: Graph, node: Node, decided: dict[Node, int]) -> int:
    """The sign of a node without switches, given the decisions."""
    coefficient, rest = g.split(node)
    if g.op[rest] in ("mul", "div"):
        a, b = g.args[rest]
        sign = 1 if a == b else _sign(g, a, decided) * _sign(g, b, decided)
        return sign if coefficient > 0 else -sign
    direction, switch = normalised(g, node)
    if switch is None:
        return direction
    if switch in decided:
        return direction * decided[switch]
    implied = _implied(g, switch, decided)
    if implied is None:
        raise _Undecided(switch)
    return direction * implied


def normalised(g: Graph, node: Node) -> tuple[int, Node | None]:
    """(1 or -1, switch), whose product has the sign of the node; (sign, None) if the sign is known.

    Nodes that change sign together have the same switch: a - b and b - a; exp(u) - 2 and u - log(2).
    """
    direction = 1
    while True:
        if not g.symbols([node]):
            (value,) = evaluate(g, [node], {})
            return direction * ((value > 0) - (value < 0)), None
        coefficient, rest = g.split(node)
        direction, node = (direction if coefficient > 0 else -direction), rest
        op, args = g.op[node], g.args[node]
        known = FUNCTIONS.get(op)
        if known is not None and known.sign == "positive":
            return direction, None
        if known is not None and known.sign == "argument":
            node = args[0]
            continue
        if op not in ("add", "sub"):
            return direction, node
        values = [g.constant_value(a) for a in args]
        if values[0] is None and values[1] is None:
            if op == "sub" and args[0] > args[1]:
                direction, node = -direction, g.same("sub", (args[1], args[0]))
            return direction, node
        # c = offset + factor f(u)
        offset = values[0] if values[0] is not None else values[1]
        assert offset is not None
        moving = args[0] if values[0] is None else args[1]
        if op == "sub" and values[1] is not None:
            offset = -offset
        factor, inner = g.split(moving)
        if op == "sub" and values[0] is not None:
            factor = -factor
        level = Fraction(-offset) / factor  # the sign is that of factor * (f - level)
        turn = 1 if factor > 0 else -1
        function = FUNCTIONS.get(g.op[inner])
        if function is None or function.inverse is None:
            return direction * turn, g.sub(inner, g.const(level))
        if level <= 0:
            return direction * turn, None
        direction, node = direction * turn, g.sub(g.args[inner][0], function.inverse(g, level))


def _implied(g: Graph, switch: Node, decided: Mapping[Node, int]) -> int | None:
    """The sign of a switch if it follows from those of the decided ones."""
    rows = [_linear(g, n, sign) for n, sign in decided.items()]
    for sign in (1, -1):
        if not _compatible(g, [*rows, _linear(g, switch, sign)]):
            return -sign
    return None


def can_border(g: Graph, switch: Node, others: Mapping[Node, int]) -> bool:
    """Whether the others can have their signs where this switch is zero; only False is certain."""
    rows = [_linear(g, n, sign) for n, sign in others.items()]
    return _compatible(g, rows, [_linear(g, switch, 1), _linear(g, switch, -1)])


def _compatible(g: Graph, positive: Sequence[Sums], not_negative: Sequence[Sums] = ()) -> bool:
    """Whether sums can be positive simultaneously while others are not negative; only False is certain.

    Uses Fourier-Motzkin elimination, with nonlinear terms as variables, and the signs that are declared of variables.
    """
    rows = [*((row, True) for row in positive), *((row, False) for row in not_negative)]
    rows += [({n: Fraction(s)}, False) for n, s in g.signs.items() if any(n in row for row, _ in rows)]
    while True:
        if any(row.keys() <= {g.one} and not _is_true(row.get(g.one, 0), strict) for row, strict in rows):
            return False
        rows = [(row, strict) for row, strict in rows if row.keys() - {g.one}]
        if not rows:
            return True
        variable = min(n for row, _ in rows for n in row if n != g.one)
        below = [(row, strict) for row, strict in rows if row.get(variable, 0) > 0]
        above = [(row, strict) for row, strict in rows if row.get(variable, 0) < 0]
        rows = [(row, strict) for row, strict in rows if variable not in row]
        if len(below) * len(above) > _MOST_PAIRS:
            return True
        for one, first in below:
            for other, second in above:
                p, q = -other[variable], one[variable]
                both = {n: p * one.get(n, 0) + q * other.get(n, 0) for n in one.keys() | other.keys()}
                rows.append(({n: c for n, c in both.items() if c}, first or second))


def _is_true(constant: Fraction | int, strict: bool) -> bool:
    return constant > 0 or (constant == 0 and not strict)


def _linear(g: Graph, node: Node, sign: int) -> Sums:
    """A node times a sign as a sum of multiples of nodes that are not sums; the constant is under the node 1."""
    terms: Sums = {}
    stack = [(Fraction(sign), node)]
    while stack:
        factor, n = stack.pop()
        coefficient, rest = g.split(n)
        factor *= coefficient
        if g.op[rest] in ("add", "sub"):
            a, b = g.args[rest]
            stack += [(factor, a), (factor if g.op[rest] == "add" else -factor, b)]
        else:
            terms[rest] = terms.get(rest, Fraction(0)) + factor
    return {n: c for n, c in terms.items() if c}
