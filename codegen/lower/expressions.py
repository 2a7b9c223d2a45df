"""Companions of a model: expressions of its quantities as a program with one kernel, `values`.

An expression may contain every quantity by its name: states, declared variables and their rates, parameters, inputs,
the time, outputs, reactions, invariants and residuals. A condition has the value 1 where it is true, else 0.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp
from sympy.logic.boolalg import Boolean

from chaplygin.errors import ArgumentError, RangeError
from chaplygin.runtime.interface.arguments import nearest, short

from ..derive.equation_nodes import EquationNodes
from ..graph.from_sympy import Lowering, UnsupportedExpression
from ..graph.graph import CONDITIONS, Graph, Node
from ..graph.sides import changing
from ..symbols.place import Entry
from ..symbols.symbols import rate
from ..system.checked_system import numbered
from .derivatives import adjoint, kinks
from .dynamics import Dynamics
from .lowered import KernelRow, Lowered
from .quantities import given

VALUES = KernelRow("values", "the expressions")
"""The kernel of a companion, made from the expressions by `companion`."""


def checked(wanted: Iterable[Any]) -> tuple[sp.Basic, ...]:
    """What is given as SymPy expressions and conditions; a string is the name of a quantity.

    Raises ArgumentError, naming the expression that is neither or that cannot be turned into code.
    """
    found = []
    for expression in wanted:
        try:
            if isinstance(expression, (bytes, np.timedelta64)):  # SymPy would evaluate it, or drop its unit
                raise TypeError(f"{type(expression).__name__} is neither a name nor a number")
            if isinstance(expression, np.ndarray) and expression.ndim:
                raise TypeError("a scalar is needed")
            result = sp.Symbol(expression) if isinstance(expression, str) else sp.sympify(expression)
        except Exception as error:  # of SymPy, or a list that contains itself
            raise ArgumentError(f"{short(expression)} is not a SymPy expression: {error}") from None
        if not isinstance(result, (sp.Expr, Boolean)) or getattr(result, "is_Matrix", False):
            raise ArgumentError(f"{short(expression)} is {type(result).__name__}; a scalar is needed")
        found.append(result)
    return tuple(found)


def fingerprint(expressions: Sequence[sp.Basic]) -> str:
    """The hash of expressions: the same in every process, and for every way to write them that SymPy equates.

    Raises ArgumentError as `companion` does, except for unknown names.
    """
    g = Graph()
    nodes = [_node(g, {name: g.symbol(name) for name in _names(e)}, e) for e in expressions]
    number, lines = numbered(g, nodes)
    text = "\n".join([*lines, *(str(number[n]) for n in nodes)])
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def companion(eqs: EquationNodes, expressions: Sequence[sp.Basic], digest: str) -> Lowered:
    """The program of a companion. An expression has the same bits whatever other expressions are there.

    Raises ArgumentError for an expression that contains an unknown name, or something that has no code.
    """
    dynamics = Dynamics(eqs)
    known = _known(dynamics, [name for e in expressions for name in _names(e)])
    nodes = [_node(eqs.graph, known, e) for e in expressions]
    kernel = dynamics.kernel(VALUES.name, nodes, [" ".join(str(e).split())[:60] for e in expressions])
    return Lowered(
        **given(eqs),
        digest=digest,
        outputs=(),
        invariants=(),
        declared=(),
        kernels={kernel.name: kernel},
        table=(VALUES,),
    )


def guarded(
    eqs: EquationNodes, expressions: Sequence[sp.Basic], digest: str
) -> tuple[Lowered, tuple[int, ...]]:
    """The program of `companion` with the guards of its expressions as further results, and the expression of each.

    Between the zeros of its guards an expression is smooth along a step of a run; see ``cg_corners.h``. Those that
    change with parameters only are left out. A guard has the sign that its switch sees, whatever rounding does.
    """
    program = companion(eqs, expressions, digest)
    g, kernel = eqs.graph, program.kernels[VALUES.name]
    constant = {g.symbol(p.name) for p in program.parameters}
    nodes, comments, owners = list(kernel.outputs), list(kernel.comments), list[int]()
    for i, output in enumerate(kernel.outputs):
        found: dict[Node, Node] = {}
        for node in g.reachable([output]):
            decisive = _guard(g, node)
            if decisive is not None and any(
                g.op[n] == "symbol" and n not in constant for n in g.reachable([decisive[0]])
            ):
                found.setdefault(*decisive)
        nodes += found.values()
        owners += [i] * len(found)
        comments += [f"a guard of expression {i}"] * len(found)
    kernel = replace(kernel, outputs=tuple(nodes), comments=tuple(comments))
    return replace(program, kernels={VALUES.name: kernel}), tuple(owners)


def _guard(g: Graph, node: Node) -> tuple[Node, Node] | None:
    """What decides on a switch, and the guard; None if the node has no corner."""
    op, args = g.op[node], g.args[node]
    if op == "atan2":  # a jump where y changes sign and x is negative
        return args[0], args[0]
    decisive = changing(g, node)
    if decisive is None:
        return None
    difference = decisive[0]
    if op not in ("lt", "le"):  # equalities hold where it is zero, and differ on neither side
        return difference, difference
    size = g.call("abs", difference)
    return node, g.select(node, g.neg(size), size)


def slope(eqs: EquationNodes, expression: sp.Basic, digest: str) -> Lowered:
    """The program of a companion that gives one expression, then its derivatives by x, p and the inputs.

    Raises ArgumentError as `companion` does, and for an expression that is not differentiable.
    """
    program = companion(eqs, [expression], digest)
    g, kernel = eqs.graph, program.kernels[VALUES.name]
    (what,) = kinks(g, kernel)
    if what:
        raise ArgumentError(
            f"{short(expression)} is not differentiable where {what} switches; write it with smooth functions, such as "
            "a square instead of an absolute value"
        )
    names = (v.name for v in (*program.states, *program.parameters, *program.inputs))
    made = adjoint(g, kernel, [g.symbol(name) for name in names], VALUES.name)
    once = {g.symbol("cg_v_0"): g.one}
    solves = tuple(replace(s, rhs=tuple(g.substitute(s.rhs, once))) for s in made.solves)
    outputs = (*kernel.outputs, *g.substitute(made.outputs, once))
    comments = (*kernel.comments, *("",) * (len(outputs) - 1))
    with_slopes = replace(kernel, outputs=outputs, comments=comments, solves=solves)
    return replace(program, kernels={VALUES.name: with_slopes})


def _names(expression: sp.Basic) -> list[str]:
    return sorted({s.name for s in expression.free_symbols})


def _node(g: Graph, known: dict[str, Node], expression: sp.Basic) -> Node:
    """One expression in the graph, lowered by itself, so that no other expression changes the order of its sums."""
    try:
        symbols = {s: known[s.name] for s in sorted(expression.free_symbols, key=str)}
        (node,) = Lowering(g, symbols).lower([expression])
    except KeyError as missing:
        name = str(missing.args[0])
        raise ArgumentError(
            f"{short(expression)}: {short(name)} is not a quantity of the model; it has {', '.join(known)}"
            f"{nearest(name, list(known))}"
        ) from None
    except (UnsupportedExpression, ArithmeticError, RangeError) as error:
        raise ArgumentError(f"{short(expression)}: {error}") from None
    return g.select(node, g.one, g.zero) if g.op[node] in (*CONDITIONS, "bool") else node


def _known(d: Dynamics, wanted: Iterable[str]) -> dict[str, Node]:
    """The nodes of named quantities by name: those that follow from the states if one of them is wanted."""
    eqs, g, system = d.eqs, d.graph, d.eqs.system
    constant = (*system.parameters, *eqs.parameters, *system.inputs)
    found = dict(zip(eqs.states, eqs.state_nodes, strict=True))
    clock = str(g.value[eqs.independent_node])
    for name in (clock, *(s.name for s in constant)):
        found.setdefault(name, g.symbol(name))
    if found.keys() >= set(wanted):
        return found
    for variable, node in (*d.outputs, *d.conserved):
        found.setdefault(variable.name, node)
    rows = [system.nodes.entries[Entry("kinematics", x)] for x in system.coordinates]
    for x, node in zip(system.coordinates, g.substitute(rows, eqs.permitted), strict=True):
        found.setdefault(rate(x).name, node)
    return found
