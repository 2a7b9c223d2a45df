"""``study.json``, the manifest of a folder: what its study is, checked when it is read. See docs/study_folders.md.

It is JSON with a version of its format and, as "sha256", a digest of all the rest, so that a changed or damaged file is
recognised. Entries of `collect` and laws of draws are named by words of the format, which classes do not change.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np

from chaplygin._lazy import later
from chaplygin._version import __version__
from chaplygin.errors import ArgumentError, ChaplyginError

from ..interface import arguments
from ..problem.options import DEFAULTS, RunOptions
from ..problem.polynomials import polynomial
from ..problem.sample_rows import SampleRows
from .collect import TAGS
from .collector import Collector
from .job import StudyJob
from .precision import Precision

scipy = later("scipy")

MANIFEST = "study.json"
FORMAT = 3
_DIGEST = "sha256"
_MOST = 1 << 62
"""Bound of the integers of a manifest, of which the arrays' indices are made."""

Value = TypeVar("Value")


class StudyFolderError(ChaplyginError):
    """A folder of a study cannot be read or written, or belongs to something else."""


class _WrongError(Exception):
    """What is wrong in a manifest."""


@dataclass(frozen=True)
class Manifest:
    """What is read of a manifest; `content` is all of it but its digest."""

    content: dict[str, Any]
    model: SimpleNamespace
    t_span: tuple[float, float]
    count: int
    collect: dict[str, Collector]
    until: Precision | None
    seed: int | None
    sampling: str | None


def written(job: StudyJob) -> bytes:
    """The manifest of a study."""
    content = description(job)
    return (json.dumps({**content, _DIGEST: digest(content)}, indent=1) + "\n").encode()


def digest(content: Mapping[str, Any]) -> str:
    """The SHA-256 of the content of a manifest, whatever its white space and the order of its names."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def read_manifest(path: Path) -> Manifest:
    """The manifest in a folder. Raises StudyFolderError if it is missing, damaged or of another format."""
    file = path / MANIFEST
    try:
        found = json.loads(file.read_bytes())
        if not isinstance(found, dict):
            raise _WrongError("it is not a JSON object")
        version = found.get("format")
        if type(version) is not int:
            raise _WrongError("it has no format")
        if version != FORMAT:
            raise StudyFolderError(
                f"{str(path)!r} has format {version}, and this version of chaplygin reads {FORMAT}: open it with "
                "the version that made it, or run the study again in another folder"
            )
        if found.pop(_DIGEST, None) != digest(found):
            raise StudyFolderError(
                f"{str(file)!r} was changed or is damaged: it does not match its own SHA-256; restore the file, or run "
                "the study again in another folder"
            )
        return _read(found)
    except FileNotFoundError:
        raise StudyFolderError(f"{str(path)!r} contains no study ({MANIFEST} is missing)") from None
    except (_WrongError, ArgumentError) as error:
        raise StudyFolderError(f"{str(file)!r} does not describe a study: {error}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise StudyFolderError(f"{str(file)!r} cannot be read: {error}") from error


def _read(found: dict[str, Any]) -> Manifest:
    model = _field(found, "", "model", _object)
    t_span = arguments.span(_field(found, "", "t_span", _list))
    collect = {
        name: _entry(f"collect.{name}", _object(f"collect.{name}", entry), t_span)
        for name, entry in _field(found, "", "collect", _object).items()
    }
    if not collect:
        raise _WrongError("collect is empty")
    draws = _field(found, "", "draws", _optional(_object))
    # An option that is younger than the folder has its default.
    found["options"] = {**_options(DEFAULTS), **_field(found, "", "options", _object)}
    return Manifest(
        found,
        SimpleNamespace(
            **{name: _field(model, "model.", name, _text) for name in ("name", "form", "digest")},
            along=_field(model, "model.", "along", _optional(_text)),
            units={
                name: _text(f"model.units.{name}", unit)
                for name, unit in _field(model, "model.", "units", _object).items()
            },
        ),
        t_span,
        _field(found, "", "n", _integer(1, _MOST)),
        collect,
        _until(_field(found, "", "until", _optional(_object)), collect),
        None if draws is None else _field(draws, "draws.", "seed", _integer(0, (1 << 64) - 1)),
        None if draws is None else _field(draws, "draws.", "sampling", _text),
    )


def _entry(place: str, found: dict[str, Any], t_span: tuple[float, float]) -> Collector:
    """The entry of a description, which makes results but has no compiled expressions."""
    tag = _field(found, f"{place}.", "entry", _text)
    if tag not in TAGS:
        raise _WrongError(f"{place}.entry is {tag!r}, none of {', '.join(TAGS)}")
    kind = TAGS[tag]
    names = {field.name for field in fields(kind)}
    if {*found} != {"entry", *names}:
        raise _WrongError(f"{place} must have entry, {', '.join(sorted(names))}")
    what = [_text(f"{place}.what", each) for each in _field(found, f"{place}.", "what", _list)]
    if not what or (kind.alone and len(what) > 1):
        raise _WrongError(f"{place}.what has {len(what)} quantities")
    if found["at"] is not None and not kind.timed:
        raise _WrongError(f"{place}.at: {tag} has no times")
    rest = {name: found[name] for name in names - {"what"}}
    return kind(tuple(what), **rest).checked(place.rpartition(".")[2], t_span)


def _until(found: dict[str, Any] | None, collect: Mapping[str, Collector]) -> Precision | None:
    if found is None:
        return None
    entry = _field(found, "until.", "entry", _text)
    if entry not in collect or not collect[entry].estimate:
        raise _WrongError(f"until.entry is {entry!r}, no entry of collect with a confidence interval")
    relative, absolute, level = (
        arguments.number(f"until.{name}", found.get(name)) for name in ("relative", "absolute", "level")
    )
    if min(relative, absolute) < 0 or not 0 < level < 1:
        raise _WrongError("until has a negative width, or a level that is not between 0 and 1")
    return Precision(entry, relative, absolute, level)


def _field(found: Mapping[str, Any], place: str, name: str, check: Callable[[str, Any], Value]) -> Value:
    if name not in found:
        raise _WrongError(f"{place}{name} is missing")
    return check(f"{place}{name}", found[name])


def _of(kind: type[Value], called: str) -> Callable[[str, Any], Value]:
    def check(place: str, value: Any) -> Value:
        if type(value) is not kind:
            raise _WrongError(f"{place} is {arguments.short(value)}, not {called}")
        return value

    return check


_object = _of(dict, "an object")
_list = _of(list, "a list")
_text = _of(str, "a text")


def _integer(least: int, most: int) -> Callable[[str, Any], int]:
    def check(place: str, value: Any) -> int:
        if type(value) is not int or not least <= value <= most:
            raise _WrongError(f"{place} is {arguments.short(value)}, not an integer from {least} to {most}")
        return value

    return check


def _optional(check: Callable[[str, Any], Value]) -> Callable[[str, Any], Value | None]:
    return lambda place, value: None if value is None else check(place, value)


def description(job: StudyJob) -> dict[str, Any]:
    """What a study is, as JSON: two studies with equal descriptions have equal chunks, `versions` apart."""
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
        "options": _options(job.options),
        "given": {kind: _plain(value) for kind, value in job.given.items()},
        "draws": None if plan is None else plan.description(),
        "collect": {name: _described(entry) for name, entry in job.collect.items()},
        "until": None if job.until is None else asdict(job.until),
        "versions": {"chaplygin": __version__, "numpy": np.__version__, "scipy": scipy.__version__},
    }


def _options(options: RunOptions) -> dict[str, Any]:
    return {name: _plain(value) for name, value in vars(options).items()}


def _described(entry: Collector) -> dict[str, Any]:
    """An entry of `collect`, from which `_entry` makes it again."""
    tag = next(tag for tag, kind in TAGS.items() if kind is type(entry))
    found = {"entry": tag, **{field.name: getattr(entry, field.name) for field in fields(entry)}}
    arrays = {name: value.tolist() for name, value in found.items() if isinstance(value, np.ndarray)}
    return {**found, **arrays, "what": list(entry.names)}


def _plain(value: Any) -> Any:
    """A value as JSON; arrays by their digest, functions by their names."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (float, np.floating)):
        return float(value).hex()
    if isinstance(value, Mapping):
        return {arguments.plain_name(name): _plain(entry) for name, entry in value.items()}
    if isinstance(value, tuple):
        rows = SampleRows.given_as("", value, 0)
        if rows is not None:
            return rows.digest()
        return [_plain(entry) for entry in value]
    if callable(value):
        pieces = polynomial("", value)
        if pieces is not None:
            sampled = isinstance(pieces.given, tuple)
            return _plain(pieces.given) if sampled else [_plain(pieces.times), _plain(pieces.rows)]
        named = value if hasattr(value, "__qualname__") else type(value)
        return f"{named.__module__}.{named.__qualname__}"
    table = np.asarray(value, dtype=np.float64)
    return f"{table.shape} {hashlib.sha256(np.ascontiguousarray(table).tobytes()).hexdigest()[:16]}"
