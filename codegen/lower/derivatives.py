"""Derivatives of a whole kernel, by forward and reverse sweeps that go through the systems that a loop solves.

From a solution of M a = b follow da, by M da = db - dM a, and in reverse, from the adjoint a' of a, the adjoints
b' = M^-1 a' and M' = -b' a^T: one more solution each, with the same factors. `frozen` makes kernels that follow given
sides of the kinks instead of the state.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from chaplygin.runtime.interface.description import Variable

from ..graph.differentiate import forward, reverse
from ..graph.functions import FUNCTIONS
from ..graph.graph import CONDITIONS, RELATIONS, Graph, Node
from ..graph.sides import changing
from ..identities.branches import SWITCHES
from .lowered import Kernel, Lowered, Solve

KINDS = {"along": "directional", "adjoint": "adjoint"}
"""The kinds of derivatives, and what they are called."""

HOISTED = {"along": "along_rhs", "adjoint": "adjoint_rhs"}
"""The kernel of each kind that is called in every stage of a run, with the same parameters and directions of them."""

SPELLED = {"abs": "Abs", "sign": "sign", "min": "Min", "max": "Max"}
"""Functions with kinks as users write them; the others come from `Piecewise`."""

FROZEN = "frozen_rhs"
"""The right-hand side at given sides of its kinks, among the kernels along directions; it takes none."""

NESTED = "along_frozen_guards"
"""The guards with the kinks inside of them at given sides, 0 where these are unknown, and their derivatives."""

PARAMETERS = "adjoint_parameters"
"""From the derivatives by the terms of the right-hand side to those by the parameters; see `back_to_terms`."""


def with_derivatives(program: Lowered, kind: str) -> Lowered:
    """A program whose kernels are `<kind>_<name>`: each kernel's results, then their derivatives of that kind.

    The derivatives are by the `variables` of the kernel, with the modes of contacts as they are. What of `along_rhs`
    depends on the parameters and their directions alone, and on the directions of the inputs, is computed beforehand.
    With kinks there is `FROZEN` among them, whose sides follow the parameters in p, and with kinks in guards `NESTED`.
    `adjoint_rhs` is that of `back_to_terms`, of which what depends on the parameters alone is computed beforehand.
    """
    g, make = program.graph, {"along": along, "adjoint": adjoint}[kind]
    own = tuple(g.symbol(v.name) for v in program.parameters)
    kernels: dict[str, Kernel] = {}
    for name, kernel in program.kernels.items():
        if f"{kind}_{name}" == HOISTED["adjoint"]:
            kernels |= back_to_terms(program, kernel)
            continue
        made = make(g, kernel, variables(program, kernel), f"{kind}_{name}")
        outputs = (*kernel.outputs, *made.outputs)
        beforehand: tuple[Node, ...] = ()
        if made.name == HOISTED[kind]:
            fixed = range(1 + len(program.states), made.directions)
            beforehand = (*own, *(g.symbol(f"cg_v_{i}") for i in fixed))
        kernels[made.name] = replace(
            made, outputs=outputs, comments=("",) * len(outputs), beforehand=beforehand
        )
    sides, symbols = sides_of(program) if kind == "along" else ((), {})
    if sides:
        made = frozen(g, program.unarranged["rhs"], symbols)
        kernels[FROZEN] = replace(made, labels={}, name=FROZEN, beforehand=(), cells=(), effort=1.0)
        given = program.unarranged["guards"]
        inner = frozen(g, given, symbols, unknown=True)
        if inner is not given:
            made = along(g, inner, variables(program, inner), NESTED)
            outputs = (*inner.outputs, *made.outputs)
            kernels[NESTED] = replace(made, outputs=outputs, comments=("",) * len(outputs))
    return replace(program, parameters=(*program.parameters, *sides), kernels=kernels)


def back_to_terms(program: Lowered, kernel: Kernel) -> dict[str, Kernel]:
    """The adjoint of a kernel in two: by the time, x, the inputs and the terms, and from the terms to the parameters.

    The terms are what it computes of the parameters alone, as far as other operations use it. So along a run with
    many calls the derivatives by the terms are added up, and made into those by the parameters once.
    """
    g = program.graph
    own = tuple(g.symbol(v.name) for v in program.parameters)
    terms = terms_of(g, kernel, own)
    others = [v for v in variables(program, kernel) if v not in own]
    made = adjoint(g, kernel, [*others, *terms], HOISTED["adjoint"])
    outputs = (*kernel.outputs, *made.outputs)
    found = {
        made.name: replace(made, outputs=outputs, comments=("",) * len(outputs), beforehand=own),
    }
    if terms:
        weights = {term: g.symbol(f"cg_v_{i}") for i, term in enumerate(terms)}
        by_parameters = tuple(reverse(g, weights, own))
        found[PARAMETERS] = Kernel(
            PARAMETERS, by_parameters, ("",) * len(own), takes="direction", directions=len(terms)
        )
    return found


def terms_of(g: Graph, kernel: Kernel, parameters: Sequence[Node]) -> list[Node]:
    """What a kernel computes of the parameters alone, and these themselves, as far as other operations use it."""
    solved = [n for solve in kernel.solves for n in (*solve.matrix, *solve.rhs)]
    roots = [*kernel.outputs, *solved]
    alone = g.from_only(roots, parameters) | set(parameters)
    found = alone.intersection(roots)
    for node in g.reachable(roots, stop=alone):
        if node not in alone:
            found |= alone.intersection(g.args[node])
    return sorted(n for n in found if g.op[n] not in CONDITIONS)


def variables(program: Lowered, kernel: Kernel) -> list[Node]:
    """What a kernel can be differentiated by: the time, its x, the parameters and the inputs, in this order."""
    x = program.declared if kernel.takes == "declared" else program.states
    names = (program.independent, *(v.name for v in (*x, *program.parameters, *program.inputs)))
    return [program.graph.symbol(name) for name in names]


def kinks(g: Graph, kernel: Kernel) -> list[str]:
    """For each result of a kernel, the functions at whose kinks it is not differentiable, as users write them."""
    solved = [n for solve in kernel.solves for n in (*solve.matrix, *solve.rhs)]

    def found(output: Node) -> str:
        reached = g.reachable([output, *solved])
        return ", ".join(
            sorted({SPELLED.get(op, "Piecewise") for op in {g.op[n] for n in reached} & SWITCHES})
        )

    return [found(output) for output in kernel.outputs]


def along(g: Graph, kernel: Kernel, variables: Sequence[Node], name: str) -> Kernel:
    """The kernel `name`: the derivatives of all outputs of a kernel along v, which has a number for each variable."""
    direction = {x: g.symbol(f"cg_v_{i}") for i, x in enumerate(variables)}
    solves = list(kernel.solves)
    for i, (solve, matrix) in enumerate(zip(kernel.solves, _matrices(kernel), strict=True)):
        moved = forward(g, [*solve.rhs, *matrix], direction)
        right = moved[: len(solve.rhs)]
        for (j, k), slope in zip(_places(len(right)), moved[len(right) :], strict=True):
            right[j] = g.sub(right[j], g.mul(slope, solve.results[k]))
            if j != k:
                right[k] = g.sub(right[k], g.mul(slope, solve.results[j]))
        results = tuple(g.symbol(f"cg_along_{i}_{j}") for j in range(len(right)))
        solves.append(Solve((), tuple(right), results, solve.factors))
        direction |= zip(solve.results, results, strict=True)
    outputs = tuple(forward(g, kernel.outputs, direction))
    return _made(kernel, name, outputs, solves, len(variables))


def adjoint(g: Graph, kernel: Kernel, variables: Sequence[Node], name: str) -> Kernel:
    """The kernel `name`: for each variable the derivatives of all outputs of a kernel, weighted by v and added up."""
    solved = [x for solve in kernel.solves for x in solve.results]
    total: defaultdict[Node, Node] = defaultdict(lambda: g.zero)

    def sweep(weighted: Sequence[tuple[Node, Node]]) -> None:
        weights: dict[Node, Node] = {}
        for root, weight in weighted:
            weights[root] = g.add(weights.get(root, g.zero), weight)
        wanted = [*variables, *solved]
        for x, found in zip(wanted, reverse(g, weights, wanted), strict=True):
            total[x] = g.add(total[x], found)

    sweep([(root, g.symbol(f"cg_v_{i}")) for i, root in enumerate(kernel.outputs)])
    solves = list(kernel.solves)
    steps = list(enumerate(zip(kernel.solves, _matrices(kernel), strict=True)))
    for i, (solve, matrix) in reversed(steps):
        n = len(solve.rhs)
        results = tuple(g.symbol(f"cg_adjoint_{i}_{j}") for j in range(n))
        solves.append(Solve((), tuple(total[x] for x in solve.results), results, solve.factors))
        weighted = list(zip(solve.rhs, results, strict=True))
        for (j, k), entry in zip(_places(n), matrix, strict=True):
            slope = g.mul(results[j], solve.results[k])
            if j != k:
                slope = g.add(slope, g.mul(results[k], solve.results[j]))
            weighted.append((entry, g.neg(slope)))
        sweep(weighted)
    return _made(kernel, name, tuple(total[x] for x in variables), solves, len(kernel.outputs))


def _made(
    kernel: Kernel, name: str, outputs: tuple[Node, ...], solves: list[Solve], directions: int
) -> Kernel:
    return replace(
        kernel,
        name=name,
        outputs=outputs,
        comments=("",) * len(outputs),
        solves=tuple(solves),
        labels={},
        takes="direction" if kernel.takes == "state" else kernel.takes,
        directions=directions,
        beforehand=(),
        effort=0.0,
    )


def _matrices(kernel: Kernel) -> list[tuple[Node, ...]]:
    """The matrix of each solve: the upper triangle by rows."""
    known: dict[str, tuple[Node, ...]] = {}
    return [known.setdefault(solve.factors, solve.matrix) for solve in kernel.solves]


def _places(n: int) -> list[tuple[int, int]]:
    """The rows and columns of an upper triangle."""
    return [(j, k) for j in range(n) for k in range(j, n)]


def sides_of(program: Lowered) -> tuple[tuple[Variable, ...], dict[Node, Node]]:
    """The sides of the kinks, as parameters that follow those of the program in p, and their symbols by kink."""
    kinks = program.guards[len(program.events) :]
    sides = tuple(Variable(f"cg_side_{i}", "parameter", "", kink.description) for i, kink in enumerate(kinks))
    if not sides:
        return (), {}
    guards = program.unarranged["guards"].outputs[len(program.events) :]
    return sides, dict(zip(guards, (program.graph.symbol(s.name) for s in sides), strict=True))


def frozen(g: Graph, kernel: Kernel, sides: Mapping[Node, Node], unknown: bool = False) -> Kernel:
    """The kernel `frozen_<name>`; `sides` has a symbol, with the value -1, 0 or 1, for each kink.

    The kernel itself if it does not depend on a kink. `unknown`: the side 0 stands for whatever the state shows, not
    for a zero.

    An importer that integrates an FMU wants smooth equations between events, also beyond the zero of an event indicator
    that it has not located yet, and the derivatives of a run need the rates on both sides of a kink, at the kink
    itself. So `Abs`, `sign`, `Min`, `Max` and the conditions of `Piecewise` select by sides that change at events
    alone. Equalities, which hold at single points, still follow the state.
    """
    new: dict[Node, Node] = {}
    for node in g.reachable(kernel.roots()):
        op, args = g.op[node], [new[a] for a in g.args[node]]
        side = _side(g, node, sides)
        if side is not None and unknown:
            shown = args[0] if len(args) == 1 else g.sub(*args)
            side = g.select(g.relation("eq", side, g.zero), shown, side)
        if side is None:
            new[node] = node if tuple(args) == g.args[node] else g.rebuild(op, args)
        elif op in RELATIONS:
            new[node] = g.relation(op, side, g.zero)
        else:
            new[node] = _chosen(g, op, side, args)
    made = kernel.map(lambda n: new.get(n, n))
    return kernel if made == kernel else replace(made, name=f"frozen_{kernel.name}", labels={})


def _side(g: Graph, node: Node, sides: Mapping[Node, Node]) -> Node | None:
    """The sign of what decides on a node; None if nothing does, or if that is not a kink."""
    found = changing(g, node)
    if found is None or g.op[node] in ("eq", "ne"):
        return None
    guard, _ = found
    opposite = sides.get(g.neg(guard))
    return sides.get(guard) if opposite is None else g.neg(opposite)


def _chosen(g: Graph, op: str, side: Node, args: list[Node]) -> Node:
    """What a function with a switch selects."""
    switch = FUNCTIONS[op].switch
    assert switch is not None
    sign = g.neg(side) if switch.compares else side  # `changing` gives a - b, a switch has b - a
    at_zero, below = (switch.chosen(g, s, *args) for s in (0, -1))
    rest = g.select(g.relation("lt", sign, g.zero), below, at_zero)
    return g.select(g.relation("lt", g.zero, sign), switch.chosen(g, 1, *args), rest)
