"""The operations of kernels, counted after each pass and without emitting them, and the time that passes take."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import replace

from chaplygin.codegen.derive.equation_nodes import EquationNodes
from chaplygin.codegen.lower import kernels
from chaplygin.codegen.lower.dynamics import Dynamics
from chaplygin.codegen.lower.lower import lower
from chaplygin.codegen.plan.part import Part, count, counted
from chaplygin.codegen.plan.passes import CUTTING, ORDERING, REWRITING, Pass
from chaplygin.codegen.plan.plan import plan
from chaplygin.codegen.plan.statements import Tally


def operations_by_pass(
    eqs: EquationNodes,
) -> tuple[dict[str, dict[Pass | None, int]], dict[Pass | None, float]]:
    """The operations of one call of each kernel, as lowered (None) and after each pass that concerns it.

    Those of a kernel of loops are added up over the calls of its templates. Then the seconds that each pass took, and
    lowering (None), for all kernels together.
    """
    begin = time.perf_counter()
    program = lower(eqs)
    seconds: defaultdict[Pass | None, float] = defaultdict(float, {None: time.perf_counter() - begin})
    counts: defaultdict[str, defaultdict[Pass | None, int]] = defaultdict(lambda: defaultdict(int))
    begin = time.perf_counter()

    def watch(each: Pass, before: Part, after: Part) -> None:
        nonlocal begin
        seconds[each] += time.perf_counter() - begin
        now = replace(after, counts=None)  # a multiply-add is one operation
        counts[after.kernel.name][each] += after.times * counted(program.graph, now).operations
        begin = time.perf_counter()

    made = plan(program, watch=watch)
    found: dict[str, dict[Pass | None, int]] = {}
    for name, kernel in program.kernels.items():
        passes = (*(CUTTING if made.schedule(name).rolled else ()), *REWRITING, *ORDERING)
        first = count(program.graph, kernel)
        found[name] = {None: first.operations + first.hoisted}
        found[name] |= {each: counts[name][each] for each in passes}
    return found, seconds


def derived_counts(eqs: EquationNodes) -> Tally:
    """The operation counts of a right-hand side as derived."""
    own = replace(eqs, graph=eqs.graph.copy())  # a copy, so that later nodes keep their numbers
    (kernel,) = kernels.rhs(Dynamics(own))
    return count(own.graph, kernel)
