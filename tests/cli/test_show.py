"""The commands that show what is declared, derived and emitted: show, list, forms, emit."""

from __future__ import annotations

import ast
import json
import math
import re
import time
from pathlib import Path
from typing import Any

import pytest
import sympy as sp
from commands import Captured, figures, output, refusal

import chaplygin as cg
from chaplygin.cli import main
from chaplygin.codegen.graph.evaluate import evaluate
from chaplygin.codegen.graph.graph import Graph, Node
from chaplygin.codegen.views.display import LONGEST, MOST, Display

SPHERICAL_ROBOT = """
import chaplygin as cg

m, J, M, A, l, r, g = cg.parameters("m J M A l r g", positive=True)
first, second = cg.inputs("first second")
ball = cg.joint.free(None, name="ball", mass=m, inertia=(J, J, J))
yoke = cg.joint.revolute(ball, "y", name="yoke", mass=m, inertia=(A, A, A))
bob = cg.joint.revolute(yoke, "x", name="bob", mass=M, inertia=(A, 2 * A, A), center=(0, 0, -l))
x, y, z = ball.center
along = cg.rolling(ball, (x, y, 0), directions=[(1, 0, 0), (0, 1, 0)], kinematics=ball.kinematics)
system = cg.System(
    "spherical_robot", bodies=[ball, yoke, bob], constraints=along, holonomic=[z - r],
    interactions=[cg.Weight(g), yoke.motor(first), bob.motor(second)],
)
"""
SIZED = ("n_link_pendulum:12", "n_link_pendulum:60", "spatial_chain:6", "n_four_bars:12")


@pytest.fixture
def robot(tmp_path: Path) -> str:
    """A sphere that rolls, with a pendulum on two driven axes in it."""
    file = tmp_path / "spherical.py"
    file.write_text(SPHERICAL_ROBOT, encoding="utf-8")
    return f"{file}:system"


def shown(capsys: Captured, *arguments: str) -> str:
    assert main(["show", *arguments]) == 0
    return capsys.readouterr().out


def values(eqs: Any) -> dict[str, float]:
    """Numbers for everything that equations depend on."""
    every = (*eqs.nodes.rates, *eqs.nodes.force, *(n for row in eqs.nodes.mass for n in row))
    names = {*eqs.nodes.symbols, *eqs.nodes.graph.symbols(every)}
    return {name: 0.3 + 0.17 * math.sin(7 * i) for i, name in enumerate(sorted(names))}


def computed(text: str, known: dict[str, float]) -> float:
    """The value of an expression as Python reads it."""
    functions = {name: getattr(math, name) for name in ("sin", "cos", "tan", "sqrt", "exp")}
    return float(eval(text, {**functions, "Abs": abs, "pi": math.pi}, known))


def primed(text: str) -> str:
    """Names of derivatives and entries of M as Python can read them."""
    return re.sub(r"M\[(\d+),(\d+)\]", r"M_\1_\2", text.replace("'", "_prime"))


# ---- size ----


@pytest.mark.parametrize("mode", [[], ["--latex"], ["--json"]], ids=["text", "latex", "json"])
@pytest.mark.parametrize("name", [*cg.examples(), *SIZED])
@pytest.mark.sample(1)
def test_every_system_is_shown_on_a_page_or_two(name: str, mode: list[str], capsys: Captured) -> None:
    text = shown(capsys, name, *mode)
    assert len(text.splitlines()) <= 200
    assert len(text.encode()) <= 40_000
    if mode == ["--json"]:
        assert json.loads(text)["system"].startswith(name.partition(":")[0])


@pytest.mark.parametrize("mode", [[], ["--latex"], ["--json"]], ids=["text", "latex", "json"])
@pytest.mark.sample(1)
def test_a_spherical_robot_is_shown_on_a_page_or_two(robot: str, mode: list[str], capsys: Captured) -> None:
    """SymPy did not return from simplifying its rates within ten minutes."""
    text = shown(capsys, robot, *mode)
    assert len(text.splitlines()) <= 100
    assert len(text.encode()) <= 10_000


def test_tables_are_listed(capsys: Captured) -> None:
    listed = json.loads(shown(capsys, "rocket", "--json"))["tables"]
    assert listed["cd"] == "at from 0.0 to 2.0; outside: hold"
    assert listed["wind_north"] == "h from 0.0 to 4000.0; outside: hold; values at run time"
    text = shown(capsys, "rocket")
    assert all(f"  {name:10}  {about}\n" in text for name, about in listed.items())


def test_what_occurs_very_often_is_never_written_out() -> None:
    """2^200 operations as a tree, 600 in the graph."""
    g = Graph()
    node = g.symbol("x")
    for _ in range(200):
        node = g.mul(g.call("sin", node), g.call("cos", node))
    symbols = {"x": sp.Symbol("x")}
    began = time.process_time()
    display = Display(g, symbols)
    assert display.text("f", node) == "(600 operations)"
    assert display.elided == {"f": 600}
    whole = Display(g, symbols, True, [node])
    text, parts = whole.text("f", node), dict(whole.definitions())
    assert time.process_time() - began < 5
    value = 0.7
    for _ in range(200):
        value = math.sin(value) * math.cos(value)
    known = {"x": 0.7}
    for name, part in parts.items():
        known[name] = computed(part, known)
    assert computed(text, known) == pytest.approx(value, rel=1e-12)


def test_all_that_is_written_out_is_short_together() -> None:
    g = Graph()
    display = Display(g, {f"x{i}": sp.Symbol(f"x{i}") for i in range(50)})
    rows = [
        g.sum([g.call("sin", g.mul(g.const(k + 2), g.symbol(f"x{i}"))) for i in range(16)]) for k in range(40)
    ]
    texts = [display.text(f"f{k}", node) for k, node in enumerate(rows)]
    operations = g.count_operations([rows[0]])
    assert 40 < operations <= LONGEST
    counted = [text for text in texts if "operations" in text]
    assert len(texts) - len(counted) == MOST // operations
    assert display.text("x", g.symbol("x0")) == "x0"  # costs nothing


# ---- contents ----


def rows_of(eqs: Any, facts: dict[str, Any]) -> list[str]:
    """The lines M theta' = f."""
    first = len(eqs.nodes.rates)
    found: list[str] = facts["equations"][first : first + len(eqs.nodes.force)]
    return found


@pytest.mark.parametrize("name", ["", "robot_arm", "double_pendulum", "squeezer", "rolling_disk", "bicycle"])
@pytest.mark.sample(1)
def test_rows_are_those_of_the_equations(name: str, robot: str, capsys: Captured) -> None:
    """With the values of the entries that are only counted, each row has the entries of M and f."""
    facts = json.loads(shown(capsys, name or robot, "--json"))
    spec: dict[str, Any] = {}
    exec(SPHERICAL_ROBOT, spec)
    system = cg.example(name).system if name else spec["system"]
    eqs: Any = system.equations(facts["form"])
    nodes, known = eqs.nodes, values(eqs)
    k = len(nodes.force)

    def value(node: Node) -> float:
        return float(evaluate(nodes.graph, [node], known)[0])

    counted = facts["elided"]
    for key, count in counted.items():
        if found := re.fullmatch(r"M\[(\d+),(\d+)\]", key):
            i, j = map(int, found.groups())
            assert count == nodes.graph.count_operations([nodes.entry(i, j)])
            known[f"M_{i}_{j}"] = value(nodes.entry(i, j))
    for i, row in enumerate(rows_of(eqs, facts)):
        left, _, right = primed(row).partition(" = ")
        for j in range(k):
            unit = {f"{v}_prime": float(v == eqs.velocities[j]) for v in eqs.velocities}
            expected = value(nodes.entry(i, j)) if nodes.mass else float(i == j)
            assert computed(left, known | unit) == pytest.approx(expected, rel=1e-9, abs=1e-12)
        count = nodes.graph.count_operations([nodes.force[i]])
        if right == f"({count:,} operations)":
            assert counted[f"f[{i}]"] == count
        else:
            assert computed(right, known) == pytest.approx(value(nodes.force[i]), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", ["bricard", "squeezer", "heavy_top"])
@pytest.mark.sample(1)
def test_full_has_everything_by_named_parts(name: str, capsys: Captured) -> None:
    facts = json.loads(shown(capsys, name, "--json", "--full"))
    eqs: Any = cg.example(name).system.equations(facts["form"])
    known = values(eqs)
    g, nodes = eqs.nodes.graph, eqs.nodes
    expected = evaluate(g, [*nodes.rates, *nodes.force], known)
    assert facts["elided"] == {}
    assert (facts["intermediates"] == {}) == (name == "heavy_top")
    for part, text in facts["intermediates"].items():
        known[part] = computed(text, known)
    rights = [line.partition(" = ")[2] for line in facts["equations"][: len(expected)]]
    assert [computed(text, known) for text in rights] == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.slow
def test_what_is_only_counted_is_said(capsys: Captured) -> None:
    text, facts = shown(capsys, "spatial_chain"), json.loads(shown(capsys, "spatial_chain", "--json"))
    said = re.search(r"Only counted: (\d+) expressions\. --full .* ([\d,]+) operations, about (\d+) kB", text)
    assert said is not None
    assert int(said[1]) == len(facts["elided"])
    assert facts["counted"] == "as derived"
    assert "\n  with M[0,0] of " in text
    whole = shown(capsys, "spatial_chain", "--full")
    assert len(whole) / 2000 < int(said[3]) < len(whole) / 500
    assert "Only counted" not in whole
    assert "\n  z_1 " in whole
    assert "Only counted" not in shown(capsys, "heavy_top")


@pytest.mark.slow
def test_multipliers_are_named_and_not_defined_by_themselves(capsys: Captured) -> None:
    """Nor is any other reaction or output that is a variable; `--full` names all of them."""
    text = shown(capsys, "bricard")
    assert "\nReactions\n  lambda_1, lambda_2, ..., lambda_5\n  reaction_b1_dot " in text
    assert not re.search(r"^ *(\S+) += \1$", text, re.MULTILINE)
    whole = shown(capsys, "bricard", "--full")
    assert "\n  lambda_1, lambda_2, lambda_3, lambda_4, lambda_5\n" in whole
    assert json.loads(shown(capsys, "painleve_rod", "--json"))["reactions"]["lambda_1"] == "lambda_1"


@pytest.mark.slow
def test_the_operations_are_those_of_the_equations(capsys: Captured) -> None:
    """As `operations` has them where they are those of the emitted code, else as derived."""
    counts = cg.example("double_pendulum").system.equations().operations
    line = (
        f"Operations: M {counts['mass_matrix']}, f {counts['forcing']}; in the emitted right-hand side "
        f"{counts['rhs']} in each call ({counts['divisions']} of them divisions) and {counts['hoisted']} once per "
        "parameter set\n"
    )
    assert line in shown(capsys, "double_pendulum")
    counts = cg.example("spatial_chain").system.equations().operations
    line = f"Operations: M {counts['mass_matrix']}, f {counts['forcing']}; in the right-hand side "
    text = shown(capsys, "spatial_chain").partition(line)[2]
    before = re.match(
        r"(\d+) in each .* once per parameter set, before the emitted code is made shorter\n", text
    )
    assert before is not None
    assert int(before[1]) > counts["rhs"]


def test_many_equations_are_only_counted(capsys: Captured) -> None:
    facts = json.loads(shown(capsys, "n_link_pendulum:12", "--json"))
    eqs = cg.example("n_link_pendulum", n=12).system.equations()
    every = [n for row in eqs.nodes.mass for n in row]
    assert facts["elided"]["M theta' = f"] == eqs.nodes.graph.count_operations([*every, *eqs.nodes.force])
    assert "12 equations" in shown(capsys, "n_link_pendulum:12", "--latex")


@pytest.mark.slow
def test_latex_counts_what_is_long(capsys: Captured) -> None:
    text = shown(capsys, "robot_arm", "--latex")
    eqs = cg.example("robot_arm").system.equations()
    count = eqs.nodes.graph.count_operations([eqs.nodes.entry(0, 0)])
    assert rf"M_{{1,1}} &: \text{{{count:,} operations}}" in text
    assert r"M_{1,1}\,\ddot{waist} + M_{1,2}\,\ddot{shoulder}" in text
    assert eqs._repr_latex_() == f"$\\displaystyle {text.strip()}$"
    assert shown(capsys, "robot_arm", "--latex", "--full").strip() == eqs.latex()
    named = cg.example("spatial_chain").system.equations()  # fewer operations, and long only without names
    assert shown(capsys, "spatial_chain", "--latex").strip() == named.latex()


def test_the_page_shows_a_row_as_it_is(capsys: Captured) -> None:
    page = (Path(__file__).parents[2] / "docs" / "declare.md").read_text(encoding="utf-8")
    (row,) = re.findall(r"^M\[.*$", page, re.M)
    assert row in shown(capsys, "robot_arm")


def test_names_of_parts_are_not_those_of_variables() -> None:
    g = Graph()
    node = g.symbol("z_1")
    for _ in range(12):
        node = g.mul(g.call("sin", node), g.call("cos", node))
    parts = Display(g, {"z_1": sp.Symbol("z_1")}, True, [node]).definitions()
    assert "z_1" not in dict(parts)
    assert all(ast.parse(text) for _, text in parts)


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
    title, head, *rows, seconds = output(capsys, "show", "heavy_top", "--passes").splitlines()
    assert title == "heavy_top, poincare: the operations of one call after each pass, and what it took"
    assert head.split() == ["kernel", "lowered", "arrange", "hoist", "fuse"]
    counts = {row.split()[0]: [int(n) for n in row.split()[1:]] for row in rows}
    assert counts["rhs"][2] == 54
    word, *took = seconds.split()
    assert word == "seconds"
    assert all(re.fullmatch(r"\d+\.\d\d", t) for t in took)
    assert len(took) == 4
    assert float(took[1]) > 0  # many choices are tried
    assert all(row == sorted(row, reverse=True) for row in counts.values())
    found = json.loads(output(capsys, "show", "heavy_top", "--passes", "--json"))
    assert [n for _, n in found["rhs"]] == counts["rhs"]
    lowered = cg.example("heavy_top").system.equations().program
    assert {name: row[2] for name, row in counts.items()} == {
        k: lowered.operations(k) for k in lowered.kernels
    }


@pytest.mark.slow
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


def test_forms_of_one_system(capsys: Captured) -> None:
    heading, row = output(capsys, "forms", "chaplygin_sleigh").splitlines()[:2]
    marks = dict(zip(heading.split(), row.split(), strict=True))
    assert marks["system"] == "chaplygin_sleigh"
    assert (marks["maggi"], marks["multipliers"], marks["lagrange"]) == ("*", "+", "-")
    assert "from_urdf('arm.urdf') into a file" in refusal(capsys, "show", "arm.urdf")


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


def test_show_and_bench_as_json(capsys: Captured) -> None:
    found = figures(capsys, "show", "chaplygin_sleigh")
    assert found["states"] == ["phi", "x", "y", "omega", "v"]
    assert found["brackets"] == ["[X_omega, X_v] = X_w", "[X_omega, X_w] = -X_v"]
    assert {i["name"] for i in found["invariants"]} == {"energy", "constraint_1"}
    (row,) = figures(capsys, "bench", "harmonic_oscillator")["systems"]
    assert row["compiled_error"] < 1e-6
