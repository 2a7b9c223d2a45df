"""`from_sympy`: inputs and rates in any order, prescribed motions in constraints, functions, conditions, events."""

from __future__ import annotations

from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
import sympy as sp
import sympy.physics.mechanics as me
from mpmath import mp
from refusals import refused
from runtime_models import needs_core
from sympy_oracle import Oracle, difference, formed

import chaplygin as cg
from chaplygin.api.python_model import python_model

t = me.dynamicsymbols._t
x, y, v, w, f = me.dynamicsymbols("x y v w f")
m = sp.Symbol("m", positive=True)
SPACE = me.ReferenceFrame("N")


def pushed(*forces: Any) -> me.KanesMethod:
    """A particle in a plane under forces (F_x, F_y), each of them a load of its own."""
    origin, place = me.Point("O"), me.Point("P")
    origin.set_vel(SPACE, 0)
    place.set_pos(origin, x * SPACE.x + y * SPACE.y)
    place.set_vel(SPACE, v * SPACE.x + w * SPACE.y)
    loads = [(place, a * SPACE.x + b * SPACE.y) for a, b in forces]
    return me.KanesMethod(
        SPACE,
        [x, y],
        [v, w],
        kd_eqs=[x.diff() - v, y.diff() - w],
        bodies=[me.Particle("p", place, m)],
        forcelist=loads,
    )


@pytest.mark.parametrize("order", [*permutations(range(3))], ids=str)
def test_an_input_and_its_rates_are_met_in_any_order(order: tuple[int, ...]) -> None:
    """m x'' = f + 3 f'', m y'' = 2 f'."""
    forces = [(f, 0), (0, 2 * f.diff(t)), (3 * f.diff(t, t), 0)]
    system = cg.from_sympy(pushed(*(forces[i] for i in order)), "pushed")
    values = {"f": 0.5, "f_dot": -0.75, "f_ddot": 0.25}
    inputs = [values[u.name] for u in system.inputs]
    rates = system.compile().rhs(0, [0, 0, 1, 2], [2], inputs)
    np.testing.assert_allclose(rates, [1, 2, (0.5 + 0.75) / 2, -0.75], rtol=1e-15)


def test_an_input_and_its_rate_are_met_in_kinematics_and_loads() -> None:
    """A particle on a plate that is moved by f: its own velocity v, and v + f' in space; SymPy's accelerations."""
    origin, place = me.Point("O"), me.Point("P")
    origin.set_vel(SPACE, 0)
    place.set_pos(origin, (x + f) * SPACE.x)
    place.set_vel(SPACE, (v + f.diff(t)) * SPACE.x)
    for load in (f, f.diff(t), f + f.diff(t)):
        kane = me.KanesMethod(
            SPACE,
            [x],
            [v],
            kd_eqs=[x.diff() - v],
            bodies=[me.Particle("p", place, m)],
            forcelist=[(place, -load * x * SPACE.x)],
        )
        model = cg.from_sympy(kane, "on_a_plate").compile()
        assert difference(model, Oracle(formed(kane))) < 1e-10


def turning(law: Any) -> me.KanesMethod:
    """A body whose velocity has a part in space axes and one in its own; w is determined by `law`."""
    q, u = me.dynamicsymbols("q u")
    inertia = sp.Symbol("J", positive=True)
    own = SPACE.orientnew("A", "Axis", [q, SPACE.z])
    own.set_ang_vel(SPACE, u * SPACE.z)
    origin = me.Point("O")
    origin.set_vel(SPACE, 0)
    place = origin.locatenew("P", x * SPACE.x + y * SPACE.y)
    place.set_vel(SPACE, v * SPACE.x + w * own.y)
    body = me.RigidBody("b", place, own, m, (me.inertia(own, 0, 0, inertia), place))
    return me.KanesMethod(
        SPACE,
        [q, x, y],
        [u, v],
        u_dependent=[w],
        kd_eqs=[q.diff() - u, x.diff() - (v - w * sp.sin(q)), y.diff() - w * sp.cos(q)],
        velocity_constraints=[w - law],
        bodies=[body],
        forcelist=[(own, -u * own.z)],
    )


@pytest.mark.parametrize("law", [lambda f: f * v, lambda f: f.diff(t) * v + f], ids=["f", "its rate"])
def test_prescribed_motions_in_velocity_constraints(law: Any) -> None:
    model = cg.from_sympy(turning(law(f)), "turning", prescribed={f: sp.sin(t)}).compile()
    assert difference(model, Oracle(formed(turning(law(sp.sin(t)).doit())))) < 1e-10


def test_a_zero_has_no_sign() -> None:
    """atan2(y, x) is pi at y = 0 and x < 0 in SymPy, whether y is ceiling(-1/2), a product or a remainder."""
    zeros = [sp.ceiling(x), x * y, sp.Mod(x, sp.Rational(1, 4)) * x, -sp.Abs(y), sp.sign(y) * x, y / x, -y]
    angle = sum(10**i * sp.atan2(zero, x) for i, zero in enumerate(zeros))
    equations = cg.from_sympy(pushed((angle, 0)), "pushed").equations()
    models = cg.compile(equations), python_model(equations.program, quiet=True)
    for at, y0, model in product((-0.5, -0.25), (0.0, -0.0), models):
        expected = float(angle.subs({x: sp.nsimplify(at), y: 0}).evalf(20))
        assert model.rhs(0, [at, y0, 0, 0], [1])[2] == pytest.approx(expected, rel=1e-14)


CONDITIONS = {
    "ITE": sp.ITE(x > 0, y > 0, y < 1),
    "Xor": sp.Xor(x > 0, y > 0),
    "Implies": sp.Implies(x > 0, y > 0),
    "Equivalent": sp.Equivalent(x > 0, y > 0, x + y < 2),
    "Nand": sp.Nand(x > 0, y > 0),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_conditions_mean_what_they_mean_in_sympy(name: str) -> None:
    force = sp.Piecewise((x, CONDITIONS[name]), (7, True))
    model = cg.from_sympy(pushed((force, 0)), "pushed").compile()
    for a in (-1.5, -0.5, 0.5, 1.5):
        for b in (-1.5, -0.5, 0.5, 1.5):
            expected = float(force.subs({x: a, y: b}))
            assert model.rhs(0, [a, b, 0, 0], [2])[2] == expected / 2


FUNCTIONS = {
    "floor": (sp.floor(x), (-2, -1.5, -1, -0.25, 0, 0.75, 1, 2, 2.5, 3)),
    "ceiling": (sp.ceiling(x), (-2, -1.5, -1, -0.25, 0, 0.75, 1, 2, 2.5, 3)),
    "frac": (sp.frac(x), (-1.5, -1, -0.25, 0, 0.75, 1, 2.5)),
    "Mod": (sp.Mod(x, sp.Rational(3, 2)), (-2, -1.5, -0.25, 0, 0.75, 1.5, 2.5, 3)),
    "Mod of a negative number": (sp.Mod(x, -2), (-3, -2, -0.25, 0, 0.75, 2.5)),
    "sinc": (sp.sinc(x), (-3, -0.5, -0.0625, 1e-9, 0, 1e-3, 0.125, 2)),
    "erf": (sp.erf(x), (-2, -0.25, 0, 0.75, 3)),
    "asinh": (sp.asinh(x), (-2, -1e-9, 0, 0.75)),
    "acosh": (sp.acosh(x), (1, 1.25, 7)),
    "atanh": (sp.atanh(x), (-0.75, 0, 1e-9, 0.5)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_and_their_derivatives_are_those_of_sympy(name: str) -> None:
    """The force and its slope. At the jumps of a function the slope is that beside them."""
    force, places = FUNCTIONS[name]
    model = cg.from_sympy(pushed((force, 0)), "pushed", example={x: places[-1]}).compile()
    a, jumps = sp.Symbol("a", real=True), ("floor", "ceiling")
    slope = (
        sp.Integer(0)
        if name in jumps
        else sp.Integer(1)
        if name[:3] in ("fra", "Mod")
        else force.subs(x, a).diff(a)
    )
    for at in places:
        exact = sp.nsimplify(at)
        expected = float(force.subs(x, exact).evalf(30))
        assert model.rhs(0, [at, 0, 0, 0], [1])[2] == pytest.approx(expected, rel=1e-15, abs=1e-16)
        if not (name == "acosh" and at == 1):
            expected = (
                float(sp.limit(slope, a, exact))
                if name == "sinc" and at == 0
                else float(slope.subs(a, exact).evalf(30))
            )
            assert model.jacobian(0, [at, 0, 0, 0], [1])[2, 0] == pytest.approx(
                expected, rel=1e-14, abs=1e-15
            )


def test_the_curvature_of_sinc_at_zero() -> None:
    """V = sinc(x) is a hill with V'' = -1/3."""
    q = cg.coordinates("q")
    hill = cg.System("hill", coordinates=[q], kinetic=cg.rate(q) ** 2 / 2, potential=sp.sinc(q)).compile()
    for at in (0.0, 1e-7, 0.09, 0.11):
        with mp.workdps(40):
            expected = -mp.diff(mp.sinc, at, 2)
        assert hill.jacobian(0, [at, 0], ())[1, 0] == pytest.approx(float(expected), rel=1e-12)


@needs_core
def test_sensitivities_see_the_jumps_of_a_staircase() -> None:
    """v' = floor(time/T): at t = 1 with T = 0.3, v = 0.3 (1 + 2) + 3 (1 - 0.9), so dv/dT = 1 + 2 - 9 = -6."""
    q, period = cg.coordinates("q"), cg.parameters("T", positive=True)
    rate = cg.rate(q)
    stairs = cg.System(
        "stairs", coordinates=[q], kinetic=rate**2 / 2, forces={rate: sp.floor(cg.time / period)}
    )
    sol = stairs.compile().integrate(
        (0, 1), {"q": 0, "q_dot": 0}, {"T": 0.3}, sensitivities=["T"], rtol=1e-10, atol=1e-12
    )
    assert sol["q_dot"][-1] == pytest.approx(0.3 * 3 + 3 * 0.1, abs=1e-9)
    assert sol.sensitivity["q_dot", "T"][-1] == pytest.approx(-6, abs=1e-8)


@needs_core
def test_outputs_and_events_in_the_names_of_the_model() -> None:
    """A particle falls by gravity 2 from y = 1 and bounces at t = 1; its speed there is 2."""
    bounce = cg.Event(y, direction=-1, reset={w: -w / 2}, name="floor")
    end = cg.Event(x - 3 + 0 * f, terminal=True)
    given = {"outputs": {"speed": sp.sqrt(v**2 + w**2), "height": y}, "events": [bounce, end]}
    system = cg.from_sympy(pushed((0, -2 * m)), "falling", **given)
    sol = system.compile().integrate((0, 5), {"x": 0, "y": 1, "v": 2, "w": 0}, {"m": 3}, rtol=1e-10)
    assert sol.t_events[0][0] == pytest.approx(1, abs=1e-9)
    assert sol.t[-1] == pytest.approx(1.5, abs=1e-9)  # x = 3
    assert sol["speed"][-1] == pytest.approx(2, abs=1e-8)  # w = 1 - 2 / 2
    assert sol["height"][-1] == pytest.approx(0.25, abs=1e-8)


def test_events_of_lagrangian_models_name_rates() -> None:
    q = me.dynamicsymbols("q")
    model = me.LagrangesMethod(m * q.diff(t) ** 2 / 2 - m * q, [q])
    system = cg.from_sympy(model, "ball", events=[cg.Event(q, direction=-1, reset={q.diff(t): -q.diff(t)})])
    (event,) = system.events
    x, x_dot = system.coordinates[0], system.velocities[0]
    assert (event.expr, dict(event.reset)) == (x, {x_dot: -x_dot})


def test_wrong_outputs_and_events_are_named() -> None:
    for given, words in (
        ({"outputs": {"h": sp.Function("h")(x)}}, r"outputs\['h'\] contains h\(x\(t\)\), a function without"),
        ({"events": [x]}, r"events\[0\] is x; give chaplygin.Event"),
        (
            {"events": [cg.Event(x, reset={f: 0}, name="hit")]},
            "reset: f is not the symbol of a coordinate or velocity",
        ),
    ):
        refused(words, cg.from_sympy, pushed((f, 0)), "pushed", error=cg.DeclarationError, **given)
    q = cg.coordinates("q")
    hit = cg.Event(q, reset={me.dynamicsymbols("q").diff(t): 0}, name="hit")
    with pytest.raises(cg.DeclarationError, match="is a function of time, as dynamicsymbols returns"):
        cg.System("plain", coordinates=[q], kinetic=cg.rate(q) ** 2 / 2, events=[hit])


def test_what_is_often_written_wrong_says_what_would_be_right() -> None:
    a, b = cg.coordinates("a b")
    plain = {"coordinates": [a, b], "kinetic": (cg.rate(a) ** 2 + cg.rate(b) ** 2) / 2}
    for given, words in (
        (
            {"kinetic": a.diff(cg.time) ** 2 + cg.rate(b) ** 2},
            r"the rate of a is rate\(a\); a.diff\(t\) is 0",
        ),
        (
            {"kinetic": sp.Derivative(a, cg.time) ** 2},
            r"Derivative\(a, t\) is a derivative of the symbol a: write rate\(a\)",
        ),
        (
            {"constraints": [sp.Eq(cg.rate(a), cg.rate(b))]},
            "is an equation; give its left-hand side minus its right",
        ),
        ({"holonomic": [sp.Eq(a, b)]}, r"holonomic\[0\] is an equation; give its left-hand side minus"),
        (
            {"constraints": [a - b]},
            r"contains no velocity; an equation for coordinates goes to holonomic=\[...\]",
        ),
    ):
        refused(words, cg.System, "wrong", error=cg.DeclarationError, **{**plain, **given})
