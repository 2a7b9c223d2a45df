"""The Cython module around a model's C core: three small files."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence

from chaplygin.runtime.base_model import Variable

from ..lower.program import Program
from .render import provenance, render


def module_files(program: Program, command: str) -> dict[str, str]:
    """The texts `<name>.pyx`, `<name>.pxd` and `<name>.pyi` of the extension module of `program`.

    `command` regenerates them. The module has `capsule` (a capsule named "chaplygin.model" that holds
    `const cg_model_t *`), `address` (the same as an int), `model` (created on first access), and exports the kernels to
    other Cython code through the `.pxd`. What does not depend on the model is in `cg_module.pxi` and `cg_kernels.pxi`
    of the runtime.

    Raises ValueError if the program's name is not an identifier.
    """
    name = program.name
    if not (name.isascii() and name.isidentifier()):
        raise ValueError(f"model name {name!r}: not a plain identifier")
    summary = "\n".join(
        [
            f"Compiled model {name}, form {program.form}.",
            "",
            *_listed("States", program.states),
            *_listed("Parameters", program.parameters),
            *_listed("Inputs", program.inputs),
            *_listed("Outputs", program.outputs),
            *_listed("Invariants and residuals", program.invariants),
        ]
    )
    values: dict[str, dict[str, str]] = {
        "pyx": {"name": name, "summary": summary},
        "pxd": {"name": name},
        "pyi": {},
    }
    return {
        f"{name}.{suffix}": render(
            f"model.{suffix}.in",
            {"provenance": provenance(f"model.{suffix}.in", program.digest, command), **own},
        )
        for suffix, own in values.items()
    }


def _listed(title: str, variables: Sequence[Variable]) -> list[str]:
    """Names for a docstring; names that are not identifiers are quoted and escaped."""
    if not variables:
        return []
    names = (variable.name for variable in variables)
    text = ", ".join(n if n.isascii() and n.isidentifier() else json.dumps(n) for n in names)
    return textwrap.wrap(f"{title}: {text}", 110, subsequent_indent="    ", break_long_words=False)
