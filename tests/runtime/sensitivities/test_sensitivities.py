"""Sensitivities of runs, against closed forms and against the complex step through SciPy's integrator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import sympy as sp
from driven_wall import INPUTS, NAMES, NUMBERS, START, differences, system
from plane_systems import pendulum_in_x_and_y, sleigh as declared_sleigh
from refusals import refused
from scipy.integrate import solve_ivp
from slopes import check_slopes

import chaplygin as cg

TIGHT = {"rtol": 1e-11, "atol": 1e-11, "method": "vern9"}
TIMES = np.linspace(0, 3, 7)


def complex_step(
    field: Callable[[Any, dict[str, Any]], Any],
    start: Callable[[dict[str, Any]], Any],
    values: Mapping[str, float],
    name: str,
) -> Any:
    """d state / d name at `TIMES` for y' = field(y, values), y(0) = start(values), by the complex step."""
    moved: dict[str, Any] = {**values, name: values[name] + 1e-30j}
    how = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-13, "t_eval": TIMES}
    start_state = np.asarray(start(moved), complex)
    return solve_ivp(lambda t, y: field(y, moved), (0, TIMES[-1]), start_state, **how).y.imag * 1e30


def check(
    model: Any, initial: dict[str, float], parameters: dict[str, float], expected: dict[tuple[str, str], Any]
) -> Any:
    """Compare the sensitivities of one run with the expected ones, by quantity and name."""
    names = list(dict.fromkeys(by for _, by in expected))
    sol = model.integrate((0, TIMES[-1]), initial, parameters, t_eval=TIMES, sensitivities=names, **TIGHT)
    for key, rows in expected.items():
        scale = 1 + np.abs(rows).max()
        np.testing.assert_allclose(sol.sensitivity[key], rows, rtol=0, atol=1e-8 * scale, err_msg=str(key))
    return sol


# ---- closed forms ----


def test_an_oscillator() -> None:
    from chaplygin.generated.harmonic_oscillator import model

    w, t = 2.0, TIMES
    by_k = (-t * np.sin(w * t) + 0.5 * (t * np.cos(w * t) / w - np.sin(w * t) / w**2)) / (2 * w)
    expected = {("x", "k"): by_k, ("x", "x"): np.cos(w * t), ("x_dot", "x_dot"): np.cos(w * t)}
    expected |= {("energy", "k"): np.full(len(t), 0.5), ("energy", "x_dot"): np.full(len(t), 0.5)}
    start, parameters = {"x": 1, "x_dot": 0.5}, {"m": 1, "k": 4}
    sol = check(model, start, parameters, expected)
    assert sol.sensitivity.control
    plain = model.integrate((0, TIMES[-1]), start, parameters, t_eval=TIMES, **TIGHT)
    assert sol.n_steps > plain.n_steps
    how: dict[str, Any] = {"sensitivities": ["k"], "sensitivity_control": False, **TIGHT}
    sol = model.integrate((0, TIMES[-1]), start, parameters, t_eval=TIMES, **how)
    assert (sol.n_steps, sol.nfev) == (plain.n_steps, plain.nfev)
    np.testing.assert_allclose(sol.y, plain.y, rtol=1e-14, atol=1e-14)
    assert sol.audit().passed  # it is repeated with its sensitivities


def test_directions_that_fill_several_registers() -> None:
    """A free particle in 3 dimensions pushed by 10 constant forces: x = sum f_i c_i t^2 / 2 m."""
    x = cg.coordinates("x")
    m = cg.parameters("m", positive=True)
    f = cg.parameters(" ".join(f"f{i}" for i in range(10)))
    force = sum((i + 1) * each for i, each in enumerate(f))
    system = cg.System("pushed", coordinates=[x], kinetic=m * cg.rate(x) ** 2 / 2, forces={cg.rate(x): force})
    model = system.compile("lagrange")
    parameters = {"m": 2.0} | {f"f{i}": 0.1 * i for i in range(10)}
    expected = {("x", f"f{i}"): (i + 1) * TIMES**2 / 4 for i in range(10)}
    expected["x", "m"] = -sum((i + 1) * 0.1 * i for i in range(10)) * TIMES**2 / 8
    check(model, {"x": 0, "x_dot": 1}, parameters, expected)


def test_the_interpolant_and_tolerances_of_the_sensitivities() -> None:
    from chaplygin.generated.harmonic_oscillator import model

    how: dict[str, Any] = {
        "sensitivities": ["k"],
        "dense_output": True,
        "rtol": 1e-7,
        "atol": 1e-7,
        "method": "vern9",
    }
    start = {"x": 1, "x_dot": 0}, {"m": 1, "k": 4}
    t = np.linspace(0, 40, 101)
    exact = -t * np.sin(2 * t) / 4
    errors = []
    for control in (False, True):
        sol = model.integrate((0, 40), *start, sensitivity_control=control, **how)
        found = sol.sensitivity.at(t)
        assert found.shape == (2, 1, 101)
        errors.append(np.abs(found[0, 0] - exact).max())
        # the interpolant adds the change over the step to its start: one rounding
        end = sol.sensitivity.y[:, :, -1]
        np.testing.assert_allclose(sol.sensitivity.at(40.0), end, rtol=0, atol=np.spacing(np.abs(end).max()))
    assert errors[1] < errors[0]
    assert errors[1] < 1e-5


def test_an_output_that_is_not_defined_has_no_derivative_either() -> None:
    """x = x(0) cos t: d log(x) / dx(0) = 1 / x(0) where x is positive."""
    x = cg.coordinates("x")
    v = cg.rate(x)
    system = cg.System(
        "logarithm", coordinates=[x], kinetic=v**2 / 2, potential=x**2 / 2, outputs={"log_x": sp.log(x)}
    )
    model, start = system.compile("lagrange"), ({"x": 1, "x_dot": 0}, {})
    sol = model.integrate((0, 3), *start, t_eval=[0.5, 1.0, 2.0], rtol=1e-11, atol=1e-11, sensitivities=["x"])
    np.testing.assert_allclose(sol.sensitivity["log_x", "x"], [1.0, 1.0, np.nan], atol=1e-9)
    ens = cg.ensemble(model, (0, 2), {"x": [1, -1], "x_dot": 0}, {}, n=2, sensitivities=["x"])
    np.testing.assert_allclose(ens.sensitivity["log_x", "x"], [np.nan, -1.0], atol=1e-7)


# ---- forms whose states and parameters depend on what is varied ----


def sleigh(values: dict[str, Any]) -> Callable[[Any], Any]:
    """The Chaplygin sleigh: J w' + m a^2 w' = -m a v w, v' = a w^2."""
    m, a, inertia = (values[k] for k in ("m", "a", "J"))
    return lambda y: [
        y[3], y[4] * np.cos(y[0]), y[4] * np.sin(y[0]), -m * a * y[4] * y[3] / (inertia + m * a**2), a * y[3] ** 2
    ]  # fmt: skip


SLOW = pytest.mark.slow


@pytest.mark.parametrize("form", ["maggi", *(pytest.param(f, marks=SLOW) for f in ("multipliers", "hamel"))])
def test_the_chaplygin_sleigh(form: str) -> None:
    model = declared_sleigh("sleigh").compile(form)
    values = {"phi": 0.1, "x": 0.0, "y": 0.0, "omega": 1.2, "v": 0.7, "m": 1.1, "a": 0.2, "J": 0.5}
    names = ("phi", "x", "y", "omega", "v")
    initial = {n: values[n] for n in names} | ({"w": 0.0} if form == "multipliers" else {})
    expected = {}
    for by in ("m", "a", "J", "omega", "phi"):
        rows = complex_step(lambda y, v: sleigh(v)(y), lambda v: [v[n] for n in names], values, by)
        expected |= {(n, by): row for n, row in zip(names, rows, strict=True)}
    check(model, initial, {k: values[k] for k in ("m", "a", "J")}, expected)


def test_velocities_that_follow_from_other_declared_ones() -> None:
    """A disk that rolls along a line, v = R omega: given v, the state omega = v / R depends on R."""
    x, phi = cg.coordinates("x phi")
    omega, v = cg.velocities("omega v")
    m, radius, k = cg.parameters("m R k", positive=True)
    system = cg.System(
        "rolling_on_a_line",
        kinematics={phi: omega, x: v},
        kinetic=m * v**2 / 2 + m * radius**2 * omega**2 / 4,
        potential=k * x**2 / 2,
        constraints=[v - radius * omega],
        example={m: 1, radius: 2, k: 3, x: 0, phi: 0, omega: 1, v: 2},
    )
    model = system.compile("maggi", independent=[omega])
    w = np.sqrt(3 / 1.5)
    expected = {
        ("omega", "R"): -np.cos(w * TIMES) / 4,
        ("x", "R"): 0 * TIMES,
        ("x", "v"): np.sin(w * TIMES) / w,
        ("v", "v"): np.cos(w * TIMES),
        ("phi", "v"): np.sin(w * TIMES) / w / 2,
    }
    check(model, {"x": 0, "phi": 0, "v": 1}, {"m": 1, "R": 2, "k": 3}, expected)


def pendulum_on_a_cart(y: Any, v: dict[str, Any]) -> list[Any]:
    """x, phi, their rates: (M + m) x'' + m l (phi'' cos - phi'^2 sin) = 0, l phi'' + x'' cos + g sin = 0."""
    total, m, length, g = v["M"] + v["m"], v["m"], v["l"], v["g"]
    s, c = np.sin(y[1]), np.cos(y[1])
    acceleration = (m * length * y[3] ** 2 * s + m * g * s * c) / (total - m * c**2)
    return [y[2], y[3], acceleration, -(acceleration * c + g * s) / length]


@pytest.mark.parametrize("form", ["chetaev", "routh", pytest.param("lagrange", marks=SLOW)])
@pytest.mark.sample(1)
def test_momenta_and_cyclic_constants_follow_the_declared_start(form: str) -> None:
    x, phi = cg.coordinates("x phi")
    total, m, length, g = cg.parameters("M m l g", positive=True)
    vx = cg.rate(x) + length * cg.rate(phi) * sp.cos(phi)
    vy = length * cg.rate(phi) * sp.sin(phi)
    system = cg.System(
        "pendulum_on_a_cart",
        coordinates=[x, phi],
        kinetic=total * cg.rate(x) ** 2 / 2 + m * (vx**2 + vy**2) / 2,
        potential=-m * g * length * sp.cos(phi),
        example={total: 2, m: 1, length: 1, g: 10, phi: 0.3},
    )
    model = system.compile(form)
    parameters = {"M": 2.0, "m": 1.0, "l": 0.7, "g": 9.8}
    initial = {"x": 0.1, "phi": 0.9, "x_dot": 0.4, "phi_dot": -0.5}
    expected = {}
    for by in ("m", "l", "M", "phi_dot", "x_dot", "phi"):
        rows = complex_step(pendulum_on_a_cart, lambda v: [v[n] for n in initial], initial | parameters, by)
        expected |= {(n, by): row for n, row in zip(initial, rows, strict=True) if n in model.quantities}
    assert {"x_dot", "phi_dot"} <= {name for name, _ in expected}
    check(model, initial, parameters, expected)


def test_steps_that_are_moved_back_onto_a_constraint() -> None:
    """A pendulum in Cartesian coordinates against one in its angle; the projection is differentiated with it."""
    x, y = cg.coordinates("x y")
    m, length, g = cg.parameters("m l g", positive=True)
    point = {x: 0.6, y: -0.8, length: 1, m: 1, g: 10}
    model = pendulum_in_x_and_y("cartesian_pendulum", example=point).compile("multipliers")
    values = {"phi": 0.6, "w": 0.5, "l": 1.3, "g": 9.8}
    rows = complex_step(
        lambda y, v: [y[1], -v["g"] / v["l"] * np.sin(y[0])], lambda v: [v["phi"], v["w"]], values, "g"
    )
    phi = solve_ivp(
        lambda t, y: [y[1], -9.8 / 1.3 * np.sin(y[0])],
        (0, 3),
        [0.6, 0.5],
        "DOP853",
        TIMES,
        rtol=1e-12,
        atol=1e-13,
    ).y[0]
    start = {"x": 1.3 * np.sin(0.6), "y": -1.3 * np.cos(0.6)}
    start |= {"x_dot": 1.3 * 0.5 * np.cos(0.6), "y_dot": 1.3 * 0.5 * np.sin(0.6)}
    expected = {("x", "g"): 1.3 * np.cos(phi) * rows[0], ("y", "g"): 1.3 * np.sin(phi) * rows[0]}
    sol = check(model, start, {"m": 1, "l": 1.3, "g": 9.8}, expected)
    assert (
        np.abs(sol.sensitivity["holonomic_1", "g"]).max() < 1e-12
        if "holonomic_1" in model.residuals
        else True
    )


# ---- jumps ----


def test_a_ball_that_bounces() -> None:
    """Thrown up from the floor with u, it lands at 2 u / g and leaves with e u."""
    z = cg.coordinates("z")
    g, e = cg.parameters("g e", positive=True)
    v = cg.rate(z)
    bounce = cg.Event(z, direction=-1, reset={v: -e * v}, name="bounce")
    system = cg.System("ball", coordinates=[z], kinetic=v**2 / 2, potential=g * z, events=[bounce])
    model = system.compile("lagrange")
    u, g0, e0, t = 9.0, 10.0, 0.8, 2.5  # bounces at 1.8; the next at 1.8 + 1.44
    s = t - 2 * u / g0
    exact = {
        ("z", "e"): u * s,
        ("z", "z_dot"): e0 * s - 2 / g0 * (e0 * u - g0 * s),
        ("z", "g"): 2 * u / g0**2 * (e0 * u - g0 * s) - s**2 / 2,
        ("z_dot", "z_dot"): e0 + 2.0,
        ("z_dot", "g"): -s - 2 * u / g0,
    }
    names = ["e", "z_dot", "g"]
    sol = model.integrate((0, t), {"z": 0, "z_dot": u}, {"g": g0, "e": e0}, sensitivities=names, **TIGHT)
    for key, value in exact.items():
        assert sol.sensitivity[key][-1] == pytest.approx(value, abs=1e-9), key
    assert sol.t_events[0] == pytest.approx([1.8])
    assert sol.y_events[0].shape == (1, 2)


def test_a_block_that_stops_by_friction() -> None:
    """It slides u^2 / 2 mu g and stays there."""
    x = cg.coordinates("x")
    m, mu, g = cg.parameters("m mu g", positive=True)
    contact = cg.Coulomb("floor", slip=cg.rate(x), normal=m * g, mu=mu)
    system = cg.System("block", coordinates=[x], kinetic=m * cg.rate(x) ** 2 / 2, contacts=[contact])
    model = system.compile("lagrange")
    names = ["mu", "g", "x_dot", "m"]
    given = {"x": 0, "x_dot": 2.0}, {"m": 1.5, "mu": 0.3, "g": 10.0}
    sol = model.integrate((0, 2), *given, sensitivities=names, **TIGHT)
    exact = {"mu": -4 / (2 * 0.09 * 10), "g": -4 / (2 * 0.3 * 100), "x_dot": 2 / 3, "m": 0.0}
    for by, value in exact.items():
        assert sol.sensitivity["x", by][-1] == pytest.approx(value, abs=1e-10), by
        assert sol.sensitivity["x_dot", by][-1] == pytest.approx(0, abs=1e-12), by


@pytest.mark.slow
def test_through_the_stops_of_two_guides() -> None:
    """Klein's bodies: one stops, the other turns around, both stick; against differences of whole runs."""
    example = cg.example("painleve_klein")
    model = example.system.compile("lagrange")
    given = {**example.initial, **example.parameters}
    names, times = ["mu1", "m2", "x1_dot", "K"], np.array([0.5, 0.803, 1.2, 2.0])

    def run(values: dict[str, float], **more: Any) -> Any:
        initial, parameters = ({n: values[n] for n in part} for part in (example.initial, example.parameters))
        how = {**TIGHT, "rtol": 1e-13, "atol": 1e-13}
        return model.integrate((0, 2.2), initial, parameters, t_eval=times, **how, **more)

    sol = run(given, sensitivities=names)
    assert [mode.ended_by for mode in sol.modes] == ["guide2", "guide1", "guide1", None]
    for j, name in enumerate(names):

        def central(h: float, name: str = name) -> Any:
            ends = [run({**given, name: given[name] * (1 + sign * h)}).y for sign in (1, -1)]
            return (ends[0] - ends[1]) / (2 * h * given[name])

        differences = (4 * central(1e-5) - central(2e-5)) / 3
        scale = 1 + np.abs(differences).max()
        np.testing.assert_allclose(
            sol.sensitivity.y[:, j], differences, rtol=0, atol=1e-8 * scale, err_msg=name
        )


def test_a_kink_of_the_equations() -> None:
    """x'' = -k sign(x), thrown from 0 with u: a parabola above, one below; x = 0 again at 2 u / k."""
    x = cg.coordinates("x")
    k = cg.parameters("k", positive=True)
    system = cg.System("valley", coordinates=[x], kinetic=cg.rate(x) ** 2 / 2, potential=k * sp.Abs(x))
    model = system.compile("lagrange")
    u, k0, t = 1.5, 2.0, 2.0
    sol = model.integrate(
        (0, t), {"x": 0.3, "x_dot": u}, {"k": k0}, sensitivities=["k", "x_dot", "x"], **TIGHT
    )

    def exact(x0: Any, u: Any, k: Any) -> Any:
        landing = (u + np.sqrt(u**2 + 2 * k * x0)) / k
        speed = -np.sqrt(u**2 + 2 * k * x0)
        return speed * (t - landing) + k * (t - landing) ** 2 / 2

    for by, moved in (
        ("k", (0.3, u, k0 + 1e-30j)),
        ("x_dot", (0.3, u + 1e-30j, k0)),
        ("x", (0.3 + 1e-30j, u, k0)),
    ):
        assert sol.sensitivity["x", by][-1] == pytest.approx(exact(*moved).imag * 1e30, abs=1e-8), by


@pytest.mark.parametrize("power", [lambda d: d, lambda d: d**3, lambda d: d * sp.Abs(d)])
def test_a_tangential_event_is_reported(power: Any) -> None:
    """A ball thrown up reaches a roof at its top, at 5."""
    z = cg.coordinates("z")
    g = cg.parameters("g", positive=True)
    v = cg.rate(z)
    roof = cg.Event(power(z - 5 + sp.Rational(1, 10**12)), direction=1, reset={v: -v}, name="roof")
    system = cg.System("thrown", coordinates=[z], kinetic=v**2 / 2, potential=g * z, events=[roof])
    model = system.compile("lagrange")
    sol = model.integrate((0, 2), {"z": 0, "z_dot": 10}, {"g": 10}, sensitivities=["g"])
    assert sol.status == -12
    assert "tangentially" in sol.message


@pytest.mark.parametrize(
    "power",
    [lambda v: v**3, lambda v: -v * sp.Abs(v), lambda v: 10**12 * v**5 / 3, lambda v: sp.exp(v) * v**3],
    ids=["cube", "square with a sign", "fifth", "in a product"],
)
@pytest.mark.sample(1)
def test_an_odd_power_is_zero_when_its_base_is(power: Any) -> None:
    """A ball thrown up with u gains n at the top, at u / g: z = u t - g t^2 / 2 + n (t - u / g)."""
    z = cg.coordinates("z")
    g, n = cg.parameters("g n", positive=True)
    v = cg.rate(z)
    top = cg.Event(power(v), reset={v: n}, name="top")
    system = cg.System("thrown", coordinates=[z], kinetic=v**2 / 2, potential=g * z, events=[top])
    model = system.compile("lagrange")
    start = {"z": 0, "z_dot": 10}, {"g": 10, "n": 4}
    expected = {"g": -(1.2**2) / 2 + 4 * 10 / 10**2, "n": 1.2 - 10 / 10, "z_dot": 1.2 - 4 / 10}
    sol = check_slopes(model, "z", expected, (0, 1.2), *start, abs=1e-7)
    np.testing.assert_allclose(sol.sensitivity.events["top"].t[0], [-0.1, 0.0, 0.1], atol=1e-7)


@pytest.mark.parametrize(
    "power", [lambda d: 10**6 * d, lambda d: 10**6 * d**3, lambda d: d * sp.Abs(d) / 10**6]
)
def test_an_odd_power_of_a_quantity_with_an_input_that_jumps(power: Any) -> None:
    """x = w t; u jumps from 2 to 0.5 at 1, over x: the time is that of the jump, and v becomes n: x(2) = w + n.

    Where u jumps from 2 to 1.5, x reaches it at 1.5 / w.
    """
    x, u = cg.coordinates("x"), cg.inputs("u")
    n = cg.parameters("n", positive=True)
    v = cg.rate(x)
    met = cg.Event(power(x - u), direction=1, reset={v: n}, name="met")
    system = cg.System("driven", coordinates=[x], kinetic=v**2 / 2, events=[met])
    model = system.compile("lagrange")
    for level, by_n, by_speed in ((0.5, 1.0, 1.0), (1.5, 2 - 1.5, 1.5 * 3 / 1.0**2)):
        given = {"x": 0, "x_dot": 1}, {"n": 3}, {"u": ([0, 1], [2, level])}
        check_slopes(model, "x", {"n": by_n, "x_dot": by_speed}, (0, 2), *given, abs=1e-8)


# ---- bad input ----


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["M"], "sensitivities: unknown M; known names are m, k, x, x_dot"),
        (["m", "m"], "m is given twice"),
        ([], "give names"),
        (3, "give a list of names"),
        (["energy"], "sensitivities: unknown energy"),
    ],
)
def test_names_that_cannot_be_varied(names: Any, message: str) -> None:
    from chaplygin.generated.harmonic_oscillator import model

    refused(message, model.integrate, (0, 1), {"x": 1, "x_dot": 0}, {"m": 1, "k": 4}, sensitivities=names)


def test_integers_functions_and_implicit_methods_are_refused() -> None:
    x = cg.coordinates("x")
    n = cg.parameters("n", integer=True)
    tau = cg.inputs("tau")
    v = cg.rate(x)
    system = cg.System("comb", coordinates=[x], kinetic=v**2 / 2, potential=sp.cos(n * x), forces={v: tau})
    model = system.compile("lagrange")
    start = {"x": 1, "x_dot": 0}, {"n": 2}
    refused("n is declared an integer", model.integrate, (0, 1), *start, {"tau": 1}, sensitivities=["n"])
    with pytest.raises(cg.ArgumentError, match=r"f\(t, y\) by y is not known: tau; give f\(t\)"):
        model.integrate((0, 1), *start, {"tau": lambda t, y: 0.0}, sensitivities=["x"])
    with pytest.raises(cg.ArgumentError, match="tau is an input that varies"):
        model.integrate((0, 1), *start, {"tau": ([0, 1], [1, 2])}, sensitivities=["tau"])
    with pytest.raises(cg.ArgumentError, match="'rodas5p' does not integrate them"):
        model.integrate((0, 1), *start, {"tau": 1}, sensitivities=["x"], method="rodas5p")
    sol = model.integrate((0, 1), {"x": 0, "x_dot": 0}, {"n": 0}, {"tau": 1}, sensitivities=["tau"])
    assert sol.sensitivity["x", "tau"][-1] == pytest.approx(0.5)
    with pytest.raises(cg.ArgumentError, match="the run has none by 'n', but by tau"):
        sol.sensitivity["x", "n"]


def test_a_run_with_sensitivities_is_copied_by_pickle() -> None:
    """The copy finds the equations of the tangents again: they are needed for pictures and repeated runs."""
    import pickle

    from chaplygin.generated.harmonic_oscillator import model

    sol = model.integrate((0, 1), {"x": 1, "x_dot": 0}, {"m": 1, "k": 4}, sensitivities=["k"])
    again = pickle.loads(pickle.dumps(sol)).sensitivity["x", "k"]
    assert (again == sol.sensitivity["x", "k"]).all()
    assert again[-1] == pytest.approx(-np.sin(2) / 4, abs=1e-8)


@pytest.mark.parametrize("kind", list(INPUTS))
def test_inputs_that_vary(kind: str) -> None:
    """Where an input moves the place of an event it is part of the derivatives: differences of runs at 1e-13."""
    model, inputs = system().compile("lagrange"), {"u": INPUTS[kind]}
    sol = model.integrate((0, 5), START, NUMBERS, inputs, sensitivities=NAMES, **TIGHT)
    assert len(sol.t_events[0]) == 1
    found = [sol.sensitivity["x", name][-1] for name in NAMES]
    expected = differences(
        lambda *given: model.integrate((0, 5), *given, inputs, rtol=1e-13, atol=1e-14)["x"][-1]
    )
    assert found == pytest.approx(
        expected, abs=2e-8
    )  # the third derivative of a spline jumps inside of steps
    start = {"x": [0.1, 0.2], "x_dot": 0}
    many = cg.ensemble(model, (0, 5), start, NUMBERS, inputs, n=2, sensitivities=NAMES, **TIGHT)
    assert [many.sensitivity["x", name][0] for name in NAMES] == found
    stepper = model.stepper(START, NUMBERS, inputs, sensitivities=NAMES, **TIGHT)
    for t in (1.0, 2.5, 5.0):
        stepper.advance(t)
    assert [stepper.sensitivity["x", name] for name in NAMES] == pytest.approx(found, abs=1e-8)
