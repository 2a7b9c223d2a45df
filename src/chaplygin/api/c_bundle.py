"""C bundles: a folder with a model and its integrators in C, to be compiled without Python."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from chaplygin.codegen.emit.bundle import GROUPS, TAKEN, Bundle
from chaplygin.codegen.emit.c_bundle import bundle_files
from chaplygin.codegen.emit.single_precision import REFUSED
from chaplygin.codegen.emit.write_folder import write
from chaplygin.codegen.toolchain.library import facts_of
from chaplygin.codegen.toolchain.model_sources import model_sources, module_of
from chaplygin.errors import ArgumentError, EmitError
from chaplygin.runtime.interface.arguments import (
    SERIES,
    choice,
    entries,
    no_jacobian,
    path,
    short,
    unknown_method,
)
from chaplygin.runtime.model.compiled_model import CompiledModel

SCALARS = ("double", "float")
SINGLE = "dop853"
"""The default method in single precision: at its tolerances the fastest of those that are not refused."""


def export_c(
    model: CompiledModel,
    folder: str | os.PathLike[str],
    methods: Sequence[str] | None,
    scalar: str,
    single_header: bool,
    start: Mapping[str, float],
    prefix: str = "",
) -> Path:
    """Write the C bundle of a model; see `Model.export_c`. `start`: the start values of its example by name."""
    choice("export_c: scalar", scalar, SCALARS)
    if model.name in TAKEN:
        raise ArgumentError(
            f"export_c: {model.name!r} is the name of a header of the C library, of a file of the bundle, or of a "
            "target of CMake; give the system another name"
        )
    if not isinstance(prefix, str) or re.fullmatch(r"(?:[A-Za-z]\w*)?", prefix, re.ASCII) is None:
        raise ArgumentError(
            f"export_c: prefix = {short(prefix)} cannot begin names in C; give letters, digits and _, a letter first"
        )
    target = path("export_c: folder", folder)
    bundle = _described(model, _chosen(model, methods, scalar), scalar, single_header, start, prefix)
    _require_own(target, bundle)
    write(target, bundle_files(bundle, model_sources(model)), force=True)
    return target


def _chosen(model: CompiledModel, methods: Sequence[str] | None, scalar: str) -> tuple[str, ...]:
    """The names of the methods."""
    if methods is None:
        methods = (model.default_method() if scalar == "double" else SINGLE,)
    names: list[Any] = (
        [methods] if isinstance(methods, str) else entries("export_c: methods", methods, "a list")
    )
    if not names:
        raise ArgumentError(f"export_c: methods is empty; it can have {', '.join(model.methods)}")
    if scalar == "float" and SERIES in model.methods:
        raise ArgumentError(f'export_c: {SERIES} is not available with scalar="float": {REFUSED[SERIES]}')
    for name in names:
        if not isinstance(name, str) or name not in model.methods:
            raise unknown_method(name, model.methods)
        if model.methods[name].implicit and "jacobian" not in model.kernels:
            raise no_jacobian(name, model.name)
        if scalar == "float" and name in REFUSED:
            raise ArgumentError(f'export_c: {name} is not available with scalar="float": {REFUSED[name]}')
    return tuple(dict.fromkeys(names))


def _described(
    model: CompiledModel,
    chosen: tuple[str, ...],
    scalar: str,
    single_header: bool,
    start: Mapping[str, float],
    prefix: str,
) -> Bundle:
    parts = ("dop853", "rodas5p") if "auto" in chosen else ()  # what "auto" switches between
    methods = [method for method in model.methods if method in (*chosen, *parts)]
    names = {what: getattr(model, what) for what in GROUPS.values()}
    names["invariants"] = (*model.invariants, *model.residuals)
    sizes = {method: model._sizes(method) for method in methods}
    return Bundle(
        name=model.name,
        form=model.form,
        digest=model.digest,
        variables={what: [model.variables[name] for name in listed] for what, listed in names.items()},
        start=start,
        chosen=chosen,
        methods={method: model.methods[method] for method in methods},
        sizes={method: size for method, (size, _) in sizes.items()},
        detector_size=max(size for _, size in sizes.values()),
        contacts=bool(model.contacts),
        scalar=scalar,
        reproducible=facts_of(module_of(model))["reproducible"],
        single_header=single_header,
        independent=model.independent,
        symbols=prefix,
    )


def _require_own(folder: Path, bundle: Bundle) -> None:
    """Refuse a folder with another content than a bundle of the same command."""
    readme = folder / "README.md"
    try:
        if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
            return
        known = readme.read_text(encoding="utf-8").partition("\n")[0] if readme.is_file() else ""
    except (OSError, UnicodeError) as error:
        raise EmitError(
            f"cannot read {os.fspath(folder)!r}: {getattr(error, 'strerror', None) or error}"
        ) from error
    if known != f"<!-- {bundle.mark} -->":
        raise EmitError(
            f"{os.fspath(folder)!r} is not empty and was not made by this command; choose another folder, or remove it"
        )
