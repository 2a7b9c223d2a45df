"""The cache of compiled models: one folder per key, locked while it is built, checked before it is used.

An entry `<folder>/<key>/` contains a library, its sources, and `entry.json` with the SHA-256 of each of them, and of
itself. An entry appears complete, by renaming a finished folder, so readers need no lock. Nothing is pickled.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import json
import os
import platform
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

from chaplygin import _version
from chaplygin._lazy import later
from chaplygin.errors import BuildError, CacheError, CacheWarning, warn_caller

from .compiler import Compiler, cpu_features, find_compiler
from .private_folder import UnwritableFolder, disk_errors, private_folder

platformdirs = later("platformdirs")
filelock = later("filelock")

ENTRY = "entry.json"
FORMAT = 2
_OVERRIDE = "CHAPLYGIN_CACHE"
_LOCKS = "locks"
_MAKING = ".making-"
_DAMAGED = ".damaged-"
_CODEGEN = Path(__file__).resolve().parents[1]
_API = Path(_version.__file__).resolve().with_name("api")


def cache_folder() -> Path:
    """The folder of compiled models, created with mode 0700 if missing.

    `CHAPLYGIN_CACHE`, an absolute path, overrides the user's cache folder; an empty value counts as unset. Compiled
    code is loaded from here, so a folder that another user owns, can write to or can replace is refused. Where the
    user's own cannot be written, as in a read-only home, a temporary one stands in until the process ends, with a
    warning.

    Raises CacheError.
    """
    name = _folder_name()
    try:
        folder = private_folder(name)
    except UnwritableFolder as error:
        if os.environ.get(_OVERRIDE):
            raise
        return _temporary_folder(str(error))
    if os.access(folder, os.W_OK) or os.environ.get(_OVERRIDE):
        return folder
    return _temporary_folder(f"cache folder {folder}: cannot be written")


@functools.cache
def _temporary_folder(reason: str) -> Path:
    """A folder for this process and those that it starts, which find it in their environment."""
    folder, owner = tempfile.mkdtemp(prefix="chaplygin-"), os.getpid()
    warn_caller(
        f"{reason.partition(';')[0]}: models are compiled into the temporary folder {folder}, which is removed when "
        f"this process ends; set {_OVERRIDE} to a folder that you can write to keep them",
        CacheWarning,
    )
    os.environ[_OVERRIDE] = folder
    atexit.register(_remove, folder, owner)
    return private_folder(Path(folder))


def _remove(folder: str, owner: int) -> None:
    if os.getpid() == owner:  # not in a fork
        shutil.rmtree(folder, ignore_errors=True)


def _folder_name() -> Path:
    override = os.environ.get(_OVERRIDE, "")
    if not override:
        return _user_folder()
    try:
        folder = Path(override).expanduser()
    except RuntimeError:
        raise CacheError(
            f"CHAPLYGIN_CACHE is {override!r}, but there is no such user; give an absolute path"
        ) from None
    if not folder.is_absolute():
        raise CacheError(
            f"CHAPLYGIN_CACHE is {override!r}, a relative path, which depends on the working directory; give an "
            f"absolute path, for example {os.path.abspath('models')!r}"
        )
    return folder


@functools.cache
def _user_folder() -> Path:
    folder: Path = platformdirs.user_cache_path("chaplygin", appauthor=False) / "models"
    if not folder.is_absolute():
        raise CacheError(
            f"cache folder {folder}: no home directory found; set CHAPLYGIN_CACHE to a folder you own"
        )
    return folder


def cached_compiler() -> Compiler:
    """The compiler, its version from the cache."""
    return find_compiler(cache_folder() / "compilers.json")


def model_key(
    digest: str,
    *,
    reproducible: bool = True,
    tuned: bool = True,
    inline: bool = True,
    compiler: Compiler | None = None,
) -> str:
    """The key of a compiled model: 40 hexadecimal digits.

    `digest` identifies the canonical declaration, the form and its options; the rest are options of `build`. The key
    also depends on the generator, the compiler's version, the platform, the Python ABI and, for tuned code, the CPU's
    features.

    Raises NoCompilerError if no compiler is found, CacheError if the folder is refused.
    """
    parts = [FORMAT, digest, inline, *_surroundings(reproducible, tuned, compiler)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:40]


def surroundings(*, reproducible: bool = True, tuned: bool = True) -> str:
    """A hash of what else a key depends on: where it is equal, equal models have equal keys. Raises as `model_key`."""
    return hashlib.sha256(json.dumps(_surroundings(reproducible, tuned, None)).encode()).hexdigest()


def _surroundings(reproducible: bool, tuned: bool, compiler: Compiler | None) -> list[object]:
    compiler = compiler or cached_compiler()
    return [
        compiler.core_flags(tuned=tuned, reproducible=reproducible),
        compiler.identity,
        generator_stamp(),
        EXTENSION_SUFFIXES[0],
        sys.platform,
        platform.machine(),
        cpu_features() if tuned else "",
    ]


@functools.cache
def generator_stamp() -> str:
    """A hash of the generator: its version, and the name and content of every file that affects what is built.

    Reading the files, which takes 2 ms, detects changes made without a new version. Their modification times are not
    used: a checkout resets them.
    """
    stamp = hashlib.sha256(_version.__version__.encode())
    library = _CODEGEN.parent / "runtime" / "c"
    rooms = sorted(Path(folder) for top in (_CODEGEN, library) for folder, _, _ in os.walk(top))
    # The other packages are next to this one, both in a checkout and when installed.
    for folder in (*rooms, _API, _CODEGEN.parent / "templates"):
        wanted = (".h", ".in") if library in (folder, folder.parent) else (".py", ".in")
        for name in sorted(name for name in os.listdir(folder) if name.endswith(wanted)):
            content = (folder / name).read_bytes()
            stamp.update(f"\n{folder.name}/{name} {len(content)}\n".encode() + content)
    return stamp.hexdigest()


def lookup(key: str) -> Path | None:
    """The library stored under `key`; None if a file of its entry is missing or has changed since it was stored.

    Every file is hashed: a damaged library is never loaded, and damaged sources, which lanes and methods are compiled
    from, are made again. Raises CacheError if the folder is refused.
    """
    entry = _place(key)
    try:
        facts = facts_in(entry)
        if facts["key"] != key:
            return None
        for name in facts["files"]:
            content(entry, name)
    except (OSError, BuildError):
        return None
    return entry / str(facts["file"])


def facts_in(entry: Path) -> dict[str, Any]:
    """What is recorded of an entry: the facts given to `publish`, and the digests of its `files` by name.

    Raises BuildError if the record is damaged, OSError if there is none.
    """
    record = entry / ENTRY
    try:
        facts = json.loads(record.read_bytes())
        whole = facts["format"] == FORMAT and facts["sha256"] == _digest_of(facts)
    except (ValueError, KeyError, TypeError):
        whole = False
    if not whole:
        raise _damaged(record)
    return dict(facts)


def content(entry: Path, name: str) -> bytes:
    """A file of an entry as it was stored. Raises BuildError if it is missing or damaged."""
    expected = facts_in(entry)["files"].get(name)
    try:
        found = (entry / name).read_bytes()
    except OSError:
        expected = None
    if expected is None or hashlib.sha256(found).hexdigest() != expected:
        raise _damaged(entry / name)
    return found


def _damaged(file: Path) -> BuildError:
    return BuildError(
        f"{file} is missing or damaged: it is not what was stored in the cache; compile the model again"
    )


def _digest_of(facts: Mapping[str, Any]) -> str:
    """That of a record, without its own digest."""
    rest = {name: value for name, value in facts.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def _place(key: str) -> Path:
    if re.fullmatch(r"[0-9a-f]{40}", key) is None:
        raise ValueError(f"key {key!r} is not 40 hexadecimal digits; create one with model_key")
    return cache_folder() / key


@contextmanager
def locked(key: str) -> Iterator[None]:
    """Hold the lock of `key`; other processes and threads wait. Disk errors inside are raised as CacheError."""
    folder = _place(key).parent
    lock = filelock.FileLock(folder / _LOCKS / f"{key}.lock")
    with disk_errors(folder):
        (folder / _LOCKS).mkdir(mode=0o700, exist_ok=True)
        lock.acquire()
        try:
            yield
        finally:
            lock.release()


@contextmanager
def workspace() -> Iterator[Path]:
    """A private folder next to the entries, removed at the end unless it was published."""
    folder = cache_folder()
    with disk_errors(folder):
        _sweep(folder)
        work = Path(tempfile.mkdtemp(dir=folder, prefix=_MAKING))
        try:
            yield work
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _sweep(folder: Path) -> None:
    """Remove folders that killed processes left behind more than a day ago."""
    for left in (*folder.glob(_MAKING + "*"), *folder.glob(_DAMAGED + "*")):
        with suppress(OSError):
            if left.stat().st_mtime < time.time() - 86400:
                shutil.rmtree(left)


def publish(key: str, work: Path, library: str, facts: Mapping[str, object]) -> Path:
    """Make the folder `work`, which contains `library`, the entry of `key`. The caller holds the lock.

    `facts` are stored along with the digests of all files. If they come from another entry, its key, file and digests
    are replaced by those of this one. A damaged entry of the same key is moved aside first.
    """
    files = {each.name: hashlib.sha256(each.read_bytes()).hexdigest() for each in sorted(work.iterdir())}
    entry = {**facts, "format": FORMAT, "key": key, "file": library, "files": files}
    entry["sha256"] = _digest_of(entry)
    (work / ENTRY).write_text(json.dumps(entry, indent=1) + "\n", encoding="utf-8")
    place = _place(key)
    if os.path.lexists(place):
        aside = tempfile.mkdtemp(dir=place.parent, prefix=_DAMAGED)
        os.replace(place, os.path.join(aside, key))
        with suppress(OSError):
            shutil.rmtree(aside)
    os.replace(work, place)
    return place / library


def log_path(key: str) -> Path:
    """The path of the log of a failed build of `key`."""
    logs = cache_folder() / "logs"
    with disk_errors(logs.parent):
        logs.mkdir(mode=0o700, exist_ok=True)
    return logs / f"{key}.log"
