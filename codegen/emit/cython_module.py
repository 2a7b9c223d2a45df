"""The Cython module around a model's C core: three small files, and three that all models share."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence

from chaplygin.runtime.interface.description import Variable

from ..lower.kernels import KERNELS
from ..lower.lowered import Lowered
from .binding import TABLE, table_text
from .c_text import prototype, taken
from .render import made_from, provenance, render


def module_files(program: Lowered, command: str) -> dict[str, str]:
    """The texts `<name>.pyx`, `<name>.pxd` and `<name>.pyi` of a program's module, and what they include.

    `command` regenerates them. The module has `capsule` (a capsule named "chaplygin.model" that holds
    `const cg_model_t *`), `address` (the same as an int), `model` (created on first access), and exports the kernels to
    other Cython code through the `.pxd`.

    Raises ValueError if the program's name is not an identifier.
    """
    name = program.name
    if not (name.isascii() and name.isidentifier()):
        raise ValueError(f"model name {name!r}: not a plain identifier")
    summary = [f"Compiled model {name}, form {program.form}.", ""]
    for title, variables in (
        ("States", program.states),
        ("Parameters", program.parameters),
        ("Inputs", program.inputs),
        ("Outputs", program.outputs),
        ("Invariants and residuals", program.invariants),
    ):
        summary += _listed(title, variables)
    values = {"pyx": {"name": name, "summary": "\n".join(summary)}, "pxd": {"name": name}, "pyi": {}}
    texts = {}
    for suffix, own in values.items():
        template = f"model.{suffix}.in"
        own["provenance"] = provenance(template, program.digest, command)
        texts[f"{name}.{suffix}"] = render(template, own)
    return {**texts, **_shared_files()}


def _shared_files() -> dict[str, str]:
    """What does not depend on the model: the table, the kernels that have slots, the module's own names."""
    functions = []
    for row in (row for row in KERNELS if row.slot):
        head = prototype(f"cdef inline int {row.name}(", row.takes, "") + " noexcept nogil:"
        call = f"table().{row.slot}({', '.join(taken(row.takes))})"
        functions.append(f"{head}\n    return CG_UNSUPPORTED if table().{row.slot} == NULL else {call}\n")
    values = {"cg_kernels.pxi": {"functions": "\n".join(functions).rstrip()}, "cg_module.pxi": {}}
    made = {n: {"provenance": made_from(f"{n}.in", "# "), **own} for n, own in values.items()}
    table = f"{made_from(TABLE, '# ')}\n\n{table_text()}"
    return {"cg_model.pxi": table} | {n: render(f"{n}.in", own) for n, own in made.items()}


def _listed(title: str, variables: Sequence[Variable]) -> list[str]:
    """Names for a docstring; names that are not identifiers are quoted and escaped."""
    if not variables:
        return []
    names = (variable.name for variable in variables)
    text = ", ".join(n if n.isascii() and n.isidentifier() else json.dumps(n) for n in names)
    return textwrap.wrap(f"{title}: {text}", 110, subsequent_indent="    ", break_long_words=False)
