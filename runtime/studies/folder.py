"""A folder that keeps a study: what it is, and the part of every chunk that has run, so that it can be resumed.

``study.json`` describes it (`manifest`). ``chunk-<first>-<digest>.zip`` is the part of the chunk that begins with
the trajectory `first`, and ``begun-<first>-<digest>.zip`` what Ctrl-C has left of it; the digest is that of the file's
bytes, so a damaged file is recognised. Files are written beside their place and renamed, so that none is ever half
there. docs/study_folders.md describes the format.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from chaplygin._lazy import later
from chaplygin.errors import warn_caller

from ..ensembles.job import Results
from ..interface import arguments
from ..statistics.part import Tallies
from ..statistics.sketches import CHUNK
from .chunk import Begun
from .collector import Collector
from .job import StudyJob
from .manifest import MANIFEST, StudyFolderError, description, read_manifest, written
from .packing import Slot, fits, pack, unpack

filelock = later("filelock")

_NAME = re.compile(r"(chunk|begun)-(\d{12})-([0-9a-f]{16})\.zip")
_KEPT = tuple(field.name for field in fields(Tallies))


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
        self._job, self._chunks = job, Chunks(self.path, job.count, job.collect)

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

    def keep(self, part: Tallies) -> None:
        """Write the part of a chunk, in place of what an earlier call has left of it."""
        kept: dict[str, Any] = {name: getattr(part, name) for name in _KEPT}
        kind = "chunk"
        if isinstance(part, Begun):
            kind, results = "begun", part.results
            kept |= {"finished": part.finished, "results": None if results is None else vars(results)}
        content = pack(kept)
        name = f"{kind}-{part.first:012d}-{hashlib.sha256(content).hexdigest()[:16]}.zip"
        self._write(name, content)
        for file in self.path.glob(f"begun-{part.first:012d}-*.zip"):
            if file.name != name:
                file.unlink(missing_ok=True)

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

    def part(self, first: int, last: int) -> Tallies | None:
        """The part of trajectories first <= i < last; None if missing. A damaged file is removed."""
        found = self._chunks.part(first, last)
        if found is None:
            self._chunks.remove_damaged(first)
        return found

    def begun(self, first: int, last: int) -> Begun | None:
        """What Ctrl-C has left of trajectories first <= i < last, if the study can go on from it, or None."""
        found = self._chunks.begun(first, last)
        return None if found is None or not self._job.suits(found) else found


class Chunks:
    """The files of chunks in a folder, each read when its turn comes, of a study of `count` trajectories."""

    def __init__(self, path: Path, count: int, collect: Mapping[str, Collector]) -> None:
        self.path, self.count, self.collect = path, count, collect
        self._files: dict[int, list[Path]] = {}
        self._begun: dict[int, list[Path]] = {}
        for file in sorted(path.glob("*.zip")):
            name = _NAME.fullmatch(file.name)
            if name is not None:
                files = self._files if name[1] == "chunk" else self._begun
                files.setdefault(int(name[2]), []).append(file)

    def has(self, first: int) -> bool:
        """Whether there is a file of the chunk that begins with trajectory `first`."""
        return first in self._files

    def part(self, first: int, last: int | None = None) -> Tallies | None:
        """The part of the chunk that begins with trajectory `first`, and ends before `last` if that is given.

        None if it is missing; with a warning if it is damaged.
        """
        return self._first(self._files, first, last)

    def begun(self, first: int, last: int | None = None) -> Begun | None:
        """What Ctrl-C has left of that chunk, as `part`."""
        found = self._first(self._begun, first, last)
        return found if isinstance(found, Begun) else None

    def _first(self, files: dict[int, list[Path]], first: int, last: int | None) -> Tallies | None:
        for file in files.get(first, ()):
            found = self._read(file, first, last)
            if found is not None:
                return found
            warn_caller(
                f"{file.name} of the study in {str(self.path)!r} is damaged; the study makes it again"
            )
        return None

    def parts(self) -> Iterator[Tallies]:
        """The parts in the order of the trajectories, up to the first that is missing or damaged.

        Where Ctrl-C has ended the study, what it has left of a chunk stands for the chunk.
        """
        first = 0
        while first < self.count:
            part = self.part(first) or self.begun(first)
            if part is None:
                return
            first += part.count
            yield part

    def remove_damaged(self, first: int) -> None:
        """Remove the files of a chunk that is to be made again."""
        for file in self._files.pop(first, ()):
            file.unlink(missing_ok=True)

    def _read(self, file: Path, first: int, last: int | None) -> Tallies | None:
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
        if name is None or hashlib.sha256(content).hexdigest()[:16] != name[3]:
            return None
        try:
            found = unpack(content)
        except ValueError:
            return None
        if not isinstance(found, dict):
            return None
        if name[1] == "chunk":
            return Tallies(**found) if self._fits(found, first, last) else None
        finished, results = (found.pop(key, None) for key in ("finished", "results"))
        if not Slot(np.int64, None).fits(finished) or not self._fits(found, first, last, bool(len(finished))):
            return None
        try:
            left = Begun(**found, finished=finished, results=None if results is None else Results(**results))
        except TypeError:
            return None
        return left if left.valid() else None

    def _fits(self, found: dict[str, Any], first: int, last: int | None, some: bool = True) -> bool:
        """Whether what was read is the part of the chunk that begins with `first`, with `some` trajectories."""
        count = found.get("count")
        if type(count) is not int or not 0 < count <= min(CHUNK, self.count - first):
            return False
        if last is not None and first + count != last:
            return False
        form = {
            "first": first,
            "count": count,
            "parts": {name: entry.form(first, count) for name, entry in self.collect.items() if some},
            "failed": Slot(np.int64, None),
            "status": Slot(np.int32, None),
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
