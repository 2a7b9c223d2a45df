from .from_sympy import declared as declared
from .urdf import robot as robot
