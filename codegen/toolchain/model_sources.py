"""What a model is compiled from outside Python: its own C files, and those of the runtime that run it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from chaplygin.errors import EmitError
from chaplygin.runtime.interface.cpu_variants import sources_of
from chaplygin.runtime.interface.files import DRIVER, INCLUDE

from .beside import texts_beside

if TYPE_CHECKING:
    from chaplygin.runtime.interface.base_model import BaseModel


def module_of(model: BaseModel) -> Path:
    """The file of a model's module. Raises EmitError if there is none."""
    path = getattr(model.owner, "__file__", None)
    if path is None:
        raise EmitError(f"{model.name} has no sources: it was not loaded from a file of its own")
    return Path(path)


def model_sources(model: BaseModel) -> dict[str, str]:
    """{file name: text} of the model's core and of the driver's C files, without the headers of the runtime.

    Needs no SymPy: the sources are beside the model's module. Raises EmitError if they are not, BuildError if one has
    changed since it was stored in the cache.
    """
    module = module_of(model)
    names = [f"{model.name}{end}" for end in ("_core.h", "_core.c", "_methods.h")]
    own = texts_beside(module, names.__contains__)
    if names[1] not in own:
        raise EmitError(f"the C sources of {model.name} are not beside its module in {_place(module)}")
    driver = {file: (INCLUDE / file).read_text(encoding="utf-8") for file in DRIVER}
    return {name: own[name].decode() for name in names if name in own} | driver


def graph_text(model: BaseModel) -> str:
    """The text of a model's graph file. Raises EmitError if it is not there, BuildError if it is damaged."""
    module, name = module_of(model), f"{model.name}_graph.txt"
    found = texts_beside(module, name.__eq__)
    if name not in found:
        raise EmitError(f"{name} is not beside the module of {model.name} in {_place(module)}")
    return found[name].decode()


def _place(module: Path) -> str:
    return repr(os.fspath(sources_of(module)))
