"""The objects that users hold and their methods, each of which leads on to the next step."""

from chaplygin._lazy import face

__getattr__ = face(__name__)
