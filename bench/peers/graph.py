"""The emitted right-hand side, operation by operation, in the numbers or expressions of another package."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import e, pi
from typing import Any

from cases import Case

_ARITHMETIC: dict[str, Any] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
}


def right_hand_side(
    case: Case,
    states: Sequence[Any],
    functions: Mapping[str, Any],
    share: Callable[[Any], Any] = lambda value: value,
) -> list[Any]:
    """dy/dt at ``states``, with the case's parameters as numbers.

    ``share`` is called with every intermediate value and returns its replacement, such as a new symbol: packages that
    store expressions as trees would otherwise repeat shared subexpressions.

    Raises KeyError for an operation missing from ``functions``, and NotImplementedError if the kernel factors M in a
    loop.
    """
    program = case.equations.program
    kernel, graph = program.kernels["rhs"], program.graph
    if kernel.solves:
        raise NotImplementedError(f"{case.key} factors its mass matrix in a loop")
    names = (*case.model.states, *case.model.parameters)
    named = dict(zip(names, (*states, *case.parameters.tolist()), strict=True))
    known = {**_ARITHMETIC, **functions}
    values: dict[int, Any] = {}
    for node in graph.reachable(kernel.outputs):
        arguments = graph.args[node]
        if arguments:
            values[node] = share(known[graph.op[node]](*(values[a] for a in arguments)))
            continue
        payload = graph.value[node]
        if isinstance(payload, Fraction):
            values[node] = float(payload)
        elif graph.op[node] == "named":
            values[node] = {"pi": pi, "e": e}[payload]
        else:
            values[node] = named[payload]
    return [values[node] for node in kernel.outputs]
