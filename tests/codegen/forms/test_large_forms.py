"""Large systems in forms with momenta: the matrix is factored by a loop, not by straight-line code."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from dense_chain import dense_chain

import chaplygin as cg
from chaplygin.codegen.emit.python_backend import python_kernel

LINKS = 14
VALUES = {"m": 0.7, "l": 0.8, "g": 9.81}


def chain(n: int) -> tuple[Any, np.ndarray, np.ndarray]:
    """The chain of n links, its masses and lengths."""
    return cg.example("n_link_pendulum", n=n), np.full(n, VALUES["m"]), np.full(n, VALUES["l"])


def parameters(program: Any) -> list[float]:
    return [VALUES[p.name] for p in program.parameters]


def momenta(m: np.ndarray, length: np.ndarray, angle: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """p_i = sum over the masses k >= i of m_k v_k . dr_k/d theta_i, with r_k = sum of l_j (sin, -cos)."""
    along = length[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    v = np.cumsum(along * rate[:, None], axis=0)
    return np.array([sum(m[k] * v[k] @ along[i] for k in range(i, len(m))) for i in range(len(m))])


def forces(m: np.ndarray, length: np.ndarray, angle: np.ndarray, rate: np.ndarray, g: float) -> np.ndarray:
    """dL/d theta_i = theta_i' sum m_k v_k . d^2 r_k / d theta_i^2 - g l_i sin theta_i sum m_k."""
    along = length[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    bent = length[:, None] * np.stack([-np.sin(angle), np.cos(angle)], axis=1)
    v = np.cumsum(along * rate[:, None], axis=0)
    kinetic = [rate[i] * sum(m[k] * v[k] @ bent[i] for k in range(i, len(m))) for i in range(len(m))]
    return np.array(kinetic) - g * length * np.sin(angle) * np.cumsum(m[::-1])[::-1]


def test_chetaev_by_a_loop_gives_the_velocities_and_the_forces() -> None:
    """Momenta and dL/d theta from the positions of the masses, written by hand."""
    entry, m, length = chain(LINKS)
    program = entry.system.equations("chetaev").program
    assert [s.factors for s in program.kernels["rhs"].solves] == ["momenta"]
    p = parameters(program)
    draw = np.random.default_rng(3)
    angle, rate = draw.uniform(-2, 2, LINKS), draw.uniform(-2, 2, LINKS)
    state = [*angle, *momenta(m, length, angle, rate)]
    moved = python_kernel(program, "rhs")(0.0, state, p, [])
    np.testing.assert_allclose(moved[:LINKS], rate, rtol=1e-10)
    np.testing.assert_allclose(
        moved[LINKS:], forces(m, length, angle, rate, VALUES["g"]), rtol=1e-9, atol=1e-9
    )
    start = python_kernel(program, "initial")(0.0, [*angle, *rate], p, [])
    np.testing.assert_allclose(start[: 2 * LINKS], state, rtol=1e-12)


def test_the_jvp_of_chetaev_by_a_loop() -> None:
    entry, m, length = chain(LINKS)
    program = entry.system.equations("chetaev").program
    p = parameters(program)
    draw = np.random.default_rng(4)
    angle, rate = draw.uniform(-1, 1, LINKS), draw.uniform(-1, 1, LINKS)
    state = np.array([*angle, *momenta(m, length, angle, rate)])
    direction = draw.uniform(-1, 1, 2 * LINKS)
    rhs, step = python_kernel(program, "rhs"), 1e-3

    def difference(h: float) -> np.ndarray:
        there, back = (np.array(rhs(0.0, list(state + s * h * direction), p, [])) for s in (1, -1))
        return (there - back) / (2 * h)

    expected = (4 * difference(step / 2) - difference(step)) / 3  # Richardson: the error is O(h^4)
    ours = python_kernel(program, "jvp")(0.0, list(state), p, [], list(direction))
    np.testing.assert_allclose(ours, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


@pytest.mark.slow
def test_chetaev_of_many_links_is_as_long_as_lagrange() -> None:
    system = dense_chain(20).system
    lagrange, chetaev = (system.equations(form) for form in ("lagrange", "chetaev"))
    assert chetaev.program.operations() <= 1.3 * lagrange.program.operations()
    assert chetaev.invariant_status == lagrange.invariant_status == {"energy": "proved"}
    assert chetaev.program.kernels.keys() - {"initial"} == lagrange.program.kernels.keys()


@pytest.mark.parametrize(("restitution", "kept"), [("1/2", False), (1, True)])
def test_a_reset_ends_the_energy_of_implicit_equations_too(restitution: Any, kept: bool) -> None:
    import sympy as sp

    x = [cg.coordinates(f"x{i}") for i in range(13)]
    v = [cg.rate(s) for s in x]
    system = cg.System(
        "bounces",
        coordinates=x,
        kinetic=sum(s**2 for s in v) / 2,
        potential=sum((a - b) ** 2 for a, b in itertools.pairwise(x)) / 2 + x[0] ** 2 / 2,
        events=[cg.Event(x[0], name="hit", direction=-1, reset={v[0]: -sp.Rational(restitution) * v[0]})],
        example={s: 0.1 * (i + 1) for i, s in enumerate(x)} | dict(zip(v, [0.3, -0.2] * 7, strict=False)),
    )
    for form in ("lagrange", "chetaev"):
        assert ("energy" in system.equations(form).invariant_status) == kept
    assert system.equations("chetaev").nodes.implicit is not None


@pytest.mark.slow
def test_chetaev_of_many_links_runs_as_lagrange_does() -> None:
    entry = cg.example("n_link_pendulum", n=LINKS)
    ends = []
    for form in ("lagrange", "chetaev"):
        model = entry.system.compile(form)
        solution = model.integrate((0, 0.5), initial=entry.initial, parameters=VALUES, rtol=1e-11, atol=1e-11)
        assert solution.success
        energy = solution["energy"]
        assert np.ptp(energy) <= 1e-8 * np.abs(energy).max()
        ends.append(solution.y[:LINKS, -1])
    np.testing.assert_allclose(ends[1], ends[0], rtol=1e-7, atol=1e-7)


def closed_chain(n: int, rows: int) -> Any:
    """The chain of n links, its first `rows` masses constrained to vertical lines: l_1 sin theta_1 + ... = constant."""
    import sympy as sp

    theta = [cg.coordinates(f"theta{i}") for i in range(1, n + 1)]
    m, length, g = cg.parameters("m l g", positive=True)
    kinetic = potential = vx = vy = y = sp.Integer(0)
    for angle in theta:
        vx += length * sp.cos(angle) * cg.rate(angle)
        vy += length * sp.sin(angle) * cg.rate(angle)
        y -= length * sp.cos(angle)
        kinetic += m * (vx**2 + vy**2) / 2
        potential += m * g * y
    held = [sum(length * sp.cos(a) * cg.rate(a) for a in theta[: 2 * (s + 1)]) for s in range(rows)]
    draw = np.random.default_rng(5)
    example = {m: VALUES["m"], length: VALUES["l"], g: VALUES["g"]}
    example |= dict(zip(theta, draw.uniform(-0.5, 0.5, n), strict=True))
    return cg.System(
        f"closed_{n}_{rows}",
        coordinates=theta,
        kinetic=kinetic,
        potential=potential,
        constraints=held,
        example=example,
    )


@pytest.mark.parametrize(("n", "rows"), [(14, 2), (28, 13)])
@pytest.mark.sample(1)
def test_multipliers_by_a_loop_balance_the_momenta(n: int, rows: int) -> None:
    """dp/dt = dL/d theta + A^T lambda and d(A theta')/dt = 0, by differences of momenta written by hand."""
    program = closed_chain(n, rows).equations("multipliers").program
    factors = [s.factors for s in program.kernels["rhs"].solves]
    assert factors.count("constraints") == (rows > 12)
    m, length, p = np.full(n, VALUES["m"]), np.full(n, VALUES["l"]), parameters(program)
    draw = np.random.default_rng(6)
    angle, rate = draw.uniform(-0.6, 0.6, n), draw.uniform(-1, 1, n)
    state = [*angle, *rate]
    moved = np.array(python_kernel(program, "rhs")(0.0, state, p, []))
    outputs = dict(
        zip(
            (v.name for v in program.outputs),
            python_kernel(program, "outputs")(0.0, state, p, []),
            strict=True,
        )
    )
    forced = np.array([outputs[f"lambda_{s + 1}"] for s in range(rows)])

    def matrix(q: np.ndarray) -> np.ndarray:
        return np.array(
            [[VALUES["l"] * np.cos(q[j]) * (j < 2 * (s + 1)) for j in range(n)] for s in range(rows)]
        )

    def slope(f: Any) -> np.ndarray:
        def difference(h: float) -> np.ndarray:
            there, back = (f(angle + e * h * moved[:n], rate + e * h * moved[n:]) for e in (1, -1))
            return (there - back) / (2 * h)

        h = 1e-3 / max(1.0, np.abs(moved).max())
        return (4 * difference(h / 2) - difference(h)) / 3

    left = slope(lambda q, w: momenta(m, length, q, w))
    right = forces(m, length, angle, rate, VALUES["g"]) + matrix(angle).T @ forced
    np.testing.assert_allclose(left, right, rtol=1e-6, atol=1e-6 * np.abs(right).max())
    held = slope(lambda q, w: matrix(q) @ w)
    np.testing.assert_allclose(held, 0, atol=1e-6 * np.abs(moved).max())


@pytest.mark.slow
def test_multipliers_of_a_large_system_keep_its_energy() -> None:
    equations = closed_chain(14, 2).equations("multipliers")
    assert equations.invariant_status["energy"] == "proved"
    assert equations.program.operations() < 4000
