"""Systems of kinematics alone: inputs in the place of all velocities, dx/dt = X_0(t, x, u).

Oracle: the arcs of circles and straight lines of Dubins' car, x' = v cos(theta), y' = v sin(theta), theta' = v c. The
page docs/crossings.md tries such a system together with every other feature.
"""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import sympy as sp
from refusals import refused

import chaplygin as cg

X, Y, HEADING = cg.coordinates("x y theta")
V, CURVATURE, STEERING = cg.inputs("v c delta")
LENGTH = cg.parameters("L", positive=True)
REST = {"x": 0.0, "y": 0.0, "theta": 0.0}
Pose = tuple[float, float, float]


def car(**more: Any) -> cg.System:
    forward = {X: V * sp.cos(HEADING), Y: V * sp.sin(HEADING)}
    return cg.System("dubins_car", kinematics={**forward, HEADING: V * CURVATURE}, **more)


def arc(pose: Pose, length: float, curvature: float) -> Pose:
    """The pose after an arc, or a straight line if the curvature is 0."""
    x, y, a = pose
    if curvature == 0:
        return x + length * np.cos(a), y + length * np.sin(a), a
    b, r = a + length * curvature, 1 / curvature
    return x + r * (np.sin(b) - np.sin(a)), y - r * (np.cos(b) - np.cos(a)), b


@pytest.fixture(scope="module")
def model() -> Any:
    return car(outputs={"speed": sp.sqrt(cg.rate(X) ** 2 + cg.rate(Y) ** 2)}).compile()


def test_declaration() -> None:
    system = car()
    equations = system.equations()
    assert (system.velocities, equations.states, equations.form) == ((), ("x", "y", "theta"), "given")
    assert equations.mass_matrix.shape == (0, 0)
    assert equations.forcing.shape == (0, 1)
    assert equations.kinematics == sp.Matrix([V * sp.cos(HEADING), V * sp.sin(HEADING), V * CURVATURE])
    assert pickle.loads(pickle.dumps(system)).digest == system.digest
    symbolic = equations.to_sympy_system()
    assert [str(e) for e in symbolic.comb_explicit_rhs] == [
        "v(t)*cos(theta(t))",
        "v(t)*sin(theta(t))",
        "c(t)*v(t)",
    ]


def test_a_path_of_arcs_and_a_line(model: Any) -> None:
    """Left, straight, right: the shortest paths of bounded curvature are of this kind."""
    lengths, curvatures = (1.25, 2.0, 0.75), (1.0, 0.0, -1.0)
    expected: Pose = (0.0, 0.0, 0.0)
    for length, curvature in zip(lengths, curvatures):
        expected = arc(expected, length, curvature)
    turns = ([0.0, 0.625, 1.625], list(curvatures))  # at speed 2
    for method in ("vern9", "dop853", "rodas5p"):
        run = model.integrate((0, 2), REST, {}, {"v": 2.0, "c": turns}, method=method, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(run.y[:, -1], expected, rtol=0, atol=1e-8)
    np.testing.assert_allclose(run["speed"], 2.0, rtol=1e-14)


def test_a_batch_is_steered(model: Any) -> None:
    curvatures = np.array([0.5, 0.0, -2.0])
    batch = model.batch(REST, {}, {"v": 1.0, "c": 0.0}, n=3)
    batch.advance_by(1.0)
    batch.advance_by(2.0, inputs={"c": curvatures})
    expected = [arc((1.0, 0.0, 0.0), 2.0, c) for c in curvatures]
    np.testing.assert_allclose(batch.y.T, expected, rtol=0, atol=1e-8)


def test_reflections_between_walls() -> None:
    """A straight path between y = 0 and y = 1 is a triangular wave; lanes and threads give the bits of single runs."""
    walls = [
        cg.Event(Y - 1, direction=1, reset={HEADING: -HEADING}, name="top"),
        cg.Event(Y, direction=-1, reset={HEADING: -HEADING}, name="bottom"),
    ]
    model = car(events=walls).compile()
    angles = np.array([0.3, 0.7, 1.1, 1.4, -0.2])
    start, inputs = {**REST, "y": 0.5, "theta": angles}, {"v": 1.0, "c": 0.0}
    runs = [cg.ensemble(model, (0, 9), start, {}, inputs=inputs, progress=False, lanes=lanes, threads=threads)
            for lanes, threads in ((1, 1), (4, 2))]  # fmt: skip
    assert runs[0].y.tobytes() == runs[1].y.tobytes()
    climbed = 0.5 + 9 * np.sin(angles)
    np.testing.assert_allclose(runs[0]["y"], np.abs((climbed + 1) % 2 - 1), rtol=0, atol=1e-9)
    np.testing.assert_allclose(runs[0]["x"], 9 * np.cos(angles), rtol=0, atol=1e-9)
    alone = [model.integrate((0, 9), {**start, "theta": a}, {}, inputs) for a in angles]
    assert np.array([run.y[:, -1] for run in alone]).T.tobytes() == runs[0].y.tobytes()
    times = (np.arange(1, 10) - 0.5) / np.sin(angles[2])
    np.testing.assert_allclose(alone[2].t_events[0], times[times < 9][::2], atol=1e-10)


def test_sensitivities_and_gradient() -> None:
    """Front wheels steered by delta: c = tan(delta) / L, and x = sin(c v t) / c, y = (1 - cos(c v t)) / c."""
    forward = {X: V * sp.cos(HEADING), Y: V * sp.sin(HEADING)}
    system = cg.System("steered", kinematics={**forward, HEADING: V * sp.tan(STEERING) / LENGTH})
    model, numbers, inputs = system.compile(), {"L": 2.5}, {"v": 1.5, "delta": 0.3}
    v, delta, length, t = sp.symbols("v delta L t")
    c = sp.tan(delta) / length
    exact = {"x": sp.sin(c * v * t) / c, "y": (1 - sp.cos(c * v * t)) / c, "theta": c * v * t}
    at = {v: 1.5, delta: 0.3, length: 2.5, t: 4.0}
    sol = model.integrate((0, 4), REST, numbers, inputs, sensitivities=["L", "v", "delta"])
    for name, of in exact.items():
        assert sol[name][-1] == pytest.approx(float(of.subs(at)), abs=1e-8)
        for by in (v, delta, length):
            slope = float(of.diff(by).subs(at))
            assert sol.sensitivity[name, by.name][-1] == pytest.approx(slope, abs=1e-7)
    found = model.gradient(cg.final("y"), (0, 4), REST, numbers, inputs, by=["L", "delta"])
    for by in (length, delta):
        assert found[by.name] == pytest.approx(float(exact["y"].diff(by).subs(at)), abs=1e-7)


def test_linearization(model: Any) -> None:
    rest = {"x": 1, "y": 2, "theta": 0.5}, {}, {"v": 0, "c": 0.2}
    refused("the output speed of dubins_car has no derivative", model.linearize, *rest)
    near = car().compile().linearize(*rest)
    np.testing.assert_allclose(near.A, np.zeros((3, 3)))
    np.testing.assert_allclose(near.B[:, near.inputs.index("v")], [np.cos(0.5), np.sin(0.5), 0.2], rtol=1e-15)


def test_attitude_keeps_its_norm() -> None:
    """A quaternion that is turned by prescribed body rates: |q|^2 is an invariant of the kinematics."""
    q, rates = sp.Matrix(cg.coordinates("q0 q1 q2 q3")), sp.Matrix(cg.inputs("w1 w2 w3"))
    vector = q[1:, 0]
    turning = [-vector.dot(rates) / 2, *((q[0] * rates + vector.cross(rates)) / 2)]
    system = cg.System("attitude", kinematics=dict(zip(q, turning)), example=dict(zip(q, (1, 0, 0, 0))))
    model = system.compile()
    assert model.invariants == model.checked_at_start == ("coordinates_1",)
    sol = model.integrate((0, 3), [1, 0, 0, 0], {}, {"w1": 0.6, "w2": 0.0, "w3": 0.8})
    half = 1.5  # a turn about (0.6, 0, 0.8) at rate 1
    expected = [np.cos(half), *np.sin(half) * np.array([0.6, 0.0, 0.8])]
    np.testing.assert_allclose(sol.y[:, -1], expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"kinetic": LENGTH}, "so kinetic cannot be given: .* in terms of velocities .* omit kinetic"),
        ({"potential": X}, "so potential cannot be given"),
        ({"forces": {V: 1}}, "so forces cannot be given"),
        ({"holonomic": [X]}, "so holonomic cannot be given"),
        ({"contacts": [cg.Coulomb("c", slip=X, normal=1, mu=1)]}, "so contacts cannot be given"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_needs_velocities_is_refused(more: dict[str, Any], message: str) -> None:
    refused(
        f"'dubins_car': kinematics contains no velocity, {message}", car, error=cg.DeclarationError, **more
    )


def test_other_refusals(model: Any) -> None:
    eta = cg.velocities("eta")
    with pytest.raises(cg.DeclarationError, match=r"kinetic is missing; give T\(t, x, eta\)"):
        cg.System("massless", kinematics={X: eta})
    words = r"maggi does not fit .* \(there is none: kinematics contains no velocity\)"
    refused(words, car().equations, "maggi", error=cg.FormError)
    run = model.integrate((0, 1), REST, {}, {"v": 1.0})
    refused("no power balance to audit: its equations are given without", run.audit)
