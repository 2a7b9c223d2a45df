"""What all equations of motion need: `EquationNodes`, friction, integrals, power, trees."""
