"""The part of a chunk as the bytes of a file: a zip archive of arrays in NumPy's format, the same for the same part.

docs/study_folders.md describes it.

``structure.json`` has the rest, in which an object with one name says what its value is: "array" the number of a file
beside it, "list", "tuple" and "dict" what Python calls so, "moments" and "counts" the sketches.
"""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from ..statistics.sketches import Counts, Moments

_TAGS: dict[str, type[Any]] = {"moments": Moments, "counts": Counts}
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
    """What `pack` was given; raises ValueError for anything else."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:

            def array(i: int) -> Any:
                return np.lib.format.read_array(io.BytesIO(archive.read(f"{i}.npy")), allow_pickle=False)

            return _built(json.loads(archive.read(_STRUCTURE)), array)
    except Exception as error:  # damaged archives and arrays raise errors of all kinds
        raise ValueError(f"{type(error).__name__}: {error}") from error


class Slot:
    """An array of some type and shape, in which None is any length."""

    def __init__(self, dtype: Any, *shape: int | None) -> None:
        self.dtype, self.shape = np.dtype(dtype), shape

    def fits(self, value: Any) -> bool:
        """Whether a value is such an array."""
        return (
            isinstance(value, np.ndarray)
            and value.dtype == self.dtype
            and value.ndim == len(self.shape)
            and all(n in (None, size) for n, size in zip(self.shape, value.shape))
        )


def fits(form: Any, value: Any) -> bool:
    """Whether a value has the types and shapes of `form`, in which a `Slot` stands for each array."""
    if isinstance(form, Slot):
        return form.fits(value)
    if type(form) is not type(value):
        return False
    if isinstance(form, dict):
        return form.keys() == value.keys() and all(fits(each, value[name]) for name, each in form.items())
    if isinstance(form, (list, tuple)):
        return len(form) == len(value) and all(map(fits, form, value))
    if is_dataclass(form):
        inner = all(fits(getattr(form, field.name), getattr(value, field.name)) for field in fields(form))
        return inner and value.valid()
    return bool(form == value)


def blank(form: Any) -> Any:
    """Arrays of a form, or dicts, lists or tuples of them, that say nothing: NaN, and no entries of any length."""
    if isinstance(form, Slot):
        shape = [0 if n is None else n for n in form.shape]
        return np.full(shape, np.nan if form.dtype.kind == "f" else 0, form.dtype)
    if isinstance(form, dict):
        return {name: blank(each) for name, each in form.items()}
    return type(form)(map(blank, form))


def _flattened(value: Any, arrays: list[Any]) -> Any:
    """JSON in which an array is its number among `arrays`, to which it is appended."""
    if isinstance(value, np.ndarray):
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if isinstance(value, (list, tuple)):
        return {type(value).__name__: [_flattened(each, arrays) for each in value]}
    if isinstance(value, dict):
        return {"dict": {name: _flattened(each, arrays) for name, each in value.items()}}
    for tag, kind in _TAGS.items():
        if type(value) is kind:
            entries = {field.name: getattr(value, field.name) for field in fields(value)}
            return {tag: _flattened(entries, arrays)}
    return value


def _built(found: Any, array: Any) -> Any:
    if not isinstance(found, dict):
        return found
    ((kind, content),) = found.items()
    if kind == "array":
        return array(content)
    if kind == "dict":
        return {name: _built(each, array) for name, each in content.items()}
    if kind in _TAGS:
        return _TAGS[kind](**_built(content, array))
    made = [_built(each, array) for each in content]
    return {"tuple": tuple, "list": list}[kind](made)
