"""Trees of point masses in a plane: found in T, and solved by the tensions of their arms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import sympy as sp

import chaplygin as cg
from chaplygin.codegen.derive.point_mass_tree import point_tree
from chaplygin.codegen.emit.python_backend import python_kernel
from chaplygin.codegen.graph.evaluate import evaluate
from chaplygin.codegen.lower.dynamics import Dynamics
from chaplygin.codegen.lower.point_mass_tree import Tensions, shortest


def mobile(parents: Sequence[int], positive: bool = True, **more: Any) -> cg.System:
    """Point masses, each on a rod from its parent's (-1: a fixed point), with springs, dampers and a torque."""
    n = len(parents)
    q = [cg.coordinates(f"q{i}") for i in range(n)]
    rates = [cg.rate(angle) for angle in q]
    m, l = ([cg.parameters(f"{k}{i}", positive=positive) for i in range(n)] for k in "ml")  # noqa: E741
    g, k, c = cg.parameters("g k c", positive=True)
    torque = cg.inputs("torque")
    place: list[sp.Matrix] = []
    velocity: list[sp.Matrix] = []
    for i, parent in enumerate(parents):
        arm, turning = sp.Matrix([sp.sin(q[i]), -sp.cos(q[i])]), sp.Matrix([sp.cos(q[i]), sp.sin(q[i])])
        place.append((place[parent] if parent >= 0 else sp.zeros(2, 1)) + l[i] * arm)
        velocity.append((velocity[parent] if parent >= 0 else sp.zeros(2, 1)) + l[i] * rates[i] * turning)
    kinetic = sum(m[i] * (v[0] ** 2 + v[1] ** 2) / 2 for i, v in enumerate(velocity))
    potential = sum(m[i] * g * r[1] for i, r in enumerate(place)) + k * (q[-1] - q[0]) ** 2 / 2
    forces = {rates[0]: torque - c * rates[0], rates[-1]: -c * rates[-1] ** 3}
    return cg.System(
        "mobile",
        coordinates=q,
        kinetic=more.pop("kinetic", lambda t: t)(kinetic),
        potential=potential,
        forces=forces,
        **more,
    )


def by_sympy(system: cg.System) -> Any:
    """d(q, q')/dt from d/dt dT/dq' - dT/dq = Q - dV/dq, differentiated by SymPy and solved by NumPy."""
    q, rates = sp.Matrix(system.coordinates), sp.Matrix(system.velocities)
    momenta = sp.Matrix([system.kinetic]).jacobian(rates).T
    applied = sp.Matrix([system.forces.get(v, 0) for v in system.velocities])
    right = (
        applied + sp.Matrix([system.kinetic - system.potential]).jacobian(q).T - momenta.jacobian(q) * rates
    )
    names = [*q, *rates, *system.parameters, *system.inputs]
    evaluate = sp.lambdify(names, (momenta.jacobian(rates), right), cse=True)

    def rhs(y: np.ndarray, p: np.ndarray, u: Sequence[float]) -> np.ndarray:
        matrix, force = evaluate(*y, *p, *u)
        return np.concatenate([y[len(q) :], np.linalg.solve(matrix, force)[:, 0]])

    return rhs


TREES = {
    "two": (-1, 0),
    "chain": (-1, 0, 1, 2),
    "mobile": (-1, 0, 0, 1, 1, 2, 2),
    "three from one point": (-1, -1, -1, 1),
    "star": (-1, 0, 0, 0),
}


@pytest.mark.parametrize("parents", TREES.values(), ids=TREES)
@pytest.mark.sample(2)
def test_accelerations_and_their_derivatives_are_those_of_the_mass_matrix(parents: Sequence[int]) -> None:
    system = mobile(parents)
    program = system.equations("lagrange").program
    assert not program.kernels["rhs"].solves
    n, expected, draw = len(parents), by_sympy(system), np.random.default_rng(7)
    rhs, jvp = python_kernel(program, "rhs"), python_kernel(program, "jvp")
    for _ in range(10):
        y, v = draw.uniform(-2, 2, (2, 2 * n))
        p, u = draw.uniform(0.5, 2, len(program.parameters)), draw.uniform(-1, 1, 1)
        exact = expected(y, p, u)
        np.testing.assert_allclose(rhs(0.0, y, p, u), exact, rtol=0, atol=1e-12 * np.abs(exact).max())

        def difference(h: float, y: Any = y, v: Any = v, p: Any = p, u: Any = u) -> Any:
            return (expected(y + h * v, p, u) - expected(y - h * v, p, u)) / (2 * h)

        slope = (4 * difference(5e-4) - difference(1e-3)) / 3  # Richardson: the error is O(h^4)
        np.testing.assert_allclose(jvp(0.0, y, p, u, v), slope, rtol=0, atol=1e-6 * np.abs(slope).max())


@pytest.mark.parametrize("form", ["lagrange", "poincare", "hamel", "nonholonomic"])
def test_a_tree_is_found_in_every_form_whose_states_are_rates(form: str) -> None:
    links = point_tree(mobile(TREES["mobile"]).equations(form).nodes)
    assert tuple(link.parent for link in links) == TREES["mobile"]


def test_a_weight_is_the_same_vector_wherever_its_arm_points() -> None:
    eqs = mobile(TREES["chain"]).equations("lagrange").nodes
    links = point_tree(eqs)
    m, g = sp.symbols("m0:4"), sp.Symbol("g")
    for i, link in enumerate(links):
        level, upright = sorted(
            (sp.sympify(str(view)) for view in eqs.view(link.constant)), key=lambda c: c != 0
        )
        assert level == 0
        assert sp.simplify(upright + g * sum(m[i:])) == 0
    assert eqs.graph.depends_on([links[0].rest], [eqs.graph.symbol("torque")])
    assert links[1].rest == eqs.graph.zero


def test_a_chain_is_eliminated_from_both_ends() -> None:
    eqs = cg.example("n_link_pendulum", n=7).system.equations("lagrange").nodes
    assert Tensions(eqs.graph, point_tree(eqs)).order == [0, 6, 1, 5, 2, 4, 3]


@pytest.mark.parametrize("name", ["two", "chain", "mobile", "star"])
def test_angles_between_arms_are_taken_where_they_are_fewer(name: str) -> None:
    """A chain of n arms has n - 1 of them, and the weight needs the first arm's own; arms from one mass have more."""
    eqs = mobile(TREES[name]).equations("lagrange").nodes
    tensions, _ = shortest(eqs.graph, point_tree(eqs), eqs.flow, eqs.velocity_nodes)
    assert tensions.between == (name in ("two", "chain"))


def test_no_pivot_is_smaller_than_that_of_straight_arms() -> None:
    eqs = mobile(TREES["chain"]).equations("lagrange").nodes
    tensions = Tensions(eqs.graph, point_tree(eqs), True)
    straight = [pivot for pivot, _ in tensions.checks() if pivot not in tensions.factors.diagonal][-2:]
    bent = tensions.factors.pivots[-2:]
    assert not eqs.graph.depends_on(straight, eqs.state_nodes)
    draw = np.random.default_rng(5)
    names = sorted(eqs.graph.symbols([*straight, *bent]))
    for _ in range(100):
        values = dict(zip(names, draw.uniform(0.5, 2, len(names)), strict=True))
        least, found = (evaluate(eqs.graph, nodes, values) for nodes in (straight, bent))
        assert all(0 < a <= b * (1 + 1e-12) for a, b in zip(least, found, strict=True))
        in_line = evaluate(eqs.graph, bent, values | {name: 1.0 for name in names if name.startswith("q")})
        np.testing.assert_allclose(in_line, least, rtol=1e-12)


@pytest.mark.slow
def test_the_cost_grows_with_the_number_of_links() -> None:
    programs = [cg.example("n_link_pendulum", n=n).system.equations("lagrange").program for n in (10, 20, 40)]
    first, second, third = (program.operations() for program in programs)
    assert third - second == pytest.approx(2 * (second - first), rel=0.05)
    assert programs[2].schedule("rhs").divisions <= 40


def test_a_mass_of_zero_is_singular() -> None:
    model = mobile(TREES["two"]).compile("lagrange")
    values = dict.fromkeys(model.parameters, 1.0) | {"m0": 0.0}
    with pytest.raises(ArithmeticError, match="singular"):
        model.rhs(0.0, [0.1, 0.2, 0.3, 0.4], [values[name] for name in model.parameters], [0.0])


RATE = {i: cg.rate(cg.coordinates(f"q{i}")) for i in range(2)}
OTHERS: dict[str, Callable[[], cg.System]] = {
    "masses that may be zero": lambda: mobile((-1, 0), positive=False),
    "a moment of inertia": lambda: mobile((-1, 0), kinetic=lambda t: t + RATE[1] ** 2),
    "a term of first degree": lambda: mobile((-1, 0), kinetic=lambda t: t + RATE[1]),
    "a product": lambda: mobile((-1, 0), kinetic=lambda t: t + RATE[0] * RATE[1] / 9),
    "constraints": lambda: mobile((-1, 0), constraints=[RATE[0] - RATE[1]]),
    "multiplied out": lambda: mobile((-1, 0), kinetic=sp.expand),
}


@pytest.mark.parametrize("make", OTHERS.values(), ids=OTHERS)
def test_other_systems_keep_their_mass_matrix(make: Callable[[], cg.System]) -> None:
    system = make()
    form = "maggi" if system.constraints else "lagrange"
    assert Dynamics(system.equations(form).nodes).tree == ()
