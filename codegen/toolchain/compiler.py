"""The C compiler: finding it, its version, and the flags that keep results reproducible.

Search order: `$CC`, then the system's `cc`, `gcc`, `clang`, then the `ziglang` wheel.
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
from importlib.util import find_spec
from pathlib import Path

from chaplygin._lazy import later
from chaplygin.errors import BuildError, NoCompilerError

metadata = later("importlib.metadata")

SYSTEM_COMPILERS = ("cc", "gcc", "clang")
PLATFORMS = {
    "x86_64-linux": "x86_64-linux-gnu.2.17",
    "aarch64-linux": "aarch64-linux-gnu.2.17",
    "x86_64-windows": "x86_64-windows-gnu",
    "aarch64-windows": "aarch64-windows-gnu",
    "x86_64-darwin": "x86_64-macos",
    "aarch64-darwin": "aarch64-macos",
}
"""The platforms that `cross_compiler` compiles for, by their names in FMI 3.0, and their names for zig."""
_HOW = (
    "install one (Debian, Ubuntu: apt install gcc; Fedora: dnf install gcc; macOS: xcode-select --install; "
    "anywhere: pip install 'chaplygin[zig]'), or set CC to its command"
)


@dataclass(frozen=True)
class Compiler:
    """A C compiler: its command, the first line of its version, and its family (`gcc`, `clang` or `zig`)."""

    command: tuple[str, ...]
    version: str
    family: str

    @property
    def identity(self) -> str:
        """The part of a cache key that identifies this compiler."""
        return json.dumps([self.command, self.version])

    @property
    def crosses(self) -> bool:
        """Whether it compiles for another platform."""
        return "-target" in self.command

    def core_flags(self, *, tuned: bool, reproducible: bool, level: str = "-O3") -> tuple[str, ...]:
        """Flags for a model's C core.

        `tuned` allows every instruction of this CPU. `reproducible` forbids contraction, the only freedom that would
        make results depend on the CPU or the compiler: multiply-adds are those that the code asks for. The other
        flags leave every value as C defines it, NaN and infinities included: `-fno-math-errno` gives up only errno,
        `-fno-trapping-math` only the exact set of raised floating-point exception flags, and nothing here reads
        either. No flag of `-ffast-math` that changes values is used.

        Raises BuildError for `reproducible` if the compiler command itself contains flags that change values.
        """
        if reproducible:
            _refuse_licences(self.command)
        contract = [f"-ffp-contract={'off' if reproducible else 'fast'}"]
        if reproducible and self.family == "gcc":
            # GCC's vectoriser fuses regardless of -ffp-contract: since GCC 12 it turns a*b - c*d next to a*b + c*d
            # into vfmaddsub. On x86 this needs such a pair, which occurs in our straight-line code but in no loop.
            contract.append("-fno-tree-slp-vectorize" if _is_x86() else "-fno-tree-vectorize")
        # zig adds the undefined-behaviour sanitiser if no level is given or with -Og, and its fastest code is -O2.
        chosen = "-O2" if self.family == "zig" else level
        return (chosen, *self._target(tuned), *contract, "-fno-math-errno", "-fno-trapping-math", *_COMMON)

    @property
    def lane_flags(self) -> tuple[str, ...]:
        """Additional flags for lanes: full-width registers, and no note on the ABI for passing vectors."""
        if not _is_x86():
            return ()
        return ("-Wno-psabi", *(("-mprefer-vector-width=512",) if self.family != "zig" else ()))

    def link_flags(self) -> tuple[str, ...]:
        """Flags that link objects into a shared library; other libraries come after the objects."""
        if sys.platform == "darwin" and not self.crosses:
            return ("-bundle", "-undefined", "dynamic_lookup")
        return ("-shared", *self._target(tuned=False))

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
"""Flags that allow values to differ from what the C standard prescribes."""


def _refuse_licences(command: tuple[str, ...]) -> None:
    given = [word for word in command[1:] if _LICENCES.match(word)]
    if given:
        raise BuildError(
            f"CC is {shlex.join(command)!r}: with {' '.join(given)} results are not reproducible; remove it from CC "
            "or compile with reproducible=False"
        )


def find_compiler(memory: Path | None = None) -> Compiler:
    """Find the C compiler to use.

    `memory` is a JSON file that stores compiler versions by path, modification time and size, so that looking up a
    cached model starts no process.

    Raises NoCompilerError if no compiler is found, or if `$CC` is not a C compiler.
    """
    command = _command()
    if command == _zig():
        return _of_zig(command)
    stamp = _stamp(command)
    known = _recall(memory) if memory else {}
    line = known.get(stamp) or _ask_version(command)
    if memory and stamp not in known:
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
                f"CC is {chosen!r}, which is not a valid command ({error}); correct or unset CC, or {_HOW}"
            ) from None
        if shutil.which(words[0]) is None:
            raise NoCompilerError(f"CC is {chosen!r}, which was not found; correct or unset CC, or {_HOW}")
        return tuple(map(_anywhere, words))
    for name in SYSTEM_COMPILERS:
        if shutil.which(name) is not None:
            return (name,)

    if find_spec("ziglang") is not None:
        return _zig()
    raise NoCompilerError(f"no C compiler found (looked for $CC, cc, gcc, clang, ziglang); {_HOW}")


def _anywhere(word: str) -> str:
    """A word of a command, with a relative path to a program made absolute, as compilers run in another folder."""
    relative = os.path.dirname(word) and not word.startswith("-") and not os.path.isabs(word)
    return os.path.abspath(word) if relative and shutil.which(word) else word


def _zig() -> tuple[str, ...]:
    return (sys.executable, "-m", "ziglang", "cc")


def _of_zig(command: tuple[str, ...]) -> Compiler:
    return Compiler(command, f"ziglang {metadata.version('ziglang')}", "zig")


def cross_compiler(platform: str) -> Compiler:
    """The compiler of the `ziglang` wheel for a platform of `PLATFORMS`. Raises NoCompilerError without the wheel."""
    if find_spec("ziglang") is None:
        raise NoCompilerError(f"compiling for {platform} needs ziglang: pip install 'chaplygin[zig]'")
    return _of_zig((*_zig(), "-target", PLATFORMS[platform]))


def _stamp(command: tuple[str, ...]) -> str:
    """A stamp that changes with the compiler: path, time and size of each word of the command that is a program."""
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


def _recall(memory: Path) -> dict[str, str]:
    try:
        known = json.loads(memory.read_text(encoding="utf-8"))
        return {key: value for key, value in known.items() if isinstance(value, str)}
    except (OSError, ValueError, AttributeError):  # the last if it holds something else than a mapping
        return {}


def _remember(memory: Path, known: dict[str, str]) -> None:
    # The file only saves time: if it cannot be written, the compiler is run again to get its version.
    with suppress(OSError):
        handle, name = tempfile.mkstemp(dir=memory.parent, prefix=".versions-")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(known, file)
        os.replace(name, memory)


def _is_x86() -> bool:
    return platform.machine().lower() in ("x86_64", "amd64", "i386", "i686")


@functools.cache
def cpu_features() -> str:
    """The CPU's model and instruction sets as one string, for the cache keys of models tuned to it."""
    wanted = ("model name", "flags", "CPU part", "Features")
    found: dict[str, str] = {}
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            name, _, value = line.partition(":")
            if not name.strip() and found:
                break  # all processors are assumed to be equal
            if name.strip() in wanted:
                found[name.strip()] = value.strip()
    if sys.platform == "darwin":
        with suppress(OSError, subprocess.SubprocessError):
            command = ["sysctl", "-n", "machdep.cpu.brand_string"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=10)
            found["brand"] = done.stdout.strip()
    return json.dumps(found, sort_keys=True) if found else platform.processor()
