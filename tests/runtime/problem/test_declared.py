"""`initial=` in the declared velocities, in every form; contradictory values are refused."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import sympy as sp
from refusals import refused

import chaplygin as cg
from chaplygin.api.python_model import python_model
from chaplygin.errors import ArgumentError, ConsistencyWarning

BACKENDS = ("compiled", "pure-Python")
P = {"m": 1.0, "a": 0.2, "J": 0.5}
PLACE = {"phi": 0.1, "x": 0.0, "y": 0.0}
SOLVED = {"phi": 0.1, "x": 0.0, "y": 0.0, "th1": 0.9, "th2": 0.91}
"""omega = th1 + phi and v = 2 th2 + a th1 solved by hand for omega = 1, v = 2."""


def parts() -> tuple[Any, ...]:
    phi, x, y = cg.coordinates("phi x y")
    omega, v, w = cg.velocities("omega v w")
    m, a, J = cg.parameters("m a J", positive=True)
    given = {
        "kinematics": {
            phi: omega,
            x: v * sp.cos(phi) - w * sp.sin(phi),
            y: v * sp.sin(phi) + w * sp.cos(phi),
        },
        "kinetic": m * (v**2 + (w + a * omega) ** 2) / 2 + J * omega**2 / 2,
    }
    return phi, omega, v, w, a, given


def sleigh(nonlinear: bool = False) -> cg.System:
    """A sleigh with two independent parameters: affine in them, or polar, v = r cos(s), omega = r sin(s)."""
    phi, omega, v, w, a, given = parts()
    first, second = cg.velocities("th1 th2")
    if nonlinear:
        beta = {omega: first * sp.sin(second), v: first * sp.cos(second), w: 0}
    else:
        beta = {omega: first + phi, v: 2 * second + a * first, w: 0}
    name = "polar_sleigh" if nonlinear else "affine_sleigh"
    return cg.System(name, **given, parametrization=beta, example={a: 0.2, phi: 0.1, first: 1.5, second: 0.5})


def model_of(system: cg.System, form: str, backend: str = "compiled", **options: Any) -> Any:
    if backend == "pure-Python":
        return python_model(system.equations(form, **options).program, quiet=True)
    return system.compile(form, **options)


def quiet(call: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return call()


@pytest.mark.parametrize("form", ["maggi", "nonholonomic", "hamel"])
def test_a_parametrization_takes_declared_velocities(form: str) -> None:
    model = model_of(sleigh(), form)
    wanted = [SOLVED[name] for name in model.states]
    for given in ({"omega": 1.0, "v": 2.0, "w": 0.0}, {"omega": 1.0, "v": 2.0}, {"omega": 1.0, "th2": 0.91}):
        sol = quiet(lambda given=given: model.integrate((0.0, 0.5), {**PLACE, **given}, P))
        assert sol.y[:, 0] == pytest.approx(wanted, rel=1e-15, abs=1e-15)
        assert sol["omega"][0] == pytest.approx(1.0, rel=1e-15)
        run = model.stepper({**PLACE, **given}, P)
        assert np.array_equal(run.y, sol.y[:, 0])


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_does_not_fit_is_refused(backend: str) -> None:
    model = model_of(sleigh(), "maggi", backend)

    def run(**given: float) -> Any:
        return model.integrate((0.0, 0.5), {**PLACE, **given}, P)

    refused(r"w = 0\.3 contradicts the other velocities.* permitted value is 0", run, omega=1.0, v=2.0, w=0.3)
    with pytest.warns(ConsistencyWarning, match="w = 1e-06 contradicts"):
        run(omega=1.0, v=2.0, w=1e-6)
    refused("omega, w do not determine th1, th2", run, omega=1.0, w=0.0)
    refused("missing th1, th2; omega do not determine", run, omega=1.0)
    refused("missing th1, th2", run)
    refused("missing phi", model.integrate, (0.0, 0.5), {"x": 0.0, "y": 0.0, "omega": 1.0, "v": 2.0}, P)


def test_ensembles_take_declared_velocities() -> None:
    model = model_of(sleigh(), "maggi")
    omega, a = np.linspace(-2.0, 3.0, 7), np.linspace(0.1, 0.4, 7)
    given = {**PLACE, "omega": omega, "v": 2.0, "w": 0.0}
    ens = quiet(
        lambda: cg.ensemble(model, (0.0, 0.5), initial=given, parameters={**P, "a": a}, t_eval=[0.0, 0.5])
    )
    start = ens.y[:, 0]
    assert start[model.states.index("th1")] == pytest.approx(omega - 0.1, rel=1e-14)
    assert start[model.states.index("th2")] == pytest.approx((2 - a * (omega - 0.1)) / 2, rel=1e-14)
    for i in range(7):
        assert np.array_equal(ens.rerun(i).y[:, [0, -1]], ens.y[:, :, i])
    wrong = np.array([0, 0, 0, 0.5, 0, 0.5, 0])
    words = r"w = 0\.5 contradicts.*2 of 7 trajectories; the first is number 3"
    refused(words, cg.ensemble, model, (0.0, 0.5), initial={**given, "w": wrong}, parameters=P)


def test_a_nonlinear_parametrization_is_solved_near_the_example() -> None:
    model = model_of(sleigh(nonlinear=True), "maggi")
    at = {**PLACE, "omega": 2.0 * np.sin(0.7), "v": 2.0 * np.cos(0.7)}
    sol = quiet(lambda: model.integrate((0.0, 0.5), at, P))
    r, s = (float(sol[name][0]) for name in ("th1", "th2"))
    assert (r, s) == pytest.approx((2.0, 0.7), rel=1e-14)
    angles = np.array([0.2, 0.7, 0.9, 1.1])
    given = {**PLACE, "omega": 3.0 * np.sin(angles), "v": 3.0 * np.cos(angles), "w": 0.0}
    ens = quiet(lambda: cg.ensemble(model, (0.0, 0.1), initial=given, parameters=P, t_eval=[0.0, 0.1]))
    assert ens["th1"][0] == pytest.approx(np.full(4, 3.0), rel=1e-13)
    assert ens["th2"][0] == pytest.approx(angles, rel=1e-13)
    assert np.array_equal(ens.rerun(2).y[:, 0], ens.y[:, 0, 2])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("form", ["maggi", "nonholonomic", "hamel"])
def test_dependent_velocities_stand_in_for_independent_ones(form: str, backend: str) -> None:
    """With w = 2 omega - v/2 the states are v and w, and omega = (w + v/2)/2 can be given instead of one of them."""
    phi, omega, v, w, a, given = parts()
    system = cg.System(
        "coupled_sleigh", **given, constraints=[w - 2 * omega + v / 2], example={a: 0.2, phi: 0.1}
    )
    model = model_of(system, form, backend, independent=[v, w])
    quarter = {**PLACE, "v": 1.0, "w": 0.5}
    wanted = model.integrate((0.0, 0.5), quarter, P).y[:, 0]
    found = quiet(lambda: model.integrate((0.0, 0.5), {**PLACE, "v": 1.0, "omega": 0.5}, P)).y[:, 0]
    assert found == pytest.approx(wanted, rel=1e-15)
    with pytest.raises(ArgumentError, match=r"omega = 0\.6\d* contradicts|omega = 0\.59\d* contradicts"):
        model.integrate((0.0, 0.5), {**quarter, "omega": 0.6}, P)
    refused("missing v, w", model.integrate, (0.0, 0.5), {**PLACE, "omega": 0.5}, P)


def test_whittaker_with_a_parametrization_takes_declared_velocities() -> None:
    """A free particle with independent parameters: the trajectory is the straight line y = 0.5 x."""
    x, y, z = cg.coordinates("x y z")
    u, v, w = cg.velocities("u v w")
    first, second = cg.velocities("th1 th2")
    m = cg.parameters("m", positive=True)
    system = cg.System(
        "particle_in_a_plane",
        kinematics={x: u, y: v, z: w},
        kinetic=m * (u**2 + v**2 + w**2) / 2,
        parametrization={u: first, v: 2 * second, w: 0},
        example={x: 0, y: 0, z: 0, first: 1, second: 1, m: 1},
    )
    model = system.compile("whittaker")
    sol = model.integrate((0.0, 3.0), {"y": 1.0, "z": 0.0, "u": 2.0, "v": 1.0, "w": 0.0}, {"m": 3.0})
    assert sol["y"][-1] == pytest.approx(1.0 + 0.5 * 3.0, rel=1e-12)
    assert sol["u"][-1] == pytest.approx(2.0, rel=1e-12)
    assert sol["th2"][-1] == pytest.approx(0.5, rel=1e-12)
    with pytest.raises(ArgumentError, match=r"w = 0\.4 contradicts"):
        model.integrate((0.0, 3.0), {"y": 1.0, "z": 0.0, "u": 2.0, "v": 1.0, "w": 0.4}, {"m": 3.0})


@pytest.mark.parametrize("form", ["chetaev", "poincare", "nonholonomic", "hamel", "routh"])
def test_every_free_form_takes_the_declared_velocities(form: str) -> None:
    """A particle in the frame of a turntable: p_v, a_v and so on follow from v."""
    r, phi = cg.coordinates("r phi")
    v, omega = cg.velocities("v omega")
    m = cg.parameters("m", positive=True)
    system = cg.System(
        "free_particle",
        kinematics={r: v, phi: omega},
        kinetic=m * (v**2 + r**2 * omega**2) / 2,
        example={r: 1, phi: 0, v: 0.1, omega: 1, m: 2},
    )
    model = system.compile(form)
    initial = {"r": 1.0, "phi": 0.0, "v": 0.0, "omega": 1.0}
    sol = model.integrate((0.0, 1.0), initial, {"m": 2.0}, rtol=1e-11, atol=1e-11)
    assert sol["r"][-1] == pytest.approx(np.sqrt(2.0), rel=1e-9)  # a straight line, x = 1, y = t
    assert sol["omega"][-1] == pytest.approx(0.5, rel=1e-9)
