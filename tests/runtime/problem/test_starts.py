"""Runs must begin on their constraints: a deviation is refused, or causes a warning if it is small."""

from __future__ import annotations

import functools
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import sympy as sp
from plane_systems import pendulum_in_x_and_y
from refusals import refused
from runtime_models import model
from unit_masses import unit_masses

import chaplygin as cg
from chaplygin.api.python_model import python_model
from chaplygin.errors import ArgumentError, ConsistencyWarning
from chaplygin.runtime.problem.consistency import STRETCH


def pendulum() -> cg.System:
    """A point on the unit circle, in Cartesian coordinates."""
    x, y = cg.coordinates("x y")
    m, g, length = cg.parameters("m g l", positive=True)
    point = {x: 0.6, y: -0.8, m: 1, g: 9.81, length: 1}
    return pendulum_in_x_and_y("pendulum_of_starts", example=point)


def sleigh() -> cg.System:
    return cg.example("chaplygin_sleigh").system


def compiled(system: cg.System, form: str) -> Any:
    return system.compile(form)


def four_bar() -> cg.System:
    """A closed loop: a crank of length 1/2, a coupler, and a rocker of length 1."""
    a, b, c = cg.coordinates("a b c")
    u, v, w = (cg.rate(q) for q in (a, b, c))
    coupler = sp.sqrt(5) / 2
    return cg.System(
        "four_bar_of_starts",
        coordinates=[a, b, c],
        kinetic=u**2 / 8 + v**2 / 4 + w**2 / 2,
        potential=3 * (sp.sin(a) / 2 + sp.sin(c)),
        holonomic=[
            sp.cos(a) / 2 + coupler * sp.cos(b) - sp.cos(c) - 1,
            sp.sin(a) / 2 + coupler * sp.sin(b) - sp.sin(c),
        ],
        example={a: sp.pi / 2, b: sp.atan(sp.Rational(1, 2)), c: sp.pi / 2},
    )


P = {"m": 1.0, "g": 9.81, "l": 1.0}


def start(x: float, y: float, speed: float = 0.0) -> dict[str, float]:
    """At (x, y), moving along the circle through it."""
    return {"x": x, "y": y, "x_dot": -speed * y, "y_dot": speed * x}


def tells(call: Any) -> Any:
    """The run is so coarse that a warning of its end is right."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConsistencyWarning)
        return call()


def quiet(call: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return call()


@pytest.mark.parametrize("form", ["maggi", "multipliers"])
def test_a_start_off_a_holonomic_equation_is_refused(form: str) -> None:
    model = compiled(pendulum(), form)
    names = [n for n in model.states if n in start(0.6, -0.9)]
    good = {n: v for n, v in start(0.6, -0.8).items() if n in names}
    bad = {n: v for n, v in start(0.6, -0.9).items() if n in names}
    residual = 0.6**2 + 0.9**2 - 1
    terms = 0.6**2 + 0.9**2 + 1
    message = f"residual holonomic_1 = {residual:.6g} at the start, with terms of magnitude {terms:.6g}"
    for given in (bad, np.array([bad[n] for n in model.states])):
        for run in (model.integrate, lambda _, *a: model.stepper(*a)):
            with pytest.raises(ArgumentError, match=message):
                run((0.0, 0.1), given, P)
    assert quiet(lambda: model.integrate((0.0, 0.1), good, P)).success
    quiet(lambda: model.stepper(good, P))
    # A parameter can violate it as well.
    with pytest.raises(ArgumentError, match="holonomic_1"):
        model.integrate((0.0, 0.1), good, {**P, "l": 1.1})


def test_velocities_off_the_constraints_are_refused() -> None:
    model = compiled(sleigh(), "multipliers")
    initial = {**cg.example("chaplygin_sleigh").initial, "w": -1.6}
    initial = {name: initial[name] for name in model.states}
    p = cg.example("chaplygin_sleigh").parameters
    with pytest.raises(ArgumentError, match=r"residual constraint_1 = -1\.6 at the start"):
        model.integrate((0.0, 1.0), initial, p)
    with pytest.raises(ArgumentError, match=r"constraint_1 = -1\.6"):
        model.stepper(initial, p)
    assert quiet(lambda: model.integrate((0.0, 1.0), {**initial, "w": 0.0}, p)).success


@pytest.mark.parametrize(
    ("share", "outcome"),
    [(0.0, ""), (5e-9, ""), (2e-8, "warning"), (9e-5, "warning"), (1.1e-4, "error"), (0.3, "error")],
)
def test_the_limits_are_shares_of_the_terms(share: float, outcome: str) -> None:
    """|r| = s (x^2 + y^2 + 1) with r = x^2 + y^2 - 1: x^2 + y^2 = (1 + s)/(1 - s), in any direction."""
    model = compiled(pendulum(), "maggi")
    size = np.sqrt((1 + share) / (1 - share))
    given = {n: v for n, v in start(0.6 * size, -0.8 * size).items() if n in model.states}

    def run() -> Any:
        return model.integrate((0.0, 1e-3), given, P)

    if outcome == "error":
        with pytest.raises(ArgumentError, match="holonomic_1"):
            run()
    elif outcome == "warning":
        with pytest.warns(ConsistencyWarning, match="holonomic_1"):
            assert run().success
    else:
        assert quiet(run).success


def subtracting() -> cg.System:
    """A point with z_dot = x_dot - y_dot: two large velocities whose difference is small."""
    x, y, z = cg.coordinates("x y z")
    rates = [cg.rate(q) for q in (x, y, z)]
    return cg.System(
        "difference_of_starts",
        coordinates=[x, y, z],
        kinetic=sum(v**2 for v in rates) / 2,
        constraints=[rates[2] - rates[0] + rates[1]],
        example=dict.fromkeys((x, y, z, *rates), 0),
    )


@functools.cache
def difference() -> Any:
    x, y = cg.coordinates("x y")
    equations = subtracting().equations("maggi", independent=[cg.rate(x), cg.rate(y)])
    return equations.compile()


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize(
    ("share", "outcome"),
    [(0.0, ""), (5e-9, ""), (2e-8, "warning"), (9e-5, "warning"), (1.1e-4, "error"), (0.3, "error")],
)
def test_what_is_given_twice_has_the_same_limits(share: float, outcome: str, many: bool) -> None:
    """z_dot = 1000 - 1000 is given as well: |z_dot| = s (|z_dot| + 2000)."""
    found = difference()
    off = 2000 * share / (1 - share)
    given: dict[str, Any] = {"x": 0.0, "y": 0.0, "z": 0.0, "x_dot": 1000.0, "y_dot": 1000.0, "z_dot": off}

    def run() -> Any:
        if many:
            values = np.array([0.0, 0.0, off, 0.0, off])
            return cg.ensemble(found, (0.0, 1.0), initial={**given, "z_dot": values})
        return found.integrate((0.0, 1.0), given)

    says = "initial: z_dot = .* contradicts the other entries, which give 0; leave it out"
    if many:
        says += r".*\(2 of 5 trajectories; the first is number 2\)"
    if outcome == "error":
        with pytest.raises(ArgumentError, match=says):
            run()
    elif outcome == "warning":
        with pytest.warns(ConsistencyWarning, match=says) as caught:
            assert run().success
        assert caught[0].filename == __file__
    else:
        assert quiet(run).success


def test_a_large_ensemble_counts_all_that_is_given_twice() -> None:
    """It is prepared in stretches: one warning, for all of them."""
    n = 2 * STRETCH + 5
    off = np.zeros(n)
    off[[STRETCH + 3, n - 1]] = 1e-2
    given = {"x": 0.0, "y": 0.0, "z": 0.0, "x_dot": 1000.0, "y_dot": 1000.0, "z_dot": off}
    says = rf"z_dot = 0\.01 contradicts .*\(2 of {n} trajectories; the first is number {STRETCH + 3}\)"
    with pytest.warns(ConsistencyWarning, match=says) as caught:
        ens = cg.ensemble(difference(), (0.0, 1e-3), initial=given)
    assert len(caught) == 1
    assert quiet(lambda: ens.rerun(n - 1)).success


@pytest.mark.parametrize(
    ("share", "outcome"), [(5e-9, ""), (1e-6, "warning"), (9e-5, "warning"), (1.1e-4, "error")]
)
def test_an_energy_given_twice_has_the_same_limits(share: float, outcome: str) -> None:
    """h = m v^2/2 + k q^2/2 = 1/4 - 1/4; the velocity adds v dh/dv = 1/2 to the terms: |h| = s (|h| + 1/2)."""
    off = share / (1 - share) / 2

    def run() -> Any:
        return model("momentum").integrate((0.0, 0.1), {"q": 1.0, "v": 0.5}, {"m": 2.0, "k": -0.5, "h": off})

    if outcome == "error":
        with pytest.raises(ArgumentError, match=r"parameters: h = .* contradicts"):
            run()
    elif outcome == "warning":
        with pytest.warns(ConsistencyWarning, match=r"parameters: h = .* contradicts"):
            assert run().parameters["h"] == 0.0
    else:
        assert quiet(run).success


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_limits_do_not_depend_on_the_unit_of_length(unit: float) -> None:
    model = compiled(pendulum(), "maggi")
    p = {"m": 1.0, "g": 9.81 * unit, "l": unit}
    for factor, wrong in ((1.0, False), (1.01, True)):
        given = {n: v for n, v in start(0.6 * unit, -0.8 * unit * factor).items() if n in model.states}
        options = {"atol": 1e-9 * unit}
        if wrong:
            with pytest.raises(ArgumentError, match="holonomic_1"):
                model.integrate((0.0, 1e-3), given, p, **options)
        else:
            quiet(lambda given=given, options=options: model.integrate((0.0, 1e-3), given, p, **options))


def test_a_residual_of_one_term_is_measured_by_atol() -> None:
    """A residual w is all of its terms, however small: values below `atol` pass as zero."""
    model = compiled(sleigh(), "multipliers")
    entry = cg.example("chaplygin_sleigh")
    given = {name: {**entry.initial, "w": 0.0}[name] for name in model.states}
    quiet(lambda: model.integrate((0.0, 0.1), {**given, "w": 1e-16}, entry.parameters))
    with pytest.warns(ConsistencyWarning, match="constraint_1"):
        model.integrate((0.0, 0.1), {**given, "w": 1e-6}, entry.parameters)
    with pytest.raises(ArgumentError, match="constraint_1"):
        model.integrate((0.0, 0.1), {**given, "w": 1e-4}, entry.parameters)
    quiet(lambda: model.integrate((0.0, 0.1), {**given, "w": 0.1}, entry.parameters, atol=1e-2))
    with pytest.raises(ArgumentError, match="constraint_1"):  # more than 100 tolerances
        model.integrate((0.0, 0.1), {**given, "w": 1.1}, entry.parameters, atol=1e-2)


def test_an_ensemble_says_how_many_are_off_and_which_is_the_first() -> None:
    model = compiled(pendulum(), "maggi")
    n = 50
    y = np.full(n, -0.8)
    y[[7, 20, 33]] = -0.9, 0.5, 2.0
    speed = next(name for name in model.states if name.endswith("_dot"))
    given = {"x": 0.6, "y": y, speed: 0.1}
    words = r"holonomic_1 = 0\.17 .*3 of 50 trajectories; the first is number 7"
    refused(words, cg.ensemble, model, (0.0, 0.1), initial=given, parameters=P)
    y[[7, 20, 33]] = -0.8, -0.8 * (1 + 1e-7), -0.8 * (1 + 2e-7)
    with pytest.warns(ConsistencyWarning, match="2 of 50 trajectories; the worst is number 33"):
        ens = cg.ensemble(model, (0.0, 0.1), initial=given, parameters=P)
    assert ens.success
    y[:] = -0.8
    quiet(lambda: cg.ensemble(model, (0.0, 0.1), initial=given, parameters=P))
    r = np.ones(n)
    r[4] = 1.5
    with pytest.raises(ArgumentError, match="1 of 50 trajectories; the first is number 4"):
        cg.ensemble(model, (0.0, 0.1), initial=given, parameters={**P, "l": r})


def drifting(model: Any, **options: Any) -> tuple[Any, dict[str, Any]]:
    """A run so coarse that it violates its constraint by more than the limit for initial states."""
    options = {"method": "rk4", "step": 0.1, "project": None, **options}
    given = {n: v for n, v in start(0.6, -0.8, 3.0).items() if n in model.states}
    sol = model.integrate((0.0, 5.0), given, P, **options)
    x, y = sol["x"][-1], sol["y"][-1]
    assert abs(x**2 + y**2 - 1) > 2e-4 * (x**2 + y**2 + 1)
    return sol, options


def test_the_end_of_a_run_with_fixed_steps_starts_the_next_one() -> None:
    """Its numbers alone count: it is read by another model, which has not made it."""
    model = compiled(pendulum(), "multipliers")
    sol, options = drifting(model)
    end = sol.y[:, -1].copy()
    by_name = {name: float(sol[name][-1]) for name in model.states}
    other = python_model(pendulum().equations("multipliers").program, quiet=True)
    for given in (end, by_name, end.tolist(), np.nextafter(end, 9.0)):
        tells(lambda given=given: other.integrate((5.0, 6.0), given, P, project=None))
        sol = tells(lambda given=given: model.integrate((5.0, 6.0), given, P, **options))
        assert np.array_equal(sol.y[:, 0], list(given.values()) if isinstance(given, dict) else given)
        tells(lambda given=given: model.stepper(given, P, **options))
    with pytest.raises(ArgumentError, match=r"holonomic_1|constraint_1"):  # it is on another circle
        model.integrate((5.0, 6.0), end, {**P, "l": 2.0}, **options)
    with pytest.raises(
        ArgumentError, match=r"holonomic_1|constraint_1"
    ):  # such steps keep to the constraints
        model.integrate((5.0, 6.0), end, P, **{**options, "project": "constraints"})
    with pytest.raises(ArgumentError, match=r"holonomic_1|constraint_1"):
        model.integrate((5.0, 6.0), end, P)


@pytest.mark.parametrize("project", ["constraints", None])
@pytest.mark.parametrize("rtol", [1e-3, 1e-12])
@pytest.mark.parametrize("name", ["pendulum", "chaplygin_sleigh", "four_bar"])
def test_the_end_of_a_run_starts_the_next_one_of_the_same_options(
    name: str, rtol: float, project: str | None
) -> None:
    """As it is, by name, as a list, from a pickle, for a stepper, and as a column of an ensemble."""
    if name == "pendulum":
        model = pendulum().compile("multipliers")
        initial, p = start(0.6, -0.8, 3.0), P
    elif name == "four_bar":
        model = four_bar().compile("multipliers")
        initial = {
            "a": np.pi / 2,
            "b": np.arctan(0.5),
            "c": np.pi / 2,
            "a_dot": 2.0,
            "b_dot": 0.0,
            "c_dot": 1.0,
        }
        p = {}
    else:
        entry = cg.example(name)
        model = entry.system.compile("multipliers")
        initial, p = entry.initial, entry.parameters
    options: dict[str, Any] = {"rtol": rtol, "atol": rtol, "project": project}
    sol = model.integrate((0.0, 3.0), initial, p, **options)
    end = sol.y[:, -1]
    run = model.stepper(initial, p, **options)
    run.advance(3.0)
    ends = cg.ensemble(model, (0.0, 3.0), initial=np.array([sol.y[:, 0]] * 2).T, parameters=p, **options).y
    with warnings.catch_warnings():
        warnings.simplefilter("error" if project else "default")
        for given in (
            end,
            end.tolist(),
            {name: float(sol[name][-1]) for name in model.states},
            pickle.loads(pickle.dumps(sol)).y[:, -1],
            run.y,
            ends[:, 1],
        ):
            assert model.integrate((3.0, 3.01), given, p, **options).success
            model.stepper(given, p, t0=3.0, **options).advance(3.01)
        assert cg.ensemble(model, (3.0, 3.01), initial=ends, parameters=p, **options).success
    wrong = end.copy()
    wrong[0] += np.pi  # a crank on the other side
    wrong[model.n_coordinates :] += 1.0
    for call in (
        lambda: model.integrate((3.0, 3.1), wrong, p, **options),
        lambda: model.stepper(wrong, p, **options),
        lambda: cg.ensemble(
            model, (3.0, 3.1), initial=np.array([end, wrong, end]).T, parameters=p, **options
        ),
    ):
        words = r"initial: the residual .* = .* at the start, .* must be zero"
        refused(words, call)


def test_the_limits_are_multiples_of_the_tolerances() -> None:
    """|r| = s (x^2 + y^2 + 1): a warning from 10 and an error from 100 tolerances on."""
    model = pendulum().compile("maggi")

    def run(share: float, **options: Any) -> Any:
        size = np.sqrt((1 + share) / (1 - share))
        given = {n: v for n, v in start(0.6 * size, -0.8 * size).items() if n in model.states}
        return model.integrate((0.0, 1e-3), given, P, **options)

    for rtol in (1e-3, 1e-4):
        options = {"rtol": rtol, "atol": 1e-12}
        quiet(lambda options=options, rtol=rtol: run(9.9 * rtol, **options))
        for share in (10.1 * rtol, 99 * rtol):
            with pytest.warns(ConsistencyWarning, match="holonomic_1"):
                run(share, **options)
        with pytest.raises(ArgumentError, match="holonomic_1"):
            run(101 * rtol, **options)
    slopes, terms = 2 * (0.6 + 0.8), 2.0  # sum |dr/dx_j| and the terms at the circle
    quiet(lambda: run(9.5e-6 * slopes / terms, rtol=1e-12, atol=1e-6))
    with pytest.warns(ConsistencyWarning, match="holonomic_1"):
        run(10.5e-6 * slopes / terms, rtol=1e-12, atol=1e-6)
    free = {"rtol": 1e-12, "atol": 1e-12, "project": None}  # what drifts is told, and refused from 0.1 on
    with pytest.warns(ConsistencyWarning, match="holonomic_1"):
        run(0.099, **free)
    with pytest.raises(ArgumentError, match="holonomic_1"):
        run(0.101, **free)


def test_runs_and_audits_repeat_what_was_accepted() -> None:
    model = compiled(pendulum(), "multipliers")
    sol, options = drifting(model)
    again = tells(lambda: model.integrate((5.0, 6.0), sol.y[:, -1], P, **options))
    quiet(lambda: again.sol)
    quiet(lambda: again._repeat())


def test_snapshots_go_on_unchecked() -> None:
    model = compiled(pendulum(), "multipliers")
    given = {n: v for n, v in start(0.6, -0.8, 3.0).items() if n in model.states}
    run = model.stepper(given, P, method="rk4", step=0.1, project=None)
    run.advance(5.0)
    snapshot = run.save()
    with pytest.raises(ArgumentError, match=r"holonomic_1|constraint_1"):
        model.stepper(run.y, P)
    quiet(lambda: run.restore(snapshot))
    run.advance(6.0)


def test_the_ends_of_an_ensemble_start_the_next_one() -> None:
    model = compiled(pendulum(), "multipliers")
    speeds = np.linspace(0.5, 4.0, 6)
    given = {"x": 0.6, "y": -0.8, "x_dot": 0.8 * speeds, "y_dot": 0.6 * speeds}
    options: dict[str, Any] = {"method": "rk4", "step": 0.1, "project": None}
    ens = cg.ensemble(model, (0.0, 5.0), initial=given, parameters=P, **options)
    drift = np.abs(ens["x"] ** 2 + ens["y"] ** 2 - 1) / (ens["x"] ** 2 + ens["y"] ** 2 + 1)
    assert (drift > 1e-4).sum() >= 2
    y = ens.y
    del ens
    worst = int(np.argmax(drift))
    tells(lambda: cg.ensemble(model, (5.0, 5.1), initial=y, parameters=P, **options))
    tells(lambda: cg.ensemble(model, (5.0, 5.1), initial=y[:, ::-1].copy(), parameters=P, **options))
    tells(lambda: model.integrate((5.0, 5.1), y[:, worst], P, **options))
    again = tells(lambda: cg.ensemble(model, (5.0, 5.1), initial=y, parameters=P, **options))
    quiet(lambda: again.rerun(worst))
    with pytest.raises(ArgumentError, match=r"holonomic_1|constraint_1"):
        cg.ensemble(model, (5.0, 5.1), initial=y, parameters={**P, "l": 2.0}, **options)
    with pytest.raises(ArgumentError, match=r"holonomic_1|constraint_1"):
        cg.ensemble(model, (5.0, 5.1), initial=y + 0.3, parameters=P, **options)


def test_a_restart_at_another_time_is_a_start_like_any_other() -> None:
    """The end of a run on a moving circle does not lie on that circle at t = 0."""
    x, y = cg.coordinates("x y")
    r = 1 + cg.time / 10
    system = unit_masses(
        "growing_circle", [x, y], holonomic=[x**2 + y**2 - r**2], example={x: 0.6, y: -0.8, cg.time: 0}
    )
    model = system.compile("maggi")
    velocity = next(name for name in model.states if name.endswith("_dot"))
    sol = quiet(
        lambda: model.integrate((0.0, 5.0), {"x": 0.6, "y": -0.8, velocity: 0.1}, method="rk4", step=0.5)
    )
    with pytest.raises(ArgumentError, match="holonomic_1"):
        model.integrate((0.0, 1.0), sol.y[:, -1])
    quiet(lambda: model.integrate((5.0, 6.0), sol.y[:, -1], method="rk4", step=0.5))


def test_a_quaternion_that_is_not_a_unit_is_warned_about() -> None:
    top = cg.example("heavy_top")
    model = compiled(top.system, "poincare")
    names = [name for name in model.states if name.startswith("q")]
    good = dict(top.initial)
    norm = sum(good[name] ** 2 for name in names)
    assert norm == pytest.approx(1, abs=1e-14)
    quiet(lambda: model.integrate((0.0, 0.01), good, top.parameters))
    bad = {**good, **{name: np.sqrt(1.3) * good[name] for name in names}}
    with pytest.warns(ConsistencyWarning, match=r"coordinates_1 = 0\.3 at the start"):
        assert model.integrate((0.0, 0.01), bad, top.parameters).success
    for _ in range(2):  # using a state as a start does not make it accepted
        with pytest.warns(ConsistencyWarning, match=r"coordinates_1 = 0\.3"):
            model.stepper(bad, top.parameters)
    scales = np.sqrt([1.0, 1.1, 1.3, 1.0])
    many = {**good, **{name: scales * good[name] for name in names}}
    with pytest.warns(
        ConsistencyWarning, match=r"coordinates_1 = 0\.3 .*2 of 4 trajectories; the worst is number 2"
    ):
        cg.ensemble(model, (0.0, 0.01), initial=many, parameters=top.parameters)


def test_what_the_example_does_not_fix_is_not_compared() -> None:
    """Without an example the level of x^2 + y^2 + z^2 is the user's choice."""
    g1, g2, g3 = cg.coordinates("g1 g2 g3")
    w1, w2, w3 = cg.velocities("w1 w2 w3")
    system = cg.System(
        "free_level",
        kinematics={g1: w3 * g2 - w2 * g3, g2: w1 * g3 - w3 * g1, g3: w2 * g1 - w1 * g2},
        kinetic=(w1**2 + 2 * w2**2 + 3 * w3**2) / 2,
    )
    model = system.compile("poincare")
    assert model.checked_at_start == ()
    assert system.equations("poincare").program.kernels.get("consistency") is None
    quiet(lambda: model.integrate((0.0, 0.1), [3.0, 0.0, 4.0, 1.0, 1.0, 1.0]))


def test_constraints_that_a_form_keeps_by_itself_cost_nothing() -> None:
    model = sleigh().compile("maggi")
    assert model.residuals == ("constraint_1",)
    assert model.checked_at_start == ()


def test_the_sum_of_the_terms_multiplies_products_out() -> None:
    """Compared with SymPy's expansion at random points."""
    from chaplygin.codegen.graph.evaluate import evaluate
    from chaplygin.codegen.graph.from_sympy import Lowering
    from chaplygin.codegen.graph.graph import Graph
    from chaplygin.codegen.lower.correction import term_magnitudes

    a, b, c = symbols = sp.symbols("a b c", real=True)
    rng = np.random.default_rng(3)
    for expression in (
        a * (b - 2 * c) * (a + 3),
        (a - b) ** 2 / (1 + c**2) - 4,
        a * sp.sin(b) - sp.sqrt(a**2 + 1),
    ):
        g = Graph()
        (node,) = Lowering(g, {s: g.symbol(s.name) for s in symbols}).lower([expression])
        expanded = sp.Add.make_args(sp.expand(expression, trig=False))
        for _ in range(5):
            at = dict(zip(("a", "b", "c"), rng.uniform(-2, 2, 3).tolist()))
            wanted = sum(abs(float(term.subs(dict(zip(symbols, at.values()))))) for term in expanded)
            assert evaluate(g, term_magnitudes(g, [node]), at)[0] == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("form", ["multipliers", "maggi", "hamel"])
def test_every_velocity_can_be_given_where_contacts_that_stick_are_redundant(form: str) -> None:
    """Two feet of one block, and a pointer that shows twice its way: (mu N + 2 mu N) / m stops it from speed 1."""
    x, s = cg.coordinates("x s")
    m, mu, normal = cg.parameters("m mu N", positive=True)
    feet = [
        cg.Coulomb(name, slip=factor * cg.rate(x), normal=normal, mu=mu)
        for name, factor in (("one", 1), ("two", 2))
    ]
    system = cg.System(
        "block_on_two_feet",
        coordinates=[x, s],
        kinetic=m * cg.rate(x) ** 2 / 2,
        holonomic=[s - 2 * x],
        contacts=feet,
    )
    start = {"x": 0.0, "s": 0.0, "x_dot": 1.0, "s_dot": 2.0}
    sol = system.compile(form).integrate((0, 0.5), start, {"m": 1.0, "mu": 0.3, "N": 2.0})
    assert sol.success
    assert sol["x_dot"][-1] == pytest.approx(1 - 0.5 * 1.8, abs=1e-9)
    assert sol.start == pytest.approx(start)


def test_velocities_left_out_where_all_are_states() -> None:
    """The message has the call that finds them, and that call finds the motion along the heading."""
    x, y, phi = cg.coordinates("x y phi")
    m = cg.parameters("m", positive=True)
    u, v, w = (cg.rate(q) for q in (x, y, phi))
    skate = cg.System(
        "skate_of_starts",
        coordinates=[x, y, phi],
        kinetic=m * (u**2 + v**2 + w**2) / 2,
        constraints=[u * sp.sin(phi) - v * sp.cos(phi)],
    )
    given, numbers = {"x": 0, "y": 0, "phi": 0.3, "phi_dot": 1, "x_dot": 2}, {"m": 1}
    free = compiled(skate, "multipliers")
    with pytest.raises(ArgumentError, match=r"initial: missing y_dot; model\.consistent\(.*\)") as refused:
        free.integrate((0, 1), given, numbers)
    call = str(refused.value).removeprefix("initial: missing y_dot; ").split(" finds ")[0]
    found = eval(call, {"model": free, "initial": given, "parameters": numbers})
    assert found["y_dot"] == pytest.approx(2 * np.tan(0.3), rel=1e-12)
    assert (found["x_dot"], found["phi_dot"]) == (2, 1)
    assert free.integrate((0, 1), found, numbers).success
    with pytest.raises(ArgumentError, match=r"initial: missing y$"):
        free.integrate((0, 1), {n: c for n, c in found.items() if n != "y"}, numbers)


def test_parameters_that_drop_out_are_left_out() -> None:
    """The moments about the axes in the plane, of a body that stays in it."""
    m, across, J = cg.parameters("m across J", positive=True)
    flat = cg.joint.planar(None, name="flat", mass=m, inertia=(across, across, J))
    held = python_model(cg.System("flat", bodies=[flat]).equations().program, quiet=True)
    start, numbers = dict.fromkeys(held.states, 0.0), {"m": 1, "J": 1}
    assert held.integrate((0, 1), start, numbers).success
    words = r"parameters: unknown across; .* J, m \(one that drops out of the equations"
    refused(words, held.integrate, (0, 1), start, numbers | {"across": 1})
