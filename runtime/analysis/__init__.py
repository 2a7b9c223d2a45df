"""Where a model rests or moves steadily, and how it moves near there."""

from chaplygin._lazy import face

__getattr__ = face(__name__)
