"""Integrals and extremes along trajectories: closed forms, orders of convergence, and the same bits in any company."""

from __future__ import annotations

import functools
import math
import pickle
import shutil
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from refusals import refused
from scipy import integrate, optimize, stats

import chaplygin as cg
from chaplygin.errors import ArgumentError
from chaplygin.runtime import Model, load_model
from chaplygin.runtime.ensembles.job import KINDS
from chaplygin.runtime.studies.job import StudyJob
from chaplygin.runtime.studies.study import Study

TIGHT: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-13}
x = cg.coordinates("x")
m, k = cg.parameters("m k", positive=True)
F = cg.inputs("F")
v = cg.rate(x)


@functools.cache
def oscillator() -> Model:
    """x'' = (F - k x) / m."""
    return cg.System(
        "observed_oscillator", coordinates=[x], kinetic=m * v**2 / 2, potential=k * x**2 / 2, forces={v: F}
    ).compile()


PHASES = np.linspace(0, 6, 21)
AMPLITUDES = np.linspace(1, 2, 21)
"""x = A cos(2 t - phase)."""


def swing(collect: dict[str, Any], t1: float = 5.3, **options: Any) -> Study:
    initial = {"x": AMPLITUDES * np.cos(PHASES), "x_dot": 2 * AMPLITUDES * np.sin(PHASES)}
    given: dict[str, Any] = {"initial": initial, "parameters": {"m": 1, "k": 4}, "inputs": {"F": 0}}
    return cg.study(oscillator(), (0, t1), n=21, **{**given, **TIGHT, **options}, collect=collect)


def times_of(phase: float, t1: float) -> np.ndarray[Any, Any]:
    """The maxima of cos(2 t - phase) within the run."""
    t = (phase + 2 * math.pi * np.arange(-1, 9)) / 2
    return t[(t >= 0) & (t <= t1)]


COLLECT = {
    "square": cg.integral(x**2),
    "work": cg.integral(sp.Symbol("m") * v * x),
    "high": cg.peak(x),
    "low": cg.minimum("x"),
    "fast": cg.peak(v**2),
    "end": cg.table("x", "x_dot", "n_steps", "nfev"),
}


def test_an_oscillator() -> None:
    found = swing(COLLECT).results
    t = 5.3
    square = AMPLITUDES**2 * (t / 2 + (np.sin(4 * t - 2 * PHASES) + np.sin(2 * PHASES)) / 8)
    assert found["square"] == pytest.approx(square, abs=1e-10)
    assert found["work"] == pytest.approx(
        AMPLITUDES**2 * (np.cos(2 * t - PHASES) ** 2 - np.cos(PHASES) ** 2) / 2, abs=1e-10
    )
    assert found["high"].value == pytest.approx(AMPLITUDES, abs=1e-10)
    assert found["low"].value == pytest.approx(-AMPLITUDES, abs=1e-10)
    assert found["fast"].value == pytest.approx(4 * AMPLITUDES**2, abs=1e-9)
    for i, phase in enumerate(PHASES):  # one maximum is as high as the others but for the tolerance
        assert abs(times_of(phase, t) - found["high"].t[i]).min() < 1e-6


def test_a_short_run_has_its_extremes_at_the_ends() -> None:
    found = swing({"high": cg.peak(x), "low": cg.minimum(x), "end": cg.final("x")}, t1=0.2).results
    path = AMPLITUDES[:, None] * np.cos(2 * np.linspace(0, 0.2, 20001) - PHASES[:, None])
    assert found["high"].value == pytest.approx(path.max(axis=1), abs=1e-9)
    assert found["low"].value == pytest.approx(path.min(axis=1), abs=1e-9)
    at_end = path.argmin(axis=1) == 20000
    assert at_end.any()
    assert (found["low"].t[at_end] == 0.2).all()
    assert (found["low"].value[at_end] == found["end"]["x"][at_end]).all()


def test_a_run_of_no_time() -> None:
    found = swing({"i": cg.integral(x), "p": cg.peak(x)}, t1=0.0).results
    assert (found["i"] == 0).all()
    assert (found["p"].value == AMPLITUDES * np.cos(PHASES)).all()
    assert (found["p"].t == 0).all()


def test_backward_in_time() -> None:
    found = swing({"i": cg.integral(x**2), "p": cg.peak(x)}, t1=-3.0).results
    square = AMPLITUDES**2 * (-3 / 2 + (np.sin(-12 - 2 * PHASES) + np.sin(2 * PHASES)) / 8)
    assert found["i"] == pytest.approx(square, abs=1e-10)
    assert found["p"].value[0] == pytest.approx(AMPLITUDES[0], abs=1e-10)


METHODS = {"rk4": 0.2, "tsit5": 0.05, "vern7": 0.5, "dop853": 0.6, "vern9": 0.8, "rodas5p": 0.2, "auto": 0.6}


@pytest.mark.parametrize("method", METHODS)
def test_integrals_have_the_order_of_the_method(method: str) -> None:
    """Halved fixed steps, and the largest error of 21 trajectories; peaks have the order of the interpolant."""
    order = oscillator().methods[method].order
    steps = math.ceil(6 / METHODS[method])
    errors, misses = [], []
    for n in (steps, 2 * steps):
        h = 6 / n
        fixed = {"rtol": 1e3, "atol": 1e3, "max_step": h, "first_step": h}
        found = swing({"i": cg.integral(x**2), "p": cg.peak(x)}, t1=6.0, method=method, **fixed).results
        square = AMPLITUDES**2 * (3 + (np.sin(24 - 2 * PHASES) + np.sin(2 * PHASES)) / 8)
        errors.append(abs(found["i"] - square).max())
        misses.append(abs(found["p"].value - AMPLITUDES).max())
    assert errors[1] > 1e-13  # above rounding, so that the ratio means something
    assert math.log2(errors[0] / errors[1]) > order - 0.4
    assert math.log2(misses[0] / misses[1]) > order - 1.4


@functools.cache
def ball() -> Model:
    """A ball that loses a fifth of its speed at each bounce."""
    z, w, g = cg.coordinates("z"), cg.velocities("w"), cg.parameters("g", positive=True)
    bounces = cg.Event(z, name="floor", direction=-1, reset={w: -sp.Rational(4, 5) * w})
    return cg.System(
        "observed_ball", kinematics={z: w}, kinetic=w**2 / 2, potential=g * z, events=[bounces]
    ).compile("poincare")


def test_a_ball_through_its_bounces() -> None:
    """Between bounces z = u t - g t^2 / 2; the integral of z over a flight of initial speed u is 2 u^3 / (3 g^2)."""
    g, heights = 10.0, np.array([1.0, 2.0, 5.0])
    z, w = sp.symbols("z w", real=True)
    speed = np.sqrt(2 * g * heights)
    first = speed / g
    second = first + 2 * 0.8 * speed / g
    for i, height in enumerate(heights):
        t1 = second[i] + 1e-9  # just after the second bounce
        found = cg.study(
            ball(),
            (0, t1),
            {"z": height, "w": 0},
            {"g": g},
            n=1,
            collect={
                "area": cg.integral(z),
                "square": cg.integral(w**2),
                "up": cg.peak(w),
                "down": cg.minimum(w),
                "high": cg.peak(z),
                "count": cg.events("floor"),
            },
            **TIGHT,
        ).results
        assert len(found["count"].t) == 2
        fall = height * first[i] - g * first[i] ** 3 / 6
        assert found["area"][0] == pytest.approx(fall + 2 * (0.8 * speed[i]) ** 3 / (3 * g**2), rel=1e-8)
        square = (speed[i] ** 3 + 2 * (0.8 * speed[i]) ** 3) / (3 * g)
        assert found["square"][0] == pytest.approx(square, rel=1e-8)
        assert found["up"].value[0] == pytest.approx(0.8 * speed[i], rel=1e-9)  # right after the bounce
        assert found["up"].t[0] == pytest.approx(first[i], rel=1e-9)
        assert found["down"].value[0] == pytest.approx(-speed[i], rel=1e-9)  # right before it
        assert (found["high"].value[0], found["high"].t[0]) == (height, 0)


def test_the_state_after_the_last_reset_counts() -> None:
    """A terminal event that turns the speed around ends with a speed that no step begins with."""
    z, w = cg.coordinates("z"), cg.velocities("w")
    floor = cg.Event(z, name="floor", terminal=True, reset={w: -3 * w})
    stone = cg.System("turned", kinematics={z: w}, kinetic=w**2 / 2, potential=z, events=[floor])
    found = cg.study(
        stone.compile("poincare"),
        (0, 9),
        {"z": 2, "w": 0},
        n=1,
        collect={"p": cg.peak(w), "i": cg.integral(w)},
    ).results
    assert found["p"].value[0] == pytest.approx(6, rel=1e-8)
    assert found["p"].t[0] == pytest.approx(2, rel=1e-8)
    assert found["i"][0] == pytest.approx(-2, rel=1e-8)


def test_a_block_that_sticks_and_slips() -> None:
    """What friction takes is the energy lost, and its force times the way; each half swing takes pi / 2."""
    mu, g = cg.parameters("mu g", positive=True)
    floor = cg.Coulomb("floor", slip=v, normal=m * g, mu=mu)
    model = cg.System(
        "observed_block", coordinates=[x], kinetic=m * v**2 / 2, potential=k * x**2 / 2, contacts=[floor]
    ).compile()
    starts = np.linspace(1, 2, 5)
    collect = {
        "way": cg.integral(sp.Abs(v)),
        "work": cg.integral("friction_power"),
        "rest": cg.integral(sp.Eq(v, 0)),
        "end": cg.final("x", "x_dot"),
        "force": cg.peak(sp.Abs(sp.Symbol("friction_floor"))),
    }
    given = {"m": 2, "mu": 0.1, "g": 10, "k": 8}
    found = cg.study(model, (0, 20), {"x": starts, "x_dot": 0}, given, n=5, collect=collect, **TIGHT).results
    lost = 4 * starts**2 - 4 * found["end"]["x"] ** 2 - found["end"]["x_dot"] ** 2
    assert found["work"] == pytest.approx(-lost, rel=1e-9)
    assert 2 * found["way"] == pytest.approx(lost, rel=1e-9)
    assert found["rest"] == pytest.approx(20 - np.ceil((starts - 0.25) / 0.5) * np.pi / 2, rel=1e-9)
    assert found["force"].value == pytest.approx(2, rel=1e-9)
    with pytest.raises(ArgumentError, match="friction_floor may depend on the contact modes"):
        cg.study(
            model,
            (0, 1),
            {"x": 1, "x_dot": 0},
            given,
            n=1,
            collect={"e": cg.moments(sp.Symbol("friction_floor") + v)},
        )


def test_inputs() -> None:
    """Held and linear samples, numbers for each trajectory, and functions: the work of F over x' with k = 0."""
    samples = np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 0.0])
    collect = {
        "impulse": cg.integral(F),
        "push": cg.peak(F),
        "end": cg.final("x_dot"),
        "work": cg.integral(F * v),
    }
    given: dict[str, Any] = {"initial": {"x": 0, "x_dot": 0}, "parameters": {"m": 2, "k": 1e-300}}
    linear: Any = (*samples, "linear")
    for F_given, impulse, push in (
        (samples, 4, 3),
        (linear, 3.5, 3),
        (lambda t, y: 3 * t**2, 8, 12),
        (np.array([1.0, 2.0, -1.0] * 3), np.array([2.0, 4.0, -2.0] * 3), np.array([1.0, 2.0, -1.0] * 3)),
    ):
        found = cg.study(
            oscillator(), (0, 2), n=9, inputs={"F": F_given}, **given, **TIGHT, collect=collect
        ).results
        assert found["impulse"] == pytest.approx(np.broadcast_to(impulse, 9), rel=1e-10)
        assert found["push"].value == pytest.approx(np.broadcast_to(push, 9), rel=1e-12)
        speed = np.broadcast_to(impulse, 9) / 2
        assert found["end"]["x_dot"] == pytest.approx(speed, rel=1e-9)
        assert found["work"] == pytest.approx(speed**2, rel=1e-9)  # the kinetic energy, m = 2


@functools.cache
def top() -> Model:
    return cg.example("heavy_top").system.compile("poincare")


q0, q1, q2, q3, w1, w2, w3 = sp.symbols("q0 q1 q2 q3 w1 w2 w3", real=True)
TILT = q0**2 - q1**2 - q2**2 + q3**2
RATE = w1 * w2 + sp.sin(w3)


def test_64_tops_equal_their_full_solutions() -> None:
    """SciPy's DOP853 with the integral as a further state, and the extremes of its interpolant."""
    example, n = cg.example("heavy_top"), 64
    rng = np.random.default_rng(2)
    initial = {**example.initial, **{f"w{i}": rng.normal(0, 2, n) for i in (1, 2, 3)}}
    collect = {"i": cg.integral(RATE), "p": cg.peak(TILT), "l": cg.minimum(TILT), "end": cg.final("w1", "w2")}
    study = cg.study(top(), (0, 3), initial, example.parameters, n=n, **TIGHT, collect=collect)
    found = study.results
    model, p = top(), np.array([example.parameters[name] for name in top().parameters])

    def slope(t: float, y: Any) -> Any:
        return [*model.rhs(t, y[:7], p), y[4] * y[5] + math.sin(y[6])]

    def tilt(y: Any) -> Any:
        return y[0] ** 2 - y[1] ** 2 - y[2] ** 2 + y[3] ** 2

    for i in range(0, n, 4):
        start = [float(np.broadcast_to(initial[name], n)[i]) for name in model.states]
        run = integrate.solve_ivp(
            slope, (0, 3), [*start, 0.0], "DOP853", rtol=1e-12, atol=1e-13, dense_output=True
        )
        assert found["i"][i] == pytest.approx(run.y[7, -1], abs=1e-9)
        t = np.linspace(0, 3, 3001)
        for sign, name in ((1, "p"), (-1, "l")):
            best = t[(sign * tilt(run.sol(t))).argmax()]
            around = (max(best - 1e-3, 0), min(best + 1e-3, 3))
            there = optimize.minimize_scalar(
                lambda s, sign=sign, run=run: -sign * tilt(run.sol(s)),
                bounds=around,
                method="bounded",
                options={"xatol": 1e-9},
            )
            right = max(-there.fun, *(sign * tilt(run.sol(s)) for s in around))
            assert sign * found[name].value[i] == pytest.approx(right, abs=1e-9)
            assert found[name].t[i] == pytest.approx(there.x, abs=1e-5)
    for i in range(n):  # and the same as in the full solution of the package
        solution = study.rerun(i)
        assert (solution["w1"][-1], solution["w2"][-1]) == (found["end"]["w1"][i], found["end"]["w2"][i])


def everything(found: Study) -> list[bytes]:
    r = found.results
    arrays = [r["square"], r["work"], *(a for e in ("high", "low", "fast") for a in (r[e].value, r[e].t))]
    return [a.tobytes() for a in (*arrays, *r["end"].values())]


@pytest.mark.parametrize("method", ["rk4", "tsit5", "dop853", "vern9"])
@pytest.mark.sample(1)
def test_the_same_bits_in_any_lanes_and_threads(method: str) -> None:
    options: dict[str, Any] = {"method": method, "max_step": 0.1} if method == "rk4" else {"method": method}
    once = swing(COLLECT, lanes=1, **options)
    for other in ({"lanes": 2}, {"lanes": 8}, {"lanes": 4, "threads": 2}):
        assert everything(swing(COLLECT, **other, **options)) == everything(once), other


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.sample(1)
def test_states_and_steps_are_those_of_a_run_that_is_not_observed(lanes: int) -> None:
    """The interpolant alone adds calls of the right-hand side: three for each step of dop853."""
    for more in ({}, {"path": cg.series("x", times=[0.5, 1.7])}):
        plain = swing({"end": COLLECT["end"], **more}, lanes=lanes, method="dop853").results
        seen = swing({**COLLECT, **more}, lanes=lanes, method="dop853").results
        for name in ("x", "x_dot", "n_steps"):
            assert (seen["end"][name] == plain["end"][name]).all()
        for name in more:
            assert (seen[name]["x"] == plain[name]["x"]).all()
        if not more:
            assert (seen["end"]["nfev"] - plain["end"]["nfev"] == 3 * plain["end"]["n_steps"]).all()


def test_lanes_are_taken() -> None:
    """The runs go side by side, and a companion for that many lanes is what observes them."""
    job = job_of({"p": cg.peak(x)}, lanes=4)
    assert job.observer is not None
    assert sorted(job.observer.paths) == [1, 4]
    assert job.ensemble(0, 21)[0].lanes == 4
    observer = type(job.observer)(job.observer.model, job.observer.quantities, {1: job.observer.paths[1]})
    alone = replace(job, observer=observer)
    assert alone.ensemble(0, 21)[0].lanes == 1  # without one, they run one at a time
    assert alone.run().parts["p"]["value"].tobytes() == job.run().parts["p"]["value"].tobytes()


def job_of(collect: dict[str, Any], **options: Any) -> StudyJob:
    return swing(collect, **options).job


def test_statistics_of_integrals_and_extremes() -> None:
    """In place of a quantity, with the same numbers as the arrays."""
    found = swing(
        {
            "high": cg.peak(x),
            "square": cg.integral(x**2),
            "m": cg.moments(cg.peak(x), cg.integral(x**2), "x"),
            "q": cg.quantiles(cg.peak(x), [0.5]),
            "h": cg.histogram(cg.peak(x), [0.5, 1.5, 2.5]),
            "p": cg.probability(cg.peak(x) > 1.5),
            "few": cg.probability(cg.minimum(x) <= -1.9),
            "all": cg.table(cg.peak(x), "k", "x"),
        }
    ).results
    high = found["high"].value
    table = np.array([high, found["square"], found["all"]["x"]])
    assert found["m"].names == ("peak(x)", "integral(x**2)", "x")
    assert found["m"].covariance == pytest.approx(np.cov(table), rel=1e-12)
    assert found["q"].values == pytest.approx(np.quantile(high, [0.5], method="inverted_cdf"), rel=2**-10)
    assert found["h"].counts.tolist() == [(high < 1.5).sum(), (high >= 1.5).sum()]
    assert found["p"].count == (high > 1.5).sum()
    assert 0 < found["few"].count < 21
    assert (found["all"]["peak(x)"] == high).all()


def test_failures_have_no_values() -> None:
    q, u = cg.coordinates("q"), cg.velocities("u")
    model = cg.System("observed_blast", kinematics={q: u}, kinetic=u**2 / 2, potential=-(q**4) / 4).compile(
        "poincare"
    )
    starts = np.array([0.1, 2.0, 0.2, 3.0])  # q = q0 / (1 - t q0 / sqrt 2)
    initial = {"q": starts, "u": starts**2 / math.sqrt(2)}
    collect = {
        "i": cg.integral(q),
        "p": cg.peak(q),
        "m": cg.moments(cg.peak(q)),
    }
    for lanes in (1, 4):
        found = cg.study(model, (0, 2), initial, n=4, **TIGHT, lanes=lanes, collect=collect)
        assert found.failed.tolist() == [1, 3]
        assert np.isnan(found.results["i"]).tolist() == [False, True, False, True]
        assert np.isnan(found.results["p"].t).tolist() == [False, True, False, True]
        ends = starts[[0, 2]] / (1 - 2 * starts[[0, 2]] / math.sqrt(2))
        assert found.results["i"][[0, 2]] == pytest.approx(
            -math.sqrt(2) * np.log(1 - 2 * starts[[0, 2]] / math.sqrt(2)), rel=1e-9
        )
        assert found.results["p"].value[[0, 2]] == pytest.approx(ends, rel=1e-8)
        assert found.results["m"].count == 2
        logarithm = {"n": cg.peak(sp.log(q - 0.15))}  # of a negative number in the first trajectory
        with pytest.warns(
            RuntimeWarning, match="^1 of the trajectories have a quantity of collect that is not"
        ):
            found = cg.study(model, (0, 2), initial, n=4, **TIGHT, lanes=lanes, collect=logarithm)
        assert found.failed.tolist() == [0, 1, 3]
        assert np.isnan(found.results["n"].value).tolist() == [True, True, False, True]


def test_a_model_without_its_declaration_takes_names(tmp_path: Path) -> None:
    file = Path(oscillator().owner.__file__)  # type: ignore[attr-defined]
    shutil.copytree(file.parent, tmp_path / "copy")
    model = load_model(tmp_path / "copy" / file.name)
    again = swing(
        {"i": cg.integral("energy"), "p": cg.peak(sp.Symbol("x")), "f": cg.minimum("F"), "t": cg.peak("t")}
    ).results
    options = {"inputs": {"F": 0}, "parameters": {"m": 1, "k": 4}, **TIGHT}
    initial = {"x": AMPLITUDES * np.cos(PHASES), "x_dot": 2 * AMPLITUDES * np.sin(PHASES)}

    def run(**collect: Any) -> Any:
        return cg.study(model, (0, 5.3), initial, n=21, **options, collect=collect).results

    found = run(i=cg.integral("energy"), p=cg.peak("x"), f=cg.minimum("F"), t=cg.peak("t"))
    assert found["i"] == pytest.approx(5.3 * 2 * AMPLITUDES**2, rel=1e-9)
    for name in ("p", "f", "t"):
        assert (found[name].value == again[name].value).all()
    assert (found["t"].value == 5.3).all()
    refused(r"collect: e: peak: .*was loaded without its declaration", run, e=cg.peak(x**2))
    refused(r"collect: e: peak\(y\): 'y' is not a quantity of .*without its declaration", run, e=cg.peak("y"))


def test_folders_and_processes(tmp_path: Path) -> None:
    collect = {name: COLLECT[name] for name in ("square", "high", "low", "fast", "work", "end")}
    once = swing(collect)
    kept = swing(collect, out=tmp_path / "study")
    far = swing(collect, workers=2)
    assert everything(kept) == everything(far) == everything(once)
    opened = cg.open_study(tmp_path / "study")
    assert opened.results["high"].t.tobytes() == once.results["high"].t.tobytes()
    assert opened.results["square"].tobytes() == once.results["square"].tobytes()
    assert "SymPy" not in pickle.dumps(once.job).decode("latin1")


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (cg.peak(sp.Symbol("zz") + 1), "collect: e: peak: .*'zz' is not a quantity of the model"),
        (cg.integral("zz"), "collect: e: integral: .*'zz' is not a quantity of the model"),
        (cg.moments(cg.peak(x), at=[1.0]), r"collect: e: peak\(x\) is one number for each trajectory"),
        (cg.series(cg.integral(x), times=[1.0]), r"collect: e: integral\(x\) is one number"),
        (cg.probability(cg.peak(x)), r"collect: e: .*peak.* is not a condition"),
        (cg.probability(cg.peak(x) > "a"), r"collect: e: the bound of peak\(x\)"),
        (cg.first_passage(cg.peak(x)), r"collect: e: 'peak\(x\)' is not an event"),
        (cg.peak(x) > 1, "collect: e = .* is not an entry"),
    ],
)
def test_wrong_entries_are_named(entry: Any, text: str) -> None:
    refused(text, swing, {"e": entry})


def test_kinds_are_those_of_the_header() -> None:
    text = (Path(cg.get_include()) / "cg_companion.h").read_text()
    for i, name in enumerate(("INTEGRAL", "MAXIMUM", "MINIMUM")):
        assert f"CG_OBSERVED_{name} = {i}" in text
    assert KINDS == ("integral", "peak", "minimum")


def test_draws_and_blocks() -> None:
    """More trajectories than a block, drawn: each peak is the amplitude."""
    found = cg.study(
        oscillator(),
        (0, 4),
        {"x": stats.norm(1, 0.1), "x_dot": 0},
        {"m": 1, "k": 4},
        {"F": 0},
        n=5000,
        seed=1,
        collect={"p": cg.peak(x), "m": cg.moments(cg.peak(x)), "draw": cg.table("x")},
        rtol=1e-10,
    )
    assert found.draws is not None
    assert found.results["p"].value == pytest.approx(found.draws["x"], rel=1e-9)
    assert found.results["m"].mean["peak(x)"] == pytest.approx(found.draws["x"].mean(), rel=1e-9)
    assert import_module("chaplygin.runtime.core._core").widest_lanes() == max(found.job.observer.paths)


def test_responses_and_rare_events() -> None:
    """The peak of a swing from rest is its start, x = 1 + 0.1 z with z normal: P(peak > 1.4) = P(z > 4)."""
    given: dict[str, Any] = {"initial": {"x": stats.norm(1, 0.1), "x_dot": 0}, "parameters": {"m": 1, "k": 4}}
    given["inputs"] = {"F": 0}
    response = cg.response(oscillator(), (0, 4), [cg.peak(x), cg.integral(x)], **given)
    starts = np.linspace(0.5, 1.5, 600)
    assert response([starts]) == pytest.approx(
        np.array([starts, starts * math.sin(8) / 2]), rel=1e-8, abs=1e-8
    )
    for event, bound in ((cg.peak(x) > 1.4, {}), (cg.peak(x), {"above": 1.4})):
        rare = cg.rare_event(oscillator(), (0, 4), event, 1000, **given, **bound, seed=2)
        low, high = rare.interval(0.997)
        assert low < stats.norm.sf(4) < high
