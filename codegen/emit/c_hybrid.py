"""Additions to the C core of a hybrid model: tables of events and contacts, and one function for all resets."""

from __future__ import annotations

from ..lower.program import Program
from .c_text import c_string, definition, passed, table


def has_resets(program: Program) -> bool:
    return any(e.has_reset for e in program.events)


def hybrid_tables(program: Program) -> list[str]:
    """The tables `cg_events` and `cg_contacts`, unless they are empty."""
    tables = []
    if program.events:
        rows = [
            f"{c_string(e.name)}, {e.direction}, {int(e.terminal)}, {int(e.has_reset)}, 0"
            for e in program.events
        ]
        tables.append(table("cg_event_t", "events", rows))
    if program.contacts:
        rows = [f"{c_string(c.name)}, {c.sign}, 0" for c in program.contacts]
        tables.append(table("cg_contact_t", "contacts", rows))
    return tables


def reset_function(program: Program) -> str:
    """The kernel `reset`: the state after one event; an event without a reset leaves the state unchanged."""
    name, n = program.name, len(program.states)
    arrays = ["t", "x", "p", "u", "out", "work"]
    cases = [
        f"    case {i}: /* {e.name} */\n        return {name}_reset_{i}({passed(program, arrays)});"
        for i, e in enumerate(program.events)
        if e.has_reset
    ]
    lines = [
        "/* reset: the state after an event */",
        definition(program, f"int {name}_reset(", arrays, "int32_t cg_event"),
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
