"""The equation forms: one module each, with a `Form` that says what it derives and which systems it fits.

A new form is one file here and one line in `FORMS`. A form's module is imported when the form is needed.
"""

from chaplygin._lazy import face

FORMS = (
    "lagrange",
    "poincare",
    "maggi",
    "multipliers",
    "chetaev",
    "hamel",
    "nonholonomic",
    "routh",
    "whittaker",
    "recursive",
    "given",
)
"""All forms by name, which is that of their module. The first that fits a system is its default, unless another
is preferred."""

__getattr__ = face(__name__)
