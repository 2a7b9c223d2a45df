"""The file of a model's derivatives: its kernels and their derivatives, for several directions at once."""

from __future__ import annotations

from dataclasses import replace

from ..lower.derivatives import KINDS, variables
from ..lower.program import Program, has_functions
from .c_lanes import lane_kernel
from .c_text import c_string
from .expressions import LANE_KERNEL, LANES
from .render import provenance, render
from .statements import body, solver

_SHARED = replace(LANE_KERNEL, shared=frozenset("xpu"))


def derivatives_file(program: Program, made: Program, kind: str, command: str) -> dict[str, str]:
    """`<name>_<kind>.c`, which is compiled once for each number of directions, 1 included.

    `made` has the kernels of `with_derivatives(program, kind)`.
    """
    texts = {kernel: body(made.graph, made.schedule(kernel), _SHARED) for kernel in made.kernels}
    wrappers, entries = [], []
    for name, kernel in program.kernels.items():
        n_values, n_variables = len(kernel.outputs), len(variables(program, kernel))
        given, found = (n_variables, n_values) if kind == "along" else (n_values, n_variables)
        function = f"{made.name}_{kind}_{name}"
        wrappers.append(f"CG_DIFFERENTIAL({function}, {n_values}, {given}, {found})")
        row = f"CG_TAKES_{kernel.takes.upper()}, {n_values}, {given}, {found}, {function}"
        entries.append(f"    {{{c_string(name)}, {row}}},")
    work = max(text.work for text in texts.values())
    values = {
        "provenance": provenance("derivatives.c.in", made.digest, command, " * "),
        "name": made.name,
        "kind": kind,
        "what": KINDS[kind],
        "functions": "cg_math.h" if has_functions(made, made.kernels) else "cg_real.h",
        "solver": solver(LANES) if any(k.solves for k in made.kernels.values()) else "",
        "kernels": "\n".join(lane_kernel(made, k, text, _SHARED.shared) for k, text in texts.items()),
        "wrappers": "\n".join(wrappers),
        "entries": "\n".join(entries),
        "n_work": f"{work + 1} * CG_LANES",
        "digest": c_string(made.digest),
    }
    return {f"{made.name}_{kind}.c": render("derivatives.c.in", values)}
