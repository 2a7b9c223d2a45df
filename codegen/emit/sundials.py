"""A model as user functions of SUNDIALS: right-hand side, Jacobian, its product with a vector, and roots."""

from __future__ import annotations

from collections.abc import Sequence

from chaplygin.errors import ArgumentError
from chaplygin.runtime.interface.description import Variable

from ..lower.lowered import Lowered
from .render import provenance, render

_LISTED = 8
"""Names in a comment; of more there is only the number."""
_PROTOTYPE = "int {name}_sundials_guards(sunrealtype t, N_Vector y, sunrealtype *gout, void *user_data)"
_DECLARED = """
/* CVodeRootInit, ARKStepRootInit: {guards} */
{prototype};
"""
_DEFINED = """
{prototype}
{{
    const {name}_sundials_t *const own = (const {name}_sundials_t *)user_data;
    double *const x = entries(y);

    if (x == NULL) return -1;
    return {name}_guards(t, x, own->p, own->u, gout, own->work) != CG_OK;
}}
"""


def sundials_files(program: Lowered, command: str) -> dict[str, str]:
    """`<name>_sundials.h` and `<name>_sundials.c`, which need the target `c` in the same folder.

    Raises ArgumentError for a model with contacts: no integrator of SUNDIALS switches their modes.
    """
    name = program.name
    if program.contacts:
        raise ArgumentError(
            f"sundials: {name} has the contacts {', '.join(c.name for c in program.contacts)}, whose modes SUNDIALS "
            "cannot switch; use the methods of this package, or an FMU"
        )
    command = f"{command} --targets c sundials"
    roots = {"name": name, "guards": _listed("guard", program.guards)}
    roots["prototype"] = _PROTOTYPE.format(**roots)
    header = {
        "provenance": provenance("sundials.h.in", program.digest, command, " * "),
        "name": name,
        "guard": f"CHAPLYGIN_{name.upper()}_SUNDIALS_H",
        "states": _listed("state", program.states),
        "parameters": _listed("parameter", program.parameters),
        "inputs": _listed("input", program.inputs),
        "guards": _DECLARED.format(**roots) if program.guards else "",
    }
    source = {
        "provenance": provenance("sundials.c.in", program.digest, command, " * "),
        "name": name,
        "n_states": str(len(program.states)),
        "guards": _DEFINED.format(**roots) if program.guards else "",
    }
    return {
        f"{name}_sundials.h": render("sundials.h.in", header),
        f"{name}_sundials.c": render("sundials.c.in", source),
    }


def _listed(kind: str, variables: Sequence[Variable]) -> str:
    """What an array of the caller holds."""
    if not variables:
        return f"no {kind}s: NULL"
    if len(variables) > _LISTED:
        return f"the {len(variables)} {kind}s, in the order of the model"
    return f"the {kind}{'s' * (len(variables) > 1)} {', '.join(v.name for v in variables)}"
