"""The equation forms: one module each. A new form is one file here and one line in `_FORMS`.

A form's module has `derive(system, **options) -> EquationNodes`; its keyword arguments are the options, its docstring
gives the equation. It raises `FormError`, naming the hypothesis that fails, for a system that it does not fit.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import TYPE_CHECKING, Any

from chaplygin.runtime.errors import FormError as FormError

if TYPE_CHECKING:
    from ...declare.system import System
    from ..equation_nodes import EquationNodes
    from ..equations import Equations

_FORMS = {
    "lagrange": "lagrange",
    "poincare": "poincare",
    "chetaev": "chetaev",
    "hamel": "hamel",
    "maggi": "maggi",
    "multipliers": "multipliers",
    "nonholonomic": "nonholonomic",
    "routh": "routh",
    "whittaker": "whittaker",
}


def forms() -> tuple[str, ...]:
    """The names of the equation forms."""
    return tuple(_FORMS)


def options_of(form: str) -> dict[str, inspect.Parameter]:
    """A form's options by name: the keyword arguments of its `derive`."""
    function = import_module(f".{_FORMS[form]}", __name__).derive
    return {n: p for n, p in inspect.signature(function).parameters.items() if n != "system"}


def derive(system: System, form: str, **options: Any) -> Equations:
    """The equations of a system in one form.

    Raises FormError for an unknown form, an unknown option, or a failed hypothesis of the form.
    """
    if form not in _FORMS:
        raise FormError(f"unknown form {form!r}; the forms are {', '.join(_FORMS)}")
    function = import_module(f".{_FORMS[form]}", __name__).derive
    allowed = options_of(form)
    for option in options:
        if option not in allowed:
            raise FormError(
                f"form {form!r} has no option {option!r}; its options: {', '.join(allowed) or 'none'}"
            )
    _refuse_friction(system, form)
    result: EquationNodes = function(system, **options)
    if system.contacts:
        from ..friction import add_friction

        result = add_friction(result)
    assert len(result.resets) == len(system.events)  # a reset that does not fit the form raises here
    from ..equations import Equations

    return Equations(result)


def _refuse_friction(system: System, form: str) -> None:
    """Reject forms without friction for contacts, and all but `multipliers` for a system that contains multipliers."""
    if system.contacts:
        from ..friction import FORMS

        if form not in FORMS:
            raise FormError(
                f"{form} does not fit {system.name!r}: hypothesis 'no dry friction' fails (contacts are given: "
                f"{', '.join(c.name for c in system.contacts)}); use {fitting(system)!r}"
            )
    if system.multipliers and form != "multipliers":
        raise FormError(
            f"{form} does not fit {system.name!r}: hypothesis 'no multiplier is needed' fails (an output, event or "
            f"contact contains the multiplier {system.multipliers[0]}); use 'multipliers'"
        )


def fitting(system: System) -> str:
    """The default form: the simplest one that fits."""
    if system.multipliers:
        return "multipliers"
    if system.constraints or system.parametrization:
        return "maggi"
    return "lagrange" if system.nodes.fields.are_rates() else "poincare"
