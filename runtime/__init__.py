"""Running compiled models: calls, integration, ensembles. Never imports SymPy.

A process that only compiles needs no NumPy, a short run no ensembles: names are imported on first use.
"""

from chaplygin._lazy import face

__getattr__ = face(__name__)
