"""Kernels for which a model has no code at first: each is planned and compiled when it is first used."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from chaplygin._lazy import later

from .beside import texts_beside
from .library import build_late

if TYPE_CHECKING:
    from ..emit import late_kernels as emitting
    from ..lower import lowered as lowering, lowered_text as reading
    from ..plan import plan as planning
else:
    emitting = later("chaplygin.codegen.emit.late_kernels")
    lowering = later("chaplygin.codegen.lower.lowered")
    reading = later("chaplygin.codegen.lower.lowered_text")
    planning = later("chaplygin.codegen.plan.plan")


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
