"""Painlevé's equation for every form: dh/dt along the derived motion equals the power of the declared forces."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import sympy as sp
from hybrid_kernels import ROUGH
from small_systems import SMALL

import chaplygin as cg
from chaplygin.api.equations import Equations
from chaplygin.api.python_model import python_model
from chaplygin.codegen.derive import structure
from chaplygin.codegen.derive.power import painleve_function, power
from chaplygin.codegen.graph.differentiate import forward
from chaplygin.codegen.graph.evaluate import evaluate
from chaplygin.codegen.lower.lower import lower

T = cg.time
Q1, Q2, Q3 = cg.coordinates("q1 q2 q3")
U1, U2, U3 = cg.velocities("u1 u2 u3")
TH1, TH2 = cg.velocities("th1 th2")
B = cg.parameters("b")
F = cg.inputs("F")
ROWS = {
    Q1: U1 * sp.cos(Q2) + U3 * Q1,
    Q2: U2 + sp.sin(T),
    Q3: U3 + B * U1 * Q2,
}
RATES = [cg.rate(x) for x in (Q1, Q2, Q3)]
KINETIC = sum(r**2 for r in RATES) / 2 + Q1 * RATES[0] * RATES[1] / 4 + RATES[2] * sp.sin(Q2 + T)
POTENTIAL = (1 + T) * (sp.cos(Q1) + Q2**2 * Q3 + B * Q3)
FORCES = {U1: F * Q1 - U2, U2: -U1 * U3 * Q3}


def curved(**more: object) -> cg.System:
    """Non-constant structure functions, c_0, T of degree 0, 1 and 2, explicit time, forces with and without power."""
    return cg.System(
        "curved",
        kinematics=ROWS,
        kinetic=KINETIC,
        potential=POTENTIAL,
        forces=FORCES,
        example={B: 1.2},
        **more,
    )


AFFINE = {"constraints": [U1 * Q2 + U3 + sp.cos(Q1) * T + sp.Rational(3, 10)]}
CONE = {"parametrization": {U1: TH1, U2: TH2, U3: sp.sqrt(TH1**2 + TH2**2)}}
BENT = {"parametrization": {U1: TH1, U2: TH2, U3: TH1**2 * Q1 + T}}
CASES = [
    *(({}, form) for form in ("poincare", "chetaev", "hamel")),
    *((AFFINE, form) for form in ("maggi", "nonholonomic", "multipliers")),
    *((more, form) for more in (CONE, BENT) for form in ("maggi", "nonholonomic")),
]


@dataclass(frozen=True)
class Balance:
    change: float
    power: float


def accelerations(eqs: Equations, point: dict[str, float]) -> list[float]:
    """theta' from M and f by NumPy, not by the emitted elimination."""
    k = len(eqs.nodes.force)
    force = evaluate(eqs.nodes.graph, eqs.nodes.force, point)
    if not eqs.nodes.mass:
        return force
    values = iter(evaluate(eqs.nodes.graph, [n for row in eqs.nodes.mass for n in row], point))
    mass = np.zeros((k, k))
    for i in range(k):
        for j in range(i + 1):
            mass[i, j] = mass[j, i] = next(values)
    return list(np.linalg.solve(mass, force))


def balances(eqs: Equations, count: int = 3) -> list[Balance]:
    g = eqs.nodes.graph
    h, _, _ = painleve_function(eqs.nodes)
    slots = [g.symbol(f"cg_slot_{i}") for i in range(len(eqs.nodes.force))]
    worked = power(eqs.nodes, slots)
    flow = {
        eqs.nodes.independent_node: g.one,
        **dict(zip(eqs.nodes.coordinate_nodes, eqs.nodes.rates, strict=True)),
        **dict(zip(eqs.nodes.velocity_nodes, slots, strict=True)),
    }
    (change,) = forward(g, [h], flow)
    found = []
    for point in eqs.nodes.points([h, *eqs.nodes.force], count):
        solved = accelerations(eqs, point)
        at = {**point, **{f"cg_slot_{i}": a for i, a in enumerate(solved)}}
        found.append(Balance(*evaluate(g, [change, worked], at)))
    return found


@pytest.mark.parametrize(("more", "form"), CASES)
def test_the_balance_of_power_holds_in_every_form(more: dict[str, object], form: str) -> None:
    found = balances(curved(**more).equations(form))
    assert max(abs(b.power) for b in found) > 0.1
    for b in found:
        assert b.power == pytest.approx(b.change, rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("form", ["maggi", "nonholonomic"])
def test_the_reactions_of_an_affine_constraint_have_power(form: str) -> None:
    """Without R_j b_j0 the balance fails: the drive of the constraint does work."""
    eqs = curved(**AFFINE).equations(form)
    nothing = [0.0] * len(eqs.nodes.force)
    g = eqs.nodes.graph
    slots = [g.symbol(f"cg_slot_{i}") for i in range(len(eqs.nodes.force))]
    worked = power(eqs.nodes, slots)
    for point in eqs.nodes.points(eqs.nodes.force, 3):
        right = {f"cg_slot_{i}": a for i, a in enumerate(accelerations(eqs, point))}
        wrong = {f"cg_slot_{i}": a for i, a in enumerate(nothing)}
        a, b = (evaluate(g, [worked], {**point, **at})[0] for at in (right, wrong))
        assert abs(a - b) > 1e-3


def test_the_parts_of_the_kinetic_energy_by_hand() -> None:
    """T2 - T0 + V and dh/dt = -dL/dt + Q q' in rates, derived by SymPy from the declaration."""
    x, y = cg.coordinates("x y")
    w, m, k = cg.parameters("w m k", positive=True)
    vx, vy = cg.rate(x), cg.rate(y)
    kinetic = m * ((vx - w * T * y) ** 2 + (vy + w * T * x) ** 2) / 2
    potential = k * (x**2 + y**2) * sp.cos(T) / 2
    force = -vx * sp.Rational(1, 5) + y
    system = cg.System(
        "turning",
        coordinates=[x, y],
        kinetic=kinetic,
        potential=potential,
        forces={vx: force},
        example={w: 1},
    )
    model = python_model(system.equations("lagrange").program, quiet=True)
    t2, t0 = m * (vx**2 + vy**2) / 2, m * (w * T) ** 2 * (x**2 + y**2) / 2
    lagrangian = kinetic - potential
    at = {T: 0.7, x: 0.3, y: -0.4, vx: 1.1, vy: 0.6, w: 1.3, m: 0.8, k: 2.0}
    values = model.evaluate(
        0.7, {"x": 0.3, "y": -0.4, "x_dot": 1.1, "y_dot": 0.6}, {"w": 1.3, "m": 0.8, "k": 2.0}
    )
    assert values["painleve"] == pytest.approx(float((t2 - t0 + potential).subs(at)), rel=1e-14)
    assert values["energy"] == pytest.approx(float((kinetic + potential).subs(at)), rel=1e-14)
    expected = -sp.diff(lagrangian, T) + force * vx
    assert values["power"] == pytest.approx(float(expected.subs(at)), rel=1e-13)


def outputs(system: cg.System) -> list[str]:
    return [v.name for v in system.equations("lagrange").program.outputs]


def oscillator(**more: object) -> cg.System:
    x = cg.coordinates("x")
    m, k, c = cg.parameters("m k c", positive=True)
    given: dict[str, object] = {
        "coordinates": [x],
        "kinetic": m * cg.rate(x) ** 2 / 2,
        "potential": k * x**2 / 2,
        "forces": {cg.rate(x): -c * cg.rate(x)},
    }
    return cg.System("damped", **{**given, **more})


def test_which_outputs_there_are() -> None:
    assert outputs(oscillator()) == ["energy", "power"]  # T2 - T0 + V is T + V
    assert outputs(oscillator(forces={})) == []  # conserved: among the invariants


def test_names_that_the_user_has_taken_are_left_to_the_user() -> None:
    x, energy = cg.coordinates("x"), cg.parameters("energy", positive=True)
    assert outputs(oscillator(outputs={"power": x})) == ["power", "energy", "cg_power"]
    assert outputs(oscillator(outputs={"energy": x, "painleve": x})) == [
        "energy",
        "painleve",
        "cg_painleve",
        "power",
    ]
    assert outputs(oscillator(potential=energy * x**2)) == ["painleve", "power"]


def test_reactions_where_the_mass_matrix_is_factored_by_a_loop() -> None:
    """With more velocities than are unrolled, the outputs solve for the accelerations themselves."""
    n = 14
    x = cg.coordinates(" ".join(f"x{i}" for i in range(n)))
    rates = [cg.rate(s) for s in x]
    steps = itertools.pairwise(rates)
    kinetic = sum((a + b) ** 2 for a, b in steps) / 2 + sum(rates) ** 2 / 9  # a full matrix
    kinetic += sum(r**2 * (1 + sp.cos(s)) for r, s in zip(rates, x, strict=True))
    system = cg.System(
        "chain",
        coordinates=list(x),
        kinetic=kinetic,
        potential=sum(sp.cos(s) for s in x),
        constraints=[rates[0] + sp.sin(x[1]) * rates[1] - sp.cos(x[2] + T)],
        example={s: 0.1 * i for i, s in enumerate(x)},
    )
    eqs = system.equations("maggi")
    program = eqs.program
    assert program.kernels["rhs"].solves
    assert program.kernels["outputs"].solves
    model = python_model(program, quiet=True)
    names = list(model.states)
    rng = np.random.default_rng(3)
    y = rng.uniform(-1, 1, len(names))
    d = 1e-5
    rate = model.rhs(0.4, y, [])
    ahead, back = (model.evaluate(0.4 + s * d, y + s * d * rate, [])["energy"] for s in (1, -1))
    assert model.evaluate(0.4, y, [])["power"] == pytest.approx((ahead - back) / (2 * d), rel=1e-8)


# Dry friction: see test_contacts.
SMOOTH = [name for name in SMALL if name not in ROUGH]
CATALOGUE = [(name, form) for name in SMOOTH for form in cg.example(name).forms]


@pytest.mark.parametrize(("name", "form"), CATALOGUE)
@pytest.mark.sample(20)
def test_the_balance_holds_in_the_catalogue(name: str, form: str) -> None:
    for b in balances(cg.example(name).system.equations(form), 2):
        assert b.power == pytest.approx(b.change, rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("name", ["robot_arm", "heavy_top", "rolling_disk", "chaplygin_sleigh"])
def test_kinetic_energy_of_the_second_degree_is_seen_without_values(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def evaluated(*_: object) -> bool:
        raise AssertionError("evaluated at points")

    nodes = cg.example(name).system.equations().nodes
    monkeypatch.setattr("chaplygin.codegen.derive.power.vanish_everywhere", evaluated)
    assert painleve_function(nodes)[2]


def test_structure_functions_are_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The equations, the constraint forces and the power that drives feed in need the same ones."""
    pairs: list[int] = []
    recognised = structure.recognised

    def counted(*arguments: Any) -> Any:
        pairs.append(len(arguments[2]))
        return recognised(*arguments)

    monkeypatch.setattr(structure, "recognised", counted)
    assert lower(curved(**AFFINE).equations("maggi").nodes).kernels
    assert pairs == [3] * len(pairs)
    assert 0 < len(pairs) <= 6  # [X_a, X_b] for 0 <= a < b <= 3, each with three components
