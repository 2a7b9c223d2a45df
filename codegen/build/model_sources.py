"""What a model is compiled from outside Python: its own C files, and those of the runtime that run it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from chaplygin.runtime.c_files import DRIVER, INCLUDE
from chaplygin.runtime.errors import EmitError
from chaplygin.runtime.variants import sources_of

if TYPE_CHECKING:
    from chaplygin.runtime.compiled_model import CompiledModel


def module_of(model: CompiledModel) -> Path:
    """The file of a model's module. Raises EmitError if there is none."""
    path = getattr(model.owner, "__file__", None)
    if path is None:
        raise EmitError(f"{model.name} has no sources: it was not loaded from a file of its own")
    return Path(path)


def folder_of(model: CompiledModel) -> Path:
    """The folder of a model's sources, beside its module. Raises EmitError for one that has no file."""
    return sources_of(module_of(model))


def model_sources(model: CompiledModel) -> dict[str, str]:
    """{file name: text} of the model's core and of the driver's C files, without the headers of the runtime.

    Needs no SymPy: the sources are beside the model's module. Raises EmitError if they are not.
    """
    folder = folder_of(model)
    own = [folder / f"{model.name}{end}" for end in ("_core.h", "_core.c", "_methods.h")]
    if not own[1].exists():
        raise EmitError(f"the C sources of {model.name} are not beside its module in {os.fspath(folder)!r}")
    paths = [*(path for path in own if path.exists()), *(INCLUDE / file for file in DRIVER)]
    return {path.name: path.read_text(encoding="utf-8") for path in paths}


def graph_text(model: CompiledModel) -> str:
    """The text of a model's graph file. Raises EmitError if it is not beside the module."""
    path = folder_of(model) / f"{model.name}_graph.txt"
    if not path.exists():
        raise EmitError(f"{path.name} is not beside the module of {model.name} in {os.fspath(path.parent)!r}")
    return path.read_text(encoding="utf-8")
