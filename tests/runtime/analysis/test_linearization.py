"""Linear equations near equilibria and steady motions, against closed forms, published tables and SymPy."""

from __future__ import annotations

import warnings
from typing import Any

import mechanics_models as given
import numpy as np
import published_bicycle
import pytest
import sympy as sp
from plane_systems import pendulum_in_x_and_y
from refusals import refused
from scipy.linalg import block_diag
from scipy.optimize import brentq
from steady_models import HOOP, TORUS, hoop, on_rails, torus
from sympy_oracle import name_of
from unit_masses import unit_masses

import chaplygin as cg
from chaplygin.generated.rolling_disk import model as disk
from chaplygin.runtime.analysis.linearization import stability

DISK = {"m": 2.0, "R": 0.5, "A": 0.125, "B": 0.25, "g": 9.81}
UPRIGHT = dict.fromkeys(disk.states, 0.0)


def speeds(model: Any, name: str, state: dict[str, float], parameters: dict[str, float], top: float) -> float:
    """The critical value of a spin: the pair of eigenvalues +-l that upright rolling has, 2 l^2 = tr A^2, is zero."""

    def square(spin: float) -> float:
        a = model.linearize(state | {name: spin}, parameters, about="steady").A
        return float(np.trace(a @ a))

    return float(brentq(square, 0.1, top, xtol=1e-14))


@pytest.mark.parametrize(("a", "b"), [(0.25, 0.5), (0.5, 1.0)], ids=["disk", "hoop"])
def test_critical_spin_of_a_disk_and_of_a_hoop(a: float, b: float) -> None:
    """Routh: omega^2 = m g R A / (B (B + m R^2)); with A = m R^2/4, B = m R^2/2 it is g/(3 R), for a hoop g/(4 R)."""
    unit = DISK["m"] * DISK["R"] ** 2
    numbers = DISK | {"A": a * unit, "B": b * unit}
    exact = np.sqrt(DISK["g"] / DISK["R"] * a / (b * (b + 1)))
    assert abs(speeds(disk, "w2", UPRIGHT, numbers, 10.0) - exact) < 1e-10


@pytest.mark.slow
def test_critical_spin_of_a_torus() -> None:
    """(A + m h^2) l^2 = m g R - (B + m h^2) B omega^2 / A with h = R + r, from the moments about the contact."""
    model = torus().compile("maggi", independent=["psi_dot", "alpha_dot", "theta_dot"])
    m, big, r, a, b, g = (TORUS[n] for n in ("m", "R", "r", "A", "B", "g"))
    exact = np.sqrt(m * g * big * a / (b * (b + m * (big + r) ** 2)))
    upright = dict.fromkeys(model.states, 0.0)
    assert abs(speeds(model, "theta_dot", upright, TORUS, 10.0) - exact) < 1e-10
    lin = model.linearize(upright | {"theta_dot": 2.0}, TORUS, about="steady")
    square = (m * g * big - (b + m * (big + r) ** 2) * b * 4 / a) / (a + m * (big + r) ** 2)
    assert np.trace(lin.A @ lin.A) / 2 == pytest.approx(square, rel=1e-12)


def test_ignorable_coordinates_of_a_rolling_disk_are_dropped() -> None:
    """Position, then heading, then turn; their rates stay, those in space aside, which turn with the heading."""
    lin = disk.linearize(UPRIGHT | {"w2": 5.0}, DISK, about="steady")
    assert lin.dropped == ("x", "y", "psi", "theta")
    assert lin.states == ("alpha", "w1", "w2", "w3")
    assert lin.outputs[:2] == ("der(psi)", "der(theta)")
    np.testing.assert_allclose(lin.C[:2], [[0, 0, 0, 1], [0, 0, 1, 0]], atol=1e-15)
    lean = (2 * 9.81 * 0.5 - (0.25 + 0.5) * 0.25 * 25 / 0.125) / (0.125 + 0.5)  # the closed form of l^2
    expected = sorted([0, 0, 1j * np.sqrt(-lean), -1j * np.sqrt(-lean)], key=lambda z: z.imag)
    np.testing.assert_allclose(sorted(lin.eigenvalues, key=lambda z: z.imag), expected, atol=1e-7)
    assert lin.stability == "neutral"


def test_multipliers_and_maggi_have_the_same_linear_equations() -> None:
    """The dependent velocities of the multiplier form are eliminated; no eigenvalue repeats a constraint."""
    model = cg.example("rolling_disk").system.compile("multipliers")
    state = dict.fromkeys(model.states, 0.0) | {"w2": 5.0}
    lin = model.linearize(state, DISK, about="steady")
    assert lin.dependent == ("s1", "s2")
    assert lin.outputs[:2] == ("s1", "s2")
    same = disk.linearize(UPRIGHT | {"w2": 5.0}, DISK, about="steady")
    assert lin.states == same.states
    np.testing.assert_allclose(lin.A, same.A, atol=1e-13)


def test_a_holonomic_equation_is_eliminated() -> None:
    """m (1 + s^2) x'' = f - k (1 + s^2) x, and y = s x."""
    model = on_rails().compile()
    numbers = {"m": 2.0, "k": 8.0, "s": 0.5}
    lin = model.linearize(dict.fromkeys(model.states, 0.0), numbers, {"f": 0})
    assert len(lin.states) == 2
    np.testing.assert_allclose(lin.eigenvalues, [-2j, 2j], atol=1e-13)
    system = lin.to_scipy()
    x = lin.states.index("x") if "x" in lin.states else None
    response = -system.C @ np.linalg.solve(system.A, system.B) + system.D
    found = dict(zip(lin.outputs, response[:, 0], strict=True))
    if x is not None:
        found["x"] = -np.linalg.solve(system.A, system.B)[x, 0]
    else:
        found["y"] = -np.linalg.solve(system.A, system.B)[lin.states.index("y"), 0]
    assert found["x"] == pytest.approx(1 / (8 * 1.25), rel=1e-13)
    assert found["y"] == pytest.approx(0.5 / (8 * 1.25), rel=1e-13)


def test_the_length_of_a_quaternion_is_eliminated() -> None:
    """A heavy top that hangs: two pendulum frequencies m g l / I_k, and the free turn about the vertical."""
    model = cg.example("lagrange_top").system.compile()
    numbers = {"I1": 1.5, "I3": 0.7, "m": 2.0, "g": 9.81, "l": 0.5}
    hanging = dict.fromkeys(model.states, 0.0) | {
        "q1": 1.0
    }  # upside down: a half turn about a horizontal axis
    lin = model.linearize(hanging, numbers)
    assert lin.A.shape == (6, 6)
    swing = np.sqrt(2 * 9.81 * 0.5 / 1.5)
    np.testing.assert_allclose(sorted(lin.eigenvalues.imag), [-swing, -swing, 0, 0, swing, swing], atol=1e-7)


def test_inputs_outputs_and_what_depends_on_both() -> None:
    """The bead at rest at theta_0: A and B of the equation, C and D of outputs with the input in them."""
    model, theta = hoop(damped=True).compile(), np.arccos(9.81 / (0.5 * 36))
    numbers = HOOP | {"c": 0.2}
    lin = model.linearize({"theta": theta, "theta_dot": 0}, numbers, {"tau": 0})
    inertia = 1.3 * 0.25
    np.testing.assert_allclose(lin.A, [[0, 1], [-36 * np.sin(theta) ** 2, -0.2 / inertia]], atol=1e-13)
    np.testing.assert_allclose(lin.B, [[0], [1 / inertia]], rtol=1e-14)
    rows = [lin.outputs.index(n) for n in ("height", "push")]
    np.testing.assert_allclose(lin.C[rows], [[0.5 * np.sin(theta), 0], [0, 0]], atol=1e-15)
    np.testing.assert_allclose(lin.D[rows], [[0], [theta]], rtol=1e-15)
    mode = lin.modes[0]
    assert mode.frequency == abs(lin.eigenvalues[0].imag)
    assert mode.damping == pytest.approx(0.1 / inertia / (6 * np.sin(theta)), rel=1e-12)
    assert mode.shape["theta_dot"] / mode.shape["theta"] == pytest.approx(mode.eigenvalue, rel=1e-12)
    assert lin.stability == "asymptotically stable"
    assert lin.to_scipy().A is not None


@pytest.mark.parametrize("stiffness", [1.0, 1e10])
def test_a_stiff_spring_does_not_hide_slow_growth_or_light_damping(stiffness: float) -> None:
    """Blocks [[0, 1], [-k, -c]] have the characteristic polynomial l^2 + c l + k, whatever else is in A."""

    def judged(k: float, c: float) -> str:
        a = block_diag([[0, 1], [-stiffness, -2e-3 * np.sqrt(stiffness)]], [[0, 1], [-k, -c]])
        return stability(a, np.linalg.eigvals(a))

    assert judged(-1.0, 0.0) == "unstable"
    assert judged(1.0, -0.2) == "unstable"
    assert judged(1.0, 0.2) == "asymptotically stable"
    assert judged(1.0, 0.0) == "neutral"
    assert judged(-1e-17, 0.0) == "neutral"  # a rounding error where zero is meant


def test_a_family_follows_each_eigenvalue(tmp_path: Any) -> None:
    """One call for many spins: +-l is real below the critical one, imaginary above."""
    spins = np.linspace(1, 4, 31)
    family = disk.linearize(UPRIGHT | {"w2": spins}, DISK, about="steady")
    assert len(family) == 31
    assert family.A.shape == (31, 4, 4)
    np.testing.assert_array_equal(family.varied["w2"], spins)
    critical = np.sqrt(9.81 / 0.5 / 3)
    assert [s == "unstable" for s in family.stability] == list(spins < critical)
    jumps = np.abs(np.diff(family.eigenvalues, axis=0)).max()
    assert jumps < 1.5  # the steepest is at the collision, where l goes as the square root
    pytest.importorskip("matplotlib")
    family.plot(tmp_path / "locus.png")
    family[0].plot(tmp_path / "roots.png")
    assert (tmp_path / "locus.png").stat().st_size > 5000
    assert (tmp_path / "roots.png").stat().st_size > 5000


def test_linear_equations_predict_the_run() -> None:
    """A run near the steady motion departs from it as exp(A t) says, to second order in the deviation."""
    from scipy.linalg import expm

    lin = disk.linearize(UPRIGHT | {"w2": 5.0}, DISK, about="steady")
    deviations = []
    for size in (1e-4, 1e-5):
        start = UPRIGHT | {"w2": 5.0, "alpha": size, "w3": -size}
        sol = disk.integrate((0, 1), start, DISK, rtol=1e-12, atol=1e-14)
        found = np.array([sol[n][-1] for n in lin.states]) - [0, 0, 5, 0]
        deviations.append(np.abs(found - expm(lin.A) @ [size, 0, 0, -size]).max())
    assert deviations[0] < 1e-6
    assert deviations[1] < deviations[0] / 50


@pytest.mark.slow
def test_symbolic_linear_equations_are_the_compiled_ones() -> None:
    """Of the bead on a hoop at any angle, of the one on a line, and of the upright disk at any spin."""
    system = hoop(damped=True)
    symbols = {s.name: s for s in system.all_symbols()}
    theta, turn, g, radius = (symbols[n] for n in ("theta", "Omega", "g", "R"))
    rest = {symbols["theta_dot"]: 0, symbols["tau"]: 0, g: radius * turn**2 * sp.cos(theta)}
    lin = system.equations("lagrange").linearize(rest)
    assert lin.states == ("theta", "theta_dot")
    assert sp.simplify(lin.A[1, 0] + turn**2 * sp.sin(theta) ** 2) == 0
    assert sp.simplify(lin.B[1] - 1 / (symbols["m"] * radius**2)) == 0
    assert (lin.inputs, lin.outputs) == (("tau",), ("height", "push"))
    assert lin.C.tolist() == [[radius * sp.sin(theta), 0], [0, 0]]
    assert list(lin.D) == [0, theta]

    system = on_rails()
    symbols = {s.name: s for s in system.all_symbols()}
    at = dict.fromkeys((symbols[n] for n in ("x", "y", "x_dot", "y_dot", "f") if n in symbols), 0)
    lin = system.equations("maggi").linearize(at)
    assert (lin.states[0], lin.outputs[0]) == ("x", "y")
    assert len(lin.states) == 2
    assert list(lin.C[0, :]) == [symbols["s"], 0]
    assert sp.simplify(lin.A[0, 1] * lin.A[1, 0] + symbols["k"] / symbols["m"]) == 0

    system = cg.example("rolling_disk").system
    symbols = {s.name: s for s in system.all_symbols()}
    straight = dict.fromkeys((symbols[n] for n in ("alpha", "w1", "w3")), 0)
    lin = system.equations("maggi").linearize(straight, about="steady")
    assert lin.states == ("alpha", "w1", "w2", "w3")
    m, radius, moment, axial, g, spin = (symbols[n] for n in ("m", "R", "A", "B", "g", "w2"))
    square = m * g * radius - (axial + m * radius**2) * axial * spin**2 / moment
    assert sp.simplify((lin.A**2).trace() / 2 - square / (moment + m * radius**2)) == 0
    numbers = DISK | {"alpha": 0.0, "w1": 0.0, "w2": 5.0, "w3": 0.0}
    compiled = disk.linearize(UPRIGHT | {"w2": 5.0}, DISK, about="steady")
    assert compiled.states == lin.states
    for name in lin.outputs:
        row = lin.C[lin.outputs.index(name), :].subs({symbols[n]: v for n, v in numbers.items()})
        np.testing.assert_allclose(
            np.array(row, float)[0], compiled.C[compiled.outputs.index(name)], atol=1e-14
        )
    assert any(name.startswith("der(") for name in lin.outputs)
    with pytest.raises(cg.FormError, match=r"d\(w1\)/dt = .* is not zero: it is not a steady motion"):
        system.equations("maggi").linearize({symbols["w1"]: 0}, about="steady")


def test_a_kink_has_no_linear_equations() -> None:
    """A spring against a drag -v |v| is linear near rest, one against the friction -sign(v) or a stop is not."""
    x, drag, dry, stop = (cg.coordinates("x"), *cg.parameters("drag dry stop"))
    v = cg.rate(x)
    force = -drag * v * sp.Abs(v) - dry * sp.sign(v) - stop * sp.Max(0, x)
    system = unit_masses("kinks", [x], potential=2 * x**2, forces={v: force})
    model, still = system.compile(), {"x": 0, "x_dot": 0}
    numbers = {"drag": 1, "dry": 0, "stop": 0}
    np.testing.assert_allclose(model.linearize(still, numbers).A, [[0, 1], [-4, 0]], atol=1e-15)
    for changed in ({"dry": 1}, {"stop": 1}):
        words = r"kinks has no derivative at this state: kink_\d is zero there"
        refused(words, model.linearize, still, numbers | changed)
    assert "without linear equations" in repr(model.equilibrium(still, numbers | {"stop": 1}))


def test_the_symbolic_point_by_names() -> None:
    """A pendulum at rest below: A = [[0, 1], [-k, 0]]."""
    q, k = cg.coordinates("q"), cg.parameters("k", positive=True)
    equations = unit_masses("pendulum", [q], potential=-k * sp.cos(q)).equations()
    found = equations.linearize({"q": 0, "q_dot": 0}).A
    assert found == sp.Matrix([[0, 1], [-k, 0]])
    refused("linearize: point: unknown q_dt; did you mean q_dot", equations.linearize, {"q": 0, "q_dt": 0})


@pytest.fixture(scope="module")
def bicycle() -> Any:
    upright = dict.fromkeys(("yaw", "roll", "pitch", "steer"), 0.0)
    return cg.from_sympy(given.bicycle(), "bicycle", parameters=given.BICYCLE, example=upright).compile()


@pytest.mark.slow
def test_bicycle_has_the_published_eigenvalues(bicycle: Any) -> None:
    """Weave, capsize and castering at forward speeds, of the published matrices."""
    straight = dict.fromkeys(bicycle.states, 0.0)
    for v in (0.0, 1.0, 5.0, 8.0):
        lin = bicycle.linearize(straight | {"u3": v / 0.3}, given.BICYCLE, about="steady")
        assert lin.dropped == ("yaw",)
        assert lin.dependent == ("pitch",)
        assert lin.states == ("roll", "steer", "u2", "u3", "u5")
        expected = [*published_bicycle.eigenvalues(v), 0.0]  # zero: the speed
        found = lin.eigenvalues
        for value in expected:
            assert np.abs(found - value).min() < 1e-10 + (1e-8 if value == 0 else 0)


@pytest.mark.slow
def test_weave_and_capsize_speed_of_the_bicycle(bicycle: Any) -> None:
    """The same paper, section 5: a Hopf point and a zero eigenvalue along the speed."""
    guess = dict.fromkeys(bicycle.states, 0.0) | {"u3": 3.5 / 0.3}
    start = bicycle.steady_motion(guess, given.BICYCLE, keep=["u3"])
    weave, capsize = start.continuation("u3", 7.0 / 0.3).special
    assert (weave.kind, capsize.kind) == ("Hopf", "branch point")
    assert abs(weave.value * 0.3 - 4.29238253634111) < 1e-13  # the figure of docs/verification.md
    assert abs(capsize.value * 0.3 - 6.02426201538837) < 1e-13


@pytest.mark.slow
def test_sympys_linearize_gives_the_same() -> None:
    """`KanesMethod.linearize` of the jointed models of the tests that rest: the rolling disk, upright, at a spin."""
    kane = given.rolling_disk()
    model = cg.from_sympy(given.rolling_disk(), "sympy_disk").compile()
    kane.kanes_equations()
    spin = {"u1": 0.0, "u2": 5.0, "u3": 0.0}
    numbers = dict.fromkeys(model.parameters, 1.0) | {"g": 9.81}
    state = dict.fromkeys(model.states, 0.0) | {k: v for k, v in spin.items() if k in model.states}
    lin = model.linearize(state, numbers, about="steady")
    a, _ = kane.linearize(A_and_B=True, simplify=False)[:2]
    point = {s: state.get(name_of(s), 0.0) for s in (*kane.q, *kane.u)}
    a = sp.Matrix(a).subs({s.diff(): 0 for s in kane.u}).subs(point)
    a = a.subs({s: numbers[str(s)] for s in a.free_symbols})
    names = [name_of(s) for s in (*kane.q, *kane.u)]
    rows = [names.index(n) for n in lin.states]
    np.testing.assert_allclose(np.array(a, float)[np.ix_(rows, rows)], lin.A, atol=1e-12)


@pytest.mark.parametrize("unit", [1e-9, 1e-6, 1.0, 1e6, 1e12])
def test_a_pendulum_in_any_unit_of_length_rests_or_does_not(unit: float) -> None:
    """In x and y: an equation that is true by the constraint has only rounding errors of accelerations of g."""
    x, y = cg.coordinates("x y")
    point = {x: 0, y: -1, cg.parameters("l", positive=True): 1}
    model = pendulum_in_x_and_y("unit_pendulum", example=point).compile("multipliers")
    given = {"m": 1, "l": unit, "g": 9.81 * unit}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for up in (-1, 1):
            found = model.linearize({"x": 0, "y": up * unit, "x_dot": 0, "y_dot": 0}, given)
            assert np.sort_complex(np.linalg.eigvals(found.A) ** 2) == pytest.approx(
                [up * 9.81] * 2, rel=1e-12
            )
        tilted = {"x": 0.01 * unit, "y": -np.sqrt(1 - 1e-4) * unit, "x_dot": 0, "y_dot": 0}
        refused(r"not an equilibrium, d\(x_dot\)", model.linearize, tilted, given)


@pytest.mark.parametrize("unit", [1e-12, 1e-9, 1.0])
def test_a_small_well_rests_at_its_bottom(unit: float) -> None:
    """V = (x^2 - a^2)^2 / 4 a^2 rests at 0 and a, with A = 1 and -2; the output |x - b| has a kink at b alone."""
    x = cg.coordinates("x")
    a, b = cg.parameters("a b", positive=True)
    well = unit_masses(
        "small_well", [x], potential=(x**2 - a**2) ** 2 / (4 * a**2), outputs={"bent": sp.Abs(x - b)}
    ).compile("lagrange")
    numbers = {"a": unit, "b": 1.5 * unit}
    for at, slope in ((0.0, 1.0), (1.0, -2.0)):
        found = well.linearize({"x": at * unit, "x_dot": 0.0}, numbers)
        np.testing.assert_allclose(found.A, [[0, 1], [slope, 0]], atol=1e-12)
        np.testing.assert_allclose(found.C, [[-1, 0]])
    for off in (0.9, 1.001, 3.0):
        refused("not an equilibrium", well.linearize, {"x": off * unit, "x_dot": 0.0}, numbers)
    with pytest.raises(cg.ArgumentError, match="the output bent of small_well has no derivative"):
        well.linearize({"x": unit, "x_dot": 0.0}, numbers | {"b": unit})


@pytest.mark.parametrize(
    ("change", "about", "message"),
    [
        ({"w2": 5.0}, "equilibrium", r"not an equilibrium, d\(x\)/dt = 2.5: .*about=\"steady\""),
        ({"alpha": 0.3, "w2": 5.0}, "steady", r"the motion is not steady, d\(w1\)/dt"),
        ({"w2": [5.0, 6.0], "w3": [0.0]}, "steady", "w3 has length 1, w2 has 2"),
        ({"w2": [[5.0]]}, "steady", r"state: w2 has shape \(1, 1\)"),
        ({"w2": 5.0}, "rest", "about = 'rest': give one of 'equilibrium', 'steady'"),
        ({"w4": 5.0}, "steady", "unknown w4"),
    ],
)
def test_wrong_points_are_named(change: dict[str, Any], about: str, message: str) -> None:
    refused(message, disk.linearize, UPRIGHT | change, DISK, about=about)


@pytest.mark.slow
def test_velocities_in_space_turn_with_the_motion() -> None:
    """A disk in a circle with x_dot, y_dot as states is not steady; the error says what is."""
    model = torus().compile("multipliers")
    spin, lean, turn = -2.0, 0.3, 2.0
    state = dict.fromkeys(model.states, 0.0) | {"alpha": lean, "psi_dot": turn, "theta_dot": spin}
    state = model.consistent(state, TORUS, keep=["psi_dot", "theta_dot", "alpha_dot"])
    with pytest.raises(
        cg.ArgumentError, match="declare them in the body's frame, or compile the form 'maggi'"
    ):
        model.linearize(state, TORUS, about="steady")


def test_models_with_dry_friction_are_refused() -> None:
    example = cg.example("block_on_belt")
    model = example.system.compile()
    refused("has contacts with dry friction", model.linearize, example.initial, example.parameters)


def test_outputs_at_kinks_are_refused() -> None:
    """As equations are; smooth ones with a vanishing derivative, and kinks elsewhere, are not."""
    x, k = cg.coordinates("x"), cg.parameters("k", positive=True)
    v = cg.rate(x)

    def linear(**outputs: Any) -> Any:
        system = unit_masses("shown", [x], potential=k * x**2 / 2, outputs=outputs)
        return system.compile().linearize({"x": 0.0, "x_dot": 0.0}, {"k": 1.0})

    for kink in (sp.Abs(x), sp.Max(2 * x, v), sp.sign(x), sp.Piecewise((x, x > 0), (2 * x, True))):
        refused("the output bent of shown has no derivative at this state", linear, bent=kink, straight=x)
    smooth = linear(square=x**2 + v**2, cubic=x * sp.Abs(x), far=sp.Abs(x - 1), straight=3 * x + v)
    np.testing.assert_allclose(smooth.C[-4:], [[0, 0], [0, 0], [-1, 0], [3, 1]], atol=1e-15)


@pytest.mark.parametrize("turns", [0, 1000, 10**6, 10**9])
def test_a_pendulum_that_moves_is_not_at_rest_after_any_number_of_turns(turns: int) -> None:
    """d2x/dt2 = -sin x + u rests at x = 2 pi n without u, and moves with rates of the size 1 wherever it does not."""
    x, u = cg.coordinates("x"), cg.inputs("u")
    v = cg.rate(x)
    pendulum = unit_masses("turns", [x], potential=-sp.cos(x), forces={v: u}).compile("lagrange")
    down = 2 * np.pi * turns
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = pendulum.linearize({"x": down, "x_dot": 0.0})
    np.testing.assert_allclose(found.A, [[0, 1], [-1, 0]], atol=1e-12)
    for state, force in (((0.0, 1e-3), 0.0), ((0.0, 1.0), 0.0), ((1e-3, 0.0), 0.0), ((0.0, 0.0), 0.5)):
        with pytest.raises(cg.ArgumentError, match="not an equilibrium"):
            pendulum.linearize({"x": down + state[0], "x_dot": state[1]}, inputs={"u": force})


@pytest.mark.parametrize("angle", [0.0, 1e5, 1e9])
def test_a_wheel_that_turns_is_not_at_rest_at_any_angle(angle: float) -> None:
    """Nothing depends on the angle of a free wheel, so that it is not a unit for rates."""
    x, y = cg.coordinates("x y")
    wheel = unit_masses("wheel_by_a_spring", [x, y], potential=(x - 1) ** 2 / 2).compile("lagrange")
    rest = {"x": 1.0, "y": angle, "x_dot": 0.0, "y_dot": 0.0}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wheel.linearize(rest)
    for rate in (1e-3, 1.0):
        refused(r"not an equilibrium, d\(y\)/dt", wheel.linearize, rest | {"y_dot": rate})
