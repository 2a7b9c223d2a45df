"""Conclusions drawn from numerical tests hold on every branch, near and far: integrals, spans, ranks.

SymPy decides from equations written by hand whether a claimed integral is conserved: for a unit mass in the plane
dF/dt = F_x x' + F_y y' + F_x' (Q_x - V_x) + F_y' (Q_y - V_y), evaluated at witnesses: points that
each case names in the wells and on the branches that matter, and pairs of points on both sides of a border, where F is
the same.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
import sympy as sp
from mpmath import mp, mpf
from refusals import refused
from unit_masses import unit_masses

import chaplygin as cg
from chaplygin.codegen.derive.invariants import find
from chaplygin.codegen.graph import evaluate
from chaplygin.codegen.graph.from_sympy import Lowering
from chaplygin.codegen.graph.graph import Graph
from chaplygin.codegen.graph.to_sympy import expressions
from chaplygin.codegen.identities.branches import branch_at, branches
from chaplygin.codegen.identities.identities import vanish
from chaplygin.codegen.symbols.symbols import DeclarationError

pytestmark = pytest.mark.filterwarnings("error")  # every branch of the cases is reached
x, y, z = cg.coordinates("x y z")
xd, yd = cg.rate(x), cg.rate(y)
w1, w2, w3 = cg.velocities("w1 w2 w3")
mass = cg.parameters("mass")
half, far = sp.Rational(1, 2), 10**4
If = sp.Piecewise
NAMES = """
a b s zz well q7 Step far_away probe particle xyzzy M1 k_9 alpha one SYSTEM orbit2 heavy planar_mass the_last_of_twenty
""".split()


class Case(NamedTuple):
    """A unit mass in the plane: V, Q, where to look, and which integrals must be found."""

    potential: Any
    witnesses: Sequence[tuple[Any, Any]]
    found: str = ""
    borders: Sequence[tuple[Any, Any]] = ()
    forces: tuple[Any, Any] = (0, 0)


def distance(a: Any, b: Any) -> Any:
    return sp.sqrt((x - a) ** 2 + (y - b) ** 2)


E, PX, PY, TURN = "energy", "p_x_dot", "p_y_dot", "momentum_1"
near = sp.Rational(1, 10**15)

CASES = {
    # Narrow wells far from the example, conjunctions, a step.
    "gaussian": Case(sp.exp(-100 * ((x - 3) ** 2 + y**2)), [(3.05, 0.1), (3, 0.1)], f"{E} {TURN}"),
    "gaussian_far": Case(y * sp.exp(-((x - far) ** 2)), [(far, 1), (far + 1, 1)], E),
    "morse": Case((1 - sp.exp(-500 * (distance(3, 0) - 1))) ** 2, [(4.001, 0.1), (3, 1.001)], f"{E} {TURN}"),
    "yukawa": Case(sp.exp(-200 * distance(3, 1)) / distance(3, 1), [(3.01, 1.02), (3, 1.01)], f"{E} {TURN}"),
    "conjunction": Case(
        If(((x - 20) ** 2 * (y - 7) ** 2, (x > 20) & (y > 7)), (0, True)), [(21, 9), (22, 8)], E
    ),
    "step": Case(
        If((y, (x > half) & (x < sp.Rational(3, 5))), (0, True)),
        [(0.55, 1)],
        borders=[((half - near, 2), (half + near, 2))],
    ),
    # Narrow wells without exponentials, next to others, or inside them.
    "rational_well": Case(1 / (1 + 10**6 * ((x - 3) ** 2 + y**2)) ** 40, [(3.0001, 0.0002), (3, 0.0003)], E),
    "lorentz_far": Case(y / (1 + (x - far) ** 4) ** 9, [(far, 1), (far + 1, 1)], E),
    "well_of_well": Case(sp.exp(-sp.exp((x - 20) ** 2) * y**2), [(20, 1), (20.1, 0.5)], E),
    "two_wells": Case(
        sp.exp(-30 * ((x - 9) ** 2 + y**2)) + sp.exp(-30 * ((x + 9) ** 2 + y**2)),
        [(9.1, 0.1), (-9.1, 0.1)],
        E,
    ),
    "well_on_a_spring": Case((x**2 + y**2) / 2 + sp.exp(-200 * ((x - 5) ** 2 + y**2)), [(5.05, 0.05)], E),
    "kink_of_tanh": Case(y * (1 + sp.tanh(40 * (x - 60))), [(60, 1), (61, 1)], E),
    "logistic": Case(y**2 * sp.log(1 + sp.exp(30 * (x - 50))), [(50, 1), (51, 1)], E),
    "cosh_well": Case(y / sp.cosh(20 * (x - 12)) ** 2, [(12, 1), (12.01, 1)], E),
    "smooth_step_of_x": Case(sp.tanh(1000 * (x - 500)), [(500, 0), (500.001, 1)], f"{E} {PY}"),
    # Branches: products, nests, windows, discs, thresholds far away.
    "product_of_ramps": Case(sp.Max(0, x - 20) ** 2 * sp.Max(0, y - 7) ** 2, [(21, 8), (25, 9)], E),
    "walls": Case(sp.Max(0, x - 1) ** 2 + sp.Max(0, -1 - x) ** 2, [(2, 0), (-2, 0), (0, 0)], f"{E} {PY}"),
    "ring_wall": Case(sp.Max(0, distance(0, 0) - 2) ** 2, [(3, 1), (0.5, 0.5)], f"{E} {TURN}"),
    "ring_wall_off_centre": Case(sp.Max(0, distance(40, 0) - 2) ** 2, [(3, 1), (45, 0.5)], f"{E} {TURN}"),
    "disc": Case(
        If((y * (1 - 100 * ((x - 8) ** 2 + y**2)), (x - 8) ** 2 + y**2 < 0.01), (0, True)), [(8.01, 0.02)], E
    ),
    "annulus": Case(
        If((0, x**2 + y**2 < 1), (distance(0, 0) - 1, x**2 + y**2 < 4), (1, True)),
        [(0.1, 0.2), (1.2, 0.3), (3, 4)],
        f"{E} {TURN}",
    ),
    "window": Case(If((y, (x > 5) & (x < 5 + sp.Rational(1, 10**6))), (0, True)), [(5 + 5e-7, 1)]),
    "strip_of_three": Case(
        If((0, x < 10), ((x - 10) ** 2 * y, x < 11), (2 * (x - sp.Rational(21, 2)) * y, True)),
        [(10.5, 1), (12, 1)],
        E,
    ),
    "either": Case(If((0, (x < 90) | (y < 80)), ((x - 90) ** 2 * (y - 80) ** 2, True)), [(91, 82)], E),
    "not_both": Case(If((0, ~((x > 90) & (y > 80))), ((x - 90) ** 2 * (y - 80) ** 3, True)), [(91, 82)], E),
    "clipped": Case(sp.Min(1, sp.Max(-1, x - 70)) * y, [(70.5, 1), (72, 1)], E),
    "three_walls": Case(sp.Max(0, x, y), [(2, 1), (1, 2), (-1, -2), (-1, 2)], E),
    "four_walls": Case(sp.Max(0, x - 10, y - 20, x + y - 100), [(12, 1), (90, 80), (1, 30)], E),
    "corner_of_walls": Case(sp.Max(0, sp.Min(x - 20, y - 30)) ** 2, [(22, 40), (40, 32), (0, 0)], E),
    "far_abs": Case(y * sp.Abs(x - far) + (far - x) * y, [(far + 1, 1)], E),
    "sign_step": Case(sp.sign(x - 50), [(0, 0)], PY, [((50 - near, 0), (50 + near, 0))]),
    "condition_on_an_exponential": Case(
        y * sp.Max(0, sp.exp(-1000 * ((x - 7) ** 2 + (y - 8) ** 2)) - half), [(7.001, 8.002), (7, 8.003)], E
    ),
    "sine_window": Case(
        If((y * (sp.sin(x) - 0.999) ** 2, sp.sin(x) > 0.999), (0, True)), [(1.57, 1), (7.85, 1)], E
    ),
    "even_root": Case(y * (sp.sqrt(sp.expand((x - 1000) ** 2)) + x - 1000), [(1001, 1)], E),
    "even_root_of_a_form": Case(
        y * (sp.sqrt(sp.expand((x - 2 * y - 50) ** 2)) + x - 2 * y - 50), [(80, 1)], E
    ),
    "even_fourth_root": Case(y * (sp.root(sp.expand((x - 50) ** 4), 4) + x - 50), [(51, 1)], E),
    "even_sixth_root": Case(y * (sp.root(sp.expand((x - 50) ** 6), 6) + x - 50), [(51, 1)], E),
    "root_that_is_none": Case(sp.sqrt(1 + x**2) ** 3 * y, [(1, 2), (-3, 1)], E),
    "angle": Case(sp.atan2(y, x), [(1, 2)], "", [((-1, near), (-1, -near))]),
    "angle_seen_twice": Case(sp.sin(2 * sp.atan2(y, x)), [(1, 2), (-1, 3)], E),
    "jump_of_an_arctangent": Case(
        sp.atan(1 / (x - 100)), [(1, 2), (101, 3)], PY, [((100 - near, 0), (100 + near, 0))]
    ),
    # Forces.
    "drag_beyond": Case(0, [(301, 1)], f"{PX}", forces=(0, -yd * sp.Max(0, x - 300))),
    "gust": Case(
        0, [(1000.5, 1)], "", forces=(-y * sp.exp(-((x - 1000) ** 2)), x * sp.exp(-((x - 1000) ** 2)))
    ),
    "push_in_a_corner": Case(0, [(12, 13)], PY, forces=(sp.Max(0, x - 11) * sp.Max(0, y - 12), 0)),
    "magnetic_strip": Case(0, [(41, 1), (0, 0)], E, forces=(yd * sp.Max(0, x - 40), -xd * sp.Max(0, x - 40))),
}


def equations(one: Case, name: str, form: str = "lagrange") -> Any:
    forces = {v: q for v, q in zip((xd, yd), one.forces, strict=True) if q != 0}
    system = unit_masses(name, [x, y], potential=one.potential, forces=forces)
    return system.equations(form)


def slope(one: Case, integral: Any, at: dict[Any, Any]) -> tuple[Any, Any]:
    """dF/dt at a point, and the part of it due to the potential and the forces."""
    acting = [q - sp.diff(one.potential, c) for c, q in zip((x, y), one.forces, strict=True)]

    def number(e: Any) -> Any:
        return sp.sympify(e).xreplace(at).evalf(60)

    by_force = sum(number(sp.diff(integral, v)) * number(a) for v, a in zip((xd, yd), acting, strict=True))
    sizes = sum(abs(number(sp.diff(integral, v)) * number(a)) for v, a in zip((xd, yd), acting, strict=True))
    moving = sum(number(sp.diff(integral, c)) * number(v) for c, v in zip((x, y), (xd, yd), strict=True))
    return by_force + moving, sizes


def holds(one: Case, integral: Any) -> bool:
    """Whether a function of (x, y, x', y') is an integral, judging by the witnesses."""
    rates = {xd: sp.Rational(7, 10), yd: sp.Rational(-13, 10)}
    for point in one.witnesses:
        at = {
            c: sp.Rational(str(v)) if isinstance(v, float) else sp.sympify(v) for c, v in zip((x, y), point)
        }
        rate, size = slope(one, integral, at | rates)
        if abs(rate) > 1e-20 * (size + sp.Rational(1, 10**9)):
            return False
    for pair in one.borders:
        values = [integral.xreplace(dict(zip((x, y), p, strict=True)) | rates).evalf(40) for p in pair]
        if abs(values[0] - values[1]) > 1e-9:
            return False
    return True


def assert_true(one: Case, eqs: Any) -> None:
    found = find(eqs.nodes)
    for i in found:
        assert holds(one, expressions(eqs.nodes.graph, [i.node], eqs.nodes.symbols)[0]), i
    assert set(one.found.split()) <= {i.name for i in found}
    assert all(i.status in ("proved", "checked") for i in found)


@pytest.mark.parametrize("label", CASES)
@pytest.mark.sample(15)
def test_no_integral_is_claimed_that_is_none(label: str) -> None:
    assert_true(CASES[label], equations(CASES[label], NAMES[list(CASES).index(label) % len(NAMES)]))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("label", CASES)
def test_under_any_name(label: str, name: str) -> None:
    assert_true(CASES[label], equations(CASES[label], name))


@pytest.mark.slow
@pytest.mark.parametrize("form", ["poincare", "chetaev", "hamel", "nonholonomic"])
@pytest.mark.parametrize("label", ["gaussian", "conjunction", "step", "product_of_ramps", "angle"])
def test_in_other_forms(label: str, form: str) -> None:
    one = CASES[label]
    eqs = equations(one, "s", form)
    for i in find(eqs.nodes):
        node = expressions(eqs.nodes.graph, [i.node], eqs.nodes.symbols)[0]
        assert holds(one, node.subs(dict(zip(eqs.velocities, (xd, yd), strict=True))))
    assert {*one.found.split()} & {E} <= {i.name for i in find(eqs.nodes)}


def test_the_oracle_can_tell() -> None:
    """The angular momentum about the origin is not an integral for the well at (3, 0); that about (3, 0) is."""
    turned = x * yd - y * xd
    assert not holds(CASES["gaussian"], turned)
    assert holds(CASES["gaussian"], turned - 3 * yd)
    assert not holds(CASES["step"], (xd**2 + yd**2) / 2 + CASES["step"].potential)


@pytest.mark.parametrize("turns", [sp.atan2(sp.sin(x), sp.cos(x)) - x, sp.atan(sp.tan(x)) - x])
def test_the_steps_of_counted_turns_push(turns: Any) -> None:
    """V = y f(x), where f falls by 2 pi or pi at odd multiples of pi or pi/2, and is constant between."""
    assert not find(equations(Case(y * turns, []), "turns").nodes)


@pytest.mark.parametrize(
    ("potential", "found"),
    [
        (If((2 * y, mass > 1), (y**2, True)), {E: "proved", PX: "proved"}),
        (sp.Abs(mass) * y**2 + sp.sign(mass) * x, {E: "proved"}),
    ],
)
def test_a_parameter_stays_on_its_branch(potential: Any, found: dict[str, str]) -> None:
    """V jumps from one value of a parameter to another, and in no motion."""
    claims = find(equations(Case(potential, []), "choice").nodes)
    assert {i.name: i.status for i in claims} == found


def test_the_same_is_claimed_under_twenty_names() -> None:
    for label in ("gaussian_far", "conjunction", "step"):
        claims = {
            tuple((i.name, i.status) for i in find(equations(CASES[label], name).nodes)) for name in NAMES
        }
        assert len(claims) == 1, label


SPANS = {
    "ramp": sp.Max(0, x - 2),
    "ramp_far": sp.Max(0, x - 10**5),
    "ramp_on_the_other_side": sp.Max(0, -x - 700),
    "gaussian_far": sp.exp(-((x - far) ** 2)),
    "rational_well": 1 / (1 + 10**4 * ((x - 3) ** 2 + y**2)) ** 20,
    "corner": If((x, (x > 20) & (y > 7)), (0, True)),
    "ramps": sp.Max(0, x - 20) ** 2 * sp.Max(0, y - 7) ** 2,
    "disc": If((x, (x - 1000) ** 2 + (y - 33) ** 2 < sp.Rational(1, 100)), (0, True)),
    "window": If((x, (x > half) & (x < half + sp.Rational(1, 10**6))), (0, True)),
    "exponential_condition": If((x, sp.exp(-100 * ((x - 3) ** 2 + y**2)) > half), (0, True)),
    "narrow_waves": If((x, sp.sin(40 * x) * sp.cos(7 * y) > sp.Rational(999, 1000)), (0, True)),
    "by_sign": (1 + sp.sign(x - 60)) * (x - 60),
    "by_abs": sp.Abs(x - 60) + x - 60,
    "even_root": sp.sqrt(sp.expand((x - 1000) ** 2)) + x - 1000,
    "even_fourth_root": sp.root(sp.expand((x - 50) ** 4), 4) + x - 50,
    "even_sixth_root": sp.root(sp.expand((x - 50) ** 6), 6) + x - 50,
    "power_of_an_even_root": sp.Pow(sp.expand((x - 50) ** 4), sp.Rational(3, 4)) + (x - 50) ** 3,
    "neither": If((0, (x < 30) | (y < 40)), (x - 30, True)),
}
CLOSED = {
    "constant": sp.Integer(3),
    "of_a_root": sp.sqrt(1 + y**2) ** 3 * sp.sqrt(4 + y**2),
    "of_y": sp.Max(0, y - 2) ** 2,
    "of_y_in_arms": If((y**2, (y > 3) & (y < 4)), (sp.exp(-((y - 50) ** 2)), True)),
}


def carriage(name: str, f: Any, at: float = 0.1) -> cg.System:
    """dz = f(x, y) dy; closed, f depends on y alone."""
    return cg.System(
        name,
        kinematics={x: w1, y: w2, z: f * w2},
        kinetic=(w1**2 + w2**2 + (f * w2) ** 2) / 2,
        example={x: at, y: 0.3},
    )


@pytest.mark.parametrize("label", SPANS)
def test_a_bracket_that_leaves_the_span_anywhere_is_refused(label: str) -> None:
    """df/dx is nonzero on at least one branch; there [X_1, X_2] = f_x d/dz is not a combination of X_1, X_2."""
    assert sp.diff(SPANS[label], x) != 0
    with pytest.raises(DeclarationError, match="leaves the span"):
        carriage(NAMES[list(SPANS).index(label)], SPANS[label])


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_spans_under_any_name(name: str) -> None:
    for f in SPANS.values():
        for at in (0.1, -3.0, 1e3):
            refused("leaves the span", carriage, name, f, at, error=DeclarationError)
    for f in CLOSED.values():
        carriage(name, f)


@pytest.mark.parametrize("label", CLOSED)
def test_a_bracket_within_the_span_is_accepted(label: str) -> None:
    carriage("closed", CLOSED[label])


def test_a_branch_that_is_not_found_is_said() -> None:
    """sin(x) > 2 holds nowhere, but no search can prove it: the declaration is accepted with a warning."""
    never = If((x, sp.sin(x) > 2), (1, True))
    with pytest.warns(cg.errors.BranchWarning, match=r"kinematics\[z\].*sin\(x\) - 2 > 0.*points were tried"):
        carriage("never", never)
    system = unit_masses("never", [x, y], potential=never)
    with pytest.warns(cg.errors.BranchWarning, match=r"potential.*sin\(x\) - 2 > 0.*not reported") as said:
        assert {i.name for i in find(system.equations("lagrange").nodes)} == {PY}
    assert len(said) == 1


@pytest.mark.parametrize("sign", [1, -1])
def test_conditions_that_exclude_each_other_by_the_sign_of_a_parameter(sign: int) -> None:
    """A dead zone: x > play and x < -play together hold nowhere, and the energy is an integral."""
    play = cg.parameters("play", positive=sign > 0, negative=sign < 0)
    ends = ((x - sign * play) ** 2, x > sign * play), ((x + sign * play) ** 2, x < -sign * play)
    system = unit_masses("dead_zone", [x, y], potential=If(*ends, (0, True)))
    assert {i.name for i in find(system.equations("lagrange").nodes)} == {E, PY}


@pytest.mark.slow
def test_more_branches_than_are_tried_are_said() -> None:
    walls = sum(sp.Max(0, i * x + y - i * i) ** 2 for i in range(1, 13))
    system = unit_masses("walls", [x, y], potential=walls)
    with pytest.warns(cg.errors.BranchWarning, match="more than 64"):
        assert {i.name: i.status for i in find(system.equations("lagrange").nodes)} == {E: "proved"}


def plane(**given: Any) -> cg.System:
    return cg.System(
        "ranks", **{"kinematics": {x: w1, y: w2, z: w3}, "kinetic": (w1**2 + w2**2 + w3**2) / 2, **given}
    )


def test_ranks_hold_on_every_branch() -> None:
    """Fields, constraints, parameters and masses that lose rank beyond x = 25 (or in a corner) are refused."""
    beyond = sp.Max(0, 25 - x)
    corner = If((0, (x > 25) & (y > 31)), (1, True))
    theta = cg.velocities("theta1 theta2")
    for given, text in [
        ({"kinematics": {x: w1, y: w2, z: corner * w3}}, "linearly dependent"),
        ({"kinematics": {x: w1, y: w2, z: beyond * w3}}, "linearly dependent"),
        ({"constraints": [w1 - w2, w1 - w2 + corner * w3]}, "constraints are linearly dependent"),
        ({"constraints": [beyond * w3]}, "constraints are linearly dependent"),
        (
            {"parametrization": {w1: theta[0], w2: theta[0], w3: beyond * theta[1]}},
            "not independent",
        ),
        ({"kinetic": (w1**2 + w2**2 + corner * w3**2) / 2}, "mass matrix is singular"),
    ]:
        refused(f"where .*: .*{text}", plane, error=DeclarationError, **given)
    plane(constraints=[w1 - w2, If((w3, x > 25), (w3 - w1, True))])


def test_a_structure_function_far_away() -> None:
    """X_2 = (0, a(x)), a = 1 near and 1 + (x - 3)^2 beyond: c_12^2 = a'/a there, zero here, with w2 = y'/a."""
    a = 1 + sp.Max(0, x - 3) ** 2
    system = cg.System("far", kinematics={x: w1, y: a * w2}, kinetic=(w1**2 + a**2 * w2**2) / 2)
    c = system.structure_constants()[0][1][1]
    for point in (1, 5):
        assert abs((c - sp.diff(a, x) / a).subs(x, point)) < 1e-12
    # Free motion in the plane, in a moving basis: w2' = -a' w1 w2 / a.
    eqs = system.equations("poincare")
    values = {x: 5.0, y: 0.3, w1: 0.7, w2: 0.4}
    forcing, mass = eqs.forcing.subs(values), eqs.mass_matrix.subs(values)
    expected = -4.0 * 0.7 * 0.4 / 5.0  # a = 5, a' = 4 at x = 5
    assert abs(forcing[1] / mass[1, 1] - expected) < 1e-12
    assert abs(forcing[0]) < 1e-12


def test_rows_that_vanish_on_another_branch_are_not_solved_for() -> None:
    """The direction of w2 turns from y to z beyond x = 2: no two fixed rows give the structure functions everywhere."""
    f = (1 + x**2) ** 2
    away, here = If((1, x > 2), (0, True)), If((0, x > 2), (1, True))
    system = cg.System(
        "turned",
        kinematics={x: w1, y: here * f * w2, z: away * f * w2},
        kinetic=(w1**2 + f**2 * w2**2) / 2,
        example={x: 0.1},
    )
    eqs = system.equations("poincare")
    (force,) = expressions(eqs.nodes.graph, [eqs.nodes.force[1]], eqs.nodes.symbols)
    # p2 = f^2 w2 and f w2 is constant: f^2 w2' = -f f' w1 w2.
    for at in (sp.Rational(1, 2), sp.Integer(3)):
        values = {x: at, w1: sp.Rational(7, 10), w2: sp.Rational(2, 5)}
        expected = (-f * sp.diff(f, x) * w1 * w2).subs(values)
        assert abs(force.subs(values) - expected) < 1e-9 * abs(expected)


def test_painleves_function_is_not_taken_for_the_energy() -> None:
    """T has a part linear in the velocity beyond x = 9 only: there T2 - T0 + V is kept, T + V is not."""
    kinetic = (xd**2 + yd**2) / 2 + yd * sp.Max(0, x - 9) ** 2
    eqs = cg.System("linear", coordinates=[x, y], kinetic=kinetic).equations("lagrange")
    assert {i.name for i in find(eqs.nodes)} == {"painleve", PY}


def test_a_reset_that_works_far_away_only() -> None:
    """A wall that damps where x > 80 keeps no energy; one that reflects keeps it."""
    for factor, kept in ((1, True), (If((half, x > 80), (1, True)), False)):
        wall = cg.Event(y, direction=-1, reset={yd: -factor * yd})
        system = unit_masses("wall", [x, y], potential=y, events=[wall], example={y: 1})
        assert (E in {i.name for i in find(system.equations("lagrange").nodes)}) is kept


def test_an_affine_part_far_away_does_work() -> None:
    """A belt that moves only beyond x = 70: the power of its reaction is in the audit."""
    belt = unit_masses("belt", [x, y], constraints=[yd - sp.Max(0, x - 70)], example={x: 1, y: 0})
    eqs = belt.equations("maggi")
    assert E not in {i.name for i in find(eqs.nodes)}
    kernel = eqs.program.kernels["outputs"]
    names = [v.name for v in eqs.program.outputs]
    assert "power" in names
    (power,) = expressions(eqs.nodes.graph, [kernel.outputs[names.index("power")]], eqs.nodes.symbols)
    # y' = x - 70, reaction y'' = x': its power is (x - 70) x'.
    assert sp.simplify(power.subs({x: 75, xd: 2}) - 10) == 0


def nodes(*entries: Any) -> tuple[Graph, list[int]]:
    g = Graph()
    symbols = sorted({s for e in entries for s in e.free_symbols}, key=str)
    return g, Lowering(g, {s: g.symbol(s.name) for s in symbols}).lower(entries)


def test_branches_are_those_that_there_are() -> None:
    for e, count in [
        (If((x, x < 1), (x**2, x < 2), (3, True)), 3),
        (sp.Max(0, x - 2) + sp.Abs(2 - x), 2),
        (sp.Max(0, sp.sqrt(x**2 + y**2) - 2) + sp.Max(0, x**2 + y**2 - 4), 2),
        (sp.Max(0, x - 2) * sp.Max(0, y - 2), 4),
        (If((x, sp.Eq(x, 3)), (y, True)), 1),
        (sp.sign(x * y), 4),
        (sp.Abs(sp.exp(x)), 1),
    ]:
        g, roots = nodes(e)
        found = branches(g, roots)
        assert found is not None
        assert len(found) == count, e
    g, roots = nodes(sum(sp.Max(0, i * x + y - i * i) for i in range(1, 13)))
    assert branches(g, roots) is None
    branch = branch_at(g, roots, {"x": 100.0, "y": 0.5})
    assert [sign for _, sign in branch.conditions] == [1] * 12


@pytest.mark.parametrize("count", [3, 5, 8])
def test_lines_in_general_position_cut_the_plane(count: int) -> None:
    """n lines of which no two are parallel and no three meet cut the plane into 1 + n + n (n - 1)/2 regions."""
    g, roots = nodes(sum(sp.Max(0, i * x + y - i * i) for i in range(1, count + 1)))
    assert len(branches(g, roots) or ()) == 1 + count + count * (count - 1) // 2


def test_vanishing_is_seen_to_the_smallest_term() -> None:
    points = [{"x": 0.3, "y": 1.1}, {"x": -7.0, "y": 3.0}]
    for e, zero in [
        ((x + y) ** 2 - x**2 - 2 * x * y - y**2, True),
        (sp.sin(2 * x) - 2 * sp.sin(x) * sp.cos(x), True),
        (sp.exp(x - 10**6) * sp.exp(y) - sp.exp(x + y - 10**6), True),
        (sp.sinh(far * x) + sp.cosh(far * x) - sp.exp(far * x), True),
        ((x + y) ** 2 - x**2 - 2 * x * y - y**2 + sp.exp(-((x - far) ** 2)), False),
        (sp.sin(2 * x) - 2 * sp.sin(x) * sp.cos(x) + (1 + 10**9 * x**2) ** -60, False),
        (sp.exp(x - 10**6) * sp.exp(y) - sp.exp(x + y - 10**6 + sp.Rational(1, 10**9)), False),
        (x - x * (1 + sp.Rational(1, 10**50)), False),
    ]:
        g, roots = nodes(e)
        assert vanish(g, roots, points) is zero, e


def test_digits_between_terms_are_seen_by_floats_where_these_hold_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """10^30 and 10^-30 are 60 digits apart; of x - x (1 + 10^-25) floats see nothing, so it counts as 10^-30 x."""
    precise: list[bool] = []
    functions = evaluate._functions
    monkeypatch.setattr(evaluate, "_functions", lambda p: precise.append(p) or functions(p))

    def digits(e: sp.Expr, value: float) -> float:
        g, roots = nodes(e)
        with mp.workdps(85):
            return evaluate.digits_to_see(g, roots, {"x": mpf(value)}, 1.0)

    assert 60 <= digits(x**10 + x**-10, 1000.0) < 62
    assert 25 <= digits(x - x * (1 + sp.Rational(1, 10**25)), 3.0) < 32
    assert precise == [False, False]
    assert 2400 <= digits(x**400 + x**-400, 1000.0) < 2404
    assert precise[-1]


def test_exponentials_are_shrunk_by_their_arguments_alone() -> None:
    g, roots = nodes(sp.exp(1000 * x) + sp.sqrt(y))
    assert 1 < 1000 * evaluate.shrinking(g, roots, {"x": 1.0}) <= 20  # without y


def test_values_at_many_points_have_the_scales_of_each() -> None:
    e = If((sp.exp(x) / y, x > y), (sp.sqrt(y) - x * sp.cos(x * y) ** 3, True)) + sp.atan2(x, y) * sp.tan(y)
    g, roots = nodes(e)
    draw = random.Random(3)
    points = [{"x": draw.uniform(-2, 2), "y": draw.uniform(0.1, 2)} for _ in range(20)]
    shrinks = [draw.uniform(0.5, 1) for _ in points]
    at = {name: np.array([p[name] for p in points]) for name in "xy"}
    sizes = {"x": np.full(20, 0.7)}
    values, scales = evaluate.evaluate_many(g, roots, at, sizes, np.array(shrinks))
    for i, (point, shrink) in enumerate(zip(points, shrinks, strict=True)):
        (wanted,) = evaluate.evaluate_with_scale(g, roots, point, False, {"x": 0.7}, shrink)
        assert (values[0][i], scales[0][i]) == pytest.approx(wanted, rel=1e-12)


CATALOGUE = {
    "chaplygin_sleigh": ("maggi", "energy"),
    "double_pendulum": ("lagrange", "energy"),
    "euler_rigid_body": ("poincare", "energy coordinates_1 momentum_1 momentum_2 momentum_3"),
    "fluid_cavity": ("poincare", "energy coordinates_1 coordinates_2 casimir_1 casimir_2"),
    "gyrostat": ("poincare", "energy p_eta4 coordinates_1 momentum_1 momentum_2 momentum_3"),
    "harmonic_oscillator": ("lagrange", "energy"),
    "heavy_top": ("poincare", "energy coordinates_1 momentum_1"),
    "heisenberg": ("poincare", "energy p_eta3"),
    "kovalevskaya_top": ("poincare", "energy coordinates_1 momentum_1"),
    "lagrange_top": ("poincare", "energy p_w3 coordinates_1 momentum_1"),
    "roller_racer": ("maggi", ""),
    "rolling_disk": ("maggi", "energy"),
    "rolling_ring": ("maggi", "p_psi_dot"),
    "rotating_particle": ("poincare", "energy"),
    "sleigh_cartesian": ("maggi", "energy"),
    "suslov": ("maggi", "energy coordinates_1"),
    "torus_nonuniform": ("lagrange", ""),
    "torus_uniform": ("lagrange", "painleve"),
    "turntable_sleigh": ("maggi", ""),
}
"""The integrals known from theory: energy or Painlevé's integral, norms, momenta, Casimirs."""


@pytest.mark.parametrize("name", CATALOGUE)
@pytest.mark.sample(7)
def test_integrals_of_the_catalogue(name: str) -> None:
    form, known = CATALOGUE[name]
    found = find(cg.example(name).system.equations(form).nodes)
    assert {i.name for i in found} == set(known.split())
