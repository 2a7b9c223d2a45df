"""`plan`, from a `Lowered` to a `Program`: in which operations and in which order kernels compute their values."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from chaplygin._lazy import later
from chaplygin.log import stage
from chaplygin.runtime.interface.scalars import choice

from ..graph.graph import Graph
from ..lower.lowered import Kernel, KernelRow, Lowered, coded_from
from ..lower.options import DEFAULT, LoweringOptions
from .loops import looped
from .part import Part
from .passes import CUTTING, ORDERING, REWRITING, Pass
from .statements import Schedule
from .write_statements import number, variable_names

if TYPE_CHECKING:
    from . import sympy_ast
else:
    sympy_ast = later("chaplygin.codegen.plan.sympy_ast")

Watch = Callable[[Pass, Part, Part], None]
"""Sees every pass, with the part before and after it."""


@dataclass(frozen=True)
class Program(Lowered):
    """A program whose kernels have gone through the passes, and the statements of each: ready to print.

    The `kernels` are those of the program, rewritten; one that becomes loops is as it was, and so is one without a
    schedule, which is planned later.
    """

    schedules: Mapping[str, Schedule] = field(default_factory=dict, repr=False)
    options: LoweringOptions = DEFAULT

    def schedule(self, kernel: str) -> Schedule:
        """The statements of one kernel, in the order in which they are printed, or its loops."""
        return self.schedules[choice("kernel", kernel, self.schedules)]

    @property
    def later(self) -> tuple[KernelRow, ...]:
        """The rows of kernels without a schedule, which are planned when they are first used."""
        return tuple(
            row for row in self.rows if row.late and coded_from(self, row.name) not in self.schedules
        )

    def written_out(self, kernel: str) -> Schedule:
        """The statements of one kernel, without loops over repeated cells."""
        found = self.schedule(kernel)
        if found.rolled is None:
            return found
        part = _whole(self, self.kernels[kernel], self.options)
        return _ordered(self.graph, part, self.options, _unwatched)

    def operations(self, kernel: str = "rhs") -> int:
        """The number of arithmetic operations and function calls of one kernel, excluding hoisted ones."""
        return self.schedule(kernel).operations

    def to_sympy(self, kernel: str = "rhs") -> Any:
        """One kernel as a `sympy.codegen.ast.CodeBlock` of assignments, as it is emitted."""
        return sympy_ast.assignments(self.graph, self.written_out(kernel))


def _unwatched(each: Pass, before: Part, after: Part) -> None:
    """Nobody looks."""


@contextmanager
def uncollected() -> Iterator[None]:
    """Python does not search for cyclic garbage: these steps make none, and it would take a third of their time."""
    searches = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if searches:
            gc.enable()


def plan(
    program: Lowered,
    options: LoweringOptions = DEFAULT,
    watch: Watch = _unwatched,
    only: Collection[str] | None = None,
) -> Program:
    """The plan of a program, or of those of its kernels that are in `only`. Its graph is extended."""
    g, model = program.graph, f"{program.name}, {program.form}"
    rewritten: dict[str, Part | Schedule] = {}
    schedules: dict[str, Schedule] = {}
    with stage("plan", model), uncollected():
        for name, kernel in program.kernels.items():
            if only is not None and name not in only:
                continue
            with stage("plan", f"{model}: {name}", logging.DEBUG):
                rewritten[name] = _rewritten(g, _whole(program, kernel, options), options, watch)
        for name, found in rewritten.items():
            schedules[name] = _ordered(g, found, options, watch) if isinstance(found, Part) else found
    short = {name: found.kernel for name, found in rewritten.items() if isinstance(found, Part)}
    has_kinks = len(program.guards) > len(program.events)
    unarranged = program.unarranged or (program.kernels if has_kinks else {})
    contents = {**vars(program), "kernels": {**program.kernels, **short}, "unarranged": unarranged}
    return Program(**{**contents, "schedules": schedules, "options": options})


def _whole(program: Lowered, kernel: Kernel, options: LoweringOptions) -> Part:
    """A kernel as lowered."""
    g = program.graph
    budget = int(options.budget * kernel.effort)
    if 0 < kernel.effort < 1 and len(g.reachable(kernel.roots())) > options.largest_arranged:
        budget = 0
    places = tuple(("out", i) for i in range(len(kernel.outputs)))
    return Part(kernel, variable_names(program, kernel), places, budget)


def _rewritten(g: Graph, part: Part, options: LoweringOptions, watch: Watch) -> Part | Schedule:
    """A kernel with its values in fewer operations, or as loops."""

    def finish(template: Part) -> Schedule:
        return _ordered(g, _through(REWRITING, g, template, options, watch), options, watch)

    cut = _through(CUTTING, g, part, options, watch)
    if cut.cut is not None:
        return looped(g, cut, options, finish)
    short = _through(REWRITING, g, part, options, watch)
    return replace(short, kernel=replace(short.kernel, cells=(), effort=0.0))


def _ordered(g: Graph, part: Part, options: LoweringOptions, watch: Watch) -> Schedule:
    return number(g, _through(ORDERING, g, part, options, watch), options)


def _through(passes: tuple[Pass, ...], g: Graph, part: Part, options: LoweringOptions, watch: Watch) -> Part:
    for each in passes:
        before = part
        with stage(each.name, part.kernel.name, logging.DEBUG):
            part = each.change(g, before, options)
        watch(each, before, part)
    return part
