"""What is compiled of a model when it is first used: derivatives of its kernels, and late kernels."""

from __future__ import annotations

from dataclasses import replace

from ..lower.derivatives import FROZEN, HOISTED, KINDS, NESTED, PARAMETERS, kinks, variables
from ..lower.lowered import Lowered, has_functions
from ..plan.plan import Program
from .c_core import kernel_text, looped_jacobian
from .c_lanes import lane_kernel
from .c_text import c_string, definition, function, passed, taken
from .function_bodies import body, helpers
from .node_text import LANE_KERNEL, LANES, C
from .render import provenance, render

_SHARED = replace(LANE_KERNEL, shared=frozenset("xpu"))


def derivatives_file(program: Lowered, made: Program, kind: str, command: str) -> dict[str, str]:
    """`<name>_<kind>.c`, which is compiled once for each number of directions, 1 included.

    `made` is the plan of `with_derivatives(program, kind)`.
    """
    texts = {kernel: body(made, made.schedule(kernel), _SHARED) for kernel in made.kernels}
    wrappers, entries = [], []
    rough = {name: kinks(made.graph, kernel) for name, kernel in program.kernels.items()}
    rough = {name: found for name, found in rough.items() if any(found)}
    for name, kernel in program.kernels.items():
        n_values, n_variables = len(kernel.outputs), len(variables(program, kernel))
        given, found = (n_variables, n_values) if kind == "along" else (n_values, n_variables)
        function = f"{made.name}_{kind}_{name}"
        sizes = f"{n_values}, {given}, {found}"
        wrappers.append(_wrapper(program, made, f"{kind}_{name}", f"{function}, {sizes}"))
        of = f"cg_kinks_of_{name}" if name in rough else "NULL"
        row = f"CG_TAKES_{kernel.takes.upper()}, {sizes}, {function}, {of}"
        entries.append(f"    {{{c_string(name)}, {row}}},")
    if FROZEN in made.kernels:
        wrappers.append(f"CG_VALUES({made.name}_{FROZEN}, {len(program.states)})")
    if NESTED in made.kernels:
        n_values, n_variables = len(program.guards), len(variables(program, program.kernels["guards"]))
        wrappers.append(f"CG_DIFFERENTIAL({made.name}_{NESTED}, {n_values}, {n_variables}, {n_values})")
    work = max(text.work for text in texts.values())
    values = {
        "provenance": provenance("derivatives.c.in", made.digest, command, " * "),
        "name": made.name,
        "kind": kind,
        "what": KINDS[kind],
        "functions": "cg_math.h" if has_functions(made, made.kernels) else "cg_real.h",
        "solver": helpers(made.graph, LANES, made.kernels.values()),
        "kernels": "\n".join(lane_kernel(made, k, text, _SHARED.shared) for k, text in texts.items()),
        "wrappers": "\n".join(wrappers),
        "entries": "\n".join(entries),
        "kinks": "".join(_kinks(name, found) for name, found in rough.items()),
        "n_work": f"{work + 1} * CG_LANES",
        "digest": c_string(made.digest),
        "tables": _variational(program, made, work) if kind == "along" else _backward_table(program),
    }
    return {f"{made.name}_{kind}.c": render("derivatives.c.in", values)}


def _kinks(name: str, found: list[str]) -> str:
    """What makes the results of a kernel not differentiable, one entry each."""
    entries = ", ".join(c_string(kink) if kink else "NULL" for kink in found)
    return f"static const char *const cg_kinks_of_{name}[] = {{{entries}}};\n"


def _wrapper(program: Lowered, made: Program, kernel: str, arguments: str) -> str:
    """The function of a kernel's derivatives by everything."""
    hoisted = made.schedule(kernel).hoisted
    if kernel == HOISTED["adjoint"]:
        return _backward(program, made, hoisted)
    if hoisted:
        return f"CG_DIFFERENTIAL_HOISTED({arguments}, {made.name}_hoist_lanes, {hoisted})"
    return f"CG_DIFFERENTIAL({arguments})"


def _backward(program: Lowered, made: Program, hoisted: int) -> str:
    """What cg_backward_inline.h makes the adjoint of the right-hand side of."""
    name, terms = made.name, made.kernels[PARAMETERS].directions if PARAMETERS in made.kernels else 0
    sizes = {
        "N": len(program.states),
        "NP": len(program.parameters),
        "INPUTS": len(program.inputs),
        "TERMS": terms,
        "HOISTED": hoisted,
    }
    lines = [f"#define CG_MODEL_{label} {size}" for label, size in sizes.items()]
    lines += [f"#define CG_MODEL_HOIST {name}_hoist_lanes"] if hoisted else []
    lines += [f"#define CG_MODEL_BACK_PARAMETERS {name}_{PARAMETERS}_lanes"] if terms else []
    lines += [
        f"#define CG_MODEL_BACK {name}_adjoint_rhs_lanes",
        f"#define CG_MODEL_BACK_RHS {name}_adjoint_rhs",
    ]
    return "\n".join([*lines, '#include "cg_backward_inline.h"'])


def _backward_table(program: Lowered) -> str:
    """The table of the adjoint of the right-hand side, which one trajectory at a time uses."""
    return f"""
#if CG_LANES == 1
extern CG_EXPORTED const cg_backward_t {program.name}_backward_1;
const cg_backward_t {program.name}_backward_1 = {{
    .abi_version = CG_ABI_VERSION,
    .struct_size = (uint32_t)sizeof(cg_backward_t),
    .digest = {c_string(program.digest)},
    .derivatives = &CG_DERIVATIVES,
    .n_hoisted = CG_MODEL_HOISTED,
    .n_terms = CG_MODEL_TERMS,
    .hoist = cg_backward_hoist,
    .rhs = cg_backward_rhs,
    .parameters = cg_backward_parameters,
}};
#endif
"""


def _variational(program: Lowered, made: Program, work: int) -> str:
    """What cg_variational_inline.h needs to make one model of a model and its variational equations."""
    name, kernels, plan = program.name, program.kernels, made.schedule(HOISTED["along"])
    sizes = {
        "N": len(program.states),
        "NP": len(program.parameters),
        "INPUTS": len(program.inputs),
        "MODES": len(program.modes),
        "GUARDS": len(program.guards),
        "EVENTS": len(program.events),
        "CONTACTS": len(program.contacts),
        "ENDS": int(any(event.terminal for event in program.events)),
    }
    lines = [f"#define CG_VARIATIONAL CG_NAMED({name}_variational_, CG_LANES)"]
    lines += [f"#define CG_MODEL_{label} {size}" for label, size in sizes.items()]
    lines += [f"#define CG_MODEL_DIGEST {c_string(program.digest)}"]
    lines += [f"#define CG_MODEL_WORK ({work + 1} * CG_LANES)"]
    lines += [f"#define CG_MODEL_ALONG {name}_along_rhs"]
    # Contact modes are chosen before the driver has hoisted anything.
    if not (plan.hoisted and program.contacts):
        lines += [f"#define CG_MODEL_RHS {name}_along_rhs_lanes", f"#define CG_MODEL_OPERATIONS {plan.size}"]
        if plan.hoisted:
            lines += [
                f"#define CG_MODEL_HOISTED {plan.hoisted}",
                f"#define CG_MODEL_HOIST {name}_hoist_lanes",
            ]
    if len(program.guards) > len(program.events):
        lines += [f"#define CG_MODEL_FROZEN {name}_{FROZEN}"]
    nested = NESTED in made.kernels
    lines += ["#define CG_MODEL_NESTED"] if nested else []
    for kernel in ("guards", "contacts", "project", "correction"):
        if kernel in kernels:
            function = NESTED if nested and kernel == "guards" else f"along_{kernel}"
            lines.append(f"#define CG_MODEL_ALONG_{kernel.upper()} {name}_{function}")
    resets = [f"reset_{i}" for i in range(len(program.events))]
    if any(reset in kernels for reset in resets):
        entries = [f"{name}_along_{reset}" if reset in kernels else "NULL" for reset in resets]
        lines.append(f"#define CG_MODEL_ALONG_RESETS {', '.join(entries)}")
    if program.contacts:
        lines.append(f"#define CG_MODEL_SIGNS {', '.join(str(c.sign) for c in program.contacts)}")
    return "\n".join([*lines, '#include "cg_variational_inline.h"', ""])


def late_file(program: Program, kernel: str) -> dict[str, str]:
    """`<name>_<kernel>.c`, with one of the kernels of a program in which nothing else is planned.

    Its scratch memory is on the stack: its callers have as much as the kernels before it need.
    """
    ((source, schedule),) = program.schedules.items()
    text, name = body(program, schedule), program.name
    functions, work = [kernel_text(program, source, text, static=True)], text.work
    if source != kernel:
        functions.append(looped_jacobian(program, "static int"))
        work += 2 * len(program.states)
    (own,) = (taken(row.takes) for row in program.rows if row.name == kernel)
    given = f"{passed(program, own[:-1])}, cg_own"
    signature = definition(program, f"int {name}_{kernel}_alone(", own)
    functions += [f"{signature};"]
    functions += function(
        signature,
        [f"double cg_own[{work + 1}];", "", "(void)cg_work;"],
        end=f"return {name}_{kernel}({given});",
    )
    values = {
        "provenance": provenance("late.c.in", program.digest, f"model.call({kernel!r}, ...)", " * "),
        "name": name,
        "kernel": kernel,
        "functions": "cg_math.h" if has_functions(program, [source]) else "cg_real.h",
        "solver": helpers(program.graph, C, [program.kernels[source]]),
        "kernels": "\n".join(functions),
    }
    return {f"{name}_{kernel}.c": render("late.c.in", values)}
