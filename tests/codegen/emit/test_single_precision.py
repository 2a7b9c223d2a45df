"""C sources in single precision: their text, their object code, their accuracy, the time, events and contacts."""

from __future__ import annotations

import importlib
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from c_bundles import LANGUAGES, PARADOX, Exported, called, exported
from c_runtime import ROOT, SANITIZERS, SOURCES, STRICT, run
from integrations import need
from small_systems import SMALL
from test_c_core import INLINE

import chaplygin as cg
from chaplygin.codegen.emit.single_precision import single_literal, single_precision
from chaplygin.codegen.emit.targets import emit
from chaplygin.codegen.emit.write_folder import with_headers
from chaplygin.codegen.lower.lowered import Lowered
from chaplygin.errors import EmitError
from chaplygin.runtime.interface.files import DRIVER, INCLUDE, runtime_text
from chaplygin.systems import block_on_belt

EPSILON = 2.0**-23
GENERATED = sorted(path.name.removesuffix("_core.c") for path in (ROOT / "generated").glob("*_core.c"))
SOFT_FLOAT = ["-mcpu=cortex-m0", "-mthumb"]
FLOAT_UNIT = ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"]


def driver() -> dict[str, str]:
    return {name: runtime_text(name) for name in DRIVER}


def generated(name: str) -> dict[str, str]:
    return {
        f"{name}_core.{end}": (ROOT / "generated" / f"{name}_core.{end}").read_text("utf-8") for end in "hc"
    }


def by_hand(name: str) -> dict[str, str]:
    return {file: (SOURCES / file).read_text(encoding="utf-8") for file in (f"model_{name}.c", "models.h")}


def emitted(name: str) -> tuple[Lowered, Mapping[str, str]]:
    """The program of a catalogue system, and its C files."""
    program = cg.example(name).system.equations(cg.example(name).forms[0]).program
    return program, emit(program, ["c"]).files


def names_of(program: Lowered) -> tuple[list[str], list[str]]:
    return [v.name for v in program.states], [v.name for v in program.parameters]


def complete(model: Mapping[str, str]) -> dict[str, str]:
    """A model's files with the driver and all headers, also that of the inlined methods."""
    inlined = {"cg_inline.h": runtime_text("cg_inline.h")}
    return with_headers({**model, **driver(), **inlined})


def write(folder: Path, texts: Mapping[str, str]) -> list[str]:
    """Write the files; return the paths of those to be compiled."""
    folder.mkdir()
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [str(folder / name) for name in texts if name.endswith(".c")]


# ---- the text ----


def test_literals_are_the_nearest_numbers() -> None:
    rng = np.random.default_rng(1)
    for value in [
        *(10.0 ** rng.uniform(-37, 38, 300) * rng.uniform(1, 3, 300)),
        0.1,
        1.0,
        16777217.0,
        0.0,
        2.0**-126,
    ]:
        text = single_literal(repr(float(value)), "a file")
        assert re.fullmatch(r"(\d+\.\d*|\d+)(e[+-]?\d+)?f", text)
        assert "." in text or "e" in text
        assert np.float32(text[:-1]) == np.float32(value)


@pytest.mark.parametrize("literal", ["1e-300", "1e39", "1e-40", "0x1p-127"])
def test_a_number_that_single_precision_cannot_hold_is_refused(literal: str) -> None:
    with pytest.raises(EmitError, match=rf"{re.escape(literal)} in model_core.c is outside the range"):
        single_precision({"model_core.c": f"const double a = {literal};"})


@pytest.mark.parametrize(
    ("double", "single"),
    [
        ("const double a = x*0.1 + 2;", "const float a = x*0.1f + 2;"),
        ("sqrt(1e-3) + fabs (y)", "sqrtf(0.001f) + fabsf (y)"),
        ("model.sin = sine; sinusoid(2.5e+1)", "model.sin = sine; sinusoid(25.0f)"),
        ('/* double 0.1 */ "double 0.1" // 0.1', '/* double 0.1 */ "double 0.1" // 0.1'),
        ("DBL_EPSILON*DBL_MIN + HUGE_VAL", "FLT_EPSILON*FLT_MIN + HUGE_VALF"),
        ("(double)n / UINT64_C(0x10) + x0.e1 + 1u", "(float)n / UINT64_C(0x10) + x0.e1 + 1u"),
        ('"float64"', '"float32"'),
    ],
)
def test_tokens(double: str, single: str) -> None:
    assert single_precision({"file.c": double}) == {"file.c": single}


def test_limits_of_pivots_are_as_many_spacings_of_numbers() -> None:
    text = "if (fabs(a) <= 0.0 || fabs(b) <= 1e-13 ||\n    fabs(c) <= 2e-14*fabs(d)) return\n    CG_SINGULAR;"
    found = single_precision({"file.c": text})["file.c"]
    limits = [float(value) for value in re.findall(r"<= ([\d.e+-]+)f", found)]
    assert limits == pytest.approx([0.0, 1e-13 * 2**29, 2e-14 * 2**29], rel=1e-6)


@pytest.mark.parametrize("name", GENERATED)
def test_no_double_is_left(name: str) -> None:
    for text in single_precision(complete(generated(name))).values():
        code = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"', " ", text, flags=re.S)
        assert not re.search(r"\bdouble\b|\bDBL_|\bHUGE_VAL\b", code)
        assert not re.search(r"(?<![\w.])(\d+\.\d*|\.\d+|\d+(?=[eE][+-]?\d))([eE][+-]?\d+)?(?![\w.])", code)


# ---- the object code ----


@pytest.mark.parametrize(
    "compiler", ["clang", "g++", *(pytest.param(c, marks=pytest.mark.slow) for c in ("gcc", "clang++"))]
)
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name != "chaplygin_sleigh" else ()) for name in GENERATED],
)
@pytest.mark.sample(1)
def test_compiles_without_a_warning(tmp_path: Path, compiler: str, name: str) -> None:
    files = write(tmp_path / "single", single_precision(complete(generated(name))))
    language = ["-x", "c++", "-std=c++17"] if compiler.endswith("++") else ["-std=c99"]
    run([need(compiler), *language, *STRICT, "-Wdouble-promotion", INLINE, "-fsyntax-only", *files])


def objects(folder: Path, *command: str) -> list[str]:
    """Compile the driver and the sleigh."""
    files = write(folder / "single", single_precision(complete(generated("chaplygin_sleigh"))))
    for file in files:
        run([*command, "-std=c99", "-c", file, "-o", f"{file}.o"])
    return [f"{file}.o" for file in files]


@pytest.mark.parametrize(
    "flags",
    [
        pytest.param(["-O1"], id="plain"),
        pytest.param(["-O2", INLINE], id="inlined", marks=pytest.mark.slow),
        pytest.param(["-O3", "-march=x86-64-v3", INLINE], id="v3", marks=pytest.mark.slow),
    ],
)
def test_no_double_precision_instruction(tmp_path: Path, flags: list[str]) -> None:
    """Arithmetic, comparisons and conversions of double precision on x86-64."""
    if "x86_64" not in run([need("gcc"), "-dumpmachine"]):
        pytest.skip("reads assembly of x86-64")
    for file in objects(tmp_path, "gcc", *flags):
        code = run([need("objdump"), "-d", "--no-show-raw-insn", file])
        names = {line.split("\t")[1].split(" ")[0] for line in code.splitlines() if "\t" in line}
        double = r"v?(add|sub|mul|div|sqrt|min|max|round|cmp\w*|u?comi|fn?m\w+|dp)[sp]d|v?cvt\w*[sp]d\w*"
        assert {name for name in names if re.fullmatch(double, name)} == set()
        assert any(name.endswith("ss") for name in names) or "status" in file


@pytest.mark.parametrize(
    "flags",
    [
        pytest.param([*SOFT_FLOAT, "-O0"], id="soft-float"),
        pytest.param([*SOFT_FLOAT, "-Os", INLINE], id="soft-float-inlined", marks=pytest.mark.slow),
        pytest.param([*FLOAT_UNIT, "-Os", INLINE], id="float-unit", marks=pytest.mark.slow),
    ],
)
def test_no_double_precision_call_on_a_microcontroller(tmp_path: Path, flags: list[str]) -> None:
    """Neither the ABI's names (__aeabi_dadd, __aeabi_f2d) nor GCC's (__adddf3, __extendsfdf2), nor a double of libm."""
    for file in objects(tmp_path, need("arm-none-eabi-gcc"), *flags):
        wanted = re.findall(r" U (\S+)", run(["arm-none-eabi-nm", file]))
        assert [name for name in wanted if re.match(r"__aeabi_(d|[a-z]+2d|cd)|__\w*df", name)] == []
        libm = {name for name in wanted if not re.match(r"__|cg_|chaplygin_", name)}
        assert libm <= {"sqrtf", "memcpy", "memset", "memcmp", "strcmp", "malloc", "free"}
        assert ".f64" not in run(["arm-none-eabi-objdump", "-d", file])


# ---- runs ----


class Outcome(NamedTuple):
    status: int
    steps: int
    on_time: bool
    state: list[float]
    log: list[list[float]]


Host = Callable[..., Outcome]
Compiled = Callable[[Mapping[str, str]], Sequence[str]]


def compiled_in(folder: Path, *flags: str) -> Compiled:
    """Compiles C files to object files, each text once."""
    folder.mkdir(parents=True)
    known: dict[tuple[str, str], str] = {}

    def compiled(texts: Mapping[str, str]) -> list[str]:
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
        for name, text in texts.items():
            if name.endswith(".c") and (name, text) not in known:
                known[name, text] = f"{folder / name}.{len(known)}.o"
                run([need("gcc"), "-std=c99", *flags, "-c", str(folder / name), "-o", known[name, text]])
        return [known[item] for item in texts.items() if item in known]

    return compiled


def host_of(name: str, model: Mapping[str, str], compiled: Compiled, *flags: str) -> Host:
    """A function that runs tests/c/host.c with a model."""
    text = (SOURCES / "host.c").read_text(encoding="utf-8").replace("MODEL", f"{name}_model")
    texts = single_precision(with_headers({**driver(), **model, "host.c": text}))
    *rest, last = compiled(texts)
    program = f"{last}.host"
    run([need("gcc"), *flags, *rest, last, "-lm", "-o", program])

    def call(
        method: str, state: Sequence[float], parameters: Sequence[float], last: int, *, first: int = 0,
        rate: int = 1, rtol: float = 1e-5, atol: float = 1e-6, step: float = 0.0, watch: bool = False,
    ) -> Outcome:  # fmt: skip
        numbers = [rtol, atol, step, first, last, rate, int(watch), *state, *parameters]
        head, *rows = run(
            [program, method, *(repr(float(v)) if isinstance(v, float) else str(v) for v in numbers)]
        ).splitlines()
        status, steps, on_time, *x = head.split()
        log = [[float.fromhex(v) for v in row.split()] for row in rows]
        return Outcome(int(status), int(steps), on_time == "1", [float.fromhex(v) for v in x], log)

    return call


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    return compiled_in(tmp_path_factory.mktemp("single") / "objects", "-O1", "-ffp-contract=off")


def of_example(
    entry: cg.Example, states: Sequence[str], parameters: Sequence[str]
) -> tuple[list[float], list[float]]:
    return [entry.initial[s] for s in states], [entry.parameters[p] for p in parameters]


def shipped(name: str) -> cg.Model:
    model: cg.Model = importlib.import_module(f"chaplygin.generated.{name}").model
    return model


@pytest.mark.parametrize("method", ["rk4", "tsit5", "dop853", "vern7"])
@pytest.mark.parametrize("name", ["heavy_top", "chaplygin_sleigh"])
@pytest.mark.sample(1)
def test_end_states_are_those_of_double_precision(compiled: Compiled, name: str, method: str) -> None:
    """Over the catalogue's time span, at the same tolerances, in units of the largest component."""
    entry, model = cg.example(name), shipped(name)
    state, parameters = of_example(entry, model.states, model.parameters)
    end, step = int(entry.t_span[1]), 0.01 if method == "rk4" else 0.0
    single = host_of(name, generated(name), compiled)(method, state, parameters, end, step=step)
    how = {"method": method, "rtol": 1e-5, "atol": 1e-6, **({"first_step": step} if step else {})}
    stepper = model.stepper(dict(entry.initial), dict(entry.parameters), **how)
    for t in range(1, end + 1):
        stepper.advance(t)
    assert (single.status, single.on_time) == (0, True)
    np.testing.assert_allclose(single.state, stepper.y, rtol=0, atol=1e-3 * np.abs(stepper.y).max())


@pytest.mark.slow
def test_a_day_of_milliseconds_ends_on_time(tmp_path: Path) -> None:
    """86,400,000 steps, by as many calls and by one call: the end is 86,400 s in ticks of 1 ns."""
    texts = with_headers({"day.c": (SOURCES / "day.c").read_text(encoding="utf-8")})
    (file,) = write(tmp_path / "day", single_precision(texts))
    run([need("gcc"), "-std=c99", "-O2", *STRICT, file, "-o", f"{file}.run"])
    assert run([f"{file}.run"]).split() == ["86400000", "86400000000000"] * 2


@pytest.mark.parametrize("method", ["rk4", "tsit5", "dop853"])
@pytest.mark.sample(1)
def test_steps_at_the_end_of_a_day_are_those_at_its_start(compiled: Compiled, method: str) -> None:
    """A second of 1 kHz steps after 23 h 59 min 59 s has the bits of one at time 0.

    x'' = -w^2 x + t from x = 1: x = cos wt + (t - sin(wt) / w) / w^2.
    """
    call = host_of("oscillator", by_hand("oscillator"), compiled)
    early = call(method, [1.0, 0.0], [7.0], 1000, rate=1000, step=0.001)
    late = call(method, [1.0, 0.0], [7.0], 86_400_000, first=86_399_000, rate=1000, step=0.001)
    assert late == early
    assert (early.status, early.steps, early.on_time) == (0, 1000, True)
    x = np.cos(7.0) + (1.0 - np.sin(7.0) / 7.0) / 49.0
    v = -7.0 * np.sin(7.0) + (1.0 - np.cos(7.0)) / 49.0
    np.testing.assert_allclose(early.state, [x, v], rtol=0, atol=1e-4)


@pytest.mark.parametrize("method", ["rodas5p", "auto"])
def test_a_stiff_method_follows_a_slow_motion(compiled: Compiled, method: str) -> None:
    """Prothero and Robinson's problem with the rate 1e4: x = sin t. The stability of dop853 needs 3,000 steps."""
    outcome = host_of("stiff", by_hand("stiff"), compiled)(method, [0.0, 0.0], [1.0, 1e4], 2)
    assert outcome.status == 0
    assert outcome.steps < 600
    assert outcome.state[0] == pytest.approx(np.sin(2.0), abs=1e-4)


def test_impacts_by_the_closed_form(compiled: Compiled) -> None:
    """A ball dropped from h: it hits the floor at sqrt(2 h / g) (1 + 2 e + 2 e^2 + ...), which converges."""
    entry = cg.example("bouncing_ball")
    program, files = emitted("bouncing_ball")
    state, parameters = of_example(entry, *names_of(program))
    outcome = host_of("bouncing_ball", files, compiled)("dop853", state, parameters, 10, watch=True)
    fall, e = np.sqrt(2 * entry.initial["x"] / entry.parameters["g"]), entry.parameters["e"]
    times = fall * (1 + 2 * np.cumsum([0, *e ** np.arange(1, 25)]))
    assert outcome.status == -9  # CG_ACCUMULATING
    np.testing.assert_allclose([row[0] for row in outcome.log[:25]], times, rtol=3e-5)


def test_stick_and_slip_by_the_closed_form(compiled: Compiled) -> None:
    entry = cg.example("block_on_belt")
    program, files = emitted("block_on_belt")
    state, parameters = of_example(entry, *names_of(program))
    outcome = host_of("block_on_belt", files, compiled)("dop853", state, parameters, 10, watch=True)
    exact = list(itertools.takewhile(lambda phase: phase[1] < 10, block_on_belt.phases()))
    assert outcome.status == 0
    assert len(outcome.log) == len(exact)
    assert ["stick" if row[-1] == 0 else "slip-" for row in outcome.log] == [phase[0] for phase in exact]
    np.testing.assert_allclose([r[0] for r in outcome.log], [float(p[1]) for p in exact], rtol=0, atol=1e-4)
    np.testing.assert_allclose([r[4] for r in outcome.log], [float(p[2]) for p in exact], rtol=0, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["chaplygin_sleigh", "heavy_top"])
def test_runs_are_clean_under_sanitizers(tmp_path: Path, name: str) -> None:
    model = shipped(name)
    state, parameters = of_example(cg.example(name), model.states, model.parameters)
    call = host_of(name, generated(name), compiled_in(tmp_path / "o", "-O1", "-g", *SANITIZERS), *SANITIZERS)
    for method in ("rk4", "tsit5", "dop853", "rodas5p"):
        outcome = call(method, state, parameters, 60, rate=20, first=-20, step=0.01)
        assert (outcome.status, outcome.on_time) == (0, True)


# ---- bundles ----


def end_of(printed: str) -> list[float]:
    return [float(value) for value in re.findall(r" = (\S+)", printed)]


def near(bundle: Exported, printed: str) -> None:
    """The end of the example is that of a stepper in double precision."""
    found, expected = end_of(printed), end_of(bundle.stepped())
    assert len(found) == len(expected) > 0
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-3 * max(1.0, *map(abs, expected)))


@pytest.mark.slow
def test_a_bundle_in_single_precision(tmp_path: Path) -> None:
    bundle = exported("chaplygin_sleigh", tmp_path / "c", ("tsit5",), scalar="float")
    near(bundle, bundle.printed(bundle.built("gcc", "-O0", *STRICT)))
    library = [file for file in bundle.sources if file != "example.c"]
    called(["gcc", "-std=c99", "-O0", "-Wdouble-promotion", "-Werror", "-c", *library], bundle.folder)
    readme = (bundle.folder / "README.md").read_text(encoding="utf-8")
    assert "chaplygin export-c chaplygin_sleigh --form maggi --methods tsit5 --scalar float -o DIR" in readme
    assert 'methods=("tsit5",), scalar="float"' in readme
    assert "### Single precision" in readme


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_every_system_in_every_language(name: str, tmp_path: Path) -> None:
    """Strict compilers give one result, near that in double precision.

    The woodpecker's impacts magnify an error by 5 in 0.2 s, until rounding decides whether the beak touches the pole.
    """
    bundle = exported(name, tmp_path / "c", scalar="float")
    printed = {compiler: bundle.printed(bundle.built(compiler, "-O2", *STRICT)) for compiler in LANGUAGES}
    assert len(set(printed.values())) == 1
    if name != "woodpecker" and PARADOX not in bundle.stepped():
        near(bundle, printed["gcc"])


def test_a_method_without_use_in_single_precision_is_refused(tmp_path: Path) -> None:
    with pytest.raises(cg.ArgumentError, match=r"vern9 is not available .* single precision; take dop853"):
        shipped("heavy_top").export_c(tmp_path / "c", ("dop853", "vern9"), scalar="float")
    assert not (tmp_path / "c").exists()


def test_a_model_with_a_number_out_of_range_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EmitError, match=r'scalar="float": 1e-50 in harmonic_oscillator_core.c is outside'):
        shipped("harmonic_oscillator").export_c(
            tmp_path / "c", scalar="float", parameters={"m": 1e-50, "k": 1.0}
        )
    assert not (tmp_path / "c").exists()


def test_thresholds_have_the_same_names_in_both_precisions() -> None:
    names = [
        re.findall(
            r"^#define (\w+) ", (INCLUDE / folder / "cg_precision.h").read_text(encoding="utf-8"), re.M
        )
        for folder in ("", "float")
    ]
    assert names[0] == names[1]
    for folder in ("", "float"):
        text = (INCLUDE / folder / "cg_precision.h").read_text(encoding="utf-8")
        smallest = EPSILON if folder else 2.0**-52
        for name in "CG_PIVOT CG_SAME_TIME CG_FOLLOWED CG_SIDE CG_TIE CG_MARGIN CG_NOISE CG_AT_REST".split():
            value = float(re.search(rf"#define {name} ([\de.-]+)", text)[1])  # type: ignore[index]
            assert value > smallest
