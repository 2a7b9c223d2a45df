"""The table of targets, and the emission of a program for some of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from chaplygin.errors import ArgumentError
from chaplygin.log import stage
from chaplygin.runtime.interface.arguments import boolean, entries, nearest
from chaplygin.runtime.interface.messages import short

from ..lower.sources import Sources
from ..plan.plan import Program
from .c_core import core_files
from .c_lanes import lane_files
from .cython_module import module_files
from .graph_file import graph_files
from .sundials import sundials_files
from .write_folder import with_headers, write

DEFAULT = ("c", "lanes", "cython", "graph")
"""What `emit` prints."""

COMPILED = ("c", "lanes", "graph")
"""What a model is compiled from."""

TARGETS: dict[str, Callable[[Program, str], dict[str, str]]] = {
    "c": core_files,
    "lanes": lane_files,
    "cython": module_files,
    "graph": graph_files,
    "sundials": sundials_files,
}
"""Each target as a function of a program and of the command to be quoted in its files: file name to text.

To add one, write such a function and a row here; the program has everything that it can print.
"""


def emit(program: Program, targets: Sequence[str] = DEFAULT, command: str | None = None) -> Sources:
    """The sources of a model. The same program gives the same bytes.

    `command` is quoted in the files as the command that regenerates them (default: `chaplygin emit`).

    Raises ArgumentError for an unknown target.
    """
    files: dict[str, str] = {}
    command = command or f"chaplygin emit {program.name} --form {program.form} -o DIR"
    for target in (targets,) if isinstance(targets, str) else entries("targets", targets, "a list of names"):
        if not isinstance(target, str) or target not in TARGETS:
            hint = nearest(short(target), tuple(TARGETS)) or f"; known targets are {', '.join(TARGETS)}"
            raise ArgumentError(f"emit: unknown target {short(target)}{hint}")
        with stage("emit", f"{program.name}, {program.form}: {target}"):
            files |= TARGETS[target](program, command)
    return Sources(program.name, program.digest, files)


def emit_to(
    program: Program, folder: str | Path, *, force: bool = False, targets: Sequence[str] = DEFAULT
) -> list[Path]:
    """Write the emitted sources and every header that they include into a folder; return the paths.

    The folder can be compiled on its own, the C core also as C++17. Raises EmitError if a file that `emit` did not
    write is in the way (unless `force`), or if the folder cannot be written to.
    """
    return write(folder, with_headers(emit(program, targets).files), force=boolean("force", force))
