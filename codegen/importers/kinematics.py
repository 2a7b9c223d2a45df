"""The kinematics of a SymPy model solved for the rates of its coordinates.

Where q' is found by elimination, a pivot such as q_0 of a quaternion can vanish in a run although the equations are
regular. So they are taken apart into the smallest blocks that determine their own unknowns, and a block K q' = r whose
rows are orthogonal, as those of a rotation matrix or of a quaternion, is solved by q' = K^T (K K^T)^-1 r.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.matrices.exceptions import NonInvertibleMatrixError, ShapeError
from sympy.physics.mechanics import dynamicsymbols

from ..graph.from_sympy import Lowering, UnsupportedExpression
from ..graph.graph import Graph
from ..identities.rational import vanishes
from ..symbols.symbols import DeclarationError

Expression = Any


def kinematics(
    q: Sequence[Expression],
    u: Sequence[Expression],
    equations: Iterable[Expression],
    eliminated: Mapping[Expression, Expression] | None = None,
) -> dict[Expression, Expression]:
    """q' in the speeds u, which may be those rates themselves.

    `eliminated` has the rates as SymPy found them, for blocks of more than one equation whose rows are not orthogonal.
    """
    rates = [x.diff(dynamicsymbols._t) for x in q]
    if all(v in rates for v in u):
        return dict(zip(q, rates, strict=True))
    given = sp.Matrix(list(equations))
    if len(given) != len(rates):
        raise DeclarationError(
            f"from_sympy: {len(given)} kinematic differential equations for {len(rates)} coordinates"
        )
    matrix, rest = given.jacobian(rates), -given.xreplace(dict.fromkeys(rates, sp.Integer(0)))
    found: dict[int, Expression] = {}
    for rows, columns in _blocks(matrix):
        known = [j for j in found if any(matrix[i, j] != 0 for i in rows)]
        moved = sp.Matrix([rest[i] - sp.Add(*(matrix[i, j] * found[j] for j in known)) for i in rows])
        found |= zip(
            columns, _solved(matrix.extract(rows, columns), moved, columns, rates, eliminated), strict=True
        )
    return {x: found[i] for i, x in enumerate(q)}


def _blocks(matrix: Any) -> list[tuple[list[int], list[int]]]:
    """Rows with the columns that they determine, each block after those that it needs."""
    left = list(range(matrix.rows))
    needed = {i: {j for j in range(matrix.cols) if matrix[i, j] != 0} for i in left}
    blocks = []
    while left:
        for i in sorted(left, key=lambda row: len(needed[row])):
            rows = [r for r in left if needed[r] <= needed[i]]
            if len(rows) == len(needed[i]):
                break
        else:
            rows = left
        columns = sorted(set().union(*(needed[r] for r in rows)))
        blocks.append((rows, columns))
        left = [r for r in left if r not in rows]
        for r in left:
            needed[r] -= set(columns)
    return blocks


def _solved(
    matrix: Any,
    rest: Any,
    columns: Sequence[int],
    rates: Sequence[Expression],
    eliminated: Mapping[Expression, Expression] | None,
) -> list[Expression]:
    """The unknowns of one block."""
    if matrix.shape == (1, 1):
        return [rest[0] / matrix[0, 0]]
    sizes = _sizes(matrix)
    if sizes is not None:
        weighted = sp.Matrix([r / size for r, size in zip(rest, sizes, strict=True)])
        return list(matrix.T * weighted)
    if eliminated is not None:
        return [eliminated[rates[j]] for j in columns]
    try:
        return list(matrix.LUsolve(rest))
    except (NonInvertibleMatrixError, ShapeError):
        names = ", ".join(str(rates[j].args[0].func) for j in columns)
        raise DeclarationError(
            f"from_sympy: the kinematic differential equations do not determine the rates of {names}"
        ) from None


def _sizes(matrix: Any) -> list[Expression] | None:
    """The squared lengths of the rows if these are proved to be orthogonal, 1 where they are unit vectors."""
    entries = (matrix * matrix.T).applyfunc(sp.sympify)
    g = Graph()
    atoms = sorted(entries.atoms(AppliedUndef) | entries.free_symbols, key=str)
    plain = {a: sp.Symbol(f"x{i}", real=True) for i, a in enumerate(atoms)}
    lowering = Lowering(g, {s: g.symbol(s.name) for s in plain.values()})
    try:
        nodes = lowering.lower([e.xreplace(plain) for e in entries])
    except UnsupportedExpression:
        return None
    k = matrix.rows
    if not all(vanishes(g, nodes[i * k + j]) for i in range(k) for j in range(i)):
        return None
    unit = [vanishes(g, g.sub(nodes[i * k + i], g.one)) for i in range(k)]
    return [sp.Integer(1) if unit[i] else entries[i, i] for i in range(k)]
