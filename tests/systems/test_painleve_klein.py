"""The Painlevé-Klein chapter: docs/painleve_klein.py against the analysis of (2.9), (3.9) and (4.1)."""

from __future__ import annotations

import importlib.util
import math
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from documents import blocks

import chaplygin as cg
from chaplygin.systems import painleve_klein as catalogue

DOCS = Path(__file__).resolve().parents[2] / "docs"
GIVEN = catalogue.parameters()
THRESHOLD = 0.067362822794554
"""The saddle of (4.1) for the published data, K = 100: a link released at rest below it slides on for ever."""


@cache
def chapter() -> Any:
    spec = importlib.util.spec_from_file_location("painleve_klein_chapter", DOCS / "painleve_klein.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def drawn(rng: np.random.Generator) -> tuple[dict[str, float], int]:
    """A random rod and direction, with unequal masses and forces of both signs."""
    low_high = {"m1": (0.3, 3), "m2": (0.3, 3), "d": (0.2, 0.95)}
    low_high |= dict.fromkeys(("X1", "X2", "Y1", "Y2"), (-5, 5)) | {"mu1": (0, 4), "mu2": (0, 4)}
    given = {name: float(rng.uniform(*ends)) for name, ends in low_high.items()}
    return {**given, "l": 1.0}, int(rng.choice([-1, 1]))


def counted(p: dict[str, float], sigma: int) -> int:
    """The rigid rod's motions from the equations (2.2) in physical quantities, one pair of signs at a time.

    x1'' = x2'' and N1 = R sin - Y1 = s1 |N1|, N2 = -Y2 - R sin = s2 |N2| give R for each pair of signs.
    """
    sine, cosine = p["d"], math.sqrt(1 - p["d"] ** 2)
    found = 0
    for s1 in (1, -1):
        for s2 in (1, -1):
            slope = cosine / p["m1"] + cosine / p["m2"]
            slope += sigma * sine * (p["mu1"] * s1 / p["m1"] + p["mu2"] * s2 / p["m2"])
            rest = p["X1"] / p["m1"] - p["X2"] / p["m2"]
            rest += sigma * (p["mu1"] * s1 * p["Y1"] / p["m1"] - p["mu2"] * s2 * p["Y2"] / p["m2"])
            tension = rest / slope
            found += s1 * (tension * sine - p["Y1"]) > 0 and s2 * (-p["Y2"] - tension * sine) > 0
    return found


POSSIBLE = {
    *(("+++", 1), ("+-+", 1), ("+-+", 3), ("++-", 0), ("++-", 2), ("+--", 0), ("+--", 2)),
    *(("-++", 0), ("-++", 2), ("--+", 0), ("--+", 2)),
}


# Task 1


@pytest.mark.slow
def test_the_six_graphs_tell_what_the_program_finds() -> None:
    """On 20,000 sets the regions of (2.9), its roots, the equations for each pair of signs and the model agree."""
    rng, seen = np.random.default_rng(1), Counter[tuple[str, int]]()
    for _ in range(20_000):
        p, sigma = drawn(rng)
        law = chapter().law(p, sigma)
        number = chapter().number_of_solutions(law)
        assert number == counted(p, sigma) == chapter().rigid_solutions(p, sigma), (p, sigma)
        tensions = chapter().tensions(law)
        assert len(tensions) == number
        for tension in tensions:
            assert abs(chapter().phi(tension, law) - law.load) < 1e-9 * (1 + abs(law.load) + abs(tension))
        seen[chapter().graph(law), number] += 1
    assert seen.keys() == POSSIBLE


def test_published_graphs() -> None:
    for sigma, kind, slopes in ((1, "++-", (5.1, 6.5, -1.1)), (-1, "--+", (-1.1, -2.5, 5.1))):
        law = chapter().law(GIVEN, sigma)
        assert law[:5] == pytest.approx((0.7, 3.8, 1.0, -3.0, 6.0), rel=1e-14)
        assert chapter().graph(law) == kind
        assert chapter().slopes(law) == pytest.approx(slopes, rel=1e-13)


# Task 2


LINEAR = {
    1: [
        (18.1 / 6.5, "stable focus", (-11.7, 9.854440623, -11.7, -9.854440623), 1.1796923077),
        (4.7 / 1.1, "saddle", (8.5769993200, 0, -4.6169993200, 0), -0.3381818182),
    ],
    -1: [(2.44, "saddle", (15.0, 0, -6.0, 0), 2.7408), (16.7 / 5.1, "stable focus", None, 2.5905882353)],
}
EXACT = [
    (0.027971766507017, "stable focus", (-12.19057, 9.69584, -12.19057, -9.69584), 1.120589233975),
    (THRESHOLD, "saddle", (5.29225301, 0, -2.52096527, 0), -3.09004668239714),
    (0.144306197882388, "unstable focus", (0.69863, 3.53878, 0.69863, -3.53878), -11.5945837610),
]


def parts(roots: tuple[complex, complex]) -> list[float]:
    ordered = sorted(roots, key=lambda z: (-z.real, -z.imag))
    return [value for z in ordered for value in (z.real, z.imag)]


@pytest.mark.parametrize("sigma", [1, -1, 0])
def test_equilibria(sigma: int) -> None:
    """For small elongations, or of sigma = 0 with the true angle."""
    found = chapter().equilibria(GIVEN, sigma) if sigma else chapter().exact_equilibria(GIVEN)
    for e, (size, kind, roots, acceleration) in zip(found, LINEAR[sigma] if sigma else EXACT, strict=True):
        assert (e.tension if sigma else e.delta) == pytest.approx(size, rel=1e-13 * abs(sigma), abs=1e-14)
        assert e.kind == kind
        assert roots is None or parts(e.roots) == pytest.approx(roots, abs=1e-8 if sigma else 5e-6)
        assert e.acceleration == pytest.approx(acceleration, abs=1e-9)


def test_kinds_of_equilibria() -> None:
    """s C^2 < 4 K is a focus, or a centre without damping; eps only scales the time."""
    stable = [
        chapter().equilibria(catalogue.parameters(k, nu, eps))[0]
        for k, nu, eps in ((1, 0, 0.1), (1, 1, 0.1), (1, 1.3, 0.1), (1, 1.32, 0.1), (1, 1, 0.01))
    ]
    assert [e.kind for e in stable] == [
        "centre",
        "stable focus",
        "stable focus",
        "stable node",
        "stable focus",
    ]
    assert parts(stable[4].roots) == pytest.approx([10 * v for v in parts(stable[1].roots)], rel=1e-12)


# Tasks 3 and 4


def test_the_boundary_of_the_basin_separates() -> None:
    """Points off the saddle's stable manifold of (3.9) by a thousandth settle on one side and escape on the other."""
    window = chapter().Window(-0.1, 0.3, -6.0, 6.0)
    saddle = chapter().equilibria(GIVEN)[1]
    tension = chapter().equilibria(GIVEN)[0].tension
    for branch in chapter().basin_boundary(saddle, GIVEN, window):
        for i in np.linspace(len(branch) // 3, len(branch) - 2, 5).astype(int):
            along = branch[i + 1] - branch[i]
            side = 1e-3 * np.array([-along[1], along[0]]) / np.hypot(*along)
            ends = [chapter().path(branch[i] + s * side, GIVEN, 20.0, window)[-1] for s in (1, -1)]
            settled = [bool(np.allclose(end, [tension / 100, 0.0], rtol=0, atol=1e-6)) for end in ends]
            assert sorted(settled) == [False, True], branch[i]


def test_release_threshold_for_small_elongations() -> None:
    window, saddle = chapter().Window(-0.1, 0.3, -6.0, 6.0), 4.7 / 110
    assert chapter().settles(saddle - 1e-9, GIVEN, window, exact=False)
    assert not chapter().settles(saddle + 1e-9, GIVEN, window, exact=False)


@pytest.mark.parametrize(("off", "slides_on"), [(-1e-7, True), (1e-7, False)])
def test_release_threshold_of_the_sliders(off: float, slides_on: bool) -> None:
    """The link released at rest at speed 10: below the saddle both sliders slide on for ever, above it they stop."""
    sol = chapter().run(THRESHOLD + off, t_end=8.0)
    assert sol.success, sol.message
    last = sol.modes[-1].contacts
    if slides_on:
        assert len(sol.modes) == 1
        assert float(sol["R"][-1]) == pytest.approx(2.7971766507, abs=1e-8)
    else:
        assert last == {"guide1": "stick", "guide2": "stick"}
        assert float(sol["x1_dot"][-1]) == float(sol["x2_dot"][-1]) == 0.0


def test_fast_sliders_come_back_to_the_stable_tension() -> None:
    """With the true angle nothing escapes: beyond the saddle the path goes once around the unstable focus."""
    given = {
        "initial": catalogue.initial_state(0.12, 100.0),
        "parameters": GIVEN,
        "rtol": 1e-11,
        "atol": 1e-11,
    }
    sol = chapter().program().integrate((0, 12), **given)
    assert len(sol.modes) == 1
    assert float(np.max(sol["R"])) > 18
    assert float(sol["R"][-1]) == pytest.approx(2.7971766507, abs=1e-7)


# The rigid link as the limit


def test_distance_to_the_rigid_link_is_of_first_order() -> None:
    distances = [chapter().distance_to_rigid(eps) for eps in (1e-1, 1e-2, 1e-3)]
    assert all(d < 0.8 * eps for d, eps in zip(distances, (1e-1, 1e-2, 1e-3), strict=True))
    assert math.log10(distances[1] / distances[2]) == pytest.approx(1.0, abs=0.05)


def test_distance_is_of_second_order_without_a_boundary_layer() -> None:
    law = chapter().law({**GIVEN, **chapter().SMALL_FRICTION})
    tension = chapter().tensions(law)[0]
    distances = [chapter().distance_to_rigid(eps, tension) for eps in (1e-1, 1e-2, 1e-3)]
    assert math.log10(distances[1] / distances[2]) == pytest.approx(2.0, abs=0.02)


def test_of_two_rigid_motions_the_elastic_link_takes_the_stable_one() -> None:
    """From R = 3.5, between R* = 18.1/6.5 and the saddle."""
    errors = []
    for eps in (1e-2, 1e-3):
        given = catalogue.parameters(eps=eps)
        start = catalogue.initial_state(3.5 / given["K"])
        sol = chapter().program().integrate((0, 0.5), initial=start, parameters=given, rtol=1e-11, atol=1e-12)
        assert len(sol.modes) == 1
        errors.append(abs(float(sol["x1_dot"][-1]) - 10 - 0.5 * 1.1796923076923))
    assert errors[1] < 2e-3
    assert math.log10(errors[0] / errors[1]) == pytest.approx(1.0, abs=0.1)


def test_where_the_rigid_link_has_no_motion_the_elastic_one_stops_at_once() -> None:
    """X1 = 6: Phi stays below X*. The tension grows until slider 2 stops, after a time of order eps log(1/eps)."""
    stops = []
    for eps in (1e-1, 1e-2, 1e-3):
        given = {**catalogue.parameters(eps=eps), "X1": 6.0}
        assert chapter().rigid_solutions(given) == 0
        initial = catalogue.initial_state(0.0)
        sol = chapter().program().integrate((0, 0.7), initial=initial, parameters=given, rtol=1e-9, atol=1e-9)
        assert sol.modes[1].contacts == {"guide1": "slip+", "guide2": "stick"}
        stops.append(sol.modes[1].t_start)
    assert stops[1] < stops[0] / 5
    assert stops[2] < stops[1] / 5


def test_catalogue_refuses_a_link_too_short() -> None:
    with pytest.raises(ValueError, match="delta0"):
        cg.example("painleve_klein", delta0=-0.3)


def test_the_page_runs_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    namespace: dict[str, Any] = {}
    for block in blocks("docs/painleve_klein.md"):
        exec(compile("\n" * (block.line - 1) + block.text, "docs/painleve_klein.md", "exec"), namespace)
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "-10 2"
    assert printed[1].startswith("True 2.88888888888")
    assert [line.split()[0] for line in printed[2:]] == [
        "0.000000000",
        "0.802177469",
        "0.804440918",
        "1.403485050",
    ]
