"""The nearest start, by constraints of coordinates and of velocities: its derivative, gradients and fits.

The reference is made of the declaration by SymPy and NumPy: the conditions of a minimum, in the metric of the kinetic
energy at the given point, solved by Newton's method. Derivatives are differences of runs from such starts.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import sympy as sp
from refusals import refused
from test_projection import NUMBERS, compiled
from test_singular_mass import two_mass_skate

import chaplygin as cg
from chaplygin.errors import ArgumentError
from chaplygin.runtime.model.nearest import Closure, NearestState

TIGHT = {"rtol": 1e-12, "atol": 1e-13}


class Case(NamedTuple):
    """A system with numbers, a start off its constraints, what is varied, and what a fit measures."""

    system: cg.System
    numbers: dict[str, float]
    given: dict[str, float]
    by: tuple[str, ...]
    free: str
    seen: tuple[str, ...]
    end: float = 1.5


def car(trailers: int) -> Case:
    """A car on its rear axle, and trailers, each with a hitch at a distance behind the axle before it."""
    q = x, y, *angles = cg.coordinates("x y " + " ".join(f"t{i}" for i in range(trailers + 1)))
    m, j, a, b = cg.parameters("m J a b", positive=True)

    def velocity(r: sp.Matrix) -> sp.Matrix:
        return r.jacobian(q) * sp.Matrix([cg.rate(s) for s in q])

    def axis(angle: Any) -> sp.Matrix:
        return sp.Matrix([sp.cos(angle), sp.sin(angle)])

    def across(r: sp.Matrix, angle: Any) -> Any:
        return velocity(r).dot(sp.Matrix([-sp.sin(angle), sp.cos(angle)]))

    axle = sp.Matrix([x, y])
    kinetic = (m * velocity(axle).dot(velocity(axle)) + j * cg.rate(angles[0]) ** 2) / 2
    constraints = [across(axle, angles[0])]
    for before, angle in itertools.pairwise(angles):
        axle = axle - a * axis(before) - b * axis(angle)
        kinetic += m * velocity(axle).dot(velocity(axle)) / 8 + j * cg.rate(angle) ** 2 / 8
        constraints.append(across(axle, angle))
    system = cg.System(
        f"car_with_{trailers}_trailers", coordinates=q, kinetic=kinetic, constraints=constraints
    )
    given = {"x": 0.0, "y": 0.1, "x_dot": 1.0, "y_dot": 0.3}
    given |= {f"t{i}": 0.2 + 0.3 * i for i in range(trailers + 1)}
    given |= {f"t{i}_dot": 0.4 - 0.2 * i for i in range(trailers + 1)}
    numbers = {"m": 1.3, "J": 0.7, "a": 0.4, "b": 1.1}
    return Case(system, numbers, given, ("a", "b", "t1", "x_dot"), "a", ("t0", "t1"))


def disk() -> Case:
    """A disk that rolls upright on a plane, by rates of its coordinates."""
    q = cg.coordinates("x y psi theta")
    m, r = cg.parameters("m r", positive=True)
    heading, (u, v, w, s) = q[2], [cg.rate(c) for c in q]
    kinetic = m * (u**2 + v**2) / 2 + m * r**2 * w**2 / 8 + m * r**2 * s**2 / 4
    constraints = [u - r * sp.cos(heading) * s, v - r * sp.sin(heading) * s]
    system = cg.System("upright_disk", coordinates=q, kinetic=kinetic, constraints=constraints)
    given = {
        "x": 0,
        "y": 0,
        "psi": 0.3,
        "theta": 0,
        "x_dot": 1.0,
        "y_dot": 0.5,
        "psi_dot": 0.7,
        "theta_dot": 2.0,
    }
    return Case(system, {"m": 2.0, "r": 0.5}, given, ("r", "psi", "theta_dot"), "r", ("x", "theta"))


def skate() -> Case:
    """Of two masses on blades, in a frame that turns: loops and constraints on velocities, a singular mass matrix."""
    system = two_mass_skate()
    values = {s.name: float(v) for s, v in system.example.items()}
    numbers = {s.name: values[s.name] for s in system.parameters}
    names = [s.name for s in (*system.coordinates, *system.velocities)]
    given = dict.fromkeys(names, 0.0) | {"v1": 5.0, "phi": 0.01, "delta": 0.02, "yaw": 0.1}
    return Case(system, numbers, given, ("w", "c", "phi", "steer"), "zB", ("phi", "psi"), 0.3)


def loop() -> Case:
    """A pendulum with a pin in x, y and a knife edge: a loop and a constraint on velocities that share coordinates."""
    q = x, y, s, angle = cg.coordinates("x y s phi")
    m, l, j = cg.parameters("m l J", positive=True)  # noqa: E741
    rates = [cg.rate(c) for c in q]
    kinetic = m * (rates[0] ** 2 + rates[1] ** 2 + (1 + sp.cos(angle) / 3) * rates[2] ** 2) / 2
    system = cg.System(
        "pin_and_edge",
        coordinates=q,
        kinetic=kinetic + j * rates[3] ** 2 / 2,
        potential=3 * m * y,
        holonomic=[x**2 + (y - s) ** 2 - l**2],
        constraints=[rates[0] * sp.sin(angle) - rates[2] * sp.cos(angle)],
    )
    given = {
        "x": 0.5,
        "y": -0.9,
        "s": 0.1,
        "phi": 0.8,
        "x_dot": 0.3,
        "y_dot": 0.1,
        "s_dot": 0.2,
        "phi_dot": 0.4,
    }
    return Case(system, {"m": 1.5, "l": 1.2, "J": 0.3}, given, ("l", "x", "phi", "s_dot"), "l", ("x", "s"))


CASES: dict[str, Callable[[], Case]] = {
    **{f"car with {n}": functools.partial(car, n) for n in (1, 2, 3)},
    "disk": disk,
    "loop": loop,
    "skate": skate,
}


NAMES = [*list(CASES)[:-1], pytest.param("skate", marks=pytest.mark.slow)]


class Reference:
    """The nearest start by the conditions of a minimum."""

    def __init__(self, case: Case) -> None:
        system = case.system
        self.case, x, eta = case, list(system.coordinates), list(system.velocities)
        self.n, self.k = len(x), len(eta)
        rates = [system.kinematics[s] for s in x]
        moving = {cg.rate(s): rate for s, rate in zip(x, rates, strict=True)}
        f = list(system.holonomic)
        affine = [sp.sympify(e).xreplace(moving) for e in system.constraints]
        affine += [sum(e.diff(s) * rate for s, rate in zip(x, rates, strict=True)) for e in f]
        kinetic = sp.sympify(system.kinetic).xreplace(moving)
        self.names = [s.name for s in (*x, *eta)]
        shaped = (
            (f, (len(f),)),
            ([e.diff(s) for e in f for s in x], (len(f), self.n)),
            ([rate.diff(v) for rate in rates for v in eta], (self.n, self.k)),
            ([kinetic.diff(v, w) for v in eta for w in eta], (self.k, self.k)),
            ([e.subs(dict.fromkeys(eta, 0)) for e in affine], (len(affine),)),
            ([e.diff(v) for e in affine for v in eta], (len(affine), self.k)),
        )
        arguments = [*x, *eta], list(system.parameters)
        self.parts = [(sp.lambdify(arguments, part, "numpy"), shape) for part, shape in shaped]
        self.counts = len(f), len(affine)

    def __call__(self, numbers: dict[str, float], given: dict[str, float]) -> dict[str, float]:
        p = [numbers[s.name] for s in self.case.system.parameters]
        start = np.array([given[n] for n in self.names])
        n, k, (h, s) = self.n, self.k, self.counts

        def parts(x: Any) -> list[Any]:
            return [np.reshape(part([*x, *np.zeros(k)], p), shape) for part, shape in self.parts]

        _, _, fields, mass, _, _ = parts(start[:n])

        def off(z: Any) -> Any:
            e, l, d, m = np.split(z, np.cumsum([k, h, k]))  # noqa: E741
            f, slopes, _, _, drift, rows = parts(start[:n] + fields @ e)
            first = mass @ e + fields.T @ slopes.T @ l
            second = mass @ d + rows.T @ m
            return np.concatenate([first, f, second, rows @ (start[n:] + d) + drift])

        z = np.zeros(2 * k + h + s)
        for _ in range(40):  # Newton's method, with derivatives by complex steps
            slopes = np.stack([off(z + 1e-100j * one).imag for one in np.eye(len(z))], axis=1) / 1e-100
            step = np.linalg.lstsq(slopes, -off(z), rcond=1e-13)[0]
            z = z + step
            if np.abs(step[: 2 * k + h]).max() < 1e-14:
                break
        assert np.abs(off(z)).max() < 1e-12
        e, _, d, _ = np.split(z, np.cumsum([k, h, k]))
        return dict(zip(self.names, map(float, (*(start[:n] + fields @ e), *(start[n:] + d))), strict=True))


@functools.cache
def made(name: str) -> tuple[Case, Reference, Any]:
    case = CASES[name]()
    return case, Reference(case), case.system.compile()


def varied(
    case: Case, given: dict[str, float], name: str, step: float
) -> tuple[dict[str, float], dict[str, float]]:
    numbers = {s: v + step * (s == name) for s, v in case.numbers.items()}
    return numbers, {s: v + step * (s == name) for s, v in given.items()}


def difference(of: Callable[[float], Any], step: float = 1e-3) -> Any:
    """Central differences, extrapolated twice: an error of order six."""
    rows = [(of(h) - of(-h)) / (2 * h) for h in (step, 2 * step, 3 * step)]
    return 1.5 * rows[0] - 0.6 * rows[1] + 0.1 * rows[2]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.sample(1)
def test_what_consistent_returns(name: str) -> None:
    case, nearest, model = made(name)
    found, expected = model.consistent(case.given, case.numbers), nearest(case.numbers, case.given)
    assert [found[s] for s in nearest.names] == pytest.approx([expected[s] for s in nearest.names], abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.sample(1)
def test_sensitivities_and_gradients_are_those_of_the_nearest_start(name: str) -> None:
    case, nearest, model = made(name)
    start = nearest(case.numbers, case.given)
    sol = model.integrate((0, case.end), start, case.numbers, sensitivities=case.by, **TIGHT)
    slope = model.gradient(cg.final(case.seen[0]), (0, case.end), start, case.numbers, by=case.by, **TIGHT)
    for record in (sol.start, slope.start):
        assert list(record.values()) == pytest.approx([start[s] for s in record], abs=1e-12)

    for j, name in enumerate(case.by):

        def end(step: float, name: str = name) -> Any:
            numbers, given = varied(case, start, name, step)
            begin = nearest(numbers, given)
            return model.integrate((0, case.end), begin, numbers, **TIGHT).y[:, -1]

        expected = difference(end, 2e-4 * (abs((case.numbers | start)[name]) or 1.0))
        scale = 1 + np.abs(expected).max()
        assert np.abs(sol.sensitivity.y[:, j, -1] - expected).max() < 1e-8 * scale
        assert slope[name] == pytest.approx(expected[model.states.index(case.seen[0])], abs=1e-8 * scale)
        for residual in model.residuals:
            assert np.abs(sol.sensitivity[residual, name]).max() < 1e-7 * scale


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_fit_finds_a_length_from_a_guess_a_fifth_off(name: str) -> None:
    """Each run of the fit begins at the nearest start; so does the measured one. Its Jacobian is that of the move."""
    case, nearest, model = made(name)
    times = np.linspace(0.1, 1.0, 15) * case.end
    sol = model.integrate(
        (0, case.end), nearest(case.numbers, case.given), case.numbers, t_eval=times, **TIGHT
    )
    series = {s: (times, sol[s]) for s in case.seen}
    for share in (0.8, 1.2):
        guess = case.numbers | {case.free: share * case.numbers[case.free]}
        how = {"initial": case.given, "parameters": guess, "free": [case.free], "t0": 0.0}
        off = cg.residuals(model, series, **how, **TIGHT)
        slopes = off.jacobian(off.start)[:, 0]
        expected = difference(lambda h, off=off: off(off.start + h), 2e-4)
        assert slopes == pytest.approx(expected, abs=1e-8 * (1 + np.abs(expected).max()))
        found = cg.fit(model, series, **how, **TIGHT)
        assert found[case.free] == pytest.approx(case.numbers[case.free], rel=1e-8)


@pytest.mark.parametrize("form", ["multipliers", "maggi"])
@pytest.mark.parametrize("heading", [np.pi / 2, -np.pi / 2, np.pi, 1.0])
@pytest.mark.sample(2)
def test_velocities_of_a_car_at_every_heading(form: str, heading: float) -> None:
    """At pi/2 one constraint has a single term that is zero to rounding: it contradicts nothing."""
    case = car(1)
    given = case.given | {
        "t0": heading,
        "t1": heading,
        "t0_dot": 0.0,
        "t1_dot": 0.0,
        "x_dot": 0.0,
        "y_dot": 0.0,
    }
    model = compiled_car(form)
    along = given | {"x_dot": 2 * np.cos(heading), "y_dot": 2 * np.sin(heading)}
    found = model.consistent(along, case.numbers)
    assert [found[s] for s in along] == pytest.approx(list(along.values()), abs=1e-14)
    aside = given | {"x_dot": -2 * np.sin(heading), "y_dot": 2 * np.cos(heading)}
    found = model.consistent(aside, case.numbers)
    rates = [found[s] for s in aside if s.endswith("_dot")]
    assert rates == pytest.approx(np.zeros(4), abs=1e-14)


@functools.cache
def compiled_car(form: str) -> Any:
    return car(1).system.compile(form)


@pytest.mark.slow
def test_forms_and_ensembles_have_the_same_nearest_start() -> None:
    """With every velocity given, a form whose states are only some of them is moved alike."""
    case, nearest, model = made("car with 1")
    start, how = nearest(case.numbers, case.given), {"sensitivities": ["a", "b", "t1"], **TIGHT}
    one = model.integrate((0, 1), start, case.numbers, **how)
    other = compiled_car("maggi").integrate((0, 1), start, case.numbers, **how)
    for s in model.states:
        for by in ("a", "b", "t1"):
            assert other.sensitivity[s, by][-1] == pytest.approx(one.sensitivity[s, by][-1], abs=1e-9)
    rates = [
        s for s in start if s.endswith("_dot")
    ]  # of which some follow from the others, also in gradients
    slope = compiled_car("maggi").gradient(cg.final("t1"), (0, 1), start, case.numbers, by=rates, **TIGHT)
    by_rates = model.integrate((0, 1), start, case.numbers, sensitivities=rates, **TIGHT)
    assert [slope[s] for s in rates] == pytest.approx(
        [by_rates.sensitivity["t1", s][-1] for s in rates], abs=1e-9
    )
    many = {s: np.full(3, v) for s, v in start.items()}
    ens = cg.ensemble(model, (0, 1), many, case.numbers, **how)
    assert np.array_equal(ens.sensitivity.y[..., 1], one.sensitivity.y[..., -1])
    apart = dict(zip(start, (v + 0.01 for v in start.values()), strict=True))
    objective = compiled_car("maggi").objective(cg.final("t1"), (0, 1), apart, case.numbers, free=["a"])
    begins = model.consistent(apart, case.numbers)
    end = model.integrate((0, 1), begins, case.numbers)["t1"][-1]
    assert objective(objective.start)[0] == pytest.approx(end, abs=1e-6)


@pytest.mark.slow
def test_the_move_of_a_quaternion_and_its_derivative() -> None:
    """A body with a pin in space, from beside it: its quaternion keeps its length, and the derivative is exact."""
    m, l = cg.parameters("m l", positive=True)  # noqa: E741
    body = cg.joint.free(None, name="b", mass=m, inertia=(1, 2, 3))
    pin = sp.Matrix(body.center) + body.rotation * sp.Matrix([0, 0, l])
    model = cg.System("pinned_body", bodies=[body], holonomic=list(pin)).compile("multipliers")
    names, p = model.declared, np.array([{"m": 2.0, "l": 0.7}[n] for n in model.parameters])
    given = np.array([0.1, 0.2, -0.6, 0.99, 0.1, -0.05, 0.2, 0.3, -0.1, 0.2, 0.4, 0.1, -0.3])
    given[3:7] /= np.linalg.norm(given[3:7])

    def moved(given: Any, p: Any) -> tuple[Any, NearestState]:
        found = NearestState(Closure(model, 0.0, p, np.zeros(0)), given)
        return np.concatenate([found.x, found.eta]), found

    start, found = moved(given, p)
    assert found.unmet() is None
    assert np.linalg.norm(start[3:7]) == pytest.approx(1, abs=1e-14)
    expected = [difference(lambda h, e=e: moved(given + h * e, p)[0]) for e in np.eye(len(names))]
    expected += [difference(lambda h, e=e: moved(given, p + h * e)[0]) for e in np.eye(len(p))]
    np.testing.assert_allclose(found.derivatives(), np.transpose(expected), atol=1e-9)


GIVEN = {"x": 0.9, "y": -1.2, "x_dot": 0.3, "y_dot": 0.8}


@pytest.mark.parametrize("form", ["multipliers", "maggi"])
def test_the_nearest_point_of_a_circle_is_on_its_radius(form: str) -> None:
    found = compiled(form).consistent(GIVEN, NUMBERS)
    radial = np.array([0.6, -0.8])
    velocity = np.array([0.3, 0.8])
    np.testing.assert_allclose([found["x"], found["y"]], 0.7 * radial, rtol=1e-12)
    tangential = velocity - radial * (radial @ velocity)
    np.testing.assert_allclose([found["x_dot"], found["y_dot"]], tangential, rtol=1e-12)
    sol = compiled(form).integrate((0, 0.1), found, NUMBERS)
    assert sol.success


def test_what_is_kept_stays() -> None:
    found = compiled().consistent(GIVEN | {"x": 0.5}, NUMBERS, keep=["x", "x_dot"])
    y = -np.sqrt(0.49 - 0.25)
    assert (found["x"], found["x_dot"]) == (0.5, 0.3)
    assert found["y"] == pytest.approx(y, rel=1e-12)
    assert found["y_dot"] == pytest.approx(-0.5 * 0.3 / y, rel=1e-12)


def test_symbols_are_names() -> None:
    x = cg.coordinates("x")
    assert compiled().consistent(GIVEN | {"x": 0.5}, NUMBERS, keep=x)["x"] == 0.5
    assert compiled().consistent(GIVEN | {"x": 0.5}, NUMBERS, keep=[x])["x"] == 0.5


def test_arguments_that_are_wrong_are_named() -> None:
    words = r"initial = \[1.*\]: give values by name, a dict of x, y, x_dot, y_dot"
    refused(words, compiled().consistent, [1, 0.2, 0, 1], NUMBERS)
    length = next(name for name in NUMBERS if NUMBERS[name] == 0.7)
    with pytest.raises(ArgumentError, match=f"{length} = -0.5, but {length} is declared positive"):
        compiled().consistent(GIVEN, NUMBERS | {length: -0.5})


def test_velocities_that_are_not_given_count_as_zero() -> None:
    found = compiled().consistent({"x": 0.7, "y": 0}, NUMBERS)
    assert found == {"x": 0.7, "y": 0.0, "x_dot": 0.0, "y_dot": 0.0}


@pytest.mark.parametrize(
    ("given", "keep", "message"),
    [
        (
            {"x": 0.9},
            ["x"],
            r"no coordinates near the given ones satisfy holonomic_1 with x held: the residual is",
        ),
        (
            {"x": 0.5},
            ["x_dot", "y_dot"],
            r"no velocities satisfy constraint_1 with x_dot, y_dot held: the residual",
        ),
        ({}, ["z"], r"keep: unknown z"),
        ({}, 3, r"keep = 3: give a list of names"),
        ({"phi": 1.0}, [], r"phi"),
        ({"y": np.nan}, [], r"y"),
    ],
)
def test_what_is_impossible_is_named(given: Any, keep: Any, message: str) -> None:
    refused(message, compiled().consistent, GIVEN | given, NUMBERS, keep=keep)


def test_a_model_without_constraints_has_nothing_to_satisfy() -> None:
    model = cg.example("harmonic_oscillator").system.compile()
    refused("has no constraints", model.consistent, {"x": 1}, {"m": 1, "k": 1})
