"""Events that occur only where a condition holds, and runs that go on from an event, against closed forms."""

from __future__ import annotations

import collections
import functools
import pickle
from typing import Any

import numpy as np
import pytest
import sympy as sp
from refusals import refused
from scipy import stats

import chaplygin as cg
from chaplygin.errors import DeclarationError
from chaplygin.runtime import Model

PRECISE = {"rtol": 1e-11, "atol": 1e-11}


@functools.cache
def marked() -> cg.System:
    """A point at x = v t on a line with marks; m is set to 1 at x = 2."""
    x, v, m = cg.coordinates("x v m")
    on, u = cg.parameters("on"), cg.inputs("u")
    t = cg.time
    marks = {
        "before": cg.Event(x - 1, when=x < 1),
        "after": cg.Event(x - 1, when=x >= 1),
        "early": cg.Event(x - 1, when=t < 2),
        "late": cg.Event(x - 1, when=t > 2),
        "second": cg.Event((x - 1) * (x - 2), when=sp.And(x > sp.Rational(3, 2), on > 0)),
        "falls": cg.Event(x - 1, direction=-1, when=v > 0),
        "driven": cg.Event(2 * x - 5, when=sp.Or(v < 0, u > 0.5)),
        "first": cg.Event(x - 2, when=sp.Eq(m, 1)),
        "set": cg.Event(x - 2, reset={m: 1}),
        "last": cg.Event(x - 2, when=sp.Eq(m, 1)),
        "then": cg.Event(x - 2.25, direction=1, when=sp.Eq(m, 1)),
    }
    events = [cg.Event(e.expr, e.direction, reset=e.reset, name=n, when=e.when) for n, e in marks.items()]
    return cg.System("marked", kinematics={x: v, v: 0, m: 0}, events=events)


@functools.cache
def compiled() -> Model:
    return marked().compile()


EXPECTED = {"before": [1], "early": [1], "second": [2], "driven": [2.5], "set": [2], "then": [2.25]}
START = {"x": 0, "v": 1, "m": 0}


def found(model: Model, run: Any) -> dict[str, list[float]]:
    return {n: t.tolist() for n, t in zip(model.events, run.t_events, strict=True) if len(t)}


@pytest.mark.parametrize("method", ["dop853", "rk4", "rodas5p"])
def test_an_event_occurs_where_its_condition_holds_before_it(method: str) -> None:
    how = {"method": method, **({"first_step": 0.1} if method == "rk4" else PRECISE)}
    for on, u, absent in ((1, 1, ()), (-1, 0, ("second", "driven"))):
        run = compiled().integrate((0, 3), START, {"on": on}, {"u": u}, **how)
        expected = {n: pytest.approx(t, abs=1e-12) for n, t in EXPECTED.items() if n not in absent}
        assert found(compiled(), run) == expected
        assert run["m"][-1] == 1


def test_the_side_is_that_of_the_direction_of_the_run() -> None:
    run = compiled().integrate((0, -2), {"x": 2.1, "v": 1, "m": 0}, {"on": 1}, {"u": 0}, **PRECISE)
    assert found(compiled(), run) == {
        **{name: pytest.approx([-1.1]) for name in ("after", "early", "falls")},
        **{name: pytest.approx([-0.1]) for name in ("second", "set")},
    }  # fmt: skip


def test_lanes_steppers_and_pickles_decide_alike() -> None:
    speeds = np.linspace(-1, 3, 13)
    given = {**START, "v": speeds}, {"on": 1}, {"u": 1}
    lanes, alone = (cg.ensemble(compiled(), (0, 2), *given, lanes=n, **PRECISE) for n in (4, 1))
    np.testing.assert_array_equal(lanes.y, alone.y)
    copy = pickle.loads(pickle.dumps(marked())).compile()
    for j, v in enumerate(speeds):
        start = {**START, "v": float(v)}, {"on": 1}, {"u": 1}
        run = copy.integrate((0, 2), *start, **PRECISE)
        np.testing.assert_array_equal(run.y[:, -1], lanes.y[:, j])
        assert found(copy, run) == found(copy, lanes.rerun(j))
        stepper = compiled().stepper(*start, **PRECISE)
        seen = []
        for t in np.linspace(0, 2, 8)[1:]:
            saved = stepper.save()
            stepper.advance(t)
            stepper.restore(saved)
            assert stepper.events == []
            stepper.advance(t)
            seen += [name for _, name in stepper.events]
        assert sorted(seen) == sorted(found(copy, run))


@functools.cache
def struck(condition: bool, terminal: bool = False) -> Model:
    """A point whose speed doubles where it rises through x = 0."""
    x, v = cg.coordinates("x v")
    strike = cg.Event(x, 1, terminal, {v: 2 * v}, "strike", v < 0 if condition else None)
    return cg.System("struck", kinematics={x: v, v: 0}, events=[strike]).compile()


def test_a_start_after_its_own_event() -> None:
    start = {"x": 0, "v": 1}
    assert found(struck(False), struck(False).integrate((0, 1), start)) == {"strike": [0]}
    run = struck(True).integrate((0, 1), start, sensitivities=["x", "v"], **PRECISE)
    assert found(struck(True), run) == {}
    np.testing.assert_allclose(run.sensitivity.y[:, :, -1], [[1, 1], [0, 1]], atol=1e-12)
    slopes = struck(True).gradient(cg.final("x"), (0, 1), start, **PRECISE)
    assert (slopes["x"], slopes["v"]) == pytest.approx((1, 1), abs=1e-12)


def test_a_run_goes_on_from_the_event_that_ended_the_last_one() -> None:
    model = struck(False, terminal=True)
    first = model.integrate((0, 3), {"x": -1, "v": 1}, **PRECISE)
    assert (first.status, first.t[-1], first["v"][-1]) == (1, pytest.approx(1), 2)
    second = model.integrate((1, 3), first, **PRECISE)
    assert (second.status, second["x"][-1], second(2.0)[0]) == (0, pytest.approx(4), pytest.approx(2))
    varied = model.integrate((1, 3), initial=first, sensitivities=["v"], **PRECISE)
    assert varied.sensitivity["x", "v"][-1] == pytest.approx(2)
    assert model.gradient(cg.final("x"), (1, 3), first, **PRECISE)["v"] == pytest.approx(2)
    for keywords in ({}, {"sensitivities": ["v"]}):
        stepper = model.stepper(first, t0=1.0, **keywords, **PRECISE)
        assert (stepper.advance(3.0)[0], stepper.status, stepper.events) == (pytest.approx(4), 0, [])
    stepper = model.stepper(first, t0=1.0)
    saved = stepper.save()
    stepper.set_state(x=0.0)  # begins anew
    stepper.advance(2.0)
    assert (stepper.status, stepper.t) == (1, 1)
    stepper.restore(saved)
    stepper.advance(2.0)
    assert (stepper.status, stepper.t) == (0, 2)
    for start in -np.random.default_rng(1).uniform(
        0.1, 40, 20
    ):  # located by another clock than it goes on with
        first = model.integrate((0, 50), {"x": start, "v": 1})
        assert found(model, model.integrate((0, 1), first)) == {}
    again = model.integrate((1, 3), dict(zip(model.states, first.y[:, -1])))  # no more than numbers
    assert (again.status, again.t[-1], again["v"][-1]) == (1, 1, 4)


@functools.cache
def ball() -> Model:
    """A run of it is a flight, which the next bounce ends."""
    y, (e, g), wind = cg.coordinates("y"), cg.parameters("e g", positive=True), cg.inputs("wind")
    v = cg.rate(y)
    bounce = cg.Event(y, -1, True, {v: -e * v}, "bounce")
    return cg.System(
        "ball", coordinates=[y], kinetic=v**2 / 2, potential=g * y, forces={v: wind}, events=[bounce]
    ).compile()


BOUNCY, HEIGHT = np.linspace(0.5, 1, 9), np.linspace(1, 3, 9)


WAYS: dict[str, tuple[dict[str, int], dict[str, Any]]] = {
    "alone": ({"lanes": 1}, {}), "threads": ({"lanes": 2, "threads": 2, "chunk": 2}, {}), "4": ({"lanes": 4}, {}),
    "8": ({"lanes": 8}, {"method": "tsit5"}), "varied": ({}, {"sensitivities": ["e"]}),
    "rk4": ({}, {"method": "rk4", "first_step": 0.01}),
}  # fmt: skip


@pytest.mark.parametrize(("how", "varied"), WAYS.values(), ids=WAYS)
@pytest.mark.sample(1)
def test_ensembles_go_on_from_the_events_that_ended_their_trajectories(how: Any, varied: Any) -> None:
    """The flights of balls, bit for bit those of single runs; each takes e times as long as the one before."""
    many = cg.ensemble(
        ball(), (0, 9), {"y": HEIGHT, "y_dot": 0}, {"e": BOUNCY, "g": 10}, {"wind": 0.1}, **how, **varied
    )
    alone = [many.rerun(j) for j in range(len(many))]
    for k in range(1, 4):
        many = cg.ensemble(ball(), (0, 9), many, **how, **varied)
        alone = [ball().integrate((0, 9), run, **varied) for run in alone]
        np.testing.assert_allclose(many.t, 2 * BOUNCY**k * np.sqrt(2 * HEIGHT / 9.9), rtol=1e-5)
        assert many.t.tolist() == [run.t[-1] for run in alone]
        assert many.y.tobytes() == np.array([run.y[:, -1] for run in alone]).T.tobytes()
        again = many.rerun(4)
        assert (again.status, again.t[-1], again.y[:, -1].tolist()) == (1, many.t[4], many.y[:, 4].tolist())


def test_all_trajectories_go_on_from_one_run() -> None:
    """Of ensembles, studies and responses, whatever replaces its parameters."""
    first = ball().integrate((0, 9), {"y": 1, "y_dot": 0}, {"e": 0.5, "g": 10}, {"wind": 0.1})
    pulls, many = np.array([5.0, 10.0, 20.0]), ball().ensemble
    for given in (pulls, cg.jointly(("g",), [pulls], rows="in order")):
        given = {"g": given} if given is pulls else [given]
        t = cg.ensemble(ball(), (0, 9), first, given, n=3).t
        np.testing.assert_allclose(t, np.sqrt(19.8) / (pulls - 0.1), rtol=1e-6)
        study = cg.study(ball(), (0, 9), first, given, n=3, collect={"t": cg.final("t")})
        assert study.results["t"]["t"].tolist() == t.tolist() == [study.rerun(i).t[-1] for i in range(3)]
    response = cg.response(ball(), (0, 9), "t", first, {"g": stats.uniform(5, 15)})
    assert response([pulls]).tolist() == t.tolist()
    second = cg.ensemble(ball(), (0, 9), first, {"g": pulls}, t_eval=[0.1])
    for wrong, message in (
        (lambda: many((0, 1), second), "whose t_eval does not keep its ends; leave t_eval out"),
        (lambda: many((0, 9), many((0, 9), first, n=2), n=3), r"initial has shape \(2, 2\)"),
        (lambda: ball().integrate((0, 1), many((0, 9), first, n=2)), "ens.rerun"),
        (lambda: many((0, 1), many((0, 9), first, max_steps=1, n=3)), "trajectory 0 ended with"),
    ):
        refused(message, wrong)


def test_a_state_may_be_called_past() -> None:
    """Whose attribute a pandas Series has as well as a result knows the events that are past."""
    past = cg.coordinates("past")
    begin = collections.namedtuple("Begin", "past")(1.0)
    run = cg.System("fading", kinematics={past: -past}).compile().integrate((0, 1), begin, **PRECISE)
    assert run["past"][-1] == pytest.approx(np.exp(-1))


def test_conditions_are_shown_and_checked() -> None:
    x, v, p = cg.coordinates("x"), cg.velocities("v"), cg.parameters("p")
    assert repr(cg.Event(x, when=v < p)).endswith("name=None, when=v < p)")
    for wrong, message in (
        (x == p, r"when is False, which no motion changes; .* sympy.Eq\(a, b\)"),
        (True, "when is True, which no motion changes"),
        ("x < 0", "when is 'x < 0'; give a condition such as x < 0"),
        (x - p, "when is -p \\+ x; give a condition such as x < 0"),
        (lambda t, y: True, "when is .*; give a condition such as x < 0"),
    ):
        refused(message, cg.Event, x, when=wrong, error=DeclarationError)
    strange = cg.Event(x, when=sp.Symbol("q") < 1, name="mark")
    with pytest.raises(DeclarationError, match=r"events\['mark'\].when: unknown symbol 'q'"):
        cg.System("one", coordinates=[x], kinetic=cg.rate(x) ** 2 / 2, events=[strange])
    plain, more = (
        cg.System("one", kinematics={x: 1}, events=[cg.Event(x, name="mark", when=c)])
        for c in (x < p, x < 2 * p)
    )
    assert plain.digest != more.digest


@pytest.mark.parametrize(("make", "kind"), [(cg.parameters, "a parameter"), (cg.inputs, "an input")])
def test_what_no_event_can_set_is_refused_with_what_can(make: Any, kind: str) -> None:
    x, m = cg.coordinates("x"), make("m")
    words = rf"{kind}, which no event sets; .*kinematics=\{{\.\.\., m: 0\}}"
    refused(words, cg.Event, x, reset={m: 1}, error=DeclarationError)
    x, mode = cg.coordinates("x mode")
    v = cg.velocities("v")
    turned = cg.Event(x - 1, direction=1, reset={mode: 1}, name="turned")
    system = cg.System(
        "switched", kinematics={x: v, mode: 0}, kinetic=v**2 / 2, forces={v: -mode * v}, events=[turned]
    )
    run = system.compile().integrate((0, 2), {"x": 0, "v": 1, "mode": 0}, **PRECISE)
    assert (run["x"][-1], run["mode"][-1]) == (pytest.approx(2 - np.exp(-1)), 1)
