"""`chaplygin doctor`: check and try everything that a compiled model needs."""

from __future__ import annotations

import json
import os
import platform
import stat
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import metadata

from chaplygin._version import __version__
from chaplygin.codegen import toolchain
from chaplygin.runtime import core, ensembles, model
from chaplygin.runtime.interface.limits import DEFAULT_METHODS
from chaplygin.systems import example

REQUIRED = ("sympy", "numpy", "scipy", "Cython", "filelock", "platformdirs")
OPTIONAL = ("matplotlib", "xarray", "tqdm")
FEATURES = ("sse2", "avx", "avx2", "fma", "avx512f", "avx512dq", "neon", "asimd", "sve")
LARGEST_ERROR = 1e-9
"""Largest allowed error of the self-test against its closed form; it normally reaches 1e-12."""


class Finding(Exception):
    """A problem; the message says what is wrong and how to fix it."""


def doctor(arguments: Namespace) -> int:
    """Print one line for each check; return 1 if any of them failed."""
    checks: tuple[tuple[str, Callable[[], str]], ...] = (
        ("python", _python),
        ("packages", _packages),
        ("processor", _processor),
        ("compiler", _compiler),
        ("cache", _cache),
        ("runtime", _runtime),
        ("self-test", _self_test),
    )
    failed = []
    for name, check in checks:
        try:
            verdict, text = "ok", check()
        except Exception as error:  # the other checks still run
            verdict, text = "FAILED", " ".join(str(error).split()) or type(error).__name__
            if not isinstance(error, Finding):
                text = f"{type(error).__name__}: {text}"
            failed.append(name)
        print(f"{verdict:7} {name:10} {text}", flush=True)
    print(f"\n{', '.join(failed)}: failed" if failed else "\nall is well")
    return 1 if failed else 0


def _python() -> str:
    return f"{platform.python_implementation()} {platform.python_version()}, {platform.system()} {platform.machine()}"


def _packages() -> str:
    found, missing = [f"chaplygin {__version__}"], []
    for name in (*REQUIRED, *OPTIONAL):
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            if name in REQUIRED:
                missing.append(name)
    if missing:
        raise Finding(f"missing: pip install {' '.join(missing)} (found {', '.join(found)})")
    return ", ".join(found)


def _processor() -> str:
    text = toolchain.cpu_features()
    try:
        facts = json.loads(text)
    except ValueError:
        facts = {}
    named = (facts.get(key) for key in ("model name", "brand", "CPU part"))
    name = next(filter(None, named), platform.processor() or "unknown")
    flags = (facts.get("flags") or facts.get("Features") or "").split()
    features = [each for each in FEATURES if each in flags]
    text = f"{name}, {ensembles.cores()} cores" + (f", {' '.join(features)}" if features else "")
    slow = platform.machine().lower() in ("x86_64", "amd64") and flags and "fma" not in flags
    return text + (
        "; no fused multiply-add: models run several times slower, to the same bits" if slow else ""
    )


def _compiler() -> str:
    compiler = toolchain.find_compiler()
    flags = " ".join(compiler.core_flags(tuned=True, reproducible=True))
    return f"{' '.join(compiler.command)}: {compiler.version}; flags {flags}"


def _cache() -> str:
    folder = toolchain.cache_folder()
    if not os.access(folder, os.W_OK | os.X_OK):
        raise Finding(f"{folder} is not writable; set CHAPLYGIN_CACHE to a folder that you own")
    mode = stat.S_IMODE(folder.stat().st_mode)
    entries = [entry.parent for entry in folder.glob(f"*/{toolchain.ENTRY}")]
    size = sum(file.stat().st_size for entry in entries for file in entry.iterdir() if file.is_file())
    return f"{folder}, mode {mode:04o}, {len(entries)} models, {size / 1e6:.1f} MB"


def _runtime() -> str:
    model.require_core()

    return f"compiled; methods {', '.join(core.methods())}; by default {DEFAULT_METHODS}"


def _self_test() -> str:
    """Declare, derive, compile and run an oscillator, in an empty cache so that the compiler must run."""
    entry = example("harmonic_oscillator")
    t_end = 10.0
    with _private_cache():
        begin = time.perf_counter()
        model = entry.system.compile("lagrange", wait=True)
        compiled = time.perf_counter() - begin
        solution = model.integrate((0.0, t_end), entry.initial, entry.parameters, rtol=1e-12, atol=1e-12)
    exact = entry.closed_form(t_end) if entry.closed_form else {}
    error = max(abs(float(solution[name][-1]) - value) for name, value in exact.items())
    text = f"{model.name} compiled in {compiled:.2f} s; error against the closed form {error:.1e}"
    if not (solution.success and error < LARGEST_ERROR):
        raise Finding(f"{text}; {solution.message}; the error should be at most {LARGEST_ERROR:g}")
    return text


@contextmanager
def _private_cache() -> Iterator[None]:
    """Use an empty temporary cache."""
    before = os.environ.get("CHAPLYGIN_CACHE")
    with tempfile.TemporaryDirectory(prefix="chaplygin-", ignore_cleanup_errors=True) as folder:
        os.environ["CHAPLYGIN_CACHE"] = folder
        try:
            yield
        finally:
            del os.environ["CHAPLYGIN_CACHE"]
            if before is not None:
                os.environ["CHAPLYGIN_CACHE"] = before
