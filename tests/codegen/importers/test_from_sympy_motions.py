"""`from_sympy`: motions that an input prescribes, whose rates follow from it; against SymPy's own accelerations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mechanics_models
import numpy as np
import pytest
import sympy as sp
import sympy.physics.mechanics as me
from mechanics_models import spring
from runtime_models import needs_core
from scipy.integrate import solve_ivp
from sympy_oracle import Oracle, difference, formed

import chaplygin as cg
from chaplygin.api.python_model import python_model

t = me.dynamicsymbols._t
F = me.dynamicsymbols("f")
DF, DDF = F.diff(t), F.diff(t, t)
m, ell, g, k, J = sp.symbols("m l g k J", positive=True)
SPACE = me.ReferenceFrame("N")


def moved_pivot(*order: int) -> Any:
    """A pendulum whose pivot has the velocity f', with loads in f, f' and f''."""
    a, w = me.dynamicsymbols("a w")
    pivot, rod = me.Point("O"), SPACE.orientnew("A", "Axis", [a, SPACE.z])
    rod.set_ang_vel(SPACE, w * SPACE.z)
    pivot.set_vel(SPACE, DF * SPACE.x)
    bob = pivot.locatenew("P", -ell * rod.y)
    bob.v2pt_theory(pivot, SPACE, rod)
    loads = [(bob, -m * g * SPACE.y), (bob, -k * F * SPACE.x), (rod, -3 * DF * SPACE.z)]
    loads.append((bob, m * DDF * SPACE.y / 2))
    bodies = [me.Particle("bob", bob, m)]
    acting = [loads[i] for i in order]
    return me.KanesMethod(SPACE, [a], [w], kd_eqs=[a.diff(t) - w], bodies=bodies, forcelist=acting)


def steered(rows: Callable[..., list[Any]], *order: int) -> Any:
    """A body in a plane, with velocity constraints on its speeds forward, sideways and of turning."""
    x, y, a, u, v, w = me.dynamicsymbols("x y a u v w")
    place, own = me.Point("C"), SPACE.orientnew("A", "Axis", [a, SPACE.z])
    own.set_ang_vel(SPACE, w * SPACE.z)
    place.set_vel(SPACE, u * own.x + v * own.y)
    loads = [(place, -k * DF * own.x), (place, -m * g * F * SPACE.x)]
    return me.KanesMethod(
        SPACE,
        [x, y, a],
        [u],
        u_dependent=[v, w],
        kd_eqs=[
            x.diff(t) - u * sp.cos(a) + v * sp.sin(a),
            y.diff(t) - u * sp.sin(a) - v * sp.cos(a),
            a.diff(t) - w,
        ],
        velocity_constraints=rows(u, v, w),
        bodies=[me.RigidBody("b", place, own, m, (me.inertia(own, 0, 0, J), place))],
        forcelist=[loads[i] for i in order],
    )


def front_wheel(u: Any, v: Any, w: Any) -> list[Any]:
    """A car: neither axle slips sideways, and f turns the front wheels."""
    return [v, (v + ell * w) * sp.cos(F) - u * sp.sin(F)]


def reeled_pendulum(*order: int) -> Any:
    """A pendulum in Cartesian coordinates, whose length l + f is a configuration constraint, given with its rate."""
    x, y, u, v = me.dynamicsymbols("x y u v")
    bob = me.Point("P")
    bob.set_vel(SPACE, u * SPACE.x + v * SPACE.y)
    loads = [(bob, -m * g * SPACE.y), (bob, -k * DF * SPACE.x)]
    return me.KanesMethod(
        SPACE,
        [x],
        [u],
        kd_eqs=[x.diff(t) - u, y.diff(t) - v],
        q_dependent=[y],
        configuration_constraints=[x**2 + y**2 - (ell + F) ** 2],
        u_dependent=[v],
        velocity_constraints=[x * u + y * v - (ell + F) * DF],
        bodies=[me.Particle("bob", bob, m)],
        forcelist=[loads[i] for i in order],
    )


def by_lagrange(holonomic: bool, law: Any) -> Any:
    """A body on a table with the velocity f' that cannot slip sideways but by a law; it may be on a moving curve."""
    x, y, a = me.dynamicsymbols("x y a")
    kinetic = m * ((x.diff(t) + DF) ** 2 + y.diff(t) ** 2) / 2 + J * a.diff(t) ** 2 / 2
    knife = x.diff(t) * sp.sin(a + F) - y.diff(t) * sp.cos(a + F) - law
    closed = [x * y - 1 - F / 5] if holonomic else []
    return me.LagrangesMethod(
        kinetic - m * g * y + m * DDF * y, [x, y, a], hol_coneqs=closed, nonhol_coneqs=[knife]
    )


def driven_bars() -> Any:
    """A linkage of four bars, one of whose ends is moved by f."""
    linkage = mechanics_models.four_bar()
    first, second = linkage.holonomic_constraints
    linkage._hol_coneqs = sp.ImmutableMatrix([first + F / 3, second])
    return linkage


def on_a_plate(mass: Any, *loads: Any) -> Any:
    """A particle on a plate that moves by -f: x' = v - f'."""
    x, v = me.dynamicsymbols("x v")
    place = me.Point("P")
    place.set_vel(SPACE, v * SPACE.x)
    acting = [(place, (load - k * x) * SPACE.x) for load in loads]
    kinematics = [x.diff(t) - v + DF]
    return me.KanesMethod(
        SPACE, [x], [v], kd_eqs=kinematics, bodies=[me.Particle("p", place, mass)], forcelist=acting
    )


MODELS: dict[str, tuple[str, int, Callable[[], Any]]] = {
    "pivot": ("lagrange", 3, lambda: moved_pivot(0)),
    "pivot, f after f'": ("lagrange", 3, lambda: moved_pivot(3, 2, 1, 0)),
    "pivot, f before f'": ("lagrange", 3, lambda: moved_pivot(0, 1, 2, 3)),
    "steered": ("maggi", 2, lambda: steered(front_wheel, 0, 1)),
    "steered, f before f'": ("maggi", 2, lambda: steered(front_wheel, 1, 0)),
    "rates in constraints": ("maggi", 3, lambda: steered(lambda u, v, w: [v - DF * u, w - F * DF], 0, 1)),
    "rates in constraints alone": ("maggi", 3, lambda: steered(lambda u, v, w: [v, w - DF])),
    "reeled": ("maggi", 3, lambda: reeled_pendulum(0, 1)),
    "reeled, f' before f": ("maggi", 3, lambda: reeled_pendulum(1, 0)),
    "holonomic, nonholonomic": ("multipliers", 3, lambda: by_lagrange(True, 0)),
    "nonholonomic with f'": ("multipliers", 3, lambda: by_lagrange(False, DF)),
    "bars": ("maggi", 3, driven_bars),
    "plate": ("poincare", 3, lambda: on_a_plate(m, F)),
    "varying mass": ("given", 2, lambda: on_a_plate(m * (2 + F), DF, F)),
    "rolling substituted": ("given", 3, lambda: mechanics_models.rolling_disk(plate=DF)),
}


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    "name", [n for n in MODELS if n != "bars"] + [pytest.param("bars", marks=pytest.mark.slow)]
)
def test_accelerations_are_those_of_sympy(name: str) -> None:
    """With numbers for f, f' and f''; only f is an input of its own."""
    form, count, make = MODELS[name]
    found = cg.from_sympy(make(), "moved")
    equations = found.equations() if isinstance(found, cg.System) else found
    assert equations.form == form
    inputs = [u.name for u in equations.system.inputs]
    assert inputs == ["f", "f_dot", "f_ddot"][:count]
    assert cg.rate(equations.system.inputs[0]) == equations.system.inputs[1]
    assert difference(python_model(equations.program, quiet=True), Oracle(formed(make()))) < 1e-10


def drone(turning: Callable[..., Any]) -> Any:
    """A body with a quaternion, whose mass centre is off a point that moves along axes of space."""
    q, x, w, u = (
        me.dynamicsymbols("e0:4"),
        me.dynamicsymbols("x"),
        me.dynamicsymbols("w1:4"),
        me.dynamicsymbols("u"),
    )
    own, place = SPACE.orientnew("B", "Quaternion", q), me.Point("O")
    own.set_ang_vel(SPACE, turning(own, *w))
    place.set_vel(SPACE, (u + DF) * SPACE.x)
    centre = place.locatenew("C", ell * own.z)
    centre.v2pt_theory(place, SPACE, own)
    kinematics = [*me.kinematic_equations(w, q, "quaternion"), x.diff(t) - u]
    body = me.RigidBody("b", centre, own, m, (me.inertia(own, J, 2 * J, 2 * J), centre))
    loads = [(centre, -m * g * SPACE.z)]
    return me.KanesMethod(SPACE, [*q, x], [*w, u], kd_eqs=kinematics, bodies=[body], forcelist=loads)


class Unit(Oracle):
    """With a quaternion of unit length first among the coordinates."""

    def numbers(self, *given: Any) -> tuple[Any, ...]:
        q, *rest = super().numbers(*given)
        return (np.array([*q[:4] / np.linalg.norm(q[:4]), *q[4:]]), *rest)


def whole(own: Any, a: Any, b: Any, c: Any) -> Any:
    return a * own.x + b * own.y + c * own.z


def test_rotations_are_examined_at_quaternions_of_unit_length() -> None:
    assert isinstance(cg.from_sympy(drone(whole), "drone"), cg.System)
    with pytest.raises(cg.DeclarationError, match="angular velocity of B in N was set to another vector"):
        cg.from_sympy(drone(lambda own, a, b, c: a * own.x + b * own.y), "drone")


@pytest.mark.slow
def test_a_drone_has_the_accelerations_of_sympy() -> None:
    system = cg.from_sympy(drone(whole), "drone")
    assert isinstance(system, cg.System)
    model = python_model(system.equations().program, quiet=True)
    assert difference(model, Unit(formed(drone(whole)))) < 1e-10


RUNS: dict[str, tuple[Callable[[], Any], dict[str, float]]] = {
    "pivot": (lambda: moved_pivot(0, 1, 2, 3), {"a": 0.4, "w": 0.3}),
    "steered": (lambda: steered(front_wheel, 0, 1), {"x": 0, "y": 0, "a": 0.3, "u": 1.0}),
    "rolling substituted": (
        lambda: mechanics_models.rolling_disk(plate=DF),
        {"q1": 0.1, "q2": 0.2, "q3": 0, "u1": 0.1, "u2": 3.0, "u3": 0.2},
    ),
}


@needs_core
@pytest.mark.sample(1)
@pytest.mark.parametrize("name", RUNS)
def test_runs_are_given_f_alone(name: str) -> None:
    """SymPy's equations by SciPy, with sin t and its derivatives in the place of f."""
    make, start = RUNS[name]
    method = formed(make())
    solved = method.rhs().subs(F, sp.sin(t)).doit()
    constants = sorted(solved.free_symbols - {t}, key=str)
    numbers = {str(s): 0.5 + 0.3 * i for i, s in enumerate(constants)}
    states = [*method.q, *method.u]
    theirs = sp.lambdify([t, states, constants], list(solved), cse=True)
    y0 = [start.get(s.func.__name__, 0.0) for s in states]
    values = list(numbers.values())
    expected = solve_ivp(lambda time, y: theirs(time, y, values), (0, 2), y0, rtol=1e-11, atol=1e-12).y[:, -1]
    model = cg.from_sympy(make(), "moved").compile()
    sol = model.integrate((0, 2), start, numbers, {"f": np.sin}, rtol=1e-11, atol=1e-12)
    found = [sol[s.func.__name__][-1] for s in states if s.func.__name__ in model.states]
    compared = [e for s, e in zip(states, expected, strict=True) if s.func.__name__ in model.states]
    np.testing.assert_allclose(found, compared, rtol=0, atol=1e-8)


def test_a_rate_comes_from_its_input() -> None:
    """Where f' occurs and f does not, as at the moved pivot, f is given all the same."""
    x, v = me.dynamicsymbols("x v")
    system = cg.from_sympy(spring(DF), "pushed", example={F: 0.5})
    f, f_dot = system.inputs
    assert (f.name, f_dot) == ("f", cg.rate(f))
    again = cg.from_sympy(system.equations().to_sympy_system(), "again")
    assert again.system.inputs == system.inputs  # the SymbolicSystem has the derivative of f
    with pytest.raises(cg.DeclarationError, match="the name 'f_dot' is used twice"):
        cg.from_sympy(spring(DF + me.dynamicsymbols("f_dot")), "pushed")
    lagrange = me.LagrangesMethod(x.diff(t) ** 2 + v.diff(t) ** 2, [x, v], hol_coneqs=[x - DF])
    with pytest.raises(cg.DeclarationError, match=r"third derivative of the input.*as an expression in t"):
        cg.from_sympy(lagrange, "jerked")
