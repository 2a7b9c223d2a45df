"""The error for a system that a form of the equations does not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaplygin.errors import FormError

if TYPE_CHECKING:
    from ..system.checked_system import CheckedSystem


def misfit(form: str, system: CheckedSystem, hypothesis: str, why: str = "") -> FormError:
    """The error for a hypothesis that fails."""
    return FormError(f"{form} does not fit {system.name!r}: hypothesis {hypothesis!r} fails{why}")
