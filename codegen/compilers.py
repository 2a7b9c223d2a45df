"""The C compiler: which one, its version, and the flags that keep results what they should be.

Order of search: `$CC`, then the system's `cc`, `gcc`, `clang`, then the `ziglang` wheel.
"""

from __future__ import annotations

import functools
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from chaplygin.runtime.errors import BuildError, NoCompilerError

__all__ = ["BuildError", "Compiler", "NoCompilerError", "cpu_features", "find_compiler"]

SYSTEM_COMPILERS = ("cc", "gcc", "clang")
_HOW = (
    "install one (Debian, Ubuntu: apt install gcc; Fedora: dnf install gcc; macOS: xcode-select --install; "
    "anywhere: pip install ziglang), or set CC to its command"
)


@dataclass(frozen=True)
class Compiler:
    """A C compiler: its command, the first line of its version, and its family (`gcc`, `clang` or `zig`)."""

    command: tuple[str, ...]
    version: str
    family: str

    @property
    def identity(self) -> str:
        """What stands for this compiler in a cache key."""
        return json.dumps([self.command, self.version])

    def core_flags(self, *, tuned: bool, reproducible: bool, quick: bool = False) -> tuple[str, ...]:
        """Flags for a model's C core; with `quick` it compiles in half the time, and runs a little slower.

        `tuned` allows every instruction of this CPU. `reproducible` forbids contraction (FMA), the only licence that
        would let results depend on the CPU or the compiler. What remains leaves every value as C defines it, NaN and
        infinities included: `-fno-math-errno` gives up only errno, `-fno-trapping-math` only the exact set of raised
        floating-point exception flags, and nothing here reads either. Nothing of `-ffast-math` is used.

        Raises BuildError for `reproducible` where the compiler's own command allows such things.
        """
        if reproducible:
            _refuse_licences(self.command)
        contract = ["-ffp-contract=off"] if reproducible else ["-ffp-contract=fast"]
        if reproducible and self.family == "gcc":
            # GCC's vectoriser fuses whatever -ffp-contract says: since 12 it makes vfmaddsub of a*b - c*d beside
            # a*b + c*d. On x86 that needs such a pair side by side, which no loop of ours has; straight-line code does.
            contract.append("-fno-tree-slp-vectorize" if _is_x86() else "-fno-tree-vectorize")
        return (
            self._quick_level if quick else self._level,
            *self._target(tuned),
            *contract,
            "-fno-math-errno",
            "-fno-trapping-math",
            *_COMMON,
        )

    @property
    def lane_flags(self) -> tuple[str, ...]:
        """Flags for lanes beside those of the core: whole registers, and no note on how calls would pass vectors."""
        if not _is_x86():
            return ()
        return ("-Wno-psabi", *(("-mprefer-vector-width=512",) if self.family != "zig" else ()))

    def wrapper_flags(self) -> tuple[str, ...]:
        """Flags for the Cython module, which does no arithmetic: quick to compile rather than quick to run."""
        return ("-O1", *self._target(tuned=False), "-fwrapv", "-w", *_COMMON)

    def link_flags(self) -> tuple[str, ...]:
        """Flags that link objects into an extension module; libraries come after the objects."""
        if sys.platform == "darwin":
            return ("-bundle", "-undefined", "dynamic_lookup")
        return ("-shared", *self._target(tuned=False))

    @property
    def _level(self) -> str:
        # zig adds the undefined-behaviour sanitiser when no level is given, and is at its best with -O2.
        return "-O2" if self.family == "zig" else "-O3"

    @property
    def _quick_level(self) -> str:
        return "-O2" if self.family == "zig" else "-Og"  # zig takes -Og for a debug build with the sanitiser

    def _target(self, tuned: bool) -> tuple[str, ...]:
        if self.family == "zig":  # by default it targets this CPU
            return ("-mcpu=native" if tuned else "-mcpu=baseline",)
        if not tuned:
            return ()
        return ("-march=native" if _is_x86() else "-mcpu=native",)


_COMMON = ("-fPIC", "-fvisibility=hidden") if sys.platform != "win32" else ()


_LICENCES = re.compile(
    r"-(Ofast|ffast-math|f(unsafe|associative|reciprocal)-math.*|funsafe-math-optimizations|ffinite-math-only"
    r"|fno-signed-zeros|fno-honor-(nans|infinities)|fapprox-func|ffp-contract=(?!off).*|ffp-model=(?!strict|precise).*"
    r"|fsingle-precision-constant|fexcess-precision=(?!standard).*|mdaz-ftz|fdenormal-fp-math=(?!ieee).*"
    r"|mfpmath=(?!sse\Z).*)\Z"
)
"""Flags that let a value differ from what C says of the program text."""


def _refuse_licences(command: tuple[str, ...]) -> None:
    given = [word for word in command[1:] if _LICENCES.match(word)]
    if given:
        raise BuildError(
            f"CC is {shlex.join(command)!r}: with {' '.join(given)} results are not reproducible; take it out of CC, "
            "or compile with reproducible=False"
        )


def find_compiler(memory: Path | None = None) -> Compiler:
    """The C compiler to use.

    `memory` is a JSON file in which versions are remembered by the compiler's path, time and size, so that a look
    into the cache of models starts no process.

    Raises NoCompilerError where there is none, and where `$CC` names none.
    """
    command = _command()
    if command == _zig():
        from importlib.metadata import version

        return Compiler(command, f"ziglang {version('ziglang')}", "zig")
    stamp = _stamp(command)
    known = _recall(memory)
    line = known.get(stamp)
    if line is None:
        line = _ask_version(command)
        _remember(memory, {**known, stamp: line})
    family, _, text = line.partition(":")
    return Compiler(command, text, family)


def _command() -> tuple[str, ...]:
    chosen = os.environ.get("CC", "").strip()
    if chosen:
        try:
            words = shlex.split(chosen)
        except ValueError as error:
            raise NoCompilerError(
                f"CC is {chosen!r}, which is not a command ({error}); correct or unset CC, or {_HOW}"
            ) from None
        if shutil.which(words[0]) is None:
            raise NoCompilerError(
                f"CC is {chosen!r}, and there is no such command; correct or unset CC, or {_HOW}"
            )
        return tuple(map(_anywhere, words))
    for name in SYSTEM_COMPILERS:
        if shutil.which(name) is not None:
            return (name,)
    from importlib.util import find_spec

    if find_spec("ziglang") is not None:
        return _zig()
    raise NoCompilerError(f"no C compiler found (looked for $CC, cc, gcc, clang, ziglang); {_HOW}")


def _anywhere(word: str) -> str:
    """A word of a command; a relative path to a program as an absolute one, since compilers run in another folder."""
    relative = os.path.dirname(word) and not word.startswith("-") and not os.path.isabs(word)
    return os.path.abspath(word) if relative and shutil.which(word) else word


def _zig() -> tuple[str, ...]:
    return (sys.executable, "-m", "ziglang", "cc")


def _stamp(command: tuple[str, ...]) -> str:
    """What changes when the compiler does: path, time and size of each word of the command that is a program."""
    parts: list[object] = []
    for word in command:
        path = None if word.startswith("-") else shutil.which(word)
        if path is None:
            parts.append(word)
        else:
            found = os.stat(path)
            parts.append([os.path.realpath(path), found.st_mtime_ns, found.st_size])
    return json.dumps(parts)


def _ask_version(command: tuple[str, ...]) -> str:
    """`family:first line of the version`."""
    try:
        done = subprocess.run(
            [*command, "--version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoCompilerError(f"`{shlex.join(command)} --version` failed ({error}); {_HOW}") from None
    if done.returncode != 0 or not done.stdout.strip():
        raise NoCompilerError(f"`{shlex.join(command)} --version` returned {done.returncode}; {_HOW}")
    lowered = done.stdout.lower()
    zig = any(os.path.basename(word) in ("zig", "zig.exe", "ziglang") for word in command)
    family = "zig" if zig else "clang" if "clang" in lowered else "gcc"
    return f"{family}:{done.stdout.strip().splitlines()[0].strip()}"


def _recall(memory: Path | None) -> dict[str, str]:
    if memory is None:
        return _MEMORY
    try:
        known = json.loads(memory.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(known, dict):
        return {}
    return {key: value for key, value in known.items() if isinstance(value, str)}


def _remember(memory: Path | None, known: dict[str, str]) -> None:
    if memory is None:
        _MEMORY.update(known)
        return
    # Only a shortcut: where it cannot be written, the compiler is asked again.
    with suppress(OSError):
        handle, name = tempfile.mkstemp(dir=memory.parent, prefix=".versions-")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(known, file)
        os.replace(name, memory)


_MEMORY: dict[str, str] = {}


def _is_x86() -> bool:
    return platform.machine().lower() in ("x86_64", "amd64", "i386", "i686")


@functools.cache
def cpu_features() -> str:
    """The CPU's model and instruction sets as one string, for the keys of models that are tuned to it."""
    wanted = ("model name", "flags", "CPU part", "Features")
    found: dict[str, str] = {}
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            name, _, value = line.partition(":")
            if not name.strip() and found:
                break  # the first processor stands for all
            if name.strip() in wanted:
                found[name.strip()] = value.strip()
    if sys.platform == "darwin":
        with suppress(OSError, subprocess.SubprocessError):
            command = ["sysctl", "-n", "machdep.cpu.brand_string"]
            found["brand"] = subprocess.run(
                command, capture_output=True, text=True, timeout=10
            ).stdout.strip()
    return json.dumps(found, sort_keys=True) if found else platform.processor()
