"""The right-hand side that is emitted, operation by operation, in the numbers or expressions of another package."""

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
    """dy/dt with ``states`` put in, and the case's parameters as numbers.

    ``share`` sees every intermediate value and gives what stands for it in what follows: packages that keep
    expressions as trees lose what is shared otherwise.

    Raises KeyError for an operation that ``functions`` lacks, NotImplementedError where the kernel factors M in a
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
