"""The objects that users hold and their methods, each of which leads on to the next step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaplygin._lazy import face

if TYPE_CHECKING:
    from .c_bundle import export_c as export_c
    from .objective import Objective as Objective
    from .program import (
        derived_counts as derived_counts,
        operations_by_pass as operations_by_pass,
    )
    from .python_model import PythonModel as PythonModel, python_kernels as python_kernels

__getattr__ = face(
    __name__,
    {
        "Objective": ".objective",
        "PythonModel": ".python_model",
        "derived_counts": ".program",
        "export_c": ".c_bundle",
        "operations_by_pass": ".program",
        "python_kernels": ".python_model",
    },
)
