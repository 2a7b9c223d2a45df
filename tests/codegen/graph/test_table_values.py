"""Tables whose values are given at run time: values, derivatives and runs against SciPy; what is refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import sympy as sp
from refusals import refused
from scipy import stats
from scipy.integrate import quad, solve_ivp
from scipy.interpolate import CubicSpline, make_interp_spline
from test_tables import UNEQUAL, _outside, beside, close, spline_of, tried
from unit_masses import unit_masses

import chaplygin as cg
from chaplygin.codegen.emit.targets import emit

DRAWN = np.random.default_rng(580)


@pytest.mark.parametrize("knots", [np.arange(4.0), np.linspace(0.0, 3.0, 900)], ids=len)
def test_values_that_are_not_next_to_one_another(knots: Any) -> None:
    """A value may be replaced by a number, and two may change places, alone and in lanes."""
    x, points = cg.coordinates("x"), np.linspace(-0.5, 3.5, 60)
    table = cg.Interpolant("w", {"x": knots}, kind="linear")
    first, second, *_, last = table.values
    values = DRAWN.normal(size=len(knots))
    there, turned = values.copy(), values.copy()
    there[1] = 3.0
    turned[[0, -1]] = values[[-1, 0]]
    numbers = dict(zip(map(str, table.values), values, strict=True))
    call = table(x)
    expressions = [call.subs(second, 3), call.subs({first: last, last: first}, simultaneous=True)]
    for row, of in zip(tried(expressions, points, p=numbers), (there, turned), strict=True):
        close(row, np.interp(points, knots, of))


def falling(kind: str, **options: Any) -> tuple[Any, cg.Interpolant]:
    """A unit mass whose acceleration is a table of the place, with values at run time."""
    x = cg.coordinates("x")
    wind = cg.Interpolant("wind", {"x": UNEQUAL}, kind=kind)
    system = unit_masses(f"blown_{kind}", [x], forces={cg.rate(x): wind(x)})
    return system.compile(**options), wind


START = {"x": 0.3, "x_dot": 0.2}
FINE = {"rtol": 1e-11, "atol": 1e-11}
ROWS = DRAWN.normal(size=(5, len(UNEQUAL)))


def of_scipy(kind: str, values: Any) -> float:
    """The place at t = 2."""
    spline = spline_of(kind, UNEQUAL, values)

    def field(_: float, y: Any) -> Any:
        return [y[1], spline(np.clip(y[0], UNEQUAL[0], UNEQUAL[-1]))]

    return float(solve_ivp(field, (0, 2), [0.3, 0.2], rtol=1e-11, atol=1e-12, max_step=0.01).y[0, -1])


@pytest.mark.parametrize("kind", ["linear", "cubic"])
@pytest.mark.sample(1)
def test_every_kind_of_run_takes_values(kind: str) -> None:
    """Single runs, steppers, batches, ensembles and studies, with one row for all or a row for each: the same bits."""
    model, _ = falling(kind)
    wanted = [of_scipy(kind, row) for row in ROWS]
    alone = [model.integrate((0, 2), START, interpolants={"wind": row}, **FINE) for row in ROWS]
    ends = np.array([sol["x"][-1] for sol in alone])
    assert np.abs(ends - wanted).max() < 1e-7
    for threads, lanes in ((1, 1), (1, 4), (2, 2)):
        options = {"interpolants": {"wind": ROWS}, "threads": threads, "lanes": lanes, **FINE}
        assert np.array_equal(cg.ensemble(model, (0, 2), START, **options)["x"], ends)
        found = cg.study(model, (0, 2), START, collect={"end": cg.final("x")}, **options).results["end"]
        assert np.array_equal(np.ravel(found["x"]), ends)
    same = cg.ensemble(model, (0, 2), START, interpolants={"wind": ROWS[1]}, n=3, **FINE)
    assert (same["x"] == ends[1]).all()
    stepper = model.stepper(START, interpolants={"wind": ROWS[2]}, **FINE)
    stepper.advance(2)
    assert stepper.y[0] == pytest.approx(wanted[2], abs=1e-7)
    batch = model.batch(START, interpolants={"wind": ROWS}, **FINE)
    batch.advance(2)
    assert np.abs(batch["x"] - wanted).max() < 1e-7
    python, _ = falling(kind, backend="python")
    sol = python.integrate((0, 2), START, interpolants={"wind": ROWS[0]}, **FINE)
    assert sol["x"][-1] == pytest.approx(wanted[0], abs=1e-7)


def test_values_are_read_where_they_are() -> None:
    """No kernel copies them, whether the lanes share them or each has its own."""
    x, knots = cg.coordinates("x"), np.linspace(0, 1, 200)
    wind = cg.Interpolant("wind", {"x": knots}, kind="linear")
    half = wind.values[100] / 2  # one of them also is a parameter as any other
    system = unit_masses("windy", [x], forces={cg.rate(x): wind(x) + half})
    core = emit(system.equations().program).files["windy_core.c"]
    assert core.count("CG_OF_LANES(cg_p + 0)") >= 3
    assert core.count("cg_p[") == core.count("cg_p[100]") > 0
    model, values = system.compile(), DRAWN.normal(size=200)
    force = model.rhs(0, [0.403, 0], values)[1]
    assert force == pytest.approx(np.interp(0.403, knots, values) + values[100] / 2, rel=1e-12)
    level = {"interpolants": {"wind": np.ones(200)}, "sensitivities": [wind.values[100]]}
    sol = model.integrate((0, 0.1), {"x": 0.4, "x_dot": 0}, **level)
    assert sol.sensitivity["x", "wind_at_100"][-1] == pytest.approx(0.1**2 / 4, rel=1e-9)


def test_rows_are_drawn_and_distributions_draw_all_values() -> None:
    model, _ = falling("linear")
    ends = [
        model.integrate((0, 2), START, interpolants={"wind": row}, method="dop853")["x"][-1] for row in ROWS
    ]
    options: dict[str, Any] = {"n": 40, "seed": 3, "method": "dop853"}
    ens = cg.ensemble(model, (0, 2), START, interpolants={"wind": cg.choice(ROWS)}, **options)
    assert set(ens["x"]) == set(ends)
    law = stats.multivariate_normal(ROWS[0], np.eye(len(UNEQUAL)) * 1e-4)
    ens = cg.ensemble(model, (0, 2), START, interpolants={"wind": law}, **options)
    drawn = np.array([ens.draws[f"wind_at_{i}"] for i in range(len(UNEQUAL))])
    assert np.abs(drawn - ROWS[0][:, None]).max() < 0.05
    assert (
        ens["x"][7]
        == model.integrate((0, 2), START, interpolants={"wind": drawn[:, 7]}, method="dop853")["x"][-1]
    )


@pytest.mark.parametrize("kind", ["linear", "cubic"])
@pytest.mark.sample(1)
def test_derivatives_by_values_along_a_run(kind: str) -> None:
    """x'' = f(t) from rest: dx/df_i is the integral of (T - s) times the i-th function of the basis."""
    t, x = cg.time, cg.coordinates("x")
    knots = np.array([0.0, 0.2, 0.5, 0.6, 1.0, 1.4])
    push = cg.Interpolant("push", {"t": knots}, kind=kind, knots=True)
    model = unit_masses("pushed", [x], forces={cg.rate(x): push(t)}).compile()
    basis = make_interp_spline(knots, np.eye(6), k=1) if kind == "linear" else CubicSpline(knots, np.eye(6))
    wanted = [
        quad(lambda s, i=i: (1.2 - s) * basis(s)[i], 0, 1.2, points=knots[:-1], epsabs=1e-13)[0]
        for i in range(6)
    ]
    values = DRAWN.normal(size=6)
    at_rest = {"x": 0, "x_dot": 0}
    sol = model.integrate((0, 1.2), at_rest, interpolants={"push": values}, sensitivities=list(push.values))
    found = [sol.sensitivity["x", name][-1] for name in push.values]
    assert np.abs(np.subtract(found, wanted)).max() < 1e-9
    given = dict(zip(push.values, values, strict=True))
    gradient = model.gradient(cg.final("x"), (0, 1.2), at_rest, given, by=list(push.values), kinks=True)
    found = [gradient[str(name)] for name in push.values]
    assert np.abs(np.subtract(found, wanted)).max() < 1e-9


def test_second_derivatives_at_values() -> None:
    """The derivative by a value is the basis function at the argument, whose derivatives are exact too."""
    x, points = cg.coordinates("x"), beside(UNEQUAL)
    table = cg.Interpolant("f", {"x": UNEQUAL})
    by = [sp.diff(table(x), table.values[4]), sp.diff(table(x), x, table.values[4])]
    basis = CubicSpline(UNEQUAL, np.eye(len(UNEQUAL))[4])
    for order, found in enumerate(tried(by, points)):
        count = len(points) - len(UNEQUAL) * order
        close(found[:count], _outside(basis, UNEQUAL, "hold", points, order)[:count])


@pytest.mark.parametrize("kind", ["linear", "cubic"])
def test_derivatives_by_values_of_a_table_of_the_state(kind: str) -> None:
    """d'' = f'(x) d + f_i(x) along the motion, by SciPy."""
    model, wind = falling(kind)
    basis, spline = (spline_of(kind, UNEQUAL, v) for v in (np.eye(12), ROWS[0]))
    by = (4, 5, 7)

    def field(_: float, y: Any) -> Any:
        x = np.clip(y[0], UNEQUAL[0], UNEQUAL[-1])
        inside = float(UNEQUAL[0] <= y[0] <= UNEQUAL[-1])
        forced = [inside * spline(x, 1) * y[2 * k + 2] + basis(x)[i] for k, i in enumerate(by)]
        return [y[1], spline(x), *(n for k, d in enumerate(forced) for n in (y[2 * k + 3], d))]

    wanted = solve_ivp(field, (0, 2), [0.3, 0.2, *[0.0] * 6], rtol=1e-11, atol=1e-12, max_step=0.003).y[
        2::2, -1
    ]
    names = [wind.values[i] for i in by]
    sol = model.integrate((0, 2), START, interpolants={"wind": ROWS[0]}, sensitivities=names, **FINE)
    assert np.abs(np.subtract([sol.sensitivity["x", name][-1] for name in names], wanted)).max() < 1e-7
    given = dict(zip(wind.values, ROWS[0], strict=True))
    found = model.gradient(cg.final("x"), (0, 2), START, given, by=names, kinks=True, **FINE)
    assert np.abs(np.subtract([found[str(name)] for name in names], wanted)).max() < 1e-7


def test_values_are_fitted() -> None:
    """x'' = f(t): the values of f that have made a motion are found again, from its closed form."""
    x, knots = cg.coordinates("x"), np.array([0.0, 0.5, 1.0])
    push = cg.Interpolant("push", {"t": knots}, kind="linear")
    model = unit_masses("pushed", [x], forces={cg.rate(x): push(cg.time)}).compile()
    times = np.linspace(0.05, 1, 20)
    late = np.maximum(times - 0.5, 0)
    data = times**2 / 2 + 2 * times**3 / 6 - 5 * late**3 / 6  # f = 1, 2, 0.5
    given = dict.fromkeys(push.values, 0.0)
    fit = cg.fit(
        model,
        {"x": (times, data)},
        free=list(push.values),
        initial={"x": 0, "x_dot": 0},
        parameters=given,
        t0=0.0,
    )
    assert fit.values == pytest.approx([1, 2, 0.5], abs=1e-7)


def test_outside_with_an_error_and_kinks() -> None:
    x = cg.coordinates("x")
    wind = cg.Interpolant("wind", {"h": [0, 1, 2]}, kind="linear", outside="error")
    model = unit_masses("left", [x], forces={cg.rate(x): wind(x)}).compile()
    sol = model.integrate((0, 9), {"x": 0.5, "x_dot": 1}, interpolants={"wind": [0, 0, 0]})
    assert sol.status == -2
    assert "h leaves the table wind, 0.0 to 2.0" in sol.message
    assert sol.t[-1] == pytest.approx(1.5, abs=1e-3)


def test_what_is_wrong_is_named() -> None:
    model, wind = falling("linear")
    assert [str(s) for s in wind.values[:2]] == ["wind_at_0", "wind_at_1"]
    wrong: list[tuple[Any, str]] = [
        ({"wind": ROWS}, "interpolants: wind has shape (5, 12); its grid has (12,)"),
        ({"wind": [1, 2]}, "interpolants: wind has shape (2,); its grid has (12,)"),
        ({"wind": [*ROWS[0][:-1], np.nan]}, "interpolants: wind is not finite at [11]"),
        ({"wnd": ROWS[0]}, "interpolants: blown_linear has no table 'wnd' with values at run time; it has wind"),
        ([1, 2], "interpolants = [1, 2]: give a dict by name"),
        ({"wind": "high"}, "interpolants: wind = 'high' is not an array of real numbers"),
    ]  # fmt: skip
    for given, message in wrong:
        refused(re.escape(message), model.integrate, (0, 1), START, interpolants=given)
    words = r"interpolants: wind has shape \(5, 2\); its grid has \(12,\), or one"
    refused(words, cg.ensemble, model, (0, 1), START, interpolants={"wind": ROWS[:, :2]})
    words = "has length 5; 4 is needed, a row of the table wind for each"
    refused(words, cg.ensemble, model, (0, 1), START, interpolants={"wind": ROWS}, n=4)
    words, given = "wind_at_3 is given in parameters and in interpolants", {"wind": ROWS[0]}
    refused(words, model.integrate, (0, 1), START, {"wind_at_3": 1}, interpolants=given)
    refused(r'missing wind_at_0, .*; interpolants={"wind": values} gives', model.integrate, (0, 1), START)
    words = "Interpolant 'f': kind='pchip' is not linear in its"
    refused(words, cg.Interpolant, "f", {"a": [0, 1, 2]}, kind="pchip", error=cg.errors.DeclarationError)
    plain = cg.example("harmonic_oscillator")
    words = r"has no table 'f' with values at run time, which cg.Interpolant\("
    run = plain.system.compile().integrate
    refused(words, run, (0, 1), plain.initial, plain.parameters, interpolants={"f": [1]})


def test_what_has_no_interpolants_refuses_them_by_name() -> None:
    """They are given among the parameters there."""
    model, wind = falling("linear")
    given = {"wind": ROWS[0]}
    calls: list[Any] = [
        lambda: model.gradient(cg.final("x"), (0, 1), START, by=["x"], interpolants=given),
        lambda: cg.fit(model, {"x": ([1.0], [0.2])}, free=["x"], initial=START, t0=0.0, interpolants=given),
        lambda: model.linearize(START, interpolants=given),
        lambda: model.export_fmu("wind.fmu", interpolants=given),
        lambda: model.export_c("wind", interpolants=given),
    ]
    for call in calls:
        refused("unexpected keyword argument 'interpolants'", call, error=TypeError)
    numbers = dict(zip(wind.values, ROWS[0], strict=True))
    found = model.gradient(cg.final("x"), (0, 1), START, numbers, by=["x"])
    assert np.isfinite(found["x"])
