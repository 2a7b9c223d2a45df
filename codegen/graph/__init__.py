"""The expression graph: differentiation, evaluation, linear algebra, to and from SymPy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaplygin._lazy import face

if TYPE_CHECKING:
    from .to_sympy import LARGEST_SIMPLIFIED as LARGEST_SIMPLIFIED, expressions as expressions

__getattr__ = face(__name__, {"LARGEST_SIMPLIFIED": ".to_sympy", "expressions": ".to_sympy"})
