"""In which operations and in which order a kernel computes its values: the passes, loops, statements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaplygin._lazy import face

if TYPE_CHECKING:
    from .passes import derived_counts as derived_counts, lower as lower

__getattr__ = face(__name__, {"derived_counts": ".passes", "lower": ".passes"})
