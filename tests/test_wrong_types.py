"""Public functions and methods called with one argument of a wrong type or value: named errors, or a proper result.

`hostile_calls` finds the calls by their signatures and replaces every argument of each by every one of its values:
by default in a random sample, in the slow test in 3,000 of them.
"""

from __future__ import annotations

import functools
import random
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from hostile_calls import DRAWN, NUMBERS, START, attempt, calls, cases, legal, spring
from runtime_models import needs_core

import chaplygin as cg

pytestmark = needs_core


def check(seed: int, count: int) -> None:
    found = {case: attempt(*case) for case in random.Random(seed).sample(cases(), count)}
    wrong = {case: text for case, text in found.items() if text and not (text == "accepted" and legal(*case))}
    assert not wrong, "\n".join(
        f"{call}({name}=<{value}>): {text}" for (call, name, value), text in wrong.items()
    )


def test_a_sample_of_hostile_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check(28, 100)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [53, 54, 58, 61, 62])
def test_3000_hostile_calls(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check(seed, 3000)


@pytest.mark.slow
def test_the_right_arguments_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside others that are refused a hostile one would show nothing."""
    monkeypatch.chdir(tmp_path)
    several = [call for call, (_, parameters) in calls().items() if len(parameters) > 1]
    refused = {call for call in several if attempt(call) != "accepted"}
    assert refused <= {"model.to_jax", "model.to_numba"}  # where these are not installed


X, M = cg.coordinates("x"), cg.parameters("m", positive=True)


def of_a_point(**more: Any) -> cg.System:
    return cg.System("point", coordinates=[X], kinetic=M * cg.rate(X) ** 2 / 2, **more)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cg.fit(set(), {}, free=["k"]), "fit needs a model, not set"),
        (lambda: cg.ensemble(spring(), (0, 1), {None: None}, NUMBERS, n=2), "initial: the key None is not a name"),
        (lambda: cg.rare_event(spring(), (0, 1), "x", 100, DRAWN | {None: 1}, NUMBERS, above=2), "key None is not a"),
        (lambda: cg.fields_from_forms("", [X], cg.velocities("u v")), "forms is str; give a list"),
        (lambda: of_a_point(kept=np.array(3)), "kept is ndarray; give a list"),
        (lambda: of_a_point(outputs=sp.Eq(X, 1)), "outputs is Equality; give a dict"),
        (lambda: of_a_point(outputs=np.array([1, 2])), "outputs is ndarray; give a dict"),
        (lambda: of_a_point(forces=0), "forces is int; give a dict"),
        (lambda: of_a_point().compile(form=sp.Eq(X, 1)), "form = .* is not a string"),
        (lambda: of_a_point().compile(form=np.array(["maggi", "hamel"])), "form = .* is not a string"),
        (lambda: cg.from_urdf("robot.urdf", base=np.array([1, 2])), "base is .*give 'fixed' or 'free'"),
        (lambda: cg.from_urdf("."), "is a folder; give the path of a URDF file"),
        (lambda: cg.parameters("a", positive=sp.Eq(X, 1)), "positive = .*; give True or False"),
        (lambda: cg.parameters("a", positive=float("nan")), "positive = nan; give True or False"),
        (lambda: cg.final(Path("x")), "is not a quantity; give a name, a symbol or an expression"),
        (lambda: of_a_point().compile(methods=["x" * 10**5]), r"methods\[0\] is 'x{60}'; a Pair"),
        (lambda: cg.loss(None, cg.final("x")), "loss: None is not a function"),
        (lambda: cg.minimum(3), "minimum: 3 is not a quantity"),
        (lambda: cg.Body("b", mass=1j), "mass = .* is not real"),
        (lambda: cg.turn("z", []), "turn: angle"),
        (lambda: spring().objective(cg.final("x"), (0, 1), START, NUMBERS, free="k", rtol="x"), "rtol = 'x'"),
        (lambda: of_a_point(outputs={"F": X}, units={cg.inputs("F"): "N"}, example={cg.inputs("F"): 1}),
         "already that of an input; rename one"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(cg.ChaplyginError, match=message):
        call()


@pytest.mark.parametrize("value", [-1.0, 0.5, 2.0])
def test_a_piecewise_over_xor_within_another_function(value: float) -> None:
    switch = sp.Piecewise((X + sp.Rational(5, 2), sp.Xor(X > 0, X > 1)), (sp.Rational(15, 2), True))
    outputs = {"whole": sp.floor(switch), "side": sp.Heaviside(switch), "rest": sp.Mod(switch, 2)}
    given = of_a_point(outputs=outputs).compile().evaluate(0, [value, 0.0], [1.0])
    number = value + 2.5 if 0 < value <= 1 else 7.5
    assert [given[name] for name in outputs] == [number // 1, 1.0, number % 2]


def test_a_word_for_a_step_names_the_methods_that_have_one() -> None:
    with pytest.raises(TypeError, match="did you mean step with method='rk4', of fixed steps, or max_step"):
        spring().integrate((0, 1), START, NUMBERS, dt=0.1)


def test_an_entry_of_final_says_what_it_has() -> None:
    end = cg.study(spring(), (0, 1), START, NUMBERS, n=2, collect={"end": cg.final("x")}).results["end"]
    assert (end[sp.Symbol("x")] == end["x"]).all()
    with pytest.raises(KeyError, match="'3' is not a quantity of this entry; it has x"):
        end[3]


def test_only_names_are_names_of_results() -> None:
    collect: Any = {1: cg.final("x"), "1": cg.final("x_dot")}
    with pytest.raises(cg.ArgumentError, match="collect: the key 1 is not a name"):
        cg.study(spring(), (0, 1), START, NUMBERS, n=2, collect=collect)


def test_tolerances_of_a_study_are_read_as_those_of_a_run() -> None:
    run = functools.partial(cg.study, spring(), (0, 1), START, NUMBERS, n=2, collect={"end": cg.final("x")})
    right = run(atol=1e-7).results["end"]["x"]
    assert (run(atol=Decimal("1e-7")).results["end"]["x"] == right).all()
    assert (run(atol={"x_dot": 1e-7, "x": 1e-7}).results["end"]["x"] == right).all()


def test_sets_and_bytes_have_no_order_and_no_numbers() -> None:
    with pytest.raises(cg.ArgumentError, match=r"t_span = \{.*\} is not a pair"):
        spring().integrate({0.0, 1.0}, START, NUMBERS)
    for numbers in (bytearray(b"\0\1"), memoryview(b"\0\1")):
        with pytest.raises(cg.ArgumentError, match=r"t_eval = .* is not an array of real numbers"):
            spring().integrate((0, 1), START, NUMBERS, t_eval=numbers)
    with pytest.raises(cg.ArgumentError, match="sensitivity_control = 'no' must be True or False"):
        cg.ensemble(spring(), (0, 1), START, NUMBERS, n=2, sensitivity_control="no")


@pytest.mark.parametrize("value", [None, 5, b"x", "a\0b", "\ud800", np.array("x"), "x" * 10**5])
def test_paths(value: Any) -> None:
    end = {"end": cg.final("x")}
    calls: dict[str, Callable[[], Any]] = {
        "emit": lambda: of_a_point().emit(value),
        "export_c": lambda: spring().export_c(value),
        "export_fmu": lambda: spring().export_fmu(value),
        "open_study": lambda: cg.open_study(value),
        "load_model": lambda: cg.load_model(value),
        "out": lambda: cg.study(spring(), (0, 1), START, NUMBERS, n=2, collect=end, out=value),
    }
    for name, call in calls.items():
        if not (name in ("out", "emit") and value is None):
            with pytest.raises(cg.ChaplyginError, match=r"must be a path|no compiled model at") as error:
                call()
            assert len(str(error.value)) < 2000


def test_arrays_of_one_value_again_and_again_are_refused_at_once() -> None:
    many = np.broadcast_to(1.0, 10**9)
    begin = time.process_time()
    for call in (
        lambda: spring().integrate((0, 1), START, NUMBERS, t_eval=many),
        lambda: spring().integrate(many, START, NUMBERS),
        lambda: cg.response(spring(), (0, 1), "x", DRAWN, NUMBERS, inputs=many),
        lambda: spring().integrate((0, 1), many, NUMBERS),
        lambda: spring().integrate((0, 1), START, NUMBERS, sensitivities=many),
        lambda: cg.study(spring(), (0, 1), START, NUMBERS, n=2, collect={"q": cg.quantiles("x", many)}),
    ):
        with pytest.raises(cg.ArgumentError):
            call()
    assert time.process_time() - begin < 2
