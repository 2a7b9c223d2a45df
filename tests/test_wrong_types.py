"""Public functions and methods called with one argument of a wrong type: the project's own errors, or a proper result.

Every argument of every call in `CALLS` is replaced by each of the `VALUES` in turn: by default by a random sample of
them, in the slow test by all.
"""

from __future__ import annotations

import functools
import random
import time
import warnings
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy as sp
from runtime_models import needs_core

import chaplygin as cg

pytestmark = needs_core

START, NUMBERS = {"x": 1.0, "x_dot": 0.0}, {"m": 1.0, "k": 4.0}
DATA = {"t": [0.0, 1.0, 2.0, 3.0], "x": [1.0, -0.4, -0.6, 0.9]}
SHARE = 300


class Hostile:
    """An object that cannot be compared, tested, printed or iterated over."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise ArithmeticError("eq")

    def __bool__(self) -> bool:
        raise ArithmeticError("bool")

    def __repr__(self) -> str:
        raise ArithmeticError("repr")

    def __iter__(self) -> Any:
        raise ArithmeticError("iter")

    def __float__(self) -> float:
        raise ArithmeticError("float")


def endless() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


VALUES: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "array": lambda: np.array([1.0, 2.0]),
    "array of no axes": lambda: np.array(5),
    "empty array": lambda: np.empty((2, 0)),
    "array of strings": lambda: np.array(["x", "y"]),
    "array of objects": lambda: np.array([None, "x"], dtype=object),
    "Decimal": lambda: Decimal("0.5"),
    "Fraction": lambda: Fraction(1, 3),
    "sqrt(2)": lambda: sp.sqrt(2),
    "symbol": lambda: sp.Symbol("zeta"),
    "matrix": lambda: sp.Matrix([1, 2]),
    "NaN": lambda: float("nan"),
    "complex": lambda: 1j,
    "bytes": lambda: b"x",
    "bytearray": lambda: bytearray(b"x"),
    "string": lambda: "nonsense",
    "ragged list": lambda: [["x"], 2],
    "list of NaN": lambda: [float("nan")],
    "huge integer": lambda: 10**400,
    "negative": lambda: -1,
    "set": lambda: {"x"},
    "generator": lambda: (i for i in "xy"),
    "dict": lambda: {1: 2},
    "function": lambda: lambda *_: "x",
    "class": lambda: int,
    "hostile": Hostile,
    "duration": lambda: np.timedelta64(3),
    "string of no axes": lambda: np.array("x"),
    "list of itself": endless,
    "table of itself": lambda: [endless(), endless()],
    "broadcast": lambda: np.broadcast_to(1.0, 10**9),
    "broadcast objects": lambda: np.broadcast_to(np.array(Decimal(1), dtype=object), (2, 10**9)),
    "list of bytes": lambda: [bytearray(b"ab"), bytearray(b"ab")],
}


@functools.cache
def spring() -> Any:
    from chaplygin.generated.harmonic_oscillator import model

    return model


def stepper() -> Any:
    return spring().stepper(START, NUMBERS)


def batch() -> Any:
    return spring().batch(START, NUMBERS, n=3)


@functools.cache
def cart() -> Any:
    x, force = cg.coordinates("x"), cg.inputs("F")
    return cg.System(
        "cart", coordinates=[x], kinetic=cg.rate(x) ** 2 / 2, forces={cg.rate(x): force}
    ).compile()


def environment(kind: str, **changes: Any) -> Any:
    gym = pytest.importorskip("chaplygin.gym")
    given = {**EPISODES, **changes}
    made = gym.VectorEnv(cart(), 2, **given) if kind == "VectorEnv" else gym.Env(cart(), **given)
    made.reset()
    return made


@functools.cache
def fitted() -> cg.Fit:
    return cg.fit(spring(), DATA, initial=START, parameters=NUMBERS, free=["k"])


@functools.cache
def solution() -> Any:
    return spring().integrate((0, 1), START, NUMBERS, dense_output=True)


RUN = {"t_span": (0, 0.1), "initial": START, "parameters": NUMBERS, "inputs": None}
HOW = {"method": "dop853", "rtol": 1e-6, "atol": 1e-6, "max_step": 1.0, "max_steps": 1000, "kinks": False,
       "paradox": "stop", "project": None}  # fmt: skip
EPISODES = {"dt": 0.1, "actions": {"F": (-1, 1)}, "observations": ["x"], "reward": "x", "terminated": None,
            "initial": {"x": (-1, 1), "x_dot": 0}, "parameters": None, "inputs": None, "max_episode_steps": 5,
            "seed": 1}  # fmt: skip
BODY = {
    "parent": None,
    "axis": "z",
    "name": "a",
    "mass": 1,
    "inertia": (1, 1, 1),
    "center": (0, 0, 0),
    "at": (0, 0, 0),
}

CALLS: dict[str, tuple[Callable[[], Callable[..., Any]], dict[str, Any]]] = {
    "integrate": (lambda: spring().integrate, RUN | HOW | {
        "t_eval": None, "dense_output": False, "events": None, "sensitivities": ["k"], "sensitivity_control": False}),
    "ensemble": (lambda: functools.partial(cg.ensemble, spring()), RUN | HOW | {
        "n": 3, "t_eval": None, "threads": 1, "chunk": 2, "lanes": None, "progress": False, "seed": None,
        "sampling": "random", "reject": False, "sensitivities": None}),
    "study": (lambda: functools.partial(cg.study, spring()), RUN | HOW | {
        "n": 3, "threads": 1, "workers": None, "lanes": None, "progress": False, "seed": None, "sampling": "random",
        "on_failure": "exclude", "collect": {"end": cg.final("x")}, "until": None}),
    "executor": (lambda: functools.partial(cg.ensemble, spring(), n=3), RUN | {"executor": None}),
    "Env": (lambda: functools.partial(environment, "Env"), EPISODES),
    "VectorEnv": (lambda: functools.partial(environment, "VectorEnv"), EPISODES | {"autoreset": "next_step"}),
    "Env: step": (lambda: environment("Env").step, {"action": [0.0]}),
    "Env: reset": (lambda: environment("Env").reset, {"seed": None}),
    "VectorEnv: step": (lambda: environment("VectorEnv").step, {"actions": [[0.0], [0.0]]}),
    "VectorEnv: reset": (lambda: environment("VectorEnv").reset, {"seed": None, "options": None}),
    "stepper": (lambda: spring().stepper, {"initial": START, "parameters": NUMBERS, "t0": 0.0, **HOW}),
    "batch": (lambda: spring().batch, {
        "initial": START, "parameters": NUMBERS, "n": 3, "t0": 0.0, "threads": 1, "lanes": None,
        "sensitivities": None, **HOW}),
    "linearize": (lambda: spring().linearize, {
        "state": {"x": 0, "x_dot": 0}, "parameters": NUMBERS, "t": 0.0, "about": "equilibrium"}),
    "equilibrium": (lambda: spring().equilibrium, {
        "guess": START, "parameters": NUMBERS, "keep": [], "free": [], "t": 0.0}),
    "steady_motion": (lambda: spring().steady_motion, {
        "guess": START, "parameters": NUMBERS, "keep": ["x"], "free": [], "t": 0.0}),
    "lyapunov": (lambda: spring().lyapunov, {
        "t_span": (0, 2), "initial": START, "parameters": NUMBERS, "n": 1, "transient": 0.0, "interval": 0.05}),
    "periodic": (lambda: spring().periodic, {
        "initial": START, "period": 3.1, "parameters": NUMBERS, "t": 0.0, "turns": None, "drift": ()}),
    "consistent": (lambda: spring().consistent, {"initial": START, "parameters": NUMBERS, "keep": (), "t": 0.0}),
    "gradient": (lambda: spring().gradient, {
        "loss": "x", "t_span": (0, 0.1), "initial": START, "parameters": NUMBERS, "by": None}),
    "objective": (lambda: spring().objective, {
        "loss": "x", "t_span": (0, 0.1), "initial": START, "parameters": NUMBERS, "free": ["k"]}),
    "fit": (lambda: functools.partial(cg.fit, spring()), {
        "data": DATA, "free": ["k"], "initial": START, "parameters": NUMBERS, "t0": None, "bounds": None}),
    "residuals": (lambda: functools.partial(cg.residuals, spring()), {
        "data": DATA, "free": ["k"], "initial": START, "parameters": NUMBERS, "t0": None}),
    "jointly": (lambda: cg.jointly, {
        "names": ("x", "x_dot"), "source": np.ones((2, 5)), "correlation": None, "rows": "random"}),
    "rhs": (lambda: spring().rhs, {"t": 0, "y": START, "p": NUMBERS, "u": ()}),
    "evaluate": (lambda: spring().evaluate, {"t": 0, "y": START, "p": NUMBERS, "u": ()}),
    "call": (lambda: spring().call, {"kernel": "rhs", "t": 0, "y": START, "p": NUMBERS, "u": ()}),
    "attributes": (lambda: spring().attributes, {"name": "x"}),
    "default_method": (lambda: spring().default_method, {"rtol": 1e-9, "atol": 1e-9}),
    "advance": (lambda: stepper().advance, {"t": 0.1}),
    "advance_by": (lambda: stepper().advance_by, {"dt": 0.1}),
    "stepper: set_state": (lambda: lambda values: stepper().set_state(values), {"values": START}),
    "stepper: set_parameters": (lambda: lambda values: stepper().set_parameters(values), {"values": NUMBERS}),
    "stepper: set_inputs": (lambda: lambda values: stepper().set_inputs(values), {"values": {}}),
    "stepper: item": (lambda: lambda key: stepper()[key], {"key": "x"}),
    "stepper: evaluate": (lambda: stepper().evaluate, {"name": "x"}),
    "stepper: restore": (lambda: lambda snapshot: stepper().restore(snapshot), {"snapshot": 5}),
    "batch: advance": (lambda: batch().advance, {"t": 0.1, "inputs": None}),
    "batch: advance_by": (lambda: batch().advance_by, {"dt": 0.1, "inputs": None}),
    "batch: reset": (lambda: batch().reset, {"where": None, "initial": None, "parameters": None}),
    "batch: item": (lambda: lambda key: batch()[key], {"key": "x"}),
    "batch: evaluate": (lambda: batch().evaluate, {"what": "x", "out": None}),
    "batch: save": (lambda: batch().save, {"where": None}),
    "batch: restore": (lambda: batch().restore, {"snapshot": 5, "where": None}),
    "batch: set_inputs": (lambda: lambda values: batch().set_inputs(values), {"values": {}}),
    "Fit: contains": (lambda: fitted().contains, {"values": {"k": 4.0}, "level": 0.95}),
    "Fit: interval": (lambda: fitted().interval, {"name": "k", "level": 0.95}),
    "Solution: item": (lambda: lambda key: solution()[key], {"key": "x"}),
    "Solution: evaluate": (lambda: lambda key: solution().evaluate(key), {"key": "x"}),
    "Solution: sol": (lambda: lambda t: solution().sol(t), {"t": 0.5}),
    "revolute": (lambda: cg.joint.revolute, BODY),
    "Body": (lambda: cg.Body, {"name": "b", "parent": None, "rotation": None, "mass": 1,
                               "inertia": (1, 1, 1), "center": (0, 0, 0)}),
    "to_numba": (lambda: spring().to_numba, {"kernel": "rhs"}),
    "grid": (lambda: cg.grid, {"axes": {"x": [1, 2]}}),
    "final": (lambda: cg.final, {"name": "x"}),
    "load_model": (lambda: cg.load_model, {"path": "nowhere.so"}),
    "example": (lambda: cg.example, {"name": "heavy_top"}),
    "coordinates": (lambda: cg.coordinates, {"names": "x y"}),
    "rate": (lambda: cg.rate, {"coordinate": sp.Symbol("x", real=True)}),
}  # fmt: skip

DECLARED = {"Body", "revolute", "rate", "load_model"}
"""Calls whose arguments SymPy or the operating system looks at first: errors of a hostile object are its own there."""
FAILING_BY_THEMSELVES = {("events", "class"), ("initial", "class"), ("parameters", "class")}
"""Functions whose error is their own: int() of a state or of a generator."""
CASES = [
    (call, name, value)
    for call, (_, given) in CALLS.items()
    for name in given
    for value in VALUES
    if not (value == "hostile" and call in DECLARED) and (name, value) not in FAILING_BY_THEMSELVES
]
POSITIONAL = {"grid", "final", "loss", "load_model", "example", "coordinates", "rate"}


def attempt(call: str, name: str, value: str) -> str | None:
    """What is wrong with the answer to one call, or None."""
    make, given = CALLS[call]
    entries = {**given, name: VALUES[value]()}
    function = make()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            function(*entries.values()) if call in POSITIONAL else function(**entries)
        except cg.ChaplyginError as error:
            return None if len(str(error)) < 2000 else f"a message of {len(str(error))} characters"
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return None


def check(cases: list[tuple[str, str, str]]) -> None:
    found = {case: attempt(*case) for case in cases}
    wrong = [f"{call}({name}=<{value}>): {text}" for (call, name, value), text in found.items() if text]
    assert not wrong, "\n".join(wrong)


def test_a_sample_of_wrong_types() -> None:
    check(random.Random(28).sample(CASES, SHARE))


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


@pytest.mark.parametrize("value", [None, 5, b"x", "a\0b", "\ud800", np.array("x")])
def test_paths(value: Any) -> None:
    end = {"end": cg.final("x")}
    calls: dict[str, Callable[[], Any]] = {
        "export_c": lambda: spring().export_c(value),
        "export_fmu": lambda: spring().export_fmu(value),
        "open_study": lambda: cg.open_study(value),
        "load_model": lambda: cg.load_model(value),
        "out": lambda: cg.study(spring(), (0, 1), START, NUMBERS, n=2, collect=end, out=value),
    }
    for name, call in calls.items():
        if not (name == "out" and value is None):
            with pytest.raises(cg.ChaplyginError, match=r"must be a path|no compiled model at"):
                call()


def test_arrays_of_one_value_again_and_again_are_refused_at_once() -> None:
    many = np.broadcast_to(1.0, 10**9)
    begin = time.process_time()
    for call in (
        lambda: spring().integrate((0, 1), START, NUMBERS, t_eval=many),
        lambda: spring().integrate(many, START, NUMBERS),
        lambda: spring().integrate((0, 1), many, NUMBERS),
        lambda: spring().integrate((0, 1), START, NUMBERS, sensitivities=many),
        lambda: cg.study(spring(), (0, 1), START, NUMBERS, n=2, collect={"q": cg.quantiles("x", many)}),
    ):
        with pytest.raises(cg.ArgumentError):
            call()
    assert time.process_time() - begin < 2


@pytest.mark.slow
def test_every_wrong_type() -> None:
    check(CASES)
