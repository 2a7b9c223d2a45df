"""Routh's and Whittaker's reductions against the full equations, on systems in which every term is active."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from refusals import refused
from unit_masses import unit_masses

import chaplygin as cg
from chaplygin.errors import FormError

TIGHT = {"rtol": 1e-12, "atol": 1e-12}
X, Y, Z = cg.coordinates("x y z")
E1, E2, E3 = cg.velocities("eta1 eta2 eta3")


def heisenberg() -> cg.System:
    """X_1 = d_x - y/2 d_z, X_2 = d_y + x/2 d_z, X_3 = d_z cyclic; [X_1, X_2] = X_3: the a_gamma term is active."""
    return cg.System(
        "heisenberg",
        kinematics={X: E1, Y: E2, Z: E3 - Y * E1 / 2 + X * E2 / 2},
        kinetic=(E1**2 + E2**2 + E3**2) / 2 + E1 * E3 / 4,
        potential=(X**2 + 2 * Y**2) / 2,
    )


def pendulum() -> cg.System:
    """A spherical pendulum: the azimuth psi is ignorable and drops out."""
    theta, psi = cg.coordinates("theta psi")
    m, length, g = cg.parameters("m l g", positive=True)
    kinetic = m * length**2 * (cg.rate(theta) ** 2 + cg.rate(psi) ** 2 * sp.sin(theta) ** 2) / 2
    return cg.System(
        "spherical_pendulum",
        coordinates=[theta, psi],
        kinetic=kinetic,
        potential=-m * g * length * sp.cos(theta),
    )


def forced() -> cg.System:
    """Explicit time, a drift X_0, a force on the remaining velocity, and linear terms in T; X_3 = d_z is cyclic."""
    t = cg.time
    return cg.System(
        "forced",
        kinematics={X: E1 + sp.sin(t), Y: E2 + X * E1, Z: E3 + Y * E1 - sp.cos(X) * E2},
        kinetic=(E1**2 + 2 * E2**2 + E3**2) / 2
        + E1 * E2 * sp.cos(Y) / 3
        + E3 * sp.sin(t)
        + E2 * X
        + E3 * E1 / 5,
        potential=X**2 / 2 + sp.cos(Y) * (1 + sp.sin(t) / 2),
        forces={E1: -E1 / 3, E2: sp.sin(X)},
    )


@pytest.mark.parametrize(
    ("system", "initial", "parameters", "momenta"),
    [
        (heisenberg, {"x": 1, "y": 0.5, "z": 0, "eta1": 0.2, "eta2": -0.3, "eta3": 1.5}, {}, ["eta3"]),
        (
            pendulum,
            {"theta": 0.7, "psi": 0.1, "theta_dot": 0.3, "psi_dot": 1.9},
            {"m": 1.3, "l": 0.8, "g": 9.81},
            ["psi_dot"],
        ),
        (forced, {"x": 0.3, "y": 0.5, "z": 0.1, "eta1": 0.2, "eta2": -0.3, "eta3": 1.1}, {}, ["eta3"]),
    ],
)
def test_routh_gives_the_motion_of_the_full_equations(system, initial, parameters, momenta) -> None:  # type: ignore[no-untyped-def]
    declared = system()
    full = declared.compile("poincare").integrate((0, 2), initial=initial, parameters=parameters, **TIGHT)
    eqs = declared.equations("routh")
    assert [s.name for s in eqs.parameters] == [f"a_{name}" for name in momenta]
    model = cg.compile(eqs)
    reduced = model.integrate((0, 2), initial=initial, parameters=parameters, **TIGHT)
    for name in (*model.states, *momenta):
        assert reduced[name][-1] == pytest.approx(full[name][-1], abs=1e-10)
    if system is pendulum:
        assert model.states == ("theta", "theta_dot")


def test_the_reduced_system_stands_alone() -> None:
    eqs = pendulum().equations("routh")
    reduced = eqs.reduced_system()
    assert [s.name for s in reduced.parameters][-1] == "a_psi_dot" or "a_psi_dot" in {
        s.name for s in reduced.parameters
    }
    values = {"m": 1.3, "l": 0.8, "g": 9.81, "a_psi_dot": 1.3 * 0.64 * np.sin(0.7) ** 2 * 1.9}
    start = {"theta": 0.7, "theta_dot": 0.3}
    own = reduced.compile("lagrange").integrate((0, 2), initial=start, parameters=values, **TIGHT)
    full = (
        pendulum()
        .compile("lagrange")
        .integrate(
            (0, 2),
            initial={**start, "psi": 0, "psi_dot": 1.9},
            parameters={k: v for k, v in values.items() if k != "a_psi_dot"},
            **TIGHT,
        )
    )
    assert own["theta"][-1] == pytest.approx(full["theta"][-1], abs=1e-10)
    x, y = cg.coordinates("x y")
    coupled = cg.System(
        "coupled",
        coordinates=[x, y],
        kinetic=cg.rate(x) ** 2 / 2 + cg.rate(y) ** 2 * (1 + x**2) / 2,
        forces={cg.rate(x): -cg.rate(y) * x},
        outputs={"spin": cg.rate(y) * 2},
    )
    alone = coupled.equations("routh").reduced_system()
    begin, inside = {"x": 0.3, "x_dot": 0.2}, {"a_y_dot": 1.5 * (1 + 0.09)}
    whole = coupled.compile("lagrange").integrate(
        (0, 1), initial={**begin, "y": 0.0, "y_dot": 1.5}, parameters={}, **TIGHT
    )
    part = alone.compile("lagrange").integrate((0, 1), initial=begin, parameters=inside, **TIGHT)
    assert part["x"][-1] == pytest.approx(whole["x"][-1], abs=1e-11)
    assert part["spin"][-1] == pytest.approx(whole["spin"][-1], abs=1e-11)
    with pytest.raises(FormError, match="remaining displacements close' fails"):
        heisenberg().equations("routh").reduced_system()
    with pytest.raises(FormError, match="only the form routh"):
        pendulum().equations("lagrange").reduced_system()


@pytest.mark.parametrize(
    ("system", "options", "words"),
    [
        (
            pendulum,
            {"ignore": ["theta_dot"]},
            "theta_dot is not cyclic: hypothesis 'X_theta_dot L = 0' fails",
        ),
        (heisenberg, {"ignore": ["eta1"]}, "eta1 is not cyclic: hypothesis 'X_eta1 L = 0' fails"),
        (heisenberg, {"ignore": ["eta9"]}, "eta9 is not a velocity"),
        (heisenberg, {"ignore": "eta1"}, "eta1 is not cyclic"),
        (heisenberg, {"ignore": []}, "ignore is empty"),
        (
            lambda: cg.System("free", coordinates=[X, Y], kinetic=cg.rate(X) ** 2 + cg.rate(Y) ** 2),
            {},
            "'a velocity remains' fails",
        ),
        (
            lambda: cg.System("well", coordinates=[X], kinetic=cg.rate(X) ** 2, potential=X**2),
            {},
            r"' fails for every velocity. x_dot: 'X_x_dot L = 0' fails: T or V changes along it$",
        ),
        (
            lambda: cg.System(
                "brake",
                coordinates=[X, Y],
                kinetic=cg.rate(X) ** 2 + cg.rate(Y) ** 2,
                forces={cg.rate(Y): -cg.rate(Y)},
            ),
            {"ignore": ["y_dot"]},
            "'Q_y_dot = 0' fails: a force acts along it$",
        ),
        (
            lambda: cg.example("euler_rigid_body").system,
            {"ignore": ["w3"]},
            r"'\[X_w1, X_w3\] = 0' fails: it does not commute with X_w1$",
        ),
        (
            lambda: cg.System(
                "held",
                coordinates=[X, Y],
                kinetic=cg.rate(X) ** 2 + cg.rate(Y) ** 2,
                constraints=[cg.rate(X)],
            ),
            {},
            "no constraints",
        ),
    ],
)
def test_routh_refuses(system, options, words) -> None:  # type: ignore[no-untyped-def]
    refused(words, system().equations, "routh", error=FormError, **options)


Q1, Q2, Q3, Q4 = cg.coordinates("q1 q2 q3 q4")
U1, U2, U3, U4 = cg.velocities("u1 u2 u3 u4")


def curved(constrained: bool = True) -> cg.System:
    """x_1 = q1 in L, fields and b; non-constant c; b_a1 not zero; terms of T linear in the velocities."""
    kinetic = (
        (2 * U1**2 + U2**2 * (1 + Q3**2 / 5) + U3**2 + 3 * U4**2) / 2 + U1 * U2 * sp.cos(Q2) / 4 + U3 * U4 / 5
    )
    return cg.System(
        "curved",
        kinematics={
            Q1: U1,
            Q2: U2 * (1 + Q1**2 / 9) + sp.sin(Q3) * U1,
            Q3: U3 + Q1 * U2 / 3,
            Q4: U4 + sp.cos(Q1) * U3 + Q2 * U1 / 4,
        },
        kinetic=kinetic + U2 * Q1 / 3 + U1 * sp.cos(Q2) / 2 - U4 * Q3 / 2,
        potential=sp.sin(Q1) / 2 + Q2 * Q3 / 3 + Q4**2 / 4,
        constraints=[U4 - sp.sin(Q2) * U1 - Q1 * U3 / 2] if constrained else [],
        example={Q1: 0.2, Q2: 0.3, Q3: -0.4, Q4: 0.1, U1: 1.5, U2: 0.4, U3: -0.3, U4: 0.1},
    )


@pytest.mark.parametrize(
    ("constrained", "speed"),
    [
        (True, 1.5),
        *(pytest.param(*p, marks=pytest.mark.slow) for p in ((True, -1.5), (False, 1.5), (False, -1.5))),
    ],
)
def test_whittaker_gives_the_motion_of_the_full_equations(constrained: bool, speed: float) -> None:
    system = curved(constrained)
    start = {"q1": 0.2, "q2": 0.3, "q3": -0.4, "q4": 0.1, "u1": speed, "u2": 0.4, "u3": -0.3}
    start["u4"] = float(np.sin(0.3) * speed - 0.03) if constrained else 0.1
    options = {"independent": [U1, U2, U3]} if constrained else {}
    model = system.compile("maggi" if constrained else "poincare", **options)
    full = model.integrate((0, 0.6), initial=start, parameters={}, **TIGHT)
    assert np.all(np.sign(full["u1"]) == np.sign(speed))
    reduced = system.compile("whittaker", along=Q1, branch=int(np.sign(speed)), **options)
    run = reduced.integrate((0.2, full["q1"][-1]), initial=start, parameters={}, **TIGHT)
    assert run["t"][-1] == pytest.approx(0.6, abs=1e-10)
    for name in ("q2", "q3", "q4", "u1", "u2", "u3", "u4"):
        assert run[name][-1] == pytest.approx(full[name][-1], abs=1e-9)


@pytest.mark.parametrize("tolerance", [1e-6, 1e-9, 1e-11])
def test_the_end_of_a_branch_is_reported(tolerance: float) -> None:
    """The sleigh cannot turn beyond phi_inf: the run stops close to it, with a status and the results so far."""
    entry = cg.example("chaplygin_sleigh")
    model = entry.system.compile("whittaker")
    run = model.integrate(
        (0.2, 1.5), entry.initial, entry.parameters, rtol=tolerance, atol=tolerance, max_steps=100_000
    )
    assert run.status < 0
    assert "branch" in run.message
    assert run.t[-1] == pytest.approx(1.2460970782404649, abs=1e-3)  # [G], closed form
    assert run.t[-1] < 1.2460970782404649


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        ({"forces": {U2: -U2}}, {}, r"'no forces besides the potential' fails \(forces on u2\)"),
        ({"potential": Q1 * cg.time}, {}, "'nothing depends on time' fails"),
        (
            {"potential": Q1 * cg.inputs("F")},
            {},
            "'nothing depends on time' fails .the potential contains the input F",
        ),
        ({"constraints": [U4 - 1]}, {}, "'constraints are linear and homogeneous' fails"),
        ({"constraints": [U1]}, {"along": Q1}, "'eta_1 is an independent velocity' fails"),
        ({}, {"along": Q2}, "'dx_1/dt is a velocity of the system' fails for q2; it holds for q1"),
        ({}, {"along": "elsewhere"}, "elsewhere is not a coordinate"),
        ({}, {"branch": 2}, "branch is 2"),
        ({"kinetic": (U1**2 + U2**2 + U3**2 + U4**2) / 2 + U1**4}, {}, "'L is of second degree"),
        ({"potential": Q1 * cg.parameters("h")}, {}, "uses the name 'h'"),
    ],
)
def test_whittaker_refuses(change: dict[str, object], options: dict[str, object], words: str) -> None:
    base = curved(False)
    given: dict[str, object] = {
        "kinematics": base.kinematics,
        "kinetic": base.kinetic,
        "potential": base.potential,
        "example": base.example,
    }
    with pytest.raises(FormError, match=words):
        cg.System("changed", **{**given, **change}).equations("whittaker", **options)


def test_chetaev_equals_poincare_with_all_terms() -> None:
    system = forced()
    start = {"x": 0.3, "y": 0.5, "z": 0.1, "eta1": 0.2, "eta2": -0.3, "eta3": 1.1}
    runs = [
        system.compile(form).integrate((0, 2), initial=start, parameters={}, **TIGHT)
        for form in ("poincare", "chetaev", "hamel", "nonholonomic")
    ]
    for run in runs[1:]:
        for name in start:
            assert run[name][-1] == pytest.approx(runs[0][name][-1], abs=1e-10)


def test_multipliers_give_motion_and_reactions() -> None:
    """A bead on the line x = y/2: N is known, and the motion agrees with Maggi's equations."""
    m, g = cg.parameters("m g", positive=True)
    bead = cg.System(
        "bead",
        coordinates=[X, Y],
        kinetic=m * (cg.rate(X) ** 2 + cg.rate(Y) ** 2) / 2,
        potential=m * g * Y,
        constraints=[cg.rate(Y) - 2 * cg.rate(X)],
    )
    values = {"m": 1.5, "g": 9.81}
    start = {"x": 0.0, "y": 0.0, "x_dot": 0.1, "y_dot": 0.2}
    run = bead.compile("multipliers", release=Y).integrate((0, 1), initial=start, parameters=values, **TIGHT)
    # Along the line with slope 2: acceleration -g sin(a), sin(a) = 2/sqrt(5); lambda = m (y'' + g).
    along = -9.81 * 2 / np.sqrt(5)
    assert run["x"][-1] == pytest.approx(0.1 + along / np.sqrt(5) / 2, abs=1e-11)
    second = along * 2 / np.sqrt(5)
    assert run["lambda_1"][-1] == pytest.approx(1.5 * (second + 9.81), rel=1e-12)
    assert run["reaction_x_dot"][-1] == pytest.approx(-2 * 1.5 * (second + 9.81), rel=1e-12)
    assert run["reaction_y"][-1] == pytest.approx(run["lambda_1"][-1], rel=1e-12)
    assert abs(run["constraint_1"][-1]) < 1e-12
    refused("'constraints as equations' fails", pendulum().equations, "multipliers", error=FormError)
    refused("z is not a coordinate", bead.equations, "multipliers", release=Z, error=FormError)


def test_whittaker_keeps_and_reports_holonomic_equations() -> None:
    """A particle on a sphere, reduced: the motion of the full equations, with |r|^2 - 1 as a residual."""
    x, y, z = cg.coordinates("x y z")
    system = unit_masses("bead_on_sphere", [x, y, z], potential=9.81 * z, holonomic=[x**2 + y**2 + z**2 - 1])
    start = {"x": 0.48, "y": 0.36, "z": -0.8, "x_dot": 0.6, "y_dot": -0.8, "z_dot": 0.0}
    full = system.compile("maggi").integrate((0, 0.1), start, {}, **TIGHT)
    reduced = system.compile("whittaker", along=x)
    run = reduced.integrate((0.48, full["x"][-1]), start, {}, **TIGHT)
    assert run["t"][-1] == pytest.approx(0.1, abs=1e-11)
    assert run["z"][-1] == pytest.approx(full["z"][-1], abs=1e-11)
    assert reduced.residuals == ("holonomic_1",)
    assert abs(run["holonomic_1"]).max() < 1e-13
    with pytest.raises(cg.ArgumentError, match=r"the residual holonomic_1 = -0\.15 at the start"):
        reduced.integrate((0.48, 0.5), {**start, "z": -0.7}, {})
