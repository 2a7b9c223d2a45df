"""The overhead of small ensembles: eight trajectories, 4096 short ones with an input each, one trajectory rerun.

Eight sleighs from a dict are compared with eight single runs, and 400 by default with 400 in one thread.

Lanes are compiled before anything is timed, by an ensemble large enough to trigger their compilation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import chaplygin as cg
from chaplygin.runtime.interface.limits import WORTH

N = 4096
GROUP = "small ensembles: cost of a call"
EIGHT = "8 sleighs over 10 s"
HUNDREDS = "400 sleighs over 10 s"


def top(n: int) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """The heavy top, its initial states and its parameters."""
    from chaplygin.generated.heavy_top import model

    entry = cg.example("heavy_top")
    return model, {**entry.initial, "w3": np.linspace(0.9, 1.1, n) * entry.initial["w3"]}, entry.parameters


def test_eight_tops(timed: Any) -> None:
    model, initial, parameters = top(8)
    cg.ensemble(
        model, (0, 1e-3), [*map(float, cg.example("heavy_top").initial.values())], parameters, n=WORTH
    )
    assert timed(
        GROUP,
        "8 heavy tops over 0.001 s",
        lambda: cg.ensemble(model, (0, 1e-3), initial, parameters, n=8),
        rounds=50,
        iterations=20,
    ).success


def test_eight_tops_again(timed: Any) -> None:
    model, initial, parameters = top(8)
    ens = cg.ensemble(model, (0, 1e-3), initial, parameters, n=8)
    assert timed(GROUP, "ens.rerun(i)", lambda: ens.rerun(3), rounds=50, iterations=20).success


def test_many_tops(timed: Any) -> None:
    model, initial, parameters = top(N)
    assert timed(
        GROUP,
        f"{N} heavy tops over 0.02 s",
        lambda: cg.ensemble(model, (0, 0.02), initial, parameters, n=N),
        rounds=50,
        baseline=True,
    ).success


def test_many_oscillators_with_an_input_each(timed: Any) -> None:
    model = cg.example("harmonic_oscillator", driven=True).system.compile(wait=True)
    initial = {"x": np.linspace(-1, 1, N), "x_dot": 0.0}
    inputs = {"F": np.linspace(0, 1, N)}
    assert timed(
        GROUP,
        f"{N} oscillators over 0.02 s with an input each",
        lambda: cg.ensemble(model, (0, 0.02), initial, {"m": 1.0, "k": 4.0}, inputs, n=N),
        rounds=50,
    ).success


def sleighs(n: int) -> tuple[Any, dict[str, Any], dict[str, float]]:
    """The sleigh, its start with every declared variable, as a user has it, and its parameters."""
    from chaplygin.generated.chaplygin_sleigh import model

    entry = cg.example("chaplygin_sleigh")
    cg.ensemble(model, (0, 0.1), entry.initial, entry.parameters, n=WORTH)
    return model, {**entry.initial, "omega": np.linspace(0.9, 1.1, n)}, entry.parameters


def test_eight_sleighs_one_by_one(timed: Any) -> None:
    model, initial, parameters = sleighs(8)
    starts = [{**initial, "omega": float(omega)} for omega in initial["omega"]]
    assert timed(
        EIGHT,
        "8 calls of integrate",
        lambda: [model.integrate((0, 10), start, parameters) for start in starts],
        rounds=50,
        iterations=20,
        baseline=True,
    )


def ensemble_takes(
    timed: Any, table: Any, label: str, n: int, baseline: bool = False, **options: Any
) -> None:
    model, initial, parameters = sleighs(n)
    assert timed(
        table,
        label,
        lambda: cg.ensemble(model, (0, 10), initial, parameters, **options),
        rounds=50,
        iterations=20,
        baseline=baseline,
    ).success


def test_eight_sleighs(timed: Any) -> None:
    ensemble_takes(timed, EIGHT, "an ensemble of 8, from a dict", 8)


def test_hundreds_of_sleighs_in_one_thread(timed: Any) -> None:
    ensemble_takes(timed, HUNDREDS, "one thread", 400, baseline=True, threads=1)


def test_hundreds_of_sleighs(timed: Any) -> None:
    ensemble_takes(timed, HUNDREDS, "as many threads as it takes", 400)
