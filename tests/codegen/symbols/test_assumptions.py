"""What is declared of symbols holds in every run, or the run is refused; so are numbers and texts beyond those of C."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy as sp
from processes import python
from refusals import refused
from runtime_models import needs_core

import chaplygin as cg
from chaplygin.codegen.graph.graph import Graph
from chaplygin.codegen.symbols.symbols import ASSUMPTIONS, DeclarationError, assumed
from chaplygin.errors import ArgumentError, ChaplyginError, RangeError
from chaplygin.runtime.interface import assumptions

pytestmark = needs_core

NUMBERS = (-3.0, -2.0, -0.5, 0.0, 0.5, 1.0, 2.0)
ORACLE = {  # definitions, not SymPy's own deductions
    "positive": lambda v: v > 0,
    "negative": lambda v: v < 0,
    "nonnegative": lambda v: v >= 0,
    "nonpositive": lambda v: v <= 0,
    "nonzero": lambda v: v != 0,
    "zero": lambda v: v == 0,
    "integer": lambda v: v == int(v),
    "even": lambda v: v % 2 == 0,
    "odd": lambda v: v % 2 == 1,
}


def test_flags_mean_what_sympy_assumes() -> None:
    assert set(ORACLE) == set(ASSUMPTIONS)
    for pair in [(), *itertools.combinations(ASSUMPTIONS, 1), *itertools.combinations(ASSUMPTIONS, 2)]:
        try:
            symbol = cg.parameters("a", **dict.fromkeys(pair, True))
        except DeclarationError:
            continue
        expected = [all(ORACLE[name](v) for name in pair) for v in NUMBERS]
        assert assumptions.holds(assumed(symbol), np.array(NUMBERS)).tolist() == expected, pair
        assert pair == () or assumptions.assumption(assumed(symbol))


def test_assumptions_that_cannot_be_held_are_refused() -> None:
    for wrong in ({"prime": True}, {"irrational": True}, {"integer": False}, {"imaginary": True}):
        refused("cannot be checked when a model runs", cg.parameters, "a", error=DeclarationError, **wrong)
    with pytest.raises(DeclarationError, match="contradict one another"):
        cg.parameters("a", positive=True, negative=True)


def oscillator() -> cg.System:
    """An oscillator on a half-line: x > 0, with a number n of springs, a nonzero k, and a force f that only pushes."""
    x = cg.coordinates("x", positive=True)
    m = cg.parameters("m", positive=True)
    n = cg.parameters("n", integer=True, nonnegative=True)
    k = cg.parameters("k", nonzero=True)
    f = cg.inputs("f", nonnegative=True)
    return cg.System(
        "assuming_oscillator",
        coordinates=[x],
        kinetic=m * cg.rate(x) ** 2 / 2,
        potential=n * k * (x - 2) ** 2 / 2,
        forces={cg.rate(x): f},
        example={x: 1, m: 1, n: 3, k: 2, f: 0},
    )


GOOD: dict[str, Any] = {
    "initial": {"x": 1.0, "x_dot": 0.0},
    "parameters": {"m": 1.0, "n": 3.0, "k": -2.0},
    "inputs": {"f": 0.0},
}
WRONG = [
    ("parameters", "m", -70.0, "m = -70, but m is declared positive"),
    ("parameters", "m", 0.0, "m = 0, but m is declared positive"),
    ("parameters", "n", 2.5, "n = 2.5, but n is declared a nonnegative integer"),
    ("parameters", "n", -1.0, "n = -1, but n is declared a nonnegative integer"),
    ("parameters", "k", 0.0, "k = 0, but k is declared nonzero"),
    ("initial", "x", -1.0, "x = -1, but x is declared positive"),
    ("inputs", "f", -0.1, "f = -0.1\\d*, but f is declared nonnegative"),
    (
        "inputs",
        "f",
        ([0.0, 1.0], [1.0, -2.0]),
        "f = -2, but f is declared nonnegative.*1 of 2 values; the first is number 1",
    ),
    (
        "inputs",
        "f",
        lambda t, y: 0.5 - t,
        "f at t = .* = -.*, but .* is declared nonneg|f = -.* at t = .*, but f is declared nonneg",
    ),
]


@pytest.fixture(scope="module")
def model() -> Any:
    return oscillator().compile("lagrange")


@pytest.mark.parametrize(("kind", "name", "value", "message"), WRONG)
def test_a_run_that_breaks_an_assumption_is_refused(
    model: Any, kind: str, name: str, value: Any, message: str
) -> None:
    assert model.integrate((0.0, 1.0), **GOOD).success
    given = {**GOOD, kind: {**GOOD[kind], name: value}}
    refused(message, model.integrate, (0.0, 1.0), **given)
    with pytest.raises(ArgumentError, match=message):
        model.stepper(**given).advance(1.0)
    refused(message, cg.ensemble, model, (0.0, 1.0), n=3, **given)
    if kind != "inputs":
        names = model.states if kind == "initial" else model.parameters
        given[kind] = np.array([given[kind][n] for n in names])
        refused(message, model.integrate, (0.0, 1.0), **given)


def test_an_ensemble_says_how_many_and_which_is_the_first(model: Any) -> None:
    for kind, name, right, wrong in (
        ("parameters", "m", 1.0, -70.0),
        ("parameters", "n", 3.0, 0.25),
        ("initial", "x", 1.0, -2.0),
        ("inputs", "f", 0.5, -3.0),
    ):
        values = np.full(20, right)
        values[[5, 11]] = wrong
        given = {**GOOD, kind: {**GOOD[kind], name: values}}
        words = rf"{name} = {wrong:g}, but {name} is declared .*2 of 20 values; the first is number 5"
        refused(words, cg.ensemble, model, (0.0, 0.1), **given)
        values[[5, 11]] = right
        assert cg.ensemble(model, (0.0, 0.1), **given).success


def test_inputs_of_a_stepper_are_held_too(model: Any) -> None:
    run = model.stepper(**GOOD)
    for call in (
        lambda: run.set_inputs(f=-1.0),
        lambda: run.set_inputs([-1.0]),
        lambda: run.set_inputs({"f": -1.0}),
    ):
        refused("f = -1, but f is declared nonnegative", call)
    run.set_inputs(f=1.0)
    run.advance(0.1)


def test_the_example_point_is_held_too() -> None:
    x = cg.coordinates("x")
    m = cg.parameters("m", positive=True)
    with pytest.raises(DeclarationError, match=r"example\[m\] = -70, but m is declared positive"):
        cg.System("falling", coordinates=[x], kinetic=m * cg.rate(x) ** 2 / 2, example={m: -70, x: 0})


def test_the_digest_knows_assumptions() -> None:
    def falling(**given: bool) -> cg.System:
        x, m = cg.coordinates("x"), cg.parameters("m", **given)
        return cg.System("falling", coordinates=[x], kinetic=m * cg.rate(x) ** 2 / 2, example={m: 1, x: 0})

    assert falling().digest != falling(positive=True).digest != falling(nonzero=True).digest


def test_a_loaded_model_holds_them_without_sympy() -> None:
    path = oscillator().compile("lagrange").owner.__file__
    code = f"""
import sys
from chaplygin.runtime import load_model
model = load_model({path!r})
try:
    model.integrate((0, 1), [1.0, 0.0], [-70.0, 3.0, 2.0], [0.0])
except ValueError as error:
    print(error)
print("sympy" in sys.modules)
"""
    assert python(code).splitlines() == ["parameters: m = -70, but m is declared positive", "False"]


def test_a_coordinate_that_a_form_drops_is_held_too() -> None:
    """Whittaker's equations have no state for the leading coordinate; chetaev's take the declared velocities."""
    x, y = cg.coordinates("x y", positive=True)
    system = cg.System(
        "positive_quadrant",
        coordinates=[x, y],
        kinetic=(cg.rate(x) ** 2 + cg.rate(y) ** 2) / 2,
        potential=sp.Rational(1, 2) / x + y,
        example={x: 1, y: 1, cg.rate(x): 1, cg.rate(y): 0.1},
    )
    given = {"x": 1.0, "y": -1.0, "x_dot": 1.0, "y_dot": 0.1}
    for form in ("chetaev", "whittaker"):
        span = (1.0, 1.1)
        with pytest.raises(ArgumentError, match="y = -1, but y is declared positive"):
            system.compile(form).integrate(span, given)


X = cg.coordinates("x")
V = cg.rate(X)
HUGE = sp.Integer(10) ** 400


def system(**given: Any) -> cg.System:
    return cg.System("declared", **{"coordinates": [X], "kinetic": V**2 / 2, **given})


BEYOND: dict[str, tuple[str, Callable[[], Any]]] = {
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


@pytest.mark.parametrize("name", BEYOND)
def test_constants_beyond_double_precision(name: str) -> None:
    entry, given = BEYOND[name]
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
