"""Numbers beyond double precision and texts that C cannot represent: refused by name when they are declared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import sympy as sp
from refusals import refused

import chaplygin as cg
from chaplygin.codegen.graph.graph import Graph
from chaplygin.codegen.symbols.symbols import DeclarationError
from chaplygin.errors import ChaplyginError, RangeError

X = cg.coordinates("x")
V = cg.rate(X)
HUGE = sp.Integer(10) ** 400


def system(**given: Any) -> cg.System:
    return cg.System("declared", **{"coordinates": [X], "kinetic": V**2 / 2, **given})


NUMBERS: dict[str, tuple[str, Callable[[], Any]]] = {
    "power": ("potential", lambda: {"potential": (X * 1e3) ** 400}),
    "integer": ("potential", lambda: {"potential": HUGE * X}),
    "fraction": (r"outputs\['share'\]", lambda: {"outputs": {"share": X / (1 / HUGE)}}),
    "folded": (r"outputs\['folded'\]", lambda: {"outputs": {"folded": 1e200 * sp.sin(1e200 * X) * 1e200}}),
    "exponential": ("potential", lambda: {"potential": sp.exp(sp.Float(1000)) * X}),
    "event": (r"events\['wall'\]", lambda: {"events": [cg.Event(X - HUGE, name="wall")]}),
    "reset": (r"events\['wall'\]", lambda: {"events": [cg.Event(X, name="wall", reset={V: HUGE * V})]}),
    "constraint": (r"constraints\[0\]", lambda: {"constraints": [HUGE * V - 1]}),
    "condition": ("potential", lambda: {"potential": sp.Piecewise((X, X < HUGE), (0, True))}),
    "interaction": (r"interactions\[0\]", lambda: {"interactions": [cg.Weight(HUGE)]}),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_constants_beyond_double_precision(name: str) -> None:
    entry, given = NUMBERS[name]
    with pytest.raises(DeclarationError, match=f"System 'declared': {entry}.* is beyond double precision"):
        system(**given())


def test_an_example_beyond_double_precision() -> None:
    for value in (10**400, HUGE):
        refused(r"example\[x\] = inf is not finite", system, example={X: value}, error=DeclarationError)


def test_a_constant_that_overflows_in_the_derivation() -> None:
    """2 * 1.5e308 in the force."""
    with pytest.raises(ChaplyginError, match="is beyond double precision"):
        system(potential=1.5e308 * X**2).compile()


def test_the_largest_double_and_what_underflows_are_constants() -> None:
    g = Graph()
    largest = 2**1024 - 2**971
    assert g.constant_value(g.const(largest)) == largest
    refused("1e308", g.const, 2**1024, error=RangeError)
    with pytest.raises(RangeError):
        g.const(float("inf"))
    system(potential=X / HUGE)


TEXTS = ("m\0", "\0", "kg \ud800", "\udfffm")


@pytest.mark.parametrize("text", TEXTS)
def test_texts_that_c_cannot_hold(text: str) -> None:
    for entry in ("units", "descriptions"):
        with pytest.raises(DeclarationError, match=rf"{entry}\[x\] = .*NUL character or half of a surrogate"):
            system(**{entry: {X: text}})
    for made in (
        lambda: cg.coordinates(text),
        lambda: cg.System(text, coordinates=[X], kinetic=V**2),
        lambda: system(outputs={text: X}),
        lambda: system(events=[cg.Event(X, name=text)]),
        lambda: system(contacts=[cg.Coulomb(text, slip=V, normal=1, mu=1)]),
    ):
        refused("letter", made, error=DeclarationError)


def test_every_other_text_arrives() -> None:
    unit, text = "kg·m²/s", 'a "name"\n\t\\ ?? \x7f 漢字 \U0001f6f9'
    model = system(units={X: unit}, descriptions={X: text}).compile()
    assert model.units["x"] == unit
    assert model.variables["x"].description == text
