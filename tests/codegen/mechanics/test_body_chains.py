"""Chains of bodies: T and V compared with numerically differentiated poses, and their size, linear in the length."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp
from body_chains import J1, J2, J3, G, M, body_chain

import chaplygin as cg
from chaplygin.codegen.graph.evaluate import evaluate


def numeric(bodies: list[cg.Body], kinematics: dict[Any, Any], at: dict[Any, float]) -> tuple[float, float]:
    """T and V of the bodies by complex steps: the imaginary parts of r and R at x + i h x' are h times their rates."""
    step = 1e-30
    rates = {x: complex(sp.sympify(e).subs(at)).real for x, e in kinematics.items()}
    moved = {s: v + 1j * step * rates[s] if s in rates else v for s, v in at.items()}
    names = list(moved)
    attitude, place = np.eye(3, dtype=complex), np.zeros(3, dtype=complex)
    kinetic = potential = 0.0
    for body in bodies:
        turned = sp.lambdify(names, body.rotation, "numpy")(*moved.values())
        center = sp.lambdify(names, body.center, "numpy")(*moved.values())
        place = place + attitude @ np.array(center, dtype=complex).ravel()
        attitude = attitude @ np.array(turned, dtype=complex)
        skew = attitude.real.T @ attitude.imag / step
        omega = np.array([skew[2, 1], skew[0, 2], skew[1, 0]])
        speed = place.imag / step
        kinetic += at[M] * speed @ speed / 2 + omega @ (np.array([at[J1], at[J2], at[J3]]) * omega) / 2
        potential += at[M] * at[G] * place.real[2]
    return kinetic, potential


@pytest.mark.parametrize("joint", ["ball", "euler", "hinge"])
def test_energies_of_a_chain(joint: str) -> None:
    system, bodies, kinematics = body_chain(5, joint)
    rng = np.random.default_rng(3)
    at = {s: system.example.get(s, float(rng.uniform(-1, 1))) for s in system.all_symbols()}
    found = evaluate(
        system.nodes.graph, [system.nodes.kinetic, system.nodes.potential], {s.name: v for s, v in at.items()}
    )
    assert found == pytest.approx(numeric(bodies, kinematics, at), rel=1e-12)
    assert abs(found[0]) > 0.1


@pytest.mark.parametrize("joint", ["ball", "euler", "hinge"])
@pytest.mark.sample(1)
def test_energies_of_a_chain_grow_with_its_length(joint: str) -> None:
    sizes = []
    for n in (6, 9, 12):
        system, _, _ = body_chain(n, joint)
        sizes.append(system.nodes.graph.count_operations([system.nodes.kinetic, system.nodes.potential]))
    assert sizes[2] - sizes[1] == sizes[1] - sizes[0]
