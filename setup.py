"""Build of the packages and their compiled parts. Metadata is in pyproject.toml.

The packages' folders stand at the root of the checkout and are mapped to names below `chaplygin`. Each extension is
optional: where there is no compiler the package still installs, and runs in pure Python with a warning.
"""

from __future__ import annotations

import os
import platform
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

try:
    import numpy
except ImportError:  # an sdist can be made without it
    numpy = None

ROOT = Path(__file__).resolve().parent
FOLDERS = {
    "chaplygin": "src/chaplygin",
    "chaplygin.codegen": "codegen",
    "chaplygin.generated": "generated",
    "chaplygin.runtime": "runtime",
    "chaplygin.systems": "systems",
    "chaplygin.templates": "templates",
}
MACHINE = platform.machine().lower()
X86_64 = MACHINE in ("x86_64", "amd64")
# The same bits on every machine of one kind: nothing fused, nothing tuned to this CPU. See codegen/compilers.py.
PORTABLE = "-O3 -g0 -ffp-contract=off -fno-tree-slp-vectorize -fno-math-errno -fno-trapping-math".split()
if not X86_64 and MACHINE not in ("i386", "i686"):
    PORTABLE.append("-fno-tree-vectorize")
# Lane sets of a shipped model: trajectories in a register and what the compiler may use; chosen from when loaded.
LANES = {
    8: ["-mavx512f", "-mavx512dq", "-mavx512vl", "-mavx512bw", "-mfma", "-mprefer-vector-width=512"],
    4: ["-mavx2", "-mfma"],
    2: [],
}
if MACHINE in ("aarch64", "arm64"):
    LANES = {2: []}
elif not X86_64:
    LANES = {}


def packages() -> dict[str, str]:
    """Every mapped package and the packages inside its folder, as name -> folder."""
    found = dict(FOLDERS)
    for name, folder in FOLDERS.items():
        for init in sorted((ROOT / folder).glob("*/**/__init__.py")):
            inner = init.parent.relative_to(ROOT / folder)
            found[".".join((name, *inner.parts))] = f"{folder}/{inner.as_posix()}"
    return found


def extension(name: str, sources: list[str], macros: list[tuple[str, str | None]]) -> Extension:
    return Extension(
        name,
        sources=sources,
        include_dirs=["runtime", "generated", *([numpy.get_include()] if numpy else [])],
        define_macros=macros,
        depends=sorted(
            path.relative_to(ROOT).as_posix()
            for path in (ROOT / "runtime").iterdir()
            if path.suffix in (".h", ".pxi", ".pxd")
        ),
        libraries=[] if os.name == "nt" else ["m"],
        extra_compile_args=[] if os.name == "nt" else PORTABLE,
        optional=True,
    )


def extensions() -> list[Extension]:
    found: list[Extension] = []
    core = ROOT / "runtime" / "_core.pyx"
    if core.exists():
        driver = [f"runtime/{path.name}" for path in sorted(core.parent.glob("cg_*.c"))]
        macros = [("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")]
        found.append(extension("chaplygin.runtime._core", ["runtime/_core.pyx", *driver], macros))
    for module in sorted((ROOT / "generated").glob("*.pyx")):
        cores = [f"generated/{path.name}" for path in sorted(module.parent.glob(f"{module.stem}_core*.c"))]
        sources = [f"generated/{module.name}", *cores]
        macros = [("CHAPLYGIN_INLINE_METHODS", None)]
        found.append(extension(f"chaplygin.generated.{module.stem}", sources, macros))
    return found


class BuildWithLanes(build_ext):
    """`build_ext`, and for each shipped model its lane file once for every kind of CPU, with its own flags."""

    def build_extension(self, ext: Any) -> None:
        source = ROOT / "generated" / f"{ext.name.rpartition('.')[2]}_lanes.c"
        macros = ext.define_macros
        if os.name != "nt" and LANES and ext.name.startswith("chaplygin.generated.") and source.exists():
            try:
                with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
                    objects = list(pool.map(lambda lanes: self.compile_lanes(source, lanes), LANES))
            except Exception as error:  # a compiler without these targets: the model then has no lanes
                print(f"{source.name}: no lanes ({error})", file=sys.stderr)
            else:
                ext.extra_objects = [*ext.extra_objects, *objects]
                ext.define_macros = [*macros, *((f"CHAPLYGIN_LANES_{lanes}", None) for lanes in LANES)]
        super().build_extension(ext)
        ext.define_macros = macros

    def compile_lanes(self, source: Path, lanes: int) -> str:
        folder = Path(self.build_temp) / f"lanes{lanes}"
        return str(
            self.compiler.compile(
                [source.relative_to(ROOT).as_posix()],
                output_dir=str(folder),
                macros=[("CG_LANES", str(lanes))],
                include_dirs=["runtime", "generated"],
                extra_postargs=[*PORTABLE, *LANES[lanes], "-Wno-psabi"],
            )[0]
        )


PACKAGES = packages()
setup(
    packages=sorted(PACKAGES),
    package_dir=PACKAGES,
    package_data={"": ["*.h", "*.c", "*.in", "*.pyi", "*.pxd", "*.pyx", "*.pxi", "py.typed"]},
    ext_modules=extensions(),
    cmdclass={"build_ext": BuildWithLanes},
    # Cython's C goes to the build folder, so that package data holds only written and committed C.
    options={"build_ext": {"cython_c_in_temp": True}},
    zip_safe=False,
)
