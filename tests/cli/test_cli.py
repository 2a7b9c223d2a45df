"""The command line: every command, its exit code and its error messages."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from runtime_models import needs_core
from small_systems import SMALL

import chaplygin as cg
from chaplygin.cli import main
from chaplygin.codegen.forms.choose import forms

MODEL = """
import sympy as sp
import chaplygin as cg

phi, x, y = cg.coordinates("phi x y")
omega, v, w = cg.velocities("omega v w")
m, J, g = cg.parameters("m J g", positive=True)
tau = cg.inputs("tau")

def skate():
    return cg.System(
        "skate",
        kinematics={phi: omega, x: v*sp.cos(phi) - w*sp.sin(phi), y: v*sp.sin(phi) + w*sp.cos(phi)},
        kinetic=m*(v**2 + w**2)/2 + J*omega**2/2, potential=-m*g*x, constraints=[w], forces={omega: tau},
        example={m: 70, J: 1.2, g: 5, phi: 0, x: 0, y: 0, omega: 1, v: 0, w: 0, tau: 0},
    )

spring = cg.example("harmonic_oscillator")
number = 3

def broken():
    return 1 / 0
"""

CENTRAL = """
import chaplygin as cg

r, phi = cg.coordinates("r phi")
m, k = cg.parameters("m k", positive=True)
system = cg.System(
    "central", coordinates=[r, phi], kinetic=m*(cg.rate(r)**2 + r**2*cg.rate(phi)**2)/2, potential=k*r**2/2,
    example={r: 1, phi: 0, cg.rate(r): 0.1, cg.rate(phi): 1.5, m: 2, k: 8},
)
"""
SWING = """
import chaplygin as cg

m, g = cg.parameters("m g", positive=True)
rod = {"mass": m, "inertia": (1, 1, 0.5), "center": (0, 0, -1)}
upper = cg.joint.revolute(None, "y", name="upper", **rod)
lower = cg.joint.revolute(upper, "x", at=(0, 0, -2), name="lower", **rod)
system = cg.System(
    "swing", bodies=[upper, lower], interactions=[cg.Weight(g)],
    example={m: 2, g: 9.81} | dict(zip([*upper.coordinates, *lower.coordinates], (0.4, 0.7)))
    | dict.fromkeys([*upper.velocities, *lower.velocities], 0),
)
"""

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def model_file(tmp_path: Path) -> str:
    file = tmp_path / "model.py"
    file.write_text(MODEL, encoding="utf-8")
    return str(file)


def output(capsys: Captured, *arguments: str, code: int = 0) -> str:
    assert main(arguments) == code
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return captured.out


def refusal(capsys: Captured, *arguments: str) -> str:
    """The error on stderr: one line, after the message about compilation time."""
    assert main(arguments) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("compiling ")]
    assert lines[0].startswith("chaplygin: error: ")
    assert len(lines) == 1
    return lines[0] + "\n"


def number_after(text: str, name: str, column: int) -> float:
    """A number in the table row that begins with `name`."""
    row = next(line.split() for line in text.splitlines() if line.split()[:1] == [name])
    return float(row[column])


def test_help_is_quick_and_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from chaplygin.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit as stop: assert stop.code == 0\n"
        "assert not {'numpy', 'sympy', 'scipy', 'Cython'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "examples:" in done.stdout


COMMANDS = "list show forms emit run ensemble study export-c export-fmu bench doctor".split()


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help_with_an_example(command: str, capsys: Captured) -> None:
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    assert f"  chaplygin {command}" in text
    assert not {"METHODS", "DEFAULT"} & set(re.findall(r"\w+", text))  # replaced by those of the runtime


def test_version(capsys: Captured) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out.split() == ["chaplygin", cg.__version__]


def test_as_a_module_and_into_a_closed_pipe() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "chaplygin", "list"], capture_output=True, text=True, check=True
    )
    assert "heavy_top" in done.stdout
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as closed:
        command = [sys.executable, "-m", "chaplygin", "list"]
        done = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, text=True, check=False)
    assert "Traceback" not in done.stderr


def test_list_names_every_system(capsys: Captured) -> None:
    text = output(capsys, "list")
    for name in cg.examples():
        assert re.search(rf"^{name} ", text, re.M)


def test_show(capsys: Captured) -> None:
    text = output(capsys, "show", "chaplygin_sleigh")
    assert "[X_omega, X_v] = X_w" in text
    assert "[X_omega, X_w] = -X_v" in text
    assert "-b*omega' + v' = a*omega**2" in text
    assert re.search(r"energy +\(proved\)", text)
    assert re.search(r"constraint_1 +\(residual\)", text)
    assert "in the emitted right-hand side 12 in each call" in text


def test_show_follows_the_form_and_its_options(capsys: Captured) -> None:
    text = output(capsys, "show", "chaplygin_sleigh", "--form", "maggi", "--option", "independent=v,omega")
    assert text.index("v' ") < text.index("= -a*omega*v")
    assert "Poincaré" in output(capsys, "show", "double_pendulum", "--form", "poincare")


@pytest.mark.parametrize("form", [form for form in forms() if form != "given"])
@pytest.mark.sample(3)
def test_every_form_shows_and_runs(form: str, capsys: Captured, tmp_path: Path) -> None:
    """On the first system to which the form applies; a run agrees with the closed form, or with a tighter run.

    "given" is for equations that SymPy's models bring: see test_from_sympy.py.
    """
    central, swing = tmp_path / "central.py", tmp_path / "swing.py"
    central.write_text(CENTRAL, encoding="utf-8")
    swing.write_text(SWING, encoding="utf-8")
    for name in (*SMALL, f"{central}:system", f"{swing}:system"):
        if main(["show", name, "--form", form]) == 0:
            break
    else:
        pytest.fail(f"{form} applies to none of the systems")
    assert "Operations: M" in capsys.readouterr().out
    text = output(capsys, "run", name, "--form", form, "--t-end", "0.5", "--rtol", "1e-10")
    rows = [line.split() for line in text.split("\n\n")[1].splitlines()[1:]]
    differences = [abs(float(row[3])) for row in rows if len(row) >= 4]
    assert len(differences) >= 2
    assert max(differences) < 1e-8


def test_a_run_along_a_coordinate(capsys: Captured) -> None:
    """Whittaker's form: the time at phi = 0.9 agrees with the closed form."""
    text = output(
        capsys, "run", "chaplygin_sleigh", "--form", "whittaker", "--t-end", "0.9", "--rtol", "1e-12"
    )
    assert "phi = 0.2 .. 0.9" in text
    phi = cg.example("chaplygin_sleigh").closed_form(number_after(text, "t", 1))["phi"]
    assert phi == pytest.approx(0.9, abs=1e-10)
    assert "--t-end" in refusal(capsys, "run", "chaplygin_sleigh", "--form", "whittaker")


def test_show_latex(capsys: Captured) -> None:
    text = output(capsys, "show", "harmonic_oscillator", "--latex")
    assert text.startswith("\\begin{aligned}")
    assert r"\ddot{x}" in text or r"\dot{\dot{x}}" in text


def test_show_of_a_large_system_is_short(capsys: Captured) -> None:
    text = output(capsys, "show", "n_link_pendulum:12")
    assert "12 equations M theta' = f" in text
    assert max(map(len, text.splitlines())) < 400


def test_show_passes(capsys: Captured) -> None:
    """The heavy top's right-hand side takes 54 operations (see test_arrange.py) before products and sums are fused."""
    title, head, *rows = output(capsys, "show", "heavy_top", "--passes").splitlines()
    assert title == "heavy_top, poincare: the operations of one call after each pass"
    assert head.split() == ["kernel", "lowered", "arrange", "hoist", "fuse"]
    counts = {row.split()[0]: [int(n) for n in row.split()[1:]] for row in rows}
    assert counts["rhs"][2] == 54
    assert all(row == sorted(row, reverse=True) for row in counts.values())
    found = json.loads(output(capsys, "show", "heavy_top", "--passes", "--json"))
    assert [n for _, n in found["rhs"]] == counts["rhs"]
    lowered = cg.example("heavy_top").system.equations().program
    assert {name: row[2] for name, row in counts.items()} == {
        k: lowered.operations(k) for k in lowered.kernels
    }


def test_forms(capsys: Captured) -> None:
    rows = [line.split() for line in output(capsys, "forms").splitlines() if line]
    maggi, lagrange = rows[0].index("maggi"), rows[0].index("lagrange")
    marks = {row[0]: row for row in rows[1:]}
    assert marks["chaplygin_sleigh"][maggi] == "*"
    assert marks["chaplygin_sleigh"][lagrange] == "-"
    assert marks["double_pendulum"][lagrange] == "*"
    assert "hypothesis" in output(capsys, "forms", "-v")
    page = (Path(__file__).parents[2] / "docs" / "forms.md").read_text(encoding="utf-8")
    assert output(capsys, "forms").split("\n\n")[0] in page  # the matrix in the docs is up to date


def test_emit(capsys: Captured, tmp_path: Path) -> None:
    folder = tmp_path / "made" / "here"
    text = output(capsys, "emit", "n_link_pendulum:2", "-o", str(folder))
    ends = ("_core.c", "_core.h", "_graph.txt", "_lanes.c", ".pyx", ".pxd", ".pyi")
    expected = {f"n_link_pendulum_2{end}" for end in ends}
    written = {file.name for file in folder.iterdir()}
    included = {
        name
        for file in folder.iterdir()
        for name in re.findall(r'^#?include "([^"]+)"', file.read_text("utf-8"), re.M)
    }
    assert written == expected | included
    assert {"chaplygin.h", "cg_math.h"} <= included
    assert text.count(" bytes)") == len(written)


def test_the_command_inside_emitted_files_makes_them_again(capsys: Captured, tmp_path: Path) -> None:
    output(capsys, "emit", "n_link_pendulum", "--n", "2", "-o", str(tmp_path / "a"))
    core = (tmp_path / "a" / "n_link_pendulum_2_core.c").read_bytes()
    command = re.search(rb"chaplygin (emit [^\n]*) -o DIR", core)
    assert command
    output(capsys, *command[1].decode().split(), "-o", str(tmp_path / "b"))
    assert (tmp_path / "b" / "n_link_pendulum_2_core.c").read_bytes() == core


def test_run_beside_the_closed_form(capsys: Captured) -> None:
    text = output(capsys, "run", "chaplygin_sleigh", "--rtol", "1e-11")
    assert "closed form" in text
    exact = cg.example("chaplygin_sleigh").closed_form(10.0)
    assert number_after(text, "phi", 1) == pytest.approx(exact["phi"], abs=1e-10)
    assert number_after(text, "phi", 2) == pytest.approx(exact["phi"], abs=1e-14)
    assert abs(number_after(text, "phi", 3)) < 1e-10
    assert number_after(text, "energy", 2) < 1e-10


def test_run_without_a_closed_form_is_checked_by_a_tighter_one(capsys: Captured) -> None:
    text = output(capsys, "run", "heavy_top", "--t-end", "1")
    assert "at rtol = 1e-13" in text
    assert 0 < abs(number_after(text, "w3", 3)) < 1e-6
    assert number_after(text, "vertical_momentum", 2) < 1e-6
    assert "at rtol" not in output(capsys, "run", "heavy_top", "--t-end", "1", "--no-check")


def test_run_with_settings(capsys: Captured) -> None:
    arguments = (
        "--method",
        "rk4",
        "--step",
        "0.001",
        "--set",
        "k=2",
        "--set",
        "m=2",
        "--set",
        "x=3",
        "--set",
        "x_dot=0",
    )
    text = output(capsys, "run", "harmonic_oscillator", "--t-end", "6.283185307179586", *arguments)
    assert number_after(text, "x", 1) == pytest.approx(3, abs=1e-10)
    assert abs(number_after(text, "x", 3)) < 1e-10


def test_run_that_fails_says_why(capsys: Captured) -> None:
    text = output(capsys, "run", "double_pendulum", "--set", "theta1_dot=1e200", code=1)
    assert "stopped at t = " in text


def test_run_draws(capsys: Captured, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    file = tmp_path / "top.png"
    output(capsys, "run", "heavy_top", "--t-end", "1", "--no-check", "--plot", str(file))
    assert file.read_bytes().startswith(b"\x89PNG")
    assert "top.nonsense" in refusal(
        capsys, "run", "heavy_top", "--t-end", "1", "--no-check", "--plot", "top.nonsense"
    )


def test_ensemble(capsys: Captured) -> None:
    text = output(capsys, "ensemble", "chaplygin_sleigh", "-n", "200", "--seed", "4")
    assert "200 ok" in text
    assert "scattered: omega, v" in text
    assert number_after(text, "energy", 1) < 1e-8
    assert number_after(text, "v", 2) > 0.01
    again = output(capsys, "ensemble", "chaplygin_sleigh", "-n", "200", "--seed", "4", "--threads", "1")
    assert [line for line in again.splitlines() if line.startswith("  ")] == [
        line for line in text.splitlines() if line.startswith("  ")
    ]
    still = output(capsys, "ensemble", "chaplygin_sleigh", "-n", "5", "--spread", "0")
    assert number_after(still, "phi", 2) == 0


def test_preparation_and_integration_are_two_figures(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compilation does not count towards the rate; anything longer than a second is reported on stderr."""
    import chaplygin as cg
    from chaplygin.runtime.model import lanes

    now, prepared = [0.0], []
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def lasting(seconds: float, function: Any) -> Any:
        def slow(*given: Any, **options: Any) -> Any:
            now[0] += seconds
            prepared.extend(given[3:4] if function is lane_set else ())
            return function(*given, **options)

        return slow

    ensemble, lane_set = cg.ensemble, lanes.lane_set
    monkeypatch.setattr(cg.System, "compile", lasting(1.5, cg.System.compile))
    monkeypatch.setattr(lanes, "lane_set", lasting(2.0, lane_set))
    monkeypatch.setattr(cg, "ensemble", lasting(0.25, ensemble))
    assert main(("ensemble", "chaplygin_sleigh", "-n", "100", "--t-end", "0.01")) == 0
    captured = capsys.readouterr()
    assert "prepared in 3.5 s, integrated in 250 ms: 400 trajectories per second" in captured.out
    assert prepared == [100]
    assert captured.err.splitlines() == [
        "compiling chaplygin_sleigh (maggi): 1.5 s",
        "compiling lanes of chaplygin_sleigh: 2.0 s",
    ]
    monkeypatch.setattr(cg.Model, "integrate", lasting(0.5, cg.Model.integrate))
    text = output(capsys, "run", "chaplygin_sleigh", "--t-end", "0.01", "--no-check")
    assert "prepared in 1.5 s, integrated in 500 ms" in text


def test_an_ensemble_along_a_coordinate(capsys: Captured) -> None:
    """Whittaker's form along phi: its rate omega is not scattered, since phi has to grow."""
    arguments = ("ensemble", "chaplygin_sleigh", "--form", "whittaker", "--t-end", "0.9", "-n", "2000")
    text = output(capsys, *arguments)
    assert "scattered: v;" in text.replace("\n", ";")
    assert "2000 ok" in text
    assert "scattered: omega;" in output(
        capsys, *arguments[:-1], "2", "--scatter", "omega", "--spread", "1e-6"
    ).replace("\n", ";")


def test_nothing_is_imported_while_an_ensemble_is_timed() -> None:
    """Imports would count into its rate."""
    script = """
import sys
import chaplygin as cg
ensemble = cg.ensemble
def timed(*arguments, **named):
    before = set(sys.modules)
    result = ensemble(*arguments, **named)
    print("imported", sorted(set(sys.modules) - before))
    return result
cg.ensemble = timed
from chaplygin.cli import main
main(["ensemble", "harmonic_oscillator", "-n", "600"])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "imported []" in done.stdout, done.stdout + done.stderr


def test_ensemble_scatters_what_it_is_told(capsys: Captured) -> None:
    text = output(capsys, "ensemble", "heavy_top", "-n", "20", "--scatter", "m,w1", "--t-end", "1")
    assert "scattered: m, w1" in text
    assert number_after(text, "coordinates_1", 1) < 1e-8


def test_ensemble_in_forms_with_other_states(capsys: Captured) -> None:
    text = output(capsys, "ensemble", "heavy_top", "-n", "20", "--form", "chetaev", "--t-end", "1")
    assert "scattered: w1, w2, w3" in text
    # Velocities determined by a constraint are not scattered, whether they are states or not.
    text = output(capsys, "ensemble", "chaplygin_sleigh", "-n", "20", "--form", "multipliers", "--t-end", "1")
    assert "scattered: omega, v;" in text.replace("\n", ";")
    assert number_after(text, "constraint_1", 1) < 1e-12


def test_a_file_of_ones_own(capsys: Captured, model_file: str) -> None:
    text = output(capsys, "run", f"{model_file}:skate", "--t-end", "1", "--set", "tau=0.6")
    # The angular velocity grows at the rate tau / J.
    assert number_after(text, "omega", 1) == pytest.approx(1.5, abs=1e-9)
    assert "x_dot" in output(capsys, "show", f"{model_file}:spring")
    assert "20 ok" in output(capsys, "ensemble", f"{model_file}:skate", "-n", "20", "--t-end", "1")


def test_mistakes_in_a_file_of_ones_own(capsys: Captured, model_file: str, tmp_path: Path) -> None:
    assert "no such file" in refusal(capsys, "show", "nowhere.py:skate")
    assert "has no 'sled'" in refusal(capsys, "show", f"{model_file}:sled")
    assert "spring" in refusal(capsys, "show", f"{model_file}:sled")
    assert "is an int" in refusal(capsys, "show", f"{model_file}:number")
    assert "ZeroDivisionError" in refusal(capsys, "show", f"{model_file}:broken")
    assert "--n" in refusal(capsys, "show", f"{model_file}:skate", "--n", "3")
    bad = tmp_path / "bad.py"
    bad.write_text("import chaplygin as cg\n\nx = cg.coordinates('x;y')\n", encoding="utf-8")
    assert "line 3: DeclarationError" in refusal(capsys, "show", f"{bad}:x")
    bad.write_text("x = (\n", encoding="utf-8")
    assert "SyntaxError" in refusal(capsys, "show", f"{bad}:x")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("show", "no_such_system"), "heavy_top"),
        (("show", "heavy_top", "--form", "newton"), "unknown form 'newton'"),
        (("show", "heavy_top", "--form", "maggi"), "hypothesis"),
        (("show", "heavy_top", "--n", "3"), "fixed size"),
        (("show", "n_link_pendulum", "--n", "0"), "from 1 to"),
        (("show", "n_link_pendulum:3", "--n", "4"), "two sizes"),
        (("show", "chaplygin_sleigh", "--option", "nonsense=1"), "no option 'nonsense'"),
        (("show", "chaplygin_sleigh", "--option", "independent"), "NAME=VALUE"),
        (("show", "chaplygin_sleigh", "--option", "independent=phi,v"), "not a velocity"),
        (("run", "heavy_top", "--set", "mass=1"), "no such quantity"),
        (("run", "heavy_top", "--set", "m=one"), "not a number"),
        (("run", "heavy_top", "--set", "m=nan"), "m"),
        (("run", "heavy_top", "--method", "euler"), "known methods are"),
        (("run", "heavy_top", "--rtol", "-1"), "rtol"),
        (("run", "chaplygin_sleigh", "--set", "w=1"), "contradicts"),
        (("ensemble", "heavy_top", "-n", "0"), "at least 1"),
        (("ensemble", "heavy_top", "-n", "5", "--scatter", "wx"), "no such state"),
        (("ensemble", "heavy_top", "-n", "5", "--spread", "-1"), "--spread"),
        (("ensemble", "heavy_top", "-n", "5", "--t-end", "0"), "give a different end"),
        (("ensemble", "painleve_rod", "-n", "5"), "with --scatter"),
    ],
)
def test_mistakes_are_one_line(arguments: tuple[str, ...], said: str, capsys: Captured) -> None:
    assert said in refusal(capsys, *arguments)


def test_emit_into_a_file_is_one_line(capsys: Captured, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    assert "taken" in refusal(capsys, "emit", "harmonic_oscillator", "-o", str(tmp_path / "taken"))


def test_debug_shows_the_traceback() -> None:
    with pytest.raises(ValueError, match="no system"):
        main(["--debug", "show", "no_such_system"])


@pytest.mark.parametrize("arguments", [(), ("nonsense",), ("run",), ("emit", "heavy_top")])
def test_usage_errors(arguments: tuple[str, ...], capsys: Captured) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert "usage: chaplygin" in capsys.readouterr().err


def test_bench(capsys: Captured) -> None:
    text = output(capsys, "bench", "harmonic_oscillator")
    row = next(line for line in text.splitlines() if line.startswith("harmonic_oscillator"))
    assert float(row.split()[-1].replace(",", "")) > 5


def test_doctor_is_content(capsys: Captured) -> None:
    text = output(capsys, "doctor")
    assert "all is well" in text
    error = re.search(r"error against the closed form (\S+)", text)
    assert error
    assert float(error[1]) < 1e-9


def test_doctor_finds_a_missing_compiler(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    text = output(capsys, "doctor", code=1)
    assert re.search(r"^FAILED +compiler .*no-such-compiler", text, re.M)
    assert re.search(r"^FAILED +self-test", text, re.M)
    assert "compiler, self-test: failed" in text


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX permissions")
def test_doctor_finds_an_open_cache(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tmp_path.chmod(0o777)
    monkeypatch.setenv("CHAPLYGIN_CACHE", str(tmp_path))
    assert re.search(r"^FAILED +cache .*others can write", output(capsys, "doctor", code=1), re.M)
    assert os.environ["CHAPLYGIN_CACHE"] == str(tmp_path)


# -- figures as JSON, pictures, bounds -------------------------------------------------------------------------------
def figures(capsys: Captured, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(output(capsys, *arguments, "--json"))
    return found


def test_run_as_json(capsys: Captured) -> None:
    found = figures(capsys, "run", "harmonic_oscillator", "--t-end", "2")
    entry = cg.example("harmonic_oscillator")
    exact = entry.closed_form(2.0)  # type: ignore[misc]
    assert found["end"]["x"] == pytest.approx(exact["x"], abs=1e-8)
    assert found["reference"]["values"]["x"] == pytest.approx(exact["x"], abs=1e-14)
    assert found["success"]
    assert found["preparation_seconds"] > 0
    assert found["integration_seconds"] > 0
    ball = figures(capsys, "run", "bouncing_ball", "--no-check")
    fall = cg.example("bouncing_ball")
    height, g = fall.initial["x"], fall.parameters["g"]
    assert ball["events"]["bounce"][0] == pytest.approx((2 * height / g) ** 0.5, rel=1e-9)


def test_ensemble_as_json(capsys: Captured) -> None:
    found = figures(capsys, "ensemble", "harmonic_oscillator", "-n", "50", "--t-end", "1", "--spread", "0")
    exact = cg.example("harmonic_oscillator").closed_form(1.0)  # type: ignore[misc]
    assert found["end"]["x"]["mean"] == pytest.approx(exact["x"], abs=1e-8)
    assert found["end"]["x"]["std"] < 1e-12
    assert found["trajectories"] == 50
    assert found["failed"] == 0


def test_show_and_bench_as_json(capsys: Captured) -> None:
    found = figures(capsys, "show", "chaplygin_sleigh")
    assert found["states"] == ["phi", "x", "y", "omega", "v"]
    assert found["brackets"] == ["[X_omega, X_v] = X_w", "[X_omega, X_w] = -X_v"]
    assert {i["name"] for i in found["invariants"]} == {"energy", "constraint_1"}
    (row,) = figures(capsys, "bench", "harmonic_oscillator")["systems"]
    assert row["compiled_error"] < 1e-6


def test_names_that_are_nearly_right(capsys: Captured, model_file: str) -> None:
    assert "did you mean 'heavy_top'?" in refusal(capsys, "run", "heavy_tpo")
    assert "did you mean 'n_link_pendulum'?" in refusal(capsys, "show", "n_link_pendulm:3")
    assert "did you mean 'maggi'?" in refusal(capsys, "show", "chaplygin_sleigh", "--form", "magi")
    assert "did you mean 'omega'?" in refusal(capsys, "run", "chaplygin_sleigh", "--set", "omga=1")


def test_counts_and_sizes_are_bounded(capsys: Captured) -> None:
    assert "trajectories fit" in refusal(capsys, "ensemble", "harmonic_oscillator", "-n", "99999999999999")
    for size in ("n_link_pendulum:99999999", "n_link_pendulum:" + "9" * 5000, "n_link_pendulum:0"):
        assert "size must be from 1 to" in refusal(capsys, "show", size)


def test_pictures_are_refused_before_the_run(capsys: Captured, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for file, words in (
        (tmp_path / "none" / "x.png", "does not exist"),
        (tmp_path / "x.nonsense", "Matplotlib writes"),
        (tmp_path, "cannot be written"),
    ):
        assert words in refusal(capsys, "run", "no_such_system", "--plot", str(file))
    assert "--path-of" in refusal(capsys, "run", "heavy_top", "--no-check", "--path", str(tmp_path / "x.png"))


def test_a_path_and_marks(capsys: Captured, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    file = tmp_path / "path.svg"
    output(capsys, "run", "chaplygin_sleigh", "--no-check", "--path", str(file))
    assert file.stat().st_size > 1000
    model = cg.example("bouncing_ball").system.compile()
    entry = cg.example("bouncing_ball")
    sol = model.integrate(entry.t_span, entry.initial, entry.parameters)
    figure = sol.plot(file=tmp_path / "ball.png")
    lines = [line for line in figure.axes[0].lines if line.get_linestyle() == "--"]
    assert [line.get_xdata()[0] for line in lines] == pytest.approx(sol.t_events[0].tolist())
    assert figure.axes[-1].get_xlabel() == "t [s]"
    klein = cg.example("painleve_klein")
    sol = klein.system.compile().integrate(klein.t_span, klein.initial, klein.parameters)
    figure = sol.plot("x1", file=tmp_path / "klein.png")
    lines = [line for line in figure.axes[0].lines if line.get_linestyle() == ":"]
    assert [line.get_xdata()[0] for line in lines] == pytest.approx([m.t_start for m in sol.modes[1:]])


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX descriptors and /dev/full")
def test_a_closed_or_full_stdout() -> None:
    command = f"{sys.executable} -m chaplygin list"
    assert subprocess.run(["sh", "-c", f"{command} >&-"], capture_output=True).returncode == 0
    done = subprocess.run(["sh", "-c", f"{command} > /dev/full"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "cannot write the output" in done.stderr


STUDY = """
import chaplygin as cg
from chaplygin.generated.harmonic_oscillator import model
from scipy import stats

def swings():
    collect = {"spread": cg.moments("x"), "low": cg.quantiles("x", 0.1), "end": cg.final("x")}
    start = {"x": stats.norm(1, 0.1), "x_dot": 0}
    numbers = {"m": 1, "k": 4}
    return dict(model=model, t_span=(0, 10), n=5000, initial=start, parameters=numbers, seed=1, collect=collect)

def precise_swings():
    return {**swings(), "until": cg.precision("spread", relative=0.01)}

def precise_mean():
    given = swings()
    del given["collect"]
    return {**given, "until": cg.precision(cg.moments("x"), relative=0.01)}

nothing = 3

def broken():
    return 1 / 0
"""


@needs_core
def test_study(capsys: Captured, tmp_path: Path) -> None:
    """x(10) = x0 cos 20, so its mean is cos 20 and its deviation a tenth of that."""
    file = tmp_path / "study.py"
    file.write_text(STUDY)
    assert main(["study", f"{file}:swings", "-o", str(tmp_path / "kept"), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["done"] == facts["trajectories"] == 5000
    spread = facts["results"]["spread"]
    assert spread["mean"]["x"] == pytest.approx(math.cos(20), abs=4 * spread["error"]["x"])
    assert spread["std"]["x"] == pytest.approx(0.1 * math.cos(20), rel=0.05)
    assert facts["results"]["end"] == {"x": [5000]}
    assert main(["study", f"{file}:swings", "-o", str(tmp_path / "kept")]) == 0
    assert "5000 trajectories of harmonic_oscillator: 5000 ok" in capsys.readouterr().out
    assert main(["study", f"{file}:precise_swings", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["done"], facts["precise"]) == (4096, True)  # after which the error is 0.1 * 1.96 / 64
    assert main(["study", f"{file}:precise_mean", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["results"].keys() == {"until"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("", "give path/to/file.py:name"),
        (":nobody", "has no 'nobody'"),
        (":nothing", "must be a dict of the arguments of cg.study"),
        (":broken", f"line {STUDY.count(chr(10))}: ZeroDivisionError"),
    ],
)
def test_wrong_studies(name: str, text: str, capsys: Captured, tmp_path: Path) -> None:
    file = tmp_path / "study.py"
    file.write_text(STUDY)
    assert main(["study", f"{file}{name}"]) == 2
    assert text in capsys.readouterr().err


UNSET = """
import chaplygin as cg
q = cg.coordinates("q")
m, k = cg.parameters("m k", positive=True)
s = cg.System("spring", coordinates=[q], kinetic=m * cg.rate(q) ** 2 / 2, potential=k * q**2 / 2)
"""


@pytest.mark.parametrize("command", [("run",), ("ensemble", "-n", "3")])
def test_missing_numbers_are_named_before_anything_is_compiled(
    command: tuple[str, ...],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "spring.py"
    file.write_text(UNSET)
    monkeypatch.setattr(cg.System, "compile", lambda *given, **options: pytest.fail("compiled"))
    name, *more = command
    assert main([name, f"{file}:s", *more, "--set", "m=2"]) == 2
    message = capsys.readouterr().err
    assert (
        "spring.py:s: no numbers for k, q, q_dot: give each by --set k=VALUE, or all in example={...}"
        in message
    )


def test_a_state_that_chaos_made_is_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, "run", "heavy_top", "--t-end", "100")
    assert "no digits of the state at the end are known: a run at rtol = 1e-13 differs by" in text
    assert "q0  " not in text
    assert "vertical_momentum" in text


def test_the_command_of_the_readme_prints_digits_that_are_right(capsys: pytest.CaptureFixture[str]) -> None:
    """The end of Lagrange's top in closed form."""
    readme = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
    command = next(line for line in readme.splitlines() if line.startswith("chaplygin run "))
    words = command.split()[1 : command.split().index("--plot")]
    text = output(capsys, *words)
    rows = [line.split() for line in text.splitlines() if line.startswith(("  q", "  w"))]
    assert len(rows) == 7
    assert all(abs(float(row[1]) - float(row[2])) < 1e-6 for row in rows)
