"""A folder that keeps a study: what it is, and the part of every chunk that has run, so that it can be resumed.

``study.json`` describes it (`manifest`). ``chunk-<first>-<digest>.zip`` is the part of the chunk that begins with
the trajectory `first`; the digest is that of the file's bytes, so a damaged file is recognised. Files are written
beside their place and renamed, so that none is ever half there. docs/study_folders.md describes the format.
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
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from chaplygin._lazy import later

from ..interface import arguments
from ..statistics.part import Part
from ..statistics.sketches import CHUNK
from .collector import Collector
from .manifest import MANIFEST, StudyFolderError, description, read_manifest, written
from .packing import Form, fits, pack, unpack

if TYPE_CHECKING:
    from .job import StudyJob

filelock = later("filelock")

_NAME = re.compile(r"chunk-(\d{12})-([0-9a-f]{16})\.zip")


class Folder:
    """The folder of one study, locked while this process uses it."""

    def __init__(self, path: str | os.PathLike[str], job: StudyJob, seeded: bool) -> None:
        """Make the folder, or go on with it. Without a seed of its own (`seeded`) the job takes that of the folder.

        Raises StudyFolderError if the folder contains anything else, another study, or cannot be used.
        """
        self.path = arguments.path("out", path)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._check_ours()
            self._lock = filelock.FileLock(self.path / ".lock", timeout=0)
            self._lock.acquire()
        except filelock.Timeout:
            raise StudyFolderError(f"out: {self._shown} is in use by another process") from None
        except OSError as error:
            raise StudyFolderError(f"out: {self._shown} cannot be used: {error.strerror or error}") from error
        try:
            for leftover in self.path.glob(".writing-*"):
                if leftover.is_file():
                    leftover.unlink(missing_ok=True)
            self._open(job, seeded)
        except BaseException:
            self.close()
            raise
        self._chunks = Chunks(self.path, job.count, job.collect)

    def _open(self, job: StudyJob, seeded: bool) -> None:
        if not (self.path / MANIFEST).exists():
            self._write(MANIFEST, written(job))
            return
        found = read_manifest(self.path)
        if job.plan is not None and not seeded and found.seed is not None:
            job.plan.seed = found.seed
        for place, there, here in _differences(found.content, json.loads(json.dumps(description(job)))):
            if not place.startswith("versions"):
                said = f"{place} is {arguments.short(there)} there and {arguments.short(here)} here"
                if place == "model.digest":
                    said += ", of another model, or of one that another version of chaplygin compiled"
                raise StudyFolderError(
                    f"out: {self._shown} belongs to another study: {said}; choose another folder, or repeat the "
                    "arguments; cg.open_study(folder) gives what is there"
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

    def keep(self, part: Part) -> None:
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
        return self._chunks.has(first)

    def part(self, first: int, last: int) -> Part | None:
        """The part of trajectories first <= i < last; None if missing. A damaged file is removed."""
        found = self._chunks.part(first, last)
        if found is None:
            self._chunks.remove_damaged(first)
        return found


class Chunks:
    """The files of chunks in a folder, each read when its turn comes, of a study of `count` trajectories."""

    def __init__(self, path: Path, count: int, collect: Mapping[str, Collector]) -> None:
        self.path, self.count, self.collect = path, count, collect
        self._files: dict[int, list[Path]] = {}
        for file in sorted(path.glob("chunk-*.zip")):
            name = _NAME.fullmatch(file.name)
            if name is not None:
                self._files.setdefault(int(name[1]), []).append(file)

    def has(self, first: int) -> bool:
        """Whether there is a file of the chunk that begins with trajectory `first`."""
        return first in self._files

    def part(self, first: int, last: int | None = None) -> Part | None:
        """The part of the chunk that begins with trajectory `first`, and ends before `last` if that is given.

        None if it is missing; with a warning if it is damaged.
        """
        for file in self._files.get(first, ()):
            found = self._read(file, first, last)
            if found is not None:
                return found
            warnings.warn(
                f"{file.name} of the study in {str(self.path)!r} is damaged; the study makes it again",
                RuntimeWarning,
                4,
            )
        return None

    def parts(self) -> Iterator[Part]:
        """The parts in the order of the trajectories, up to the first that is missing or damaged."""
        first = 0
        while first < self.count:
            part = self.part(first)
            if part is None:
                return
            first += part.count
            yield part

    def remove_damaged(self, first: int) -> None:
        """Remove the files of a chunk that is to be made again."""
        for file in self._files.pop(first, ()):
            file.unlink(missing_ok=True)

    def _read(self, file: Path, first: int, last: int | None) -> Part | None:
        """The part in a file; None if it is damaged, or of other trajectories than its name says."""
        try:
            content = file.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StudyFolderError(
                f"{str(file)!r} cannot be read as a chunk of the study: {error.strerror or error}; remove it, and the "
                "study makes it again"
            ) from error
        name = _NAME.fullmatch(file.name)
        if name is None or hashlib.sha256(content).hexdigest()[:16] != name[2]:
            return None
        try:
            found = unpack(content)
        except ValueError:
            return None
        return Part(**found) if self._fits(found, first, last) else None

    def _fits(self, found: Any, first: int, last: int | None) -> bool:
        """Whether what was read is the part of the chunk that begins with `first`."""
        count = found.get("count") if isinstance(found, dict) else None
        if type(count) is not int or not 0 < count <= min(CHUNK, self.count - first):
            return False
        if last is not None and first + count != last:
            return False
        form = {
            "first": first,
            "count": count,
            "parts": {name: entry.form(first, count) for name, entry in self.collect.items()},
            "failed": Form(np.int64, None),
            "status": Form(np.int32, None),
            "redrawn": found.get("redrawn"),
            "warnings": found.get("warnings"),
        }
        return (
            fits(form, found)
            and len(found["failed"]) == len(found["status"])
            and type(found["redrawn"]) is int
            and isinstance(found["warnings"], tuple)
            and all(isinstance(each, str) for each in found["warnings"])
            and bool(((found["failed"] >= first) & (found["failed"] < first + count)).all())
        )


def _differences(there: Any, here: Any, place: str = "") -> Any:
    """Where two JSON values differ: (place, one, the other)."""
    if isinstance(there, dict) and isinstance(here, dict):
        for name in {**there, **here}:
            inner = f"{place}.{name}" if place else str(name)
            yield from _differences(there.get(name), here.get(name), inner)
    elif there != here:
        yield place, there, here
