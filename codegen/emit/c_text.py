"""Pieces of C source shared by the emitted files: signatures, bodies, tables, strings."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from chaplygin.runtime.interface.assumptions import FLAGS
from chaplygin.runtime.interface.description import Variable, arguments_of

if TYPE_CHECKING:  # a shipped model is exported without SymPy
    from ..lower.lowered import Lowered
    from ..plan.statements import Schedule
    from .function_bodies import CBody

ARGUMENTS = {
    "event": "int32_t cg_event",
    "t": "double t",
    "x": "const double *CG_RESTRICT cg_x",
    "p": "const double *CG_RESTRICT cg_p",
    "q": "const double *CG_RESTRICT cg_q",
    "u": "const double *CG_RESTRICT cg_u",
    "v": "const double *CG_RESTRICT cg_v",
    "out": "double *CG_RESTRICT cg_out",
    "work": "double *CG_RESTRICT cg_work",
}
"""The parameters of kernels; "t" is the clock of the program in definitions."""


def taken(takes: str, hoisted: bool = False) -> list[str]:
    """The parameters of a kernel, as keys of `ARGUMENTS`; with hoisted values q after p."""
    names = arguments_of(takes)
    at = names.index("u")
    return [*names[:at], *["q"] * hoisted, *names[at:]]


def prototype(head: str, takes: str, restrict: str = "CG_RESTRICT ") -> str:
    """The signature of a kernel for its callers, in C or, without `restrict`, in Cython."""
    return wrapped(
        head, [ARGUMENTS[a].replace("CG_RESTRICT cg_", restrict).replace(" cg_", " ") for a in taken(takes)]
    )


def wrapped(head: str, arguments: Sequence[str]) -> str:
    """A parameter list, wrapped after commas."""
    lines, line = [], head
    for i, argument in enumerate(arguments):
        piece = argument + (")" if i == len(arguments) - 1 else ",")
        if len(line) + 1 + len(piece) > 110 and line != head:
            lines.append(line)
            line = " " * len(head) + piece
        else:
            line += piece if line == head else f" {piece}"
    return "\n".join([*lines, line])


def definition(program: Lowered, head: str, arguments: Sequence[str]) -> str:
    """The signature of a kernel."""
    return wrapped(head, [f"double {program.clock}" if a == "t" else ARGUMENTS[a] for a in arguments])


def passed(program: Lowered, arguments: Sequence[str]) -> str:
    """The arguments of a kernel in a call from another one."""
    return ", ".join(program.clock if a == "t" else f"cg_{a}" for a in arguments)


def function(signature: str, *lines: Sequence[str], end: str = "return CG_OK;") -> list[str]:
    """A complete function; `lines` are the parts of its body."""
    return [signature, "{", *indented([text for part in (*lines, [end]) for text in part]), "}", ""]


def indented(lines: Sequence[str]) -> list[str]:
    """Lines indented for a function body, long ones wrapped."""
    result = []
    for line in lines:
        if len(line) > 106:
            result += textwrap.wrap(
                line, 114, initial_indent="    ", subsequent_indent="        ", break_long_words=False
            )
        else:
            result.append(f"    {line}" if line else "")
    return result


def banner(kernel: str, plan: Schedule, text: CBody) -> str:
    """A comment with the operation counts of a kernel."""
    count = sum(piece.intermediates for piece in text.pieces)
    divisions = f" ({plan.divisions} division{'s' * (plan.divisions > 1)})" if plan.divisions else ""
    line = f"{kernel}: {plan.operations} operations{divisions}"
    line += (
        f", {count} intermediates" if plan.rolled is None else f", in {len(plan.rolled.templates)} functions"
    )
    line += f", in {len(text.pieces)} pieces" if len(text.pieces) > 1 else ""
    line += f"; {plan.hoist.operations} more once per parameter set" if plan.hoist else ""
    return f"/* {line} */"


def table(kind: str, label: str, rows: Sequence[str]) -> str:
    """A constant array of structures of type `kind`."""
    return f"static const {kind} cg_{label}[] = {{\n" + "\n".join(f"    {{{row}}}," for row in rows) + "\n};"


def c_string(text: str) -> str:
    """A C string literal for any text: UTF-8 bytes, special ones as octal escapes."""
    plain = ""
    for byte in text.encode("utf-8"):
        char = chr(byte)
        plain += char if 32 <= byte < 127 and char not in '"\\?' else f"\\{byte:03o}"
    return f'"{plain}"'


def variable(v: Variable) -> str:
    """The row of a variable in the model's table."""
    flags = " | ".join(f"CG_{name}" for name, bit in FLAGS.items() if v.flags & bit) or "0"
    example = "NAN" if math.isnan(v.example) else repr(float(v.example))
    texts = (c_string(text) for text in (v.name, v.unit, v.description))
    return f"{', '.join(texts)}, {example}, CG_{v.kind.upper()}, {flags}"
