"""`from_sympy`: accelerations equal those of SymPy's own equations, which from_sympy never forms.

What is refused is refused with the reason.
"""

from __future__ import annotations

from typing import Any

import mechanics_models as given
import numpy as np
import pytest
import sympy as sp
import sympy.physics.mechanics as me
from mechanics_models import spring
from sympy.core.function import AppliedUndef
from sympy_oracle import Oracle, difference, formed

import chaplygin as cg
from chaplygin.codegen.importers.sources import source
from chaplygin.codegen.importers.stated_rates import check_stated_rates

QUICK = ("closed_pendulum", "rolling_disk")


def agreement(name: str) -> float:
    """The largest difference from SymPy's accelerations at 20 states, relative to their size."""
    numbers = given.BICYCLE if name == "bicycle" else None
    model = cg.from_sympy(given.MODELS[name](), name, parameters=numbers).compile()
    return difference(model, Oracle(formed(given.MODELS[name]())), constants=numbers)


@pytest.mark.parametrize("name", QUICK)
def test_accelerations_are_those_of_sympy(name: str) -> None:
    assert agreement(name) < 1e-10


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in given.MODELS if n not in QUICK])
def test_accelerations_of_larger_models_are_those_of_sympy(name: str) -> None:
    assert agreement(name) < 1e-10


@pytest.mark.slow
def test_bicycle_linearized_about_rolling_straight() -> None:
    """The matrices of Meijaard, Papadopoulos, Ruina and Schwab (2007), as equations for lean and steer."""
    upright = dict.fromkeys(("yaw", "roll", "pitch", "steer"), 0.0)
    equations = cg.from_sympy(given.bicycle(), "bicycle", parameters=given.BICYCLE, example=upright)
    model = equations.compile()
    rows = [model.states.index(name) for name in ("roll", "steer", "u2", "u5")]
    for v in (0.0, 1.0, 5.0):
        state = dict.fromkeys(model.states, 0.0) | {"u3": v / 0.3}
        found = model.jacobian(
            0, [state[n] for n in model.states], [given.BICYCLE[n] for n in model.parameters]
        )
        damping = [
            [-0.105522449805691 * v, -0.330515398992311 * v],
            [3.67680523332152 * v, -3.08486552743311 * v],
        ]
        stiffness = [
            [9.48977444677355, -0.891197738059089 * v**2 - 0.571523173729245],
            [11.7194768719633, -1.97171508499972 * v**2 + 30.9087533932407],
        ]
        published = np.block([[np.zeros((2, 2)), np.eye(2)], [np.array(stiffness), np.array(damping)]])
        np.testing.assert_allclose(found[np.ix_(rows, rows)], published, rtol=0, atol=1e-10)


def test_sympy_forms_no_equations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither Kane's nor Lagrange's equations are formed, and nothing is expanded or simplified."""

    def refused(*args: Any, **options: Any) -> Any:
        raise AssertionError("called")

    for owner, method in (
        (me.KanesMethod, "kanes_equations"),
        (me.LagrangesMethod, "form_lagranges_equations"),
        (me.System, "form_eoms"),
    ):
        monkeypatch.setattr(owner, method, refused)
    models = [given.MODELS[n]() for n in ("rolling_disk", "lagrange_skate", "chaos_pendulum")]
    monkeypatch.setattr(sp.Expr, "expand", refused)
    monkeypatch.setattr(sp, "simplify", refused)
    taken = [cg.from_sympy(model, "taken") for model in models]
    assert [type(found) for found in taken] == [cg.Equations, cg.System, cg.System]


def test_stated_rates_are_compared_without_derivatives_of_sympy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bicycle's rows differentiated by SymPy took 40 times as long as all the rest."""
    model = source(given.MODELS["bicycle"](), {})

    def refused(e: Any, *args: Any, **options: Any) -> Any:
        if not isinstance(e, AppliedUndef):
            raise AssertionError(f"SymPy differentiates {e}")
        return sp.Derivative(e, *args)

    for body in model.bodies:  # SymPy's own rates, which it keeps
        body.masscenter.vel(model.frame)
    monkeypatch.setattr(sp.Expr, "diff", refused)
    with pytest.raises(AssertionError, match="SymPy differentiates"):
        (sp.Symbol("x") ** 2).diff("x")
    check_stated_rates(model)


def test_substituted_rolling_is_noticed() -> None:
    """T of a disk with the velocity of its contact substituted does not give the equations: Kane's are formed."""
    substituted = cg.from_sympy(given.rolling_disk(), "substituted")
    free = cg.from_sympy(given.constrained_disk(), "constrained")
    assert isinstance(substituted, cg.Equations)
    assert substituted.form == "given"
    assert isinstance(free, cg.System)
    assert free.equations().form == "maggi"
    with pytest.raises(cg.FormError, match="given, by a law"):
        substituted.system.equations("poincare")


def test_independent_speeds_are_those_of_the_model() -> None:
    """A `System` keeps the speeds that SymPy's model calls independent, as `Equations` do."""
    disk = cg.from_sympy(given.constrained_disk(), "constrained")
    assert isinstance(disk, cg.System)
    assert disk.equations().states[-3:] == ("u1", "u2", "u3")
    assert disk.equations("maggi", independent=["u1", "u2", "u4"]).states[-3:] == ("u1", "u2", "u4")
    linkage = cg.from_sympy(given.four_bar(), "linkage")
    assert isinstance(linkage, cg.System)
    assert linkage.equations().states[-1] == "u1"


def test_names_and_kinds() -> None:
    system = cg.from_sympy(given.satellite(), "satellite")
    assert isinstance(system, cg.System)
    assert [x.name for x in system.coordinates] == ["phi", "theta", "psi", "x", "y", "z"]
    assert {v.name for v in system.velocities} == {"p", "q_", "r_", "a", "b", "c"}
    assert {u.name for u in system.inputs} == {"thrust", "torque"}
    assert {p.name for p in system.parameters} == {"m", "I1", "I2", "I3", "I12"}


def test_other_names() -> None:
    """A Greek letter and a keyword, and two parameters that SymPy tells apart by their assumptions alone."""
    angle, v = me.dynamicsymbols("θ v")
    stiff, soft = sp.Symbol("lambda", positive=True), sp.Symbol("lambda")
    space, point = me.ReferenceFrame("N"), me.Point("P")
    point.set_vel(space, v * space.x)
    kane = me.KanesMethod(
        space, [angle], [v], kd_eqs=[angle.diff() - v], bodies=[me.Particle("b", point, 2)],
        forcelist=[(point, -(stiff + 3 * soft) * angle * space.x)],
    )  # fmt: skip
    names = {"θ": "theta", stiff: "k", soft: "l"}
    with pytest.raises(cg.DeclarationError, match=r"coordinate 'θ'.*from_sympy\(..., names=\{'θ': ...\}\)"):
        cg.from_sympy(kane, "named")
    model = cg.from_sympy(kane, "named", names=names, parameters={stiff: 4, "l": 1}).compile()
    assert (model.states, model.parameters) == (("theta", "v"), ("k", "l"))
    np.testing.assert_allclose(model.rhs(0, [0.5, 0], {"k": 4, "l": 1}), [0, -1.75], rtol=1e-15)


def test_functions_by_their_meaning() -> None:
    """x'' = F(x) / m for functions that C lacks, with SymPy's own values."""
    x, t = me.dynamicsymbols("x"), me.dynamicsymbols._t
    force = sp.sec(x) + sp.coth(x) * sp.acot(x) - sp.Heaviside(x - sp.Rational(1, 4)) / sp.csch(x)
    lagrange = me.LagrangesMethod(x.diff(t) ** 2 - 2 * sp.csc(x) * sp.cot(x), [x])
    for given_in, f in ((given.spring(force), force), (lagrange, sp.diff(-sp.csc(x) * sp.cot(x), x))):
        model = cg.from_sympy(given_in, "meant").compile()
        for at in (0.2, 0.25, 0.7):
            expected = float(f.subs(x, sp.Rational(str(at))))
            found = model.rhs(0, [at, 0.0], {"m": 1} if model.parameters else ())
            assert found[1] == pytest.approx(expected, rel=1e-13)


def quaternion_rates(u: Any, q: Any) -> list[Any]:
    """2 q' = q o (0, u), as four equations that are linear in q' and not solved: w = u, and |q|^2 is constant."""
    a, b, c, d = q
    da, db, dc, dd = (x.diff() for x in q)
    turning = (
        a * db - b * da + d * dc - c * dd,
        a * dc - c * da + b * dd - d * db,
        a * dd - d * da + c * db - b * dc,
    )
    norm = a * da + b * db + c * dc + d * dd
    return [2 * w - v for w, v in zip(turning, u, strict=True)] + [norm]


def test_a_quaternion_turns_through_every_attitude() -> None:
    """By elimination q' has q_0 in a denominator, which is zero after half a turn about any axis."""
    q, u = me.dynamicsymbols("q0:4"), me.dynamicsymbols("u1:4")
    space, body = me.ReferenceFrame("N"), me.ReferenceFrame("B")
    body.orient_quaternion(space, q)
    body.set_ang_vel(space, sum((v * e for v, e in zip(u, body, strict=True)), me.Vector(0)))
    centre = me.Point("C")
    centre.set_vel(space, 0)
    tensor = me.inertia(body, *sp.symbols("A B C"))
    kane = me.KanesMethod(
        space, q[1:], u, kd_eqs=quaternion_rates(u, q), q_dependent=q[:1],
        configuration_constraints=[sum(x**2 for x in q) - 1],
        bodies=[me.RigidBody("top", centre, body, sp.Symbol("m"), (tensor, centre))], forcelist=[],
    )  # fmt: skip
    equations = cg.from_sympy(kane, "turned")
    assert isinstance(equations, cg.Equations)
    assert len(equations.invariants) == 1
    model = equations.compile()
    numbers = {"A": 1.0, "B": 2.0, "C": 3.0, "m": 1.0}
    at = [("q0", "q1", "q2", "q3").index(n) if n[0] == "q" else n for n in model.states]
    for attitude in np.eye(4):
        state = [attitude[n] if isinstance(n, int) else 0.2 * float(n[1]) for n in at]
        w = np.array([0.2, 0.4, 0.6])
        a, v = attitude[0], attitude[1:]
        expected = np.concatenate([[-v @ w], a * w + np.cross(v, w)]) / 2
        rates = dict(
            zip(model.states, model.rhs(0, state, [numbers[p] for p in model.parameters]), strict=True)
        )
        np.testing.assert_allclose([rates[f"q{i}"] for i in range(4)], expected, rtol=0, atol=1e-16)


PIVOT = {"a": 0.4, "w": 0.3}


def pendulum_acceleration(f_ddot: float) -> float:
    """a'' = -(g sin a + f'' cos a) / l for m = 2, l = 3, g = 10."""
    return -(10 * np.sin(0.4) + f_ddot * np.cos(0.4)) / 3


def test_derivatives_of_an_input_are_inputs() -> None:
    model = cg.from_sympy(given.drawn_pendulum(), "drawn").compile()
    assert model.inputs == ("f", "f_dot", "f_ddot")
    rates = model.rhs(0, PIVOT, {"m": 2, "l": 3, "g": 10}, {"f": 0.2, "f_dot": 0.7, "f_ddot": 1.3})
    assert rates[1] == pytest.approx(pendulum_acceleration(1.3), rel=1e-14)


def test_a_prescribed_motion_is_a_function_of_time() -> None:
    f, t = me.dynamicsymbols("f"), me.dynamicsymbols._t
    system = cg.from_sympy(given.drawn_pendulum(), "drawn", prescribed={f: sp.sin(2 * t)})
    assert isinstance(system, cg.System)
    assert not system.inputs
    rates = system.compile().rhs(0.6, PIVOT, {"m": 2, "l": 3, "g": 10})
    assert rates[1] == pytest.approx(pendulum_acceleration(-4 * np.sin(1.2)), rel=1e-14)


def test_kanes_own_matrices() -> None:
    """M is square but not symmetric: [projected M; constraint rows], with all speeds as states."""
    kane = given.closed_pendulum()
    kane.kanes_equations(kane._bodylist, kane._forcelist)
    assert kane.mass_matrix != kane.mass_matrix.T
    rates = {x: kane.kindiffdict()[x.diff()] for x in kane.q}
    equations = cg.from_sympy((kane.mass_matrix, kane.forcing, rates), "matrices")
    assert isinstance(equations, cg.Equations)
    assert equations.velocities[1].name == "v"
    assert equations.mass_matrix.shape == (2, 2)
    assert equations.mass_matrix != equations.mass_matrix.T
    assert difference(equations.compile(), Oracle(formed(given.closed_pendulum()))) < 1e-12


def test_rows_are_exchanged_where_a_pivot_vanishes() -> None:
    """M = [[0, 1], [2, 0]] at a = 0, where elimination without an exchange would divide by zero."""
    a, b, u, v = me.dynamicsymbols("a b u v")
    mass, force = sp.Matrix([[sp.sin(a), 1], [2, 0]]), sp.Matrix([3 * v, 4])
    model = cg.from_sympy((mass, force, {a: u, b: v}), "exchange").compile()
    np.testing.assert_allclose(model.rhs(0, [0, 0, 1, 1], ()), [1, 1, 2, 3], rtol=1e-15)
    np.testing.assert_allclose(model.rhs(0, [1, 0, 1, 1], ()), [1, 1, 2, 3 - 2 * np.sin(1)], rtol=1e-15)
    jacobian = model.jacobian(0, [0, 0, 1, 1], ())
    np.testing.assert_allclose(jacobian[3], [-2, 0, 0, 3], rtol=1e-15)  # v' = 3 v - 2 sin a


def test_lagranges_rectangular_matrix() -> None:
    """[M | -A^T] is taken apart; SymPy's own accelerations are those of the whole system with multipliers."""
    lagrange = given.lagrange_skate()
    lagrange.form_lagranges_equations()
    assert lagrange.mass_matrix.shape == (3, 4)
    rates = {x: x.diff() for x in lagrange.q}
    equations = cg.from_sympy((lagrange.mass_matrix, lagrange.forcing, rates), "rectangular")
    assert difference(equations.compile(), Oracle(formed(given.lagrange_skate()))) < 1e-12


def test_there_and_back() -> None:
    """`to_sympy_system` gives what `from_sympy` takes, with SymPy's own solution in between."""
    equations = cg.example("chaplygin_sleigh").system.equations("maggi")
    back = equations.to_sympy_system()
    assert [str(s) for s in back.states] == ["phi(t)", "x(t)", "y(t)", "omega(t)", "v(t)"]
    again = cg.from_sympy(back, "again")
    assert isinstance(again, cg.Equations)
    assert (again.mass_matrix, again.forcing) == (equations.mass_matrix, equations.forcing)
    with pytest.raises(cg.FormError, match="not the time"):
        cg.example("chaplygin_sleigh").system.equations("whittaker").to_sympy_system()


def test_the_plane_pendulum_takes_any_form() -> None:
    """A System of a KanesMethod is open to every form that its declaration allows."""
    system = cg.from_sympy(given.odd_speeds(), "odd")
    assert isinstance(system, cg.System)
    for form in ("poincare", "chetaev", "hamel"):
        assert system.equations(form).form == form


def rocket(mass: Any) -> Any:
    """A particle of varying mass on a spring: d(m v)/dt = -k x, as SymPy's Kane has it."""
    x, v, k = *me.dynamicsymbols("x v"), sp.Symbol("k")
    space, point = me.ReferenceFrame("N"), me.Point("P")
    point.set_vel(space, v * space.x)
    body, load = me.Particle("rocket", point, mass), (point, -k * x * space.x)
    return me.KanesMethod(space, [x], [v], kd_eqs=[x.diff() - v], bodies=[body], forcelist=[load])


@pytest.mark.parametrize(
    "mass", [2 + sp.sin(me.dynamicsymbols("x")), 2 + sp.sin(me.dynamicsymbols._t)], ids=["place", "time"]
)
def test_a_varying_mass_is_newtons_not_lagranges(mass: Any) -> None:
    """Lagrange's equations of T = m(x) v^2/2 would lack half of m'(x) v^2."""
    taken = cg.from_sympy(rocket(mass), "rocket")
    assert isinstance(taken, cg.Equations)
    assert difference(taken.compile(), Oracle(formed(rocket(mass)))) < 1e-14


def swinging_plate(turning: bool) -> Any:
    """A plate on a hinge, its inertia given in its own axes or, unsymmetric as it is, in those of the room."""
    a, w, ix, iy, iz, ixy = *me.dynamicsymbols("a w"), *sp.symbols("I1 I2 I3 I12")
    space, fixed = me.ReferenceFrame("N"), me.Point("O")
    plate = space.orientnew("A", "Axis", [a, space.x + space.y])
    plate.set_ang_vel(space, w * (space.x + space.y).normalize())
    fixed.set_vel(space, 0)
    tensor = me.inertia(plate if turning else space, ix, iy, iz, ixy)
    body = me.RigidBody("plate", fixed, plate, sp.Symbol("m"), (tensor, fixed))
    return me.KanesMethod(space, [a], [w], kd_eqs=[a.diff() - w], bodies=[body], forcelist=[])


def test_an_inertia_that_does_not_turn_with_its_body_is_eulers() -> None:
    assert isinstance(cg.from_sympy(swinging_plate(True), "plate"), cg.System)
    fixed = cg.from_sympy(swinging_plate(False), "plate")
    assert isinstance(fixed, cg.Equations)
    assert difference(fixed.compile(), Oracle(formed(swinging_plate(False)))) < 1e-14


def test_bodies_of_one_name_are_told_apart() -> None:
    """Two particles named alike with velocities that T does not take, since a rate has no coordinate."""
    x, v, w, k = *me.dynamicsymbols("x v w"), sp.Symbol("k")
    m, n = sp.symbols("m n")
    space = me.ReferenceFrame("N")
    points = me.Point("P"), me.Point("P")
    points[0].set_vel(space, v * space.x)
    points[1].set_vel(space, w * space.x)
    bodies = [me.Particle("bob", p, mass) for p, mass in zip(points, (m, n), strict=True)]
    loads = [(points[0], -k * x * space.x), (points[1], 3 * k * x * space.x)]
    kane = me.KanesMethod(space, [x], [v, w], kd_eqs=[x.diff() - v], bodies=bodies, forcelist=loads)
    model = cg.from_sympy(kane, "twins").compile()
    rates = model.rhs(0, {"x": 0.5, "v": 0, "w": 0}, {"m": 2, "n": 4, "k": 1})
    np.testing.assert_allclose(rates[1:], [-0.25, 0.375], rtol=1e-15)


def test_acceleration_of_a_wheel_as_if_its_contact_were_fixed_in_it() -> None:
    """The contact is no fixed point of the disk: `a2pt_theory` gives a centre that accelerates downwards."""
    kane = given.rolling_disk()
    space, centre = kane._inertial, kane.bodies[0].masscenter
    centre.set_acc(space, centre.vel(space).dt(space))
    assert isinstance(cg.from_sympy(kane, "stated"), cg.Equations)
    (contact,) = centre._pos_dict
    centre.a2pt_theory(contact, space, kane.bodies[0].frame)
    with pytest.raises(
        cg.DeclarationError, match="acceleration of D in N was set to another vector than the rate"
    ):
        cg.from_sympy(kane, "stated")


def test_given_equations_are_kept_on_their_configuration_constraints() -> None:
    """A pendulum in x and y, with the constraint substituted into the particle's velocity, as textbooks do for wheels.

    T is then not that of the free particle, so Kane's equations are formed; without T the shortest move leads back.
    """
    x, y, u, v = me.dynamicsymbols("x y u v")
    m, length, gravity = sp.symbols("m l g", positive=True)
    frame, origin = me.ReferenceFrame("N"), me.Point("O")
    origin.set_vel(frame, 0)
    mass = origin.locatenew("P", x * frame.x + y * frame.y)
    mass.set_vel(frame, u * frame.x - x / y * u * frame.y)
    kane = me.KanesMethod(
        frame, q_ind=[x], q_dependent=[y], u_ind=[u], u_dependent=[v], kd_eqs=[x.diff() - u, y.diff() - v],
        configuration_constraints=[x**2 + y**2 - length**2], velocity_constraints=[x * u + y * v],
        bodies=[me.Particle("bob", mass, m)], forcelist=[(mass, -m * gravity * frame.y)],
    )  # fmt: skip
    point = {"x": 0.6, "y": -0.8, "u": 0.5, "v": 0.375, "m": 1.2, "l": 1.0, "g": 9.81}
    found = cg.from_sympy(kane, "bob_on_a_rod", example=point)
    assert isinstance(found, cg.Equations)
    model = found.compile()
    numbers = {name: point[name] for name in ("m", "l", "g")}
    start = {"x": 0.6, "y": -0.8, "u": 0.0}
    sol = model.integrate((0, 20), start, numbers, rtol=1e-6, atol=1e-6)
    left = model.integrate((0, 20), start, numbers, rtol=1e-6, atol=1e-6, project=None)
    assert sol.success
    assert np.abs(sol["x"] ** 2 + sol["y"] ** 2 - 1).max() < 1e-9
    assert np.abs(left["x"] ** 2 + left["y"] ** 2 - 1).max() > 1e-8
    energy = (sol["u"] ** 2 + sol["v"] ** 2) / 2 + 9.81 * sol["y"]
    assert np.ptp(energy) < 1e-3
    near = model.consistent({"x": 1.2, "y": -1.6, "u": 0.5, "v": 0.0}, numbers)
    assert (near["x"], near["y"]) == pytest.approx((0.6, -0.8), rel=1e-12)
    assert near["x"] * near["u"] + near["y"] * near["v"] == pytest.approx(0, abs=1e-15)


def loaded(load: Any) -> Any:
    """The spring with a load made from its point and frame."""
    kane = spring(0)
    kane._forcelist = [load(kane.bodies[0].masscenter, kane._inertial)]
    return kane


X, V, F = me.dynamicsymbols("x v f")
K = sp.Symbol("k")


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (spring(0, bodies=False), {}, "the KanesMethod has no bodies; give it bodies="),
        (
            spring(sp.Function("h")(X)),
            {},
            r"load on P contains h\(x\(t\)\), a function without an expression",
        ),
        (
            spring(sp.besselj(0, X)),
            {},
            r"law\['load on P'\]\[0\].*besselj.*not supported; .* sec, .*Heaviside",
        ),
        (spring(X), {"parameters": [1]}, "from_sympy: parameters is list; give a dict"),
        (spring(K * X), {"names": {"k": "m"}}, "k and m would both be called 'm'"),
        (spring(X.diff().diff()), {}, "load on P contains .*an acceleration"),
        (spring(F.diff().diff().diff()), {}, "prescribed={f: an expression in t}"),
        (
            spring(me.dynamicsymbols("T") * sp.Function("T")(sp.Symbol("t", real=True)).diff()),
            {},
            r"contains Derivative\(T\(t\), t\).*or prescribed=\{T: an expression in t\}",
        ),
        (spring(F), {"prescribed": {X: 0}}, "x.* is not a dynamicsymbol besides"),
        (spring(F), {"prescribed": {F: X}}, "is not an expression in t"),
        (spring(X), {"prescribed": {F: 1}}, r"prescribed: f\(t\) is not in the model"),
        (spring(X), {"names": {"k": "stiffness"}}, "names: k is not in the model"),
        (loaded(lambda p, n: (me.Particle("z", p, 1), n.x)), {}, r"the load \(Particle.* is not a Force"),
        (
            loaded(lambda p, n: (p, X)),
            {},
            r"the load \(P, x\(t\)\) is not a Force, a Torque, \(Point, Vector\)",
        ),
        (loaded(lambda p, n: "pull"), {}, "the load pull is not a Force"),
        (loaded(lambda p, n: (p, me.ReferenceFrame("Q").x)), {}, "orientation of Q in N, .* is not known"),
        (spring(sp.nan), {}, "a vector has the components nan in N"),
        (spring(sp.Symbol("t", real=True)), {}, "a symbol t that is not the time"),
        (spring(sp.MatrixSymbol("A", 2, 2)[0, 1]), {}, "contains A, which is MatrixSymbol"),
        (spring(sp.Sum(sp.Symbol("i") * X, (sp.Symbol("i"), 0, 3))), {}, "Sum in .* is not supported"),
        (spring(F), {"parameters": {"mass": 1}}, "mass is not in the model; it has f, m"),
        (3, {}, "the model is int; give a KanesMethod"),
        ((sp.eye(2), sp.Matrix([1]), {X: V}), {}, r"M has shape \(2, 2\) and f \(1, 1\) for 1 speeds"),
        ((sp.ones(1, 2), sp.Matrix([1]), {X: V}), {}, r"M has shape \(1, 2\).*columns of m < 1 multipliers"),
        ((sp.eye(1), sp.Matrix([1]), {X: 2 * V}), {}, "do not show the order of the speeds"),
        (
            me.LagrangesMethod(X.diff() ** 2, [X], nonhol_coneqs=[X.diff() - F, X.diff() + F]),
            {},
            "2 constraints leave none of the 1 velocities free",
        ),
        (me.System(), {}, "the System has no bodies"),
    ],
)
def test_refusals(model: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(cg.DeclarationError, match=message):
        cg.from_sympy(model, "refused", **options)


@pytest.mark.parametrize("t", [cg.time, me.dynamicsymbols._t])
@pytest.mark.parametrize("order", [0, 1])
def test_functions_of_time_in_a_system(t: Any, order: int) -> None:
    q, load = cg.coordinates("q"), sp.Function("T")(t).diff((t, order))
    message = r"forces\[q_dot\]: .*is a function of time.*inputs\('T'\).*prescribed=\{T: an expression in t\}"
    with pytest.raises(cg.DeclarationError, match=message):
        cg.System("s", coordinates=[q], kinetic=cg.rate(q) ** 2 / 2, forces={cg.rate(q): 2 * load})


def test_the_derivative_of_an_expression_is_carried_out() -> None:
    model = cg.from_sympy(spring(sp.Derivative(F**2, me.dynamicsymbols._t)), "carried")
    f, f_dot = model.inputs
    assert model.forces[model.velocities[0]] == 2 * f * f_dot


def test_a_spline_is_refused_by_the_reason_first() -> None:
    q = cg.coordinates("q")
    spline = sp.interpolating_spline(3, q, [1, 2, 4, 7, 8], [3, 6, 5, 7, 2])
    message = r"^System 's': potential: a Piecewise does not cover all other cases, .*end it with \(expression, True\)"
    with pytest.raises(cg.DeclarationError, match=message) as caught:
        cg.System("s", coordinates=[q], kinetic=cg.rate(q) ** 2 / 2, potential=spline)
    assert len(str(caught.value)) < 300


def test_singular_matrices() -> None:
    with pytest.raises(cg.FormError, match="M is singular, without inertia along v"):
        cg.from_sympy((sp.Matrix([[0]]), sp.Matrix([1]), {X: V}), "singular")
    b, w = me.dynamicsymbols("b w")
    with pytest.raises(cg.FormError, match="without inertia along v and w"):
        cg.from_sympy((sp.ones(2, 2), sp.Matrix([1, 2]), {X: V, b: w}), "singular")
