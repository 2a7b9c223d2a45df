"""The form `recursive` against the dense mass matrix of the other forms."""

from __future__ import annotations

import warnings
from math import cos, sin
from typing import Any

import numpy as np
import pytest
import sympy as sp
from body_trees import JOINTS, SKEW, Chain, G, T, accelerations, example_of, grown, same_accelerations
from refusals import refused
from spatial_trees import NUMBERS, Pinocchio, spatial_tree

import chaplygin as cg
from chaplygin.api.python_model import python_model
from chaplygin.codegen.graph.evaluate import evaluate
from chaplygin.codegen.symbols.symbols import DeclarationError
from chaplygin.errors import FormError, SizeWarning


def system_of(chain: Chain, **more: Any) -> cg.System:
    given = {"interactions": [cg.Weight(G)]} | more
    system = cg.System("tree", kinematics=chain.kinematics, bodies=chain.bodies, example={}, **given)
    at = example_of(chain, system.all_symbols(), 1)
    example = {s: at[s.name] for s in system.all_symbols()}
    return cg.System("tree", kinematics=chain.kinematics, bodies=chain.bodies, example=example, **given)


COVERED = {"prismatic": "helical", "revolute": "universal", "angles": "quasi-velocities"}
"""Joints whose tests are slow ones, since another joint shows the same."""


@pytest.mark.parametrize(
    "joint", [pytest.param(j, marks=[pytest.mark.slow] * (j in COVERED)) for j in JOINTS]
)
def test_a_joint_of_every_kind_in_space_and_on_a_body(joint: str) -> None:
    chain = grown([joint, joint, "revolute"], [-1, 0, 1])
    same_accelerations(chain, system_of(chain), "poincare")


def test_a_tree_with_every_interaction() -> None:
    chain = grown(["free", "revolute", "universal", "prismatic", "revolute"], [-1, 0, 1, 0, 3])
    b = chain.bodies
    pull, torque = cg.inputs("pull torque")
    speed = next(v for v in chain.kinematics.values() if isinstance(v, sp.Symbol))
    slider = next(s for s in chain.kinematics if s.name == "s3")
    loads = [
        cg.Weight(G),
        cg.Weight(sp.Rational(1, 2), direction=(1, 0, 0), bodies=[b[1], b[4]]),
        cg.Spring((b[2], (0, 0, 1)), b[4], stiffness=3, rest_length=sp.Rational(1, 2)),
        cg.Spring(b[1], (1, 0, 0), stiffness=2),
        cg.Damper((b[3], (1, 0, 0)), (b[2], (0, 1, 0)), coefficient=sp.Rational(7, 10)),
        cg.Motor(b[0], b[1], SKEW, torque - speed / 3),
        cg.Motor(b[1], b[4], (0, 0, 1), sp.sin(T)),
        cg.Wrench(b[4], force=(pull, 0, 1), couple=(0, speed, 0), point=(0, 0, 1), axes=b[4]),
        cg.Wrench(b[2], force=(0, 1, pull), against=b[3]),
    ]
    system = system_of(
        chain,
        interactions=loads,
        potential=5 * slider**2,
        kinetic=cg.rate(slider) ** 2 * (1 + slider**2) / 4,
        forces={cg.rate(slider): -cg.rate(slider) * pull},
    )
    same_accelerations(chain, system, "poincare", 10)


def test_bodies_may_be_listed_before_their_parents() -> None:
    chain = grown(["revolute", "universal", "revolute"], [-1, 0, 0])
    turned = Chain(chain.bodies[::-1], chain.kinematics, chain.unit)
    same_accelerations(turned, system_of(turned), "lagrange", 3)


def test_frames_without_mass_carry_bodies() -> None:
    a, b = cg.coordinates("a b")
    frame = cg.Body("frame", rotation=cg.turn(2, a))
    fixed = cg.Body("fixed", rotation=cg.turn(1, sp.Rational(1, 3)), center=(1, 0, 0), parent=frame)
    body = cg.Body("body", mass=2, inertia=(1, 2, 3), rotation=cg.turn(2, b), center=(0, 1, 0), parent=fixed)
    chain = Chain([frame, fixed, body], {a: cg.rate(a), b: cg.rate(b)}, [])
    same_accelerations(chain, system_of(chain), "lagrange", 3)


def rolling_pair() -> tuple[Chain, cg.System]:
    """A disk that rolls on the ground and carries a pendulum: three nonholonomic and one holonomic constraint."""
    x, y, z, psi, theta, phi = cg.coordinates("x y z psi theta phi")
    a, b = cg.coordinates("a b")
    half = sp.Rational(1, 2)
    plane = cg.turn(3, psi) * cg.turn(1, theta)
    disk = cg.Body("disk", mass=2, inertia=(1, 2, 1), rotation=plane * cg.turn(2, phi), center=(x, y, z))
    arm = cg.Body(
        "arm", mass=1, inertia=(1, 1, half), rotation=cg.turn(2, a), center=(0, 0, half), parent=disk
    )
    contact = sp.Matrix([x, y, z]) - plane * sp.Matrix([0, 0, half])
    bodies = [disk, arm, cg.Body("bob", mass=1, inertia=(1, 1, 1), rotation=cg.turn(1, b), parent=arm)]
    kinematics = {s: cg.rate(s) for s in (x, y, z, psi, theta, phi, a, b)}
    chain = Chain(bodies, kinematics, [])
    return chain, cg.System(
        "rolling",
        kinematics=kinematics,
        bodies=bodies,
        interactions=[cg.Weight(G)],
        constraints=cg.rolling(disk, contact),
        holonomic=[sp.sin(a) - b / 2],
    )


def test_constraints_on_a_tree() -> None:
    chain, system = rolling_pair()
    same_accelerations(chain, system, "multipliers", 5)


def test_independent_velocities_of_a_rolling_tree() -> None:
    chain, system = rolling_pair()
    kept = ("psi_dot", "theta_dot", "phi_dot", "a_dot")
    at = example_of(chain, system.all_symbols(), 4)
    found = accelerations(system, "recursive", at, independent=kept)
    assert system.equations("recursive", independent=kept).states[-4:] == kept
    assert found == pytest.approx(accelerations(system, "maggi", at, independent=kept), rel=1e-11)


def hanging(n: int) -> cg.System:
    """Equal rods that hang from each other's ends by hinges."""
    m, length = cg.parameters("m l", positive=True)
    bodies: list[cg.Body] = []
    x = [cg.coordinates(f"x{i}") for i in range(n)]
    half, whole = sp.Matrix([0, 0, -length / 2]), sp.Matrix([0, 0, -length])
    for i in range(n):
        turned = cg.turn(2, x[i])
        above = bodies[-1] if bodies else None
        start = sp.zeros(3, 1) if above is None else whole - half
        moment = m * length**2 / 12
        bodies.append(
            cg.Body(
                f"rod{i}",
                mass=m,
                inertia=(moment, moment, 0),
                rotation=turned,
                center=start + turned * half,
                parent=above,
            )
        )
    return cg.System(
        "hanging", coordinates=x, bodies=bodies, interactions=[cg.Weight(G)], example={m: 1, length: 1}
    )


def values(system: cg.System, at: dict[str, float], **options: Any) -> dict[str, float]:
    """The outputs of the bodies."""
    eqs = system.equations("recursive", **options).nodes
    return dict(zip(eqs.body_nodes, evaluate(eqs.graph, list(eqs.body_nodes.values()), at), strict=True))


def test_forces_in_the_joints_of_rods_at_rest_are_weights() -> None:
    system = hanging(4)
    at = {s.name: 0.0 for s in system.all_symbols()} | {"m": 1.5, "l": 0.7, "g": 9.81}
    out = values(system, at, bodies=["rod0", "rod2"])
    assert out["joint_force_rod0_z"] == pytest.approx(4 * 1.5 * 9.81)
    assert out["joint_force_rod2_z"] == pytest.approx(2 * 1.5 * 9.81)
    assert out["position_rod2_z"] == pytest.approx(-2.5 * 0.7)


def test_force_at_the_pivot_of_a_swinging_rod() -> None:
    """Closed form: along the rod m g cos x + m x'^2 l / 2, across it m g sin x / 4."""
    angle, rate, m, length, g = 0.8, 1.7, 1.5, 0.7, 9.81
    at = {"x0": angle, "x0_dot": rate, "m": m, "l": length, "g": g}
    out = values(hanging(1), at, bodies=["rod0"])
    assert out["joint_force_rod0_z"] == pytest.approx(m * g * cos(angle) + m * rate**2 * length / 2)
    assert abs(out["joint_force_rod0_x"]) == pytest.approx(m * g * sin(angle) / 4)
    assert out["velocity_rod0_z"] == pytest.approx(rate * length / 2 * sin(angle))
    assert out["omega_rod0_y"] == pytest.approx(rate)
    assert out["rotation_rod0_xz"] == pytest.approx(sin(angle))


def test_forces_at_the_pivots_of_a_double_pendulum() -> None:
    """Newton-Euler by hand for rods of mass m and length l at absolute angles A and B, with e the direction of a rod.

    With c = cos(A - B), s = sin(A - B): 8 A'' + 3 c B'' = -3 s B'^2 - 9 (g/l) sin A and
    3 c A'' + 2 B'' = 3 s A'^2 - 3 (g/l) sin B; the forces are m (a - g) summed over the rods below the pivot.
    """
    a, b, u, v, m, length, g = 0.8, -0.5, 1.7, -2.1, 1.5, 0.7, 9.81
    at = {"x0": a, "x1": b - a, "x0_dot": u, "x1_dot": v - u, "m": m, "l": length, "g": g}
    c, s = cos(a - b), sin(a - b)
    matrix = [[8, 3 * c], [3 * c, 2]]
    right = [-3 * s * v**2 - 9 * g / length * sin(a), 3 * s * u**2 - 3 * g / length * sin(b)]
    first, second = np.linalg.solve(matrix, right)

    def bent(angle: float, rate: float, rates: float) -> np.ndarray:
        """d^2 e/dt^2, (x, z), for e = (-sin, -cos): a positive angle turns -z towards -x."""
        return np.array([-cos(angle), sin(angle)]) * rates - np.array([-sin(angle), -cos(angle)]) * rate**2

    upper, lower = length * bent(a, u, first), length * bent(b, v, second)
    weight = np.array([0, m * g])
    below = m * (upper + lower / 2) + weight
    above = m * upper / 2 + weight + below
    out = values(hanging(2), at, bodies=["rod0", "rod1"])
    for body, force, angle in (("rod0", above, a), ("rod1", below, b)):
        axes = np.array([[cos(angle), -sin(angle)], [sin(angle), cos(angle)]])
        found = [out[f"joint_force_{body}_{axis}"] for axis in "xz"]
        assert found == pytest.approx(axes @ force, rel=1e-12)
        assert out[f"joint_couple_{body}_y"] == pytest.approx(0, abs=1e-12)
    model = python_model(hanging(2).equations("recursive", bodies=["rod0"]).program, quiet=True)
    seen = model.evaluate(0, *([at[name] for name in names] for names in (model.states, model.parameters)))
    assert seen["joint_force_rod0_z"] == pytest.approx(out["joint_force_rod0_z"], rel=1e-12)


@pytest.mark.slow
@pytest.mark.integration("pinocchio")
@pytest.mark.parametrize("n", [30, 100])
@pytest.mark.parametrize("joint", ["hinges", "balls"])
def test_accelerations_of_large_spatial_trees_are_those_of_pinocchio(joint: str, n: int) -> None:
    theirs, system = Pinocchio(n, joint), spatial_tree(n, joint)
    for seed in range(20):
        q, v, y = theirs.random(seed)
        at = NUMBERS | {s.name: x for s, x in zip((*system.coordinates, *system.velocities), y, strict=True)}
        expected = theirs.accelerations(q, v)
        found = accelerations(system, "recursive", at)
        assert np.abs(found - expected).max() <= 1e-11 * np.abs(expected).max()


# -- hypotheses -----------------------------------------------------------------------------------------------------
def test_a_velocity_that_moves_two_branches_is_named_with_the_form_that_fits() -> None:
    a, b = cg.coordinates("a b")
    first = cg.Body("first", mass=1, inertia=(1, 1, 1), rotation=cg.turn(3, a))
    second = cg.Body("second", mass=1, inertia=(1, 1, 1), rotation=cg.turn(3, b - a))
    system = cg.System("gear", coordinates=[a, b], bodies=[first, second])
    refused(r"a_dot moves first and second.*use 'lagrange'", system.equations, "recursive", error=FormError)


def test_kinetic_energy_that_couples_joints_is_refused() -> None:
    chain = grown(["revolute", "revolute"], [-1, 0])
    first, second = chain.kinematics.values()
    system = system_of(chain, kinetic=first * second / 9)
    refused(r"it couples a0_dot and a1_dot.*use 'lagrange'", system.equations, "recursive", error=FormError)


def test_a_leaf_without_inertia_is_named() -> None:
    a, b = cg.coordinates("a b")
    arm = cg.Body("arm", mass=1, inertia=(1, 1, 1), rotation=cg.turn(3, a))
    hand = cg.Body("hand", rotation=cg.turn(1, b), parent=arm)
    with pytest.raises(DeclarationError, match="kinetic has no inertia along b_dot"):
        cg.System("arm", coordinates=[a, b], bodies=[arm, hand])


def test_a_system_without_bodies_is_refused() -> None:
    with pytest.raises(FormError, match=r"no bodies are given.*use 'lagrange'"):
        cg.example("double_pendulum").system.equations("recursive")


@pytest.mark.slow
def test_a_model_too_large_for_its_form_is_announced_before_it_is_emitted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    system = hanging(80)
    equations = system.equations("lagrange")

    def stop(*_: Any) -> Any:
        raise InterruptedError("lowered")

    monkeypatch.setattr("chaplygin.api.equations.lower", stop)
    text = r"lagrange: M and f of 'hanging' have \d\d,\d{3} operations for 80 velocities.*use 'recursive'"
    with pytest.warns(SizeWarning, match=text), pytest.raises(InterruptedError):
        _ = equations.program
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InterruptedError):
            _ = system.equations("recursive").program


def test_an_unknown_body_is_named() -> None:
    with pytest.raises(FormError, match="bodies: 'rod9' is not a body of 'hanging'"):
        hanging(2).equations("recursive", bodies=["rod9"])
