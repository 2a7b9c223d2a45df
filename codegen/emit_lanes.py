"""The lane file of a model: its right-hand side over several trajectories at once."""

from __future__ import annotations

import json

from .print_c import LANES
from .print_statements import Function, body
from .program import Program, has_functions
from .render import provenance, render


def lane_file(program: Program, command: str) -> str:
    """The text of `<name>_lanes.c`: the schedule of `rhs`, printed once more for numbers of several lanes."""
    text = body(program.graph, program.schedule("rhs"), LANES)
    return render(
        "lanes.c.in",
        {
            "provenance": provenance("lanes.c.in", program.digest, command, " * "),
            "name": program.name,
            "functions": "cg_math.h" if has_functions(program, ("rhs",)) else "cg_real.h",
            "solver": render("solver_lanes.c.in", {}) if program.kernels["rhs"].solves else "",
            "kernel": _kernel(program, text.pieces),
            "n_states": str(len(program.states)),
            "n_controls": str(len(program.inputs) + len(program.modes)),
            "operations": str(program.operations("rhs")),
            "n_work": str(text.work),
            "digest": json.dumps(program.digest),
        },
    )


def _kernel(program: Program, pieces: tuple[Function, ...]) -> str:
    """The C functions of the kernel; every function returns the lanes in which nothing was singular."""
    from .emit import indented, wrapped

    name = f"{program.name}_rhs_lanes"
    own = ("t", "x", "p", "u", "out", "work")
    operations = program.operations("rhs")

    def parameter(array: str) -> str:
        constant = "" if array in ("out", "work") else "const "
        return f"{constant}cg_real_t *restrict {_argument(array)}"

    def function(head: str, arrays: tuple[str, ...], piece: Function) -> list[str]:
        lines = [wrapped(head, [parameter(a) for a in arrays]), "{"]
        lines += [f"    (void){_argument(a)};" for a in arrays if a not in piece.arrays]
        lines.append("    cg_mask_t cg_ok = cg_true();")
        if "t" in piece.arrays:
            lines.append(f"    const cg_real_t {program.clock} = *cg_clock;")
        return [*lines, *indented(piece.lines), "    return cg_ok;", "}", ""]

    count = sum(piece.intermediates for piece in pieces)
    banner = f"/* rhs: {operations} operations, {count} intermediates"
    if len(pieces) == 1:
        return "\n".join([banner + " */", *function(f"static cg_mask_t {name}(", own, pieces[0])])
    lines = [f"{banner}, in {len(pieces)} pieces */"]
    calls = []
    for i, piece in enumerate(pieces):
        arrays = tuple(a for a in own if a in piece.arrays)
        lines += function(f"static cg_mask_t {name}_{i + 1}(", arrays, piece)
        passed = ", ".join(_argument(a) for a in arrays)
        calls.append(f"    cg_ok &= {name}_{i + 1}({passed});")
    used = frozenset().union(*(piece.arrays for piece in pieces))
    whole = Function((), used, count)
    lines += [wrapped(f"static cg_mask_t {name}(", [parameter(a) for a in own]), "{"]
    lines += [f"    (void){_argument(a)};" for a in own if a not in whole.arrays]
    return "\n".join([*lines, "    cg_mask_t cg_ok = cg_true();", *calls, "    return cg_ok;", "}", ""])


def _argument(array: str) -> str:
    return "cg_clock" if array == "t" else f"cg_{array}"
