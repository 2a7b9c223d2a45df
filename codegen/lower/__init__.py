"""From equations to a `Lowered`: which values each kernel computes."""

from chaplygin._lazy import face

__getattr__ = face(__name__)
