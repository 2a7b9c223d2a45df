"""What a shipped model must carry: the licences of the code in it."""

from __future__ import annotations

import re
from importlib.resources import files

from chaplygin.runtime.interface.files import runtime_text

_ABOUT = (
    "This model contains code of chaplygin, in source or compiled: its runtime, and text of its templates. Its\n"
    "licence, which follows, asks that this notice is kept with the model. The equations are those of the\n"
    "declaration, and belong to its author.\n\n"
)
_FMI = "\n----\n\nThe headers of the Functional Mock-up Interface {version} come from the FMI standard:\n\n"


def licence() -> str:
    """The text that goes with the C code of a model."""
    return _ABOUT + files("chaplygin.templates").joinpath("license.txt").read_text(encoding="utf-8")


def fmu_licence(version: str) -> str:
    """The text that goes with an FMU of a version."""
    header = runtime_text(f"fmi{version[0]}Functions.h")
    found = re.search(r"^\s*Copyright \(C\).*?(?=\*/)", header, re.DOTALL | re.MULTILINE)
    assert found is not None
    return licence() + _FMI.format(version=version) + found[0].strip() + "\n"
