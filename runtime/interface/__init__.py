"""What both halves know of a compiled model: names, kinds, statuses, arguments, messages, files."""

from chaplygin._lazy import face

__getattr__ = face(__name__)
