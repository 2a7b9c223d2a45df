"""From equations to a `Lowered`: which values each kernel computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaplygin._lazy import face

if TYPE_CHECKING:
    from .derivatives import with_derivatives as with_derivatives
    from .graph_text import read_graph as read_graph

__getattr__ = face(__name__, {"read_graph": ".graph_text", "with_derivatives": ".derivatives"})
