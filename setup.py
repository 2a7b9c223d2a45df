"""Build of the packages and their compiled parts. Metadata is in pyproject.toml.

The packages' folders are at the root of the checkout and are mapped to names below `chaplygin`. Each extension is
optional: without a compiler the package still installs, and runs in pure Python with a warning.

With CHAPLYGIN_LANES=1 in the environment the shipped models include their lane sets, for machines without a compiler;
otherwise the one set that this machine needs is compiled when an ensemble first needs it.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.editable_wheel import editable_wheel
from setuptools.errors import CompileError

try:
    import numpy
    from Cython.Build import cythonize
except ImportError:  # an sdist can be built without them
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
# The same bits on all machines of one architecture: nothing fused, no tuning to this CPU; see
# codegen/toolchain/compiler.py. CFLAGS of the environment come before these, and are passed to the linker too.
STRICT = (
    "-fno-fast-math -fno-unsafe-math-optimizations -fno-associative-math -fno-reciprocal-math -fno-finite-math-only "
    "-fsigned-zeros"
).split()
PORTABLE = ["-O3", "-g0", "-ffp-contract=off", *STRICT]
PORTABLE += "-fno-tree-slp-vectorize -fno-math-errno -fno-trapping-math".split()
if not X86_64 and MACHINE not in ("i386", "i686"):
    PORTABLE.append("-fno-tree-vectorize")
# The extensions again, for CPUs with fused multiply-adds: runtime/interface/cpu_variants.py chooses between the two on
# import. Both give the same bits; without the instruction, multiply-adds are calls of the C library.
VARIANT = "x86_64_v3"
FUSED = ["-mavx2", "-mfma"]
# Functions of an extension's C files are called directly, not through a table that other libraries could change.
DIRECT = ["-fvisibility=hidden"]
# Cython's code only passes arguments on, and most of it runs once; -O3 would take three times as long to compile.
BINDING = ["-O1", *PORTABLE[1:]]
# Lane sets of a shipped model: trajectories per register -> compiler flags; one is chosen on loading.
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
    for name, folder in reversed(FOLDERS.items()):  # src last, which has links to the others
        for init in sorted((ROOT / folder).glob("*/**/__init__.py")):
            inner = init.parent.relative_to(ROOT / folder)
            found.setdefault(".".join((name, *inner.parts)), f"{folder}/{inner.as_posix()}")
    return found


def extension(name: str, sources: list[str], macros: list[tuple[str, str | None]]) -> Extension:
    return Extension(
        name,
        sources=sources,
        include_dirs=["runtime/c", "generated", *([numpy.get_include()] if numpy else [])],
        define_macros=macros,
        depends=sorted(
            path.relative_to(ROOT).as_posix()
            for path in (ROOT / "runtime").glob("c*/**/*")
            if path.suffix in (".h", ".pxi")
        ),
        libraries=[] if os.name == "nt" else ["m"],
        extra_link_args=[] if os.name == "nt" else ["-O3", *STRICT],
        optional=True,
    )


def extensions() -> list[Extension]:
    found: list[Extension] = []
    if (ROOT / "runtime" / "core" / "_core.pyx").exists():
        driver = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "runtime" / "c").rglob("*.c"))]
        macros = [("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")]
        found += variants("chaplygin.runtime.core._core", ["runtime/core/_core.pyx", *driver], macros)
        found.append(extension("chaplygin.runtime.interface._cpu", ["runtime/interface/_cpu.c"], []))
    for module in sorted((ROOT / "generated").glob("*.pyx")):
        cores = [f"generated/{path.name}" for path in sorted(module.parent.glob(f"{module.stem}_core*.c"))]
        sources = [f"generated/{module.name}", *cores]
        found += variants(f"chaplygin.generated.{module.stem}", sources, [], inlined=True)
    return found


def variants(
    name: str, sources: list[str], macros: list[tuple[str, str | None]], inlined: bool = False
) -> list[Extension]:
    """An extension for every CPU and, on x86-64, the same for CPUs with fused multiply-adds.

    Methods are `inlined` into the last. The other runs where each multiply-add is a call of the C library, beside which
    the call of a right-hand side costs nothing; inlining would take 20 times as long to compile.
    """
    package, _, module = name.rpartition(".")
    names = [name, f"{package}.{VARIANT}.{module}"] if X86_64 and os.name != "nt" else [name]
    found = [extension(each, sources, [*macros]) for each in names]
    found[-1].define_macros += [("CHAPLYGIN_INLINE_METHODS", None)] if inlined else []
    return found


class BuildSideBySide(build_ext):
    """`build_ext` that compiles the files of all extensions in parallel, each kind with its own flags."""

    def build_extensions(self) -> None:
        with ThreadPoolExecutor(self.parallel or os.cpu_count()) as pool:
            self.pool = pool
            self.bindings: dict[str, Future[str]] = {}  # variants share them, and the lanes
            self.lanes: dict[str, list[Future[str]]] = {}
            # Cython translates in this thread while the compiler works on the files that are ready.
            self.objects = {ext.name: self.start(ext) for ext in self.extensions}
            super().build_extensions()

    def build_extension(self, ext: Any) -> None:
        """Wait for the objects and link them."""
        ext.extra_objects = [done.result() for done in self.objects[ext.name]]
        ext.depends, ext.sources = [*ext.depends, *ext.sources], []
        super().build_extension(ext)

    def start(self, ext: Any) -> list[Future[str]]:
        """Start compiling an extension; returns its objects."""
        binding, *cores = ext.sources
        objects = self.start_lanes(ext) if os.environ.get("CHAPLYGIN_LANES", "0") != "0" else []
        folder, flags = (VARIANT, FUSED) if VARIANT in ext.name.split(".") else ("", [])
        objects += [
            self.compiled(ext, core, [*PORTABLE, *DIRECT, *flags], ext.define_macros, folder)
            for core in cores
        ]
        if binding not in self.bindings:
            self.bindings[binding] = self.start_binding(ext, binding)
        return [*objects, self.bindings[binding]]

    def copy_extensions_to_source(self) -> None:
        for ext in self.extensions:
            package, variant, _ = ext.name.rpartition(f".{VARIANT}.")
            if variant:
                (ROOT / PACKAGES[package] / VARIANT).mkdir(exist_ok=True)
        super().copy_extensions_to_source()

    def start_binding(self, ext: Any, binding: str) -> Future[str]:
        """Translate with Cython, and start compiling what comes out; a file in C is compiled as it is."""
        if binding.endswith(".pyx"):
            folder = os.path.join(self.build_temp, "cython")  # package data has committed C only
            (translated,) = cythonize([Extension(ext.name, [binding])], build_dir=folder, quiet=True)
            (binding,) = translated.sources
        return self.compiled(ext, binding, BINDING, ext.define_macros)

    def start_lanes(self, ext: Any) -> list[Future[str]]:
        """The lane file of a shipped model for every kind of CPU; none if the compiler does not support them all."""
        source = f"generated/{ext.name.rpartition('.')[2]}_lanes.c"
        if os.name == "nt" or not ext.name.startswith("chaplygin.generated.") or not (ROOT / source).exists():
            return []
        if source not in self.lanes:
            self.lanes[source] = self.compiled_lanes(ext, source)
        if self.lanes[source]:
            ext.define_macros = [*ext.define_macros, *((f"CHAPLYGIN_LANES_{n}", None) for n in LANES)]
        return [*self.lanes[source]]

    def compiled_lanes(self, ext: Any, source: str) -> list[Future[str]]:
        flags = {n: [*PORTABLE, *target, "-Wno-psabi"] for n, target in LANES.items()}
        sets = [self.compiled(ext, source, flags[n], [("CG_LANES", str(n))], f"lanes{n}") for n in LANES]
        try:
            for done in sets:
                done.result()
        except CompileError as error:
            print(f"{source}: no lanes ({error})", file=sys.stderr)
            return []
        return sets

    def compiled(
        self, ext: Any, source: str, flags: list[str], macros: list[tuple[str, str | None]], folder: str = ""
    ) -> Future[str]:
        """Start compiling one file; returns its object."""

        def work() -> str:
            (made,) = self.compiler.compile(
                [source],
                output_dir=os.path.join(self.build_temp, folder),
                macros=macros,
                include_dirs=ext.include_dirs,
                extra_postargs=[] if os.name == "nt" else flags,
            )
            return str(made)

        return self.pool.submit(work)


class ThroughLinks(editable_wheel):
    """`pip install -e` by a path entry, src, where links stand for the folders that are mapped into the package.

    Type checkers and editors, which run no code, see what Python imports. They cannot follow the finder that setuptools
    would install, which also comes after the path is searched: a script beside a clone in a folder called chaplygin
    would import that folder, as a namespace package without contents.
    """

    def _select_strategy(self, name: str, tag: str, build_lib: Any) -> Any:
        return self

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: Any) -> None:
        pass

    def __call__(self, wheel: Any, files: Any, mapping: Any) -> None:
        for name, folder in FOLDERS.items():
            link = ROOT / "src" / name.replace(".", "/")
            if link.exists():
                continue
            if os.name == "nt":  # where a symbolic link needs a privilege
                import _winapi

                _winapi.CreateJunction(str(ROOT / folder), str(link))
            else:
                link.symlink_to(Path("..", "..", folder), target_is_directory=True)
        wheel.writestr("chaplygin.pth", f"{ROOT / 'src'}\n")


def description() -> str:
    """README.md for a package index, which has no files beside it: pages are named, not linked."""
    text = re.sub(r"^!\[.*\)\n\n", "", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.M)
    return re.sub(r"\[([^\]]+)\]\(((?!https?:)[^)]+)\)", r"\1 (`\2`)", text)


PACKAGES = packages()
setup(
    long_description=description(),
    long_description_content_type="text/markdown",
    packages=sorted(PACKAGES),
    package_dir=PACKAGES,
    package_data={
        "": ["*.h", "*.c", "*.in", "*.pyi", "*.pxd", "*.pxi", "*.pyx", "*.txt", "py.typed"],
        "chaplygin.systems": ["*.urdf"],
        "chaplygin.runtime": [
            "c/*.h",
            "c/*.hpp",
            "c/*/*.[ch]",
            "fmi/*.h",
            "fmi/*.c",
        ],
    },
    ext_modules=extensions(),
    cmdclass={"build_ext": BuildSideBySide, "editable_wheel": ThroughLinks},
    zip_safe=False,
)
