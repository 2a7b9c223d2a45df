"""`Program`: the kernels of a model as users read them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from chaplygin.codegen import emit
from chaplygin.codegen.derive.equation_nodes import EquationNodes, Invariant
from chaplygin.codegen.lower import kernels
from chaplygin.codegen.lower.dynamics import Dynamics
from chaplygin.codegen.lower.lower import lower
from chaplygin.codegen.lower.options import DEFAULT, LoweringOptions
from chaplygin.codegen.plan.part import count
from chaplygin.codegen.plan.plan import Plan, plan
from chaplygin.codegen.plan.statements import Counts


class Program(Plan):
    """A model as named kernels over one graph, and the statements of each, ready to be emitted."""

    def to_sympy(self, kernel: str = "rhs") -> Any:
        """One kernel as a `sympy.codegen.ast.CodeBlock` of assignments, as it is emitted."""
        return emit.assignments(self, kernel)


def lowered(
    eqs: EquationNodes,
    found: Callable[[], tuple[Invariant, ...]] | None = None,
    options: LoweringOptions = DEFAULT,
) -> Program:
    """The program of equations; `found` gives their invariants if they need not be searched for."""
    made = plan(lower(eqs, found, options), options)
    return Program(**{f.name: getattr(made, f.name) for f in fields(made)})


def derived_counts(eqs: EquationNodes) -> Counts:
    """The operation counts of a right-hand side as derived."""
    own = replace(eqs, graph=eqs.graph.copy())  # a copy, so that later nodes keep their numbers
    (kernel,) = kernels.rhs(Dynamics(own))
    return count(own.graph, kernel)
