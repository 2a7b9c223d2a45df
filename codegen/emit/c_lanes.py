"""The lane file of a model: its right-hand side, and what is observed of events, for several trajectories at once."""

from __future__ import annotations

from dataclasses import replace

from ..lower.lowered import has_functions
from ..plan.plan import Program
from .c_core import model_macros
from .c_loops import loop_texts
from .c_text import banner, c_string, function, wrapped
from .function_bodies import CBody, CFunction, body, helpers
from .method_headers import own_methods
from .node_text import LANE_KERNEL, LANES
from .render import provenance, render

_CORRECTED = ("correction", "correction_all", "unmet")
"""The kernels that move the end of a step onto the constraints."""
_OBSERVED = ("guards", "contacts", "project")
"""The kernels that are called after every step of a model with events or contacts."""


def lane_files(program: Program, command: str) -> dict[str, str]:
    """`<name>_lanes.c`: the schedules of its kernels, printed again for vectors of lanes."""
    hybrid = program.events or program.contacts
    watched = tuple(k for k in _OBSERVED if hybrid and k in program.kernels)
    corrected = tuple(k for k in _CORRECTED if k in program.kernels)
    kernels = ("rhs", *corrected, *watched)
    texts = {kernel: body(program, program.schedule(kernel), LANE_KERNEL) for kernel in kernels}
    kernel_texts = {kernel: lane_kernel(program, kernel, text) for kernel, text in texts.items()}
    near = f"{program.name}_rhs_lanes_of"
    values = {
        "provenance": provenance("lanes.c.in", program.digest, command, " * "),
        "name": program.name,
        "functions": "cg_math.h" if has_functions(program, kernels) else "cg_real.h",
        "solver": helpers(program.graph, LANES, (program.kernels[k] for k in kernels)),
        "kernel": "\n".join(kernel_texts.values()),
        "near": f"#define CG_MODEL_RHS_OF {near}\n" if f"{near}(" in kernel_texts["rhs"] else "",
        "corrected": "".join(f"#define CG_MODEL_{k.upper()} {program.name}_{k}_lanes\n" for k in corrected),
        "watched": _watched(program, watched),
        "n_work": str(max(text.work for text in texts.values())),
        "digest": c_string(program.digest),
        **model_macros(program),
    }
    return {f"{program.name}_lanes.c": render("lanes.c.in", values), **own_methods(program, command)}


def _watched(program: Program, kernels: tuple[str, ...]) -> str:
    """The macros of the kernels that are called after a step."""
    if not kernels:
        return ""
    sizes = {
        "INPUTS": len(program.inputs),
        "GUARDS": len(program.guards),
        "EVENTS": len(program.events),
        "CONTACTS": len(program.contacts),
    }
    signs = ", ".join(str(c.sign) for c in program.contacts)
    lines = [f"#define CG_MODEL_{name} {size}" for name, size in sizes.items()]
    lines += [f"#define CG_MODEL_SIGNS {signs}"] if signs else []
    lines += [f"#define CG_MODEL_{k.upper()}_LANES {program.name}_{k}_lanes" for k in kernels]
    return "\n".join(lines) + "\n"


_LONG = 200
"""Lines of a derivative that are not compiled twice, once for wide angles: for 0.2 s less, runs take 3 % longer."""


def lane_kernel(
    program: Program, kernel: str, text: CBody, shared: frozenset[str] = LANE_KERNEL.shared
) -> str:
    """The C functions of a kernel; each returns the mask of lanes in which nothing was singular.

    Arrays in `shared` have plain numbers, as in the dialect of the text.
    """
    name, plan = f"{program.name}_{kernel}_lanes", program.schedule(kernel)
    directions = ("v",) if program.kernels[kernel].directions else ()
    own = ("t", "x", "p", *(("q",) if plan.hoist else ()), "u", *directions, "out", "work")

    def lane_function(
        head: str, arrays: tuple[str, ...], written: tuple[str, ...], piece: CFunction, calls: bool = False
    ) -> list[str]:
        parameters = [
            f"{'' if a in written else 'const '}{'double' if a in shared else 'cg_real_t'} *restrict {_argument(a)}"
            for a in arrays
        ]
        first = [f"(void){_argument(a)};" for a in arrays if a not in piece.arrays]
        first.append("cg_mask_t cg_ok = cg_true();")
        if "t" in piece.arrays and not calls:
            first.append(f"const cg_real_t {program.clock} = *cg_clock;")
        signature = wrapped(f"static cg_mask_t {head}(", parameters)
        if not any("cg_widest" in line for line in piece.lines):
            return function(signature, first, piece.lines, end="return cg_ok;")
        if len(text.pieces) > 1 and any("_solve(" in line for line in piece.lines):
            # works on what other functions have stored, so it cannot be repeated: each angle is asked for
            first.append("cg_real_t *const cg_widest = NULL;")
            return function(signature, first, piece.lines, end="return cg_ok;")
        inline = "" if "x" in shared and len(piece.lines) > _LONG else "CG_INLINE "
        return _repeated(head, inline, signature, parameters, arrays, [*first, *piece.lines])

    results = ("out", "work")
    lines = [banner(kernel, plan, text)]
    if plan.hoist is not None:
        (piece,) = body(program, plan.hoist, replace(LANE_KERNEL, shared=shared)).pieces
        lines += lane_function(f"{program.name}_hoist_lanes", ("p", *directions, "q"), ("q",), piece)
    if plan.rolled is not None:
        parts, looped, needed = loop_texts(program.graph, name, program.clock, plan.rolled, LANES)
        whole = CFunction(tuple(looped), frozenset(needed), 0)
        return "\n".join([*lines, *parts, *lane_function(name, own, results, whole, True)])
    if len(text.pieces) == 1:
        return "\n".join([*lines, *lane_function(name, own, results, text.pieces[0])])
    calls = []
    for i, piece in enumerate(text.pieces):
        arrays = tuple(a for a in own if a in piece.arrays)
        lines += lane_function(f"{name}_{i + 1}", arrays, results, piece)
        calls.append(f"cg_ok &= {name}_{i + 1}({', '.join(map(_argument, arrays))});")
    used = frozenset().union(*(piece.arrays for piece in text.pieces))
    whole = CFunction(tuple(calls), used, 0)
    return "\n".join([*lines, *lane_function(name, own, results, whole, True)])


def _repeated(
    head: str, inline: str, signature: str, parameters: list[str], arrays: tuple[str, ...], lines: list[str]
) -> list[str]:
    """A function that is repeated for wide angles if there are any; see `cg_sincos_of`."""
    inner = wrapped(f"static {inline}cg_mask_t {head}_of(", ["cg_real_t *cg_widest", *parameters])
    wide = wrapped(f"static CG_COLD cg_mask_t {head}_wide(", parameters)
    given = ", ".join(map(_argument, arrays))
    whole = [
        "cg_real_t cg_widest = cg_splat(0.0);",
        f"const cg_mask_t cg_ok = {head}_of(&cg_widest, {given});",
    ]
    end = f"return cg_is_wide(cg_widest) ? {head}_wide({given}) : cg_ok;"
    return [
        *function(inner, lines, end="return cg_ok;"),
        *function(wide, end=f"return {head}_of(NULL, {given});"),
        *function(signature, whole, end=end),
    ]


def _argument(array: str) -> str:
    return "cg_clock" if array == "t" else f"cg_{array}"
