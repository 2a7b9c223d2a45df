"""The tables of the C core: names and units, events, contacts, kernels, and `cg_model_t`, which contains them all."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from chaplygin._version import __version__
from chaplygin.runtime.interface.assumptions import FLAGS, ZERO_AT_START
from chaplygin.runtime.interface.description import Variable

from .c_text import c_string, table

if TYPE_CHECKING:
    from ..lower.lowered import Lowered
    from ..plan.plan import Program

_QUANTITIES = ("states", "parameters", "inputs", "outputs", "invariants", "guards", "modes", "declared")


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


def variable(v: Variable) -> str:
    """The row of a variable in the model's table."""
    flags = " | ".join(f"CG_{name}" for name, bit in FLAGS.items() if v.flags & bit) or "0"
    example = "NAN" if math.isnan(v.example) else repr(float(v.example))
    texts = (c_string(text) for text in (v.name, v.unit, v.description))
    return f"{', '.join(texts)}, {example}, CG_{v.kind.upper()}, {flags}"


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
