"""Moments, quantiles, histograms and probabilities of any numbers, and their pictures."""

from chaplygin._lazy import face

__getattr__ = face(__name__)
