"""Studies as datasets, in Zarr and in Parquet: what is read back equals the results, chunk by chunk or at once."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refused
from scipy import stats

import chaplygin as cg
from chaplygin.errors import MissingExtraError
from chaplygin.generated.harmonic_oscillator import model
from chaplygin.runtime.statistics.sketches import BLOCK, CHUNK
from chaplygin.runtime.studies.study import Study

N = CHUNK + 2 * BLOCK + 7
TIMES = np.array([1.0, 2.0])


def study(folder: Path | None = None) -> Study:
    collect = {
        "m": cg.moments("x", "energy", at=TIMES),
        "q": cg.quantiles("x", [0.1, 0.5]),
        "h": cg.histogram("x_dot", [-1, 0, 1]),
        "end": cg.final("x"),
        "path": cg.series("x", "x_dot", times=TIMES),
        "all": cg.table("k", "status"),
    }
    initial = {"x": stats.norm(1, 0.2), "x_dot": 0.0}
    parameters = {"m": 1.0, "k": stats.gamma(4)}
    return cg.study(
        model, (0, 2), initial, parameters, n=N, seed=3, rtol=1e-5, atol=1e-5, collect=collect, out=folder
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("studies") / "study"
    study(path)
    return path


def test_a_dataset_has_the_results_with_coordinates_and_units(folder: Path) -> None:
    pytest.importorskip("xarray")
    found = study()
    data = found.to_xarray()
    r = found.results
    assert (data["end"].values == r["end"]["x"]).all()
    assert data["end"].dims == ("trajectory",)
    assert (data["path.x_dot"].values == r["path"]["x_dot"]).all()
    assert data["path.x_dot"].dims == ("t", "trajectory")
    assert data["t"].values.tolist() == TIMES.tolist()
    assert data["q"].sel({data["q"].dims[0]: 0.5}).values == r["q"].values[1]
    assert data["m.mean.energy"].values.tolist() == r["m"].mean["energy"].tolist()
    assert data["m.covariance.x.energy"].values.tolist() == r["m"].covariance[:, 0, 1].tolist()
    assert data["h"].values.tolist() == r["h"].counts.tolist()
    assert data["h.bin_low"].values.tolist() == [-1, 0]
    assert data["end"].attrs == {"quantity": "x", "units": model.units["x"]}
    assert data.attrs["digest"] == model.digest
    assert (data.attrs["seed"], data.attrs["n"]) == (3, N)
    assert data.identical(cg.open_study(folder).to_xarray())


def test_a_study_in_a_folder_reads_columns_when_they_are_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = cg.open_study(folder)
    assert set(opened._totals) == {"m", "q", "h"}
    assert opened.results["end"]["x"].shape == (N,)
    assert opened.results["end"] is opened.results["end"]
    assert np.isfinite(opened.results["all"]["k"]).all()


@pytest.mark.integration("zarr")
@pytest.mark.parametrize("kept", [False, True], ids=["in memory", "in a folder"])
def test_zarr_gives_the_dataset_back(folder: Path, tmp_path: Path, kept: bool) -> None:
    xarray = pytest.importorskip("xarray")
    zarr = import_module("zarr")
    found = cg.open_study(folder) if kept else study()
    found.to_zarr(tmp_path / "study.zarr")
    read = xarray.open_zarr(tmp_path / "study.zarr", consolidated=False, chunks=None)
    assert read.load().identical(found.to_xarray())
    array = zarr.open_group(tmp_path / "study.zarr", mode="r")["path.x"]
    assert array.metadata.zarr_format == 3
    assert array.chunks == (2, CHUNK)
    refused(r"to_zarr: .*study.zarr' exists; choose another path", found.to_zarr, tmp_path / "study.zarr")


@pytest.mark.integration("pyarrow")
@pytest.mark.parametrize("kept", [False, True], ids=["in memory", "in a folder"])
def test_parquet_has_a_table_for_each_entry(folder: Path, tmp_path: Path, kept: bool) -> None:
    pytest.importorskip("xarray")
    parquet = import_module("pyarrow.parquet")
    found = cg.open_study(folder) if kept else study()
    found.to_parquet(tmp_path / "study")
    assert {file.stem for file in (tmp_path / "study").iterdir()} == {*found.results, "failures"}

    def table(name: str) -> Any:
        return parquet.read_table(tmp_path / "study" / f"{name}.parquet")

    r = found.results
    end = table("end").to_pydict()
    assert end["trajectory"] == list(range(N))
    assert end["x"] == r["end"]["x"].tolist()
    path = table("path").to_pandas()
    assert (
        path.pivot(index="t", columns="trajectory", values="x").to_numpy().tolist() == r["path"]["x"].tolist()
    )
    q = table("q").to_pydict()
    assert (q["q"], q["value"]) == ([0.1, 0.5], r["q"].values.tolist())
    h = table("h").to_pydict()
    assert (h["bin_low"], h["bin_high"], h["value"]) == ([-1, 0], [0, 1], r["h"].counts.tolist())
    assert json.loads(table("m").schema.metadata[b"chaplygin"])["seed"] == 3
    assert parquet.ParquetFile(tmp_path / "study" / "end.parquet").num_row_groups == (2 if kept else 1)


@pytest.mark.integration("zarr", "pyarrow")
def test_chunks_of_a_folder_are_converted_one_at_a_time(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No array over all trajectories is made: results of columns are never read as a whole."""
    pytest.importorskip("xarray")
    opened = cg.open_study(folder)
    whole = [name for name, entry in opened.job.collect.items() if entry.view.growing]
    read = type(opened.results).__getitem__

    def refuse(results: Any, name: str) -> Any:
        assert name not in whole
        return read(results, name)

    monkeypatch.setattr(type(opened.results), "__getitem__", refuse)
    opened.to_zarr(tmp_path / "z")
    opened.to_parquet(tmp_path / "p")


def test_converters_name_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    small = cg.study(
        model, (0, 1), {"x": 1, "x_dot": 0}, {"m": 1, "k": 1}, n=4, collect={"m": cg.moments("x")}
    )
    monkeypatch.setitem(sys.modules, "xarray", None)
    refused(r"Study.to_xarray needs xarray.*chaplygin\[xarray\]", small.to_xarray, error=MissingExtraError)
    for write in (small.to_zarr, small.to_parquet):
        refused(r"chaplygin\[storage\]", write, tmp_path / "new", error=MissingExtraError)


def test_the_summary_has_figures_failures_and_units(folder: Path) -> None:
    found = cg.open_study(folder)
    lines = found.summary().splitlines()
    assert lines[0] == f"{N} trajectories of harmonic_oscillator: {N} ok"
    (median,) = (line for line in lines if line.startswith("q "))
    assert f"median {found.results['q'].values[1]:.6g}" in median
    (mean,) = (line for line in lines if line.startswith("end "))
    assert f"mean {found.results['end']['x'].mean():.6g}" in mean
    failing = cg.study(
        model,
        (0, 50),
        {"x": 1, "x_dot": 0},
        {"m": 1, "k": 1},
        n=30,
        max_steps=3,
        collect={"e": cg.final("x")},
    )
    assert "too many steps: trajectories 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ..." in failing.summary()
    assert "<table>" in failing._repr_html_()
    plain = cg.ensemble(model, (0, 50), {"x": 1, "x_dot": 0}, {"m": 1, "k": 1}, n=30, max_steps=3)
    assert "too many steps: trajectories 0, 1, 2" in plain.summary()
