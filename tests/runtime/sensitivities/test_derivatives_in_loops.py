"""Derivatives by what is in a closed loop: a four-bar linkage, in forms with different states, at several tolerances.

The reference integrates the crank alone by SciPy, with the other angles from the closure of the loop. It starts at the
nearest point on the constraints, found by NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import chaplygin as cg
from chaplygin.errors import KernelError

SIZES = {"a": 1.0, "b": 2.5, "c": 2.0, "d": 2.4, "m": 1.0, "g": 9.81}
NAMES = ["a", "c", "g", "q1", "q3_dot"]
END = 1.5


def closed(sizes: Any, angle: float) -> tuple[float, float]:
    """The angles of coupler and rocker: two circles intersect."""
    a, b, c, d = (sizes[n] for n in "abcd")
    across = np.array([d - a * np.cos(angle), -a * np.sin(angle)])
    r = np.hypot(*across)
    along = (r**2 + b**2 - c**2) / (2 * r)
    up = np.sqrt(b**2 - along**2)
    x, y = (along * across + up * np.array([-across[1], across[0]])) / r
    return float(np.arctan2(y, x)), float(np.arctan2(y - across[1], x - across[0]))


def inertia(sizes: Any, q: Any) -> Any:
    """M of the three angles: rods with their masses along them."""
    a, b, c, m = (sizes[n] for n in "abcm")
    cross = m * a * b / 2 * np.cos(q[0] - q[1])
    return np.array([[m * a**2 * 4 / 3, cross, 0], [cross, m * b**2 / 3, 0], [0, 0, m * c**2 / 3]])


def lengths(sizes: Any) -> Any:
    """Those of the links around the loop, the rocker's backward."""
    return np.array([sizes["a"], sizes["b"], -sizes["c"]])


def slopes(sizes: Any, q: Any) -> Any:
    """The gradients of both equations of the loop."""
    arms = lengths(sizes)
    return np.array([-arms * np.sin(q), arms * np.cos(q)])


def gap(sizes: Any, q: Any) -> Any:
    arms = lengths(sizes)
    return np.array([arms @ np.cos(q) - sizes["d"], arms @ np.sin(q)])


def nearest(sizes: Any, q: Any, w: Any) -> tuple[Any, Any]:
    """The start on the constraints near q, w: steps of least kinetic energy, then the nearest velocities."""

    def pull(q: Any, right: Any) -> Any:
        across = np.linalg.solve(inertia(sizes, q), slopes(sizes, q).T)
        return across @ np.linalg.solve(slopes(sizes, q) @ across, right)

    for _ in range(20):
        q = q - pull(q, gap(sizes, q))
    return q, w - pull(q, slopes(sizes, q) @ w)


@pytest.fixture(scope="module")
def systems() -> Any:
    q = cg.coordinates("q1 q2 q3")
    a, b, c, d, m, g = cg.parameters("a b c d m g", positive=True)
    w = [cg.rate(x) for x in q]
    vx = -a * sp.sin(q[0]) * w[0] - b / 2 * sp.sin(q[1]) * w[1]
    vy = a * sp.cos(q[0]) * w[0] + b / 2 * sp.cos(q[1]) * w[1]
    kinetic = m * (a**2 * w[0] ** 2 / 3 + vx**2 + vy**2 + b**2 * w[1] ** 2 / 12 + c**2 * w[2] ** 2 / 3) / 2
    potential = m * g * (3 * a * sp.sin(q[0]) + b * sp.sin(q[1]) + c * sp.sin(q[2])) / 2
    loop = [
        a * sp.cos(q[0]) + b * sp.cos(q[1]) - c * sp.cos(q[2]) - d,
        a * sp.sin(q[0]) + b * sp.sin(q[1]) - c * sp.sin(q[2]),
    ]
    example = {s: SIZES[str(s)] for s in (a, b, c, d, m, g)} | dict(zip(q, (1.0, *closed(SIZES, 1.0))))
    return cg.System(
        "four_bar", coordinates=list(q), kinetic=kinetic, potential=potential, holonomic=loop, example=example
    )


@pytest.fixture(scope="module")
def linkages(systems: Any) -> dict[str, Any]:
    return {form: systems.compile(form) for form in ("multipliers", "maggi")}


def given(speed: float) -> dict[str, float]:
    """A start on the constraints, with every velocity."""
    q = np.array([1.0, *closed(SIZES, 1.0)])
    null = np.linalg.svd(slopes(SIZES, q))[2][-1]
    w = speed * null / null[0]
    return dict(zip(("q1", "q2", "q3", "q1_dot", "q2_dot", "q3_dot"), (*q, *w)))


def crank(sizes: Any, start: Any, times: Any) -> Any:
    """q1 at the times, by the equation of the crank alone."""
    q, w = nearest(
        sizes,
        np.array([start[n] for n in ("q1", "q2", "q3")]),
        np.array([start[f"q{i}_dot"] for i in (1, 2, 3)]),
    )

    def rates(t: float, y: Any) -> Any:
        q = np.array([y[0], *closed(sizes, y[0])])
        m, rows, arms = inertia(sizes, q), slopes(sizes, q), lengths(sizes)
        w = np.array([y[1], *np.linalg.solve(rows[:, 1:], -rows[:, 0] * y[1])])
        a, b, c, mass, g = (sizes[n] for n in "abcmg")
        twist = mass * a * b / 2 * np.sin(q[0] - q[1])
        weight = mass * g / 2 * np.array([3 * a * np.cos(q[0]), b * np.cos(q[1]), c * np.cos(q[2])])
        force = np.array([-twist * w[1] ** 2, twist * w[0] ** 2, 0]) - weight
        bias = np.array([-arms * np.cos(q), -arms * np.sin(q)]) @ w**2
        block = np.block([[m, rows.T], [rows, np.zeros((2, 2))]])
        return [y[1], np.linalg.solve(block, np.concatenate([force, -bias]))[0]]

    return solve_ivp(rates, (0, times[-1]), [q[0], w[0]], "DOP853", times, rtol=1e-13, atol=1e-13).y[0]


def difference(of: Callable[[float], Any], step: float = 2e-3) -> Any:
    """Central differences, extrapolated twice: an error of order six."""
    rows = [(of(h) - of(-h)) / (2 * h) for h in (step, 2 * step, 3 * step)]
    return 1.5 * rows[0] - 0.6 * rows[1] + 0.1 * rows[2]


@pytest.mark.slow
@pytest.mark.parametrize("speed", [0.0, 1.0])
def test_forms_and_tolerances_agree_with_differences_of_runs_from_the_nearest_start(
    linkages: dict[str, Any], speed: float
) -> None:
    start = given(speed)
    exact = []
    for name in NAMES:

        def moved(h: float, name: str = name) -> Any:
            sizes, begin = dict(SIZES), dict(start)
            (sizes if name in sizes else begin)[name] += h
            return crank(sizes, begin, np.array([END]))[-1]

        exact.append(difference(moved))
    for model in linkages.values():
        for tolerance in (1e-6, 1e-9, 1e-12):
            how: dict[str, Any] = {"rtol": tolerance, "atol": tolerance}
            sol = model.integrate((0, END), start, SIZES, sensitivities=NAMES, **how)
            limit = max(100 * tolerance, 1e-8)
            np.testing.assert_allclose(sol.sensitivity.y[0, :, -1], exact, atol=limit)
            for residual in model.residuals[:2]:
                np.testing.assert_allclose(sol.sensitivity[residual, "a"], 0, atol=limit)
        several = {name: [value, value] for name, value in start.items()}
        ens = cg.ensemble(model, (0, END), several, SIZES, sensitivities=NAMES)
        np.testing.assert_allclose(ens.sensitivity.y[0, :, 1], exact, atol=1e-7)
        by = [name for name in NAMES if name != "q3_dot" or name in model.states]
        found = model.gradient(cg.final("q1"), (0, END), start, SIZES, by=by)
        np.testing.assert_allclose(found.vector, exact[: len(by)], atol=1e-7)


@pytest.mark.slow
def test_independent_velocities_that_are_given_alone_are_held(linkages: dict[str, Any]) -> None:
    model = linkages["maggi"]
    alone = {name: value for name, value in given(1.0).items() if name in model.states}
    speed = model.states[-1]
    sol = model.integrate((0, END), alone, SIZES, sensitivities=["a", speed])
    assert sol.sensitivity[speed, "a"][0] == 0
    assert sol.sensitivity[speed, speed][0] == 1
    found = model.gradient(cg.final("q1"), (0, END), alone, SIZES, by=["a", speed])
    np.testing.assert_allclose(found.vector, sol.sensitivity.y[0, :, -1], rtol=1e-6)


@pytest.mark.parametrize("guess", [0.9, 1.1])
@pytest.mark.sample(1)
def test_a_length_of_the_loop_is_fitted_from_a_guess(linkages: dict[str, Any], guess: float) -> None:
    times, start = np.linspace(0.1, END, 15), given(1.0)
    samples = crank(SIZES, start, times)
    for model in linkages.values():
        found = cg.fit(
            model,
            {"q1": (times, samples)},
            free=["a"],
            initial=start,
            parameters={**SIZES, "a": guess},
            t0=0,
        )
        assert found["a"] == pytest.approx(1.0, abs=1e-8)
        objective = model.objective(
            cg.squares({"q1": (times, samples)}), (0, END), start, {**SIZES, "a": guess}, free=["a"]
        )
        values = [objective([guess + h])[0] for h in (-1e-4, 1e-4)]
        assert objective([guess])[1][0] == pytest.approx((values[1] - values[0]) / 2e-4, rel=1e-5)


def test_lengths_that_cannot_close_are_named(linkages: dict[str, Any]) -> None:
    data = {"q1": ([0.5, 1.0], [1.0, 1.0])}
    with pytest.raises(
        KernelError, match="no start near the given one satisfies the constraints of four_bar"
    ):
        cg.fit(
            linkages["multipliers"], data, free=["a"], initial=given(0), parameters={**SIZES, "a": 20.0}, t0=0
        )
