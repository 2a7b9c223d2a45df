"""The file of a companion: expressions of a model over several trajectories at once."""

from __future__ import annotations

from collections.abc import Sequence

from ..lower.expressions import VALUES
from ..lower.lowered import has_functions
from ..plan.plan import Program
from ..plan.write_statements import variable_names
from .c_lanes import lane_kernel
from .c_text import c_string
from .function_bodies import body, helpers
from .node_text import LANE_KERNEL, LANES
from .render import provenance, render


def companion_file(
    program: Program, model_digest: str, command: str, guarded: Sequence[int] = ()
) -> dict[str, str]:
    """`<name>_companion.c`, which is compiled once for each number of lanes, 1 included.

    `guarded` are the expressions to which the last results belong as guards; see `lower.companion.guarded`.
    """
    kernel = program.kernels[VALUES.name]
    text = body(program, program.schedule(VALUES.name), LANE_KERNEL)
    values = {
        "provenance": provenance("companion.c.in", program.digest, command, " * "),
        "name": program.name,
        "functions": "cg_math.h" if has_functions(program, (VALUES.name,)) else "cg_real.h",
        "solver": helpers(program.graph, LANES, [kernel]),
        "kernel": lane_kernel(program, VALUES.name, text),
        "n_values": str(len(kernel.outputs) - len(guarded)),
        "guarded": ", ".join(map(str, (*guarded, -1))),
        "n_work": str(text.work),
        "reads": ", ".join(map(str, (*_states_in(program), -1))),
        "digest": c_string(model_digest),
    }
    return {f"{program.name}_companion.c": render("companion.c.in", values)}


def _states_in(program: Program) -> list[int]:
    """The indices of the states that the expressions contain."""
    g, kernel = program.graph, program.kernels[VALUES.name]
    places = variable_names(program, kernel)
    symbols = {str(g.value[node]) for node in g.reachable(kernel.roots()) if g.op[node] == "symbol"}
    return sorted(
        index for name in symbols & places.keys() for _, array, index in [places[name]] if array == "x"
    )
