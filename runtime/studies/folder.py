"""A folder that keeps a study: what it is, and the part of every chunk that has run, so that it can be resumed.

``study.json`` describes the study. ``chunk-<first>-<digest>.zip`` is the part of the chunk that begins with the
trajectory `first`; the digest is that of the file's bytes, so a damaged file is recognised. Files are written beside
their place and renamed, so that none is ever half there.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from .. import arguments
from ..errors import ArgumentError, ChaplyginError
from .packing import pack, unpack

if TYPE_CHECKING:
    from .study import StudyJob

MANIFEST = "study.json"
FORMAT = 2
_NAME = re.compile(r"chunk-(\d{12})-([0-9a-f]{16})\.zip")


class StudyFolderError(ChaplyginError):
    """A folder of a study cannot be read or written, or belongs to something else."""


class Folder:
    """The folder of one study, locked while this process uses it."""

    def __init__(self, path: str | os.PathLike[str], job: StudyJob, seeded: bool) -> None:
        """Make the folder, or go on with it. Without a seed of its own (`seeded`) the job takes that of the folder.

        Raises StudyFolderError if the folder contains anything else, another study, or cannot be used.
        """
        from filelock import FileLock, Timeout

        if not isinstance(path, (str, os.PathLike)):
            raise ArgumentError(f"out = {arguments.short(path)} must be the path of a folder")
        self.path = Path(path)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._check_ours()
            self._lock = FileLock(self.path / ".lock", timeout=0)
            self._lock.acquire()
        except Timeout:
            raise StudyFolderError(f"out: {self._shown} is in use by another process") from None
        except OSError as error:
            raise StudyFolderError(f"out: {self._shown} cannot be used: {error.strerror or error}") from error
        try:
            self._open(job, seeded)
        except BaseException:
            self.close()
            raise
        for leftover in self.path.glob(".writing-*"):
            leftover.unlink(missing_ok=True)
        self._files = _files(self.path)

    def _open(self, job: StudyJob, seeded: bool) -> None:
        manifest = self.path / MANIFEST
        if not manifest.exists():
            self._write(MANIFEST, (json.dumps(description(job), indent=1) + "\n").encode())
            return
        found = read_manifest(self.path)
        if job.plan is not None and not seeded and isinstance(found.get("draws"), Mapping):
            job.plan.seed = found["draws"].get("seed", job.plan.seed)
        for place, there, here in _differences(found, json.loads(json.dumps(description(job)))):
            if not place.startswith("versions"):
                raise StudyFolderError(
                    f"out: {self._shown} belongs to another study: {place} is {arguments.short(there)} there and "
                    f"{arguments.short(here)} here; choose another folder, or repeat the arguments"
                )

    def _check_ours(self) -> None:
        """Refuse a folder with something else in it, before anything is written there."""
        others = sorted(
            entry.name for entry in self.path.iterdir() if not entry.name.startswith((".lock", ".writing-"))
        )
        if others and MANIFEST not in others:
            raise StudyFolderError(
                f"out: {self._shown} contains {others[0]!r} and is not the folder of a study; choose another one"
            )

    @property
    def _shown(self) -> str:
        return repr(str(self.path))

    def close(self) -> None:
        """Give up the lock."""
        self._lock.release()

    def keep(self, part: Any) -> None:
        """Write the part of a chunk."""
        content = pack({field.name: getattr(part, field.name) for field in fields(part)})
        digest = hashlib.sha256(content).hexdigest()[:16]
        self._write(f"chunk-{part.first:012d}-{digest}.zip", content)

    def _write(self, name: str, content: bytes) -> None:
        temporary = ""
        try:
            handle, temporary = tempfile.mkstemp(dir=self.path, prefix=".writing-")
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self.path / name)
        except OSError as error:
            with suppress(OSError):
                os.unlink(temporary)
            raise StudyFolderError(
                f"out: {name} cannot be written to {self._shown}: {error.strerror or error}; chunks that are there are "
                "kept, and the same call goes on from them"
            ) from error

    def has(self, first: int) -> bool:
        """Whether there is a file of the chunk that begins with trajectory `first`."""
        return first in self._files

    def part(self, first: int) -> dict[str, Any] | None:
        """The part of the chunk that begins with trajectory `first`; None if missing. A damaged file is removed."""
        file = self._files.pop(first, None)
        found = None if file is None else _read(file)
        if file is not None and found is None:
            file.unlink()
        return found


def _files(path: Path) -> dict[int, Path]:
    """The file of each chunk by its first trajectory, in that order."""
    found = ((_NAME.fullmatch(file.name), file) for file in sorted(path.glob("chunk-*.zip")))
    return {int(name[1]): file for name, file in found if name is not None}


def stored(path: Path) -> Iterator[dict[str, Any]]:
    """The parts of the undamaged chunk files, each read when its turn comes, in the order of the trajectories."""
    for file in _files(path).values():
        found = _read(file)
        if found is not None:
            yield found


def _read(file: Path) -> dict[str, Any] | None:
    """The part in a file of a chunk; None, with a warning, if it is damaged."""
    content = file.read_bytes()
    name = _NAME.fullmatch(file.name)
    try:
        if name is None or hashlib.sha256(content).hexdigest()[:16] != name[2]:
            raise ValueError
        return unpack(content)  # type: ignore[no-any-return]
    except (ValueError, KeyError, BadZipFile):
        warnings.warn(
            f"{file.name} of the study in {str(file.parent)!r} is damaged; the study makes it again",
            RuntimeWarning,
            4,
        )
        return None


def read_manifest(path: Path) -> dict[str, Any]:
    """The description of the study in a folder; raises StudyFolderError."""
    try:
        found = json.loads((path / MANIFEST).read_bytes())
        if not isinstance(found, dict) or "format" not in found:
            raise StudyFolderError(f"{str(path / MANIFEST)!r} does not describe a study")
        if found["format"] != FORMAT:
            raise StudyFolderError(f"{str(path)!r} has format {found['format']}; this version reads {FORMAT}")
    except FileNotFoundError:
        raise StudyFolderError(f"{str(path)!r} contains no study ({MANIFEST} is missing)") from None
    except (OSError, ValueError) as error:
        raise StudyFolderError(f"{str(path / MANIFEST)!r} cannot be read: {error}") from error
    return found


def description(job: StudyJob) -> dict[str, Any]:
    """What a study is, as JSON: two studies with equal descriptions have equal chunks, `versions` apart."""
    import scipy

    import chaplygin

    plan = job.plan
    return {
        "format": FORMAT,
        "model": {
            "name": job.model.name,
            "form": job.model.form,
            "digest": job.model.digest,
            "along": job.model.along,
            "units": job.model.units,
        },
        "t_span": list(job.t_span),
        "n": job.count,
        "options": {name: _plain(value) for name, value in vars(job.options).items()},
        "given": {kind: _plain(value) for kind, value in job.given.items()},
        "draws": None if plan is None else plan.description(),
        "collect": {name: entry.description() for name, entry in job.collect.items()},
        "until": None if job.until is None else asdict(job.until),
        "versions": {"chaplygin": chaplygin.__version__, "numpy": np.__version__, "scipy": scipy.__version__},
    }


def _plain(value: Any) -> Any:
    """A value as JSON; arrays by their digest, functions by their names."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (float, np.floating)):
        return float(value).hex()
    if isinstance(value, Mapping):
        return {arguments.plain_name(name): _plain(entry) for name, entry in value.items()}
    if isinstance(value, tuple):
        return [_plain(entry) for entry in value]
    if callable(value):
        named = value if hasattr(value, "__qualname__") else type(value)
        return f"{named.__module__}.{named.__qualname__}"
    table = np.asarray(value, dtype=np.float64)
    return f"{table.shape} {hashlib.sha256(np.ascontiguousarray(table).tobytes()).hexdigest()[:16]}"


def _differences(there: Any, here: Any, place: str = "") -> Any:
    """Where two JSON values differ: (place, one, the other)."""
    if isinstance(there, dict) and isinstance(here, dict):
        for name in {**there, **here}:
            inner = f"{place}.{name}" if place else str(name)
            yield from _differences(there.get(name), here.get(name), inner)
    elif there != here:
        yield place, there, here
