"""The equation forms: one module each, with a `Form` that says what it derives and which systems it fits.

A new form is one file here and one line in `_MODULES`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from inspect import Parameter
from typing import TYPE_CHECKING, Any

from chaplygin.runtime.errors import FormError as FormError

from ..equations import Equations
from ..friction import add_friction
from .form import Form

if TYPE_CHECKING:
    from ...declare.system import System

_MODULES = (
    "lagrange",
    "poincare",
    "maggi",
    "multipliers",
    "chetaev",
    "hamel",
    "nonholonomic",
    "routh",
    "whittaker",
)
FORMS: tuple[Form, ...] = tuple(import_module(f".{module}", __name__).FORM for module in _MODULES)
"""All forms. The first that fits a system is its default."""


def forms() -> tuple[str, ...]:
    """The names of the equation forms."""
    return tuple(form.name for form in FORMS)


def options_of(form: str) -> Mapping[str, Parameter]:
    """A form's options by name: the keyword arguments of its `derive`."""
    return _form(form).options


def derive(system: System, form: str, **options: Any) -> Equations:
    """The equations of a system in one form.

    Raises FormError for an unknown form, an unknown option, or a failed hypothesis of the form.
    """
    chosen = _form(form)
    for option in options:
        if option not in chosen.options:
            raise FormError(
                f"form {form!r} has no option {option!r}; its options: {', '.join(chosen.options) or 'none'}"
            )
    failing = chosen.failing(system)
    if failing is not None:
        raise FormError(f"{form} does not fit {system.name!r}: hypothesis {failing}; use {fitting(system)!r}")
    result = chosen.derive(system, **options)
    if system.contacts:
        result = add_friction(result)
    assert len(result.resets) == len(system.events)  # a reset that does not fit the form raises here
    return Equations(result)


def fitting(system: System) -> str:
    """The default form: the first that fits as far as the declaration shows it."""
    return next(form.name for form in FORMS if form.failing(system) is None)


def _form(name: str) -> Form:
    for form in FORMS:
        if form.name == name:
            return form
    raise FormError(f"unknown form {name!r}; the forms are {', '.join(forms())}")
