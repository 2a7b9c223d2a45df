"""Derivatives of a compiled model's kernels, and its calls by JAX, compiled on their own."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from chaplygin._lazy import later
from chaplygin.errors import optional
from chaplygin.runtime.interface.checksum import seal
from chaplygin.runtime.interface.files import INCLUDE

from .. import emit, lower, toolchain
from ..emit.write_folder import headers_of
from . import cache
from .library import EXPORTED, compile_library, facts_of, lane_library
from .model_sources import graph_text, module_of

if TYPE_CHECKING:
    from chaplygin.runtime.interface.base_model import BaseModel

    from ..plan import plan as planning
else:
    planning = later("chaplygin.codegen.plan.plan")

ALONG_ALONE = ("closure",)
"""Kernels of which the whole Jacobian is taken, along every variable, and no adjoint."""
_SOURCE = INCLUDE.parent / "hosts" / "cg_jax.c"


def build_derivatives(model: BaseModel, kind: str, lanes: int) -> Path:
    """A shared library that defines `<name>_<kind>_<lanes>`, cached or newly compiled; `kind` is one of `KINDS`.

    It is made from the graph file beside the model's module and compiled with the flags of the model.
    Raises EmitError if the graph file is missing, and the errors of `build_lanes`.
    """
    facts = facts_of(module_of(model))
    own = hashlib.sha256(repr((model.digest, graph_text(model), kind, lanes)).encode()).hexdigest()
    key = cache.model_key(own, reproducible=facts["reproducible"], tuned=facts["tuned"])

    def texts() -> dict[str, bytes]:
        program = toolchain.program_of(model)
        left = ("when", *(ALONG_ALONE if kind == "adjoint" else ()))
        kernels = {name: kernel for name, kernel in program.kernels.items() if name not in left}
        program = replace(program, kernels=kernels)
        made = planning.plan(lower.with_derivatives(program, kind))
        files = emit.derivatives_file(program, made, kind, "derivatives(model)")
        return {name: text.encode() for name, text in files.items()}

    return lane_library(key, f"{model.name}_{kind}", texts, lanes, facts)


def depends_on(model: BaseModel, kernel: str, name: str, zero: Sequence[str]) -> bool:
    """Whether a kernel of a model reads the variable of this name, as its graph says, if those of `zero` are zero."""
    text = graph_text(model)
    if f"\nsymbol {name}\n" not in text:
        return False
    g, kernels, _ = lower.read_graph(text)
    roots = g.substitute(kernels[kernel].roots(), {g.symbol(n): g.zero for n in zero})
    return g.depends_on(roots, [g.symbol(name)])


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
