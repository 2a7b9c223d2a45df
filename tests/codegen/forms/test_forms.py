"""The forms against Lagrange's equations with multipliers, derived by SymPy from coordinates and rates alone."""

from __future__ import annotations

import pickle
import random
import sys
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import sympy as sp
from refusals import refused

import chaplygin as cg
from chaplygin.codegen import forms
from chaplygin.codegen.derive.equation_nodes import EquationNodes
from chaplygin.codegen.forms import choose, poincare
from chaplygin.codegen.forms.form import Form, constrained
from chaplygin.codegen.graph.evaluate import evaluate
from chaplygin.codegen.symbols.symbols import DeclarationError
from chaplygin.errors import FormError

T = cg.time
Accelerations = Callable[[dict[sp.Symbol, float]], np.ndarray]


def lagrange_with_multipliers(
    coordinates: list[sp.Symbol], lagrangian: sp.Expr, forces: list[sp.Expr], constraints: list[sp.Expr]
) -> Accelerations:
    """q'' from d/dt dL/dq' - dL/dq = Q + A^T lambda, A q'' + (d/dt A) q' + d/dt A_0 = 0; no quasi-velocities."""
    n = len(coordinates)
    rates = [cg.rate(x) for x in coordinates]
    momenta = sp.Matrix([sp.diff(lagrangian, r) for r in rates])
    mass = momenta.jacobian(rates)
    right = sp.Matrix([sp.diff(lagrangian, x) for x in coordinates]) + sp.Matrix(forces)
    right -= momenta.jacobian(coordinates) * sp.Matrix(rates) + momenta.diff(T)
    rows = sp.Matrix(constraints).jacobian(rates) if constraints else sp.zeros(0, n)
    bias = [
        sum(sp.diff(c, x) * r for x, r in zip(coordinates, rates, strict=True)) + sp.diff(c, T)
        for c in constraints
    ]

    def at(values: dict[sp.Symbol, float]) -> np.ndarray:
        def number(matrix: sp.Matrix) -> np.ndarray:
            return np.array(matrix.subs(values).evalf(20).tolist(), dtype=float).reshape(matrix.shape)

        m, a = number(mass), number(rows)
        system = np.block([[m, -a.T], [a, np.zeros((len(a), len(a)))]])
        vector = np.concatenate([number(right).ravel(), [-float(sp.sympify(b).subs(values)) for b in bias]])
        return np.linalg.solve(system, vector)[:n]

    return at


def compare(
    system: cg.System,
    form: str,
    lagrangian: sp.Expr,
    forces: list[sp.Expr],
    constraints: list[sp.Expr] = (),  # type: ignore[assignment]
    **options: object,
) -> None:
    """q'' of a form (from eta' by differentiating the kinematics) equals q'' of the multiplier equations."""
    eqs = system.equations(form, **options)
    oracle = lagrange_with_multipliers(list(system.coordinates), lagrangian, forces, list(constraints))
    g = eqs.nodes.graph
    lower = [n for row in eqs.nodes.mass for n in row]
    k = len(eqs.velocities)
    # q'' = d/dt of the rates along x' = rates, theta' = M^-1 f.
    kinematics = list(eqs.kinematics)
    draw = random.Random(11)
    for _ in range(4):
        point = {s: draw.uniform(0.3, 1.2) for s in system.all_symbols()}
        values = evaluate(
            g, [*lower, *eqs.nodes.force, *eqs.nodes.rates], {s.name: v for s, v in point.items()}
        )
        mass = np.zeros((k, k))
        for i in range(k):
            for j in range(i + 1):
                mass[i, j] = mass[j, i] = values[i * (i + 1) // 2 + j]
        acceleration = np.linalg.solve(mass, values[len(lower) : len(lower) + k])
        rates = values[len(lower) + k :]
        states = [*system.coordinates, *eqs.velocities, T]
        flow = [*rates, *acceleration, 1.0]
        second = [
            sum(float(sp.diff(e, s).subs(point)) * f for s, f in zip(states, flow, strict=True))
            for e in kinematics
        ]
        values_at = {**point, **{cg.rate(x): r for x, r in zip(system.coordinates, rates, strict=True)}}
        expected = oracle(values_at)
        assert second == pytest.approx(list(expected), rel=1e-10, abs=1e-10)
        for c in constraints:
            assert float(sp.sympify(c).subs(values_at)) == pytest.approx(0, abs=1e-12)


Q1, Q2, Q3 = cg.coordinates("q1 q2 q3")
U1, U2, U3 = cg.velocities("u1 u2 u3")
B = cg.parameters("b")
F = cg.inputs("F")
ROWS = {
    Q1: U1 * sp.cos(Q2) + U3 * Q1,
    Q2: U2 * (1 + Q1**2) + sp.sin(T),
    Q3: U3 * sp.exp(Q1 / 2) + B * U1 * Q2,
}
RATES = [cg.rate(x) for x in (Q1, Q2, Q3)]
KINETIC = sum(r**2 for r in RATES) / 2 + Q1 * RATES[0] * RATES[1] / 4 + RATES[2] * sp.sin(Q2 + T)
POTENTIAL = sp.cos(Q1) + Q2**2 * Q3 + B * Q3


def in_velocities(e: sp.Expr) -> sp.Expr:
    return e.subs({r: ROWS[x] for r, x in zip(RATES, (Q1, Q2, Q3), strict=True)})


def test_poincare_with_structure_functions_time_and_linear_terms() -> None:
    """Non-constant c, drift X_0 and T with explicit time, linear terms in T: all terms of the equation are active."""
    force = F * Q2 - U2
    system = cg.System(
        "curved", kinematics=ROWS, kinetic=in_velocities(KINETIC), potential=POTENTIAL, forces={U1: force}
    )
    # Q conjugate to u_1 alone is the generalised force Q_q with X_a . Q_q = (force, 0, 0).
    fields = sp.Matrix([[sp.diff(ROWS[x], u) for u in (U1, U2, U3)] for x in (Q1, Q2, Q3)])
    solved = sp.solve([r - ROWS[x] for r, x in zip(RATES, (Q1, Q2, Q3), strict=True)], [U1, U2, U3])
    generalised = fields.T.LUsolve(sp.Matrix([force, 0, 0])).subs(solved)
    for form in ("poincare", "hamel", "nonholonomic"):
        compare(system, form, KINETIC - POTENTIAL, list(generalised))


def test_lagrange_equals_poincare_without_brackets() -> None:
    kinetic = KINETIC.subs(sp.sin(Q2 + T), sp.cos(Q1 * Q3))
    system = cg.System(
        "plain",
        coordinates=[Q1, Q2, Q3],
        kinetic=kinetic,
        potential=POTENTIAL,
        forces={RATES[1]: F - RATES[1]},
    )
    for form in ("lagrange", "poincare"):
        compare(system, form, kinetic - POTENTIAL, [sp.Integer(0), F - RATES[1], sp.Integer(0)])


CONSTRAINTS = [RATES[1] - RATES[0] * sp.sin(Q3) - sp.cos(T) * Q1]


@pytest.mark.parametrize("kept", [None, [RATES[0], RATES[2]], [RATES[2], RATES[1]]])
def test_maggi_with_affine_rheonomic_constraints(kept: list[sp.Symbol] | None) -> None:
    system = cg.System(
        "affine", coordinates=[Q1, Q2, Q3], kinetic=KINETIC, potential=POTENTIAL, constraints=CONSTRAINTS
    )
    options = {} if kept is None else {"independent": kept}
    for form in ("maggi", "hamel", "nonholonomic"):
        compare(system, form, KINETIC - POTENTIAL, [sp.Integer(0)] * 3, CONSTRAINTS, **options)


@pytest.mark.slow
def test_maggi_in_quasi_velocities_with_structure_functions() -> None:
    constraint = U3 - Q2 * U1 - sp.sin(Q1) * U2 - sp.Rational(1, 2)
    system = cg.System(
        "curved_and_held",
        kinematics=ROWS,
        kinetic=in_velocities(KINETIC),
        potential=POTENTIAL,
        constraints=[constraint],
    )
    solved = sp.solve([r - ROWS[x] for r, x in zip(RATES, (Q1, Q2, Q3), strict=True)], [U1, U2, U3])
    for form in ("maggi", "hamel", "nonholonomic"):
        compare(system, form, KINETIC - POTENTIAL, [sp.Integer(0)] * 3, [constraint.subs(solved)])


def test_a_parametrization_gives_the_motion_of_its_constraint() -> None:
    th1, th2 = cg.velocities("th1 th2")
    system = cg.System(
        "parametrized",
        coordinates=[Q1, Q2, Q3],
        kinetic=KINETIC,
        potential=POTENTIAL,
        parametrization={
            RATES[0]: th1 - th2,
            RATES[1]: (th1 - th2) * sp.sin(Q3) + sp.cos(T) * Q1,
            RATES[2]: th2 * Q2,
        },
    )
    for form in ("maggi", "nonholonomic"):
        compare(system, form, KINETIC - POTENTIAL, [sp.Integer(0)] * 3, CONSTRAINTS)


def test_ghoris_sleigh() -> None:
    """[G] (5.6), (5.7) with m = 1: s^2 phi'' = -a phi' u + a b phi'^2,  u' = a phi'^2 + b phi''."""
    system = cg.example("chaplygin_sleigh").system
    eqs = system.equations("maggi")
    omega, u = eqs.velocities
    a, b, k = (s for n in "abk" for s in system.parameters if s.name == n)
    solved = sp.simplify(eqs.mass_matrix.LUsolve(eqs.forcing))
    turn = (-a * omega * u + a * b * omega**2) / (a**2 + k**2)
    assert sp.simplify(solved[0] - turn) == 0
    assert sp.simplify(solved[1] - (a * omega**2 + b * turn)) == 0


@pytest.mark.parametrize(
    ("form", "options", "words"),
    [
        ("newton", {}, "unknown form 'newton'; the forms are lagrange, poincare"),
        ("lagrange", {}, "no constraints.*use 'maggi'"),
        ("poincare", {}, "no constraints.*use 'maggi'"),
        ("maggi", {"independant": []}, "no option 'independant'"),
        ("maggi", {"independent": [RATES[0]]}, "names 1 velocities; 2 are independent"),
        ("maggi", {"independent": [RATES[0], Q1]}, "q1 is not a velocity"),
    ],
)
def test_forms_that_do_not_fit(form: str, options: dict[str, object], words: str) -> None:
    system = cg.System("held", coordinates=[Q1, Q2, Q3], kinetic=KINETIC, constraints=CONSTRAINTS)
    refused(words, system.equations, form, error=FormError, **options)


def test_the_row_of_a_form_says_what_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    def derive(system: cg.System, sign: int = 1) -> EquationNodes:
        return replace(poincare.derive(system), form="mine", options={"sign": sign})

    module = SimpleNamespace(FORM=Form("mine", derive, constrained))
    monkeypatch.setitem(sys.modules, f"{forms.__name__}.mine", module)
    monkeypatch.setattr(choose, "FORMS", (*forms.FORMS, "mine"))
    assert choose.forms()[-1] == "mine"
    assert set(choose.options_of("mine")) == {"sign"}
    free = cg.System("free", coordinates=[Q1], kinetic=RATES[0] ** 2)
    assert free.equations("mine", sign=-1).options == {"sign": -1}
    with pytest.raises(FormError, match="form 'mine' has no option 'along'; its options: sign"):
        free.equations("mine", along=Q1)
    held = cg.System("held", coordinates=[Q1, Q2, Q3], kinetic=KINETIC, constraints=CONSTRAINTS)
    with pytest.raises(FormError, match=r"mine does not fit 'held': .*no constraints.*use 'maggi'"):
        held.equations("mine")
    floor = cg.Coulomb("floor", slip=RATES[0], normal=1, mu=0.1)
    rubbing = cg.System("rubbing", coordinates=[Q1], kinetic=RATES[0] ** 2, contacts=[floor])
    refused(r"'no dry friction' fails.*floor.*use 'lagrange'", rubbing.equations, "mine", error=FormError)


def test_more_forms_that_do_not_fit() -> None:
    top = cg.example("heavy_top").system
    refused("the velocities are the coordinate rates", top.equations, "lagrange", error=FormError)
    refused("the velocities are constrained", top.equations, "maggi", error=FormError)
    held = cg.System(
        "held", coordinates=[Q1, Q2], kinetic=RATES[0] ** 2 + RATES[1] ** 2, constraints=[RATES[0]]
    )
    refused("do not determine", held.equations, "maggi", independent=[RATES[0]], error=FormError)


def test_independent_velocities_follow_the_example_point() -> None:
    """A knife edge: the constraint is solved for the velocity with the larger coefficient at the example point."""

    def knife(angle: float) -> tuple[str, ...]:
        edge = RATES[0] * sp.sin(Q3) - RATES[1] * sp.cos(Q3)
        system = cg.System(
            "knife",
            coordinates=[Q1, Q2, Q3],
            kinetic=sum(r**2 for r in RATES),
            constraints=[edge],
            example={Q3: angle},
        )
        return system.equations("maggi").states[3:]

    assert knife(0.1) == ("q1_dot", "q3_dot")
    assert knife(1.5) == ("q2_dot", "q3_dot")


def test_kept_velocities() -> None:
    """A system names the velocities that stay as states, whatever the pivots at its example; an option goes before."""
    edge = RATES[0] * sp.sin(Q3) - RATES[1] * sp.cos(Q3)
    given = {"coordinates": [Q1, Q2, Q3], "kinetic": sum(r**2 for r in RATES), "example": {Q3: 0.1}}
    system = cg.System("knife", constraints=[edge], kept=[RATES[1], RATES[2]], **given)
    assert system.equations("maggi").states[3:] == ("q2_dot", "q3_dot")
    assert system.equations("nonholonomic").states[3:] == ("q2_dot", "q3_dot")
    assert system.equations("maggi", independent=[RATES[0], RATES[2]]).states[3:] == ("q1_dot", "q3_dot")
    assert pickle.loads(pickle.dumps(system)).kept == system.kept
    free = cg.System("knife", constraints=[edge], **given)
    assert free.equations("maggi").states[3:] == ("q1_dot", "q3_dot")
    assert free.digest != system.digest
    for kept, message in (
        (RATES[1], "kept is Rate; give a list"),
        ([Q1], "kept: q1 is not a velocity of the system"),
        ([RATES[1]] * 2, "kept: the name 'q2_dot' is used twice"),
    ):
        with pytest.raises(cg.DeclarationError, match=message):
            cg.System("knife", constraints=[edge], kept=kept, **given)
    with pytest.raises(FormError, match="independent names 1 velocities; 2 are independent"):
        cg.System("knife", constraints=[edge], kept=[RATES[1]], **given).equations("maggi")


def test_latex_and_views() -> None:
    eqs = cg.example("harmonic_oscillator").system.equations("lagrange")
    text = eqs.latex()
    assert text.startswith("\\begin{aligned}")
    assert "\\ddot" in text or "\\dot{\\dot{x}}" in text
    assert eqs._repr_latex_().startswith("$")
    assert eqs.operations["rhs"] >= 1


@pytest.mark.slow
def test_holonomic_equations() -> None:
    """A pendulum in Cartesian coordinates on a moving pivot, x^2 + (y - h(t))^2 = l^2, against its angle."""
    x, y, theta = cg.coordinates("x y theta")
    m, length, gravity = cg.parameters("m length gravity", positive=True)
    pivot = sp.sin(2 * T) / 5
    values = {"m": 1.3, "length": 0.8, "gravity": 9.81}
    start = 0.7
    cartesian = cg.System(
        "cartesian",
        coordinates=[x, y],
        kinetic=m * (cg.rate(x) ** 2 + cg.rate(y) ** 2) / 2,
        potential=m * gravity * y,
        holonomic=[x**2 + (y - pivot) ** 2 - length**2],
        example={x: 0.8 * np.sin(start), y: -0.8 * np.cos(start), T: 0, m: 1.3, length: 0.8, gravity: 9.81},
    )
    depth = pivot - length * sp.cos(theta)
    speed = sp.diff(depth, T) + sp.diff(depth, theta) * cg.rate(theta)
    angle = cg.System(
        "angle",
        coordinates=[theta],
        kinetic=m * ((length * sp.cos(theta) * cg.rate(theta)) ** 2 + speed**2) / 2,
        potential=m * gravity * depth,
    )
    tight = {"rtol": 1e-12, "atol": 1e-12}
    swing = angle.compile().integrate(
        (0, 1), initial={"theta": start, "theta_dot": 0.5}, parameters=values, **tight
    )
    vx, vy = 0.8 * np.cos(start) * 0.5, 0.4 + 0.8 * np.sin(start) * 0.5
    first = {"x": 0.8 * np.sin(start), "y": -0.8 * np.cos(start), "x_dot": vx, "y_dot": vy}
    for form in ("maggi", "multipliers", "nonholonomic"):
        run = cartesian.compile(form).integrate((0, 1), initial=first, parameters=values, **tight)
        assert run["x"][-1] == pytest.approx(0.8 * np.sin(swing["theta"][-1]), abs=1e-9)
        assert abs(run["holonomic_1"][-1]) < 1e-9
    with pytest.raises(DeclarationError, match=r"holonomic\[0\] contains x_dot"):
        cg.System(
            "wrong", coordinates=[x, y], kinetic=cg.rate(x) ** 2 + cg.rate(y) ** 2, holonomic=[cg.rate(x)]
        )
    with pytest.raises(DeclarationError, match=r"holonomic\[0\] = 1 at the example point"):
        cg.System(
            "off",
            coordinates=[x, y],
            kinetic=cg.rate(x) ** 2 + cg.rate(y) ** 2,
            holonomic=[x - y],
            example={x: 2, y: 1},
        )
