"""Derivatives where several things happen at one instant: against differences of runs on both sides.

Where the differences of both sides agree, sensitivities, ensembles and gradients do too; elsewhere they end with
status -15.
"""

from __future__ import annotations

from collections.abc import Set
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
import sympy as sp
from slopes import check_slopes
from unit_masses import unit_masses

import chaplygin as cg

T = cg.time
x, y, z = cg.coordinates("x y z")
v, w, u = cg.rate(x), cg.rate(y), cg.rate(z)
k, mu, b, c, e = cg.parameters("k mu b c e", positive=True)
nu, n = cg.parameters("nu n")
MOVING = (v**2 + w**2) / 2
EXACT: dict[str, Any] = {"method": "vern9", "rtol": 1e-13, "atol": 1e-13}


class Case(NamedTuple):
    """Masses of 1, by their numbers: which quantity is differentiated by what, until when, and what acts on them.

    A pair of numbers is a range, of which one is taken at random; a name has the number of that name.
    """

    quantity: str
    by: str
    t1: float
    numbers: dict[str, Any]
    acts: dict[str, Any]


def foot(name: str, slip: Any = v, normal: float = 1, mu: Any = mu) -> cg.Coulomb:
    return cg.Coulomb(name, slip=slip, normal=normal, mu=mu)


SPRING = {"potential": k * x**2 / 2}
SPRINGS = {"potential": k * (x**2 + y**2) / 2 + c * (x - y) ** 2}
SWUNG = {"x": 0.0, "x_dot": (1, 2), "k": (3, 5)}
CROSSING = {"x": 0.0, "x_dot": (1, 2), "y": 0.0, "y_dot": "x_dot", "z": 0.0, "z_dot": 0.0, "k": 0.3, "e": (0.2, 0.8),
            "b": (0.4, 0.8), "c": "b"}  # fmt: skip
CASES: dict[str, Case] = {
    "three feet with one slip": Case(
        "x", "k mu x", 3, {"x": (1, 2), "x_dot": 0.0, "k": (3, 5), "mu": (0.02, 0.06)},
        {**SPRING, "contacts": [foot(f"foot_{i}", normal=1 + i) for i in range(3)]},
    ),
    "two equal blocks with a spring between": Case(
        "y", "k mu x nu", 3,
        {"x": 1.0, "x_dot": 0.0, "y": 1.0, "y_dot": 0.0, "k": (3, 5), "c": (0.2, 2), "mu": (0.1, 0.3), "nu": 0.0},
        {**SPRINGS, "contacts": [foot("a"), foot("b", w, mu=mu * (1 + nu))]},
    ),
    "two symmetric stops": Case(
        "x", "k b e n x_dot", 1.5,
        {"x": 0.0, "x_dot": 2.0, "y": 0.0, "y_dot": 2.0, "k": (3, 5), "c": (0.2, 2), "b": (0.4, 0.6), "e": 0.8, "n": 0},
        {**SPRINGS, "events": [cg.Event(x - b, direction=1, reset={v: -e * v}, name="first"),
                               cg.Event(y - b - n, direction=1, reset={w: -e * w}, name="second")]},
    ),
    "three kinks on one surface": Case(
        "x", "k b c e x", 2, {"x": 0.0, "x_dot": (1, 2), "b": (0.3, 0.6), "k": 0.3, "c": (0.1, 0.4), "e": 0.2},
        {"forces": {v: -k * sp.sign(x - b) - c * sp.sign(3 * x - 3 * b) - sp.Piecewise((e, x > b), (0, True))}},
    ),
    "a thrust that ends, and a push then": Case(
        "x", "k b c n", 3,
        {"x": 0.0, "x_dot": (0, 1), "b": (0.8, 1.2), "k": 3.0, "c": (0.5, 2), "e": 0.4, "n": (-1, 1)},
        {**SPRING, "forces": {v: sp.Piecewise((c, b > T), (0, True)) + sp.Piecewise((e, T / b < 1), (0, True))},
         "events": [cg.Event(T - b, reset={v: v + n}, name="push")]},
    ),
    "the end where sign(v) jumps": Case(
        "x", "k c e x_dot", 20, {"x": 0.5, "x_dot": (1, 2), "k": (0.3, 0.6), "c": (0.1, 0.4), "e": 0.3},
        {"forces": {v: -k * sp.sign(v) - c * v},
         "events": [cg.Event(v, terminal=True, reset={x: x * (1 + e)}, name="stop")]},
    ),
    "the end in a stop that leaves it at rest": Case(
        "y", "k c b x_dot y", 3,
        {"x": 0.0, "x_dot": (2, 3), "y": 0.5, "y_dot": (-1, 1), "k": (0.8, 1), "c": (1.2, 2), "b": 0.7},
        {"potential": k * (x**2 + y**2) / 2, "forces": {v: c},
         "events": [cg.Event(x - b, reset={v: 0}, name="stop"), cg.Event(3 * x - 3 * b, terminal=True, name="end")]},
    ),
    "a wall that pushes and bounces": Case(
        "x", "k e x", 2, {"x": (0.5, 1), "x_dot": 0.0, "k": (0.1, 0.5), "e": (0.6, 0.9)},
        {"forces": {v: -1 - k * sp.sign(x)}, "events": [cg.Event(x, direction=-1, reset={v: -e * v}, name="wall")]},
    ),
    "two kinks of a third motion": Case(
        "z", "k b c e", 2, CROSSING, {"forces": {u: -k * sp.sign(x - b) * (1 + e * sp.sign(y - c))}},
    ),
    "two sums of jumps": Case(
        "z", "k b c e", 2, CROSSING, {"forces": {u: -k * sp.sign(x - b) + e * sp.sign(y - c)}},
    ),
    "resets in an order": Case(
        "y", "b c e k", 2,
        {"x": 0.0, "x_dot": 1.0, "y": 0.0, "y_dot": (0, 1), "b": (0.5, 1.5), "c": "b", "e": 0.5, "k": (0, 1)},
        {"events": [cg.Event(x - b, reset={w: (1 + e) * w}, name="first"),
                    cg.Event(T - c, reset={w: w + k}, name="second")]},
    ),
    "an event whose quantity jumps": Case(
        "x", "k b e x_dot", 1, {"x": 0.0, "x_dot": 2.0, "k": (3, 5), "b": (0.4, 0.6), "e": (0.6, 0.9)},
        {**SPRING, "events": [cg.Event(x - b + sp.sign(x - b), direction=1, reset={v: -e * v}, name="stop")]},
    ),
    "a block that ends where it stops": Case(
        "x", "k mu e x_dot", 2, {"x": 0.1, "x_dot": (1, 2), "k": (3, 5), "mu": (0.1, 0.3), "e": 0.1},
        {**SPRING, "contacts": [foot("floor")],
         "events": [cg.Event(v, direction=-1, reset={x: x + e * T}, name="top")]},
    ),
    "two blocks that stop together by chance": Case(
        "x", "k mu c", 4,
        {"x": 0.0, "x_dot": 1.0, "y": 0.0, "y_dot": 1.0, "k": 1.0, "c": (0.1, 0.3), "mu": (0.3, 0.6)},
        {"potential": c * x * y, "contacts": [foot("a"), foot("b", w, mu=k * mu)]},
    ),
    "a force that jumps over the limit of a floor": Case(
        "x", "k e mu b y_dot", 2,
        {"x": 0.0, "x_dot": 0.0, "y": 0.0, "y_dot": (1, 2), "k": (0.3, 0.6), "e": 0.1, "mu": (0.2, 0.4), "b": (0.5, 1)},
        {"forces": {v: k * (1 + sp.sign(y - b)) + e}, "contacts": [foot("floor")]},
    ),
    "a stop that tears off what stuck": Case(
        "y", "k e mu x_dot", 2,
        {"x": (0, 0.1), "x_dot": (1.3, 1.6), "y": 0.0, "y_dot": 0.0, "k": (0.5, 0.7), "e": (0.4, 0.43), "mu": 0.2},
        {"kinetic": MOVING + v * w / 3, "potential": x**2 / 2, "forces": {v: -k * sp.sign(v), w: -e},
         "contacts": [foot("floor", w)]},
    ),
    "a brake that lets go, with friction": Case(
        "x", "k c b x_dot", 2, {"x": 0.0, "x_dot": (2, 3), "k": (0.8, 1), "c": (0.2, 0.6), "b": (0.4, 0.8)},
        {"forces": {v: -k - c * sp.sign(v)}, "events": [cg.Event(x - b, direction=1, reset={v: 0}, name="brake")]},
    ),
    "an event at the start": Case(
        "x", "k e x_dot n x", 1, {**SWUNG, "e": (0.5, 2), "n": 0.0},
        {**SPRING, "events": [cg.Event(x - n, direction=1, reset={v: e * v}, name="gate")]},
    ),
    "an end at the start": Case(
        "x_dot", "k e x_dot n x", 1, {**SWUNG, "e": (0.5, 2), "n": 0.0},
        {**SPRING, "events": [cg.Event(x - n, direction=1, terminal=True, reset={v: e * v + k}, name="gate")]},
    ),
}  # fmt: skip


@cache
def model_of(name: str) -> Any:
    case = CASES[name]
    return unit_masses("instant", [q for q in (x, y, z) if q.name in case.numbers], **case.acts).compile()


def differences(name: str, model: Any, numbers: dict[str, float], by: str) -> tuple[float, float]:
    """Those on the left and on the right, of the fourth order."""
    case = CASES[name]

    def final(step: float) -> float:
        sol = model.integrate((0, case.t1), *split(model, {**numbers, by: numbers[by] + step}), **EXACT)
        assert sol.status >= 0, sol.message
        return float(sol[case.quantity][-1])

    def one_sided(h: float) -> float:
        f = [final(i * h) for i in range(5)]
        return float(np.dot([-25, 48, -36, 16, -3], f)) / (12 * h)

    return one_sided(-4e-4), one_sided(4e-4)


def split(model: Any, numbers: dict[str, float]) -> tuple[dict[str, float], dict[str, float]]:
    return {s: numbers[s] for s in model.states}, {p: numbers[p] for p in model.parameters}


@pytest.mark.sample(4)
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", list(CASES))
def test_several_things_at_one_instant(name: str, seed: int) -> None:
    case, model = CASES[name], model_of(name)
    rng, numbers = np.random.default_rng(seed), {}
    for key, given in case.numbers.items():
        numbers[key] = rng.uniform(*given) if isinstance(given, tuple) else numbers.get(given, given)
    start = split(model, numbers)
    t1, quantity = case.t1, case.quantity
    for by in case.by.split():
        left, right = differences(name, model, numbers, by)
        least = 1e-6 * max(1.0, abs(left))
        given, how = ((0, t1), *start), {"rtol": 1e-11, "atol": 1e-11}
        if abs(left - right) < 1e-5:
            check_slopes(model, quantity, {by: left}, *given, **how, ended=(0, 1), abs=least)
        else:
            ens = cg.ensemble(model, *given, n=2, sensitivities=[by], **how)
            sol = model.integrate(*given, sensitivities=[by], **how)
            assert (sol.status, *ens.status) == (-15, -15, -15), (by, left, right, sol.message)
            with pytest.raises(cg.KernelError, match="in an order that matters") as error:
                model.gradient(cg.final(quantity), *given, by=[by], **how)
            assert error.value.status == -15


def test_derivatives_at_an_event_where_a_force_jumps() -> None:
    """The stop of test "the end where sign(v) jumps": v^2 = u^2 - 2 k x, so it stops at t = u / k, x = u^2 / 2 k."""
    stop = cg.Event(v, terminal=True, name="stop")
    system = unit_masses("stopped", [x], forces={v: -k * sp.sign(v)}, events=[stop])
    model = system.compile()
    sol = model.integrate((0, 9), {"x": 0, "x_dot": 2}, {"k": 0.5}, sensitivities=["k", "x_dot"], **EXACT)
    assert sol.status == 1
    found = sol.sensitivity.events["stop"]
    for side in (found.before, found.after):
        np.testing.assert_allclose(side.y[:, :, 0], [[-8.0, 4.0], [0.0, 0.0]], atol=1e-8)
    np.testing.assert_allclose(found.t[0], [-8.0, 2.0], atol=1e-8)
    np.testing.assert_allclose(sol.sensitivity.y[:, :, -1], [[-8.0, 4.0], [0.0, 0.0]], atol=1e-8)
    for quantity, slope in (("x", -8.0), ("x_dot", 0.0), ("t", -8.0)):
        given = (0, 9), {"x": 0, "x_dot": 2}, {"k": 0.5}
        assert model.gradient(cg.final(quantity), *given, by=["k"])["k"] == pytest.approx(slope, abs=1e-7)


@pytest.mark.parametrize("given", [{}, {"kinks": True}, {"sensitivities": ["k"]}], ids=str)
def test_a_force_that_jumps_within_the_limit_of_a_floor_leaves_it_at_rest(given: dict[str, Any]) -> None:
    """x stops at the amplitude and goes back, against a force that jumps between the limits of the floor."""
    model = model_of("a stop that tears off what stuck")
    numbers = {"x": 0.06, "x_dot": 1.38, "y": 0.0, "y_dot": 0.0, "k": 0.5, "e": 0.35, "mu": 0.2}
    far = np.hypot(0.56, 1.38) - 0.5  # x + k swings around zero, then x - k does
    stop = np.arctan2(1.38, 0.56)
    for tolerance in (1e-5, 1e-8, 1e-11):
        options = {"rtol": tolerance, "atol": tolerance, **given}
        sol = model.integrate((0, stop + 0.3), *split(model, numbers), **options)
        assert sol.status == 0, sol.message
        x1 = 0.5 + (far - 0.5) * np.cos(0.3)
        np.testing.assert_allclose(sol.y[:2, -1], [x1, 0.0], atol=10 * tolerance)
        assert len(sol.modes) == 1


@pytest.mark.slow
def test_drag_of_a_block_that_sticks() -> None:
    """While it sticks, its speed is zero, and where |v| has its kink is rounding."""
    system = cg.System(
        "dragged",
        coordinates=[x, y],
        kinetic=MOVING + v * w * sp.cos(x - y) / 3,
        potential=k * x**2 / 2 + y**2 / 2,
        forces={v: -c * v * sp.Abs(v)},
        contacts=[cg.Coulomb("floor", slip=v, normal=1 + x**2 / 7, mu=mu)],
    )
    model = system.compile()
    for x0 in np.linspace(1, 3, 9):
        numbers = {"x": x0, "x_dot": 0.0, "y": 0.3, "y_dot": 0.0, "k": 2.0, "c": 0.15, "mu": 0.3}
        h = 2e-5
        ends = [
            model.integrate((0, 6), *split(model, {**numbers, "c": 0.15 + step}), **EXACT)["y"][-1]
            for step in (-h, h)
        ]
        expected, given = {"c": (ends[1] - ends[0]) / (2 * h)}, split(model, numbers)
        check_slopes(model, "y", expected, (0, 6), *given, rtol=1e-11, atol=1e-11, abs=1e-6)


@cache
def two_feet() -> Any:
    """A block on two feet, with the friction mu and 2 mu, and a spring."""
    contacts = [cg.Coulomb("a", slip=v, normal=1, mu=mu), cg.Coulomb("b", slip=v, normal=2, mu=mu)]
    system = unit_masses("two_feet", [x], potential=k * x**2 / 2, forces={v: n}, contacts=contacts)
    return system.compile()


@pytest.mark.parametrize("force", [0.0, 0.04, 0.11, 0.29, -0.29, 0.31])
def test_two_feet_with_one_slip_stick_together(force: float) -> None:
    """They bear 3 mu; with more the block moves as on one foot: x = (F - 3 mu) (1 - cos q t) / k."""
    model, numbers = two_feet(), {"k": 4.0, "mu": 0.1, "n": force}
    sol = model.integrate((0, 1), {"x": 0, "x_dot": 0}, numbers, rtol=1e-10, atol=1e-12)
    assert sol.status == 0, sol.message
    expected = max(force - 0.3, 0) * (1 - np.cos(2.0)) / 4
    assert sol["x"][-1] == pytest.approx(expected, abs=1e-10)
    ens = cg.ensemble(model, (0, 1), {"x": [0.0] * 5, "x_dot": 0}, numbers, rtol=1e-10, atol=1e-12)
    assert (ens["x"] == sol["x"][-1]).all()
    names = ["n", "mu"]
    varied = model.integrate(
        (0, 1), {"x": 0, "x_dot": 0}, numbers, sensitivities=names, rtol=1e-10, atol=1e-12
    )
    slope = (1 - np.cos(2.0)) / 4 * (force > 0.3)
    np.testing.assert_allclose(varied.sensitivity.y[0, :, -1], [slope, -3 * slope], atol=1e-8)


def test_two_feet_without_a_force_come_to_rest() -> None:
    """They slide u^2 / 6 mu, and rest."""
    model = two_feet()
    sol = model.integrate(
        (0, 5), {"x": 0, "x_dot": 0.5}, {"k": 1e-9, "mu": 0.1, "n": 0.0}, sensitivities=["mu"]
    )
    assert sol.status == 0, sol.message
    assert sol["x"][-1] == pytest.approx(0.25 / 0.6, rel=1e-8)
    assert sol.sensitivity["x", "mu"][-1] == pytest.approx(-0.25 / 0.06, rel=1e-6)


@pytest.mark.slow
def test_friction_in_two_joints_passes_a_dead_centre() -> None:
    """A crank with friction in both joints of its rod: where the rod does not turn, the crank goes on.

    The energy that is lost is the friction times the angles through which the joints turn.
    """
    th, ph, s = cg.coordinates("th ph s")
    length, inertia = sp.Rational(5, 2), cg.parameters("J", positive=True)
    kinetic = (inertia * cg.rate(th) ** 2 + cg.rate(s) ** 2) / 2
    closed = [sp.cos(th) + length * sp.cos(ph) - s, sp.sin(th) - length * sp.sin(ph)]
    contacts = [
        cg.Coulomb("crank", slip=cg.rate(th), normal=1, mu=mu),
        cg.Coulomb("rod", slip=cg.rate(ph), normal=1, mu=mu),
    ]
    system = cg.System("crank", coordinates=[th, ph, s], kinetic=kinetic, holonomic=closed, contacts=contacts)
    model = system.compile("maggi")
    angle = np.arcsin(np.sin(0.5) / 2.5)
    start = {"th": 0.5, "ph": angle, "s": np.cos(0.5) + 2.5 * np.cos(angle), "th_dot": 1.0}
    numbers = {"J": 1.0, "mu": 0.05}
    sol = model.integrate((0, 2), start, numbers, sensitivities=["mu"], rtol=1e-11, atol=1e-11)
    assert sol.status == 0, sol.message
    at = {name: sol[name] for name in ("th", "ph", "th_dot", "energy")}
    assert at["th"][-1] > np.pi / 2  # the dead centre of the rod
    top = np.arcsin(1 / 2.5)
    lost = numbers["mu"] * (at["th"][-1] - 0.5 + 2 * top - angle - at["ph"][-1])
    assert at["energy"][0] - at["energy"][-1] == pytest.approx(lost, rel=1e-8)
    ends = [
        model.integrate((0, 2), start, {**numbers, "mu": 0.05 + h}, **EXACT)["th"][-1] for h in (-1e-4, 1e-4)
    ]
    assert sol.sensitivity["th", "mu"][-1] == pytest.approx((ends[1] - ends[0]) / 2e-4, rel=1e-6)


DRIVE = cg.inputs("drive")
PUSH = cg.Event(DRIVE - b, direction=1, reset={v: v + e * x}, name="push")


@pytest.mark.parametrize(
    ("force", "events"),
    [
        (DRIVE, [PUSH]),
        (DRIVE - c * sp.sign(DRIVE - b), []),
        (DRIVE - c * sp.sign(3 * DRIVE - 3 * b), [PUSH]),
    ],
    ids=["event", "kink", "both"],
)
def test_an_input_jumps_over_a_surface_at_its_own_time(force: Any, events: list[Any]) -> None:
    """The surface is reached when the input jumps, whatever the state and the parameters are."""
    system = unit_masses("driven", [x], potential=k * x**2 / 2, forces={v: force}, events=events)
    model = system.compile()
    numbers = {"k": 2.0, "b": 0.5, "c": 0.3, "e": 0.7}
    numbers = {name: numbers[name] for name in model.parameters}
    given: dict[str, Any] = {"inputs": {"drive": ([0.0, 1.0], [0.0, 1.0], "zoh")}, **EXACT}

    def final(**changed: float) -> Any:
        return model.integrate((0, 2), {"x": 1, "x_dot": 0}, {**numbers, **changed}, **given).y[:, -1]

    by = list(numbers)
    sol = model.integrate((0, 2), {"x": 1, "x_dot": 0}, numbers, sensitivities=by, **given)
    assert sol.status == 0, sol.message
    h = 1e-4
    expected = [(final(**{s: q + h}) - final(**{s: q - h})) / (2 * h) for s, q in numbers.items()]
    np.testing.assert_allclose(sol.sensitivity.y[:, :, -1].T, expected, atol=1e-7)
    ens = cg.ensemble(model, (0, 2), {"x": 1, "x_dot": 0}, numbers, n=2, sensitivities=by, **given)
    for name in by:
        assert ens.sensitivity["x", name][1] == sol.sensitivity["x", name][-1], name
    for event in events:
        np.testing.assert_array_equal(sol.sensitivity.events[event.name].t, np.zeros((1, len(by))))


@cache
def carried(direction: int, last: bool) -> Any:
    """A mass thrown up; a gate at b lifts it by c, to or over a wall at n, which throws back what reaches it."""
    gate = cg.Event(x - b, direction=1, reset={x: x + c}, name="gate")
    wall = cg.Event(x - n, direction=direction, reset={v: -e * v}, name="wall")
    events = [gate, wall] if last else [wall, gate]
    system = unit_masses("carried", [x], forces={v: -k}, events=events)
    return system.compile()


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("direction", [0, 1, -1])
@pytest.mark.sample(1)
def test_a_guard_that_the_reset_of_another_event_carries_over_zero(direction: int, last: bool) -> None:
    """That is no crossing: the wall is met from above, later, if it is met from there at all."""
    model = carried(direction, last)
    numbers = {"k": 1.5, "b": 0.5, "c": 1.0, "e": 0.7, "n": 1.0}
    s, t1 = sp.Symbol("s", positive=True), 3
    at = {s: 2.0, **{q: numbers[q.name] for q in (k, b, c, e, n)}}
    after = sp.sqrt(s**2 - 2 * k * b)
    met = sp.sqrt(after**2 + 2 * k * (b + c - n))  # the speed, downwards
    times = [(s - after) / k, (s - after) / k + (after + met) / k]
    leaves = -met if direction == 1 else e * met
    end = n + leaves * (t1 - times[1]) - k * (t1 - times[1]) ** 2 / 2
    names = ["k", "b", "c", "e", "n"]
    sol = model.integrate((0, t1), {"x": 0, "x_dot": 2}, numbers, sensitivities=names, **EXACT)
    assert sol.status == 0, sol.message
    found = dict(zip(("gate", "wall") if last else ("wall", "gate"), sol.t_events, strict=True))
    assert found["gate"] == pytest.approx([times[0].subs(at)], abs=1e-12)
    assert found["wall"] == pytest.approx([times[1].subs(at)] if direction < 1 else [], abs=1e-12)
    assert sol["x"][-1] == pytest.approx(float(end.subs(at)), abs=1e-12)
    expected = [float(end.diff(q).subs(at)) for q in (k, b, c, e, n)]
    assert sol.sensitivity.y[0, :, -1] == pytest.approx(expected, abs=1e-9)
    slopes = model.gradient(cg.final("x"), (0, t1), {"x": 0, "x_dot": 2}, numbers, by=names)
    assert [slopes[q] for q in names] == pytest.approx(expected, abs=1e-6)
    ens = cg.ensemble(model, (0, t1), {"x": [0.0] * 5, "x_dot": 2}, numbers, **EXACT)
    assert (ens["x"] == model.integrate((0, t1), {"x": 0, "x_dot": 2}, numbers, **EXACT)["x"][-1]).all()


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("direction", [0, 1, -1])
def test_a_guard_that_the_reset_of_another_event_carries_to_zero(direction: int, last: bool) -> None:
    """It is on the side from which its event can occur: with direction 1, the wall throws the mass back at once."""
    numbers = {"k": 1.5, "b": 0.5, "c": 0.5, "e": 0.7, "n": 1.0}
    sol = carried(direction, last).integrate((0, 1), {"x": 0, "x_dot": 2}, numbers, **EXACT)
    after, gate = np.sqrt(2.5), (2 - np.sqrt(2.5)) / 1.5
    walls = sol.t_events[1 if last else 0]
    assert walls == pytest.approx([gate] if direction == 1 else [], abs=1e-12)
    leaves = -0.7 * after if direction == 1 else after
    assert sol["x"][-1] == pytest.approx(1 + leaves * (1 - gate) - 0.75 * (1 - gate) ** 2, abs=1e-12)


@pytest.mark.sample(1)
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("direction", [0, 1, -1])
def test_derivatives_where_a_reset_carries_a_guard_to_zero(direction: int, last: bool) -> None:
    """On which side of the wall the mass is depends on b + c - n: a wall that counts from below is met or not."""
    numbers = {"k": 1.5, "b": 0.5, "c": 0.5, "e": 0.7, "n": 1.0}
    start = {"x": 0.0, "x_dot": 2.0}
    check_both_sides(carried(direction, last), start, numbers, {"b", "c", "n"} if direction >= 0 else set())


@pytest.mark.sample(2)
@pytest.mark.parametrize("speed", [1.5, -1.5])
@pytest.mark.parametrize("direction", [0, 1, -1])
@pytest.mark.parametrize("restitution", [0.7, 1.0])
def test_derivatives_of_a_start_on_the_guard_of_an_event(
    direction: int, speed: float, restitution: float
) -> None:
    gate = cg.Event(x - n, direction=direction, reset={v: e * v}, name="gate")
    system = unit_masses("gate", [x], potential=k * x**2 / 2, events=[gate])
    numbers = {"k": 3.0, "e": restitution, "n": 0.0}
    matters = direction * speed >= 0 and restitution != 1.0
    start = {"x": 0.0, "x_dot": speed}
    check_both_sides(
        system.compile(),
        start,
        numbers,
        {"n", "x"} if matters else set(),
        {"e"} if restitution == 1 else set(),
    )


def check_both_sides(
    model: Any,
    start: dict[str, float],
    numbers: dict[str, float],
    matter: Set[str],
    without: Set[str] = frozenset(),
) -> None:
    """Status -15 by the names of `matter`, and by the others the derivative, which both sides share."""

    def final(name: str, step: float) -> float:
        moved = {**start, **numbers, name: {**start, **numbers}[name] + step}
        return float(model.integrate((0, 1), *split(model, moved), **EXACT)["x"][-1])

    for by in {**start, **numbers}.keys() - without:
        f = np.array([final(by, i * 1e-4) for i in range(-2, 3)])
        left, right = f[:3] @ [1, -4, 3] / 2e-4, f[2:] @ [-3, 4, -1] / 2e-4
        assert (abs(left - right) > 1e-4) == (by in matter), by
        sol = model.integrate((0, 1), start, numbers, sensitivities=[by], rtol=1e-11, atol=1e-11)
        assert sol.status == (-15 if by in matter else 0), by
        if by in matter:
            with pytest.raises(cg.KernelError, match="in an order that matters"):
                model.gradient(cg.final("x"), (0, 1), start, numbers, by=[by])
        else:
            assert sol.sensitivity["x", by][-1] == pytest.approx(
                f[[0, 1, 3, 4]] @ [1, -8, 8, -1] / 12e-4, abs=1e-7
            )


@cache
def struck(turns_first: bool) -> Any:
    """Where y = 0 the force on x changes its direction, and two resets of the speed in x happen."""
    hits = cg.Event(x - 4 * sp.sign(y), reset={v: 5}, name="hits")
    turns = cg.Event(y, reset={v: -v}, name="turns")
    events = [turns, hits] if turns_first else [hits, turns]
    return unit_masses("struck", [x, y], forces={v: k * sp.sign(y)}, events=events).compile()


@pytest.mark.slow
@pytest.mark.parametrize("turns_first", [False, True])
@pytest.mark.parametrize("start", [(0.0, -1.0, 0.1, 1.0), (0.3, -0.9, -0.4, 1.1), (-0.2, -0.7, 0.3, 0.6)])
def test_a_reset_where_a_kink_carries_the_guard_of_another_event(
    turns_first: bool, start: tuple[float, float, float, float]
) -> None:
    """Neither reset turns the motion in y, so each happens once, in every kind of run."""
    names, s = ["k", "x", "y", "x_dot", "y_dot"], sp.symbols("k x y v w")
    at = dict(zip(s, (0.15, *start), strict=True))
    met, after = -s[2] / s[4], 5 if turns_first else -5
    end = s[1] + s[3] * met - s[0] * met**2 / 2 + after * (2 - met) + s[0] * (2 - met) ** 2 / 2
    if turns_first:  # x - 4 is zero again, from below
        x0 = s[1] + s[3] * met - s[0] * met**2 / 2
        left = 2 - met - (sp.sqrt(25 + 2 * s[0] * (4 - x0)) - 5) / s[0]
        end = 4 + 5 * left + s[0] * left**2 / 2
    model = struck(turns_first)
    numbers = dict(zip(model.states, start, strict=True)), {"k": 0.15}
    for given in ({}, {"kinks": True}, {"sensitivities": names}):
        sol = model.integrate((0, 2), *numbers, **given, **EXACT)
        assert sol.status == 0, sol.message
        assert sol["x"][-1] == pytest.approx(float(end.subs(at)), abs=1e-11)
        for event, times in zip(model.events, sol.t_events, strict=True):
            assert len(times) == 1 + (turns_first and event == "hits")
            assert times[0] == pytest.approx(-start[1] / start[3], abs=1e-12)
    expected = [float(end.diff(q).subs(at)) for q in s]
    assert sol.sensitivity.y[0, :, -1] == pytest.approx(expected, abs=1e-9)
    slopes = model.gradient(cg.final("x"), (0, 2), *numbers, by=names, **EXACT)
    assert [slopes[q] for q in names] == pytest.approx(expected, abs=1e-9)
    for q, slope in zip(names, expected, strict=True):
        given = {**numbers[0], **numbers[1]}
        ends = [
            model.integrate((0, 2), *split(model, {**given, q: given[q] + h}), **EXACT)["x"][-1]
            for h in (-1e-4, 1e-4)
        ]
        assert (ends[1] - ends[0]) / 2e-4 == pytest.approx(slope, abs=1e-6), q
