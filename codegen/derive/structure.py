"""Structure functions of a system, and the balance of momenta along its fields with them.

[X_a, X_b] = c_ab^i X_i,  [X_0, X_b] = c_0b^i X_i.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ..graph.differentiate import gradient
from ..graph.evaluate import Point, evaluate, numeric_matrix
from ..graph.graph import Graph, Node
from ..identities.rational import shortened
from ..identities.zero import is_zero
from ..system.checked_system import CheckedSystem
from ..system.fields import Fields, pointwise_rank, solve_for_components
from ..system.points import good_points

Structure = Mapping[tuple[int, int], Sequence[tuple[int, Node]]]
"""c_ab^i for a < b (a = -1: X_0) as {(a, b): [(i, node), ...]}, without zeros."""


def structure_functions(g: Graph, system: CheckedSystem) -> Structure:
    """The structure functions in the given copy of the system's graph.

    A function with the same rational value at several points is replaced by that constant if they can be shown to be
    equal; any other is simplified where that is quick.
    """
    known: Structure | None = g.found.get(system)
    if known is None:
        known = g.found[system] = _structure_functions(g, system)
    return known


def _structure_functions(g: Graph, system: CheckedSystem) -> Structure:
    fields = system.nodes.fields
    brackets = fields.brackets(g)
    if not brackets:
        return {}
    points, k, pairs = generic_points(system), len(fields.along), list(brackets)
    if pointwise_rank(g, fields, points[0]) < k:
        return {pair: found for pair in pairs if (found := _constants(g, system, brackets[pair], points))}
    right = [[brackets[p][i] for p in pairs] for i in range(len(fields.coordinates))]
    solution = solve_for_components(g, fields.matrix(), right, points[0])
    result = {}
    for j, pair in enumerate(pairs):
        column = [solution[i][j] for i in range(k)]
        constants = [_guess(g, n, points) for n in column]
        if None not in constants and _combines(g, system, brackets[pair], constants):
            column = [g.const(c) for c in constants if c is not None]
        else:
            column = recognised(g, system, column, points)
        entries = [(i, node) for i, node in enumerate(column) if node != g.zero]
        if entries:
            result[pair] = entries
    return result


def recognised(g: Graph, system: CheckedSystem, nodes: Sequence[Node], points: Sequence[Point]) -> list[Node]:
    """The nodes, with those shown to be rational constants replaced by them and the others simplified if quickly."""
    result = []
    for node in nodes:
        guess = _guess(g, node, points)
        constant = None if guess is None else g.const(guess)
        known = constant is not None and is_zero(g, g.sub(node, constant), system.symbols)
        result.append(constant if known and constant is not None else shortened(g, node))
    return result


def generic_points(system: CheckedSystem) -> list[Point]:
    """Points at which a structure function shows whether it is constant."""
    return good_points(system.nodes, system.nodes.fields.components, 3)


def _constants(
    g: Graph, system: CheckedSystem, components: Sequence[Node], points: Sequence[Point]
) -> list[tuple[int, Node]]:
    """c_i with components = c_i X_i, for fields that are linearly dependent at each point, but not with constant
    coefficients."""
    numbers = _constant_combination(g, system.nodes.fields, components, points)
    assert numbers is not None, "checked when the system was created"
    exact = [Fraction(float(v)).limit_denominator(5040) for v in numbers]
    if not _combines(g, system, components, exact):
        raise ArithmeticError(f"the structure constants {numbers} could not be verified exactly")
    return [(i, g.const(v)) for i, v in enumerate(exact) if v]


def _constant_combination(
    g: Graph, fields: Fields, components: Sequence[Node], points: Sequence[Point]
) -> Any:
    """Numbers c with components = c_i X_i at every point; None if there are none."""
    matrix = np.array([row for p in points for row in numeric_matrix(g, fields.matrix(), p)])
    right = np.array([v for p in points for v in evaluate(g, components, p)])
    solution, _, rank, _ = np.linalg.lstsq(matrix, right, rcond=1e-10)
    residual = np.abs(matrix @ solution - right).max()
    return solution if rank == len(fields.along) and residual <= 1e-9 * (1 + np.abs(right).max()) else None


def _combines(
    g: Graph, system: CheckedSystem, components: Sequence[Node], constants: Sequence[Fraction | None]
) -> bool:
    """Whether the components can be shown to equal constants_i X_i."""
    for s, component in enumerate(components):
        along = (field[s] for field in system.nodes.fields.along)
        terms = [g.mul(g.const(c), x) for c, x in zip(constants, along, strict=True) if c]
        if not is_zero(g, g.sub(component, g.sum(terms)), system.symbols):
            return False
    return True


def _guess(g: Graph, node: Node, points: Sequence[Point]) -> Fraction | None:
    """The rational constant that a node might equal, its value at all of the points; None if there is none."""
    values = [evaluate(g, [node], p)[0] for p in points]
    guess = Fraction(round(values[0] * 5040), 5040)
    return guess if all(abs(v - guess) < 1e-9 * (1 + abs(guess)) for v in values) else None


def balance(g: Graph, system: CheckedSystem, brackets: bool = True) -> tuple[list[Node], list[Node]]:
    """The momenta and forces of the Poincaré-Chetaev balance d p_j / dt = force_j, for every velocity of the system.

    p_j = dL/d eta_j;  force_j = (c_0j^b + c_aj^b eta_a) p_b + X_j L + Q_j; `brackets=False` omits the terms in c.
    """
    nodes, fields, eta = system.nodes, system.nodes.fields, system.nodes.eta
    lagrangian = nodes.lagrangian(g)
    slopes = gradient(g, lagrangian, [*eta, *fields.coordinates])
    momenta, by_x = slopes[: len(eta)], slopes[len(eta) :]
    forces = [g.add(g.dot(field, by_x), q) for field, q in zip(fields.along, nodes.forces, strict=True)]
    if brackets:
        add_brackets(g, forces, structure_functions(g, system), momenta, eta)
    return momenta, forces


def add_brackets(
    g: Graph, forces: list[Node], structure: Structure, momenta: Sequence[Node], velocities: Sequence[Node]
) -> None:
    """Add (c_0j^b + c_aj^b eta_a) p_b to force_j, for every j."""
    for (a, b), entries in structure.items():
        for i, c in entries:
            term = g.mul(c, momenta[i])
            if a < 0:
                forces[b] = g.add(forces[b], term)
            else:  # c_ab^i = -c_ba^i
                forces[b] = g.add(forces[b], g.mul(term, velocities[a]))
                forces[a] = g.sub(forces[a], g.mul(term, velocities[b]))
