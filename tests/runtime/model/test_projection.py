"""Runs that are kept on their constraints: `project=`."""

from __future__ import annotations

import functools
import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
import sympy as sp
from unit_masses import unit_masses

import chaplygin as cg
from chaplygin.api.python_model import python_model
from chaplygin.errors import ArgumentError

X, Y = cg.coordinates("x y")
M, L, G = cg.parameters("m l g", positive=True)
VX, VY = cg.rate(X), cg.rate(Y)
NUMBERS = {"m": 1.3, "l": 0.7, "g": 9.81}
START = {"x": 0.7, "y": 0.0, "x_dot": 0.0, "y_dot": 0.0}


def pendulum(**more: Any) -> cg.System:
    return cg.System(
        "pendulum",
        coordinates=[X, Y],
        kinetic=M * (VX**2 + VY**2) / 2,
        potential=M * G * Y,
        holonomic=[(X**2 + Y**2 - L**2) / 2],
        example={X: 0.42, Y: -0.56, L: 0.7},
        **more,
    )


@cache
def compiled(form: str = "multipliers") -> Any:
    return pendulum().compile(form)


@cache
def by_angle() -> Any:
    phi = cg.coordinates("phi")
    v = cg.rate(phi)
    return cg.System(
        "by_angle",
        coordinates=[phi],
        kinetic=M * L**2 * v**2 / 2,
        potential=-M * G * L * sp.cos(phi),
        outputs={"x": L * sp.sin(phi), "y": -L * sp.cos(phi)},
    ).compile()


def off(sol: Any) -> float:
    """How far the states are from x^2 + y^2 = l^2 and x vx + y vy = 0."""
    x, y, vx, vy = (sol[name] for name in ("x", "y", "x_dot", "y_dot"))
    return float(max(np.abs(x**2 + y**2 - 0.49).max(), np.abs(x * vx + y * vy).max()))


@pytest.mark.parametrize("form", ["multipliers", "maggi"])
def test_one_correction_is_the_step_of_least_kinetic_energy(form: str) -> None:
    """The gradient of f is (x, y) and the mass is the same in both directions: the move is radial."""
    model = compiled(form)
    x, y, vx, vy = 0.5, -0.6, 0.3, 0.8
    state = np.array([x, y, vx, vy][: len(model.states)])
    moved = model.call("correction", 0.0, state, [NUMBERS[n] for n in model.parameters])
    radial = np.array([x, y]) / (x**2 + y**2)
    np.testing.assert_allclose(moved[:2], -(x**2 + y**2 - 0.49) / 2 * radial, rtol=1e-14)
    expected = -(x * vx + y * vy) * radial if form == "multipliers" else [0.0]
    np.testing.assert_allclose(moved[2:], expected, rtol=1e-14, atol=0)


@pytest.mark.parametrize("method", ["dop853", "vern9", "rodas5p", "auto"])
def test_a_pendulum_stays_on_its_circle_and_keeps_its_energy_no_worse_than_by_its_angle(method: str) -> None:
    span, how = (0, 200), {"rtol": 1e-6, "atol": 1e-6, "method": method}
    kept = compiled().integrate(span, START, NUMBERS, **how)
    left = compiled().integrate(span, START, NUMBERS, project=None, **how)
    assert kept.success
    assert off(kept) < 1e-9
    assert off(left) > 1e-6
    angle = by_angle().integrate(span, {"phi": np.pi / 2, "phi_dot": 0}, NUMBERS, **how)
    assert np.ptp(kept.evaluate("energy")) <= np.ptp(angle.evaluate("energy"))


def test_the_energy_error_is_that_of_the_method_on_the_same_steps() -> None:
    """Of Tsitouras' method with the nearest point of the circle, in NumPy: nothing is added by how steps are moved."""
    a = [
        [0.161],
        [-0.008480655492356989, 0.335480655492357],
        [2.8971530571054935, -6.359448489975075, 4.3622954328695815],
        [5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525],
        [5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401, -0.028269050394068383],
        [
            0.09646076681806523,
            0.01,
            0.4798896504144996,
            1.379008574103742,
            -3.290069515436081,
            2.324710524099774,
        ],
    ]

    def derivative(s: np.ndarray) -> np.ndarray:
        pull = (s[2:] @ s[2:] - 9.81 * s[1]) / (s[:2] @ s[:2])
        return np.array([s[2], s[3], -pull * s[0], -pull * s[1] - 9.81])

    sol = compiled().integrate((0, 100), START, NUMBERS, rtol=1e-6, atol=1e-6, method="tsit5")
    state = np.array(list(START.values()))
    states = [state]
    for h in np.diff(sol.t):
        slopes = [derivative(state)]
        for row in a:
            ahead = state + h * sum(w * k for w, k in zip(row, slopes, strict=True))
            slopes.append(derivative(ahead))
        place = 0.7 * ahead[:2] / np.hypot(*ahead[:2])
        state = np.concatenate([place, ahead[2:] - (place @ ahead[2:]) / 0.49 * place])
        states.append(state)
    energy = [1.3 * (s[2:] @ s[2:]) / 2 + 1.3 * 9.81 * s[1] for s in states]
    assert np.ptp(energy) > 1e-5
    np.testing.assert_allclose(np.ptp(sol.evaluate("energy")), np.ptp(energy), rtol=1e-6)


def test_independent_velocities_follow_the_coordinates() -> None:
    """`maggi` has the velocities from the constraints: only the coordinates are moved. Its chart ends at y = 0."""
    start = {"x": 0.1, "y": -np.sqrt(0.48), "x_dot": 0.4, "y_dot": 0.4 * 0.1 / np.sqrt(0.48)}
    for project, bound in (("constraints", 1e-10), (None, 1.0)):
        how = {"rtol": 1e-6, "atol": 1e-6, "method": "dop853", "project": project}
        sol = compiled("maggi").integrate((0, 100), start, NUMBERS, **how)
        assert sol.success
        assert off(sol) < bound
    assert off(sol) > 1e-8


def test_the_interpolant_ends_in_the_moved_states_and_stays_within_the_tolerance() -> None:
    sol = compiled().integrate((0, 10), START, NUMBERS, rtol=1e-7, atol=1e-7, dense_output=True)
    for i in (1, 17, len(sol.t) - 1):
        np.testing.assert_allclose(sol.sol(sol.t[i]), sol.y[:, i], rtol=0, atol=1e-15)
    fine = sol.sol(np.linspace(0, 10, 2001))
    assert np.abs(fine[0] ** 2 + fine[1] ** 2 - 0.49).max() < 1e-6


def test_events_are_found_on_the_constraints() -> None:
    """At the lowest point v^2 = 2 g l from a horizontal start; its time is l^(1/2) g^(-1/2) K(1/2)."""
    from scipy.special import ellipk

    lowest = cg.Event(X, name="lowest", direction=-1, terminal=True)
    model = pendulum(events=[lowest]).compile("multipliers")
    sol = model.integrate((0, 10), START, NUMBERS, rtol=1e-11, atol=1e-11)
    assert sol.t[-1] == pytest.approx(np.sqrt(0.7 / 9.81) * ellipk(0.5), rel=1e-9)
    assert sol["x_dot"][-1] ** 2 == pytest.approx(2 * 9.81 * 0.7, rel=1e-9)
    assert off(sol) < 1e-13


def test_invariants_of_coordinates_are_kept_on_request() -> None:
    """Without it, |q|^2 of a heavy top drifts by the errors of the steps; it keeps the value it starts with."""
    entry = cg.example("heavy_top")
    model = entry.system.compile()
    drift = {}
    for project in ("all", "constraints", None):
        sol = model.integrate((0, 50), entry.initial, entry.parameters, rtol=1e-6, atol=1e-6, project=project)
        size = sum(sol[f"q{i}"] ** 2 for i in range(4))
        drift[project] = float(np.abs(size - size[0]).max())
    assert drift["all"] < 1e-9
    assert drift["constraints"] == drift[None] > 1e-7


@pytest.mark.filterwarnings("ignore:initial:chaplygin.ConsistencyWarning")
def test_invariants_of_coordinates_are_kept_in_lanes() -> None:
    """With the bits of single runs, whose |q|^2 is that of each start; trajectories move on to other lanes."""
    entry = cg.example("heavy_top")
    model = entry.system.compile()
    how = {"rtol": 1e-6, "atol": 1e-6, "project": "all"}
    sizes = np.linspace(0.9, 1.1, 11)
    initial = entry.initial | {name: entry.initial[name] * sizes for name in ("q0", "q1", "q2", "q3")}
    ends = cg.ensemble(
        model, (0, 9), initial=initial, parameters=entry.parameters, progress=False, lanes=2, **how
    )
    assert ends.lanes == 2
    found = sum(ends[f"q{i}"] ** 2 for i in range(4))
    start = sum(entry.initial[f"q{i}"] ** 2 for i in range(4))
    np.testing.assert_allclose(found, start * sizes**2, rtol=1e-9)
    for i in (0, 5, 10):
        alone = {name: float(np.broadcast_to(value, 11)[i]) for name, value in initial.items()}
        sol = model.integrate((0, 9), alone, entry.parameters, **how)
        np.testing.assert_array_equal(ends.y[:, i], sol.y[:, -1])
    with pytest.raises(ArgumentError, match="project='all' moves the coordinates of heavy_top back"):
        model.batch(entry.initial, entry.parameters, n=3, lanes=2, **how)


def test_steppers_batches_and_pure_python_stay_on_the_constraints() -> None:
    model = compiled()
    how = {"rtol": 1e-6, "atol": 1e-6}
    alone = model.integrate((0, 20), START, NUMBERS, **how)
    run = model.stepper(START, NUMBERS, **how)
    batch = model.batch(START, NUMBERS, n=2, **how)
    for _ in range(40):
        run.advance_by(0.5)
        batch.advance_by(0.5)
    for y in (run.y, batch.y[:, 1]):
        assert abs(y[0] ** 2 + y[1] ** 2 - 0.49) < 1e-9
    np.testing.assert_allclose(run.y, alone.y[:, -1], atol=1e-3)
    saved = run.save()
    first = run.advance_by(0.5)
    run.restore(saved)
    np.testing.assert_array_equal(run.advance_by(0.5), first)


def test_corrections_that_rounding_errors_keep_from_vanishing_are_accepted() -> None:
    """A tolerance of 1e-14 is above the rounding errors of the circle, of which a part of 1e-4 is below."""
    sol = compiled().integrate((0, 0.2), START, NUMBERS, rtol=3e-14, atol=1e-15, method="dop853")
    assert sol.success
    assert off(sol) < 1e-14


@pytest.mark.parametrize("method", ["dop853", "rk4"])
@pytest.mark.sample(1)
def test_lanes_have_the_bits_of_a_single_run(method: str) -> None:
    model, rng = compiled(), np.random.default_rng(4)
    angle, spin = rng.uniform(-3, 3, 37), rng.uniform(-2, 2, 37)
    start = {"x": 0.7 * np.sin(angle), "y": -0.7 * np.cos(angle)}
    start |= {"x_dot": 0.7 * spin * np.cos(angle), "y_dot": 0.7 * spin * np.sin(angle)}
    how = {"method": method} | ({"step": 0.02} if method == "rk4" else {"rtol": 1e-6, "atol": 1e-6})
    found = {
        lanes: cg.ensemble(model, (0, 20), start, NUMBERS, n=37, lanes=lanes, progress=False, **how)
        for lanes in (1, 2, 4, 8)
        if lanes
        <= cg.ensemble(
            model, (0, 0.1), {k: v[0] for k, v in start.items()}, NUMBERS, n=600, progress=False
        ).lanes
    }
    assert len(found) > 1
    for lanes, ens in found.items():
        assert ens.lanes == lanes
        np.testing.assert_array_equal(ens.y, found[1].y)
        np.testing.assert_array_equal(ens.nfev, found[1].nfev)
    x, y = found[1]["x"], found[1]["y"]
    assert np.abs(x**2 + y**2 - 0.49).max() < 1e-9
    one = model.integrate((0, 20), {k: v[5] for k, v in start.items()}, NUMBERS, **how)
    np.testing.assert_array_equal(one.y[:, -1], found[1].y[:, 5])
    left = cg.ensemble(model, (0, 20), start, NUMBERS, n=37, project=None, progress=False, **how)
    assert np.abs(left["x"] ** 2 + left["y"] ** 2 - 0.49).max() > 1e-8


@pytest.mark.parametrize("wrong", ["positions", True, 1, ["all"]])
def test_another_projection_is_refused(wrong: Any) -> None:
    with pytest.raises(ArgumentError, match=r"project = .* must be 'constraints', 'all' or None"):
        compiled().integrate((0, 1), START, NUMBERS, project=wrong)


@pytest.mark.parametrize("form", ["multipliers", "maggi"])
@pytest.mark.parametrize("named", ["low", "low and same"])
@pytest.mark.sample(2)
def test_a_reset_that_leaves_the_constraints_ends_the_run(form: str, named: str) -> None:
    """Nothing is moved: the run ends in the state after the reset. One that keeps the length goes on."""

    def events(after: Any) -> list[cg.Event]:
        first = cg.Event(X - 0.1, direction=-1, reset={X: after}, name="low")
        same = cg.Event(10 * X - 1, direction=-1, reset={Y: Y}, name="same")
        return [first, same] if "same" in named else [first]

    start = {"x": 0.42, "y": -0.56, "x_dot": 0.0, "y_dot": 0.0}
    for after, status in ((X / 2, -14), (X, 0), (-X, 0)):
        if form == "multipliers" and after == -X:
            continue  # the velocity is no longer along the circle
        model = pendulum(events=events(after)).compile(form)
        begin = {name: start[name] for name in model.states}
        sol = model.integrate((0, 1), begin, NUMBERS)
        assert sol.status == status, sol.message
        assert (cg.ensemble(model, (0, 1), begin, NUMBERS, n=3).status == status).all()
        if status == 0:
            continue
        assert f"the reset of the event {named} leaves the constraints" in sol.message
        assert sol["x"][-1] == pytest.approx(0.05, abs=1e-6)
        run = model.stepper(begin, NUMBERS)
        with pytest.raises(cg.KernelError, match=f"the reset of the event {named} leaves") as error:
            run.advance(1.0)
        assert error.value.status == -14
        with pytest.raises(cg.KernelError, match=f"the reset of the event {named} leaves") as error:
            model.gradient(cg.final("x"), (0, 1), begin, NUMBERS)
        assert error.value.status == -14


RING = cg.example("rolling_ring")


@functools.cache
def ring() -> Any:
    """Two constraints on velocities, which all are states."""
    return RING.system.compile("multipliers")


def run(t: float, **options: Any) -> Any:
    return ring().integrate((0, t), RING.initial, RING.parameters, **{"rtol": 1e-3, "atol": 1e-3, **options})


def slip(sol: Any) -> float:
    """The larger of the residuals at the end, as the model names them."""
    return max(abs(sol[name][-1]) for name in ring().residuals)


def test_a_slip_beyond_the_tolerances_is_told() -> None:
    """As many times 1e-3 as it is of the sum of magnitudes of the terms, dA/d(eta) eta, or of atol times slopes."""
    with pytest.warns(
        RuntimeWarning, match=r"rolling_ring: at t = 500 constraint_\d = .* tolerances off.*other than"
    ) as w:
        sol = run(500)
    assert w[0].filename == __file__
    end = sol.y[:, -1]
    residual, terms, slopes = np.reshape(
        ring()._columns(
            "consistency", np.array([500.0]), end[:, None], sol._p[:, None], np.empty((0, 1)), None
        ),
        (-1, 3),
    ).T
    assert np.abs(residual).max() == pytest.approx(slip(sol), rel=1e-12)
    counts = np.abs(residual) / (1e-3 * np.maximum(terms, slopes))
    worst = int(np.argmax(counts))
    assert counts[worst] > 10
    told = f"{ring().residuals[worst]} = {residual[worst]:.3g}, which must be zero, is {counts[worst]:.0f} tolerances"
    assert told in sol.message


@pytest.mark.parametrize(
    "options",
    [
        {"t_eval": [0, 1]},
        {"t_eval": []},
        {"t_eval": [1], "sensitivities": ["m1"], "sensitivity_control": False},
    ],
)
def test_it_is_judged_at_the_end_of_the_run_whatever_points_are_kept(options: dict[str, Any]) -> None:
    told = r"at t = 500 constraint_\d = -?\d.* tolerances off"
    with pytest.warns(RuntimeWarning, match=told):
        sol = run(500, **options)
    with pytest.warns(RuntimeWarning):
        whole = run(500)
    assert sol.t_reached == 500
    assert "tolerances off" in sol.message
    assert "sensitivities" in options or sol.message == whole.message


@pytest.mark.parametrize(("t", "options"), [(5, {}), (500, {"rtol": 1e-8, "atol": 1e-8})])
def test_a_slip_within_the_tolerances_is_not(t: float, options: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sol = run(t, **options)
    assert "tolerances off" not in sol.message


def test_without_a_projection_only_the_message_tells() -> None:
    """A pendulum in x and y that nothing holds on its circle."""
    x, y = cg.coordinates("x y")
    system = unit_masses("loose", [x, y], potential=10 * y, holonomic=[x**2 + y**2 - 1])
    equations = system.equations("multipliers")
    compiled, pure = equations.compile(), python_model(equations.program, quiet=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loose = [
            model.integrate((0, 100), [1.0, 0, 0, 0], rtol=1e-4, atol=1e-4, project=None)
            for model in (compiled, pure)
        ]
        held = compiled.integrate((0, 100), [1.0, 0, 0, 0], rtol=1e-4, atol=1e-4)
    told = "tolerances off, since errors of steps add up; make rtol and atol smaller, or leave project"
    assert all(told in sol.message for sol in loose)
    assert "tolerances off" not in held.message


def test_trajectories_of_an_ensemble_do_not_warn_one_by_one() -> None:
    given: dict[str, Any] = {
        "initial": RING.initial,
        "parameters": RING.parameters,
        "rtol": 1e-3,
        "atol": 1e-3,
    }
    with pytest.warns(RuntimeWarning, match="tolerances off"):
        alone = run(500)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ens = cg.ensemble(ring(), (0, 500), **given, n=2)
    assert (ens.y == alone.y[:, -1:]).all()
