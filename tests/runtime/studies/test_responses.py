"""Responses: sensitivity by SciPy and SALib against closed forms, and parameter grids."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy as np
import pytest
import sympy as sp
from refusals import refused
from scipy import stats

import chaplygin as cg
from chaplygin.errors import ArgumentError
from chaplygin.generated.harmonic_oscillator import model as oscillator

START = {"x": stats.norm(1, 0.3), "x_dot": stats.norm(0, 0.4)}
UNIT = {"m": 1, "k": 1}


def position(**options: Any) -> Any:
    """x at t = 1: x cos 1 + x_dot sin 1."""
    return cg.response(oscillator, (0, 1), "x", START, UNIT, **options)


LINEAR = np.array([(0.3 * math.cos(1)) ** 2, (0.4 * math.sin(1)) ** 2])
LINEAR /= LINEAR.sum()

ENERGY = {"initial": {"x": 0, "x_dot": stats.gamma(9)}, "parameters": {"m": stats.uniform(1, 2), "k": 1}}


def energy_indices() -> tuple[list[float], list[float]]:
    """First-order and total indices of v^2 and m in E = m v^2 / 2, v and m independent."""
    square, fourth = (float(stats.gamma(9).moment(k)) for k in (2, 4))
    mean, second = (float(stats.uniform(1, 2).moment(k)) for k in (1, 2))
    total = second * fourth - (mean * square) ** 2
    v, m = mean**2 * (fourth - square**2), square**2 * (second - mean**2)
    return [v / total, m / total], [1 - m / total, 1 - v / total]


def test_values_are_those_of_an_ensemble() -> None:
    rng = np.random.default_rng(1)
    draws = rng.normal(size=(2, 50))
    found = cg.response(oscillator, (0, 1), ["x", "energy"], START, UNIT)
    ens = cg.ensemble(oscillator, (0, 1), initial={"x": draws[0], "x_dot": draws[1]}, parameters=UNIT)
    values = found(draws)
    assert (values[0] == ens["x"]).all()
    assert (values[1] == ens["energy"]).all()
    assert (position()(draws) == ens["x"]).all()
    assert repr(found) == "<Response of harmonic_oscillator: x, energy from x, x_dot>"


def test_probabilities_stand_for_quantiles() -> None:
    u = np.random.default_rng(2).random((40, 2))
    found = cg.response(oscillator, (0, 1), ["x", "energy"], START, UNIT)
    values = np.array([law.ppf(column) for law, column in zip(found.dists, u.T)])
    assert found.evaluate(u).shape == (40, 2)
    assert found.evaluate(u) == pytest.approx(found(values).T, rel=1e-9)
    assert position().evaluate(u) == pytest.approx(position()(values), rel=1e-9)


def test_expressions_follow_from_the_draws() -> None:
    m = sp.Symbol("m")
    model = cg.example("harmonic_oscillator").system.compile()
    parameters = {"m": stats.uniform(1, 2), "k": 4 * m}
    found = cg.response(model, (0, 1), "x", {"x": 1, "x_dot": 0}, parameters)
    assert found.names == ("m",)
    assert found([[1.0, 2.0, 3.0]]) == pytest.approx(np.full(3, math.cos(2)), rel=1e-7)


def test_entries_and_conditions() -> None:
    x = sp.Symbol("x")
    model = cg.example("harmonic_oscillator").system.compile()
    draws = [[1, -1], [0, 0]]
    assert cg.response(model, (0, 1), x > 0, START, UNIT)(draws).tolist() == [1, 0]
    assert cg.response(model, (0, 1), cg.final(2 * x), START, UNIT)(draws) == pytest.approx(
        [2 * math.cos(1), -2 * math.cos(1)], rel=1e-7
    )


def test_peaks_along_the_run() -> None:
    """The largest x of a turn is the amplitude."""
    draws = np.random.default_rng(3).normal(size=(2, 50))
    found = cg.response(oscillator, (0, 2 * math.pi), [cg.peak("x"), "x"], START, UNIT)
    assert found(draws)[0] == pytest.approx(np.hypot(*draws), rel=1e-7)
    assert found(draws)[1] == pytest.approx(draws[0], abs=1e-7)


def test_scipys_indices() -> None:
    found = position()
    indices = stats.sobol_indices(func=found, n=4096, dists=found.dists, rng=np.random.default_rng(1))
    assert indices.first_order == pytest.approx(LINEAR, abs=0.02)
    assert indices.total_order == pytest.approx(LINEAR, abs=0.02)  # a sum has no interactions
    found = cg.response(oscillator, (0, 1), "energy", **ENERGY)
    indices = stats.sobol_indices(func=found, n=4096, dists=found.dists, rng=np.random.default_rng(1))
    first, total = energy_indices()
    assert indices.first_order == pytest.approx(first, abs=0.03)
    assert indices.total_order == pytest.approx(total, abs=0.03)


@pytest.mark.integration("SALib")
def test_salibs_indices() -> None:
    found = cg.response(oscillator, (0, 1), "energy", **ENERGY)
    spec = import_module("SALib").ProblemSpec(found.problem)
    spec.sample_sobol(4096, seed=1).evaluate(found.evaluate).analyze_sobol(seed=1)
    first, total = energy_indices()
    assert spec.analysis["S1"] == pytest.approx(first, abs=0.03)
    assert spec.analysis["ST"] == pytest.approx(total, abs=0.03)
    assert spec.analysis.to_df()[0].index.tolist() == ["x_dot", "m"]


def test_failed_runs_are_reported() -> None:
    """x'' = x^3 grows beyond all bounds from x = 3 on before t = 2."""
    q, w = cg.coordinates("q"), cg.velocities("w")
    system = cg.System("explosive", kinematics={q: w}, kinetic=w**2 / 2, potential=-(q**4) / 4)
    found = cg.response(system.compile(), (0, 2), "q", {"q": stats.uniform(0, 5), "w": 0})
    with pytest.warns(RuntimeWarning, match="1 of 2 runs failed and are NaN"):
        assert np.isnan(found([[0.1, 4.0]])).tolist() == [False, True]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"initial": {"x": 1, "x_dot": 0}}, "none of them has a distribution"),
        (
            {"initial": {**START, "x": [1, 2]}},
            r"initial: x has shape \(2,\); give a number or a distribution",
        ),
        (
            {"initial": cg.jointly(("x", "x_dot"), np.ones((2, 3)))},
            r"jointly\(x, x_dot\) makes these dependent",
        ),
        ({"what": cg.quantiles("x", 0.5)}, "what: this entry does not give one number for each run"),
        ({"what": cg.series("x", times=[1])}, "what: this entry does not give one number for each run"),
        ({"what": "y"}, "^what: 'y' is not a quantity of harmonic_oscillator"),
        ({"model": 3}, "a response needs a model, not int"),
    ],
)
def test_wrong_arguments_are_named(options: dict[str, Any], text: str) -> None:
    given = {"model": oscillator, "t_span": (0, 1), "what": "x", "initial": START, "parameters": UNIT}
    refused(text, cg.response, **{**given, **options})


def test_wrong_draws_are_named() -> None:
    refused(r"x has shape \(2,\); \(2, n\) is needed", position(), [1, 2])
    refused(r"u has shape \(2, 3\); \(n, 2\) is needed", position().evaluate, np.full((2, 3), 0.5))
    refused("u: x: probabilities must lie between 0 and 1", position().evaluate, [[1.5, 0.5]])
    refused("u: x_dot: the quantile of 1 is infinite", position().evaluate, [[0.5, 1.0]])
    bounded = cg.response(oscillator, (0, 0), "x", {"x": stats.uniform(2, 3), "x_dot": 0}, UNIT)
    assert bounded.evaluate([[0.0], [1.0]]) == pytest.approx([2, 5])


def test_grids() -> None:
    springs = cg.grid({"m": [1, 2], sp.Symbol("k"): [1, 2, 4], "x": np.linspace(1, 2, 4)})
    assert repr(springs) == "<Grid of 2 m x 3 k x 4 x>"
    ens = cg.ensemble(
        oscillator,
        (0, 1),
        initial={"x": springs["x"], "x_dot": 0},
        parameters={name: springs[name] for name in ("m", "k")},
        t_eval=[0.5, 1],
    )
    m, k, x, t = np.ix_([1, 2], [1, 2, 4], np.linspace(1, 2, 4), [0.5, 1])
    found = springs.shaped(ens["x"])
    assert found.shape == (2, 2, 3, 4)  # times first
    assert np.moveaxis(found, 0, -1) == pytest.approx(x * np.cos(np.sqrt(k / m) * t), abs=1e-8)


def test_a_grid_stands_for_a_dict() -> None:
    springs = cg.grid({"m": [1, 2], "k": [1, 2, 4]})
    study = cg.study(
        oscillator,
        (0, 1),
        initial={"x": stats.norm(1, 0.1), "x_dot": 0},
        parameters=springs,
        seed=1,
        collect={"end": cg.final("x")},
    )
    exact = study.draws["x"] * np.cos(np.sqrt(springs["k"] / springs["m"]))
    assert springs.shaped(study.results["end"]["x"]) == pytest.approx(springs.shaped(exact), abs=1e-8)
    assert springs.axes["k"].tolist() == [1, 2, 4]


@pytest.mark.parametrize(
    ("axes", "text"),
    [
        ({}, "grid: {} must be a dict of values by name"),
        ([1, 2], r"grid: \[1, 2\] must be a dict"),
        ({"m": []}, r"grid: m has shape \(0,\); a list of values is needed"),
        ({"m": 3}, r"grid: m has shape \(\); a list of values is needed"),
        ({"m": [1, math.nan]}, "grid: m = .* must be finite"),
        ({"m": ["a"]}, "grid: m = .* is not an array of real numbers"),
        ({"m": [1], sp.Symbol("m"): [2]}, "grid: m is given twice"),
    ],
)
def test_wrong_axes_are_named(axes: Any, text: str) -> None:
    refused(text, cg.grid, axes)


def test_only_results_of_the_grid_get_its_shape() -> None:
    with pytest.raises(
        ArgumentError, match=r"values have shape \(5,\); the last axis of a grid of 6 has length 6"
    ):
        cg.grid({"m": [1, 2], "k": [1, 2, 4]}).shaped(np.ones(5))
    with pytest.raises(KeyError, match="'kk' is not in the grid; did you mean k"):
        cg.grid({"k": [1]})["kk"]
