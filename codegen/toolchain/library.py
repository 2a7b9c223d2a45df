"""Build: from emitted sources to shared libraries in the cache.

A model is one library, its kernels; each method that is used long enough, and each number of lanes, is another one.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chaplygin.errors import BuildError
from chaplygin.log import stage
from chaplygin.runtime.interface.checksum import seal
from chaplygin.runtime.interface.cpu_variants import is_shipped, sources_of
from chaplygin.runtime.interface.files import INCLUDE, library_name, method_key, runtime_files

from ..emit.method_list import list_of
from . import cache
from .compiler import Compiler

if TYPE_CHECKING:
    from ..lower.sources import Sources

_INCLUDE = (
    f"-I{INCLUDE}",
    f"-I{INCLUDE / 'methods'}",
    "-I.",
)  # the methods of a model are included by a header of the runtime

LARGE = 360
"""Statements of C from which kernels are compiled at -O1: in two thirds of the time of -O2, and slower by 2 %.

The numbers of a table are one: its reading gains from -O2 however many they are.
"""
_Recipe = tuple[Mapping[str, Any], Sequence[str], Mapping[str, bytes], Sequence[str], str]
"""Facts, flags, texts by file, the files among them that are compiled, and the name of their library."""
_ONE_METHOD = ('-DCG_METHOD_LIST_FILE="one_method.h"',)
# A DLL exports everything if nothing in it is marked for export.
_VISIBLE = () if sys.platform == "win32" else ("-fvisibility=default", "-fno-semantic-interposition")
EXPORTED = "__declspec(dllexport)" if sys.platform == "win32" else '__attribute__((visibility("default")))'


def build(
    sources: Sources, *, key: str, reproducible: bool = True, tuned: bool = True, inline: bool = True
) -> Path:
    """Return the compiled form of `sources` from the cache, or compile it and store it there under `key`.

    Only the C core is compiled, with the methods that the model brings; the others are added when they are used
    (`build_method`), if `inline` says that this is worth it. The options must be those given to `cache.model_key`. If
    several processes need the same key at once, one compiles and the others wait. Returns the path of a shared library
    that defines `<name>_model`.

    Raises ValueError for a file name that is a path, BuildError (one line, with the path of the full log),
    NoCompilerError, CacheError.
    """

    def recipe(compiler: Compiler) -> _Recipe:
        _check(sources)
        own = f"{sources.name}_methods.h" in sources.files
        core = [text for file, text in sources.files.items() if f"{sources.name}_core" in file]
        level = "-O3" if own else _level(core)
        flags = (*compiler.core_flags(tuned=tuned, reproducible=reproducible, level=level), *_VISIBLE)
        flags += ("-DCHAPLYGIN_INLINE_METHODS",) if own else ()
        facts = {
            "name": sources.name,
            "reproducible": reproducible,
            "tuned": tuned,
            "inline": inline,
            "digest": sources.digest,
            "compiler": compiler.version,
        }
        texts = {file: text.encode() for file, text in sources.files.items()}
        cores = sorted(file for file in texts if file.endswith(".c") and not file.endswith("_lanes.c"))
        return facts, flags, texts, cores, library_name(sources.name)

    return _cached(key, recipe)


def build_late(module: Path, kernel: str, texts: Callable[[], Mapping[str, str]]) -> Path:
    """The library of a kernel that a model has no code for, cached or newly compiled, as the model was.

    Raises as `build_lanes`.
    """
    facts = facts_of(module)

    def recipe(compiler: Compiler) -> _Recipe:
        made = texts()
        level = _level(made.values())
        flags = compiler.core_flags(tuned=facts["tuned"], reproducible=facts["reproducible"], level=level)
        files = {file: text.encode() for file, text in made.items()}
        return facts, (*flags, *_VISIBLE), files, sorted(files), library_name(facts["name"], kernel)

    return _cached(method_key(facts["key"], kernel), recipe)


def _cached(key: str, recipe: Callable[[Compiler], _Recipe]) -> Path:
    """The library in the cache under `key`, or compiled by its recipe and stored there with its texts."""
    with cache.locked(key):
        found = cache.lookup(key)
        if found is not None:
            return found
        compiler = cache.cached_compiler()
        facts, flags, texts, sources, library = recipe(compiler)
        with cache.workspace() as work:
            for file, text in texts.items():
                (work / file).write_bytes(text)
            _Job(facts["name"], work, compiler, cache.log_path(key)).library(sources, flags, library)
            return cache.publish(key, work, library, {**facts, "flags": list(flags)})


def _check(sources: Sources) -> None:
    """Raise ValueError for a file that is not to be written into the folder of a build."""
    for file in sources.files:
        if os.path.basename(file) != file or not file.startswith((sources.name, "cg_")):
            raise ValueError(
                f"sources: file {file!r} is not a plain file name that begins with {sources.name!r} or 'cg_'"
            )


def _level(files: Iterable[str]) -> str:
    """How far the kernels in files of C are optimized."""
    return "-O1" if sum(text.count(";") for text in files) > LARGE else "-O2"


def build_method(module: Path, method: str) -> Path:
    """A model with one of the runtime's methods compiled into it, cached or newly compiled.

    `module` is the path that `build` returned, with the sources next to it. Returns the path of a shared library that
    defines `<name>_model`, whose table of methods has this one, with the right-hand side inlined into it. It gives the
    bits of the runtime's own. Raises as `build_lanes`.
    """
    facts = facts_of(module)
    name, key = facts["name"], method_key(facts["key"], method)
    texts = _texts(module, "_core", "_methods.h")
    if not {f"{name}_core.c", f"{name}_core.h"} <= texts.keys():
        raise FileNotFoundError("there are no sources next to the model")

    def recipe(compiler: Compiler) -> _Recipe:
        flags = compiler.core_flags(tuned=facts["tuned"], reproducible=facts["reproducible"])
        flags += ("-DCHAPLYGIN_INLINE_METHODS", *_ONE_METHOD, *_VISIBLE)
        files = texts | _one_method(method)
        cores = sorted(file for file in files if file.endswith(".c"))
        return {**facts, "method": method}, flags, files, cores, library_name(name, method)

    return _cached(key, recipe)


def find_lanes(module: Path, lanes: int, method: str) -> Path | None:
    """The result of `build_lanes` if it is in the cache; None if it would have to be compiled."""
    return cache.lookup(_LaneEntry(module, lanes, method).key)


def build_lanes(module: Path, lanes: int, method: str) -> Path:
    """The lane set of a model with one method, cached or newly compiled.

    It is a shared library that defines `<name>_lanes_<lanes>` and has its own entry in the cache. `module` is the path
    that `build` returned, or a module of `chaplygin.generated`, with the emitted lane file next to it. Raises
    BuildError, NoCompilerError, CacheError, and FileNotFoundError if the lane file, or the record of how the module was
    compiled, is missing.
    """
    entry = _LaneEntry(module, lanes, method)
    facts = {**entry.facts, "method": method}
    return lane_library(entry.key, f"{entry.name}_lanes", lambda: entry.texts, lanes, facts)


def lane_library(
    key: str, stem: str, texts: Callable[[], Mapping[str, bytes]], lanes: int, facts: Mapping[str, Any]
) -> Path:
    """The shared library `<stem>_<lanes>` of the file `<stem>.c` among `texts`, cached under `key` or newly compiled.

    It is compiled as the model that `facts` describes, for a number of lanes. Raises BuildError, NoCompilerError,
    CacheError.
    """

    def recipe(compiler: Compiler) -> _Recipe:
        flags = compiler.core_flags(tuned=facts["tuned"], reproducible=facts["reproducible"])
        flags = (*flags, *compiler.lane_flags, f"-DCG_LANES={lanes}", f"-DCG_EXPORTED={EXPORTED}")
        flags += _ONE_METHOD if "method" in facts else ()
        flags += ("-DCG_WITHOUT_RK4",) if facts.get("method", "rk4") != "rk4" else ()
        return {**facts, "lanes": lanes}, flags, texts(), [f"{stem}.c"], library_name(stem, lanes)

    return _cached(key, recipe)


def compile_library(
    name: str,
    work: Path,
    compiler: Compiler,
    sources: Sequence[str],
    flags: Sequence[str],
    log: Path,
    objects: Sequence[Path] = (),
    done: Callable[[], None] | None = None,
) -> Path:
    """A shared library of `objects` and of C files in the folder `work`, which contains everything that they include.

    `done` is called after each C file. Raises BuildError with the path of the full log.
    """
    job = _Job(name, work, compiler, log)
    library = library_name(name)
    with stage("compile", library):
        job._link([*job.parallel(sources, flags, done), *map(os.fspath, objects)], library)
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
    """The cache entry of a lane set with a method: its key, and what the key is computed from."""

    def __init__(self, module: Path, lanes: int, method: str) -> None:
        self.facts = facts_of(module)
        self.name = self.facts["name"]
        self.texts = _texts(module, "_core.h", "_lanes.c", "_methods.h") | _one_method(method)
        self.key = cache.model_key(
            hashlib.sha256(repr((lanes, sorted(self.texts.items()))).encode()).hexdigest(),
            reproducible=self.facts["reproducible"],
            tuned=self.facts["tuned"],
        )


def _one_method(method: str) -> dict[str, bytes]:
    """The list of methods with this one; empty for one that the model brings."""
    chosen = [method] if f"cg_{method}.h" in runtime_files() else []
    return {"one_method.h": list_of(chosen, " * One method.").encode()}


def _texts(module: Path, *ends: str) -> dict[str, bytes]:
    """The C files next to a module whose names go on so after that of the model. Raises BuildError."""
    name = module.name.split(".")[0]
    begins = tuple(f"{name}{end}" for end in ends)
    return texts_beside(module, lambda file: file.startswith(begins) and file.endswith((".c", ".h")))


def facts_of(module: Path) -> dict[str, Any]:
    """How a model was compiled: read from its cache entry; shipped modules are reproducible. Raises BuildError.

    Reproducible lanes give the same bits as the model on every CPU, so they can be tuned to this CPU even though a
    shipped module is built for any.
    """
    if is_shipped(module):
        return {"name": module.name.split(".")[0], "reproducible": True, "tuned": True, "inline": True}
    return cache.facts_in(module.parent)


class _Job:
    """A build in a folder of its own."""

    def __init__(self, name: str, work: Path, compiler: Compiler, log: Path) -> None:
        self.name = name
        self.work = work
        self.compiler = compiler
        self.log = log

    def library(self, sources: Sequence[str], flags: Sequence[str], target: str) -> None:
        """Compile and link files that do not need Python."""
        with stage("compile", target):
            objects = [self._compile(source, flags, _INCLUDE) for source in sources]
            self._link(objects, target)
        seal(self.work / target)
        for compiled in objects:
            (self.work / compiled).unlink()

    def _compile(self, source: str, flags: Sequence[str], include: Sequence[str]) -> str:
        target = source[:-2] + ".o"
        self._call([*self.compiler.command, *flags, *include, "-c", source, "-o", target], source)
        return target

    def parallel(
        self, sources: Sequence[str], flags: Sequence[str], done: Callable[[], None] | None = None
    ) -> list[str]:
        """Compile files of one folder side by side; return the names of the objects."""
        objects = []
        with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
            for made in pool.map(lambda source: self._compile(source, flags, ["-I."]), sources):
                objects.append(made)
                if done is not None:
                    done()
        return objects

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


def texts_beside(module: Path, wanted: Callable[[str], bool]) -> dict[str, bytes]:
    """{file name: content} of the files next to a module whose names are wanted.

    Raises BuildError for one of the cache that is missing or has changed since it was stored.
    """
    folder = sources_of(module)
    if is_shipped(module) or not (folder / cache.ENTRY).exists():
        files = sorted(file for file in folder.iterdir() if file.is_file() and wanted(file.name))
        return {file.name: file.read_bytes() for file in files}
    return {
        name: cache.content(folder, name) for name in sorted(cache.facts_in(folder)["files"]) if wanted(name)
    }
