"""Studies as datasets of xarray, in Zarr and in Parquet. Numbers of every trajectory are written chunk by chunk."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from chaplygin.errors import ArgumentError, optional

from ..interface import arguments
from ..results.plotting import unit_of_time
from ..statistics.sketches import CHUNK
from ..statistics.views import View
from .study_data import StudyData

_SHARED = {"t": "at", "q": "q"}
"""Dimensions that entries share if their coordinates, an attribute of each entry, are equal."""


def dataset(study: StudyData) -> Any:
    """The dataset of `Study.to_xarray`."""
    xarray = optional("xarray", "Study.to_xarray", "xarray")
    return _dataset(xarray, study, study.views(), 0, failures=True)


def to_zarr(study: StudyData, path: Any) -> None:
    """`Study.to_zarr`."""
    xarray = optional("xarray", "Study.to_zarr", "storage")
    optional("zarr", "Study.to_zarr", "storage")
    target = _new(path, "to_zarr")
    grown = {name for name, view in study.views().items() if view.growing}
    summed = {name: view for name, view in study.views().items() if name not in grown}
    whole = _dataset(xarray, study, summed, 0, failures=True)
    pieces = study.pieces()
    piece = next(pieces, None)
    first = whole if piece is None else whole.merge(_dataset(xarray, study, piece[1], piece[0]))
    growing = _growing(first)
    encoding = {
        name: {"chunks": tuple(CHUNK if dim in growing else max(row.sizes[dim], 1) for dim in row.dims)}
        for name, row in first.variables.items()
        if growing & set(row.dims)
    }
    first.to_zarr(target, mode="w-", zarr_format=3, consolidated=False, encoding=encoding)
    for start, views in pieces:
        part = _dataset(xarray, study, views, start)
        for dim in sorted(_growing(part)):
            rows = part.drop_vars([name for name, row in part.variables.items() if dim not in row.dims])
            if rows.sizes[dim]:
                rows.to_zarr(target, append_dim=dim, consolidated=False)


def _growing(found: Any) -> set[str]:
    return {str(dim) for dim in found.dims if str(dim).split(".")[-1] in ("trajectory", "occurrence")}


def to_parquet(study: StudyData, path: Any) -> None:
    """`Study.to_parquet`."""
    xarray = optional("xarray", "Study.to_parquet", "storage")
    arrow = optional("pyarrow", "Study.to_parquet", "storage")
    parquet = optional("pyarrow.parquet", "Study.to_parquet", "storage")
    target = _new(path, "to_parquet")
    target.mkdir(parents=True)
    writers: dict[str, Any] = {}

    def write(name: str, found: Any) -> None:
        table = arrow.Table.from_pandas(_frame(found), preserve_index=False)
        if name not in writers:
            about = {"chaplygin": json.dumps(study.facts())}
            schema = table.schema.with_metadata({**(table.schema.metadata or {}), **about})
            writers[name] = parquet.ParquetWriter(target / f"{quote(name, safe=' ')}.parquet", schema)
        writers[name].write_table(table.cast(writers[name].schema))

    try:
        for name, view in study.views().items():
            if not view.growing:
                write(name, _entry(xarray, study, view))
        for first, views in study.pieces():
            for name, view in views.items():
                write(name, _entry(xarray, study, view, first))
        write("failures", xarray.Dataset(_failures(study)))
    finally:
        for writer in writers.values():
            writer.close()


def _frame(found: Any) -> Any:
    """One row for each combination of coordinates."""
    frame = (found if found.dims else found.expand_dims("row")).to_dataframe().reset_index()
    return frame.drop(columns=[name for name in ("row", "occurrence", "bin", "failure") if name in frame])


def _new(path: Any, what: str) -> Path:
    target = arguments.path(what, path)
    if target.exists():
        raise ArgumentError(f"{what}: {str(target)!r} exists; choose another path, or remove it")
    return target


def _failures(study: StudyData) -> dict[str, Any]:
    return {"failed": ("failure", study.failed), "failed_status": ("failure", study.failed_status)}


def _dataset(
    xarray: Any, study: StudyData, views: Mapping[str, View], first: int, failures: bool = False
) -> Any:
    """Entries together: an array is ``entry`` if the entry has one, else ``entry.name``.

    Dimensions of one entry are ``entry.dimension``, but times and quantiles that all entries share.
    """
    arrays: dict[str, Any] = _failures(study) if failures else {}
    coordinates: dict[str, Any] = {}
    found = {name: view.variables() for name, view in views.items()}
    shared = {dim for dim in _SHARED if _agree(dim, study.job.collect)} | {"trajectory"}
    for entry, each in found.items():

        def renamed(dim: str, entry: str = entry) -> str:
            return dim if dim in shared else f"{entry}.{dim}"

        for key, (dims, values, about) in each.arrays.items():
            name = f"{entry}.{key}" if key and len(each.arrays) > 1 else entry
            if name in arrays or name == "trajectory":
                raise ArgumentError(
                    f"two arrays of the dataset would be called {name!r}; give the entry of collect another name"
                )
            arrays[name] = (tuple(map(renamed, dims)), values, _about(study, about))
        for key, (dim, values) in each.coordinates.items():
            coordinates[renamed(key)] = (renamed(dim), values, _about(study, {"quantity": key}))
    made = xarray.Dataset(arrays, coords=coordinates, attrs=study.facts())
    if "trajectory" in made.sizes:
        made = made.assign_coords(trajectory=first + np.arange(made.sizes["trajectory"]))
    return made


def _entry(xarray: Any, study: StudyData, view: View, first: int = 0) -> Any:
    """One entry, with short names: the quantities of columns, ``value`` for what has no other."""
    found = view.variables()
    arrays = {}
    for key, (dims, values, about) in found.arrays.items():
        name = about["quantity"] if view.growing == "trajectory" else key or "value"
        arrays[name] = (dims, values, _about(study, about))
    made = xarray.Dataset(arrays, coords=found.coordinates, attrs=study.facts())
    if view.growing == "trajectory":
        made = made.assign_coords(trajectory=first + np.arange(made.sizes["trajectory"]))
    return made


def _agree(dim: str, collect: Mapping[str, Any]) -> bool:
    """Whether all entries that have a dimension have equal coordinates there, and none its name."""
    there = [getattr(entry, _SHARED[dim], None) for entry in collect.values()]
    known = [each for each in there if each is not None]
    return dim not in collect and all(np.array_equal(each, known[0]) for each in known[1:])


def _about(study: StudyData, about: dict[str, str]) -> dict[str, str]:
    """The attributes with the unit, if it is known."""
    name = about.get("quantity")
    unit = study.model.units.get(name) or (unit_of_time(study.model) if name == "t" else "")
    return {**about, "units": unit} if unit else about
