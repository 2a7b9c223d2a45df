"""Trees of bodies in a number of operations linear in their number.

D_i eta'_i = Q_i - S_i^T p_i^A - U_i^T a'_i: the articulated-body recursion (`codegen.derive.articulated`). With
constraints (A M^-1 A^T) lambda = -(A eta'_free + b),  eta' = eta'_free + M^-1 A^T lambda; every column of M^-1 A^T is
one more recursion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import sympy as sp

from chaplygin.errors import FormError

from ..derive.articulated import Articulated, Screw
from ..derive.equation_nodes import EquationNodes, Friction, misfit
from ..derive.friction import together
from ..derive.tree import Tree, tree
from ..graph.graph import Graph, Node
from ..mechanics.bodies import Body
from ..mechanics.screws import Flow
from ..system.checked_system import CheckedSystem
from .choose import fitting
from .constraints import Permitted, equations_of, impose, residuals
from .form import Form
from .multipliers import biases, named_reactions, reactions_of, solved
from .reduction import Motion

FEWEST = 12
"""Velocities from which on the recursion of a tree is faster than its mass matrix: measured, about 6 with ball joints,
12 with hinges."""
TITLE = "Articulated-body recursion, D_i eta'_i = Q_i - S_i^T p_i - U_i^T a_i"


def derive(
    system: CheckedSystem,
    independent: Sequence[sp.Symbol] | None = None,
    bodies: Sequence[Body | str] = (),
) -> EquationNodes:
    """The equations of a tree of `bodies`, solved for the accelerations; states are all coordinates and velocities.

    With constraints, the multipliers and reactions of the form `multipliers` are outputs. Option `independent`: the
    velocities kept as states, as in `maggi`; the others follow from the constraints. Option `bodies`: the bodies for
    which there are outputs: `position_<body>_x` of the mass centre, `rotation_<body>_xy` (R row by row) and
    `velocity_<body>_x` in space, `omega_<body>_x` in body axes and, without constraints, `joint_force_<body>_x` and
    `joint_couple_<body>_x`: what the parent exerts at the joint, in body axes. Generalised forces and the system's own
    potential are taken to act in the joints, interactions on the bodies.

    Hypotheses: every velocity moves one body relative to its parent, and what it moves has inertia; `kinetic`, which
    is added to that of the bodies, couples no two joints; there is no parametrization.
    """
    nodes, g = system.nodes, system.nodes.graph.copy()
    flow, wanted = nodes.mechanism.flow.on(g), _wanted(system, bodies)
    try:
        recursion = _recursion(g, system, tree(g, flow, system))
    except FormError as error:
        raise FormError(f"{error}; use {fitting(system)!r}") from None
    accelerations, motion, load = recursion.solve(recursion.tree.forces)
    rates, pivots = nodes.fields.velocity(g, nodes.eta), recursion.checks
    multipliers, unknown = list[Node](), None
    if system.redundancy and independent is not None:
        raise misfit("recursive", system, "independent velocities are kept with independent constraints")
    if system.constraints:
        across = [recursion.solve(row, moving=False)[0] for row in nodes.constraint_rows]
        multipliers, unknown, of_schur = _multipliers(g, system, across, accelerations, rates)
        pivots += of_schur
        accelerations = [
            g.add(a, g.dot(row, multipliers)) for a, *row in zip(accelerations, *across, strict=True)
        ]
    reactions = named_reactions(g, system, multipliers, reactions_of(g, system, multipliers))
    seen: dict[str, Node] = {}
    for body in wanted:
        seen |= _seen(flow, body, None if system.constraints else recursion.transmitted(body, motion, load))
    choice = _choice(g, system, independent)
    kept = [a for a, v in zip(accelerations, system.velocities, strict=True) if v in choice.velocities]
    rates, kept, of_rows, of_bodies = (
        g.substitute(list(part), choice.permitted or {})
        for part in (rates, kept, reactions.values(), seen.values())
    )
    options = {**choice.options, "bodies": tuple(body.name for body in wanted)}
    return equations_of(
        system,
        "recursive",
        g,
        TITLE,
        replace(choice, pivots=(*pivots, *choice.pivots), options=options),
        Motion(rates, [], kept),
        multiplier_nodes=() if choice.permitted else tuple(multipliers),
        reaction_nodes=dict(zip(reactions, of_rows, strict=True)),
        body_nodes=dict(zip(seen, of_bodies, strict=True)),
        friction=unknown,
        manifold=impose(g, system, "recursive", None).permitted or {},
        cells=() if choice.permitted else (*recursion.cells, *_cells(flow, recursion, rates)),
    )


def _multipliers(
    g: Graph,
    system: CheckedSystem,
    across: Sequence[Sequence[Node]],
    free: Sequence[Node],
    rates: Sequence[Node],
) -> tuple[list[Node], Friction | None, tuple[tuple[Node, Node], ...]]:
    """The multipliers with their pivots, or as unknowns if constraints are redundant.

    `across` are the columns of M^-1 A^T, `free` the accelerations without constraints.
    """
    bias = biases(g, system, rates)
    if system.redundancy:
        unknown = together(g, system, bias, across)
        return list(unknown.multipliers), unknown, ()
    multipliers, pivots = solved(g, system.nodes.constraint_rows, across, free, bias)
    return multipliers, None, pivots


def _cells(flow: Flow, recursion: Articulated, rates: Sequence[Node]) -> list[tuple[Node, ...]]:
    """The rates of the coordinates and the terms of the energies, joint by joint and body by body."""
    g, links = flow.graph, recursion.tree.links
    joint = {v: i for i, link in enumerate(links) for v in link.velocities}
    place = {str(g.value[n]): a for a, n in enumerate(flow.velocities.values())}
    own: dict[int, list[Node]] = {i: [] for i in range(len(links))}
    for rate in rates:
        moving = [joint[place[name]] for name in g.symbols([rate]) if name in place]
        if moving:
            own[max(moving)].append(rate)
    found = [tuple(nodes) for nodes in own.values() if nodes]
    for link in links:
        body = link.body
        poses = (*(n for row in flow.attitude(body) for n in row), *flow.position(body))
        found.append((*poses, *flow.omega(body), *flow.velocity(body, True), flow.energy(body)))
    return found


def _recursion(g: Graph, system: CheckedSystem, links: Tree) -> Articulated:
    try:
        return Articulated(g, links)
    except ZeroDivisionError as error:
        link = links.links[error.args[0]]
        names = ", ".join(system.velocities[a].name for a in link.velocities)
        hypothesis = "what every velocity moves has inertia"
        raise misfit("recursive", system, hypothesis, f" ({names} of the body {link.body.name!r})") from None


def _choice(g: Graph, system: CheckedSystem, independent: Sequence[sp.Symbol] | None) -> Permitted:
    """The states: all velocities, or the independent ones."""
    if independent is not None or not system.constraints:
        return impose(g, system, "recursive", independent)
    eta = system.nodes.eta
    declared = dict(zip(system.velocities, eta, strict=True))
    return Permitted(system.velocities, eta, None, declared, (), residuals(g, system, {}))


def _wanted(system: CheckedSystem, bodies: Sequence[Body | str]) -> list[Body]:
    known = {body.name: body for body in system.bodies}
    given = [bodies] if isinstance(bodies, (str, Body)) else bodies
    names = [body.name if isinstance(body, Body) else body for body in given]
    for name in names:
        if name not in known:
            raise FormError(
                f"recursive: bodies: {name!r} is not a body of {system.name!r} ({', '.join(known)})"
            )
    return [known[name] for name in names]


def _seen(flow: Flow, body: Body, joint: Screw | None) -> dict[str, Node]:
    """The outputs of a body."""
    vectors = {"position": flow.position(body), "velocity": flow.speed(body), "omega": flow.omega(body)}
    if joint is not None:
        vectors |= {"joint_couple": joint[0], "joint_force": joint[1]}
    found = {
        f"{what}_{body.name}_{axis}": n
        for what, v in vectors.items()
        for axis, n in zip("xyz", v, strict=True)
    }
    for a, row in zip("xyz", flow.attitude(body), strict=True):
        found |= {f"rotation_{body.name}_{a}{b}": n for b, n in zip("xyz", row, strict=True)}
    return found


def _refusal(system: CheckedSystem) -> str | None:
    if not system.bodies:
        return "'the system is a tree of bodies' fails (no bodies are given)"
    if system.parametrization:
        return "'constraints as equations' fails (a parametrization is given)"
    return None


def _pays(system: CheckedSystem) -> bool:
    """Whether the form is faster than a dense mass matrix and fits: a free tree of many velocities."""
    if system.constraints or len(system.velocities) < FEWEST:
        return False
    g = system.nodes.graph.copy()
    try:
        tree(g, system.nodes.mechanism.flow.on(g), system)
    except FormError:
        return False
    return True


FORM = Form("recursive", derive, _refusal, multipliers=True, preferred=_pays)
