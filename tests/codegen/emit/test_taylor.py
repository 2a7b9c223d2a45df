"""Taylor's method: the series of every function, order, accuracy, lanes, events, and what it refuses."""

from __future__ import annotations

import math
import subprocess
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np
import pytest
import sympy as sp
from c_runtime import STRICT, run
from dense_chain import dense_chain
from integrations import need
from refusals import refused
from runtime_models import needs_core
from springs import U, sprung
from verification import REFERENCE

import chaplygin as cg
from chaplygin.codegen.emit.targets import emit
from chaplygin.codegen.graph.functions import ELEMENTARY, FUNCTIONS
from chaplygin.codegen.methods.taylor import TAYLOR
from chaplygin.runtime import ArgumentError

pytestmark = needs_core
TIGHT: dict[str, Any] = {"method": "taylor", "rtol": 1e-13, "atol": 1e-13}
ORDER = 18

HARNESS = """
#define CHAPLYGIN_INLINE_METHODS
#include "NAME_core.c"
#include "cg_driver.h"
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **values)
{
    const cg_model_t *const model = &NAME_model;
    const size_t size = cg_run_size(model, "taylor");
    cg_run_t *const run = cg_run_new(size);
    double x[CG_MODEL_N];
    for (int i = 0; i < CG_MODEL_N; i++) x[i] = i + 2 < count ? strtod(values[i + 2], NULL) : 0.0;
    if (run == NULL || cg_run_init(run, size, model, "taylor", 0) != CG_OK) return 1;
    run->rtol = 0.0;
    for (int i = 0; i < CG_MODEL_N; i++) run->atol[i] = 1e-17;
    if (cg_run_start(run, strtod(values[1], NULL), x, 1e3) != CG_OK) return 2;
    double hoisted[CG_MODEL_HOISTED + 1];
    if (model->hoist != NULL) model->hoist(run->p, hoisted);
    for (int i = 0; i < CG_MODEL_HOISTED; i++) run->p[CG_MODEL_NP + i] = hoisted[i];
    cg_inline_taylor_series(run, CG_TAYLOR_ORDER);
    for (int k = 0; k < CG_TAYLOR_ORDER; k++)
        for (int i = 0; i < CG_MODEL_N; i++) printf("%.17g ", run->k[k * run->ld + i]);
    const int status = cg_drive(run, NULL, 3);
    for (int i = 0; i < CG_MODEL_N; i++) printf("%a ", run->x[i]);
    cg_run_delete(run);
    return status == CG_BUDGET_USED || status == CG_OK ? 0 : 3;
}
"""


def quadratures(integrands: list[Any], name: str = "quadratures") -> cg.System:
    """y_i'' = f_i(t): the series of the velocity i is that of f_i, integrated."""
    y = [cg.coordinates(f"y{i}") for i in range(len(integrands))]
    forces = {cg.rate(yi): f for yi, f in zip(y, integrands, strict=True)}
    return cg.System(name, coordinates=y, kinetic=sum(v**2 for v in forces) / 2, forces=forces)


def series(program: Path, moment: float, n: int) -> np.ndarray:
    """The coefficients of n integrands, integrated, at a time: shape (18, n)."""
    rows = [float(text) for text in printed(program, moment)[: ORDER * 2 * n]]
    return np.array(rows).reshape(ORDER, 2 * n)[:, n:]


def built(system: cg.System, folder: Path, compiler: str = "gcc", flags: tuple[str, ...] = ()) -> Path:
    """A program that prints the series of a system at a time and a state, and the state after three steps."""
    program = system.equations().program.bringing((TAYLOR,))
    for name, text in emit(program).files.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "main.c").write_text(HARNESS.replace("NAME", program.name), encoding="utf-8")
    target = folder / "-".join(["main", compiler, *(f.strip("-=") for f in flags)])
    headers = [f"-I{cg.get_include()}", f"-I{folder}"]
    exact = ["-O1", "-ffp-contract=off", *(["-fno-tree-slp-vectorize"] if compiler == "gcc" else [])]
    sources = [str(folder / "main.c"), *cg.get_library_sources()]
    command = [need(compiler), "-std=c99", *exact, *flags, *STRICT, *headers, *sources]
    run([*command, "-o", target, "-lm"])
    return target


def printed(program: Path, *given: float) -> list[str]:
    done = subprocess.run([program, *map(repr, given)], check=True, capture_output=True, text=True)
    return done.stdout.split()


def arguments_of_functions() -> dict[str, tuple[Any, ...]]:
    """For every function of the table one or two polynomials of the time inside its domain, for t from 0 to 1."""
    t = cg.time
    one = sp.Rational(3, 10) + t / 4 - t**2 / 5 + t**3 / 9
    two = 1 + t / 3 + t**2 / 7
    of_two = dict.fromkeys(("atan2", "min", "max", "pow"), (one, two))
    return {f.name: {**of_two, "acosh": (1 + one,)}.get(f.name, (one,)) for f in ELEMENTARY}


KINKS = [
    cg.time + abs(cg.time - 1),
    sp.Max(cg.time, 1),
    sp.Min(cg.time, 1),
    sp.Piecewise((cg.time - 1, cg.time >= 1), (3 - 3 * cg.time, True)),
]


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every function of the table, and the kinks."""
    integrands = [FUNCTIONS[name].symbolic(*args) for name, args in arguments_of_functions().items()]
    return built(quadratures([*integrands, *KINKS]), tmp_path_factory.mktemp("functions"), flags=("-O0",))


@pytest.mark.slow
@pytest.mark.parametrize("moment", [0.0, 0.375, 0.8125])
def test_the_series_of_every_function_is_that_of_mpmath(functions: Path, moment: float) -> None:
    given = arguments_of_functions()
    rows = series(functions, moment, len(given) + len(KINKS))
    with mp.workdps(60):
        for i, (name, args) in enumerate(given.items()):
            polynomials = [sp.lambdify(cg.time, a, "mpmath") for a in args]
            f = FUNCTIONS[name].precise
            exact = mp.taylor(lambda s: f(*(p(s) for p in polynomials)), mp.mpf(moment), ORDER - 1)  # noqa: B023
            wanted = np.array([float(c / (k + 1)) for k, c in enumerate(exact)])
            found, size = rows[:, i], np.abs(wanted).max()
            # Relative to the coefficient, or to what is left of the first ones at half the radius of convergence.
            allowed = np.maximum(1e-14 * np.abs(wanted), 1e-15 * size * 2.0 ** -np.arange(ORDER))
            assert (np.abs(found - wanted) <= allowed).all(), name


def test_at_a_kink_the_series_is_that_of_the_branch_ahead(functions: Path) -> None:
    """t + |t - 1| from t = 1 on: the slope of the integrand is 2, although |t - 1| is 0 on both sides."""
    slopes = 2 * series(functions, 1.0, len(ELEMENTARY) + len(KINKS))[1, -len(KINKS) :]
    assert slopes.tolist() == [2.0, 1.0, 0.0, 1.0]


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_bits_depend_neither_on_the_vectors_nor_on_the_compiler(tmp_path: Path, compiler: str) -> None:
    entry = cg.example("double_pendulum")
    start = [0.0, *entry.initial.values()]
    plain = printed(built(entry.system, tmp_path, "gcc", ("-DCG_WIDE=1",)), *start)
    assert len(plain) == 4 * ORDER + 4
    widths = [("-msse2",), ("-mavx2",), ("-mavx512f", "-mavx512dq")]
    for flags in widths:
        program = built(entry.system, tmp_path, compiler, flags)
        if flags[0][2:] in Path("/proc/cpuinfo").read_text():
            assert printed(program, *start) == plain, flags


@pytest.fixture(scope="module")
def oscillator() -> Any:
    return cg.example("harmonic_oscillator").system.compile("lagrange", methods=["taylor"])


START, NUMBERS = {"x": 1.0, "x_dot": 0.0}, {"m": 1.0, "k": 4.0}  # x = cos 2t


@pytest.mark.parametrize(("rtol", "order"), [(1e-3, 5), (1e-4, 6), (1e-5, 7)])
def test_the_order_follows_from_the_tolerance(oscillator: Any, rtol: float, order: int) -> None:
    """p = ceil(1 - ln(rtol + atol) / 2); with steps shorter than the tolerance needs, the error is as their power p."""
    assert order == math.ceil(1 - math.log(2 * rtol) / 2)
    errors = []
    for n in (32, 64):
        sol = oscillator.integrate(
            (0, 4), START, NUMBERS, method="taylor", rtol=rtol, atol=rtol, max_step=4 / n, first_step=4 / n
        )
        assert (sol.n_steps, sol.n_rejected) == (n, 0)
        errors.append(np.abs(sol.y[:, -1] - [math.cos(8), -2 * math.sin(8)]).max())
    assert math.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.3)


def test_dense_output_is_the_polynomial_itself(oscillator: Any) -> None:
    sol = oscillator.integrate((0, 10), START, NUMBERS, dense_output=True, **TIGHT)
    inside = np.linspace(0, 10, 500)
    assert np.abs(sol.sol(inside) - [np.cos(2 * inside), -2 * np.sin(2 * inside)]).max() < 2e-12
    back = oscillator.integrate((10, 0), sol.y[:, -1], NUMBERS, t_eval=inside[::-1].copy(), **TIGHT)
    assert np.abs(back["x"] - np.cos(2 * back.t)).max() < 4e-12
    assert sol.n_steps < 40


@pytest.mark.parametrize(
    ("name", "names", "digits"),
    [
        ("chaplygin_sleigh", ["phi", "x", "y", "omega", "v"], 1e-13),
        pytest.param("torus_nonuniform", ["theta", "theta_dot"], 1e-12, marks=pytest.mark.slow),
        pytest.param(
            "double_pendulum", ["theta1", "theta2", "theta1_dot", "theta2_dot"], 1e-12, marks=pytest.mark.slow
        ),
        pytest.param("heavy_top", ["w1", "w2", "w3"], 1e-12, marks=pytest.mark.slow),
    ],
)
def test_it_meets_the_reference_states(name: str, names: list[str], digits: float) -> None:
    """At t = 1, against 20 digits, with less than half the steps of dop853."""
    entry = cg.example(name)
    model = entry.system.compile(methods=["taylor"])
    sol = model.integrate((0, 1), entry.initial, entry.parameters, **TIGHT)
    exact = [float(text) for text in REFERENCE[name]["end"]["1"]["state"][: len(names)]]
    assert [float(sol[n][-1]) for n in names] == pytest.approx(exact, rel=digits, abs=digits)
    other = model.integrate((0, 1), entry.initial, entry.parameters, **{**TIGHT, "method": "dop853"})
    assert sol.n_rejected == 0
    assert 2 * sol.n_steps < other.n_steps


@pytest.mark.slow
def test_rounding_errors_of_the_state_are_carried_along() -> None:
    """Over 1e4 units of time the energy of a heavy top keeps 14 digits; without compensation it loses 5e-14."""
    entry = cg.example("heavy_top")
    model = entry.system.compile(methods=["taylor"])
    times = np.linspace(0, 1e4, 50)
    sol = model.integrate(
        (0, 1e4), entry.initial, entry.parameters, method="taylor", rtol=0, atol=1e-17, t_eval=times
    )
    energy = sol.evaluate("energy")
    assert np.abs(energy / energy[0] - 1).max() < 1.5e-14


@pytest.mark.parametrize("unit", [1e-12, 1e-3, 1e3, 1e12])
def test_the_unit_of_time_does_not_matter(oscillator: Any, unit: float) -> None:
    """x = cos(2 t / unit); the tolerance of the velocity has the unit of the velocity."""
    sol = oscillator.integrate(
        (0, 5 * unit), START, {"m": 1.0, "k": 4 / unit**2}, **{**TIGHT, "atol": [1e-13, 1e-13 / unit]}
    )
    assert sol["x"][-1] == pytest.approx(math.cos(10), abs=1e-11)
    assert sol.n_steps < 30
    assert sol.n_rejected == 0


def driven() -> cg.System:
    """x'' = -k x + u + sin t, with an input."""
    return sprung("driven", U + sp.sin(cg.time))


@pytest.fixture(scope="module")
def driven_model() -> Any:
    return driven().compile("lagrange", methods=["taylor"])


@pytest.mark.slow
def test_time_and_inputs_are_series_too(driven_model: Any) -> None:
    """x'' = -4 x + t + sin t from 0: x = t/4 - sin(2t)/8 + (2 sin t - sin 2t)/6; then u stays at 2."""
    t = np.linspace(0, 2, 9)
    sol = driven_model.integrate(
        (0, 2), {"x": 0, "x_dot": 0}, {"k": 4}, {"u": ([0, 2], [0, 2], "linear")}, t_eval=t, **TIGHT
    )
    exact = t / 4 - np.sin(2 * t) / 8 + (2 * np.sin(t) - np.sin(2 * t)) / 6
    assert np.abs(sol["x"] - exact).max() < 1e-12
    held = driven_model.integrate((2, 5), sol.y[:, -1], {"k": 4}, {"u": 2}, **TIGHT)
    bent = driven_model.integrate(
        (0, 5), {"x": 0, "x_dot": 0}, {"k": 4}, {"u": ([0, 2], [0, 2], "linear")}, **TIGHT
    )
    assert np.abs(held.y[:, -1] - bent.y[:, -1]).max() < 1e-12


def test_functions_as_inputs_are_refused_by_name(driven_model: Any) -> None:
    start, numbers = {"x": 0, "x_dot": 0}, {"k": 4}
    wanted = pytest.raises(
        ArgumentError, match=r"'taylor' needs the power series of every input.*: u; give numbers"
    )
    with wanted:
        driven_model.integrate((0, 1), start, numbers, {"u": math.sin}, **TIGHT)
    with wanted:
        driven_model.stepper(start, numbers, {"u": lambda t, y: 0.0}, **TIGHT)
    with wanted:
        cg.ensemble(driven_model, (0, 1), start, numbers, {"u": lambda t, y: 0.0}, n=3, **TIGHT)


@pytest.mark.parametrize("ramp", [False, True])
def test_alone_in_lanes_and_in_a_stepper_it_gives_the_same_bits(driven_model: Any, ramp: bool) -> None:
    """Eleven trajectories, so that lanes are refilled, with a step that is cut by each output time of a stepper."""
    stiffness, times = np.linspace(1, 9, 11), np.linspace(0, 7, 5)
    inputs = {"u": ([0, 2, 3], [0, 1, -1], "linear")} if ramp else {"u": 0.5}
    options = {"method": "taylor", "rtol": 1e-11, "atol": 1e-12}
    start = {"x": 1.0, "x_dot": 0.0}
    single = [
        driven_model.integrate((0, 7), start, {"k": k}, inputs, t_eval=times, **options) for k in stiffness
    ]
    for lanes in (1, 8):
        found = cg.ensemble(
            driven_model, (0, 7), start, {"k": stiffness}, inputs, t_eval=times, lanes=lanes, **options
        )
        assert found.lanes == lanes
        assert np.array_equal(found.y, np.moveaxis([s.y for s in single], 0, -1))
    run = driven_model.stepper(start, {"k": 1.0}, inputs, **options)
    snapshot = run.save()
    assert np.array_equal(run.advance(7.0), single[0].y[:, -1])
    run.restore(snapshot)
    assert np.array_equal(run.advance(7.0), single[0].y[:, -1])


def test_a_run_does_not_know_the_run_before(oscillator: Any) -> None:
    """What rounding took from the end of one run is not part of the next one in the same memory, which starts there."""
    first = oscillator.integrate((0, 5), START, NUMBERS, **TIGHT)
    after = oscillator.integrate((5, 9), first.y[:, -1], NUMBERS, **TIGHT)
    oscillator.integrate((0, 1), START, {"m": 2.0, "k": 1.0}, **TIGHT)
    again = oscillator.integrate((5, 9), first.y[:, -1], NUMBERS, **TIGHT)
    assert np.array_equal(after.y[:, -1], again.y[:, -1])


@pytest.mark.slow
def test_events_are_found_on_the_polynomial() -> None:
    """A ball that keeps 4/5 of its speed: it hits the ground at the times of the closed form."""
    entry = cg.example("bouncing_ball")
    model = entry.system.compile(methods=["taylor"])
    other = model.integrate(
        entry.t_span, entry.initial, entry.parameters, method="vern9", rtol=1e-13, atol=1e-13
    )
    found = model.integrate(entry.t_span, entry.initial, entry.parameters, **TIGHT)
    assert len(found.t_events[0]) == len(other.t_events[0]) > 3
    assert np.abs(found.t_events[0] - other.t_events[0]).max() < 1e-11


def test_a_kink_inside_a_step_rejects_it() -> None:
    """x'' = -x - |x|/2: half periods of pi / sqrt(3/2) and pi / sqrt(1/2), begun at the kink in both directions."""
    x = cg.coordinates("x")
    v = cg.rate(x)
    uneven = cg.System("uneven", coordinates=[x], kinetic=v**2 / 2, forces={v: -x - abs(x) / 2})
    model = uneven.compile("lagrange", methods=["taylor"])
    period = math.pi / math.sqrt(1.5) + math.pi / math.sqrt(0.5)
    for velocity in (1.0, -1.0):
        sol = model.integrate((0, period), {"x": 0.0, "x_dot": velocity}, (), **TIGHT)
        assert np.abs(sol.y[:, -1] - [0, velocity]).max() < 1e-10
        assert sol.n_rejected > 0
    ended = model.integrate((0, period), {"x": 0.0, "x_dot": 1.0}, (), kinks=True, **TIGHT)
    assert np.abs(ended.y[:, -1] - [0, 1]).max() < 1e-11


@pytest.mark.slow
def test_linear_systems_of_large_models_are_written_out() -> None:
    """Above 12 velocities the right-hand side factors its matrix in a loop."""
    entry = dense_chain(13)
    chain = entry.system.compile("lagrange", methods=["taylor"])
    ends = [
        chain.integrate((0, 0.1), entry.initial, entry.parameters, method=m, rtol=1e-12, atol=1e-12).y[:, -1]
        for m in ("taylor", "dop853")
    ]
    assert np.abs(ends[0] - ends[1]).max() < 1e-10


def test_a_model_has_it_on_request(oscillator: Any) -> None:
    plain = cg.example("harmonic_oscillator").system.compile("lagrange")
    assert [*oscillator.methods] == [*plain.methods, "taylor"]
    words = r"made from the equations of a model: compile it with methods=\['taylor'\]"
    refused(words, plain.integrate, (0, 1), START, NUMBERS, method="taylor")
    with pytest.raises(cg.ArgumentError, match=r"methods\[0\] is 'tailor'; a Pair or 'taylor' is needed"):
        cg.example("harmonic_oscillator").system.compile("lagrange", methods=["tailor"])
    with pytest.raises(ValueError, match="there is already a method 'taylor'"):
        cg.example("harmonic_oscillator").system.compile("lagrange", methods=["taylor", "taylor"])


@pytest.mark.slow
def test_c_bundles_have_it_in_double_precision(oscillator: Any, tmp_path: Path) -> None:
    need("gcc")
    given = {"initial": START, "parameters": NUMBERS}
    folder = oscillator.export_c(tmp_path / "bundle", methods=("taylor",), **given)
    sources = sorted(folder.glob("*.c"))
    command = ["gcc", "-std=c99", "-O2", *STRICT, *map(str, sources), "-o", str(tmp_path / "main"), "-lm"]
    subprocess.run(command, check=True)
    lines = subprocess.run(
        [tmp_path / "main"], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    end = dict(line.split(" = ") for line in lines if " = " in line)
    exact = math.cos(2 * float(end["t"])) if "t" in end else None
    assert exact is None or float(end["x"]) == pytest.approx(exact, abs=1e-8)
    with pytest.raises(ArgumentError, match='taylor is not available with scalar="float"'):
        oscillator.export_c(tmp_path / "float", methods=("dop853",), scalar="float", **given)
