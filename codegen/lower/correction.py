"""Kernels that bring a state back onto its constraints, and coordinates back to the level of their invariants.

With f_s(t, x) = 0, A_sa = X_a f_s, and Lambda = A M^-1 A^T, one step of Newton's method moves the coordinates along the
fields, dx = eps_a X_a with eps = -M^-1 A^T Lambda^-1 f: of all moves that make f zero to first order, the shortest in
the metric of the kinetic energy (of the unit matrix for equations given by a law). The velocities become
eta - M^-1 A^T Lambda^-1 (A eta + A_0), with the nonholonomic constraints too: Gauss' principle for the impulse.
An invariant F(x) of redundant coordinates, as |q|^2, is brought back by the shortest move,
dx = -J^T (J J^T)^-1 (F(x) - F(x_0)), J = dF/dx. `consistency` is what must be zero at the start of a run: residuals
that a form does not satisfy identically, and coordinate levels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chaplygin.runtime.interface.assumptions import ZERO_AT_START

from ..derive.equation_nodes import EquationNodes
from ..graph.differentiate import gradient
from ..graph.graph import Graph, Node
from ..graph.linear import UNROLLED_VELOCITIES, schur_complement, solve_definite, upper
from ..identities.identities import vanish_everywhere
from ..system.inertia import inertia
from .dynamics import Dynamics
from .lowered import Kernel, Solve
from .solver import Mass, rank_checks, solve_by_loop

Checks = list[tuple[Node, Node]]


def correction(d: Dynamics) -> Iterator[Kernel]:
    """What to add to a state so that it satisfies the constraints."""
    if _can_leave(d.eqs):
        solves, checks = list[Solve](), list[tuple[Node, Node]]()
        yield _kernel(d, "correction", _onto_constraints(d.eqs, solves, checks), solves, checks)


def correction_all(d: Dynamics) -> Iterator[Kernel]:
    """The same, so that the invariants of the coordinates are also those of the state at the start: `cg_v_<i>`."""
    eqs, g = d.eqs, d.graph
    x = eqs.coordinate_nodes
    levels = d.levels
    if not levels:
        return
    solves, checks = list[Solve](), list[tuple[Node, Node]]()
    n = len(eqs.state_nodes)
    moved = _onto_constraints(eqs, solves, checks) if _can_leave(eqs) else [g.zero] * n
    at_start = {s: g.symbol(f"cg_v_{i}") for i, s in enumerate(eqs.state_nodes)}
    excess = [g.sub(f, f0) for f, f0 in zip(levels, g.substitute(levels, at_start), strict=True)]
    slopes = [gradient(g, f, x) for f in levels]
    weights = _definite(g, slopes, slopes, excess, "levels", solves, checks, len(levels))
    back = [
        g.sub(m, g.dot(column, weights)) for m, column in zip(moved, zip(*slopes, strict=True), strict=False)
    ]
    yield _kernel(d, "correction_all", [*back, *moved[len(x) :]], solves, checks)


def rank(d: Dynamics) -> Iterator[Kernel]:
    """The smallest pivot of A M^-1 A^T as a fraction of the largest, with pivots chosen by their size."""
    eqs, g = d.eqs, d.graph
    if not _can_leave(eqs):
        return
    nodes, solves = eqs.system.nodes, list[Solve]()
    rows = nodes.constraint_rows
    mass = Mass(g, inertia(g, eqs.system), "inertia")
    across = [mass.solve(row, f"m_{s}", solves) for s, row in enumerate(rows)]
    matrix = upper(schur_complement(g, rows, across, symmetric=True))
    count = len(eqs.system.independent_constraints)
    solve_by_loop(g, "rank", matrix, [g.zero] * len(rows), "rank", solves, count)
    pivots = solves[-1].pivots
    smallest = g.div(pivots[count - 1], pivots[0])
    yield Kernel("rank", (smallest,), ("smallest pivot / largest",), tuple(mass.checks()), tuple(solves))


def unmet(d: Dynamics) -> Iterator[Kernel]:
    """How far a state is from redundant holonomic equations: the moves along M^-1 A_s^T that f_s would take, added up.

    What Newton's method leaves of them is a contradiction between them: the move of least squares is zero there.
    """
    eqs, g = d.eqs, d.graph
    nodes, system = eqs.system.nodes, eqs.system
    if not (_can_leave(eqs) and system.rank_of_loops < len(system.holonomic)):
        return
    solves = list[Solve]()
    loops = nodes.constraint_rows[-len(system.holonomic) :]
    mass = Mass(g, inertia(g, eqs.system), "inertia")
    columns = [mass.solve(row, f"m_{s}", solves) for s, row in enumerate(loops)]
    scale = g.sum(g.dot(row, column) for row, column in zip(loops, columns, strict=True))
    parts = [g.div(g.call("abs", f), scale) for f in nodes.holonomic]
    moves = [g.dot([g.call("abs", a) for a in along], parts) for along in zip(*columns, strict=True)]
    far = [g.dot([g.call("abs", a) for a in field], moves) for field in zip(*nodes.fields.along, strict=True)]
    distances = (*far, *(g.zero for _ in eqs.velocities))
    comments = tuple(f"distance of {s}" for s in eqs.states)
    yield Kernel("unmet", distances, comments, tuple(mass.checks()), tuple(solves))


def _can_leave(eqs: EquationNodes) -> bool:
    """Whether the equations leave their constraints by errors of integration: they are kept as rates only."""
    return bool(eqs.system.holonomic) and eqs.kept is None and eqs.independent is None


def _kernel(d: Dynamics, name: str, moved: Sequence[Node], solves: list[Solve], checks: Checks) -> Kernel:
    comments = tuple(f"correction of {s}" for s in d.eqs.states)
    return Kernel(name, tuple(moved), comments, (*d.eqs.pivots, *checks), tuple(solves))


def _onto_constraints(eqs: EquationNodes, solves: list[Solve], checks: Checks) -> list[Node]:
    """The corrections of coordinates and velocities; those of velocities are zero if they satisfy every constraint."""
    g, system = eqs.graph, eqs.system
    nodes = system.nodes
    rows = nodes.constraint_rows
    mass = Mass(g, inertia(g, eqs.system), "inertia")
    checks += mass.checks()
    across = [mass.solve(row, f"m_{s}", solves) for s, row in enumerate(rows)]
    closing = len(rows) - len(system.holonomic)  # the rates of the holonomic equations come last
    loops, columns = rows[closing:], across[closing:]
    rank = system.rank_of_loops
    pull = _definite(g, loops, columns, nodes.holonomic, "closing", solves, checks, rank)
    epsilon = [g.neg(g.dot(pull, along)) for along in zip(*columns, strict=True)]
    moved = [g.dot(epsilon, field) for field in zip(*nodes.fields.along, strict=True)]
    if len(eqs.velocities) < len(system.velocities):
        return [*moved, *(g.zero for _ in eqs.velocities)]
    rank = len(system.independent_constraints)
    impulse = _definite(g, rows, across, nodes.affine_constraints(g), "constraints", solves, checks, rank)
    return [*moved, *(g.neg(g.dot(impulse, along)) for along in zip(*across, strict=True))]


def _definite(
    g: Graph,
    rows: Sequence[Sequence[Node]],
    across: Sequence[Sequence[Node]],
    right: Sequence[Node],
    name: str,
    solves: list[Solve],
    checks: Checks,
    rank: int,
) -> list[Node]:
    """The solution of (C W C^T) y = right, for the rows of C and the columns of W C^T; `rank` is that of C."""
    redundant = rank < len(rows)
    if redundant or len(rows) > UNROLLED_VELOCITIES:
        matrix = upper(schur_complement(g, rows, across, symmetric=True))
        results = solve_by_loop(g, name, matrix, right, name, solves, rank if redundant else 0)
        checks += rank_checks(g, solves[-1:])
        return results
    solution, found = solve_definite(g, rows, across, right)
    checks += found
    return solution


def consistency(d: Dynamics) -> Iterator[Kernel]:
    """For each quantity r: r, the sum of the magnitudes of its terms, and the sum of |dr/dx_j| over the states x.

    Compared with these the user need not give a scale; the slopes bound the effect of state errors of the size `atol`.
    """
    g = d.graph
    outputs: list[Node] = []
    comments: list[str] = []
    for variable, node in d.conserved:
        if variable.flags & ZERO_AT_START:
            slopes = term_magnitudes(g, gradient(g, node, d.eqs.state_nodes))
            outputs += [node, *term_magnitudes(g, [node]), g.sum(slopes)]
            comments += [variable.name, f"{variable.name}: its terms", f"{variable.name}: its slopes"]
    if outputs:
        yield Kernel("consistency", tuple(outputs), tuple(comments))


def term_magnitudes(g: Graph, nodes: Sequence[Node]) -> list[Node]:
    """The sum of the magnitudes of the terms of each node, as if its products of sums were expanded.

    >>> g = Graph()
    >>> x, y = g.symbol("x"), g.symbol("y")
    >>> found, = term_magnitudes(g, [g.mul(x, g.sub(y, g.two))])      # |x| |y| + 2 |x|
    >>> found == g.mul(g.call("abs", x), g.add(g.call("abs", y), g.two))
    True
    """
    size: dict[Node, Node] = {}
    for node in g.reachable(nodes):
        op, args = g.op[node], g.args[node]
        if op in ("add", "sub"):
            size[node] = g.add(size[args[0]], size[args[1]])
        elif op == "neg":
            size[node] = size[args[0]]
        elif op == "mul" and args[0] == args[1] and g.op[args[0]] == "symbol":
            size[node] = node
        elif op == "mul":
            size[node] = g.mul(size[args[0]], size[args[1]])
        elif op == "div":
            size[node] = g.div(size[args[0]], g.call("abs", args[1]))
        elif op == "select":
            size[node] = g.select(args[0], size[args[1]], size[args[2]])
        elif op not in ("lt", "le", "eq", "ne", "bool"):
            size[node] = g.call("abs", node)
    return [size[n] for n in nodes]


def closure(d: Dynamics) -> Iterator[Kernel]:
    """f_s, df_s/dx; A_sa, A_s0 of every constraint; M by its upper triangle: functions of the declared variables.

    With holonomic equations in coordinates whose rates are not the velocities, also the fields xi_a^i, and the
    invariants of the kinematics, as |q|^2, with their gradients.
    """
    g, system = d.graph, d.eqs.system
    if not system.constraints:
        return
    nodes = system.nodes
    x, f = nodes.fields.coordinates, nodes.holonomic
    outputs = [*f, *(n for e in f for n in gradient(g, e, x))]
    outputs += [n for row in nodes.constraint_rows for n in row] + list(nodes.constraint_offsets)
    names = [v.name for v in system.velocities]
    comments = [f"f_{s + 1}" for s in range(len(f))]
    comments += [f"d f_{s + 1} / d {q.name}" for s in range(len(f)) for q in system.coordinates]
    comments += [f"A of constraint {s + 1}, {v}" for s in range(len(system.constraints)) for v in names]
    comments += [f"A_0 of constraint {s + 1}" for s in range(len(system.constraints))]
    outputs += upper(nodes.mass(g))
    comments += [f"M of {v}, {w}" for i, v in enumerate(names) for w in names[i:]]
    if f and not nodes.fields.are_rates():
        levels = _levels(d)
        outputs += [n for field in nodes.fields.along for n in field]
        comments += [f"d {q.name} / dt by {v}" for v in names for q in system.coordinates]
        outputs += [*levels, *(n for e in levels for n in gradient(g, e, x))]
        comments += [f"invariant {i + 1} of the coordinates" for i in range(len(levels))]
        comments += [f"its slope along {q.name}" for _ in levels for q in system.coordinates]
    yield Kernel("closure", tuple(outputs), tuple(comments))


def _levels(d: Dynamics) -> list[Node]:
    """The invariants of the coordinates that every velocity keeps."""
    g, eqs = d.graph, d.eqs
    fields = eqs.system.nodes.fields
    found = []
    for level in d.levels:
        slopes = [g.dot(gradient(g, level, fields.coordinates), field) for field in fields.along]
        if vanish_everywhere(g, slopes, eqs.points(slopes, 3)):
            found.append(level)
    return found
