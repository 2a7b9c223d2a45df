"""Equations that were given as M d eta/dt = f, or that only Kane's method gives.

B^T M B d theta/dt = B^T (f - M d(eta)/dt at fixed theta),   eta = beta(t, x, theta),  B = d beta / d theta.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import sympy as sp

from chaplygin.errors import FormError

from ..derive.equation_nodes import EquationNodes, misfit
from ..graph.differentiate import forward, partials
from ..graph.evaluate import evaluate
from ..graph.graph import Graph, Node
from ..system.checked_system import CheckedSystem
from ..system.points import good_points
from .constraints import Permitted, equations_of, impose
from .form import Form
from .reduction import Motion

_SINGULAR = 1e-12


def derive(system: CheckedSystem, independent: Sequence[sp.Symbol] | None = None) -> EquationNodes:
    """The given equations in all coordinates and the independent velocities.

    Option `independent`: the velocities kept as states, if there are constraints; by default they are chosen at the
    example point. M is not assumed to be symmetric, unless it comes from masses and inertias.

    Hypothesis: the system was declared by a law, as those of `chaplygin.from_sympy` whose kinetic energy is not known
    or does not give their equations, or by kinematics alone.
    """
    if system.law is None:
        raise misfit("given", system, "M and f are given")
    nodes = system.nodes
    g = nodes.graph.copy()
    choice = impose(g, system, "given", independent)
    rates = nodes.fields.velocity(g, nodes.eta)
    flow = nodes.fields.flow(g, rates)
    mass, force = system.law.balance(g, nodes.entries, nodes.eta, nodes.fields.coordinates, flow)
    motion = Motion(rates, mass, force)
    if choice.permitted is not None:
        motion = _projected(g, system, motion, choice)
    if motion.mass:
        _check_regular(g, system, choice.velocities, motion.mass)
    if system.law.symmetric:
        motion = Motion(motion.rates, [row[: i + 1] for i, row in enumerate(motion.mass)], motion.force)
    return equations_of(system, "given", g, system.law.title, choice, motion)


def _check_regular(
    g: Graph, system: CheckedSystem, velocities: Sequence[sp.Symbol], mass: Sequence[Sequence[Node]]
) -> None:
    """Raise FormError, naming velocities, if M is singular at random points."""
    flat, k = [n for row in mass for n in row], len(mass)
    for point in good_points(system.nodes, flat, 2, g):
        values = np.array(evaluate(g, flat, point), float).reshape(k, k)
        sizes = np.abs(values).max(axis=0)
        _, singular, right = np.linalg.svd(values / np.where(sizes == 0, 1, sizes))
        if singular[-1] > _SINGULAR * singular[0]:
            return
    direction = np.abs(right[-1]) / np.where(sizes == 0, 1, sizes)
    names = [v.name for v, part in zip(velocities, direction, strict=True) if part > 1e-6 * direction.max()]
    raise FormError(
        f"{system.name!r} has no form 'given': M is singular, without inertia along {' and '.join(names)}; every "
        "velocity needs a mass or an inertia that it moves"
    )


def _projected(g: Graph, system: CheckedSystem, motion: Motion, choice: Permitted) -> Motion:
    """The equations on the permitted velocities."""
    nodes, permitted, k = system.nodes, choice.permitted or {}, len(motion.force)
    entries = [n for row in motion.mass for n in row]
    moved = g.substitute([*motion.rates, *motion.force, *entries], permitted)
    n = len(motion.rates)
    rates, force, entries = moved[:n], moved[n : n + k], moved[n + k :]
    mass = [entries[i * k : (i + 1) * k] for i in range(k)]
    flow = nodes.fields.flow(g, rates)
    beta = [permitted[e] for e in nodes.eta]
    columns, bias = partials(g, beta, choice.theta), forward(g, beta, flow)
    rest = [g.sub(f, g.dot(row, bias)) for f, row in zip(force, mass, strict=True)]
    weighted = [[g.dot(row, column) for row in mass] for column in columns]
    return Motion(
        rates, [[g.dot(b, w) for w in weighted] for b in columns], [g.dot(b, rest) for b in columns]
    )


def _refusal(system: CheckedSystem) -> str | None:
    return "'M and f are given' fails" if system.law is None else None


FORM = Form("given", derive, _refusal, of_laws=True)
