"""The library through which JAX calls models, compiled for the installed JAX."""

from __future__ import annotations

import hashlib
from pathlib import Path

from chaplygin.errors import optional
from chaplygin.runtime.interface.checksum import seal
from chaplygin.runtime.interface.files import INCLUDE

from ..emit.write_folder import headers_of
from . import cache
from .library import EXPORTED, compile_library

_SOURCE = INCLUDE.parent / "hosts" / "cg_jax.c"


def build_jax_library() -> Path:
    """The library from the cache, or compiled against the headers of the installed JAX.

    Raises BuildError, NoCompilerError, CacheError.
    """
    jax = optional("jax", "Model.to_jax", "jax")
    headers = Path(jax.ffi.include_dir())
    texts = {_SOURCE.name: _SOURCE.read_text(encoding="utf-8")}
    texts |= headers_of(texts)
    interface = (headers / "xla" / "ffi" / "api" / "c_api.h").read_bytes()
    digest = hashlib.sha256(repr((sorted(texts.items()), interface)).encode()).hexdigest()
    compiler = cache.cached_compiler()
    key = cache.model_key(digest, tuned=False, compiler=compiler)
    with cache.locked(key):
        found = cache.lookup(key)
        if found is not None:
            return found
        flags = compiler.core_flags(tuned=False, reproducible=True)
        flags = (*flags, f"-I{headers}", f"-DCG_EXPORTED={EXPORTED}")
        with cache.workspace() as work:
            for name, text in texts.items():
                (work / name).write_bytes(text.encode())
            made = compile_library("cg_jax", work, compiler, [_SOURCE.name], flags, cache.log_path(key))
            seal(made)
            return cache.publish(key, work, made.name, {"name": "cg_jax", "jax": jax.__version__})
