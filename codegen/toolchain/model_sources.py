"""What a model is compiled from outside Python: its own C files, and those of the runtime that run it; late kernels."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING

from chaplygin._lazy import later
from chaplygin.errors import EmitError
from chaplygin.runtime.interface.cpu_variants import sources_of
from chaplygin.runtime.interface.files import DRIVER, runtime_text

from .library import build_late, texts_beside

if TYPE_CHECKING:
    from chaplygin.runtime.interface.base_model import BaseModel

    from ..emit import c_derivatives as emitting, targets
    from ..lower import lowered as lowering, lowered_text as reading
    from ..plan import plan as planning
else:
    emitting = later("chaplygin.codegen.emit.c_derivatives")
    lowering = later("chaplygin.codegen.lower.lowered")
    planning = later("chaplygin.codegen.plan.plan")
    reading = later("chaplygin.codegen.lower.lowered_text")
    targets = later("chaplygin.codegen.emit.targets")


def module_of(model: BaseModel) -> Path:
    """The file of a model's module. Raises EmitError if there is none."""
    path = getattr(model.owner, "__file__", None)
    if path is None:
        raise EmitError(f"{model.name} has no sources: it was not loaded from a file of its own")
    return Path(path)


def _emitted(module: Path) -> dict[str, str]:
    """{file name: text} of what `emit` writes of a model, also if some of its kernels have no code yet."""
    text = lowered_beside(module)
    if text is not None:
        return _planned(text)
    name = module.name.split(".")[0]
    names = [f"{name}{end}" for end in ("_core.h", "_core.c", "_methods.h", "_graph.txt")]
    return {name: text.decode() for name, text in texts_beside(module, names.__contains__).items()}


@functools.lru_cache(maxsize=1)
def _planned(lowered: str) -> dict[str, str]:
    """The same of the program with this text: one export asks for several of its files."""
    return dict(targets.emit(planning.plan(reading.read_lowered(lowered)), targets.COMPILED).files)


def model_sources(model: BaseModel) -> dict[str, str]:
    """{file name: text} of the model's core and of the driver's C files, without the headers of the runtime.

    Those of a shipped model are beside its module and need no SymPy. Raises EmitError if they are not, BuildError if
    one has changed since it was stored in the cache.
    """
    module = module_of(model)
    names = [f"{model.name}{end}" for end in ("_core.h", "_core.c", "_methods.h")]
    own = _emitted(module)
    if names[1] not in own:
        raise EmitError(f"the C sources of {model.name} are not beside its module in {_place(module)}")
    driver = {file: runtime_text(file) for file in DRIVER}
    return {name: own[name] for name in names if name in own} | driver


def graph_text(model: BaseModel, *, emitted: bool = False) -> str:
    """The text of a model's graph file: that of its entry in the cache, or as `emit` writes it.

    They differ if some kernels have no code yet: those are there before the search for fewer operations.
    Raises EmitError if the file is not there, BuildError if it is damaged.
    """
    module, name = module_of(model), f"{model.name}_graph.txt"
    if emitted:
        found = _emitted(module)
    else:
        found = {file: text.decode() for file, text in texts_beside(module, name.__eq__).items()}
    if name not in found:
        raise EmitError(f"{name} is not beside the module of {model.name} in {_place(module)}")
    return found[name]


def _place(module: Path) -> str:
    return repr(os.fspath(sources_of(module)))


def lowered_beside(module: Path) -> str | None:
    """The program of a model before its passes, as a text; None if all of it was compiled at once.

    Raises BuildError for a damaged file.
    """
    name = f"{module.name.split('.')[0]}_lowered.txt"
    found = texts_beside(module, name.__eq__)
    return found[name].decode() if found else None


def build_kernel(module: Path, kernel: str) -> Path:
    """The library of a kernel, which defines `<name>_<kernel>_alone`, cached or newly compiled.

    `module` is the path that `build` returned. The kernel is planned alone, so its code does not depend on which were
    used before. Raises as `build_lanes`.
    """

    def texts() -> dict[str, str]:
        text = lowered_beside(module)
        assert text is not None
        program = reading.read_lowered(text)
        source = lowering.coded_from(program, kernel)
        return emitting.late_file(planning.plan(program, only=(source,)), kernel)

    return build_late(module, kernel, texts)
