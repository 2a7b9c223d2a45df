"""Two hundred random systems in every applicable form, against d'Alembert's principle in raw coordinates."""

from __future__ import annotations

from typing import Any

import pytest
from mpmath import mp
from random_systems import DIGITS, KINDS, STEP, Reference, changed, declare

import chaplygin as cg
from chaplygin.api.equations import Equations
from chaplygin.api.python_model import python_model
from chaplygin.codegen.forms.choose import forms
from chaplygin.codegen.graph.evaluate import evaluate
from chaplygin.errors import FormError

FITS = {
    "rates": {"lagrange", "poincare", "chetaev", "hamel", "nonholonomic"},
    "frame": {"poincare", "chetaev", "hamel", "nonholonomic"},
    "rheonomic": {"poincare", "hamel", "nonholonomic"},
    "quaternion": {"poincare", "chetaev"},
    "circle": {"poincare", "chetaev"},
    "affine": {"maggi", "nonholonomic", "hamel", "multipliers"},
    "cyclic": {"lagrange", "poincare", "chetaev", "routh"},
    "monotone": {"poincare", "chetaev", "whittaker"},
    "permitted": {"maggi", "nonholonomic", "hamel"},
}
"""Forms with hypotheses that the kind satisfies by construction."""
Values = dict[str, Any]


def told(eqs: Equations, at: Values) -> Values:
    """d/dt of the coordinates and declared velocities in a form, evaluated in mpmath."""
    g, system = eqs.nodes.graph, eqs.system
    at = dict(at)
    if eqs.nodes.initial_nodes is not None:
        names = [*eqs.states, *(p.name for p in (*system.parameters, *eqs.parameters))]
        at |= dict(zip(names, evaluate(g, eqs.nodes.initial_nodes, at, True), strict=True))
    k = len(eqs.nodes.force)
    lower = [n for row in eqs.nodes.mass for n in row]
    values = evaluate(g, [*lower, *eqs.nodes.force, *eqs.nodes.rates], at, True)
    turn = values[len(lower) : len(lower) + k]
    if lower:
        mass = mp.matrix(k, k)
        for i in range(k):
            for j in range(i + 1):
                mass[i, j] = mass[j, i] = values[i * (i + 1) // 2 + j]
        turn = list(mp.lu_solve(mass, mp.matrix(turn)))
    moving = dict(zip(eqs.states, [*values[len(lower) + k :], *turn], strict=True))
    moving[str(g.value[eqs.nodes.independent_node])] = 1
    names = [v.name for v in system.velocities]
    nodes = [eqs.nodes.declared[v] for v in system.velocities]

    def velocities(s: Any) -> list[Any]:
        return evaluate(g, nodes, {**at, **{n: at[n] + s * r for n, r in moving.items()}}, True)

    ahead, behind, here = velocities(STEP), velocities(-STEP), velocities(0)
    found = {n: (a - b) / (2 * STEP) for n, a, b in zip(names, ahead, behind, strict=True)}
    found |= {x.name: moving[x.name] for x in eqs.coordinates}
    if eqs.independent is not None:  # from d/dx_1 to d/dt; here dx_1/dt is the first velocity
        found = {n: v * here[0] for n, v in found.items()}
    return found


def derived(system: cg.System, form: str, options: dict[str, Any]) -> Equations | str:
    try:
        return system.equations(form, **options)
    except FormError as refusal:
        return str(refusal)


def check(seed: int, emitted: bool) -> None:
    declaration = declare(seed)
    system = declaration.system(f"random_{seed}")
    with mp.workdps(DIGITS):
        reference = Reference(declaration)
        t, x, w, th = reference.state(seed)
        turn = reference.accelerations(t, x, w, th)
        coordinates, velocities = system.coordinates, system.velocities
        position = dict(zip((s.name for s in reference.coordinates), x, strict=True))
        speed = dict(zip((s.name for s in declaration.velocities), w, strict=True))
        at = {"t": t, **position, **speed}
        at |= dict(zip((s.name for s in declaration.independent), th, strict=True))
        at |= {s.name: mp.mpf(v) for s, v in {**declaration.parameters, **declaration.inputs}.items()}
        expected = dict(zip((s.name for s in declaration.velocities), turn, strict=True))
        expected |= dict(zip(position, reference.rate(t, x, w), strict=True))
        assert {s.name for s in (*coordinates, *velocities)} == set(expected)
        size = max(1, *map(abs, expected.values()))
        fitting = {}
        for form in forms():
            options = {"branch": 1 if w[0] > 0 else -1} if form == "whittaker" else {}
            eqs = derived(system, form, options)
            if isinstance(eqs, str):
                assert form not in FITS[declaration.kind], f"{form}: {eqs}"
                continue
            fitting[form] = eqs
            found = told(eqs, at)
            assert set(found) >= {v.name for v in velocities}
            for name, value in found.items():
                assert abs(value - expected[name]) <= 1e-10 * size, (form, name)
        if not emitted:
            return
        # The emitted arithmetic, in float64, for one of the forms.
        form = sorted(set(fitting) - {"routh", "whittaker", "chetaev"})[seed % max(1, len(fitting) - 3)]
        model = python_model(fitting[form].program, quiet=True)
        numbers = {n: float(v) for n, v in at.items()}
        result = model.rhs(
            float(t),
            [numbers[n] for n in model.states],
            [numbers[n] for n in model.parameters],
            [numbers[n] for n in model.inputs],
        )
    for name, value in zip(model.states, result, strict=True):
        if name in expected:
            assert value == pytest.approx(float(expected[name]), rel=1e-10, abs=1e-10 * float(size)), name


@pytest.mark.parametrize("seed", range(len(KINDS)))
@pytest.mark.sample(2)
def test_one_system_of_each_kind(seed: int) -> None:
    check(seed, False)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200))
def test_two_hundred_systems(seed: int) -> None:
    check(seed, True)


def test_a_wrong_sign_is_noticed() -> None:
    """The comparison can fail: a force with the wrong sign, a missing constraint."""
    declaration = declare(KINDS.index("affine"))
    with mp.workdps(DIGITS):
        t, x, w, th = Reference(declaration).state(1)
        right = Reference(declaration).accelerations(t, x, w, th)
        for changes in (
            {"forces": {v: -q for v, q in declaration.forces.items()}},
            {"constraints": []},
            {"potential": -declaration.potential},
        ):
            wrong = Reference(changed(declaration, **changes)).accelerations(t, x, w, th)
            assert max(abs(a - b) for a, b in zip(right, wrong, strict=True)) > 1e-3
