"""Linear equations as SymPy matrices, for systems small enough to be read.

dx/dt = r, M theta' = f: near a point with theta' = a, d(theta') = M^-1 (df - dM a). Constraints and invariants of
coordinates h = 0 are eliminated, dy = N xi with N = [I; -h_d^-1 h_i] for independent states i and dependent ones d.
Observed are the dependent states, constant rates of dropped coordinates, and the outputs of the system.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import sympy as sp

from chaplygin.errors import FormError
from chaplygin.runtime.interface import arguments
from chaplygin.runtime.interface.messages import short

from ..derive.equation_nodes import EquationNodes
from ..graph.differentiate import gradient
from ..graph.graph import Node


class LinearEquations(NamedTuple):
    """d(xi)/dt = A xi + B du, dz = C xi + D du; the names of xi, u and z are `states`, `inputs` and `outputs`."""

    A: sp.Matrix
    B: sp.Matrix
    C: sp.Matrix
    D: sp.Matrix
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def linearized(
    eqs: EquationNodes,
    levels: Callable[[], Sequence[Node]],
    point: Mapping[Any, Any],
    about: str,
) -> LinearEquations:
    """See `Equations.linearize`; `levels` gives the invariants of the coordinates."""
    g = eqs.graph
    if not isinstance(about, str) or about not in ("equilibrium", "steady"):
        raise FormError(f"linearize: about = {short(about)}: give 'equilibrium' or 'steady'")
    if eqs.independent is not None or eqs.friction is not None or eqs.implicit is not None:
        raise FormError(
            f"linearize: {eqs.form!r} of {eqs.system.name!r} has another independent variable than the time, or forces "
            "or velocities that are computed by a loop; use a form without multipliers, momenta and contacts"
        )
    place = _substitution(eqs, point)
    closing = [*eqs.residuals_nodes.values(), *levels()]
    dropped = _ignorable(eqs, closing) if about == "steady" else []
    kept = [i for i in range(len(eqs.states)) if i not in dropped]
    states = [eqs.state_nodes[i] for i in kept]
    inputs = [g.symbol(u.name) for u in eqs.system.inputs]

    def at(roots: Sequence[Node]) -> list[Any]:
        return [sp.simplify(e.subs(place)) for e in eqs.view(list(roots))]

    def slopes(roots: Sequence[Node], variables: Sequence[Node]) -> sp.Matrix:
        entries = at([n for root in roots for n in gradient(g, root, variables)])
        return sp.Matrix(len(roots), len(variables), entries)

    k = len(eqs.velocities)
    rates = [eqs.rates[i] for i in kept if i < len(eqs.rates)]
    mass = [
        eqs.entry(i, j) if eqs.mass else (g.one if i == j else g.zero) for i in range(k) for j in range(k)
    ]
    m = sp.Matrix(k, k, at(mass))
    a = m.LUsolve(sp.Matrix(at(eqs.force))).applyfunc(sp.simplify)
    _check_rest(eqs, kept, [*at(rates), *a], about)
    parts = []
    for variables in (states, inputs):
        turned = slopes(mass, variables)  # zero unless M depends on them, and needed only where a is not zero
        moved = slopes(eqs.force, variables)
        for j in range(len(variables) if any(a) else 0):
            moved[:, j] -= sp.Matrix(k, k, list(turned[:, j])) * a
        parts.append(sp.Matrix.vstack(slopes(rates, variables), m.LUsolve(moved) if variables else moved))
    free, n = _across(slopes(closing, states))
    follow = [i for i in range(len(states)) if i not in free]
    observed = _observed(eqs, dropped)
    seen = list(observed.values())
    c = sp.Matrix.vstack(n.extract(follow, list(range(len(free)))), slopes(seen, states) * n)
    d = sp.Matrix.vstack(sp.zeros(len(follow), len(inputs)), slopes(seen, inputs))
    names = [eqs.states[i] for i in kept]
    return LinearEquations(
        (parts[0].extract(free, list(range(len(states)))) * n).applyfunc(sp.simplify),
        parts[1].extract(free, list(range(len(inputs)))).applyfunc(sp.simplify),
        c.applyfunc(sp.simplify),
        d.applyfunc(sp.simplify),
        tuple(names[i] for i in free),
        tuple(u.name for u in eqs.system.inputs),
        (*(names[i] for i in follow), *observed),
    )


def _substitution(eqs: EquationNodes, point: Mapping[Any, Any]) -> dict[sp.Symbol, Any]:
    """The point by the symbols of the equations. Raises `ArgumentError` for other names."""
    symbols, given = eqs.symbols, arguments.by_name("linearize: point", point)
    arguments.check_known("linearize: point", given, symbols)
    return {symbols[name]: value for name, value in given.items()}


def _observed(eqs: EquationNodes, dropped: Sequence[int]) -> dict[str, Node]:
    """The rates of the dropped coordinates and the outputs, as far as they depend on no dropped coordinate."""
    rates = {f"der({eqs.states[i]})": eqs.rates[i] for i in dropped}
    going = [eqs.coordinate_nodes[i] for i in dropped]
    found = rates | eqs.output_nodes
    return {name: node for name, node in found.items() if not eqs.graph.depends_on([node], going)}


def _ignorable(eqs: EquationNodes, closing: Sequence[Node]) -> list[int]:
    """The coordinates that no remaining equation depends on, again and again."""
    g = eqs.graph
    always = [*closing, *eqs.force, *(n for row in eqs.mass for n in row)]
    dropped: list[int] = []
    while True:
        rows = [*always, *(r for i, r in enumerate(eqs.rates) if i not in dropped)]
        left = [(i, x) for i, x in enumerate(eqs.coordinate_nodes) if i not in dropped]
        more = [i for i, x in left if not g.depends_on(rows, [x])]
        if not more:
            return dropped
        dropped += more


def _across(closing: sp.Matrix) -> tuple[list[int], sp.Matrix]:
    """The independent states, and N: the last ones of the states are taken as dependent."""
    count = closing.cols
    order = list(range(count))[::-1]
    reduced, pivots = (
        closing.extract(list(range(closing.rows)), order).rref() if closing.rows else (closing, ())
    )
    follow = {order[p]: row for row, p in enumerate(pivots)}
    free = [i for i in range(count) if i not in follow]
    n = sp.zeros(count, len(free))
    for j, independent in enumerate(free):
        n[independent, j] = 1
        for i, row in follow.items():
            n[i, j] = -reduced[row, order.index(independent)]
    return free, n


def _check_rest(eqs: EquationNodes, kept: Sequence[int], rates: Sequence[Any], about: str) -> None:
    for i, rate in zip(kept, rates, strict=True):
        if sp.sympify(rate).has(sp.nan, sp.zoo):
            raise FormError(
                f"linearize: d({eqs.states[i]})/dt has no value at the point, where a pivot of the constraints is "
                "zero; give an example near the point, or the option independent of the form"
            )
        if sp.simplify(rate) != 0:
            raise FormError(
                f"linearize: d({eqs.states[i]})/dt = {rate} at the point is not zero: it is not "
                + ("an equilibrium" if about == "equilibrium" else "a steady motion")
            )
