"""What holds after each pass: functions of a part before and after it that say what is wrong, for `passes.verify`.

They are not called where models are made: tests call them for every pass of many kernels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random

from mpmath import mp, mpf

from ..graph.evaluate import evaluate, evaluate_with_scale
from ..graph.graph import Graph, Node
from ..lower.lowered import Kernel
from .fma import FUSED
from .part import Part, fixed_nodes
from .rebuild import weight
from .signed_constants import multiplied
from .statements import Check, FactorSolve, Load, Schedule, Store, assigned

DIGITS, TOLERANCE = 40, mpf("1e-25")


def the_same(g: Graph, before: Part, after: Part) -> Iterator[str]:
    """the values are the same, of the same variables"""
    a, b = before.kernel, after.kernel
    if (len(a.outputs), a.comments, a.name) != (len(b.outputs), b.comments, b.name):
        yield "it has other outputs"
    known = {*after.table, *(str(g.value[n]) for s in b.solves for n in (*s.results, *s.pivots))}
    unknown = g.symbols(b.roots()) - known
    if unknown:
        yield f"{', '.join(sorted(unknown))} is not a variable of it"
    if unknown or a.roots() == b.roots():
        return
    draw = Random(len(g.reachable(a.roots())))
    for _ in range(20):
        point = {name: mpf(draw.uniform(0.2, 0.9)) for name in sorted(g.symbols([*a.roots(), *b.roots()]))}
        try:
            with mp.workdps(DIGITS):
                wanted = evaluate_with_scale(*_unfused(g, _values(a)), point, precise=True)
                found = evaluate(*_unfused(g, _values(b)), point, precise=True)
        except (ArithmeticError, ValueError):  # outside the domain
            continue
        for i, ((value, scale), other) in enumerate(zip(wanted, found, strict=True)):
            if not abs(value - other) <= TOLERANCE * (1 + scale):
                yield f"value {i} is {other}, not {value}"
        return


def _values(kernel: Kernel) -> list[Node]:
    return [*(n for s in kernel.solves for n in (*s.matrix, *s.rhs)), *kernel.outputs]


def _unfused(g: Graph, roots: list[Node]) -> tuple[Graph, list[Node]]:
    """The roots with products and sums in the place of multiply-adds, in a graph of their own."""
    copy = g.copy()
    new: dict[Node, Node] = {}
    for n in g.reachable(roots):
        op, args = g.op[n], tuple(new[a] for a in g.args[n])
        if op in FUSED:
            product, rest = copy.same("mul", args[:2]), args[2]
            turned = copy.same("neg", (product,)) if op in ("fnma", "fnms") else product
            new[n] = copy.same("add" if op in ("fma", "fnma") else "sub", (turned, rest))
        else:
            new[n] = n if args == g.args[n] else copy.same(op, args)
    return copy, [new[n] for n in roots]


def no_more_operations(g: Graph, before: Part, after: Part) -> Iterator[str]:
    """the values are the same, in no more operations"""

    def cost(kernel: Kernel) -> int:
        fixed = g.from_only(kernel.roots(), kernel.beforehand)
        return sum(weight(g.op[n]) for n in g.reachable(kernel.roots()) if g.args[n] and n not in fixed)

    if cost(after.kernel) > cost(before.kernel):
        yield f"it costs {cost(after.kernel)} additions, not {cost(before.kernel)}"


def known_beforehand(g: Graph, before: Part, after: Part) -> Iterator[str]:
    """what is read from q depends on variables that are known beforehand alone"""
    if after.hoist is not None:
        known = {str(g.value[n]) for n in before.kernel.beforehand}
        late = g.symbols(after.hoist.kernel.roots()) - known
        if late:
            yield f"{', '.join(sorted(late))} is not known beforehand"
        if len(after.hoisted) != len(after.hoist.kernel.outputs):
            yield "q has another length than what is read from it"
    checks = Counter(after.kernel.pivots) + Counter(after.hoist.kernel.pivots if after.hoist else ())
    if checks != Counter(before.kernel.pivots):
        yield "a check is lost, or there twice"


def all_hoisted(g: Graph, before: Part, after: Part) -> Iterator[str]:
    """nothing that depends on variables known beforehand alone is computed at every call"""
    yield from known_beforehand(g, before, after)
    given = set(after.hoisted)
    late = fixed_nodes(g, after.kernel) - given
    left = [n for n in g.reachable(after.kernel.roots(), stop=given) if n in late]
    if left:
        yield f"{g.op[left[0]]} is computed at every call"


def signs_in_constants(g: Graph, before: Part, after: Part) -> Iterator[str]:
    """no cell subtracts a multiple of a constant that may be the number of a body"""
    if after.kernel is before.kernel:
        return
    for n in g.reachable(after.kernel.roots(), stop=after.hoisted):
        if n not in after.hoisted and g.op[n] == "sub" and multiplied(g, g.args[n][1]) is not None:
            yield "a multiple of a constant is subtracted"


def one_cell_for_each_node(g: Graph, before: Part, after: Part) -> Iterator[str]:
    """each node is in one cell, which reads variables, q, constants and cells before it"""
    cut, kernel = after.cut, after.kernel
    if cut is None or cut is before.cut:
        return
    done: set[Node] = set(after.hoisted)
    late = {str(g.value[n]): i for i, s in enumerate(kernel.solves, 1) for n in (*s.results, *s.pivots)}
    written: Counter[tuple[str, int]] = Counter()
    for phase, cells in enumerate(cut.phases):
        for cell in cells:
            own = set(cell.nodes)
            if own & done:
                yield "a node is in two cells"
            done |= own
            read = [a for n in cell.nodes for a in g.args[n]] + [n for n, _ in cell.stores]
            for a in read:
                if a not in done and g.args[a]:
                    yield f"a cell reads {g.op[a]} before it is computed"
                elif g.op[a] == "symbol" and late.get(str(g.value[a]), 0) > phase:
                    yield f"a cell reads {g.value[a]} before it is solved for"
            written.update(to for _, to in cell.stores)
    length = len(kernel.outputs) + sum(len(s.matrix) + len(s.rhs) for s in kernel.solves)
    if len(written) != length or any(n != 1 for n in written.values()):
        yield "a result is lost, or written twice"


def products_in_sums(g: Graph, before: Part, after: Part) -> Iterator[str]:
    """no product is rounded that one sum alone uses, unless that sum has fused another one"""
    kernel, given = after.kernel, set(after.hoisted)
    order = [n for n in g.reachable(kernel.roots(), stop=given) if n not in given]
    uses = Counter(a for n in order for a in g.args[n])
    kept = {*kernel.roots(), *kernel.labels, *given}
    for n in order:
        for a in g.args[n] if g.op[n] in ("add", "sub") else ():
            if g.op[a] == "mul" and uses[a] == 1 and a not in kept:
                yield "a product and the sum that uses it are two operations"


def in_order(g: Graph, plan: Schedule) -> Iterator[str]:
    """The statements: each name is assigned once, before it is used, and each result is stored once."""
    names: set[str] = {"t", "cg_t"}
    written: Counter[tuple[str, int]] = Counter()

    def missing(node: Node, top: bool = False) -> Iterator[str]:
        stack = list(g.args[node]) if top else [node]
        while stack:
            n = stack.pop()
            if n in plan.names:
                if plan.names[n] not in names:
                    yield f"{plan.names[n]} is used before it has a value"
            else:
                stack.extend(g.args[n])

    for s in plan.statements:
        if isinstance(s, Load):
            names.add(s.name)
            if s.array == "q" and not s.index < len(plan.given):
                yield f"q has no place {s.index}"
            continue
        if isinstance(s, Store):
            written[s.array, s.index] += 1
            yield from missing(s.node)
        elif isinstance(s, Check):
            for n in (n for pair in s.pairs for n in pair):
                yield from missing(n)
        elif not isinstance(s, FactorSolve):
            new = assigned(s)
            for one in new:
                yield from missing(one.node, top=True)
            if names & {one.name for one in new} or len({one.name for one in new}) < len(new):
                yield f"{new[0].name} is assigned twice"
            names |= {one.name for one in new}
    if any(n != 1 for n in written.values()):
        yield "a result is stored twice"
    if plan.rolled is None and len(written) < len(plan.kernel.outputs):
        yield "a result is not stored"
    for template in plan.rolled.templates if plan.rolled else ():
        yield from in_order(g, template.schedule)
    if plan.hoist is not None:
        yield from in_order(g, plan.hoist)
