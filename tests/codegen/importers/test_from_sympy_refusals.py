"""`from_sympy`: what is refused, and the reason that the error gives."""

from __future__ import annotations

from typing import Any

import pytest
import sympy as sp
import sympy.physics.mechanics as me
from mechanics_models import spring

import chaplygin as cg


def loaded(load: Any) -> Any:
    """The spring with a load made from its point and frame."""
    kane = spring(0)
    kane._forcelist = [load(kane.bodies[0].masscenter, kane._inertial)]
    return kane


X, V, F = me.dynamicsymbols("x v f")
K = sp.Symbol("k")


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (spring(0, bodies=False), {}, "the KanesMethod has no bodies; give it bodies="),
        (
            spring(sp.Function("h")(X)),
            {},
            r"load on P contains h\(x\(t\)\), a function without an expression",
        ),
        (
            spring(sp.besselj(0, X)),
            {},
            r"law\['load on P'\]\[0\].*besselj.*not supported; .* sec, .*Heaviside",
        ),
        (spring(X), {"parameters": [1]}, "from_sympy: parameters is list; give a dict"),
        (spring(K * X), {"names": {"k": "m"}}, "k and m would both be called 'm'"),
        (spring(X.diff().diff()), {}, "load on P contains .*an acceleration"),
        (spring(F.diff().diff().diff()), {}, "prescribed={f: an expression in t}"),
        (
            spring(me.dynamicsymbols("T") * sp.Function("T")(sp.Symbol("t", real=True)).diff()),
            {},
            r"contains Derivative\(T\(t\), t\).*or prescribed=\{T: an expression in t\}",
        ),
        (spring(F), {"prescribed": {X: 0}}, "x.* is not a dynamicsymbol besides"),
        (spring(F), {"prescribed": {F: X}}, "is not an expression in t"),
        (spring(X), {"prescribed": {F: 1}}, r"prescribed: f\(t\) is not in the model"),
        (spring(X), {"names": {"k": "stiffness"}}, "names: k is not in the model"),
        (loaded(lambda p, n: (me.Particle("z", p, 1), n.x)), {}, r"the load \(Particle.* is not a Force"),
        (
            loaded(lambda p, n: (p, X)),
            {},
            r"the load \(P, x\(t\)\) is not a Force, a Torque, \(Point, Vector\)",
        ),
        (loaded(lambda p, n: "pull"), {}, "the load pull is not a Force"),
        (loaded(lambda p, n: (p, me.ReferenceFrame("Q").x)), {}, "orientation of Q in N, .* is not known"),
        (spring(sp.nan), {}, "a vector has the components nan in N"),
        (spring(sp.Symbol("t", real=True)), {}, "a symbol t that is not the time"),
        (spring(sp.MatrixSymbol("A", 2, 2)[0, 1]), {}, "contains A, which is MatrixSymbol"),
        (spring(sp.Sum(sp.Symbol("i") * X, (sp.Symbol("i"), 0, 3))), {}, "Sum in .* is not supported"),
        (spring(F), {"parameters": {"mass": 1}}, "mass is not in the model; it has f, m"),
        (3, {}, "the model is int; give a KanesMethod"),
        ((sp.eye(2), sp.Matrix([1]), {X: V}), {}, r"M has shape \(2, 2\) and f \(1, 1\) for 1 speeds"),
        ((sp.ones(1, 2), sp.Matrix([1]), {X: V}), {}, r"M has shape \(1, 2\).*columns of m < 1 multipliers"),
        ((sp.eye(1), sp.Matrix([1]), {X: 2 * V}), {}, "do not show the order of the speeds"),
        (
            me.LagrangesMethod(X.diff() ** 2, [X], nonhol_coneqs=[X.diff() - F, X.diff() + F]),
            {},
            "2 constraints leave none of the 1 velocities free",
        ),
        (me.System(), {}, "the System has no bodies"),
    ],
)
def test_refusals(model: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(cg.DeclarationError, match=message):
        cg.from_sympy(model, "refused", **options)


@pytest.mark.parametrize("t", [cg.time, me.dynamicsymbols._t])
@pytest.mark.parametrize("order", [0, 1])
def test_functions_of_time_in_a_system(t: Any, order: int) -> None:
    q, load = cg.coordinates("q"), sp.Function("T")(t).diff((t, order))
    message = r"forces\[q_dot\]: .*is a function of time.*inputs\('T'\).*prescribed=\{T: an expression in t\}"
    with pytest.raises(cg.DeclarationError, match=message):
        cg.System("s", coordinates=[q], kinetic=cg.rate(q) ** 2 / 2, forces={cg.rate(q): 2 * load})


def test_the_derivative_of_an_expression_is_carried_out() -> None:
    model = cg.from_sympy(spring(sp.Derivative(F**2, me.dynamicsymbols._t)), "carried")
    f, f_dot = model.inputs
    assert model.forces[model.velocities[0]] == 2 * f * f_dot


def test_a_spline_is_refused_by_the_reason_first() -> None:
    q = cg.coordinates("q")
    spline = sp.interpolating_spline(3, q, [1, 2, 4, 7, 8], [3, 6, 5, 7, 2])
    message = r"^System 's': potential: a Piecewise does not cover all other cases, .*end it with \(expression, True\)"
    with pytest.raises(cg.DeclarationError, match=message) as caught:
        cg.System("s", coordinates=[q], kinetic=cg.rate(q) ** 2 / 2, potential=spline)
    assert len(str(caught.value)) < 300


def test_singular_matrices() -> None:
    with pytest.raises(cg.FormError, match="M is singular, without inertia along v"):
        cg.from_sympy((sp.Matrix([[0]]), sp.Matrix([1]), {X: V}), "singular")
    b, w = me.dynamicsymbols("b w")
    with pytest.raises(cg.FormError, match="without inertia along v and w"):
        cg.from_sympy((sp.ones(2, 2), sp.Matrix([1, 2]), {X: V, b: w}), "singular")
