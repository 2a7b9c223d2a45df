"""Moving frames with long brackets: structure functions without SymPy's simplification."""

from __future__ import annotations

from typing import Any

import pytest
import sympy as sp
from mpmath import mp, mpf

import chaplygin as cg
from chaplygin.codegen.derive.structure import structure_functions
from chaplygin.codegen.graph.evaluate import evaluate
from chaplygin.codegen.graph.graph import Graph
from chaplygin.codegen.identities.rational import shortened

x, y, z = cg.coordinates("x y z")
u, v, w = cg.velocities("u v w")
a, b = cg.parameters("a b", positive=True)
t = cg.time
KINEMATICS = {
    x: u + sp.sin(a * t) * sp.cos(y) * v + sp.sin(t) * z * sp.cos(x),
    y: v * (1 + sp.sin(z) ** 2 / 4) + w * sp.cos(x * t) / 3 + b * sp.sin(t * y),
    z: w * (2 + sp.cos(x)) + sp.sin(x + y) * u / 5,
}
EXAMPLE = {x: 0.1, y: 0.2, z: 0.3, u: 0.1, v: 0.2, w: 0.3, a: 1, b: 1.1}


def frame() -> cg.System:
    """A rheonomic frame for three velocities, with a few sines."""
    kinetic = (u**2 + v**2 * (1 + sp.cos(x) ** 2 / 3) + w**2) / 2 + u * v * sp.sin(y) / 4
    return cg.System(
        "frame", kinematics=KINEMATICS, kinetic=kinetic, potential=a * sp.cos(x), example=EXAMPLE
    )


def test_nothing_on_the_way_to_a_model_waits_for_simplification(monkeypatch: pytest.MonkeyPatch) -> None:
    simplify = sp.simplify

    def quick(e: Any, **options: Any) -> Any:
        assert e.count_ops() <= 200, f"simplify was asked to shorten {e.count_ops()} operations"
        return simplify(e, **options)

    monkeypatch.setattr(sp, "simplify", quick)
    eqs = frame().equations("poincare")
    assert eqs.operations["rhs"] > 100


def test_structure_functions_of_a_rheonomic_frame() -> None:
    """[X_a, X_b] = c_ab^i X_i and [X_0, X_b] = c_0b^i X_i, the brackets by SymPy's derivatives, to 30 digits."""
    system = frame()
    velocities, q = (u, v, w), (x, y, z)
    zero = dict.fromkeys(velocities, 0)
    fields = [[KINEMATICS[s].subs(zero) for s in q]]  # X_0, X_1, X_2, X_3
    fields += [[sp.diff(KINEMATICS[s], eta) for s in q] for eta in velocities]
    g = system.nodes.graph.copy()
    found = structure_functions(g, system)
    point = {x: 0.37, y: -0.81, z: 1.3, t: 0.6, a: 0.9, b: 1.4}

    def bracket(i: int, j: int) -> list[Any]:
        """X_i X_j - X_j X_i applied to the coordinates; X_0 also differentiates by time."""
        first, second = fields[i], fields[j]
        rows = []
        for n in range(3):
            along = sum(
                first[m] * sp.diff(second[n], q[m]) - second[m] * sp.diff(first[n], q[m]) for m in range(3)
            )
            rows.append(along + (sp.diff(second[n], t) if i == 0 else 0))
        return rows

    with mp.workdps(40):
        at = {s.name: mpf(value) for s, value in point.items()}
        exact = {s: sp.Rational(value) for s, value in point.items()}
        for i in range(4):
            for j in range(max(i + 1, 1), 4):
                entries = dict(found.get((i - 1, j - 1), []))
                c = {k: evaluate(g, [node], at, True)[0] for k, node in entries.items()}
                for n, component in enumerate(bracket(i, j)):
                    ours = sum(
                        value * mpf(str(fields[k + 1][n].evalf(40, subs=exact))) for k, value in c.items()
                    )
                    expected = mpf(str(component.evalf(40, subs=exact)))
                    assert abs(ours - expected) < mpf("1e-30")


def test_fractions_are_brought_to_lowest_terms() -> None:
    g = Graph()
    angle, omega, r = g.symbol("psi"), g.symbol("Omega"), g.symbol("R")
    sine, cosine = g.call("sin", angle), g.call("cos", angle)
    below = g.add(g.div(g.mul(sine, sine), cosine), cosine)  # 1/cos
    above = g.add(g.div(g.mul(omega, g.mul(sine, sine)), cosine), g.mul(omega, cosine))
    assert shortened(g, g.div(above, below)) == omega
    assert shortened(g, g.div(r, below)) == g.mul(r, cosine)
    assert shortened(g, omega) == omega
    already = g.div(g.add(omega, r), g.add(omega, cosine))
    assert shortened(g, already) == already


def test_long_fractions_stay_as_they_are() -> None:
    g = Graph()
    product = g.one
    for i in range(12):
        product = g.mul(product, g.add(g.symbol(f"a{i}"), g.symbol(f"b{i}")))
    node = g.div(product, g.add(product, g.one))
    assert shortened(g, node) == node
