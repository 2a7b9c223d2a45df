"""Independent velocities that determine the others wherever the system moves, and what happens where there are none.

Oracles: closed forms; for the car with a trailer, equations in independent parameters.
"""

from __future__ import annotations

import copy
import re
import warnings

import numpy as np
import pytest
import sympy as sp
from refusals import refused
from unit_masses import unit_masses

import chaplygin as cg
from chaplygin.codegen.graph.evaluate import evaluate, evaluate_many
from chaplygin.codegen.graph.graph import Graph
from chaplygin.codegen.graph.linear import solve_whole
from chaplygin.errors import KernelError

G, SLOPE, TURN = 9.81, 0.1, 2.0
TIGHT = {"rtol": 1e-10, "atol": 1e-12}


def ball(kind: str) -> cg.System:
    """A solid ball of radius and mass 1, with velocities in its own axes, on a slope or on a tilted turntable."""
    x, q = sp.Matrix(cg.coordinates("x y z")), cg.coordinates("q0 q1 q2 q3")
    v, w = sp.Matrix(cg.velocities("v1 v2 v3")), sp.Matrix(cg.velocities("w1 w2 w3"))
    a, vector = q[0], sp.Matrix(q[1:])
    cross = vector.cross
    velocity, omega = (
        (a**2 - vector.dot(vector)) * u + 2 * vector * vector.dot(u) + 2 * a * cross(u) for u in (v, w)
    )
    turning = [-vector.dot(w) / 2, *((a * w + cross(w)) / 2)]
    slip = velocity + omega.cross(sp.Matrix([0, 0, -1]))
    rows = {"smooth": [velocity[2]], "rough": list(slip)}
    rows["turntable"] = list(slip - TURN * sp.Matrix([-x[1], x[0], 0]))
    return cg.System(
        f"ball_{kind}",
        kinematics={**dict(zip(x, velocity)), **dict(zip(q, turning))},
        kinetic=v.dot(v) / 2 + w.dot(w) / 5,
        potential=G * (sp.sin(SLOPE) * x[0] + sp.cos(SLOPE) * x[2]),
        constraints=rows[kind],
        example={**dict(zip(q, (1, 0, 0, 0))), **dict(zip(x, (1, 0, 1)))},
    )


def path_of_ball(kind: str, t: float, start: complex, velocity: complex) -> complex:
    """x + i y: v' = -g sin(slope) on a smooth slope, 5/7 of that with rolling, + (2/7) i Omega v on a turntable."""
    pull = -G * np.sin(SLOPE) * (1 if kind == "smooth" else 5 / 7)
    if kind != "turntable":
        return start + velocity * t + pull * t**2 / 2
    rate = 2j / 7 * TURN
    drift = -pull / rate
    return start + drift * t + (velocity - drift) * (np.exp(rate * t) - 1) / rate


@pytest.mark.parametrize("kind", ["smooth", "rough", "turntable"])
@pytest.mark.sample(1)
def test_ball(kind: str) -> None:
    omega = np.array([1.0, 2.0, 0.5])
    v = {"smooth": (0.3, 0.4), "rough": (omega[1], -omega[0]), "turntable": (omega[1], TURN - omega[0])}[kind]
    start = {"x": 1, "y": 0, "z": 1, "q0": 1, "q1": 0, "q2": 0, "q3": 0}
    start |= dict(zip(("v1", "v2", "v3", "w1", "w2", "w3"), (*v, 0, *omega)))
    system, runs = ball(kind), {}
    for form in (None, "multipliers"):
        if form == system.equations().form:
            continue
        model = system.compile(form)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            runs[form] = sol = model.integrate((0, 20), start, {}, **TIGHT)
        assert sol.success
        found = path_of_ball(kind, 20, 1, complex(*v))
        assert sol["x"][-1] + 1j * sol["y"][-1] == pytest.approx(found, abs=1e-8)
    if len(runs) == 2:
        assert runs[None].n_steps <= 2 * runs["multipliers"].n_steps
    assert system.equations().form == ("multipliers" if kind == "smooth" else "maggi")


def textbook_disk() -> cg.System:
    x, y, theta, phi = cg.coordinates("x y theta phi")
    rates = [cg.rate(s) for s in (x, y, theta, phi)]
    return cg.System(
        "textbook_disk",
        coordinates=[x, y, theta, phi],
        kinetic=(rates[0] ** 2 + rates[1] ** 2) / 2 + rates[2] ** 2 / 4 + rates[3] ** 2 / 8,
        constraints=[rates[0] - rates[2] * sp.cos(phi), rates[1] - rates[2] * sp.sin(phi)],
    )


def test_disk_in_any_heading() -> None:
    """Its centre moves on a circle; the velocities of the centre follow from the turning rates in any heading."""
    model = textbook_disk().compile()
    assert model.states[4:] == ("theta_dot", "phi_dot")
    assert "pivot" not in model.kernels
    for heading in (0.0, np.pi / 2):
        start = {"x": 0, "y": 0, "theta": 0, "phi": heading, "theta_dot": 2, "phi_dot": 1}
        sol = model.integrate((0, 10), start, {}, **TIGHT)
        assert sol.n_steps <= 70
        circle = 2 * (np.exp(1j * (heading + 10)) - np.exp(1j * heading)) / 1j
        assert sol["x"][-1] + 1j * sol["y"][-1] == pytest.approx(circle, abs=1e-9)


def car(independent: bool) -> cg.System:
    """A car with two trailers, each a body with inertia on an axle that does not slip sideways."""
    x, y, *angles = cg.coordinates("x y a b c")
    rates = [cg.rate(s) for s in (x, y, *angles)]
    point, kinetic, rows = sp.Matrix(rates[:2]), sp.Integer(0), []
    for i, (angle, turn) in enumerate(zip(angles, rates[2:])):
        across = sp.Matrix([-sp.sin(angle), sp.cos(angle)])
        if i:
            point = point - across * turn  # the axle is a unit of length behind the one before
        kinetic += point.dot(point) / 2 + turn**2 / 4
        rows.append(across.dot(point))
    forces = {rates[2]: sp.Rational(1, 5)}
    given = {"kinetic": kinetic, "forces": forces, "coordinates": [x, y, *angles]}
    if not independent:
        return cg.System("car", constraints=rows, **given)
    v, w = cg.velocities("v w")
    a, b, c = angles
    turns = [w, v * sp.sin(a - b), v * sp.cos(a - b) * sp.sin(b - c)]
    moving = dict(zip(rates, [v * sp.cos(a), v * sp.sin(a), *turns]))
    return cg.System("car_parameters", parametrization=moving, **given)


@pytest.mark.slow
def test_car_with_trailers() -> None:
    start = {"x": 0, "y": 0, "a": np.pi / 2, "b": 1.4, "c": 1.5}
    oracle = car(True).compile().integrate((0, 10), {**start, "v": 1, "w": 0.1}, {}, rtol=1e-13, atol=1e-14)
    system = car(False)
    model = system.compile()
    assert (system.equations().form, system.independence.sound) == ("multipliers", False)
    at = oracle.model.evaluate(0, oracle.y[:, 0], {})
    given = {**start, **{v.name: at[v.name] for v in system.velocities}}
    sol = model.integrate((0, 10), given, {}, **TIGHT)
    for name in start:
        assert sol[name][-1] == pytest.approx(oracle[name][-1], abs=1e-8)


def skate(**more: object) -> cg.System:
    """A skate in space axes: x_dot and y_dot depend on each other by the heading."""
    x, y, a = cg.coordinates("x y a")
    v = [cg.rate(s) for s in (x, y, a)]
    return cg.System(
        "skate",
        coordinates=[x, y, a],
        kinetic=(v[0] ** 2 + v[1] ** 2 + v[2] ** 2) / 2,
        constraints=[v[0] * sp.sin(a) - v[1] * sp.cos(a)],
        example={x: 0, y: 0, a: 0.1},
        **more,
    )


def test_a_run_that_loses_its_pivot_says_so() -> None:
    """On a circle the heading passes pi/2, where x_dot does not determine y_dot."""
    system = skate(kept=[cg.rate(cg.coordinates("x")), cg.rate(cg.coordinates("a"))])
    assert system.equations().form == "maggi"  # what is named is kept
    model = system.compile()
    start = {"x": 0, "y": 0, "a": 0, "x_dot": 1, "a_dot": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "kept" not in model.integrate((0, 1), start, {}).message
    with pytest.warns(RuntimeWarning, match=r"skate: about t = 1\.[5-9].*kept=.*'multipliers'"):
        sol = model.integrate((0, 3), start, {})
    assert "'multipliers'" in sol.message
    with pytest.warns(RuntimeWarning, match="'multipliers'"):
        model.integrate((0, 3), start, {}, sensitivities=["a_dot"])


def test_an_ensemble_that_loses_its_pivots_says_in_how_many_trajectories() -> None:
    model = skate(kept=[cg.rate(cg.coordinates("x")), cg.rate(cg.coordinates("a"))]).compile()
    start = {
        "x": 0,
        "y": 0,
        "a": 0,
        "x_dot": 1,
        "a_dot": np.array([0.1, 1.0, 1.2, 0.2]),
    }  # headings of 0.2 to 2.4
    message = (
        r"^skate: in 2 of 4 trajectories the velocities kept as states \(x_dot, a_dot\) do not determine"
    )
    for times in (None, [1.0, 2.0]):
        with pytest.warns(RuntimeWarning, match=message):
            cg.ensemble(model, (0, 2), start, {}, t_eval=times)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cg.ensemble(model, (0, 1), start, {})


@pytest.mark.parametrize("named", [None, ["a_dot"]])
def test_steppers_batches_and_gradients_say_so_too(named: list[str] | None) -> None:
    """Once, when the pivot is first lost, and again from another start; a heading below pi/2 is well."""
    model = skate(kept=[cg.rate(cg.coordinates("x")), cg.rate(cg.coordinates("a"))]).compile()
    start = {"x": 0, "y": 0, "a": 0, "x_dot": 1, "a_dot": 1}
    lost = r"^skate: about t = {} the velocities kept .*kept=.*'multipliers'$"
    several = {**start, "a_dot": np.array([0.1, 1.0, 1.2, 0.2])}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.gradient(cg.final("x"), (0, 1), start, {})
        run = model.stepper(start, {}, sensitivities=named)
        run.advance(1)
        batch = model.batch(several, {}, sensitivities=named)
        batch.advance(1)
    saved, kept = run.save(), batch.save()
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match=lost.format("2")):
            run.advance(2)
        with pytest.warns(
            RuntimeWarning, match=r"^skate: in 2 of 4 runs the velocities kept .*'multipliers'$"
        ):
            batch.advance(2)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            run.advance(2.5)
            batch.advance(2.5)
        run, batch = copy.copy(run), copy.copy(batch)
        run.restore(saved)
        batch.restore(kept)
    with pytest.warns(RuntimeWarning, match=lost.format(r"1\.[5-9]\d*")):
        model.gradient(cg.final("x"), (0, 3), start, {})


def test_a_start_without_a_pivot_is_refused() -> None:
    """At heading pi/2 nothing determines y_dot, whether it is given or not."""
    model = skate(kept=[cg.rate(cg.coordinates("x")), cg.rate(cg.coordinates("a"))]).compile()
    start = {"x": 0, "y": 0, "a": np.pi / 2, "x_dot": 0, "a_dot": 1}
    undetermined = r"the velocities kept as states \(x_dot, a_dot\) do not determine the others"
    advice = (
        r"keep others by independent=\[...\] of the form or kept=\[...\] of the System, .* form 'multipliers'"
    )
    with pytest.raises(cg.ArgumentError, match=f"^initial: {undetermined} at t = 0; {advice}$"):
        model.integrate((0, 1), {**start, "y_dot": 1}, {})
    several = {**start, "a": [0, np.pi / 2], "y_dot": 0}
    with pytest.raises(cg.ArgumentError, match=f"^initial: {undetermined} at t = 0 in column 1; {advice}$"):
        cg.ensemble(model, (0, 1), several, {}, progress=False)
    with pytest.warns(RuntimeWarning, match=f"about t = 0 {undetermined}"):
        sol = model.integrate((0, 1), start, {})
    assert (sol.status, len(sol.t)) == (-1, 1)
    singular = f"{undetermined}, or the mass matrix is singular .*; {advice}$"
    assert re.search(f"^stopped at t = 0: {singular}", sol.message)
    for call in (lambda: model.rhs(0, list(start.values()), []), lambda: model.stepper(start, {}).advance(1)):
        refused(f"at t = 0: {singular}", call, error=KernelError)


def test_whittakers_form_says_so_too() -> None:
    """h does not follow from a kept velocity that vanishes together with the pivot; it seemed to be missing."""
    x, y, c = cg.coordinates("x y c")
    loop = unit_masses("loop", [x, y, c], holonomic=[x**2 + y**2 - 1], kept=[cg.rate(x), cg.rate(c)])
    model = loop.compile("whittaker", along="c")
    start = {"x": 1, "y": 0, "x_dot": 0, "y_dot": 1, "c_dot": 1}
    refused(r"^initial: .* \(x_dot_prime\) .* at c = 0; keep others", model.integrate, (0, 1), start, {})
    start |= {"x": np.cos(0.5), "y": np.sin(0.5), "x_dot": -np.sin(0.5), "y_dot": np.cos(0.5)}
    sol = model.integrate((0, 2), start, {}, **TIGHT)
    assert (sol["x"][-1], sol["y"][-1]) == pytest.approx((np.cos(2.5), np.sin(2.5)), abs=1e-8)
    with pytest.warns(RuntimeWarning, match="loop: about c = 2.*'multipliers'"):
        model.integrate((0, 3), start, {})


def test_a_run_without_such_velocities_does_not_stop() -> None:
    model = skate().compile()
    start = {"x": 0, "y": 0, "a": 0, "x_dot": 1, "y_dot": 0, "a_dot": 1}
    sol = model.integrate((0, 20), start, {}, **TIGHT)
    assert (sol["x"][-1], sol["y"][-1]) == pytest.approx((np.sin(20), 1 - np.cos(20)), abs=1e-8)
    assert model.form == "multipliers"


def test_the_part_of_a_loop_that_turns_is_kept() -> None:
    """Of crank and rod the shorter one turns, and the rest follows from it anywhere."""
    for length, turning in ((1.5, "a_dot"), (0.8, "b_dot")):
        a, b, s = cg.coordinates("a b s")
        slider = cg.System(
            "slider",
            coordinates=[a, b, s],
            kinetic=sum(cg.rate(x) ** 2 for x in (a, b, s)) / 2,
            holonomic=[sp.cos(a) + length * sp.cos(b) - s, sp.sin(a) - length * sp.sin(b)],
            example={a: 0.3, b: float(np.arcsin(np.sin(0.3) / length))},
        )
        assert slider.equations().form == "maggi"
        assert slider.independence.sound
        assert [v.name for v in slider.equations().velocities] == [turning]


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_solving_without_pivots_that_depend_on_the_state(size: int) -> None:
    """Of a matrix with zeros on its diagonal, beside an equation in numbers."""
    draw = np.random.default_rng(size)
    values = np.zeros((size + 1, size + 1))
    values[:size, :size] = np.linalg.qr(draw.normal(size=(size, size)))[0]
    values[np.arange(size - 1), np.arange(size - 1)] = 0 if size == 2 else values[0, 0]
    values[size] = draw.normal(size=size + 1)
    values[size, size] = 2.0
    right = draw.normal(size=(size + 1, 2))
    g = Graph()
    names = {f"a_{i}_{j}": values[i, j] for i in range(size) for j in range(size)}
    matrix = [[g.symbol(f"a_{i}_{j}") if j < size else g.zero for j in range(size + 1)] for i in range(size)]
    matrix.append([g.const(float(v)) for v in values[size]])
    given = [[g.const(float(v)) for v in row] for row in right]
    solution, pivots = solve_whole(g, matrix, given)
    found = evaluate(g, [n for row in solution for n in row], names)
    assert np.reshape(found, right.shape) == pytest.approx(np.linalg.solve(values, right), abs=1e-12)
    assert len(pivots) == (size if size > 3 else 1)


def test_values_at_many_points() -> None:
    """With branches, and NaN where an expression has no value."""
    g = Graph()
    x = g.symbol("x")
    nodes = [g.select(g.relation("lt", x, g.zero), g.neg(x), g.call("sqrt", x)), g.call("log", x), g.two]
    values = evaluate_many(g, nodes, {"x": np.array([-4.0, 4.0])})
    assert values[0].tolist() == [4, 2]
    assert np.isnan(values[1][0])
    assert values[1][1] == np.log(4)
    assert values[2].tolist() == [2, 2]
