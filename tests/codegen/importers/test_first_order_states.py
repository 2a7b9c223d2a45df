"""`from_sympy(..., states=)`: states with first-order equations of their own, such as those of muscles."""

from __future__ import annotations

from typing import Any

import documentation_models as documented
import numpy as np
import pytest
import sympy as sp
import sympy.physics.mechanics as me
from sympy.physics import biomechanics
from sympy_oracle import Oracle, difference, formed, states_of

import chaplygin as cg

t = me.dynamicsymbols._t
X, V, A, E, F = me.dynamicsymbols("x v a e f")
M, K = sp.symbols("m k", positive=True)


def block(force: Any, speed: Any = V, **options: Any) -> Any:
    """A particle on a line with m x'' = force."""
    space, point = me.ReferenceFrame("N"), me.Point("P")
    point.set_vel(space, speed * space.x)
    body = me.Particle("block", point, M)
    return me.KanesMethod(
        space,
        [X],
        [V],
        kd_eqs=[X.diff(t) - V],
        bodies=[body],
        forcelist=[(point, force * space.x)],
        **options,
    )


def test_current_of_a_motor() -> None:
    """m x'' = k i and L i' = e - R i - k x': the rates, and the run from rest against the matrix exponential."""
    current, voltage = me.dynamicsymbols("i e")
    inductance, resistance = sp.symbols("L R", positive=True)
    rate = (voltage - resistance * current - K * X.diff(t)) / inductance
    found = cg.from_sympy(block(K * current), "motor", states={current: rate})
    assert isinstance(found, cg.Equations)
    assert found.states == ("x", "i", "v")
    model = found.compile()
    numbers = {"m": 2.0, "k": 0.5, "L": 0.25, "R": 1.5}
    rates = model.rhs(0, {"x": 1.0, "i": 0.75, "v": 3.0}, numbers, {"e": 4.0})
    np.testing.assert_allclose(rates, [3.0, (4 - 1.5 * 0.75 - 0.5 * 3) / 0.25, 0.5 * 0.75 / 2], rtol=1e-15)
    # (i, v)' = A (i, v) + b, by the eigenvalues of A
    matrix = np.array([[-6.0, -2.0], [0.25, 0.0]])
    rest = np.linalg.solve(matrix, [-16.0, 0.0])
    values, vectors = np.linalg.eig(matrix)
    expected = rest + (vectors * np.exp(values * 2)) @ np.linalg.solve(vectors, -rest)
    start = {"x": 0.0, "i": 0.0, "v": 0.0}
    for method in ("vern9", "rodas5p"):
        sol = model.integrate(
            (0, 2), start, numbers, inputs={"e": 4.0}, method=method, rtol=1e-11, atol=1e-13
        )
        np.testing.assert_allclose([sol["i"][-1], sol["v"][-1]], expected, rtol=1e-9)
    slopes = model.jacobian(0, {"x": 1.0, "i": 0.75, "v": 3.0}, numbers, {"e": 4.0})
    np.testing.assert_allclose(slopes, [[0, 0, 1], [0, -6, -2], [0, 0.25, 0]], rtol=1e-15)
    near = model.linearize(start, numbers, {"e": 0.0})
    np.testing.assert_allclose(near.B.ravel(), [0, 4, 0], rtol=1e-15)  # e moves the current alone, 1/L
    again = cg.from_sympy(found.to_sympy_system(), "again")
    assert (again.states, again.mass_matrix, again.forcing) == (
        found.states,
        found.mass_matrix,
        found.forcing,
    )
    np.testing.assert_array_equal(again.compile().rhs(0, [1.0, 0.75, 3.0], numbers, {"e": 4.0}), rates)


def test_a_state_in_a_lagrangian() -> None:
    """L = m a^2 x'^2 / 2 with a' = -a/2 gives x'' = -2 (a'/a) x' = x'."""
    lagrange = me.LagrangesMethod(M * A**2 * X.diff(t) ** 2 / 2, [X])
    found = cg.from_sympy(lagrange, "thinning", states={A: -A / 2})
    rates = found.compile().rhs(0, {"x": 1.0, "a": 0.7, "x_dot": 3.0}, {"m": 2.0})
    np.testing.assert_allclose(rates, [3.0, -0.35, 3.0], rtol=1e-15)


def test_an_input_in_kinematics() -> None:
    """A block on a belt whose speed f is an input: with x' = v + f, its acceleration is v' + f_dot."""
    belt = block(-K * X, V + F)
    belt = me.KanesMethod(
        belt._inertial, [X], [V], kd_eqs=[X.diff(t) - V - F], bodies=belt.bodies, forcelist=belt._forcelist
    )
    model = cg.from_sympy(belt, "belt").compile()
    rates = model.rhs(0, {"x": 0.5, "v": 2.0}, {"m": 4.0, "k": 8.0}, {"f": 0.25, "f_dot": 3.0})
    np.testing.assert_allclose(rates, [2.25, -8 * 0.5 / 4 - 3], rtol=1e-15)


def test_a_state_as_the_place_of_a_driven_point() -> None:
    """A pivot at f with f' = e: the velocity of the block contains the input e, whose rate e_dot enters."""
    model = cg.from_sympy(block(-K * X, V + F.diff(t)), "carried", states={F: E}).compile()
    assert set(model.inputs) == {"e", "e_dot"}
    rates = model.rhs(0, {"x": 0.5, "f": 0.1, "v": 2.0}, {"m": 4.0, "k": 8.0}, {"e": 0.25, "e_dot": 3.0})
    np.testing.assert_allclose(rates, [2.0, 0.25, -1.0 - 3.0], rtol=1e-15)


def pulled_block(formulation: Any) -> Any:
    """A block on a slide, pulled by a muscle with an elastic tendon."""
    wall, mass = me.RigidBody("wall"), me.Particle("block", mass=M)
    model = me.System.from_newtonian(wall)
    model.add_joints(me.PrismaticJoint("slide", wall, mass, X, V, joint_axis=wall.x))
    model.add_actuators(
        biomechanics.MusculotendonDeGroote2016.with_defaults(
            "pull", me.LinearPathway(wall.masscenter, mass.masscenter),
            biomechanics.FirstOrderActivationDeGroote2016.with_defaults("pull"),
            musculotendon_dynamics=formulation, tendon_slack_length=sp.Rational(1, 5),
            optimal_fiber_length=sp.Rational(3, 10), peak_isometric_force=sp.Integer(50),
        )
    )  # fmt: skip
    return model


@pytest.mark.parametrize("name", ["FIBER_LENGTH_EXPLICIT", "TENDON_FORCE_EXPLICIT"])
def test_muscles_with_elastic_tendons(name: str) -> None:
    """Rates of the fibre's length or the tendon's force, of the activation, and the force, as SymPy evaluates them."""
    system = pulled_block(getattr(biomechanics.MusculotendonFormulation, name))
    model = cg.from_sympy(system, f"pull_{name.lower()}").compile()
    (muscle,) = system.actuators
    varying = [X, *muscle.x, V, *muscle.r]
    assert model.states == tuple(f.func.__name__ for f in varying[:-1])
    expressions = [
        X.diff(t),
        *muscle.rhs(),
        muscle.force / M,
    ]  # a positive force of an actuator lengthens its path
    known = [e.doit().xreplace({X.diff(t): V}) for e in expressions]
    expected = sp.lambdify([*varying, M], known, cse=True)
    draw = np.random.default_rng(1)
    for _ in range(20):
        length, activation, excitation = draw.uniform((0.9, 0.2, 0.2), (1.1, 0.9, 0.9))
        stretch = draw.uniform(1.0, 1.02)
        first = length if name.startswith("FIBER") else 0.2 * np.exp(33.93669 * (stretch - 0.995)) - 0.25
        x, v = 0.2 * stretch + 0.3 * length, draw.uniform(-0.2, 0.2)
        numbers = expected(x, first, activation, v, excitation, 2.0)
        rates = model.rhs(0, [x, first, activation, v], {"m": 2.0}, {"e_pull": excitation})
        np.testing.assert_allclose(rates, numbers, rtol=1e-10, atol=1e-10 * np.abs(numbers).max())


@pytest.mark.slow
def test_arm_on_a_lever() -> None:
    """SymPy's tutorial: its equations at 20 states, and the row of M u' = f that it prints for the arm at rest."""
    degrees = {"q1": 5.0, "q2": -0.60986636, "q3": 9.44918589, "q4": 88.68812842}
    angles = {name: float(np.deg2rad(angle)) for name, angle in degrees.items()}
    numbers = documented.LEVER
    equations = cg.from_sympy(documented.arm_on_a_lever(), "lever", parameters=numbers, example=angles)
    model = equations.compile()
    theirs = documented.arm_on_a_lever()
    assert difference(model, Oracle(formed(theirs), states_of(theirs)), constants=numbers) < 1e-10
    printed = [
        [0.00333333, -0.15174161, -0.00109772, -0.00152436],
        [0.19923894, 0.31, -0.04923615, 0.00996712],
        [0.01743115, 0.0, 0.29585191, 0.0011276],
        [0.0, -0.29256885, -0.0005241, -0.29983226],
    ]
    published = np.linalg.solve(printed, [-0.9121071, 0, 0, 0])[0]
    start = angles | {"u1": 0.0, "a_biceps": 0.0, "a_triceps": 0.0}
    rates = model.rhs(0, start, numbers, {"e_biceps": 0.0, "e_triceps": 0.0})
    # 0.00333333 +- 5e-9 in M is 1.5e-6 of its first row
    assert rates[model.states.index("u1")] == pytest.approx(published, rel=3e-6)


@pytest.mark.parametrize(
    ("model", "states", "message"),
    [
        (block(0), {X: 1}, r"states: x\(t\) is not a dynamicsymbol besides"),
        (block(0), {M: 1}, "states: m is not a dynamicsymbol besides"),
        (block(A), {A: A.diff(t) + 1}, r"rate of the state a\(t\) contains that of a\(t\); solve"),
        (
            block(A),
            {A: sp.Function("h")(X)},
            r"da\(t\)/dt contains h\(x\(t\)\), a function without an expression",
        ),
        (block(A), {A: V**2}, r"kinematics\[a\] is not affine in the velocities"),
        (
            me.LagrangesMethod(M * X.diff(t) ** 2 + A.diff(t) * X, [X]),
            {A: -A},
            r"the Lagrangian contains the rate of the state a\(t\)",
        ),
        (
            me.LagrangesMethod(M * X.diff(t) ** 2, [X], nonhol_coneqs=[X.diff(t) - A.diff(t)]),
            {A: E},
            r"constraints\[0\] depends on the input 'e' by the kinematics; its rate",
        ),
    ],
)
def test_refusals(model: Any, states: dict[Any, Any], message: str) -> None:
    with pytest.raises(cg.DeclarationError, match=message):
        cg.from_sympy(model, "refused", states=states)
