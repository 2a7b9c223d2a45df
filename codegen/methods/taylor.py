"""Taylor's method: the motion is continued by its own power series."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Taylor:
    """Taylor's method, whose C code is made from the equations of a model instead of from coefficients.

    The order follows from the tolerance, and the step from the last two coefficients. Source: `source`, equations
    (11) and (12).
    """

    name: str
    summary: str
    source: str


TAYLOR = Taylor(
    name="taylor",
    summary="order from the tolerance, up to 18, for tight tolerances",
    source="A. Jorba, M. Zou, A software package for the numerical integration of ODEs by means of high-order Taylor "
    "methods, Experimental Mathematics 14 (2005) 99-117",
)
