from .part import failures as failures
from .results import (
    Histogram as Histogram,
    MomentsResult as MomentsResult,
    Probability as Probability,
    Quantiles as Quantiles,
)
