"""The diagrams of bench/README.md: main ratios, time against error, and speed against lanes, threads and trajectories.

As a script this draws the main ratios of summary.json again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Curves = dict[str, list[list[float]]]

_CASES = {
    "heavy_top": "heavy top",
    "chaplygin_sleigh": "Chaplygin sleigh",
    "n_link_pendulum_5": "chain of 5 links",
}
_LOOKS: dict[str, dict[str, Any]] = {
    "chaplygin vern9": {"color": "#c1272d", "marker": "o"},
    "chaplygin vern7": {"color": "#e8751a", "marker": "o"},
    "chaplygin dop853": {"color": "#8e2de2", "marker": "o"},
    "chaplygin tsit5": {"color": "#e0b000", "marker": "o"},
    "heyoka": {"color": "#0a6ebd", "marker": "s"},
    "numbalsoda": {"color": "#2a9d4a", "marker": "^"},
    "diffrax": {"color": "#7a7a7a", "marker": "D"},
    "JiTCODE": {"color": "#8c564b", "marker": "v"},
    "SciPy": {"color": "#222222", "marker": "x"},
}
_NAMES = {
    "heyoka": "heyoka, Taylor",
    "numbalsoda": "numbalsoda dop853, emitted C",
    "diffrax": "diffrax Dopri8",
    "JiTCODE": "JiTCODE dop853",
    "SciPy": "SciPy, lambdify",
}


def draw(entries: list[dict[str, Any]], folder: Path) -> None:
    """Write precision.png and scaling.png from the points of a run; do nothing without matplotlib or points."""
    diagrams: dict[str, dict[str, Curves]] = {}
    for entry in entries:
        info = entry["extra_info"]
        if "diagram" in info:
            diagrams.setdefault(info["diagram"], {})[info["case"]] = info["curves"]
    try:
        import matplotlib
    except ImportError:
        return
    matplotlib.use("Agg")
    ensembles, single = diagrams.get("precision, ensembles"), diagrams.get("precision, single runs")
    if ensembles and single:
        _precision(ensembles, single, folder / "precision.png")
    if "scaling" in diagrams:
        _scaling(diagrams["scaling"], folder / "scaling.png")


def speeds(kept: dict[str, Any], path: Path) -> None:
    """A bar for each ratio and system of a summary; do nothing without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return
    rows = [row for row in kept["rows"] if "speed relative to" in row][::-1]
    axes = (figure := Figure((9.6, 5.4), layout="constrained")).add_subplot()
    for i, system in enumerate(kept["systems"]):
        values = [kept["rows"][row][i] for row in rows]
        bars = axes.barh([y + 0.27 * (1 - i) for y in range(len(rows))], values, 0.25, label=system)
        axes.bar_label(bars, [f"{v:g}" for v in values], padding=2, fontsize=7)
    axes.set_xscale("log")
    axes.set_axisbelow(True)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_yticks(range(len(rows)), [row.replace(": ", ":\n") for row in rows], fontsize=8)
    axes.set_title(f"chaplygin's speed beside others', on {kept['machine']['processor']}", fontsize=9)
    axes.legend(fontsize=8)
    _style(axes)
    figure.savefig(path, dpi=110, metadata={"Software": None})


def _style(axes: Any) -> None:
    axes.grid(True, which="major", color="#e0e0e0", linewidth=0.6)
    axes.tick_params(labelsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _precision(ensembles: dict[str, Curves], single: dict[str, Curves], path: Path) -> None:
    import matplotlib.pyplot as plt

    cases = [case for case in _CASES if case in ensembles]
    figure, axes = plt.subplots(2, len(cases), figsize=(3.6 * len(cases), 6.6), squeeze=False)
    handles: dict[str, Any] = {}
    kinds = (("ensemble, one core", ensembles), ("single run", single))
    for row, (kind, found) in enumerate(kinds):
        for panel, case in zip(axes[row], cases, strict=True):
            for name, points in found.get(case, {}).items():
                kept = [(time * 1e6, error) for error, time in points if error > 0]
                times, errors = zip(*kept) if kept else ((), ())
                ours = name.startswith("chaplygin")
                (handles[name],) = panel.loglog(
                    times,
                    errors,
                    **_LOOKS.get(name, {}),
                    markersize=4,
                    linewidth=1.6 if ours else 1.0,
                    label=_NAMES.get(name, name),
                )
            panel.set_title(f"{_CASES[case]}: {kind}", fontsize=9)
            panel.set_xlabel("µs per trajectory, t = 0..10", fontsize=8)
            _style(panel)
        axes[row][0].set_ylabel("median error at t = 10", fontsize=8)
    order = [name for name in _LOOKS if name in handles]
    figure.legend(
        [handles[name] for name in order],
        [_NAMES.get(name, name) for name in order],
        loc="lower center",
        ncols=5,
        fontsize=8,
        frameon=False,
    )
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _scaling(found: dict[str, Curves], path: Path) -> None:
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FixedLocator, NullLocator, ScalarFormatter

    figure, axes = plt.subplots(1, 3, figsize=(10.8, 3.4))
    titles = {
        "lanes": ("lanes, one core", "speed relative to one lane"),
        "threads": ("threads, widest lanes", "speed relative to one thread"),
        "trajectories": ("trajectories, all cores", "trajectories per second"),
    }
    for panel, (what, (title, label)) in zip(axes, titles.items(), strict=True):
        ends = [1.0]
        for (case, curves), colour in zip(found.items(), ("#0a6ebd", "#c1272d", "#2a9d4a")):
            counts, rates = zip(*curves[what])
            ends = max(ends, list(counts), key=len)
            shown = rates if what == "trajectories" else [rate / rates[0] for rate in rates]
            panel.plot(counts, shown, "o-", color=colour, markersize=4, label=_CASES.get(case, case))
        panel.set_xscale("log", base=10 if what == "trajectories" else 2)
        panel.set_yscale("log", base=10 if what == "trajectories" else 2)
        if what != "trajectories":
            panel.plot(ends, ends, ":", color="#888888", linewidth=1, label="ideal")
            for axis in (panel.xaxis, panel.yaxis):
                axis.set_major_locator(FixedLocator(ends))
                axis.set_major_formatter(ScalarFormatter())
                axis.set_minor_locator(NullLocator())
        panel.set_title(title, fontsize=9)
        panel.set_xlabel(what, fontsize=8)
        panel.set_ylabel(label, fontsize=8)
        panel.legend(fontsize=8, frameon=False)
        _style(panel)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    here = Path(__file__).resolve().parent
    speeds(json.loads((here / "summary.json").read_text(encoding="utf-8")), here / "speeds.png")
