"""Numbers that several rooms share: limits of a start, default methods, what compiling is worth."""

from __future__ import annotations

WARN, REFUSE = 1e-8, 1e-4
"""Ratios of a residual to the sum of the magnitudes of its terms above which it causes a warning, and an error."""
EXPECTED = 10.0
"""Tolerances that the errors of a run's steps add up to, without a warning."""
FLOOR = 1e8
"""Lower bound of the sum, in units of atol * sum |dr/dx_j|: a residual explained by `atol` causes no warning."""
LARGEST_ATOL = 1e-9
"""A larger `atol` does not make the check looser."""
WORTH = 512
"""Number of trajectories from which lanes are compiled without being requested: compilation takes 0.3 to 2 s."""
DEFAULT_METHODS = "vern9 for tolerances up to 1e-5, up to 1e-13 with events or contacts, else dop853"
"""What `Model.default_method` chooses, for help texts; the table is in runtime/c/cg_default.h."""
