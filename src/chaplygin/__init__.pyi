"""The public names and their modules: read by type checkers, and by `__init__.py` when a name is first used."""

from chaplygin import errors as errors
from chaplygin._version import __version__ as __version__
from chaplygin.api.ensemble import ensemble as ensemble
from chaplygin.api.equations import Equations as Equations, compile as compile
from chaplygin.api.importers import from_sympy as from_sympy, from_urdf as from_urdf
from chaplygin.api.model import Model as Model, load_model as load_model
from chaplygin.api.study import study as study
from chaplygin.api.system import System as System
from chaplygin.codegen.declare.contacts import Coulomb as Coulomb
from chaplygin.codegen.declare.events import Event as Event
from chaplygin.codegen.declare.interpolant import Interpolant as Interpolant
from chaplygin.codegen.lower.sources import Sources as Sources
from chaplygin.codegen.mechanics import joint as joint
from chaplygin.codegen.mechanics.bodies import Body as Body, turn as turn
from chaplygin.codegen.mechanics.interactions import (
    Damper as Damper,
    Motor as Motor,
    Spring as Spring,
    Weight as Weight,
    Wrench as Wrench,
)
from chaplygin.codegen.mechanics.pfaff import fields_from_forms as fields_from_forms
from chaplygin.codegen.mechanics.rolling import rolling as rolling
from chaplygin.codegen.methods.pair import Pair as Pair
from chaplygin.codegen.plan.plan import Program as Program
from chaplygin.codegen.symbols.symbols import (
    coordinates as coordinates,
    inputs as inputs,
    multiplier as multiplier,
    parameters as parameters,
    rate as rate,
    time as time,
    velocities as velocities,
)
from chaplygin.errors import (
    ArgumentError as ArgumentError,
    BranchWarning as BranchWarning,
    BuildError as BuildError,
    BusyError as BusyError,
    CacheError as CacheError,
    CacheWarning as CacheWarning,
    ChaplyginError as ChaplyginError,
    ConsistencyWarning as ConsistencyWarning,
    CoreMissingError as CoreMissingError,
    DeclarationError as DeclarationError,
    EmitError as EmitError,
    FormError as FormError,
    KernelError as KernelError,
    LoadError as LoadError,
    MissingExtraError as MissingExtraError,
    NoCompilerError as NoCompilerError,
    PurePythonWarning as PurePythonWarning,
    RangeError as RangeError,
    SizeWarning as SizeWarning,
    UnknownSystemError as UnknownSystemError,
)
from chaplygin.runtime.draws import noise as noise
from chaplygin.runtime.draws.choice import choice as choice
from chaplygin.runtime.draws.grid import Grid as Grid, grid as grid
from chaplygin.runtime.draws.joint import jointly as jointly
from chaplygin.runtime.ensembles.ensemble import Ensemble as Ensemble
from chaplygin.runtime.gradients.fit import Fit as Fit, fit as fit
from chaplygin.runtime.gradients.loss import at_event as at_event, loss as loss, squares as squares
from chaplygin.runtime.gradients.residuals import residuals as residuals
from chaplygin.runtime.interface.files import (
    get_include as get_include,
    get_library_sources as get_library_sources,
)
from chaplygin.runtime.problem.polynomials import cubic as cubic
from chaplygin.runtime.results.solution import Solution as Solution
from chaplygin.runtime.steppers.stepper import Stepper as Stepper
from chaplygin.runtime.studies.collect import (
    events as events,
    final as final,
    first_passage as first_passage,
    histogram as histogram,
    moments as moments,
    probability as probability,
    quantiles as quantiles,
    series as series,
    table as table,
)
from chaplygin.runtime.studies.observed import integral as integral, minimum as minimum, peak as peak
from chaplygin.runtime.studies.precision import Precision as Precision, precision as precision
from chaplygin.runtime.studies.response import Response as Response, response as response
from chaplygin.runtime.studies.run import open_study as open_study
from chaplygin.runtime.studies.study import Study as Study
from chaplygin.runtime.studies.subset_simulation import RareEvent as RareEvent, rare_event as rare_event
from chaplygin.systems import example as example, examples as examples
from chaplygin.systems.entry import Example as Example
