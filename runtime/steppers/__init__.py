"""Runs that are advanced by their caller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaplygin._lazy import face

if TYPE_CHECKING:
    from .sensitivity_stepper import SensitivityStepper as SensitivityStepper
    from .stepper import Stepper as Stepper

__getattr__ = face(__name__, {"SensitivityStepper": ".sensitivity_stepper", "Stepper": ".stepper"})
