"""The C core of a model: its header, and its kernels with the tables that describe them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chaplygin._version import __version__
from chaplygin.runtime.interface.assumptions import ZERO_AT_START
from chaplygin.runtime.interface.description import Variable

from ..lower.lowered import KernelRow, Lowered, has_functions
from ..plan.plan import Program
from .c_loops import loop_texts
from .c_text import (
    ARGUMENTS,
    banner,
    c_string,
    definition,
    function,
    passed,
    prototype,
    table,
    taken,
    variable,
    wrapped,
)
from .function_bodies import CBody, CFunction, body, helpers
from .method_headers import own_methods
from .node_text import C
from .render import provenance, render

_QUANTITIES = ("states", "parameters", "inputs", "outputs", "invariants", "guards", "modes", "declared")


def core_files(program: Program, command: str) -> dict[str, str]:
    """`<name>_core.h`, `<name>_core.c`, and `<name>_methods.h` if the model brings methods.

    `command` is quoted as the command that regenerates them.
    """
    name = program.name
    bodies = {k: body(program, program.schedule(k)) for k in program.schedules}
    functions = [kernel_text(program, k, b) for k, b in bodies.items()]
    n_work = max(b.work for b in bodies.values())
    prototypes = []
    for row in program.rows:
        prototypes.append(prototype(f"int {name}_{row.name}(", row.takes) + ";")
        if row.takes == "event":
            functions.append(_of_events(program, row))
        elif row in program.later:
            functions.append(_later(program, row))
        elif row.name not in program.kernels:
            functions.append(looped_jacobian(program))
            n_work += 2 * len(program.states)
    hoisted = program.schedule("rhs").hoisted
    header = {
        "provenance": provenance("core.h.in", program.digest, command, " * "),
        "name": name,
        "guard": f"CHAPLYGIN_{name.upper()}_CORE_H",
        "prototypes": "\n".join(prototypes),
    }
    core = {
        "provenance": provenance("core.c.in", program.digest, command, " * "),
        "name": name,
        "functions": "cg_math.h" if has_functions(program, bodies) else "cg_real.h",
        "solver": helpers(program.graph, C, (program.kernels[k] for k in bodies)),
        "kernels": "\n".join([*functions, *_names(program.later, name)]),
        "tables": "\n".join(tables(program)),
        "inlined_rhs": f"{name}_rhs_hoisted" if hoisted else f"{name}_rhs",
        "members": members(program, n_work),
        **model_macros(program),
    }
    files = {f"{name}_core.h": render("core.h.in", header), f"{name}_core.c": render("core.c.in", core)}
    return {**files, **own_methods(program, command)}


def model_macros(program: Program) -> dict[str, str]:
    """What methods that are compiled into a model need to know of it."""
    plan = program.schedule("rhs")
    return {
        "n_states": str(len(program.states)),
        "n_controls": str(len(program.inputs) + len(program.modes)),
        "n_parameters": str(len(program.parameters)),
        "n_hoisted": str(plan.hoisted),
        "operations": str(plan.size),
        "own_methods": f'#define CG_MODEL_METHODS "{program.name}_methods.h"\n' if program.methods else "",
    }


def kernel_text(program: Program, kernel: str, text: CBody, *, static: bool = False) -> str:
    """The C functions of one kernel: the hoisted part and the pieces it was split into, then the kernel itself."""
    name, plan = program.name, program.schedule(kernel)
    hoist, takes = plan.hoist, program.kernels[kernel].takes
    own = taken("state" if takes == "event" else takes, hoist is not None)
    head = f"static inline int {name}_{kernel}_hoisted(" if hoist else f"int {name}_{kernel}("
    if static or takes == "event":  # one for an event is called by the function for all events
        head = f"static {head}"
    lines = [banner(kernel, plan, text)]
    if hoist is not None:
        (piece,) = body(program, hoist).pieces
        arguments = [ARGUMENTS["p"], "double *CG_RESTRICT cg_q"]
        lines += function(wrapped(f"static int {name}_hoist(", arguments), piece.lines)
    if plan.rolled is not None:
        parts, calls, arrays = loop_texts(program.graph, f"{name}_{kernel}", program.clock, plan.rolled, C)
        unused = _unused(program, own, CFunction((), frozenset(arrays), 0))
        lines += [*parts, *function(definition(program, head, own), unused, calls)]
    elif len(text.pieces) == 1:
        piece = text.pieces[0]
        lines += function(definition(program, head, own), _unused(program, own, piece), piece.lines)
    else:
        calls = ["int status;", ""]
        for i, piece in enumerate(text.pieces):
            arguments = [a for a in own if a in piece.arrays]
            part = f"{name}_{kernel}_{i + 1}("
            lines += function(definition(program, f"static int {part}", arguments), piece.lines)
            calls.append(f"if ((status = {part}{passed(program, arguments)})) != CG_OK) return status;")
        everything = CFunction((), frozenset().union(*(p.arrays for p in text.pieces)), 0)
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


def _unused(program: Program, arguments: Sequence[str], piece: CFunction) -> list[str]:
    return [f"(void){passed(program, [a])};" for a in arguments if a not in piece.arrays]


def _of_events(program: Program, row: KernelRow) -> str:
    """A kernel of events: one function for all of them; where an event has none, the state is unchanged."""
    name, n, arrays = program.name, len(program.states), taken("state")
    cases = [
        f"    case {i}: /* {program.events[i].name} */\n"
        f"        return {name}_{row.name}_{i}({passed(program, arrays)});"
        for i in program.indices(row)
    ]
    lines = [
        f"/* {row.name}: {row.text} */",
        definition(program, f"int {name}_{row.name}(", ["event", *arrays]),
        "{",
        "    switch (cg_event) {",
        *cases,
        "    default:",
        f"        if (cg_event < 0 || cg_event >= {len(program.events)}) return CG_BAD_ARGUMENT;",
        f"        for (int i = 0; i < {n}; i++) cg_out[i] = cg_x[i];",
        "        return CG_OK;",
        "    }",
        "}",
        "",
    ]
    return "\n".join(lines)


def _later(program: Program, row: KernelRow) -> str:
    """A kernel that is compiled when it is first used, into a library of its own: see `late_file`."""
    name, own = f"{program.name}_{row.name}", taken(row.takes)
    kind, code = f"cg_{'jvp' if row.takes == 'direction' else 'kernel'}_t", f"{name}_code"
    lines = [
        f"/* {row.name}: compiled when it is first used */",
        f"extern {kind} {code};",
        f"{kind} {code} = NULL;",
        "",
    ]
    end = f"return {code} != NULL ? {code}({passed(program, own)}) : CG_UNSUPPORTED;"
    return "\n".join([*lines, *function(definition(program, f"int {name}(", own), end=end)])


def _names(rows: Sequence[KernelRow], name: str) -> list[str]:
    """The list of those kernels, for who loads the library."""
    names = c_string(" ".join(row.name for row in rows))
    return [f"extern const char {name}_later[];\nconst char {name}_later[] = {names};\n"] if rows else []


def looped_jacobian(program: Program, kind: str = "int") -> str:
    name, n = program.name, len(program.states)
    signature = definition(program, f"{kind} {name}_jacobian(", ["t", "x", "p", "u", "out", "work"])
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


def tables(program: Lowered) -> Iterator[str]:
    """The texts of the tables that are not empty."""
    for label in _QUANTITIES:
        variables: Sequence[Variable] = getattr(program, label)
        if variables:
            yield table("cg_variable_t", label, [variable(v) for v in variables])
    if program.events:
        rows = [
            f"{c_string(e.name)}, {e.direction}, {int(e.terminal)}, {int(e.has_reset)}, 0"
            for e in program.events
        ]
        yield table("cg_event_t", "events", rows)
    if program.contacts:
        yield table(
            "cg_contact_t", "contacts", [f"{c_string(c.name)}, {c.sign}, 0" for c in program.contacts]
        )
    rows = [
        f"{c_string(e.name)}, {c_string(e.text)}, CG_TAKES_{e.takes.upper()}, {e.length}, "
        f"(cg_function_t){program.name}_{e.name}"
        for e in program.entries
    ]
    yield table("cg_kernel_entry_t", "kernels", [*rows, "NULL, NULL, 0, 0, NULL"])


def members(program: Program, n_work: int) -> str:
    """The initializers of `cg_model_t`."""
    arrays = (*_QUANTITIES, "events", "contacts")
    defined = {row.name for row in program.rows}
    hoisted = program.schedule("rhs").hoisted
    values = {
        "abi_version": "CG_ABI_VERSION",
        "struct_size": "(uint32_t)sizeof(cg_model_t)",
        "name": c_string(program.name),
        "form": c_string(program.form),
        "digest": c_string(program.digest),
        "generator": c_string(f"chaplygin {__version__}"),
        "scalar": '"float64"',
        "independent": c_string(program.independent),
        **{f"n_{a}": len(getattr(program, a)) for a in arrays},
        "n_coordinates": program.n_coordinates,
        "n_consistency": sum(bool(v.flags & ZERO_AT_START) for v in program.invariants),
        "n_work": n_work,
        "n_hoisted": hoisted,
        **{a: f"cg_{a}" if getattr(program, a) else "NULL" for a in arrays},
        "kernels": "cg_kernels",
        **{
            r.slot: f"{program.name}_{r.name}" if r.name in defined else "NULL"
            for r in program.table
            if r.slot
        },
        "hoist": f"{program.name}_hoist" if hoisted else "NULL",
        "methods": "CG_METHODS",
        "lane_sets": "cg_lane_sets",
    }
    return "\n".join(f"    {value}, /* {member} */" for member, value in values.items())
