from .to_sympy import LARGEST_SIMPLIFIED as LARGEST_SIMPLIFIED, expressions as expressions
