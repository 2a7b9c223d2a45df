"""What an ensemble offers in addition to its arrays: masks, names, events, tables for notebooks, copies."""

from __future__ import annotations

import copy
import pickle
import sys
import types
from typing import Any

import numpy as np
import pytest
from processes import python
from runtime_models import BLOCK, ctrl_c_after, hybrid, model

import chaplygin as cg
from chaplygin.runtime import ArgumentError, MissingExtraError
from chaplygin.runtime.interface import tables

BALL = {"g": 9.81, "e": 0.7, "floor": 0.0}
START = {"phi": 0.0, "x": 0.0, "y": 0.0, "omega": np.linspace(-1, 1, 5), "v": 1.0}
NUMBERS = {"m": 1.0, "a": 0.2, "J": np.linspace(0.4, 0.6, 5)}


def sleighs(**options: Any) -> cg.Ensemble:
    return cg.ensemble(model("sleigh"), (0, 2), START, NUMBERS, {"tau": 0.1}, n=5, **options)


def same(a: Any, b: Any) -> bool:
    """Whether two results agree in every bit, including NaN."""
    return bool(np.array_equal(a, b, equal_nan=True))


# ---- events ----


@pytest.mark.parametrize(("threads", "chunk"), [(1, None), (1, 1), (2, 1), (3, 4), (None, None)])
def test_the_times_of_all_events_are_those_of_single_runs(threads: int | None, chunk: int | None) -> None:
    """Crossings and tops of springs x = cos w t, known in closed form; none of them is terminal."""
    w = np.linspace(0.5, 40.0, 23)
    spring = hybrid("spring")
    ens = cg.ensemble(
        spring, (0, 50), initial={"x": 1.0, "v": 0.0}, parameters={"w": w, "level": 0.5, "stop": 0.0},
        rtol=1e-11, atol=1e-11, threads=threads, chunk=chunk,
    )  # fmt: skip
    assert list(ens.t_events) == list(spring.events)
    crossings, tops = ens.t_events["cross"], ens.t_events["top"]
    assert len(crossings) == len(ens) == 23
    for i in range(23):
        expected = (np.arange(1000) + 0.5) * np.pi / w[i]
        assert crossings[i] == pytest.approx(expected[expected <= 50], abs=2e-7)
        expected = 2 * np.arange(1, 1000) * np.pi / w[i]
        assert tops[i] == pytest.approx(expected[expected <= 50], abs=2e-7)
        sol = ens.rerun(i)
        for times, name in zip(sol.t_events, spring.events):
            assert same(ens.t_events[name][i], times)
    assert len(crossings.t) > 5000  # far more than the initial capacity
    assert crossings.counts.tolist() == [len(times) for times in crossings]
    assert same(crossings.first, [times[0] for times in crossings])
    assert same(crossings.t, np.concatenate(list(crossings)))
    assert same(crossings.trajectory, np.repeat(np.arange(23), crossings.counts))
    assert same(crossings[-1], crossings[22])
    assert [same(a, b) for a, b in zip(crossings[3:5], [crossings[3], crossings[4]])] == [True, True]
    assert repr(crossings) == f"<EventTimes: {len(crossings.t)} in 23 of 23 trajectories>"
    with pytest.raises(ArgumentError, match="trajectory 23 is not in an ensemble of 23"):
        crossings[23]
    assert len(ens.t_events["level"].t) == 0
    assert np.isnan(ens.t_events["level"].first).all()


def test_events_with_resets_ends_and_times_asked_for() -> None:
    ball, heights = hybrid("ball"), np.linspace(0.5, 2.0, 9)
    start = {"y": heights, "v": 0.0, "bounces": 0.0}
    for t_eval in (None, np.linspace(0, 1.0, 7)):
        ens = cg.ensemble(ball, (0, 1.0), initial=start, parameters=BALL, t_eval=t_eval, threads=2, chunk=2)
        for i in range(9):
            sol = ens.rerun(i)
            for name, times in zip(ball.events, sol.t_events):
                assert same(ens.t_events[name][i], times)
    spring = hybrid("spring")
    stops = cg.ensemble(
        spring, (0, 5), {"x": [1.0, 0.4, 2.0], "v": 0.0}, {"w": 1.0, "level": 0.5, "stop": 1.0}, n=3
    )
    assert stops.status.tolist() == [1, 0, 1]
    assert stops.ok.all()
    assert same(stops.t_events["level"].first, [stops.t[0], np.nan, stops.t[2]])
    assert stops.t[[0, 2]] == pytest.approx(np.arccos([0.5, 0.25]), abs=1e-8)


def test_a_model_without_events_has_none() -> None:
    assert sleighs().t_events == {}
    block = cg.ensemble(hybrid("block"), (0, 1), {"x": [0.5, 1.0], "v": 0.0}, BLOCK, {"F": 0.0}, n=2)
    assert block.t_events == {}


def test_ctrl_c_leaves_events_of_finished_trajectories_alone() -> None:
    spring = hybrid("spring")
    w = np.linspace(1.0, 2.0, 4000)
    with ctrl_c_after(0.3), pytest.warns(RuntimeWarning, match="interrupted"):
        ens = cg.ensemble(
            spring, (0, 500), initial={"x": 1.0, "v": 0.0}, parameters={"w": w, "level": 0.5, "stop": 0.0},
            threads=2,
        )  # fmt: skip
    crossings = ens.t_events["cross"]
    assert 0 < ens.ok.sum() < 4000
    expected = np.floor(500 * w / np.pi + 0.5).astype(int)
    assert same(crossings.counts, np.where(ens.ok, expected, 0))


# ---- names and quantities ----


@pytest.mark.parametrize("t_eval", [None, [0.5, 1.0, 2.0], []])
def test_everything_by_name(t_eval: Any) -> None:
    ens = sleighs(t_eval=t_eval)
    everything = ens.evaluate()
    assert tuple(everything) == ens.names == ens.model.quantities
    for name, values in everything.items():
        assert same(values, ens[name])
        assert same(values, ens.evaluate(name))
        assert values.shape == ens.y[0].shape
    assert ens._ipython_key_completions_() == [*ens.names, "t"]
    assert ens.parameters["m"] == 1.0
    assert same(ens.parameters["J"], NUMBERS["J"])
    with pytest.raises(ArgumentError, match="'speed' is not a quantity"):
        ens.evaluate("speed")


def test_contacts_keep_their_outputs_to_single_runs() -> None:
    ens = cg.ensemble(hybrid("block"), (0, 1), {"x": [0.5, 1.0], "v": 0.0}, BLOCK, {"F": 0.0}, n=2)
    assert set(ens.evaluate()) == set(ens.names) - set(ens.model.outputs)


def test_ok_is_a_mask() -> None:
    x0 = np.array([0.1, 1.0, 0.2, 4.0, 0.3])
    ens = cg.ensemble(model("runaway"), (0, 2), initial={"x": x0}, parameters={"c": 0.0})
    assert ens.ok.tolist() == [True, False, True, False, True]
    assert same(ens.y[0, ens.ok], np.delete(ens.y[0], ens.failed))


def test_the_method_of_a_model() -> None:
    ens = model("sleigh").ensemble((0, 2), n=5, initial=START, parameters=NUMBERS, inputs={"tau": 0.1})
    assert same(ens.y, sleighs().y)
    assert isinstance(ens, cg.Ensemble)
    positional = model("sleigh").ensemble((0, 2), START, NUMBERS, {"tau": 0.1}, n=5)
    assert same(positional.y, sleighs().y)


# ---- tables ----


def test_the_table_of_a_notebook_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    text = sleighs()._repr_html_()
    assert text.startswith("<table><caption>5 trajectories of sleigh: 5 ok</caption>")
    for name in ("phi", "omega", "mean", "std"):
        assert f"<th>{name}" in text
    assert f"{sleighs()['x'].mean():.6g}" in text
    assert sleighs(t_eval=[0.5, 2.0])._repr_html_() == text
    assert "<td>" not in sleighs(t_eval=[])._repr_html_()
    failed = cg.ensemble(model("runaway"), (0, 2), {"x": [4.0, 5.0]}, {"c": 0.0}, n=2)
    assert "<td>" not in failed._repr_html_()
    monkeypatch.setattr(tables, "SHOWN", 3)
    assert "<tr><th>and 2 more</th></tr></table>" in sleighs()._repr_html_()
    assert "omega" not in sleighs()._repr_html_()


class Dataset:
    """Stand-in for `xarray.Dataset`: checks that each variable has the shape of its dimensions."""

    def __init__(self, data: dict[str, Any], coords: dict[str, Any], attrs: dict[str, Any]) -> None:
        self.lengths = {name: len(values) for name, values in coords.items()}
        self.data, self.attrs = {name: entry[1] for name, entry in data.items()}, attrs
        self.dims = {
            name: (entry[0],) if isinstance(entry[0], str) else entry[0] for name, entry in data.items()
        }
        for name, dims in self.dims.items():
            assert self.data[name].shape == tuple(self.lengths[dim] for dim in dims), name
            assert name not in coords


@pytest.mark.parametrize("real", [True, False])
def test_to_xarray(monkeypatch: pytest.MonkeyPatch, real: bool) -> None:
    ens, ends = sleighs(t_eval=[0.5, 2.0]), sleighs()
    if real:
        pytest.importorskip("xarray")
        data = ens.to_xarray()
        assert data["v"].dims == ("t", "trajectory")
        assert data["v"].sel(t=2.0, trajectory=3) == ens["v"][1, 3]
        assert data["v"].attrs == ens.model.attributes("v")
        assert ends.to_xarray()["t"].values.tolist() == [2.0] * 5
    else:
        fake = types.ModuleType("xarray")
        fake.Dataset = Dataset  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "xarray", fake)
    data, last = ens.to_xarray(), ends.to_xarray()
    assert set(ens.names) <= set(data.data if not real else data)
    assert {"J", "status"} <= set(data.data if not real else data)
    assert data.attrs["m"] == last.attrs["m"] == 1.0
    assert (data.dims["energy"] if not real else data["energy"].dims) == ("t", "trajectory")
    assert (last.dims["energy"] if not real else last["energy"].dims) == ("trajectory",)
    assert (last.dims["t"] if not real else last["t"].dims) == ("trajectory",)


def test_to_xarray_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(MissingExtraError, match=r"Ensemble.to_xarray needs xarray.*chaplygin\[xarray\]"):
        sleighs().to_xarray()


# ---- copies ----


def test_copies_and_pickles_are_whole() -> None:
    from chaplygin.generated.harmonic_oscillator import model as oscillator

    given = {"x": np.linspace(0, 1, 4), "x_dot": 0}
    for initial in (given, {name: list(np.atleast_1d(v)) if name == "x" else v for name, v in given.items()}):
        ens = cg.ensemble(oscillator, (0, 3), initial=initial, parameters={"m": 1, "k": [1.0, 2.0, 3.0, 4.0]})
        for other in (copy.copy(ens), copy.deepcopy(ens), pickle.loads(pickle.dumps(ens))):
            assert same(other.y, ens.y)
            assert same(other["energy"], ens["energy"])
            assert same(other.rerun(2).y, ens.rerun(2).y)
            assert same(other.parameters["k"], ens.parameters["k"])
            assert repr(other) == repr(ens)


def test_a_pickle_with_events() -> None:
    code = """
        import pickle, sys
        import numpy as np
        import chaplygin as cg
        x = cg.coordinates("x")
        spring = cg.System("spring_of_a_pickle", coordinates=[x], kinetic=cg.rate(x)**2/2, potential=2*x**2,
                           events=[cg.Event(x, name="zero")])
        ens = spring.compile().ensemble((0, 3), initial={"x": np.array([1.0, 2.0]), "x_dot": 0})
        other = pickle.loads(pickle.dumps(ens))
        assert all(np.array_equal(a, b) for a, b in zip(other.t_events["zero"], ens.t_events["zero"]))
        print(other.t_events["zero"][1].round(6).tolist())
    """
    assert python(code).strip() == str([round(np.pi / 4, 6), round(3 * np.pi / 4, 6)])
