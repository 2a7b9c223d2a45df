"""Samples of inputs with a row for each trajectory: the bits of single runs, where they lie, and what is refused."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from lane_models import bits
from refusals import refused
from springs import X, sprung

import chaplygin as cg
from chaplygin.errors import ArgumentError
from chaplygin.runtime.problem import sample_rows

N = 29
SPAN, START = (0.0, 4.0), {"x": 0.3, "x_dot": -0.2}
TIMES = np.sort(np.concatenate([[-0.5, 1.0, 5.0], np.random.default_rng(1).uniform(-0.5, 3.7, 20)]))
ROWS = np.random.default_rng(2).standard_normal((N, len(TIMES)))
NUMBERS = {"k": np.linspace(1, 4, N)}
KINDS = ("zoh", "linear", "cubic")


@functools.cache
def spring() -> Any:
    return sprung("pushed_by_rows", events=[cg.Event(X - 0.4, name="there")]).compile(
        methods=["taylor"], wait=True
    )


def ensemble(values: Any, kind: str = "linear", times: Any = TIMES, **options: Any) -> Any:
    return cg.ensemble(
        spring(), SPAN, START, NUMBERS, {"F": (times, values, kind)}, **{"threads": 1, **options}
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["vern9", "dop853", "rk4", "taylor", "rodas5p"])
@pytest.mark.sample(3)
def test_each_trajectory_is_the_single_run_with_its_row(method: str, kind: str) -> None:
    options = {"method": method, **({"step": 0.03} if method == "rk4" else {"rtol": 1e-7})}
    moments = np.linspace(*SPAN, 9)
    given = [(START, {"k": k}, {"F": (TIMES, row, kind)}) for k, row in zip(NUMBERS["k"], ROWS)]
    alone = [spring().integrate(SPAN, *each, t_eval=moments, **options) for each in given]
    for way in (
        {"threads": 1, "lanes": 1},
        {"threads": 2, "lanes": 2, "chunk": 7},
        {"lanes": 4},
        {"lanes": 8},
    ):
        if method == "rodas5p" and way["lanes"] > 1:
            continue
        ens = ensemble(ROWS, kind, t_eval=moments, **way, **options)
        for i, sol in enumerate(alone):
            assert bits(ens.y[:, :, i]) == bits(sol.y), (way, i)
            assert bits(ens.t_events["there"][i]) == bits(sol.t_events[0])
        assert bits(ens["F"]) == bits(np.array([sol["F"] for sol in alone]).T)
    again = ens.rerun(3)
    assert bits(again.y[:, -1]) == bits(alone[3].y[:, -1])
    times, row, joined = ens.inputs(3)["F"]
    assert (bits(times), bits(row), joined) == (bits(TIMES), bits(ROWS[3]), kind)


def test_rows_of_lines_have_their_closed_form() -> None:
    """With k = 0 and F = a t from t = 0 on, x = x0 + v0 t + a t^3 / 6."""
    a = np.linspace(-1, 1, N)
    ens = cg.ensemble(spring(), SPAN, START, {"k": 0}, {"F": ([0, 5], np.outer(a, [0, 5]), "linear")})
    np.testing.assert_allclose(ens["x"], 0.3 - 0.2 * 4 + a * 4**3 / 6, atol=1e-8)


class Sliced:
    """Rows of which nothing but slices are given."""

    shape = ROWS.shape

    def __len__(self) -> int:
        return len(ROWS)

    def __getitem__(self, which: slice) -> Any:
        assert isinstance(which, slice)
        return ROWS[which].tolist()


class Short(Sliced):
    """One row is missing."""

    def __getitem__(self, which: slice) -> Any:
        return ROWS[:-1][which]


def of_pandas(folder: Path) -> Any:
    return pytest.importorskip("pandas").DataFrame(ROWS, columns=TIMES)


def of_xarray(folder: Path) -> Any:
    table = pytest.importorskip("xarray").DataArray(ROWS.T, dims=("t", "run"), coords={"t": TIMES})
    return table, table.t


def mapped(folder: Path) -> Any:
    ROWS.tofile(folder / "rows")
    return np.memmap(folder / "rows", mode="r", shape=ROWS.shape)[:]


SOURCES = {
    "list": lambda folder: ROWS.tolist(),
    "by columns": lambda folder: np.asfortranarray(ROWS),
    "other bytes": lambda folder: ROWS.astype(">f8"),
    "memory map": lambda folder: np.memmap(mapped(folder).filename, np.float64, "r", shape=ROWS.shape),
    "part of it": lambda folder: np.memmap(mapped(folder).filename, np.float64, "c", shape=ROWS.shape)[:],
    "slices": lambda folder: Sliced(),
    "pandas": of_pandas,
    "xarray": of_xarray,
}


@pytest.mark.parametrize("kept", [1 << 24, 0])
@pytest.mark.parametrize("name", SOURCES)
def test_rows_are_read_from_whatever_has_them(
    name: str, kept: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample_rows, "KEPT", kept)
    found = SOURCES[name](tmp_path)
    values, times = found if isinstance(found, tuple) else (found, TIMES)
    for kind in KINDS:
        ens = ensemble(values, kind, times, lanes=4)
        assert bits(ens.y) == bits(ensemble(ROWS, kind).y)
        assert bits(ens["F"]) == bits(ensemble(ROWS, kind)["F"])


def test_an_array_with_named_axes_tells_the_number_of_trajectories(tmp_path: Path) -> None:
    table, t = of_xarray(tmp_path)
    for values, more in ((table, {}), (cg.choice(table), {"n": N, "seed": 1})):
        ens = cg.ensemble(spring(), SPAN, START, {"k": 2}, {"F": (t, values)}, **more)
        assert len(ens) == N
        assert bits(ens.inputs(3)["F"][1]) == bits(ROWS[int(ens.draws["F"][3]) if ens.draws else 3])


def test_blocks_of_trajectories_have_the_same_bits() -> None:
    n = 3000  # more than one block of either
    values = np.random.default_rng(5).standard_normal((n, 200)).astype(np.float32)
    times = np.linspace(0, 4, 200)
    options = {"method": "rk4", "step": 0.05}
    for kind in KINDS:
        ens = cg.ensemble(spring(), SPAN, START, {"k": 2}, {"F": (times, values, kind)}, **options)
        for i in (0, 81, 82, 1310, 1311, n - 1):
            row = times, values[i].astype(float), kind
            sol = spring().integrate(SPAN, START, {"k": 2}, {"F": row}, **options)
            assert bits(ens.y[:, i]) == bits(sol.y[:, -1])


def test_a_caller_may_change_rows_that_are_small() -> None:
    values = ROWS.copy()
    ens = ensemble(values)
    values[:] = 0
    assert bits(ens.rerun(2).y[:, -1]) == bits(ens.y[:, 2])


def test_rows_and_functions_and_numbers_stand_beside_one_another() -> None:
    x, F, G, H = cg.coordinates("x"), *cg.inputs("F G H")
    v = cg.rate(x)
    system = cg.System("three_inputs", coordinates=[x], kinetic=v**2 / 2, forces={v: F + G * x + H})
    model = system.compile(wait=True)
    rng = np.random.default_rng(4)
    G_rows, numbers = rng.uniform(-1, 0, (N, 3)), rng.uniform(-1, 1, N)
    for last, lanes in ((numbers, 4), (np.sin, 1)):
        inputs = {"F": (TIMES, ROWS, "cubic"), "G": ([0.5, 1.0, 3.5], G_rows), "H": last}
        ens = cg.ensemble(model, SPAN, START, None, inputs, lanes=lanes, threads=2)
        for i in (0, 1, N - 1):
            row = {**ens.inputs(i), "F": (TIMES, ROWS[i], "cubic"), "G": ([0.5, 1.0, 3.5], G_rows[i])}
            assert bits(model.integrate(SPAN, START, None, row).y[:, -1]) == bits(ens.y[:, i])
    on = cg.ensemble(model, (4.0, 5.0), ens)
    assert bits(on.rerun(1).y[:, -1]) == bits(on.y[:, 1])
    with pytest.raises(ValueError, match="wrong"):
        cg.ensemble(model, SPAN, START, None, {**inputs, "H": failing}, lanes=1)


def failing(t: float) -> float:
    raise ValueError("wrong")


def test_sensitivities_are_those_of_single_runs() -> None:
    for kind in KINDS:
        ens = ensemble(ROWS, kind, sensitivities=["k", "x"], t_eval=[1.0, 3.0, 4.0], rtol=1e-10)
        for i in (0, N - 1):
            sol = spring().integrate(
                SPAN, START, {"k": NUMBERS["k"][i]}, {"F": (TIMES, ROWS[i], kind)},
                sensitivities=["k", "x"], t_eval=[1.0, 3.0, 4.0], rtol=1e-10,
            )  # fmt: skip
            for by in ("k", "x"):
                assert bits(ens.sensitivity["x", by][:, i]) == bits(sol.sensitivity["x", by])
                assert bits(ens.sensitivity["x_dot", by][:, i]) == bits(sol.sensitivity["x_dot", by])


@functools.cache
def carried(signed: bool = False) -> Any:
    """A unit mass that is moved as an input is."""
    r, R = cg.coordinates("r"), cg.inputs("R", **({"positive": True} if signed else {}))
    force = cg.rate(cg.rate(R)) if not signed else R
    return cg.System(
        f"carried_{signed}", coordinates=[r], kinetic=cg.rate(r) ** 2 / 2, forces={cg.rate(r): force}
    ).compile()


def test_rates_follow_from_rows() -> None:
    """R = a t^3, of which a cubic spline makes itself."""
    a, t = np.linspace(1, 2, N), np.array([-1.0, 0, 1, 2, 5])
    rows = t, np.outer(a, t**3), "cubic"
    ens = cg.ensemble(carried(), (0, 4), {"r": 0, "r_dot": 0}, None, {"R": rows}, lanes=4)
    np.testing.assert_allclose(ens["r"], a * 64, rtol=1e-9)
    np.testing.assert_allclose(ens["R_ddot"], a * 24, rtol=1e-9)
    sol = ens.rerun(5)
    assert bits(sol.y[:, -1]) == bits(ens.y[:, 5])
    with pytest.raises(ArgumentError, match="R is held between its samples, and jumps at t = 0, where R_dot"):
        cg.ensemble(carried(), (0, 4), {"r": 0, "r_dot": 0}, None, {"R": (*rows[:2], "zoh")})
    with pytest.raises(ArgumentError, match="give samples from t = 0 to 6"):
        cg.ensemble(carried(), (0, 6), {"r": 0, "r_dot": 0}, None, {"R": rows})


def test_assumptions_hold_in_every_row() -> None:
    rows = np.ones((N, 4))
    rows[7, 1:3] = 0.01, 0.0
    start = {"r": 0, "r_dot": 0}
    with pytest.raises(ArgumentError, match="R = 0 in trajectory 7, but R is declared positive"):
        cg.ensemble(carried(True), (0, 3), start, None, {"R": ([0, 1, 2, 3], rows)})
    rows[7, 2] = 0.01  # the spline is below 0 between
    cg.ensemble(carried(True), (0, 3), start, None, {"R": ([0, 1, 2, 3], rows, "linear")})
    with pytest.raises(ArgumentError, match=r"R = -0\.11.* in trajectory 7, but R is declared positive"):
        cg.ensemble(carried(True), (0, 3), start, None, {"R": ([0, 1, 2, 3], rows, "cubic")})


def with_nan() -> Any:
    rows = ROWS.copy()
    rows[11, 3] = np.nan
    return rows


@pytest.mark.parametrize(
    ("times", "values", "kind", "message"),
    [
        (TIMES, with_nan(), "linear", f"F of trajectory 11 is nan at t = {TIMES[3]:.17g}; it must be finite"),
        (TIMES, ROWS[:, :5], "zoh", r"values of shape \(23,\), or \(29, 23\) with a row for each trajectory"),
        (TIMES, ROWS[:5], "zoh", r"times of shape \(23,\) and values of shape \(5, 23\)"),
        (TIMES[::-1], ROWS, "zoh", "times of F must not decrease: 5, then"),
        ([*TIMES[:-1], np.nan], ROWS, "zoh", "F has a time that is not finite"),
        (np.r_[TIMES[1], TIMES[1:]], ROWS, "cubic", "F has two samples at .*: the times must increase"),
        (TIMES, ROWS, "quadratic", "F is sampled with 'quadratic'; give 'zoh', 'linear' or 'cubic'"),
        (TIMES, [["a"] * 23] * N, "zoh", "values of F"),
        (TIMES, Short(), "zoh", r"from row 0 to 29 have shape \(28, 23\); \(29, 23\) is needed"),
        (TIMES, np.full(ROWS.shape, "a"), "zoh", "values of F are not an array of real numbers"),
        ([], ROWS[:, :0], "zoh", "F has no times"),
    ],
)  # fmt: skip
def test_wrong_rows_are_refused_by_name(times: Any, values: Any, kind: str, message: str) -> None:
    refused(message, ensemble, values, kind, times)


def test_one_run_has_no_rows() -> None:
    given = START, {"k": 1}, {"F": (TIMES, ROWS)}
    words = r"F has values of shape \(29, 23\), a row for each of 29 trajectories"
    refused(words, spring().integrate, SPAN, *given)
    refused("this is one run; give one row", spring().stepper, *given)
    with pytest.raises((ArgumentError, IndexError), match="29"):
        ensemble(ROWS).inputs(29)


def test_drawn_values_stand_beside_rows() -> None:
    drawn = cg.ensemble(
        spring(), SPAN, {**START, "x": scipy.stats.norm()}, {"k": 1}, {"F": (TIMES, ROWS)}, seed=1
    )
    assert len(drawn) == N
