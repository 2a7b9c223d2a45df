"""`Form`: one form of the equations of motion, and the systems that it fits."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..derive.equation_nodes import EquationNodes
from ..system.checked_system import CheckedSystem


def constrained(system: CheckedSystem) -> str | None:
    """The refusal of the forms for systems without constraints."""
    if system.constraints or system.parametrization:
        given = len(system.constraints) or "a parametrization"
        return f"'no constraints on the velocities' fails ({given} given)"
    return None


@dataclass(frozen=True)
class Form:
    """A form of the equations of motion.

    Attributes
    ----------
    name : the name by which it is asked for.
    derive : the derivation, `derive(system, **options) -> EquationNodes`; its keyword arguments are the options of the
        form, its docstring gives states, options and hypotheses. It raises `FormError` for a hypothesis that fails.
    refusal : the hypothesis that fails, as far as the declaration shows it, as text; None if all hold.
    contacts : whether dry friction can be added: M theta' = f, where theta are the velocities themselves.
    multipliers : whether the multipliers of the constraints are unknowns, which the declaration can then contain.
    of_laws : whether it takes the equations from a law (`codegen.declare.law`) in the place of T and V.
    preferred : whether the form is the default for a system that it fits, before those that come first.
    """

    name: str
    derive: Callable[..., EquationNodes]
    refusal: Callable[[CheckedSystem], str | None] = lambda system: None
    contacts: bool = False
    multipliers: bool = False
    of_laws: bool = False
    preferred: Callable[[CheckedSystem], bool] = lambda system: False

    @property
    def options(self) -> Mapping[str, inspect.Parameter]:
        """The options by name."""
        found = inspect.signature(self.derive).parameters
        return {name: option for name, option in found.items() if name != "system"}

    def failing(self, system: CheckedSystem) -> str | None:
        """The hypothesis that fails for a system, as far as its declaration shows it; None if all hold."""
        if system.law is not None and not self.of_laws:
            return f"'the kinetic energy gives the equations' fails ({system.law.why})"
        if system.contacts and not self.contacts:
            names = ", ".join(c.name for c in system.contacts)
            return f"'no dry friction' fails (contacts are given: {names})"
        if system.multipliers and not self.multipliers:
            return (
                "'no multiplier is needed' fails (an output, event or contact contains the multiplier "
                f"{system.multipliers[0]})"
            )
        if system.is_driven and not self.multipliers:
            return "'the constraints leave a velocity free' fails (the motion is known, and its forces are multipliers)"
        return self.refusal(system)
