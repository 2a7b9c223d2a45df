"""Periodic motions and Lyapunov exponents with events, against closed forms, published numbers and SciPy."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest
import sympy as sp
from refusals import refused
from scipy.integrate import solve_ivp

import chaplygin as cg
from chaplygin.runtime import Model


@functools.cache
def walker() -> Model:
    """The simplest one: M. Garcia, A. Chatterjee, A. Ruina, M. Coleman, J. Biomech. Eng. 120 (1998) 281-288."""
    th, ph, w, v = cg.coordinates("th ph w v")
    gamma, turn = cg.parameters("gamma"), sp.cos(2 * th)
    leg = sp.sin(th - gamma)
    strike = cg.Event(
        ph - 2 * th, direction=1, when=th < -0.03, name="strike",
        reset={th: -th, w: turn * w, ph: -2 * th, v: turn * (1 - turn) * w},
    )  # fmt: skip
    swing = leg + (w**2 - sp.cos(th - gamma)) * sp.sin(ph)
    return cg.System("walker", kinematics={th: w, ph: v, w: leg, v: swing}, events=[strike]).compile()


@pytest.mark.parametrize("late", [0.0, 1.3])
def test_the_simplest_walker(late: float) -> None:
    """From the strike, where a stride begins and ends, and from the middle of one."""
    start = {"th": 0.2, "ph": 0.4, "w": -0.2, "v": -0.0158}
    if late:
        start = dict(zip(start, walker().integrate((0, late), start, {"gamma": 0.009}).y[:, -1]))
    orbit = walker().periodic(start, 3.8, {"gamma": 0.009})
    assert orbit.period == pytest.approx(3.88246375285, abs=1e-10)
    expected = [-0.19010 + 0.55760j, -0.19010 - 0.55760j, 0]  # a strike forgets the swing leg
    np.testing.assert_allclose(orbit.multipliers, expected, atol=1e-5)
    assert (orbit.n_ones, orbit.stable) == (1, True)
    assert len(orbit.solution().t_events[0]) == 1


NUMBERS = {"m": 5, "mH": 10, "a": 0.5, "b": 0.5, "g": 9.81, "slope": math.radians(3)}


@functools.cache
def compass() -> Model:
    """Two legs and a hip on a slope; a strike keeps the momenta of all about the foot, of a leg about the hip."""
    s, n = cg.coordinates("s n")  # of the stance leg and of the swing leg, from the vertical
    m, mH, a, b, g, slope = cg.parameters("m mH a b g slope", positive=True)
    after = sp.symbols("after:2")  # rates of the new stance leg and of the new swing leg
    turn = sp.Matrix([[0, -1], [1, 0]])

    def leg(angle: Any, r: Any) -> sp.Matrix:
        return r * sp.Matrix([-sp.sin(angle), sp.cos(angle)])

    def masses(
        stance: Any, swing: Any, p: Any, q: Any, foot: sp.Matrix
    ) -> list[tuple[Any, sp.Matrix, sp.Matrix]]:
        hip, v = foot + leg(stance, a + b), p * turn * leg(stance, a + b)
        return [(mH, hip, v), (m, foot + leg(stance, a), p * turn * leg(stance, a)),
                (m, hip - leg(swing, b), v - q * turn * leg(swing, b))]  # fmt: skip

    def momentum(parts: Any, about: sp.Matrix) -> Any:
        return sum(k * ((x - about)[0] * v[1] - (x - about)[1] * v[0]) for k, x, v in parts)

    origin = sp.zeros(2, 1)
    hip, foot = leg(s, a + b), leg(s, a + b) - leg(n, a + b)
    now, then = masses(s, n, cg.rate(s), cg.rate(n), origin), masses(n, s, *after, foot)
    laws = [momentum(now, foot) - momentum(then, foot), momentum(now[1:2], hip) - momentum(then[2:], hip)]
    (rates,) = sp.linsolve(laws, after)
    strike = cg.Event(
        s + n + 2 * slope, direction=-1, when=s < -slope, name="strike",
        reset={s: n, n: s, cg.rate(s): rates[0], cg.rate(n): rates[1]},
    )  # fmt: skip
    kinetic = sum(k * v.dot(v) / 2 for k, _, v in now)
    potential = sum(k * g * x[1] for k, x, _ in now)
    return cg.System(
        "compass", coordinates=[s, n], kinetic=kinetic, potential=potential, events=[strike]
    ).compile()


def stride(y: Any) -> Any:
    """The state (s, s', n') after the next strike, n = -2 slope - s, and the time: by the published equations.

    A. Goswami, B. Thuilot, B. Espiau, Int. J. Robotics Research 17 (1998) 1282-1301.
    """
    m, mH, a, b, g, slope = NUMBERS.values()
    r = a + b

    def rates(t: float, y: Any) -> Any:
        s, n, p, q = y
        c, d = m * r * b * math.cos(s - n), m * r * b * math.sin(s - n)
        mass = [[(mH + m) * r**2 + m * a**2, -c], [-c, m * b**2]]
        force = [d * q**2 + g * ((mH + m) * r + m * a) * math.sin(s), -d * p**2 - m * g * b * math.sin(n)]
        return [p, q, *np.linalg.solve(mass, force)]

    def strike(t: float, y: Any) -> float:
        return y[0] + y[1] + 2 * slope if y[0] < -slope else 1.0

    strike.terminal, strike.direction = True, -1  # type: ignore[attr-defined]
    start = [y[0], -2 * slope - y[0], y[1], y[2]]
    how = {"method": "DOP853", "rtol": 1e-13, "atol": 1e-13}
    run = solve_ivp(rates, (0, 2), start, events=strike, **how)
    t = float(run.t_events[0][0])
    for _ in range(2):  # the interpolant is less accurate than the steps
        s, n, p, q = solve_ivp(rates, (0, t), start, **how).y[:, -1]
        t -= (s + n + 2 * slope) / (p + q)
    c = math.cos(s - n)
    before = [[-m * a * b, -m * a * b + (mH * r**2 + 2 * m * a * r) * c], [0, -m * a * b]]
    after = [
        [m * b**2 - m * b * r * c, (m + mH) * r**2 + m * a**2 - m * b * r * c],
        [m * b**2, -m * b * r * c],
    ]
    q, p = np.linalg.solve(after, np.array(before) @ [q, p])
    return np.array([n, p, q]), t


def slopes(y: Any, h: float = 1e-3) -> Any:
    """Of the stride, by differences of the sixth order."""
    weights = {1: 45 / 60, 2: -9 / 60, 3: 1 / 60}
    rows = [sum(w * (stride(y + k * h * e)[0] - stride(y - k * h * e)[0]) / h for k, w in weights.items())
            for e in np.eye(3)]  # fmt: skip
    return np.array(rows).T


@pytest.mark.slow
def test_the_compass_gait() -> None:
    y = np.array([0.2186688, -1.0923836, -0.3773740])
    chord = slopes(y) - np.eye(3)
    for _ in range(3):
        y = y - np.linalg.solve(chord, stride(y)[0] - y)
    expected = np.linalg.eigvals(slopes(y))
    start = {"s": 0.22, "n": -0.22 - 2 * NUMBERS["slope"], "s_dot": -1.09, "n_dot": -0.38}
    orbit = compass().periodic(start, 0.7, NUMBERS)
    assert orbit.period == pytest.approx(0.734346391159, abs=1e-10)
    assert orbit.period == pytest.approx(stride(y)[1], abs=1e-11)
    np.testing.assert_allclose(sorted(orbit.multipliers, key=abs), sorted(expected, key=abs), atol=1e-9)
    (struck,) = orbit.solution().t_events[0]
    after = compass().integrate((orbit.t, struck + 1e-9), orbit, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(after.y[[0, 2, 3], -1], y, atol=1e-7)  # a moment later


def test_a_ball_on_a_table_that_swings() -> None:
    """It is thrown up at one phase of A sin t each time: v = g T / 2, T = 2 pi, (1 + e) A cos = (1 - e) v.

    P. J. Holmes, J. Sound and Vibration 84 (1982) 173-189. With the exact times of flight the map of phase and v has
    the trace 1 + e^2 - (1 + e)^2 A sin / g and the determinant e^2.
    """
    y, (e, A, g) = cg.coordinates("y"), cg.parameters("e A g", positive=True)
    v, t = cg.rate(y), cg.time
    hit = cg.Event(y - A * sp.sin(t), direction=-1, reset={v: -e * v + (1 + e) * A * sp.cos(t)}, name="hit")
    top = cg.Event(v, direction=-1, name="top")  # a mark
    model = cg.System("ball", coordinates=[y], kinetic=v**2 / 2, potential=g * y, events=[hit, top]).compile()
    phase = math.acos(math.pi * (1 - 0.6) / (1 + 0.6) / 0.9)
    begin = {"y": 0.9 * math.sin(phase), "y_dot": math.pi + 0.02}
    orbit = model.periodic(begin, 2 * math.pi, {"e": 0.6, "A": 0.9, "g": 1}, t=phase)
    trace = 1 + 0.6**2 - (1 + 0.6) ** 2 * 0.9 * math.sin(phase)
    np.testing.assert_allclose(np.poly(orbit.multipliers), [1, -trace, 0.6**2], atol=1e-9)
    assert orbit.n_ones == 0
    words = "the events of ball depend on the time and do not repeat themselves"
    refused(words, model.periodic, begin, 6.0, {"e": 0.6, "A": 0.9, "g": 1}, t=phase)
    found = model.lyapunov((orbit.t, orbit.t + 200 * math.pi), orbit)  # a pair of multipliers of one size
    np.testing.assert_allclose(found.values, math.log(0.6) / (2 * math.pi), atol=0.01)


def test_conditions_that_repeat_with_another_period_are_refused() -> None:
    """The time is in the condition of a kick alone: half of them, at 2 pi n, are at a time when it holds."""
    x, w = cg.coordinates("x"), cg.parameters("w")
    given: dict[str, Any] = {"coordinates": [x], "kinetic": cg.rate(x) ** 2 / 2, "potential": x**2 / 2}
    kick = cg.Event(x, direction=1, when=sp.cos(w * cg.time) > 0, reset={cg.rate(x): 1.1 * cg.rate(x)})
    model = cg.System("kicked", **given, events=[kick]).compile()
    start = {"x": 1.0, "x_dot": 0.0}
    with pytest.raises(cg.ArgumentError, match="the events of kicked depend on the time and do not repeat"):
        model.periodic(start, 2 * math.pi, {"w": math.sqrt(2)})
    closed = cg.Event(x, direction=1, when=sp.cos(w * cg.time) > 2, reset={cg.rate(x): 0})
    orbit = cg.System("never", **given, events=[closed]).compile().periodic(start, 2 * math.pi, {"w": 1})
    assert (orbit.period, orbit.n_ones) == (2 * math.pi, 0)  # driven: its period is that of the drive


def test_what_bounces_depends_on_where_the_ground_is() -> None:
    """With e = 1 the energy stays; the height is in no rate, but it is no symmetry either. T = 2 sqrt(2 h / g)."""
    y, g = cg.coordinates("y"), cg.parameters("g")
    v = cg.rate(y)
    hit = cg.Event(y, direction=-1, reset={v: -v}, name="hit")
    model = cg.System("ball", coordinates=[y], kinetic=v**2 / 2, potential=g * y, events=[hit]).compile()
    orbit = model.periodic({"y": 2.0, "y_dot": 0.0}, 1.2, {"g": 9.81})
    assert (orbit.n_ones, len(orbit.multipliers)) == (2, 0)
    assert orbit.period == pytest.approx(2 * math.sqrt(4 / 9.81), abs=1e-10)


def test_events_that_take_directions_away() -> None:
    given = {"th": 0.2, "ph": 0.4, "w": -0.2, "v": -0.0158}, {"gamma": 0.009}
    words = r"only 3 of the tangents are independent at t = .*: give n=3 or fewer"
    refused(words, walker().lyapunov, (0, 40), *given)
    found = walker().lyapunov((0, 400), *given, n=3, transient=100)  # log|multiplier| / T
    np.testing.assert_allclose(found.values, [0, -0.1363, -0.1363], atol=0.01)
    x, F = cg.coordinates("x"), cg.inputs("F")
    v = cg.rate(x)
    fed = cg.System(
        "fed", coordinates=[x], kinetic=v**2 / 2, forces={v: F}, events=[cg.Event(x, name="mark")]
    ).compile()
    words = r"fed has events \(mark\), and the input F is a function of the state"
    refused(words, fed.periodic, {"x": 1, "x_dot": 0}, 6, inputs={"F": lambda t, y: -y[0]})
