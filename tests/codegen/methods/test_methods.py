"""A method that the runtime does not have, as one object or as one file of numbers."""

from __future__ import annotations

import dataclasses
import itertools
import math
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fused import fma
from integrations import need
from oracle_pairs import PairIntegrator
from oracle_rodas5p import OracleModel
from oracle_runs import Integrator, Settings
from refusals import refused
from runtime_models import needs_core

import chaplygin as cg
from chaplygin.api.python_model import python_kernels
from chaplygin.codegen.emit import method_headers
from chaplygin.codegen.emit.targets import emit
from chaplygin.codegen.methods import PAIRS

RUNTIME = Path(__file__).resolve().parents[3] / "runtime" / "c"
HALF = Fraction(1, 2)
HEUN = cg.Pair(
    "heun",
    "order 2(1)",
    "K. Heun, Neue Methoden zur approximativen Integration, Zeitschrift fuer Mathematik und Physik 45 (1900) 23-38",
    2,
    c=(0, 1),
    a=((), (1,)),
    b=(HALF, HALF),
    error={1: (-HALF, HALF)},
    dense_order=2,
)
START, NUMBERS = {"x": 1.0, "x_dot": 0.0}, {"m": 1.0, "k": 4.0}  # x = cos 2t


@pytest.fixture(scope="module")
def oscillator() -> Any:
    """The harmonic oscillator, with Heun's method."""
    return cg.example("harmonic_oscillator").system.compile("lagrange", methods=[HEUN])


class HeunInPython(OracleModel):
    methods = {**OracleModel.methods, "heun": OracleModel.methods["tsit5"]}  # noqa: RUF012 - never changed

    @staticmethod
    def _integrator(method: str, settings: Settings) -> Integrator:
        return PairIntegrator(HEUN, settings)


@needs_core
def test_a_model_lists_the_method_that_it_brings(oscillator: Any) -> None:
    heun = oscillator.methods["heun"]
    assert (heun.summary, heun.order, heun.adaptive, heun.implicit) == ("order 2(1)", 2, True, False)
    plain = cg.example("harmonic_oscillator").system.compile("lagrange")
    assert [*oscillator.methods] == [*plain.methods, "heun"]
    refused("unknown method 'heun'", plain.integrate, (0, 1), START, NUMBERS, method="heun")


@needs_core
@pytest.mark.parametrize("inside", [False, True])
def test_it_converges_with_its_order(oscillator: Any, inside: bool) -> None:
    """With loose tolerances every step has the length `max_step`."""
    errors = []
    for n in (256, 512, 1024):
        sol = oscillator.integrate(
            (0, 2), START, NUMBERS, method="heun", rtol=1.0, atol=1e3, first_step=2 / n, max_step=2 / n,
            dense_output=True,
        )  # fmt: skip
        assert (sol.n_steps, sol.n_rejected) == (n, 0)
        t = (sol.t[1:] + sol.t[:-1]) / 2 if inside else sol.t
        errors.append(np.abs(sol.sol(t)[0] - np.cos(2 * t)).max())
    for coarse, fine in itertools.pairwise(errors):
        assert math.log2(coarse / fine) == pytest.approx(HEUN.order, abs=0.05)


@needs_core
def test_it_meets_its_tolerance_with_the_bits_of_the_same_steps_in_python(oscillator: Any) -> None:
    program = cg.example("harmonic_oscillator").system.equations("lagrange").program
    given = ((0.0, 3.0), START, NUMBERS)
    options = {"method": "heun", "rtol": 1e-6, "atol": 1e-6, "dense_output": True}
    found = oscillator.integrate(*given, **options)
    oracle = HeunInPython(python_kernels(program, fma), quiet=True).integrate(*given, **options)
    assert np.abs(found["x"] - np.cos(2 * found.t)).max() < 1e-4
    assert np.array_equal(found.t, oracle.t)
    assert np.array_equal(found.y, oracle.y)
    inside = np.linspace(0, 3, 50)
    assert np.array_equal(found.sol(inside), oracle.sol(inside))
    assert (found.nfev, found.n_rejected) == (oracle.nfev, oracle.n_rejected)


@needs_core
def test_alone_in_lanes_and_in_a_stepper_it_gives_the_same_bits(oscillator: Any) -> None:
    stiffness, times = np.linspace(1, 9, 11), np.linspace(0, 2, 5)
    options = {"method": "heun", "rtol": 1e-5, "atol": 1e-6}
    single = [
        oscillator.integrate((0, 2), START, {"m": 1.0, "k": k}, t_eval=times, **options).y for k in stiffness
    ]
    for lanes in (1, 2, 4, None):
        found = cg.ensemble(
            oscillator, (0, 2), START, {"m": 1.0, "k": stiffness}, t_eval=times, lanes=lanes, **options
        )
        assert found.lanes == lanes or lanes is None
        assert np.array_equal(found.y, np.moveaxis(single, 0, -1))
    for y, k in zip(single, stiffness, strict=True):
        run = oscillator.stepper(START, {"m": 1.0, "k": k}, **options)
        snapshot = run.save()
        assert np.array_equal(run.advance(2.0), y[:, -1])
        run.restore(snapshot)
        assert np.array_equal(run.advance(2.0), y[:, -1])


@needs_core
def test_other_coefficients_are_another_model(oscillator: Any) -> None:
    midpoint = dataclasses.replace(HEUN, c=(0, HALF), a=((), (HALF,)), b=(0, 1), error={1: (-1, 1)})
    other = cg.compile(cg.example("harmonic_oscillator").system.equations("lagrange"), methods=[midpoint])
    ends = [m.integrate((0, 1), START, NUMBERS, method="heun").y[:, -1] for m in (oscillator, other)]
    assert ends[0] == pytest.approx(ends[1], abs=1e-6)
    assert not np.array_equal(*ends)
    assert oscillator.digest != other.digest


@pytest.mark.slow
@needs_core
def test_a_large_model_brings_its_method_too() -> None:
    """Above 12 velocities the runtime's methods are not compiled into a model."""
    entry = cg.example("n_link_pendulum", n=13)
    chain = entry.system.compile("lagrange", methods=[HEUN])
    options = {"rtol": 1e-6, "atol": 1e-6}
    ends = [
        chain.integrate((0, 0.1), entry.initial, entry.parameters, method=method, **options).y[:, -1]
        for method in ("heun", "dop853")
    ]
    assert ends[0] == pytest.approx(ends[1], abs=1e-4)


def test_the_emitted_files_contain_the_method_and_the_same_input_gives_the_same_bytes() -> None:
    program = cg.example("harmonic_oscillator").system.equations("lagrange").program
    files, again = (emit(program.bringing((HEUN,))).files for _ in range(2))
    assert files == again
    assert {*files} - {*emit(program).files} == {"harmonic_oscillator_methods.h"}
    assert "Heun" in files["harmonic_oscillator_methods.h"]
    for name in ("harmonic_oscillator_core.c", "harmonic_oscillator_lanes.c"):
        assert '"harmonic_oscillator_methods.h"' in files[name]


@pytest.mark.slow
@needs_core
def test_one_file_of_numbers_gives_the_runtime_a_method(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the headers made from one pair more, the runtime's table lists and runs it."""
    need("gcc")
    monkeypatch.setattr(method_headers, "PAIRS", {**PAIRS, "heun": HEUN})
    shutil.copytree(RUNTIME, tmp_path / "c")
    for name, text in method_headers.runtime_headers().items():
        (tmp_path / "c" / "methods" / name).write_text(text, encoding="utf-8")
    (tmp_path / "main.c").write_text(
        """
        #include "cg_driver.h"
        #include <math.h>
        #include <stdio.h>
        static int rhs(double t, const double *x, const double *p, const double *u, double *out, double *work)
        {
            (void)t, (void)p, (void)u, (void)work;
            out[0] = x[0];
            return CG_OK;
        }
        int main(void)
        {
            const cg_model_t model = {.abi_version = CG_ABI_VERSION, .struct_size = sizeof(cg_model_t), .n_states = 1,
                                      .rhs = rhs};
            const double one = 1.0;
            const size_t size = cg_run_size(&model, "heun");
            cg_run_t *const run = cg_run_new(size);
            int status = run == NULL ? CG_BAD_ARGUMENT : cg_run_init(run, size, &model, "heun", 0);
            if (status == CG_OK) status = cg_run_start(run, 0.0, &one, 1.0);
            if (status == CG_OK) status = cg_drive(run, NULL, -1);
            if (status == CG_OK) printf("%.17g", run->x[0]);
            cg_run_delete(run);
            return status;
        }
        """
    )
    warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
    sources = [*map(str, sorted((tmp_path / "c").rglob("*.c"))), str(tmp_path / "main.c")]
    target = str(tmp_path / "main")
    subprocess.run(
        ["gcc", "-std=c99", *warnings, f"-I{tmp_path / 'c'}", *sources, "-o", target, "-lm"], check=True
    )
    end = subprocess.run([target], check=True, capture_output=True, text=True).stdout
    assert float(end) == pytest.approx(math.e, abs=1e-5)


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ([HEUN, HEUN], "there is already a method 'heun'"),
        ([dataclasses.replace(HEUN, name="dop853")], "there is already a method 'dop853'"),
        ([dataclasses.replace(HEUN, name="auto")], "there is already a method 'auto'"),
        (["heun"], r"methods\[0\] is 'heun'; a Pair or 'taylor' is needed"),
    ],
)
@needs_core
def test_wrong_methods_of_a_model_are_named(methods: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        cg.example("harmonic_oscillator").system.compile("lagrange", methods=methods)


@needs_core
def test_in_pure_python_a_method_is_not_left_out() -> None:
    with pytest.raises(cg.ArgumentError, match="has methods of its own, which need the backend 'c'"):
        cg.example("harmonic_oscillator").system.compile("lagrange", methods=[HEUN], backend="python")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"name": "Heun's"}, "small letters"),
        ({"source": "a */ b"}, "contains \\*/"),
        ({"summary": "two\nlines"}, "cannot be printed"),
        ({"c": (0, 2)}, r"heun: the sum of a\[1\] is 1.0 instead of 2.0"),
        ({"b": (HALF, 1)}, "heun: the sum of b is 1.5 instead of 1.0"),
        ({"a": ((), (HALF, HALF))}, r"heun: a\[1\] has 2 entries for the 1 stages before it"),
        ({"a": ((1,),)}, "heun: c has 2 nodes, a 1 rows"),
        ({"a": ((), ("one",))}, r"heun: a\[1\] = \('one',\) is not a sequence of numbers"),
        ({"a": ((), (math.nan,))}, r"heun: a\[1\] .* not finite"),
        ({"error": {}}, "error has 0 estimates"),
        ({"error": {1: (1, 0)}}, r"the sum of error\[1\] is 1.0 instead of 0.0"),
        ({"error": {1: (0, 0)}}, r"error\[1\] is zero"),
        ({"dense": ((0, 0, 0),)}, r"dense\[0\] is zero"),
        ({"extra": ((HALF, (HALF, HALF)),)}, r"the sum of extra\[0\] is 1.0 instead of 0.5"),
    ],
)
def test_a_pair_checks_its_numbers(changed: dict[str, Any], message: str) -> None:
    refused(message, lambda: dataclasses.replace(HEUN, **changed), error=ValueError)
