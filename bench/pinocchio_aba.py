"""Pinocchio's articulated-body algorithm called from C++, compiled if its headers are there."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sysconfig
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from cases import Array

SOURCE = Path(__file__).resolve().parent / "reference" / "pinocchio_aba.cpp"
# As Pinocchio itself is compiled: its list of joints is longer than Boost's preprocessed headers.
DEFINED = ("NDEBUG", "BOOST_MPL_CFG_NO_PREPROCESSED_HEADERS", "BOOST_MPL_LIMIT_LIST_SIZE=30")


def missing() -> str | None:
    """What is needed and not there, or None."""
    if shutil.which("c++") is None:
        return "a C++ compiler"
    folders = _headers()
    for header in ("pinocchio/algorithm/aba.hpp", "boost/variant.hpp", "Eigen/Core"):
        if not any((folder / header).is_file() for folder in folders):
            return f"the header {header} (`pip install pin cmeel-eigen`)"
    return None


class Aba:
    """The tree of `spatial_trees`, in Pinocchio's order of coordinates and velocities."""

    def __init__(
        self, bodies: int, joint: str, mass: float, length: float, gravity: float, moments: Array
    ) -> None:
        self.library = _compiled()
        numbers = (ctypes.c_double(a) for a in (mass, length, gravity))
        given = np.ascontiguousarray(moments, float)
        self.tree = self.library.aba_new(
            bodies, joint == "balls", *numbers, ctypes.c_void_p(given.ctypes.data)
        )

    def __del__(self) -> None:
        self.library.aba_free(ctypes.c_void_p(self.tree))

    def run(self, calls: int, world: bool, q: Array, v: Array) -> Array:
        """The accelerations after so many calls, computed in the axes of space or of the bodies."""
        out = np.empty(len(v))
        places = (ctypes.c_void_p(np.ascontiguousarray(a).ctypes.data) for a in (q, v, out))
        self.library.aba_calls(ctypes.c_void_p(self.tree), ctypes.c_int64(calls), world, *places)
        return out


def _headers() -> list[Path]:
    """Where the wheels `pin` and `cmeel-eigen` put their headers, and where a system has Eigen's."""
    wheels = Path(sysconfig.get_paths()["purelib"]) / "cmeel.prefix" / "include"
    return [wheels, wheels / "eigen3", Path("/usr/include/eigen3")]


@cache
def _compiled() -> ctypes.CDLL:
    """About a minute of templates, once in a session."""
    library = Path(tempfile.mkdtemp(prefix="chaplygin-bench-")) / f"{SOURCE.stem}.so"
    headers = [word for folder in _headers() for word in ("-isystem", str(folder))]
    flags = [
        "-std=c++17",
        "-O3",
        "-march=native",
        "-fPIC",
        "-shared",
        "-w",
        *(f"-D{name}" for name in DEFINED),
    ]
    subprocess.run(["c++", *flags, *headers, str(SOURCE), "-o", str(library)], check=True)
    made = ctypes.CDLL(str(library))
    made.aba_new.restype = ctypes.c_void_p
    return made
