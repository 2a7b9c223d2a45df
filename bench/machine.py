"""Describes the machine and the tools of a measurement, without host names or paths."""

from __future__ import annotations

import platform
import re
import subprocess
from importlib import metadata
from pathlib import Path

from sizes import CORES, LOAD, QUICK

PACKAGES = (
    "chaplygin",
    "sympy",
    "numpy",
    "scipy",
    "Cython",
    "numba",
    "numbalsoda",
    "heyoka",
    "jax",
    "diffrax",
    "jitcode",
    "pydy",
)


def processor() -> str:
    """The CPU's model name, with its family if the system reports it."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        text = cpuinfo.read_text()
        found = [re.search(rf"^{key}\s*: (.+)$", text, re.M) for key in ("model name", "cpu family", "model")]
        name, family, model = (match.group(1) if match else "?" for match in found)
        vectors = "AVX-512" if " avx512f " in text else "AVX2" if " avx2 " in text else "no AVX2"
        return f"{name} (family {family}, model {model}, {vectors})"
    return platform.processor() or platform.machine()


def compiler() -> str:
    """The first line of the C compiler's version message."""
    try:
        from chaplygin.codegen.toolchain.compiler import find_compiler

        return find_compiler().version
    except Exception:
        out = subprocess.run(["cc", "--version"], capture_output=True, text=True, check=False)
        return out.stdout.split("\n", 1)[0] or "none"


def describe() -> dict[str, str]:
    """The machine and tool versions to be stated with a table of measurements."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = "not installed"
    return {
        "processor": processor(),
        "cores": str(CORES),
        "system": f"{platform.system()} {platform.machine()}",
        "compiler": compiler(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "sizes": "quick: too small for comparisons" if QUICK else "full",
        "load before": f"{LOAD:.1f}",
        "packages": ", ".join(f"{name} {version}" for name, version in versions.items()),
    }
