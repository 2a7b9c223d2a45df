"""Fits of parameters and initial values, against least squares on closed forms, and the coverage of their regions."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy import stats
from scipy.optimize import curve_fit, least_squares
from unit_masses import unit_masses

import chaplygin as cg
from chaplygin.errors import ArgumentError, KernelError
from chaplygin.generated.harmonic_oscillator import model as oscillator
from chaplygin.runtime.interface.arguments import Array

TIMES = np.linspace(0.0, 5.0, 40)
TIGHT: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-12}
GUESS = {"initial": {"x": 0.8, "x_dot": 0.1}, "parameters": {"m": 1.0, "k": 3.6}}


def noisy(seed: int, sigma: float = 0.02) -> Array:
    return np.cos(2 * TIMES) + sigma * np.random.default_rng(seed).standard_normal(len(TIMES))


def test_initial_values_by_linear_least_squares() -> None:
    """x = x_0 cos 2t + v_0 sin(2t)/2 is linear in both: values, covariance and intervals in closed form."""
    x = noisy(1)
    given = {"initial": {"x": 0.5, "x_dot": 0.5}, "parameters": {"m": 1.0, "k": 4.0}}
    found = cg.fit(oscillator, {"x": (TIMES, x)}, free=["x", "x_dot"], **given, **TIGHT)
    design = np.stack([np.cos(2 * TIMES), np.sin(2 * TIMES) / 2], axis=1)
    values, (square,), *_ = np.linalg.lstsq(design, x)
    covariance = np.linalg.inv(design.T @ design) * square / 38
    assert found.names == ("x", "x_dot")
    assert found.values == pytest.approx(values, abs=1e-9)
    assert found.covariance == pytest.approx(covariance, rel=1e-7)
    assert found.scale == pytest.approx(np.sqrt(square / 38), rel=1e-8)
    half = stats.t.ppf(0.95, 38) * np.sqrt(covariance[0, 0])
    assert found.interval("x", 0.9) == pytest.approx((values[0] - half, values[0] + half), abs=1e-9)
    assert found.residuals[0]["x"] == pytest.approx(design @ values - x, abs=1e-9)
    edge = np.linalg.cholesky(covariance)[:, 0] * np.sqrt(2 * stats.f.ppf(0.95, 2, 38))
    for size, inside in ((0.999, True), (1.001, False)):
        assert found.contains(dict(zip(found.names, values + size * edge, strict=True))) is inside


@pytest.mark.parametrize("known", [False, True])
def test_a_parameter_beside_curve_fit_on_the_closed_form(known: bool) -> None:
    x, sigma = noisy(2), np.linspace(0.01, 0.04, len(TIMES))
    entry = (TIMES, x, sigma) if known else (TIMES, x)
    found = cg.fit(oscillator, {"x": entry}, free=["k", "x", "x_dot"], **GUESS, **TIGHT)

    def closed(t: Array, k: float, x0: float, v0: float) -> Array:
        return np.asarray(x0 * np.cos(np.sqrt(k) * t) + v0 / np.sqrt(k) * np.sin(np.sqrt(k) * t))

    how = {"sigma": sigma, "absolute_sigma": True} if known else {}
    values, covariance = curve_fit(closed, TIMES, x, [3.6, 0.8, 0.1], xtol=1e-14, ftol=1e-14, **how)
    assert found.values == pytest.approx(values, rel=1e-6, abs=1e-7)
    assert found.covariance == pytest.approx(covariance, rel=1e-5, abs=1e-12)
    quantile = stats.norm.ppf(0.975) if known else stats.t.ppf(0.975, 37)
    low, high = found.interval("k")
    assert high - low == pytest.approx(2 * quantile * np.sqrt(covariance[0, 0]), rel=1e-5)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_a_fit_does_not_depend_on_the_unit_of_the_samples(unit: float) -> None:
    """The amplitude scales with the unit, the stiffness and the relative errors do not: curve_fit in the unit 1."""
    x = noisy(2)

    def closed(t: Array, k: float, x0: float) -> Array:
        return np.asarray(x0 * np.cos(np.sqrt(k) * t))

    values, covariance = curve_fit(closed, TIMES, x, [3.0, 0.8], xtol=1e-14, ftol=1e-14)
    given = {"initial": {"x": 0.8 * unit, "x_dot": 0.0}, "parameters": {"m": 1.0, "k": 3.0}}
    found = cg.fit(
        oscillator, {"x": (TIMES, unit * x)}, free=["k", "x"], **given, rtol=1e-11, atol=1e-12 * unit
    )
    scales = np.array([1.0, unit])
    assert found.values / scales == pytest.approx(values, rel=1e-6)
    assert found.errors / scales == pytest.approx(np.sqrt(np.diag(covariance)), rel=1e-5)


def test_no_convergence_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """SciPy's limit, 100 evaluations for each value, is made 2."""
    monkeypatch.setattr("scipy.optimize.least_squares", partial(least_squares, max_nfev=2))
    with pytest.raises(ArgumentError, match="no convergence in 2 evaluations, which ended at k = "):
        cg.fit(oscillator, {"x": (TIMES, noisy(2))}, free=["k"], **GUESS)


def test_several_runs_share_parameters_and_have_their_own_initial_values() -> None:
    first, second = noisy(3), 0.5 * noisy(4)
    data = [{"x": (TIMES, first)}, {"x": (TIMES, second)}]
    initial = [{"x": 0.9, "x_dot": 0.0}, {"x": 0.4, "x_dot": 0.0}]
    found = cg.fit(
        oscillator, data, free=["x", "k"], initial=initial, parameters=GUESS["parameters"], **TIGHT
    )

    def closed(_: Array, k: float, a: float, b: float) -> Array:
        wave = np.cos(np.sqrt(k) * TIMES)
        return np.concatenate([a * wave, b * wave])

    both = np.concatenate([first, second])
    values, covariance = curve_fit(closed, both, both, [3.6, 0.9, 0.4], xtol=1e-14, ftol=1e-14)
    assert found.names == ("k", "x[0]", "x[1]")
    assert found.values == pytest.approx(values, rel=1e-6)
    assert found.covariance == pytest.approx(covariance, rel=1e-5, abs=1e-12)
    assert [len(part["x"]) for part in found.residuals] == [40, 40]


def test_data_without_any_derivative_at_the_first_guess_are_named() -> None:
    """A mass that stays at rest says nothing about its spring."""
    still = {"initial": {"x": 0, "x_dot": 0}, "parameters": {"m": 1, "k": 3.5}}
    with pytest.raises(cg.ArgumentError, match="free: the data do not depend on k at the first guess"):
        cg.fit(oscillator, {"x": (TIMES, np.cos(TIMES))}, free=["k"], **still)


def test_a_table_without_times_is_named() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"time": TIMES, "x": np.cos(TIMES)})
    with pytest.raises(cg.ArgumentError, match="data has no column t with the times; it has time, x"):
        cg.fit(oscillator, table, free=["k"], **GUESS)


def test_a_table_is_read_as_its_columns() -> None:
    pandas = pytest.importorskip("pandas")
    table = {"t": TIMES, "x": noisy(5), "x_dot": -2 * np.sin(2 * TIMES)}
    pairs = {name: (TIMES, table[name]) for name in ("x", "x_dot")}
    fits = [cg.fit(oscillator, data, free=["k"], **GUESS) for data in (table, pandas.DataFrame(table), pairs)]
    assert len({found.values.tobytes() for found in fits}) == 1


def test_bounds_by_name_and_by_assumption(tmp_path: Path) -> None:
    data = {"x": (TIMES, noisy(6))}
    found = cg.fit(oscillator, data, free=["k", "x"], bounds={"k": (3.0, 3.9)}, **GUESS)
    assert found.at_bound == ("k",)
    assert found["k"] == pytest.approx(3.9, rel=1e-6)
    assert "k" in found.summary()
    assert "on its bound" in found.summary()
    low, high = cg.residuals(oscillator, data, free=["k", "x"], **GUESS).bounds
    assert low.tolist() == [0.0, -np.inf]  # k is declared positive
    assert high.tolist() == [np.inf, np.inf]
    found.plot(file=tmp_path / "fit.png")
    assert (tmp_path / "fit.png").stat().st_size > 10_000


def test_wrong_data_and_names_are_named() -> None:
    x = noisy(7)

    def refused(pattern: str, data: Any, free: Any = ("k",), **more: Any) -> None:
        with pytest.raises(ArgumentError, match=pattern):
            cg.fit(oscillator, data, free=free, **{**GUESS, **more})

    gap = x.copy()
    gap[3:5] = np.nan
    good = {"x": (TIMES, x)}
    refused(
        r"data: x: values\[3\] = nan at t = 0.384615, and 1 more; leave these samples out",
        {"x": (TIMES, gap)},
    )
    refused("data: xdot is not a quantity.*did you mean x_dot", {"xdot": (TIMES, x)})
    refused(r"data: x: values has shape \(39,\) for times of shape \(40,\)", {"x": (TIMES, x[1:])})
    refused("data: x: times must increase strictly: entry 0 is", {"x": (TIMES[::-1], x)})
    refused("sigma must be positive", {"x": (TIMES, x, 0.0)})
    refused(r"sigma has shape \(3,\) for values of shape", {"x": (TIMES, x, [0.1, 0.2, 0.3])})
    refused(r"\(times, values\)", {"x": x})
    refused("a dict of name", x)
    refused("sigma is given for some series only", {"x": (TIMES, x, 0.1), "x_dot": (TIMES, x)})
    refused("free: unknown kk; did you mean k", good, ["kk"])
    refused("free: k has no first guess; give it in parameters", good, parameters={"m": 1.0})
    refused("several different", good, ["k", "k"])
    refused("t_eval cannot be given to a fit: the times are those of the samples", good, t_eval=TIMES)
    refused("sensitivities cannot be given to a fit", good, sensitivities=["k"])
    refused("do not tell k, m apart", good, ["k", "m"])
    refused("2 samples cannot determine 2", {"x": ([0.0, 1.0], [1.0, 0.0])}, ["k", "x"])
    refused(
        "first guess k = 5 is outside its bounds", good, parameters={"m": 1.0, "k": 5.0}, bounds={"k": (0, 4)}
    )
    refused("bounds: unknown c", good, bounds={"c": (0, 1)})
    refused("initial has 2 entries for 1 run", good, initial=[{}, {}])
    refused("all samples are at t = 0", {"x": ([0.0], [1.0])})
    refused("data: x has a sample at t = 0, before t0 = 1", good, t0=1.0)
    refused("data has x twice", {"x": (TIMES, x), sp.Symbol("x"): (TIMES, x)})
    with pytest.raises(ArgumentError, match=r"values has shape \(2,\); shape \(1,\)"):
        cg.residuals(oscillator, good, free=["k"], **GUESS)([3.0, 4.0])
    with pytest.raises(KernelError, match="the run with the first guesses stopped"):
        cg.fit(oscillator, good, free=["k"], **GUESS, max_steps=2)


def test_a_run_that_ends_before_its_last_sample_is_refused() -> None:
    """A stone from a height of 1 is on the ground at t = 0.45."""
    h, g = cg.coordinates("h"), cg.parameters("g", positive=True)
    stone = unit_masses(
        "stone", [h], potential=g * h, events=[cg.Event(h, direction=-1, terminal=True, name="ground")]
    ).compile("lagrange")
    given = {"initial": {"h": 1.0, "h_dot": 0.0}, "parameters": {"g": 9.81}}
    times = np.array([0.1, 0.2, 0.3, 0.5, 0.6])
    data = {"h": (times, 1 - 4.905 * times**2)}
    with pytest.raises(KernelError, match=r"before the sample of h at t = 0\.5; give other guesses"):
        cg.fit(stone, data, free=["g"], t0=0, **given)
    found = cg.fit(stone, {"h": (times[:3], data["h"][1][:3])}, free=["g"], t0=0, **given)
    assert found["g"] == pytest.approx(9.81, rel=1e-7)


def test_threads_share_residuals() -> None:
    problem = cg.residuals(oscillator, {"x": (TIMES, noisy(3))}, free=["k"], **GUESS)
    points = [[3.0 + 0.1 * i] for i in range(6)]
    alone = [problem(point).tobytes() for point in points]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda i: problem(points[i % 6]).tobytes(), range(120)))
    finally:
        sys.setswitchinterval(before)
    assert found == alone * 20


@pytest.fixture(scope="module")
def pendulum() -> Any:
    """A double pendulum with dampers in its joints."""
    a, b = cg.coordinates("a b")
    m, length, c = (cg.parameters(f"{name}_1 {name}_2", positive=True) for name in ("m", "l", "c"))
    u, v = cg.rate(a), cg.rate(b)
    x = length[0] * sp.cos(a) * u, length[0] * sp.cos(a) * u + length[1] * sp.cos(b) * v
    y = length[0] * sp.sin(a) * u, length[0] * sp.sin(a) * u + length[1] * sp.sin(b) * v
    height = -length[0] * sp.cos(a), -length[0] * sp.cos(a) - length[1] * sp.cos(b)
    g = sp.Rational(981, 100)
    return cg.System(
        "damped_double_pendulum",
        coordinates=[a, b],
        kinetic=sum(m[i] * (x[i] ** 2 + y[i] ** 2) for i in range(2)) / 2,
        potential=sum(m[i] * g * height[i] for i in range(2)),
        forces={u: -c[0] * u - c[1] * (u - v), v: -c[1] * (v - u)},
    ).compile("lagrange", wait=True)


@pytest.mark.slow
def test_regions_of_five_parameters_hold_the_truth(pendulum: Any) -> None:
    """Of 100 data sets with noise, 90 to 99 have the truth in their joint 95 % region; so it is for each interval."""
    truth = {"m_2": 0.7, "l_1": 1.0, "l_2": 0.6, "c_1": 0.1, "c_2": 0.05}
    start = {"a": 1.2, "b": -0.4, "a_dot": 0.0, "b_dot": 0.5}
    times = np.linspace(0.05, 4.0, 80)
    exact = pendulum.integrate((0, 4), start, {"m_1": 1.0, **truth}, t_eval=times)
    guess = {"m_1": 1.0} | {name: 1.1 * value for name, value in truth.items()}
    random = np.random.default_rng(20)
    inside, intervals = 0, np.zeros(5)
    for _ in range(100):
        data = {name: (times, exact[name] + 0.01 * random.standard_normal(80)) for name in ("a", "b")}
        found = cg.fit(pendulum, data, free=list(truth), initial=start, parameters=guess, t0=0)
        inside += found.contains(truth)
        for i, (name, value) in enumerate(truth.items()):
            low, high = found.interval(name)
            intervals[i] += low <= value <= high
    assert 90 <= inside <= 99
    assert ((intervals >= 88) & (intervals <= 100)).all()  # of a binomial distribution, 3 sigma


@pytest.mark.parametrize("kind", ["function", "cubic"])
def test_a_mass_from_its_motion_under_a_force_that_varies(kind: str) -> None:
    """m x'' = t^3, from rest: x = t^5 / (20 m); a cubic spline through samples of t^3 is t^3."""
    x, u, m = cg.coordinates("x"), cg.inputs("u"), cg.parameters("m", positive=True)
    v = cg.rate(x)
    model = cg.System("pushed", coordinates=[x], kinetic=m * v**2 / 2, forces={v: u}).compile("lagrange")
    times = np.linspace(0, 2, 9)
    force: Any = (times, times**3, "cubic") if kind == "cubic" else (lambda t: t**3)
    given = {"initial": {"x": 0.0, "x_dot": 0.0}, "parameters": {"m": 1.9}, "inputs": {"u": force}}
    found = cg.fit(model, {"x": (times[1:], times[1:] ** 5 / 30)}, free=["m"], t0=0.0, **given, **TIGHT)
    assert found["m"] == pytest.approx(1.5, abs=1e-8)


def test_an_input_that_varies_is_not_free() -> None:
    x, u, m = cg.coordinates("x"), cg.inputs("u"), cg.parameters("m", positive=True)
    v = cg.rate(x)
    model = cg.System("pushed", coordinates=[x], kinetic=m * v**2 / 2, forces={v: u}).compile("lagrange")
    given = {"initial": {"x": 0.0, "x_dot": 0.0}, "parameters": {"m": 1.5}, "free": ["u"], "t0": 0.0}
    data = {"x": ([1.0, 2.0], [0.1, 0.4])}
    for force in (([0, 1], [1, 2]), ([0, 1], [1, 2], "linear"), ([0, 1], [1, 2], "cubic"), lambda t: t):
        with pytest.raises(ArgumentError, match="free: u is an input that varies in time; declare a factor"):
            cg.fit(model, data, inputs={"u": force}, **given)
    with pytest.raises(ArgumentError, match="free: u has no first guess; give it in inputs"):
        cg.fit(model, data, **given)
    assert cg.fit(model, data, inputs={"u": 1.0}, **given)["u"] == pytest.approx(
        0.3, abs=1e-9
    )  # x = u t^2 / 3


@pytest.mark.parametrize(("guess", "true"), [(8.0, 1.0), (-8.0, 5.0)])
def test_a_fit_that_comes_to_where_nothing_moves(guess: float, true: float) -> None:
    """A block sticks while |u| < 3: from there no force moves it, so nothing tells where the search should go on."""
    x, u = cg.coordinates("x"), cg.inputs("u")
    v = cg.rate(x)
    floor = cg.Coulomb("floor", slip=v, normal=10, mu=sp.Rational(3, 10))
    system = unit_masses("block", [x], forces={v: u}, contacts=[floor])
    model = system.compile("lagrange")
    times = np.linspace(0.25, 2, 8)
    data = {"x": (times, max(true - 3, 0) * times**2 / 2)}
    given = {"initial": {"x": 0.0, "x_dot": 0.0}, "free": ["u"], "t0": 0.0}
    with pytest.raises(
        ArgumentError, match=r"fit: the data do not depend on u at u = .*, which the search came to"
    ):
        cg.fit(model, data, inputs={"u": guess}, **given)
    if true > 3:
        assert cg.fit(model, data, inputs={"u": 4.0}, **given)["u"] == pytest.approx(true, abs=1e-9)
