"""FMUs: the sources of a model with those of the runtime, compiled for this platform, and described in XML."""

from __future__ import annotations

import hashlib
import io
import itertools
import os
import platform
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from chaplygin.errors import ArgumentError, EmitError
from chaplygin.runtime.interface.arguments import choice, entries, nearest, path as as_path
from chaplygin.runtime.interface.assumptions import RATE
from chaplygin.runtime.interface.base_model import BaseModel
from chaplygin.runtime.interface.files import DRIVER, runtime_files, runtime_text
from chaplygin.runtime.interface.messages import short

from ..emit.c_text import c_string
from ..emit.fmi_description import KINDS, VERSIONS, Described, build_description, description
from ..emit.fmu_sources import HEADER as PREFIX_HEADER, dependencies, fmu_kernel_file, with_prefix
from ..emit.render import fmu_licence, render
from ..emit.write_folder import replace, with_headers
from ..lower.lowered import Lowered
from ..lower.lowered_text import QUANTITIES
from ..plan.fmu_kernels import with_fmu_kernels
from ..plan.plan import plan
from . import cache
from .compiler import PLATFORMS, Compiler, cross_compiler
from .library import compile_library, compile_object, facts_of
from .model_program import program_of
from .model_sources import model_sources, module_of

_FUNCTIONS = {"2.0": ("cg_fmi.c",), "3.0": ("cg_fmi.c", "cg_fmi3_absent.c")}
_SHARED = ("cg_fmu.c", "cg_fmu_derivative.c", "cg_fmu_events.c", "cg_fmu_report.c", "cg_fmu_state.c",
           "cg_fmu_values.c")  # fmt: skip
_DATE = (1980, 1, 1, 0, 0, 0)  # of every file in the archive, so that the same model gives the same bytes


def export_fmu(
    model: BaseModel,
    path: str | os.PathLike[str],
    version: str,
    kind: str,
    platforms: Sequence[str],
    start: Mapping[str, float],
    experiment: Mapping[str, float],
    report: Callable[[int, int], None],
) -> Path:
    """Write the FMU of a model; see `Model.export_fmu`. `start`: its start values, `experiment`: the default one.

    `report` is called with the numbers of files that are compiled already, and of all.
    """
    target = as_path("export_fmu: path", path)
    for what, given, known in (("version", version, VERSIONS), ("kind", kind, tuple(KINDS))):
        choice(f"export_fmu: {what}", given, known)
    rated = [name for name in model.inputs if model.variables[name].flags & RATE]
    if rated and (version, kind) != ("2.0", "co-simulation"):
        raise ArgumentError(
            f"export_fmu: {model.name} needs the derivatives of inputs ({', '.join(rated)}), which a simulator sets by "
            f"fmi2SetRealInputDerivatives: give version='2.0' and kind='co-simulation' (this is {version}, {kind})"
        )
    platforms = entries("export_fmu: platforms", platforms, f"a list of {', '.join(PLATFORMS)}")
    for name in platforms:
        if not isinstance(name, str) or name not in PLATFORMS:
            hint = nearest(str(name), tuple(PLATFORMS))
            raise ArgumentError(
                f"export_fmu: unknown platform {short(name)}; known are {', '.join(PLATFORMS)}{hint}"
            )
    compilers = {_here(): cache.cached_compiler()}
    compilers |= {name: cross_compiler(name) for name in platforms if name not in compilers}
    _refuse(target)
    program = program_of(model, emitted=True)
    rows = {kernel: dependencies(program, kernel) for kernel in QUANTITIES}
    texts = _sources(model, program, version, start)
    described = Described(model, version, kind, start, _units(model, version), rows, experiment)
    text = description(described, "")
    token = hashlib.sha256(repr((text, sorted(texts.items()))).encode()).hexdigest()[:32]
    token = "{" + "-".join((token[:8], token[8:12], token[12:16], token[16:20], token[20:])) + "}"
    texts[f"{model.name}_fmu.c"] = texts[f"{model.name}_fmu.c"].replace("TOKEN", token)
    files: dict[str, str | bytes] = {"modelDescription.xml": description(described, token)}
    files["documentation/licenses/license.txt"] = fmu_licence(version)
    if version == "3.0":
        files["sources/buildDescription.xml"] = build_description(described)
    files |= {f"sources/{name}": text for name, text in texts.items()}
    total, counter = len(described.files) * len(compilers), itertools.count()

    def done() -> None:
        report(next(counter), total)

    done()
    for name, compiler in compilers.items():
        files[_binary(model.name, version, name)] = _compiled(model, compiler, texts, described.files, done)
    _archive(target, files)
    return target


def _sources(model: BaseModel, program: Lowered, version: str, start: Mapping[str, float]) -> dict[str, str]:
    """{file name: text} of everything that the FMU is compiled from."""
    name, texts = model.name, model_sources(model)
    for file in runtime_files():
        if file in (*_SHARED, "cg_fmu.h", *_FUNCTIONS[version]) or file.startswith(f"fmi{version[0]}"):
            texts[file] = runtime_text(file)
    texts["cg_fmi_version.h"] = f"/* Generated by chaplygin. */\n#define CG_FMI_VERSION {version[0]}\n"

    def row(names: Sequence[str]) -> str:
        return ", ".join(repr(float(start[n])) for n in names) or "0.0"

    inline = "#define CHAPLYGIN_INLINE_METHODS\n" if facts_of(module_of(model))["inline"] else ""
    texts[f"{name}_fmu_core.c"] = render("fmu_core.c.in", {"name": name, "inline": inline})
    texts[f"{name}_fmu.c"] = render(
        "fmu.c.in",
        {
            "name": name,
            "token": c_string("TOKEN"),
            "states": row(model.states),
            "parameters": row(model.parameters),
            "inputs": row(model.inputs),
        },
    )
    texts[f"{name}_fmu_kernels.c"] = fmu_kernel_file(plan(with_fmu_kernels(program, QUANTITIES)))
    return with_prefix(with_headers(texts))


def _units(model: BaseModel, version: str) -> tuple[str, ...]:
    """The C files that are compiled; the others are included by them."""
    own = (f"{model.name}_fmu{part}.c" for part in ("", "_core", "_kernels"))
    return (*own, *DRIVER, *_SHARED, *_FUNCTIONS[version])


def _here() -> str:
    """This platform, by its name in FMI 3.0."""
    machine = platform.machine().lower()
    system = {"win32": "windows", "darwin": "darwin"}.get(sys.platform, "linux")
    return f"{ {'amd64': 'x86_64', 'arm64': 'aarch64'}.get(machine, machine) }-{system}"


def _binary(name: str, version: str, target: str) -> str:
    """The place of the library for a platform in the archive."""
    system = target.partition("-")[2]
    place = target
    if version == "2.0" and target.startswith("x86_64-"):
        place = {"windows": "win64", "darwin": "darwin64", "linux": "linux64"}[system]
    return f"binaries/{place}/{name}.{ {'windows': 'dll', 'darwin': 'dylib'}.get(system, 'so') }"


def _compiled(
    model: BaseModel,
    compiler: Compiler,
    texts: Mapping[str, str],
    units: Sequence[str],
    done: Callable[[], None],
) -> bytes:
    """The library for any processor of a kind; `done` is called for each of `units`.

    What is the same in all FMUs, or in all of a model, is compiled once.
    """
    facts = facts_of(module_of(model))
    flags = compiler.core_flags(tuned=False, reproducible=facts["reproducible"])
    objects = []
    if not compiler.crosses:  # not every linker joins the objects of another platform
        own = {name for name in texts if name.startswith(f"{model.name}_")}
        apart = {f"{model.name}_fmu.c"} | {n for n in texts.keys() - own if n.startswith(("fmi", "cg_fmi"))}
        every = {name: text for name, text in texts.items() if name not in apart}
        every[PREFIX_HEADER] = ""  # renames functions of a version of FMI, but not in a library
        runtime = {name: text for name, text in every.items() if name not in own}
        for name, known in (("cg_fmu_runtime", runtime), (f"{model.name}_fmu_model", every)):
            shared = [unit for unit in units if unit in known]
            objects.append(compile_object(name, known, compiler, shared, flags))
            for _ in shared:
                done()
            units = [unit for unit in units if unit not in known]
    with cache.workspace() as work:
        for file, text in texts.items():
            (work / file).write_bytes(text.encode())
        log = cache.log_path(f"{model.name}-fmu")
        return compile_library(model.name, work, compiler, units, flags, log, objects, done).read_bytes()


def _refuse(target: Path) -> None:
    """Raise EmitError if the target exists and is anything but an FMU."""
    try:
        ours = not target.exists() or (target.is_file() and _is_fmu(target))
    except OSError as error:
        raise EmitError(f"cannot write to {os.fspath(target)!r}: {error.strerror}") from error
    if not ours:
        raise EmitError(
            f"{os.fspath(target)!r} exists and is not an FMU; choose another name or move it away"
        )


def _is_fmu(path: Path) -> bool:
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return "modelDescription.xml" in archive.namelist()


def _archive(target: Path, files: Mapping[str, str | bytes]) -> None:
    """Write a zip archive; an existing FMU is replaced at once."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for place, content in files.items():
            entry = zipfile.ZipInfo(place, _DATE)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, content)
    _refuse(target)
    try:
        replace(target, packed.getvalue())
    except OSError as error:
        raise EmitError(f"cannot write to {os.fspath(target.parent)!r}: {error.strerror}") from error
