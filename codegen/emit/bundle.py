"""What is known of a C bundle before its files are made."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chaplygin._version import __version__
from chaplygin.runtime.interface.description import Method, Variable

from .render import provenance

TAKEN = ("assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg "
         "stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype "
         "example cg_runtime Makefile all clean help install package test").split()  # fmt: skip
"""Names that a bundle cannot have: of headers of the C library, files of the bundle, targets of make and CMake."""

GROUPS = {"x": "states", "p": "parameters", "u": "inputs", "outputs": "outputs", "invariants": "invariants"}
"""The kinds of variables: the array of a run, or the kernel, that has them, and the field of `Bundle.variables`."""


@dataclass(frozen=True)
class Bundle:
    """What is known of a bundle. `variables` by `states`, `parameters`, `inputs`, `outputs` and `invariants`."""

    name: str
    form: str
    digest: str
    variables: Mapping[str, Sequence[Variable]]
    start: Mapping[str, float]
    chosen: tuple[str, ...]
    """The methods that were asked for; the example uses the first."""
    methods: Mapping[str, Method]
    """These and what they are made of, in the order in which they are compiled."""
    sizes: Mapping[str, int]
    """Bytes of a run with each method."""
    detector_size: int
    """Bytes of a detector; 0 without events and contacts."""
    contacts: bool
    scalar: str
    """The type of all numbers: double or float."""
    reproducible: bool
    single_header: bool
    independent: str
    """The independent variable: t for the time."""
    symbols: str = ""
    """What the external names begin with, so that two bundles can be in one program."""

    @property
    def prefix(self) -> str:
        return self.name.upper()

    @property
    def options(self) -> str:
        scalar = " --scalar float" * self.single_precision
        prefix = f" --prefix {self.symbols}" if self.symbols else ""
        return f" --methods {' '.join(self.chosen)}{scalar}{' --single-header' * self.single_header}{prefix}"

    @property
    def library(self) -> str:
        """The name of the library, which is that of the model with the prefix."""
        return f"{self.symbols}{self.name}"

    @property
    def compatible(self) -> str:
        """The version that names what can be exchanged without compiling a program again: the first two numbers."""
        return ".".join(self.version.split(".")[:2])

    @property
    def single_precision(self) -> bool:
        return self.scalar == "float"

    @property
    def command(self) -> str:
        return f"chaplygin export-c {self.name} --form {self.form}{self.options} -o DIR"

    @property
    def mark(self) -> str:
        """The first line of the README, by which a bundle of the same command is recognised."""
        return f"A C bundle by chaplygin: {self.name}, form {self.form},{self.options}."

    @property
    def sources(self) -> tuple[str, ...]:
        """The C files to compile."""
        return (f"{self.name}.c",) if self.single_header else (f"{self.name}.c", "cg_runtime.c")

    @property
    def flags(self) -> str:
        """For gcc and clang. If reproducible, the bits of results depend on neither the level nor the processor."""
        return f"-ffp-contract={'off' if self.reproducible else 'fast'} -fno-math-errno -fno-trapping-math"

    @property
    def version(self) -> str:
        """Of this package."""
        return __version__

    def provenance(self, template: str, comment: str) -> str:
        return provenance(template, self.digest, self.command, comment)


def index_of(bundle: Bundle, group: str, name: str) -> str | None:
    """The name in C of a variable's index: `HEAVY_TOP_X_w1`; None if its own name is not a C identifier."""
    return f"{bundle.prefix}_{group.upper()}_{name}" if re.fullmatch(r"\w+", name, re.ASCII) else None
