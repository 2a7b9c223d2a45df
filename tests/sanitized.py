"""The tests of safety on extensions built with AddressSanitizer and UndefinedBehaviorSanitizer: `make test-sanitized`.

The package is put together once more in build/sanitized, of links, with its own `runtime/_core` and one shipped model;
models that tests compile come from the same compiler and go to a cache beside it. Python itself has no sanitizers: its
leaks are not looked for, and libasan is loaded before it. Needs gcc with libasan, or another compiler like it in $CC.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from Cython.Compiler.Main import CompilationOptions, compile_single, default_options

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "sanitized"
PACKAGE, WORK = BUILD / "chaplygin", BUILD / "work"
COMPILER = shlex.split(os.environ.get("CC", "")) or ["gcc"]
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-g1"]
FLAGS = "-O1 -fPIC -fwrapv -ffp-contract=off -fno-math-errno -fno-trapping-math -w".split()
MODEL = "chaplygin_sleigh"
TESTS = """test_runtime_safety test_runtime_model test_runtime_refusals test_runtime_runs test_runtime_ensemble
test_runtime_events test_runtime_contacts test_ensemble_given test_nan""".split()
LEFT_OUT = "not leaks and not take_little_more"
"""Resident memory says nothing beside the quarantine of freed blocks."""


def link_package() -> None:
    """Every file of the package but what is compiled, by links."""
    for name in ("", "codegen", "generated", "runtime", "systems", "templates"):
        source = ROOT / (name or "src/chaplygin")
        for path in source.rglob("*"):
            target = PACKAGE / name / path.relative_to(source)
            if path.is_dir() or "__pycache__" in path.parts or path.suffix in (".so", ".pyd"):
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.is_symlink():
                target.symlink_to(path)
        for link in (PACKAGE / name).glob("*"):
            if link.is_symlink() and not link.exists():
                link.unlink()


def translated(source: Path, module: str) -> Path:
    """Cython's C of a module."""
    target = WORK / f"{source.stem}.c"
    if not target.exists() or target.stat().st_mtime <= newest(source.parent):
        options = CompilationOptions(
            default_options, output_file=str(target), include_path=[str(ROOT / "runtime")], language_level=3
        )
        if compile_single(str(source), options, full_module_name=module).num_errors:
            raise SystemExit(f"Cython failed on {source.name}")
    return target


def newest(folder: Path) -> float:
    """When a source in a folder was changed last."""
    return max(
        p.stat().st_mtime for p in folder.iterdir() if p.suffix in (".h", ".c", ".pyx", ".pxi", ".pxd")
    )


def call(*command: object) -> None:
    words = [str(word) for word in command]
    if subprocess.run(words).returncode != 0:
        raise SystemExit(f"failed: {shlex.join(words)}")


def extension(module: str, sources: Sequence[Path], macros: Sequence[str]) -> None:
    """Compile and link one extension into the package of links."""
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    target = PACKAGE / f"{module.replace('.', '/')}{suffix}"
    changed = max(newest(ROOT / "runtime"), newest(ROOT / "generated"), Path(__file__).stat().st_mtime)
    if target.exists() and target.stat().st_mtime > changed:
        return
    include = [ROOT / "runtime", ROOT / "generated", np.get_include(), sysconfig.get_path("include")]
    common = [*COMPILER, *SANITIZE, *FLAGS, *(f"-I{folder}" for folder in include), *macros]
    objects = [WORK / f"{source.stem}.o" for source in sources]

    def compiled(source: Path, target: Path) -> None:
        call(
            *common, *(["-DCG_LANES=2"] if source.stem.endswith("_lanes") else []), "-c", source, "-o", target
        )

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compiled, sources, objects))
    call(*COMPILER, *SANITIZE, "-shared", *objects, "-o", target, "-lm")


def library(name: str) -> str:
    """The path of one of the compiler's libraries."""
    found = subprocess.run(
        [*COMPILER, f"-print-file-name={name}"], capture_output=True, text=True
    ).stdout.strip()
    if not os.path.isabs(found):
        raise SystemExit(
            f"{COMPILER[0]} has no {name}; on Debian and Ubuntu it comes with gcc, elsewhere as libasan"
        )
    return found


def main(arguments: Sequence[str]) -> int:
    WORK.mkdir(parents=True, exist_ok=True)
    link_package()
    runtime, generated = ROOT / "runtime", ROOT / "generated"
    core = translated(runtime / "_core.pyx", "chaplygin.runtime._core")
    extension(
        "runtime._core",
        [core, *sorted(runtime.glob("cg_*.c"))],
        ["-DNPY_NO_DEPRECATED_API=NPY_1_7_API_VERSION"],
    )
    shell = translated(generated / f"{MODEL}.pyx", f"chaplygin.generated.{MODEL}")
    parts = [shell, *(generated / f"{MODEL}_{part}.c" for part in ("core", "lanes"))]
    extension(f"generated.{MODEL}", parts, ["-DCHAPLYGIN_INLINE_METHODS", "-DCHAPLYGIN_LANES_2"])
    cache = BUILD / "cache"
    cache.mkdir(mode=0o700, exist_ok=True)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(BUILD), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "LD_PRELOAD": " ".join(map(library, ("libasan.so", "libubsan.so", "libstdc++.so"))),
        "PYTHONMALLOC": "malloc",
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:abort_on_error=1",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
        "CHAPLYGIN_CACHE": str(cache),
        "CC": shlex.join([*COMPILER, *SANITIZE]),
        "CHAPLYGIN_SANITIZED": str(PACKAGE),
    }
    tests = [f"tests/{name}.py" for name in TESTS]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:faulthandler", "-p", "no:cacheprovider"]
    selected = ["-k", LEFT_OUT, *tests, "tests/test_sanitized.py"]
    return subprocess.run([*command, *(arguments or selected)], cwd=ROOT, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
