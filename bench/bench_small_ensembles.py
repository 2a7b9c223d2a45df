"""The overhead of small ensembles: eight trajectories, 4096 short ones with an input each, one trajectory rerun.

Lanes are compiled before anything is timed, by an ensemble large enough to trigger their compilation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import chaplygin as cg
from chaplygin.runtime.interface.limits import WORTH

N = 4096
GROUP = "small ensembles: cost of a call"


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
