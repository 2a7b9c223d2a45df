"""Vector fields from Pfaffian forms: Chetaev's construction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy as sp

from .symbols import Coordinate, DeclarationError, Velocity, rate


def fields_from_forms(
    forms: Sequence[Any], coordinates: Sequence[sp.Symbol], velocities: Sequence[sp.Symbol]
) -> dict[sp.Symbol, Any]:
    """Kinematics for a `System` from velocities given as Pfaffian forms, eta_a = A_as dx_s/dt + A_a0.

    The forms (expressions in the coordinates and their rates, affine in the rates) and dt are completed to a coframe;
    the columns of the inverse matrix are the fields: dx_s/dt = xi_0^s + xi_a^s eta_a. Constraint forms can come first
    or last; `constraints=[eta]` then states that they vanish.

    Parameters: `forms`, at most one per velocity; `coordinates` (n); `velocities` (n). With fewer forms than
    velocities, the remaining velocities are coordinate rates: the first ones that complete the coframe.

    Raises DeclarationError if a form is not affine in the rates, the forms are linearly dependent, or the numbers of
    forms, coordinates and velocities do not match.

    Source: Encyclopedia of Mathematics, "Poincaré equations" (N. G. Chetaev).

    >>> from chaplygin.codegen.declare.symbols import coordinates, velocities, rate
    >>> phi, x, y = coordinates("phi x y")
    >>> omega, v, w = velocities("omega v w")
    >>> forward = rate(x)*sp.cos(phi) + rate(y)*sp.sin(phi)
    >>> sideways = rate(y)*sp.cos(phi) - rate(x)*sp.sin(phi)
    >>> fields_from_forms([rate(phi), forward, sideways], [phi, x, y], [omega, v, w])
    {phi: omega, x: v*cos(phi) - w*sin(phi), y: v*sin(phi) + w*cos(phi)}
    """
    n = len(coordinates)
    if len(velocities) != n or len(forms) > n:
        raise DeclarationError(
            f"fields_from_forms: {len(forms)} forms, {n} coordinates, {len(velocities)} velocities; give one velocity "
            "per coordinate and at most as many forms"
        )
    for s, kind, name in (*((s, Coordinate, "coordinate") for s in coordinates),
                          *((s, Velocity, "velocity") for s in velocities)):  # fmt: skip
        if not isinstance(s, kind):
            raise DeclarationError(f"fields_from_forms: {s!s} is not a {name}")
    for symbols, name in ((coordinates, "coordinates"), (velocities, "velocities")):
        if len(set(symbols)) < n:
            raise DeclarationError(f"fields_from_forms: {name} contain a symbol twice")
    rates = [rate(x) for x in coordinates]
    for i, form in enumerate(forms):
        if isinstance(form, str):
            raise DeclarationError(f"fields_from_forms: forms[{i}] is a string; give a SymPy expression")
        foreign = [s for s in sp.sympify(form).free_symbols if isinstance(s, Velocity) and s not in rates]
        if foreign:
            raise DeclarationError(
                f"fields_from_forms: forms[{i}] contains {foreign[0]}; write forms in the rates of the coordinates"
            )
    rows, offsets = [], []
    for i, form in enumerate(map(sp.sympify, forms)):
        row = [sp.diff(form, r) for r in rates]
        if any(e.free_symbols & set(rates) for e in map(sp.simplify, row)):
            raise DeclarationError(f"fields_from_forms: forms[{i}] is not affine in the rates")
        rows.append([sp.simplify(e) for e in row])
        offsets.append(form.subs(dict.fromkeys(rates, 0)))
    matrix = sp.Matrix(len(rows), n, [e for row in rows for e in row])
    if matrix.rank(simplify=True) < len(rows):
        raise DeclarationError("fields_from_forms: the forms are linearly dependent")
    for place in range(n):  # complete to a coframe by coordinate rates
        if matrix.rows == n:
            break
        longer = matrix.col_join(sp.Matrix(1, n, [int(j == place) for j in range(n)]))
        if longer.rank(simplify=True) == longer.rows:
            matrix = longer
            offsets.append(sp.Integer(0))
    right = sp.Matrix([v - o for v, o in zip(velocities, offsets, strict=True)])
    solution = matrix.LUsolve(right)
    return {x: sp.expand(sp.simplify(e)) for x, e in zip(coordinates, solution, strict=True)}
