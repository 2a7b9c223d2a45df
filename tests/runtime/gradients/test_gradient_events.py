"""Gradients through events, contacts and kinks: closed forms, forward sensitivities, differences of whole runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp
from refusals import refused
from scipy.optimize import minimize
from unit_masses import unit_masses

import chaplygin as cg

TIGHT = {"rtol": 1e-12, "atol": 1e-12, "method": "vern9"}


@pytest.fixture(scope="module")
def ball() -> Any:
    """It bounces with e and counts the bounces in n, with the time of each; above the roof h the run ends."""
    z, n = cg.coordinates("z n")
    g, e, h = cg.parameters("g e h", positive=True)
    v = cg.rate(z)
    return unit_masses(
        "bouncing",
        [z, n],
        potential=g * z,
        events=[
            cg.Event(z, direction=-1, reset={v: -e * v, n: n + 1 + g * cg.time}, name="floor"),
            cg.Event(z - h, direction=1, terminal=True, name="roof"),
            cg.Event(v, direction=-1, name="top"),
        ],
        outputs={"age": cg.time * z},
    ).compile()


START = {"z": 0.0, "n": 0.0, "z_dot": 9.0, "n_dot": 0.0}, {"g": 10.0, "e": 0.8, "h": 30.0}
BY = ("g", "e", "z_dot", "h")


def bounces() -> tuple[Any, ...]:
    """The symbols of BY, and the times and speeds of the landings."""
    g, e, u, h = sp.symbols("g e u h")
    return (
        (g, e, u, h),
        [2 * u / g * sum(e**i for i in range(k + 1)) for k in range(3)],
        [u * e**k for k in range(3)],
    )


def of_symbols(formula: Any) -> tuple[float, list[float]]:
    symbols, _, _ = bounces()
    numbers = dict(zip(symbols, (10, sp.Rational(4, 5), 9, 30), strict=True))
    return float(formula.subs(numbers)), [float(sp.diff(formula, s).subs(numbers)) for s in symbols]


def check(model: Any, loss: Any, formula: Any, t1: float = 4.0, **how: Any) -> Any:
    value, slopes = of_symbols(formula)
    found = model.gradient(loss, (0, t1), *START, by=BY, **{**TIGHT, **how})
    assert found.value == pytest.approx(value, abs=1e-9)
    np.testing.assert_allclose(found.vector, slopes, rtol=0, atol=1e-8)
    return found


def test_through_bounces_to_a_given_time(ball: Any) -> None:
    (g, e, _, _), times, speeds = bounces()
    s = 4 - times[1]  # after the second bounce
    check(ball, cg.final("z"), e * speeds[1] * s - g * s**2 / 2)
    check(ball, cg.final("n"), 2 + g * (times[0] + times[1]))
    for memory in (2e4, 1e3):  # steps are taken again
        check(ball, cg.final("z"), e * speeds[1] * s - g * s**2 / 2, memory=memory)


def test_an_integral_over_bounces(ball: Any) -> None:
    (g, e, u, _), times, _ = bounces()
    s = 4 - times[1]
    hops = sum(2 * (u * e**k) ** 3 / (3 * g**2) for k in range(2))  # of z over a whole hop
    check(ball, cg.integral("z"), hops + u * e**2 * s**2 / 2 - g * s**3 / 6)
    # a quantity that jumps: n is 0, then 1 + g t1, then 2 + g (t1 + t2)
    first, second = 1 + g * times[0], 2 + g * (times[0] + times[1])
    check(ball, cg.integral("n"), first * (times[1] - times[0]) + second * s)


def test_losses_at_events(ball: Any) -> None:
    (g, _, u, _), times, speeds = bounces()
    check(ball, cg.first_passage("floor"), times[0])
    check(ball, cg.at_event("floor", "t", which=1), times[1])
    check(ball, cg.at_event("floor", "z_dot", which=-1), -speeds[1])
    check(ball, cg.at_event("top", "z", which=1), speeds[1] ** 2 / (2 * g))
    check(ball, cg.at_event("top", "age", which=0), u / g * u**2 / (2 * g))
    both = [
        cg.at_event("top", "t"),
        cg.at_event("floor", cg.time * cg.rate(cg.coordinates("z"))),
        cg.final("n"),
    ]
    check(ball, both, u / g - times[0] * speeds[0] + 2 + g * (times[0] + times[1]))

    def product(values: Any) -> Any:
        return float(values[0] * values[1]), values[::-1].copy()

    check(ball, cg.loss(product, cg.at_event("floor", "t", "z_dot", which=1)), -times[1] * speeds[1])


def test_the_end_that_an_event_makes(ball: Any) -> None:
    """Thrown up to the roof: z = h at the end, g t = u - w with w = sqrt(u^2 - 2 g h)."""
    (g, _, u, h), _, _ = bounces()
    w = sp.sqrt(u**2 - 2 * g * h)
    numbers = {g: 10, u: 9, h: 3, bounces()[0][1]: sp.Rational(4, 5)}
    start = START[0], {**START[1], "h": 3.0}
    losses: dict[str, Any] = {
        "t": (cg.final("t"), (u - w) / g),
        "z": (cg.final("z"), h),
        "v": (cg.final("z_dot"), w),
        "age": (cg.final("age"), h * (u - w) / g),
        "area": (cg.integral("z"), u * ((u - w) / g) ** 2 / 2 - g * ((u - w) / g) ** 3 / 6),
        "clock": (cg.integral("t"), ((u - w) / g) ** 2 / 2),
    }
    for name, (loss, formula) in losses.items():
        found = ball.gradient(loss, (0, 4), *start, by=["g", "z_dot", "h"], **TIGHT)
        assert found.value == pytest.approx(float(formula.subs(numbers)), abs=1e-10), name
        expected = [float(sp.diff(formula, s).subs(numbers)) for s in (g, u, h)]
        np.testing.assert_allclose(found.vector, expected, rtol=0, atol=1e-9, err_msg=name)
    words = r"the run ended at an event at t = .*, before the sample at t = 3"
    refused(words, ball.gradient, cg.squares({"z": ([0.1, 3.0], [0.0, 0.0])}), (0, 4), *start)


@pytest.mark.parametrize("method", ["rk4", "tsit5", "dop853"])
def test_methods_with_little_memory_agree_with_forward_sensitivities(ball: Any, method: str) -> None:
    how: dict[str, Any] = {
        "method": method,
        **({"step": 0.01} if method == "rk4" else {"rtol": 1e-10, "atol": 1e-10}),
    }
    sol = ball.integrate((0, 4), *START, sensitivities=["g", "e", "z_dot"], **how)
    for memory in (1e8, 1e3):
        found = ball.gradient(cg.final("z"), (0, 4), *START, by=["g", "e", "z_dot"], memory=memory, **how)
        expected = [sol.sensitivity["z", by][-1] for by in ("g", "e", "z_dot")]
        np.testing.assert_allclose(found.vector, expected, rtol=1e-7)


@pytest.fixture(scope="module")
def block() -> Any:
    """A block on a rough floor, pulled by a spring whose end moves at constant speed: stick, slip, stick."""
    x = cg.coordinates("x")
    m, k, mu, g, w = cg.parameters("m k mu g w", positive=True)
    contact = cg.Coulomb("floor", slip=cg.rate(x), normal=m * g, mu=mu)
    return cg.System(
        "pulled",
        coordinates=[x],
        kinetic=m * cg.rate(x) ** 2 / 2,
        forces={cg.rate(x): k * (w * cg.time - x)},
        contacts=[contact],
    ).compile()


def test_a_reset_that_changes_nothing_yet() -> None:
    """A push n at time b, of which n = 0 is the first guess: dx/dn = exp(-d s) sin(w s) / w with s = T - b."""
    x = cg.coordinates("x")
    k, c, b = cg.parameters("k c b", positive=True)
    n = cg.parameters("n")
    v = cg.rate(x)
    push = cg.Event(cg.time - b, reset={v: v + n}, name="push")
    model = unit_masses("pushed", [x], potential=k * x**2 / 2, forces={v: -c * v}, events=[push]).compile()
    numbers = {"k": 4.0, "c": 0.1, "b": 1.0, "n": 0.0}
    w, s = np.sqrt(4 - 0.05**2), 2.0
    exact = np.exp(-0.05 * s) * np.sin(w * s) / w
    for start in ({"x": 0.0, "x_dot": 0.0}, {"x": 0.3, "x_dot": -0.2}):
        found = model.gradient(cg.final("x"), (0, 3), start, numbers, by=["n"], **TIGHT)
        assert found["n"] == pytest.approx(exact, rel=1e-9)
    data = cg.squares({"x": ([3.0], [0.1 * exact])})
    objective = model.objective(data, (0, 3), {"x": 0.0, "x_dot": 0.0}, numbers, free=["n"], **TIGHT)
    assert minimize(objective, objective.start, jac=True).x == pytest.approx([0.1], rel=1e-6)


def test_slips_and_sticks(block: Any) -> None:
    """Pushed, it stops, sticks until the spring has drawn far enough, and slips again: against differences of runs."""
    numbers = {"m": 1.0, "k": 4.0, "mu": 0.3, "g": 10.0, "w": 1.0, "x": 0.0, "x_dot": 2.0}

    def split(values: dict[str, float]) -> Any:
        return {n: values[n] for n in ("x", "x_dot")}, {n: values[n] for n in ("m", "k", "mu", "g", "w")}

    def run(**more: float) -> float:
        how = {**TIGHT, "rtol": 1e-13, "atol": 1e-13}
        return float(block.integrate((0, 2.5), *split({**numbers, **more}), **how)["x"][-1])

    sol = block.integrate((0, 2.5), *split(numbers), sensitivities=list(numbers), **TIGHT)
    assert [mode.contacts["floor"] for mode in sol.modes] == ["slip+", "stick", "slip+"]
    found = block.gradient(cg.final("x"), (0, 2.5), *split(numbers), **TIGHT)
    both = block.gradient([cg.final("x"), cg.integral("x_dot")], (0, 2.5), *split(numbers), **TIGHT)
    for name, value in numbers.items():
        ends = [run(**{name: value + k * 1e-4}) for k in (-2, -1, 1, 2)]
        difference = (8 * (ends[2] - ends[1]) - (ends[3] - ends[0])) / 12e-4
        assert found[name] == pytest.approx(difference, abs=1e-8), name
        assert found[name] == pytest.approx(sol.sensitivity["x", name][-1], abs=1e-9), name
        assert both[name] == pytest.approx(2 * found[name] - (name == "x"), abs=1e-8), name


def test_quantities_of_a_model_with_contacts(block: Any) -> None:
    """A name is computed by the model's kernel, an expression by one of its own: both with the modes of each time."""
    given = {"x": 0.0, "x_dot": 2.0}, {"m": 1.0, "k": 4.0, "mu": 0.3, "g": 10.0, "w": 1.0}
    times, names = [0.1, 0.7, 2.5], ["k", "mu", "x_dot"]
    sol = block.integrate((0, 2.5), *given, t_eval=times, sensitivities=names, **TIGHT)

    def total(values: Any) -> Any:
        return float(values.sum()), np.ones_like(values)

    slip = sp.Symbol("slip_floor", real=True)
    for what in ("slip_floor", slip * 1.0):
        found = block.gradient(
            cg.loss(total, cg.series(what, times=times)), (0, 2.5), *given, by=names, **TIGHT
        )
        assert found.value == pytest.approx(sol["slip_floor"].sum(), abs=1e-10)
        expected = [sol.sensitivity["slip_floor", by].sum() for by in names]
        np.testing.assert_allclose(found.vector, expected, rtol=0, atol=1e-9)


def test_a_start_at_rest_on_a_rough_floor(block: Any) -> None:
    """It sticks until t0 = mu m g / k w, and then x = w (s - sin(q s) / q), q^2 = k / m; a push would not move it."""
    m, k, mu, g, w = sp.symbols("m k mu g w")
    t0, q = mu * m * g / (k * w), sp.sqrt(k / m)
    x = w * ((2 - t0) - sp.sin(q * (2 - t0)) / q)
    numbers = {m: 1, k: 4, mu: sp.Rational(3, 10), g: 10, w: 1}
    given = {"x": 0.0, "x_dot": 0.0}, {str(s): float(value) for s, value in numbers.items()}
    found = block.gradient(cg.final("x"), (0, 2), *given, **TIGHT)
    assert found.value == pytest.approx(float(x.subs(numbers)), abs=1e-9)
    for s in numbers:
        assert found[str(s)] == pytest.approx(float(sp.diff(x, s).subs(numbers)), abs=1e-8), s
    assert found["x_dot"] == pytest.approx(0, abs=1e-12)


def test_a_jump_of_the_force() -> None:
    """x'' = -k sign(x) from x0 with u: against forward sensitivities and the complex step."""
    x = cg.coordinates("x")
    k = cg.parameters("k", positive=True)
    model = unit_masses("valley", [x], potential=k * sp.Abs(x)).compile()
    t, u, k0 = 2.0, 1.5, 2.0

    def exact(x0: Any, u: Any, k: Any) -> Any:
        speed = -np.sqrt(u**2 + 2 * k * x0)
        late = t - (u - speed) / k
        return speed * late + k * late**2 / 2

    found = model.gradient(cg.final("x"), (0, t), {"x": 0.3, "x_dot": u}, {"k": k0}, **TIGHT)
    for by, moved in (
        ("k", (0.3, u, k0 + 1e-30j)),
        ("x_dot", (0.3, u + 1e-30j, k0)),
        ("x", (0.3 + 1e-30j, u, k0)),
    ):
        assert found[by] == pytest.approx(exact(*moved).imag * 1e30, abs=1e-8), by


def test_what_is_refused(ball: Any) -> None:
    def message(loss: Any) -> str:
        with pytest.raises(cg.ArgumentError) as error:
            ball.gradient(loss, (0, 4), *START)
        return str(error.value)

    assert "has no event 'flor'; its events are floor, roof, top" in message(cg.at_event("flor", "t"))
    beyond = message(cg.at_event("floor", "t", which=2))
    assert "occurrence 2 of the event floor does not exist" in beyond
    assert "give an index from -2 to 1" in beyond
    assert "the event roof, which does not occur" in message([cg.final("z"), cg.at_event("roof", "t")])
    assert "which = 0.5; a whole number is needed" in message(cg.at_event("floor", "t", which=0.5))  # type: ignore[arg-type]
    assert "is not one number" in message(cg.at_event("floor", "t", "z"))
    assert "'height' is not a quantity of bouncing" in message(cg.at_event("floor", "height"))


def test_a_touched_surface_has_no_gradient(ball: Any) -> None:
    with pytest.raises(cg.KernelError, match="tangentially"):
        ball.gradient(cg.final("t"), (0, 4), START[0], {**START[1], "h": 4.05 - 1e-13}, **TIGHT)
