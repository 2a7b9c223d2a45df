"""What a run is given: options, inputs, events, the start, and whether it is consistent."""

from chaplygin._lazy import face

__getattr__ = face(__name__)
