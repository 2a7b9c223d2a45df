"""Inputs whose rates enter the equations: every form against SymPy's derivatives, and against the declared motion.

With the input u replaced by the polynomial u0 + u1 t + u2 t^2/2, the same expressions are functions of the time, whose
total derivatives SymPy takes (`lagrange`) and which this package derives as it does any function of the time. At t = 0
all must agree with the equations in u, u' and u''.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import sympy as sp
from refusals import refused

import chaplygin as cg

Q, X, Y, PHI = cg.coordinates("q x y phi")
OMEGA, V, W = cg.velocities("omega v w")
M, L, G, J, A = cg.parameters("m l g J a", positive=True)
U = cg.inputs("u")
T = cg.time
U0, U1, U2 = 0.3, -0.7, 1.3
MOTION = U0 + U1 * T + U2 * T**2 / 2
RATES = {"u": U0, "u_dot": U1, "u_ddot": U2}
PARAMETERS = {"m": 1.3, "l": 0.7, "g": 9.81, "J": 0.4, "a": 0.25}

Declare = Callable[[Any, Any], dict[str, Any]]


def driven_pivot(u: Any, rate: Any) -> dict[str, Any]:
    qd = cg.rate(Q)
    kinetic = M * ((L * qd * sp.cos(Q)) ** 2 + (rate + L * qd * sp.sin(Q)) ** 2) / 2
    return {"coordinates": [Q], "kinetic": kinetic, "potential": M * G * (u - L * sp.cos(Q))}


def varying_mass(u: Any, rate: Any) -> dict[str, Any]:
    return {"coordinates": [X], "kinetic": (1 + u**2) * M * cg.rate(X) ** 2 / 2, "potential": G * X * u}


def varying_length(u: Any, rate: Any) -> dict[str, Any]:
    kinetic = M * (cg.rate(X) ** 2 + cg.rate(Y) ** 2) / 2
    return {
        "coordinates": [X, Y],
        "kinetic": kinetic,
        "potential": M * G * Y,
        "holonomic": [X**2 + Y**2 - u**2],
    }


def steered(u: Any, rate: Any) -> dict[str, Any]:
    """A car: rear wheels at the origin of its axes, front wheels at a distance l, turned by u."""
    planar = {PHI: OMEGA, X: V * sp.cos(PHI) - W * sp.sin(PHI), Y: V * sp.sin(PHI) + W * sp.cos(PHI)}
    return {
        "kinematics": planar,
        "kinetic": M * (V**2 + (W + A * OMEGA) ** 2) / 2 + J * OMEGA**2 / 2,
        "constraints": [W, (W + L * OMEGA) * sp.cos(u) - V * sp.sin(u)],
        "example": {PHI: 0.2, L: 0.7, M: 1.3, J: 0.4, A: 0.25},
    }


def carried(u: Any, rate: Any) -> dict[str, Any]:
    """A skate on ice that moves sideways with the speed u'."""
    planar = {PHI: OMEGA, X: V * sp.cos(PHI) - W * sp.sin(PHI), Y: V * sp.sin(PHI) + W * sp.cos(PHI)}
    kinetic = M * (V**2 + (W + A * OMEGA) ** 2) / 2 + J * OMEGA**2 / 2
    return {"kinematics": planar, "kinetic": kinetic, "constraints": [W - rate * sp.cos(PHI)]}


def turned_axes(u: Any, rate: Any) -> dict[str, Any]:
    """A particle whose velocities are along axes at the angle u: v' = g_v + w u', w' = g_w - v u'."""
    axes = {X: V * sp.cos(u) - W * sp.sin(u), Y: V * sp.sin(u) + W * sp.cos(u)}
    return {"kinematics": axes, "kinetic": M * (V**2 + W**2) / 2, "potential": M * G * Y}


def drifting(u: Any, rate: Any) -> dict[str, Any]:
    """A velocity relative to what moves with the speed u."""
    return {"kinematics": {X: V + u}, "kinetic": M * (V + u) ** 2 / 2, "potential": M * X**2}


def crank(u: Any, rate: Any) -> dict[str, Any]:
    """A body on a driven crank."""
    centre = (L * sp.cos(u) + A * sp.sin(Q), 0, L * sp.sin(u) - A * sp.cos(Q))
    turn = sp.Matrix([[sp.cos(Q), 0, sp.sin(Q)], [0, 1, 0], [-sp.sin(Q), 0, sp.cos(Q)]])
    body = cg.Body("bob", mass=M, inertia=sp.diag(J, J, J), center=centre, rotation=turn)
    return {"coordinates": [Q], "bodies": [body], "interactions": [cg.Weight(G)]}


def spherical(u: Any, rate: Any) -> dict[str, Any]:
    """A spherical pendulum whose pivot is lifted: its azimuth is cyclic."""
    theta, turn = cg.rate(Q), cg.rate(PHI)
    speed = (L * theta * sp.cos(Q)) ** 2 + (L * sp.sin(Q) * turn) ** 2 + (rate + L * theta * sp.sin(Q)) ** 2
    return {"coordinates": [Q, PHI], "kinetic": M * speed / 2, "potential": M * G * (u - L * sp.cos(Q))}


def telescope(u: Any, rate: Any) -> dict[str, Any]:
    """An arm on a driven slide, with a link of driven length."""
    upper = cg.joint.revolute(None, "y", name="q", at=(u, 0, 0), mass=M, inertia=[J, J, J], center=(0, 0, -A))
    lower = cg.joint.revolute(
        upper, "y", name="phi", at=(0, 0, -L - u**2), mass=M, inertia=[J, J, J], center=(0, 0, -A)
    )
    tip = cg.joint.fixed(lower, name="tip", at=(0, 0, u), mass=M, inertia=[J, J, J])
    return {"bodies": [upper, lower, tip], "interactions": [cg.Weight(G)]}


FORMS = {
    spherical: ("lagrange", "routh", "chetaev"),
    telescope: ("lagrange", "recursive", "hamel"),
    driven_pivot: ("lagrange", "poincare", "hamel", "chetaev"),
    varying_mass: ("lagrange", "hamel", "chetaev"),
    varying_length: ("multipliers",),
    steered: ("maggi", "multipliers", "nonholonomic", "hamel"),
    carried: ("maggi", "multipliers", "nonholonomic", "hamel"),
    turned_axes: ("poincare", "hamel", "chetaev"),
    drifting: ("poincare", "hamel", "chetaev"),
    crank: ("lagrange", "hamel"),
}
CASES = [(declare, form) for declare, forms in FORMS.items() for form in forms]


def models(declare: Declare, form: str) -> tuple[Any, Any]:
    """The model with the input, and the one with its motion."""
    name = declare.__name__
    driven = cg.System(name, **declare(U, cg.rate(U)))
    moved = cg.System(f"{name}_moved", **declare(MOTION, sp.diff(MOTION, T)))
    kept = {"independent": [V]} if declare is steered and form != "multipliers" else {}
    return driven.compile(form, **kept), moved.compile(form, **kept)


def state(model: Any, seed: int) -> dict[str, float]:
    draw = np.random.default_rng(seed)
    return {name: draw.uniform(0.2, 0.9) for name in model.states}


@pytest.mark.sample(2)
@pytest.mark.parametrize(("declare", "form"), CASES, ids=lambda v: getattr(v, "__name__", v))
def test_rates_and_outputs_are_those_of_the_motion(declare: Declare, form: str) -> None:
    driven, moved = models(declare, form)
    inputs = {name: RATES[name] for name in driven.inputs}
    numbers = {name: PARAMETERS.get(name, 0.37) for name in driven.parameters}
    for seed in range(3):
        x = state(driven, seed)
        np.testing.assert_allclose(
            driven.rhs(0, x, numbers, inputs), moved.rhs(0, x, numbers), rtol=1e-12, atol=1e-12
        )
        found, expected = driven.evaluate(0, x, numbers, inputs), moved.evaluate(0, x, numbers)
        for name in {*driven.outputs, *driven.residuals} & {*moved.outputs, *moved.residuals}:
            assert found[name] == pytest.approx(expected[name], rel=1e-11, abs=1e-11), name
    assert "power" in driven.outputs or "energy" in driven.invariants  # ideal steering does no work


def accelerations(declare: Declare, x: Mapping[str, float]) -> dict[str, float]:
    """Those of coordinates, by SymPy: d/dt dL/dx' - dL/dx = A^T lambda, d/dt (A x' + A_0) = 0, at t = 0."""
    given = declare(MOTION, sp.diff(MOTION, T))
    rows = given.get("kinematics") or {q: cg.rate(q) for q in given["coordinates"]}
    q = list(rows)
    function = {s: sp.Function(s.name)(T) for s in q}
    etas = sorted({s for e in rows.values() for s in e.free_symbols if s in (OMEGA, V, W)}, key=str)
    speeds = {cg.rate(s): f.diff(T) for s, f in function.items()}
    if etas:
        rates = [sp.Symbol(f"{s}_rate") for s in q]
        (solved,) = sp.solve([r - e for r, e in zip(rates, rows.values())], etas, dict=True)
        speeds |= {
            eta: e.subs(dict(zip(rates, (f.diff(T) for f in function.values())))).subs(function)
            for eta, e in solved.items()
        }

    def moving(e: Any) -> Any:
        return sp.sympify(e).subs(speeds).subs(function)

    lagrangian = moving(given["kinetic"] - given.get("potential", 0))
    constraints = [moving(e) for e in given.get("constraints", ())]
    constraints += [moving(f).diff(T) for f in given.get("holonomic", ())]
    lambdas = sp.symbols(f"lambda_:{len(constraints)}")
    second = [f.diff(T, 2) for f in function.values()]
    equations = [c.diff(T) for c in constraints]
    for f in function.values():
        pushed = sum(a * c.diff(f.diff(T)) for a, c in zip(lambdas, constraints))
        equations.append(lagrangian.diff(f.diff(T)).diff(T) - lagrangian.diff(f) - pushed)
    # second derivatives, then first ones, then positions and numbers
    names = {a: sp.Symbol(f"a_{i}") for i, a in enumerate(second)}
    equations = [e.subs(names) for e in equations]
    firsts = {f.diff(T): x[f"{s}_rate"] for s, f in function.items()}
    at = {**{p: PARAMETERS[p.name] for p in (M, L, G, J, A)}, T: 0}
    plain = [e.subs(firsts).subs({f: x[s.name] for s, f in function.items()}).subs(at) for e in equations]
    unknown = [*names.values(), *lambdas]
    matrix, right = sp.linear_eq_to_matrix(plain, unknown)
    found = np.linalg.solve(np.array(matrix, float), np.array(right, float).ravel())
    return dict(zip((s.name for s in q), found))


@pytest.mark.parametrize(
    "declare", [d for d in FORMS if d not in (crank, telescope)], ids=lambda d: d.__name__
)
@pytest.mark.sample(2)
def test_accelerations_are_those_of_sympy(declare: Declare) -> None:
    """x'' by differences of x' along the flow: dx'/dt of the package's own kinematics is not used."""
    form = FORMS[declare][0]
    driven, _ = models(declare, form)
    numbers = {name: PARAMETERS[name] for name in driven.parameters}
    x = state(driven, 5)
    if declare is varying_length:
        x = driven.consistent({"x": 0.2, "y": -0.25, "x_dot": 0.4, "y_dot": 0.3}, numbers, inputs=RATES)

    def rates(t: float, y: Any) -> Any:
        inputs = {"u": U0 + U1 * t + U2 * t**2 / 2, "u_dot": U1 + U2 * t, "u_ddot": U2}
        return driven.rhs(t, y, numbers, {n: inputs[n] for n in driven.inputs})

    n = driven.n_coordinates
    y = np.array([x[name] for name in driven.states])
    f = rates(0, y)
    h = 1e-3
    # y along the flow to the third order is enough for differences of the fourth order in y'
    second = [(rates(s * h, y + s * h * f) - rates(-s * h, y - s * h * f))[:n] / (2 * s * h) for s in (1, 2)]
    slope = (4 * second[0] - second[1]) / 3
    at = {**x, **{f"{name}_rate": f[i] for i, name in enumerate(driven.states[:n])}}
    expected = accelerations(declare, at)
    np.testing.assert_allclose(slope, [expected[s] for s in driven.states[:n]], rtol=1e-8, atol=1e-8)


def test_a_driven_crank_by_hand() -> None:
    """A pendulum of length a whose pivot is at l (cos u, sin u):
    (J + m a^2) q'' = -m a g sin q - m a (X'' cos q + Z'' sin q)."""
    model, _ = models(crank, "lagrange")
    x, p = state(model, 7), PARAMETERS
    bend = np.array([-np.sin(U0), np.cos(U0)]) * U2 - np.array([np.cos(U0), np.sin(U0)]) * U1**2
    ax, az = p["l"] * bend
    q = x["q"]
    moment = -p["m"] * p["a"] * ((p["g"] + az) * np.sin(q) + ax * np.cos(q))
    found = model.rhs(0, x, {n: p[n] for n in model.parameters}, RATES)
    assert found[1] == pytest.approx(moment / (p["J"] + p["m"] * p["a"] ** 2), rel=1e-13)


def test_a_rolling_wheel_on_a_driven_floor_brings_the_rates() -> None:
    """`cg.rolling` of a body whose pose contains an input: the input's rate is in the constraint."""
    wheel = cg.Body("wheel", mass=M, inertia=sp.diag(J, J, J), center=(X + U, 0, L), rotation=_about_y(Q))
    slip = cg.rolling(wheel, (X + U, 0, 0), directions=[(1, 0, 0)])
    assert sp.simplify(slip[0] - (cg.rate(X) + cg.rate(U) - L * cg.rate(Q))) == 0
    system = cg.System("driven_wheel", coordinates=[X, Q], bodies=[wheel], constraints=slip)
    assert [u.name for u in system.inputs] == ["u", "u_dot", "u_ddot"]
    model = system.compile()
    # The contact stays at rest: x' + u' = l q' and no force acts along x, so (m + J/l^2) (x'' + u'') = 0.
    numbers = {n: PARAMETERS[n] for n in model.parameters}
    sol = model.integrate(
        (0, 2), dict.fromkeys(model.states, 0.0), numbers, {"u": lambda t: 0.1 * t**3}, rtol=1e-11, atol=1e-12
    )
    moved = sol["x"] + 0.1 * sol.t**3
    np.testing.assert_allclose(moved, 0, atol=1e-10)


def _about_y(angle: Any) -> Any:
    c, s = sp.cos(angle), sp.sin(angle)
    return sp.Matrix([[c, 0, s], [0, 1, 0], [-s, 0, c]])


def test_names_and_latex() -> None:
    delta = cg.inputs("delta")
    assert [s.name for s in (cg.rate(delta), cg.rate(cg.rate(delta)))] == ["delta_dot", "delta_ddot"]
    assert sp.latex(cg.rate(delta)) == r"\dot{\delta}"
    assert sp.latex(cg.rate(cg.rate(delta))) == r"\ddot{\delta}"
    assert cg.rate(delta) == cg.rate(cg.inputs("delta"))
    words = r"rate\(omega\): the argument must be a coordinate .* or an input"
    refused(words, cg.rate, OMEGA, error=cg.DeclarationError)
    for taken, kind in ((cg.inputs("u_dot"), "input"), (cg.parameters("u_dot"), "parameter")):
        said = f"the name 'u_dot' is used twice, as {kind} and as rate of the input u, .*; give the {kind} another name"
        with pytest.raises(cg.DeclarationError, match=said):
            cg.System("twice", coordinates=[X], kinetic=U * cg.rate(X) ** 2, forces={cg.rate(X): taken})
