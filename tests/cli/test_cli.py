"""The command line: help, files of one's own, mistakes in one line, doctor and bench."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from commands import MODEL, Captured, number_after, output, refusal
from processes import python

import chaplygin as cg
from chaplygin.cli import main


@pytest.fixture
def model_file(tmp_path: Path) -> str:
    file = tmp_path / "model.py"
    file.write_text(MODEL, encoding="utf-8")
    return str(file)


def test_help_is_quick_and_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from chaplygin.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit as stop: assert stop.code == 0\n"
        "assert not {'numpy', 'sympy', 'scipy', 'Cython'} & set(sys.modules)\n"
    )
    assert "examples:" in python(code)


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


def test_names_that_are_nearly_right(capsys: Captured, model_file: str) -> None:
    assert "did you mean 'heavy_top'?" in refusal(capsys, "run", "heavy_tpo")
    assert "did you mean 'n_link_pendulum'?" in refusal(capsys, "show", "n_link_pendulm:3")
    assert "did you mean 'maggi'?" in refusal(capsys, "show", "chaplygin_sleigh", "--form", "magi")
    assert "did you mean 'omega'?" in refusal(capsys, "run", "chaplygin_sleigh", "--set", "omga=1")


def test_counts_and_sizes_are_bounded(capsys: Captured) -> None:
    assert "trajectories fit" in refusal(capsys, "ensemble", "harmonic_oscillator", "-n", "99999999999999")
    for size in ("n_link_pendulum:99999999", "n_link_pendulum:" + "9" * 5000, "n_link_pendulum:0"):
        assert "size must be from 1 to" in refusal(capsys, "show", size)


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX descriptors and /dev/full")
def test_a_closed_or_full_stdout() -> None:
    command = f"{sys.executable} -m chaplygin list"
    assert subprocess.run(["sh", "-c", f"{command} >&-"], capture_output=True).returncode == 0
    done = subprocess.run(["sh", "-c", f"{command} > /dev/full"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "cannot write the output" in done.stderr


def test_without_a_compiler_shipped_models_run_and_others_say_what_they_need(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CHAPLYGIN_CACHE", str(tmp_path))
    monkeypatch.setenv("CC", "no-such-compiler")
    for name in ("chaplygin_sleigh", "n_link_pendulum:5"):
        assert "audit of energy against power: passed" in output(capsys, "run", name)
    assert output(capsys, "ensemble", "chaplygin_sleigh", "-n", "2")
    assert "pip install 'chaplygin[zig]'" in refusal(capsys, "run", "n_link_pendulum:4")
