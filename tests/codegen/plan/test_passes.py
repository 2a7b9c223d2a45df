"""The list of passes: what holds after each, on the whole catalogue and on random systems; broken ones are caught.

The stages tell `logging.getLogger("chaplygin")` what took how long, and print nothing.
"""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from random_systems import declare
from small_systems import SMALL

import chaplygin as cg
from chaplygin.codegen.derive.equation_nodes import EquationNodes
from chaplygin.codegen.graph.graph import Graph
from chaplygin.codegen.lower.lower import lower
from chaplygin.codegen.lower.options import DEFAULT, LoweringOptions
from chaplygin.codegen.plan import passes, plan as planning
from chaplygin.codegen.plan.invariants import in_order
from chaplygin.codegen.plan.part import Part
from chaplygin.codegen.plan.passes import CUTTING, ORDERING, REWRITING, Pass, verify
from chaplygin.codegen.plan.plan import Program, plan

CATALOGUE = [(name, form) for name in SMALL for form in cg.example(name).forms]
LARGE = [("spatial_chain", "recursive"), ("robot_arm", "recursive"), ("n_four_bars", "multipliers")]


def verified(eqs: EquationNodes, options: LoweringOptions = DEFAULT) -> Program:
    """The plan of equations, every pass and every schedule checked."""
    program = lower(eqs)
    found = plan(program, options, partial(verify, program.graph))
    wrong = {name: [*in_order(program.graph, s)] for name, s in found.schedules.items()}
    assert not any(wrong.values()), wrong
    return found


@pytest.mark.parametrize(("name", "form"), CATALOGUE)
@pytest.mark.sample(6)
def test_every_pass_on_the_catalogue(name: str, form: str) -> None:
    verified(cg.example(name).system.equations(form).nodes)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "form"), [x for x in LARGE if x[1] in cg.example(x[0]).forms])
def test_every_pass_on_large_systems(name: str, form: str) -> None:
    verified(cg.example(name).system.equations(form).nodes)


@pytest.mark.parametrize("seed", range(200))
@pytest.mark.sample(1)
def test_every_pass_on_random_systems(seed: int) -> None:
    verified(declare(seed).system(f"random{seed}").equations().nodes)


def pendulums(n: int, numbers: bool = False) -> EquationNodes:
    """Rods on hinges, all alike unless they have numbers of their own."""
    bodies: list[cg.Body] = []
    for i in range(n):
        size = 0.1 + 0.01 * i if numbers else 0.1
        place = (0, 0, -3 * size if bodies else 0)
        bodies.append(
            cg.joint.revolute(
                bodies[-1] if bodies else None, "y", at=place, name=f"x{i}",
                mass=1 + size, inertia=(size, size, 0), center=(0, 0, -size),
            )
        )  # fmt: skip
    gravity = cg.parameters("g", positive=True)
    system = cg.System("rods", bodies=bodies, interactions=[cg.Weight(gravity)])
    return system.equations("recursive").nodes


SHORT = LoweringOptions(fewest_looped=100, longest_written_out=0)
"""So that a few bodies become loops."""


@pytest.mark.parametrize("numbers", [True, False])
def test_every_pass_on_loops(numbers: bool) -> None:
    found = verified(pendulums(6 if numbers else 4, numbers), SHORT)
    loops = found.schedule("rhs").rolled
    assert loops is not None
    assert bool(loops.numbers) == numbers


def test_every_pass_on_entries_of_matrices() -> None:
    nodes = cg.example("n_four_bars", n=2).system.equations("multipliers").nodes
    found = verified(nodes, LoweringOptions(longest_of_matrices=0, factoring_share=0))
    assert found.schedule("rhs").rolled is not None


# ---- passes that are broken ----


def swapped(g: Graph, part: Part, options: LoweringOptions) -> Part:
    """Gives the last sum the other sign."""
    sums = [n for n in g.reachable(part.kernel.roots()) if g.op[n] in ("add", "sub")]
    if not sums:
        return part
    last = sums[-1]
    other = g.same("sub" if g.op[last] == "add" else "add", g.args[last])
    roots = part.kernel.roots()
    new = dict(zip(roots, g.substitute(roots, {last: other}), strict=True))
    return replace(part, kernel=part.kernel.map(lambda n: new.get(n, n)))


def of_another(g: Graph, part: Part, options: LoweringOptions) -> Part:
    """Reads a variable that the kernel does not have."""
    return replace(part, kernel=part.kernel.map(lambda n: g.add(n, g.symbol("another"))))


def longer(g: Graph, part: Part, options: LoweringOptions) -> Part:
    """Adds an operation to each output."""
    return replace(part, kernel=part.kernel.map(lambda n: g.same("neg", (g.same("neg", (n,)),))))


def hoisting_states(g: Graph, part: Part, options: LoweringOptions) -> Part:
    """Takes the states for parameters."""
    kernel = part.kernel
    every = tuple(g.symbol(s) for s in g.symbols(kernel.roots()))
    found = change_of("hoist", ORDERING)(g, replace(part, kernel=replace(kernel, beforehand=every)), options)
    return replace(found, kernel=replace(found.kernel, beforehand=kernel.beforehand))


def hoisting_nothing(g: Graph, part: Part, options: LoweringOptions) -> Part:
    return part


def fusing_nothing(g: Graph, part: Part, options: LoweringOptions) -> Part:
    return part


def losing_a_cell(g: Graph, part: Part, options: LoweringOptions) -> Part:
    found = change_of("cells", CUTTING)(g, part, options)
    cut = found.cut
    if cut is None:
        return found
    return replace(found, cut=replace(cut, phases=(cut.phases[0][1:], *cut.phases[1:])))


def keeping_signs(g: Graph, part: Part, options: LoweringOptions) -> Part:
    """Says that it has done something."""
    return replace(part, kernel=replace(part.kernel))


def change_of(name: str, table: tuple[Pass, ...]) -> Callable[[Graph, Part, LoweringOptions], Part]:
    return next(each.change for each in getattr(passes, _name(table)) if each.name == name)


def _name(table: tuple[Pass, ...]) -> str:
    return "CUTTING" if table is CUTTING else "REWRITING" if table is REWRITING else "ORDERING"


BROKEN: dict[str, tuple[tuple[Pass, ...], str, Any, str]] = {
    "a sign": (REWRITING, "arrange", swapped, "value"),
    "a variable": (REWRITING, "arrange", of_another, "another is not a variable"),
    "more operations": (REWRITING, "arrange", longer, "additions, not"),
    "states hoisted": (ORDERING, "hoist", hoisting_states, "is not known beforehand"),
    "nothing hoisted": (ORDERING, "hoist", hoisting_nothing, "is computed at every call"),
    "nothing fused": (ORDERING, "fuse", fusing_nothing, "two operations"),
    "a sign in fusing": (ORDERING, "fuse", swapped, "value"),
    "a cell": (CUTTING, "cells", losing_a_cell, "before it is computed|lost"),
    "signs": (CUTTING, "signs", keeping_signs, "subtracted"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_pass_is_caught(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table, name, change, complaint = BROKEN[what]
    broken = tuple(replace(each, change=change) if each.name == name else each for each in table)
    nodes = pendulums(4, True) if table is CUTTING else cg.example("heavy_top").system.equations().nodes
    monkeypatch.setattr(planning, _name(table), broken)
    with pytest.raises(AssertionError, match=f"after the pass {name}: .*({complaint})"):
        verified(nodes, SHORT)


# ---- what the page says ----


def rows() -> Iterator[tuple[str, str]]:
    page = (Path(__file__).resolve().parents[3] / "docs" / "architecture.md").read_text(encoding="utf-8")
    _, _, rest = page.partition("\n## The passes\n")
    yield from re.findall(r"^\| (\w+) \| .* \| (.*) \|$", rest.partition("\n## ")[0], re.M)[1:]


def test_the_page_shows_the_passes_and_what_holds_after_them() -> None:
    every = [*CUTTING, *REWRITING, *ORDERING]
    assert [name for name, _ in rows()] == [each.name for each in every]
    assert [holds for _, holds in rows()] == [each.wrong.__doc__ for each in every]


def test_nodes_are_replaced_everywhere() -> None:
    kernel = lower(pendulums(3)).kernels["rhs"]
    moved = kernel.map(lambda n: n + 1)
    assert moved.roots() == [n + 1 for n in kernel.roots()]
    assert moved.cells == tuple(tuple(n + 1 for n in cell) for cell in kernel.cells)
    assert moved.map(lambda n: n - 1) == kernel


CODE = """
import logging, sys
import chaplygin as cg
if sys.argv[1:]:
    logging.basicConfig(level=sys.argv[1], format="%(name)s %(levelname)s %(message)s")
q = cg.coordinates("q")
cg.System("fresh", coordinates=[q], kinetic=cg.rate(q) ** 2 / 2, potential=q**4 / 7).compile()
"""


def test_each_stage_is_told_with_its_time(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "chaplygin")
    assert cg.example("harmonic_oscillator").system.equations("lagrange").program.kernels
    told = [(r.levelname, re.sub(r"\d+\.\d{3} s$", "... s", r.getMessage())) for r in caplog.records]
    assert [text for level, text in told if level == "INFO"] == [
        f"{stage} harmonic_oscillator, lagrange: ... s" for stage in ("derive", "lower", "plan")
    ]
    for part in (
        "lower harmonic_oscillator, lagrange: rhs",
        "plan harmonic_oscillator, lagrange: rhs",
        "arrange rhs",
    ):
        assert ("DEBUG", f"{part}: ... s") in told


def test_nothing_is_printed_unless_it_is_asked_for(tmp_path: Path) -> None:
    def printed(*arguments: str) -> str:
        command = [sys.executable, "-c", CODE, *arguments]
        env = {**os.environ, "CHAPLYGIN_CACHE": str(tmp_path / str(len(arguments)))}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
        return done.stdout + done.stderr

    assert printed() == ""
    lines = printed("INFO").splitlines()
    stages = [line.split()[2] for line in lines if line.startswith("chaplygin INFO ")]
    assert list(dict.fromkeys(stages)) == ["derive", "lower", "plan", "emit", "compile"]
