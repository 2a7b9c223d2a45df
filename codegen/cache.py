"""The store of compiled models: one folder per key, locked while it is made, checked before it is used.

An entry `<folder>/<key>/` holds the extension module, the texts it was made from, and `entry.json` with the module's
SHA-256. Entries appear whole (by renaming a finished folder), so that a reader needs no lock. There is no pickle.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from chaplygin.runtime.errors import CacheError as CacheError

from .compilers import Compiler, cpu_features, find_compiler

__all__ = ["CacheError", "cache_folder", "locked", "lookup", "model_key", "publish"]

ENTRY = "entry.json"
FORMAT = 1
VERSIONS = "compilers.json"
LOGS = "logs"
_LOCKS = "locks"
_MAKING = ".making-"
_DAMAGED = ".damaged-"
_PACKAGE = Path(__file__).resolve().parent


def cache_folder() -> Path:
    """The folder of compiled models, made with mode 0700 if missing.

    `CHAPLYGIN_CACHE` overrides the user's cache folder. Compiled code is loaded from here, so a folder that belongs
    to somebody else, or that others can write to, is refused.

    Raises CacheError.
    """
    folder = _folder_name()
    try:
        found = folder.stat()
    except OSError:
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = folder.stat()
        except OSError as error:
            raise CacheError(
                f"cache folder {folder}: cannot be made ({error.strerror}); set CHAPLYGIN_CACHE to a folder of yours"
            ) from None
    if not stat.S_ISDIR(found.st_mode):
        raise CacheError(f"cache folder {folder}: is not a folder; set CHAPLYGIN_CACHE to one of yours")
    if hasattr(os, "geteuid"):
        if found.st_uid != os.geteuid():
            raise CacheError(
                f"cache folder {folder}: belongs to user {found.st_uid}; set CHAPLYGIN_CACHE to a folder of yours"
            )
        if found.st_mode & 0o022:
            raise CacheError(
                f"cache folder {folder}: others can write to it (mode {stat.S_IMODE(found.st_mode):04o}); "
                f"correct it with: chmod 700 '{folder}'"
            )
    return folder


def _folder_name() -> Path:
    override = os.environ.get("CHAPLYGIN_CACHE", "")
    return Path(override).expanduser().absolute() if override else _user_folder()


@functools.cache
def _user_folder() -> Path:
    from platformdirs import user_cache_path

    return user_cache_path("chaplygin", appauthor=False) / "models"


def model_key(
    digest: str,
    *,
    reproducible: bool = True,
    tuned: bool = True,
    inline: bool = True,
    compiler: Compiler | None = None,
) -> str:
    """The key of a compiled model: 40 hexadecimal digits.

    `digest` stands for the canonical declaration with the form and its options; the rest are options of `build`.
    The generator, the compiler's version, the kind of machine and of Python, and for tuned code the CPU's features
    are part of the key.

    Raises NoCompilerError where there is no compiler, CacheError where the folder is refused.
    """
    if compiler is None:
        compiler = find_compiler(cache_folder() / VERSIONS)
    parts = [
        FORMAT,
        digest,
        inline,
        compiler.core_flags(tuned=tuned, reproducible=reproducible),
        compiler.identity,
        generator_stamp(),
        EXTENSION_SUFFIXES[0],
        sys.platform,
        platform.machine(),
        cpu_features() if tuned else "",
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:40]


@functools.cache
def generator_stamp() -> str:
    """The generator: its version, and name, size and time of each file that shapes what is built.

    The files make a change of the generator seen before its version changes.
    """
    from chaplygin import __version__

    parts: list[object] = [__version__]
    for folder in (_PACKAGE, _PACKAGE / "forms", _sibling("templates"), _sibling("runtime")):
        with os.scandir(folder) as files:
            for file in sorted(files, key=lambda found: found.name):
                wanted = (".h", ".in") if folder == _sibling("runtime") else (".py", ".in")
                if file.name.endswith(wanted):
                    facts = file.stat()
                    parts.append([file.name, facts.st_size, facts.st_mtime_ns])
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _sibling(name: str) -> Path:
    """The folder of the package `chaplygin.<name>`: beside this one, in a checkout as when installed."""
    return _PACKAGE.parent / name


def lookup(key: str) -> Path | None:
    """The extension module stored under `key`, or None where there is none or it is not what was stored.

    The file is hashed, so that a damaged one is never loaded. Raises CacheError where the folder is refused.
    """
    entry = _place(key)
    try:
        facts = json.loads((entry / ENTRY).read_bytes())
        name, expected = facts["file"], facts["sha256"]
        if facts["format"] != FORMAT or facts["key"] != key or os.path.basename(name) != name:
            return None
        module = entry / name
        content = module.read_bytes()
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return module if hashlib.sha256(content).hexdigest() == expected else None


def _place(key: str) -> Path:
    if re.fullmatch(r"[0-9a-f]{40}", key) is None:
        raise ValueError(f"key {key!r}: a key has 40 hexadecimal digits; make one with model_key")
    return cache_folder() / key


@contextmanager
def locked(key: str) -> Iterator[None]:
    """Hold the lock of `key`; other processes and threads wait."""
    from filelock import FileLock

    folder = _place(key).parent
    lock = FileLock(folder / _LOCKS / f"{key}.lock")
    try:
        (folder / _LOCKS).mkdir(mode=0o700, exist_ok=True)
        lock.acquire()
    except OSError as error:
        raise CacheError(
            f"cache folder {folder}: cannot be written ({error.strerror}); "
            "set CHAPLYGIN_CACHE to a folder of yours on a local disk"
        ) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def workspace() -> Iterator[Path]:
    """A private folder beside the entries, removed at the end unless it was published."""
    folder = cache_folder()
    _sweep(folder)
    work = Path(tempfile.mkdtemp(dir=folder, prefix=_MAKING))
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _sweep(folder: Path) -> None:
    """Remove what killed processes left behind more than a day ago."""
    for left in (*folder.glob(_MAKING + "*"), *folder.glob(_DAMAGED + "*")):
        with suppress(OSError):
            if left.stat().st_mtime < time.time() - 86400:
                shutil.rmtree(left)


def publish(key: str, work: Path, module: str, facts: Mapping[str, object]) -> Path:
    """Make the folder `work`, which holds `module`, the entry of `key`. The caller holds the lock.

    `facts` are stored beside the module's digest, for people; where they come from another entry, its key, file and
    digest give way to those of this one. A damaged entry of the same key is put aside first.
    """
    digest = hashlib.sha256((work / module).read_bytes()).hexdigest()
    entry = {**facts, "format": FORMAT, "key": key, "file": module, "sha256": digest}
    (work / ENTRY).write_text(json.dumps(entry, indent=1) + "\n", encoding="utf-8")
    place = _place(key)
    if os.path.lexists(place):
        aside = tempfile.mkdtemp(dir=place.parent, prefix=_DAMAGED)
        os.replace(place, os.path.join(aside, key))
        with suppress(OSError):
            shutil.rmtree(aside)
    os.replace(work, place)
    return place / module


def log_path(key: str) -> Path:
    """Where the log of a failed build of `key` is kept."""
    logs = cache_folder() / LOGS
    logs.mkdir(mode=0o700, exist_ok=True)
    return logs / f"{key}.log"
