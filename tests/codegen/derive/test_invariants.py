"""First integrals: those known from theory are found, and nothing that is not conserved."""

from __future__ import annotations

from typing import Any

import pytest
import sympy as sp

import chaplygin as cg
from chaplygin.api.equations import Equations
from chaplygin.codegen.derive import conservation

M, R, G, OM = cg.parameters("m R g Om", positive=True)


def found(eqs: Equations) -> set[str]:
    return set(eqs.invariants)


def test_energy_of_a_conservative_system_is_proved() -> None:
    eqs = cg.example("double_pendulum").system.equations("lagrange")
    assert found(eqs) == {"energy"}
    assert eqs.invariant_status == {"energy": "proved"}
    system = eqs.system
    assert sp.simplify(eqs.invariants["energy"] - system.kinetic - system.potential) == 0


def test_heavy_top_energy_and_norm_of_the_quaternion() -> None:
    eqs = cg.example("heavy_top").system.equations("poincare")
    q = eqs.system.coordinates
    assert "energy" in found(eqs)
    assert sp.expand(eqs.invariants["coordinates_1"] - (sum(s**2 for s in q) - 1)) == 0
    assert eqs.invariant_status["coordinates_1"] == "proved"
    # The vertical angular momentum M.gamma, gamma the third row of R(q); found up to a factor.
    inertia = {s.name: s for s in eqs.system.parameters}
    gamma = [
        2 * (q[1] * q[3] - q[0] * q[2]),
        2 * (q[2] * q[3] + q[0] * q[1]),
        q[0] ** 2 - q[1] ** 2 - q[2] ** 2 + q[3] ** 2,
    ]
    moment = sum(
        inertia[f"I{i + 1}"] * w * c
        for i, (w, c) in enumerate(zip(eqs.system.velocities, gamma, strict=True))
    )
    assert sp.simplify(sp.expand(eqs.invariants["momentum_1"] / moment)).is_number
    assert not any(name.startswith("p_") for name in found(eqs))


def test_derivatives_are_taken_at_all_points_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what seems to vanish is looked at point by point, by mpmath."""
    precise: list[bool] = []
    scaled = conservation.evaluate_with_scale

    def watched(g: Any, roots: Any, at: Any, exactly: bool, *rest: Any, **more: Any) -> Any:
        precise.append(exactly)
        return scaled(g, roots, at, exactly, *rest, **more)

    monkeypatch.setattr(conservation, "evaluate_with_scale", watched)
    assert "momentum_1" in found(cg.example("heavy_top").system.equations("poincare"))
    assert set(precise) == {True}


def test_a_symmetric_top_keeps_its_spin() -> None:
    """Lagrange's case: I1 = I2 and the centre of mass on the axis give M3 = I3 w3, though X_3 is not cyclic."""
    general = cg.example("heavy_top").system
    i1 = next(s for s in general.parameters if s.name == "I1")
    same = {s: (i1 if s.name == "I2" else 0) for s in general.parameters if s.name in ("I2", "r1", "r2")}
    system = cg.System(
        "lagrange_top",
        kinematics=general.kinematics,
        kinetic=general.kinetic.subs(same),
        potential=general.potential.subs(same),
    )
    assert {"energy", "coordinates_1", "p_w3"} <= found(system.equations("poincare"))
    assert "p_w1" not in found(system.equations("poincare"))


def test_casimirs_of_the_free_body_in_its_own_axes() -> None:
    """Euler's body with gamma for its coordinates: M.gamma and M^2 (no orientation is left to give three momenta)."""
    gamma = cg.coordinates("g1 g2 g3")
    w = cg.velocities("w1 w2 w3")
    rows = sp.Matrix(gamma).cross(sp.Matrix(w))
    body = cg.System(
        "body",
        kinematics=dict(zip(gamma, rows, strict=True)),
        kinetic=(w[0] ** 2 + 2 * w[1] ** 2 + 3 * w[2] ** 2) / 2,
    )
    for form in ("poincare", "chetaev"):
        eqs = body.equations(form)
        assert found(eqs) == {"energy", "coordinates_1", "momentum_1", "casimir_1"}
        assert eqs.invariants["coordinates_1"].free_symbols == set(gamma)


def test_columns_of_a_rotation_matrix() -> None:
    """Nine direction cosines, three angular velocities: the six relations R R^T = 1, nothing else quadratic."""
    names = [f"R{i}{j}" for i in (1, 2, 3) for j in (1, 2, 3)]
    cosines = sp.Matrix(3, 3, cg.coordinates(names))
    w = cg.velocities("w1 w2 w3")
    turned = cosines * sp.Matrix([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
    system = cg.System(
        "body",
        kinematics=dict(zip(cosines, turned, strict=True)),
        kinetic=(w[0] ** 2 + 2 * w[1] ** 2 + 3 * w[2] ** 2) / 2,
    )
    invariants = [
        e for n, e in system.equations("poincare").invariants.items() if n.startswith("coordinates")
    ]
    # R R^T = 1 (rows) has six entries; each row product is invariant under rotations from the right.
    assert len(invariants) == 6
    point = {s: sp.Rational(k * k % 7 + 1, 3) for k, s in enumerate(cosines)}

    def slopes(functions: list[sp.Expr]) -> sp.Matrix:
        return sp.Matrix([[sp.diff(e, s).subs(point) for s in cosines] for e in functions])

    rows = cosines * cosines.T
    numeric, expected = slopes(invariants), slopes([rows[i, j] for i in range(3) for j in range(i, 3)])
    assert numeric.rank() == expected.rank() == 6
    assert sp.Matrix.vstack(numeric, expected).rank() == 6


def hoop(angle: sp.Expr) -> cg.System:
    """A bead on a hoop that rotates about its vertical diameter by a given angle psi(t)."""
    theta = cg.coordinates("theta")
    rate = sp.diff(angle, cg.time)
    kinetic = M * R**2 * (cg.rate(theta) ** 2 + (rate * sp.sin(theta)) ** 2) / 2
    return cg.System("hoop", coordinates=[theta], kinetic=kinetic, potential=-M * G * R * sp.cos(theta))


def test_painleves_integral_of_a_driven_hoop() -> None:
    eqs = hoop(OM * cg.time).equations("lagrange")
    assert found(eqs) == {"painleve"}  # T2 - T0 + V, not the energy: the motor does work
    theta = eqs.system.coordinates[0]
    t2, t0 = M * R**2 * cg.rate(theta) ** 2 / 2, M * R**2 * OM**2 * sp.sin(theta) ** 2 / 2
    assert sp.simplify(eqs.invariants["painleve"] - (t2 - t0 - M * G * R * sp.cos(theta))) == 0
    assert found(hoop(OM * cg.time + sp.sin(cg.time)).equations("lagrange")) == set()


def test_friction_and_inputs_destroy_the_energy() -> None:
    x, y = cg.coordinates("x y")
    f = cg.inputs("f")
    kinetic = M * (cg.rate(x) ** 2 + cg.rate(y) ** 2) / 2

    def invariants(forces: dict[sp.Symbol, sp.Expr]) -> set[str]:
        return found(
            cg.System("mass", coordinates=[x, y], kinetic=kinetic, forces=forces).equations("lagrange")
        )

    assert invariants({}) == {"energy", "p_x_dot", "p_y_dot", "momentum_1"}
    assert invariants({cg.rate(x): -cg.rate(x)}) == {"p_y_dot"}
    assert invariants({cg.rate(x): f}) == {"p_y_dot"}
    # A force without power conserves the energy: found numerically, not by the theorem for systems without forces.
    magnetic = cg.System(
        "charge",
        coordinates=[x, y],
        kinetic=kinetic,
        forces={cg.rate(x): cg.rate(y), cg.rate(y): -cg.rate(x)},
    ).equations("lagrange")
    assert magnetic.invariant_status == {"energy": "checked"}


def test_cyclic_displacements_are_reported_and_their_momenta_proved() -> None:
    x, y, z = cg.coordinates("x y z")
    e1, e2, e3 = cg.velocities("e1 e2 e3")
    heisenberg = cg.System(
        "heisenberg",
        kinematics={x: e1, y: e2, z: e3 - y * e1 / 2 + x * e2 / 2},
        kinetic=(e1**2 + e2**2 + e3**2) / 2,
        potential=x**2,
    )
    assert heisenberg.cyclic_velocities() == (e3,)
    assert heisenberg.equations("poincare").invariant_status["p_e3"] == "proved"


def test_where_the_energy_is_not_conserved_it_is_still_an_output() -> None:
    eqs = hoop(OM * cg.time).equations("lagrange")
    assert "energy" in [v.name for v in eqs.program.outputs]
    assert "energy" not in [
        v.name for v in cg.example("heavy_top").system.equations("poincare").program.outputs
    ]


@pytest.mark.parametrize("name", ["chaplygin_sleigh", "euler_rigid_body", "n_link_pendulum"])
def test_catalogue_energies(name: str) -> None:
    entry = cg.example(name)
    assert "energy" in found(entry.system.equations(entry.forms[0]))


def test_a_parameter_that_is_zero_in_the_example_still_counts() -> None:
    """Declared values can be zero, such as a damping; invariants must hold for other values too."""
    x, y = cg.coordinates("x y")
    e1, e2 = cg.velocities("e1 e2")
    a, c = cg.parameters("a c")
    system = cg.System(
        "switched_off",
        kinematics={x: e1, y: e2 + a * x * y * e1},
        kinetic=(e1**2 + e2**2) / 2,
        forces={e2: -c * e2},
        example={x: 1, y: 0.5, e1: 1, e2: 1, a: 0, c: 0},
    )
    assert system.structure_constants()[0][1][1] == -a * x
    assert "energy" not in found(system.equations("poincare"))


def test_integrals_with_multipliers_hold_on_the_constraints() -> None:
    entry = cg.example("chaplygin_sleigh")
    assert entry.system.equations("multipliers").invariant_status == {"energy": "proved"}


def test_nothing_is_conserved_that_changes_far_from_the_example() -> None:
    """Damping that acts only far from the example point, a potential far away, an input in V: none is overlooked."""
    q, r = cg.coordinates("q r")
    u = cg.inputs("u")
    qd, rd = cg.rate(q), cg.rate(r)

    def status(**given: object) -> dict[str, str]:
        declared: dict[str, object] = {"coordinates": [q], "kinetic": qd**2 / 2, **given}
        return cg.System("far", **declared).equations("lagrange").invariant_status

    ground = {"forces": {qd: -10 * sp.Max(0, -q) * qd}, "potential": 9.81 * q, "example": {q: 2, qd: 0}}
    assert "energy" not in status(**ground)
    assert "energy" not in status(forces={qd: sp.Piecewise((-qd, q > 5), (0, True))}, example={q: 0, qd: 1})
    assert "energy" not in status(forces={qd: -qd * sp.Max(0, cg.time - 5)})
    assert "energy" not in status(potential=(q - u) ** 2 / 2)
    distant = {
        "kinetic": (qd**2 + rd**2) / 2,
        "potential": q**2 / 2 + 4 * sp.exp(-((r - 20) ** 2)),
        "coordinates": [q, r],
    }
    assert "p_r_dot" not in status(**distant, example={q: 1, r: 0, qd: 0, rd: 1})
    small = {"kinetic": (qd**2 + rd**2) / 2, "potential": 1e-14 * (q**2 + r), "coordinates": [q, r]}
    assert set(status(**small)) == {"energy"}
    assert cg.System("small", **small).cyclic_velocities() == ()


def test_what_plainly_moves_is_not_followed_over_branches(monkeypatch: pytest.MonkeyPatch) -> None:
    """2^7 combinations of branches, and damping: floats show that neither the energy nor a momentum is kept."""
    x, y = cg.coordinates("x y")
    c, d = cg.parameters("c d", positive=True)
    bumps = sum(abs(x - i) + abs(y + i) for i in range(4))
    eqs = cg.System(
        "bumps",
        coordinates=[x, y],
        kinetic=(cg.rate(x) ** 2 + (1 + x**2) * cg.rate(y) ** 2) / 2,
        potential=c * bumps + sp.exp(x * y),
        forces={v: -d * v for v in (cg.rate(x), cg.rate(y))},
    ).equations()

    def counted(*_: object) -> None:
        raise AssertionError("branches are listed")

    monkeypatch.setattr("chaplygin.codegen.derive.conservation.branches", counted)
    assert found(eqs) == set()
