from chaplygin.api.model import Model as Model, load_model as load_model
from chaplygin.api.python_model import PythonModel as PythonModel
from chaplygin.codegen.emit.python_backend import PythonKernels as PythonKernels
from chaplygin.errors import (
    ArgumentError as ArgumentError,
    ChaplyginError as ChaplyginError,
    ConsistencyWarning as ConsistencyWarning,
    CoreMissingError as CoreMissingError,
    KernelError as KernelError,
    LoadError as LoadError,
    MissingExtraError as MissingExtraError,
    PurePythonWarning as PurePythonWarning,
)

from .ensembles.batch import Batch as Batch, BatchSnapshot as BatchSnapshot
from .ensembles.ensemble import Ensemble as Ensemble
from .interface.description import Method as Method, Variable as Variable
from .model.compiled_model import core_available as core_available
from .results.solution import Solution as Solution
from .steppers.snapshots import Snapshot as Snapshot
from .steppers.stepper import Stepper as Stepper
