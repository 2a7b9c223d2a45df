"""Derivatives at events and at ends that events make: closed forms, and differences of whole runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp
from unit_masses import unit_masses

import chaplygin as cg

TIGHT = {"rtol": 1e-12, "atol": 1e-12, "method": "vern9"}


def point(name: str, *events: cg.Event, **more: Any) -> Any:
    """A mass point in a vertical plane."""
    x, y = cg.coordinates("x y")
    g = cg.parameters("g", positive=True)
    kinetic = (cg.rate(x) ** 2 + cg.rate(y) ** 2) / 2
    return cg.System(
        name, coordinates=[x, y], kinetic=kinetic, potential=g * y, events=list(events), **more
    ).compile()


@pytest.fixture(scope="module")
def thrown() -> Any:
    """A stone that is thrown from a slope y = k x and lands on it."""
    x, y = cg.coordinates("x y")
    k = cg.parameters("k")
    lands = cg.Event(y - k * x, direction=-1, terminal=True, name="slope")
    return point("thrown", lands, outputs={"age": cg.time * x})


THROWN = {"x": 0.0, "y": 0.0, "x_dot": 3.0, "y_dot": 8.0}, {"g": 10.0, "k": 0.5}
NAMES = ["g", "k", "x_dot", "y_dot"]


def landing() -> dict[str, Any]:
    """t* = 2 (v - k u) / g and what follows from it, differentiated by SymPy: rows by NAMES."""
    u, v, g, k = sp.symbols("u v g k")
    t = 2 * (v - k * u) / g
    found = {"t": t, "x": u * t, "y": k * u * t, "x_dot": u, "y_dot": v - g * t, "age": u * t**2}
    found["energy"] = (u**2 + v**2) / 2
    numbers = {u: 3, v: 8, g: 10, k: sp.Rational(1, 2)}
    return {name: [float(f.diff(p).subs(numbers)) for p in (g, k, u, v)] for name, f in found.items()}


@pytest.mark.parametrize("dense", [False, True])
def test_the_end_at_a_terminal_event_has_total_derivatives(thrown: Any, dense: bool) -> None:
    sol = thrown.integrate((0, 9), *THROWN, sensitivities=NAMES, dense_output=dense, **TIGHT)
    assert sol.status == 1
    for name, row in landing().items():
        found = [sol.sensitivity[name, by][-1] for by in NAMES]
        np.testing.assert_allclose(found, row, rtol=0, atol=1e-10, err_msg=name)
        np.testing.assert_allclose(
            [sol.sensitivity.events["slope"][name, by][0] for by in NAMES],
            row,
            rtol=0,
            atol=1e-10,
            err_msg=name,
        )
    np.testing.assert_allclose(sol.sensitivity.events["slope"].t, [landing()["t"]], atol=1e-11)
    assert not sol.sensitivity.delays[:, :-1].any()
    if dense:  # the interpolant has those at a fixed time: x = u t, dx/du = t
        np.testing.assert_allclose(sol.sensitivity.at(sol.t[-1])[0], [0, 0, sol.t[-1], 0], atol=1e-10)


def test_rows_at_given_times_have_those_at_a_fixed_time(thrown: Any) -> None:
    times = [0.5, 1.0, 2.0]
    sol = thrown.integrate((0, 9), *THROWN, t_eval=times, sensitivities=NAMES, **TIGHT)
    np.testing.assert_allclose(sol.sensitivity["x", "x_dot"], times[: len(sol.t)], atol=1e-10)
    assert sol.t[-1] == 1.0
    np.testing.assert_allclose(sol.sensitivity.events["slope"].t, [landing()["t"]], atol=1e-11)


def test_the_ends_of_ensembles_and_steppers(thrown: Any) -> None:
    initial, parameters = THROWN
    ens = cg.ensemble(
        thrown,
        (0, 1.4),
        {**initial, "y_dot": np.array([8.0, 20.0])},
        parameters,
        sensitivities=NAMES,
        **TIGHT,
    )
    assert list(ens.status) == [1, 0]
    sol = thrown.integrate((0, 1.4), *THROWN, sensitivities=NAMES, **TIGHT)
    for name, row in landing().items():
        for by, expected in zip(NAMES, row):
            assert ens.sensitivity[name, by][0] == pytest.approx(expected, abs=1e-10), (name, by)
            assert ens.sensitivity[name, by][0] == sol.sensitivity[name, by][-1], (name, by)
    assert ens.sensitivity["x", "x_dot"][1] == pytest.approx(1.4)  # it has not landed
    assert ens.sensitivity["t", "x_dot"][1] == 0

    run = thrown.stepper(*THROWN, sensitivities=NAMES, **TIGHT)
    run.advance(1.0)
    assert run.sensitivity["x", "x_dot"] == pytest.approx(1.0)
    run.advance(9.0)
    assert run.status == 1
    for name, row in landing().items():
        for by, expected in zip(NAMES, row):
            assert run.sensitivity[name, by] == pytest.approx(expected, abs=1e-10), (name, by)
    saved, again = run.save(), thrown.stepper(*THROWN, sensitivities=NAMES, **TIGHT)
    again.restore(saved)
    assert again.sensitivity["x", "g"] == run.sensitivity["x", "g"]
    run.advance(2.0)  # on, below the slope: at a fixed time again
    assert run.sensitivity["x", "x_dot"] == pytest.approx(2.0)
    assert run.sensitivity["t", "g"] == 0


@pytest.fixture(scope="module")
def ball() -> Any:
    """Thrown up from the floor with u, it lands at 2 u / g and leaves with e u; the third landing ends the run."""
    z, n = cg.coordinates("z n")
    g, e = cg.parameters("g e", positive=True)
    v = cg.rate(z)
    system = unit_masses(
        "ball",
        [z, n],
        potential=g * z,
        events=[
            cg.Event(z, direction=-1, reset={v: -e * v, n: n + 1 + cg.time}, name="floor"),
            cg.Event(n - 5, direction=1, terminal=True, reset={v: 2 * v}, name="late"),
            cg.Event(v, direction=-1, name="top"),
        ],
    )
    return system.compile()


def test_every_bounce(ball: Any) -> None:
    u, g, e = sp.symbols("u g e")
    numbers = {u: 9, g: 10, e: sp.Rational(4, 5)}
    times = [2 * u / g * sum(e**i for i in range(k + 1)) for k in range(3)]
    given = {"z": 0, "n": 0, "z_dot": 9.0, "n_dot": 0}, {"g": 10, "e": 0.8}
    sol = ball.integrate((0, 4.5), *given, sensitivities=["g", "e", "z_dot"], **TIGHT)
    found = sol.sensitivity.events["floor"]
    assert len(found) == len(sol.t_events[0]) == 3
    tops = sol.sensitivity.events["top"]

    def check(rows: Any, formulas: list[Any]) -> None:
        expected = [[float(f.diff(p).subs(numbers)) for p in (g, e, u)] for f in formulas]
        np.testing.assert_allclose(rows, expected, rtol=0, atol=1e-9)

    def of(side: Any, name: str) -> Any:
        return np.array([side[name, by] for by in ("g", "e", "z_dot")]).T

    check(found.t, times)
    check(of(found, "z"), [0 * u] * 3)
    check(of(found.before, "z_dot"), [-u * e**k for k in range(3)])
    check(of(found.after, "z_dot"), [u * e ** (k + 1) for k in range(3)])
    check(of(found.after, "n"), [sum(times[: k + 1]) for k in range(3)])
    check(of(found.after, "energy"), [(u * e ** (k + 1)) ** 2 / 2 for k in range(3)])
    check(tops.t, [u / g, times[0] + u * e / g, times[1] + u * e**2 / g])
    check(of(tops, "z"), [(u * e**k) ** 2 / (2 * g) for k in range(3)])


def test_a_terminal_reset_made_by_another_event(ball: Any) -> None:
    """n moves from 4.5 to 5 with 2 m/s: the end is at 1/4, and v is doubled there."""
    given = {"z": 1.0, "n": 4.5, "z_dot": 3.0, "n_dot": 2.0}, {"g": 10, "e": 0.8}
    sol = ball.integrate((0, 4), *given, sensitivities=["g", "n_dot"], **TIGHT)
    assert sol.status == 1
    assert sol.t[-1] == pytest.approx(0.25)
    expected = {("t", "n_dot"): -0.125, ("z_dot", "g"): -0.5, ("z_dot", "n_dot"): 2.5, ("n", "n_dot"): 0.0}
    expected[("z", "n_dot")] = 0.5 * -0.125
    for key, value in expected.items():
        assert sol.sensitivity[key][-1] == pytest.approx(value, abs=1e-10), key
    before = sol.sensitivity.events["late"].before
    assert before["z_dot", "n_dot"][0] == pytest.approx(1.25, abs=1e-10)


def test_a_python_event_ends_the_run() -> None:
    model = point("free")

    def lands(t: float, y: Any) -> float:
        return float(y[1] - 0.5 * y[0])

    lands.terminal, lands.direction = True, -1  # type: ignore[attr-defined]
    sol = model.integrate(
        (0, 9), THROWN[0], {"g": 10}, events=lands, sensitivities=["g", "x_dot", "y_dot"], **TIGHT
    )
    assert sol.status == 1
    for name, row in landing().items():
        if name != "age":
            found = [sol.sensitivity[name, by][-1] for by in ("g", "x_dot", "y_dot")]
            np.testing.assert_allclose(found, [row[0], *row[2:]], rtol=0, atol=1e-9, err_msg=name)
    np.testing.assert_allclose(sol.sensitivity.events["events[0]"].t[0, 0], landing()["t"][0], atol=1e-10)


@pytest.fixture(scope="module")
def roofs() -> dict[str, Any]:
    """A roof at h that ends the run, or turns the stone around; the unit of the event is a parameter."""
    x, y = cg.coordinates("x y")
    h, unit = cg.parameters("h"), cg.parameters("unit", positive=True)
    turns: dict[str, Any] = {"ends": {"terminal": True}, "turns": {"reset": {cg.rate(x): -cg.rate(x)}}}
    return {
        name: point(f"roof_{name}", cg.Event(unit * (y - h), name="roof", **what))
        for name, what in turns.items()
    }


@pytest.mark.parametrize("unit", [1e-9, 1e9])
@pytest.mark.parametrize("length", [np.inf, 1e-2])
@pytest.mark.parametrize("which", ["ends", "turns"])
def test_a_touched_surface_has_no_derivatives(
    roofs: dict[str, Any], unit: float, length: float, which: str
) -> None:
    """A stone rises above h by less than its tolerance: in any unit of the event, with steps of any length."""
    given = {"x": 0, "y": 0, "x_dot": 1, "y_dot": 10}, {"g": 10, "unit": unit}
    how: dict[str, Any] = {"sensitivities": ["h"], "rtol": 1e-9, "atol": 1e-9, "max_step": length}
    touched = roofs[which].integrate((0, 1.5), given[0], {**given[1], "h": 5 - 1e-10}, **how)
    assert touched.status == -12
    crossed = roofs[which].integrate((0, 1.5), given[0], {**given[1], "h": 5 - 1e-6}, **how)
    assert crossed.status == int(which == "ends")
    slope = 1 / np.sqrt(2 * 10 * 1e-6)  # v = dh/dt there
    assert crossed.sensitivity.events["roof"].t[0, 0] == pytest.approx(slope, rel=1e-3)


def test_an_event_that_changes_nothing_has_no_derivative_where_it_is_touched() -> None:
    y, h = cg.coordinates("y"), cg.parameters("h")
    model = point("seen", cg.Event(y - h, name="roof"))
    given = {"x": 0, "y": 0, "x_dot": 1, "y_dot": 10}
    sol = model.integrate((0, 1.5), given, {"g": 10, "h": 5 - 1e-10}, sensitivities=["h"])
    assert sol.status == 0
    assert len(sol.t_events[0]) > 0
    assert np.isnan(sol.sensitivity.events["roof"].t).all()
    assert np.isfinite(sol.sensitivity.y).all()


def test_without_events_there_are_none() -> None:
    from chaplygin.generated.harmonic_oscillator import model

    sol = model.integrate((0, 1), {"x": 1, "x_dot": 0}, {"m": 1, "k": 4}, sensitivities=["k"])
    assert sol.sensitivity.events == {}
    assert not sol.sensitivity["t", "k"].any()


RAMP = {"u": ([0.0, 4.0], [-1.0, 7.0], "linear")}
"""u = 2 t - 1."""


@pytest.fixture(scope="module")
def chased() -> Any:
    """A point at x = a + v t meets the input u, and goes on with b u + v until it is c ahead of it."""
    x, n = cg.coordinates("x n")
    u, (b, c) = cg.inputs("u"), cg.parameters("b c")
    v = cg.rate(x)
    meets = cg.Event(x - u, direction=-1, reset={v: b * u + v, n: n + u**2 + cg.time}, name="meets")
    return unit_masses(
        "chased",
        [x, n],
        events=[meets, cg.Event(x - u - c, direction=1, terminal=True, name="ahead")],
        outputs={"lead": x + u**2},
    ).compile()


CHASED = {"x": 0.5, "x_dot": 0.5, "n": 0.0, "n_dot": 0.0}, {"b": 3.0, "c": 0.75}
BY = ("x", "x_dot", "b", "c")


def test_events_and_resets_that_read_an_input_with_a_slope(chased: Any) -> None:
    a, v, b, c, t = symbols = sp.symbols("a v b c t")
    numbers = dict(zip(symbols, (0.5, 0.5, 3, 0.75, 1.25), strict=True))
    met = (a + 1) / (2 - v)
    u = 2 * met - 1
    after = {"t": met, "x": u, "n": u**2 + met, "x_dot": b * u + v, "lead": u + u**2}
    ended = met + c / (b * u + v - 2)
    end = after | {"t": ended, "x": 2 * ended - 1 + c, "lead": 2 * ended - 1 + c + (2 * ended - 1) ** 2}
    x = u + after["x_dot"] * (t - met)
    fixed = after | {"t": sp.S.Zero, "x": x, "lead": x + (2 * t - 1) ** 2}

    def check(found: Any, formulas: dict[str, Any], at: Any = ()) -> None:
        for name, formula in formulas.items():
            for by, symbol in zip(BY, symbols):
                expected = float(sp.diff(formula, symbol).subs(numbers))
                assert np.asarray(found[name, by])[at] == pytest.approx(expected, abs=1e-9), (name, by)

    sol = chased.integrate((0, 1.25), *CHASED, inputs=RAMP, sensitivities=list(BY), **TIGHT)
    meets = sol.sensitivity.events["meets"]
    np.testing.assert_allclose(meets.t, [[1 / 1.5, 1 / 1.5, 0, 0]], atol=1e-10)
    before = {"x": u, "n": sp.S.Zero, "x_dot": v, "lead": u + u**2}
    check(meets.before, before | {"t": met}, 0)
    check(meets.after, after, 0)
    check(sol.sensitivity, fixed, -1)

    sol = chased.integrate((0, 3), *CHASED, inputs=RAMP, sensitivities=list(BY), **TIGHT)
    assert sol.status == 1
    assert sol.t[-1] == pytest.approx(1.5)
    check(sol.sensitivity, end, -1)
    check(sol.sensitivity.events["ahead"], end, 0)
    run = chased.stepper(*CHASED, inputs=RAMP, sensitivities=list(BY), **TIGHT)
    run.advance(3.0)
    check(run.sensitivity, end)
    ens = cg.ensemble(
        chased, (0, 3), {**CHASED[0], "x": np.full(3, 0.5)}, CHASED[1], inputs=RAMP, sensitivities=BY, **TIGHT
    )
    check(ens.sensitivity, end, 1)


def test_a_kink_at_an_input_with_a_slope() -> None:
    """x'' = k sign(x - u): u passes x, which goes the same way, more slowly."""
    x, k = cg.coordinates("x"), cg.parameters("k")
    model = unit_masses("passed", [x], forces={cg.rate(x): k * sp.sign(x - cg.inputs("u"))}).compile()
    a, v, s, t = symbols = sp.symbols("a v s t")
    met = (2 - v - sp.sqrt((2 - v) ** 2 - 2 * s * (a + 1))) / s
    end = 2 * met - 1 + (v + s * met) * (t - met) - s * (t - met) ** 2 / 2
    numbers = dict(zip(symbols, (0.5, 0.5, 0.25, 3.0), strict=True))
    sol = model.integrate(
        (0, 3), {"x": 0.5, "x_dot": 0.5}, {"k": 0.25}, inputs=RAMP, sensitivities=["x", "x_dot", "k"], **TIGHT
    )
    assert sol["x"][-1] == pytest.approx(float(end.subs(numbers)), abs=1e-9)
    expected = [float(sp.diff(end, by).subs(numbers)) for by in (a, v, s)]
    np.testing.assert_allclose(sol.sensitivity.y[0, :, -1], expected, rtol=0, atol=1e-8)


def test_a_block_slides_under_a_force_with_a_slope() -> None:
    """At rest until f + u = mu m g at t0, then x = (t - t0)^3 / 3 m."""
    x = cg.coordinates("x")
    m, mu, f = cg.parameters("m mu f")
    floor = cg.Coulomb("floor", slip=cg.rate(x), normal=10 * m, mu=mu)
    force = {cg.rate(x): f + cg.inputs("u")}
    model = cg.System(
        "drawn", coordinates=[x], kinetic=m * cg.rate(x) ** 2 / 2, forces=force, contacts=[floor]
    ).compile()
    names = {"m": 1.0, "mu": 0.3, "f": 2.0}
    symbols = sp.symbols("m mu f")
    begins = (1 - symbols[2] + 10 * symbols[1] * symbols[0]) / 2
    end = (3 - begins) ** 3 / (3 * symbols[0])
    sol = model.integrate(
        (0, 3), {"x": 0, "x_dot": 0}, names, inputs=RAMP, sensitivities=list(names), **TIGHT
    )
    assert [mode.contacts["floor"] for mode in sol.modes] == ["stick", "slip+"]
    numbers = dict(zip(symbols, names.values()))
    assert sol["x"][-1] == pytest.approx(float(end.subs(numbers)), abs=1e-9)
    expected = [float(sp.diff(end, by).subs(numbers)) for by in symbols]
    np.testing.assert_allclose(sol.sensitivity.y[0, :, -1], expected, rtol=0, atol=1e-8)
