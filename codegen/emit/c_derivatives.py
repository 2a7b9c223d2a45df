"""The file of a model's derivatives: its kernels and their derivatives, for several directions at once."""

from __future__ import annotations

from dataclasses import replace

from ..lower.derivatives import HOISTED, KINDS, variables
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
        hoisted = made.schedule(f"{kind}_{name}").hoisted
        wrapped = f"({function}, {n_values}, {given}, {found}"
        hoist = f"_HOISTED{wrapped}, {made.name}_hoist_lanes, {hoisted}" if hoisted else wrapped
        wrappers.append(f"CG_DIFFERENTIAL{hoist})")
        row = f"CG_TAKES_{kernel.takes.upper()}, {n_values}, {given}, {found}, {function}"
        entries.append(f"    {{{c_string(name)}, {row}}},")
    work = max(text.work for text in texts.values())
    values = {
        "provenance": provenance("derivatives.c.in", made.digest, command, " * "),
        "name": made.name,
        "kind": kind,
        "what": KINDS[kind],
        "functions": "cg_math.h" if has_functions(made, made.kernels) else "cg_real.h",
        "solver": solver(LANES, made.kernels.values()),
        "kernels": "\n".join(lane_kernel(made, k, text, _SHARED.shared) for k, text in texts.items()),
        "wrappers": "\n".join(wrappers),
        "entries": "\n".join(entries),
        "n_work": f"{work + 1} * CG_LANES",
        "digest": c_string(made.digest),
        "variational": _variational(program, work, made.schedule(HOISTED).hoisted) if kind == "along" else "",
    }
    return {f"{made.name}_{kind}.c": render("derivatives.c.in", values)}


def _variational(program: Program, work: int, hoisted: int) -> str:
    """What cg_variational_inline.h needs to make one model of a model and its variational equations."""
    name, kernels = program.name, program.kernels
    sizes = {
        "N": len(program.states),
        "NP": len(program.parameters),
        "INPUTS": len(program.inputs),
        "MODES": len(program.modes),
        "GUARDS": len(program.guards),
        "EVENTS": len(program.events),
        "CONTACTS": len(program.contacts),
    }
    lines = [f"#define CG_VARIATIONAL CG_NAMED({name}_variational_, CG_LANES)"]
    lines += [f"#define CG_MODEL_{label} {size}" for label, size in sizes.items()]
    lines += [f"#define CG_MODEL_DIGEST {c_string(program.digest)}"]
    lines += [f"#define CG_MODEL_WORK ({work + 1} * CG_LANES)"]
    lines += [f"#define CG_MODEL_ALONG {name}_along_rhs"]
    if hoisted and not program.contacts:  # contact modes are chosen before the driver has hoisted anything
        lines += [f"#define CG_MODEL_HOISTED {hoisted}", f"#define CG_MODEL_HOIST {name}_hoist_lanes"]
    for kernel in ("guards", "contacts", "project", "correction"):
        if kernel in kernels:
            lines.append(f"#define CG_MODEL_ALONG_{kernel.upper()} {name}_along_{kernel}")
    resets = [f"reset_{i}" for i in range(len(program.events))]
    if any(reset in kernels for reset in resets):
        entries = [f"{name}_along_{reset}" if reset in kernels else "NULL" for reset in resets]
        lines.append(f"#define CG_MODEL_ALONG_RESETS {', '.join(entries)}")
    if program.contacts:
        lines.append(f"#define CG_MODEL_SIGNS {', '.join(str(c.sign) for c in program.contacts)}")
    return "\n".join([*lines, '#include "cg_variational_inline.h"', ""])
