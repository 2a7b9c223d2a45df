"""The part of a chunk as the bytes of a file: a zip archive of arrays in NumPy's format, the same for the same part."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import fields
from typing import Any

import numpy as np

from .sketches import Counts, Moments

_CLASSES = {"Moments": Moments, "Counts": Counts}
_DATE = (1980, 1, 1, 0, 0, 0)
_STRUCTURE = "structure.json"


def pack(value: Any) -> bytes:
    """Dicts, lists, tuples, numbers, texts, arrays and sketches as bytes."""
    arrays: list[np.ndarray[Any, Any]] = []
    structure = json.dumps(_flattened(value, arrays))
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr(zipfile.ZipInfo(_STRUCTURE, _DATE), structure)
        for i, array in enumerate(arrays):
            content = io.BytesIO()
            np.lib.format.write_array(content, np.ascontiguousarray(array), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{i}.npy", _DATE), content.getvalue())
    return target.getvalue()


def unpack(content: bytes) -> Any:
    """What `pack` was given; raises ValueError, KeyError or zipfile.BadZipFile for anything else."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:

        def array(i: int) -> Any:
            return np.lib.format.read_array(io.BytesIO(archive.read(f"{i}.npy")), allow_pickle=False)

        return _built(json.loads(archive.read(_STRUCTURE)), array)


def _flattened(value: Any, arrays: list[Any]) -> Any:
    """JSON in which an array is its number among `arrays`, to which it is appended."""
    if isinstance(value, np.ndarray):
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if isinstance(value, (list, tuple)):
        return {type(value).__name__: [_flattened(each, arrays) for each in value]}
    if isinstance(value, dict):
        return {"dict": {name: _flattened(each, arrays) for name, each in value.items()}}
    if type(value).__name__ in _CLASSES:
        entries = {field.name: getattr(value, field.name) for field in fields(value)}
        return {type(value).__name__: _flattened(entries, arrays)}
    return value


def _built(found: Any, array: Any) -> Any:
    if not isinstance(found, dict):
        return found
    ((kind, content),) = found.items()
    if kind == "array":
        return array(content)
    if kind == "dict":
        return {name: _built(each, array) for name, each in content.items()}
    if kind in _CLASSES:
        return _CLASSES[kind](**_built(content, array))
    made = [_built(each, array) for each in content]
    return tuple(made) if kind == "tuple" else made
