from .consistency import (
    STRICT as STRICT,
    Accepted as Accepted,
    Accuracy as Accuracy,
    DecidedStart as DecidedStart,
    agree as agree,
    check_start as check_start,
    drift as drift,
    judge as judge,
    share as share,
    warn as warn,
)
from .given_inputs import changed_inputs as changed_inputs, parse as parse
from .input_rates import with_rates as with_rates
from .inputs import Inputs as Inputs
from .pivots import StepperPivot as StepperPivot, at_start as at_start, loss as loss, report as report
from .random_inputs import drawn as drawn
from .sample_rows import SampleRows as SampleRows
