"""What all equations of motion need: `EquationNodes`, friction, integrals, power, trees."""

from chaplygin._lazy import face

__getattr__ = face(__name__)
