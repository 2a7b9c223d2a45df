"""A kernel of a model in a file of its own, compiled when it is first used."""

from __future__ import annotations

from ..lower.lowered import has_functions
from ..plan.plan import Program
from .c_core import kernel_text, looped_jacobian
from .c_text import definition, function, passed, taken
from .function_bodies import body, helpers
from .node_text import C
from .render import provenance, render


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
