"""Gradients by the adjoint of the steps, against complex steps through the same steps, closed forms and mpmath."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest
import sympy as sp
from plane_systems import pendulum_in_x_and_y
from processes import python
from scipy.integrate import solve_ivp
from scipy.optimize import minimize

import chaplygin as cg
from chaplygin.api.python_model import python_model
from chaplygin.codegen.methods import PAIRS
from chaplygin.errors import ArgumentError, KernelError, MissingExtraError
from chaplygin.generated.double_pendulum import model as double_pendulum
from chaplygin.generated.euler_rigid_body import model as rigid_body
from chaplygin.generated.harmonic_oscillator import model as oscillator
from chaplygin.runtime.core._core import Trail
from chaplygin.runtime.gradients.gradient import steps
from chaplygin.runtime.gradients.start import GradientStart
from chaplygin.runtime.interface.arguments import Array
from chaplygin.runtime.problem.given_inputs import parse
from chaplygin.runtime.problem.options import RunOptions

START: tuple[dict[str, float], dict[str, float]] = {"x": 1.0, "x_dot": 0.5}, {"m": 1.3, "k": 4.0}
TABLEAUS: dict[str, Any] = {name: (pair.a, pair.b, pair.c) for name, pair in PAIRS.items()}
TABLEAUS["rk4"] = ((), (0.5,), (0, 0.5), (0, 0, 1)), (1 / 6, 1 / 3, 1 / 3, 1 / 6), (0, 0.5, 0.5, 1)


@pytest.fixture(scope="module")
def pendulum() -> Any:
    """A damped pendulum driven by a torque u, with the tension of its rod as an output."""
    phi = cg.coordinates("phi")
    m, length, g, c = cg.parameters("m l g c", positive=True)
    u = cg.inputs("u")
    w = cg.rate(phi)
    return cg.System(
        "driven_pendulum",
        coordinates=[phi],
        kinetic=m * length**2 * w**2 / 2,
        potential=-m * g * length * sp.cos(phi),
        forces={w: u * sp.cos(cg.time) - c * w},
        outputs={"tension": m * length * w**2 + m * g * sp.cos(phi), "turned": sp.Abs(phi)},
    ).compile("lagrange", wait=True)


PENDULUM = {"phi": 1.1, "phi_dot": -0.4}, {"m": 1.2, "l": 0.7, "g": 9.81, "c": 0.3}, {"u": 0.8}


def swing(t: float, y: Array, p: Any) -> Array:
    phi, w = y
    inertia = p["m"] * p["l"] ** 2
    torque = p["u"] * np.cos(t) - p["c"] * w - p["m"] * p["g"] * p["l"] * np.sin(phi)
    return np.array([w, torque / inertia])


def replayed(method: str, times: Array, y: Array, f: Callable[..., Array], g: Callable[..., Any]) -> Any:
    """The states at the ends of given steps, and the sum of the method's weights times g, in complex numbers."""
    a, b, c = TABLEAUS[method]
    states, total = [y], 0.0
    for t, h in zip(times, np.diff(times)):
        slopes: list[Array] = []
        for row, node in zip(a, c):
            stage = states[-1] + h * sum((w * k for w, k in zip(row, slopes)), np.zeros_like(y))
            if len(slopes) < len(b):
                total += h * b[len(slopes)] * g(stage)
            slopes.append(f(t + node * h, stage))
        states.append(states[-1] + h * sum(w * k for w, k in zip(b, slopes)))
    return states, total


def steps_of(model: Any, span: tuple[float, float], names: tuple[str, ...], **how: Any) -> Array:
    """The times of the steps over which a gradient of the pendulum goes back."""
    options = RunOptions(**how).checked(model)
    start = GradientStart.of("gradient", model, span[0], *PENDULUM, 1e-9)
    return steps(start, names, options, np.array(span[1:], float), 1e6).times


@pytest.mark.parametrize("method", ["rk4", "tsit5", "dop853", "vern7", "vern9"])
@pytest.mark.sample(1)
def test_the_gradient_is_that_of_the_steps_as_taken(pendulum: Any, method: str) -> None:
    """To 1e-12 of complex-step derivatives through the same steps, at a tolerance where these steps are coarse."""
    how: dict[str, Any] = {"step": 0.07} if method == "rk4" else {"rtol": 1e-5, "atol": 1e-5}
    phi, w, m = sp.symbols("phi phi_dot m")
    loss = [cg.final(phi**2 * w), cg.integral(m * sp.sin(phi) * w**2)]
    found = pendulum.gradient(
        loss, (0, 2), *PENDULUM, by=[*PENDULUM[1], "u", *PENDULUM[0]], method=method, **how
    )
    times = steps_of(pendulum, (0, 2), found.names, method=method, **how)
    assert found.n_steps == len(times) - 1

    def value(given: dict[str, complex]) -> complex:
        start = np.array([given["phi"], given["phi_dot"]])
        states, total = replayed(
            method,
            times,
            start,
            lambda t, y: swing(t, y, given),
            lambda y: given["m"] * np.sin(y[0]) * y[1] ** 2,
        )
        return states[-1][0] ** 2 * states[-1][1] + total  # type: ignore[no-any-return]

    numbers = PENDULUM[0] | PENDULUM[1] | PENDULUM[2]
    assert found.value == pytest.approx(value(numbers).real, rel=1e-12)
    for name in found.names:
        moved = {k: v + 1e-30j * (k == name) for k, v in numbers.items()}
        assert found[name] == pytest.approx(value(moved).imag / 1e-30, rel=1e-12, abs=1e-13), name


def closed(t: Any, x: Any, v: Any, m: Any, k: Any) -> Any:
    omega = sp.sqrt(k / m)
    return x * sp.cos(omega * t) + v / omega * sp.sin(omega * t)


def test_squares_of_a_linear_oscillator_against_the_closed_form() -> None:
    x, v, m, k = sp.symbols("x x_dot m k", positive=True)
    times, values, sigma = [0.0, 0.4, 1.7, 3.0], [0.9, 1.0, -1.0, 0.3], [0.1, 0.2, 0.1, 0.3]
    loss = cg.squares({"x": (times, values, sigma)})
    found = oscillator.gradient(loss, (0, 3.5), *START, rtol=1e-12, atol=1e-13)
    exact = sum(
        ((closed(at, x, v, m, k) - d) / s) ** 2 for at, d, s in zip(times, values, sigma, strict=True)
    )
    point = {sp.Symbol(n, positive=True): value for n, value in (START[0] | START[1]).items()}
    assert found.value == pytest.approx(float(exact.subs(point)), rel=1e-11)
    for name in ("x", "x_dot", "m", "k"):
        slope = sp.diff(exact, sp.Symbol(name, positive=True)).subs(point)
        assert found[name] == pytest.approx(float(slope), rel=1e-10), name


def test_backward_in_time_and_a_function_of_samples() -> None:
    """A run from t = 2 back to 0, with samples in the order of the run."""
    x, v, m, k = sp.symbols("x x_dot m k", positive=True)

    def cubes(values: Array) -> tuple[float, Array]:
        assert values.shape == (2, 3)
        return float((values[0] ** 3).sum() + values[1, 0]), np.array([3 * values[0] ** 2, [1, 0, 0]])

    entry = cg.series("x", "x_dot", times=[2.0, 0.5, 0.0])
    found = oscillator.gradient(cg.loss(cubes, entry), (2, 0), *START, rtol=1e-12, atol=1e-13)
    exact = sum(closed(at - 2.0, x, v, m, k) ** 3 for at in (2.0, 0.5, 0.0)) + v
    point = {sp.Symbol(n, positive=True): value for n, value in (START[0] | START[1]).items()}
    for name in ("x", "x_dot", "m", "k"):
        slope = sp.diff(exact, sp.Symbol(name, positive=True)).subs(point)
        assert found[name] == pytest.approx(float(slope), rel=1e-10), name


def test_an_output_as_a_quantity(pendulum: Any) -> None:
    """The tension at the start of the run, whose derivatives follow by hand."""
    found = pendulum.gradient(cg.squares({"tension": ([0.0], [0.0])}), (0, 0.1), *PENDULUM)
    (phi, w), (m, length, g, _) = PENDULUM[0].values(), PENDULUM[1].values()
    tension = m * length * w**2 + m * g * np.cos(phi)
    assert found.value == pytest.approx(tension**2, rel=1e-14)
    right = {"m": tension / m, "l": m * w**2, "g": m * np.cos(phi), "c": 0.0}
    right |= {"phi": -m * g * np.sin(phi), "phi_dot": 2 * m * length * w}
    for name, slope in right.items():
        assert found[name] == pytest.approx(2 * tension * slope, rel=1e-13, abs=1e-13), name


def test_several_integrals_of_names_need_neither_sympy_nor_the_declaration(tmp_path: Any) -> None:
    """The energy E = m v^2/2 + k x^2/2 is constant, so its integral over 2 is 2 E; that of the time is 2."""
    work = """
        import sys
        import chaplygin as cg
        from chaplygin.generated.harmonic_oscillator import model
        entries = [cg.integral("energy"), cg.integral("energy"), cg.integral("t"), cg.final("energy"), cg.integral("m")]
        found = model.gradient(entries, (0, 2), {"x": 1.0, "x_dot": 0.5}, {"m": 1.3, "k": 4.0}, rtol=1e-11)
        print("sympy" in sys.modules, found.value, *(found[name] for name in ("m", "k", "x", "x_dot")))
    """
    python(work)  # the derivatives may have to be compiled
    sympy, *numbers = python(work).split()
    assert sympy == "False"
    energy = 1.3 * 0.5**2 / 2 + 4.0 / 2
    slopes = [5 * slope for slope in (0.5**2 / 2, 1.0 / 2, 4.0, 1.3 * 0.5)]
    expected = [5 * energy + 2 + 2 * 1.3, slopes[0] + 2, *slopes[1:]]
    assert list(map(float, numbers)) == pytest.approx(expected, rel=1e-9)


def test_pure_python_models_say_what_to_install() -> None:
    example = cg.example("harmonic_oscillator")
    model: Any = python_model(example.system.equations("lagrange").program, quiet=True)
    given = (0, 1), *START
    calls: dict[str, Callable[[], Any]] = {
        "gradient": lambda: model.gradient(cg.final("x"), *given),
        "objective": lambda: model.objective(cg.final("x"), *given, free=["k"]),
        "sensitivities": lambda: model.integrate(*given, sensitivities=["k"]),
        "periodic": lambda: model.periodic(START[0], 3, START[1]),
        "fit": lambda: cg.fit(
            model, {"x": ([0.1, 0.2], [1, 1])}, free=["k"], initial=START[0], parameters=START[1]
        ),
    }
    for name, call in calls.items():
        with pytest.raises(
            ArgumentError, match=f"^{name}: .*pure Python.*takes a C compiler.*chaplygin doctor"
        ):
            call()


@pytest.mark.parametrize("method", ["dop853", "rk4"])
def test_little_memory_changes_no_bit(method: str) -> None:
    """Steps are taken again with the same bits; at most r times each, where C(s + r, r) is at least their number."""
    how: dict[str, Any] = {"step": 0.01} if method == "rk4" else {"rtol": 1e-9, "max_step": 0.01}
    loss = [cg.squares({"x": (np.linspace(0.1, 4, 7), np.zeros(7))}), cg.final("x_dot")]
    most, some, least = (
        oscillator.gradient(loss, (0, 4), *START, method=method, memory=32 * s, **how) for s in (10**6, 20, 4)
    )
    assert most.n_steps > 390
    assert most.n_repeated == 0
    for other in (some, least):
        assert other.vector.tobytes() == most.vector.tobytes()
        assert other.n_repeated > most.n_repeated
    assert some.n_repeated < 4 * some.n_steps  # 20 states: C(22, 2) < 400 < C(23, 3)
    assert least.n_repeated < 11 * least.n_steps  # 4 states: C(13, 9) = 715


@pytest.mark.parametrize("name", ["chaplygin_sleigh", "kovalevskaya_top", "gyrostat"])
def test_the_map_from_declared_values_is_transposed(name: str) -> None:
    """In maggi, chetaev and routh: states and momenta change with parameters and velocities; fourth differences."""
    example = cg.example(name)
    model = import_module(f"chaplygin.generated.{name}").model
    span, how, quantity = (0.0, 1.0), {"rtol": 1e-13, "atol": 1e-13}, model.states[0]
    first = {k: v for k, v in example.initial.items() if k in model.states or model.has_initial}
    given = [first, example.parameters]
    found = model.gradient(cg.final(quantity), span, *given, **how)
    by = [n for n in found.names if model.variables[n].kind != "coordinate"]
    assert set(example.parameters) < set(by)

    def end(name: str, by: float) -> float:
        moved = [{k: v + by * (k == name) for k, v in part.items()} for part in given]
        return float(model.integrate(span, *moved, **how)[quantity][-1])

    for key in by:
        h = 1e-3 * max(abs({**given[0], **given[1]}[key]), 1.0)
        sides = [end(key, i * h) for i in (-2, -1, 1, 2)]
        slope = (sides[0] - 8 * sides[1] + 8 * sides[2] - sides[3]) / (12 * h)
        assert found[key] == pytest.approx(slope, rel=1e-8, abs=1e-9), key


@pytest.mark.parametrize("method", ["dop853", "vern7", "vern9"])
def test_the_gradient_agrees_with_the_variational_equations(method: str) -> None:
    """The double pendulum, whose own methods do not keep the slopes of all stages."""
    example, how = cg.example("double_pendulum"), {"method": method, "rtol": 1e-12, "atol": 1e-13}
    given = (0, 2), example.initial, example.parameters
    found = double_pendulum.gradient(cg.final("theta2"), *given, **how)
    forward = double_pendulum.integrate(*given, sensitivities=found.names, **how).sensitivity
    for name in found.names:
        assert found[name] == pytest.approx(forward["theta2", name][-1], rel=1e-8, abs=1e-9), name


@pytest.fixture(scope="module")
def bob() -> Any:
    """A mass on a circle, in both coordinates: the ends of its steps are moved onto the constraints."""
    return pendulum_in_x_and_y("bob").compile("multipliers", wait=True)


BOB = (0, 3), {"x": 1, "y": 0, "x_dot": 0, "y_dot": 0.3}, {"m": 1, "l": 1, "g": 9.81}


def test_back_through_steps_that_are_moved_onto_constraints(bob: Any) -> None:
    """Against complex steps through SciPy's integration of the angle: x = sin(phi), y_dot = phi_dot at the start."""
    found = bob.gradient(cg.final("x"), *BOB, by=["g", "y_dot"], rtol=1e-11, atol=1e-12)

    def end(**moved: complex) -> complex:
        g, rate = moved.get("g", 9.81), moved.get("y_dot", 0.3)
        start = np.array([np.pi / 2, rate], dtype=complex)
        how = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-13}
        sol = solve_ivp(lambda t, z: [z[1], -g * np.sin(z[0])], BOB[0], start, **how)
        return complex(np.sin(sol.y[0, -1]))

    for name, value in (("g", 9.81), ("y_dot", 0.3)):
        slope = end(**{name: value + 1e-30j}).imag / 1e-30
        assert found[name] == pytest.approx(slope, rel=1e-9), name


@pytest.mark.parametrize(
    ("how", "moves"), [({"rtol": 1e-4, "atol": 1e-4}, 1), ({"method": "rk4", "step": 0.1}, 2)]
)
def test_moved_steps_in_reverse_are_the_forward_ones_transposed(
    bob: Any, how: dict[str, Any], moves: int
) -> None:
    """Also by what leaves the constraints, with steps that are taken again, and without a move."""
    groups = (
        ["g", "l", "m", "x"],
        ["y", "x_dot", "y_dot"],
    )  # no more than there are tangents that bound the steps
    for project, names in ((project, names) for project in ("constraints", None) for names in groups):
        found = bob.gradient(cg.final("x"), *BOB, by=names, project=project, **how)
        forward = bob.integrate(*BOB, sensitivities=names, project=project, **how).sensitivity
        for name in names:
            assert found[name] == pytest.approx(forward["x", name][-1], rel=1e-11, abs=1e-13), name
        again = bob.gradient(cg.final("x"), *BOB, by=names, project=project, memory=8 * 4 * 2 * 5, **how)
        assert again.n_repeated > 0
        assert again.vector.tobytes() == found.vector.tobytes()
    x, p = (
        np.array([BOB[i][n] for n in names], float) for i, names in ((1, bob.states), (2, bob.parameters))
    )
    run = Trail(bob, RunOptions(**how).checked(bob), 0.0, x, p, parse(None, ()), np.array([3.0]), 1e6)
    assert run.n_corrections.max() == moves  # of Newton's steps


def test_what_has_no_gradient_is_named(pendulum: Any) -> None:
    span = (0, 1)

    def refused(pattern: str, loss: Any, model: Any = oscillator, start: Any = START, **more: Any) -> None:
        with pytest.raises(ArgumentError, match=pattern):
            model.gradient(loss, span, *start, **more)

    final = cg.final("x")
    refused("'y' is not", cg.final("y"))
    refused("by: unknown kk; did you mean k", final, by=["kk"])
    refused("several different", final, by=["k", "k"])
    refused("rodas5p.*has no adjoint.*dop853", final, method="rodas5p")
    refused("peak.*not differentiable", cg.peak("x"))
    refused("'x' is not a loss: give cg.final", "x")
    refused("loss: cg.loss takes values of cg.final, cg.at_event or cg.series, not 'x'", cg.loss(len, "x"))
    refused(
        "cg.loss takes values of cg.final, cg.at_event or cg.series, not integral",
        cg.loss(len, cg.integral("x")),
    )
    refused("memory = -1; a positive number", final, memory=-1)
    refused("one quantity, or a function", cg.final("x", "x_dot"))
    refused("pair", cg.loss(lambda values: 1.0, final))
    refused(r"shape \(2,\); \(1,\)", cg.loss(lambda values: (1.0, [1.0, 2.0]), final))
    refused(r"values\[1\] = nan at t = 0.5", cg.squares({"x": ([0.1, 0.5], [1, np.nan])}))
    refused("did you mean x_dot", cg.squares({"x_dott": ([0.1], [1])}))
    refused("outside t_span", cg.squares({"x": ([2.0], [1])}))
    refused(
        "input f.t, y. by y is not known: u",
        cg.final("phi"),
        pendulum,
        (*PENDULUM[:2], {"u": lambda t, y: 0.0}),
    )
    phi = sp.Symbol("phi")
    refused("turned is not differentiable where Abs", cg.final("turned"), pendulum, PENDULUM)
    for rough, word in ((sp.Abs(phi), "Abs"), (sp.sign(phi), "sign"), (sp.Max(phi, 0), "Max")):
        refused(f"not differentiable where {word}", cg.integral(rough), pendulum, PENDULUM)
    piecewise = sp.Piecewise((phi, phi > 0), (0, True))
    refused("where Piecewise", cg.final(piecewise), pendulum, PENDULUM)
    body = cg.example("euler_rigid_body")
    refused(
        "project='all' has no", cg.final("p1"), rigid_body, (body.initial, body.parameters), project="all"
    )
    with pytest.raises(KernelError, match="limit on the number of steps"):
        oscillator.gradient(final, (0, 100), *START, max_steps=3)


def test_there_is_no_derivative_by_an_integer() -> None:
    q = cg.coordinates("q")
    m, count = cg.parameters("m", positive=True), cg.parameters("count", integer=True)
    energy = m * cg.rate(q) ** 2 / 2
    system = cg.System("springs_in_a_row", coordinates=[q], kinetic=energy, potential=count * q**2 / 2)
    model, start = system.compile(), ({"q": 1.0, "q_dot": 0.0}, {"m": 1.0, "count": 4})
    assert model.gradient(cg.final("q"), (0, 1), *start).names == ("m", "q", "q_dot")
    for call in (
        lambda: model.gradient(cg.final("q"), (0, 1), *start, by=["count"]),
        lambda: model.objective(cg.final("q"), (0, 1), *start, free=["count"]),
        lambda: model.integrate((0, 1), *start, sensitivities=["count"]),
    ):
        with pytest.raises(ArgumentError, match="count is declared an integer; there is no derivative by it"):
            call()


def test_a_kink_that_the_run_does_not_reach() -> None:
    """x'' = -x' |x'|: x = log(1 + u t)."""
    x = cg.coordinates("x")
    w = cg.rate(x)
    drag = cg.System("drag", coordinates=[x], kinetic=w**2 / 2, forces={w: -w * sp.Abs(w)}).compile(
        "lagrange"
    )
    found = drag.gradient(cg.final("x"), (0, 3), {"x": 0, "x_dot": 2}, rtol=1e-11, atol=1e-11)
    assert found["x_dot"] == pytest.approx(3 / 7, abs=1e-9)


def test_an_objective_is_minimised_with_its_gradient() -> None:
    """The stiffness and mass of which cos(sqrt(k/m) t) has a zero and a minimum at given times; only k/m matters."""
    loss = cg.squares({"x": ([np.pi / 4, np.pi / 2], [0.0, -1.0])})
    start = {"x": 1.0, "x_dot": 0.0}, {"m": 1.0, "k": 3.5}
    objective = oscillator.objective(loss, (0, 2), *start, free=["k"], rtol=1e-11, atol=1e-12)
    assert objective.start.tolist() == [3.5]
    assert [bound.tolist() for bound in objective.bounds] == [[0.0], [np.inf]]
    found = minimize(objective, objective.start, jac=True, method="BFGS", options={"gtol": 1e-9})
    assert found.x[0] == pytest.approx(4.0, rel=1e-8)


def oscillating(**more: Any) -> Any:
    loss = cg.squares({"x": ([0.5, 1.0], [0.3, -0.2])})
    return oscillator.objective(loss, (0, 1), *START, free=["k", "x"], **more)


@pytest.mark.integration("jax")
def test_an_objective_in_jax() -> None:
    import jax

    jax.config.update("jax_enable_x64", True)
    objective = oscillating()
    loss = objective.to_jax()
    value, slopes = objective([3.0, 0.8])
    doubled = jax.jit(jax.value_and_grad(lambda v: 2 * loss(v)))(jax.numpy.array([3.0, 0.8]))
    assert float(doubled[0]) == 2 * value
    assert np.array_equal(doubled[1], 2 * slopes)
    many = jax.vmap(loss)(jax.numpy.array([[3.0, 0.8], [3.5, 0.9]]))
    assert many.tolist() == [value, objective([3.5, 0.9])[0]]


@pytest.mark.integration("torch")
def test_an_objective_in_pytorch() -> None:
    import torch

    objective = oscillating()
    value, slopes = objective([3.0, 0.8])
    values = torch.tensor([3.0, 0.8], dtype=torch.float64, requires_grad=True)
    loss = 2 * objective.to_torch()(values)
    loss.backward()
    assert loss.item() == 2 * value
    assert np.array_equal(values.grad.numpy(), 2 * slopes)


def test_without_their_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("jax", "torch"):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(MissingExtraError, match=rf"chaplygin\[{package}\]"):
            getattr(oscillating(), f"to_{package}")()
