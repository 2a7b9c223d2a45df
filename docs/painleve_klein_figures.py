"""The figures of docs/painleve_klein.md: `python docs/painleve_klein_figures.py` draws them into the same folder.

Needs matplotlib: pip install "chaplygin[plot]".
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from painleve_klein import (
    SMALL_FRICTION,
    TYPES,
    Law,
    Window,
    basin_boundary,
    distance_to_rigid,
    equilibria,
    exact_equilibria,
    graph,
    kinks,
    law,
    number_of_solutions,
    path,
    phi,
    program,
    run,
    tensions,
)
from PIL import Image

from chaplygin.systems import painleve_klein as catalogue

mpl.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).resolve().parent
GIVEN = catalogue.parameters()
BLUE, RED, GREEN, ORANGE, GREY = "tab:blue", "tab:red", "tab:green", "tab:orange", "0.6"
STABLE, UNSTABLE = {"marker": "o", "color": "k"}, {"marker": "o", "mfc": "w", "mec": "k"}
SIX = {
    "+++": Law(0.5, 1.0, -1.0, 2.0, 1.0),
    "+-+": Law(1.8, 2.2, 1.0, 1.5, 1.0),
    "++-": Law(0.7, 3.8, 1.0, -3.0, 6.0),
    "+--": Law(0.7, 3.8, 1.0, 1.0, -2.0),
    "-++": Law(3.8, 0.7, 1.0, -3.0, 6.0),
    "--+": Law(3.8, 0.7, 1.0, 1.0, 3.0),
}
"""One law for each of the six graphs; the third is that of the published data."""


def save(figure: Any, name: str) -> None:
    """Save as a small PNG with a reduced palette."""
    raw = io.BytesIO()
    figure.savefig(raw, dpi=80)
    plt.close(figure)
    Image.open(raw).convert("RGB").quantize(160).save(HERE / f"painleve_klein_{name}.png", optimize=True)


def graphs() -> None:
    """Task 1: the six graphs and a map of their regions."""
    figure, axes = plt.subplots(2, 4, figsize=(13, 6.4), layout="constrained")
    for place, kind in zip((0, 1, 2, 4, 5, 6), TYPES, strict=True):
        at, by = axes.flat[place], SIX[kind]
        if graph(by) != kind:
            raise ValueError(f"{by} has the graph {graph(by)}, not {kind}")
        left, right = kinks(by)
        found = tensions(by)
        reach = 0.6 * (right - left) + 0.5
        low, high = min(left, *found) - reach, max(right, *found) + reach
        r = np.array([low, left, right, high])
        at.plot(r, phi(r, by), color=BLUE, lw=2)
        at.axhline(by.load, color=RED, lw=1)
        at.plot(found, [by.load] * len(found), "o", color=RED, ms=5)
        at.vlines((left, right), *at.get_ylim(), color=GREY, ls=":", lw=1)
        at.set_title(f"{kind}: {len(found)} solution{'s' * (len(found) != 1)} at this X*", fontsize=11)
        at.set(xlabel="R", ylabel="Φ(R)")
    grid = axes[0, 3].get_gridspec()
    axes[0, 3].remove()
    axes[1, 3].remove()
    regions(figure.add_subplot(grid[:, 3]))
    save(figure, "graphs")


def regions(at: Any) -> None:
    """The plane (Delta, tau Sigma); |Delta| <= Sigma, so two wedges are empty."""
    colours = dict(
        zip(TYPES, ("#cfe8cf", "#9fd0a0", "#f6d5b5", "#efb27c", "#c9dcf0", "#8fb8de"), strict=True)
    )
    upper = [(-6, 6), (-2, 2), (0, 0), (2, 2), (6, 6)]
    pieces = {
        "+++": [(0, 0), (2, 2), (-2, 2), (0, 0), (2, -2), (2, -6), (-2, -6), (-2, -2)],
        "+-+": [(-2, 2), (2, 2), (2, 6), (-2, 6)],
        "++-": [(-2, -2), (-2, -6), (-6, -6)],
        "+--": [(-2, 2), (-2, 6), (-6, 6)],
        "-++": [(2, -2), (2, -6), (6, -6)],
        "--+": [(2, 2), (2, 6), (6, 6)],
    }
    places = {
        "+++": (0, -4),
        "+-+": (0, 4),
        "++-": (-3.2, -5),
        "+--": (-3.2, 5),
        "-++": (3.2, -5),
        "--+": (3.2, 5),
    }
    for kind in TYPES:
        at.fill(*np.transpose(pieces[kind]), color=colours[kind], lw=0)
        at.text(*places[kind], kind, ha="center", va="center", fontsize=13)
    at.text(0, 1.35, "+++", ha="center", va="center", fontsize=10)
    for sign in (1, -1):
        at.plot(*np.transpose([(x, sign * y) for x, y in upper]), color="k", lw=1)
    at.set(xlim=(-6, 6), ylim=(-6, 6), xlabel="Δ = σ(μ1* − μ2*)", ylabel="τΣ = σ sgn(Y1* + Y2*)(μ1* + μ2*)")
    for sigma in (1, -1):
        by = law(GIVEN, sigma)
        x, y = sigma * (by.mu1 - by.mu2), sigma * np.sign(by.y1 + by.y2) * (by.mu1 + by.mu2)
        at.plot(x, y, "k*", ms=9)
        at.annotate(
            f"published,\nσ = {sigma:+d}", (x, y), (sigma * -4.2, 0.0), ha="center", va="center", fontsize=9
        )
        at.plot((x, sigma * -4.2), (y, np.sign(y) * 0.5), color="k", lw=0.5)
    at.set_title("regions; none where |τΣ| < |Δ|", fontsize=11)


def stability() -> None:
    """Task 2: the published equilibria, and their roots as functions of the damping."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    for sigma, colour in ((1, BLUE), (-1, ORANGE)):
        by = law(GIVEN, sigma)
        r = np.sort(np.r_[np.linspace(0, 6, 50), kinks(by)])
        left.plot(r, phi(r, by), color=colour, label=f"Φ(R), σ = {sigma:+d}, {graph(by)}")
        for e in equilibria(GIVEN, sigma):
            left.plot(e.tension, by.load, ms=8, **(UNSTABLE if e.kind == "saddle" else STABLE))
    left.axhline(6.0, color=RED, lw=1, label="X* = 6")
    left.set(xlabel="R", ylim=(0, 12), title="equilibria: stable (full), saddles (open)")
    left.legend(fontsize=9)
    nu = np.linspace(0.0, 2.0, 201)
    for index, colour in ((0, BLUE), (1, RED)):
        points = [equilibria({**GIVEN, "C": 10 * n})[index].roots for n in nu]
        real = np.sort([[z.real for z in pair] for pair in points], axis=1) / 10
        right.plot(nu, real, color=colour, lw=2)
        right.plot(nu, np.abs([pair[0].imag for pair in points]) / 10, color=colour, ls="--", lw=1)
    border = 2 / np.sqrt(0.36 * 6.5)
    right.axvline(border, color=GREY, ls=":")
    right.annotate(" s ν² = 4 k:\n focus | node", (border, -3.6), fontsize=9)
    right.axhline(0, color="k", lw=0.5)
    right.set(xlabel="ν (k = 1)", ylabel="ε λ", title="σ = +1: Re (solid), |Im| (dashed); saddle in red")
    save(figure, "stability")


def portrait(
    at: Any, parameters: Mapping[str, float], sigma: int, window: Window, exact: bool = False
) -> None:
    """Task 3: paths through a grid of points, equilibria, and the manifolds of the saddles."""
    found = (exact_equilibria if exact else equilibria)(parameters, sigma)
    for delta in np.linspace(window.left, window.right, 7):
        for rate in np.linspace(window.bottom, window.top, 7):
            for duration in (0.6, -0.6):
                track = path(np.array([delta, rate]), parameters, duration, window, sigma, exact, 150)
                at.plot(*track.T, color=GREY, lw=0.5)
    for e in found:
        if e.kind == "saddle":
            for branch in basin_boundary(e, parameters, window, sigma, exact):
                at.plot(*branch.T, color=RED, lw=2)
            rising = max(root.real for root in e.roots)
            for side in (1e-7, -1e-7):
                start = np.array([e.delta + side, side * rising])
                at.plot(
                    *path(start, parameters, 25 / rising, window, sigma, exact, 1500).T, color=GREEN, lw=1.2
                )
        at.plot(
            e.delta, 0.0, ms=6, **(STABLE if "stable" in e.kind.split() or e.kind == "centre" else UNSTABLE)
        )
    at.locator_params(axis="x", nbins=6)
    at.set(xlim=window[:2], ylim=window[2:], xlabel="δ", ylabel="δ'")


THREE = {**GIVEN, "mu1": 2.0, "mu2": 1.8, "Y1": 2.8, "Y2": 0.0, "X1": 2.4}
"""Parameters with the graph +-+ and three solutions."""


def portraits() -> None:
    """Task 3: phase portraits without and with damping, for three of the graphs that have a saddle."""
    cases = ((GIVEN, 1, Window(0.0, 0.07, -0.4, 0.4)), (GIVEN, -1, Window(0.01, 0.06, -0.35, 0.35)))
    figure, axes = plt.subplots(2, 3, figsize=(13, 7.5), layout="constrained")
    for column, (data, sigma, window) in zip(
        axes.T, (*cases, (THREE, 1, Window(-0.07, 0.1, -0.8, 0.8))), strict=True
    ):
        for at, C, text in zip(column, (0.0, 10.0), ("ν = 0", "ν = 1"), strict=True):
            portrait(at, {**data, "C": C}, sigma, window)
            by = law(data, sigma)
            at.set_title(f"{graph(by)}, {number_of_solutions(by)} solutions, {text}", fontsize=11)
    save(figure, "portraits")


def basin() -> None:
    """Tasks 3 and 4: the basin with the true angle, and runs starting inside and outside it."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 4.8), layout="constrained")
    window = Window(-0.02, 0.25, -0.6, 0.5)
    portrait(left, GIVEN, 1, window, exact=True)
    saddle = next(e for e in equilibria(GIVEN) if e.kind == "saddle")
    for branch in basin_boundary(saddle, GIVEN, window):
        left.plot(*branch.T, color=ORANGE, lw=1.5, ls="--")
    left.plot([0.03, 0.12], [0, 0], "k*", ms=10)
    left.set_title("(4.1): stable manifold of the saddle red, unstable green; (3.9): orange", fontsize=10)
    for delta0, colour in ((0.03, BLUE), (0.067, GREEN), (0.0674, ORANGE), (0.12, RED)):
        sol = run(delta0, points=2001)
        right.plot(sol.t, sol["R"], color=colour, label=f"δ(0) = {delta0}")
    saddle = next(e for e in exact_equilibria(GIVEN) if e.kind == "saddle")
    right.axhline(saddle.tension, color="k", ls=":", lw=1)
    right.set(
        xlabel="t", ylabel="R", title="the whole program, started at δ' = 0, v = 10; dotted: the saddle"
    )
    right.legend()
    save(figure, "basin")


def published(number: int, delta0: float, window: tuple[float, float, float, float]) -> None:
    """Task 5: a published run: phase plane, R(t), velocities."""
    sol = run(delta0, points=5001)
    figure, (plane, tension, speed) = plt.subplots(1, 3, figsize=(13, 3.9), layout="constrained")
    apart = sol["x1"] - sol["x2"]
    rate = apart / np.hypot(apart, GIVEN["d"]) * (sol["x1_dot"] - sol["x2_dot"])
    plane.plot(sol["delta"], rate, color=BLUE)
    plane.plot(delta0, 0, "k*", ms=9)
    plane.plot(sol["delta"][-1], rate[-1], "ko", ms=5)
    for e in exact_equilibria(GIVEN):
        if window[0] < e.delta < window[1]:
            plane.plot(e.delta, 0, ms=7, **(STABLE if e.kind == "stable focus" else UNSTABLE))
    plane.locator_params(axis="x", nbins=5)
    plane.set(
        xlim=window[:2], ylim=window[2:], xlabel="δ", ylabel="δ'", title=f"run {number}, δ(0) = {delta0}"
    )
    tension.plot(sol.t, sol["R"], color=BLUE)
    tension.set(xlabel="t", ylabel="R")
    speed.plot(sol.t, sol["x1_dot"], color=BLUE, label="v1")
    speed.plot(sol.t, sol["x2_dot"], color=ORANGE, ls="--", label="v2")
    speed.set(xlabel="t", ylabel="v1, v2")
    speed.legend(loc="best")
    if len(sol.modes) > 1:
        near = speed.inset_axes((0.45, 0.35, 0.5, 0.4))
        near.plot(sol.t, sol["x1_dot"], color=BLUE)
        near.plot(sol.t, sol["x2_dot"], color=ORANGE, ls="--")
        near.set(xlim=(0.75, 1.5), ylim=(-0.6, 0.6))
        near.tick_params(labelsize=8)
    for mode in sol.modes[1:]:
        for at in (tension, speed):
            at.axvline(mode.t_start, color=GREY, ls=":", lw=1)
    save(figure, f"run{number}")


def rigid() -> None:
    """The rigid link: the number of solutions, and the elastic link's distance to it where the solution is unique."""
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
    colours = mpl.colors.ListedColormap(["#d9d9d9", "#cfe8cf", "#f6d5b5", "#8fb8de"])
    mu1, mu2 = np.linspace(0, 3, 226), np.linspace(0, 4, 301)
    for at, data, sigma in ((left, GIVEN, 1), (middle, THREE, 1)):
        count = [
            [number_of_solutions(law({**data, "mu1": a, "mu2": b}, sigma)) for a in mu1 + 1e-9]
            for b in mu2 + 1e-9
        ]
        at.pcolormesh(mu1, mu2, count, cmap=colours, vmin=-0.5, vmax=3.5, rasterized=True)
        at.plot(data["mu1"], data["mu2"], "k*", ms=10)
        at.set(xlabel="μ1", ylabel="μ2")
    left.plot(SMALL_FRICTION["mu1"], SMALL_FRICTION["mu2"], "k^", ms=6)
    left.set_title("published X, Y, σ = +1", fontsize=11)
    middle.set_title("X1 = 2.4, Y1 = 2.8, Y2 = 0, σ = +1", fontsize=11)
    for number, colour in enumerate(colours.colors):
        middle.fill([np.nan], [np.nan], color=colour, label=("none", "one", "two", "three")[number])
    middle.legend(title="solutions", fontsize=9, loc="upper right")
    eps = np.logspace(-1, -3, 9)
    tension = tensions(law({**GIVEN, **SMALL_FRICTION}))[0]
    right.loglog(
        eps, [distance_to_rigid(e) for e in eps], "o-", color=BLUE, label="link started at its natural length"
    )
    right.loglog(
        eps, [distance_to_rigid(e, tension) for e in eps], "s-", color=GREEN, label="started at the rigid R"
    )
    right.loglog(eps, 0.5 * eps, "k:", lw=1, label="ε/2, ε²/2")
    right.loglog(eps, 0.5 * eps**2, "k:", lw=1)
    right.set(xlabel="ε", title="|x1 − rigid| + |v1 − rigid| at t = 0.5, μ = 0.1, 0.2")
    right.title.set_fontsize(11)
    right.legend(fontsize=9)
    save(figure, "rigid")


def main() -> None:
    program()
    graphs()
    stability()
    portraits()
    basin()
    published(1, 0.03, (0.0265, 0.0305, -0.02, 0.01))
    published(2, 0.12, (0.015, 0.2, -0.4, 0.25))
    rigid()


if __name__ == "__main__":
    main()
