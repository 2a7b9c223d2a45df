"""Build: from emitted sources to an extension module in the cache.

Cython runs in this process, the C files are compiled in parallel, and setuptools is not used: a small model takes less
than a second instead of several.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chaplygin.runtime.c_files import INCLUDE
from chaplygin.runtime.errors import BuildError
from chaplygin.runtime.sealing import seal
from chaplygin.runtime.variants import is_shipped, sources_of

from . import cache
from .toolchain import Compiler

if TYPE_CHECKING:
    from ..lower.sources import Sources

_INCLUDE = (f"-I{INCLUDE}", "-I.")  # the methods of a model are included by a header of the runtime
_TRANSLATION: threading.Lock  # Cython's compiler keeps state in its modules


def _free_translation() -> None:
    global _TRANSLATION
    _TRANSLATION = threading.Lock()


_free_translation()
if hasattr(os, "register_at_fork"):
    # The thread that holds it does not exist in the child.
    os.register_at_fork(after_in_child=_free_translation)


def build(
    sources: Sources, *, key: str, reproducible: bool = True, tuned: bool = True, inline: bool = True
) -> Path:
    """Return the compiled form of `sources` from the cache, or compile it and store it there under `key`.

    `reproducible`, `tuned` and `inline` (integrators compiled into the model) must be those given to
    `cache.model_key`. If several processes need the same key at once, one compiles and the others wait. Returns the
    path of an extension module named `sources.name`.

    Raises ValueError for a file name that is a path, BuildError (one line, with the path of the full log),
    NoCompilerError, CacheError.
    """
    with cache.locked(key):
        options = {"reproducible": reproducible, "tuned": tuned, "inline": inline}
        return cache.lookup(key) or make(sources, key=key, **options)


def make(
    sources: Sources, *, key: str, reproducible: bool = True, tuned: bool = True, inline: bool = True
) -> Path:
    """As `build`, for a caller that holds the lock of `key` and knows that the entry is missing."""
    compiler = cache.cached_compiler()
    flags = compiler.core_flags(tuned=tuned, reproducible=reproducible)
    flags += ("-DCHAPLYGIN_INLINE_METHODS",) if inline else ()
    with cache.workspace() as work:
        cores = _write(sources, work)
        module = sources.name + EXTENSION_SUFFIXES[0]
        _Job(sources.name, work, compiler, cache.log_path(key)).module(cores, flags, module)
        facts = {
            "name": sources.name,
            "reproducible": reproducible,
            "tuned": tuned,
            "inline": inline,
            "digest": sources.digest,
            "compiler": compiler.version,
            "flags": list(flags),
            "python": sys.version.split()[0],
        }
        return cache.publish(key, work, module, facts)


def build_quick(sources: Sources, folder: Path, *, key: str) -> Path:
    """Compile the C core alone into a shared library in `folder` that defines `<name>_model`.

    Only the kernels are compiled, neither the Cython module nor the integration methods. The results equal those of
    ``build(sources, key=key)`` bit for bit: both are reproducible, and the optimisation level does not change a bit.

    Raises the errors of `build`.
    """
    compiler = cache.cached_compiler()
    flags = (*compiler.core_flags(tuned=True, reproducible=True, quick=True), *_VISIBLE)
    library = f"{sources.name}_quick.{_LIBRARY}"
    _Job(sources.name, folder, compiler, cache.log_path(key)).library(_write(sources, folder), flags, library)
    return folder / library


def _write(sources: Sources, folder: Path) -> list[str]:
    """Write the sources into a folder; return the names of the C files of the core."""
    for file in sources.files:
        if os.path.basename(file) != file or not file.startswith((sources.name, "cg_")):
            raise ValueError(
                f"sources: file {file!r} is not a plain file name that begins with {sources.name!r} or 'cg_'"
            )
    for file, text in sources.files.items():
        (folder / file).write_bytes(text.encode())
    return sorted(f for f in sources.files if f.endswith(".c") and not f.endswith("_lanes.c"))


def find_lanes(module: Path, lanes: int) -> Path | None:
    """The result of `build_lanes` if it is in the cache; None if it would have to be compiled."""
    return cache.lookup(_LaneEntry(module, lanes).key)


def build_lanes(module: Path, lanes: int) -> Path:
    """The lane set of a model, a shared library that defines `<name>_lanes_<lanes>`, cached or newly compiled.

    `module` is the path that `build` returned, or a module of `chaplygin.generated`, with the emitted lane file next
    to it. The library has its own entry in the cache. Raises BuildError, NoCompilerError, CacheError, and
    FileNotFoundError if the lane file, or the record of how the module was compiled, is missing.
    """
    entry = _LaneEntry(module, lanes)
    return lane_library(entry.key, f"{entry.name}_lanes", lambda: entry.texts, lanes, entry.facts)


def lane_library(
    key: str, stem: str, texts: Callable[[], Mapping[str, bytes]], lanes: int, facts: Mapping[str, Any]
) -> Path:
    """The shared library `<stem>_<lanes>` of the file `<stem>.c` among `texts`, cached under `key` or newly compiled.

    It is compiled as the model that `facts` describes, for a number of lanes. Raises BuildError, NoCompilerError,
    CacheError.
    """
    with cache.locked(key):
        found = cache.lookup(key)
        if found is not None:
            return found
        compiler = cache.cached_compiler()
        flags = compiler.core_flags(tuned=facts["tuned"], reproducible=facts["reproducible"])
        flags = (*flags, *compiler.lane_flags, f"-DCG_LANES={lanes}", f"-DCG_EXPORTED={EXPORTED}")
        with cache.workspace() as work:
            for file, text in texts().items():
                (work / file).write_bytes(text)
            library = f"{stem}_{lanes}.{_LIBRARY}"
            _Job(facts["name"], work, compiler, cache.log_path(key)).library([f"{stem}.c"], flags, library)
            return cache.publish(key, work, library, {**facts, "lanes": lanes, "flags": list(flags)})


def compile_library(
    name: str,
    work: Path,
    compiler: Compiler,
    sources: Sequence[str],
    flags: Sequence[str],
    log: Path,
    objects: Sequence[Path] = (),
) -> Path:
    """A shared library of `objects` and of C files in the folder `work`, which contains everything that they include.

    Raises BuildError with the path of the full log.
    """
    job = _Job(name, work, compiler, log)
    library = f"{name}.{_LIBRARY}"
    job._link([*job.parallel(sources, flags), *map(os.fspath, objects)], library)
    return work / library


def compile_object(
    name: str, texts: Mapping[str, str], compiler: Compiler, sources: Sequence[str], flags: Sequence[str]
) -> Path:
    """C files joined into the one object `<name>.o`, cached or newly compiled. Raises BuildError, CacheError.

    `texts` has the files and everything that they include.
    """
    parts = [name, sorted(texts.items()), list(sources), list(flags), compiler.identity]
    key = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:40]
    with cache.locked(key):
        found = cache.lookup(key)
        if found is not None:
            return found
        with cache.workspace() as work:
            for file, text in texts.items():
                (work / file).write_bytes(text.encode())
            job = _Job(name, work, compiler, cache.log_path(key))
            job._call(
                [*compiler.command, "-r", *job.parallel(sources, flags), "-o", f"{name}.o"], f"{name}.o"
            )
            return cache.publish(key, work, f"{name}.o", {"name": name, "flags": list(flags)})


class _LaneEntry:
    """The cache entry of a lane set: its key, and what the key is computed from."""

    def __init__(self, module: Path, lanes: int) -> None:
        name = module.name.split(".")[0]
        self.name = name
        self.facts = facts_of(module)
        files = [sources_of(module) / f"{name}{end}" for end in ("_core.h", "_lanes.c", "_methods.h")]
        self.texts = {file.name: file.read_bytes() for file in files if file.exists()}
        self.key = cache.model_key(
            hashlib.sha256(repr((lanes, sorted(self.texts.items()))).encode()).hexdigest(),
            reproducible=self.facts["reproducible"],
            tuned=self.facts["tuned"],
        )


def facts_of(module: Path) -> dict[str, Any]:
    """How a model was compiled: read from its cache entry; shipped modules are reproducible.

    Reproducible lanes give the same bits as the model on every CPU, so they can be tuned to this CPU even though a
    shipped module is built for any.
    """
    if is_shipped(module):
        return {"name": module.name.split(".")[0], "reproducible": True, "tuned": True}
    facts: dict[str, Any] = json.loads((module.parent / cache.ENTRY).read_bytes())
    return facts


_LIBRARY = "dll" if sys.platform == "win32" else "so"
# A DLL exports everything if nothing in it is marked for export.
_VISIBLE = () if sys.platform == "win32" else ("-fvisibility=default",)
EXPORTED = "__declspec(dllexport)" if sys.platform == "win32" else '__attribute__((visibility("default")))'


class _Job:
    """A build in a folder of its own."""

    def __init__(self, name: str, work: Path, compiler: Compiler, log: Path) -> None:
        self.name = name
        self.work = work
        self.compiler = compiler
        self.log = log

    def module(self, cores: Sequence[str], flags: Sequence[str], module: str) -> None:
        """Translate, compile and link. The C core compiles while Cython translates the wrapper."""
        python = sysconfig.get_path("include")
        with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
            waiting = [pool.submit(self._compile, core, flags, _INCLUDE) for core in cores]
            try:
                wrapper = self._translate()
                include = [f"-I{INCLUDE}", f"-I{python}", f"-I{sysconfig.get_path('platinclude')}"]
                waiting.append(pool.submit(self._compile, wrapper, self.compiler.wrapper_flags(), include))
                objects = [done.result() for done in waiting]
            except BaseException:
                for done in waiting:
                    done.cancel()
                raise
        self._link(objects, module)
        seal(self.work / module)
        for leftover in (*objects, wrapper, f"{self.name}_wrapper_api.h", f"{self.name}.lis"):
            (self.work / leftover).unlink(missing_ok=True)

    def library(self, sources: Sequence[str], flags: Sequence[str], target: str) -> None:
        """Compile and link files that do not need Python."""
        objects = [self._compile(source, flags, _INCLUDE) for source in sources]
        self._link(objects, target)
        seal(self.work / target)
        for compiled in objects:
            (self.work / compiled).unlink()

    def _translate(self) -> str:
        """Translate the wrapper to C with Cython; return the file name."""
        target = f"{self.name}_wrapper.c"
        with _TRANSLATION:
            cython: Any = import_module("Cython.Compiler.Main")  # takes 0.1 s, and has no type stubs
            options = cython.CompilationOptions(
                cython.default_options,
                output_file=str(self.work / target),
                include_path=[str(INCLUDE)],
                language_level=3,
                use_listing_file=True,
                errors_to_stderr=False,
            )
            source = str(self.work / f"{self.name}.pyx")
            result = cython.compile_single(source, options, full_module_name=self.name)
        if result.num_errors or not (self.work / target).exists():
            listing = self.work / f"{self.name}.lis"
            text = listing.read_text(errors="replace") if listing.exists() else "no message from Cython"
            raise self._failure("Cython", f"{self.name}.pyx", text)
        # Cython names included files by their path from the current directory.
        written = (self.work / target).read_text(encoding="utf-8")
        written = re.sub(r'"[^"\n]*[/\\](cg_\w+\.pxi)"', r'"\1"', written)
        (self.work / target).write_bytes(written.encode())
        return target

    def _compile(self, source: str, flags: Sequence[str], include: Sequence[str]) -> str:
        target = source[:-2] + ".o"
        self._call([*self.compiler.command, *flags, *include, "-c", source, "-o", target], source)
        return target

    def parallel(self, sources: Sequence[str], flags: Sequence[str]) -> list[str]:
        """Compile files of one folder side by side; return the names of the objects."""
        with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
            return list(pool.map(lambda source: self._compile(source, flags, ["-I."]), sources))

    def _link(self, objects: Sequence[str], module: str) -> None:
        libraries = [] if sys.platform == "win32" and not self.compiler.crosses else ["-lm"]
        command = [*self.compiler.command, *self.compiler.link_flags(), *objects, "-o", module, *libraries]
        self._call(command, module)

    def _call(self, command: Sequence[str], subject: str) -> None:
        # Relative names and a fixed working directory keep paths of this machine out of the module.
        try:
            done = subprocess.run(
                command,
                cwd=self.work,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                env={**os.environ, "LC_ALL": "C"},
            )
        except OSError as error:
            raise self._failure(command[0], subject, str(error)) from None
        if done.returncode != 0:
            shown = f"$ {shlex.join(command)}\n{done.stdout}\n(returned {done.returncode})\n"
            raise self._failure(command[0], subject, shown)

    def _failure(self, tool: str, subject: str, text: str) -> BuildError:
        """Write the log and return the one-line error."""
        self.log.write_text(f"{self.compiler.version}\n{text}", encoding="utf-8")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        errors = [line for line in lines if re.search(r"\berror:|:\d+:\d+: |undefined", line)]
        first = (errors or lines[-1:] or ["no message"])[0].replace(str(self.work) + os.sep, "")
        return BuildError(
            f"compiling the model {self.name!r} failed: {os.path.basename(tool)} on {subject}: {first[:200]} "
            f"(full log: {self.log})",
            self.log,
        )
