"""The options of a run: one table has their names, types, defaults and meanings; whatever runs a model takes them.

A run that names no method has the same choice, by tolerance and kind of model, wherever it is.
"""

from __future__ import annotations

import inspect
import math
import pickle
import re
import shutil
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np
import pytest
from documents import ROOT
from processes import python
from refusals import refused
from runtime_models import hybrid, model

import chaplygin as cg
from chaplygin.cli.parser import parser
from chaplygin.generated.harmonic_oscillator import model as spring
from chaplygin.runtime import PythonModel
from chaplygin.runtime.problem.option_table import OPTIONS, Option, RunKeywords, defaults_of, explained
from chaplygin.runtime.problem.options import DEFAULTS, RunOptions

START, PARAMETERS, INPUTS = [1.0, 0.0], [1.0, 4.0], [0.0]
SINGLE = ("integrate", "stepper", "batch")
RUNS = {name: getattr(cg.Model, name) for name in (*SINGLE, "gradient", "objective", "lyapunov", "periodic")}
RUNS["python"] = PythonModel.integrate
RUNS |= {name: getattr(cg, name) for name in ("ensemble", "study", "response", "rare_event")}


@pytest.fixture
def oscillator() -> Any:
    return model("oscillator")


def calls(oscillator: Any) -> dict[str, Any]:
    """Every function that takes the options, with its other arguments."""
    given = (START, PARAMETERS, INPUTS)
    return {
        "integrate": lambda **options: oscillator.integrate((0, 1), *given, **options),
        "stepper": lambda **options: oscillator.stepper(*given, **options),
        "ensemble": lambda **options: cg.ensemble(oscillator, (0, 1), *given, n=2, **options),
        "study": lambda **options: cg.study(
            oscillator, (0, 1), *given, n=2, collect={"end": cg.final("q")}, **options
        ),
        "rerun": lambda **options: cg.ensemble(oscillator, (0, 1), *given, n=2).rerun(0, **options),
    }


@pytest.mark.parametrize("name", RUNS)
def test_signatures_list_every_option_with_its_default(name: str) -> None:
    shown = inspect.signature(RUNS[name]).parameters
    defaults = defaults_of(RUNS[name].__name__)
    assert {n: shown[n].default for n in defaults} == defaults
    assert all(shown[n].kind is inspect.Parameter.KEYWORD_ONLY for n in defaults)
    assert all(p.kind is not inspect.Parameter.VAR_KEYWORD for p in shown.values())


@pytest.mark.parametrize("name", RUNS)
def test_docstrings_explain_every_option(name: str) -> None:
    rest = (inspect.getdoc(RUNS[name]) or "").partition("\n\nOptions of the run:\n\n")[2]
    rows = re.split(r"^ {4}(?! )", rest, flags=re.M)[1:]
    assert [" ".join(row.split()) for row in rows] == [f"{n}: {explained(n)}" for n in OPTIONS]


def test_functions_with_defaults_of_their_own() -> None:
    """A stepper is told where to stop by its caller; an orbit is closed to the last digits."""
    usual = defaults_of("integrate")
    assert defaults_of("stepper") == {**usual, "max_steps": 2**61}
    assert defaults_of("periodic") == {**usual, "rtol": 1e-12, "atol": 1e-12}
    assert {name for row in OPTIONS.values() for name in row.elsewhere} == {"stepper", "periodic"}


@pytest.mark.parametrize("command", ["run", "ensemble"])
def test_the_command_line_has_every_option(command: str) -> None:
    (commands,) = (action for action in parser()._actions if isinstance(action.choices, dict))
    sub = commands.choices[command]  # type: ignore[index]
    help_of = {action.dest: action.help for action in sub._actions}
    for name, row in OPTIONS.items():
        assert f"--{name.replace('_', '-')}" in sub._option_string_actions
        assert help_of[name].startswith("METHODS" if name == "method" else row.meaning)
    texts = ["--max-step", "0.5", "--max-steps", "7", "--kinks", "--project", "none", "--paradox", "keep"]
    texts.append("--no-at-samples")
    given = vars(sub.parse_args(["sleigh", *texts, *(["-n", "1"] if command == "ensemble" else [])]))
    right = {
        "max_step": 0.5,
        "max_steps": 7,
        "kinks": True,
        "project": None,
        "paradox": "keep",
        "at_samples": False,
    }
    assert {name: value for name, value in given.items() if name in OPTIONS} == right


def test_the_page_on_runs_tells_of_every_option() -> None:
    page = (ROOT / "docs" / "runs.md").read_text(encoding="utf-8")
    told = page.partition("### Its options")[2].partition("\n## ")[0]
    assert [name for name in OPTIONS if not re.search(rf"`{name}\b", told)] == []


def undescribed(options: dict[str, Option], header: str, binding: str) -> list[str]:
    """What the options of `cg_run_t`, their comments and the binding lack of the table, or have beyond it."""
    found = re.findall(r"^ {4}\w+ \*?(\w+); +/\* (.+?) \*/", header, re.M | re.S)
    comments = {name: " ".join(re.sub(r"\n *\*", "", text).split()) for name, text in found}
    block = header.partition("/* Options;")[2].partition("/* Where the run is. */")[0]
    named = {
        name for name in re.findall(r"^ {4}\w+ (\w+);", block, re.M) if "not an option" not in comments[name]
    }
    known, taken = {row.member for row in options.values()}, set(re.findall(r"\brun\.(\w+)", binding))
    lacking = [
        name
        for name, row in options.items()
        if row.member and not (row.meaning in comments.get(row.member, "") and row.member in taken)
    ]
    return [*sorted(named - known), *lacking]


def test_c_describes_the_options_that_it_reads() -> None:
    header = (ROOT / "runtime" / "c" / "cg_run.h").read_text(encoding="utf-8")
    binding = (ROOT / "runtime" / "core" / "_options.pxi").read_text(encoding="utf-8")
    assert undescribed(OPTIONS, header, binding) == []
    more = {**OPTIONS, "margin": Option(0.5, "a margin", member="margin")}
    assert undescribed(more, header, binding) == ["margin"]
    place = "    int64_t max_steps;"
    described = header.replace(place, f"    double margin; /* [0.5] a margin */\n{place}")
    assert undescribed(OPTIONS, described, binding) == ["margin"]
    assert undescribed(more, described, binding) == ["margin"]
    assert undescribed(more, described, f"{binding}run.margin = given.margin") == []


def test_what_is_said_of_the_default_method() -> None:
    """The sentence of the table against the rule, cg_default_method in C."""
    found = re.fullmatch(
        r"(\w+) for tolerances up to (\S+), up to (\S+) with events or contacts, else (\w+)",
        OPTIONS["method"].left_out,
    )
    assert found is not None
    tight, smooth, with_events, loose = found.groups()
    for m, largest in ((model("oscillator"), float(smooth)), (hybrid("ball"), float(with_events))):
        assert {m.default_method(rtol, rtol) for rtol in (0.0, 1e-14, largest)} == {tight}
        assert {m.default_method(rtol, 1e-15) for rtol in (math.nextafter(largest, 1), 1.0)} == {loose}


def test_types_are_those_of_the_defaults() -> None:
    hints = get_type_hints(RunKeywords)
    for name, row in OPTIONS.items():
        kinds = get_args(hints[name]) or (hints[name],)
        defaults = [row.default, *row.elsewhere.values(), *(row.choices or ())]
        assert Any in kinds or all(type(value) in kinds for value in defaults)


def test_an_unknown_option_is_named_with_the_one_that_was_meant(oscillator: Any) -> None:
    meant = {
        "integrate": {"rtoll": "rtol", "dense_ouput": "dense_output", "maxstep": "max_step"},
        "stepper": {"rtoll": "rtol", "firststep": "first_step"},
        "ensemble": {"kink": "kinks", "lane": "lanes"},
        "study": {"collects": "collect", "on_fail": "on_failure"},
        "rerun": {"first_steps": "first_step"},
    }
    for name, call in calls(oscillator).items():
        function = "integrate" if name == "rerun" else name
        for wrong, right in meant[name].items():
            words = rf"{function}\(\) got an unexpected .*'{wrong}'; did you mean {right}\?"
            refused(words, call, error=TypeError, **{wrong: None})
        refused(r"unexpected keyword argument 'quux'$", call, quux=1, error=TypeError)


def test_a_stepper_takes_no_options_of_a_recorded_run(oscillator: Any) -> None:
    for option in ("t_eval", "dense_output", "events"):
        refused(option, oscillator.stepper, START, PARAMETERS, INPUTS, error=TypeError, **{option: None})


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
        ({"max_step": 0}, "max_step = 0 must be positive"),
        ({"first_step": -0.1}, "first_step = -0.1 must be positive"),
        ({"step": 0.1}, "step is for fixed-step methods"),
        ({"step": 0.0}, "step is for fixed-step methods"),
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
        refused(says, call, **options)


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
import contextlib, inspect, io
import numpy as np
import chaplygin as cg
from chaplygin import cli
from chaplygin.api.python_model import python_model

system = cg.example("harmonic_oscillator").system
model, pure = system.compile(wait=True), python_model(system.equations().program, quiet=True)
given = {"x": 1.0, "x_dot": 0.0}, {"m": 1.0, "k": 4.0}
for m in (model, pure):
    for function in (m.integrate, model.stepper, cg.ensemble, cg.study):
        assert inspect.signature(function).parameters["margin"].default == 0.5
        assert "    margin: distance from a wall" in inspect.getdoc(function)
    right, sol = m.integrate((0, 1), *given), m.integrate((0, 1), *given, margin=0.25)
    assert np.array_equal(sol.y, right.y) and np.array_equal(sol._repeat().y, right.y)
    try:
        m.integrate((0, 1), *given, margins=0.25)
    except TypeError as error:
        assert "did you mean margin?" in str(error)
    else:
        raise AssertionError
    assert right.options.margin == 0.5 and sol.options.margin == 0.25
model.stepper(*given, margin=0.25).advance(1)
ens = cg.ensemble(model, (0, 1), *given, n=2, margin=0.25)
assert np.array_equal(ens.rerun(0, margin=0.75).y, model.integrate((0, 1), *given).y)
told = io.StringIO()
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(told):
    cli.main(["run", "--help"])
assert "--margin MARGIN" in told.getvalue() and "distance from a wall" in told.getvalue()
"""


def test_a_new_option_is_one_row(tmp_path: Path) -> None:
    """Every function that runs a model lists it and takes it; what it does is up to whoever reads it."""
    package = tmp_path / "chaplygin"
    shutil.copytree(ROOT / "src" / "chaplygin", package, ignore=shutil.ignore_patterns("generated"))
    path = package / "runtime" / "problem" / "option_table.py"
    text, place = path.read_text(encoding="utf-8"), "    paradox: Annotated["
    assert text.count(place) == 1
    row = '    margin: Annotated[float, Option(0.5, "distance from a wall")]\n'
    path.write_text(text.replace(place, row + place), encoding="utf-8")
    python(NEW_OPTION, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)})


def test_options_are_frozen() -> None:
    with pytest.raises(AttributeError):
        DEFAULTS.rtol = 1e-3
    with pytest.raises(AttributeError):
        del DEFAULTS.rtol
    refused("rtoll", RunOptions, rtoll=1e-3, error=TypeError)
    other = pickle.loads(pickle.dumps(DEFAULTS.changed(rtol=1e-3)))
    assert (other, other.rtol, DEFAULTS.rtol) == (RunOptions(rtol=1e-3), 1e-3, 1e-9)


def test_a_solution_keeps_the_options_of_its_run(oscillator: Any) -> None:
    atol = np.array([1e-6, 1e-7])
    sol = oscillator.integrate((0, 1), START, PARAMETERS, INPUTS, rtol=1e-5, atol=atol)
    atol[:] = 1.0
    how = sol.options
    assert (how.method, how.rtol, how.atol.tolist()) == (sol.method, 1e-5, [1e-6, 1e-7])
    assert how.method == oscillator.default_method(1e-5, 1e-7)
    assert how is sol.options
    assert {name: getattr(how, name) for name in OPTIONS if name not in ("method", "rtol", "atol")} == {
        name: row.default for name, row in OPTIONS.items() if name not in ("method", "rtol", "atol")
    }
    with pytest.raises(AttributeError):
        how.rtol = 1.0


def test_the_same_options_are_checked_once_for_a_model(oscillator: Any) -> None:
    first = DEFAULTS.checked(oscillator)
    assert DEFAULTS.checked(oscillator) is first
    other = DEFAULTS.changed(rtol=1e-5)
    assert other.checked(oscillator).rtol == 1e-5
    assert DEFAULTS.checked(oscillator) == first
    varied = RunOptions(atol=[1e-6, 1e-7])
    assert varied.checked(oscillator) is not varied.checked(oscillator)  # its array may change


AT_ONE, NUMBERS = {"x": 1, "x_dot": 0}, {"m": 1, "k": 4}
TOLERANCES = [(1e-3, 1e-9, "dop853"), (1e-9, 1e-4, "dop853"), (1e-5, 1e-9, "vern9"), (1e-13, 0.0, "vern9")]


@pytest.mark.parametrize(("rtol", "atol", "method"), TOLERANCES)
def test_every_kind_of_run_takes_it(rtol: float, atol: float, method: str) -> None:
    """The larger of the two tolerances counts, and the bits are those of a run that names the method."""
    how: dict[str, Any] = {"rtol": rtol, "atol": atol}
    sol = spring.integrate((0, 5), AT_ONE, NUMBERS, **how)
    assert sol.method == spring.default_method(rtol, atol) == method
    named = spring.integrate((0, 5), AT_ONE, NUMBERS, method=method, **how)
    assert np.array_equal(sol.y, named.y)
    stepper = spring.stepper(AT_ONE, NUMBERS, **how)
    batch = spring.batch(AT_ONE, NUMBERS, n=2, **how)
    ensemble = cg.ensemble(spring, (0, 5), AT_ONE, NUMBERS, n=2, **how)
    assert stepper.method == batch.method == ensemble.method == method
    assert np.array_equal(stepper.advance(5.0), named.y[:, -1])
    assert np.array_equal(ensemble.y[:, 1], named.y[:, -1])
    study = cg.study(spring, (0, 5), AT_ONE, NUMBERS, n=2, collect={"x": cg.moments("x")}, **how)
    assert study.rerun(1).method == method


def test_the_smallest_absolute_tolerance_counts() -> None:
    atol = {"x": 1e-4, "x_dot": 1e-8}
    sol = spring.integrate((0, 1), AT_ONE, NUMBERS, rtol=1e-9, atol=atol)
    assert sol.method == spring.default_method(1e-9, atol) == "vern9"


def test_events_and_contacts_take_another_one() -> None:
    for name in ("bouncing_ball", "block_on_belt"):
        model = cg.example(name).system.compile("lagrange")
        assert [model.default_method(t, t) for t in (1e-9, 1e-12, 1e-13)] == ["dop853", "dop853", "vern9"]


def test_the_defaults_are_compiled_into_models() -> None:
    from chaplygin.codegen.methods import PAIRS

    inlined = {name for name, pair in PAIRS.items() if pair.inlined}
    assert inlined == {spring.default_method(t, t) for t in (1e-3, 1e-9)}


def test_a_repeated_run_keeps_its_method() -> None:
    """An audit repeats a run with its interpolant, and fails unless the bits are the same."""
    assert spring.integrate((0, 10), AT_ONE, NUMBERS).audit().passed


def test_a_wrong_tolerance_is_named() -> None:
    with pytest.raises(cg.ArgumentError, match="rtol = 'x'"):
        spring.default_method("x")
