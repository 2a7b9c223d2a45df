"""Moments, quantiles, histograms and probabilities of any numbers, and their pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaplygin._lazy import face

if TYPE_CHECKING:
    from .summary import failures as failures

__getattr__ = face(__name__, {"failures": ".summary"})
