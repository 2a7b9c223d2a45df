"""Sensitivities beside those of SUNDIALS' CVODES, through CasADi, from equations written by hand."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
from integrations import brought

from chaplygin.systems import example

pytestmark = pytest.mark.integration("casadi")
ca = pytest.importorskip("casadi", reason=brought("casadi"))
TIMES = np.linspace(0, 2, 5)


def heavy_top(x: Any, p: Any) -> list[Any]:
    """q' = q o (0, w)/2, (I w)' = (I w) x w - m g r x gamma with the vertical gamma in body axes."""
    q, w, moments, r = x[:4], x[4:], p[:3], p[5:]
    gamma = ca.vertcat(
        2 * (q[1] * q[3] - q[0] * q[2]),
        2 * (q[2] * q[3] + q[0] * q[1]),
        q[0] ** 2 - q[1] ** 2 - q[2] ** 2 + q[3] ** 2,
    )
    turned = ca.vertcat(-ca.dot(q[1:], w), q[0] * w + ca.cross(q[1:], w)) / 2
    return [turned, (ca.cross(moments * w, w) - p[3] * p[4] * ca.cross(r, gamma)) / moments]


def chaplygin_sleigh(x: Any, p: Any) -> list[Any]:
    """(a^2 + k^2) omega' = a omega (b omega - v), v' = a omega^2 + b omega'."""
    (a, b, k), (phi, omega, v) = ca.vertsplit(p), (x[0], x[3], x[4])
    turning = a * omega * (b * omega - v) / (a**2 + k**2)
    return [omega, v * ca.cos(phi), v * ca.sin(phi), turning, a * omega**2 + b * turning]


def double_pendulum(x: Any, p: Any) -> list[Any]:
    """Lagrange's equations of angles from the vertical, solved for the accelerations."""
    (m1, m2, l1, l2, g), (first, second, u, v) = ca.vertsplit(p), ca.vertsplit(x)
    c, s = ca.cos(first - second), ca.sin(first - second)
    mass = ca.blockcat([[(m1 + m2) * l1, m2 * l2 * c], [l1 * c, l2]])
    pull = ca.vertcat(-m2 * l2 * v**2 * s - (m1 + m2) * g * ca.sin(first), l1 * u**2 * s - g * ca.sin(second))
    return [u, v, ca.solve(mass, pull)]


def by_cvodes(equations: Any, start: Any, numbers: Any) -> tuple[Any, Any]:
    """The states at `TIMES[1:]`, and their derivatives by the parameters and by the initial values, (times, n, k)."""
    x, p = ca.MX.sym("x", len(start)), ca.MX.sym("p", len(numbers))
    how = {"reltol": 1e-12, "abstol": 1e-12, "linear_multistep_method": "adams", "max_num_steps": 100_000}
    run = ca.integrator(
        "run", "cvodes", {"x": x, "p": p, "ode": ca.vertcat(*equations(x, p))}, 0, TIMES[1:], how
    )
    ends = ca.vec(run(x0=x, p=p)["xf"])
    found = ca.Function("found", [x, p], [ends, ca.jacobian(ends, ca.vertcat(p, x))])
    y, slopes = (np.array(e) for e in found(start, numbers))
    return y.reshape(-1, len(start)), slopes.reshape(len(TIMES) - 1, len(start), -1)


@pytest.mark.parametrize("equations", [heavy_top, chaplygin_sleigh, double_pendulum])
def test_cvodes_has_the_same_sensitivities(equations: Any) -> None:
    name = equations.__name__
    model, given = import_module(f"chaplygin.generated.{name}").model, example(name)
    initial = {n: given.initial[n] for n in model.states}
    names = (*model.parameters, *model.states)
    y, slopes = by_cvodes(equations, [*initial.values()], [given.parameters[n] for n in model.parameters])
    how: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-11, "method": "vern9"}
    sol = model.integrate(
        (0, TIMES[-1]), initial, given.parameters, t_eval=TIMES[1:], sensitivities=names, **how
    )
    np.testing.assert_allclose(sol.y.T, y, atol=1e-8)
    own = np.array([[sol.sensitivity[state, by] for by in names] for state in model.states])
    np.testing.assert_allclose(own.transpose(2, 0, 1), slopes, atol=1e-8 * np.abs(slopes).max())
