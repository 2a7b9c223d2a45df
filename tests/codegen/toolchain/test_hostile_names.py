"""Variables named as macros and global variables of C headers: they compile in every export, and no bit changes."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_bundles import LANGUAGES, STRICT, Exported
from integrations import need

import chaplygin as cg
from chaplygin.codegen.plan.write_statements import emitted_name
from chaplygin.codegen.symbols.symbols import check_name

HEADERS = "".join(
    f"#include <{name}.h>\n"
    for name in """assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdarg stdbool
    stddef stdint stdio stdlib string tgmath time wchar wctype""".split()
)
"""All headers of C99."""
HOSTILE = "I stdin EOF RAND_MAX BUFSIZ errno SIGINT DBL_MAX linux near".split()
HARMLESS = [f"{name}_plain" for name in HOSTILE]
"""Of the same alphabetical order, in which variables are sorted."""
START = [0.3, -0.2, 0.1, 0.5]
VALUES = [0.7, 1.3, 2.1, 0.4, 1.9, 0.6, 1.1]


def named(names: list[str]) -> Any:
    """Two coupled oscillators."""
    x, y = cg.coordinates(names[:2])
    m, n, k, b, c, g, l = cg.parameters(names[2:9])  # noqa: E741
    u = cg.inputs(names[9])
    v, w = cg.rate(x), cg.rate(y)
    return cg.System(
        "named",
        coordinates=[x, y],
        kinetic=m * v**2 / 2 + n * (1 + x**2) * w**2 / 2,
        potential=k * x**2 / 2 + b * (y - l * x) ** 2 + g * x**4,
        forces={v: u - c * v},
    ).compile()


@pytest.fixture(scope="module")
def models() -> tuple[Any, Any]:
    return named(HOSTILE), named(HARMLESS)


def start(model: Any) -> dict[str, Any]:
    return {
        "initial": dict(zip(model.states, START, strict=True)),
        "parameters": dict(zip(model.parameters, VALUES, strict=True)),
    }


def test_a_module_runs_with_the_bits_of_harmless_names(models: tuple[Any, Any]) -> None:
    runs = [m.integrate((0, 3), START, VALUES, inputs=[0.2], rtol=1e-9, atol=1e-9) for m in models]
    assert np.array_equal(runs[0].y, runs[1].y)
    assert runs[0].success


@pytest.mark.parametrize("compiler", LANGUAGES)
@pytest.mark.parametrize("single_header", [False, True])
@pytest.mark.sample(2)
def test_a_bundle_runs_with_the_bits_of_harmless_names(
    models: tuple[Any, Any], compiler: str, single_header: bool, tmp_path: Path
) -> None:
    (tmp_path / "headers.h").write_text(HEADERS)
    printed = []
    for model, side in zip(models, ("hostile", "harmless")):
        options = {"single_header": single_header, "inputs": [0.2], **start(model)}
        folder = model.export_c(tmp_path / side, ("dop853",), **options)
        bundle = Exported(None, model, folder, "dop853")
        program = bundle.built(compiler, *STRICT, "-include", os.fspath(tmp_path / "headers.h"))
        printed.append(bundle.printed(program))
    assert printed[0].count(" = ") == 4
    assert printed[0].replace(" = ", "_plain = ").replace("_dot_plain", "_plain_dot") == printed[1]


@pytest.mark.slow
@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_an_fmu_runs_with_the_bits_of_harmless_names(
    models: tuple[Any, Any], version: str, tmp_path: Path
) -> None:
    fmpy = pytest.importorskip("fmpy")
    ends = []
    for model in models:
        path = model.export_fmu(tmp_path / "named.fmu", version, inputs=[0.2], **start(model))
        output = list(model.states)
        found = fmpy.simulate_fmu(os.fspath(path), stop_time=1, fmi_type="CoSimulation", output=output)
        ends.append([found[name][-1] for name in output])
    assert ends[0] == ends[1]
    assert ends[0] != START


@pytest.mark.parametrize("language", ["c", "c++"])
def test_every_name_in_the_headers_of_c_compiles(language: str) -> None:
    """Macros, variables, types and functions: as the local variable that it would be in a kernel."""
    compiler = [need("gcc" if language == "c" else "g++"), "-x", language, "-"]
    found: set[str] = set()
    for flags in ("-E -dM", "-E -P"):
        done = subprocess.run(
            [*compiler, *flags.split()], input=HEADERS, capture_output=True, text=True, check=True
        )
        found.update(re.findall(r"\b[A-Za-z]\w*", done.stdout))
    names = sorted(filter(allowed, found))
    assert {"errno", "I" if language == "c" else "BUFSIZ", "stdin", "SIGINT", "PRIdMAX", "linux"} <= {*names}
    text = [
        f"double cg_{i}(double cg_x);\n"
        f"double cg_{i}(double cg_x) {{ const double {name} = cg_x; return 2.0*{name}; }}\n"
        for i, name in enumerate(map(emitted_name, names))
    ]
    # Types are local names in C++ too, of which -Wshadow speaks.
    shadow = [] if language == "c" else ["-Wno-shadow"]
    command = [*compiler, *STRICT, *shadow, "-fsyntax-only"]
    done = subprocess.run(command, input=HEADERS + "".join(text), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:3000]


def allowed(name: str) -> bool:
    """Whether a user may give this name to a variable."""
    try:
        check_name(name, "parameter")
    except cg.DeclarationError:
        return False
    return True
