"""The Cython binding of the C library."""

from chaplygin._lazy import face

from ..interface.cpu_variants import search_path

__path__ = search_path(__path__)
__getattr__ = face(__name__)
