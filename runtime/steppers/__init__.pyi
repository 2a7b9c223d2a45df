from .sensitivity_stepper import SensitivityStepper as SensitivityStepper
from .stepper import Stepper as Stepper
