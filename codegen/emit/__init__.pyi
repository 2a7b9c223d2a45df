from .c_derivatives import derivatives_file as derivatives_file
from .targets import COMPILED as COMPILED, DEFAULT as DEFAULT, emit as emit, emit_to as emit_to
