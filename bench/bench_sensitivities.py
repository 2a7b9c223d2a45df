"""What derivatives of runs cost, relative to the run alone with the same method and steps.

Forward: the variational equations with 4 and 16 random directions of the initial state, the parameters and the inputs,
as `integrate(..., sensitivities=[...])` runs them. Backward: the gradient of a final state by 50 parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import sympy as sp
from cases import CASES, CHAIN, SLEIGH, TOP, Case
from sizes import ROUNDS, scaled
from turns import Contender, Ratio

import chaplygin as cg
from chaplygin.runtime.problem.consistency import Accepted
from chaplygin.runtime.problem.options import RunOptions
from chaplygin.runtime.sensitivities.variation import Variation

EACH_CASE = pytest.mark.parametrize("case", CASES, ids=lambda case: case.key)
GOAL = scaled({4: 3.4, 16: 10.6}, {4: 3.4})
"""1 + 0.6 k"""
SPAN = {TOP: scaled(200, 5), SLEIGH: scaled(20, 1), CHAIN: scaled(100, 2)}
SHORT = {SLEIGH: 0.01}
"""The longest steps of the sleigh, which otherwise is at rest after a few."""
GRADIENT_GOAL = 6.0
BODIES = scaled(25, 3)
METHODS = scaled(["dop853", "vern9"], ["dop853"])


@EACH_CASE
@pytest.mark.parametrize("method", METHODS)
def test_directions(case: Case, method: str, turns: Any) -> None:
    model, x0, p = case.model, case.initial, case.parameters
    options = {"method": method, "rtol": 1e-9, "atol": 1e-9, "max_step": SHORT.get(case, np.inf)}
    ends = [0.0, float(SPAN[case])]
    rng = np.random.default_rng(1)

    def plain() -> Any:
        return model.integrate(ends, x0, p, t_eval=ends, **options)

    def with_directions(k: int) -> Callable[[], Any]:
        variation = Variation.of(model, k, False)
        state = variation.state(x0, rng.normal(size=(len(x0), k)), np.ones(k))
        vector = variation.vector(p, rng.normal(size=(len(p), k)), np.ones(k))
        larger = vars(variation.options(RunOptions(**options)))
        given = (ends, Accepted(state), vector)
        return lambda: variation.model.integrate(*given, t_eval=ends, **larger)

    steps = plain().n_steps
    rows = [Contender(f"run alone, {steps} steps", plain)]
    for k in GOAL:
        run = with_directions(k)
        assert run().n_steps == steps
        rows.append(Contender(f"{k} directions, the same steps", run))
    ratios = [
        Ratio(f"{method}: {k} directions, in runs", row, rows[0], goal, inverse=True)
        for (k, goal), row in zip(GOAL.items(), rows[1:], strict=True)
    ]
    turns(f"sensitivities, {method}: {case.key}", rows, ratios, rounds=8 * ROUNDS)


@cache
def springs() -> tuple[Any, ...]:
    """Masses in a row on hardening springs: a model with few operations for each parameter."""
    q = cg.coordinates(" ".join(f"q_{i}" for i in range(BODIES)))
    m = cg.parameters(" ".join(f"m_{i}" for i in range(BODIES)), positive=True)
    k = cg.parameters(" ".join(f"k_{i}" for i in range(BODIES)), positive=True)
    stretch = [q[0], *(b - a for a, b in pairwise(q))]
    kinetic = sum(mass * cg.rate(x) ** 2 for mass, x in zip(m, q)) / 2
    potential = sum(stiff * (d**2 / 2 + d**4 / 4) for stiff, d in zip(k, stretch))
    system = cg.System("springs", coordinates=list(q), kinetic=kinetic, potential=potential)
    return system.compile("lagrange", wait=True), "q", ("m", "k"), scaled(300, 5)


@cache
def links() -> tuple[Any, ...]:
    """A planar chain whose links all have a mass and a length of their own."""
    phi = cg.coordinates(" ".join(f"phi_{i}" for i in range(BODIES)))
    m = cg.parameters(" ".join(f"m_{i}" for i in range(BODIES)), positive=True)
    length = cg.parameters(" ".join(f"l_{i}" for i in range(BODIES)), positive=True)
    kinetic = potential = x_dot = y_dot = y = sp.Integer(0)
    for mass, arm, angle in zip(m, length, phi):
        x_dot += arm * sp.cos(angle) * cg.rate(angle)
        y_dot += arm * sp.sin(angle) * cg.rate(angle)
        y -= arm * sp.cos(angle)
        kinetic += mass * (x_dot**2 + y_dot**2) / 2
        potential += mass * y * sp.Rational(981, 100)
    system = cg.System("links", coordinates=list(phi), kinetic=kinetic, potential=potential)
    return system.compile("lagrange", wait=True), "phi", ("m", "l"), scaled(5, 1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("subject", scaled([springs, links], [springs]), ids=lambda made: made.__name__)
def test_gradient(subject: Callable[[], tuple[Any, ...]], method: str, turns: Any) -> None:
    model, moves, kinds, t_end = subject()
    initial = {f"{moves}_{i}": 0.3 * np.sin(i) for i in range(BODIES)}
    initial |= {f"{moves}_{i}_dot": 0.1 for i in range(BODIES)}
    parameters = {f"{kind}_{i}": 1.0 + 0.01 * i for kind in kinds for i in range(BODIES)}
    loss = cg.final(f"{moves}_0")

    def plain() -> Any:
        return model.integrate((0, t_end), initial, parameters, method=method)

    def gradient() -> Any:
        return model.gradient(loss, (0, t_end), initial, parameters, by=list(parameters), method=method)

    rows = [Contender(f"run alone, {plain().n_steps} steps", plain)]
    own = gradient().n_steps  # tangents bound them
    rows.append(Contender(f"gradient by {len(parameters)} parameters, {own} steps", gradient))
    what = f"{method}: gradient of a final state by {len(parameters)} parameters, in runs"
    ratios = [Ratio(what, rows[1], rows[0], GRADIENT_GOAL, inverse=True)]
    turns(f"gradient, {method}: {subject.__name__} of {BODIES}", rows, ratios, rounds=2 * ROUNDS)
