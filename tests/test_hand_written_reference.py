"""The hand-written reference of the benchmarks against SciPy on equations written another way."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

Array = NDArray[np.float64]
BENCH = Path(__file__).resolve().parent.parent / "bench"
RUNS = 19
"""More than two groups of eight lanes, and no multiple: lanes take new trajectories, and some stay idle at the end."""
T_END = 2.0


@pytest.fixture(scope="module")
def reference() -> Any:
    """The driver of bench/reference, without its neighbours left behind on the path."""
    known = set(sys.modules)
    sys.path.insert(0, str(BENCH))
    try:
        import reference as loaded
    finally:
        sys.path.remove(str(BENCH))
        for name in set(sys.modules) - known:
            if str(BENCH) in str(getattr(sys.modules[name], "__file__", "")):
                del sys.modules[name]
    return loaded


def top(p: Array, y: Array) -> Array:
    """d(I w)/dt = (I w) x w - m g r x gamma, with gamma from the rotation matrix."""
    q0, q = y[0], y[1:4]
    w, inertia = y[4:].T, p[:3]
    up = np.array([0.0, 0.0, 1.0])
    # R^T e_3 = (q0^2 - q.q) e_3 + 2 (q . e_3) q - 2 q0 q x e_3
    gamma = ((q0**2 - (q**2).sum(0)) * up[:, None] + 2 * q[2] * q).T - 2 * q0[:, None] * np.cross(q.T, up)
    moment = np.cross(inertia * w, w) - p[3] * p[4] * np.cross(p[5:], gamma)
    turning = np.concatenate([-(q.T * w).sum(1)[None], q0 * w.T + np.cross(q.T, w).T]) / 2
    return np.concatenate([turning, (moment / inertia).T])


def sleigh(p: Array, y: Array) -> Array:
    """The two equations of motion, solved for the accelerations together."""
    a, b, k = p
    phi, _, _, omega, v = y
    mass = np.array([[a * a + b * b + k * k, -b], [-b, 1.0]])
    forces = np.array([-a * omega * v, a * omega**2])
    rates = np.linalg.solve(mass, forces)
    return np.stack([omega, v * np.cos(phi), v * np.sin(phi), *rates])


def links(p: Array, y: Array) -> Array:
    """The dense mass matrix: M_ij = m l^2 (5 - max(i, j)) cos(theta_i - theta_j)."""
    m, length, g = p
    angle, rate = y[:5], y[5:]
    below = 5.0 - np.maximum(*np.mgrid[:5, :5])
    turn = angle[:, None] - angle[None]
    mass = m * length**2 * below[..., None] * np.cos(turn)
    forces = -m * length**2 * (below[..., None] * np.sin(turn) * rate**2).sum(1)
    forces -= m * g * length * (5.0 - np.arange(5.0))[:, None] * np.sin(angle)
    return np.concatenate([rate, np.linalg.solve(mass.transpose(2, 0, 1), forces.T[..., None])[..., 0].T])


SYSTEMS: dict[str, tuple[Callable[[Array, Array], Array], list[float], int]] = {
    "heavy_top": (top, [1.5, 1.1, 0.9, 2.0, 9.81, 0.2, -0.1, 0.5], 7),
    "chaplygin_sleigh": (sleigh, [0.4, 0.15, 0.6], 5),
    "five_links": (links, [1.3, 0.8, 9.81], 10),
}


def starts(name: str, n: int) -> Array:
    """Angles up to some turns, so that every quadrant occurs; the top's quaternion has length 1."""
    y = np.random.default_rng(7).normal(size=(n, RUNS))
    if name == "heavy_top":
        y[:4] /= np.linalg.norm(y[:4], axis=0)
    return y


@pytest.fixture(scope="module")
def expected() -> dict[str, tuple[Array, Array, Array]]:
    """(parameters, initial states, states at t = 2) of each system, by SciPy's DOP853."""
    found = {}
    for name, (field, parameters, n) in SYSTEMS.items():
        p, y = np.array(parameters), starts(name, n)

        def flat(t: float, x: Array, field: Any = field, p: Array = p, shape: Any = y.shape) -> Array:
            return np.asarray(field(p, x.reshape(shape))).ravel()

        end = solve_ivp(flat, (0, T_END), y.ravel(), "DOP853", [T_END], rtol=1e-11, atol=1e-12)
        found[name] = p, y, end.y[:, -1].reshape(y.shape)
    return found


@pytest.mark.parametrize("lanes", [None, 1], ids=["lanes", "one"])
@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.sample(2)
def test_vern9_ends_where_scipy_does(name: str, lanes: int | None, reference: Any, expected: Any) -> None:
    p, y, end = expected[name]
    found, accepted, rejected = reference.vern9(name, p, y, T_END, 1e-12, lanes)
    assert np.abs(found - end).max() < 1e-9
    coarse = reference.vern9(name, p, y, T_END, 1e-6, lanes)
    assert 1e-9 < np.abs(coarse[0] - end).max() < 1e-3
    assert accepted > coarse[1] > 2 * RUNS
    assert rejected < accepted / 4


@pytest.mark.parametrize(
    ("name", "steps"), [("heavy_top", 400), ("chaplygin_sleigh", 50), ("five_links", 2000)]
)
@pytest.mark.sample(1)
def test_rk4_has_order_4(name: str, steps: int, reference: Any, expected: Any) -> None:
    p, y, end = expected[name]
    coarse, fine = (
        np.median(np.abs(reference.rk4(name, p, y, T_END, n)[0] - end)) for n in (steps, 2 * steps)
    )
    assert 15 < coarse / fine < 17
    assert 1e-11 < fine < 1e-6
