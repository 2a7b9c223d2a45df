"""The agreement matrix, system by form: all applicable forms agree, and no single sign can be changed unnoticed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from agreement import (
    REFERENCE,
    applicable,
    attempt,
    largest_difference,
    leading_rate,
    permitted_points,
    rates,
    system_of,
)
from small_systems import SMALL

import chaplygin as cg
from chaplygin.codegen.derive import structure
from chaplygin.codegen.forms import hamel, nonholonomic, routh
from chaplygin.codegen.forms.choose import forms
from chaplygin.codegen.graph.differentiate import gradient
from chaplygin.codegen.graph.evaluate import evaluate

# A system that names a multiplier has one form only.
SYSTEMS = [name for name in SMALL if len(cg.example(name).forms) > 1]
OF_FIELDS = [name for name in SYSTEMS if "lagrange" not in cg.example(name).forms]
"""Systems whose velocities are not the rates of the coordinates, or are subject to constraints."""
CANDIDATES = [name for name in OF_FIELDS if name not in ("rolling_ring", "sleigh_cartesian")]
"""Without a system of many velocities, which would take minutes, and one whose velocities are rates."""
TOLERANCE = 1e-10


def reference_of(name: str) -> str:
    fitting = applicable(name)
    return next(form for form in REFERENCE if form in fitting)


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_form_that_applies_says_the_same(name: str) -> None:
    points = permitted_points(name, 3)
    fitting = applicable(name)
    held = fitting[reference_of(name)]
    for form, eqs in fitting.items():
        for point in points:
            if (
                eqs.independent is None or leading_rate(eqs, point) > 0
            ):  # Whittaker's branch here is eta_1 > 0
                assert largest_difference(rates(held, point), rates(eqs, point)) < TOLERANCE, form


def test_there_are_fifty_pairs() -> None:
    pairs = [(name, form) for name in SYSTEMS for form in applicable(name)]
    assert len(pairs) >= 50


def test_every_refusal_names_a_hypothesis() -> None:
    for name in SYSTEMS:
        for form in forms():
            refusal = attempt(name, form)
            if isinstance(refusal, str):
                assert "does not fit" in refusal
                assert "hypothesis" in refusal or "not cyclic" in refusal, (name, form, refusal)


# -- mutations -----------------------------------------------------------------------------------------------------

Terms = dict[Any, Any]


@contextmanager
def replaced(name: str, module: Any, attribute: str, replacement: Any) -> Iterator[None]:
    """A derivation with another function; the forms that it is compared with were derived before, and are kept."""
    applicable(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, attribute, replacement)
        yield


def differs(name: str, form: str) -> bool:
    """Whether a freshly derived form contradicts the system's reference form (or any other applicable one)."""
    system = system_of(name)
    mutant = system.equations(form)
    for other, eqs in applicable(name).items():
        if other == form or eqs.independent is not None:
            continue
        for point in permitted_points(name, 2):
            if largest_difference(rates(eqs, point), rates(mutant, point)) > 1e-6:
                return True
    return False


def flipped_structure(original: Callable[..., Terms], pair: Any, i: int) -> Callable[..., Terms]:
    def mutated(g: Any, system: Any) -> Terms:
        table = original(g, system)
        table[pair] = [(j, g.neg(c) if j == i else c) for j, c in table[pair]]
        return table

    return mutated


def structure_terms(name: str) -> list[tuple[Any, int]]:
    system = system_of(name)
    table = structure.structure_functions(system.nodes.graph.copy(), system)
    return [(pair, i) for pair, entries in table.items() for i, _ in entries]


def survivors(module: Any, attribute: str, form: str, name: str, terms: list[tuple[Any, int]]) -> list[Any]:
    """The terms in which a sign can be changed without any two forms disagreeing."""
    original = getattr(module, attribute)
    left = []
    for key, i in terms:
        with replaced(name, module, attribute, flipped_structure(original, key, i)):
            if not differs(name, form):
                left.append((key, i))
    return left


@pytest.mark.parametrize("name", CANDIDATES)
def test_no_sign_of_c_can_be_flipped(name: str) -> None:
    form = "maggi" if "maggi" in applicable(name) else "poincare"
    terms = structure_terms(name)
    assert terms
    left = survivors(structure, "structure_functions", form, name, terms)
    # A structure constant does not affect the motion if its momentum vanishes identically under the constraints.
    assert [t for t in left if not without_say(name, t)] == []


def without_say(name: str, term: tuple[Any, int]) -> bool:
    """Whether c_ab^i cannot matter: it adds eta_a p_i to equation b and -eta_b p_i to equation a, if they are used."""
    (a, b), i = term
    system, eqs = system_of(name), applicable(name)[reference_of(name)]
    for point in permitted_points(name, 3):
        p = momentum(eqs.system, i, point)
        into_b = (1.0 if a < 0 else point[system.velocities[a].name]) * p * any(slopes_of(eqs, b))
        into_a = 0.0 if a < 0 else point[system.velocities[b].name] * p * any(slopes_of(eqs, a))
        if abs(into_a) > 1e-12 or abs(into_b) > 1e-12:
            return False
    return True


def momentum(system: cg.System, i: int, point: dict[str, float]) -> float:
    """dL/d eta_i of the free system."""
    g = system.nodes.graph.copy()
    return float(evaluate(g, [gradient(g, system.nodes.kinetic, system.nodes.eta)[i]], point)[0])


def slopes_of(eqs: Any, a: int) -> list[bool]:
    """The independent velocities that a declared velocity depends on."""
    g, system = eqs.nodes.graph, eqs.system
    node = eqs.nodes.declared[system.velocities[a]]
    return [g.depends_on([node], [v]) for v in eqs.nodes.velocity_nodes]


def flipped_node(original: Callable[..., Terms], key: Any, p: int | None) -> Callable[..., Terms]:
    def mutated(g: Any, system: Any, *rest: Any) -> Terms:
        table = dict(original(g, system, *rest))
        if p is None:
            table[key] = g.neg(table[key])
        else:
            table[key] = [g.neg(n) if q == p else n for q, n in enumerate(table[key])]
        return table

    return mutated


@pytest.mark.parametrize("name", [n for n in CANDIDATES if "hamel" in cg.example(n).forms])
def test_no_three_index_symbol_can_be_flipped(name: str) -> None:
    system = system_of(name)
    original = hamel.three_index_symbols
    symbols = original(system.nodes.graph.copy(), system)
    assert symbols
    for a, j, b in symbols:
        if j < 0:
            continue
        with replaced(name, hamel, "three_index_symbols", flipped_node(original, (a, j, b), None)):
            assert differs(name, "hamel") or silent_symbol(name, a, j, b), (a, j, b)


def silent_symbol(name: str, a: int, j: int, b: int) -> bool:
    """Whether gamma_aj^b cannot matter: it enters as gamma eta_a p_b, in equation j alone."""
    system, eqs = system_of(name), applicable(name)[reference_of(name)]
    for point in permitted_points(name, 3):
        first = 1.0 if a < 0 else point[system.velocities[a].name]
        if abs(momentum(system, b, point) * first) > 1e-12 and any(slopes_of(eqs, j)):
            return False
    return True


@pytest.mark.parametrize("name", OF_FIELDS)
def test_no_sign_of_k_can_be_flipped(name: str) -> None:
    """K_ji^p and K_0i^p, each flipped alone: detected unless its momentum m_p or theta_j is zero."""
    system = system_of(name)
    original = nonholonomic.bracket_coefficients
    seen: dict[Any, list[bool]] = {}

    def record(g: Any, s: Any, permission: Any) -> Terms:
        table = original(g, s, permission)
        seen.update({key: [n != g.zero for n in entry] for key, entry in table.items()})
        return table

    with replaced(name, nonholonomic, "bracket_coefficients", record):
        system.equations("nonholonomic")
    assert seen
    for key, present in seen.items():
        for p, there in enumerate(present):
            if not there:
                continue
            with replaced(name, nonholonomic, "bracket_coefficients", flipped_node(original, key, p)):
                idle = all(abs(momentum(system, p, point)) < 1e-12 for point in permitted_points(name, 3))
                assert differs(name, "nonholonomic") or idle, (key, p)


def test_no_sign_of_rouths_gyroscopic_terms_can_be_flipped() -> None:
    found = 0
    for name in SYSTEMS:
        eqs = attempt(name, "routh")
        if isinstance(eqs, str):
            continue
        gone = [a for a, v in enumerate(eqs.system.velocities) if v not in eqs.velocities]
        terms = [(pair, i) for pair, i in structure_terms(name) if i in gone]
        found += len(terms)
        assert survivors(routh, "structure_functions", "routh", name, terms) == []
    assert found >= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", SYSTEMS)
def test_compiled_runs_of_all_forms_agree(name: str) -> None:
    """The same for compiled code: declared variables at t = 1 (or less) by every form."""
    entry = cg.example(name)
    system = entry.system
    end = min(1.0, float(entry.t_span[1]))
    ends: dict[str, Any] = {}
    for form, eqs in applicable(name).items():
        if eqs.independent is not None:
            continue
        model = cg.compile(eqs)
        run = model.integrate(
            (0, end), initial=dict(entry.initial), parameters=dict(entry.parameters), rtol=1e-13, atol=1e-13,
            inputs=dict.fromkeys(model.inputs, 0.0),
        )  # fmt: skip
        assert run.success, (form, run.message)
        names = [*(x.name for x in eqs.coordinates), *(v.name for v in system.velocities)]
        ends[form] = {n: run[n][-1] for n in names}
    held = ends[reference_of(name)]
    for form, values in ends.items():
        for n, value in values.items():
            assert value == pytest.approx(held[n], abs=1e-10 * max(1.0, abs(held[n]))), (form, n)
