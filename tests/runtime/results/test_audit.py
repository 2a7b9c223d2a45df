"""The energy audit: correct runs pass and runs of wrong equations fail, whatever drives the system."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
import plane_systems
import pytest
import sympy as sp
from refusals import refused

import chaplygin as cg
from chaplygin.api.python_model import python_model
from chaplygin.codegen.lower.lower import lower
from chaplygin.codegen.plan.plan import plan

T = cg.time
TIGHT = {"rtol": 1e-10, "atol": 1e-10}
PHI, X, Y = cg.coordinates("phi x y")
OMEGA, V, W = cg.velocities("omega v w")
M, A, J, SPIN = cg.parameters("m a J W", positive=True)
TAU = cg.inputs("tau")


def hoop(angle: sp.Expr) -> cg.System:
    theta = cg.coordinates("theta")
    m, radius, g, c = cg.parameters("m R g c", positive=True)
    turn = sp.diff(angle, T)
    return cg.System(
        "hoop",
        coordinates=[theta],
        kinetic=m * radius**2 * (cg.rate(theta) ** 2 + (turn * sp.sin(theta)) ** 2) / 2,
        potential=-m * g * radius * sp.cos(theta),
        forces={cg.rate(theta): -c * cg.rate(theta)},
    )


def sleigh(constraint: sp.Expr = W) -> cg.System:
    point = {M: 1, A: 0.2, J: 0.5, PHI: 0, X: 0, Y: 0, OMEGA: 1, V: 1, TAU: 0}
    return plane_systems.sleigh("sleigh", forces={OMEGA: TAU}, constraints=[constraint], example=point)


def rotating_axes() -> cg.System:
    """A particle in a field fixed in space, with velocity components along rotating axes: c_0 is not zero."""
    x, y = cg.coordinates("x y")
    u1, u2 = cg.velocities("u1 u2")
    turn, c = cg.parameters("Om c", positive=True)
    return cg.System(
        "rotating",
        kinematics={
            x: u1 * sp.cos(turn * T) - u2 * sp.sin(turn * T),
            y: u1 * sp.sin(turn * T) + u2 * sp.cos(turn * T),
        },
        kinetic=(u1**2 + u2**2) / 2,
        potential=(x**2 + 4 * y**2) / 2,
        forces={u1: -c * u1},
    )


HOOP = ({"theta": 0.4, "theta_dot": 0.1}, {"m": 1.0, "R": 0.5, "g": 9.81, "c": 0.1})
SLEIGH = ({"phi": 0.0, "x": 0.0, "y": 0.0, "omega": 1.0, "v": 1.0}, {"m": 1.0, "a": 0.2, "J": 0.5})
SAMPLES = (np.linspace(0, 5, 11), np.cos(3 * np.arange(11.0)))
TURNTABLE = W - SPIN * sp.cos(T) * (X * sp.cos(PHI) + Y * sp.sin(PHI))
RUNS: dict[str, tuple[Any, ...]] = {
    # system, form, initial, parameters, inputs
    "hoop, uniform drive": (lambda: hoop(3 * T), "lagrange", *HOOP, None),
    "hoop, drive that varies": (lambda: hoop(3 * T + sp.sin(2 * T) / 3), "lagrange", *HOOP, None),
    "sleigh, constant couple": (sleigh, "maggi", *SLEIGH, {"tau": 0.3}),
    "sleigh, held samples": (sleigh, "maggi", *SLEIGH, {"tau": SAMPLES}),
    "sleigh, linear samples": (sleigh, "nonholonomic", *SLEIGH, {"tau": (*SAMPLES, "linear")}),
    "sleigh, function": (sleigh, "maggi", *SLEIGH, {"tau": lambda t, y: np.sin(3 * t) - 0.1 * y[3]}),
    "sleigh on a turntable": (
        lambda: sleigh(TURNTABLE), "nonholonomic", SLEIGH[0], {**SLEIGH[1], "W": 0.7}, {"tau": 0.1},
    ),
    "turntable, multipliers": (
        lambda: sleigh(TURNTABLE), "multipliers", {**SLEIGH[0], "w": 0.0}, {**SLEIGH[1], "W": 0.7}, {"tau": 0.1},
    ),
    "particle in rotating axes": (
        rotating_axes, "poincare", {"x": 0.6, "y": -0.1, "u1": 0.3, "u2": 0.8}, {"Om": 0.7, "c": 0.2}, None,
    ),
    "the same, canonical": (
        rotating_axes, "chetaev", {"x": 0.6, "y": -0.1, "u1": 0.3, "u2": 0.8}, {"Om": 0.7, "c": 0.2}, None,
    ),
    "rotating axes, Hamel": (
        rotating_axes, "hamel", {"x": 0.6, "y": -0.1, "u1": 0.3, "u2": 0.8}, {"Om": 0.7, "c": 0.2}, None,
    ),
    "gyrostat, reduced": (
        lambda: cg.example("gyrostat").system, "routh",
        cg.example("gyrostat").initial, cg.example("gyrostat").parameters, None,
    ),
    "steered sleigh on a turntable": (
        lambda: cg.example("turntable_sleigh").system, "hamel",
        cg.example("turntable_sleigh").initial, cg.example("turntable_sleigh").parameters, None,
    ),
    "heavy top": (
        lambda: cg.example("heavy_top").system, "poincare",
        cg.example("heavy_top").initial, cg.example("heavy_top").parameters, None,
    ),
}  # fmt: skip


@functools.cache
def equations(name: str) -> Any:
    make, form, *_ = RUNS[name]
    return make().equations(form)


@functools.cache
def compiled(name: str) -> Any:
    return cg.compile(equations(name))


def run(model: Any, name: str, span: tuple[float, float] = (0.0, 5.0), **options: Any) -> Any:
    _, _, initial, parameters, inputs = RUNS[name]
    sol = model.integrate(span, initial, parameters, inputs, **{**TIGHT, **options})
    assert sol.success
    return sol


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.sample(7)
def test_right_runs_balance(name: str) -> None:
    sol = run(compiled(name), name)
    check = sol.audit()
    assert check
    assert check.passed
    assert check.failures == 0
    assert check.largest < 1e-8 * check.scale
    assert len(check.t) == sol.n_steps + 1
    assert check.change == pytest.approx(check.work, abs=1e-8 * check.scale)
    # Over the whole run, the integral of the powers equals the change of the function.
    assert check.work.sum() == pytest.approx(check.value[-1] - check.value[0], abs=1e-7 * check.scale)


def corrupted(name: str, share: float = 1e-3) -> Any:
    """A model with one force wrong by a fraction of the largest one; energies, power and outputs as declared."""
    eqs = equations(name)
    g = eqs.nodes.graph
    i = len(eqs.nodes.force) - 1
    # The other kernels are built first: a conserved energy stays an invariant.
    right = plan(lower(eqs.nodes))
    off = g.mul(g.const(share), g.add(g.one, eqs.nodes.velocity_nodes[i]))
    force = (*eqs.nodes.force[:i], g.add(eqs.nodes.force[i], off))
    wrong = plan(lower(dataclasses.replace(eqs.nodes, force=force)))  # in the same graph
    kernels = {**right.kernels, "rhs": wrong.kernels["rhs"]}
    schedules = {**right.schedules, "rhs": wrong.schedules["rhs"]}
    return python_model(dataclasses.replace(right, kernels=kernels, schedules=schedules), quiet=True)


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.sample(6)
def test_a_wrong_force_fails(name: str) -> None:
    model = corrupted(name)
    check = run(model, name, (0.0, 2.0), rtol=1e-8, atol=1e-8).audit()
    assert not check
    assert check.failures > 0
    assert "FAILED" in repr(check)
    begin, end = check.where
    assert check.largest == abs(check.imbalance).max()
    assert check.t[check.worst] == begin
    assert check.t[check.worst + 1] == end


def test_a_wrong_force_in_compiled_code_fails() -> None:
    """Compiled code in which the energy is no longer found to be conserved: the audit compares it with the power."""
    eqs = equations("heavy top")
    g = eqs.nodes.graph
    force = (*eqs.nodes.force[:2], g.mul(g.const(2), eqs.nodes.velocity_nodes[0]))
    wrong = dataclasses.replace(eqs, nodes=dataclasses.replace(eqs.nodes, force=force, options={"wrong": 1}))
    assert not run(cg.compile(wrong), "heavy top", rtol=1e-6, atol=1e-6).audit()


def test_an_error_of_a_millionth_is_seen() -> None:
    name = "hoop, drive that varies"
    assert run(python_model(equations(name).program, quiet=True), name).audit()
    assert not run(corrupted(name, 1e-6), name).audit()


@pytest.mark.parametrize("inputs", [None, lambda t, y: np.sin(3 * t)])
@pytest.mark.parametrize("options", [{"t_eval": [1.0, 3.5]}, {"dense_output": True}, {"max_step": 0.05}])
def test_the_run_itself_is_audited(options: dict[str, Any], inputs: Any) -> None:
    """With t_eval and without dense output, the audited steps are those of the run."""
    name = "sleigh, constant couple"
    model = compiled(name)
    plain = model.integrate((0, 5), *SLEIGH, {"tau": inputs or 0.3}, **TIGHT, **options)
    check = plain.audit()
    assert check
    assert len(check.imbalance) == plain.n_steps
    if "t_eval" not in options:
        assert np.array_equal(check.t, plain.t)


def test_backward_runs_and_runs_without_steps() -> None:
    name = "hoop, drive that varies"
    check = run(compiled(name), name, (3.0, -2.0)).audit()
    assert check
    assert check.where[0] > check.where[1]
    empty = compiled(name).integrate((1.0, 1.0), *HOOP).audit()
    assert empty
    assert empty.largest == 0
    assert "no steps" in repr(empty)


def test_a_fixed_step_is_measured_by_the_scale_of_energy() -> None:
    name = "hoop, drive that varies"
    fine, coarse = (run(compiled(name), name, method="rk4", step=h) for h in (0.01, 0.2))
    assert fine.audit()
    assert not coarse.audit()
    assert coarse.audit(tolerance=1.0)
    assert not fine.audit(tolerance=1e-14)


def test_the_verdict_follows_the_tolerances_of_the_run() -> None:
    """Loose runs pass with their own tolerances and fail with a tighter one."""
    name = "hoop, drive that varies"
    sol = run(compiled(name), name, rtol=1e-4, atol=1e-4)
    assert sol.audit()
    assert not sol.audit(tolerance=1e-10)
    small = compiled(name).integrate((0, 5), {"theta": 1e-5, "theta_dot": 0.0}, HOOP[1], rtol=1e-6, atol=1e-8)
    assert small.audit()  # atol is large compared with such a small motion


def test_a_potential_that_contains_an_input() -> None:
    """V(x, u): its change due to the input is part of the balance."""
    x = cg.coordinates("x")
    pull = cg.inputs("pull")
    model = cg.System(
        "pulled", coordinates=[x], kinetic=cg.rate(x) ** 2 / 2, potential=x**2 / 2 - pull * x * (1 + x)
    ).compile()
    for spec in (0.3, SAMPLES, (*SAMPLES, "linear"), lambda t, y: np.sin(2 * t)):
        sol = model.integrate((0, 5), {"x": 0.2, "x_dot": 0.1}, {}, {"pull": spec}, **TIGHT)
        assert sol.audit()


def test_a_run_that_cannot_be_repeated_is_refused() -> None:
    calls: list[float] = []

    def couple(t: float, y: Any) -> float:
        calls.append(t)
        return 0.1 + 1e-3 * (len(calls) > 40)

    sol = compiled("sleigh, constant couple").integrate((0, 5), *SLEIGH, {"tau": couple}, **TIGHT)
    refused(r"when it was repeated.*dense_output=True", sol.audit)


def test_what_the_caller_changes_afterwards_does_not_matter() -> None:
    """The run is repeated with its original times and tolerances."""
    name = "sleigh, constant couple"
    for model in (compiled(name), python_model(equations(name).program, quiet=True)):
        times, atol = np.linspace(0.0, 0.5, 11), np.full(len(model.states), 1e-9)
        sol = run(model, name, (0.0, 0.5), t_eval=times, atol=atol, rtol=1e-9)
        times[:], atol[:] = 7.0, -1.0
        assert sol.audit()


def test_wrong_arguments() -> None:
    sol = run(compiled("sleigh, constant couple"), "sleigh, constant couple")
    for bad in (0.0, -1.0, np.nan, "1"):
        refused("tolerance", sol.audit, tolerance=bad)


def test_models_without_a_balance_are_refused() -> None:
    """A model table from another generator, or written by hand."""
    program = equations("sleigh, constant couple").program
    kernels = {k: program.kernels[k] for k in ("rhs", "jvp")}
    bare = dataclasses.replace(program, outputs=(), invariants=(), kernels=kernels)
    sol = run(python_model(bare, quiet=True), "sleigh, constant couple", (0.0, 0.1))
    refused("no power balance", sol.audit)


def test_whittakers_form_has_nothing_to_balance() -> None:
    """The energy is a parameter: h would be compared with itself, whatever the motion."""
    entry = cg.example("chaplygin_sleigh")
    sol = entry.system.compile("whittaker").integrate((0.2, 0.9), entry.initial, entry.parameters)
    refused("whittaker", sol.audit)
