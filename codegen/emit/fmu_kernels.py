"""`<name>_fmu_kernels.c`: the kernels that only an FMU has, and the table of them in runtime/fmi/cg_fmu.h."""

from __future__ import annotations

from ..lower.graph_text import QUANTITIES
from ..plan.plan import Program
from .c_core import kernel_text
from .function_bodies import body, helpers
from .node_text import C
from .render import render

_KINDS = ("frozen", "along", "adjoint")


def fmu_kernel_file(program: Program) -> str:
    """The text for a program with the kernels of `with_fmu_kernels`."""
    names = [f"{kind}_{name}" for kind in _KINDS for name in QUANTITIES]
    made = [name for name in names if name in program.kernels]
    bodies = {name: body(program, program.schedule(name)) for name in made}
    functions = [kernel_text(program, name, text, static=True) for name, text in bodies.items()]
    rows = [
        ", ".join(f"{program.name}_{kind}_{n}" if f"{kind}_{n}" in bodies else "NULL" for n in QUANTITIES)
        for kind in _KINDS
    ]
    values = {
        "name": program.name,
        "solver": helpers(program.graph, C, (program.kernels[name] for name in made)),
        "kernels": "\n".join(functions),
        "n_work": str(max((text.work for text in bodies.values()), default=0)),
        **dict(zip(_KINDS, rows, strict=True)),
    }
    return render("fmu_kernels.c.in", values)
