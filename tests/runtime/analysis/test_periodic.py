"""Periodic motions from guesses that are far off: what is returned closes, in a run by SciPy; driven rests; units."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp
from scipy.special import mathieu_a

import chaplygin as cg
from chaplygin.runtime import Model

x, y = cg.coordinates("x y")
u, w = cg.rate(x), cg.rate(y)
a, b, c = cg.parameters("a b c")
t = cg.time


@dataclass(frozen=True)
class Case:
    """A system in x, or x and y, with x'' = force (and y'' = force), and guesses about a start and a period."""

    system: dict[str, Any]
    force: Any
    numbers: tuple[float, float, float]
    start: tuple[float, ...]
    period: float
    spread: float = 0.3
    driven: bool = False
    turns: dict[str, float] | None = None


def plain(force: Any) -> dict[str, Any]:
    return {"coordinates": [x], "kinetic": u**2 / 2, "forces": {u: force}}


def potential(v: Any) -> dict[str, Any]:
    return {"coordinates": [x, y], "kinetic": (u**2 + w**2) / 2, "potential": v}


HEILES = (x**2 + y**2) / 2 + x**2 * y - y**3 / 3
KEPLER = -a / sp.sqrt(x**2 + y**2)
MATHIEU = -(a - 2 * b * sp.cos(2 * t)) * x
KAPITZA = (a - b * c**2 * sp.cos(c * t)) * sp.sin(x)
CASES = {
    "pendulum": Case({"coordinates": [x], "kinetic": u**2 / 2, "potential": -a * sp.cos(x)},
                     (-a * sp.sin(x),), (2.0, 0, 0), (1.5, 0.0), 5.1),
    "circle without an energy": Case(plain(-a * x), (-a * x,), (1.0, 0, 0), (1.0, 0.3), 6.3),
    "van der Pol": Case(plain(a * (1 - x**2) * u - x), (a * (1 - x**2) * u - x,), (1.0, 0, 0), (2.0, 0.0), 6.66),
    "Duffing": Case(plain(-a * u + x - x**3 + b * sp.cos(t)), (-a * u + x - x**3 + b * sp.cos(t),),
                    (0.5, 0.3, 0), (1.2, 0.0), 2 * np.pi, 0.5, driven=True),
    "Henon and Heiles": Case(potential(HEILES), tuple(-HEILES.diff(q) for q in (x, y)), (0, 0, 0),
                             (0.0, 0.1, 0.3, 0.0), 6.3),
    "Kepler": Case(potential(KEPLER), tuple(-KEPLER.diff(q) for q in (x, y)), (1.0, 0, 0),
                   (1.0, 0.0, 0.0, 1.1), 8.3, 0.1),
    "Mathieu": Case(plain(MATHIEU), (MATHIEU,), (1.3, 0.4, 0), (0.2, 0.1), np.pi, 1.0, driven=True),
    "Kapitza": Case(plain(KAPITZA), (KAPITZA,), (1.0, 0.1, 30.0), (0.1, 0.0), 2 * np.pi / 30, 1.0, driven=True),
}  # fmt: skip
OTHERS = [a, b, c]


@functools.cache
def compiled(name: str) -> Model:
    case = CASES[name]
    shown = {"outputs": {"numbers": a + b + c}}
    return cg.System(
        "periodic_" + "".join(filter(str.isalpha, name)).lower(), **case.system, **shown
    ).compile()


@functools.cache
def field(name: str) -> Any:
    """SymPy's right-hand side, for SciPy: the declared forces alone."""
    case = CASES[name]
    n = len(case.force)
    states = [x, y][:n] + [u, w][:n]
    return sp.lambdify([t, [*states, *OTHERS]], [*states[n:], *case.force], "math", cse=True)


def carried(name: str, start: Any, period: float, numbers: Any, tangents: bool = False) -> Any:
    """The state after a period by DOP853 at 1e-13; with tangents by central differences of 1e-6, for linear forces."""
    f = field(name)

    def run(y0: Any) -> Any:
        def rhs(s: float, z: Any) -> Any:
            return f(s, [*z, *numbers])

        return solve_ivp(rhs, (0, period), y0, method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]

    if not tangents:
        return run(start)
    return np.column_stack(
        [(run(start + 1e-3 * e) - run(start - 1e-3 * e)) / 2e-3 for e in np.eye(len(start))]
    )


def guesses(name: str, first: int, count: int) -> int:
    """How many of the guesses led to a motion; each that did closes."""
    case, model = CASES[name], compiled(name)
    found = 0
    numbers = dict(zip("abc", case.numbers, strict=True))
    for seed in range(first, first + count):
        random = np.random.default_rng(seed)
        off = 1 + case.spread * random.uniform(-1, 1, len(case.start))
        start = np.array(case.start) * off + 0.1 * case.spread * random.normal(size=len(off))
        period = case.period * (1.0 if case.driven else 1 + 0.4 * random.uniform(-1, 1))
        orbit, message = None, ""
        try:
            orbit = model.periodic(dict(zip(model.states, start, strict=True)), period, numbers)
        except cg.ArgumentError as error:
            message = str(error)
        if orbit is None:
            assert "was found near the guess" in message, (seed, message)
            continue
        found += 1
        end = carried(name, orbit.y, orbit.period, case.numbers)
        gap = np.abs(end - orbit.y).max()
        assert gap <= 1e-8, (seed, gap, orbit)
        assert orbit.period > 0.1 * period
        if not case.driven:  # it moves
            middle = carried(name, orbit.y, 0.37 * orbit.period, case.numbers)
            assert np.abs(middle - orbit.y).max() > 1e-3, (seed, orbit)
    return found


ENOUGH = {"Kepler": 2}  # an energy of the guess whose period is twice as long


@pytest.mark.parametrize("name", CASES)
@pytest.mark.sample(3)
def test_what_is_returned_closes(name: str) -> None:
    assert guesses(name, 0, 3) >= ENOUGH.get(name, 3)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_what_is_returned_closes_from_forty_guesses(name: str) -> None:
    assert guesses(name, 0, 40) >= 20


def test_a_perfect_circle_and_a_period_that_is_off() -> None:
    """x'' = -x declared by its force, so without a known energy: every motion closes after 2 pi."""
    model = compiled("circle without an energy")
    numbers = {"a": 1.0, "b": 0.0, "c": 0.0}
    for period in (2 * np.pi, 0.86 * 2 * np.pi, 1.14 * 2 * np.pi, 5.0, 8.0):
        orbit = model.periodic({"x": 1.0, "x_dot": 0.0}, period, numbers)
        assert abs(orbit.period - 2 * np.pi) < 1e-9
        assert abs(np.hypot(*orbit.y) - 1) < 0.5


def test_a_limit_cycle() -> None:
    """Its period is T = 6.663286859323130189..., published to 28 digits for mu = 1."""
    orbit = compiled("van der Pol").periodic({"x": 2.2, "x_dot": 0.4}, 6.0, {"a": 1, "b": 0, "c": 0})
    assert abs(orbit.period - 6.66328685932313) < 1e-13  # the figure of docs/verification.md
    assert len(orbit.multipliers) == 1  # the flow has the other one
    assert orbit.stable


def test_a_motion_that_does_not_close_is_refused() -> None:
    """A damped oscillator has no periodic motion but its rest."""
    model = compiled("van der Pol")
    damped = {"a": -0.05, "b": 0, "c": 0}
    with pytest.raises(cg.ArgumentError, match=r"comes back to within|is an equilibrium|the period shrank"):
        model.periodic({"x": 0.4, "x_dot": 0.0}, 6.3, damped)
    with pytest.raises(
        cg.ArgumentError, match="no periodic motion of periodic_kepler was found near the guess"
    ):
        compiled("Kepler").periodic(
            {"x": 1.0, "y": 0, "x_dot": 0, "y_dot": 1.6}, 7.0, {"a": 1, "b": 0, "c": 0}
        )  # a hyperbola


@pytest.mark.parametrize(("stiffness", "drive"), [(1.3, 0.4), (0.3, 0.1), (4.2, 1.5), (1.0, 0.4)])
def test_multipliers_of_mathieus_equation(stiffness: float, drive: float) -> None:
    numbers = (stiffness, drive, 0.0)
    orbit = compiled("Mathieu").periodic({"x": 0, "x_dot": 0}, np.pi, dict(zip("abc", numbers, strict=True)))
    right = np.linalg.eigvals(carried("Mathieu", np.zeros(2), np.pi, numbers, tangents=True).astype(complex))
    for multiplier in orbit.multipliers:
        assert np.abs(right - multiplier).min() < 1e-9
    assert orbit.n_ones == 0
    assert not orbit.y.any()


@pytest.mark.parametrize(("order", "trace"), [(0, 2.0), (1, -2.0), (2, 2.0)])
def test_borders_of_mathieus_equation(order: int, trace: float) -> None:
    """On a characteristic value a_m(q) there is a solution of period pi or 2 pi."""
    numbers = {"a": float(mathieu_a(order, 0.7)), "b": 0.7, "c": 0.0}
    orbit = compiled("Mathieu").periodic({"x": 0, "x_dot": 0}, np.pi, numbers)
    assert abs(np.trace(orbit.monodromy) - trace) < 1e-9


@pytest.mark.parametrize(("amplitude", "stable"), [(0.1, True), (0.02, False)])
def test_kapitzas_pendulum_stands(amplitude: float, stable: bool) -> None:
    """A pivot shaken by b cos(c t) holds it up if b^2 c^2 > 2 a, to the order of b."""
    numbers = (1.0, amplitude, 30.0)
    assert (amplitude**2 * 30**2 > 2) is stable
    period = 2 * np.pi / 30
    orbit = compiled("Kapitza").periodic({"x": 0, "x_dot": 0}, period, dict(zip("abc", numbers, strict=True)))
    f = sp.lambdify([t], (KAPITZA / sp.sin(x)).subs(dict(zip(OTHERS, numbers, strict=True))), "math")
    columns = [
        solve_ivp(
            lambda s, z: [z[1], f(s) * z[0]], (0, period), e, method="DOP853", rtol=1e-13, atol=1e-15
        ).y[:, -1]
        for e in np.eye(2)
    ]
    right = np.linalg.eigvals(np.column_stack(columns).astype(complex))
    for multiplier in orbit.multipliers:
        assert np.abs(right - multiplier).min() < 1e-9
    assert orbit.stable is stable


def test_a_wrong_period_of_a_driven_rest_is_refused() -> None:
    """At rest nothing moves, whatever the time: the derivatives show that the drive does not repeat itself."""
    with pytest.raises(cg.ArgumentError, match=r"do not repeat themselves after it.*by x.*give the period"):
        compiled("Mathieu").periodic({"x": 0, "x_dot": 0}, 2.0, {"a": 1.3, "b": 0.4, "c": 0})


@pytest.mark.parametrize("unit", [1e-6, 1e-3, 1e3])
def test_units_change_nothing(unit: float) -> None:
    """The pendulum in other units of time: the same multipliers, n_ones and shape."""
    orbit = compiled("pendulum").periodic(
        {"x": 1.4, "x_dot": 0.1 / unit}, 5.0 * unit, {"a": 2 / unit**2, "b": 0, "c": 0}
    )
    right = compiled("pendulum").periodic({"x": 1.4, "x_dot": 0.1}, 5.0, {"a": 2.0, "b": 0, "c": 0})
    assert orbit.period / unit == pytest.approx(right.period, rel=1e-8)
    assert orbit.n_ones == right.n_ones == 2
    assert len(orbit.multipliers) == 0


@pytest.mark.parametrize("off", [0.0, 1e-12, -1e-9, 1e-4])
@pytest.mark.parametrize("rest", [0.0, np.pi])
def test_a_driven_rest_is_found_from_beside_it(rest: float, off: float) -> None:
    """A pendulum on a shaken pivot at rest, at pi too, which no number is: how little it moves says nothing there."""
    found = shaken().periodic(
        {"x": rest + off, "x_dot": 0.0}, 2 * np.pi / 20, {"a": 20.0, "b": 0.2, "c": 0.1}
    )
    assert found.state == pytest.approx({"x": rest, "x_dot": 0.0}, abs=1e-13)
    assert np.prod(found.multipliers) == pytest.approx(np.exp(-0.1 * 2 * np.pi / 20), rel=1e-9)  # Liouville
    assert found.stable  # Kapitza: (a b)^2 > 2


@functools.cache
def shaken() -> Model:
    gravity = 1 + b * a**2 * sp.cos(a * t)
    return cg.System("shaken", **plain(-c * u - gravity * sp.sin(x))).compile()


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("pulses", [False, True])
def test_drives_that_jump_keep_their_period(pulses: bool, count: int) -> None:
    """A square wave, and pulses, have no slope in time: the motion is that of the linear equation, piece by piece."""
    from scipy.linalg import expm

    model, high = jumping(pulses), (0.5 if not pulses else 2 * np.arccos(0.999) / (2 * np.pi)) * 2.0
    numbers = {"a": 3.0, "b": 0.4, "c": 2.0}
    found = model.periodic({"x": 0.1, "x_dot": 0.0}, 2.0 * count, numbers)
    matrix, levels = np.array([[0.0, 1.0], [-3.0, -0.4]]), (10.0, 0.0) if pulses else (1.0, -1.0)
    first = high / 2 if pulses else high  # a pulse is centred at the start
    pieces = [(first, levels[0]), (2.0 - high, levels[1]), (high - first, levels[0])]
    flow, moved = np.eye(2), np.zeros(2)
    for time, level in pieces:
        step, aim = expm(matrix * time), np.array([level / 3, 0.0])
        flow, moved = step @ flow, step @ moved + (np.eye(2) - step) @ aim
    expected = np.linalg.solve(np.eye(2) - flow, moved)
    assert [found.state["x"], found.state["x_dot"]] == pytest.approx(expected, abs=1e-8)
    assert found.period == 2.0 * count
    assert np.prod(found.multipliers) == pytest.approx(np.exp(-0.8 * count), rel=1e-9)
    with pytest.raises(cg.ArgumentError, match="do not repeat themselves"):
        model.periodic({"x": 0.1, "x_dot": 0.0}, 2.2, numbers)


@functools.cache
def jumping(pulses: bool) -> Model:
    phase = 2 * sp.pi * t / c
    pulse = sp.Piecewise((10, sp.cos(phase) > sp.Rational(999, 1000)), (0, True))
    drive = pulse if pulses else sp.sign(sp.sin(phase))
    return cg.System("pulses" if pulses else "square_wave", **plain(-a * x - b * u + drive)).compile()
