"""Runs with dry friction and impacts: reference times of events, modes, closed forms, audits."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from mpmath import mp
from refusals import refused
from scipy.optimize import brentq
from slopes import check_slopes
from unit_masses import unit_masses

import chaplygin as cg
from chaplygin.systems import block_on_belt, brick_on_incline

KLEIN = json.loads((Path(__file__).parents[2] / "data" / "painleve_klein.json").read_text(encoding="utf-8"))
RUNS = {run["name"]: run for run in KLEIN["runs"]}
SLIP = {-1: "slip-", 0: "stick", 1: "slip+"}


@cache
def compiled(name: str, form: str | None = None) -> Any:
    entry = cg.example(name)
    return entry.system.compile(form or entry.forms[0])


def started(name: str) -> tuple[dict[str, float], dict[str, float]]:
    """Parameters and initial state of a reference run."""
    run = RUNS[name]
    x1, v1, x2, v2 = (float(v) for v in run["initial"])
    entry = cg.example("painleve_klein")
    parameters = {**entry.parameters, "K": float(run["K"]), "C": float(run["C"])}
    return parameters, {"x1": x1, "x2": x2, "x1_dot": v1, "x2_dot": v2}


def painleve_klein(name: str, form: str | None = None, **settings: Any) -> Any:
    parameters, initial = started(name)
    given = {"rtol": 1e-11, "atol": 1e-11, "initial": initial, "parameters": parameters}
    return compiled("painleve_klein", form).integrate((0, 2.5), **(given | settings))


@pytest.mark.parametrize("name", RUNS)
def test_painleve_klein_meets_the_reference(name: str) -> None:
    run, sol = RUNS[name], painleve_klein(name)
    assert sol.success, sol.message
    found = [tuple(entry.contacts.values()) for entry in sol.modes]
    assert found == [tuple(SLIP[s] for s in pair) for pair in [(1, 1), *run["modes"]]]
    np.testing.assert_allclose([entry.t_start for entry in sol.modes[1:]], run["t"], rtol=0, atol=1e-8)
    end = [float(sol[n][-1]) for n in ("x1", "x1_dot", "x2", "x2_dot")]
    np.testing.assert_allclose(end, run["end"], rtol=0, atol=1e-8)
    if run["modes"][-1:] == [[0, 0]]:
        assert end[1] == end[3] == 0.0  # exactly


@pytest.mark.parametrize("form", ["poincare", "hamel", "nonholonomic"])
def test_every_form_gives_the_same_run(form: str) -> None:
    name = "k=2 nu=1 eps=.1 delta0=.12"
    one, other = painleve_klein(name), painleve_klein(name, form)
    assert [m.contacts for m in one.modes] == [m.contacts for m in other.modes]
    np.testing.assert_allclose(other.y[:, -1], one.y[:, -1], rtol=0, atol=1e-9)


def test_a_brief_slip_is_found_at_default_tolerances() -> None:
    """Slider 2 slides from 0.5119 to 0.5347 only."""
    parameters, initial = started("k=2 nu=1 eps=.1 delta0=.12")
    sol = compiled("painleve_klein").integrate((0, 2.5), initial=initial, parameters=parameters)
    brief = [m for m in sol.modes if m.contacts == {"guide1": "slip-", "guide2": "slip+"}]
    assert len(brief) == 1
    assert brief[0].t_start == pytest.approx(0.5119077687, abs=1e-5)
    assert brief[0].t_end == pytest.approx(0.5346861393, abs=1e-5)


def test_the_kinks_of_the_normal_forces_do_not_hurt() -> None:
    """Both slide for ever, without reversals; the final state agrees with that of a 30-digit integration."""
    sol = painleve_klein("k=1 nu=.1 eps=.1 delta0=.03", rtol=1e-12, atol=1e-12)
    found = [float(sol[n][-1]) for n in ("x1", "x1_dot", "x2", "x2_dot")]
    np.testing.assert_allclose(found, RUNS["k=1 nu=.1 eps=.1 delta0=.03"]["end"], rtol=0, atol=1e-10)


# Closed forms


def belt_phases(t_end: float) -> list[tuple[str, float]]:
    """Mode and starting time of every phase of the closed form."""
    found = []
    with mp.workdps(30):
        for mode, t, _, _ in block_on_belt.phases():
            if t > t_end:
                return found
            found.append((mode, float(t)))
    raise AssertionError


def test_belt_sticks_and_slips_when_the_closed_form_does() -> None:
    entry = cg.example("block_on_belt")
    given = {"initial": entry.initial, "parameters": entry.parameters, "rtol": 1e-12, "atol": 1e-12}
    sol = compiled("block_on_belt").integrate((0, 20), **given)
    expected = belt_phases(20.0)
    assert len(expected) > 12
    assert [m.contacts["belt"] for m in sol.modes] == [mode for mode, _ in expected]
    np.testing.assert_allclose([m.t_start for m in sol.modes], [t for _, t in expected], rtol=0, atol=1e-9)
    times = np.linspace(0, 20, 101)
    sol = compiled("block_on_belt").integrate((0, 20), t_eval=times, **given)
    exact = entry.closed_form(times)
    for name in ("x", "x_dot"):
        np.testing.assert_allclose(sol[name], exact[name], rtol=0, atol=1e-9)


def test_no_creep_while_it_sticks() -> None:
    entry = cg.example("brick_on_incline")
    model = compiled("brick_on_incline")
    sol = model.integrate(
        (0, 1e6), initial={"x": 0.3, "x_dot": 0.0}, parameters=entry.parameters, inputs={"F": 1.0}
    )
    assert sol.success
    assert [m.contacts["plane"] for m in sol.modes] == ["stick"]
    assert float(sol["x"][-1]) == 0.3
    assert float(sol["x_dot"][-1]) == 0.0


@pytest.mark.parametrize(
    ("push", "speed"), [(0.0, -3.0), (-12.0, 2.0), (25.0, -1.0), (0.0, 2.0), (-30.0, 1.5)]
)
def test_brick_meets_the_closed_form(push: float, speed: float) -> None:
    entry, start = cg.example("brick_on_incline"), {"x": 0.1, "x_dot": speed}
    times = np.linspace(0, 3, 31)
    sol = compiled("brick_on_incline").integrate(
        (0, 3),
        initial=start,
        parameters=entry.parameters,
        inputs={"F": push},
        t_eval=times,
        rtol=1e-12,
        atol=1e-12,
    )
    exact = brick_on_incline.closed_form(times.tolist(), entry.parameters, start, push=push)
    for name in ("x", "x_dot"):
        np.testing.assert_allclose(sol[name], [float(v) for v in exact[name]], rtol=0, atol=1e-10)


def test_ball_bounces_when_the_closed_form_does_and_ends_near_zeno() -> None:
    entry = cg.example("bouncing_ball")
    g, e = entry.parameters["g"], entry.parameters["e"]
    first = np.sqrt(2 / g)
    given = {"initial": entry.initial, "parameters": entry.parameters, "rtol": 1e-12, "atol": 1e-12}
    sol = compiled("bouncing_ball").integrate((0, 3), **given)
    assert sol.success
    bounces = first + 2 * first * np.concatenate([[0], np.cumsum(e ** np.arange(1, len(sol.t_events[0])))])
    np.testing.assert_allclose(sol.t_events[0], bounces, rtol=0, atol=1e-11)
    sol = compiled("bouncing_ball").integrate((0, 10), **given)
    assert sol.status == -9
    assert sol.t_reached == pytest.approx(first * (1 + e) / (1 - e), abs=1e-8)


# Painlevé's paradox


def test_rigid_link_stops_where_it_has_two_solutions() -> None:
    entry = cg.example("painleve_klein_rigid")
    sol = entry.system.compile("multipliers").integrate(
        (0, 1), initial=entry.initial, parameters=entry.parameters
    )
    assert sol.status == -10
    assert sol.paradox.t == 0.0
    assert len(sol.paradox.solutions) == 2
    assert "slip+" in sol.message


def test_rigid_link_with_little_friction_slides_with_one_acceleration() -> None:
    """R = 4.16/1.44 solves 1.2 R = 3.6 - 0.1 (0.8 R - 0.8) + 0.2 (2.4 - 0.8 R), both normal forces positive."""
    entry = cg.example("painleve_klein_rigid", mu1=0.1, mu2=0.2)
    sol = entry.system.compile("multipliers").integrate(
        (0, 0.5), initial=entry.initial, parameters=entry.parameters, rtol=1e-11, atol=1e-11
    )
    assert sol.success, sol.message
    tension = 4.16 / 1.44
    rate = (3.6 - 0.1 * (0.8 * tension - 0.8) - 0.2 * (2.4 - 0.8 * tension)) / 2
    assert float(sol["R"][-1]) == pytest.approx(tension, rel=1e-9)
    assert float(sol["x1"][-1]) == pytest.approx(10 * 0.5 + rate * 0.5**2 / 2, abs=1e-10)
    assert float(sol["x1_dot"][-1]) == pytest.approx(10 + rate * 0.5, abs=1e-10)


def test_rod_slides_with_the_formula_of_its_normal_force() -> None:
    entry = cg.example("painleve_rod")
    sol = entry.system.compile("multipliers").integrate(
        entry.t_span, initial=entry.initial, parameters=entry.parameters, rtol=1e-11, atol=1e-11
    )
    assert sol.success, sol.message
    p, phi = entry.parameters, sol["phi"]
    normal = p["m"] * (p["g"] - p["a"] * sol["phi_dot"] ** 2 * np.sin(phi)) / sol["p"]
    sliding = sol["x_dot"] < -1e-9
    np.testing.assert_allclose(sol["normal_tip"][sliding], normal[sliding], rtol=1e-9)
    np.testing.assert_allclose(sol["y"], 0.0, atol=1e-10)


# Energy


@pytest.mark.parametrize(
    "name",
    [
        "painleve_klein",
        "block_on_belt",
        "two_mass_chain",
        "brick_on_incline",
        "painleve_rod",
        "bouncing_ball",
    ],
)
def test_runs_balance(name: str) -> None:
    entry = cg.example(name)
    model = compiled(name)
    sol = model.integrate(
        entry.t_span,
        initial=entry.initial,
        parameters=entry.parameters,
        inputs=dict.fromkeys(model.inputs, 0.0),
        rtol=1e-9,
        atol=1e-9,
    )
    assert sol.success, sol.message
    audit = sol.audit()
    assert audit, audit
    if "friction_power" in model.outputs:
        assert np.max(sol["friction_power"]) <= 1e-12


def test_friction_opposes_the_slip_whatever_the_sign_of_the_load() -> None:
    """Friction uses |N|: a negative load gives the same run as the positive one."""
    z = cg.coordinates("z")
    spring, mu = cg.parameters("spring mu", positive=True)
    load = cg.parameters("load")
    sole = cg.Coulomb("sole", slip=cg.rate(z), normal=load, mu=mu)
    block = unit_masses("block", [z], potential=spring * z**2 / 2, contacts=[sole]).compile()
    start, given = {"z": 1, "z_dot": 0}, {"spring": 20, "mu": 0.3}
    right, turned = (block.integrate((0, 3), start, given | {"load": s * 9.81}) for s in (1, -1))
    assert len(right.modes) == 4
    assert right.modes == turned.modes
    np.testing.assert_array_equal(right.y, turned.y)
    np.testing.assert_array_equal(turned["normal_sole"], -right["normal_sole"])
    strongest = 0.3 * 9.81
    late = 4 * np.spacing(3.0)  # a change of mode is located to a few units in the last place of t
    assert np.max(turned["friction_power"]) <= strongest * (20 + strongest) * late  # |force| max|dv/dt| late


V = cg.rate(cg.coordinates("x"))
JUMPS = {
    "sign": (sp.sign(V), "lagrange"),
    "multiple": (sp.sign(-3 * V) * -1, "hamel"),
    "branches": (sp.Piecewise((1, V > 0), (-1, True)), "poincare"),
    "uneven branches": (sp.Piecewise((2, V > 0), (0, True)) - 1, "nonholonomic"),
    "step": (2 * sp.Heaviside(V) - 1, "lagrange"),
}


@pytest.mark.parametrize("written", JUMPS)
@pytest.mark.sample(2)
def test_a_force_that_jumps_with_the_slip_holds_it_too(written: str) -> None:
    """v' = sin t - c sign v - friction: sticks up to mu + c, by the closed form; so do derivatives."""
    jump, form = JUMPS[written]
    c, mu = cg.parameters("c mu", positive=True)
    floor = cg.Coulomb("floor", slip=V, normal=1, mu=mu)
    model = unit_masses(
        "held", [cg.coordinates("x")], forces={V: sp.sin(cg.time) - c * jump}, contacts=[floor]
    ).compile(form)

    def closed(limit: float, end: float) -> float:
        leaves = np.arcsin(limit)
        stops = brentq(
            lambda t: np.cos(leaves) - np.cos(t) - limit * (t - leaves), leaves + 0.5, leaves + 6, xtol=1e-14
        )
        t = min(end, stops)
        return float(
            np.cos(leaves) * (t - leaves) - np.sin(t) + np.sin(leaves) - limit * (t - leaves) ** 2 / 2
        )

    start, given = {"x": 0, "x_dot": 0}, {"c": 0.3, "mu": 0.4}
    options: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-12}
    for end in (2.0, 3.5):  # while it slips, and after it has stopped
        slope = (closed(0.7 + 1e-5, end) - closed(0.7 - 1e-5, end)) / 2e-5
        expected = {"c": slope, "mu": slope}
        sol = check_slopes(model, "x", expected, (0, end), start, given, **options, abs=1e-8)
        assert [m.contacts["floor"] for m in sol.modes] == ["stick", "slip+", "stick"][: 2 + (end > 3)]
        assert sol["x"][-1] == pytest.approx(closed(0.7, end), abs=1e-10)


@pytest.mark.slow
def test_forces_that_jump_with_a_slip_between_blocks() -> None:
    """Two blocks on a floor, one on the other: the run of the same contacts with all of the friction."""
    x, y = cg.coordinates("x y")
    v, w = cg.rate(x), cg.rate(y)
    c, mu = cg.parameters("c mu", positive=True)

    def blocks(share: Any) -> Any:
        rough, slips = c * (1 + x**2 / 5), {"floor": v, "top": w - v}
        force = {v: sp.sin(2 * cg.time), w: sp.cos(cg.time) / 2}
        for slip in slips.values():
            force = {q: f - (1 - share) * rough * sp.diff(slip, q) * sp.sign(slip) for q, f in force.items()}
        contacts = [cg.Coulomb(n, slip=s, normal=1, mu=mu + share * rough) for n, s in slips.items()]
        return cg.System(
            "blocks",
            coordinates=[x, y],
            kinetic=v**2 / 2 + w**2,
            potential=x**2 / 2 + (x - y) ** 2,
            forces=force,
            contacts=contacts,
        ).compile()

    start = {"x": 0.3, "x_dot": 1, "y": -0.5, "y_dot": 0}
    options: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-11, "sensitivities": ["c", "mu"]}
    joined, one = (
        blocks(share).integrate((0, 9), start, {"c": 0.1, "mu": 0.2}, **options) for share in (0, 1)
    )
    assert joined.status == one.status == 0, joined.message
    assert len(joined.modes) == len(one.modes) > 8
    assert [m.contacts for m in joined.modes] == [m.contacts for m in one.modes]
    np.testing.assert_allclose(joined.y[:, -1], one.y[:, -1], atol=1e-9)
    np.testing.assert_allclose(joined.sensitivity.y[:, :, -1], one.sensitivity.y[:, :, -1], atol=1e-7)


def lined(name: str, liner: Any, **more: Any) -> Any:
    """A block on a belt that moves at 1: x'' = F + liner - friction."""
    x = cg.coordinates("x")
    f, mu = cg.parameters("F mu")
    return cg.System(
        name,
        coordinates=[x],
        kinetic=cg.rate(x) ** 2 / 2,
        forces={cg.rate(x): f + liner},
        contacts=[cg.Coulomb("belt", slip=cg.rate(x) - 1, normal=1, mu=mu)],
        **more,
    ).compile()


@pytest.mark.parametrize("force", [0.6, 0.75, -0.6])
def test_a_liner_whose_force_falls_with_the_slip_holds_with_the_contact(force: float) -> None:
    """sign(s) (c + exp(-|s|/k)/10): it sticks while |F| <= mu N + c + 1/10 = 0.8."""
    slip = cg.rate(cg.coordinates("x")) - 1
    c, k = cg.parameters("c k")
    model = lined("liner", -sp.sign(slip) * (c + sp.exp(-sp.Abs(slip) / k) / 10))
    numbers = {"F": force, "c": 0.2, "k": 0.3, "mu": 0.5}
    sol = model.integrate((0, 2), {"x": 0, "x_dot": 1}, numbers)
    assert sol["x"][-1] == pytest.approx(2, abs=1e-12)
    assert sol["friction_belt"][-1] == pytest.approx(-force, abs=1e-12)
    numbers = {"F": 0.9, "c": 0.2, "k": 1e9, "mu": 0.5}
    sol = model.integrate((0, 2), {"x": 0, "x_dot": 1}, numbers)
    assert sol["x"][-1] == pytest.approx(2 + 0.1 * 2, abs=1e-8)  # a = 0.9 - 0.5 - 0.2 - 0.1


def test_outputs_have_the_sign_of_a_slip_from_the_mode() -> None:
    """At the stop too, where the slip is zero before and after: (F + c + mu) v_belt before it, mean values after it."""
    slip = cg.rate(cg.coordinates("x")) - 1
    liner = -cg.parameters("c") * sp.sign(slip)
    outputs = {"liner": liner, "direction": sp.Piecewise((3, slip > 0), (1, True))}
    model = lined("lined", liner, outputs=outputs)
    sol = model.integrate((0, 1), {"x": 0, "x_dot": 0.9}, {"F": 0.3, "c": 0.2, "mu": 0.5})
    (stop, after) = np.flatnonzero(np.isclose(sol.t, 0.1, atol=1e-12))
    assert sol["slip_belt"][stop] == 0 == sol["slip_belt"][after]
    for name, before, then in (("liner", 0.2, 0), ("power", 1.0, 0), ("direction", 1, 2)):
        assert sol[name][stop] == pytest.approx(before, abs=1e-12)
        assert sol[name][after] == pytest.approx(then, abs=1e-12)


@pytest.mark.sample(1)
@pytest.mark.parametrize("jumps", ["force", "load", "coefficient"])
def test_what_a_slip_changes_by_any_function_of_its_sign_holds_it(jumps: str) -> None:
    """The slip is resisted by A forwards and B backwards: it stays at zero while -B <= F <= A."""
    x = cg.coordinates("x")
    v = cg.rate(x)
    f, c, mu = cg.parameters("F c mu")
    bent, resistance = c * sp.exp(sp.sign(v)), (mu + c * sp.E, mu - c / sp.E)
    force, load, coefficient = sp.Integer(0), sp.Integer(1), mu
    if jumps == "force":
        force = -bent
    elif jumps == "load":
        load, resistance = bent, (mu * c * sp.E, mu * c / sp.E)
    else:
        coefficient, resistance = mu + bent, (mu + c * sp.E, mu + c / sp.E)
    model = unit_masses(
        "uneven",
        [x],
        forces={v: f + force},
        contacts=[cg.Coulomb("floor", slip=v, normal=load, mu=coefficient)],
    ).compile()
    forwards, backwards = resistance
    stops = 0.3 / (forwards - f)
    held = 0.15 * stops
    gone = held + (f + backwards) * (2 - stops) ** 2 / 2
    numbers = {"c": 0.3, "mu": 0.4}
    least, most = (float(r.subs({c: 0.3, mu: 0.4})) for r in (-backwards, forwards))
    for push, then in ((least + 0.02, held), (most - 0.16, held), (least - 0.02, gone)):
        given = numbers | {"F": push}
        sol = model.integrate(
            (0, 2), {"x": 0, "x_dot": 0.3}, given, sensitivities=["c", "mu"], rtol=1e-10, atol=1e-12
        )
        assert sol.success, sol.message
        assert sol.modes[-1].contacts == {"floor": "stick" if then is held else "slip-"}
        point = {s: given[s.name] for s in (f, c, mu)}
        assert sol["x"][-1] == pytest.approx(float(then.subs(point)), abs=1e-9)
        for s in (c, mu):
            slope = float(sp.diff(then, s).subs(point))
            assert sol.sensitivity["x", s.name][-1] == pytest.approx(slope, abs=1e-8)


def test_a_load_of_multipliers_may_not_jump_with_a_slip() -> None:
    x, y = cg.coordinates("x y")
    mu = cg.parameters("mu")
    load = cg.multiplier(1) + sp.sign(cg.rate(x))
    system = unit_masses(
        "slider",
        [x, y],
        potential=y,
        holonomic=[y],
        contacts=[cg.Coulomb("floor", slip=cg.rate(x), normal=load, mu=mu)],
    )
    words = r"'floor': mu .N. jumps with .* take the jump out of mu and N"
    refused(words, system.equations, "multipliers", error=cg.DeclarationError)


def test_a_contact_that_drives_its_slip_at_the_start_is_refused() -> None:
    """By mu |N| itself, whatever holds the slip besides, or by a force that drives it by more than mu |N|."""
    x = cg.coordinates("x")
    v = cg.rate(x)
    c, mu, load = cg.parameters("c mu N")
    model = unit_masses(
        "driven", [x], forces={v: -c * sp.sign(v)}, contacts=[cg.Coulomb("belt", slip=v, normal=load, mu=mu)]
    ).compile()
    start, driven = (
        {"x": 0, "x_dot": 0.3},
        "at the start friction holds its slip by {}, and the other forces .* by 1;",
    )
    for numbers, words in (
        ((1, -0.5, 1), "mu = -0.5 is negative"),
        ((1, -0.5, 3), "mu = -0.5 is negative"),
        ((-1, 0.5, 1), driven.format(0.5)),
        ((-1, 0.5, 0), driven.format(0)),
    ):
        given = dict(zip(("c", "mu", "N"), numbers, strict=True))
        with pytest.raises(cg.ArgumentError, match=f"contact belt: {words}"):
            model.integrate((0, 1), start, given)
        with pytest.raises(cg.ArgumentError, match=f"contact belt: {words}"):
            model.stepper(start, {"c": 1, "mu": 0.5, "N": 1}).set_parameters(given)
    given = {"c": -1, "mu": 0.5, "N": np.array([3.0, 1.0])}
    with pytest.raises(cg.ArgumentError, match=r"contact belt: at the start in column 1 friction holds"):
        cg.ensemble(model, (0, 1), start, given)
    assert model.integrate((0, 1), start, given | {"N": 3}).success


@pytest.mark.parametrize("c", [2, 0.6, 0.4])
def test_a_slip_at_rest_has_no_sign_where_it_acts_on_others(c: float) -> None:
    """c sign(v) on w, with v held: w stops by its own friction alone, after 0.3**2 / (2 * 0.5)."""
    x, z = cg.coordinates("x z")
    v, w = cg.rate(x), cg.rate(z)
    f, push, mu = cg.parameters("F c mu")
    model = unit_masses(
        "pushed",
        [x, z],
        forces={v: f - x / 3, w: push * sp.sign(v)},
        contacts=[cg.Coulomb("a", slip=v, normal=1, mu=2), cg.Coulomb("b", slip=w, normal=1, mu=mu)],
    ).compile()
    start = {"x": 0.3, "z": 0.2, "x_dot": 0, "z_dot": 0.3}
    sol = model.integrate((0, 2), start, {"F": 0.1, "c": c, "mu": 0.5})
    assert sol.success, sol.message
    assert sol["z"][-1] == pytest.approx(0.2 + 0.09, abs=1e-9)
    assert sol["x"][-1] == 0.3


def test_two_blocks_come_to_rest() -> None:
    entry = cg.example("two_mass_chain")
    sol = compiled("two_mass_chain").integrate(
        (0, 20), initial=entry.initial, parameters=entry.parameters, rtol=1e-10, atol=1e-10
    )
    assert sol.modes[-1].contacts == {"block1": "stick", "block2": "stick"}
    assert sol.modes[-1].t_end == 20
    assert len({tuple(m.contacts.values()) for m in sol.modes}) >= 5
    p = entry.parameters
    pull = p["k2"] * (sol["x2"][-1] - sol["x1"][-1])
    assert abs(pull) <= p["mu2"] * p["m2"] * p["g"]
    assert abs(pull - p["k1"] * sol["x1"][-1]) <= p["mu1"] * p["m1"] * p["g"]


def test_woodpecker_pecks_its_way_down() -> None:
    """Near the published cycle of 0.145 s; the elastic contacts of the sleeve are our own model."""
    entry = cg.example("woodpecker")
    sol = compiled("woodpecker").integrate(
        (0, 1.0), initial=entry.initial, parameters=entry.parameters, rtol=1e-8, atol=1e-10
    )
    assert sol.success, sol.message
    strokes = sol.t_events[0]
    periods = np.diff(strokes)
    assert len(strokes) >= 5
    assert np.all((periods > 0.1) & (periods < 0.2))
    assert np.all(np.diff([float(y) for y in sol.y_events[0][:, 0]]) < 0)
    assert {m.contacts["sleeve"] for m in sol.modes} >= {"stick", "slip-"}
