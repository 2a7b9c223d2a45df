"""Moments, quantiles, histograms and probabilities of any numbers, and their pictures."""
