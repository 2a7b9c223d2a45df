"""The library through which JAX calls models, compiled for the installed JAX."""

from __future__ import annotations

import hashlib
from pathlib import Path

from chaplygin.runtime.c_files import INCLUDE

from . import cache
from .extension import EXPORTED, compile_library

_SOURCE = INCLUDE.parent / "hosts" / "cg_jax.c"


def build_jax_library() -> Path:
    """The library from the cache, or compiled against the headers of the installed JAX.

    Raises BuildError, NoCompilerError, CacheError.
    """
    import jax

    headers = Path(jax.ffi.include_dir())
    parts = [_SOURCE, INCLUDE / "chaplygin.h", headers / "xla" / "ffi" / "api" / "c_api.h"]
    texts = [path.read_bytes() for path in parts]
    compiler = cache.cached_compiler()
    key = cache.model_key(hashlib.sha256(repr(texts).encode()).hexdigest(), tuned=False, compiler=compiler)
    with cache.locked(key):
        found = cache.lookup(key)
        if found is not None:
            return found
        flags = compiler.core_flags(tuned=False, reproducible=True)
        flags = (*flags, f"-I{headers}", f"-DCG_EXPORTED={EXPORTED}")
        with cache.workspace() as work:
            for path, text in zip(parts[:2], texts):
                (work / path.name).write_bytes(text)
            made = compile_library("cg_jax", work, compiler, [_SOURCE.name], flags, cache.log_path(key))
            return cache.publish(key, work, made.name, {"name": "cg_jax", "jax": jax.__version__})
