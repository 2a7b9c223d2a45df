"""Ensembles: the same bits as single runs for all threads and chunks, isolated failures, Ctrl-C."""

from __future__ import annotations

import os
import re
import sys
from functools import partial
from typing import Any

import numpy as np
import pytest
import sympy as sp
from refusals import refused
from runtime_models import ctrl_c_at_progress, model

import chaplygin as cg
from chaplygin.runtime import ArgumentError
from chaplygin.runtime.ensembles.progress import Progress

N = 37
OMEGA = np.linspace(-2, 2, N)
INITIAL = {"phi": 0.0, "x": 0.0, "y": 0.0, "omega": OMEGA, "v": 1.0}
PARAMETERS = {"m": 1.0, "a": 0.2, "J": np.linspace(0.4, 0.6, N)}


@pytest.mark.parametrize(("threads", "chunk"), [(1, 1), (2, 7), (4, 4096), (None, None)])
@pytest.mark.parametrize("tau", [0.1, np.linspace(0, 1, N), ([0.3, 1.0], [0.1, 0.5], "linear")])
def test_every_trajectory_is_the_single_run(threads: Any, chunk: Any, tau: Any) -> None:
    m = model("sleigh")
    ens = cg.ensemble(m, (0, 5), INITIAL, PARAMETERS, {"tau": tau}, n=N, threads=threads, chunk=chunk)
    assert ens.y.shape == (5, N)
    assert ens.success
    assert ens.failed.size == 0
    assert len(ens) == N
    for i in (0, 11, N - 1):
        initial = INITIAL | {"omega": OMEGA[i]}
        parameters = PARAMETERS | {"J": PARAMETERS["J"][i]}
        single = m.integrate(
            (0, 5), initial, parameters, {"tau": tau[i] if isinstance(tau, np.ndarray) else tau}
        )
        assert np.array_equal(ens.y[:, i], single.y[:, -1])
        assert np.array_equal(ens.rerun(i).y, single.y)
        assert ens["energy"][i] == single["energy"][-1]
        assert ens.nfev[i] == single.nfev
        assert ens.n_steps[i] == single.n_steps


def test_t_eval_and_arrays() -> None:
    m = model("oscillator")
    q0 = np.linspace(0, 1, 9)
    times = np.linspace(0, 3, 5)
    ens = cg.ensemble(
        m, (0, 3), initial=np.array([q0, 0 * q0]), parameters=[1.0, 4.0], inputs=[0.0], t_eval=times
    )
    assert ens.y.shape == (2, 5, 9)
    assert ens["q"] == pytest.approx(np.cos(2 * times)[:, None] * q0, abs=1e-7)
    assert np.array_equal(ens[sp.Symbol("q")], ens["q"])
    assert np.array_equal(ens[sp.Symbol("energy")], ens["energy"])
    assert np.array_equal(ens["t"], np.outer(times, np.ones(9)))
    assert np.array_equal(ens["F"], np.zeros((5, 9)))
    assert np.array_equal(ens.rerun(3)["F"], ens.rerun(3)[sp.Symbol("F")])
    with pytest.raises(ArgumentError, match=r"'speed' is not a quantity of oscillator; it has q, v, .*, F"):
        ens["speed"]
    assert ens["energy"] == pytest.approx(np.broadcast_to(2 * q0**2, (5, 9)), abs=1e-7)
    assert cg.ensemble(m, (0, 3), {"q": q0, "v": 0}, [1.0, 4.0], [0.0], n=9, t_eval=[]).y.shape == (2, 0, 9)
    same = cg.ensemble(m, (0, 3), [1.0, 0.0], [1.0, 4.0], [0.0], n=4)
    assert same.y == pytest.approx(np.repeat([[np.cos(6)], [-2 * np.sin(6)]], 4, axis=1), abs=1e-7)


def test_failures_are_kept_apart() -> None:
    x0 = np.array([0.1, 1.0, 0.2, 4.0, 0.3])
    ens = cg.ensemble(
        model("runaway"), (0, 2), initial={"x": x0}, parameters={"c": 0.0}, t_eval=[0.0, 0.1, 2.0]
    )
    assert ens.failed.tolist() == [1, 3]
    assert cg.ensemble(model("runaway"), (0, 2), [0.1], [0.0], n=2)["t"].tolist() == [2.0, 2.0]
    assert ens.t[ens.failed] == pytest.approx([1.0, 0.25], abs=1e-6)
    assert ens["x"][2, [0, 2, 4]] == pytest.approx(1 / (1 / x0[[0, 2, 4]] - 2), rel=1e-7)
    assert ens["x"][1] == pytest.approx(1 / (1 / x0 - 0.1), rel=1e-7)
    assert np.isnan(ens["x"][2, [1, 3]]).all()
    assert "3 ok" in ens.message
    shown = ens.rerun(3)
    assert shown.status == ens.status[3]
    assert shown.t[-1] == ens.t[3]


def test_initial_kernel_over_columns() -> None:
    v = np.array([0.0, 0.5, 1.0])
    ens = cg.ensemble(
        model("momentum"), (0, 1e-9), initial={"q": 1.0, "v": v}, parameters={"m": 2.0, "k": 3.0}
    )
    assert ens["p_v"] == pytest.approx(2 * v, abs=1e-8)
    assert ens.rerun(2).parameters["h"] == 0.5 * 2 + 1.5
    with pytest.raises(ArgumentError, match="missing k"):
        cg.ensemble(model("momentum"), (0, 1), initial={"q": 1.0, "v": v}, parameters={"m": 2.0})


def test_input_functions_are_shared_and_their_errors_come_through() -> None:
    ens = cg.ensemble(
        model("sleigh"), (0, 1), INITIAL, PARAMETERS, {"tau": lambda t, y: -y[3]}, n=N, threads=2
    )
    single = model("sleigh").integrate(
        (0, 1),
        INITIAL | {"omega": OMEGA[3]},
        PARAMETERS | {"J": PARAMETERS["J"][3]},
        {"tau": lambda t, y: -y[3]},
    )
    assert np.array_equal(ens.y[:, 3], single.y[:, -1])

    def broken(t: float, y: Any) -> float:
        raise KeyError("sensor")

    with pytest.raises(KeyError, match="sensor"):
        cg.ensemble(model("sleigh"), (0, 1), INITIAL, PARAMETERS, {"tau": broken}, n=N, threads=2)


def test_quantities_of_input_functions_beside_a_failed_trajectory() -> None:
    """States that a trajectory did not reach are NaN: input functions are not called there and their values are NaN."""
    seen = []

    def tau(t: float, y: Any) -> float:
        seen.append(np.isfinite(y).all())
        return float(-y[3])

    omega = np.array([1.0, 1e4, 2.0])
    ens = cg.ensemble(
        model("sleigh"), (0, 1), INITIAL | {"omega": omega}, [1.0, 0.2, 0.5], {"tau": tau}, n=3,
        t_eval=[0.0, 0.5, 1.0], max_steps=40,
    )  # fmt: skip
    assert ens.failed.tolist() == [1]
    assert np.isnan(ens.y[:, 1:, 1]).all()
    assert np.array_equal(ens["tau"], -ens["omega"], equal_nan=True)
    for name in (*ens.model.outputs, *ens.model.invariants, *ens.model.residuals):
        assert np.isfinite(ens[name][:, [0, 2]]).all()
        assert np.isfinite(ens[name][0, 1])
        assert np.isnan(ens[name][1:, 1]).all()
    assert all(seen)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"n": 0}, "n = 0 must be a positive integer"),
        ({"n": 36}, "has length 37; 36 is needed"),
        ({"n": "3"}, "n = '3'"),
        ({"initial": {**INITIAL, "v": np.full(N, np.nan)}}, "initial: v = nan is not finite at column 0"),
        ({"parameters": {"m": 1, "a": 1}}, "parameters: missing J"),
        ({"parameters": None}, "parameters: missing m, a, J"),
        ({"inputs": {"tau": [1.0, 2.0]}}, "tau has length 2; 37"),
        ({"threads": 0}, "threads = 0"),
        ({"chunk": -1}, "chunk = -1"),
        ({"method": "euler"}, "unknown method 'euler'"),
        ({"t_eval": [9.0]}, "outside"),
        ({"rtol": np.nan}, "rtol"),
    ],
)
def test_wrong_arguments_are_named(changed: dict[str, Any], says: str) -> None:
    given: dict[str, Any] = {"n": N, "initial": INITIAL, "parameters": PARAMETERS, "inputs": {"tau": 0.0}}
    refused(says, cg.ensemble, model("sleigh"), (0, 1), **given | changed)
    refused("needs a model", cg.ensemble, "sleigh", (0, 1), n=3)
    with pytest.raises(ArgumentError, match="n, the number"):
        cg.ensemble(model("oscillator"), (0, 1), initial=[0, 0], parameters=[1, 1], inputs=[0])


@pytest.mark.integration("tqdm")
def test_progress_is_a_bar_of_tqdm(capfd: pytest.CaptureFixture[str]) -> None:
    cg.ensemble(model("sleigh"), (0, 1), INITIAL, PARAMETERS, [0.0], n=N, progress=True)
    assert re.search(r"100%\|.*run/s\]\n$", capfd.readouterr().err)


@pytest.mark.integration("tqdm")
@pytest.mark.parametrize("disable", [False, True])  # as by TQDM_DISABLE, which tqdm reads when it is imported
def test_a_bar_that_opens_late_has_rates_from_the_begin(
    disable: bool, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tqdm.tqdm", partial(pytest.importorskip("tqdm").tqdm, disable=disable))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    bar = Progress(100, None)
    bar.begin -= 300
    bar.show(1)
    assert bool(re.search(r"1%\|.*\[05:0\d<8:1\d:", capfd.readouterr().err)) is not disable
    bar.close()


def test_progress_goes_to_stderr(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    cg.ensemble(model("sleigh"), (0, 1), INITIAL, PARAMETERS, [0.0], n=N, progress=True)
    assert f"{N}/{N}" in capfd.readouterr().err
    cg.ensemble(model("sleigh"), (0, 1), INITIAL, PARAMETERS, [0.0], n=N, progress=False)
    assert capfd.readouterr().err == ""


def test_a_process_without_stderr_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    bar = Progress(100, None)
    bar.begin -= 300
    bar.show(1)
    bar.close()
    assert bar.active is False


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_ctrl_c_keeps_what_is_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    with ctrl_c_at_progress(monkeypatch), pytest.warns(RuntimeWarning, match="interrupted: [0-9]+ of 100000"):
        ens = cg.ensemble(
            model("sleigh"),
            (0, 2000),
            {**INITIAL, "omega": 1.0},
            [1.0, 0.2, 0.5],
            [0.3],
            n=100_000,
            chunk=64,
        )
    assert ens.interrupted
    done = ens.status == 0
    assert 0 < done.sum() < 100_000
    assert np.isfinite(ens.y[:, done]).all()
    assert np.isnan(ens.y[:, ~done]).all()
    assert set(ens.status[~done]) == {-5}
