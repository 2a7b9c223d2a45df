"""The motion at one point by every form: rates of all declared variables, for comparison between forms."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import chaplygin as cg
from chaplygin.api.equations import Equations
from chaplygin.codegen.forms.choose import forms
from chaplygin.codegen.graph.differentiate import forward
from chaplygin.codegen.graph.evaluate import evaluate
from chaplygin.codegen.system.points import good_points
from chaplygin.errors import FormError

Point = dict[str, float]

REFERENCE = ("maggi", "lagrange", "poincare")
"""The form that the others are compared with: the first of these that applies."""


@cache
def system_of(name: str) -> cg.System:
    return cg.example(name).system


@cache
def attempt(name: str, form: str) -> Equations | str:
    """The equations of a catalogue system in a form, or the reason why the form does not apply."""
    try:
        return system_of(name).equations(form)
    except FormError as refusal:
        return str(refusal)


def applicable(name: str) -> dict[str, Equations]:
    found = {form: attempt(name, form) for form in forms()}
    return {form: eqs for form, eqs in found.items() if not isinstance(eqs, str)}


def permitted_points(name: str, count: int) -> list[Point]:
    """Random points of a system, with its constraints satisfied: dependent velocities follow from the others."""
    system = system_of(name)
    eqs = attempt(name, "maggi")
    if isinstance(eqs, str):
        return good_points(system.nodes, [system.nodes.kinetic], count)
    nodes = [eqs.nodes.declared[v] for v in system.velocities]
    points = good_points(system.nodes, nodes, count, eqs.nodes.graph)
    names = [v.name for v in system.velocities]
    return [{**p, **dict(zip(names, evaluate(eqs.nodes.graph, nodes, p), strict=True))} for p in points]


def rates(eqs: Equations, point: Point) -> dict[str, float]:
    """d/dt of every declared variable that occurs in the form, at a point given in the declared variables."""
    g, system = eqs.nodes.graph, eqs.system
    at: dict[str, Any] = dict(point)
    if eqs.nodes.initial_nodes is not None:
        names = [*eqs.states, *(p.name for p in (*system.parameters, *eqs.parameters))]
        at |= dict(zip(names, evaluate(g, eqs.nodes.initial_nodes, point), strict=True))
    # Friction forces are unknowns in every form; any value will do here if it is the same for all.
    at |= {f"friction_{c.name}": 0.7 - 0.4 * i for i, c in enumerate(system.contacts)}
    k = len(eqs.nodes.force)
    lower = [n for row in eqs.nodes.mass for n in row]
    values = evaluate(g, [*lower, *eqs.nodes.force], at)
    force = np.array(values[len(lower) :])
    if eqs.nodes.mass:
        mass = np.zeros((k, k))
        for i in range(k):
            for j in range(i + 1):
                mass[i, j] = mass[j, i] = values[i * (i + 1) // 2 + j]
        force = np.linalg.solve(mass, force)
    symbols = [g.symbol(f"cg_test_{i}") for i in range(k)]
    flow = {
        **dict(zip(eqs.nodes.coordinate_nodes, eqs.nodes.rates, strict=True)),
        eqs.nodes.independent_node: g.one,
    }
    flow |= dict(zip(eqs.nodes.velocity_nodes, symbols, strict=True))
    declared = {x.name: node for x, node in zip(eqs.coordinates, eqs.nodes.coordinate_nodes, strict=True)}
    declared |= {v.name: eqs.nodes.declared[v] for v in system.velocities}
    slopes = forward(g, list(declared.values()), flow)
    at |= {f"cg_test_{i}": a for i, a in enumerate(force)}
    result = dict(zip(declared, evaluate(g, slopes, at), strict=True))
    if eqs.independent is not None:  # from d/dx_1 to d/dt
        place = system.coordinates.index(eqs.independent)
        speed = evaluate(
            g,
            [g.substitute(system.nodes.fields.velocity(g, system.nodes.eta), eqs.nodes.permitted)[place]],
            at,
        )[0]
        result = {name: value * speed for name, value in result.items()}
    return result


def leading_rate(eqs: Equations, point: Point) -> float:
    """d x_1/dt of Whittaker's coordinate."""
    g, system = eqs.nodes.graph, eqs.system
    assert eqs.independent is not None
    place = system.coordinates.index(eqs.independent)
    return float(evaluate(g, [system.nodes.fields.velocity(g, system.nodes.eta)[place]], point)[0])


def largest_difference(first: dict[str, float], second: dict[str, float]) -> float:
    """The largest difference of the rates that both contain, relative to the size of the whole motion."""
    both = first.keys() & second.keys()
    assert both
    size = max(1.0, *(abs(v) for v in first.values()))
    return max(abs(first[n] - second[n]) for n in both) / size
