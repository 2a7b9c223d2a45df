"""From `EquationNodes` to `Program`: accelerations, derivatives, outputs and invariants as kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import sympy as sp

from chaplygin.runtime.assumptions import ZERO_AT_START

from ..declare.digest import program_digest
from ..declare.symbols import assumed
from ..derive.friction import friction_outputs
from ..derive.power import POWER, painleve_function, power
from ..graph.graph import LEAVES, Node
from .consistency import consistency_kernel, open_residuals
from .dynamics import Accelerations, momentum_solve, solve_for_accelerations, variation
from .hybrid import contact_entries, event_entries, hybrid_kernels, modes
from .optimise.arrange import BUDGET, arranged
from .program import Kernel, Program, Variable
from .schedule import Counts, count

if TYPE_CHECKING:
    from ..derive.equation_nodes import EquationNodes

UNROLLED_JACOBIAN = 4000
"""Maximum number of operations of a Jacobian that is written out; a larger one is emitted as a loop over `jvp`."""

LARGEST_ARRANGED = 4000
"""Maximum number of nodes of a rarely called kernel that is arranged; the right-hand side always is."""


def lower(eqs: EquationNodes) -> Program:
    """The kernels of a model."""
    g, system = eqs.graph, eqs.system
    invariants = eqs.found_invariants
    acceleration = solve_for_accelerations(eqs)
    limits = eqs.pivots
    pivots = [*limits, *acceleration.pivots]
    labels = _labels(eqs)
    kernels = {"rhs": right_hand_side(eqs, acceleration)}
    kernels |= _derivative_kernels(eqs, acceleration, pivots, labels)

    def make(name: str, nodes: Sequence[Node], comments: Sequence[str]) -> Kernel:
        """A kernel that solves for the accelerations if it needs them."""
        nodes = g.substitute(nodes, acceleration.solution)
        unknown = [n for solve in acceleration.solves for n in solve.results]
        solved = g.depends_on(nodes, [*unknown, *(n for n, _ in acceleration.pivots)])
        return Kernel(
            name,
            tuple(nodes),
            tuple(comments),
            tuple(pivots) if solved else limits,
            acceleration.solves if solved else (),
        )

    outputs = _outputs(eqs, {i.name for i in invariants}, acceleration.nodes)
    if outputs:
        kernels["outputs"] = make("outputs", [n for _, n in outputs], [v.name for v, _ in outputs])
    hybrid, guards = hybrid_kernels(eqs, acceleration, make)
    kernels |= hybrid
    if eqs.initial_nodes is not None:
        names = [*eqs.states, *(p.name for p in (*system.parameters, *eqs.parameters))]
        kernels["initial"] = Kernel("initial", eqs.initial_nodes, tuple(names), of_declared=True)
    conserved = [
        (Variable(i.name, "invariant", "", i.description, flags=ZERO_AT_START if i.zero else 0), i.node)
        for i in invariants
    ]
    open_ = open_residuals(eqs)
    conserved += [
        (Variable(n, "residual", "", "constraint residual", flags=ZERO_AT_START if n in open_ else 0), node)
        for n, node in eqs.residuals_nodes.items()
    ]
    begin = [(v.name, n) for v, n in conserved if v.flags & ZERO_AT_START]
    if begin:
        kernels["consistency"] = consistency_kernel(eqs, *zip(*begin, strict=True))
    if conserved:
        # Invariants do not need accelerations, but may need velocities that a loop computes from momenta.
        solves = () if eqs.implicit is None else (momentum_solve(eqs.implicit),)
        kernels["invariants"] = Kernel(
            "invariants", tuple(n for _, n in conserved), tuple(v.name for v, _ in conserved), limits, solves
        )
    kernels["rhs"] = arranged(g, kernels["rhs"])
    for name in ("jvp", "jacobian", "outputs", "invariants"):
        if name in kernels and len(g.reachable(kernels[name].roots())) <= LARGEST_ARRANGED:
            kernels[name] = arranged(g, kernels[name], BUDGET // 8)
    return Program(
        name=system.name,
        form=eqs.form,
        digest=program_digest(system.digest, eqs.form, sorted(eqs.options.items())),
        graph=g,
        states=(
            *(variable(eqs, x, "coordinate") for x in eqs.coordinates),
            *(variable(eqs, v, "velocity") for v in eqs.velocities),
        ),
        n_coordinates=len(eqs.coordinates),
        parameters=tuple(variable(eqs, p, "parameter") for p in (*system.parameters, *eqs.parameters)),
        inputs=tuple(variable(eqs, u, "input") for u in system.inputs),
        outputs=tuple(v for v, _ in outputs),
        invariants=tuple(v for v, _ in conserved),
        declared=(
            *(variable(eqs, x, "coordinate") for x in system.coordinates),
            *(variable(eqs, v, "velocity") for v in (system.independent or system.velocities)),
        ),
        independent=str(g.value[eqs.independent_node]),
        kernels=kernels,
        guards=guards,
        modes=modes(eqs),
        events=event_entries(eqs),
        contacts=contact_entries(eqs),
    )


def right_hand_side(eqs: EquationNodes, acceleration: Accelerations) -> Kernel:
    """dx/dt and theta' as derived, before the search for fewer operations."""
    parameters = (*eqs.system.parameters, *eqs.parameters)
    return Kernel(
        "rhs",
        (*eqs.rates, *acceleration.nodes),
        tuple(f"d({n})/dt" for n in eqs.states),
        (*eqs.pivots, *acceleration.pivots),
        acceleration.solves,
        _labels(eqs),
        beforehand=tuple(eqs.graph.symbol(p.name) for p in parameters),
    )


def derived_counts(eqs: EquationNodes) -> Counts:
    """The operation counts of a right-hand side as derived."""
    own = replace(eqs, graph=eqs.graph.copy())  # a copy, so that later nodes keep their numbers
    return count(own.graph, right_hand_side(own, solve_for_accelerations(own)))


def variable(eqs: EquationNodes, s: sp.Symbol, kind: str) -> Variable:
    system = eqs.system
    return Variable(
        s.name,
        kind,
        system.units.get(s, ""),
        system.descriptions.get(s, ""),
        system.example.get(s, float("nan")),
        assumed(s),
    )


def _labels(eqs: EquationNodes) -> dict[Node, str]:
    """Names for the nontrivial entries of M and f."""
    g = eqs.graph
    labels: dict[Node, str] = {}
    for i, v in enumerate(eqs.velocities):
        if g.op[eqs.force[i]] not in LEAVES:
            labels.setdefault(eqs.force[i], f"f_{v.name}")
        for j in range(i + 1):
            if eqs.mass and g.op[eqs.mass[i][j]] not in LEAVES:
                labels.setdefault(eqs.mass[i][j], f"M_{eqs.velocities[j].name}_{v.name}")
    return labels


def _derivative_kernels(
    eqs: EquationNodes,
    acceleration: Accelerations,
    pivots: Sequence[tuple[Node, Node]],
    labels: dict[Node, str],
) -> dict[str, Kernel]:
    """`jvp`, and `jacobian` if it is short enough to be written out."""
    g, names = eqs.graph, eqs.states
    states = [*eqs.coordinate_nodes, *eqs.velocity_nodes]
    comments = tuple(f"direction of d({s})/dt" for s in names)
    solves = list(acceleration.solves)
    direction = {s: g.symbol(f"cg_v_{i}") for i, s in enumerate(states)}
    rates, right = variation(eqs, acceleration, direction, solves)
    kernels = {"jvp": Kernel("jvp", (*rates, *right), comments, tuple(pivots), tuple(solves), labels)}
    if acceleration.solves or len(states) ** 2 > UNROLLED_JACOBIAN:
        return kernels
    columns = []
    for s in states:
        upper, lower_part = variation(eqs, acceleration, {s: g.one}, [])
        columns.append([*upper, *lower_part])
    entries = tuple(columns[j][i] for i in range(len(states)) for j in range(len(states)))
    if g.count_operations(entries) > UNROLLED_JACOBIAN:
        return kernels
    texts = tuple(f"d(d({a})/dt)/d({b})" for a in names for b in names)
    kernels["jacobian"] = Kernel("jacobian", entries, texts, tuple(pivots), (), labels)
    return kernels


def _outputs(
    eqs: EquationNodes, invariants: set[str], accelerations: Sequence[Node]
) -> list[tuple[Variable, Node]]:
    """Declared velocities that are not states, reactions, friction, the user's outputs, and those of `_balance`."""
    system = eqs.system
    found = [
        (variable(eqs, v, "declared"), node) for v, node in eqs.declared.items() if v.name not in eqs.states
    ]
    found += [
        (Variable(n, "reaction", "", "constraint reaction"), node) for n, node in eqs.reaction_nodes.items()
    ]
    friction = friction_outputs(eqs)
    found += [(Variable(n, "output", "", text), node) for n, text, node in friction if n != "friction_power"]
    units, about = ({str(k): v for k, v in texts.items()} for texts in (system.units, system.descriptions))
    found += [
        (Variable(n, "output", units.get(n, ""), about.get(n, "")), node)
        for n, node in eqs.output_nodes.items()
    ]
    taken = {v.name for v, _ in found} | set(eqs.symbols) | invariants
    for name, text, node in friction[-1:]:
        found.append((Variable(_free(name, taken), "output", "", text), node))
    return found + _balance(eqs, invariants, taken, accelerations)


def _free(name: str, taken: set[str]) -> str:
    """The name, with the prefix `cg_` if the user has taken it."""
    return f"cg_{name}" if name in taken else name


def _balance(
    eqs: EquationNodes, invariants: set[str], taken: set[str], accelerations: Sequence[Node]
) -> list[tuple[Variable, Node]]:
    """If the energy is not conserved: T + V, Painlevé's T2 - T0 + V if it differs, and the power that changes it.

    A name that the user has taken gets the prefix `cg_`, except `energy`, which is left to the user.
    """
    if "energy" in invariants:
        return []
    h, total, same = painleve_function(eqs)
    found = []
    named = "energy" not in taken
    if named:
        found.append((Variable("energy", "output", "", "T + V"), total))
    if "painleve" in invariants:
        return found
    if not (same and named):
        found.append((Variable(_free("painleve", taken), "output", "", "T2 - T0 + V"), h))
    found.append((Variable(_free("power", taken), "output", "", POWER), power(eqs, accelerations)))
    return found
