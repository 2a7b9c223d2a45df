"""Derivatives along runs whose states bear steps of any length, since nothing moves: against exponentials.

The variational equations dS/dt = A S + B have constant coefficients there, so that S is an exponential; A is
written down in the tests.

Others come to rest on kinks where the force goes on without a jump. The drag c v |v|, a damper that works one way and
springs that are stiffer on one side have their kink where the motion ends, so that it crosses the kink with ever
smaller speeds, in the end with those of rounding errors. After a long time the derivatives are those of the rest.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy.linalg import expm
from slopes import check_slopes
from springs import C, M, U, V, sprung
from unit_masses import unit_masses

import chaplygin as cg
from chaplygin.generated.double_pendulum import model as double_pendulum

SPAN = (0.0, 30.0)
HELD: Any = {"x": 0.5, "x_dot": 0.0}, {"m": 1.0, "k": 4.0, "c": 0.05}, {"u": 2.0}
NAMES = ["x", "x_dot", "k", "c", "u"]


@pytest.fixture(scope="module")
def held() -> Any:
    """A damped oscillator with the input force u; it rests at x = u / k."""
    return sprung("held", U - C * V, mass=M).compile("lagrange")


def held_exactly(t: Any) -> Any:
    """The derivatives of x at rest by NAMES: exponentials."""
    w, d = np.sqrt(4 - 0.025**2), 0.025
    by_speed = np.exp(-d * t) * np.sin(w * t) / w
    by_x = np.exp(-d * t) * (np.cos(w * t) + d / w * np.sin(w * t))
    by_u = (1 - by_x) / 4  # of x'' = -4 x - 0.05 x' + u
    return np.array([by_x, by_speed, -0.5 * by_u, 0 * by_x, by_u])


def close(found: Any, exact: Any) -> None:
    exact = np.asarray(exact)
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-6 * np.abs(exact).max())


def test_a_held_oscillator_in_every_kind_of_run(held: Any) -> None:
    t = np.linspace(3, 30, 10)
    sol = held.integrate(SPAN, *HELD, t_eval=t, sensitivities=NAMES)
    close(sol.sensitivity.y[0], held_exactly(t))
    exact = held_exactly(30.0)
    run = held.stepper(*HELD, sensitivities=NAMES)
    run.advance(30.0)
    close(run.sensitivity.y[0], exact)
    batch = held.batch(*HELD, n=3, sensitivities=NAMES)
    batch.advance_by(30.0)
    close(batch.sensitivity.y[0, :, 2], exact)
    for given in (HELD, ({"x": [0.5, 0.5, 0.5], "x_dot": 0.0}, *HELD[1:])):
        ens = cg.ensemble(held, SPAN, *given, n=3, sensitivities=NAMES)
        close(ens.sensitivity.y[0, :, 1], exact)
    found = held.gradient(cg.final("x"), SPAN, *HELD, by=NAMES)
    close(found.vector, exact)
    objective = held.objective(cg.final("x"), SPAN, *HELD, free=["x_dot", "k"])
    close(objective(objective.start)[1], exact[[1, 2]])


@pytest.mark.parametrize("method", ["tsit5", "dop853", "vern7", "vern9"])
def test_without_control_the_steps_are_too_long(held: Any, method: str) -> None:
    """The step control is what makes them right: the same runs without it are off by orders of magnitude."""
    exact = held_exactly(30.0)
    close(held.integrate(SPAN, *HELD, sensitivities=NAMES, method=method).sensitivity.y[0, :, -1], exact)
    free = held.integrate(SPAN, *HELD, sensitivities=NAMES, method=method, sensitivity_control=False)
    assert np.abs(free.sensitivity.y[0, :, -1] - exact).max() > 1e3
    close(held.gradient(cg.final("x"), SPAN, *HELD, by=NAMES, method=method).vector, exact)


def test_many_names_share_the_tangents_that_bound_the_steps() -> None:
    """25 masses on springs at rest: the gradient by all 50 initial values is a row of the matrix exponential."""
    n = 25
    q = cg.coordinates(" ".join(f"q_{i}" for i in range(n)))
    stretch = [q[0], *(b - a for a, b in pairwise(q)), q[-1]]
    kinetic = sum((1 + sp.Rational(i, 50)) * cg.rate(x) ** 2 for i, x in enumerate(q)) / 2
    system = cg.System("row", coordinates=list(q), kinetic=kinetic, potential=2 * sum(d**2 for d in stretch))
    model = system.compile("lagrange")
    stiffness = 4 * (2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1))
    a = np.zeros((2 * n, 2 * n))
    a[:n, n:] = np.eye(n)
    a[n:, :n] = -stiffness / (1 + np.arange(n) / 50)[:, None]
    found = model.gradient(cg.final("q_7"), (0, 20), dict.fromkeys(model.states, 0.0))
    close(found.vector, expm(20 * a)[7])


def test_a_double_pendulum_that_hangs() -> None:
    """Against the exponential of its linear equations."""
    start = dict.fromkeys(("theta1", "theta2", "theta1_dot", "theta2_dot"), 0.0)
    numbers = {"m1": 1.0, "m2": 0.7, "l1": 1.0, "l2": 0.6, "g": 9.81}
    mass = np.array([[1.7, 0.7 * 0.6], [0.7 * 0.6, 0.7 * 0.36]])  # M theta'' = -K theta
    stiffness = np.diag([1.7 * 9.81, 0.7 * 9.81 * 0.6])
    a = np.zeros((4, 4))
    a[:2, 2:], a[2:, :2] = np.eye(2), -np.linalg.solve(mass, stiffness)
    exact = expm(20 * a)
    names = list(start)
    sol = double_pendulum.integrate((0, 20), start, numbers, sensitivities=[*names, "l1"])
    assert (sol.y == 0).all()
    close(sol.sensitivity.y[:, :4, -1], exact)
    assert (sol.sensitivity.y[:, 4] == 0).all()
    ens = cg.ensemble(double_pendulum, (0, 20), start, numbers, n=2, sensitivities=names)
    close(ens.sensitivity.y[:, :, 0], exact)
    found = double_pendulum.gradient(cg.final("theta2"), (0, 20), start, numbers, by=names)
    close(found.vector, exact[1])


def test_a_drive_whose_amplitude_is_zero() -> None:
    """x'' = -x + p sin 9 t at rest with p = 0: no state and no other derivative sees the drive."""
    x, p = cg.coordinates("x"), cg.parameters("p")
    v = cg.rate(x)
    system = unit_masses("undriven", [x], potential=x**2 / 2, forces={v: p * sp.sin(9 * cg.time)})
    model = system.compile("lagrange")
    exact = (9 * np.sin(20.0) - np.sin(180.0)) / 80
    start = {"x": 0, "x_dot": 0}, {"p": 0}
    found = model.integrate((0, 20), *start, sensitivities=["p"]).sensitivity["x", "p"][-1]
    assert found == pytest.approx(exact, rel=1e-6)
    assert model.gradient(cg.final("x"), (0, 20), *start)["p"] == pytest.approx(exact, rel=1e-6)


def test_exponents_of_a_rest(held: Any) -> None:
    """Lyapunov exponents of the held oscillator are the real parts of its eigenvalues, -c / 2m."""
    found = held.lyapunov((0, 400), *HELD)
    assert found.values.sum() == pytest.approx(-0.05, abs=1e-8)  # of log det S, exactly
    np.testing.assert_allclose(found.values, -0.025, atol=1 / 400)


WATCHED = ["event", "reset", "kink", "contact", "event and kink", "all"]
REST_NAMES = ["x", "y", "x_dot", "y_dot", "s", "c", "u"]


def watched(kind: str) -> Any:
    """Two masses on springs, held by the force u, and what a run watches beside them: nothing of it happens."""
    x, y, z = cg.coordinates("x y z")
    s, c, a, b, d = cg.parameters("s c a b d", positive=True)
    u = cg.parameters("u")
    v, w, slip = cg.rate(x), cg.rate(y), cg.rate(z)
    everything = kind == "all"
    forces = {v: u - c * v, w: -c * w}
    more: dict[str, Any] = {}
    coordinates, kinetic = [x, y], v**2 + w**2
    if everything or "kink" in kind:
        forces[v] -= 3 * sp.Max(x - 5, 0) + sp.sign(y - 7)
        forces[v] -= 1  # so that the force at rest is u
    if everything or "event" in kind:
        more["events"] = [cg.Event(x - 5, name="far")]
    if kind == "reset":
        more["events"] = [cg.Event(x - 5, reset={v: -v}, name="wall")]
    if everything or kind == "contact":
        coordinates, kinetic = [x, y, z], kinetic + slip**2
        forces[slip] = sp.Rational(1, 2)
        more["contacts"] = [cg.Coulomb("floor", slip=slip, normal=2, mu=1)]
    springs = s * (a * x**2 / 2 + b * y**2 / 2 + d * (x - y) ** 2 / 2)
    system = cg.System(
        "watched", coordinates=coordinates, kinetic=kinetic / 2, potential=springs, forces=forces, **more
    )
    return system.compile()


@pytest.mark.parametrize("kind", WATCHED)
@pytest.mark.sample(1)
def test_gradients_along_a_rest_with_events_contacts_or_kinks(kind: str) -> None:
    """30 systems: against the exponential of their linear equations."""
    model, numbers = watched(kind), np.random.default_rng(WATCHED.index(kind))
    for _ in range(5):
        a, b, d, s = numbers.uniform(0.5, 3.0, 4)
        c, u = numbers.uniform(0.02, 0.2), numbers.uniform(-1.0, 1.0)
        stiffness = np.array([[a + d, -d], [-d, b + d]])
        rest = np.linalg.solve(s * stiffness, [u, 0.0])
        whole = np.zeros((7, 7))  # of the derivatives by a change of s, c and u, after those of the state
        whole[:2, 2:4] = np.eye(2)
        whole[2:4, :2], whole[2:4, 2:4] = -s * stiffness, -c * np.eye(2)
        whole[2:4, 4], whole[2, 6] = -stiffness @ rest, 1.0
        start = {"x": rest[0], "y": rest[1], "x_dot": 0.0, "y_dot": 0.0}
        start |= {"z": 0.0, "z_dot": 0.0} if "z" in model.states else {}
        parameters = {"a": a, "b": b, "d": d, "s": s, "c": c, "u": u}
        found = model.gradient(cg.final("y"), SPAN, start, parameters, by=REST_NAMES)
        close(found.vector, expm(30 * whole)[1])


x, z = cg.coordinates("x z")
v, u = cg.rate(x), cg.rate(z)
k, c, a, r, g = cg.parameters("k c a r g")
FORCES = {
    "drag": -k * x - c * v * sp.Abs(v) - a * v + g,
    "a damper one way": -k * x - c * sp.Max(v, 0) - a * v + g,
    "branches of a damper": -k * x - a * v - sp.Piecewise((c * v**2, v > 0), (c * v / 3, True)) + g,
    "a spring": -k * (x - r) - c * sp.Abs(x - r) / 4 - a * v,
    "a spring and a damper": -k * (x - r) - c * sp.Max(x - r, v) / 4 - a * sp.Max(v, 0) - a * v,
}
METHODS = ("tsit5", "dop853", "vern7", "vern9")


@cache
def resting(kind: str, more: str) -> Any:
    """A mass under this force, with an event that is far away or a block that sticks beside it."""
    given: dict[str, Any] = {"coordinates": [x], "kinetic": v**2 / 2, "forces": {v: FORCES[kind]}}
    if more == "event":
        given["events"] = [cg.Event(x - 50, reset={v: -v}, name="far")]
    if more == "contact":
        given |= {"coordinates": [x, z], "kinetic": (v**2 + u**2) / 2}
        given["forces"][u] = sp.Rational(1, 10)
        given["contacts"] = [cg.Coulomb("block", slip=u, normal=1, mu=1)]
    return cg.System("resting", **given).compile()


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("more", ["", "event", "contact"])
@pytest.mark.parametrize("kind", list(FORCES))
def test_derivatives_of_a_rest_on_a_kink(kind: str, more: str, seed: int) -> None:
    model, random = resting(kind, more), np.random.default_rng([seed, len(kind), len(more)])
    numbers = {
        p: float(q) for p, q in zip("kcarg", random.uniform(1, 3, 5), strict=True) if p in model.parameters
    }
    away = random.choice([1.0, 1e-3, 1e-9, 0.0]) if kind == "drag" else random.choice([1.0, 1e-2])
    rest = numbers["r"] if "r" in numbers else numbers["g"] / numbers["k"]
    start = dict.fromkeys(model.states, 0.0)
    start |= {"x": rest + away * random.uniform(-1, 1), "x_dot": away * random.uniform(-1, 1)}
    at = numbers["k"], numbers.get("g", 0.0)
    slopes = {"r": 1.0} if "r" in numbers else {"k": -at[1] / at[0] ** 2, "g": 1 / at[0]}
    expected = dict.fromkeys(["x", "x_dot", *numbers], 0.0) | slopes
    tolerance = float(random.choice([1e-6, 1e-9]))
    given = (0, 60), start, numbers
    how: dict[str, Any] = {"method": METHODS[seed % 4], "rtol": tolerance, "atol": tolerance}
    check_slopes(model, "x", expected, *given, **how, abs=max(1e-6, 100 * tolerance))


def test_a_kink_without_a_jump_beside_one_with() -> None:
    """Quadratic drag on the way up and down, and a thrust that ends at x = b, crossed while x swings around it."""
    b = cg.parameters("b")
    system = unit_masses("beside", [x], forces={v: -k * (x - b) - c * sp.sign(x - b) - a * v * sp.Abs(v)})
    model = system.compile()
    start, numbers = {"x": 1.0, "x_dot": 0.0}, {"k": 2.0, "c": 0.2, "a": 0.4, "b": 0.3}
    exact: dict[str, Any] = {"method": "vern9", "rtol": 1e-13, "atol": 1e-13, "kinks": True}
    expected = {}
    for name in ("b", "c"):
        ends = [
            model.integrate((0, 6), start, {**numbers, name: numbers[name] + h}, **exact)["x"][-1]
            for h in (-2e-4, -1e-4, 1e-4, 2e-4)
        ]
        expected[name] = np.dot([1, -8, 8, -1], ends) / 12e-4
    check_slopes(model, "x", expected, (0, 6), start, numbers, rtol=1e-11, atol=1e-11, abs=1e-7)
