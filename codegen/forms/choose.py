"""The form of a system: by name, or the first that fits; its options; the equations in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from inspect import Parameter
from typing import Any

from chaplygin.errors import FormError
from chaplygin.log import stage
from chaplygin.runtime.interface.messages import short

from .. import derive as derivation
from ..derive.equation_nodes import EquationNodes
from ..derive.resets import resets
from ..system.checked_system import CheckedSystem
from . import FORMS
from .form import Form


def forms() -> tuple[str, ...]:
    """The names of the equation forms."""
    return FORMS


def options_of(form: str) -> Mapping[str, Parameter]:
    """A form's options by name: the keyword arguments of its `derive`."""
    return _form(form).options


def check_options(form: str, options: Iterable[str]) -> None:
    """Raise FormError for an unknown form, and for an option that it does not have."""
    known = options_of(form)
    for option in options:
        if option not in known:
            raise FormError(
                f"form {short(form)} has no option {short(option)}; its options: {', '.join(known) or 'none'}"
            )


def derive(system: CheckedSystem, form: str, **options: Any) -> EquationNodes:
    """The equations of a system in one form.

    Raises FormError for an unknown form, an unknown option, or a failed hypothesis of the form.
    """
    check_options(form, options)
    chosen = _form(form)
    failing = chosen.failing(system)
    if failing is not None:
        raise FormError(f"{form} does not fit {system.name!r}: hypothesis {failing}; use {fitting(system)!r}")
    with stage("derive", f"{system.name}, {form}"):
        result = chosen.derive(system, **options)
        if system.contacts:
            result = derivation.add_friction(result)
        resets(result)  # one that does not fit the form raises here
    return result


def fitting(system: CheckedSystem) -> str:
    """The default form: of those that fit, as far as the declaration shows it, one that is preferred or the first."""
    fits = (name for name in FORMS if _form(name).failing(system) is None)
    if not (system.bodies or system.constraints):
        return next(fits)  # no form is preferred: the others need not be imported
    found = list(fits)
    return next((name for name in found if _form(name).preferred(system)), found[0])


def _form(name: str) -> Form:
    if not isinstance(name, str) or name not in FORMS:
        raise FormError(f"unknown form {short(name)}; the forms are {', '.join(FORMS)}")
    form: Form = import_module(f".{name}", __package__).FORM
    return form
