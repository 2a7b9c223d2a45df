"""The Cython binding of the C library."""

from __future__ import annotations

from ..interface.cpu_variants import search_path

__path__ = search_path(__path__)
