"""Moments, quantiles, histograms and probabilities of any numbers, and their pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaplygin._lazy import face

if TYPE_CHECKING:
    from .results import (
        Histogram as Histogram,
        MomentsResult as MomentsResult,
        Probability as Probability,
        Quantiles as Quantiles,
    )
    from .summary import failures as failures

__getattr__ = face(
    __name__,
    {
        "Histogram": ".results",
        "MomentsResult": ".results",
        "Probability": ".results",
        "Quantiles": ".results",
        "failures": ".summary",
    },
)
