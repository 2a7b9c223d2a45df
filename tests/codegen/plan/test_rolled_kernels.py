"""Kernels of repeated bodies as loops: the same values, and code whose length does not grow with the chain."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import sympy as sp
from body_trees import G

import chaplygin as cg
from chaplygin.api.equations import Equations
from chaplygin.api.python_model import python_model
from chaplygin.codegen.emit.c_lanes import lane_files
from chaplygin.codegen.graph.differentiate import forward
from chaplygin.codegen.graph.evaluate import evaluate
from chaplygin.codegen.lower import kernels
from chaplygin.codegen.lower.dynamics import Dynamics
from chaplygin.codegen.lower.lower import lower
from chaplygin.codegen.lower.options import LoweringOptions
from chaplygin.codegen.plan.plan import plan
from chaplygin.codegen.plan.statements import Store

M, LENGTH, MOMENT = cg.parameters("m l J", positive=True)
NUMBERS = {M: 1.3, LENGTH: 0.5, MOMENT: 0.1, G: 9.81}


@cache
def planar_chain(n: int, alike: bool = True) -> Equations:
    """Links on hinges with parallel axes; unless `alike`, every third one is a slider along its parent."""
    bodies: list[cg.Body] = []
    x = [cg.coordinates(f"x{i}") for i in range(n)]
    for i in range(n):
        above = bodies[-1] if bodies else None
        start = sp.zeros(3, 1) if above is None else sp.Matrix([0, 0, -LENGTH])
        if alike or i % 3:
            turned = cg.turn(2, x[i])
            place = start + turned * sp.Matrix([0, 0, -LENGTH])
        else:
            turned, place = sp.eye(3), start + sp.Matrix([0, 0, -LENGTH - x[i]])
        bodies.append(
            cg.Body(f"b{i}", mass=M, inertia=(MOMENT,) * 3, rotation=turned, center=place, parent=above)
        )
    example = NUMBERS | dict.fromkeys(x, 0.3)
    system = cg.System(
        "chain", coordinates=x, bodies=bodies, interactions=[cg.Weight(G)], example=example,
        forces={cg.rate(e): -cg.rate(e) / 10 for e in x[:: n - 1]},
    )  # fmt: skip
    return system.equations("recursive")


def state(equations: Equations, seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-0.5, 0.5, len(equations.states))


@pytest.mark.parametrize("alike", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_values_of_rolled_kernels(alike: bool) -> None:
    equations = planar_chain(24 if alike else 36, alike)
    nodes, y, direction = equations.nodes, state(equations), state(equations, 4)
    program = equations.program
    assert all(program.schedule(name).rolled for name in ("rhs", "jvp"))
    at = {name: float(v) for name, v in zip(equations.states, y, strict=True)}
    at |= {s.name: v for s, v in NUMBERS.items()}
    roots = [*nodes.rates, *nodes.force]
    expected = np.array(evaluate(nodes.graph, roots, at), float)
    g = nodes.graph.copy()
    moved = forward(
        g, roots, {n: g.const(float(v)) for n, v in zip(nodes.state_nodes, direction, strict=True)}
    )
    slopes = np.array(evaluate(g, moved, at), float)
    model = equations.compile()
    p = [at[name] for name in model.parameters]
    assert model.rhs(0, y, p) == pytest.approx(expected, rel=1e-11, abs=1e-11 * np.abs(expected).max())
    assert model.jvp(0, y, p, direction) == pytest.approx(slopes, rel=1e-10, abs=1e-10 * np.abs(slopes).max())
    plain = python_model(program, quiet=True)
    assert plain.rhs(0, y, p) == pytest.approx(expected, rel=1e-11, abs=1e-11 * np.abs(expected).max())


@pytest.mark.slow
def test_the_code_of_a_chain_does_not_grow_with_it() -> None:
    functions, lines = [], []
    for n in (24, 36):
        program = planar_chain(n).program
        functions.append([len(program.schedule(k).rolled.templates) for k in ("rhs", "jvp")])
        text = lane_files(program, "")["chain_lanes.c"]
        lines.append(len(text.splitlines()))
    assert functions[0] == functions[1]
    assert lines[0] == lines[1]


@cache
def numbered_chain(n: int, alike: bool) -> Equations:
    """Rods whose masses, lengths and moments are numbers, all different unless they are `alike`."""
    bodies: list[cg.Body] = []
    for i in range(n):
        size = 0.1 if alike else 0.1 + 0.01 * i
        bodies.append(
            cg.joint.revolute(
                bodies[-1] if bodies else None, "y", at=(0, 0, -3 * size if bodies else 0), name=f"x{i}",
                mass=1 + size, inertia=(size, size, 0), center=(0, 0, -size),
            )
        )  # fmt: skip
    return cg.System("chain", bodies=bodies, interactions=[cg.Weight(9.81)]).equations("recursive")


@pytest.mark.slow
def test_numbers_that_differ_between_bodies_are_in_a_table() -> None:
    programs = [numbered_chain(24, alike).program for alike in (True, False)]
    for kernel in ("rhs", "jvp"):
        one, other = (program.schedule(kernel).rolled for program in programs)
        assert len(one.templates) == len(other.templates)
        assert not one.numbers
        assert len(other.numbers) >= 24  # each has its own mass at least
    nodes, y = numbered_chain(24, False).nodes, state(numbered_chain(24, False))
    at = {name: float(v) for name, v in zip(numbered_chain(24, False).states, y, strict=True)}
    expected = np.array(evaluate(nodes.graph, [*nodes.rates, *nodes.force], at), float)
    model = numbered_chain(24, False).compile()
    assert model.rhs(0, y, []) == pytest.approx(expected, rel=1e-11, abs=1e-11 * np.abs(expected).max())


@cache
def random_chain(n: int) -> Equations:
    """Bodies on hinges in space whose numbers are random, positive and negative."""
    rng = np.random.default_rng(n)
    bodies: list[cg.Body] = []
    for i in range(n):
        axis, place, center, moments = rng.normal(size=(4, 3)).tolist()
        root = np.array([moments, axis, place])
        inertia = np.trace(root @ root.T) * np.eye(3) - root @ root.T  # of three point masses
        bodies.append(
            cg.joint.revolute(
                bodies[-1] if bodies else None, axis, at=place if bodies else (0, 0, 0), name=f"x{i}",
                mass=rng.uniform(1, 2), inertia=inertia.tolist(), center=center,
            )
        )  # fmt: skip
    return cg.System("chain", bodies=bodies, interactions=[cg.Weight(9.81)]).equations("recursive")


@pytest.mark.slow
def test_signs_of_numbers_make_no_functions_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "KERNELS", dict([*kernels.KERNELS.items()][:1]))
    functions = []
    for n in (6, 9):
        rolled = plan(lower(random_chain(n).nodes)).schedule("rhs").rolled
        assert rolled is not None
        functions.append(len(rolled.templates))
    assert functions[0] == functions[1]


@pytest.mark.slow
def test_values_of_a_chain_of_random_numbers() -> None:
    equations = random_chain(9)
    nodes, y, direction = equations.nodes, state(equations), state(equations, 4)
    at = {name: float(v) for name, v in zip(equations.states, y, strict=True)}
    roots = [*nodes.rates, *nodes.force]
    expected = np.array(evaluate(nodes.graph, roots, at), float)
    g = nodes.graph.copy()
    along = {n: g.const(float(v)) for n, v in zip(nodes.state_nodes, direction, strict=True)}
    slopes = np.array(evaluate(g, forward(g, roots, along), at), float)
    assert all(equations.program.schedule(name).rolled for name in ("rhs", "jvp"))
    for model in (equations.compile(), python_model(equations.program, quiet=True)):
        assert model.rhs(0, y, []) == pytest.approx(expected, rel=1e-10, abs=1e-10 * np.abs(expected).max())
        found = model.jvp(0, y, [], direction)
        assert found == pytest.approx(slopes, rel=1e-9, abs=1e-9 * np.abs(slopes).max())


def test_a_long_jacobian_is_given_up_at_its_first_long_column(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = []
    variation = Dynamics.variation

    def counted(self: Dynamics, *given: Any) -> Any:
        columns.append(given)
        return variation(self, *given)

    monkeypatch.setattr(Dynamics, "variation", counted)
    nodes, options = planar_chain(24).nodes, LoweringOptions(unrolled_jacobian=48**2)
    dynamics = Dynamics(replace(nodes, graph=nodes.graph.copy()), options=options)
    assert not list(kernels.jacobian(dynamics))
    assert 1 <= len(columns) < 48


def test_places_of_records_are_used_again() -> None:
    rolled = planar_chain(24).program.schedule("rhs").rolled
    frames = [
        [t.frames[s.array] for s in t.schedule.statements if isinstance(s, Store)] for t in rolled.templates
    ]
    written = sum(
        run.count * frames[call.template].count("work") for run in rolled.runs for call in run.calls
    )
    # the last sweep reads at least sine, cosine, a bias of two, K of two (the third is 1) and nu of each hinge
    assert 24 * 7 <= rolled.work < 0.6 * written


@pytest.mark.slow
@pytest.mark.parametrize("numbered", [False, True])
def test_lanes_of_a_rolled_kernel_give_the_bits_of_single_runs(numbered: bool) -> None:
    equations = numbered_chain(24, False) if numbered else planar_chain(24)
    model, y = equations.compile(), state(equations)
    start = {name: y[i] + 0.01 * np.arange(4) for i, name in enumerate(model.states)}
    numbers = {} if numbered else {s.name: v for s, v in NUMBERS.items()}
    ensemble = cg.ensemble(model, (0, 0.2), start, numbers, n=4, method="dop853", lanes=4)
    for i in (0, 3):
        alone = {name: float(v[i]) for name, v in start.items()}
        solution = model.integrate((0, 0.2), alone, numbers, method="dop853")
        assert (solution.y[:, -1] == ensemble.y[:, i]).all()
