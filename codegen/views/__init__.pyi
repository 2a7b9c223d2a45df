from .latex import equations_to_latex as equations_to_latex
from .linearize import linearized as linearized
from .notebook import equations_table as equations_table, system_table as system_table
from .to_sympy_system import (
    structure_expressions as structure_expressions,
    symbolic_system as symbolic_system,
)
