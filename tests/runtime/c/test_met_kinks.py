"""Several events where a kink is crossed, at one instant: each occurs once, in the order of declaration."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import pytest
import sympy as sp
from unit_masses import unit_masses

import chaplygin as cg

x, y = cg.coordinates("x y")
v, w = cg.rate(x), cg.rate(y)
a, b, g, c, d, p, q, e, h = cg.parameters("a b g c d p q e h")
AFTER = 0.2


@cache
def model() -> Any:
    """x'' = a + b sign(x - c) and y'' = g meet x = c, y = d, x' = p and y' = q at one time."""
    events = [
        cg.Event(v - p, reset={w: w + h}, name="first"),
        cg.Event(y - d, reset={w: -e * w}, name="second"),
        cg.Event(w - q, reset={y: y + h * w}, name="third"),
    ]
    return unit_masses("met", [x, y], forces={v: a + b * sp.sign(x - c), w: g}, events=events).compile()


@pytest.mark.parametrize("asked", [{"kinks": True}, {"sensitivities": ["e", "h"]}], ids=str)
@pytest.mark.parametrize("method", ["dop853", "tsit5", "vern7", "vern9"])
def test_events_that_meet_on_a_kink(method: str, asked: dict[str, Any]) -> None:
    chosen = random.Random(method)
    options: dict[str, Any] = {"method": method, "rtol": 1e-11, "atol": 1e-11, **asked}

    def some(least: float, most: float) -> float:
        return chosen.choice([-1, 1]) * chosen.uniform(least, most)

    for _ in range(15):
        a, b, g, c, d = some(0.4, 1), some(0.1, 0.3), some(0.1, 0.4), some(0, 1), some(0, 1)
        p, q, e = some(0.7, 2), some(0.6, 2), chosen.uniform(0.3, 0.9)
        h = q / 2  # of this sign: y turns, and does not come back so soon
        numbers = dict(zip("abgcdpqeh", (a, b, g, c, d, p, q, e, h), strict=True))
        met, side = chosen.uniform(0.3, 0.9), 1 if p > 0 else -1
        before, after = a - b * side, a + b * side
        start = {
            "x": c - p * met + before * met**2 / 2, "x_dot": p - before * met,
            "y": d - q * met + g * met**2 / 2, "y_dot": q - g * met,
        }  # fmt: skip
        sol = model().integrate((0, met + AFTER), start, numbers, **options)
        assert [len(times) for times in sol.t_events] == [1, 1, 1], numbers
        turned = -e * (q + h)
        place, rate = d + h * turned + turned * AFTER + g * AFTER**2 / 2, turned + g * AFTER
        expected = [c + p * AFTER + after * AFTER**2 / 2, place, p + after * AFTER, rate]
        assert sol.y[:, -1] == pytest.approx(expected, abs=1e-8), numbers
        if "sensitivities" in asked:
            by_e, by_h = -(q + h) * (h + AFTER), turned - e * (h + AFTER)
            assert sol.sensitivity["y", "e"][-1] == pytest.approx(by_e, abs=1e-7), numbers
            assert sol.sensitivity["y", "h"][-1] == pytest.approx(by_h, abs=1e-7), numbers
