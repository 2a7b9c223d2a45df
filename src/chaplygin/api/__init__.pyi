from .c_bundle import export_c as export_c
from .objective import Objective as Objective
from .program import (
    derived_counts as derived_counts,
    operations_by_pass as operations_by_pass,
)
from .python_model import PythonModel as PythonModel, python_kernels as python_kernels
