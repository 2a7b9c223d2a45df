"""From `Program` to `Sources`: the C core, its header, the lane file, and the Cython module around them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from chaplygin.runtime.assumptions import FLAGS, ZERO_AT_START

from ..lower.program import Program, Sources, Variable, has_functions
from ..lower.schedule import Schedule
from .c_hybrid import has_resets, hybrid_tables, reset_function
from .c_lanes import lane_file
from .c_text import ARGUMENTS, banner, c_string, definition, function, passed, table, wrapped
from .cython_module import shell_files
from .folder import with_headers, write
from .method_headers import model_methods, own_methods
from .render import emit_command, provenance, render
from .statements import Body, Function, body

_FUNCTIONS = (
    "rhs",
    "jacobian",
    "jvp",
    "outputs",
    "invariants",
    "guards",
    "reset",
    "contacts",
    "project",
    "initial",
    "consistency",
)


def emit(program: Program, command: str | None = None) -> Sources:
    """The sources of a model: `<name>_core.c`, `<name>_core.h`, `<name>_lanes.c`, and `<name>.pyx`, `.pxd`, `.pyi`.

    `command` is quoted in the files as the command that regenerates them. The same program gives the same bytes.
    """
    name = program.name
    again = command or emit_command(program)
    plans = {k: program.schedule(k) for k in program.kernels}
    files = {
        f"{name}_core.h": render(
            "core.h.in",
            {
                "provenance": provenance("core.h.in", program.digest, again, " * "),
                "name": name,
                "guard": f"CHAPLYGIN_{name.upper()}_CORE_H",
                "prototypes": "\n".join(_signature(name, k) + ";" for k in _defined(program)),
            },
        ),
        f"{name}_core.c": render("core.c.in", _core_values(program, plans, again)),
        f"{name}_lanes.c": lane_file(program, plans["rhs"], again),
        **shell_files(program, again),
    }
    if program.methods:
        made = provenance("pair.h.in", program.digest, again, " * ")
        files[f"{name}_methods.h"] = model_methods(program.methods, made)
    return Sources(name, program.digest, files)


def emit_to(program: Program, folder: str | Path, *, force: bool = False) -> list[Path]:
    """Write the emitted sources and every header that they include into a folder; return the paths.

    The folder can be compiled on its own, the C core also as C++17. Raises EmitError if a file that `emit` did not
    write is in the way (unless `force`), or if the folder cannot be written to.
    """
    return write(folder, with_headers(emit(program).files), force=force)


def _defined(program: Program) -> list[str]:
    """The kernels that the C core defines; the Jacobian is always included, by a loop over jvp if not written out."""
    there = {*program.kernels, "jacobian", *(["reset"] if has_resets(program) else [])}
    return [k for k in _FUNCTIONS if k in there]


def _signature(name: str, kernel: str) -> str:
    arguments = "int32_t event, " if kernel == "reset" else ""
    arguments += (
        "double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p, const double *CG_RESTRICT u,"
    )
    arguments += " const double *CG_RESTRICT v," if kernel == "jvp" else ""
    head = f"int {name}_{kernel}("
    return wrapped(head, f"{arguments} double *CG_RESTRICT out, double *CG_RESTRICT work".split(", "))


def _core_values(program: Program, plans: Mapping[str, Schedule], command: str) -> dict[str, str]:
    name = program.name
    bodies = {k: body(program.graph, plan) for k, plan in plans.items()}
    hoisted = plans["rhs"].hoisted
    n = len(program.states)
    n_work = max(b.work for b in bodies.values())
    kernels = [_kernel_text(program, k, plans[k], b) for k, b in bodies.items()]
    if "jacobian" not in program.kernels:
        n_work += 2 * n
        kernels.append(_looped_jacobian(program, n))
    if has_resets(program):
        kernels.append(reset_function(program))
    solves = any(program.kernels[k].solves for k in program.kernels)
    tables = [
        _variables(label, values)
        for label, values in (
            ("states", program.states),
            ("parameters", program.parameters),
            ("inputs", program.inputs),
            ("outputs", program.outputs),
            ("invariants", program.invariants),
            ("declared", program.declared),
            ("guards", program.guards),
            ("modes", program.modes),
        )
        if values
    ]
    tables += hybrid_tables(program)
    from chaplygin import __version__

    def pointer(label: str, values: Sequence[object]) -> str:
        return f"cg_{label}" if values else "NULL"

    def function(kernel: str) -> str:
        return f"{name}_{kernel}" if kernel in _defined(program) else "NULL"

    return {
        "provenance": provenance("core.c.in", program.digest, command, " * "),
        "name": name,
        "quoted_name": json.dumps(name),
        "form": json.dumps(program.form),
        "digest": json.dumps(program.digest),
        "generator": json.dumps(f"chaplygin {__version__}"),
        "functions": '#include "cg_math.h"\n\n' if has_functions(program, program.kernels) else "",
        "solver": render("solver.c.in", {}) if solves else "",
        "kernels": "\n".join(kernels),
        "tables": "\n".join(tables),
        "n_states": str(n),
        "n_coordinates": str(program.n_coordinates),
        "n_parameters": str(len(program.parameters)),
        "n_inputs": str(len(program.inputs)),
        "n_outputs": str(len(program.outputs)),
        "n_invariants": str(len(program.invariants)),
        "n_declared": str(len(program.declared)),
        "n_controls": str(len(program.inputs) + len(program.modes)),
        "n_guards": str(len(program.guards)),
        "n_events": str(len(program.events)),
        "n_modes": str(len(program.modes)),
        "n_contacts": str(len(program.contacts)),
        "n_consistency": str(sum(bool(v.flags & ZERO_AT_START) for v in program.invariants)),
        "n_work": str(n_work),
        "operations": str(plans["rhs"].size),
        "own_methods": own_methods(program),
        "n_hoisted": str(hoisted),
        "hoist": f"{name}_hoist" if hoisted else "NULL",
        "inlined_rhs": f"{name}_rhs_hoisted" if hoisted else f"{name}_rhs",
        "parameters": pointer("parameters", program.parameters),
        "inputs": pointer("inputs", program.inputs),
        "outputs": pointer("outputs", program.outputs),
        "invariants": pointer("invariants", program.invariants),
        "guards": pointer("guards", program.guards),
        "modes": pointer("modes", program.modes),
        "events": pointer("events", program.events),
        "contacts": pointer("contacts", program.contacts),
        "outputs_fn": function("outputs"),
        "invariants_fn": function("invariants"),
        "guards_fn": function("guards"),
        "reset": function("reset"),
        "contacts_fn": function("contacts"),
        "project": function("project"),
        "initial": function("initial"),
        "consistency": function("consistency"),
    }


def _kernel_text(program: Program, kernel: str, plan: Schedule, text: Body) -> str:
    """The C functions of one kernel: the hoisted part and the pieces it was split into, then the kernel itself."""
    name, hoist = program.name, plan.hoist
    own = ["t", "x", "p", *(["q"] if hoist else []), "u", *(["v"] if kernel == "jvp" else []), "out", "work"]
    head = f"static inline int {name}_{kernel}_hoisted(" if hoist else f"int {name}_{kernel}("
    if kernel.startswith("reset_"):
        head = f"static {head}"
    lines = [banner(kernel, plan, text)]
    if hoist is not None:
        (piece,) = body(program.graph, hoist).pieces
        arguments = [ARGUMENTS["p"], "double *CG_RESTRICT cg_q"]
        lines += function(wrapped(f"static int {name}_hoist(", arguments), piece.lines)
    if len(text.pieces) == 1:
        piece = text.pieces[0]
        lines += function(definition(program, head, own), _unused(program, own, piece), piece.lines)
    else:
        calls = ["int status;", ""]
        for i, piece in enumerate(text.pieces):
            arguments = [a for a in own if a in piece.arrays]
            part = f"{name}_{kernel}_{i + 1}("
            lines += function(definition(program, f"static int {part}", arguments), piece.lines)
            calls.append(f"if ((status = {part}{passed(program, arguments)})) != CG_OK) return status;")
        everything = Function((), frozenset().union(*(p.arrays for p in text.pieces)), 0)
        unused = _unused(program, own, everything)
        lines += function(definition(program, head, own), calls[:2], unused, calls[2:])
    if hoist is not None:
        arguments = [a for a in own if a != "q"]
        call = f"{name}_{kernel}_hoisted({passed(program, own)})"
        lines += function(
            definition(program, f"int {name}_{kernel}(", arguments),
            [f"double cg_q[{plan.hoisted}];", f"const int cg_status = {name}_hoist(cg_p, cg_q);"],
            ["", "if (cg_status != CG_OK) return cg_status;"],
            end=f"return {call};",
        )
    return "\n".join(lines)


def _unused(program: Program, arguments: Sequence[str], piece: Function) -> list[str]:
    return [f"(void){passed(program, [a])};" for a in arguments if a not in piece.arrays]


def _looped_jacobian(program: Program, n: int) -> str:
    name = program.name
    signature = definition(program, f"int {name}_jacobian(", ["t", "x", "p", "u", "out", "work"])
    return f"""/* jacobian: one call of jvp per column */
{signature}
{{
    double *const direction = cg_work, *const column = cg_work + {n};

    for (int i = 0; i < {n}; i++) direction[i] = 0.0;
    for (int j = 0; j < {n}; j++) {{
        direction[j] = 1.0;
        const int status = {name}_jvp({program.clock}, cg_x, cg_p, cg_u, direction, column, cg_work + {2 * n});
        if (status != CG_OK) return status;
        direction[j] = 0.0;
        for (int i = 0; i < {n}; i++) cg_out[i * {n} + j] = column[i];
    }}
    return CG_OK;
}}
"""


def _flags(v: Variable) -> str:
    return " | ".join(f"CG_{name}" for name, bit in FLAGS.items() if v.flags & bit) or "0"


def _variables(label: str, variables: Sequence[Variable]) -> str:
    rows = []
    for v in variables:
        example = "NAN" if math.isnan(v.example) else repr(float(v.example))
        texts = (c_string(text) for text in (v.name, v.unit, v.description))
        rows.append(f"{', '.join(texts)}, {example}, CG_{v.kind.upper()}, {_flags(v)}")
    return table("cg_variable_t", label, rows)
