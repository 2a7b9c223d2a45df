"""The commands that run: run and ensemble, their figures, pictures and what they refuse."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from commands import Captured, figures, number_after, output, refusal
from processes import python
from small_systems import SMALL

import chaplygin as cg
from chaplygin.cli import main
from chaplygin.codegen.forms.choose import forms

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


@pytest.mark.parametrize("form", [form for form in forms() if form != "given"])
@pytest.mark.sample(1)
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
    arguments = "--method rk4 --step 0.001 --set k=2 --set m=2 --set x=3 --set x_dot=0".split()
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
    assert "imported []" in python(script)


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


UNSET = """
import chaplygin as cg
q = cg.coordinates("q")
m, k = cg.parameters("m k", positive=True)
s = cg.System("spring", coordinates=[q], kinetic=m * cg.rate(q) ** 2 / 2, potential=k * q**2 / 2)
"""


@pytest.mark.parametrize(
    "command",
    [("run",), ("ensemble", "-n", "3"), ("export-c", "-o", "nowhere"), ("export-fmu", "-o", "nowhere")],
)
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
