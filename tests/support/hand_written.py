"""A model with a C core written by hand: an oracle for the build that does not depend on the generator."""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import subprocess
import sysconfig
from dataclasses import dataclass
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from chaplygin.api.model import load_library
from chaplygin.codegen.emit.cython_module import module_files
from chaplygin.codegen.lower.sources import Sources
from chaplygin.codegen.toolchain.compiler import find_compiler
from chaplygin.runtime.interface.description import Variable
from chaplygin.runtime.interface.files import INCLUDE

ROOT = Path(__file__).resolve().parents[2]

HEADER = """
#include "chaplygin.h"
extern const cg_model_t NAME_model;
int NAME_rhs(double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p, const double *CG_RESTRICT u,
             double *CG_RESTRICT out, double *CG_RESTRICT work);
"""

CORE = """
#include <math.h>
#include <stddef.h>
#include "NAME_core.h"

int NAME_rhs(double t, const double *CG_RESTRICT x, const double *CG_RESTRICT p, const double *CG_RESTRICT u,
             double *CG_RESTRICT out, double *CG_RESTRICT work)
{
    (void)t; (void)u; (void)work; (void)p;
    BODY
    return CG_OK;
}

static const cg_variable_t states[] = {
    {"q", "m", "position", 1.0, CG_COORDINATE, 0}, {"q_dot", "m/s", "", 0.0, CG_VELOCITY, 0}};
static const cg_variable_t parameters[] = {
    {"m", "kg", "mass", 1.0, CG_PARAMETER, 0}, {"k", "N/m", "stiffness", 4.0, CG_PARAMETER, 0}};

static const cg_kernel_entry_t kernels[] = {
    {"rhs", "dx/dt", CG_TAKES_STATE, 2, (cg_function_t)NAME_rhs}, {NULL, NULL, 0, 0, NULL}};

const cg_model_t NAME_model = {
    .abi_version = CG_ABI_VERSION, .struct_size = sizeof(cg_model_t), .name = "NAME", .form = "lagrange",
    .digest = "00", .generator = "by hand", .scalar = "float64", .independent = "t",
    .n_states = 2, .n_coordinates = 1, .n_parameters = 2,
    .states = states, .parameters = parameters, .kernels = kernels, .rhs = NAME_rhs,
};
"""

OSCILLATOR = "out[0] = x[1]; out[1] = -p[1] * x[0] / p[0];"


@dataclass(frozen=True)
class Shape:
    """The attributes of a Program that `module_files` reads."""

    name: str
    form: str = "lagrange"
    digest: str = "00"
    states: tuple[Variable, ...] = (Variable("q", "coordinate"), Variable("q_dot", "velocity"))
    parameters: tuple[Variable, ...] = (Variable("m", "parameter"), Variable("k", "parameter"))
    inputs: tuple[Variable, ...] = ()
    outputs: tuple[Variable, ...] = ()
    invariants: tuple[Variable, ...] = ()


def sources(name: str = "oscillator", body: str = OSCILLATOR, **changed: str) -> Sources:
    """The sources of a model with right-hand side `body`; `changed` replaces files by suffix, e.g. pyx="..."."""
    shape: Any = Shape(name)
    files = {
        f"{name}_core.h": HEADER.replace("NAME", name),
        f"{name}_core.c": CORE.replace("NAME", name).replace("BODY", body),
        **module_files(shape, f"chaplygin emit {name} --form lagrange"),
        **{f"{name}.{suffix}": text for suffix, text in changed.items()},
    }
    return Sources(name=name, digest="00", files=files)


def key_of(texts: Sources) -> str:
    """A key for the cache that changes with the texts and with the binary interface."""
    interface = (ROOT / "runtime" / "c" / "chaplygin.h").read_text(encoding="utf-8")
    return hashlib.sha1(repr((interface, sorted(texts.files.items()))).encode()).hexdigest()


def loaded(path: Path) -> SimpleNamespace:
    """The model in the library at `path`."""
    return SimpleNamespace(model=load_library(path, path.name.partition(".")[0]))


def extension_module(texts: Sources, folder: Path) -> Path:
    """The Cython module of a model, compiled in `folder` with its sources."""
    from Cython.Compiler.Main import CompilationOptions, compile_single, default_options

    for file, text in texts.files.items():
        (folder / file).write_text(text)
    options = CompilationOptions(
        default_options, output_file=str(folder / "shell.c"), include_path=[str(folder)], language_level=3
    )
    source = str(folder / f"{texts.name}.pyx")
    assert compile_single(source, options, full_module_name=texts.name).num_errors == 0
    target = texts.name + EXTENSION_SUFFIXES[0]
    compiler = find_compiler()
    command = [*compiler.command, "-O1", "-w", "-fPIC", f"-I{INCLUDE}", f"-I{sysconfig.get_path('include')}"]
    sources = ["shell.c", f"{texts.name}_core.c"]
    subprocess.run([*command, *compiler.link_flags(), *sources, "-o", target, "-lm"], cwd=folder, check=True)
    return folder / target


def imported(path: Path) -> ModuleType:
    """The extension module at `path`."""
    spec = importlib.util.spec_from_file_location(path.name.partition(".")[0], path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pointer(capsule: object, name: str) -> int:
    """The pointer in a capsule of the given name."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    found = get(capsule, name.encode())
    assert found
    return int(found)


def call_rhs(module: Any, x: tuple[float, ...], p: tuple[float, ...]) -> tuple[float, ...]:
    """The right-hand side, by its address."""
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_double, *[ctypes.c_void_p] * 5)
    out = (ctypes.c_double * len(x))()
    status = kind(module.model.addresses["rhs"])(
        0.0, (ctypes.c_double * len(x))(*x), (ctypes.c_double * len(p))(*p), None, out, None
    )
    assert status == 0
    return tuple(out)
