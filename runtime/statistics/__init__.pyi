from .results import (
    Histogram as Histogram,
    MomentsResult as MomentsResult,
    Probability as Probability,
    Quantiles as Quantiles,
)
from .summary import failures as failures
