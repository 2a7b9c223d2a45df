"""Trees of rigid bodies with joints of every kind, and the accelerations of their equations by two forms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

import chaplygin as cg
from chaplygin.codegen.graph.evaluate import evaluate
from chaplygin.codegen.mechanics.quaternions import quaternion_rates, rotation

T = cg.time
G = cg.parameters("g", positive=True)
SKEW = (sp.Rational(2, 3), sp.Rational(-1, 3), sp.Rational(2, 3))


@dataclass(frozen=True)
class Joint:
    """The kinematics of a joint, its rotation and its displacement in the parent's axes."""

    kinematics: dict[sp.Symbol, Any]
    rotation: Any
    shift: Any
    unit: tuple[sp.Symbol, ...] = ()


def _hinge(i: int, axis: Any = SKEW) -> Joint:
    a = cg.coordinates(f"a{i}")
    return Joint({a: cg.rate(a)}, cg.turn(axis, a), sp.zeros(3, 1))


def _slider(i: int) -> Joint:
    s = cg.coordinates(f"s{i}")
    return Joint({s: cg.rate(s)}, cg.turn(2, sp.Rational(1, 2)), s * sp.Matrix(SKEW))


def _helical(i: int) -> Joint:
    a, pitch = cg.coordinates(f"a{i}"), sp.Rational(1, 5)
    return Joint({a: cg.rate(a)}, cg.turn(3, a), sp.Matrix([0, 0, pitch * a]))


def _universal(i: int) -> Joint:
    a, b = cg.coordinates([f"a{i}", f"b{i}"])
    return Joint({a: cg.rate(a), b: cg.rate(b)}, cg.turn(1, a) * cg.turn(2, b), sp.zeros(3, 1))


def _angles(i: int) -> Joint:
    x = cg.coordinates([f"{n}{i}" for n in "abc"])
    turned = cg.turn(3, x[0]) * cg.turn(1, 1 + x[1]) * cg.turn(3, x[2])
    return Joint({e: cg.rate(e) for e in x}, turned, sp.zeros(3, 1))


def _ball(i: int) -> Joint:
    q, w = cg.coordinates([f"q{i}_{k}" for k in range(4)]), cg.velocities([f"w{i}_{k}" for k in range(3)])
    rates = dict(zip(q, quaternion_rates(q, w), strict=True))
    return Joint(rates, sp.Matrix(rotation(q)), sp.zeros(3, 1), q)


def _free(i: int) -> Joint:
    ball, r = _ball(i), cg.coordinates([f"r{i}_{k}" for k in range(3)])
    along = ball.rotation * sp.Matrix(cg.velocities([f"v{i}_{k}" for k in range(3)]))  # body axes
    return Joint(ball.kinematics | dict(zip(r, along, strict=True)), ball.rotation, sp.Matrix(r), ball.unit)


def _driven(i: int) -> Joint:
    a = cg.coordinates(f"a{i}")
    turned = cg.turn(3, sp.sin(2 * T) / 3) * cg.turn(1, a + T**2 / 5)
    return Joint({a: cg.rate(a)}, turned, sp.Matrix([0, sp.cos(T) / 4, a * T / 10]))


def _coupled(i: int) -> Joint:
    """Two coordinates with velocities that are not their rates, and a drift."""
    (a, b), (u, v) = cg.coordinates([f"a{i}", f"b{i}"]), cg.velocities([f"u{i}", f"v{i}"])
    rates = {a: u / (1 + sp.sin(b) * sp.Rational(3, 10)) + T / 7, b: v + u * sp.cos(a)}
    return Joint(rates, cg.turn(3, a) * cg.turn(2, b), sp.Matrix([0, b / 3, 0]))


JOINTS: dict[str, Callable[[int], Joint]] = {
    "revolute": _hinge,
    "prismatic": _slider,
    "helical": _helical,
    "universal": _universal,
    "angles": _angles,
    "ball": _ball,
    "free": _free,
    "rheonomic": _driven,
    "quasi-velocities": _coupled,
}


@dataclass(frozen=True)
class Chain:
    """The bodies of a tree, its kinematics, and the quaternions in it."""

    bodies: list[cg.Body]
    kinematics: dict[sp.Symbol, Any]
    unit: list[tuple[sp.Symbol, ...]]


def grown(joints: Sequence[str], parents: Sequence[int]) -> Chain:
    """A tree of bodies of different masses and full inertias; -1 is space."""
    bodies: list[cg.Body] = []
    kinematics: dict[sp.Symbol, Any] = {}
    unit = []
    for i, (kind, above) in enumerate(zip(joints, parents, strict=True)):
        joint = JOINTS[kind](i)
        kinematics |= joint.kinematics
        unit += [joint.unit] if joint.unit else []
        lever = joint.rotation * sp.Matrix([sp.Rational(1, 10), sp.Rational(i, 20), sp.Rational(-2, 5)])
        start = sp.Matrix([0, sp.Rational(1, 5), sp.Rational(-3, 10)])
        inertia = sp.Matrix([[6, 1, 0], [1, 5, -1], [0, -1, 4]]) * sp.Rational(2 + i, 40)
        bodies.append(
            cg.Body(
                f"b{i}",
                mass=sp.Rational(3 + i, 3),
                inertia=inertia,
                rotation=joint.rotation,
                center=start + joint.shift + lever,
                parent=None if above < 0 else bodies[above],
            )
        )
    return Chain(bodies, kinematics, unit)


def example_of(chain: Chain, symbols: Sequence[sp.Symbol], seed: int) -> dict[str, float]:
    """A random state with unit quaternions."""
    rng = np.random.default_rng(seed)
    at = {s.name: float(rng.uniform(0.2, 1.2)) for s in symbols}
    for q in chain.unit:
        size = np.sqrt(sum(at[s.name] ** 2 for s in q))
        at |= {s.name: at[s.name] / size for s in q}
    return at


def accelerations(system: cg.System, form: str, at: dict[str, float], **options: Any) -> np.ndarray:
    """The rates of the velocities by M theta' = f."""
    eqs = _derived(system, form, tuple(options.items()))
    k = len(eqs.force)
    force = np.array(evaluate(eqs.graph, eqs.force, at), dtype=float)
    if not eqs.mass:
        return force
    entries = evaluate(eqs.graph, [n for row in eqs.mass for n in row], at)
    mass = np.zeros((k, k))
    mass[np.tril_indices(k)] = entries
    return np.linalg.solve(mass + np.tril(mass, -1).T, force)


_KNOWN: dict[Any, Any] = {}


def _derived(system: cg.System, form: str, options: tuple[Any, ...]) -> Any:
    key = (id(system), form, options)
    if key not in _KNOWN:
        _KNOWN[key] = system, system.equations(form, **dict(options)).nodes
    return _KNOWN[key][1]


def same_accelerations(chain: Chain, system: cg.System, form: str, states: int = 20, **options: Any) -> None:
    """Compare `recursive` with another form at random states."""
    for seed in range(states):
        at = example_of(chain, system.all_symbols(), seed)
        expected = accelerations(system, form, at, **options)
        found = accelerations(system, "recursive", at, **options)
        assert np.abs(found - expected).max() <= 1e-11 * (1 + np.abs(expected).max())
        assert np.abs(expected).max() > 0.05
