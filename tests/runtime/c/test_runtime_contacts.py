"""Coulomb contacts of compiled models at run time, against closed forms and 30-digit integrations."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from refusals import refused
from runtime_models import BLOCK, hybrid
from scipy.optimize import brentq

import chaplygin as cg
from chaplygin.api.ensemble import ensemble
from chaplygin.runtime import ArgumentError, KernelError

ROD = {"F": 0.0, "mu": 0.5, "a": 1.0, "b": 0.5, "rate": 0.0}


def test_block_on_a_belt_against_closed_form() -> None:
    # slips backward about x = mu m g / k = 3/4 with w = 2, sticks where v = 1/2, breaks where k x = mu m g
    sol = hybrid("block").integrate((0, 5), [2.0, 0.0], BLOCK, [0.0], rtol=1e-11, atol=1e-11)
    stop = (math.pi + math.asin(0.2)) / 2
    x_stop = 0.75 + 1.25 * math.cos(2 * stop)
    leave = stop + (0.75 - x_stop) / 0.5
    assert [mode.contacts["belt"] for mode in sol.modes] == ["slip-", "stick", "slip-"]
    assert [mode.ended_by for mode in sol.modes] == ["belt", "belt", None]
    assert [mode.t_end for mode in sol.modes] == pytest.approx([stop, leave, 5.0], abs=1e-9)
    assert sol.modes[0].t_start == 0.0
    sticks = (sol.t > stop + 1e-9) & (sol.t < leave - 1e-9)
    assert (sol["v"][sticks] == 0.5).all()  # exactly
    assert sol["x"][sticks] == pytest.approx(x_stop + 0.5 * (sol.t[sticks] - stop), abs=1e-9)
    assert sol["x"][-1] == pytest.approx(0.75 + 0.25 * math.sin(2 * (5 - leave)), abs=1e-9)
    # friction jumps when the mode changes: both one-sided values are stored
    (row,) = np.flatnonzero(sol.t == sol.modes[0].t_end)[:1]
    assert sol["friction"][row : row + 2] == pytest.approx([3.0, 4 * x_stop], abs=1e-8)
    at = hybrid("block").evaluate(0.0, [1.0, 0.0], BLOCK, [0.0, -1.0])
    assert at["friction"] == 3.0


def test_sine_force_against_closed_form() -> None:
    # F = 5 sin t, limit 3: breaks loose at F = 3, then v = 5 (cos t_1 - cos t) - 3 (t - t_1) until it is 0 again
    parameters = BLOCK | {"k": 0.0, "s": 0.0}
    sol = hybrid("block").integrate(
        (0, 8), [0.0, 0.0], parameters, {"F": lambda t, y: 5 * math.sin(t)}, rtol=1e-12, atol=1e-12
    )
    first = math.asin(0.6)
    right = []
    for side in range(2):
        t = first + math.pi * side
        right += [
            t,
            t + brentq(lambda d: 5 * (math.cos(first) - math.cos(first + d)) - 3 * d, 1.0, 4.0, xtol=1e-15),
        ]
    right.append(first + 2 * math.pi)
    assert [mode.contacts["belt"] for mode in sol.modes] == "stick slip+ stick slip- stick slip+".split()
    assert [mode.t_end for mode in sol.modes[:-1]] == pytest.approx(right, abs=1e-9)
    assert sol["v"][sol.t == sol.modes[2].t_start][-1] == 0.0


def test_stick_does_not_creep() -> None:
    parameters = BLOCK | {"k": 0.0, "s": 0.0}
    for force in (2.9, -3.0, 3.0, 0.0):  # at equality it sticks
        sol = hybrid("block").integrate((0, 1e6), [0.25, 0.0], parameters, [force])
        assert [mode.contacts["belt"] for mode in sol.modes] == ["stick"]
        assert (sol["x"] == 0.25).all()
        assert (sol["v"] == 0.0).all()


@pytest.mark.parametrize(("samples", "leaves"), [
    (([0.0, 10.0], [0.0, 10.0], "linear"), 3.0),
    (([0.0, 2.0], [2.0, 4.0], "zoh"), 2.0),
    (([0.0, 2.0], [-2.0, -4.0], "zoh"), 2.0),
])  # fmt: skip
def test_inputs_that_break_the_stick(samples: Any, leaves: float) -> None:
    parameters = BLOCK | {"k": 0.0, "s": 0.0}
    sol = hybrid("block").integrate((0, 5), [0.0, 0.0], parameters, {"F": samples})
    side = "slip-" if samples[1][0] < 0 else "slip+"
    assert [mode.contacts["belt"] for mode in sol.modes] == ["stick", side]
    assert sol.modes[0].t_end == pytest.approx(leaves, abs=1e-11)
    rest = 5 - leaves
    slid = rest**3 / 6 if samples[2] == "linear" else rest**2 / 2
    assert abs(sol["x"][-1]) == pytest.approx(slid, abs=1e-9)


def test_contacts_of_a_stepper() -> None:
    run = hybrid("block").stepper([0.0, 0.0], BLOCK | {"k": 0.0, "s": 0.0}, {"F": 1.0})
    run.advance(1.0)
    assert run.modes == {"belt": "stick"}
    assert run.y.tolist() == [0.0, 0.0]
    run.set_inputs(F=4.0)
    assert run.advance(3.0) == pytest.approx([2.0, 2.0], abs=1e-9)
    assert run.modes == {"belt": "slip+"}
    run.set_inputs(F=1.0)
    run.advance(10.0)
    assert run.modes == {"belt": "stick"}
    assert run.events[0] == (pytest.approx(4.0, abs=1e-9), "belt")


def test_contacts_run_forward_only() -> None:
    block, start = hybrid("block"), [0.0, 0.0]
    with pytest.raises(ArgumentError, match="t_span: friction cannot be run backward; give t1 >= t0"):
        block.integrate((0, -1), start, BLOCK, [0.0])
    with pytest.raises(ArgumentError, match="t_span: friction cannot be run backward; give t1 >= t0"):
        ensemble(block, (0, -1), start, BLOCK, [0.0], n=2)
    run = block.stepper(start, BLOCK, [0.0], t0=1.0)
    refused(r"t = 0\.5: friction cannot be run backward; give t >= 1", run.advance, 0.5)
    run.advance(1.5)
    assert run.t == 1.5


def test_a_negative_coefficient_of_friction_is_refused_at_the_start() -> None:
    """It would accelerate the slip. The hand-written block has N = m g and mu among its parameters."""
    block, start, wrong = hybrid("block"), [2.0, 0.0], BLOCK | {"mu": -0.3}
    words = "contact belt: mu = -0.3 is negative at the start"
    for given in (wrong, list(wrong.values()), np.array(list(wrong.values()))):
        refused(words, block.integrate, (0, 1), start, given, [0.0])
    refused(words, block.stepper, start, wrong, [0.0])
    several = BLOCK | {"mu": np.array([0.3, 0.0, -0.3])}
    refused(f"{words} in column 2", ensemble, block, (0, 1), start, several, [0.0])
    assert block.integrate((0, 1), start, BLOCK | {"mu": 0.0}, [0.0]).success


def test_normal_force_of_a_multiplier() -> None:
    # N = a / (1 + b mu s sigma): it slips, decelerated by mu N, until v = 0, then sticks
    sol = hybrid("rod").integrate((0, 10), [0.0, 2.0], ROD)
    normal = 1 / (1 + 0.25)
    assert [(mode.contacts["tip"], mode.signs["tip"]) for mode in sol.modes] == [("slip+", 1), ("stick", 1)]
    assert sol.modes[0].t_end == pytest.approx(2 / (0.5 * normal), abs=1e-9)
    # a = 1 - x / 2 changes sign at x = 2, and so does N = a / (1 + s / 4)
    sol = hybrid("rod").integrate((0, 1.5), [0.0, 3.0], ROD | {"rate": -0.5}, rtol=1e-11, atol=1e-11)
    assert [(mode.contacts["tip"], mode.signs["tip"]) for mode in sol.modes] == [("slip+", 1), ("slip+", -1)]
    assert sol["x"][sol.t == sol.modes[0].t_end][0] == pytest.approx(2.0, abs=1e-12)


def test_paradox_is_reported_never_resolved_silently() -> None:
    none = hybrid("rod").integrate((0, 10), [0.0, 2.0], ROD | {"b": -3.0})
    assert none.status == -10
    assert none.paradox is not None
    assert (none.paradox.t, none.paradox.n_found, none.paradox.solutions) == (0.0, 0, ())
    assert (
        none.message
        == "stopped at t = 0: Painlevé's paradox: no mode of the contacts satisfies the equations"
    )
    several = hybrid("rod").integrate((0, 10), [0.0, 2.0], ROD | {"b": -3.0, "a": -1.0})
    assert several.status == -10
    assert several.paradox.n_found == 2
    assert several.paradox.solutions == (({"tip": "slip+"}, {"tip": 1}), ({"tip": "slip+"}, {"tip": -1}))
    says = "stopped at t = 0: Painlevé's paradox: 2 modes of the contacts satisfy the equations: tip slip+ with N > 0; "
    assert several.message == f"{says}tip slip+ with N < 0"
    with pytest.raises(KernelError, match=f"rod {re.escape(says)}"):
        hybrid("rod").stepper([0.0, 2.0], ROD | {"b": -3.0, "a": -1.0}).advance(1.0)
    assert several.paradox.y.tolist() == [0.0, 2.0]
    kept = hybrid("rod").integrate((0, 0.1), [0.0, 2.0], ROD | {"b": -3.0, "a": -1.0}, paradox="keep")
    assert kept.success
    assert kept.modes[0].signs == {"tip": 1}
    with pytest.raises(ArgumentError, match="paradox"):
        hybrid("rod").integrate((0, 1), [0.0, 2.0], ROD, paradox="guess")


def test_paradox_on_the_way() -> None:
    # with b mu = -3/2 slip has no solution for a > 0; a = -1 + x changes sign at x = 1
    sol = hybrid("rod").integrate(
        (0, 10), [0.0, 2.0], ROD | {"b": -3.0, "a": -1.0, "rate": 1.0}, paradox="keep", rtol=1e-11, atol=1e-11
    )
    assert sol.status == -10
    assert sol.paradox.y[0] == pytest.approx(1.0, abs=1e-9)
    assert sol.paradox.contact == "tip"
    assert sol.paradox.n_found == 0
    assert sol.t[-1] == sol.paradox.t
    assert sol.modes[-1].t_end == sol.paradox.t


# ---- the Painlevé-Klein example, against 30-digit integrations ----

KLEIN = json.loads((Path(__file__).parents[2] / "data" / "painleve_klein.json").read_text(encoding="utf-8"))


def klein(run: dict[str, Any], rtol: float, t_end: float) -> Any:
    x1, v1, x2, v2 = run["initial"]
    parameters = KLEIN["parameters"] | {"K": run["K"], "C": run["C"]}
    return hybrid("klein").integrate((0, t_end), [x1, x2, v1, v2], parameters, rtol=rtol, atol=rtol)


def sequence(sol: Any) -> list[list[int]]:
    number = {"slip+": 1, "slip-": -1, "stick": 0}
    return [[number[mode] for mode in entry.contacts.values()] for entry in sol.modes]


@pytest.mark.parametrize("run", KLEIN["runs"], ids=lambda run: run["name"])
def test_painleve_klein(run: dict[str, Any]) -> None:
    rests = run["modes"][-1:] == [[0, 0]]
    end = run["t_end"] + (0.25 if rests else 0.0)  # it stays at rest
    for rtol, tolerance in (
        (1e-11, 1e-9),
        (1e-9, 1e-7),
        (1e-6, 1e-4),
    ):  # no event is lost at loose tolerances
        sol = klein(run, rtol, end)
        assert sequence(sol) == [[1, 1], *run["modes"]]
        assert [mode.t_end for mode in sol.modes[:-1]] == pytest.approx(run["t"], abs=tolerance)
        assert sol.y[[0, 2, 1, 3], -1] == pytest.approx(run["end"], abs=tolerance)
    if rests:
        assert (sol.y[2:, -1] == 0.0).all()


def test_two_contacts_that_stop_at_the_same_time() -> None:
    # a symmetric pair without external forces: both points stop at the same time and stay at rest
    parameters = {
        "d": 0.8, "l": 1.0, "X1": 0.0, "Y1": 1.0, "mu1": 0.5, "X2": 0.0, "Y2": 1.0, "mu2": 0.5, "K": 0.0, "C": 0.0
    }  # fmt: skip
    sol = hybrid("klein").integrate((0, 5), [0.6, 0.0, 1.0, 1.0], parameters)
    assert sequence(sol) == [[1, 1], [0, 0]]
    assert sol.modes[0].t_end == pytest.approx(2.0, abs=1e-9)  # decelerated by mu N = 1/2
    assert sol.y[:, -1] == pytest.approx([1.6, 1.0, 0.0, 0.0], abs=1e-9)
    opposed = hybrid("klein").integrate((0, 5), [0.6, 0.0, 1.0, -1.0], parameters)
    assert sequence(opposed) == [[1, -1], [0, 0]]


def test_a_contact_in_flight_is_open() -> None:
    """A mass that falls on a spring k with its horizontal speed: in flight and on the spring by turns."""
    x, y = cg.coordinates("x y")
    k, mu, g = cg.parameters("k mu g")
    normal = sp.Max(0, -k * y)
    system = cg.System(
        "hop", coordinates=[x, y], kinetic=(cg.rate(x) ** 2 + cg.rate(y) ** 2) / 2, potential=g * y,
        forces={cg.rate(y): normal}, contacts=[cg.Coulomb("ground", slip=cg.rate(x), normal=normal, mu=mu)],
    )  # fmt: skip
    model, start = (
        system.compile(),
        ({"x": 0, "y": 1, "x_dot": 1, "y_dot": 0}, {"k": 1000, "mu": 0.01, "g": 9.81}),
    )
    fall, w = math.sqrt(2 / 9.81), math.sqrt(1000)
    on = 2 * (math.pi - math.atan(9.81 * fall * w / 9.81)) / w  # y = -g (1 - cos wt)/w^2 - v sin wt/w = 0
    sol = model.integrate((0, 1), *start, rtol=1e-11, atol=1e-11)
    assert [mode.contacts["ground"] for mode in sol.modes] == ["open", "slip+", "open"]
    assert [mode.t_end for mode in sol.modes] == pytest.approx([fall, fall + on, 1.0], abs=1e-8)
    run = model.stepper(*start)
    for t, named in ((0.4, "open"), (0.5, "slip+"), (0.6, "open")):
        run.advance(t)
        assert run.modes == {"ground": named}
