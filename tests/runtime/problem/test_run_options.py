"""The options of a run: one class has their names, defaults and checks, and whatever runs a model takes them."""

from __future__ import annotations

import inspect
import math
import os
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from documents import ROOT
from runtime_models import model, needs_core
from test_runtime_python import kernels

import chaplygin as cg
from chaplygin.runtime import PythonModel
from chaplygin.runtime.problem.options import DEFAULTS, STEPPER, RunKeywords, RunOptions

pytestmark = needs_core

START, PARAMETERS, INPUTS = [1.0, 0.0], [1.0, 4.0], [0.0]
RUNS = {"integrate": (cg.Model.integrate, DEFAULTS), "stepper": (cg.Model.stepper, STEPPER)}
RUNS |= {f"python {name}": (getattr(PythonModel, name), defaults) for name, (_, defaults) in RUNS.items()}
RUNS["ensemble"] = (cg.ensemble, DEFAULTS)


@pytest.fixture(params=["compiled", "pure-Python"])
def oscillator(request: pytest.FixtureRequest) -> Any:
    return model("oscillator") if request.param == "compiled" else PythonModel(kernels(), quiet=True)


def calls(oscillator: Any) -> dict[str, Any]:
    """Every function that takes the options, with its other arguments."""
    given = (START, PARAMETERS, INPUTS)
    return {
        "integrate": lambda **options: oscillator.integrate((0, 1), *given, **options),
        "stepper": lambda **options: oscillator.stepper(*given, **options),
        "ensemble": lambda **options: cg.ensemble(oscillator, (0, 1), *given, n=2, **options),
        "rerun": lambda **options: cg.ensemble(oscillator, (0, 1), *given, n=2).rerun(0, **options),
    }


@pytest.mark.parametrize("name", RUNS)
def test_signatures_list_every_option_with_its_default(name: str) -> None:
    function, defaults = RUNS[name]
    shown = inspect.signature(function).parameters
    assert {n: shown[n].default for n in vars(defaults)} == vars(defaults)
    assert all(shown[n].kind is inspect.Parameter.KEYWORD_ONLY for n in vars(defaults))
    assert all(p.kind is not inspect.Parameter.VAR_KEYWORD for p in shown.values())


def test_type_checkers_know_the_same_options() -> None:
    assert [field.name for field in fields(RunOptions)] == list(RunKeywords.__annotations__)
    for field in fields(RunOptions):
        assert RunKeywords.__annotations__[field.name].__forward_arg__ == field.type


def test_an_unknown_option_is_named_with_the_one_that_was_meant(oscillator: Any) -> None:
    meant = {
        "integrate": {"rtoll": "rtol", "dense_ouput": "dense_output", "maxstep": "max_step"},
        "stepper": {"rtoll": "rtol", "firststep": "first_step"},
        "ensemble": {"kink": "kinks", "lane": "lanes"},
        "rerun": {"first_steps": "first_step"},
    }
    for name, call in calls(oscillator).items():
        function = "integrate" if name == "rerun" else name
        for wrong, right in meant[name].items():
            with pytest.raises(
                TypeError, match=rf"{function}\(\) got an unexpected .*'{wrong}'; did you mean {right}\?"
            ):
                call(**{wrong: None})
        with pytest.raises(TypeError, match=r"unexpected keyword argument 'quux'$"):
            call(quux=1)


def test_a_stepper_takes_no_options_of_a_recorded_run(oscillator: Any) -> None:
    for option in ("t_eval", "dense_output", "events"):
        with pytest.raises(TypeError, match=option):
            oscillator.stepper(START, PARAMETERS, INPUTS, **{option: None})


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"method": "rk5"}, "unknown method 'rk5'"),
        ({"method": 8}, "method = 8 is not a string"),
        ({"rtol": -1.0}, "must not be negative"),
        ({"rtol": None}, "rtol = None is not a real number"),
        ({"rtol": math.nan}, "rtol = nan is not finite"),
        ({"atol": [1e-9]}, r"atol has shape \(1,\)"),
        ({"atol": {"q": 1e-9}}, "atol: missing v"),
        ({"rtol": 0, "atol": [1e-9, 0]}, "rtol and atol of v are both zero"),
        ({"max_step": 0}, "max_step = 0.0 must be positive"),
        ({"first_step": -0.1}, "first_step = -0.1 must be positive"),
        ({"step": 0.1}, "step is for fixed-step methods"),
        ({"method": "rk4"}, "this is a fixed-step method: give step="),
        ({"method": "rk4", "step": 0.0}, "step = 0.0 must be positive"),
        ({"max_steps": 1e6}, "max_steps = 1000000.0 must be a positive integer"),
        ({"max_steps": 0}, "max_steps = 0 must be a positive integer"),
        ({"max_steps": 2**62}, "must be a positive integer"),
        ({"max_steps": 2**64}, "must be a positive integer"),
        ({"kinks": 1}, "kinks = 1 must be True or False"),
        ({"paradox": "guess"}, "paradox = 'guess' must be one of"),
    ],
)
def test_every_run_refuses_the_same_values(oscillator: Any, options: dict[str, Any], says: str) -> None:
    for call in calls(oscillator).values():
        with pytest.raises(cg.ArgumentError, match=says):
            call(**options)


def test_numbers_of_any_type_give_the_same_run() -> None:
    m = model("oscillator")
    right = m.integrate((0, 5), START, PARAMETERS, INPUTS, rtol=1.0, atol=1e-6, max_steps=1000)
    for options in (
        {"rtol": 1, "atol": np.float64(1e-6), "max_steps": np.int64(1000)},
        {"rtol": np.float32(1), "atol": {"q": 1e-6, "v": 1e-6}, "max_steps": 1000},
        {"rtol": True, "atol": [1e-6, 1e-6], "max_steps": 1000, "max_step": math.inf, "first_step": None},
    ):
        sol = m.integrate((0, 5), START, PARAMETERS, INPUTS, **options)
        assert np.array_equal(sol.t, right.t)
        assert np.array_equal(sol.y, right.y)
        assert np.array_equal(sol._repeat().y, right.y)


NEW_OPTION = """
import inspect
import numpy as np
import chaplygin as cg
from chaplygin.api.python_model import python_model

system = cg.example("harmonic_oscillator").system
model, pure = system.compile(wait=True), python_model(system.equations().program, quiet=True)
given = {"x": 1.0, "x_dot": 0.0}, {"m": 1.0, "k": 4.0}
for m in (model, pure):
    for function in (m.integrate, m.stepper, cg.ensemble):
        assert inspect.signature(function).parameters["margin"].default == 0.5
    right, sol = m.integrate((0, 1), *given), m.integrate((0, 1), *given, margin=0.25)
    assert np.array_equal(sol.y, right.y) and np.array_equal(sol._repeat().y, right.y)
    m.stepper(*given, margin=0.25).advance(1)
    ens = cg.ensemble(m, (0, 1), *given, n=2, margin=0.25)
    assert np.array_equal(ens.rerun(0, margin=0.75).y, right.y)
    try:
        m.integrate((0, 1), *given, margins=0.25)
    except TypeError as error:
        assert "did you mean margin?" in str(error)
    else:
        raise AssertionError
"""


def test_a_new_option_is_one_field_and_its_type(tmp_path: Path) -> None:
    """Every function that runs a model lists it and takes it; what it does is up to whoever reads it."""
    package = tmp_path / "chaplygin"
    shutil.copytree(ROOT / "src" / "chaplygin", package)
    for folder in ("codegen", "runtime", "systems", "templates"):
        shutil.copytree(ROOT / folder, package / folder)
    path = package / "runtime" / "problem" / "options.py"
    field, kind = '    paradox: str = "stop"\n', "    paradox: str\n"
    text = path.read_text(encoding="utf-8")
    assert (text.count(field), text.count(kind)) == (1, 1)
    text = text.replace(field, field + "    margin: float = 0.5\n").replace(
        kind, kind + "    margin: float\n"
    )
    path.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", NEW_OPTION],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_options_are_frozen() -> None:
    with pytest.raises(AttributeError):
        DEFAULTS.rtol = 1e-3  # type: ignore[misc]
