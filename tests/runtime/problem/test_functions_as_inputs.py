"""One function or spline for all inputs."""

from __future__ import annotations

import functools
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.stats
from rated_systems import SPAN, SYSTEMS, TIMES, TOLERANCES, of_sine, sine, told
from refusals import refused
from scipy.integrate import solve_ivp
from scipy.interpolate import BPoly, CubicSpline, PPoly, make_interp_spline
from unit_masses import unit_masses

import chaplygin as cg

PIVOT = SYSTEMS["pivot"]


# ---- functions ----


@pytest.mark.parametrize(
    "function",
    [
        lambda t: (t, 1.0),
        lambda t: np.array([t, 1.0]),
        lambda t: {"a": t, "b": 1},
        lambda t, y: [t, 1 + 0 * y[0]],
        lambda t, y: {"b": 1.0, "a": t},
    ],
)
def test_one_function_for_all_inputs(function: Any) -> None:
    x, y, a, b = *cg.coordinates("x y"), *cg.inputs("a b")
    system = unit_masses("pushed_twice", [x, y], forces={cg.rate(x): a, cg.rate(y): b})
    model, start = system.compile(), dict.fromkeys(("x", "y", "x_dot", "y_dot"), 0.0)
    calls = []

    def counted(t: float, state: Any) -> Any:
        calls.append(t)
        return function(t, state) if function.__code__.co_argcount == 2 else function(t)

    for given in (function, counted):
        sol = model.integrate((0, 1), start, {}, given, method="dop853")
        np.testing.assert_allclose(sol.y[:2, -1], [1 / 6, 1 / 2], rtol=1e-9)
    assert len(calls) <= sol.nfev + 1  # one call for both inputs
    run = model.stepper(start, {}, function)
    run.advance(1.0)
    np.testing.assert_allclose(run.y[:2], [1 / 6, 1 / 2], rtol=1e-9)
    many = cg.ensemble(model, (0, 1), start, {}, n=3, inputs=function)
    np.testing.assert_allclose(many.y[:2, 2], [1 / 6, 1 / 2], rtol=1e-9)


@pytest.mark.parametrize(
    "function",
    [
        lambda t: [sine(t)],
        lambda t: {"u": sine(t)},
        lambda t: {"u": told(t)},
        lambda t: dict(zip(("u", "u_dot", "u_ddot"), told(t))),
        told,
    ],
)
def test_one_function_tells_rates(function: Any) -> None:
    sol = PIVOT.model.integrate(SPAN, PIVOT.start, PIVOT.numbers, function, **TOLERANCES)
    np.testing.assert_allclose(sol.y[:, -1], of_sine(), atol=1e-9)


def test_a_spline_of_vectors_tells_rates() -> None:
    many = make_interp_spline(TIMES, np.column_stack([PIVOT.samples]), k=3)
    sol = PIVOT.model.integrate(SPAN, PIVOT.start, PIVOT.numbers, many, **TOLERANCES)
    np.testing.assert_allclose(sol.y[:, -1], PIVOT.end, atol=1e-8)
    np.testing.assert_allclose(sol["u_ddot"], PIVOT.spline(sol.t, 2), atol=1e-11)


def both(t: float) -> dict[str, float]:
    return {"u": sine(t)}


@pytest.mark.slow
def test_one_function_in_a_study() -> None:
    study = cg.study(
        PIVOT.model, SPAN, n=8, seed=1, initial={**PIVOT.start, "q": scipy.stats.norm(0.5, 0.01)},
        parameters=PIVOT.numbers, inputs=both, collect={"end": cg.final("q")}, **TOLERANCES,
    )  # fmt: skip
    start = {**PIVOT.start, "q": study.draws["q"][5]}
    one = PIVOT.model.integrate(SPAN, start, PIVOT.numbers, both, **TOLERANCES)
    assert study.results["end"]["q"][5] == one["q"][-1]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda t: (1.0, 2.0), r"the function returns 2 entries; 1 are needed, in the order \(u\)"),
        (lambda t: {"v": 1.0}, "inputs at t = 0: unknown v"),
        (lambda t, y: [y[0]], r"u is a function of t and y, and the model needs u_dot"),
    ],
)
def test_wrong_functions_for_all_inputs(function: Any, message: str) -> None:
    refused(message, PIVOT.model.integrate, SPAN, PIVOT.start, PIVOT.numbers, function)


# ---- splines ----

START = {"x": 0.2, "x_dot": 0.1}


@functools.cache
def carried() -> Any:
    """A mass on a spring whose wall is at a, with the force b: x'' = -a'' - 4 x + b, with x from the wall."""
    x, (a, b) = cg.coordinates("x"), cg.inputs("a b")
    v = cg.rate(x)
    kinetic = (v + cg.rate(a)) ** 2 / 2
    return cg.System(
        "carried_wall", coordinates=[x], kinetic=kinetic, potential=2 * x**2, forces={v: b}
    ).compile()


COLUMNS = np.column_stack([np.sin(3 * TIMES), np.cos(2 * TIMES)])
WALL = CubicSpline(TIMES, COLUMNS)


@functools.cache
def by_scipy() -> Any:
    y = np.array(list(START.values()))
    for first, last in pairwise(TIMES):
        y = solve_ivp(
            lambda t, y: [y[1], -WALL(t, 2)[0] - 4 * y[0] + WALL(t)[1]], (first, last), y,
            method="DOP853", rtol=1e-12, atol=1e-13,
        ).y[:, -1]  # fmt: skip
    return y


@pytest.mark.parametrize(
    "spline",
    [
        WALL,
        PPoly(WALL.c, WALL.x),
        CubicSpline(TIMES, COLUMNS.T, axis=1),
        make_interp_spline(TIMES, COLUMNS, k=3),
    ],
    ids=["cubic", "pieces", "other axis", "B-spline"],
)
def test_a_spline_of_vectors(spline: Any) -> None:
    """The entry of an input with rates is what that spline alone is."""
    assert carried().inputs == ("a", "a_dot", "a_ddot", "b")
    sol = carried().integrate(SPAN, START, {}, spline, **TOLERANCES)
    np.testing.assert_allclose(sol.y[:, -1], by_scipy(), atol=1e-9)
    np.testing.assert_allclose(sol["b"], WALL(sol.t)[:, 1], atol=1e-12)
    for name, order in (("a", 0), ("a_dot", 1), ("a_ddot", 2)):
        np.testing.assert_allclose(sol[name], WALL(sol.t, order)[:, 0], atol=1e-11)


def test_the_pieces_of_a_spline_of_vectors_end_steps() -> None:
    """As those of a spline of numbers do: the third derivative jumps there."""
    one = PIVOT.model.integrate(SPAN, PIVOT.start, PIVOT.numbers, {"u": PIVOT.spline}, **TOLERANCES)
    many = CubicSpline(TIMES, PIVOT.samples[:, None])
    for given in (many, PIVOT.spline):
        sol = PIVOT.model.integrate(SPAN, PIVOT.start, PIVOT.numbers, given, **TOLERANCES)
        assert sol.y.tobytes() == one.y.tobytes()
    assert set(TIMES) <= set(one.t)


def test_stiff_methods_and_ensembles_take_it() -> None:
    sol = carried().integrate(SPAN, START, {}, WALL, method="rodas5p", **TOLERANCES)
    np.testing.assert_allclose(sol.y[:, -1], by_scipy(), atol=1e-8)
    many = cg.ensemble(carried(), SPAN, START, {}, n=3, inputs=WALL, **TOLERANCES)
    np.testing.assert_allclose(many.y[:, 1], by_scipy(), atol=1e-9)


@pytest.mark.parametrize("alone", [False, True])
def test_polynomials_in_another_basis(alone: bool) -> None:
    """Bernstein polynomials have coefficients too, which are not those of powers."""
    spline = BPoly.from_power_basis(PIVOT.spline)
    given = {"u": spline} if alone else spline
    sol = PIVOT.model.integrate(SPAN, PIVOT.start, PIVOT.numbers, given, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(sol.y[:, -1], PIVOT.end, atol=1e-6)


@pytest.mark.parametrize(
    ("spline", "message"),
    [
        (make_interp_spline(TIMES, COLUMNS, k=1), "a is a spline of degree 1, so a_dot jumps at t = 0.1"),
        (
            CubicSpline(TIMES, COLUMNS[:, [0, 1, 1]]),
            r"returns 3 entries; 2 are needed, in the order \(a, b\)",
        ),
        (CubicSpline(TIMES, COLUMNS[:, 0]), r"returns 1 entries; 2 are needed, in the order \(a, b\)"),
        (BPoly.from_power_basis(CubicSpline(TIMES, COLUMNS[:, 0])), "returns 1 entries; 2 are needed"),
    ],
)
def test_splines_of_vectors_that_do_not_fit(spline: Any, message: str) -> None:
    refused(message, carried().integrate, SPAN, START, {}, spline)


def test_splines_of_scipy_keep_the_assumptions() -> None:
    """Its values count, not its coefficients: (1 + u) x' is conserved."""
    x, u = cg.coordinates("x"), cg.inputs("u", nonnegative=True)
    model = cg.System("massive", coordinates=[x], kinetic=(1 + u) * cg.rate(x) ** 2 / 2).compile()
    spline = CubicSpline(TIMES, 2 + np.cos(2 * TIMES))
    sol = model.integrate(SPAN, {"x": 0, "x_dot": 1}, {}, {"u": spline}, **TOLERANCES)
    np.testing.assert_allclose(sol["x_dot"], (1 + spline(0)) / (1 + spline(sol.t)), atol=1e-10)
    with pytest.raises(cg.ArgumentError, match=r"u = -.*but u is declared nonnegative"):
        model.integrate(SPAN, {"x": 0, "x_dot": 1}, {}, {"u": CubicSpline(TIMES, np.cos(2 * TIMES))})
